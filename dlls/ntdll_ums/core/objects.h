/*
 * Events, semaphores and mutants of this process alone: their state is in words of ours. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * docs/local_objects.md says what is local. syscalls/objects/hook_objects.c has the calls.
 */
#ifndef UMS_OBJECTS_H
#define UMS_OBJECTS_H

#include "ums_core.h"

enum object_type
{
    OBJECT_NOTIFICATION,                        /* EVENT_TYPE [sdk]: manual reset */
    OBJECT_SYNCHRONIZATION,                     /* auto reset */
    OBJECT_SEMAPHORE,
    OBJECT_MUTANT
};

struct object_wait;

/* A thread that may own mutants; or one that has ended. That one is known by its context, which must still be its
   own: the id may already be another thread's. Without a context it is known by its id, which must still be its
   own then. */
struct object_thread
{
    uint32_t tid;                               /* 0: none, or not known */
    struct ums_context *context;                /* that it has now; NULL: none, or not known */
};

/* The place of a wait in the queue of one object. */
struct object_link
{
    struct object_link *next, *previous;
    struct object_wait *wait;
    struct ums_object  *object;
};

struct object_queue
{
    struct object_link *first, *last;
};

struct ums_object
{
    void    *handle;                            /* the program's; NULL when it is closed */
    void    *keep;                              /* a copy of ours, while waits need the host's object */
    uint32_t type;                              /* enum object_type */
    int32_t  state;                             /* event: 0, 1; semaphore: its count; mutant: 1 minus
                                                   how many times it is owned */
    int32_t  limit;
    uint32_t closed;                            /* its handle is closed; freed with the last wait */
    uint32_t held;                              /* threads that let waits arrive, without the lock */
    uint32_t arriving;                          /* waits that begin at the host, or are in its queue */
    struct object_thread owner;                 /* mutant */
    uint32_t abandoned;                         /* mutant: the next owner gets to know it */
    uint32_t transfer;                          /* a keeper gets the host's mutant (mutant_keeper.c) */
    uint32_t stale;                             /* the host's is abandoned, and this one is not */
    struct ums_object *owned_next, *owned_previous;
    uint32_t came;                              /* so many have begun to arrive, ever */
    uint32_t overdue;                           /* `came`, when they were waited for in vain: these are
                                                   not waited for again */
    struct object_queue waits;
    struct object_queue moving;                 /* waits that ended because it became real, and have
                                                   not begun at the host */
    _Atomic uint32_t real;                      /* the host has the state, for good */
    _Atomic uint32_t stragglers;                /* real, and moving or arriving is not empty; or it is
                                                   just becoming real */
};

enum wait_state
{
    WAIT_PENDING,                               /* in the queues of its objects */
    WAIT_MOVES,                                 /* the object is real: the wait has to be made at the
                                                   host; a signal may still end it before */
    WAIT_OVER                                   /* status is the result */
};

struct object_wait
{
    _Atomic uint32_t state;                     /* enum wait_state; a plain thread sleeps on it */
    ums_status status;
    struct object_thread waiter;
    struct ums_context *worker;                 /* the worker that waits without its thread, or NULL */
    _Atomic uint32_t tid;                       /* the plain thread that waits; 0: a worker's record,
                                                   or not in use */
    _Atomic(struct ums_context *) context;      /* of that thread, or NULL */
    uint32_t stands;                            /* how often this process has suspended that thread; protected by the lock */
    uint32_t all, count;
    _Atomic uint32_t arrives;                   /* it is counted in `arriving` of its objects */
    struct object_link *links;                  /* count of them: own, or a block of the pool */
    struct object_link own;
};

#define OBJECT_WAITS_MAX 64                     /* MAXIMUM_WAIT_OBJECTS [sdk] */

extern int ums_objects_on;                      /* written at start */
extern _Atomic uint32_t ums_objects_made;       /* 1 as soon as there has been an object */

/* What the host does for us. The first two are called with the lock held, and go past the hook. copy:
   another handle of the same object, or NULL. drop: closes it. ended: a thread has ended; called
   without the lock. moves: ums_owner_moves for each mutant that a keeper owns; called with the lock.
   is_gone: has the thread with this id ended? Called by a thread that waits for the lock. recover: the
   holder was ended, this thread has the lock now, and finishes what the host was being told. */
struct object_host
{
    void *(*copy)( void *handle );
    void (*drop)( void *copy );
    void (*ended)( const struct object_thread *thread );
    void (*moves)( const struct object_thread *before, struct ums_context *now );
    int  (*is_gone)( uint32_t tid );
    void (*recover)( void );
};

/* Called once. Returns 0 if there is no memory. */
int ums_objects_init( const struct object_host *host );

/* One lock for all objects. Its holder must not be stopped for long: a worker that holds it is in a
   local call or busy, and a thread that suspends another thread first asks ums_objects_holder. */
void ums_objects_lock( void );
void ums_objects_unlock( void );
uint32_t ums_objects_holder( void );            /* a thread's id, or 0 */
/* The calling thread holds the lock and is the last thread of the process: nobody waits now. */
void ums_objects_alone( void );
int  ums_objects_are_alone( void );

/* ---- called with the lock held, except where marked "without" ---- */

struct ums_object *ums_object_create( enum object_type type, int32_t state, int32_t limit );    /* without */
struct ums_object *ums_object_at( uint32_t index );             /* without; live or not */
uint32_t ums_object_index( const struct ums_object *o );        /* without */
/* _closes: its handle is about to be closed, which may fail. _close: the handle is closed. */
void ums_object_closes( struct ums_object *o );
void ums_object_close( struct ums_object *o );

