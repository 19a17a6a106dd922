/*
 * Scenarios: much at once; short, and with sums that must come out.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B2, B4, B9, B11, B13, B14, B16, B18, B20, B27. Beside the sums here kit_check does those of
 * each worker: executes = deliveries - the last + yields; Blocked upcalls = deliveries - the first.
 */
#include "scenario_kit.h"

/* --- everybody does everything --- */

#define MIX_SCHEDS  3
#define MIX_WORKERS 24
#define MIX_STEPS   60

static volatile LONG mix_sum[5];
static HANDLE mix_semaphore;

static DWORD mix_body( struct kit_worker *worker )
{
    DWORD seed = 0x9e3779b9 * (worker->index + 1);
    int i, what;

    for (i = 0; i < MIX_STEPS; i++)
    {
        seed = seed * 1664525 + 1013904223;
        what = seed >> 28;
        if (what < 6)
        {
            kit_yield( worker, worker );
            InterlockedIncrement( &mix_sum[0] );
        }
        else if (what < 10)
        {
            kit_migrate( worker, &kit.scheds[(seed >> 8) % MIX_SCHEDS] );
            InterlockedIncrement( &mix_sum[1] );
        }
        else if (what < 12)
        {
            Sleep( 1 );
            InterlockedIncrement( &mix_sum[2] );
        }
        else if (what < 14)
        {
            /* two tokens for all: contended, and given back by whoever has one */
            if (WaitForSingleObject( mix_semaphore, KIT_LIMIT )) continue;
            kit_yield( worker, NULL );
            ReleaseSemaphore( mix_semaphore, 1, NULL );
            InterlockedIncrement( &mix_sum[3] );
        }
        else
        {
            SwitchToThread();
            InterlockedIncrement( &mix_sum[4] );
        }
    }
    return 0;
}

START_TEST( scenario_stress_mix )
{
    LONG sum = 0, executes = 0, upcalls = 0, startups = 0;
    int i;

    if (!kit_open()) return;
    mix_semaphore = CreateSemaphoreW( NULL, 2, 2, NULL );
    for (i = 0; i < MIX_SCHEDS; i++) kit_add_sched( NULL );
    for (i = 0; i < MIX_WORKERS; i++) kit_add_worker( kit.scheds[i % MIX_SCHEDS].list, mix_body,
                                                      NULL );
    kit_start();
    kit_finish();
    for (i = 0; i < 5; i++) sum += mix_sum[i];
    ok( sum == MIX_WORKERS * MIX_STEPS, "%ld steps of %d\n", sum, MIX_WORKERS * MIX_STEPS );
    for (i = 0; i < MIX_WORKERS; i++) executes += kit.workers[i].executes;
    for (i = 0; i < MIX_SCHEDS; i++)
    {
        upcalls += kit.scheds[i].upcalls;
        startups += kit.scheds[i].startups;
    }
    ok( executes == upcalls - startups, "B6: %ld executes, %ld upcalls after them\n", executes,
        upcalls - startups );
    kit_check();
    CloseHandle( mix_semaphore );
}

/* --- ping-pong: B16 --- */

#define PING_ROUNDS 2000

static HANDLE ping_events[2];
static volatile LONG ping_rounds[2];

static DWORD ping_body( struct kit_worker *worker )
{
    int self = worker->index, i;

    for (i = 0; i < PING_ROUNDS; i++)
    {
        if (WaitForSingleObject( ping_events[self], KIT_LIMIT )) break;
        kit_look( worker );
        ping_rounds[self]++;
        SetEvent( ping_events[self ^ 1] );
    }
    return 0;
}

/* Two workers of one scheduler; every wait is ended by the other, so each needs the scheduler to
   run both. */
START_TEST( scenario_stress_ping_pong )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) ping_events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < 2; i++) kit_add_worker( sched->list, ping_body, NULL );
    kit_start();
    SetEvent( ping_events[0] );
    kit_finish();
    for (i = 0; i < 2; i++)
        ok( ping_rounds[i] == PING_ROUNDS, "B16: worker %d: %ld rounds of %d\n", i, ping_rounds[i],
            PING_ROUNDS );
    ok( sched->blocked >= PING_ROUNDS, "B11: %ld Blocked upcalls in %d rounds\n", sched->blocked,
        PING_ROUNDS );
    kit_check();
    for (i = 0; i < 2; i++) CloseHandle( ping_events[i] );
}

