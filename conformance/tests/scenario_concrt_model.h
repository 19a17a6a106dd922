/*
 * A small client that uses UMS in the way ConcRT is known to: factory, primaries, engine, poller.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Written from the behaviour description in section 6 of the specification and from nothing else. A
 * broken promise is counted under the number of its row (concrt.bad[17] for B17); nothing is
 * printed here.
 */
#ifndef SCENARIO_CONCRT_MODEL_H
#define SCENARIO_CONCRT_MODEL_H

#include "../umstest.h"

#define CONCRT_LIMIT     WAIT_BOUND     /* of every wait */
#define CONCRT_WORKERS   128
#define CONCRT_PRIMARIES 2
#define CONCRT_ROWS      33

enum concrt_action
{
    ACTION_STARTUP,                     /* the first yield of every worker, on the engine */
    ACTION_YIELD,                       /* behind the others */
    ACTION_MIGRATE,                     /* to the primary `target` */
    ACTION_PARK,                        /* to nobody, until concrt_schedule */
    ACTION_NEST,                        /* to the engine: run outside any virtual processor */
    ACTION_UNNEST                       /* and back */
};

struct concrt_primary;

struct concrt_worker
{
    PUMS_CONTEXT context;
    HANDLE thread;
    HANDLE started;                     /* auto: the engine has run it up to its first yield */
    DWORD id;
    int index;
    void (*task)( struct concrt_worker *worker );
    void *arg;
    struct concrt_worker *next;         /* in one queue at a time */
    struct concrt_primary *volatile root; /* who executes it; NULL: off, in his books (B13) */
    struct concrt_primary *ran_on;
    volatile LONG awaited;              /* its primary waits for it alone (B10) */
    volatile LONG returned;             /* ... and somebody else has swept it */
    volatile LONG polled;               /* handed to the poller (B8) */
    volatile LONG parked;
    volatile LONG critical, hyper;      /* depth of regions */
    enum concrt_action action;
    struct concrt_primary *target;
    volatile LONG done;
};

struct concrt_primary
{
    int index;
    BOOL engine;                        /* a TransmogrifiedPrimary: own list, one worker */
    PUMS_COMPLETION_LIST list;
    HANDLE thread, list_event, own_event;
    DWORD id;
    struct concrt_worker *executing;
    struct concrt_worker *volatile inbox;
    struct concrt_worker *first, *last; /* engine: workers to be run */
    volatile LONG startups, executes, blocks, yields;
    volatile LONG left;                 /* 1 + what EnterUmsSchedulingMode returned */
};

struct concrt
{
    PUMS_COMPLETION_LIST list, factory_list;
    HANDLE factory_event;
    HANDLE idle;                        /* manual: no worker lives */
    HANDLE poller, poller_event;
    struct concrt_worker *volatile poller_inbox;
    int primary_count;
    struct concrt_primary primaries[CONCRT_PRIMARIES];
    struct concrt_primary engine;
    struct concrt_worker workers[CONCRT_WORKERS];
    volatile LONG worker_count, live, finished;
    volatile LONG stop;
    DWORD tls;

    volatile LONG ready_lock;           /* primaries only, nothing that blocks inside */
    struct concrt_worker *ready_first, *ready_last;
    struct concrt_worker *volatile incoming; /* from anybody */

    volatile LONG bad[CONCRT_ROWS];     /* by row */
    volatile LONG polls, startup_blocks, nest_blocks, async_blocks, awaits;
};

extern struct concrt concrt;

/* Main thread. FALSE after a failed need or ok. */
BOOL concrt_start( int primaries );
/* Wait for all workers, let everybody leave, take everything down; then ok() row by row. */
void concrt_stop( void );

/* Any thread, workers included: a new worker, up to its first yield (B2, B3, B4); then give it to
   the primaries. */
struct concrt_worker *concrt_create( void (*task)( struct concrt_worker * ), void *arg );
void concrt_schedule( struct concrt_worker *worker );
struct concrt_worker *concrt_spawn( void (*task)( struct concrt_worker * ), void *arg );

/* Workers. */
void concrt_act( struct concrt_worker *worker, enum concrt_action action );
void concrt_migrate( struct concrt_worker *worker, int index );
void concrt_violation( int row );

/* Between the files of the model. */
struct concrt_worker *concrt_worker_of( PUMS_CONTEXT context );
void concrt_engine_give( struct concrt_worker *worker );
void NTAPI concrt_engine_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param );
void NTAPI concrt_primary_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param );
DWORD WINAPI concrt_poller_thread( void *arg );

#endif /* SCENARIO_CONCRT_MODEL_H */
