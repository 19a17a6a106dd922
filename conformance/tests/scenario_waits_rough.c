/*
 * Scenarios: what is done to workers that wait by alerts or for the time, and what is asked for wrongly.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NtAlertThreadByThreadId and NtWaitForAlertByThreadId are not documented; SRW locks and the like are made of them since
 * Windows 8. What they answer to bad input is compared with what the system itself answers, before this process has made
 * its first call of UMS, and with what plain threads get afterwards.
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"
#include <tlhelp32.h>

#define LIVES  60
#define ANSWERS 15

static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( const void *, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtDelayExecution)( BOOLEAN, const LARGE_INTEGER * );

static volatile LONG waiting, go_on, woken, apcs, early, naps;
static HANDLE ended_plain, ended_worker;        /* ids */

static BOOL find_alerts( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    pNtDelayExecution = (void *)GetProcAddress( ntdll, "NtDelayExecution" );
    if (pNtAlertThreadByThreadId && pNtWaitForAlertByThreadId && pNtDelayExecution) return TRUE;
    skip( "no alerts by thread id: Windows before 8\n" );
    return FALSE;
}

static BOOL open_alerts( void )
{
    return find_alerts() && kit_open();
}

static NTSTATUS alert( DWORD id )
{
    return pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)id );
}

/* ---- bad input ---- */

static void ask( NTSTATUS *answers )
{
    LARGE_INTEGER past = { .QuadPart = 1 }, least = { .LowPart = 0, .HighPart = 0x80000000 }, soon = { .QuadPart = -1 };
    DWORD self = GetCurrentThreadId();
    int i = 0;

    answers[i++] = alert( 0 );
    answers[i++] = alert( 1 );
    answers[i++] = pNtAlertThreadByThreadId( (HANDLE)-1 );
    answers[i++] = alert( 0x7ffffff0 );
    answers[i++] = pNtAlertThreadByThreadId( ended_plain );
    answers[i++] = pNtAlertThreadByThreadId( ended_worker );
    answers[i++] = alert( self + 3 );           /* an id is told by all but two bits [seen: Wine] */
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &soon );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &past );
    answers[i++] = pNtWaitForAlertByThreadId( (void *)8, &soon );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, (void *)8 );
    answers[i++] = pNtDelayExecution( FALSE, (void *)8 );
    answers[i++] = pNtDelayExecution( FALSE, &past );
    alert( self );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &least );     /* for ever, but that it is alerted */
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &soon );
}

/* It is made before the threads end whose ids it asks about, so it cannot get one of those. */
static DWORD ask_body( struct kit_worker *worker )
{
    while (!go_on) if (!kit_yield( worker, NULL )) return 1;
    ask( worker->arg );
    return 0;
}

static DWORD WINAPI end_at_once( void *unused )
{
    (void)unused;
    return 0;
}

static DWORD end_body( struct kit_worker *worker )
{
    (void)worker;
    return 0;
}

static HANDLE ended_thread( void )
{
    DWORD id = 0;
    HANDLE thread = CreateThread( NULL, 0, end_at_once, NULL, 0, &id );

    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "a thread does not end\n" );
    CloseHandle( thread );
    return (HANDLE)(ULONG_PTR)id;
}

/* An id is free when the last handle of its thread is closed [doc: GetThreadId], and the context is deleted. */
static HANDLE ended_worker_id( struct kit_worker *worker )
{
    ok( kit_leaves( &worker->deleted, 0 ), "a worker does not end\n" );
    ok( !WaitForSingleObject( worker->thread, KIT_LIMIT ), "its thread does not end\n" );
    CloseHandle( worker->thread );
    worker->thread = NULL;                      /* closed, as far as the kit is concerned */
    return (HANDLE)(ULONG_PTR)worker->id;
}

/* Whether an ended thread's id is known is not written down anywhere: a worker's is like a plain thread's. */
START_TEST( scenario_alert_bad_input )
{
    static NTSTATUS by_system[ANSWERS], by_plain[ANSWERS], by_worker[ANSWERS];
    struct kit_worker *worker, *asks;
    struct kit_sched *sched;
    int i;

    if (!find_alerts()) return;
    ended_plain = ended_worker = ended_thread();
    ask( by_system );
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    asks = kit_add_worker( sched->list, ask_body, by_worker );
    worker = kit_add_worker( sched->list, end_body, NULL );
    kit_start();
    if (!asks || !worker) return;
    ended_worker = ended_worker_id( worker );
    ended_plain = ended_thread();
    ask( by_plain );
    go_on = 1;
    kit_finish();
    for (i = 0; i < ANSWERS; i++)
        ok( by_worker[i] == by_system[i] && by_plain[i] == by_system[i],
            "call %d: %08lx to a worker, %08lx to a thread, %08lx before there was UMS\n", i, by_worker[i], by_plain[i],
            by_system[i] );
    kit_check();
}

