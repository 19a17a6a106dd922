/*
 * White box: no wait for another thread is endless. Each test makes a thread wait for something that
 * never happens, on a clock that goes on by a second each time it is read.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include "ke_fake.h"

#define SECOND ((int64_t)10000000)

extern _Atomic(struct ums_context *) fake_preempt_wanted;

static struct ums_list *list;
static struct ums_context *context, *other;
static int64_t seconds;

static int64_t one_more_second( int64_t now )
{
    (void)now;
    return ++seconds * SECOND;
}

/* A worker in this state, with nobody behind it; no carrier of it is ever found. */
static void set_up( uint64_t word )
{
    ums_list_create( &list );
    ums_context_create( &context );
    ums_context_create( &other );
    ums_list_ref( list );
    context->list = list;
    atomic_fetch_add( &context->refs, 1 );
    atomic_store( &context->flags, CONTEXT_SCHEDULED_THREAD );
    atomic_store( &context->word, word );
    atomic_store( &fake_preempt_wanted, other );        /* ke_preempt is always busy: "try again" */
    atomic_store( &fake_gave_up, 0 );
    seconds = 0;
    fake_on_clock = one_more_second;
}

/* It was waited for so long, and once; and that was said. */
static void assert_gave_up_after( int64_t patience, const char *about )
{
    fake_on_clock = NULL;
    atomic_store( &fake_preempt_wanted, NULL );
    assert_int_equal( atomic_load( &fake_gave_up ), 1 );
    assert_non_null( strstr( atomic_load( &fake_gave_up_for ), about ) );
    assert_int_equal( seconds, 1 + patience + 1 );
}

static void assert_gave_up( const char *about )
{
    assert_gave_up_after( 10, about );
}

