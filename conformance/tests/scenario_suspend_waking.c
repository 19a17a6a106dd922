/*
 * Scenarios: a thread is suspended while it wakes others, and what runs meanwhile, or next, wakes others, too.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Row: 5 "suspended". SuspendThread stops a thread wherever it is [doc]. That no thread waits in a wake-up of nobody for one that was suspended in
 * it is a [guess]: no document says so, but a scheduler whose worker waited there would never execute the one that it waits for.
 */
#include "scenario_kit.h"

#define WAKES 10000                             /* most of the time it is in one of these */

/* A scheduler of Wine 8.0 whose worker was stopped there stood still within eleven in most runs, eight of which ran at once. */
static int rounds( void )
{
    return 10 + umstest_lives() / 20;
}

static CONDITION_VARIABLE variable;
static void (WINAPI *wake)( CONDITION_VARIABLE * );     /* one waiter, or all; there is none */
static volatile LONG steps[2], waking, disturbances, stop, rounds_left, refused, not_set, spurious;

static void wake_nobody( int i )
{
    int k;

    for (k = 0; k < WAKES; k++) wake( &variable );
    InterlockedIncrement( &steps[i] );
}

static DWORD waking_body( struct kit_worker *worker )
{
    while (!stop)
    {
        wake_nobody( (int)(LONG_PTR)worker->arg );
        kit_yield( worker, NULL );
    }
    return 0;
}

/* It lets the other worker take a step, and then keeps its turn until it was disturbed: on one busy processor the thread that
   disturbs it rarely runs between two yields. */
static DWORD disturbed_body( struct kit_worker *worker )
{
    LONG seen, other;

    wake_nobody( 0 );
    while (!stop)
    {
        other = steps[1];
        do kit_yield( worker, NULL ); while (steps[1] == other && !stop);
        seen = disturbances;                    /* before it says so: the disturber counts up only then */
        InterlockedExchange( &waking, 1 );
        while (disturbances == seen && !stop) wake( &variable );
        InterlockedExchange( &waking, 0 );      /* before the step that the disturber waits for */
        InterlockedIncrement( &steps[0] );
    }
    return 0;
}

static DWORD WINAPI waking_thread( void *arg )
{
    (void)arg;
    while (!stop) wake_nobody( 1 );
    return 0;
}

/* ---- by a plain thread ---- */

static void suspend_and_resume( HANDLE thread )
{
    DWORD before;

    if (SuspendThread( thread ) == (DWORD)-1) InterlockedIncrement( &refused );
    before = ResumeThread( thread );
    if (!before || before == (DWORD)-1) InterlockedIncrement( &spurious );
}

/* Of a thread that runs. */
static void clear_breakpoints( HANDLE thread )
{
    CONTEXT context;

    memset( &context, 0, sizeof(context) );
    context.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    if (!SetThreadContext( thread, &context )) InterlockedIncrement( &not_set );
}

/* The steps are read while the worker keeps its turn: none is taken then. */
static BOOL disturb_once( void (*disturb)( HANDLE thread ), HANDLE thread )
{
    LONG before[2];

    if (!kit_leaves( &waking, 0 )) return FALSE;
    before[0] = steps[0];
    before[1] = steps[1];
    disturb( thread );
    InterlockedIncrement( &disturbances );
    return kit_leaves( &steps[0], before[0] ) && kit_leaves( &steps[1], before[1] );
}

/* Two workers of one scheduler wake nobody all the time. In each round the first one runs, is disturbed, and then both go on. */
static void disturb_waking( void (WINAPI *which)( CONDITION_VARIABLE * ), void (*disturb)( HANDLE thread ) )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    int i, stands = 0;

    wake = which;
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, disturbed_body, NULL );
    kit_add_worker( sched->list, waking_body, (void *)1 );
    kit_start();
    ok( kit_leaves( &steps[0], 0 ) && kit_leaves( &steps[1], 0 ), "they do not begin\n" );
    for (i = 0; i < rounds() && !stands; i++)
        if (!disturb_once( disturb, worker->thread )) stands = i + 1;
    unverified ok( !stands, "in round %d they stand still\n", stands );
    ok( !refused && !not_set, "%ld times it was not suspended, %ld times its registers not set\n", refused, not_set );
    ok( !spurious, "%ld times there was nothing to resume\n", spurious );
    stop = 1;
    kit_finish();
    kit_check();
}

START_TEST( scenario_suspend_waking )
{
    disturb_waking( WakeConditionVariable, suspend_and_resume );
}

START_TEST( scenario_suspend_waking_all )
{
    disturb_waking( WakeAllConditionVariable, suspend_and_resume );
}

START_TEST( scenario_suspend_waking_set )
{
    disturb_waking( WakeConditionVariable, clear_breakpoints );
}

/* ---- by a worker, which lets another one run before it resumes the thread ---- */

static HANDLE volatile target;

static DWORD suspending_body( struct kit_worker *worker )
{
    DWORD before;
    int i;

    for (i = rounds(); i > 0; i--)
    {
        if (SuspendThread( target ) == (DWORD)-1) InterlockedIncrement( &refused );
        kit_yield( worker, NULL );
        before = ResumeThread( target );
        if (!before || before == (DWORD)-1) InterlockedIncrement( &spurious );
        kit_yield( worker, NULL );
        InterlockedDecrement( &rounds_left );
    }
    return 0;
}

static void suspend_by_worker( PUMS_COMPLETION_LIST list )
{
    ok( kit_leaves( &steps[0], 0 ) && kit_leaves( &steps[1], 0 ), "they do not begin\n" );
    rounds_left = rounds();
    kit_add_worker( list, suspending_body, NULL );
    unverified ok( kit_wait_moving( &rounds_left, 0, &rounds_left ), "%ld rounds are left\n", rounds_left );
    ok( !refused, "%ld times it was not suspended\n", refused );
    ok( !spurious, "%ld times there was nothing to resume\n", spurious );
    stop = 1;
}

START_TEST( scenario_suspend_waking_thread )
{
    struct kit_sched *sched;

    wake = WakeConditionVariable;
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, waking_body, (void *)0 );
    target = CreateThread( NULL, 0, waking_thread, NULL, 0, NULL );
    kit_start();
    suspend_by_worker( sched->list );
    ok( !WaitForSingleObject( target, KIT_LIMIT ), "the plain thread does not end\n" );
    CloseHandle( target );
    kit_finish();
    kit_check();
}

START_TEST( scenario_suspend_waking_scheduler )
{
    struct kit_sched *sched, *other;

    wake = WakeConditionVariable;
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    other = kit_add_sched( NULL );
    kit_add_worker( sched->list, waking_body, (void *)0 );
    kit_add_worker( other->list, waking_body, (void *)1 );
    kit_start();
    target = other->thread;
    suspend_by_worker( sched->list );
    kit_finish();
    kit_check();
}
