/*
 * Compile-time checks of asm_offsets.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "ums_core.h"
#include "hook.h"
#include "asm_offsets.h"

_Static_assert( offsetof( struct ums_scheduler, base ) == SCHEDULER_BASE, "" );
_Static_assert( offsetof( struct ums_scheduler, proc ) == SCHEDULER_PROC, "" );
_Static_assert( offsetof( struct ums_scheduler, upcall.reason ) == SCHEDULER_REASON, "" );
_Static_assert( offsetof( struct ums_scheduler, upcall.payload ) == SCHEDULER_PAYLOAD, "" );
_Static_assert( offsetof( struct ums_scheduler, upcall.param ) == SCHEDULER_PARAM, "" );
_Static_assert( offsetof( struct ums_context, kind ) == CONTEXT_KIND, "" );
_Static_assert( offsetof( struct ums_call, nr ) == CALL_NR, "" );
_Static_assert( offsetof( struct ums_call, args ) == CALL_ARGS, "" );
_Static_assert( offsetof( struct ums_call, stack ) == CALL_STACK, "" );
_Static_assert( offsetof( struct ums_call, sp ) == CALL_SP, "" );
_Static_assert( sizeof(struct ums_call) == CALL_SIZE, "" );
_Static_assert( CONTEXT_WORKER == 0, "hook_x86_64.S compares the kind with 0" );
