/*
 * White box: contexts and pools.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"

enum { USER_CONTEXT = 1, PRIORITY, AFFINITY, TEB, IS_SUSPENDED, IS_TERMINATED, MAX_CLASS };

static struct ums_context *create( void )
{
    struct ums_context *context;

    assert_int_equal( ums_context_create( &context ), STATUS_SUCCESS );
    return context;
}

static int flag( struct ums_context *context, uint32_t info_class )
{
    uint8_t value[2] = { 0x55, 0x55 };
    uint32_t length = 99;

    assert_int_equal( ums_context_query( context, info_class, value, 1, &length ), STATUS_SUCCESS );
    assert_int_equal( length, 1 );
    assert_int_equal( value[1], 0x55 );
    return value[0];
}

static void a_new_context_is_terminated_and_empty( void **state )
{
    struct ums_context *context = create();
    void *value = (void *)1;

    (void)state;
    assert_int_equal( flag( context, IS_TERMINATED ), 1 );
    assert_int_equal( flag( context, IS_SUSPENDED ), 0 );
    assert_int_equal( ums_context_query( context, USER_CONTEXT, &value, 8, NULL ), STATUS_SUCCESS );
    assert_null( value );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
}

static void lengths_and_classes_are_checked( void **state )
{
    struct ums_context *context = create();
    uint32_t info_class, length;
    uint8_t buffer[16] = { 0 };

    (void)state;
    for (info_class = 0; info_class <= MAX_CLASS + 1; info_class++)
    {
        int known = info_class == USER_CONTEXT || info_class == TEB || info_class == IS_SUSPENDED ||
                    info_class == IS_TERMINATED;
        uint32_t size = info_class >= IS_SUSPENDED ? 1 : 8, ret = 77;

        for (length = 0; length <= 16; length++)
        {
            ums_status expected = !known ? STATUS_NOT_SUPPORTED :
                                  length == size ? STATUS_SUCCESS : STATUS_INFO_LENGTH_MISMATCH;

            assert_int_equal( ums_context_query( context, info_class, buffer, length, &ret ),
                              expected );
            assert_int_equal( ret, expected ? 0 : size );
            expected = info_class != USER_CONTEXT ? STATUS_NOT_SUPPORTED :
                       length == 8 ? STATUS_SUCCESS : STATUS_INFO_LENGTH_MISMATCH;
            assert_int_equal( ums_context_set( context, info_class, buffer, length ), expected );
        }
    }
    assert_int_equal( ums_context_query( context, USER_CONTEXT, NULL, 8, NULL ),
                      STATUS_INVALID_PARAMETER );
    assert_int_equal( ums_context_query( NULL, USER_CONTEXT, buffer, 8, NULL ),
                      STATUS_INVALID_PARAMETER );
    ums_context_delete( context );
}

static void user_context_need_not_be_aligned( void **state )
{
    struct ums_context *context = create();
    char buffer[24] = "0123456789abcdefghijklm", copy[24] = { 0 };

    (void)state;
    assert_int_equal( ums_context_set( context, USER_CONTEXT, buffer + 3, 8 ), STATUS_SUCCESS );
    assert_int_equal( ums_context_query( context, USER_CONTEXT, copy + 5, 8, NULL ),
                      STATUS_SUCCESS );
    assert_memory_equal( copy + 5, "3456789a", 8 );
    ums_context_delete( context );
}

static void deletion_needs_a_dead_context_and_happens_once( void **state )
{
    struct ums_context *context = create();

    (void)state;
    atomic_store( &context->flags, CONTEXT_SCHEDULED_THREAD );
    assert_int_equal( ums_context_delete( context ), STATUS_INVALID_PARAMETER );
    atomic_store( &context->flags, CONTEXT_TERMINATED );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( ums_context_delete( context ), STATUS_INVALID_PARAMETER );
    assert_null( ums_context_check( context ) );
}

static void wild_pointers_are_no_contexts( void **state )
{
    struct ums_context *context = create();
    static const uintptr_t wild[] = { 0, 1, 8, 0x10, 0x7fffffff, ~(uintptr_t)0, ~(uintptr_t)15 };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
        assert_null( ums_context_check( (void *)wild[i] ) );
    for (i = 1; i < sizeof(*context); i++) assert_null( ums_context_check( (char *)context + i ) );
    assert_ptr_equal( ums_context_check( context ), context );
    ums_context_delete( context );
}

static void the_sequence_number_survives_reuse( void **state )
{
    struct ums_context *context = create(), *again;
    uint64_t word;

    (void)state;
    atomic_fetch_add( &context->word, 5 * WORD_SEQ );
    word = atomic_load( &context->word );
    ums_context_delete( context );
    again = create();
    assert_ptr_equal( again, context );
    assert_true( (atomic_load( &again->word ) & WORD_SEQ_MASK) > (word & WORD_SEQ_MASK) );
    ums_context_delete( again );
}

static void the_home_thread_keeps_the_slot( void **state )
{
    struct ums_context *context = create(), *other;

    (void)state;
    atomic_fetch_add( &context->refs, 1 );      /* a home thread on its way out */
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    other = create();
    assert_ptr_not_equal( other, context );
    ums_context_unref( context );
    assert_ptr_equal( create(), context );
    ums_context_delete( context );
    ums_context_delete( other );
}

