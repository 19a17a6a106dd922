/*
 * Bytes -> calls: the host-free core against a model of the documented states.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * LLVMFuzzerTestOneInput for libFuzzer; driver.c runs it without. Two threads, the slots, can be plain, schedulers, or
 * carry a worker. At any time one actor has the baton: it reads bytes and calls. All others wait for the baton, or, as
 * blocked workers, at a gate. So each run is determined by its bytes and the engine, and what each call must return,
 * what each list holds and which upcall comes is known beforehand: model.c keeps it, and is believed.
 *
 * Left out: killed workers (tests/stress has them), more than two schedulers, true concurrency (tests/stress.c).
 */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "fuzz.h"

const uint8_t *fuzz_bytes, *fuzz_bytes_end;
int fuzz_finishing;

_Atomic int fuzz_baton;
static _Atomic int64_t now;                     /* stands still until a call shall be found slow */

struct slot fuzz_slots[SLOTS];
static _Thread_local int this_slot;             /* of the two threads; workers at home look at their owner */

unsigned int fuzz_take( unsigned int below )
{
    return fuzz_bytes < fuzz_bytes_end ? *fuzz_bytes++ % below : 0;
}

void fuzz_expect( int fine, const char *what, long long a, long long b )
{
    if (fine) return;
    fprintf( stderr, "%s: %#llx %#llx, %ld bytes left\n", what, a, b, (long)(fuzz_bytes_end - fuzz_bytes) );
    abort();
}

/* ---- the baton ---- */

static void wait_baton( int slot )
{
    while (atomic_load( &fuzz_baton ) != slot) sched_yield();
}

static __attribute__((noinline)) int get_slot( void )
{
    return this_slot;
}

/* A worker has it when it runs, and its scheduler's slot has it. Whoever wants to stop it finds it here. */
static void worker_wait_baton( struct model *m )
{
    for (;;)
    {
        enum worker_state state = word_state( atomic_load( &m->context->word ) );

        if ((state == WORKER_CARRIED || state == WORKER_RUNNING) && m->state == EXECUTED &&
            atomic_load( &fuzz_baton ) == m->slot) return;
        fake_step();
        sched_yield();
    }
}

static void *second_thread( void *arg );

static void pass_baton( int slot )
{
    int other = !slot;

    if (fuzz_slots[other].gone) return;
    if (other && !fuzz_slots[other].started)
    {
        fuzz_slots[other].started = 1;
        if (pthread_create( &fuzz_slots[other].thread, NULL, second_thread, NULL )) abort();
    }
    atomic_store( &fuzz_baton, other );
}

/* ---- gates ---- */

static void wait_gate( struct model *m )
{
    while (!atomic_load( &m->gate )) sched_yield();
    atomic_store( &m->gate, 0 );
}

void fuzz_wait_queued( struct model *m, int deleted )
{
    enum worker_state state;

    do
    {
        sched_yield();
        state = word_state( atomic_load( &m->context->word ) );
    }
    while (state != WORKER_QUEUED && !(deleted && state == WORKER_READY));
    /* home thread: done with its push when it waits. Only then may others look at busy and list. */
    while (atomic_load( &m->context->busy )) sched_yield();
}

void fuzz_open_gate( struct model *m )
{
    int deleted = !model_list_alive( m->list );

    model_arrives( m );
    atomic_store( &m->gate, 1 );
    fuzz_wait_queued( m, deleted );
}

/* ---- a worker ---- */

static void do_yield( struct model *m )
{
    model_yields( m, &fuzz_slots[m->slot], m );
    fuzz_expect( !fake_yield( m ), "yield", 0, 0 );
}

static void do_block( struct model *m, uintptr_t payload )
{
    model_blocks( m, &fuzz_slots[m->slot], payload );
    fuzz_expect( ums_worker_block( m->context, payload ), "nobody to block for", 0, 0 );
    wait_gate( m );
    ums_worker_back( m->context );
}

static void do_slow_call( struct model *m )
{
    model_blocks( m, &fuzz_slots[m->slot], 1 );
    fuzz_expect( ums_worker_enter_kernel( m->context ), "nobody to watch", 0, 0 );
    /* its scheduler has to see it twice */
    while (word_state( atomic_load( &m->context->word ) ) == WORKER_INKERNEL)
    {
        atomic_fetch_add( &now, 1000000000 );
        sched_yield();
    }
    wait_gate( m );
    ums_worker_back( m->context );
}

