/*
 * What SchedulerProc is told and where it runs (ums.md 2.1, 2.2).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

/* ---- Blocked: every way to block, released by the upcall itself, so without the upcall the test
 * would hang ---- */

enum way
{
    WAIT_ONE,
    WAIT_MANY,
    SLEEP,
    SLEEP_EX,
    CRITICAL,
    CONDITION,
    PORT,
    PIPE,
    WAIT_TIMED,
    WAYS
};

static const char *const way_names[] = { "WaitForSingleObject",
                                         "WaitForMultipleObjects",
                                         "Sleep",
                                         "SleepEx",
                                         "contended critical section",
                                         "condition variable",
                                         "GetQueuedCompletionStatus",
                                         "ReadFile of a pipe",
                                         "wait that times out" };

static HANDLE way_event, other_event, way_port, pipe_read, pipe_write, section_owned,
    section_release;
static CRITICAL_SECTION way_section;
static CONDITION_VARIABLE way_condition;
static SRWLOCK way_lock;
static volatile LONG way_released;
static volatile LONG way_now = -1, way_upcalls[WAYS], way_bad_payload[WAYS], way_bad_param[WAYS];
static LONG way_ret[WAYS];

static void release( enum way way )
{
    DWORD written;

    switch (way)
    {
    case WAIT_ONE:
    case WAIT_MANY:
        SetEvent( way_event );
        break;
    case CRITICAL:
        SetEvent( section_release );
        break;
    case CONDITION:
        way_released = 1;
        WakeAllConditionVariable( &way_condition );
        break;
    case PORT:
        PostQueuedCompletionStatus( way_port, 1, 2, NULL );
        break;
    case PIPE:
        WriteFile( pipe_write, "x", 1, &written, NULL );
        break;
    default:
        break;
    }
}

static enum sched_action note_blocked( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                       ULONG_PTR payload, void *param )
{
    LONG way = way_now;

    (void)sched;
    if (reason != UmsSchedulerThreadBlocked || way < 0) return SCHED_DEFAULT;
    if (InterlockedIncrement( &way_upcalls[way] ) > 1) return SCHED_DEFAULT;
    way_bad_payload[way] = payload != 1;
    way_bad_param[way] = param != NULL;
    release( way );
    return SCHED_DEFAULT;
}

static DWORD WINAPI own_section( void *arg )
{
    (void)arg;
    EnterCriticalSection( &way_section );
    SetEvent( section_owned );
    wait_signaled( section_release );
    LeaveCriticalSection( &way_section );
    return 0;
}

static void block_each_way( struct worker *worker )
{
    HANDLE both[2] = { other_event, way_event };
    OVERLAPPED *overlapped;
    ULONG_PTR key = 0;
    DWORD size = 0;
    char c = 0;
    int way;

    (void)worker;
    for (way = 0; way < WAYS; way++)
    {
        pUmsThreadYield( NULL );
        way_now = way;
        switch (way)
        {
        case WAIT_ONE:
            way_ret[way] = WaitForSingleObject( way_event, WAIT_BOUND ) == WAIT_OBJECT_0;
            break;
        case WAIT_MANY:
            way_ret[way] =
                WaitForMultipleObjects( 2, both, FALSE, WAIT_BOUND ) == WAIT_OBJECT_0 + 1;
            break;
        case SLEEP:
            Sleep( 50 );
            way_ret[way] = 1;
            break;
        case SLEEP_EX:
            way_ret[way] = SleepEx( 50, TRUE ) == 0;
            break;
        case CRITICAL:
            EnterCriticalSection( &way_section );
            LeaveCriticalSection( &way_section );
            way_ret[way] = 1;
            break;
        case CONDITION:
            AcquireSRWLockExclusive( &way_lock );
            while (!way_released)
                if (!SleepConditionVariableSRW( &way_condition, &way_lock, WAIT_BOUND, 0 )) break;
            ReleaseSRWLockExclusive( &way_lock );
            way_ret[way] = way_released;
            break;
        case PORT:
            way_ret[way] =
                GetQueuedCompletionStatus( way_port, &size, &key, &overlapped, WAIT_BOUND ) &&
                key == 2;
            break;
        case PIPE:
            way_ret[way] = ReadFile( pipe_read, &c, 1, &size, NULL ) && c == 'x';
            break;
        case WAIT_TIMED:
            way_ret[way] = WaitForSingleObject( other_event, 60 ) == WAIT_TIMEOUT;
            break;
        }
        way_now = -1;
    }
}

/* 2.1 Blocked in a system call: payload exactly 1, param NULL (D4); real blocking gives an upcall
 * (B11, D12) */
