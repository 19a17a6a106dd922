/*
 * Scenarios: every way to block gives the scheduler a Blocked upcall.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B11, D12, D4. One scheduler, two workers. The waiter blocks; only the releaser, a worker of
 * the same scheduler, can release it. It gets to run only if the scheduler was told that the waiter
 * blocks, so a missing upcall is a time-out and not a matter of luck. No other worker, no thread
 * and no clock helps.
 */
#include "scenario_kit.h"

#define DELAY 1                         /* ms, of the kinds that end by themselves */

struct kind
{
    void  (*setup)( void );             /* main thread */
    void  (*hold)( void );              /* releaser, before the waiter starts; optional */
    DWORD (*act)( void );               /* waiter */
    void  (*release)( void );           /* releaser; NULL: time does it */
    DWORD expected;                     /* result of act */
};

static const struct kind *kind;
static volatile LONG phase;             /* 1: the waiter has started; 2: the releaser is ready */
static volatile LONG seq;               /* 1: the waiter is about to block; 2: it came back */
static volatile LONG release_saw, during, act_blocks;
static volatile DWORD act_result;
static volatile ULONG_PTR act_payload;
static struct kit_worker *waiter, *releaser;

static HANDLE handles[2];
static CRITICAL_SECTION section;
static SRWLOCK srw = SRWLOCK_INIT;
static CONDITION_VARIABLE condition = CONDITION_VARIABLE_INIT;
static volatile LONG flag;

static DWORD waiter_body( struct kit_worker *worker )
{
    LONG before;

    phase = 1;
    if (!kit_yield_until( worker, &phase, 2 )) return 1;
    before = worker->blocks;
    seq = 1;
    act_result = kind->act();
    seq = 2;
    act_blocks = worker->blocks - before;
    act_payload = worker->payload;
    return 0;
}

static DWORD releaser_body( struct kit_worker *worker )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;

    kit_yield_until( worker, &phase, 1 );           /* starting needs the heap, too */
    if (kind->hold) kind->hold();
    phase = 2;
    while (!seq && GetTickCount64() < limit) kit_yield( worker, NULL );
    release_saw = seq;
    if (kind->release) kind->release();
    else while (seq == 1 && GetTickCount64() < limit)
    {
        during++;
        kit_yield( worker, NULL );
    }
    return 7;
}

static void run_kind( const struct kind *which )
{
    struct kit_sched *sched;

    kind = which;
    if (!kit_open()) return;
    if (kind->setup) kind->setup();
    sched = kit_add_sched( NULL );
    waiter = kit_add_worker( sched->list, waiter_body, NULL );
    releaser = kit_add_worker( sched->list, releaser_body, NULL );
    kit_start();
    kit_finish();
    ok( release_saw == 1, "B11: the other worker ran when the waiter was at %ld, not inside\n",
        release_saw );
    if (!kind->release) ok( during > 0, "B11: the other worker did not run meanwhile\n" );
    ok( seq == 2, "B11: the waiter did not come back\n" );
    ok( act_blocks >= 1, "B11: no Blocked upcall\n" );
    ok( act_payload == 1, "D4: payload %lu for a system call\n", (DWORD)act_payload );
    ok( act_result == kind->expected, "the blocking call gave %lu, expected %lu\n", act_result,
        kind->expected );
    kit_check();
}

