/*
 * Completion lists: where new workers and workers whose kernel call is over wait for a scheduler.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Stands for the kernel's UMS queue. Push is one compare-and-swap, take is one exchange of the
 * whole chain; neither enters the kernel unless somebody sleeps or has asked for the event.
 *
 * Wake-ups. A push that finds the list empty is an edge. It counts seq up, wakes every in-process
 * waiter, and sets the NT event if a handle of it was ever given out. No wake-up is lost, because
 *  - a waiter announces itself in waiters, then reads seq, then looks at head; the pusher changes
 *    head, then seq, then looks at waiters (all sequentially consistent): one of them sees the
 *    other, and a sleep on an old seq ends at once;
 *  - all waiters are woken, so one that is about to give up does not swallow the edge, and one that
 *    gives up looks at the list a last time;
 *  - GetUmsCompletionListEvent sets asked, then looks at head, and sets the event if something is
 *    there; a pusher that did not see asked had changed head before.
 * Stale signals happen (an edge whose contexts a poll has taken) and are allowed.
 */

#include "watch/record.h"

static struct ums_pool list_pool;

int ums_completion_init( void )
{
    return ums_pool_init( &list_pool, sizeof(struct ums_list), 65536 );
}

struct ums_list *ums_list_check( void *handle )
{
    return ums_pool_valid( &list_pool, handle, sizeof(struct ums_list) ) ? handle : NULL;
}

ums_status ums_list_create( struct ums_list **list )
{
    struct ums_list *l = ums_pool_alloc( &list_pool );
    ums_status status;

    if (!l) return STATUS_NO_MEMORY;
    if ((status = ke_event_create( &l->event )))
    {
        ums_pool_free( &list_pool, l );
        return status;
    }
    atomic_store( &l->head, NULL );
    atomic_store( &l->asked, 0 );
    atomic_store( &l->deleted, 0 );
    atomic_store( &l->refs, 1 );
    ums_pool_open( l );
    *list = l;
    return STATUS_SUCCESS;
}

/* The list exists on, without a handle, while a scheduler or a worker refers to it: a worker may
   still be signalling the push that told the client that everything is over. Contexts that are on
   the list, or come to it later, are taken off at once: nobody can dequeue them, but whoever knows
   a context may execute it. A pusher that does not see deleted has pushed before, and is seen
   here. */
ums_status ums_list_delete( void *handle )
{
    struct ums_list *list = ums_list_check( handle );

    if (!list || !ums_pool_close( list )) return STATUS_INVALID_PARAMETER;
    atomic_store( &list->deleted, 1 );
    ums_list_take( list );
    ums_list_unref( list );
    return STATUS_SUCCESS;
}

ums_status ums_list_event( void *handle, void **event )
{
    struct ums_list *list = ums_list_check( handle );
    ums_status status;

    if (!list || !event) return STATUS_INVALID_PARAMETER;
    if ((status = ke_event_duplicate( list->event, event ))) return status;
    if (!atomic_exchange( &list->asked, 1 ) && atomic_load( &list->head ))
        ke_event_set( list->event );
    return STATUS_SUCCESS;
}

void ums_list_ref( struct ums_list *list )
{
    atomic_fetch_add_explicit( &list->refs, 1, memory_order_relaxed );
}

void ums_list_unref( struct ums_list *list )
{
    if (atomic_fetch_sub( &list->refs, 1 ) != 1) return;
    ke_event_close( list->event );
    ums_pool_free( &list_pool, list );
}

/* The caller holds a reference to the list, and does not touch the context afterwards: whoever
   takes it may run it, and if it is a dead one free it, at once. */
void ums_list_push( struct ums_list *list, struct ums_context *context )
{
    struct ums_context *head = atomic_load_explicit( &list->head, memory_order_relaxed );

    do atomic_store_explicit( &context->link, head, memory_order_relaxed );
    while (!atomic_compare_exchange_weak( &list->head, &head, context ));

    if (atomic_load( &list->deleted )) ums_list_take( list );
    if (head) return;                           /* whoever made it non-empty gave the signal */
    atomic_fetch_add( &list->seq, 1 );
    if (atomic_load( &list->waiters )) ke_wake( &list->seq, 1 );
    if (atomic_load( &list->asked )) ke_event_set( list->event );
}

/* The calling thread's scheduler, if anything is recorded and the thread is one. */
static struct ums_scheduler *recorded_scheduler( void )
{
    struct ums_context *self;

    if (__builtin_expect( !ums_recording, 1 )) return NULL;
    self = ke_current();
    return self && self->kind == CONTEXT_SCHEDULER ? self->scheduler : NULL;
}

/* While it is linked nobody else can take it. */
static void note_dequeue( struct ums_scheduler *s, struct ums_context *context )
{
    if (s) ums_note_by( s, context, EVENT_DEQUEUE, 0 );
    else ums_note( ums_mark( context ), NULL, EVENT_DEQUEUE, 0 );
}

/* Take all. The whole chain becomes executable before any of it is handed out. A client that polls
   its workers with Execute may run one of them from that moment on, and it may be linked again
   somewhere: so the next link is read first. */
struct ums_context *ums_list_take( struct ums_list *list )
{
    struct ums_context *first, *context, *next;
    struct ums_scheduler *s;

    if (!atomic_load( &list->head )) return NULL;
    first = atomic_exchange( &list->head, NULL );
    s = recorded_scheduler();
    for (context = first; context; context = next)
    {
        uint64_t word = atomic_load_explicit( &context->word, memory_order_relaxed );

        next = atomic_load( &context->link );
        if (word_state( word ) == WORKER_QUEUED) note_dequeue( s, context );

        /* a dead one stays dead; the loop is for the suspended bit, which others may change */
        while (word_state( word ) == WORKER_QUEUED &&
               !atomic_compare_exchange_weak( &context->word, &word,
                                              (word & ~WORD_STATE) | WORKER_READY )) ;
    }
    return first;
}

ums_status ums_list_wait( struct ums_list *list, const int64_t *timeout,
                          struct ums_context **first )
{
    struct ums_scheduler *s = recorded_scheduler();
    int64_t end;

    if ((*first = ums_list_take( list ))) return STATUS_SUCCESS;
    if (timeout && !*timeout) return STATUS_TIMEOUT;
    end = timeout ? ke_clock() + *timeout : 0;

    if (s) ums_note_idle( s, WHY_DEQUEUE );
    ums_list_ref( list );
    atomic_fetch_add( &list->waiters, 1 );
    for (;;)
    {
        uint32_t seq = atomic_load( &list->seq );
        int64_t left = 0;

        if ((*first = ums_list_take( list ))) break;
        if (timeout && (left = end - ke_clock()) <= 0) break;
        ke_wait( &list->seq, seq, timeout ? &left : NULL );
    }
    atomic_fetch_sub( &list->waiters, 1 );
    if (s) ums_note_busy( s );
    if (!*first) *first = ums_list_take( list );
    ums_list_unref( list );
    return *first ? STATUS_SUCCESS : STATUS_TIMEOUT;
}

/* The link is consumed: a second call for the same context gives NULL. */
struct ums_context *ums_list_next( struct ums_context *context )
{
    return atomic_exchange( &context->link, NULL );
}
