/*
 * White box: completion lists.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"

static struct ums_context *queued_context( void )
{
    struct ums_context *context;

    assert_int_equal( ums_context_create( &context ), STATUS_SUCCESS );
    atomic_store( &context->word, (atomic_load( &context->word ) & ~WORD_STATE) | WORKER_QUEUED );
    return context;
}

static void drop( struct ums_context *context )
{
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
}

static void take_gives_all_and_makes_them_ready( void **state )
{
    struct ums_context *a = queued_context(), *b = queued_context(), *first;
    struct ums_list *list;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    assert_null( ums_list_take( list ) );
    ums_list_push( list, a );
    ums_list_push( list, b );
    first = ums_list_take( list );
    assert_ptr_equal( first, b );
    assert_int_equal( word_state( atomic_load( &a->word ) ), WORKER_READY );
    assert_int_equal( word_state( atomic_load( &b->word ) ), WORKER_READY );
    assert_ptr_equal( ums_list_next( first ), a );
    assert_null( ums_list_next( first ) );      /* the link is consumed */
    assert_null( ums_list_next( a ) );
    assert_null( ums_list_take( list ) );
    assert_int_equal( ums_list_delete( list ), STATUS_SUCCESS );
    drop( a );
    drop( b );
}

/* A client that executes the first of a chain before it asks for the next one: while that worker runs, the
   rest of the chain is still behind it, for one who asks. Windows loses it. */
static void the_rest_of_a_chain_is_given_once( void **state )
{
    struct ums_context *a = queued_context(), *b = queued_context();
    struct ums_list *list;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    ums_list_push( list, a );
    ums_list_push( list, b );
    assert_ptr_equal( ums_list_take( list ), b );
    atomic_store( &b->word, (atomic_load( &b->word ) & ~(WORD_STATE | WORD_LINKED)) | WORKER_RUNNING );
    assert_ptr_equal( ums_list_next( b ), a );
    assert_null( ums_list_next( b ) );
    assert_null( ums_list_next( a ) );
    atomic_store( &b->word, (atomic_load( &b->word ) & ~WORD_STATE) | WORKER_READY );
    assert_int_equal( ums_list_delete( list ), STATUS_SUCCESS );
    drop( a );
    drop( b );
}

#if !defined(__SANITIZE_THREAD__)

static struct ums_context *polled, *elsewhere;
static struct ums_list *other_list;

/* As soon as it is READY a client that polls it may run it, and it may be on another list. */
static int run_at_once( void )
{
    if (word_state( atomic_load( &polled->word ) ) != WORKER_READY) return 0;
    atomic_store( &polled->word, WORKER_QUEUED );
    ums_list_push( other_list, polled );
    return 1;
}

static void take_reads_the_way_on_before_it_gives_one_away( void **state )
{
    struct ums_context *a = queued_context();
    struct ums_list *list;

    (void)state;
    polled = queued_context();
    elsewhere = queued_context();
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    assert_int_equal( ums_list_create( &other_list ), STATUS_SUCCESS );
    ums_list_push( other_list, elsewhere );
    ums_list_push( list, a );
    ums_list_push( list, polled );
    assert_true( fake_step_through( run_at_once ) );
    ums_list_take( list );
    assert_int_equal( word_state( atomic_load( &a->word ) ), WORKER_READY );
    assert_int_equal( word_state( atomic_load( &elsewhere->word ) ), WORKER_QUEUED );
    assert_int_equal( word_state( atomic_load( &polled->word ) ), WORKER_QUEUED );
    assert_ptr_equal( ums_list_take( other_list ), polled );
    ums_list_delete( list );
    ums_list_delete( other_list );
    drop( a );
    drop( polled );
    drop( elsewhere );
}

#endif

static int woken, woken_all;

static void note_wake( _Atomic uint32_t *word, int all )
{
    (void)word;
    woken++;
    woken_all += all;
}

