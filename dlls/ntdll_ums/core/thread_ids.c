/*
 * From a thread's id to its context. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ids are multiples of four, and small: the system gives the lowest that is free. So they are indices
 * of a table in blocks, which are made when they are needed and never go back. An entry is the index
 * of the context's slot, plus one; 0: nobody's. No lock, and readers write nothing.
 *
 * What a reader finds is a guess, and the context's own id has to confirm it: entry and id are two
 * words. The id is stored first, the entry behind it; when a thread has ended, the entry is taken away
 * first. So whoever knows of the thread, because it was made before, finds it: the entry is there
 * already and cannot have been taken away for an older thread of the same id, because that is done
 * with one exchange which names the older one's context. Whoever asks for a thread that is just
 * ending may find it or not, as with the system.
 *
 * The same context may have had two threads of one id, one after the other. The first is no more by
 * the time the system gives its id again, but a killed one's entry is cleared by whoever killed it,
 * which may be late. So that is done before its state says dead: until then the context takes no new
 * thread.
 *
 * Ids outside the table (or a block that could not be made) are searched for, one context after the
 * other.
 */

#include "ums_core.h"

#define BLOCK_ENTRIES 4096
#define BLOCKS        4096                      /* ids below 2^26 */

typedef _Atomic uint32_t entry_t;

static _Atomic(entry_t *) blocks[BLOCKS];
static _Atomic uint32_t unlisted;               /* there is a context with an id outside; for ever */

static entry_t *find_entry( uint32_t tid )
{
    uint32_t index = tid / 4;
    entry_t *block;

    if (tid % 4 || index / BLOCK_ENTRIES >= BLOCKS) return NULL;
    block = atomic_load( &blocks[index / BLOCK_ENTRIES] );
    return block ? &block[index % BLOCK_ENTRIES] : NULL;
}

/* Two that make the same block at a time: one of the two stays unused, and is address space only. */
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

/* Live or not. */
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

static int is_ending( struct ums_context *context )
{
    return atomic_load( &context->busy ) != 0;
}

static struct ums_context *find( uint32_t tid, int (*fits)( struct ums_context *context ) )
{
    struct ums_context *context;
    uint32_t i, made;

    if (!tid) return NULL;
    if ((context = listed( tid ))) return fits( context ) ? context : NULL;
    if (!atomic_load( &unlisted )) return NULL;
    made = ums_pool_made( &ums_context_pool );
    for (i = 0; i < made; i++)
    {
        context = ums_pool_any( &ums_context_pool, i );
        if (atomic_load( &context->tid ) == tid && fits( context )) return context;
    }
    return NULL;
}

struct ums_context *ums_context_of_thread( uint32_t tid )
{
    return find( tid, is_live );
}

struct ums_context *ums_context_of_ending( uint32_t tid )
{
    return find( tid, is_ending );
}
