/*
 * Scenarios: a worker is one thread for life, whichever scheduler runs it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B23, B24, B27, D9; section 2.2. Bodies count what is not as it was; the main thread checks
 * the counts.
 */
#include "scenario_kit.h"

#define MOVES  40
#define SLOTS  70                       /* more than the 64 that lie in the TEB itself */

static DWORD slots[SLOTS];

struct identity
{
    LONG id, teb, tls, self, stack, error, pseudo, user, on[2];
    DWORD exit_code;
};
static struct identity identities[4];

/* Everything that names the thread, noted once and compared later. */
struct self_portrait
{
    DWORD id;
    void *teb;
    PUMS_CONTEXT self;
    volatile char *local;
};

static void portrait_take( struct self_portrait *portrait, volatile char *local )
{
    portrait->id = GetCurrentThreadId();
    portrait->teb = kit_teb();
    portrait->self = pGetCurrentUmsThread();
    portrait->local = local;
}

static void portrait_compare( struct identity *result, const struct self_portrait *portrait,
                              volatile char *local )
{
    NT_TIB *tib = kit_teb();

    if (GetCurrentThreadId() != portrait->id) result->id++;
    if (kit_teb() != portrait->teb) result->teb++;
    if (pGetCurrentUmsThread() != portrait->self) result->self++;
    if (local != portrait->local || (void *)local < tib->StackLimit ||
        (void *)local >= tib->StackBase)
        result->stack++;
}

static void note_scheduler( struct identity *result, struct kit_worker *worker )
{
    result->on[worker->last->index]++;
}

static DWORD migrate_body( struct kit_worker *worker )
{
    struct identity *result = &identities[worker->index];
    volatile char local = 'x';
    struct self_portrait portrait;
    int i, k;

    portrait_take( &portrait, &local );
    for (k = 0; k < SLOTS; k++) TlsSetValue( slots[k], &identities[worker->index].on[k & 1] );
    for (i = 0; i < MOVES; i++)
    {
        SetLastError( 0x1000 + i );
        if (i % 4 == 3)
        {
            Sleep( 1 );
            if (GetLastError() != 0x1000u + i) result->error++;
        }
        else
        {
            kit_migrate( worker, &kit.scheds[i & 1] );
            if (GetLastError() != 0x1000u + i) result->error++;
            if (worker->last != &kit.scheds[i & 1]) result->user++;
        }
        note_scheduler( result, worker );
        portrait_compare( result, &portrait, &local );
        for (k = 0; k < SLOTS; k++)
            if (TlsGetValue( slots[k] ) != &identities[worker->index].on[k & 1]) result->tls++;
        SetLastError( 0 );
    }
    if (worker->id != portrait.id || local != 'x') result->id += 1000;
    return result->exit_code;
}

/* the schedulers have their own TLS and last error and spoil them in each upcall */
static BOOL migrate_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    int k;

    (void)reason; (void)payload; (void)param;
    for (k = 0; k < SLOTS; k++) TlsSetValue( slots[k], sched );
    SetLastError( 0xabcd );
    return FALSE;
}

/* Four workers moved to and fro between two schedulers, with waits in between. */
START_TEST( scenario_identity_migrate )
{
    struct kit_sched *first, *second;
    DWORD code;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < SLOTS; i++) slots[i] = TlsAlloc();
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = second->on_upcall = migrate_upcall;
    for (i = 0; i < 4; i++)
    {
        identities[i].exit_code = 0x500 + i;
        kit_add_worker( i & 1 ? first->list : second->list, migrate_body, NULL );
    }
    kit_start();
    kit_finish();
    for (i = 0; i < 4; i++)
    {
        struct identity *result = &identities[i];

        push( "worker %d", i );
        ok( !result->id, "B23, B27: thread id changed %ld times\n", result->id );
        ok( !result->teb, "B27: TEB changed %ld times\n", result->teb );
        ok( !result->tls, "B23: TLS changed %ld times\n", result->tls );
        ok( !result->self, "B22: context changed %ld times\n", result->self );
        ok( !result->stack, "B27: stack changed %ld times\n", result->stack );
        ok( !result->error, "2.2: last error changed %ld times\n", result->error );
        ok( !result->user, "B27: ran elsewhere than sent to %ld times\n", result->user );
        ok( result->on[0] && result->on[1], "B27: ran %ld and %ld times on the two\n",
            result->on[0],
            result->on[1] );
        ok( !WaitForSingleObject( kit.workers[i].thread, KIT_LIMIT ),
            "B18: its thread did not end\n" );
        code = 0;
        GetExitCodeThread( kit.workers[i].thread, &code );
        ok( code == result->exit_code, "B18: exit code %#lx\n", code );
        ok( GetThreadId( kit.workers[i].thread ) == kit.workers[i].id,
            "B27: the handle is of another thread\n" );
        pop();
    }
    kit_check();
}

/* --- handles that mean the caller --- */

