/*
 * engine: says what the shim says of itself (UMS_ACTIVE), then runs one worker and says where it
 * ran: on the thread of its scheduler, or at home on its own.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <ums.h>

#include "linux/linux.h"
#include "test.h"

#define YIELDS 20

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT ready;
static LONG scheduler_thread, carried, home, upcalls;
static BOOLEAN ended;

/* Linux' id of the thread that runs this code: Windows' is the worker's, wherever it runs. */
static LONG linux_thread( void )
{
    return (LONG)linux_call( LINUX_GETTID, 0, 0, 0, 0 );
}

static DWORD WINAPI worker( void *event )
{
    int i;

    for (i = 0; i < YIELDS; i++)
    {
        UmsThreadYield( NULL );
        if (linux_thread() == scheduler_thread) carried++;
        else home++;
        SetEvent( event );                      /* a call that changes nothing of that */
        if (i % 4 == 3) Sleep( 1 );             /* and one that does */
    }
    return 0;
}

static void collect( void )
{
    PUMS_CONTEXT context;

    if (!DequeueUmsCompletionListItems( list, ready ? 0 : 10000, &context ) || !context) return;
    ready = context;
    QueryUmsThreadInformation( ready, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
}

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context;

    (void)param;
    if (reason == UmsSchedulerThreadYield)
    {
        ready = (PUMS_CONTEXT)payload;
        upcalls++;
    }
    while (!ended)
    {
        collect();
        if (ended || !(context = ready)) return;
        ready = NULL;
        ExecuteUmsThread( context );
        ready = context;
    }
}

static HANDLE create_worker( HANDLE event )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = sizeof(buffer);

    if (!CreateUmsThreadContext( &ums.UmsContext )) return NULL;
    InitializeProcThreadAttributeList( attributes, 1, 0, &size );
    UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD,
                               &ums, sizeof(ums), NULL, NULL );
    return CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, worker, event, 0, attributes, NULL );
}

int main( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, scheduler, NULL };
    char active[256] = "";

    GetEnvironmentVariableA( "UMS_ACTIVE", active, sizeof(active) );
    ok( CreateUmsCompletionList( &list ), "no list, error %lu", GetLastError() );
    info.CompletionList = list;
    scheduler_thread = linux_thread();
    ok( create_worker( CreateEventA( NULL, TRUE, FALSE, NULL ) ) != NULL, "no worker, error %lu",
        GetLastError() );
    ok( EnterUmsSchedulingMode( &info ), "not entered, error %lu", GetLastError() );
    ok( ended && upcalls == YIELDS && carried + home == YIELDS,
        "%ld yields, %ld times carried, %ld at home; ended: %d", upcalls, carried, home, ended );
    printf( "%s, %s\n", active, carried == YIELDS ? "carried" : home == YIELDS ? "at home" : "both" );
    return test_failures != 0;
}
