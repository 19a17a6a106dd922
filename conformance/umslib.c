/*
 * Small helpers for the conformance tests.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The scheduler part follows the rules for real programs: SchedulerProc takes no lock, and on
 * Blocked it knows itself only through the TLS of its thread (ums.md 2.2).
 */
#include "umslib.h"

static volatile LONG sched_slot = TLS_OUT_OF_INDEXES;

/* ---- event log ---- */

void evlog_add( struct evlog *log, ULONG tag, ULONG_PTR a, ULONG_PTR b )
{
    LONG i = InterlockedIncrement( &log->count ) - 1;

    if (i >= EVLOG_SIZE) return;
    log->entries[i].tid = GetCurrentThreadId();
    log->entries[i].a = a;
    log->entries[i].b = b;
    log->entries[i].tag = tag;
}

int evlog_find( const struct evlog *log, ULONG tag, int from )
{
    int i;

    for (i = from; i < log->count && i < EVLOG_SIZE; i++) if (log->entries[i].tag == tag) return i;
    return -1;
}

int evlog_count( const struct evlog *log, ULONG tag )
{
    int i, count = 0;

    for (i = 0; i < log->count && i < EVLOG_SIZE; i++) count += log->entries[i].tag == tag;
    return count;
}

/* ---- worker ---- */

static DWORD WINAPI worker_start( void *arg )
{
    struct worker *worker = arg;

    worker->started = 1;
    if (worker->proc) worker->proc( worker );
    worker->finished = 1;
    return worker->exit_code;
}

LPPROC_THREAD_ATTRIBUTE_LIST attr_list_make( struct attr_buffer *buffer, PUMS_CONTEXT context,
                                             PUMS_COMPLETION_LIST list )
{
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer->space;
    SIZE_T size = sizeof(buffer->space);
    DWORD error;

    buffer->ums.UmsVersion = UMS_VERSION;
    buffer->ums.UmsContext = context;
    buffer->ums.UmsCompletionList = list;
    if (!pInitializeProcThreadAttributeList( attrs, 1, 0, &size )) return NULL;
    if (pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &buffer->ums,
                                    sizeof(buffer->ums), NULL, NULL ))
        return attrs;
    error = GetLastError();
    pDeleteProcThreadAttributeList( attrs );
    SetLastError( error );
    return NULL;
}

BOOL worker_create( struct worker *worker, PUMS_COMPLETION_LIST list,
                    void (*proc)( struct worker * ), void *arg, DWORD flags )
{
    LPPROC_THREAD_ATTRIBUTE_LIST attrs;
    struct attr_buffer buffer;
    DWORD error;

    worker->proc = proc;
    worker->arg = arg;
    worker->started = worker->finished = 0;
    worker->thread = NULL;
    worker->context = NULL;
    if (!pCreateUmsThreadContext( &worker->context )) return FALSE;
    if ((attrs = attr_list_make( &buffer, worker->context, list )))
    {
        worker->thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, worker_start, worker,
                                                flags, attrs, &worker->tid );
        error = GetLastError();
        pDeleteProcThreadAttributeList( attrs );
    }
    else error = GetLastError();
    if (worker->thread) return TRUE;
    pDeleteUmsThreadContext( worker->context );
    worker->context = NULL;
    SetLastError( error );
    return FALSE;
}

BOOL worker_delete( struct worker *worker )
{
    BOOL ret;
    DWORD error;

    ret = pDeleteUmsThreadContext( worker->context );
    error = GetLastError();
    if (worker->thread) CloseHandle( worker->thread );
    worker->thread = NULL;
    worker->context = NULL;
    SetLastError( error );
    return ret;
}

ULONGLONG clock_ms( void )
{
    LARGE_INTEGER now, frequency;

    QueryPerformanceCounter( &now );
    QueryPerformanceFrequency( &frequency );
    return (ULONGLONG)((double)now.QuadPart * 1000 / (double)frequency.QuadPart);
}

void run_us( int us )
{
    LARGE_INTEGER now, end, frequency;

    QueryPerformanceFrequency( &frequency );
    QueryPerformanceCounter( &end );
    end.QuadPart += us * frequency.QuadPart / 1000000;
    do QueryPerformanceCounter( &now ); while (now.QuadPart < end.QuadPart);
}

