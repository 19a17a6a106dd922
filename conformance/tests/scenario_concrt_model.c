/*
 * The ConcRT-like client; see scenario_concrt_model.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who runs what: a new worker comes to the factory's list; whoever waits for a new worker drains
 * that list and hands all of it to the engine, a scheduler thread with a list of its own, which
 * runs each up to its first yield. From then on the primaries share one list and one ready queue.
 */
#include "scenario_kit.h"
#include "scenario_concrt_model.h"

struct concrt concrt;

void concrt_violation( int row )
{
    InterlockedIncrement( &concrt.bad[row] );
}

static BOOLEAN concrt_flag( struct concrt_worker *worker, UMS_THREAD_INFO_CLASS info_class )
{
    BOOLEAN flag = 0xcc;
    ULONG length = 0;

    if (!pQueryUmsThreadInformation( worker->context, info_class, &flag, sizeof(flag), &length ) ||
        length != sizeof(flag) || flag > 1) concrt_violation( 22 );
    return flag == 1;
}

/* The proxy behind a context: UserContext, as set before the thread was made. */
struct concrt_worker *concrt_worker_of( PUMS_CONTEXT context )
{
    struct concrt_worker *worker = NULL;
    ULONG length = 0;

    if (!pQueryUmsThreadInformation( context, UmsThreadUserContext, &worker, sizeof(worker),
                                     &length ) ||
        length != sizeof(worker)) concrt_violation( 22 );
    if (worker < concrt.workers || worker >= concrt.workers + CONCRT_WORKERS)
    {
        concrt_violation( 3 );
        return NULL;
    }
    return worker;
}

/* `this` of a primary, in every upcall but the first: the only way back to it (B21). */
static struct concrt_primary *concrt_this( void )
{
    struct concrt_primary *primary = NULL;
    PUMS_CONTEXT self = pGetCurrentUmsThread();
    ULONG length = 0;

    if (!self) concrt_violation( 22 );
    if (!pQueryUmsThreadInformation( self, UmsThreadUserContext, &primary, sizeof(primary),
                                     &length ) ||
        length != sizeof(primary) || !primary) concrt_violation( 21 );
    if (primary && (primary->id != GetCurrentThreadId() || TlsGetValue( concrt.tls ) != primary))
        concrt_violation( 23 );
    return primary;
}

/* --- queues --- */

static void inbox_push( struct concrt_worker *volatile *inbox, struct concrt_worker *worker )
{
    struct concrt_worker *old;

    do worker->next = old = *inbox;
    while (InterlockedCompareExchangePointer( (void *volatile *)inbox, worker, old ) != old);
}

/* all of an inbox, the oldest first */
static struct concrt_worker *inbox_take( struct concrt_worker *volatile *inbox )
{
    struct concrt_worker *worker = InterlockedExchangePointer( (void *volatile *)inbox, NULL );
    struct concrt_worker *reversed = NULL, *next;

    for (; worker; worker = next)
    {
        next = worker->next;
        worker->next = reversed;
        reversed = worker;
    }
    return reversed;
}

static void wake_primaries( void )
{
    int i;

    for (i = 0; i < concrt.primary_count; i++) SetEvent( concrt.primaries[i].own_event );
}

void concrt_schedule( struct concrt_worker *worker )
{
    InterlockedExchange( &worker->parked, 0 );
    inbox_push( &concrt.incoming, worker );
    wake_primaries();
}

/* Primaries only. The lock is never held over anything but these lines. */
static struct concrt_worker *ready_pop( void )
{
    struct concrt_worker *worker, *more, *next;

    while (InterlockedExchange( &concrt.ready_lock, 1 )) SwitchToThread();
    for (more = inbox_take( &concrt.incoming ); more; more = next)
    {
        next = more->next;
        more->next = NULL;
        if (concrt.ready_first) concrt.ready_last->next = more;
        else concrt.ready_first = more;
        concrt.ready_last = more;
    }
    if ((worker = concrt.ready_first)) concrt.ready_first = worker->next;
    InterlockedExchange( &concrt.ready_lock, 0 );
    return worker;
}

