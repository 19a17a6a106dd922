/*
 * Waits for local objects: by workers, without their home threads, and by plain threads. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wait is a record in the queues of its objects. The thread that takes the record out of the
 * queues, under the lock of objects.c, ends the wait. That can be a thread that signals, one that
 * makes an object real, the timer, the waiting thread when its time is over, or a thread that has
 * ended the waiting one. So a wait is ended once, and a signal goes to a wait that nobody else
 * ends.
 *
 * A worker's record belongs to its context until the context is freed. It must not be on the
 * worker's stack: a worker whose thread was ended has no stack any more, and one that was given
 * other registers (SetThreadContext) never comes back to the wait. A plain thread's record is from
 * the same pool. It is given back after the wait, or by the thread that has ended the waiting one.
 *
 * A worker enters the queues first and changes its state word afterwards. Its wait may end between
 * the two. So the ender sets `over` first and then looks at the state (ums_wait_over); left_waiting
 * and parked_wait change the state first and then look at `over`. One of the two sees the other, as
 * with an alert.
 */

#include "objects.h"
#include "wait.h"

#define MAX_WAITS  0x20000
#define MAX_BLOCKS 0x10000

static struct ums_pool waits, blocks;

int ums_object_waits_init( void )
{
    return ums_pool_init( &waits, sizeof(struct object_wait), MAX_WAITS ) &&
           ums_pool_init( &blocks, OBJECT_WAITS_MAX * sizeof(struct object_link), MAX_BLOCKS );
}

static struct object_wait *new_record( void )
{
    struct object_wait *wait = ums_pool_alloc( &waits );

    if (!wait) return NULL;
    wait->links = &wait->own;
    wait->count = 0;
    atomic_store( &wait->arrives, 0 );
    atomic_store( &wait->state, WAIT_OVER );
    return wait;
}

static void drop_links( struct object_wait *wait )
{
    if (wait->links != &wait->own) ums_pool_free( &blocks, wait->links );
    wait->links = &wait->own;
    wait->count = 0;
}

/* The waiting thread is gone, or was given other registers: nobody reads the status. */
static void gone( struct object_wait *wait )
{
    if (atomic_load( &wait->state ) != WAIT_OVER) ums_object_end_wait( wait, STATUS_TIMEOUT );
    ums_object_has_arrived( wait );
}

struct object_wait *ums_object_wait_record( struct ums_context *worker, uint32_t count )
{
    struct object_wait *wait = worker && worker->object_wait ? worker->object_wait : new_record();

    if (!wait) return NULL;
    gone( wait );                               /* SetThreadContext: it did not return from its last wait */
    drop_links( wait );
    if (worker) worker->object_wait = wait;
    if (count > 1)
    {
        struct object_link *links = ums_pool_alloc( &blocks );

        if (!links)
        {
            if (!worker) ums_pool_free( &waits, wait );
            return NULL;
        }
        wait->links = links;
    }
    wait->count   = count;
    wait->worker  = worker;
    wait->stands  = 0;
    atomic_store( &wait->context, worker ? NULL : ke_current() );
    atomic_store( &wait->tid, worker ? 0 : ke_thread_id() );
    atomic_store( &wait->arrives, 0 );
    atomic_store( &wait->state, WAIT_PENDING );
    if (worker) atomic_store( &worker->over, 0 );
    return wait;
}

static int is_pending( const struct object_wait *wait )
{
    return atomic_load( &wait->state ) == WAIT_PENDING;
}

/* ---- waiters that are suspended ---- */

/* The host takes a suspended thread out of the queue: what others wait for must not go to a thread that does not run. Here it
   keeps its place, and is passed over. A worker's word tells, also if it waits in its thread. A suspension by another
   process is not known. */
