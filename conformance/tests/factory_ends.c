/*
 * Threads that wait for work of a factory, or change it, and are terminated or suspended: the factory goes on
 * (worker_factory.md 3).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Only chance takes a thread to a given instruction, so there are many rounds; UMSTEST_LIVES (default 400) sets their number.
 */
#include "factory_kit.h"
#include "scenario_kit.h"
#include <tlhelp32.h>

#define LATEST 300                              /* us */
#define STEP   7

static HANDLE port, handle;
static volatile LONG taken, made, begun, finish;

static void NTAPI no_worker( void *param )
{
    (void)param;
}

/* A factory that makes no threads: other threads wait for its work, one at a time. Whether a release reaches those while it is
   paused is [guess] (2.6), and so is each check that they got one. */
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
    unverified ok( factory_reach( &taken, before + 1 ), "3 a thread that has ended keeps it from others\n" );
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
    unverified ok( factory_reach( &begun, 1 ), "2.6 no worker runs\n" );
    end_scheduler( thread );
    finish = 1;
    finish_workers( list, NULL, 0, 1 );
    ok( worker_delete( &worker ), "4 not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- a worker is terminated in a call about a factory ---- */

/* After a call that may block it is on its own thread. */
static void release_each( struct worker *worker )
{
    int i;

    (void)worker;
    GetFileAttributesA( "C:\\" );
    begun = 1;
    for (; !finish; InterlockedIncrement( &made ))
    {
        while (taken < made && !finish) YieldProcessor();
        for (i = 0; i < 100; i++) YieldProcessor();     /* the other one waits again, most likely */
        if (pNtReleaseWorkerFactoryWorker( handle )) break;
    }
}

static void bind_and_unbind( struct worker *worker )
{
    HANDLE factory = worker->arg;

    GetFileAttributesA( "C:\\" );
    begun = 1;
    while (!finish)
    {
        factory_set( factory, WorkerFactoryBindingCount, 1 );
        factory_set( factory, WorkerFactoryBindingCount, (ULONG)-1 );
    }
}

/* FALSE after a failed ok. */
static BOOL end_worker( void (*body)( struct worker *worker ), void *arg, int us )
{
    static struct sched sched;
    static struct worker worker;
    BOOL well;

    memset( &sched, 0, sizeof(sched) );
    memset( &worker, 0, sizeof(worker) );
    begun = finish = 0;
    sched.expect = 1;
    if (!sched_init( &sched ) || !sched_start( &sched )) return FALSE;
    if (!ok( worker_create( &worker, sched.list, body, arg, 0 ), "no worker, error %lu\n", GetLastError() )) return FALSE;
    while (!begun) SwitchToThread();
    run_us( us );
    well = ok( TerminateThread( worker.thread, 1 ) && worker_wait( &worker, WAIT_BOUND ), "it does not end, error %lu\n",
               GetLastError() ) && sched_join( &sched );
    finish = 1;
    worker_delete( &worker );
    sched_free( &sched );
    return well;
}

/* Another thread takes what it releases, and what is released behind its end. */
START_TEST( factory_ends_releaser )
{
    int i, rounds = umstest_lives() / 2;
    HANDLE taker;

    if (!need( EnterUmsSchedulingMode ) || !open_paused()) return;
    taker = CreateThread( NULL, 0, take_all, NULL, 0, NULL );
    for (i = 0; i < rounds; i++)
    {
        factory_settle( handle, 1, -1 );
        made = taken;
        if (!end_worker( release_each, NULL, i * STEP % LATEST )) break;
        STATUS_IS( "2.2", pNtReleaseWorkerFactoryWorker( handle ), STATUS_SUCCESS );
        if (!(unverified ok( factory_reach( &taken, made + 1 ), "3 round %d: %ld of %ld were taken\n", i, taken, made + 1 ))) break;
    }
    close_paused( taker );
}

/* Another factory gets threads behind that. */
START_TEST( factory_ends_binder )
{
    static struct factory factory;
    int i, rounds = umstest_lives() / 4;
    BOOL well = TRUE;

    if (!need( EnterUmsSchedulingMode ) || !open_paused()) return;
    for (i = 0; i < rounds && well; i++)
    {
        memset( &factory, 0, sizeof(factory) );
        well = end_worker( bind_and_unbind, handle, i * STEP % LATEST ) && factory_open( &factory );
        if (!well) break;
        STATUS_IS( "2.2", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
        well = ok( factory_reach( &factory.released, 1 ), "2.2 round %d: no thread takes what was released\n", i );
        factory_close( &factory );
    }
    CloseHandle( handle );
    CloseHandle( port );
}

/* ---- a worker is suspended in a call about a factory ---- */

static DWORD WINAPI suspend_and_resume( void *thread )
{
    while (!finish) if (SuspendThread( thread ) != (DWORD)-1) ResumeThread( thread );
    return 0;
}

static enum sched_action suspend_blocked( struct sched *sched, UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && SuspendThread( worker->thread ) != (DWORD)-1) ResumeThread( worker->thread );
    return SCHED_DEFAULT;
}

static void bind_often( struct worker *worker )
{
    int i, rounds = umstest_lives();

    for (i = 0; i < rounds; i++)
    {
        factory_set( worker->arg, WorkerFactoryBindingCount, 1 );
        factory_set( worker->arg, WorkerFactoryBindingCount, (ULONG)-1 );
    }
    finish = 1;
}

/* Its scheduler suspends it whenever it was blocked. In such a call it cannot stop where others would wait for it: only that
   scheduler could let it go on. */
START_TEST( factory_ends_suspended )
{
    static struct sched sched;
    static struct worker worker;
    HANDLE thread;

    if (!need( EnterUmsSchedulingMode ) || !open_paused()) return;
    sched.expect = 1;
    sched.hook = suspend_blocked;
    sched.user = &worker;
    if (!sched_init( &sched )) return;
    if (!ok( worker_create( &worker, sched.list, bind_often, handle, 0 ), "no worker, error %lu\n", GetLastError() )) return;
    thread = CreateThread( NULL, 0, suspend_and_resume, worker.thread, 0, NULL );
    sched_run( &sched );
    finish = 1;
    ok( worker.finished, "the worker does not go on\n" );
    ok( !WaitForSingleObject( thread, WAIT_BOUND ), "a suspension does not return\n" );
    CloseHandle( thread );
    worker_delete( &worker );
    sched_free( &sched );
    CloseHandle( handle );
    CloseHandle( port );
}

/* ---- all other threads are terminated ---- */

static BOOL end_other_threads( void )
{
    HANDLE snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPTHREAD, 0 ), thread;
    THREADENTRY32 entry = { .dwSize = sizeof(entry) };
    BOOL more, well = TRUE;
    int count = 0;

    for (more = Thread32First( snapshot, &entry ); more; more = Thread32Next( snapshot, &entry ))
    {
        if (entry.th32OwnerProcessID != GetCurrentProcessId() || entry.th32ThreadID == GetCurrentThreadId()) continue;
        if (!(thread = OpenThread( THREAD_TERMINATE | SYNCHRONIZE, FALSE, entry.th32ThreadID ))) continue;
        kit_lock_loader();
        TerminateThread( thread, 1 );
        kit_unlock_loader();
        if (WaitForSingleObject( thread, WAIT_BOUND )) well = FALSE;
        else count++;
        CloseHandle( thread );
    }
    CloseHandle( snapshot );
    return well && count;
}

/* Work that is released behind that gets a thread. The first round has it at rest. Windows has threads of its own, which must
   not be ended. */
START_TEST( factory_ends_others )
{
    static struct factory factory;
    int i;

    if (!umstest_is_shim())
    {
        skip( "the system's own threads are not to be ended\n" );
        return;
    }
    if (!factory_open( &factory )) return;
    for (i = 0; i <= 20; i++)
    {
        if (i)
        {
            if (i == 1) factory_settle( factory.handle, 1, 1 );
            if (!ok( end_other_threads(), "3 round %d: one does not end\n", i )) break;
        }
        STATUS_IS( "2.2", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
        if (!ok( factory_reach( &factory.released, i + 1 ), "2.2 round %d: no thread takes what was released\n", i )) break;
    }
    factory_close( &factory );
}
