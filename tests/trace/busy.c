/*
 * A program that stays as it is: two schedulers whose workers run, three workers that wait (two for
 * an event, one for an address), four that are ready and two that are suspended. It says its id and
 * goes on until there is a line on standard input; then it ends with 5. To be run with
 * UMS_GRACE_US=1000000000. With an argument its only thread runs a worker that sleeps for a moment, then it ends with 6.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include "ums.h"
#include "spawn.h"

#define SCHEDULERS 2
#define WAITING    3
#define READY      4
#define SUSPENDED  2
#define ALL        (SCHEDULERS + WAITING + READY + SUSPENDED)

static PUMS_COMPLETION_LIST lists[SCHEDULERS];
static PUMS_CONTEXT contexts[ALL];
static HANDLE threads[ALL];
static HANDLE never;
static HANDLE pipe;
static volatile LONG busy;

/* In a call that may block, and with a grace period without end it is not said to: so it runs, and
   takes no time from others. */
static DWORD WINAPI reads( void *arg )
{
    DWORD size;
    char c;

    (void)arg;
    InterlockedIncrement( &busy );
    return ReadFile( pipe, &c, 1, &size, NULL );
}

static DWORD WINAPI waits( void *arg )
{
    (void)arg;
    return WaitForSingleObject( never, INFINITE );
}

/* that nobody changes */
static DWORD WINAPI waits_on_address( void *arg )
{
    static LONG nothing;
    LONG none = 0;

    (void)arg;
    while (!nothing) WaitOnAddress( &nothing, &none, sizeof(none), INFINITE );
    return 0;
}

static DWORD WINAPI is_never_run( void *arg )
{
    (void)arg;
    return 0;
}

/* The first list's scheduler executes those that wait, and then the one that runs; the other one
   has but one that runs. */
static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    static PUMS_CONTEXT mine[SCHEDULERS][ALL];
    static unsigned int count[SCHEDULERS], next[SCHEDULERS];
    static DWORD self = TLS_OUT_OF_INDEXES;
    static LONG made;
    unsigned int number;
    PUMS_CONTEXT context;

    (void)payload;
    if (reason == UmsSchedulerStartup)
    {
        number = (unsigned int)(ULONG_PTR)param;
        if (!number)
        {
            self = TlsAlloc();
            InterlockedExchange( &made, 1 );
        }
        while (!InterlockedCompareExchange( &made, 1, 1 )) Sleep( 1 );
        TlsSetValue( self, (void *)(ULONG_PTR)number );
        while (count[number] < (number ? 1 : 1 + WAITING))
        {
            DequeueUmsCompletionListItems( lists[number], INFINITE, &context );
            for (; context; context = GetNextUmsListItem( context ), count[number]++)
            {
                if (context == contexts[ALL - SCHEDULERS]) mine[0][WAITING] = context;
                else mine[number][next[number]++] = context;
            }
        }
        next[number] = 0;
    }
    number = (unsigned int)(ULONG_PTR)TlsGetValue( self );
    ExecuteUmsThread( mine[number][next[number]++] );
}

static DWORD WINAPI scheduler_thread( void *number )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, lists[(ULONG_PTR)number], scheduler_proc, number };

    EnterUmsSchedulingMode( &info );
    return 1;
}

static BOOL spawn( unsigned int i, PUMS_COMPLETION_LIST list, LPTHREAD_START_ROUTINE proc )
{
    return (threads[i] = spawn_ums_worker( list, proc, NULL, NULL, &contexts[i] )) != NULL;
}

/* ---- with an argument ---- */

/* So the timer of the shim runs, and ends with the program's last thread. */
static DWORD WINAPI sleeps( void *arg )
{
    (void)arg;
    Sleep( 1 );
    return 0;
}

static void NTAPI last_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    BOOLEAN ended = FALSE;
    PUMS_CONTEXT context;

    (void)reason; (void)payload; (void)param;
    while (DequeueUmsCompletionListItems( lists[0], INFINITE, &context ))
    {
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (ended) ExitThread( 6 );
        ExecuteUmsThread( context );
    }
}

static int end_alone( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, last_proc, NULL };

    if (!CreateUmsCompletionList( &lists[0] ) || !spawn( 0, lists[0], sleeps )) return 1;
    info.CompletionList = lists[0];
    EnterUmsSchedulingMode( &info );
    return 1;
}

int main( int argc, char **argv )
{
    PUMS_COMPLETION_LIST list;
    HANDLE other_end;
    unsigned int i, n = 0;

    (void)argv;
    if (argc > 1) return end_alone();
    CreatePipe( &pipe, &other_end, NULL, 0 );
    never = CreateEventW( NULL, TRUE, FALSE, NULL );
    for (i = 0; i < SCHEDULERS; i++) if (!CreateUmsCompletionList( &lists[i] )) return 1;
    if (!CreateUmsCompletionList( &list )) return 1;
    for (i = 0; i < WAITING; i++) if (!spawn( n++, lists[0], i ? waits : waits_on_address )) return 1;
    for (i = 0; i < READY + SUSPENDED; i++) if (!spawn( n++, list, is_never_run )) return 1;
    for (i = 0; i < SUSPENDED; i++) SuspendThread( threads[WAITING + i] );
    for (i = 0; i < SCHEDULERS; i++) if (!spawn( n++, lists[i], reads )) return 1;
    for (i = 0; i < SCHEDULERS; i++)
        CloseHandle( CreateThread( NULL, 0, scheduler_thread, (void *)(ULONG_PTR)i, 0, NULL ));
    while (busy < SCHEDULERS) Sleep( 1 );
    printf( "process %lu\n", GetCurrentProcessId() );
    fflush( stdout );
    getchar();
    ExitProcess( 5 );
}
