/*
 * Scenarios: what a SchedulerProc is told, where it runs, as whom.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B3, B5, B6, B21, B22, B23, B25; D4, D10, D13, D14; sections 2.1 and 2.2.
 */
#include "scenario_kit.h"

/* --- startup: B5 --- */

static HANDLE gate;
static volatile LONG gate_result = -1;

static BOOL startup_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) gate_result = WaitForSingleObject( gate, KIT_LIMIT );
    return FALSE;
}

static DWORD empty_body( struct kit_worker *worker )
{
    (void)worker;
    return 0;
}

/* A SchedulerProc may wait for long in its first upcall before it executes anything [seen]. */
START_TEST( scenario_upcall_startup )
{
    struct kit_sched *sched;
    struct kit_worker *worker;

    if (!kit_open()) return;
    gate = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    sched->on_upcall = startup_upcall;
    worker = kit_add_worker( sched->list, empty_body, NULL );
    kit_start();
    ok( kit_wait_value( &sched->entered, 1 ), "B5: no Startup upcall in %u ms\n", KIT_LIMIT );
    ok( worker && !worker->executes &&
        !worker->ended, "B5: the worker ran before it was executed\n" );
    ok( gate_result == -1, "B5: the wait in SchedulerProc ended early\n" );
    SetEvent( gate );
    kit_finish();
    ok( gate_result == WAIT_OBJECT_0, "B5: the wait in SchedulerProc gave %ld\n", gate_result );
    kit_check();
    CloseHandle( gate );
}

/* --- arguments: B3, D4, D13 --- */

#define ARGUMENTS 6

static PVOID argument_sent[ARGUMENTS];
static PVOID argument_seen[ARGUMENTS];
static ULONG_PTR argument_payload[ARGUMENTS];
static ULONG_PTR argument_read;
static LONG arguments;

static BOOL argument_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched;
    if (reason != UmsSchedulerThreadYield || arguments == ARGUMENTS) return FALSE;
    argument_payload[arguments] = payload;
    argument_seen[arguments] = param;
    if (arguments == ARGUMENTS - 1 && param) argument_read = *(ULONG_PTR *)param;
    arguments++;
    return FALSE;
}

static DWORD argument_body( struct kit_worker *worker )
{
    volatile ULONG_PTR local = 0x1234567890abcdef;
    int i;

    argument_sent[0] = NULL;
    argument_sent[1] = worker;
    argument_sent[2] = (void *)(ULONG_PTR)1;
    argument_sent[3] = (void *)~(ULONG_PTR)0;
    argument_sent[4] = pGetCurrentUmsThread();
    argument_sent[5] = (void *)&local;
    for (i = 0; i < ARGUMENTS; i++) kit_yield( worker, argument_sent[i] );
    return (DWORD)local;
}

/* Yield: payload is the worker's context, SchedulerParam any value, also the worker's stack. */
START_TEST( scenario_upcall_arguments )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    PUMS_CONTEXT context;
    int i;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = argument_upcall;
    worker = kit_add_worker( sched->list, argument_body, NULL );
    kit_start();
    kit_finish();
    context = argument_sent[4];
    ok( worker != NULL, "no worker\n" );
    ok( arguments == ARGUMENTS, "B3: %ld Yield upcalls of %d\n", arguments, ARGUMENTS );
    for (i = 0; i < arguments; i++)
    {
        push( "yield %d", i );
        ok( argument_payload[i] == (ULONG_PTR)context,
            "B3: the payload is not the worker's context\n" );
        ok( argument_seen[i] == argument_sent[i], "B3: SchedulerParam changed on its way\n" );
        pop();
    }
    ok( argument_read == 0x1234567890abcdef, "D13: the yielding worker's stack read %#llx\n",
        argument_read );
    kit_check();
}

/* --- environment: B21, B22, B23, D10, section 2.2 --- */

