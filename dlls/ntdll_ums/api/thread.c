/*
 * Home threads of workers: how they begin and end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loader's part of a worker's start, including DLL_THREAD_ATTACH, runs before the worker is queued,
 * as in an ordinary thread. It holds the loader lock, and a worker parked in it would keep every other
 * thread out. On Windows it probably runs as worker code [guess].
 */

#define UMS_CHANNEL LOG_CHANNEL_worker

#include <windows.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "host/first_apcs.h"
#include "host/ke_win32.h"
#include "host/thread.h"
#include "thread.h"
#include "private/trace.h"

static DWORD WINAPI worker_thread( void *arg )
{
    struct ums_context *w = arg;
    DWORD ret;

    ums_thread_release_stack();
    ums_thread_set_start( w->start );
    ums_worker_start( w );
    ums_first_apcs_run( w );
    ke_go_where_sent( w );
    ret = ((LPTHREAD_START_ROUTINE)w->start)( w->start_param );     /* perhaps not those of its creation (ke_context.c) */
    ums_trace( "worker %p returns %lu", (void *)w, ret );
    return ret;
}

NTSTATUS ums_thread_bind( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                          void *param, struct ums_context **worker, LPTHREAD_START_ROUTINE *entry )
{
    NTSTATUS status;

    if (attr->UmsVersion != UMS_CONTEXT_VERSION) return STATUS_INVALID_PARAMETER;
    *entry = worker_thread;
    status = ums_worker_bind( attr->UmsContext, attr->UmsCompletionList, (void *)start, param, worker );
    if (!status) ums_first_apcs_open( *worker );
    return status;
}

void ums_thread_made( struct ums_context *worker, HANDLE thread )
{
    struct thread_basic_info info = { 0 };

    NtQueryInformationThread( thread, ThreadBasicInformation, &info, sizeof(info), NULL );
    ums_worker_made( worker, info.teb, (uint32_t)(ULONG_PTR)info.tid );
    ums_trace( "worker %p is thread %04lx", (void *)worker, (ULONG)(ULONG_PTR)info.tid );
}

void ums_thread_unbind( struct ums_context *worker )
{
    ums_first_apcs_close( worker );
    ums_worker_unbind( worker );
}
