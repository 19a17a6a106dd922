/*
 * awake ROUNDS: a worker that works in the kernel is not blocked, however long that takes; one that
 * sleeps there is.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * On a busy machine a worker's thread waits for its turn in the middle of a call, and may hold a lock
 * that its SchedulerProc wants. Here the thread has something to do for longer than the grace period:
 * Linux fills a large buffer, which is in memory already, with zeros. Nothing makes it sleep.
 */
#include <windows.h>
#include <stdlib.h>
#include <string.h>

#include "two_workers.h"

#define SIZE 0x8000000                          /* 128 MB: 10 ms and more */

static char *memory;
static HANDLE file, pipe_read, pipe_write;
static volatile LONG got;

static DWORD WINAPI reader( void *arg )
{
    DWORD count = 0;

    (void)arg;
    inside = 1;
    if (ReadFile( file, memory, SIZE, &count, NULL )) got = (LONG)count;
    inside = 2;
    return 0;
}

static DWORD WINAPI sleeper( void *arg )
{
    DWORD count = 0;
    char c;

    (void)arg;
    inside = 1;
    if (ReadFile( pipe_read, &c, 1, &count, NULL )) got = (LONG)count;
    inside = 2;
    return 0;
}

static void write_pipe( void )
{
    DWORD count;

    WriteFile( pipe_write, "x", 1, &count, NULL );
}

static DWORD WINAPI nobody( void *arg )
{
    (void)arg;
    return 0;
}

static DWORD WINAPI waker( void *arg )
{
    (void)arg;
    while (!inside) pUmsThreadYield( NULL );
    seen_inside = inside;
    write_pipe();
    return 0;
}

static void one_round( void )
{
    HANDLE thread;

    got = inside = seen_inside = blocked = ended = 0;
    create_worker( 0, reader, NULL );
    create_worker( 1, nobody, NULL );
    thread = CreateThread( NULL, 0, scheduler_thread, NULL, 0, NULL );
    ok( !WaitForSingleObject( thread, LIMIT ), "the scheduler did not end" );
    ok( got == SIZE, "%ld bytes of %d", got, SIZE );
    ok( !blocked, "%ld Blocked upcalls for a thread that was at work", blocked );
    CloseHandle( thread );
    end_round();

    got = 0;
    CreatePipe( &pipe_read, &pipe_write, NULL, 0 );
    run_round( sleeper, NULL, waker, write_pipe );
    ok( got == 1, "%ld bytes from the pipe", got );
    ok( payload == 1, "payload %lu", (DWORD)payload );
    end_round();
    CloseHandle( pipe_read );
    CloseHandle( pipe_write );
}

int main( int argc, char **argv )
{
    int i, rounds = argc > 1 ? atoi( argv[1] ) : 1;

    load_shim();
    file = CreateFileA( "Z:\\dev\\zero", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                        OPEN_EXISTING, 0, NULL );
    ok( file != INVALID_HANDLE_VALUE, "no /dev/zero, error %lu", GetLastError() );
    memory = VirtualAlloc( NULL, SIZE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    ok( memory != NULL, "no memory" );
    if (test_failures) return test_end();
    memset( memory, 1, SIZE );
    for (i = 0; i < rounds && !test_failures; i++) one_round();
    return test_end();
}
