/*
 * Handlers of calls that change what the core knows, except for those that stop or end threads
 * (threads.h). They are called on every thread of the process.
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
#include "host/asm_offsets.h"
#include "host/first_apcs.h"
#include "host/ke_timer.h"
#include "host/ke_win32.h"
#include "record/record_host.h"
#include "syscalls/threads/threads.h"
#include "umsnt.h"
#include "private/ums_private.h"

#define PROCESS_INSTRUMENTATION_CALLBACK 40     /* PROCESSINFOCLASS [sdk] */
#define THREAD_IMPERSONATION_TOKEN 5            /* THREADINFOCLASS [sdk] */
#ifndef THREAD_CREATE_FLAGS_CREATE_SUSPENDED
#define THREAD_CREATE_FLAGS_CREATE_SUSPENDED 1  /* [sdk], missing in mingw-w64 10 */
#endif
#define THREAD_AM_I_LAST_THREAD 12              /* THREADINFOCLASS [sdk] */

void (*ums_child_hook)( HANDLE process );

/* The id of a thread of this process, or 0. The handle may lack the right to query, for example if
   it can only suspend; then a duplicate with that right is used. A worker that was terminated
   meanwhile would leave it. */
uint32_t ums_thread_id( HANDLE thread, struct ums_context *self )
{
    struct thread_basic_info info;
    ULONG size = sizeof(info);
    NTSTATUS status = NtQueryInformationThread( thread, ThreadBasicInformation, &info, size, NULL );
    HANDLE copy;

    if (status == STATUS_ACCESS_DENIED)
    {
        ums_hold_self( self, 1 );
        if (DuplicateHandle( GetCurrentProcess(), thread, GetCurrentProcess(), &copy,
                             THREAD_QUERY_INFORMATION, FALSE, 0 ))
        {
            status = NtQueryInformationThread( copy, ThreadBasicInformation, &info, size, NULL );
            CloseHandle( copy );
        }
        ums_hold_self( self, -1 );
    }
    if (status || (DWORD)(ULONG_PTR)info.pid != GetCurrentProcessId()) return 0;
    return (DWORD)(ULONG_PTR)info.tid;
}

/* The scheduler or live worker of this process behind a thread handle, or NULL. */
struct ums_context *ums_context_of_handle( HANDLE thread, struct ums_context *self, uint32_t *tid )
{
    if (thread == GetCurrentThread())
    {
        *tid = GetCurrentThreadId();
        return self;
    }
    return (*tid = ums_thread_id( thread, self )) ? ums_context_of_thread( *tid ) : NULL;
}

/* Is it this process, and would the call end it? A handle may permit that and no questions. A worker that was
   terminated meanwhile would leave the copy. */
static int ends_us( HANDLE process, struct ums_context *self )
{
    PROCESS_BASIC_INFORMATION info;
    NTSTATUS status;
    HANDLE copy;

    if (process == GetCurrentProcess()) return 1;
    if (!process || !ums_has_access( process, PROCESS_TERMINATE )) return 0;
    status = NtQueryInformationProcess( process, ProcessBasicInformation, &info, sizeof(info), NULL );
    if (status == STATUS_ACCESS_DENIED)
    {
        ums_hold_self( self, 1 );
        if (DuplicateHandle( GetCurrentProcess(), process, GetCurrentProcess(), &copy,
                             PROCESS_QUERY_LIMITED_INFORMATION, FALSE, 0 ))
        {
            status = NtQueryInformationProcess( copy, ProcessBasicInformation, &info, sizeof(info), NULL );
            CloseHandle( copy );
        }
        ums_hold_self( self, -1 );
    }
    return !status && (DWORD)info.UniqueProcessId == GetCurrentProcessId();
}

/* The caller continues as the only thread, through DLL_PROCESS_DETACH: no scheduler is left that
   could execute it. */
uint64_t ums_special_terminate_process( const struct call_row *row, struct ums_call *call,
                                        struct ums_context *self )
{
    HANDLE process = (HANDLE)call->args[0];
    int ours = ends_us( process, self );

    (void)row;
    if (self && (!process || ours))
    {
        atomic_store( &self->at_host, 1 );      /* other threads may alert it */
        ke_set_current( NULL );
    }
    if (ours) ums_record_finish();
    if (!process)
    {
        NTSTATUS status;

        ums_objects_last_thread( 1 );
        status = native( call );
        ums_objects_last_thread( 0 );
        return (uint64_t)status;
    }
    return (uint64_t)native( call );
}

void *ums_dequeue_door;

/* Is this an entry into our code in which no exception may happen? What a thread does there depends
   on whether it is a worker, carried or not, and each exception changes that. */
