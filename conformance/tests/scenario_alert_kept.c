/*
 * Scenarios: an alert by thread id that is pending stays pending while its thread waits for something else.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NtAlertThreadByThreadId is not documented. Wine's locks are built on it [seen: Wine's source], and those of Windows [guess]. A thread
 * has one alert at most, and only NtWaitForAlertByThreadId takes it [seen: Wine's source]. Waits of UMS are waits for something else,
 * whoever makes them.
 */
#include "scenario_kit.h"
#include "../umslib.h"

#define ROUNDS         50
#define STATUS_ALERTED ((NTSTATUS)0x101)

static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( const void *, const LARGE_INTEGER * );

static volatile LONG given, lost, twice, refused;

static BOOL open_alerts( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    if (pNtAlertThreadByThreadId && pNtWaitForAlertByThreadId) return kit_open();
    skip( "no alerts by thread id: Windows before 8\n" );
    return FALSE;
}

static void give( DWORD id )
{
    if (pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)id )) InterlockedIncrement( &refused );
    InterlockedIncrement( &given );
}

/* It was given before, so no time is needed. */
static void take( void )
{
    const LARGE_INTEGER none = { .QuadPart = 0 };

    if (pNtWaitForAlertByThreadId( NULL, &none ) != STATUS_ALERTED) InterlockedIncrement( &lost );
    if (pNtWaitForAlertByThreadId( NULL, &none ) != STATUS_TIMEOUT) InterlockedIncrement( &twice );
}

/* ---- a scheduler, which waits for its workers ---- */

static HANDLE asked, answered;
static volatile LONG blocks_before;

static BOOL keep_one( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason != UmsSchedulerStartup) take();
    give( sched->id );
    return FALSE;
}

static DWORD blocks_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        blocks_before = worker->blocks;
        SetEvent( asked );
        WaitForSingleObject( answered, KIT_LIMIT );
    }
    return 0;
}

/* When the worker was seen to wait. The scheduler waits as well then, or will soon: a moment more, on which no check depends. */
static DWORD WINAPI answers( void *arg )
{
    struct kit_worker *worker = arg;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        WaitForSingleObject( asked, KIT_LIMIT );
        kit_leaves( &worker->blocks, blocks_before );
        Sleep( 1 );
        SetEvent( answered );
    }
    return 0;
}

static void judge( LONG least )
{
    ok( given >= least, "%ld alerts, expected %ld\n", given, least );
    ok( !refused, "%ld alerts failed\n", refused );
    ok( !lost, "%ld of %ld alerts were lost\n", lost, given );
    /* a wait may end without an alert, if the system is disturbed; as a rule it does not */
    ok( twice * 10 <= given, "%ld of %ld alerts came twice\n", twice, given );
}

START_TEST( scenario_alert_kept_scheduler )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HANDLE thread;

    if (!open_alerts()) return;
    asked = CreateEventW( NULL, FALSE, FALSE, NULL );
    answered = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    sched->on_upcall = keep_one;
    worker = kit_add_worker( sched->list, blocks_body, NULL );
    if (!ok( worker != NULL, "no worker\n" )) return;
    thread = CreateThread( NULL, 0, answers, worker, 0, NULL );
    kit_start();
    kit_finish();
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "not all answers were given\n" );
    judge( ROUNDS );
    kit_check();
}

/* ---- workers, which give way ---- */

static DWORD gives_way_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        give( worker->id );
        kit_yield( worker, NULL );
        take();
        give( worker->id );
        Sleep( 1 );
        take();
    }
    return 0;
}

START_TEST( scenario_alert_kept_worker )
{
    struct kit_sched *sched;
    int i;

    if (!open_alerts()) return;
    sched = kit_add_sched( NULL );
    for (i = 0; i < 4; i++) kit_add_worker( sched->list, gives_way_body, NULL );
    kit_start();
    kit_finish();
    judge( 4 * 2 * ROUNDS );
    kit_check();
}

/* ---- a plain thread, which waits for a list ---- */

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT items[ROUNDS];
static volatile LONG waits;

/* It is given before the wait, in each second round by another thread during the wait. */
static DWORD WINAPI dequeues( void *unused )
{
    LONG i;

    (void)unused;
    for (i = 0; i < ROUNDS; i++)
    {
        if (!(i & 1)) give( GetCurrentThreadId() );
        InterlockedExchange( &waits, i + 1 );
        if (!pDequeueUmsCompletionListItems( list, KIT_LIMIT, &items[i] )) break;
        take();
    }
    return 0;
}

START_TEST( scenario_alert_kept_plain )
{
    static struct worker workers[ROUNDS];
    HANDLE thread;
    DWORD id;
    LONG i;

    if (!open_alerts()) return;
    list = list_create();
    thread = CreateThread( NULL, 0, dequeues, NULL, 0, &id );
    for (i = 0; i < ROUNDS; i++)
    {
        if (!ok( kit_wait_value( &waits, i + 1 ), "it is in round %ld, expected %ld\n", waits, i + 1 )) return;
        Sleep( 1 );                     /* to have it wait; no check depends on it */
        if (i & 1) give( id );
        if (!ok( worker_create( &workers[i], list, NULL, NULL, 0 ), "no worker, error %lu\n", GetLastError() )) return;
    }
    if (!ok( !WaitForSingleObject( thread, KIT_LIMIT ), "it does not end\n" )) return;
    for (i = 0; i < ROUNDS; i++) if (items[i] != workers[i].context) break;
    ok( i == ROUNDS, "round %ld gave %p\n", i, i == ROUNDS ? NULL : items[i] );
    judge( ROUNDS );
    finish_workers( list, workers, ROUNDS, ROUNDS );
}

/* ---- one that comes during a wait for it is taken by that wait ---- */

static volatile LONG is_over;

static DWORD WINAPI waits_for_alerts( void *unused )
{
    const LARGE_INTEGER none = { .QuadPart = 0 };
    LONG i;

    (void)unused;
    for (i = 1; i <= ROUNDS; i++)
    {
        InterlockedExchange( &waits, i );
        while (is_over != i) pNtWaitForAlertByThreadId( NULL, NULL );
        if (pNtWaitForAlertByThreadId( NULL, &none ) != STATUS_TIMEOUT) InterlockedIncrement( &twice );
    }
    return 0;
}

START_TEST( scenario_alert_kept_taken )
{
    HANDLE thread;
    DWORD id;
    LONG i;

    if (!open_alerts()) return;
    thread = CreateThread( NULL, 0, waits_for_alerts, NULL, 0, &id );
    for (i = 1; i <= ROUNDS; i++)
    {
        if (!ok( kit_wait_value( &waits, i ), "it is in round %ld, expected %ld\n", waits, i )) return;
        Sleep( 1 );                     /* to have it wait; no check depends on it */
        InterlockedExchange( &is_over, i );
        give( id );
    }
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "it does not end\n" );
    judge( ROUNDS );
}
