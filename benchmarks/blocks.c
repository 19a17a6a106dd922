/*
 * The arms of a worker that blocks: from its call to the first line of the SchedulerProc.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Single times are taken with the time stamp counter, because reading the clock is a system call of
 * its own under Wine; a batch is their median.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "bench.h"
#include "crew.h"

#define MAX_BLOCKS 256

/* One crew's at a time: only the batch that runs blocks. */
static volatile ULONG64 entered;        /* when a SchedulerProc was called for who blocked */
static double times[MAX_BLOCKS];
static unsigned int time_count;

static void NTAPI stamp_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    if (reason == UmsSchedulerThreadBlocked) entered = __rdtsc();
    crew_proc( reason, payload, param );
}

/* The worker runs again. No upcall since: it did not block after all. */
static void block_over( ULONG64 start )
{
    ULONG64 stamp = entered;

    if (stamp > start && time_count < MAX_BLOCKS) times[time_count++] = (double)(stamp - start);
}

static double block_batch( struct arm *arm )
{
    time_count = 0;
    if (crew_batch( arm ) < 0) return -1;
    if (time_count) return stats_cycles_ns( stats_median( times, time_count ));
    printf( "umsbench: no upcall came for a worker that blocked\n" );
    return -1;
}

static void sleep_body( struct crew_worker *worker )
{
    LONG (NTAPI *delay)( BOOLEAN alertable, const LARGE_INTEGER *interval );
    LARGE_INTEGER interval;
    unsigned int i;
    ULONG64 start;

    delay = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtDelayExecution" );
    interval.QuadPart = -10;
    for (i = 0; i < worker->crew->ops; i++)
    {
        start = __rdtsc();
        delay( FALSE, &interval );
        block_over( start );
    }
}

static void wait_body( struct crew_worker *worker )
{
    unsigned int i;
    ULONG64 start;

    for (i = 0; i < worker->crew->ops; i++)
    {
        start = __rdtsc();
        WaitForSingleObject( worker->mine, 1 );
        block_over( start );
    }
}

static void block_stop( struct arm *arm )
{
    struct crew *crew = arm->state;

    CloseHandle( crew->workers[0].mine );
    crew_stop( crew );
}

static BOOL start_block( struct arm *arm, void (*body)( struct crew_worker *worker ) )
{
    struct crew *crew = crew_create( 1 );

    if (!crew) return FALSE;
    crew->proc = stamp_proc;
    crew->workers[0].body = body;
    crew->workers[0].mine = CreateEventW( NULL, FALSE, FALSE, NULL );
    arm->state = crew;
    arm->fixed = TRUE;
    arm->batch = block_batch;
    arm->stop = block_stop;
    return crew_start( crew );
}

BOOL blocks_start_sleep( struct arm *arm )
{
    return start_block( arm, sleep_body );
}

BOOL blocks_start_wait( struct arm *arm )
{
    return start_block( arm, wait_body );
}
