/*
 * TerminateThread where a thread is just becoming something else: a worker that ends, a context that gets another thread, a
 * thread that becomes a scheduler (ums.md 1.3, 5, 10 B18).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"
#include "scenario_kit.h"

static DWORD WINAPI call_proc( void *arg )
{
    struct worker *worker = arg;

    worker->started = 1;
    worker->proc( worker );
    worker->finished = 1;
    return 0;
}

/* A new thread for this context, which may have had another one. */
static BOOL bind( struct worker *worker, PUMS_CONTEXT context, PUMS_COMPLETION_LIST list, void (*proc)( struct worker *worker ) )
{
    struct attr_buffer buffer;
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = attr_list_make( &buffer, context, list );

    worker->proc = proc;
    worker->context = context;
    if (!attrs) return FALSE;
    worker->thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, call_proc, worker, 0, attrs, &worker->tid );
    pDeleteProcThreadAttributeList( attrs );
    return worker->thread != NULL;
}

/* ---- the worker has ended, and its thread not yet ---- */

#define WAITERS 24

static struct
{
    PUMS_COMPLETION_LIST   list;
    PUMS_CONTEXT           context;             /* of this round's worker */
    PUMS_CONTEXT volatile  ready;               /* it was dequeued and can be executed */
    volatile LONG          dequeued;            /* it was dequeued, and had ended */
    volatile LONG          go, stop, failed;
} ending;

static void take_it( PUMS_CONTEXT item )
{
    if (item != ending.context) InterlockedIncrement( &ending.failed );
    else if (context_is_terminated( item ) == 1) ending.dequeued = 1;
    else ending.ready = item;
}

/* What is pushed wakes them all, which takes time, and the processors. */
static DWORD WINAPI waiter( void *unused )
{
    PUMS_CONTEXT item, next;

    (void)unused;
    while (!ending.stop)
    {
        if (!pDequeueUmsCompletionListItems( ending.list, 50, &item )) continue;
        for (; item; item = next)
        {
            next = pGetNextUmsListItem( item );
            take_it( item );
        }
    }
    return 0;
}

static BOOL wait_for( volatile LONG *value )
{
    ULONGLONG begin = clock_ms();

    while (!*value) if (clock_ms() - begin > WAIT_BOUND) return FALSE; else Sleep( 0 );
    return TRUE;
}

/* Each Blocked upcall is followed by the worker on the list: alive, or at its end [B18]. */
static void WINAPI execute_it( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    ULONGLONG begin = clock_ms();

    (void)reason; (void)payload; (void)param;
    while (!ending.dequeued)
    {
        if (ending.ready)
        {
            ending.ready = NULL;
            pExecuteUmsThread( ending.context );        /* returns only if it fails: it is not parked yet */
            ending.ready = ending.context;
        }
        if (clock_ms() - begin > WAIT_BOUND) return;
        Sleep( 0 );
    }
}

static DWORD WINAPI enter( void *unused )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, ending.list, execute_it, NULL };

    (void)unused;
    return pEnterUmsSchedulingMode( &info );
}

static void compute( struct worker *worker )
{
    (void)worker;
    while (!ending.go) YieldProcessor();
}

/* At the first moment at which the worker is said to have ended, its thread is terminated. */
static BOOL end_one( void )
{
    struct worker worker = { 0 };
    HANDLE scheduler;
    BOOL good;

    ending.context = NULL;
    ending.ready = NULL;
    ending.dequeued = ending.go = 0;
    if (!pCreateUmsThreadContext( &ending.context )) return FALSE;     /* the waiters may see it at once */
    if (!bind( &worker, ending.context, ending.list, compute )) return FALSE;
    scheduler = CreateThread( NULL, 0, enter, NULL, 0, NULL );
    good = wait_for( &worker.started );
    ending.go = 1;
    while (good && context_is_terminated( worker.context ) != 1) YieldProcessor();
    TerminateThread( worker.thread, 3 );
    good = !WaitForSingleObject( scheduler, WAIT_BOUND ) && good && ending.dequeued &&
           worker_wait( &worker, WAIT_BOUND );
    CloseHandle( scheduler );
    return worker_delete( &worker ) && good;
}

