/*
 * Scenarios: what a DLL does when a thread or the DLL itself goes: DllMain of a worker yields, moves
 * and waits, with the loader lock in its hands; schedulers end inside their SchedulerProc.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B18, B23, B27, B29, B32, D11. DllMain is called once, on the thread that ends [doc]; that of
 * a worker is code of the worker like any other, so its scheduler goes on when it waits. Another
 * thread that ends meanwhile waits for the loader lock: a worker as blocked, with an upcall.
 */
#include "../umslib.h"
#include "scenario_kit.h"

#define WORKERS 6
#define EXIT_CODE 0x7700

static DWORD detach_tls;
static HMODULE probe_module;
static LPTHREAD_START_ROUTINE probe_thread;
static HANDLE question, answer, parting;
static volatile LONG answering, all_started;

static struct
{
    volatile LONG calls[WORKERS], moves, inside, overlaps, wrong_thread, wrong_context, unanswered;
    volatile LONG unloads, unload_by, process_ends;
} seen;

static void look( struct kit_worker *worker )
{
    if (GetCurrentThreadId() != worker->id || TlsGetValue( detach_tls ) != worker)
        seen.wrong_thread++;
    if (kit_worker_of( pGetCurrentUmsThread() ) != worker) seen.wrong_context++;
}

/* Under the loader lock. */
static void leave_slowly( struct kit_worker *worker )
{
    if (InterlockedIncrement( &seen.inside ) != 1) seen.overlaps++;
    look( worker );
    kit_yield( worker, NULL );
    look( worker );
    kit_migrate( worker, &kit.scheds[seen.moves++ & 1] );
    look( worker );
    SetEvent( parting );
    SetEvent( question );
    if (WaitForSingleObject( answer, KIT_LIMIT )) seen.unanswered++;
    look( worker );
    Sleep( 1 );
    kit_migrate( worker, &kit.scheds[seen.moves++ & 1] );
    look( worker );
    InterlockedDecrement( &seen.inside );
}

static void on_call( DWORD reason, BOOL process_ends )
{
    struct kit_worker *worker = TlsGetValue( detach_tls );

    if (process_ends) seen.process_ends++;
    if (process_ends || !worker) return;
    if (reason == DLL_THREAD_DETACH) seen.calls[worker->index]++;
    else
    {
        seen.unloads++;
        seen.unload_by = worker->index;
    }
    leave_slowly( worker );
}

/* One more reference, which the thread gives back. */
static void end_in_dll( DWORD (*body)( void *arg ), void *arg )
{
    struct probe_thread thread = { body, arg, probe_module };
    char path[MAX_PATH];

    if (GetModuleFileNameA( probe_module, path, sizeof(path) )) LoadLibraryA( path );
    probe_thread( &thread );
}

static DWORD dll_body( void *arg )
{
    struct kit_worker *worker = arg;

    kit_yield( worker, NULL );
    worker->ended = 1;                          /* as far as it gets */
    return EXIT_CODE + worker->index;
}

static DWORD ending_body( struct kit_worker *worker )
{
    TlsSetValue( detach_tls, worker );
    kit_yield_until( worker, &all_started, 1 );
    if (worker->index % 3 == 2) end_in_dll( dll_body, worker );
    if (worker->index % 3 == 1)
    {
        worker->ended = 1;
        ExitThread( EXIT_CODE + worker->index );
    }
    return EXIT_CODE + worker->index;
}

/* A thread's start needs the loader lock: those that are needed while a worker has it are there
   before. */
static void start_all( void )
{
    int i;

    kit_start();
    for (i = 0; i < kit.sched_count; i++)
        if (!kit.scheds[i].stays)
            ok( kit_wait_value( &kit.scheds[i].entered, 1 ), "B5: no Startup upcall\n" );
    ok( kit_wait_value( &answering, 1 ), "the other worker does not start\n" );
    all_started = 1;
}