BOOL worker_wait( struct worker *worker, DWORD ms )
{
    return WaitForSingleObject( worker->thread, ms ) == WAIT_OBJECT_0;
}

static int query_boolean( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class )
{
    BOOLEAN value = 0xcc;

    if (!pQueryUmsThreadInformation( context, info_class, &value, sizeof(value), NULL )) return -1;
    return value;
}

int context_is_terminated( PUMS_CONTEXT context )
{
    return query_boolean( context, UmsThreadIsTerminated );
}

int context_is_suspended( PUMS_CONTEXT context )
{
    return query_boolean( context, UmsThreadIsSuspended );
}

static void *query_pointer( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class )
{
    void *value = NULL;

    if (!pQueryUmsThreadInformation( context, info_class, &value, sizeof(value), NULL ))
        return NULL;
    return value;
}

void *context_user( PUMS_CONTEXT context )
{
    return query_pointer( context, UmsThreadUserContext );
}

void *context_teb( PUMS_CONTEXT context )
{
    return query_pointer( context, UmsThreadTeb );
}

/* ---- scheduler ---- */

struct sched *sched_current( void )
{
    return sched_slot == (LONG)TLS_OUT_OF_INDEXES ? NULL : TlsGetValue( sched_slot );
}

static void ready_put( struct sched *sched, PUMS_CONTEXT context )
{
    if (sched->tail - sched->head == SCHED_MAX) InterlockedIncrement( &sched->bad );
    else sched->ready[sched->tail++ % SCHED_MAX] = context;
}

static PUMS_CONTEXT ready_get( struct sched *sched )
{
    return sched->head == sched->tail ? NULL : sched->ready[sched->head++ % SCHED_MAX];
}

static void suspended_put( struct sched *sched, PUMS_CONTEXT context )
{
    if (sched->suspended_count == ARRAYSIZE(sched->suspended)) InterlockedIncrement( &sched->bad );
    else sched->suspended[sched->suspended_count++] = context;
}

/* Everything that came: from the completion list, from sched_give, and workers no longer
 * suspended. */
static void collect( struct sched *sched )
{
    PUMS_CONTEXT context, next;
    ULONG i;

    context = (PUMS_CONTEXT)(ULONG_PTR)POISON;
    if (!pDequeueUmsCompletionListItems( sched->list, 0, &context ))
    {
        InterlockedIncrement( &sched->bad );
        context = NULL;
    }
    for (; context; context = next)
    {
        next = pGetNextUmsListItem( context );
        if (sched->on_item) sched->on_item( sched, context );
        if (context_is_terminated( context ) == 1) InterlockedIncrement( &sched->ended );
        else ready_put( sched, context );
    }
    for (i = 0; i < ARRAYSIZE(sched->inbox); i++)
        if ((context = InterlockedExchangePointer( (void *volatile *)&sched->inbox[i], NULL )))
            ready_put( sched, context );
    for (i = 0; i < sched->suspended_count; )
    {
        if (context_is_suspended( sched->suspended[i] ) == 1) i++;
        else
        {
            ready_put( sched, sched->suspended[i] );
            sched->suspended[i] = sched->suspended[--sched->suspended_count];
        }
    }
}

enum refusal { TRY_AGAIN, ENDED, SUSPENDED, REFUSED };

/* Why did Execute return? One look at each flag, which may change at any time. ERROR_RETRY means
 * "soon"; a refusal that is neither for a suspension nor for the end means that the worker was
 * resumed between the two calls. Both are tried again, as B7 does it; the bound on it makes a
 * broken promise a failure, not a hang. */
static enum refusal why_refused( PUMS_CONTEXT context, DWORD error, ULONGLONG start )
{
    if (error != ERROR_RETRY)
    {
        if (context_is_terminated( context ) == 1) return ENDED;
        if (context_is_suspended( context ) == 1) return SUSPENDED;
        if (error != ERROR_INVALID_PARAMETER) return REFUSED;
    }
    YieldProcessor();
    return GetTickCount64() - start < WAIT_BOUND / 2 ? TRY_AGAIN : REFUSED;
}

