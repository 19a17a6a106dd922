/*
 * The entry hooks, and how a hooked call is made.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * At a hook, as at any system-call stub: arguments 1-4 in r10 (dispatcher) or rcx (stub), rdx, r8,
 * r9; rcx and r11 are free. Volatile xmm registers are not kept across a system call, so C code may
 * use them.
 *
 * Stack at ums_dispatcher_hook,              at ums_stub_hook,
 * called from the thunk:                     jumped to from the stub:
 *      rsp+0x00  return into the thunk           rsp+0x00  return to the stub's caller
 *          0x08  return to its caller                0x08  home space of the caller
 *          0x10  home space of the caller            0x28  argument 5 ...
 *          0x30  argument 5 ...
 */

#include "host/asm_offsets.h"

        .data
        .globl  ums_dispatcher, ums_apc_go_on, ums_call_class, ums_stub_native
        .p2align 3
ums_dispatcher:
        .quad   0
ums_apc_go_on:
        .quad   0
        .bss
        .p2align 6
ums_call_class:
        .space  CALL_NUMBERS
ums_stub_native:
        .space  8 * STUB_ROWS

        .text

/* r11d: HOOK_* of the call. Jump to yes if C code has to see this thread's call, because the thread is
   a worker, a scheduler or a hand; to no, or fall through, if not. Changes rcx. */
        .macro  MATTERS yes, no
        testl   $HOOK_ALL,%r11d
        jnz     \yes
        movl    ums_tls_offset(%rip),%ecx
        movq    %gs:(%rcx),%rcx                 /* the thread's context */
        testq   %rcx,%rcx
        jz      4f
        cmpl    $0,CONTEXT_KIND(%rcx)           /* context->kind == CONTEXT_WORKER */
        jne     5f
        testl   $HOOK_WORKERS,%r11d
        jnz     \yes
        cmpb    $STATE_CARRIED,CONTEXT_WORD(%rcx)
        je      \yes
        jmp     \no
5:      testl   $HOOK_SCHEDULERS,%r11d
        jnz     \yes
4:      testl   $HOOK_WORKERS,%r11d
        jz      \no
        movl    ums_hand_offset(%rip),%ecx
        cmpq    $0,%gs:(%rcx)                   /* the thread's hand */
        jne     \yes
        .endm

/* The call may be about a local object. A worker's goes to C in any case, and is looked at there. rcx is
   lost. */
        .macro  LOOKS_ITSELF worker
        movl    ums_tls_offset(%rip),%ecx
        movq    %gs:(%rcx),%rcx
        testq   %rcx,%rcx
        jz      7f
        cmpl    $0,CONTEXT_KIND(%rcx)
        je      \worker
7:
        .endm

/*
 * A system call takes nothing of the caller's stack, and the C code of a hook does. If the stack overflowed in that, the
 * program's handler could leave the call by longjmp with half of it done. So the room is made before anything is begun.
 * ROOM: the stack is as at the entry. Changes r11 only.
 */
        .macro  ROOM
        leaq    -STACK_ROOM(%rsp),%r11
        cmpq    %gs:TEB_STACK_LIMIT,%r11
        jae     8f
        leaq    8f(%rip),%r11
        jmp     ums_stack_room
8:
        .endm

/* ---- every thunk of ntdll and win32u calls this; the fast path comes first ---- */

        .globl  ums_dispatcher_hook
        .def    ums_dispatcher_hook; .scl 2; .type 32; .endef
        .p2align 6
        .seh_proc ums_dispatcher_hook
ums_dispatcher_hook:
        .seh_endprologue
        movl    %eax,%ecx
        andl    $(CALL_NUMBERS - 1),%ecx
        leaq    ums_call_class(%rip),%r11
        movzbl  (%r11,%rcx),%r11d               /* ums_call_class[nr] */
        testl   %r11d,%r11d
        jz      3f
        testl   $HOOK_LOOK,%r11d
        jnz     6f
1:      MATTERS 2f, 3f
3:      jmp     *ums_dispatcher(%rip)
2:      leaq    0x30(%rsp),%rcx
        movl    %eax,%eax                       /* a number: clear CALL_KEY_ROW_BIT */
        jmp     ums_dispatcher_frame
6:      LOOKS_ITSELF 2b
        leaq    0x30(%rsp),%rcx
        movl    %eax,%eax
        jmp     ums_dispatcher_look
ums_dispatcher_looked:                          /* it is nothing of ours */
        movl    %eax,%ecx
        andl    $(CALL_NUMBERS - 1),%ecx
        leaq    ums_call_class(%rip),%r11
        movzbl  (%r11,%rcx),%r11d
        jmp     1b
        .seh_endproc

