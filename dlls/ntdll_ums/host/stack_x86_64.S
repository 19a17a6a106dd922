/*
 * Room on the stack for a call into our code (syscalls/hook/hook_x86_64.S).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "host/asm_offsets.h"

        .text

/*
 * ums_stack_room: enter by a jump; goes on at r11, and changes that only. It grows the stack page by page, as its guard page
 * wants it, and raises STATUS_STACK_OVERFLOW where that was the last one: as if the instruction before the call had used the stack.
 * Afterwards, while the program handles that, there is no guard page, and the call has to do with what is left. Only a worker's
 * or a scheduler's own stack is looked at: below another one there may be anything. A carried worker that faults in here
 * goes home, since nothing is begun (ke_exception.c).
 *
 *      rsp+0x00  home space
 *          0x20  what is read; 0x28: the limit before
 *          0x30  rax rcx rdx r8 r9 r10 r11
 */
        .globl  ums_stack_room, ums_stack_room_end
        .def    ums_stack_room; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_stack_room
ums_stack_room:
        pushq   %rbp
        .seh_pushreg %rbp
        movq    %rsp,%rbp
        .seh_setframe %rbp,0
        .seh_endprologue
        andq    $-16,%rsp
        subq    $0x70,%rsp
        movq    %rax,0x30(%rsp)
        movq    %rcx,0x38(%rsp)
        movq    %rdx,0x40(%rsp)
        movq    %r8,0x48(%rsp)
        movq    %r9,0x50(%rsp)
        movq    %r10,0x58(%rsp)
        movq    %r11,0x60(%rsp)
1:      movq    %gs:TEB_STACK_LIMIT,%rcx
        leaq    -STACK_ROOM(%rbp),%rax
        cmpq    %rcx,%rax
        jae     2f                              /* there is room */
        cmpq    %rcx,%rbp
        jb      2f                              /* another stack than the TEB's */
        movl    ums_tls_offset(%rip),%eax
        movq    %gs:(%rax),%rax
        testq   %rax,%rax
        jz      2f
        movq    CONTEXT_STACK_BASE(%rax),%rax
        cmpq    %gs:TEB_STACK_BASE,%rax
        jne     2f                              /* a fiber's, or one that the program made: its guard page is the program's */
        movq    %rcx,%rax
        subq    %gs:TEB_STACK_BOTTOM,%rax
        cmpq    $0x1000,%rax
        jbe     2f                              /* no guard page is left */
        movq    %rcx,0x28(%rsp)
        subq    $8,%rcx
        leaq    0x20(%rsp),%rdx
        call    ums_try_load
        movq    %gs:TEB_STACK_LIMIT,%rcx
        cmpq    %rcx,0x28(%rsp)
        je      2f                              /* there was none */
        testl   %eax,%eax
        jnz     1b
        call    ums_stack_overflow
        nop                                     /* Wine takes a jump right there for the end of an epilogue [seen] */
        jmp     1b
2:      movq    0x30(%rsp),%rax
        movq    0x38(%rsp),%rcx
        movq    0x40(%rsp),%rdx
        movq    0x48(%rsp),%r8
        movq    0x50(%rsp),%r9
        movq    0x58(%rsp),%r10
        movq    0x60(%rsp),%r11
        leaq    0(%rbp),%rsp
        popq    %rbp
        jmp     *%r11
        .seh_endproc
ums_stack_room_end:
