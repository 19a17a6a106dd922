/*
 * Other threads stop a worker, or end it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The worker's home thread has been suspended or ended, by a call that the hook has seen (syscalls/)
 * or by another process (host/ke_warden.c). These functions bring the worker's state into line with
 * that. Any thread calls them.
 */

#include "patience.h"
#include "objects.h"
#include "state.h"

/* ---- its thread is ended ---- */

/* Another thread has ended the worker's thread, which does not run any more. A carried worker is
   first taken off its carrier; WORD_SUSPENDED keeps it from being executed again. If the carrier
   has ended, the worker ended with it. If the carrier stands still, the kill is finished later, by
   the thread that resumes the carrier (hook_suspend.c) or by the carrier itself (carry.c).
   kill_pending is set before the look at the carrier here, and they read it after the worker has
   left. So one of the two finishes the kill. */
void ums_worker_killed( struct ums_context *w )
{
    atomic_fetch_or( &w->word, WORD_SUSPENDED );
    atomic_store( &w->kill_pending, 1 );
    ums_worker_killed_finish( w );
}

/* Returns the word that was replaced; 0 if the worker is dead already. Nobody executes the worker,
   and its thread does not run. But other threads may dequeue it, or end its wait, meanwhile. */
static uint64_t make_dead( struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    do if (word_state( word ) == WORKER_NONE || word_state( word ) == WORKER_DEAD) return 0;
    while (!atomic_compare_exchange_weak( &w->word, &word, (word & ~WORD_STATE) | WORKER_DEAD ));
    return word;
}

/* Three threads may have to push a killed worker. If the word was QUEUED, whoever made it QUEUED
   has pushed it or is about to, and has its own reference to the list (ums_list_of). If the word
   was LINKED, whoever clears LINKED pushes it. Otherwise this function does. The worker is marked
   terminated, and "on" names its list, before it can be seen dead: from then on a client may
   dequeue it, delete it and use it again. So nothing of it is touched after the push, except for
   the reference of its home thread, which is dropped last. */
