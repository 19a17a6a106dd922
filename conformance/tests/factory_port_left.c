/*
 * Packets that no worker of a factory has taken stay in the port (worker_factory.md 2.5).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"
#include <tlhelp32.h>

static HANDLE stopped[FACTORY_WORKERS];
static int stopped_count;

/* All other threads of the process, as a collector or a profiler does it. */
static void stop_world( void )
{
    HANDLE all = CreateToolhelp32Snapshot( TH32CS_SNAPTHREAD, 0 ), thread;
    THREADENTRY32 entry = { .dwSize = sizeof(entry) };
    int i;

    stopped_count = 0;
    if (all == INVALID_HANDLE_VALUE || !Thread32First( all, &entry )) return;
    do
    {
        if (entry.th32OwnerProcessID != GetCurrentProcessId() || entry.th32ThreadID == GetCurrentThreadId()) continue;
        if (stopped_count == FACTORY_WORKERS) break;
        if ((thread = OpenThread( THREAD_SUSPEND_RESUME, FALSE, entry.th32ThreadID ))) stopped[stopped_count++] = thread;
    }
    while (Thread32Next( all, &entry ));
    CloseHandle( all );
    for (i = 0; i < stopped_count; i++) SuspendThread( stopped[i] );
}

static void resume_world( void )
{
    while (stopped_count)
    {
        ResumeThread( stopped[--stopped_count] );
        CloseHandle( stopped[stopped_count] );
    }
}

/* All packets are in the port, in their order. */
static void are_left( struct factory *factory, int first, int count )
{
    OVERLAPPED *overlapped;
    ULONG_PTR key;
    DWORD bytes;
    int i;

    for (i = first; i < first + count; i++)
        ok( GetQueuedCompletionStatus( factory->port, &bytes, &key, &overlapped, 0 ) &&
                bytes == (DWORD)i && key == (ULONG_PTR)i + 1, "2.5 packet %d: %lu bytes, key %llu\n",
            i, bytes, (ULONGLONG)key );
    ok( !GetQueuedCompletionStatus( factory->port, &bytes, &key, &overlapped, 0 ) && !overlapped,
        "2.5 one packet more: %lu bytes, key %llu\n", bytes, (ULONGLONG)key );
}

static BOOL open_paused( struct factory *factory, int count )
{
    int i;

    if (!factory_open( factory )) return FALSE;
    STATUS_IS( "1.3", factory_set( factory->handle, WorkerFactoryPaused, 1 ), STATUS_SUCCESS );
    STATUS_IS( "1.3", factory_set( factory->handle, WorkerFactoryBindingCount, 1 ),
               STATUS_SUCCESS );
    for (i = 0; i < count; i++) factory_post( factory, i );
    unverified ok( factory_stays( &factory->packets, 0 ), "2.6 a worker while paused\n" );
    return TRUE;
}

/* The last handle is closed while no worker exists. */
static void close_with( struct factory *factory, int count )
{
    ok( CloseHandle( factory->handle ), "close, error %lu\n", GetLastError() );
    are_left( factory, 0, count );
    CloseHandle( factory->port );
    CloseHandle( factory->gate );
}

/* 2.5 what no worker has taken stays in the port when the factory goes */
START_TEST( factory_port_left )
{
    static struct factory factory;

    if (open_paused( &factory, 3 )) close_with( &factory, 3 );
}

/* The same at once after the last packet, which somebody may be fetching, and with many. */
START_TEST( factory_port_left_many )
{
    static struct factory factory;
    int i;

    if (!open_paused( &factory, 0 )) return;
    for (i = 0; i < 300; i++) factory_post( &factory, i );
    close_with( &factory, 300 );
}

/* The same when the port is no longer bound [guess: the binding is a sum]; it is right in any case. */
START_TEST( factory_port_left_unbound )
{
    static struct factory factory;

    if (!open_paused( &factory, 100 )) return;
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryBindingCount, (ULONG)-1 ),
               STATUS_SUCCESS );
    are_left( &factory, 0, 100 );
    factory_close( &factory );
}

/* One worker has packet 0, a hundred more are in the port. */
static BOOL open_working( struct factory *factory )
{
    int i;

    factory->packet = factory_block;
    factory->batch = 1;
    factory->max = 1;
    if (!factory_open_with( factory, 1 )) return FALSE;
    factory_post( factory, 0 );
    ok( factory_reach( &factory->running, 1 ), "2.5 the first was not taken\n" );
    for (i = 1; i <= 100; i++) factory_post( factory, i );
    return TRUE;
}

/* The same when the factory ends while its worker is at work: by a shutdown, by its last handle. */
START_TEST( factory_port_left_shut )
{
    static struct factory factory;
    LONG pending = 0;

    if (!open_working( &factory )) return;
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    are_left( &factory, 1, 100 );
    factory_close( &factory );
}

