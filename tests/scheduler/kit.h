/*
 * White box: a worker yields, makes calls and blocks. The scheduler is the main thread; workers are
 * pthreads that call what the entry hook would call.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef SCHEDULER_TESTS_H
#define SCHEDULER_TESTS_H

#include "../scheduler_kit.h"

#if defined(__SANITIZE_THREAD__)
#define STEP_TESTS( X )
#else                                           /* these take one instruction after the other */
#define STEP_TESTS( X ) \
    X( no_call_is_missed_when_watching_stops ) \
    X( it_is_let_go_before_its_scheduler_is_told )
#endif

#define SCHEDULER_TESTS( X ) \
    X( a_worker_yields_and_ends ) \
    X( a_worker_blocks_and_comes_back_by_the_list ) \
    X( it_comes_back_to_the_list_of_its_last_scheduler ) \
    X( short_calls_are_not_told ) \
    X( calls_in_a_row_are_not_one_long_call ) \
    X( short_calls_are_recorded_both_ways ) \
    STEP_TESTS( X ) \
    X( a_long_call_is_told_after_the_grace_period ) \
    X( who_waits_for_a_processor_is_not_blocked ) \
    X( the_second_look_comes_soon ) \
    X( an_answer_is_not_waited_for_forever ) \
    X( where_nothing_is_known_time_tells ) \
    X( what_another_scheduler_has_is_not_taken ) \
    X( a_scheduler_that_stopped_looking_is_woken ) \
    X( a_yield_inside_a_call_goes_back_into_it ) \
    X( a_yield_of_a_taken_worker_is_scheduled_first ) \
    X( a_yield_inside_a_wait_is_scheduled_once )

#define X( name ) void name( void **state );
SCHEDULER_TESTS( X )
#undef X

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

#endif /* SCHEDULER_TESTS_H */
