/*
 * White box: worker factories, their queue and their counters.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Most tests are one thread that plays several hands: ums_factory_wait_begin does not sleep, and the
 * word of a hand tells what was done to it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "ke_fake.h"
#include "../dlls/ntdll_ums/factory.h"
#include "../dlls/ntdll_ums/factory_guess.h"

static _Atomic int manager_wakes, closed, queues_closed;
static int64_t now;                             /* added to the clock */

void ke_manager_wake( void )
{
    atomic_fetch_add( &manager_wakes, 1 );
}

void ke_factory_closed( struct ums_factory *f, int last )
{
    (void)f;
    atomic_fetch_add( &closed, 1 );
    if (last) atomic_fetch_add( &queues_closed, 1 );
}

static int64_t later( int64_t time )
{
    return time + now;
}

static int init( void **state )
{
    static int done;

    (void)state;
    now = 0;
    fake_on_clock = later;
    if (!done++ && !ums_factory_init()) return -1;
    return 0;
}

static struct ums_factory *factory( uint32_t concurrency, uint32_t max )
{
    struct ums_queue *q = ums_queue_alloc( concurrency );
    struct ums_factory *f;

    assert_non_null( q );
    f = ums_factory_alloc( q, max );
    assert_non_null( f );
    return f;
}

/* A hand as the manager makes it, ready. */
static struct ums_hand *hand( struct ums_factory *f )
{
    struct ums_hand *h;
    uint32_t min = atomic_load( &f->min );

    atomic_store( &f->min, atomic_load( &f->total ) + 1 );
    h = ums_factory_make( f );
    atomic_store( &f->min, min );
    assert_non_null( h );
    ums_factory_made( f, h, STATUS_SUCCESS );
    assert_int_equal( ums_factory_ready( f, h ), STATUS_SUCCESS );
    return h;
}

static enum hand_state state_of( struct ums_hand *h )
{
    return hand_state( atomic_load( &h->word ) );
}

static uint32_t running( struct ums_factory *f )
{
    return ums_queue_load( f->queue ).running;
}

static uint32_t pending( struct ums_factory *f )
{
    return ums_queue_load( f->queue ).pending;
}

/* 1: it has a packet; 0: it waits */
static int begins( struct ums_factory *f, struct ums_hand *h )
{
    struct ums_packet packet;
    ums_status status;
    uint32_t n = 0;

    if (!ums_factory_wait_begin( f, h, &packet, 1, &n, &status )) return 0;
    assert_int_equal( status, STATUS_SUCCESS );
    assert_int_equal( n, 1 );
    return 1;
}

static void is_given( struct ums_hand *h )
{
    struct ums_packet packet;

    assert_int_equal( state_of( h ), HAND_GIVEN );
    assert_int_equal( ums_hand_take( h, &packet, 1 ), 1 );
    assert_int_equal( state_of( h ), HAND_RUNNING );
}

static void ends( struct ums_hand *h )
{
    struct ums_factory *f = atomic_load( &h->factory );

    assert_true( ums_hand_exits( h ) );
    assert_false( ums_hand_exits( h ) );
    if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( h->queue );
    assert_true( ums_hand_free( h ) );
    ums_factory_unref( f );
}

/* Nothing is counted any more, and nothing of it is left. */
static void finish( struct ums_factory *f )
{
    int before = atomic_load( &closed );

    ums_factory_shutdown( f );
    assert_int_equal( running( f ), 0 );
    assert_int_equal( atomic_load( &f->total ), 0 );
    assert_int_equal( atomic_load( &f->staying ), 0 );
    assert_int_equal( atomic_load( &f->coming ), 0 );
    assert_int_equal( atomic_load( &f->starting ), FACTORY_SHUT );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    assert_int_equal( ums_queue_load( f->queue ).top, 0 );
    ums_factory_unref( f );
    assert_int_equal( atomic_load( &closed ), before + 1 );
}

static void post( struct ums_factory *f, uint64_t key )
{
    struct ums_packet packet = { key, key + 1, 0, 0 };

    assert_true( ums_queue_put( f->queue, &packet ) );
    ums_queue_give( f->queue, 1, 0 );
}

/* ---- who runs ---- */

static void who_waited_shortest_comes_first( void **state )
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

static void no_more_run_than_the_port_allows( void **state )
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

