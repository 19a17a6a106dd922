/*
 * Other threads stop a worker, or end it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The worker's home thread has been suspended or ended, by a call that the hook has seen (entry/) or by
 * another process (host/ke_warden.c). These functions bring the worker's state into line with that.
 * Any thread calls them.
 */

#include "patience.h"
#include "state.h"

/* ---- its thread is ended ---- */

/* Somebody has ended the worker's thread from outside: it runs no more. If it is carried it is taken
   off its carrier first: WORD_SUSPENDED keeps it from being executed again. A carrier that has ended
   has taken it along. One that stands still is left for later: then whoever lets it go on comes
   here (hook_kill.c), or the carrier itself (carry.c). kill_pending is set before we look, and
   they look at it after the worker has left: so one of us sees to the rest. */
void ums_worker_killed( struct ums_context *w )
{
    atomic_fetch_or( &w->word, WORD_SUSPENDED );
    atomic_store( &w->kill_pending, 1 );
    ums_worker_killed_finish( w );
}

/* Returns the word that was replaced, 0 if it is dead already. Nobody executes it, and it does nothing
   any more; but others may dequeue it, or end its wait, meanwhile. */
static uint64_t make_dead( struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    do if (word_state( word ) == WORKER_NONE || word_state( word ) == WORKER_DEAD) return 0;
    while (!atomic_compare_exchange_weak( &w->word, &word, (word & ~WORD_STATE) | WORKER_DEAD ));
    return word;
}

/* Who pushes it: whoever has made it QUEUED has done so, or is about to, and has the list (ums_list_of);
   whoever takes LINKED off it; or else we. Marked terminated, and "on" the list, before it can be seen
   dead: from then on somebody may dequeue it, delete it and use it again. So nothing of it is touched
   behind the push, but the reference of its home thread, which is given back last. */
