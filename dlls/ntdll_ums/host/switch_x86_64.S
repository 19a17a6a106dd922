/*
 * The switch: scheduler threads, user parts of workers, and how one becomes the other.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Three kinds of stack meet here. All frames are 16-aligned at the stack pointer.
 *
 * A user part, on the worker's stack; w->sp is its lowest address. It holds what the Win64 ABI preserves
 * across a call, and nothing else:
 *
 *      rsp+ 0x00  xmm6 .. xmm15
 *           0xa0  mxcsr
 *           0xa4  x87 control word
 *           0xa6  x87 status word, if the worker leaves a carrier
 *           0xa8  r15 r14 r13 r12 rdi rsi rbx rbp
 *           0xe8  return address; rsp was 8 modulo 16 at entry
 *
 * The base of a scheduler thread; s->base. Every activation of SchedulerProc is a call from here, and so
 * is the call when a worker has left its carrier. Loading the base drops all frames above it, so Execute
 * saves nothing of the scheduler.
 *
 *      rsp+ 0x00  home space of what is called
 *           0x20  xmm6 .. xmm15
 *           0xc0  mxcsr
 *           0xc4  x87 control word
 *           0xc8  s
 *           0xd0  (pad)
 *           0xd8  r15 r14 r13 r12 rdi rsi rbx rbp
 *          0x118  return address of the call that entered scheduling mode
 *
 * The parking place of a home thread; w->home. While its worker is away the thread calls from here.
 *
 *      rsp+ 0x00  home space of what is called
 *           0x20  (pad)
 *           0x28  0, the end of the stack for an unwinder
 *
 * A worker that was preempted has no user part of this shape: its registers are in w->context, a
 * CONTEXT, and its extended state in the lower end of the parking place (w->home - HOME_XSAVE).
 *
 * GS is written by wrgsbase, or by arch_prctl where the kernel does not allow that. A resumed user
 * part is entered by jmp: a ret would be mispredicted, which costs more than the rest.
 */

#include "asm_offsets.h"

#define LINUX_ARCH_PRCTL  158
#define LINUX_ARCH_SET_GS 0x1001

        .data
        .globl  ums_gs_by_syscall, ums_xsave_mask
        .p2align 3
ums_xsave_mask:                                 /* what xsave saves; 0: fxsave */
        .quad   0
ums_gs_by_syscall:
        .long   0
        .bss
no_user_part:                                   /* without x87 exceptions */
        .space  0xf0

        .text

        .macro  GLOBAL name
        .globl  \name
        .def    \name; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc \name
\name:
        .endm

/* GS := reg. If this needs a Linux call, it changes rax, rcx, rdi, rsi, r11 and eight bytes below the stack
   pointer. SET_GS_COLD, after the last instruction of the function, makes the call. */
        .macro  SET_GS reg
        testl   $1,ums_gs_by_syscall(%rip)
        jnz     8f
        wrgsbase \reg
9:
        .endm

        .macro  SET_GS_COLD reg
8:      movq    \reg,%rsi
        movl    $LINUX_ARCH_SET_GS,%edi
        movl    $LINUX_ARCH_PRCTL,%eax
        call    *ums_linux_gate(%rip)
        jmp     9b
        .endm

        .macro  PUSH_NONVOLATILE
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
        .endm

        .macro  POP_NONVOLATILE
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rdi
        popq    %rsi
        popq    %rbx
        popq    %rbp
        .endm

        .macro  SAVE_XMM at
        movaps  %xmm6,\at+0x00(%rsp)
        .seh_savexmm %xmm6,\at+0x00
        movaps  %xmm7,\at+0x10(%rsp)
        .seh_savexmm %xmm7,\at+0x10
        movaps  %xmm8,\at+0x20(%rsp)
        .seh_savexmm %xmm8,\at+0x20
        movaps  %xmm9,\at+0x30(%rsp)
        .seh_savexmm %xmm9,\at+0x30
        movaps  %xmm10,\at+0x40(%rsp)
        .seh_savexmm %xmm10,\at+0x40
        movaps  %xmm11,\at+0x50(%rsp)
        .seh_savexmm %xmm11,\at+0x50
        movaps  %xmm12,\at+0x60(%rsp)
        .seh_savexmm %xmm12,\at+0x60
        movaps  %xmm13,\at+0x70(%rsp)
        .seh_savexmm %xmm13,\at+0x70
        movaps  %xmm14,\at+0x80(%rsp)
        .seh_savexmm %xmm14,\at+0x80
        movaps  %xmm15,\at+0x90(%rsp)
        .seh_savexmm %xmm15,\at+0x90
        .endm

        .macro  LOAD_XMM at
        movaps  \at+0x00(%rsp),%xmm6
        movaps  \at+0x10(%rsp),%xmm7
        movaps  \at+0x20(%rsp),%xmm8
        movaps  \at+0x30(%rsp),%xmm9
        movaps  \at+0x40(%rsp),%xmm10
        movaps  \at+0x50(%rsp),%xmm11
        movaps  \at+0x60(%rsp),%xmm12
        movaps  \at+0x70(%rsp),%xmm13
        movaps  \at+0x80(%rsp),%xmm14
        movaps  \at+0x90(%rsp),%xmm15
        .endm

