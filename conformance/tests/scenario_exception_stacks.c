/*
 * Scenarios: the stack of a worker grows, and overflows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B23, B27. What x64 Windows does with the stack of a thread is documented; that a worker
 * is such a thread is [doc].
 */
#include <malloc.h>
#include "scenario_faults.h"

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
    if (page[0] != (char)depth || page[sizeof(page) - 1] != (char)~depth) tally.wrong++;
    return ret;
}

/* The limit that the TEB tells must be at or below what is in use, now. */
static DWORD grow_body( struct kit_worker *worker )
{
    NT_TIB *tib = kit_teb();

    lazy_stack();
    kit_yield( worker, NULL );
    if (grow( GROW_DEPTH, 0 )) tally.handled++;
    if (grow( 2 * GROW_DEPTH, 1 )) tally.handled++;
    kit_yield( worker, NULL );
    if ((char *)tib->StackBase - (char *)tib->StackLimit < 2 * GROW_DEPTH * 4096)
        tally.wrong_stack++;
    return 0;
}

START_TEST( scenario_exception_stack_growth )
{
    run_faults( grow_body );
    check_handled( 2 );
}

/* ---- a yield from each place of a page, below which nothing was used ---- */

#define PLACE  16                               /* what a stack pointer moves by */
#define PLACES (9 * 4096 / PLACE)               /* lazy_stack leaves four pages */

static void __attribute__((noinline)) yield_at( struct kit_worker *worker, int place )
{
    volatile char *lowest = alloca( place * PLACE + 1 );

    *lowest = 1;
    kit_yield( worker, NULL );
    if (*lowest != 1) tally.wrong++;
}

static DWORD page_ends_body( struct kit_worker *worker )
{
    int place;

    lazy_stack();
    for (place = 0; place < PLACES; place++) yield_at( worker, place );
    tally.handled++;
    return 0;
}

START_TEST( scenario_exception_page_ends )
{
    run_faults( page_ends_body );
    check_handled( 1 );
}

static volatile LONG never;

static void overflow( void *depth )
{
    volatile char page[4096];

    page[0] = 1;
    if (!never) overflow( depth );
    tally.wrong += page[0];
}

/* What is left below the guard page is for the handlers: by itself a page or two, and how much of
   the last page the overflow had used is chance. A program that recovers asks for more. [doc] */
static void leave_room( void )
{
    ULONG room = 0x8000;

    lazy_stack();
    if (!SetThreadStackGuarantee( &room )) tally.wrong++;
}

static DWORD overflow_body( struct kit_worker *worker )
{
    leave_room();
    kit_yield( worker, NULL );
    tally.codes[0] = seh_call( overflow, NULL );
    if (tally.codes[0] == (DWORD)EXCEPTION_STACK_OVERFLOW) tally.handled++;
    kit_yield( worker, NULL );
    if (seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION) tally.handled++;
    kit_yield( worker, NULL );
    return 0;
}

START_TEST( scenario_exception_stack_overflow )
{
    run_faults( overflow_body );
    ok( tally.codes[0] == (DWORD)EXCEPTION_STACK_OVERFLOW, "the overflow gave %#llx\n",
        (ULONGLONG)tally.codes[0] );
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

    if (again && !SetThreadStackGuarantee( &room )) tally.wrong++;
    if (seh_call( overflow, NULL ) == (DWORD)EXCEPTION_STACK_OVERFLOW) tally.handled++;
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
    if (!SetThreadStackGuarantee( &room )) tally.wrong++;
    kit_yield( worker, NULL );
    kit_yield( worker, NULL );
    overflow_with_room( FALSE );
    return 0;
}

static void try_guarantee( DWORD (*body)( struct kit_worker *worker ) )
{
    void *handler = AddVectoredExceptionHandler( 1, measure_room );

    run_faults( body );
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
        tally.codes[i] = seh_call( overflow, NULL );
        if (tally.codes[i] == (DWORD)EXCEPTION_STACK_OVERFLOW) tally.handled++;
        if (i & 1) kit_yield( worker, NULL );
        if (!_resetstkoflw()) tally.wrong++;
        if (GetCurrentThreadId() != worker->id) tally.wrong_thread++;
    }
    return 0;
}

START_TEST( scenario_exception_overflow_again )
{
    int i;

    run_faults( overflow_again_body );
    for (i = 0; i < 4; i++)
        ok( tally.codes[i] == (DWORD)EXCEPTION_STACK_OVERFLOW, "overflow %d gave %#llx\n", i,
            (ULONGLONG)tally.codes[i] );
    check_handled( 4 );
}

/* ---- the stack overflows in a system call: the kernel has a stack of its own, so it overflows before
   or behind the call [seen on Wine; guess for Windows] ---- */

static HANDLE called, also_called;
static int which_call;
static LONG calls_near_end[4];

