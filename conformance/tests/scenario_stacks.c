/*
 * Scenarios: a worker on a stack of its program's making. Coroutine libraries switch stacks without
 * a call; some tell the TEB (Boost.Context), some do not.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B27. That arguments from the fifth on are taken from the stack of the call, wherever
 * that lies, is the x64 calling convention [doc]; that frames are looked for between the limits which
 * the TEB tells, is [doc] (RtlUnwindEx, NT_TIB); that a worker is a thread like any other is [doc].
 */
#include <string.h>
#include "scenario_faults.h"

/* call_on( top, func, a, b, c ): func( a, b, c ) with its home space at the very end of another
   stack. */
ULONG_PTR call_on( void *top, void *func, ULONG_PTR a, ULONG_PTR b, ULONG_PTR c );

__asm__( ".text\n"
         ".globl call_on\n"
         ".def call_on; .scl 2; .type 32; .endef\n"
         ".seh_proc call_on\n"
         "call_on:\n"
         "\tpushq %rbp\n"
         "\t.seh_pushreg %rbp\n"
         "\tmovq %rsp, %rbp\n"
         "\t.seh_setframe %rbp, 0\n"
         "\t.seh_endprologue\n"
         "\tmovq %rdx, %rax\n"
         "\tmovq 0x30(%rbp), %r10\n"
         "\tleaq -0x20(%rcx), %rsp\n"
         "\tmovq %r8, %rcx\n"
         "\tmovq %r9, %rdx\n"
         "\tmovq %r10, %r8\n"
         "\tcall *%rax\n"
         "\tleaq 0(%rbp), %rsp\n"
         "\tpopq %rbp\n"
         "\tret\n"
         "\t.seh_endproc\n" );

/* ---- stacks ---- */

#define MADE_SIZE 0x20000

static char *made[2];                   /* one below all stacks of workers, one above, as far as
                                           the host lets us */

/* The half above is reserved: a read past the top faults. */
static char *top_of( const char *stack )
{
    return (char *)stack + MADE_SIZE;
}

static BOOL make_stacks( void )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        made[i] = VirtualAlloc( NULL, 2 * MADE_SIZE, MEM_RESERVE | (i ? MEM_TOP_DOWN : 0),
                                PAGE_READWRITE );
        if (!ok( made[i] && VirtualAlloc( made[i], MADE_SIZE, MEM_COMMIT, PAGE_READWRITE ),
                 "no memory for a stack, error %lu\n", GetLastError() )) return FALSE;
    }
    /* The host decides where stacks lie: Wine 10 has put this thread's above all of them (seen). */
    if ((char *)((NT_TIB *)kit_teb())->StackBase >= made[1])
        umstest_observe( "scenario_stacks.above", "no, so calls on a stack above are not tried" );
    return TRUE;
}

static struct
{
    LONG calls, wrong[12], rounds, handled, limits, unwound, scheduler;
} seen;

/* ---- system calls on a stack that the TEB does not know ---- */

static NTSTATUS (WINAPI *set_event)( HANDLE, LONG * );
static NTSTATUS (WINAPI *query_counter)( LARGE_INTEGER *, LARGE_INTEGER * );
static NTSTATUS (WINAPI *wait_object)( HANDLE, BOOLEAN, LARGE_INTEGER * );
static NTSTATUS (WINAPI *resume_thread)( HANDLE, ULONG * );
static WCHAR own_file[MAX_PATH];
static HANDLE event;

/* Up to eleven arguments of a system call each. */
static void call_many( void )
{
    HANDLE section, file;
    char *view, *memory, magic[2] = "";
    DWORD got = 0;

    seen.calls++;
    if (!(memory = VirtualAlloc( NULL, 0x1000, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE )))
        seen.wrong[0]++;
    else memory[0] = 1;
    if (!(section = CreateFileMappingW( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 0x1000,
                                        NULL ))) seen.wrong[1]++;
    if (!(view = MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, 0x1000 ))) seen.wrong[2]++;
    else view[0] = 1;
    file = CreateFileW( own_file, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                        OPEN_EXISTING, 0, NULL );
    if (file == INVALID_HANDLE_VALUE) seen.wrong[3]++;
    else if (!ReadFile( file, magic, 2, &got, NULL ) || got != 2 || magic[0] != 'M')
        seen.wrong[4]++;
    CloseHandle( file );
    if (view) UnmapViewOfFile( view );
    CloseHandle( section );
    if (memory) VirtualFree( memory, 0, MEM_RELEASE );
}

