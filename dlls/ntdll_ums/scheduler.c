/*
 * Scheduler threads and workers: execute, yield, block, come back, end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state machine is drawn in ums_core.h. A scheduler that executes a worker waits in
 * scheduler_wait until somebody posts an upcall: the worker when it yields, will block or ends, or
 * the scheduler itself when it finds the worker in one kernel call for longer than the grace
 * period. Exactly one upcall follows each execute, because the right to post it goes with leaving
 * RUNNING or INKERNEL, which one compare-and-swap decides.
 *
 * Ownership is dropped before the post, as on Windows: another scheduler may execute the worker
 * before this one has entered its SchedulerProc. So after its transition a worker uses only what it
 * had read before: its scheduler, which cannot go away because it still waits for the post, and its
 * list, which it holds a reference to.
 */

#include "ums_core.h"

enum                                            /* UMS_SCHEDULER_REASON [sdk] */
{
    REASON_STARTUP,
    REASON_BLOCKED,
    REASON_YIELD
};

#define PAYLOAD_SYSCALL 1                       /* Blocked: in a system call [doc] */

/* A waiting scheduler that has found its worker outside the kernel this often stops looking by
   itself. */
#define IDLE_TICKS 16

int64_t ums_grace = 20000;                      /* 2 ms; UMS_GRACE_US */

static struct ums_pool scheduler_pool;

int ums_scheduler_init( void )
{
    return ums_pool_init( &scheduler_pool, sizeof(struct ums_scheduler), 16384 );
}

/* ---- park ---- */

void ums_unpark( struct ums_park *park )
{
    if (!atomic_exchange( &park->token, 1 )) ke_wake( &park->token, 0 );
}

/* The token is consumed by the exchange; a wake-up between the look and the sleep finds the word
   changed. */
void ums_park( struct ums_park *park, const int64_t *timeout )
{
    while (!atomic_exchange( &park->token, 0 ))
    {
        ke_wait( &park->token, 0, timeout );
        if (timeout)
        {
            atomic_store( &park->token, 0 );
            return;
        }
    }
}

/* ---- transitions ---- */

/* Replace the state, keep the other bits, which others may change meanwhile. 0 if the worker was
   in another state. */
static int worker_move( struct ums_context *w, enum worker_state from, enum worker_state to )
{
    uint64_t word = atomic_load( &w->word );

    do if (word_state( word ) != from) return 0;
    while (!atomic_compare_exchange_weak( &w->word, &word, (word & ~WORD_STATE) | to ));
    return 1;
}

/* Take the worker off its scheduler, whatever it is doing there. 0 if it is on none. */
static int worker_leave( struct ums_context *w, enum worker_state to )
{
    return worker_move( w, WORKER_RUNNING, to ) || worker_move( w, WORKER_INKERNEL, to );
}

/* Hand an upcall to a scheduler that waits for it. The caller has just taken the worker off it,
   nobody else posts. The wake-up after the store may come when the scheduler has long gone on:
   it is spurious then. */
static void scheduler_post( struct ums_scheduler *s, uint32_t reason, uintptr_t payload,
                            void *param )
{
    s->upcall.reason  = reason;
    s->upcall.payload = payload;
    s->upcall.param   = param;
    atomic_store( &s->posted, 1 );
    ums_unpark( &s->park );
}

/* The worker's user part is complete and its thread does nothing but wait: let it be found, and
   sleep until it is executed. On return it is RUNNING. If its thread were stopped between push
   and signal, later pushes would not signal either: busy keeps others from that. */
static void worker_queue( struct ums_context *w, enum worker_state from )
{
    struct ums_list *list = w->list;
    int queued;

    /* once it is pushed, the next Execute may give it another list and drop the reference it has
       to this one */
    ums_list_ref( list );
    atomic_store( &w->busy, 1 );
    if ((queued = worker_move( w, from, WORKER_QUEUED ))) ums_list_push( list, w );
    atomic_store( &w->busy, 0 );
    ums_list_unref( list );
    if (queued) ums_park( &w->park, NULL );
}

/* ---- the scheduler thread ---- */

