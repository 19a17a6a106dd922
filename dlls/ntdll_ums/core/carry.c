/*
 * A worker leaves its carrier.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * These run on the scheduler's own stack base, as the scheduler: the switch has saved the worker's
 * user part and left its stack. Until the state changes, the worker is still CARRIED and nobody
 * else may touch it; the change of the state publishes the user part (release), and whoever takes
 * it from there (acquire) may resume it at once. After the change only the scheduler's own fields
 * are used, but for the park word, which exactly one home thread sleeps on.
 *
 * No wake-up of the home thread is lost: the state is changed first, then the token is given; a
 * home thread that takes a token looks at the state (worker.c, home_wait).
 */

#include "watch/record.h"
#include "state.h"

/* The user part is handed to whoever executes it next. */
void ums_left_yield( struct ums_scheduler *s, struct ums_context *w, uintptr_t param )
{
    ums_note_by( s, w, EVENT_YIELD, 0 );
    worker_give_away( w );
    ke_scheduler_upcall( s, REASON_YIELD, (uintptr_t)w, (void *)param );
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

/* It runs on, and the scheduler waits for what it does. Also the second way to execute a worker
   (handoff), which was never loaded then. stopped: its thread was suspended in user code, and goes
   on there. */
void ums_left_running( struct ums_scheduler *s, struct ums_context *w, uintptr_t stopped )
{
    ums_note_by( s, w, EVENT_HOME, 0 );
    scheduler_expect( s, w->slow_calls );
    w->slow_calls = 0;
    send_home( w, WORKER_RUNNING, stopped != 0 );
    ums_scheduler_wait( s );
}

/* The call may block: the scheduler watches it from the start. */
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

/* The call will block: nothing has to be waited for. The worker may be back on a list, and
   executed elsewhere, before the upcall begins, as on Windows [seen]. */
void ums_left_blocked( struct ums_scheduler *s, struct ums_context *w, uintptr_t payload )
{
    ums_note_by( s, w, EVENT_BLOCK, ums_noted_call( w ) );
    send_home( w, WORKER_BLOCKED, 0 );
    ke_scheduler_upcall( s, REASON_BLOCKED, payload, NULL );
}

/* Somebody has suspended the worker. A resume that came before this found it CARRIED and left it
   alone: whoever finds or makes BLOCKED and no suspension queues it. */
void ums_left_preempted( struct ums_scheduler *s, struct ums_context *w, uintptr_t unused )
{
    uint64_t word;

    (void)unused;
    ums_note_by( s, w, EVENT_BLOCK, WHY_SUSPENDED );
    scheduler_expect( s, 0 );                   /* not to be killed between push and signal */
    word = worker_leave_carrier( w, WORKER_BLOCKED | WORD_PREEMPTED );
    ums_worker_queue_stopped( w, word + (WORKER_BLOCKED | WORD_PREEMPTED) - WORKER_CARRIED );
    if (atomic_load( &w->kill_pending )) ums_worker_killed_finish( w );
    if (atomic_load( &s->killed ))
    {
        uint32_t status = atomic_load( &s->exit_status );

        ums_scheduler_end( s->context );
        ke_end_thread( status );
    }
    atomic_store( &s->posted, 1 );
    ke_scheduler_upcall( s, REASON_BLOCKED, PAYLOAD_INTERRUPT, NULL );
}