/* ---- a patched stub; eax: row ---- */

        .globl  ums_stub_hook
        .def    ums_stub_hook; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_stub_hook
ums_stub_hook:
        .seh_endprologue
        movq    %rcx,%r10
        leaq    ums_call_class(%rip),%r11
        movl    %eax,%eax
        movzbl  (%r11,%rax),%r11d               /* ums_call_class[row] */
        testl   $HOOK_LOOK,%r11d
        jnz     6f
1:      MATTERS 2f, 3f
3:      leaq    ums_stub_native(%rip),%r11
        movq    %r10,%rcx
        jmp     *(%r11,%rax,8)                  /* ums_stub_native[row] */
2:      leaq    0x28(%rsp),%rcx
        btsq    $CALL_KEY_ROW_BIT,%rax
        jmp     ums_stub_frame
6:      LOOKS_ITSELF 2b
        leaq    0x28(%rsp),%rcx
        btsq    $CALL_KEY_ROW_BIT,%rax
        jmp     ums_stub_look
ums_stub_looked:
        movl    %eax,%eax                       /* the row alone */
        leaq    ums_call_class(%rip),%r11
        movzbl  (%r11,%rax),%r11d
        jmp     1b
        .seh_endproc

/* ---- a Unix call (hook_unix.c). rcx: library, edx: code, r8: args ---- */

        .globl  ums_unix_hook
        .def    ums_unix_hook; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_unix_hook
ums_unix_hook:
        .seh_endprologue
        cmpl    $0,ums_objects_made(%rip)
        jne     3f
        movl    ums_tls_offset(%rip),%eax
        movq    %gs:(%rax),%rax
        testq   %rax,%rax
        jnz     1f
        movl    ums_hand_offset(%rip),%eax
        cmpq    $0,%gs:(%rax)                   /* the thread's hand */
        jne     2f
        jmp     *ums_unix_dispatcher(%rip)
1:      ROOM
        jmp     ums_unix_call
2:      ROOM
        jmp     ums_unix_hand_call
3:      ROOM
        jmp     ums_unix_look
        .seh_endproc

/*
 * ums_apc_hook: the kernel enters it in place of ntdll's KiUserApcDispatcher. The contents of registers
 * and stack depend on the version of Wine, so all are kept, and rsp may be 0 or 8 modulo 16. There is
 * nothing to unwind to: the return address is 0, the end of the stack.
 *
 *      rsp+0x00  home space of ums_apc_begins
 *          0x20  rcx rdx r8 r9 rax r10 r11
 *      rbp+0x00  rbp
 *          0x08  0
 *          0x10  the kernel's frame
 */
        .globl  ums_apc_hook
        .def    ums_apc_hook; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_apc_hook
ums_apc_hook:
        pushq   $0
        pushq   %rbp
        .seh_pushreg %rbp
        movq    %rsp,%rbp
        .seh_setframe %rbp,0
        .seh_endprologue
        andq    $-16,%rsp
        subq    $0x60,%rsp
        movq    %rcx,0x20(%rsp)
        movq    %rdx,0x28(%rsp)
        movq    %r8,0x30(%rsp)
        movq    %r9,0x38(%rsp)
        movq    %rax,0x40(%rsp)
        movq    %r10,0x48(%rsp)
        movq    %r11,0x50(%rsp)
        call    ums_apc_begins
        movq    0x20(%rsp),%rcx
        movq    0x28(%rsp),%rdx
        movq    0x30(%rsp),%r8
        movq    0x38(%rsp),%r9
        movq    0x40(%rsp),%rax
        movq    0x48(%rsp),%r10
        movq    0x50(%rsp),%r11
        leaq    0(%rbp),%rsp
        popq    %rbp
        leaq    8(%rsp),%rsp
        jmp     *ums_apc_go_on(%rip)
        .seh_endproc

/* uint64_t ums_unix_plain( library, code, args ): make the call unchanged. The user-mode program counter
   of a thread inside the call is in this range (ums_is_in_unix_call). */
        .globl  ums_unix_plain, ums_unix_plain_end
        .def    ums_unix_plain; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_unix_plain
ums_unix_plain:
        subq    $0x28,%rsp
        .seh_stackalloc 0x28
        .seh_endprologue
        call    *ums_unix_dispatcher(%rip)
        addq    $0x28,%rsp
        ret
        .seh_endproc
ums_unix_plain_end:

