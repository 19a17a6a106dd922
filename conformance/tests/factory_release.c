/*
 * NtReleaseWorkerFactoryWorker (worker_factory.md 2.2, 2.3, 2.5).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"
#include "scenario_child.h"

static factory_packet seen;

static void keep_packet( struct factory_worker *worker, const factory_packet *packet )
{
    (void)worker;
    seen = *packet;
}

/* 2.2, 2.5 the first release makes a worker, and it gets the packet */
START_TEST( factory_release_first )
{
    static struct factory factory;

    factory.packet = keep_packet;
    if (!factory_open( &factory )) return;
    memset( &seen, 0xcc, sizeof(seen) );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 1 ), "2.2 no worker took it\n" );
    ok( factory.workers[0].id && factory.workers[0].id != GetCurrentThreadId(),
        "2.2 on this thread\n" );
    ok( !seen.KeyContext, "2.5 KeyContext %p\n", seen.KeyContext );
    unverified ok( !seen.ApcContext && !seen.IoStatusBlock.Status &&
                       !seen.IoStatusBlock.Information,
                   "2.5 ApcContext %p, status %08lx, information %llu\n", seen.ApcContext,
                   (ULONG)seen.IoStatusBlock.Status, (ULONGLONG)seen.IoStatusBlock.Information );
    ok( factory_settle( factory.handle, 1, 1 ), "2.3 the worker does not wait again\n" );
    ok( !factory_query( factory.handle ).ReleaseCount, "2.3 a release is left\n" );
    factory_close( &factory );
}

#define RELEASES 500

/* 2.3, 2.5 as many packets as releases, whoever takes them */
START_TEST( factory_release_each )
{
    static struct factory factory;
    int i;

    factory.max = 4;
    if (!factory_open( &factory )) return;
    for (i = 0; i < RELEASES; i++)
        if (pNtReleaseWorkerFactoryWorker( factory.handle )) factory.bad++;
    ok( factory_reach( &factory.released, RELEASES ), "2.5 %ld packets of %d\n", factory.released,
        RELEASES );
    ok( factory_rest( factory.handle ),
        "2.5 workers do not come to rest\n" );
    ok( factory_stays( &factory.packets, RELEASES ), "2.5 %ld packets of %d\n", factory.packets,
        RELEASES );
    ok( !factory_query( factory.handle ).ReleaseCount, "2.3 releases are left\n" );
    ok( factory.started <= 4, "2.2 %ld workers\n", factory.started );
    factory_close( &factory );
}

static struct factory *all_release;

static DWORD WINAPI release_many( void *arg )
{
    int i;

    (void)arg;
    for (i = 0; i < RELEASES; i++)
        if (pNtReleaseWorkerFactoryWorker( all_release->handle ))
            InterlockedIncrement( &all_release->bad );
    return 0;
}

/* 2.5 none is lost when several threads release at once */
START_TEST( factory_release_together )
{
    static struct factory factory;
    HANDLE threads[4];
    int i;

    if (!factory_open( &factory )) return;
    all_release = &factory;
    for (i = 0; i < 4; i++) threads[i] = CreateThread( NULL, 0, release_many, NULL, 0, NULL );
    ok( WaitForMultipleObjects( 4, threads, TRUE, WAIT_BOUND ) == WAIT_OBJECT_0,
        "releasing takes more than %d ms\n", WAIT_BOUND );
    ok( factory_reach( &factory.released, 4 * RELEASES ), "2.5 %ld packets of %d\n",
        factory.released, 4 * RELEASES );
    ok( factory_stays( &factory.packets, 4 * RELEASES ), "2.5 %ld packets of %d\n",
        factory.packets, 4 * RELEASES );
    for (i = 0; i < 4; i++) CloseHandle( threads[i] );
    factory_close( &factory );
}

