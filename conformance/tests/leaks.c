/*
 * Nothing leaks: handles and committed private memory are flat over many rounds.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * UMSTEST_ROUNDS (default 10000) and UMSTEST_LIVES (default 400) set the lengths.
 */
#include "flat.h"

static LONG wrong;

static void lists( int rounds )
{
    PUMS_COMPLETION_LIST list;

    while (rounds--)
        if (!pCreateUmsCompletionList( &list ) || !pDeleteUmsCompletionList( list )) wrong++;
}

static void contexts( int rounds )
{
    PUMS_CONTEXT context;

    while (rounds--)
        if (!pCreateUmsThreadContext( &context ) || !pDeleteUmsThreadContext( context )) wrong++;
}

static PUMS_COMPLETION_LIST shared_list;
static PUMS_CONTEXT shared_context;

static void events( int rounds )
{
    HANDLE event;

    while (rounds--)
        if (!pGetUmsCompletionListEvent( shared_list, &event ) || !CloseHandle( event )) wrong++;
}

static void failures( int rounds )
{
    UMS_SCHEDULER_STARTUP_INFO info = { 0, NULL, NULL, NULL };
    UMS_SYSTEM_THREAD_INFORMATION system_info = { 0, { { 0, 0 } } };
    PUMS_CONTEXT first;
    HANDLE event;
    void *value;

    while (rounds--)
    {
        wrong += pDeleteUmsCompletionList( NULL ) != 0;
        wrong += pDeleteUmsThreadContext( NULL ) != 0;
        wrong += pDequeueUmsCompletionListItems( NULL, 0, &first ) != 0;
        wrong += pGetNextUmsListItem( NULL ) != NULL;
        wrong += pGetUmsCompletionListEvent( NULL, &event ) != 0;
        wrong += pEnterUmsSchedulingMode( &info ) != 0;
        wrong += pExecuteUmsThread( NULL ) != 0;
        wrong += pExecuteUmsThread( shared_context ) != 0;
        wrong += pGetCurrentUmsThread() != NULL;
        wrong += pQueryUmsThreadInformation( shared_context, UmsThreadUserContext, &value, 1,
                                             NULL ) != 0;
        wrong += pSetUmsThreadInformation( shared_context, UmsThreadTeb, &value, 8 ) != 0;
        wrong += pGetUmsSystemThreadInformation &&
                 pGetUmsSystemThreadInformation( NULL, &system_info ) != 0;
        wrong += !pDequeueUmsCompletionListItems( shared_list, 0, &first );
    }
}

static DWORD WINAPI return_zero( void *arg )
{
    (void)arg;
    return 0;
}

static void failed_creations( int rounds )
{
    LPPROC_THREAD_ATTRIBUTE_LIST attrs;
    struct attr_buffer buffer;

    while (rounds--)
    {
        if (!(attrs = attr_list_make( &buffer, shared_context, shared_list )))
        {
            wrong++;
            continue;
        }
        buffer.ums.UmsVersion = 0;
        if (pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, return_zero, NULL, 0, attrs,
                                   NULL ))
            wrong++;
        pDeleteProcThreadAttributeList( attrs );
    }
}

/* leak tests: 10,000 rounds of calls that make no thread */
START_TEST( leak_calls )
{
    int rounds = umstest_env( "UMSTEST_ROUNDS", 10000 );

    pCreateUmsCompletionList( &shared_list );
    pCreateUmsThreadContext( &shared_context );
    check_flat( "create and delete a list", lists, rounds, SLACK );
    check_flat( "create and delete a context", contexts, rounds, SLACK );
    check_flat( "get the event and close it", events, rounds, SLACK );
    check_flat( "failing calls", failures, rounds, SLACK );
    check_flat( "failing creations", failed_creations, rounds, SLACK );
    ok( !wrong, "%ld calls did not end as they should\n", wrong );
    pDeleteUmsThreadContext( shared_context );
    pDeleteUmsCompletionList( shared_list );
}

static void WINAPI leave_at_once( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload; (void)param;
}

static void enter_and_leave( int rounds )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, shared_list, leave_at_once, NULL };

    while (rounds--) if (!pEnterUmsSchedulingMode( &info )) wrong++;
}

static DWORD WINAPI enter_thread( void *arg )
{
    (void)arg;
    enter_and_leave( 1 );
    return 0;
}

static void new_schedulers( int rounds )
{
    HANDLE thread;

    while (rounds--)
    {
        thread = CreateThread( NULL, 0, enter_thread, NULL, 0, NULL );
        if (!thread || WaitForSingleObject( thread, WAIT_BOUND )) wrong++;
        CloseHandle( thread );
    }
}

static void WINAPI exit_at_once( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload; (void)param;
    ExitThread( 0 );
}

static DWORD WINAPI exit_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, shared_list, exit_at_once, NULL };

    (void)arg;
    pEnterUmsSchedulingMode( &info );
    return 1;
}

static void exiting_schedulers( int rounds )
{
    HANDLE thread;

    while (rounds--)
    {
        thread = CreateThread( NULL, 0, exit_thread, NULL, 0, NULL );
        if (!thread || WaitForSingleObject( thread, WAIT_BOUND )) wrong++;
        CloseHandle( thread );
    }
}

/* leak tests: 1.4 the scheduler's context is deleted on leave */
START_TEST( leak_schedulers )
{
    pCreateUmsCompletionList( &shared_list );
    check_flat( "enter and leave", enter_and_leave, umstest_env( "UMSTEST_ROUNDS", 10000 ), SLACK );
    check_flat( "threads that enter and leave", new_schedulers, umstest_lives(), SLACK );
    check_flat( "threads that exit in SchedulerProc", exiting_schedulers, umstest_lives(), SLACK );
    ok( !wrong, "%ld calls did not end as they should\n", wrong );
    pDeleteUmsCompletionList( shared_list );
}