/*
 * ums_dispatcher_frame, ums_stub_frame: build a struct ums_call and call ums_hook_call. rcx: address of
 * argument 5; rax: struct call_key. The two differ in the alignment of the stack at entry. A worker that was given
 * other registers meanwhile goes on with them when this call is over. Whoever stops the thread in these two functions
 * themselves sets its registers at once (call_registers), so none are lost behind the look.
 *
 *      rsp+0x00  home space of ums_hook_call
 *          0x20  struct ums_call
 */
        .macro  IF_SET to                       /* rcx: the thread's context */
        movl    ums_tls_offset(%rip),%ecx
        movq    %gs:(%rcx),%rcx
        testq   %rcx,%rcx
        jz      9f
        cmpl    $0,CONTEXT_SET(%rcx)
        jne     \to
9:
        .endm

        .macro  CALL_FRAME size
        ROOM
        subq    $\size,%rsp
        .seh_stackalloc \size
        .seh_endprologue
        movq    %rax,0x20+CALL_KEY(%rsp)
        movq    %r10,0x20+CALL_ARGS(%rsp)
        movq    %rdx,0x28+CALL_ARGS(%rsp)
        movq    %r8,0x30+CALL_ARGS(%rsp)
        movq    %r9,0x38+CALL_ARGS(%rsp)
        movq    %rcx,0x20+CALL_STACK(%rsp)
        movq    %rsp,0x20+CALL_SP(%rsp)
        IF_SET  3f
4:      leaq    0x20(%rsp),%rcx
        call    ums_hook_call
        IF_SET  2f
1:      addq    $\size,%rsp
        ret
2:      movq    %rax,%rcx                       /* new registers, perhaps for the end of this call */
        leaq    \size+8(%rsp),%rdx
        call    ke_call_over                    /* ( result, returns ) */
        jmp     1b
3:      leaq    \size+8(%rsp),%rdx
        call    ke_call_begins                  /* ( w, returns ) */
        jmp     4b
        .endm

        .globl  ums_dispatcher_frame
        .def    ums_dispatcher_frame; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_dispatcher_frame
ums_dispatcher_frame:
        CALL_FRAME 0x60                         /* entered with rsp 0 modulo 16 */
        .seh_endproc

        .globl  ums_stub_frame
        .def    ums_stub_frame; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_stub_frame
ums_stub_frame:
        CALL_FRAME 0x68                         /* entered with rsp 8 modulo 16 */
        .seh_endproc

/*
 * ums_own_call, ums_own_call_step: a program has made the call with a `syscall` of its own (hook_sigsys.c).
 * rax: struct call_key; r11: the instruction behind that `syscall`; arguments 1-4 in r10, rdx, r8, r9. The
 * step version calls with the trap flag clear and goes on with the flag set.
 *
 *      rsp+0x00  that instruction, after the push: it is returned to
 *          0x08  what was on top: the return address of the program's own stub
 *          0x10  home space
 *          0x30  argument 5 ...
 */
        .globl  ums_own_call
        .def    ums_own_call; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_own_call
ums_own_call:
        .seh_endprologue
        pushq   %r11
        leaq    0x30(%rsp),%rcx
        testl   $8,%esp
        jz      ums_dispatcher_frame
        jmp     ums_stub_frame
        .seh_endproc

        .globl  ums_own_call_step
        .def    ums_own_call_step; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_own_call_step
ums_own_call_step:
        .seh_endprologue
        pushq   %r11
        leaq    0x30(%rsp),%rcx
        leaq    ums_dispatcher_frame(%rip),%r11
        testl   $8,%esp
        jz      ums_step_over
        leaq    ums_stub_frame(%rip),%r11
        jmp     ums_step_over
        .seh_endproc

/*
 * ums_dispatcher_look, ums_stub_look: the same for ums_object_look, by a thread that is no worker. If
 * that returns 0, nothing has happened: the call goes on where it came from, with all its registers.
 *
 *      rsp+0x00  home space of ums_object_look
 *          0x20  struct ums_call
 *          0x58  the result
 */
        .macro  LOOK_FRAME size, looked
        ROOM
        subq    $\size,%rsp
        .seh_stackalloc \size
        .seh_endprologue
        movq    %rax,0x20+CALL_KEY(%rsp)
        movq    %r10,0x20+CALL_ARGS(%rsp)
        movq    %rdx,0x28+CALL_ARGS(%rsp)
        movq    %r8,0x30+CALL_ARGS(%rsp)
        movq    %r9,0x38+CALL_ARGS(%rsp)
        movq    %rcx,0x20+CALL_STACK(%rsp)
        movq    %rsp,0x20+CALL_SP(%rsp)
        leaq    0x20(%rsp),%rcx
        leaq    0x58(%rsp),%rdx
        call    ums_object_look
        testl   %eax,%eax
        jnz     1f
        movq    0x20+CALL_KEY(%rsp),%rax
        movq    0x20+CALL_ARGS(%rsp),%r10
        movq    0x28+CALL_ARGS(%rsp),%rdx
        movq    0x30+CALL_ARGS(%rsp),%r8
        movq    0x38+CALL_ARGS(%rsp),%r9
        addq    $\size,%rsp
        jmp     \looked
