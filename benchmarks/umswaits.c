/*
 * What waiting costs that needs no kernel: two hand a turn to each other, as two workers of one
 * scheduler and as two plain threads, in turns, in one process. UMS_USER_WAITS and UMS_LOCAL_OBJECTS
 * decide how they wait.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 *   umsrun umswaits [ROUNDS [PAIRS]]
 *
 * Each line: microseconds a round trip, median of the batches, of threads and of workers, and the
 * median and quartiles of the ratios of pairs.
 */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "bodies.h"

#define MAX_PAIRS 101

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT ready[8];
static int ready_count, alive;
static int rounds = 1000, pairs = 15;
static LARGE_INTEGER frequency;

static CRITICAL_SECTION section;

static void naps( unsigned int self, unsigned int ops )
{
    body_naps( self, ops / 20 );
}

static void contended( unsigned int self, unsigned int ops )
{
    (void)self;
    for (; ops; ops--)
    {
        EnterCriticalSection( &section );
        SwitchToThread();
        LeaveCriticalSection( &section );
    }
}

static void close_event( unsigned int self, unsigned int ops )
{
    (void)self;
    for (; ops; ops--) CloseHandle( CreateEventW( NULL, FALSE, FALSE, NULL ) );
}

static body_proc body;
static volatile LONG started, running;
static LARGE_INTEGER begin, end;

/* From when the second one begins until the second one ends: neither is made or ended meanwhile. */
static DWORD WINAPI thread_main( void *self )
{
    if (InterlockedIncrement( &started ) == 2) QueryPerformanceCounter( &begin );
    body( (unsigned int)(ULONG_PTR)self, (unsigned int)rounds );
    if (!InterlockedDecrement( &running )) QueryPerformanceCounter( &end );
    return 0;
}

static void collect( DWORD timeout )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended;

    if (!DequeueUmsCompletionListItems( list, timeout, &context )) return;
    for ( ; context; context = next)
    {
        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (!ended) ready[ready_count++] = context;
        else
        {
            DeleteUmsThreadContext( context );
            alive--;
        }
    }
}

static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context;
    int i;

    (void)param;
    while (reason == UmsSchedulerStartup && ready_count < 2) collect( INFINITE );
    if (reason == UmsSchedulerThreadYield) ready[ready_count++] = (PUMS_CONTEXT)payload;
    while (alive)
    {
        collect( ready_count ? 0 : INFINITE );
        if (!ready_count) continue;
        context = ready[0];
        for (i = 1; i < ready_count; i++) ready[i - 1] = ready[i];
        ready_count--;
        ExecuteUmsThread( context );
        ready[ready_count++] = context;
    }
}

static HANDLE create_worker( void *arg )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = sizeof(buffer);
    HANDLE thread;

    if (!CreateUmsThreadContext( &ums.UmsContext )) return NULL;
    InitializeProcThreadAttributeList( attributes, 1, 0, &size );
    UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums),
                               NULL, NULL );
    thread = CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, thread_main, arg, 0, attributes,
                                   NULL );
    DeleteProcThreadAttributeList( attributes );
    return thread;
}

/* microseconds a round */
static double measure( int as_workers )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, scheduler_proc, NULL };
    HANDLE threads[2];
    int i;

    started = 0;
    running = alive = 2;
    for (i = 0; i < 2; i++)
        threads[i] = as_workers ? create_worker( (void *)(LONG_PTR)i )
                     : CreateThread( NULL, 0, thread_main, (void *)(LONG_PTR)i, CREATE_SUSPENDED,
                                     NULL );
    for (i = 0; i < 2 && !as_workers; i++) ResumeThread( threads[i] );
    if (as_workers && !EnterUmsSchedulingMode( &info )) exit( 1 );
    WaitForMultipleObjects( 2, threads, TRUE, INFINITE );
    for (i = 0; i < 2; i++) CloseHandle( threads[i] );
    return (double)(end.QuadPart - begin.QuadPart) * 1e6 / frequency.QuadPart / rounds;
}

static int compare( const void *a, const void *b )
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void report( const char *name, body_proc which )
{
    double threads[MAX_PAIRS], workers[MAX_PAIRS], ratios[MAX_PAIRS];
    int i;

    body = which;
    for (i = 0; i < pairs; i++)
    {
        threads[i] = measure( 0 );
        workers[i] = measure( 1 );
        ratios[i]  = workers[i] / threads[i];
    }
    qsort( threads, pairs, sizeof(double), compare );
    qsort( workers, pairs, sizeof(double), compare );
    qsort( ratios, pairs, sizeof(double), compare );
    printf( "%-28s threads %8.2f us  workers %8.2f us  ratio %.3f (%.3f to %.3f)\n", name,
            threads[pairs / 2], workers[pairs / 2], ratios[pairs / 2], ratios[pairs / 4],
            ratios[pairs * 3 / 4] );
    fflush( stdout );
}

int main( int argc, char **argv )
{
    static struct objects own, known;       /* UMS_LOCAL_OBJECTS decides whether the first need the host */

    if (argc > 1) rounds = atoi( argv[1] );
    if (argc > 2) pairs = atoi( argv[2] );
    if (rounds < 20 || pairs < 1 || pairs > MAX_PAIRS)
    {
        printf( "usage: umswaits [ROUNDS [PAIRS]]; at least 20 rounds, 1 to %d pairs\n", MAX_PAIRS );
        return 2;
    }
    QueryPerformanceFrequency( &frequency );
    InitializeCriticalSection( &section );
    if (!bodies_start() || !CreateUmsCompletionList( &list ))
    {
        printf( "no User-Mode Scheduling here (error %lu)\n", GetLastError() );
        return 1;
    }
    report( "SRW lock, condition variable", body_condition );
    report( "WaitOnAddress", body_address );
    report( "WaitOnAddress, 10 s", body_address_timed );
    report( "contended critical section", contended );
    report( "Sleep(1), a twentieth", naps );
    report( "create and close an event", close_event );
    if (!objects_make( &own, FALSE ) || !objects_make( &known, TRUE ))
    {
        printf( "an object could not be made (error %lu)\n", GetLastError() );
        return 1;
    }
    bodies_use( &own );
    report( "auto-reset events", body_events );
    report( "semaphores", body_semaphores );
    report( "mutexes", body_mutexes );
    report( "any of 8 events", body_any );
    report( "two sets, and nobody waits", body_set );
    report( "a mutex that nobody has", body_mutex_alone );
    bodies_use( &known );
    report( "auto-reset events with a copy", body_events );
    report( "mutexes with a copy", body_mutexes );
    return 0;
}
