/*
 * SuspendThread and ResumeThread on workers (ums.md 1.5, 5, 10).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

struct target
{
    PUMS_CONTEXT   context;
    struct outcome outcome;
};

static void execute_target( void *arg )
{
    struct target *target = arg;

    OUTCOME( target->outcome, pExecuteUmsThread( target->context ) );
}

static HANDLE yielded_event;

static enum sched_action hold_yielded( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                       ULONG_PTR payload, void *param )
{
    (void)sched; (void)payload; (void)param;
    if (reason != UmsSchedulerThreadYield) return SCHED_DEFAULT;
    SetEvent( yielded_event );
    return SCHED_LEAVE;
}

static void yield_once( struct worker *worker )
{
    worker->result[0] = pUmsThreadYield( NULL );
}

/* Suspend and resume a worker that is parked and on no list. */
static void check_parked( struct worker *worker, PUMS_COMPLETION_LIST list )
{
    struct target target = { worker->context, { 0, 0 } };
    DWORD count;

    ok( context_is_suspended( worker->context ) == 0, "IsSuspended before\n" );
    count = SuspendThread( worker->thread );
    ok( count == 0, "SuspendThread: previous count %ld, error %lu\n", count, GetLastError() );
    ok( context_gets_suspended( worker->context, 1 ), "IsSuspended is %d after SuspendThread\n",
        context_is_suspended( worker->context ) );
    ok( context_is_terminated( worker->context ) == 0, "IsTerminated after SuspendThread\n" );
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER, "Execute of a suspended worker" );

    count = SuspendThread( worker->thread );
    ok( count == 1, "second SuspendThread: previous count %ld\n", count );
    count = ResumeThread( worker->thread );
    ok( count == 2, "first ResumeThread: previous count %ld\n", count );
    ok( context_gets_suspended( worker->context, 1 ), "IsSuspended is %d while the count is 1\n",
        context_is_suspended( worker->context ) );
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER, "Execute while the count is 1" );

    count = ResumeThread( worker->thread );
    ok( count == 1, "last ResumeThread: previous count %ld\n", count );
    ok( context_gets_suspended( worker->context, 0 ), "IsSuspended is %d after ResumeThread\n",
        context_is_suspended( worker->context ) );
    ok( list_stays_empty( list, 100 ), "queued again on resume\n" );
}

/* 1.5, 5, B8 a parked worker that never ran: suspended, Execute 87, not re-queued on resume, then
 * runs */
