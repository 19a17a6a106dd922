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

/* ---- an owner of many, each of which others know ---- */

#define MANY 8

static HANDLE many[MANY];
static DWORD many_ret[MANY];

static DWORD WINAPI poll_many( void *arg )
{
    int i;

    (void)arg;
    for (i = 0; i < MANY; i++) many_ret[i] = WaitForSingleObject( many[i], 0 );
    return 0;
}

/* All have an owner until that releases them. */
START_TEST( scenario_mutex_many_kept )
{
    int i;

    for (i = 0; i < MANY; i++)
    {
        many[i] = CreateMutexW( NULL, TRUE, NULL );
        CloseHandle( copy_of( many[i] ) );
        Sleep( 1 );                             /* likely the next one is of this process alone, too, at first */
    }
    join( start_thread( poll_many, NULL ) );
    for (i = 0; i < MANY; i++) ok( many_ret[i] == WAIT_TIMEOUT, "owned mutex %d: %lu\n", i, many_ret[i] );
    for (i = 0; i < MANY; i++) ok( ReleaseMutex( many[i] ), "mutex %d is not mine, error %lu\n", i, GetLastError() );
    join( start_thread( poll_many, NULL ) );
    for (i = 0; i < MANY; i++) ok( many_ret[i] == WAIT_OBJECT_0, "free mutex %d: %lu\n", i, many_ret[i] );
    for (i = 0; i < MANY; i++) CloseHandle( many[i] );
}

/* ---- an owner that closes the last handle ---- */

#define OTHERS 16                               /* mutexes that are made, made known and closed meanwhile */

static DWORD waiter_ret;
static volatile LONG waiter_is_back;

static DWORD WINAPI forgotten_waiter( void *arg )
{
    (void)arg;
    waiter_ret = wait_and_tell( subject, KIT_LIMIT );
    InterlockedIncrement( &waiter_is_back );
    return 0;
}

/* The owner: it ends without a release, long after the last handle is closed. */
static DWORD WINAPI forgetful_owner( void *arg )
{
    HANDLE waiter, copy, mutex;
    int i;

    check_that( !WaitForSingleObject( subject, 0 ) );
    CloseHandle( copy_of( subject ) );          /* others know it, too: wait_and_tell */
    waiter = start_thread( forgotten_waiter, NULL );
    know_they_wait( 1 );
    CloseHandle( subject );
    for (i = 0; i < OTHERS; i++)
    {
        mutex = CreateMutexW( NULL, TRUE, NULL );
        copy = copy_of( mutex );
        CloseHandle( mutex );
        CloseHandle( copy );
        Sleep( 1 );
    }
    check_that( WaitForSingleObject( waiter, 100 ) == WAIT_TIMEOUT && !waiter_is_back );
    *(HANDLE *)arg = waiter;
    return 0;
}

/* A wait has the mutex still, and nobody releases it: the wait is over when the owner ends [guess: a wait references its object;
   seen: Wine]. */
START_TEST( scenario_mutex_forgotten )
{
    HANDLE owner, waiter = NULL;

    begun = CreateSemaphoreW( NULL, 0, 1, NULL );
    CloseHandle( copy_of( begun ) );            /* others know both: wait_and_tell */
    subject = CreateMutexW( NULL, FALSE, NULL );
    owner = start_thread( forgetful_owner, &waiter );
    join( owner );
    ok( waiter != NULL, "no waiter\n" );
    join( waiter );
    ok( !wrong, "%ld wrong answers\n", wrong );
    unverified ok( waiter_ret == WAIT_ABANDONED, "the wait gave %lu\n", waiter_ret );
    CloseHandle( begun );
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
