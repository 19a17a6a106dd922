/*
 * Scenarios: workers that wait for a one-time initialization, and by key.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * InitOnceExecuteOnce runs its routine once; the other callers wait until it is done [doc]. Wine waits
 * with NtWaitForKeyedEvent, without a handle [seen: the key is the address of a word on the waiting thread's
 * stack], and so may Windows 7 [guess]. A wait and a release with the same key meet, whichever comes first, and
 * each ends one of the other [guess: nobody has run this on Windows].
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"

#define MANY   12
#define ROUNDS 60

static NTSTATUS (WINAPI *pNtWaitForKeyedEvent)( HANDLE, void *, BOOLEAN, LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtReleaseKeyedEvent)( HANDLE, void *, BOOLEAN, LARGE_INTEGER * );

static INIT_ONCE once;
static volatile LONG inits, answers, wrong, arrived, inside, may_end;
static LONG keys[2];                            /* their addresses are the keys */
static volatile LONG waits, releases, timeouts;
static volatile LONG status = -1, second_status = -1;

static BOOL open_keyed( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtWaitForKeyedEvent = (void *)GetProcAddress( ntdll, "NtWaitForKeyedEvent" );
    pNtReleaseKeyedEvent = (void *)GetProcAddress( ntdll, "NtReleaseKeyedEvent" );
    if (pNtWaitForKeyedEvent && pNtReleaseKeyedEvent) return kit_open();
    skip( "no keyed events\n" );
    return FALSE;
}

static LARGE_INTEGER *ms( LARGE_INTEGER *time, int count )
{
    time->QuadPart = count * (LONGLONG)-10000;
    return time;
}

/* ---- one-time initialization ---- */

/* It ends when all the others have come: each of them waits by then, or is about to. */
static BOOL CALLBACK init( INIT_ONCE *unused, void *parameter, void **context )
{
    (void)unused;
    InterlockedIncrement( &inits );
    inside = 1;
    if (parameter) while (!may_end) kit_yield( parameter, NULL );
    else while (!may_end) Sleep( 1 );
    *context = &once;
    return TRUE;
}

static void initialize( void *parameter )
{
    void *context = NULL;

    InterlockedIncrement( &arrived );
    if (!InitOnceExecuteOnce( &once, init, parameter, &context ) || context != &once) wrong++;
    InterlockedIncrement( &answers );
}

static DWORD first_body( struct kit_worker *worker )
{
    initialize( worker );
    return 0;
}

static DWORD other_body( struct kit_worker *worker )
{
    if (!kit_yield_until( worker, &inside, 1 )) return 1;
    initialize( worker );
    return 0;
}

static DWORD WINAPI plain_first( void *unused )
{
    (void)unused;
    initialize( NULL );
    return 0;
}

static DWORD WINAPI plain_other( void *unused )
{
    (void)unused;
    if (kit_wait_value( &inside, 1 )) initialize( NULL );
    return 0;
}

static void judge_once( void )
{
    ok( kit_wait_value( &arrived, MANY + 1 ), "%ld of %d came\n", arrived, MANY + 1 );
    may_end = 1;
    kit_finish();
    ok( kit_wait_value( &answers, MANY + 1 ), "%ld of %d have an answer\n", answers, MANY + 1 );
    ok( inits == 1, "the routine ran %ld times\n", inits );
    ok( !wrong, "%ld callers got something else\n", wrong );
    kit_check();
}

static void add_others( struct kit_sched **scheds, int plain )
{
    int i;

    for (i = 0; i < MANY - plain; i++) kit_add_worker( scheds[i % 2]->list, other_body, NULL );
    for (i = 0; i < plain; i++) CloseHandle( CreateThread( NULL, 0, plain_other, NULL, 0, NULL ) );
}

START_TEST( scenario_once_workers )
{
    struct kit_sched *scheds[2];
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) scheds[i] = kit_add_sched( NULL );
    kit_add_worker( scheds[0]->list, first_body, NULL );
    add_others( scheds, 0 );
    kit_start();
    judge_once();
}

START_TEST( scenario_once_mixed )
{
    struct kit_sched *scheds[2];
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) scheds[i] = kit_add_sched( NULL );
    kit_add_worker( scheds[0]->list, first_body, NULL );
    add_others( scheds, MANY / 2 );
    kit_start();
    judge_once();
}

START_TEST( scenario_once_plain )
{
    struct kit_sched *scheds[2];
    HANDLE thread;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) scheds[i] = kit_add_sched( NULL );
    thread = CreateThread( NULL, 0, plain_first, NULL, 0, NULL );
    add_others( scheds, 2 );
    kit_start();
    judge_once();
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the first caller did not return\n" );
    CloseHandle( thread );
}

/* ---- waits and releases that meet at one of two keys ---- */

/* A call whose time is over is made again, so that each wait has its release. Each thread does only the
   one or the other, and takes the keys in turn. So they cannot all be stuck, all waits at one key and all
   releases at the other: as many of each have been made at each key. */
