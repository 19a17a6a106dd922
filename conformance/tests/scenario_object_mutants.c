/*
 * Scenarios: mutexes that only this process knows, and what becomes of one that others get to know while
 * somebody owns it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mutex belongs to the thread that has acquired it, with whatever handle, until that thread has released it
 * as often, or ends: then who waits next is told that it was abandoned [doc: CreateMutex, ReleaseMutex, Mutex
 * Objects]. Whether others know the mutex makes no difference.
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"
#include "object_kit.h"

#define COUNTED 150

static volatile LONG taken, abandoned, ended;
static LONG counter;                            /* written by the owner only */

/* ---- one owner at a time ---- */

static void count( void )
{
    LONG before;
    int i;

    for (i = 0; i < COUNTED; i++)
    {
        check_that( !WaitForSingleObject( subject, i % 2 ? INFINITE : KIT_LIMIT ) );
        if (i % 4 == 0) check_that( !WaitForSingleObject( subject, 0 ) );
        before = counter;
        if (i % 8 == 0) SwitchToThread();
        counter = before + 1;
        if (i % 4 == 0) check_that( ReleaseMutex( subject ) );
        check_that( ReleaseMutex( subject ) );
    }
}

static DWORD count_body( struct kit_worker *worker )
{
    (void)worker;
    count();
    return 0;
}

static DWORD WINAPI count_thread( void *arg )
{
    (void)arg;
    count();
    return 0;
}

static void run_counted( BOOL becomes_known )
{
    struct kit_sched *sched[2];
    HANDLE threads[2];
    int i;

    if (!kit_open()) return;
    subject = CreateMutexW( NULL, FALSE, NULL );
    for (i = 0; i < 2; i++) sched[i] = kit_add_sched( NULL );
    for (i = 0; i < 4; i++) kit_add_worker( sched[i % 2]->list, count_body, NULL );
    kit_start();
    for (i = 0; i < 2; i++) threads[i] = start_thread( count_thread, NULL );
    if (becomes_known) CloseHandle( copy_of( subject ) );
    for (i = 0; i < 2; i++) join( threads[i] );
    kit_finish();
    ok( !wrong && counter == 6 * COUNTED, "%ld wrong answers, counted %ld of %d\n", wrong, counter,
        6 * COUNTED );
    CloseHandle( subject );
    kit_check();
}

START_TEST( scenario_mutex_counted ) { run_counted( FALSE ); }
START_TEST( scenario_mutex_counted_known ) { run_counted( TRUE ); }

/* ---- answers ---- */

static DWORD WINAPI not_the_owner( void *arg )
{
    (void)arg;
    check_that( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT );
    check_that( WaitForSingleObject( subject, 20 ) == WAIT_TIMEOUT );
    SetLastError( 0 );
    check_that( !ReleaseMutex( subject ) && GetLastError() == ERROR_NOT_OWNER );
    check_that( SignalObjectAndWait( subject, helper, 0, FALSE ) == WAIT_FAILED &&
                GetLastError() == ERROR_NOT_OWNER );
    return 0;
}

/* Its owner is the main thread. */
static void check_answers( BOOL becomes_known )
{
    HANDLE copy = NULL;
    int i;

    helper = CreateEventW( NULL, FALSE, TRUE, NULL );           /* nobody takes its signal */
    subject = CreateMutexW( NULL, TRUE, NULL );
    ok( WaitForSingleObject( subject, INFINITE ) == WAIT_OBJECT_0, "not taken again\n" );
    if (becomes_known) copy = copy_of( subject );
    for (i = 0; i < 2; i++)
    {
        join( start_thread( not_the_owner, NULL ) );
        ok( ReleaseMutex( i ? subject : becomes_known ? copy : subject ), "error %lu\n", GetLastError() );
    }
    SetLastError( 0 );
    ok( !ReleaseMutex( subject ) && GetLastError() == ERROR_NOT_OWNER, "error %lu\n", GetLastError() );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_OBJECT_0, "it is not free\n" );
    join( start_thread( not_the_owner, NULL ) );
    ok( ReleaseMutex( subject ), "error %lu\n", GetLastError() );
    ok( !wrong, "%ld wrong answers\n", wrong );
    ok( !WaitForSingleObject( helper, 0 ), "a wait that was refused took a signal\n" );
    CloseHandle( helper );
    ok( !SetEvent( subject ) && GetLastError() == ERROR_INVALID_HANDLE, "error %lu\n", GetLastError() );
    ok( !ReleaseSemaphore( subject, 1, NULL ) && GetLastError() == ERROR_INVALID_HANDLE, "error %lu\n",
        GetLastError() );
    CloseHandle( subject );
    if (copy) CloseHandle( copy );
    ok( !ReleaseMutex( subject ) && GetLastError() == ERROR_INVALID_HANDLE, "error %lu\n", GetLastError() );
}

