/*
 * A sample thread pool on worker factories: threads, the queue, sources, groups.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The factory makes threads, lets them wait and ends them; what there is to do is the pool's
 * business. For each callback that is due the pool puts its source into a queue of its own and
 * releases one worker: the factory then ends one worker's wait by a packet with KeyContext 0, or
 * makes a worker if none waits and the rules allow one. Packets with another KeyContext come from
 * files that are bound to the port; here it is the source.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdlib.h>
#include "workerfactory.h"
#include "pool_private.h"

#define CLOSE_POLL_MS  1
#define CANCEL_POLL_MS 10

static BOOL fail( DWORD error )
{
    SetLastError( error );
    return FALSE;
}

/* ---- sources, with the lock held ---- */

void source_release( struct pool_source *source )
{
    if (!--source->refs) free( source );
}

static BOOL source_is_idle( const struct pool_source *source )
{
    return !source->queued && !source->running && !source->started;
}

/* So many callbacks or operations less. */
static void source_less( struct pool_source *source, ULONG count )
{
    struct pool *pool = source->pool;

    pool->busy -= count;
    if (!pool->busy || source_is_idle( source )) WakeAllConditionVariable( &pool->idle );
}

static void queue_put( struct pool *pool, struct pool_source *source )
{
    source->next_queued = NULL;
    if (pool->last) pool->last->next_queued = source;
    else pool->first = source;
    pool->last = source;
}

static struct pool_source *queue_get( struct pool *pool )
{
    struct pool_source *source = pool->first;

    if (!source) return NULL;
    pool->first = source->next_queued;
    if (!pool->first) pool->last = NULL;
    return source;
}

static void queue_remove( struct pool *pool, struct pool_source *source )
{
    struct pool_source **link = &pool->first, *before = NULL;

    while (*link && *link != source)
    {
        before = *link;
        link = &(*link)->next_queued;
    }
    if (!*link) return;
    *link = source->next_queued;
    if (pool->last == source) pool->last = before;
}

void source_queue( struct pool_source *source )
{
    if (!source->queued++)
    {
        source->refs++;
        queue_put( source->pool, source );
    }
    source->pool->busy++;
}

/* Drop the callbacks that have not begun. Their packets will find nothing to do. The caller has a
   reference, so the queue's is not the last. */
static ULONG source_drop( struct pool_source *source )
{
    ULONG count = source->queued;

    if (!count) return 0;
    queue_remove( source->pool, source );
    source->queued = 0;
    source->refs--;
    source_less( source, count );
    return count;
}

/* ---- workers ---- */

/* The next callback that is due. A source with more of them goes to the end: they take turns. */
static void run_queued( struct pool *pool )
{
    struct pool_source *source;
    struct pool_call call = { 0 };

    AcquireSRWLockExclusive( &pool->lock );
    if (!(source = queue_get( pool )))
    {
        ReleaseSRWLockExclusive( &pool->lock );
        return;
    }
    source->running++;
    source->refs++;
    if (--source->queued) queue_put( pool, source );
    else source_release( source );
    call.source = source;
    call.context = source->context;
    call.timed_out = source->timed_out;
    ReleaseSRWLockExclusive( &pool->lock );

    source->callback( &call );

    AcquireSRWLockExclusive( &pool->lock );
    source->running--;
    source_less( source, 1 );
    source_release( source );
    ReleaseSRWLockExclusive( &pool->lock );
}

/* An operation has ended; pool_io_start has counted it. */
static void run_io( struct pool_source *source, const FILE_IO_COMPLETION_INFORMATION *packet )
{
    struct pool *pool = source->pool;
    struct pool_call call = { 0 };

    call.source = source;
    call.context = source->context;
    call.overlapped = packet->ApcContext;
    call.error = RtlNtStatusToDosError( packet->IoStatusBlock.Status );
    call.bytes = packet->IoStatusBlock.Information;
    source->callback( &call );

    AcquireSRWLockExclusive( &pool->lock );
    source->started--;
    source_less( source, 1 );
    source_release( source );
    ReleaseSRWLockExclusive( &pool->lock );
}

/* One packet at a time: a second one might have to wait behind a long callback, while other workers
   are idle. So the same five arguments do for each version: Windows 7 looks at the first two and
   leaves count alone. */
static void NTAPI pool_worker( void *arg )
{
    WORKER_FACTORY_DEFERRED_WORK nothing = { 0 };
    FILE_IO_COMPLETION_INFORMATION packet;
    struct pool *pool = arg;
    ULONG count;

    if (NtWorkerFactoryWorkerReady( pool->workers )) return;
    for (;;)
    {
        /* not a success: it was idle for too long, or the factory is shut down */
        if (NtWaitForWorkViaWorkerFactory( pool->workers, &packet, 1, &count, &nothing )) return;
        if (packet.KeyContext) run_io( packet.KeyContext, &packet );
        else run_queued( pool );
    }
}

