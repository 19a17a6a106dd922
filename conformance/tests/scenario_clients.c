/*
 * Scenarios: habits of known client programs.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: D1, D2, D3, D5, D6, D9, D12, D15 .. D19, B4, B24, B30.
 */
#include "scenario_kit.h"
#include "../umslib.h"

static DWORD empty_body( struct kit_worker *worker )
{
    (void)worker;
    return 0;
}

/* --- failing executes: D1, D2, D3 --- */

enum
{
    TRY_NULL, TRY_UNBORN, TRY_ELSEWHERE, TRY_DEAD, TRIES
};

static DWORD try_error[TRIES];
static BOOL try_ret[TRIES];
static PUMS_CONTEXT try_context[TRIES];
static volatile LONG tried;
static volatile LONG busy, busy_stop;

static BOOL try_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    int i;

    (void)sched; (void)payload; (void)param;
    if (reason != UmsSchedulerStartup) return FALSE;
    for (i = 0; i < TRIES; i++)
    {
        SetLastError( 0 );
        try_ret[i] = pExecuteUmsThread( try_context[i] );
        try_error[i] = GetLastError();
    }
    InterlockedExchange( &tried, 1 );
    return FALSE;
}

static DWORD busy_body( struct kit_worker *worker )
{
    (void)worker;
    busy = 1;
    while (!busy_stop) YieldProcessor();
    return 0;
}

/* Delivered to nobody: the context of a worker that ended, kept for the failing execute. */
static BOOL keep_dead( struct kit_sched *sched, struct kit_worker *worker )
{
    BOOLEAN flag = 0;

    (void)sched;
    pQueryUmsThreadInformation( worker->context, UmsThreadIsTerminated, &flag, 1, NULL );
    if (!flag || worker->index != 1) return FALSE;
    worker->terminated++;
    try_context[TRY_DEAD] = worker->context;
    worker->context = NULL;
    worker->parked = 1;
    return TRUE;
}

START_TEST( scenario_client_execute_errors )
{
    static const DWORD expected[TRIES] =
    {
        ERROR_INVALID_PARAMETER, ERROR_INVALID_PARAMETER, ERROR_INTERNAL_ERROR,
        ERROR_INVALID_PARAMETER
    };
    struct kit_sched *first, *second;
    int i;

    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    first->on_item = keep_dead;
    kit_add_worker( first->list, busy_body, NULL );
    kit_add_worker( first->list, empty_body, NULL );
    kit_start();
    ok( kit_wait_value( &busy, 1 ), "the first worker does not run\n" );
    if (!kit.workers[1].parked)         /* it has not got through its end: nobody sweeps now */
    {
        busy_stop = 1;
        ok( kit_wait_value( &kit.workers[1].parked, 1 ), "the second worker does not end\n" );
        busy = busy_stop = 0;
        kit_add_worker( first->list, busy_body, NULL );
        ok( kit_wait_value( &busy, 1 ), "the third worker does not run\n" );
        try_context[TRY_ELSEWHERE] = kit.workers[2].context;
    }
    else try_context[TRY_ELSEWHERE] = kit.workers[0].context;
    ok( pCreateUmsThreadContext( &try_context[TRY_UNBORN] ), "no context\n" );
    second = kit_add_sched( NULL );
    second->on_upcall = try_upcall;
    kit_start();
    ok( kit_wait_value( &tried, 1 ), "the second scheduler does not start\n" );
    busy_stop = 1;
    for (i = 0; i < TRIES; i++)
    {
        push( "try %d", i );
        ok( !try_ret[i], "D2: ExecuteUmsThread returned TRUE\n" );
        ok( try_error[i] != 0, "D3: no error\n" );
        ok( try_error[i] == expected[i], "D1: error %lu, expected %lu\n", try_error[i],
            expected[i] );
        pop();
    }
    kit.workers[1].deleted = pDeleteUmsThreadContext( try_context[TRY_DEAD] );
    InterlockedDecrement( &kit.live );
    ok( pDeleteUmsThreadContext( try_context[TRY_UNBORN] ),
        "a context without a thread was not deleted\n" );
    kit_finish();
    kit_check();
}

/* --- Dequeue with time-outs: D5, D6 --- */

static volatile LONG dequeue_asked;
static PUMS_COMPLETION_LIST dequeue_list;

static DWORD WINAPI dequeue_helper( void *arg )
{
    (void)arg;
    kit_wait_value( &dequeue_asked, 1 );
    kit_add_worker( dequeue_list, empty_body, NULL );
    return 0;
}

