/*
 * Local objects, which are events, semaphores and mutants of this process alone: their state, their
 * signals, and how they become real. Host-free. For the owners of mutants see mutants.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One lock protects all objects. So a wait for several objects is one step, and so is the change of
 * an object from local to real. An operation holds the lock for some tens of nanoseconds, and also
 * while it wakes a waiter. The holder of the lock is never stopped for long, so no waiter stays
 * between "taken out of the queue" and "woken".
 *
 * A signal is given to a waiter in the same step in which it is made. So two sets of an auto-reset
 * event release two waiters, however late those run. The host does the same.
 *
 * Becoming real. The state goes to the host under the lock; after that every thread finds that the
 * object is real. No thread can put another thread's wait into the host's queue. So the object's
 * waits get the state WAIT_MOVES, and each waiting thread makes the same wait at the host when it
 * runs. Before it begins that wait, a set or a pulse that comes through our calls ends the wait
 * directly (ums_object_claim). Without this, two sets would become one signal at the host, because
 * nobody waits there yet. From the beginning of the host's wait to its end, the wait is counted as
 * arriving. A thread that sets or resets an event which is still signalled waits for the arriving
 * ones (hook_objects_real.c).
 */

#include "objects.h"
#include "wait.h"

#define MAX_OBJECTS 0x40000

int ums_objects_on;
_Atomic uint32_t ums_objects_made;

static struct ums_pool objects;
static _Atomic uint32_t lock;                   /* 0, or the holder's id << 2 | 2; bit 0: a thread sleeps */
static int alone;
const struct object_host *ums_objects_host;

#define LOCK_WANTED 1u
#define LOOK        1000000                     /* 100 ns: 100 ms, until a waiter looks after the holder */

int ums_objects_init( const struct object_host *with )
{
    ums_objects_host = with;
    return ums_pool_init( &objects, sizeof(struct ums_object), MAX_OBJECTS ) && ums_object_waits_init();
}

/* ---- the lock ---- */

/* This process lets a thread leave the lock before it ends it. Another process does not: then nobody
   would release the lock, and all who use objects would wait for ever. What takes long under the lock,
   so that a kill will meet it, are requests to the host; the new holder finishes those (recover). A kill
   in the tens of nanoseconds in which a queue is changed may leave that queue broken: that is not found.

   The word cannot change while its holder is gone, unless another waiter takes the lock over, or a new
   thread with the same id does: then this exchange fails, but for a thread that was given the id and came
   here between the look and the exchange. A thread that was ended runs no more instruction by now: its
   end was told to it 100 ms ago.

   A look is several requests to the host. If each of hundreds of waiters made them every 100 ms, those of the holder would
   be queued behind them, and the lock be held for seconds. So one of all waiters looks in that time. If it is ended
   then, another one looks after that. */
static int take_over( uint32_t own, uint32_t seen )
{
    static _Atomic int64_t looked;
    const int64_t now = ke_clock();
    int64_t last = atomic_load( &looked );

    if (now - last < LOOK || !atomic_compare_exchange_strong( &looked, &last, now )) return 0;
    if (!ums_objects_host->is_gone( seen >> 2 ) ||
        !atomic_compare_exchange_strong( &lock, &seen, own | LOCK_WANTED )) return 0;
    ums_objects_host->recover();
    return 1;
}

/* A thread that takes the lock after it has slept cannot know whether another one still sleeps, so
   it keeps LOCK_WANTED set. The cost is at most one wake-up for nothing. */
