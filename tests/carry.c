/*
 * White box: workers that are carried. The scheduler is the main thread, and carries; workers are
 * pthreads, where they are at home. Run with UMS_ENGINE=handoff it checks that nothing is carried, and leaves out what
 * can only happen to a worker that is.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ke_fake.h"
#include "../dlls/ntdll_ums/core/section.h"

enum { STARTUP, BLOCKED, YIELD };

static struct ums_list *list;
static struct ums_context *context;
static struct fake_worker worker;
static uint32_t scheduler_tid;
static uint32_t tids[16];                       /* the worker's notes: on which thread it was */
static int notes;
static int upcalls[3];
static uintptr_t last_payload;
static _Atomic int flag;
static void *(*helper)( void * );               /* runs beside, until the scheduler is done */
static void *helper_param;

static enum worker_state state_of( struct ums_context *c )
{
    return word_state( atomic_load( &c->word ) );
}

/* The OS thread, which thread-local storage of the compiler's would not tell. */
static void note( void )
{
    tids[notes++] = ke_thread_id();
}

static int carried( int n )
{
    return tids[n] == scheduler_tid;
}

static struct ums_context *take_one( void )
{
    struct ums_context *first;

    ums_list_wait( list, NULL, &first );
    return first;
}

static void run_to_end( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w = (struct ums_context *)payload;

    (void)param;
    upcalls[reason]++;
    last_payload = payload;
    if (reason != YIELD) w = take_one();
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    fake_execute( w );
}

