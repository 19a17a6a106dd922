/*
 * The arms with UMS and the least scheduler there can be (crew.h).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "spawn.h"
#include "bench.h"
#include "crew.h"

BOOL workers_available( void )
{
    PUMS_COMPLETION_LIST list;

    if (!CreateUmsCompletionList( &list )) return FALSE;
    DeleteUmsCompletionList( list );
    return TRUE;
}

/* ---- execute + yield ---- */

static void yield_body( struct crew_worker *worker )
{
    unsigned int i;

    for (i = 0; i < worker->crew->ops; i++) UmsThreadYield( NULL );
}

static double yield_batch( struct arm *arm )
{
    struct crew *crew = arm->state;

    crew->ops = max( arm->ops / crew->count, 1 ) - 1;
    SetEvent( crew->go );
    if (!crew_wait( crew )) return -1;
    /* The yield that parks is one as well. */
    return (crew->end - crew->start) / ((crew->ops + 1.0) * crew->count);
}

/* The bare round trip: who has yielded is executed at once. All else is crew_proc's, also an
   ExecuteUmsThread that failed. */
static void NTAPI bounce_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    if (reason == UmsSchedulerThreadYield && !param) ExecuteUmsThread( (PUMS_CONTEXT)payload );
    crew_proc( reason, payload, param );
}

static BOOL start_yield( struct arm *arm, unsigned int count )
{
    struct crew *crew = crew_create( count );
    unsigned int i;

    if (!crew) return FALSE;
    if (count == 1) crew->proc = bounce_proc;
    for (i = 0; i < count; i++) crew->workers[i].body = yield_body;
    arm->state = crew;
    arm->batch = yield_batch;
    arm->stop = crew_arm_stop;
    return crew_start( crew );
}

BOOL workers_start_yield1( struct arm *arm )
{
    return start_yield( arm, 1 );
}

BOOL workers_start_yield100( struct arm *arm )
{
    return start_yield( arm, 100 );
}

BOOL workers_start_ring1000( struct arm *arm )
{
    return start_yield( arm, 1000 );
}

BOOL workers_start_ring4000( struct arm *arm )
{
    return start_yield( arm, RING_WORKERS );
}

/* ---- a quick call and a yield ---- */

static void close_body( struct crew_worker *worker )
{
    unsigned int i;

    for (i = 0; i < worker->crew->ops; i++)
    {
        CloseHandle( CreateEventW( NULL, FALSE, FALSE, NULL ) );
        UmsThreadYield( NULL );
    }
}

static void read_body( struct crew_worker *worker )
{
    unsigned int i;

    for (i = 0; i < worker->crew->ops; i++)
    {
        file_read( worker->mine );
        UmsThreadYield( NULL );
    }
}

static BOOL start_calls( struct arm *arm, void (*body)( struct crew_worker *worker ), HANDLE file )
{
    struct crew *crew = crew_create( 1 );

    if (!crew) return FALSE;
    crew->workers[0].body = body;
    crew->workers[0].mine = file;
    arm->state = crew;
    arm->batch = crew_batch;
    arm->stop = crew_arm_stop;
    return crew_start( crew );
}

BOOL workers_start_close( struct arm *arm )
{
    return start_calls( arm, close_body, NULL );
}

BOOL workers_start_read( struct arm *arm )
{
    HANDLE file = file_open();

    return file && start_calls( arm, read_body, file );
}

/* ---- event ping-pong ---- */

static void ping_body( struct crew_worker *worker )
{
    unsigned int i;

    for (i = 0; i < worker->crew->ops; i++)
    {
        SetEvent( worker->others );
        WaitForSingleObject( worker->mine, INFINITE );
    }
}

static void pong_body( struct crew_worker *worker )
{
    unsigned int i;

    for (i = 0; i < worker->crew->ops; i++)
    {
        WaitForSingleObject( worker->mine, INFINITE );
        SetEvent( worker->others );
    }
}

static void set_ping_pong( struct crew_worker *ping, struct crew_worker *pong )
{
    ping->body = ping_body;
    pong->body = pong_body;
    ping->mine = pong->others = CreateEventW( NULL, FALSE, FALSE, NULL );
    ping->others = pong->mine = CreateEventW( NULL, FALSE, FALSE, NULL );
}

static void close_ping_pong( struct crew_worker *ping )
{
    CloseHandle( ping->mine );
    CloseHandle( ping->others );
}

static void event_stop( struct arm *arm )
{
    struct crew *crew = arm->state;

    close_ping_pong( &crew->workers[0] );
    crew_stop( crew );
}

BOOL workers_start_event( struct arm *arm )
{
    struct crew *crew = crew_create( 2 );

    if (!crew) return FALSE;
    set_ping_pong( &crew->workers[0], &crew->workers[1] );
    arm->state = crew;
    arm->batch = crew_batch;
    arm->stop = event_stop;
    return crew_start( crew );
}

static double event2_batch( struct arm *arm )
{
    struct crew **crews = arm->state;
    double start, end;

    crews[0]->ops = crews[1]->ops = arm->ops;
    SetEvent( crews[1]->go );
    SetEvent( crews[0]->go );
    if (!crew_wait( crews[0] ) || !crew_wait( crews[1] )) return -1;
    /* Ping begins; both have to end. */
    start = crews[0]->start;
    end = max( crews[0]->end, crews[1]->end );
    return (end - start) / arm->ops;
}

