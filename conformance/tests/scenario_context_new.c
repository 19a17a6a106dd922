/*
 * Scenarios: the registers of a worker that nobody has executed yet are read and set, and it is suspended or terminated.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker runs when a scheduler executes it [doc: User-Mode Scheduling], so its registers are the same from its creation to
 * its first execution, and it begins with those that were set last [guess]. Whoever sets those that were read changes nothing
 * [guess: on Windows x64 a thread that has not begun may show RtlUserThreadStart at first, and LdrInitializeThunk when the kernel
 * has prepared it to go there].
 */
#include <string.h>
#include "../umslib.h"
#include "scenario_kit.h"

#define WORKERS  12
#define SETS     20
#define MOMENT   200                            /* ms */

static struct worker workers[WORKERS];
static struct sched sched;

static LONG ran[WORKERS];

static void body( struct worker *worker )
{
    InterlockedIncrement( worker->arg );
}

static BOOL make( int i )
{
    return ok( worker_create( &workers[i], sched.list, body, &ran[i], 0 ), "no worker, error %lu\n", GetLastError() );
}

static BOOL make_suspended( void )
{
    return ok( worker_create( &workers[0], sched.list, body, &ran[0], CREATE_SUSPENDED ), "no worker, error %lu\n",
               GetLastError() );
}

static BOOL read_registers( int i, CONTEXT *context )
{
    context->ContextFlags = CONTEXT_FULL;
    return GetThreadContext( workers[i].thread, context );
}

static BOOL set_registers( int i, CONTEXT *context )
{
    context->ContextFlags = CONTEXT_FULL;
    return SetThreadContext( workers[i].thread, context );
}

static BOOL begin_test( int count )
{
    memset( &sched, 0, sizeof(sched) );
    memset( ran, 0, sizeof(ran) );
    sched.expect = count;
    return need( EnterUmsSchedulingMode ) && ok( sched_init( &sched ), "no scheduler, error %lu\n", GetLastError() );
}

static void run_all( int count )
{
    int i;

    ok( sched_start( &sched ) && sched_join( &sched ), "the scheduler did not end\n" );
    sched_check( &sched );
    for (i = 0; i < count; i++)
    {
        ok( ran[i] == 1, "5 worker %d ran %ld times\n", i, ran[i] );
        ok( worker_wait( &workers[i], WAIT_BOUND ) && worker_delete( &workers[i] ), "worker %d did not end\n", i );
    }
    sched_free( &sched );
}

/* One at a time: the list's event tells of the first item only. */
START_TEST( scenario_context_new_stays )
{
    CONTEXT first, second;
    int i;

    for (i = 0; i < WORKERS; i++)
    {
        if (!begin_test( 1 ) || !make( 0 )) return;
        ok( read_registers( 0, &first ), "GetThreadContext: error %lu\n", GetLastError() );
        ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
        ok( read_registers( 0, &second ), "GetThreadContext: error %lu\n", GetLastError() );
        unverified ok( first.Rip == second.Rip && first.Rsp == second.Rsp,
                       "5 the registers were %llx and %llx, then %llx and %llx\n", first.Rip, first.Rsp, second.Rip, second.Rsp );
        run_all( 1 );
    }
}

START_TEST( scenario_context_new_set )
{
    CONTEXT context;
    int i, k, failed = 0;

    if (!begin_test( WORKERS )) return;
    for (i = 0; i < WORKERS; i++)
    {
        if (!make( i )) return;
        failed += !read_registers( i, &context );
        for (k = 0; k < SETS; k++) failed += !set_registers( i, &context );
    }
    ok( !failed, "%d calls failed\n", failed );
    run_all( WORKERS );
}

static volatile LONG landed;
static BYTE stack[0x10000] __attribute__((aligned( 16 )));

static void landing( void )
{
    InterlockedIncrement( &landed );
    ExitThread( 3 );
}