static void call_something( void )
{
    if (which_call == 0) SetEvent( called );
    else if (which_call == 1) Sleep( 0 );
    else if (which_call == 2) WaitForSingleObject( called, 0 );
    else if (which_call == 3) SwitchToThread();
    else if (which_call == 4) SignalObjectAndWait( called, also_called, 0, FALSE );
    else
    {
        HANDLE both[2];

        both[0] = also_called;
        both[1] = called;
        WaitForMultipleObjects( 2, both, which_call == 5, 0 );
    }
}

/* Calls only near the end: SwitchToThread gives a busy processor away, and thousands of them take minutes under load. */
#define CALLS_FROM 0x10000                      /* twice what leave_room keeps, from the lower end */

static void __attribute__((noinline)) overflow_in_calls( void *bottom )
{
    volatile char some[40];                     /* small, so that each part of a page is met */

    some[0] = 1;
    if (some < (volatile char *)bottom + CALLS_FROM)
    {
        calls_near_end[which_call]++;
        call_something();
    }
    if (!never) overflow_in_calls( bottom );
    tally.wrong += some[0];
}

static DWORD overflow_in_calls_body( struct kit_worker *worker )
{
    void *bottom = *(void **)((char *)kit_teb() + 0x1478);     /* DeallocationStack [sdk] */

    leave_room();
    kit_yield( worker, NULL );
    for (which_call = 0; which_call < 4; which_call++)
    {
        tally.codes[which_call] = seh_call( overflow_in_calls, bottom );
        if (!_resetstkoflw()) tally.wrong++;
        kit_yield( worker, NULL );
        call_something();
    }
    if (seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION) tally.handled++;
    return 0;
}

START_TEST( scenario_exception_overflow_in_calls )
{
    int i;

    called = CreateEventW( NULL, FALSE, FALSE, NULL );
    run_faults( overflow_in_calls_body );
    for (i = 0; i < 4; i++)
    {
        ok( calls_near_end[i], "no call %d was made near the end of the stack\n", i );
        ok( tally.codes[i] == (DWORD)EXCEPTION_STACK_OVERFLOW, "the overflow in call %d gave %#llx\n", i,
            (ULONGLONG)tally.codes[i] );
    }
    check_handled( 1 );
    CloseHandle( called );
}

/* ---- a stack that the program made, as coroutines have: the guard page below it is the program's ---- */

#define OWN_STACK 0x6000
#define OWN_LEFT  4096                          /* what the calls may take at most; Windows' kernel takes none [guess] */

void run_on_stack( void *top, void (*function)( void ) );
__asm__( ".globl run_on_stack\n"
         ".def run_on_stack; .scl 2; .type 32; .endef\n"
         ".seh_proc run_on_stack\n"
         "run_on_stack:\n"
         "pushq %rbp\n"
         ".seh_pushreg %rbp\n"
         "movq %rsp,%rbp\n"
         ".seh_setframe %rbp,0\n"
         ".seh_endprologue\n"
         "leaq -0x20(%rcx),%rsp\n"
         "call *%rdx\n"
         "leaq 0(%rbp),%rsp\n"
         "popq %rbp\n"
         "ret\n"
         ".seh_endproc\n" );

static void __attribute__((noinline)) call_far_below( void )
{
    volatile char *lowest = alloca( OWN_STACK - 0x1000 - OWN_LEFT - 0x100 );

    *lowest = 1;
    for (which_call = 0; which_call < 7; which_call++) call_something();
    tally.handled++;
}

static DWORD own_stack_body( struct kit_worker *worker )
{
    NT_TIB *tib = kit_teb();
    NT_TIB before = *tib;
    MEMORY_BASIC_INFORMATION info;
    char *stack = VirtualAlloc( NULL, OWN_STACK, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    DWORD old;

    if (!VirtualProtect( stack, 0x1000, PAGE_READWRITE | PAGE_GUARD, &old )) tally.wrong++;
    kit_yield( worker, NULL );
    tib->StackBase = stack + OWN_STACK;
    tib->StackLimit = stack + 0x1000;
    run_on_stack( stack + OWN_STACK, call_far_below );
    tib->StackBase = before.StackBase;
    tib->StackLimit = before.StackLimit;
    if (!VirtualQuery( stack, &info, sizeof(info) ) || !(info.Protect & PAGE_GUARD)) tally.wrong++;
    VirtualFree( stack, 0, MEM_RELEASE );
    kit_yield( worker, NULL );
    return 0;
}

START_TEST( scenario_exception_own_stack )
{
    called = CreateEventW( NULL, FALSE, FALSE, NULL );
    also_called = CreateEventW( NULL, FALSE, FALSE, NULL );
    run_faults( own_stack_body );
    check_handled( 1 );
    CloseHandle( called );
    CloseHandle( also_called );
}
