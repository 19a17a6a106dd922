/*
 * The model of ConcRT: how its workers and primaries begin and end (scenario_concrt_model.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scenario_kit.h"
#include "scenario_concrt_model.h"

/* --- workers --- */

void concrt_act( struct concrt_worker *worker, enum concrt_action action )
{
    worker->action = action;
    if (!pUmsThreadYield( worker )) concrt_violation( 28 );
    if (GetCurrentThreadId() != worker->id ||
        TlsGetValue( concrt.tls ) != worker) concrt_violation( 23 );
}

void concrt_migrate( struct concrt_worker *worker, int index )
{
    worker->target = &concrt.primaries[index];
    concrt_act( worker, ACTION_MIGRATE );
    if (worker->ran_on != &concrt.primaries[index]) concrt_violation( 27 );
}

static DWORD WINAPI worker_main( void *arg )
{
    struct concrt_worker *worker = arg;

    TlsSetValue( concrt.tls, worker );
    worker->id = GetCurrentThreadId();
    if (pGetCurrentUmsThread() != worker->context) concrt_violation( 22 );
    concrt_act( worker, ACTION_STARTUP );
    worker->task( worker );
    InterlockedExchange( &worker->done, 1 );
    return 0;
}

/* Drain the factory's list; all of it goes to the engine. */
static void factory_sweep( void )
{
    PUMS_CONTEXT item = NULL, next;
    struct concrt_worker *worker;

    if (!pDequeueUmsCompletionListItems( concrt.factory_list, 0, &item )) concrt_violation( 14 );
    for (; item; item = next)
    {
        next = pGetNextUmsListItem( item );
        if (!(worker = concrt_worker_of( item ))) concrt_violation( 2 );
        else concrt_engine_give( worker );
    }
}

struct concrt_worker *concrt_create( void (*task)( struct concrt_worker * ), void *arg )
{
    LONG index = InterlockedIncrement( &concrt.worker_count ) - 1;
    struct concrt_worker *worker;
    HANDLE events[2];
    DWORD id;

    if (index >= CONCRT_WORKERS) return NULL;
    worker = &concrt.workers[index];
    worker->index = index;
    worker->task = task;
    worker->arg = arg;
    worker->started = events[0] = CreateEventW( NULL, FALSE, FALSE, NULL );
    events[1] = concrt.factory_event;
    InterlockedIncrement( &concrt.live );
    if (!kit_create_thread( concrt.factory_list, worker_main, worker, worker, 0x10000,
                            STACK_SIZE_PARAM_IS_A_RESERVATION, &worker->context, &worker->thread,
                            &id ))
    {
        concrt_violation( 2 );
        InterlockedDecrement( &concrt.live );
        return NULL;
    }
    for (;;)
    {
        switch (WaitForMultipleObjectsEx( 2, events, FALSE, CONCRT_LIMIT, FALSE ))
        {
        case WAIT_OBJECT_0:
            if (worker->id != id) concrt_violation( 23 );
            return worker;
        case WAIT_OBJECT_0 + 1:
            factory_sweep();
            break;
        default:
            concrt_violation( 4 );
            return NULL;
        }
    }
}

struct concrt_worker *concrt_spawn( void (*task)( struct concrt_worker * ), void *arg )
{
    struct concrt_worker *worker = concrt_create( task, arg );

    if (worker) concrt_schedule( worker );
    return worker;
}

/* --- up and down --- */

/* A primary holds a reference to its module and gives it back with its last instruction (B32). */
static DWORD WINAPI primary_thread( void *arg )
{
    struct concrt_primary *primary = arg;
    UMS_SCHEDULER_STARTUP_INFO info;
    HMODULE module = NULL;

    GetModuleHandleExW( GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                        (const WCHAR *)(void *)primary_thread, &module );
    primary->id = GetCurrentThreadId();
    TlsSetValue( concrt.tls, primary );
    info.UmsVersion = UMS_VERSION;
    info.CompletionList = primary->list;
    info.SchedulerProc = primary->engine ? concrt_engine_proc : concrt_primary_proc;
    info.SchedulerParam = primary;
    primary->left = 1 + pEnterUmsSchedulingMode( &info );
    if (pGetCurrentUmsThread()) concrt_violation( 22 );
    FreeLibraryAndExitThread( module, 0x600 + primary->index );
}

