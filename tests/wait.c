/*
 * White box: workers that wait without their thread, and the timer. The
 * scheduler is the main thread; who alerts, suspends or kills is another one beside it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>
#include "core/wait.h"
#include "ke_fake.h"

enum { STARTUP, BLOCKED, YIELD };

static struct ums_list *list;
static struct ums_context *context;
static struct fake_worker worker;
static int upcalls[3];
static _Atomic int told, done, timer_wanted;
static _Atomic int came_back;                   /* what the worker saw, by the test */

static uint64_t word_now( void )
{
    return atomic_load( &context->word );
}

static int is_waiting_now( void )
{
    return word_state( word_now() ) == WORKER_BLOCKED && (word_now() & WORD_WAITS);
}

static void until_it_waits( void )
{
    while (!is_waiting_now()) sched_yield();
}

static void schedule( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w = (struct ums_context *)payload;

    (void)param;
    upcalls[reason]++;
    if (reason == BLOCKED) atomic_fetch_add( &told, 1 );
    if (reason != YIELD) ums_list_wait( list, NULL, &w );
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    assert_int_equal( fake_execute( w ), STATUS_SUCCESS );
}

static _Atomic int timer_stands;

static void *timer( void *unused )
{
    (void)unused;
    while (atomic_load( &timer_stands )) sched_yield();
    while (!atomic_load( &done )) ums_timer_round();
    return NULL;
}

