/*
 * Scenarios: a thread that waits for an event, a semaphore or a mutex of this process is suspended. Others get what it
 * waits for.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A suspended thread is given nothing [seen: a plain thread, Wine 8.0, 10.0]. On Windows a thread leaves its wait to be suspended,
 * and begins it again when it is resumed [guess].
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"
#include "object_kit.h"

enum kind { EVENT, SEMAPHORE, MUTEX, KINDS };

static const char *const kind_names[] = { "event", "semaphore", "mutex" };

static HANDLE make( enum kind kind )
{
    if (kind == EVENT) return CreateEventW( NULL, FALSE, FALSE, NULL );
    if (kind == SEMAPHORE) return CreateSemaphoreW( NULL, 0, 2, NULL );
    return CreateMutexW( NULL, TRUE, NULL );
}

static void give( enum kind kind )
{
    if (kind == EVENT) SetEvent( subject );
    else if (kind == SEMAPHORE) ReleaseSemaphore( subject, 1, NULL );
    else ReleaseMutex( subject );
}

static DWORD wait_for_turn_body( struct kit_worker *worker )
{
    (void)worker;
    if (!wait_and_tell( subject, KIT_LIMIT )) InterlockedIncrement( &woken );
    return 0;
}

static DWORD WINAPI wait_for_turn_thread( void *arg )
{
    (void)arg;
    wait_for_turn_body( NULL );
    return 0;
}

/* The registers are read because that waits until the thread stands still. */
static void suspend( HANDLE thread )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL;
    ok( !SuspendThread( thread ) && GetThreadContext( thread, &context ), "error %lu\n", GetLastError() );
}

/* It waits, and nobody else does. */
static void take_turn_of( HANDLE thread, enum kind kind )
{
    suspend( thread );
    give( kind );
    unverified ok( !WaitForSingleObject( subject, 0 ), "a suspended thread took the %s\n", kind_names[kind] );
    unverified ok( !woken, "it ran\n" );
    if (kind == MUTEX) ReleaseMutex( subject );
    else give( kind );
    unverified ok( WaitForSingleObject( subject, 0 ) == WAIT_OBJECT_0, "it is not there for others: %s\n", kind_names[kind] );
    ok( ResumeThread( thread ) == 1, "error %lu\n", GetLastError() );
    give( kind );
    unverified ok( kit_wait_value( &woken, 1 ), "it gets no %s when it is resumed\n", kind_names[kind] );
    woken = 0;
}

/* What was given while it was suspended is still there when it is resumed. */
static void leave_turn_to( HANDLE thread, enum kind kind )
{
    suspend( thread );
    give( kind );
    unverified ok( !woken, "it ran\n" );
    ok( ResumeThread( thread ) == 1, "error %lu\n", GetLastError() );
    unverified ok( kit_wait_value( &woken, 1 ), "the %s that was left to it is lost\n", kind_names[kind] );
    woken = 0;
}

static void with_plain_thread( enum kind kind, void (*check)( HANDLE thread, enum kind kind ) )
{
    HANDLE thread;

    subject = make( kind );
    thread = start_thread( wait_for_turn_thread, NULL );
    know_they_wait( 1 );
    check( thread, kind );
    join( thread );
    CloseHandle( subject );
}

START_TEST( scenario_object_waiter_suspended_plain )
{
    enum kind kind;

    begun = CreateSemaphoreW( NULL, 0, 1, NULL );
    for (kind = EVENT; kind < KINDS; kind++)
    {
        with_plain_thread( kind, take_turn_of );
        with_plain_thread( kind, leave_turn_to );
    }
    ok( !wrong, "%ld wrong answers\n", wrong );
    CloseHandle( begun );
}

static void with_worker( struct kit_sched *sched, enum kind kind, void (*check)( HANDLE thread, enum kind kind ) )
{
    struct kit_worker *worker;

    subject = make( kind );
    worker = kit_add_worker( sched->list, wait_for_turn_body, NULL );
    know_they_wait( 1 );
    if (worker && kit_leaves( &worker->blocks, 0 )) check( worker->thread, kind );
    ok( worker && kit_wait_value( &worker->terminated, 1 ), "it does not end\n" );
    CloseHandle( subject );
}

START_TEST( scenario_object_waiter_suspended_worker )
{
    struct kit_sched *sched;
    enum kind kind;

    if (!kit_open()) return;
    begun = CreateSemaphoreW( NULL, 0, 1, NULL );
    sched = kit_add_sched( NULL );
    kit_start();
    for (kind = EVENT; kind < KINDS; kind++)
    {
        with_worker( sched, kind, take_turn_of );
        with_worker( sched, kind, leave_turn_to );
    }
    kit_finish();
    ok( !wrong, "%ld wrong answers\n", wrong );
    kit_check();
    CloseHandle( begun );
}

/* ---- its time is over while it is suspended ---- */

#define TIME 1000                               /* ms */

static volatile DWORD began, timed_ret;

static DWORD timed_body( struct kit_worker *worker )
{
    int i;

    (void)worker;
    for (i = 0; i < 20; i++) WaitForSingleObject( subject, 1 );     /* the first ones may be made in another way */
    began = GetTickCount();
    timed_ret = wait_and_tell( subject, TIME );
    InterlockedIncrement( &woken );
    return 0;
}

static DWORD WINAPI timed_thread( void *arg )
{
    (void)arg;
    timed_body( NULL );
    return 0;
}

/* What was given while it was suspended counts, and not that its time is over. If it was not suspended in time there is nothing to check. */
static void give_after_time( HANDLE thread )
{
    DWORD late;

    suspend( thread );
    late = GetTickCount() - began;
    SetEvent( subject );
    Sleep( 2 * TIME );
    ok( ResumeThread( thread ) == 1, "error %lu\n", GetLastError() );
    unverified ok( kit_wait_value( &woken, 1 ), "it does not go on\n" );
    if (late < TIME / 2) unverified ok( timed_ret == WAIT_OBJECT_0, "the wait returned %lx\n", timed_ret );
    woken = 0;
}

START_TEST( scenario_object_waiter_suspended_time )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    begun = CreateSemaphoreW( NULL, 0, 1, NULL );
    thread = start_thread( timed_thread, NULL );
    know_they_wait( 1 );
    give_after_time( thread );
    join( thread );
    sched = kit_add_sched( NULL );
    kit_start();
    worker = kit_add_worker( sched->list, timed_body, NULL );
    know_they_wait( 1 );
    if (worker) give_after_time( worker->thread );
    kit_finish();
    ok( !wrong, "%ld wrong answers\n", wrong );
    kit_check();
    CloseHandle( subject );
    CloseHandle( begun );
}
