/*
 * Scenarios: somebody suspends, resumes or ends a scheduler thread while a worker runs on it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 5 "suspended", "terminated"; B7, B18; open point 4 (what becomes of the workers of a
 * scheduler thread that ends): [guess] they stay valid, and any scheduler can execute them.
 */
#include "../umslib.h"
#include "scenario_kit.h"

static volatile LONG turns, steps, stop, parked;
static struct kit_worker *runner;
static HANDLE event, pipe_ends[2];

static DWORD beside_body( struct kit_worker *worker )
{
    while (!stop)
    {
        turns++;
        kit_yield( worker, NULL );
    }
    return 1;
}

/* Computes, and now and then yields: so a suspension of its scheduler finds either. */
static DWORD run_body( struct kit_worker *worker )
{
    LONG i;

    for (i = 1; !stop; i++)
    {
        steps++;
        if (!(i & 0x3ff)) kit_yield( worker, NULL );
    }
    return 1;
}

static DWORD yield_body( struct kit_worker *worker )
{
    while (!stop)
    {
        steps++;
        kit_yield( worker, NULL );
    }
    return 1;
}

/* Nearly always in a call that is over at once. The time is in the past, and the host is asked for it.
   Windows 7 has no such alerts [guess: WaitOnAddress, which uses them, begins with Windows 8, doc]. */
static DWORD alert_body( struct kit_worker *worker )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    LONG (WINAPI *alert)( HANDLE ) = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    LONG (WINAPI *wait)( void *, LARGE_INTEGER * ) =
        (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    LARGE_INTEGER past;
    LONG i;

    past.QuadPart = 1;
    for (i = 1; !stop; i++)
    {
        steps++;
        if (alert && wait)
        {
            if (i & 1) alert( (HANDLE)(ULONG_PTR)GetCurrentThreadId() );
            wait( NULL, &past );
        }
        if (!(i & 0xf)) kit_yield( worker, NULL );
    }
    return 1;
}

static DWORD compute_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!stop) steps++;
    return 1;
}

/* Makes one call after the other, and never yields: who is killed while he waits to be executed is
   in two queues of his client. */
static DWORD call_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!stop)
    {
        steps++;
        ResetEvent( event );
    }
    return 1;
}

/* Yields when the test says so, at home after a call. */
static DWORD yield_late_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    GetHandleInformation( event, &flags );
    steps++;
    while (!parked) ;
    parked = 2;
    kit_yield( worker, NULL );
    return 1;
}

/* After a call that is over at once it may be on a thread of its own. */
static DWORD compute_at_home_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    while (!stop)
    {
        if (!(++steps & 0xfffff)) GetHandleInformation( event, &flags );
    }
    return 1;
}

static DWORD wait_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    steps++;
    WaitForSingleObject( event, INFINITE );
    return 1;
}

/* Waits for a byte, which comes at the end of the test. With a long grace period nobody is told of such a call:
   grace.never. */
static DWORD read_body( struct kit_worker *worker )
{
    DWORD got;
    char byte;

    kit_yield( worker, NULL );
    steps++;
    ReadFile( pipe_ends[0], &byte, 1, &got, NULL );
    return 1;
}

static BOOL begin( DWORD (*body)( struct kit_worker *worker ), BOOL beside )
{
    struct kit_sched *sched;

    if (!kit_open()) return FALSE;
    event = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!ok( CreatePipe( &pipe_ends[0], &pipe_ends[1], NULL, 0 ), "no pipe, error %lu\n", GetLastError() )) return FALSE;
    sched = kit_add_sched( NULL );
    runner = kit_add_worker( sched->list, body, NULL );
    if (beside) kit_add_worker( sched->list, beside_body, NULL );
    kit_start();
    return ok( runner && kit_leaves( &steps, 0 ), "the worker did not start\n" );  /* some step once */
}

static void close_all( void )
{
    kit_check();
    CloseHandle( event );
    CloseHandle( pipe_ends[0] );
    CloseHandle( pipe_ends[1] );
}

static void finish( void )
{
    stop = 1;
    SetEvent( event );
    kit_finish();
    close_all();
}

/* What runs on it may stand still with it, if it is not on a thread of its own, and goes on with
   it. */
START_TEST( scenario_scheduler_suspend )
{
    HANDLE thread;
    CONTEXT context;
    int i, starved = 0, failed = 0;

    if (!begin( run_body, TRUE )) return;
    thread = kit.scheds[0].thread;
    for (i = 0; i < 100; i++)
    {
        if (SuspendThread( thread ) != 0) failed++;
        context.ContextFlags = CONTEXT_FULL;
        if (!GetThreadContext( thread, &context )) failed++;
        SwitchToThread();
        if (ResumeThread( thread ) != 1) failed++;
        if (!kit_moves( &steps ) || !kit_moves( &turns )) starved++;
    }
    finish();
    ok( !failed, "%d calls failed\n", failed );
    ok( !starved, "5: a worker did not go on %d times\n", starved );
}

/* The worker is suspended while its scheduler is: that may stand still anywhere. When the scheduler
   goes on, the worker does not, not for a moment, and the other one gets its turn. SuspendThread may
   return before the worker has stopped; GetThreadContext does not [guess]. */