struct environment
{
    LONG bad_tls, bad_user, bad_length, bad_own;
    BOOL user_was_null;
    void *worker_self, *worker_teb, *worker_user, *worker_tls_first;
    DWORD worker_id;
};
static struct environment environment;

static void environment_query( struct kit_sched *sched )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread();
    void *user = (void *)(ULONG_PTR)0xcccc;
    ULONG length = 0;

    if (!pQueryUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user), &length ))
        environment.bad_own++;
    if (length != sizeof(user)) environment.bad_length++;
    if (user != sched) environment.bad_user++;
}

static BOOL environment_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload,
                                PVOID param )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread();
    void *user = (void *)(ULONG_PTR)0xcccc;

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup)
    {
        pQueryUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user), NULL );
        environment.user_was_null = !user;
        user = sched;
        if (!pSetUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user) ))
            environment.bad_own++;
    }
    environment_query( sched );
    if (TlsGetValue( kit.tls ) != sched) environment.bad_tls++;
    return FALSE;
}

static DWORD environment_body( struct kit_worker *worker )
{
    void *user = NULL;

    environment.worker_tls_first = TlsGetValue( kit.tls );
    TlsSetValue( kit.tls, worker );
    environment.worker_self = pGetCurrentUmsThread();
    environment.worker_teb = kit_teb();
    environment.worker_id = GetCurrentThreadId();
    pQueryUmsThreadInformation( environment.worker_self, UmsThreadUserContext, &user, sizeof(user),
                                NULL );
    environment.worker_user = user;
    kit_yield( worker, NULL );
    Sleep( 1 );
    if (TlsGetValue( kit.tls ) != worker) environment.bad_tls += 1000;
    if (pGetCurrentUmsThread() != environment.worker_self) environment.bad_own += 1000;
    return 0;
}

/* The scheduler has its own context, TEB, TLS and thread id in every upcall, the worker always its
   own. */
START_TEST( scenario_upcall_environment )
{
    struct kit_sched *sched;
    struct kit_worker *worker;

    if (!kit_open()) return;
    ok( !pGetCurrentUmsThread(), "B22, D10: a plain thread has a context\n" );
    sched = kit_add_sched( NULL );
    sched->on_upcall = environment_upcall;
    worker = kit_add_worker( sched->list, environment_body, NULL );
    kit_start();
    kit_finish();
    ok( environment.user_was_null, "D10: UserContext of a new scheduler thread is not NULL\n" );
    ok( !environment.bad_own, "B21: %ld calls on the own context failed\n", environment.bad_own );
    ok( !environment.bad_length, "B22: %ld odd returned lengths\n", environment.bad_length );
    ok( !environment.bad_user, "B21: %ld upcalls lost the UserContext\n", environment.bad_user );
    ok( !environment.bad_tls, "B23: TLS was somebody else's %ld times\n", environment.bad_tls );
    ok( environment.worker_self && environment.worker_self != sched->own,
        "B22: the worker has no context of its own\n" );
    ok( environment.worker_user == worker, "D10: the worker's UserContext is not what was set\n" );
    ok( environment.worker_teb != sched->teb, "2.2: worker and scheduler share a TEB\n" );
    ok( worker && environment.worker_id == worker->id && worker->id != sched->id,
        "B23: thread ids are mixed up\n" );
    ok( !environment.worker_tls_first, "B23: a new worker's TLS is not empty\n" );
    ok( sched->upcalls >= 4, "2.1: %ld upcalls of at least 4\n", sched->upcalls );
    kit_check();
}

/* --- stack: B6, section 1.4 --- */

#define STACK_ROUNDS 200

static volatile LONG stack_returned;
static volatile double stack_sum;

/* Execute from far down the stack: the frames vanish, the next upcall starts at the base again. */
static __attribute__((noinline)) void stack_dive( struct kit_sched *sched,
                                                  struct kit_worker *worker,
                                                  int depth )
{
    volatile char frame[1024];

    frame[0] = (char)depth;
    if (depth) stack_dive( sched, worker, depth - 1 );
    else pExecuteUmsThread( worker->context );
    frame[1] = frame[0];
    stack_returned++;
}

