/*
 * A crew: one scheduler thread and its workers, for the arms.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between batches every worker is off the processor after UmsThreadYield( CREW_PARK ) and the
 * scheduler waits in its SchedulerProc for "go"; a batch is from there until all have parked again.
 * The scheduler stamps both ends, so that no wake-up of the benchmark's own thread is timed. It
 * does as little as a scheduler can: a ring of contexts.
 */
#ifndef CREW_H
#define CREW_H

#include <windows.h>
#include "ums.h"
#include "bench.h"
#include "bodies.h"

#define CREW_PARK ((void *)1)

struct crew_worker
{
    struct crew    *crew;
    void          (*body)( struct crew_worker *worker );      /* a batch; NULL: only parks */
    body_proc       shared;             /* see crew_create_shared */
    HANDLE          mine, others;       /* events of the ping-pong */
    PUMS_CONTEXT    context;
    HANDLE          thread;
};

struct crew
{
    PUMS_COMPLETION_LIST list;
    PUMS_SCHEDULER_ENTRY_POINT proc;    /* crew_proc, or one that ends in it */
    HANDLE               thread;
    HANDLE               go, done;      /* auto-reset */
    volatile LONG        quit;
    unsigned int         ops;           /* per worker and batch */
    BOOL                 polls;         /* looks at the completion list before each execute */
    unsigned int         count;         /* workers at the start */
    unsigned int         alive;         /* the scheduler's, as all below */
    PUMS_CONTEXT        *ring;          /* ready */
    unsigned int         head, ready;
    PUMS_CONTEXT        *parked;
    unsigned int         parked_count;
    double               start, end;
    DWORD                error;
    struct crew_worker   workers[];
};

/* Not started; the caller gives the workers something to do, and may replace proc. NULL: failed,
   reason printed. */
struct crew *crew_create( unsigned int count );
/* Start all and let the workers run to where they park for the first time. */
BOOL crew_start( struct crew *crew );
/* The two halves of it. The number of workers that could be made, if that were not all with the
   last error why; those are the crew from then on. */
unsigned int crew_spawn( struct crew *crew );
BOOL crew_start_scheduler( struct crew *crew );
BOOL crew_wait( struct crew *crew );    /* until the batch is over */
void crew_stop( struct crew *crew );

void NTAPI crew_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param );
struct crew *crew_self( RTL_UMS_SCHEDULER_REASON reason, void *param );    /* in a SchedulerProc */

/* Workers that do what a troop of threads does (troop.h). */
struct crew *crew_create_shared( unsigned int count, body_proc body );
/* The same, started, as the state of an arm. FALSE: failed, reason printed. */
BOOL crew_start_shared( struct arm *arm, unsigned int count, body_proc body );

/* For arms whose state is the crew: ns per operation of each worker. */
double crew_batch( struct arm *arm );
void crew_arm_stop( struct arm *arm );
BOOL crew_failed( const char *what );   /* prints it with the last error; FALSE */

#endif /* CREW_H */