static void event2_stop( struct arm *arm )
{
    struct crew **crews = arm->state;

    close_ping_pong( &crews[0]->workers[0] );
    crew_stop( crews[0] );
    crew_stop( crews[1] );
    free( crews );
}

BOOL workers_start_event2( struct arm *arm )
{
    struct crew **crews = calloc( 2, sizeof(*crews) );

    if (!(crews[0] = crew_create( 1 )) || !(crews[1] = crew_create( 1 ))) return FALSE;
    set_ping_pong( &crews[0]->workers[0], &crews[1]->workers[0] );
    arm->state = crews;
    arm->batch = event2_batch;
    arm->stop = event2_stop;
    return crew_start( crews[0] ) && crew_start( crews[1] );
}

/* ---- a system call of a worker ---- */

static void counter_body( struct crew_worker *worker )
{
    counter_proc proc = threads_counter_proc();
    LARGE_INTEGER counter;
    unsigned int i;

    for (i = 0; i < worker->crew->ops; i++) proc( &counter, NULL );
}

BOOL workers_start_counter( struct arm *arm )
{
    struct crew *crew = crew_create( 1 );

    if (!crew) return FALSE;
    crew->workers[0].body = counter_body;
    arm->state = crew;
    arm->batch = crew_batch;
    arm->stop = crew_arm_stop;
    return crew_start( crew );
}

/* ---- a worker's whole life: the scheduler makes it, runs it, sees its end, joins ---- */

static DWORD WINAPI empty_worker( void *arg )
{
    (void)arg;
    return 0;
}

/* The worker of workers[0] has ended, or there was none yet: the next one. */
static BOOL create_next( struct crew *crew )
{
    struct crew_worker *worker = &crew->workers[0];

    if (worker->thread)
    {
        WaitForSingleObject( worker->thread, INFINITE );
        CloseHandle( worker->thread );
        DeleteUmsThreadContext( worker->context );
        worker->thread = NULL;
        crew->parked_count++;
    }
    if (crew->parked_count == crew->ops)
    {
        crew->end = stats_now();
        SetEvent( crew->done );
        WaitForSingleObject( crew->go, INFINITE );
        if (crew->quit) return FALSE;
        crew->parked_count = 0;
        crew->start = stats_now();
    }
    worker->thread = spawn_ums_worker( crew->list, empty_worker, NULL, NULL, &worker->context );
    if (!worker->thread) crew->error = GetLastError();
    return worker->thread != NULL;
}

static void NTAPI create_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct crew *crew = crew_self( reason, param );
    PUMS_CONTEXT context;
    BOOLEAN ended;

    (void)payload;
    while (crew->workers[0].thread || create_next( crew ))
    {
        if (!DequeueUmsCompletionListItems( crew->list, INFINITE, &context )) continue;
        if (!context) continue;
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (!ended)
        {
            do ExecuteUmsThread( context );
            while (GetLastError() == ERROR_RETRY);
            crew->error = GetLastError();
            break;
        }
        if (!create_next( crew )) break;
    }
    SetEvent( crew->done );
}

static void create_stop( struct arm *arm )
{
    struct crew *crew = arm->state;

    crew->count = 0;                    /* its worker is gone already */
    crew_stop( crew );
}

BOOL workers_start_create( struct arm *arm )
{
    struct crew *crew = crew_create( 1 );

    if (!crew) return FALSE;
    crew->proc = create_proc;
    crew->ops = crew->parked_count = arm->ops;      /* "batch over" from the start */
    arm->state = crew;
    arm->batch = crew_batch;
    arm->stop = create_stop;
    return crew_start_scheduler( crew );
}

/* ---- memory, and how many ---- */

/* Resident bytes of one worker that has yielded, over "count" of them. */
double workers_parked_bytes( unsigned int count )
{
    double before = host_resident(), after;
    struct crew *crew = crew_create( count );

    if (!crew || !crew_start( crew )) return -1;
    Sleep( 50 );
    after = host_resident();
    crew_stop( crew );
    return (after - before) / count;
}

/* As many workers as can be, up to "count", all alive at once; then all of them in turn. */
BOOL workers_many( unsigned int count, unsigned int batches )
{
    struct crew *crew = crew_create( count );
    struct arm arm = { .name = "yield", .ops = 10 * count, .fixed = TRUE, .state = crew };
    double before = host_resident(), value = 0;
    unsigned int i, made;

    if (!crew) return FALSE;
    for (i = 0; i < count; i++) crew->workers[i].body = yield_body;
    if (!(made = crew_spawn( crew ))) return crew_failed( "creating a worker" );
    if (made < count)
        stats_note( "creating worker %u of %u failed, error %lu", made + 1, count, GetLastError() );
    if (!crew_start_scheduler( crew )) return FALSE;

    Sleep( 50 );
    stats_add( "many.memory", "B", (host_resident() - before) / made );
    stats_add( "many.workers", "workers", made );
    for (i = 0; value >= 0 && i <= batches; i++)
        if ((value = yield_batch( &arm )) >= 0 && i) stats_add( "many.yield", "ns", value );
    crew_stop( crew );
    return value >= 0;
}
