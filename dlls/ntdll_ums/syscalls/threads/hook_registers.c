/*
 * Handlers of calls that read and set the registers of a thread. They are called on every thread of
 * the process.
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
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"
#include "syscalls/threads/threads.h"

/* A parked or suspended worker is held while its registers are read. For a worker that runs, the
   result is what its thread had. */
uint64_t ums_special_get_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    uint32_t tid;
    struct ums_context *target = ums_context_of_handle( (HANDLE)call->args[0], self, &tid );
    NTSTATUS status;
    HANDLE thread;

    (void)row;
    if (target && target != self && target->kind == CONTEXT_WORKER) ums_wait_for_start( target, tid );
    status = native( call );                    /* checks handle, rights and memory */
    if (status || !target || target == self || target->kind != CONTEXT_WORKER) return status;
    if (!ums_hold_word( self, target, tid, HOLD_STILL )) return status;
    if ((thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid )))
    {
        ke_worker_context( target, thread, (CONTEXT *)call->args[1] );
        CloseHandle( thread );
    }
    ums_let_go_word( self, target );
    return status;
}

static int load_context( CONTEXT *context, uint64_t from )
{
    size_t i;

    for (i = 0; i < sizeof(*context) / sizeof(uint64_t); i++)
        if (!ums_try_load( (const uint64_t *)from + i, (uint64_t *)context + i )) return 0;
    return 1;
}

/* Wait until the worker is off its carrier. It may have been preempted there without having left
   yet. */
static int wait_for_carrier( struct ums_context *target )
{
    struct ums_wait wait = ums_wait_begins();

    while (ums_worker_is_carried( target ))
    {
        if (ums_give_up( &wait, "a worker to leave its carrier, to set its registers" )) return 0;
        SwitchToThread();
        ums_wait_moment( &wait );
    }
    return 1;
}

/* For the calling thread itself this does not return. */
uint64_t ums_special_set_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    uint32_t tid;
    struct ums_context *target = ums_context_of_handle( (HANDLE)call->args[0], self, &tid );
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    struct hold hold;
    CONTEXT context;

    (void)row;
    if (target && target == self)
    {
        ums_note_breakpoints( self, (const CONTEXT *)call->args[1] );
        if (inside_is( &self->inside, call->sp )) inside_leave( &self->inside );
    }
    if (!target || target == self || target->kind != CONTEXT_WORKER ||
        !ums_has_access( (HANDLE)call->args[0], THREAD_SET_CONTEXT ))
        return (uint64_t)native( call );
    if (!load_context( &context, call->args[1] )) return (uint64_t)ums_bad_access( (void *)call->args[1], sizeof(context) );
    if (!ums_wait_for_start( target, tid )) return (uint64_t)(NTSTATUS)STATUS_UNSUCCESSFUL;
    if (!ums_hold_worker( self, target, tid, &hold )) return (uint64_t)native( call );
    if (wait_for_carrier( target ))
    {
        status = ke_set_worker_context( target, hold.thread, &context, (const CONTEXT *)call->args[1] );
        if (!status) ums_note_breakpoints( target, &context );
        ums_worker_pin( target );
    }
    ums_let_go( self, target, &hold, 0 );
    return (uint64_t)status;
}
