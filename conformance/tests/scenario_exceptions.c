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
#include <malloc.h>
#include <setjmp.h>
#include <string.h>
#include "scenario_faults.h"

#define FAULTS 40

/* ---- a frame with a handler, without the compiler's help ---- */

extern char seh_landing[];
EXCEPTION_DISPOSITION seh_handler( EXCEPTION_RECORD *rec, void *frame, CONTEXT *context,
                                   DISPATCHER_CONTEXT *dispatch );

__asm__( ".text\n"
         ".globl seh_call, seh_landing\n"
         ".def seh_call; .scl 2; .type 32; .endef\n"
         ".seh_proc seh_call\n"
         "seh_call:\n"
         "\t.seh_handler seh_handler, @except\n"
         "\t.seh_handlerdata\n"
         "\t.text\n"
         "\tsubq $0x28, %rsp\n"
         "\t.seh_stackalloc 0x28\n"
         "\t.seh_endprologue\n"
         "\tmovq %rcx, %rax\n"
         "\tmovq %rdx, %rcx\n"
         "\tcall *%rax\n"
         "\txorl %eax, %eax\n"
         "seh_landing:\n"
         "\tnop\n"
         "\taddq $0x28, %rsp\n"
         "\tret\n"
         "\t.seh_endproc\n" );

EXCEPTION_DISPOSITION seh_handler( EXCEPTION_RECORD *rec, void *frame, CONTEXT *context,
                                   DISPATCHER_CONTEXT *dispatch )
{
    if (!(rec->ExceptionFlags & (EXCEPTION_UNWINDING | EXCEPTION_EXIT_UNWIND)))
        RtlUnwindEx( frame, seh_landing, rec, (void *)(ULONG_PTR)rec->ExceptionCode, context,
                     dispatch->HistoryTable );
    return ExceptionContinueSearch;
}

__asm__( ".text\n"
         ".globl faulting_load\n"
         ".def faulting_load; .scl 2; .type 32; .endef\n"
         ".seh_proc faulting_load\n"
         "faulting_load:\n"
         "\t.seh_endprologue\n"
         "\tmovl $0x11, %eax\n"
         "\tmovq (%rcx), %rdx\n"
         "\tret\n"
         "\t.seh_endproc\n" );

void fault( void *unused )
{
    (void)unused;
    faulting_load( NOWHERE );
}

/* ---- what bodies count; the main thread judges ---- */

static struct
{
    LONG handled, wrong, wrong_thread, wrong_stack, rounds;
    ULONG_PTR codes[8];
    LONG scheduler_changed, scheduler_vectored;
} seen;

static void *scheduler_stack[3];

static BOOL watch_scheduler( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    NT_TIB *tib = kit_teb();
    void *bottom = *(void **)((char *)tib + 0x1478);           /* DeallocationStack [sdk] */

    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerStartup)
    {
        scheduler_stack[0] = tib->StackBase;
        scheduler_stack[1] = tib->StackLimit;
        scheduler_stack[2] = bottom;
    }
    if (tib->StackBase != scheduler_stack[0] || bottom != scheduler_stack[2] ||
        tib->StackLimit > scheduler_stack[1] || (void *)&tib < tib->StackLimit)
        seen.scheduler_changed++;
    return FALSE;
}

static void run_body( DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *sched;

    memset( &seen, 0, sizeof(seen) );
    if (!kit_open()) return;
    kit.stack = 0x100000;
    sched = kit_add_sched( NULL );
    sched->on_upcall = watch_scheduler;
    kit_add_worker( sched->list, body, NULL );
    kit_start();
    kit_finish();
    ok( !seen.scheduler_changed, "2.2: the scheduler found another stack in its TEB %ld times\n",
        seen.scheduler_changed );
    ok( !seen.scheduler_vectored, "the scheduler thread saw %ld exceptions of its worker\n",
        seen.scheduler_vectored );
    kit_check();
}

static void check_handled( LONG count )
{
    ok( seen.handled == count, "%ld exceptions handled, expected %ld\n", seen.handled, count );
    ok( !seen.wrong, "%ld times something was not as before\n", seen.wrong );
    ok( !seen.wrong_thread, "B23: %ld exceptions on another thread\n", seen.wrong_thread );
    ok( !seen.wrong_stack, "B27: %ld exceptions on another stack\n", seen.wrong_stack );
}

/* ---- vectored handlers, and going on with another context ---- */

