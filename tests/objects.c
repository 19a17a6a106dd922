/*
 * White box: events and semaphores of this process alone. Threads are plain ones, and a worker.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include "core/objects.h"
#include "core/wait.h"
#include "ke_fake.h"

#define THREADS 4
#define COUNTED 2000
#define SOON    200000                          /* 100 ns: 20 ms */

enum { STARTUP, BLOCKED, YIELD };

static struct ums_object *object, *second;
static _Atomic int ended, moved, timed_out;

/* ---- the host's side ---- */

static int copies;

static void *copy( void *handle )
{
    assert_ptr_equal( handle, &copies );
    assert_int_equal( ums_objects_holder(), ke_thread_id() );
    copies++;
    return &copies + 1;
}

static void drop( void *handle )
{
    assert_ptr_equal( handle, &copies + 1 );
    assert_int_equal( ums_objects_holder(), ke_thread_id() );
    copies--;
}

static const struct object_host host = { copy, drop };

/* ---- operations, each a section of its own ---- */

static void set( struct ums_object *o )
{
    ums_objects_lock();
    ums_object_set( o );
    ums_objects_unlock();
}

static int32_t state_of( struct ums_object *o )
{
    int32_t state;

    ums_objects_lock();
    state = o->state;
    ums_objects_unlock();
    return state;
}

static int has_waits( struct ums_object *o, int count )
{
    struct object_link *link;
    int n = 0;

    ums_objects_lock();
    for (link = o->waits.first; link; link = link->next) n++;
    ums_objects_unlock();
    return n == count;
}

static void until_waits( struct ums_object *o, int count )
{
    while (!has_waits( o, count )) sched_yield();
}

/* As a thread: its status; -1: it has to go on at the host, where it is counted as arriving. */
static int wait_for( struct ums_object *const *objects, uint32_t count, int all, int64_t time )
{
    struct object_wait *wait;
    ums_status status;
    int over;

    ums_objects_lock();
    over = ums_object_wait( objects, count, all, 0, NULL, &wait, &status );
    ums_objects_unlock();
    if (over) return (int)status;
    ums_object_wait_in_thread( wait, time ? ke_clock() + time : 0 );
    if (ums_object_wait_end( wait, &status )) return (int)status;
    ums_object_arrived( wait );
    return -1;
}

static void note( int status )
{
    if (status == -1) atomic_fetch_add( &moved, 1 );
    else if (status == (int)STATUS_TIMEOUT) atomic_fetch_add( &timed_out, 1 );
    else atomic_fetch_add( &ended, 1 );
}

static void *wait_once( void *time )
{
    note( wait_for( &object, 1, 0, (int64_t)(intptr_t)time ) );
    return NULL;
}

static void *wait_for_both( void *all )
{
    struct ums_object *both[2] = { object, second };
    int status = wait_for( both, 2, all != NULL, 0 );

    note( status );
    return (void *)(intptr_t)status;
}

static void begin( enum object_type type, int32_t state, int32_t limit )
{
    object = ums_object_create( type, state, limit );
    second = ums_object_create( OBJECT_SYNCHRONIZATION, 0, 0 );
    object->handle = second->handle = &copies;
    atomic_store( &ended, 0 );
    atomic_store( &moved, 0 );
    atomic_store( &timed_out, 0 );
}

