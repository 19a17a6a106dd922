/*
 * The least that a switch between two workers has to do.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A context that does not run has its registers on its stack. This is what the Win64 ABI wants kept
 * across a call, and nothing else; the lowest address is 16-aligned:
 *
 *      sp+ 0x00  xmm6 .. xmm15
 *          0xa0  mxcsr
 *          0xa4  x87 control word
 *          0xa8  r15 r14 r13 r12 rdi rsi rbx rbp
 *          0xe8  return address
 */
        .text

        .macro  GLOBAL name
        .globl  \name
        .def    \name; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc \name
\name:
        .endm

/* bare_switch( save in rcx, load in rdx, teb in r8 ): *save = this context, go on as "load". The
   stack changes in the middle of the frame, which looks the same on both; rcx, rdx and r8 are the
   caller's up to there and nobody's after it. Entered with jmp, because a ret would be
   mispredicted. */
        GLOBAL  bare_switch
        pushq   %rbp
        .seh_pushreg %rbp
        pushq   %rbx
        .seh_pushreg %rbx
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %rdi
        .seh_pushreg %rdi
        pushq   %r12
        .seh_pushreg %r12
        pushq   %r13
        .seh_pushreg %r13
        pushq   %r14
        .seh_pushreg %r14
        pushq   %r15
        .seh_pushreg %r15
        subq    $0xa8,%rsp
        .seh_stackalloc 0xa8
        movaps  %xmm6,0x00(%rsp)
        .seh_savexmm %xmm6,0x00
        movaps  %xmm7,0x10(%rsp)
        .seh_savexmm %xmm7,0x10
        movaps  %xmm8,0x20(%rsp)
        .seh_savexmm %xmm8,0x20
        movaps  %xmm9,0x30(%rsp)
        .seh_savexmm %xmm9,0x30
        movaps  %xmm10,0x40(%rsp)
        .seh_savexmm %xmm10,0x40
        movaps  %xmm11,0x50(%rsp)
        .seh_savexmm %xmm11,0x50
        movaps  %xmm12,0x60(%rsp)
        .seh_savexmm %xmm12,0x60
        movaps  %xmm13,0x70(%rsp)
        .seh_savexmm %xmm13,0x70
        movaps  %xmm14,0x80(%rsp)
        .seh_savexmm %xmm14,0x80
        movaps  %xmm15,0x90(%rsp)
        .seh_savexmm %xmm15,0x90
        .seh_endprologue
        stmxcsr 0xa0(%rsp)
        fnstcw  0xa4(%rsp)

        movq    %rsp,(%rcx)
        movq    %rdx,%rsp
        wrgsbase %r8

        ldmxcsr 0xa0(%rsp)
        fldcw   0xa4(%rsp)
        movaps  0x00(%rsp),%xmm6
        movaps  0x10(%rsp),%xmm7
        movaps  0x20(%rsp),%xmm8
        movaps  0x30(%rsp),%xmm9
        movaps  0x40(%rsp),%xmm10
        movaps  0x50(%rsp),%xmm11
        movaps  0x60(%rsp),%xmm12
        movaps  0x70(%rsp),%xmm13
        movaps  0x80(%rsp),%xmm14
        movaps  0x90(%rsp),%xmm15
        addq    $0xa8,%rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rdi
        popq    %rsi
        popq    %rbx
        popq    %rbp
        popq    %rcx
        jmp     *%rcx
        .seh_endproc

/* Where a new context begins, with rbx: a function, rdi: its argument. It does not return.

      rsp+ 0x00  home space of the function
           0x20  (pad)
           0x28  0, the end of the stack for who unwinds it */
        GLOBAL  bare_begin
        .seh_stackalloc 0x28
        .seh_endprologue
        movq    %rdi,%rcx
        call    *%rbx
        ud2
        .seh_endproc

/* bare_probe_gs(): 1 if GS can be written. Where that raises an exception, whoever handles it goes
   on at bare_probe_failed. A leaf. */
        GLOBAL  bare_probe_gs
        .seh_endprologue
        rdgsbase %rax
        wrgsbase %rax
        movl    $1,%eax
        ret
        .globl  bare_probe_failed
bare_probe_failed:
        xorl    %eax,%eax
        ret
        .seh_endproc
