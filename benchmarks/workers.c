/*
 * The arms with UMS.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A crew is one scheduler thread and its workers. Between batches every worker is off the processor
 * after UmsThreadYield( PARK ) and the scheduler waits in its SchedulerProc for "go"; a batch is
 * from there until all have parked again. The scheduler stamps both ends, so that no wake-up of the
 * benchmark's own thread is timed. It does as little as a scheduler can: a ring of contexts.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "spawn.h"
#include "bench.h"

#define PARK ((void *)1)

struct crew_worker
{
    struct crew    *crew;
    void          (*body)( struct crew_worker *worker );
    HANDLE          mine, others;       /* events of the ping-pong */
    PUMS_CONTEXT    context;
    HANDLE          thread;
};

struct crew
{
    PUMS_COMPLETION_LIST list;
    HANDLE               thread;
    HANDLE               go, done;      /* auto-reset */
    volatile LONG        quit;
    unsigned int         ops;           /* per worker and batch */
    unsigned int         count;         /* workers at the start */
    unsigned int         alive;         /* the scheduler's, as all below */
    PUMS_CONTEXT        *ring;          /* ready */
    unsigned int         head, ready;
    PUMS_CONTEXT        *parked;
    unsigned int         parked_count;
    double               start, end;
    DWORD                error;
    struct crew_worker   workers[];
};

static DWORD crew_tls = TLS_OUT_OF_INDEXES;

static BOOL failed( const char *what )
{
    printf( "umsbench: %s failed, error %lu\n", what, GetLastError() );
    return FALSE;
}

BOOL workers_available( void )
{
    PUMS_COMPLETION_LIST list;

    if (!CreateUmsCompletionList( &list )) return FALSE;
    DeleteUmsCompletionList( list );
    return TRUE;
}

static void crew_push( struct crew *crew, PUMS_CONTEXT context )
{
    unsigned int tail = crew->head + crew->ready++;

    if (tail >= crew->count) tail -= crew->count;
    crew->ring[tail] = context;
}

static PUMS_CONTEXT crew_pop( struct crew *crew )
{
    PUMS_CONTEXT context = crew->ring[crew->head];

    if (++crew->head == crew->count) crew->head = 0;
    crew->ready--;
    return context;
}

/* Nobody is ready: wait for the completion list. */
static BOOL crew_collect( struct crew *crew )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended;

    if (!DequeueUmsCompletionListItems( crew->list, INFINITE, &context )) return FALSE;
    for ( ; context; context = next)
    {
        next = GetNextUmsListItem( context );
        if (!QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended),
                                        NULL ))
            return FALSE;
        if (ended) crew->alive--;
        else crew_push( crew, context );
    }
    return TRUE;
}

/* All have parked: a batch is over, wait for the next. */
static void crew_turn( struct crew *crew )
{
    crew->end = stats_now();
    SetEvent( crew->done );
    WaitForSingleObject( crew->go, INFINITE );
    while (crew->parked_count) crew_push( crew, crew->parked[--crew->parked_count] );
    crew->start = stats_now();
}

static void NTAPI crew_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct crew *crew;

    if (reason == UmsSchedulerStartup) TlsSetValue( crew_tls, param );
    crew = TlsGetValue( crew_tls );

    if (reason == UmsSchedulerThreadYield)
    {
        if (param == PARK) crew->parked[crew->parked_count++] = (PUMS_CONTEXT)payload;
        else crew_push( crew, (PUMS_CONTEXT)payload );
    }

    while (crew->alive)
    {
        if (crew->ready)
        {
            PUMS_CONTEXT context = crew_pop( crew );

            ExecuteUmsThread( context );
            crew->error = GetLastError();
            if (crew->error != ERROR_RETRY) break;
            crew->error = 0;
            crew_push( crew, context );
        }
        else if (crew->parked_count == crew->alive) crew_turn( crew );
        else if (!crew_collect( crew ))
        {
            crew->error = GetLastError();
            break;
        }
    }
    SetEvent( crew->done );
}

static DWORD WINAPI crew_thread( void *arg )
{
    struct crew *crew = arg;
    UMS_SCHEDULER_STARTUP_INFO info;

    info.UmsVersion = UMS_VERSION;
    info.CompletionList = crew->list;
    info.SchedulerProc = crew_proc;
    info.SchedulerParam = crew;
    if (!EnterUmsSchedulingMode( &info ))
    {
        crew->error = GetLastError();
        SetEvent( crew->done );
    }
    return 0;
}

static DWORD WINAPI crew_worker_thread( void *arg )
{
    struct crew_worker *worker = arg;

    for (;;)
    {
        UmsThreadYield( PARK );
        if (worker->crew->quit) return 0;
        if (worker->body) worker->body( worker );
    }
}

