/*
 * Scenarios: another process suspends and resumes the thread of a worker, reads and changes its registers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B7, B8, B10; section 5, "suspended". A worker is a thread like any other to these functions, whoever
 * calls them.
 */
#include "foreign_kit.h"

static volatile LONG lost;

/* SuspendThread may return before the thread has stopped; its registers are told when it has. */
static void foreign_suspend( struct kit_worker *worker )
{
    ok( foreign_tell( FOREIGN_SUSPEND, worker->id ) == 0, "SuspendThread gave %lu\n", foreign_order->ret );
    foreign_order->context.ContextFlags = CONTEXT_FULL;
    foreign_tell( FOREIGN_GET, worker->id );
}

static void foreign_resume( struct kit_worker *worker )
{
    ok( foreign_tell( FOREIGN_RESUME, worker->id ) == 1, "ResumeThread gave %lu\n", foreign_order->ret );
}

static int is_flag( struct kit_worker *worker, UMS_THREAD_INFO_CLASS info_class )
{
    BOOLEAN flag = 0xcc;

    if (!pQueryUmsThreadInformation( worker->context, info_class, &flag, sizeof(flag),
                                     NULL )) return -1;
    return flag;
}

/* ---- what the worker does ---- */

static DWORD call_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    while (!foreign_stop)
    {
        foreign_steps++;
        if (foreign_steps & 1) ResetEvent( foreign_event );
        else GetHandleInformation( foreign_event, &flags );
    }
    return 0;
}

static DWORD yield_body( struct kit_worker *worker )
{
    while (!foreign_stop)
    {
        foreign_steps++;
        kit_yield( worker, NULL );
    }
    return 0;
}

/* ---- suspended ---- */

/* It stands still, is no scheduler's any more, and nobody's before it is resumed. */
static void suspend_running( DWORD (*body)( struct kit_worker *worker ) )
{
    int i;

    if (!foreign_begin( body, TRUE )) return;
    for (i = 0; i < 5; i++)
    {
        LONG steps_before, queued;

        foreign_suspend( foreign_runner );
        steps_before = foreign_steps;
        unverified ok( is_flag( foreign_runner, UmsThreadIsSuspended ) == 1, "B8: IsSuspended is FALSE\n" );
        ok( kit_moves( &foreign_turns ) && kit_moves( &foreign_turns ), "B10: the other worker got no turn\n" );
        ok( foreign_steps == steps_before, "5: a suspended worker ran\n" );
        queued = foreign_runner->queued;
        ok( kit_moves( &foreign_turns ), "B10: the other worker got no turn\n" );
        ok( foreign_runner->queued == queued, "B8: a suspended worker was delivered\n" );
        foreign_resume( foreign_runner );
        ok( kit_leaves( &foreign_steps, steps_before ), "B8: it did not go on after it was resumed\n" );
    }
    foreign_finish( FALSE );
}

START_TEST( scenario_foreign_suspend_running ) { suspend_running( foreign_compute ); }
START_TEST( scenario_foreign_suspend_at_home ) { suspend_running( foreign_compute_at_home ); }
START_TEST( scenario_foreign_suspend_calling ) { suspend_running( call_body ); }
START_TEST( scenario_foreign_suspend_yielding ) { suspend_running( yield_body ); }


/* scenario_suspend_waking.c */
START_TEST( scenario_foreign_suspend_waking )
{
    foreign_wakes = 1;
    suspend_running( foreign_wake );
}

START_TEST( scenario_foreign_suspend_yielded )
{
    struct kit_sched *sched;

    if (!foreign_begin( foreign_park, TRUE )) return;
    sched = &kit.scheds[0];
    ok( kit_wait_value( &foreign_runner->parked, 1 ), "no Yield upcall\n" );
    foreign_suspend( foreign_runner );
    unverified ok( is_flag( foreign_runner, UmsThreadIsSuspended ) == 1, "B8: IsSuspended is FALSE\n" );
    ok( is_flag( foreign_runner, UmsThreadIsTerminated ) == 0, "B19: it is terminated\n" );
    kit_ready( foreign_runner, sched );
    ok( kit_wait_value( &foreign_runner->suspended, 1 ),
        "B7: Execute of a suspended worker did not fail for that\n" );
    ok( kit_moves( &foreign_turns ), "B10: the other worker got no turn\n" );
    ok( foreign_steps == 1, "B7: a suspended worker ran\n" );
    foreign_resume( foreign_runner );
    ok( kit_leaves( &foreign_steps, 1 ), "B8: it did not go on after it was resumed\n" );
    foreign_finish( FALSE );
}

