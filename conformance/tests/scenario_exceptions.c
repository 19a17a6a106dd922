/*
 * Scenarios: exceptions on workers. A worker has a stack, a TEB and handlers of its own like any
 * thread; its scheduler sees nothing of its exceptions.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B23, B27. What x64 Windows does with exceptions of a thread is documented; that a worker
 * is such a thread is [doc]. Every body yields first, so that it runs on its scheduler's processor
 * as a worker does that has been executed by the book.
 */
#include <excpt.h>
#include <setjmp.h>
#include "scenario_faults.h"

#define FAULTS 40

/* ---- vectored handlers, and going on with another context ---- */

static DWORD vectored_thread;
static NT_TIB *vectored_tib;

static LONG CALLBACK skip_load( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION ||
        context->Rcx != (ULONG_PTR)NOWHERE)
        return EXCEPTION_CONTINUE_SEARCH;
    if (GetCurrentThreadId() == kit.scheds[0].id) tally.scheduler_vectored++;
    if (GetCurrentThreadId() != vectored_thread) tally.wrong_thread++;
    if ((void *)context < vectored_tib->StackLimit || (void *)context >= vectored_tib->StackBase ||
        context->Rsp < (ULONG_PTR)vectored_tib->StackLimit)
        tally.wrong_stack++;
    tally.handled++;
    context->Rip += 3;
    context->Rax += 0x22;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD vectored_body( struct kit_worker *worker )
{
    int i;

    vectored_thread = GetCurrentThreadId();
    vectored_tib = kit_teb();
    for (i = 0; i < FAULTS; i++)
    {
        if (i % 4 != 1) kit_yield( worker, NULL );
        if (faulting_load( NOWHERE ) != 0x33) tally.wrong++;
        if (i % 8 == 7) Sleep( 0 );
    }
    return 0;
}

START_TEST( scenario_exception_vectored )
{
    void *handler = AddVectoredExceptionHandler( 1, skip_load );

    run_faults( vectored_body );
    RemoveVectoredExceptionHandler( handler );
    check_handled( FAULTS );
}

/* ---- frames with handlers ---- */

static void fault_below( void *depth )
{
    volatile char space[512];

    space[0] = 1;
    if (depth) fault_below( (void *)((ULONG_PTR)depth - 1) );
    else fault( NULL );
    tally.wrong += space[0];                     /* left by the exception, never reached */
}

static DWORD frame_body( struct kit_worker *worker )
{
    volatile ULONG_PTR kept = 0x1234;
    int i;

    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        if (seh_call( fault_below, (void *)(ULONG_PTR)(i % 7) ) == EXCEPTION_ACCESS_VIOLATION)
            tally.handled++;
        if (kept != 0x1234) tally.wrong++;
        if (GetCurrentThreadId() != worker->id) tally.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_frame )
{
    run_faults( frame_body );
    check_handled( FAULTS );
}

/* ---- the same with __C_specific_handler and a filter, as mingw-w64's <excpt.h> has it ---- */

static DWORD filter_thread;

LONG try_filter( EXCEPTION_POINTERS *pointers, ULONG_PTR frame );

LONG try_filter( EXCEPTION_POINTERS *pointers, ULONG_PTR frame )
{
    NT_TIB *tib = kit_teb();

    if (GetCurrentThreadId() != filter_thread) tally.wrong_thread++;
    if (frame < (ULONG_PTR)tib->StackLimit || frame >= (ULONG_PTR)tib->StackBase)
        tally.wrong_stack++;
    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) tally.wrong++;
    tally.handled++;
    return EXCEPTION_EXECUTE_HANDLER;
}

/* Its labels are global names: one such block a file, and never copied. */
static void __attribute__((noinline, noclone)) try_fault( void *depth )
{
    __try1( try_filter )
    fault_below( depth );
    __except1
}

static DWORD try_body( struct kit_worker *worker )
{
    int i;

    filter_thread = worker->id;
    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        try_fault( (void *)(ULONG_PTR)(i % 7) );
        if (GetCurrentThreadId() != worker->id) tally.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_try )
{
    run_faults( try_body );
    check_handled( FAULTS );
}

