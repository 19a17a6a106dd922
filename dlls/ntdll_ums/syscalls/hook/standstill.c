/*
 * Stops the other threads of the process while code is patched. This is needed where UMS starts late:
 * in a program of a prefix that looks up its first UMS function when it already has several threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between standstill_begin and standstill_end this thread must take no lock that another thread can
 * hold: heap, loader, ours. It makes NT calls only. A thread that is created during a round is found
 * by the next round. The rounds end when one finds no new thread; a stopped thread creates none.
 * On Wine, NtSuspendThread may return before the thread has stopped. NtGetContextThread waits until it
 * has, so the registers of each thread are read before the standstill counts as complete.
 */

#define UMS_CHANNEL LOG_CHANNEL_hook

#include <windows.h>
#include <winternl.h>
#include "host/ke_win32.h"
#include "private/trace.h"
#include "syscalls/hook/standstill.h"

#define THREADS_IN_PAGES 0x10000
#define MAX_THREADS      (THREADS_IN_PAGES / sizeof(struct stopped))

NTSTATUS NTAPI NtSuspendThread( HANDLE, ULONG * );
NTSTATUS NTAPI NtResumeThread( HANDLE, ULONG * );
NTSTATUS NTAPI NtGetContextThread( HANDLE, CONTEXT * );
NTSTATUS NTAPI NtSetContextThread( HANDLE, const CONTEXT * );

struct stopped
{
    HANDLE thread;
    HANDLE tid;
};

/* Under the lock of the start (main.c). */
static struct stopped *stopped;
static unsigned int stopped_count;

static int is_known( HANDLE tid )
{
    unsigned int i;

    if (tid == ULongToHandle( GetCurrentThreadId() )) return 1;
    for (i = 0; i < stopped_count; i++) if (stopped[i].tid == tid) return 1;
    return 0;
}

/* Returns 1 if the thread has stopped and its handle is kept. */
static int stop( HANDLE thread )
{
    CONTEXT context = { .ContextFlags = CONTEXT_CONTROL };
    struct thread_basic_info info;

    if (NtQueryInformationThread( thread, 0, &info, sizeof(info), NULL ) || is_known( info.tid ))
        return 0;
    if (stopped_count == MAX_THREADS || NtSuspendThread( thread, NULL )) return 0;
    if (NtGetContextThread( thread, &context ))         /* it has ended */
    {
        NtResumeThread( thread, NULL );
        return 0;
    }
    stopped[stopped_count].thread = thread;
    stopped[stopped_count++].tid = info.tid;
    return 1;
}

void standstill_begin( void )
{
    NTSTATUS (NTAPI *get_next)( HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE * ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtGetNextThread" );
    const ACCESS_MASK access = THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_SET_CONTEXT
                               | THREAD_QUERY_INFORMATION;
    HANDLE thread, next;
    int found;

    stopped_count = 0;
    stopped = VirtualAlloc( NULL, THREADS_IN_PAGES, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    if (!get_next || !stopped) return;
    do
    {
        for (found = 0, thread = NULL;
             !get_next( GetCurrentProcess(), thread, access, 0, 0, &next ); thread = next)
        {
            if (thread && !(stopped_count && stopped[stopped_count - 1].thread == thread))
                NtClose( thread );
            found += stop( next );
        }
        if (thread && !(stopped_count && stopped[stopped_count - 1].thread == thread))
            NtClose( thread );
    }
    while (found);
}

void standstill_move( ULONG_PTR (*move)( ULONG_PTR rip ) )
{
    CONTEXT context;
    ULONG_PTR to;
    unsigned int i;

    for (i = 0; i < stopped_count; i++)
    {
        context.ContextFlags = CONTEXT_CONTROL;
        if (NtGetContextThread( stopped[i].thread, &context )) continue;
        if ((to = move( context.Rip )) == context.Rip) continue;
        context.Rip = to;
        NtSetContextThread( stopped[i].thread, &context );
    }
}

void standstill_end( void )
{
    unsigned int count = stopped_count;

    while (stopped_count)
    {
        stopped_count--;
        NtResumeThread( stopped[stopped_count].thread, NULL );
        NtClose( stopped[stopped_count].thread );
    }
    if (stopped) VirtualFree( stopped, 0, MEM_RELEASE );
    stopped = NULL;
    if (count) ums_trace( "%u threads stood still", count );
}
