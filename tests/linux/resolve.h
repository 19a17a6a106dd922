/*
 * A name that is resolved for as long as a test likes: a call into Wine's Unix side that sleeps.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HOSTALIASES names a FIFO, which the C library opens before it asks for a name without dots, and
 * waits there for somebody to write into it. That is the other worker. It cannot begin too early,
 * because opening a FIFO to write, without waiting, fails while nobody reads. No server is asked:
 * the alias has a part that is too long for one.
 */
#ifndef TESTS_LINUX_RESOLVE_H
#define TESTS_LINUX_RESOLVE_H

#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <string.h>
#include "linux.h"

#define ALIAS \
    "umsname an-alias-with-a-part-of-more-than-sixty-three-characters-is-not-asked-for.x\n"

static const char *fifo;
static int (WINAPI *resolve)( const char *, const char *, const struct addrinfo *,
                              struct addrinfo ** );

/* Less than 0 without LINUX_O_RDWR: nobody resolves. Whoever does goes on when the alias is there. */
static int64_t open_alias( int flags )
{
    return linux_call( LINUX_OPEN, (uint64_t)fifo, flags, 0, 0 );
}

static void end_alias( int64_t fd )
{
    linux_call( LINUX_WRITE, fd, (uint64_t)ALIAS, sizeof(ALIAS) - 1, 0 );
    linux_call( LINUX_CLOSE, fd, 0, 0, 0 );
}

static inline int write_alias( int flags )
{
    int64_t fd = open_alias( flags );

    if (fd >= 0) end_alias( fd );
    return fd >= 0;
}

static void load_sockets( void )
{
    HMODULE module = LoadLibraryA( "ws2_32.dll" );
    int (WINAPI *startup)( WORD, WSADATA * ) = (void *)GetProcAddress( module, "WSAStartup" );
    WSADATA data;

    startup( 0x202, &data );
    resolve = (void *)GetProcAddress( module, "getaddrinfo" );
}

#endif /* TESTS_LINUX_RESOLVE_H */