START_TEST( scenario_client_dequeue )
{
    PUMS_CONTEXT item;
    struct kit_sched *sched;
    struct kit_worker *worker;
    HANDLE helper;
    DWORD error;
    BOOL ret;
    int i;

    if (!kit_open()) return;
    dequeue_list = kit_new_list();
    sched = kit_add_sched( NULL );
    for (i = 0; i < 3; i++)
    {
        item = (void *)(ULONG_PTR)0xdeadbeef;
        SetLastError( 0xdeadbeef );
        ret = pDequeueUmsCompletionListItems( dequeue_list, 1, &item );
        error = GetLastError();
        unverified ok( !ret && error == ERROR_TIMEOUT, "D5: 1 ms gave %d, error %lu\n", ret,
                       error );
        ok( !item, "D5: something came from nothing\n" );
    }
    helper = CreateThread( NULL, 0, dequeue_helper, NULL, 0, NULL );
    item = NULL;
    dequeue_asked = 1;
    ret = pDequeueUmsCompletionListItems( dequeue_list, INFINITE, &item );
    ok( ret, "D6: INFINITE failed, error %lu\n", GetLastError() );
    ok( item != NULL, "D6: INFINITE gave nothing\n" );
    worker = item ? kit_worker_of( item ) : NULL;
    ok( worker && !pGetNextUmsListItem( item ), "D6: not exactly the new worker\n" );
    wait_signaled( helper );
    if (worker)
    {
        worker->context = item;
        worker->queued++;
        kit_ready( worker, sched );
    }

    /* a signal may be left over now, and must not make the next one return with nothing */
    ret = pDequeueUmsCompletionListItems( dequeue_list, 0, &item );
    ok( ret && !item, "B14: polling an empty list gave %d\n", ret );
    kit_add_worker( dequeue_list, empty_body, NULL );
    ok( kit_hand_over( dequeue_list, sched, INFINITE ) == 1,
        "D6: INFINITE did not give the second\n" );
    kit_start();
    kit_finish();
    kit_check();
    CloseHandle( helper );
    ok( pDeleteUmsCompletionList( dequeue_list ), "the list could not be deleted\n" );
}

/* --- a worker names itself: D9 --- */

static void *name_seen[2];
static LONG names_seen;

static enum sched_action name_hook( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                    ULONG_PTR payload,
                                    void *param )
{
    (void)sched; (void)param;
    if (reason == UmsSchedulerThreadYield && names_seen < 2)
        name_seen[names_seen++] = context_user( (PUMS_CONTEXT)payload );
    return SCHED_DEFAULT;
}

static void name_proc( struct worker *worker )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread();
    void *name = &name_seen[0];

    worker->result[0] = pSetUmsThreadInformation( self, UmsThreadUserContext, &name, sizeof(name) );
    pUmsThreadYield( NULL );
    name = &name_seen[1];
    worker->result[1] = pSetUmsThreadInformation( self, UmsThreadUserContext, &name, sizeof(name) );
    pUmsThreadYield( NULL );
    worker->result[2] = context_user( self ) == name;
}

START_TEST( scenario_client_user_context )
{
    static struct sched sched;
    static struct worker worker;

    if (!need( SetUmsThreadInformation )) return;
    sched.expect = 1;
    sched.hook = name_hook;
    if (!sched_init( &sched )) return;
    ok( worker_create( &worker, sched.list, name_proc, NULL, 0 ), "no worker, error %lu\n",
        GetLastError() );
    sched_run( &sched );
    sched_check( &sched );
    ok( worker.result[0] == TRUE &&
        worker.result[1] == TRUE, "D9: a worker cannot set its own UserContext\n" );
    ok( names_seen == 2, "D9: %ld yields\n", names_seen );
    ok( name_seen[0] == &name_seen[0] &&
        name_seen[1] == &name_seen[1], "D9: the scheduler does not see it\n" );
    ok( worker.result[2], "D9: the worker does not see it\n" );
    ok( worker_wait( &worker, KIT_LIMIT ), "the thread did not end\n" );
    ok( worker_delete( &worker ), "D8: error %lu\n", GetLastError() );
    sched_free( &sched );
}

/* --- attribute lists: D15, D17, D19 --- */

static volatile LONG attribute_ran;

static DWORD WINAPI attribute_thread( void *arg )
{
    attribute_ran += arg == &attribute_ran;
    return 0;
}

/* A worker from an attribute list that lies at `buffer`; C4 passes 64 KB without asking for the
   size. */
