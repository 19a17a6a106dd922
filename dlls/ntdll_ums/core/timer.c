/*
 * One timer for all waits with a time-out. Host-free; ke_timer.c has the thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each context has a deadline in one array, which only its worker writes: a scan of a thousand reads
 * 8 KB, and the states of those whose time is over. A wait that ended early leaves its deadline in place
 * until the worker runs again. That costs one scan which finds nothing.
 *
 * No deadline is missed. The worker stores its deadline, changes its state, then reads next_look
 * (ums_timer_expect). The timer sets next_look to "never", scans all deadlines and states, then stores
 * the time of its next scan. All of these are sequentially consistent. If a scan did not see a wait,
 * the worker entered that wait after the scan had begun. Then the worker reads either "never", and
 * pokes the timer, or the time of the next scan, and pokes the timer if that time is too late. A poke
 * increments pokes. The timer read pokes before its scan, and does not sleep if it has changed since.
 *
 * A deadline later than next_look needs no poke: the timer scans all of them again by then.
 */

#include "wait.h"

#define IDLE 10000000                           /* 100 ns; between scans without a deadline */
#define STEP 500                                /* 100 ns; what Linux allows itself for a timer, too */

static _Atomic int64_t *deadlines;              /* by index of the context's slot */
static _Atomic int64_t next_look = INT64_MAX;   /* as ke_clock */
static _Atomic uint32_t pokes;

int ums_timer_init( void )
{
    size_t size = ums_context_pool.max * sizeof(*deadlines);
    _Atomic int64_t *memory = ke_reserve( size );

    if (!memory || !ke_commit( (void *)memory, size )) return 0;
    deadlines = memory;
    return 1;
}

/* Deadlines are rounded, so that one scan ends all the waits of one step: a thousand workers that sleep
   for a millisecond would otherwise cause a thousand scans of a thousand deadlines each. */
int64_t ums_timer_round_up( int64_t deadline )
{
    int64_t over = deadline % STEP;

    return !over || deadline > INT64_MAX - STEP ? deadline : deadline - over + STEP;
}

void ums_timer_set( struct ums_context *w, int64_t deadline )
{
    if (deadlines) atomic_store( &deadlines[ums_context_index( w )], deadline );
}

void ums_timer_poke( void )
{
    atomic_fetch_add( &pokes, 1 );
    ke_wake( &pokes, 0 );
}

void ums_timer_expect( int64_t deadline )
{
    if (deadline < atomic_load( &next_look )) ums_timer_poke();
}

/* Returns the time at which the next deadline is due. A deadline in the future is taken as it is: if
   nobody waits for it, the scan at that time finds nothing. Only one that is far in the future is
   compared with the worker's state: it may be that of a worker that was killed, and would never go. */
static int64_t look_at_all( int64_t now )
{
    uint32_t i, made = ums_pool_made( &ums_context_pool );
    int64_t first = INT64_MAX;

    for (i = 0; i < made; i++)
    {
        int64_t next = atomic_load( &deadlines[i] );

        if (!next) continue;
        if (next <= now || next - now > IDLE)
            next = ums_wait_look( ums_pool_any( &ums_context_pool, i ), &deadlines[i], now );
        if (next < first) first = next;
    }
    return first;
}

int ums_timer_round( void )
{
    uint32_t seen = atomic_load( &pokes );
    int64_t first, left;

    atomic_store( &next_look, INT64_MAX );
    first = look_at_all( ke_clock() );
    atomic_store( &next_look, first );
    left = first == INT64_MAX ? IDLE : first - ke_clock();
    if (left > 0) ke_wait( &pokes, seen, &left );
    return first != INT64_MAX;
}
