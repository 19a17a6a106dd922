/*
 * CreateUmsThreadContext, DeleteUmsThreadContext (ums.md 1.3).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

/* 1.3 a new context: Terminated set, zero otherwise; deleting it without a thread succeeds
 * [seen] */
START_TEST( context_create_delete )
{
    PUMS_CONTEXT context = (void *)(ULONG_PTR)POISON, other = NULL;
    void *user = (void *)(ULONG_PTR)POISON;
    BOOL ret;

    if (!need( CreateUmsThreadContext ) || !need( DeleteUmsThreadContext )) return;
    ret = pCreateUmsThreadContext( &context );
    ok( ret && context && context != (void *)(ULONG_PTR)POISON, "1.3 create failed, error %lu\n",
        GetLastError() );
    ret = pCreateUmsThreadContext( &other );
    ok( ret && other != context, "1.3 two contexts are one\n" );
    ok( context_is_terminated( context ) == 1,
        "1.3 IsTerminated before the thread exists: %d, expected 1\n",
        context_is_terminated( context ) );
    ok( context_is_suspended( context ) == 0, "1.3 IsSuspended of a new context: %d\n",
        context_is_suspended( context ) );
    ret = pQueryUmsThreadInformation( context, UmsThreadUserContext, &user, sizeof(user), NULL );
    ok( ret && !user, "1.3 UserContext of a new context: %p\n", user );
    unverified ok( !context_teb( context ), "1.3 Teb of a new context: %p\n",
                   context_teb( context ) );
    unverified ok( !((ULONG_PTR)context & 15), "1.3 context is not 16-aligned: %p\n", context );
    ok( pGetNextUmsListItem( context ) == NULL, "1.3 a new context has a successor\n" );
    ret = pDeleteUmsThreadContext( context );
    ok( ret, "1.3 delete of a context without a thread failed, error %lu\n", GetLastError() );
    ret = pDeleteUmsThreadContext( other );
    ok( ret, "1.3 delete failed, error %lu\n", GetLastError() );
}

/* 1.3 Delete(NULL) [seen]; Create(NULL) [guess] */
START_TEST( context_null )
{
    FAILS( pDeleteUmsThreadContext( NULL ), ERROR_INVALID_PARAMETER );
    if (umstest_is_shim())
        UNVERIFIED_FAILS( pCreateUmsThreadContext( NULL ), ERROR_INVALID_PARAMETER );
}

/* ---- a context cannot be deleted while its worker lives ---- */

enum { QUEUED, RUNNING, YIELDED, BLOCKED, TERMINATED, STATES };

static struct outcome delete_outcome[STATES];
static int terminated_at[STATES];
static HANDLE live_event;

static void delete_at( int state, PUMS_CONTEXT context )
{
    terminated_at[state] = context_is_terminated( context );
    OUTCOME( delete_outcome[state], pDeleteUmsThreadContext( context ) );
}

static enum sched_action delete_in_upcall( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                           ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadYield) delete_at( YIELDED, worker->context );
    if (reason == UmsSchedulerThreadBlocked && !worker->finished && worker->result[0])
    {
        delete_at( BLOCKED, worker->context );
        worker->result[0] = 0;
        SetEvent( live_event );
    }
    return SCHED_DEFAULT;
}

static void delete_on_item( struct sched *sched, PUMS_CONTEXT context )
{
    (void)sched;
    /* the moment it is seen terminated, as clients do; the OS thread may not have ended yet */
    if (context_is_terminated( context ) == 1) return;
    if (!delete_outcome[QUEUED].error) delete_at( QUEUED, context );
}

static void live_proc( struct worker *worker )
{
    delete_at( RUNNING, worker->context );
    pUmsThreadYield( NULL );
    worker->result[0] = 1;
    wait_signaled( live_event );
}

/* 1.3 Delete succeeds iff Terminated is set; 1.8, B19 IsTerminated is FALSE for a live worker
 * [seen] */