static void raise( void *code )
{
    ULONG_PTR info[2] = { 7, 8 };

    RaiseException( (DWORD)(ULONG_PTR)code, 0, 2, info );
    tally.wrong++;
}

static DWORD raise_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        if (seh_call( raise, (void *)(ULONG_PTR)(0xe0000000 + i) ) == 0xe0000000 + i)
            tally.handled++;
    }
    return 0;
}

START_TEST( scenario_exception_raised )
{
    run_faults( raise_body );
    check_handled( FAULTS );
}

/* A vectored handler may go on as well: RaiseException returns, at home or wherever. */
static LONG CALLBACK go_on( EXCEPTION_POINTERS *pointers )
{
    const EXCEPTION_RECORD *record = pointers->ExceptionRecord;

    if (record->ExceptionCode >> 8 != 0xe00001) return EXCEPTION_CONTINUE_SEARCH;
    if (GetCurrentThreadId() != vectored_thread) tally.wrong_thread++;
    if (record->NumberParameters != 1 || (LONG)record->ExceptionInformation[0] != ++tally.rounds)
        tally.wrong++;
    tally.handled++;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD raise_vectored_body( struct kit_worker *worker )
{
    ULONG_PTR i;

    vectored_thread = worker->id;
    for (i = 1; i <= FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        SetLastError( 0xbeef );
        RaiseException( 0xe0000100 + (DWORD)i, 0, 1, &i );
        if (GetLastError() != 0xbeef) tally.wrong++;
    }
    return 0;
}

START_TEST( scenario_exception_raised_vectored )
{
    void *handler = AddVectoredExceptionHandler( 1, go_on );

    run_faults( raise_vectored_body );
    RemoveVectoredExceptionHandler( handler );
    check_handled( FAULTS );
}

/* Gone on from, it has left nothing behind: a wait from deeper than the handler was is one. */
static HANDLE deep_event;

static void __attribute__((noinline)) wait_below( int depth )
{
    volatile char page[4096];

    page[0] = 1;
    if (depth) wait_below( depth - 1 );
    else if (WaitForSingleObject( deep_event, KIT_LIMIT / 2 )) tally.wrong++;
    if (page[0] != 1) tally.wrong++;
}

static DWORD wait_after_body( struct kit_worker *worker )
{
    ULONG_PTR i;

    vectored_thread = worker->id;
    for (i = 1; i <= 4; i++)
    {
        kit_yield( worker, NULL );
        RaiseException( 0xe0000100 + (DWORD)i, 0, 1, &i );
        ResetEvent( deep_event );
        wait_below( 10 );
    }
    return 0;
}

/* It runs on the same scheduler, so only while the other one waits. */
static DWORD wake_body( struct kit_worker *worker )
{
    while (!kit.workers[0].ended)
    {
        SetEvent( deep_event );
        if (!kit_yield( worker, NULL )) return 1;
    }
    return 0;
}

START_TEST( scenario_exception_wait_after )
{
    void *handler = AddVectoredExceptionHandler( 1, go_on );
    struct kit_sched *sched;

    deep_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!kit_open()) return;
    kit.stack = 0x100000;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, wait_after_body, NULL );
    kit_add_worker( sched->list, wake_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    check_handled( 4 );
    kit_check();
    CloseHandle( deep_event );
}

/* ---- longjmp, and a captured context that is gone back to ---- */

static volatile LONG never;
static jmp_buf jump;

static void jump_below( int depth )
{
    volatile char space[256];

    space[0] = 1;
    if (depth > 0) jump_below( depth - 1 );
    else if (!never) longjmp( jump, 1 );
    tally.wrong += space[0];
}

static DWORD jump_body( struct kit_worker *worker )
{
    volatile int i;

    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        if (!setjmp( jump )) jump_below( i % 5 );
        else tally.handled++;
    }
    return 0;
}

START_TEST( scenario_exception_longjmp )
{
    run_faults( jump_body );
    check_handled( FAULTS );
}

