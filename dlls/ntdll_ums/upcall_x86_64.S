/*
 * The stack base of a scheduler thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ke_scheduler_run( s in rcx ) saves the caller's non-volatile state once. Its stack pointer is the
 * base: every activation of SchedulerProc is a call from here, and ke_scheduler_upcall( s ) drops
 * all frames above the base by loading it. When an activation returns, the state is restored and
 * ke_scheduler_run returns.
 *
 *      rsp+ 0x00  home space of SchedulerProc
 *           0x20  xmm6 .. xmm15
 *           0xc0  mxcsr
 *           0xc4  x87 control word
 *           0xc8  s
 *           0xd0  (pad)
 *           0xd8  r15 r14 r13 r12 rsi rdi rbx rbp
 *          0x118  return address; rsp was 8 modulo 16 at entry, is 0 here
 */

#include "asm_offsets.h"

        .text
        .globl  ke_scheduler_run
        .globl  ke_scheduler_upcall
        .def    ke_scheduler_run; .scl 2; .type 32; .endef
        .def    ke_scheduler_upcall; .scl 2; .type 32; .endef

        .p2align 4
        .seh_proc ke_scheduler_run
ke_scheduler_run:
        pushq   %rbp
        .seh_pushreg %rbp
        pushq   %rbx
        .seh_pushreg %rbx
        pushq   %rdi
        .seh_pushreg %rdi
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %r12
        .seh_pushreg %r12
        pushq   %r13
        .seh_pushreg %r13
        pushq   %r14
        .seh_pushreg %r14
        pushq   %r15
        .seh_pushreg %r15
        subq    $0xd8,%rsp
        .seh_stackalloc 0xd8
        movaps  %xmm6,0x20(%rsp)
        .seh_savexmm %xmm6,0x20
        movaps  %xmm7,0x30(%rsp)
        .seh_savexmm %xmm7,0x30
        movaps  %xmm8,0x40(%rsp)
        .seh_savexmm %xmm8,0x40
        movaps  %xmm9,0x50(%rsp)
        .seh_savexmm %xmm9,0x50
        movaps  %xmm10,0x60(%rsp)
        .seh_savexmm %xmm10,0x60
        movaps  %xmm11,0x70(%rsp)
        .seh_savexmm %xmm11,0x70
        movaps  %xmm12,0x80(%rsp)
        .seh_savexmm %xmm12,0x80
        movaps  %xmm13,0x90(%rsp)
        .seh_savexmm %xmm13,0x90
        movaps  %xmm14,0xa0(%rsp)
        .seh_savexmm %xmm14,0xa0
        movaps  %xmm15,0xb0(%rsp)
        .seh_savexmm %xmm15,0xb0
        .seh_endprologue
        stmxcsr 0xc0(%rsp)
        fnstcw  0xc4(%rsp)
        movq    %rcx,0xc8(%rsp)
        movq    %rsp,SCHEDULER_BASE(%rcx)       /* s->base */

.Lactivation:
        movq    0xc8(%rsp),%rax
        ldmxcsr 0xc0(%rsp)
        fldcw   0xc4(%rsp)
        movl    SCHEDULER_REASON(%rax),%ecx     /* s->upcall.reason */
        movq    SCHEDULER_PAYLOAD(%rax),%rdx    /* s->upcall.payload */
        movq    SCHEDULER_PARAM(%rax),%r8       /* s->upcall.param */
        call    *SCHEDULER_PROC(%rax)           /* s->proc */

        ldmxcsr 0xc0(%rsp)
        fldcw   0xc4(%rsp)
        movaps  0x20(%rsp),%xmm6
        movaps  0x30(%rsp),%xmm7
        movaps  0x40(%rsp),%xmm8
        movaps  0x50(%rsp),%xmm9
        movaps  0x60(%rsp),%xmm10
        movaps  0x70(%rsp),%xmm11
        movaps  0x80(%rsp),%xmm12
        movaps  0x90(%rsp),%xmm13
        movaps  0xa0(%rsp),%xmm14
        movaps  0xb0(%rsp),%xmm15
        addq    $0xd8,%rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rsi
        popq    %rdi
        popq    %rbx
        popq    %rbp
        ret
        .seh_endproc

/* ke_scheduler_upcall( s in rcx ): a leaf until the load, then in ke_scheduler_run's frame */
        .p2align 4
        .seh_proc ke_scheduler_upcall
ke_scheduler_upcall:
        .seh_endprologue
        movq    SCHEDULER_BASE(%rcx),%rsp
        jmp     .Lactivation
        .seh_endproc

/* ke_clear_x87(): no pending x87 exceptions, as after a yield on Windows */
        .globl  ke_clear_x87
        .def    ke_clear_x87; .scl 2; .type 32; .endef
        .p2align 4
ke_clear_x87:
        fnclex
        ret