static DWORD vectored_thread;
static NT_TIB *vectored_tib;

static LONG CALLBACK skip_load( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION ||
        context->Rcx != (ULONG_PTR)NOWHERE)
        return EXCEPTION_CONTINUE_SEARCH;
    if (GetCurrentThreadId() == kit.scheds[0].id) seen.scheduler_vectored++;
    if (GetCurrentThreadId() != vectored_thread) seen.wrong_thread++;
    if ((void *)context < vectored_tib->StackLimit || (void *)context >= vectored_tib->StackBase ||
        context->Rsp < (ULONG_PTR)vectored_tib->StackLimit)
        seen.wrong_stack++;
    seen.handled++;
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
        if (faulting_load( NOWHERE ) != 0x33) seen.wrong++;
        if (i % 8 == 7) Sleep( 0 );
    }
    return 0;
}

START_TEST( scenario_exception_vectored )
{
    void *handler = AddVectoredExceptionHandler( 1, skip_load );

    run_body( vectored_body );
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
    seen.wrong += space[0];                     /* left by the exception, never reached */
}

static DWORD frame_body( struct kit_worker *worker )
{
    volatile ULONG_PTR kept = 0x1234;
    int i;

    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        if (seh_call( fault_below, (void *)(ULONG_PTR)(i % 7) ) == EXCEPTION_ACCESS_VIOLATION)
            seen.handled++;
        if (kept != 0x1234) seen.wrong++;
        if (GetCurrentThreadId() != worker->id) seen.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_frame )
{
    run_body( frame_body );
    check_handled( FAULTS );
}

/* ---- the same with __C_specific_handler and a filter, as mingw-w64's <excpt.h> has it ---- */

static DWORD filter_thread;

LONG try_filter( EXCEPTION_POINTERS *pointers, ULONG_PTR frame );

LONG try_filter( EXCEPTION_POINTERS *pointers, ULONG_PTR frame )
{
    NT_TIB *tib = kit_teb();

    if (GetCurrentThreadId() != filter_thread) seen.wrong_thread++;
    if (frame < (ULONG_PTR)tib->StackLimit || frame >= (ULONG_PTR)tib->StackBase)
        seen.wrong_stack++;
    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) seen.wrong++;
    seen.handled++;
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
        if (GetCurrentThreadId() != worker->id) seen.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_try )
{
    run_body( try_body );
    check_handled( FAULTS );
}

static void raise( void *code )
{
    ULONG_PTR info[2] = { 7, 8 };

    RaiseException( (DWORD)(ULONG_PTR)code, 0, 2, info );
    seen.wrong++;
}

static DWORD raise_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        if (seh_call( raise, (void *)(ULONG_PTR)(0xe0000000 + i) ) == 0xe0000000 + i)
            seen.handled++;
    }
    return 0;
}

START_TEST( scenario_exception_raised )
{
    run_body( raise_body );
    check_handled( FAULTS );
}

/* A vectored handler may go on as well: RaiseException returns, at home or wherever. */
static LONG CALLBACK go_on( EXCEPTION_POINTERS *pointers )
{
    const EXCEPTION_RECORD *record = pointers->ExceptionRecord;

    if (record->ExceptionCode >> 8 != 0xe00001) return EXCEPTION_CONTINUE_SEARCH;
    if (GetCurrentThreadId() != vectored_thread) seen.wrong_thread++;
    if (record->NumberParameters != 1 || (LONG)record->ExceptionInformation[0] != ++seen.rounds)
        seen.wrong++;
    seen.handled++;
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
        if (GetLastError() != 0xbeef) seen.wrong++;
    }
    return 0;
}

START_TEST( scenario_exception_raised_vectored )
{
    void *handler = AddVectoredExceptionHandler( 1, go_on );

    run_body( raise_vectored_body );
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
    else if (WaitForSingleObject( deep_event, KIT_LIMIT / 2 )) seen.wrong++;
    if (page[0] != 1) seen.wrong++;
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
    seen.wrong += space[0];
}

static DWORD jump_body( struct kit_worker *worker )
{
    volatile int i;

    for (i = 0; i < FAULTS; i++)
    {
        if (i & 1) kit_yield( worker, NULL );
        if (!setjmp( jump )) jump_below( i % 5 );
        else seen.handled++;
    }
    return 0;
}

START_TEST( scenario_exception_longjmp )
{
    run_body( jump_body );
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
        if (passes == 3) seen.handled++;
    }
    return 0;
}

