/*
 * No handle leaks when a thread is terminated in the middle of a call, wherever that is.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * TerminateThread leaves what the thread has allocated: its stack at least [doc: TerminateThread]. The threads here own
 * nothing but that, and each handle that they use is the main thread's: so the number of handles must come back. Each
 * victim is terminated a little later than the one before, over and over from the first moment to 300 us: only chance
 * takes it to a given instruction, but there are many rounds.
 *
 * UMSTEST_LIVES (default 400) sets the lengths.
 */
#define _WIN32_WINNT 0x0602
#include "flat.h"

#define ANY_MEMORY (1ull << 40)                 /* stacks of terminated threads */
#define LATEST     300                          /* us */
#define STEP       7                            /* us: 300 has no such factor, so all moments come */

static volatile LONG wrong, begun, target_ends;
static PUMS_COMPLETION_LIST shared_list, other_list, wait_list;
static HANDLE target, weak_target;              /* of the victim; the second one only to suspend */
static HANDLE objects[3];                       /* an event, a semaphore, a mutex */
static HANDLE prey[4];                          /* plain threads that wait */

static void check_that( BOOL condition )
{
    if (!condition) InterlockedIncrement( &wrong );
}

static void join( HANDLE thread )
{
    check_that( thread && !WaitForSingleObject( thread, WAIT_BOUND ) );
    CloseHandle( thread );
}

static DWORD WINAPI end_at_once( void *arg )
{
    (void)arg;
    return 0;
}

/* It runs the victim's part, alone on its scheduler, and is terminated by the main thread. */
static void kill_worker( void (*proc)( struct worker *worker ), int us )
{
    static struct sched sched;
    static struct worker victim;

    memset( &sched, 0, sizeof(sched) );
    memset( &victim, 0, sizeof(victim) );
    sched.list = shared_list;
    sched.expect = 1;
    begun = 0;
    if (!sched_init( &sched )) return;
    check_that( sched_start( &sched ) && worker_create( &victim, shared_list, proc, NULL, 0 ) );
    while (!begun) SwitchToThread();
    run_us( us );
    check_that( TerminateThread( victim.thread, 7 ) );
    check_that( worker_wait( &victim, WAIT_BOUND ) && sched_join( &sched ) && worker_delete( &victim ) );
    check_that( sched.entered_ok && !sched.bad && !sched.failed && !sched.timed_out );
    sched_free( &sched );
}

static DWORD WINAPI plain_thread( void *arg )
{
    struct worker *victim = arg;

    victim->proc( victim );
    return 0;
}

static void WINAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct worker *victim = param;

    check_that( reason == UmsSchedulerStartup && !payload );
    victim->proc( victim );
}

static DWORD WINAPI scheduler_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, shared_list, scheduler_proc, arg };

    check_that( pEnterUmsSchedulingMode( &info ) );
    return 0;
}

