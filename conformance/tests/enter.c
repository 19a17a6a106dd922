/*
 * EnterUmsSchedulingMode (ums.md 1.4).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

/* ---- the plain life of a scheduler ---- */

struct life
{
    LONG         upcalls;
    LONG         reason;
    ULONG_PTR    payload;
    PVOID        param;
    DWORD        tid;
    PUMS_CONTEXT own;
    void        *user_before, *user_after, *teb;
    struct outcome query, set;
};

static struct life life;

static void WINAPI life_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    void *user = &life;

    life.upcalls++;
    life.reason = reason;
    life.payload = payload;
    life.param = param;
    life.tid = GetCurrentThreadId();
    life.own = pGetCurrentUmsThread();
    life.user_before = (void *)(ULONG_PTR)POISON;
    OUTCOME( life.query,
             pQueryUmsThreadInformation( life.own, UmsThreadUserContext, &life.user_before,
                                         sizeof(life.user_before), NULL ) );
    OUTCOME( life.set,
             pSetUmsThreadInformation( life.own, UmsThreadUserContext, &user, sizeof(user) ) );
    life.user_after = context_user( life.own );
    life.teb = context_teb( life.own );
}

/* 1.4 one Startup upcall, own context, leaving by return makes the call return TRUE; twice on one
 * thread */
START_TEST( enter_and_leave )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, life_proc, NULL };
    int round;
    BOOL ret;

    if (!need( EnterUmsSchedulingMode ) || !need( GetCurrentUmsThread )) return;
    for (round = 0; round < 2; round++)
    {
        push( "1.4 round %d", round );
        memset( &life, 0, sizeof(life) );
        info.SchedulerParam = round ? (void *)&info : NULL;
        ok( pGetCurrentUmsThread() == NULL, "a UMS thread before\n" );
        ret = pEnterUmsSchedulingMode( &info );
        ok( ret, "returned FALSE, error %lu\n", GetLastError() );
        ok( pGetCurrentUmsThread() == NULL, "still a UMS thread afterwards\n" );
        ok( life.upcalls == 1, "%ld upcalls, expected 1\n", life.upcalls );
        ok( life.reason == UmsSchedulerStartup, "reason %ld, expected Startup\n", life.reason );
        ok( life.payload == 0, "2.1 payload %#llx, expected 0\n", (ULONGLONG)life.payload );
        ok( life.param == info.SchedulerParam, "2.1 param %p, expected %p\n", life.param,
            info.SchedulerParam );
        ok( life.tid == GetCurrentThreadId(), "ran on thread %lx\n", life.tid );
        ok( life.own != NULL, "no context of its own\n" );
        ok( life.query.ret && !life.user_before, "UserContext at first %p, error %lu\n",
            life.user_before, life.query.error );
        ok( life.set.ret && life.user_after == &life, "UserContext not kept: %p, error %lu\n",
            life.user_after, life.set.error );
        ok( life.teb == current_teb(), "UmsThreadTeb %p, expected %p\n", life.teb, current_teb() );
        pop();
    }
    pDeleteUmsCompletionList( list );
}

/* 1.4 bad version, no list [seen] */
START_TEST( enter_bad_info )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, life_proc, NULL };
    static const ULONG versions[] = { 0, 1, 0xff, 0x101, 0x200, 0x10100, 0xffffffff };
    size_t i;

    memset( &life, 0, sizeof(life) );
    for (i = 0; i < ARRAYSIZE(versions); i++)
    {
        push( "1.4 UmsVersion %#lx", versions[i] );
        info.UmsVersion = versions[i];
        FAILS( pEnterUmsSchedulingMode( &info ), ERROR_INVALID_PARAMETER );
        pop();
    }
    info.UmsVersion = UMS_VERSION;
    info.CompletionList = NULL;
    FAILS( pEnterUmsSchedulingMode( &info ), ERROR_INVALID_PARAMETER );
    if (umstest_is_shim())
        UNVERIFIED_FAILS( pEnterUmsSchedulingMode( NULL ), ERROR_INVALID_PARAMETER );
    ok( life.upcalls == 0, "1.4 %ld upcalls of failed calls\n", life.upcalls );
    ok( pGetCurrentUmsThread() == NULL, "1.4 a UMS thread after failed calls\n" );
    pDeleteUmsCompletionList( list );
}

