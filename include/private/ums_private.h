/*
 * What kernel32_ums needs of ntdll_ums beyond the documented names: exported by ordinal 1, without
 * a name.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_H
#define UMS_PRIVATE_H

#include <windows.h>
#include <stdint.h>
#include "umsnt.h"

struct ums_context;

struct ums_private
{
    /* Start the core and install the hook, once. NULL, or what does not fit. Any thread. */
    const char *(*activate)( void );
    /* A thread is about to be made as worker `context` of `list`; start it, suspended, with
       *entry( *arg ). STATUS_INVALID_PARAMETER: wrong version, list or context, or the context
       has a live thread. Any thread. */
    NTSTATUS (*worker_bind)( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                             void *param,
                             struct ums_context **worker, LPTHREAD_START_ROUTINE *entry );
    /* It was made, and is suspended. Then it may be resumed. */
    void (*worker_made)( struct ums_context *worker, HANDLE thread );
    /* It could not be made. */
    void (*worker_unbind)( struct ums_context *worker );
    /* Called for each process that this one creates, while it stands still. */
    void (*set_child_hook)( void (*hook)( HANDLE process ) );
    /* UmsThreadYield: success when the worker is executed again, else what failed makes of the
       status. */
    int32_t (*yield)( void *param, int32_t success, int32_t (*failed)( int32_t status ) );
    /* ExecuteUmsThread: does not return, or returns what failed makes of the status. */
    int32_t (*execute)( void *context, int32_t (*failed)( int32_t status ) );
    /* "engine=handoff hook=dispatcher host=wine-8.0" */
    const char *(*describe)( void );
    /* May paths from the environment be followed? */
    int (*trusts_environment)( void );
};

const struct ums_private * WINAPI ums_private( void );

#endif /* UMS_PRIVATE_H */