#define BLOCK_TEST( name, setup, hold, act, release, expected ) \
    START_TEST( scenario_block_##name ) \
    { \
        static const struct kind this_kind = { setup, hold, act, release, expected }; \
        run_kind( &this_kind ); \
    }

/* --- time --- */

static DWORD act_sleep( void )
{
    Sleep( DELAY );
    return 0;
}

static DWORD act_sleep_alertable( void )
{
    return SleepEx( DELAY, TRUE );
}

BLOCK_TEST( sleep, NULL, NULL, act_sleep, NULL, 0 )
BLOCK_TEST( sleep_alertable, NULL, NULL, act_sleep_alertable, NULL, 0 )

/* --- events --- */

static void setup_events( void )
{
    handles[0] = CreateEventW( NULL, FALSE, FALSE, NULL );
    handles[1] = CreateEventW( NULL, FALSE, FALSE, NULL );
}

static DWORD act_wait( void )
{
    return WaitForSingleObject( handles[0], INFINITE );
}

static DWORD act_wait_timed( void )
{
    return WaitForSingleObject( handles[0], KIT_LIMIT );
}

static DWORD act_wait_expires( void )
{
    return WaitForSingleObject( handles[0], DELAY );
}

static DWORD act_wait_any( void )
{
    return WaitForMultipleObjects( 2, handles, FALSE, INFINITE );
}

static DWORD act_wait_all( void )
{
    return WaitForMultipleObjects( 2, handles, TRUE, KIT_LIMIT );
}

static DWORD act_signal_and_wait( void )
{
    return SignalObjectAndWait( handles[1], handles[0], INFINITE, FALSE );
}

static void release_first( void )
{
    SetEvent( handles[0] );
}

static void release_second( void )
{
    SetEvent( handles[1] );
}

static void release_both( void )
{
    SetEvent( handles[1] );
    SetEvent( handles[0] );
}

/* Windows signals before the waiter is seen blocked; whoever is slower must have done it in the
   end. */
static void release_signalled( void )
{
    if (WaitForSingleObject( handles[1], KIT_LIMIT ) == WAIT_OBJECT_0) SetEvent( handles[0] );
}

BLOCK_TEST( wait, setup_events, NULL, act_wait, release_first, WAIT_OBJECT_0 )
BLOCK_TEST( wait_timed, setup_events, NULL, act_wait_timed, release_first, WAIT_OBJECT_0 )
BLOCK_TEST( wait_expires, setup_events, NULL, act_wait_expires, NULL, WAIT_TIMEOUT )
BLOCK_TEST( wait_any, setup_events, NULL, act_wait_any, release_second, WAIT_OBJECT_0 + 1 )
BLOCK_TEST( wait_all, setup_events, NULL, act_wait_all, release_both, WAIT_OBJECT_0 )
BLOCK_TEST( signal_and_wait, setup_events, NULL, act_signal_and_wait, release_signalled,
            WAIT_OBJECT_0 )

/* --- timers, semaphores, mutexes, threads --- */

static void setup_timer( void )
{
    handles[0] = CreateWaitableTimerW( NULL, TRUE, NULL );
}

static void release_timer( void )
{
    LARGE_INTEGER due;

    due.QuadPart = -1;
    SetWaitableTimer( handles[0], &due, 0, NULL, NULL, FALSE );
}

static void setup_semaphore( void )
{
    handles[0] = CreateSemaphoreW( NULL, 0, 1, NULL );
}

static void release_semaphore( void )
{
    ReleaseSemaphore( handles[0], 1, NULL );
}

static void setup_mutex( void )
{
    handles[0] = CreateMutexW( NULL, FALSE, NULL );
}

static void hold_mutex( void )
{
    wait_signaled( handles[0] );
}

static void release_mutex( void )
{
    ReleaseMutex( handles[0] );
}

/* the end of the releaser releases */
static DWORD act_join( void )
{
    DWORD code = 0;

    if (WaitForSingleObject( releaser->thread, INFINITE )) return 0;
    GetExitCodeThread( releaser->thread, &code );
    return code;
}

static void release_join( void )
{
}

BLOCK_TEST( timer, setup_timer, NULL, act_wait, release_timer, WAIT_OBJECT_0 )
BLOCK_TEST( semaphore, setup_semaphore, NULL, act_wait, release_semaphore, WAIT_OBJECT_0 )
BLOCK_TEST( mutex, setup_mutex, hold_mutex, act_wait, release_mutex, WAIT_OBJECT_0 )
BLOCK_TEST( mutex_timed, setup_mutex, hold_mutex, act_wait_timed, release_mutex, WAIT_OBJECT_0 )
BLOCK_TEST( join, NULL, NULL, act_join, release_join, 7 )

/* --- locks in user memory --- */

static void setup_section( void )
{
    InitializeCriticalSection( &section );
}

static void hold_section( void )
{
    EnterCriticalSection( &section );
}

static DWORD act_section( void )
{
    EnterCriticalSection( &section );
    LeaveCriticalSection( &section );
    return 0;
}

static void release_section( void )
{
    LeaveCriticalSection( &section );
}

static void hold_srw( void )
{
    AcquireSRWLockExclusive( &srw );
}

static DWORD act_srw_exclusive( void )
{
    AcquireSRWLockExclusive( &srw );
    ReleaseSRWLockExclusive( &srw );
    return 0;
}

static DWORD act_srw_shared( void )
{
    AcquireSRWLockShared( &srw );
    ReleaseSRWLockShared( &srw );
    return 0;
}

static void release_srw( void )
{
    ReleaseSRWLockExclusive( &srw );
}

static DWORD act_condition_section( void )
{
    BOOL ret = TRUE;

    EnterCriticalSection( &section );
    while (!flag && ret) ret = SleepConditionVariableCS( &condition, &section, KIT_LIMIT );
    LeaveCriticalSection( &section );
    return ret;
}

static DWORD act_condition_srw( void )
{
    BOOL ret = TRUE;

    AcquireSRWLockExclusive( &srw );
    while (!flag && ret) ret = SleepConditionVariableSRW( &condition, &srw, INFINITE, 0 );
    ReleaseSRWLockExclusive( &srw );
    return ret;
}

static void release_condition_section( void )
{
    EnterCriticalSection( &section );
    flag = 1;
    LeaveCriticalSection( &section );
    WakeConditionVariable( &condition );
}

static void release_condition_srw( void )
{
    AcquireSRWLockExclusive( &srw );
    flag = 1;
    ReleaseSRWLockExclusive( &srw );
    WakeAllConditionVariable( &condition );
}

/* the process heap: what "contended heap" comes to in B11 */
static void hold_heap( void )
{
    HeapLock( GetProcessHeap() );
}

static DWORD act_heap( void )
{
    return HeapLock( GetProcessHeap() ) && HeapUnlock( GetProcessHeap() );
}

static void release_heap( void )
{
    HeapUnlock( GetProcessHeap() );
}

BLOCK_TEST( critical_section, setup_section, hold_section, act_section, release_section, 0 )
BLOCK_TEST( srw_exclusive, NULL, hold_srw, act_srw_exclusive, release_srw, 0 )
BLOCK_TEST( srw_shared, NULL, hold_srw, act_srw_shared, release_srw, 0 )
BLOCK_TEST( condition_section, setup_section, NULL, act_condition_section,
            release_condition_section, 1 )
BLOCK_TEST( condition_srw, NULL, NULL, act_condition_srw, release_condition_srw, 1 )
BLOCK_TEST( heap, NULL, hold_heap, act_heap, release_heap, 1 )

/* --- ntdll's own: WaitOnAddress, keyed events --- */

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );
static NTSTATUS (WINAPI *pNtCreateKeyedEvent)( HANDLE *, ACCESS_MASK, void *, ULONG );
static NTSTATUS (WINAPI *pNtWaitForKeyedEvent)( HANDLE, const void *, BOOLEAN, LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtReleaseKeyedEvent)( HANDLE, const void *, BOOLEAN, LARGE_INTEGER * );

