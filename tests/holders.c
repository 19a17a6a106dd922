/*
 * White box: which threads do something for others, and pause behind that if they are to be terminated.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "ke_fake.h"

#define SLOTS  64                       /* holders.c: more threads are not noted */
#define FLAGS  1000
#define TURNS  50

static int pauses;
static int held_in_pause;

static int count_pause( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    assert_int_equal( atomic_load( word ), value );
    assert_non_null( timeout );
    assert_true( *timeout > 0 );
    held_in_pause |= ums_thread_holds( ke_thread_id() );
    pauses++;
    return 0;
}

static int set_up( void **state )
{
    (void)state;
    pauses = held_in_pause = 0;
    fake_on_wait = count_pause;
    return 0;
}

static int tear_down( void **state )
{
    (void)state;
    fake_on_wait = NULL;
    assert_false( ums_thread_holds( ke_thread_id() ) );
    return 0;
}

static void a_thread_holds_until_the_outermost_section_ends( void **state )
{
    uint32_t tid = ke_thread_id();

    (void)state;
    assert_false( ums_thread_holds( tid ) );
    assert_false( ums_thread_pauses( tid ) );
    ums_hold_self( NULL, 1 );
    ums_hold_self( NULL, 1 );
    ums_hold_self( NULL, 0 );
    assert_true( ums_thread_holds( tid ) );
    assert_false( ums_thread_holds( tid + 1 ) );
    assert_false( ums_thread_holds( 0 ) );
    ums_hold_self( NULL, -1 );
    assert_true( ums_thread_holds( tid ) );
    ums_hold_self( NULL, -1 );
    assert_false( ums_thread_holds( tid ) );
    assert_int_equal( pauses, 0 );
}

/* It is outside then: whoever finds it in the pause may terminate it. */
static void it_pauses_once_behind_the_outermost_section( void **state )
{
    uint32_t tid = ke_thread_id();

    (void)state;
    ums_hold_self( NULL, 1 );
    assert_true( ums_thread_pauses( tid ) );
    ums_hold_self( NULL, 1 );
    assert_true( ums_thread_pauses( tid ) );
    ums_hold_self( NULL, -1 );
    assert_int_equal( pauses, 0 );
    ums_hold_self( NULL, -1 );
    assert_int_equal( pauses, 1 );
    assert_false( held_in_pause );

    ums_hold_self( NULL, 1 );
    ums_hold_self( NULL, -1 );
    assert_int_equal( pauses, 1 );
}

static void one_that_was_waited_for_in_vain_is_forgotten( void **state )
{
    uint32_t tid = ke_thread_id();

    (void)state;
    ums_hold_self( NULL, 1 );
    ums_hold_self( NULL, 1 );
    ums_thread_pauses( tid );
    ums_thread_forget_hold( tid );
    assert_false( ums_thread_holds( tid ) );
    assert_false( ums_thread_pauses( tid ) );
    ums_thread_forget_hold( tid );

    /* it was only slow */
    ums_hold_self( NULL, -1 );
    ums_hold_self( NULL, -1 );
    assert_false( ums_thread_holds( tid ) );
    assert_int_equal( pauses, 0 );
}

/* ---- several threads ---- */

struct thread
{
    pthread_t thread;
    _Atomic uint32_t tid;
    _Atomic int leave;
    _Atomic int rounds, pauses;         /* so many have ended */
};

static void *hold_until_told( void *arg )
{
    struct thread *t = arg;

    ums_hold_self( NULL, 1 );
    atomic_store( &t->tid, ke_thread_id() );
    while (!atomic_load( &t->leave )) sched_yield();
    ums_hold_self( NULL, -1 );
    return NULL;
}

static void begin( struct thread *t, void *(*what)( void * ) )
{
    atomic_store( &t->tid, 0 );
    atomic_store( &t->leave, 0 );
    atomic_store( &t->rounds, 0 );
    atomic_store( &t->pauses, 0 );
    assert_int_equal( pthread_create( &t->thread, NULL, what, t ), 0 );
    while (!atomic_load( &t->tid )) sched_yield();
}

static void end( struct thread *t )
{
    atomic_store( &t->leave, 1 );
    pthread_join( t->thread, NULL );
    assert_false( ums_thread_holds( atomic_load( &t->tid ) ) );
}

