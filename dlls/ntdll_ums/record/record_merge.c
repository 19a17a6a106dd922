/*
 * Reads the rings of a record as one sequence of events, in order of time. It depends on no host or heap.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It runs once, at the end of the process, and sorts the rings in place.
 */

#include "record.h"

struct reader
{
    struct ums_ring *ring;
    uint64_t at, end;
    uint64_t lost;
    int      ran_over;
};

static struct reader readers[RECORD_RINGS];

static struct ums_event *event_at( const struct ums_ring *ring, uint64_t at )
{
    return &ring->events[at & (((uint64_t)1 << ring->shift) - 1)];
}

static int was_written( const struct ums_ring *ring, uint64_t at )
{
    uint64_t what = atomic_load_explicit( &event_at( ring, at )->what, memory_order_acquire );

    return EVENT_KIND( what ) && EVENT_LAP( what ) == (at >> ring->shift & 7);
}

static uint64_t stamp_at( const struct ums_ring *ring, uint64_t at )
{
    return atomic_load_explicit( &event_at( ring, at )->stamp, memory_order_relaxed );
}

/* In the shared ring the stamps are almost in order: each was read before the place was claimed. */
static void sort( struct reader *reader )
{
    struct ums_ring *ring = reader->ring;
    uint64_t i, j;

    for (i = reader->at + 1; i < reader->end; i++)
    {
        uint64_t stamp = stamp_at( ring, i ), what = event_at( ring, i )->what;

        for (j = i; j > reader->at && stamp_at( ring, j - 1 ) > stamp; j--)
        {
            event_at( ring, j )->stamp = event_at( ring, j - 1 )->stamp;
            event_at( ring, j )->what = event_at( ring, j - 1 )->what;
        }
        event_at( ring, j )->stamp = stamp;
        event_at( ring, j )->what = what;
    }
}

/* Remove places that were claimed but never written. */
static void start_reader( struct reader *reader, struct ums_ring *ring )
{
    uint64_t head = atomic_load_explicit( &ring->head, memory_order_acquire ), at;
    uint64_t room = (uint64_t)1 << ring->shift;

    reader->ring = ring;
    reader->at = head > room - RECORD_SLACK ? head - (room - RECORD_SLACK) : 0;
    reader->lost = reader->at;
    reader->ran_over = reader->at != 0;
    reader->end = reader->at;
    for (at = reader->at; at < head; at++)
    {
        if (!was_written( ring, at ))
        {
            reader->lost++;
            continue;
        }
        event_at( ring, reader->end )->stamp = event_at( ring, at )->stamp;
        event_at( ring, reader->end )->what = event_at( ring, at )->what;
        reader->end++;
    }
    if (ring == &ums_record->ring[0]) sort( reader );
}

static uint64_t first_complete( void )
{
    uint64_t first = 0;
    unsigned int i;

    for (i = 0; i < RECORD_RINGS; i++)
    {
        const struct reader *r = &readers[i];

        if (!r->ran_over || r->at == r->end) continue;
        if (stamp_at( r->ring, r->at ) > first) first = stamp_at( r->ring, r->at );
    }
    return first;
}

static struct reader *oldest( void )
{
    struct reader *best = NULL;
    unsigned int i;

    for (i = 0; i < RECORD_RINGS; i++)
        if (readers[i].at < readers[i].end &&
            (!best || stamp_at( readers[i].ring, readers[i].at ) <
                      stamp_at( best->ring, best->at ))) best = &readers[i];
    return best;
}

uint64_t ums_record_merge( uint64_t *first )
{
    uint64_t lost = 0;
    uint32_t i;

    for (i = 0; i < RECORD_RINGS; i++)
    {
        start_reader( &readers[i], &ums_record->ring[i] );
        lost += readers[i].lost;
    }
    *first = first_complete();
    return lost;
}

struct ums_event *ums_record_next( void )
{
    struct reader *reader = oldest();

    return reader ? event_at( reader->ring, reader->at++ ) : NULL;
}