/* Registers that nobody has read before. */
static BOOL set_elsewhere( int i )
{
    CONTEXT context = { .ContextFlags = CONTEXT_CONTROL };

    context.SegCs  = 0x33;
    context.SegSs  = 0x2b;
    context.EFlags = 0x202;
    context.Rip    = (ULONG_PTR)landing;
    context.Rsp    = (ULONG_PTR)&stack[sizeof(stack) - 0x28];     /* as behind a call */
    return SetThreadContext( workers[i].thread, &context );
}

START_TEST( scenario_context_new_elsewhere )
{
    DWORD code;
    int i;

    for (i = 0; i < WORKERS; i++)
    {
        if (!begin_test( 1 ) || !make( 0 )) return;
        landed = 0;
        ok( set_elsewhere( 0 ), "SetThreadContext: error %lu\n", GetLastError() );
        ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
        ok( !landed, "5 it ran before it was executed\n" );
        ok( sched_start( &sched ) && sched_join( &sched ), "the scheduler did not end\n" );
        sched_check( &sched );
        unverified ok( landed == 1 && !ran[0], "5 it did not begin where it was set to\n" );
        ok( worker_wait( &workers[0], WAIT_BOUND ) && GetExitCodeThread( workers[0].thread, &code ) && code == 3,
            "it did not end\n" );
        ok( worker_delete( &workers[0] ), "error %lu\n", GetLastError() );
        sched_free( &sched );
    }
}

/* ---- its start routine and parameter are in Rcx and Rdx until it begins; loaders and injectors rely on it [guess for workers; seen: a
   plain thread that is made suspended, Wine 8.0, 10.0] ---- */

static struct
{
    LPTHREAD_START_ROUTINE routine;
    void *param;
} as_made;
static volatile LONG detours;

static DWORD WINAPI detour( void *arg )
{
    InterlockedIncrement( &detours );
    if (arg != &as_made || !pGetCurrentUmsThread()) return 5;
    return as_made.routine( as_made.param );
}

