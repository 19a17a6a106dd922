/*
 * Scenarios: traps. A worker that is stepped through instruction by instruction, by itself; a
 * scheduler that is; a worker whose exception nobody handles.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B23. The trap flag is a register of the worker like any other: it is not its
 * scheduler's, and it is there again when the worker goes on. No document says what is reported of
 * UmsThreadYield and of system calls; that what is behind them is, once and at once, is [guess].
 */
#include "scenario_child.h"

#define TRAP_FLAG 0x100
#define ROUNDS    4

/* ---- stepping ----
 *
 * step_through( func, arg ): func( arg ) with the trap flag set, and a few instructions around it,
 * each of which has to give one exception. */

ULONG_PTR step_through( ULONG_PTR (*func)( void * ), void *arg );
extern char step_places[], step_end[];

__asm__( ".text\n"
         ".globl step_through, step_places, step_end\n"
         ".def step_through; .scl 2; .type 32; .endef\n"
         ".seh_proc step_through\n"
         "step_through:\n"
         "\tpushq %rbx\n"
         "\t.seh_pushreg %rbx\n"
         "\tsubq $0x20,%rsp\n"
         "\t.seh_stackalloc 0x20\n"
         "\t.seh_endprologue\n"
         "\tmovq %rcx,%rax\n"
         "\tmovq %rdx,%rcx\n"
         "\tpushfq\n"
         "\torl $0x100,(%rsp)\n"
         "\tpopfq\n"
         "\tnop\n"                              /* the first instruction that is stepped over */
         "step_places:\n"                       /* 0: 5 bytes each up to the call */
         "\t.byte 0x48,0xc7,0xc3,1,0,0,0\n"     /* mov $1,%rbx, 7 bytes */
         "\tcall *%rax\n"                       /* at 7 */
         "\taddq $1,%rbx\n"                     /* at 9: the place behind the call */
         "\tnop\n"                              /* at 13 */
         "\tpushfq\n"                           /* at 14 */
         "\tandl $~0x100,(%rsp)\n"              /* at 15 */
         "\tpopfq\n"                            /* at 22 */
         "step_end:\n"
         "\tnop\n"
         "\tleaq -2(%rax,%rbx),%rax\n"
         "\taddq $0x20,%rsp\n"
         "\tpopq %rbx\n"
         "\tret\n"
         "\t.seh_endproc\n" );

static const unsigned char place_offsets[] = { 0, 7, 9, 13, 14, 15, 22 };

#define PLACES ARRAYSIZE(place_offsets)

static struct
{
    LONG at[PLACES], end;                       /* traps at each of the places */
    LONG elsewhere;                             /* in what func calls, at home in the system */
    LONG wrong_thread;                          /* of anybody but the worker that steps */
    LONG wrong_flag, wrong_result;
} trapped;

static struct kit_worker *volatile stepper;

static LONG CALLBACK count_traps( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;
    unsigned int i;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP)
        return EXCEPTION_CONTINUE_SEARCH;
    if (!stepper || GetCurrentThreadId() != stepper->id) trapped.wrong_thread++;
    else if (context->Rip == (ULONG_PTR)step_end)
    {
        trapped.end++;
        return EXCEPTION_CONTINUE_EXECUTION;
    }
    else
    {
        for (i = 0; i < PLACES; i++)
            if (context->Rip == (ULONG_PTR)step_places + place_offsets[i]) break;
        if (i < PLACES) trapped.at[i]++;
        else trapped.elsewhere++;
        if (context->EFlags & TRAP_FLAG) trapped.wrong_flag++; /* it is cleared for each */
        context->EFlags |= TRAP_FLAG;
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

static ULONG_PTR just_return( void *unused )
{
    (void)unused;
    return 0;
}

/* To and fro between two schedulers. */
static ULONG_PTR step_into_yield( void *arg )
{
    struct kit_worker *worker = arg;

    return !kit_migrate( worker, &kit.scheds[worker->last == kit.scheds] );
}

static ULONG_PTR step_into_call( void *event )
{
    return !SetEvent( event );
}

static volatile LONG waiting;
static HANDLE wait_event;

static ULONG_PTR step_into_wait( void *unused )
{
    (void)unused;
    InterlockedIncrement( &waiting );
    return WaitForSingleObject( wait_event, KIT_LIMIT );
}

static ULONG_PTR (*stepped)( void * );

static DWORD step_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        stepper = worker;
        if (step_through( stepped, stepped == step_into_yield ? worker : worker->arg ))
            trapped.wrong_result++;
        stepper = NULL;
    }
    return 0;
}

/* What a scheduler and another worker do meanwhile is not stepped. */
static DWORD other_body( struct kit_worker *worker )
{
    while (!kit.workers[0].ended)
    {
        if (waiting && stepped == step_into_wait)
        {
            InterlockedDecrement( &waiting );
            SetEvent( wait_event );
        }
        if (!kit_yield( worker, NULL )) return 1;
    }
    return 0;
}

