/*
 * Completion lists: where new workers and workers whose kernel call is over wait for a scheduler.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A list implements the kernel's UMS queue. A push is one compare-and-swap. A take is one exchange
 * of the whole chain. Neither enters the kernel unless a thread sleeps on the list or the client
 * has asked for its event.
 *
 * Wake-ups. A push to an empty list is an edge. It wakes every waiter of this process, and sets the
 * NT event if a handle to it was ever given out. No wake-up is lost:
 *  - A waiter reads seq, then stores a ticket in waiting, then reads head, then sleeps on seq. The
 *    pusher changes head, then reads waiting; if it finds a ticket it increments seq and wakes all. All
 *    of this is sequentially consistent. So if the pusher reads waiting before the waiter stores there,
 *    the waiter finds the context. If after, seq is incremented after the waiter has read it, and its
 *    sleep ends at once.
 *  - A pusher that has woken all removes the ticket that it has read. Tickets differ, so it does not
 *    remove one that was stored meanwhile. One that was removed had been stored before seq was
 *    incremented, by a waiter that had read seq before.
 *  - A waiter that was terminated leaves at most its ticket, which the next edge removes.
 *  - A push wakes all waiters, so a waiter that is about to time out does not swallow the edge. A
 *    waiter that times out looks at the list once more.
 *  - GetUmsCompletionListEvent sets asked, then reads head, and sets the event if the list is not
 *    empty. A pusher that did not see asked had changed head before.
 * A stale signal is possible (an edge whose contexts were taken by a poll). It is allowed.
 *
 * Dead workers. Nobody can execute, delete or bind a live worker that is linked, so it stays
 * linked. A terminated worker can be deleted, or get another thread, before it is dequeued. So the
 * list has a reference to it (ums_list_will_push), which the walk over its chain drops. Until then
 * the slot is not reused, and its link is valid. The walk leaves a deleted worker out of the chain
 * that the client gets. A worker that gets another thread is first taken off its list
 * (ums_list_forget): "on" names the list, from before the worker can be seen dead until the walk
 * has passed it. The field has no meaning for a live worker.
 *
 * The chain that a client walks. A dequeued worker is READY, and its link leads to the rest of the
 * chain until the client asks for the next item. If a kill pushed the worker meanwhile, the push
 * would overwrite that link, and the client would lose the rest of the chain. So the take marks the
 * worker LINKED, in the exchange that makes it READY, and a kill does not push a LINKED worker: it
 * becomes DEAD | LINKED, and is on no list. Whoever clears LINKED of a dead worker, with one
 * exchange of the word, pushes it (ums_list_walked). That is the client's walk, which has read the
 * link before; the client that tries to execute it; or, without the push, the client that deletes
 * it or binds it again. The last one of a chain has no mark, because its client need not ask for
 * another: a kill pushes it at once, and the walk does not read its link (is_last).
 *
 * Execute clears the mark of a live worker in its own exchange. A client that
 * executes a worker before it asks for the next item loses the rest of the chain on Windows, too.
 */

#include "record/record.h"
#include "section.h"

static struct ums_pool list_pool;

static struct ums_context *take( struct ums_list *list, uint64_t linked );

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
    atomic_fetch_add( &l->life, 1 );
    ums_pool_open( l );
    *list = l;
    return STATUS_SUCCESS;
}

/* The list lives on without a handle while a scheduler or a worker refers to it: a worker may still
   be signalling the push after which the client deleted the list. Contexts that are on the list, or
   are pushed later, are taken off at once. The client can no longer dequeue them, but can execute
   those that it knows. A pusher that does not see deleted has pushed before, so the take here finds
   its context. */