START_TEST( suspend_queued )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( list ) == worker.context, "not queued\n" );
    push( "5 fresh worker" );
    check_parked( &worker, list );
    pop();
    ok( !worker.started, "5 it ran\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.finished, "5 it did not run after resume\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* the same for one that yielded */
START_TEST( suspend_yielded )
{
    static struct sched sched;
    struct worker worker = { 0 };

    yielded_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = hold_yielded;
    if (!ok( worker_create( &worker, sched.list, yield_once, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    sched_run( &sched );
    ok( WaitForSingleObject( yielded_event, 0 ) == WAIT_OBJECT_0, "it did not yield\n" );
    push( "5 yielded worker" );
    check_parked( &worker, sched.list );
    pop();
    ok( !worker.result[0], "5 it went on\n" );
    finish_workers( sched.list, &worker, 1, 1 );
    ok( worker.result[0] == 1 && worker.finished, "5 it did not go on after resume\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
    CloseHandle( yielded_event );
}

/* 5, B8 a scheduler that meets a suspended worker keeps it, polls, and runs it after resume (C1,
 * D1) */
START_TEST( suspend_polled )
{
    static struct sched sched;
    struct worker worker = { 0 };
    ULONGLONG start;

    if (!sched_init( &sched )) return;
    if (!ok( worker_create( &worker, sched.list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( sched.list ) == worker.context, "not queued\n" );
    ok( SuspendThread( worker.thread ) == 0, "5 SuspendThread: error %lu\n", GetLastError() );
    sched.expect = 1;
    sched_give( &sched, worker.context );
    if (!sched_start( &sched )) return;
    start = GetTickCount64();
    while (!sched.suspended_seen && GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
    ok( sched.suspended_seen, "5 no Execute failed for suspension\n" );
    ok( !worker.started, "5 a suspended worker ran\n" );
    ok( ResumeThread( worker.thread ) == 1, "5 ResumeThread\n" );
    sched_join( &sched );
    sched_check( &sched );
    ok( worker.finished, "5 it did not run after resume\n" );
    ok( sched.ended == 1, "5 %ld ended, expected 1\n", sched.ended );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
}

/* ---- running in user mode ---- */

static volatile LONG spin_running, spin_end, spin_count, spin_blocked, spin_items;
static volatile ULONG_PTR spin_payload;
static HANDLE spin_event, item_event;

static void spin( struct worker *worker )
{
    (void)worker;
    spin_running = 1;
    while (!spin_end) spin_count++;     /* no system call */
}

static enum sched_action note_blocked( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                       ULONG_PTR payload, void *param )
{
    (void)sched; (void)param;
    if (reason != UmsSchedulerThreadBlocked || !spin_running || spin_end) return SCHED_DEFAULT;
    spin_payload = payload;
    InterlockedIncrement( &spin_blocked );
    SetEvent( spin_event );
    return SCHED_DEFAULT;
}

static void note_item( struct sched *sched, PUMS_CONTEXT context )
{
    (void)sched;
    if (!spin_blocked || context_is_terminated( context ) == 1) return;
    InterlockedIncrement( &spin_items );
    SetEvent( item_event );
}

/* 5, 2.1 suspended while it runs in user mode: Blocked upcall with payload 0; queued to the list on
 * resume [seen] */
START_TEST( suspend_running )
{
    static struct sched sched;
    struct worker worker = { 0 };
    ULONGLONG start;
    LONG count;

    spin_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    item_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = note_blocked;
    sched.on_item = note_item;
    sched.expect = 1;
    if (!ok( worker_create( &worker, sched.list, spin, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    if (!sched_start( &sched )) return;
    start = GetTickCount64();
    while (!spin_running && GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
    ok( spin_running, "it does not run after %d ms\n", WAIT_BOUND );

    ok( SuspendThread( worker.thread ) == 0, "5 SuspendThread: error %lu\n", GetLastError() );
    ok( WaitForSingleObject( spin_event, WAIT_BOUND / 2 ) == WAIT_OBJECT_0,
        "5 no Blocked upcall within %d ms\n", WAIT_BOUND / 2 );
    ok( spin_payload == 0, "2.1 payload %llu, expected 0: blocked on an interrupt\n",
        (ULONGLONG)spin_payload );
    ok( context_is_suspended( worker.context ) == 1, "5 IsSuspended is %d\n",
        context_is_suspended( worker.context ) );
    count = spin_count;
    ok( WaitForSingleObject( item_event, 100 ) == WAIT_TIMEOUT, "5 queued while suspended\n" );
    ok( spin_count == count, "5 it runs while suspended\n" );

    ok( ResumeThread( worker.thread ) == 1, "5 ResumeThread: error %lu\n", GetLastError() );
    ok( WaitForSingleObject( item_event, WAIT_BOUND / 2 ) == WAIT_OBJECT_0,
        "5 not queued within %d ms after resume\n", WAIT_BOUND / 2 );
    ok( spin_items <= 1, "B9 queued %ld times for one block\n", spin_items );
    ok( context_is_suspended( worker.context ) == 0, "5 IsSuspended is %d after resume\n",
        context_is_suspended( worker.context ) );
    start = GetTickCount64();
    while (spin_count == count && GetTickCount64() - start < WAIT_BOUND / 2) SwitchToThread();
    ok( spin_count != count, "5 it does not run after resume\n" );
    spin_end = 1;
    sched_join( &sched );
    sched_check( &sched );
    ok( worker.finished, "it did not finish\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
    CloseHandle( spin_event );
    CloseHandle( item_event );
}

/* ---- blocked ---- */

static HANDLE wait_event, blocked_event;
static volatile LONG wait_items;

static enum sched_action note_waiting( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                       ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && worker->result[0]) SetEvent( blocked_event );
    return SCHED_DEFAULT;
}

static void count_item( struct sched *sched, PUMS_CONTEXT context )
{
    struct worker *worker = sched->user;

    (void)context;
    if (worker->result[0] && !worker->finished) InterlockedIncrement( &wait_items );
}

static void wait_once( struct worker *worker )
{
    worker->result[0] = 1;
    worker->result[1] = WaitForSingleObject( wait_event, WAIT_BOUND );
}

/* 5 suspended while blocked: it cannot reach its parking place until resumed [guess]; it is not
 * lost, and comes once */
START_TEST( suspend_blocked )
{
    static struct sched sched;
    struct worker worker = { 0 };

    wait_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    blocked_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = note_waiting;
    sched.on_item = count_item;
    sched.user = &worker;
    sched.expect = 1;
    if (!ok( worker_create( &worker, sched.list, wait_once, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    if (!sched_start( &sched )) return;
    ok( WaitForSingleObject( blocked_event, WAIT_BOUND ) == WAIT_OBJECT_0,
        "no Blocked upcall within %d ms\n", WAIT_BOUND );
    ok( SuspendThread( worker.thread ) == 0, "5 SuspendThread: error %lu\n", GetLastError() );
    ok( context_gets_suspended( worker.context, 1 ),
        "5 IsSuspended of a blocked, suspended worker: %d\n",
        context_is_suspended( worker.context ) );
    SetEvent( wait_event );
    ok( !worker_wait( &worker, 100 ) && !worker.finished, "5 it went on while suspended\n" );
    ok( ResumeThread( worker.thread ) == 1, "5 ResumeThread: error %lu\n", GetLastError() );
    sched_join( &sched );
    sched_check( &sched );
    ok( worker.finished && worker.result[1] == WAIT_OBJECT_0, "5 the wait gave %llu\n",
        (ULONGLONG)worker.result[1] );
    unverified ok( wait_items == 1, "5 queued %ld times for one block\n", wait_items );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
    CloseHandle( wait_event );
    CloseHandle( blocked_event );
}

/* ---- GetThreadContext on a suspended, parked worker ---- */

/* 3 the handle is good for GetThreadContext; the context shows the worker's own stack [guess] */
START_TEST( suspend_get_context )
{
    static struct sched sched;
    struct worker worker = { 0 };
    MEMORY_BASIC_INFORMATION stack, place;
    static CONTEXT context;
    BOOL ret;

    yielded_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = hold_yielded;
    if (!ok( worker_create( &worker, sched.list, yield_once, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    sched_run( &sched );
    ok( SuspendThread( worker.thread ) == 0, "SuspendThread: error %lu\n", GetLastError() );
    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    ret = GetThreadContext( worker.thread, &context );
    ok( ret, "3 GetThreadContext: error %lu\n", GetLastError() );
    memset( &stack, 0, sizeof(stack) );
    memset( &place, 0, sizeof(place) );
    if (ok( context_teb( worker.context ) != NULL, "1.8 a yielded worker has no Teb\n" ))
        VirtualQuery( ((NT_TIB *)context_teb( worker.context ))->StackLimit, &stack,
                      sizeof(stack) );
    VirtualQuery( (void *)(ULONG_PTR)context.Rsp, &place, sizeof(place) );
    unverified ok( stack.AllocationBase == place.AllocationBase,
                   "3 Rsp of a yielded worker is not on its stack\n" );
    ResumeThread( worker.thread );
    finish_workers( sched.list, &worker, 1, 1 );
    ok( worker.finished, "it did not go on\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
    CloseHandle( yielded_event );
}

/* ---- other ways to resume ---- */

static NTSTATUS (NTAPI *alert_resume)( HANDLE thread, ULONG *count );

/* 5 NtAlertResumeThread resumes as ResumeThread does: the worker is not suspended any more */
START_TEST( suspend_alert_resume )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    ULONG count = 77;

    alert_resume = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtAlertResumeThread" );
    if (!ok( alert_resume != NULL, "no NtAlertResumeThread\n" )) return;
    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( list ) == worker.context, "not queued\n" );
    ok( SuspendThread( worker.thread ) == 0, "SuspendThread: error %lu\n", GetLastError() );
    ok( context_gets_suspended( worker.context, 1 ), "5 IsSuspended after SuspendThread\n" );
    ok( !alert_resume( worker.thread, &count ) && count == 1,
        "NtAlertResumeThread: previous count %lu\n", count );
    ok( context_gets_suspended( worker.context, 0 ), "5 IsSuspended after NtAlertResumeThread\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.finished, "5 it did not run after resume\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- the previous count ---- */

static volatile LONG tick_running, tick_end;
static HANDLE tick_event;

/* At home, where it can be stopped: it has made a call. */
static void tick( struct worker *worker )
{
    (void)worker;
    while (!tick_end)
    {
        Sleep( 0 );
        tick_running++;
    }
}

static enum sched_action leave_blocked( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                        ULONG_PTR payload, void *param )
{
    (void)sched; (void)payload; (void)param;
    if (reason != UmsSchedulerThreadBlocked || !tick_running || tick_end) return SCHED_DEFAULT;
    SetEvent( tick_event );
    return SCHED_LEAVE;
}

/* needs the right [doc: SuspendThread, ResumeThread], wherever the worker is */
static void check_no_right( struct worker *worker )
{
    HANDLE limited = NULL;
    DWORD count;

    ok( DuplicateHandle( GetCurrentProcess(), worker->thread, GetCurrentProcess(), &limited, THREAD_QUERY_INFORMATION,
                         FALSE, 0 ), "no handle, error %lu\n", GetLastError() );
    SetLastError( POISON );
    count = SuspendThread( limited );
    ok( count == (DWORD)-1 && GetLastError() == ERROR_ACCESS_DENIED, "5 without the right: %ld, error %lu\n", count,
        GetLastError() );
    ok( context_is_suspended( worker->context ) == 0, "5 suspended without the right\n" );
    ok( !SuspendThread( worker->thread ), "SuspendThread: error %lu\n", GetLastError() );
    SetLastError( POISON );
    count = ResumeThread( limited );
    ok( count == (DWORD)-1 && GetLastError() == ERROR_ACCESS_DENIED, "5 resumed without the right: %ld, error %lu\n", count,
        GetLastError() );
    count = ResumeThread( worker->thread );
    ok( count == 1, "5 after a refused ResumeThread: previous count %ld, expected 1\n", count );
    CloseHandle( limited );
}

/* 5 each call gives the count before, for a worker that was stopped while it ran, too, again and
 * again before it is executed */
START_TEST( suspend_stopped_count )
{
    static struct sched sched;
    struct worker worker = { 0 };
    ULONGLONG start;
    DWORD count;
    int i;

    tick_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = leave_blocked;
    if (!ok( worker_create( &worker, sched.list, tick, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    if (!sched_start( &sched )) return;
    start = GetTickCount64();
    while (!tick_running && GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
    ok( tick_running, "it does not run\n" );
    for (i = 0; i < 3; i++)
    {
        count = SuspendThread( worker.thread );
        ok( count == 0, "5 SuspendThread %d: previous count %ld, expected 0\n", i, count );
        count = SuspendThread( worker.thread );
        ok( count == 1, "5 again: previous count %ld, expected 1\n", count );
        if (!i) ok( !WaitForSingleObject( tick_event, WAIT_BOUND ), "5 no Blocked upcall\n" );
        count = ResumeThread( worker.thread );
        ok( count == 2, "5 ResumeThread %d: previous count %ld, expected 2\n", i, count );
        count = ResumeThread( worker.thread );
        ok( count == 1, "5 again: previous count %ld, expected 1\n", count );
        ok( context_gets_suspended( worker.context, 0 ), "5 IsSuspended after the last resume\n" );
        count = ResumeThread( worker.thread );
        ok( count == 0, "5 one too many: previous count %ld, expected 0\n", count );
        check_no_right( &worker );
    }
    tick_end = 1;
    sched_join( &sched );
    finish_workers( sched.list, NULL, 0, 1 );
    ok( worker.finished, "5 it did not go on\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
    CloseHandle( tick_event );
}

/* ---- as often as possible ---- */

/* 5 no more than MAXIMUM_SUSPEND_COUNT times [doc: SuspendThread]; the error, and that what fails does not count [seen: a plain thread
 * under Wine 8.0 and 10.0] */
START_TEST( suspend_maximum )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    int i, wrong = 0;
    DWORD count;

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() )) return;
    ok( list_wait( list ) == worker.context, "not queued\n" );
    for (i = 0; i < MAXIMUM_SUSPEND_COUNT; i++) wrong += SuspendThread( worker.thread ) != (DWORD)i;
    ok( !wrong, "5 %d of %d suspensions gave another count\n", wrong, i );
    SetLastError( POISON );
    count = SuspendThread( worker.thread );
    ok( count == (DWORD)-1 && GetLastError() == ERROR_SIGNAL_REFUSED, "5 one too many: %ld, error %lu\n", count, GetLastError() );
    for (wrong = 0; i > 0; i--) wrong += ResumeThread( worker.thread ) != (DWORD)i;
    ok( !wrong, "5 %d resumptions gave another count\n", wrong );
    ok( context_gets_suspended( worker.context, 0 ), "5 IsSuspended after the last resume\n" );
    ok( !worker.started, "5 it ran\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.finished, "5 it did not run after resume\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- terminated ---- */

/* 1.5 a worker that was suspended when it was terminated is suspended no more */
START_TEST( suspend_terminated )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( list ) == worker.context, "not queued\n" );
    ok( SuspendThread( worker.thread ) == 0, "SuspendThread: error %lu\n", GetLastError() );
    ok( TerminateThread( worker.thread, 5 ), "TerminateThread: error %lu\n", GetLastError() );
    ok( list_wait( list ) == worker.context, "it did not come to its list\n" );
    ok( context_is_terminated( worker.context ) == 1, "IsTerminated is not TRUE\n" );
    unverified ok( context_is_suspended( worker.context ) == 0,
                   "1.5 IsSuspended of a terminated worker is TRUE\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}
