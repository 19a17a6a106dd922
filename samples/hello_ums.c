/*
 * Hello, UMS: the smallest program that does something with User-Mode Scheduling.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One scheduler thread (here: main) runs two worker threads. A worker is a full Windows thread with
 * a stack, a thread id and TLS of its own, but it runs only when and where the scheduler says so:
 *
 *     main --EnterUmsSchedulingMode--> scheduler_proc --ExecuteUmsThread--> worker
 *                                            ^                                |
 *                                            +---- the worker yields, blocks or ends
 *
 * sched.c beside this file is a scheduler for real use.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <string.h>
#include "ums.h"

static PUMS_COMPLETION_LIST list;       /* where the system puts workers that can run */
static PUMS_CONTEXT ready[2];           /* ours: workers waiting for their turn, in order */
static int ready_count;
static int alive = 2;
static char said[256];                  /* workers do not print here: printing blocks */

/* A worker: a plain thread function. */
static DWORD WINAPI worker( void *name )
{
    int i;

    for (i = 0; i < 3; i++)
    {
        strcat( said, name );
        /* Back to the scheduler; returns when it executes this worker again. */
        UmsThreadYield( NULL );
    }
    return 0;
}

/* Take whatever the system has for us. With timeout 0 this never waits. */
static void collect( DWORD timeout )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended;

    if (!DequeueUmsCompletionListItems( list, timeout, &context )) return;
    for ( ; context; context = next)
    {
        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (!ended) ready[ready_count++] = context;
        else
        {
            DeleteUmsThreadContext( context );
            alive--;
        }
    }
}

/* The upcall. The system enters it, each time from the top, when there is something to decide:
   UmsSchedulerStartup once, UmsSchedulerThreadYield with the worker that yielded,
   UmsSchedulerThreadBlocked when the running worker waits in the kernel (it comes back through the
   completion list) or has ended. */
static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context;

    (void)param;                        /* the argument of UmsThreadYield */
    /* New workers arrive through the completion list, a moment after they were made. */
    while (reason == UmsSchedulerStartup && ready_count < 2) collect( INFINITE );
    if (reason == UmsSchedulerThreadYield) ready[ready_count++] = (PUMS_CONTEXT)payload;

    while (alive)
    {
        /* Nobody ready: wait until the system has somebody. */
        collect( ready_count ? 0 : INFINITE );
        if (!ready_count) continue;
        context = ready[0];
        ready[0] = ready[1];
        ready_count--;
        ExecuteUmsThread( context );
        /* Does not return, unless the worker cannot run just now. */
        ready[ready_count++] = context;
    }
    /* Returning ends scheduling mode: main goes on behind EnterUmsSchedulingMode. */
}

/* CreateThread with one attribute more: the context and the list. */
static HANDLE create_worker( void *arg )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = sizeof(buffer);
    HANDLE thread;

    if (!CreateUmsThreadContext( &ums.UmsContext )) return NULL;
    InitializeProcThreadAttributeList( attributes, 1, 0, &size );
    UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD,
                               &ums, sizeof(ums), NULL, NULL );
    thread = CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, worker, arg, 0, attributes, NULL );
    DeleteProcThreadAttributeList( attributes );
    return thread;
}

int main( void )
{
    UMS_SCHEDULER_STARTUP_INFO info;
    HANDLE threads[2];

    if (!CreateUmsCompletionList( &list ))
    {
        printf( "no User-Mode Scheduling here (error %lu); start it as: ./umsrun hello_ums.exe\n",
                GetLastError() );
        return 1;
    }
    threads[0] = create_worker( "tick " );
    threads[1] = create_worker( "tock " );
    if (!threads[0] || !threads[1])
    {
        printf( "cannot create a worker, error %lu\n", GetLastError() );
        return 1;
    }

    info.UmsVersion = UMS_VERSION;
    info.CompletionList = list;
    info.SchedulerProc = scheduler_proc;
    info.SchedulerParam = NULL;
    if (!EnterUmsSchedulingMode( &info ))
    {
        printf( "cannot enter scheduling mode, error %lu\n", GetLastError() );
        return 1;
    }

    WaitForMultipleObjects( 2, threads, TRUE, INFINITE );
    CloseHandle( threads[0] );
    CloseHandle( threads[1] );
    DeleteUmsCompletionList( list );
    printf( "%s\nboth workers ended, scheduling mode is left\n", said );
    return 0;
}