void concrt_engine_give( struct concrt_worker *worker )
{
    inbox_push( &concrt.engine.inbox, worker );
    SetEvent( concrt.engine.own_event );
}

/* --- execute: B6, B7, B8, B19 --- */

static void give_to_poller( struct concrt_worker *worker )
{
    if (InterlockedExchange( &worker->polled, 1 )) concrt_violation( 8 );
    InterlockedExchangePointer( (void *volatile *)&worker->root, NULL );
    InterlockedIncrement( &concrt.polls );
    inbox_push( &concrt.poller_inbox, worker );
    SetEvent( concrt.poller_event );
}

/* Returns only if the worker is suspended and was given away. */
static void execute( struct concrt_primary *primary, struct concrt_worker *worker )
{
    ULONGLONG limit = GetTickCount64() + CONCRT_LIMIT;
    int tries;

    worker->ran_on = primary;
    worker->root = primary;
    primary->executing = worker;
    InterlockedIncrement( &primary->executes );
    for (;;)
    {
        for (tries = 0; tries < 10; tries++)
        {
            if (pExecuteUmsThread( worker->context )) concrt_violation( 6 );
            umstest_refused( GetLastError() );
            YieldProcessor();
        }
        if (concrt_flag( worker, UmsThreadIsTerminated )) concrt_violation( 19 );
        if (concrt_flag( worker, UmsThreadIsSuspended )) break;
        if (GetTickCount64() > limit)
        {
            concrt_violation( 7 );
            return;
        }
    }
    primary->executing = NULL;
    give_to_poller( worker );
}

DWORD WINAPI concrt_poller_thread( void *arg )
{
    struct concrt_worker *polled = NULL, *worker, *next;

    (void)arg;
    while (!concrt.stop)
    {
        WaitForSingleObject( concrt.poller_event, polled ? 2 : CONCRT_LIMIT );
        for (worker = inbox_take( &concrt.poller_inbox ); worker; worker = next)
        {
            next = worker->next;
            worker->next = polled;
            polled = worker;
        }
        worker = polled;
        for (polled = NULL; worker; worker = next)
        {
            next = worker->next;
            if (concrt_flag( worker, UmsThreadIsSuspended ))
            {
                worker->next = polled;
                polled = worker;
            }
            else
            {
                InterlockedExchange( &worker->polled, 0 );
                concrt_schedule( worker );
            }
        }
    }
    return 0;
}

/* --- the list of the primaries: B13, B14, B15, B18 --- */

static void retire( struct concrt_worker *worker )
{
    PUMS_CONTEXT context = worker->context;

    worker->context = NULL;
    if (!CloseHandle( worker->thread )) concrt_violation( 18 );
    if (!pDeleteUmsThreadContext( context )) concrt_violation( 18 );
    InterlockedIncrement( &concrt.finished );
    if (!InterlockedDecrement( &concrt.live )) SetEvent( concrt.idle );
}

/* Its primary may not have had the upcall yet: it must come, and it does not wait for us. TRUE if
   that primary waits for the worker alone. */
static BOOL swept_is_awaited( struct concrt_worker *worker )
{
    ULONGLONG limit = GetTickCount64() + CONCRT_LIMIT;

    while (worker->root && !worker->awaited)
    {
        SwitchToThread();
        if (GetTickCount64() < limit) continue;
        concrt_violation( 13 );
        break;
    }
    return worker->awaited;
}

