/*
 * ntdll's Rtl layer and NtUmsThreadYield (ums.md 4.2).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

#define STATUS( expr, expected ) \
    do \
    { \
        NTSTATUS s_ = (expr); \
        ok( s_ == (expected), "4.2 %s: expected %08lx, got %08lx\n", #expr, (ULONG)( expected ), \
            (ULONG)s_ ); \
    } while (0)

#define UNVERIFIED_STATUS( expr, expected ) \
    do \
    { \
        NTSTATUS s_ = (expr); \
        unverified ok( s_ == (expected), "4.2 %s: expected %08lx, got %08lx\n", #expr, \
                       (ULONG)( expected ), (ULONG)s_ ); \
    } while (0)

static BOOL need_all( void )
{
#define X( ret, name, args ) if (!need( name )) return FALSE;
    UMS_NTDLL_EXPORTS( X )
#undef X
    return TRUE;
}

/* 4.2 lists */
START_TEST( native_list )
{
    void *list = NULL, *first = (void *)(ULONG_PTR)POISON;
    LARGE_INTEGER timeout;
    HANDLE event = NULL;
    ULONGLONG start;
    FILETIME now;

    if (!need_all()) return;
    STATUS( pRtlCreateUmsCompletionList( &list ), STATUS_SUCCESS );
    ok( list != NULL, "4.2 no list\n" );
    timeout.QuadPart = 0;
    STATUS( pRtlDequeueUmsCompletionListItems( list, &timeout, &first ), STATUS_TIMEOUT );
    ok( first == NULL, "4.2 an empty list gave %p\n", first );
    first = (void *)(ULONG_PTR)POISON;
    timeout.QuadPart = -500000;
    start = clock_ms();
    STATUS( pRtlDequeueUmsCompletionListItems( list, &timeout, &first ), STATUS_TIMEOUT );
    ok( clock_ms() - start + 1 >= 50, "4.2 back before 50 ms\n" );
    ok( first == NULL, "4.2 an empty list gave %p\n", first );
    /* positive time-outs are absolute, as in the host's waits [guess: nobody documents these functions] */
    timeout.QuadPart = 1;                       /* in 1601 */
    unverified ok( pRtlDequeueUmsCompletionListItems( list, &timeout, &first ) == STATUS_TIMEOUT,
                   "4.2 a time that is over\n" );
    start = clock_ms();
    GetSystemTimeAsFileTime( &now );
    timeout.QuadPart = ((LONGLONG)now.dwHighDateTime << 32 | now.dwLowDateTime) + 500000;
    unverified ok( pRtlDequeueUmsCompletionListItems( list, &timeout, &first ) == STATUS_TIMEOUT,
                   "4.2 a time to come\n" );
    start = clock_ms() - start;
    /* a clock tick less is allowed */
    unverified ok( start + 20 >= 50, "4.2 back after %llu ms, 50 ms were left\n", start );
    STATUS( pRtlDequeueUmsCompletionListItems( NULL, &timeout, &first ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlDequeueUmsCompletionListItems( list, &timeout, NULL ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlGetUmsCompletionListEvent( list, &event ), STATUS_SUCCESS );
    ok( WaitForSingleObject( event, 0 ) == WAIT_TIMEOUT, "4.2 the event of a new list\n" );
    ok( CloseHandle( event ), "4.2 close: error %lu\n", GetLastError() );
    STATUS( pRtlGetUmsCompletionListEvent( NULL, &event ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlGetUmsCompletionListEvent( list, NULL ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlDeleteUmsCompletionList( NULL ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlDeleteUmsCompletionList( list ), STATUS_SUCCESS );
}

struct endless
{
    void *list, *first;
    LARGE_INTEGER timeout;
    HANDLE ready;
    NTSTATUS status;
};

static DWORD WINAPI wait_endless( void *arg )
{
    struct endless *wait = arg;

    SetEvent( wait->ready );
    wait->status = pRtlDequeueUmsCompletionListItems( wait->list, &wait->timeout, &wait->first );
    return 0;
}

/* 4.2 The longest times are not over at once. The smallest number is no limit [guess: as in the host's waits]. */
START_TEST( native_list_never )
{
    static const LONGLONG never[] = { MINLONGLONG, MINLONGLONG + 1, MAXLONGLONG };
    unsigned int i;

    if (!need_all()) return;
    for (i = 0; i < ARRAYSIZE(never); i++)
    {
        struct endless wait = { .list = list_create(), .timeout = { .QuadPart = never[i] } };
        struct worker worker = { 0 };
        HANDLE thread;

        wait.ready = CreateEventA( NULL, FALSE, FALSE, NULL );
        thread = CreateThread( NULL, 0, wait_endless, &wait, 0, NULL );
        wait_signaled( wait.ready );
        Sleep( 20 );                            /* to have it wait; no check depends on it */
        ok( worker_create( &worker, wait.list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() );
        ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0, "4.2 time-out %u: it still waits\n", i );
        unverified ok( !wait.status && wait.first == worker.context, "4.2 time-out %u: %08lx, %p, expected %p\n", i,
                       (ULONG)wait.status, wait.first, worker.context );
        finish_workers( wait.list, &worker, 1, 1 );
        ok( worker_delete( &worker ), "not deleted, error %lu\n", GetLastError() );
        CloseHandle( thread );
        CloseHandle( wait.ready );
        pDeleteUmsCompletionList( wait.list );
    }
}

/* 4.2 contexts and their information */
START_TEST( native_context )
{
    void *context = NULL, *value = (void *)(ULONG_PTR)POISON, *next = (void *)(ULONG_PTR)POISON;
    ULONG length = POISON;
    BOOLEAN flag = 0xcc;

    if (!need_all()) return;
    STATUS( pRtlCreateUmsThreadContext( &context ), STATUS_SUCCESS );
    ok( context != NULL, "4.2 no context\n" );
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadUserContext, &value, 8, &length ),
            STATUS_SUCCESS );
    ok( !value && length == 8, "4.2 UserContext %p, length %lu\n", value, length );
    value = &context;
    STATUS( pRtlSetUmsThreadInformation( context, UmsThreadUserContext, &value, 8 ),
            STATUS_SUCCESS );
    value = NULL;
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadUserContext, &value, 8, NULL ),
            STATUS_SUCCESS );
    ok( value == &context, "4.2 UserContext %p\n", value );
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadIsTerminated, &flag, 1, &length ),
            STATUS_SUCCESS );
    ok( flag == 1 && length == 1, "4.2 IsTerminated %u, length %lu\n", flag, length );
    length = POISON;
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadUserContext, &value, 4, &length ),
            STATUS_INFO_LENGTH_MISMATCH );
    ok( length == 0, "4.2 return length of a failed query: %lu\n", length );
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadUserContext, &value, 16, &length ),
            STATUS_INFO_LENGTH_MISMATCH );
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadIsSuspended, &flag, 4, &length ),
            STATUS_INFO_LENGTH_MISMATCH );
    STATUS( pRtlQueryUmsThreadInformation( context, UmsThreadPriority, &value, 8, &length ),
            STATUS_NOT_SUPPORTED );
    STATUS( pRtlQueryUmsThreadInformation( context, 0, &value, 8, &length ), STATUS_NOT_SUPPORTED );
    STATUS( pRtlQueryUmsThreadInformation( context, 7, &value, 8, &length ), STATUS_NOT_SUPPORTED );
    STATUS( pRtlSetUmsThreadInformation( context, UmsThreadUserContext, &value, 4 ),
            STATUS_INFO_LENGTH_MISMATCH );
    STATUS( pRtlSetUmsThreadInformation( context, UmsThreadTeb, &value, 8 ), STATUS_NOT_SUPPORTED );
    STATUS( pRtlSetUmsThreadInformation( context, UmsThreadIsTerminated, &flag, 1 ),
            STATUS_NOT_SUPPORTED );
    STATUS( pRtlGetNextUmsListItem( context, &next ), STATUS_SUCCESS );
    ok( next == NULL, "4.2 successor of a new context: %p\n", next );
    STATUS( pRtlGetNextUmsListItem( NULL, &next ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlDeleteUmsThreadContext( NULL ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlDeleteUmsThreadContext( context ), STATUS_SUCCESS );
    if (!umstest_is_shim()) return;
    UNVERIFIED_STATUS( pRtlDeleteUmsThreadContext( context ), STATUS_INVALID_PARAMETER );
    UNVERIFIED_STATUS(
        pRtlQueryUmsThreadInformation( context, UmsThreadUserContext, &value, 8, NULL ),
        STATUS_INVALID_PARAMETER );
}

/* 4.2 what a plain thread gets */
START_TEST( native_plain_thread )
{
    UMS_SCHEDULER_STARTUP_INFO info = { 0, NULL, NULL, NULL };
    void *current = (void *)(ULONG_PTR)POISON, *list = NULL, *context = NULL;

    if (!need_all()) return;
    STATUS( pRtlGetCurrentUmsThread( &current ), STATUS_NOT_SUPPORTED );
    ok( current == NULL, "4.2 current context of a plain thread: %p\n", current );
    STATUS( pRtlGetCurrentUmsThread( NULL ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlExecuteUmsThread( NULL ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlCreateUmsThreadContext( &context ), STATUS_SUCCESS );
    STATUS( pRtlExecuteUmsThread( context ), STATUS_NOT_SUPPORTED );
    STATUS( pRtlDeleteUmsThreadContext( context ), STATUS_SUCCESS );
    STATUS( pRtlEnterUmsSchedulingMode( &info ), STATUS_INVALID_PARAMETER );
    info.UmsVersion = UMS_VERSION;
    STATUS( pRtlEnterUmsSchedulingMode( &info ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlCreateUmsCompletionList( &list ), STATUS_SUCCESS );
    info.CompletionList = list;
    info.UmsVersion = 0x101;
    STATUS( pRtlEnterUmsSchedulingMode( &info ), STATUS_INVALID_PARAMETER );
    STATUS( pRtlDeleteUmsCompletionList( list ), STATUS_SUCCESS );
    if (umstest_is_shim())
        UNVERIFIED_STATUS( pRtlUmsThreadYield( NULL ), STATUS_INVALID_PARAMETER );
    UNVERIFIED_STATUS( pNtUmsThreadYield( NULL ), STATUS_INVALID_PARAMETER );
    UNVERIFIED_STATUS( pZwUmsThreadYield( NULL ), STATUS_INVALID_PARAMETER );
}

/* ---- a whole life in the native face ---- */

static struct
{
    NTSTATUS current, yield, execute_null, execute_own, enter, next, dequeue;
    void    *own;
    LONG     upcalls[3];
    ULONG_PTR payload;
    void    *param;
} seen;

static struct
{
    NTSTATUS yields[3], current, execute, enter;
    void    *own;
} worker_seen;

static UMS_SCHEDULER_STARTUP_INFO native_info;
static struct worker native_worker;

static void WINAPI native_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    void *context = NULL, *next = NULL;
    LARGE_INTEGER timeout;
    NTSTATUS status;
    ULONGLONG start = GetTickCount64();

    if ((ULONG)reason <= 2) InterlockedIncrement( &seen.upcalls[reason] );
    if (reason == UmsSchedulerStartup)
    {
        seen.current = pRtlGetCurrentUmsThread( &seen.own );
        seen.yield = pRtlUmsThreadYield( NULL );
        seen.execute_null = pRtlExecuteUmsThread( NULL );
        seen.execute_own = pRtlExecuteUmsThread( seen.own );
        seen.enter = pRtlEnterUmsSchedulingMode( &native_info );
    }
    if (reason == UmsSchedulerThreadYield)
    {
        seen.payload = payload;
        seen.param = param;
        context = (void *)payload;
    }
    timeout.QuadPart = -100000;
    while (!context && GetTickCount64() - start < WAIT_BOUND)
        seen.dequeue =
            pRtlDequeueUmsCompletionListItems( native_info.CompletionList, &timeout, &context );
    if (!context) return;
    seen.next = pRtlGetNextUmsListItem( context, &next );
    if (context_is_terminated( context )) return;
    while ((status = pRtlExecuteUmsThread( context )) == STATUS_RETRY && GetTickCount64() - start < 2 * WAIT_BOUND)
        umstest_refused( ERROR_RETRY );
    seen.dequeue = status;
}

static void native_body( struct worker *worker )
{
    worker_seen.current = pRtlGetCurrentUmsThread( &worker_seen.own );
    worker_seen.execute = pRtlExecuteUmsThread( worker->context );
    worker_seen.enter = pRtlEnterUmsSchedulingMode( &native_info );
    worker_seen.yields[0] = pRtlUmsThreadYield( worker );
    worker_seen.yields[1] = pNtUmsThreadYield( worker );
    worker_seen.yields[2] = pZwUmsThreadYield( worker );
}

/* 4.2 scheduler and worker by Rtl calls; NtUmsThreadYield does what RtlUmsThreadYield does */
START_TEST( native_run )
{
    int i;

    if (!need_all()) return;
    STATUS( pRtlCreateUmsCompletionList( &native_info.CompletionList ), STATUS_SUCCESS );
    native_info.UmsVersion = UMS_VERSION;
    native_info.SchedulerProc = native_proc;
    if (!ok( worker_create( &native_worker, native_info.CompletionList, native_body, NULL, 0 ),
             "no worker, error %lu\n", GetLastError() )) return;
    memset( &worker_seen, 0xcc, sizeof(worker_seen) );
    STATUS( pRtlEnterUmsSchedulingMode( &native_info ), STATUS_SUCCESS );

    STATUS( seen.current, STATUS_SUCCESS );
    ok( seen.own != NULL && seen.own != native_worker.context, "4.2 scheduler's context %p\n",
        seen.own );
    STATUS( seen.yield, STATUS_INVALID_PARAMETER );
    STATUS( seen.execute_null, STATUS_INVALID_PARAMETER );
    UNVERIFIED_STATUS( seen.execute_own, STATUS_INVALID_PARAMETER );
    STATUS( seen.enter, STATUS_NOT_SUPPORTED );
    STATUS( seen.next, STATUS_SUCCESS );
    STATUS( seen.dequeue, STATUS_SUCCESS );
    ok( seen.upcalls[UmsSchedulerStartup] == 1, "4.2 %ld Startup upcalls\n",
        seen.upcalls[UmsSchedulerStartup] );
    ok( seen.upcalls[UmsSchedulerThreadYield] == 3, "4.2 %ld Yield upcalls, expected 3\n",
        seen.upcalls[UmsSchedulerThreadYield] );
    ok( seen.payload == (ULONG_PTR)native_worker.context && seen.param == &native_worker,
        "4.2 payload %#llx param %p\n", (ULONGLONG)seen.payload, seen.param );
    STATUS( worker_seen.current, STATUS_SUCCESS );
    ok( worker_seen.own == native_worker.context, "4.2 worker's context %p\n", worker_seen.own );
    STATUS( worker_seen.execute, STATUS_NOT_SUPPORTED );
    STATUS( worker_seen.enter, STATUS_NOT_SUPPORTED );
    for (i = 0; i < 3; i++) STATUS( worker_seen.yields[i], STATUS_SUCCESS );
    ok( native_worker.finished, "4.2 the worker did not finish\n" );
    STATUS( pRtlDeleteUmsThreadContext( native_worker.context ), STATUS_SUCCESS );
    STATUS( pRtlDeleteUmsCompletionList( native_info.CompletionList ), STATUS_SUCCESS );
    CloseHandle( native_worker.thread );
}

/* ---- statuses of a failed execute ---- */

static NTSTATUS execute_status;

static void execute_native( void *arg )
{
    execute_status = pRtlExecuteUmsThread( arg );
}

static volatile LONG spin_running, spin_end;

static void spin( struct worker *worker )
{
    (void)worker;
    spin_running = 1;
    while (!spin_end) YieldProcessor();
}

/* 1.5, 4.2, 1.9 terminated, suspended: STATUS_INVALID_THREAD; no thread: INVALID_PARAMETER;
 * elsewhere: INTERNAL_ERROR */
START_TEST( native_execute_status )
{
    static struct sched sched;
    struct worker worker = { 0 };
    void *context = NULL;
    ULONGLONG start;

    if (!need_all() || !sched_init( &sched )) return;
    STATUS( pRtlCreateUmsThreadContext( &context ), STATUS_SUCCESS );
    on_scheduler( execute_native, context );
    STATUS( execute_status, STATUS_INVALID_PARAMETER );
    pRtlDeleteUmsThreadContext( context );

    if (!ok( worker_create( &worker, sched.list, spin, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( sched.list ) == worker.context, "not queued\n" );
    SuspendThread( worker.thread );
    on_scheduler( execute_native, worker.context );
    STATUS( execute_status, STATUS_INVALID_THREAD );
    ResumeThread( worker.thread );

    sched.expect = 1;
    sched_give( &sched, worker.context );
    if (!sched_start( &sched )) return;
    start = GetTickCount64();
    while (!spin_running && GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
    on_scheduler( execute_native, worker.context );
    STATUS( execute_status, STATUS_INTERNAL_ERROR );
    STATUS( pRtlDeleteUmsThreadContext( worker.context ), STATUS_INVALID_PARAMETER );
    spin_end = 1;
    sched_join( &sched );
    on_scheduler( execute_native, worker.context );
    STATUS( execute_status, STATUS_INVALID_THREAD );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
}
