/*
 * Scenarios: fibers of a worker, and whose stack limits a thread has while they run.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B23, B27, D9; section 2.2. Bodies count what is not as it was; the main thread checks the counts.
 */
#include "scenario_faults.h"

#define FIBER_DEPTH 40                  /* pages of a fiber's stack: more than it begins with */
#define FIBER_ROUNDS 10

static struct
{
    LONG switched, grown, wrong_stack, wrong_id, failed;
} fibers;
static void *main_fiber;

/* Wine commits stacks whole. On Windows all but the top of this one would still be reserved, with a
   guard page above; make it so here too. room: bytes below us that stay. */
static void lazy_fiber_stack( SIZE_T room )
{
    NT_TIB *tib = kit_teb();
    char *bottom = *(char **)((char *)tib + 0x1478);           /* DeallocationStack [sdk] */
    char *limit = (char *)(((ULONG_PTR)&tib - room) & ~(ULONG_PTR)0xfff);
    DWORD old;

    if ((char *)tib->StackLimit >= limit || limit - bottom < 0x8000) return;
    VirtualFree( bottom, limit - bottom, MEM_DECOMMIT );
    VirtualAlloc( limit - 0x1000, 0x1000, MEM_COMMIT, PAGE_READWRITE );
    VirtualProtect( limit - 0x1000, 0x1000, PAGE_READWRITE | PAGE_GUARD, &old );
    tib->StackLimit = limit;
}

/* A page at a time, as compiled code does it: each touches the guard page below the last. */
static int __attribute__((noinline)) fiber_grow( int depth )
{
    volatile char page[4096];

    page[0] = (char)depth;
    if (depth) fiber_grow( depth - 1 );
    return page[0] == (char)depth;
}

static void WINAPI fiber_body( void *arg )
{
    struct kit_worker *worker = arg;
    NT_TIB *tib = kit_teb();
    volatile char local;

    lazy_fiber_stack( 0x4000 );
    for (;;)
    {
        fibers.switched++;
        if (fiber_grow( FIBER_DEPTH )) fibers.grown++;
        if ((void *)&local < tib->StackLimit || (void *)&local >= tib->StackBase)
            fibers.wrong_stack++;
        kit_yield( worker, NULL );
        if ((void *)&local < tib->StackLimit || (void *)&local >= tib->StackBase)
            fibers.wrong_stack++;
        if (GetCurrentThreadId() != worker->id) fibers.wrong_id++;
        Sleep( 1 );
        SwitchToFiber( main_fiber );
    }
}

static DWORD fibers_body( struct kit_worker *worker )
{
    void *made[FIBER_ROUNDS];
    int i;

    kit_yield( worker, NULL );
    if (!(main_fiber = ConvertThreadToFiber( NULL ))) fibers.failed++;
    for (i = 0; i < FIBER_ROUNDS; i++)
        if (!(made[i] = CreateFiberEx( 0x1000, 0x100000, 0, fiber_body, worker ))) fibers.failed++;
    for (i = 0; i < FIBER_ROUNDS && made[i]; i++)
    {
        kit_yield( worker, NULL );
        SwitchToFiber( made[i] );
        kit_migrate( worker, &kit.scheds[i & 1] );
        SwitchToFiber( made[i] );
        if (!fiber_grow( 2 )) fibers.failed++;
        DeleteFiber( made[i] );
    }
    if (!ConvertFiberToThread()) fibers.failed++;
    kit_yield( worker, NULL );
    return 0;
}

/* A worker may run fibers like any thread: each has its stack, which grows, whoever lends the
   worker its processor. */
START_TEST( scenario_identity_fibers )
{
    struct kit_sched *first;

    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    kit_add_sched( NULL );
    kit_add_worker( first->list, fibers_body, NULL );
    kit_start();
    kit_finish();
    ok( fibers.switched == 2 * FIBER_ROUNDS, "%ld switches, expected %d\n", fibers.switched,
        2 * FIBER_ROUNDS );
    ok( fibers.grown == 2 * FIBER_ROUNDS, "%ld stacks have grown, expected %d\n", fibers.grown,
        2 * FIBER_ROUNDS );
    ok( !fibers.wrong_stack, "B27: the TEB shows another stack %ld times\n", fibers.wrong_stack );
    ok( !fibers.wrong_id, "B27: thread id changed %ld times\n", fibers.wrong_id );
    ok( !fibers.failed, "%ld calls failed\n", fibers.failed );
    kit_check();
}

