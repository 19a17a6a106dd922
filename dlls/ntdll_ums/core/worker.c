/*
 * Workers: how they begin and end, and what they do themselves: block, return from a call, yield.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker gives up its scheduler before that scheduler gets its upcall, as on Windows: another
 * scheduler may execute the worker before the first one has entered its SchedulerProc. So after its
 * transition a worker uses only what it has read before: its scheduler, which cannot end because it
 * still waits for the post, and its list, to which the worker holds a reference.
 *
 * A home thread that gives its worker away first saves the user part and leaves the worker's stack
 * (ke_leave_home). Everything after the transition runs in the parked_ functions, on another stack.
 */

#include "record/record.h"
#include "patience.h"
#include "state.h"

/* The home thread enters or leaves a section that other threads wait for. Nobody must stop it in
   such a section. It is a count, because the end of one worker may overlap the start of the next
   one with the same context. Sequentially consistent: a thread that has stopped this one sees the
   section. */
void ums_worker_busy( struct ums_context *w, int more )
{
    atomic_fetch_add( &w->busy, (uint32_t)more );
}

/* ---- the home thread while the worker is away ---- */

/* Is the worker somewhere else, or waits to be executed? CARRIED is its state also between its execute
   and the moment when its scheduler sends it home. Its thread must not continue then: its next call
   would take that thread for the carrier, and leave it for the scheduler's stack, on which the
   scheduler runs. */
static int is_away( uint64_t word )
{
    enum worker_state state = word_state( word );

    return state == WORKER_STARTING || state == WORKER_QUEUED || state == WORKER_READY ||
           state == WORKER_CARRIED || (word & WORD_PREEMPTED);
}

/* Sleep until the worker has to run here. A token alone does not prove that: a token for an earlier
   worker in this slot may come late. The state changes before the token is given. */
void ums_worker_home_wait( struct ums_context *w )
{
    do ums_park( &w->park, NULL );
    while (is_away( atomic_load( &w->word ) ));
}

/* The state is read first: the worker may have been executed before this thread gets here. Then its
   token stays, and the next sleeper looks once more than it needs to. A held worker counts as away
   from BLOCKED | PREEMPTED on, until it is sent home. BLOCKED without PREEMPTED is not seen here: this
   process has suspended the thread then, and it stands still until ke_resume_thread, after the state has
   become RUNNING. */
void ums_worker_held_wait( struct ums_context *w )
{
    while (is_away( atomic_load( &w->word ) )) ums_park( &w->park, NULL );
}

/* The worker's user part is complete: queue it, and wait. If the thread were stopped between the
   push and the signal, later pushes would not signal either. busy prevents that. */
static void queue_and_wait( struct ums_context *w, enum worker_state from, uint64_t flags )
{
    struct ums_mark mark = ums_mark( w );
    struct ums_list *list;
    int queued;

    /* once it is pushed, the next Execute may give it another list and drop the reference it has
       to this one */
    ums_worker_busy( w, 1 );
    list = w->list;
    ums_list_ref( list );
    if ((queued = worker_move( w, from, WORKER_QUEUED | flags )))
    {
        ums_note( mark, NULL, EVENT_QUEUE, 0 ); /* before another thread can dequeue it */
        ums_list_push( list, w );
    }
    ums_list_unref( list );
    ums_worker_busy( w, -1 );
    if (queued) ums_worker_home_wait( w );
}

/* A worker that has breakpoints, or is inside a call of this thread, must be resumed at home. */
static uint64_t must_stay( const struct ums_context *w )
{
    return atomic_load( &w->breakpoints ) || inside_any( &w->inside ) ? WORD_HOME : 0;
}

/* The same for a worker that is BLOCKED | PREEMPTED. The handoff engine needs the flag for each
   one. */
uint64_t ums_worker_must_stay( const struct ums_context *w )
{
    return ums_carry ? must_stay( w ) : WORD_HOME;
}

void ums_worker_queue_at_home( struct ums_context *w )
{
    queue_and_wait( w, WORKER_BLOCKED, WORD_HOME );
}

static void parked_queue( struct ums_context *w, void *from )
{
    queue_and_wait( w, (enum worker_state)(uintptr_t)from, must_stay( w ) );
}

static void parked_yield( struct ums_context *w, void *param )
{
    struct ums_scheduler *owner;
    struct ums_mark mark;

    for (;;)
    {
        ums_worker_busy( w, 1 );                    /* the scheduler waits for the post */
        owner = w->owner;
        mark = ums_mark( w );
        if (worker_leave( w, WORKER_READY | must_stay( w ) )) break;
        ums_worker_busy( w, -1 );

        /* The scheduler has taken the worker as blocked in the call that this is a callback of, or
           another thread has stopped and resumed it. It has to be executed first, at home. */
        queue_and_wait( w, WORKER_BLOCKED, WORD_HOME );
    }
    ums_note( mark, owner, EVENT_YIELD, 0 );
    scheduler_post( owner, REASON_YIELD, (uintptr_t)w, param );
    ums_worker_busy( w, -1 );
    ums_worker_home_wait( w );
}