/* Whoever finds no slot is as if it had no section, and harms nobody. */
static void more_than_there_are_slots_for( void **state )
{
    static struct thread threads[SLOTS];
    int i;

    (void)state;
    for (i = 0; i < SLOTS; i++) begin( &threads[i], hold_until_told );
    ums_hold_self( NULL, 1 );
    assert_false( ums_thread_holds( ke_thread_id() ) );
    assert_false( ums_thread_pauses( ke_thread_id() ) );
    ums_hold_self( NULL, -1 );
    for (i = 0; i < SLOTS; i++) assert_true( ums_thread_holds( atomic_load( &threads[i].tid ) ) );
    end( &threads[0] );
    ums_hold_self( NULL, 1 );
    assert_true( ums_thread_holds( ke_thread_id() ) );
    ums_hold_self( NULL, -1 );
    for (i = 1; i < SLOTS; i++) end( &threads[i] );
}

/* Another process may have terminated the former thread of this id in its section. */
static void a_new_worker_is_in_no_section( void **state )
{
    static struct thread former;
    struct ums_context *context;
    uint32_t tid;

    (void)state;
    begin( &former, hold_until_told );
    tid = atomic_load( &former.tid );
    assert_int_equal( ums_context_create( &context ), STATUS_SUCCESS );
    ums_worker_made( context, NULL, tid );
    assert_false( ums_thread_holds( tid ) );
    ums_thread_id_clear( context, tid );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    end( &former );
}

static _Thread_local struct thread *me;

static int note_pause( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout )
{
    (void)word;
    (void)value;
    (void)timeout;
    atomic_fetch_add( &me->pauses, 1 );
    return 0;
}

static void *come_and_go( void *arg )
{
    uint32_t tid = ke_thread_id();

    me = arg;
    fake_on_wait = note_pause;
    atomic_store( &me->tid, tid );
    while (!atomic_load( &me->leave ))
    {
        ums_hold_self( NULL, 1 );
        ums_hold_self( NULL, 1 );
        ums_hold_self( NULL, -1 );
        assert_true( ums_thread_holds( tid ) );
        ums_hold_self( NULL, -1 );
        assert_false( ums_thread_holds( tid ) );
        atomic_fetch_add( &me->rounds, 1 );
    }
    fake_on_wait = NULL;
    return NULL;
}

/* It never takes a slot or keeps one, and is not lost: the section that it came in ends with a pause. */
static void a_flag_at_any_moment( void **state )
{
    struct thread thread;
    int flags, pauses, round;

    (void)state;
    begin( &thread, come_and_go );
    for (flags = 0; flags < FLAGS; flags++)
    {
        pauses = atomic_load( &thread.pauses );
        while (!ums_thread_pauses( atomic_load( &thread.tid ) )) ;
        round = atomic_load( &thread.rounds );
        while (atomic_load( &thread.rounds ) == round) sched_yield();
        assert_int_equal( atomic_load( &thread.pauses ), pauses + 1 );
    }
    end( &thread );
}

/* ---- stops ---- */

static int inside, most;                /* not atomic: TSan sees it if two threads are there */

static void *stop_again_and_again( void *arg )
{
    struct thread *t = arg;

    fake_on_clock = fake_no_time_passes;        /* nobody's patience ends on a slow machine */
    atomic_store( &t->tid, ke_thread_id() );
    while (!atomic_load( &t->leave ))
    {
        ums_stop_begin();
        if (++inside > most) most = inside;
        usleep( 10 );                           /* time for the other one to come, if it may */
        inside--;
        ums_stop_end();
        atomic_fetch_add( &t->rounds, 1 );
    }
    fake_on_clock = NULL;
    return NULL;
}

static void one_stops_at_a_time( void **state )
{
    struct thread threads[2];
    int i;

    (void)state;
    for (i = 0; i < 2; i++) begin( &threads[i], stop_again_and_again );
    for (i = 0; i < 2; i++) while (atomic_load( &threads[i].rounds ) < TURNS) sched_yield();
    for (i = 0; i < 2; i++) end( &threads[i] );
    assert_int_equal( most, 1 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test_setup_teardown( a_thread_holds_until_the_outermost_section_ends, set_up, tear_down ),
        cmocka_unit_test_setup_teardown( it_pauses_once_behind_the_outermost_section, set_up, tear_down ),
        cmocka_unit_test_setup_teardown( one_that_was_waited_for_in_vain_is_forgotten, set_up, tear_down ),
        cmocka_unit_test_setup_teardown( more_than_there_are_slots_for, set_up, tear_down ),
        cmocka_unit_test_setup_teardown( a_new_worker_is_in_no_section, set_up, tear_down ),
        cmocka_unit_test( a_flag_at_any_moment ),
        cmocka_unit_test( one_stops_at_a_time ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
