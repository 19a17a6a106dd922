/*
 * The functions of ke.h that are inline on Wine and Windows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_KE_WIN32_INLINE_H
#define UMS_KE_WIN32_INLINE_H

extern uint32_t ums_tls_offset;                 /* of the context pointer in the TEB; 0 before the
                                                   start. hook_x86_64.S has it */

static inline size_t ke_tls_offset( void )
{
    return ums_tls_offset;
}

/* Before the start every thread is plain. Volatile: a worker may move to another thread at each call. */
static inline struct ums_context *ke_current( void )
{
    struct ums_context *context;
    uint64_t offset = ums_tls_offset;

    if (!offset) return NULL;
    __asm__ volatile( "movq %%gs:(%1), %0" : "=r" (context) : "r" (offset) );
    return context;
}

#endif /* UMS_KE_WIN32_INLINE_H */
