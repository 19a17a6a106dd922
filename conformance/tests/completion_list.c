/*
 * CreateUmsCompletionList, DeleteUmsCompletionList, GetUmsCompletionListEvent (ums.md 1.2, 1.6).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

/* 1.1, 1.2 Create gives a pointer to an empty list, Delete frees it */
START_TEST( list_create_delete )
{
    PUMS_COMPLETION_LIST list = (void *)(ULONG_PTR)POISON, other = NULL;
    PUMS_CONTEXT first = (void *)(ULONG_PTR)POISON;
    BOOL ret;

    if (!need( CreateUmsCompletionList ) || !need( DeleteUmsCompletionList )) return;
    ret = pCreateUmsCompletionList( &list );
    ok( ret, "1.2 create failed, error %lu\n", GetLastError() );
    ok( list && list != (void *)(ULONG_PTR)POISON, "1.2 no list pointer: %p\n", list );
    ret = pCreateUmsCompletionList( &other );
    ok( ret && other != list, "1.2 two lists are one\n" );
    ret = pDequeueUmsCompletionListItems( list, 0, &first );
    ok( ret && !first, "1.2 a new list is not empty: %p\n", first );
    ret = pDeleteUmsCompletionList( list );
    ok( ret, "1.2 delete failed, error %lu\n", GetLastError() );
    first = (void *)(ULONG_PTR)POISON;
    ret = pDequeueUmsCompletionListItems( other, 0, &first );
    ok( ret && !first, "1.2 deleting one list touched the other\n" );
    ret = pDeleteUmsCompletionList( other );
    ok( ret, "1.2 delete failed, error %lu\n", GetLastError() );
}

/* 1.2 Delete(NULL) [seen]; Create(NULL) [guess] */
START_TEST( list_null )
{
    FAILS( pDeleteUmsCompletionList( NULL ), ERROR_INVALID_PARAMETER );
    if (umstest_is_shim())
        UNVERIFIED_FAILS( pCreateUmsCompletionList( NULL ), ERROR_INVALID_PARAMETER );
}