/* B18, 5: its scheduler gets its upcall, and the list gets it */
START_TEST( scenario_terminate_ending )
{
    HANDLE waiters[WAITERS], event = NULL;
    int i, rounds = umstest_lives() / 8;

    if (!need( EnterUmsSchedulingMode )) return;
    ending.list = list_create();
    ok( pGetUmsCompletionListEvent( ending.list, &event ), "no event, error %lu\n", GetLastError() );
    for (i = 0; i < WAITERS; i++) waiters[i] = CreateThread( NULL, 0x10000, waiter, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
    for (i = 0; i < rounds; i++)
        if (!ok( end_one(), "round %d: no upcall, or not on the list\n", i )) break;
    ending.stop = 1;
    for (i = 0; i < WAITERS; i++)
    {
        ok( !WaitForSingleObject( waiters[i], WAIT_BOUND ), "a waiter does not end\n" );
        CloseHandle( waiters[i] );
    }
    ok( !ending.failed, "%ld items or calls that are wrong\n", ending.failed );
    CloseHandle( event );
    ok( pDeleteUmsCompletionList( ending.list ), "the list was not deleted\n" );
}

/* ---- two terminate it, and its context gets another thread at once ---- */

static struct
{
    HANDLE        victim;
    volatile LONG round, killed;
    volatile LONG stop;
} pair;

static DWORD WINAPI killer( void *unused )
{
    LONG seen = 0;

    (void)unused;
    for (;;)
    {
        while (pair.round == seen && !pair.stop) Sleep( 0 );
        if (pair.stop) return 0;
        seen = pair.round;
        TerminateThread( pair.victim, 5 );
        InterlockedIncrement( &pair.killed );
    }
}

static void note_context( struct worker *worker )
{
    worker->result[0] = (ULONG_PTR)pGetCurrentUmsThread();
}

static BOOL kill_and_bind_again( PUMS_COMPLETION_LIST list )
{
    struct worker first = { 0 }, second = { 0 };
    LONG killed = pair.killed;
    BOOL good;

    if (!worker_create( &first, list, note_context, NULL, 0 )) return FALSE;
    if (list_wait( list ) != first.context) return FALSE;
    pair.victim = first.thread;
    InterlockedIncrement( &pair.round );
    if (list_wait( list ) != first.context || !bind( &second, first.context, list, note_context )) return FALSE;
    good = list_wait( list ) == second.context && context_is_terminated( second.context ) == 0;
    if (good) finish_workers( list, &second, 1, 1 );
    good = good && second.result[0] == (ULONG_PTR)second.context && worker_wait( &second, WAIT_BOUND );
    while (pair.killed != killed + 2) Sleep( 0 );
    CloseHandle( first.thread );
    return worker_delete( &second ) && good;
}

/* A terminated worker's context may get another thread, as in completion_list_reused_dead. That is a worker, and lives: what was done
   to the old one is not done to it */
START_TEST( scenario_terminate_bound_again )
{
    PUMS_COMPLETION_LIST list = list_create();
    HANDLE killers[2];
    int i, rounds = umstest_lives() / 4;

    for (i = 0; i < 2; i++) killers[i] = CreateThread( NULL, 0, killer, NULL, 0, NULL );
    for (i = 0; i < rounds; i++)
        if (!ok( kill_and_bind_again( list ), "round %d: not on the list, or not alive\n", i )) break;
    pair.stop = 1;
    for (i = 0; i < 2; i++)
    {
        ok( !WaitForSingleObject( killers[i], WAIT_BOUND ), "a thread that terminates does not end\n" );
        CloseHandle( killers[i] );
    }
    ok( pDeleteUmsCompletionList( list ), "the list was not deleted\n" );
}

/* ---- a plain thread becomes a scheduler while it is terminated ---- */

static struct
{
    PUMS_COMPLETION_LIST list;
    PUMS_CONTEXT         context;
    HANDLE               other;                 /* is suspended and resumed */
    volatile LONG        begun;
    int                  pause;
} becoming;

static void WINAPI execute_once( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) pExecuteUmsThread( becoming.context );
}

