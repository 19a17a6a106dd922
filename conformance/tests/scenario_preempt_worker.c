/*
 * Scenarios: workers that stop other workers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B7, B8, B28; section 5, "suspended".
 */
#include "scenario_kit.h"

#define BOSSES     2
#define BOSS_STOPS 150

static struct target
{
    struct kit_worker *worker;
    volatile LONG steps;
} targets[4];
static volatile LONG bosses, bosses_left, boss_failed, boss_ran, boss_counts;
static HANDLE boss_event;

/* Two on each scheduler: one that yields and moves on, one that spins, calls and waits. */
static DWORD target_body( struct kit_worker *worker )
{
    struct target *target = worker->arg;
    LONG i;

    for (i = 0; bosses_left; i++)
    {
        InterlockedIncrement( &target->steps );
        if (target - targets >= 2)
        {
            if (i % 64 == 63) WaitForSingleObject( boss_event, 1 );
            if (i % 8 == 7) kit_yield( worker, NULL );
            else SetEvent( boss_event );
        }
        else if (i % 16 == 15) kit_migrate( worker, &kit.scheds[i / 16 & 1] );
        else kit_yield( worker, NULL );
    }
    return 0;
}

/* Stop one, see that it does not run although the schedulers do, and let it go. The other boss may
   have stopped the same one. */
static void stop_target( struct kit_worker *worker, struct target *target, int turn )
{
    DWORD before = SuspendThread( target->worker->thread ), after;
    CONTEXT context;
    LONG steps;

    if (before == ~0u)
    {
        InterlockedIncrement( &boss_failed );
        return;
    }
    context.ContextFlags = CONTEXT_CONTROL;                     /* it stands still after that */
    if (!GetThreadContext( target->worker->thread, &context )) InterlockedIncrement( &boss_failed );
    steps = target->steps;
    if (turn % 2) kit_yield( worker, NULL );
    if (turn % 8 == 5) kit_migrate( worker, &kit.scheds[turn / 8 & 1] );
    if (turn % 16 == 14) Sleep( 1 );
    if (target->steps != steps) InterlockedIncrement( &boss_ran );
    after = ResumeThread( target->worker->thread );
    if (after == ~0u) InterlockedIncrement( &boss_failed );
    if (before >= BOSSES || after < 1 || after > BOSSES) InterlockedIncrement( &boss_counts );
    if (turn % 4 == 3) kit_yield( worker, NULL );
}

static DWORD boss_body( struct kit_worker *worker )
{
    int i;

    InterlockedIncrement( &bosses );
    kit_yield_until( worker, &bosses, BOSSES );
    for (i = 0; i < BOSS_STOPS; i++)
        stop_target( worker, &targets[(i + worker->index) % ARRAYSIZE(targets)], i );
    InterlockedDecrement( &bosses_left );
    return 0;
}

/* A worker may suspend and resume workers of its own scheduler, which do not run while it does, and
   of another, which may be anywhere. */
START_TEST( scenario_preempt_by_worker )
{
    int i;

    if (!kit_open()) return;
    boss_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    bosses_left = BOSSES;
    for (i = 0; i < 2; i++) kit_add_sched( NULL );
    for (i = 0; i < (int)ARRAYSIZE(targets); i++)
        targets[i].worker = kit_add_worker( kit.scheds[i & 1].list, target_body, &targets[i] );
    for (i = 0; i < BOSSES; i++) kit_add_worker( kit.scheds[i].list, boss_body, NULL );
    kit_start();
    kit_finish();
    ok( !bosses_left, "%ld workers are not done with it\n", bosses_left );
    ok( !boss_failed, "%ld calls failed\n", boss_failed );
    ok( !boss_ran, "5: suspended workers ran %ld times\n", boss_ran );
    ok( !boss_counts, "%ld suspend counts were out of range\n", boss_counts );
    for (i = 0; i < (int)ARRAYSIZE(targets); i++)
        ok( targets[i].steps > 1, "B8: worker %d did not run\n", i );
    kit_check();
    CloseHandle( boss_event );
}