/* Everything on the shared list goes where it belongs. TRUE if `wanted` was there. */
static BOOL sweep( struct concrt_worker *wanted )
{
    PUMS_CONTEXT item = NULL, next;
    struct concrt_worker *worker;
    BOOL found = FALSE;
    int count = 0;

    if (!pDequeueUmsCompletionListItems( concrt.list, 0, &item )) concrt_violation( 14 );
    for (; item; item = next)
    {
        next = pGetNextUmsListItem( item );
        if (!(worker = concrt_worker_of( item ))) continue;
        if (worker->context != item || worker->polled || worker->parked) concrt_violation( 9 );
        if (worker == wanted) found = TRUE;
        else if (swept_is_awaited( worker ))
        {
            HANDLE event = worker->root->own_event;

            InterlockedExchange( &worker->returned, 1 );
            SetEvent( event );                      /* the worker may be anywhere by now */
        }
        else if (concrt_flag( worker, UmsThreadIsTerminated )) retire( worker );
        else
        {
            inbox_push( &concrt.incoming, worker );
            count++;
        }
    }
    if (count > !wanted) wake_primaries();
    return found;
}

/* In a region that hides the block: this primary does nothing but wait for that worker. */
static void await_worker( struct concrt_primary *primary, struct concrt_worker *worker )
{
    HANDLE events[2] = { primary->list_event, primary->own_event };

    InterlockedIncrement( &concrt.awaits );
    InterlockedExchange( &worker->awaited, 1 );
    while (!sweep( worker ) && !worker->returned)
    {
        if (WaitForMultipleObjects( 2, events, FALSE, CONCRT_LIMIT ) != WAIT_TIMEOUT) continue;
        concrt_violation( 16 );
        return;
    }
    InterlockedExchange( &worker->awaited, 0 );
    InterlockedExchange( &worker->returned, 0 );
    if (concrt_flag( worker, UmsThreadIsTerminated ))
    {
        InterlockedExchangePointer( (void *volatile *)&worker->root, NULL );
        retire( worker );
    }
    else execute( primary, worker );
}

static void primary_loop( struct concrt_primary *primary )
{
    HANDLE events[2] = { primary->list_event, primary->own_event };
    struct concrt_worker *worker, *next;

    while (!concrt.stop)
    {
        sweep( NULL );
        for (worker = inbox_take( &primary->inbox ); worker; worker = next)
        {
            next = worker->next;
            worker->next = NULL;
            if (primary->first) primary->last->next = worker;
            else primary->first = worker;
            primary->last = worker;
        }
        if ((worker = primary->first)) primary->first = worker->next;
        else worker = ready_pop();
        if (worker) execute( primary, worker );
        else if (WaitForMultipleObjects( 2, events, FALSE, CONCRT_LIMIT ) == WAIT_TIMEOUT)
        {
            concrt_violation( 16 );
            return;
        }
    }
}

/* The worker has yielded and its primary's books are closed: hand it on by what it asked for. */
static void dispatch( struct concrt_primary *primary, struct concrt_worker *worker )
{
    struct concrt_primary *target = worker->target;
    enum concrt_action action = worker->action;

    InterlockedExchangePointer( (void *volatile *)&worker->root, NULL );
    switch (action)
    {
    case ACTION_YIELD:
        inbox_push( &concrt.incoming, worker );
        break;
    case ACTION_MIGRATE:
        inbox_push( &target->inbox, worker );
        if (target != primary) SetEvent( target->own_event );
        break;
    case ACTION_PARK:
        InterlockedExchange( &worker->parked, 1 );
        break;
    case ACTION_NEST:
        concrt_engine_give( worker );
        break;
    default:
        concrt_violation( 3 );
    }
}

/* Payload, SchedulerParam, UserContext and the worker that was executed are one and the same (B3).
    */
static void check_yield( struct concrt_primary *primary, ULONG_PTR payload, PVOID param )
{
    struct concrt_worker *worker = primary->executing;

    if (!worker || payload != (ULONG_PTR)worker->context || param != worker ||
        concrt_worker_of( (PUMS_CONTEXT)payload ) != worker) concrt_violation( 3 );
}

