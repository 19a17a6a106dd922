/*
 * Holds: another thread keeps a worker in place for a moment, to read or set its registers, or to
 * end it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "core/objects.h"
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"
#include "host/thread.h"
#include "syscalls/threads/threads.h"

/* Call this in a loop that waits for another thread: that one may be waiting for this one. */
void ums_let_others_go_on( struct ums_context *self, struct ums_wait *wait )
{
    ums_hold_self( self, -1 );
    SwitchToThread();
    ums_wait_moment( wait );
    ums_hold_self( self, 1 );
}

/* The state leaves STARTING once: when the worker parks, or its thread is terminated. Nobody wakes the caller, which looks again and
   again, so nothing can be lost; it holds nothing, and may be stopped here. One that stands here is terminated when it has left.
   The context may be deleted and be another thread's meanwhile: its memory stays, and the id tells. One that the program has
   suspended does not begin; if it is resumed right behind the look, it may be stopped in its start, as it was before. If the caller
   has the loader's lock no thread begins; if a thread has it that waits for the caller, this ends with patience. */
int ums_wait_for_start( const struct ums_context *target, uint32_t tid )
{
    struct ums_wait wait = ums_wait_begins();
    uint64_t word;

    for (;; SwitchToThread(), ums_wait_moment( &wait ))
    {
        word = atomic_load( &target->word );
        if (word_state( word ) != WORKER_STARTING || word_suspended( word ) || atomic_load( &target->tid ) != tid) return 1;
        if (ums_thread_has_loader_lock( ke_thread_id() ) || ums_give_up( &wait, "a new worker to begin" )) return 0;
    }
}

/* NtSuspendThread returns before the thread has stopped; NtGetContextThread waits for that. Is the
   thread in a section that others wait for? late: one of the host's does not count any more (ums_spins_too_long). */
static int is_busy( HANDLE thread, const struct ums_context *target, uint32_t tid, int late )
{
    CONTEXT context;
    int seen;

    context.ContextFlags = CONTEXT_CONTROL;
    seen = !ums_get_context_native( thread, &context );
    if (atomic_load( &target->busy ) || ums_thread_holds( tid )) return 1;      /* it has ended (ums_worker_end) */
    return seen && !late && ke_may_spin( context.Rip );
}

void ums_wait_while_busy( const struct ums_context *target )
{
    struct ums_wait wait = ums_wait_begins();

    while (atomic_load( &target->busy ) && !ums_give_up_after( UMS_MORE_PATIENCE, &wait, "a busy worker" ))
    {
        SwitchToThread();
        ums_wait_moment( &wait );
    }
}

/* ---- suspensions ---- */

/* The turn first: a resume waits for what is counted here, and would give up if this waited longer for its turn. While it is
   the caller's turn nobody stops it. Between two looks nothing is counted, and it may be stopped. Whoever suspends or holds the worker
   may have been stopped for good: this one is counted all the same then, so that a resume finds it. */
enum suspend_begun ums_suspend_begin( struct ums_context *self, struct ums_context *target, uint32_t tid,
                                      struct suspension *suspension )
{
    struct ums_wait wait = ums_wait_begins();
    uint32_t count = SUSPEND_MAX;
    int same, given_up = 0;

    for (;;)
    {
        ums_stop_begin();
        ums_hold_self( self, 1 );
        if ((same = ums_context_ref( target, tid )))
        {
            count = ums_context_suspending( target, given_up, &suspension->word );
            if (count != SUSPEND_WAIT && count != SUSPEND_MAX) break;
            /* some may not be made in the end: then the host would suspend it, and nobody would count that */
            if (count == SUSPEND_MAX && word_suspending( atomic_load( &target->word ) )) count = SUSPEND_WAIT;
            ums_context_unref( target );
        }
        ums_stop_end();
        ums_hold_self( self, -1 );
        if (!same) return SUSPEND_NOT;
        /* not up to the host, which may have counted less by now: the thread may have been resumed since */
        if (given_up || count == SUSPEND_MAX) return SUSPEND_REFUSED;
        SwitchToThread();
        ums_wait_moment( &wait );
        given_up = ums_give_up_after( UMS_MORE_PATIENCE, &wait, "another suspension or a hold of a worker, to suspend it" );
    }
    suspension->stops = 0;
    suspension->thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid );
    return SUSPEND_BEGUN;
}

NTSTATUS ums_suspend_try( struct ums_call *call, struct ums_context *target, uint32_t tid,
                          struct suspension *suspension, int late, int *busy )
{
    HANDLE thread = suspension->thread ? suspension->thread : (HANDLE)call->args[0];
    NTSTATUS status = native( call );

    suspension->used = thread;
    *busy = !status && is_busy( thread, target, tid, late );
    if (*busy) ums_resume_worker( thread, target, NULL );
    suspension->stops = !status && !*busy;
    ums_stop_end();
    if (suspension->stops && ums_worker_suspended( target )) suspension->stops = 0;
    return status;
}

/* If the suspension failed after the worker has given way to it, queue the worker. One that a resume has given up is undone. The thread
   of a worker that it has itself made STOPPED stays suspended until the worker is executed, as after a resume. */
