/*
 * Scenarios: two workers wait for one event or semaphore, which becomes known to others before it is signalled.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Both waits have begun when the third worker begins, however busy the machine is (wait_and_tell).
 */
#include "object_kit.h"

static volatile LONG released, too_early;
static BOOL late;

static DWORD wait_for_it( struct kit_worker *worker )
{
    (void)worker;
    if (!wait_and_tell( subject, INFINITE )) InterlockedIncrement( &released );
    return 0;
}

/* Two signals, before anybody has run, release both. `late`: when their waits have gone on at the host, most likely. */
static DWORD set_twice( struct kit_worker *worker )
{
    HANDLE copy;

    (void)worker;
    know_they_wait( 2 );
    copy = copy_of( subject );
    if (late) Sleep( 100 );
    SetEvent( subject );
    SetEvent( subject );
    CloseHandle( copy );
    return 0;
}

static volatile LONG refused;

/* The same with a semaphore whose limit is 1: each release is for one who waits, so both are accepted. */
static DWORD release_twice( struct kit_worker *worker )
{
    HANDLE copy;
    LONG before = 7;
    int i;

    (void)worker;
    refused = 0;
    know_they_wait( 2 );
    copy = copy_of( subject );
    for (i = 0; i < 2; i++)
    {
        if (!ReleaseSemaphore( subject, 1, &before )) refused++;
        if (before) wrong++;
    }
    if (ReleaseSemaphore( subject, 2, NULL ) || GetLastError() != ERROR_TOO_MANY_POSTS) wrong++;
    CloseHandle( copy );
    return 0;
}

/* The same with the signal of SignalObjectAndWait. */
static DWORD signal_twice( struct kit_worker *worker )
{
    HANDLE copy, never = CreateEventW( NULL, FALSE, FALSE, NULL );
    int i;

    (void)worker;
    know_they_wait( 2 );
    copy = copy_of( subject );
    for (i = 0; i < 2; i++) if (SignalObjectAndWait( subject, never, 0, FALSE ) != WAIT_TIMEOUT) wrong++;
    if (SignalObjectAndWait( subject, NULL, 0, FALSE ) != WAIT_FAILED) wrong++;
    CloseHandle( never );
    CloseHandle( copy );
    return 0;
}

/* SignalObjectAndWait whose time-out cannot be read signals nothing: two signals behind it release two. */
static DWORD signal_badly( struct kit_worker *worker )
{
    LONG (WINAPI *pNtSignalAndWaitForSingleObject)( HANDLE, HANDLE, BOOLEAN, LARGE_INTEGER * ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtSignalAndWaitForSingleObject" );
    HANDLE copy, never = CreateEventW( NULL, FALSE, FALSE, NULL );

    (void)worker;
    know_they_wait( 2 );
    copy = copy_of( subject );
    if (pNtSignalAndWaitForSingleObject( subject, never, FALSE, (void *)8 ) != (LONG)0xc0000005) refused = 1;
    SetEvent( subject );
    SetEvent( subject );
    CloseHandle( never );
    CloseHandle( copy );
    return 0;
}

/* One releases one. */
static DWORD set_once( struct kit_worker *worker )
{
    HANDLE copy;
    int i;

    know_they_wait( 2 );
    copy = copy_of( subject );
    SetEvent( subject );
    for (i = 0; i < 50; i++) kit_yield( worker, NULL );         /* a chance for both */
    too_early = released > 1;
    kit_yield_until( worker, &released, 1 );
    SetEvent( subject );
    CloseHandle( copy );
    return 0;
}

/* object: auto-reset, not signalled */
static void run_two( HANDLE object, DWORD (*rest)( struct kit_worker * ) )
{
    struct kit_worker *workers[2];
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    subject = object;
    begun = CreateSemaphoreW( NULL, 0, 2, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < 2; i++) workers[i] = kit_add_worker( sched->list, wait_for_it, NULL );
    kit_start();
    for (i = 0; i < 2; i++) ok( kit_leaves( &workers[i]->blocks, 0 ), "nobody was told\n" );
    kit_add_worker( sched->list, rest, NULL );
    kit_finish();
    ok( released == 2, "%ld of 2 were released\n", released );
    ok( !too_early, "one signal has released two\n" );
    ok( WaitForSingleObject( subject, 0 ), "one signal too many\n" );
    ok( !wrong, "%ld answers, counts or errors were wrong\n", wrong );
    CloseHandle( subject );
    CloseHandle( begun );
    kit_check();
}

START_TEST( scenario_object_set_twice )
{
    run_two( CreateEventW( NULL, FALSE, FALSE, NULL ), set_twice );
}

START_TEST( scenario_object_set_twice_late )
{
    late = TRUE;
    run_two( CreateEventW( NULL, FALSE, FALSE, NULL ), set_twice );
}

START_TEST( scenario_object_release_twice )
{
    run_two( CreateSemaphoreW( NULL, 0, 1, NULL ), release_twice );
    ok( !refused, "%ld of 2 releases were refused\n", refused );
}

START_TEST( scenario_object_signal_twice )
{
    run_two( CreateEventW( NULL, FALSE, FALSE, NULL ), signal_twice );
}

START_TEST( scenario_object_signal_badly )
{
    run_two( CreateEventW( NULL, FALSE, FALSE, NULL ), signal_badly );
    unverified ok( !refused, "an unreadable time-out was not refused\n" );
}

START_TEST( scenario_object_set_once )
{
    run_two( CreateEventW( NULL, FALSE, FALSE, NULL ), set_once );
}