/* ---- alerts to those who end ---- */

static DWORD wait_body( struct kit_worker *worker )
{
    LONG mine = (LONG)(LONG_PTR)worker->arg;

    waiting = mine;
    while (go_on != mine) pNtWaitForAlertByThreadId( NULL, NULL );
    woken++;
    return 0;
}

static volatile DWORD any_id;
static volatile LONG stop, odd_answers;
static NTSTATUS no_thread, odd_answer;          /* what an alert to an ended thread gives */

/* Some are for nobody by then, or for the next owner of the id: nobody may mind. */
static DWORD WINAPI alert_often( void *unused )
{
    NTSTATUS status;

    (void)unused;
    while (!stop)
    {
        if (!any_id || !(status = alert( any_id )) || status == no_thread) continue;
        odd_answers++;
        odd_answer = status;
    }
    return 0;
}

/* One that lives, and waits until it is alerted. */
static BOOL live_once( struct kit_sched *sched, LONG life )
{
    struct kit_worker *worker = kit_add_worker( sched->list, wait_body, (void *)(LONG_PTR)life );
    NTSTATUS status;

    if (!worker) return FALSE;
    any_id = worker->id;
    if (!kit_wait_value( &waiting, life )) return FALSE;
    status = alert( worker->id );               /* it may wake up, and waits on */
    go_on = life;
    if (status || (status = alert( worker->id )))
        ok( worker->ended && status == no_thread, "an alert to a live worker gave %08lx\n", status );
    return kit_wait_value( &worker->terminated, 1 );
}

START_TEST( scenario_alert_ending )
{
    struct kit_sched *sched;
    HANDLE noise;
    LONG i;

    if (!find_alerts()) return;
    no_thread = pNtAlertThreadByThreadId( ended_thread() );
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_start();
    noise = CreateThread( NULL, 0, alert_often, NULL, 0, NULL );
    for (i = 1; i <= LIVES; i++) if (!live_once( sched, i )) break;
    ok( i > LIVES, "the worker of life %ld was not woken, or did not end\n", i );
    stop = 1;
    ok( !WaitForSingleObject( noise, KIT_LIMIT ), "who alerts does not end\n" );
    CloseHandle( noise );
    kit_finish();
    ok( woken == LIVES, "%ld woken of %d\n", woken, LIVES );
    ok( !odd_answers, "%ld alerts of a thread that may have ended gave neither 0 nor %08lx; the last one: %08lx\n", odd_answers,
        no_thread, odd_answer );
    kit_check();
}

/* ---- APCs and registers ---- */

static void CALLBACK count_apc( ULONG_PTR arg )
{
    (void)arg;
    if (!go_on) early++;
    apcs++;
}

static DWORD apc_body( struct kit_worker *worker )
{
    (void)worker;
    waiting = 1;
    while (!go_on) pNtWaitForAlertByThreadId( NULL, NULL );
    SleepEx( 0, TRUE );
    return 0;
}

/* A wait for an alert is not alertable: an APC stays until the worker lets it in. */
START_TEST( scenario_alert_apc )
{
    struct kit_worker *worker;
    struct kit_sched *sched;

    if (!open_alerts()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, apc_body, NULL );
    kit_start();
    if (!worker || !kit_wait_value( &waiting, 1 )) return;
    ok( QueueUserAPC( count_apc, worker->thread, 0 ), "error %lu\n", GetLastError() );
    alert( worker->id );                        /* without a reason: it waits on */
    ok( QueueUserAPC( count_apc, worker->thread, 0 ), "error %lu\n", GetLastError() );
    go_on = 1;
    alert( worker->id );
    kit_finish();
    ok( apcs == 2 && !early, "%ld APCs ran, %ld of them while it waited\n", apcs, early );
    kit_check();
}

static DWORD_PTR stack_low, stack_high;