static void take_detour( void )
{
    CONTEXT context;

    ok( read_registers( 0, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    as_made.routine = (LPTHREAD_START_ROUTINE)context.Rcx;
    as_made.param = (void *)context.Rdx;
    context.Rcx = (ULONG_PTR)detour;
    context.Rdx = (ULONG_PTR)&as_made;
    ok( set_registers( 0, &context ), "SetThreadContext: error %lu\n", GetLastError() );
    ok( read_registers( 0, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    unverified ok( context.Rcx == (ULONG_PTR)detour && context.Rdx == (ULONG_PTR)&as_made, "5 Rcx and Rdx are %llx and %llx\n",
                   context.Rcx, context.Rdx );
}

static void check_detour( void )
{
    unverified ok( !detours && !ran[0], "5 it ran before it was executed\n" );
    run_all( 1 );
    unverified ok( detours == 1, "5 it began %ld times where it was set to\n", detours );
}

START_TEST( scenario_context_new_start_suspended )
{
    if (!begin_test( 1 ) || !make_suspended()) return;
    take_detour();
    ok( ResumeThread( workers[0].thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    check_detour();
}

START_TEST( scenario_context_new_start_parked )
{
    if (!begin_test( 1 ) || !make( 0 )) return;
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    take_detour();
    check_detour();
}

/* The same before its thread runs at all: it goes there as a worker, when it is executed, and what was queued to it comes there. */
static volatile LONG routines, landed_as_worker;

static void CALLBACK count_routine( ULONG_PTR unused )
{
    (void)unused;
    routines++;
}

static void landing_alertable( void )
{
    landed_as_worker = pGetCurrentUmsThread() == workers[0].context && pUmsThreadYield( NULL );
    SleepEx( 0, TRUE );
    InterlockedIncrement( &landed );
    ExitThread( 3 );
}

START_TEST( scenario_context_new_sent_suspended )
{
    CONTEXT context;

    if (!begin_test( 1 ) || !make_suspended()) return;
    ok( QueueUserAPC( count_routine, workers[0].thread, 0 ), "QueueUserAPC: error %lu\n", GetLastError() );
    ok( read_registers( 0, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    context.Rip = (ULONG_PTR)landing_alertable;
    context.Rsp = (ULONG_PTR)&stack[sizeof(stack) - 0x28];
    context.R12 = 12;
    ok( set_registers( 0, &context ), "SetThreadContext: error %lu\n", GetLastError() );
    memset( &context, 0, sizeof(context) );
    ok( read_registers( 0, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    ok( context.Rip == (ULONG_PTR)landing_alertable && context.R12 == 12, "5 the registers read %llx and %llx\n", context.Rip,
        context.R12 );
    ok( ResumeThread( workers[0].thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    ok( list_wait_for_item( sched.list ), "it did not come to its list\n" );
    unverified ok( !landed && !routines, "5 it ran before it was executed\n" );
    ok( sched_start( &sched ) && sched_join( &sched ), "the scheduler did not end\n" );
    sched_check( &sched );
    unverified ok( landed == 1 && landed_as_worker && !ran[0], "5 it landed %ld times, as a worker: %ld\n", landed,
                   landed_as_worker );
    unverified ok( routines == 1, "%ld APCs ran, expected 1\n", routines );
    ok( worker_wait( &workers[0], WAIT_BOUND ) && worker_delete( &workers[0] ), "it did not end\n" );
    sched_free( &sched );
}

/* It never goes there, and the next worker of its context does not either. */
START_TEST( scenario_context_new_sent_killed )
{
    if (!begin_test( 1 ) || !make( 0 )) return;
    ok( list_wait_for_item( sched.list ) && set_elsewhere( 0 ), "SetThreadContext: error %lu\n", GetLastError() );
    ok( TerminateThread( workers[0].thread, 7 ), "TerminateThread: error %lu\n", GetLastError() );
    ok( sched_start( &sched ) && sched_join( &sched ), "the scheduler did not end\n" );
    sched_check( &sched );
    ok( worker_wait( &workers[0], WAIT_BOUND ) && worker_delete( &workers[0] ), "it did not end\n" );
    sched_free( &sched );
    ok( !landed && !ran[0], "it landed %ld times, and ran %ld times\n", landed, ran[0] );
    if (!begin_test( 1 ) || !make( 0 )) return;
    run_all( 1 );
    ok( !landed, "another worker landed there\n" );
}

static DWORD WINAPI set_on( void *arg )
{
    CONTEXT context;
    DWORD failed;
    int k;

    (void)arg;
    failed = !read_registers( 0, &context );
    for (k = 0; k < SETS; k++) failed += !set_registers( 0, &context );
    return failed;
}

START_TEST( scenario_context_new_suspended )
{
    HANDLE setter;
    DWORD failed;
    int i, k;

    for (i = 0; i < WORKERS; i++)
    {
        if (!begin_test( 1 ) || !make( 0 )) return;
        setter = CreateThread( NULL, 0, set_on, NULL, 0, NULL );
        for (k = 0; k < SETS; k++)
        {
            if (SuspendThread( workers[0].thread ) == ~0u || ResumeThread( workers[0].thread ) == ~0u) break;
        }
        ok( k == SETS, "SuspendThread or ResumeThread: error %lu\n", GetLastError() );
        ok( !WaitForSingleObject( setter, 3 * WAIT_BOUND ) && GetExitCodeThread( setter, &failed ) && !failed,
            "%lu calls failed\n", failed );
        CloseHandle( setter );
        run_all( 1 );
    }
}

static volatile DWORD attaching;                /* the id of the worker's thread */
static volatile LONG attached;

/* Its thread stays here for a while, with the loader's lock. */
static void on_dll_call( DWORD reason, BOOL process_ends )
{
    (void)process_ends;
    if (reason != DLL_THREAD_ATTACH || GetCurrentThreadId() != attaching) return;
    attached = 1;
    run_us( MOMENT * 1000 );
}

static DWORD WINAPI nothing( void *arg )
{
    (void)arg;
    return 0;
}

static void wait_for_attach( void )
{
    ULONGLONG start = clock_ms();

    while (!attached && clock_ms() - start < MOMENT) SwitchToThread();
}

/* It is in its DllMain, or has not begun at all. */
static BOOL make_attaching( HMODULE *probe )
{
    if (!begin_test( 1 ) || !(*probe = kit_load_probe( on_dll_call ))) return FALSE;
    if (!make_suspended()) return FALSE;
    attaching = workers[0].tid;
    ok( ResumeThread( workers[0].thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    wait_for_attach();
    return TRUE;
}

static void begin_another( void )
{
    HANDLE thread = CreateThread( NULL, 0, nothing, NULL, 0, NULL );

    unverified ok( !WaitForSingleObject( thread, WAIT_BOUND ), "no thread begins any more\n" );
    CloseHandle( thread );
}

/* It has not begun, so it has no locks, and other threads begin after it [guess]. Here its DllMain runs before, and a thread that is
   terminated with the loader's lock keeps it [seen: Wine]. */
START_TEST( scenario_context_new_killed )
{
    HMODULE probe;
    BOOL came;

    if (!make_attaching( &probe )) return;
    unverified ok( TerminateThread( workers[0].thread, 7 ) && worker_wait( &workers[0], WAIT_BOUND ), "error %lu\n", GetLastError() );
    begin_another();
    came = sched_start( &sched ) && sched_join( &sched ) && worker_delete( &workers[0] );
    unverified ok( came, "it did not come to its list\n" );
    unverified ok( !ran[0], "5 it ran\n" );
    sched_free( &sched );
    FreeLibrary( probe );
}

/* The same of one that is suspended [guess]. */
START_TEST( scenario_context_new_stopped )
{
    HMODULE probe;

    if (!make_attaching( &probe )) return;
    ok( !SuspendThread( workers[0].thread ), "SuspendThread: error %lu\n", GetLastError() );
    begin_another();
    ok( ResumeThread( workers[0].thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    run_all( 1 );
    FreeLibrary( probe );
}

/* Such a thread has not begun, and nobody waits for that [doc: CREATE_SUSPENDED]. */
START_TEST( scenario_context_new_made_suspended )
{
    CONTEXT context;
    DWORD count;

    if (!begin_test( 1 )) return;
    if (!make_suspended()) return;
    ok( read_registers( 0, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    ok( set_registers( 0, &context ), "SetThreadContext: error %lu\n", GetLastError() );
    count = SuspendThread( workers[0].thread );
    ok( count == 1, "SuspendThread: %lu\n", count );
    ok( ResumeThread( workers[0].thread ) == 2 && ResumeThread( workers[0].thread ) == 1, "ResumeThread: error %lu\n",
        GetLastError() );
    run_all( 1 );
}

/* With the lock of the loader no thread begins [doc: DllMain], and whoever has it must not wait for that. Registers are set, or
   the call fails: the worker runs once, and not before it is executed. */
START_TEST( scenario_context_new_loader )
{
    CONTEXT context;
    BOOL made, read, set;

    if (!begin_test( 1 )) return;
    kit_lock_loader();
    made = make( 0 );
    read = made && read_registers( 0, &context );
    set = made && set_elsewhere( 0 );
    kit_unlock_loader();
    if (!made) return;
    ok( read, "GetThreadContext failed\n" );
    ok( list_wait_for_item( sched.list ) && !landed && !ran[0], "5 it ran before it was executed\n" );
    ok( sched_start( &sched ) && sched_join( &sched ), "the scheduler did not end\n" );
    sched_check( &sched );
    unverified ok( landed == set && ran[0] == !set, "5 it ran %ld times here, %ld there, set: %d\n", ran[0], landed, set );
    ok( worker_wait( &workers[0], WAIT_BOUND ) && worker_delete( &workers[0] ), "it did not end\n" );
    sched_free( &sched );
}
