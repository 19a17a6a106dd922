/*
 * White box: a worker yields, makes calls and blocks. The scheduler is the main thread; workers are
 * pthreads that call what the entry hook would call.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <stdlib.h>
#include "scheduler_kit.h"
#include "../dlls/ntdll_ums/watch/record.h"

static void yield_twice( void *param )
{
    fake_yield( param );
    fake_yield( NULL );
}

static void a_worker_yields_and_ends( void **state )
{
    (void)state;
    run( yield_twice, run_to_end );
    assert_int_equal( upcall_count, 4 );
    assert_int_equal( upcalls[0].reason, STARTUP );
    assert_int_equal( upcalls[0].payload, 0 );
    assert_ptr_equal( upcalls[0].param, list );
    assert_int_equal( upcalls[1].reason, YIELD );
    assert_ptr_equal( upcalls[1].payload, context );
    assert_ptr_equal( upcalls[1].param, &flag );
    assert_null( upcalls[2].param );
    assert_int_equal( yield_state, WORKER_READY ); /* ownership is dropped before the upcall */
    assert_int_equal( upcalls[3].reason, BLOCKED );           /* its end */
    assert_int_equal( upcalls[3].payload, 1 );
    tear_down();
}

static void block_once( void *param )
{
    struct ums_context *w = ke_current();

    (void)param;
    if (ums_worker_block( w, 0 )) ums_worker_back( w );
    if (ums_worker_block( w, 1 )) ums_worker_back( w );
}

static void a_worker_blocks_and_comes_back_by_the_list( void **state )
{
    (void)state;
    run( block_once, run_to_end );
    assert_int_equal( upcall_count, 4 );
    assert_int_equal( upcalls[1].reason, BLOCKED );
    assert_int_equal( upcalls[1].payload, 0 );
    assert_null( upcalls[1].param );
    assert_int_equal( upcalls[2].payload, 1 );
    tear_down();
}

static void run_on_other_list( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w;

    note( reason, payload, param );
    w = take_one( reason == STARTUP ? list : other_list );
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    fake_execute( w );
}

static void it_comes_back_to_the_list_of_its_last_scheduler( void **state )
{
    (void)state;
    set_up();
    assert_int_equal( fake_worker_create( &worker, context, list, block_once, NULL ),
                      STATUS_SUCCESS );
    assert_int_equal( fake_scheduler_enter( other_list, run_on_other_list, NULL ), STATUS_SUCCESS );
    pthread_join( worker.thread, NULL );
    assert_int_equal( upcall_count, 4 );
    tear_down();
}

static void enter_and_leave( void *param )
{
    struct ums_context *w = ke_current();
    int i;

    (void)param;
    for (i = 0; i < 10000; i++) ums_worker_enter_kernel( w ), ums_worker_back( w );
}

static void short_calls_are_not_told( void **state )
{
    (void)state;
    ums_grace = 10000000;
    run( enter_and_leave, run_to_end );
    ums_grace = 5000;
    assert_int_equal( upcall_count, 2 );        /* start and end */
    tear_down();
}

/* As often as it is recorded that it went into a call, it is recorded that it came back. */
static void short_calls_are_recorded_both_ways( void **state )
{
    int count[EVENT_COUNT] = { 0 }, i, straight = ums_straight;
    uint64_t at;

    (void)state;
    ums_record_init( calloc( 1, ums_record_size( 17 ) ), 17 );
    ums_record->frequency = 1000000000;
    ums_straight = 0;
    ums_recording = 1;
    ums_grace = 1000000000;
    run( enter_and_leave, run_to_end );
    ums_grace = 5000;
    ums_recording = 0;
    ums_straight = straight;
    for (i = 0; i < RECORD_RINGS; i++)
        for (at = 0; at < ums_record->ring[i].head; at++)
            count[EVENT_KIND( ums_record->ring[i].events[at].what )]++;
    assert_int_equal( count[EVENT_KERNEL], 10000 );
    assert_int_equal( count[EVENT_BACK], 10000 );
    tear_down();
}

