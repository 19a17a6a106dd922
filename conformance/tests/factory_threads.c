/*
 * Workers of a factory: when they are made, what they are, when they end (worker_factory.md 2.2 to
 * 2.4).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"
#include "scenario_child.h"

/* 2.2 raising the minimum makes workers at once, without work */
START_TEST( factory_threads_minimum )
{
    static struct factory factory;

    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 3 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 3, 3 ), "2.2 not 3 workers\n" );
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 5 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 5, 5 ), "2.2 not 5 workers\n" );
    ok( factory_stays( &factory.started, 5 ), "2.2 %ld workers, expected 5\n", factory.started );
    ok( !factory.packets, "2.2 %ld packets out of nothing\n", factory.packets );
    factory_close( &factory );
}

/* 2.2 ... through a duplicate that may do nothing else */
START_TEST( factory_threads_minimum_duplicate )
{
    static struct factory factory;
    factory_info info;
    HANDLE copy;

    if (!factory_open( &factory )) return;
    info = factory_query( factory.handle );
    copy = factory_duplicate( factory.handle, WORKER_FACTORY_SET_INFORMATION );
    STATUS_IS( "2.2", factory_set( copy, WorkerFactoryThreadMinimum, info.TotalWorkerCount + 1 ),
               STATUS_SUCCESS );
    CloseHandle( copy );
    ok( factory_settle( factory.handle, 1, 1 ), "2.2 no worker\n" );
    factory_close( &factory );
}

static void wait_at_gate( struct factory_worker *worker )
{
    wait_signaled( worker->factory->gate );
}

/* 2.2, 2.3 one release, one worker, however long it takes to get ready */
START_TEST( factory_threads_one_pending )
{
    static struct factory factory;
    factory_info info;

    factory.start = wait_at_gate;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.started, 1 ), "2.2 no worker\n" );
    unverified ok( factory_stays( &factory.started, 1 ), "2.2 %ld workers for one release\n",
                   factory.started );
    info = factory_query( factory.handle );
    ok( info.PendingWorkerCount == 1 && info.TotalWorkerCount == 1, "2.3 pending %lu, total %lu, "
        "expected 1 and 1\n", info.PendingWorkerCount, info.TotalWorkerCount );
    SetEvent( factory.gate );
    ok( factory_reach( &factory.released, 1 ), "2.5 no packet\n" );
    factory_close( &factory );
}

/* 2.2 (2) never more than the maximum; what is left waits */
START_TEST( factory_threads_maximum )
{
    static struct factory factory;
    int i;

    factory.max = 2;
    factory.packet = factory_block;
    factory.batch = 1;
    if (!factory_open( &factory )) return;
    for (i = 0; i < 6; i++)
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 2 ), "2.2 %ld at work, expected 2\n", factory.running );
    ok( factory_stays( &factory.started, 2 ), "2.2 %ld workers, expected 2\n", factory.started );
    ok( factory_query( factory.handle ).TotalWorkerCount == 2, "2.3 total\n" );

    /* a higher maximum: another */
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMaximum, 3 ),
               STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 3 ), "2.2 no third worker\n" );
    ok( factory_stays( &factory.started, 3 ), "2.2 %ld workers, expected 3\n", factory.started );
    SetEvent( factory.gate );
    ok( factory_reach( &factory.handled, 6 ), "2.2 %ld packets of 6\n", factory.handled );
    ok( factory.started == 3, "2.2 %ld workers, expected 3\n", factory.started );
    factory_close( &factory );
}

/* 2.2 (1), 2.6 none while paused */
START_TEST( factory_threads_paused )
{
    static struct factory factory;

    if (!factory_open( &factory )) return;
    STATUS_IS( "2.6", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 1, 1 ), "2.2 no worker\n" );
    STATUS_IS( "2.6", factory_set( factory.handle, WorkerFactoryPaused, 1 ), STATUS_SUCCESS );
    STATUS_IS( "2.6", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    unverified ok( factory_reach( &factory.released, 1 ), "2.6 who waited is held back\n" );
    factory.packet = factory_block;
    STATUS_IS( "2.6", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 1 ), "2.6 the worker did not take it\n" );
    STATUS_IS( "2.6", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    unverified ok( factory_stays( &factory.started, 1 ), "2.6 a worker while paused\n" );
    STATUS_IS( "2.6", factory_set( factory.handle, WorkerFactoryPaused, 0 ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 2 ), "2.6 no worker after the pause\n" );
    factory_close( &factory );
}