static void run( void (*start)( void * ), void *(*helper)( void * ) )
{
    pthread_t thread, timer_thread;
    int i;

    for (i = 0; i < 3; i++) upcalls[i] = 0;
    atomic_store( &told, 0 );
    atomic_store( &done, 0 );
    atomic_store( &came_back, 0 );
    ums_list_create( &list );
    ums_context_create( &context );
    assert_int_equal( fake_worker_create( &worker, context, list, start, NULL ), STATUS_SUCCESS );
    if (helper) pthread_create( &thread, NULL, helper, NULL );
    if (atomic_load( &timer_wanted )) pthread_create( &timer_thread, NULL, timer, NULL );
    assert_int_equal( fake_scheduler_enter( list, schedule, NULL ), STATUS_SUCCESS );
    if (helper) pthread_join( thread, NULL );
    atomic_store( &done, 1 );
    ums_timer_poke();
    if (atomic_load( &timer_wanted )) pthread_join( timer_thread, NULL );
    pthread_join( worker.thread, NULL );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

/* ---- alerts ---- */

static void wait_once( void *param )
{
    (void)param;
    ums_worker_wait( ke_current(), WAIT_FOR_ALERT, 0 );
    atomic_store( &came_back, ums_alert_take( ke_current() ) ? 1 : 2 );
}

static void *alert_when_it_waits( void *unused )
{
    (void)unused;
    until_it_waits();
    assert_int_equal( ums_alert( context ), 0 );
    return NULL;
}

/* Its scheduler is told once for the wait, and once for its end; at home nobody runs for it. */
static void an_alert_ends_the_wait( void **state )
{
    (void)state;
    run( wait_once, alert_when_it_waits );
    assert_int_equal( atomic_load( &came_back ), 1 );
    assert_int_equal( upcalls[BLOCKED], 2 );
}

static void at_home_too( void *param )
{
    ums_worker_go_home( ke_current() );
    wait_once( param );
}

static void a_worker_at_home_waits_so( void **state )
{
    (void)state;
    run( at_home_too, alert_when_it_waits );
    assert_int_equal( atomic_load( &came_back ), 1 );
    assert_int_equal( upcalls[BLOCKED], 2 );
}

/* The alert that comes between the worker's look and its state. */
static void alerted_then_wait( void *param )
{
    ums_alert( ke_current() );
    wait_once( param );
}

static void an_alert_right_before_is_not_lost( void **state )
{
    (void)state;
    run( alerted_then_wait, NULL );
    assert_int_equal( atomic_load( &came_back ), 1 );
}

static void who_waits_at_the_host_is_told( void **state )
{
    (void)state;
    ums_context_create( &context );
    atomic_store( &context->alert, 0 );
    atomic_store( &context->at_host, 1 );
    assert_int_equal( ums_alert( context ), 1 );
    atomic_store( &context->at_host, 0 );
    assert_int_equal( ums_alert( context ), 0 );
    assert_int_equal( ums_alert_take( context ), 1 );
    assert_int_equal( ums_alert_take( context ), 0 );
    ums_context_delete( context );
}

/* ---- suspended, killed ---- */

static void *suspend_around_the_alert( void *unused )
{
    uint64_t word;

    (void)unused;
    until_it_waits();
    ums_context_suspended( context );
    ums_worker_stopped( context );
    ums_alert( context );
    assert_false( word_now() & WORD_WAITS );
    assert_int_equal( word_state( word_now() ), WORKER_BLOCKED );
    assert_null( atomic_load( &list->head ) );  /* not before it is resumed */
    assert_int_equal( ums_context_resumed( context, 1, &word ), 1 );
    ums_worker_continued( context, word );
    return NULL;
}

static void suspended_it_comes_when_both_are_over( void **state )
{
    (void)state;
    run( wait_once, suspend_around_the_alert );
    assert_int_equal( atomic_load( &came_back ), 1 );
}

static void *suspend_and_resume( void *unused )
{
    uint64_t word;

    (void)unused;
    until_it_waits();
    ums_context_suspended( context );
    ums_worker_stopped( context );
    ums_context_resumed( context, 1, &word );
    ums_worker_continued( context, word );
    assert_true( is_waiting_now() );            /* its wait goes on */
    ums_alert( context );
    return NULL;
}

static void a_resume_does_not_end_the_wait( void **state )
{
    (void)state;
    run( wait_once, suspend_and_resume );
    assert_int_equal( atomic_load( &came_back ), 1 );
}

/* Who ends the wait and who resumes, at the same time: it is queued once. */
static void *race_the_resume( void *unused )
{
    pthread_t alerter;
    uint64_t word;

    (void)unused;
    until_it_waits();
    ums_context_suspended( context );
    ums_worker_stopped( context );
    pthread_create( &alerter, NULL, alert_when_it_waits, NULL );
    while (is_waiting_now() && rand() % 4) sched_yield();
    ums_context_resumed( context, 1, &word );
    ums_worker_continued( context, word );
    pthread_join( alerter, NULL );
    return NULL;
}

static void it_is_queued_once( void **state )
{
    int i;

    (void)state;
    for (i = 0; i < 300; i++)
    {
        run( wait_once, race_the_resume );
        assert_int_equal( atomic_load( &came_back ), 1 );
        assert_int_equal( upcalls[BLOCKED], 2 );
    }
}

static _Atomic int stage;

/* Carried: it takes no upcall between the kill and its wait. */
static void wait_when_told( void *param )
{
    (void)param;
    atomic_store( &stage, 1 );
    while (atomic_load( &stage ) != 2) sched_yield();
    ums_worker_wait( ke_current(), WAIT_FOR_ALERT, 0 );
    atomic_fetch_add( &fake_errors, 1 );        /* it was killed before */
}

/* Its carrier stands still, so the kill is left to that. */
static void *kill_on_its_carrier( void *with_alert )
{
    while (atomic_load( &stage ) != 1) sched_yield();
    fake_kill_thread( &worker );
    atomic_store( &fake_carrier_is_stopped, 1 );
    ums_worker_killed( context );
    assert_int_equal( word_state( word_now() ), WORKER_CARRIED );
    atomic_store( &fake_carrier_is_stopped, 0 );
    if (with_alert) ums_alert( context );
    atomic_store( &stage, 2 );
    return NULL;
}

/* It comes to its list dead, once, and its scheduler is told; an alert that is pending changes nothing. */
static void killed_it_does_not_wait( void **state )
{
    pthread_t killer;
    intptr_t i;

    (void)state;
    if (!ums_carry) skip();
    for (i = 0; i < 20; i++)
    {
        atomic_store( &stage, 0 );
        upcalls[BLOCKED] = 0;
        ums_list_create( &list );
        ums_context_create( &context );
        assert_int_equal( fake_worker_create( &worker, context, list, wait_when_told, NULL ), STATUS_SUCCESS );
        pthread_create( &killer, NULL, kill_on_its_carrier, (void *)(i & 1) );
        assert_int_equal( fake_scheduler_enter( list, schedule, NULL ), STATUS_SUCCESS );
        pthread_join( killer, NULL );
        assert_int_equal( upcalls[BLOCKED], 1 );
        assert_int_equal( word_state( word_now() ), WORKER_DEAD );
        assert_null( ums_list_take( list ) );
        fake_killed_thread_ends( &worker );
        assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
        assert_int_equal( atomic_load( &list->refs ), 1 );
        ums_list_delete( list );
        assert_int_equal( atomic_load( &fake_errors ), 0 );
    }
}

/* ---- keys ---- */

static void wait_for_a_key( void *param )
{
    (void)param;
    if (ums_key_wait_begins( ke_current(), 0x1000 ) != KEY_WAITS) return;
    ums_worker_wait( ke_current(), WAIT_FOR_KEY, 0 );
    atomic_store( &came_back, ums_key_wait_ends( ke_current() ) ? 1 : 2 );
}

static void *release_when_it_waits( void *unused )
{
    (void)unused;
    until_it_waits();
    ums_alert( context );                       /* does not end it */
    assert_int_equal( ums_key_release( 0x2000 ), 0 );
    ums_key_released_at_host( 0x2000 );
    assert_true( is_waiting_now() );
    assert_int_equal( ums_key_release( 0x1000 ), 1 );
    assert_int_equal( ums_key_release( 0x1000 ), 0 );         /* one release, one wait */
    ums_key_released_at_host( 0x1000 );
    return NULL;
}

static void a_release_ends_the_wait_for_its_key( void **state )
{
    (void)state;
    run( wait_for_a_key, release_when_it_waits );
    assert_int_equal( atomic_load( &came_back ), 1 );
    assert_int_equal( upcalls[BLOCKED], 2 );
}

/* The release that comes between the worker's look and its state. */
static void released_then_wait( void *unused )
{
    (void)unused;
    if (ums_key_wait_begins( ke_current(), 0x1000 ) != KEY_WAITS) return;
    if (!ums_key_release( 0x1000 )) return;
    ums_worker_wait( ke_current(), WAIT_FOR_KEY, 0 );
    atomic_store( &came_back, ums_key_wait_ends( ke_current() ) ? 1 : 2 );
}

static void a_release_right_before_is_not_lost( void **state )
{
    (void)state;
    run( released_then_wait, NULL );
    assert_int_equal( atomic_load( &came_back ), 1 );
}

/* A release that is counted is at the host, or about to be: the wait must go there. */
static void wait_beside_a_release( void *unused )
{
    (void)unused;
    if (ums_key_release( 0x1000 )) return;
    if (ums_key_wait_begins( ke_current(), 0x1000 ) != KEY_AT_HOST) return;
    if (ums_key_release( 0x1000 )) return;                    /* it has taken its key back */
    ums_key_released_at_host( 0x1000 );
    ums_key_released_at_host( 0x1000 );
    if (ums_key_wait_begins( ke_current(), 0x1000 ) != KEY_WAITS) return;
    if (ums_key_wait_ends( ke_current() )) return;            /* as if its time were over */
    atomic_store( &came_back, 1 );
}

static void a_release_at_the_host_takes_the_wait_there( void **state )
{
    (void)state;
    run( wait_beside_a_release, NULL );
    assert_int_equal( atomic_load( &came_back ), 1 );
}

static void *kill_then_release( void *unused )
{
    (void)unused;
    until_it_waits();
    fake_kill_thread( &worker );
    ums_worker_killed( context );
    assert_int_equal( ums_key_release( 0x1000 ), 0 );
    ums_key_released_at_host( 0x1000 );
    return NULL;
}

static void a_dead_one_gets_no_release( void **state )
{
    pthread_t killer;

    (void)state;
    ums_list_create( &list );
    ums_context_create( &context );
    assert_int_equal( fake_worker_create( &worker, context, list, wait_for_a_key, NULL ), STATUS_SUCCESS );
    pthread_create( &killer, NULL, kill_then_release, NULL );
    assert_int_equal( fake_scheduler_enter( list, schedule, NULL ), STATUS_SUCCESS );
    pthread_join( killer, NULL );
    fake_killed_thread_ends( &worker );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

/* ---- time ---- */

static void wait_a_millisecond( void *param )
{
    int64_t begin = ke_clock();

    (void)param;
    ums_worker_wait( ke_current(), WAIT_FOR_ALERT, begin + 10000 );
    atomic_store( &came_back, ums_alert_take( ke_current() ) ? 1 : 2 );
    assert_true( ke_clock() >= begin + 10000 );
}

static void time_ends_the_wait( void **state )
{
    (void)state;
    atomic_store( &timer_wanted, 1 );
    run( wait_a_millisecond, NULL );
    atomic_store( &timer_wanted, 0 );
    assert_int_equal( atomic_load( &came_back ), 2 );
}

/* What waits until about the same time is ended at once, by one scan: never early, and 50 us late at most. */
static void deadlines_are_gathered( void **state )
{
    int64_t first, last, i, to;

    (void)state;
    first = ums_timer_round_up( ke_clock() );
    last = ums_timer_round_up( first + 1 );
    assert_true( last > first );
    for (i = first + 1; i <= last; i++) assert_int_equal( ums_timer_round_up( i ), last );
    assert_true( last - first <= 500 );
    assert_int_equal( ums_timer_round_up( 0 ), 0 );           /* none */
    for (i = INT64_MAX - 1000; i < INT64_MAX; i++)
        if ((to = ums_timer_round_up( i )) < i || to - i > 500) fail();
}

static void *poke_often( void *unused )
{
    while (!atomic_load( &came_back ))
    {
        ums_timer_poke();
        sched_yield();
    }
    return unused;
}

static void leave_a_deadline( void *param )
{
    (void)param;
    ums_timer_set( ke_current(), ke_clock() + 36000000000ll );
    atomic_store( &came_back, ums_timer_round() ? 1 : 2 );
    ums_timer_set( ke_current(), 0 );
}

/* Of a worker that does not wait: it does not keep the timer from ending. */
static void a_deadline_alone_is_no_wait( void **state )
{
    (void)state;
    run( leave_a_deadline, poke_often );
    assert_int_equal( atomic_load( &came_back ), 2 );
}

static void sleep_a_while( void *param )
{
    int64_t begin = ke_clock();

    (void)param;
    ums_worker_wait( ke_current(), WAIT_FOR_TIME, begin + 20000 );
    assert_true( ke_clock() >= begin + 20000 );
    atomic_store( &came_back, ums_alert_take( ke_current() ) ? 1 : 2 );
}

/* The time does not come before the alert. */
static void *alert_a_sleeper( void *unused )
{
    alert_when_it_waits( unused );
    if (!is_waiting_now()) atomic_fetch_add( &fake_errors, 1 );
    atomic_store( &timer_stands, 0 );
    return NULL;
}

static void an_alert_does_not_end_a_sleep( void **state )
{
    (void)state;
    atomic_store( &timer_wanted, 1 );
    atomic_store( &timer_stands, 1 );
    run( sleep_a_while, alert_a_sleeper );
    atomic_store( &timer_wanted, 0 );
    assert_int_equal( atomic_load( &came_back ), 1 );         /* it is kept */
}

/* Deadlines that come while the timer looks, or sleeps for a later one, and alerts in between. */
static void wait_often( void *param )
{
    int i;

    (void)param;
    for (i = 0; i < 400; i++)
    {
        ums_worker_wait( ke_current(), WAIT_FOR_ALERT, ke_clock() + (i * 37) % 3000 );
        ums_alert_take( ke_current() );
    }
    atomic_store( &came_back, 1 );
}

static void *alert_now_and_then( void *unused )
{
    (void)unused;
    while (!atomic_load( &came_back ))
    {
        ums_alert( context );
        usleep( 300 );
    }
    return NULL;
}

static void no_deadline_is_missed( void **state )
{
    (void)state;
    atomic_store( &timer_wanted, 1 );
    run( wait_often, NULL );
    run( wait_often, alert_now_and_then );
    atomic_store( &timer_wanted, 0 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( an_alert_ends_the_wait ),
        cmocka_unit_test( a_worker_at_home_waits_so ),
        cmocka_unit_test( an_alert_right_before_is_not_lost ),
        cmocka_unit_test( who_waits_at_the_host_is_told ),
        cmocka_unit_test( suspended_it_comes_when_both_are_over ),
        cmocka_unit_test( a_resume_does_not_end_the_wait ),
        cmocka_unit_test( it_is_queued_once ),
        cmocka_unit_test( killed_it_does_not_wait ),
        cmocka_unit_test( a_release_ends_the_wait_for_its_key ),
        cmocka_unit_test( a_release_right_before_is_not_lost ),
        cmocka_unit_test( a_release_at_the_host_takes_the_wait_there ),
        cmocka_unit_test( a_dead_one_gets_no_release ),
        cmocka_unit_test( time_ends_the_wait ),
        cmocka_unit_test( deadlines_are_gathered ),
        cmocka_unit_test( a_deadline_alone_is_no_wait ),
        cmocka_unit_test( an_alert_does_not_end_a_sleep ),
        cmocka_unit_test( no_deadline_is_missed ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