int ums_object_waiter_stands( const struct object_wait *wait )
{
    const struct ums_context *context = wait->worker ? wait->worker : atomic_load( &wait->context );

    if (!context || context->kind != CONTEXT_WORKER) return (int)wait->stands;
    return (atomic_load( &context->word ) & WORD_SUSPENDED) != 0;
}

/* With the lock, for a waiter that stands no more. A thread that has signalled before has passed over it, and left the signal in the
   object: so this looks. One that signals later sees that it does not stand. While it is pending its objects stay. Whether its
   time is over comes after that, as at the host. */
static void look_again( struct object_wait *wait )
{
    uint32_t i;

    for (i = 0; i < wait->count && is_pending( wait ); i++) ums_object_hand_out( wait->links[i].object );
}

static int is_of( const struct object_wait *wait, uint32_t tid, const struct ums_context *context )
{
    uint32_t now = atomic_load( &wait->tid );

    return now && (context ? atomic_load( &wait->context ) == context : now == tid);
}

/* The wait that this thread makes itself. It neither comes nor goes while the thread is suspended. */
static struct object_wait *wait_of( uint32_t tid, const struct ums_context *context )
{
    uint32_t i;

    for (i = 0; i < ums_pool_made( &waits ); i++)
    {
        struct object_wait *wait = ums_pool_any( &waits, i );

        if (is_of( wait, tid, context ) && atomic_load( &wait->state ) != WAIT_OVER) return wait;
    }
    return NULL;
}

void ums_objects_worker_resumed( struct ums_context *w )
{
    struct object_wait *wait;

    if (!atomic_load( &ums_objects_made )) return;
    if (!w->object_wait && !wait_of( 0, w )) return;
    ums_objects_lock();
    if (w->object_wait) look_again( w->object_wait );
    if (w->object_wait && is_pending( w->object_wait )) ums_timer_expect( ke_clock() );     /* ums_object_time_over has left it */
    if ((wait = wait_of( 0, w ))) look_again( wait );
    ums_objects_unlock();
}

void ums_objects_thread_suspended( uint32_t tid )
{
    struct object_wait *wait;

    if (!atomic_load( &ums_objects_made ) || !wait_of( tid, NULL )) return;
    ums_objects_lock();
    if ((wait = wait_of( tid, NULL ))) wait->stands++;
    ums_objects_unlock();
}

/* A record that the thread has got since does not stand. Another process may have resumed it, too. */
void ums_objects_thread_resumed( uint32_t tid, uint32_t before )
{
    struct object_wait *wait;

    if (!atomic_load( &ums_objects_made ) || !wait_of( tid, NULL )) return;
    ums_objects_lock();
    if ((wait = wait_of( tid, NULL )))
    {
        if (before <= 1) wait->stands = 0;
        else if (wait->stands) wait->stands--;
        if (!wait->stands) look_again( wait );
    }
    ums_objects_unlock();
}

/* ---- a thread ---- */

void ums_object_wait_in_thread( struct object_wait *wait, int64_t deadline )
{
    while (is_pending( wait ))
    {
        int64_t left = deadline ? deadline - ke_clock() : 0;

        if (deadline && left <= 0) return;
        ke_wait( &wait->state, WAIT_PENDING, deadline ? &left : NULL );
    }
}

/* ---- a worker ---- */

void ums_object_wait_as_worker( struct object_wait *wait, int64_t deadline )
{
    while (is_pending( wait )) ums_worker_wait( wait->worker, WAIT_FOR_OBJECT, deadline );
}

/* Only if it is still the wait that the timer saw (`word`): a later wait has another deadline. One that stands is left: whoever
   resumes it clears its count, then looks at its objects and pokes the timer, so if this still saw the count, a later look of the timer follows. If
   this comes between the two it hands out itself, and the look of the resumption finds nothing (tests/model/suspended.pml). */
