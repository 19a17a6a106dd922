/*
 * unix_calls early|late FIFO ROUNDS: a worker resolves a name, another one of the same
 * scheduler must run meanwhile, and once more while the first one waits afterwards.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * resolve.h says how.
 *
 * early, late: ws2_32 is loaded before the shim, or after. In every second round the worker has
 * left another call before, by longjmp out of an APC. In the other rounds the second worker suspends
 * and resumes it inside: Wine then restores the control words of its last system call (hook_unix.c), and it must
 * have its own ones afterwards.
 */
#include "resolve.h"
#include <ums.h>
#include <stdlib.h>
#include <string.h>

#include "two_workers.h"

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

#define MXCSR_TO_ZERO 0x7f80
#define X87_TO_ZERO   0x0f7f

struct words { DWORD mxcsr; WORD x87; };

static struct words before, after;

static inline void get_words( struct words *words )
{
    __asm__ __volatile__( "stmxcsr %0\n\tfnstcw %1" : "=m" (words->mxcsr), "=m" (words->x87) );
}

static inline void set_words( DWORD mxcsr, WORD x87 )
{
    __asm__ __volatile__( "ldmxcsr %0\n\tfldcw %1" : : "m" (mxcsr), "m" (x87) );
}

static HANDLE go_on;
static volatile LONG waits, suspends;

/* A call of its own, although its frame lies below that of the Unix call, which is over. */
static __attribute__((noinline)) void wait_deeper( void )
{
    char volatile deep[0x8000];

    deep[0] = deep[sizeof(deep) - 1] = 0;
    waits = 1;
    WaitForSingleObject( go_on, INFINITE );
}

static DWORD WINAPI resolver( void *arg )
{
    struct addrinfo *info = NULL;

    if (arg) leave_a_call();
    set_words( MXCSR_TO_ZERO, X87_TO_ZERO );
    get_words( &before );
    inside = 1;
    result = resolve( "umsname", NULL, NULL, &info );
    inside = 2;
    get_words( &after );
    wait_deeper();
    return 0;
}

static DWORD WINAPI writer( void *arg )
{
    int64_t fd;

    (void)arg;
    while ((fd = open_alias( LINUX_O_WRONLY | LINUX_O_NONBLOCK )) < 0) pUmsThreadYield( NULL );
    if (suspends)
    {
        if (SuspendThread( threads[0] )) suspends = -1;
        if (ResumeThread( threads[0] ) != 1) suspends = -1;
    }
    end_alias( fd );
    seen_inside = inside;
    while (!waits) pUmsThreadYield( NULL );
    SetEvent( go_on );
    return 0;
}

static void give_up( void )
{
    write_alias( LINUX_O_RDWR );
    SetEvent( go_on );
}

int main( int argc, char **argv )
{
    int rounds = argc > 3 ? atoi( argv[3] ) : 1;

    if (argc < 3) return 2;
    fifo = argv[2];
    if (!strcmp( argv[1], "early" )) load_sockets();
    load_shim();
    if (!resolve) load_sockets();
    go_on = CreateEventW( NULL, FALSE, FALSE, NULL );
    while (rounds-- && !test_failures)
    {
        waits = 0;
        suspends = !(rounds & 1);
        run_round( resolver, rounds & 1 ? contexts : NULL, writer, give_up );
        end_round();
        ok( payload == 1, "payload %lu for a call", (DWORD)payload );
        ok( result, "the name was resolved" );
        ok( suspends >= 0, "not suspended and resumed once" );
        ok( (after.mxcsr & ~0x3f) == (before.mxcsr & ~0x3f) && after.x87 == before.x87, "MXCSR %#lx is %#lx, x87 %#x is %#x",
            before.mxcsr, after.mxcsr, before.x87, after.x87 );
        if (test_failures && (rounds & 1)) printf( "it had left a call before\n" );
    }
    return test_end();
}