/* ---- the worker itself ---- */

/* Go home, if the worker is carried. It continues there, and its scheduler waits. */
void ums_worker_go_home( struct ums_context *w )
{
    if (ums_worker_is_carried( w )) ke_leave_carrier( w, w->owner, ums_left_running, 0 );
}

/* Another thread wants to suspend this worker, and may not find it on its carrier (ke_preempt). So
   a carried worker leaves by itself, as if it had been preempted here. */
void ums_worker_give_way( struct ums_context *w )
{
    while ((atomic_load_explicit( &w->word, memory_order_relaxed ) & WORD_BARRED) &&
           ums_worker_is_carried( w ))
        ke_leave_carrier( w, w->owner, ums_left_preempted, 0 );
}

enum { LEFT_PROGRAM = 1, LEFT_CALL };           /* what ums_worker_block returns; or 0 */

/* The worker is about to wait in the kernel: its scheduler gets an upcall at once. 0 if it has no
   scheduler. INKERNEL is left by nobody but this thread, and by the scheduler, which makes it BLOCKED: then this
   leaves nothing. */
int ums_worker_block( struct ums_context *w, uintptr_t payload )
{
    struct ums_scheduler *owner;
    struct ums_mark mark;
    uint32_t call = ums_noted_call( w );
    int left, in_call;

    if (ums_worker_is_carried( w ))
    {
        ke_leave_carrier( w, w->owner, ums_left_blocked, payload );
        return LEFT_PROGRAM;
    }
    ums_worker_busy( w, 1 );                        /* the scheduler waits for the post */
    owner = w->owner;
    mark = ums_mark( w );
    in_call = word_state( atomic_load( &w->word ) ) == WORKER_INKERNEL;
    left = worker_leave( w, WORKER_BLOCKED );
    if (left) worker_taken_off( mark, owner, payload, call );
    ums_worker_busy( w, -1 );
    if (!left) return 0;
    return in_call ? LEFT_CALL : LEFT_PROGRAM;
}

/* The scheduler may have taken the worker meanwhile, and may even have ended. Then this wakes the
   new owner of the slot, which does no harm. */
static void watch( struct ums_scheduler *owner )
{
    if (atomic_load( &owner->watching )) return;
    atomic_store( &owner->watching, 1 );
    ums_unpark( &owner->park );
}

/* The worker makes a call that may block. Its scheduler watches it from now on, and is woken if it
   has stopped its periodic looks. 0 if the worker has no scheduler. */
int ums_worker_enter_kernel( struct ums_context *w )
{
    struct ums_scheduler *owner;
    struct ums_mark mark;
    uint64_t word, next;
    int entered = 0;

    if (ums_worker_is_carried( w ))
    {
        ke_leave_carrier( w, w->owner, ums_left_inkernel, 0 );
        return 1;
    }
    ums_worker_busy( w, 1 );                    /* stopped before watch(), nobody would look */
    mark = ums_mark( w );
    word = atomic_load( &w->word );
    while (word_state( word ) == WORKER_RUNNING && !entered)
    {
        owner = w->owner;                       /* of this word: the number in it is of one
                                                   execute */
        next = ((word + WORD_SEQ) & ~WORD_STATE) | WORKER_INKERNEL;
        entered = atomic_compare_exchange_weak( &w->word, &word, next );
    }
    if (entered)
    {
        ums_note( mark, owner, EVENT_KERNEL, ums_noted_call( w ) );
        w->slow_calls = 1;
        watch( owner );
    }
    ums_worker_busy( w, -1 );
    return entered;
}

/* For whoever reads or sets the registers of the worker, which are those of the program. Stale after other registers were
   loaded there, which does no harm: another park has the program above its user part. */
static void leave_home_in_call( struct ums_context *w, void (*parked)( struct ums_context *w, void *arg ), void *arg )
{
    w->in_call = 1;
    ke_leave_home( w, parked, arg );
    w->in_call = 0;
}

/* The end of a call that ums_worker_block or ums_worker_enter_kernel announced; its result is in
   place. If the worker was reported or taken as blocked, queue it, and return when it is executed.
   A callback or an APC during the call may have yielded: then the worker is RUNNING already, or is
   returning into the call. */
