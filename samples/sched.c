/*
 * A sample UMS scheduler: ready queues, migration, orderly leave.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one rule of a SchedulerProc: take no lock that a worker may hold, because that worker would
 * have to run to release it. So nothing here allocates, prints or waits for a lock. Each scheduler
 * has a ready queue of its own that nobody else touches; workers travel between schedulers through
 * the completion list, which the system fills, and through lock-free inboxes (SLISTs).
 *
 * A worker is in exactly one place: the completion list, an inbox, a private queue, or running. It
 * may leave the processor and be run by another scheduler before the first scheduler's upcall has
 * begun; so an upcall writes nothing to a worker that it was not given.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include "sched.h"
#include "spawn.h"

#define SUSPENDED_POLL_MS 10
#define COLLECT_EVERY     16            /* upcalls; sooner if nothing is ready */

static DWORD self_tls = TLS_OUT_OF_INDEXES;     /* a scheduler thread's struct sched */

static void queue_put( struct sched_queue *queue, struct sched_worker *worker )
{
    worker->next = NULL;
    if (queue->tail) queue->tail->next = worker;
    else queue->head = worker;
    queue->tail = worker;
    queue->count++;
}

static struct sched_worker *queue_get( struct sched_queue *queue )
{
    struct sched_worker *worker = queue->head;

    if (!worker) return NULL;
    queue->head = worker->next;
    if (!queue->head) queue->tail = NULL;
    queue->count--;
    return worker;
}

/* The application's pointer of a worker's context. */
static void *context_user( PUMS_CONTEXT context )
{
    void *user = NULL;

    QueryUmsThreadInformation( context, UmsThreadUserContext, &user, sizeof(user), NULL );
    return user;
}

static BOOL context_flag( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS flag )
{
    BOOLEAN value = FALSE;

    return QueryUmsThreadInformation( context, flag, &value, sizeof(value), NULL ) && value;
}

/* Wake a scheduler if it waits. Both sides do "write, full barrier, read": either it sees what we
   left for it, or we see that it is idle. */
static void sched_wake( struct sched *target )
{
    if (!InterlockedExchange( &target->idle, 0 )) return;
    InterlockedDecrement( &target->pool->idle_count );
    SetEvent( target->wake );
}

static void sched_hand_over( struct sched *target, struct sched_worker *worker )
{
    InterlockedPushEntrySList( &target->inbox, &worker->entry );
}

/* A scheduler waits while we have several workers: give it half of them. */
static void sched_share( struct sched *self )
{
    struct sched_pool *pool = self->pool;
    struct sched *target;
    unsigned int i, give;

    for (i = 1; i < pool->count && self->ready.count > 1 && pool->idle_count; i++)
    {
        target = &pool->schedulers[(self->index + i) % pool->count];
        if (!target->idle) continue;
        for (give = self->ready.count / 2; give; give--)
            sched_hand_over( target, queue_get( &self->ready ));
        sched_wake( target );
    }
}

/* One worker less, or sched_finish: with the last one all schedulers leave. */
static void pool_release( struct sched_pool *pool )
{
    unsigned int i;

    if (InterlockedDecrement( &pool->alive )) return;
    for (i = 0; i < pool->count; i++) sched_wake( &pool->schedulers[i] );
}

/* A worker's end was seen, by whichever scheduler dequeued it; it counts where it ran. */
static void sched_reap( struct sched *self, struct sched_worker *worker )
{
    if (InterlockedExchange( &worker->reaped, 1 )) return;
    InterlockedIncrement( worker->last ? &worker->last->stats.completed : &self->stats.completed );
    pool_release( self->pool );
}

/* Collect whoever became ready. Never waits. */
static void sched_collect( struct sched *self )
{
    SLIST_ENTRY *entry, *next_entry, *fifo = NULL;
    PUMS_CONTEXT context, next;
    struct sched_worker *worker;

    self->uncollected = 0;

    /* The inbox gives the last one first; turn it round. To look into it first costs no locked
       instruction. */
    entry = QueryDepthSList( &self->inbox ) ? InterlockedFlushSList( &self->inbox ) : NULL;
    for ( ; entry; entry = next_entry)
    {
        next_entry = entry->Next;
        entry->Next = fifo;
        fifo = entry;
    }
    for (entry = fifo; entry; entry = next_entry)
    {
        next_entry = entry->Next;
        queue_put( &self->ready, CONTAINING_RECORD( entry, struct sched_worker, entry ));
    }

    /* The chain is emptied before any of it runs: a worker that runs may block and be linked again.
       */
    if (!DequeueUmsCompletionListItems( self->pool->list, 0, &context )) return;
    for ( ; context; context = next)
    {
        next = GetNextUmsListItem( context );
        worker = context_user( context );
        if (context_flag( context, UmsThreadIsTerminated )) sched_reap( self, worker );
        else queue_put( &self->ready, worker );
    }
}