void NTAPI concrt_primary_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    struct concrt_primary *primary;
    struct concrt_worker *worker;

    if (reason == UmsSchedulerStartup)
    {
        primary = param;
        if (!pSetUmsThreadInformation( pGetCurrentUmsThread(), UmsThreadUserContext, &primary,
                                       sizeof(primary) ))
            concrt_violation( 21 );
        if (InterlockedIncrement( &primary->startups ) != 1 || payload) concrt_violation( 5 );
        primary_loop( primary );
        return;
    }
    if (!(primary = concrt_this())) return;
    worker = primary->executing;
    primary->executing = NULL;
    if (!worker)
    {
        concrt_violation( 9 );
        return;
    }
    if (reason == UmsSchedulerThreadBlocked)
    {
        InterlockedIncrement( &primary->blocks );
        if (payload > 1) concrt_violation( 10 );
        if (!payload) InterlockedIncrement( &concrt.async_blocks );
        if (worker->hyper || (worker->critical && !(payload & 1))) await_worker( primary, worker );
        else InterlockedExchangePointer( (void *volatile *)&worker->root, NULL );
    }
    else
    {
        InterlockedIncrement( &primary->yields );
        primary->executing = worker;
        check_yield( primary, payload, param );
        primary->executing = NULL;
        dispatch( primary, worker );
    }
    primary_loop( primary );
}

/* --- the engine: B2, B3, B5, B17 --- */

/* The own list gives exactly the worker that blocked, alone, or nothing on a stale signal. */
static BOOL engine_wait_worker( struct concrt_primary *engine, struct concrt_worker *worker )
{
    PUMS_CONTEXT item = NULL;

    for (;;)
    {
        if (WaitForSingleObject( engine->list_event, CONCRT_LIMIT ))
        {
            concrt_violation( 16 );
            return FALSE;
        }
        if (!pDequeueUmsCompletionListItems( engine->list, 0, &item )) concrt_violation( 14 );
        if (!item) continue;
        if (item != worker->context || pGetNextUmsListItem( item )) concrt_violation( 17 );
        return TRUE;
    }
}

static void engine_loop( struct concrt_primary *engine )
{
    struct concrt_worker *worker, *next;

    while (!concrt.stop)
    {
        for (worker = inbox_take( &engine->inbox ); worker; worker = next)
        {
            next = worker->next;
            worker->next = NULL;
            if (engine->first) engine->last->next = worker;
            else engine->first = worker;
            engine->last = worker;
        }
        if ((worker = engine->first))
        {
            engine->first = worker->next;
            execute( engine, worker );
        }
        else wait_signaled( engine->own_event );
    }
}

static void engine_yielded( struct concrt_worker *worker )
{
    InterlockedExchangePointer( (void *volatile *)&worker->root, NULL );
    switch (worker->action)
    {
    case ACTION_STARTUP:
        SetEvent( worker->started );
        break;
    case ACTION_UNNEST:
        concrt_schedule( worker );
        break;
    default:
        concrt_violation( 3 );
    }
}

void NTAPI concrt_engine_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    struct concrt_primary *engine;
    struct concrt_worker *worker;

    if (reason == UmsSchedulerStartup)
    {
        engine = param;
        if (!pSetUmsThreadInformation( pGetCurrentUmsThread(), UmsThreadUserContext, &engine,
                                       sizeof(engine) ))
            concrt_violation( 21 );
        if (InterlockedIncrement( &engine->startups ) != 1) concrt_violation( 5 );
        engine_loop( engine );
        return;
    }
    if (!(engine = concrt_this()) || !(worker = engine->executing))
    {
        concrt_violation( 9 );
        return;
    }
    if (reason == UmsSchedulerThreadYield)
    {
        InterlockedIncrement( &engine->yields );
        check_yield( engine, payload, param );
        engine->executing = NULL;
        engine_yielded( worker );
    }
    else
    {
        InterlockedIncrement( &engine->blocks );
        if (payload > 1) concrt_violation( 10 );
        if (worker->action == ACTION_NEST) InterlockedIncrement( &concrt.nest_blocks );
        else InterlockedIncrement( &concrt.startup_blocks );
        if (engine_wait_worker( engine, worker )) execute( engine, worker );
    }
    engine_loop( engine );
}
