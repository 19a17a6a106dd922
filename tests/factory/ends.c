/*
 * White box, worker factories: the end of a hand.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

/* The manager may look while the hand is still being taken out of the counts. */
void nobody_frees_a_hand_before_it_is_gone( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_true( ums_hand_exits( a ) );
    atomic_store( &a->gone, 0 );                /* as in the middle of it */
    if (atomic_load( &a->word ) & HAND_LINKED) ums_queue_purge( a->queue );
    assert_false( ums_hand_free( a ) );
    atomic_store( &a->gone, 1 );
    assert_true( ums_hand_free( a ) );
    ums_factory_unref( f );
    finish( f );
}

void a_hand_that_ends_takes_nothing_along( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f ), *c = hand( f ), *d = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_false( begins( f, c ) );
    assert_false( begins( f, d ) );
    ums_factory_release( f );
    assert_int_equal( state_of( d ), HAND_GIVEN );
    ends( d );                                          /* its packet is c's */
    is_given( c );
    ums_factory_release( f );
    assert_int_equal( state_of( b ), HAND_WAITING );
    ends( c );                                          /* its place is b's */
    is_given( b );
    assert_true( ums_hand_blocks( b ) );
    assert_int_equal( running( f ), 0 );
    ends( b );
    assert_int_equal( running( f ), 0 );
    ends( a );                                          /* off the stack */
    ums_factory_release( f );
    assert_int_equal( pending( f ), 1 );
    finish( f );
}

void an_ended_hand_on_the_stack_is_passed_over( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_true( ums_hand_exits( b ) );
    assert_false( ums_hand_free( b ) );                 /* somebody can still come across it */
    atomic_store( &manager_wakes, 0 );
    ums_factory_release( f );
    is_given( a );
    assert_true( atomic_load( &manager_wakes ) > 0 );
    assert_true( ums_hand_free( b ) );
    ums_factory_unref( f );
    ends( a );
    finish( f );
}

static jmp_buf terminated;

static void terminate( void )
{
    on_manager_wake = NULL;
    longjmp( terminated, 1 );
}

/* A thread may be terminated behind the call that wakes the manager. This one releases, finds an ended hand, and tells of it. */
void who_tells_of_an_ended_hand_has_done_all_else( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    ums_hand_exits( b );                                /* on top of the stack */
    on_manager_wake = terminate;
    if (!setjmp( terminated ))
    {
        ums_factory_release( f );
        fail();
    }
    is_given( a );
    assert_int_equal( running( f ), 1 );
    assert_int_equal( pending( f ), 0 );
    assert_true( ums_hand_free( b ) );
    ums_factory_unref( f );
    ends( a );
    finish( f );
}

/* Another thread has set its registers in its wait: it waits once more, and the first wait never returns. */
void who_left_its_wait_leaves_its_packet( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, a ) );
    ums_factory_release( f );
    assert_int_equal( state_of( a ), HAND_GIVEN );
    assert_true( begins( f, a ) );                      /* the same packet */
    assert_int_equal( running( f ), 1 );
    assert_int_equal( pending( f ), 0 );
    assert_false( begins( f, a ) );
    assert_int_equal( running( f ), 0 );
    ends( a );
    finish( f );
}