static void suspension_is_counted( void **state )
{
    struct ums_context *context = create();
    uint64_t word;

    (void)state;
    ums_context_resumed( context, 1, &word );   /* never suspended: nothing to undo */
    assert_int_equal( flag( context, IS_SUSPENDED ), 0 );
    ums_context_suspended( context );
    ums_context_suspended( context );
    assert_int_equal( flag( context, IS_SUSPENDED ), 1 );
    ums_context_resumed( context, 1, &word );
    assert_int_equal( flag( context, IS_SUSPENDED ), 1 );
    assert_true( atomic_load( &context->word ) & WORD_SUSPENDED );
    ums_context_resumed( context, 1, &word );
    assert_int_equal( flag( context, IS_SUSPENDED ), 0 );
    assert_false( atomic_load( &context->word ) & WORD_SUSPENDED );
    ums_context_delete( context );
}

/* A suspended thread that is killed stays marked: it will never be resumed. It has ended, and is not suspended. */
static void who_has_ended_is_not_suspended( void **state )
{
    struct ums_context *context = create();
    uint64_t word;

    (void)state;
    ums_context_suspended( context );
    word = atomic_load( &context->word );
    atomic_store( &context->word, (word & ~WORD_STATE) | WORKER_READY );
    assert_int_equal( flag( context, IS_SUSPENDED ), 1 );
    atomic_store( &context->word, (word & ~WORD_STATE) | WORKER_DEAD );
    assert_int_equal( flag( context, IS_SUSPENDED ), 0 );
    ums_context_delete( context );
}

static void a_resume_waits_for_a_suspension( void **state )
{
    struct ums_context *context = create();
    uint64_t word;

    (void)state;
    assert_int_equal( ums_context_suspending( context, 0, &word ), 0 );
    assert_int_equal( flag( context, IS_SUSPENDED ), 1 );
    assert_int_equal( ums_context_resumed( context, 1, &word ), SUSPEND_WAIT );
    assert_int_equal( ums_context_suspending( context, 0, &word ), 1 );
    ums_context_suspend_made( context, 1, &word );
    assert_int_equal( ums_context_resumed( context, 1, &word ), SUSPEND_WAIT );
    ums_context_suspend_made( context, 0, &word );
    assert_int_equal( ums_context_resumed( context, 1, &word ), 1 );
    assert_true( word == atomic_load( &context->word ) );
    assert_int_equal( ums_context_resumed( context, 1, &word ), 0 );
    assert_int_equal( flag( context, IS_SUSPENDED ), 0 );
    ums_context_delete( context );
}

