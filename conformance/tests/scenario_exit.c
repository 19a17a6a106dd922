/*
 * Scenarios: the process ends while workers are blocked, yielded, new and running.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * No row of the specification names it, every program does it. The test starts its own command line
 * once more (scenario_child.h); the new process builds the scene and ends in it. Exit code and time
 * are what counts.
 */
#include "scenario_child.h"

#define EXIT_BASE 0x5a00

enum ending
{
    END_WORKER, END_SCHEDULER, END_PLAIN, END_TERMINATE, END_RUNNING_WORKER
};

static enum ending ending;
static HANDLE never;
static volatile LONG blocked_count, running_count, go;
static struct kit_worker *parked;

static DWORD blocked_body( struct kit_worker *worker )
{
    (void)worker;
    InterlockedIncrement( &blocked_count );
    WaitForSingleObject( never, INFINITE );
    return 0;
}

static DWORD parked_body( struct kit_worker *worker )
{
    kit_park( worker );
    return 0;
}

static DWORD running_body( struct kit_worker *worker )
{
    (void)worker;
    InterlockedIncrement( &running_count );
    while (!go || ending != END_RUNNING_WORKER) YieldProcessor();
    ExitProcess( EXIT_BASE + ending );
}

static DWORD ending_body( struct kit_worker *worker )
{
    while (!go) if (!kit_yield( worker, NULL )) return 1;
    if (ending == END_WORKER) ExitProcess( EXIT_BASE + ending );
    if (ending == END_TERMINATE) TerminateProcess( GetCurrentProcess(), EXIT_BASE + ending );
    for (;;) if (!kit_yield( worker, &parked )) return 1;
}

static BOOL ending_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload;
    if (reason == UmsSchedulerThreadYield && param == &parked && ending == END_SCHEDULER)
        ExitProcess( EXIT_BASE + ending );
    return FALSE;
}

/* The scene: two blocked, one parked, one never executed, one spinning on the second scheduler, one
   that yields. */
static void end_process( void )
{
    struct kit_sched *first, *second;
    PUMS_COMPLETION_LIST unserved;

    if (!kit_open()) return;
    never = CreateEventW( NULL, TRUE, FALSE, NULL );
    unserved = kit_new_list();
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = ending_upcall;
    kit_add_worker( first->list, blocked_body, NULL );
    kit_add_worker( first->list, blocked_body, NULL );
    kit_add_worker( second->list, running_body, NULL );
    kit_add_worker( unserved, blocked_body, NULL );
    parked = kit_add_worker( first->list, parked_body, NULL );
    kit_start();
    if (!kit_wait_value( &blocked_count, 2 )) return;
    if (!kit_wait_value( &running_count, 1 )) return;
    if (!kit_wait_value( &parked->parked, 1 )) return;
    if (!kit_wait_value( &kit.workers[0].blocks, 1 ) && !kit.workers[0].blocks) return;
    if (ending == END_WORKER || ending == END_SCHEDULER || ending == END_TERMINATE)
        kit_add_worker( first->list, ending_body, NULL );
    go = 1;
    if (ending == END_PLAIN) ExitProcess( EXIT_BASE + ending );
    Sleep( KIT_LIMIT );
}

static void run_ending( enum ending how )
{
    DWORD code;

    ending = how;
    if (child_is_here())
    {
        end_process();
        return;
    }
    if (!need( EnterUmsSchedulingMode ) || !child_run( &code )) return;
    ok( code == (DWORD)(EXIT_BASE + how), "exit code %#lx, expected %#x\n", code, EXIT_BASE + how );
}

START_TEST( scenario_exit_process_worker )
{
    run_ending( END_WORKER );
}

START_TEST( scenario_exit_process_running_worker )
{
    run_ending( END_RUNNING_WORKER );
}

START_TEST( scenario_exit_process_scheduler )
{
    run_ending( END_SCHEDULER );
}

START_TEST( scenario_exit_process_plain )
{
    run_ending( END_PLAIN );
}

START_TEST( scenario_exit_process_terminate )
{
    run_ending( END_TERMINATE );
}