static BOOL attribute_worker( void *buffer, SIZE_T size, PUMS_COMPLETION_LIST list,
                              PUMS_CONTEXT *context,
                              HANDLE *thread )
{
    UMS_CREATE_THREAD_ATTRIBUTES attributes = { UMS_VERSION, NULL, list };
    BOOL ret;

    if (!pCreateUmsThreadContext( context )) return FALSE;
    attributes.UmsContext = *context;
    ret = pInitializeProcThreadAttributeList( buffer, 1, 0, &size );
    ok( ret, "D19: InitializeProcThreadAttributeList failed, error %lu\n", GetLastError() );
    ret = pUpdateProcThreadAttribute( buffer, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &attributes,
                                      sizeof(attributes),
                                      NULL, NULL );
    ok( ret, "D19: UpdateProcThreadAttribute failed, error %lu\n", GetLastError() );
    *thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 4096, attribute_thread, (void
       *)&attribute_ran, 0,
                                     buffer, NULL );
    ok( *thread != NULL, "D15: CreateRemoteThreadEx failed, error %lu\n", GetLastError() );
    pDeleteProcThreadAttributeList( buffer );
    memset( &attributes, 0xcc, sizeof(attributes) );
    return *thread != NULL;
}

START_TEST( scenario_client_attribute_list )
{
    static DECLSPEC_ALIGN(16) BYTE scratch[0x10000];
    static struct sched sched;
    PUMS_CONTEXT contexts[2];
    HANDLE threads[2];
    SIZE_T size = 0;
    DWORD error;
    BOOL ret;
    int i;

    if (!need( CreateRemoteThreadEx )) return;
    CALL( ret, error, pInitializeProcThreadAttributeList( NULL, 1, 0, &size ) );
    ok( !ret && error == ERROR_INSUFFICIENT_BUFFER, "D17: the probe gave %d, error %lu\n", ret,
        error );
    ok( size && size < 0x1000, "D17: size %lu\n", (DWORD)size );
    sched.expect = 2;
    if (!sched_init( &sched )) return;
    ok( attribute_worker( scratch + 8, size, sched.list, &contexts[0], &threads[0] ),
        "D19: no worker\n" );
    memset( scratch, 0xcc, sizeof(scratch) );
    ok( attribute_worker( scratch, sizeof(scratch), sched.list, &contexts[1], &threads[1] ),
        "no worker\n" );
    memset( scratch, 0xcc, sizeof(scratch) );
    sched_run( &sched );
    sched_check( &sched );
    ok( attribute_ran == 2, "D15: %ld threads ran\n", attribute_ran );
    for (i = 0; i < 2; i++)
    {
        ok( !WaitForSingleObject( threads[i], KIT_LIMIT ), "D15: thread %d did not end\n", i );
        ok( pDeleteUmsThreadContext( contexts[i] ), "D8: error %lu\n", GetLastError() );
        CloseHandle( threads[i] );
    }
    sched_free( &sched );
}

/* --- order of clean-up: D16 --- */

START_TEST( scenario_client_delete_list )
{
    PUMS_COMPLETION_LIST list;
    HANDLE first = NULL, second = NULL;
    BOOL ret;

    if (!need( GetUmsCompletionListEvent )) return;
    list = kit_new_list();
    ok( pGetUmsCompletionListEvent( list, &first ) && first, "no event\n" );
    ok( pGetUmsCompletionListEvent( list, &second ) && second, "no second event\n" );
    ok( first != second, "1.6: the same handle twice\n" );
    ok( CloseHandle( second ), "D16: the second handle could not be closed\n" );
    ret = pDeleteUmsCompletionList( list );
    ok( ret, "D16: deleting the list with an open event failed, error %lu\n", GetLastError() );
    ret = CloseHandle( first );
    ok( ret, "D16: closing the event after the list failed, error %lu\n", GetLastError() );
}

/* --- creation from everywhere: D18, B4, B30 --- */

static volatile LONG born;
static struct kit_worker *startup_born, *blocked_born;

static DWORD child_body( struct kit_worker *worker )
{
    (void)worker;
    InterlockedIncrement( &born );
    return 0;
}

static DWORD parent_body( struct kit_worker *worker )
{
    struct kit_worker *child = kit_add_worker( kit.scheds[0].list, child_body, NULL );

    if (!child) return 1;
    while (!child->ended) if (!kit_yield( worker, NULL )) break;
    return WaitForSingleObject( child->thread, KIT_LIMIT );
}

static BOOL birth_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) startup_born = kit_add_worker( sched->list, parent_body,
                                                                      NULL );
    else if (!blocked_born) blocked_born = kit_add_worker( sched->list, parent_body, NULL );
    return FALSE;
}

/* Inside the Startup upcall before any execute, inside a later one, on a worker, on a plain
   thread. */
