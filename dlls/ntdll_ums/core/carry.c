/*
 * A worker leaves its carrier.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * These functions run on the scheduler's stack base, as the scheduler: the switch has saved the
 * worker's user part and left the worker's stack. The worker stays CARRIED, and no other thread may
 * touch it, until its state changes. That change publishes the user part (release). Whoever takes
 * the worker from its new state (acquire) may resume it at once. So after the change these
 * functions use the scheduler's own fields only, except for the park word, on which exactly one
 * home thread sleeps.
 *
 * No wake-up of the home thread is lost: the state changes first, then the token is given. A home
 * thread that takes a token reads the state (ums_worker_home_wait).
 */

#include "record/record.h"
#include "state.h"

/* Where GS is written by a system call, a thread that stops the scheduler of a worker that only yields finds it at the end of that
   call: Linux stops a thread there, and it is in the middle of the switch. So it pauses here, where it carries nobody; nobody
   waits for it here, so it may be suspended. Only this thread takes the flag back. One that is set behind the look is seen at the next
   upcall, one that is set twice costs one pause; nobody waits for the pause, it only makes the next try likely to succeed. What it is about to
   tell is posted meanwhile, as by a worker at home: if it is terminated here, whoever sees that queues a worker that has yielded
   (ums_worker_queue_unheard). Only a thread that has stopped this one, or has seen it dead, reads that. Nobody else posts to it: it expects
   nothing (POST_NONE), and its last worker posts to whoever executes it next. If it is stopped before the post, or behind it, it is in our
   code, or posted without waiting: whoever terminates it lets it go on then. Another process that ends it before the post finds nothing
   posted, and that yield is lost. */
__attribute__((noinline)) void ums_pause_to_be_stopped( struct ums_scheduler *s, uint32_t reason, uintptr_t payload,
                                                        void *param )
{
    static const int64_t pause = 20000;             /* 100 ns: 2 ms */
    static _Atomic uint32_t never;

    atomic_store( &s->pause_wanted, 0 );
    s->upcall.reason  = reason;
    s->upcall.payload = payload;
    s->upcall.param   = param;
    atomic_store( &s->waiting, 1 );                 /* first: posted and not waiting is in the middle of a switch */
    atomic_store( &s->posted, POST_MADE );
    ke_wait( &never, 0, &pause );
    atomic_store( &s->posted, POST_NONE );
    atomic_store( &s->waiting, 0 );
}

/* The worker yields: the next scheduler that executes it resumes the user part. */
void ums_left_yield( struct ums_scheduler *s, struct ums_context *w, uintptr_t param )
{
    ums_note_by( s, w, EVENT_YIELD, 0 );
    worker_give_away( w );
    carrier_upcall( s, REASON_YIELD, (uintptr_t)w, (void *)param );
}

/* From here on the worker runs at home. */
static void send_home( struct ums_context *w, uint64_t to, int stopped )
{
    uint32_t tid = atomic_load( &w->tid );

    atomic_fetch_or_explicit( &w->flags, CONTEXT_RUNNING_ON_SELF_THREAD, memory_order_relaxed );
    worker_leave_carrier( w, to );
    if (stopped) ke_resume_thread( w, tid );
    else ums_unpark( &w->park );
}

/* The worker continues at home, and the scheduler waits for its upcall. Handoff uses this function
   to execute a worker, which was not loaded on the carrier in that case. stopped: the worker's
   thread was suspended in user code, and continues there. */
void ums_left_running( struct ums_scheduler *s, struct ums_context *w, uintptr_t stopped )
{
    ums_note_by( s, w, EVENT_HOME, 0 );
    scheduler_expect( s, w->slow_calls );
    w->slow_calls = 0;
    send_home( w, WORKER_RUNNING, stopped != 0 );
    ums_scheduler_wait( s );
}

/* The worker makes a call that may block. The scheduler watches the call from its start. */
void ums_left_inkernel( struct ums_scheduler *s, struct ums_context *w, uintptr_t unused )
{
    (void)unused;
    ums_note_by( s, w, EVENT_HOME, 0 );
    ums_note_by( s, w, EVENT_KERNEL, ums_noted_call( w ) );
    scheduler_expect( s, 1 );
    w->slow_calls = 1;
    send_home( w, WORKER_INKERNEL + WORD_SEQ, 0 );
    ums_scheduler_wait( s );
}

/* The worker makes a call that will block, so the scheduler gets its upcall at once. The worker may
   be queued, and executed elsewhere, before the upcall begins, as on Windows [seen]. Nobody posts to this
   scheduler, which must not be stopped between the state and the token all the same: the worker would not make its
   call. */
void ums_left_blocked( struct ums_scheduler *s, struct ums_context *w, uintptr_t payload )
{
    ums_note_by( s, w, EVENT_BLOCK, ums_noted_call( w ) );
    scheduler_expect( s, 0 );
    send_home( w, WORKER_BLOCKED, 0 );
    atomic_store( &s->posted, POST_NONE );
    carrier_upcall( s, REASON_BLOCKED, payload, NULL );
}

/* Another thread has suspended the worker, or holds it. A resume that came before the exchange
   below found the worker CARRIED and did not queue it. So this function queues it, if the exchange
   finds no suspension any more. */
void ums_left_preempted( struct ums_scheduler *s, struct ums_context *w, uintptr_t unused )
{
    uint64_t word;

    (void)unused;
    ums_note_by( s, w, EVENT_BLOCK, WHY_SUSPENDED );
    scheduler_expect( s, 0 );                   /* no kill between push and signal */
    word = worker_leave_carrier( w, WORKER_BLOCKED | WORD_PREEMPTED );
    ums_worker_queue_stopped( w, word + (WORKER_BLOCKED | WORD_PREEMPTED) - WORKER_CARRIED );
    if (atomic_load( &w->kill_pending )) ums_worker_killed_finish( w );
    if (atomic_load( &s->killed ))
    {
        uint32_t status = atomic_load( &s->exit_status );

        ums_scheduler_end( s->context );
        ke_end_thread( status );
    }
    atomic_store( &s->posted, POST_NONE );
    carrier_upcall( s, REASON_BLOCKED, PAYLOAD_INTERRUPT, NULL );
}
