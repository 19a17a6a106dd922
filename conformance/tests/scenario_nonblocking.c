/*
 * Scenarios: what does not block must not cost a worker its place.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B12, B26. One scheduler; while a worker does many calls that are satisfied at once, another
 * worker is ready. Nothing of the first one's may let the scheduler run the second: no Blocked
 * upcall, no turn.
 */
#include "scenario_kit.h"

#define ROUNDS 200

static HANDLE set, unset, semaphore, mutex, port;
static CRITICAL_SECTION section;
static SRWLOCK srw = SRWLOCK_INIT;
static CONDITION_VARIABLE condition = CONDITION_VARIABLE_INIT;
static volatile LONG counter;
static volatile LONG bad_results;
static DWORD slot;

static void call_set_event( void )
{
    SetEvent( set );
}

static void call_reset_event( void )
{
    ResetEvent( unset );
}

static void call_wait_satisfied( void )
{
    if (WaitForSingleObject( set, KIT_LIMIT )) bad_results++;
}

static void call_wait_infinite_satisfied( void )
{
    if (WaitForSingleObject( set, INFINITE )) bad_results++;
}

static void call_wait_poll( void )
{
    if (WaitForSingleObject( unset, 0 ) != WAIT_TIMEOUT) bad_results++;
}

static void call_wait_multiple( void )
{
    HANDLE both[2] = { unset, set };

    if (WaitForMultipleObjects( 2, both, FALSE, KIT_LIMIT ) != WAIT_OBJECT_0 + 1) bad_results++;
}

static void call_semaphore( void )
{
    if (!ReleaseSemaphore( semaphore, 1, NULL )) bad_results++;
    if (WaitForSingleObject( semaphore, KIT_LIMIT )) bad_results++;
}

static void call_mutex( void )
{
    if (WaitForSingleObject( mutex, KIT_LIMIT )) bad_results++;
    if (WaitForSingleObject( mutex, INFINITE )) bad_results++;
    if (!ReleaseMutex( mutex ) || !ReleaseMutex( mutex )) bad_results++;
}

static void call_sleep_zero( void )
{
    Sleep( 0 );
    SwitchToThread();
    YieldProcessor();
}

static void call_tls( void )
{
    TlsSetValue( slot, (void *)(ULONG_PTR)(counter + 1) );
    if (TlsGetValue( slot ) != (void *)(ULONG_PTR)(counter + 1)) bad_results++;
}

static void call_locks( void )
{
    EnterCriticalSection( &section );
    EnterCriticalSection( &section );
    LeaveCriticalSection( &section );
    LeaveCriticalSection( &section );
    AcquireSRWLockExclusive( &srw );
    ReleaseSRWLockExclusive( &srw );
    AcquireSRWLockShared( &srw );
    ReleaseSRWLockShared( &srw );
    WakeAllConditionVariable( &condition );
}

static void call_interlocked( void )
{
    InterlockedIncrement( &counter );
    InterlockedDecrement( &counter );
    MemoryBarrier();
}

static void call_time( void )
{
    LARGE_INTEGER now;

    if (!QueryPerformanceCounter( &now ) || !GetTickCount64()) bad_results++;
}

static void call_ids( void )
{
    if (!GetCurrentThreadId() || !GetCurrentProcessId()) bad_results++;
    SetLastError( 5 );
    if (GetLastError() != 5) bad_results++;
}

static void call_port( void )
{
    OVERLAPPED *overlapped;
    ULONG_PTR key;
    DWORD bytes;

    if (!PostQueuedCompletionStatus( port, 1, 2, NULL )) bad_results++;
    if (!GetQueuedCompletionStatus( port, &bytes, &key, &overlapped, KIT_LIMIT )) bad_results++;
}

static void call_heap( void )
{
    void *memory = HeapAlloc( GetProcessHeap(), 0, 40 );

    if (!memory || !HeapFree( GetProcessHeap(), 0, memory )) bad_results++;
}

static void call_ums( void )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread();
    BOOLEAN suspended = 2;
    void *user;

    if (!pQueryUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user),
                                     NULL )) bad_results++;
    if (!pSetUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user) )) bad_results++;
    if (!pQueryUmsThreadInformation( self, UmsThreadIsSuspended, &suspended, 1, NULL ) ||
        suspended) bad_results++;
    if (!kit.workers[0].last) bad_results++;
    pDequeueUmsCompletionListItems( kit.scheds[0].list, 0, &self );
    if (self) bad_results++;
}

