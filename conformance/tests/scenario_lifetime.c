/*
 * Scenarios: schedulers leave, workers end, and both live on without the other.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B18, B19, B20, B32, D7, D8, D11, D14. The ends of processes are in scenario_exit.c.
 */
#include "scenario_kit.h"

/* --- leaving by return, from each reason: B20 --- */

static LONG leave_reason;
static volatile LONG leave_count;
static HANDLE leave_event;
static volatile LONG leave_steps;

static BOOL leave_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason != leave_reason) return FALSE;
    InterlockedIncrement( &leave_count );
    return TRUE;
}

static DWORD leave_body( struct kit_worker *worker )
{
    leave_steps = 1;
    if (leave_reason == UmsSchedulerThreadYield) kit_yield( worker, NULL );
    else wait_signaled( leave_event );
    leave_steps = 2;
    kit_yield( worker, NULL );
    Sleep( 1 );
    return 0;
}

/* The first scheduler returns from its SchedulerProc in the given upcall; its thread is an ordinary
   one again, its worker goes on with the second. */
static void run_leave( LONG reason )
{
    struct kit_sched *first, *second;
    struct kit_worker *worker;
    int count = 1;

    leave_reason = reason;
    if (!kit_open()) return;
    leave_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = leave_upcall;
    worker = kit_add_worker( first->list, leave_body, NULL );
    kit_start();
    ok( kit_wait_value( &first->left, 1 ), "B20: EnterUmsSchedulingMode did not return\n" );
    ok( first->enter_ret, "B20: it returned FALSE, error %lu\n", first->enter_error );
    ok( !first->after, "B22: still a scheduler thread after it left\n" );
    ok( leave_count == 1, "B20: %ld upcalls of that reason\n", leave_count );
    ok( !WaitForSingleObject( first->thread, KIT_LIMIT ), "B20: the thread did not end\n" );
    ok( worker && !worker->terminated, "B19: the worker ended with its scheduler\n" );

    SetEvent( leave_event );
    if (reason == UmsSchedulerThreadYield) kit_ready( worker, second );
    else count = kit_hand_over( first->list, second, KIT_LIMIT );
    ok( count == 1, "6.2: %d contexts on the list of a scheduler that left\n", count );
    kit_finish();
    ok( leave_steps == 2, "B20: the worker did not go on with another scheduler\n" );
    kit_check();
    CloseHandle( leave_event );
}

START_TEST( scenario_leave_startup )
{
    run_leave( UmsSchedulerStartup );
}

START_TEST( scenario_leave_blocked )
{
    run_leave( UmsSchedulerThreadBlocked );
}

START_TEST( scenario_leave_yield )
{
    run_leave( UmsSchedulerThreadYield );
}

/* --- the same thread again and again --- */

#define VISITS 20

static struct
{
    LONG failed, still, executed, wrong_stack;
    ULONG_PTR stack;
} visits;
static PUMS_COMPLETION_LIST visit_list;
static struct kit_worker *volatile visit_worker;

static void visit_execute( void )
{
    ULONGLONG start = GetTickCount64();
    DWORD error;

    visits.executed++;
    visit_worker->executes++;
    do
    {
        pExecuteUmsThread( visit_worker->context );
        error = GetLastError();
        umstest_refused( error );
    }
    while (error == ERROR_RETRY && GetTickCount64() - start < KIT_LIMIT);
    visits.failed++;
}

static void NTAPI visit_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_CONTEXT item = NULL;

    switch (reason)
    {
    case UmsSchedulerStartup:
        if (param != &visits) visits.failed++;
        visit_execute();
        break;
    case UmsSchedulerThreadYield:
        if (payload != (ULONG_PTR)visit_worker->context) visits.failed++;
        visit_worker->yields++;
        break;
    default:                                        /* a page fault may do this on Windows */
        visit_worker->blocks++;
        pDequeueUmsCompletionListItems( visit_list, KIT_LIMIT, &item );
        if (item != visit_worker->context) visits.failed++;
        visit_worker->queued++;
        visits.executed--;
        if (item) visit_execute();
    }
}

static DWORD visit_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < VISITS + 1; i++) kit_yield( worker, NULL );
    return 0;
}

static DWORD WINAPI visit_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, visit_list, visit_proc, &visits };
    int i;

    (void)arg;
    for (i = 0; i < VISITS; i++)
    {
        if (!pEnterUmsSchedulingMode( &info )) visits.failed++;
        if (pGetCurrentUmsThread()) visits.still++;
    }
    return 0;
}

