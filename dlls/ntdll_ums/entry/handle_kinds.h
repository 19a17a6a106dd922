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
    KIND_UNKNOWN,                               /* zero: a row of hook_calls.c that makes nothing */
    KIND_EVENT,
    KIND_SEMAPHORE,
    KIND_MUTANT,
    KIND_TIMER,
    KIND_KEYED_EVENT,
    KIND_PORT,
    KIND_SECTION,                               /* of memory, not of a file */
    KIND_OTHER                                  /* of a row: makes a handle of something else */
};

/* Before a call that makes a handle; ums_handle_made wants it. */
uint64_t ums_handle_will_be_made( void );
/* Behind it, if it has succeeded. If the handle may have been closed meanwhile its kind stays
   unknown, and so does that of one that is too large for the table. */
void ums_handle_made( uint64_t handle, enum object_kind kind, uint64_t before );

/* Before and behind a call that closes a handle, however that ends. The kind is KIND_UNKNOWN in between;
   the first returns what it was. */
enum object_kind ums_handle_will_close( uint64_t handle );
void ums_handle_was_closed( uint64_t handle );

enum object_kind ums_handle_kind( uint64_t handle );

#endif /* UMS_HANDLE_KINDS_H */
