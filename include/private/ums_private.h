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
#include <stdarg.h>
#include <stdint.h>
#include "umsnt.h"
#include "private/log_spec.h"
#include "private/settings.h"

struct ums_context;

/* One of the ways to do something: was it taken, and why, or why not? */
struct ums_choice
{
    const char *subject, *name, *why;
    int         taken;
};

struct ums_private
{
    /* Of this struct: a caller of another build checks this first. */
    size_t size;
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
    /* As they were read at start, and never written again. */
    const struct settings *settings;
    /* UMS_LOG; and to say something, as kernel32_ums' part of it. */
    const unsigned char *log_levels;
    void (*say)( enum log_channel channel, enum log_level level, const char *fmt, va_list args );
    /* For umsinfo: starts the core, and says what was chosen there. */
    const struct ums_choice *(*choices)( uint32_t *count );
    /* How often Execute has carried a worker since the start, and how often it has sent one home.
       With engine carry and a worker executed, the first is 0 only where something is wrong. */
    void (*count_switches)( uint64_t *carried, uint64_t *sent_home );
};

const struct ums_private * WINAPI ums_private( void );

#endif /* UMS_PRIVATE_H */