static void kill_thread( void (*proc)( struct worker *worker ), LPTHREAD_START_ROUTINE start, int us )
{
    static struct worker victim;

    victim.proc = proc;
    begun = 0;
    victim.thread = CreateThread( NULL, 0x10000, start, &victim, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
    while (!begun) SwitchToThread();
    run_us( us );
    check_that( TerminateThread( victim.thread, 7 ) );
    join( victim.thread );
}

static enum { WORKERS, PLAIN_THREADS, SCHEDULERS } victims;

/* It may have left its target suspended. A plain thread ends behind it: services that go with the last worker go then at
   the latest. */
static void kill_one( void (*proc)( struct worker *worker ), int us )
{
    if (victims == WORKERS) kill_worker( proc, us );
    else kill_thread( proc, victims == SCHEDULERS ? scheduler_thread : plain_thread, us );
    while (target && ResumeThread( target ) > 1) continue;
    join( CreateThread( NULL, 0, end_at_once, NULL, 0, NULL ) );
}

static void kill_many( void (*proc)( struct worker *worker ), int rounds )
{
    int i;

    for (i = 0; i < rounds && !wrong; i++) kill_one( proc, i * STEP % LATEST );
}

/* ---- waits ---- */

static void sleep_on( struct worker *worker )
{
    (void)worker;
    for (begun = 1;;) Sleep( 1 );
}

static void sleepers( int rounds )
{
    kill_many( sleep_on, rounds );
}

static void wait_on( struct worker *worker )
{
    (void)worker;
    for (begun = 1;;)
    {
        WaitForSingleObject( objects[0], 1 );
        ReleaseSemaphore( objects[1], 1, NULL );
        WaitForMultipleObjects( 2, objects, FALSE, 1 );
        SetEvent( objects[0] );
    }
}

static void waiters( int rounds )
{
    kill_many( wait_on, rounds );
}

/* It owns the mutex for some ten microseconds. A yield would take longer, but a plain thread must not call that [seen], and a
   worker that is terminated while it has yielded is in two queues of its client. */
static void own_on( struct worker *worker )
{
    int i;

    (void)worker;
    for (begun = 1;;)
    {
        WaitForSingleObject( objects[2], INFINITE );
        for (i = 0; i < 500; i++) YieldProcessor();
        ReleaseMutex( objects[2] );
    }
}

static void dequeue_on( struct worker *worker )
{
    PUMS_CONTEXT chain;

    (void)worker;
    for (begun = 1;;) pDequeueUmsCompletionListItems( wait_list, INFINITE, &chain );
}

/* The list can be deleted then, and leaves nothing. */
static void dequeuers( int rounds )
{
    int i;

    for (i = 0; i < rounds && !wrong; i++)
    {
        if (!(wait_list = list_create())) return;
        kill_one( dequeue_on, i * STEP % LATEST );
        check_that( pDeleteUmsCompletionList( wait_list ) );
    }
}

/* Whoever comes next is told [doc: Mutex Objects]. */
static void owners( int rounds )
{
    DWORD ret;
    int i;

    for (i = 0; i < rounds && !wrong; i++)
    {
        kill_one( own_on, i * STEP % LATEST );
        ret = WaitForSingleObject( objects[2], WAIT_BOUND );
        check_that( ret == WAIT_OBJECT_0 || ret == WAIT_ABANDONED );
        check_that( ReleaseMutex( objects[2] ) );
    }
}

static void kill_waiters( void )
{
    int rounds = umstest_lives() / (victims == WORKERS ? 10 : 40), i;

    if (!(shared_list = list_create())) return;
    objects[0] = CreateEventA( NULL, FALSE, FALSE, NULL );
    objects[1] = CreateSemaphoreA( NULL, 0, 1, NULL );
    objects[2] = CreateMutexA( NULL, FALSE, NULL );
    check_flat( "sleepers", sleepers, rounds, ANY_MEMORY );
    check_flat( "waiters", waiters, rounds, ANY_MEMORY );
    check_flat( "owners", owners, rounds, ANY_MEMORY );
    check_flat( "those in Dequeue", dequeuers, rounds, ANY_MEMORY );
    for (i = 0; i < 3; i++) CloseHandle( objects[i] );
    ok( !wrong, "%ld things did not go as they should\n", wrong );
    pDeleteUmsCompletionList( shared_list );
}

/* leak tests: workers that are terminated while they wait */
START_TEST( leak_kills )
{
    kill_waiters();
}

/* leak tests: plain threads and schedulers that are terminated while they wait */
START_TEST( leak_kill_waits )
{
    for (victims = PLAIN_THREADS; victims <= SCHEDULERS; victims++) kill_waiters();
}

/* ---- calls about other threads ---- */

static void suspend_on( struct worker *worker )
{
    CONTEXT context;

    (void)worker;
    for (begun = 1;;)
    {
        SuspendThread( weak_target );
        context.ContextFlags = CONTEXT_CONTROL;
        GetThreadContext( target, &context );
        ResumeThread( weak_target );
    }
}

static CONTEXT registers;                       /* of the target */

static void set_on( struct worker *worker )
{
    (void)worker;
    for (begun = 1;;) SetThreadContext( target, &registers );
}

static BOOL open_target( HANDLE thread )
{
    target = thread;
    weak_target = OpenThread( THREAD_SUSPEND_RESUME, FALSE, GetThreadId( thread ) );
    check_that( target && weak_target );
    return target && weak_target;
}

static volatile LONG target_runs;

static DWORD WINAPI target_thread( void *arg )
{
    (void)arg;
    target_runs = 1;
    while (!target_ends) SwitchToThread();
    return 0;
}

static void suspenders( int rounds )
{
    target_ends = target_runs = 0;
    if (!open_target( CreateThread( NULL, 0, target_thread, NULL, 0, NULL ) )) return;
    while (!target_runs) SwitchToThread();      /* suspended earlier, it might have the loader's lock */
    kill_many( suspend_on, rounds );
    target_ends = 1;
    join( target );
    target = NULL;
    CloseHandle( weak_target );
}

static void go_away( struct worker *worker )
{
    (void)worker;
}

/* Their target is a worker that nobody executes meanwhile. */
static void meddlers( int rounds )
{
    struct worker still = { 0 };

    if (!worker_create( &still, other_list, go_away, NULL, 0 ) || !open_target( still.thread )) return;
    kill_many( suspend_on, rounds );
    registers.ContextFlags = CONTEXT_CONTROL;
    check_that( GetThreadContext( target, &registers ) );
    kill_many( set_on, rounds );
    target = NULL;
    CloseHandle( weak_target );
    finish_workers( other_list, NULL, 0, 1 );
    check_that( worker_wait( &still, WAIT_BOUND ) && still.finished && worker_delete( &still ) );
}

static volatile LONG preys;                     /* that run their own code */

static DWORD WINAPI prey_thread( void *arg )
{
    (void)arg;
    InterlockedIncrement( &preys );
    for (;;) Sleep( INFINITE );
    return 0;
}

/* A thread that is terminated before it begins may have the loader lock, and keep it: then no other thread begins or ends
   any more [seen: plain Wine 8.0 under load, 3 of some 600 times that four threads were made so]. */
static void make_preys( void )
{
    int k;

    preys = 0;
    for (k = 0; k < (int)ARRAYSIZE(prey); k++)
        prey[k] = CreateThread( NULL, 0x10000, prey_thread, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
    while (preys < (LONG)ARRAYSIZE(prey)) SwitchToThread();
}

static void hunt( struct worker *worker )
{
    int i;

    (void)worker;
    begun = 1;
    for (i = 0; i < (int)ARRAYSIZE(prey); i++) TerminateThread( prey[i], 3 );
    for (;;) SwitchToThread();
}

static void hunters( int rounds )
{
    int i, k;

    for (i = 0; i < rounds && !wrong; i++)
    {
        make_preys();
        kill_one( hunt, i * STEP % LATEST );
        for (k = 0; k < (int)ARRAYSIZE(prey); k++)
        {
            TerminateThread( prey[k], 4 );
            join( prey[k] );
        }
    }
}

static void kill_callers( void )
{
    int rounds = umstest_lives() / (victims == SCHEDULERS ? 40 : 10);

    shared_list = list_create();
    other_list = list_create();
    if (!shared_list || !other_list) return;
    check_flat( "suspenders", suspenders, rounds, ANY_MEMORY );
    check_flat( "meddlers with a worker", meddlers, rounds, ANY_MEMORY );
    check_flat( "hunters", hunters, rounds / 3, ANY_MEMORY );
    ok( !wrong, "%ld things did not go as they should\n", wrong );
    pDeleteUmsCompletionList( shared_list );
    pDeleteUmsCompletionList( other_list );
}

/* leak tests: workers that are terminated in calls about other threads */
START_TEST( leak_kill_calls )
{
    kill_callers();
}

/* leak tests: plain threads that are terminated in calls about other threads */
START_TEST( leak_kill_plain )
{
    victims = PLAIN_THREADS;
    kill_callers();
}

/* leak tests: schedulers that are terminated in calls about other threads */
START_TEST( leak_kill_schedulers )
{
    victims = SCHEDULERS;
    kill_callers();
}
