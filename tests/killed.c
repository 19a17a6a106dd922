/*
 * White box: workers whose thread is ended from outside while they are parked. None is lost, nothing that
 * is linked with them is, and each comes to its list once more.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <ucontext.h>
#include "core/wait.h"
#include "ke_fake.h"

enum { UPCALL_BLOCKED = 1, UPCALL_YIELD };

#define ROUNDS 300                              /* of two threads */
#ifndef STRIDE
#define STRIDE 4                                /* instructions: a trap takes its time */
#endif

static struct ums_list *list;

/* As if a thread had been made with it, and had parked. */
static struct ums_context *parked( uint64_t state )
{
    struct ums_context *w;

    assert_int_equal( ums_context_create( &w ), STATUS_SUCCESS );
    ums_list_ref( list );
    w->list = list;
    atomic_fetch_add( &w->refs, 1 );
    atomic_store( &w->flags, CONTEXT_SCHEDULED_THREAD );
    atomic_store( &w->wait_for, WAIT_FOR_ALERT );
    atomic_store( &w->alert, 0 );
    atomic_store( &w->at_host, 0 );
    atomic_store( &w->word, (atomic_load( &w->word ) & ~WORD_STATE) | state );
    return w;
}

static struct ums_context *queued( void )
{
    struct ums_context *w = parked( WORKER_QUEUED );

    ums_list_push( list, w );
    return w;
}

/* And dequeued, alone. */
static struct ums_context *ready( void )
{
    struct ums_context *w = queued();

    assert_ptr_equal( ums_list_take( list ), w );
    assert_null( ums_list_next( w ) );
    return w;
}

static void begin( void )
{
    assert_int_equal( ums_list_create( &list ), STATUS_SUCCESS );
}

/* Every reference has been given back: the next context gets the slot. */
static void drop( struct ums_context *w )
{
    assert_int_equal( atomic_load( &w->refs ), 1 );
    assert_int_equal( ums_context_delete( w ), STATUS_SUCCESS );
}