static void end( void )
{
    ums_objects_lock();
    assert_null( object->waits.first );
    assert_null( object->moving.first );
    assert_int_equal( object->arriving, 0 );
    ums_object_close( object );
    ums_object_close( second );
    assert_int_equal( ums_objects_holder(), ke_thread_id() );
    ums_objects_unlock();
    assert_int_equal( ums_objects_holder(), 0 );
    assert_int_equal( copies, 0 );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

static void start( pthread_t *threads, int count, void *(*body)( void * ), void *arg )
{
    int i;

    for (i = 0; i < count; i++) pthread_create( &threads[i], NULL, body, arg );
}

static void join( pthread_t *threads, int count )
{
    int i;

    for (i = 0; i < count; i++) pthread_join( threads[i], NULL );
}

/* ---- threads ---- */

/* However late they run: a signal is given to one at once. */
static void each_set_releases_one( void **state )
{
    pthread_t threads[3];

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( threads, 3, wait_once, NULL );
    until_waits( object, 3 );
    ums_objects_lock();
    ums_object_set( object );
    ums_object_set( object );
    ums_object_set( object );
    assert_int_equal( object->state, 0 );
    ums_objects_unlock();
    join( threads, 3 );
    assert_int_equal( atomic_load( &ended ), 3 );
    end();
}

static void a_pulse_is_for_those_who_wait( void **state )
{
    pthread_t threads[2];

    (void)state;
    begin( OBJECT_NOTIFICATION, 0, 0 );
    start( threads, 2, wait_once, NULL );
    until_waits( object, 2 );
    ums_objects_lock();
    assert_int_equal( ums_object_pulse( object ), 0 );
    assert_int_equal( ums_object_pulse( object ), 0 );
    ums_objects_unlock();
    join( threads, 2 );
    assert_int_equal( atomic_load( &ended ), 2 );
    assert_int_equal( state_of( object ), 0 );
    end();
}

/* The signal behind it is still there. */
static void a_wait_whose_time_is_over_takes_nothing( void **state )
{
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_once, (void *)SOON );
    join( &thread, 1 );
    assert_int_equal( atomic_load( &timed_out ), 1 );
    set( object );
    assert_int_equal( state_of( object ), 1 );
    end();
}

static void all_are_taken_at_once( void **state )
{
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_for_both, (void *)1 );
    until_waits( object, 1 );
    set( object );
    assert_int_equal( state_of( object ), 1 );  /* kept, for the other is not there */
    set( second );
    join( &thread, 1 );
    assert_int_equal( state_of( object ) + state_of( second ), 0 );
    assert_int_equal( atomic_load( &ended ), 1 );
    end();
}

static void any_says_which( void **state )
{
    pthread_t thread;
    void *status;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_for_both, NULL );
    until_waits( object, 1 );
    set( second );
    pthread_join( thread, &status );
    assert_int_equal( (intptr_t)status, 1 );
    assert_true( has_waits( object, 0 ) );
    end();
}

static void the_limit_of_a_semaphore( void **state )
{
    int32_t before;

    (void)state;
    begin( OBJECT_SEMAPHORE, 1, 3 );
    ums_objects_lock();
    assert_false( ums_object_release( object, 3, &before ) );
    assert_false( ums_object_release( object, 0xffffffff, &before ) );
    assert_true( ums_object_release( object, 2, &before ) );
    assert_int_equal( before, 1 );
    assert_int_equal( object->state, 3 );
    ums_objects_unlock();
    end();
}

static void *take_many( void *unused )
{
    int i;

    (void)unused;
    for (i = 0; i < COUNTED; i++) note( wait_for( &object, 1, 0, 0 ) );
    return NULL;
}

static void *give_many( void *unused )
{
    int32_t before;
    int i;

    (void)unused;
    for (i = 0; i < COUNTED; i++)
    {
        ums_objects_lock();
        assert_true( ums_object_release( object, 1, &before ) );
        ums_objects_unlock();
    }
    return NULL;
}

static void every_signal_is_taken_once( void **state )
{
    pthread_t threads[2 * THREADS];

    (void)state;
    begin( OBJECT_SEMAPHORE, 0, THREADS * COUNTED );
    start( threads, THREADS, take_many, NULL );
    start( threads + THREADS, THREADS, give_many, NULL );
    join( threads, 2 * THREADS );
    assert_int_equal( atomic_load( &ended ), THREADS * COUNTED );
    assert_int_equal( state_of( object ), 0 );
    end();
}

/* ---- it becomes real ---- */

