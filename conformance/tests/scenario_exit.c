/*
 * Scenarios: the process ends while workers are blocked, yielded, new, running and riding out calls.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * No row of the specification names it, every program does it. The test starts its own command line
 * once more (scenario_child.h, with the name of a section); the new process builds the scene and
 * ends in it. What counts is exit code and time, and what a DLL is told: ExitProcess calls every
 * DllMain once, on the thread that asked for it, and no other thread says good-bye; TerminateProcess
 * calls none [doc]. The new process notes that in the section. A crash in there is reported by the
 * harness, which that process talks to like the test itself.
 */
#include "scenario_child.h"

#define EXIT_BASE 0x5a00

enum ending
{
    END_WORKER,                                 /* that has yielded before */
    END_RUNNING_WORKER,                         /* that computes, on a scheduler of its own */
    END_WOKEN_WORKER,                           /* that was blocked before */
    END_HOME_WORKER,                            /* that has made a call which did not block */
    END_APC_WORKER,                             /* in an APC routine */
    END_YIELD_UPCALL,
    END_BLOCKED_UPCALL,
    END_PLAIN,
    END_DETACHING,                              /* while another one yields in a DllMain */
    END_LAST_THREAD,                            /* by the end of all threads */
    END_TERMINATE_WORKER,
    END_TERMINATE_UPCALL,
    END_KILLED                                  /* by the other process */
};

struct stage
{
    volatile LONG  ready;                       /* the scene stands */
    volatile LONG  detaches;                    /* calls of a DllMain: the process ends */
    volatile LONG  odd_detaches;                /* ... but the argument says the DLL is unloaded */
    volatile LONG  others;                      /* threads that said good-bye since it began */
    volatile LONG  strangers;                   /* END_LAST_THREAD: it is not the last one, and ends the process itself */
    volatile LONG  in_vain;                     /* END_LAST_THREAD: waits that had to time out */
    volatile DWORD ender, detacher;             /* thread ids */
};

static enum ending ending;
static struct stage *stage;
static HANDLE never, mutex;
static SRWLOCK gate = SRWLOCK_INIT;
static CONDITION_VARIABLE nothing = CONDITION_VARIABLE_INIT;
static volatile LONG blocked_count, running_count, riding_count, ender_there, go, detaching;
static struct kit_worker *parked;

static BOOL is_terminated( void )
{
    return ending == END_TERMINATE_WORKER || ending == END_TERMINATE_UPCALL ||
           ending == END_KILLED;
}

static DECLSPEC_NORETURN void end_here( void )
{
    stage->ender = GetCurrentThreadId();
    if (is_terminated()) TerminateProcess( GetCurrentProcess(), EXIT_BASE + ending );
    ExitProcess( EXIT_BASE + ending );
}

/* The last calls of the process are calls like any others. */
static void on_call( DWORD reason, BOOL process_ends )
{
    if (reason == DLL_PROCESS_DETACH)
    {
        stage->detacher = GetCurrentThreadId();
        if (!process_ends) stage->odd_detaches++;
        HeapFree( GetProcessHeap(), 0, HeapAlloc( GetProcessHeap(), 0, 100 ) );
        Sleep( 1 );
        InterlockedIncrement( &stage->detaches );
    }
    else if (reason == DLL_THREAD_DETACH && TlsGetValue( kit.tls ) == &detaching)
    {
        detaching = 1;
        while (!stage->ender) pUmsThreadYield( (void *)&detaching );
        Sleep( 1 );
        pUmsThreadYield( (void *)&detaching );
    }
    else if (reason == DLL_THREAD_DETACH && stage->ender) InterlockedIncrement( &stage->others );
}

static DWORD blocked_body( struct kit_worker *worker )
{
    InterlockedIncrement( &blocked_count );
    if (worker->arg == &never) Sleep( INFINITE );
    if (worker->arg == &gate)
    {
        AcquireSRWLockExclusive( &gate );
        SleepConditionVariableSRW( &nothing, &gate, 10 * KIT_LIMIT, 0 );
    }
    WaitForSingleObject( never, INFINITE );
    return 0;
}

static DWORD parked_body( struct kit_worker *worker )
{
    kit_park( worker );
    return 0;
}

static DWORD running_body( struct kit_worker *worker )
{
    (void)worker;
    InterlockedIncrement( &running_count );
    while (!go || ending != END_RUNNING_WORKER) YieldProcessor();
    end_here();
}