/* Nothing reports that a suspended worker was resumed: look which of them are ready again. */
static void sched_poll_suspended( struct sched *self )
{
    struct sched_worker *worker;
    unsigned int count;

    for (count = self->suspended.count; count; count--)
    {
        worker = queue_get( &self->suspended );
        if (context_flag( worker->context, UmsThreadIsSuspended ))
            queue_put( &self->suspended, worker );
        else queue_put( &self->ready, worker );
    }
}

/* Nothing is ready: wait for the completion list or for a colleague. */
static void sched_idle( struct sched *self )
{
    struct sched_pool *pool = self->pool;
    HANDLE handles[2];

    self->state = SCHED_IDLE;
    InterlockedExchange( &self->idle, 1 );
    InterlockedIncrement( &pool->idle_count );

    /* What was handed over before "idle" was visible came without a wake-up. */
    sched_collect( self );
    if (!self->ready.count && pool->alive)
    {
        handles[0] = self->wake;
        handles[1] = pool->list_event;
        self->stats.idled++;
        WaitForMultipleObjects( 2, handles, FALSE,
                                self->suspended.count ? SUSPENDED_POLL_MS : INFINITE );
    }
    if (InterlockedExchange( &self->idle, 0 )) InterlockedDecrement( &pool->idle_count );
    self->state = SCHED_CHOOSING;
}

/* Run a worker; returns only if that failed, and then the worker is in some queue. */
static void sched_execute( struct sched *self, struct sched_worker *worker )
{
    struct sched *last = worker->last;
    unsigned int tries;

    if (last != self) worker->last = self;
    self->current = worker;
    self->stats.executed++;
    if (last && last != self) self->stats.moved++;
    self->state = SCHED_RUNNING;

    for (tries = 0; tries < 10; tries++)
    {
        ExecuteUmsThread( worker->context );
        /* Still here: it failed. */
        if (GetLastError() != ERROR_RETRY) break;
        YieldProcessor();
    }

    self->state = SCHED_CHOOSING;
    self->current = NULL;
    self->stats.executed--;
    if (last && last != self) self->stats.moved--;
    self->stats.retried++;
    worker->last = last;

    if (context_flag( worker->context, UmsThreadIsTerminated )) sched_reap( self, worker );
    else if (context_flag( worker->context, UmsThreadIsSuspended ))
        queue_put( &self->suspended, worker );
    else
    {
        /* The system has it locked for a moment: others first. */
        queue_put( &self->ready, worker );
        if (self->ready.count == 1) SwitchToThread();
    }
}

/* The upcall. Every one starts on the same stack base: what an earlier one had on the stack is gone
   when ExecuteUmsThread succeeds. So all state lives in *self, which the thread knows. With many
   workers this is the hot path: it touches one cache line of a worker, asks the system nothing that it
   knows already (who has yielded is who was executed), and looks at the completion list only now and
   then. */
static void NTAPI sched_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct sched_worker *worker;
    struct sched *self;

    (void)payload;
    if (reason == UmsSchedulerStartup)
    {
        self = param;
        TlsSetValue( self_tls, self );
    }
    else self = TlsGetValue( self_tls );

    worker = self->current;
    self->current = NULL;
    self->state = SCHED_CHOOSING;

    if (reason == UmsSchedulerThreadYield)
    {
        self->stats.yielded++;          /* payload is worker->context */
        if (param == SCHED_MOVE && self->pool->count > 1)
        {
            struct sched *target = &self->pool->schedulers[(self->index + 1) % self->pool->count];

            sched_hand_over( target, worker );
            sched_wake( target );
        }
        else queue_put( &self->ready, worker );
    }
    else if (reason == UmsSchedulerThreadBlocked && worker && !worker->returned)
        self->stats.blocked++;

    while (self->pool->alive)
    {
        if (!self->ready.count || ++self->uncollected >= COLLECT_EVERY) sched_collect( self );
        if (self->suspended.count) sched_poll_suspended( self );
        if (self->pool->idle_count && self->ready.count > 1) sched_share( self );
        if ((worker = queue_get( &self->ready ))) sched_execute( self, worker );
        else sched_idle( self );
    }
    /* Returning, whatever we were called for, ends UMS mode: EnterUmsSchedulingMode returns. */
}

static DWORD WINAPI sched_thread( void *arg )
{
    struct sched *self = arg;
    UMS_SCHEDULER_STARTUP_INFO info;

    info.UmsVersion = UMS_VERSION;
    info.CompletionList = self->pool->list;
    info.SchedulerProc = sched_proc;
    info.SchedulerParam = self;
    if (!EnterUmsSchedulingMode( &info )) self->error = GetLastError();
    self->state = SCHED_LEFT;
    return self->error;
}