/* What a waiting scheduler has seen of its worker. */
struct watch
{
    uint64_t call;                              /* the state word of the call found, 0: none */
    int64_t  since;                             /* when it was found */
    int      idle;                              /* looks in a row that found none */
};

/* One look at the worker's word every grace period: a later look that finds the same call takes
   the worker as blocked, if the grace period is over; wake-ups come early too. w may have left
   long ago, be executed by another scheduler, or its slot be another worker's by now, as long as
   posted is checked between the two looks: if the first look saw a call that is not made under
   this scheduler, then the post came before that call. Returns 1 if the worker was taken. */
static int scheduler_look( struct ums_scheduler *s, struct watch *watch )
{
    uint64_t word = atomic_load( &s->current->word );

    if (word_state( word ) == WORKER_INKERNEL)
    {
        int64_t now = ke_clock();

        watch->idle = 0;
        if (word == watch->call)
            return now - watch->since >= ums_grace &&
                   atomic_compare_exchange_strong( &s->current->word, &word,
                                                   (word & ~WORD_STATE) | WORKER_BLOCKED );
        watch->call  = word;
        watch->since = now;
        return 0;
    }
    watch->call = 0;
    if (++watch->idle < IDLE_TICKS) return 0;

    /* Stop looking. The worker sets its state, then reads watching; here it is the other way
       round (both sequentially consistent), so either the worker wakes us or we see it in the
       kernel. */
    watch->idle = 0;
    atomic_store( &s->watching, 0 );
    word = atomic_load( &s->current->word );
    if (word_state( word ) == WORKER_INKERNEL) atomic_store( &s->watching, 1 );
    return 0;
}

static void scheduler_wait( struct ums_scheduler *s )
{
    struct watch watch = { 0 };

    while (!atomic_load( &s->posted ))
    {
        if (atomic_load( &s->watching ) && scheduler_look( s, &watch ))
        {
            s->upcall.reason  = REASON_BLOCKED;
            s->upcall.payload = PAYLOAD_SYSCALL;
            s->upcall.param   = NULL;
            return;
        }
        ums_park( &s->park, atomic_load( &s->watching ) ? &ums_grace : NULL );
    }
}

/* Give the worker a way to run. Handoff: its own thread, which sleeps at home with everything in
   place, goes on; one that was stopped in user code goes on there. A worker with neither
   WORD_HOME nor WORD_STOPPED could be carried instead. */
static void worker_resume( struct ums_scheduler *s, struct ums_context *w, uint64_t word )
{
    s->current = w;
    atomic_store( &s->posted, 0 );
    atomic_store( &s->watching, w->slow_calls != 0 );
    w->slow_calls = 0;
    atomic_fetch_or_explicit( &w->flags, CONTEXT_RUNNING_ON_SELF_THREAD, memory_order_relaxed );
    if (word & WORD_STOPPED) ke_resume_thread( atomic_load( &w->tid ) );
    else ums_unpark( &w->park );
}

/* Why the worker could not be taken [seen]. */
static ums_status execute_error( uint64_t word )
{
    switch (word_state( word ))
    {
    case WORKER_NONE:     return STATUS_INVALID_PARAMETER;
    case WORKER_RUNNING:
    case WORKER_INKERNEL: return STATUS_INTERNAL_ERROR;
    case WORKER_DEAD:     return STATUS_INVALID_THREAD;
    default:              return (word & WORD_SUSPENDED) ? STATUS_INVALID_THREAD : STATUS_RETRY;
    }
}

ums_status ums_execute( void *handle )
{
    struct ums_context *self = ke_current(), *w = ums_context_check( handle );
    struct ums_scheduler *s;
    struct ums_list *old;
    uint64_t word;

    if (!handle) return STATUS_INVALID_PARAMETER;
    if (!self || self->kind != CONTEXT_SCHEDULER || !self->scheduler->proc)
        return STATUS_NOT_SUPPORTED;
    if (!w || w->kind != CONTEXT_WORKER) return STATUS_INVALID_PARAMETER;
    s = self->scheduler;

    word = atomic_load( &w->word );
    do
    {
        if (word_state( word ) != WORKER_READY || (word & WORD_SUSPENDED))
            return execute_error( word );
    }
    while (!atomic_compare_exchange_weak( &w->word, &word,
                                          (word & ~(WORD_STATE | WORD_STOPPED)) | WORKER_RUNNING ));

    /* it is ours: the home thread sleeps, and sees these when it gets its token */
    w->owner = s;
    if ((old = w->list) != s->list)             /* it is queued where it ran last [seen] */
    {
        ums_list_ref( s->list );
        w->list = s->list;
        ums_list_unref( old );
    }
    worker_resume( s, w, word );
    scheduler_wait( s );
    ke_scheduler_upcall( s );
}

