/*
 * Calls that change what the core knows about threads. These come here from every thread of the
 * process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "ums_core.h"
#include "asm_offsets.h"
#include "hook.h"
#include "ke_win32.h"
#include "umsnt.h"
#include "private/ums_private.h"

#define PROCESS_INSTRUMENTATION_CALLBACK 40     /* PROCESSINFOCLASS [sdk] */

/* 100 ns. So long a resume waits for a suspension that is being made. Whoever makes it may have
   been suspended in the middle of it, by our caller even. */
#define PATIENCE 2000000

void (*ums_child_hook)( HANDLE process );

static NTSTATUS native( struct ums_call *call )
{
    return (NTSTATUS)ums_call_native( call, NULL );
}

/* The id of a thread of this process, or 0. The handle may be good for something else only, like
   suspending: then a copy is asked. */
static uint32_t thread_id( HANDLE thread )
{
    struct thread_basic_info info;
    ULONG size = sizeof(info);
    NTSTATUS status = NtQueryInformationThread( thread, ThreadBasicInformation, &info, size, NULL );
    HANDLE copy;

    if (status == STATUS_ACCESS_DENIED &&
        DuplicateHandle( GetCurrentProcess(), thread, GetCurrentProcess(), &copy,
                         THREAD_QUERY_INFORMATION, FALSE, 0 ))
    {
        status = NtQueryInformationThread( copy, ThreadBasicInformation, &info, size, NULL );
        CloseHandle( copy );
    }
    if (status || (DWORD)(ULONG_PTR)info.pid != GetCurrentProcessId()) return 0;
    return (DWORD)(ULONG_PTR)info.tid;
}

/* The scheduler or live worker of this process behind a thread handle, or NULL. */
static struct ums_context *context_of_handle( HANDLE thread, struct ums_context *self )
{
    uint32_t tid;

    if (thread == GetCurrentThread()) return self;
    return (tid = thread_id( thread )) ? ums_context_of_thread( tid ) : NULL;
}

/* The caller goes on as the only thread, through DLL_PROCESS_DETACH: nobody is left who could
   execute it. */
uint64_t ums_special_terminate_process( const struct call_row *row, struct ums_call *call,
                                        struct ums_context *self )
{
    HANDLE process = (HANDLE)call->args[0];

    (void)row;
    if (self && (!process || process == GetCurrentProcess())) ke_set_current( NULL );
    return (uint64_t)native( call );
}

/* Whoever sees the count may resume it, and waits for it to be suspended (resume). */
static uint64_t suspend_self( struct ums_call *call, struct ums_context *self )
{
    NTSTATUS status;
    uint64_t word;
    int blocked;

    atomic_store( &self->self_suspending, 1 );
    ums_context_suspended( self );
    blocked = ums_worker_block( self, 0 );
    status = native( call );
    atomic_store( &self->self_suspending, 0 );
    if (status) ums_context_resumed( self, 0, &word );
    if (blocked) ums_worker_back( self );
    return (uint64_t)status;
}

static ums_status thread_call( const char *name, void *thread, void *argument )
{
    struct ums_call call = { .nr = ums_call_number( name ) };

    call.args[0] = (uint64_t)(ULONG_PTR)thread;
    call.args[1] = (uint64_t)(ULONG_PTR)argument;
    call.stack = ((NT_TIB *)NtCurrentTeb())->StackBase;       /* it has no arguments there */
    return (ums_status)ums_call_native( &call, NULL );
}

ums_status ums_suspend_native( void *thread, ULONG *count )
{
    return thread_call( "NtSuspendThread", thread, count );
}

ums_status ums_resume_native( void *thread, ULONG *count )
{
    return thread_call( "NtResumeThread", thread, count );
}

ums_status ums_get_context_native( void *thread, void *context )
{
    return thread_call( "NtGetContextThread", thread, context );
}

ums_status ums_set_context_native( void *thread, const void *context )
{
    return thread_call( "NtSetContextThread", thread, (void *)context );
}

/* While its target, or the target's carrier, stands still, or a scheduler has not been told, a
   worker that does this must not be stopped itself. (A plain thread that is leaves them so.) */
static void hold_self( struct ums_context *self, int more )
{
    if (self && self->kind == CONTEXT_WORKER) ums_worker_busy( self, more );
}

