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
 *
 * It is read twice: with ReadFile, and with fread. fread holds the lock of the stream in the call, as
 * printf does, and SchedulerProc takes that lock with each upcall (setvbuf). If the worker were reported as
 * blocked, nobody could execute it: SchedulerProc would wait for the lock, and the lock for the worker.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_workers.h"

#define SIZE 0x8000000                          /* 128 MB: 10 ms and more */

static char *memory;
static HANDLE file, pipe_read, pipe_write;
static volatile LONG got;
static FILE *stream;

static DWORD WINAPI reader( void *arg )
{
    DWORD count = 0;

    (void)arg;
    inside = 1;
    if (ReadFile( file, memory, SIZE, &count, NULL )) got = (LONG)count;
    inside = 2;
    return 0;
}

static DWORD WINAPI stream_reader( void *arg )
{
    (void)arg;
    inside = 1;
    got = (LONG)fread( memory, 1, SIZE, stream );
    inside = 2;
    return 0;
}

static void NTAPI locking_scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR upcall_payload, void *param )
{
    setvbuf( stream, NULL, _IONBF, 0 );
    scheduler( reason, upcall_payload, param );
}

static DWORD WINAPI locking_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, locking_scheduler, NULL };

    (void)arg;
    return pEnterUmsSchedulingMode( &info );
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

static void at_work( LPTHREAD_START_ROUTINE reads, LPTHREAD_START_ROUTINE schedules )
{
    HANDLE thread;

    got = inside = seen_inside = blocked = ended = 0;
    create_worker( 0, reads, NULL );
    create_worker( 1, nobody, NULL );
    thread = CreateThread( NULL, 0, schedules, NULL, 0, NULL );
    ok( !WaitForSingleObject( thread, LIMIT ), "the scheduler did not end" );
    ok( got == SIZE, "%ld bytes of %d", got, SIZE );
    ok( !blocked, "%ld Blocked upcalls for a thread that was at work", blocked );
    CloseHandle( thread );
    if (!test_failures) end_round();
}

static void one_round( void )
{
    at_work( stream_reader, locking_thread );
    if (!test_failures) at_work( reader, scheduler_thread );
    if (test_failures) return;

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
    int i, status, rounds = argc > 1 ? atoi( argv[1] ) : 1;

    load_shim();
    file = CreateFileA( "Z:\\dev\\zero", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                        OPEN_EXISTING, 0, NULL );
    ok( file != INVALID_HANDLE_VALUE, "no /dev/zero, error %lu", GetLastError() );
    stream = fopen( "Z:\\dev\\zero", "rb" );
    ok( stream && !setvbuf( stream, NULL, _IONBF, 0 ), "no stream" );
    memory = VirtualAlloc( NULL, SIZE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    ok( memory != NULL, "no memory" );
    if (test_failures) return test_end();
    memset( memory, 1, SIZE );
    for (i = 0; i < rounds && !test_failures; i++) one_round();
    status = test_end();
    fflush( stdout );
    TerminateProcess( GetCurrentProcess(), status );     /* a thread may have the stream's lock for ever */
    return 1;
}