/* --- what the TEB says of the stack, fiber by fiber --- */

#define LIMIT_ROUNDS 6
#define LIMIT_DEPTH  60                 /* pages */
#define LIMIT_MORE   40                 /* so far has each round to go beyond the last */

/* Constant for as long as a fiber lives. */
struct stack
{
    void *base, *bottom;
};

static struct
{
    LONG looks, base, bottom, limit, guard, memory, scheduler;
} limits;
static struct stack scheduler_stacks[2];
static volatile LONG limits_done;

static struct stack own_stack( void )
{
    NT_TIB *tib = kit_teb();
    struct stack stack = { tib->StackBase, *(void **)((char *)tib + 0x1478) };  /* [sdk] */

    return stack;
}

/* From StackLimit to StackBase the stack is in use: we are there, and no page of it is a guard. */
static void __attribute__((noinline)) look_at_stack( const struct stack *stack )
{
    NT_TIB *tib = kit_teb();
    struct stack now = own_stack();
    MEMORY_BASIC_INFORMATION info;
    char *limit = tib->StackLimit;
    volatile char local;

    InterlockedIncrement( &limits.looks );
    if (now.base != stack->base || (void *)&local >= now.base)
        InterlockedIncrement( &limits.base );
    if (now.bottom != stack->bottom) InterlockedIncrement( &limits.bottom );
    if ((char *)&local < limit || limit < (char *)stack->bottom)
        InterlockedIncrement( &limits.limit );
    else if (!VirtualQuery( limit, &info, sizeof(info) ) || info.State != MEM_COMMIT ||
             (info.Protect & PAGE_GUARD))
        InterlockedIncrement( &limits.guard );
}

static void yield_and_look( struct kit_worker *worker, const struct stack *stack, int turn )
{
    if (turn % 3) kit_yield( worker, NULL );
    else kit_migrate( worker, &kit.scheds[turn & 1] );
    look_at_stack( stack );
}

/* A page each, touched on the way down as compiled code does it, and used again on the way up. */
static void __attribute__((noinline)) go_deep( struct kit_worker *worker,
                                               const struct stack *stack, int depth )
{
    volatile char page[4096];

    page[0] = (char)depth;
    if (depth) go_deep( worker, stack, depth - 1 );
    else if (stack)
    {
        yield_and_look( worker, stack, 0 );
        yield_and_look( worker, stack, 1 );
    }
    if (page[0] != (char)depth) InterlockedIncrement( &limits.memory );
}

static void WINAPI limits_fiber( void *arg )
{
    struct kit_worker *worker = arg;
    struct stack stack = own_stack();
    int i;

    yield_and_look( worker, &stack, 1 );        /* the first call since the switch */
    lazy_fiber_stack( 0x4000 );
    look_at_stack( &stack );
    for (i = 0; ; i++)
    {
        yield_and_look( worker, &stack, i );
        go_deep( worker, &stack, LIMIT_DEPTH );
        Sleep( 0 );
        look_at_stack( &stack );
        SwitchToFiber( main_fiber );
        yield_and_look( worker, &stack, 1 );
    }
}

/* The thread's stack grows while the worker is a thread like any other, then it becomes a fiber and
   runs another one, without a system call in between. */