static BOOL crew_wait( struct crew *crew )
{
    WaitForSingleObject( crew->done, INFINITE );
    if (!crew->error) return TRUE;
    SetLastError( crew->error );
    return failed( "a scheduler" );
}

/* A scheduler and its workers, not started; the caller gives the workers something to do. */
static struct crew *crew_create( unsigned int count )
{
    struct crew *crew = calloc( 1, sizeof(*crew) + count * sizeof(crew->workers[0]) );
    unsigned int i;

    if (crew_tls == TLS_OUT_OF_INDEXES) crew_tls = TlsAlloc();
    crew->ring = calloc( count, sizeof(*crew->ring) );
    crew->parked = calloc( count, sizeof(*crew->parked) );
    crew->go = CreateEventW( NULL, FALSE, FALSE, NULL );
    crew->done = CreateEventW( NULL, FALSE, FALSE, NULL );
    crew->count = crew->alive = count;
    for (i = 0; i < count; i++) crew->workers[i].crew = crew;
    if (CreateUmsCompletionList( &crew->list )) return crew;
    failed( "CreateUmsCompletionList" );
    return NULL;
}

/* Start all and let the workers run to where they park for the first time. */
static BOOL crew_start( struct crew *crew )
{
    struct crew_worker *worker;
    unsigned int i;

    if (!(crew->thread = CreateThread( NULL, 0, crew_thread, crew, 0, NULL )))
        return failed( "CreateThread" );
    for (i = 0; i < crew->count; i++)
    {
        worker = &crew->workers[i];
        worker->thread = spawn_ums_worker( crew->list, crew_worker_thread, worker, worker,
                                           &worker->context );
        if (!worker->thread) return failed( "creating a worker" );
    }
    return crew_wait( crew );
}

static void crew_stop( struct crew *crew )
{
    unsigned int i;

    crew->quit = TRUE;
    SetEvent( crew->go );
    WaitForSingleObject( crew->thread, INFINITE );
    CloseHandle( crew->thread );
    for (i = 0; i < crew->count; i++)
    {
        WaitForSingleObject( crew->workers[i].thread, INFINITE );
        CloseHandle( crew->workers[i].thread );
        DeleteUmsThreadContext( crew->workers[i].context );
    }
    DeleteUmsCompletionList( crew->list );
    CloseHandle( crew->go );
    CloseHandle( crew->done );
    free( crew->ring );
    free( crew->parked );
    free( crew );
}

static void crew_arm_stop( struct arm *arm )
{
    crew_stop( arm->state );
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

    SetEvent( crew->go );
    if (!crew_wait( crew )) return -1;
    /* The yield that parks is one as well. */
    return (crew->end - crew->start) / ((crew->ops + 1.0) * crew->count);
}

static BOOL start_yield( struct arm *arm, unsigned int count )
{
    struct crew *crew = crew_create( count );
    unsigned int i;

    if (!crew) return FALSE;
    crew->ops = arm->ops / count - 1;
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

static double event_batch( struct arm *arm )
{
    struct crew *crew = arm->state;

    SetEvent( crew->go );
    if (!crew_wait( crew )) return -1;
    return (crew->end - crew->start) / crew->ops;
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
    crew->ops = arm->ops;
    set_ping_pong( &crew->workers[0], &crew->workers[1] );
    arm->state = crew;
    arm->batch = event_batch;
    arm->stop = event_stop;
    return crew_start( crew );
}

static double event2_batch( struct arm *arm )
{
    struct crew **crews = arm->state;
    double start, end;

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
    crews[0]->ops = crews[1]->ops = arm->ops;
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
    crew->ops = arm->ops;
    crew->workers[0].body = counter_body;
    arm->state = crew;
    arm->batch = event_batch;
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
    PUMS_CONTEXT context;
    struct crew *crew;
    BOOLEAN ended;

    (void)payload;
    if (reason == UmsSchedulerStartup) TlsSetValue( crew_tls, param );
    crew = TlsGetValue( crew_tls );

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

static DWORD WINAPI create_thread( void *arg )
{
    struct crew *crew = arg;
    UMS_SCHEDULER_STARTUP_INFO info;

    info.UmsVersion = UMS_VERSION;
    info.CompletionList = crew->list;
    info.SchedulerProc = create_proc;
    info.SchedulerParam = crew;
    if (!EnterUmsSchedulingMode( &info ))
    {
        crew->error = GetLastError();
        SetEvent( crew->done );
    }
    return 0;
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
    crew->ops = crew->parked_count = arm->ops;      /* "batch over" from the start */
    arm->state = crew;
    arm->batch = event_batch;
    arm->stop = create_stop;
    if (!(crew->thread = CreateThread( NULL, 0, create_thread, crew, 0, NULL )))
        return failed( "CreateThread" );
    return crew_wait( crew );
}

/* ---- memory ---- */

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
