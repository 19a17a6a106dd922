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

#define MAX_PAIRS 101

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT ready[8];
static int ready_count, alive;
static int rounds = 1000, pairs = 15;
static LARGE_INTEGER frequency;

static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE turn_changed = CONDITION_VARIABLE_INIT;
static CRITICAL_SECTION section;
static volatile LONG turn;
static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );

static void condition( LONG self )
{
    int i;

    for (i = 0; i < rounds; i++)
    {
        AcquireSRWLockExclusive( &lock );
        while (turn != self) SleepConditionVariableSRW( &turn_changed, &lock, INFINITE, 0 );
        turn = !self;
        ReleaseSRWLockExclusive( &lock );
        WakeAllConditionVariable( &turn_changed );
    }
}

static void address( LONG self )
{
    LONG other = !self;
    int i;

    for (i = 0; i < rounds; i++)
    {
        while (turn != self) pWaitOnAddress( &turn, &other, sizeof(other), INFINITE );
        turn = !self;
        pWakeByAddressSingle( (void *)&turn );
    }
}

/* with a time-out that is never reached */
static void timed( LONG self )
{
    LONG other = !self;
    int i;

    for (i = 0; i < rounds; i++)
    {
        while (turn != self) pWaitOnAddress( &turn, &other, sizeof(other), 10000 );
        turn = !self;
        pWakeByAddressSingle( (void *)&turn );
    }
}

static void naps( LONG self )
{
    int i;

    (void)self;
    for (i = 0; i < rounds / 20; i++) Sleep( 1 );
}

static void contended( LONG self )
{
    int i;

    (void)self;
    for (i = 0; i < rounds; i++)
    {
        EnterCriticalSection( &section );
        SwitchToThread();
        LeaveCriticalSection( &section );
    }
}

static void close_event( LONG self )
{
    int i;

    (void)self;
    for (i = 0; i < rounds; i++) CloseHandle( CreateEventW( NULL, FALSE, FALSE, NULL ) );
}

/* UMS_LOCAL_OBJECTS decides whether these need the host. */
static HANDLE events[2], many[8], semaphores[2], set_only[2], mutexes[3];

static void auto_events( LONG self )
{
    int i;

    if (!self) SetEvent( events[0] );
    for (i = 0; i < rounds; i++)
    {
        WaitForSingleObject( events[self], INFINITE );
        SetEvent( events[!self] );
    }
    if (self) WaitForSingleObject( events[0], INFINITE );       /* nothing is left for the next time */
}

static void semaphore( LONG self )
{
    int i;

    if (!self) ReleaseSemaphore( semaphores[0], 1, NULL );
    for (i = 0; i < rounds; i++)
    {
        WaitForSingleObject( semaphores[self], INFINITE );
        ReleaseSemaphore( semaphores[!self], 1, NULL );
    }
    if (self) WaitForSingleObject( semaphores[0], INFINITE );
}

/* Each of the two owns one of three mutexes, waits for the next one and releases its own. So the other one
   gets that, and each waits in each round. */
static void mutex( LONG self )
{
    int i, own = self;

    WaitForSingleObject( mutexes[own], INFINITE );
    if (self) ReleaseSemaphore( semaphores[0], 1, NULL );       /* both own one when the first goes on */
    else WaitForSingleObject( semaphores[0], INFINITE );
    for (i = 0; i < rounds; i++)
    {
        int next = (own + 1) % 3;

        WaitForSingleObject( mutexes[next], INFINITE );
        ReleaseMutex( mutexes[own] );
        own = next;
    }
    ReleaseMutex( mutexes[own] );
}

static void mutex_alone( LONG self )
{
    int i;

    for (i = 0; i < rounds; i++)
    {
        WaitForSingleObject( mutexes[self], INFINITE );
        ReleaseMutex( mutexes[self] );
    }
}

/* The first seven of one are never set. */
static void any_of_eight( LONG self )
{
    HANDLE own[8];
    int i;

    for (i = 0; i < 8; i++) own[i] = i < 7 ? many[i] : events[self];
    if (!self) SetEvent( events[0] );
    for (i = 0; i < rounds; i++)
    {
        WaitForMultipleObjects( 8, own, FALSE, INFINITE );
        SetEvent( events[!self] );
    }
    if (self) WaitForSingleObject( events[0], INFINITE );
}

static void set_alone( LONG self )
{
    int i;

    for (i = 0; i < rounds; i++) SetEvent( set_only[self] );
}

static void make_known( HANDLE handle )
{
    HANDLE copy;

    if (DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
                         DUPLICATE_SAME_ACCESS )) CloseHandle( copy );
}

static void make_objects( BOOL known )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
        semaphores[i] = CreateSemaphoreW( NULL, 0, 1, NULL );
        set_only[i] = CreateEventW( NULL, TRUE, FALSE, NULL );
        if (known) make_known( events[i] );
    }
    for (i = 0; i < 3; i++)
    {
        mutexes[i] = CreateMutexW( NULL, FALSE, NULL );
        if (known) make_known( mutexes[i] );
    }
    for (i = 0; i < 8; i++) many[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
}

static void (*body)( LONG self );
static volatile LONG started, running;
static LARGE_INTEGER begin, end;

/* From when the second one begins until the second one ends: neither is made or ended meanwhile. */
static DWORD WINAPI thread_main( void *self )
{
    if (InterlockedIncrement( &started ) == 2) QueryPerformanceCounter( &begin );
    body( (LONG)(LONG_PTR)self );
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

    turn = 0;
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

static void report( const char *name, void (*which)( LONG self ) )
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
    HMODULE base = GetModuleHandleW( L"kernelbase.dll" );

    if (argc > 1) rounds = atoi( argv[1] );
    if (argc > 2) pairs = atoi( argv[2] );
    if (rounds < 20 || pairs < 1 || pairs > MAX_PAIRS)
    {
        printf( "usage: umswaits [ROUNDS [PAIRS]]; at least 20 rounds, 1 to %d pairs\n", MAX_PAIRS );
        return 2;
    }
    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    QueryPerformanceFrequency( &frequency );
    InitializeCriticalSection( &section );
    if (!pWaitOnAddress || !pWakeByAddressSingle || !CreateUmsCompletionList( &list ))
    {
        printf( "no User-Mode Scheduling here (error %lu)\n", GetLastError() );
        return 1;
    }
    report( "SRW lock, condition variable", condition );
    report( "WaitOnAddress", address );
    report( "WaitOnAddress, 10 s", timed );
    report( "contended critical section", contended );
    report( "Sleep(1), a twentieth", naps );
    report( "create and close an event", close_event );
    make_objects( FALSE );
    report( "auto-reset events", auto_events );
    report( "semaphores", semaphore );
    report( "mutexes", mutex );
    report( "any of 8 events", any_of_eight );
    report( "two sets, and nobody waits", set_alone );
    report( "a mutex that nobody has", mutex_alone );
    make_objects( TRUE );
    report( "auto-reset events with a copy", auto_events );
    report( "mutexes with a copy", mutex );
    return 0;
}