void pool_release_workers( struct pool *pool, ULONG count )
{
    while (count--) NtReleaseWorkerFactoryWorker( pool->workers );
}

/* ---- the pool ---- */

static BOOL create_factory( struct pool *pool, HANDLE port, PWORKER_FACTORY_START_ROUTINE start,
                            ULONG max, HANDLE *factory )
{
    NTSTATUS status = NtCreateWorkerFactory( factory, WORKER_FACTORY_ALL_ACCESS, NULL, port,
                                             GetCurrentProcess(), start, pool, max, 0, 0 );

    return status ? fail( RtlNtStatusToDosError( status )) : TRUE;
}

static NTSTATUS set_number( HANDLE factory, WORKERFACTORYINFOCLASS info_class, ULONG value )
{
    return NtSetInformationWorkerFactory( factory, info_class, &value, sizeof(value) );
}

/* The services have a factory of their own, so that they are no part of min and max, and are let
   go whatever the port's concurrency says. */
struct pool *pool_create( ULONG min, ULONG max )
{
    struct pool *pool = calloc( 1, sizeof(*pool) );
    HANDLE port;
    DWORD error;
    ULONG i;

    if (!pool) return NULL;
    InitializeSRWLock( &pool->lock );
    InitializeConditionVariable( &pool->idle );
    for (i = 0; i < POOL_SERVICES; i++) pool->services[i].pool = pool;
    if (!(pool->port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 0 ))) goto free_pool;
    if (!create_factory( pool, pool->port, pool_worker, max, &pool->workers )) goto close_port;
    if (!(port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, POOL_SERVICES )))
        goto close_workers;
    i = create_factory( pool, port, service_thread, POOL_SERVICES, &pool->servants );
    error = GetLastError();
    CloseHandle( port );                /* the factory has it */
    SetLastError( error );
    if (!i) goto close_workers;
    /* bindings: a packet that nobody was released for makes a worker, too */
    if (!set_number( pool->workers, WorkerFactoryBindingCount, 1 ) &&
        pool_set_threads( pool, min, max )) return pool;

    CloseHandle( pool->servants );
close_workers:
    CloseHandle( pool->workers );
close_port:
    CloseHandle( pool->port );
free_pool:
    free( pool );
    return NULL;
}

/* The minimum must never be above the maximum, so it is lowered first and raised last. */
BOOL pool_set_threads( struct pool *pool, ULONG min, ULONG max )
{
    NTSTATUS status = set_number( pool->workers, WorkerFactoryThreadMinimum, 0 );

    if (!status) status = set_number( pool->workers, WorkerFactoryThreadMaximum, max );
    if (!status) status = set_number( pool->workers, WorkerFactoryThreadMinimum, min );
    return status ? fail( RtlNtStatusToDosError( status )) : TRUE;
}

static ULONG count_threads( HANDLE factory )
{
    WORKER_FACTORY_BASIC_INFORMATION info;

    if (NtQueryInformationWorkerFactory( factory, WorkerFactoryBasicInformation, &info,
                                         sizeof(info), NULL )) return 0;
    return info.TotalWorkerCount;
}

ULONG pool_threads( struct pool *pool )
{
    return count_threads( pool->workers );
}

/* The routine of a worker that is on its way has not run yet, so nothing of ours can have counted
   it. The factory has: memory is freed when it knows of none. */
static void end_threads( HANDLE factory )
{
    volatile LONG pending = 0;

    NtShutdownWorkerFactory( factory, &pending );
    while (count_threads( factory )) Sleep( CLOSE_POLL_MS );
    CloseHandle( factory );
}

void pool_destroy( struct pool *pool )
{
    ULONG i;

    AcquireSRWLockExclusive( &pool->lock );
    while (pool->busy) SleepConditionVariableSRW( &pool->idle, &pool->lock, INFINITE, 0 );
    pool->stopping = TRUE;
    ReleaseSRWLockExclusive( &pool->lock );

    for (i = 0; i < pool->service_count; i++) SetEvent( pool->services[i].wake );
    end_threads( pool->servants );
    end_threads( pool->workers );
    for (i = 0; i < pool->service_count; i++) CloseHandle( pool->services[i].wake );
    CloseHandle( pool->port );
    free( pool );
}

/* ---- making, using and closing sources ---- */

static struct pool_source *source_create( struct pool *pool, struct pool_group *group,
                                          enum pool_kind kind, pool_callback callback,
                                          void *context )
{
    struct pool_source *source = calloc( 1, sizeof(*source) );

    if (!source)
    {
        SetLastError( ERROR_NOT_ENOUGH_MEMORY );
        return NULL;
    }
    source->kind = kind;
    source->pool = pool;
    source->group = group;
    source->callback = callback;
    source->context = context;
    source->refs = 1;
    if (!group) return source;

    AcquireSRWLockExclusive( &pool->lock );
    if ((source->next = group->first)) source->next->prev = source;
    group->first = source;
    ReleaseSRWLockExclusive( &pool->lock );
    return source;
}

