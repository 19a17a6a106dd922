/*
 * Scenarios: who owns a mutex when its thread enters or leaves the mode, before it ends.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mutex belongs to the thread that has acquired it until that thread has released it, or ends [doc: Mutex
 * Objects]. Whether the thread is a scheduler then makes no difference.
 */
#define _WIN32_WINNT 0x0602
#include "foreign_kit.h"
#include "object_kit.h"

static PUMS_COMPLETION_LIST own_list;

/* Returns when the scheduler has left. */
static void enter( PRTL_UMS_SCHEDULER_ENTRY_POINT proc, PVOID param )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, own_list, proc, param };

    check_that( pEnterUmsSchedulingMode( &info ) );
}

/* ---- the owner was a scheduler, and lives ---- */

static void NTAPI make_and_leave( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload;
    subject = CreateMutexW( NULL, TRUE, NULL );
    if (param) CloseHandle( copy_of( subject ) );
}

static volatile LONG runs;

static DWORD end_body( struct kit_worker *worker )
{
    (void)worker;
    runs = 1;
    return 0;
}

static DWORD stay_body( struct kit_worker *worker )
{
    (void)worker;
    runs = 1;
    WaitForSingleObject( done, INFINITE );
    return 0;
}

static DWORD WINAPI find_it_owned( void *arg )
{
    (void)arg;
    check_that( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT );
    return 0;
}

/* The main thread takes the mutex in its SchedulerProc, and may let others know it there. The worker comes next, so
   that it may get the context that the scheduler had; nobody else makes or deletes one in between. The mutex is not
   the first one of the process, whose state may be elsewhere (scenario_mutex_made_in_dllmain). */
static void run_left( BOOL is_ended, BOOL becomes_known )
{
    struct kit_worker *worker;
    struct kit_sched *sched;

    if (!kit_open()) return;
    CloseHandle( CreateMutexW( NULL, FALSE, NULL ) );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    own_list = kit_new_list();
    enter( make_and_leave, becomes_known ? &subject : NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, is_ended ? stay_body : end_body, NULL );
    kit_start();
    ok( kit_wait_value( &runs, 1 ), "the worker does not run\n" );
    if (is_ended)
    {
        ok( TerminateThread( worker->thread, 3 ), "error %lu\n", GetLastError() );
        worker->ended = 1;                      /* as far as the kit is concerned */
    }
    ok( kit_wait_value( &worker->terminated, 1 ), "the worker did not come to the list\n" );
    kit_finish();
    join( start_thread( find_it_owned, NULL ) );
    ok( ReleaseMutex( subject ), "it has lost its owner, error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( subject, 0 ) && ReleaseMutex( subject ), "it is not free\n" );
    ok( !wrong, "%ld wrong answers\n", wrong );
    ok( pDeleteUmsCompletionList( own_list ), "error %lu\n", GetLastError() );
    kit_check();
}

START_TEST( scenario_mutex_scheduler_left ) { run_left( FALSE, FALSE ); }
START_TEST( scenario_mutex_scheduler_left_known ) { run_left( FALSE, TRUE ); }
START_TEST( scenario_mutex_scheduler_left_kill ) { run_left( TRUE, FALSE ); }
START_TEST( scenario_mutex_scheduler_left_kill_known ) { run_left( TRUE, TRUE ); }

/* ---- the owner is a scheduler, and another process ends it ---- */

static void NTAPI stay( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload; (void)param;
    owned = 1;
    for (;;) Sleep( INFINITE );
}

static void NTAPI wait_and_stay( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    check_that( !WaitForSingleObject( subject, INFINITE ) );
    stay( reason, payload, param );
}

static DWORD WINAPI enter_and_wait( void *arg )
{
    (void)arg;
    enter( wait_and_stay, NULL );
    return 0;
}

static DWORD WINAPI wait_and_enter( void *arg )
{
    (void)arg;
    check_that( !WaitForSingleObject( subject, INFINITE ) );
    enter( stay, NULL );
    return 0;
}

/* Beside the scheduler of the kit, which has a worker. That worker waits too: the end of the owner may be noticed seconds
   later, and a worker that computes would take a processor from the tests beside this one for so long. */
static void run_foreign( LPTHREAD_START_ROUTINE start, BOOL becomes_known )
{
    HANDLE thread;

    subject = CreateMutexW( NULL, FALSE, NULL );
    if (!foreign_begin( foreign_wait, FALSE )) return;
    CloseHandle( subject );                     /* not the first one, as above */
    subject = CreateMutexW( NULL, FALSE, NULL );
    own_list = kit_new_list();
    thread = start_thread( start, NULL );
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    if (becomes_known) CloseHandle( copy_of( subject ) );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT, "nobody owns it\n" );
    foreign_order->argument = 0x345;
    foreign_tell( FOREIGN_KILL, GetThreadId( thread ) );
    join( thread );
    ok( WaitForSingleObject( subject, KIT_LIMIT ) == WAIT_ABANDONED, "it was not abandoned\n" );
    ok( ReleaseMutex( subject ), "error %lu\n", GetLastError() );
    ok( !wrong, "%ld wrong answers\n", wrong );
    foreign_finish( FALSE );
}

START_TEST( scenario_mutex_scheduler_ended_abroad ) { run_foreign( enter_and_wait, FALSE ); }
START_TEST( scenario_mutex_scheduler_ended_abroad_known ) { run_foreign( enter_and_wait, TRUE ); }
START_TEST( scenario_mutex_scheduler_ended_abroad_before ) { run_foreign( wait_and_enter, FALSE ); }