static void tear_down( void )
{
    fake_on_clock = NULL;
    atomic_store( &fake_preempt_wanted, NULL );
    atomic_store( &fake_carrier_is_gone, 1 );
    ums_worker_killed( context );
    atomic_store( &fake_carrier_is_gone, 0 );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( ums_context_delete( other ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

static void suspending_ends( void **state )
{
    (void)state;
    set_up( WORKER_CARRIED );
    ums_context_suspended( context );
    assert_int_equal( ums_worker_stopped( context ), 0 );
    assert_gave_up( "suspended worker" );
    assert_int_equal( word_state( atomic_load( &context->word ) ), WORKER_CARRIED );
    tear_down();
}

static void resuming_its_scheduler_ends( void **state )
{
    (void)state;
    set_up( WORKER_CARRIED );
    ums_context_suspended( context );
    ums_worker_kept( context );
    assert_gave_up( "suspended worker" );
    tear_down();
}

/* What is not suspended is not even looked for. */
static void a_scheduler_keeps_what_it_may( void **state )
{
    (void)state;
    set_up( WORKER_CARRIED );
    ums_worker_kept( context );
    assert_true( seconds <= 1 );
    assert_int_equal( atomic_load( &fake_gave_up ), 0 );
    tear_down();
}

static int64_t one_more_hour( int64_t now )
{
    (void)now;
    return ++seconds * 3600 * SECOND;
}

/* A debugger has stopped the process again and again. An hour that nobody looked in counts for little. */
static void time_in_which_nobody_looks_does_not_count( void **state )
{
    (void)state;
    set_up( WORKER_CARRIED );
    fake_on_clock = one_more_hour;
    ums_context_suspended( context );
    assert_int_equal( ums_worker_stopped( context ), 0 );
    assert_gave_up_after( 4, "suspended worker" );
    tear_down();
}

/* The carrier is left to see to the rest. */
static void killing_ends( void **state )
{
    (void)state;
    set_up( WORKER_CARRIED );
    ums_worker_killed( context );
    assert_gave_up( "killed worker" );
    assert_int_equal( atomic_load( &context->kill_pending ), 1 );
    tear_down();
}

/* Somebody was about to push a dead worker, and stands still; then, who works on the former thread of its context. */
static void using_a_dead_one_again_ends( void **state )
{
    struct ums_context *w, *first;
    int64_t zero = 0;

    (void)state;
    set_up( WORKER_DEAD );
    context->list = NULL;
    ums_list_unref( list );
    ums_list_will_push( list, context );
    assert_int_equal( ums_worker_bind( context, list, NULL, NULL, &w ), STATUS_INVALID_PARAMETER );
    assert_gave_up_after( 30, "dead worker" );
    ums_list_push( list, context );
    assert_int_equal( ums_list_wait( list, &zero, &first ), STATUS_SUCCESS );
    atomic_store( &fake_gave_up, 0 );
    seconds = 0;
    fake_on_clock = one_more_second;
    assert_int_equal( ums_worker_bind( context, list, NULL, NULL, &w ), STATUS_INVALID_PARAMETER );
    assert_gave_up_after( 30, "dead worker" );
    ums_context_unref( context );               /* that of the first life's thread */
    assert_int_equal( ums_worker_bind( context, list, NULL, NULL, &w ), STATUS_SUCCESS );
    tear_down();
}

static int held_in_look;

static void note_hold( void )
{
    held_in_look = ums_thread_holds( ke_thread_id() );
}

static void *stop_and_go( void *arg )
{
    ums_stop_begin();
    *(uint32_t *)arg = ke_thread_id();
    return NULL;
}

/* A thread that never ends its turn. Returns its id. */
static uint32_t set_up_turn( void )
{
    pthread_t thread;
    uint32_t tid;

    set_up( WORKER_BLOCKED );
    fake_on_clock = NULL;
    pthread_create( &thread, NULL, stop_and_go, &tid );
    pthread_join( thread, NULL );
    fake_on_clock = one_more_second;
    return tid;
}

static void next_turns_begin_at_once( void )
{
    ums_stop_end();
    seconds = 0;
    ums_stop_begin();
    ums_stop_end();
    assert_int_equal( seconds, 1 );
}

static void waiting_for_a_turn_ends( void **state )
{
    (void)state;
    set_up_turn();
    ums_stop_begin();
    assert_int_equal( atomic_load( &fake_gave_up ), 1 );
    assert_non_null( strstr( atomic_load( &fake_gave_up_for ), "turn" ) );
    assert_true( seconds > 10 );
    next_turns_begin_at_once();
    tear_down();
}

static int64_t first_wait, last_wait;
static int sleeps;

static int note_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    if (!timeout || atomic_load( word ) != value) return 1;
    if (!sleeps++) first_wait = *timeout;
    last_wait = *timeout;
    return 0;
}

static int64_t a_tenth_of_a_second_more( int64_t now )
{
    (void)now;
    return ++seconds * SECOND / 10;
}

static void begin_noting( void )
{
    sleeps = 0;
    fake_on_wait = note_wait;
    fake_on_clock = a_tenth_of_a_second_more;
}

static void assert_waits_got_longer( void )
{
    fake_on_wait = NULL;
    assert_true( sleeps > 20 && sleeps < 110 );
    assert_true( last_wait >= 20 * first_wait && last_wait < 25000 );    /* 2.5 ms: nobody wakes it */
}

/* Otherwise dozens of threads that wait would take the processors from the one that they wait for. */
static void looks_become_rare( void **state )
{
    (void)state;
    set_up_turn();
    begin_noting();
    ums_stop_begin();
    assert_waits_got_longer();
    fake_on_clock = one_more_second;
    next_turns_begin_at_once();
    atomic_store( &context->word, WORKER_CARRIED );
    ums_context_suspended( context );
    begin_noting();
    assert_int_equal( ums_worker_stopped( context ), 0 );
    assert_waits_got_longer();
    tear_down();
}

/* One, and no word. */
static void a_turn_of_a_thread_that_is_gone_ends_after_a_second( void **state )
{
    (void)state;
    atomic_store( &fake_gone_thread, set_up_turn() );
    ums_stop_begin();
    assert_int_equal( seconds, 1 + 1 );
    next_turns_begin_at_once();
    assert_int_equal( atomic_load( &fake_gave_up ), 0 );
    atomic_store( &fake_gone_thread, 0 );
    tear_down();
}

/* If this thread were terminated in the look, its handle would stay open. */
static void a_waiting_thread_is_not_terminated_while_it_looks( void **state )
{
    (void)state;
    fake_on_asked_gone = note_hold;
    a_turn_of_a_thread_that_is_gone_ends_after_a_second( state );
    fake_on_asked_gone = NULL;
    assert_true( held_in_look );
    assert_false( ums_thread_holds( ke_thread_id() ) );
}

/* A signal handler may be waiting for it, in the thread that is being stopped. It does not wait for that turn a second time, and
   does not end it: others still wait for it, so that nothing undoes the stop. */
static void the_warden_goes_on_beside_a_turn_after_a_second( void **state )
{
    int i;

    (void)state;
    set_up_turn();
    atomic_store( &fake_is_warden, 1 );
    for (i = 0; i < 2; i++)
    {
        ums_stop_begin();
        assert_int_equal( seconds, 1 + 1 + i );
        ums_stop_end();
    }
    atomic_store( &fake_is_warden, 0 );
    seconds = 0;
    ums_stop_begin();
    assert_true( seconds > 10 );
    next_turns_begin_at_once();
    tear_down();
}

/* The thread whose turn it was is gone, and this one has got its id. */
static void a_thread_does_not_wait_for_its_own_turn( void **state )
{
    (void)state;
    set_up( WORKER_BLOCKED );
    ums_stop_begin();
    next_turns_begin_at_once();
    seconds = 0;
    ums_stop_begin();
    ums_stop_begin();
    assert_int_equal( seconds, 1 + 1 );
    next_turns_begin_at_once();
    tear_down();
}

/* Whoever has counted something does not wait longer; and it must not end the turn of another one. */
static void a_try_is_over_after_two_seconds( void **state )
{
    (void)state;
    set_up_turn();
    assert_int_equal( ums_stop_try(), 0 );
    assert_true( seconds > 2 && seconds < 10 );
    assert_int_equal( atomic_load( &fake_gave_up ), 0 );
    ums_stop_begin();                           /* it was left to its thread */
    assert_int_equal( atomic_load( &fake_gave_up ), 1 );
    next_turns_begin_at_once();
    assert_int_equal( ums_stop_try(), 1 );
    ums_stop_end();
    tear_down();
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( suspending_ends ),
        cmocka_unit_test( resuming_its_scheduler_ends ),
        cmocka_unit_test( a_scheduler_keeps_what_it_may ),
        cmocka_unit_test( time_in_which_nobody_looks_does_not_count ),
        cmocka_unit_test( killing_ends ),
        cmocka_unit_test( using_a_dead_one_again_ends ),
        cmocka_unit_test( waiting_for_a_turn_ends ),
        cmocka_unit_test( looks_become_rare ),
        cmocka_unit_test( a_turn_of_a_thread_that_is_gone_ends_after_a_second ),
        cmocka_unit_test( a_waiting_thread_is_not_terminated_while_it_looks ),
        cmocka_unit_test( the_warden_goes_on_beside_a_turn_after_a_second ),
        cmocka_unit_test( a_thread_does_not_wait_for_its_own_turn ),
        cmocka_unit_test( a_try_is_over_after_two_seconds ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