static int is_door( uint64_t rip )
{
    static void *const doors[] = { ums_yield, ums_execute, ums_unix_call, ums_unix_look,
                                   ums_dispatcher_frame, ums_stub_frame };
    unsigned int i;

    for (i = 0; i < sizeof(doors) / sizeof(doors[0]); i++)
        if (rip == (uintptr_t)doors[i]) return 1;
    return rip == (uintptr_t)ums_dequeue_door;
}

/* A debugger that steps into one of these functions steps over it, as over a system call: the trap
   flag is cleared, because a switch would hand it to another thread, and set again when the
   function returns to its caller. Every single step ends in an exception and continues by this
   call, so no step reaches such a function unseen. At their entries neither r11 nor the flags are
   in use. */
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

/* The debug registers are those of the worker's own thread. So the worker has to run there as long
   as one of them is enabled: it stays at home from the next time it parks. */
void ums_note_breakpoints( struct ums_context *w, const void *registers )
{
    const CONTEXT *context = registers;
    uint64_t flags, dr7;

    if (!w || w->kind != CONTEXT_WORKER || !ums_try_load( &context->ContextFlags, &flags ) ||
        !ums_try_load( &context->Dr7, &dr7 ) || (~flags & CONTEXT_DEBUG_REGISTERS)) return;
    atomic_store( &w->breakpoints, (dr7 & 0xff) != 0 );
}

/* A worker continues out of a callback at a frame above the call that the callback belongs to, as
   at the end of an unwind. That call will never return. */
static void leave_call( struct ums_context *self, const CONTEXT *context )
{
    uint64_t flags, sp;

    if (!inside_any( &self->inside ) || !ums_try_load( &context->ContextFlags, &flags ) ||
        (~flags & CONTEXT_CONTROL) || !ums_try_load( &context->Rsp, &sp ) ||
        !inside_was_left( &self->inside, sp )) return;
    ums_abandon_call( self );
    ums_worker_go_home( self );                 /* it may have been executed on a carrier */
}

/* NtContinue does not return, so the call ends here. */
uint64_t ums_special_continue( const struct call_row *row, struct ums_call *call,
                               struct ums_context *self )
{
    (void)row;
    if (self)
    {
        step_over( (CONTEXT *)call->args[0] );
        ums_note_breakpoints( self, (const CONTEXT *)call->args[0] );
        if (inside_is( &self->inside, call->sp )) inside_leave( &self->inside );
        else if (self->kind == CONTEXT_WORKER)
            leave_call( self, (const CONTEXT *)call->args[0] );
    }
    return (uint64_t)native( call );
}

/* An APC for a worker that has not begun is kept until then. A call that fails, fails at the host. The reference keeps the context from
   being given to another worker meanwhile. */
uint64_t ums_special_queue_apc( const struct call_row *row, struct ums_call *call,
                                struct ums_context *self )
{
    const uint64_t apc[APC_WORDS] = { call->args[1], call->args[2], call->args[3], call->stack[0] };
    enum first_apc kept = FIRST_APC_TOO_LATE;
    struct ums_context *target;
    uint32_t tid;

    (void)row;
    target = ums_context_of_handle( (HANDLE)call->args[0], self, &tid );
    if (target && target != self && target->kind == CONTEXT_WORKER &&
        ums_has_access( (HANDLE)call->args[0], THREAD_SET_CONTEXT ))
    {
        ums_hold_self( self, 1 );
        if (ums_context_ref( target, tid ))
        {
            kept = ums_first_apc_keep( target, apc );
            ums_context_unref( target );
        }
        ums_hold_self( self, -1 );
    }
    if (kept == FIRST_APC_NO_MEMORY) return (uint64_t)(NTSTATUS)STATUS_NO_MEMORY;
    return kept == FIRST_APC_KEPT ? 0 : (uint64_t)native( call );
}

static uint64_t am_i_last( struct ums_call *call, struct ums_context *self )
{
    NTSTATUS status = native( call );

    if (status || !ums_any_kept() || *(ULONG *)call->args[2]) return (uint64_t)status;
    ums_hold_self( self, 1 );                   /* it has handles meanwhile */
    if (ums_only_keepers_are_left()) *(ULONG *)call->args[2] = 1;       /* the host has written there */
    ums_hold_self( self, -1 );
    return (uint64_t)status;
}

/* ThreadUmsInformation, Query: the flags [guess: only the layout is known] */
uint64_t ums_special_query_thread( const struct call_row *row, struct ums_call *call,
                                   struct ums_context *self )
{
    THREAD_UMS_INFORMATION *info = (void *)call->args[2];
    struct thread_basic_info basic;
    struct ums_context *target;
    uint64_t command;
    uint32_t flags, tid;
    NTSTATUS status;

