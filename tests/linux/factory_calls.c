/*
 * factory_calls early|late FIFO ROUNDS: a worker of a factory resolves a name. The port lets one run:
 * another one must get the next packet meanwhile. One that is killed in there ends.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * early, late: ws2_32 is loaded before the shim, or after.
 */
#include "resolve.h"
#include <stdlib.h>
#include "workerfactory.h"
#include "private/exports.h"
#include "../inject/test.h"

#define LIMIT 20000                     /* ms */

enum { RESOLVE = 1, WRITE, TELL };      /* packets */

#define X( ret, name, args ) static ret (WINAPI *p##name) args;
UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X

static HANDLE port, factory, done, resolver;
static volatile LONG inside, seen_inside;

static void load_shim( void )
{
    HMODULE module;

    LoadLibraryA( "kernel32_ums.dll" );
    module = GetModuleHandleA( "ntdll_ums.dll" );
#define X( ret, name, args ) p##name = (void *)GetProcAddress( module, #name );
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
}

static void work( ULONG_PTR what )
{
    ULONGLONG limit = GetTickCount64() + LIMIT;
    struct addrinfo *info = NULL;

    if (what == RESOLVE)
    {
        resolver = OpenThread( THREAD_ALL_ACCESS, FALSE, GetCurrentThreadId() );
        inside = 1;
        resolve( "umsname", NULL, NULL, &info );
        inside = 2;
        return;
    }
    /* what it does before may be slow, and count too */
    while (!inside && GetTickCount64() < limit) SwitchToThread();
    seen_inside = inside;
    if (what == WRITE)
        while (!write_alias( LINUX_O_WRONLY | LINUX_O_NONBLOCK ) && inside == 1 &&
               GetTickCount64() < limit) Sleep( 1 );
    SetEvent( done );
}

static void NTAPI worker( void *arg )
{
    FILE_IO_COMPLETION_INFORMATION packet;
    ULONG count;

    (void)arg;
    pNtWorkerFactoryWorkerReady( factory );
    while (!pNtWaitForWorkViaWorkerFactory( factory, &packet, 1, &count, NULL ))
        work( (ULONG_PTR)packet.KeyContext );
}

static void open_factory( void )
{
    ULONG two = 2;

    done = CreateEventW( NULL, FALSE, FALSE, NULL );
    port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
    ok( !pNtCreateWorkerFactory( &factory, WORKER_FACTORY_ALL_ACCESS, NULL, port,
                                 GetCurrentProcess(), (void *)worker, NULL, 4, 0, 0 ), "no factory" );
    ok( !pNtSetInformationWorkerFactory( factory, WorkerFactoryThreadMinimum, &two, sizeof(two) ),
        "no workers" );
}

static void close_factory( void )
{
    volatile LONG pending;

    pNtShutdownWorkerFactory( factory, &pending );
    CloseHandle( factory );
    CloseHandle( port );
    CloseHandle( done );
}

/* One resolves, and another one does that meanwhile. */
static void run( ULONG_PTR what )
{
    inside = seen_inside = 0;
    resolver = NULL;
    PostQueuedCompletionStatus( port, 0, RESOLVE, NULL );
    PostQueuedCompletionStatus( port, 0, what, NULL );
    if (WaitForSingleObject( done, LIMIT ))
    {
        ok( 0, "nobody came while one was in a Unix call (%ld)", inside );
        write_alias( LINUX_O_RDWR );
    }
    ok( seen_inside == 1, "the other one came when the first one was at %ld", seen_inside );
}

/* Or it would say so in the next round. */
static void wait_until_out( void )
{
    ULONGLONG limit = GetTickCount64() + LIMIT;

    while (inside != 2 && GetTickCount64() < limit) SwitchToThread();
    ok( inside == 2, "the name is not resolved" );
}

/* It is in there: another one would not have come otherwise. Nobody writes. */
static void run_killed( void )
{
    run( TELL );
    ok( TerminateThread( resolver, 3 ), "it cannot be killed, error %lu", GetLastError() );
    ok( inside == 1, "killing waited for the call" );
    ok( !WaitForSingleObject( resolver, LIMIT ), "it has not ended" );
    CloseHandle( resolver );
}

/* The killed thread is still leaving the C library, and that takes its time. Wine's own end of a process
   meanwhile may crash, or take that thread's exit status for the process' (docs/wine.md). */
static int end_now( int status )
{
    fflush( stdout );
    linux_call( LINUX_EXIT_GROUP, status, 0, 0, 0 );
    return status;
}

int main( int argc, char **argv )
{
    int rounds = argc > 3 ? atoi( argv[3] ) : 1;

    if (argc < 3) return 2;
    fifo = argv[2];
    if (!strcmp( argv[1], "early" )) load_sockets();
    load_shim();
    if (!resolve) load_sockets();
    open_factory();
    while (rounds-- && !test_failures)
    {
        run( WRITE );
        wait_until_out();
        CloseHandle( resolver );
    }
    run_killed();
    close_factory();
    return end_now( test_end() );
}