ums_status ums_list_delete( void *handle )
{
    struct ums_list *list = ums_list_check( handle );

    if (!list || !ums_pool_close( list )) return STATUS_INVALID_PARAMETER;
    atomic_store( &list->deleted, 1 );
    take( list, 0 );
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

static int ref_live( struct ums_list *list )
{
    uint32_t refs = atomic_load( &list->refs );

    do if (!refs) return 0;
    while (!atomic_compare_exchange_weak( &list->refs, &refs, refs + 1 ));
    return 1;
}

/* The worker keeps a reference to its list as long as its word does not change. So if the caller's
   exchange finds the same word, this list was the worker's, and alive, when it was referenced here.
   If the word has changed, the slot may be another list by now; a reference to it is harmless. */
struct ums_list *ums_list_of( struct ums_context *context )
{
    struct ums_list *list = atomic_load_explicit( &context->list, memory_order_relaxed );

    return list && ref_live( list ) ? list : NULL;
}

/* The ticket goes last: if the thread stops right before, the next push wakes everybody once more. If a
   waiter has taken a ticket since the first line, its ticket stays. */
static void wake_waiters( struct ums_list *list )
{
    uint32_t ticket = atomic_load( &list->waiting );

    if (!ticket) return;
    atomic_fetch_add( &list->seq, 1 );
    ke_wake( &list->seq, 1 );
    atomic_compare_exchange_strong( &list->waiting, &ticket, 0 );
}

/* The caller holds a reference to the list, and does not touch the context afterwards: whoever
   takes the context may run it at once, or free it if it is dead. */
void ums_list_push( struct ums_list *list, struct ums_context *context )
{
    struct ums_context *head = atomic_load_explicit( &list->head, memory_order_relaxed );

    do atomic_store_explicit( &context->link, head, memory_order_relaxed );
    while (!atomic_compare_exchange_weak( &list->head, &head, context ));

    if (atomic_load( &list->deleted )) take( list, 0 );
    if (head) return;                           /* the push to the empty list has signalled */
    wake_waiters( list );
    if (atomic_load( &list->asked )) ke_event_set( list->event );
}

/* The worker is about to be marked dead, and will be pushed then. From now on the list has a
   reference to it. */
void ums_list_will_push( struct ums_list *list, struct ums_context *context )
{
    atomic_fetch_add( &context->refs, 1 );
    atomic_store( &context->on, list );
}

static int is_in( const struct ums_context *chain, const struct ums_context *context )
{
    while (chain && chain != context) chain = atomic_load( &chain->link );
    return chain != NULL;
}

/* Remove a dead worker from this list: take the whole chain, and push it back without that worker,
   in the same order. A thread that looks meanwhile finds the list empty, and the push back wakes
   it. 0: the worker is not on the list; another thread is about to push it, or walks over its
   chain. */
static int remove_from( struct ums_list *list, struct ums_context *context )
{
    struct ums_context *chain = atomic_exchange( &list->head, NULL ), *back = NULL, *next;
    int found = is_in( chain, context );

    for (; chain; chain = next)                 /* reverse it: the last push comes first */
    {
        next = atomic_load( &chain->link );
        if (chain == context) continue;
        atomic_store( &chain->link, back );
        back = chain;
    }
    for (; back; back = next)
    {
        next = atomic_load( &back->link );
        ums_list_push( list, back );
    }
    return found;
}

/* Others wait for what is to be pushed; and a thread that is stopped between its push and the signal lets nobody else
   signal either, because the list is not empty any more. */
static void begin_pushing( struct ums_section *section )
{
    ums_section_begin( section );
    if (!section->worker) ums_hold_self( NULL, 1 );
}

static void end_pushing( struct ums_section *section )
{
    if (!section->worker) ums_hold_self( NULL, -1 );
    ums_section_end( section );
}

/* This dead worker is to get another thread, so nobody must dequeue it any more. 0: another thread
   is pushing it or walking over it; the caller may try again. "on" may name a list that was deleted
   long ago. Its slot then is another list's or free; taking that chain and pushing it back does no
   harm. */
int ums_list_forget( struct ums_context *context )
{
    struct ums_list *list = atomic_load( &context->on );
    struct ums_section section;
    int found = 0;

    if (!list) return 1;
    if (!ref_live( list )) return 0;
    begin_pushing( &section );
    if (atomic_load( &context->on ) == list) found = remove_from( list, context );
    end_pushing( &section );
    ums_list_unref( list );
    if (!found) return 0;
    atomic_store( &context->on, NULL );
    ums_context_unref( context );
    return 1;
}

/* The scheduler that is the calling thread, while recording is on; or NULL. */
static struct ums_scheduler *recorded_scheduler( void )
{
    struct ums_context *self;

    if (__builtin_expect( !ums_recording, 1 )) return NULL;
    self = ke_current();
    return self && self->kind == CONTEXT_SCHEDULER ? self->scheduler : NULL;
}

/* The caller owns the chain, and nothing in it can be executed yet. So links may be changed. */
static struct ums_context *leave_out_deleted( struct ums_context *first )
{
    struct ums_context *context = first, *before = NULL, *next;

    for (; context; context = next)
    {
        next = atomic_load( &context->link );
        if (word_state( atomic_load( &context->word ) ) != WORKER_DEAD || ums_pool_is_live( context ))
        {
            before = context;
            continue;
        }
        if (before) atomic_store( &before->link, next );
        else first = next;
        atomic_store( &context->on, NULL );
        ums_context_unref( context );
    }
    return first;
}

/* The context is linked, so no other thread can take it. */
static void note_dequeue( struct ums_scheduler *s, struct ums_context *context )
{
    if (s) ums_note_by( s, context, EVENT_DEQUEUE, 0 );
    else ums_note( ums_mark( context ), NULL, EVENT_DEQUEUE, 0 );
}

/* Take the whole list. The whole chain becomes executable before the caller gets any of it. From
   that moment a client that polls its workers with Execute may run one of them, and it may be
   linked again. So its link is read first. linked: WORD_LINKED if a client will walk the chain. */
static struct ums_context *take( struct ums_list *list, uint64_t linked )
{
    struct ums_context *first, *context, *next;
    struct ums_scheduler *s;

    if (!atomic_load( &list->head )) return NULL;
    first = leave_out_deleted( atomic_exchange( &list->head, NULL ) );
    s = recorded_scheduler();
    for (context = first; context; context = next)
    {
        uint64_t word = atomic_load_explicit( &context->word, memory_order_acquire );
        int dead;

        next = atomic_load( &context->link );
        if (word_state( word ) == WORKER_QUEUED) note_dequeue( s, context );

        /* a dead worker stays dead; others may change the suspension bits */
        while (!(dead = word_state( word ) == WORKER_DEAD) &&
               word_state( word ) == WORKER_QUEUED &&
               !atomic_compare_exchange_weak( &context->word, &word,
                                              (word & ~WORD_STATE) | WORKER_READY |
                                              (next ? linked : 0) )) ;
        if (!dead) continue;
        atomic_store( &context->on, NULL );
        ums_context_unref( context );
    }
    return first;
}

struct ums_context *ums_list_take( struct ums_list *list )
{
    return take( list, WORD_LINKED );
}

/* Nothing comes any more if the list was deleted while the caller waited; its slot may be another list. If it
   goes between the two lines, the caller gets what is on the next one. On Windows a client must not do that
   [guess]. */
static struct ums_context *take_in_life( struct ums_list *list, uint32_t life )
{
    return atomic_load( &list->life ) == life ? ums_list_take( list ) : NULL;
}

/* A thread may be terminated while it sleeps here, and nobody tidies up after it. So it has no reference
   to the list. */
ums_status ums_list_wait( struct ums_list *list, const int64_t *timeout,
                          struct ums_context **first )
{
    struct ums_scheduler *s = recorded_scheduler();
    uint32_t life = atomic_load( &list->life );
    int64_t end;

    if ((*first = ums_list_take( list ))) return STATUS_SUCCESS;
    if (timeout && !*timeout) return STATUS_TIMEOUT;
    end = !timeout ? 0 : *timeout > INT64_MAX - ke_clock() ? INT64_MAX : ke_clock() + *timeout;

    if (s) ums_note_idle( s, WHY_DEQUEUE );
    for (;;)
    {
        uint32_t seq = atomic_load( &list->seq );
        int64_t left = 0;

        atomic_store( &list->waiting, atomic_fetch_add( &list->tickets, 2 ) | 1 );      /* not 0 */
        if ((*first = take_in_life( list, life ))) break;
        if (timeout && (left = end - ke_clock()) <= 0) break;
        ke_wait( &list->seq, seq, timeout ? &left : NULL );
    }
    if (s) ums_note_busy( s );
    if (!*first) *first = take_in_life( list, life );
    return *first ? STATUS_SUCCESS : STATUS_TIMEOUT;
}

/* A READY worker without the mark is the last of its chain. If it is killed, its link belongs to a
   list, which must stay whole. So this does not even read the link, nor that of a QUEUED or dead worker
   on a list.
   A dead worker that was dequeued once more is in two chains: it is the last of the first one, and its
   link leads to the rest of the second. A client that walks the first chain looks the same as one that
   walks the second, and may get that rest. No worker is lost: nobody writes the link any more, and one
   exchange consumes it, so one of the two clients gets the whole rest, the other one NULL. Both have
   dequeued from this list, so either might have been given those workers. */
static int is_last( struct ums_context *context )
{
    uint64_t word = atomic_load( &context->word );

    if (word & WORD_LINKED) return 0;
    if (word_state( word ) == WORKER_DEAD) return atomic_load( &context->on ) != NULL;
    return word_state( word ) == WORKER_READY || word_state( word ) == WORKER_QUEUED;
}

/* The link is consumed: a second call for the same context gives NULL. */
struct ums_context *ums_list_next( struct ums_context *context )
{
    struct ums_context *next;

    if (is_last( context )) return NULL;
    next = atomic_exchange( &context->link, NULL );
    ums_list_walked( context, 1 );
    return next;
}

/* The references that the list and a dead worker had are ours now. The worker was marked terminated
   before it was dead. */
void ums_list_walked( struct ums_context *context, int deliver )
{
    uint64_t word = atomic_load_explicit( &context->word, memory_order_relaxed );
    struct ums_section section;
    struct ums_list *list;

    do if (!(word & WORD_LINKED)) return;
    while (!atomic_compare_exchange_weak( &context->word, &word, word & ~WORD_LINKED ));
    if (word_state( word ) != WORKER_DEAD) return;

    list = context->list;
    if (deliver)
    {
        begin_pushing( &section );
        ums_list_push( list, context );
        end_pushing( &section );
    }
    else
    {
        atomic_store( &context->on, NULL );
        ums_context_unref( context );
    }
    ums_list_unref( list );
}
