/*
 * What the assembly files know of C: each number is checked against the struct in asm_offsets.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_ASM_OFFSETS_H
#define UMS_ASM_OFFSETS_H

#define SCHEDULER_BASE     0x00                 /* struct ums_scheduler */
#define SCHEDULER_PROC     0x08
#define SCHEDULER_REASON   0x10
#define SCHEDULER_PAYLOAD  0x18
#define SCHEDULER_PARAM    0x20

#define CONTEXT_KIND       0x524                /* struct ums_context */

#define CALL_NR            0x00                 /* struct ums_call */
#define CALL_ARGS          0x08
#define CALL_STACK         0x28
#define CALL_SP            0x30
#define CALL_SIZE          0x38

#define CALL_STACK_ARGS    16                   /* stack arguments handed on; 17 in all is most */

#define HOOK_WORKERS       0x01                 /* ums_call_class: workers' calls go to C */
#define HOOK_ALL           0x02                 /* every thread's */
#define CALL_NUMBERS       0x4000               /* numbers: 0x0000.. ntdll, 0x1000.. win32u */

#endif /* UMS_ASM_OFFSETS_H */