static DWORD limits_body( struct kit_worker *worker )
{
    struct stack stack = own_stack();
    void *made[LIMIT_ROUNDS];
    int i, k;

    for (i = 0; i < LIMIT_ROUNDS; i++)
    {
        made[i] = CreateFiberEx( 0x1000, 0x100000, 0, limits_fiber, worker );
        if (!made[i]) fibers.failed++;
    }
    lazy_fiber_stack( 0x4000 );
    for (i = 0; i < LIMIT_ROUNDS && made[i]; i++)
    {
        yield_and_look( worker, &stack, 1 );
        go_deep( worker, NULL, (2 * i + 1) * LIMIT_MORE );
        if (!(main_fiber = ConvertThreadToFiber( NULL ))) fibers.failed++;
        for (k = 0; k < 3; k++)
        {
            SwitchToFiber( made[i] );
            yield_and_look( worker, &stack, k );
        }
        DeleteFiber( made[i] );
        go_deep( worker, &stack, (2 * i + 2) * LIMIT_MORE );
        if (!ConvertFiberToThread()) fibers.failed++;
        yield_and_look( worker, &stack, i );
    }
    limits_done = 1;
    return 0;
}

/* Beside it, a worker without fibers. */
static DWORD limits_beside_body( struct kit_worker *worker )
{
    struct stack stack = own_stack();
    int i;

    lazy_fiber_stack( 0x4000 );
    for (i = 0; !limits_done && i < 100000; i++)
    {
        kit_yield( worker, NULL );
        look_at_stack( &stack );
        if (i < LIMIT_DEPTH) go_deep( worker, NULL, i );
        if (i % 16 == 0) go_deep( worker, &stack, LIMIT_DEPTH );
    }
    return 0;
}

static BOOL limits_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    struct stack *stack = &scheduler_stacks[sched->index], now = own_stack();
    NT_TIB *tib = kit_teb();

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) *stack = now;
    if (now.base != stack->base || now.bottom != stack->bottom || (void *)&now < tib->StackLimit ||
        (void *)&now >= now.base || tib->StackLimit < now.bottom)
        InterlockedIncrement( &limits.scheduler );
    return FALSE;
}

static void judge_limits( LONG looks )
{
    ok( limits.looks >= looks, "%ld looks, expected %ld\n", limits.looks, looks );
    ok( !limits.base, "B27: another stack base %ld times of %ld\n", limits.base, limits.looks );
    ok( !limits.bottom, "B27: another end of the stack %ld times\n", limits.bottom );
    ok( !limits.limit, "B27: a stack limit that is not of this stack %ld times of %ld\n",
        limits.limit, limits.looks );
    ok( !limits.guard, "B27: the limit is not in use %ld times\n", limits.guard );
    ok( !limits.memory, "B27: what was on the stack changed %ld times\n", limits.memory );
    ok( !limits.scheduler, "2.2: a scheduler found another stack %ld times\n", limits.scheduler );
    ok( !fibers.failed, "%ld calls failed\n", fibers.failed );
}

/* What the TEB says of the stack is true of the fiber that runs: after each yield, on each stack,
   however far it has grown. Workers beside it and the schedulers have their own. */
START_TEST( scenario_identity_fiber_limits )
{
    int i;

    if (!kit_open()) return;
    kit.stack = 0x400000;
    for (i = 0; i < 2; i++) kit_add_sched( NULL )->on_upcall = limits_upcall;
    kit_add_worker( kit.scheds[0].list, limits_body, NULL );
    for (i = 0; i < 2; i++) kit_add_worker( kit.scheds[i].list, limits_beside_body, NULL );
    kit_start();
    kit_finish();
    judge_limits( LIMIT_ROUNDS * 20 );
    kit_check();
}

static void WINAPI return_fiber( void *arg )
{
    struct stack stack = own_stack();

    for (;;)
    {
        yield_and_look( arg, &stack, 1 );
        SwitchToFiber( main_fiber );
    }
}

static DWORD return_body( struct kit_worker *worker )
{
    struct stack stack = own_stack();
    void *made;
    int i;

    if (!(made = CreateFiberEx( 0x1000, 0x100000, 0, return_fiber, worker ))) fibers.failed++;
    lazy_fiber_stack( 0x4000 );
    for (i = 1; made && i <= LIMIT_ROUNDS; i++)
    {
        yield_and_look( worker, &stack, 1 );
        go_deep( worker, NULL, i * LIMIT_MORE );
        if (!(main_fiber = ConvertThreadToFiber( NULL ))) fibers.failed++;
        SwitchToFiber( made );
        go_deep( worker, &stack, i * LIMIT_MORE - 10 );
        if (!ConvertFiberToThread()) fibers.failed++;
    }
    DeleteFiber( made );
    return 0;
}

