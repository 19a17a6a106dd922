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

static const uint8_t *bytes, *bytes_end;
static int finishing;

static _Atomic int baton;
static _Atomic int64_t now;                     /* stands still until a call shall be found slow */

static struct slot slots[SLOTS];
static _Thread_local int this_slot;             /* of the two threads; workers at home look at their owner */

static unsigned int take( unsigned int below )
{
    return bytes < bytes_end ? *bytes++ % below : 0;
}

void fuzz_expect( int fine, const char *what, long long a, long long b )
{
    if (fine) return;
    fprintf( stderr, "%s: %#llx %#llx, %ld bytes left\n", what, a, b, (long)(bytes_end - bytes) );
    abort();
}

/* ---- the baton ---- */

static void wait_baton( int slot )
{
    while (atomic_load( &baton ) != slot) sched_yield();
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
            atomic_load( &baton ) == m->slot) return;
        fake_step();
        sched_yield();
    }
}

static void *second_thread( void *arg );

static void pass_baton( int slot )
{
    int other = !slot;

    if (slots[other].gone) return;
    if (other && !slots[other].started)
    {
        slots[other].started = 1;
        if (pthread_create( &slots[other].thread, NULL, second_thread, NULL )) abort();
    }
    atomic_store( &baton, other );
}

/* ---- gates ---- */

static void wait_gate( struct model *m )
{
    while (!atomic_load( &m->gate )) sched_yield();
    atomic_store( &m->gate, 0 );
}

static void wait_queued( struct model *m, int deleted )
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

static void open_gate( struct model *m )
{
    int deleted = !model_list_alive( m->list );

    model_arrives( m );
    atomic_store( &m->gate, 1 );
    wait_queued( m, deleted );
}

/* ---- calls that every actor may make ---- */

static void call_query( void *handle, struct model *m )
{
    static const uint32_t lengths[] = { 8, 1, 0, 4, 16 };
    uint32_t class = take( 9 ), length = lengths[take( 5 )], ret = 77, wanted;
    _Alignas(16) uint8_t buffer[16] = { 0 };
    ums_status status = ums_context_query( handle, class, buffer, length, &ret );

    if (!m || !m->alive) wanted = (uint32_t)STATUS_INVALID_PARAMETER;
    else if (class == 1 || class == 4)
        wanted = length == 8 ? 0 : (uint32_t)STATUS_INFO_LENGTH_MISMATCH;
    else if (class == 5 || class == 6)
        wanted = length == 1 ? 0 : (uint32_t)STATUS_INFO_LENGTH_MISMATCH;
    else wanted = (uint32_t)STATUS_NOT_SUPPORTED;
    fuzz_expect( (uint32_t)status == wanted, "query", status, class );
    fuzz_expect( ret == (status ? 0 : length), "query: length", ret, length );
    if (status) return;
    if (class == 1) fuzz_expect( *(uint64_t *)buffer == m->user, "user context", *buffer, m->user );
    if (class == 5) fuzz_expect( buffer[0] == (m->suspended && m->state != DEAD), "suspended",
                                 buffer[0], m->suspended );
    if (class == 6) fuzz_expect( buffer[0] == m->terminated, "terminated", buffer[0],
                                 m->terminated );
}

static void call_set( void *handle, struct model *m )
{
    uint32_t class = take( 3 ) ? 1 : take( 9 ), length = take( 4 ) ? 8 : take( 16 ), wanted;
    uint64_t value = take( 256 ), *buffer = take( 9 ) ? &value : NULL;
    ums_status status = ums_context_set( handle, class, buffer, length );

    if (!m || !m->alive || !buffer) wanted = (uint32_t)STATUS_INVALID_PARAMETER;
    else if (class != 1) wanted = (uint32_t)STATUS_NOT_SUPPORTED;
    else wanted = length != 8 ? (uint32_t)STATUS_INFO_LENGTH_MISMATCH : 0;
    fuzz_expect( (uint32_t)status == wanted, "set", status, class );
    if (!status) m->user = value;
}

static void join( struct model *m )
{
    if (m->joined) return;
    m->joined = 1;
    pthread_join( m->worker.thread, NULL );
}

static void call_delete_context( void *handle, struct model *m )
{
    int fine = m && m->alive && m->terminated && m->state != DEAD_QUEUED;
    ums_status status;

    if (m && m->state == DEAD_QUEUED) return;   /* a client's mistake: it is linked */
    status = ums_context_delete( handle );
    fuzz_expect( status == (fine ? 0 : STATUS_INVALID_PARAMETER), "delete context", status, fine );
    if (!fine) return;
    if (m->state == DEAD) join( m );
    m->alive = 0;
}

