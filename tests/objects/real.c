/*
 * White box, local objects: one becomes real while others wait for it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

/* The lock is held until both have been given away: nobody can have gone on yet. */
void a_signal_reaches_a_wait_that_moves( void **state )
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
    finish();
}

/* A wait for both can only be made at the host for both. */
void what_is_waited_for_together_moves_together( void **state )
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
    assert_non_null( second->keep );            /* its waits moved before it became real */
    ums_object_is_real( second );
    assert_null( ums_object_follows( object ) );
    assert_null( object->waits.first );
    assert_true( ums_object_claim( second, 1 ) );               /* not the one for all */
    assert_false( ums_object_claim( second, 1 ) );
    ums_objects_unlock();
    join( threads, 2 );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_int_equal( atomic_load( &moved ), 1 );
    finish();
}

/* Whoever finds it real without the lock must find the state at the host. */
void it_is_the_hosts_when_the_state_is_there( void **state )
{
    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 1, 0 );
    ums_objects_lock();
    assert_int_equal( ums_object_becomes_real( object ), 1 );
    assert_int_equal( atomic_load( &object->stragglers ), 1 );
    ums_object_is_real( object );
    assert_int_equal( atomic_load( &object->stragglers ), 0 );
    ums_objects_unlock();
    finish();
}

/* The wait is made with a copy: the host's object is there, whatever the program closes. */
void a_wait_that_moves_outlives_the_handle( void **state )
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
    finish();
}

static void *wait_and_look( void *unused )
{
    const struct object_thread self = this_thread();
    struct ums_object *both[2] = { object, second };
    struct object_wait *wait;
    ums_status status;

    (void)unused;
    ums_objects_lock();
    assert_false( ums_object_wait( both, 2, 0, 0, &self, NULL, &wait, &status ) );
    ums_objects_unlock();
    ums_object_wait_in_thread( wait, 0 );
    assert_false( ums_object_wait_end( wait, &status ) );
    assert_int_equal( object->arriving + second->arriving, 2 );
    ums_object_arrived( wait );
    return NULL;
}

/* A signal for any of its objects has to be left to it. */
void a_wait_arrives_at_all_its_objects( void **state )
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
    assert_int_equal( object->arriving + second->arriving, 0 );
    assert_int_equal( atomic_load( &second->stragglers ), 0 );
    finish();
}

/* One that was waited for in vain is not waited for again. When it goes, another one does not take its
   place. */
void who_arrives_later_is_waited_for( void **state )
{
    const struct object_thread self = this_thread();
    struct object_wait *waits[2];
    ums_status status;
    int i;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    ums_objects_lock();
    for (i = 0; i < 2; i++) assert_false( ums_object_wait( &object, 1, 0, 0, &self, NULL, &waits[i], &status ) );
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    ums_objects_unlock();
    assert_false( ums_object_wait_end( waits[0], &status ) );
    assert_true( ums_object_lets_arrive( object ) );
    object->overdue = object->came;
    assert_false( ums_object_lets_arrive( object ) );
    assert_false( ums_object_wait_end( waits[1], &status ) );
    assert_true( ums_object_lets_arrive( object ) );
    ums_object_arrived( waits[0] );
    assert_true( ums_object_lets_arrive( object ) );
    ums_object_arrived( waits[1] );
    assert_false( ums_object_lets_arrive( object ) );
    finish();
}

/* A closed object goes with the last wait for it, and not before. */
void waits_keep_a_closed_object( void **state )
{
    struct ums_object *again;
    pthread_t thread;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    start( &thread, 1, wait_once, NULL );
    until_waits( object, 1 );
    ums_objects_lock();
    ums_object_closes( object );
    ums_object_close( object );
    assert_int_equal( copies, 1 );
    ums_objects_unlock();
    again = ums_object_create( OBJECT_SEMAPHORE, 0, 1 );
    assert_ptr_not_equal( again, object );
    set( object );
    join( &thread, 1 );
    assert_int_equal( atomic_load( &ended ), 1 );
    assert_ptr_equal( ums_object_create( OBJECT_SYNCHRONIZATION, 0, 0 ), object );
    ums_objects_lock();
    ums_object_close( again );
    ums_objects_unlock();
    finish();
}

/* A thread gives the lock back for a while, to let waits arrive. Meanwhile they have, and the handle is closed: its
   value may be another object's. */
void who_holds_an_object_keeps_it( void **state )
{
    struct ums_object *again;

    (void)state;
    begin( OBJECT_SYNCHRONIZATION, 0, 0 );
    ums_objects_lock();
    ums_object_becomes_real( object );
    ums_object_is_real( object );
    ums_object_hold( object );
    ums_objects_unlock();
    ums_objects_lock();
    ums_object_closes( object );
    ums_object_close( object );
    assert_ptr_equal( ums_object_at_host( object ), &copies + 1 );
    ums_objects_unlock();
    again = ums_object_create( OBJECT_SEMAPHORE, 0, 1 );
    assert_ptr_not_equal( again, object );
    ums_objects_lock();
    ums_object_let_go( object );
    assert_int_equal( copies, 0 );
    ums_objects_unlock();
    assert_ptr_equal( ums_object_create( OBJECT_SYNCHRONIZATION, 0, 0 ), object );
    ums_objects_lock();
    ums_object_close( again );
    ums_objects_unlock();
    finish();
}
