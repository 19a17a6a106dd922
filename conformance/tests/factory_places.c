/*
 * Threads of a factory that are terminated where they wait, and what counts as waiting (worker_factory.md 3): another one gets
 * the place.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

/* ---- terminated where they wait, with no packet in hand ---- */

static HANDLE closed_gate;
static PUMS_COMPLETION_LIST list;

static void wait_at_gate( struct factory_worker *worker )
{
    if (!worker->index) WaitForSingleObject( closed_gate, INFINITE );
}

static DWORD WINAPI terminate_it( void *thread )
{
    return !TerminateThread( thread, 3 );
}

/* By a thread of its own, so that a call which does not return fails the test. Wherever a thread waits, it is terminated there
   [doc: TerminateThread]. */
static void terminate( HANDLE thread )
{
    HANDLE killer = CreateThread( NULL, 0, terminate_it, thread, 0, NULL );
    DWORD code = 0;

    ok( !WaitForSingleObject( killer, WAIT_BOUND ), "TerminateThread does not return\n" );
    ok( !WaitForSingleObject( thread, WAIT_BOUND ), "the thread does not end\n" );
    ok( GetExitCodeThread( thread, &code ) && code == 3, "it ended with %lu\n", code );
    CloseHandle( killer );
}

/* 2.3 not yet ready */
START_TEST( factory_kill_unready )
{
    static struct factory factory;

    closed_gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    factory.start = wait_at_gate;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.started, 1 ), "2.2 no worker\n" );
    while (!factory.workers[0].thread) Sleep( 1 );
    Sleep( 50 );                                /* it may wait by then; what is expected does not depend on it */
    terminate( factory.workers[0].thread );
    ok( factory_reach( &factory.released, 1 ), "3 the release was lost with it\n" );
    ok( factory_settle( factory.handle, 1, 1 ), "2.3 counters\n" );
    factory_close( &factory );
    CloseHandle( closed_gate );
}

static volatile LONG refused;

static void NTAPI wait_refused( void *arg )
{
    struct factory *factory = arg;
    factory_packet packet;
    ULONG count;

    pNtWorkerFactoryWorkerReady( factory->handle );
    while (!factory_wait( factory->handle, &packet, 1, &count )) continue;
    DuplicateHandle( GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &factory->workers[refused].thread, 0, FALSE,
                     DUPLICATE_SAME_ACCESS );
    InterlockedIncrement( &refused );
    WaitForSingleObject( closed_gate, INFINITE );
}

static DWORD WINAPI wait_refused_thread( void *arg )
{
    wait_refused( arg );
    return 0;
}

/* 2.6 behind a wait that was refused: a thread of the factory, then one that it has not made */
START_TEST( factory_kill_refused )
{
    static struct factory factory;
    volatile LONG pending;
    HANDLE guest;

    if (!factory_needs() || !(factory.port = factory_port( 1 ))) return;
    closed_gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!(factory.handle = factory_create( factory.port, wait_refused, &factory, 1 ))) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ), STATUS_SUCCESS );
    ok( factory_settle( factory.handle, 1, 1 ), "2.2 no worker\n" );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    ok( factory_reach( &refused, 1 ), "2.6 it waits on\n" );
    guest = CreateThread( NULL, 0, wait_refused_thread, &factory, 0, NULL );
    ok( factory_reach( &refused, 2 ), "2.6 the other one waits\n" );
    Sleep( 50 );                                /* as above */
    terminate( factory.workers[0].thread );
    terminate( guest );
    CloseHandle( factory.workers[0].thread );
    CloseHandle( factory.workers[1].thread );
    CloseHandle( guest );
    CloseHandle( factory.handle );
    CloseHandle( factory.port );
    CloseHandle( closed_gate );
}

/* ---- terminated where they wait, in calls that our side sees and the host makes ---- */

static volatile LONG waits_now;

static void WINAPI wait_in_mode( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason != UmsSchedulerStartup) return;
    InterlockedIncrement( &waits_now );
    WaitForSingleObject( closed_gate, INFINITE );
}

