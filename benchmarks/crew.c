/*
 * A crew: one scheduler thread and its workers. crew.h says how it works.
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

static DWORD crew_tls = TLS_OUT_OF_INDEXES;

BOOL crew_failed( const char *what )
{
    printf( "umsbench: %s failed, error %lu\n", what, GetLastError() );
    return FALSE;
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

static BOOL crew_collect( struct crew *crew, DWORD timeout )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended;

    if (!DequeueUmsCompletionListItems( crew->list, timeout, &context ))
        return !timeout && GetLastError() == ERROR_TIMEOUT;
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

struct crew *crew_self( RTL_UMS_SCHEDULER_REASON reason, void *param )
{
    if (reason == UmsSchedulerStartup) TlsSetValue( crew_tls, param );
    return TlsGetValue( crew_tls );
}

void NTAPI crew_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct crew *crew = crew_self( reason, param );

    if (reason == UmsSchedulerThreadYield)
    {
        if (param == CREW_PARK) crew->parked[crew->parked_count++] = (PUMS_CONTEXT)payload;
        else crew_push( crew, (PUMS_CONTEXT)payload );
    }

    while (crew->alive)
    {
        if (crew->polls && crew->ready && !crew_collect( crew, 0 ))
        {
            crew->error = GetLastError();
            break;
        }
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
        else if (!crew_collect( crew, INFINITE ))
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
    info.SchedulerProc = crew->proc;
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
        UmsThreadYield( CREW_PARK );
        if (worker->crew->quit) return 0;
        if (worker->body) worker->body( worker );
    }
}

BOOL crew_wait( struct crew *crew )
{
    WaitForSingleObject( crew->done, INFINITE );
    if (!crew->error) return TRUE;
    SetLastError( crew->error );
    return crew_failed( "a scheduler" );
}

struct crew *crew_create( unsigned int count )
{
    struct crew *crew = calloc( 1, sizeof(*crew) + count * sizeof(crew->workers[0]) );
    unsigned int i;

    if (crew_tls == TLS_OUT_OF_INDEXES) crew_tls = TlsAlloc();
    crew->ring = calloc( count, sizeof(*crew->ring) );
    crew->parked = calloc( count, sizeof(*crew->parked) );
    crew->go = CreateEventW( NULL, FALSE, FALSE, NULL );
    crew->done = CreateEventW( NULL, FALSE, FALSE, NULL );
    crew->count = crew->alive = count;
    crew->proc = crew_proc;
    for (i = 0; i < count; i++) crew->workers[i].crew = crew;
    if (CreateUmsCompletionList( &crew->list )) return crew;
    crew_failed( "CreateUmsCompletionList" );
    return NULL;
}

unsigned int crew_spawn( struct crew *crew )
{
    struct crew_worker *worker;
    unsigned int i;

    for (i = 0; i < crew->count; i++)
    {
        worker = &crew->workers[i];
        worker->thread = spawn_ums_worker( crew->list, crew_worker_thread, worker, worker,
                                           &worker->context );
        if (!worker->thread) break;
    }
    crew->count = crew->alive = i;
    return i;
}

BOOL crew_start_scheduler( struct crew *crew )
{
    if (!(crew->thread = CreateThread( NULL, 0, crew_thread, crew, 0, NULL )))
        return crew_failed( "CreateThread" );
    return crew_wait( crew );
}

BOOL crew_start( struct crew *crew )
{
    unsigned int count = crew->count;

    if (crew_spawn( crew ) < count) return crew_failed( "creating a worker" );
    return crew_start_scheduler( crew );
}

void crew_stop( struct crew *crew )
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

void crew_arm_stop( struct arm *arm )
{
    crew_stop( arm->state );
}

double crew_batch( struct arm *arm )
{
    struct crew *crew = arm->state;

    crew->ops = arm->ops;
    SetEvent( crew->go );
    if (!crew_wait( crew )) return -1;
    return (crew->end - crew->start) / crew->ops;
}

static void run_shared( struct crew_worker *worker )
{
    worker->shared( (unsigned int)(worker - worker->crew->workers), worker->crew->ops );
}

struct crew *crew_create_shared( unsigned int count, body_proc body )
{
    struct crew *crew = crew_create( count );
    unsigned int i;

    for (i = 0; crew && i < count; i++)
    {
        crew->workers[i].body = run_shared;
        crew->workers[i].shared = body;
    }
    return crew;
}

BOOL crew_start_shared( struct arm *arm, unsigned int count, body_proc body )
{
    struct crew *crew = crew_create_shared( count, body );

    arm->state = crew;
    arm->batch = crew_batch;
    arm->stop = crew_arm_stop;
    return crew && crew_start( crew );
}
