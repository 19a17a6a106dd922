/*
 * Scenarios: workers that somebody suspends.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B7, B8, B10, B19, B28, D1; section 5, "suspended".
 */
#include "../umslib.h"
#include "scenario_kit.h"

static int query_flag( struct kit_worker *worker, UMS_THREAD_INFO_CLASS info_class )
{
    BOOLEAN flag = 0xcc;

    if (!pQueryUmsThreadInformation( worker->context, info_class, &flag, sizeof(flag),
                                     NULL )) return -1;
    return flag;
}

/* --- while it is yielded --- */

static volatile LONG parked_steps;

static DWORD parked_body( struct kit_worker *worker )
{
    parked_steps = 1;
    kit_park( worker );
    parked_steps = 2;
    return 0;
}

/* A yielded worker that is suspended cannot be executed; the failure is final, it never comes to a
   list by itself, and the scheduler that polls it can execute it after ResumeThread. */
START_TEST( scenario_suspend_yielded )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    LONG queued, blocks;
    DWORD ret;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, parked_body, NULL );
    kit_start();
    ok( worker && kit_wait_value( &worker->parked, 1 ), "no Yield upcall\n" );
    queued = worker->queued;
    blocks = worker->blocks;
    ok( query_flag( worker, UmsThreadIsSuspended ) == 0, "suspended before anybody did it\n" );
    ok( query_flag( worker, UmsThreadIsTerminated ) == 0, "B19: a yielded worker is terminated\n" );

    ret = SuspendThread( worker->thread );
    ok( ret == 0, "SuspendThread gave %lu, error %lu\n", ret, GetLastError() );
    ok( context_gets_suspended( worker->context, 1 ), "B8: IsSuspended stays FALSE\n" );
    ok( query_flag( worker, UmsThreadIsTerminated ) == 0,
        "B19: a suspended worker is terminated\n" );
    kit_ready( worker, sched );
    ok( kit_wait_value( &worker->suspended, 1 ),
        "B7: Execute of a suspended worker did not fail for that\n" );
    ok( sched->execute_error == ERROR_INVALID_PARAMETER, "D1: its error is %lu\n",
        sched->execute_error );
    ok( parked_steps == 1, "B7: a suspended worker ran\n" );

    ret = ResumeThread( worker->thread );
    ok( ret == 1, "ResumeThread gave %lu\n", ret );
    kit_finish();
    ok( parked_steps == 2, "B8: the worker did not go on after it was resumed\n" );
    ok( worker->queued > queued && worker->queued - queued == worker->blocks - blocks,
        "B8: delivered %ld times after the yield, with %ld Blocked upcalls\n",
        worker->queued - queued, worker->blocks - blocks );
    kit_check();
}

/* --- while it is on its way through a list --- */

static HANDLE blocked_event;
static volatile LONG blocked_steps;

static DWORD blocked_body( struct kit_worker *worker )
{
    (void)worker;
    blocked_steps = 1;
    if (!WaitForSingleObject( blocked_event, KIT_LIMIT )) blocked_steps = 2;
    return 0;
}

/* Suspended in a wait, the wait ends, then resumed: whatever the list and Execute say meanwhile,
   the worker goes on once and not before. */
START_TEST( scenario_suspend_blocked )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    DWORD ret;

    if (!kit_open()) return;
    blocked_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, blocked_body, NULL );
    kit_start();
    ok( kit_wait_value( &blocked_steps, 1 ), "the worker did not start\n" );
    ok( worker && kit_leaves( &worker->blocks, 0 ), "B11: no Blocked upcall\n" );
    ok( query_flag( worker, UmsThreadIsTerminated ) == 0, "B19: a blocked worker is terminated\n" );
    ret = SuspendThread( worker->thread );
    ok( ret == 0, "SuspendThread gave %lu, error %lu\n", ret, GetLastError() );
    SetEvent( blocked_event );
    Sleep( 20 );                        /* give a wrong one the chance to run */
    ok( blocked_steps == 1, "B7: a suspended worker went on\n" );
    ret = ResumeThread( worker->thread );
    ok( ret == 1, "ResumeThread gave %lu\n", ret );
    kit_finish();
    ok( blocked_steps == 2, "B8: the worker did not go on after it was resumed\n" );
    kit_check();
    CloseHandle( blocked_event );
}