static const struct
{
    const char *name;
    void (*call)( void );
    BOOL kernel;                    /* a system call whose class the shim may not know as local */
} calls[] =
{
    { "SetEvent", call_set_event, FALSE },
    { "ResetEvent", call_reset_event, FALSE },
    { "satisfied wait", call_wait_satisfied, FALSE },
    { "satisfied wait without a limit", call_wait_infinite_satisfied, FALSE },
    { "poll", call_wait_poll, FALSE },
    { "satisfied multiple wait", call_wait_multiple, FALSE },
    { "semaphore", call_semaphore, FALSE },
    { "mutex", call_mutex, FALSE },
    { "Sleep(0)", call_sleep_zero, FALSE },
    { "TLS", call_tls, FALSE },
    { "free locks", call_locks, FALSE },
    { "Interlocked", call_interlocked, FALSE },
    { "clocks", call_time, FALSE },
    { "ids and last error", call_ids, FALSE },
    { "completion port", call_port, TRUE },
    { "heap", call_heap, TRUE },
    { "UMS queries", call_ums, FALSE },
};

static LONG upcalls[ARRAYSIZE(calls)], turns[ARRAYSIZE(calls)], results[ARRAYSIZE(calls)];
static volatile LONG other_turns, finished;
static struct kit_worker *other;

static DWORD caller_body( struct kit_worker *worker )
{
    LONG i, round;

    /* both have run, so no start-up work of the other is left */
    while (!other_turns) if (!kit_yield( worker, NULL )) return 1;
    for (i = 0; i < (LONG)ARRAYSIZE(calls); i++)
    {
        LONG before_blocks, before_turns, before_bad = bad_results;

        calls[i].call();                        /* first use: loader, page faults */
        kit_yield( worker, NULL );
        before_blocks = worker->blocks;
        before_turns = other_turns;
        for (round = 0; round < ROUNDS; round++) calls[i].call();
        upcalls[i] = worker->blocks - before_blocks;
        turns[i] = other_turns - before_turns;
        results[i] = bad_results - before_bad;
    }
    finished = 1;
    return 0;
}

static DWORD other_body( struct kit_worker *worker )
{
    while (!finished)
    {
        other_turns++;
        if (!kit_yield( worker, NULL )) break;
    }
    return 0;
}

START_TEST( scenario_nonblocking_calls )
{
    struct kit_sched *sched;
    LONG i;

    if (!kit_open()) return;
    set = CreateEventW( NULL, TRUE, TRUE, NULL );
    unset = CreateEventW( NULL, TRUE, FALSE, NULL );
    semaphore = CreateSemaphoreW( NULL, 0, 10, NULL );
    mutex = CreateMutexW( NULL, FALSE, NULL );
    port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
    slot = TlsAlloc();
    InitializeCriticalSection( &section );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, caller_body, NULL );
    other = kit_add_worker( sched->list, other_body, NULL );
    kit_start();
    kit_finish();
    ok( finished && other, "the calls were not made to the end\n" );
    for (i = 0; i < (LONG)ARRAYSIZE(calls); i++)
    {
        push( "%s", calls[i].name );
        ok( !results[i], "B12: %ld of %d calls went wrong\n", results[i], ROUNDS );
        if (calls[i].kernel)
        {
            unverified ok( !upcalls[i], "B12: %ld Blocked upcalls\n", upcalls[i] );
            unverified ok( !turns[i], "B12: the other worker had %ld turns\n", turns[i] );
        }
        else
        {
            ok( !upcalls[i], "B12: %ld Blocked upcalls\n", upcalls[i] );
            ok( !turns[i], "B12: the other worker had %ld turns\n", turns[i] );
        }
        pop();
    }
    kit_check();
}

/* --- FlushProcessWriteBuffers: B26 --- */

static volatile LONG flushes;

static BOOL flush_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)reason; (void)payload; (void)param;
    FlushProcessWriteBuffers();
    InterlockedIncrement( &flushes );
    return FALSE;
}

static DWORD flush_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < 20; i++)
    {
        FlushProcessWriteBuffers();
        InterlockedIncrement( &flushes );
        kit_yield( worker, NULL );
    }
    return 0;
}

/* From primaries and workers, on two schedulers at once; whether it is seen as blocking is free. */
START_TEST( scenario_flush_write_buffers )
{
    struct kit_sched *first, *second;

    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = second->on_upcall = flush_upcall;
    kit_add_worker( first->list, flush_body, NULL );
    kit_add_worker( second->list, flush_body, NULL );
    kit_start();
    kit_finish();
    ok( flushes >= 80, "B26: %ld flushes of at least 80\n", flushes );
    kit_check();
}