static void run( void (*start)( void * ), fake_proc proc )
{
    pthread_t thread;
    int i;

    notes = 0;
    for (i = 0; i < 3; i++) upcalls[i] = 0;
    atomic_store( &flag, 0 );
    scheduler_tid = ke_thread_id();
    ums_list_create( &list );
    ums_context_create( &context );
    assert_int_equal( fake_worker_create( &worker, context, list, start, NULL ), STATUS_SUCCESS );
    if (helper) pthread_create( &thread, NULL, helper, helper_param );
    assert_int_equal( fake_scheduler_enter( list, proc, NULL ), STATUS_SUCCESS );
    pthread_join( worker.thread, NULL );
    if (helper) pthread_join( thread, NULL );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
    assert_null( ke_current() );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

/* ---- where it runs ---- */

static void tour( void *param )
{
    struct ums_context *w = ke_current();

    note();                                     /* 0 started */
    fake_yield( param );
    note();                                     /* 1 yielded */
    ums_worker_go_home( w );
    note();                                     /* 2 a call that goes home */
    ums_worker_go_home( w );
    note();                                     /* 3 rides out */
    fake_yield( param );
    note();                                     /* 4 yielded at home */
    if (ums_worker_block( w, 1 ))
    {
        note();                                 /* 5 in a wait */
        ums_worker_back( w );
    }
    note();                                     /* 6 after the wait */
    ums_worker_enter_kernel( w );
    note();                                     /* 7 in a call that may block */
    ums_worker_back( w );
    note();                                     /* 8 came back in time */
}

static void it_is_carried_but_for_the_kernel( void **state )
{
    static const int expected[9] = { 1, 1, 0, 0, 1, 0, 1, 0, 0 };
    int i;

    (void)state;
    fake_on_clock = fake_no_time_passes;
    run( tour, run_to_end );
    fake_on_clock = NULL;
    assert_int_equal( notes, 9 );
    for (i = 0; i < 9; i++) assert_int_equal( carried( i ), ums_carry && expected[i] );
    assert_int_equal( upcalls[YIELD], 2 );
    assert_int_equal( upcalls[BLOCKED], 2 );    /* the wait, the end */
}

static void yield_in_callback( void *param )
{
    struct ums_context *w = ke_current();

    ums_worker_enter_kernel( w );
    fake_yield( param );                        /* the kernel call is at home, so must we be */
    note();
    ums_worker_back( w );
    note();
    fake_yield( param );
    note();
}

static void in_a_callback_it_stays_home( void **state )
{
    (void)state;
    fake_on_clock = fake_no_time_passes;
    run( yield_in_callback, run_to_end );
    fake_on_clock = NULL;
    assert_int_equal( notes, 3 );
    assert_false( carried( 0 ) );
    assert_false( carried( 1 ) );
    assert_int_equal( carried( 2 ), ums_carry );
}

static struct
{
    uint32_t busy, place;
} seen[4];

static void look( int i, const struct ums_context *w )
{
    seen[i].busy  = atomic_load( &w->busy );
    seen[i].place = w->inside.place;
    note();
}

static void begin_sections( void *param )
{
    struct ums_context *w = ke_current();
    struct ums_section outer, inner;

    ums_section_begin( &outer );
    ums_section_begin( &inner );
    look( 0, w );
    ums_section_end( &inner );
    look( 1, w );
    ums_section_end( &outer );
    fake_yield( param );
    while (atomic_load( &w->busy )) sched_yield();      /* the home thread, behind its post */
    look( 2, w );
    /* the frame of a call that has blocked was left */
    ums_worker_block( w, 1 );
    inside_enter( &w->inside, (uintptr_t)&outer, 0 );
    ums_section_begin( &outer );
    look( 3, w );
    ums_section_end( &outer );
}

static void in_a_section_it_is_home_and_busy( void **state )
{
    static const uint32_t busy[4] = { 2, 1, 0, 1 }, place[4] = { INSIDE_CALL, INSIDE_CALL, INSIDE_NOTHING, INSIDE_CALL };
    int i;

    (void)state;
    fake_on_clock = fake_no_time_passes;
    run( begin_sections, run_to_end );
    fake_on_clock = NULL;
    assert_int_equal( notes, 4 );
    for (i = 0; i < 4; i++)
    {
        assert_int_equal( seen[i].busy, busy[i] );
        assert_int_equal( seen[i].place, place[i] );
        assert_int_equal( carried( i ), ums_carry && i == 2 );
    }
    assert_int_equal( upcalls[YIELD], 1 );
    assert_int_equal( upcalls[BLOCKED], 2 );    /* the call, the end */
}

static void has_breakpoints( void *param )
{
    struct ums_context *w = ke_current();

    ums_worker_go_home( w );
    atomic_store( &w->breakpoints, 1 );
    fake_yield( param );
    note();
    atomic_store( &w->breakpoints, 0 );
    fake_yield( param );
    note();
}

static void who_has_to_stay_home_does( void **state )
{
    (void)state;
    run( has_breakpoints, run_to_end );
    assert_false( carried( 0 ) );
    assert_int_equal( carried( 1 ), ums_carry );
}

/* ---- the home thread sleeps ---- */

static void wake_without_reason( uint32_t reason, uintptr_t payload, void *param )
{
    if (reason == YIELD)
    {
        struct ums_context *w = (struct ums_context *)payload;

        ums_unpark( &w->park );
        while (atomic_load( &w->park.token )) sched_yield();  /* taken */
        ums_unpark( &w->park );
        while (atomic_load( &w->park.token )) sched_yield();
        assert_int_equal( state_of( w ), WORKER_READY );
        assert_int_equal( notes, 1 );
    }
    run_to_end( reason, payload, param );
}

static void yield_once( void *param )
{
    note();
    fake_yield( param );
    note();
}

/* A token of an earlier life may come late. */
static void a_token_alone_does_not_wake_it( void **state )
{
    (void)state;
    run( yield_once, wake_without_reason );
    assert_int_equal( notes, 2 );
    assert_int_equal( upcalls[YIELD], 1 );
}

/* ---- suspended on its carrier ---- */

static _Atomic int stage;

static void spin( void *param )
{
    (void)param;
    note();
    atomic_store( &stage, 1 );
    while (!atomic_load( &flag )) fake_preemption_point();
    note();
}

static void *suspend_it( void *resume_at_once )
{
    uint64_t word;

    while (atomic_load( &stage ) != 1) sched_yield();
    ums_context_suspended( context );
    ums_worker_stopped( context );
    if (resume_at_once)
    {
        ums_context_resumed( context, 1, &word );
        assert_int_equal( ums_worker_continued( context, word ), 0 );
    }
    else while (atomic_load( &stage ) != 2) sched_yield();
    if (!resume_at_once)
    {
        assert_int_equal( state_of( context ), WORKER_BLOCKED );
        ums_context_resumed( context, 1, &word );
        assert_int_equal( ums_worker_continued( context, word ), 0 );
    }
    return NULL;
}

static void see_suspension( uint32_t reason, uintptr_t payload, void *param )
{
    if (reason == BLOCKED && !payload)
    {
        if (!atomic_load( &flag )) atomic_store( &stage, 2 );
        atomic_store( &flag, 1 );
    }
    run_to_end( reason, payload, param );
}

static void suspend_while_carried( int resume_at_once )
{
    atomic_store( &stage, 0 );
    helper = suspend_it;
    helper_param = resume_at_once ? &stage : NULL;
    run( spin, see_suspension );
    helper = NULL;
    assert_int_equal( notes, 2 );
    assert_true( carried( 0 ) );
    assert_true( carried( 1 ) );
    assert_int_equal( upcalls[BLOCKED], 2 );    /* the suspension, the end */
}

/* Its scheduler gets control, with payload 0; it is queued when it is resumed. */
static void suspended_it_leaves_its_carrier( void **state )
{
    (void)state;
    suspend_while_carried( 0 );
}

/* The resume may find it before its carrier has taken notice, or after: it is queued once. */
static void a_resume_at_once_does_not_lose_it( void **state )
{
    int i;

    (void)state;
    for (i = 0; i < 200; i++) suspend_while_carried( 1 );
}

static void *kill_it( void *unused )
{
    (void)unused;
    while (atomic_load( &stage ) != 1) sched_yield();
    fake_kill_thread( &worker );
    ums_worker_killed( context );
    return NULL;
}

static void see_end( uint32_t reason, uintptr_t payload, void *param )
{
    struct ums_context *w;

    (void)param;
    upcalls[reason]++;
    last_payload = payload;
    w = take_one();
    if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) return;
    fake_execute( w );
}