START_TEST( scenario_foreign_suspend_blocked )
{
    if (!foreign_begin( foreign_wait, TRUE )) return;
    ok( kit_leaves( &foreign_runner->blocks, 0 ), "B11: no Blocked upcall\n" );
    foreign_suspend( foreign_runner );
    SetEvent( foreign_event );
    ok( kit_moves( &foreign_turns ) && kit_moves( &foreign_turns ), "B10: the other worker got no turn\n" );
    ok( foreign_steps == 1, "B7: a suspended worker went on\n" );
    foreign_resume( foreign_runner );
    ok( kit_leaves( &foreign_steps, 1 ), "B8: it did not go on after it was resumed\n" );
    foreign_finish( FALSE );
}

/* ---- its registers ---- */

static volatile LONG landed;

static DWORD spin_at_home_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    GetHandleInformation( foreign_event, &flags );
    foreign_spun = foreign_spin( &foreign_steps, foreign_magic );
    return 0;
}

#define AGAIN_ROUNDS 40                         /* most of them in a call */

static BOOL same_registers( const CONTEXT *a, const CONTEXT *b )
{
    return a->Rip == b->Rip && !memcmp( &a->Rbx, &b->Rbx, 5 * sizeof(a->Rbx) ) &&
           !memcmp( &a->R12, &b->R12, 4 * sizeof(a->R12) );
}

/* Get and Set from outside, of a worker in the middle of its code. */
static void spin_registers( DWORD (*body)( struct kit_worker *worker ) )
{
    CONTEXT *context;

    if (!foreign_begin( body, TRUE )) return;
    context = &foreign_order->context;
    foreign_suspend( foreign_runner );
    ok( context->Rbx == foreign_magic[0] && context->R12 == foreign_magic[1] && context->R13 == foreign_magic[2] &&
        context->R14 == foreign_magic[3] && context->R15 == foreign_magic[4],
        "5: registers %#llx %#llx %#llx %#llx %#llx\n", (ULONGLONG)context->Rbx,
        (ULONGLONG)context->R12, (ULONGLONG)context->R13, (ULONGLONG)context->R14,
        (ULONGLONG)context->R15 );
    ok( context->Xmm7.Low == foreign_magic[4], "5: xmm7 %#llx\n", (ULONGLONG)context->Xmm7.Low );
    ok( (context->EFlags & FOREIGN_FLAGS) == FOREIGN_FLAGS, "5: flags %#lx\n", context->EFlags );
    context->R12 = 0x1000;
    context->Xmm7.Low = 0x234;
    foreign_tell( FOREIGN_SET, foreign_runner->id );
    context->R12 = 0;
    foreign_tell( FOREIGN_GET, foreign_runner->id );
    ok( context->R12 == 0x1000, "5: r12 is %#llx after it was set\n", (ULONGLONG)context->R12 );
    ok( kit_moves( &foreign_turns ), "B10: the other worker got no turn\n" );
    ok( !foreign_spun, "5: a suspended worker ran\n" );
    foreign_resume( foreign_runner );
    foreign_finish( FALSE );
    ok( foreign_spun == 0x1234 + FOREIGN_OTHERS, "5: what was set came out as %#llx\n", (ULONGLONG)foreign_spun );
}

START_TEST( scenario_foreign_context_running ) { spin_registers( foreign_spin_body ); }
START_TEST( scenario_foreign_context_at_home ) { spin_registers( spin_at_home_body ); }

/* Each call finds the event as the one before has left it: none is lost. */
static DWORD count_calls_body( struct kit_worker *worker )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    NTSTATUS (WINAPI *set)( HANDLE, LONG * ) = (void *)GetProcAddress( ntdll, "NtSetEvent" );
    NTSTATUS (WINAPI *reset)( HANDLE, LONG * ) = (void *)GetProcAddress( ntdll, "NtResetEvent" );
    HANDLE mine = CreateEventW( NULL, TRUE, FALSE, NULL );
    LONG before;
    DWORD flags;

    kit_yield( worker, NULL );
    while (!foreign_stop)
    {
        foreign_steps++;
        flags = ~0u;
        if (!GetHandleInformation( mine, &flags ) || flags) lost++;
        before = 2;
        if (set( mine, &before ) || before != 0) lost++;
        before = 2;
        if (reset( mine, &before ) || before != 1) lost++;
    }
    CloseHandle( mine );
    return 0;
}

/* A worker runs only when it is executed (B10). So one that was resumed and is suspended again before that
   has the same registers, in the middle of a call too [guess], and they can be set. */
