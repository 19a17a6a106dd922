/*
 * What kind of object a handle names.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A value that has a kind in the table is a handle of that kind: whatever is made, and whatever is
 * closed, by any thread of the process, passes the hook. A close takes the kind away before the host
 * knows of it. The hard part is the moment between the host's making a handle and the table's being
 * told. If somebody closes it in that moment, by a value that he should no longer have, and a file
 * gets the same value, then the maker must not store the kind of what is gone:
 *
 *  - each beginning and each end of a close takes a number and stores it with the value's entry,
 *    together with how many closes of that value are under way;
 *  - the maker reads the counter before it calls the host, and stores a kind only into an entry where
 *    no close is under way, with a number not above that. So no close of the value was under way at any
 *    time since the host has made the handle: one that began before would have ended in between, with
 *    a higher number. A close that begins later finds the kind, and takes it away.
 *
 * Not seen: a handle that another process takes out of this one (DUPLICATE_CLOSE_SOURCE), and one that
 * Wine's Unix side closes. Then the value is given again, and the call that makes the next handle with
 * it stores that one's kind, files included. Only if the hook sees neither the one nor the other is a
 * kind wrong. So what is done by kind must be harmless for a wrong one: closing a file on a carrier
 * takes the scheduler's time, and nothing else.
 *
 * A thread that is ended inside a close leaves its value without a kind for good.
 */

#include <stdatomic.h>
#include <stddef.h>
#include "handle_kinds.h"

#define HANDLES 0x10000                         /* values up to 0x3fffc; 512 KB that are not touched
                                                   where there are fewer */

#define ENTRY_KIND    ((uint64_t)0xff)
#define ENTRY_CLOSING ((uint64_t)0x100)         /* one close under way, of at most 0xffff */
#define ENTRY_NUMBER  ((uint64_t)0x1000000)     /* one step of the number, of 40 bits */

static _Atomic uint64_t entries[HANDLES];
static _Atomic uint64_t closes;                 /* beginnings and ends */

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

/* One more close of it is under way, or one less. The number is taken first: the entry may get a
   lower one than it has, of a close that began earlier. It keeps the higher. */
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
