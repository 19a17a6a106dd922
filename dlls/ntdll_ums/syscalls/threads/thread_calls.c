/*
 * Our own calls that suspend and resume threads and read their registers. They bypass the handlers of
 * the hook. This file also interprets the registers of a stopped thread.
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
#include "core/patience.h"
#include "core/wait.h"
#include "factory/factory_host.h"
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"
#include "syscalls/threads/threads.h"

static ums_status thread_call( const char *name, void *thread, void *argument )
{
    struct ums_call call = { .key = call_key_named( name ) };

    call.args[0] = (uint64_t)(ULONG_PTR)thread;
    call.args[1] = (uint64_t)(ULONG_PTR)argument;
    call.stack = ((NT_TIB *)NtCurrentTeb())->StackBase;       /* it has no arguments there */
    return (ums_status)ums_call_native( &call, NULL );
}

uint64_t ums_native_call( const char *name, const uint64_t *args )
{
    struct ums_call call = { .key = call_key_named( name ) };

    return ums_call_native( &call, args );
}

ums_status ums_suspend_native( void *thread, ULONG *count )
{
    return thread_call( "NtSuspendThread", thread, count );
}

ums_status ums_resume_native( void *thread, ULONG *count )
{
    return thread_call( "NtResumeThread", thread, count );
}

ums_status ums_terminate_native( void *thread, uint32_t status )
{
    return thread_call( "NtTerminateThread", thread, (void *)(ULONG_PTR)status );
}

void ums_end_native( uint32_t status )
{
    ums_terminate_native( GetCurrentThread(), status );
}

ums_status ums_get_context_native( void *thread, void *context )
{
    return thread_call( "NtGetContextThread", thread, context );
}

ums_status ums_set_context_native( void *thread, const void *context )
{
    return thread_call( "NtSetContextThread", thread, (void *)context );
}

/* Undo a suspension that was counted. One that suspends itself is counted before its thread is
   suspended: a resume that comes in between is for that suspension, or for another one that was
   undone in its place, and must not be lost. */
ums_status ums_resume_worker( void *thread, const struct ums_context *target, ULONG *count )
{
    ULONG before;
    ums_status status;

    while (!(status = ums_resume_native( thread, &before )) && !before &&
           atomic_load( &target->self_suspending ))
        SwitchToThread();
    if (count) *count = before;
    return status;
}

void ums_void_suspensions( void *thread, ULONG count )
{
    while (count--) ums_resume_native( thread, NULL );
}

int ums_has_access( HANDLE handle, ACCESS_MASK access )
{
    OBJECT_BASIC_INFORMATION info;

    return !NtQueryObject( handle, ObjectBasicInformation, &info, sizeof(info), NULL ) &&
           (info.GrantedAccess & access) == access;
}

/* Does the thread stand still behind the hook, in a call of the program that was passed on? */
int ums_is_in_native_call( const CONTEXT *context )
{
    extern char ums_dispatcher_landing[], ums_dispatcher_landed[];

    return ums_hook_owns( (const void *)context->Rip ) ||
           context->Rip - (ULONG_PTR)ums_dispatcher_landing <=
           (ULONG_PTR)ums_dispatcher_landed - (ULONG_PTR)ums_dispatcher_landing;
}

/* Is the thread in the middle of our code? Not if it sleeps, or makes the program's call through the copy
   of a patched stub: such a call returns to the program, or, if SchedulerProc has jumped into it, where that returns to. */
int ums_is_in_our_code( const CONTEXT *context )
{
    ULONG_PTR caller;

    if (!ums_hook_owns( (const void *)context->Rip ))
        return ke_is_our_code( context->Rip, context->Rsp ) && !ke_is_asleep( context );
    caller = *(const ULONG_PTR *)context->Rsp;
    return ke_is_our_memory( caller ) && caller != (ULONG_PTR)ke_proc_returns;
}