/* Killed while it is carried: taken off, and on the list as dead. */
static void killed_it_leaves_its_carrier( void **state )
{
    pthread_t killer;

    (void)state;
    atomic_store( &stage, 0 );
    atomic_store( &flag, 0 );
    notes = 0;
    upcalls[BLOCKED] = 0;
    ums_list_create( &list );
    ums_context_create( &context );
    fake_worker_create( &worker, context, list, spin, NULL );
    pthread_create( &killer, NULL, kill_it, NULL );
    assert_int_equal( fake_scheduler_enter( list, see_end, NULL ), STATUS_SUCCESS );
    pthread_join( killer, NULL );
    assert_int_equal( upcalls[BLOCKED], 1 );
    assert_int_equal( last_payload, 0 );
    assert_int_equal( state_of( context ), WORKER_DEAD );
    fake_killed_thread_ends( &worker );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

/* ---- killed while its carrier stands still ---- */

static void give_way( void *param )
{
    (void)param;
    atomic_store( &stage, 1 );
    for (;;) ums_worker_give_way( ke_current() );
}

static void *kill_stopped( void *unused )
{
    (void)unused;
    while (atomic_load( &stage ) != 1) sched_yield();
    fake_kill_thread( &worker );
    atomic_store( &fake_carrier_is_stopped, 1 );
    ums_worker_killed( context );               /* does not wait */
    atomic_store( &fake_carrier_is_stopped, 0 );
    return NULL;
}

/* Its carrier goes on, and sees to the rest when the worker gives way. */
static void killed_it_gives_way_later( void **state )
{
    int i;

    (void)state;
    for (i = 0; i < 20; i++)
    {
        pthread_t killer;

        atomic_store( &stage, 0 );
        upcalls[BLOCKED] = 0;
        ums_list_create( &list );
        ums_context_create( &context );
        fake_worker_create( &worker, context, list, give_way, NULL );
        pthread_create( &killer, NULL, kill_stopped, NULL );
        assert_int_equal( fake_scheduler_enter( list, see_end, NULL ), STATUS_SUCCESS );
        pthread_join( killer, NULL );
        assert_int_equal( upcalls[BLOCKED], 1 );
        assert_int_equal( state_of( context ), WORKER_DEAD );
        fake_killed_thread_ends( &worker );
        assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
        assert_int_equal( atomic_load( &list->refs ), 1 );
        ums_list_delete( list );
        assert_int_equal( atomic_load( &fake_errors ), 0 );
    }
}

/* ---- its carrier is killed ---- */

static struct ums_scheduler *doomed;

static void doom( uint32_t reason, uintptr_t payload, void *param )
{
    doomed = ke_current()->scheduler;
    run_to_end( reason, payload, param );
}

static void *enter_doomed( void *unused )
{
    (void)unused;
    fake_scheduler_enter( list, doom, NULL );
    return NULL;
}

/* A scheduler that is to end does so in place of an upcall, with its status, and its worker goes on
   with another one. */
static void a_killed_scheduler_gives_its_worker_back( void **state )
{
    pthread_t scheduler;
    uint64_t word;
    void *status;

    (void)state;
    notes = 0;
    upcalls[BLOCKED] = 0;
    atomic_store( &stage, 0 );
    atomic_store( &flag, 0 );
    ums_list_create( &list );
    ums_context_create( &context );
    fake_worker_create( &worker, context, list, spin, NULL );
    pthread_create( &scheduler, NULL, enter_doomed, NULL );
    while (atomic_load( &stage ) != 1) sched_yield();
    atomic_store( &doomed->exit_status, 77 );
    atomic_store( &doomed->killed, 1 );
    ums_context_suspending( context, 0, &word );
    ums_worker_stopped( context );
    pthread_join( scheduler, &status );
    assert_int_equal( (uintptr_t)status, 77 );
    assert_int_equal( upcalls[BLOCKED], 0 );
    assert_int_equal( state_of( context ), WORKER_BLOCKED );
    ums_context_suspend_made( context, 0, &word );
    ums_worker_queue_stopped( context, word );
    atomic_store( &flag, 1 );
    assert_int_equal( fake_scheduler_enter( list, run_to_end, NULL ), STATUS_SUCCESS );
    pthread_join( worker.thread, NULL );
    assert_int_equal( notes, 2 );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

/* A worker that is carried, but nobody runs it any more. */
static void make_orphan( void )
{
    ums_list_create( &list );
    ums_context_create( &context );
    ums_list_ref( list );
    context->list = list;
    atomic_fetch_add( &context->refs, 1 );
    atomic_store( &context->flags, CONTEXT_SCHEDULED_THREAD );
    atomic_store( &context->word, WORKER_CARRIED );
    atomic_store( &fake_carrier_is_gone, 1 );
}

static void delete_orphan( void )
{
    atomic_store( &fake_carrier_is_gone, 0 );
    assert_int_equal( ums_context_delete( context ), STATUS_SUCCESS );
    assert_int_equal( atomic_load( &list->refs ), 1 );
    ums_list_delete( list );
}

/* Who suspends it does not wait for a thread that is no more. (A hang here is a failure.) */
static void suspending_an_orphan_ends( void **state )
{
    (void)state;
    make_orphan();
    ums_context_suspended( context );
    ums_worker_stopped( context );
    assert_int_equal( state_of( context ), WORKER_CARRIED );
    ums_worker_killed( context );
    delete_orphan();
}

static void a_killed_orphan_is_delivered( void **state )
{
    struct ums_context *first;
    int64_t zero = 0;

    (void)state;
    make_orphan();
    ums_worker_killed( context );
    assert_int_equal( state_of( context ), WORKER_DEAD );
    assert_int_equal( ums_list_wait( list, &zero, &first ), STATUS_SUCCESS );
    assert_ptr_equal( first, context );
    assert_true( atomic_load( &first->flags ) & CONTEXT_TERMINATED );
    delete_orphan();
}

/* Whoever lets a carrier go on that stood still sees to the rest, once. */
static void a_kill_is_finished_once( void **state )
{
    struct ums_context *first;
    int64_t zero = 0;

    (void)state;
    make_orphan();
    atomic_store( &fake_carrier_is_gone, 0 );
    atomic_store( &fake_carrier_is_stopped, 1 );
    ums_worker_killed( context );
    assert_int_equal( state_of( context ), WORKER_CARRIED );
    assert_int_equal( ums_list_wait( list, &zero, &first ), STATUS_TIMEOUT );
    atomic_store( &fake_carrier_is_stopped, 0 );
    atomic_store( &fake_carrier_is_gone, 1 );
    ums_worker_killed_finish( context );
    ums_worker_killed_finish( context );
    assert_int_equal( ums_list_wait( list, &zero, &first ), STATUS_SUCCESS );
    assert_ptr_equal( first, context );
    assert_null( ums_list_next( first ) );
    delete_orphan();
}

/* ---- its end ---- */

static int found_while_ending, found_after;

/* The end is announced, and the client deletes the context at once. Whoever suspends or terminates the thread
   now must still see that a scheduler waits for it. */
static void delete_at_once( void *event )
{
    struct ums_context *first;
    int64_t zero = 0;

    (void)event;
    if (!(atomic_load( &context->flags ) & CONTEXT_TERMINATED)) return;
    ums_list_wait( list, &zero, &first );
    if (first == context && !ums_context_delete( context ))
        found_while_ending = ums_thread_holds( ke_thread_id() );
}

static void end_at_once( void *param )
{
    (void)param;
    ums_worker_go_home( ke_current() );         /* the hook is the thread's */
    fake_on_event_set = delete_at_once;
}

static void execute_once( uint32_t reason, uintptr_t payload, void *param )
{
    (void)payload; (void)param;
    if (reason == STARTUP) fake_execute( take_one() );
}

static void whoever_ends_is_found_to_the_last( void **state )
{
    void *event;
    uint32_t i;

    (void)state;
    ums_list_create( &list );
    ums_context_create( &context );
    ums_list_event( list, &event );
    fake_worker_create( &worker, context, list, end_at_once, NULL );
    assert_int_equal( fake_scheduler_enter( list, execute_once, NULL ), STATUS_SUCCESS );
    pthread_join( worker.thread, NULL );
    for (i = 1; i < 1000; i++) found_after |= ums_thread_holds( i );
    assert_true( found_while_ending );
    assert_false( found_after );
    ke_event_close( event );
    ums_list_delete( list );
    assert_int_equal( atomic_load( &fake_errors ), 0 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( it_is_carried_but_for_the_kernel ),
        cmocka_unit_test( in_a_callback_it_stays_home ),
        cmocka_unit_test( in_a_section_it_is_home_and_busy ),
        cmocka_unit_test( who_has_to_stay_home_does ),
        cmocka_unit_test( a_token_alone_does_not_wake_it ),
        cmocka_unit_test( whoever_ends_is_found_to_the_last ),
        cmocka_unit_test( suspending_an_orphan_ends ),
        cmocka_unit_test( a_killed_orphan_is_delivered ),
        cmocka_unit_test( a_kill_is_finished_once ),
    };
    const struct CMUnitTest carried_tests[] =
    {
        cmocka_unit_test( suspended_it_leaves_its_carrier ),
        cmocka_unit_test( a_resume_at_once_does_not_lose_it ),
        cmocka_unit_test( a_killed_scheduler_gives_its_worker_back ),
        cmocka_unit_test( killed_it_leaves_its_carrier ),
        cmocka_unit_test( killed_it_gives_way_later ),
    };
    int failed;

    fake_init();
    failed = cmocka_run_group_tests( tests, NULL, NULL );
    if (ums_carry) failed += cmocka_run_group_tests( carried_tests, NULL, NULL );
    return failed;
}
