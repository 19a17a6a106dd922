/*
 * Pools of objects whose memory is never returned to the system, so handles can be checked and stale
 * pointers stay readable.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A slot is a header and an object. Free slots form a stack. Its head carries a tag that changes with
 * every push. A thread that pops has read the slot behind the first one; if the first one was popped
 * and pushed in between, the exchange fails (ABA). Without a push the first one cannot come back.
 * There is no lock: a thread that is suspended anywhere in this file does not stop the others.
 */

#include "ums_core.h"

_Static_assert( sizeof(struct ums_pool_header) == 32, "where in a cache line objects begin" );

static struct ums_pool_header *pool_header( const struct ums_pool *pool, uint32_t index )
{
    return (struct ums_pool_header *)(pool->base + (size_t)index * pool->slot);
}

static struct ums_pool_header *header_of( const void *object )
{
    return (struct ums_pool_header *)object - 1;
}

int ums_pool_init( struct ums_pool *pool, size_t object, uint32_t max )
{
    pool->slot = POOL_SLOT( object );
    pool->max  = max;
    pool->base = ke_reserve( pool->slot * max );
    return pool->base != NULL;
}

static void *pool_pop( struct ums_pool *pool )
{
    uint64_t head = atomic_load( &pool->free );
    struct ums_pool_header *slot;

    for (;;)
    {
        uint64_t next;

        if (!(uint32_t)head) return NULL;
        slot = pool_header( pool, (uint32_t)head - 1 );
        next = (head >> 32) << 32 | atomic_load_explicit( &slot->next, memory_order_relaxed );
        if (atomic_compare_exchange_weak( &pool->free, &head, next )) return slot + 1;
    }
}

static void *pool_grow( struct ums_pool *pool )
{
    uint32_t index = atomic_load( &pool->made );

    /* committed before it is counted: whoever sees the count may read the slot */
    do
    {
        if (index >= pool->max) return NULL;
        if (!ke_commit( pool_header( pool, index ), pool->slot )) return NULL;
    }
    while (!atomic_compare_exchange_weak( &pool->made, &index, index + 1 ));
    return pool_header( pool, index ) + 1;
}

void *ums_pool_alloc( struct ums_pool *pool )
{
    void *object = pool_pop( pool );

    if (!object) object = pool_grow( pool );
    return object;
}

void ums_pool_free( struct ums_pool *pool, void *object )
{
    struct ums_pool_header *slot = header_of( object );
    uint32_t index = ums_pool_index( pool, object );
    uint64_t head = atomic_load( &pool->free );
    uint64_t next;

    do
    {
        atomic_store_explicit( &slot->next, (uint32_t)head, memory_order_relaxed );
        next = ((head >> 32) + 1) << 32 | (index + 1);
    }
    while (!atomic_compare_exchange_weak( &pool->free, &head, next ));
}

/* The caller has initialized the object and hands it out: from now on its address is a valid
   handle. */
void ums_pool_open( void *object )
{
    atomic_store( &header_of( object )->live, 1 );
}

int ums_pool_close( void *object )
{
    uint32_t live = 1;

    return atomic_compare_exchange_strong( &header_of( object )->live, &live, 0 );
}

uint32_t ums_pool_index( const struct ums_pool *pool, const void *object )
{
    return (uint32_t)(((char *)header_of( object ) - pool->base) / pool->slot);
}

uint32_t ums_pool_made( const struct ums_pool *pool )
{
    return atomic_load( &pool->made );
}

void *ums_pool_any( const struct ums_pool *pool, uint32_t index )
{
    return pool_header( pool, index ) + 1;
}

void *ums_pool_at( const struct ums_pool *pool, uint32_t index )
{
    struct ums_pool_header *slot = pool_header( pool, index );

    return atomic_load( &slot->live ) ? slot + 1 : NULL;
}
