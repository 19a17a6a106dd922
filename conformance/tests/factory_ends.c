/*
 * Threads that wait for work of a factory and are terminated: the factory goes on (worker_factory.md 3).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

static HANDLE port, handle;
static volatile LONG taken, begun, finish;

static void NTAPI no_worker( void *param )
{
    (void)param;
}

/* A factory that makes no threads: other threads wait for its work, one at a time. */
static BOOL open_paused( void )
{
    if (!factory_needs() || !(port = factory_port( 1 )) || !(handle = factory_create( port, no_worker, NULL, 1 ))) return FALSE;
    STATUS_IS( "1.3", factory_set( handle, WorkerFactoryPaused, 1 ), STATUS_SUCCESS );
    return TRUE;
}

static DWORD WINAPI take_all( void *arg )
{
    factory_packet packet;
    ULONG count;

    (void)arg;
    while (!factory_wait( handle, &packet, 1, &count )) InterlockedIncrement( &taken );
    return 0;
}

static void close_paused( HANDLE taker )
{
    volatile LONG pending;

    STATUS_IS( "2.6", pNtShutdownWorkerFactory( handle, &pending ), STATUS_SUCCESS );
    ok( !WaitForSingleObject( taker, WAIT_BOUND ), "2.6 it waits on\n" );
    CloseHandle( taker );
    CloseHandle( handle );
    CloseHandle( port );
}

/* ---- a scheduler waits for work, and is terminated ---- */

static PUMS_COMPLETION_LIST list;

static void CALLBACK wait_for_work( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_CONTEXT context;
    factory_packet packet;
    ULONG count;

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup && !factory_wait( handle, &packet, 1, &count )) InterlockedIncrement( &taken );
    for (;;)
        if (pDequeueUmsCompletionListItems( list, 0, &context ) && context) pExecuteUmsThread( context );
}

static DWORD WINAPI scheduler( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, wait_for_work, NULL };

    (void)arg;
    return !pEnterUmsSchedulingMode( &info );
}

static HANDLE start_scheduler( void )
{
    HANDLE thread = CreateThread( NULL, 0, scheduler, NULL, 0, NULL );

    ok( factory_settle( handle, 1, -1 ), "2.3 it does not wait\n" );
    return thread;
}

/* What is released behind its end is for the next one that waits. */
static void end_scheduler( HANDLE thread )
{
    LONG before = taken;
    HANDLE taker;

    ok( TerminateThread( thread, 1 ) && !WaitForSingleObject( thread, WAIT_BOUND ), "it does not end\n" );
    CloseHandle( thread );
    STATUS_IS( "2.2", pNtReleaseWorkerFactoryWorker( handle ), STATUS_SUCCESS );
    taker = CreateThread( NULL, 0, take_all, NULL, 0, NULL );
    ok( factory_reach( &taken, before + 1 ), "3 a thread that has ended keeps it from others\n" );
    close_paused( taker );
}

START_TEST( factory_ends_scheduler )
{
    if (!need( EnterUmsSchedulingMode ) || !open_paused() || !(list = list_create())) return;
    end_scheduler( start_scheduler() );
    pDeleteUmsCompletionList( list );
}

static void compute( struct worker *worker )
{
    (void)worker;
    begun = 1;
    while (!finish) YieldProcessor();
}

/* The same while it has work, and runs a worker. */
START_TEST( factory_ends_scheduler_at_work )
{
    static struct worker worker;
    HANDLE thread;

    if (!need( EnterUmsSchedulingMode ) || !open_paused() || !(list = list_create())) return;
    thread = start_scheduler();
    if (!ok( worker_create( &worker, list, compute, NULL, 0 ), "no worker, error %lu\n", GetLastError() )) return;
    STATUS_IS( "2.2", pNtReleaseWorkerFactoryWorker( handle ), STATUS_SUCCESS );
    ok( factory_reach( &begun, 1 ), "no worker runs\n" );
    end_scheduler( thread );
    finish = 1;
    finish_workers( list, NULL, 0, 1 );
    ok( worker_delete( &worker ), "4 not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}