static void call_dequeue( int list, void *handle )
{
    struct ums_context *context, *next;
    struct ums_list *l = ums_list_check( handle );
    int64_t zero = 0;
    struct model *m;
    ums_status status;

    fuzz_expect( !l == !model_list_alive( list ), "a list's handle", (long long)handle, list );
    if (!l) return;
    status = ums_list_wait( l, &zero, &context );
    fuzz_expect( status == (context ? STATUS_SUCCESS : STATUS_TIMEOUT), "dequeue", status, 0 );
    for (; context; context = next)
    {
        m = model_take( list );
        fuzz_expect( m && m->context == context, "another one on the list", (long long)context,
                     m ? m->index : -1 );
        next = ums_list_next( context );
        fuzz_expect( !ums_list_next( context ), "a link that is not consumed", 0, 0 );
    }
    fuzz_expect( !model_take( list ), "lost from a list", list, 0 );
}

static void call_delete_list( int list, void *handle )
{
    int alive = model_list_alive( list );
    ums_status status = ums_list_delete( handle );

    fuzz_expect( status == (alive ? 0 : STATUS_INVALID_PARAMETER), "delete list", status, alive );
    if (alive) model_list_deleted( list );
}

static void call_event( int list, void *handle )
{
    void *event = NULL;
    ums_status status = ums_list_event( handle, &event );

    fuzz_expect( status == (model_list_alive( list ) ? 0 : STATUS_INVALID_PARAMETER), "event", status,
                 0 );
    if (!status) ke_event_close( event );
}

static void call_create_context( void )
{
    struct ums_context *context;
    struct model *m = model_free();

    if (!m) return;
    fuzz_expect( !ums_context_create( &context ), "create context", 0, 0 );
    model_new( m, context );
}

static void call_create_list( void )
{
    struct ums_list *list;
    int index = model_free_list();

    if (index < 0) return;
    fuzz_expect( !ums_list_create( &list ), "create list", 0, 0 );
    model_list_new( index, list );
}

static void worker_body( void *arg );

static void call_create_worker( void *handle, struct model *m, int list, void *list_handle )
{
    int fine = m && m->alive && model_list_alive( list ) &&
               (m->state == NOTHING || m->state == DEAD);
    ums_status status;

    if (m && m->state == DEAD_QUEUED) return;   /* linked: a client's mistake */
    if (fine && m->state == DEAD) join( m );
    if (!fine)
    {
        struct fake_worker none;

        status = fake_worker_create( &none, handle, list_handle, worker_body, m );
        fuzz_expect( status == STATUS_INVALID_PARAMETER, "create worker", status, 0 );
        return;
    }
    model_born( m, list );
    status = fake_worker_create( &m->worker, handle, list_handle, worker_body, m );
    fuzz_expect( !status, "create worker", status, 0 );
    wait_queued( m, 0 );
}

/* As hold.c and hook_suspend.c do it. */
static void call_suspend( struct model *m )
{
    uint64_t word = 0;
    uint32_t count;

    if (!m || m->state < QUEUED || m->state == DEAD || m->state == DEAD_QUEUED || m->suspended > 3)
        return;
    if (m->state == EXECUTED && m->slot == atomic_load( &baton )) return;       /* itself */
    count = ums_context_suspending( m->context, &word );
    fuzz_expect( count == (uint32_t)m->suspended, "suspensions", count, m->suspended );
    if (m->state == EXECUTED) model_stopped( m, &slots[m->slot] );
    m->suspended++;
    if (word_state( word ) == WORKER_RUNNING) fake_suspend_thread( m->context );
    if (count || !(word & WORD_STOPPED)) ums_worker_stopped( m->context );
    while (ums_worker_is_carried( m->context )) sched_yield();  /* it has seen it, and is leaving */
    ums_context_suspend_made( m->context, 1 );
}

static void call_resume( struct model *m )
{
    uint64_t word;
    uint32_t count;

    if (!m || m->state < QUEUED || m->state == DEAD || m->state == DEAD_QUEUED) return;
    count = ums_context_resumed( m->context, 1, &word );
    fuzz_expect( count == (uint32_t)m->suspended, "suspensions to resume", count, m->suspended );
    if (!count) return;
    m->suspended--;
    if (m->suspended) return;
    if (m->state == STOPPED) model_arrives( m );
    ums_worker_continued( m->context, word );
    if (m->state == BLOCKED && m->self_suspended)
    {
        m->self_suspended = 0;
        open_gate( m );
    }
}

static void call_release( struct model *m )
{
    if (m && m->state == BLOCKED && !m->suspended) open_gate( m );
}