static void lock_slowly( uint32_t own )
{
    uint32_t word = atomic_load( &lock );
    const int64_t look = LOOK;

    for (;;)
    {
        uint32_t seen = word | LOCK_WANTED;

        if (!word)
        {
            if (atomic_compare_exchange_weak( &lock, &word, own | LOCK_WANTED )) return;
        }
        else if ((word & LOCK_WANTED) || atomic_compare_exchange_weak( &lock, &word, seen ))
        {
            ke_wait( &lock, seen, &look );
            word = atomic_load( &lock );
            if (word == seen && take_over( own, seen )) return;
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
    ums_mutants_abandon_others( ke_thread_id() );
}

int ums_objects_are_alone( void )
{
    return alone;
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
    o->closed   = o->held = 0;
    o->owner    = (struct object_thread){ 0, NULL };
    o->abandoned = o->transfer = o->stale = 0;
    o->arriving = o->came = o->overdue = 0;
    o->waits    = o->moving = (struct object_queue){ NULL, NULL };
    atomic_store( &o->real, 0 );
    atomic_store( &o->stragglers, 0 );
    return o;
}

/* The program may close its handle while waits still move to the host: they need ours. */
static void keep_for_waits( struct ums_object *o )
{
    if (!o->keep && o->handle) o->keep = ums_objects_host->copy( o->handle );
}

/* Called when a wait has left the object, or a thread that held it. An object whose handle is closed is
   freed with the last of these: they keep an object alive, as they do at the host. */
static void look_after( struct ums_object *o )
{
    int used = o->arriving || o->moving.first || o->transfer;
    void *keep = o->keep;

    atomic_store( &o->stragglers, used && atomic_load( &o->real ) );
    if (used || o->held || o->waits.first) return;
    o->keep = NULL;                             /* first: a thread that is ended here closes it once */
    if (keep) ums_objects_host->drop( keep );
    if (!o->closed) return;
    if (o->owner.tid) ums_mutant_disown( o );
    ums_pool_free( &objects, o );
}

void ums_object_closes( struct ums_object *o )
{
    if (o->held || o->waits.first || o->moving.first) keep_for_waits( o );
}

void ums_object_close( struct ums_object *o )
{
    o->closed = 1;
    o->handle = NULL;
    look_after( o );
}

void ums_object_hold( struct ums_object *o )
{
    o->held++;
}

void ums_object_let_go( struct ums_object *o )
{
    o->held--;
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

/* Takes the wait out of all its queues. The caller then calls look_after_all, which may free
   objects. */
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

/* The state is stored last: after that a plain thread may give the record back, so nothing of it
   may be read. The worker of a record sees `status` because ums_wait_over changes the worker's
   state word afterwards. */
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

static int is_signalled( const struct ums_object *o, const struct object_thread *waiter )
{
    return o->type == OBJECT_MUTANT ? ums_mutant_is_free( o, waiter ) : o->state > 0;
}

/* Returns what is to be added to the status of the wait. */
static ums_status take( struct ums_object *o, const struct object_thread *waiter )
{
    if (o->type == OBJECT_SYNCHRONIZATION) o->state = 0;
    else if (o->type == OBJECT_SEMAPHORE) o->state--;
    else if (o->type == OBJECT_MUTANT && ums_mutant_take( o, waiter )) return STATUS_ABANDONED_WAIT_0;
    return 0;
}

/* The objects of a wait: pointers one after another, or in its links. No copy of them is made, because it would be on
   a stack that may have little left. */
struct wanted
{
    struct ums_object *const *first;
    size_t   stride;                            /* in bytes */
    uint32_t count;
    int      all;
};

static struct ums_object *wanted_at( const struct wanted *wanted, uint32_t i )
{
    return *(struct ums_object *const *)((const char *)wanted->first + i * wanted->stride);
}

/* Takes what is wanted: the first object that is signalled, or all of them at once. Returns 0 if the waiter has to
   wait. */
static int satisfy( const struct wanted *wanted, const struct object_thread *waiter, ums_status *status )
{
    uint32_t i;

    *status = STATUS_SUCCESS;                   /* STATUS_WAIT_0 */
    for (i = 0; i < wanted->count; i++)
    {
        if (is_signalled( wanted_at( wanted, i ), waiter ) == !wanted->all) break;
    }
    if (wanted->all)
    {
        if (i < wanted->count) return 0;
        for (i = 0; i < wanted->count; i++) *status |= take( wanted_at( wanted, i ), waiter );
        return 1;
    }
    if (i == wanted->count) return 0;
    *status = (ums_status)i | take( wanted_at( wanted, i ), waiter );
    return 1;
}

static int satisfy_wait( struct object_wait *wait, ums_status *status )
{
    const struct wanted wanted = { &wait->links[0].object, sizeof(*wait->links), wait->count, (int)wait->all };

    return satisfy( &wanted, &wait->waiter, status );
}

/* Satisfies waits in the order of the queue while the object is signalled. A wait for all of
   several objects is passed over if another one of them is not signalled; and one whose thread is suspended, which
   looks again when it is resumed. */
void ums_object_hand_out( struct ums_object *o )
{
    struct object_link *link = o->waits.first, *next;
    ums_status status;

    if (alone) return;
    for (; link && o->state > 0; link = next)
    {
        struct object_wait *wait = link->wait;

        next = link->next;
        if (!ums_object_waiter_stands( wait ) && satisfy_wait( wait, &status )) ums_object_end_wait( wait, status );
    }
}

int32_t ums_object_set( struct ums_object *o )
{
    int32_t before = o->state;

    o->state = 1;
    if (o->waits.first) ums_object_hand_out( o );
    return before;
}

int32_t ums_object_reset( struct ums_object *o )
{
    int32_t before = o->state;

    o->state = 0;
    return before;
}

/* Releases the present waiters (or one, for auto reset), and no later one. */
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
    if (o->waits.first) ums_object_hand_out( o );
    return 1;
}

/* ---- waits ---- */

int ums_object_wait( struct ums_object *const *objects, uint32_t count, int all, int poll,
                     const struct object_thread *self, struct ums_context *worker,
                     struct object_wait **ret, ums_status *status )
{
    const struct wanted wanted = { objects, sizeof(*objects), count, all };
    struct object_wait *wait;
    uint32_t i;

    if (satisfy( &wanted, self, status )) return 1;
    *status = STATUS_TIMEOUT;
    if (poll) return 1;
    *status = STATUS_NO_MEMORY;
    if (!(wait = ums_object_wait_record( worker, count ))) return 1;
    wait->all = (uint32_t)all;
    wait->waiter = *self;
    for (i = 0; i < count; i++)
    {
        wait->links[i].wait = wait;
        wait->links[i].object = objects[i];
        append( &objects[i]->waits, &wait->links[i] );
    }
    *ret = wait;
    return 0;
}

/* ---- to the host ---- */

/* Moves the wait in the queues of all its objects. The others have to become real too
   (ums_object_follows). */
static void move_wait( struct object_wait *wait )
{
    uint32_t i;

    unlink_wait( wait );
    for (i = 0; i < wait->count; i++) append( &wait->links[i].object->moving, &wait->links[i] );
    set_state( wait, WAIT_MOVES, STATUS_SUCCESS );
}

/* `stragglers` is stored before `real`. So a thread that sees `real` also sees `stragglers`, and
   takes the lock, until the host has the state. */
int32_t ums_object_becomes_real( struct ums_object *o )
{
    atomic_store( &o->stragglers, 1 );
    atomic_store( &o->real, 1 );
    if (alone) return o->state;
    if (o->waits.first || o->moving.first) keep_for_waits( o );     /* moving: with another object */
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

/* Also if its thread is suspended: what it does not get here goes to the host, where a reset may come before it does.
   A wait for all of several objects is not ended here, because the host has the state of the others
   (end_waits_for_all, hook_objects_real.c). */
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

/* The wait begins at the host. From now on nobody can end it here. */
void ums_object_leaves( struct object_wait *wait )
{
    uint32_t i;

    unlink_wait( wait );
    for (i = 0; i < wait->count; i++)
    {
        wait->links[i].object->arriving++;
        wait->links[i].object->came++;
    }
    atomic_store( &wait->arrives, 1 );
    atomic_store( &wait->state, WAIT_OVER );
}

/* Whoever came after those that are overdue may still be under way. If only they are left, they are waited for
   once more. */
int ums_object_lets_arrive( const struct ums_object *o )
{
    return o->arriving && o->came != o->overdue;
}

void ums_object_has_arrived( struct object_wait *wait )
{
    uint32_t i;

    if (!atomic_exchange( &wait->arrives, 0 )) return;
    for (i = 0; i < wait->count; i++) wait->links[i].object->arriving--;
    look_after_all( wait );
}
