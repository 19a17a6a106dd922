/*
 * White box, worker factories: when another thread is wanted.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

void the_four_conditions( void **state )
{
    struct ums_factory *f = factory( 1, 2 );
    struct ums_hand *a, *b;

    (void)state;
    assert_false( ums_factory_wants( f ) );
    post( f, 1 );
    assert_false( ums_factory_wants( f ) );             /* nothing is bound, nobody was released */
    assert_int_equal( ums_factory_set( f, 3, 1 ), STATUS_SUCCESS );
    assert_true( ums_factory_wants( f ) );
    assert_int_equal( ums_factory_set( f, 6, 1 ), STATUS_SUCCESS );
    assert_false( ums_factory_wants( f ) );             /* paused */
    assert_int_equal( ums_factory_set( f, 6, 0 ), STATUS_SUCCESS );
    assert_int_equal( ums_factory_set( f, 3, (uint32_t)-1 ), STATUS_SUCCESS );
    assert_false( ums_factory_wants( f ) );
    assert_int_equal( ums_factory_release( f ), STATUS_SUCCESS );
    assert_true( ums_factory_wants( f ) );

    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_SUCCESS );
    assert_false( ums_factory_wants( f ) );             /* one is on its way */
    assert_int_equal( ums_factory_ready( f, a ), STATUS_SUCCESS );
    assert_true( ums_factory_wants( f ) );              /* two packets, one hand that comes */
    b = ums_factory_make( f );
    ums_factory_made( f, b, STATUS_SUCCESS );
    ums_factory_release( f );
    assert_int_equal( ums_factory_ready( f, b ), STATUS_SUCCESS );
    assert_false( ums_factory_wants( f ) );             /* the maximum */
    assert_true( begins( f, a ) );
    ends( b );
    assert_false( ums_factory_wants( f ) );             /* enough run */
    assert_true( ums_hand_blocks( a ) );
    assert_true( ums_factory_wants( f ) );
    ends( a );
    finish( f );
}

void who_is_on_its_way_is_counted_on( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a;

    (void)state;
    ums_factory_release( f );
    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_SUCCESS );
    assert_int_equal( ums_factory_ready( f, a ), STATUS_SUCCESS );
    assert_false( ums_factory_wants( f ) );             /* it will come for the packet */
    assert_true( begins( f, a ) );
    ums_factory_release( f );
    assert_true( ums_factory_wants( f ) );
    ends( a );
    finish( f );
}

/* It is ready, and waits for something else: nobody counts on it until that is over. */
void who_blocks_on_its_way_is_not_counted_on( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a;

    (void)state;
    ums_factory_release( f );
    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_SUCCESS );
    assert_false( ums_hand_counts( a ) );               /* not ready */
    assert_false( ums_hand_blocks( a ) );
    assert_int_equal( ums_factory_ready( f, a ), STATUS_SUCCESS );
    assert_true( ums_hand_counts( a ) );
    assert_false( ums_hand_enters( a ) );
    assert_false( ums_factory_wants( f ) );
    atomic_store( &manager_wakes, 0 );
    assert_true( ums_hand_blocks( a ) );
    assert_true( ums_factory_wants( f ) );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    assert_false( ums_hand_blocks( a ) );               /* in a callback */
    ums_hand_is_back( a );
    ums_hand_is_back( a );
    assert_int_equal( atomic_load( &f->coming ), 1 );
    assert_false( ums_factory_wants( f ) );
    assert_true( ums_hand_blocks( a ) );
    assert_true( begins( f, a ) );                      /* it has left that call by an exception */
    assert_true( ums_hand_blocks( a ) );
    ums_hand_is_back( a );
    assert_int_equal( atomic_load( &f->coming ), 0 );
    ends( a );
    a = ums_factory_make( f );
    assert_null( a );
    ums_factory_release( f );
    a = ums_factory_make( f );
    ums_factory_made( f, a, STATUS_SUCCESS );
    assert_int_equal( ums_factory_ready( f, a ), STATUS_SUCCESS );
    assert_true( ums_hand_blocks( a ) );
    ends( a );                                          /* terminated there */
    assert_int_equal( atomic_load( &f->coming ), 0 );
    finish( f );
}

