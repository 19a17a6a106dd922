/*
 * What kind of object a handle names.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A value that has a kind in the table is a handle of that kind. This holds because the hook sees every
 * call of the process that makes or closes a handle. A close removes the kind before the host closes
 * the handle. The hard part is the moment after the host has made a handle and before the table has
 * its kind. A thread may close the handle in that moment, through a stale value, and a file may get the
 * same value. Then the maker must not store the kind of the closed object:
 *
 *  - Each close takes a number when it begins and when it ends, and stores it in the value's entry,
 *    together with the count of closes of that value that are under way.
 *  - The maker reads the counter before it calls the host. It stores a kind only if the entry's number
 *    is not above the value that it read, and no close is under way. So no close of the value was
 *    under way at any time since the host made the handle: a close that began earlier would have ended
 *    since then, with a higher number. A close that begins later finds the kind and removes it.
 *
 * The hook does not see when another process closes a handle of this one (DUPLICATE_CLOSE_SOURCE), or
 * when Wine's Unix side does. The host then reuses the value, and the call that makes the next handle
 * stores the new kind, for files too. A kind is wrong only if the hook sees neither the close nor the
 * call that makes the next handle. So an action that depends on the kind must be harmless if the kind
 * is wrong: closing a file on a carrier costs the scheduler time, and nothing else.
 *
 * If a thread is terminated inside a close, that value never has a kind again.
 */

#include <stdatomic.h>
#include <stddef.h>
#include "syscalls/handles/handle_kinds.h"

#define HANDLES 0x10000                         /* values up to 0x3fffc; 512 KB, of which only pages
                                                   in use are touched */

#define ENTRY_KIND    ((uint64_t)0xff)
#define ENTRY_CLOSING ((uint64_t)0x100)         /* one close under way; at most 0xffff */
#define ENTRY_NUMBER  ((uint64_t)0x1000000)     /* one step of the 40-bit number */

static _Atomic uint64_t entries[HANDLES];
static _Atomic uint64_t closes;                 /* how many have begun, plus how many have ended */

static _Atomic uint64_t *entry_of( uint64_t handle )
{
    return (handle >> 2) < HANDLES && !(handle & 3) ? &entries[handle >> 2] : NULL;
}

uint64_t ums_handle_will_be_made( void )
{
    return atomic_load( &closes );
}

void ums_handle_made( uint64_t handle, enum object_kind kind, uint64_t before )
{
    _Atomic uint64_t *entry = entry_of( handle );
    uint64_t old;

    if (!entry) return;
    old = atomic_load( entry );
    do
    {
        if (old / ENTRY_NUMBER > before || (old & (ENTRY_NUMBER - ENTRY_CLOSING))) return;
    }
    while (!atomic_compare_exchange_weak( entry, &old, (old & ~ENTRY_KIND) |
                                          (kind == KIND_OTHER ? KIND_UNKNOWN : kind) ));
}

/* Count one more close of the handle as under way, or one less. The number is taken before the entry
   changes, so the entry may already have a higher one. It keeps the higher one. */
static enum object_kind change( uint64_t handle, uint64_t closing )
{
    _Atomic uint64_t *entry = entry_of( handle );
    uint64_t old, number, mine;

    if (!entry) return KIND_UNKNOWN;
    mine = atomic_fetch_add( &closes, 1 ) + 1;
    old = atomic_load( entry );
    do number = old / ENTRY_NUMBER > mine ? old / ENTRY_NUMBER : mine;
    while (!atomic_compare_exchange_weak( entry, &old, number * ENTRY_NUMBER |
                                          (((old & (ENTRY_NUMBER - ENTRY_CLOSING)) + closing) &
                                           (ENTRY_NUMBER - ENTRY_CLOSING)) ));
    return (enum object_kind)(old & ENTRY_KIND);
}

enum object_kind ums_handle_will_close( uint64_t handle )
{
    return change( handle, ENTRY_CLOSING );
}

void ums_handle_was_closed( uint64_t handle )
{
    change( handle, 0 - ENTRY_CLOSING );
}

enum object_kind ums_handle_kind( uint64_t handle )
{
    _Atomic uint64_t *entry = entry_of( handle );

    return entry ? (enum object_kind)(atomic_load( entry ) & ENTRY_KIND) : KIND_UNKNOWN;
}
