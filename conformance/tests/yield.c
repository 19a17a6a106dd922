/*
 * UmsThreadYield, GetCurrentUmsThread (ums.md 1.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

/* ---- payload and parameter ---- */

#define PARAMS 6

struct yield_log
{
    PVOID        param[PARAMS], given[PARAMS];
    ULONG_PTR    payload[PARAMS], pointed_to;
    LONG         count, current_differs;
    PUMS_CONTEXT seen_by_worker;
    DWORD        error_after;
};

static struct yield_log yield_log;

static enum sched_action note_yield( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                     ULONG_PTR payload, void *param )
{
    if (reason != UmsSchedulerThreadYield || yield_log.count >= PARAMS) return SCHED_DEFAULT;
    yield_log.param[yield_log.count] = param;
    yield_log.payload[yield_log.count] = payload;
    if (yield_log.count == PARAMS - 1) yield_log.pointed_to = *(volatile ULONG_PTR *)param;
    yield_log.current_differs += pGetCurrentUmsThread() != sched->own;
    yield_log.count++;
    return SCHED_DEFAULT;
}

static void yield_params( struct worker *worker )
{
    volatile ULONG_PTR on_stack = 0x1234567890abcdef;
    int i;

    yield_log.given[0] = NULL;
    yield_log.given[1] = (void *)(LONG_PTR)-1;
    yield_log.given[2] = (void *)1;
    yield_log.given[3] = worker;
    yield_log.given[4] = (void *)0x8000000000000000;
    yield_log.given[5] = (void *)&on_stack;
    yield_log.seen_by_worker = pGetCurrentUmsThread();
    for (i = 0; i < PARAMS; i++) worker->result[i] = pUmsThreadYield( yield_log.given[i] );
    worker->result[6] = pGetCurrentUmsThread() == yield_log.seen_by_worker;
    SetLastError( 4711 );
    pUmsThreadYield( NULL );
    yield_log.error_after = GetLastError();
}

/* 1.7, 2.1 reason Yield with the worker's context and any parameter, which is not touched; D13: it
   may point to the worker's stack; the call returns nonzero; GetCurrentUmsThread on worker and
   scheduler */