static void stay_in_kernel( void *param )
{
    struct ums_context *w = ke_current();
    uint64_t cookie = ums_worker_enter_kernel( w );

    while (!atomic_load( (_Atomic int *)param )) ke_wait( param, 0, NULL );
    if (cookie) ums_worker_back( w );
}

/* The call ends only after the scheduler was told. */
static void release_when_blocked( uint32_t reason, uintptr_t payload, void *param )
{
    if (reason == BLOCKED && upcall_count == 1)
    {
        seen_state = state_of( context );
        atomic_store( &flag, 1 );
        ke_wake( (_Atomic uint32_t *)&flag, 1 );
    }
    run_to_end( reason, payload, param );
}

static void a_long_call_is_told_after_the_grace_period( void **state )
{
    (void)state;
    run( stay_in_kernel, release_when_blocked );
    assert_int_equal( upcall_count, 3 );
    assert_int_equal( upcalls[1].reason, BLOCKED );
    assert_int_equal( upcalls[1].payload, 1 );
    assert_int_equal( seen_state, WORKER_BLOCKED );
    tear_down();
}

static _Atomic int clock_runs;

/* However slow the machine is, the grace period of the first call does not end. */
static int64_t stopped_clock( int64_t now )
{
    return atomic_load( &clock_runs ) ? now : 0;
}

/* The scheduler has stopped looking after idle ticks; the next call has to wake it, or this
   hangs. */
static void idle_then_stay( void *param )
{
    struct ums_context *w = ke_current();

    ums_worker_enter_kernel( w ), ums_worker_back( w );
    while (atomic_load( &w->owner->watching )) sched_yield();
    atomic_store( &clock_runs, 1 );
    stay_in_kernel( param );
}

static void a_scheduler_that_stopped_looking_is_woken( void **state )
{
    (void)state;
    ums_grace = 1000;
    atomic_store( &clock_runs, 0 );
    fake_on_clock = stopped_clock;
    run( idle_then_stay, release_when_blocked );
    fake_on_clock = NULL;
    ums_grace = 5000;
    assert_int_equal( upcall_count, 3 );
    tear_down();
}

/* ---- each call has its own grace period ---- */

#define CALLS 5

static int64_t added;
static int calls;

static int64_t added_clock( int64_t now )
{
    return now + added;
}

/* The scheduler has found the worker in a call. That ends, the next one begins, and time goes on. */
static int call_once_more( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word; (void)value;
    if (!timeout || state_of( context ) != WORKER_INKERNEL) return 1;
    added += ums_grace;
    if (calls++ >= CALLS) return 0;
    ums_worker_back( context );
    ums_worker_enter_kernel( context );
    return 0;
}

static void calls_in_a_row_are_not_one_long_call( void **state )
{
    (void)state;
    added = calls = 0;
    ums_grace = 1000000000;
    fake_on_clock = added_clock;
    fake_on_wait = call_once_more;
    run( stay_in_kernel, release_when_blocked );
    fake_on_clock = NULL;
    fake_on_wait = NULL;
    ums_grace = 5000;
    assert_true( calls > CALLS );               /* none of these was taken for the one before */
    assert_int_equal( upcall_count, 3 );
    tear_down();
}

/* ---- a call that takes long is blocked if its thread sleeps ---- */

#define ANSWER_PATIENCE 10000000                /* as in scheduler.c */

static const struct look
{
    enum ke_sleep how;
    uint64_t place;
} looks[] =
{
    { KE_AWAKE, 0 }, { KE_AWAKE, 0 }, { KE_AWAKE, 0 },
    { KE_ASLEEP, 1 }, { KE_ASLEEP, 2 }, { KE_ASLEEP, 1 },       /* it got somewhere in between */
    { KE_AWAKE, 0 }, { KE_ASLEEP, 1 },
    { KE_AWAITS_ANSWER, 0 }, { KE_ASLEEP, 1 },
    { KE_AWAITS_ANSWER, 0 }, { KE_AWAITS_ANSWER, 0 },
    { KE_ASLEEP, 3 }, { KE_ASLEEP, 3 },
    { KE_ASLEEP, 3 }
};
#define LOOKS 14                                /* the last of these takes it */

