/*
 * White box: which calls count as blocked, and when their scheduler is told.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <stdlib.h>
#include "kit.h"
#include "../../dlls/ntdll_ums/core/patience.h"
#include "../../dlls/ntdll_ums/record/record.h"

static void enter_and_leave( void *param )
{
    struct ums_context *w = ke_current();
    int i;

    (void)param;
    for (i = 0; i < 10000; i++) ums_worker_enter_kernel( w ), ums_worker_back( w );
}

void short_calls_are_not_told( void **state )
{
    (void)state;
    fake_on_clock = fake_no_time_passes;
    run( enter_and_leave, run_to_end );
    fake_on_clock = NULL;
    assert_int_equal( upcall_count, 2 );        /* start and end */
    tear_down();
}

/* As often as it is recorded that it went into a call, it is recorded that it came back. */
void short_calls_are_recorded_both_ways( void **state )
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

void a_long_call_is_told_after_the_grace_period( void **state )
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

void a_scheduler_that_stopped_looking_is_woken( void **state )
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

void calls_in_a_row_are_not_one_long_call( void **state )
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

static enum ke_sleep look_once( const _Atomic uint32_t *park, struct ke_place *place )
{
    const struct look *look = &looks[looked < LOOKS ? looked : LOOKS];

    assert_ptr_equal( park, &context->park.token );
    looked++;
    place->sp = place->pc = look->place;
    return look->how;
}

static enum ke_sleep no_answer( const _Atomic uint32_t *park, struct ke_place *place )
{
    (void)park; (void)place;
    looked++;
    return KE_AWAITS_ANSWER;
}

static enum ke_sleep says_nothing( const _Atomic uint32_t *park, struct ke_place *place )
{
    (void)park; (void)place;
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

static void run_with_looks_at( fake_look *look, int64_t grace,
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

static void run_with_looks( fake_look *look, int64_t grace )
{
    run_with_looks_at( look, grace, a_grace_period_later );
}

void who_waits_for_a_processor_is_not_blocked( void **state )
{
    (void)state;
    run_with_looks( look_once, 1000 );
    assert_int_equal( looked, LOOKS );
}

/* How long after the look before each look came. */
static int64_t looked_at[8];

static enum ke_sleep note_the_time( const _Atomic uint32_t *park, struct ke_place *place )
{
    static const uint64_t places[] = { 1, 2, 3, 4, 4 };

    (void)park;
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

void the_second_look_comes_soon( void **state )
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

void an_answer_is_not_waited_for_forever( void **state )
{
    (void)state;
    run_with_looks( no_answer, 10000 );
    assert_int_equal( looked, UMS_PATIENCE / 10000 );
}

void where_nothing_is_known_time_tells( void **state )
{
    (void)state;
    run_with_looks( says_nothing, 1000 );
    assert_int_equal( looked, 1 );
    ums_grace_unseen = 2500;
    run_with_looks( says_nothing, 1000 );
    ums_grace_unseen = 0;
    assert_int_equal( looked, 3 );
    run_with_looks( no_answer, 100 );           /* shorter than a look takes */
    assert_int_equal( looked, 0 );
}

/* ---- what another scheduler has is not taken ---- */

#define LOOKS_ELSEWHERE 6

static struct ums_scheduler elsewhere, *here;

static enum ke_sleep always_asleep( const _Atomic uint32_t *park, struct ke_place *place )
{
    (void)park;
    place->sp = place->pc = 1;
    looked++;
    return KE_ASLEEP;
}

/* As if another scheduler had executed the worker, whose thread has yet to post here; and in the end as if it had not. */
static int while_elsewhere( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word; (void)value;
    if (!timeout || state_of( context ) != WORKER_INKERNEL) return 1;
    added += ums_grace;
    if (context->owner != &elsewhere) here = context->owner;
    context->owner = looked < LOOKS_ELSEWHERE ? &elsewhere : here;
    return 0;
}

void what_another_scheduler_has_is_not_taken( void **state )
{
    (void)state;
    run_with_looks_at( always_asleep, 1000, while_elsewhere );
    assert_in_range( looked, LOOKS_ELSEWHERE, LOOKS_ELSEWHERE + 2 );
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
    if (!called)                                /* it has stopped; the call wakes it */
    {
        called = 1;                             /* once: when this one waits again the worker plays itself, and ends */
        ums_worker_enter_kernel( context );
    }
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

void no_call_is_missed_when_watching_stops( void **state )
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

#endif
