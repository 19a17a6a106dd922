/*
 * Scenarios: the kernel calls back into a worker: window procedures and APC routines. What runs there
 * is on the worker's own thread and stack, with a system call of its own below it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B11, B12, B23, B27; D12. The windows are message-only ones: no display is needed.
 */
#include <string.h>
#include "scenario_kit.h"

#define ROUNDS 25

enum
{
    MESSAGE_YIELD = WM_USER + 1,
    MESSAGE_SLEEP,
    MESSAGE_MIGRATE,
    MESSAGE_NESTED,
    MESSAGE_PLAIN
};

static struct
{
    LONG calls, wrong_thread, wrong_tls, wrong_value, failed;
} volatile seen;

static DWORD seen_tls;

static void look( struct kit_worker *worker )
{
    InterlockedIncrement( &seen.calls );        /* by workers of two schedulers */
    if (GetCurrentThreadId() != worker->id) seen.wrong_thread++;
    if (TlsGetValue( seen_tls ) != worker) seen.wrong_tls++;
}

/* What a worker does while its window is being made. SendMessage to a window of the own thread is no callback on every
   system; this is one. */
struct job
{
    struct kit_worker *worker;
    void (*what)( struct kit_worker *worker );
};

static LRESULT do_job( const CREATESTRUCTW *create )
{
    const struct job *job = create->lpCreateParams;

    if (!job) return 0;
    look( job->worker );
    job->what( job->worker );
    look( job->worker );
    return 0;
}

static LRESULT CALLBACK window_proc( HWND window, UINT message, WPARAM wparam, LPARAM lparam )
{
    struct kit_worker *worker = (struct kit_worker *)lparam;
    LRESULT ret;

    if (message == WM_CREATE) return do_job( (const CREATESTRUCTW *)lparam );
    if (message < MESSAGE_YIELD || message > MESSAGE_PLAIN)
        return DefWindowProcW( window, message, wparam, lparam );
    look( worker );
    switch (message)
    {
    case MESSAGE_YIELD:   kit_yield( worker, NULL ); break;
    case MESSAGE_SLEEP:   Sleep( 1 ); break;
    case MESSAGE_MIGRATE: kit_migrate( worker, &kit.scheds[wparam & 1] ); break;
    case MESSAGE_NESTED:
        ret = SendMessageW( window, MESSAGE_YIELD, wparam + 1, lparam );
        if (ret != (LRESULT)(2 * (wparam + 1))) seen.wrong_value++;
        kit_yield( worker, NULL );
        break;
    }
    look( worker );
    return 2 * wparam;
}

static DWORD window_body( struct kit_worker *worker )
{
    HWND window;
    UINT message;
    int i;

    TlsSetValue( seen_tls, worker );
    kit_yield( worker, NULL );
    window = CreateWindowExW( 0, L"umstest", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL,
                              GetModuleHandleW( NULL ), NULL );
    if (!window) seen.failed++;
    for (i = 0; window && i < ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        for (message = MESSAGE_YIELD; message <= MESSAGE_PLAIN; message++)
            if (SendMessageW( window, message, i, (LPARAM)worker ) != 2 * i) seen.wrong_value++;
        look( worker );
    }
    if (!DestroyWindow( window )) seen.failed++;
    return 0;
}

static void register_class(void)
{
    WNDCLASSW class;

    memset( &class, 0, sizeof(class) );
    class.lpfnWndProc = window_proc;
    class.lpszClassName = L"umstest";
    class.hInstance = GetModuleHandleW( NULL );
    ok( RegisterClassW( &class ), "RegisterClass: error %lu\n", GetLastError() );
}

