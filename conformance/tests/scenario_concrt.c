/*
 * Scenarios: a ConcRT-like client at work.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B1 .. B32 as the model needs them; it counts each broken promise under its row and
 * concrt_stop judges them all. Each test below is there for the rows its comment names.
 */
#include "scenario_concrt_model.h"

/* B1: the 17 names ConcRT looks up at its start, each of which it throws for when missing. */
START_TEST( scenario_concrt_names )
{
    ok( pCreateRemoteThreadEx != NULL, "B1: CreateRemoteThreadEx\n" );
    ok( pCreateUmsCompletionList != NULL, "B1: CreateUmsCompletionList\n" );
    ok( pCreateUmsThreadContext != NULL, "B1: CreateUmsThreadContext\n" );
    ok( pDeleteProcThreadAttributeList != NULL, "B1: DeleteProcThreadAttributeList\n" );
    ok( pDeleteUmsCompletionList != NULL, "B1: DeleteUmsCompletionList\n" );
    ok( pDeleteUmsThreadContext != NULL, "B1: DeleteUmsThreadContext\n" );
    ok( pDequeueUmsCompletionListItems != NULL, "B1: DequeueUmsCompletionListItems\n" );
    ok( pEnterUmsSchedulingMode != NULL, "B1: EnterUmsSchedulingMode\n" );
    ok( pExecuteUmsThread != NULL, "B1: ExecuteUmsThread\n" );
    ok( pGetCurrentUmsThread != NULL, "B1: GetCurrentUmsThread\n" );
    ok( pGetNextUmsListItem != NULL, "B1: GetNextUmsListItem\n" );
    ok( pGetUmsCompletionListEvent != NULL, "B1: GetUmsCompletionListEvent\n" );
    ok( pInitializeProcThreadAttributeList != NULL, "B1: InitializeProcThreadAttributeList\n" );
    ok( pQueryUmsThreadInformation != NULL, "B1: QueryUmsThreadInformation\n" );
    ok( pSetUmsThreadInformation != NULL, "B1: SetUmsThreadInformation\n" );
    ok( pUmsThreadYield != NULL, "B1: UmsThreadYield\n" );
    ok( pUpdateProcThreadAttribute != NULL, "B1: UpdateProcThreadAttribute\n" );
}

/* --- creation: B2, B3, B4, B5, B30 --- */

#define CREATORS 3
#define CREATED  4

static volatile LONG leaves;

static void leaf_task( struct concrt_worker *worker )
{
    concrt_act( worker, ACTION_YIELD );
    InterlockedIncrement( &leaves );
}

/* a worker that creates workers: it blocks until the engine has run each */
static void creator_task( struct concrt_worker *worker )
{
    (void)worker;
    concrt_spawn( leaf_task, NULL );
    concrt_spawn( leaf_task, NULL );
}

static DWORD WINAPI creator_thread( void *arg )
{
    int i, made = 0;

    (void)arg;
    if (pGetCurrentUmsThread()) concrt_violation( 30 );
    for (i = 0; i < CREATED; i++) made += concrt_spawn( creator_task, NULL ) != NULL;
    return made;
}

/* Several plain threads and many workers create at once; they share the factory's list and its
   auto-reset event. */
START_TEST( scenario_concrt_create )
{
    HANDLE creators[CREATORS];
    DWORD code;
    int i;

    if (!concrt_start( 2 )) return;
    for (i = 0; i < CREATORS; i++) creators[i] = CreateThread( NULL, 0, creator_thread, NULL, 0,
                                                               NULL );
    for (i = 0; i < CREATORS; i++)
    {
        ok( !WaitForSingleObject( creators[i], 2 * CONCRT_LIMIT ), "B4: creator %d hangs\n", i );
        code = 0;
        GetExitCodeThread( creators[i], &code );
        ok( code == CREATED, "B4, B30: creator %d made %lu workers\n", i, code );
        CloseHandle( creators[i] );
    }
    concrt_stop();
    ok( leaves == CREATORS * CREATED * 2, "B4: %ld leaves ran\n", leaves );
    ok( concrt.engine.yields == concrt.worker_count, "B3: %ld first yields of %ld workers\n",
        concrt.engine.yields, concrt.worker_count );
}

/* --- the daily mix: B6, B9, B11, B13, B14, B16, B18, B19, B21, B22, B23, B27 --- */

#define MIXED 16
#define STEPS 40

