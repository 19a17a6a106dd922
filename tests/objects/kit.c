/*
 * White box, local objects: what the tests share, and the program.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

struct ums_object *object, *second;
_Atomic int ended, moved, timed_out;

/* ---- the host's side ---- */

int copies;

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

static void ended_at_host( const struct object_thread *thread )
{
    (void)thread;
    assert_int_not_equal( ums_objects_holder(), ke_thread_id() );
}

static void moves_at_host( const struct object_thread *before, struct ums_context *now )
{
    (void)before;
    (void)now;
    assert_int_equal( ums_objects_holder(), ke_thread_id() );
}

_Atomic uint32_t gone_tid;
int recovered;

static int is_gone( uint32_t tid )
{
    assert_int_not_equal( tid, ke_thread_id() );
    return tid == atomic_load( &gone_tid );
}

static void recover( void )
{
    assert_int_equal( ums_objects_holder(), ke_thread_id() );
    recovered++;
}

static const struct object_host host = { copy, drop, ended_at_host, moves_at_host, is_gone, recover };

struct object_thread this_thread( void )
{
    return (struct object_thread){ ke_thread_id(), ke_current() };
}

/* ---- operations, each a section of its own ---- */

void set( struct ums_object *o )
{
    ums_objects_lock();
    ums_object_set( o );
    ums_objects_unlock();
}

int32_t state_of( struct ums_object *o )
{
    int32_t state;

    ums_objects_lock();
    state = o->state;
    ums_objects_unlock();
    return state;
}

int has_waits( struct ums_object *o, int count )
{
    struct object_link *link;
    int n = 0;

    ums_objects_lock();
    for (link = o->waits.first; link; link = link->next) n++;
    ums_objects_unlock();
    return n == count;
}

void until_waits( struct ums_object *o, int count )
{
    while (!has_waits( o, count )) sched_yield();
}

int wait_for( struct ums_object *const *objects, uint32_t count, int all, int64_t time )
{
    const struct object_thread self = this_thread();
    struct object_wait *wait;
    ums_status status;
    int over;

    ums_objects_lock();
    over = ums_object_wait( objects, count, all, 0, &self, NULL, &wait, &status );
    ums_objects_unlock();
    if (over) return (int)status;
    ums_object_wait_in_thread( wait, time ? ke_clock() + time : 0 );
    if (ums_object_wait_end( wait, &status )) return (int)status;
    ums_object_arrived( wait );
    return -1;
}

void note( int status )
{
    if (status == -1) atomic_fetch_add( &moved, 1 );
    else if (status == (int)STATUS_TIMEOUT) atomic_fetch_add( &timed_out, 1 );
    else atomic_fetch_add( &ended, 1 );
}

void *wait_once( void *time )
{
    note( wait_for( &object, 1, 0, (int64_t)(intptr_t)time ) );
    return NULL;
}

void *wait_for_both( void *all )
{
    struct ums_object *both[2] = { object, second };
    int status = wait_for( both, 2, all != NULL, 0 );

    note( status );
    return (void *)(intptr_t)status;
}

static int under_way;                           /* between begin and finish */

/* A check that failed has left its test by longjmp: with the lock, or with threads that wait still and
   would take the next one's signals. So there is no next one. */
static int nothing_is_left( void **state )
{
    (void)state;
    if (under_way) print_error( "not run: an earlier test has failed, and may have left the lock taken\n" );
    return under_way ? -1 : 0;
}

void begin( enum object_type type, int32_t state, int32_t limit )
{
    under_way = 1;
    object = ums_object_create( type, state, limit );
    second = ums_object_create( OBJECT_SYNCHRONIZATION, 0, 0 );
    object->handle = second->handle = &copies;
    atomic_store( &ended, 0 );
    atomic_store( &moved, 0 );
    atomic_store( &timed_out, 0 );
}

void finish( void )
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
    under_way = 0;
}

void start( pthread_t *threads, int count, void *(*body)( void * ), void *arg )
{
    int i;

    for (i = 0; i < count; i++) pthread_create( &threads[i], NULL, body, arg );
}

void join( pthread_t *threads, int count )
{
    int i;

    for (i = 0; i < count; i++) pthread_join( threads[i], NULL );
}

int main( void )
{
#define X( name ) cmocka_unit_test_setup( name, nothing_is_left ),
    const struct CMUnitTest tests[] = { OBJECTS_TESTS( X ) };
#undef X

    fake_init();
    assert_true( ums_objects_init( &host ) );
    return cmocka_run_group_tests( tests, NULL, NULL );
}