static BOOL stack_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    struct kit_worker *worker;
    DECLSPEC_ALIGN(16) volatile float vector[4] = { 1, 2, 3, 4 };
    int i;

    (void)param;
    for (i = 0; i < 4; i++) stack_sum += vector[i] / 2;
    if ((ULONG_PTR)vector & 15) sched->bad_stacks++;
    if (reason != UmsSchedulerThreadYield) return FALSE;
    worker = kit_worker_of( (PUMS_CONTEXT)payload );
    if (sched->first || !worker) return FALSE;
    sched->current = worker;
    InterlockedIncrement( &worker->executes );
    stack_dive( sched, worker, 20 );
    sched->bad_executes++;
    return TRUE;
}

static DWORD stack_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < STACK_ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        if (i % 50 == 49) Sleep( 1 );
    }
    return 0;
}

START_TEST( scenario_upcall_stack )
{
    struct kit_sched *sched;
    BOOL same = TRUE;
    int i, count;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = stack_upcall;
    kit_add_worker( sched->list, stack_body, NULL );
    kit_start();
    kit_finish();
    count = min( sched->upcalls, KIT_LOG );
    for (i = 1; i < count; i++) same = same && sched->log[i].rsp == sched->log[0].rsp;
    ok( same, "B6: upcalls start on different stack bases\n" );
    ok( (sched->log[0].rsp & 15) == 8, "2.2: SchedulerProc is entered with an odd stack\n" );
    ok( !stack_returned, "B6: ExecuteUmsThread returned %ld times\n", stack_returned );
    ok( stack_sum == sched->upcalls * 5.0, "2.2: floating point in SchedulerProc went wrong\n" );
    ok( sched->blocked >= 4, "B11: %ld Blocked upcalls for 4 sleeps\n", sched->blocked );
    kit_check();
}

/* --- waits of the scheduler itself: B25 --- */

static volatile LONG waits_bad;
static HANDLE waits_set, waits_unset;

static BOOL waits_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload; (void)param;
    SwitchToThread();
    Sleep( 0 );
    YieldProcessor();
    if (WaitForSingleObject( waits_set, 0 ) != WAIT_OBJECT_0) waits_bad++;
    if (WaitForSingleObject( waits_unset, 0 ) != WAIT_TIMEOUT) waits_bad++;
    if (sched->upcalls % 8 == 0)
    {
        Sleep( 1 );
        if (WaitForSingleObject( waits_unset, 1 ) != WAIT_TIMEOUT) waits_bad++;
        FlushProcessWriteBuffers();
    }
    if (GetCurrentThreadId() != sched->id) waits_bad++;
    return FALSE;
}

static DWORD waits_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < 40; i++)
    {
        kit_yield( worker, NULL );
        if (i % 10 == 0) Sleep( 1 );
        if (i % 20 == 0) FlushProcessWriteBuffers();
    }
    return 0;
}

/* Yielding and waiting inside SchedulerProc is the scheduler thread's own business: no upcall comes
   of it. */
START_TEST( scenario_upcall_waits )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    waits_set = CreateEventW( NULL, TRUE, TRUE, NULL );
    waits_unset = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    sched->on_upcall = waits_upcall;
    kit_add_worker( sched->list, waits_body, NULL );
    kit_add_worker( sched->list, waits_body, NULL );
    kit_start();
    kit_finish();
    ok( !waits_bad, "B25, B26: %ld waits inside SchedulerProc went wrong\n", waits_bad );
    ok( sched->yielded == 80, "B3: %ld Yield upcalls of 80\n", sched->yielded );
    kit_check();
    CloseHandle( waits_set );
    CloseHandle( waits_unset );
}
