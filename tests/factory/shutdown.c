/*
 * White box, worker factories: shutting down, and several on one port.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

void shutting_down_counts_who_is_not_ready( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b;
    struct ums_packet packet;
    ums_status status;
    uint32_t n;

    (void)state;
    atomic_store( &f->min, 2 );
    b = ums_factory_make( f );
    ums_factory_made( f, b, STATUS_SUCCESS );
    assert_false( begins( f, a ) );
    assert_int_equal( ums_factory_shutdown( f ), 1 );
    assert_int_equal( ums_factory_shutdown( f ), 0 );
    assert_int_equal( ums_factory_wait_end( f, a, &packet, 1, &n ), ums_guess.wait_shut );
    assert_int_equal( ums_factory_ready( f, b ), ums_guess.ready_shut );
    assert_true( ums_factory_wait_begin( f, b, &packet, 1, &n, &status ) );
    assert_int_equal( status, ums_guess.wait_shut );
    assert_int_equal( ums_factory_release( f ), ums_guess.release_shut );
    assert_int_equal( ums_factory_set( f, 4, 0 ), ums_guess.set_shut );
    atomic_store( &f->min, 5 );
    assert_null( ums_factory_make( f ) );
    ends( a );
    ends( b );
    finish( f );
}

static void *waits_for_ever( void *arg )
{
    struct ums_hand *h = arg;
    struct ums_packet packet;
    ums_status status;
    uint32_t n;

    if (!ums_factory_wait_begin( atomic_load( &h->factory ), h, &packet, 1, &n, &status ))
        status = ums_factory_wait_end( atomic_load( &h->factory ), h, &packet, 1, &n );
    return (void *)(intptr_t)status;
}

void shutting_down_wakes_who_sleeps( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    pthread_t thread;
    void *status;

    (void)state;
    assert_int_equal( ums_factory_set( f, 4, 1 ), STATUS_SUCCESS );     /* it is not to leave */
    assert_int_equal( pthread_create( &thread, NULL, waits_for_ever, a ), 0 );
    while (state_of( a ) != HAND_ASLEEP) usleep( 100 );
    ums_factory_shutdown( f );
    pthread_join( thread, &status );
    assert_int_equal( (ums_status)(intptr_t)status, ums_guess.wait_shut );
    ends( a );
    finish( f );
}

static struct ums_factory *closing;

static int64_t shut_down( int64_t time )
{
    if (closing) ums_factory_shutdown( closing );
    closing = NULL;
    return time;
}

/* A thread was wanted when the manager looked. */
void shutting_down_is_before_or_after_making( void **state )
{
    struct ums_factory *f = factory( 2, 0 );

    (void)state;
    atomic_store( &f->min, 1 );
    closing = f;
    fake_on_clock = shut_down;
    assert_null( ums_factory_make( f ) );
    assert_null( closing );
    finish( f );
}

/* It sleeps on a port, or for a thread that has just ended; nothing else would tell it that there is
   nothing to wait for any more. */
void shutting_down_tells_who_looks_after_the_port( void **state )
{
    struct ums_factory *f = factory( 2, 0 );

    (void)state;
    assert_int_equal( ums_factory_set( f, 3, 1 ), STATUS_SUCCESS );
    assert_true( ums_factory_is_active( f ) );
    atomic_store( &manager_wakes, 0 );
    ums_factory_shutdown( f );
    assert_false( ums_factory_is_active( f ) );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    finish( f );

    f = factory( 2, 0 );                                /* it has never been there for this one */
    atomic_store( &manager_wakes, 0 );
    finish( f );
    assert_int_equal( atomic_load( &manager_wakes ), 0 );
}

void factories_of_one_port_share_it( void **state )
{
    struct ums_factory *f = factory( 1, 0 ), *g;
    struct ums_hand *a = hand( f ), *b;
    int before = atomic_load( &queues_closed );

    (void)state;
    atomic_fetch_add( &f->queue->refs, 1 );
    g = ums_factory_alloc( f->queue, 0, NULL );
    b = hand( g );
    assert_false( begins( f, a ) );
    assert_false( begins( g, b ) );
    ums_factory_release( f );
    is_given( b );
    ums_factory_release( f );
    assert_int_equal( state_of( a ), HAND_WAITING );
    assert_true( ums_hand_blocks( b ) );
    is_given( a );
    ends( a );
    ends( b );
    finish( f );
    assert_int_equal( atomic_load( &queues_closed ), before );
    finish( g );
    assert_int_equal( atomic_load( &queues_closed ), before + 1 );
}

void what_a_shut_one_leaves_is_for_the_other( void **state )
{
    struct ums_factory *f = factory( 1, 0 ), *g;
    struct ums_hand *a = hand( f );
    struct ums_packet packet;
    uint32_t n;

    (void)state;
    atomic_fetch_add( &f->queue->refs, 1 );
    g = ums_factory_alloc( f->queue, 0, NULL );
    assert_int_equal( ums_factory_set( g, 3, 1 ), STATUS_SUCCESS );
    assert_false( begins( f, a ) );
    post( f, 1 );
    ums_queue_check( f->queue );
    assert_int_equal( state_of( a ), HAND_GIVEN );
    ums_factory_shutdown( f );
    atomic_store( &manager_wakes, 0 );
    assert_int_equal( ums_factory_wait_end( f, a, &packet, 1, &n ), ums_guess.wait_shut );
    assert_int_equal( pending( g ), 1 );
    assert_true( ums_factory_wants( g ) );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    ends( a );
    finish( f );
    finish( g );
}
