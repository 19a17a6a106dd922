/*
 * Holds: a worker is kept where it is for a moment, because somebody wants its registers, or wants
 * to end it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "hook.h"
#include "host/ke_win32.h"
#include "threads.h"

/* While its target, or the target's carrier, stands still, or a scheduler has not been told, a
   worker that does this must not be stopped itself. (A plain thread that is leaves them so.) */
void ums_hold_self( struct ums_context *self, int more )
{
    if (self && self->kind == CONTEXT_WORKER) ums_worker_busy( self, more );
}

/* For somebody who has to wait for another: they may be waiting for each other. */
void ums_let_others_go_on( struct ums_context *self )
{
    ums_hold_self( self, -1 );
    SwitchToThread();
    ums_hold_self( self, 1 );
}

/* NtSuspendThread returns before the thread has stopped; asking for its context waits for that. Is
   it in the middle of something that others wait for? */
static int is_busy( HANDLE thread, const struct ums_context *target )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL;
    ums_get_context_native( thread, &context );
    return atomic_load( &target->busy ) != 0;
}

/* Before it is suspended. Several that did so by turns, and each found it in the middle of something,
   would together keep it from ever getting out of there. Not for ever: another process may have ended
   it there, which the call that follows tells. */
static void wait_while_busy( const struct ums_context *target, struct ums_context *self )
{
    int64_t begin = ke_clock();

    while (atomic_load( &target->busy ) && !ums_give_up( begin, "a busy worker" ))
        ums_let_others_go_on( self );
}

/* Suspend until the thread stands still where nobody waits for it. */
static int hold_still( HANDLE thread, const struct ums_context *target, struct ums_context *self )
{
    while (wait_while_busy( target, self ), !ums_suspend_native( thread, NULL ))
    {
        if (!is_busy( thread, target )) return 1;
        ums_resume_worker( thread, target, NULL );
        ums_let_others_go_on( self );
    }
    return 0;
}

/* The same with somebody's call. A handle of our own makes up for few rights. */
NTSTATUS ums_suspend_still( struct ums_call *call, const struct ums_context *target,
                            uint32_t tid, struct ums_context *self )
{
    HANDLE own = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid );
    NTSTATUS status;

    wait_while_busy( target, self );
    if (!(status = native( call )) && own && is_busy( own, target ))
    {
        ums_resume_worker( own, target, NULL );
        ums_let_others_go_on( self );
        hold_still( own, target, self );
    }
    if (own) CloseHandle( own );
    return status;
}

/* From here on it cannot be executed, and who resumes it waits. *stopped: it had been stopped, and
   resumed since. 0: too often already, or the thread has just ended. */
int ums_suspend_begin( struct ums_context *self, struct ums_context *target, uint32_t tid,
                       int *stopped )
{
    uint64_t word = 0;
    uint32_t count;

    if (!ums_context_ref( target, tid )) return 0;
    ums_hold_self( self, 1 );
    while ((count = ums_context_suspending( target, &word )) == SUSPEND_WAIT)
        ums_let_others_go_on( self );
    *stopped = !count && (word & WORD_STOPPED);
    if (count != SUSPEND_MAX) return 1;
    ums_hold_self( self, -1 );
    ums_context_unref( target );
    return 0;
}

/* If it could not be made, and the worker has given way to it, it goes to its list. */
void ums_suspend_end( struct ums_context *self, struct ums_context *target, int made )
{
    uint64_t word = ums_context_suspend_made( target, made );

    if (!made) ums_worker_queue_stopped( target, word );
    ums_hold_self( self, -1 );
    ums_context_unref( target );
}

/* ---- holds ---- */

/* Who has one may have been suspended or killed in it, so it is not waited for for ever. Not while
   self is held: who has it may have to stop self. */
int ums_hold_word( struct ums_context *self, struct ums_context *target, uint32_t tid,
                   enum hold_which which )
{
    int64_t begin = ke_clock();
    enum hold_taken taken;
    uint64_t word;
    int join = 0;

    if (!ums_context_ref( target, tid )) return 0;
    while ((taken = ums_context_hold( target, which, join, &word )) == HOLD_WAIT)
    {
        SwitchToThread();
        join = join || ums_give_up( begin, "another hold of a worker to end" );
    }
    if (taken == HOLD_TAKEN)
    {
        ums_hold_self( self, 1 );
        return 1;
    }
    ums_context_unref( target );
    return 0;
}

/* What gave way to the hold, or was resumed in it, goes to its list now. */
void ums_let_go_word( struct ums_context *self, struct ums_context *target )
{
    ums_worker_queue_stopped( target, ums_context_let_go( target ) );
    ums_hold_self( self, -1 );
    ums_context_unref( target );
}

/* How often the thread is suspended, to the system: as often as is counted, once at least if it was
   stopped in user code, until it is executed, and once more for each hold that has stopped it. A
   worker that the hold itself has stopped keeps the hold's suspension (ums_worker_stopped). */
int ums_hold_worker( struct ums_context *self, struct ums_context *target, struct hold *hold )
{
    uint32_t tid = atomic_load( &target->tid );
    uint64_t word;

    if (!tid || !ums_hold_word( self, target, tid, HOLD_ANY )) return 0;
    word = atomic_load( &target->word );
    hold->thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SET_CONTEXT | THREAD_SUSPEND_RESUME,
                               FALSE, tid );
    /* stopped already, and resumed since: nobody resumes it now, and it cannot be executed */
    hold->held = !((word & WORD_STOPPED) && !word_suspended( word )) && hold->thread &&
                 hold_still( hold->thread, target, self );
    if (ums_worker_stopped( target )) hold->held = 0;
    return 1;
}

/* Somebody who suspends a stopped worker for himself has counted, and may not have done it yet: the
   thread stands still for our suspension, and would run on as one that is stopped. */
static void wait_for_suspenders( const struct ums_context *target )
{
    int64_t begin = ke_clock();

    while ((atomic_load( &target->word ) & WORD_SUSPENDING) &&
           !ums_give_up( begin, "the suspension of a held worker" ))
        SwitchToThread();
}

/* dead: nobody is there to go on. Who resumes it has waited until now: nobody has queued it. */
void ums_let_go( struct ums_context *self, struct ums_context *target, struct hold *hold, int dead )
{
    if (!dead && hold->held)
    {
        if (atomic_load( &target->word ) & WORD_STOPPED) wait_for_suspenders( target );
        ums_resume_worker( hold->thread, target, NULL );
    }
    ums_let_go_word( self, target );
    if (hold->thread) CloseHandle( hold->thread );
}
