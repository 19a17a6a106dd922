/*
 * The record's rings. record.h says how they are shared.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "record.h"

_Static_assert( sizeof(struct ums_event) == 16, "scripts/umstrace" );
_Static_assert( sizeof(struct ums_ring) == 64, "scripts/umstrace" );
_Static_assert( offsetof( struct ums_record, ring ) == 0x190, "scripts/umstrace" );
_Static_assert( EVENT_COUNT <= 32, "five bits" );

#define HEADER_SIZE ((sizeof(struct ums_record) + 0xfff) & ~(size_t)0xfff)
#define PAGE        0x1000

struct ums_record *ums_record;
int ums_recording;

size_t ums_record_size( uint32_t shift )
{
    return HEADER_SIZE + RECORD_RINGS * (sizeof(struct ums_event) << shift);
}

void ums_record_init( void *memory, uint32_t shift )
{
    static const char magic[8] = { 'U', 'M', 'S', 'R', 'I', 'N', 'G', '1' };
    struct ums_record *record = memory;
    unsigned int i;

    for (i = 0; i < sizeof(magic); i++) record->magic[i] = magic[i];
    record->shift = shift;
    record->rings = RECORD_RINGS;
    record->start = ums_stamp();
    for (i = 0; i < RECORD_RINGS; i++)
    {
        record->ring[i].events =
            (struct ums_event *)((char *)memory + HEADER_SIZE + i * (sizeof(struct ums_event) << shift));
        record->ring[i].shift = shift;
    }
    ums_record = record;
}

/* The lap distinguishes a place that was written in this lap from one written in the lap before. */
void ums_record_event( struct ums_ring *ring, uint64_t stamp, enum record_event event,
                       uint32_t scheduler, uint32_t worker, uint32_t arg )
{
    struct ums_event *place;
    uint64_t at;

    if (ring) at = atomic_load_explicit( &ring->head, memory_order_relaxed );
    else
    {
        ring = &ums_record->ring[0];
        at = atomic_fetch_add_explicit( &ring->head, 1, memory_order_relaxed );
    }
    place = &ring->events[at & (((uint64_t)1 << ring->shift) - 1)];
    atomic_store_explicit( &place->stamp, stamp, memory_order_relaxed );
    atomic_store_explicit( &place->what,
                           event | (at >> ring->shift & 7) << 5 | (uint64_t)scheduler << 8 |
                           (uint64_t)worker << 24 | (uint64_t)arg << 48, memory_order_release );
    if (ring != &ums_record->ring[0])
        atomic_store_explicit( &ring->head, at + 1, memory_order_release );
}

/* The next of the numbers 1 to most, again and again: 0 means nobody. */
static uint32_t next_number( _Atomic uint32_t *given, uint32_t most )
{
    return atomic_fetch_add( given, 1 ) % most + 1;
}

/* This touches the ring's pages now, so that no page fault happens in a switch. */
static struct ums_ring *take_ring( void )
{
    unsigned int i;

    for (i = 1; i < RECORD_RINGS; i++)
    {
        struct ums_ring *ring = &ums_record->ring[i];
        volatile char *p = (volatile char *)ring->events;
        size_t size = sizeof(struct ums_event) << ring->shift, at;

        if (atomic_exchange( &ring->taken, 1 )) continue;
        for (at = 0; at < size && !atomic_load( &ring->head ); at += PAGE) p[at] = 0;
        return ring;
    }
    return NULL;
}

static void note_thread( struct ums_scheduler *s, enum record_event event, uint32_t thread )
{
    ums_record_event( s->ring, ums_stamp(), event, s->number, thread & 0xffffff, thread >> 24 );
}

void ums_record_enter( struct ums_scheduler *s )
{
    s->ring = NULL;
    s->number = 0;
    if (!ums_recording) return;
    s->ring = take_ring();
    s->number = next_number( &ums_record->schedulers, RECORD_SCHEDULERS - 1 );
    note_thread( s, EVENT_ENTER, ke_thread_id() );
}

/* The thread may have been killed while it wrote an event. Nothing else writes to its ring. */
void ums_record_leave( struct ums_scheduler *s )
{
    ums_note_by( s, NULL, EVENT_LEAVE, 0 );
    if (s->ring) atomic_store( &s->ring->taken, 0 );
    s->ring = NULL;
}

void ums_record_worker( struct ums_context *w )
{
    uint32_t number = 0;

    if (ums_recording) number = next_number( &ums_record->workers, RECORD_WORKERS - 1 );
    atomic_store_explicit( &w->number, number, memory_order_relaxed );
    atomic_store_explicit( &w->call, 0, memory_order_relaxed );
}