/* It gets its turn while another one has the loader lock and waits. */
static DWORD answering_body( struct kit_worker *worker )
{
    int i;

    answering = 1;
    for (i = 0; i < (int)(ULONG_PTR)worker->arg; i++)
    {
        if (WaitForSingleObject( question, KIT_LIMIT )) return 1;
        kit_yield( worker, NULL );
        SetEvent( answer );
    }
    return 0;
}

static DWORD WINAPI plain_thread( void *arg )
{
    wait_signaled( arg );
    return EXIT_CODE;
}

static BOOL open_all( void )
{
    if (!(probe_module = kit_load_probe( on_call )) || !kit_open()) return FALSE;
    probe_thread = (void *)GetProcAddress( probe_module, "probe_thread" );
    detach_tls = TlsAlloc();
    question = CreateEventW( NULL, FALSE, FALSE, NULL );
    answer = CreateEventW( NULL, FALSE, FALSE, NULL );
    parting = CreateEventW( NULL, TRUE, FALSE, NULL );
    kit_add_sched( NULL );
    kit_add_sched( NULL );
    return TRUE;
}

static void check_seen( void )
{
    ok( !seen.wrong_thread, "B23: %ld times DllMain was on another thread\n", seen.wrong_thread );
    ok( !seen.wrong_context, "B27: %ld times DllMain was not the worker's\n", seen.wrong_context );
    ok( !seen.overlaps, "%ld times two were in DllMain\n", seen.overlaps );
    ok( !seen.unanswered, "B29: %ld times the other worker got no turn\n", seen.unanswered );
    ok( !seen.process_ends, "DllMain was told that the process ends\n" );
}

static void check_code( HANDLE thread, DWORD wanted )
{
    DWORD code = 0, ret = WaitForSingleObject( thread, KIT_LIMIT );

    ok( !ret && GetExitCodeThread( thread, &code ) && code == wanted,
        "B18: wait %lu, exit code %#lx, expected %#lx\n", ret, code, wanted );
}

/* Workers and plain threads end all at once, in three ways. */
START_TEST( scenario_detach_yields )
{
    HANDLE plain[2];
    int i;

    if (!open_all()) return;
    for (i = 0; i < WORKERS; i++) kit_add_worker( kit.scheds[i & 1].list, ending_body, NULL );
    kit_add_worker( kit.scheds[0].list, answering_body, (void *)WORKERS );
    for (i = 0; i < 2; i++) plain[i] = CreateThread( NULL, 0, plain_thread, parting, 0, NULL );
    start_all();
    kit_finish();
    for (i = 0; i < WORKERS; i++)
    {
        check_code( kit.workers[i].thread, EXIT_CODE + i );
        ok( seen.calls[i] == 1, "DllMain was told %ld times of the end of worker %d\n",
            seen.calls[i], i );
    }
    check_seen();
    ok( !seen.unloads, "the DLL was unloaded\n" );
    for (i = 0; i < 2; i++) check_code( plain[i], EXIT_CODE );
    kit_check();
}

/* ---- the DLL goes with the last worker that uses it ---- */

static DWORD unloading_body( struct kit_worker *worker )
{
    struct probe_thread thread = { dll_body, worker, probe_module };

    TlsSetValue( detach_tls, worker );
    kit_yield_until( worker, &all_started, 1 );
    probe_thread( &thread );
    return 1;
}

START_TEST( scenario_detach_unload )
{
    HMODULE module;

    if (!open_all()) return;
    module = probe_module;
    kit_add_worker( kit.scheds[0].list, unloading_body, NULL );
    kit_add_worker( kit.scheds[1].list, answering_body, (void *)1 );
    start_all();
    kit_finish();
    check_code( kit.workers[0].thread, EXIT_CODE );
    ok( seen.unloads == 1, "B32: DllMain was told %ld times that the DLL goes\n", seen.unloads );
    ok( GetModuleHandleA( "umstest_probe.dll" ) != module, "B32: the DLL is still there\n" );
    check_seen();
    kit_check();
}

/* ---- a scheduler ends inside SchedulerProc: D11 ---- */