static void end_working( struct factory *factory )
{
    SetEvent( factory->gate );
    ok( factory_gone( factory, 1 ), "2.6 it does not end\n" );
    CloseHandle( factory->workers[0].thread );
    CloseHandle( factory->port );
    CloseHandle( factory->gate );
}

START_TEST( factory_port_left_working )
{
    static struct factory factory;

    if (!open_working( &factory )) return;
    ok( CloseHandle( factory.handle ), "close, error %lu\n", GetLastError() );
    are_left( &factory, 1, 100 );
    end_working( &factory );
}

static volatile LONG over;

/* Whoever serves the factories of a process, if anybody does, is busy meanwhile. */
static DWORD WINAPI keep_asking( void *handle )
{
    ULONG minimum = 0;

    while (!over) factory_set( handle, WorkerFactoryThreadMinimum, minimum ^= 1 );
    return 0;
}

/* The same while another thread changes another factory all the time. */
START_TEST( factory_port_left_busy )
{
    static struct factory factory, other;
    HANDLE thread;
    int i;

    if (!factory_open( &other )) return;
    thread = CreateThread( NULL, 0, keep_asking, other.handle, 0, NULL );
    for (i = 0; i < 30; i++)
    {
        memset( &factory, 0, sizeof(factory) );
        if (!open_working( &factory )) break;
        ok( CloseHandle( factory.handle ), "close, error %lu\n", GetLastError() );
        are_left( &factory, 1, 100 );
        end_working( &factory );
    }
    over = 1;
    wait_signaled( thread );
    CloseHandle( thread );
    factory_close( &other );
}

/* The same while no other thread of the process runs. */
START_TEST( factory_port_left_stopped )
{
    static struct factory factory;

    if (!open_working( &factory )) return;
    ok( factory_stays( &factory.running, 1 ), "2.4 two run\n" );    /* all is at rest */
    stop_world();
    ok( stopped_count > 0, "no thread was found\n" );      /* its worker at least */
    ok( CloseHandle( factory.handle ), "close, error %lu\n", GetLastError() );
    are_left( &factory, 1, 100 );
    resume_world();
    end_working( &factory );
}

/* The same by a worker: each round a factory whose own worker is at work. */
static void close_and_take( struct worker *worker )
{
    struct factory *factory = worker->arg;
    OVERLAPPED *overlapped;
    ULONG_PTR key;
    DWORD bytes;
    int i;

    if (!CloseHandle( factory->handle )) worker->result[0]++;
    for (i = 1; i <= 100; i++)
        if (!GetQueuedCompletionStatus( factory->port, &bytes, &key, &overlapped, 0 ) || bytes != (DWORD)i)
            worker->result[0]++;
}

START_TEST( factory_port_left_by_worker )
{
    static struct factory factory;
    int i;

    for (i = 0; i < 5; i++)
    {
        struct worker worker = { 0 };
        struct sched sched = { 0 };

        memset( &factory, 0, sizeof(factory) );
        if (!open_working( &factory ) || !sched_init( &sched )) return;
        if (!ok( worker_create( &worker, sched.list, close_and_take, &factory, 0 ), "no worker, error %lu\n",
                 GetLastError() )) return;
        run_workers( &sched, &worker, 1 );
        ok( !worker.result[0], "2.5 round %d: %llu packets are missing or in another order\n", i,
            (ULONGLONG)worker.result[0] );
        sched_free( &sched );
        end_working( &factory );
    }
}

static DWORD WINAPI shut_it( void *arg )
{
    struct factory *factory = arg;
    LONG pending = 0;

    factory_enter( factory );
    return pNtShutdownWorkerFactory( factory->handle, &pending ) != 0;
}

/* The same while a thread that has shut the factory down is suspended, at any moment. What the second shutdown gives is [guess]. */
START_TEST( factory_port_left_suspended )
{
    static struct factory factory;
    LONG pending = 0;
    HANDLE thread;
    DWORD failed;
    int i;

    for (i = 0; i < 30; i++)
    {
        memset( &factory, 0, sizeof(factory) );
        if (!open_working( &factory )) return;
        thread = CreateThread( NULL, 0, shut_it, &factory, 0, NULL );
        factory_reach( &factory.running, 2 );
        run_us( 100 * i );
        SuspendThread( thread );
        UNVERIFIED_STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
        are_left( &factory, 1, 100 );
        ResumeThread( thread );
        ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0 && GetExitCodeThread( thread, &failed ),
            "2.6 the other shutdown does not end, round %d\n", i );
        unverified ok( !failed, "2.6 the other shutdown, round %d\n", i );
        CloseHandle( thread );
        factory_leave( &factory );
        factory_close( &factory );
    }
}