/* In, one execute, out at the yield; between the visits the worker belongs to nobody. The kit's
   scheduler sees it through its start and to its end. */
START_TEST( scenario_leave_and_reenter )
{
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    visit_list = kit_new_list();
    visit_worker = kit_add_worker( sched->list, visit_body, NULL );
    if (!visit_worker) return;
    visit_worker->goal = kit_nowhere;
    kit_start();
    ok( kit_wait_value( &visit_worker->parked, 1 ), "the worker does not park\n" );
    thread = CreateThread( NULL, 0, visit_thread, NULL, 0, NULL );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "B20: the visitor hangs\n" );
    ok( !visits.failed, "B20: %ld things went wrong\n", visits.failed );
    ok( !visits.still, "B20: still a scheduler thread %ld times\n", visits.still );
    ok( visits.executed == VISITS, "%ld executes of %d\n", visits.executed, VISITS );
    kit_ready( visit_worker, sched );
    kit_finish();
    kit_check();
    CloseHandle( thread );
    ok( pDeleteUmsCompletionList( visit_list ), "the list could not be deleted\n" );
}

/* --- ExitThread inside SchedulerProc: D11 --- */

static HANDLE stop_event;
static volatile LONG exit_waits;

static BOOL exit_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    HANDLE events[2] = { sched->events[0], stop_event };
    struct kit_worker *worker;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadYield) kit_worker_of( (PUMS_CONTEXT)payload )->parked = 1;
    for (;;)
    {
        switch (WaitForMultipleObjects( 2, events, FALSE, KIT_LIMIT ))
        {
        case WAIT_OBJECT_0:
            exit_waits++;
            kit_sweep( sched );
            if ((worker = kit_pop( sched ))) kit_execute( sched, worker );
            break;
        case WAIT_OBJECT_0 + 1:
            ExitThread( 77 );
        default:
            return TRUE;
        }
    }
}

static volatile LONG exit_steps;

static DWORD exit_body( struct kit_worker *worker )
{
    exit_steps = 1;
    kit_yield( worker, NULL );
    exit_steps = 2;
    Sleep( 1 );
    exit_steps = 3;
    return 0;
}

/* C2's shutdown. What becomes of a worker that this scheduler had executed is nowhere written down
   [guess]. */
START_TEST( scenario_exit_thread )
{
    struct kit_sched *first, *second;
    struct kit_worker *worker;
    DWORD code = 0, ret;

    if (!kit_open()) return;
    stop_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = exit_upcall;
    first->stays = TRUE;
    worker = kit_add_worker( first->list, exit_body, NULL );
    kit_start();
    ok( worker && kit_wait_value( &worker->parked, 1 ), "D11: no Yield upcall\n" );
    ok( exit_waits >= 1, "D11: the list event did not end the wait in SchedulerProc\n" );
    SetEvent( stop_event );
    ret = WaitForSingleObject( first->thread, KIT_LIMIT );
    ok( !ret, "D11: ExitThread in SchedulerProc hangs\n" );
    GetExitCodeThread( first->thread, &code );
    ok( code == 77, "D11: exit code %lu\n", code );
    ok( !first->left, "D11: EnterUmsSchedulingMode returned\n" );
    kit_ready( worker, second );
    unverified ok( kit_wait_value( &exit_steps, 3 ),
                   "its yielded worker does not go on, step %ld\n", exit_steps );
    kit_finish();
    kit_check();
    CloseHandle( stop_event );
}

/* --- the module reference: B32 --- */

static HMODULE held_module;

static void NTAPI module_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload; (void)param;
}

static DWORD WINAPI module_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, arg, module_proc, NULL };

    if (!pEnterUmsSchedulingMode( &info )) return 1;
    FreeLibraryAndExitThread( held_module, 66 );
}

/* A primary ends with FreeLibraryAndExitThread after it left scheduling mode. */
START_TEST( scenario_exit_free_library )
{
    PUMS_COMPLETION_LIST list;
    HANDLE thread;
    DWORD code = 0;

    if (!need( EnterUmsSchedulingMode )) return;
    list = kit_new_list();
    if (!(held_module = kit_load_probe( NULL ))) return;
    thread = CreateThread( NULL, 0, module_thread, list, 0, NULL );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "B32: the primary does not end\n" );
    GetExitCodeThread( thread, &code );
    ok( code == 66, "B32: exit code %lu\n", code );
    ok( !GetModuleHandleA( "umstest_probe.dll" ), "B32: the module is still there\n" );
    ok( pDeleteUmsCompletionList( list ), "the list could not be deleted\n" );
    CloseHandle( thread );
}