static LONG exit_reason;
static BOOL exit_in_dll;
static HANDLE exit_event;
static volatile LONG exit_detaches, exit_wrong, exit_steps;

static DWORD scheduler_body( void *arg )
{
    (void)arg;
    return EXIT_CODE;
}

static void on_scheduler_call( DWORD reason, BOOL process_ends )
{
    if (process_ends || reason != DLL_THREAD_DETACH) return;
    if (TlsGetValue( detach_tls ) == &exit_steps)   /* the worker, see waiting_body */
    {
        exit_steps = 2;
        wait_signaled( exit_event );
        exit_steps = 3;
        return;
    }
    if (TlsGetValue( kit.tls ) != &kit.scheds[0]) return;
    exit_detaches++;
    if (GetCurrentThreadId() != kit.scheds[0].id) exit_wrong++;
    Sleep( 1 );
}

static BOOL exit_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)payload; (void)param;
    if (reason != exit_reason || (exit_reason != UmsSchedulerStartup && !exit_steps)) return FALSE;
    if (reason == UmsSchedulerThreadYield) InterlockedExchange( &kit.workers[0].parked, 1 );
    InterlockedExchange( &sched->leave, 1 );
    if (exit_in_dll) end_in_dll( scheduler_body, NULL );
    ExitThread( EXIT_CODE );
}

static DWORD yielding_body( struct kit_worker *worker )
{
    kit_yield_until( worker, &all_started, 1 );
    exit_steps = 1;
    kit_yield( worker, NULL );
    Sleep( 1 );
    exit_steps = 3;
    return 0;
}

/* It waits with the loader lock in its hands: its scheduler, which ends then, has to wait as well,
   until another one has executed it. */
static DWORD waiting_body( struct kit_worker *worker )
{
    TlsSetValue( detach_tls, (void *)&exit_steps );
    kit_yield_until( worker, &all_started, 1 );
    exit_steps = 1;
    return 0;
}

/* The thread says good-bye and is gone; its worker goes on with the other scheduler. What becomes
   of such a worker is nowhere written down [guess]. */
static void run_exit( LONG reason, BOOL in_dll, DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *first = &kit.scheds[0], *second = &kit.scheds[1];
    struct kit_worker *worker;

    exit_reason = reason;
    exit_in_dll = in_dll;
    if (!open_all()) return;
    ((struct probe *)GetProcAddress( probe_module, "probe" ))->on_call = on_scheduler_call;
    exit_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    first->on_upcall = exit_upcall;
    first->stays = TRUE;
    if (!(worker = kit_add_worker( first->list, body, NULL ))) return;
    answering = 1;                              /* nobody has to */
    start_all();
    if (body == waiting_body)
    {
        ok( kit_wait_value( &first->leave, 1 ), "D11: no Blocked upcall\n" );
        SetEvent( exit_event );
        ok( kit_hand_over( first->list, second, KIT_LIMIT ) == 1,
            "6.2: its worker is not on its list\n" );
    }
    check_code( first->thread, EXIT_CODE );
    ok( !first->left, "D11: EnterUmsSchedulingMode returned\n" );
    ok( exit_detaches == 1 && !exit_wrong, "DllMain was told %ld times, %ld on another thread\n",
        exit_detaches, exit_wrong );
    if (reason == UmsSchedulerStartup)
        ok( kit_hand_over( first->list, second, KIT_LIMIT ) == 1, "6.2: no new worker\n" );
    if (reason == UmsSchedulerThreadYield) kit_ready( worker, second );
    unverified ok( kit_wait_value( &exit_steps, 3 ), "its worker does not go on, step %ld\n",
                   exit_steps );
    kit_finish();
    kit_check();
}

START_TEST( scenario_detach_exit_startup )
{
    run_exit( UmsSchedulerStartup, FALSE, yielding_body );
}

START_TEST( scenario_detach_exit_yield )
{
    run_exit( UmsSchedulerThreadYield, TRUE, yielding_body );
}

START_TEST( scenario_detach_exit_blocked )
{
    run_exit( UmsSchedulerThreadBlocked, FALSE, waiting_body );
}
