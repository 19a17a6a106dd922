/*
 * Scenarios: registers of a worker over yields, moves and waits.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B27; section 1.7: "callee-saved GPRs, XMM6-15, MXCSR are preserved" and the x87 control
 * word, which the calling convention makes callee-saved too.
 */
#include <xmmintrin.h>
#include "scenario_kit.h"

struct registers
{
    ULONG64 general[8];                 /* 0x00 rbx rbp rdi rsi r12 r13 r14 r15 */
    BYTE xmm[10][16];                   /* 0x40 xmm6 .. xmm15 */
    DWORD mxcsr;                        /* 0xe0 */
    WORD fpcw;                          /* 0xe4 */
};
C_ASSERT( FIELD_OFFSET( struct registers, xmm ) == 0x40 );
C_ASSERT( FIELD_OFFSET( struct registers, mxcsr ) == 0xe0 );
C_ASSERT( FIELD_OFFSET( struct registers, fpcw ) == 0xe4 );

/* Load the registers, call( arg ), store them again.
   Frame: 0x00 home area, 0x20 regs, 0x28 mxcsr, 0x2c fpcw, 0x30 xmm6-15 */
void registers_across( struct registers *regs, void (*call)( void * ), void *arg );
__asm__( ".text\n"
         ".globl registers_across\n"
         ".seh_proc registers_across\n"
         "registers_across:\n\t"
         "pushq %rbx\n\t.seh_pushreg %rbx\n\t"
         "pushq %rbp\n\t.seh_pushreg %rbp\n\t"
         "pushq %rdi\n\t.seh_pushreg %rdi\n\t"
         "pushq %rsi\n\t.seh_pushreg %rsi\n\t"
         "pushq %r12\n\t.seh_pushreg %r12\n\t"
         "pushq %r13\n\t.seh_pushreg %r13\n\t"
         "pushq %r14\n\t.seh_pushreg %r14\n\t"
         "pushq %r15\n\t.seh_pushreg %r15\n\t"
         "subq $0xd8, %rsp\n\t.seh_stackalloc 0xd8\n\t"
         "movaps %xmm6, 0x30(%rsp)\n\t.seh_savexmm %xmm6, 0x30\n\t"
         "movaps %xmm7, 0x40(%rsp)\n\t.seh_savexmm %xmm7, 0x40\n\t"
         "movaps %xmm8, 0x50(%rsp)\n\t.seh_savexmm %xmm8, 0x50\n\t"
         "movaps %xmm9, 0x60(%rsp)\n\t.seh_savexmm %xmm9, 0x60\n\t"
         "movaps %xmm10, 0x70(%rsp)\n\t.seh_savexmm %xmm10, 0x70\n\t"
         "movaps %xmm11, 0x80(%rsp)\n\t.seh_savexmm %xmm11, 0x80\n\t"
         "movaps %xmm12, 0x90(%rsp)\n\t.seh_savexmm %xmm12, 0x90\n\t"
         "movaps %xmm13, 0xa0(%rsp)\n\t.seh_savexmm %xmm13, 0xa0\n\t"
         "movaps %xmm14, 0xb0(%rsp)\n\t.seh_savexmm %xmm14, 0xb0\n\t"
         "movaps %xmm15, 0xc0(%rsp)\n\t.seh_savexmm %xmm15, 0xc0\n\t"
         ".seh_endprologue\n\t"
         "stmxcsr 0x28(%rsp)\n\t"
         "fnstcw 0x2c(%rsp)\n\t"
         "movq %rcx, 0x20(%rsp)\n\t"
         "movq %rdx, %rax\n\t"
         "movq 0x00(%rcx), %rbx\n\t"
         "movq 0x08(%rcx), %rbp\n\t"
         "movq 0x10(%rcx), %rdi\n\t"
         "movq 0x18(%rcx), %rsi\n\t"
         "movq 0x20(%rcx), %r12\n\t"
         "movq 0x28(%rcx), %r13\n\t"
         "movq 0x30(%rcx), %r14\n\t"
         "movq 0x38(%rcx), %r15\n\t"
         "movups 0x40(%rcx), %xmm6\n\t"
         "movups 0x50(%rcx), %xmm7\n\t"
         "movups 0x60(%rcx), %xmm8\n\t"
         "movups 0x70(%rcx), %xmm9\n\t"
         "movups 0x80(%rcx), %xmm10\n\t"
         "movups 0x90(%rcx), %xmm11\n\t"
         "movups 0xa0(%rcx), %xmm12\n\t"
         "movups 0xb0(%rcx), %xmm13\n\t"
         "movups 0xc0(%rcx), %xmm14\n\t"
         "movups 0xd0(%rcx), %xmm15\n\t"
         "ldmxcsr 0xe0(%rcx)\n\t"
         "fldcw 0xe4(%rcx)\n\t"
         "movq %r8, %rcx\n\t"
         "call *%rax\n\t"
         "movq 0x20(%rsp), %rcx\n\t"
         "movq %rbx, 0x00(%rcx)\n\t"
         "movq %rbp, 0x08(%rcx)\n\t"
         "movq %rdi, 0x10(%rcx)\n\t"
         "movq %rsi, 0x18(%rcx)\n\t"
         "movq %r12, 0x20(%rcx)\n\t"
         "movq %r13, 0x28(%rcx)\n\t"
         "movq %r14, 0x30(%rcx)\n\t"
         "movq %r15, 0x38(%rcx)\n\t"
         "movups %xmm6, 0x40(%rcx)\n\t"
         "movups %xmm7, 0x50(%rcx)\n\t"
         "movups %xmm8, 0x60(%rcx)\n\t"
         "movups %xmm9, 0x70(%rcx)\n\t"
         "movups %xmm10, 0x80(%rcx)\n\t"
         "movups %xmm11, 0x90(%rcx)\n\t"
         "movups %xmm12, 0xa0(%rcx)\n\t"
         "movups %xmm13, 0xb0(%rcx)\n\t"
         "movups %xmm14, 0xc0(%rcx)\n\t"
         "movups %xmm15, 0xd0(%rcx)\n\t"
         "stmxcsr 0xe0(%rcx)\n\t"
         "fnstcw 0xe4(%rcx)\n\t"
         "ldmxcsr 0x28(%rsp)\n\t"
         "fldcw 0x2c(%rsp)\n\t"
         "movaps 0x30(%rsp), %xmm6\n\t"
         "movaps 0x40(%rsp), %xmm7\n\t"
         "movaps 0x50(%rsp), %xmm8\n\t"
         "movaps 0x60(%rsp), %xmm9\n\t"
         "movaps 0x70(%rsp), %xmm10\n\t"
         "movaps 0x80(%rsp), %xmm11\n\t"
         "movaps 0x90(%rsp), %xmm12\n\t"
         "movaps 0xa0(%rsp), %xmm13\n\t"
         "movaps 0xb0(%rsp), %xmm14\n\t"
         "movaps 0xc0(%rsp), %xmm15\n\t"
         "addq $0xd8, %rsp\n\t"
         "popq %r15\n\t"
         "popq %r14\n\t"
         "popq %r13\n\t"
         "popq %r12\n\t"
         "popq %rsi\n\t"
         "popq %rdi\n\t"
         "popq %rbp\n\t"
         "popq %rbx\n\t"
         "ret\n\t"
         ".seh_endproc\n" );