static void enter_and_wait( struct factory_worker *worker, const factory_packet *packet )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, wait_in_mode, NULL };

    (void)worker; (void)packet;
    pEnterUmsSchedulingMode( &info );
}

/* a thread of a factory that has become a scheduler, in a wait of its SchedulerProc */
START_TEST( factory_kill_scheduler )
{
    static struct factory factory;

    if (!need( CreateUmsCompletionList ) || !need( EnterUmsSchedulingMode ) || !(list = list_create())) return;
    closed_gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    factory.packet = enter_and_wait;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &waits_now, 1 ), "3 it did not enter the mode\n" );
    Sleep( 50 );                                /* as above */
    terminate( factory.workers[0].thread );
    ok( factory_settle( factory.handle, 0, 0 ), "2.2 counters\n" );
    factory_close( &factory );
    CloseHandle( closed_gate );
    pDeleteUmsCompletionList( list );
}

static DWORD WINAPI release_key( void *release )
{
    static int key;

    InterlockedIncrement( &waits_now );
    ((NTSTATUS (WINAPI *)( HANDLE, void *, BOOLEAN, LARGE_INTEGER * ))release)( NULL, &key, FALSE, NULL );
    return 0;
}

/* a thread that waits for the waiter of a key, while there is a factory. Without a handle: [seen] on Wine, [guess] for Windows */
START_TEST( factory_kill_key )
{
    static struct factory factory;
    void *release = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtReleaseKeyedEvent" );
    HANDLE thread;

    if (!release)
    {
        skip( "no NtReleaseKeyedEvent\n" );
        return;
    }
    if (!factory_open_with( &factory, 1 )) return;
    thread = CreateThread( NULL, 0, release_key, release, 0, NULL );
    ok( factory_reach( &waits_now, 1 ), "it does not begin\n" );
    Sleep( 50 );                                /* as above */
    terminate( thread );
    CloseHandle( thread );
    factory_close( &factory );
}

/* ---- what counts as waiting: the port permits one thread, and the second packet ends the wait in the first ---- */

static struct worker item;
static HANDLE first_thread;
static volatile LONG in_first;

static void dequeue_first( void )
{
    PUMS_CONTEXT context;

    if (pDequeueUmsCompletionListItems( list, WAIT_BOUND, &context ) && context) in_first = 2;
}

static void end_dequeue( void )
{
    worker_create( &item, list, NULL, NULL, 0 );
}

static void suspend_first( void )
{
    SuspendThread( first_thread );
    in_first = 2;
}

/* it may only be about to suspend itself */
static void end_suspension( void )
{
    while (!ResumeThread( first_thread )) Sleep( 1 );
}

static void (*wait_in_first)( void ), (*end_wait)( void );

static void wait_or_end( struct factory_worker *worker, const factory_packet *packet )
{
    (void)packet;
    if (!InterlockedCompareExchange( &in_first, 1, 0 ))
    {
        first_thread = worker->thread;
        wait_in_first();
    }
    else end_wait();
}

