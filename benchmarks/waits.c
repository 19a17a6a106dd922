/*
 * The arms of waits that need no kernel object: of workers, and of plain threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Both kinds run the same bodies. Two that take turns leave "turn" as they found it, so each batch
 * begins like the first, whichever arm it is of.
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

static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE turn_changed = CONDITION_VARIABLE_INIT;
static CRITICAL_SECTION section;
static volatile LONG turn;

static void condition( unsigned int self, unsigned int ops )
{
    for (; ops; ops--)
    {
        AcquireSRWLockExclusive( &lock );
        while (turn != (LONG)self) SleepConditionVariableSRW( &turn_changed, &lock, INFINITE, 0 );
        turn = !self;
        ReleaseSRWLockExclusive( &lock );
        WakeAllConditionVariable( &turn_changed );
    }
}

static void address( unsigned int self, unsigned int ops )
{
    LONG others = !self;

    for (; ops; ops--)
    {
        while (turn != (LONG)self) WaitOnAddress( &turn, &others, sizeof(others), INFINITE );
        turn = others;
        WakeByAddressSingle( (void *)&turn );
    }
}

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

static void naps( unsigned int self, unsigned int ops )
{
    (void)self;
    for (; ops; ops--) Sleep( 1 );
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
    return troop_start( arm, 2, condition );
}

BOOL threads_start_turns( struct arm *arm )
{
    return troop_start( arm, 2, address );
}

BOOL threads_start_section( struct arm *arm )
{
    InitializeCriticalSection( &section );
    return troop_start( arm, 2 * LOCKERS, contended );
}

static double (*troop_batch)( struct arm *arm );

static double troop_time_batch( struct arm *arm )
{
    double start = own_time();

    if (troop_batch( arm ) < 0) return -1;
    return (own_time() - start) / arm->ops / troop_count( arm );
}

BOOL threads_start_naps( struct arm *arm )
{
    BOOL ret = troop_start( arm, waits_nappers, naps );

    troop_batch = arm->batch;
    arm->fixed = TRUE;
    arm->ops = NAPS;
    arm->batch = troop_time_batch;
    return ret;
}

/* ---- workers ---- */

static void condition_body( struct crew_worker *worker )
{
    condition( worker != worker->crew->workers, worker->crew->ops );
}

static void address_body( struct crew_worker *worker )
{
    address( worker != worker->crew->workers, worker->crew->ops );
}

static void contended_body( struct crew_worker *worker )
{
    contended( 0, worker->crew->ops );
}

static void naps_body( struct crew_worker *worker )
{
    naps( 0, worker->crew->ops );
}

static struct crew *make_crew( unsigned int count, void (*body)( struct crew_worker *worker ) )
{
    struct crew *crew = crew_create( count );
    unsigned int i;

    for (i = 0; crew && i < count; i++) crew->workers[i].body = body;
    return crew;
}

static BOOL start_crew( struct arm *arm, unsigned int count,
                        void (*body)( struct crew_worker *worker ) )
{
    struct crew *crew = make_crew( count, body );

    arm->state = crew;
    arm->batch = crew_batch;
    arm->stop = crew_arm_stop;
    return crew && crew_start( crew );
}

BOOL workers_start_condition( struct arm *arm )
{
    return start_crew( arm, 2, condition_body );
}

BOOL workers_start_turns( struct arm *arm )
{
    return start_crew( arm, 2, address_body );
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
    BOOL ret = start_crew( arm, waits_nappers, naps_body );

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
    return (crews[0] = make_crew( LOCKERS, contended_body )) &&
           (crews[1] = make_crew( LOCKERS, contended_body )) &&
           crew_start( crews[0] ) && crew_start( crews[1] );
}