static void do_quick_call( struct model *m, int yields )
{
    fuzz_expect( ums_worker_enter_kernel( m->context ), "nobody to watch", 0, 0 );
    if (yields) do_yield( m );
    ums_worker_back( m->context );
}

static void worker_call( struct model *m, unsigned int what )
{
    int slot = m->slot;
    struct model *other;
    void *handle;

    switch (what)
    {
    case 18: case 19: case 20: case 21: do_yield( m ); break;
    case 22: case 23: do_block( m, fuzz_take( 2 ) ); break;
    case 24: do_slow_call( m ); break;
    case 25: do_quick_call( m, 0 ); break;
    case 26: do_quick_call( m, 1 ); break;
    case 27: ums_context_suspended( m->context );
             m->suspended++;
             m->self_suspended = 1;
             do_block( m, 0 );
             break;
    case 28: handle = some_context( &other );
             fuzz_expect( fake_execute( handle ) == (handle ? STATUS_NOT_SUPPORTED
                                                            : STATUS_INVALID_PARAMETER),
                          "a worker executes", 0, 0 );
             break;
    case 29: ums_worker_go_home( m->context ); break;
    default: pass_baton( slot ); break;
    }
}

void fuzz_worker_body( void *arg )
{
    struct model *m = arg;
    unsigned int what;

    for (;;)
    {
        worker_wait_baton( m );
        fuzz_expect( ke_current() == m->context, "another worker", 0, 0 );
        if (!fuzz_more()) break;
        what = fuzz_take( 36 );
        if (what == 35) break;
        if (!common_call( what )) worker_call( m, what );
    }
    model_ends( m, &fuzz_slots[m->slot] );
}

/* ---- a scheduler ---- */

static ums_status execute_must_give( struct model *m, const void *handle )
{
    if (!handle || !m || !m->alive) return STATUS_INVALID_PARAMETER;
    switch (atomic_load( &m->state ))
    {
    case NOTHING:  return STATUS_INVALID_PARAMETER;
    case EXECUTED: return STATUS_INTERNAL_ERROR;
    case DEAD: case DEAD_QUEUED: return STATUS_INVALID_THREAD;
    case READY:    return m->suspended ? STATUS_INVALID_THREAD : STATUS_SUCCESS;
    default:       return m->suspended ? STATUS_INVALID_THREAD : STATUS_RETRY;
    }
}

static void scheduler_execute( int slot, void *handle, struct model *m )
{
    ums_status wanted = execute_must_give( m, handle ), status;

    if (!wanted) model_executed( m, slot, fuzz_slots[slot].list );
    status = fake_execute( handle );            /* does not return if it succeeds */
    fuzz_expect( wanted && status == wanted, "execute", status, wanted );
}

static void check_upcall( struct slot *s, uint32_t reason, uintptr_t payload, void *param )
{
    fuzz_expect( reason == s->reason, "another upcall", reason, s->reason );
    fuzz_expect( payload == s->payload && param == s->param, "payload", (long long)payload,
                 (long long)s->payload );
    s->reason = NO_UPCALL;
}

static void schedule( uint32_t reason, uintptr_t payload, void *param )
{
    int slot = get_slot();
    struct model *m;
    unsigned int what;
    void *handle;

    wait_baton( slot );
    check_upcall( &fuzz_slots[slot], reason, payload, param );
    if (!reason) model_forget( ke_current() );
    while (fuzz_more())
    {
        what = fuzz_take( 40 );
        if (common_call( what )) continue;
        if (what < 34)
        {
            handle = some_context( &m );
            scheduler_execute( slot, handle, m );
        }
        else if (what < 35)
            fuzz_expect( fake_yield( NULL ) == STATUS_INVALID_PARAMETER, "a scheduler yields", 0, 0 );
        else if (what < 36)
            fuzz_expect( fake_scheduler_enter( NULL, schedule, NULL ) == STATUS_INVALID_PARAMETER,
                         "enters without a list", 0, 0 );
        else if (what < 39)
        {
            pass_baton( slot );
            wait_baton( slot );
        }
        else break;
    }
}

static void enter( int slot, int list, void *handle, fake_proc proc )
{
    ums_status status, wanted = model_list_alive( list ) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    struct slot *s = &fuzz_slots[slot];

    s->list = list;
    s->reason = 0;
    s->payload = 0;
    s->param = s;
    status = fake_scheduler_enter( handle, proc, s );
    fuzz_expect( status == wanted, "enter", status, wanted );
    s->reason = NO_UPCALL;
    fuzz_expect( !ke_current(), "still a scheduler", 0, 0 );
}