START_TEST( scenario_mutex_answers )
{
    check_answers( FALSE );
    check_answers( TRUE );
}

/* Free means free: also at once, and for another handle. */
START_TEST( scenario_mutex_free_at_once )
{
    HANDLE copy;
    int i;

    for (i = 0; i < 50; i++)
    {
        subject = CreateMutexW( NULL, TRUE, NULL );
        copy = copy_of( subject );
        check_that( ReleaseMutex( i % 2 ? subject : copy ) );
        check_that( WaitForSingleObject( i % 3 ? copy : subject, 0 ) == WAIT_OBJECT_0 );
        check_that( ReleaseMutex( subject ) );
        CloseHandle( copy );
        CloseHandle( subject );
    }
    ok( !wrong, "%ld wrong answers\n", wrong );
}

/* ---- the owner ends ---- */

static void take( void )
{
    DWORD ret;

    InterlockedIncrement( &waiting );
    ret = WaitForSingleObject( subject, KIT_LIMIT );
    if (ret == WAIT_ABANDONED) InterlockedIncrement( &abandoned );
    else if (ret == WAIT_OBJECT_0) InterlockedIncrement( &taken );
    if (ret != WAIT_FAILED && ret != WAIT_TIMEOUT) check_that( ReleaseMutex( subject ) );
}

static DWORD take_body( struct kit_worker *worker )
{
    (void)worker;
    take();
    return 0;
}

static DWORD WINAPI take_thread( void *arg )
{
    (void)arg;
    take();
    return 0;
}

static DWORD own_body( struct kit_worker *worker )
{
    (void)worker;
    own_it();
    return 0;
}

enum how_it_ends { RETURNS, IS_ENDED };

/* The owner, a worker or a thread, ends while two wait. */
static void run_abandoned( BOOL worker_owns, enum how_it_ends how, BOOL becomes_known )
{
    struct kit_worker *worker = NULL;
    HANDLE owner = NULL, thread;
    struct kit_sched *sched;

    if (!kit_open()) return;
    subject = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    if (worker_owns) worker = kit_add_worker( sched->list, own_body, NULL );
    kit_start();
    if (!worker_owns) owner = start_thread( own_thread, NULL );
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    kit_add_worker( sched->list, take_body, NULL );
    thread = start_thread( take_thread, NULL );
    ok( kit_wait_value( &waiting, 2 ), "they do not wait\n" );
    Sleep( 30 );                                /* in the queue, most likely; right in any case */
    if (becomes_known) CloseHandle( copy_of( subject ) );
    if (how == RETURNS) SetEvent( done );
    else ok( TerminateThread( worker ? worker->thread : owner, 3 ), "error %lu\n", GetLastError() );
    if (worker && how == IS_ENDED)
    {
        ok( kit_wait_value( &worker->terminated, 1 ), "it did not come to the list\n" );
        worker->ended = 1;                      /* as far as the kit is concerned */
    }
    if (owner) join( owner );
    join( thread );
    kit_finish();
    ok( abandoned == 1 && taken == 1 && !wrong, "%ld of 1 told that it was abandoned, %ld of 1 took it, %ld wrong\n",
        abandoned, taken, wrong );
    CloseHandle( subject );
    CloseHandle( done );
    kit_check();
}