START_TEST( scenario_exception_restore_context )
{
    run_body( restore_body );
    check_handled( FAULTS );
}

/* ---- the stack grows while the worker runs, and faults on its new part ---- */

#define GROW_DEPTH 40                           /* pages: more than are committed at the start */

static int __attribute__((noinline)) grow( int depth, int yields )
{
    volatile char page[4096];
    int ret;

    page[0] = (char)depth;
    page[sizeof(page) - 1] = (char)~depth;
    if (depth) ret = grow( depth - 1, yields );
    else
    {
        if (yields) kit_yield( &kit.workers[0], NULL );
        ret = seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION;
    }
    if (page[0] != (char)depth || page[sizeof(page) - 1] != (char)~depth) seen.wrong++;
    return ret;
}

void lazy_stack( void )
{
    NT_TIB *tib = kit_teb();
    char *bottom = *(char **)((char *)tib + 0x1478);           /* DeallocationStack [sdk] */
    char *limit = (char *)(((ULONG_PTR)&tib - 0x4000) & ~(ULONG_PTR)0xfff);
    DWORD old;

    if ((char *)tib->StackLimit >= limit || limit - bottom < 0x8000) return;
    VirtualFree( bottom, limit - bottom, MEM_DECOMMIT );
    VirtualAlloc( limit - 0x1000, 0x1000, MEM_COMMIT, PAGE_READWRITE );
    VirtualProtect( limit - 0x1000, 0x1000, PAGE_READWRITE | PAGE_GUARD, &old );
    tib->StackLimit = limit;
}

/* The limit that the TEB tells must be at or below what is in use, now. */
static DWORD grow_body( struct kit_worker *worker )
{
    NT_TIB *tib = kit_teb();

    lazy_stack();
    kit_yield( worker, NULL );
    if (grow( GROW_DEPTH, 0 )) seen.handled++;
    if (grow( 2 * GROW_DEPTH, 1 )) seen.handled++;
    kit_yield( worker, NULL );
    if ((char *)tib->StackBase - (char *)tib->StackLimit < 2 * GROW_DEPTH * 4096) seen.wrong_stack++;
    return 0;
}

START_TEST( scenario_exception_stack_growth )
{
    run_body( grow_body );
    check_handled( 2 );
}

static void overflow( void *depth )
{
    volatile char page[4096];

    page[0] = 1;
    if (!never) overflow( depth );
    seen.wrong += page[0];
}

/* What is left below the guard page is for the handlers: by itself a page or two, and how much of
   the last page the overflow had used is chance. A program that recovers asks for more. [doc] */
static void leave_room( void )
{
    ULONG room = 0x8000;

    lazy_stack();
    if (!SetThreadStackGuarantee( &room )) seen.wrong++;
}

static DWORD overflow_body( struct kit_worker *worker )
{
    leave_room();
    kit_yield( worker, NULL );
    seen.codes[0] = seh_call( overflow, NULL );
    if (seen.codes[0] == (DWORD)EXCEPTION_STACK_OVERFLOW) seen.handled++;
    kit_yield( worker, NULL );
    if (seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION) seen.handled++;
    kit_yield( worker, NULL );
    return 0;
}

START_TEST( scenario_exception_stack_overflow )
{
    run_body( overflow_body );
    ok( seen.codes[0] == (DWORD)EXCEPTION_STACK_OVERFLOW, "the overflow gave %#llx\n",
        (ULONGLONG)seen.codes[0] );
    check_handled( 2 );
}

/* ---- how much is left for handling it ---- */

#define GUARANTEE 0x10000
#define ONE_FRAME 0x2000                        /* the frame that overflows, and how Wine rounds */

static ULONG_PTR room_left;

static LONG CALLBACK measure_room( EXCEPTION_POINTERS *pointers )
{
    char *bottom = *(char **)((char *)kit_teb() + 0x1478);     /* DeallocationStack [sdk] */

    if (pointers->ExceptionRecord->ExceptionCode == EXCEPTION_STACK_OVERFLOW)
        room_left = pointers->ContextRecord->Rsp - (ULONG_PTR)bottom;
    return EXCEPTION_CONTINUE_SEARCH;
}

static void overflow_with_room( BOOL again )
{
    ULONG room = GUARANTEE;

    if (again && !SetThreadStackGuarantee( &room )) seen.wrong++;
    if (seh_call( overflow, NULL ) == (DWORD)EXCEPTION_STACK_OVERFLOW) seen.handled++;
}