/* Yields, waits, moves and sends from within window procedures, of several workers at once. */
START_TEST( scenario_callback_window )
{
    struct kit_sched *first, *second;
    int i;

    register_class();
    seen_tls = TlsAlloc();
    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    for (i = 0; i < 3; i++) kit_add_worker( i & 1 ? second->list : first->list, window_body, NULL );
    kit_start();
    kit_finish();
    ok( !seen.failed, "%ld windows could not be made or destroyed\n", seen.failed );
    ok( seen.calls == 3 * ROUNDS * 13, "%ld calls, expected %d\n", seen.calls, 3 * ROUNDS * 13 );
    ok( !seen.wrong_thread, "B23: %ld callbacks on another thread\n", seen.wrong_thread );
    ok( !seen.wrong_tls, "B23: %ld callbacks with other TLS\n", seen.wrong_tls );
    ok( !seen.wrong_value, "%ld messages gave a wrong result\n", seen.wrong_value );
    kit_check();
}

/* ---- a message loop; messages come from a plain thread ---- */

static HWND volatile loop_window;
static volatile LONG loop_ready;

static DWORD loop_body( struct kit_worker *worker )
{
    MSG msg;

    TlsSetValue( seen_tls, worker );
    kit_yield( worker, NULL );
    loop_window = CreateWindowExW( 0, L"umstest", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL,
                                   GetModuleHandleW( NULL ), NULL );
    InterlockedExchange( &loop_ready, 1 );
    while (GetMessageW( &msg, NULL, 0, 0 ) > 0)
    {
        DispatchMessageW( &msg );
        if (msg.wParam & 1) kit_yield( worker, NULL );
    }
    DestroyWindow( loop_window );
    return 0;
}

static DWORD patient_body( struct kit_worker *worker )
{
    while (loop_ready != 2) kit_yield( worker, NULL );
    return 0;
}

START_TEST( scenario_callback_message_loop )
{
    struct kit_sched *sched;
    struct kit_worker *worker;
    DWORD_PTR result;
    int i;

    register_class();
    seen_tls = TlsAlloc();
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, loop_body, NULL );
    kit_add_worker( sched->list, patient_body, NULL );
    if (!worker) return;
    kit_start();
    ok( kit_wait_value( &loop_ready, 1 ) && loop_window, "no window\n" );
    for (i = 0; i < ROUNDS; i++)
    {
        result = 0;
        ok( SendMessageTimeoutW( loop_window, MESSAGE_YIELD + i % 2, i, (LPARAM)worker, SMTO_NORMAL,
                                 KIT_LIMIT, &result ) && result == (DWORD_PTR)(2 * i),
            "message %d from outside: result %llu, error %lu\n", i, (ULONGLONG)result,
            GetLastError() );
        ok( PostMessageW( loop_window, MESSAGE_PLAIN, i, (LPARAM)worker ), "PostMessage: %lu\n",
            GetLastError() );
    }
    loop_ready = 2;
    PostThreadMessageW( worker->id, WM_QUIT, 0, 0 );
    kit_finish();
    ok( seen.calls == 4 * ROUNDS, "%ld looks, expected %d\n", seen.calls, 4 * ROUNDS );
    ok( !seen.wrong_thread, "B23: %ld callbacks on another thread\n", seen.wrong_thread );
    ok( !seen.wrong_tls, "B23: %ld callbacks with other TLS\n", seen.wrong_tls );
    kit_check();
}

/* ---- waits for other threads, and alerts, within window procedures ---- */

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressAll)( void * );
static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( void *, const LARGE_INTEGER * );
static volatile LONG turn, turns, about_to_wait, blocks_before, untold;
static volatile NTSTATUS given, taken, taken_again;

static BOOL open_alerts( void )
{
    HMODULE base = GetModuleHandleW( L"kernelbase.dll" ), ntdll = GetModuleHandleW( L"ntdll.dll" );

    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressAll = (void *)GetProcAddress( base, "WakeByAddressAll" );
    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    register_class();
    seen_tls = TlsAlloc();
    if (pWaitOnAddress && pWakeByAddressAll && pNtAlertThreadByThreadId && pNtWaitForAlertByThreadId) return kit_open();
    skip( "no WaitOnAddress: Windows before 8\n" );
    return FALSE;
}

static void take_turn( LONG self )
{
    LONG other = !self;

    while (turn != self) pWaitOnAddress( &turn, &other, sizeof(other), INFINITE );
    turns++;
    turn = other;
    pWakeByAddressAll( (void *)&turn );
}