/* Returns only if the worker did not run. */
static void execute( struct sched *sched, PUMS_CONTEXT context )
{
    ULONGLONG start = GetTickCount64();
    enum refusal why;
    DWORD error;

    do
    {
        sched->current = context;
        InterlockedIncrement( &sched->executes );
        SetLastError( POISON );
        pExecuteUmsThread( context );
        error = GetLastError();
        InterlockedDecrement( &sched->executes );
        if (error == ERROR_RETRY) InterlockedIncrement( &sched->retries );
        why = why_refused( context, error, start );
        if (why == TRY_AGAIN) umstest_refused( error );
        if (why == TRY_AGAIN && error != ERROR_RETRY) InterlockedIncrement( &sched->refused );
    }
    while (why == TRY_AGAIN);

    sched->current = NULL;
    if (why == ENDED) InterlockedIncrement( &sched->ended );
    else if (why == SUSPENDED)
    {
        InterlockedIncrement( &sched->suspended_seen );
        suspended_put( sched, context );
    }
    else
    {
        InterlockedIncrement( &sched->failed );
        sched->failed_error = error;
        if (GetTickCount64() - start >= WAIT_BOUND / 2) sched->stop = 1;
        else ready_put( sched, context );
    }
}

/* Wait for work; FALSE when there is reason to leave. */
static BOOL idle( struct sched *sched )
{
    HANDLE handles[2] = { sched->list_event, sched->wake };
    DWORD bound = sched->idle_ms ? sched->idle_ms : WAIT_BOUND, wait;
    ULONGLONG start = GetTickCount64();

    if (sched->expect && sched->ended >= sched->expect) return FALSE;
    if (sched->stop) return FALSE;
    do
    {
        wait = WaitForMultipleObjects( 2, handles, FALSE, sched->suspended_count ? 5 : bound );
        if (wait != WAIT_TIMEOUT) return TRUE;
        if (sched->suspended_count)
        {
            collect( sched );
            if (sched->head != sched->tail) return TRUE;
        }
    }
    while (GetTickCount64() - start < bound);
    InterlockedIncrement( &sched->timed_out );
    return FALSE;
}

static void WINAPI sched_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    struct sched *sched = TlsGetValue( sched_slot );
    enum sched_action action = SCHED_DEFAULT;
    PUMS_CONTEXT context;

    if (sched->log) evlog_add( sched->log, SCHED_LOG + reason, payload, (ULONG_PTR)param );
    if (GetCurrentThreadId() != sched->tid) InterlockedIncrement( &sched->bad );
    if ((ULONG)reason > UmsSchedulerThreadYield) InterlockedIncrement( &sched->bad );
    else InterlockedIncrement( &sched->upcalls[reason] );

    if (reason == UmsSchedulerStartup) sched->own = pGetCurrentUmsThread();
    if (reason == UmsSchedulerThreadBlocked && (payload > 1 || !sched->current)) InterlockedIncrement( &sched->bad );
    if (reason == UmsSchedulerThreadYield && (PUMS_CONTEXT)payload != sched->current)
        InterlockedIncrement( &sched->bad );

    if (sched->hook) action = sched->hook( sched, reason, payload, param );
    if (reason == UmsSchedulerStartup) SetEvent( sched->started );
    if (action == SCHED_LEAVE) return;
    if (reason == UmsSchedulerThreadYield && action != SCHED_HOLD)
        ready_put( sched, (PUMS_CONTEXT)payload );
    sched->current = NULL;

    for (;;)
    {
        collect( sched );
        while ((context = ready_get( sched ))) execute( sched, context );
        if (!idle( sched )) return;
    }
}

BOOL sched_init( struct sched *sched )
{
    DWORD slot;

    if (sched_slot == (LONG)TLS_OUT_OF_INDEXES)
    {
        slot = TlsAlloc();
        if (InterlockedCompareExchange( &sched_slot, slot, TLS_OUT_OF_INDEXES ) !=
            (LONG)TLS_OUT_OF_INDEXES)
            TlsFree( slot );
    }
    sched->started = CreateEventA( NULL, TRUE, FALSE, NULL );
    sched->wake = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched->list)
    {
        sched->own_list = TRUE;
        if (!ok( pCreateUmsCompletionList( &sched->list ), "no completion list, error %lu\n",
                 GetLastError() ))
            return FALSE;
    }
    return ok( pGetUmsCompletionListEvent( sched->list, &sched->list_event ),
               "no list event, error %lu\n", GetLastError() );
}

