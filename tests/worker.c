/*
 * White box: whose a worker is, and how it is stopped and ends. The scheduler is the main thread;
 * workers are pthreads that call what the entry hook would call.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "scheduler_kit.h"

/* ---- errors ---- */

static ums_status errors[16];

static void try_from_worker( void *param )
{
    (void)param;
    errors[0] = fake_execute( context );         /* a worker executes */
    errors[1] = fake_scheduler_enter( list, run_to_end, NULL );
}

static void execute_errors( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *fresh;
    uint64_t word;

    if (reason == STARTUP)
    {
        errors[2] = fake_execute( NULL );
        errors[3] = fake_execute( ke_current() );
        ums_context_create( &fresh );
        errors[4] = fake_execute( fresh );
        ums_context_delete( fresh );
        errors[5] = fake_execute( fresh );
        errors[6] = fake_yield( NULL );
        errors[7] = fake_scheduler_enter( list, run_to_end, NULL );
        while (state_of( context ) != WORKER_QUEUED) sched_yield();
        errors[8] = fake_execute( context );     /* on the list */
        ums_list_take( list );
        ums_context_suspended( context );
        errors[9] = fake_execute( context );
        ums_context_resumed( context, 1, &word );
        assert_int_equal( ums_context_hold( context, HOLD_STILL, 0, &word ), HOLD_TAKEN );
        errors[13] = fake_execute( context );
        ums_context_let_go( context );
        fake_execute( context );
    }
    (void)payload;
    (void)param;
    if (reason == BLOCKED) errors[10] = fake_execute( context );
}

static void wrong_calls_get_their_status( void **state )
{
    (void)state;
    assert_int_equal( fake_execute( NULL ), STATUS_INVALID_PARAMETER );
    assert_int_equal( fake_yield( NULL ), STATUS_INVALID_PARAMETER );
    run( try_from_worker, execute_errors );
    assert_int_equal( errors[0], STATUS_NOT_SUPPORTED );
    assert_int_equal( errors[1], STATUS_NOT_SUPPORTED );
    assert_int_equal( errors[2], STATUS_INVALID_PARAMETER );
    assert_int_equal( errors[3], STATUS_INVALID_PARAMETER );
    assert_int_equal( errors[4], STATUS_INVALID_PARAMETER );
    assert_int_equal( errors[5], STATUS_INVALID_PARAMETER );
    assert_int_equal( errors[6], STATUS_INVALID_PARAMETER );
    assert_int_equal( errors[7], STATUS_NOT_SUPPORTED );
    assert_int_equal( errors[8], STATUS_RETRY );
    assert_int_equal( errors[9], STATUS_INVALID_THREAD );     /* suspended */
    assert_int_equal( errors[13], STATUS_RETRY );              /* held */
    assert_int_equal( errors[10], STATUS_INVALID_THREAD );    /* it has ended */
    assert_int_equal( fake_execute( context ), STATUS_NOT_SUPPORTED );
    tear_down();
}

static void entering_checks_its_arguments( void **state )
{
    (void)state;
    set_up();
    assert_int_equal( ums_scheduler_enter( 0x0101, list, (void (*)(void))run_to_end, NULL ),
                      STATUS_INVALID_PARAMETER );
    assert_int_equal( fake_scheduler_enter( NULL, run_to_end, NULL ), STATUS_INVALID_PARAMETER );
    assert_int_equal( fake_scheduler_enter( context, run_to_end, NULL ), STATUS_INVALID_PARAMETER );
    assert_int_equal( fake_scheduler_enter( list, NULL, NULL ), STATUS_INVALID_PARAMETER );
    tear_down();
}

