/*
 * Events and semaphores of this process alone: their state is in words of ours. Host-free.
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
    OBJECT_SEMAPHORE
};

struct object_wait;

/* Where a wait is in the queue of an object. */
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
    int32_t  state;                             /* event: 0, 1; semaphore: its count */
    int32_t  limit;
    uint32_t closed;                            /* its handle is no more; goes with the last wait */
    uint32_t arriving;                          /* waits that are on their way into the host's queue,
                                                   or in it */
    uint32_t overdue;                           /* so many of them were waited for long enough */
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
    struct ums_context *worker;                 /* who waits without its thread, or NULL */
    _Atomic uint32_t tid;                       /* whose thread waits; 0: a worker's, or not in use */
    _Atomic(struct ums_context *) context;      /* of that thread, or NULL */
    uint32_t all, count;
    _Atomic uint32_t arrives;                   /* arriving of its objects counts it */
    struct object_link *links;                  /* count of them: own, or a block of the pool */
    struct object_link own;
};

#define OBJECT_WAITS_MAX 64                     /* MAXIMUM_WAIT_OBJECTS [sdk] */

extern int ums_objects_on;                      /* written at start */
extern _Atomic uint32_t ums_objects_made;       /* there is one, or was */

/* By the host's calls past the hook, with the lock held: a second handle, or NULL; and its end. */
struct object_host
{
    void *(*copy)( void *handle );
    void (*drop)( void *copy );
};

/* Once. 0: memory is short. */
int ums_objects_init( const struct object_host *host );

/* One lock for all objects. Whoever holds it must not be stopped for long: a worker is in a local
   call or busy, and whoever stops another thread asks for the holder. */
void ums_objects_lock( void );
void ums_objects_unlock( void );
uint32_t ums_objects_holder( void );            /* a thread's id, or 0 */
/* The calling thread, which holds the lock, is the only one left: nobody waits any more. */
void ums_objects_alone( void );

/* ---- the rest with the lock held, but where it says so ---- */

struct ums_object *ums_object_create( enum object_type type, int32_t state, int32_t limit );    /* without */
struct ums_object *ums_object_at( uint32_t index );             /* without; live or not */
uint32_t ums_object_index( const struct ums_object *o );        /* without */
/* Its handle is about to be closed, which may fail. Then, if it is no more. */
void ums_object_closes( struct ums_object *o );
void ums_object_close( struct ums_object *o );

int32_t ums_object_set( struct ums_object *o );                 /* these return the state before */
int32_t ums_object_reset( struct ums_object *o );
int32_t ums_object_pulse( struct ums_object *o );
/* 0: that is above the limit. */
int ums_object_release( struct ums_object *o, uint32_t count, int32_t *before );

/* Its state, which this returns, is the host's from now on. Waits for it begin to move. Whoever finds
   it goes on through the lock until the caller has given the state to the host, and says so. */
int32_t ums_object_becomes_real( struct ums_object *o );
void    ums_object_is_real( struct ums_object *o );
/* The host's object, for those two and for a wait that arrives; NULL: there is none any more. */
void   *ums_object_at_host( const struct ums_object *o );
/* An object that has to become real too, because one of these waits is for both; or NULL. */
struct ums_object *ums_object_follows( const struct ums_object *o );
/* A set or a pulse of a real object: has it ended a wait that moves? all: all of them. */
int ums_object_claim( struct ums_object *o, int all );

/* A wait for these, which are local. Returns 1 if it is over, or is not to wait; *status. Otherwise
   it is pending, with that record: the worker's own, or a plain thread's. */
int ums_object_wait( struct ums_object *const *objects, uint32_t count, int all, int poll,
                     struct ums_context *worker, struct object_wait **wait, ums_status *status );

/* ---- without the lock ---- */

/* The caller waits until its wait is not pending any more, a thread also until its time is over: then
   the wait may still be pending. deadline as ke_clock; 0: none. */
void ums_object_wait_in_thread( struct object_wait *wait, int64_t deadline );
void ums_object_wait_as_worker( struct object_wait *wait, int64_t deadline );
/* Behind that. 1: over, *status; 0: it has to be made at the host, and ums_object_arrived follows. */
int ums_object_wait_end( struct object_wait *wait, ums_status *status );
void ums_object_arrived( struct object_wait *wait );
/* Is one of its waits at the host? It stands still. */
int ums_object_thread_arrives( uint32_t tid );
/* By whoever has ended a thread: it waits no more. */
void ums_objects_thread_gone( uint32_t tid );
void ums_objects_worker_gone( struct ums_context *w );
/* The same by the warden, who has no handle of the thread: its id may be another thread's already. The
   context is still that of the thread which has ended. */
void ums_objects_context_gone( const struct ums_context *context );
/* wait.c: the time of a worker's wait is over; word: as it was seen. */
void ums_object_time_over( struct ums_context *w, uint64_t word );

/* ---- between objects.c and objects_wait.c; with the lock ---- */

int  ums_object_waits_init( void );             /* without */
struct object_wait *ums_object_wait_record( struct ums_context *worker, uint32_t count );
void ums_object_end_wait( struct object_wait *wait, ums_status status );
void ums_object_leaves( struct object_wait *wait );
void ums_object_has_arrived( struct object_wait *wait );

#endif /* UMS_OBJECTS_H */
