/*
 * Scenarios: a scheduler thread is terminated at any moment, over and over; while it runs, and suspended.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Open point 4 [guess]: its worker stays valid, and another scheduler can execute it. Each scheduler is terminated a
 * little later than the one before, up to 300 us after its first upcall began. Chance decides which instruction that
 * is, so there are many rounds; UMSTEST_LIVES (default 1000) sets their number.
 */
#include "umslib.h"

#define LATEST 300                              /* us */
#define STEP   7                                /* us: 300 has no such factor, so all moments come */

static PUMS_COMPLETION_LIST list;
static struct worker survivor;
static HANDLE event;
static volatile LONG begun, finish, over;

/* ---- what the worker does ---- */

static void yield_on( struct worker *worker )
{
    (void)worker;
    while (!finish) pUmsThreadYield( NULL );
}

static void wait_on( struct worker *worker )
{
    (void)worker;
    while (!finish)
    {
        SetEvent( event );
        WaitForSingleObject( event, 1 );
        pUmsThreadYield( NULL );
    }
}

static void compute_on( struct worker *worker )
{
    int i;

    (void)worker;
    for (i = 0; !finish; i++) if (!(i & 0xfff)) pUmsThreadYield( NULL );
}

/* ---- schedulers ---- */

static void CALLBACK run_for_ever( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_CONTEXT context;

    (void)param;
    begun = 1;
    if (reason == UmsSchedulerThreadYield) pExecuteUmsThread( (PUMS_CONTEXT)payload );
    for (;;)
        if (pDequeueUmsCompletionListItems( list, 0, &context ) && context) pExecuteUmsThread( context );
}

static DWORD WINAPI victim( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, run_for_ever, NULL };

    (void)arg;
    return pEnterUmsSchedulingMode( &info );
}

/* The worker is on the list or will be, or the victim had dequeued it and nobody else has. The execute is for the second
   case; in the first one it fails. */
static void CALLBACK run_to_the_end( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    static ULONGLONG begin;
    PUMS_CONTEXT context;

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) begin = clock_ms();
    while (clock_ms() - begin < WAIT_BOUND)
    {
        if (pDequeueUmsCompletionListItems( list, 0, &context ) && context && context_is_terminated( context ) == 1)
        {
            over = 1;
            return;
        }
        pExecuteUmsThread( survivor.context );
        SwitchToThread();
    }
}

/* ---- a round ---- */

static BOOL terminate_one( void (*body)( struct worker *worker ), int us, BOOL suspended )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, run_to_the_end, NULL };
    HANDLE thread;
    BOOL ended;

    memset( &survivor, 0, sizeof(survivor) );
    begun = finish = over = 0;
    info.CompletionList = list = list_create();
    if (!worker_create( &survivor, list, body, NULL, 0 )) return FALSE;
    thread = CreateThread( NULL, 0x10000, victim, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
    while (thread && !begun) SwitchToThread();
    run_us( us );
    if (suspended && SuspendThread( thread ) != 0) return FALSE;
    ended = TerminateThread( thread, 1 ) && !WaitForSingleObject( thread, WAIT_BOUND );
    CloseHandle( thread );
    finish = 1;
    return ended && pEnterUmsSchedulingMode( &info ) && over && worker_wait( &survivor, WAIT_BOUND ) &&
           survivor.finished && worker_delete( &survivor ) && pDeleteUmsCompletionList( list );
}

static void terminate_anywhere( BOOL suspended )
{
    static void (*const bodies[])( struct worker *worker ) = { yield_on, wait_on, compute_on };
    static const char *const names[] = { "yields", "waits", "computes" };
    int rounds = umstest_env( "UMSTEST_LIVES", 1000 ) / 20, i, k;

    if (!need( EnterUmsSchedulingMode )) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    for (k = 0; k < (int)ARRAYSIZE(bodies); k++)
    {
        for (i = 0; i < rounds; i++)
            if (!terminate_one( bodies[k], i * STEP % LATEST, suspended )) break;
        unverified ok( i == rounds, "4 a worker that %s, round %d: lost with its scheduler (%ld, %ld), error %lu\n",
                       names[k], i, begun, over, GetLastError() );
        if (i < rounds) break;
    }
    CloseHandle( event );
}

START_TEST( scenario_scheduler_terminate_anywhere )  { terminate_anywhere( FALSE ); }
START_TEST( scenario_scheduler_terminate_suspended ) { terminate_anywhere( TRUE ); }