static BOOL set_idle( struct factory *factory, LONGLONG ms )
{
    return !factory_set_time( factory->handle, WorkerFactoryTimeout, -10000 * ms ) &&
           !factory_set_time( factory->handle, WorkerFactoryIdleTimeout, -10000 * ms );
}

/* 2.4 idle workers end, but not below the minimum */
START_TEST( factory_threads_idle )
{
    static struct factory factory;
    LONG ended = 0, i;

    factory.packet = factory_block;
    if (!factory_open( &factory )) return;
    ok( set_idle( &factory, 40 ), "1.3 time-outs are refused\n" );
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 2 ),
               STATUS_SUCCESS );
    for (i = 0; i < 5; i++)
    {
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
        ok( factory_reach( &factory.running, i + 1 ), "2.2 %ld workers at work\n",
            factory.running );
    }
    SetEvent( factory.gate );
    ok( factory_reach( &factory.ended, factory.started - 2 ), "2.4 %ld of %ld workers ended\n",
        factory.ended, factory.started );
    ok( factory_settle( factory.handle, 2, 2 ), "2.4 two workers do not stay\n" );
    ok( factory_stays( &factory.ended, factory.started - 2 ), "2.4 below the minimum\n" );
    for (i = 0; i < factory.started; i++)
        if (factory.workers[i].last)
        {
            ended++;
            unverified ok( factory.workers[i].last == STATUS_TIMEOUT, "2.4 it ended by %08lx\n",
                           (ULONG)factory.workers[i].last );
        }
    ok( ended == factory.started - 2, "2.4 %ld ended\n", ended );

    /* those that stayed work, and new ones come again */
    ResetEvent( factory.gate );
    for (i = 0; i < 3; i++)
    {
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
        ok( factory_reach( &factory.running, i + 1 ), "2.2 %ld workers at work\n",
            factory.running );
    }
    factory_close( &factory );
}

/* 2.4 the longest times are not over at once [guess: the smallest number is "infinite", as in other calls] */
START_TEST( factory_threads_idle_never )
{
    static const LONGLONG never[] = { MINLONGLONG, MAXLONGLONG, MINLONGLONG + 1 };
    static struct factory factory;
    unsigned int i;

    if (!factory_open( &factory )) return;
    for (i = 0; i < ARRAYSIZE(never); i++)
    {
        unverified ok( !factory_set_time( factory.handle, WorkerFactoryTimeout, never[i] ) &&
                           !factory_set_time( factory.handle, WorkerFactoryIdleTimeout, never[i] ),
                       "1.3 time-out %u is refused\n", i );
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
        ok( factory_reach( &factory.released, (LONG)i + 1 ), "2.5 no worker\n" );
        unverified ok( factory_stays( &factory.ended, 0 ), "2.4 it ended at once\n" );
    }
    factory_close( &factory );
}

#define BUSY_IDLE 500                           /* ms */

/* One after the other for longer than the time-out. The longest that it can have been idle, in ms. *ended: how many had ended when
   it was busy for the first time; one that was idle before may be about to end when this begins. */
static ULONGLONG keep_busy( struct factory *factory, LONG *ended )
{
    ULONGLONG start = clock_ms(), last = start, longest = 0, now;
    BOOL first = TRUE;

    do
    {
        LONG before = factory->released;

        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory->handle ), STATUS_SUCCESS );
        if (!ok( factory_reach( &factory->released, before + 1 ), "2.5 no packet\n" )) break;
        /* else the next packet makes a second worker, and one of the two may idle */
        if (!ok( factory_rest( factory->handle ), "2.3 it does not wait again\n" )) break;
        if (first) *ended = factory->ended;
        first = FALSE;
        Sleep( BUSY_IDLE / 20 );
        now = clock_ms();
        if (now - last > longest) longest = now - last;
        last = now;
    }
    while (last - start < 3 * BUSY_IDLE);
    return longest;
}

