/*
 * Scenarios: thread functions of Windows whose target is a worker: the worker itself, or one that
 * somebody else stops for good.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B7, B8, B10, B18, B23, B27; section 5, "suspended", "terminated". A worker is a thread like
 * any other to these functions, wherever it runs. Every body yields first, so that it runs on its
 * scheduler's processor. Beside it another worker of the same scheduler yields: it has to get its
 * turn.
 */
#include "../umslib.h"
#include "scenario_kit.h"

static volatile LONG turns, stop;
static struct kit_worker *target;

static DWORD beside_body( struct kit_worker *worker )
{
    while (!stop)
    {
        turns++;
        kit_yield( worker, NULL );
    }
    return 0;
}

static BOOL moves_on( volatile LONG *count )
{
    ULONGLONG limit = clock_ms() + KIT_LIMIT;
    LONG was = *count;

    while (*count == was && clock_ms() < limit) SwitchToThread();
    return *count != was;
}

/* FALSE if the kit cannot be had. */
static BOOL start( DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *sched;

    if (!kit_open()) return FALSE;
    sched = kit_add_sched( NULL );
    target = kit_add_worker( sched->list, body, NULL );
    kit_add_worker( sched->list, beside_body, NULL );
    kit_start();
    return ok( target != NULL, "no worker\n" );
}

static void finish( void )
{
    stop = 1;
    kit_finish();
    kit_check();
}

/* ---- itself ---- */

#define SELF_STOPS 20

static volatile LONG self_round, self_wrong;

/* Without the right nothing happens [doc: SuspendThread]. */
static void fail_to_suspend_self( void )
{
    HANDLE weak = NULL;

    DuplicateHandle( GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &weak, THREAD_QUERY_INFORMATION, FALSE, 0 );
    if (SuspendThread( weak ) != (DWORD)-1 || GetLastError() != ERROR_ACCESS_DENIED) self_wrong++;
    CloseHandle( weak );
}

static DWORD suspend_self_body( struct kit_worker *worker )
{
    int i;

    for (i = 1; i <= SELF_STOPS; i++)
    {
        kit_yield( worker, NULL );
        fail_to_suspend_self();
        self_round = i;
        if (SuspendThread( i & 1 ? GetCurrentThread() : target->thread ) != 0) self_wrong++;
        if (GetCurrentThreadId() != worker->id) self_wrong++;
    }
    self_round = SELF_STOPS + 1;
    return 0;
}

/* The worker stops until somebody resumes it, which may be before it has stopped. */
START_TEST( scenario_thread_suspend_self )
{
    int i, early = 0, starved = 0;
    DWORD ret;

    if (!start( suspend_self_body )) return;
    for (i = 1; i <= SELF_STOPS; i++)
    {
        ULONGLONG limit = clock_ms() + KIT_LIMIT;

        if (!ok( kit_wait_value( &self_round, i ), "B8: it did not go on to round %d\n", i )) break;
        while (!(ret = ResumeThread( target->thread )) && clock_ms() < limit)
        {
            if (self_round != i) early++;
            SwitchToThread();
        }
        ok( ret == 1, "ResumeThread gave %lu in round %d\n", ret, i );
        if (!moves_on( &turns )) starved++;
    }
    finish();
    ok( self_round == SELF_STOPS + 1, "B8: it came to round %ld\n", self_round );
    ok( !early, "5: it went on %d times before it was resumed\n", early );
    ok( !self_wrong, "%ld calls gave a wrong result\n", self_wrong );
    ok( !starved, "B10: the other worker got no turn %d times\n", starved );
}

/* ---- its process, with a handle that may not end it ---- */

static volatile LONG end_refused, stays_worker, end_yields;

static void fail_to_end_process( void )
{
    HANDLE weak = NULL;

    DuplicateHandle( GetCurrentProcess(), GetCurrentProcess(), GetCurrentProcess(), &weak, PROCESS_QUERY_INFORMATION, FALSE, 0 );
    SetLastError( 0 );
    end_refused = !TerminateProcess( weak, 0x999 ) && GetLastError() == ERROR_ACCESS_DENIED;
    CloseHandle( weak );
}

static DWORD end_process_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    fail_to_end_process();
    stays_worker = pGetCurrentUmsThread() == worker->context;
    for (end_yields = 0; end_yields < 3 && kit_yield( worker, NULL ); end_yields++) ;
    return 0;
}

