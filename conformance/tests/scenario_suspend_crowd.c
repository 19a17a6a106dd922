/*
 * Scenario: many threads, plain ones and workers, suspend, look at and resume the same workers, schedulers and plain threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Row: 5 "suspended". Each SuspendThread raises the count of its thread and each ResumeThread lowers it [doc], so no ResumeThread finds a
 * count of 0, no thread goes on before the last of them, and in the end every thread does. UMSTEST_LIVES (default 400) sets the number of calls.
 */
#include "scenario_kit.h"

#define WORKERS 8
#define PLAIN   4
#define SCHEDS  2
#define TARGETS (WORKERS + PLAIN + SCHEDS)
#define CROWD   8                               /* plain threads that suspend */
#define SERVED  2                               /* workers that do */

static HANDLE targets[TARGETS];
static volatile LONG steps[WORKERS + PLAIN], stop, refused, unread, moved, spurious, calls, at_work = CROWD + SERVED;
static CRITICAL_SECTION section;

static void step( int i )
{
    EnterCriticalSection( &section );
    LeaveCriticalSection( &section );
    if (i % 2) Sleep( 1 );
    InterlockedIncrement( &steps[i] );
}

static DWORD worker_body( struct kit_worker *worker )
{
    while (!stop)
    {
        step( (int)(LONG_PTR)worker->arg );
        kit_yield( worker, NULL );
    }
    return 0;
}

static DWORD WINAPI plain_thread( void *arg )
{
    while (!stop) step( (int)(LONG_PTR)arg );
    return 0;
}

/* Each thread takes the targets in another order. A worker that has suspended all schedulers would never come to
   resume one [guess]. */
static void disturb( int round, int self )
{
    int i = (round * 5 + self * 3) % (self < CROWD ? TARGETS : WORKERS + PLAIN), j;
    HANDLE thread = targets[i];
    CONTEXT context;
    DWORD before;
    LONG was;

    context.ContextFlags = CONTEXT_FULL;
    if (SuspendThread( thread ) == (DWORD)-1)
    {
        InterlockedIncrement( &refused );
        return;
    }
    if (round % 3 == 0)                         /* GetThreadContext waits until it stands still [guess] */
    {
        if (!GetThreadContext( thread, &context )) InterlockedIncrement( &unread );
        was = i < WORKERS + PLAIN ? steps[i] : 0;
        for (j = 0; j < 5000; j++) YieldProcessor();
        if (i < WORKERS + PLAIN && steps[i] != was) InterlockedIncrement( &moved );
    }
    before = ResumeThread( thread );
    InterlockedIncrement( &calls );
    if (!before || before == (DWORD)-1) InterlockedIncrement( &spurious );
}

static DWORD disturbing_body( struct kit_worker *worker )
{
    int i, rounds = umstest_lives() / 4;

    for (i = 0; i < rounds; i++)
    {
        disturb( i, CROWD + (int)(LONG_PTR)worker->arg );
        kit_yield( worker, NULL );
    }
    InterlockedDecrement( &at_work );
    return 0;
}

static DWORD WINAPI disturbing_thread( void *arg )
{
    int i, rounds = umstest_lives() / 4;

    for (i = 0; i < rounds; i++) disturb( i, (int)(LONG_PTR)arg );
    InterlockedDecrement( &at_work );
    return 0;
}

/* They end before their targets do. */
static void let_them_disturb( PUMS_COMPLETION_LIST list )
{
    HANDLE crowd[CROWD];
    int i;

    for (i = 0; i < CROWD; i++) crowd[i] = CreateThread( NULL, 0, disturbing_thread, (void *)(LONG_PTR)i, 0, NULL );
    for (i = 0; i < SERVED; i++) kit_add_worker( list, disturbing_body, (void *)(LONG_PTR)i );
    ok( kit_wait_moving( &at_work, 0, &calls ), "%ld threads do not come to an end\n", at_work );
    for (i = 0; i < CROWD; i++)
    {
        ok( !WaitForSingleObject( crowd[i], KIT_LIMIT ), "thread %d does not end\n", i );
        CloseHandle( crowd[i] );
    }
}

START_TEST( scenario_suspend_crowd )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    InitializeCriticalSection( &section );
    sched = kit_add_sched( NULL );
    kit_add_sched( sched->list );
    for (i = 0; i < WORKERS; i++) targets[i] = kit_add_worker( sched->list, worker_body, (void *)(LONG_PTR)i )->thread;
    for (; i < WORKERS + PLAIN; i++) targets[i] = CreateThread( NULL, 0, plain_thread, (void *)(LONG_PTR)i, 0, NULL );
    kit_start();
    for (i = 0; i < WORKERS + PLAIN; i++) ok( kit_leaves( &steps[i], 0 ), "thread %d does not begin\n", i );
    for (i = 0; i < SCHEDS; i++) targets[WORKERS + PLAIN + i] = kit.scheds[i].thread;
    let_them_disturb( sched->list );
    for (i = 0; i < WORKERS + PLAIN; i++) ok( kit_moves( &steps[i] ), "thread %d stands still\n", i );
    ok( !refused && !unread, "%ld threads were not suspended, %ld not read\n", refused, unread );
    unverified ok( !moved, "%ld suspended threads moved\n", moved );
    ok( !spurious, "%ld times there was nothing to resume\n", spurious );
    stop = 1;
    for (i = WORKERS; i < WORKERS + PLAIN; i++) WaitForSingleObject( targets[i], KIT_LIMIT );
    kit_finish();
    kit_check();
}
