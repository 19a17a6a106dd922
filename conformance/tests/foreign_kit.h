/*
 * Scenarios: a second process of this program, which opens threads of this one by their ids and does what
 * it is told, and the workers to whom that happens.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef FOREIGN_KIT_H
#define FOREIGN_KIT_H

#include <stdint.h>
#include "scenario_child.h"

enum foreign_command
{
    FOREIGN_SUSPEND,
    FOREIGN_RESUME,
    FOREIGN_GET,
    FOREIGN_SET,
    FOREIGN_KILL,
    FOREIGN_END
};

/* What the two share. */
struct foreign_order
{
    volatile LONG command;
    DWORD tid, argument, ret, error;
    CONTEXT context;
};

extern struct foreign_order *foreign_order;
extern volatile LONG foreign_turns;             /* of the worker beside the one that it is about */
extern volatile LONG foreign_steps;             /* of that one */
extern volatile LONG foreign_stop;              /* set to end both */
extern volatile LONG foreign_keep, foreign_kept;    /* the worker beside it keeps the scheduler; it does */
extern volatile LONG foreign_wakes;             /* with each turn that one wakes whoever waits for foreign_nobody: nobody does */
extern CONDITION_VARIABLE foreign_nobody;
extern struct kit_worker *foreign_runner;       /* the worker that it is about */
extern HANDLE foreign_event;                    /* manual-reset, set at the end */
extern HANDLE foreign_pipe[2];                  /* to read from, to write to; a byte is written at the end */

/* One scheduler, the worker with this body, and one beside it that yields. FALSE: this is the other process, or
   something failed. */
BOOL foreign_begin( DWORD (*body)( struct kit_worker *worker ), BOOL beside );
/* Checks that all has ended well, and ends the other process. may_lose_yield: the worker's last Yield may have come when its
   scheduler was dead, and nobody knew yet: then it is on the list, instead of in an upcall [guess]. */
void foreign_finish( BOOL may_lose_yield );

/* What the call in the other process returned. */
DWORD foreign_tell( LONG command, DWORD tid );

/* ---- what the worker does ---- */

DWORD foreign_compute( struct kit_worker *worker );
DWORD foreign_compute_at_home( struct kit_worker *worker );     /* [most likely] on a thread of its own */
DWORD foreign_wake( struct kit_worker *worker );                /* foreign_nobody, all the time */
DWORD foreign_wait( struct kit_worker *worker );                /* for foreign_event */
DWORD foreign_park( struct kit_worker *worker );                /* yields and is not executed */

/* Sets RBX, R12 to R15 and XMM7 (to that of R15) to foreign_magic, MXCSR, and FOREIGN_FLAGS; counts in foreign_steps until R12
   is not foreign_magic[1]. The sum of all comes to foreign_spun: of what nobody has changed FOREIGN_OTHERS, and R12 + XMM7. */
DWORD foreign_spin_body( struct kit_worker *worker );
uint64_t foreign_spin( volatile LONG *count, const volatile uint64_t *registers );
#define FOREIGN_OTHERS (0x1111111111111111ull + 0x3333333333333333 + 0x4444444444444444 + 0x5555555555555555 + 0x3f80 + \
                        FOREIGN_FLAGS)
#define FOREIGN_FLAGS 0xcd5                     /* overflow, direction, sign, zero, adjust, parity and carry flag */
extern volatile uint64_t foreign_magic[5], foreign_spun;

#endif /* FOREIGN_KIT_H */
