/*
 * White box: from a thread's id to its context.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"

static struct ums_context *new_context( uint32_t tid )
{
    struct ums_context *c;

    ums_context_create( &c );
    atomic_store( &c->flags, 0 );
    ums_thread_id_set( c, tid );
    return c;
}

static void end_context( struct ums_context *c )
{
    atomic_store( &c->flags, CONTEXT_TERMINATED );
    ums_context_delete( c );
}

static void an_id_leads_to_its_context( void **state )
{
    static const uint32_t ids[] = { 4, 0x10000, 0x4000 * 4, 0x3fffffc, 0x4000000, 0xfffffffc, 7 };
    struct ums_context *contexts[7];
    unsigned int i;

    (void)state;
    for (i = 0; i < 7; i++) if (i != 2) contexts[i] = new_context( ids[i] );
    for (i = 0; i < 7; i++)
        if (i != 2) assert_ptr_equal( ums_context_of_thread( ids[i] ), contexts[i] );
    assert_null( ums_context_of_thread( 8 ) );
    assert_null( ums_context_of_thread( 0 ) );
    for (i = 0; i < 7; i++)
    {
        if (i == 2) continue;
        ums_thread_id_clear( contexts[i], ids[i] );
        assert_null( ums_context_of_thread( ids[i] ) );
        end_context( contexts[i] );
    }
}

/* The old one's end comes late: the id is another's by now. */
static void an_id_that_is_used_again_is_the_new_one( void **state )
{
    struct ums_context *old = new_context( 400 ), *new = new_context( 400 );

    (void)state;
    assert_ptr_equal( ums_context_of_thread( 400 ), new );
    ums_thread_id_clear( old, 400 );
    assert_ptr_equal( ums_context_of_thread( 400 ), new );
    ums_thread_id_clear( new, 400 );
    assert_null( ums_context_of_thread( 400 ) );
    end_context( old );
    end_context( new );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        /* first: one id outside the table, and all are searched for */
        cmocka_unit_test( an_id_that_is_used_again_is_the_new_one ),
        cmocka_unit_test( an_id_leads_to_its_context ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
