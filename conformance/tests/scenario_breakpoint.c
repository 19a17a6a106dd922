/*
 * Scenarios: a breakpoint in the debug registers of a worker.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B23. Debug registers are part of a thread's CONTEXT [doc]: they are the worker's
 * it runs, and nobody's who runs in its place.
 */
#define _WIN32_WINNT 0x0602
#include "scenario_faults.h"

#define ROUNDS 8

static LONG hits, plain_hits, wrong_hits, wrong_results;
static DWORD main_thread;

ULONG_PTR breakpoint( ULONG_PTR value );
__asm__( ".text\n"
         ".globl breakpoint\n"
         ".def breakpoint; .scl 2; .type 32; .endef\n"
         ".seh_proc breakpoint\n"
         "breakpoint:\n"
         "\t.seh_endprologue\n"
         "\tnop\n"
         "\tleaq 1(%rcx),%rax\n"
         "\tret\n"
         "\t.seh_endproc\n" );

static LONG CALLBACK count_breakpoints( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP ||
        context->Rip != (ULONG_PTR)breakpoint)
        return EXCEPTION_CONTINUE_SEARCH;
    if (GetCurrentThreadId() == main_thread) plain_hits++;
    else if (GetCurrentThreadId() != kit.workers[0].id) wrong_hits++;
    else hits++;
    context->Rip++;                             /* behind the nop */
    return EXCEPTION_CONTINUE_EXECUTION;
}

static BOOL set_breakpoint( ULONG_PTR address )
{
    CONTEXT context;

    memset( &context, 0, sizeof(context) );
    context.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    context.Dr0 = address;
    context.Dr7 = address ? 1 : 0;              /* executing it, this thread */
    return SetThreadContext( GetCurrentThread(), &context );
}

/* Wine needs the right to trace its own processes. */
static BOOL breakpoints_work( void )
{
    main_thread = GetCurrentThreadId();
    set_breakpoint( (ULONG_PTR)breakpoint );
    breakpoint( 1 );
    set_breakpoint( 0 );
    if (plain_hits == 1) return TRUE;
    skip( "a plain thread's breakpoint gave %ld exceptions\n", plain_hits );
    return FALSE;
}

static DWORD breakpoint_body( struct kit_worker *worker )
{
    ULONG_PTR i;

    if (!set_breakpoint( (ULONG_PTR)breakpoint )) wrong_results++;
    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        if (breakpoint( i ) != i + 1) wrong_results++;
        if (breakpoint( i ) != i + 1) wrong_results++;
    }
    if (!set_breakpoint( 0 )) wrong_results++;
    kit_yield( worker, NULL );
    if (breakpoint( i ) != i + 1) wrong_results++;
    return 0;
}

static DWORD no_breakpoint_body( struct kit_worker *worker )
{
    while (!kit.workers[0].ended)
    {
        if (breakpoint( 1 ) != 2) wrong_results++;
        if (!kit_yield( worker, NULL )) return 1;
    }
    return 0;
}

static BOOL reach_breakpoint( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)reason; (void)payload; (void)param;
    if (breakpoint( 1 ) != 2) wrong_results++;
    return FALSE;
}