/* Builds a user part from the state at the entry of a function. */
        .macro  SAVE_USER_PART
        PUSH_NONVOLATILE
        subq    $0xa8,%rsp
        .seh_stackalloc 0xa8
        SAVE_XMM 0
        .seh_endprologue
        stmxcsr 0xa0(%rsp)
        fnstcw  0xa4(%rsp)
        .endm

/* The unwind data of a user part for code that finds it complete at rsp. */
        .macro  HAS_USER_PART
        .seh_pushreg %rbp
        .seh_pushreg %rbx
        .seh_pushreg %rsi
        .seh_pushreg %rdi
        .seh_pushreg %r12
        .seh_pushreg %r13
        .seh_pushreg %r14
        .seh_pushreg %r15
        .seh_stackalloc 0xa8
        .seh_savexmm %xmm6,0x00
        .seh_savexmm %xmm7,0x10
        .seh_savexmm %xmm8,0x20
        .seh_savexmm %xmm9,0x30
        .seh_savexmm %xmm10,0x40
        .seh_savexmm %xmm11,0x50
        .seh_savexmm %xmm12,0x60
        .seh_savexmm %xmm13,0x70
        .seh_savexmm %xmm14,0x80
        .seh_savexmm %xmm15,0x90
        .seh_endprologue
        .endm

/* The unwind data of the scheduler's base for code that runs there. */
        .macro  HAS_BASE
        .seh_pushreg %rbp
        .seh_pushreg %rbx
        .seh_pushreg %rsi
        .seh_pushreg %rdi
        .seh_pushreg %r12
        .seh_pushreg %r13
        .seh_pushreg %r14
        .seh_pushreg %r15
        .seh_stackalloc 0xd8
        .seh_savexmm %xmm6,0x20
        .seh_savexmm %xmm7,0x30
        .seh_savexmm %xmm8,0x40
        .seh_savexmm %xmm9,0x50
        .seh_savexmm %xmm10,0x60
        .seh_savexmm %xmm11,0x70
        .seh_savexmm %xmm12,0x80
        .seh_savexmm %xmm13,0x90
        .seh_savexmm %xmm14,0xa0
        .seh_savexmm %xmm15,0xb0
        .seh_endprologue
        .endm

/* Where the stack pointer changes, one function ends and the next begins without a jump, so the unwind
   data is correct before and after. */
        .macro  FALL_INTO name
        .seh_endproc
        .seh_proc \name
\name:
        .endm

/* A jump to an address in a register, which it changes. An unwinder would take a plain jump to another
   function for the end of an epilogue, with the return address at rsp. */
        .macro  JUMP_WITH_FRAME to, reg
        leaq    \to(%rip),\reg
        jmp     *\reg
        .endm

/* No x87 exception may be left for the code that runs next on this thread; a worker that yields finds none
   when it is executed again [seen]. Mostly there is none, and the test is cheaper than clearing. */
        .macro  CLEAR_X87_EXCEPTIONS
        fnstsw  %ax
        testb   $0xbf,%al
        jz      7f
        fnclex
7:
        .endm

/* ---- the scheduler thread ---- */