START_TEST( scenario_mutex_abandoned ) { run_abandoned( TRUE, RETURNS, FALSE ); }
START_TEST( scenario_mutex_abandoned_plain ) { run_abandoned( FALSE, RETURNS, FALSE ); }
START_TEST( scenario_mutex_owner_ended ) { run_abandoned( TRUE, IS_ENDED, FALSE ); }
START_TEST( scenario_mutex_owner_ended_plain ) { run_abandoned( FALSE, IS_ENDED, FALSE ); }
START_TEST( scenario_mutex_abandoned_known ) { run_abandoned( TRUE, RETURNS, TRUE ); }
START_TEST( scenario_mutex_abandoned_plain_known ) { run_abandoned( FALSE, RETURNS, TRUE ); }
START_TEST( scenario_mutex_owner_ended_known ) { run_abandoned( TRUE, IS_ENDED, TRUE ); }
START_TEST( scenario_mutex_owner_ended_plain_known ) { run_abandoned( FALSE, IS_ENDED, TRUE ); }

/* Nobody waited when the owner ended; it becomes known afterwards. */
START_TEST( scenario_mutex_known_after_abandoned )
{
    subject = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, TRUE, NULL );
    join( start_thread( own_thread, NULL ) );
    CloseHandle( copy_of( subject ) );
    ok( WaitForSingleObject( subject, KIT_LIMIT ) == WAIT_ABANDONED, "it was not abandoned\n" );
    ok( ReleaseMutex( subject ), "error %lu\n", GetLastError() );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_OBJECT_0, "it is abandoned still\n" );
    CloseHandle( subject );
    CloseHandle( done );
}

/* ---- it becomes known while a worker owns it ---- */

static HANDLE known_copy;
static volatile LONG is_known;

static void by_copy( void )
{
    known_copy = copy_of( subject );
}

static DWORD copy_body( struct kit_worker *worker )
{
    (void)worker;
    by_copy();
    return 0;
}

static void by_worker( void )
{
    struct kit_worker *worker = kit_add_worker( kit.scheds[0].list, copy_body, NULL );

    ok( kit_wait_value( &worker->terminated, 1 ), "the worker did not end\n" );
}

static void by_question( void )
{
    ask_about( subject );
}

static void by_mixed_wait( void )
{
    HANDLE both[2] = { helper, subject };

    ok( WaitForMultipleObjects( 2, both, FALSE, 0 ) == WAIT_TIMEOUT, "somebody else has it\n" );
}

static void by_alertable_wait( void )
{
    ok( WaitForSingleObjectEx( subject, 0, TRUE ) == WAIT_TIMEOUT, "somebody else has it\n" );
}

static void by_signal_and_wait( void )
{
    HANDLE other = CreateMutexW( NULL, TRUE, NULL );

    ok( SignalObjectAndWait( other, subject, 0, TRUE ) == WAIT_TIMEOUT, "somebody else has it\n" );
    CloseHandle( other );
}

/* All that an owner may do with it: through its handle, and through a copy. */
static void use_as_owner( HANDLE handle )
{
    HANDLE both[3] = { helper, handle, done };

    check_that( WaitForSingleObject( handle, 0 ) == WAIT_OBJECT_0 );
    check_that( WaitForSingleObjectEx( handle, INFINITE, TRUE ) == WAIT_OBJECT_0 );
    check_that( WaitForMultipleObjects( 3, both, FALSE, INFINITE ) == WAIT_OBJECT_0 + 1 );
    check_that( WaitForMultipleObjects( 2, both, TRUE, 10 ) == WAIT_TIMEOUT );
    SetEvent( helper );
    check_that( WaitForMultipleObjects( 3, both, FALSE, INFINITE ) == WAIT_OBJECT_0 );
    SetEvent( helper );
    check_that( WaitForMultipleObjects( 2, both, TRUE, INFINITE ) == WAIT_OBJECT_0 );
    check_that( WaitForSingleObject( helper, 0 ) == WAIT_TIMEOUT );
    check_that( SignalObjectAndWait( helper, handle, INFINITE, FALSE ) == WAIT_OBJECT_0 );
    check_that( SignalObjectAndWait( handle, helper, INFINITE, FALSE ) == WAIT_OBJECT_0 );
    check_that( ReleaseMutex( handle ) );
    check_that( ReleaseMutex( handle ) );
    check_that( ReleaseMutex( handle ) );
    check_that( ReleaseMutex( handle ) );
}

