/*
 * White box, worker factories: what the tests share, and the program.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

_Atomic int manager_wakes, closed, queues_closed;
int64_t now;

void (*on_manager_wake)( void );

void ke_manager_wake( void )
{
    atomic_fetch_add( &manager_wakes, 1 );
    if (on_manager_wake) on_manager_wake();
}

void ke_factory_closed( struct ums_factory *f, int last )
{
    (void)f;
    atomic_fetch_add( &closed, 1 );
    if (last) atomic_fetch_add( &queues_closed, 1 );
}

/* The time stands still: no test depends on how long its thread was stopped. */
static int64_t stopped_clock( int64_t time )
{
    (void)time;
    return now;
}

static int init( void **state )
{
    static int done;

    (void)state;
    now = 10000000;
    fake_on_clock = stopped_clock;
    if (!done++ && !ums_factory_init()) return -1;
    return 0;
}

struct ums_factory *factory( uint32_t concurrency, uint32_t max )
{
    struct ums_queue *q = ums_queue_alloc( concurrency );
    struct ums_factory *f;

    assert_non_null( q );
    f = ums_factory_alloc( q, max, NULL );
    assert_non_null( f );
    return f;
}

struct ums_hand *hand( struct ums_factory *f )
{
    struct ums_hand *h;
    uint32_t min = atomic_load( &f->min );

    atomic_store( &f->min, atomic_load( &f->total ) + 1 );
    h = ums_factory_make( f );
    atomic_store( &f->min, min );
    assert_non_null( h );
    ums_factory_made( f, h, STATUS_SUCCESS );
    assert_int_equal( ums_factory_ready( f, h ), STATUS_SUCCESS );
    return h;
}

enum hand_state state_of( struct ums_hand *h )
{
    return hand_state( atomic_load( &h->word ) );
}

uint32_t running( struct ums_factory *f )
{
    return ums_queue_load( f->queue ).running;
}

uint32_t pending( struct ums_factory *f )
{
    return ums_queue_load( f->queue ).pending;
}

int begins( struct ums_factory *f, struct ums_hand *h )
{
    struct ums_packet packet;
    ums_status status;
    uint32_t n = 0;

    if (!ums_factory_wait_begin( f, h, &packet, 1, &n, &status )) return 0;
    assert_int_equal( status, STATUS_SUCCESS );
    assert_int_equal( n, 1 );
    return 1;
}

void is_given( struct ums_hand *h )
{
    struct ums_packet packet;

    assert_int_equal( state_of( h ), HAND_GIVEN );
    assert_int_equal( ums_hand_take( h, &packet, 1 ), 1 );
    assert_int_equal( state_of( h ), HAND_RUNNING );
}

void ends( struct ums_hand *h )
{
    struct ums_factory *f = atomic_load( &h->factory );

    assert_true( ums_hand_exits( h ) );
    assert_false( ums_hand_exits( h ) );
    if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( h->queue );
    assert_true( ums_hand_free( h ) );
    assert_ptr_equal( ums_pool_alloc( &ums_hand_pool ), h );    /* its slot is used again */
    ums_pool_free( &ums_hand_pool, h );
    ums_factory_unref( f );
}

void finish( struct ums_factory *f )
{
    int before = atomic_load( &closed );

    ums_factory_shutdown( f );
    assert_int_equal( running( f ), 0 );
    assert_int_equal( atomic_load( &f->total ), 0 );
    assert_int_equal( atomic_load( &f->staying ), 0 );
    assert_int_equal( atomic_load( &f->coming ), 0 );
    assert_int_equal( atomic_load( &f->starting ), FACTORY_SHUT );
    assert_int_equal( atomic_load( &f->queue->in_kernel ), 0 );
    assert_int_equal( ums_queue_load( f->queue ).top, 0 );
    ums_factory_unref( f );
    assert_int_equal( atomic_load( &closed ), before + 1 );
}

void post( struct ums_factory *f, uint64_t key )
{
    struct ums_packet packet = { key, key + 1, 0, 0 };

    assert_true( ums_queue_put( f->queue, &packet ) );
    ums_queue_give( f->queue, 1, 0 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
#define X( name ) cmocka_unit_test_setup( name, init ),
        FACTORY_TESTS( X )
#undef X
    };

    fake_init();
    return cmocka_run_group_tests_name( "factory", tests, NULL, NULL );
}