/* The lock is held until both have been given away: nobody can have gone on yet. */
static void a_signal_reaches_a_wait_that_moves( void **state )
{
    pthread_t threads[3];

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( threads, 3, wait_once, NULL );
    until_waits( object, 3 );
    ums_objects_lock();
    assert_int_equal( ums_object_becomes_real( object ), 0 );
    ums_object_is_real( object );
    assert_int_equal( atomic_load( &object->stragglers ), 1 );
    assert_true( ums_object_claim( object, 0 ) );
    assert_true( ums_object_claim( object, 0 ) );
    ums_objects_unlock();
    join( threads, 3 );
    assert_int_equal( atomic_load( &ended ), 2 );
    assert_int_equal( atomic_load( &moved ), 1 );
    assert_int_equal( atomic_load( &object->stragglers ), 0 );
    end();
}

/* A wait for both can only be made at the host for both. */
static void what_is_waited_for_together_moves_together( void **state )
{
    pthread_t threads[2];

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( threads, 1, wait_for_both, NULL );
    start( threads + 1, 1, wait_for_both, (void *)1 );
    until_waits( second, 2 );
    ums_objects_lock();
    ums_object_becomes_real( object );
    assert_ptr_equal( ums_object_follows( object ), second );
    ums_object_is_real( object );
    ums_object_becomes_real( second );
    ums_object_is_real( second );
    assert_null( ums_object_follows( object ) );
    assert_null( object->waits.first );
    assert_true( ums_object_claim( second, 1 ) );               /* not the one for all */
    assert_false( ums_object_claim( second, 1 ) );
    ums_objects_unlock();
    join( threads, 2 );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_int_equal( atomic_load( &moved ), 1 );
    end();
}

/* Whoever finds it real without the lock must find the state at the host. */
static void it_is_the_hosts_when_the_state_is_there( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 1, 0 );
    ums_objects_lock();
    assert_int_equal( ums_object_becomes_real( object ), 1 );
    assert_int_equal( atomic_load( &object->stragglers ), 1 );
    ums_object_is_real( object );
    assert_int_equal( atomic_load( &object->stragglers ), 0 );
    ums_objects_unlock();
    end();
}

/* The wait is made with a copy: the host's object is there, whatever the program closes. */
static void a_wait_that_moves_outlives_the_handle( void **state )
{
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_for_both, NULL );
    until_waits( second, 1 );
    ums_objects_lock();
    ums_object_closes( object );
    ums_object_close( object );
    assert_ptr_equal( ums_object_at_host( object ), &copies + 1 );
    ums_object_becomes_real( second );
    ums_object_is_real( second );
    assert_ptr_equal( ums_object_follows( second ), object );
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    assert_int_equal( copies, 2 );
    assert_ptr_equal( ums_object_at_host( object ), &copies + 1 );
    ums_objects_unlock();
    join( &thread, 1 );
    assert_int_equal( atomic_load( &moved ), 1 );
    assert_int_equal( copies, 0 );
    object = ums_object_create( OBJECT_SYNCHRONIZATION, 0, 0 );
    end();
}

static void *wait_and_look( void *unused )
{
    struct ums_object *both[2] = { object, second };
    struct object_wait *wait;
    ums_status status;

    (void)unused;
    ums_objects_lock();
    assert_false( ums_object_wait( both, 2, 0, 0, NULL, &wait, &status ) );
    ums_objects_unlock();
    ums_object_wait_in_thread( wait, 0 );
    assert_false( ums_object_wait_end( wait, &status ) );
    assert_int_equal( object->arriving + second->arriving, 2 );
    object->overdue = 1;
    ums_object_arrived( wait );
    return NULL;
}

/* A signal for any of its objects has to be left to it. */
static void a_wait_arrives_at_all_its_objects( void **state )
{
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_and_look, NULL );
    until_waits( second, 1 );
    ums_objects_lock();
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    ums_object_becomes_real( second );
    ums_object_is_real( second );
    ums_objects_unlock();
    join( &thread, 1 );
    assert_int_equal( object->arriving + second->arriving + object->overdue, 0 );
    assert_int_equal( atomic_load( &second->stragglers ), 0 );
    end();
}