static void binding_checks_its_arguments( void **state )
{
    struct ums_context *w;

    (void)state;
    set_up();
    assert_int_equal( ums_worker_bind( NULL, list, NULL, NULL, &w ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_worker_bind( context, NULL, NULL, NULL, &w ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_worker_bind( list, context, NULL, NULL, &w ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_worker_bind( context, list, NULL, NULL, &w ), STATUS_SUCCESS );
    assert_int_equal( ums_context_delete( context ), STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_worker_bind( context, list, NULL, NULL, &w ), STATUS_INVALID_PARAMETER );
    ums_worker_unbind( w );
    tear_down();
}

/* ---- two schedulers ---- */

static _Atomic int second_done;

static void execute_running( uint32_t reason, uintptr_t payload, void *param )
{
    (void)payload;
    (void)param;
    (void)reason;
    while (state_of( context ) != WORKER_RUNNING && state_of( context ) != WORKER_CARRIED)
        sched_yield();
    errors[11] = fake_execute( context );
    atomic_store( &second_done, 1 );
}

static void *second_scheduler( void *arg )
{
    (void)arg;
    fake_scheduler_enter( other_list, execute_running, NULL );
    return NULL;
}

static void spin_until_told( void *param )
{
    (void)param;
    while (!atomic_load( &second_done )) sched_yield();
}

static void a_running_worker_belongs_to_one_scheduler( void **state )
{
    pthread_t second;

    (void)state;
    set_up();
    atomic_store( &second_done, 0 );
    assert_int_equal( fake_worker_create( &worker, context, list, spin_until_told, NULL ),
                      STATUS_SUCCESS );
    pthread_create( &second, NULL, second_scheduler, NULL );
    assert_int_equal( fake_scheduler_enter( list, run_to_end, list ), STATUS_SUCCESS );
    pthread_join( worker.thread, NULL );
    pthread_join( second, NULL );
    assert_int_equal( errors[11], STATUS_INTERNAL_ERROR );
    tear_down();
}

/* ---- ends ---- */

static void delete_in_upcall( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w = take_one( list );

    (void)payload;
    (void)param;
    note( reason, payload, param );
    if (reason == STARTUP) fake_execute( w );
    seen_status = ums_context_delete( w );
}

static void do_nothing( void *param )
{
    (void)param;
}

/* The client frees the context at once; the home thread is still on its way out. */
static void a_dead_worker_is_deleted_in_its_last_upcall( void **state )
{
    int i;

    (void)state;
    for (i = 0; i < 300; i++)
    {
        set_up();
        assert_int_equal( fake_worker_create( &worker, context, list, do_nothing, NULL ),
                          STATUS_SUCCESS );
        assert_int_equal( fake_scheduler_enter( list, delete_in_upcall, NULL ), STATUS_SUCCESS );
        assert_int_equal( seen_status, STATUS_SUCCESS );
        assert_int_equal( upcall_count, 2 );
        pthread_join( worker.thread, NULL );
        assert_int_equal( atomic_load( &context->refs ), 0 );
        assert_int_equal( atomic_load( &list->refs ), 1 );
        ums_list_delete( list );
        ums_list_delete( other_list );
    }
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

static void killing_in_any_state_tells_the_list( void **state )
{
    static const enum worker_state states[] = { WORKER_STARTING, WORKER_QUEUED, WORKER_READY,
                                                WORKER_BLOCKED };
    struct ums_context *w, *first;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
    {
        set_up();
        ums_worker_bind( context, list, NULL, NULL, &w );
        atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | states[i] );
        if (states[i] == WORKER_QUEUED) ums_list_push( list, w );
        ums_worker_killed( w );
        first = ums_list_take( list );
        assert_ptr_equal( first, context );
        assert_null( ums_list_next( first ) );
        ums_worker_killed( w );                 /* twice does nothing */
        assert_null( ums_list_take( list ) );
        tear_down();
    }
}

/* ---- suspension from outside ---- */

static void stop_and_continue( uint32_t reason, uintptr_t payload, void *param )
{
    note( reason, payload, param );
    if (reason == STARTUP) fake_execute( take_one( list ) );
    if (reason == BLOCKED && upcall_count == 2)
    {
        uint64_t word;

        ums_context_suspended( context );
        errors[12] = fake_execute( context );    /* suspended */
        ums_context_resumed( context, 1, &word );
        assert_null( ums_list_take( list ) );
        seen_state = state_of( context );
        assert_int_equal( ums_worker_continued( context, word ), 1 );
        assert_ptr_equal( ums_list_take( list ), context );
        /* what it was when the suspension ended counts, not what it is by now: still nothing to
           resume; nothing is queued twice */
        assert_int_equal( ums_worker_continued( context, word ), 1 );
        assert_null( ums_list_take( list ) );
        atomic_store( &fake_resumed, 0 );
        fake_execute( context );                 /* its thread is resumed, and spins on to its end */
    }
}

static void stop_me( void *param )
{
    struct ums_context *w = ke_current();

    ums_worker_go_home( w );
    ums_worker_stopped( w );                    /* as if done to it by another thread */
    while (!atomic_load( &fake_resumed )) sched_yield();
    (void)param;
}

static void a_worker_stopped_in_user_code_is_queued_on_resume( void **state )
{
    (void)state;
    run( stop_me, stop_and_continue );
    assert_int_equal( upcall_count, 3 );
    assert_int_equal( upcalls[1].reason, BLOCKED );
    assert_int_equal( upcalls[1].payload, 0 );
    assert_int_equal( errors[12], STATUS_INVALID_THREAD );
    assert_int_equal( seen_state, WORKER_BLOCKED );
    assert_int_equal( upcalls[2].payload, 1 );  /* its end */
    tear_down();
}

static void stopping_a_parked_worker_changes_nothing( void **state )
{
    struct ums_context *w;

    (void)state;
    set_up();
    ums_worker_bind( context, list, NULL, NULL, &w );
    atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | WORKER_READY );
    ums_worker_stopped( w );
    assert_int_equal( state_of( w ), WORKER_READY );
    assert_int_equal( ums_worker_continued( w, atomic_load( &w->word ) ), 0 );
    ums_worker_killed( w );
    tear_down();
}

/* Its scheduler was resumed meanwhile: whoever suspends it has not made it stand still yet. */
static void a_worker_that_is_being_suspended_is_not_taken( void **state )
{
    static struct ums_scheduler waiting;
    struct ums_context *w;
    uint64_t word;

    (void)state;
    set_up();
    ums_worker_bind( context, list, NULL, NULL, &w );
    w->owner = &waiting;
    atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | WORKER_RUNNING );
    ums_context_suspending( w, 0, &word );
    ums_worker_kept( w );
    assert_int_equal( state_of( w ), WORKER_RUNNING );
    ums_context_suspend_made( w, 1, &word );
    atomic_store( &w->self_suspending, 1 );
    ums_worker_kept( w );
    assert_int_equal( state_of( w ), WORKER_RUNNING );
    atomic_store( &w->self_suspending, 0 );
    ums_worker_kept( w );
    assert_int_equal( state_of( w ), WORKER_BLOCKED );
    assert_true( atomic_load( &w->word ) & WORD_STOPPED );
    assert_int_equal( atomic_load( &waiting.posted ), POST_MADE );
    ums_worker_killed( w );
    tear_down();
}

/* ---- its thread waits until it is executed ---- */

static const uint64_t held_steps[] =
{
    WORKER_BLOCKED | WORD_PREEMPTED | WORD_HOME | WORD_FOREIGN,
    WORKER_BLOCKED | WORD_PREEMPTED | WORD_HOME,
    WORKER_QUEUED | WORD_PREEMPTED | WORD_HOME,
    WORKER_READY | WORD_PREEMPTED | WORD_HOME,
    WORKER_CARRIED,                             /* its scheduler is about to send it home */
    WORKER_RUNNING
};
static int held_step;

/* A token comes at each step, as one for an earlier worker might. */
static int next_held_step( _Atomic uint32_t *token, uint32_t value, const int64_t *timeout )
{
    (void)value;
    (void)timeout;
    assert_ptr_equal( token, &context->park.token );
    assert_true( held_step + 1 < (int)(sizeof(held_steps) / sizeof(held_steps[0])) );
    atomic_store( &context->word, held_steps[++held_step] );
    atomic_store( &context->park.token, 1 );
    return 0;
}

static void its_thread_waits_until_it_is_sent_home( void **state )
{
    static void (*const waits[])( struct ums_context *w ) = { ums_worker_home_wait, ums_worker_held_wait };
    struct ums_context *w;
    int i;

    (void)state;
    set_up();
    ums_worker_bind( context, list, NULL, NULL, &w );
    fake_on_wait = next_held_step;
    for (i = 0; i < 2; i++)
    {
        held_step = 0;
        atomic_store( &w->word, held_steps[0] );
        waits[i]( w );
        assert_int_equal( state_of( w ), WORKER_RUNNING );
    }
    ums_worker_held_wait( w );                  /* it runs already */
    fake_on_wait = NULL;
    atomic_store( &w->word, WORKER_STARTING );
    ums_worker_unbind( w );
    tear_down();
}

/* ---- a deleted list ---- */

static void what_a_deleted_list_held_can_be_executed( void **state )
{
    struct ums_context *w;

    (void)state;
    set_up();
    ums_worker_bind( context, other_list, NULL, NULL, &w );
    atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | WORKER_QUEUED );
    ums_list_push( other_list, w );
    ums_list_ref( other_list );
    assert_int_equal( ums_list_delete( other_list ), STATUS_SUCCESS );
    assert_int_equal( state_of( w ), WORKER_READY );
    atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | WORKER_QUEUED );
    ums_list_push( other_list, w );             /* one that was blocked when the list went */
    assert_int_equal( state_of( w ), WORKER_READY );
    ums_list_unref( other_list );
    ums_list_create( &other_list );             /* for tear_down */
    atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | WORKER_STARTING );
    ums_worker_unbind( w );
    tear_down();
}

