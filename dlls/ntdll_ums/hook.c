/*
 * What happens when a worker enters the kernel. The worker runs at home here, so every call may be
 * made as it stands; the question is only whether its scheduler has to be told.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nothing here may take a lock or allocate: a worker is switched out in the middle of it.
 */

#include <windows.h>
#include "ums_core.h"
#include "hook.h"
#include "asm_offsets.h"

#define MAX_ARGS (4 + CALL_STACK_ARGS)

static int using_stubs;

/* All arguments in one array. How many a call has is not known, so as many as any has are
   copied; near the end of the stack there are fewer. */
static void call_args( const struct ums_call *call, uint64_t *args )
{
    const uint64_t *end = ((NT_TIB *)NtCurrentTeb())->StackBase;
    int i;

    for (i = 0; i < 4; i++) args[i] = call->args[i];
    for (; i < MAX_ARGS && call->stack + (i - 4) < end; i++) args[i] = call->stack[i - 4];
    for (; i < MAX_ARGS; i++) args[i] = 0;
}

uint64_t ums_call_native( const struct ums_call *call, const uint64_t *args )
{
    uint64_t copy[MAX_ARGS];

    if (!args)
    {
        call_args( call, copy );
        args = copy;
    }
    if (using_stubs) return ums_call_stub( ums_stub_native[call->nr], args );
    return ums_call_dispatcher( call->nr, args );
}

void ums_hook_use_stubs( void )
{
    using_stubs = 1;
}

/* Would the call return at once because it has a time-out of zero? */
static int timeout_is_zero( const struct call_row *row, const uint64_t *args )
{
    uint64_t timeout;

    if (row->timeout < 0 || !args[row->timeout]) return 0;
    /* an unreadable one is the kernel's to refuse: it does not wait */
    return !ums_try_load( (const void *)args[row->timeout], &timeout ) || !timeout;
}

static uint64_t call_wait( const struct call_row *row, const struct ums_call *call,
                           struct ums_context *self )
{
    uint64_t args[MAX_ARGS], ret;
    int blocked;

    call_args( call, args );
    if (timeout_is_zero( row, args )) return ums_call_native( call, args );

    if (row->try_zero && (row->alertable < 0 || !(uint8_t)args[row->alertable]))
    {
        LARGE_INTEGER zero = { .QuadPart = 0 };
        uint64_t timeout = args[row->timeout];

        args[row->timeout] = (uint64_t)(ULONG_PTR)&zero;
        ret = ums_call_native( call, args );
        if ((ums_status)ret != STATUS_TIMEOUT) return ret;
        args[row->timeout] = timeout;
    }

    blocked = ums_worker_block( self, 1 );      /* from here on the scheduler runs */
    ret = ums_call_native( call, args );
    if (blocked) ums_worker_back( self );
    return ret;
}

static uint64_t call_may_block( const struct ums_call *call, struct ums_context *self )
{
    int entered = ums_worker_enter_kernel( self );
    uint64_t ret = ums_call_native( call, NULL );

    if (entered) ums_worker_back( self );
    return ret;
}

/* A call made in a callback out of another call, or by the shim itself, is part of that one. The
   stack pointer tells: stacks grow downwards, and a frame that was left by an exception or
   longjmp lies below the caller. */
static int call_is_nested( const struct ums_call *call, struct ums_context *self )
{
    if (!self->inside) return 0;
    if (call->sp < self->inside) return 1;
    self->inside = 0;
    ums_worker_back( self );
    return 0;
}

uint64_t ums_hook_call( struct ums_call *call )
{
    const struct call_row *row = ums_call_row( call );
    struct ums_context *self = ke_current();
    uint64_t ret;

    if (row->handler) return row->handler( row, call, self );
    if (!self || self->kind != CONTEXT_WORKER || call_is_nested( call, self ))
        return ums_call_native( call, NULL );

    self->inside = call->sp;
    ret = row->cls == CALL_WAIT ? call_wait( row, call, self ) : call_may_block( call, self );
    self->inside = 0;
    return ret;
}