START_TEST( scenario_foreign_context_again )
{
    CONTEXT first, *context;
    int i;

    if (!foreign_begin( count_calls_body, TRUE )) return;
    context = &foreign_order->context;
    for (i = 0; i < AGAIN_ROUNDS; i++)
    {
        LONG steps_before, turns_before;

        foreign_suspend( foreign_runner );
        first = *context;
        steps_before = foreign_steps;
        foreign_keep = 1;
        ok( kit_wait_value( &foreign_kept, 1 ), "B10: the other worker got no turn\n" );
        turns_before = foreign_turns;                   /* it may get one more only: the runner need not block */
        foreign_resume( foreign_runner );
        foreign_suspend( foreign_runner );
        unverified ok( same_registers( &first, context ),
                       "5: at %#llx, stack %#llx, and then at %#llx, stack %#llx\n", (ULONGLONG)first.Rip,
                       (ULONGLONG)first.Rsp, (ULONGLONG)context->Rip, (ULONGLONG)context->Rsp );
        *context = first;
        foreign_tell( FOREIGN_SET, foreign_runner->id );
        foreign_tell( FOREIGN_GET, foreign_runner->id );
        unverified ok( same_registers( &first, context ), "5: at %#llx after it was set to %#llx\n",
                       (ULONGLONG)context->Rip, (ULONGLONG)first.Rip );
        if (i & 1)                              /* and by its own process */
        {
            first.ContextFlags = CONTEXT_FULL;
            ok( GetThreadContext( foreign_runner->thread, &first ) &&
                SetThreadContext( foreign_runner->thread, &first ), "5: error %lu\n", GetLastError() );
        }
        ok( foreign_steps == steps_before, "B10: it ran before it was executed\n" );
        foreign_resume( foreign_runner );
        foreign_keep = 0;
        ok( kit_leaves( &foreign_turns, turns_before ), "B10: the other worker got no turn\n" );
        foreign_kept = 0;
        ok( kit_leaves( &foreign_steps, steps_before ), "B8: it did not go on after it was resumed\n" );
    }
    foreign_finish( FALSE );
    ok( !lost, "5: %ld calls were not made, or gave a wrong result\n", lost );
}

static NT_TIB *volatile tib;

static DWORD park_known_body( struct kit_worker *worker )
{
    tib = kit_teb();
    return foreign_park( worker );
}

static void land( LONG value )
{
    landed = value;
    ExitThread( 0 );
}

/* A yielded worker that goes on somewhere else. */
START_TEST( scenario_foreign_context_yielded )
{
    CONTEXT *context;

    if (!foreign_begin( park_known_body, TRUE )) return;
    context = &foreign_order->context;
    ok( kit_wait_value( &foreign_runner->parked, 1 ), "no Yield upcall\n" );
    foreign_suspend( foreign_runner );
    unverified ok( context->Rsp >= (ULONG_PTR)tib->StackLimit &&
                   context->Rsp < (ULONG_PTR)tib->StackBase,
                   "5: the stack pointer %#llx is not on its stack\n", (ULONGLONG)context->Rsp );
    context->Rip = (ULONG_PTR)land;
    context->Rcx = 0x77;
    context->Rsp = ((context->Rsp - 0x100) & ~(ULONG_PTR)15) - 8;
    foreign_tell( FOREIGN_SET, foreign_runner->id );
    foreign_resume( foreign_runner );
    foreign_runner->ended = 1;
    foreign_runner->yields_made = 1;
    kit_ready( foreign_runner, &kit.scheds[0] );
    foreign_finish( FALSE );
    ok( landed == 0x77, "5: it did not go on where it was set: %ld\n", landed );
}

/* ---- any time ---- */

#define STORM_ROUNDS 40

/* Computes, calls and yields: so a suspension finds any of them. */
static DWORD storm_body( struct kit_worker *worker )
{
    DWORD flags;

    while (!foreign_stop)
    {
        foreign_steps++;
        if (!(foreign_steps & 7)) kit_yield( worker, NULL );
        else if (!(foreign_steps & 3)) GetHandleInformation( foreign_event, &flags );
        else if (foreign_steps & 1) ResetEvent( foreign_event );
    }
    return 0;
}

START_TEST( scenario_foreign_storm )
{
    int i, starved = 0;

    if (!foreign_begin( storm_body, TRUE )) return;
    for (i = 0; i < STORM_ROUNDS; i++)
    {
        foreign_tell( FOREIGN_SUSPEND, foreign_runner->id );
        if (i & 1)
        {
            foreign_order->context.ContextFlags = CONTEXT_CONTROL;
            foreign_tell( FOREIGN_GET, foreign_runner->id );
        }
        foreign_tell( FOREIGN_RESUME, foreign_runner->id );
        if (i % 4 == 3 && (!kit_moves( &foreign_steps ) || !kit_moves( &foreign_turns ))) starved++;
    }
    foreign_finish( FALSE );
    ok( !starved, "B10: a worker did not get its turn %d times\n", starved );
}