static DWORD WINAPI worker_thread( void *arg )
{
    struct sched_worker *worker = arg;
    DWORD code = worker->proc( worker->arg );

    worker->returned = TRUE;
    return code;
}

struct sched_pool *sched_create( unsigned int schedulers, unsigned int max_workers )
{
    struct sched_pool *pool;
    struct sched *sched;
    unsigned int i;
    DWORD error;

    if (!schedulers || schedulers > SCHED_MAX_SCHEDULERS)
    {
        SetLastError( ERROR_INVALID_PARAMETER );
        return NULL;
    }
    if (self_tls == TLS_OUT_OF_INDEXES && (self_tls = TlsAlloc()) == TLS_OUT_OF_INDEXES) return NULL;
    /* Pages are zeroed, and aligned enough for the SLISTs. */
    pool = VirtualAlloc( NULL, sizeof(*pool) + max_workers * sizeof(pool->workers[0]),
                         MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE );
    if (!pool) return NULL;
    pool->count = schedulers;
    pool->max_workers = max_workers;
    pool->alive = 1;
    if (!CreateUmsCompletionList( &pool->list )) goto failed;
    if (!GetUmsCompletionListEvent( pool->list, &pool->list_event )) goto failed;
    for (i = 0; i < schedulers; i++)
    {
        sched = &pool->schedulers[i];
        sched->pool = pool;
        sched->index = i;
        InitializeSListHead( &sched->inbox );
        if (!(sched->wake = CreateEventW( NULL, FALSE, FALSE, NULL ))) goto failed;
    }
    return pool;

failed:
    error = GetLastError();
    sched_destroy( pool );
    SetLastError( error );
    return NULL;
}

BOOL sched_start( struct sched_pool *pool )
{
    unsigned int i;

    for (i = 0; i < pool->count; i++)
    {
        struct sched *sched = &pool->schedulers[i];

        if (!(sched->thread = CreateThread( NULL, 0, sched_thread, sched, 0, NULL ))) return FALSE;
    }
    return TRUE;
}

struct sched_worker *sched_spawn( struct sched_pool *pool, LPTHREAD_START_ROUTINE proc, void *arg )
{
    struct sched_worker *worker;
    LONG index = InterlockedIncrement( &pool->spawned ) - 1;

    if ((ULONG)index >= pool->max_workers)
    {
        InterlockedDecrement( &pool->spawned );
        SetLastError( ERROR_NOT_ENOUGH_MEMORY );
        return NULL;
    }
    worker = &pool->workers[index];
    worker->pool = pool;
    worker->proc = proc;
    worker->arg = arg;

    InterlockedIncrement( &pool->alive );
    worker->thread = spawn_ums_worker( pool->list, worker_thread, worker, worker,
                                       &worker->context );
    if (worker->thread) return worker;
    pool_release( pool );
    return NULL;
}

/* TRUE if every scheduler could enter UMS mode and has left it. */
BOOL sched_finish( struct sched_pool *pool )
{
    struct sched_worker *worker;
    unsigned int i;
    BOOL ret = TRUE;

    pool_release( pool );
    for (i = 0; i < pool->count; i++)
    {
        if (!pool->schedulers[i].thread) continue;
        WaitForSingleObject( pool->schedulers[i].thread, INFINITE );
        if (pool->schedulers[i].error) ret = FALSE;
    }
    for (i = 0; i < (ULONG)pool->spawned; i++)
    {
        worker = &pool->workers[i];
        if (!worker->thread) continue;
        /* Its end came to the completion list; the thread object follows a moment later. */
        WaitForSingleObject( worker->thread, INFINITE );
        GetExitCodeThread( worker->thread, &worker->exit_code );
    }
    return ret;
}

void sched_destroy( struct sched_pool *pool )
{
    unsigned int i;

    for (i = 0; i < (ULONG)pool->spawned; i++)
    {
        if (!pool->workers[i].thread) continue;
        CloseHandle( pool->workers[i].thread );
        DeleteUmsThreadContext( pool->workers[i].context );
    }
    for (i = 0; i < pool->count; i++)
    {
        if (pool->schedulers[i].thread) CloseHandle( pool->schedulers[i].thread );
        if (pool->schedulers[i].wake) CloseHandle( pool->schedulers[i].wake );
    }
    if (pool->list_event) CloseHandle( pool->list_event );
    if (pool->list) DeleteUmsCompletionList( pool->list );
    VirtualFree( pool, 0, MEM_RELEASE );
}