/* Few arguments, made where hardly anything follows in memory: something does, because Wine 10 reads
   a little further than it has to. */
#define LAST_BYTES 0x60

static void call_at_top( char *end )
{
    char *top = end - LAST_BYTES;
    LARGE_INTEGER counter = { .QuadPart = 0 }, zero = { .QuadPart = 0 };

    if (call_on( top, set_event, (ULONG_PTR)event, 0, 0 )) seen.wrong[5]++;
    if (call_on( top, wait_object, (ULONG_PTR)event, 0, (ULONG_PTR)&zero )) seen.wrong[6]++;
    if (call_on( top, query_counter, (ULONG_PTR)&counter, 0, 0 ) || !counter.QuadPart)
        seen.wrong[7]++;
    if (call_on( top, resume_thread, (ULONG_PTR)GetCurrentThread(), 0, 0 )) seen.wrong[8]++;
}

/* Where pages of the stack meet in the middle of the arguments, too. */
static void call_everywhere( struct kit_worker *worker )
{
    int i, k;

    for (i = 0; i < 2; i++)
    {
        for (k = 0; k < 16; k++)
        {
            if (worker) kit_yield( worker, NULL );
            call_on( top_of( made[i] ) - 0x1000 - 0x80 * k, call_many, 0, 0, 0 );
        }
        if (worker) kit_yield( worker, NULL );
        call_at_top( top_of( made[i] ) );
        if (worker) kit_yield( worker, NULL );
        call_at_top( top_of( made[i] ) - 0x1000 );
    }
}

static DWORD calls_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    call_everywhere( worker );
    return 0;
}

static void judge_calls( void )
{
    static const char *const names[] = { "VirtualAlloc", "CreateFileMapping", "MapViewOfFile",
                                         "CreateFile", "ReadFile", "NtSetEvent",
                                         "NtWaitForSingleObject", "NtQueryPerformanceCounter",
                                         "NtResumeThread" };
    unsigned int i;

    ok( seen.calls == 32, "%ld rounds, expected 32\n", seen.calls );
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ok( !seen.wrong[i], "2.2: %s failed %ld times\n", names[i], seen.wrong[i] );
}

START_TEST( scenario_stack_calls )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    struct kit_sched *sched;

    set_event     = (void *)GetProcAddress( ntdll, "NtSetEvent" );
    query_counter = (void *)GetProcAddress( ntdll, "NtQueryPerformanceCounter" );
    wait_object   = (void *)GetProcAddress( ntdll, "NtWaitForSingleObject" );
    resume_thread = (void *)GetProcAddress( ntdll, "NtResumeThread" );
    GetModuleFileNameW( NULL, own_file, MAX_PATH );
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!make_stacks() || !kit_open()) return;
    sched = kit_add_sched( NULL );
    push( "plain thread" );
    call_everywhere( NULL );
    judge_calls();
    pop();
    memset( &seen, 0, sizeof(seen) );
    kit_add_worker( sched->list, calls_body, NULL );
    kit_start();
    kit_finish();
    push( "worker" );
    judge_calls();
    pop();
    kit_check();
    CloseHandle( event );
}

/* ---- another stack that the TEB is told of ---- */

struct tib_stack
{
    void *base, *limit, *bottom, *list;
};

static void **bottom_in_teb( void )
{
    return (void **)((char *)kit_teb() + 0x1478);               /* DeallocationStack [sdk] */
}

static struct tib_stack get_stack( void )
{
    NT_TIB *tib = kit_teb();
    struct tib_stack stack = { tib->StackBase, tib->StackLimit, *bottom_in_teb(),
                               tib->ExceptionList };

    return stack;
}

static void set_stack( const struct tib_stack *stack )
{
    NT_TIB *tib = kit_teb();

    tib->ExceptionList = stack->list;
    tib->StackBase     = stack->base;
    tib->StackLimit    = stack->limit;
    *bottom_in_teb()   = stack->bottom;
}

/* As a switch of Boost.Context does it; and ExceptionList, which is for x86 alone, but Wine takes what
   is in there for a frame. */
static void switch_to( char *stack, void (*func)( struct kit_worker *, ULONG_PTR ),
                       struct kit_worker *worker, ULONG_PTR arg )
{
    struct tib_stack own = get_stack(), other = { top_of( stack ), stack, stack, (void *)-1 };

    set_stack( &other );
    call_on( top_of( stack ), func, (ULONG_PTR)worker, arg, 0 );
    set_stack( &own );
}