void ums_worker_killed_finish( struct ums_context *w )
{
    enum ke_preempted left = KE_TRY_AGAIN;
    struct ums_scheduler *owner;
    struct ums_wait wait = ums_wait_begins();
    struct ums_mark mark;
    struct ums_list *list;
    uint64_t word;

    while (ums_worker_is_carried( w ) && left != KE_CARRIER_GONE)
    {
        left = ke_preempt( w->owner, w, ums_spins_too_long( &wait, wait.moments ) );
        if (left == KE_CARRIER_STOPPED || ums_give_up( &wait, "a killed worker's carrier" )) return;
        ums_wait_moment( &wait );
    }
    if (!atomic_exchange( &w->kill_pending, 0 )) return;
    mark = ums_mark( w );
    word = atomic_load( &w->word );
    if (word_state( word ) == WORKER_NONE || word_state( word ) == WORKER_DEAD) return;
    ums_objects_worker_gone( w );               /* it is barred: so nobody queues it for that */
    /* Whoever resumes it waits until this is 0 (ums_resume_worker). Only its own thread sets it, and does
       not run any more. */
    atomic_store( &w->self_suspending, 0 );
    owner = w->owner;
    list = w->list;
    ums_thread_id_clear( w, atomic_load( &w->tid ) );   /* takes no new thread */
    atomic_fetch_or( &w->flags, CONTEXT_TERMINATED );
    ums_list_will_push( list, w );
    if (!(word = make_dead( w ))) return;
    atomic_fetch_sub( &ums_alive, 1 );
    ums_note( mark, NULL, EVENT_END, 0 );
    if (!(word & WORD_LINKED))
    {
        if (word_state( word ) != WORKER_QUEUED) ums_list_push( list, w );
        if (word_state( word ) == WORKER_RUNNING || word_state( word ) == WORKER_INKERNEL)
            scheduler_post( owner, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
        ums_list_unref( list );
    }
    ums_context_unref( w );
}

void ums_worker_left_behind( struct ums_context *w )
{
    worker_leave_carrier( w, WORKER_BLOCKED | WORD_PREEMPTED );
}

/* ---- its thread is stopped ---- */

/* The worker stands still and has been given breakpoints. They are in its own thread's debug
   registers, so it has to be resumed at home. A worker that is not parked checks this itself when
   it parks. */
void ums_worker_pin( struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    if (!atomic_load( &w->breakpoints )) return;
    do if (word_state( word ) != WORKER_READY && word_state( word ) != WORKER_QUEUED &&
           !(word & WORD_PREEMPTED)) return;
    while (!atomic_compare_exchange_weak( &w->word, &word, word | WORD_HOME ));
}

/* The worker's scheduler is about to be killed: take the worker as blocked at once. A worker in a
   call is queued when that call is over. A worker that ran has been stopped before. */
void ums_worker_taken( struct ums_context *w )
{
    struct ums_scheduler *owner = w->owner;
    uint32_t call = ums_noted_call( w );
    struct ums_mark mark = ums_mark( w );

    if (worker_move( w, WORKER_INKERNEL, WORKER_BLOCKED ))
        worker_taken_off( mark, owner, PAYLOAD_SYSCALL, call );
}

/* The thread of s has died. If the worker has yielded to it and it has not taken that, no SchedulerProc has heard of
   it: queue the worker, like one that was stopped [guess]. What was posted stays, because nobody takes it; a worker that
   was taken as blocked posts that, and may be READY because somebody has dequeued it. While the worker is READY with this
   owner, nobody has executed it since; if another scheduler executes it now, the exchange fails. 0: the
   worker has not posted yet; it is about to, and the slot must not be used again before. That is certain only if the
   thread died asleep: before that it may also have been about to end the worker's wait itself (left_waiting). */
int ums_worker_queue_unheard( struct ums_scheduler *s, struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    if (w->owner != s || word_state( word ) != WORKER_READY) return 1;
    if (atomic_load( &s->posted ) == POST_AWAITED) return !atomic_load( &s->waiting );
    if (atomic_load( &s->posted ) == POST_NONE || s->upcall.reason != REASON_YIELD) return 1;
    while (word_state( word ) == WORKER_READY && w->owner == s &&
           !ums_worker_queue( w, &word, (word & ~WORD_STATE) | WORKER_QUEUED )) ;
    return 1;
}

/* The worker's home thread has been suspended, and not in a section that others wait for (busy). If
   the worker runs, take it off its scheduler [seen: payload 0]: we do that at home, the carrier
   does it on a carrier. A worker in a kernel call is left alone, its scheduler will find it
   blocked; in any other state it has no scheduler. only_if: NULL, or a condition on each word that
   is seen. Returns the word that was replaced, 0 if none was: a word is never 0 in these states.

   A carrier that stands still before it has become the owner is not found; then the wait ends after
   UMS_PATIENCE, and the worker leaves when it gives way. */
static uint64_t take_off( struct ums_context *w, uint64_t stopped,
                          int (*only_if)( const struct ums_context *w, uint64_t word ) )
{
    struct ums_wait wait = ums_wait_begins();

    for (;;)
    {
        struct ums_mark mark = ums_mark( w );
        uint64_t word = atomic_load( &w->word );
        struct ums_scheduler *owner = w->owner;

        if (only_if && !only_if( w, word )) return 0;
        if (word_state( word ) == WORKER_CARRIED)
        {
            if (ke_preempt( owner, w, ums_spins_too_long( &wait, wait.moments ) ) != KE_TRY_AGAIN ||
                ums_give_up( &wait, "a suspended worker to leave its carrier" )) return 0;
            ums_wait_moment( &wait );
        }
        else if (word_state( word ) != WORKER_RUNNING) return 0;
        else if (atomic_compare_exchange_weak( &w->word, &word, (word & ~WORD_STATE) |
                                               WORKER_BLOCKED | stopped ))
        {
            worker_taken_off( mark, owner, PAYLOAD_INTERRUPT, WHY_SUSPENDED );
            return word;
        }
    }
}

/* A resume that has given the suspension up has resumed the thread, if that was suspended by then. One that comes behind the exchange
   finds STOPPED, and leaves the thread alone. */
static int still_counts( const struct ums_context *w, uint64_t word )
{
    (void)w;
    return word_suspended( word ) >= word_suspending( word );
}

int ums_worker_suspended( struct ums_context *w )
{
    return take_off( w, WORD_STOPPED, still_counts ) != 0;
}

/* Whoever is counted in the word of the exchange has suspended the thread itself: a hold waits until that is done.
   Whoever counts later finds STOPPED, and does not suspend the thread (ums_special_suspend). */
int ums_worker_stopped( struct ums_context *w )
{
    uint64_t word = take_off( w, WORD_STOPPED, NULL );

    return word && !(word & WORD_SUSPENDED);
}

/* The thread does not leave its parking place, or its signal handler, before the worker is executed
   at home. So the worker is marked as one that was preempted and has to stay at home. */
void ums_worker_held( struct ums_context *w )
{
    take_off( w, WORD_PREEMPTED | WORD_HOME, NULL );
}

/* A suspension that is not complete does not count for a worker at home: its thread may still run,
   and may even be busy. If it were taken off its scheduler now, it would run on without one, and
   then park with WORD_STOPPED, from which nobody wakes it. Whoever makes the suspension, the worker
   itself included, takes it off when its thread stands still. */
static int is_suspended( const struct ums_context *w, uint64_t word )
{
    if (word_state( word ) == WORKER_CARRIED) return (word & (WORD_SUSPENDED | WORD_HOLD)) != 0;
    return (word & WORD_SUSPENDED) && !(word & (WORD_SUSPENDING | WORD_HOLD)) &&
           !atomic_load( &w->self_suspending );
}

/* The worker's scheduler stood still in our code, and continues. It may have kept a worker that was
   suspended meanwhile. */
void ums_worker_kept( struct ums_context *w )
{
    take_off( w, WORD_STOPPED, is_suspended );
}

/* The worker's thread is suspended while it sleeps in a page fault, and will stop before its next
   instruction. So it counts as stopped. word: the word when it was found there. 0: the worker has
   moved since, or another thread is suspending it; Execute resumes the thread of a stopped worker
   only once. */
int ums_worker_faulted( struct ums_context *w, uint64_t word )
{
    struct ums_scheduler *owner = w->owner;     /* belongs to this word: each execute has its own
                                                   number */
    struct ums_mark mark;

    if (word & (WORD_BARRED | WORD_SUSPENDING)) return 0;
    mark = ums_mark( w );
    if (!atomic_compare_exchange_strong( &w->word, &word, (word & ~WORD_STATE) | WORKER_BLOCKED |
                                         WORD_STOPPED )) return 0;
    worker_taken_off( mark, owner, PAYLOAD_INTERRUPT, WHY_PAGE_FAULT );
    return 1;
}

/* Queue a worker that was taken off its scheduler for a suspension, or that waited, if both are
   over [seen]. word: the word that the caller has read. */
void ums_worker_queue_stopped( struct ums_context *w, uint64_t word )
{
    do if (word_state( word ) != WORKER_BLOCKED || (word & (WORD_BARRED | WORD_WAITS)) ||
           !(word & (WORD_STOPPED | WORD_PREEMPTED))) return;
    while (!ums_worker_queue( w, &word, (word & ~WORD_STATE) | WORKER_QUEUED ));
}

/* The last suspension of the worker ends. A worker that was stopped at home continues when it is
   executed, which may happen at once. word is the word without the suspension; the worker may run
   again by now. 1: do not resume its thread. */
int ums_worker_continued( struct ums_context *w, uint64_t word )
{
    ums_worker_queue_stopped( w, word );
    return (word & WORD_STOPPED) != 0;
}
