/*
 * White box: a scheduler that was asked to pause does so once, before the next upcall for a worker that it has carried, however that
 * worker has left it; and it carries nobody meanwhile. If it is terminated there, a worker that has yielded is queued. Run with
 * UMS_ENGINE=handoff it never pauses.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"
#include "../dlls/ntdll_ums/core/wait.h"

static struct ums_list *list;
static struct ums_context *context;
static _Atomic(struct ums_scheduler *) scheduler;
static int pauses, terminated;

/* No other sleep of a scheduler for which something is posted ends by itself. */
static int count_pause( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    enum worker_state state = word_state( atomic_load( &context->word ) );
    struct ums_scheduler *s = atomic_load( &scheduler );

    if (!s || !timeout || word == &s->park.token || atomic_load( word ) != value) return 1;
    if (atomic_load( &s->posted ) != POST_MADE || !atomic_load( &s->waiting )) return 1;
    assert_true( state == WORKER_READY || state == WORKER_BLOCKED || state == WORKER_QUEUED );
    assert_int_equal( atomic_load( &s->pause_wanted ), 0 );
    if (terminated)                             /* what its terminator does (has_ended) */
    {
        assert_int_equal( state, WORKER_READY );
        assert_int_equal( ums_worker_queue_unheard( s, context ), 1 );
        assert_int_equal( word_state( atomic_load( &context->word ) ), WORKER_QUEUED );
    }
    pauses++;
    return 0;
}

static void ask( void )
{
    struct ums_scheduler *s = ((struct ums_context *)ke_current())->owner;

    atomic_store( &s->pause_wanted, 1 );
    atomic_store( &scheduler, s );
}

static void yields( void *param )
{
    ask();
    fake_yield( param );
    fake_yield( param );
}

static void blocks( void *param )
{
    int i;

    (void)param;
    ask();
    for (i = 0; i < 2; i++) if (ums_worker_block( ke_current(), 1 )) ums_worker_back( ke_current() );
}

static void waits( void *param )
{
    int i;

    (void)param;
    ask();
    for (i = 0; i < 2; i++)
    {
        ums_worker_wait( ke_current(), WAIT_FOR_ALERT, 0 );
        ums_alert_take( ke_current() );
    }
}

/* Only a worker that is carried gives way. */
static void is_suspended( void *param )
{
    int i;

    (void)param;
    ask();
    for (i = 0; i < 2 && ums_worker_is_carried( ke_current() ); i++)
    {
        ums_context_suspended( context );
        ums_worker_give_way( ke_current() );
    }
}

/* Ends whatever the worker waits for, and executes it. */
static void go_on( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w = (struct ums_context *)payload;
    uint64_t word = atomic_load( &context->word );

    (void)param;
    if (word_state( word ) == WORKER_BLOCKED && (word & WORD_WAITS)) ums_alert( context );
    if (word_suspended( word ) && ums_context_resumed( context, 1, &word ))
        assert_false( ums_worker_continued( context, word ) );
    if (reason != 2 /* yield */ || word_state( atomic_load( &context->word ) ) == WORKER_QUEUED) ums_list_wait( list, NULL, &w );
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    fake_execute( w );
}

static void pauses_once( void (*start)( void *param ) )
{
    struct fake_worker worker;

    pauses = 0;
    atomic_store( &scheduler, NULL );
    ums_list_create( &list );
    ums_context_create( &context );
    assert_int_equal( fake_worker_create( &worker, context, list, start, NULL ), STATUS_SUCCESS );
    fake_on_wait = count_pause;
    assert_int_equal( fake_scheduler_enter( list, go_on, NULL ), STATUS_SUCCESS );
    fake_on_wait = NULL;
    pthread_join( worker.thread, NULL );
    assert_int_equal( pauses, ums_carry );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

static void behind_a_yield( void **state )
{
    (void)state;
    pauses_once( yields );
}

static void behind_a_yield_that_nobody_hears( void **state )
{
    (void)state;
    terminated = 1;
    pauses_once( yields );
    terminated = 0;
}

static void when_the_worker_blocks( void **state )
{
    (void)state;
    pauses_once( blocks );
}

static void when_the_worker_waits_without_its_thread( void **state )
{
    (void)state;
    pauses_once( waits );
}

static void when_the_worker_was_suspended( void **state )
{
    (void)state;
    pauses_once( is_suspended );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( behind_a_yield ),
        cmocka_unit_test( behind_a_yield_that_nobody_hears ),
        cmocka_unit_test( when_the_worker_blocks ),
        cmocka_unit_test( when_the_worker_waits_without_its_thread ),
        cmocka_unit_test( when_the_worker_was_suspended ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
