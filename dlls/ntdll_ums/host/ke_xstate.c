/*
 * The upper halves of the YMM registers, which lie behind a CONTEXT with CONTEXT_XSTATE, of a worker whose registers are
 * kept in its parking place.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Behind the CONTEXT: CONTEXT_EX, which tells where the XSTATE is [sdk]. That is as xsave writes it, without the 512
 * bytes of the legacy registers. All of it is the program's memory, which may go away at any moment.
 *
 *      CONTEXT_EX            0x10  offset of the XSTATE from here, and its length, 32 bits each
 *      XSTATE                0x00  mask: what is set; others keep their contents [seen: Wine]
 *                            0x40  the upper halves of YMM
 *      the parking place     0x200 mask (xsave's header)
 *      (w->home - HOME_SIZE) 0x240 the upper halves
 */

#include <windows.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "access.h"
#include "syscalls/hook/native.h"
#include "ke_win32.h"

#define CONTEXT_XSTATE_ALONE (CONTEXT_AMD64 | 0x40)
#define MASK_AVX     4
#define LEGACY_SIZE  0x200
#define HEADER_SIZE  0x40
#define EX_XSTATE    0x10
#define WORDS        32                         /* of the upper halves */

int ke_has_xstate( const CONTEXT *context )
{
    return (context->ContextFlags & CONTEXT_XSTATE_ALONE) == CONTEXT_XSTATE_ALONE;
}

/* The XSTATE behind context; NULL if it has no room for upper halves. */
static uint64_t *xstate_of( const CONTEXT *context )
{
    const char *ex = (const char *)(context + 1);
    uint64_t place;

    if (!ums_try_load( (const uint64_t *)(ex + EX_XSTATE), &place ) ||
        place >> 32 < HEADER_SIZE + WORDS * sizeof(uint64_t)) return NULL;
    return (uint64_t *)(uintptr_t)(ex + (int32_t)place);
}

/* From a thread that stands still. */
void ke_get_xstate( void *thread, CONTEXT *context )
{
    const DWORD flags = context->ContextFlags;

    context->ContextFlags = CONTEXT_XSTATE_ALONE;
    ums_get_context_native( thread, context );
    context->ContextFlags = flags;
}

static uint64_t *kept_upper_halves( const struct ums_context *w, uint64_t **mask )
{
    char *area = (char *)w->home - HOME_SIZE;

    if (!ums_carry || !w->preempted || !(ums_xsave_mask & MASK_AVX)) return NULL;
    *mask = (uint64_t *)(area + LEGACY_SIZE);
    return (uint64_t *)(area + LEGACY_SIZE + HEADER_SIZE);
}

/* What a component has that is not in use, is zero. The mask says afterwards what is in the XSTATE, as after the
   host's own call, which has filled it with the home thread's. */
void ke_get_kept_xstate( const struct ums_context *w, CONTEXT *context )
{
    uint64_t *xstate, *mask, *kept = kept_upper_halves( w, &mask ), before;
    int i;

    if (!kept || !(xstate = xstate_of( context )) ||
        !ums_try_load( xstate, &before )) return;
    ums_try_store( xstate, *mask & MASK_AVX ? before | MASK_AVX : before & ~(uint64_t)MASK_AVX );
    for (i = 0; i < WORDS; i++)
        ums_try_store( xstate + HEADER_SIZE / sizeof(*xstate) + i, *mask & MASK_AVX ? kept[i] : 0 );
}

void ke_set_kept_xstate( struct ums_context *w, const CONTEXT *context )
{
    uint64_t *xstate, *mask, *kept = kept_upper_halves( w, &mask ), given, words[WORDS];
    int i;

    if (!kept || !(xstate = xstate_of( context )) || !ums_try_load( xstate, &given ) || !(given & MASK_AVX)) return;
    for (i = 0; i < WORDS; i++)
        if (!ums_try_load( xstate + HEADER_SIZE / sizeof(*xstate) + i, &words[i] )) return;
    for (i = 0; i < WORDS; i++) kept[i] = words[i];
    *mask |= MASK_AVX;
}