/* For somebody who has to wait for another: they may be waiting for each other. */
static void let_others_go_on( struct ums_context *self )
{
    hold_self( self, -1 );
    SwitchToThread();
    hold_self( self, 1 );
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

/* Suspend until the thread stands still where nobody waits for it. */
static int hold_still( HANDLE thread, const struct ums_context *target, struct ums_context *self )
{
    while (!ums_suspend_native( thread, NULL ))
    {
        if (!is_busy( thread, target )) return 1;
        ums_resume_worker( thread, target, NULL );
        let_others_go_on( self );
    }
    return 0;
}

/* The same with somebody's call. A handle of our own makes up for few rights. */
static NTSTATUS suspend_still( struct ums_call *call, const struct ums_context *target,
                               uint32_t tid, struct ums_context *self )
{
    HANDLE own = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid );
    NTSTATUS status = native( call );

    if (!status && own && is_busy( own, target ))
    {
        ums_resume_worker( own, target, NULL );
        let_others_go_on( self );
        hold_still( own, target, self );
    }
    if (own) CloseHandle( own );
    return status;
}

/* A ULONG where the caller wants it: a previous suspend count, a length. */
static uint64_t store_ulong( uint64_t where, ULONG count )
{
    if (where && !ums_try_store32( (void *)where, count ))
        return (uint64_t)(NTSTATUS)STATUS_ACCESS_VIOLATION;
    return STATUS_SUCCESS;
}

/* From here on it cannot be executed, and who resumes it waits. *stopped: it had been stopped, and
   resumed since. 0: too often already, or the thread has just ended. */
static int suspend_begin( struct ums_context *self, struct ums_context *target, uint32_t tid,
                          uint32_t *count, int *stopped )
{
    uint64_t word = 0;

    if (!ums_context_hold( target, tid )) return 0;
    hold_self( self, 1 );
    while ((*count = ums_context_suspending( target, &word )) == SUSPEND_WAIT)
        let_others_go_on( self );
    *stopped = !*count && (word & WORD_STOPPED);
    if (*count != SUSPEND_MAX) return 1;
    hold_self( self, -1 );
    ums_context_unref( target );
    return 0;
}

/* If it could not be made, and the worker has given way to it, it goes to its list. */
static void suspend_end( struct ums_context *self, struct ums_context *target, int made )
{
    uint64_t word = ums_context_suspend_made( target, made );

    if (!made) ums_worker_queue_stopped( target, word );
    hold_self( self, -1 );
    ums_context_unref( target );
}

/* It was stopped for a suspension that comes to nothing, and is not suspended otherwise: its thread
   is resumed when it is executed. */
static int stays_stopped( const struct ums_context *target, uint32_t count )
{
    return !count && (atomic_load( &target->word ) & WORD_STOPPED);
}

/* A worker is killed when it stands still and is off its carrier, which would else go on with the
   stack and the TEB of a thread that is no more. */
static NTSTATUS kill_worker( struct ums_call *call, struct ums_context *target,
                             struct ums_context *self )
{
    uint32_t tid = atomic_load( &target->tid ), count;
    int held, stopped;
    NTSTATUS status;
    HANDLE own;

    if (!suspend_begin( self, target, tid, &count, &stopped )) return native( call );
    own = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid );
    held = !stopped && own && hold_still( own, target, self );
    ums_worker_stopped( target );
    if (!(status = native( call ))) ums_worker_killed( target );
    else if (held && !stays_stopped( target, count )) ums_resume_worker( own, target, NULL );
    /* who resumes it has waited until it is dead: nobody has queued it meanwhile */
    suspend_end( self, target, !status );
    if (own) CloseHandle( own );
    return status;
}

uint64_t ums_special_terminate_thread( const struct call_row *row, struct ums_call *call,
                                       struct ums_context *self )
{
    HANDLE thread = (HANDLE)call->args[0];
    struct ums_context *target = thread ? context_of_handle( thread, self ) : self;

    (void)row;
    if (target && target == self)
    {
        if (self->kind == CONTEXT_SCHEDULER) ums_scheduler_end( self );
        else ums_worker_end( self );
        return (uint64_t)native( call );        /* does not come back */
    }
    if (!target || target->kind != CONTEXT_WORKER) return (uint64_t)native( call );
    return (uint64_t)kill_worker( call, target, self );
}

uint64_t ums_special_suspend( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self )
{
    HANDLE thread = (HANDLE)call->args[0];
    uint32_t tid = thread == GetCurrentThread() ? GetCurrentThreadId() : thread_id( thread );
    struct ums_context *target = tid ? ums_context_of_thread( tid ) : NULL, *ending;
    NTSTATUS status;
    uint32_t count;
    int stopped;

    (void)row;
    if (!target && tid && (ending = ums_context_of_ending( tid )))
        return (uint64_t)suspend_still( call, ending, tid, NULL );
    if (!target || target->kind != CONTEXT_WORKER) return (uint64_t)native( call );
    if (target == self) return suspend_self( call, self );

    /* Stopped while it ran and resumed since: its thread stands still, suspended once, until it is
       executed; a further suspension is only counted. */
    if (!suspend_begin( self, target, tid, &count, &stopped )) return (uint64_t)native( call );
    if (stopped)
    {
        suspend_end( self, target, 1 );
        return store_ulong( call->args[1], 0 );
    }
    if (!(status = suspend_still( call, target, tid, self ))) ums_worker_stopped( target );
    suspend_end( self, target, !status );
    return (uint64_t)status;
}

