/*
 * NtShutdownWorkerFactory, and closing the last handle (worker_factory.md 2.6, 2.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"
#include "scenario_child.h"

/* What must not work any more. Its status is not known. */
static void check_is_shut( HANDLE handle )
{
    factory_packet packet;
    NTSTATUS status;
    ULONG count;

    status = pNtReleaseWorkerFactoryWorker( handle );
    ok( status < 0, "2.6 a release after the shutdown: %08lx\n", (ULONG)status );
    observe( "factory.shutdown.release", "%08lx", (ULONG)status );
    status = pNtWorkerFactoryWorkerReady( handle );
    ok( status < 0, "2.6 Ready after the shutdown: %08lx\n", (ULONG)status );
    observe( "factory.shutdown.ready", "%08lx", (ULONG)status );
    status = factory_wait( handle, &packet, 1, &count );
    ok( status < 0, "2.6 a wait after the shutdown: %08lx\n", (ULONG)status );
    observe( "factory.shutdown.wait", "%08lx", (ULONG)status );
    ok( factory_query( handle ).Shutdown, "2.6 Shutdown is not set\n" );
}

/* 2.6 without workers; once more */
START_TEST( factory_shutdown_empty )
{
    static struct factory factory;
    volatile LONG pending = 77;

    if (!factory_open( &factory )) return;
    ok( !factory_query( factory.handle ).Shutdown, "2.6 Shutdown is set\n" );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    unverified ok( pending == 0, "2.6 %ld pending, expected 0\n", pending );
    check_is_shut( factory.handle );
    factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 );
    ok( factory_stays( &factory.started, 0 ), "2.6 a worker after the shutdown\n" );
    pending = 77;
    UNVERIFIED_STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ),
                          STATUS_SUCCESS );
    unverified ok( pending == 0, "2.6 %ld pending the second time, expected 0\n", pending );
    factory_close( &factory );
}

/* 2.6 waiters come back, and not with work */
START_TEST( factory_shutdown_waiting )
{
    static struct factory factory;
    volatile LONG pending = 77;
    int i;

    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 4 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 4, 4 ), "2.2 not 4 workers\n" );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    unverified ok( pending == 0, "2.6 %ld pending, expected 0\n", pending );
    ok( factory_reach( &factory.ended, 4 ), "2.6 %ld of 4 came back\n", factory.ended );
    ok( factory_gone( &factory, 4 ), "2.6 they have not ended\n" );
    for (i = 0; i < 4; i++)
    {
        ok( factory.workers[i].last != STATUS_SUCCESS, "2.6 a wait gave %08lx\n",
            (ULONG)factory.workers[i].last );
        ok( factory.workers[i].last == factory.workers[0].last, "2.6 waits gave %08lx and %08lx\n",
            (ULONG)factory.workers[0].last, (ULONG)factory.workers[i].last );
    }
    observe( "factory.shutdown.waiter", "%08lx", (ULONG)factory.workers[0].last );
    ok( !factory.packets, "2.6 %ld packets\n", factory.packets );
    ok( factory_settle( factory.handle, 0, 0 ), "2.3 workers that are gone are counted\n" );
    check_is_shut( factory.handle );
    factory_close( &factory );
}

static void wait_at_gate( struct factory_worker *worker )
{
    wait_signaled( worker->factory->gate );
}

/* 2.6 those that were made and are not ready are told */
START_TEST( factory_shutdown_pending )
{
    static struct factory factory;
    volatile LONG pending = 77;

    factory.start = wait_at_gate;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ),
               STATUS_SUCCESS );
    ok( factory_reach( &factory.started, 1 ), "2.2 no worker\n" );
    factory.shut = 1;
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    unverified ok( pending == 1, "2.6 %ld pending, expected 1\n", pending );
    SetEvent( factory.gate );
    ok( factory_gone( &factory, 1 ), "2.6 it does not end\n" );
    unverified ok( factory.workers[0].ready < 0, "2.6 Ready gave %08lx\n",
                   (ULONG)factory.workers[0].ready );
    factory_close( &factory );
}

/* 2.6 who is at work is not waited for, and gets no more */
START_TEST( factory_shutdown_working )
{
    static struct factory factory;
    volatile LONG pending = 77;
    int i;

    factory.packet = factory_block;
    factory.batch = 1;
    factory.max = 1;
    if (!factory_open( &factory )) return;
    for (i = 0; i < 3; i++)
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 1 ), "2.5 no worker\n" );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    ok( factory.running == 1 && !factory.handled, "2.6 the shutdown waited for the worker\n" );
    SetEvent( factory.gate );
    ok( factory_gone( &factory, 1 ), "2.6 it does not end\n" );
    ok( factory.workers[0].last != STATUS_SUCCESS, "2.6 its wait gave %08lx\n",
        (ULONG)factory.workers[0].last );
    ok( factory.started == 1, "2.6 %ld workers, expected 1\n", factory.started );
    ok( factory.packets == 1, "2.6 %ld packets, expected 1\n", factory.packets );
    factory_close( &factory );
}

/* 2.7 the pointer comes before the handle, and spoils nothing */
START_TEST( factory_shutdown_pointer )
{
    static struct factory factory;
    LONG *no_access = factory_no_access(), *read_only = factory_read_only();

    if (!factory_open( &factory )) return;
    UNVERIFIED_STATUS_IS( "2.7", pNtShutdownWorkerFactory( NULL, NULL ), STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", pNtShutdownWorkerFactory( factory.port, no_access ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", pNtShutdownWorkerFactory( factory.handle, NULL ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", pNtShutdownWorkerFactory( factory.handle, no_access ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", pNtShutdownWorkerFactory( factory.handle, read_only ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", pNtShutdownWorkerFactory( factory.handle,
                                                           (LONG *)0xffff800000000000 ),
                          STATUS_ACCESS_VIOLATION );
    ok( !factory_query( factory.handle ).Shutdown, "2.7 it was shut down\n" );
    STATUS_IS( "2.7", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, 1 ), "2.7 it does not work any more\n" );
    factory_close( &factory );
}

