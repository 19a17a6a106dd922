/*
 * DequeueUmsCompletionListItems, GetNextUmsListItem (ums.md 1.6, 10).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

static void *const poison = (void *)(ULONG_PTR)POISON;

/* 1.6, 10 Dequeue(0) on an empty list: TRUE and NULL; B14 */
START_TEST( dequeue_empty_poll )
{
    PUMS_COMPLETION_LIST list = list_create();
    PUMS_CONTEXT first;
    int i;

    if (!need( DequeueUmsCompletionListItems )) return;
    for (i = 0; i < 3; i++)
    {
        first = poison;
        ok( pDequeueUmsCompletionListItems( list, 0, &first ),
            "1.6 Dequeue(0) of an empty list: FALSE, error %lu\n", GetLastError() );
        ok( first == NULL, "1.6 Dequeue(0) of an empty list gave %p\n", first );
    }
    pDeleteUmsCompletionList( list );
}

/* 1.6, 10 Dequeue(n) expires: FALSE, ERROR_TIMEOUT, NULL [doc, contested]; D5 */
START_TEST( dequeue_empty_timeout )
{
    PUMS_COMPLETION_LIST list = list_create();
    static const DWORD timeouts[] = { 1, 60 };
    PUMS_CONTEXT first;
    ULONGLONG start;
    DWORD error;
    BOOL ret;
    int i;

    for (i = 0; i < 2; i++)
    {
        push( "1.6 Dequeue(%lu)", timeouts[i] );
        first = poison;
        start = clock_ms();
        CALL( ret, error, pDequeueUmsCompletionListItems( list, timeouts[i], &first ) );
        /* rounding */
        ok( clock_ms() - start + 1 >= timeouts[i], "came back too early\n" );
        unverified ok( !ret && error == ERROR_TIMEOUT, "expected failure %lu, got %d error %lu\n",
                       (DWORD)ERROR_TIMEOUT, ret, error );
        ok( first == NULL, "gave %p\n", first );
        pop();
    }
    observe( "dequeue.expired", "%d", ret );
    pDeleteUmsCompletionList( list );
}

/* 1.6 a stale signal with an empty list makes it wait on, with the full time-out [seen] */
START_TEST( dequeue_stale_event )
{
    PUMS_COMPLETION_LIST list = list_create();
    PUMS_CONTEXT first = poison;
    HANDLE event = NULL;
    ULONGLONG start;

    pGetUmsCompletionListEvent( list, &event );
    SetEvent( event );
    start = clock_ms();
    pDequeueUmsCompletionListItems( list, 80, &first );
    ok( clock_ms() - start + 1 >= 80, "1.6 a stale signal ended the wait\n" );
    ok( first == NULL, "1.6 empty list gave %p\n", first );
    SetEvent( event );
    ok( pDequeueUmsCompletionListItems( list, 0, &first ) && !first,
        "1.6 Dequeue(0) with a stale signal\n" );
    CloseHandle( event );
    pDeleteUmsCompletionList( list );
}

/* 1.6 NULL list, NULL result [seen] */
START_TEST( dequeue_null )
{
    PUMS_COMPLETION_LIST list = list_create();
    PUMS_CONTEXT first = poison;

    FAILS( pDequeueUmsCompletionListItems( NULL, 0, &first ), ERROR_INVALID_PARAMETER );
    FAILS( pDequeueUmsCompletionListItems( NULL, 10, &first ), ERROR_INVALID_PARAMETER );
    FAILS( pDequeueUmsCompletionListItems( list, 0, NULL ), ERROR_INVALID_PARAMETER );
    FAILS( pDequeueUmsCompletionListItems( list, 10, NULL ), ERROR_INVALID_PARAMETER );
    FAILS( pGetNextUmsListItem( NULL ), ERROR_INVALID_PARAMETER );
    pDeleteUmsCompletionList( list );
}

/* ---- waiting on another thread ---- */

struct waiter
{
    PUMS_COMPLETION_LIST list;
    HANDLE               ready;
    PUMS_CONTEXT         first;
    struct outcome       outcome;
    DWORD                timeout;
    ULONGLONG            waited;        /* ms */
};

