/*
 * Workers that wait without the kernel: for an alert, or until a time. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wait that depends only on words of this process needs no thread. The worker is saved as for a
 * yield, its state becomes BLOCKED | PREEMPTED | WAITS, and its scheduler gets its upcall after one
 * switch. The home thread stays asleep in its parking place. Whoever ends the wait clears WAITS,
 * with one exchange of the state word. Only one thread can do that, because the number in the word
 * belongs to one wait: there is an Execute between two waits. Nothing else ends a wait, except for
 * a kill. So
 *
 *   - a wait is ended once: by an alert, by its deadline, or by the worker itself, if it finds an
 *     alert right after its entry into the state;
 *   - whoever ends it while the worker is not barred (WORD_BARRED) makes the worker QUEUED in the
 *     same exchange, and pushes it (ums_worker_queue);
 *   - whoever ends it while the worker is barred only clears WAITS. The end of the suspension or
 *     hold then finds BLOCKED | PREEMPTED, as for any worker that gave way, and queues the worker
 *     (ums_worker_queue_stopped, which does not queue a worker that WAITS). Both change the same
 *     word, so one of the two sees what the other has done.
 *
 * An alert is one word of the worker, which stays set until the worker itself takes it. No other
 * thread ever holds it. A thread that alerts sets the word, then reads the state; a worker that
 * waits changes its state, then reads the word. All of this is sequentially consistent, so one of
 * them sees the other. An alert that the worker finds after its entry into the state belongs to
 * this wait, because nobody takes it while the worker waits. So nobody is woken for an alert that
 * was already taken.
 *
 * A worker may also have to wait in the host's own call: in a callback, or before the timer runs.
 * In that case, and before the thread is a worker, at_host is set first, and an alert is also made
 * to the thread. For the host that is only a wake-up; the word here decides. So an alert that ended a
 * wait of the thread before it was a worker, for the loader's lock, ends its first wait here, too.
 *
 * Thread ids are reused. An alert for a thread that has ended goes to the host, if no worker has
 * the id; or it comes too late to the old worker, which does not read it; or it comes to the next
 * worker in that context, as a spurious alert, which every user of alerts has to expect. An alert
 * for the new thread is not lost: thread_ids.c.
 *
 * A thread that ends a wait must not be stopped for long, or ended, between the exchange and the
 * push: the worker would be on no list. So these threads are counted (ums_waits_ending), and
 * whoever has stopped a thread checks that count (threads.h). A worker that ends a wait is busy, or
 * in a local call (hook_alerts.c).
 */

#include "record/record.h"
#include "objects.h"
#include "state.h"
#include "wait.h"

int ums_waits_here;
_Atomic uint32_t ums_waits_ending;

static int is_waiting( uint64_t word )
{
    return word_state( word ) == WORKER_BLOCKED && (word & WORD_WAITS);
}

/* Is it still the wait that the word `before` belonged to? Other threads may change flags meanwhile. */
static int is_same_wait( uint64_t word, uint64_t before )
{
    return is_waiting( word ) && (word & WORD_SEQ_MASK) == (before & WORD_SEQ_MASK);
}

/* End the wait that the word `seen` belongs to, unless it has ended. */
static void end_this_wait( struct ums_context *w, uint64_t seen )
{
    uint64_t word = seen, next;
    int ended;

    do
    {
        if (!is_same_wait( word, seen )) return;
        next = word & ~WORD_WAITS;
        if (word & WORD_BARRED) ended = atomic_compare_exchange_weak( &w->word, &word, next );
        else ended = ums_worker_queue( w, &word, (next & ~(WORD_STATE | WORD_PREEMPTED)) |
                                       WORKER_QUEUED );
    }
    while (!ended);
}

static void end_wait( struct ums_context *w, uint64_t seen )
{
    atomic_fetch_add( &ums_waits_ending, 1 );
    end_this_wait( w, seen );
    atomic_fetch_sub( &ums_waits_ending, 1 );
}

/* Called after the worker has changed its state: has an alert, a release, or the end of the wait for an
   object, come before that? The worker may run elsewhere by now. A value that is read here too late ends
   nothing, because end_wait compares the word. */
static int was_alerted( struct ums_context *w )
{
    switch (atomic_load( &w->wait_for ))
    {
    case WAIT_FOR_ALERT:  return atomic_load( &w->alert ) != 0;
    case WAIT_FOR_OBJECT: return atomic_load( &w->over ) != 0;
    case WAIT_FOR_KEY:    return !atomic_load( &w->key );
    default:              return 0;
    }
}

/* ---- into the wait ---- */

/* Runs on the scheduler's stack. An alert, or the deadline, that came before the state is left to the look behind
   it, and so is the push. So this scheduler must be neither suspended nor killed before its upcall
   (scheduler_expect): the worker would stay in a wait that is over, or on no list. A thread that has killed the
   worker may have found this carrier suspended in our code, and left the rest to it (ums_worker_killed). It had
   set SUSPENDED and kill_pending before. */
