/*
 * Preloaded into a process: when it writes to a file whose name ends with $CRASH_AT, half of that is
 * written, and the process is gone ($CRASH_HOW=die) or is told that the disk is full (full). What is
 * written and what is flushed stands in the file $CRASH_LOG, in this order.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *name_of( int fd, char path[4096] )
{
    char link[40];
    ssize_t len;

    snprintf( link, sizeof(link), "/proc/self/fd/%d", fd );
    len = readlink( link, path, 4095 );
    path[len < 0 ? 0 : len] = 0;
    return path;
}

static void tell( const char *what, int fd )
{
    const char *log = getenv( "CRASH_LOG" );
    char path[4096], line[4200];
    int out = log ? open( log, O_WRONLY | O_APPEND | O_CREAT, 0666 ) : -1;

    if (out < 0) return;
    snprintf( line, sizeof(line), "%s %s\n", what, name_of( fd, path ) );
    syscall( SYS_write, out, line, strlen( line ) );
    close( out );
}

/* the first such write only: what is done about a full disk is not hindered */
static int is_it( int fd )
{
    static int seen;
    const char *end = getenv( "CRASH_AT" );
    char path[4096];
    size_t len = strlen( name_of( fd, path ) );

    tell( "write", fd );
    if (!end || seen || len < strlen( end )) return 0;
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

int fsync( int fd )
{
    tell( "fsync", fd );
    return syscall( SYS_fsync, fd );
}