/* Make the calling thread a scheduler thread, with this unused context for its own and no entry
   point yet: what the kernel does for ntdll. */
ums_status ums_scheduler_attach( void *list_handle, void *handle )
{
    struct ums_list *list = ums_list_check( list_handle );
    struct ums_context *context = ums_context_check( handle );
    struct ums_scheduler *s;

    if (!list || !context) return STATUS_INVALID_PARAMETER;
    if (ke_current()) return STATUS_NOT_SUPPORTED;
    if (context->kind != CONTEXT_WORKER ||
        word_state( atomic_load( &context->word ) ) != WORKER_NONE)
        return STATUS_INVALID_PARAMETER;
    if (!(s = ums_pool_alloc( &scheduler_pool ))) return STATUS_NO_MEMORY;

    ums_list_ref( list );
    s->base    = NULL;
    s->proc    = NULL;
    s->list    = list;
    s->context = context;
    s->current = NULL;
    atomic_store( &s->posted, 0 );
    atomic_store( &s->watching, 0 );
    context->kind      = CONTEXT_SCHEDULER;
    context->scheduler = s;
    context->teb       = ke_teb();
    atomic_store( &context->flags, 0 );         /* alive */
    atomic_store( &context->tid, ke_thread_id() );
    ke_set_current( context );
    return STATUS_SUCCESS;
}

/* Make a scheduler thread plain again; its context is left like one whose thread has ended. Also
   on the way out of a thread that ends inside its SchedulerProc. It waits for no worker now. */
void ums_scheduler_detach( struct ums_context *context )
{
    struct ums_scheduler *s = context->scheduler;

    ke_set_current( NULL );
    context->kind      = CONTEXT_WORKER;
    context->scheduler = NULL;
    atomic_store( &context->tid, 0 );
    atomic_store( &context->flags, CONTEXT_TERMINATED );
    ums_list_unref( s->list );
    ums_pool_free( &scheduler_pool, s );
}

ums_status ums_scheduler_enter( uint32_t version, void *list, void (*proc)(void), void *param )
{
    struct ums_context *context;
    ums_status status;

    if (version != UMS_CONTEXT_VERSION || !ums_list_check( list ) || !proc)
        return STATUS_INVALID_PARAMETER;
    if (ke_current()) return STATUS_NOT_SUPPORTED;
    if ((status = ums_context_create( &context ))) return status;
    if ((status = ums_scheduler_attach( list, context )))
    {
        ums_context_delete( context );
        return status;
    }
    context->scheduler->proc = proc;
    context->scheduler->upcall = (struct ums_upcall){ REASON_STARTUP, 0, param };
    ke_scheduler_run( context->scheduler );
    ums_scheduler_detach( context );
    ums_context_delete( context );
    return STATUS_SUCCESS;
}

/* The scheduler thread ends where it is. What EnterUmsSchedulingMode made goes with it. */
void ums_scheduler_end( struct ums_context *context )
{
    int entered = context->scheduler->proc != NULL;

    ums_scheduler_detach( context );
    if (entered) ums_context_delete( context );
}

/* ---- the worker ---- */

/* A thread is about to be made with this context. What the client has stored as user context
   stays [seen]. */
ums_status ums_worker_bind( void *handle, void *list_handle, void *start, void *param,
                            struct ums_context **worker )
{
    struct ums_context *w = ums_context_check( handle );
    struct ums_list *list = ums_list_check( list_handle );

