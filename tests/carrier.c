/*
 * White box: which scheduler carries a worker, asked when the thread of one is dead.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"

#define SECOND ((int64_t)10000000)

static int64_t seconds;

static int64_t one_more_second( int64_t now )
{
    (void)now;
    return ++seconds * SECOND;
}

static struct ums_scheduler *new_scheduler( struct ums_context *current )
{
    struct ums_scheduler *s = ums_pool_alloc( &ums_scheduler_pool );

    assert_non_null( s );
    s->current = current;
    atomic_store( &s->dead_since, 0 );
    return s;
}

static void free_scheduler( struct ums_scheduler *s )
{
    s->current = NULL;
    ums_pool_free( &ums_scheduler_pool, s );
}

static struct ums_scheduler *dead, *other;
static struct ums_context *context;

/* The dead one has executed it. */
static int set_up( void **state )
{
    (void)state;
    ums_context_create( &context );
    dead = new_scheduler( context );
    other = new_scheduler( NULL );
    context->owner = dead;
    atomic_store( &context->word, WORKER_CARRIED );
    return 0;
}

static int tear_down( void **state )
{
    (void)state;
    fake_on_clock = NULL;
    atomic_store( &context->word, WORKER_NONE );
    context->owner = NULL;
    free_scheduler( other );
    free_scheduler( dead );
    return ums_context_delete( context ) != STATUS_SUCCESS;
}

/* In Execute another one has written current, then made the worker CARRIED, and is not its owner yet. */
static void a_dead_carrier_is_known_if_no_other_one_has_the_worker( void **state )
{
    (void)state;
    assert_true( ums_carrier_is_gone( dead, context ) );
    assert_false( ums_carrier_is_gone( other, context ) );

    other->current = context;
    assert_false( ums_carrier_is_gone( dead, context ) );
    context->owner = other;
    assert_false( ums_carrier_is_gone( dead, context ) );
    other->current = NULL;
    assert_false( ums_carrier_is_gone( dead, context ) );

    context->owner = dead;
    dead->current = NULL;
    assert_false( ums_carrier_is_gone( dead, context ) );
    dead->current = context;
    atomic_store( &context->word, WORKER_READY );
    assert_false( ums_carrier_is_gone( dead, context ) );
}

/* It has executed the worker before, and nothing since. */
static void another_one_that_has_it_does_not_count_for_ever( void **state )
{
    (void)state;
    other->current = context;
    seconds = 0;
    fake_on_clock = one_more_second;
    while (!ums_carrier_is_gone( dead, context )) assert_in_range( seconds, 1, 11 );
    assert_int_equal( seconds, 12 );            /* more than ten seconds after the first time */
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test_setup_teardown( a_dead_carrier_is_known_if_no_other_one_has_the_worker, set_up, tear_down ),
        cmocka_unit_test_setup_teardown( another_one_that_has_it_does_not_count_for_ever, set_up, tear_down ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