static int looked;

static enum ke_sleep look_once( struct ke_place *place )
{
    const struct look *look = &looks[looked < LOOKS ? looked : LOOKS];

    looked++;
    place->sp = place->pc = look->place;
    return look->how;
}

static enum ke_sleep no_answer( struct ke_place *place )
{
    (void)place;
    looked++;
    return KE_AWAITS_ANSWER;
}

static enum ke_sleep says_nothing( struct ke_place *place )
{
    (void)place;
    looked++;
    return KE_UNKNOWN;
}

static int64_t only_added( int64_t now )
{
    (void)now;
    return added;
}

static int a_grace_period_later( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word; (void)value;
    if (!timeout || state_of( context ) != WORKER_INKERNEL) return 1;
    added += ums_grace;
    return 0;
}

static void run_with_looks_at( enum ke_sleep (*look)( struct ke_place *place ), int64_t grace,
                               int (*wait)( _Atomic uint32_t *, uint32_t, const int64_t * ) )
{
    looked = added = 0;
    ums_grace = grace;
    fake_on_look = look;
    fake_on_clock = only_added;
    fake_on_wait = wait;
    run( stay_in_kernel, release_when_blocked );
    fake_on_look = NULL;
    fake_on_clock = NULL;
    fake_on_wait = NULL;
    ums_grace = 5000;
    assert_int_equal( upcall_count, 3 );
    tear_down();
}

static void run_with_looks( enum ke_sleep (*look)( struct ke_place *place ), int64_t grace )
{
    run_with_looks_at( look, grace, a_grace_period_later );
}

static void who_waits_for_a_processor_is_not_blocked( void **state )
{
    (void)state;
    run_with_looks( look_once, 1000 );
    assert_int_equal( looked, LOOKS );
}

/* How long after the look before each look came. */
static int64_t looked_at[8];

static enum ke_sleep note_the_time( struct ke_place *place )
{
    static const uint64_t places[] = { 1, 2, 3, 4, 4 };

    looked_at[looked] = added;
    place->sp = place->pc = places[looked++];
    return KE_ASLEEP;
}

static int when_it_is_time( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word; (void)value;
    if (!timeout || state_of( context ) != WORKER_INKERNEL) return 1;
    added += *timeout;
    return 0;
}

static void the_second_look_comes_soon( void **state )
{
    static const int64_t after[] = { 4000, 1000, 4000, 4000, 4000 };
    int64_t begin = 0;                          /* the call is found */
    unsigned int i;

    (void)state;
    run_with_looks_at( note_the_time, 4000, when_it_is_time );
    assert_int_equal( looked, 5 );
    for (i = 0; i < 5; i++)
    {
        assert_int_equal( looked_at[i] - begin, after[i] );
        begin = looked_at[i];
    }
}

static void an_answer_is_not_waited_for_forever( void **state )
{
    (void)state;
    run_with_looks( no_answer, 10000 );
    assert_int_equal( looked, ANSWER_PATIENCE / 10000 );
}

static void where_nothing_is_known_time_tells( void **state )
{
    (void)state;
    run_with_looks( says_nothing, 1000 );
    assert_int_equal( looked, 1 );
    run_with_looks( no_answer, 100 );           /* shorter than a look takes */
    assert_int_equal( looked, 0 );
}

#if !defined(__SANITIZE_THREAD__)               /* takes one instruction after the other */

/* ---- a call at each moment while the scheduler stops watching ---- */

#define LAST_WAIT 15                            /* behind it the scheduler looks for the last time */
#define BEFORE    100                           /* instructions: the look is not longer */

