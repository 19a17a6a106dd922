/*
 * Compile-time checks of asm_offsets.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "core/ums_core.h"
#include "syscalls/hook/hook.h"
#include "asm_offsets.h"

#define CHECK( type, field, offset ) \
    _Static_assert( offsetof( struct type, field ) == offset, #offset )
#define CHECK_CONTEXT( field, offset ) \
    _Static_assert( offsetof( struct ums_context, context ) + offsetof( CONTEXT, field ) == offset, \
                    #offset )

CHECK( ums_scheduler, base, SCHEDULER_BASE );
CHECK( ums_scheduler, proc, SCHEDULER_PROC );
CHECK( ums_scheduler, teb, SCHEDULER_TEB );
CHECK( ums_scheduler, stack_base, SCHEDULER_STACK_BASE );
CHECK( ums_scheduler, stack_bottom, SCHEDULER_STACK_BOTTOM );
CHECK( ums_scheduler, exception_list, SCHEDULER_EXCEPTION_LIST );

CHECK_CONTEXT( SegCs, CONTEXT_CS );
CHECK_CONTEXT( SegSs, CONTEXT_SS );
CHECK_CONTEXT( EFlags, CONTEXT_EFLAGS );
CHECK_CONTEXT( Rax, CONTEXT_GPR );
CHECK_CONTEXT( Rsp, CONTEXT_RSP );
CHECK_CONTEXT( R15, CONTEXT_GPR + 15 * 8 );
CHECK_CONTEXT( Rip, CONTEXT_RIP );
CHECK( ums_context, teb, CONTEXT_TEB );
CHECK( ums_context, word, CONTEXT_WORD );
CHECK( ums_context, sp, CONTEXT_SP );
CHECK( ums_context, success, CONTEXT_SUCCESS );
CHECK( ums_context, home, CONTEXT_HOME );
CHECK( ums_context, kind, CONTEXT_KIND );
CHECK( ums_context, preempted, CONTEXT_PREEMPTED );
CHECK( ums_context, set, CONTEXT_SET );
CHECK( ums_context, stack_base, CONTEXT_STACK_BASE );
_Static_assert( WORKER_CARRIED == STATE_CARRIED, "hook_x86_64.S looks at the state" );
_Static_assert( CONTEXT_WORKER == 0, "hook_x86_64.S compares the kind with 0" );
_Static_assert( offsetof( NT_TIB, ExceptionList ) == TEB_EXCEPTION_LIST, "" );
_Static_assert( offsetof( NT_TIB, StackBase ) == TEB_STACK_BASE, "" );
_Static_assert( offsetof( NT_TIB, StackLimit ) == TEB_STACK_LIMIT, "" );

CHECK( ums_call, key, CALL_KEY );
CHECK( ums_call, args, CALL_ARGS );
CHECK( ums_call, stack, CALL_STACK );
CHECK( ums_call, sp, CALL_SP );
_Static_assert( sizeof(struct ums_call) == CALL_SIZE, "" );