void sched_run( struct sched *sched )
{
    UMS_SCHEDULER_STARTUP_INFO info;

    info.UmsVersion = UMS_VERSION;
    info.CompletionList = sched->list;
    info.SchedulerProc = sched_proc;
    info.SchedulerParam = sched->param;
    sched->tid = GetCurrentThreadId();
    TlsSetValue( sched_slot, sched );
    SetLastError( POISON );
    sched->entered_ok = pEnterUmsSchedulingMode( &info );
    sched->enter_error = GetLastError();
    TlsSetValue( sched_slot, NULL );
}

static DWORD WINAPI sched_thread( void *arg )
{
    struct sched *sched = arg;

    sched_run( sched );
    SetEvent( sched->started );     /* if it never came to an upcall, let sched_start see that */
    return 0;
}

BOOL sched_start( struct sched *sched )
{
    DWORD tid;

    ResetEvent( sched->started );
    sched->thread = CreateThread( NULL, 0, sched_thread, sched, 0, &tid );
    if (!ok( sched->thread != NULL, "CreateThread: error %lu\n", GetLastError() )) return FALSE;
    if (!ok( WaitForSingleObject( sched->started, WAIT_BOUND ) == WAIT_OBJECT_0,
             "no Startup upcall within %d ms\n", WAIT_BOUND )) return FALSE;
    return ok( sched->upcalls[UmsSchedulerStartup] != 0,
               "EnterUmsSchedulingMode failed, error %lu\n", sched->enter_error );
}

void sched_stop( struct sched *sched )
{
    InterlockedExchange( &sched->stop, 1 );
    SetEvent( sched->wake );
}

void sched_give( struct sched *sched, PUMS_CONTEXT context )
{
    ULONG i;

    for (i = 0; ; i = (i + 1) % ARRAYSIZE(sched->inbox))
        if (!InterlockedCompareExchangePointer( (void *volatile *)&sched->inbox[i], context,
                                                NULL ))
            break;
    SetEvent( sched->wake );
}

BOOL sched_join( struct sched *sched )
{
    BOOL ended = WaitForSingleObject( sched->thread, WAIT_BOUND + 2000 ) == WAIT_OBJECT_0;

    ok( ended, "the scheduler thread did not end within %d ms\n", WAIT_BOUND + 2000 );
    if (ended)
    {
        CloseHandle( sched->thread );
        sched->thread = NULL;
    }
    return ended;
}

void sched_free( struct sched *sched )
{
    if (sched->list_event) CloseHandle( sched->list_event );
    if (sched->own_list && sched->list) pDeleteUmsCompletionList( sched->list );
    CloseHandle( sched->started );
    CloseHandle( sched->wake );
    sched->list = NULL;
    sched->list_event = sched->started = sched->wake = NULL;
}

void sched_check( struct sched *sched )
{
    ok( sched->entered_ok, "EnterUmsSchedulingMode returned FALSE, error %lu\n",
        sched->enter_error );
    ok( sched->upcalls[UmsSchedulerStartup] == 1, "%ld Startup upcalls, expected 1\n",
        sched->upcalls[UmsSchedulerStartup] );
    ok( !sched->bad, "%ld broken promises seen in upcalls\n", sched->bad );
    ok( sched->executes == sched->upcalls[UmsSchedulerThreadBlocked] + sched->upcalls[UmsSchedulerThreadYield],
        "B6: %ld executes, %ld Blocked and %ld Yield upcalls\n", sched->executes,
        sched->upcalls[UmsSchedulerThreadBlocked], sched->upcalls[UmsSchedulerThreadYield] );
    ok( !sched->failed, "%ld executes of live workers failed, last error %lu\n", sched->failed,
        sched->failed_error );
    /* whoever was delivered is executed at the first try, unless it was stopped */
    ok( !sched->refused || umstest_stops, "%ld times ERROR_INVALID_PARAMETER of a worker that nobody stops\n",
        sched->refused );
    if (umstest_is_shim())
        ok( !sched->retries || umstest_stops, "%ld times ERROR_RETRY of a worker that nobody stops\n",
            sched->retries );
    ok( !sched->timed_out, "no work within %lu ms; %ld of %ld workers ended\n",
        sched->idle_ms ? sched->idle_ms : WAIT_BOUND, sched->ended, sched->expect );
}