1:      movq    0x58(%rsp),%rax
        addq    $\size,%rsp
        ret
        .endm

        .globl  ums_dispatcher_look
        .def    ums_dispatcher_look; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_dispatcher_look
ums_dispatcher_look:
        LOOK_FRAME 0x60, ums_dispatcher_looked
        .seh_endproc

        .globl  ums_stub_look
        .def    ums_stub_look; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_stub_look
ums_stub_look:
        LOOK_FRAME 0x68, ums_stub_looked
        .seh_endproc

/*
 * ums_step_over: NtContinue enters it in place of the function in r11, with the registers and the
 * stack as that function expects them. It calls the function with the trap flag clear and returns with
 * the flag set. (The flag takes effect one instruction after popfq, which is still in here, and then
 * in the caller.)
 *
 *      rbp-0x20  home space of the called function
 *          0x00  rbp
 *          0x08  return address; the call is aligned as the entry was
 */
        .globl  ums_step_over
        .def    ums_step_over; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_step_over
ums_step_over:
        pushq   %rbp
        .seh_pushreg %rbp
        movq    %rsp,%rbp
        .seh_setframe %rbp,0
        subq    $0x20,%rsp
        .seh_stackalloc 0x20
        .seh_endprologue
        call    *%r11
        pushfq
        orl     $EFLAGS_TF,(%rsp)
        popfq
        leaq    0(%rbp),%rsp
        popq    %rbp
        ret
        .seh_endproc

/*
 * ums_call_dispatcher( nr in rcx, args in rdx ): Wine's dispatcher, as a thunk would call it.
 *
 * The dispatcher pops its return address, subtracts 0xb (it returns to the `ret` after `syscall` in the
 * thunk) and expects argument 5 at 0x28 above. So there must be a landing 0xb bytes before the return
 * address of the call: a short jump over three bytes and over the call (5 + 6 bytes). A dispatcher that
 * returns to the instruction after the call reaches the same place.
 *
 *      rsp+0x00  where the thunk's caller's return address would be
 *          0x08  home space
 *          0x28  arguments 5 .. 20
 *          0xa8  (pad)
 *          0xb8  rdi, rsi: call-saved
 */
        .globl  ums_call_dispatcher
        .def    ums_call_dispatcher; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_call_dispatcher
ums_call_dispatcher:
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %rdi
        .seh_pushreg %rdi
        subq    $0xb8,%rsp
        .seh_stackalloc 0xb8
        .seh_endprologue
        movq    %rcx,%rax
        leaq    0x20(%rdx),%rsi
        leaq    0x28(%rsp),%rdi
        movl    $CALL_STACK_ARGS,%ecx
        cld
        rep movsq
        movq    0x00(%rdx),%r10
        movq    0x10(%rdx),%r8
        movq    0x18(%rdx),%r9
        movq    0x08(%rdx),%rdx
        jmp     2f
        .globl  ums_dispatcher_landing, ums_dispatcher_landed
ums_dispatcher_landing:                         /* a thread inside a call has this program counter, */
        jmp     3f
        nop
        nop
        nop
2:      call    *ums_dispatcher(%rip)
ums_dispatcher_landed:                          /* or this one */
3:      addq    $0xb8,%rsp
        popq    %rdi
        popq    %rsi
        ret
        .seh_endproc

/* ums_call_stub( stub in rcx, args in rdx ): call the private copy of a patched stub. The frame is that
   of ums_call_dispatcher. */
        .globl  ums_call_stub
        .def    ums_call_stub; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_call_stub
ums_call_stub:
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %rdi
        .seh_pushreg %rdi
        subq    $0xb8,%rsp
        .seh_stackalloc 0xb8
        .seh_endprologue
        movq    %rcx,%rax
        leaq    0x20(%rdx),%rsi
        leaq    0x20(%rsp),%rdi
        movl    $CALL_STACK_ARGS,%ecx
        cld
        rep movsq
        movq    0x00(%rdx),%rcx
        movq    0x10(%rdx),%r8
        movq    0x18(%rdx),%r9
        movq    0x08(%rdx),%rdx
        call    *%rax
        addq    $0xb8,%rsp
        popq    %rdi
        popq    %rsi
        ret
        .seh_endproc