/* After the yield the call out of which this is a callback goes on, and nobody was told yet that it waits. */
static void take_own_turn( struct kit_worker *worker )
{
    blocks_before = worker->blocks;
    kit_yield( worker, NULL );
    about_to_wait++;
    take_turn( worker->index );
}

static void in_callback( struct kit_worker *worker, void (*what)( struct kit_worker *worker ) )
{
    struct job job = { worker, what };
    HWND window = CreateWindowExW( 0, L"umstest", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, GetModuleHandleW( NULL ), &job );

    if (!window || !DestroyWindow( window )) seen.failed++;
}

static DWORD turns_body( struct kit_worker *worker )
{
    int i;

    TlsSetValue( seen_tls, worker );
    for (i = 0; i < ROUNDS; i++) in_callback( worker, take_own_turn );
    return 0;
}

/* Its turn is over when the worker was seen to wait. That somebody is told of a wait in a callback is [guess]: if nobody is, this
   waits once. */
static DWORD WINAPI turns_thread( void *arg )
{
    struct kit_worker *worker = arg;
    LONG i;

    for (i = 1; i <= ROUNDS; i++)
    {
        if (!kit_wait_value( &about_to_wait, i )) seen.failed++;
        if (!untold && !kit_leaves( &worker->blocks, blocks_before )) untold++;
        take_turn( 1 );
    }
    return 0;
}

/* FALSE if nothing happens any more. */
static BOOL all_turns( void )
{
    LONG before;

    while ((before = turns) < 2 * ROUNDS) if (!kit_leaves( &turns, before )) return FALSE;
    return TRUE;
}

/* Each wakes the other from within a window procedure, or the other is a plain thread. The first goes on for ever if the scheduler
   is not told that one waits in a callback [guess]. */
static void run_turns( BOOL plain )
{
    struct kit_sched *sched;
    HANDLE thread = NULL;
    int i;

    if (!open_alerts()) return;
    sched = kit_add_sched( NULL );
    turn = 1;
    for (i = 0; i < 2 - plain; i++) kit_add_worker( sched->list, turns_body, NULL );
    kit_start();
    if (plain) thread = CreateThread( NULL, 0, turns_thread, &kit.workers[0], 0, NULL );
    if (!(unverified ok( all_turns(), "B11: %ld turns of %d\n", turns, 2 * ROUNDS ))) return;
    kit_finish();
    ok( !thread || !WaitForSingleObject( thread, KIT_LIMIT ), "the plain thread waits still\n" );
    if (plain) unverified ok( !untold, "B11: nobody was told that it waits\n" );
    ok( seen.calls == (plain ? 2 : 4) * ROUNDS, "%ld looks from within callbacks\n", seen.calls );
    ok( !seen.failed && !seen.wrong_thread && !seen.wrong_tls,
        "B23: %ld windows or waits failed, %ld callbacks on another thread, %ld with other TLS\n", seen.failed, seen.wrong_thread,
        seen.wrong_tls );
    kit_check();
}

START_TEST( scenario_callback_turns )       { run_turns( FALSE ); }
START_TEST( scenario_callback_turns_plain ) { run_turns( TRUE ); }

static void give_alert( struct kit_worker *worker )
{
    given = pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)worker->id );
}

/* What is pending, and nothing more. */
static void take_alert( struct kit_worker *worker )
{
    LARGE_INTEGER none = { .QuadPart = 0 };

    (void)worker;
    taken = pNtWaitForAlertByThreadId( NULL, NULL );
    taken_again = pNtWaitForAlertByThreadId( NULL, &none );
}

/* Out of the callback, into it, and within it: an alert is the thread's, wherever it is given and taken. */
static DWORD alerts_body( struct kit_worker *worker )
{
    int i;

    TlsSetValue( seen_tls, worker );
    for (i = 0; i < 4 * ROUNDS; i++)
    {
        given = taken = taken_again = -1;
        if (i & 1) in_callback( worker, give_alert );
        else give_alert( worker );
        if (i & 2) in_callback( worker, take_alert );
        else take_alert( worker );
        if (given || taken != 0x101 /* STATUS_ALERTED */ || taken_again != STATUS_TIMEOUT) seen.wrong_value++;
        kit_yield( worker, NULL );
    }
    return 0;
}