/* But not for ever. The next suspension that ends is void, made or not, and so is what else was counted and is being made: some of it
   may never end. Those that begin later count. */
static void a_resume_that_gave_up_makes_one_void( void **state )
{
    struct ums_context *context = create();
    uint64_t before = atomic_load( &context->word ), word;
    int made;

    (void)state;
    for (made = 0; made < 2; made++)
    {
        assert_int_equal( ums_context_suspending( context, 0, &word ), 0 );
        assert_int_equal( ums_context_resumed( context, 0, &word ), 1 );
        assert_int_equal( ums_context_suspending( context, 0, &word ), 0 );
        assert_false( ums_context_suspend_made( context, made, &word ) );
        assert_int_equal( word_suspended( word ), 0 );
        assert_true( word == atomic_load( &context->word ) );
        assert_false( ums_context_suspend_made( context, 1, &word ) );
        assert_true( atomic_load( &context->word ) == before );
        assert_int_equal( ums_context_suspending( context, 0, &word ), 0 );
        assert_true( ums_context_suspend_made( context, 1, &word ) );
        assert_int_equal( ums_context_resumed( context, 1, &word ), 1 );
        assert_true( atomic_load( &context->word ) == before );
    }
    /* one that was made before was resumed, and not the one that is being made */
    assert_int_equal( ums_context_suspended( context ), 0 );
    assert_int_equal( ums_context_suspending( context, 0, &word ), 1 );
    assert_int_equal( ums_context_resumed( context, 0, &word ), 2 );
    assert_true( ums_context_suspend_made( context, 1, &word ) );
    assert_int_equal( ums_context_resumed( context, 1, &word ), 1 );
    ums_context_delete( context );
}

/* The count does not run into what lies above it in the word. */
static void suspensions_have_a_limit( void **state )
{
    struct ums_context *context = create();
    uint64_t before = atomic_load( &context->word ), word;
    uint32_t i;

    (void)state;
    for (i = 0; i < SUSPEND_MAX; i++) assert_int_equal( ums_context_suspended( context ), i );
    assert_int_equal( ums_context_suspended( context ), SUSPEND_MAX );
    assert_int_equal( ums_context_suspending( context, 0, &word ), SUSPEND_MAX );
    for (i = SUSPEND_MAX; i > 0; i--) assert_int_equal( ums_context_resumed( context, 1, &word ), i );
    for (i = 0; i < 15; i++) assert_int_equal( ums_context_suspending( context, 0, &word ), i );
    assert_int_equal( ums_context_suspending( context, 0, &word ), SUSPEND_WAIT );
    assert_int_equal( ums_context_suspending( context, 1, &word ), SUSPEND_WAIT );
    for (i = 0; i < 15; i++) ums_context_suspend_made( context, 0, &word );
    assert_true( atomic_load( &context->word ) == before );
    ums_context_delete( context );
}