/* ke_scheduler_run( s in rcx, reason in edx, payload in r8, param in r9 ) */
        GLOBAL  ke_scheduler_run
        PUSH_NONVOLATILE
        subq    $0xd8,%rsp
        .seh_stackalloc 0xd8
        SAVE_XMM 0x20
        .seh_endprologue
        stmxcsr 0xc0(%rsp)
        fnstcw  0xc4(%rsp)
        movq    %rcx,0xc8(%rsp)
        movq    %rsp,SCHEDULER_BASE(%rcx)
        movq    %gs:TEB_STACK_BASE,%rax
        movq    %rax,SCHEDULER_STACK_BASE(%rcx)
        movq    %gs:TEB_STACK_BOTTOM,%rax
        movq    %rax,SCHEDULER_STACK_BOTTOM(%rcx)
        movq    %gs:TEB_EXCEPTION_LIST,%rax
        movq    %rax,SCHEDULER_EXCEPTION_LIST(%rcx)
        JUMP_WITH_FRAME .Lactivation, %rax
        .seh_endproc

/* ke_scheduler_upcall( s in rcx, reason in edx, payload in r8, param in r9 ) */
        GLOBAL  ke_scheduler_upcall
        .seh_endprologue
        movq    SCHEDULER_BASE(%rcx),%rsp
        FALL_INTO activation
        HAS_BASE
        ldmxcsr 0xc0(%rsp)
        fldcw   0xc4(%rsp)

/* rcx: s, edx: reason, r8: payload, r9: param; rsp: the base */
.Lactivation:
        movq    %gs:TEB_STACK_BASE,%rax
        cmpq    %rax,SCHEDULER_STACK_BASE(%rcx)
        jne     4f
3:      movq    SCHEDULER_PROC(%rcx),%rax
        movl    %edx,%ecx
        movq    %r8,%rdx
        movq    %r9,%r8
        call    *%rax                           /* SchedulerProc( reason, payload, param ) */
        .globl  ke_proc_returns
ke_proc_returns:
        ldmxcsr 0xc0(%rsp)
        fldcw   0xc4(%rsp)
        LOAD_XMM 0x20
        addq    $0xd8,%rsp
        POP_NONVOLATILE
        ret

/* It has executed its last worker on another stack, and told the TEB of that one. What was in these
   registers is in the base. */
4:      movq    %rcx,%rbx
        movl    %edx,%esi
        movq    %r8,%rdi
        movq    %r9,%r12
        call    ke_scheduler_stack_back         /* ( s ) */
        movq    %rbx,%rcx
        movl    %esi,%edx
        movq    %rdi,%r8
        movq    %r12,%r9
        jmp     3b
        .seh_endproc

/* ---- a carried worker ---- */

/* ke_leave_carrier( w in rcx, s in rdx, left in r8, arg in r9 ): save the user part, become the
   scheduler thread, call left( s, w, arg ). Returns when the user part is resumed. */
        GLOBAL  ke_leave_carrier
        SAVE_USER_PART
        fnstsw  0xa6(%rsp)                      /* looked at beside the GS write */
        movq    %rsp,%r12                       /* what was in these is saved */
        movq    %rsp,CONTEXT_SP(%rcx)
        movq    %rcx,%rbx
        movq    %rdx,%rbp
        movq    SCHEDULER_TEB(%rdx),%r10
        movq    SCHEDULER_BASE(%rdx),%rsp

/* rbx: w, rbp: s, r10: its TEB, r12: the user part, r8: what to call, r9: its argument; rsp: the
   base. No x87 exception may be left to the scheduler; a worker that yields finds none when it
   comes back [seen]. */
        FALL_INTO on_base
        HAS_BASE
        SET_GS  %r10
        movq    %r8,%rax
        movq    %r9,%r8
        movq    %rbx,%rdx
        movq    %rbp,%rcx
        testb   $0xbf,0xa6(%r12)
        jnz     5f
6:      call    *%rax
        ud2                                     /* it does not return */
5:      fnclex
        jmp     6b
        SET_GS_COLD %r10
        .seh_endproc

/* ke_carry( s in rcx, w in rdx ): from the scheduler's stack, none of which is needed any more, to
   the user part of the worker. Nothing may be pushed below a user part: it may end at a page that was never used,
   and Wine gives such a page to the thread whose TEB tells of it. So GS comes first. */
        GLOBAL  ke_carry
        .seh_endprologue
        movq    CONTEXT_TEB(%rdx),%r11
        movq    %rdx,%rbx
        cmpl    $0,CONTEXT_PREEMPTED(%rdx)
        jne     load_preempted
        movq    CONTEXT_SP(%rdx),%r10
        SET_GS  %r11
        movq    %r10,%rsp

/* rbx: w, rsp: its user part, GS: its TEB */
        FALL_INTO load_user_part
        HAS_USER_PART
        movzbl  0xa4(%rsp),%eax
        notl    %eax
        testb   $0x3f,%al
        jnz     3f
