/*
 * A worker's thread ends, and nobody in the process has ended it: its scheduler has to get control
 * back. Without an argument the worker uses up its stack, and nobody handles that. Wine ends such a
 * thread without a call of Windows (Windows ends the process). "outside": another process ends it,
 * this program with the id of the thread as its argument. "local": the same, while the worker waits for
 * an event that only this process knows; the dead take no signal.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "two_workers.h"
#include <stdlib.h>
#include <string.h>

static int outside;
static HANDLE event;                            /* NULL: not "local" */

static int __attribute__((noinline)) deeper( volatile char *above )
{
    volatile char here[1024];

    here[0] = above[0];
    return above[0] ? 0 : deeper( here ) + here[0];
}

static DWORD WINAPI overflows( void *arg )
{
    volatile char start[16] = { 0 };

    (void)arg;
    inside = 1;
    Sleep( 1 );
    return deeper( start );
}

static DWORD WINAPI sleeps( void *arg )
{
    (void)arg;
    inside = 1;
    Sleep( INFINITE );
    return 0;
}

/* The first wait with a time-out is its thread's: there is no timer yet. */
static DWORD WINAPI waits_for_event( void *arg )
{
    (void)arg;
    inside = 1;
    WaitForSingleObject( event, 10 * LIMIT );
    return 0;
}

static int kill_thread( DWORD tid )
{
    HANDLE thread = OpenThread( THREAD_TERMINATE, FALSE, tid );

    return !thread || !TerminateThread( thread, 1 );
}

static void kill_from_outside( HANDLE thread )
{
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    DWORD code = 99;
    char line[MAX_PATH + 32], own[MAX_PATH];

    GetModuleFileNameA( NULL, own, sizeof(own) );
    snprintf( line, sizeof(line), "\"%s\" %lu", own, (unsigned long)GetThreadId( thread ) );
    ok( CreateProcessA( NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &info ),
        "no process, error %lu", GetLastError() );
    WaitForSingleObject( info.hProcess, LIMIT );
    GetExitCodeProcess( info.hProcess, &code );
    ok( code == 0, "not killed: %lu", code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
}

/* Until the other one is seen terminated. It is ended when it waits, not before it has begun: a worker that
   was never queued is not missed (docs/foreign.md). */
static DWORD WINAPI waits_for_it( void *arg )
{
    BOOLEAN is_ended = 0;

    (void)arg;
    while (outside && !inside) pUmsThreadYield( NULL );
    if (outside) kill_from_outside( threads[0] );
    while (!is_ended)
    {
        if (outside) Sleep( 10 );
        pQueryUmsThreadInformation( contexts[0], UmsThreadIsTerminated, &is_ended, 1, NULL );
        pUmsThreadYield( NULL );
    }
    seen_inside = inside;
    inside = 2;                                 /* the other one will not say so */
    return 0;
}

static void check_event( void )
{
    ok( SetEvent( event ), "not set, error %lu", GetLastError() );
    ok( !WaitForSingleObject( event, 0 ), "the dead thread took the signal" );
    CloseHandle( event );
}

static void nothing( void )
{
}

int main( int argc, char **argv )
{
    int local = argc > 1 && !strcmp( argv[1], "local" );

    outside = local || (argc > 1 && !strcmp( argv[1], "outside" ));
    if (argc > 1 && !outside) return kill_thread( atoi( argv[1] ) );
    load_shim();
    SetErrorMode( SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX );
    if (local) event = CreateEventA( NULL, FALSE, FALSE, NULL );
    run_round( local ? waits_for_event : outside ? sleeps : overflows, NULL, waits_for_it, nothing );
    ok( ended == 2, "%ld workers have ended", ended );
    if (ended == 2) end_round();
    if (local && ended == 2) check_event();
    fflush( stdout );
    return test_end();
}