/* 2.3 what nobody can take is counted, and taken later */
START_TEST( factory_release_counted )
{
    static struct factory factory;
    factory_info info;

    if (!factory_open( &factory )) return;
    STATUS_IS( "2.6", factory_set( factory.handle, WorkerFactoryPaused, 1 ), STATUS_SUCCESS );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    info = factory_query( factory.handle );
    unverified ok( info.ReleaseCount == 3, "2.3 %lu releases, expected 3\n", info.ReleaseCount );
    unverified ok( !info.TotalWorkerCount && factory_stays( &factory.started, 0 ),
                   "2.6 %ld workers while paused\n", factory.started );
    STATUS_IS( "2.6", factory_set( factory.handle, WorkerFactoryPaused, 0 ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, 3 ), "2.6 %ld packets of 3 after the pause\n",
        factory.released );
    ok( !factory_query( factory.handle ).ReleaseCount, "2.3 a release is left\n" );
    factory_close( &factory );
}

/* 1.2 the right */
START_TEST( factory_release_rights )
{
    static struct factory factory;
    HANDLE copy;

    if (!factory_open( &factory )) return;
    copy = factory_duplicate( factory.handle, WORKER_FACTORY_ALL_ACCESS & ~0x1 );
    STATUS_IS( "1.2", pNtReleaseWorkerFactoryWorker( copy ), STATUS_ACCESS_DENIED );
    CloseHandle( copy );
    ok( factory_stays( &factory.started, 0 ), "1.2 it was released without the right\n" );
    copy = factory_duplicate( factory.handle, 0x1 );
    STATUS_IS( "1.2", pNtReleaseWorkerFactoryWorker( copy ), STATUS_SUCCESS );
    CloseHandle( copy );
    ok( factory_reach( &factory.released, 1 ), "2.5 through a duplicate: no packet\n" );
    factory_close( &factory );
}

/* 2.2 a worker at work that waits for something else: another one is made */
START_TEST( factory_release_blocked )
{
    static struct factory factory;

    factory.packet = factory_block;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 1 ), "2.5 the first was not taken\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 2 ), "2.2 no second worker\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 3 ), "2.2 no third worker\n" );
    ok( factory.workers[0].id != factory.workers[1].id &&
            factory.workers[1].id != factory.workers[2].id, "2.2 one thread\n" );
    factory_close( &factory );
}

/* The other process: value is what it is to do, and its name for this process's handle. */
static void work_for_parent( const char *value )
{
    HANDLE handle = (HANDLE)(ULONG_PTR)strtoul( value + 2, NULL, 16 );
    NTSTATUS status;

    if (value[0] == 'm') status = factory_set( handle, WorkerFactoryThreadMinimum, 1 );
    else status = pNtReleaseWorkerFactoryWorker( handle );
    ExitProcess( status ? 1 : 0 );
}

/* 'r' or 'm': release a worker, or raise the minimum. */
static void run_foreign( char what )
{
    static struct factory factory;
    PROCESS_INFORMATION process;
    HANDLE copy = NULL;
    DWORD code = 99;
    char value[32];

    if (child_value( value, sizeof(value) )) work_for_parent( value );
    if (!factory_open( &factory )) return;
    DuplicateHandle( GetCurrentProcess(), factory.handle, GetCurrentProcess(), &copy, 0, TRUE,
                     DUPLICATE_SAME_ACCESS );
    snprintf( value, sizeof(value), "%c %lx", what, (DWORD)(ULONG_PTR)copy );
    if (child_start( value, &process )) child_end( &process, &code );
    ok( code == 0, "2.2 another process cannot do it, exit code %lu\n", code );
    if (!code)
    {
        ok( factory_reach( &factory.ready, 1 ), "2.2 no worker here\n" );
        if (what == 'r') ok( factory_reach( &factory.released, 1 ), "2.2 no packet here\n" );
    }
    CloseHandle( copy );
    factory_close( &factory );
}

/* 2.2 another process releases, with an inherited handle: the worker is here */
START_TEST( factory_release_foreign )
{
    run_foreign( 'r' );
}

/* 2.2 another process raises the minimum: the worker is here */
START_TEST( factory_minimum_foreign )
{
    run_foreign( 'm' );
}

/* ---- another process waits ---- */

/* The other process says what it has got by the maximum: nobody else changes that. */
enum { GOT_POSTED = 31, GOT_RELEASED };