2:      ldmxcsr 0xa0(%rsp)
        fldcw   0xa4(%rsp)
        movq    CONTEXT_SUCCESS(%rbx),%rax
        LOAD_XMM 0
        addq    $0xa8,%rsp
        POP_NONVOLATILE
        jmp     return_by_jump

3:      fnclex                                  /* it has x87 exceptions enabled: whatever is left
                                                   in this thread is not its own */
        jmp     2b
        .seh_endproc

/* of ke_carry, on the scheduler's stack */
        .p2align 4
        .seh_proc carry_by_syscall
carry_by_syscall:
        .seh_endprologue
        SET_GS_COLD %r11
        .seh_endproc

/* Between its two instructions nobody can unwind: the return address is in rcx. */
        .p2align 4
        .seh_proc return_by_jump
return_by_jump:
        .seh_endprologue
        popq    %rcx
        jmp     *%rcx
        .seh_endproc

/* ---- a carried worker that is stopped anywhere in user code ---- */

/* ke_preempted: the suspender has put its thread here, with rcx: w, rdx: s and rsp: s->base, after
   it had put the worker's general registers into w->context and set w->preempted. Everything else
   is still the worker's. */
        GLOBAL  ke_preempted
        HAS_BASE
        movq    %rcx,%rbx
        movq    %rdx,%rbp
        movq    CONTEXT_HOME(%rcx),%rdi
        subq    $HOME_SIZE,%rdi
        movq    ums_xsave_mask(%rip),%rax
        movq    %rax,%rdx
        shrq    $32,%rdx
        testq   %rax,%rax
        jz      1f
        xsave64 (%rdi)
        jmp     2f
1:      fxsave64 (%rdi)
2:      fninit                                  /* its x87 stack may be in use */
        leaq    no_user_part(%rip),%r12
        leaq    ums_left_preempted(%rip),%r8
        xorl    %r9d,%r9d
        movq    SCHEDULER_TEB(%rbp),%r10
        JUMP_WITH_FRAME on_base, %rax
        .seh_endproc

/* ke_load_preempted( w in rcx, teb in rdx ): the same on the worker's own thread */
        GLOBAL  ke_load_preempted
        .seh_endprologue
        movq    %rcx,%rbx
        movq    %rdx,%r11
        jmp     load_preempted
        .seh_endproc

/* rbx: w, r11: its TEB; on the scheduler's stack. All registers come from memory, so the last step
   is an iretq, from a frame in the parking place. */
        .p2align 4
        .seh_proc load_preempted
load_preempted:
        .seh_endprologue
        SET_GS  %r11
        jmp     3f
        SET_GS_COLD %r11
3:
        movl    $0,CONTEXT_PREEMPTED(%rbx)
        movq    CONTEXT_HOME(%rbx),%rbp
        subq    $HOME_SIZE,%rbp
        movq    ums_xsave_mask(%rip),%rax
        movq    %rax,%rdx
        shrq    $32,%rdx
        testq   %rax,%rax
        jz      1f
        xrstor64 (%rbp)
        jmp     2f
1:      fxrstor64 (%rbp)
2:      movq    CONTEXT_RIP(%rbx),%rax
        movzwl  CONTEXT_CS(%rbx),%ecx
        movl    CONTEXT_EFLAGS(%rbx),%edx
        movq    CONTEXT_RSP(%rbx),%rsi
        movzwl  CONTEXT_SS(%rbx),%edi
        movq    %rax,HOME_IRET+0x00(%rbp)
        movq    %rcx,HOME_IRET+0x08(%rbp)
        movq    %rdx,HOME_IRET+0x10(%rbp)
        movq    %rsi,HOME_IRET+0x18(%rbp)
        movq    %rdi,HOME_IRET+0x20(%rbp)
        leaq    HOME_IRET(%rbp),%rsp