static DWORD restore_body( struct kit_worker *worker )
{
    static CONTEXT context;
    volatile LONG passes = 0;
    int i;

    for (i = 0; i < FAULTS; i++)
    {
        passes = 0;
        kit_yield( worker, NULL );
        context.ContextFlags = CONTEXT_FULL;
        RtlCaptureContext( &context );
        if (passes++ < 2) RtlRestoreContext( &context, NULL );
        if (passes == 3) tally.handled++;
    }
    return 0;
}

START_TEST( scenario_exception_restore_context )
{
    run_faults( restore_body );
    check_handled( FAULTS );
}

/* ---- out of a routine that the kernel calls in the middle of a wait ---- */

static void CALLBACK faulting_apc( ULONG_PTR unused )
{
    (void)unused;
    if (GetCurrentThreadId() != kit.workers[0].id) tally.wrong_thread++;
    faulting_load( NOWHERE );
}

static void wait_for_apc( void *unused )
{
    (void)unused;
    QueueUserAPC( faulting_apc, GetCurrentThread(), 0 );
    SleepEx( KIT_LIMIT, TRUE );
    tally.wrong++;
}

/* The frame that handles it lies above the wait; the wait is left for good, and the worker is an
   ordinary one afterwards. */
static DWORD apc_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < 10; i++)
    {
        kit_yield( worker, NULL );
        if (seh_call( wait_for_apc, NULL ) == EXCEPTION_ACCESS_VIOLATION) tally.handled++;
        Sleep( 1 );
        kit_yield( worker, NULL );
    }
    return 0;
}

START_TEST( scenario_exception_out_of_wait )
{
    run_faults( apc_body );
    check_handled( 10 );
}

/* ---- bad pointers given to quick calls and to waits: a status, nothing else ---- */

static NTSTATUS (WINAPI *query_counter)( LARGE_INTEGER *, LARGE_INTEGER * );
static NTSTATUS (WINAPI *wait_object)( HANDLE, BOOLEAN, LARGE_INTEGER * );
static NTSTATUS (WINAPI *create_event)( HANDLE *, ACCESS_MASK, void *, ULONG, BOOLEAN );

#define ACCESS_VIOLATION_STATUS ((NTSTATUS)0xc0000005)

/* The kernel looks at pointers by itself: a program sees no exception. [doc] */
static LONG pointer_exceptions;

static LONG CALLBACK count_exceptions( EXCEPTION_POINTERS *pointers )
{
    (void)pointers;
    pointer_exceptions++;
    return EXCEPTION_CONTINUE_SEARCH;
}

static DWORD pointer_body( struct kit_worker *worker )
{
    HANDLE event = worker->arg, handle = NULL;
    int i;

    for (i = 0; i < 10; i++)
    {
        kit_yield( worker, NULL );
        if (query_counter( (LARGE_INTEGER *)NOWHERE, NULL ) == ACCESS_VIOLATION_STATUS)
            tally.handled++;
        kit_yield( worker, NULL );
        if (wait_object( event, FALSE, (LARGE_INTEGER *)NOWHERE ) == ACCESS_VIOLATION_STATUS)
            tally.handled++;
        kit_yield( worker, NULL );
        if (create_event( &handle, EVENT_ALL_ACCESS, (void *)NOWHERE, 1, FALSE ) ==
            ACCESS_VIOLATION_STATUS)
            tally.handled++;
        if (GetCurrentThreadId() != worker->id) tally.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_bad_pointers )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    HANDLE event = CreateEventW( NULL, TRUE, FALSE, NULL );
    struct kit_sched *sched;
    void *handler;

    query_counter = (void *)GetProcAddress( ntdll, "NtQueryPerformanceCounter" );
    wait_object = (void *)GetProcAddress( ntdll, "NtWaitForSingleObject" );
    create_event = (void *)GetProcAddress( ntdll, "NtCreateEvent" );
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = watch_scheduler_stack;
    kit_add_worker( sched->list, pointer_body, event );
    handler = AddVectoredExceptionHandler( 1, count_exceptions );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( !pointer_exceptions, "2.2: a vectored handler saw %ld exceptions\n", pointer_exceptions );
    ok( !tally.scheduler_changed, "2.2: the scheduler found another stack in its TEB %ld times\n",
        tally.scheduler_changed );
    check_handled( 30 );
    kit_check();
    CloseHandle( event );
}