void ums_worker_killed_finish( struct ums_context *w )
{
    enum ke_preempted left = KE_TRY_AGAIN;
    struct ums_scheduler *owner;
    int64_t begin = ke_clock();
    struct ums_mark mark;
    struct ums_list *list;
    uint64_t word;

    while (ums_worker_is_carried( w ) && left != KE_CARRIER_GONE)
    {
        left = ke_preempt( w->owner, w );
        if (left == KE_CARRIER_STOPPED || ums_give_up( begin, "a killed worker's carrier" )) return;
    }
    if (!atomic_exchange( &w->kill_pending, 0 )) return;
    mark = ums_mark( w );
    word = atomic_load( &w->word );
    if (word_state( word ) == WORKER_NONE || word_state( word ) == WORKER_DEAD) return;
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

/* It stands still and has been given breakpoints, which are its own thread's: so that is where it is
   resumed. What is not parked finds out when it parks. */
void ums_worker_pin( struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    if (!atomic_load( &w->breakpoints )) return;
    do if (word_state( word ) != WORKER_READY && word_state( word ) != WORKER_QUEUED &&
           !(word & WORD_PREEMPTED)) return;
    while (!atomic_compare_exchange_weak( &w->word, &word, word | WORD_HOME ));
}

/* Its scheduler is about to be killed: it is taken as blocked at once. If it is in a call it comes
   to its list when that is over; one that ran has been stopped. */
void ums_worker_taken( struct ums_context *w )
{
    struct ums_scheduler *owner = w->owner;
    uint32_t call = ums_noted_call( w );
    struct ums_mark mark = ums_mark( w );

    if (worker_move( w, WORKER_INKERNEL, WORKER_BLOCKED ))
        worker_taken_off( mark, owner, PAYLOAD_SYSCALL, call );
}

/* The worker's home thread has been suspended, and not in a section that others wait for (busy). If
   the worker runs, take it off its scheduler [seen: payload 0]: we do that at home, the carrier does
   it on a carrier. A worker in a kernel call is left alone, its scheduler will find it blocked; in
   any other state it has no scheduler. only_if: NULL, or a condition on each word that is seen.
   Returns the word that was replaced, 0 if none was: a word is never 0 in these states.

   A carrier that stands still before it has become the owner is not found; then the wait ends after
   UMS_PATIENCE, and the worker leaves when it gives way. */
static uint64_t take_off( struct ums_context *w, uint64_t stopped,
                          int (*only_if)( const struct ums_context *w, uint64_t word ) )
{
    int64_t begin = ke_clock();

    for (;;)
    {
        struct ums_mark mark = ums_mark( w );
        uint64_t word = atomic_load( &w->word );
        struct ums_scheduler *owner = w->owner;

        if (only_if && !only_if( w, word )) return 0;
        if (word_state( word ) == WORKER_CARRIED)
        {
            if (ke_preempt( owner, w ) != KE_TRY_AGAIN ||
                ums_give_up( begin, "a suspended worker to leave its carrier" )) return 0;
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

/* Who is counted in the word of the exchange has suspended the thread, or is about to, for himself;
   who counts later finds STOPPED and leaves the thread alone (ums_special_suspend). */
int ums_worker_stopped( struct ums_context *w )
{
    uint64_t word = take_off( w, WORD_STOPPED, NULL );

    return word && !(word & WORD_SUSPENDED);
}

/* Its thread does not leave the parking place, or the signal, before the worker is executed here. So
   it is like one that was preempted and has to stay at home. */
void ums_worker_held( struct ums_context *w )
{
    take_off( w, WORD_PREEMPTED | WORD_HOME, NULL );
}

/* A suspension that is not complete does not count for a worker at home: its thread may still run,
   and may even be busy. If it were taken off its scheduler now, it would run on without one, and then
   park with WORD_STOPPED, from which nobody wakes it. Whoever makes the suspension, the worker itself
   included, takes it off when its thread stands still. */
static int is_suspended( const struct ums_context *w, uint64_t word )
{
    if (word_state( word ) == WORKER_CARRIED) return (word & (WORD_SUSPENDED | WORD_HOLD)) != 0;
    return (word & WORD_SUSPENDED) && !(word & (WORD_SUSPENDING | WORD_HOLD)) &&
           !atomic_load( &w->self_suspending );
}

/* Its scheduler stood still in the middle of our code, and goes on. It may have kept a worker that was
   suspended meanwhile. */
void ums_worker_kept( struct ums_context *w )
{
    take_off( w, WORD_STOPPED, is_suspended );
}

/* Its thread is suspended, sleeps in a page fault, and stops before its next instruction: as if it
   had stopped. word: as it was when it was found there. 0: it has done something since, or somebody
   else is suspending it: whoever executes a stopped worker resumes its thread once. */
int ums_worker_faulted( struct ums_context *w, uint64_t word )
{
    struct ums_scheduler *owner = w->owner;     /* of this word: the number in it is of one
                                                   execute */
    struct ums_mark mark;

    if (word & (WORD_BARRED | WORD_SUSPENDING)) return 0;
    mark = ums_mark( w );
    if (!atomic_compare_exchange_strong( &w->word, &word, (word & ~WORD_STATE) | WORKER_BLOCKED |
                                         WORD_STOPPED )) return 0;
    worker_taken_off( mark, owner, PAYLOAD_INTERRUPT, WHY_PAGE_FAULT );
    return 1;
}

/* If it was taken off its scheduler for a suspension, or waited meanwhile, and both is over: to its
   list [seen]. word: as it was seen. */
void ums_worker_queue_stopped( struct ums_context *w, uint64_t word )
{
    do if (word_state( word ) != WORKER_BLOCKED || (word & (WORD_BARRED | WORD_WAITS)) ||
           !(word & (WORD_STOPPED | WORD_PREEMPTED))) return;
    while (!ums_worker_queue( w, &word, (word & ~WORD_STATE) | WORKER_QUEUED ));
}

/* Its thread is about to be resumed for good. One that was stopped at home goes on when it is
   executed, which may happen at once: word is what the end of the suspension has left, and by now
   it may run again. 1: do not resume its thread now. */
int ums_worker_continued( struct ums_context *w, uint64_t word )
{
    ums_worker_queue_stopped( w, word );
    return (word & WORD_STOPPED) != 0;
}