/* From here on an unwinder finds the worker, with those of its registers that are loaded. */
        FALL_INTO load_registers
        .seh_pushframe
        .seh_endprologue
        movq    CONTEXT_GPR+0x00(%rbx),%rax     /* in CONTEXT's order: rax rcx rdx rbx rsp rbp .. */
        movq    CONTEXT_GPR+0x08(%rbx),%rcx
        movq    CONTEXT_GPR+0x10(%rbx),%rdx
        movq    CONTEXT_GPR+0x28(%rbx),%rbp
        movq    CONTEXT_GPR+0x30(%rbx),%rsi
        movq    CONTEXT_GPR+0x38(%rbx),%rdi
        movq    CONTEXT_GPR+0x40(%rbx),%r8
        movq    CONTEXT_GPR+0x48(%rbx),%r9
        movq    CONTEXT_GPR+0x50(%rbx),%r10
        movq    CONTEXT_GPR+0x58(%rbx),%r11
        movq    CONTEXT_GPR+0x60(%rbx),%r12
        movq    CONTEXT_GPR+0x68(%rbx),%r13
        movq    CONTEXT_GPR+0x70(%rbx),%r14
        movq    CONTEXT_GPR+0x78(%rbx),%r15
        movq    CONTEXT_GPR+0x18(%rbx),%rbx
        iretq
        .seh_endproc

/* ---- the home thread ---- */

/* ke_switch_home( w in rcx, parked in rdx, arg in r8 ): save the user part, go to the parking
   place, call parked( w, arg ); when that returns go on with the user part. */
        GLOBAL  ke_switch_home
        SAVE_USER_PART
        CLEAR_X87_EXCEPTIONS
        movq    %rsp,CONTEXT_SP(%rcx)
        movq    %rcx,%rbx
        movq    CONTEXT_HOME(%rcx),%r10
        movq    $0,-8(%r10)
        movq    %rdx,%rax
        movq    %r8,%rdx
        leaq    -0x30(%r10),%rsp
        FALL_INTO parking_place
        .seh_stackalloc 0x28
        .seh_endprologue
        call    *%rax
        movq    CONTEXT_SP(%rbx),%rsp

/* Whoever stops the thread in the parking place keeps new registers in w->context; and sets them in the thread if it is stopped
   here. So the look comes after the stack pointer. */
        FALL_INTO leave_parking_place
        HAS_USER_PART
        leaq    load_user_part(%rip),%rcx
        cmpl    $0,CONTEXT_PREEMPTED(%rbx)
        je      1f
        movq    CONTEXT_TEB(%rbx),%r11          /* somebody has given it other registers */
        leaq    load_preempted(%rip),%rcx
1:      jmp     *%rcx
        .seh_endproc

/* ke_switch_in_place( w in rcx, parked in rdx, arg in r8 ): the same without a parking place: below
   the user part is the home space of what is called. */
        GLOBAL  ke_switch_in_place
        PUSH_NONVOLATILE
        subq    $0xc8,%rsp
        .seh_stackalloc 0xc8
        SAVE_XMM 0x20
        .seh_endprologue
        stmxcsr 0xc0(%rsp)
        fnstcw  0xc4(%rsp)
        CLEAR_X87_EXCEPTIONS
        leaq    0x20(%rsp),%rax
        movq    %rax,CONTEXT_SP(%rcx)
        movq    %rcx,%rbx
        movq    %rdx,%rax
        movq    %r8,%rdx
        call    *%rax
        cmpl    $0,CONTEXT_PREEMPTED(%rbx)
        je      1f
        movq    %rbx,%rcx
        call    ke_continue
        ud2
1:      leaq    load_user_part(%rip),%rcx
        movq    CONTEXT_SP(%rbx),%rsp
        FALL_INTO leave_place
        HAS_USER_PART
        jmp     *%rcx
        .seh_endproc

/* ums_set_teb( teb in rcx ) */
        GLOBAL  ums_set_teb
        .seh_endprologue
        testl   $1,ums_gs_by_syscall(%rip)
        jnz     set_teb_by_syscall
        wrgsbase %rcx
        ret
        .seh_endproc

        .p2align 4
        .seh_proc set_teb_by_syscall
set_teb_by_syscall:
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %rdi
        .seh_pushreg %rdi
        .seh_endprologue
        jmp     8f
9:      popq    %rdi
        popq    %rsi
        ret
        SET_GS_COLD %rcx
        .seh_endproc

/* ke_call_rbx: returned to with the stack pointer 16-aligned; what rbx points to does not return */
        .p2align 4
        .globl  ke_call_rbx
        .def    ke_call_rbx; .scl 2; .type 32; .endef
        .seh_proc ke_call_rbx
ke_call_rbx:
        subq    $0x30,%rsp
        .seh_stackalloc 0x30
        .seh_endprologue
        call    *%rbx
        ud2
        .seh_endproc