static int may_resume( HANDLE thread )
{
    OBJECT_BASIC_INFORMATION info;

    return !NtQueryObject( thread, ObjectBasicInformation, &info, sizeof(info), NULL ) &&
           (info.GrantedAccess & THREAD_SUSPEND_RESUME);
}

/* Every suspension by this process is counted before it is made. So where none is counted the
   thread is left alone: a suspension may be counted and made as we look, and a worker that was
   stopped in user code stands still until it is executed. (What another process has suspended, it
   resumes.) */
uint64_t ums_special_resume( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self )
{
    struct ums_context *target = context_of_handle( (HANDLE)call->args[0], self );
    int64_t begin = ke_clock();
    int continued = 0, wait = 1;
    uint32_t count;
    ULONG before;
    uint64_t word;
    NTSTATUS status = 0;

    (void)row;
    if (!target || target->kind != CONTEXT_WORKER || !may_resume( (HANDLE)call->args[0] ))
        return (uint64_t)native( call );
    hold_self( self, 1 );
    while ((count = ums_context_resumed( target, wait, &word )) == SUSPEND_WAIT)
    {
        let_others_go_on( self );
        wait = ke_clock() - begin < PATIENCE;
    }
    if (count == 1) continued = ums_worker_continued( target, word );
    if (!count || continued) before = count;
    else status = ums_resume_worker( (HANDLE)call->args[0], target, &before );
    hold_self( self, -1 );                      /* it may be executed by now, and wait for this */
    return status ? (uint64_t)status : store_ulong( call->args[1], before );
}

/* Where the worker is, is not always where its thread is. All of this is good for a worker that is
   suspended; of a running one nobody can say more. */
uint64_t ums_special_get_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    struct ums_context *target = context_of_handle( (HANDLE)call->args[0], self );
    NTSTATUS status = native( call );           /* checks handle, rights and memory */

    (void)row;
    if (!status && ums_carry && target && target != self && target->kind == CONTEXT_WORKER)
        ke_worker_context( target, (CONTEXT *)call->args[1] );
    return (uint64_t)status;
}

/* Where a worker or a scheduler comes into code of ours that does not bear an exception in it: what
   a thread does there depends on who it is, carried or not, and each exception changes that. */
static int is_door( uint64_t rip )
{
    static void *const doors[] = { ums_yield, ums_execute, RtlDequeueUmsCompletionListItems,
                                   ums_unix_call, ums_dispatcher_frame, ums_stub_frame };
    unsigned int i;

    for (i = 0; i < sizeof(doors) / sizeof(doors[0]); i++)
        if (rip == (uintptr_t)doors[i]) return 1;
    return 0;
}

/* Stepped into, these are one instruction, as a system call is: the trap flag is taken off, which
   would go to another thread by a switch, and is there again when they return to whoever has called
   them. Every step ends in an exception, and is gone on from by a call of this one, so none gets
   past a door without being seen here. What is at the doors has used neither r11 nor the flags. */
static void step_over( CONTEXT *context )
{
    uint64_t flags, eflags, rip;

    if (!ums_try_load( &context->ContextFlags, &flags ) ||
        !ums_try_load( &context->EFlags, &eflags ) || !ums_try_load( &context->Rip, &rip ) ||
        !(eflags & EFLAGS_TF) || !is_door( rip ) || (~flags & CONTEXT_FULL)) return;
    context->EFlags &= ~EFLAGS_TF;
    context->R11 = rip;
    context->Rip = (uintptr_t)ums_step_over;
}

/* Debug registers are set in the worker's own thread. So that is where it has to run as long as one
   is enabled: it stays at home from the next time it parks there. */
static void note_breakpoints( struct ums_context *w, const CONTEXT *context )
{
    uint64_t flags, dr7;

    if (!w || w->kind != CONTEXT_WORKER || !ums_try_load( &context->ContextFlags, &flags ) ||
        !ums_try_load( &context->Dr7, &dr7 ) || (~flags & CONTEXT_DEBUG_REGISTERS)) return;
    atomic_store( &w->breakpoints, (dr7 & 0xff) != 0 );
}

/* On the own thread it may not return, so "inside" ends here. */
uint64_t ums_special_set_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    struct ums_context *target = context_of_handle( (HANDLE)call->args[0], self );

    (void)row;
    note_breakpoints( target, (const CONTEXT *)call->args[1] );
    if (self && target == self && self->inside == call->sp) self->inside = 0;
    return (uint64_t)native( call );
}

