/*
 * Home threads of workers, for kernel32_ums.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_THREAD_H
#define UMS_THREAD_H

#include <windows.h>
#include "umsnt.h"

struct ums_context;

/* For the private interface (ums_private.h says what each does). */
NTSTATUS ums_thread_bind( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                          void *param, struct ums_context **worker, LPTHREAD_START_ROUTINE *entry );
void ums_thread_made( struct ums_context *worker, HANDLE thread );
void ums_thread_unbind( struct ums_context *worker );

#endif /* UMS_THREAD_H */