static void end( void )
{
    assert_null( ums_list_take( list ) );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    assert_int_equal( ums_list_delete( list ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

static void is_dead( struct ums_context *w )
{
    assert_int_equal( word_state( atomic_load( &w->word ) ), WORKER_DEAD );
    assert_true( atomic_load( &w->flags ) & CONTEXT_TERMINATED );
}

static void comes_dead( struct ums_context *w )
{
    assert_ptr_equal( ums_list_take( list ), w );
    is_dead( w );
    assert_null( ums_list_next( w ) );
    drop( w );
}

/* ---- others wait for it ---- */

/* It was about to suspend itself, and somebody waits for that, to resume it (ums_resume_worker). */
static void nobody_waits_for_its_suspension( void **state )
{
    struct ums_context *w;

    (void)state;
    begin();
    w = ready();
    atomic_store( &w->self_suspending, 1 );
    ums_worker_killed( w );
    assert_int_equal( atomic_load( &w->self_suspending ), 0 );
    comes_dead( w );
    end();
}

/* ---- its scheduler is dead ---- */

/* Queued is only what has yielded to a thread that died before it took that, and was executed by nobody since. */
static void a_yield_that_nobody_heard_is_queued( void **state )
{
    static struct ums_scheduler s;
    struct ums_context *w;

    (void)state;
    begin();
    w = ready();
    w->owner = &s;
    atomic_store( &s.posted, POST_AWAITED );
    assert_int_equal( ums_worker_queue_unheard( &s, w ), 1 );   /* it ended the worker's wait */
    atomic_store( &s.waiting, 1 );
    assert_int_equal( ums_worker_queue_unheard( &s, w ), 0 );   /* it is about to post */
    atomic_store( &s.posted, POST_MADE );
    s.upcall.reason = UPCALL_BLOCKED;           /* taken as blocked, queued, and dequeued by somebody */
    assert_int_equal( ums_worker_queue_unheard( &s, w ), 1 );
    s.upcall.reason = UPCALL_YIELD;
    atomic_store( &s.posted, POST_NONE );       /* its SchedulerProc has heard of it */
    assert_int_equal( ums_worker_queue_unheard( &s, w ), 1 );
    atomic_store( &s.posted, POST_MADE );
    atomic_store( &s.waiting, 0 );              /* it died on its way to the upcall */
    w->owner = NULL;                            /* another one has executed it */
    assert_int_equal( ums_worker_queue_unheard( &s, w ), 1 );
    assert_int_equal( word_state( atomic_load( &w->word ) ), WORKER_READY );
    w->owner = &s;
    assert_int_equal( ums_worker_queue_unheard( &s, w ), 1 );
    assert_ptr_equal( ums_list_take( list ), w );
    assert_null( ums_list_next( w ) );
    ums_worker_killed( w );
    comes_dead( w );
    end();
}

/* ---- in a chain that its client has not walked yet ---- */

static void the_rest_of_the_chain_is_not_lost( void **state )
{
    struct ums_context *second, *first;

    (void)state;
    begin();
    second = queued();
    first = queued();
    assert_ptr_equal( ums_list_take( list ), first );
    ums_worker_killed( first );
    is_dead( first );
    assert_ptr_equal( ums_list_next( first ), second );
    assert_null( ums_list_next( second ) );
    comes_dead( first );
    ums_worker_killed( second );
    comes_dead( second );
    end();
}

/* What is on the list is linked behind it if it is pushed too early: the walk would take it along. */
static void the_last_of_the_chain_stays_the_last( void **state )
{
    struct ums_context *last, *first, *other;

    (void)state;
    begin();
    last = queued();
    first = queued();
    assert_ptr_equal( ums_list_take( list ), first );
    other = queued();
    ums_worker_killed( last );
    assert_ptr_equal( ums_list_next( first ), last );
    assert_null( ums_list_next( last ) );
    assert_ptr_equal( ums_list_take( list ), last );
    assert_ptr_equal( ums_list_next( last ), other );
    is_dead( last );
    assert_null( ums_list_next( other ) );
    drop( last );
    ums_worker_killed( other );
    comes_dead( other );
    ums_worker_killed( first );
    comes_dead( first );
    end();
}

/* The last of one chain is killed, and dequeued again as the first of another. */
static void the_rest_of_the_second_chain_comes_once( void **state )
{
    struct ums_context *both, *other;

    (void)state;
    begin();
    both = queued();
    assert_ptr_equal( ums_list_take( list ), both );
    other = queued();
    ums_worker_killed( both );
    assert_null( ums_list_next( both ) );       /* on the list: its link is not the first chain's */
    assert_ptr_equal( ums_list_take( list ), both );
    assert_ptr_equal( ums_list_next( both ), other );   /* either walk */
    assert_null( ums_list_next( both ) );               /* the other one */
    assert_null( ums_list_next( other ) );
    drop( both );
    ums_worker_killed( other );
    comes_dead( other );
    end();
}

static struct ums_context *victim;
static int32_t refused;

static void execute_it( uint32_t reason, uintptr_t payload, void *param )
{
    (void)reason;
    (void)payload;
    (void)param;
    refused = fake_execute( victim );
}

/* A client that takes one worker at a time need not ask for the next. */
static void the_last_of_the_chain_comes_at_once( void **state )
{
    struct ums_context *w;

    (void)state;
    begin();
    w = queued();
    assert_ptr_equal( ums_list_take( list ), w );
    ums_worker_killed( w );
    assert_null( ums_list_next( w ) );          /* its link is the list's now */
    comes_dead( w );
    end();
}

static struct ums_context *first_of_two( struct ums_context **second )
{
    struct ums_context *first;

    *second = queued();
    first = queued();
    assert_ptr_equal( ums_list_take( list ), first );
    return first;
}

static void who_executes_it_has_it_delivered( void **state )
{
    struct ums_context *second;

    (void)state;
    begin();
    victim = first_of_two( &second );
    ums_worker_killed( victim );
    assert_null( ums_list_take( list ) );
    assert_int_equal( fake_scheduler_enter( list, execute_it, NULL ), STATUS_SUCCESS );
    assert_int_equal( refused, STATUS_INVALID_THREAD );
    comes_dead( victim );
    ums_worker_killed( second );
    comes_dead( second );
    end();
}

static void deleted_it_is_not_delivered( void **state )
{
    struct ums_context *w, *second;

    (void)state;
    begin();
    w = first_of_two( &second );
    ums_worker_killed( w );
    assert_int_equal( ums_context_delete( w ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &w->refs ), 0 );
    ums_worker_killed( second );
    comes_dead( second );
    end();
}

static void used_again_it_is_not_delivered( void **state )
{
    struct ums_context *w, *second, *again;

    (void)state;
    begin();
    w = first_of_two( &second );
    ums_worker_killed( w );
    assert_int_equal( ums_worker_bind( w, list, NULL, NULL, &again ), STATUS_SUCCESS );
    assert_ptr_equal( again, w );
    assert_null( ums_list_take( list ) );
    assert_false( atomic_load( &w->flags ) & CONTEXT_TERMINATED );
    ums_worker_unbind( w );
    drop( w );
    ums_worker_killed( second );
    comes_dead( second );
    end();
}

/* Nobody walks what a deleted list still held: it is READY without a mark. */
static void on_a_deleted_list_nobody_waits_for_a_walk( void **state )
{
    struct ums_context *w;

    (void)state;
    begin();
    w = queued();
    ums_list_ref( list );
    assert_int_equal( ums_list_delete( list ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &w->word ) & (WORD_STATE | WORD_LINKED), WORKER_READY );
    ums_worker_killed( w );
    is_dead( w );
    drop( w );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_unref( list );
}

/* ---- beside somebody who queues or takes it ---- */

typedef void (*act)( struct ums_context *w );

#if defined(__SANITIZE_THREAD__)                /* two threads, for what TSan sees */

static _Atomic int start_both;
static act other_act;

static void meet( void )
{
    atomic_fetch_add( &start_both, 1 );
    while (atomic_load( &start_both ) < 2) sched_yield();
}

static void *do_other( void *w )
{
    meet();
    other_act( w );
    return NULL;
}

static int both( struct ums_context *w, act first, act second, int round )
{
    pthread_t thread;

    other_act = second;
    atomic_store( &start_both, 0 );
    pthread_create( &thread, NULL, do_other, w );
    meet();
    first( w );
    pthread_join( thread, NULL );
    return round < ROUNDS;
}

#else                                           /* the second act between instructions of the first */

static struct ums_context *stepped;
static act in_between;
static volatile int steps_left;

static void step( int sig, siginfo_t *info, void *context )
{
    (void)sig;
    (void)info;
    if (--steps_left) return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    in_between( stepped );
}

static inline __attribute__((always_inline)) void single_step( int on )
{
    if (on) __asm__ volatile( "lea -128(%%rsp), %%rsp; pushf; orl $0x100, (%%rsp); popf;"
                              "lea 128(%%rsp), %%rsp" ::: "memory", "cc" );
    else __asm__ volatile( "lea -128(%%rsp), %%rsp; pushf; andl $~0x100, (%%rsp); popf;"
                           "lea 128(%%rsp), %%rsp" ::: "memory", "cc" );
}

/* 0: the first act was over before its instruction of this number; the second came behind it. */
static int both( struct ums_context *w, act first, act second, int round )
{
    struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

    stepped = w;
    in_between = second;
    steps_left = round * STRIDE + 1;
    sigaction( SIGTRAP, &action, NULL );
    single_step( 1 );
    first( w );
    single_step( 0 );
    if (steps_left <= 0) return 1;
    second( w );
    return 0;
}

#endif

static void alert( struct ums_context *w )
{
    ums_alert( w );
}

static void resume( struct ums_context *w )
{
    ums_worker_queue_stopped( w, atomic_load( &w->word ) );
}

/* Whoever ends the wait pushes it, or the killer does: never both, never none. The worker's is the last
   reference to the list in every second round. */
static void at_each_step( uint64_t state, act first, act second )
{
    struct ums_context *w;
    int i = 0, more;

    do
    {
        begin();
        w = parked( state );
        more = both( w, first, second, i );
        comes_dead( w );
        end();

        begin();
        w = parked( state );
        assert_int_equal( ums_list_delete( list ), STATUS_SUCCESS );
        both( w, first, second, i++ );
        is_dead( w );
        drop( w );
        assert_int_equal( atomic_load( &fake_errors ), 0 );
    }
    while (more);
    assert_true( i > 1 );                       /* the second act came in between */
}

static void killed_while_its_wait_ends( void **state )
{
    (void)state;
    at_each_step( WORKER_BLOCKED | WORD_PREEMPTED | WORD_WAITS, alert, ums_worker_killed );
    at_each_step( WORKER_BLOCKED | WORD_PREEMPTED | WORD_WAITS, ums_worker_killed, alert );
}

static void killed_while_its_suspension_ends( void **state )
{
    (void)state;
    at_each_step( WORKER_BLOCKED | WORD_PREEMPTED, resume, ums_worker_killed );
    at_each_step( WORKER_BLOCKED | WORD_PREEMPTED, ums_worker_killed, resume );
}

static struct ums_context *taken, *behind;

/* Another one is behind it in the chain. */
static void dequeue( struct ums_context *w )
{
    if ((taken = ums_list_take( list )) == w) behind = ums_list_next( taken );
}

static void dequeued_at_each_step( act first, act second )
{
    struct ums_context *w, *rest;
    int i = 0, more;

    do
    {
        begin();
        rest = queued();
        w = queued();
        taken = behind = NULL;
        more = both( w, first, second, i++ );
        assert_ptr_equal( taken, w );
        assert_ptr_equal( behind, rest );
        is_dead( w );
        assert_null( ums_list_next( rest ) );
        /* once more if it was READY when it was killed */
        if ((taken = ums_list_take( list ))) assert_ptr_equal( taken, w );
        drop( w );
        ums_worker_killed( rest );
        comes_dead( rest );
        end();
    }
    while (more);
    assert_true( i > 1 );
}

static void killed_while_it_is_dequeued( void **state )
{
    (void)state;
    dequeued_at_each_step( dequeue, ums_worker_killed );
    dequeued_at_each_step( ums_worker_killed, dequeue );
}

#if !defined(__SANITIZE_THREAD__)               /* takes one instruction after the other */

/* ---- whoever ends a wait is counted, until the worker's list has been told ---- */

static struct ums_context *ended;
static int between, signals, uncounted, stepped_over;

static void see_counted( void )
{
    if (!atomic_load( &ums_waits_ending )) uncounted++;
}

/* Stopped or killed here, it would leave the worker on no list: syscalls/ asks this count first. */
static int look_at_ender( void )
{
    if (word_state( atomic_load( &ended->word ) ) == WORKER_QUEUED && !atomic_load( &list->head ))
    {
        between++;
        see_counted();
    }
    return stepped_over;
}

static void see_the_signal( void *event )
{
    (void)event;
    signals++;
    see_counted();
}

static void time_out( struct ums_context *w )
{
    _Atomic int64_t deadline = 1;

    assert_int_equal( ums_wait_look( w, &deadline, 2 ), INT64_MAX );
}

static void end_its_wait( act how )
{
    between = signals = uncounted = stepped_over = 0;
    begin();
    atomic_store( &list->asked, 1 );
    ended = parked( WORKER_BLOCKED | WORD_PREEMPTED | WORD_WAITS );
    fake_on_event_set = see_the_signal;
    assert_true( fake_step_through( look_at_ender ) );
    how( ended );
    stepped_over = 1;
    fake_on_event_set = NULL;
    assert_true( between > 0 );
    assert_int_equal( signals, 1 );
    assert_int_equal( uncounted, 0 );
    assert_int_equal( atomic_load( &ums_waits_ending ), 0 );
    assert_ptr_equal( ums_list_take( list ), ended );
    ums_worker_killed( ended );
    comes_dead( ended );
    end();
}

static void who_ends_a_wait_is_counted( void **state )
{
    (void)state;
    end_its_wait( alert );
    end_its_wait( time_out );
}

#endif

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( the_rest_of_the_chain_is_not_lost ),
        cmocka_unit_test( a_yield_that_nobody_heard_is_queued ),
        cmocka_unit_test( nobody_waits_for_its_suspension ),
        cmocka_unit_test( the_last_of_the_chain_stays_the_last ),
        cmocka_unit_test( the_rest_of_the_second_chain_comes_once ),
        cmocka_unit_test( the_last_of_the_chain_comes_at_once ),
        cmocka_unit_test( who_executes_it_has_it_delivered ),
        cmocka_unit_test( deleted_it_is_not_delivered ),
        cmocka_unit_test( used_again_it_is_not_delivered ),
        cmocka_unit_test( on_a_deleted_list_nobody_waits_for_a_walk ),
        cmocka_unit_test( killed_while_its_wait_ends ),
        cmocka_unit_test( killed_while_its_suspension_ends ),
        cmocka_unit_test( killed_while_it_is_dequeued ),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test( who_ends_a_wait_is_counted ),
#endif
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