START_TEST( scenario_client_create_anywhere )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = birth_upcall;
    kit_start();
    ok( kit_wait_value( &sched->entered, 1 ), "no Startup upcall\n" );
    ok( kit_add_worker( sched->list, parent_body, NULL ) != NULL, "B30: not on a plain thread\n" );
    kit_finish();
    ok( startup_born != NULL, "D18: not in the Startup upcall\n" );
    ok( blocked_born != NULL, "D18: not in a later upcall\n" );
    ok( born == 3, "B4: %ld children of workers\n", born );
    kit_check();
}

/* --- priority and affinity: B24 --- */

static volatile LONG urged, urge_stop;
static HANDLE urge_event;

static DWORD urged_body( struct kit_worker *worker )
{
    kit_park( worker );
    wait_signaled( urge_event );
    urged = 1;
    while (!urge_stop) YieldProcessor();
    return 0;
}

static void urge( HANDLE thread, int priority, const char *state )
{
    GROUP_AFFINITY affinity, old;
    DWORD_PTR allowed, cpu, system;
    BOOL ret;

    /* the lowest processor that this process may use */
    ok( GetProcessAffinityMask( GetCurrentProcess(), &allowed, &system ), "no affinity mask\n" );
    cpu = allowed & (0 - allowed);
    memset( &affinity, 0, sizeof(affinity) );
    affinity.Mask = cpu;
    push( "%s", state );
    ret = SetThreadPriority( thread, priority );
    ok( ret, "B24: SetThreadPriority failed, error %lu\n", GetLastError() );
    ok( GetThreadPriority( thread ) == priority, "B24: priority %d\n",
        GetThreadPriority( thread ) );
    memset( &old, 0, sizeof(old) );
    ret = SetThreadGroupAffinity( thread, &affinity, &old );
    ok( ret, "B24: SetThreadGroupAffinity failed, error %lu\n", GetLastError() );
    affinity.Mask = 0;
    ok( GetThreadGroupAffinity( thread, &affinity ) &&
        affinity.Mask == cpu, "B24: affinity is not kept\n" );
    if (old.Mask) SetThreadGroupAffinity( thread, &old, NULL );
    pop();
}

/* At any time of a worker's life, on its handle, without blocking the caller. */
START_TEST( scenario_client_priority )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    PUMS_COMPLETION_LIST creation;

    if (!kit_open()) return;
    urge_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    creation = kit_new_list();
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( creation, urged_body, NULL );
    if (!worker) return;
    urge( worker->thread, THREAD_PRIORITY_ABOVE_NORMAL, "new" );
    kit_hand_over( creation, sched, KIT_LIMIT );
    kit_start();
    ok( kit_wait_value( &worker->parked, 1 ), "the worker does not park\n" );
    urge( worker->thread, THREAD_PRIORITY_BELOW_NORMAL, "yielded" );
    kit_ready( worker, sched );
    while (worker->blocks < 1 && !sched->timeouts) Sleep( 1 );
    urge( worker->thread, THREAD_PRIORITY_LOWEST, "blocked" );
    SetEvent( urge_event );
    ok( kit_wait_value( &urged, 1 ), "the worker does not go on\n" );
    urge( worker->thread, THREAD_PRIORITY_NORMAL, "running" );
    urge_stop = 1;
    kit_finish();
    kit_check();
    ok( pDeleteUmsCompletionList( creation ), "the list could not be deleted\n" );
    CloseHandle( urge_event );
}

/* --- file and console output: D12 --- */

static volatile LONG written;

static DWORD write_body( struct kit_worker *worker )
{
    WCHAR folder[MAX_PATH], name[MAX_PATH];
    static const char line[] = "one line of a worker\n";
    DWORD count, total = 0;
    HANDLE file;
    int i;

    (void)worker;
    GetTempPathW( MAX_PATH, folder );
    GetTempFileNameW( folder, L"ums", 0, name );
    file = CreateFileW( name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE,
                        NULL );
    for (i = 0; i < 50; i++)
        if (WriteFile( file, line, sizeof(line) - 1, &count, NULL )) total += count;
    FlushFileBuffers( file );
    CloseHandle( file );
    if (total == 50 * (sizeof(line) - 1)) InterlockedIncrement( &written );
    return 0;
}

/* Whether a write is seen as blocking depends on caches; it must work and the sums must fit. */
START_TEST( scenario_client_file_output )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    for (i = 0; i < 3; i++) kit_add_worker( sched->list, write_body, NULL );
    kit_start();
    kit_finish();
    ok( written == 3, "D12: %ld workers of 3 wrote all\n", written );
    kit_check();
}