struct pool_source *pool_work( struct pool *pool, struct pool_group *group, pool_callback callback,
                               void *context )
{
    return source_create( pool, group, POOL_WORK, callback, context );
}

struct pool_source *pool_timer( struct pool *pool, struct pool_group *group, pool_callback callback,
                                void *context )
{
    return source_create( pool, group, POOL_TIMER, callback, context );
}

struct pool_source *pool_wait( struct pool *pool, struct pool_group *group, pool_callback callback,
                               void *context )
{
    return source_create( pool, group, POOL_WAIT, callback, context );
}

struct pool_source *pool_io( struct pool *pool, struct pool_group *group, HANDLE file,
                             pool_callback callback, void *context )
{
    struct pool_source *source = source_create( pool, group, POOL_IO, callback, context );
    DWORD error;

    if (!source) return NULL;
    source->file = file;
    if (CreateIoCompletionPort( file, pool->port, (ULONG_PTR)source, 0 )) return source;
    error = GetLastError();
    pool_close( source );
    SetLastError( error );
    return NULL;
}

void pool_submit( struct pool_source *work )
{
    struct pool *pool = work->pool;

    AcquireSRWLockExclusive( &pool->lock );
    source_queue( work );
    ReleaseSRWLockExclusive( &pool->lock );
    pool_release_workers( pool, 1 );
}

BOOL pool_run( struct pool *pool, pool_callback callback, void *context )
{
    struct pool_source *source = pool_work( pool, NULL, callback, context );

    if (!source) return FALSE;
    AcquireSRWLockExclusive( &pool->lock );
    source_queue( source );
    source_release( source );           /* the queue has it */
    ReleaseSRWLockExclusive( &pool->lock );
    pool_release_workers( pool, 1 );
    return TRUE;
}

BOOL pool_io_start( struct pool_source *io )
{
    BOOL ret;

    AcquireSRWLockExclusive( &io->pool->lock );
    if ((ret = !io->cancelling))
    {
        io->started++;
        io->refs++;
        io->pool->busy++;
    }
    ReleaseSRWLockExclusive( &io->pool->lock );
    return ret;
}

void pool_io_failed( struct pool_source *io )
{
    struct pool *pool = io->pool;

    AcquireSRWLockExclusive( &pool->lock );
    io->started--;
    source_less( io, 1 );
    source_release( io );
    ReleaseSRWLockExclusive( &pool->lock );
}

ULONG pool_drain( struct pool_source *source, BOOL cancel )
{
    struct pool *pool = source->pool;
    ULONG dropped = 0;

    AcquireSRWLockExclusive( &pool->lock );
    source->refs++;                     /* a callback may close it meanwhile */
    if (cancel)
    {
        service_unset( source );
        dropped = source_drop( source );
        source->cancelling = TRUE;
    }
    while (!source_is_idle( source ))
    {
        /* Repeatedly: a callback that was allowed to start may not have issued its I/O yet. */
        if (cancel && source->started) CancelIoEx( source->file, NULL );
        SleepConditionVariableSRW( &pool->idle, &pool->lock,
                                   cancel && source->started ? CANCEL_POLL_MS : INFINITE, 0 );
    }
    if (cancel) source->cancelling = FALSE;
    source_release( source );
    ReleaseSRWLockExclusive( &pool->lock );
    return dropped;
}

static void leave_group( struct pool_source *source )
{
    if (!source->group) return;
    if (source->prev) source->prev->next = source->next;
    else source->group->first = source->next;
    if (source->next) source->next->prev = source->prev;
    source->group = NULL;
}

void pool_close( struct pool_source *source )
{
    struct pool *pool = source->pool;

    AcquireSRWLockExclusive( &pool->lock );
    service_unset( source );
    leave_group( source );
    source_release( source );
    ReleaseSRWLockExclusive( &pool->lock );
}

/* ---- groups ---- */

struct pool_group *pool_group_create( struct pool *pool )
{
    struct pool_group *group = calloc( 1, sizeof(*group) );

    if (group) group->pool = pool;
    else SetLastError( ERROR_NOT_ENOUGH_MEMORY );
    return group;
}

/* A callback may close its own source meanwhile. */
ULONG pool_group_close( struct pool_group *group, BOOL cancel )
{
    struct pool *pool = group->pool;
    struct pool_source *source;
    ULONG dropped = 0;

    AcquireSRWLockExclusive( &pool->lock );
    for (source = group->first; source; source = source->next) service_unset( source );
    while ((source = group->first))
    {
        source->refs++;
        ReleaseSRWLockExclusive( &pool->lock );
        dropped += pool_drain( source, cancel );
        AcquireSRWLockExclusive( &pool->lock );
        if (source->group)
        {
            ReleaseSRWLockExclusive( &pool->lock );
            pool_close( source );
            AcquireSRWLockExclusive( &pool->lock );
        }
        source_release( source );
    }
    ReleaseSRWLockExclusive( &pool->lock );
    free( group );
    return dropped;
}
