/*
 * Workers: their life, and what they do themselves: block, come back, yield.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ownership is dropped before the scheduler is told, as on Windows: another scheduler may execute
 * the worker before the first one has entered its SchedulerProc. So after its transition a worker
 * uses only what it had read before: its scheduler, which cannot go away because it still waits for
 * the post, and its list, which it holds a reference to.
 *
 * A home thread that gives its worker away first saves it and steps aside (ke_leave_home): what
 * comes after the transition runs in the parked_ functions, on another stack.
 */

#include "watch/record.h"
#include "patience.h"
#include "state.h"

/* The home thread begins or ends something that others wait for: it must not be stopped meanwhile.
   A count, because the last of a worker's life may overlap the first of the next one with the same
   context. Sequentially consistent: who has stopped the thread sees what it has begun. */
void ums_worker_busy( struct ums_context *w, int more )
{
    atomic_fetch_add( &w->busy, (uint32_t)more );
}

/* ---- the home thread while the worker is away ---- */

/* Sleep until the worker is to run here. A token alone does not say so: one that was meant for an
   earlier life of this slot may come late. The state is changed before the token is given. */
void ums_worker_home_wait( struct ums_context *w )
{
    enum worker_state state;
    uint64_t word;

    do
    {
        ums_park( &w->park, NULL );
        word = atomic_load( &w->word );
        state = word_state( word );
    }
    while (state == WORKER_STARTING || state == WORKER_QUEUED || state == WORKER_READY ||
           state == WORKER_CARRIED || (word & WORD_PREEMPTED));
}

/* The worker's user part is complete: let it be found on its list, and wait. If its thread were
   stopped between push and signal, later pushes would not signal either: busy keeps others from
   that. */
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
        ums_note( mark, NULL, EVENT_QUEUE, 0 ); /* who takes it off the list comes later */
        ums_list_push( list, w );
    }
    ums_list_unref( list );
    ums_worker_busy( w, -1 );
    if (queued) ums_worker_home_wait( w );
}

/* A worker that has breakpoints, or is inside a call that goes on here, must be resumed here. */
static uint64_t must_stay( const struct ums_context *w )
{
    return atomic_load( &w->breakpoints ) || inside_any( &w->inside ) ? WORD_HOME : 0;
}

/* The same for one that is BLOCKED | PREEMPTED: where nobody is carried that has to be said. */
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

        /* The scheduler has taken it as blocked in the call that we are a callback of, or
           somebody has stopped and resumed it: it has to be scheduled first, here. */
        queue_and_wait( w, WORKER_BLOCKED, WORD_HOME );
    }
    ums_note( mark, owner, EVENT_YIELD, 0 );
    scheduler_post( owner, REASON_YIELD, (uintptr_t)w, param );
    ums_worker_busy( w, -1 );
    ums_worker_home_wait( w );
}

/* ---- the worker itself ---- */

/* To its home, if it is not there: it runs on, and its scheduler waits. */
void ums_worker_go_home( struct ums_context *w )
{
    if (ums_worker_is_carried( w )) ke_leave_carrier( w, w->owner, ums_left_running, 0 );
}

/* Somebody wants to suspend the worker, which is carried, and may look for it in vain (ke_preempt):
   it leaves by itself, as if it had been found here. */
void ums_worker_give_way( struct ums_context *w )
{
    while ((atomic_load_explicit( &w->word, memory_order_relaxed ) & WORD_BARRED) &&
           ums_worker_is_carried( w ))
        ke_leave_carrier( w, w->owner, ums_left_preempted, 0 );
}

/* The worker is about to wait in the kernel: its scheduler gets control at once. 0 if it is on no
   scheduler. */
int ums_worker_block( struct ums_context *w, uintptr_t payload )
{
    struct ums_scheduler *owner;
    struct ums_mark mark;
    uint32_t call = ums_noted_call( w );
    int left;

    if (ums_worker_is_carried( w ))
    {
        ke_leave_carrier( w, w->owner, ums_left_blocked, payload );
        return 1;
    }
    ums_worker_busy( w, 1 );                        /* the scheduler waits for the post */
    owner = w->owner;
    mark = ums_mark( w );
    left = worker_leave( w, WORKER_BLOCKED );
    if (left) worker_taken_off( mark, owner, payload, call );
    ums_worker_busy( w, -1 );
    return left;
}

/* From here on the scheduler may have taken the worker and even be gone: then this wakes whoever
   has the slot. */
static void watch( struct ums_scheduler *owner )
{
    if (atomic_load( &owner->watching )) return;
    atomic_store( &owner->watching, 1 );
    ums_unpark( &owner->park );
}

/* The worker makes a call that may block. Its scheduler watches from now on; the first time in a
   while it has to be woken for that. 0 if it is on no scheduler. */
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
    ums_worker_busy( w, 1 );                    /* stopped in between, nobody would look */
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

/* A call that ums_worker_block or ums_worker_enter_kernel announced is over and its result in
   place. If the worker has been told or taken as blocked, it goes to its list and this returns
   when it is executed. A callback or APC out of the call may have yielded: then it is RUNNING
   already, or on its way back into the call. */
