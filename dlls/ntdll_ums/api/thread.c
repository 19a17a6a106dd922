/*
 * Threads of the shim: how they begin, and how many there are.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The loader's part of a worker's start, DLL_THREAD_ATTACH included, runs before it is queued, as
 * in an ordinary thread: it holds the loader lock, and a worker that was parked in there would keep
 * everybody out. On Windows it probably runs as worker code [guess].
 *
 * Threads end by themselves, or are ended by the program; the hook sees it (hook_kill.c). At the
 * end of the process nothing has to be done for them.
 */

#define UMS_CHANNEL LOG_CHANNEL_worker

#include <windows.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "host/ke_win32.h"
#include "thread.h"
#include "private/trace.h"

#define STACK_KEPT 0x4000                       /* below the stack pointer when a worker starts */
#define SKIP_THREAD_ATTACH 2                    /* THREAD_CREATE_FLAGS [sym]: no DllMain hears of it,
                                                   and it does not wait for the loader lock */

NTSTATUS NTAPI NtCreateThreadEx( HANDLE *, ACCESS_MASK, void *, HANDLE, void *, void *, ULONG,
                                 ULONG_PTR, SIZE_T, SIZE_T, void * );

static _Atomic uint32_t counts[THREAD_KINDS];

NTSTATUS ums_thread_create( enum ums_thread_kind kind, void (*start)( void *param ), void *param,
                            SIZE_T reserve, SIZE_T commit, HANDLE *thread )
{
    ULONG flags = kind == THREAD_SERVICE ? SKIP_THREAD_ATTACH : 0;
    NTSTATUS status;

    atomic_fetch_add( &counts[kind], 1 );       /* it may end before we are back */
    status = NtCreateThreadEx( thread, THREAD_ALL_ACCESS, NULL, GetCurrentProcess(), (void *)start,
                               param, flags, 0, commit, reserve, NULL );
    if (status) ums_thread_ends( kind );
    return status;
}

void ums_thread_ends( enum ums_thread_kind kind )
{
    atomic_fetch_sub( &counts[kind], 1 );
}

uint32_t ums_thread_count( enum ums_thread_kind kind )
{
    return atomic_load( &counts[kind] );
}

/* A process may have thousands of parked threads. */
void ums_thread_release_stack( void )
{
    NT_TIB *tib = (NT_TIB *)NtCurrentTeb();
    char *low = tib->StackLimit, *high = (char *)__builtin_frame_address( 0 ) - STACK_KEPT;

    high = (char *)((ULONG_PTR)high & ~(ULONG_PTR)0xfff);
    if (high > low) VirtualAlloc( low, high - low, MEM_RESET, PAGE_READWRITE );
}

/* ---- homes ---- */

static DWORD WINAPI worker_thread( void *arg )
{
    struct ums_context *w = arg;
    LPTHREAD_START_ROUTINE start = (LPTHREAD_START_ROUTINE)w->start;
    void *param = w->start_param;
    DWORD ret;

    ums_thread_release_stack();
    ums_worker_start( w );
    ret = start( param );
    ums_trace( "worker %p returns %lu", (void *)w, ret );
    return ret;
}

NTSTATUS ums_thread_bind( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                          void *param, struct ums_context **worker, LPTHREAD_START_ROUTINE *entry )
{
    NTSTATUS status;

    if (attr->UmsVersion != UMS_CONTEXT_VERSION) return STATUS_INVALID_PARAMETER;
    *entry = worker_thread;
    status = ums_worker_bind( attr->UmsContext, attr->UmsCompletionList, (void *)start, param,
                              worker );
    if (!status) atomic_fetch_add( &counts[THREAD_HOME], 1 );
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
    ums_worker_unbind( worker );
    ums_thread_ends( THREAD_HOME );
}