_Noreturn static void left_waiting( struct ums_scheduler *s, struct ums_context *w, uintptr_t arg )
{
    const uint64_t to = (WORKER_BLOCKED | WORD_PREEMPTED | WORD_WAITS) + WORD_SEQ;
    uint64_t word;

    ums_note_by( s, w, EVENT_BLOCK, ums_noted_call( w ) );
    scheduler_expect( s, 0 );
    word = worker_leave_carrier( w, to ) + to - WORKER_CARRIED;
    if (was_alerted( w )) end_wait( w, word );
    else if (arg) ums_timer_expect( (int64_t)arg );
    if ((word & WORD_SUSPENDED) && atomic_load( &w->kill_pending )) ums_worker_killed_finish( w );
    atomic_store( &s->posted, POST_NONE );
    carrier_upcall( s, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
}

/* Runs at home, in the parking place. arg is on the worker's stack, and valid until the state
   changes. With handoff the worker continues here, and so does one that must stay at home. */
static void parked_wait( struct ums_context *w, void *arg )
{
    int64_t deadline = *(int64_t *)arg;
    uint64_t word, next, flags;
    struct ums_scheduler *owner;
    struct ums_mark mark;
    uint32_t call = ums_noted_call( w );

    for (;;)
    {
        ums_worker_busy( w, 1 );                /* the scheduler waits for the post */
        flags = WORD_PREEMPTED | WORD_WAITS | ums_worker_must_stay( w ); /* busy: nobody stops it */
        mark = ums_mark( w );
        word = atomic_load( &w->word );
        do
        {
            owner = w->owner;                   /* belongs to this word */
            next = ((word + WORD_SEQ) & ~WORD_STATE) | WORKER_BLOCKED | flags;
        }
        while (word_state( word ) == WORKER_RUNNING &&
               !atomic_compare_exchange_weak( &w->word, &word, next ));
        if (word_state( word ) == WORKER_RUNNING) break;
        ums_worker_busy( w, -1 );
        /* Another thread has taken the worker off its scheduler. It has to be executed first. */
        ums_worker_queue_at_home( w );
    }
    ums_note( mark, owner, EVENT_BLOCK, call );
    scheduler_post( owner, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
    if (was_alerted( w )) end_wait( w, next );
    else if (deadline) ums_timer_expect( deadline );
    ums_worker_busy( w, -1 );
    ums_worker_home_wait( w );
}

void ums_worker_wait( struct ums_context *w, enum wait_for what, int64_t deadline )
{
    deadline = ums_timer_round_up( deadline );
    atomic_store( &w->wait_for, what );
    ums_timer_set( w, deadline );
    if (ums_worker_is_carried( w ))
        ke_leave_carrier( w, w->owner, left_waiting, (uintptr_t)deadline );
    else ke_leave_home( w, parked_wait, &deadline );
    ums_timer_set( w, 0 );
}

/* ---- alerts ---- */

int ums_alert_take( struct ums_context *w )
{
    return atomic_exchange( &w->alert, 0 ) != 0;
}

/* wait_for belongs to this word; or to a later wait, and then the exchange fails. */
int ums_alert( struct ums_context *w )
{
    uint64_t word;
    int at_host;

    atomic_exchange( &w->alert, 1 );
    at_host = atomic_load( &w->at_host ) != 0;
    word = atomic_load( &w->word );
    if (is_waiting( word ) && atomic_load( &w->wait_for ) == WAIT_FOR_ALERT &&
        atomic_load( &w->alert )) end_wait( w, word );
    return at_host;
}

/* ---- objects, keys ---- */

/* As for an alert: this sets `over`, then reads the state. */
void ums_wait_over( struct ums_context *w )
{
    uint64_t word;

    atomic_exchange( &w->over, 1 );
    word = atomic_load( &w->word );
    if (is_waiting( word ) && atomic_load( &w->wait_for ) == WAIT_FOR_OBJECT &&
        atomic_load( &w->over )) end_wait( w, word );
}

/* As for an alert: the caller has taken the key, then this reads the state. */
void ums_wait_released( struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    if (is_waiting( word ) && atomic_load( &w->wait_for ) == WAIT_FOR_KEY &&
        !atomic_load( &w->key )) end_wait( w, word );
}

int ums_wait_is( const struct ums_context *w, uint64_t word )
{
    return is_same_wait( atomic_load( &w->word ), word );
}

/* ---- by the timer ---- */

/* The worker stores *deadline before it changes its state. So the deadline belongs to this word, or to
   a later wait. */
int64_t ums_wait_look( struct ums_context *w, _Atomic int64_t *deadline, int64_t now )
{
    uint64_t word = atomic_load( &w->word );
    int64_t until;

    if (!is_waiting( word ) || !(until = atomic_load( deadline ))) return INT64_MAX;
    if (until > now) return until;
    if (atomic_load( &w->wait_for ) == WAIT_FOR_OBJECT) ums_object_time_over( w, word );
    else end_wait( w, word );
    return INT64_MAX;
}