static int untimed, timed, steps, call_at, called, lost;
static int stops_at;                            /* the instruction that says it does not watch any more */

/* The scheduler's thread plays the worker's, which sleeps: the call comes between two instructions. */
static int call_here( void )
{
    steps++;
    if (!stops_at && !atomic_load( &context->owner->watching )) stops_at = steps;
    if (!call_at || steps < call_at) return 0;
    called = 1;
    ums_worker_enter_kernel( context );
    return 1;
}

static int never_again( void )
{
    return 1;
}

static int before_it_sleeps( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    struct ums_scheduler *s = context->owner;

    (void)value;
    if (!s || word != &s->park.token || state_of( context ) == WORKER_BLOCKED) return 1;
    if (timeout)
    {
        if (++timed == LAST_WAIT) fake_step_through( call_here );
        return 0;                               /* it need not wait really */
    }
    if (!untimed++)                             /* it has not watched yet */
    {
        atomic_store( &s->watching, 1 );
        ums_unpark( &s->park );
        return 0;
    }
    fake_step_through( never_again );
    if (!called) ums_worker_enter_kernel( context );    /* it has stopped; the call wakes it */
    else if (!atomic_load( word ) && state_of( context ) == WORKER_INKERNEL)
    {
        lost++;                                 /* would sleep for ever */
        atomic_store( &s->watching, 1 );
        ums_unpark( &s->park );
    }
    return 0;
}

static void sleep_at_home( void *param )
{
    struct ums_context *w = ke_current();

    ums_worker_go_home( w );
    while (!atomic_load( (_Atomic int *)param )) ke_wait( param, 0, NULL );
    ums_worker_back( w );
}

static void call_after( int instructions )
{
    call_at = instructions;
    untimed = timed = steps = called = 0;
    fake_on_wait = before_it_sleeps;
    run( sleep_at_home, release_when_blocked );
    fake_on_wait = NULL;
    assert_int_equal( upcall_count, 3 );
    assert_true( timed >= LAST_WAIT );
    tear_down();
}

static void no_call_is_missed_when_watching_stops( void **state )
{
    int i;

    (void)state;
    ums_grace = 10;
    call_after( 0 );                            /* when it has stopped */
    assert_true( stops_at > BEFORE );
    for (i = stops_at - BEFORE; i <= stops_at + 2; i++)
    {
        call_after( i );
        assert_true( called );
    }
    ums_grace = 5000;
    assert_int_equal( lost, 0 );
}

/* ---- the worker is let go before its scheduler is told ---- */

static enum worker_state told[3];
static _Atomic int told_count;
static struct ums_scheduler *teller;

static int look_when_posted( void )
{
    if (!atomic_load( &teller->posted )) return 0;
    told[atomic_load( &told_count )] = state_of( context );
    atomic_fetch_add( &told_count, 1 );
    return 1;
}

__attribute__((noinline)) static void look_from_here( struct ums_context *w )
{
    ums_worker_go_home( w );
    teller = w->owner;
    fake_step_through( look_when_posted );
}

static void tell( void *param )
{
    struct ums_context *w = ke_current();

    look_from_here( w );
    fake_yield( param );
    look_from_here( w );
    if (ums_worker_block( w, 1 )) ums_worker_back( w );
    look_from_here( w );
}

/* Nothing goes on before the worker's thread has looked. */
static void wait_until_told( uint32_t reason, uintptr_t payload, void *param )
{
    while (atomic_load( &told_count ) < upcall_count) sched_yield();
    run_to_end( reason, payload, param );
}

static void it_is_let_go_before_its_scheduler_is_told( void **state )
{
    (void)state;
    run( tell, wait_until_told );
    assert_int_equal( told_count, 3 );
    assert_int_equal( told[0], WORKER_READY );
    assert_int_equal( told[1], WORKER_BLOCKED );
    assert_int_equal( told[2], WORKER_DEAD );
    tear_down();
}