/* Nothing happens without PROCESS_TERMINATE [doc: TerminateProcess]. */
START_TEST( scenario_thread_end_process_denied )
{
    if (!start( end_process_body )) return;
    ok( !WaitForSingleObject( target->thread, KIT_LIMIT ), "it does not end\n" );
    finish();
    ok( end_refused, "TerminateProcess did not fail as it should\n" );
    ok( stays_worker && end_yields == 3, "5: a worker still: %ld, it yielded %ld times\n", stays_worker, end_yields );
}

static BOOL self_context_ret;
static CONTEXT self_context;
static NT_TIB *self_tib;

static DWORD terminate_self_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    worker->ended = 1;                          /* as far as it gets */
    TerminateThread( GetCurrentThread(), 0x456 );
    self_wrong++;
    return 0;
}

/* It ends, and nobody else: not the thread that lends it its processor. */
START_TEST( scenario_thread_terminate_self )
{
    DWORD code = 0;

    if (!start( terminate_self_body )) return;
    ok( !WaitForSingleObject( target->thread, KIT_LIMIT ), "B18: it did not end in %d ms\n",
        KIT_LIMIT );
    ok( GetExitCodeThread( target->thread, &code ) && code == 0x456, "B18: exit code %#lx\n",
        code );
    ok( kit_wait_value( &target->terminated, 1 ), "B18: it was not delivered terminated\n" );
    ok( moves_on( &turns ), "the other worker does not run on\n" );
    finish();
    ok( !self_wrong, "TerminateThread returned\n" );
}

static DWORD context_self_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    self_tib = kit_teb();
    self_context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    self_context_ret = GetThreadContext( GetCurrentThread(), &self_context );
    if (GetCurrentThreadId() != worker->id) self_wrong++;
    return 0;
}

/* Not of the thread that lends it its processor. */
START_TEST( scenario_thread_context_self )
{
    if (!start( context_self_body )) return;
    finish();
    ok( self_context_ret, "GetThreadContext failed\n" );
    unverified ok( self_context.Rsp >= (ULONG_PTR)self_tib->StackLimit &&
                   self_context.Rsp < (ULONG_PTR)self_tib->StackBase,
                   "B27: the stack pointer is not on its stack\n" );
    ok( !self_wrong, "B23: another thread id\n" );
}

/* ---- from outside, for good ---- */

static volatile LONG spins;
static HANDLE never;

static DWORD spin_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!stop) spins++;
    return 1;
}

static DWORD call_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!stop)
    {
        spins++;
        SetEvent( never );
    }
    return 1;
}

static DWORD wait_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    spins++;
    WaitForSingleObject( never, INFINITE );
    self_wrong++;
    return 0;
}

/* The scheduler is told, the context comes back terminated, and the other worker runs. */
static void terminate_target( void )
{
    DWORD code = 0;
    LONG count;

    target->ended = 1;                          /* as far as it gets */
    ok( TerminateThread( target->thread, 0x123 ), "TerminateThread failed, error %lu\n",
        GetLastError() );
    ok( !WaitForSingleObject( target->thread, KIT_LIMIT ), "B18: it did not end in %d ms\n",
        KIT_LIMIT );
    count = spins;
    ok( moves_on( &turns ), "B18: the other worker did not get its turn in %d ms\n", KIT_LIMIT );
    ok( spins == count, "5: a terminated worker ran\n" );
    ok( GetExitCodeThread( target->thread, &code ) && code == 0x123, "B18: exit code %#lx\n",
        code );
    ok( kit_wait_value( &target->terminated, 1 ), "B18: it was not delivered terminated\n" );
    finish();
    ok( !self_wrong, "a terminated worker went on\n" );
}

START_TEST( scenario_thread_terminate_running )
{
    if (!start( spin_body )) return;
    ok( moves_on( &spins ), "the worker did not start\n" );
    terminate_target();
}

START_TEST( scenario_thread_terminate_calling )
{
    never = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!start( call_body )) return;
    ok( moves_on( &spins ), "the worker did not start\n" );
    terminate_target();
    CloseHandle( never );
}

START_TEST( scenario_thread_terminate_blocked )
{
    never = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!start( wait_body )) return;
    while (!target->blocks && !kit.scheds[0].timeouts) Sleep( 1 );
    terminate_target();
    CloseHandle( never );
}