void the_manager_is_told_once( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a;
    int i;

    (void)state;
    atomic_store( &manager_wakes, 0 );
    for (i = 0; i < 5; i++) ums_factory_release( f );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_SUCCESS );
    ums_factory_release( f );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    assert_int_equal( ums_factory_ready( f, a ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &manager_wakes ), 2 );
    ends( a );
    finish( f );
}

void a_creation_that_failed_is_tried_later( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a;

    (void)state;
    ums_factory_release( f );
    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_NO_MEMORY );
    assert_int_equal( atomic_load( &f->last_status ), STATUS_NO_MEMORY );
    assert_true( ums_hand_free( a ) );
    ums_factory_unref( f );
    assert_int_equal( atomic_load( &f->total ), 0 );
    assert_true( ums_factory_wants( f ) );
    assert_null( ums_factory_make( f ) );
    now += 2 * FACTORY_RETRY;
    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_SUCCESS );
    ends( a );
    finish( f );
}

void the_minimum_needs_no_packet( void **state )
{
    struct ums_factory *f = factory( 1, 3 );
    struct ums_hand *a, *b;

    (void)state;
    assert_int_equal( ums_factory_set( f, 4, 4 ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_factory_set( f, 4, 2 ), STATUS_SUCCESS );
    assert_int_equal( ums_factory_set( f, 5, 1 ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_factory_set( f, 14, 4 ), STATUS_INVALID_PARAMETER );
    a = ums_factory_make( f );
    ums_factory_made( f, a, STATUS_SUCCESS );
    b = ums_factory_make( f );
    ums_factory_made( f, b, STATUS_SUCCESS );
    assert_null( ums_factory_make( f ) );
    ends( a );
    ends( b );
    finish( f );
}

/* The factory that gets the release has no thread for it, and may make none. */
void a_release_asks_the_other_factory( void **state )
{
    struct ums_factory *f = factory( 4, 1 ), *g;
    struct ums_hand *a = hand( f );

    (void)state;
    atomic_fetch_add( &f->queue->refs, 1 );
    g = ums_factory_alloc( f->queue, 4, NULL );
    assert_non_null( g );
    atomic_store( &g->binding, 1 );
    ums_factory_release( f );
    assert_true( begins( f, a ) );
    assert_true( ums_hand_block( a ) );
    atomic_store( &g->asked, 0 );               /* the manager has looked */
    atomic_store( &manager_wakes, 0 );
    ums_factory_release( f );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    assert_true( ums_factory_wants( g ) );
    assert_false( ums_factory_wants( f ) );
    ums_hand_back( a );
    assert_true( begins( f, a ) );
    assert_false( begins( f, a ) );
    ends( a );
    finish( g );
    finish( f );
}

/* Memory was short. */
void a_manager_that_was_not_made_is_asked_again( void **state )
{
    struct ums_factory *f = factory( 2, 0 );

    (void)state;
    atomic_store( &manager_wakes, 0 );
    ums_factory_release( f );
    ums_factory_release( f );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    ums_factories_forget_asked();
    ums_factory_release( f );
    assert_int_equal( atomic_load( &manager_wakes ), 2 );
    finish( f );
}

/* It waits without having said that it is ready. While it was not, no other was made; now it runs, and another packet waits. */
void who_was_never_ready_is_counted_on_no_more( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a;

    (void)state;
    ums_factory_release( f );
    a = ums_factory_make( f );
    assert_non_null( a );
    ums_factory_made( f, a, STATUS_SUCCESS );
    ums_factory_release( f );
    assert_false( ums_factory_wants( f ) );
    atomic_store( &manager_wakes, 0 );
    assert_true( begins( f, a ) );
    assert_true( ums_factory_wants( f ) );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    ends( a );
    finish( f );
}
