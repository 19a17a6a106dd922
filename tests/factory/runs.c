/*
 * White box, worker factories: who runs, and how many.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

void who_waited_shortest_comes_first( void **state )
{
    struct ums_factory *f = factory( 4, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f ), *c = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_false( begins( f, c ) );
    ums_factory_release( f );
    is_given( c );
    assert_int_equal( state_of( b ), HAND_WAITING );
    ums_factory_release( f );
    is_given( b );
    ums_factory_release( f );
    is_given( a );
    assert_int_equal( running( f ), 3 );
    ends( a );
    ends( b );
    ends( c );
    finish( f );
}

void no_more_run_than_the_port_allows( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f ), *c = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_false( begins( f, c ) );
    ums_factory_release( f );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( c );
    assert_int_equal( state_of( b ), HAND_WAITING );
    assert_int_equal( pending( f ), 2 );

    assert_true( ums_hand_blocks( c ) );                /* another one in its place */
    is_given( b );
    assert_int_equal( state_of( a ), HAND_WAITING );
    ums_hand_is_back( c );                              /* too many for a moment */
    assert_int_equal( running( f ), 2 );
    assert_false( begins( f, c ) );                     /* it is one of two: not its turn */
    assert_int_equal( pending( f ), 1 );
    assert_int_equal( running( f ), 1 );
    assert_true( begins( f, b ) );                      /* the one that runs takes the next */
    assert_int_equal( pending( f ), 0 );
    ends( a );
    ends( b );
    ends( c );
    finish( f );
}

void a_call_that_may_block_counts_after_the_second_look( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( b );
    atomic_store( &manager_wakes, 0 );
    assert_true( ums_hand_enters( b ) );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );       /* somebody has to look */
    assert_true( ums_queue_watch( f->queue, 100 ) );
    assert_int_equal( state_of( a ), HAND_WAITING );
    ums_hand_is_back( b );                              /* quick: nothing has happened */
    assert_true( ums_hand_enters( b ) );
    now += 100;
    assert_true( ums_queue_watch( f->queue, 100 ) );    /* another call: the first look */
    assert_true( ums_queue_watch( f->queue, 100 ) );    /* a look for another reason, at once */
    assert_int_equal( state_of( a ), HAND_WAITING );
    now += 100;
    assert_false( ums_queue_watch( f->queue, 100 ) );
    is_given( a );
    assert_int_equal( state_of( b ), HAND_BLOCKED );
    ums_hand_is_back( b );
    assert_int_equal( running( f ), 2 );
    ends( a );
    ends( b );
    finish( f );
}

void nobody_looks_where_no_packet_waits( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    ums_factory_release( f );
    is_given( a );
    atomic_store( &manager_wakes, 0 );
    assert_true( ums_hand_enters( a ) );
    assert_int_equal( atomic_load( &manager_wakes ), 0 );
    ums_factory_release( f );                           /* now one does */
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    ums_hand_is_back( a );
    assert_false( ums_queue_watch( f->queue, 0 ) );
    ends( a );
    finish( f );
}

/* It is blocked, and stays so until it is over: nothing about it has to be looked at. */
void nobody_looks_at_a_call_that_took_too_long( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    ums_factory_release( f );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( b );
    assert_true( ums_hand_enters( b ) );
    assert_true( ums_queue_watch( f->queue, 100 ) );
    now += 100;
    ums_queue_watch( f->queue, 100 );
    is_given( a );                                      /* in its place, and one packet more waits */
    atomic_store( &manager_wakes, 0 );
    assert_false( ums_queue_watch( f->queue, 100 ) );
    assert_int_equal( atomic_load( &manager_wakes ), 0 );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    ums_hand_is_back( b );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    assert_false( begins( f, b ) );                     /* one of two that run */
    assert_true( begins( f, a ) );
    ends( a );
    ends( b );
    finish( f );
}

/* A thread that stands still between the count and its word: the manager looks again, but not at once. */
void who_is_about_to_enter_is_looked_at_later( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( a );
    atomic_store( &a->entered, 1 );
    atomic_fetch_add( &f->queue->in_kernel, 1 );
    ums_queue_check( f->queue );
    atomic_store( &manager_wakes, 0 );
    assert_true( ums_queue_watch( f->queue, 100 ) );
    assert_int_equal( atomic_load( &manager_wakes ), 0 );
    assert_int_equal( state_of( a ), HAND_RUNNING );
    assert_true( ums_hand_enters( a ) );
    ums_hand_is_back( a );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    assert_true( begins( f, a ) );
    ends( a );
    finish( f );
}