void ums_worker_back( struct ums_context *w )
{
    struct ums_mark mark = ums_mark( w );

    if (worker_move( w, WORKER_INKERNEL, WORKER_RUNNING ))
    {
        ums_note( mark, NULL, EVENT_BACK, 0 );
        /* set by another thread, while this one stood still in that state */
        if (w->preempted) ke_continue( w );
        return;
    }
    if (word_state( atomic_load( &w->word ) ) != WORKER_BLOCKED) return;
    leave_home_in_call( w, parked_queue, (void *)(uintptr_t)WORKER_BLOCKED );
}

/* Without the announcement the scheduler would hear of no wait in the callback any more: not of one for something that
   another of its workers does. */
void ums_worker_back_from( struct ums_context *w, int blocked )
{
    if (!blocked) return;
    ums_worker_back( w );
    if (blocked == LEFT_CALL) ums_worker_enter_kernel( w );
}

static void yield_at_home( struct ums_context *w, void *param )
{
    /* in a callback during an announced call: that call continues */
    int in_call = word_state( atomic_load( &w->word ) ) != WORKER_RUNNING;

    leave_home_in_call( w, parked_yield, param );
    if (in_call) ums_worker_enter_kernel( w );
}

static __attribute__((noinline)) int32_t yield_slowly( void *param, int32_t success,
                                                        int32_t (*failed)( ums_status status ) )
{
    struct ums_context *w = ke_current();

    if (!w || w->kind != CONTEXT_WORKER) return failed( STATUS_INVALID_PARAMETER );
    w->success = success;
    yield_at_home( w, param );
    return success;
}

/* On the fast path the switch is a tail call: it returns to our caller. A carried thread is always
   a worker. */
int32_t ums_yield( void *param, int32_t success, int32_t (*failed)( ums_status status ) )
{
    struct ums_context *w = ke_current();

    if (!w || !ums_worker_is_carried( w )) return yield_slowly( param, success, failed );
    w->success = success;
    return ke_leave_carrier( w, w->owner, ums_left_yield, (uintptr_t)param );
}

/* Queue the worker, with one exchange of its word. Whoever makes the exchange owns the worker until
   it is linked; a kill in between leaves the push to that thread. So it takes its reference to the
   list before. 0: the word has changed, and *word is the new one. */
int ums_worker_queue( struct ums_context *w, uint64_t *word, uint64_t next )
{
    struct ums_mark mark = ums_mark( w );
    struct ums_list *list = ums_list_of( w );
    int queued = 0;

    if (!list) *word = atomic_load( &w->word );
    else
    {
        if ((queued = atomic_compare_exchange_strong( &w->word, word, next )))
        {
            ums_note( mark, NULL, EVENT_QUEUE, 0 );
            ums_list_push( list, w );
        }
        ums_list_unref( list );
    }
    return queued;
}

/* ---- its life ---- */

_Atomic uint32_t ums_alive;

uint32_t ums_workers_alive( void )
{
    return atomic_load( &ums_alive );
}

/* A dead worker may not have been dequeued yet. Wait for the thread that pushes it, or that walks
   over its chain. Then wait for those that have found the former thread by its id and work on the
   context: what they still do, they would do to the new one. Each has a reference, the home thread
   until its end, too; only the client's is left then. Nobody gets one for the old thread any more,
   because its id was cleared before its own reference was dropped (ums_context_ref). A thread with a
   reference waits for nobody who waits here, and is neither stopped nor terminated (ums_hold_self): one that has to
   wait for others gives its reference up meanwhile (hold.c). Nobody wakes this thread, which looks again. With
   UMS_PAGE_FAULTS a helper keeps one until the page is there, which may take longer than this waits. */
static int use_again( struct ums_context *w )
{
    static _Atomic uint32_t never;
    const int64_t moment = 500;                 /* 50 us */
    struct ums_wait wait = ums_wait_begins();

    if (word_state( atomic_load( &w->word ) ) == WORKER_DEAD) ums_list_walked( w, 0 );
    while (word_state( atomic_load( &w->word ) ) == WORKER_DEAD &&
           (!ums_list_forget( w ) || atomic_load( &w->refs ) != 1))
    {
        if (ums_give_up_after( UMS_MORE_PATIENCE, &wait, "a dead worker to be left by its list and its thread" )) return 0;
        ke_wait( &never, 0, &moment );
    }
    return worker_move( w, WORKER_DEAD, WORKER_STARTING );
}

/* A thread is about to be created with this context. The user context that the client has stored
   stays [seen]. */
ums_status ums_worker_bind( void *handle, void *list_handle, void *start, void *param,
                            struct ums_context **worker )
{
    struct ums_context *w = ums_context_check( handle );
    struct ums_list *list = ums_list_check( list_handle );

    if (!w || !list || w->kind != CONTEXT_WORKER) return STATUS_INVALID_PARAMETER;
    if (!ke_home_prepare( w )) return STATUS_NO_MEMORY;
    if (!worker_move( w, WORKER_NONE, WORKER_STARTING ) && !use_again( w ))
        return STATUS_INVALID_PARAMETER;

