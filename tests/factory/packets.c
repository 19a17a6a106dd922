/*
 * White box, worker factories: packets, in which order and how many at once.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

void packets_come_in_order_and_in_batches( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packets[8];
    ums_status status;
    uint64_t key;
    uint32_t n;

    (void)state;
    for (key = 1; key <= 5; key++) post( f, key );
    assert_true( ums_factory_wait_begin( f, a, packets, 3, &n, &status ) );
    assert_int_equal( n, 3 );
    for (key = 1; key <= 3; key++)
    {
        assert_int_equal( packets[key - 1].key, key );
        assert_int_equal( packets[key - 1].apc, key + 1 );
    }
    assert_true( ums_factory_wait_begin( f, a, packets, 8, &n, &status ) );
    assert_int_equal( n, 2 );
    assert_int_equal( packets[1].key, 5 );
    assert_int_equal( pending( f ), 0 );
    ends( a );
    finish( f );
}

void one_release_a_wait( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packets[8];
    ums_status status;
    uint32_t n;
    int i;

    (void)state;
    for (i = 0; i < 3; i++) ums_factory_release( f );
    for (i = 3; i; i--)
    {
        struct ums_factory_counts counts;

        ums_factory_count( f, &counts );
        assert_int_equal( counts.releases, i );
        assert_true( ums_factory_wait_begin( f, a, packets, 8, &n, &status ) );
        assert_int_equal( n, 1 );
        assert_int_equal( packets[0].key, 0 );
    }
    assert_false( begins( f, a ) );
    ends( a );
    finish( f );
}

/* However the two sources are mixed: two releases in one batch would keep one from other hands. */
void one_release_a_batch( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packets[8];
    int i, turns, releases = 3, posted = 5;
    ums_status status;
    uint32_t n;

    (void)state;
    for (i = 1; i <= posted; i++) post( f, i );
    for (i = 0; i < releases; i++) ums_factory_release( f );
    for (turns = 0; pending( f ); turns++)
    {
        int found = 0;

        assert_true( ums_factory_wait_begin( f, a, packets, 3, &n, &status ) );
        for (i = 0; i < (int)n; i++) if (!packets[i].key) found++;
        assert_true( found <= 1 );
        releases -= found;
        posted -= (int)n - found;
    }
    assert_int_equal( releases, 0 );
    assert_int_equal( posted, 0 );
    assert_true( turns <= 4 );                  /* and releases do not wait for the last packet */
    ends( a );
    finish( f );
}

void neither_source_starves_the_other( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packet;
    ums_status status;
    uint32_t n, i, released = 0;

    (void)state;
    for (i = 0; i < 4; i++) ums_factory_release( f );
    for (i = 1; i <= 4; i++) post( f, i );
    for (i = 0; i < 4; i++)
    {
        assert_true( ums_factory_wait_begin( f, a, &packet, 1, &n, &status ) );
        released += !packet.key;
    }
    assert_int_equal( released, 2 );
    for (i = 0; i < 4; i++) assert_true( begins( f, a ) );
    ends( a );
    finish( f );
}

void a_full_ring_takes_no_more( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_packet packet = { 1, 1, 1, 1 };
    int i;

    (void)state;
    for (i = 0; i < RING_SLOTS; i++)
    {
        assert_int_equal( ums_queue_room( f->queue ), i < RING_FULL );
        assert_true( ums_queue_put( f->queue, &packet ) );
    }
    assert_false( ums_queue_put( f->queue, &packet ) );
    ums_queue_give( f->queue, RING_SLOTS, 0 );
    for (i = 0; i < RING_SLOTS; i++) assert_true( ums_queue_drain( f->queue, &packet ) );
    assert_false( ums_queue_drain( f->queue, &packet ) );
    finish( f );
}

void a_drain_leaves_what_was_promised( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );
    struct ums_packet packet;

    (void)state;
    assert_false( begins( f, a ) );
    post( f, 1 );                               /* promised to a, which has not taken it */
    assert_int_equal( state_of( a ), HAND_GIVEN );
    assert_false( ums_queue_drain( f->queue, &packet ) );
    post( f, 2 );
    assert_true( ums_queue_drain( f->queue, &packet ) );
    assert_int_equal( packet.key, 1 );
    assert_false( ums_queue_drain( f->queue, &packet ) );
    is_given( a );

    assert_int_equal( ums_factory_release( f ), STATUS_SUCCESS );
    assert_false( ums_queue_drain( f->queue, &packet ) );       /* a release is in no port */
    assert_true( begins( f, b ) );
    assert_int_equal( pending( f ), 0 );
    ends( a );
    ends( b );
    finish( f );
}

void a_port_is_served_until_the_last_factory( void **state )
{
    struct ums_factory *f = factory( 2, 0 ), *g;
    struct ums_packet packet;

    (void)state;
    atomic_fetch_add( &f->queue->refs, 1 );
    g = ums_factory_alloc( f->queue, 0, NULL );
    assert_non_null( g );
    assert_false( ums_queue_is_served( f->queue ) );
    atomic_store( &f->binding, 1 );
    atomic_store( &g->binding, 1 );
    assert_true( ums_queue_is_served( f->queue ) );
    post( f, 1 );
    ums_factory_shutdown( f );
    assert_true( ums_queue_is_served( f->queue ) );
    assert_false( ums_queue_must_return( f->queue ) );
    atomic_store( &g->binding, 0 );
    assert_true( ums_queue_must_return( f->queue ) );
    assert_true( ums_queue_drain( f->queue, &packet ) );
    assert_false( ums_queue_must_return( f->queue ) );
    atomic_store( &f->queue->moving, 1 );     /* the manager may be about to put one there */
    assert_true( ums_queue_must_return( f->queue ) );
    finish( g );
    finish( f );
}