static void check_traps( void )
{
    unsigned int i;

    for (i = 0; i < PLACES; i++)
        unverified ok( trapped.at[i] == ROUNDS, "2.2: place %u: %ld traps, expected %d\n", i,
                       trapped.at[i], ROUNDS );
    ok( trapped.end == ROUNDS, "2.2: %ld traps behind the end, expected %d\n", trapped.end, ROUNDS );
    ok( !trapped.wrong_thread, "B23: %ld traps of somebody else\n", trapped.wrong_thread );
    ok( !trapped.wrong_flag, "2.2: %ld traps with the trap flag set\n", trapped.wrong_flag );
    ok( !trapped.wrong_result, "2.2: %ld wrong results\n", trapped.wrong_result );
}

static void run_steps( ULONG_PTR (*func)( void * ), void *arg )
{
    void *handler = AddVectoredExceptionHandler( 1, count_traps );
    struct kit_sched *sched;

    stepped = func;
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_sched( NULL );
    kit_add_worker( sched->list, step_body, arg );
    kit_add_worker( sched->list, other_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    check_traps();
    kit_check();
}

START_TEST( scenario_trap_step )
{
    run_steps( just_return, NULL );
}

START_TEST( scenario_trap_step_yield )
{
    run_steps( step_into_yield, NULL );
}

START_TEST( scenario_trap_step_call )
{
    HANDLE event = CreateEventW( NULL, TRUE, FALSE, NULL );

    run_steps( step_into_call, event );
    ok( WaitForSingleObject( event, 0 ) == WAIT_OBJECT_0, "2.2: the event is not set\n" );
    CloseHandle( event );
}

START_TEST( scenario_trap_step_wait )
{
    wait_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    run_steps( step_into_wait, NULL );
    CloseHandle( wait_event );
}

/* ---- a scheduler that steps into Execute: what it executes is not stepped ---- */

static LONG CALLBACK count_scheduler_traps( EXCEPTION_POINTERS *pointers )
{
    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP)
        return EXCEPTION_CONTINUE_SEARCH;
    if (GetCurrentThreadId() != kit.scheds[0].id) trapped.wrong_thread++;
    else
    {
        trapped.elsewhere++;
        pointers->ContextRecord->EFlags |= TRAP_FLAG;
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

static BOOL step_scheduler( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)reason; (void)payload; (void)param;
    __asm__ volatile( "pushfq\n\torl $0x100,(%%rsp)\n\tpopfq" : : : "memory", "cc" );
    return FALSE;
}

static DWORD unstepped_body( struct kit_worker *worker )
{
    ULONG_PTR flags;
    int i;

    for (i = 0; i < 4; i++)
    {
        __asm__ volatile( "pushfq\n\tpopq %0" : "=r" (flags) );
        if (flags & TRAP_FLAG) trapped.wrong_flag++;
        if (i == 2) Sleep( 1 );                 /* from home, the next time */
        kit_yield( worker, NULL );
    }
    return 0;
}

START_TEST( scenario_trap_step_execute )
{
    void *handler = AddVectoredExceptionHandler( 1, count_scheduler_traps );
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = step_scheduler;
    kit_add_worker( sched->list, unstepped_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( trapped.elsewhere > 100, "2.2: the scheduler made %ld steps\n", trapped.elsewhere );
    ok( !trapped.wrong_flag, "2.2: the worker found the trap flag set %ld times\n",
        trapped.wrong_flag );
    ok( !trapped.wrong_thread, "B23: %ld traps of somebody else\n", trapped.wrong_thread );
    kit_check();
}

/* ---- nobody handles it: the process ends, on the worker and with the exception's code ---- */

#define UNHANDLED 0xe0000bad
#define REFUSED   0xe0000bee                    /* the filter did not see what it should */

static volatile LONG filtered;

static LONG WINAPI last_filter( EXCEPTION_POINTERS *pointers )
{
    const EXCEPTION_RECORD *record = pointers->ExceptionRecord;
    struct kit_worker *worker = kit.workers;
    NT_TIB *tib = kit_teb();
    PUMS_CONTEXT self = pGetCurrentUmsThread();

    if (record->ExceptionCode != UNHANDLED || record->NumberParameters != 1 ||
        record->ExceptionInformation[0] != 7 || InterlockedIncrement( &filtered ) != 1 ||
        GetCurrentThreadId() != worker->id || self != worker->context ||
        (void *)&tib < tib->StackLimit || (void *)&tib >= tib->StackBase)
        TerminateProcess( GetCurrentProcess(), REFUSED );
    kit_yield( worker, NULL );                  /* it is a worker in here too */
    if (GetCurrentThreadId() != worker->id) TerminateProcess( GetCurrentProcess(), REFUSED );
    return EXCEPTION_EXECUTE_HANDLER;
}

static DWORD unhandled_body( struct kit_worker *worker )
{
    ULONG_PTR info = 7;

    kit_yield( worker, NULL );
    RaiseException( UNHANDLED, 0, 1, &info );
    return 0;
}

START_TEST( scenario_trap_unhandled )
{
    DWORD code = 0;

    if (child_is_here())
    {
        SetErrorMode( SEM_NOGPFAULTERRORBOX );
        SetUnhandledExceptionFilter( last_filter );
        if (!kit_open()) return;
        kit_add_worker( kit_add_sched( NULL )->list, unhandled_body, NULL );
        kit_start();
        kit_finish();
        return;
    }
    if (!need( EnterUmsSchedulingMode ) || !child_run( &code )) return;
    ok( code == UNHANDLED, "2.2: exit code %#lx, expected %#x\n", code, UNHANDLED );
}