/* ---- whole runs ---- */

struct call
{
    void (*func)( void *arg );
    void  *arg;
};

static enum sched_action call_at_startup( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                          ULONG_PTR payload, void *param )
{
    struct call *call = sched->user;

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) call->func( call->arg );
    return SCHED_LEAVE;
}

void on_scheduler( void (*func)( void *arg ), void *arg )
{
    struct call call = { func, arg };
    static struct sched sched;

    memset( &sched, 0, sizeof(sched) );
    if (!sched_init( &sched )) return;
    sched.hook = call_at_startup;
    sched.user = &call;
    sched_run( &sched );
    sched_check( &sched );
    sched_free( &sched );
}

static void call_on_worker( struct worker *worker )
{
    struct call *call = worker->arg;

    call->func( call->arg );
}

void on_worker( void (*func)( void *arg ), void *arg )
{
    struct call call = { func, arg };
    static struct sched sched;
    struct worker worker;

    memset( &sched, 0, sizeof(sched) );
    memset( &worker, 0, sizeof(worker) );
    if (!sched_init( &sched )) return;
    if (ok( worker_create( &worker, sched.list, call_on_worker, &call, 0 ),
            "no worker, error %lu\n", GetLastError() ))
        run_workers( &sched, &worker, 1 );
    sched_free( &sched );
}

void run_workers( struct sched *sched, struct worker *workers, int count )
{
    int i;

    sched->expect = count;
    sched_run( sched );
    sched_check( sched );
    ok( sched->ended == count, "%ld workers ended, expected %d\n", sched->ended, count );
    for (i = 0; i < count; i++)
    {
        push( "worker %d", i );
        ok( workers[i].finished, "did not finish\n" );
        ok( worker_wait( &workers[i], WAIT_BOUND ), "thread object not signalled within %d ms\n",
            WAIT_BOUND );
        ok( worker_delete( &workers[i] ), "context not deleted, error %lu\n", GetLastError() );
        pop();
    }
}

PUMS_CONTEXT list_wait( PUMS_COMPLETION_LIST list )
{
    ULONGLONG start = GetTickCount64();
    PUMS_CONTEXT context;
    HANDLE event;

    if (!pGetUmsCompletionListEvent( list, &event )) return NULL;
    do
    {
        context = NULL;
        if (!pDequeueUmsCompletionListItems( list, 0, &context ) || context) break;
        WaitForSingleObject( event, WAIT_BOUND );
    }
    while (GetTickCount64() - start < WAIT_BOUND);
    CloseHandle( event );
    return context;
}

BOOL list_wait_for_item( PUMS_COMPLETION_LIST list )
{
    HANDLE event;
    DWORD ret;

    if (!pGetUmsCompletionListEvent( list, &event )) return FALSE;
    ret = WaitForSingleObject( event, WAIT_BOUND );
    CloseHandle( event );
    return ret == WAIT_OBJECT_0;
}

BOOL list_stays_empty( PUMS_COMPLETION_LIST list, DWORD ms )
{
    ULONGLONG start = GetTickCount64();
    PUMS_CONTEXT context;

    do
    {
        context = NULL;
        if (!pDequeueUmsCompletionListItems( list, 0, &context ) || context) return FALSE;
        SwitchToThread();
    }
    while (GetTickCount64() - start < ms);
    return TRUE;
}

void finish_workers( PUMS_COMPLETION_LIST list, struct worker *held, int held_count, int expect )
{
    static struct sched sched;
    int i;

    memset( &sched, 0, sizeof(sched) );
    sched.list = list;
    if (!sched_init( &sched )) return;
    for (i = 0; i < held_count; i++) ready_put( &sched, held[i].context );
    sched.expect = expect;
    sched_run( &sched );
    ok( sched.entered_ok && !sched.bad && !sched.timed_out && !sched.failed,
        "workers could not be finished: %ld of %d ended, %ld executes failed, error %lu\n",
        sched.ended, expect, sched.failed, sched.failed_error );
    sched_free( &sched );
}

PUMS_COMPLETION_LIST list_create( void )
{
    PUMS_COMPLETION_LIST list = NULL;

    ok( pCreateUmsCompletionList( &list ) && list, "no completion list, error %lu\n",
        GetLastError() );
    return list;
}