static BOOL primary_start( struct concrt_primary *primary, int index, PUMS_COMPLETION_LIST list )
{
    primary->index = index;
    primary->list = list;
    primary->own_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!pGetUmsCompletionListEvent( list, &primary->list_event )) return FALSE;
    return (primary->thread = CreateThread( NULL, 0, primary_thread, primary, 0, NULL )) != NULL;
}

BOOL concrt_start( int primaries )
{
    BOOL ret;
    int i;

    if (!need( CreateUmsCompletionList ) || !need( EnterUmsSchedulingMode )) return FALSE;
    concrt.primary_count = primaries;
    concrt.tls = TlsAlloc();
    concrt.live = 1;
    concrt.idle = CreateEventW( NULL, TRUE, FALSE, NULL );
    concrt.poller_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    ret = pCreateUmsCompletionList( &concrt.list );
    ret = ret && pCreateUmsCompletionList( &concrt.factory_list );
    ret = ret && pCreateUmsCompletionList( &concrt.engine.list );
    ret = ret && pGetUmsCompletionListEvent( concrt.factory_list, &concrt.factory_event );
    ok( ret, "no lists, error %lu\n", GetLastError() );
    concrt.engine.engine = TRUE;
    ret = ret && primary_start( &concrt.engine, 15, concrt.engine.list );
    for (i = 0; i < primaries; i++) ret = ret && primary_start( &concrt.primaries[i], i,
                                                                concrt.list );
    concrt.poller = CreateThread( NULL, 0, concrt_poller_thread, NULL, 0, NULL );
    ok( ret && concrt.poller, "not all threads, error %lu\n", GetLastError() );
    return ret;
}

static void primary_stop( struct concrt_primary *primary )
{
    DWORD code = 0;

    SetEvent( primary->own_event );
    ok( !WaitForSingleObject( primary->thread, CONCRT_LIMIT ), "B20: primary %d does not leave\n",
        primary->index );
    GetExitCodeThread( primary->thread, &code );
    ok( primary->left == 2, "B20: primary %d: EnterUmsSchedulingMode gave %ld\n", primary->index,
        primary->left - 1 );
    ok( code == 0x600u + primary->index, "B32: primary %d: exit code %#lx\n", primary->index,
        code );
    ok( primary->startups == 1, "B5: primary %d: %ld Startup upcalls\n", primary->index,
        primary->startups );
    CloseHandle( primary->thread );
    CloseHandle( primary->own_event );
    ok( CloseHandle( primary->list_event ), "the list event could not be closed\n" );
}

static void list_stop( PUMS_COMPLETION_LIST list )
{
    PUMS_CONTEXT item = (void *)(ULONG_PTR)0xdeadbeef;
    BOOL ret = pDequeueUmsCompletionListItems( list, 0, &item );

    ok( ret && !item, "B14: the list of the end is not empty\n" );
    ok( pDeleteUmsCompletionList( list ), "a list could not be deleted\n" );
}

void concrt_stop( void )
{
    BOOL ended;
    int i;

    if (!InterlockedDecrement( &concrt.live )) SetEvent( concrt.idle );
    ended = !WaitForSingleObject( concrt.idle, 2 * CONCRT_LIMIT );
    ok( ended, "%ld workers do not end\n", concrt.live );
    InterlockedExchange( &concrt.stop, 1 );
    for (i = 0; i < concrt.primary_count; i++) primary_stop( &concrt.primaries[i] );
    primary_stop( &concrt.engine );
    SetEvent( concrt.poller_event );
    ok( !WaitForSingleObject( concrt.poller, CONCRT_LIMIT ), "the poller does not end\n" );
    for (i = 1; i < CONCRT_ROWS; i++)
        ok( !concrt.bad[i], "B%d: broken %ld times\n", i, concrt.bad[i] );
    ok( concrt.finished == concrt.worker_count, "B18: %ld workers of %ld ended\n", concrt.finished,
        concrt.worker_count );
    if (!ended) return;
    for (i = 0; i < concrt.worker_count; i++) CloseHandle( concrt.workers[i].started );
    list_stop( concrt.list );
    list_stop( concrt.factory_list );
    list_stop( concrt.engine.list );
    CloseHandle( concrt.factory_event );
    CloseHandle( concrt.idle );
    CloseHandle( concrt.poller );
    CloseHandle( concrt.poller_event );
    TlsFree( concrt.tls );
}
