/*
 * Scenarios: what does not block must not cost a worker its place.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B12, B23, B26, B27. One scheduler; while a worker does many calls that are satisfied
 * at once, another worker is ready. Nothing of the first one's may let the scheduler run the
 * second: no Blocked upcall, no turn. And whatever is answered at once is answered for the worker.
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
static HANDLE heap;                             /* whose lock no other thread has */

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
    void *memory = HeapAlloc( heap, 0, 0x100000 );      /* larger than what a heap keeps: two calls about memory */

    if (!memory || !HeapFree( heap, 0, memory )) bad_results++;
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

static void setup( void )
{
    set = CreateEventW( NULL, TRUE, TRUE, NULL );
    unset = CreateEventW( NULL, TRUE, FALSE, NULL );
    semaphore = CreateSemaphoreW( NULL, 0, 10, NULL );
    mutex = CreateMutexW( NULL, FALSE, NULL );
    port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
    slot = TlsAlloc();
    heap = HeapCreate( 0, 0, 0 );
    InitializeCriticalSection( &section );
}

START_TEST( scenario_nonblocking_calls )
{
    struct kit_sched *sched;
    LONG i;

    if (!kit_open()) return;
    setup();
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

/* --- whose calls they are --- */

static struct
{
    LONG rounds, id, teb, tls, error, result, owner, scheduler;
} own;
static void own_look( struct kit_worker *worker, const void *teb, DWORD error )
{
    if (GetLastError() != error) own.error++;
    if (GetCurrentThreadId() != worker->id) own.id++;
    if (kit_teb() != teb) own.teb++;
    if (TlsGetValue( slot ) != worker) own.tls++;
}

/* Good calls leave the last error alone, bad ones set it: the worker's. */
static void own_calls( struct kit_worker *worker, const void *teb )
{
    HANDLE event;
    void *mem;

    SetLastError( 77 );
    if (!SetEvent( unset ) || !ResetEvent( unset )) own.result++;
    own_look( worker, teb, 77 );
    if (SetEvent( (HANDLE)(ULONG_PTR)0xdead0 )) own.result++;
    own_look( worker, teb, ERROR_INVALID_HANDLE );
    SetLastError( 78 );
    if (!(event = CreateEventW( NULL, FALSE, TRUE, NULL ))) own.result++;
    SetLastError( 78 );
    if (WaitForSingleObject( event, 0 ) || !CloseHandle( event )) own.result++;
    own_look( worker, teb, 78 );
    SetLastError( 79 );
    if (ReleaseSemaphore( semaphore, 0x7fffffff, NULL )) own.result++;
    own_look( worker, teb, ERROR_TOO_MANY_POSTS );
    SetLastError( 80 );
    mem = VirtualAlloc( NULL, 0x1000, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    if (!mem || !VirtualFree( mem, 0, MEM_RELEASE )) own.result++;
    own_look( worker, teb, 80 );
    if (VirtualAlloc( (void *)(ULONG_PTR)0x1000, 0, MEM_COMMIT, PAGE_READWRITE )) own.result++;
    own_look( worker, teb, ERROR_INVALID_PARAMETER );
}

/* Taken on one processor and given back right after a move to another; then it is nobody's. */
static void own_mutex( struct kit_worker *worker, int turn )
{
    if (WaitForSingleObject( mutex, KIT_LIMIT )) own.owner++;
    if (turn % 2) kit_yield( worker, NULL );
    else kit_migrate( worker, &kit.scheds[turn / 2 & 1] );
    if (turn % 3 && !SetEvent( unset )) own.result++;
    if (!ReleaseMutex( mutex )) own.owner++;
    kit_yield( worker, NULL );
    SetLastError( 81 );
    if (ReleaseMutex( mutex ) || GetLastError() != ERROR_NOT_OWNER) own.owner++;
}

static DWORD own_body( struct kit_worker *worker )
{
    const void *teb = kit_teb();
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        TlsSetValue( slot, worker );
        if (i % 2) kit_yield( worker, NULL );
        own_calls( worker, teb );
        own_mutex( worker, i );
        own_look( worker, teb, ERROR_NOT_OWNER );
        own.rounds++;
    }
    return 0;
}

/* A scheduler has a last error and a TLS value of its own, which its workers' calls leave alone. */
static BOOL own_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason != UmsSchedulerStartup && TlsGetValue( slot ) != sched) own.scheduler++;
    TlsSetValue( slot, sched );
    return FALSE;
}

/* Whoever lends the worker its processor: the calls are the worker's. */
START_TEST( scenario_nonblocking_identity )
{
    int i;

    if (!kit_open()) return;
    setup();
    for (i = 0; i < 2; i++) kit_add_sched( NULL )->on_upcall = own_upcall;
    kit_add_worker( kit.scheds[0].list, own_body, NULL );
    kit_start();
    kit_finish();
    ok( own.rounds == ROUNDS, "%ld rounds of %d\n", own.rounds, ROUNDS );
    ok( !own.id, "B23: another thread id %ld times\n", own.id );
    ok( !own.teb, "B27: another TEB %ld times\n", own.teb );
    ok( !own.tls, "B23: another TLS %ld times\n", own.tls );
    ok( !own.error, "2.2: another last error %ld times\n", own.error );
    ok( !own.result, "%ld calls gave a wrong result\n", own.result );
    ok( !own.owner, "2.2: a mutex was somebody else's %ld times\n", own.owner );
    ok( !own.scheduler, "2.2: a scheduler's TLS changed %ld times\n", own.scheduler );
    kit_check();
}