static void landed( void )
{
    woken = 1;
    ExitThread( 5 );
}

static DWORD registers_body( struct kit_worker *worker )
{
    NT_TIB *tib = kit_teb();

    (void)worker;
    stack_low = (DWORD_PTR)tib->StackLimit;
    stack_high = (DWORD_PTR)tib->StackBase;
    InterlockedExchange( &waiting, 1 );
    while (!go_on) pNtWaitForAlertByThreadId( NULL, NULL );
    return 0;
}

/* Its registers are those with which it waits; others that it is given count when the wait is over. */
START_TEST( scenario_alert_registers )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HMODULE module = NULL;
    CONTEXT context;

    if (!open_alerts()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, registers_body, NULL );
    kit_start();
    if (!worker || !kit_wait_value( &waiting, 1 )) return;
    ok( kit_leaves( &worker->blocks, 0 ), "nobody was told that it waits\n" );
    ok( !SuspendThread( worker->thread ), "not suspended\n" );
    context.ContextFlags = CONTEXT_FULL;
    ok( GetThreadContext( worker->thread, &context ), "error %lu\n", GetLastError() );
    ok( context.Rsp > stack_low && context.Rsp < stack_high, "its stack pointer is not on its stack\n" );
    GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                        (const char *)context.Rip, &module );
    /* a hook may stand in the call's place: then it is on its way back from there */
    ok( module == GetModuleHandleW( L"ntdll.dll" ) || module == GetModuleHandleW( NULL ),
        "it is said to wait neither in ntdll nor in its caller\n" );
    context.Rip = (DWORD64)(ULONG_PTR)landed;
    context.Rsp = ((context.Rsp - 0x1000) & ~(DWORD64)15) - 8;
    ok( SetThreadContext( worker->thread, &context ), "error %lu\n", GetLastError() );
    ok( ResumeThread( worker->thread ) == 1, "not resumed\n" );
    alert( worker->id );
    ok( kit_wait_value( &worker->terminated, 1 ), "it did not go on where it was told to\n" );
    kit_finish();
    ok( woken == 1, "it ended somewhere else\n" );
    worker->ended = 1;                          /* as far as the kit is concerned */
    kit_check();
}

/* ---- threads of nobody ---- */

static DWORD nap_body( struct kit_worker *worker )
{
    (void)worker;
    while (!go_on)
    {
        Sleep( 2 );
        InterlockedIncrement( &naps );
    }
    return 0;
}

static BOOL is_known( DWORD id, const struct kit_worker *worker, const struct kit_sched *sched )
{
    return id == GetCurrentThreadId() || id == worker->id || id == sched->id;
}

static int end_others( const struct kit_worker *worker, const struct kit_sched *sched )
{
    HANDLE all = CreateToolhelp32Snapshot( TH32CS_SNAPTHREAD, 0 ), thread;
    THREADENTRY32 entry = { .dwSize = sizeof(entry) };
    int count = 0;

    if (all == INVALID_HANDLE_VALUE || !Thread32First( all, &entry )) return 0;
    do
    {
        if (entry.th32OwnerProcessID != GetCurrentProcessId() || is_known( entry.th32ThreadID, worker, sched )) continue;
        if (!(thread = OpenThread( THREAD_TERMINATE | SYNCHRONIZE, FALSE, entry.th32ThreadID ))) continue;
        if (TerminateThread( thread, 0 ) && !WaitForSingleObject( thread, KIT_LIMIT )) count++;
        CloseHandle( thread );
    }
    while (Thread32Next( all, &entry ));
    CloseHandle( all );
    return count;
}

/* A program that ends each thread which it has not made: Sleep comes to its end all the same. Windows needs no thread for
   that, and has others that must not be ended. */
START_TEST( scenario_sleep_threads_ended )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    int i;

    if (!open_alerts()) return;
    if (!umstest_is_shim())
    {
        skip( "the system's own threads are not to be ended\n" );
        return;
    }
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, nap_body, NULL );
    kit_start();
    if (!worker) return;
    for (i = 0; i < 5; i++)
    {
        if (!ok( kit_moves( &naps ) && kit_moves( &naps ), "it does not wake up any more, round %d\n", i )) break;
        kit_lock_loader();
        end_others( worker, sched );
        kit_unlock_loader();
    }
    go_on = 1;
    kit_finish();
    kit_check();
}