/* The TEB has to tell what it was told; an exception is handled by a frame of this stack. */
static void look( const struct tib_stack *told )
{
    struct tib_stack now = get_stack();

    if (now.base != told->base || now.limit > told->limit || now.limit < told->bottom ||
        now.bottom != told->bottom) seen.limits++;
    seen.rounds++;
    if (seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION) seen.handled++;
    now = get_stack();
    if (now.base != told->base || now.limit > told->limit || now.bottom != told->bottom)
        seen.limits++;
}

#define FIRST_THINGS 5

/* What the worker does first on the new stack: nothing has been told of that until then. */
static void on_other_stack( struct kit_worker *worker, ULONG_PTR first )
{
    struct tib_stack told = get_stack();

    switch (first)
    {
    case 0: SetEvent( event ); break;
    case 1: Sleep( 0 ); break;
    case 2: Sleep( 1 ); break;
    case 3: kit_yield( worker, NULL ); break;
    default: break;
    }
    look( &told );
    kit_yield( worker, NULL );
    look( &told );
}

static DWORD switch_body( struct kit_worker *worker )
{
    struct tib_stack own;
    ULONG_PTR i;

    kit_yield( worker, NULL );
    own = get_stack();
    for (i = 0; i < 4 * FIRST_THINGS; i++)
    {
        switch_to( made[i & 1], on_other_stack, worker, i / 4 );
        if (i & 2) kit_yield( worker, NULL );
        look( &own );
        kit_yield( worker, NULL );
    }
    return 0;
}

static struct tib_stack scheduler_stack;

static BOOL watch_scheduler( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    struct tib_stack now = get_stack();

    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) scheduler_stack = now;
    if (now.base != scheduler_stack.base || now.limit > scheduler_stack.limit ||
        now.bottom != scheduler_stack.bottom || (void *)&now < now.limit) seen.scheduler++;
    return FALSE;
}

static void run_body( DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *sched;

    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!make_stacks() || !kit_open()) return;
    kit.stack = 0x100000;
    sched = kit_add_sched( NULL );
    sched->on_upcall = watch_scheduler;
    kit_add_worker( sched->list, body, NULL );
    kit_start();
    kit_finish();
    ok( !seen.scheduler, "2.2: the scheduler found another stack in its TEB %ld times\n",
        seen.scheduler );
    kit_check();
    CloseHandle( event );
}

static void judge_looks( LONG rounds )
{
    ok( seen.rounds == rounds, "%ld looks, expected %ld\n", seen.rounds, rounds );
    ok( seen.handled == rounds, "%ld exceptions handled, expected %ld\n", seen.handled, rounds );
    ok( !seen.limits, "B27: the TEB told another stack %ld times\n", seen.limits );
}

START_TEST( scenario_stack_switched )
{
    run_body( switch_body );
    judge_looks( 3 * 4 * FIRST_THINGS );
}

/* ---- the same by fibers that were made beforehand ---- */

static void *main_fiber;

static void WINAPI fiber( void *worker )
{
    ULONG_PTR i;

    for (i = 0; ; i++)
    {
        on_other_stack( worker, i % FIRST_THINGS );
        SwitchToFiber( main_fiber );
    }
}

static DWORD fiber_body( struct kit_worker *worker )
{
    void *fibers[2];
    struct tib_stack own;
    int i;

    for (i = 0; i < 2; i++) fibers[i] = CreateFiberEx( 0x1000, 0x100000, 0, fiber, worker );
    for (i = 0; i < 2 * FIRST_THINGS; i++)
    {
        kit_yield( worker, NULL );
        own = get_stack();
        main_fiber = ConvertThreadToFiber( NULL );
        SwitchToFiber( fibers[i & 1] );
        look( &own );
        if (!ConvertFiberToThread()) seen.limits++;
    }
    for (i = 0; i < 2; i++) DeleteFiber( fibers[i] );
    return 0;
}

START_TEST( scenario_stack_fibers )
{
    run_body( fiber_body );
    judge_looks( 3 * 2 * FIRST_THINGS );
}

/* ---- a stack that has grown, left through its frames without an exception ---- */

EXCEPTION_DISPOSITION count_unwinds( EXCEPTION_RECORD *rec, void *frame, CONTEXT *context,
                                     DISPATCHER_CONTEXT *dispatch );
void counted_call( void (*func)( int ), int arg );