static void run_both( struct factory *factory )
{
    factory->concurrency = 1;
    factory->packet = wait_or_end;
    if (!factory_open( factory )) return;
    STATUS_IS( "2.2", factory_set( factory->handle, WorkerFactoryThreadMinimum, 2 ), STATUS_SUCCESS );
    ok( factory_settle( factory->handle, 2, 2 ), "2.2 no workers\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory->handle ), STATUS_SUCCESS );
    ok( factory_reach( &in_first, 1 ), "3 nobody took it\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory->handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory->handled, 2 ) && in_first == 2, "3 nobody ran in the place of a thread that waited\n" );
    factory_close( factory );
}

/* 3 [doc: I/O Completion Ports] a thread that waits for something else lets another one run; Dequeue is a wait */
START_TEST( factory_place_dequeue )
{
    static struct factory factory;

    if (!need( CreateUmsCompletionList ) || !(list = list_create())) return;
    wait_in_first = dequeue_first;
    end_wait = end_dequeue;
    run_both( &factory );
    finish_workers( list, &item, 1, 1 );
    ok( worker_delete( &item ), "4 not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 ... and so does one that suspends itself [doc: I/O Completion Ports, "for example the SuspendThread function"] */
START_TEST( factory_place_suspended )
{
    static struct factory factory;

    wait_in_first = suspend_first;
    end_wait = end_suspension;
    run_both( &factory );
}

/* ---- suspended by another thread ---- */

static volatile LONG spins, spin_on = 1;

/* without a call, so it runs */
static void spin_in_first( struct factory_worker *worker, const factory_packet *packet )
{
    (void)packet;
    if (InterlockedCompareExchange( &in_first, 1, 0 )) return;
    first_thread = worker->thread;
    InterlockedExchange( &spins, 1 );
    while (spin_on) YieldProcessor();
}

/* No packet waits, one place is taken: nobody runs beside that one. */
static void one_runs( struct factory *factory )
{
    const LONG handled = factory->handled;

    in_first = spins = 0;
    spin_on = 1;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory->handle ), STATUS_SUCCESS );
    ok( factory_reach( &spins, 1 ), "3 nobody took it\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory->handle ), STATUS_SUCCESS );
    ok( factory_stays( &factory->handled, handled ), "3 more run than the port permits\n" );
    spin_on = 0;
    ok( factory_reach( &factory->handled, handled + 2 ), "3 %ld packets of %ld\n", factory->handled, handled + 2 );
}

/* 3 [doc: I/O Completion Ports] one that is suspended lets another one run, and has its place again when it runs on */
START_TEST( factory_place_stopped )
{
    static struct factory factory;

    factory.concurrency = 1;
    factory.packet = spin_in_first;
    if (!factory_open_with( &factory, 3 )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &spins, 1 ), "3 nobody took it\n" );
    ok( SuspendThread( first_thread ) == 0 && SuspendThread( first_thread ) == 1, "not suspended, error %lu\n", GetLastError() );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 1 ), "3 nobody ran in the place of a suspended thread\n" );
    ok( factory_settle( factory.handle, 2, 3 ), "2.3 counters\n" );
    ok( ResumeThread( first_thread ) == 2, "not resumed, error %lu\n", GetLastError() );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 2 ), "3 nobody ran in the place of a thread that is suspended once more\n" );
    ok( factory_settle( factory.handle, 2, 3 ), "2.3 counters\n" );
    ok( ResumeThread( first_thread ) == 1, "not resumed, error %lu\n", GetLastError() );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_stays( &factory.handled, 2 ), "3 another one runs beside it\n" );
    spin_on = 0;
    ok( factory_reach( &factory.handled, 4 ), "3 %ld packets of 4\n", factory.handled );
    ok( factory_rest( factory.handle ), "2.3 counters\n" );
    one_runs( &factory );
    factory_close( &factory );
}

/* 3 ... and if nobody waits, the factory makes another one */
START_TEST( factory_place_stopped_new )
{
    static struct factory factory;

    factory.concurrency = 1;
    factory.packet = spin_in_first;
    if (!factory_open_with( &factory, 1 )) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &spins, 1 ), "3 nobody took it\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( SuspendThread( first_thread ) == 0, "not suspended, error %lu\n", GetLastError() );
    ok( factory_reach( &factory.handled, 1 ), "2.2 nobody was made for a packet that waits\n" );
    ok( TerminateThread( first_thread, 3 ), "not terminated, error %lu\n", GetLastError() );
    ok( factory_settle( factory.handle, 1, 1 ), "2.3 counters\n" );
    one_runs( &factory );
    factory_close( &factory );
}

static volatile LONG last_index;

static void note_index( struct factory_worker *worker, const factory_packet *packet )
{
    (void)packet;
    last_index = worker->index;
}

/* Whoever was the last to work waits for the shortest time. */
static LONG release_one( struct factory *factory )
{
    const LONG handled = factory->handled;

    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory->handle ), STATUS_SUCCESS );
    unverified ok( factory_reach( &factory->handled, handled + 1 ), "3 %ld packets of %ld\n", factory->handled, handled + 1 );
    return last_index;
}

/* 3 one that is suspended where it waits for work is given none [guess: a suspended thread waits for its resumption, and for nothing
   else]; behind its resumption it is one of those that wait */