static DWORD wait_in_child( HANDLE handle )
{
    factory_packet packet;
    ULONG count;

    if (pNtReleaseWorkerFactoryWorker( handle ) != STATUS_ACCESS_DENIED) return 7;
    if (factory_wait( handle, &packet, 1, &count ) || count != 1) return 1;
    if (packet.KeyContext != (void *)7 || packet.ApcContext != (void *)8) return 2;
    if (factory_set( handle, WorkerFactoryThreadMaximum, GOT_POSTED )) return 3;
    if (factory_wait( handle, &packet, 1, &count ) || packet.KeyContext) return 4;
    if (factory_set( handle, WorkerFactoryThreadMaximum, GOT_RELEASED )) return 5;
    return factory_wait( handle, &packet, 1, &count ) < 0 ? 0 : 6;
}

static BOOL says( HANDLE handle, ULONG what )
{
    ULONGLONG start = clock_ms();

    while (factory_query( handle ).ThreadMaximum != what)
    {
        if (clock_ms() - start >= WAIT_BOUND) return FALSE;
        Sleep( 1 );
    }
    return TRUE;
}

static BOOL open_with_waiter( struct factory *factory, HANDLE *copy, PROCESS_INFORMATION *process )
{
    char value[32];

    if (child_value( value, sizeof(value) ))
        ExitProcess( wait_in_child( (HANDLE)(ULONG_PTR)strtoul( value, NULL, 16 ) ) );
    if (!factory_open( factory )) return FALSE;
    DuplicateHandle( GetCurrentProcess(), factory->handle, GetCurrentProcess(), copy,
                     WORKER_FACTORY_WAIT | WORKER_FACTORY_SET_INFORMATION, TRUE, 0 );
    snprintf( value, sizeof(value), "%lx", (DWORD)(ULONG_PTR)*copy );
    if (!child_start( value, process )) return FALSE;
    return ok( factory_settle( factory->handle, 1, 0 ), "2.5 another process does not wait\n" );
}

static void post_one( struct factory *factory )
{
    ok( PostQueuedCompletionStatus( factory->port, 0, 7, (OVERLAPPED *)8 ), "post, error %lu\n",
        GetLastError() );
}

/* 2.5 a thread of another process that waits gets packets; a shutdown ends its wait. 1.2 it may not
   release */
