/*
 * Nothing leaks: events and semaphores, waits for them, and waits for alerts and for a time, of workers and of plain
 * threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * UMSTEST_LIVES (default 400) sets the lengths. No check depends on how the threads come to run: what is not used in
 * some round cannot be lost in it either, and there are many. Each body makes its own objects: who counts handles may
 * ask about each of them, and then they are known to others.
 */
#define _WIN32_WINNT 0x0602
#include "flat.h"

#define CREW 24                                 /* workers of one scheduler, in pairs */

static volatile LONG wrong;
static PUMS_COMPLETION_LIST shared_list;
static HANDLE never[2];                         /* not signalled */
static struct worker crew[CREW];
static int each;                                /* rounds of each worker, or thread */

static void check_that( BOOL condition )
{
    if (!condition) InterlockedIncrement( &wrong );
}

static void join( HANDLE thread )
{
    check_that( thread && !WaitForSingleObject( thread, WAIT_BOUND ) );
    CloseHandle( thread );
}

static DWORD WINAPI end_at_once( void *arg )
{
    (void)arg;
    return 0;
}

/* Workers of one scheduler, the calling thread, to their end. Wine keeps the stack of the thread that ended last until the
   next one ends, and ours has a service of its own, with another stack, that may end behind the workers. So the last is a
   plain thread: the service ends before it. */
static void run_crew( void (*proc)( struct worker *worker ), int count )
{
    static struct sched sched;
    int i;

    memset( &sched, 0, sizeof(sched) );
    memset( crew, 0, sizeof(crew) );
    sched.list = shared_list;
    if (!sched_init( &sched )) return;
    for (i = 0; i < count; i++)
        if (!worker_create( &crew[i], shared_list, proc, NULL, 0 )) break;
    check_that( i == count );
    if (!(sched.expect = i)) return;
    sched_run( &sched );
    check_that( sched.entered_ok && !sched.bad && !sched.failed && !sched.timed_out );
    for (i = 0; i < sched.expect; i++)
    {
        check_that( worker_wait( &crew[i], WAIT_BOUND ) && crew[i].finished );
        check_that( worker_delete( &crew[i] ) );
    }
    sched_free( &sched );
    join( CreateThread( NULL, 0, end_at_once, NULL, 0, NULL ) );
}

static int number_of( const struct worker *worker )
{
    return (int)(worker - crew);
}

static BOOL begin_waits( void )
{
    return (shared_list = list_create()) != NULL;
}

static void end_waits( void )
{
    ok( !wrong, "%ld things did not go as they should\n", wrong );
    pDeleteUmsCompletionList( shared_list );
}

/* ---- objects that are made, used and closed ---- */

static void use_objects( int rounds )
{
    HANDLE one, all, count;

    while (rounds--)
    {
        one = CreateEventA( NULL, FALSE, FALSE, NULL );
        all = CreateEventA( NULL, TRUE, TRUE, NULL );
        count = CreateSemaphoreA( NULL, 1, 2, NULL );
        check_that( SetEvent( one ) && !WaitForSingleObject( one, INFINITE ) );
        check_that( WaitForSingleObject( one, 0 ) == WAIT_TIMEOUT );
        check_that( ResetEvent( all ) && SetEvent( all ) && !WaitForSingleObject( all, INFINITE ) );
        check_that( ReleaseSemaphore( count, 1, NULL ) && !ReleaseSemaphore( count, 1, NULL ) );
        check_that( !WaitForSingleObject( count, INFINITE ) );
        check_that( CloseHandle( one ) && CloseHandle( all ) && CloseHandle( count ) );
    }
}

static void use_objects_here( struct worker *worker )
{
    (void)worker;
    use_objects( each );
}

static void use_objects_on_worker( int rounds )
{
    each = rounds;
    run_crew( use_objects_here, 1 );
}

/* leak tests: events and semaphores */
START_TEST( leak_objects )
{
    int rounds = umstest_many_lives();

    if (!begin_waits()) return;
    check_flat( "objects of a thread", use_objects, rounds, 2 * SLACK );
    check_flat( "objects of a worker", use_objects_on_worker, rounds, 2 * SLACK );
    end_waits();
}

/* ---- waits that block, and waits whose time is over ---- */

static HANDLE turn[CREW];                       /* even: an event, odd: a semaphore */