/* 1.2 the right */
START_TEST( factory_shutdown_rights )
{
    static struct factory factory;
    volatile LONG pending = 77;
    HANDLE copy;

    if (!factory_open( &factory )) return;
    copy = factory_duplicate( factory.handle, WORKER_FACTORY_ALL_ACCESS & ~0x20 );
    STATUS_IS( "1.2", pNtShutdownWorkerFactory( copy, &pending ), STATUS_ACCESS_DENIED );
    CloseHandle( copy );
    ok( !factory_query( factory.handle ).Shutdown, "1.2 it was shut down\n" );
    copy = factory_duplicate( factory.handle, 0x20 );
    STATUS_IS( "1.2", pNtShutdownWorkerFactory( copy, &pending ), STATUS_SUCCESS );
    CloseHandle( copy );
    ok( factory_query( factory.handle ).Shutdown, "1.2 it was not shut down\n" );
    factory_close( &factory );
}

static struct factory *shared_factory;

static DWORD WINAPI shut_down( void *arg )
{
    volatile LONG pending = 77;

    (void)arg;
    return pNtShutdownWorkerFactory( shared_factory->handle, &pending );
}

/* In bursts: on a busy machine nobody else would come to run. */
static DWORD WINAPI release_until_shut( void *arg )
{
    ULONG count = 0;

    (void)arg;
    while (!pNtReleaseWorkerFactoryWorker( shared_factory->handle )) if (!(++count % 64)) Sleep( 1 );
    return 0;
}

/* 2.6 shutdown while others release, wait and shut down */
START_TEST( factory_shutdown_together )
{
    static struct factory factory;
    HANDLE threads[4];
    int round, i;

    for (round = 0; round < 10; round++)
    {
        memset( &factory, 0, sizeof(factory) );
        if (!factory_open( &factory )) return;
        shared_factory = &factory;
        for (i = 0; i < 2; i++)
            threads[i] = CreateThread( NULL, 0, release_until_shut, NULL, 0, NULL );
        ok( factory_reach( &factory.released, 20 ), "2.5 %ld packets\n", factory.released );
        factory.shut = 1;
        for (i = 2; i < 4; i++) threads[i] = CreateThread( NULL, 0, shut_down, NULL, 0, NULL );
        ok( WaitForMultipleObjects( 4, threads, TRUE, WAIT_BOUND ) == WAIT_OBJECT_0,
            "2.6 not over after %d ms\n", WAIT_BOUND );
        for (i = 0; i < 4; i++) CloseHandle( threads[i] );
        ok( factory_gone( &factory, factory.started ), "2.6 workers live on\n" );
        factory_close( &factory );
    }
}

/* 2.6 the last handle */
START_TEST( factory_shutdown_close )
{
    static struct factory factory;
    HANDLE copy;
    int i;

    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 3 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 3, 3 ), "2.2 not 3 workers\n" );
    copy = factory_duplicate( factory.handle, WORKER_FACTORY_ALL_ACCESS );
    CloseHandle( copy );
    ok( factory_stays( &factory.ended, 0 ), "2.6 it was not the last handle\n" );
    STATUS_IS( "2.6", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 1 ), "2.6 it does not work any more\n" );
    ok( factory_settle( factory.handle, 3, 3 ), "2.2 not 3 workers\n" );

    ok( CloseHandle( factory.handle ), "close, error %lu\n", GetLastError() );
    unverified ok( factory_gone( &factory, 3 ), "2.6 workers wait %d ms after the last close\n",
                   WAIT_BOUND );
    for (i = 0; i < 3; i++)
        unverified ok( factory.workers[i].last != STATUS_SUCCESS, "2.6 a wait gave %08lx\n",
                       (ULONG)factory.workers[i].last );
    ok( factory.packets == 1, "2.6 %ld packets\n", factory.packets );
    CloseHandle( factory.port );
    CloseHandle( factory.gate );
}

/* 2.6 closed while a worker is at work: its next wait has no handle */
START_TEST( factory_shutdown_close_working )
{
    static struct factory factory;

    factory.packet = factory_block;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 1 ), "2.5 no worker\n" );
    ok( CloseHandle( factory.handle ), "close, error %lu\n", GetLastError() );
    SetEvent( factory.gate );
    ok( factory_gone( &factory, 1 ), "2.6 it does not end\n" );
    unverified ok( factory.workers[0].last == STATUS_INVALID_HANDLE, "2.6 its wait gave %08lx\n",
                   (ULONG)factory.workers[0].last );
    CloseHandle( factory.port );
    CloseHandle( factory.gate );
}

/* A process ends with workers of a factory in it: waiting, at work, on the way. */
START_TEST( factory_shutdown_process )
{
    static struct factory factory;
    DWORD code = 0;

    if (!factory_needs()) return;
    if (!child_is_here())
    {
        if (child_run( &code )) ok( code == 0, "the process ended with %lu\n", code );
        return;
    }
    factory.packet = factory_block;
    if (!factory_open( &factory )) return;
    factory_set( factory.handle, WorkerFactoryThreadMinimum, 2 );
    pNtReleaseWorkerFactoryWorker( factory.handle );
    ok( factory_reach( &factory.running, 1 ), "2.5 no worker\n" );
    pNtReleaseWorkerFactoryWorker( factory.handle );
    factory_set( factory.handle, WorkerFactoryThreadMinimum, 8 );
}
