/*
 * What the files of the sample pool share.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One lock for everything: pool->lock. It is never held in a callback, in a wait or in a call of
 * the factory.
 */
#ifndef POOL_PRIVATE_H
#define POOL_PRIVATE_H

#include "pool.h"

#define POOL_SERVICES 16
#define POOL_WAITS    (MAXIMUM_WAIT_OBJECTS - 1)        /* the first is the service's own event */

enum pool_kind { POOL_WORK, POOL_TIMER, POOL_WAIT, POOL_IO };

/* Fields are the lock's, unless they never change. */
struct pool_source
{
    enum pool_kind       kind;
    struct pool         *pool;
    struct pool_group   *group;
    pool_callback        callback;
    void                *context;
    LONG                 refs;          /* the owner, the queue, callbacks, I/O, a service */
    struct pool_source  *next, *prev;   /* in the group */

    ULONG                queued;        /* callbacks that are due; in the queue if not 0 */
    struct pool_source  *next_queued;
    ULONG                running;       /* callbacks under way */
    ULONG                started;       /* I/O under way */
    BOOL                 cancelling;    /* no more I/O */
    HANDLE               file;          /* I/O */

    struct pool_service *service;       /* timer, wait: what serves it; NULL if it is not set */
    ULONG                serial;        /* of the last setting */
    ULONGLONG            due;           /* by GetTickCount64; ~0: never */
    DWORD                period;
    HANDLE               handle;        /* wait */
    BOOL                 timed_out;
};

/* A thread that waits for handles and for the next timer. */
struct pool_service
{
    struct pool         *pool;
    HANDLE               wake;          /* auto-reset: look again, or leave */
    struct pool_source  *sources[POOL_WAITS];
    ULONG                count;
};

struct pool_group
{
    struct pool         *pool;
    struct pool_source  *first;
};

struct pool
{
    SRWLOCK              lock;
    CONDITION_VARIABLE   idle;          /* a source has become idle */
    HANDLE               port;
    HANDLE               workers;       /* the factory of threads that run callbacks */
    HANDLE               servants;      /* the factory of threads that serve timers and waits */
    struct pool_source  *first, *last;  /* the queue: each source with callbacks that are due */
    ULONG                busy;          /* callbacks that are due or under way, of all sources */
    BOOL                 stopping;
    struct pool_service  services[POOL_SERVICES];
    ULONG                service_count; /* those with a thread, or with one on its way */
    ULONG                service_next;  /* which one the next thread is to be */
};

/* pool.c; with the lock held */
/* One callback more is due. Whoever calls it must release as many workers, without the lock. */
void source_queue( struct pool_source *source );
void source_release( struct pool_source *source );
void pool_release_workers( struct pool *pool, ULONG count );    /* without the lock */

/* service.c */
void NTAPI service_thread( void *pool );
/* With the lock held: forget the timer or wait. */
void service_unset( struct pool_source *source );

#endif /* POOL_PRIVATE_H */
