/*
 * Scenarios: threads that are resumed while another thread is just suspending them, and one that suspends itself before it
 * begins.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 3, 5 "suspended". SuspendThread raises the count and ResumeThread lowers it [doc]: a thread that was suspended and resumed once each
 * runs, in whatever order the two calls return.
 */
#include "scenario_kit.h"

static volatile LONG steps, stop, suspended_times, resumed_times, spurious;

/* ---- one suspends, another one resumes ---- */

/* Resumes the thread once for each suspension, as soon as there is something to resume. */
static DWORD WINAPI resume_thread( void *arg )
{
    DWORD before;

    while (!stop)
    {
        if (resumed_times == suspended_times || !(before = ResumeThread( *(HANDLE *)arg ))) SwitchToThread();
        else
        {
            if (before != 1) InterlockedIncrement( &spurious );
            InterlockedIncrement( &resumed_times );
        }
    }
    return 0;
}

static void suspend_and_be_resumed( HANDLE thread )
{
    int i, rounds = umstest_lives() / 4, suspended = 0, stands = 0;
    HANDLE helper;

    ok( kit_leaves( &steps, 0 ), "it does not begin\n" );
    helper = CreateThread( NULL, 0, resume_thread, &thread, 0, NULL );
    for (i = 0; i < rounds && !stands; i++)
    {
        InterlockedIncrement( &suspended_times );
        if (SuspendThread( thread )) suspended++;
        if (!kit_wait_value( &resumed_times, i + 1 ) || !kit_moves( &steps )) stands = i + 1;
    }
    stop = 1;
    ok( !WaitForSingleObject( helper, KIT_LIMIT ), "the helper does not end\n" );
    CloseHandle( helper );
    ok( !stands, "in round %d it stands still after one suspension and one resumption\n", stands );
    ok( !suspended && !spurious, "it was suspended already %d times, more than once %ld times\n", suspended, spurious );
    if (stands) ResumeThread( thread );
}

static DWORD yield_body( struct kit_worker *worker )
{
    while (!stop)
    {
        kit_yield( worker, NULL );
        steps++;
    }
    return 0;
}

START_TEST( scenario_suspend_resumed_scheduler )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, yield_body, NULL );
    kit_start();
    suspend_and_be_resumed( sched->thread );
    kit_finish();
    kit_check();
}

static DWORD WINAPI idle_thread( void *arg )
{
    (void)arg;
    while (!stop) Sleep( 1 );
    return 0;
}

/* It suspends a third one itself, and computes. */
static DWORD WINAPI suspending_thread( void *arg )
{
    int i;

    while (!stop)
    {
        SuspendThread( *(HANDLE *)arg );
        ResumeThread( *(HANDLE *)arg );
        for (i = 0; i < 20000 && !stop; i++) YieldProcessor();
        steps++;
    }
    return 0;
}

START_TEST( scenario_suspend_resumed_plain )
{
    HANDLE third, thread;

    if (!kit_open()) return;                    /* with UMS in the process */
    kit_add_sched( NULL );
    kit_start();
    third = CreateThread( NULL, 0, idle_thread, NULL, 0, NULL );
    thread = CreateThread( NULL, 0, suspending_thread, &third, 0, NULL );
    suspend_and_be_resumed( thread );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the suspending thread does not end\n" );
    ok( !WaitForSingleObject( third, KIT_LIMIT ), "the third thread does not end\n" );
    CloseHandle( thread );
    CloseHandle( third );
    kit_finish();
    kit_check();
}

/* ---- it suspends itself before it begins ---- */

#define MOST_ATTACHED 16                        /* threads of the system begin, too */

static volatile LONG armed, attaching, went_on, bad_counts;
static volatile LONG attached[MOST_ATTACHED];   /* the ids of those that went on */

static void on_dll_call( DWORD reason, BOOL process_ends )
{
    LONG index;

    (void)process_ends;
    if (reason != DLL_THREAD_ATTACH || !armed) return;
    InterlockedExchange( &attaching, (LONG)GetCurrentThreadId() );
    SuspendThread( GetCurrentThread() );
    index = InterlockedIncrement( &went_on ) - 1;
    if (index < MOST_ATTACHED) attached[index] = (LONG)GetCurrentThreadId();
}

/* One attaches at a time: it has the loader lock. */
static DWORD WINAPI resume_attaching( void *arg )
{
    HANDLE thread;
    DWORD id, count;

    (void)arg;
    armed = 1;                                  /* it has attached itself */
    while (!stop)
    {
        if (!(id = (DWORD)InterlockedExchange( &attaching, 0 )))
        {
            SwitchToThread();
            continue;
        }
        thread = OpenThread( THREAD_SUSPEND_RESUME, FALSE, id );
        while (!(count = ResumeThread( thread ))) SwitchToThread();
        if (count != 1) bad_counts++;
        CloseHandle( thread );
    }
    return 0;
}

static BOOL has_attached( DWORD id )
{
    int i;

    for (i = 0; i < MOST_ATTACHED; i++) if (attached[i] == (LONG)id) return TRUE;
    return FALSE;
}

static DWORD short_body( struct kit_worker *worker )
{
    (void)worker;
    steps++;
    return 0;
}

/* A thread may suspend itself wherever it is. On Windows a worker attaches when it is executed [guess], so the scheduler
   runs, too; here that is before. */
START_TEST( scenario_suspend_itself_attaching )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HANDLE helper;
    HMODULE probe;

    if (!kit_open() || !(probe = kit_load_probe( on_dll_call ))) return;
    sched = kit_add_sched( NULL );
    kit_start();
    ok( kit_wait_value( &sched->entered, 1 ), "no scheduler\n" );
    helper = CreateThread( NULL, 0, resume_attaching, NULL, 0, NULL );
    ok( kit_wait_value( &armed, 1 ), "no helper\n" );
    worker = kit_add_worker( sched->list, short_body, NULL );
    ok( worker && kit_wait_value( &worker->terminated, 1 ), "it does not go on\n" );
    kit_lock_loader();                          /* a thread of the system that has seen it armed is through */
    armed = 0;
    kit_unlock_loader();
    stop = 1;
    ok( !WaitForSingleObject( helper, KIT_LIMIT ), "the helper does not end\n" );
    CloseHandle( helper );
    kit_finish();
    ok( worker && has_attached( worker->id ) && !bad_counts, "it did not suspend itself, or %ld counts were not 1\n", bad_counts );
    ok( steps == 1, "it did not run\n" );
    kit_check();
    FreeLibrary( probe );
}

/* ---- it may not terminate itself ---- */

static BOOL terminated;
static DWORD terminate_error;

static DWORD denied_body( struct kit_worker *worker )
{
    HANDLE self = OpenThread( THREAD_QUERY_LIMITED_INFORMATION, FALSE, GetCurrentThreadId() );

    terminated = TerminateThread( self, 1 );
    terminate_error = GetLastError();
    CloseHandle( self );
    if (kit_yield( worker, NULL )) steps++;
    return 0;
}

/* A call that fails changes nothing [doc: TerminateThread needs THREAD_TERMINATE]. */
START_TEST( scenario_suspend_terminate_denied )
{
    struct kit_worker *worker;

    if (!kit_open()) return;
    worker = kit_add_worker( kit_add_sched( NULL )->list, denied_body, NULL );
    kit_start();
    kit_finish();
    ok( !terminated && terminate_error == ERROR_ACCESS_DENIED, "it was told %d, error %ld\n", terminated, terminate_error );
    ok( steps == 1 && worker->terminated == 1, "it went on %ld times, and ended %ld times\n", steps, worker->terminated );
    kit_check();
}
