/*
 * The host's part of each context: struct ke_part of ke.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_KE_OWN_H
#define UMS_KE_OWN_H

#include "core/ums_core.h"

/* Linux writes this when a thread ends, however it ends. It has the layout of a robust mutex of glibc: a
   link, and the owner 32 bytes before the link. */
struct ke_life
{
    _Atomic uint32_t thread;                    /* Linux' thread id; 0: no thread */
    uint32_t pad[5];
    void *previous, *next;
};

struct ke_own
{
    struct ke_life life;
    _Atomic uint32_t killed_here;               /* this process has killed the thread, and will handle
                                                   its end */
    uint32_t tries, timer, ending;              /* used only by the thread's signal handlers, to handle
                                                   a signal later */
    _Atomic(struct linux_context *) in_call;    /* written by them: the frame of the handler in which
                                                   it stands still in the middle of a quick call */
    /* ke_context.c: of registers that are kept for the end of a call (set, ums_core.h) */
    uintptr_t set_for;                          /* what the stack pointer is when that call has returned */
    void     *set;                              /* a page with the CONTEXT; stays with the slot */
    uint32_t  set_all;                          /* Rax is one of them, and not the call's result */
    uint32_t  sent;                             /* the worker has not begun, and begins with `set` */
};

_Static_assert( sizeof(struct ke_own) == KE_PART_SIZE, "ke.h" );

static inline struct ke_own *ke_own( struct ums_context *context )
{
    return (struct ke_own *)(void *)&context->host;
}

static inline void ke_killed_here( struct ums_context *context, int killed )
{
    atomic_store( &ke_own( context )->killed_here, (uint32_t)killed );
}

#endif /* UMS_KE_OWN_H */