static void end_inside( uint32_t reason, uintptr_t payload, void *param )
{
    (void)reason;
    (void)payload;
    (void)param;
    ums_scheduler_end( ke_current() );
    pthread_exit( NULL );
}

static void *ends_inside( void *arg )
{
    (void)arg;
    fake_scheduler_enter( list, end_inside, NULL );
    return NULL;
}

static void a_scheduler_thread_may_end_inside_its_upcall( void **state )
{
    pthread_t thread;

    (void)state;
    set_up();
    pthread_create( &thread, NULL, ends_inside, NULL );
    pthread_join( thread, NULL );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    tear_down();
}

/* ---- momentary suspensions of a carrier ---- */

/* Each of these may have been seen by the one in the middle, whenever it ended. */
static void no_momentary_suspension_is_missed( void **state )
{
    static struct ums_scheduler s;
    uint32_t before;

    (void)state;
    before = ums_preempter_begins( &s );
    assert_int_equal( ums_preempters_since( &s, before ), 0 );
    ums_preempter_begins( &s );                 /* begins later, and ends */
    assert_int_equal( ums_preempters_since( &s, before ), 1 );
    ums_preempter_ends( &s );
    assert_int_equal( ums_preempters_since( &s, before ), 1 );
    ums_preempter_ends( &s );

    ums_preempter_begins( &s );                 /* began earlier, and end */
    ums_preempter_begins( &s );
    before = ums_preempter_begins( &s );
    ums_preempter_ends( &s );
    ums_preempter_ends( &s );
    assert_int_equal( ums_preempters_since( &s, before ), 2 );
    ums_preempter_ends( &s );

    atomic_store( &s.preempters, 0xffffu * PREEMPTERS_EVER );   /* the number wraps */
    before = ums_preempter_begins( &s );
    ums_preempter_begins( &s );
    ums_preempter_ends( &s );
    assert_int_equal( ums_preempters_since( &s, before ), 1 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( wrong_calls_get_their_status ),
        cmocka_unit_test( entering_checks_its_arguments ),
        cmocka_unit_test( binding_checks_its_arguments ),
        cmocka_unit_test( a_running_worker_belongs_to_one_scheduler ),
        cmocka_unit_test( a_dead_worker_is_deleted_in_its_last_upcall ),
        cmocka_unit_test( killing_in_any_state_tells_the_list ),
        cmocka_unit_test( a_worker_stopped_in_user_code_is_queued_on_resume ),
        cmocka_unit_test( a_worker_that_is_being_suspended_is_not_taken ),
        cmocka_unit_test( stopping_a_parked_worker_changes_nothing ),
        cmocka_unit_test( its_thread_waits_until_it_is_sent_home ),
        cmocka_unit_test( what_a_deleted_list_held_can_be_executed ),
        cmocka_unit_test( a_scheduler_thread_may_end_inside_its_upcall ),
        cmocka_unit_test( no_momentary_suspension_is_missed ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