static DWORD WINAPI waiter_thread( void *arg )
{
    struct waiter *waiter = arg;
    ULONGLONG start = clock_ms();

    SetEvent( waiter->ready );
    OUTCOME( waiter->outcome,
             pDequeueUmsCompletionListItems( waiter->list, waiter->timeout, &waiter->first ) );
    waiter->waited = clock_ms() - start;
    return 0;
}

/* 1.6 INFINITE and long waits end when something is queued, with TRUE and at least one item; D5,
 * D6 */
static BOOL wait_once( DWORD timeout, DWORD delay )
{
    struct worker worker;
    struct waiter waiter;
    HANDLE thread;

    memset( &worker, 0, sizeof(worker) );
    waiter.list = list_create();
    waiter.ready = CreateEventA( NULL, FALSE, FALSE, NULL );
    waiter.first = poison;
    waiter.timeout = timeout;
    thread = CreateThread( NULL, 0, waiter_thread, &waiter, 0, NULL );
    wait_signaled( waiter.ready );
    Sleep( delay );
    ok( worker_create( &worker, waiter.list, NULL, NULL, 0 ), "no worker, error %lu\n",
        GetLastError() );
    if (!ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0,
             "still waiting after %d ms\n", WAIT_BOUND ))
        return TRUE;
    ok( waiter.outcome.ret, "failed, error %lu\n", waiter.outcome.error );
    ok( waiter.first == worker.context, "gave %p, expected %p\n", waiter.first, worker.context );
    ok( pGetNextUmsListItem( waiter.first ) == NULL, "gave more than one context\n" );
    finish_workers( waiter.list, &worker, 1, 1 );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    CloseHandle( thread );
    CloseHandle( waiter.ready );
    pDeleteUmsCompletionList( waiter.list );
    return waiter.waited >= 5;
}

/* Until it has really waited: a thread that says that it is about to may be late. */
START_TEST( dequeue_wait )
{
    const DWORD timeouts[] = { INFINITE, WAIT_BOUND };
    DWORD delay;
    int i;

    for (i = 0; i < 2; i++)
    {
        push( "1.6 Dequeue(%ld)", timeouts[i] );
        for (delay = 10; delay <= 640; delay *= 2) if (wait_once( timeouts[i], delay )) break;
        ok( delay <= 640, "it never came to wait\n" );
        pop();
    }
}

/* 1.6 Two wait, and one context comes: one has it, the other waits on for its whole time. A wake-up alone ends no wait. */
START_TEST( dequeue_one_of_two )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct waiter waiters[2];
    HANDLE threads[2];
    struct worker worker;
    int i, with = 0;

    memset( &worker, 0, sizeof(worker) );
    for (i = 0; i < 2; i++)
    {
        waiters[i].list = list;
        waiters[i].ready = CreateEventA( NULL, FALSE, FALSE, NULL );
        waiters[i].first = poison;
        waiters[i].timeout = 300;
        threads[i] = CreateThread( NULL, 0, waiter_thread, &waiters[i], 0, NULL );
        wait_signaled( waiters[i].ready );
    }
    Sleep( 20 );                        /* to have them wait; no check depends on it */
    ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() );
    for (i = 0; i < 2; i++)
    {
        ok( WaitForSingleObject( threads[i], WAIT_BOUND ) == WAIT_OBJECT_0, "waiter %d still waits\n", i );
        if (waiters[i].first) with++;
        else ok( waiters[i].waited + 1 >= 300, "1.6 waiter %d gave up after %lu ms\n", i, (ULONG)waiters[i].waited );
        CloseHandle( threads[i] );
        CloseHandle( waiters[i].ready );
    }
    /* on a machine that stood still both may have given up before */
    ok( with <= 1, "1.6 both have got the one context\n" );
    if (!with) ok( list_wait( list ) == worker.context, "1.6 it came to nobody\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- one chain: four workers end one after the other, each thread object signalled before the
 * next runs ---- */

#define CHAIN 4

static struct worker chain[CHAIN];
static int chain_next;
static LONG chain_late;

static enum sched_action run_chain( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                    ULONG_PTR payload, void *param )
{
    ULONGLONG start = GetTickCount64();
    DWORD error;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && chain_next)
    {
        /* the previous one ended; it may block on its way, then the wait would last */
        if (WaitForSingleObject( chain[chain_next - 1].thread, 2000 ) != WAIT_OBJECT_0)
            chain_late++;
    }
    if (chain_next == CHAIN) return SCHED_LEAVE;
    sched->current = chain[chain_next].context;
    do
    {
        SetLastError( POISON );
        chain_next++;
        pExecuteUmsThread( chain[chain_next - 1].context );
        error = GetLastError();
        chain_next--;
        umstest_refused( error );
    }
    while (error == ERROR_RETRY && GetTickCount64() - start < WAIT_BOUND);
    InterlockedIncrement( &sched->bad );
    return SCHED_LEAVE;
}

