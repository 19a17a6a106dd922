/*
 * The calls that every actor may make, whoever it is: against the model (core.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <stdlib.h>
#include "fuzz.h"

static void call_query( void *handle, struct model *m )
{
    static const uint32_t lengths[] = { 8, 1, 0, 4, 16 };
    uint32_t class = fuzz_take( 9 ), length = lengths[fuzz_take( 5 )], ret = 77, wanted;
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
    uint32_t class = fuzz_take( 3 ) ? 1 : fuzz_take( 9 ), length = fuzz_take( 4 ) ? 8 : fuzz_take( 16 ), wanted;
    uint64_t value = fuzz_take( 256 ), *buffer = fuzz_take( 9 ) ? &value : NULL;
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

void call_delete_context( void *handle, struct model *m )
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

void call_dequeue( int list, void *handle )
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

void call_delete_list( int list, void *handle )
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

        status = fake_worker_create( &none, handle, list_handle, fuzz_worker_body, m );
        fuzz_expect( status == STATUS_INVALID_PARAMETER, "create worker", status, 0 );
        return;
    }
    model_born( m, list );
    status = fake_worker_create( &m->worker, handle, list_handle, fuzz_worker_body, m );
    fuzz_expect( !status, "create worker", status, 0 );
    fuzz_wait_queued( m, 0 );
}

/* As hold.c and hook_suspend.c do it. */
static void call_suspend( struct model *m )
{
    uint64_t word = 0;
    uint32_t count;

    if (!m || m->state < QUEUED || m->state == DEAD || m->state == DEAD_QUEUED || m->suspended > 3)
        return;
    if (m->state == EXECUTED && m->slot == atomic_load( &fuzz_baton )) return;       /* itself */
    count = ums_context_suspending( m->context, 0, &word );
    fuzz_expect( count == (uint32_t)m->suspended, "suspensions", count, m->suspended );
    if (m->state == EXECUTED) model_stopped( m, &fuzz_slots[m->slot] );
    m->suspended++;
    if (word_state( word ) == WORKER_RUNNING) fake_suspend_thread( m->context );
    if (count || !(word & WORD_STOPPED)) ums_worker_stopped( m->context );
    while (ums_worker_is_carried( m->context )) sched_yield();  /* it has seen it, and is leaving */
    fuzz_expect( ums_context_suspend_made( m->context, 1, &word ), "a suspension that counts", 0, 1 );
}

void call_resume( struct model *m )
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
        fuzz_open_gate( m );
    }
}

void call_release( struct model *m )
{
    if (m && m->state == BLOCKED && !m->suspended) fuzz_open_gate( m );
}

/* A handle: mostly one of the model's, dead or alive, else none at all. */
void *some_context( struct model **m )
{
    static uint64_t pattern[256];
    unsigned int what = fuzz_take( 32 );
    void *list;

    *m = NULL;
    switch (what)
    {
    case 31: return NULL;
    case 30: return pattern;
    case 29: return (void *)UINTPTR_MAX;
    case 28: some_list_of( (int)fuzz_take( LISTS ), &list ); return list;
    case 27: *m = model_at( (int)fuzz_take( MODELS ) );
             if (!(*m)->context) { *m = NULL; return NULL; }
             list = (char *)(*m)->context + 8 * (1 + fuzz_take( 8 ));
             *m = NULL;
             return list;
    default: *m = model_at( (int)what % MODELS );
             if (!(*m)->context) *m = NULL;
             return *m ? (*m)->context : NULL;
    }
}

int some_list( void **handle )
{
    unsigned int what = fuzz_take( 16 );

    *handle = what == 15 ? NULL : what == 14 ? (void *)model_at( (int)fuzz_take( MODELS ) )->context
                                             : (void *)handle;
    if (what >= 13) return -1;
    return some_list_of( (int)what % LISTS, handle );
}

/* 0: the byte is for calls that depend on what the actor is */
int common_call( unsigned int what )
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
    case 10: index = some_list( &list ); if (fuzz_take( 4 ) == 0) call_delete_list( index, list ); return 1;
    case 11: index = some_list( &list ); call_event( index, list ); return 1;
    case 12: case 13: some_context( &m ); call_suspend( m ); return 1;
    case 14: case 15: some_context( &other ); call_resume( other ); return 1;
    case 16: case 17: some_context( &m ); call_release( m ); return 1;
    default: return 0;
    }
}

int fuzz_more( void )
{
    if (fuzz_bytes >= fuzz_bytes_end) fuzz_finishing = 1;
    return !fuzz_finishing;
}
