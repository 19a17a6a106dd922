/*
 * The sample pool's timers and waits: a few threads that wait on behalf of all sources.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A service is a worker of the second factory that was released once and comes back for nothing
 * else. It waits for up to 63 things; timers are waits without a handle. When a thing is due its
 * source is queued, and a worker of the first factory runs the callback.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include "workerfactory.h"
#include "pool_private.h"

#define NEVER (~0ull)

/* What one wait is about; copied, because sources come and go meanwhile. */
struct round
{
    HANDLE              handles[1 + POOL_WAITS];
    struct pool_source *sources[1 + POOL_WAITS];        /* each with a reference */
    ULONG               serials[1 + POOL_WAITS];
    ULONG               count;
    DWORD               timeout;
};

/* ---- with the lock held ---- */

void service_unset( struct pool_source *source )
{
    struct pool_service *service = source->service;
    ULONG i;

    if (!service) return;
    for (i = 0; service->sources[i] != source; i++) ;
    service->sources[i] = service->sources[--service->count];
    source->service = NULL;
    source_release( source );
}

/* A service with room; with a new thread if need be. *is_new: it is to be released. */
static struct pool_service *service_find( struct pool *pool, BOOL *is_new )
{
    struct pool_service *service;
    ULONG i;

    *is_new = FALSE;
    for (i = 0; i < pool->service_count; i++)
        if (pool->services[i].count < POOL_WAITS) return &pool->services[i];
    if (pool->service_count == POOL_SERVICES) return NULL;
    service = &pool->services[pool->service_count];
    if (!(service->wake = CreateEventW( NULL, FALSE, FALSE, NULL ))) return NULL;
    pool->service_count++;
    *is_new = TRUE;
    return service;
}

/* Its time is over, or its handle is signalled. A timer with a period goes on from when it was due,
   but does not catch up on periods that were missed. */
static void service_fire( struct pool_source *source, BOOL timed_out, ULONGLONG now )
{
    source->timed_out = timed_out;
    if (source->kind == POOL_TIMER && source->period)
    {
        source->due += source->period;
        if (source->due <= now) source->due = now + source->period;
    }
    else
    {
        source->refs++;
        service_unset( source );
        source_queue( source );
        source_release( source );
        return;
    }
    source_queue( source );
}

/* Fire what is due by now; returns how many. */
static ULONG service_collect( struct pool_service *service )
{
    ULONGLONG now = GetTickCount64();
    struct pool_source *source;
    ULONG i, fired = 0;

    for (i = 0; i < service->count; )
    {
        source = service->sources[i];
        if (source->due > now)
        {
            i++;
            continue;
        }
        service_fire( source, TRUE, now );
        fired++;
        if (source->service) i++;       /* else another one has taken its place */
    }
    return fired;
}

static void round_begin( struct pool_service *service, struct round *round )
{
    ULONGLONG now = GetTickCount64(), due = NEVER;
    struct pool_source *source;
    ULONG i;

    round->handles[0] = service->wake;
    round->count = 1;
    for (i = 0; i < service->count; i++)
    {
        source = service->sources[i];
        if (source->due < due) due = source->due;
        if (!source->handle) continue;
        round->handles[round->count] = source->handle;
        round->sources[round->count] = source;
        round->serials[round->count] = source->serial;
        round->count++;
        source->refs++;
    }
    if (due == NEVER) round->timeout = INFINITE;
    else round->timeout = due <= now ? 0 : (DWORD)min( due - now, INFINITE - 1 );
}

/* index: of the handle that ended the wait. A source that was set anew meanwhile has another serial
   number: what has ended was its old wait. */
static ULONG round_end( struct round *round, ULONG index )
{
    struct pool_source *source;
    ULONG i, fired = 0;

    if (index && index < round->count)
    {
        source = round->sources[index];
        if (source->service && source->serial == round->serials[index])
        {
            service_fire( source, FALSE, 0 );
            fired = 1;
        }
    }
    for (i = 1; i < round->count; i++) source_release( round->sources[i] );
    return fired;
}

/* ---- the thread ---- */

static void service_run( struct pool_service *service )
{
    struct pool *pool = service->pool;
    struct round round;
    ULONG fired;
    DWORD ret;

    AcquireSRWLockExclusive( &pool->lock );
    while (!pool->stopping)
    {
        round_begin( service, &round );
        ReleaseSRWLockExclusive( &pool->lock );
        ret = WaitForMultipleObjects( round.count, round.handles, FALSE, round.timeout );
        AcquireSRWLockExclusive( &pool->lock );
        fired = round_end( &round, ret - WAIT_OBJECT_0 );
        fired += service_collect( service );
        if (!fired) continue;
        ReleaseSRWLockExclusive( &pool->lock );
        pool_release_workers( pool, fired );
        AcquireSRWLockExclusive( &pool->lock );
    }
    ReleaseSRWLockExclusive( &pool->lock );
}

/* One release, one service. The wait after it is for the shutdown. */
void NTAPI service_thread( void *arg )
{
    WORKER_FACTORY_DEFERRED_WORK nothing = { 0 };
    FILE_IO_COMPLETION_INFORMATION packet;
    struct pool_service *service;
    struct pool *pool = arg;
    ULONG count;

    if (NtWorkerFactoryWorkerReady( pool->servants )) return;
    while (!NtWaitForWorkViaWorkerFactory( pool->servants, &packet, 1, &count, &nothing ))
    {
        AcquireSRWLockExclusive( &pool->lock );
        service = &pool->services[pool->service_next++];
        ReleaseSRWLockExclusive( &pool->lock );
        service_run( service );
    }
}

/* ---- setting ---- */

static BOOL service_set( struct pool_source *source, HANDLE handle, DWORD due, DWORD period )
{
    struct pool *pool = source->pool;
    struct pool_service *service;
    BOOL is_new = FALSE;

    AcquireSRWLockExclusive( &pool->lock );
    source->serial++;
    service_unset( source );
    if (!handle && due == INFINITE)
    {
        ReleaseSRWLockExclusive( &pool->lock );
        return TRUE;
    }
    if (!(service = service_find( pool, &is_new )))
    {
        ReleaseSRWLockExclusive( &pool->lock );
        SetLastError( ERROR_TOO_MANY_POSTS );
        return FALSE;
    }
    source->handle = handle;
    source->due = due == INFINITE ? NEVER : GetTickCount64() + due;
    source->period = period;
    source->service = service;
    source->refs++;
    service->sources[service->count++] = source;
    ReleaseSRWLockExclusive( &pool->lock );

    if (is_new) NtReleaseWorkerFactoryWorker( pool->servants );
    else SetEvent( service->wake );
    return TRUE;
}

BOOL pool_set_timer( struct pool_source *timer, DWORD due, DWORD period )
{
    return service_set( timer, NULL, due, period );
}

BOOL pool_set_wait( struct pool_source *wait, HANDLE handle, DWORD timeout )
{
    return service_set( wait, handle, handle ? timeout : INFINITE, 0 );
}