/* --- a crowd that is blocked at the same time: B11 --- */

#define CROWD 200

static HANDLE crowd_event;
static volatile LONG crowd_arrived, crowd_passed;

static DWORD crowd_body( struct kit_worker *worker )
{
    (void)worker;
    InterlockedIncrement( &crowd_arrived );
    if (WaitForSingleObject( crowd_event, 2 * KIT_LIMIT )) return 1;
    Sleep( 10 );
    InterlockedIncrement( &crowd_passed );
    return 0;
}

/* The event is set when all are there, which they can only be if the one scheduler gets control
   from each. */
START_TEST( scenario_stress_crowd )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    crowd_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < CROWD; i++) kit_add_worker( sched->list, crowd_body, NULL );
    kit_start();
    ok( kit_wait_value( &crowd_arrived, CROWD ), "B11: only %ld of %d got to their wait\n",
        crowd_arrived,
        CROWD );
    ok( !crowd_passed, "%ld are through before the event is set\n", crowd_passed );
    SetEvent( crowd_event );
    kit_finish();
    ok( crowd_passed == CROWD, "B9: %ld of %d came through\n", crowd_passed, CROWD );
    kit_check();
    CloseHandle( crowd_event );
}

/* --- workers that make workers: B2, B4 --- */

#define DEPTH 5

static volatile LONG family;

static DWORD family_body( struct kit_worker *worker )
{
    int depth = (int)(ULONG_PTR)worker->arg, i;
    struct kit_worker *child[2];

    InterlockedIncrement( &family );
    if (!depth) return 0;
    for (i = 0; i < 2; i++)
        child[i] = kit_add_worker( kit.scheds[i].list, family_body,
                                   (void *)(ULONG_PTR)(depth - 1) );
    kit_migrate( worker, &kit.scheds[depth & 1] );
    for (i = 0; i < 2; i++)
        if (!child[i] || WaitForSingleObject( child[i]->thread, KIT_LIMIT )) return 1;
    return 0;
}

/* A tree of 63; every parent waits for its children's threads. */
START_TEST( scenario_stress_family )
{
    DWORD code;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) kit_add_sched( NULL );
    kit_add_worker( kit.scheds[0].list, family_body, (void *)(ULONG_PTR)DEPTH );
    kit_start();
    kit_finish();
    ok( family == (2 << DEPTH) - 1, "B4: %ld workers of %d\n", family, (2 << DEPTH) - 1 );
    for (i = 0; i < kit.worker_count; i++)
    {
        code = 99;
        wait_signaled( kit.workers[i].thread );
        GetExitCodeThread( kit.workers[i].thread, &code );
        ok( !code, "B4: worker %d did not see its children end, %lu\n", i, code );
    }
    kit_check();
}

/* --- schedulers that leave one by one: B20 --- */

#define DESERTERS 3

static volatile LONG deserted;

static BOOL desert_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    struct kit_worker *worker;

    (void)param;
    if (!sched->index || sched->upcalls < 25 * sched->index) return FALSE;
    if (reason == UmsSchedulerThreadYield)
        kit_ready( kit_worker_of( (PUMS_CONTEXT)payload ), &kit.scheds[0] );
    while ((worker = kit_pop( sched ))) kit_ready( worker, &kit.scheds[0] );
    InterlockedIncrement( &deserted );
    return TRUE;
}

static DWORD desert_body( struct kit_worker *worker )
{
    ULONGLONG begin = GetTickCount64();
    int i;

    for (i = 0; i < 60 || (deserted < DESERTERS && GetTickCount64() - begin < KIT_LIMIT / 2); i++)
    {
        kit_yield( worker, NULL );
        if (i % 5 == 4) Sleep( 1 );
    }
    return 0;
}

/* Four share a list; three return from their SchedulerProc in the middle, the last one does the
   rest. */
START_TEST( scenario_stress_desert )
{
    PUMS_COMPLETION_LIST list;
    int i;

    if (!kit_open()) return;
    list = kit_new_list();
    for (i = 0; i <= DESERTERS; i++) kit_add_sched( list )->on_upcall = desert_upcall;
    for (i = 0; i < 12; i++) kit_add_worker( list, desert_body, NULL );
    kit_start();
    kit_finish();
    ok( deserted == DESERTERS, "B20: %ld schedulers of %d left early\n", deserted, DESERTERS );
    kit_check();
}
