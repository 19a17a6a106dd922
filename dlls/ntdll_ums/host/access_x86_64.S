/*
 * Access to memory that may be bad, and the offsets of the thread's own words in the TEB.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

        .data
        .globl  ums_tls_offset, ums_hand_offset
        .p2align 3
ums_tls_offset:                                 /* in the TEB: the thread's context, */
        .long   0
ums_hand_offset:                                /* and its hand; 0 before the start */
        .long   0

        .text

/*
 * ums_try_store( to in rcx, value in rdx ), ums_try_load( from in rcx, value in rdx ) return 1, or 0
 * if the access faults. On a fault the signal handler (ke_exception.c), or otherwise the exception
 * handler, continues at a label after the access, which clears rax. What is written is read first:
 * a guard is met by that, and the signal handler leaves it where it is.
 */
        .macro  TRY_BEGIN name,handler=try_handler
        .globl  \name
        .def    \name; .scl 2; .type 32; .endef
        .p2align 4
        .seh_proc \name
\name:
        .seh_handler \handler, @except
        .seh_handlerdata
        .text
        subq    $8,%rsp
        .seh_stackalloc 8
        .seh_endprologue
        movl    $1,%eax
        .endm

        .macro  TRY_END
        addq    $8,%rsp
        ret
        .seh_endproc
        .endm

        .globl  ums_try_begin, ums_try_end, ums_try_failed
ums_try_begin:
        TRY_BEGIN ums_try_store
        movq    (%rcx),%r8
        movq    %rdx,(%rcx)
        TRY_END

        TRY_BEGIN ums_try_store32
        movl    (%rcx),%r8d
        movl    %edx,(%rcx)
        TRY_END

        TRY_BEGIN ums_try_load
        movq    (%rcx),%rcx
        movq    %rcx,(%rdx)
        TRY_END

        TRY_BEGIN ums_try_load32
        movl    (%rcx),%ecx
        movl    %ecx,(%rdx)
        TRY_END

/* ums_try_gs( base in rcx ): read GS, and write it back */
        TRY_BEGIN ums_try_gs
        rdgsbase %rdx
        wrgsbase %rdx
        movq    %rdx,(%rcx)
        TRY_END

/* ums_touch( where in rcx ): read a byte; returns 0, or the code of the exception that this raises. Both
   handlers put it into rax and go on at ums_touched. */
        .globl  ums_touched
        TRY_BEGIN ums_touch,touch_handler
        xorl    %eax,%eax
        movb    (%rcx),%cl
ums_touched:
        TRY_END
ums_try_end:

/* EXCEPTION_DISPOSITION try_handler( record, frame, context in r8, dispatch ): makes the function
   return 0, by setting context->Rip (0xf8). The function's frame of 8 bytes is unchanged. */
        .def    try_handler; .scl 3; .type 32; .endef
        .p2align 4
        .seh_proc try_handler
try_handler:
        .seh_endprologue
        movl    4(%rcx),%eax                    /* ExceptionFlags */
        testl   $0x66,%eax                      /* unwinding: nothing to do */
        jnz     1f
        leaq    ums_try_failed(%rip),%rax
        movq    %rax,0xf8(%r8)
        xorl    %eax,%eax                       /* ExceptionContinueExecution */
        ret
1:      movl    $1,%eax                         /* ExceptionContinueSearch */
        ret
        .seh_endproc

/* The same for ums_touch: context->Rax (0x78) is the code. */
        .def    touch_handler; .scl 3; .type 32; .endef
        .p2align 4
        .seh_proc touch_handler
touch_handler:
        .seh_endprologue
        movl    4(%rcx),%eax                    /* ExceptionFlags */
        testl   $0x66,%eax                      /* unwinding: nothing to do */
        jnz     1f
        movl    (%rcx),%eax                     /* ExceptionCode */
        movq    %rax,0x78(%r8)
        leaq    ums_touched(%rip),%rax
        movq    %rax,0xf8(%r8)
        xorl    %eax,%eax                       /* ExceptionContinueExecution */
        ret
1:      movl    $1,%eax                         /* ExceptionContinueSearch */
        ret
        .seh_endproc

        .p2align 4
        .seh_proc try_failed
try_failed:
        subq    $8,%rsp                         /* never executed: entered below */
        .seh_stackalloc 8
        .seh_endprologue
ums_try_failed:
        xorl    %eax,%eax
        addq    $8,%rsp
        ret
        .seh_endproc
