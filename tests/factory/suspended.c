/*
 * White box, worker factories: hands whose thread another one suspends.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

static int is_marked( struct ums_hand *h )
{
    return (atomic_load( &h->word ) & HAND_SUSPENDED) != 0;
}

void who_is_suspended_gives_its_place( void **state )
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
    assert_ptr_equal( ums_hand_suspended( b ), f->queue );
    is_given( a );
    assert_int_equal( running( f ), 1 );
    assert_null( ums_hand_suspended( b ) );             /* once more */
    assert_int_equal( running( f ), 1 );
    ums_hand_resumed( b );                              /* too many for a moment */
    ums_hand_resumed( b );
    assert_int_equal( running( f ), 2 );
    assert_false( begins( f, b ) );
    assert_true( begins( f, a ) );
    assert_int_equal( running( f ), 1 );
    ends( a );
    ends( b );
    finish( f );
}

/* Nobody waits, so the factory makes another one. */
void who_is_suspended_is_replaced( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( a );
    assert_false( ums_factory_wants( f ) );
    atomic_store( &f->asked, 0 );
    atomic_store( &manager_wakes, 0 );
    ums_queue_check( ums_hand_suspended( a ) );
    assert_true( ums_factory_wants( f ) );
    assert_int_equal( atomic_load( &manager_wakes ), 1 );
    ends( a );
    finish( f );
}

/* It counts as blocked until the call is over, and nobody looks at it meanwhile. */
void who_is_suspended_in_a_call_is_blocked( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( b );
    assert_true( ums_hand_enters( b ) );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 1 );
    assert_ptr_equal( ums_hand_suspended( b ), f->queue );
    is_given( a );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    ums_hand_resumed( b );
    assert_int_equal( running( f ), 1 );
    ums_hand_is_back( b );
    assert_int_equal( running( f ), 2 );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    assert_true( ums_hand_blocks( b ) );
    assert_null( ums_hand_suspended( b ) );             /* it has given its place already */
    assert_int_equal( running( f ), 1 );
    ums_hand_resumed( b );
    ums_hand_is_back( b );
    assert_int_equal( running( f ), 2 );
    ends( a );
    ends( b );
    finish( f );
}

void who_is_suspended_where_it_waits_is_passed_over( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );
    struct ums_packet packet;
    uint32_t n = 0;

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_null( ums_hand_suspended( b ) );
    ums_factory_release( f );
    is_given( a );
    ums_factory_release( f );
    assert_int_equal( pending( f ), 1 );
    assert_int_equal( running( f ), 1 );
    ums_hand_resumed( b );                              /* on the stack no more: it looks itself */
    assert_int_equal( ums_hand_sleep( b, atomic_load( &b->word ), now ), WOKEN_POKED );
    assert_int_equal( ums_factory_wait_end( f, b, &packet, 1, &n ), STATUS_SUCCESS );
    assert_int_equal( n, 1 );
    assert_int_equal( pending( f ), 0 );
    assert_int_equal( running( f ), 2 );

    assert_false( begins( f, b ) );                     /* resumed in time */
    assert_null( ums_hand_suspended( b ) );
    ums_hand_resumed( b );
    ums_factory_release( f );
    is_given( b );
    ends( a );
    ends( b );
    finish( f );
}

/* It waits again where nothing is, and is found there. */
void who_was_passed_over_waits_again( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_null( ums_hand_suspended( b ) );
    ums_factory_release( f );
    is_given( a );
    ums_hand_resumed( b );
    assert_int_equal( ums_hand_sleep( b, atomic_load( &b->word ), now ), WOKEN_POKED );
    assert_false( ums_hand_begin_wait( b ) );
    ums_factory_release( f );
    is_given( b );
    ends( a );
    ends( b );
    finish( f );
}