static DWORD act_address( void )
{
    LONG zero = 0;
    BOOL ret = TRUE;

    while (!flag && ret) ret = pWaitOnAddress( &flag, &zero, sizeof(flag), INFINITE );
    return ret;
}

static void release_address( void )
{
    flag = 1;
    pWakeByAddressSingle( (void *)&flag );
}

START_TEST( scenario_block_address )
{
    static const struct kind address = { NULL, NULL, act_address, release_address, 1 };
    HMODULE module = GetModuleHandleW( L"kernelbase.dll" );

    pWaitOnAddress = (void *)GetProcAddress( module, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( module, "WakeByAddressSingle" );
    if (!pWaitOnAddress || !pWakeByAddressSingle) skip( "no WaitOnAddress before Windows 8\n" );
    else run_kind( &address );
}

static void setup_keyed( void )
{
    pNtCreateKeyedEvent( &handles[0], EVENT_ALL_ACCESS, NULL, 0 );
}

static DWORD act_keyed( void )
{
    return pNtWaitForKeyedEvent( handles[0], handles, FALSE, NULL );
}

static void release_keyed( void )
{
    pNtReleaseKeyedEvent( handles[0], handles, FALSE, NULL );
}

START_TEST( scenario_block_keyed_event )
{
    static const struct kind keyed = { setup_keyed, NULL, act_keyed, release_keyed, 0 };
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtCreateKeyedEvent = (void *)GetProcAddress( ntdll, "NtCreateKeyedEvent" );
    pNtWaitForKeyedEvent = (void *)GetProcAddress( ntdll, "NtWaitForKeyedEvent" );
    pNtReleaseKeyedEvent = (void *)GetProcAddress( ntdll, "NtReleaseKeyedEvent" );
    if (!pNtCreateKeyedEvent || !pNtWaitForKeyedEvent || !pNtReleaseKeyedEvent)
        skip( "no keyed events\n" );
    else run_kind( &keyed );
}

/* --- I/O --- */

static void setup_pipe( void )
{
    CreatePipe( &handles[0], &handles[1], NULL, 0 );
}

static DWORD act_read( void )
{
    DWORD count = 0;
    char byte = 0;

    if (!ReadFile( handles[0], &byte, 1, &count, NULL )) return 0;
    return count == 1 && byte == 'x';
}

static void release_read( void )
{
    DWORD count;

    WriteFile( handles[1], "x", 1, &count, NULL );
}

/* fill the pipe, write one byte more */
static DWORD act_write( void )
{
    static const char bytes[0x20000];
    DWORD count = 0;

    return WriteFile( handles[1], bytes, sizeof(bytes), &count, NULL ) && count == sizeof(bytes);
}

static void release_write( void )
{
    static char bytes[0x20000];
    DWORD count, total = 0;

    while (total < sizeof(bytes) && ReadFile( handles[0], bytes, sizeof(bytes), &count,
                                              NULL )) total += count;
}

static WCHAR pipe_name[64];

static void setup_named_pipe( void )
{
    swprintf( pipe_name, sizeof(pipe_name) / sizeof(pipe_name[0]),
              L"\\\\.\\pipe\\umstest-scenario-%lu", GetCurrentProcessId() );
    handles[0] = CreateNamedPipeW( pipe_name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE | PIPE_WAIT, 1,
                                   512, 512, 0, NULL );
}

static void setup_named_pair( void )
{
    setup_named_pipe();
    handles[1] = CreateFileW( pipe_name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0,
                              NULL );
}

/* The other end may come before the call waits, if we have been switched out on the way there. */
static DWORD act_connect( void )
{
    return ConnectNamedPipe( handles[0], NULL ) || GetLastError() == ERROR_PIPE_CONNECTED;
}

static void release_connect( void )
{
    handles[1] = CreateFileW( pipe_name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0,
                              NULL );
}

static void setup_port( void )
{
    handles[0] = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
}

static DWORD act_port( void )
{
    OVERLAPPED *overlapped = NULL;
    ULONG_PTR key = 0;
    DWORD bytes = 0;

    if (!GetQueuedCompletionStatus( handles[0], &bytes, &key, &overlapped, KIT_LIMIT )) return 0;
    return bytes == 3 && key == 4 && overlapped == (void *)(ULONG_PTR)0x50;
}

static void release_port( void )
{
    PostQueuedCompletionStatus( handles[0], 3, 4, (void *)(ULONG_PTR)0x50 );
}

static HANDLE open_file( const WCHAR *name, DWORD flags )
{
    DWORD sharing = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

    return CreateFileW( name, GENERIC_READ | GENERIC_WRITE, sharing, NULL, OPEN_EXISTING, flags,
                        NULL );
}

static void setup_file( void )
{
    WCHAR folder[MAX_PATH], name[MAX_PATH];

    GetTempPathW( MAX_PATH, folder );
    GetTempFileNameW( folder, L"ums", 0, name );
    handles[0] = open_file( name, 0 );
    handles[1] = open_file( name, FILE_FLAG_DELETE_ON_CLOSE );
}

static void hold_file( void )
{
    OVERLAPPED overlapped = { 0 };

    LockFileEx( handles[1], LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &overlapped );
}

static DWORD act_file( void )
{
    OVERLAPPED overlapped = { 0 };

    return LockFileEx( handles[0], LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &overlapped );
}

static void release_file( void )
{
    UnlockFile( handles[1], 0, 0, 1, 0 );
}

BLOCK_TEST( pipe_read, setup_pipe, NULL, act_read, release_read, 1 )
BLOCK_TEST( pipe_write, setup_pipe, NULL, act_write, release_write, 1 )
BLOCK_TEST( named_pipe_connect, setup_named_pipe, NULL, act_connect, release_connect, 1 )
BLOCK_TEST( named_pipe_read, setup_named_pair, NULL, act_read, release_read, 1 )
BLOCK_TEST( completion_port, setup_port, NULL, act_port, release_port, 1 )
BLOCK_TEST( file_lock, setup_file, hold_file, act_file, release_file, 1 )

/* --- user APC --- */

static volatile DWORD apc_thread;

static void CALLBACK apc_routine( ULONG_PTR arg )
{
    if (arg == 0x77) apc_thread = GetCurrentThreadId();
}

static DWORD act_apc( void )
{
    DWORD ret = SleepEx( KIT_LIMIT, TRUE );

    return ret == WAIT_IO_COMPLETION && apc_thread == GetCurrentThreadId();
}

static void release_apc( void )
{
    QueueUserAPC( apc_routine, waiter->thread, 0x77 );
}

BLOCK_TEST( apc, NULL, NULL, act_apc, release_apc, 1 )

static DWORD external_body( struct kit_worker *worker )
{
    (void)worker;
    seq = 1;
    act_result = act_wait();
    return 0;
}

/* B30: a plain thread sets the event that the only worker waits for. */
START_TEST( scenario_block_external )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    setup_events();
    act_result = 1;
    sched = kit_add_sched( NULL );
    waiter = kit_add_worker( sched->list, external_body, NULL );
    kit_start();
    ok( kit_wait_value( &seq, 1 ), "the worker did not start\n" );
    ok( !pGetCurrentUmsThread(), "B30: a plain thread has a context\n" );
    SetEvent( handles[0] );
    kit_finish();
    ok( act_result == WAIT_OBJECT_0, "B30: the wait gave %lu\n", act_result );
    kit_check();
}