#define ROUNDS  12

struct damage
{
    LONG general, xmm, mxcsr, fpcw, calls;
};
static struct damage damages[2][4];     /* by worker and way */
static LONG scheduler_mxcsr, scheduler_fpcw;
static HANDLE handoff[2];

static void way_yield( void *arg )
{
    kit_yield( arg, NULL );
}

static void way_migrate( void *arg )
{
    struct kit_worker *worker = arg;

    kit_migrate( worker, worker->last == &kit.scheds[0] ? &kit.scheds[1] : &kit.scheds[0] );
}

static void way_sleep( void *arg )
{
    (void)arg;
    Sleep( 1 );
}

/* the two release each other */
static void way_wait( void *arg )
{
    struct kit_worker *worker = arg;

    SetEvent( handoff[worker->index ^ 1] );
    wait_signaled( handoff[worker->index] );
}

static void (*const ways[])( void * ) = { way_yield, way_migrate, way_sleep, way_wait };
static const char *const way_names[] = { "yield", "migrate", "sleep", "wait" };

static DWORD registers_body( struct kit_worker *worker )
{
    static const WORD control_words[2] = { 0x0c7f, 0x077f };
    static const DWORD mxcsrs[2] = { 0xdf80, 0x3f80 };
    struct registers regs, want;
    BYTE *bytes = (BYTE *)&want;
    unsigned int way, round, i;

    for (way = 0; way < ARRAYSIZE(ways); way++)
    {
        struct damage *damage = &damages[worker->index][way];

        for (round = 0; round < ROUNDS; round++)
        {
            for (i = 0; i < sizeof(want); i++)
                bytes[i] = (BYTE)(i * 7 + round * 31 + way + worker->index * 101);
            want.mxcsr = mxcsrs[worker->index];
            want.fpcw = control_words[worker->index];
            memcpy( &regs, &want, sizeof(regs) );
            registers_across( &regs, ways[way], worker );
            damage->calls++;
            if (memcmp( regs.general, want.general, sizeof(regs.general) )) damage->general++;
            if (memcmp( regs.xmm, want.xmm, sizeof(regs.xmm) )) damage->xmm++;
            if ((regs.mxcsr ^ want.mxcsr) & 0xffc0) damage->mxcsr++;
            if ((regs.fpcw ^ want.fpcw) & 0x0f3f) damage->fpcw++;
        }
    }
    SetEvent( handoff[worker->index ^ 1] );
    return 0;
}