START_TEST( context_delete_live )
{
    static const char *const names[] = { "queued", "running", "yielded", "blocked" };
    static struct sched sched;
    struct worker worker = { 0 };
    int i;

    live_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = delete_in_upcall;
    sched.on_item = delete_on_item;
    sched.user = &worker;
    if (!ok( worker_create( &worker, sched.list, live_proc, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    for (i = QUEUED; i <= BLOCKED; i++)
    {
        push( "1.3 %s worker", names[i] );
        ok( terminated_at[i] == 0, "IsTerminated is %d, expected 0\n", terminated_at[i] );
        OK_FAILED( delete_outcome[i], ERROR_INVALID_PARAMETER, "DeleteUmsThreadContext" );
        pop();
    }
    sched_free( &sched );
    CloseHandle( live_event );
}

/* ---- early deletion ---- */

static struct outcome early_outcome;
static int early_terminated = -2;

static enum sched_action dequeue_by_hand( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                          ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;
    PUMS_CONTEXT context;
    ULONGLONG start;

    (void)payload; (void)param;
    if (reason != UmsSchedulerThreadBlocked || !worker->finished) return SCHED_DEFAULT;
    start = GetTickCount64();
    do
    {
        context = NULL;
        pDequeueUmsCompletionListItems( sched->list, 0, &context );
        if (!context) WaitForSingleObject( sched->list_event, 1000 );
    }
    while (!context && GetTickCount64() - start < WAIT_BOUND);
    if (!context) return SCHED_LEAVE;
    if ((early_terminated = context_is_terminated( context )) != 1)
    {
        /* it blocked on its way out */
        sched_give( sched, context );
        return SCHED_DEFAULT;
    }
    OUTCOME( early_outcome, pDeleteUmsThreadContext( context ) );
    CloseHandle( worker->thread );
    worker->thread = NULL;
    return SCHED_LEAVE;
}

/* 1.3 a context is deleted the moment it is seen terminated, before the thread object is signalled;
 * B18, D8 */
START_TEST( context_delete_early )
{
    static struct sched sched;
    struct worker worker = { 0 };
    HANDLE thread = NULL;
    int round;

    for (round = 0; round < 20; round++)
    {
        memset( &sched, 0, sizeof(sched) );
        memset( &worker, 0, sizeof(worker) );
        early_terminated = -2;
        if (!sched_init( &sched )) return;
        sched.hook = dequeue_by_hand;
        sched.user = &worker;
        if (!ok( worker_create( &worker, sched.list, NULL, NULL, 0 ), "no worker, error %lu\n",
                 GetLastError() ))
            return;
        DuplicateHandle( GetCurrentProcess(), worker.thread, GetCurrentProcess(), &thread, 0, FALSE,
                         DUPLICATE_SAME_ACCESS );
        sched_run( &sched );
        sched_check( &sched );
        ok( early_terminated == 1, "1.3 IsTerminated is %d when it came off the list\n",
            early_terminated );
        ok( early_outcome.ret, "1.3 delete failed, error %lu\n", early_outcome.error );
        ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0,
            "thread not signalled within %d ms\n", WAIT_BOUND );
        CloseHandle( thread );
        sched_free( &sched );
    }
}

/* ---- validation, which is the shim's own: Windows would follow the stale pointer ---- */

/* bad input: a context after its deletion */
START_TEST( context_use_after_delete )
{
    PUMS_CONTEXT context = NULL, held[16];
    void *value = NULL;
    int i;

    if (!umstest_is_shim())
    {
        skip( "Windows does not check for deleted contexts\n" );
        return;
    }
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    ok( pDeleteUmsThreadContext( context ), "not deleted, error %lu\n", GetLastError() );
    UNVERIFIED_FAILS( pDeleteUmsThreadContext( context ), ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS(
        pQueryUmsThreadInformation( context, UmsThreadUserContext, &value, sizeof(value), NULL ),
        ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS(
        pSetUmsThreadInformation( context, UmsThreadUserContext, &value, sizeof(value) ),
        ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pGetNextUmsListItem( context ), ERROR_INVALID_PARAMETER );

    /* the memory may live on in another context, which the double delete must not have touched */
    for (i = 0; i < 16; i++)
        ok( pCreateUmsThreadContext( &held[i] ), "no context, error %lu\n", GetLastError() );
    for (i = 0; i < 16; i++)
        ok( pDeleteUmsThreadContext( held[i] ), "not deleted, error %lu\n", GetLastError() );
}