/* --- while it runs --- */

static volatile LONG spin_counter, spin_stop;

static DWORD spin_body( struct kit_worker *worker )
{
    (void)worker;
    while (!spin_stop) spin_counter++;
    return 0;
}

static DWORD patient_body( struct kit_worker *worker )
{
    (void)worker;
    return 0;
}

/* Taken off its scheduler: Blocked with payload 0, the scheduler can run another; queued when it is
   resumed. */
START_TEST( scenario_suspend_running )
{
    struct kit_sched *sched;
    struct kit_worker *spinner, *patient;
    LONG counter, queued;
    DWORD ret;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    spinner = kit_add_worker( sched->list, spin_body, NULL );
    kit_start();
    while (spinner && !spin_counter && !sched->timeouts) Sleep( 1 );
    ok( spinner && spinner->executes >= 1, "the worker did not start\n" );
    ret = SuspendThread( spinner->thread );
    ok( ret == 0, "SuspendThread gave %lu, error %lu\n", ret, GetLastError() );
    ok( context_gets_suspended( spinner->context, 1 ), "B8: IsSuspended stays FALSE\n" );
    patient = kit_add_worker( sched->list, patient_body, NULL );
    ok( patient &&
        kit_wait_value( &patient->terminated, 1 ), "B10: the scheduler did not get control\n" );
    ok( spinner->payload == 0, "B10: payload %lu for a suspension\n", (DWORD)spinner->payload );
    counter = spin_counter;
    queued = spinner->queued;
    Sleep( 20 );
    ok( spin_counter == counter, "a suspended worker ran\n" );
    ok( spinner->queued == queued, "B8: a suspended worker was delivered\n" );
    ret = ResumeThread( spinner->thread );
    ok( ret == 1, "ResumeThread gave %lu\n", ret );
    ok( spinner->queued - queued == 0 || spinner->queued - queued == 1,
        "B9: delivered %ld times on resume\n", spinner->queued - queued );
    spin_stop = 1;
    kit_finish();
    ok( spinner->queued >= queued + 2, "B9: delivered %ld times, not resumed and terminated\n",
        spinner->queued - queued );
    kit_check();
}

/* --- at any time: B28 --- */

#define STORM_STOPS 100

static volatile LONG storm_stop;

static DWORD storm_body( struct kit_worker *worker )
{
    while (!storm_stop) if (!kit_yield( worker, worker )) break;
    return 0;
}

/* One yield, one upcall, wherever the suspension falls; kit_check does the sums. */
START_TEST( scenario_suspend_storm )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    int i, failed = 0, stands = 0;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, storm_body, NULL );
    kit_start();
    ok( worker && kit_leaves( &worker->yields_made, 0 ), "the worker did not start\n" );
    for (i = 0; worker && i < STORM_STOPS && !stands; i++)      /* each finds it among its yields */
    {
        if (SuspendThread( worker->thread ) == ~0u) failed++;
        if (i & 1) SwitchToThread();
        if (ResumeThread( worker->thread ) == ~0u) failed++;
        if (!kit_moves( &worker->yields_made )) stands++;
    }
    storm_stop = 1;
    kit_finish();
    ok( !failed, "%d calls to suspend or resume failed\n", failed );
    ok( !stands, "B8: it did not go on after a resume\n" );
    ok( worker && sched->yielded == worker->yields_made, "B28: %ld Yield upcalls\n", sched->yielded );
    kit_check();
}

/* --- somebody reads its registers meanwhile: 1.5, "temporarily locked by the system" --- */

#define CONTEXT_READS 100

static volatile LONG read_done;
static NT_TIB *volatile read_tib;
static HANDLE read_event;

static DWORD read_body( struct kit_worker *worker )
{
    int i;

    read_tib = kit_teb();
    for (i = 0; !read_done; i++)
    {
        kit_yield( worker, worker );
        if (i % 100 == 99) WaitForSingleObject( read_event, 1 );
    }
    return i;
}

