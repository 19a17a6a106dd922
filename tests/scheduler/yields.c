/*
 * White box: a worker yields and blocks, also out of a call. And the program.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

static void yield_twice( void *param )
{
    fake_yield( param );
    fake_yield( NULL );
}

void a_worker_yields_and_ends( void **state )
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

void a_worker_blocks_and_comes_back_by_the_list( void **state )
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

void it_comes_back_to_the_list_of_its_last_scheduler( void **state )
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

#if !defined(__SANITIZE_THREAD__)               /* takes one instruction after the other */

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

void it_is_let_go_before_its_scheduler_is_told( void **state )
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

void a_yield_inside_a_call_goes_back_into_it( void **state )
{
    (void)state;
    fake_on_clock = fake_no_time_passes;
    run( yield_inside_call, run_to_end );
    fake_on_clock = NULL;
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

void a_yield_of_a_taken_worker_is_scheduled_first( void **state )
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
void a_yield_inside_a_wait_is_scheduled_once( void **state )
{
    (void)state;
    fake_on_clock = fake_no_time_passes;
    run( yield_when_waiting, run_to_end );
    fake_on_clock = NULL;
    assert_int_equal( upcall_count, 4 );
    assert_int_equal( upcalls[1].reason, BLOCKED );
    assert_int_equal( upcalls[2].reason, YIELD );
    assert_int_equal( upcalls[3].reason, BLOCKED );           /* its end */
    assert_int_equal( seen_state, WORKER_RUNNING );
    tear_down();
}

int main( void )
{
#define X( name ) cmocka_unit_test( name ),
    const struct CMUnitTest tests[] = { SCHEDULER_TESTS( X ) };
#undef X

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