/* whoever makes such calls may have to go on for a moment, and is looked at again */
static DWORD WINAPI suspend_and_enter( void *unused )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, becoming.list, execute_once, NULL };
    int i;

    (void)unused;
    becoming.begun = 1;
    for (i = 0; i < becoming.pause; i++)
    {
        SuspendThread( becoming.other );
        ResumeThread( becoming.other );
    }
    pEnterUmsSchedulingMode( &info );
    return 0;
}

static DWORD WINAPI sleep_long( void *event )
{
    return WaitForSingleObject( event, INFINITE );
}

static void compute_until_told( struct worker *worker )
{
    while (!ending.go) YieldProcessor();
    worker->result[0] = 1;
}

/* It may be beginning just now, and would keep the loader's lock if it had it: so that is ours until it has ended. */
static void terminate_new( struct worker *worker )
{
    kit_lock_loader();
    TerminateThread( worker->thread, 8 );
    worker_wait( worker, WAIT_BOUND );
    kit_unlock_loader();
}

/* The scheduler was terminated anywhere. A worker that ran comes back to the list. One that did not begin may be there, or not
   have been executed: it is terminated, too, and comes there once. */
static BOOL terminate_on_the_way( struct worker *worker )
{
    BOOL good, ran;
    HANDLE thread;
    DWORD count;

    ending.go = becoming.begun = 0;
    if (!worker_create( worker, becoming.list, compute_until_told, NULL, 0 )) return FALSE;
    if (list_wait( becoming.list ) != worker->context) return FALSE;
    becoming.context = worker->context;
    thread = CreateThread( NULL, 0, suspend_and_enter, NULL, 0, NULL );
    if (!wait_for( &becoming.begun )) return FALSE;
    good = TerminateThread( thread, 7 ) && !WaitForSingleObject( thread, WAIT_BOUND );
    CloseHandle( thread );
    do count = ResumeThread( becoming.other );          /* the thread may have left it suspended */
    while (count != (DWORD)-1 && count > 1);
    ran = worker->started;
    if (!ran) terminate_new( worker );
    if (list_wait( becoming.list ) != worker->context) return FALSE;
    ending.go = 1;
    if (ran) finish_workers( becoming.list, worker, 1, 1 );
    if (ran && !worker->result[0]) good = FALSE;
    return worker_wait( worker, WAIT_BOUND ) && worker_delete( worker ) && good;
}

/* Open point 4 [guess], as in scenario_scheduler: the worker of a terminated scheduler lives */
START_TEST( scenario_terminate_enters )
{
    HANDLE event = CreateEventW( NULL, TRUE, FALSE, NULL );
    int i, rounds = umstest_lives() / 8;
    struct worker worker;
    BOOL good;

    becoming.list = list_create();
    becoming.other = CreateThread( NULL, 0, sleep_long, event, 0, NULL );
    for (i = 0; i < rounds; i++)
    {
        memset( &worker, 0, sizeof(worker) );
        becoming.pause = i % 8;
        good = terminate_on_the_way( &worker );         /* it has checks of its own, so it is no argument of this one */
        if (!(unverified ok( good, "round %d: its worker did not go on\n", i ))) break;
    }
    SetEvent( event );
    ok( !WaitForSingleObject( becoming.other, WAIT_BOUND ), "the other thread does not end\n" );
    CloseHandle( becoming.other );
    CloseHandle( event );
    ok( pDeleteUmsCompletionList( becoming.list ), "the list was not deleted\n" );
}