/* A closed object goes with the last wait for it, and not before. */
static void waits_keep_a_closed_object( void **state )
{
    struct ums_object *again;
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_once, (void *)SOON );
    until_waits( object, 1 );
    ums_objects_lock();
    ums_object_closes( object );
    ums_object_close( object );
    assert_int_equal( copies, 1 );
    ums_objects_unlock();
    again = ums_object_create( OBJECT_SEMAPHORE, 0, 1 );
    assert_ptr_not_equal( again, object );
    join( &thread, 1 );
    assert_int_equal( atomic_load( &timed_out ), 1 );
    assert_ptr_equal( ums_object_create( OBJECT_SYNCHRONIZATION, 0, 0 ), object );
    ums_objects_lock();
    ums_object_close( again );
    ums_objects_unlock();
    end();
}

/* ---- a worker ---- */

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
    struct ums_context *self = ke_current();
    struct object_wait *wait;
    ums_status status;
    int over;

    ums_objects_lock();
    over = ums_object_wait( &object, 1, 0, 0, self, &wait, &status );
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

static void a_worker_waits_and_is_told( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_waits_for_ever, set_when_it_waits );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_int_equal( upcalls[BLOCKED], 2 );
    end();
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

static void a_signal_before_the_state_is_not_lost( void **state )
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
    end();
}

static void worker_leaves_its_wait( void *unused )
{
    struct ums_context *self = ke_current();
    struct object_wait *wait;
    ums_status status;

    (void)unused;
    ums_objects_lock();
    assert_false( ums_object_wait( &object, 1, 0, 0, self, &wait, &status ) );
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    assert_non_null( object->moving.first );
    assert_false( ums_object_wait( &second, 1, 0, 0, self, &wait, &status ) );
    assert_null( object->moving.first );
    ums_object_set( second );
    ums_objects_unlock();
    assert_true( ums_object_wait_end( wait, &status ) );
    note( (int)status );
}

/* It was given other registers where it waited. */
static void a_new_wait_ends_the_one_before( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_leaves_its_wait, NULL );
    assert_int_equal( atomic_load( &ended ), 1 );
    end();
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
static void the_timer_ends_a_workers_wait( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    run( worker_waits_for_a_while, timer );
    assert_int_equal( atomic_load( &timed_out ), 1 );
    set( object );
    assert_int_equal( state_of( object ), 1 );
    end();
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( each_set_releases_one ),
        cmocka_unit_test( a_pulse_is_for_those_who_wait ),
        cmocka_unit_test( a_wait_whose_time_is_over_takes_nothing ),
        cmocka_unit_test( all_are_taken_at_once ),
        cmocka_unit_test( any_says_which ),
        cmocka_unit_test( the_limit_of_a_semaphore ),
        cmocka_unit_test( every_signal_is_taken_once ),
        cmocka_unit_test( a_signal_reaches_a_wait_that_moves ),
        cmocka_unit_test( what_is_waited_for_together_moves_together ),
        cmocka_unit_test( it_is_the_hosts_when_the_state_is_there ),
        cmocka_unit_test( a_wait_that_moves_outlives_the_handle ),
        cmocka_unit_test( a_wait_arrives_at_all_its_objects ),
        cmocka_unit_test( waits_keep_a_closed_object ),
        cmocka_unit_test( a_worker_waits_and_is_told ),
        cmocka_unit_test( a_signal_before_the_state_is_not_lost ),
        cmocka_unit_test( a_new_wait_ends_the_one_before ),
        cmocka_unit_test( the_timer_ends_a_workers_wait ),
    };

    fake_init();
    assert_true( ums_objects_init( &host ) );
    return cmocka_run_group_tests( tests, NULL, NULL );
}
