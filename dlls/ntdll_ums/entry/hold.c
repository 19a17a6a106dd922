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

    while (atomic_load( &target->busy ) && ke_clock() - begin < PATIENCE)
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
                       uint32_t *count, int *stopped )
{
    uint64_t word = 0;

    if (!ums_context_hold( target, tid )) return 0;
    ums_hold_self( self, 1 );
    while ((*count = ums_context_suspending( target, &word )) == SUSPEND_WAIT)
        ums_let_others_go_on( self );
    *stopped = !*count && (word & WORD_STOPPED);
    if (*count != SUSPEND_MAX) return 1;
    ums_hold_self( self, -1 );
    ums_context_unref( target );
    return 0;
}

/* If it could not be made, and the worker has given way to it, it goes to its list. Returns the word
   that is left. */
uint64_t ums_suspend_end( struct ums_context *self, struct ums_context *target, int made )
{
    uint64_t word = ums_context_suspend_made( target, made );

    if (!made) ums_worker_queue_stopped( target, word );
    ums_hold_self( self, -1 );
    ums_context_unref( target );
    return word;
}

/* Until nobody is in the middle of suspending it but those that we know of. Nobody of them waits for
   us: the worker stands still already, and is not busy. */
static void wait_for_others( const struct ums_context *target, uint64_t known )
{
    int64_t begin = ke_clock();

    while ((atomic_load( &target->word ) & WORD_SUSPENDING) > known && ke_clock() - begin < PATIENCE)
        SwitchToThread();
}

/* How often a thread is suspended, to the system: as often as is counted, and a worker that was
   stopped in user code once at least, until it is executed. Who has come while a suspension that
   comes to nothing was counted has suspended the thread for himself, which makes one too many for a
   worker that stands still for the first of them. But he counts before he suspends: taken off before
   he has, that would be the one that the thread stands still for, and it would run on as one that is
   stopped. Who comes behind the wait changes nothing: he finds it suspended and adds his own. */
void ums_drop_surplus( HANDLE thread, const struct ums_context *target, uint32_t count,
                       uint64_t left )
{
    if (count || !(left & WORD_STOPPED) || !word_suspended( left )) return;
    wait_for_others( target, 0 );
    ums_resume_worker( thread, target, NULL );
}

/* One at a time: what is one too many afterwards (drop_surplus) can be told of a single one only. Who
   has a hold may have been suspended or killed in it, so it is not waited for ever. Not while self is
   held: whose turn it is may have to stop it. */
void ums_take_turn( struct ums_context *target )
{
    int64_t begin = ke_clock();

    while (atomic_exchange( &target->hold_taken, 1 ) && ke_clock() - begin < PATIENCE)
        SwitchToThread();
}

int ums_hold_worker( struct ums_context *self, struct ums_context *target, struct hold *hold )
{
    uint32_t tid = atomic_load( &target->tid );

    if (!tid) return 0;
    ums_take_turn( target );
    if (!ums_suspend_begin( self, target, tid, &hold->count, &hold->stopped ))
    {
        atomic_store( &target->hold_taken, 0 );
        return 0;
    }
    hold->thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SET_CONTEXT | THREAD_SUSPEND_RESUME,
                               FALSE, tid );
    hold->held = !hold->stopped && hold->thread && hold_still( hold->thread, target, self );
    ums_worker_stopped( target );
    return 1;
}

/* dead: nobody is there to go on. Who resumes it has waited until now: nobody has queued it. Who had
   counted before us, so that a stopped worker stands still for his suspension and not for ours, must
   have made it before we undo ours. */
void ums_let_go( struct ums_context *self, struct ums_context *target, struct hold *hold,
                 int dead )
{
    int stopped = !hold->count && (atomic_load( &target->word ) & WORD_STOPPED);
    uint64_t left;

    if (!dead && hold->count) wait_for_others( target, SUSPENDING_ONE );
    if (!dead && hold->held && !stopped) ums_resume_worker( hold->thread, target, NULL );
    ums_hold_self( self, 1 );
    left = ums_suspend_end( self, target, dead );
    if (!dead && stopped && hold->thread)
        ums_drop_surplus( hold->thread, target, hold->count, left );
    atomic_store( &target->hold_taken, 0 );
    ums_hold_self( self, -1 );
    if (hold->thread) CloseHandle( hold->thread );
}
