/*
 * Offsets and constants of C that the assembly files use. asm_offsets.c checks each of them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_ASM_OFFSETS_H
#define UMS_ASM_OFFSETS_H

#define SCHEDULER_BASE             0x00         /* struct ums_scheduler */
#define SCHEDULER_PROC             0x08
#define SCHEDULER_TEB              0x10
#define SCHEDULER_STACK_BASE       0x18
#define SCHEDULER_STACK_BOTTOM     0x50
#define SCHEDULER_EXCEPTION_LIST   0x58

#define CONTEXT_CS                 0x048        /* struct ums_context: the CONTEXT in it */
#define CONTEXT_SS                 0x052
#define CONTEXT_EFLAGS             0x054
#define CONTEXT_GPR                0x088        /* rax, and 15 more */
#define CONTEXT_RSP                0x0a8
#define CONTEXT_RIP                0x108
#define CONTEXT_TEB                0x4e0
#define CONTEXT_WORD               0x518
#define CONTEXT_SP                 0x520
#define CONTEXT_SUCCESS            0x538
#define CONTEXT_HOME               0x540
#define CONTEXT_PREEMPTED          0x548
#define CONTEXT_KIND               0x54c
#define CONTEXT_SET                0x55c
#define CONTEXT_STACK_BASE         0x5a0

#define STATE_CARRIED              4            /* enum worker_state */

#define TEB_EXCEPTION_LIST         0x0000       /* TEB */
#define STACK_ROOM                 0x3000       /* bytes of stack that a call takes in our code, at most */
#define TEB_STACK_BASE             0x0008
#define TEB_STACK_LIMIT            0x0010
#define TEB_STACK_BOTTOM           0x1478
#define TEB_STACK_GUARANTEED       0x1748

#define HOME_SIZE                  0x3000       /* bytes below w->home: a home thread's parking place,
                                                   and at its lower end the registers of a preempted
                                                   worker */
#define HOME_IRET                  0x0b00       /* the extended state (x87 to AVX-512) ends before it */

#define EFLAGS_TF                  0x100        /* trap after each instruction */

#define CALL_KEY                   0x00         /* struct ums_call */
#define CALL_ARGS                  0x08
#define CALL_STACK                 0x28
#define CALL_SP                    0x30
#define CALL_SIZE                  0x38

#define CALL_KEY_ROW_BIT           32           /* struct call_key: set in a row, clear in a number */
#define CALL_KEY_ROW               (1ull << CALL_KEY_ROW_BIT)

#define CALL_STACK_ARGS            16           /* stack arguments that are passed on; no call has
                                                   more than 17 arguments */

#define HOOK_WORKERS               0x01         /* ums_call_class: workers' calls go to C */
#define HOOK_ALL                   0x02         /* every thread's */
#define HOOK_CARRIED               0x04         /* carried workers' */
#define HOOK_SCHEDULERS            0x08         /* schedulers', while a record is made */
#define HOOK_LOOK                  0x10         /* it may be about a local object */
#define STUB_ROWS                  2048         /* stubs that can be patched */
#define CALL_NUMBERS               0x4000       /* numbers: 0x0000.. ntdll, 0x1000.. win32u */

#endif /* UMS_ASM_OFFSETS_H */