/* A handle: mostly one of the model's, dead or alive, else none at all. */
static void *some_context( struct model **m )
{
    static uint64_t pattern[256];
    unsigned int what = take( 32 );
    void *list;

    *m = NULL;
    switch (what)
    {
    case 31: return NULL;
    case 30: return pattern;
    case 29: return (void *)UINTPTR_MAX;
    case 28: some_list_of( (int)take( LISTS ), &list ); return list;
    case 27: *m = model_at( (int)take( MODELS ) );
             if (!(*m)->context) { *m = NULL; return NULL; }
             list = (char *)(*m)->context + 8 * (1 + take( 8 ));
             *m = NULL;
             return list;
    default: *m = model_at( (int)what % MODELS );
             if (!(*m)->context) *m = NULL;
             return *m ? (*m)->context : NULL;
    }
}

static int some_list( void **handle )
{
    unsigned int what = take( 16 );

    *handle = what == 15 ? NULL : what == 14 ? (void *)model_at( (int)take( MODELS ) )->context
                                             : (void *)handle;
    if (what >= 13) return -1;
    return some_list_of( (int)what % LISTS, handle );
}

/* 0: the byte is for calls that depend on what the actor is */
static int common_call( unsigned int what )
{
    struct model *m, *other;
    void *handle, *list;
    int index;

    switch (what)
    {
    case 0: call_create_context(); return 1;
    case 1: call_create_list(); return 1;
    case 2: case 3: handle = some_context( &m ); index = some_list( &list );
            call_create_worker( handle, m, index, list ); return 1;
    case 4: case 5: case 6: index = some_list( &list ); call_dequeue( index, list ); return 1;
    case 7: handle = some_context( &m ); call_query( handle, m ); return 1;
    case 8: handle = some_context( &m ); call_set( handle, m ); return 1;
    case 9: handle = some_context( &m ); call_delete_context( handle, m ); return 1;
    case 10: index = some_list( &list ); if (take( 4 ) == 0) call_delete_list( index, list ); return 1;
    case 11: index = some_list( &list ); call_event( index, list ); return 1;
    case 12: case 13: some_context( &m ); call_suspend( m ); return 1;
    case 14: case 15: some_context( &other ); call_resume( other ); return 1;
    case 16: case 17: some_context( &m ); call_release( m ); return 1;
    default: return 0;
    }
}

static int more( void )
{
    if (bytes >= bytes_end) finishing = 1;
    return !finishing;
}

/* ---- a worker ---- */

static void do_yield( struct model *m )
{
    model_yields( m, &slots[m->slot], m );
    fuzz_expect( !fake_yield( m ), "yield", 0, 0 );
}

static void do_block( struct model *m, uintptr_t payload )
{
    model_blocks( m, &slots[m->slot], payload );
    fuzz_expect( ums_worker_block( m->context, payload ), "nobody to block for", 0, 0 );
    wait_gate( m );
    ums_worker_back( m->context );
}

static void do_slow_call( struct model *m )
{
    model_blocks( m, &slots[m->slot], 1 );
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
    case 22: case 23: do_block( m, take( 2 ) ); break;
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

static void worker_body( void *arg )
{
    struct model *m = arg;
    unsigned int what;

    for (;;)
    {
        worker_wait_baton( m );
        fuzz_expect( ke_current() == m->context, "another worker", 0, 0 );
        if (!more()) break;
        what = take( 36 );
        if (what == 35) break;
        if (!common_call( what )) worker_call( m, what );
    }
    model_ends( m, &slots[m->slot] );
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

    if (!wanted) model_executed( m, slot, slots[slot].list );
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
    check_upcall( &slots[slot], reason, payload, param );
    if (!reason) model_forget( ke_current() );
    while (more())
    {
        what = take( 40 );
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
    struct slot *s = &slots[slot];

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
    while (more())
    {
        what = take( 32 );
        if (!common_call( what )) plain_call( slot, what );
    }
}

static void *second_thread( void *arg )
{
    (void)arg;
    plain_loop( 1 );
    slots[1].gone = 1;
    atomic_store( &baton, 0 );
    return NULL;
}

/* ---- the end: everybody can be brought to an end ---- */

static void drain( uint32_t reason, uintptr_t payload, void *param )
{
    struct model *m;
    int i;

    check_upcall( &slots[0], reason, payload, param );
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

    if (slots[1].started && !slots[1].gone)
    {
        atomic_store( &baton, 1 );
        wait_baton( 0 );
    }
    if (slots[1].started) pthread_join( slots[1].thread, NULL );
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

    bytes = data;
    bytes_end = data + size;
    finishing = 0;
    ums_grace = 500;                            /* 50 us */
    fake_init();
    model_reset();
    for (i = 0; i < SLOTS; i++) slots[i] = (struct slot){ .reason = NO_UPCALL };
    atomic_store( &baton, 0 );
    plain_loop( 0 );
    clean_up();
    return 0;
}