/* A stack that has grown just before its fiber was left is known to have grown when it is entered
   again. */
START_TEST( scenario_identity_fiber_return )
{
    int i;

    if (!kit_open()) return;
    kit.stack = 0x400000;
    for (i = 0; i < 2; i++) kit_add_sched( NULL )->on_upcall = limits_upcall;
    kit_add_worker( kit.scheds[0].list, return_body, NULL );
    kit_start();
    kit_finish();
    judge_limits( LIMIT_ROUNDS * 4 );
    kit_check();
}

/* --- a SchedulerProc that executes from a fiber --- */

#define SCHEDULER_ROUNDS 40

static struct kit_worker *from_fibers;
static void *left_fiber;                /* the scheduler was it before it switched to the one it is now */
static LONG executed_there, handled_there, handled_here, upcalls_here;

/* It never comes back, unless there is nothing to execute. */
static void WINAPI executes_there( void *arg )
{
    if (seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION) handled_there++;
    go_deep( NULL, NULL, 4 );
    executed_there++;
    kit_execute( arg, from_fibers );
    SwitchToFiber( left_fiber );
}

static void leave_by_fiber( struct kit_sched *sched )
{
    void *before = left_fiber, *made = CreateFiberEx( 0x1000, 0x40000, 0, executes_there, sched );

    if (!made) return (void)fibers.failed++;
    left_fiber = ((NT_TIB *)kit_teb())->FiberData;
    if (before && before != main_fiber) DeleteFiber( before );
    SwitchToFiber( made );
}

/* Each upcall begins on the stack on which EnterUmsSchedulingMode was called: exceptions are handled there,
   it grows, and the TEB tells of it. */
static BOOL fiber_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    struct stack *stack = &scheduler_stacks[sched->index];

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup)
    {
        *stack = own_stack();
        lazy_fiber_stack( 0x4000 );
        if (!(main_fiber = ConvertThreadToFiber( NULL ))) fibers.failed++;
    }
    look_at_stack( stack );
    if (seh_call( fault, NULL ) == EXCEPTION_ACCESS_VIOLATION) handled_here++;
    go_deep( NULL, NULL, ++upcalls_here );
    look_at_stack( stack );
    if (reason == UmsSchedulerThreadYield) leave_by_fiber( sched );
    return FALSE;
}

static DWORD scheduled_body( struct kit_worker *worker )
{
    struct stack stack = own_stack();
    int i;

    for (i = 0; i < SCHEDULER_ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        look_at_stack( &stack );
        if (i % 4 == 0 && seh_call( fault, NULL ) != EXCEPTION_ACCESS_VIOLATION) fibers.failed++;
        if (i % 4 == 1) Sleep( 1 );
    }
    return 0;
}

/* Nobody says what Windows tells the TEB there, so a program must not need it; but one that looks for frames
   between the limits finds those of the stack that it is on. */
START_TEST( scenario_identity_scheduler_fibers )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = fiber_upcall;
    from_fibers = kit_add_worker( sched->list, scheduled_body, NULL );
    kit_start();
    kit_finish();
    ok( executed_there == SCHEDULER_ROUNDS && handled_there == executed_there,
        "%ld executes on fibers, %ld exceptions handled there, expected %d\n", executed_there, handled_there,
        SCHEDULER_ROUNDS );
    unverified ok( upcalls_here > SCHEDULER_ROUNDS && handled_here == upcalls_here,
                   "%ld exceptions handled in %ld upcalls\n", handled_here, upcalls_here );
    unverified ok( !limits.base && !limits.bottom && !limits.limit && !limits.guard,
                   "the TEB told another stack: %ld base, %ld end, %ld limit, %ld not in use\n", limits.base,
                   limits.bottom, limits.limit, limits.guard );
    ok( !limits.memory && !fibers.failed, "%ld wrong bytes, %ld failed\n", limits.memory, fibers.failed );
    kit_check();
}