/* A hold bars Execute and makes a resume wait; it is no suspension. */
static void a_hold_is_no_suspension( void **state )
{
    struct ums_context *context = create();
    uint64_t before = atomic_load( &context->word ), word;
    int i;

    (void)state;
    assert_int_equal( ums_context_hold( context, HOLD_STILL, 0, &word ), HOLD_REFUSED );
    assert_int_equal( ums_context_hold( context, HOLD_ANY, 0, &word ), HOLD_TAKEN );
    assert_true( word & WORD_BARRED );
    assert_int_equal( flag( context, IS_SUSPENDED ), 0 );
    assert_int_equal( ums_context_hold( context, HOLD_ANY, 0, &word ), HOLD_WAIT );
    assert_int_equal( ums_context_resumed( context, 1, &word ), 0 );
    assert_int_equal( ums_context_suspending( context, 0, &word ), SUSPEND_WAIT );
    assert_int_equal( ums_context_suspending( context, 1, &word ), 0 );
    ums_context_suspend_made( context, 0, &word );
    assert_int_equal( ums_context_suspended( context ), 0 );    /* one that exists already */
    assert_int_equal( ums_context_resumed( context, 1, &word ), SUSPEND_WAIT );
    ums_context_let_go( context );
    assert_int_equal( ums_context_suspending( context, 0, &word ), 1 );
    assert_int_equal( ums_context_hold( context, HOLD_ANY, 0, &word ), HOLD_WAIT );
    assert_int_equal( ums_context_hold( context, HOLD_ANY, 1, &word ), HOLD_TAKEN );
    ums_context_let_go( context );
    ums_context_suspend_made( context, 0, &word );
    assert_int_equal( ums_context_hold( context, HOLD_STILL, 0, &word ), HOLD_TAKEN );
    ums_context_let_go( context );
    assert_int_equal( ums_context_resumed( context, 1, &word ), 1 );
    assert_true( atomic_load( &context->word ) == before );
    for (i = 0; i < 3; i++)
        assert_int_equal( ums_context_hold( context, HOLD_ANY, 1, &word ), HOLD_TAKEN );
    assert_int_equal( ums_context_hold( context, HOLD_ANY, 1, &word ), HOLD_REFUSED );
    for (i = 0; i < 3; i++) ums_context_let_go( context );
    assert_true( atomic_load( &context->word ) == before );
    ums_context_delete( context );
}

static void only_a_live_context_is_held( void **state )
{
    struct ums_context *context = create();

    (void)state;
    atomic_store( &context->tid, 7 );
    assert_true( ums_context_ref( context, 7 ) );
    assert_false( ums_context_ref( context, 8 ) );
    ums_context_delete( context );
    assert_int_equal( atomic_load( &context->refs ), 1 );
    ums_context_unref( context );
    assert_false( ums_context_ref( context, 7 ) );
}

/* ---- who sees that a worker is not suspended can execute it ---- */

static struct ums_context *toggled;
static _Atomic int round_asked, round_done, refusals;

static void *poller( void *arg )
{
    int round;

    (void)arg;
    for (round = 1; round <= 20000; round++)
    {
        while (atomic_load( &round_asked ) != round) sched_yield();
        while (flag( toggled, IS_SUSPENDED )) sched_yield();
        if (atomic_load( &toggled->word ) & WORD_SUSPENDED) atomic_fetch_add( &refusals, 1 );
        atomic_store( &round_done, round );
    }
    return NULL;
}

static void a_worker_seen_resumed_can_be_executed( void **state )
{
    pthread_t thread;
    uint64_t word;
    int round;

    (void)state;
    toggled = create();
    pthread_create( &thread, NULL, poller, NULL );
    for (round = 1; round <= 20000; round++)
    {
        ums_context_suspended( toggled );
        atomic_store( &round_asked, round );
        ums_context_resumed( toggled, 1, &word );
        while (atomic_load( &round_done ) != round) sched_yield();
    }
    pthread_join( thread, NULL );
    assert_int_equal( atomic_load( &refusals ), 0 );
    ums_context_delete( toggled );
}

static void short_memory_is_an_error( void **state )
{
    struct ums_pool pool = { 0 };
    void *first, *second;

    (void)state;
    assert_true( ums_pool_init( &pool, 40, 2 ) );
    fake_commit_fails = 1;
    assert_null( ums_pool_alloc( &pool ) );
    fake_commit_fails = 0;
    first = ums_pool_alloc( &pool );
    assert_non_null( first );
    assert_int_equal( (uintptr_t)first % 16, 0 );
    second = ums_pool_alloc( &pool );
    assert_non_null( second );
    assert_null( ums_pool_alloc( &pool ) );     /* full */
    ums_pool_free( &pool, first );
    assert_ptr_equal( ums_pool_alloc( &pool ), first );
}

/* Where a thread that pops has stopped between its two steps: the first slot is the same again, and the one
   behind it is not. The head must differ. */