static void a_call_that_may_block_counts_after_the_second_look( void **state )
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
    assert_true( ums_queue_watch( f->queue ) );
    assert_int_equal( state_of( a ), HAND_WAITING );
    ums_hand_is_back( b );                              /* quick: nothing has happened */
    assert_true( ums_hand_enters( b ) );
    assert_true( ums_queue_watch( f->queue ) );         /* another call: the first look */
    assert_int_equal( state_of( a ), HAND_WAITING );
    assert_false( ums_queue_watch( f->queue ) );
    is_given( a );
    assert_int_equal( state_of( b ), HAND_BLOCKED );
    ums_hand_is_back( b );
    assert_int_equal( running( f ), 2 );
    ends( a );
    ends( b );
    finish( f );
}

static void nobody_looks_where_no_packet_waits( void **state )
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
    assert_false( ums_queue_watch( f->queue ) );
    ends( a );
    finish( f );
}

/* ---- packets ---- */

static void packets_come_in_order_and_in_batches( void **state )
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

static void one_release_a_wait( void **state )
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

static void neither_source_starves_the_other( void **state )
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

static void a_full_ring_takes_no_more( void **state )
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
    for (i = 0; i < RING_SLOTS; i++) assert_true( ums_queue_drain( f->queue, &packet ) );
    assert_false( ums_queue_drain( f->queue, &packet ) );
    finish( f );
}

/* ---- a hand gives up waiting ---- */

static void who_gave_up_is_passed_over( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_int_equal( ums_hand_sleep( b, atomic_load( &b->word ), 1 ), WOKEN_OVER );
    ums_factory_release( f );
    is_given( a );
    assert_int_equal( state_of( b ), HAND_IDLE );
    assert_false( atomic_load( &b->word ) & HAND_LINKED );
    assert_int_equal( running( f ), 1 );
    assert_int_equal( pending( f ), 0 );
    ends( a );
    ends( b );
    finish( f );
}

static void who_gave_up_waits_again_where_it_is( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_false( begins( f, b ) );
    assert_int_equal( ums_hand_sleep( a, atomic_load( &a->word ), 1 ), WOKEN_OVER );
    assert_true( atomic_load( &a->word ) & HAND_LINKED );
    assert_false( begins( f, a ) );
    ums_factory_release( f );
    is_given( b );
    ums_factory_release( f );
    is_given( a );
    ends( a );
    ends( b );
    finish( f );
}

/* It is on the stack, takes a packet at once, and is come across while it runs. */
static void who_runs_is_passed_over( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f ), *b = hand( f );

    (void)state;
    assert_false( begins( f, a ) );
    assert_int_equal( ums_hand_sleep( a, atomic_load( &a->word ), 1 ), WOKEN_OVER );
    atomic_fetch_add( &f->queue->releases, 1 );         /* a packet that nobody was woken for */
    f->queue->word.pending = 1;
    assert_true( begins( f, a ) );
    assert_true( atomic_load( &a->word ) & HAND_LINKED );
    assert_false( begins( f, b ) );
    ums_factory_release( f );
    is_given( b );
    ums_factory_release( f );                           /* a is on top */
    assert_int_equal( state_of( a ), HAND_RUNNING );
    assert_int_equal( pending( f ), 1 );
    assert_int_equal( running( f ), 2 );
    assert_true( begins( f, a ) );
    ends( a );
    ends( b );
    finish( f );
}

static void as_many_leave_as_may( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *h[3] = { hand( f ), hand( f ), hand( f ) };
    struct ums_packet packet;
    int i, left = 0;
    uint32_t n;

    (void)state;
    assert_int_equal( ums_factory_set( f, 4, 1 ), STATUS_SUCCESS );
    for (i = 0; i < 3; i++) assert_false( begins( f, h[i] ) );
    for (i = 0; i < 2; i++)
    {
        struct ums_hand *other = h[i];

        /* it would sleep, but its time is over before that */
        assert_int_equal( ums_factory_set( f, 2, (uint64_t)-1 ), STATUS_SUCCESS );
        if (ums_factory_wait_end( f, other, &packet, 1, &n ) == STATUS_TIMEOUT) left++;
    }
    assert_int_equal( left, 2 );
    assert_int_equal( atomic_load( &f->staying ), 1 );
    assert_int_equal( atomic_load( &f->total ), 3 );    /* until they end */
    assert_false( begins( f, h[0] ) );                  /* one does not leave after all */
    assert_int_equal( atomic_load( &f->staying ), 2 );
    for (i = 0; i < 3; i++) ends( h[i] );
    finish( f );
}

static struct ums_factory *watched;
static int looks;

/* The minimum rises when the hand knows already how long it may be idle. */
static int64_t raise_minimum( int64_t time )
{
    if (watched && ++looks == 2) atomic_store( &watched->min, 1 );
    return time;
}