/* One that is woken may be stopped before it looks. */
static void an_edge_wakes_everybody_once( void **state )
{
    struct ums_context *a = queued_context(), *b = queued_context();
    struct ums_list *list;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    fake_on_wake = note_wake;
    ums_list_push( list, a );
    assert_int_equal( woken, 0 );               /* nobody waits */
    ums_list_take( list );
    atomic_store( &a->word, WORKER_QUEUED );
    atomic_store( &list->waiting, 2 );
    ums_list_push( list, a );
    assert_int_equal( woken, 1 );
    assert_int_equal( woken_all, 1 );
    ums_list_push( list, b );
    assert_int_equal( woken, 1 );               /* no edge */
    fake_on_wake = NULL;
    assert_int_equal( atomic_load( &list->waiting ), 0 );       /* once */
    ums_list_take( list );
    ums_list_delete( list );
    drop( a );
    drop( b );
}

static void wait_meanwhile( _Atomic uint32_t *word, int all )
{
    struct ums_list *list = (struct ums_list *)((char *)word - offsetof( struct ums_list, seq ));

    (void)all;
    atomic_store( &list->waiting, 4 );
}

/* It has read seq after it was incremented, and may fall asleep after the wake-up. */
static void a_waiter_that_comes_during_a_wake_up_is_not_forgotten( void **state )
{
    struct ums_context *a = queued_context();
    struct ums_list *list;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    fake_on_wake = wait_meanwhile;
    atomic_store( &list->waiting, 2 );
    ums_list_push( list, a );
    fake_on_wake = NULL;
    assert_int_equal( atomic_load( &list->waiting ), 4 );
    ums_list_take( list );
    ums_list_delete( list );
    drop( a );
}

static void take_keeps_the_suspended_bit_and_the_dead( void **state )
{
    struct ums_context *a = queued_context(), *b = queued_context();
    struct ums_list *list;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    atomic_fetch_or( &a->word, WORD_SUSPENDED );
    ums_list_will_push( list, b );
    atomic_store( &b->word, WORKER_DEAD );
    ums_list_push( list, a );
    ums_list_push( list, b );
    ums_list_take( list );
    assert_int_equal( word_state( atomic_load( &a->word ) ), WORKER_READY );
    assert_true( atomic_load( &a->word ) & WORD_SUSPENDED );
    assert_int_equal( word_state( atomic_load( &b->word ) ), WORKER_DEAD );
    ums_list_delete( list );
    drop( a );
    drop( b );
}

static struct ums_context *dead_context( struct ums_list *list )
{
    struct ums_context *context;

    assert_int_equal( ums_context_create( &context ), STATUS_SUCCESS );
    ums_list_will_push( list, context );
    atomic_store( &context->word, (atomic_load( &context->word ) & ~WORD_STATE) | WORKER_DEAD );
    ums_list_push( list, context );
    return context;
}

/* One that was deleted before it was dequeued, and whose slot somebody wants, is in nobody's way. */
static void the_deleted_are_left_out( void **state )
{
    struct ums_context *a = queued_context(), *b, *c = queued_context(), *d, *again, *first;
    struct ums_list *list;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    ums_list_push( list, a );
    b = dead_context( list );
    ums_list_push( list, c );
    d = dead_context( list );
    drop( b );
    drop( d );
    assert_int_equal( ums_context_create( &again ), STATUS_SUCCESS );
    assert_true( again != b && again != d );    /* still linked */
    first = ums_list_take( list );
    assert_ptr_equal( first, c );
    assert_ptr_equal( ums_list_next( c ), a );
    assert_null( ums_list_next( a ) );
    drop( again );
    assert_int_equal( ums_context_create( &again ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &b->refs ) + atomic_load( &d->refs ), again == b || again == d );
    drop( again );
    b = dead_context( list );
    drop( b );
    assert_null( ums_list_take( list ) );       /* nothing is left */
    ums_list_delete( list );
    drop( a );
    drop( c );
}

/* One that gets another thread before it was dequeued is queued by that one only, and the others stay
   in their order. */
