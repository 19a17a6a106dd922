/*
 * A program whose schedule is known: it counts what it does, prints the counts, and ends in the way
 * that it is told to. trace_test.py compares them with what UMS_TRACE has recorded.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * known END [YIELDS]: END is exit, exitprocess, terminate, handle, hang or asked: when there is a line on standard input.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ums.h"
#include "sched.h"

#define SCHEDULERS 2
#define WORKERS    6
#define YIELDS     40
#define SLEEPS     3
#define WAITS      5
#define ADDRESSES  2                    /* waits for an address that nobody wakes: they time out */

static HANDLE events[WORKERS];
static unsigned int yields = YIELDS;
static LONG nothing;

/* Each waits for the one before it, so the events are set when somebody waits, or sooner. */
static DWORD WINAPI worker( void *arg )
{
    unsigned int number = (unsigned int)(ULONG_PTR)arg, i;
    LONG none = 0;

    for (i = 0; i < yields; i++) UmsThreadYield( i % 4 ? SCHED_YIELD : SCHED_MOVE );
    for (i = 0; i < SLEEPS; i++) Sleep( 1 );
    /* it may return without a reason, and may not have waited then */
    for (i = 0; i < ADDRESSES; i++) while (WaitOnAddress( &nothing, &none, sizeof(none), 1 )) ;
    for (i = 0; i < WAITS; i++)
    {
        if (number || i) WaitForSingleObject( events[number], INFINITE );
        SetEvent( events[(number + 1) % WORKERS] );
    }
    return 0;
}

static void print_counts( const struct sched_pool *pool, ULONGLONG took )
{
    struct sched_stats sum = { 0 };
    unsigned int i;

    for (i = 0; i < pool->count; i++)
    {
        sum.executed += pool->schedulers[i].stats.executed;
        sum.yielded += pool->schedulers[i].stats.yielded;
        sum.idled += pool->schedulers[i].stats.idled;
    }
    /* each Execute is followed by one upcall. (What a scheduler has counted itself can be one less: of
       a worker that has come back and returned before its scheduler looked.) */
    sum.blocked = sum.executed - sum.yielded - WORKERS;
    printf( "schedulers=%d workers=%d executed=%ld yielded=%ld blocked=%ld idled=%ld sleeps=%d addresses=%d ms=%llu\n",
            SCHEDULERS, WORKERS, sum.executed, sum.yielded, sum.blocked, sum.idled,
            WORKERS * SLEEPS, WORKERS * ADDRESSES, took );
    fflush( stdout );
}

static DWORD WINAPI is_told_to_end( void *event )
{
    WaitForSingleObject( event, INFINITE );
    return 5;
}

/* A handle that does not permit it ends nothing, in particular no other thread. */
static int is_denied( void )
{
    HANDLE process = OpenProcess( PROCESS_QUERY_INFORMATION, FALSE, GetCurrentProcessId() );
    HANDLE event = CreateEventW( NULL, FALSE, FALSE, NULL );
    HANDLE thread = CreateThread( NULL, 0, is_told_to_end, event, 0, NULL );
    DWORD status = 0;

    if (TerminateProcess( process, 8 ) || GetLastError() != ERROR_ACCESS_DENIED) return 0;
    SetEvent( event );
    WaitForSingleObject( thread, INFINITE );
    return GetExitCodeThread( thread, &status ) && status == 5;
}

/* by handles of this process */
static int end_by_handle( void )
{
    if (!is_denied()) return 9;
    TerminateProcess( OpenProcess( PROCESS_TERMINATE, FALSE, GetCurrentProcessId() ), 7 );
    return 10;
}

static int end( const char *how )
{
    if (!strcmp( how, "handle" )) return end_by_handle();
    if (!strcmp( how, "asked" )) getchar();
    if (!strcmp( how, "exitprocess" )) ExitProcess( 7 );
    if (!strcmp( how, "terminate" )) TerminateProcess( GetCurrentProcess(), 7 );
    if (!strcmp( how, "hang" )) Sleep( INFINITE );
    return 0;
}

static ULONGLONG now( void )
{
    LARGE_INTEGER counter, frequency;

    QueryPerformanceFrequency( &frequency );
    QueryPerformanceCounter( &counter );
    return counter.QuadPart * 1000 / frequency.QuadPart;
}

int main( int argc, char **argv )
{
    ULONGLONG begin = now();
    struct sched_pool *pool = sched_create( SCHEDULERS, WORKERS );
    unsigned int i;

    if (!pool || argc < 2)
    {
        printf( "known: no UMS, error %lu, or no argument\n", GetLastError() );
        return 1;
    }
    if (argc > 2 && atoi( argv[2] )) yields = atoi( argv[2] );
    for (i = 0; i < WORKERS; i++) events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    for (i = 0; i < WORKERS; i++) sched_spawn( pool, worker, (void *)(ULONG_PTR)i );
    if (!sched_start( pool ) || !sched_finish( pool ))
    {
        printf( "known: error %lu\n", GetLastError() );
        return 1;
    }
    print_counts( pool, now() - begin + 1 );
    return end( argv[1] );
}