/* It was suspended before it took the packet that it had been given. If it ends there, the packet is for others. */
void who_is_suspended_with_a_packet_keeps_it( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    ums_factory_release( f );
    ums_factory_release( f );
    assert_int_equal( state_of( b ), HAND_GIVEN );
    assert_ptr_equal( ums_hand_suspended( b ), f->queue );
    is_given( a );
    assert_int_equal( pending( f ), 0 );
    ums_hand_resumed( b );
    assert_int_equal( running( f ), 2 );
    is_given( b );
    assert_false( begins( f, b ) );
    assert_false( begins( f, a ) );

    ums_factory_release( f );
    assert_int_equal( state_of( a ), HAND_GIVEN );
    assert_ptr_equal( ums_hand_suspended( a ), f->queue );
    ends( a );
    is_given( b );
    assert_int_equal( running( f ), 1 );
    ends( b );
    finish( f );
}

void who_ends_suspended_has_given_its_place( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    ums_factory_release( f );
    ums_factory_release( f );
    is_given( b );
    assert_non_null( ums_hand_suspended( b ) );
    is_given( a );
    ends( b );
    assert_int_equal( running( f ), 1 );
    ends( a );
    finish( f );
}

/* Nobody of ours has resumed it: it finds the mark itself, wherever it changes something. */
void who_was_resumed_by_others_finds_its_mark( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packet;
    uint32_t n = 0;

    (void)state;
    assert_false( begins( f, a ) );
    ums_factory_release( f );
    is_given( a );
    assert_non_null( ums_hand_suspended( a ) );
    assert_int_equal( running( f ), 0 );
    assert_false( begins( f, a ) );
    assert_int_equal( running( f ), 0 );
    assert_null( ums_hand_suspended( a ) );
    ums_factory_release( f );
    assert_int_equal( ums_factory_wait_end( f, a, &packet, 1, &n ), STATUS_SUCCESS );
    assert_int_equal( n, 1 );
    assert_int_equal( running( f ), 1 );
    assert_non_null( ums_hand_suspended( a ) );
    assert_true( ums_hand_blocks( a ) );
    assert_int_equal( running( f ), 0 );
    ums_hand_is_back( a );
    assert_non_null( ums_hand_suspended( a ) );
    assert_true( ums_hand_enters( a ) );
    assert_false( is_marked( a ) );
    assert_int_equal( running( f ), 1 );
    ums_hand_is_back( a );
    ends( a );
    finish( f );
}

static struct ums_hand *changing;
static int was_changing;

static void look_whether_it_changes( void )
{
    was_changing |= ums_hand_is_changing( changing );
}

static void assert_it_was_changing( void )
{
    assert_true( was_changing );
    assert_false( ums_hand_is_changing( changing ) );
    was_changing = 0;
}

/* Whoever has stopped it there lets it go on. It wakes the manager in the middle: there is room, or an ended hand is off the stack. */
void who_changes_its_word_says_so( void **state )
{
    struct ums_factory *f = factory( 1, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );
    struct ums_packet packet;
    uint32_t n = 0;

    (void)state;
    changing = a;
    on_manager_wake = look_whether_it_changes;
    post( f, 1 );
    atomic_store( &f->queue->full, 1 );
    assert_true( begins( f, a ) );
    assert_it_was_changing();
    atomic_store( &f->queue->full, 0 );
    assert_false( begins( f, a ) );
    post( f, 2 );
    atomic_store( &f->queue->full, 1 );
    assert_int_equal( ums_factory_wait_end( f, a, &packet, 1, &n ), STATUS_SUCCESS );
    assert_it_was_changing();
    atomic_store( &f->queue->full, 0 );
    assert_false( begins( f, b ) );
    ums_hand_exits( b );
    ums_factory_release( f );
    was_changing = 0;
    assert_true( ums_hand_blocks( a ) );
    assert_it_was_changing();
    on_manager_wake = NULL;
    ums_hand_is_back( a );
    assert_true( begins( f, a ) );
    assert_true( ums_hand_free( b ) );
    ums_factory_unref( f );
    ends( a );
    finish( f );
}
