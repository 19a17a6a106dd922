/*
 * Scenarios: a worker waits for an address or for the time, and meanwhile its scheduler leaves or ends, or its completion
 * list is deleted.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B19, B20, 1.2, 6.2; open point 4. A worker is queued to the list of the scheduler that executed it last [seen], and
 * workers outlive their schedulers [seen: B19]. What becomes of a list that is deleted while a worker will be queued to it
 * is nowhere written down [guess].
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"

enum departure { LEAVES, ENDS, KILLED };

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );

static enum departure departure;
static volatile LONG word, waits, back;

static BOOL open_waits( void )
{
    HMODULE base = GetModuleHandleW( L"kernelbase.dll" );

    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    if (pWaitOnAddress && pWakeByAddressSingle) return kit_open();
    skip( "no WaitOnAddress: Windows before 8\n" );
    return FALSE;
}

/* A first Sleep has begun whatever the system needs for waits with a time-out. */
static DWORD wait_body( struct kit_worker *worker )
{
    LONG zero = 0;
    BOOL timed = worker->arg != NULL;

    if (timed) Sleep( 1 );
    waits = worker->blocks + 1;                 /* while it runs nobody counts */
    if (timed) while (!word) Sleep( 20 );
    else while (!word) pWaitOnAddress( &word, &zero, sizeof(zero), INFINITE );
    back = 1;
    return 0;
}

static void wake( void )
{
    word = 1;
    pWakeByAddressSingle( (void *)&word );
}

/* The upcall for the wait is the last one of this scheduler. */
static BOOL depart( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason != UmsSchedulerThreadBlocked || !waits || sched->log[sched->upcalls - 1].worker->blocks != waits) return FALSE;
    if (departure == ENDS) ExitThread( 77 );
    if (departure == KILLED) Sleep( INFINITE );
    return TRUE;
}

static void until_it_has_departed( struct kit_sched *sched )
{
    ok( kit_leaves( &waits, 0 ) && kit_wait_value( &kit.workers[0].blocks, waits ), "nobody was told of the wait\n" );
    if (departure == KILLED) ok( TerminateThread( sched->thread, 77 ), "error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( sched->thread, KIT_LIMIT ), "the first scheduler does not end\n" );
}

/* The first scheduler is gone, and another one may have its place, when the wait ends: the worker comes to the list of the
   first, and to no other. */
static void run_departure( enum departure how, BOOL timed )
{
    struct kit_sched *first, *second;
    struct kit_worker *worker;
    int count;

    departure = how;
    if (!open_waits()) return;
    first = kit_add_sched( NULL );
    first->on_upcall = depart;
    first->stays = how != LEAVES;
    worker = kit_add_worker( first->list, wait_body, timed ? first : NULL );
    kit_start();
    if (!worker) return;
    until_it_has_departed( first );
    second = kit_add_sched( NULL );
    kit_start();
    ok( kit_wait_value( &second->entered, 1 ), "no second scheduler\n" );
    ok( !worker->terminated && !back, "B19: the worker went with its scheduler\n" );
    wake();
    count = kit_hand_over( first->list, second, KIT_LIMIT );
    ok( count == 1, "6.2: %d contexts on the list of the scheduler that is gone\n", count );
    kit_finish();
    ok( back, "B19: the worker did not go on with another scheduler\n" );
    kit_check();
}

START_TEST( scenario_wait_scheduler_leaves )       { run_departure( LEAVES, FALSE ); }
START_TEST( scenario_wait_scheduler_leaves_timed ) { run_departure( LEAVES, TRUE ); }
START_TEST( scenario_wait_scheduler_ends )         { run_departure( ENDS, FALSE ); }
START_TEST( scenario_wait_scheduler_killed )       { run_departure( KILLED, FALSE ); }
START_TEST( scenario_wait_scheduler_killed_timed ) { run_departure( KILLED, TRUE ); }

/* Its list is deleted, and another one may have its place: the worker comes to none, and whoever kept the context can
   execute it when the wait is over. */
static void run_list_deleted( BOOL timed )
{
    struct kit_sched *first, *second;
    struct kit_worker *worker;
    PUMS_CONTEXT item = NULL;

    departure = LEAVES;
    if (!open_waits()) return;
    umstest_stops = 1;                          /* it is executed before its wait is over, and refused */
    first = kit_add_sched( NULL );
    first->on_upcall = depart;
    worker = kit_add_worker( first->list, wait_body, timed ? first : NULL );
    kit_start();
    if (!worker) return;
    until_it_has_departed( first );
    ok( pDeleteUmsCompletionList( first->list ), "1.2: not deleted, error %lu\n", GetLastError() );
    first->list = kit_new_list();
    second = kit_add_sched( NULL );
    kit_start();
    wake();
    InterlockedIncrement( &worker->queued );    /* to nobody's list */
    kit_ready( worker, second );
    unverified ok( kit_wait_value( &worker->terminated, 1 ), "1.2: the worker cannot be executed\n" );
    kit_finish();
    ok( back, "the worker did not go on\n" );
    ok( pDequeueUmsCompletionListItems( first->list, 0, &item ) && !item, "6.2: it came to a list that is not its own\n" );
    kit_check();
}

START_TEST( scenario_wait_list_deleted )       { run_list_deleted( FALSE ); }
START_TEST( scenario_wait_list_deleted_timed ) { run_list_deleted( TRUE ); }
