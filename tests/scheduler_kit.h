/*
 * What the white-box tests of the state machine have in common: one worker, one scheduler, and what
 * that was told.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef SCHEDULER_KIT_H
#define SCHEDULER_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"

enum { STARTUP, BLOCKED, YIELD };

#define MAX_UPCALLS 64

/* what one run of a scheduler saw */
static struct upcall
{
    uint32_t  reason;
    uintptr_t payload;
    void     *param;
} upcalls[MAX_UPCALLS];
static int upcall_count;

static struct ums_list *list, *other_list;
static struct ums_context *context;
static struct fake_worker worker;
static _Atomic int flag;
static ums_status seen_status;
static enum worker_state seen_state, yield_state;

static enum worker_state state_of( struct ums_context *c )
{
    return word_state( atomic_load( &c->word ) );
}

static struct ums_context *take_one( struct ums_list *from )
{
    struct ums_context *first;

    ums_list_wait( from, NULL, &first );
    return first;
}

static void set_up( void )
{
    upcall_count = 0;
    atomic_store( &flag, 0 );
    ums_list_create( &list );
    ums_list_create( &other_list );
    ums_context_create( &context );
}

static void tear_down( void )
{
    assert_int_equal( atomic_load( &context->flags ) & CONTEXT_TERMINATED, CONTEXT_TERMINATED );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    /* whoever has ended has let its list go */
    assert_int_equal( atomic_load( &list->refs ), 1 );
    assert_int_equal( atomic_load( &other_list->refs ), 1 );
    ums_list_delete( list );
    ums_list_delete( other_list );
    /* its slot can be used again, when no list has it any more, dequeued or not */
    assert_int_equal( atomic_load( &context->refs ), 0 );
    assert_null( ke_current() );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

static void note( uint32_t reason, uintptr_t payload, void *param )
{
    if (upcall_count < MAX_UPCALLS) upcalls[upcall_count] = (struct upcall){ reason, payload,
                                                                             param };
    upcall_count++;
}

/* Executes the worker until it has ended, taking it from the list whenever it blocked. */
static void run_to_end( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w = param;

    note( reason, payload, param );
    if (reason == STARTUP || reason == BLOCKED) w = take_one( list );
    else w = (struct ums_context *)payload;
    if (reason == YIELD) yield_state = state_of( w );
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    seen_status = fake_execute( w );             /* does not return */
}

static void run( void (*start)( void * ), fake_proc proc )
{
    set_up();
    assert_int_equal( fake_worker_create( &worker, context, list, start, &flag ), STATUS_SUCCESS );
    assert_int_equal( fake_scheduler_enter( list, proc, list ), STATUS_SUCCESS );
    pthread_join( worker.thread, NULL );
}

#endif /* SCHEDULER_KIT_H */