static void one_that_is_used_again_is_on_no_list( void **state )
{
    struct ums_context *a = queued_context(), *b, *c = queued_context(), *w, *first;
    struct ums_list *list, *other;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    assert_int_equal( ums_list_create( &other ), STATUS_SUCCESS );
    ums_list_push( list, a );
    b = dead_context( list );
    ums_list_push( list, c );
    assert_int_equal( ums_worker_bind( b, other, NULL, NULL, &w ), STATUS_SUCCESS );
    assert_ptr_equal( w, b );
    atomic_store( &b->word, (atomic_load( &b->word ) & ~WORD_STATE) | WORKER_QUEUED );
    ums_list_push( other, b );
    first = ums_list_take( list );
    assert_ptr_equal( first, c );
    assert_ptr_equal( ums_list_next( c ), a );
    assert_null( ums_list_next( a ) );
    assert_ptr_equal( ums_list_take( other ), b );
    assert_null( ums_list_next( b ) );
    atomic_store( &b->word, (atomic_load( &b->word ) & ~WORD_STATE) | WORKER_STARTING );
    ums_worker_unbind( b );
    assert_int_equal( atomic_load( &b->refs ), 1 );
    ums_list_delete( list );
    ums_list_delete( other );
    drop( a );
    drop( b );
    drop( c );
}

static void the_event_is_set_on_edges_once_asked_for( void **state )
{
    struct ums_context *a = queued_context(), *b = queued_context();
    struct fake_event *event;
    struct ums_list *list;
    void *handle;

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    event = list->event;
    ums_list_push( list, a );
    assert_int_equal( atomic_load( &event->sets ), 0 );       /* nobody has a handle */
    assert_int_equal( ums_list_event( list, &handle ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &event->sets ), 1 );       /* there is something */
    ums_list_push( list, b );
    assert_int_equal( atomic_load( &event->sets ), 1 );       /* no edge */
    ums_list_take( list );
    ums_list_push( list, a );
    assert_int_equal( atomic_load( &event->sets ), 2 );
    ums_list_take( list );
    ums_list_delete( list );
    ke_event_close( handle );
    drop( a );
    drop( b );
}

static struct ums_list *doomed;

static void delete_the_list( void *event )
{
    (void)event;
    fake_on_event_set = NULL;
    ums_list_take( doomed );
    assert_int_equal( ums_list_delete( doomed ), STATUS_SUCCESS );
}

/* A client that sees the last worker's context deletes the list while that worker is still
   signalling. */
static void a_list_survives_its_deletion_while_somebody_signals( void **state )
{
    struct ums_context *a = queued_context();
    int errors = atomic_load( &fake_errors ), open = atomic_load( &fake_events_open );
    void *handle;

    (void)state;
    assert_int_equal( ums_list_create( &doomed ), STATUS_SUCCESS );
    assert_int_equal( ums_list_event( doomed, &handle ), STATUS_SUCCESS );
    ke_event_close( handle );
    ums_list_ref( doomed );                     /* what a worker holds */
    fake_on_event_set = delete_the_list;
    ums_list_push( doomed, a );
    ums_list_unref( doomed );
    assert_int_equal( atomic_load( &fake_errors ), errors );
    assert_int_equal( atomic_load( &fake_events_open ), open );
    drop( a );
}