static void meet( BOOL release, int i )
{
    LARGE_INTEGER time;
    NTSTATUS ret;

    do
    {
        LARGE_INTEGER *timeout = i % 3 ? NULL : ms( &time, 1 + i % 4 );

        if (release) ret = pNtReleaseKeyedEvent( NULL, &keys[i & 1], FALSE, timeout );
        else ret = pNtWaitForKeyedEvent( NULL, &keys[i & 1], FALSE, timeout );
        if (ret == STATUS_TIMEOUT) InterlockedIncrement( &timeouts );
    }
    while (ret == STATUS_TIMEOUT);
    if (ret) InterlockedIncrement( &wrong );
    else InterlockedIncrement( release ? &releases : &waits );
}

static DWORD meet_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++) meet( (ULONG_PTR)worker->arg & 1, i );
    return 0;
}

static DWORD WINAPI meet_plain( void *arg )
{
    int i;

    for (i = 0; i < ROUNDS; i++) meet( (ULONG_PTR)arg & 1, i );
    return 0;
}

START_TEST( scenario_keyed_meet )
{
    struct kit_sched *scheds[2];
    HANDLE threads[4];
    int i;

    if (!open_keyed()) return;
    for (i = 0; i < 2; i++) scheds[i] = kit_add_sched( NULL );
    for (i = 0; i < 8; i++)
        kit_add_worker( scheds[i / 2 % 2]->list, meet_body, (void *)(ULONG_PTR)i );
    kit_start();
    for (i = 0; i < 4; i++)
        threads[i] = CreateThread( NULL, 0, meet_plain, (void *)(ULONG_PTR)i, 0, NULL );
    ok( WaitForMultipleObjects( 4, threads, TRUE, KIT_LIMIT ) < WAIT_TIMEOUT,
        "a plain thread still waits, after %ld waits and %ld releases\n", waits, releases );
    kit_finish();
    unverified ok( waits == 6 * ROUNDS && releases == 6 * ROUNDS, "%ld waits, %ld releases of %d\n", waits,
        releases, 6 * ROUNDS );
    unverified ok( !wrong, "%ld calls failed\n", wrong );
    kit_check();
}

/* ---- one wait, one release ---- */

static DWORD wait_body( struct kit_worker *worker )
{
    (void)worker;
    arrived = 1;
    status = pNtWaitForKeyedEvent( NULL, keys, FALSE, NULL );
    return 0;
}

static struct kit_worker *one_that_waits( void )
{
    struct kit_sched *sched = kit_add_sched( NULL );
    struct kit_worker *worker = kit_add_worker( sched->list, wait_body, NULL );

    kit_start();
    ok( kit_wait_value( &arrived, 1 ), "the worker did not begin\n" );
    while (!worker->blocks) Sleep( 1 );         /* its scheduler was told that it waits */
    return worker;
}

/* The release ends the wait, or waits itself until the thread is resumed [seen in Wine]; in both cases the
   worker runs after that. */
START_TEST( scenario_keyed_suspended )
{
    struct kit_worker *worker;
    LARGE_INTEGER time;
    NTSTATUS ret;

    if (!open_keyed()) return;
    worker = one_that_waits();
    ok( !SuspendThread( worker->thread ), "not suspended\n" );
    ret = pNtReleaseKeyedEvent( NULL, keys, FALSE, ms( &time, 50 ) );
    ok( status == -1, "it ran while it was suspended\n" );
    ok( ResumeThread( worker->thread ) == 1, "not resumed\n" );
    if (ret == STATUS_TIMEOUT)
        ret = pNtReleaseKeyedEvent( NULL, keys, FALSE, ms( &time, KIT_LIMIT ) );
    unverified ok( !ret, "the release: %#lx\n", ret );
    kit_finish();
    unverified ok( !status, "the wait: %#lx\n", status );
    kit_check();
}

/* A thread that has ended waits no more: nobody is left for the release. */
START_TEST( scenario_keyed_killed )
{
    struct kit_worker *worker;
    LARGE_INTEGER time;
    NTSTATUS ret;

    if (!open_keyed()) return;
    worker = one_that_waits();
    ok( TerminateThread( worker->thread, 7 ), "error %lu\n", GetLastError() );
    kit_finish();
    ret = pNtReleaseKeyedEvent( NULL, keys, FALSE, ms( &time, 20 ) );
    unverified ok( ret == STATUS_TIMEOUT, "the release found the wait of an ended thread: %#lx\n", ret );
    ok( status == -1, "it came back\n" );
    worker->ended = 1;                          /* as far as the kit is concerned */
    kit_check();
}

static DWORD WINAPI release_plain( void *unused )
{
    LARGE_INTEGER time;

    (void)unused;
    arrived = 1;
    status = pNtReleaseKeyedEvent( NULL, keys, FALSE, ms( &time, KIT_LIMIT ) );
    return 0;
}

