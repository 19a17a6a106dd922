/*
 * Threads that end, or that another thread ends. Every thread of the process makes these calls through
 * this file. For schedulers see hook_kill_scheduler.c.
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
#include "core/wait.h"
#include "syscalls/hook/hook.h"
#include "hud/hud.h"
#include "host/ke_timer.h"
#include "host/ke_own.h"
#include "host/ke_win32.h"
#include "factory/factory_host.h"
#include "host/thread.h"
#include "syscalls/threads/threads.h"

/* Its hand is looked up now: the manager may have seen the end first, and have freed
   the hand for another thread. The caller has a handle of the thread open, so no other thread has its id.
   Left: the manager frees the hand, and somebody gets it, between the two lines. */
void ums_hand_killed( uint32_t tid )
{
    struct ums_hand *h = ums_hand_of_thread( tid );

    if (h) ums_hand_exits( h );
}

NTSTATUS ums_kill_unstopped( struct ums_call *call, HANDLE thread, int tries )
{
    if (!tries) return native( call );
    if (!thread || !WaitForSingleObject( thread, 0 )) return STATUS_SUCCESS;
    return ums_terminate_native( thread, (uint32_t)call->args[1] );
}

/* A worker is killed only when it is off its carrier. Otherwise the carrier would continue with the
   stack and the TEB of a thread that no longer exists. 0: it has ended meanwhile, or is held too often. */
static int kill_worker( struct ums_call *call, struct ums_context *target, uint32_t tid, struct ums_context *self,
                        NTSTATUS *ret )
{
    struct hold hold;
    NTSTATUS status;

    ums_wait_for_start( target, tid );
    if (!ums_hold_worker( self, target, tid, &hold )) return 0;
    ke_killed_here( target, 1 );
    status = ke_end_sleeper( tid, hold.thread, (uint32_t)call->args[1] ) ? STATUS_SUCCESS : native( call );
    if (!status)
    {
        ke_thread_ended( target );
        ums_worker_killed( target );
        ums_hand_killed( tid );
        ums_objects_thread_gone( tid );
    }
    else ke_killed_here( target, 0 );
    ums_let_go( self, target, &hold, !status );
    *ret = status;
    return 1;
}

/* A worker that kills its own scheduler continues on another. */
static int kill_scheduler( struct ums_call *call, struct ums_context *target, uint32_t tid, struct ums_context *self,
                           NTSTATUS *status )
{
    int worker = self && self->kind == CONTEXT_WORKER;
    int left = worker && self->owner == target->scheduler && ums_worker_block( self, 0 );
    int done = ums_kill_scheduler( call, target, tid, self, status );

    ums_worker_back_from( self, left );
    return done;
}

/* Is the thread, which stands still, in a call of the program that the hook has passed on? */
static int passes( HANDLE thread, const CONTEXT *registers )
{
    struct thread_basic_info info;
    const uint64_t args[UMS_MAX_ARGS] = { (uint64_t)(ULONG_PTR)thread, ThreadBasicInformation,
                                          (uint64_t)(ULONG_PTR)&info, sizeof(info) };

    if (!ums_hand_offset || !ums_is_in_native_call( registers ) ||
        ums_native_call( "NtQueryInformationThread", args ) || !info.teb) return 0;
    return (*(const uint64_t *)((const char *)info.teb + ums_hand_offset) & HAND_PASSES) != 0;
}

/* Does the hand count as blocked? Then it has given away its packet and its place. */
static int is_hand_away( const struct ums_hand *h, const CONTEXT *registers )
{
    enum hand_state state = h ? hand_state( atomic_load( &h->word ) ) : HAND_FREE;

    return (state == HAND_BLOCKED || state == HAND_INKERNEL) && ums_is_in_native_call( registers );
}

static int is_scheduler( uint32_t tid )
{
    const struct ums_context *context = ums_context_of_thread( tid );

    return context && context->kind == CONTEXT_SCHEDULER;
}

/* May the thread be terminated where it stands? Not if it is handing out a packet of a worker factory: the
   packet, or the hand that waits for it, would be lost. Nor if it is ending the wait of a worker, or holds
   one. */
static int may_end_there( HANDLE thread, uint32_t tid, const CONTEXT *registers )
{
    if (ums_is_ending_wait( tid, registers ) || ums_thread_pauses( tid )) return 0;
    if (ums_is_in_moved_wait( tid, registers )) return 1;
    if (ums_is_in_native_call( registers ) && ums_manager_sleeps( tid )) return 1;
    return !ums_pool_made( &ums_factory_pool ) || !ums_is_in_our_code( registers ) || passes( thread, registers ) ||
           is_hand_away( ums_hand_of_thread( tid ), registers );
}

/* It stands still where it may end. This waits for that end in the caller's turn: a thread that leaves its sleep to
   end itself waits for no turn, and if it does not come to its end, it is ended where it is (ke_end_sleeper). */
static NTSTATUS end_there( HANDLE thread, uint32_t tid, uint32_t exit )
{
    return ke_end_sleeper( tid, thread, exit ) ? STATUS_SUCCESS : ums_terminate_native( thread, exit );
}