static void handles_are_checked( void **state )
{
    struct ums_list *list;
    void *event;
    char stack[64];

    (void)state;
    assert_int_equal( ums_list_delete( NULL ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_list_delete( stack ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    assert_int_equal( ums_list_delete( (char *)list + 8 ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_list_delete( list ), STATUS_SUCCESS );
    assert_int_equal( ums_list_delete( list ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_list_event( list, &event ), STATUS_INVALID_PARAMETER );
}

static void failures_leave_nothing_behind( void **state )
{
    struct ums_list *list, *again;
    int open = atomic_load( &fake_events_open );

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    ums_list_delete( list );
    fake_event_fails = 1;
    assert_int_equal( ums_list_create( &again ), STATUS_NO_MEMORY );
    fake_event_fails = 0;
    assert_int_equal( ums_list_create( &again ), STATUS_SUCCESS );
    assert_ptr_equal( again, list );            /* the slot was given back */
    ums_list_delete( again );
    assert_int_equal( atomic_load( &fake_events_open ), open );
}

static void a_wait_times_out_and_takes_what_is_there( void **state )
{
    struct ums_context *a = queued_context(), *first = a;
    struct ums_list *list;
    int64_t zero = 0, ms = 10000, start = ke_clock();

    (void)state;
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
    assert_int_equal( ums_list_wait( list, &zero, &first ), STATUS_TIMEOUT );
    assert_null( first );
    assert_int_equal( ums_list_wait( list, &ms, &first ), STATUS_TIMEOUT );
    assert_true( ke_clock() - start >= ms );
    ums_list_push( list, a );
    assert_int_equal( ums_list_wait( list, NULL, &first ), STATUS_SUCCESS );
    assert_ptr_equal( first, a );
    ums_list_delete( list );
    drop( a );
}

static struct ums_list *late_list;
static struct ums_context *late;
static int clock_reads, sets_end;

/* The first readings set the end of the wait. At the next one, behind the look at the list, the time is over
   and a context comes. */
static int64_t come_late( int64_t now )
{
    if (!atomic_load( &late_list->waiting )) sets_end++;
    if (++clock_reads <= sets_end || clock_reads > sets_end + 1) return now;
    ums_list_push( late_list, late );
    return now + 100000000;
}

static void who_gives_up_looks_a_last_time( void **state )
{
    struct ums_context *first;
    int64_t second = 10000000;

    (void)state;
    assert_int_equal( ums_list_create( &late_list ), STATUS_SUCCESS );
    late = queued_context();
    fake_on_clock = come_late;
    assert_int_equal( ums_list_wait( late_list, &second, &first ), STATUS_SUCCESS );
    fake_on_clock = NULL;
    assert_ptr_equal( first, late );
    assert_true( sets_end > 0 && clock_reads == sets_end + 1 );
    ums_list_delete( late_list );
    drop( late );
}

static int sleeps, would_sleep;

/* Between the last look at the list and the sleep. */
static int come_before_it_sleeps( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)timeout;
    if (sleeps++) return 1;
    ums_list_push( late_list, late );
    would_sleep = atomic_load( word ) == value;
    return 0;
}

static void who_is_about_to_sleep_is_woken( void **state )
{
    struct ums_context *first;

    (void)state;
    assert_int_equal( ums_list_create( &late_list ), STATUS_SUCCESS );
    late = queued_context();
    fake_on_wait = come_before_it_sleeps;
    assert_int_equal( ums_list_wait( late_list, NULL, &first ), STATUS_SUCCESS );
    fake_on_wait = NULL;
    assert_ptr_equal( first, late );
    assert_int_equal( sleeps, 1 );
    assert_false( would_sleep );
    ums_list_delete( late_list );
    drop( late );
}

static struct ums_context *sleeps_on, *not_for_it;
static struct ums_list *gone, *instead;

/* The list is deleted, its slot is another list, and something comes to that. */
static int lose_the_list( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word;
    (void)value;
    (void)timeout;
    if (instead) return 1;
    ums_list_delete( gone );
    assert_int_equal( ums_list_create( &instead ), STATUS_SUCCESS );
    assert_ptr_equal( instead, gone );
    ums_list_push( instead, not_for_it );
    return 1;
}

/* One that is terminated in its sleep could give nothing back. */
static void who_sleeps_does_not_keep_the_list( void **state )
{
    int open = atomic_load( &fake_events_open );
    int64_t ms = 10000;

    (void)state;
    assert_int_equal( ums_list_create( &gone ), STATUS_SUCCESS );
    not_for_it = queued_context();
    fake_on_wait = lose_the_list;
    assert_int_equal( ums_list_wait( gone, &ms, &sleeps_on ), STATUS_TIMEOUT );
    fake_on_wait = NULL;
    assert_null( sleeps_on );
    assert_ptr_equal( ums_list_take( instead ), not_for_it );
    ums_list_delete( instead );
    assert_int_equal( atomic_load( &fake_events_open ), open );
    drop( not_for_it );
}

/* ---- several waiters, several pushers: every context is taken once,
    no waiter sleeps for ever ---- */

#define PUSHERS 2
#define WAITERS 3
#define ROUNDS  20000

static struct ums_list *shared;
static struct ums_context *last;                /* whoever takes it passes it on and ends */
static _Atomic int taken;

/* No time-out: a lost wake-up hangs the test. */
static void *waiter( void *arg )
{
    int ended = 0;

    (void)arg;
    while (!ended)
    {
        struct ums_context *context, *next;

        assert_int_equal( ums_list_wait( shared, NULL, &context ), STATUS_SUCCESS );
        for (; context; context = next)
        {
            next = ums_list_next( context );
            if (context == last) ended = 1;
            else
            {
                atomic_store( &context->word, WORKER_NONE );
                atomic_fetch_add( &taken, 1 );
            }
        }
    }
    ums_list_push( shared, last );
    return NULL;
}

static void *pusher( void *arg )
{
    struct ums_context **contexts = arg;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        struct ums_context *context = contexts[i % 8];

        while (word_state( atomic_load( &context->word ) ) != WORKER_NONE) sched_yield();
        atomic_store( &context->word, WORKER_QUEUED );
        ums_list_push( shared, context );
    }
    return NULL;
}

static void nothing_is_lost_between_pushers_and_waiters( void **state )
{
    struct ums_context *contexts[PUSHERS][8];
    pthread_t threads[PUSHERS + WAITERS];
    int i, j;

    (void)state;
    assert_int_equal( ums_list_create( &shared ), STATUS_SUCCESS );
    for (i = 0; i < PUSHERS; i++) for (j = 0; j < 8; j++)
        assert_int_equal( ums_context_create( &contexts[i][j] ), STATUS_SUCCESS );
    last = queued_context();
    for (i = 0; i < WAITERS; i++) pthread_create( &threads[i], NULL, waiter, NULL );
    for (i = 0; i < PUSHERS; i++) pthread_create( &threads[WAITERS + i], NULL, pusher,
                                                  contexts[i] );
    for (i = 0; i < PUSHERS; i++) pthread_join( threads[WAITERS + i], NULL );
    ums_list_push( shared, last );
    for (i = 0; i < WAITERS; i++) pthread_join( threads[i], NULL );
    assert_ptr_equal( ums_list_take( shared ), last );
    drop( last );
    assert_int_equal( atomic_load( &taken ), PUSHERS * ROUNDS );
    ums_list_delete( shared );
    for (i = 0; i < PUSHERS; i++) for (j = 0; j < 8; j++) drop( contexts[i][j] );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( take_gives_all_and_makes_them_ready ),
#if !defined(__SANITIZE_THREAD__)               /* takes one instruction after the other */
        cmocka_unit_test( take_reads_the_way_on_before_it_gives_one_away ),
#endif
        cmocka_unit_test( the_rest_of_a_chain_is_given_once ),
        cmocka_unit_test( an_edge_wakes_everybody_once ),
        cmocka_unit_test( a_waiter_that_comes_during_a_wake_up_is_not_forgotten ),
        cmocka_unit_test( take_keeps_the_suspended_bit_and_the_dead ),
        cmocka_unit_test( the_deleted_are_left_out ),
        cmocka_unit_test( one_that_is_used_again_is_on_no_list ),
        cmocka_unit_test( the_event_is_set_on_edges_once_asked_for ),
        cmocka_unit_test( a_list_survives_its_deletion_while_somebody_signals ),
        cmocka_unit_test( handles_are_checked ),
        cmocka_unit_test( failures_leave_nothing_behind ),
        cmocka_unit_test( a_wait_times_out_and_takes_what_is_there ),
        cmocka_unit_test( who_gives_up_looks_a_last_time ),
        cmocka_unit_test( who_sleeps_does_not_keep_the_list ),
        cmocka_unit_test( who_is_about_to_sleep_is_woken ),
        cmocka_unit_test( nothing_is_lost_between_pushers_and_waiters ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