static struct
{
    LONG bad_duplicate, bad_open, bad_priority, bad_teb, null_teb, bad_times;
    int priority;
} own;

static void own_look( struct kit_worker *worker )
{
    HANDLE handle = NULL;
    FILETIME times[4];
    void *teb = NULL;

    if (!DuplicateHandle( GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &handle, 0,
                          FALSE,
                          DUPLICATE_SAME_ACCESS )) own.bad_duplicate++;
    else if (GetThreadId( handle ) != GetCurrentThreadId()) own.bad_duplicate++;
    CloseHandle( handle );
    if (!(handle = OpenThread( THREAD_QUERY_INFORMATION, FALSE,
                               GetCurrentThreadId() ))) own.bad_open++;
    else if (GetThreadId( handle ) != worker->id) own.bad_open++;
    CloseHandle( handle );
    if (!SetThreadPriority( GetCurrentThread(), ++own.priority )) own.bad_priority++;
    if (GetThreadPriority( worker->thread ) != own.priority) own.bad_priority++;
    if (!GetThreadTimes( GetCurrentThread(), &times[0], &times[1], &times[2],
                         &times[3] )) own.bad_times++;
    if (!pQueryUmsThreadInformation( worker->context, UmsThreadTeb, &teb, sizeof(teb), NULL ))
        own.bad_teb += 100;
    else if (!teb) own.null_teb++;
    else if (teb != kit_teb()) own.bad_teb++;
}

static DWORD own_body( struct kit_worker *worker )
{
    own.priority = -2;
    own_look( worker );
    kit_yield( worker, NULL );
    own_look( worker );
    kit_migrate( worker, &kit.scheds[1] );
    own_look( worker );
    Sleep( 1 );
    own_look( worker );
    return 0;
}

/* GetCurrentThread() and the thread's own id mean the worker and not the thread that lends it its
   processor. */
START_TEST( scenario_identity_handles )
{
    struct kit_sched *first, *second;

    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    kit_add_worker( first->list, own_body, NULL );
    kit_start();
    kit_finish();
    ok( !own.bad_duplicate, "B27: GetCurrentThread() was somebody else %ld times\n",
        own.bad_duplicate );
    ok( !own.bad_open, "B27: OpenThread found somebody else %ld times\n", own.bad_open );
    ok( !own.bad_priority, "B24: priorities went to somebody else %ld times\n", own.bad_priority );
    ok( !own.bad_teb, "B27: UmsThreadTeb is not the own TEB %ld times\n", own.bad_teb );
    ok( !own.null_teb, "B27: UmsThreadTeb was NULL %ld times\n", own.null_teb );
    ok( !own.bad_times, "GetThreadTimes failed %ld times\n", own.bad_times );
    ok( GetThreadPriority( first->thread ) == THREAD_PRIORITY_NORMAL &&
        GetThreadPriority( second->thread ) == THREAD_PRIORITY_NORMAL,
        "B24: the scheduler threads' own priorities changed\n" );
    kit_check();
}

/* --- mutexes belong to the worker --- */

static HANDLE mutexes[3];               /* acquired, created owned, abandoned */
static struct
{
    LONG tried, sched_released, sched_error, sched_acquired, other_released, other_acquired;
    BOOL released[2];
    DWORD release_error[2], abandoned;
} theft;

static void theft_try( LONG *released, LONG *acquired )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        SetLastError( 0xdeadbeef );
        if (ReleaseMutex( mutexes[i] )) (*released)++;
        else if (GetLastError() != ERROR_NOT_OWNER) theft.sched_error = GetLastError();
        if (WaitForSingleObject( mutexes[i], 0 ) == WAIT_OBJECT_0) (*acquired)++;
    }
    theft.tried++;
}

static BOOL theft_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload;
    if (reason == UmsSchedulerThreadYield && param == theft.released)
        theft_try( &theft.sched_released, &theft.sched_acquired );
    return FALSE;
}

static volatile LONG theft_phase;

static DWORD owner_body( struct kit_worker *worker )
{
    int i;

    WaitForSingleObject( mutexes[0], KIT_LIMIT );
    kit_yield( worker, NULL );
    mutexes[1] = CreateMutexW( NULL, TRUE, NULL );
    WaitForSingleObject( mutexes[2], KIT_LIMIT );
    kit_yield( worker, theft.released );
    theft_phase = 1;
    kit_yield_until( worker, &theft_phase, 2 );
    kit_migrate( worker, &kit.scheds[1] );
    kit_yield( worker, theft.released );
    Sleep( 1 );
    for (i = 0; i < 2; i++)
    {
        SetLastError( 0 );
        theft.released[i] = ReleaseMutex( mutexes[i] );
        theft.release_error[i] = GetLastError();
    }
    return 0;                                       /* mutexes[2] is abandoned */
}

static DWORD thief_body( struct kit_worker *worker )
{
    kit_yield_until( worker, &theft_phase, 1 );
    theft_try( &theft.other_released, &theft.other_acquired );
    theft_phase = 2;
    theft.abandoned = WaitForSingleObject( mutexes[2], KIT_LIMIT );
    ReleaseMutex( mutexes[2] );
    return 0;
}