static DWORD late_body( struct kit_worker *worker )
{
    LARGE_INTEGER time;

    if (!kit_yield_until( worker, &arrived, 1 )) return 1;
    second_status = pNtWaitForKeyedEvent( NULL, keys, FALSE, ms( &time, KIT_LIMIT ) );
    return 0;
}

/* The release is there first, and waits at the system; or it is about to. */
START_TEST( scenario_keyed_release_first )
{
    struct kit_sched *sched;
    HANDLE thread;

    if (!open_keyed()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, late_body, NULL );
    thread = CreateThread( NULL, 0, release_plain, NULL, 0, NULL );
    kit_start();
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the release did not return\n" );
    kit_finish();
    unverified ok( !status && !second_status, "%#lx, %#lx\n", status, second_status );
    CloseHandle( thread );
    kit_check();
}

/* ---- what ends no wait ---- */

#define BAD_CALLS 10

static volatile LONG bad[BAD_CALLS], plain_bad[BAD_CALLS];

static void NTAPI apc( ULONG_PTR count )
{
    ++*(volatile LONG *)count;
}

static void bad_calls( volatile LONG *results )
{
    LARGE_INTEGER time, zero = { .QuadPart = 0 };

    results[0] = pNtWaitForKeyedEvent( NULL, (char *)keys + 1, FALSE, ms( &time, 5 ) );
    results[1] = pNtReleaseKeyedEvent( NULL, (char *)keys + 1, FALSE, ms( &time, 5 ) );
    results[2] = pNtWaitForKeyedEvent( NULL, keys, FALSE, &zero );
    results[3] = pNtReleaseKeyedEvent( NULL, keys, FALSE, &zero );
    results[4] = pNtWaitForKeyedEvent( NULL, keys, FALSE, ms( &time, 5 ) );
    results[5] = pNtReleaseKeyedEvent( NULL, keys, FALSE, ms( &time, 5 ) );
    results[6] = pNtWaitForKeyedEvent( (HANDLE)0xdeadb0, keys, FALSE, ms( &time, 5 ) );
    results[7] = pNtReleaseKeyedEvent( (HANDLE)0xdeadb0, keys, FALSE, ms( &time, 5 ) );
    QueueUserAPC( apc, GetCurrentThread(), (ULONG_PTR)&results[9] );
    results[8] = pNtWaitForKeyedEvent( NULL, keys, TRUE, ms( &time, 5 ) );
}

static DWORD bad_body( struct kit_worker *worker )
{
    int i;

    (void)worker;
    for (i = 0; i < 20; i++) Sleep( 1 );        /* what ends timed waits is there then */
    bad_calls( bad );
    SleepEx( 0, TRUE );                         /* runs an APC that the wait has not run */
    return 0;
}

/* Odd keys, polls, times that are over, handles of nothing, a pending APC: as a plain thread gets it. */
START_TEST( scenario_keyed_answers )
{
    struct kit_sched *sched;
    int i;

    if (!open_keyed()) return;
    bad_calls( plain_bad );
    SleepEx( 0, TRUE );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, bad_body, NULL );
    kit_start();
    kit_finish();
    for (i = 0; i < BAD_CALLS; i++)
        ok( bad[i] == plain_bad[i], "call %d: %#lx, of a plain thread %#lx\n", i, bad[i], plain_bad[i] );
    unverified ok( plain_bad[4] == STATUS_TIMEOUT && plain_bad[5] == STATUS_TIMEOUT, "%#lx, %#lx\n",
        plain_bad[4], plain_bad[5] );
    kit_check();
}

/* ---- a scheduler ---- */

static void WINAPI release_in_mode( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason != UmsSchedulerStartup) return;
    inside = 1;
    pNtReleaseKeyedEvent( NULL, keys, FALSE, NULL );
}

static DWORD WINAPI release_as_scheduler( void *completion_list )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, completion_list, release_in_mode, NULL };

    return pEnterUmsSchedulingMode( &info );
}

/* It is terminated where it waits [doc: TerminateThread]. */
START_TEST( scenario_keyed_scheduler )
{
    PUMS_COMPLETION_LIST list;
    HANDLE thread;
    DWORD code = 0;

    if (!open_keyed()) return;
    ok( pCreateUmsCompletionList( &list ), "no list, error %lu\n", GetLastError() );
    thread = CreateThread( NULL, 0, release_as_scheduler, list, 0, NULL );
    ok( kit_wait_value( &inside, 1 ), "it did not enter the mode\n" );
    Sleep( 50 );                                /* it may wait by then; what is expected does not depend on it */
    ok( TerminateThread( thread, 5 ), "TerminateThread: error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "it did not end in %d ms\n", KIT_LIMIT );
    ok( GetExitCodeThread( thread, &code ) && code == 5, "it ended with %lu\n", code );
    CloseHandle( thread );
    pDeleteUmsCompletionList( list );
}