START_TEST( factory_wait_foreign )
{
    static struct factory factory;
    PROCESS_INFORMATION process;
    volatile LONG pending;
    DWORD code = 99;
    HANDLE copy;

    if (!open_with_waiter( &factory, &copy, &process )) return;
    post_one( &factory );
    unverified ok( says( factory.handle, GOT_POSTED ), "2.5 it has not got what was posted\n" );
    ok( factory_settle( factory.handle, 1, 0 ), "2.5 it does not wait again\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    unverified ok( says( factory.handle, GOT_RELEASED ), "2.5 it was not released\n" );
    ok( factory_settle( factory.handle, 1, 0 ), "2.5 it does not wait again\n" );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    child_end( &process, &code );
    unverified ok( code == 0, "2.5 the other process ended with %lu\n", code );
    CloseHandle( copy );
    factory_close( &factory );
}

static factory_packet taken;

static DWORD WINAPI take_one( void *arg )
{
    struct factory *factory = arg;
    ULONG count;

    return factory_wait( factory->handle, &taken, 1, &count );
}

/* 2.5 one that is ended while it waits takes nothing along */
START_TEST( factory_wait_foreign_killed )
{
    static struct factory factory;
    PROCESS_INFORMATION process;
    HANDLE copy, thread;

    if (!open_with_waiter( &factory, &copy, &process )) return;
    TerminateProcess( process.hProcess, 1 );
    wait_signaled( process.hProcess );
    post_one( &factory );
    ok( factory_settle( factory.handle, 0, 0 ), "2.5 one waits whose process has ended\n" );
    thread = CreateThread( NULL, 0, take_one, &factory, 0, NULL );
    ok( !WaitForSingleObject( thread, WAIT_BOUND ), "2.5 the packet was lost with it\n" );
    unverified ok( taken.KeyContext == (void *)7 && taken.ApcContext == (void *)8,
                   "2.5 key %p\n", taken.KeyContext );
    CloseHandle( thread );
    CloseHandle( process.hThread );
    CloseHandle( process.hProcess );
    CloseHandle( copy );
    factory_close( &factory );
}

#define ROUNDS 60
#define LATEST 90                       /* us */

static struct factory stopped_factory;
static volatile LONG stopped_begun, stopped_made, stopped_goes;

static DWORD WINAPI release_some( void *arg )
{
    int i;

    (void)arg;
    stopped_begun = 1;
    for (i = 0; i < 4; i++)
    {
        if (pNtReleaseWorkerFactoryWorker( stopped_factory.handle )) stopped_factory.bad++;
        InterlockedIncrement( &stopped_made );
    }
    while (!stopped_goes) SwitchToThread();     /* not where it ends: it would have the loader lock */
    return 0;
}

/* A thread that releases is stopped a little later in each round, by the call. What it has released by then, and what others
   release while it stands still, finds a worker: it is the first release that makes one. */
static void stop_releaser( BOOL suspend, BOOL for_good )
{
    LONG made, missed = 0;
    HANDLE thread;
    int i;

    for (i = 0; i < ROUNDS && !missed; i++)
    {
        memset( &stopped_factory, 0, sizeof(stopped_factory) );
        stopped_begun = stopped_made = stopped_goes = 0;
        if (!factory_open( &stopped_factory )) return;
        thread = CreateThread( NULL, 0, release_some, NULL, 0, NULL );
        while (thread && !stopped_begun) SwitchToThread();
        run_us( i * 7 % LATEST );
        if (suspend) SuspendThread( thread );
        if (for_good) TerminateThread( thread, 1 );
        if (for_good) wait_signaled( thread );
        made = stopped_made;
        if (pNtReleaseWorkerFactoryWorker( stopped_factory.handle )) stopped_factory.bad++;
        if (!factory_reach( &stopped_factory.released, made + 1 )) missed++;
        if (!for_good) ResumeThread( thread );
        stopped_goes = 1;
        ok( thread && !WaitForSingleObject( thread, WAIT_BOUND ), "it does not end\n" );
        CloseHandle( thread );
        if (!for_good && !missed)
            ok( factory_reach( &stopped_factory.released, 5 ), "%ld packets of 5\n", stopped_factory.released );
        factory_close( &stopped_factory );
    }
    ok( !missed, "2.2 round %d: %ld packets of %ld\n", i, stopped_factory.released, made + 1 );
}

/* 2.2 a thread that is suspended in a release keeps nobody from working */
START_TEST( factory_release_suspended )
{
    stop_releaser( TRUE, FALSE );
}

/* 2.2 ... nor does one that is terminated there */
START_TEST( factory_release_terminated )
{
    stop_releaser( FALSE, TRUE );
}

/* 2.2 ... nor one that is terminated while it is suspended */
START_TEST( factory_release_both )
{
    stop_releaser( TRUE, TRUE );
}

static DWORD WINAPI ask_for_ever( void *arg )
{
    for (;;)
    {
        factory_info info;

        pNtQueryInformationWorkerFactory( arg, WorkerFactoryBasicInformation, &info, sizeof(info), NULL );
        stopped_begun = 1;
    }
    return 0;
}

/* A thread that is suspended in a call about a factory can be terminated there [doc: TerminateThread asks for
   nothing but the right]. */
START_TEST( factory_query_terminated )
{
    HANDLE port, handle, thread;
    int i;

    if (!factory_needs() || !(port = factory_port( 0 )) || !(handle = factory_create( port, factory_start, NULL, 1 ))) return;
    for (i = 0; i < ROUNDS; i++)
    {
        stopped_begun = 0;
        thread = CreateThread( NULL, 0, ask_for_ever, handle, 0, NULL );
        while (thread && !stopped_begun) SwitchToThread();
        run_us( i * 7 % LATEST );
        if (!ok( SuspendThread( thread ) == 0 && TerminateThread( thread, 1 ) && !WaitForSingleObject( thread, WAIT_BOUND ),
                 "round %d: it does not end, error %lu\n", i, GetLastError() )) break;
        CloseHandle( thread );
    }
    CloseHandle( handle );
    CloseHandle( port );
}
