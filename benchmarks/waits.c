/*
 * The arms of waits that need no kernel object: of workers, and of plain threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Both kinds run the same bodies (bodies.h).
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "bench.h"
#include "crew.h"
#include "troop.h"
#include "linux/linux.h"

#define LINUX_CLOCK_GETTIME      228
#define CLOCK_PROCESS_CPUTIME_ID 2

#define NAPS        40                  /* of each, in a batch */
#define LOCKERS     4                   /* of each of two schedulers */
#define WORK        50                  /* rounds of a loop, in the lock and outside */

unsigned int waits_nappers = 1000;

/* ---- what they do ---- */

static CRITICAL_SECTION section;

static void contended( unsigned int self, unsigned int ops )
{
    volatile unsigned int work;

    (void)self;
    for (; ops; ops--)
    {
        EnterCriticalSection( &section );
        for (work = 0; work < WORK; work++) ;
        LeaveCriticalSection( &section );
        for (work = 0; work < WORK; work++) ;
    }
}

/* CPU time of this process, ns. GetProcessTimes counts ticks of 10 ms. */
static double own_time( void )
{
    LONG64 time[2] = { 0 };             /* s, ns */

    linux_call( LINUX_CLOCK_GETTIME, CLOCK_PROCESS_CPUTIME_ID, (ULONG64)time, 0, 0 );
    return time[0] * 1e9 + time[1];
}

/* ---- plain threads ---- */

BOOL threads_start_condition( struct arm *arm )
{
    return troop_start( arm, 2, body_condition );
}

BOOL threads_start_turns( struct arm *arm )
{
    return troop_start( arm, 2, body_address );
}

BOOL threads_start_section( struct arm *arm )
{
    InitializeCriticalSection( &section );
    return troop_start( arm, 2 * LOCKERS, contended );
}

static double troop_time_batch( struct arm *arm )
{
    double start = own_time();

    if (troop_batch( arm ) < 0) return -1;
    return (own_time() - start) / arm->ops / troop_count( arm );
}

BOOL threads_start_naps( struct arm *arm )
{
    BOOL ret = troop_start( arm, waits_nappers, body_naps );

    arm->fixed = TRUE;
    arm->ops = NAPS;
    arm->batch = troop_time_batch;
    return ret;
}

/* ---- workers ---- */

BOOL workers_start_condition( struct arm *arm )
{
    return crew_start_shared( arm, 2, body_condition );
}

BOOL workers_start_turns( struct arm *arm )
{
    return crew_start_shared( arm, 2, body_address );
}

static double naps_batch( struct arm *arm )
{
    struct crew *crew = arm->state;
    double start = own_time();

    if (crew_batch( arm ) < 0) return -1;
    return (own_time() - start) / arm->ops / crew->count;
}

BOOL workers_start_naps( struct arm *arm )
{
    BOOL ret = crew_start_shared( arm, waits_nappers, body_naps );

    arm->fixed = TRUE;
    arm->ops = NAPS;
    arm->batch = naps_batch;
    return ret;
}

static double section_batch( struct arm *arm )
{
    struct crew **crews = arm->state;
    double start, end;

    crews[0]->ops = crews[1]->ops = arm->ops;
    SetEvent( crews[0]->go );
    SetEvent( crews[1]->go );
    if (!crew_wait( crews[0] ) || !crew_wait( crews[1] )) return -1;
    start = min( crews[0]->start, crews[1]->start );
    end = max( crews[0]->end, crews[1]->end );
    return (end - start) / arm->ops;
}

static void section_stop( struct arm *arm )
{
    struct crew **crews = arm->state;

    crew_stop( crews[0] );
    crew_stop( crews[1] );
    free( crews );
}

BOOL workers_start_section( struct arm *arm )
{
    struct crew **crews = calloc( 2, sizeof(*crews) );

    InitializeCriticalSection( &section );
    arm->state = crews;
    arm->batch = section_batch;
    arm->stop = section_stop;
    return (crews[0] = crew_create_shared( LOCKERS, contended )) &&
           (crews[1] = crew_create_shared( LOCKERS, contended )) &&
           crew_start( crews[0] ) && crew_start( crews[1] );
}