static void a_slot_that_comes_back_is_noticed( void **state )
{
    struct ums_pool pool = { 0 };
    void *a, *b;
    uint64_t head;

    (void)state;
    assert_true( ums_pool_init( &pool, 40, 2 ) );
    a = ums_pool_alloc( &pool );
    b = ums_pool_alloc( &pool );
    ums_pool_free( &pool, b );
    ums_pool_free( &pool, a );
    head = atomic_load( &pool.free );
    assert_ptr_equal( ums_pool_alloc( &pool ), a );
    assert_ptr_equal( ums_pool_alloc( &pool ), b );
    ums_pool_free( &pool, a );
    assert_int_equal( (uint32_t)atomic_load( &pool.free ), (uint32_t)head );
    assert_true( atomic_load( &pool.free ) != head );
}

/* Of two threads that delete one object only one may free it. */
static void a_handle_is_closed_once( void **state )
{
    struct ums_pool pool = { 0 };
    void *object;

    (void)state;
    assert_true( ums_pool_init( &pool, 40, 1 ) );
    object = ums_pool_alloc( &pool );
    assert_false( ums_pool_close( object ) );
    ums_pool_open( object );
    assert_true( ums_pool_close( object ) );
    assert_false( ums_pool_close( object ) );
}

/* ---- many threads allocate and free: no slot is held twice ---- */

#define THREADS 3
#define ROUNDS  50000

struct owned { _Atomic uint32_t owner; };

static struct ums_pool hot;
static _Atomic int clashes;

static void *churn( void *arg )
{
    uint32_t me = (uint32_t)(uintptr_t)arg;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        struct owned *a = ums_pool_alloc( &hot ), *b = ums_pool_alloc( &hot );

        if (atomic_exchange( &a->owner, me ) || atomic_exchange( &b->owner,
                                                                 me )) atomic_fetch_add( &clashes,
                                                                                         1 );
        if (atomic_exchange( &a->owner, 0 ) != me || atomic_exchange( &b->owner, 0 ) != me)
            atomic_fetch_add( &clashes, 1 );
        ums_pool_free( &hot, i & 1 ? a : b );
        ums_pool_free( &hot, i & 1 ? b : a );
    }
    return NULL;
}

static void no_slot_is_given_out_twice( void **state )
{
    pthread_t threads[THREADS];
    uintptr_t i;

    (void)state;
    assert_true( ums_pool_init( &hot, sizeof(struct owned), 64 ) );
    for (i = 0; i < THREADS; i++) pthread_create( &threads[i], NULL, churn, (void *)(i + 1) );
    for (i = 0; i < THREADS; i++) pthread_join( threads[i], NULL );
    assert_int_equal( atomic_load( &clashes ), 0 );
    assert_true( ums_pool_made( &hot ) <= 2 * THREADS );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( a_new_context_is_terminated_and_empty ),
        cmocka_unit_test( lengths_and_classes_are_checked ),
        cmocka_unit_test( user_context_need_not_be_aligned ),
        cmocka_unit_test( deletion_needs_a_dead_context_and_happens_once ),
        cmocka_unit_test( wild_pointers_are_no_contexts ),
        cmocka_unit_test( the_sequence_number_survives_reuse ),
        cmocka_unit_test( the_home_thread_keeps_the_slot ),
        cmocka_unit_test( suspension_is_counted ),
        cmocka_unit_test( who_has_ended_is_not_suspended ),
        cmocka_unit_test( a_resume_waits_for_a_suspension ),
        cmocka_unit_test( a_resume_that_gave_up_makes_one_void ),
        cmocka_unit_test( suspensions_have_a_limit ),
        cmocka_unit_test( a_hold_is_no_suspension ),
        cmocka_unit_test( only_a_live_context_is_held ),
        cmocka_unit_test( a_worker_seen_resumed_can_be_executed ),
        cmocka_unit_test( short_memory_is_an_error ),
        cmocka_unit_test( a_slot_that_comes_back_is_noticed ),
        cmocka_unit_test( a_handle_is_closed_once ),
        cmocka_unit_test( no_slot_is_given_out_twice ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
