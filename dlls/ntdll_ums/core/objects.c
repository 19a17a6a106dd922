/*
 * Events and semaphores of this process alone: state, signals, and the step to the host. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One lock for all objects. A wait for several of them is then one step, and so is the move of an
 * object to the host; an operation takes it for some tens of nanoseconds. It is held through the
 * wake-up of a waiter: who has the lock is never stopped for long, so no waiter is left between
 * "taken out of the queue" and "woken".
 *
 * A signal is handed to a waiter in the same step in which it is made. So two sets of an auto-reset
 * event release two waiters, however late those run, as at the host.
 *
 * Becoming real. Under the lock the state goes to the host, then everybody finds the object real. Its
 * waits cannot be put into the host's queue by others: they end with WAIT_MOVES, and whoever waits
 * makes the same wait at the host when it runs. Until it begins that, a set or a pulse that passes
 * here ends the wait directly (ums_object_claim): otherwise two sets would be one signal at the host,
 * where nobody waits yet. From its beginning to its end the wait is counted as arriving: who sets or
 * resets an event that is still signalled waits for those (hook_objects_real.c).
 */

#include "objects.h"
#include "wait.h"

#define MAX_OBJECTS 0x40000

int ums_objects_on;
_Atomic uint32_t ums_objects_made;

static struct ums_pool objects;
static _Atomic uint32_t lock;                   /* 0, or the holder's id << 2 | 2; 1: somebody sleeps */
static int alone;
static const struct object_host *host;

#define LOCK_WANTED 1u

int ums_objects_init( const struct object_host *with )
{
    host = with;
    return ums_pool_init( &objects, sizeof(struct ums_object), MAX_OBJECTS ) && ums_object_waits_init();
}

/* ---- the lock ---- */

/* Somebody who comes behind a sleeper cannot know whether another one sleeps: it says so too. */
static void lock_slowly( uint32_t own )
{
    uint32_t word = atomic_load( &lock );

    for (;;)
    {
        if (!word)
        {
            if (atomic_compare_exchange_weak( &lock, &word, own | LOCK_WANTED )) return;
        }
        else if ((word & LOCK_WANTED) ||
                 atomic_compare_exchange_weak( &lock, &word, word | LOCK_WANTED ))
        {
            ke_wait( &lock, word | LOCK_WANTED, NULL );
            word = atomic_load( &lock );
        }
    }
}

void ums_objects_lock( void )
{
    uint32_t own = ke_thread_id() << 2 | 2, word = 0;

    if (!atomic_compare_exchange_strong( &lock, &word, own )) lock_slowly( own );
}

void ums_objects_unlock( void )
{
    if (atomic_exchange( &lock, 0 ) & LOCK_WANTED) ke_wake( &lock, 0 );
}

uint32_t ums_objects_holder( void )
{
    return atomic_load( &lock ) >> 2;
}

void ums_objects_alone( void )
{
    alone = 1;
}

/* ---- objects ---- */

struct ums_object *ums_object_at( uint32_t index )
{
    return ums_pool_any( &objects, index );
}

uint32_t ums_object_index( const struct ums_object *o )
{
    return ums_pool_index( &objects, o );
}

struct ums_object *ums_object_create( enum object_type type, int32_t state, int32_t limit )
{
    struct ums_object *o = ums_pool_alloc( &objects );

    if (!o) return NULL;
    o->handle   = o->keep = NULL;
    o->type     = type;
    o->state    = state;
    o->limit    = limit;
    o->closed   = 0;
    o->arriving = o->overdue = 0;
    o->waits    = o->moving = (struct object_queue){ NULL, NULL };
    atomic_store( &o->real, 0 );
    atomic_store( &o->stragglers, 0 );
    return o;
}

/* The program's handle may be closed while waits are on their way to the host. */
static void keep_for_waits( struct ums_object *o )
{
    if (!o->keep && o->handle) o->keep = host->copy( o->handle );
}

