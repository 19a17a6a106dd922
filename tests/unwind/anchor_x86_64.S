/*
 * Callers whose frames the walks have to find again, and the little that C cannot say.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

        .text

        .macro  GLOBAL name
        .globl  \name
        .def    \name; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc \name
\name:
        .endm

/*
 * anchor_call( anchor in rcx, function in rdx, four arguments ): calls it with numbers in all
 * registers that a function keeps: rbx is the anchor's address, rbp and so on one more each, then
 * xmm6 and so on. anchor->rsp is the stack pointer to be found behind the call.
 *
 *      rsp+0x00  home space of what is called
 *          0x20  xmm6 .. xmm15
 *          0xc0  (pad)
 *          0xc8  r15 r14 r13 r12 rdi rsi rbx rbp
 *         0x108  return address; home space; arguments 5 and 6
 */
        .globl  anchor_return
        GLOBAL  anchor_call
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
        subq    $0xc8,%rsp
        .seh_stackalloc 0xc8
        .irp    n,6,7,8,9,10,11,12,13,14,15
        movaps  %xmm\n,0x20+(\n-6)*16(%rsp)
        .seh_savexmm %xmm\n,0x20+(\n-6)*16
        .endr
        .seh_endprologue
        movq    %rsp,(%rcx)
        movq    %rcx,%rbx
        leaq    1(%rbx),%rbp
        leaq    2(%rbx),%rsi
        leaq    3(%rbx),%rdi
        leaq    4(%rbx),%r12
        leaq    5(%rbx),%r13
        leaq    6(%rbx),%r14
        leaq    7(%rbx),%r15
        .irp    n,6,7,8,9,10,11,12,13,14,15
        leaq    2+\n(%rbx),%rax
        movq    %rax,%xmm\n
        .endr
        movq    %rdx,%rax
        movq    %r8,%rcx
        movq    %r9,%rdx
        movq    0x130(%rsp),%r8
        movq    0x138(%rsp),%r9
        call    *%rax
anchor_return:
        .irp    n,6,7,8,9,10,11,12,13,14,15
        movaps  0x20+(\n-6)*16(%rsp),%xmm\n
        .endr
        addq    $0xc8,%rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rdi
        popq    %rsi
        popq    %rbx
        popq    %rbp
        ret
        .seh_endproc

        GLOBAL  trap_on
        .seh_endprologue
        pushfq
        orl     $0x100,(%rsp)
        popfq
        ret
        .seh_endproc

/* The handler leaves the flag clear when it finds itself at trap_is_off. */
        .globl  trap_is_off
        GLOBAL  trap_off
        .seh_endprologue
        pushfq
        andl    $~0x100,(%rsp)
        popfq
trap_is_off:
        ret
        .seh_endproc

/* as_thunk( number in rcx, dispatcher in rdx ): a system-call thunk of Wine */
        GLOBAL  as_thunk
        .seh_endprologue
        movl    %ecx,%eax
        movq    %rcx,%r10
        call    *%rdx
        ret
        .seh_endproc

/* as_stub( row in rcx, hook in rdx ): the island in a patched stub; leaves like a function's end */
        GLOBAL  as_stub
        .seh_endprologue
        movl    %ecx,%eax
        jmp     *%rdx
        .seh_endproc

/* as_own_call( row in rcx, hook in rdx ): a program's stub with a `syscall` of its own, behind which SIGSYS goes on */
        GLOBAL  as_own_call
        .seh_endprologue
        movl    %ecx,%eax
        movq    %rsp,own_call_sp(%rip)
        leaq    1f(%rip),%r11
        jmp     *%rdx
1:      ret
        .seh_endproc

/* Two dispatchers: one returns to the call, one to 0xb bytes before, as Wine 8.0's does. */
        GLOBAL  plain_dispatcher
        .seh_endprologue
        movl    $0x77,%eax
        ret
        .seh_endproc

        GLOBAL  early_dispatcher
        .seh_endprologue
        movl    $0x77,%eax
        subq    $0xb,(%rsp)
        ret
        .seh_endproc

/* through_step_over( function in rcx ): entered as NtContinue enters it */
        GLOBAL  through_step_over
        .seh_endprologue
        movq    %rcx,%r11
        jmp     ums_step_over
        .seh_endproc

/* preempt_here( w in rcx, s in rdx, context in r8 ): what a suspender does. The context is that of
   this function's return, with the trap flag. */
        GLOBAL  preempt_here
        .seh_endprologue
        movq    (%rsp),%rax
        movq    %rax,0xf8(%r8)                  /* Rip */
        leaq    8(%rsp),%rax
        movq    %rax,0x98(%r8)                  /* Rsp */
        movq    (%rdx),%rsp                     /* s->base */
        jmp     ke_preempted
        .seh_endproc