/* Asked for where it runs by the book, without a call that anybody sees. */
static DWORD guarantee_body( struct kit_worker *worker )
{
    lazy_stack();
    kit_yield( worker, NULL );
    overflow_with_room( TRUE );
    return 0;
}

/* Asked for before it is executed the next time. */
static DWORD early_guarantee_body( struct kit_worker *worker )
{
    ULONG room = GUARANTEE;

    lazy_stack();
    if (!SetThreadStackGuarantee( &room )) seen.wrong++;
    kit_yield( worker, NULL );
    kit_yield( worker, NULL );
    overflow_with_room( FALSE );
    return 0;
}

static void try_guarantee( DWORD (*body)( struct kit_worker *worker ) )
{
    void *handler = AddVectoredExceptionHandler( 1, measure_room );

    run_body( body );
    RemoveVectoredExceptionHandler( handler );
    ok( room_left >= GUARANTEE - ONE_FRAME, "%#llx bytes were left, expected %#x\n",
        (ULONGLONG)room_left, GUARANTEE );
    check_handled( 1 );
}

START_TEST( scenario_exception_guarantee )
{
    try_guarantee( guarantee_body );
}

START_TEST( scenario_exception_early_guarantee )
{
    try_guarantee( early_guarantee_body );
}

/* Recovered from: the guard page is put back, and the next overflow is one again. */
static DWORD overflow_again_body( struct kit_worker *worker )
{
    int i;

    leave_room();
    for (i = 0; i < 4; i++)
    {
        kit_yield( worker, NULL );
        seen.codes[i] = seh_call( overflow, NULL );
        if (seen.codes[i] == (DWORD)EXCEPTION_STACK_OVERFLOW) seen.handled++;
        if (i & 1) kit_yield( worker, NULL );
        if (!_resetstkoflw()) seen.wrong++;
        if (GetCurrentThreadId() != worker->id) seen.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_overflow_again )
{
    int i;

    run_body( overflow_again_body );
    for (i = 0; i < 4; i++)
        ok( seen.codes[i] == (DWORD)EXCEPTION_STACK_OVERFLOW, "overflow %d gave %#llx\n", i,
            (ULONGLONG)seen.codes[i] );
    check_handled( 4 );
}

/* ---- out of a routine that the kernel calls in the middle of a wait ---- */

static void CALLBACK faulting_apc( ULONG_PTR unused )
{
    (void)unused;
    if (GetCurrentThreadId() != kit.workers[0].id) seen.wrong_thread++;
    faulting_load( NOWHERE );
}

static void wait_for_apc( void *unused )
{
    (void)unused;
    QueueUserAPC( faulting_apc, GetCurrentThread(), 0 );
    SleepEx( KIT_LIMIT, TRUE );
    seen.wrong++;
}

/* The frame that handles it lies above the wait; the wait is left for good, and the worker is an
   ordinary one afterwards. */
static DWORD apc_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < 10; i++)
    {
        kit_yield( worker, NULL );
        if (seh_call( wait_for_apc, NULL ) == EXCEPTION_ACCESS_VIOLATION) seen.handled++;
        Sleep( 1 );
        kit_yield( worker, NULL );
    }
    return 0;
}

START_TEST( scenario_exception_out_of_wait )
{
    run_body( apc_body );
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
            seen.handled++;
        kit_yield( worker, NULL );
        if (wait_object( event, FALSE, (LARGE_INTEGER *)NOWHERE ) == ACCESS_VIOLATION_STATUS)
            seen.handled++;
        kit_yield( worker, NULL );
        if (create_event( &handle, EVENT_ALL_ACCESS, (void *)NOWHERE, 1, FALSE ) ==
            ACCESS_VIOLATION_STATUS)
            seen.handled++;
        if (GetCurrentThreadId() != worker->id) seen.wrong_thread++;
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
    sched->on_upcall = watch_scheduler;
    kit_add_worker( sched->list, pointer_body, event );
    handler = AddVectoredExceptionHandler( 1, count_exceptions );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( !pointer_exceptions, "2.2: a vectored handler saw %ld exceptions\n", pointer_exceptions );
    ok( !seen.scheduler_changed, "2.2: the scheduler found another stack in its TEB %ld times\n",
        seen.scheduler_changed );
    check_handled( 30 );
    kit_check();
    CloseHandle( event );
}