    if (!w || !list || w->kind != CONTEXT_WORKER) return STATUS_INVALID_PARAMETER;
    if (!worker_move( w, WORKER_NONE, WORKER_STARTING ) &&
        !worker_move( w, WORKER_DEAD, WORKER_STARTING ))
        return STATUS_INVALID_PARAMETER;

    ums_list_ref( list );
    w->list        = list;
    w->start       = start;
    w->start_param = param;
    w->slow_calls  = 0;
    w->inside      = 0;
    w->teb         = NULL;
    atomic_store( &w->tid, 0 );
    atomic_store( &w->suspend_count, 0 );
    atomic_store( &w->busy, 0 );
    atomic_fetch_and( &w->word, ~(WORD_SUSPENDED | WORD_HOME | WORD_STOPPED) );
    atomic_store( &w->park.token, 0 );
    atomic_fetch_add( &w->refs, 1 );
    atomic_store( &w->flags, CONTEXT_SCHEDULED_THREAD );
    *worker = w;
    return STATUS_SUCCESS;
}

/* The thread exists and stands still: what it is has to be known before anybody can suspend or
   resume it. */
void ums_worker_made( struct ums_context *w, void *teb, uint32_t tid, int suspended )
{
    w->teb = teb;
    if (suspended) ums_context_suspended( w, 1 );
    atomic_store( &w->tid, tid );
}

/* There will be no thread after all. */
void ums_worker_unbind( struct ums_context *w )
{
    ums_list_unref( w->list );
    w->list = NULL;
    atomic_store( &w->flags, CONTEXT_TERMINATED );
    worker_move( w, WORKER_STARTING, WORKER_NONE );
    ums_context_unref( w );
}

/* On the new thread, before its start routine: become a worker, go to the list, and return when
   executed. */
void ums_worker_start( struct ums_context *w )
{
    w->teb = ke_teb();                          /* not known before the thread ran */
    ke_set_current( w );
    worker_queue( w, WORKER_STARTING );
}

/* The home thread is on its last way into the kernel. It is an ordinary thread from here on.
   Terminated is set before the context is queued [seen]; after the push only what was read
   before is touched, and the slot is given back last. If the thread is suspended in here its
   scheduler waits for the resume: nobody finds it by its id any more (issue 4). */
