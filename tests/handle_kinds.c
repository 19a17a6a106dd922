/*
 * White box: what kind of object a handle names, whatever is made and closed beside it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "../dlls/ntdll_ums/syscalls/handles/handle_kinds.h"

#define H 0x40

static void make( uint64_t handle, enum object_kind kind )
{
    ums_handle_made( handle, kind, ums_handle_will_be_made() );
}

static void kinds_come_and_go( void **state )
{
    (void)state;
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );
    make( H, KIND_EVENT );
    assert_int_equal( ums_handle_kind( H ), KIND_EVENT );
    assert_int_equal( ums_handle_kind( H + 4 ), KIND_UNKNOWN );
    assert_int_equal( ums_handle_will_close( H ), KIND_EVENT );
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );     /* before the host knows of it */
    ums_handle_was_closed( H );
    make( H, KIND_TIMER );
    assert_int_equal( ums_handle_kind( H ), KIND_TIMER );
    make( H, KIND_OTHER );                      /* it was closed by somebody whom nobody saw */
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );
}

static void handles_out_of_range_are_unknown( void **state )
{
    static const uint64_t handles[] = { 0x40000, 0x40004, H + 1, ~(uint64_t)0, 1ull << 40 };
    unsigned int i;

    (void)state;
    for (i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
    {
        make( handles[i], KIND_EVENT );
        assert_int_equal( ums_handle_kind( handles[i] ), KIND_UNKNOWN );
        assert_int_equal( ums_handle_will_close( handles[i] ), KIND_UNKNOWN );
        ums_handle_was_closed( handles[i] );
    }
    make( 0x3fffc, KIND_EVENT );
    assert_int_equal( ums_handle_will_close( 0x3fffc ), KIND_EVENT );
    ums_handle_was_closed( 0x3fffc );
}

/* The host has given H; before that is told, somebody closes H, and a file may get it. */
static void what_was_closed_meanwhile_gets_no_kind( void **state )
{
    uint64_t before = ums_handle_will_be_made();

    (void)state;
    ums_handle_will_close( H );
    ums_handle_made( H, KIND_EVENT, before );
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );     /* under way */
    ums_handle_was_closed( H );
    ums_handle_made( H, KIND_EVENT, before );
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );     /* over */
}

/* Closes that began before the handle was made, and end behind it: one of them freed the value for the
   maker, and the other one closes what it made. */
static void closes_that_began_before_count( void **state )
{
    uint64_t before;

    (void)state;
    ums_handle_will_close( H );
    ums_handle_will_close( H );
    before = ums_handle_will_be_made();
    ums_handle_made( H, KIND_EVENT, before );
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );     /* both are under way */
    ums_handle_was_closed( H );
    ums_handle_made( H, KIND_EVENT, before );
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );     /* one is */
    ums_handle_was_closed( H );
    ums_handle_made( H, KIND_EVENT, before );
    assert_int_equal( ums_handle_kind( H ), KIND_UNKNOWN );
    make( H, KIND_EVENT );
    assert_int_equal( ums_handle_kind( H ), KIND_EVENT );
    ums_handle_will_close( H );
    ums_handle_was_closed( H );
}

/* Closes of other handles cost nobody the kind. */
static void other_closes_do_not_count( void **state )
{
    uint64_t before = ums_handle_will_be_made();

    (void)state;
    ums_handle_will_close( H + 8 );
    ums_handle_was_closed( H + 8 );
    ums_handle_will_close( H + 12 );
    ums_handle_made( H, KIND_PORT, before );
    assert_int_equal( ums_handle_kind( H ), KIND_PORT );
    ums_handle_was_closed( H + 12 );
    ums_handle_will_close( H );
    ums_handle_was_closed( H );
}

/* ---- a make-believe host: threads make handles, and close what is not theirs ---- */

#define VALUES  4
#define THREADS 4
#define ROUNDS  40
#define RUNS    300

static _Atomic int objects[VALUES];             /* 0: free; else what it is */

static int host_make( int kind )
{
    int i, none;

    for (i = 0; i < VALUES; i++)
        if (none = 0, atomic_compare_exchange_strong( &objects[i], &none, kind )) return i;
    return -1;
}

static void close_any( unsigned int *seed )
{
    int i = rand_r( seed ) % VALUES;

    ums_handle_will_close( 0x100 + i * 4 );
    atomic_store( &objects[i], 0 );
    ums_handle_was_closed( 0x100 + i * 4 );
}

static void *maker( void *arg )
{
    unsigned int seed = (unsigned int)(uintptr_t)arg;
    int round, i;

    for (round = 0; round < ROUNDS; round++)
    {
        int kind = rand_r( &seed ) % 2 ? KIND_EVENT : KIND_OTHER;
        uint64_t before = ums_handle_will_be_made();

        if ((i = host_make( kind )) >= 0)
        {
            if (rand_r( &seed ) % 4 == 0) sched_yield();
            ums_handle_made( 0x100 + i * 4, (enum object_kind)kind, before );
        }
        close_any( &seed );
    }
    return NULL;
}

static void a_kind_in_the_table_is_right( void **state )
{
    pthread_t threads[THREADS];
    int run, i, known = 0;

    (void)state;
    for (run = 0; run < RUNS; run++)
    {
        for (i = 0; i < THREADS; i++)
            assert_int_equal( pthread_create( &threads[i], NULL, maker,
                                              (void *)(uintptr_t)(run * THREADS + i + 1) ), 0 );
        for (i = 0; i < THREADS; i++) pthread_join( threads[i], NULL );
        for (i = 0; i < VALUES; i++)
        {
            int kind = (int)ums_handle_kind( 0x100 + i * 4 );

            if (!kind) continue;
            assert_int_equal( atomic_load( &objects[i] ), kind );
            known++;
        }
    }
    assert_true( known > 0 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( kinds_come_and_go ),
        cmocka_unit_test( handles_out_of_range_are_unknown ),
        cmocka_unit_test( what_was_closed_meanwhile_gets_no_kind ),
        cmocka_unit_test( closes_that_began_before_count ),
        cmocka_unit_test( other_closes_do_not_count ),
        cmocka_unit_test( a_kind_in_the_table_is_right ),
    };

    return cmocka_run_group_tests( tests, NULL, NULL );
}