    (void)row;
    if ((ULONG)call->args[1] == THREAD_AM_I_LAST_THREAD)
    {
        ums_keeper_dismiss( self );
        ke_timer_dismiss( self );
        ke_warden_dismiss( self, 0 );
        return am_i_last( call, self );
    }
    if ((ULONG)call->args[1] != UMS_THREAD_INFORMATION_CLASS) return (uint64_t)native( call );
    if ((ULONG)call->args[3] != sizeof(*info))
        return (uint64_t)(NTSTATUS)STATUS_INFO_LENGTH_MISMATCH;
    if (!ums_try_load( &info->Command, &command ))
        return (uint64_t)ums_bad_access( &info->Command, sizeof(command) );
    if ((ULONG)command != UmsInformationCommandQuery)
        return (uint64_t)(NTSTATUS)STATUS_INVALID_PARAMETER;
    if ((status = NtQueryInformationThread( (HANDLE)call->args[0], ThreadBasicInformation, &basic,
                                            sizeof(basic), NULL )))
        return (uint64_t)status;

    target = ums_context_of_handle( (HANDLE)call->args[0], self, &tid );
    flags = !target ? 0 : target->kind == CONTEXT_SCHEDULER ? 1 : 2;
    if (!ums_try_store32( &info->ThreadUmsFlags, flags ))
        return (uint64_t)ums_bad_access( &info->ThreadUmsFlags, sizeof(flags) );
    return ums_store_ulong( call->stack[0], sizeof(*info) );
}

_Atomic uint32_t ums_impersonated;

/* ThreadUmsInformation, Attach and Detach of the calling thread [seen].
   A token is noted before the call gives it, and stays noted: whoever looks later finds it, also if this thread
   stops in between. A carrier that is given a token by another thread while its worker opens a key may open it
   with that token. */
uint64_t ums_special_set_thread( const struct call_row *row, struct ums_call *call,
                                 struct ums_context *self )
{
    THREAD_UMS_INFORMATION *info = (void *)call->args[2];
    ULONG length = (ULONG)call->args[3];
    uint64_t command, list, context;

    (void)row;
    if ((ULONG)call->args[1] == THREAD_IMPERSONATION_TOKEN) atomic_store( &ums_impersonated, 1 );
    if ((ULONG)call->args[1] != UMS_THREAD_INFORMATION_CLASS) return (uint64_t)native( call );
    if (length != FIELD_OFFSET( THREAD_UMS_INFORMATION, ThreadUmsFlags ) && length != sizeof(*info))
        return (uint64_t)(NTSTATUS)STATUS_INFO_LENGTH_MISMATCH;
    if ((HANDLE)call->args[0] != GetCurrentThread())
        return (uint64_t)(NTSTATUS)STATUS_INVALID_PARAMETER;
    if (!ums_try_load( &info->Command, &command ) ||
        !ums_try_load( &info->CompletionList, &list ) ||
        !ums_try_load( &info->UmsContext, &context ))
        return (uint64_t)ums_bad_access( info, FIELD_OFFSET( THREAD_UMS_INFORMATION, ThreadUmsFlags ) );

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

/* ProcessInstrumentationCallback replaces the dispatcher. Wine 10 uses the same pointer as our
   hook. */
uint64_t ums_special_set_process( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    NTSTATUS status = native( call );

    (void)row; (void)self;
    if ((ULONG)call->args[1] == PROCESS_INSTRUMENTATION_CALLBACK) ums_hook_dispatcher_again();
    return (uint64_t)status;
}

/* NtCreateUserProcess( process, thread, ..., process flags, thread flags, ... ). CreateProcess makes the new process suspended, on Wine
   and on Windows; for whoever does not, it must not run before it has been given the shim. */
static NTSTATUS create_process( struct ums_call *call )
{
    uint64_t args[UMS_MAX_ARGS], process, thread;
    int runs;
    NTSTATUS status;

    ums_call_args( call, args );
    runs = !(args[7] & THREAD_CREATE_FLAGS_CREATE_SUSPENDED);
    args[7] |= THREAD_CREATE_FLAGS_CREATE_SUSPENDED;
    if ((status = (NTSTATUS)ums_call_native( call, args ))) return status;
    if (ums_try_load( (void *)args[0], &process )) ums_child_hook( (HANDLE)process );
    if (runs && ums_try_load( (void *)args[1], &thread )) ums_resume_native( (HANDLE)thread, NULL );
    return status;
}

uint64_t ums_special_create_process( const struct call_row *row, struct ums_call *call,
                                     struct ums_context *self )
{
    int entered = 0;
    NTSTATUS status;

    (void)row;
    /* only a worker's own call; in a callback it is part of the outer call */
    if (self && inside_is( &self->inside, call->sp )) entered = ums_worker_enter_kernel( self );
    status = ums_child_hook ? create_process( call ) : native( call );
    if (entered) ums_worker_back( self );
    return (uint64_t)status;
}
