/*
 * What the hook offers to the host layer: calls past the hook, and what only the hook knows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host layer lies below the hook and uses nothing else of it (tests/layers.py).
 */
#ifndef UMS_NATIVE_H
#define UMS_NATIVE_H

#include "private/nttypes.h"

struct ums_context;

/* Make a call past its handler. name: a row of call_table.c; args: UMS_MAX_ARGS values. Returns the
   call's result. */
uint64_t ums_native_call( const char *name, const uint64_t *args );

/* Thread calls past their handlers: 0 or a status. context: a CONTEXT with its flags set; count: the
   previous suspend count, or NULL. */
ums_status ums_suspend_native( void *thread, ULONG *count );
ums_status ums_terminate_native( void *thread, uint32_t status );
ums_status ums_resume_native( void *thread, ULONG *count );
ums_status ums_resume_worker( void *thread, const struct ums_context *target, ULONG *count );
ums_status ums_get_context_native( void *thread, void *context );
ums_status ums_set_context_native( void *thread, const void *context );
/* The calling thread ends with this exit status. */
void ums_end_native( uint32_t status );

/* Is this an address in the memory that the stub hook has made for itself? */
int ums_hook_owns( const void *code );

/* Does the hook hand a program's call to C in the function that begins there? ke_context.c knows its frame. */
int ums_hook_is_frame( const void *function );

/* Is this program counter in a Unix call that the hook makes for a program? */
int ums_is_in_unix_call( uint64_t rip );

/* Called by the warden: the thread of this scheduler has ended. 0: call again later. */
int ums_scheduler_gone( struct ums_context *context );

#endif /* UMS_NATIVE_H */