START_TEST( yield_params )
{
    static struct sched sched;
    struct worker worker = { 0 };
    PUMS_CONTEXT context;
    int i;

    if (!need( UmsThreadYield ) || !sched_init( &sched )) return;
    sched.hook = note_yield;
    if (!ok( worker_create( &worker, sched.list, yield_params, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    context = worker.context;
    run_workers( &sched, &worker, 1 );
    ok( yield_log.count == PARAMS, "1.7 %ld Yield upcalls\n", yield_log.count );
    ok( sched.upcalls[UmsSchedulerThreadYield] == PARAMS + 1,
        "1.7 %ld Yield upcalls in all, expected %d\n", sched.upcalls[UmsSchedulerThreadYield],
        PARAMS + 1 );
    for (i = 0; i < yield_log.count; i++)
    {
        push( "1.7 yield %d", i );
        ok( yield_log.param[i] == yield_log.given[i], "param %p, expected %p\n", yield_log.param[i],
            yield_log.given[i] );
        ok( yield_log.payload[i] == (ULONG_PTR)context, "payload %#llx\n",
            (ULONGLONG)yield_log.payload[i] );
        ok( worker.result[i] != 0, "returned FALSE\n" );
        pop();
    }
    ok( yield_log.pointed_to == 0x1234567890abcdef,
        "D13 the worker's stack cannot be read: %#llx\n", (ULONGLONG)yield_log.pointed_to );
    ok( yield_log.seen_by_worker == context && worker.result[6],
        "1.7 GetCurrentUmsThread on the worker: %p\n", yield_log.seen_by_worker );
    ok( !yield_log.current_differs,
        "1.7 GetCurrentUmsThread in an upcall is not the scheduler's context\n" );
    ok( sched.own && sched.own != context, "1.7 scheduler and worker share a context\n" );
    unverified ok( yield_log.error_after == 4711,
                   "a successful yield changed the last error to %lu\n", yield_log.error_after );
    sched_free( &sched );
}

/* ---- a yielded worker is the scheduler's business ---- */

static HANDLE held_event;

static enum sched_action hold_yielded( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                       ULONG_PTR payload, void *param )
{
    (void)sched; (void)payload; (void)param;
    if (reason != UmsSchedulerThreadYield) return SCHED_DEFAULT;
    SetEvent( held_event );
    return SCHED_HOLD;
}

static void yield_once( struct worker *worker )
{
    worker->result[0] = pUmsThreadYield( NULL );
    worker->result[1] = GetCurrentThreadId();
}

/* 1.7 a yielded worker is not put on the completion list and does not run by itself */
START_TEST( yield_not_queued )
{
    static struct sched sched;
    struct worker worker = { 0 };

    held_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = hold_yielded;
    sched.expect = 1;
    if (!ok( worker_create( &worker, sched.list, yield_once, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    if (!sched_start( &sched )) return;
    ok( WaitForSingleObject( held_event, WAIT_BOUND ) == WAIT_OBJECT_0,
        "no Yield upcall within %d ms\n", WAIT_BOUND );
    /* the scheduler looks at the list as well: if it saw something, the worker would go on */
    ok( list_stays_empty( sched.list, 150 ), "1.7 a yielded worker came to the list\n" );
    ok( !worker.result[0] && !worker.finished, "1.7 the worker went on by itself\n" );
    ok( context_is_suspended( worker.context ) == 0, "1.8 IsSuspended of a yielded worker\n" );
    sched_give( &sched, worker.context );
    sched_join( &sched );
    sched_check( &sched );
    ok( worker.finished && worker.result[0], "1.7 the yield did not return TRUE\n" );
    ok( worker.result[1] == worker.tid, "1.7 thread id changed\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    CloseHandle( held_event );
    sched_free( &sched );
}

/* ---- the wrong threads ---- */

static struct outcome wrong_yield;

static void yield_on_scheduler( void *arg )
{
    OUTCOME( wrong_yield, pUmsThreadYield( arg ) );
}

/* 1.7, 10 on a scheduler: 87 [seen]; on a plain thread Windows crashes, a shim fails cleanly
 * [guess] */
START_TEST( yield_wrong_thread )
{
    on_scheduler( yield_on_scheduler, NULL );
    OK_FAILED( wrong_yield, ERROR_INVALID_PARAMETER, "1.7 yield on a scheduler" );
    on_scheduler( yield_on_scheduler, &wrong_yield );
    OK_FAILED( wrong_yield, ERROR_INVALID_PARAMETER, "1.7 yield on a scheduler with a param" );
    if (umstest_is_shim())
    {
        UNVERIFIED_FAILS( pUmsThreadYield( NULL ), ERROR_INVALID_PARAMETER );
        UNVERIFIED_FAILS( pUmsThreadYield( WILD_LOW ), ERROR_INVALID_PARAMETER );
    }
}

static DWORD WINAPI current_thread( void *arg )
{
    struct outcome *outcome = arg;

    OUTCOME( *outcome, pGetCurrentUmsThread() );
    return 0;
}

/* 1.7 GetCurrentUmsThread on plain threads: NULL, ERROR_NOT_SUPPORTED; often and cheaply (B22,
 * D10) */
START_TEST( yield_current_plain )
{
    struct outcome outcome = { 1, 0 };
    HANDLE thread;
    int i;

    if (!need( GetCurrentUmsThread )) return;
    FAILS( pGetCurrentUmsThread(), ERROR_NOT_SUPPORTED );
    for (i = 0; i < 100000; i++) if (pGetCurrentUmsThread()) break;
    ok( i == 100000, "1.7 call %d gave a context\n", i );
    thread = CreateThread( NULL, 0, current_thread, &outcome, 0, NULL );
    ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0,
        "thread still there after %d ms\n", WAIT_BOUND );
    OK_FAILED( outcome, ERROR_NOT_SUPPORTED, "1.7 GetCurrentUmsThread on a second plain thread" );
    CloseHandle( thread );
}

/* ---- registers ---- */

struct registers
{
    ULONGLONG gpr[8];               /* rbx rbp rsi rdi r12 r13 r14 r15 */
    ULONGLONG xmm[20];              /* xmm6 .. xmm15 */
    ULONG     mxcsr;
    USHORT    x87_control, x87_status;
};

/* Fill the callee-saved registers from *in, call yield( param ), store them to *out. Returns what
 * yield returned. */
BOOL yield_with_registers( const struct registers *in, struct registers *out,
                           BOOL( WINAPI *yield )( PVOID ), PVOID param );
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl yield_with_registers\n"
    ".def yield_with_registers; .scl 2; .type 32; .endef\n"
    ".seh_proc yield_with_registers\n"
    "yield_with_registers:\n"
    "    pushq %rbx\n    .seh_pushreg %rbx\n"
    "    pushq %rbp\n    .seh_pushreg %rbp\n"
    "    pushq %rsi\n    .seh_pushreg %rsi\n"
    "    pushq %rdi\n    .seh_pushreg %rdi\n"
    "    pushq %r12\n    .seh_pushreg %r12\n"
    "    pushq %r13\n    .seh_pushreg %r13\n"
    "    pushq %r14\n    .seh_pushreg %r14\n"
    "    pushq %r15\n    .seh_pushreg %r15\n"
    "    subq $0xe8, %rsp\n    .seh_stackalloc 0xe8\n"
    "    .seh_endprologue\n"
    "    movups %xmm6, 0x40(%rsp)\n"        /* our caller's */
    "    movups %xmm7, 0x50(%rsp)\n"
    "    movups %xmm8, 0x60(%rsp)\n"
    "    movups %xmm9, 0x70(%rsp)\n"
    "    movups %xmm10, 0x80(%rsp)\n"
    "    movups %xmm11, 0x90(%rsp)\n"
    "    movups %xmm12, 0xa0(%rsp)\n"
    "    movups %xmm13, 0xb0(%rsp)\n"
    "    movups %xmm14, 0xc0(%rsp)\n"
    "    movups %xmm15, 0xd0(%rsp)\n"
    "    stmxcsr 0x30(%rsp)\n"
    "    fnstcw 0x34(%rsp)\n"
    "    movq %rdx, 0x28(%rsp)\n"           /* out */
    "    movups 0x40(%rcx), %xmm6\n"
    "    movups 0x50(%rcx), %xmm7\n"
    "    movups 0x60(%rcx), %xmm8\n"
    "    movups 0x70(%rcx), %xmm9\n"
    "    movups 0x80(%rcx), %xmm10\n"
    "    movups 0x90(%rcx), %xmm11\n"
    "    movups 0xa0(%rcx), %xmm12\n"
    "    movups 0xb0(%rcx), %xmm13\n"
    "    movups 0xc0(%rcx), %xmm14\n"
    "    movups 0xd0(%rcx), %xmm15\n"
    "    ldmxcsr 0xe0(%rcx)\n"
    "    fldcw 0xe4(%rcx)\n"
    "    movq 0x00(%rcx), %rbx\n"
    "    movq 0x08(%rcx), %rbp\n"
    "    movq 0x10(%rcx), %rsi\n"
    "    movq 0x18(%rcx), %rdi\n"
    "    movq 0x20(%rcx), %r12\n"
    "    movq 0x28(%rcx), %r13\n"
    "    movq 0x30(%rcx), %r14\n"
    "    movq 0x38(%rcx), %r15\n"
    "    movq %r9, %rcx\n"
    "    callq *%r8\n"
    "    movq 0x28(%rsp), %rdx\n"
    "    movups %xmm6, 0x40(%rdx)\n"
    "    movups %xmm7, 0x50(%rdx)\n"
    "    movups %xmm8, 0x60(%rdx)\n"
    "    movups %xmm9, 0x70(%rdx)\n"
    "    movups %xmm10, 0x80(%rdx)\n"
    "    movups %xmm11, 0x90(%rdx)\n"
    "    movups %xmm12, 0xa0(%rdx)\n"
    "    movups %xmm13, 0xb0(%rdx)\n"
    "    movups %xmm14, 0xc0(%rdx)\n"
    "    movups %xmm15, 0xd0(%rdx)\n"
    "    stmxcsr 0xe0(%rdx)\n"
    "    fnstcw 0xe4(%rdx)\n"
    "    fnstsw 0xe6(%rdx)\n"
    "    movq %rbx, 0x00(%rdx)\n"
    "    movq %rbp, 0x08(%rdx)\n"
    "    movq %rsi, 0x10(%rdx)\n"
    "    movq %rdi, 0x18(%rdx)\n"
    "    movq %r12, 0x20(%rdx)\n"
    "    movq %r13, 0x28(%rdx)\n"
    "    movq %r14, 0x30(%rdx)\n"
    "    movq %r15, 0x38(%rdx)\n"
    "    ldmxcsr 0x30(%rsp)\n"
    "    fldcw 0x34(%rsp)\n"
    "    movups 0x40(%rsp), %xmm6\n"
    "    movups 0x50(%rsp), %xmm7\n"
    "    movups 0x60(%rsp), %xmm8\n"
    "    movups 0x70(%rsp), %xmm9\n"
    "    movups 0x80(%rsp), %xmm10\n"
    "    movups 0x90(%rsp), %xmm11\n"
    "    movups 0xa0(%rsp), %xmm12\n"
    "    movups 0xb0(%rsp), %xmm13\n"
    "    movups 0xc0(%rsp), %xmm14\n"
    "    movups 0xd0(%rsp), %xmm15\n"
    "    addq $0xe8, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n"
    "    popq %rdi\n    popq %rsi\n    popq %rbp\n    popq %rbx\n"
    "    ret\n"
    ".seh_endproc\n" );

C_ASSERT( offsetof( struct registers, xmm ) == 0x40 );
C_ASSERT( offsetof( struct registers, mxcsr ) == 0xe0 );
C_ASSERT( offsetof( struct registers, x87_control ) == 0xe4 );
C_ASSERT( offsetof( struct registers, x87_status ) == 0xe6 );

#define REGISTER_WORKERS 3
#define REGISTER_ROUNDS  200

static LONG register_wrong[REGISTER_WORKERS], mxcsr_wrong[REGISTER_WORKERS],
    x87_wrong[REGISTER_WORKERS];

static void check_registers( struct worker *worker )
{
    ULONG_PTR index = (ULONG_PTR)worker->arg;
    struct registers in, out;
    ULONGLONG seed = (index + 1) * 0x9e3779b97f4a7c15;
    int round, i;

    for (round = 0; round < REGISTER_ROUNDS; round++)
    {
        for (i = 0; i < 8; i++) in.gpr[i] = seed += 0x9e3779b97f4a7c15;
        for (i = 0; i < 20; i++) in.xmm[i] = seed += 0x9e3779b97f4a7c15;
        in.mxcsr = 0x1f80 | (ULONG)index << 13;         /* another rounding mode each */
        in.x87_control = (USHORT)(0x27f | index << 10);
        memset( &out, 0, sizeof(out) );
        worker->result[0] += yield_with_registers( &in, &out, pUmsThreadYield, worker ) != 0;
        register_wrong[index] += memcmp( in.gpr, out.gpr, sizeof(in.gpr) ) ||
                                 memcmp( in.xmm, out.xmm, sizeof(in.xmm) );
        mxcsr_wrong[index] += (in.mxcsr & 0xffc0) != (out.mxcsr & 0xffc0);
        x87_wrong[index] += in.x87_control != out.x87_control;
        if (round == 100) Sleep( 1 );
    }
}

/* 1.7 callee-saved registers, XMM6-15 and MXCSR are the worker's over a yield [seen] */
START_TEST( yield_registers )
{
    struct worker workers[REGISTER_WORKERS] = { { 0 } };
    static struct sched sched;
    int i;

    if (!sched_init( &sched )) return;
    for (i = 0; i < REGISTER_WORKERS; i++)
        if (!ok( worker_create( &workers[i], sched.list, check_registers, (void *)(ULONG_PTR)i, 0 ),
                 "no worker, error %lu\n", GetLastError() )) return;
    run_workers( &sched, workers, REGISTER_WORKERS );
    for (i = 0; i < REGISTER_WORKERS; i++)
    {
        push( "1.7 worker %d", i );
        ok( workers[i].result[0] == REGISTER_ROUNDS, "%llu yields returned TRUE\n",
            (ULONGLONG)workers[i].result[0] );
        ok( !register_wrong[i], "registers lost in %ld of %d yields\n", register_wrong[i],
            REGISTER_ROUNDS );
        ok( !mxcsr_wrong[i], "MXCSR lost in %ld of %d yields\n", mxcsr_wrong[i], REGISTER_ROUNDS );
        unverified ok( !x87_wrong[i], "x87 control word lost in %ld of %d yields\n", x87_wrong[i],
                       REGISTER_ROUNDS );
        pop();
    }
    sched_free( &sched );
}

static void raise_x87( struct worker *worker )
{
    USHORT before, after;

    __asm__ __volatile__( "fnclex\n\tfldz\n\tfld1\n\tfdivp %%st, %%st(1)\n\tfstp %%st(0)\n\t"
                          "fld1\n\tfldz\n\tfdivrp %%st, %%st(1)\n\tfstp %%st(0)\n\tfnstsw %0"
                          : "=m"(before) );
    worker->result[0] = pUmsThreadYield( NULL );
    __asm__ __volatile__( "fnstsw %0\n\tfnclex" : "=m" (after) );
    worker->result[1] = before & 0x3f;
    worker->result[2] = after & 0x3f;
}

/* 1.7 x87 exceptions are cleared [seen] */
START_TEST( yield_x87_exceptions )
{
    static struct sched sched;
    struct worker worker = { 0 };

    if (!sched_init( &sched )) return;
    if (!ok( worker_create( &worker, sched.list, raise_x87, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    run_workers( &sched, &worker, 1 );
    ok( worker.result[0] && worker.result[1], "no x87 exception was pending: %#llx\n",
        (ULONGLONG)worker.result[1] );
    ok( !worker.result[2], "1.7 x87 exceptions pending after the yield: %#llx\n",
        (ULONGLONG)worker.result[2] );
    sched_free( &sched );
}
