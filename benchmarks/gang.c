/*
 * The arms that go through the sample scheduler, samples/sched.c, and the system's thread pool as
 * its rival.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sample knows no batches: its workers wait for the next one at a gate, as threads would.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "sched.h"
#include "bench.h"

#define YIELD_WORKERS 1000
#define ITEM_WORKERS  100
#define FIRST_ITEMS   20000             /* as many in the first batch; if one takes longer than */
#define SLOW_ITEM_NS  2000              /* this, in all of them */
#define FIRST_TRIES   4

struct gang
{
    struct sched_pool *pool;
    void (*body)( struct gang *gang, BOOL first );
    unsigned int       count;
    unsigned int       ops;
    HANDLE             done;            /* auto-reset: all have come back to the gate */
    volatile LONG      gate;            /* number of the batch */
    volatile LONG      quit;
    volatile LONG      born;            /* tells which worker is the first */
    volatile LONG      running;
    double             start, end;
    DECLSPEC_ALIGN(64)
    volatile LONG      arrived;         /* yield: workers that have passed the gate */
    volatile LONG      finished;        /* yield: the first has measured */
    struct item       *items;
    volatile LONG      submitted;
    DECLSPEC_ALIGN(64)
    volatile LONG      next;            /* items: who comes next takes this one */
};

static BOOL failed( const char *what )
{
    printf( "umsbench: %s failed, error %lu\n", what, GetLastError() );
    return FALSE;
}

static DWORD WINAPI gang_thread( void *arg )
{
    struct gang *gang = arg;
    BOOL first = InterlockedIncrement( &gang->born ) == 1;
    LONG seen = 0;

    for (;;)
    {
        while (gang->gate == seen)
            WaitOnAddress( &gang->gate, &seen, sizeof(seen), INFINITE );
        seen = gang->gate;
        if (gang->quit) return 0;
        gang->body( gang, first );
        if (InterlockedDecrement( &gang->running )) continue;
        if (gang->items) gang->end = stats_now();
        SetEvent( gang->done );
    }
}

static void gang_go( struct gang *gang )
{
    gang->running = gang->count;
    gang->start = stats_now();
    InterlockedIncrement( &gang->gate );
    WakeByAddressAll( (void *)&gang->gate );
}

static void gang_stop( struct arm *arm )
{
    struct gang *gang = arm->state;

    gang->quit = TRUE;
    gang_go( gang );
    sched_finish( gang->pool );
    sched_destroy( gang->pool );
    CloseHandle( gang->done );
    free( gang->items );
    _aligned_free( gang );
}

static BOOL gang_start( struct arm *arm, unsigned int schedulers, unsigned int count,
                        void (*body)( struct gang *gang, BOOL first ) )
{
    struct gang *gang = _aligned_malloc( sizeof(*gang), 64 );
    unsigned int i;

    ZeroMemory( gang, sizeof(*gang) );
    gang->body = body;
    gang->count = count;
    gang->done = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!(gang->pool = sched_create( schedulers, count ))) return failed( "sched_create" );
    for (i = 0; i < count; i++)
        if (!sched_spawn( gang->pool, gang_thread, gang )) return failed( "sched_spawn" );
    if (!sched_start( gang->pool )) return failed( "sched_start" );
    arm->state = gang;
    arm->fixed = TRUE;
    arm->stop = gang_stop;
    return TRUE;
}

/* ---- execute + yield, in turn ---- */

/* All yield; the first measures rounds in which all others are past the gate and none has gone
   back to it. */
static void yield_body( struct gang *gang, BOOL first )
{
    unsigned int i;

    InterlockedIncrement( &gang->arrived );
    if (!first)
    {
        while (!gang->finished) UmsThreadYield( SCHED_YIELD );
        return;
    }
    while ((ULONG)gang->arrived < gang->count) UmsThreadYield( SCHED_YIELD );
    gang->start = stats_now();
    for (i = 0; i < gang->ops; i++) UmsThreadYield( SCHED_YIELD );
    gang->end = stats_now();
    gang->finished = TRUE;
}

static double yield_batch( struct arm *arm )
{
    struct gang *gang = arm->state;

    gang->ops = arm->ops / gang->count;
    gang->arrived = 0;
    gang->finished = FALSE;
    gang_go( gang );
    WaitForSingleObject( gang->done, INFINITE );
    return (gang->end - gang->start) / ((double)gang->ops * gang->count);
}

