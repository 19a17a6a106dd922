/*
 * White box, local objects: a worker waits.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

enum { STARTUP, BLOCKED, YIELD };

static struct ums_list *list;
static struct ums_context *context;
static struct fake_worker worker;
static int upcalls[3];

static void schedule( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w = (struct ums_context *)payload;

    (void)param;
    upcalls[reason]++;
    if (reason != YIELD) ums_list_wait( list, NULL, &w );
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    assert_int_equal( fake_execute( w ), STATUS_SUCCESS );
}

static void run( void (*body)( void * ), void *(*other)( void * ) )
{
    pthread_t thread;

    upcalls[BLOCKED] = 0;
    ums_list_create( &list );
    ums_context_create( &context );
    assert_int_equal( fake_worker_create( &worker, context, list, body, NULL ), STATUS_SUCCESS );
    if (other) pthread_create( &thread, NULL, other, NULL );
    assert_int_equal( fake_scheduler_enter( list, schedule, NULL ), STATUS_SUCCESS );
    if (other) pthread_join( thread, NULL );
    pthread_join( worker.thread, NULL );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    ums_list_delete( list );
}

static void (*in_between)( void );              /* the record is in the queue, the state is not changed */

static void worker_waits( void *deadline )
{
    const struct object_thread thread = this_thread();
    struct ums_context *self = ke_current();
    struct object_wait *wait;
    ums_status status;
    int over;

    ums_objects_lock();
    over = ums_object_wait( &object, 1, 0, 0, &thread, self, &wait, &status );
    ums_objects_unlock();
    if (!over)
    {
        if (in_between)
        {
            in_between();
            ums_worker_wait( self, WAIT_FOR_OBJECT, 0 );        /* it has looked before */
        }
        ums_object_wait_as_worker( wait, (int64_t)(intptr_t)deadline );
        if (!ums_object_wait_end( wait, &status ))
        {
            ums_object_arrived( wait );
            status = (ums_status)-1;
        }
    }
    note( (int)status );
}

static void worker_waits_for_ever( void *unused )
{
    (void)unused;
    worker_waits( NULL );
}

static void *set_when_it_waits( void *unused )
{
    (void)unused;
    while (word_state( atomic_load( &context->word ) ) != WORKER_BLOCKED) sched_yield();
    set( object );
    return NULL;
}

void a_worker_waits_and_is_told( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_waits_for_ever, set_when_it_waits );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_int_equal( upcalls[BLOCKED], 2 );
    finish();
}

static void set_in_between( void )
{
    set( object );
}

static void real_in_between( void )
{
    ums_objects_lock();
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    ums_objects_unlock();
}

void a_signal_before_the_state_is_not_lost( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    in_between = set_in_between;
    run( worker_waits_for_ever, NULL );
    assert_int_equal( atomic_load( &ended ), 1 );
    in_between = real_in_between;
    run( worker_waits_for_ever, NULL );
    assert_int_equal( atomic_load( &moved ), 1 );
    in_between = NULL;
    finish();
}

static void worker_leaves_its_wait( void *unused )
{
    const struct object_thread thread = this_thread();
    struct ums_context *self = ke_current();
    struct object_wait *wait;
    ums_status status;

    (void)unused;
    ums_objects_lock();
    assert_false( ums_object_wait( &object, 1, 0, 0, &thread, self, &wait, &status ) );
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    assert_non_null( object->moving.first );
    assert_false( ums_object_wait( &second, 1, 0, 0, &thread, self, &wait, &status ) );
    assert_null( object->moving.first );
    ums_object_set( second );
    ums_objects_unlock();
    assert_true( ums_object_wait_end( wait, &status ) );
    note( (int)status );
}

/* It was given other registers where it waited. */
void a_new_wait_ends_the_one_before( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_leaves_its_wait, NULL );
    assert_int_equal( atomic_load( &ended ), 1 );
    finish();
}

static void *timer( void *unused )
{
    (void)unused;
    while (!atomic_load( &timed_out )) ums_timer_round();
    return NULL;
}

static void worker_waits_for_a_while( void *unused )
{
    (void)unused;
    worker_waits( (void *)(intptr_t)(ke_clock() + SOON) );
    ums_timer_poke();
}

/* It is out of the queue. */
void the_timer_ends_a_workers_wait( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_waits_for_a_while, timer );
    assert_int_equal( atomic_load( &timed_out ), 1 );
    set( object );
    assert_int_equal( state_of( object ), 1 );
    finish();
}

/* The timer comes between the end of its suspension and the look of whoever has resumed it (ums_objects_worker_resumed). */
static void *resume_when_time_is_over( void *unused )
{
    uint64_t word;

    (void)unused;
    while (word_state( word = atomic_load( &context->word ) ) != WORKER_BLOCKED) sched_yield();
    atomic_fetch_add( &context->word, SUSPENDED_ONE );
    set( object );
    ums_object_time_over( context, word );
    assert_true( has_waits( object, 1 ) );
    atomic_fetch_sub( &context->word, SUSPENDED_ONE );
    ums_object_time_over( context, word );
    return NULL;
}

void a_resumed_wait_takes_its_signal_before_its_time_is_over( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_waits_for_ever, resume_when_time_is_over );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_int_equal( atomic_load( &timed_out ), 0 );
    assert_int_equal( state_of( object ), 0 );
    finish();
}
