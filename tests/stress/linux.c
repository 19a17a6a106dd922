/*
 * What only the host's kernel can tell.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "linux/linux.h"
#include "linux.h"

struct dirent64
{
    unsigned long long ino;
    long long off;
    unsigned short length;
    unsigned char type;
    char name[1];
};

static int open_proc( int pid, const char *file )
{
    char path[64];

    if (pid) snprintf( path, sizeof(path), "/proc/%d/%s", pid, file );
    else snprintf( path, sizeof(path), "/proc/self/%s", file );
    return (int)linux_call( LINUX_OPEN, (uintptr_t)path, 0, 0, 0 );
}

int linux_open_files( int pid )
{
    int dir = open_proc( pid, "fd" ), count = 0;
    char buffer[4096];
    long long got, at;

    if (dir < 0) return -1;
    while ((got = linux_call( LINUX_GETDENTS64, dir, (uintptr_t)buffer, sizeof(buffer), 0 )) > 0)
        for (at = 0; at < got; at += ((struct dirent64 *)(buffer + at))->length)
            if (((struct dirent64 *)(buffer + at))->name[0] != '.') count++;
    linux_call( LINUX_CLOSE, dir, 0, 0, 0 );
    return pid ? count : count - 1;             /* but for the directory itself */
}

int linux_mappings( int pid )
{
    int file = open_proc( pid, "maps" ), count = 0;
    char buffer[4096];
    long long got, i;

    if (file < 0) return -1;
    while ((got = linux_call( LINUX_READ, file, (uintptr_t)buffer, sizeof(buffer), 0 )) > 0)
        for (i = 0; i < got; i++) count += buffer[i] == '\n';
    linux_call( LINUX_CLOSE, file, 0, 0, 0 );
    return count;
}

static int read_proc( int pid, const char *name, char *buffer, int size )
{
    int file = open_proc( pid, name );
    long long got;

    if (file < 0) return 0;
    got = linux_call( LINUX_READ, file, (uintptr_t)buffer, size - 1, 0 );
    linux_call( LINUX_CLOSE, file, 0, 0, 0 );
    buffer[got > 0 ? got : 0] = 0;
    return got > 0;
}

long long linux_status( int pid, const char *name )
{
    char buffer[4096], *line;

    if (!read_proc( pid, "status", buffer, sizeof(buffer) )) return -1;
    if (!(line = strstr( buffer, name ))) return -1;
    return strtoll( line + strlen( name ), NULL, 10 );
}

/* WINEPREFIX as the process was started with, or an empty string. 0 if nobody may know. */
static int prefix_of( int pid, char *prefix, int size )
{
    static char buffer[65536];
    int file = open_proc( pid, "environ" );
    long long got = 0, more;
    char *at;

    if (file < 0) return 0;
    while (got < (int)sizeof(buffer) - 1 &&
           (more = linux_call( LINUX_READ, file, (uintptr_t)buffer + got, sizeof(buffer) - 1 - got,
                               0 )) > 0) got += more;
    linux_call( LINUX_CLOSE, file, 0, 0, 0 );
    buffer[got] = 0;
    *prefix = 0;
    for (at = buffer; at < buffer + got; at += strlen( at ) + 1)
        if (!strncmp( at, "WINEPREFIX=", 11 )) snprintf( prefix, size, "%s", at + 11 );
    return got > 0;
}

/* The one that was started for the same prefix. */
int linux_server_pid( void )
{
    char name[64], own[512], other[512], buffer[4096];
    long long got, at;
    int dir, pid, found = 0;

    if (!prefix_of( 0, own, sizeof(own) )) return 0;
    if ((dir = (int)linux_call( LINUX_OPEN, (uintptr_t)"/proc", 0, 0, 0 )) < 0) return 0;
    while ((got = linux_call( LINUX_GETDENTS64, dir, (uintptr_t)buffer, sizeof(buffer), 0 )) > 0)
        for (at = 0; at < got; at += ((struct dirent64 *)(buffer + at))->length)
            if ((pid = atoi( ((struct dirent64 *)(buffer + at))->name )) > 0 &&
                read_proc( pid, "comm", name, sizeof(name) ) &&
                !strncmp( name, "wineserver", 10 ) &&
                prefix_of( pid, other, sizeof(other) ) && !strcmp( own, other )) found = pid;
    linux_call( LINUX_CLOSE, dir, 0, 0, 0 );
    return found;
}
