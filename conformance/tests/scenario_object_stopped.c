/*
 * Scenarios: a thread is suspended anywhere in a call about an event that only this process knows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread that is suspended keeps no other thread from an event [doc: SuspendThread, Event Objects]: on
 * Windows, the kernel completes the call first.
 */
#include "scenario_kit.h"
#include "object_kit.h"

#define ROUNDS 200

static volatile LONG steps, stop;

static void call( void )
{
    while (!stop)
    {
        ResetEvent( subject );
        steps++;
    }
}

static DWORD call_body( struct kit_worker *worker )
{
    (void)worker;
    call();
    return 0;
}

static DWORD WINAPI call_thread( void *arg )
{
    (void)arg;
    call();
    return 0;
}

/* Uses another event of the process while the thread stands still. */
static void suspend_again_and_again( HANDLE thread )
{
    int i, failed = 0, starved = 0;

    helper = CreateEventW( NULL, TRUE, FALSE, NULL );
    for (i = 0; i < ROUNDS; i++)
    {
        if (SuspendThread( thread ) != 0) failed++;
        if (!SetEvent( helper ) || WaitForSingleObject( helper, 0 ) || !ResetEvent( helper )) failed++;
        if (ResumeThread( thread ) != 1) failed++;
        if (!kit_moves( &steps )) starved++;
    }
    ok( !failed, "%d calls failed\n", failed );
    ok( !starved, "it did not go on %d times\n", starved );
    CloseHandle( helper );
}

START_TEST( scenario_object_thread_suspended )
{
    HANDLE thread;

    subject = CreateEventW( NULL, TRUE, FALSE, NULL );
    thread = start_thread( call_thread, NULL );
    ok( kit_leaves( &steps, 0 ), "it did not start\n" );
    suspend_again_and_again( thread );
    stop = 1;
    join( thread );
    CloseHandle( subject );
}

/* A thread that is ended there keeps nobody from an event either [doc: TerminateThread]. */
START_TEST( scenario_object_thread_ended )
{
    int i, failed = 0, starved = 0;
    HANDLE thread;

    subject = CreateEventW( NULL, TRUE, FALSE, NULL );
    helper = CreateEventW( NULL, TRUE, FALSE, NULL );
    for (i = 0; i < ROUNDS / 2; i++)
    {
        thread = start_thread( call_thread, NULL );
        if (!kit_moves( &steps )) starved++;
        if (!TerminateThread( thread, 1 ) || WaitForSingleObject( thread, KIT_LIMIT )) failed++;
        if (!SetEvent( helper ) || WaitForSingleObject( helper, 0 ) || !ResetEvent( helper )) failed++;
        CloseHandle( thread );
    }
    ok( !failed, "%d calls failed\n", failed );
    ok( !starved, "it did not start %d times\n", starved );
    CloseHandle( subject );
    CloseHandle( helper );
}

/* Its worker makes the calls. */
START_TEST( scenario_object_scheduler_suspended )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, call_body, NULL );
    kit_start();
    ok( kit_leaves( &steps, 0 ), "it did not start\n" );
    suspend_again_and_again( sched->thread );
    stop = 1;
    kit_finish();
    kit_check();
    CloseHandle( subject );
}
