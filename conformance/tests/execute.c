/*
 * ExecuteUmsThread (ums.md 1.5, 10).
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

/* 1.5 NULL: the first check, on any thread [seen] */
START_TEST( execute_null )
{
    struct target target = { 0 };

    if (!need( ExecuteUmsThread )) return;
    FAILS( pExecuteUmsThread( NULL ), ERROR_INVALID_PARAMETER );
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER, "1.5 Execute(NULL) on a scheduler" );
    on_worker( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER, "1.5 Execute(NULL) on a worker" );
}

/* 1.5 caller is no scheduler: ERROR_NOT_SUPPORTED [seen]; the worker is none the worse */
START_TEST( execute_wrong_thread )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    struct target target = { 0 };

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    target.context = list_wait( list );
    ok( target.context == worker.context, "not queued\n" );
    FAILS( pExecuteUmsThread( target.context ), ERROR_NOT_SUPPORTED );
    on_worker( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_NOT_SUPPORTED, "1.5 Execute on a worker" );
    ok( !worker.started, "1.5 a failed Execute ran the worker\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.finished, "the worker did not run\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 1.5 a context without a thread [seen]; a scheduler's own context has none either [guess] */
START_TEST( execute_no_thread )
{
    struct target target = { 0 };

    ok( pCreateUmsThreadContext( &target.context ), "no context, error %lu\n", GetLastError() );
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER,
               "1.5 Execute of a context without a thread" );
    ok( pDeleteUmsThreadContext( target.context ), "not deleted, error %lu\n", GetLastError() );
}

static void execute_own( void *arg )
{
    struct target *target = arg;

    OUTCOME( target->outcome, pExecuteUmsThread( pGetCurrentUmsThread() ) );
}

START_TEST( execute_scheduler_context )
{
    struct target target = { 0 };

    on_scheduler( execute_own, &target );
    unverified ok( !target.outcome.ret && target.outcome.error == ERROR_INVALID_PARAMETER,
                   "1.5 Execute of the own scheduler context: error %lu\n", target.outcome.error );
}

/* 1.5, 10 a terminated worker: 87 [seen]; D1, D7 */
START_TEST( execute_terminated )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    struct target target = { 0 };

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    finish_workers( list, NULL, 0, 1 );
    target.context = worker.context;
    ok( context_is_terminated( worker.context ) == 1, "not terminated\n" );
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER, "1.5 Execute of a terminated worker" );
    ok( worker_wait( &worker, WAIT_BOUND ), "thread not signalled within %d ms\n", WAIT_BOUND );
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INVALID_PARAMETER,
               "1.5 Execute of a worker whose thread is gone" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- a worker that runs on another scheduler ---- */

static volatile LONG spin_running, spin_end;

static void spin( struct worker *worker )
{
    ULONGLONG n = 0;

    (void)worker;
    spin_running = 1;
    while (!spin_end && ++n < 20000000000ull) YieldProcessor();   /* no system call */
}