void ums_worker_back( struct ums_context *w )
{
    struct ums_mark mark = ums_mark( w );

    if (worker_move( w, WORKER_INKERNEL, WORKER_RUNNING ))
    {
        ums_note( mark, NULL, EVENT_BACK, 0 );
        /* set while the thread stood still in that state */
        if (w->preempted) ke_continue( w );
        return;
    }
    if (word_state( atomic_load( &w->word ) ) != WORKER_BLOCKED) return;
    ke_leave_home( w, parked_queue, (void *)(uintptr_t)WORKER_BLOCKED );
}

static void yield_at_home( struct ums_context *w, void *param )
{
    /* in a callback out of a call that was announced: it is still going on */
    int in_call = word_state( atomic_load( &w->word ) ) != WORKER_RUNNING;

    ke_leave_home( w, parked_yield, param );
    if (in_call) ums_worker_enter_kernel( w );
}

static __attribute__((noinline)) int32_t yield_slowly( void *param, int32_t success,
                                                        int32_t (*failed)( ums_status status ) )
{
    struct ums_context *w = ke_current();

    if (!w || w->kind != CONTEXT_WORKER) return failed( STATUS_INVALID_PARAMETER );
    yield_at_home( w, param );
    return success;
}

/* The switch is the last thing in the plain way, and a jump: it returns to our caller. Who is
   carried is a worker. */
int32_t ums_yield( void *param, int32_t success, int32_t (*failed)( ums_status status ) )
{
    struct ums_context *w = ke_current();

    if (!w || !ums_worker_is_carried( w )) return yield_slowly( param, success, failed );
    w->success = success;
    return ke_leave_carrier( w, w->owner, ums_left_yield, (uintptr_t)param );
}

/* To its list, with one exchange of its word. Whoever makes it has the worker to itself until it is
   linked; one that kills it meanwhile leaves the push to us. So the list is referenced before. 0: the
   word has changed, and is *word now. */
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

/* A dead one, which need not have been dequeued: whoever pushes it, or walks over the chain that it is
   in, is waited for. */
static int use_again( struct ums_context *w )
{
    int64_t begin = ke_clock();

    if (word_state( atomic_load( &w->word ) ) == WORKER_DEAD) ums_list_walked( w, 0 );
    while (word_state( atomic_load( &w->word ) ) == WORKER_DEAD && !ums_list_forget( w ))
        if (ums_give_up( begin, "a dead worker to leave its completion list" )) return 0;
    return worker_move( w, WORKER_DEAD, WORKER_STARTING );
}

/* A thread is about to be made with this context. What the client has stored as user context
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
    atomic_store( &w->breakpoints, 0 );
    w->teb         = NULL;
    atomic_store( &w->tid, 0 );
    atomic_store( &w->self_suspending, 0 );
    atomic_store( &w->kill_pending, 0 );
    ke_thread_renew( w );
    atomic_store( &w->at_host, 1 );             /* until it is a worker */
    atomic_store( &w->alert, 0 );
    atomic_fetch_add( &ums_alive, 1 );
    /* holds end by themselves */
    atomic_fetch_and( &w->word, ~(WORD_HALTED | WORD_PARKED | WORD_WAITS) );
    atomic_store( &w->park.token, 0 );
    atomic_fetch_add( &w->refs, 1 );
    atomic_store( &w->flags, CONTEXT_SCHEDULED_THREAD );
    *worker = w;
    return STATUS_SUCCESS;
}

/* The thread exists and stands still: what it is has to be known before anybody can suspend or
   resume it. */
void ums_worker_made( struct ums_context *w, void *teb, uint32_t tid )
{
    w->teb = teb;
    ums_context_suspended( w );
    ums_thread_id_set( w, tid );
}

/* There will be no thread after all. */
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

/* On the new thread, before its start routine: become a worker, go to the list, and return when
   executed. */
void ums_worker_start( struct ums_context *w )
{
    w->teb = ke_teb();                          /* not known before the thread ran */
    atomic_store( &w->host_thread, ke_host_thread() );
    ke_thread_enters( w );
    note_start( w );
    ke_set_current( w );
    atomic_store( &w->at_host, 0 );             /* an alert that came before stays: alert is set */
    ke_leave_home( w, parked_queue, (void *)(uintptr_t)WORKER_STARTING );
}

/* The home thread is on its last way into the kernel. It is an ordinary thread from here on.
   Terminated is set before the context is queued [seen]; after the push the client may delete it,
   and the slot is given back last. Owner and list are read when nobody can stop the thread any
   more: a suspension before that may have moved the worker to another scheduler. Until the end
   whoever suspends the thread finds it by its id, deleted or not (ums_context_of_ending). */
void ums_worker_end( struct ums_context *w )
{
    struct ums_scheduler *owner;
    struct ums_list *list;
    struct ums_mark mark;
    uint32_t tid;
    int owned;

    ums_worker_go_home( w );
    ums_worker_busy( w, 1 );
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
}