static struct outcome nested;
static UMS_SCHEDULER_STARTUP_INFO nested_info;

static void enter_nested( void *arg )
{
    (void)arg;
    OUTCOME( nested, pEnterUmsSchedulingMode( &nested_info ) );
}

/* 1.4 the caller is a UMS thread already: ERROR_NOT_SUPPORTED [seen] */
START_TEST( enter_on_ums_thread )
{
    PUMS_COMPLETION_LIST list = list_create();

    memset( &life, 0, sizeof(life) );
    nested_info.UmsVersion = UMS_VERSION;
    nested_info.CompletionList = list;
    nested_info.SchedulerProc = life_proc;
    on_scheduler( enter_nested, NULL );
    OK_FAILED( nested, ERROR_NOT_SUPPORTED, "1.4 Enter on a scheduler" );
    on_worker( enter_nested, NULL );
    OK_FAILED( nested, ERROR_NOT_SUPPORTED, "1.4 Enter on a worker" );
    ok( life.upcalls == 0, "1.4 %ld upcalls of failed calls\n", life.upcalls );
    pDeleteUmsCompletionList( list );
}

/* ---- leaving from other reasons ---- */

static UMS_SCHEDULER_REASON leave_reason;

static enum sched_action leave_at( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                   ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    (void)payload; (void)param;
    return worker->result[0] && reason == leave_reason ? SCHED_LEAVE : SCHED_DEFAULT;
}

static void yield_or_block( struct worker *worker )
{
    worker->result[0] = 1;
    if (leave_reason == UmsSchedulerThreadYield) pUmsThreadYield( NULL );
    else wait_signaled( worker->arg );
}

/* 1.4 SchedulerProc returning from any reason leaves the mode; the worker can go on under the next
 * scheduler */
START_TEST( enter_leave_anywhere )
{
    static const UMS_SCHEDULER_REASON reasons[] = { UmsSchedulerThreadYield,
                                                    UmsSchedulerThreadBlocked };
    static struct sched sched;
    struct worker worker;
    volatile LONGLONG guard[4] = { 11, 22, 33, 44 };
    HANDLE event;
    int i;

    for (i = 0; i < 2; i++)
    {
        push( "1.4 leaving at reason %d", reasons[i] );
        memset( &sched, 0, sizeof(sched) );
        memset( &worker, 0, sizeof(worker) );
        event = CreateEventA( NULL, TRUE, FALSE, NULL );
        leave_reason = reasons[i];
        if (!sched_init( &sched )) return;
        sched.hook = leave_at;
        sched.user = &worker;
        if (!ok( worker_create( &worker, sched.list, yield_or_block, event, 0 ),
                 "no worker, error %lu\n", GetLastError() ))
            return;
        sched_run( &sched );
        sched_check( &sched );
        ok( worker.result[0] && !worker.finished, "the worker is not where it should be\n" );
        ok( guard[0] == 11 && guard[1] == 22 && guard[2] == 33 && guard[3] == 44,
            "the caller's stack is damaged\n" );
        SetEvent( event );
        finish_workers( sched.list, &worker, leave_reason == UmsSchedulerThreadYield, 1 );
        ok( worker.finished, "the worker did not go on\n" );
        ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
        sched_free( &sched );
        CloseHandle( event );
        pop();
    }
}

/* ---- stack ---- */

#define STACK_ROUNDS 40

static ULONG_PTR frames[4 * STACK_ROUNDS];
static LONG frame_count;

static enum sched_action note_frame( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                     ULONG_PTR payload, void *param )
{
    (void)sched; (void)reason; (void)payload; (void)param;
    if (frame_count < (LONG)ARRAYSIZE(frames))
        frames[frame_count++] = (ULONG_PTR)__builtin_frame_address( 0 );
    return SCHED_DEFAULT;
}

static void yield_and_sleep( struct worker *worker )
{
    int i;

    for (i = 0; i < STACK_ROUNDS; i++)
    {
        worker->result[0] += pUmsThreadYield( NULL ) != 0;
        if (!(i % 8)) Sleep( 1 );
    }
}