/* 1.2 "emptiness is not checked" [seen]; 10 Delete of a non-empty list succeeds */
START_TEST( list_delete_nonempty )
{
    PUMS_COMPLETION_LIST list = list_create(), other = list_create();
    struct worker worker = { 0 };
    HANDLE event = NULL;
    BOOL ret;

    ok( pGetUmsCompletionListEvent( list, &event ), "no event, error %lu\n", GetLastError() );
    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( WaitForSingleObject( event, WAIT_BOUND ) == WAIT_OBJECT_0,
        "worker not queued within %d ms\n", WAIT_BOUND );
    ret = pDeleteUmsCompletionList( list );
    ok( ret, "1.2 delete of a non-empty list failed, error %lu\n", GetLastError() );

    /* what was on it can still be run by who kept the pointer; it ends on the list of its scheduler
     * (6.2) */
    finish_workers( other, &worker, 1, 1 );
    ok( worker.finished, "the worker of a deleted list did not run\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    CloseHandle( event );
    pDeleteUmsCompletionList( other );
}

/* 1.2 event: auto-reset, at first not signalled, all access; 1.6 a new handle each call, the list
 * keeps its own */
START_TEST( list_event )
{
    PUMS_COMPLETION_LIST list = list_create();
    HANDLE first = NULL, second = NULL;
    BOOL ret;

    ret = pGetUmsCompletionListEvent( list, &first );
    ok( ret && first, "1.6 no event, error %lu\n", GetLastError() );
    ret = pGetUmsCompletionListEvent( list, &second );
    ok( ret && second, "1.6 no second event, error %lu\n", GetLastError() );
    ok( first != second, "1.6 both calls gave the same handle\n" );
    ok( WaitForSingleObject( first, 0 ) == WAIT_TIMEOUT, "1.2 the event is signalled at first\n" );

    ok( SetEvent( second ), "1.2 no right to set, error %lu\n", GetLastError() );
    ok( WaitForSingleObject( first, 0 ) == WAIT_OBJECT_0,
        "1.6 the handles are of different events\n" );
    ok( WaitForSingleObject( first, 0 ) == WAIT_TIMEOUT, "1.2 the event is not auto-reset\n" );
    ok( SetEvent( first ) && ResetEvent( second ), "1.2 no right to reset, error %lu\n",
        GetLastError() );
    ok( WaitForSingleObject( first, 0 ) == WAIT_TIMEOUT, "reset had no effect\n" );

    ok( CloseHandle( first ), "1.6 close failed, error %lu\n", GetLastError() );
    ok( WaitForSingleObject( second, 0 ) == WAIT_TIMEOUT,
        "1.6 closing one handle closed the other\n" );
    ret = pGetUmsCompletionListEvent( list, &first );
    ok( ret && first, "1.6 no event after a close, error %lu\n", GetLastError() );

    /* D16: the list is deleted while a handle is open, which is closed afterwards */
    ok( pDeleteUmsCompletionList( list ), "1.2 delete with open event handles: error %lu\n",
        GetLastError() );
    ok( CloseHandle( first ), "1.6 close after delete: error %lu\n", GetLastError() );
    ok( CloseHandle( second ), "1.6 close after delete: error %lu\n", GetLastError() );
}

/* 1.6, 4.2 NULL list or NULL result [seen] */
START_TEST( list_event_null )
{
    PUMS_COMPLETION_LIST list = list_create();
    HANDLE event = (HANDLE)(ULONG_PTR)POISON;

    FAILS( pGetUmsCompletionListEvent( NULL, &event ), ERROR_INVALID_PARAMETER );
    FAILS( pGetUmsCompletionListEvent( list, NULL ), ERROR_INVALID_PARAMETER );
    pDeleteUmsCompletionList( list );
}

/* 1.2 the event is signalled when something is queued to the empty list; the wait works with other
 * handles */
START_TEST( list_event_signal )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker workers[2] = { { 0 } };
    HANDLE handles[2] = { CreateEventA( NULL, FALSE, FALSE, NULL ), NULL };
    PUMS_CONTEXT first = NULL;
    DWORD wait;

    ok( pGetUmsCompletionListEvent( list, &handles[1] ), "no event, error %lu\n", GetLastError() );
    if (!ok( worker_create( &workers[0], list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    wait = WaitForMultipleObjects( 2, handles, FALSE, WAIT_BOUND );
    ok( wait == WAIT_OBJECT_0 + 1, "1.2 event not signalled within %d ms: %lu\n", WAIT_BOUND,
        wait );
    wait = WaitForSingleObject( handles[1], 0 );
    ok( wait == WAIT_TIMEOUT, "1.2 one queued worker, two signals\n" );

    /* the list is not empty now: a further signal is neither promised nor forbidden */
    if (!ok( worker_create( &workers[1], list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    finish_workers( list, NULL, 0, 2 );
    ok( workers[0].finished && workers[1].finished, "workers did not run: %ld %ld\n",
        workers[0].finished, workers[1].finished );
    ok( pDequeueUmsCompletionListItems( list, 0, &first ) && !first,
        "something was queued twice: %p\n", first );
    ok( worker_delete( &workers[0] ) && worker_delete( &workers[1] ), "contexts not deleted\n" );
    CloseHandle( handles[0] );
    CloseHandle( handles[1] );
    pDeleteUmsCompletionList( list );
}

/* 1.2 nobody has to ask for the event before something is queued: the worker comes to its list
 * before the question, with it, or after it */
START_TEST( list_event_late )
{
    int i;

    for (i = 0; i < 20; i++)
    {
        PUMS_COMPLETION_LIST list = list_create();
        struct worker worker = { 0 };
        ULONGLONG until;
        HANDLE event = NULL;
        DWORD wait;

        if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
                 GetLastError() ))
            return;
        for (until = clock_ms() + i / 2; clock_ms() < until; ) SwitchToThread();
        ok( pGetUmsCompletionListEvent( list, &event ), "no event, error %lu\n", GetLastError() );
        wait = WaitForSingleObject( event, WAIT_BOUND );
        ok( wait == WAIT_OBJECT_0, "1.2 event not signalled within %d ms: %lu\n", WAIT_BOUND,
            wait );
        finish_workers( list, NULL, 0, 1 );
        ok( worker_delete( &worker ), "context not deleted\n" );
        CloseHandle( event );
        pDeleteUmsCompletionList( list );
        if (wait != WAIT_OBJECT_0) return;
    }
}

/* ---- sharing ---- */

#define SHARED_WORKERS 8
#define SHARED_BLOCKS  5

static struct sched shared_scheds[2];
static volatile LONG shared_ended;

static void count_shared( struct sched *sched, PUMS_CONTEXT context )
{
    (void)sched;
    if (context_is_terminated( context ) != 1) return;
    if (InterlockedIncrement( &shared_ended ) < SHARED_WORKERS) return;
    sched_stop( &shared_scheds[0] );
    sched_stop( &shared_scheds[1] );
}

static void block_and_yield( struct worker *worker )
{
    int i;

    for (i = 0; i < SHARED_BLOCKS; i++)
    {
        Sleep( 1 );
        worker->result[0] += pUmsThreadYield( worker ) != 0;
        worker->result[1] += GetCurrentThreadId() == worker->tid;
    }
}

/* 1.2 any number of scheduler threads share one list [doc]; 1.5 a worker may be dequeued by another
 * scheduler */
START_TEST( list_shared )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker workers[SHARED_WORKERS] = { { 0 } };
    PUMS_CONTEXT first = NULL;
    LONG upcalls;
    int i;

    for (i = 0; i < 2; i++)
    {
        shared_scheds[i].list = list;
        shared_scheds[i].on_item = count_shared;
        if (!sched_init( &shared_scheds[i] ) || !sched_start( &shared_scheds[i] )) return;
    }
    for (i = 0; i < SHARED_WORKERS; i++)
        if (!ok( worker_create( &workers[i], list, block_and_yield, NULL, 0 ),
                 "no worker, error %lu\n", GetLastError() ))
            return;
    for (i = 0; i < 2; i++)
    {
        sched_join( &shared_scheds[i] );
        sched_check( &shared_scheds[i] );
    }
    ok( shared_ended == SHARED_WORKERS, "%ld workers ended, expected %d\n", shared_ended,
        SHARED_WORKERS );
    upcalls = shared_scheds[0].upcalls[UmsSchedulerThreadYield] +
              shared_scheds[1].upcalls[UmsSchedulerThreadYield];
    ok( upcalls == SHARED_WORKERS * SHARED_BLOCKS, "%ld Yield upcalls, expected %d\n", upcalls,
        SHARED_WORKERS * SHARED_BLOCKS );
    for (i = 0; i < SHARED_WORKERS; i++)
    {
        push( "worker %d", i );
        ok( workers[i].result[0] == SHARED_BLOCKS, "%llu yields returned TRUE\n",
            workers[i].result[0] );
        ok( workers[i].result[1] == SHARED_BLOCKS, "thread id changed on the way\n" );
        ok( worker_wait( &workers[i], WAIT_BOUND ), "thread not signalled within %d ms\n",
            WAIT_BOUND );
        ok( worker_delete( &workers[i] ), "context not deleted, error %lu\n", GetLastError() );
        pop();
    }
    ok( pDequeueUmsCompletionListItems( list, 0, &first ) && !first,
        "the list is not empty at the end\n" );
    for (i = 0; i < 2; i++) sched_free( &shared_scheds[i] );
    ok( pDeleteUmsCompletionList( list ), "delete failed, error %lu\n", GetLastError() );
}

/* ---- terminated, and not dequeued ---- */

static BOOL bind_again( struct worker *worker, PUMS_COMPLETION_LIST list );

/* Two that end on the list, and are not dequeued. */
static BOOL let_them_end( PUMS_COMPLETION_LIST list, struct worker *workers )
{
    ULONGLONG start = GetTickCount64();
    int i;

    for (i = 0; i < 2; i++)
    {
        if (!ok( worker_create( &workers[i], list, NULL, NULL, 0 ), "no worker, error %lu\n",
                 GetLastError() ))
            return FALSE;
        ok( list_wait( list ) == workers[i].context, "not queued\n" );
    }
    for (i = 0; i < 2; i++)
    {
        ok( TerminateThread( workers[i].thread, 0 ), "TerminateThread: error %lu\n",
            GetLastError() );
        while (context_is_terminated( workers[i].context ) != 1 &&
               GetTickCount64() - start < WAIT_BOUND) SwitchToThread();
    }
    return TRUE;
}

static void take_one( PUMS_COMPLETION_LIST list, PUMS_CONTEXT expected )
{
    PUMS_CONTEXT first = list_wait( list );

    ok( first == expected, "D7 something else was dequeued\n" );
    while (first)
    {
        ok( first == expected, "D7 there is something else on the list\n" );
        first = pGetNextUmsListItem( first );
    }
}

/* D7 a context may be deleted as soon as it is terminated [doc]: that it is on a list still is in
 * nobody's way [guess] */
START_TEST( completion_list_deleted_dead )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker workers[2] = { { 0 } }, later[2] = { { 0 } };
    int i;

    if (!let_them_end( list, workers )) return;
    for (i = 0; i < 2; i++)
        ok( worker_delete( &workers[i] ), "context not deleted, error %lu\n", GetLastError() );
    /* these may get their memory */
    for (i = 0; i < 2; i++)
    {
        if (!ok( worker_create( &later[i], list, NULL, NULL, 0 ), "no worker, error %lu\n",
                 GetLastError() ))
            return;
        take_one( list, later[i].context );
    }
    finish_workers( list, later, 2, 2 );
    for (i = 0; i < 2; i++) ok( worker_delete( &later[i] ), "not deleted: %lu\n", GetLastError() );
    ok( list_stays_empty( list, 0 ), "something is left\n" );
    pDeleteUmsCompletionList( list );
}

/* 5 a suspended thread can be terminated, with the exit code asked for [doc]. The worker is delivered, and
 * the next one that gets its memory is woken like any other. */
START_TEST( completion_list_killed_suspended )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 }, later[2] = { { 0 } };
    DWORD status = 0;
    int i;

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() ))
        return;
    ok( list_wait( list ) == worker.context, "not queued\n" );
    for (i = 0; i < 3; i++)
        ok( SuspendThread( worker.thread ) == (DWORD)i, "5 suspension %d: error %lu\n", i, GetLastError() );
    ok( TerminateThread( worker.thread, 0x77 ), "5 TerminateThread: error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( worker.thread, WAIT_BOUND ), "5 not signalled\n" );
    ok( GetExitCodeThread( worker.thread, &status ) && status == 0x77, "5 exit code %lx\n", status );
    take_one( list, worker.context );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    for (i = 0; i < 2; i++)
    {
        if (!ok( worker_create( &later[i], list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() ))
            return;
        take_one( list, later[i].context );
    }
    finish_workers( list, later, 2, 2 );
    for (i = 0; i < 2; i++) ok( worker_delete( &later[i] ), "not deleted: %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

static void use_again( PUMS_COMPLETION_LIST list, PUMS_COMPLETION_LIST next )
{
    struct worker workers[2] = { { 0 } };
    int i;

    if (!let_them_end( list, workers )) return;
    for (i = 0; i < 2; i++)
    {
        CloseHandle( workers[i].thread );
        if (!ok( bind_again( &workers[i], next ), "5 not used again, error %lu\n", GetLastError() ))
            return;
    }
    if (next != list) unverified ok( list_stays_empty( list, 0 ), "D7 still on the list of before\n" );
    finish_workers( next, NULL, 0, 2 );
    for (i = 0; i < 2; i++)
    {
        ok( workers[i].finished, "5 worker %d did not run\n", i );
        ok( worker_delete( &workers[i] ), "context not deleted, error %lu\n", GetLastError() );
    }
}

/* D7 the same, used for another thread [guess] */
START_TEST( completion_list_reused_dead )
{
    PUMS_COMPLETION_LIST list = list_create(), other = list_create();

    push( "on another list" );
    use_again( list, other );
    pop();
    push( "on the same list" );
    use_again( list, list );
    pop();
    pDeleteUmsCompletionList( list );
    pDeleteUmsCompletionList( other );
}

static DWORD WINAPI finish_again( void *arg )
{
    ((struct worker *)arg)->finished = 1;
    return 0;
}

static BOOL bind_again( struct worker *worker, PUMS_COMPLETION_LIST list )
{
    struct attr_buffer buffer;
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = attr_list_make( &buffer, worker->context, list );

    if (!attrs) return FALSE;
    worker->finished = 0;
    worker->thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, finish_again, worker, 0,
                                            attrs, &worker->tid );
    pDeleteProcThreadAttributeList( attrs );
    return worker->thread != NULL;
}