static DWORD owner_body( struct kit_worker *worker )
{
    (void)worker;
    check_that( !WaitForSingleObject( subject, INFINITE ) );
    InterlockedIncrement( &owned );
    check_that( !WaitForSingleObject( done, KIT_LIMIT ) );
    check_that( kit_yield_until( worker, &is_known, 1 ) );
    ResetEvent( done );
    use_as_owner( subject );
    if (known_copy) use_as_owner( known_copy );
    check_that( ReleaseMutex( subject ) );
    check_that( !ReleaseMutex( subject ) );
    InterlockedIncrement( &ended );
    return 0;
}

static void run_known( void (*expose)( void ) )
{
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    helper = CreateEventW( NULL, FALSE, FALSE, NULL );
    subject = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, owner_body, NULL );
    kit_start();
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    kit_add_worker( sched->list, take_body, NULL );
    thread = start_thread( take_thread, NULL );
    ok( kit_wait_value( &waiting, 2 ), "they do not wait\n" );
    Sleep( 30 );                                /* in the queue, most likely; right in any case */
    expose();
    InterlockedIncrement( &is_known );
    SetEvent( done );
    join( thread );
    kit_finish();
    ok( ended == 1 && !wrong, "%ld wrong answers to its owner\n", wrong );
    ok( taken == 2 && !abandoned, "%ld of 2 took it, %ld found it abandoned\n", taken, abandoned );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_OBJECT_0, "it is not free\n" );
    CloseHandle( subject );
    CloseHandle( helper );
    CloseHandle( done );
    if (known_copy) CloseHandle( known_copy );
    kit_check();
}

START_TEST( scenario_mutex_copied ) { run_known( by_copy ); }
START_TEST( scenario_mutex_copied_by_worker ) { run_known( by_worker ); }
START_TEST( scenario_mutex_queried ) { run_known( by_question ); }
START_TEST( scenario_mutex_mixed ) { run_known( by_mixed_wait ); }
START_TEST( scenario_mutex_alertable ) { run_known( by_alertable_wait ); }
START_TEST( scenario_mutex_signal_and_wait ) { run_known( by_signal_and_wait ); }

/* ---- closed by its owner ---- */

/* A mutex without handles is no more, but who waits for it has it still: until its owner has ended. */
START_TEST( scenario_mutex_closed )
{
    HANDLE thread, owner;

    subject = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    owner = start_thread( own_thread, NULL );
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    helper = copy_of( subject );
    thread = start_thread( not_the_owner, NULL );
    join( thread );
    CloseHandle( subject );
    subject = helper;
    SetEvent( done );
    join( owner );
    ok( !wrong, "%ld wrong answers\n", wrong );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_ABANDONED, "it was not abandoned when its owner had ended\n" );
    CloseHandle( subject );
    CloseHandle( done );
}

/* ---- in a wait for several ---- */

static DWORD any_body( struct kit_worker *worker )
{
    HANDLE both[2] = { subject, helper };
    DWORD ret;

    (void)worker;
    InterlockedIncrement( &waiting );
    ret = WaitForMultipleObjects( 2, both, FALSE, KIT_LIMIT );
    if (ret == WAIT_ABANDONED_0) InterlockedIncrement( &abandoned );
    else if (ret == WAIT_OBJECT_0) InterlockedIncrement( &taken );
    check_that( ReleaseMutex( subject ) );
    return 0;
}

/* The other object of the wait becomes known. That the mutex has an owner is not forgotten. */
START_TEST( scenario_mutex_in_wait )
{
    struct kit_sched *sched;
    HANDLE owner;

    if (!kit_open()) return;
    subject = CreateMutexW( NULL, FALSE, NULL );
    helper = CreateEventW( NULL, FALSE, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    owner = start_thread( own_thread, NULL );
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, any_body, NULL );
    kit_start();
    ok( kit_wait_value( &waiting, 1 ), "it does not wait\n" );
    Sleep( 30 );                                /* in the queues, most likely; right in any case */
    CloseHandle( copy_of( helper ) );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT, "it has lost its owner\n" );
    SetEvent( done );                           /* its owner ends */
    join( owner );
    kit_finish();
    ok( abandoned == 1 && !taken && !wrong, "%ld of 1 found it abandoned, %ld took it as it was, %ld wrong answers\n",
        abandoned, taken, wrong );
    CloseHandle( subject );
    CloseHandle( helper );
    CloseHandle( done );
    kit_check();
}