int ums_suspend_end( struct ums_context *self, struct ums_context *target, struct suspension *suspension, int made )
{
    uint64_t word;
    int counts = ums_context_suspend_made( target, made, &word );

    if (!counts && suspension->stops) ums_resume_worker( suspension->used, target, NULL );
    if (!made || !counts)
    {
        ums_worker_queue_stopped( target, word );
        ums_objects_worker_resumed( target );
    }
    if (suspension->thread) CloseHandle( suspension->thread );
    ums_context_unref( target );
    ums_hold_self( self, -1 );
    return counts;
}

/* ---- holds ---- */

/* The thread that has the hold may have been suspended or killed, so the wait has a limit. Do not
   call this while self is busy: the other holder may have to stop self. */
int ums_hold_word( struct ums_context *self, struct ums_context *target, uint32_t tid,
                   enum hold_which which )
{
    struct ums_wait wait = ums_wait_begins();
    enum hold_taken taken;
    uint64_t word;
    int join = 0;

    ums_hold_self( self, 1 );                   /* before the hold: whoever waits for it must not wait long */
    while (ums_context_ref( target, tid ))
    {
        if ((taken = ums_context_hold( target, which, join, &word )) == HOLD_TAKEN) return 1;
        ums_context_unref( target );            /* this thread may be stopped in between: others wait for the reference */
        if (taken == HOLD_REFUSED) break;
        ums_let_others_go_on( self, &wait );
        join = join || ums_give_up_after( UMS_MORE_PATIENCE, &wait, "another hold or a suspension of a worker to end" );
    }
    ums_hold_self( self, -1 );
    return 0;
}

/* Queue a worker that has given way to the hold, or was resumed during it. */
static void drop_hold( struct ums_context *target )
{
    ums_worker_queue_stopped( target, ums_context_let_go( target ) );
    ums_context_unref( target );
}

void ums_let_go_word( struct ums_context *self, struct ums_context *target )
{
    drop_hold( target );
    ums_hold_self( self, -1 );
}

/* The system's suspend count of the thread is the counted one; at least 1 for a worker that was
   stopped in user code, until it is executed; and 1 more for each hold that has stopped it. */
enum hold_taken ums_hold_try( struct ums_context *target, uint32_t tid, int join, struct hold *hold )
{
    enum hold_taken taken;
    uint64_t word;
    int stands;

    hold->thread = NULL;
    hold->held = 0;
    if (!tid || !ums_context_ref( target, tid )) return HOLD_REFUSED;
    if ((taken = ums_context_hold( target, HOLD_ANY, join, &word )) != HOLD_TAKEN)
    {
        ums_context_unref( target );
        return taken;
    }
    hold->thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SET_CONTEXT | THREAD_SUSPEND_RESUME |
                               SYNCHRONIZE, FALSE, tid );
    /* stopped before, and resumed since: nobody can resume or execute it now */
    stands = (word & WORD_STOPPED) && !word_suspended( word );
    hold->held = hold->thread && !stands && !ums_suspend_native( hold->thread, NULL );
    /* one that has ended, or is suspended as often as it can be, cannot be suspended */
    if (hold->thread && (!hold->held || !is_busy( hold->thread, target, tid, join ))) return HOLD_TAKEN;
    if (hold->held) ums_resume_worker( hold->thread, target, NULL );
    drop_hold( target );
    return hold->thread ? HOLD_WAIT : HOLD_REFUSED;
}

enum hold_taken ums_hold_once( struct ums_context *self, struct ums_context *target, uint32_t tid, int join,
                               struct hold *hold )
{
    enum hold_taken taken;

    ums_stop_begin();                           /* first, as in ums_suspend_begin */
    ums_hold_self( self, 1 );
    taken = ums_hold_try( target, tid, join, hold );
    ums_stop_end();
    if (taken == HOLD_TAKEN)
    {
        /* one that the hold itself has stopped keeps the hold's suspension */
        if (ums_worker_stopped( target )) hold->held = 0;
        return taken;
    }
    if (hold->thread) CloseHandle( hold->thread );
    ums_hold_self( self, -1 );
    return taken;
}

int ums_hold_worker( struct ums_context *self, struct ums_context *target, uint32_t tid, struct hold *hold )
{
    struct ums_wait wait = ums_wait_begins();
    enum hold_taken taken;
    int join = 0;

    for (;;)
    {
        ums_wait_while_busy( target );
        if ((taken = ums_hold_once( self, target, tid, join, hold )) != HOLD_WAIT) return taken == HOLD_TAKEN;
        SwitchToThread();
        ums_wait_moment( &wait );
        join = join || ums_give_up_after( UMS_MORE_PATIENCE, &wait, "a worker to be held" );
    }
}

/* dead: the thread was ended. A resume has waited until now, so nobody has queued the worker. */
void ums_let_go( struct ums_context *self, struct ums_context *target, struct hold *hold, int dead )
{
    if (!dead && hold->held) ums_resume_worker( hold->thread, target, NULL );
    if (hold->thread) CloseHandle( hold->thread );      /* while this one cannot be terminated */
    ums_let_go_word( self, target );
}