/* ---- a plain thread ---- */

static void plain_call( int slot, unsigned int what )
{
    struct model *m;
    void *handle;
    int list;

    if (what < 28)
    {
        list = some_list( &handle );
        enter( slot, list, handle, schedule );
    }
    else if (what < 29)
        fuzz_expect( fake_yield( NULL ) == STATUS_INVALID_PARAMETER, "a plain thread yields", 0, 0 );
    else if (what < 30)
    {
        handle = some_context( &m );
        fuzz_expect( fake_execute( handle ) == (handle ? STATUS_NOT_SUPPORTED
                                                       : STATUS_INVALID_PARAMETER),
                     "a plain thread executes", 0, 0 );
    }
    else
    {
        pass_baton( slot );
        wait_baton( slot );
    }
}

static int64_t clock_of_the_bytes( int64_t time )
{
    (void)time;
    return atomic_load( &now );
}

static void plain_loop( int slot )
{
    unsigned int what;

    this_slot = slot;
    fake_on_clock = clock_of_the_bytes;
    wait_baton( slot );
    while (fuzz_more())
    {
        what = fuzz_take( 32 );
        if (!common_call( what )) plain_call( slot, what );
    }
}

static void *second_thread( void *arg )
{
    (void)arg;
    plain_loop( 1 );
    fuzz_slots[1].gone = 1;
    atomic_store( &fuzz_baton, 0 );
    return NULL;
}

/* ---- the end: everybody can be brought to an end ---- */

static void drain( uint32_t reason, uintptr_t payload, void *param )
{
    struct model *m;
    int i;

    check_upcall( &fuzz_slots[0], reason, payload, param );
    if (!reason) model_forget( ke_current() );
    for (i = 0; i < MODELS; i++)
    {
        m = model_at( i );
        while (m->suspended && m->state > NOTHING && m->state < DEAD_QUEUED) call_resume( m );
        call_release( m );
    }
    for (i = 0; i < LISTS; i++)
    {
        void *list;

        if (some_list_of( i, &list ) >= 0 && list) call_dequeue( i, list );
    }
    for (i = 0; i < MODELS; i++)
        if (model_at( i )->state == READY)
            scheduler_execute( 0, model_at( i )->context, model_at( i ) );
}

static void clean_up( void )
{
    struct ums_list *list;
    struct model *m;
    int i, index;

    if (fuzz_slots[1].started && !fuzz_slots[1].gone)
    {
        atomic_store( &fuzz_baton, 1 );
        wait_baton( 0 );
    }
    if (fuzz_slots[1].started) pthread_join( fuzz_slots[1].thread, NULL );
    for (i = 0; i < LISTS && model_free_list() < 0; i++)
    {
        void *handle;

        some_list_of( i, &handle );
        call_delete_list( i, handle );
        model_list_forget( i );
    }
    index = model_free_list();
    fuzz_expect( !ums_list_create( &list ), "create list", 0, 0 );
    model_list_new( index, list );
    enter( 0, index, list, drain );
    for (i = 0; i < LISTS; i++)
    {
        void *handle;

        if (some_list_of( i, &handle ) < 0 || !model_list_alive( i )) continue;
        call_dequeue( i, handle );
        call_delete_list( i, handle );
    }
    for (i = 0; i < MODELS; i++)
    {
        m = model_at( i );
        fuzz_expect( !m->context || m->state == NOTHING || m->state == DEAD, "not at its end", i,
                     m->state );
        if (m->context && m->alive) call_delete_context( m->context, m );
    }
    fuzz_expect( !fake_errors && !fake_events_open, "events", fake_errors, fake_events_open );
}

int LLVMFuzzerTestOneInput( const uint8_t *data, size_t size )
{
    int i;

    fuzz_bytes = data;
    fuzz_bytes_end = data + size;
    fuzz_finishing = 0;
    ums_grace = 500;                            /* 50 us */
    fake_init();
    model_reset();
    for (i = 0; i < SLOTS; i++) fuzz_slots[i] = (struct slot){ .reason = NO_UPCALL };
    atomic_store( &fuzz_baton, 0 );
    plain_loop( 0 );
    clean_up();
    return 0;
}