void ums_worker_end( struct ums_context *w )
{
    struct ums_scheduler *owner = w->owner;
    struct ums_list *list = w->list;
    int owned;

    ke_set_current( NULL );
    owned = worker_leave( w, WORKER_DEAD );
    if (!owned) worker_move( w, WORKER_BLOCKED, WORKER_DEAD );
    w->list = NULL;
    atomic_store( &w->tid, 0 );
    atomic_fetch_or( &w->flags, CONTEXT_TERMINATED );
    ums_list_push( list, w );
    if (owned) scheduler_post( owner, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
    ums_list_unref( list );
    ums_context_unref( w );
}

/* Somebody has ended the worker's thread from outside: it runs no more, or not for long. Its
   reference to the context goes with it. Closing the races with a thread that stops in the
   middle of a transition is issue 4. */
void ums_worker_killed( struct ums_context *w )
{
    struct ums_scheduler *owner = w->owner;
    struct ums_list *list = w->list;
    int owned, queued = 0;

    if (!(owned = worker_leave( w, WORKER_DEAD )) &&
        !worker_move( w, WORKER_BLOCKED, WORKER_DEAD ) &&
        !worker_move( w, WORKER_READY, WORKER_DEAD ) &&
        !worker_move( w, WORKER_STARTING, WORKER_DEAD ) &&
        !(queued = worker_move( w, WORKER_QUEUED, WORKER_DEAD ))) return;

    w->list = NULL;
    atomic_store( &w->tid, 0 );
    atomic_fetch_and( &w->flags, ~(uint32_t)CONTEXT_SUSPENDED );
    atomic_fetch_or( &w->flags, CONTEXT_TERMINATED );
    if (!queued) ums_list_push( list, w );
    if (owned) scheduler_post( owner, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
    ums_list_unref( list );
    ums_context_unref( w );
}

/* The worker's thread has been suspended and stands still, not in the middle of something that
   others wait for (busy). If it ran, it is taken off its scheduler [seen: payload 0]. If it is
   in a kernel call, that is what its scheduler will find; anywhere else it belongs to nobody
   anyway. */
void ums_worker_stopped( struct ums_context *w )
{
    struct ums_scheduler *owner = w->owner;
    uint64_t word = atomic_load( &w->word );

    do if (word_state( word ) != WORKER_RUNNING) return;
    while (!atomic_compare_exchange_weak( &w->word, &word,
                                          (word & ~WORD_STATE) | WORKER_BLOCKED | WORD_STOPPED ));
    scheduler_post( owner, REASON_BLOCKED, 0, NULL );
}

/* Its thread is about to be resumed for good. One that was stopped while it ran is queued
   instead, and its thread goes on when it is executed [seen]. 1: do not resume it now. */
int ums_worker_continued( struct ums_context *w )
{
    struct ums_list *list = w->list;
    uint64_t word = atomic_load( &w->word );

    if (!(word & WORD_STOPPED) ||
        word_state( word ) != WORKER_BLOCKED)
        return (word & WORD_STOPPED) != 0;
    ums_list_ref( list );
    if (worker_move( w, WORKER_BLOCKED, WORKER_QUEUED )) ums_list_push( list, w );
    ums_list_unref( list );
    return 1;
}

/* The worker is about to wait in the kernel: its scheduler gets control at once. 0 if it is on
   no scheduler. */
int ums_worker_block( struct ums_context *w, uintptr_t payload )
{
    struct ums_scheduler *owner = w->owner;
    int left;

    atomic_store( &w->busy, 1 );                /* the scheduler waits for the post */
    left = worker_leave( w, WORKER_BLOCKED );
    if (left) scheduler_post( owner, REASON_BLOCKED, payload, NULL );
    atomic_store( &w->busy, 0 );
    return left;
}

/* The worker makes a call that may block. Its scheduler watches from now on; the first time in a
   while it has to be woken for that. 0 if it is on no scheduler. */
int ums_worker_enter_kernel( struct ums_context *w )
{
    struct ums_scheduler *owner = w->owner;
    uint64_t word = atomic_load( &w->word ), next;

    do
    {
        if (word_state( word ) != WORKER_RUNNING) return 0;
        next = ((word + WORD_SEQ) & ~WORD_STATE) | WORKER_INKERNEL;
    }
    while (!atomic_compare_exchange_weak( &w->word, &word, next ));

    w->slow_calls = 1;
    /* from here on the scheduler may have taken the worker and even be gone: then this wakes
       whoever has the slot */
    if (!atomic_load( &owner->watching ))
    {
        atomic_store( &owner->watching, 1 );
        ums_unpark( &owner->park );
    }
    return 1;
}

/* A call that ums_worker_block or ums_worker_enter_kernel announced is over and its result in
   place. If the worker has been told or taken as blocked, it goes to its list and this returns
   when it is executed. A callback or APC out of the call may have yielded: then it is RUNNING
   already, or on its way back into the call. */
void ums_worker_back( struct ums_context *w )
{
    if (!worker_move( w, WORKER_INKERNEL, WORKER_RUNNING )) worker_queue( w, WORKER_BLOCKED );
}

ums_status ums_yield( void *param )
{
    struct ums_context *w = ke_current();
    struct ums_scheduler *owner;
    int in_call;

    if (!w || w->kind != CONTEXT_WORKER) return STATUS_INVALID_PARAMETER;

    /* in a callback out of a kernel call the scheduler may have taken us as blocked: first be
       scheduled again */
    in_call = word_state( atomic_load( &w->word ) ) != WORKER_RUNNING;
    for (;;)
    {
        owner = w->owner;
        atomic_store( &w->busy, 1 );
        if (worker_leave( w, WORKER_READY )) break;
        worker_queue( w, WORKER_BLOCKED );      /* no longer busy */
    }
    scheduler_post( owner, REASON_YIELD, (uintptr_t)w, param );
    atomic_store( &w->busy, 0 );
    ums_park( &w->park, NULL );
    if (in_call) ums_worker_enter_kernel( w );  /* the outer call is still going on */
    return STATUS_SUCCESS;
}
