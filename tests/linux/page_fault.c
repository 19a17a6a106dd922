/*
 * page_fault ROUNDS [FILE]: a worker at home touches memory that is not there, another one of the
 * same scheduler must run meanwhile.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pages come from userfaultfd, that is from the other worker. If the first worker's scheduler
 * is not told that it sleeps, the other one never runs, and the main thread provides them.
 *
 * In every second round a third thread suspends and resumes the first worker meanwhile, as often
 * as it can.
 *
 * With FILE, on a file system that takes its time, each round touches another 256 KB of a view of
 * that, and the other worker only counts how often it ran meanwhile.
 */
#include <windows.h>
#include <stdlib.h>
#include <string.h>

#include "linux.h"
#include "two_workers.h"

#define SIZE 0x10000

static char *memory;
static int64_t fd = -1;
static LONG expected;
static volatile LONG got, turns;

/* A worker with a breakpoint of its own goes home for a call and is executed there from its next yield
   on, with either engine. */
static void stay_home( void )
{
    CONTEXT context;

    memset( &context, 0, sizeof(context) );
    context.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    context.Dr0 = (ULONG_PTR)stay_home + 1;     /* in the middle of an instruction */
    context.Dr7 = 1;
    SetThreadContext( GetCurrentThread(), &context );
}

static DWORD WINAPI toucher( void *arg )
{
    stay_home();
    Sleep( 0 );
    pUmsThreadYield( NULL );
    inside = 1;
    got = *(volatile char *)arg;
    inside = 2;
    return 0;
}

static DWORD WINAPI suspender( void *arg )
{
    (void)arg;
    while (inside != 2)
    {
        if (!inside) continue;
        if (SuspendThread( threads[0] ) == (DWORD)-1) break;
        ResumeThread( threads[0] );
    }
    return 0;
}

static void provide( void )
{
    struct uffd_zeropage zero = { (uint64_t)memory, SIZE, 0, 0 };

    linux_call( LINUX_IOCTL, fd, UFFDIO_ZEROPAGE, (uint64_t)&zero, 0 );
}

static DWORD WINAPI provider( void *arg )
{
    (void)arg;
    while (!inside) pUmsThreadYield( NULL );
    seen_inside = inside;
    provide();
    return 0;
}

static DWORD WINAPI counter( void *arg )
{
    (void)arg;
    for (turns = 0; inside != 2; turns++)
    {
        if (inside) seen_inside = inside;
        pUmsThreadYield( NULL );
    }
    return 0;
}

static void nothing( void )
{
}

static int begin( void )
{
    struct uffd_api api = { UFFD_API, 0, 0 };
    struct uffd_register range = { 0, SIZE, UFFD_MISSING, 0 };

    fd = linux_call( LINUX_USERFAULTFD, UFFD_USER_MODE_ONLY, 0, 0, 0 );
    if (fd < 0 || linux_call( LINUX_IOCTL, fd, UFFDIO_API, (uint64_t)&api, 0 ) < 0) return 0;
    memory = VirtualAlloc( NULL, SIZE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    range.start = (uint64_t)memory;
    return linux_call( LINUX_IOCTL, fd, UFFDIO_REGISTER, (uint64_t)&range, 0 ) >= 0;
}

static void one_round( int suspended )
{
    HANDLE thread = NULL;

    inside = 0;
    if (!begin())
    {
        ok( 0, "no userfaultfd (%d)", (int)fd );
        return;
    }
    if (suspended) thread = CreateThread( NULL, 0, suspender, NULL, 0, NULL );
    run_round( toucher, memory, provider, provide );
    if (thread) WaitForSingleObject( thread, LIMIT );
    if (thread) CloseHandle( thread );
    end_round();
    ok( !got, "the page has %ld", got );
    linux_call( LINUX_CLOSE, fd, 0, 0, 0 );
    VirtualFree( memory, 0, MEM_RELEASE );
}

static void one_round_of_file( int round )
{
    run_round( toucher, memory + round * 0x40000, counter, nothing );
    end_round();
    ok( got == expected, "the page has %ld", got );
    printf( "%ld turns of the other worker\n", turns );
}

static void map_file( const char *name )
{
    HANDLE file = CreateFileA( name, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL );
    HANDLE mapping = CreateFileMappingA( file, NULL, PAGE_READONLY, 0, 0, NULL );

    memory = MapViewOfFile( mapping, FILE_MAP_READ, 0, 0, 0 );
    expected = 'x';
    ok( memory != NULL, "no view, error %lu", GetLastError() );
}

int main( int argc, char **argv )
{
    int i, rounds = argc > 1 ? atoi( argv[1] ) : 1;

    load_shim();
    if (argc > 2) map_file( argv[2] );
    for (i = 0; i < rounds && !test_failures; i++)
    {
        if (argc > 2) one_round_of_file( i );
        else one_round( i & 1 );
        ok( !payload, "payload %lu for a page fault", (DWORD)payload );
    }
    return test_end();
}