/* Each of its calls belongs to its own thread, and none blocks. */
static DWORD riding_body( struct kit_worker *worker )
{
    (void)worker;
    InterlockedIncrement( &riding_count );
    while (!go || ending != END_HOME_WORKER)
    {
        WaitForSingleObject( mutex, 0 );
        ReleaseMutex( mutex );
    }
    end_here();
}

/* Who will end the process is there before: a thread's start needs the loader lock. */
static DWORD detaching_body( struct kit_worker *worker )
{
    while (!go || !ender_there) if (!kit_yield( worker, NULL )) return 1;
    TlsSetValue( kit.tls, (void *)&detaching );
    return 0;
}

static void CALLBACK ending_apc( ULONG_PTR arg )
{
    kit_yield( (struct kit_worker *)arg, NULL );
    end_here();
}

static DWORD ending_body( struct kit_worker *worker )
{
    ender_there = 1;
    while (!go) if (!kit_yield( worker, NULL )) return 1;
    switch (ending)
    {
    case END_WOKEN_WORKER:
        Sleep( 1 );
        break;
    case END_APC_WORKER:
        QueueUserAPC( ending_apc, GetCurrentThread(), (ULONG_PTR)worker );
        SleepEx( KIT_LIMIT, TRUE );
        return 1;
    case END_YIELD_UPCALL:
    case END_TERMINATE_UPCALL:
        for (;;) if (!kit_yield( worker, &parked )) return 1;
    case END_BLOCKED_UPCALL:
        for (;;) Sleep( 1 );
    case END_DETACHING:
        while (!detaching) if (!kit_yield( worker, NULL )) return 1;
        break;
    default:
        break;
    }
    end_here();
}

static BOOL ending_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload;
    if (reason == UmsSchedulerThreadYield && param == &parked) end_here();
    if (reason == UmsSchedulerThreadBlocked && go && ending == END_BLOCKED_UPCALL) end_here();
    return FALSE;
}

static BOOL is_ended_by_worker( void )
{
    return ending != END_RUNNING_WORKER && ending != END_HOME_WORKER && ending != END_PLAIN &&
           ending != END_KILLED;
}

/* The scene: four blocked, two of them without the kernel, one parked, one never executed; one spinning and one making calls on
   schedulers of their own; perhaps one that yields, and one in a DllMain. */
static void end_process( void )
{
    struct kit_sched *first, *second, *third;

    never = CreateEventW( NULL, TRUE, FALSE, NULL );
    mutex = CreateMutexW( NULL, FALSE, NULL );
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    third = kit_add_sched( NULL );
    first->on_upcall = ending_upcall;
    kit_add_worker( first->list, blocked_body, NULL );
    kit_add_worker( first->list, blocked_body, NULL );
    kit_add_worker( first->list, blocked_body, &never );
    kit_add_worker( first->list, blocked_body, &gate );
    kit_add_worker( second->list, running_body, NULL );
    kit_add_worker( third->list, riding_body, NULL );
    kit_add_worker( kit_new_list(), blocked_body, NULL );
    parked = kit_add_worker( first->list, parked_body, NULL );
    kit_start();
    if (!kit_wait_value( &blocked_count, 4 )) return;
    if (!kit_wait_value( &running_count, 1 )) return;
    if (!kit_wait_value( &riding_count, 1 )) return;
    if (!kit_wait_value( &parked->parked, 1 )) return;
    if (!kit_leaves( &kit.workers[0].blocks, 0 )) return;
    if (is_ended_by_worker()) kit_add_worker( first->list, ending_body, NULL );
    if (ending == END_DETACHING) kit_add_worker( first->list, detaching_body, NULL );
    go = 1;
    stage->ready = 1;
    if (ending == END_PLAIN) end_here();
    Sleep( KIT_LIMIT );
}

/* ---- all threads end ---- */

static HANDLE main_thread;

static DWORD WINAPI last_thread( void *arg )
{
    LONG i;

    (void)arg;
    WaitForSingleObject( main_thread, INFINITE );
    for (i = 0; i < kit.worker_count; i++) WaitForSingleObject( kit.workers[i].thread, INFINITE );
    for (i = 0; i < kit.sched_count; i++)
    {
        /* It has ended, so its count is final; the other process reads the sum after our end. */
        WaitForSingleObject( kit.scheds[i].thread, INFINITE );
        stage->in_vain += kit.scheds[i].timeouts;
    }
    if ((stage->strangers = child_has_strangers())) end_here();
    stage->ender = GetCurrentThreadId();
    ExitThread( EXIT_BASE + ending );
}

static DWORD short_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    Sleep( 1 );
    return 0;
}