/* It stands still. 0: it must advance first, and is not suspended any more. A suspension for a moment would be
   another stop, so the others are the program's. It may be a scheduler by now, and carry a worker. */
static int end_plain( struct ums_call *call, HANDLE thread, uint32_t tid, ULONG others, NTSTATUS *status )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    if (is_scheduler( tid ))
    {
        ums_resume_native( thread, NULL );
        return 0;
    }
    if (ums_get_context_native( thread, &context ) || may_end_there( thread, tid, &context ))
    {
        *status = end_there( thread, tid, (uint32_t)call->args[1] );
        if (*status) ums_resume_native( thread, NULL );
        return 1;
    }
    ums_void_suspensions( thread, others + 1 );
    return 0;
}

/* Returns 0 if the thread must advance first. It may have ended since the last try, and the program's handle be
   another one by now. */
static int try_to_kill_plain( struct ums_call *call, uint32_t tid, int tries, struct ums_context *self, NTSTATUS *status )
{
    const DWORD access = THREAD_GET_CONTEXT | THREAD_QUERY_LIMITED_INFORMATION | THREAD_SUSPEND_RESUME | THREAD_TERMINATE |
                         SYNCHRONIZE;
    int stopped, done = 1;
    HANDLE thread;
    ULONG others;

    ums_stop_begin();
    ums_hold_self( self, 1 );
    thread = OpenThread( access, FALSE, tid );
    if ((stopped = thread && !ums_suspend_native( thread, &others )))
        done = end_plain( call, thread, tid, others, status );
    ums_stop_end();
    if (!stopped) *status = ums_kill_unstopped( call, thread, tries );
    if (thread && done && !*status)
    {
        ums_hand_killed( tid );
        ums_manager_killed( tid );
        ke_timer_killed( tid );
        ums_objects_thread_gone( tid );
    }
    if (thread) CloseHandle( thread );
    ums_hold_self( self, -1 );
    return done;
}

void ums_forget_late_hold( uint32_t tid, int tries, struct ums_wait *wait )
{
    if (!tries) *wait = ums_wait_begins();      /* the first try may have waited long for its turn */
    if (ums_thread_holds( tid ) && tries >= ENOUGH_TRIES &&
        ums_give_up_after( UMS_MORE_PATIENCE, wait, "a thread that holds a worker, to terminate it" ))
        ums_thread_forget_hold( tid );
}

/* A thread that was terminated in a try would leave the other one suspended, and a handle. Between two tries
   it may be: the other one may be waiting for that. tries: 0 if it has not been anything else. 0: it is a scheduler now. */
static int kill_plain( struct ums_call *call, uint32_t tid, int tries, struct ums_context *self, NTSTATUS *status )
{
    struct ums_wait wait;
    int vain;

    for (vain = 0; !is_scheduler( tid ); tries++, vain++)
    {
        if (try_to_kill_plain( call, tid, tries, self, status )) return 1;
        ums_forget_late_hold( tid, vain, &wait );
        ke_let_advance();
    }
    return 0;
}

/* What the thread is may change: a worker ends, a plain thread becomes a scheduler and leaves the mode again. A worker that
   cannot be held, because too many have held it for too long, is terminated like a plain thread; the warden finds that. */
static NTSTATUS kill_other( struct ums_call *call, uint32_t tid, struct ums_context *self )
{
    struct ums_context *target;
    NTSTATUS status;
    int tries;

    if (!tid || !ums_has_access( (HANDLE)call->args[0], THREAD_TERMINATE )) return native( call );
    for (tries = 0;; tries++)
    {
        target = ums_context_of_thread( tid );
        if (target && target->kind == CONTEXT_SCHEDULER)
        {
            if (kill_scheduler( call, target, tid, self, &status )) return status;
        }
        else if (target && !tries && kill_worker( call, target, tid, self, &status )) return status;
        else if (kill_plain( call, tid, tries + (target != NULL), self, &status )) return status;
    }
}

/* The calling thread ends. */
static void end_self( struct ums_context *self )
{
    struct ums_hand *h = ums_hand_current();

    if (h)
    {
        ums_set_hand( NULL );
        ums_hand_exits( h );
    }
    if (!self) return;
    if (self->kind == CONTEXT_SCHEDULER) ums_scheduler_end( self );
    else ums_worker_end( self );
}

uint64_t ums_special_terminate_thread( const struct call_row *row, struct ums_call *call,
                                       struct ums_context *self )
{
    HANDLE thread = (HANDLE)call->args[0];
    uint32_t own = GetCurrentThreadId(), tid = thread && thread != GetCurrentThread() ? ums_thread_id( thread, self ) : own;

    (void)row;
    if (tid != own) return (uint64_t)kill_other( call, tid, self );
    /* a call that fails ends nothing */
    if (thread && thread != GetCurrentThread() && !ums_has_access( thread, THREAD_TERMINATE )) return (uint64_t)native( call );
    ums_object_thread_ends( self, call->sp );
    ums_hud_thread_ends( (uint32_t)call->args[1], self || ums_hand_current() );
    ums_keeper_dismiss( self );
    ke_timer_dismiss( self );
    ke_warden_dismiss( self, (uint32_t)call->args[1] );
    end_self( self );
    return (uint64_t)native( call );            /* does not return */
}