BOOL gang_start_yield( struct arm *arm )
{
    arm->batch = yield_batch;
    return gang_start( arm, 1, YIELD_WORKERS, yield_body );
}

/* ---- work items ---- */

void item_run( struct item *item )
{
    ULONG64 value = item->value;
    unsigned int i;

    for (i = 0; i < 16; i++)
    {
        value ^= value >> 29;
        value *= 0xbf58476d1ce4e5b9;
    }
    item->value = value;
    item->runs++;
}

BOOL items_check( struct item *items, unsigned int count )
{
    unsigned int i;

    for (i = 0; i < count; i++)
    {
        if (items[i].runs != 1)
        {
            printf( "umsbench: work item %u ran %lu times\n", i, items[i].runs );
            return FALSE;
        }
        items[i].runs = 0;
    }
    return TRUE;
}

/* One item, then the scheduler decides who is next. */
static void items_body( struct gang *gang, BOOL first )
{
    LONG number;

    (void)first;
    while ((ULONG)(number = InterlockedIncrement( &gang->next ) - 1) < gang->ops)
    {
        while (number >= gang->submitted) UmsThreadYield( SCHED_YIELD );
        item_run( &gang->items[number] );
        UmsThreadYield( SCHED_YIELD );
    }
}

static double run_items( struct gang *gang, unsigned int count )
{
    unsigned int i;

    gang->ops = count;
    gang->next = gang->submitted = 0;
    gang_go( gang );
    for (i = 0; i < count; i++)
    {
        gang->items[i].value = i;
        gang->submitted = i + 1;
    }
    WaitForSingleObject( gang->done, INFINITE );
    if (!items_check( gang->items, count )) return -1;
    return (gang->end - gang->start) / count;
}

static double items_batch( struct arm *arm )
{
    return run_items( arm->state, arm->ops );
}

/* The engine handoff would take a quarter of an hour for all batches. The best of a few tries says
   whether it is that, and not what others do on this machine. */
static double first_items_batch( struct arm *arm )
{
    double value, best = 0;
    unsigned int i;

    arm->batch = items_batch;
    for (i = 0; i < FIRST_TRIES; i++)
    {
        if ((value = run_items( arm->state, FIRST_ITEMS )) < 0) return value;
        if (!i || value < best) best = value;
        if (best <= SLOW_ITEM_NS) return best;
    }
    stats_note( "%u work items a batch, not %u, because they are slow", FIRST_ITEMS, arm->ops );
    arm->ops = FIRST_ITEMS;
    return best;
}

BOOL gang_start_items( struct arm *arm )
{
    arm->batch = first_items_batch;
    if (!gang_start( arm, 2, ITEM_WORKERS, items_body )) return FALSE;
    ((struct gang *)arm->state)->items = calloc( arm->ops, sizeof(struct item) );
    return TRUE;
}

/* ---- the same with the system's thread pool ---- */

struct pool_state
{
    volatile LONG left;
    double        end;
    HANDLE        done;
    struct item   items[];
};

static struct pool_state *pool;         /* an item has no room for it */

static void CALLBACK pool_callback( PTP_CALLBACK_INSTANCE instance, void *context )
{
    (void)instance;
    item_run( context );
    if (InterlockedDecrement( &pool->left )) return;
    pool->end = stats_now();
    SetEvent( pool->done );
}

static double pool_batch( struct arm *arm )
{
    double start = stats_now();
    unsigned int i;

    pool->left = arm->ops;
    for (i = 0; i < arm->ops; i++)
    {
        pool->items[i].value = i;
        if (TrySubmitThreadpoolCallback( pool_callback, &pool->items[i], NULL )) continue;
        failed( "TrySubmitThreadpoolCallback" );
        return -1;
    }
    WaitForSingleObject( pool->done, INFINITE );
    if (!items_check( pool->items, arm->ops )) return -1;
    return (pool->end - start) / arm->ops;
}

static void pool_stop( struct arm *arm )
{
    (void)arm;
    CloseHandle( pool->done );
    free( pool );
}

BOOL threads_start_items( struct arm *arm )
{
    pool = calloc( 1, sizeof(*pool) + arm->ops * sizeof(pool->items[0]) );
    pool->done = CreateEventW( NULL, FALSE, FALSE, NULL );
    arm->fixed = TRUE;
    arm->batch = pool_batch;
    arm->stop = pool_stop;
    return TRUE;
}