/* With the last wait of a closed one it goes. Those who wait keep it, as at the host. */
static void look_after( struct ums_object *o )
{
    int used = o->arriving || o->moving.first;

    if (o->overdue > o->arriving) o->overdue = o->arriving;
    atomic_store( &o->stragglers, used && atomic_load( &o->real ) );
    if (used || o->waits.first) return;
    if (o->keep) host->drop( o->keep );
    o->keep = NULL;
    if (o->closed) ums_pool_free( &objects, o );
}

void ums_object_closes( struct ums_object *o )
{
    if (o->waits.first || o->moving.first) keep_for_waits( o );
}

void ums_object_close( struct ums_object *o )
{
    o->closed = 1;
    o->handle = NULL;
    look_after( o );
}

void *ums_object_at_host( const struct ums_object *o )
{
    return o->keep ? o->keep : o->handle;
}

/* ---- queues ---- */

static struct object_queue *queue_of( const struct object_link *link )
{
    return atomic_load( &link->wait->state ) == WAIT_MOVES ? &link->object->moving
                                                           : &link->object->waits;
}

static void append( struct object_queue *queue, struct object_link *link )
{
    link->next = NULL;
    link->previous = queue->last;
    if (queue->last) queue->last->next = link;
    else queue->first = link;
    queue->last = link;
}

static void take_out( struct object_queue *queue, struct object_link *link )
{
    if (link->previous) link->previous->next = link->next;
    else queue->first = link->next;
    if (link->next) link->next->previous = link->previous;
    else queue->last = link->previous;
}

/* Out of all queues. An object may go with it. */
static void unlink_wait( struct object_wait *wait )
{
    uint32_t i;

    for (i = 0; i < wait->count; i++) take_out( queue_of( &wait->links[i] ), &wait->links[i] );
}

static void look_after_all( struct object_wait *wait )
{
    uint32_t i;

    for (i = 0; i < wait->count; i++) look_after( wait->links[i].object );
}

/* The state is the last that is read of it: whoever waits may give it away. Its worker sees what is
   stored here by the word that ums_wait_over changes. */
static void set_state( struct object_wait *wait, enum wait_state state, ums_status status )
{
    struct ums_context *worker = wait->worker;

    wait->status = status;
    atomic_store( &wait->state, state );
    if (worker) ums_wait_over( worker );
    else ke_wake( &wait->state, 1 );
}

void ums_object_end_wait( struct object_wait *wait, ums_status status )
{
    unlink_wait( wait );
    look_after_all( wait );
    set_state( wait, WAIT_OVER, status );
}

/* ---- signals ---- */

static int is_signalled( const struct ums_object *o )
{
    return o->state > 0;
}

static void take( struct ums_object *o )
{
    if (o->type == OBJECT_SYNCHRONIZATION) o->state = 0;
    else if (o->type == OBJECT_SEMAPHORE) o->state--;
}

/* Take what the wait is for: 0 if it has to wait. The first that is signalled, or all at once. */
static int satisfy( struct object_wait *wait, ums_status *status )
{
    uint32_t i;

    *status = STATUS_SUCCESS;                   /* STATUS_WAIT_0 */
    for (i = 0; i < wait->count; i++)
    {
        if (is_signalled( wait->links[i].object ) == !wait->all) break;
    }
    if (wait->all)
    {
        if (i < wait->count) return 0;
        for (i = 0; i < wait->count; i++) take( wait->links[i].object );
        return 1;
    }
    if (i == wait->count) return 0;
    take( wait->links[i].object );
    *status = (ums_status)i;
    return 1;
}

/* To those who wait, in their order, as long as there is something. One that waits for others too,
   which are not signalled, is passed over. */
static void hand_out( struct ums_object *o )
{
    struct object_link *link = o->waits.first, *next;
    ums_status status;

    if (alone) return;
    for (; link && is_signalled( o ); link = next)
    {
        struct object_wait *wait = link->wait;

        next = link->next;
        if (satisfy( wait, &status )) ums_object_end_wait( wait, status );
    }
}

int32_t ums_object_set( struct ums_object *o )
{
    int32_t before = o->state;

    o->state = 1;
    if (o->waits.first) hand_out( o );
    return before;
}

