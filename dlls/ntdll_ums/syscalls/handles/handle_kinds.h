/*
 * What kind of object a handle of this process names, where the hook has seen it made.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any thread; no lock, nothing enters the kernel.
 */
#ifndef UMS_HANDLE_KINDS_H
#define UMS_HANDLE_KINDS_H

#include <stdint.h>

enum object_kind
{
    KIND_UNKNOWN,                               /* zero: in a row of call_table.c, makes no handle */
    KIND_EVENT,
    KIND_SEMAPHORE,
    KIND_MUTANT,
    KIND_TIMER,
    KIND_KEYED_EVENT,
    KIND_PORT,
    KIND_SECTION,                               /* of memory, not of a file */
    KIND_KEY,
    KIND_OTHER                                  /* in a row: makes a handle of any other kind */
};

/* Call this before a call that makes a handle. Pass the result to ums_handle_made. */
uint64_t ums_handle_will_be_made( void );
/* Call this when the call has succeeded. The kind stays unknown if the handle may have been closed
   meanwhile, or is too large for the table. */
void ums_handle_made( uint64_t handle, enum object_kind kind, uint64_t before );

/* Call these before and after a call that closes a handle, whether it succeeds or not. In between the
   kind is KIND_UNKNOWN. The first returns the kind that the handle had. */
enum object_kind ums_handle_will_close( uint64_t handle );
void ums_handle_was_closed( uint64_t handle );

enum object_kind ums_handle_kind( uint64_t handle );

#endif /* UMS_HANDLE_KINDS_H */