/* ---- worker lives ---- */

static int life_yields;
static LONG first_apcs = -1;                    /* that are queued and have not run; -1: none are queued */

static void CALLBACK first_apc( ULONG_PTR unused )
{
    (void)unused;
    InterlockedDecrement( &first_apcs );
}

/* Before it begins. */
static void queue_first_apc( HANDLE thread )
{
    if (QueueUserAPC( first_apc, thread, 0 )) InterlockedIncrement( &first_apcs );
    else wrong++;
}

static void live( struct worker *worker )
{
    int i;

    for (i = 0; i < life_yields; i++) worker->result[0] += pUmsThreadYield( NULL ) != 0;
}

/* Batches of workers that end before the next batch is made. */
static void lives( int rounds )
{
    static struct sched sched;
    static struct worker workers[25];
    int i, count;

    while (rounds > 0)
    {
        count = rounds < (int)ARRAYSIZE(workers) ? rounds : (int)ARRAYSIZE(workers);
        rounds -= count;
        memset( &sched, 0, sizeof(sched) );
        memset( workers, 0, sizeof(workers) );
        sched.list = shared_list;
        sched_init( &sched );
        for (i = 0; i < count; i++)
            if (!worker_create( &workers[i], shared_list, live, NULL, 0 ))
            {
                wrong++;
                break;
            }
            else if (first_apcs >= 0) queue_first_apc( workers[i].thread );
        if (!(sched.expect = i)) return;
        sched_run( &sched );
        if (!sched.entered_ok || sched.bad || sched.failed || sched.timed_out) wrong++;
        for (i = 0; i < sched.expect; i++)
        {
            if (!worker_wait( &workers[i], WAIT_BOUND ) || !workers[i].finished) wrong++;
            if (!worker_delete( &workers[i] )) wrong++;
        }
        sched_free( &sched );
        if (wrong) return;
    }
}

/* leak tests: 1,000 worker lives */
START_TEST( leak_workers )
{
    int rounds = umstest_many_lives();

    pCreateUmsCompletionList( &shared_list );
    life_yields = 3;
    check_flat( "worker lives", lives, rounds, 2 * SLACK );
    ok( !wrong, "%ld lives did not end as they should\n", wrong );
    pDeleteUmsCompletionList( shared_list );
}

/* The same, each worker begins with an APC. */
START_TEST( leak_first_apcs )
{
    pCreateUmsCompletionList( &shared_list );
    first_apcs = 0;
    check_flat( "worker lives that begin with an APC", lives, umstest_many_lives(), 2 * SLACK );
    unverified ok( !first_apcs, "%ld APCs did not run\n", first_apcs );
    ok( !wrong, "%ld lives did not end as they should\n", wrong );
    pDeleteUmsCompletionList( shared_list );
}

/* A list of their own for each batch, with its event. */
static void list_lives( int rounds )
{
    HANDLE event;

    for (; rounds > 0 && !wrong; rounds -= 25)
    {
        if (!pCreateUmsCompletionList( &shared_list ) || !pGetUmsCompletionListEvent( shared_list, &event ))
        {
            wrong++;
            return;
        }
        lives( 25 );
        if (!CloseHandle( event ) || !pDeleteUmsCompletionList( shared_list )) wrong++;
    }
}

/* leak tests: lists that had workers */
START_TEST( leak_lists )
{
    life_yields = 1;
    check_flat( "lists that had workers", list_lives, umstest_lives() / 10, 2 * SLACK );
    ok( !wrong, "%ld lives did not end as they should\n", wrong );
}

static struct worker stopped;

static void suspensions( int rounds )
{
    while (rounds--)
        if (SuspendThread( stopped.thread ) != 0 || ResumeThread( stopped.thread ) != 1) wrong++;
}

static void nested_suspensions( int rounds )
{
    while (rounds--)
    {
        if (SuspendThread( stopped.thread ) != 0 || SuspendThread( stopped.thread ) != 1) wrong++;
        if (ResumeThread( stopped.thread ) != 2 || ResumeThread( stopped.thread ) != 1) wrong++;
    }
}

static void register_reads( int rounds )
{
    CONTEXT context;

    while (rounds--)
    {
        context.ContextFlags = CONTEXT_FULL;
        if (!GetThreadContext( stopped.thread, &context )) wrong++;
    }
}

static void register_writes( int rounds )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_FULL;
    if (!GetThreadContext( stopped.thread, &context )) wrong++;
    while (rounds--)
        if (!SetThreadContext( stopped.thread, &context )) wrong++;
}

static void flag_reads( int rounds )
{
    while (rounds--)
        if (context_is_suspended( stopped.context ) != 0 || context_is_terminated( stopped.context ) != 0) wrong++;
}

/* leak tests: what others do to a worker that nobody runs */
START_TEST( leak_stops )
{
    int rounds = umstest_lives() / 20;     /* each is many calls of the host */

    shared_list = list_create();
    if (!ok( worker_create( &stopped, shared_list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() )) return;
    ok( list_wait( shared_list ) == stopped.context, "not queued\n" );
    check_flat( "suspend and resume", suspensions, rounds, SLACK );
    check_flat( "suspend twice", nested_suspensions, rounds, SLACK );
    check_flat( "read registers", register_reads, rounds, SLACK );
    check_flat( "write registers", register_writes, rounds, SLACK );
    check_flat( "read flags", flag_reads, 10 * rounds, SLACK );
    ok( !wrong, "%ld calls did not end as they should\n", wrong );
    finish_workers( shared_list, &stopped, 1, 1 );
    ok( worker_delete( &stopped ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( shared_list );
}
