/*
 * What kernel32_ums needs from ntdll_ums besides the documented names. It is exported as ordinal 1,
 * without a name.
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

/* One of several alternatives: was it chosen, and why or why not? */
struct ums_choice
{
    const char *subject, *name, *why;
    int         taken;
};

struct ums_private
{
    /* Size of this struct. Check it first: the caller may be of another build. */
    size_t size;
    /* Start the core and install the hook, once. Returns NULL, or what does not fit. Any thread. */
    const char *(*activate)( void );
    /* Called before a thread is created as worker `context` of `list`. The caller must create it
       suspended, with start routine *entry and parameter *arg. STATUS_INVALID_PARAMETER: wrong version,
       list or context, or the context has a live thread. Any thread. */
    NTSTATUS (*worker_bind)( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                             void *param,
                             struct ums_context **worker, LPTHREAD_START_ROUTINE *entry );
    /* The thread was created and is suspended. After this call it may be resumed. */
    void (*worker_made)( struct ums_context *worker, HANDLE thread );
    /* The thread could not be created. */
    void (*worker_unbind)( struct ums_context *worker );
    /* hook is called for each process that this one creates, before it runs. */
    void (*set_child_hook)( void (*hook)( HANDLE process ) );
    /* UmsThreadYield: returns success when the worker is executed again, or failed( status ). */
    int32_t (*yield)( void *param, int32_t success, int32_t (*failed)( int32_t status ) );
    /* ExecuteUmsThread: does not return, or returns failed( status ). */
    int32_t (*execute)( void *context, int32_t (*failed)( int32_t status ) );
    /* "engine=handoff hook=dispatcher host=wine-8.0" */
    const char *(*describe)( void );
    /* Read at start, and constant afterwards. */
    const struct settings *settings;
    /* The levels of UMS_LOG; and the function with which kernel32_ums logs. */
    const unsigned char *log_levels;
    void (*say)( enum log_channel channel, enum log_level level, const char *fmt, va_list args );
    /* For umsinfo: start the core, and return the choices that were made. */
    const struct ums_choice *(*choices)( uint32_t *count );
    /* How often Execute has carried a worker since the start, and how often it has sent one home. With
       engine carry, the first is 0 after an Execute only if something is wrong. */
    void (*count_switches)( uint64_t *carried, uint64_t *sent_home );
    /* For the benchmark: is this the handle of a local object, which is not real? Any thread. */
    int (*is_local)( HANDLE object );
};

const struct ums_private * WINAPI ums_private( void );

#endif /* UMS_PRIVATE_H */