#endif

/* ---- callbacks out of a kernel call ---- */

static void yield_inside_call( void *param )
{
    struct ums_context *w = ke_current();
    uint64_t cookie = ums_worker_enter_kernel( w );

    fake_yield( param );
    seen_state = state_of( w );
    if (cookie) ums_worker_back( w );
    if (state_of( w ) != WORKER_RUNNING) atomic_fetch_add( &fake_errors, 1 );
}

static void a_yield_inside_a_call_goes_back_into_it( void **state )
{
    (void)state;
    ums_grace = 10000000;
    run( yield_inside_call, run_to_end );
    ums_grace = 5000;
    assert_int_equal( upcall_count, 3 );
    assert_int_equal( upcalls[1].reason, YIELD );
    assert_int_equal( seen_state, WORKER_INKERNEL );
    tear_down();
}

static void yield_when_taken( void *param )
{
    struct ums_context *w = ke_current();
    uint64_t cookie = ums_worker_enter_kernel( w );

    while (!atomic_load( (_Atomic int *)param )) ke_wait( param, 0, NULL );
    fake_yield( NULL );                          /* a callback, when the scheduler has long gone
                                                   on */
    if (cookie) ums_worker_back( w );
}

static void a_yield_of_a_taken_worker_is_scheduled_first( void **state )
{
    (void)state;
    run( yield_when_taken, release_when_blocked );
    assert_true( upcall_count >= 4 );
    assert_int_equal( upcalls[1].reason, BLOCKED );
    assert_int_equal( upcalls[2].reason, YIELD );
    assert_ptr_equal( upcalls[2].payload, context );
    tear_down();
}

static void yield_when_waiting( void *param )
{
    struct ums_context *w = ke_current();

    (void)param;
    if (!ums_worker_block( w, 1 )) return;
    fake_yield( NULL );                          /* an APC routine, in the middle of an alertable
                                                   wait */
    ums_worker_back( w );
    seen_state = state_of( w );
}

/* The wait that goes on after it must not queue the worker a second time. */
static void a_yield_inside_a_wait_is_scheduled_once( void **state )
{
    (void)state;
    ums_grace = 10000000;
    run( yield_when_waiting, run_to_end );
    ums_grace = 5000;
    assert_int_equal( upcall_count, 4 );
    assert_int_equal( upcalls[1].reason, BLOCKED );
    assert_int_equal( upcalls[2].reason, YIELD );
    assert_int_equal( upcalls[3].reason, BLOCKED );           /* its end */
    assert_int_equal( seen_state, WORKER_RUNNING );
    tear_down();
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( a_worker_yields_and_ends ),
        cmocka_unit_test( a_worker_blocks_and_comes_back_by_the_list ),
        cmocka_unit_test( it_comes_back_to_the_list_of_its_last_scheduler ),
        cmocka_unit_test( short_calls_are_not_told ),
        cmocka_unit_test( calls_in_a_row_are_not_one_long_call ),
        cmocka_unit_test( short_calls_are_recorded_both_ways ),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test( no_call_is_missed_when_watching_stops ),
        cmocka_unit_test( it_is_let_go_before_its_scheduler_is_told ),
#endif
        cmocka_unit_test( a_long_call_is_told_after_the_grace_period ),
        cmocka_unit_test( who_waits_for_a_processor_is_not_blocked ),
        cmocka_unit_test( the_second_look_comes_soon ),
        cmocka_unit_test( an_answer_is_not_waited_for_forever ),
        cmocka_unit_test( where_nothing_is_known_time_tells ),
        cmocka_unit_test( a_scheduler_that_stopped_looking_is_woken ),
        cmocka_unit_test( a_yield_inside_a_call_goes_back_into_it ),
        cmocka_unit_test( a_yield_of_a_taken_worker_is_scheduled_first ),
        cmocka_unit_test( a_yield_inside_a_wait_is_scheduled_once ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
