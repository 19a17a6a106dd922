/*
 * Preloaded into a process: when it writes to a file whose name ends with $CRASH_AT, half of that is
 * written, and the process is gone ($CRASH_HOW=die) or is told that the disk is full (full).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* the first such write only: what is done about a full disk is not hindered */
static int is_it( int fd )
{
    static int seen;
    const char *end = getenv( "CRASH_AT" );
    char link[40], path[4096];
    ssize_t len;

    if (!end || seen) return 0;
    snprintf( link, sizeof(link), "/proc/self/fd/%d", fd );
    len = readlink( link, path, sizeof(path) - 1 );
    if (len < (ssize_t)strlen( end )) return 0;
    path[len] = 0;
    return seen = !strcmp( path + len - strlen( end ), end );
}

static ssize_t crash( void )
{
    if (!strcmp( getenv( "CRASH_HOW" ), "die" )) _exit( 9 );
    errno = ENOSPC;
    return -1;
}

ssize_t write( int fd, const void *data, size_t size )
{
    int it = is_it( fd );
    ssize_t ret = syscall( SYS_write, fd, data, it ? size / 2 : size );

    return it ? crash() : ret;
}

ssize_t pwrite64( int fd, const void *data, size_t size, off_t at )
{
    int it = is_it( fd );
    ssize_t ret = syscall( SYS_pwrite64, fd, data, it ? size / 2 : size, at );

    return it ? crash() : ret;
}