START_TEST( scenario_breakpoint_execution )
{
    void *handler = AddVectoredExceptionHandler( 1, count_breakpoints );
    struct kit_sched *sched;

    if (!breakpoints_work() || !kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = reach_breakpoint;
    kit_add_worker( sched->list, breakpoint_body, NULL );
    kit_add_worker( sched->list, no_breakpoint_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( hits == 2 * ROUNDS, "2.2: %ld breakpoints, expected %d\n", hits, 2 * ROUNDS );
    ok( !wrong_results, "2.2: %ld wrong results\n", wrong_results );
    ok( !wrong_hits, "B23: %ld breakpoints of somebody else\n", wrong_hits );
    kit_check();
}

/* ---- waits in between, for an address, a lock and the time ---- */

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );
static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE changed = CONDITION_VARIABLE_INIT;
static volatile LONG asked, answered;           /* one waits until the other has answered */

static BOOL open_waits( void )
{
    HMODULE base = GetModuleHandleW( L"kernelbase.dll" );

    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    if (pWaitOnAddress && pWakeByAddressSingle) return breakpoints_work() && kit_open();
    skip( "no WaitOnAddress: Windows before 8\n" );
    return FALSE;
}

static void wait_for_answer( LONG number )
{
    LONG seen = number - 1;

    asked = number;
    if (number % 3 == 1) while (answered != number) pWaitOnAddress( &answered, &seen, sizeof(seen), INFINITE );
    else if (number % 3 == 2) while (answered != number) pWaitOnAddress( &answered, &seen, sizeof(seen), 5 );
    else
    {
        Sleep( 1 );
        AcquireSRWLockExclusive( &lock );
        while (answered != number) SleepConditionVariableSRW( &changed, &lock, INFINITE, 0 );
        ReleaseSRWLockExclusive( &lock );
    }
}

static void answer( LONG number )
{
    AcquireSRWLockExclusive( &lock );
    answered = number;
    ReleaseSRWLockExclusive( &lock );
    WakeAllConditionVariable( &changed );
    pWakeByAddressSingle( (void *)&answered );
}

static DWORD breakpoint_waits_body( struct kit_worker *worker )
{
    LONG i;

    (void)worker;
    if (!set_breakpoint( (ULONG_PTR)breakpoint )) wrong_results++;
    for (i = 1; i <= 3 * ROUNDS; i++)
    {
        wait_for_answer( i );
        if (breakpoint( i ) != (ULONG_PTR)i + 1) wrong_results++;
    }
    return 0;
}

static DWORD answer_body( struct kit_worker *worker )
{
    while (!kit.workers[0].ended)
    {
        if (breakpoint( 1 ) != 2) wrong_results++;
        if (answered != asked) answer( asked );
        if (!kit_yield( worker, NULL )) return 1;
    }
    return 0;
}

/* Its breakpoint is there after each wait, and in the meantime nobody else's. */
START_TEST( scenario_breakpoint_waits )
{
    void *handler = AddVectoredExceptionHandler( 1, count_breakpoints );
    struct kit_sched *sched;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = reach_breakpoint;
    kit_add_worker( sched->list, breakpoint_waits_body, NULL );
    kit_add_worker( sched->list, answer_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( hits == 3 * ROUNDS, "2.2: %ld breakpoints, expected %d\n", hits, 3 * ROUNDS );
    ok( !wrong_results, "2.2: %ld wrong results\n", wrong_results );
    ok( !wrong_hits, "B23: %ld breakpoints of somebody else\n", wrong_hits );
    kit_check();
}

static volatile LONG blocks_before;

static DWORD wait_body( struct kit_worker *worker )
{
    LONG zero = 0;

    blocks_before = worker->blocks + 1;         /* while it runs nobody counts */
    while (!answered) pWaitOnAddress( &answered, &zero, sizeof(zero), INFINITE );
    if (breakpoint( 1 ) != 2) wrong_results++;
    kit_yield( worker, NULL );
    if (breakpoint( 2 ) != 3) wrong_results++;
    return 0;
}

/* Another thread gives it to a worker that waits. */
START_TEST( scenario_breakpoint_set_waiting )
{
    void *handler = AddVectoredExceptionHandler( 1, count_breakpoints );
    struct kit_worker *worker;
    struct kit_sched *sched;
    CONTEXT context;

    if (!open_waits()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = reach_breakpoint;
    worker = kit_add_worker( sched->list, wait_body, NULL );
    kit_start();
    if (!worker) return;
    ok( kit_leaves( &blocks_before, 0 ) && kit_wait_value( &worker->blocks, blocks_before ), "nobody was told of the wait\n" );
    memset( &context, 0, sizeof(context) );
    context.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    context.Dr0 = (ULONG_PTR)breakpoint;
    context.Dr7 = 1;
    ok( !SuspendThread( worker->thread ), "not suspended\n" );
    ok( SetThreadContext( worker->thread, &context ), "not set, error %lu\n", GetLastError() );
    ok( ResumeThread( worker->thread ) == 1, "not resumed\n" );
    answer( 1 );
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( hits == 2, "2.2: %ld breakpoints of a worker that got one in its wait, expected 2\n", hits );
    ok( !wrong_results, "2.2: %ld wrong results\n", wrong_results );
    ok( !wrong_hits, "B23: %ld breakpoints of somebody else\n", wrong_hits );
    kit_check();
}

/* ---- exceptions of a worker, and breakpoints of the thread that it runs on ---- */

static LONG faults, foreign_registers;

static LONG CALLBACK look_at_registers( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION ||
        context->Rcx != (ULONG_PTR)NOWHERE) return EXCEPTION_CONTINUE_SEARCH;
    if ((context->ContextFlags & CONTEXT_DEBUG_REGISTERS) == CONTEXT_DEBUG_REGISTERS &&
        (context->Dr0 || (context->Dr7 & 0xff))) foreign_registers++;
    context->Rip += 3;                          /* behind the load */
    faults++;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static BOOL has_breakpoint( HANDLE thread )
{
    CONTEXT context;

    memset( &context, 0, sizeof(context) );
    context.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    if (!GetThreadContext( thread, &context )) wrong_results++;
    return (context.Dr7 & 0xff) != 0;
}

/* Going on from an exception takes all of its context: what came from another thread would stay. */
static DWORD fault_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        faulting_load( NOWHERE );
        if (has_breakpoint( GetCurrentThread() )) foreign_registers++;
    }
    return 0;
}

static BOOL own_breakpoint( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerStartup && !set_breakpoint( (ULONG_PTR)breakpoint )) wrong_results++;
    if (!has_breakpoint( GetCurrentThread() )) wrong_results++;
    return FALSE;
}

START_TEST( scenario_breakpoint_of_scheduler )
{
    void *handler = AddVectoredExceptionHandler( 1, count_breakpoints ), *looker;
    struct kit_sched *sched;

    if (!breakpoints_work() || !kit_open()) return;
    looker = AddVectoredExceptionHandler( 1, look_at_registers );
    sched = kit_add_sched( NULL );
    sched->on_upcall = own_breakpoint;
    kit_add_worker( sched->list, fault_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( looker );
    RemoveVectoredExceptionHandler( handler );
    ok( faults == ROUNDS, "%ld faults, expected %d\n", faults, ROUNDS );
    ok( !foreign_registers, "B23: the worker had the scheduler's breakpoint %ld times\n",
        foreign_registers );
    ok( !wrong_results, "2.2: %ld wrong results\n", wrong_results );
    kit_check();
}
