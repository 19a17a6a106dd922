/*
 * Scenarios: workers that wait for each other and for the time, by locks that need no kernel object.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SRW locks, condition variables and WaitOnAddress wait for an alert by thread id; Sleep waits for
 * the time. To a scheduler these are blocked workers like any other [doc: a worker that waits in a
 * system call is blocked, and comes back through the completion list].
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"

#define ROUNDS 200

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );
static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( void *, const LARGE_INTEGER * );

static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE changed = CONDITION_VARIABLE_INIT;
static volatile LONG turn, rounds, wrong, words[2], woken[2], wait_block[2];

static BOOL open_waits( void )
{
    HMODULE base = GetModuleHandleW( L"kernelbase.dll" );

    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    if (pWaitOnAddress && pWakeByAddressSingle) return kit_open();
    skip( "no WaitOnAddress: Windows before 8\n" );
    return FALSE;
}

/* ---- a turn that goes to and fro ---- */

static void take_turns( LONG self )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        AcquireSRWLockExclusive( &lock );
        while (turn != self) SleepConditionVariableSRW( &changed, &lock, INFINITE, 0 );
        turn = !self;
        rounds++;
        ReleaseSRWLockExclusive( &lock );
        WakeAllConditionVariable( &changed );
    }
}

static DWORD turns_body( struct kit_worker *worker )
{
    take_turns( (LONG)(LONG_PTR)worker->arg );
    return 0;
}

static DWORD WINAPI turns_thread( void *self )
{
    take_turns( (LONG)(LONG_PTR)self );
    return 0;
}

static void check_turns( void )
{
    ok( rounds == 2 * ROUNDS, "%ld turns of %d\n", rounds, 2 * ROUNDS );
    kit_check();
}

static void run_turns( int sched_count )
{
    struct kit_sched *scheds[2];
    int i;

    if (!open_waits()) return;
    for (i = 0; i < sched_count; i++) scheds[i] = kit_add_sched( NULL );
    for (i = 0; i < 2; i++)
        kit_add_worker( scheds[i % sched_count]->list, turns_body, (void *)(LONG_PTR)i );
    kit_start();
    kit_finish();
    check_turns();
    /* Elsewhere the turn may have come back before the wait began. */
    if (sched_count == 1)
        ok( kit.workers[0].blocks > 1, "nobody was told that a worker waits\n" );
}

START_TEST( scenario_wait_turns_together )
{
    run_turns( 1 );
}

START_TEST( scenario_wait_turns_apart )
{
    run_turns( 2 );
}

START_TEST( scenario_wait_turns_plain )
{
    struct kit_sched *sched;
    HANDLE thread;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, turns_body, NULL );
    kit_start();
    thread = CreateThread( NULL, 0, turns_thread, (void *)1, 0, NULL );
    kit_finish();
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the plain thread waits still\n" );
    CloseHandle( thread );
    check_turns();                              /* the last turn is the plain thread's */
}

/* ---- time ---- */

/* A wait for an address or a condition variable may return without a reason [doc]: an alert that the
   thread was given while it began is one. Once is taken for that. */
static int timed_out( BOOL ret, int *spurious )
{
    if (!ret) return GetLastError() == ERROR_TIMEOUT ? 1 : -1;
    return (*spurious)++ ? -1 : 0;
}

static int wait_20_ms( int kind, int *spurious )
{
    LONG zero = 0;
    int ret;

    switch (kind)
    {
    case 0:
        Sleep( 20 );
        return 1;
    case 1:
        return timed_out( pWaitOnAddress( &words[0], &zero, sizeof(zero), 20 ), spurious );
    default:
        AcquireSRWLockExclusive( &lock );
        ret = timed_out( SleepConditionVariableSRW( &changed, &lock, 20, 0 ), spurious );
        ReleaseSRWLockExclusive( &lock );
        return ret;
    }
}

static DWORD time_body( struct kit_worker *worker )
{
    LARGE_INTEGER begin, end, frequency;
    int i = 0, ret, spurious = 0;

    (void)worker;
    QueryPerformanceFrequency( &frequency );
    while (i < 6)
    {
        QueryPerformanceCounter( &begin );
        if (!(ret = wait_20_ms( i % 3, &spurious ))) continue;
        QueryPerformanceCounter( &end );
        if (ret < 0) wrong++;
        /* a clock tick less is allowed [doc] */
        if ((end.QuadPart - begin.QuadPart) * 1000 / frequency.QuadPart < 20 - 16) wrong += 100;
        i++;
    }
    return 0;
}

START_TEST( scenario_wait_time )
{
    struct kit_sched *sched;
    struct kit_worker *worker;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, time_body, NULL );
    kit_start();
    kit_finish();
    ok( !wrong, "%ld waits ended without a time-out, %ld too early\n", wrong % 100, wrong / 100 );
    ok( worker && worker->blocks >= 6, "its scheduler was not told of each wait\n" );
    kit_check();
}

/* A deadline an hour ahead, of a wait that began before and has a context that was made later */
static DWORD hour_body( struct kit_worker *worker )
{
    LONG zero = 0;
    int i;

    (void)worker;
    for (i = 0; i < 20; i++) Sleep( 1 );        /* what ends timed waits is there then */
    wait_block[0] = 1;
    while (!words[0]) pWaitOnAddress( &words[0], &zero, sizeof(zero), 3600000 );
    woken[0] = 1;
    return 0;
}

