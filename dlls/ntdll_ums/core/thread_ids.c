/*
 * From a thread's id to its context. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ids are multiples of four, and small: the system assigns the lowest free one. They index a table
 * that consists of blocks. A block is allocated when it is needed and is never freed. An entry holds
 * the index of the context's slot plus one, or 0 for none. There is no lock, and readers write nothing.
 *
 * An entry is only a hint, because entry and id are two words: a reader confirms it by the context's
 * own id. The id is stored first, then the entry. When a thread has ended, the entry is cleared first.
 * So a lookup finds every thread that was created before it: the entry is already there, and clearing
 * the entry of an older thread with the same id cannot have removed it, because the entry is cleared
 * by one compare-and-exchange that names the older thread's context. A lookup of a thread that is just
 * ending may find it or not, as with the system.
 *
 * One context may have had two threads with the same id, one after the other. The first no longer
 * exists when the system assigns its id again, but the entry of a killed thread is cleared by the
 * thread that killed it, which may be late. So the entry is cleared before the context's state becomes
 * dead: until then the context takes no new thread.
 *
 * For an id outside the table, or in a block that could not be allocated, all contexts are searched.
 */

#include "ums_core.h"

#define BLOCK_ENTRIES 4096
#define BLOCKS        4096                      /* ids below 2^26 */

typedef _Atomic uint32_t entry_t;

static _Atomic(entry_t *) blocks[BLOCKS];
static _Atomic uint32_t unlisted;               /* a context has had an id outside; never reset */

static entry_t *find_entry( uint32_t tid )
{
    uint32_t index = tid / 4;
    entry_t *block;

    if (tid % 4 || index / BLOCK_ENTRIES >= BLOCKS) return NULL;
    block = atomic_load( &blocks[index / BLOCK_ENTRIES] );
    return block ? &block[index % BLOCK_ENTRIES] : NULL;
}

/* If two threads allocate the same block at once, one of the two blocks stays unused for good. */
static entry_t *make_entry( uint32_t tid )
{
    uint32_t index = tid / 4;
    entry_t *block, *expected = NULL;

    if (tid % 4 || index / BLOCK_ENTRIES >= BLOCKS) return NULL;
    if (!atomic_load( &blocks[index / BLOCK_ENTRIES] ))
    {
        if (!(block = ke_reserve( BLOCK_ENTRIES * sizeof(*block) )) ||
            !ke_commit( block, BLOCK_ENTRIES * sizeof(*block) )) return NULL;
        atomic_compare_exchange_strong( &blocks[index / BLOCK_ENTRIES], &expected, block );
    }
    return find_entry( tid );
}

void ums_thread_id_set( struct ums_context *context, uint32_t tid )
{
    entry_t *entry = make_entry( tid );

    atomic_store( &context->tid, tid );
    if (entry) atomic_store( entry, ums_context_index( context ) + 1 );
    else atomic_store( &unlisted, 1 );
}

void ums_thread_id_clear( struct ums_context *context, uint32_t tid )
{
    uint32_t index = ums_context_index( context ) + 1;
    entry_t *entry = find_entry( tid );

    if (entry) atomic_compare_exchange_strong( entry, &index, 0 );
    atomic_compare_exchange_strong( &context->tid, &tid, 0 );
}

/* The context may be live or not. */
static struct ums_context *listed( uint32_t tid )
{
    entry_t *entry = find_entry( tid );
    uint32_t index = entry ? atomic_load( entry ) : 0;
    struct ums_context *context;

    if (!index) return NULL;
    context = ums_pool_any( &ums_context_pool, index - 1 );
    return atomic_load( &context->tid ) == tid ? context : NULL;
}

static int is_live( struct ums_context *context )
{
    return ums_context_check( context ) && !(atomic_load( &context->flags ) & CONTEXT_TERMINATED);
}

struct ums_context *ums_context_of_thread( uint32_t tid )
{
    struct ums_context *context;
    uint32_t i, made;

    if (!tid) return NULL;
    if ((context = listed( tid ))) return is_live( context ) ? context : NULL;
    if (!atomic_load( &unlisted )) return NULL;
    made = ums_pool_made( &ums_context_pool );
    for (i = 0; i < made; i++)
    {
        context = ums_pool_any( &ums_context_pool, i );
        if (atomic_load( &context->tid ) == tid && is_live( context )) return context;
    }
    return NULL;
}