/* A worker that yields and waits, and its scheduler; it runs. */
static struct kit_worker *begin_reads( struct kit_sched **sched )
{
    struct kit_worker *worker;

    if (!kit_open()) return NULL;
    read_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    *sched = kit_add_sched( NULL );
    if (!(worker = kit_add_worker( (*sched)->list, read_body, NULL ))) return NULL;
    kit_start();
    while (!read_tib && !(*sched)->timeouts) Sleep( 1 );
    return worker;
}

/* As a debugger does it: suspend, GetThreadContext, resume, whatever the worker is doing. */
START_TEST( scenario_suspend_context )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    int i, failed = 0, elsewhere = 0;
    CONTEXT context;

    if (!(worker = begin_reads( &sched ))) return;
    for (i = 0; read_tib && i < CONTEXT_READS; i++)
    {
        if (SuspendThread( worker->thread ) == ~0u) failed++;
        memset( &context, 0, sizeof(context) );
        context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
        if (!GetThreadContext( worker->thread, &context )) failed++;
        if (context.Rsp < (ULONG_PTR)read_tib->StackLimit ||
            context.Rsp >= (ULONG_PTR)read_tib->StackBase) elsewhere++;
        if (ResumeThread( worker->thread ) == ~0u) failed++;
        if (i % 4 == 3) Sleep( 1 );
    }
    read_done = 1;
    kit_finish();
    ok( !failed, "%d calls failed\n", failed );
    unverified ok( !elsewhere, "the stack pointer was not on the worker's stack %d times\n",
                   elsewhere );
    ok( sched->yielded > 0, "B28: no yields\n" );
    kit_check();
    CloseHandle( read_event );
}

/* --- somebody suspends the one who suspends it: B28 --- */

static volatile LONG stopper_done, stopped_times, stopper_failed;
static HANDLE stopper_target;

static DWORD WINAPI stopper_thread( void *arg )
{
    CONTEXT context;

    (void)arg;
    while (!stopper_done)
    {
        if (SuspendThread( stopper_target ) == ~0u) InterlockedIncrement( &stopper_failed );
        context.ContextFlags = CONTEXT_CONTROL;
        if (!GetThreadContext( stopper_target, &context )) InterlockedIncrement( &stopper_failed );
        if (ResumeThread( stopper_target ) == ~0u) InterlockedIncrement( &stopper_failed );
        InterlockedIncrement( &stopped_times );
    }
    return 0;
}

/* A profiler suspends the worker, or its scheduler, over and over; a collector suspends the profiler, wherever it is, and
   then the worker. Windows ends a call of the profiler before it stands still, so the collector waits for nobody [guess: a
   suspension is delivered on the way back to user mode]. */
static void suspend_suspender( BOOL of_scheduler )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    int i, failed = 0;
    CONTEXT context;
    HANDLE stopper;

    if (!(worker = begin_reads( &sched ))) return;
    stopper_target = of_scheduler ? sched->thread : worker->thread;
    stopper = CreateThread( NULL, 0, stopper_thread, NULL, 0, NULL );
    while (stopper && !stopped_times) SwitchToThread();
    for (i = 0; stopper && i < CONTEXT_READS; i++)
    {
        if (SuspendThread( stopper ) == ~0u) failed++;
        if (SuspendThread( worker->thread ) == ~0u) failed++;
        context.ContextFlags = CONTEXT_CONTROL;
        if (!GetThreadContext( worker->thread, &context )) failed++;
        if (ResumeThread( worker->thread ) == ~0u) failed++;
        if (ResumeThread( stopper ) == ~0u) failed++;
        if (i % 4 == 3) Sleep( 1 );
    }
    stopper_done = 1;
    ok( stopper && !WaitForSingleObject( stopper, KIT_LIMIT ), "the profiler does not end\n" );
    read_done = 1;
    kit_finish();
    ok( !failed && !stopper_failed, "%d and %ld calls failed\n", failed, stopper_failed );
    kit_check();
    CloseHandle( stopper );
    CloseHandle( read_event );
}

START_TEST( scenario_suspend_suspender )
{
    suspend_suspender( FALSE );
}

START_TEST( scenario_suspend_scheduler_suspender )
{
    suspend_suspender( TRUE );
}
