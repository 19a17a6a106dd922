/*
 * A sample UMS scheduler: ready queues, migration, orderly leave. Copy it and change the policy.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pool is a set of scheduler threads that share one completion list and run one set of workers:
 *
 *     pool = sched_create( schedulers, max_workers );     NULL: GetLastError() says why
 *     sched_start( pool );                                the scheduler threads enter UMS mode
 *     sched_spawn( pool, proc, arg );                     any thread, also a worker of the pool
 *     sched_finish( pool );                               no more workers from here; waits for all
 *     ... look at pool->schedulers[i].stats, pool->workers[i].exit_code ...
 *     sched_destroy( pool );
 */
#ifndef SCHED_H
#define SCHED_H

#include <windows.h>
#include "ums.h"

#define SCHED_MAX_SCHEDULERS 8

/* Passed to UmsThreadYield. */
#define SCHED_YIELD ((void *)0)         /* go behind the others of this scheduler */
#define SCHED_MOVE  ((void *)1)         /* go on on the next scheduler */

struct sched_stats
{
    LONG executed;                      /* ExecuteUmsThread calls that ran a worker */
    LONG yielded;                       /* upcalls: a worker yielded */
    LONG blocked;                       /* upcalls: a worker blocked (its end is not counted) */
    LONG completed;                     /* workers that ended here; atomic, others may count it */
    LONG moved;                         /* executed a worker that had run elsewhere before */
    LONG retried;                       /* ExecuteUmsThread failed: retry, suspended, still busy */
    LONG idled;                         /* waits for something to do */
};

/* One worker. Between two runs it belongs to whoever has it in a queue, and to nobody else. What a
   switch needs is in its first cache line. */
struct DECLSPEC_ALIGN(64) sched_worker
{
    SLIST_ENTRY          entry;         /* link in an inbox */
    struct sched_worker *next;          /* link in the private queues of one scheduler */
    PUMS_CONTEXT         context;
    struct sched *volatile last;        /* scheduler that ran it last; written before it runs */
    volatile LONG        returned;      /* proc has returned */
    volatile LONG        reaped;        /* a scheduler has seen its end */
    struct sched_pool   *pool;
    HANDLE               thread;
    LPTHREAD_START_ROUTINE proc;
    void                *arg;
    DWORD                exit_code;     /* after sched_finish */
};

/* What a scheduler is at, for whoever looks from outside. */
enum sched_state
{
    SCHED_NOT_STARTED,
    SCHED_CHOOSING,
    SCHED_RUNNING,                      /* "current" has the processor */
    SCHED_IDLE,
    SCHED_LEFT
};

struct sched_queue
{
    struct sched_worker *head;
    struct sched_worker *tail;
    unsigned int         count;
};

/* One scheduler thread. Only that thread touches it, but for the fields marked shared. */
struct sched
{
    SLIST_HEADER         inbox;         /* shared: workers handed over by other schedulers */
    volatile LONG        idle;          /* shared: is waiting, or about to */
    HANDLE               wake;          /* auto-reset: look into the inbox, or leave */
    struct sched_pool   *pool;
    unsigned int         index;
    HANDLE               thread;
    DWORD                error;         /* of EnterUmsSchedulingMode */
    struct sched_queue   ready;
    struct sched_queue   suspended;     /* nobody announces their resume: polled */
    unsigned int         uncollected;   /* upcalls since the last look for who became ready */
    struct sched_worker *volatile current;
    volatile LONG        state;         /* enum sched_state */
    struct sched_stats   stats;
};

struct sched_pool
{
    struct sched         schedulers[SCHED_MAX_SCHEDULERS];
    unsigned int         count;
    PUMS_COMPLETION_LIST list;
    HANDLE               list_event;
    volatile LONG        idle_count;    /* schedulers with "idle" set */
    volatile LONG        alive;         /* workers not reaped, plus one until sched_finish */
    volatile LONG        spawned;
    unsigned int         max_workers;
    struct sched_worker  workers[];     /* in order of birth; the first "spawned" are in use */
};

/* NULL on failure, last error set: 120 and 50 mean that this system has no UMS. */
struct sched_pool *sched_create( unsigned int schedulers, unsigned int max_workers );
BOOL sched_start( struct sched_pool *pool );
struct sched_worker *sched_spawn( struct sched_pool *pool, LPTHREAD_START_ROUTINE proc, void *arg );
BOOL sched_finish( struct sched_pool *pool );
void sched_destroy( struct sched_pool *pool );

#endif /* SCHED_H */