static HANDLE mix_events[MIXED];
static volatile LONG mix_steps;

static void mix_task( struct concrt_worker *worker )
{
    int self = (int)(ULONG_PTR)worker->arg, i;

    for (i = 0; i < STEPS; i++)
    {
        switch ((i + self) % 5)
        {
        case 0:
            concrt_act( worker, ACTION_YIELD );
            break;
        case 1:
            concrt_migrate( worker, i & 1 );
            break;
        case 2:
            Sleep( 1 );
            break;
        case 3:
            ReleaseSemaphore( mix_events[self ^ 1], 1, NULL );
            break;
        case 4:
            /* the partner gives as many signals as it takes */
            if (WaitForSingleObject( mix_events[self], CONCRT_LIMIT )) concrt_violation( 11 );
            break;
        }
        InterlockedIncrement( &mix_steps );
    }
}

START_TEST( scenario_concrt_mix )
{
    int i;

    if (!concrt_start( 2 )) return;
    for (i = 0; i < MIXED; i++) mix_events[i] = CreateSemaphoreW( NULL, 0, STEPS, NULL );
    for (i = 0; i < MIXED; i++) concrt_spawn( mix_task, (void *)(ULONG_PTR)i );
    concrt_stop();
    ok( mix_steps == MIXED * STEPS, "B9: %ld steps of %d\n", mix_steps, MIXED * STEPS );
    ok( concrt.primaries[0].executes &&
        concrt.primaries[1].executes, "B27: one primary did it all\n" );
    for (i = 0; i < MIXED; i++) CloseHandle( mix_events[i] );
}

/* --- outside any virtual processor: B17 --- */

static volatile LONG nested;

static void nest_task( struct concrt_worker *worker )
{
    int i, round;

    for (round = 0; round < 3; round++)
    {
        concrt_act( worker, ACTION_NEST );
        for (i = 0; i < 5; i++) Sleep( 1 );
        if (worker->ran_on != &concrt.engine) concrt_violation( 17 );
        concrt_act( worker, ACTION_UNNEST );
        Sleep( 1 );                     /* comes to the primaries' list again (6.2) */
        if (worker->ran_on == &concrt.engine) concrt_violation( 17 );
    }
    InterlockedIncrement( &nested );
}

START_TEST( scenario_concrt_engine )
{
    int i;

    if (!concrt_start( 2 )) return;
    for (i = 0; i < 4; i++) concrt_spawn( nest_task, NULL );
    concrt_stop();
    ok( nested == 4, "B17: %ld workers of 4 came through\n", nested );
    ok( concrt.nest_blocks >= 4 * 3 * 5, "B11: %ld Blocked upcalls on the engine\n",
        concrt.nest_blocks );
}

/* --- Sleep(1) means "let others run": B11 --- */

static volatile LONG sleeper_flag;
static volatile LONG sleeps;

static void sleeper_task( struct concrt_worker *worker )
{
    ULONGLONG limit = GetTickCount64() + CONCRT_LIMIT;

    (void)worker;
    while (!sleeper_flag && GetTickCount64() < limit)
    {
        Sleep( 1 );
        sleeps++;
    }
    if (!sleeper_flag) concrt_violation( 11 );
}

static void waker_task( struct concrt_worker *worker )
{
    int i;

    for (i = 0; i < 3; i++) concrt_act( worker, ACTION_YIELD );
    sleeper_flag = 1;
}

/* One primary: the sleeper's condition is another worker's work. */
START_TEST( scenario_concrt_sleep )
{
    if (!concrt_start( 1 )) return;
    concrt_spawn( sleeper_task, NULL );
    concrt_spawn( waker_task, NULL );
    concrt_stop();
    ok( sleeper_flag == 1, "B11: the other worker did not run\n" );
}

/* --- regions: B10, B12, B28 --- */

static volatile LONG region_moved, region_switches, region_rounds, region_stop;
static HANDLE region_event;

