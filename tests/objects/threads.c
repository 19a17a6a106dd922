/*
 * White box, local objects: plain threads wait.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

#define THREADS 4
#define COUNTED 2000

/* However late they run: a signal is given to one at once. */
void each_set_releases_one( void **state )
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
    finish();
}

void a_pulse_is_for_those_who_wait( void **state )
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
    finish();
}

/* The signal behind it is still there. */
void a_wait_whose_time_is_over_takes_nothing( void **state )
{
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_once, (void *)SOON );
    join( &thread, 1 );
    assert_int_equal( atomic_load( &timed_out ), 1 );
    set( object );
    assert_int_equal( state_of( object ), 1 );
    finish();
}

void all_are_taken_at_once( void **state )
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
    finish();
}

void any_says_which( void **state )
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
    finish();
}

void the_limit_of_a_semaphore( void **state )
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
    finish();
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

void every_signal_is_taken_once( void **state )
{
    pthread_t threads[2 * THREADS];

    (void)state;
    begin( OBJECT_SEMAPHORE, 0, THREADS * COUNTED );
    start( threads, THREADS, take_many, NULL );
    start( threads + THREADS, THREADS, give_many, NULL );
    join( threads, 2 * THREADS );
    assert_int_equal( atomic_load( &ended ), THREADS * COUNTED );
    assert_int_equal( state_of( object ), 0 );
    finish();
}

/* ---- ended from outside ---- */

static struct ums_context of_the_dead, of_another;

static void *die_waiting( void *context )
{
    struct object_thread self;
    struct object_wait *wait;
    ums_status status;
    uint32_t tid = ke_thread_id();

    ke_set_current( context );
    self = this_thread();
    ums_objects_lock();
    ums_object_wait( &object, 1, 0, 0, &self, NULL, &wait, &status );
    ums_objects_unlock();
    return (void *)(uintptr_t)tid;
}

/* First in the queue are two who never come back: one is known by its context, one by its id. */
static _Atomic uint32_t holder;

static void *die_with_lock( void *arg )
{
    (void)arg;
    ums_objects_lock();
    atomic_store( &holder, ke_thread_id() );
    return NULL;
}

static void *set_once( void *arg )
{
    (void)arg;
    set( object );
    return NULL;
}

/* One of those who wait for the lock takes it over, once. */
void the_lock_of_a_thread_that_is_gone( void **state )
{
    pthread_t dead, waiting[2];

    (void)state;
    begin( OBJECT_SEMAPHORE, 0, 2 );
    recovered = 0;
    start( &dead, 1, die_with_lock, NULL );
    pthread_join( dead, NULL );
    start( waiting, 2, set_once, NULL );
    atomic_store( &gone_tid, atomic_load( &holder ) );
    join( waiting, 2 );
    assert_int_equal( recovered, 1 );
    assert_int_equal( state_of( object ), 1 );
    atomic_store( &gone_tid, 0 );
    finish();
}

void a_thread_that_is_gone_takes_no_signal( void **state )
{
    pthread_t threads[3];
    void *tid;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    atomic_store( &ums_objects_made, 1 );
    start( threads, 1, die_waiting, &of_the_dead );
    pthread_join( threads[0], NULL );
    start( threads + 1, 1, die_waiting, NULL );
    pthread_join( threads[1], &tid );
    start( threads + 2, 1, wait_once, NULL );
    until_waits( object, 3 );
    ums_objects_context_gone( &of_another );
    assert_true( has_waits( object, 3 ) );
    ums_objects_context_gone( &of_the_dead );
    assert_true( has_waits( object, 2 ) );
    ums_objects_thread_gone( (uint32_t)(uintptr_t)tid );
    assert_true( has_waits( object, 1 ) );
    set( object );
    join( threads + 2, 1 );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_int_equal( state_of( object ), 0 );
    finish();
}
