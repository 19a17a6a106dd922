/*
 * Home threads: how a worker's OS thread begins.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loader's part of the start, DLL_THREAD_ATTACH included, runs before the worker is queued, as
 * in an ordinary thread: it holds the loader lock, and a worker that was parked in there would keep
 * everybody out. On Windows it probably runs as worker code [guess].
 */

#include <windows.h>
#include <winternl.h>
#include "ums_core.h"
#include "ke_win32.h"
#include "thread.h"

#define STACK_KEPT 0x4000                       /* below the stack pointer when a worker starts */

/* Wine clears 960 KB of each new stack. A process may have thousands of parked workers: give the
   pages back. */
static void release_stack( void )
{
    NT_TIB *tib = (NT_TIB *)NtCurrentTeb();
    char *low = tib->StackLimit, *high = (char *)__builtin_frame_address( 0 ) - STACK_KEPT;

    high = (char *)((ULONG_PTR)high & ~(ULONG_PTR)0xfff);
    if (high > low) VirtualAlloc( low, high - low, MEM_RESET, PAGE_READWRITE );
}

static DWORD WINAPI worker_thread( void *arg )
{
    struct ums_context *w = arg;
    LPTHREAD_START_ROUTINE start = (LPTHREAD_START_ROUTINE)w->start;
    void *param = w->start_param;

    release_stack();
    ums_worker_start( w );
    return start( param );
}

NTSTATUS ums_thread_bind( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                          void *param, struct ums_context **worker, LPTHREAD_START_ROUTINE *entry )
{
    if (attr->UmsVersion != UMS_CONTEXT_VERSION) return STATUS_INVALID_PARAMETER;
    *entry = worker_thread;
    return ums_worker_bind( attr->UmsContext, attr->UmsCompletionList, (void *)start, param,
                            worker );
}

void ums_thread_made( struct ums_context *worker, HANDLE thread )
{
    struct thread_basic_info info = { 0 };

    NtQueryInformationThread( thread, ThreadBasicInformation, &info, sizeof(info), NULL );
    ums_worker_made( worker, info.teb, (uint32_t)(ULONG_PTR)info.tid );
}