START_TEST( factory_place_stopped_waiting )
{
    static struct factory factory;
    LONG top, next;

    factory.concurrency = 3;
    factory.packet = note_index;
    factory.max = 2;
    if (!factory_open_with( &factory, 2 )) return;
    top = release_one( &factory );
    ok( factory_settle( factory.handle, 2, 2 ), "2.3 counters\n" );
    ok( SuspendThread( factory.workers[top].thread ) == 0, "not suspended, error %lu\n", GetLastError() );
    next = release_one( &factory );
    unverified ok( next != top, "3 a suspended thread worked\n" );
    ok( SuspendThread( factory.workers[!top].thread ) == 0, "not suspended, error %lu\n", GetLastError() );
    ok( ResumeThread( factory.workers[top].thread ) == 1, "not resumed, error %lu\n", GetLastError() );
    next = release_one( &factory );
    unverified ok( next == top, "3 a suspended thread worked\n" );
    ok( ResumeThread( factory.workers[!top].thread ) == 1, "not resumed, error %lu\n", GetLastError() );
    ok( factory_settle( factory.handle, 2, 2 ), "2.3 counters\n" );
    factory_close( &factory );
}

static void NTAPI wait_when_ready( void *arg )
{
    struct factory *factory = arg;
    LONG index = InterlockedIncrement( &factory->started );
    factory_packet packet;
    ULONG count;

    pNtWorkerFactoryWorkerReady( factory->handle );
    if (index == 1) WaitForSingleObject( closed_gate, INFINITE );
    while (!factory_wait( factory->handle, &packet, 1, &count )) InterlockedIncrement( &factory->handled );
    InterlockedIncrement( &factory->ended );
}

/* 2.2 (4) one that is ready and waits for something else does not wait for the packet: another one is made for that [guess: only waiting
   threads count there]. Behind that wait it is one of those that work. */
START_TEST( factory_place_ready )
{
    static struct factory factory;
    volatile LONG pending;

    if (!factory_needs() || !(factory.port = factory_port( 2 ))) return;
    closed_gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!(factory.handle = factory_create( factory.port, wait_when_ready, &factory, 3 ))) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    unverified ok( factory_reach( &factory.handled, 1 ), "2.2 a packet waits for a thread that does not come\n" );
    SetEvent( closed_gate );
    ok( factory_reach( &factory.handled, 1 ) && factory_rest( factory.handle ), "2.3 counters\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 2 ), "2.5 %ld packets of 2\n", factory.handled );
    unverified ok( factory.started == 2, "2.2 %ld threads\n", factory.started );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( factory.handle, &pending ), STATUS_SUCCESS );
    ok( factory_reach( &factory.ended, factory.started ), "2.6 one waits on\n" );
    CloseHandle( factory.handle );
    CloseHandle( factory.port );
    CloseHandle( closed_gate );
}

#define STOPS 300

/* 3 at all moments of a thread that works and waits: no packet is lost, and no place */
START_TEST( factory_place_stopped_often )
{
    static struct factory factory;
    LONG i, made = 0;

    factory.concurrency = 1;
    factory.max = 2;
    if (!factory_open_with( &factory, 2 )) return;
    for (i = 0; i < STOPS; i++)
    {
        HANDLE thread = factory.workers[i % 2].thread;

        for (; made < 4 * (i + 1); made++) pNtReleaseWorkerFactoryWorker( factory.handle );
        run_us( i * 7 % 60 );
        if (!ok( SuspendThread( thread ) == 0, "round %ld: not suspended, error %lu\n", i, GetLastError() )) break;
        if (i % 3) made += !pNtReleaseWorkerFactoryWorker( factory.handle );
        if (!ok( ResumeThread( thread ) == 1, "round %ld: not resumed, error %lu\n", i, GetLastError() )) break;
    }
    ok( factory_reach( &factory.handled, made ), "3 %ld packets of %ld\n", factory.handled, made );
    ok( factory_settle( factory.handle, 2, 2 ), "2.3 counters\n" );
    factory.packet = spin_in_first;
    one_runs( &factory );
    factory_close( &factory );
}