/* The schedulers use every register and set the control words to something of their own. */
static BOOL registers_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    static const WORD control_word = 0x037f;
    WORD fpcw;

    (void)sched; (void)reason; (void)payload; (void)param;
    __asm__ volatile( "fnstcw %0" : "=m" (fpcw) );
    if ((_mm_getcsr() & 0xffc0) != 0x1f80) scheduler_mxcsr++;
    if ((fpcw & 0x0c00) || (fpcw & 0x3f) != 0x3f) scheduler_fpcw++;
    _mm_setcsr( 0x1f80 );
    __asm__ volatile( "fldcw %0\n\t"
                      "xorps %%xmm6, %%xmm6\n\txorps %%xmm7, %%xmm7\n\txorps %%xmm8, %%xmm8\n\t"
                      "xorps %%xmm9, %%xmm9\n\txorps %%xmm10, %%xmm10\n\t"
                      "xorps %%xmm11, %%xmm11\n\txorps %%xmm12, %%xmm12\n\t"
                      "xorps %%xmm13, %%xmm13\n\txorps %%xmm14, %%xmm14\n\t"
                      "xorps %%xmm15, %%xmm15\n\txorl %%ebx, %%ebx\n\txorl %%esi, %%esi\n\t"
                      "xorl %%edi, %%edi\n\txorl %%r12d, %%r12d\n\txorl %%r13d, %%r13d\n\t"
                      "xorl %%r14d, %%r14d\n\txorl %%r15d, %%r15d"
                      : : "m" (control_word)
                      : "rbx", "rsi", "rdi", "r12", "r13", "r14", "r15", "xmm6", "xmm7", "xmm8",
                        "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15" );
    return FALSE;
}

/* ---- an x87 exception that is pending when the worker yields ---- */

static LONG scheduler_pending, worker_pending;

static WORD x87_exceptions(void)
{
    WORD status;

    __asm__ volatile( "fnstsw %0" : "=m" (status) );
    return status & 0x3f;
}

/* The precision exception: it is not masked, and nothing is left on the x87 stack. */
static DWORD pending_body( struct kit_worker *worker )
{
    static const WORD precision = 0x035f, usual = 0x037f;
    float pi;
    int i;

    for (i = 0; i < 20; i++)
    {
        __asm__ volatile( "fldcw %1\n\tfldpi\n\tfstps %0" : "=m" (pi) : "m" (precision) );
        kit_yield( worker, NULL );
        if (x87_exceptions()) worker_pending++;
        __asm__ volatile( "fnclex\n\tfldcw %0" : : "m" (usual) );
    }
    return 0;
}

static BOOL pending_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)reason; (void)payload; (void)param;
    if (x87_exceptions()) scheduler_pending++;
    return FALSE;
}

/* The scheduler does not get it. On Windows its x87 state is its own (not verified). The worker does not
   find it when it comes back. */
START_TEST( scenario_registers_x87_pending )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = pending_upcall;
    kit_add_worker( sched->list, pending_body, NULL );
    kit_start();
    kit_finish();
    unverified ok( !scheduler_pending, "2.2: an upcall with a worker's x87 exception, %ld times\n", scheduler_pending );
    unverified ok( !worker_pending, "the worker finds its x87 exception, %ld times\n", worker_pending );
    kit_check();
}

START_TEST( scenario_registers_kept )
{
    struct kit_sched *first, *second;
    int w, way;

    if (!kit_open()) return;
    for (w = 0; w < 2; w++) handoff[w] = CreateEventW( NULL, FALSE, FALSE, NULL );
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = second->on_upcall = registers_upcall;
    for (w = 0; w < 2; w++) kit_add_worker( first->list, registers_body, NULL );
    kit_start();
    kit_finish();
    for (w = 0; w < 2; w++)
        for (way = 0; way < (int)ARRAYSIZE(ways); way++)
        {
            struct damage *damage = &damages[w][way];

            push( "worker %d, %s", w, way_names[way] );
            ok( damage->calls == ROUNDS, "%ld calls of %d\n", damage->calls, ROUNDS );
            ok( !damage->general, "1.7: general registers lost %ld times\n", damage->general );
            ok( !damage->xmm, "1.7: xmm registers lost %ld times\n", damage->xmm );
            ok( !damage->mxcsr, "1.7: MXCSR lost %ld times\n", damage->mxcsr );
            ok( !damage->fpcw, "1.7: x87 control word lost %ld times\n", damage->fpcw );
            pop();
        }
    unverified ok( !scheduler_mxcsr, "2.2: an upcall with the worker's MXCSR, %ld times\n",
                   scheduler_mxcsr );
    unverified ok( !scheduler_fpcw, "2.2: an upcall with the worker's x87 control word, %ld times\n",
                   scheduler_fpcw );
    kit_check();
    for (w = 0; w < 2; w++) CloseHandle( handoff[w] );
}
