/*
 * White box, local objects: the owners of mutants.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

static int take( int64_t time )
{
    return wait_for( &object, 1, 0, time );
}

static int release( int32_t *before )
{
    const struct object_thread self = this_thread();
    int released;

    ums_objects_lock();
    released = ums_mutant_release( object, &self, before );
    ums_objects_unlock();
    return released;
}

static void *take_in_vain( void *unused )
{
    int32_t before = 7;

    (void)unused;
    assert_int_equal( take( SOON ), (int)STATUS_TIMEOUT );
    assert_false( release( &before ) );
    assert_int_equal( before, 7 );
    return NULL;
}

void a_mutant_is_taken_again_by_its_owner( void **state )
{
    pthread_t thread;
    int32_t before = 7;

    (void)state;
    begin( OBJECT_MUTANT, 1, 1 );
    assert_false( release( &before ) );
    assert_int_equal( take( 0 ), 0 );
    assert_int_equal( take( 0 ), 0 );
    assert_int_equal( state_of( object ), -1 );
    start( &thread, 1, take_in_vain, NULL );
    join( &thread, 1 );
    assert_true( release( &before ) );
    assert_int_equal( before, -1 );
    start( &thread, 1, take_in_vain, NULL );
    join( &thread, 1 );
    assert_true( release( &before ) );
    assert_int_equal( before, 0 );
    assert_false( release( &before ) );
    finish();
}

static _Atomic uint32_t inside_it, most;

static void *take_and_release( void *unused )
{
    int32_t before;
    uint32_t now;
    int i;

    (void)unused;
    for (i = 0; i < 500; i++)
    {
        assert_int_equal( take( 0 ), 0 );
        now = atomic_fetch_add( &inside_it, 1 ) + 1;
        if (now > atomic_load( &most )) atomic_store( &most, now );
        atomic_fetch_sub( &inside_it, 1 );
        assert_true( release( &before ) );
    }
    atomic_fetch_add( &ended, 1 );
    return NULL;
}

/* A waiter is its owner as soon as the other one has released it, whatever that one does next. */
void a_mutant_goes_to_the_first_who_waits( void **state )
{
    pthread_t threads[4];
    int32_t before;

    (void)state;
    begin( OBJECT_MUTANT, 1, 1 );
    assert_int_equal( take( 0 ), 0 );
    start( threads, 1, wait_once, NULL );
    until_waits( object, 1 );
    assert_true( release( &before ) );
    assert_false( release( &before ) );
    assert_int_equal( take( SOON ), (int)STATUS_TIMEOUT );
    join( threads, 1 );
    finish();
    begin( OBJECT_MUTANT, 1, 1 );
    start( threads, 4, take_and_release, NULL );
    join( threads, 4 );
    assert_int_equal( atomic_load( &ended ), 4 );
    assert_int_equal( atomic_load( &most ), 1 );
    finish();
}

static struct ums_context of_the_dead;

static void *take_and_die( void *context )
{
    ke_set_current( context );
    assert_int_equal( take( 0 ), 0 );
    assert_int_equal( take( 0 ), 0 );
    return (void *)(uintptr_t)ke_thread_id();
}

static void *take_abandoned( void *unused )
{
    int32_t before;

    (void)unused;
    note( take( 0 ) == (int)STATUS_ABANDONED_WAIT_0 && release( &before ) && before == 0 ? 0 : -1 );
    return NULL;
}

/* One is known by its id, one by its context. */
void what_a_thread_that_is_gone_owned_is_abandoned( void **state )
{
    pthread_t threads[2];
    int32_t before;
    void *tid;
    int i;

    (void)state;
    atomic_store( &ums_objects_made, 1 );
    for (i = 0; i < 2; i++)
    {
        begin( OBJECT_MUTANT, 1, 1 );
        start( threads, 1, take_and_die, i ? &of_the_dead : NULL );
        pthread_join( threads[0], &tid );
        start( threads + 1, 1, take_abandoned, NULL );
        until_waits( object, 1 );
        assert_int_equal( atomic_load( &of_the_dead.mutants ), i );
        if (i) ums_objects_context_gone( &of_the_dead );
        else ums_objects_thread_gone( (uint32_t)(uintptr_t)tid );
        join( threads + 1, 1 );
        assert_int_equal( atomic_load( &ended ), 1 );
        assert_int_equal( atomic_load( &of_the_dead.mutants ), 0 );
        assert_int_equal( take( 0 ), 0 );       /* it is abandoned once */
        assert_true( release( &before ) );
        finish();
    }
}

/* As a thread enters the mode, and leaves it. */
void the_context_of_an_owner_is_the_one_that_it_has_now( void **state )
{
    struct object_thread other = { ke_thread_id(), &of_the_dead };
    pthread_t thread;
    int32_t before;

    (void)state;
    atomic_store( &ums_objects_made, 1 );
    begin( OBJECT_MUTANT, 1, 1 );
    assert_int_equal( take( 0 ), 0 );
    ums_objects_thread_enters( &of_the_dead );
    assert_int_equal( atomic_load( &of_the_dead.mutants ), 1 );
    ums_objects_thread_leaves( &of_the_dead );
    assert_int_equal( atomic_load( &of_the_dead.mutants ), 0 );
    ums_objects_context_gone( &of_the_dead );   /* of the next thread that had it */
    atomic_store( &of_the_dead.mutants, 1 );    /* so that somebody looks */
    atomic_store( &of_the_dead.tid, ke_thread_id() );   /* the dead one's id is this thread's now */
    ums_objects_worker_gone( &of_the_dead );
    atomic_store( &of_the_dead.mutants, 0 );
    atomic_store( &of_the_dead.tid, 0 );
    assert_true( release( &before ) );

    assert_int_equal( take( 0 ), 0 );
    ums_objects_thread_enters( &of_the_dead );
    start( &thread, 1, take_abandoned, NULL );
    until_waits( object, 1 );
    ums_objects_context_gone( &of_the_dead );
    join( &thread, 1 );
    assert_int_equal( atomic_load( &ended ), 1 );

    ums_owner_moves( &other, &(struct object_thread){ other.tid, NULL }, NULL );
    assert_ptr_equal( other.context, &of_the_dead );    /* of one that had the id before */
    finish();
}

void a_closed_mutant_goes_with_its_last_wait( void **state )
{
    struct object_thread waiter = { 0, NULL };
    struct ums_object *again;
    int32_t before;
    pthread_t thread;

    (void)state;
    begin( OBJECT_MUTANT, 1, 1 );
    assert_int_equal( take( 0 ), 0 );
    start( &thread, 1, wait_once, NULL );
    until_waits( object, 1 );
    ums_objects_lock();
    waiter = object->waits.first->wait->waiter;
    ums_object_closes( object );
    ums_object_close( object );
    ums_objects_unlock();
    assert_true( release( &before ) );
    join( &thread, 1 );
    assert_int_equal( atomic_load( &ended ), 1 );
    again = ums_object_create( OBJECT_MUTANT, 1, 1 );
    assert_ptr_equal( again, object );          /* it was freed, owned as it was */
    ums_objects_lock();
    ums_mutants_abandon( &waiter );
    assert_false( again->abandoned );
    ums_objects_unlock();
    finish();
}