START_TEST( scenario_identity_mutex )
{
    struct kit_sched *first, *second;
    int i;

    if (!kit_open()) return;
    mutexes[0] = CreateMutexW( NULL, FALSE, NULL );
    mutexes[2] = CreateMutexW( NULL, FALSE, NULL );
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = second->on_upcall = theft_upcall;
    kit_add_worker( first->list, owner_body, NULL );
    kit_add_worker( first->list, thief_body, NULL );
    kit_start();
    kit_finish();
    ok( theft.tried == 3, "B27: %ld tries of 3\n", theft.tried );
    ok( !theft.sched_released &&
        !theft.sched_acquired, "2.2: a scheduler released %ld and took %ld mutexes\n",
        theft.sched_released, theft.sched_acquired );
    ok( !theft.other_released &&
        !theft.other_acquired, "2.2: a worker released %ld and took %ld mutexes\n",
        theft.other_released, theft.other_acquired );
    ok( !theft.sched_error, "2.2: ReleaseMutex failed with %ld\n", theft.sched_error );
    for (i = 0; i < 2; i++)
        ok( theft.released[i],
            "B27: the owner cannot release mutex %d after it moved, error %lu\n", i,
            theft.release_error[i] );
    ok( theft.abandoned == WAIT_ABANDONED, "B18: the mutex of an ended worker gave %lu\n",
        theft.abandoned );
    kit_check();
    for (i = 0; i < 3; i++) CloseHandle( mutexes[i] );
}

/* --- fibers of a worker --- */

#define FIBER_DEPTH 40                  /* pages of a fiber's stack: more than it begins with */
#define FIBER_ROUNDS 10

static struct
{
    LONG switched, grown, wrong_stack, wrong_id, failed;
} fibers;
static void *main_fiber;

/* Wine commits stacks whole. On Windows all but the top of this one would still be reserved, with a
   guard page above; make it so here too. room: bytes below us that stay. */
static void lazy_stack( SIZE_T room )
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

    lazy_stack( 0x4000 );
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
    lazy_stack( 0x4000 );
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
    lazy_stack( 0x4000 );
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

    lazy_stack( 0x4000 );
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
    lazy_stack( 0x4000 );
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

/* --- calls that are answered at once, while threads of workers signal and wait --- */

#define CLOCK_WORKERS 6
#define CLOCK_ROUNDS  300

static HANDLE clock_turns[CLOCK_WORKERS];       /* semaphores: a turn given early is not lost */
static volatile LONG clock_back, clock_rounds;
static VOID (WINAPI *precise_time)( FILETIME * );

static ULONGLONG read_time( void )
{
    FILETIME time;

    precise_time( &time );
    return (ULONGLONG)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static DWORD clock_body( struct kit_worker *worker )
{
    ULONGLONG last = read_time(), now;
    int i, k;

    for (i = 0; i < CLOCK_ROUNDS; i++)
    {
        ReleaseSemaphore( clock_turns[(worker->index + 1) % CLOCK_WORKERS], 1, NULL );
        for (k = 0; k < 20; k++)
        {
            now = read_time();
            if (now + 10000000 < last) InterlockedIncrement( &clock_back );
            last = now;
        }
        if (WaitForSingleObject( clock_turns[worker->index], KIT_LIMIT )) break;
        InterlockedIncrement( &clock_rounds );
        if (i % 3 == 0) kit_yield( worker, NULL );
    }
    ReleaseSemaphore( clock_turns[(worker->index + 1) % CLOCK_WORKERS], 1, NULL );
    return 0;
}

/* The precise time is read a hundred thousand times by workers whose threads are just coming back
   from waits: nobody's call gets into another's. */
START_TEST( scenario_identity_calls )
{
    int i;

    precise_time = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ),
                                           "GetSystemTimePreciseAsFileTime" );
    if (!precise_time) precise_time = GetSystemTimeAsFileTime;          /* before Windows 8 */
    if (!kit_open()) return;
    for (i = 0; i < CLOCK_WORKERS; i++)
        clock_turns[i] = CreateSemaphoreW( NULL, 0, 2 * CLOCK_ROUNDS, NULL );
    kit_add_sched( NULL );
    kit_add_sched( NULL );
    for (i = 0; i < CLOCK_WORKERS; i++) kit_add_worker( kit.scheds[i & 1].list, clock_body, NULL );
    kit_start();
    kit_finish();
    ok( !clock_back, "the time went back %ld times\n", clock_back );
    ok( clock_rounds == CLOCK_WORKERS * CLOCK_ROUNDS, "%ld waits, expected %d\n", clock_rounds,
        CLOCK_WORKERS * CLOCK_ROUNDS );
    kit_check();
    for (i = 0; i < CLOCK_WORKERS; i++) CloseHandle( clock_turns[i] );
}
