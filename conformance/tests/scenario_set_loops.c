/*
 * Scenarios: somebody sets the registers of a worker that makes one call after the other: about another thread, and others that do not
 * block.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * As in scenario_set.c.
 */
#include "../umslib.h"
#include "scenario_kit.h"
#include "scenario_set.h"

/* ---- calls that do not block, one after the other: none is cut short, and none is left out ---- */

#define CALL_SIZE 0x20                          /* bytes of a stub in ntdll, at most */

static volatile LONG stop_looping, wrong_answers, loops, other_goes_on;

static DWORD WINAPI other_thread( void *arg )
{
    (void)arg;
    while (!other_goes_on) YieldProcessor();
    return 0;
}

static DWORD suspender_body( struct kit_worker *worker )
{
    HANDLE other = worker->arg;

    while (!stop_looping)
    {
        if (SuspendThread( other ) != 0) wrong_answers++;
        if (ResumeThread( other ) != 1) wrong_answers++;
        loops++;
    }
    return 0;
}

/* Each call finds the event as the one before has left it. */
static DWORD event_body( struct kit_worker *worker )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    LONG (WINAPI *set)( HANDLE, LONG * ) = (void *)GetProcAddress( ntdll, "NtSetEvent" );
    LONG (WINAPI *reset)( HANDLE, LONG * ) = (void *)GetProcAddress( ntdll, "NtResetEvent" );
    HANDLE mine = CreateEventA( NULL, TRUE, FALSE, NULL );
    LONG before;

    (void)worker;
    while (!stop_looping)
    {
        before = 2;
        if (set( mine, &before ) || before != 0) wrong_answers++;
        before = 2;
        if (reset( mine, &before ) || before != 1) wrong_answers++;
        loops++;
    }
    CloseHandle( mine );
    return 0;
}

static BOOL is_in_call( ULONG64 rip, const char *name )
{
    return rip - (ULONG_PTR)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), name ) < CALL_SIZE;
}

/* A thread in a system call is where it has called the system [guess]. */
static BOOL may_be_at( ULONG64 rip )
{
    const char *ntdll = (const char *)GetModuleHandleA( "ntdll.dll" );
    const IMAGE_NT_HEADERS *nt = (const void *)(ntdll + ((const IMAGE_DOS_HEADER *)ntdll)->e_lfanew);

    return rip - (ULONG_PTR)ntdll >= nt->OptionalHeader.SizeOfImage || is_in_call( rip, "NtSuspendThread" ) ||
           is_in_call( rip, "NtResumeThread" );
}

/* Only chance takes the worker to a given place of a call; UMSTEST_LIVES (default 400) sets the number of rounds. */
static void change_in_loop( DWORD (*body)( struct kit_worker * ), HANDLE other, enum change change )
{
    int rounds = umstest_lives() / 2, i;
    struct kit_worker *worker;
    ULONG64 rip = 0, strange = 0;
    LONG failed = 0, before;

    if (!kit_open()) return;
    worker = kit_add_worker( kit_add_sched( NULL )->list, body, other );
    kit_start();
    ok( worker && kit_leaves( &loops, 0 ), "it does not run\n" );
    for (i = 0; worker && i < rounds && !wrong_answers; i++)
    {
        if (SuspendThread( worker->thread )) failed++;
        if (!change_registers( worker->thread, change, &rip )) failed++;
        if (body == suspender_body && !may_be_at( rip )) strange = rip;
        before = loops;                         /* behind GetThreadContext it stands still [guess]; SuspendThread may return before */
        if (ResumeThread( worker->thread ) != 1) failed++;      /* another round means that it has made the detour */
        if (!kit_leaves( &loops, before )) break;
    }
    stop_looping = 1;
    unverified ok( i == rounds && !failed, "round %d of %d, %ld failed\n", i, rounds, failed );
    unverified ok( !wrong_answers, "%s: a call had a wrong answer after %ld loops\n", change_names[change], loops );
    unverified ok( !strange, "%s: it was at %#llx in a call for its suspension\n", change_names[change], strange );
    unverified ok( detours == (change == DETOUR ? i : 0), "%s: %ld detours in %d rounds\n", change_names[change], detours, i );
    kit_finish();
    kit_check();
}

/* About another thread. */
static void change_in_special_call( enum change change )
{
    HANDLE other = CreateThread( NULL, 0, other_thread, NULL, 0, NULL );

    change_in_loop( suspender_body, other, change );
    other_goes_on = 1;
    ok( !WaitForSingleObject( other, KIT_LIMIT ), "the other thread is still suspended\n" );
}

START_TEST( scenario_set_same_in_special )   { change_in_special_call( THE_SAME ); }
START_TEST( scenario_set_detour_in_special ) { change_in_special_call( DETOUR ); }
START_TEST( scenario_set_same_in_quick )     { change_in_loop( event_body, NULL, THE_SAME ); }
START_TEST( scenario_set_detour_in_quick )   { change_in_loop( event_body, NULL, DETOUR ); }

/* ---- it is sent elsewhere: the call is over, and nobody waits for it afterwards ---- */

#define SENT 10

static struct kit_worker *sent;
static volatile LONG landed;

static void landing( void )
{
    landed++;
    InterlockedExchange( &sent->ended, 1 );
    ExitThread( 0 );
}

/* The call may have suspended the thread, or may not. */
static void resume_all( HANDLE thread )
{
    DWORD count;

    do count = ResumeThread( thread ); while (count != (DWORD)-1 && count > 1);
    ok( count != (DWORD)-1, "ResumeThread: error %lu\n", GetLastError() );
}

static BOOL send_one( PUMS_COMPLETION_LIST list, HANDLE other, int i )
{
    LONG before = loops;

    sent = kit_add_worker( list, suspender_body, other );
    if (!sent || !ok( kit_leaves( &loops, before ), "worker %d does not run\n", i )) return FALSE;
    ok( !SuspendThread( sent->thread ), "SuspendThread: error %lu\n", GetLastError() );
    send_elsewhere( sent->thread, landing );
    if (!(unverified ok( kit_wait_value( &landed, i + 1 ), "worker %d did not get there\n", i ))) return FALSE;
    resume_all( other );
    return TRUE;
}

START_TEST( scenario_set_sent_from_special )
{
    HANDLE other = CreateThread( NULL, 0, other_thread, NULL, 0, NULL );
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_start();
    for (i = 0; i < SENT; i++) if (!send_one( sched->list, other, i )) break;
    stop_looping = other_goes_on = 1;
    kit_finish();
    unverified ok( !wrong_answers, "a call had a wrong answer after %ld loops\n", loops );
    ok( !WaitForSingleObject( other, KIT_LIMIT ), "the other thread is still suspended\n" );
    CloseHandle( other );
    kit_check();
}
