/*
 * Two workers and one scheduler, the shim's functions taken from its DLL: the first worker sleeps
 * in the kernel, and only the second one can end that. If the scheduler is not told, the second one
 * never runs, and the main thread ends the round.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_LINUX_TWO_WORKERS_H
#define TESTS_LINUX_TWO_WORKERS_H

#include <windows.h>
#include <ums.h>
#include "private/exports.h"
#include "../inject/test.h"

#define LIMIT 120000                    /* ms, of a round, with the start of a process */

#define X( ret, name, args ) static ret (WINAPI *p##name) args;
UMS_KERNEL32_EXPORTS( X )
UMS_KERNEL32_DOORS( X )
#undef X

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT ready[2], contexts[2];
static HANDLE threads[2];
static int current;
static volatile LONG inside;            /* the first worker: 1 before, 2 after it slept */
static volatile LONG seen_inside;       /* that, when the second one ended it */
static volatile LONG blocked, ended;
static volatile ULONG_PTR payload;      /* of the last Blocked upcall for the first worker inside */

static void load_shim( void )
{
    HMODULE module = LoadLibraryA( "kernel32_ums.dll" );

#define X( ret, name, args ) p##name = (void *)GetProcAddress( module, #name );
    UMS_KERNEL32_EXPORTS( X )
    UMS_KERNEL32_DOORS( X )
#undef X
    ok( pCreateUmsCompletionList( &list ), "no list, error %lu", GetLastError() );
}

/* ---- the scheduler: in turn ---- */

static void collect( DWORD timeout )
{
    PUMS_CONTEXT context, next;

    if (!pDequeueUmsCompletionListItems( list, timeout, &context )) return;
    for (; context; context = next)
    {
        BOOLEAN is_ended = 0;
        int i = context == contexts[1];

        next = pGetNextUmsListItem( context );
        pQueryUmsThreadInformation( context, UmsThreadIsTerminated, &is_ended, 1, NULL );
        if (is_ended) ended++;
        else ready[i] = context;
    }
}

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR upcall_payload,
                             void *param )
{
    (void)param;
    /* a thread that starts has locks of Wine's Unix side, for which the other worker would sleep */
    while (reason == UmsSchedulerStartup && !(ready[0] && ready[1])) collect( INFINITE );
    if (reason == UmsSchedulerThreadBlocked && current == 0 && inside == 1)
    {
        payload = upcall_payload;
        blocked++;
    }
    if (reason == UmsSchedulerThreadYield) ready[current] = (PUMS_CONTEXT)upcall_payload;
    while (ended < 2)
    {
        collect( ready[0] || ready[1] ? 0 : INFINITE );
        current = !current;
        if (ready[current])
        {
            PUMS_CONTEXT context = ready[current];

            ready[current] = NULL;
            pExecuteUmsThread( context );
            ready[current] = context;
        }
    }
}

static void create_worker( int i, LPTHREAD_START_ROUTINE start, void *arg )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = sizeof(buffer);

    pCreateUmsThreadContext( &ums.UmsContext );
    contexts[i] = ums.UmsContext;
    pInitializeProcThreadAttributeList( attributes, 1, 0, &size );
    pUpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums),
                                NULL, NULL );
    threads[i] = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, start, arg, 0, attributes,
                                        NULL );
    ok( threads[i] != NULL, "no worker, error %lu", GetLastError() );
}

static DWORD WINAPI scheduler_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, scheduler, NULL };

    (void)arg;
    return pEnterUmsSchedulingMode( &info );
}

/* sleeper, waker: the workers; arg is the first one's. give_up: what the second one would do. */
static inline void run_round( LPTHREAD_START_ROUTINE sleeper, void *arg, LPTHREAD_START_ROUTINE waker,
                              void (*give_up)( void ) )
{
    HANDLE thread;

    inside = seen_inside = blocked = ended = 0;
    payload = 99;
    create_worker( 0, sleeper, arg );
    create_worker( 1, waker, NULL );
    thread = CreateThread( NULL, 0, scheduler_thread, NULL, 0, NULL );
    if (WaitForSingleObject( thread, LIMIT ))
    {
        give_up();
        ok( 0, "the scheduler was not told that its worker sleeps (%ld)", inside );
        WaitForSingleObject( thread, LIMIT );
    }
    ok( seen_inside == 1, "the other one came when the first one was at %ld", seen_inside );
    ok( blocked >= 1, "no Blocked upcall" );
    ok( inside == 2, "the first one did not come back" );
    CloseHandle( thread );
}

static void end_round( void )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        WaitForSingleObject( threads[i], LIMIT );
        CloseHandle( threads[i] );
        ok( pDeleteUmsThreadContext( contexts[i] ), "not deleted, error %lu", GetLastError() );
    }
}

#endif /* TESTS_LINUX_TWO_WORKERS_H */