/* --- workers end: B18, D7, D8 --- */

#define GENERATIONS 100

static volatile LONG lived;

static DWORD short_body( struct kit_worker *worker )
{
    if (worker->index % 3 == 1) kit_yield( worker, NULL );
    if (worker->index % 3 == 2) Sleep( 0 );
    InterlockedIncrement( &lived );
    return 0;
}

/* Handle closed and context deleted the moment IsTerminated is seen; new ones take their place at
   once. */
START_TEST( scenario_terminate_delete_at_once )
{
    struct kit_sched *first, *second;
    int i;

    if (!kit_open()) return;
    kit.close_early = TRUE;
    first = kit_add_sched( NULL );
    second = kit_add_sched( first->list );
    kit_start();
    for (i = 0; i < GENERATIONS; i++)
    {
        kit_add_worker( first->list, short_body, NULL );
        if (i % 10 == 9) kit_wait_value( &lived, i + 1 );
    }
    kit_finish();
    ok( lived == GENERATIONS, "B18: %ld workers of %d lived\n", lived, GENERATIONS );
    ok( second->startups == 1, "no second scheduler\n" );
    kit_check();
}

static volatile LONG undetected;

/* C6 does not ask IsTerminated: it executes what it dequeued, and learns it from the error. */
static BOOL execute_item( struct kit_sched *sched, struct kit_worker *worker )
{
    undetected++;
    kit_execute( sched, worker );
    return TRUE;
}

static DWORD once_blocked_body( struct kit_worker *worker )
{
    (void)worker;
    Sleep( 1 );
    return 0;
}

START_TEST( scenario_terminate_seen_by_execute )
{
    struct kit_sched *sched;
    struct kit_worker *worker;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_item = execute_item;
    worker = kit_add_worker( sched->list, once_blocked_body, NULL );
    kit_start();
    kit_finish();
    ok( worker && undetected == worker->queued, "D7: %ld items executed\n", undetected );
    ok( sched->execute_error == ERROR_INVALID_PARAMETER,
        "D7: Execute of a terminated worker failed with %lu\n",
        sched->execute_error );
    ok( worker && worker->terminated == 1, "D7: IsTerminated is not TRUE after that error\n" );
    kit_check();
}

/* --- alive until it ends: B19 --- */

static volatile LONG alive_step;
static HANDLE alive_event;

static DWORD alive_body( struct kit_worker *worker )
{
    alive_step = 1;
    while (alive_step == 1) YieldProcessor();       /* running */
    wait_signaled( alive_event );  /* blocked */
    kit_park( worker );                             /* yielded */
    return 0;
}

static int alive_flag( struct kit_worker *worker )
{
    BOOLEAN flag = 0xcc;

    if (!pQueryUmsThreadInformation( worker->context, UmsThreadIsTerminated, &flag, 1,
                                     NULL )) return -1;
    return flag;
}

START_TEST( scenario_terminate_not_before )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    PUMS_CONTEXT context;
    int flag;

    if (!kit_open()) return;
    alive_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, alive_body, NULL );
    if (!worker) return;
    kit_start();
    ok( kit_wait_value( &alive_step, 1 ), "the worker does not run\n" );
    context = worker->context;
    flag = alive_flag( worker );
    ok( flag == 0, "B19: IsTerminated of a running worker is %d\n", flag );
    ok( !pDeleteUmsThreadContext( context ), "1.3: a running worker's context was deleted\n" );
    ok( WaitForSingleObject( worker->thread, 0 ) == WAIT_TIMEOUT,
        "B19: its thread is signalled\n" );
    alive_step = 2;
    ok( kit_leaves( &worker->blocks, 0 ), "B11: no Blocked upcall\n" );
    flag = alive_flag( worker );
    ok( flag == 0, "B19: IsTerminated of a blocked worker is %d\n", flag );
    SetEvent( alive_event );
    ok( kit_wait_value( &worker->parked, 1 ), "no Yield upcall\n" );
    flag = alive_flag( worker );
    ok( flag == 0, "B19: IsTerminated of a yielded worker is %d\n", flag );
    ok( !pDeleteUmsThreadContext( context ), "1.3: a yielded worker's context was deleted\n" );
    kit_ready( worker, sched );
    kit_finish();
    kit_check();
    CloseHandle( alive_event );
}