static DWORD soon_body( struct kit_worker *worker )
{
    while (!wait_block[0]) kit_yield( worker, NULL );
    Sleep( 1 );
    woken[1] = 1;
    words[0] = 1;
    pWakeByAddressSingle( (void *)&words[0] );
    return 0;
}

/* A wait ends at its time, whatever else is waited for [doc: Sleep]. */
START_TEST( scenario_wait_times )
{
    struct kit_sched *sched;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, soon_body, NULL );
    kit_add_worker( sched->list, hour_body, NULL );
    kit_start();
    kit_finish();
    ok( woken[0] && woken[1], "woken: %ld, %ld\n", woken[0], woken[1] );
    kit_check();
}

/* ---- suspended and killed while it waits ---- */

static DWORD word_body( struct kit_worker *worker )
{
    LONG which = (LONG)(LONG_PTR)worker->arg, zero = 0;

    /* while it runs nobody counts; a block before this was not for the word */
    wait_block[which] = worker->blocks + 1;
    while (!words[which]) pWaitOnAddress( &words[which], &zero, sizeof(zero), INFINITE );
    woken[which] = 1;
    return 0;
}

/* For the word, not in some other call that took long. */
static void until_it_waits( struct kit_worker *worker, LONG which )
{
    while (!wait_block[which] && !worker->terminated) Sleep( 1 );
    kit_wait_value( &worker->blocks, wait_block[which] );
}

static void wake( LONG which )
{
    words[which] = 1;
    pWakeByAddressSingle( (void *)&words[which] );
}

/* Both wait; the suspended one is woken first, and the other, which comes to the same list later,
   runs to its end. */
START_TEST( scenario_wait_suspended )
{
    struct kit_worker *first, *second;
    struct kit_sched *sched;
    LONG queued;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    first = kit_add_worker( sched->list, word_body, NULL );
    second = kit_add_worker( sched->list, word_body, (void *)1 );
    kit_start();
    until_it_waits( first, 0 );
    until_it_waits( second, 1 );
    queued = first->queued;
    ok( !SuspendThread( first->thread ), "not suspended\n" );
    wake( 0 );
    wake( 1 );
    ok( kit_wait_value( &second->terminated, 1 ), "the other one did not end\n" );
    ok( first->queued == queued && !woken[0], "a suspended worker came to the list\n" );
    ok( ResumeThread( first->thread ) == 1, "not resumed\n" );
    kit_finish();
    ok( woken[0] && woken[1], "not woken\n" );
    kit_check();
}

/* Its wait is over with it; who wakes it afterwards wakes nobody. */
START_TEST( scenario_wait_killed )
{
    struct kit_worker *victim, *other;
    struct kit_sched *sched;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    victim = kit_add_worker( sched->list, word_body, NULL );
    other = kit_add_worker( sched->list, word_body, (void *)1 );
    kit_start();
    until_it_waits( victim, 0 );
    until_it_waits( other, 1 );
    ok( TerminateThread( victim->thread, 3 ), "error %lu\n", GetLastError() );
    ok( kit_wait_value( &victim->terminated, 1 ), "it did not come to the list\n" );
    wake( 0 );
    wake( 1 );
    kit_finish();
    ok( !woken[0] && woken[1], "woken: %ld, %ld\n", woken[0], woken[1] );
    victim->ended = 1;                          /* as far as the kit is concerned */
    kit_check();
}

/* ---- the calls below ---- */

static NTSTATUS calls_by_plain[5], calls_by_worker[5];

/* An alert is kept until it is taken, two are one; what is wrong is answered as the host does. */
static void make_calls( NTSTATUS *status )
{
    HANDLE self = (HANDLE)(ULONG_PTR)GetCurrentThreadId();
    LARGE_INTEGER soon = { .QuadPart = -1000 }, none = { .QuadPart = 0 };

    pNtAlertThreadByThreadId( self );
    pNtAlertThreadByThreadId( self );
    status[0] = pNtWaitForAlertByThreadId( NULL, NULL );
    status[1] = pNtWaitForAlertByThreadId( NULL, &soon );
    status[2] = pNtWaitForAlertByThreadId( NULL, &none );
    status[3] = pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)0xfffffff0 );
    status[4] = pNtWaitForAlertByThreadId( NULL, (void *)8 );
}

static DWORD calls_body( struct kit_worker *worker )
{
    (void)worker;
    make_calls( calls_by_worker );
    return 0;
}

START_TEST( scenario_wait_calls )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );
    struct kit_sched *sched;
    int i;

    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    if (!pNtAlertThreadByThreadId || !pNtWaitForAlertByThreadId)
    {
        skip( "no alerts by thread id: Windows before 8\n" );
        return;
    }
    if (!open_waits()) return;
    make_calls( calls_by_plain );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, calls_body, NULL );
    kit_start();
    kit_finish();
    for (i = 0; i < 5; i++)
        ok( calls_by_worker[i] == calls_by_plain[i], "call %d: %08lx to a worker, %08lx to a thread\n",
            i, calls_by_worker[i], calls_by_plain[i] );
    ok( calls_by_worker[0] == 0x101 && calls_by_worker[2] == STATUS_TIMEOUT,
        "an alert was lost, or given twice: %08lx, %08lx\n", calls_by_worker[0], calls_by_worker[2] );
    kit_check();
}
