/*
 * White box, worker factories: a hand gives up waiting.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

void who_gave_up_is_passed_over( void **state )
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

void who_gave_up_waits_again_where_it_is( void **state )
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

#if !defined(__SANITIZE_THREAD__)               /* takes one instruction after the other */

static struct ums_factory *stepped;
static volatile int steps_left, over;

static int release_there( void )
{
    if (over) return 1;
    if (--steps_left) return 0;
    ums_factory_release( stepped );
    return 1;
}

/* The item comes between two instructions, each in turn. Whoever releases it may find the hand on the
   stack while it does not wait yet, and take it off. */
void an_item_comes_while_it_waits_again( void **state )
{
    struct ums_packet packet;
    struct ums_hand *a;
    int i, took;

    (void)state;
    for (i = 1, steps_left = 0; steps_left <= 0; i++)
    {
        stepped = factory( 2, 0 );
        a = hand( stepped );
        assert_false( begins( stepped, a ) );
        assert_int_equal( ums_hand_sleep( a, atomic_load( &a->word ), 1 ), WOKEN_OVER );
        steps_left = i;
        over = 0;
        assert_true( fake_step_through( release_there ) );
        took = ums_hand_begin_wait( a );
        over = 1;
        if (steps_left > 0) ums_factory_release( stepped );   /* it was over before */
        assert_int_equal( state_of( a ), took ? HAND_RUNNING : HAND_GIVEN );
        assert_int_equal( ums_hand_take( a, &packet, 1 ), 1 );
        assert_int_equal( pending( stepped ), 0 );
        ends( a );
        finish( stepped );
    }
    assert_true( i > 20 );
}

#endif

/* It is on the stack, takes a packet at once, and is come across while it runs. */
void who_runs_is_passed_over( void **state )
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

#define IDLE 100000000                          /* 100 ns */

static int64_t sleeps_for;

/* Who would sleep: the time passes. */
static int time_passes( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word; (void)value;
    sleeps_for = timeout ? *timeout : 0;
    now += sleeps_for;
    return 0;
}

/* Each wait is idle for the whole time, however long ago the first one began. */
void work_in_between_is_not_idle( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *h = hand( f );
    struct ums_packet packet;
    uint32_t n;
    int i;

    (void)state;
    atomic_store( &f->timeout, -IDLE );
    atomic_store( &f->idle_timeout, -IDLE );
    for (i = 0; i < 3; i++)
    {
        assert_false( begins( f, h ) );
        ums_factory_release( f );
        assert_int_equal( ums_factory_wait_end( f, h, &packet, 1, &n ), STATUS_SUCCESS );
        now += IDLE / 10 * 8;                   /* at work */
    }
    assert_false( begins( f, h ) );
    fake_on_wait = time_passes;
    assert_int_equal( ums_factory_wait_end( f, h, &packet, 1, &n ), STATUS_TIMEOUT );
    fake_on_wait = NULL;
    assert_in_range( sleeps_for, IDLE / 2, IDLE );
    ends( h );
    finish( f );
}

void as_many_leave_as_may( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *h[3] = { hand( f ), hand( f ), hand( f ) };
    struct ums_packet packet;
    int i, left = 0;
    uint32_t n;

    (void)state;
    assert_int_equal( ums_factory_set( f, 4, 1 ), STATUS_SUCCESS );
    for (i = 0; i < 3; i++) assert_false( begins( f, h[i] ) );
    assert_int_equal( ums_factory_set( f, 2, (uint64_t)-IDLE ), STATUS_SUCCESS );
    fake_on_wait = time_passes;
    for (i = 0; i < 2; i++)
        if (ums_factory_wait_end( f, h[i], &packet, 1, &n ) == STATUS_TIMEOUT) left++;
    fake_on_wait = NULL;
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

void nobody_leaves_below_the_minimum( void **state )
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

static struct ums_hand *sleeper;

static int64_t change_the_time_out( int64_t time )
{
    struct ums_hand *h = sleeper;

    if (!h || state_of( h ) != HAND_ASLEEP) return time;
    sleeper = NULL;
    ums_factory_set( atomic_load( &h->factory ), 2, (uint64_t)-1 );
    return time;
}

/* It waits for ever, as far as it knows, and is just about to sleep. */
void who_is_about_to_sleep_is_told( void **state )
{
    struct ums_factory *f = factory( 2, 0 );
    struct ums_hand *a = hand( f );
    struct ums_packet packet;
    uint32_t n;

    (void)state;
    assert_int_equal( ums_factory_set( f, 2, 0 ), STATUS_SUCCESS );
    assert_false( begins( f, a ) );
    sleeper = a;
    fake_on_clock = change_the_time_out;
    assert_int_equal( ums_factory_wait_end( f, a, &packet, 1, &n ), STATUS_TIMEOUT );
    assert_null( sleeper );
    ends( a );
    finish( f );
}