int32_t ums_object_reset( struct ums_object *o )
{
    int32_t before = o->state;

    o->state = 0;
    return before;
}

/* Those who wait now, or one of them, and nobody later. */
int32_t ums_object_pulse( struct ums_object *o )
{
    int32_t before = ums_object_set( o );

    o->state = 0;
    return before;
}

int ums_object_release( struct ums_object *o, uint32_t count, int32_t *before )
{
    if (count > (uint32_t)(o->limit - o->state)) return 0;
    *before = o->state;
    o->state += (int32_t)count;
    if (o->waits.first) hand_out( o );
    return 1;
}

/* ---- waits ---- */

int ums_object_wait( struct ums_object *const *wanted, uint32_t count, int all, int poll,
                     struct ums_context *worker, struct object_wait **ret, ums_status *status )
{
    struct object_link links[OBJECT_WAITS_MAX];
    struct object_wait now = { .all = (uint32_t)all, .count = count, .links = links }, *wait;
    uint32_t i;

    for (i = 0; i < count; i++) links[i].object = wanted[i];
    if (satisfy( &now, status )) return 1;
    *status = STATUS_TIMEOUT;
    if (poll) return 1;
    *status = STATUS_NO_MEMORY;
    if (!(wait = ums_object_wait_record( worker, count ))) return 1;
    wait->all = (uint32_t)all;
    for (i = 0; i < count; i++)
    {
        wait->links[i].wait = wait;
        wait->links[i].object = wanted[i];
        append( &wanted[i]->waits, &wait->links[i] );
    }
    *ret = wait;
    return 0;
}

/* ---- to the host ---- */

/* In all its objects' queues: those have to follow (ums_object_follows). */
static void move_wait( struct object_wait *wait )
{
    uint32_t i;

    unlink_wait( wait );
    for (i = 0; i < wait->count; i++) append( &wait->links[i].object->moving, &wait->links[i] );
    set_state( wait, WAIT_MOVES, STATUS_SUCCESS );
}

/* stragglers first: whoever finds it real, and does not come for the lock, finds the state there. */
int32_t ums_object_becomes_real( struct ums_object *o )
{
    atomic_store( &o->stragglers, 1 );
    atomic_store( &o->real, 1 );
    if (alone) return o->state;
    if (o->waits.first) keep_for_waits( o );
    while (o->waits.first) move_wait( o->waits.first->wait );
    return o->state;
}

void ums_object_is_real( struct ums_object *o )
{
    look_after( o );
}

struct ums_object *ums_object_follows( const struct ums_object *o )
{
    const struct object_link *link;
    uint32_t i;

    for (link = o->moving.first; link; link = link->next)
        for (i = 0; i < link->wait->count; i++)
            if (!atomic_load( &link->wait->links[i].object->real )) return link->wait->links[i].object;
    return NULL;
}

/* Not one that waits for all of several: the others are the host's. */
int ums_object_claim( struct ums_object *o, int all )
{
    struct object_link *link = o->moving.first, *next;
    int claimed = 0;

    if (alone) return 0;
    for (; link && (all || !claimed); link = next)
    {
        struct object_wait *wait = link->wait;

        next = link->next;
        if (wait->all && wait->count > 1) continue;
        ums_object_end_wait( wait, (ums_status)(link - wait->links) );
        claimed = 1;
    }
    return claimed;
}

/* The wait begins at the host: nobody ends it here any more. */
void ums_object_leaves( struct object_wait *wait )
{
    uint32_t i;

    unlink_wait( wait );
    for (i = 0; i < wait->count; i++) wait->links[i].object->arriving++;
    atomic_store( &wait->arrives, 1 );
    atomic_store( &wait->state, WAIT_OVER );
}

void ums_object_has_arrived( struct object_wait *wait )
{
    uint32_t i;

    if (!atomic_exchange( &wait->arrives, 0 )) return;
    for (i = 0; i < wait->count; i++) wait->links[i].object->arriving--;
    look_after_all( wait );
}