int32_t ums_object_set( struct ums_object *o );                 /* these return the state before */
int32_t ums_object_reset( struct ums_object *o );
int32_t ums_object_pulse( struct ums_object *o );
/* 0: that is above the limit. */
int ums_object_release( struct ums_object *o, uint32_t count, int32_t *before );

/* ---- mutants.c ---- */

/* May this thread take it now? Take it: returns 1 if it was abandoned. */
int ums_mutant_is_free( const struct ums_object *o, const struct object_thread *self );
int ums_mutant_take( struct ums_object *o, const struct object_thread *self );
/* Returns 0: the thread does not own it. */
int ums_mutant_release( struct ums_object *o, const struct object_thread *self, int32_t *before );
/* It is owned by nobody here any more, and is given to nobody. */
void ums_mutant_disown( struct ums_object *o );
/* The thread ends, or has ended: what it owns is abandoned. */
void ums_mutants_abandon( const struct object_thread *gone );
/* The thread with this id is the last one of the process. */
void ums_mutants_abandon_others( uint32_t own );
/* Has this thread ended? Takes no lock. */
int ums_thread_is_gone( const struct object_thread *thread, const struct object_thread *gone );
/* If `before` owns it: that thread has the context `now`. */
void ums_owner_moves( struct object_thread *owner, const struct object_thread *before,
                      struct ums_context *now );
/* The calling thread has got this context; or it will have none. Without the lock. */
void ums_objects_thread_enters( struct ums_context *context );
void ums_objects_thread_leaves( struct ums_context *context );

/* ---- becoming real ---- */

/* From now on the host has its state, which this returns. Waits for it begin to move. Every call
   for the object takes the lock until the caller has given the state to the host and calls
   ums_object_is_real. */
int32_t ums_object_becomes_real( struct ums_object *o );
void    ums_object_is_real( struct ums_object *o );
/* A handle of the host's object, for these two calls and for a wait that arrives; NULL if it is
   closed. */
void   *ums_object_at_host( const struct ums_object *o );
/* The caller gives the lock back for a while, and goes on with this object: it stays, and so does the
   host's, whatever becomes of the program's handle. */
void    ums_object_hold( struct ums_object *o );
void    ums_object_let_go( struct ums_object *o );
/* Is there a wait that arrives, and that nobody has waited for in vain? */
int     ums_object_lets_arrive( const struct ums_object *o );
/* Another object that has to become real, because a wait that moves is for both; or NULL. */
struct ums_object *ums_object_follows( const struct ums_object *o );
/* For a set or a pulse of a real object: ends the first wait that moves, or all. Returns 1 if there
   was one. */
int ums_object_claim( struct ums_object *o, int all );

/* A wait of `self` for objects that are all local; a mutant is alone. poll: do not wait. Returns 1
   if it is over, with *status. Otherwise it is pending, and *wait is its record: the worker's own,
   or a plain thread's. */
int ums_object_wait( struct ums_object *const *objects, uint32_t count, int all, int poll,
                     const struct object_thread *self, struct ums_context *worker,
                     struct object_wait **wait, ums_status *status );

/* ---- without the lock ---- */

/* Wait until the wait is no longer pending. The thread's form also returns when its time is over;
   the wait may then still be pending. deadline: as ke_clock; 0: none. */
void ums_object_wait_in_thread( struct object_wait *wait, int64_t deadline );
void ums_object_wait_as_worker( struct object_wait *wait, int64_t deadline );
/* Called after these. 1: over, with *status. 0: the caller makes the wait at the host, then calls
   ums_object_arrived. */
int ums_object_wait_end( struct object_wait *wait, ums_status *status );
void ums_object_arrived( struct object_wait *wait );
/* Is a wait of this thread at the host? The thread is suspended. */
int ums_object_thread_arrives( uint32_t tid );
/* Called by the thread that has ended another: end the waits of that one, and abandon its mutants. */
void ums_objects_thread_gone( uint32_t tid );
/* A plain thread was suspended, or resumed, with that count before; both in the turn of ums_stop_begin. */
void ums_objects_thread_suspended( uint32_t tid );
void ums_objects_thread_resumed( uint32_t tid, uint32_t before );
/* A worker is suspended no more. Its word tells that it was. The caller keeps its context. */
void ums_objects_worker_resumed( struct ums_context *w );
void ums_objects_worker_gone( struct ums_context *w );
/* The same for the warden, which has no handle of the ended thread, so that the id may already be
   another thread's. The context still belongs to the ended thread. */
void ums_objects_context_gone( struct ums_context *context );
/* Called by wait.c: the time of a worker's wait is over. word: the worker's state word as the timer
   saw it. */
void ums_object_time_over( struct ums_context *w, uint64_t word );

/* ---- between objects.c and objects_wait.c; with the lock ---- */

int  ums_object_waits_init( void );             /* without */
struct object_wait *ums_object_wait_record( struct ums_context *worker, uint32_t count );
void ums_object_end_wait( struct object_wait *wait, ums_status status );
/* With the lock: is the waiter suspended? Then a local object gives it no signal: what it would get is for others, and stays
   if there are none. */
int ums_object_waiter_stands( const struct object_wait *wait );
void ums_object_leaves( struct object_wait *wait );
void ums_object_hand_out( struct ums_object *o );
extern const struct object_host *ums_objects_host;
void ums_object_has_arrived( struct object_wait *wait );

#endif /* UMS_OBJECTS_H */