void ums_object_time_over( struct ums_context *w, uint64_t word )
{
    struct object_wait *wait;

    ums_objects_lock();
    wait = w->object_wait;
    if (ums_wait_is( w, word ) && wait && is_pending( wait ) && !ums_object_waiter_stands( wait ))
    {
        look_again( wait );                     /* whoever resumed it may not have come to that */
        if (is_pending( wait )) ums_object_end_wait( wait, STATUS_TIMEOUT );
    }
    ums_objects_unlock();
}

/* ---- the end ---- */

/* A record that is in no queue and not counted as arriving is seen by one thread only: the one that
   waited, or the one that has ended it (ums_objects_thread_gone). A worker keeps its record. */
static void give_back( struct object_wait *wait )
{
    if (wait->worker) return;
    atomic_store( &wait->tid, 0 );              /* first: a thread that is ended here loses the record,
                                                   and no other thread frees it again */
    drop_links( wait );
    ums_pool_free( &waits, wait );
}

/* A wait that is still pending has timed out. */
int ums_object_wait_end( struct object_wait *wait, ums_status *status )
{
    int over;

    if (atomic_load( &wait->state ) == WAIT_OVER)
    {
        *status = wait->status;
        give_back( wait );
        return 1;
    }
    ums_objects_lock();
    if (is_pending( wait ))
    {
        wait->stands = 0;                       /* it runs; whoever resumed it may not have come to that */
        look_again( wait );
    }
    if (is_pending( wait )) ums_object_end_wait( wait, STATUS_TIMEOUT );
    over = atomic_load( &wait->state ) == WAIT_OVER;
    if (!over) ums_object_leaves( wait );
    ums_objects_unlock();
    return over ? ums_object_wait_end( wait, status ) : 0;
}

void ums_object_arrived( struct object_wait *wait )
{
    ums_objects_lock();
    ums_object_has_arrived( wait );
    ums_objects_unlock();
    give_back( wait );
}

void ums_objects_worker_gone( struct ums_context *w )
{
    const struct object_thread thread = { atomic_load( &w->tid ), w };

    if (!w->object_wait && !atomic_load( &w->mutants )) return;
    ums_objects_lock();
    if (w->object_wait) gone( w->object_wait );
    ums_mutants_abandon( &thread );
    ums_objects_unlock();
    ums_objects_host->ended( &thread );
}

int ums_object_thread_arrives( uint32_t tid )
{
    uint32_t i;

    if (!atomic_load( &ums_objects_made )) return 0;
    for (i = 0; i < ums_pool_made( &waits ); i++)
    {
        const struct object_wait *wait = ums_pool_any( &waits, i );

        if (atomic_load( &wait->tid ) == tid && atomic_load( &wait->arrives )) return 1;
    }
    return 0;
}

static void end_waits( uint32_t tid, struct ums_context *context )
{
    const struct object_thread thread = { tid, context };
    uint32_t i;

    ums_objects_lock();
    for (i = 0; i < ums_pool_made( &waits ); i++)
    {
        struct object_wait *wait = ums_pool_any( &waits, i );

        if (!is_of( wait, tid, context )) continue;
        gone( wait );
        give_back( wait );
    }
    ums_mutants_abandon( &thread );
    ums_objects_unlock();
    ums_objects_host->ended( &thread );
}

/* The caller holds a handle of the ended thread, so the id cannot be another thread's yet. */
void ums_objects_thread_gone( uint32_t tid )
{
    if (atomic_load( &ums_objects_made )) end_waits( tid, NULL );
}

/* The record is still there: only its thread gives it back. Look first, and take the lock only if
   there is one: a thread that another process has ended with the lock never releases it. */
void ums_objects_context_gone( struct ums_context *context )
{
    uint32_t i;
    int any = atomic_load( &context->mutants ) != 0;

    if (!atomic_load( &ums_objects_made )) return;
    for (i = 0; i < ums_pool_made( &waits ) && !any; i++) any = is_of( ums_pool_any( &waits, i ), 0, context );
    if (any) end_waits( 0, context );
}
