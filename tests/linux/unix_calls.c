/*
 * unix_calls early|late FIFO ROUNDS: a worker resolves a name, another one of the same
 * scheduler must run meanwhile.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HOSTALIASES names a FIFO, which the C library opens before it asks for a name without dots, and
 * waits there for somebody to write into it. That is the other worker. It cannot begin too early,
 * because opening a FIFO to write, without waiting, fails while nobody reads. If the first worker's
 * scheduler is not told that it blocks, the other one never runs, and the main thread ends it. No
 * server is asked: the alias has a part that is too long for one.
 *
 * early, late: ws2_32 is loaded before the shim, or after. In every second round the worker has left
 * another call before, by longjmp out of an APC.
 */
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <ums.h>
#include <stdlib.h>
#include <string.h>

#include "../inject/test.h"
#include "linux.h"
#include "shim.h"

#define LIMIT 20000                     /* ms, of a round */
#define ALIAS "umsname an-alias-with-a-part-of-more-than-sixty-three-characters-is-not-asked-for.x\n"

static const char *fifo;
static int (WINAPI *resolve)( const char *, const char *, const struct addrinfo *,
                              struct addrinfo ** );
static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT ready[2], contexts[2];
static HANDLE threads[2];
static int current;
static volatile LONG inside, seen_inside, result, blocked, ended, written;
static void *out_of_apc[5];

static void NTAPI apc( ULONG_PTR arg )
{
    (void)arg;
    __builtin_longjmp( out_of_apc, 1 );
}

/* The frames that are left must lie below those of the next call. */
static __attribute__((noinline)) void leave_a_call( void )
{
    char volatile deep[0x8000];

    deep[0] = deep[sizeof(deep) - 1] = 0;
    QueueUserAPC( apc, GetCurrentThread(), 0 );
    if (!__builtin_setjmp( out_of_apc )) SleepEx( 0, TRUE );
}

static DWORD WINAPI resolver( void *arg )
{
    struct addrinfo *info = NULL;

    if (arg) leave_a_call();
    inside = 1;
    result = resolve( "umsname", NULL, NULL, &info );
    inside = 2;
    return 0;
}

static int write_alias( int flags )
{
    int64_t fd = linux_call( LINUX_OPEN, (uint64_t)fifo, flags, 0 );

    if (fd < 0) return 0;
    linux_call( LINUX_WRITE, fd, (uint64_t)ALIAS, sizeof(ALIAS) - 1 );
    linux_call( LINUX_CLOSE, fd, 0, 0 );
    return 1;
}

static DWORD WINAPI writer( void *arg )
{
    (void)arg;
    while (!write_alias( LINUX_O_WRONLY | LINUX_O_NONBLOCK )) pUmsThreadYield( NULL );
    seen_inside = inside;
    written = 1;
    return 0;
}

/* ---- a scheduler: first come, first served ---- */

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

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    (void)param;
    if (reason == UmsSchedulerThreadBlocked && current == 0 && inside == 1) blocked++;
    if (reason == UmsSchedulerThreadYield) ready[current] = (PUMS_CONTEXT)payload;
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

static void one_round( int longjmp_before )
{
    HANDLE thread;
    int i;

    inside = seen_inside = blocked = ended = written = 0;
    create_worker( 0, resolver, longjmp_before ? contexts : NULL );
    create_worker( 1, writer, NULL );
    thread = CreateThread( NULL, 0, scheduler_thread, NULL, 0, NULL );
    if (WaitForSingleObject( thread, LIMIT ))
    {
        write_alias( LINUX_O_RDWR );
        ok( 0, "the scheduler has not been told that its worker blocks%s",
            longjmp_before ? ", which has left a call before" : "" );
        WaitForSingleObject( thread, LIMIT );
    }
    ok( written && seen_inside == 1, "written: %ld, when the other one was at %ld", written,
        seen_inside );
    ok( blocked >= 1, "no Blocked upcall" );
    ok( inside == 2 && result, "the name was resolved: %ld, %ld", inside, result );
    CloseHandle( thread );
    for (i = 0; i < 2; i++)
    {
        WaitForSingleObject( threads[i], LIMIT );
        CloseHandle( threads[i] );
        pDeleteUmsThreadContext( contexts[i] );
    }
}

static void load_sockets( void )
{
    HMODULE module = LoadLibraryA( "ws2_32.dll" );
    int (WINAPI *startup)( WORD, WSADATA * ) = (void *)GetProcAddress( module, "WSAStartup" );
    WSADATA data;

    startup( 0x202, &data );
    resolve = (void *)GetProcAddress( module, "getaddrinfo" );
}

int main( int argc, char **argv )
{
    int rounds = argc > 3 ? atoi( argv[3] ) : 1;

    if (argc < 3) return 2;
    fifo = argv[2];
    if (!strcmp( argv[1], "early" )) load_sockets();
    load_shim();
    ok( pCreateUmsCompletionList( &list ), "no list, error %lu", GetLastError() );
    if (!resolve) load_sockets();
    while (rounds-- && !test_failures) one_round( rounds & 1 );
    return test_end();
}