static void *give_a_packet( void *arg )
{
    usleep( 1000 );
    ums_factory_release( arg );
    return NULL;
}

static void nobody_leaves_below_the_minimum( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packet;
    pthread_t giver;
    uint32_t n;

    (void)state;
    assert_int_equal( ums_factory_set( f, 2, (uint64_t)-1 ), STATUS_SUCCESS );
    assert_false( begins( f, a ) );
    watched = f;
    looks = 0;
    fake_on_clock = raise_minimum;
    assert_int_equal( pthread_create( &giver, NULL, give_a_packet, f ), 0 );
    assert_int_equal( ums_factory_wait_end( f, a, &packet, 1, &n ), STATUS_SUCCESS );
    watched = NULL;
    pthread_join( giver, NULL );
    ends( a );
    finish( f );
}

/* ---- the end of a hand ---- */

static void a_hand_that_ends_takes_nothing_along( void **state )
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

static void an_ended_hand_on_the_stack_is_passed_over( void **state )
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

/* ---- when a thread is wanted ---- */

static void the_four_conditions( void **state )
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

static void who_is_on_its_way_is_counted_on( void **state )
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

static void the_manager_is_told_once( void **state )
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

static void a_creation_that_failed_is_tried_later( void **state )
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

static void the_minimum_needs_no_packet( void **state )
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

/* ---- shutting down ---- */

static void shutting_down_counts_who_is_not_ready( void **state )
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

static void shutting_down_wakes_who_sleeps( void **state )
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

static void factories_of_one_port_share_it( void **state )
{
    struct ums_factory *f = factory( 1, 0 ), *g;
    struct ums_hand *a = hand( f ), *b;
    int before = atomic_load( &queues_closed );

    (void)state;
    atomic_fetch_add( &f->queue->refs, 1 );
    g = ums_factory_alloc( f->queue, 0 );
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

/* ---- all at once ---- */

#define ROUNDS 4000
#define HANDS  6

struct storm
{
    struct ums_factory *f;
    _Atomic uint64_t sum;                       /* of the keys that came */
    _Atomic uint32_t released, packets;
};

static unsigned int dice( unsigned int *seed, unsigned int sides )
{
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 16 & 0x7fff ? (*seed >> 16) % sides : 0;
}

static void storm_runs( struct ums_hand *h, unsigned int *seed )
{
    switch (dice( seed, 8 ))
    {
    case 0:
        if (ums_hand_blocks( h )) ums_hand_is_back( h );
        break;
    case 1:
        if (ums_hand_enters( h )) ums_hand_is_back( h );
        break;
    case 2:
        if (ums_hand_enters( h ))
        {
            usleep( 10 );
            ums_hand_is_back( h );
        }
        break;
    default: break;
    }
}

static void *storm_hand( void *arg )
{
    struct ums_hand *h = arg;
    struct ums_factory *f = atomic_load( &h->factory );
    struct storm *storm = f->param;
    unsigned int seed = (unsigned int)(uintptr_t)h >> 4;
    struct ums_packet packets[4];
    ums_status status;
    uint32_t n, i;

    ums_factory_ready( f, h );
    for (;;)
    {
        if (!ums_factory_wait_begin( f, h, packets, 1 + dice( &seed, 4 ), &n, &status ))
            status = ums_factory_wait_end( f, h, packets, 4, &n );
        if (status == STATUS_TIMEOUT)
        {
            if (dice( &seed, 2 )) continue;             /* it stays all the same */
            break;
        }
        if (status) break;
        for (i = 0; i < n; i++)
        {
            if (!packets[i].key) atomic_fetch_add( &storm->released, 1 );
            else atomic_fetch_add( &storm->packets, 1 );
            atomic_fetch_add( &storm->sum, packets[i].key );
        }
        storm_runs( h, &seed );
    }
    ums_hand_exits( h );
    return NULL;
}

static void *storm_release( void *arg )
{
    struct storm *storm = arg;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        assert_int_equal( ums_factory_release( storm->f ), STATUS_SUCCESS );
        if (!(i % 64)) usleep( i % 512 ? 50 : 1000 );   /* long enough for some to give up */
    }
    return NULL;
}