/* 2.4 a worker is not idle while it has work: the first one stays for several times the time-out. If the machine stood
   still for so long that it may have been idle, that says nothing: once more. */
START_TEST( factory_threads_busy )
{
    static struct factory factory;
    ULONGLONG longest = BUSY_IDLE;
    int tries;

    if (!factory_open( &factory )) return;
    ok( set_idle( &factory, BUSY_IDLE ), "1.3 time-outs are refused\n" );
    for (tries = 0; tries < 20 && longest >= BUSY_IDLE / 2; tries++)
    {
        LONG ended = 0;

        longest = keep_busy( &factory, &ended );
        if (longest < BUSY_IDLE / 2)
            ok( factory.ended == ended, "2.4 %ld workers ended, idle for %lu ms of %d\n",
                factory.ended - ended, (ULONG)longest, BUSY_IDLE );
    }
    ok( longest < BUSY_IDLE / 2, "2.4 the machine stood still for %lu ms, 20 times\n", (ULONG)longest );
    factory_close( &factory );
}

static volatile LONG exit_way;

static void leave( struct factory_worker *worker, const factory_packet *packet )
{
    (void)packet;
    InterlockedIncrement( &worker->factory->ended );
    if (exit_way == 1) ExitThread( 17 );
    if (exit_way == 2) TerminateThread( GetCurrentThread(), 18 );
    WaitForSingleObject( worker->factory->gate, INFINITE );
}

/* A worker leaves in its callback; the counters know, and the minimum is kept. */
static void run_leave( int way )
{
    static struct factory factory;
    DWORD code = 0;

    memset( &factory, 0, sizeof(factory) );
    factory.packet = leave;
    exit_way = way;
    push( "%s", way == 1 ? "ExitThread" : way == 2 ? "TerminateThread" : "from outside" );
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 1, 1 ), "2.2 no worker\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.ended, 1 ), "2.5 no packet\n" );
    if (way == 3) TerminateThread( factory.workers[0].thread, 19 );
    ok( factory_gone( &factory, 1 ), "3 it did not end\n" );
    GetExitCodeThread( factory.workers[0].thread, &code );
    ok( code == 16u + way, "3 exit code %lu\n", code );
    ok( factory_settle( factory.handle, 1, 1 ), "3 nobody in its place, or counted twice\n" );
    ok( factory.started == 2, "3 %ld workers, expected 2\n", factory.started );
    factory_close( &factory );
    pop();
}

/* 3 whichever way a worker ends, it is noticed */
START_TEST( factory_threads_leave )
{
    run_leave( 1 );
    run_leave( 2 );
    run_leave( 3 );
}

static void die_unready( struct factory_worker *worker )
{
    if (!worker->index) ExitThread( 1 );
}

/* 2.3, 3 one that was never ready is not pending for ever */
START_TEST( factory_threads_leave_pending )
{
    static struct factory factory;

    factory.start = die_unready;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_gone( &factory, 1 ), "2.2 no worker\n" );
    ok( factory_reach( &factory.released, 1 ), "3 the release was lost with it\n" );
    ok( factory_settle( factory.handle, 1, 1 ), "2.3 counters\n" );
    ok( !factory_query( factory.handle ).PendingWorkerCount, "2.3 pending\n" );
    factory_close( &factory );
}

#define KILLED 16

/* 2.4 killed while they wait. Where waiting threads are on a list of the process, as those of RtlWaitOnAddress are, so many leave
   none of their stacks in it unnoticed. */
START_TEST( factory_threads_kill_waiting )
{
    static struct factory factory;
    DWORD code;
    LONG i;

    if (!factory_open_with( &factory, KILLED )) return;
    for (i = 0; i < KILLED; i++) TerminateThread( factory.workers[i].thread, 3 );
    ok( factory_gone( &factory, KILLED ), "3 they did not end\n" );
    for (i = 0; i < KILLED; i++)
        ok( GetExitCodeThread( factory.workers[i].thread, &code ) && code == 3, "3 number %ld ended with %lu\n", i, code );
    ok( factory_settle( factory.handle, KILLED, KILLED ), "3 nobody in their place, or counted twice\n" );
    for (i = 0; i < KILLED + 1; i++)
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, KILLED + 1 ), "3 %ld packets of %d: one was given to a dead worker\n",
        factory.released, KILLED + 1 );
    factory_close( &factory );
}

