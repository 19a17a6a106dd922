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
 *
 * The dead. Live workers that are linked stay where they are: nobody can execute, delete or bind them.
 * A terminated one may be deleted, or get another thread, before it was dequeued. So it is linked
 * with a reference of its own (ums_list_will_push), which the walk over its chain drops: until then
 * the slot is nobody else's, and its link leads on. One that was deleted is left out of the chain that
 * is handed out. One that is to be used again is taken off first (ums_list_forget): "on" says where
 * it is, from before the moment at which it can be seen dead until the walk has passed it. Of a live
 * worker "on" means nothing.
 *
 * The chain that a client walks. A dequeued worker is READY, and its link leads to the rest of the
 * chain until the client has asked for the next item. If it were killed and pushed meanwhile, the push
 * would change that link, and the client would lose the rest. So the take marks it LINKED, in the
 * exchange that makes it READY, and whoever kills it leaves a LINKED one alone: it is DEAD | LINKED, on
 * no list. Whoever takes LINKED off a dead one, with one exchange of the word, pushes it
 * (ums_list_walked). That is the client's walk, which has read the link before; the client that tries
 * to execute it; or, without the push, the client that deletes it or uses it again. One that is
 * executed loses the mark with that exchange: whoever executes a worker before it has asked for the
 * next one loses the chain on Windows, too.
 */

#include "watch/record.h"

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

/* The worker has a reference to its list as long as its word stands. So if the word has not changed
   when the caller exchanges it, the list was the worker's, and alive, when we took ours. If it has, our
   reference may be to a list that is another's by now, which does no harm. */
struct ums_list *ums_list_of( struct ums_context *context )
{
    struct ums_list *list = atomic_load_explicit( &context->list, memory_order_relaxed );

    return list && ref_live( list ) ? list : NULL;
}

/* The caller holds a reference to the list, and does not touch the context afterwards: whoever
   takes it may run it, and if it is a dead one free it, at once. */
void ums_list_push( struct ums_list *list, struct ums_context *context )
{
    struct ums_context *head = atomic_load_explicit( &list->head, memory_order_relaxed );

    do atomic_store_explicit( &context->link, head, memory_order_relaxed );
    while (!atomic_compare_exchange_weak( &list->head, &head, context ));

    if (atomic_load( &list->deleted )) take( list, 0 );
    if (head) return;                           /* whoever made it non-empty gave the signal */
    atomic_fetch_add( &list->seq, 1 );
    if (atomic_load( &list->waiters )) ke_wake( &list->seq, 1 );
    if (atomic_load( &list->asked )) ke_event_set( list->event );
}

/* Before a worker can be seen dead that will be pushed then: the list holds a reference to it from now
   on. */
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

/* Take a dead one off this list: everything is taken, and put back without it, in the same order. Who
   looks meanwhile finds the list empty, and is woken when something is put back. 0: it is not there;
   somebody is about to push it, or walks over a chain that it is in. */
static int remove_from( struct ums_list *list, struct ums_context *context )
{
    struct ums_context *chain = atomic_exchange( &list->head, NULL ), *back = NULL, *next;
    int found = is_in( chain, context );

    for (; chain; chain = next)                 /* turn it round: what is pushed last comes first */
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

/* Nobody will dequeue this dead one, which is to be used again. 0: whoever has it on the way does not
   come to an end; the caller may try again. What is read of "on" may be a list of long ago: its slot
   is another list's then, or nobody's, and taking from it and putting back does no harm. */
int ums_list_forget( struct ums_context *context )
{
    struct ums_list *list = atomic_load( &context->on );
    int found = 0;

    if (!list) return 1;
    if (!ref_live( list )) return 0;
    if (atomic_load( &context->on ) == list) found = remove_from( list, context );
    ums_list_unref( list );
    if (!found) return 0;
    atomic_store( &context->on, NULL );
    ums_context_unref( context );
    return 1;
}

/* The calling thread's scheduler, if anything is recorded and the thread is one. */
static struct ums_scheduler *recorded_scheduler( void )
{
    struct ums_context *self;

    if (__builtin_expect( !ums_recording, 1 )) return NULL;
    self = ke_current();
    return self && self->kind == CONTEXT_SCHEDULER ? self->scheduler : NULL;
}

/* The chain is the caller's alone, and nothing in it can be executed yet: links may be changed. */
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

/* While it is linked nobody else can take it. */
static void note_dequeue( struct ums_scheduler *s, struct ums_context *context )
{
    if (s) ums_note_by( s, context, EVENT_DEQUEUE, 0 );
    else ums_note( ums_mark( context ), NULL, EVENT_DEQUEUE, 0 );
}

/* Take all. The whole chain becomes executable before any of it is handed out. A client that polls
   its workers with Execute may run one of them from that moment on, and it may be linked again
   somewhere: so the next link is read first. linked: WORD_LINKED if a client will walk the chain. */
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

        /* a dead one stays dead; the loop is for the suspended bit, which others may change */
        while (!(dead = word_state( word ) == WORKER_DEAD) &&
               word_state( word ) == WORKER_QUEUED &&
               !atomic_compare_exchange_weak( &context->word, &word,
                                              (word & ~WORD_STATE) | WORKER_READY | linked )) ;
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
    struct ums_context *next = atomic_exchange( &context->link, NULL );

    ums_list_walked( context, 1 );
    return next;
}

/* Of a dead one: the references that the list and the worker had are ours. It was marked terminated
   before it was dead. */
void ums_list_walked( struct ums_context *context, int deliver )
{
    uint64_t word = atomic_load_explicit( &context->word, memory_order_relaxed );
    struct ums_list *list;

    do if (!(word & WORD_LINKED)) return;
    while (!atomic_compare_exchange_weak( &context->word, &word, word & ~WORD_LINKED ));
    if (word_state( word ) != WORKER_DEAD) return;

    list = context->list;
    if (deliver) ums_list_push( list, context );
    else
    {
        atomic_store( &context->on, NULL );
        ums_context_unref( context );
    }
    ums_list_unref( list );
}
