/*
 * How many schedulers there are, and how many workers in which state. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * No thread is stopped for the count: each word is read once, so the sums combine slightly different
 * moments. A slot whose context ends during the count may be counted or not.
 */

#include "ums_core.h"
#include "private/hud.h"

static void count_worker( struct ums_census *census, uint64_t word )
{
    switch (word_state( word ))
    {
    case WORKER_NONE:
    case WORKER_DEAD:
        break;
    case WORKER_CARRIED:
    case WORKER_RUNNING:
    case WORKER_INKERNEL:
        census->running++;
        break;
    case WORKER_BLOCKED:
        if (!(word & WORD_WAITS) && (word & (WORD_STOPPED | WORD_PREEMPTED))) census->suspended++;
        else census->blocked++;
        break;
    default:
        if (word & WORD_HALTED) census->suspended++;
        else census->ready++;
        break;
    }
}

void ums_take_census( struct ums_census *census )
{
    uint32_t i, made = ums_pool_made( &ums_context_pool );

    *census = (struct ums_census){ 0 };
    for (i = 0; i < made; i++)
    {
        struct ums_context *context = ums_pool_at( &ums_context_pool, i );

        if (!context) continue;
        if (context->kind == CONTEXT_SCHEDULER) census->schedulers++;
        else count_worker( census, atomic_load_explicit( &context->word, memory_order_relaxed ) );
    }
    made = ums_pool_made( &ums_scheduler_pool );
    for (i = 0; i < made; i++)
    {
        struct ums_scheduler *s = ums_pool_any( &ums_scheduler_pool, i );

        census->executed += atomic_load_explicit( &s->executed, memory_order_relaxed );
    }
}

/* Each scheduler has its own counters. Only switches that end after this function began may be missing. */
void ums_count_switches( uint64_t *carried, uint64_t *sent_home )
{
    uint32_t i, made = ums_pool_made( &ums_scheduler_pool );

    *carried = *sent_home = 0;
    for (i = 0; i < made; i++)
    {
        struct ums_scheduler *s = ums_pool_any( &ums_scheduler_pool, i );

        *carried   += atomic_load_explicit( &s->carried, memory_order_relaxed );
        *sent_home += atomic_load_explicit( &s->sent_home, memory_order_relaxed );
    }
}