static void region_task( struct concrt_worker *worker )
{
    struct concrt_primary *primary;
    LONG executes, awaits;
    int i, k;

    for (i = 0; i < 10; i++)
    {
        worker->hyper++;
        primary = worker->ran_on;
        executes = primary->executes;
        awaits = concrt.awaits;
        for (k = 0; k < 20; k++) SetEvent( region_event );
        if (primary->executes != executes) region_switches++;       /* B12 */
        Sleep( 1 );
        /* the worker itself was executed again, once per block; nobody else was */
        if (worker->ran_on != primary) region_moved++;
        if (primary->executes - executes != concrt.awaits - awaits) region_switches++;
        worker->hyper--;
        concrt_act( worker, ACTION_YIELD );
        worker->critical++;
        Sleep( 1 );                     /* a system call: not hidden */
        worker->critical--;
        region_rounds++;
    }
    region_stop = 1;
}

static void bystander_task( struct concrt_worker *worker )
{
    while (!region_stop) concrt_act( worker, ACTION_YIELD );
}

/* A worker in a hyper-critical region keeps its primary, blocked or not; in a critical one a real
   block gives it up. */
START_TEST( scenario_concrt_regions )
{
    if (!concrt_start( 2 )) return;
    region_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    concrt_spawn( region_task, NULL );
    concrt_spawn( bystander_task, NULL );
    concrt_spawn( bystander_task, NULL );
    concrt_stop();
    ok( region_rounds == 10, "B10: %ld rounds of 10\n", region_rounds );
    ok( concrt.awaits >= 10, "B10: %ld hidden blocks of 10 at least\n", concrt.awaits );
    ok( !region_moved, "B10: moved %ld times\n", region_moved );
    ok( !region_switches, "B12: lost its place %ld times\n", region_switches );
    CloseHandle( region_event );
}

/* --- suspended workers: B7, B8, B19 --- */

#define SUSPENSIONS 10

static volatile LONG suspended_rounds;

static void suspended_task( struct concrt_worker *worker )
{
    int i;

    for (i = 0; i < SUSPENSIONS; i++)
    {
        concrt_act( worker, ACTION_PARK );
        suspended_rounds++;
    }
}

/* Suspended while it belongs to nobody: Execute fails, the poller gets it and brings it back once
   it is resumed. */
START_TEST( scenario_concrt_poller )
{
    struct concrt_worker *worker;
    int i;

    if (!concrt_start( 2 )) return;
    worker = concrt_spawn( suspended_task, NULL );
    ok( worker != NULL, "no worker\n" );
    for (i = 0; worker && i < SUSPENSIONS; i++)
    {
        ULONGLONG limit = GetTickCount64() + CONCRT_LIMIT;

        push( "round %d", i );
        while (!worker->parked && GetTickCount64() < limit) Sleep( 1 );
        ok( worker->parked, "B9: it does not park\n" );
        ok( SuspendThread( worker->thread ) == 0, "SuspendThread failed\n" );
        concrt_schedule( worker );
        while (concrt.polls <= i && GetTickCount64() < limit) Sleep( 1 );
        ok( concrt.polls == i + 1, "B7: %ld times with the poller\n", concrt.polls );
        ok( suspended_rounds == i, "B7: it ran while suspended\n" );
        ok( ResumeThread( worker->thread ) == 1, "ResumeThread failed\n" );
        while (suspended_rounds == i && GetTickCount64() < limit) Sleep( 1 );
        ok( suspended_rounds == i + 1, "B8: it does not go on\n" );
        pop();
    }
    concrt_stop();
}

/* --- migration: B27 --- */

static volatile LONG migrations;

static void migrating_task( struct concrt_worker *worker )
{
    int i;

    for (i = 0; i < 100; i++)
    {
        concrt_migrate( worker, i & 1 );
        migrations++;
    }
}

START_TEST( scenario_concrt_migrate )
{
    if (!concrt_start( 2 )) return;
    concrt_spawn( migrating_task, NULL );
    concrt_stop();
    ok( migrations == 100, "B27: %ld moves of 100\n", migrations );
    ok( concrt.primaries[0].yields >= 50 &&
        concrt.primaries[1].yields >= 49, "B27: %ld and %ld yields\n",
        concrt.primaries[0].yields, concrt.primaries[1].yields );
}

/* --- end: B18, B20, B32 --- */

static void short_task( struct concrt_worker *worker )
{
    (void)worker;
}

/* Workers that end at once, retired by whichever primary sees them; then everybody leaves. */
START_TEST( scenario_concrt_retire )
{
    int i;

    if (!concrt_start( 2 )) return;
    for (i = 0; i < 60; i++) concrt_spawn( short_task, NULL );
    concrt_stop();
    ok( concrt.finished == 60, "B18: %ld of 60 retired\n", concrt.finished );
}