static void suspend_worker( DWORD (*body)( struct kit_worker *worker ), int rounds )
{
    int i, ran = 0, starved = 0, failed = 0;
    CONTEXT context;
    HANDLE thread;

    if (!begin( body, TRUE )) return;
    thread = kit.scheds[0].thread;
    for (i = 0; i < rounds; i++)
    {
        LONG steps_before;

        if (SuspendThread( thread ) != 0) failed++;
        if (SuspendThread( runner->thread ) != 0) failed++;
        context.ContextFlags = CONTEXT_CONTROL;
        if (!GetThreadContext( runner->thread, &context )) failed++;
        steps_before = steps;
        if (ResumeThread( thread ) != 1) failed++;
        if (!kit_moves( &turns )) starved++;
        if (steps != steps_before) ran++;
        if (ResumeThread( runner->thread ) != 1) failed++;
        if (!kit_moves( &steps )) starved++;
    }
    finish();
    ok( !failed, "%d calls failed\n", failed );
    ok( !ran, "5: a suspended worker ran %d times\n", ran );
    ok( !starved, "B10: a worker did not get its turn %d times\n", starved );
}

START_TEST( scenario_scheduler_suspend_worker )          { suspend_worker( run_body, 100 ); }
START_TEST( scenario_scheduler_suspend_worker_yielding ) { suspend_worker( yield_body, 100 ); }
START_TEST( scenario_scheduler_suspend_worker_calling )  { suspend_worker( call_body, 100 ); }
START_TEST( scenario_scheduler_suspend_worker_alerted )  { suspend_worker( alert_body, 50 ); }

/* The same with TerminateThread, which does not wait for the scheduler [guess]. */
static void terminate_worker( DWORD (*body)( struct kit_worker *worker ) )
{
    LONG steps_before;
    HANDLE thread;
    DWORD code = 0;

    if (!begin( body, TRUE )) return;
    thread = kit.scheds[0].thread;
    runner->ended = 1;                          /* as far as it gets */
    ok( SuspendThread( thread ) == 0, "SuspendThread: error %lu\n", GetLastError() );
    ok( TerminateThread( runner->thread, 0x123 ), "TerminateThread: error %lu\n", GetLastError() );
    unverified ok( !WaitForSingleObject( runner->thread, KIT_LIMIT ),
                   "B18: it did not end in %d ms while its scheduler stands still\n", KIT_LIMIT );
    ok( ResumeThread( thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    steps_before = steps;
    unverified ok( kit_moves( &turns ), "B18: the other worker did not get its turn\n" );
    unverified ok( kit_wait_value( &runner->terminated, 1 ), "B18: it was not delivered terminated\n" );
    unverified ok( steps == steps_before, "5: a terminated worker ran\n" );
    ok( GetExitCodeThread( runner->thread, &code ) && code == 0x123, "B18: exit code %#lx\n", code );
    finish();
}

START_TEST( scenario_scheduler_terminate_worker )           { terminate_worker( call_body ); }
START_TEST( scenario_scheduler_terminate_worker_computing ) { terminate_worker( compute_body ); }

/* ---- the scheduler is ended ---- */

/* Its worker goes on with another scheduler that serves the list. */
static void terminate_scheduler( DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *first;
    LONG steps_before;
    DWORD code = 0;

    if (!begin( body, FALSE )) return;
    first = &kit.scheds[0];
    first->stays = TRUE;
    ok( TerminateThread( first->thread, 0x234 ), "TerminateThread: error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( first->thread, KIT_LIMIT ), "it did not end in %d ms\n", KIT_LIMIT );
    ok( GetExitCodeThread( first->thread, &code ) && code == 0x234, "exit code %#lx\n", code );
    steps_before = steps;
    kit_add_sched( first->list );
    kit_start();
    if (body != wait_body && body != read_body)         /* those make no step more */
        unverified ok( steps != steps_before || kit_moves( &steps ), "4 its worker does not go on with another scheduler\n" );
    stop = 1;
    SetEvent( event );
    WriteFile( pipe_ends[1], "", 1, &code, NULL );
    kit_finish();
    /* who would have counted that it blocked may have been ended before */
    if (runner->blocks == runner->queued - 2) runner->blocks++;
    close_all();
}

/* The scheduler is suspended; its worker, if it runs on a thread of its own, yields to it, and it is terminated before
   its SchedulerProc hears of that: then the worker is on the list [guess], or nobody would ever hear of it. */
START_TEST( scenario_scheduler_terminate_yielded )
{
    struct kit_sched *first;
    ULONGLONG start;
    int i;

    if (!begin( yield_late_body, FALSE )) return;
    first = &kit.scheds[0];
    first->stays = TRUE;
    ok( SuspendThread( first->thread ) == 0, "SuspendThread: error %lu\n", GetLastError() );
    parked = 1;
    /* Nobody sees from outside that it has yielded: so it gets time for that. What is expected does not depend on it; nor on
       whether it is on a thread of its own. */
    for (start = clock_ms(); parked == 1 && clock_ms() - start < 1000;) Sleep( 1 );
    for (i = 0; i < 100; i++) SwitchToThread();
    ok( TerminateThread( first->thread, 0x234 ), "TerminateThread: error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( first->thread, KIT_LIMIT ), "it did not end in %d ms\n", KIT_LIMIT );
    kit_add_sched( first->list );
    kit_start();
    if (!(unverified ok( kit_wait_value( &runner->terminated, 1 ), "4 its worker does not go on with another scheduler\n" ))) return;
    kit_finish();
    /* the Yield upcall that was lost with its scheduler */
    if (runner->yields == 1 && runner->yields_made == 2) runner->yields_made = 1;
    if (runner->blocks == runner->queued - 2) runner->blocks++;
    close_all();
}

START_TEST( scenario_scheduler_terminate_computing ) { terminate_scheduler( compute_body ); }
START_TEST( scenario_scheduler_terminate_at_home )   { terminate_scheduler( compute_at_home_body ); }
START_TEST( scenario_scheduler_terminate_idle )      { terminate_scheduler( wait_body ); }
START_TEST( scenario_scheduler_terminate_reading )   { terminate_scheduler( read_body ); }
