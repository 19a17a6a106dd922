/*
 * Where Linux calls our signal handlers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In C they would have the convention of Linux, for which the compiler makes no unwind data. All of them come through here, by the
 * number of the signal.
 */

        .text

/* Linux: the signal in edi, its siginfo in rsi, its frame in rdx. What Windows' convention keeps covers what that of Linux keeps.

        rsp+0x00  home space
            0x20  alignment
            0x28  return address: Linux' restorer */
        .globl  ums_signal_entry
        .def    ums_signal_entry; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc ums_signal_entry
ums_signal_entry:
        subq    $0x28,%rsp
        .seh_stackalloc 0x28
        .seh_endprologue
        movl    %edi,%ecx
        movq    %rdx,%r8
        movq    %rsi,%rdx
        leaq    ums_signal_handlers(%rip),%rax
        call    *(%rax,%rcx,8)
        addq    $0x28,%rsp
        ret
        .seh_endproc