/* 1.4 each activation starts on the same stack base of the scheduler's stack; frames of the last
 * one vanish (B6) */
START_TEST( enter_same_stack )
{
    const NT_TIB *tib = current_teb();
    static struct sched sched;
    struct worker worker = { 0 };
    LONG i, different = 0, outside = 0;

    if (!sched_init( &sched )) return;
    sched.hook = note_frame;
    if (!ok( worker_create( &worker, sched.list, yield_and_sleep, NULL, 0 ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    ok( worker.result[0] == STACK_ROUNDS, "%llu yields returned TRUE\n",
        (ULONGLONG)worker.result[0] );
    ok( frame_count > STACK_ROUNDS, "only %ld upcalls\n", frame_count );
    for (i = 0; i < frame_count; i++)
    {
        different += frames[i] != frames[0];
        outside += frames[i] >= (ULONG_PTR)tib->StackBase || frames[i] < (ULONG_PTR)tib->StackLimit;
    }
    ok( !different, "1.4 %ld of %ld upcalls lie elsewhere on the stack\n", different, frame_count );
    ok( !outside, "2.2 %ld of %ld upcalls are not on the scheduler's stack\n", outside,
        frame_count );
    ok( !(frames[0] & 7), "stack is misaligned\n" );
    sched_free( &sched );
}

/* ---- ExitThread inside SchedulerProc ---- */

static enum sched_action exit_on_yield( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                        ULONG_PTR payload, void *param )
{
    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerThreadYield) ExitThread( 77 );
    return SCHED_DEFAULT;
}

static void yield_once( struct worker *worker )
{
    worker->result[0] = pUmsThreadYield( NULL );
}

/* 1.4, D11 ExitThread inside SchedulerProc as shutdown; its worker goes on elsewhere (11.4:
 * [guess]) */
START_TEST( enter_exit_thread )
{
    PUMS_COMPLETION_LIST list = list_create();
    static struct sched sched;
    struct worker worker = { 0 };
    DWORD code = 0;

    sched.list = list;
    if (!sched_init( &sched )) return;
    sched.hook = exit_on_yield;
    if (!ok( worker_create( &worker, list, yield_once, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    if (!sched_start( &sched )) return;
    ok( WaitForSingleObject( sched.thread, WAIT_BOUND ) == WAIT_OBJECT_0,
        "1.4 thread still there after %d ms\n", WAIT_BOUND );
    ok( GetExitCodeThread( sched.thread, &code ) && code == 77, "1.4 exit code %lu, expected 77\n",
        code );
    ok( context_is_terminated( worker.context ) == 0, "the worker died with its scheduler\n" );
    finish_workers( list, &worker, 1, 1 );
    unverified ok( worker.result[0] == 1 && worker.finished,
                   "11.4 the worker did not go on elsewhere\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    CloseHandle( sched.thread );
    sched_free( &sched );
    pDeleteUmsCompletionList( list );
}

/* 1.4 on leave the context is deleted [seen]; only the shim checks stale pointers */
START_TEST( enter_context_gone )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, life_proc, NULL };
    void *value = NULL;

    if (!umstest_is_shim())
    {
        skip( "Windows does not check for deleted contexts\n" );
        return;
    }
    ok( pEnterUmsSchedulingMode( &info ), "enter failed, error %lu\n", GetLastError() );
    UNVERIFIED_FAILS(
        pQueryUmsThreadInformation( life.own, UmsThreadUserContext, &value, sizeof(value), NULL ),
        ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pDeleteUmsThreadContext( life.own ), ERROR_INVALID_PARAMETER );
    pDeleteUmsCompletionList( list );
}

static struct outcome delete_own;

static void delete_own_context( void *arg )
{
    (void)arg;
    OUTCOME( delete_own, pDeleteUmsThreadContext( pGetCurrentUmsThread() ) );
}

/* 1.3 a scheduler's context is no terminated one: Delete fails [guess] */
START_TEST( enter_delete_own_context )
{
    on_scheduler( delete_own_context, NULL );
    unverified ok( !delete_own.ret && delete_own.error == ERROR_INVALID_PARAMETER,
                   "1.3 delete of a scheduler's context: %llu, error %lu\n",
                   (ULONGLONG)delete_own.ret, delete_own.error );
}