/* Nobody calls ExitProcess: the process ends with its last thread, so none may be left. */
static void end_threads( void )
{
    struct kit_sched *sched;
    int i;

    DuplicateHandle( GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &main_thread, 0,
                     FALSE, DUPLICATE_SAME_ACCESS );
    sched = kit_add_sched( NULL );
    kit_add_sched( sched->list );
    for (i = 0; i < 4; i++) kit_add_worker( sched->list, short_body, NULL );
    kit_start();
    CreateThread( NULL, 0, last_thread, NULL, 0, NULL );
    /* The main thread's hold. The workers may have ended before: then nobody else tells the
       schedulers that they can leave. */
    if (!InterlockedDecrement( &kit.live )) SetEvent( kit.done );
    ExitThread( 0 );
}

/* ---- the other process ---- */

static struct stage *open_stage( const char *section )
{
    HANDLE mapping = CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0,
                                         sizeof(struct stage), section );

    return mapping ? MapViewOfFile( mapping, FILE_MAP_WRITE, 0, 0, sizeof(struct stage) ) : NULL;
}

static void check_calls( void )
{
    BOOL untold;

    if (is_terminated())
    {
        ok( !stage->detaches, "DllMain was called %ld times in a killed process\n",
            stage->detaches );
        return;
    }
    /* Where a thread has just come out of its DllMain, Wine 8.0 ends the process now and then before
       DllMain is told, or in the middle of that: plain threads have it too. */
    untold = ending == END_DETACHING && !stage->detaches;
    ok( untold || stage->detaches == 1, "DllMain was told %ld times that the process ends\n",
        stage->detaches );
    ok( !stage->odd_detaches, "DllMain was told that the DLL is unloaded\n" );
    ok( (untold && !stage->detacher) || stage->detacher == stage->ender,
        "DllMain was called on another thread\n" );
    ok( !stage->others, "%ld other threads said good-bye\n", stage->others );
    ok( !stage->in_vain, "B16: %ld schedulers waited for nothing until their time was over\n",
        stage->in_vain );
}

static void run_ending( enum ending how )
{
    char section[64];
    PROCESS_INFORMATION process;
    DWORD code = 0;
    BOOL ended;

    ending = how;
    if (child_value( section, sizeof(section) ))
    {
        if (!(stage = open_stage( section )) || !kit_load_probe( on_call ) || !kit_open()) return;
        if (how == END_LAST_THREAD) end_threads();
        else end_process();
        return;
    }
    if (!need( EnterUmsSchedulingMode )) return;
    snprintf( section, sizeof(section), "umstest-exit-%lu", GetCurrentProcessId() );
    if (!ok( (stage = open_stage( section )) != NULL, "no section\n" )) return;
    if (!child_start( section, &process )) return;
    if (how == END_KILLED && ok( kit_wait_value( &stage->ready, 1 ), "the scene does not stand\n" ))
        TerminateProcess( process.hProcess, EXIT_BASE + how );
    ended = child_end( &process, &code );
    if (stage->strangers) skip( "the system has threads of its own: none of the test is the last one\n" );
    ok( code == (DWORD)(EXIT_BASE + how), "exit code %#lx, expected %#x\n", code, EXIT_BASE + how );
    if (ended) check_calls();
}

START_TEST( scenario_exit_process_worker )
{
    run_ending( END_WORKER );
}

START_TEST( scenario_exit_process_running_worker )
{
    run_ending( END_RUNNING_WORKER );
}

START_TEST( scenario_exit_process_woken_worker )
{
    run_ending( END_WOKEN_WORKER );
}

START_TEST( scenario_exit_process_home_worker )
{
    run_ending( END_HOME_WORKER );
}

START_TEST( scenario_exit_process_apc )
{
    run_ending( END_APC_WORKER );
}

START_TEST( scenario_exit_process_scheduler )
{
    run_ending( END_YIELD_UPCALL );
}

START_TEST( scenario_exit_process_blocked_upcall )
{
    run_ending( END_BLOCKED_UPCALL );
}

START_TEST( scenario_exit_process_plain )
{
    run_ending( END_PLAIN );
}

START_TEST( scenario_exit_process_detaching )
{
    run_ending( END_DETACHING );
}

START_TEST( scenario_exit_process_last_thread )
{
    run_ending( END_LAST_THREAD );
}

START_TEST( scenario_exit_process_terminate )
{
    run_ending( END_TERMINATE_WORKER );
}

START_TEST( scenario_exit_process_terminate_upcall )
{
    run_ending( END_TERMINATE_UPCALL );
}

START_TEST( scenario_exit_process_killed )
{
    run_ending( END_KILLED );
}
