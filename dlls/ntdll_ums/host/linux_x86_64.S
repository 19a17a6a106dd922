/*
 * Linux calls, from libc's own code.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * No `syscall` instruction is in these DLLs: Wine 11 and Proton take one in Windows memory for an NT
 * call of that number (docs/wine.md). The instruction that is used lies in a function of libc, as
 * "syscall; ret"; ke_linux.c finds it. So a thread that is in a Linux call is in libc, with a return
 * address in here on top of its stack (ke_in_linux_call).
 */

#define LINUX_ENOSYS 38

        .data
        .globl  ums_linux_gate
        .p2align 3
ums_linux_gate:                                 /* written once, before the second thread */
        .quad   no_gate

        .text

/* As Linux answers a call that it does not have. */
        .p2align 4
        .seh_proc no_gate
no_gate:
        .seh_endprologue
        movq    $-LINUX_ENOSYS,%rax
        ret
        .seh_endproc

/* ums_linux_syscall( nr, a, b, c, d ): the Linux convention wants nr in rax, then rdi, rsi, rdx,
   r10. Between the gate and here the arguments are in these registers still (is_in_wait).

        rsp+0x00  rdi
            0x08  rsi
            0x10  return address
            0x38  d, behind the home space */
        .globl  ums_linux_syscall, ums_linux_syscall_end
        .def    ums_linux_syscall; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_linux_syscall
ums_linux_syscall:
        pushq   %rsi
        .seh_pushreg %rsi
        pushq   %rdi
        .seh_pushreg %rdi
        .seh_endprologue
        movq    %rcx,%rax
        movq    %rdx,%rdi
        movq    %r8,%rsi
        movq    %r9,%rdx
        movq    0x38(%rsp),%r10
        xorl    %r8d,%r8d
        xorl    %r9d,%r9d
        call    *ums_linux_gate(%rip)
        popq    %rdi
        popq    %rsi
        ret
ums_linux_syscall_end:
        .seh_endproc
