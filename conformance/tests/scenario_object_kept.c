/*
 * Scenarios: waits and calls about a mutex that its owner has made known to others.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether others know the mutex makes no difference to what its owner is told [doc: Mutex Objects]. Each answer is that of plain Wine
 * [seen: 8.0, 10.0].
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"
#include "object_kit.h"

#define NO_HANDLE ((HANDLE)(ULONG_PTR)0xdead4)

static volatile LONG apcs;

static void CALLBACK count_apc( ULONG_PTR unused )
{
    (void)unused;
    apcs++;
}

static void own_and_make_known( void )
{
    subject = CreateMutexW( NULL, FALSE, NULL );
    ok( !WaitForSingleObject( subject, 0 ), "it has an owner already\n" );
    helper = copy_of( subject );
}

static DWORD WINAPI poll_thread( void *arg )
{
    (void)arg;
    return WaitForSingleObject( subject, 0 );
}

static DWORD ask_other( void )
{
    HANDLE thread = start_thread( poll_thread, NULL );
    DWORD ret = WAIT_FAILED;

    ok( !WaitForSingleObject( thread, KIT_LIMIT ) && GetExitCodeThread( thread, &ret ), "no answer\n" );
    CloseHandle( thread );
    return ret;
}

static void close_both( void )
{
    CloseHandle( helper );
    CloseHandle( subject );
}

/* A wait that is satisfied at once runs no APC [doc]. */
START_TEST( scenario_mutex_kept_alertable )
{
    HANDLE both[2];
    DWORD ret;

    own_and_make_known();
    both[0] = CreateEventW( NULL, TRUE, FALSE, NULL );
    both[1] = subject;
    ok( QueueUserAPC( count_apc, GetCurrentThread(), 0 ), "QueueUserAPC: error %lu\n", GetLastError() );
    ret = WaitForMultipleObjectsEx( 2, both, FALSE, 0, TRUE );
    ok( ret == WAIT_OBJECT_0 + 1 && !apcs, "the wait returned %lx, %ld APCs\n", ret, apcs );
    SleepEx( 0, TRUE );
    ok( apcs == 1, "%ld APCs\n", apcs );
    CloseHandle( both[0] );
    close_both();
}

/* A bad handle is an error, also behind an object that is signalled. */
START_TEST( scenario_mutex_kept_beside_bad )
{
    HANDLE both[2];
    DWORD ret;

    own_and_make_known();
    both[0] = subject;
    both[1] = NO_HANDLE;
    SetLastError( 0 );
    ret = WaitForMultipleObjects( 2, both, FALSE, 0 );
    ok( ret == WAIT_FAILED && GetLastError() == ERROR_INVALID_HANDLE, "the wait returned %lx, error %lu\n", ret, GetLastError() );
    ok( ReleaseMutex( subject ) && !ReleaseMutex( subject ), "it was acquired once more\n" );
    close_both();
}

/* SignalObjectAndWait that fails signals nothing. */
START_TEST( scenario_mutex_kept_signal_and_wait_bad )
{
    DWORD ret;

    own_and_make_known();
    SetLastError( 0 );
    ret = SignalObjectAndWait( subject, NO_HANDLE, 0, FALSE );
    ok( ret == WAIT_FAILED && GetLastError() == ERROR_INVALID_HANDLE, "it returned %lx, error %lu\n", ret, GetLastError() );
    ret = ask_other();
    ok( ret == WAIT_TIMEOUT, "it was released: another thread's wait returned %lx\n", ret );
    ok( ReleaseMutex( subject ), "ReleaseMutex: error %lu\n", GetLastError() );
    close_both();
}

/* ---- a pulse for a waiter that has gone to the host, and one that has not ---- */

static DWORD pulse_body( struct kit_worker *worker )
{
    (void)worker;
    if (!wait_and_tell( subject, KIT_LIMIT )) InterlockedIncrement( &woken );
    return 0;
}

static DWORD WINAPI pulse_thread( void *arg )
{
    (void)arg;
    pulse_body( NULL );
    return 0;
}

/* PulseEvent releases all threads that wait for a manual-reset event [doc]. A worker waits, too, while its scheduler
   stands still [guess]. Others know both objects when the thread tells that it waits: see wait_and_tell. */
START_TEST( scenario_object_pulsed_late )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HANDLE thread, known;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, TRUE, FALSE, NULL );
    begun = CreateSemaphoreW( NULL, 0, 2, NULL );
    sched = kit_add_sched( NULL );
    kit_start();
    worker = kit_add_worker( sched->list, pulse_body, NULL );
    know_they_wait( 1 );
    ok( worker && kit_leaves( &worker->blocks, 0 ), "it does not block\n" );
    ok( !SuspendThread( sched->thread ), "error %lu\n", GetLastError() );
    helper = copy_of( subject );
    known = copy_of( begun );
    thread = start_thread( pulse_thread, NULL );
    know_they_wait( 1 );
    ok( PulseEvent( subject ), "PulseEvent: error %lu\n", GetLastError() );
    pulse_again( subject, &woken, 0 );
    ok( kit_wait_value( &woken, 1 ), "it did not release the thread\n" );
    ok( ResumeThread( sched->thread ) == 1, "error %lu\n", GetLastError() );
    pulse_again( subject, &woken, 1 );
    unverified ok( kit_wait_value( &woken, 2 ), "it did not release the worker\n" );
    join( thread );
    kit_finish();
    ok( !wrong, "%ld waits did not begin\n", wrong );
    kit_check();
    close_both();
    CloseHandle( known );
    CloseHandle( begun );
}