/* It does not return, so "inside" ends here. */
uint64_t ums_special_continue( const struct call_row *row, struct ums_call *call,
                               struct ums_context *self )
{
    (void)row;
    if (self)
    {
        step_over( (CONTEXT *)call->args[0] );
        note_breakpoints( self, (const CONTEXT *)call->args[0] );
        if (self->inside == call->sp) self->inside = 0;
    }
    return (uint64_t)native( call );
}

/* ThreadUmsInformation, Query: the flags [guess: only the layout is known] */
uint64_t ums_special_query_thread( const struct call_row *row, struct ums_call *call,
                                   struct ums_context *self )
{
    THREAD_UMS_INFORMATION *info = (void *)call->args[2];
    struct thread_basic_info basic;
    struct ums_context *target;
    uint64_t command;
    uint32_t flags;
    NTSTATUS status;

    (void)row;
    if ((ULONG)call->args[1] != UMS_THREAD_INFORMATION_CLASS) return (uint64_t)native( call );
    if ((ULONG)call->args[3] != sizeof(*info))
        return (uint64_t)(NTSTATUS)STATUS_INFO_LENGTH_MISMATCH;
    if (!ums_try_load( &info->Command, &command ))
        return (uint64_t)(NTSTATUS)STATUS_ACCESS_VIOLATION;
    if ((ULONG)command != UmsInformationCommandQuery)
        return (uint64_t)(NTSTATUS)STATUS_INVALID_PARAMETER;
    if ((status = NtQueryInformationThread( (HANDLE)call->args[0], ThreadBasicInformation, &basic,
                                            sizeof(basic), NULL )))
        return (uint64_t)status;

    target = context_of_handle( (HANDLE)call->args[0], self );
    flags = !target ? 0 : target->kind == CONTEXT_SCHEDULER ? 1 : 2;
    if (!ums_try_store32( &info->ThreadUmsFlags, flags ))
        return (uint64_t)(NTSTATUS)STATUS_ACCESS_VIOLATION;
    return store_ulong( call->stack[0], sizeof(*info) );
}

/* ThreadUmsInformation, Attach and Detach of the calling thread [seen] */
uint64_t ums_special_set_thread( const struct call_row *row, struct ums_call *call,
                                 struct ums_context *self )
{
    THREAD_UMS_INFORMATION *info = (void *)call->args[2];
    ULONG length = (ULONG)call->args[3];
    uint64_t command, list, context;

    (void)row;
    if ((ULONG)call->args[1] != UMS_THREAD_INFORMATION_CLASS) return (uint64_t)native( call );
    if (length != FIELD_OFFSET( THREAD_UMS_INFORMATION, ThreadUmsFlags ) && length != sizeof(*info))
        return (uint64_t)(NTSTATUS)STATUS_INFO_LENGTH_MISMATCH;
    if ((HANDLE)call->args[0] != GetCurrentThread())
        return (uint64_t)(NTSTATUS)STATUS_INVALID_PARAMETER;
    if (!ums_try_load( &info->Command, &command ) ||
        !ums_try_load( &info->CompletionList, &list ) ||
        !ums_try_load( &info->UmsContext, &context ))
        return (uint64_t)(NTSTATUS)STATUS_ACCESS_VIOLATION;

    switch ((ULONG)command)
    {
    case UmsInformationCommandAttach:
        return (uint64_t)ums_scheduler_attach( (void *)list, (void *)context );
    case UmsInformationCommandDetach:
        if (!self || self->kind != CONTEXT_SCHEDULER || self->scheduler->proc)
            return (uint64_t)(NTSTATUS)STATUS_INVALID_PARAMETER;
        ums_scheduler_detach( self );
        return STATUS_SUCCESS;
    default:
        return (uint64_t)(NTSTATUS)STATUS_INVALID_PARAMETER;
    }
}

/* ProcessInstrumentationCallback replaces the dispatcher: Wine 10 does it at the place where our
   hook is. */
uint64_t ums_special_set_process( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    NTSTATUS status = native( call );

    (void)row; (void)self;
    if ((ULONG)call->args[1] == PROCESS_INSTRUMENTATION_CALLBACK) ums_hook_dispatcher_again();
    return (uint64_t)status;
}

/* The new process stands still until its creator resumes it: CreateProcess always makes it so,
   on Wine and Windows. */
uint64_t ums_special_create_process( const struct call_row *row, struct ums_call *call,
                                     struct ums_context *self )
{
    uint64_t process;
    int entered = 0;
    NTSTATUS status;

    (void)row;
    /* a worker's; in a callback out of another call this is part of that one */
    if (self && self->inside == call->sp) entered = ums_worker_enter_kernel( self );
    status = native( call );
    if (!status && ums_child_hook && ums_try_load( (void *)call->args[0], &process ))
        ums_child_hook( (HANDLE)process );
    if (entered) ums_worker_back( self );
    return (uint64_t)status;
}