/* 3 ... by another process, which nobody here sees */
START_TEST( factory_threads_kill_foreign )
{
    static struct factory factory;
    PROCESS_INFORMATION process;
    HANDLE copy = NULL;
    DWORD code = 99;
    char value[32];

    if (child_value( value, sizeof(value) ))
        ExitProcess( !TerminateThread( (HANDLE)(ULONG_PTR)strtoul( value, NULL, 16 ), 5 ) );
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 1, 1 ), "2.2 no worker\n" );
    DuplicateHandle( GetCurrentProcess(), factory.workers[0].thread, GetCurrentProcess(), &copy, 0,
                     TRUE, DUPLICATE_SAME_ACCESS );
    snprintf( value, sizeof(value), "%lx", (DWORD)(ULONG_PTR)copy );
    if (child_start( value, &process )) child_end( &process, &code );
    ok( code == 0, "3 it cannot be killed, exit code %lu\n", code );
    ok( factory_gone( &factory, 1 ), "3 it did not end\n" );
    ok( factory_reach( &factory.ready, 2 ), "3 nobody in its place\n" );
    ok( factory_settle( factory.handle, 1, 1 ), "3 it is counted still\n" );
    CloseHandle( copy );
    factory_close( &factory );
}

/* 2.1 stack sizes are those of the creation */
START_TEST( factory_threads_stack )
{
    static const SIZE_T sizes[] = { 0x800000, 0x180000 };
    static struct factory factory;
    size_t i;

    for (i = 0; i < ARRAYSIZE(sizes); i++)
    {
        memset( &factory, 0, sizeof(factory) );
        factory.reserve = sizes[i];
        factory.commit = 0x10000;
        if (!factory_open( &factory )) return;
        STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ),
                   STATUS_SUCCESS );
        ok( factory_reach( &factory.ready, 1 ), "2.2 no worker\n" );
        ok( factory.workers[0].stack == sizes[i], "2.1 a stack of %#llx, expected %#llx\n",
            (ULONGLONG)factory.workers[0].stack, (ULONGLONG)sizes[i] );
        factory_close( &factory );
    }
}

/* 2.1 the start address of a worker is the StartRoutine; lists of threads show TppWorkerThread for the system's own [seen] */
START_TEST( factory_threads_start_address )
{
    static struct factory factory;

    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ), STATUS_SUCCESS );
    ok( factory_reach( &factory.ready, 1 ), "2.2 no worker\n" );
    ok( factory.workers[0].start == (void *)factory_start, "2.1 start address %p, expected %p\n",
        factory.workers[0].start, (void *)factory_start );
    factory_close( &factory );
}

#define PRIORITY_WORKERS 16

/* 1.3 base priority of workers to come, from their first instruction on: several, since one of them may only happen to
   look late */
START_TEST( factory_threads_priority )
{
    static struct factory factory;
    int i;

    if (factory_wait_form() == 2)
    {
        skip( "this version has no class for it\n" );
        return;
    }
    if (!factory_open( &factory )) return;
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryThreadBasePriority, 1 ),
               STATUS_SUCCESS );
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, PRIORITY_WORKERS ),
               STATUS_SUCCESS );
    ok( factory_reach( &factory.ready, PRIORITY_WORKERS ), "2.2 no workers\n" );
    for (i = 0; i < PRIORITY_WORKERS; i++)
        unverified ok( factory.workers[i].priority == 1, "1.3 worker %d: priority %d, expected 1\n", i,
                       factory.workers[i].priority );
    factory_close( &factory );
}

/* 2.2 as many as there is blocked work for */
START_TEST( factory_threads_many )
{
    static struct factory factory;
    int i;

    factory.packet = factory_block;
    factory.batch = 1;
    factory.max = 500;
    if (!factory_open( &factory )) return;
    for (i = 0; i < 40; i++)
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 40 ), "2.2 %ld at work, expected 40\n",
        factory.running );
    SetEvent( factory.gate );
    ok( factory_reach( &factory.handled, 40 ), "2.5 %ld packets of 40\n", factory.handled );
    ok( factory_rest( factory.handle ),
        "2.3 they do not come to rest\n" );
    factory_close( &factory );
}