static void make_objects( void )
{
    int i;

    for (i = 0; i < CREW; i += 2)
    {
        turn[i] = CreateEventA( NULL, FALSE, FALSE, NULL );
        turn[i + 1] = CreateSemaphoreA( NULL, 0, 1, NULL );
        check_that( turn[i] && turn[i + 1] );
    }
    never[0] = CreateEventA( NULL, FALSE, FALSE, NULL );
    never[1] = CreateSemaphoreA( NULL, 0, 1, NULL );
    check_that( never[0] && never[1] );
}

static void close_objects( void )
{
    int i;

    for (i = 0; i < CREW; i++) check_that( CloseHandle( turn[i] ) );
    check_that( CloseHandle( never[0] ) && CloseHandle( never[1] ) );
}

static void give_turn( int to )
{
    check_that( to % 2 ? ReleaseSemaphore( turn[to], 1, NULL ) : SetEvent( turn[to] ) );
}

/* The two of a pair: the even one begins. */
static void take_turns( int self )
{
    int i;

    for (i = 0; i < each; i++)
    {
        if (self % 2 == 0) give_turn( self + 1 );
        check_that( !WaitForSingleObject( turn[self], WAIT_BOUND ) );
        if (self % 2) give_turn( self - 1 );
    }
}

static void take_turns_here( struct worker *worker )
{
    take_turns( number_of( worker ) );
}

static void turns_of_workers( int rounds )
{
    each = rounds / CREW + 1;
    make_objects();
    run_crew( take_turns_here, CREW );
    close_objects();
}

static DWORD WINAPI turn_thread( void *arg )
{
    take_turns( (int)(ULONG_PTR)arg );
    return 0;
}

static void turns_of_threads( int rounds )
{
    HANDLE thread;

    each = rounds;
    make_objects();
    thread = CreateThread( NULL, 0, turn_thread, (void *)1, 0, NULL );
    take_turns( 0 );
    join( thread );
    close_objects();
}

static void wait_in_vain( int rounds )
{
    make_objects();
    while (rounds--)
    {
        check_that( WaitForSingleObject( never[rounds % 2], 1 ) == WAIT_TIMEOUT );
        check_that( WaitForMultipleObjects( 2, never, FALSE, 1 ) == WAIT_TIMEOUT );
        check_that( WaitForMultipleObjects( 2, never, TRUE, 1 ) == WAIT_TIMEOUT );
        check_that( SignalObjectAndWait( never[1], never[0], 1, FALSE ) == WAIT_TIMEOUT );
        check_that( WaitForSingleObject( never[1], 0 ) == WAIT_OBJECT_0 );
    }
    close_objects();
}

static void wait_in_vain_here( struct worker *worker )
{
    int i;

    (void)worker;
    for (i = 0; i < each; i++)
    {
        check_that( WaitForSingleObject( never[0], 1 ) == WAIT_TIMEOUT );
        check_that( WaitForMultipleObjects( 2, never, i % 2, 1 ) == WAIT_TIMEOUT );
        Sleep( 1 );
    }
}

static void vain_waits_of_workers( int rounds )
{
    each = rounds;
    make_objects();
    run_crew( wait_in_vain_here, CREW );
    close_objects();
}

/* leak tests: waits that block, and time-outs */
START_TEST( leak_waits )
{
    int rounds = umstest_many_lives();

    if (!begin_waits()) return;
    check_flat( "waits of workers", turns_of_workers, 4 * rounds, 2 * SLACK );
    check_flat( "waits of threads", turns_of_threads, 4 * rounds, SLACK );
    check_flat( "time-outs of workers", vain_waits_of_workers, rounds / 20, 2 * SLACK );
    check_flat( "time-outs of a thread", wait_in_vain, rounds / 4, SLACK );
    end_waits();
}

/* ---- objects that others come to know while somebody waits ---- */

static HANDLE subject, both[2];

/* Even ones wait, odd ones make the object known, satisfy the wait, and close. */
static void wait_for_subject( int rounds )
{
    while (rounds--)
    {
        check_that( !WaitForSingleObject( turn[0], WAIT_BOUND ) );
        if (rounds % 2) check_that( !WaitForSingleObject( subject, WAIT_BOUND ) );
        else check_that( !WaitForMultipleObjects( 2, both, TRUE, WAIT_BOUND ) );
        give_turn( 1 );
    }
}

