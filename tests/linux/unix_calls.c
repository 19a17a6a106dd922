/*
 * unix_calls early|late FIFO ROUNDS: a worker resolves a name, another one of the same
 * scheduler must run meanwhile.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HOSTALIASES names a FIFO, which the C library opens before it asks for a name without dots, and
 * waits there for somebody to write into it. That is the other worker. It cannot begin too early,
 * because opening a FIFO to write, without waiting, fails while nobody reads. No server is asked:
 * the alias has a part that is too long for one.
 *
 * early, late: ws2_32 is loaded before the shim, or after. In every second round the worker has
 * left another call before, by longjmp out of an APC.
 */
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <ums.h>
#include <stdlib.h>
#include <string.h>

#include "linux.h"
#include "two_workers.h"

#define ALIAS \
    "umsname an-alias-with-a-part-of-more-than-sixty-three-characters-is-not-asked-for.x\n"

static const char *fifo;
static int (WINAPI *resolve)( const char *, const char *, const struct addrinfo *,
                              struct addrinfo ** );
static volatile LONG result;
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
    return 0;
}

static void give_up( void )
{
    write_alias( LINUX_O_RDWR );
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
    if (!resolve) load_sockets();
    while (rounds-- && !test_failures)
    {
        run_round( resolver, rounds & 1 ? contexts : NULL, writer, give_up );
        end_round();
        ok( payload == 1, "payload %lu for a call", (DWORD)payload );
        ok( result, "the name was resolved" );
        if (test_failures && (rounds & 1)) printf( "it had left a call before\n" );
    }
    return test_end();
}