/* The manager: threads, packets of the port, who is blocked. */
static void *storm_manager( void *arg )
{
    pthread_t threads[HANDS * 200];
    struct storm *storm = arg;
    struct ums_factory *f = storm->f;
    uint32_t i, made = 0, key = 0;
    struct ums_hand *h;

    while (key < ROUNDS || pending( f ) || running( f ))
    {
        while (made < HANDS * 200 && (h = ums_factory_make( f )))
        {
            assert_int_equal( pthread_create( &threads[made++], NULL, storm_hand, h ), 0 );
            ums_factory_made( f, h, STATUS_SUCCESS );
        }
        for (i = 0; i < 8 && key < ROUNDS && ums_queue_room( f->queue ); i++) post( f, ++key );
        ums_queue_check( f->queue );
        ums_queue_watch( f->queue );
        for (i = 0; i < ums_pool_made( &ums_hand_pool ); i++)
        {
            h = ums_pool_any( &ums_hand_pool, i );
            if (state_of( h ) != HAND_ENDED) continue;
            if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( f->queue );
            if (ums_hand_free( h )) ums_factory_unref( f );
        }
        usleep( 20 );
    }
    ums_factory_shutdown( f );
    for (i = 0; i < made; i++) pthread_join( threads[i], NULL );
    return NULL;
}

static void nothing_is_lost_or_done_twice( void **state )
{
    struct storm storm = { 0 };
    pthread_t releases[2], manager;
    struct ums_hand *h;
    uint32_t i;

    (void)state;
    fake_on_clock = NULL;
    storm.f = factory( 2, HANDS );
    storm.f->param = &storm;
    ums_factory_set( storm.f, 2, (uint64_t)-3000 );     /* 300 us */
    ums_factory_set( storm.f, 4, 1 );
    for (i = 0; i < 2; i++)
        assert_int_equal( pthread_create( &releases[i], NULL, storm_release, &storm ), 0 );
    assert_int_equal( pthread_create( &manager, NULL, storm_manager, &storm ), 0 );
    for (i = 0; i < 2; i++) pthread_join( releases[i], NULL );
    pthread_join( manager, NULL );
    for (i = 0; i < ums_pool_made( &ums_hand_pool ); i++)
    {
        h = ums_pool_any( &ums_hand_pool, i );
        if (state_of( h ) != HAND_ENDED) continue;
        if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( storm.f->queue );
        assert_true( ums_hand_free( h ) );
        ums_factory_unref( storm.f );
    }
    assert_int_equal( atomic_load( &storm.released ), 2 * ROUNDS );
    assert_int_equal( atomic_load( &storm.packets ), ROUNDS );
    assert_int_equal( atomic_load( &storm.sum ), (uint64_t)ROUNDS * (ROUNDS + 1) / 2 );
    finish( storm.f );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test_setup( who_waited_shortest_comes_first, init ),
        cmocka_unit_test_setup( no_more_run_than_the_port_allows, init ),
        cmocka_unit_test_setup( a_call_that_may_block_counts_after_the_second_look, init ),
        cmocka_unit_test_setup( nobody_looks_where_no_packet_waits, init ),
        cmocka_unit_test_setup( packets_come_in_order_and_in_batches, init ),
        cmocka_unit_test_setup( one_release_a_wait, init ),
        cmocka_unit_test_setup( neither_source_starves_the_other, init ),
        cmocka_unit_test_setup( a_full_ring_takes_no_more, init ),
        cmocka_unit_test_setup( who_gave_up_is_passed_over, init ),
        cmocka_unit_test_setup( who_gave_up_waits_again_where_it_is, init ),
        cmocka_unit_test_setup( who_runs_is_passed_over, init ),
        cmocka_unit_test_setup( as_many_leave_as_may, init ),
        cmocka_unit_test_setup( nobody_leaves_below_the_minimum, init ),
        cmocka_unit_test_setup( a_hand_that_ends_takes_nothing_along, init ),
        cmocka_unit_test_setup( an_ended_hand_on_the_stack_is_passed_over, init ),
        cmocka_unit_test_setup( the_four_conditions, init ),
        cmocka_unit_test_setup( who_is_on_its_way_is_counted_on, init ),
        cmocka_unit_test_setup( the_manager_is_told_once, init ),
        cmocka_unit_test_setup( a_creation_that_failed_is_tried_later, init ),
        cmocka_unit_test_setup( the_minimum_needs_no_packet, init ),
        cmocka_unit_test_setup( shutting_down_counts_who_is_not_ready, init ),
        cmocka_unit_test_setup( shutting_down_wakes_who_sleeps, init ),
        cmocka_unit_test_setup( factories_of_one_port_share_it, init ),
        cmocka_unit_test_setup( nothing_is_lost_or_done_twice, init ),
    };

    return cmocka_run_group_tests_name( "factory", tests, NULL, NULL );
}