static void make_known( int rounds, void (*let_wait)( void ) )
{
    HANDLE copy;

    while (rounds--)
    {
        both[0] = subject = rounds % 4 < 2 ? CreateEventA( NULL, FALSE, FALSE, NULL )
                                           : CreateSemaphoreA( NULL, 0, 1, NULL );
        both[1] = CreateEventA( NULL, TRUE, TRUE, NULL );
        give_turn( 0 );
        let_wait();
        check_that( DuplicateHandle( GetCurrentProcess(), subject, GetCurrentProcess(), &copy, 0, FALSE,
                                     DUPLICATE_SAME_ACCESS ) );
        check_that( rounds % 4 < 2 ? SetEvent( copy ) : ReleaseSemaphore( copy, 1, NULL ) );
        check_that( !WaitForSingleObject( turn[1], WAIT_BOUND ) );
        check_that( CloseHandle( copy ) && CloseHandle( subject ) && CloseHandle( both[1] ) );
    }
}

/* The other worker of the scheduler runs until it waits. */
static void let_worker_wait( void )
{
    int i;

    for (i = 0; i < 3; i++) pUmsThreadYield( NULL );
}

static void know_here( struct worker *worker )
{
    if (number_of( worker ) % 2) make_known( each, let_worker_wait );
    else wait_for_subject( each );
}

static void known_to_workers( int rounds )
{
    each = rounds;
    make_objects();
    run_crew( know_here, 2 );
    close_objects();
}

static DWORD WINAPI subject_thread( void *arg )
{
    (void)arg;
    wait_for_subject( each );
    return 0;
}

static void let_thread_wait( void )
{
    SwitchToThread();
}

static void known_to_threads( int rounds )
{
    HANDLE thread;

    each = rounds;
    make_objects();
    thread = CreateThread( NULL, 0, subject_thread, NULL, 0, NULL );
    make_known( rounds, let_thread_wait );
    join( thread );
    close_objects();
}

/* leak tests: objects that become known to others */
START_TEST( leak_known )
{
    int rounds = umstest_many_lives();

    if (!begin_waits()) return;
    check_flat( "known while workers wait", known_to_workers, rounds / 2, 2 * SLACK );
    check_flat( "known while threads wait", known_to_threads, rounds / 2, SLACK );
    end_waits();
}

/* ---- mutexes that are closed while they are owned ---- */

/* The last close destroys a mutex, owned or not [doc: CreateMutex]. A moment for who stands by for the next one makes it likely that
   that is one of this process alone, at first. */
static void forget_mutexes( int rounds )
{
    HANDLE mutex, copy;

    while (rounds--)
    {
        check_that( (mutex = CreateMutexA( NULL, TRUE, NULL )) != NULL );
        check_that( DuplicateHandle( GetCurrentProcess(), mutex, GetCurrentProcess(), &copy, 0, FALSE,
                                     DUPLICATE_SAME_ACCESS ) );
        check_that( CloseHandle( rounds % 2 ? copy : mutex ) );
        check_that( CloseHandle( rounds % 2 ? mutex : copy ) );
        Sleep( 1 );
    }
}

/* leak tests: mutexes that others came to know, and that nobody can name any more */
START_TEST( leak_forgotten )
{
    if (!begin_waits()) return;
    check_flat( "mutexes closed by their owner", forget_mutexes, umstest_lives() / 2, 2 * SLACK );
    end_waits();
}

/* ---- alerts ---- */

#define STATUS_ALERTED ((NTSTATUS)0x101)

static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( const void *, const LARGE_INTEGER * );
static volatile LONG alert_turn[CREW / 2];

/* One wait for a time, then the two of a pair take turns; a wait may end for nothing. */
static void alert_each_other( struct worker *worker )
{
    int self = number_of( worker ), i;
    const LARGE_INTEGER soon = { .QuadPart = -1000 };
    NTSTATUS status;

    Sleep( 1 );
    for (i = 0; i < each; i++)
    {
        while (alert_turn[self / 2] != self % 2)
        {
            status = pNtWaitForAlertByThreadId( NULL, i % 2 ? &soon : NULL );
            check_that( status == STATUS_ALERTED || (i % 2 && status == STATUS_TIMEOUT) );
        }
        alert_turn[self / 2] = !(self % 2);
        check_that( !pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)crew[self ^ 1].tid ) );
    }
}

static void alerts( int rounds )
{
    each = 6;
    for (; rounds > 0; rounds -= CREW)
    {
        memset( (void *)alert_turn, 0, sizeof(alert_turn) );
        run_crew( alert_each_other, CREW );
    }
}

/* leak tests: alerts, and waits for a time */
START_TEST( leak_alerts )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    if (!pNtAlertThreadByThreadId || !pNtWaitForAlertByThreadId)
    {
        skip( "no alerts by thread id: Windows before 8\n" );
        return;
    }
    if (!begin_waits()) return;
    check_flat( "alerts", alerts, umstest_lives() / 2, 2 * SLACK );
    end_waits();
}