int ums_is_in_moved_wait( uint32_t tid, const CONTEXT *registers )
{
    return ums_is_in_native_call( registers ) && ums_object_thread_arrives( tid );
}

/* ---- a thread that ends a wait ---- */

#define MOMENTS 200

int ums_is_ending_wait( uint32_t tid, const CONTEXT *registers )
{
    if (ums_objects_holder() == tid || ums_is_in_transfer( tid )) return 1;
    return atomic_load( &ums_waits_ending ) && !ums_is_in_native_call( registers ) &&
           ums_is_in_our_code( registers );
}

/* Is the scheduler in the middle of a switch to a worker, or of a call of the worker that it carries? If
   it stayed there, whoever suspends the worker next could not take it off: the scheduler, resumed, would
   first return to the worker's code. In a local call it may stay, because the worker gives way behind
   that, and in a call that the host answers; also where somebody has taken the worker off already. The
   worker's owner is not asked: in Execute it is another one for a moment.

   Nor may it stay on its way into its wait: it wakes the worker at home there, or resumes its thread. If it did not, a
   worker that another scheduler has executed meanwhile would not run. Another thread may post now; AWAITED or MADE, it is
   on its way.

   The scheduler stands still, so what it writes does not change: s->current and w->local. Another
   scheduler may have the worker by now, since s->current is not cleared; then this one is let go on once
   more than needed. Before the exchange in Execute the worker is not CARRIED: whoever suspends it
   then bars it, and the exchange fails. */
static int is_between( const struct ums_scheduler *s, const CONTEXT *registers )
{
    struct ums_context *w = s ? s->current : NULL;

    if (s && atomic_load( &s->posted ) != POST_NONE && !atomic_load( &s->waiting )) return 1;
    return w && ums_worker_is_carried( w ) && !atomic_load( &w->local ) &&
           registers->Rip != (ULONG_PTR)ke_preempted && !ums_is_in_native_call( registers ) &&
           ums_is_in_our_code( registers );
}

/* Its hand's word and that of its queue say different things (factory_place.c). */
static int is_hand_changing( uint32_t tid )
{
    const struct ums_hand *h = ums_hand_of_thread( tid );

    return h && ums_hand_is_changing( h );
}

/* Always asks for the registers, because that waits until the thread has stopped. */
static int stands_there( HANDLE thread, uint32_t tid, const struct ums_scheduler *s, int late, int *seen )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    *seen = !ums_get_context_native( thread, &context );
    return *seen && (ums_is_ending_wait( tid, &context ) || is_between( s, &context ) ||
                     ums_thread_holds( tid ) || is_hand_changing( tid ) ||
                     (!late && ke_may_spin( context.Rip )));
}

/* Its registers are not known while it runs. */
static int may_be_ending_wait( uint32_t tid )
{
    return ums_objects_holder() == tid || ums_is_in_transfer( tid ) || atomic_load( &ums_waits_ending );
}

/* On a busy machine one moment may pass before the thread gets a processor. Then the next suspension finds
   it where it was, so it gets more moments with each try. */
void ums_let_advance( uint32_t tid, int tries )
{
    int i = 0;

    do ke_let_advance();
    while (++i < MOMENTS && (i < tries / 4 || may_be_ending_wait( tid )));
}

/* There may be no handle left for this process, or the thread may not be opened: then its registers may not be known. */
enum leaves ums_let_leave( uint32_t tid, const struct ums_scheduler *s, void *handle, int late, int *seen )
{
    enum leaves leaves = LEAVES_NOT;
    HANDLE thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid );
    ULONG before;

    if (stands_there( thread ? thread : handle, tid, s, late, seen ) || (!thread && (ums_objects_holder() == tid || ums_thread_holds( tid ))))
        leaves = !ums_resume_native( thread ? thread : handle, &before ) && before <= 1 ? LEAVES : LEAVES_LATER;
    if (thread) CloseHandle( thread );
    return leaves;
}