    ums_record_worker( w );
    ums_list_ref( list );
    w->list        = list;
    w->start       = start;
    w->start_param = param;
    w->slow_calls  = 0;
    inside_reset( &w->inside );
    w->preempted   = 0;
    w->in_call     = 0;
    w->set         = 0;
    atomic_store( &w->breakpoints, 0 );
    w->teb         = NULL;
    atomic_store( &w->tid, 0 );
    atomic_store( &w->self_suspending, 0 );
    atomic_store( &w->kill_pending, 0 );
    ke_thread_renew( w );
    atomic_store( &w->at_host, 1 );             /* until it is a worker */
    atomic_store( &w->alert, 0 );
    atomic_store( &w->key, 0 );
    atomic_fetch_add( &ums_alive, 1 );
    /* holds are not cleared: each is released by its holder */
    atomic_fetch_and( &w->word, ~(WORD_HALTED | WORD_PARKED | WORD_WAITS) );
    atomic_store( &w->park.token, 0 );
    atomic_fetch_add( &w->refs, 1 );
    atomic_store( &w->flags, CONTEXT_SCHEDULED_THREAD );
    *worker = w;
    return STATUS_SUCCESS;
}

/* The thread exists and is suspended. It has to be known as a worker before another thread can
   suspend or resume it. It has not run: a section that is noted for its id is that of a thread which another process
   terminated there, and nobody may wait for it. */
void ums_worker_made( struct ums_context *w, void *teb, uint32_t tid )
{
    ums_thread_forget_hold( tid );
    w->teb = teb;
    ums_context_suspended( w );
    ums_thread_id_set( w, tid );
}

/* The thread could not be created. */
void ums_worker_unbind( struct ums_context *w )
{
    atomic_fetch_sub( &ums_alive, 1 );
    ums_list_unref( w->list );
    w->list = NULL;
    ums_thread_id_clear( w, atomic_load( &w->tid ) );
    atomic_store( &w->flags, CONTEXT_TERMINATED );
    worker_move( w, WORKER_STARTING, WORKER_NONE );
    ums_context_unref( w );
}

static void note_start( struct ums_context *w )
{
    struct ums_mark mark = ums_mark( w );
    uint32_t tid = ke_thread_id();

    if (mark.stamp)
        ums_record_event( NULL, mark.stamp, EVENT_START, tid & 0xffff, mark.worker, tid >> 16 );
}

/* On the new thread, before its start routine: become a worker, queue it, and return when it is
   executed. */
void ums_worker_start( struct ums_context *w )
{
    w->teb = ke_teb();                          /* not known before the thread ran */
    w->stack_base = ke_stack_base();
    atomic_store( &w->host_thread, ke_host_thread() );
    ke_thread_enters( w );
    note_start( w );
    ke_set_current( w );
    atomic_store( &w->at_host, 0 );             /* an alert that came before stays: alert is set */
    ke_leave_home( w, parked_queue, (void *)(uintptr_t)WORKER_STARTING );
}

/* The home thread is about to end in the kernel, and becomes a plain thread. The context is marked
   terminated before it is queued [seen]. After the push the client may delete it, so the reference
   is dropped last. Owner and list are read when nobody can stop the thread any more: a suspension
   before that may have moved the worker to another scheduler. From the flag on this thread is not
   found as a worker: so it is in a section like a plain thread, whether its context was deleted or has
   another thread by the time. Whoever has found it before waits until it is not busy, without stopping it again and
   again, and then sees the section (hold.c). */
void ums_worker_end( struct ums_context *w )
{
    struct ums_scheduler *owner;
    struct ums_list *list;
    struct ums_mark mark;
    uint32_t tid;
    int owned;

    ums_worker_go_home( w );
    ums_worker_busy( w, 1 );
    ums_hold_self( NULL, 1 );
    mark = ums_mark( w );
    tid = atomic_load( &w->tid );
    owner = w->owner;
    list = w->list;
    ke_set_current( NULL );
    ke_thread_leaves( w );
    ums_list_will_push( list, w );
    owned = worker_leave( w, WORKER_DEAD );
    if (!owned) worker_move( w, WORKER_BLOCKED, WORKER_DEAD );
    ums_note( mark, owner, EVENT_END, 0 );
    w->list = NULL;
    atomic_fetch_or( &w->flags, CONTEXT_TERMINATED );
    ums_list_push( list, w );
    if (owned) scheduler_post( owner, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
    ums_list_unref( list );
    atomic_fetch_sub( &ums_alive, 1 );
    ums_thread_id_clear( w, tid );              /* a new thread may have the context already */
    ums_worker_busy( w, -1 );
    ums_context_unref( w );
    ums_hold_self( NULL, -1 );
}