START_TEST( scenario_callback_alerts )
{
    struct kit_sched *sched;

    if (!open_alerts()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, alerts_body, NULL );
    kit_start();
    kit_finish();
    ok( !seen.failed, "no window\n" );
    ok( !seen.wrong_value, "an alert was lost, or given twice, %ld times; at last: %08lx, %08lx, %08lx\n", seen.wrong_value,
        given, taken, taken_again );
    kit_check();
}

/* ---- a worker suspends itself in a callback ---- */

static HANDLE set_by_other;
static volatile LONG suspends, suspended_waits;

static void suspend_and_wait( struct kit_worker *worker )
{
    (void)worker;
    suspends = 1;
    SuspendThread( GetCurrentThread() );
    suspends = 2;
    if (WaitForSingleObject( set_by_other, KIT_LIMIT )) seen.wrong_value++;
    suspended_waits++;
}

static DWORD suspends_body( struct kit_worker *worker )
{
    TlsSetValue( seen_tls, worker );
    in_callback( worker, suspend_and_wait );
    return 0;
}

static DWORD sets_body( struct kit_worker *worker )
{
    (void)worker;
    SetEvent( set_by_other );
    return 0;
}

/* The call that has called back goes on, and so do its scheduler's looks: what the callback waits for comes from another worker
   of that scheduler. That it is told of that wait is [guess]. */
START_TEST( scenario_callback_suspends_itself )
{
    struct kit_worker *worker;
    struct kit_sched *sched;

    register_class();
    seen_tls = TlsAlloc();
    if (!kit_open()) return;
    set_by_other = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, suspends_body, NULL );
    kit_start();
    ok( worker && kit_wait_value( &suspends, 1 ), "no callback\n" );
    while (worker && !ResumeThread( worker->thread )) SwitchToThread();
    ok( kit_wait_value( &suspends, 2 ), "it does not go on\n" );
    kit_add_worker( sched->list, sets_body, NULL );
    kit_finish();
    ok( !seen.failed && suspended_waits == 1, "%ld waits, %ld windows were not made\n", suspended_waits, seen.failed );
    unverified ok( !seen.wrong_value, "the other worker was not executed during the wait\n" );
    kit_check();
}

/* ---- APC routines in an alertable wait ---- */

static void CALLBACK apc_routine( ULONG_PTR arg )
{
    struct kit_worker *worker = (struct kit_worker *)arg;

    look( worker );
    kit_yield( worker, NULL );
    look( worker );
    Sleep( 1 );
    kit_migrate( worker, &kit.scheds[seen.calls & 1] );
    look( worker );
}

static DWORD apc_body( struct kit_worker *worker )
{
    int i;

    TlsSetValue( seen_tls, worker );
    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        QueueUserAPC( apc_routine, GetCurrentThread(), (ULONG_PTR)worker );
        /* a wait that returns at once is one as well */
        if (SleepEx( i & 1 ? KIT_LIMIT : 0, TRUE ) != WAIT_IO_COMPLETION) seen.wrong_value++;
        look( worker );
    }
    return 0;
}

START_TEST( scenario_callback_apc )
{
    struct kit_sched *first, *second;

    seen_tls = TlsAlloc();
    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    kit_add_worker( first->list, apc_body, NULL );
    kit_add_worker( second->list, apc_body, NULL );
    kit_start();
    kit_finish();
    ok( seen.calls == 2 * 4 * ROUNDS, "%ld looks, expected %d\n", seen.calls, 2 * 4 * ROUNDS );
    ok( !seen.wrong_thread, "B23: %ld routines on another thread\n", seen.wrong_thread );
    ok( !seen.wrong_tls, "B23: %ld routines with other TLS\n", seen.wrong_tls );
    ok( !seen.wrong_value, "%ld waits were not ended by their APC\n", seen.wrong_value );
    kit_check();
}
