/*
 * A thread pool on worker factories: work, timers, waits, I/O, groups. Copy it and change it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It shows that a pool can be built on the seven native calls of workerfactory.h and nothing else:
 * no thread here comes from CreateThread or from the system's own pool.
 *
 *     pool = pool_create( 0, 20 );                        NULL: GetLastError() says why
 *     pool_run( pool, callback, context );                once, nothing to keep
 *
 *     source = pool_work( pool, group, callback, context );       or pool_timer, pool_wait, pool_io
 *     pool_submit( source );                              its callback runs, once for each submit
 *     pool_drain( source, FALSE );                        until all that was submitted has run
 *     pool_close( source );
 *
 *     group = pool_group_create( pool );                  closes its sources together
 *     pool_group_close( group, TRUE );                    what has not begun is dropped
 *     pool_destroy( pool );                               waits for all work and for all threads
 *
 * Any thread may make any call; a callback may make all but three: it must not drain its own
 * source, close its own group or destroy its pool, because it would wait for itself. A closed
 * source must not be used any more; its callbacks that have been submitted still run. Groups and
 * sources are to be closed before their pool is destroyed.
 */
#ifndef POOL_H
#define POOL_H

#include <windows.h>

struct pool;
struct pool_group;
struct pool_source;

/* What a callback is told. */
struct pool_call
{
    struct pool_source *source;
    void               *context;
    BOOL                timed_out;      /* wait: the time was over, the handle is not signalled */
    OVERLAPPED         *overlapped;     /* I/O: which one has ended, */
    DWORD               error;          /* how, */
    ULONG_PTR           bytes;          /* and how many bytes it has moved */
};

typedef void (*pool_callback)( const struct pool_call *call );

/* min threads stay even if idle; never more than max. Threads are made when there is work that no
   waiting one can take. */
struct pool *pool_create( ULONG min, ULONG max );
BOOL pool_set_threads( struct pool *pool, ULONG min, ULONG max );
/* How many there are; those that serve timers and waits are not counted. */
ULONG pool_threads( struct pool *pool );
void pool_destroy( struct pool *pool );

BOOL pool_run( struct pool *pool, pool_callback callback, void *context );

/* Sources of callbacks. group may be NULL. NULL on failure, last error set. */
struct pool_source *pool_work( struct pool *pool, struct pool_group *group, pool_callback callback,
                               void *context );
struct pool_source *pool_timer( struct pool *pool, struct pool_group *group, pool_callback callback,
                                void *context );
struct pool_source *pool_wait( struct pool *pool, struct pool_group *group, pool_callback callback,
                               void *context );
struct pool_source *pool_io( struct pool *pool, struct pool_group *group, HANDLE file,
                             pool_callback callback, void *context );

/* Work: the callback runs once for each call. */
void pool_submit( struct pool_source *work );
/* Timer: after so many milliseconds, and again after each period (0: only once). due INFINITE
   stops it. FALSE if there are too many timers and waits: 1,008 at a time. */
BOOL pool_set_timer( struct pool_source *timer, DWORD due, DWORD period );
/* Wait: once, when the handle is signalled or the time is over. NULL: wait no more. The handle must
   stay open so long, and be no mutex: a thread of the pool would own it. */
BOOL pool_set_wait( struct pool_source *wait, HANDLE handle, DWORD timeout );
/* I/O: before each overlapped operation on the file. FALSE: the source is being cancelled, start
   none. pool_io_failed: it failed at once, and so will not end by a packet. */
BOOL pool_io_start( struct pool_source *io );
void pool_io_failed( struct pool_source *io );

/* Wait until no callback of the source is due or running and no I/O is under way. cancel: first
   stop its timer or wait, cancel its I/O, and drop callbacks that have not begun; returns how
   many. */
ULONG pool_drain( struct pool_source *source, BOOL cancel );
void pool_close( struct pool_source *source );

struct pool_group *pool_group_create( struct pool *pool );
/* Stop all timers and waits of its sources, drain all, close all. Returns what was dropped. */
ULONG pool_group_close( struct pool_group *group, BOOL cancel );

#endif /* POOL_H */
