/*
 * Scenarios: another process ends the thread of a worker, or of a scheduler.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B18, B19; section 5, "terminated"; open point 4.
 */
#include "foreign_kit.h"

/* ---- a worker ---- */

static void terminate( DWORD (*body)( struct kit_worker *worker ) )
{
    DWORD code = 0;

    if (!foreign_begin( body, TRUE )) return;
    foreign_runner->ended = 1;                  /* as far as it gets */
    if (body == foreign_park)
    {
        ok( kit_wait_value( &foreign_runner->parked, 1 ), "no Yield upcall\n" );
        foreign_runner->yields_made = 1;        /* it does not return */
        foreign_runner->blocks++;               /* nobody is told */
        foreign_runner->executes++;
    }
    foreign_order->argument = 0x123;
    foreign_tell( FOREIGN_KILL, foreign_runner->id );
    ok( !WaitForSingleObject( foreign_runner->thread, KIT_LIMIT ), "B18: it did not end in %d ms\n",
        KIT_LIMIT );
    ok( kit_wait_value( &foreign_runner->terminated, 1 ), "B18: it was not delivered terminated\n" );
    ok( GetExitCodeThread( foreign_runner->thread, &code ) && code == 0x123, "B18: exit code %#lx\n",
        code );
    ok( kit_moves( &foreign_turns ) && kit_moves( &foreign_turns ),
        "B18: the other worker did not get its turn\n" );
    foreign_finish( FALSE );
}

START_TEST( scenario_foreign_terminate_yielded ) { terminate( foreign_park ); }
START_TEST( scenario_foreign_terminate_running ) { terminate( foreign_compute ); }
START_TEST( scenario_foreign_terminate_at_home ) { terminate( foreign_compute_at_home ); }
START_TEST( scenario_foreign_terminate_blocked ) { terminate( foreign_wait ); }

/* ---- a scheduler ---- */

/* In a call that may block, and that nobody has reported yet where the grace period is long. Then it yields: to the
   scheduler that has executed it since; or to the dead one, if the call is over before anybody has noticed. */
static DWORD read_body( struct kit_worker *worker )
{
    DWORD got;
    char byte;

    kit_yield( worker, NULL );
    foreign_steps = 1;
    ReadFile( foreign_pipe[0], &byte, 1, &got, NULL );
    foreign_steps = 2;
    kit_yield( worker, NULL );
    return 0;
}

/* Its worker goes on with another scheduler that serves the list, with all that it had. That one has
   begun, and executed it, before it may end: a worker that is stopped at its end has the loader lock,
   and no thread begins then. */
static void terminate_scheduler( DWORD (*body)( struct kit_worker *worker ), BOOL call_ends_at_once )
{
    struct kit_sched *first, *second;
    LONG executes;
    DWORD code = 0;

    if (!foreign_begin( body, FALSE )) return;
    first = &kit.scheds[0];
    first->stays = TRUE;
    foreign_order->argument = 0x234;
    foreign_tell( FOREIGN_KILL, first->id );
    if (call_ends_at_once) WriteFile( foreign_pipe[1], "", 1, &code, NULL );
    ok( !WaitForSingleObject( first->thread, KIT_LIMIT ), "it did not end in %d ms\n", KIT_LIMIT );
    ok( GetExitCodeThread( first->thread, &code ) && code == 0x234, "exit code %#lx\n", code );
    if (foreign_wakes) WakeConditionVariable( &foreign_nobody );
    executes = foreign_runner->executes;
    second = kit_add_sched( first->list );
    kit_start();
    ok( kit_wait_value( &second->entered, 1 ), "another scheduler does not begin\n" );
    if (body != foreign_wait && body != read_body)      /* those make no step more by themselves */
        unverified ok( kit_leaves( &foreign_runner->executes, executes ) && kit_moves( &foreign_steps ),
                       "4 its worker does not go on with another scheduler\n" );
    foreign_magic[1] = 0;
    foreign_finish( body == read_body );
}

START_TEST( scenario_foreign_scheduler_computing ) { terminate_scheduler( foreign_compute, FALSE ); }
START_TEST( scenario_foreign_scheduler_at_home )   { terminate_scheduler( foreign_compute_at_home, FALSE ); }
START_TEST( scenario_foreign_scheduler_idle )      { terminate_scheduler( foreign_wait, FALSE ); }
START_TEST( scenario_foreign_scheduler_reading )   { terminate_scheduler( read_body, FALSE ); }
START_TEST( scenario_foreign_scheduler_yielding )  { terminate_scheduler( read_body, TRUE ); }

/* A wake-up, here before anybody goes on with the worker, waits for nobody [guess] (scenario_suspend_waking.c). Only once: the next scheduler may
   be in a call of its own when the worker goes on, and Wine has locks there that it would keep. */
START_TEST( scenario_foreign_scheduler_waking )
{
    foreign_wakes = 1;
    terminate_scheduler( foreign_wake, FALSE );
}

START_TEST( scenario_foreign_scheduler_registers )
{
    terminate_scheduler( foreign_spin_body, FALSE );
    if (foreign_runner)
        ok( foreign_spun == 0x2222222222222222 + 0x5555555555555555 + FOREIGN_OTHERS,
            "5: its registers came to %#llx\n", (ULONGLONG)foreign_spun );
}

/* The upper half of ymm9 is in halves[0] while it computes, and comes to halves[1]. */
static ULONG64 halves[2][2] = { { 0x1122334455667788, 0x99aabbccddeeff00 }, { 0, 0 } };

static DWORD halves_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    __asm__ volatile( "vinsertf128 $1,(%0),%%ymm9,%%ymm9\n"
                      "1:\tlock incl (%2)\n"
                      "\tcmpq $0,8(%3)\n"
                      "\tjne 1b\n"
                      "\tvextractf128 $1,%%ymm9,(%1)\n"
                      "\tvzeroupper\n"
                      : : "r" (halves[0]), "r" (halves[1]), "r" (&foreign_steps), "r" (foreign_magic) : "xmm9", "memory", "cc" );
    return 0;
}

START_TEST( scenario_foreign_scheduler_upper_halves )
{
    DWORD64 (WINAPI *features)( void ) = (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ), "GetEnabledXStateFeatures" );

    if (!features || !(features() & 4))         /* XSTATE_MASK_AVX */
    {
        skip( "no AVX here\n" );
        return;
    }
    terminate_scheduler( halves_body, FALSE );
    if (foreign_runner)
        ok( halves[1][0] == halves[0][0] && halves[1][1] == halves[0][1], "5: its upper half is %llx %llx\n", halves[1][0],
            halves[1][1] );
}