START_TEST( upcall_blocked )
{
    static struct sched sched;
    struct worker worker = { 0 };
    HANDLE owner;
    int way;

    way_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    other_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    section_owned = CreateEventA( NULL, FALSE, FALSE, NULL );
    section_release = CreateEventA( NULL, FALSE, FALSE, NULL );
    way_port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 0 );
    CreatePipe( &pipe_read, &pipe_write, NULL, 0 );
    InitializeCriticalSection( &way_section );
    InitializeConditionVariable( &way_condition );
    InitializeSRWLock( &way_lock );
    owner = CreateThread( NULL, 0, own_section, NULL, 0, NULL );
    ok( WaitForSingleObject( section_owned, WAIT_BOUND ) == WAIT_OBJECT_0, "section not owned\n" );

    if (!sched_init( &sched )) return;
    sched.hook = note_blocked;
    if (!ok( worker_create( &worker, sched.list, block_each_way, NULL, 0 ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    for (way = 0; way < WAYS; way++)
    {
        push( "2.1 %s", way_names[way] );
        ok( way_upcalls[way] >= 1, "no Blocked upcall\n" );
        ok( !way_bad_payload[way], "payload is not 1\n" );
        ok( !way_bad_param[way], "SchedulerParam is not NULL\n" );
        ok( way_ret[way], "the call itself failed\n" );
        pop();
    }
    wait_signaled( owner );
    sched_free( &sched );
}

/* ---- termination ---- */

static volatile LONG end_upcalls;
static volatile ULONG_PTR end_payload, end_param;

static enum sched_action note_end( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                   ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    if (reason != UmsSchedulerThreadBlocked || !worker->finished) return SCHED_DEFAULT;
    end_payload = payload;
    end_param = (ULONG_PTR)param;
    InterlockedIncrement( &end_upcalls );
    return SCHED_DEFAULT;
}

/* 2.1, 1.3, B18 the end of a worker: a Blocked upcall, the context on the list, IsTerminated set;
 * payload 1 [guess] */
START_TEST( upcall_termination )
{
    static struct sched sched;
    struct worker worker = { 0 };

    if (!sched_init( &sched )) return;
    sched.hook = note_end;
    sched.user = &worker;
    if (!ok( worker_create( &worker, sched.list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    ok( end_upcalls >= 1, "2.1 no Blocked upcall at the end of a worker\n" );
    unverified ok( end_payload == 1, "2.1 payload at the end: %llu\n", (ULONGLONG)end_payload );
    ok( end_param == 0, "2.1 SchedulerParam at the end: %#llx\n", (ULONGLONG)end_param );
    ok( sched.ended == 1, "1.3 came off the list terminated %ld times, expected 1\n", sched.ended );
    ok( !sched.upcalls[UmsSchedulerThreadYield],
        "2.1 %ld Yield upcalls of a worker that never yielded\n",
        sched.upcalls[UmsSchedulerThreadYield] );
    sched_free( &sched );
}

/* ---- identity ---- */

#define IDENTITY_ROUNDS 20

static DWORD identity_slot;
static struct sched identity_scheds[2];
static volatile LONG identity_upcalls, wrong_tid, wrong_tls, wrong_teb, wrong_context;
static void *identity_teb[2];

static enum sched_action note_identity( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                        ULONG_PTR payload, void *param )
{
    int self = sched == &identity_scheds[1];

    (void)param;
    if (reason == UmsSchedulerStartup)
    {
        TlsSetValue( identity_slot, sched );
        identity_teb[self] = current_teb();
    }
    InterlockedIncrement( &identity_upcalls );
    if (TlsGetValue( identity_slot ) != sched) InterlockedIncrement( &wrong_tls );
    if (GetCurrentThreadId() != sched->tid) InterlockedIncrement( &wrong_tid );
    if (current_teb() != identity_teb[self]) InterlockedIncrement( &wrong_teb );
    if (pGetCurrentUmsThread() != sched->own) InterlockedIncrement( &wrong_context );
    if (reason != UmsSchedulerThreadYield) return SCHED_DEFAULT;
    /* hand it to the other scheduler: B27 */
    sched_give( &identity_scheds[!self], (PUMS_CONTEXT)payload );
    return SCHED_HOLD;
}

static void stop_both( struct sched *sched, PUMS_CONTEXT context )
{
    (void)sched;
    if (context_is_terminated( context ) != 1) return;
    sched_stop( &identity_scheds[0] );
    sched_stop( &identity_scheds[1] );
}

static void check_identity( struct worker *worker )
{
    const NT_TIB *tib = current_teb();
    void *teb = current_teb();
    ULONG_PTR local;
    int i;

    TlsSetValue( identity_slot, worker );
    for (i = 0; i < IDENTITY_ROUNDS; i++)
    {
        worker->result[0] += pUmsThreadYield( NULL ) != 0;
        worker->result[1] += TlsGetValue( identity_slot ) != worker;
        worker->result[2] += GetCurrentThreadId() != worker->tid;
        worker->result[3] += current_teb() != teb;
        worker->result[4] += pGetCurrentUmsThread() != worker->context;
        worker->result[5] += (ULONG_PTR)&local >= (ULONG_PTR)tib->StackBase ||
                             (ULONG_PTR)&local < (ULONG_PTR)tib->StackLimit;
        if (i % 4 == 3) Sleep( 1 );
    }
}

/* 2.2, B23, B27 TEB, TLS and thread id: the scheduler's in an upcall, the worker's on the worker,
 * on any scheduler */
START_TEST( upcall_identity )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    int i;

    identity_slot = TlsAlloc();
    for (i = 0; i < 2; i++)
    {
        identity_scheds[i].list = list;
        identity_scheds[i].hook = note_identity;
        identity_scheds[i].on_item = stop_both;
        if (!sched_init( &identity_scheds[i] ) || !sched_start( &identity_scheds[i] )) return;
    }
    if (!ok( worker_create( &worker, list, check_identity, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    for (i = 0; i < 2; i++)
    {
        sched_join( &identity_scheds[i] );
        sched_check( &identity_scheds[i] );
        ok( identity_scheds[i].upcalls[UmsSchedulerThreadYield] > 0, "scheduler %d had no yield\n",
            i );
    }
    ok( worker.finished && worker.result[0] == IDENTITY_ROUNDS, "%llu yields returned TRUE\n",
        (ULONGLONG)worker.result[0] );
    ok( !wrong_tls, "2.2 in %ld of %ld upcalls the TLS was not the scheduler's\n", wrong_tls,
        identity_upcalls );
    ok( !wrong_tid, "2.2 in %ld of %ld upcalls the thread id was not the scheduler's\n", wrong_tid,
        identity_upcalls );
    ok( !wrong_teb, "2.2 in %ld of %ld upcalls the TEB was not the scheduler's\n", wrong_teb,
        identity_upcalls );
    ok( !wrong_context, "2.2 in %ld of %ld upcalls the context was not the scheduler's\n",
        wrong_context, identity_upcalls );
    ok( !worker.result[1], "2.2 the worker lost its TLS\n" );
    ok( !worker.result[2], "2.2 the worker's thread id changed\n" );
    ok( !worker.result[3], "2.2 the worker's TEB changed\n" );
    ok( !worker.result[4], "2.2 the worker's context changed\n" );
    ok( !worker.result[5], "2.2 the worker is not on its own stack\n" );
    ok( worker_wait( &worker, WAIT_BOUND ), "still there after %d ms\n", WAIT_BOUND );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    for (i = 0; i < 2; i++) sched_free( &identity_scheds[i] );
    pDeleteUmsCompletionList( list );
    TlsFree( identity_slot );
}

/* ---- waits of the scheduler ---- */

static volatile LONG own_wait, own_sleep;
static HANDLE never;

static enum sched_action wait_in_upcall( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                         ULONG_PTR payload, void *param )
{
    ULONGLONG start = clock_ms();

    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked) return SCHED_DEFAULT;
    own_wait += WaitForSingleObject( never, 20 ) == WAIT_TIMEOUT;
    Sleep( 20 );
    own_sleep += clock_ms() - start + 1 >= 40;
    SwitchToThread();
    Sleep( 0 );
    return SCHED_DEFAULT;
}

static void yield_once( struct worker *worker )
{
    worker->result[0] = pUmsThreadYield( NULL );
}

/* 2.2, B5, B25 waits made by SchedulerProc itself block normally and give no upcall */
START_TEST( upcall_waits )
{
    static struct sched sched;
    struct worker worker = { 0 };

    never = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = wait_in_upcall;
    if (!ok( worker_create( &worker, sched.list, yield_once, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    ok( own_wait == 2 && own_sleep == 2, "2.2 %ld of 2 waits timed out, %ld of 2 lasted\n",
        own_wait, own_sleep );
    ok( sched.upcalls[UmsSchedulerThreadYield] == 1, "2.2 %ld Yield upcalls, expected 1\n",
        sched.upcalls[UmsSchedulerThreadYield] );
    CloseHandle( never );
    sched_free( &sched );
}

/* ---- locks ---- */

static volatile LONG heap_calls_done;

static enum sched_action use_all( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                  ULONG_PTR payload, void *param )
{
    void *value = sched;
    PUMS_CONTEXT first, own = pGetCurrentUmsThread();

    (void)param;
    if (reason != UmsSchedulerThreadYield) return SCHED_DEFAULT;
    context_is_suspended( (PUMS_CONTEXT)payload );
    context_is_terminated( (PUMS_CONTEXT)payload );
    context_user( own );
    pSetUmsThreadInformation( own, UmsThreadUserContext, &value, sizeof(value) );
    pDequeueUmsCompletionListItems( sched->list, 0, &first );
    heap_calls_done++;
    return SCHED_DEFAULT;
}

static void yield_with_heap_lock( struct worker *worker )
{
    int i;

    HeapLock( GetProcessHeap() );
    for (i = 0; i < 5; i++) worker->result[0] += pUmsThreadYield( NULL ) != 0;
    HeapUnlock( GetProcessHeap() );
}

/* 2.2, 1.6, B29 execute, yield, query, set, dequeue(0) and upcalls while a worker holds the process
 * heap's lock */
START_TEST( upcall_heap_locked )
{
    static struct sched sched;
    struct worker worker = { 0 };

    if (!sched_init( &sched )) return;
    sched.hook = use_all;
    if (!ok( worker_create( &worker, sched.list, yield_with_heap_lock, NULL, 0 ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    ok( heap_calls_done == 5, "2.2 %ld upcalls with the heap locked, expected 5\n",
        heap_calls_done );
    sched_free( &sched );
}