__asm__( ".text\n"
         ".globl counted_call\n"
         ".def counted_call; .scl 2; .type 32; .endef\n"
         ".seh_proc counted_call\n"
         "counted_call:\n"
         "\t.seh_handler count_unwinds, @unwind\n"
         "\t.seh_handlerdata\n"
         "\t.text\n"
         "\tsubq $0x28, %rsp\n"
         "\t.seh_stackalloc 0x28\n"
         "\t.seh_endprologue\n"
         "\tmovq %rcx, %rax\n"
         "\tmovl %edx, %ecx\n"
         "\tcall *%rax\n"
         "\tnop\n"
         "\taddq $0x28, %rsp\n"
         "\tret\n"
         "\t.seh_endproc\n" );

EXCEPTION_DISPOSITION count_unwinds( EXCEPTION_RECORD *rec, void *frame, CONTEXT *context,
                                     DISPATCHER_CONTEXT *dispatch )
{
    (void)frame; (void)context; (void)dispatch;
    if (rec->ExceptionFlags & (EXCEPTION_UNWINDING | EXCEPTION_EXIT_UNWIND)) seen.unwound++;
    return ExceptionContinueSearch;
}

#define UNWIND_DEPTH  40                /* pages */
#define UNWIND_ROUNDS 4


static void *target_frame;
static CONTEXT target_context;

/* Down, a page and a frame with a handler at a time; then up to the frame that has been captured. */
static void __attribute__((noinline)) unwind_below( int depth )
{
    volatile char page[4096];

    page[0] = (char)depth;
    if (depth) counted_call( unwind_below, depth - 1 );
    else RtlUnwindEx( target_frame, (void *)target_context.Rip, NULL, NULL, &target_context, NULL );
    page[1] = page[0];
}

/* RtlUnwindEx goes on in the frame of this function, where it was captured. */
static void __attribute__((noinline)) unwind_round( int depth )
{
    volatile int passes = 0;
    CONTEXT here;
    RUNTIME_FUNCTION *function;
    ULONG_PTR base, frame;
    void *data;

    RtlCaptureContext( &target_context );
    if (passes++) return;
    here = target_context;
    function = RtlLookupFunctionEntry( here.Rip, &base, NULL );
    RtlVirtualUnwind( UNW_FLAG_NHANDLER, base, here.Rip, function, &here, &data, &frame, NULL );
    target_frame = (void *)frame;
    counted_call( unwind_below, depth );
}

static DWORD unwind_body( struct kit_worker *worker )
{
    int i;

    lazy_stack();
    for (i = 0; i < UNWIND_ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        unwind_round( (i + 1) * UNWIND_DEPTH );
        seen.rounds++;
    }
    return 0;
}

START_TEST( scenario_stack_unwound )
{
    LONG expected = 0;
    int i;

    for (i = 0; i < UNWIND_ROUNDS; i++) expected += (i + 1) * UNWIND_DEPTH + 1;
    run_body( unwind_body );
    ok( seen.rounds == UNWIND_ROUNDS, "%ld rounds, expected %d\n", seen.rounds, UNWIND_ROUNDS );
    ok( seen.unwound == expected, "%ld frames were told, expected %ld\n", seen.unwound, expected );
}

/* ---- the stack of a scheduler grows ---- */

static char *lowest;
static LONG deep_rounds;

static void __attribute__((noinline)) go_deep( int depth )
{
    volatile char page[4096];

    page[0] = (char)depth;
    if (depth) go_deep( depth - 1 );
    else if ((char *)page < lowest) lowest = (char *)page;
    page[1] = page[0];
}

/* Deeper each time, and in between the worker runs. */
static BOOL grow_scheduler( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerStartup)
    {
        scheduler_stack = get_stack();
        lowest = scheduler_stack.base;
        lazy_stack();
    }
    if ((char *)get_stack().limit > lowest || get_stack().base != scheduler_stack.base ||
        get_stack().bottom != scheduler_stack.bottom) seen.scheduler++;
    if (deep_rounds < 30) go_deep( (int)deep_rounds++ );
    if ((char *)get_stack().limit > lowest) seen.scheduler++;
    return FALSE;
}

static DWORD yields_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < 40; i++)
    {
        if (i % 10 == 9) Sleep( 1 );
        kit_yield( worker, NULL );
        seen.rounds++;
    }
    return 0;
}

START_TEST( scenario_stack_of_scheduler )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = grow_scheduler;
    kit_add_worker( sched->list, yields_body, NULL );
    kit_start();
    kit_finish();
    ok( seen.rounds == 40 && deep_rounds == 30, "%ld yields, %ld times deeper\n", seen.rounds,
        deep_rounds );
    ok( !seen.scheduler, "2.2: the TEB did not tell how far the stack had grown %ld times\n",
        seen.scheduler );
    kit_check();
}
