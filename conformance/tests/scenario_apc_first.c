/*
 * Scenarios: an APC is queued to a worker that has not begun.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread that is given an APC before it begins begins by calling it [doc: QueueUserAPC]. A worker begins when a scheduler
 * executes it [doc: User-Mode Scheduling]; so that is when its first APC runs [guess].
 */
#include <string.h>
#include "../umslib.h"
#include "scenario_kit.h"

#define APCS 3

static struct sched sched;
static struct worker worker;
static volatile LONG apcs, disorder, elsewhere, no_worker, no_yield, before_body, ran;

static void CALLBACK routine( ULONG_PTR number )
{
    if (apcs != (LONG)number) disorder++;
    if (GetCurrentThreadId() != worker.tid) elsewhere++;
    if (pGetCurrentUmsThread() != worker.context) no_worker++;
    apcs++;
}

/* It is a worker from its first instruction on. */
static void CALLBACK yielding( ULONG_PTR number )
{
    routine( number );
    if (!pUmsThreadYield( NULL )) no_yield++;
}

static void body( struct worker *self )
{
    (void)self;
    before_body = apcs;
    ran++;
}

static BOOL begin_test( DWORD flags )
{
    memset( &sched, 0, sizeof(sched) );
    memset( &worker, 0, sizeof(worker) );
    sched.expect = 1;
    apcs = disorder = elsewhere = no_worker = no_yield = before_body = ran = 0;
    return need( EnterUmsSchedulingMode ) && ok( sched_init( &sched ), "no scheduler, error %lu\n", GetLastError() ) &&
           ok( worker_create( &worker, sched.list, body, NULL, flags ), "no worker, error %lu\n", GetLastError() );
}

static void queue( PAPCFUNC function )
{
    int i;

    for (i = 0; i < APCS; i++) ok( QueueUserAPC( function, worker.thread, i ), "QueueUserAPC: error %lu\n", GetLastError() );
}

static void execute( void )
{
    ok( sched_start( &sched ) && sched_join( &sched ), "the scheduler did not end\n" );
    sched_check( &sched );
    ok( worker_wait( &worker, WAIT_BOUND ) && worker_delete( &worker ), "the worker did not end\n" );
    sched_free( &sched );
}

static void check_begun( void )
{
    unverified ok( !apcs, "%ld APCs ran before it was executed\n", apcs );
    execute();
    ok( ran == 1, "5 its start routine ran %ld times\n", ran );
    unverified ok( before_body == APCS && apcs == APCS, "%ld APCs ran before its start routine, %ld in all, expected %d\n",
                   before_body, apcs, APCS );
    ok( !disorder, "%ld APCs ran out of their order\n", disorder );
    ok( !elsewhere, "%ld APCs ran on another thread\n", elsewhere );
    unverified ok( !no_worker && !no_yield, "in %ld APCs it was no worker, %ld could not yield\n", no_worker, no_yield );
}

START_TEST( scenario_apc_first )
{
    if (!begin_test( 0 )) return;
    queue( routine );
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    check_begun();
}

START_TEST( scenario_apc_first_parked )
{
    if (!begin_test( 0 )) return;
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    queue( yielding );
    check_begun();
}

/* The documented way to have a thread begin with an APC for certain. */
START_TEST( scenario_apc_first_suspended )
{
    if (!begin_test( CREATE_SUSPENDED )) return;
    queue( yielding );
    ok( ResumeThread( worker.thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    check_begun();
}

/* Another worker makes it and queues them. That one has yielded before, so a shim that can make its calls elsewhere than on its own
   thread does so here. */
static struct worker maker;
static volatile LONG failed;

static void make_and_queue( struct worker *self )
{
    int i;

    (void)self;
    failed += !worker_create( &worker, sched.list, body, NULL, CREATE_SUSPENDED );
    failed += !pUmsThreadYield( NULL );
    for (i = 0; i < APCS; i++) failed += !QueueUserAPC( yielding, worker.thread, i );
    failed += ResumeThread( worker.thread ) != 1;
}

START_TEST( scenario_apc_first_by_worker )
{
    if (!need( EnterUmsSchedulingMode ) || !ok( sched_init( &sched ), "no scheduler, error %lu\n", GetLastError() )) return;
    sched.expect = 2;
    if (!ok( worker_create( &maker, sched.list, make_and_queue, NULL, 0 ), "no worker, error %lu\n", GetLastError() )) return;
    check_begun();
    ok( !failed, "%ld calls of a worker failed\n", failed );
    ok( worker_wait( &maker, WAIT_BOUND ) && worker_delete( &maker ), "the worker did not end\n" );
}

/* It never begins, and what was queued to it does not come to the next worker of its context. */
START_TEST( scenario_apc_first_killed )
{
    if (!begin_test( 0 )) return;
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    queue( routine );
    ok( TerminateThread( worker.thread, 7 ), "TerminateThread: error %lu\n", GetLastError() );
    execute();
    ok( !apcs && !ran, "%ld APCs ran, and %ld start routines\n", apcs, ran );
    if (!begin_test( CREATE_SUSPENDED )) return;
    ok( ResumeThread( worker.thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    execute();
    ok( !apcs && ran == 1, "%ld APCs of another worker ran, and %ld start routines\n", apcs, ran );
}

/* The handle has to permit it [doc: QueueUserAPC]. */
START_TEST( scenario_apc_first_access )
{
    HANDLE weak;

    if (!begin_test( 0 )) return;
    ok( DuplicateHandle( GetCurrentProcess(), worker.thread, GetCurrentProcess(), &weak, SYNCHRONIZE, FALSE, 0 ),
        "DuplicateHandle: error %lu\n", GetLastError() );
    SetLastError( 0 );
    ok( !QueueUserAPC( routine, weak, 0 ) && GetLastError() == ERROR_ACCESS_DENIED, "QueueUserAPC: error %lu\n", GetLastError() );
    CloseHandle( weak );
    execute();
    ok( !apcs && ran == 1, "%ld APCs ran, and %ld start routines\n", apcs, ran );
}