/* 1.6 takes all contexts at once; GetNextUmsListItem pops; order is last in, first out [seen] */
START_TEST( dequeue_chain )
{
    PUMS_CONTEXT first, context, order[CHAIN + 1] = { NULL };
    static struct sched sched;
    int i, count = 0, lifo = 1, seen[CHAIN] = { 0 }, k;
    BOOL ret;

    if (!sched_init( &sched )) return;
    for (i = 0; i < CHAIN; i++)
        if (!ok( worker_create( &chain[i], sched.list, NULL, NULL, 0 ), "no worker, error %lu\n",
                 GetLastError() ))
            return;
    while (count < CHAIN)
    {
        if (!(first = list_wait( sched.list ))) break;
        for (; first; first = pGetNextUmsListItem( first )) count++;
    }
    if (!ok( count == CHAIN, "only %d workers queued\n", count )) return;

    sched.hook = run_chain;
    sched_run( &sched );
    ok( sched.entered_ok && !sched.bad, "run failed: %ld bad\n", sched.bad );
    if (chain_late)
    {
        skip( "a worker blocks on its way out: no order can be forced here\n" );
        finish_workers( sched.list, NULL, 0, CHAIN );
        return;
    }
    first = poison;
    ret = pDequeueUmsCompletionListItems( sched.list, 0, &first );
    ok( ret && first, "1.6 nothing on the list, error %lu\n", GetLastError() );
    for (count = 0, context = first; context && count <= CHAIN; count++)
    {
        order[count] = context;
        context = pGetNextUmsListItem( context );
        ok( pGetNextUmsListItem( order[count] ) == NULL,
            "1.6 item %d: a second GetNext gave something\n", count );
    }
    ok( count == CHAIN, "1.6 the chain has %d items, expected %d\n", count, CHAIN );
    for (i = 0; i < count && i < CHAIN; i++)
    {
        for (k = 0; k < CHAIN; k++) seen[k] += order[i] == chain[k].context;
        lifo &= order[i] == chain[CHAIN - 1 - i].context;
    }
    for (k = 0; k < CHAIN; k++)
        ok( seen[k] == 1, "1.6 worker %d is %d times in the chain\n", k, seen[k] );
    ok( lifo, "1.6 the chain is not last in, first out\n" );
    first = poison;
    ret = pDequeueUmsCompletionListItems( sched.list, 0, &first );
    ok( ret && !first, "1.6 something was left behind: %p\n", first );
    for (i = 0; i < CHAIN; i++)
        ok( worker_delete( &chain[i] ), "not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
}

/* ---- racing callers ---- */

#define RACE_WORKERS 24
#define RACE_THREADS 3

static struct worker race_workers[RACE_WORKERS];
static volatile LONG race_seen[RACE_WORKERS], race_total, race_failed, race_unknown;
static PUMS_COMPLETION_LIST race_list;
static HANDLE race_go;

static DWORD WINAPI race_thread( void *arg )
{
    ULONGLONG start;
    PUMS_CONTEXT context, next;
    int i;

    (void)arg;
    wait_signaled( race_go );
    start = GetTickCount64();
    while (race_total < RACE_WORKERS && GetTickCount64() - start < WAIT_BOUND)
    {
        context = poison;
        if (!pDequeueUmsCompletionListItems( race_list, 0, &context ))
        {
            InterlockedIncrement( &race_failed );
            return 0;
        }
        for (; context; context = next)
        {
            next = pGetNextUmsListItem( context );
            for (i = 0; i < RACE_WORKERS; i++) if (race_workers[i].context == context) break;
            if (i < RACE_WORKERS) InterlockedIncrement( &race_seen[i] );
            else InterlockedIncrement( &race_unknown );
            InterlockedIncrement( &race_total );
        }
    }
    return 0;
}

/* 1.6 racing callers: the first gets all, the others TRUE and NULL; each context comes exactly once
 * (B9) */
START_TEST( dequeue_race )
{
    HANDLE threads[RACE_THREADS];
    int i;

    race_list = list_create();
    race_go = CreateEventA( NULL, TRUE, FALSE, NULL );
    for (i = 0; i < RACE_THREADS; i++)
        threads[i] = CreateThread( NULL, 0, race_thread, NULL, 0, NULL );
    /* the contexts must be known before anything can be dequeued, so the threads wait for
     * race_go */
    for (i = 0; i < RACE_WORKERS; i++)
        if (!ok( worker_create( &race_workers[i], race_list, NULL, NULL, 0 ),
                 "no worker, error %lu\n", GetLastError() ))
            return;
    SetEvent( race_go );
    ok( WaitForMultipleObjects( RACE_THREADS, threads, TRUE, WAIT_BOUND + 2000 ) < RACE_THREADS,
        "threads did not end within %d ms\n", WAIT_BOUND + 2000 );
    ok( !race_failed, "1.6 a Dequeue(0) failed\n" );
    ok( race_total == RACE_WORKERS && !race_unknown,
        "1.6 %ld contexts came, %ld unknown, expected %d\n", race_total, race_unknown,
        RACE_WORKERS );
    for (i = 0; i < RACE_WORKERS; i++)
        ok( race_seen[i] == 1, "1.6 context %d came %ld times\n", i, race_seen[i] );
    finish_workers( race_list, race_workers, RACE_WORKERS, RACE_WORKERS );
    for (i = 0; i < RACE_WORKERS; i++)
        ok( worker_delete( &race_workers[i] ), "not deleted, %lu\n", GetLastError() );
    for (i = 0; i < RACE_THREADS; i++) CloseHandle( threads[i] );
    CloseHandle( race_go );
    pDeleteUmsCompletionList( race_list );
}

/* ---- any thread ---- */

struct anywhere
{
    PUMS_COMPLETION_LIST list, filled;
    struct outcome       empty, poll, timeout, event;
    PUMS_CONTEXT         first_empty, first, next;
    HANDLE               handle;
};

static void dequeue_anywhere( void *arg )
{
    struct anywhere *any = arg;

    any->first_empty = any->first = poison;
    OUTCOME( any->empty, pDequeueUmsCompletionListItems( any->list, 0, &any->first_empty ) );
    OUTCOME( any->poll, pDequeueUmsCompletionListItems( any->filled, WAIT_BOUND, &any->first ) );
    any->next = any->poll.ret ? pGetNextUmsListItem( any->first ) : poison;
    OUTCOME( any->event, pGetUmsCompletionListEvent( any->list, &any->handle ) );
    if (any->event.ret) CloseHandle( any->handle );
}

/* 1.6 callable from schedulers and workers as well as plain threads, on any list (1.2) */
START_TEST( dequeue_any_thread )
{
    static const char *const names[] = { "scheduler", "worker" };
    struct worker worker;
    struct anywhere any;
    int i;

    for (i = 0; i < 2; i++)
    {
        push( "1.6 on a %s", names[i] );
        memset( &any, 0, sizeof(any) );
        memset( &worker, 0, sizeof(worker) );
        any.list = list_create();
        any.filled = list_create();
        if (!ok( worker_create( &worker, any.filled, NULL, NULL, 0 ), "no worker, error %lu\n",
                 GetLastError() ))
            return;
        if (i) on_worker( dequeue_anywhere, &any );
        else on_scheduler( dequeue_anywhere, &any );
        ok( any.empty.ret && !any.first_empty, "Dequeue(0) of an empty list: %llu, %p\n",
            (ULONGLONG)any.empty.ret, any.first_empty );
        ok( any.poll.ret && any.first == worker.context,
            "Dequeue of a foreign list: %p, error %lu\n", any.first, any.poll.error );
        ok( any.next == NULL, "GetNext: %p\n", any.next );
        ok( any.event.ret, "no event, error %lu\n", any.event.error );
        finish_workers( any.filled, &worker, 1, 1 );
        ok( worker_delete( &worker ), "not deleted, error %lu\n", GetLastError() );
        pDeleteUmsCompletionList( any.list );
        pDeleteUmsCompletionList( any.filled );
        pop();
    }
}

/* ---- a worker waits ---- */

struct list_waiter
{
    struct sched         sched;
    PUMS_COMPLETION_LIST list;                  /* that is waited for, not the scheduler's */
    struct worker        workers[2], fresh;
    struct outcome       wait, create;
    PUMS_CONTEXT         first;
    volatile LONG        back;                  /* the wait is over */
    LONG                 back_beside;           /* ... and the worker ran while the other one did */
};

static void wait_for_list( struct worker *worker )
{
    struct list_waiter *waiter = worker->arg;

    OUTCOME( waiter->wait, pDequeueUmsCompletionListItems( waiter->list, WAIT_BOUND, &waiter->first ) );
    waiter->back = 1;
}

/* When the new worker is on the list the waiter is ready, but this worker has the scheduler. The 200 ms only give a
   waiter that goes on all the same the time to do so: a correct one passes however long they are. */
static void fill_list( struct worker *worker )
{
    struct list_waiter *waiter = worker->arg;
    ULONGLONG start;

    while (!waiter->workers[0].started) pUmsThreadYield( NULL );
    OUTCOME( waiter->create, worker_create( &waiter->fresh, waiter->list, NULL, NULL, 0 ) );
    start = clock_ms();
    while (clock_ms() - start < 200 && !waiter->back) YieldProcessor();
    waiter->back_beside = waiter->back;
}

/* 1.6, B11 A worker that waits for a list blocks as in any other wait [doc]: its scheduler runs the other worker, which
   ends the wait, and executes the first one before that goes on */
START_TEST( dequeue_by_worker )
{
    static struct list_waiter waiter;
    int i;

    if (!sched_init( &waiter.sched )) return;
    waiter.list = list_create();
    for (i = 0; i < 2; i++)
        if (!ok( worker_create( &waiter.workers[i], waiter.sched.list, i ? fill_list : wait_for_list, &waiter, 0 ),
                 "no worker, error %lu\n", GetLastError() ))
            return;
    run_workers( &waiter.sched, waiter.workers, 2 );
    ok( waiter.create.ret, "no worker for the other list, error %lu\n", waiter.create.error );
    ok( waiter.wait.ret && waiter.first == waiter.fresh.context, "Dequeue: %llu, %p, error %lu, expected %p\n",
        (ULONGLONG)waiter.wait.ret, waiter.first, waiter.wait.error, waiter.fresh.context );
    ok( !waiter.back_beside, "B11 the worker went on while its scheduler ran another one\n" );
    finish_workers( waiter.list, &waiter.fresh, 1, 1 );
    ok( worker_delete( &waiter.fresh ), "not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( waiter.list );
    sched_free( &waiter.sched );
}

/* 1.6 the event may stay signalled after a poll-dequeue: not coupled [seen]; a lost signal never */
START_TEST( dequeue_event_uncoupled )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    PUMS_CONTEXT first = NULL;
    HANDLE event = NULL;
    ULONGLONG start;

    pGetUmsCompletionListEvent( list, &event );
    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    start = GetTickCount64();
    while (!first && GetTickCount64() - start < WAIT_BOUND)
        pDequeueUmsCompletionListItems( list, 0, &first );
    ok( first == worker.context, "polling gave %p, expected %p\n", first, worker.context );
    /* the signal may still be on its way when the context was seen */
    ok( WaitForSingleObject( event, WAIT_BOUND ) == WAIT_OBJECT_0,
        "1.6 a poll took the signal away\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker_delete( &worker ), "not deleted, error %lu\n", GetLastError() );
    CloseHandle( event );
    pDeleteUmsCompletionList( list );
}