/* 1.5, 10 a worker that runs elsewhere: ERROR_INTERNAL_ERROR 1359 [seen] */
START_TEST( execute_busy )
{
    static struct sched sched;
    struct worker worker = { 0 };
    struct target target = { 0 };
    ULONGLONG start;

    if (!sched_init( &sched )) return;
    sched.expect = 1;
    if (!ok( worker_create( &worker, sched.list, spin, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    if (!sched_start( &sched )) return;
    start = GetTickCount64();
    while (!spin_running && GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
    ok( spin_running, "the worker does not run after %d ms\n", WAIT_BOUND );
    target.context = worker.context;
    on_scheduler( execute_target, &target );
    OK_FAILED( target.outcome, ERROR_INTERNAL_ERROR, "1.5 Execute of a worker running elsewhere" );
    ok( context_is_terminated( worker.context ) == 0, "1.8 IsTerminated of a running worker\n" );
    ok( context_is_suspended( worker.context ) == 0, "1.8 IsSuspended of a running worker\n" );
    spin_end = 1;
    sched_join( &sched );
    sched_check( &sched );
    ok( worker.finished, "the worker did not finish\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
}

/* ---- a worker that is not ready ---- */

static struct outcome blocked_outcome;
static HANDLE blocked_event;

static enum sched_action execute_blocked_hook( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                               ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && worker->result[0] == 1)
    {
        worker->result[0] = 2;
        OUTCOME( blocked_outcome, pExecuteUmsThread( worker->context ) );
        SetEvent( blocked_event );
    }
    return SCHED_DEFAULT;
}

static void wait_blocked( struct worker *worker )
{
    worker->result[0] = 1;
    wait_signaled( blocked_event );
}

/* bad input: a blocked worker, ERROR_RETRY [guess] */
START_TEST( execute_blocked )
{
    static struct sched sched;
    struct worker worker = { 0 };

    blocked_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = execute_blocked_hook;
    sched.user = &worker;
    if (!ok( worker_create( &worker, sched.list, wait_blocked, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    ok( worker.result[0] == 2, "no Blocked upcall came while it waited\n" );
    ok( !blocked_outcome.ret && blocked_outcome.error != POISON && blocked_outcome.error,
        "1.5 Execute of a blocked worker: %llu error %lu\n", (ULONGLONG)blocked_outcome.ret,
        blocked_outcome.error );
    unverified ok( blocked_outcome.error == ERROR_RETRY,
                   "1.5 Execute of a blocked worker: expected %lu, got %lu\n", (DWORD)ERROR_RETRY,
                   blocked_outcome.error );
    sched_free( &sched );
    CloseHandle( blocked_event );
}

/* bad input: a worker that has not arrived on its list, ERROR_RETRY [guess]; CREATE_SUSPENDED keeps
 * it from there */
START_TEST( execute_not_queued )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    struct target target = { 0 };

    if (!ok( worker_create( &worker, list, NULL, NULL, CREATE_SUSPENDED ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    target.context = worker.context;
    on_scheduler( execute_target, &target );
    ok( !target.outcome.ret && target.outcome.error != POISON && target.outcome.error,
        "1.5 Execute of a worker not queued yet: %llu error %lu\n", (ULONGLONG)target.outcome.ret,
        target.outcome.error );
    unverified ok( target.outcome.error == ERROR_RETRY ||
                       target.outcome.error == ERROR_INVALID_PARAMETER,
                   "1.5 Execute of a worker not queued yet: error %lu\n", target.outcome.error );
    observe( "execute.not_queued.error", "%lu", target.outcome.error );
    ok( !worker.started, "3 it ran before it was queued\n" );
    ResumeThread( worker.thread );
    finish_workers( list, NULL, 0, 1 );
    ok( worker.finished, "the worker did not run\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- success does not return ---- */

static volatile LONG returned, attempts;
static struct worker once_worker;

static void WINAPI once_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_COMPLETION_LIST list = *(void **)once_worker.arg;
    PUMS_CONTEXT context = NULL;
    ULONGLONG start = GetTickCount64();
    DWORD error;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadYield) context = (PUMS_CONTEXT)payload;
    while (!context && GetTickCount64() - start < WAIT_BOUND)
        pDequeueUmsCompletionListItems( list, 5, &context );
    if (!context || context_is_terminated( context )) return;
    do
    {
        attempts++;
        SetLastError( POISON );
        pExecuteUmsThread( context );
        returned++;
        error = GetLastError();
        attempts--;
        umstest_refused( error );
    }
    while (error == ERROR_RETRY && returned < 100000);
}

static void yield_three( struct worker *worker )
{
    int i;

    for (i = 0; i < 3; i++) worker->result[0] += pUmsThreadYield( NULL ) != 0;
}

/* 1.5 no return on success; control comes back only through SchedulerProc; the worker runs until it
 * yields or ends */
START_TEST( execute_no_return )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, once_proc, NULL };

    if (!ok( worker_create( &once_worker, list, yield_three, &list, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( pEnterUmsSchedulingMode( &info ), "enter failed, error %lu\n", GetLastError() );
    ok( once_worker.finished && once_worker.result[0] == 3,
        "1.5 the worker did not run to its end\n" );
    ok( attempts >= 4, "1.5 %ld successful executes, expected 4 or more\n", attempts );
    ok( returned == 0, "1.5 ExecuteUmsThread returned %ld times\n", returned );
    ok( worker_delete( &once_worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- stealing ---- */

#define STEAL_ROUNDS 2000
#define STEAL_EVERY  50                  /* this one goes to the other scheduler, the next one back */
#define STEAL_FORCED ( 2 * ( STEAL_ROUNDS / STEAL_EVERY - 1 ) )     /* that are not the worker's last */

static struct worker steal_worker;
static volatile LONG steal_yields, steal_upcalls, steal_blocked, steal_busy, steal_retry,
    steal_strange, steal_payload;
static volatile LONG steal_last_error, steal_taken[2], steal_inside, steal_started;
static PUMS_COMPLETION_LIST steal_list;

static void steal_proc_body( struct worker *worker )
{
    int i;

    for (i = 0; i < STEAL_ROUNDS; i++)
    {
        /* two threads running one worker would be seen here */
        if (InterlockedIncrement( &steal_inside ) != 1) InterlockedIncrement( &steal_strange );
        InterlockedDecrement( &steal_inside );
        steal_yields++;
        worker->result[0] += pUmsThreadYield( (void *)(ULONG_PTR)steal_yields ) != 0;
    }
}

static void WINAPI steal_sched_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload,
                                     PVOID param )
{
    ULONG_PTR self = (ULONG_PTR)context_user( pGetCurrentUmsThread() );
    ULONGLONG start = GetTickCount64();
    LONG number = (LONG)(ULONG_PTR)param;       /* of the yield */
    PUMS_CONTEXT context;
    DWORD error;

    if (reason == UmsSchedulerStartup)
    {
        pSetUmsThreadInformation( pGetCurrentUmsThread(), UmsThreadUserContext, &param,
                                  sizeof(param) );
        self = (ULONG_PTR)param;
        /* nobody begins before both are there */
        InterlockedIncrement( &steal_started );
        while (steal_started < 2 && GetTickCount64() - start < WAIT_BOUND) YieldProcessor();
    }
    if (reason == UmsSchedulerThreadYield)
    {
        InterlockedIncrement( &steal_upcalls );
        if ((PUMS_CONTEXT)payload != steal_worker.context || !number || number > STEAL_ROUNDS)
            InterlockedIncrement( &steal_payload );
    }
    if (reason == UmsSchedulerThreadBlocked) InterlockedIncrement( &steal_blocked );
    if (reason == UmsSchedulerThreadYield && number >= STEAL_EVERY && number % STEAL_EVERY <= 1)
    {
        /* it goes on before this upcall is over: the other one has executed it, or already had */
        while (steal_yields == number && context_is_terminated( steal_worker.context ) != 1 &&
               GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
        if (steal_yields != number) InterlockedIncrement( &steal_taken[2 - self] );
    }
    while (GetTickCount64() - start < WAIT_BOUND)
    {
        if (context_is_terminated( steal_worker.context ) == 1) return;
        context = NULL;
        pDequeueUmsCompletionListItems( steal_list, 0,
                                        &context ); /* it blocks now and then: consume that */
        SetLastError( POISON );
        pExecuteUmsThread( steal_worker.context );
        error = GetLastError();
        if (error == ERROR_INTERNAL_ERROR) InterlockedIncrement( &steal_busy );
        else if (error == ERROR_RETRY) InterlockedIncrement( &steal_retry );
        else if (context_is_terminated( steal_worker.context ) != 1 &&
                 !(error == ERROR_INVALID_PARAMETER && steal_worker.finished))      /* it is about to be */
        {
            InterlockedIncrement( &steal_strange );
            steal_last_error = error;
        }
        SwitchToThread();
    }
    InterlockedIncrement( &steal_strange );
}

static DWORD WINAPI steal_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, steal_list, steal_sched_proc, arg };

    return pEnterUmsSchedulingMode( &info );
}

/* 1.5 ownership is dropped before the upcall: another scheduler may execute the yielded worker at
 * once; B27, D2 */
START_TEST( execute_steal )
{
    HANDLE threads[2];
    DWORD code;
    int i;

    steal_list = list_create();
    if (!ok( worker_create( &steal_worker, steal_list, steal_proc_body, NULL, 0 ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    ok( list_wait( steal_list ) == steal_worker.context, "not queued\n" );
    for (i = 0; i < 2; i++)
        threads[i] = CreateThread( NULL, 0, steal_thread, (void *)(ULONG_PTR)( i + 1 ), 0, NULL );
    ok( WaitForMultipleObjects( 2, threads, TRUE, WAIT_BOUND + 2000 ) < 2,
        "schedulers still there after %d ms\n", WAIT_BOUND + 2000 );
    for (i = 0; i < 2; i++)
    {
        code = 0;
        ok( GetExitCodeThread( threads[i], &code ) && code == TRUE,
            "scheduler %d: Enter returned %lu\n", i, code );
        CloseHandle( threads[i] );
    }
    ok( steal_worker.finished, "the worker did not finish\n" );
    ok( steal_yields == STEAL_ROUNDS && steal_worker.result[0] == STEAL_ROUNDS,
        "%ld yields, %llu returned TRUE\n", steal_yields, (ULONGLONG)steal_worker.result[0] );
    ok( steal_upcalls == STEAL_ROUNDS, "1.5 %ld Yield upcalls, expected %d\n", steal_upcalls,
        STEAL_ROUNDS );
    ok( !steal_payload, "2.1 %ld upcalls with a wrong payload or param\n", steal_payload );
    ok( !steal_strange, "1.5 %ld unexpected errors, the last %ld\n", steal_strange,
        steal_last_error );
    /* the last one may have ended, not yielded, when it was looked at */
    ok( steal_taken[0] + steal_taken[1] >= STEAL_FORCED,
        "1.5 executed by the other scheduler during the upcall %ld and %ld times of %d\n", steal_taken[0],
        steal_taken[1], STEAL_FORCED );
    /* whichever yields to the other gets it back by the next yield, however long it keeps it otherwise */
    ok( steal_taken[0] && steal_taken[1], "1.5 one scheduler never executed it: %ld and %ld\n", steal_taken[0],
        steal_taken[1] );
    trace( "busy %s, retry %s\n", steal_busy ? "seen" : "never", steal_retry ? "seen" : "never" );
    ok( worker_delete( &steal_worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( steal_list );
}
