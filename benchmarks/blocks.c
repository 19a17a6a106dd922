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

#define MAX_BLOCKERS 2

/* One crew's at a time: only the batch that runs blocks. */
static volatile unsigned int blocker;   /* who blocks next, or has just blocked: all on one thread */
static volatile ULONG64 entered[MAX_BLOCKERS];  /* when a SchedulerProc was called for it */
static double times[MAX_BLOCKS];
static unsigned int time_count;

static void NTAPI stamp_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    if (reason == UmsSchedulerThreadBlocked) entered[blocker] = __rdtsc();
    crew_proc( reason, payload, param );
}

static ULONG64 block_begins( unsigned int self )
{
    blocker = self;
    return __rdtsc();
}

/* The worker runs again. No upcall since: it did not block after all. */
static void block_over( unsigned int self, ULONG64 start )
{
    ULONG64 stamp = entered[self];

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
        start = block_begins( 0 );
        delay( FALSE, &interval );
        block_over( 0, start );
    }
}

static void wait_body( struct crew_worker *worker )
{
    unsigned int i;
    ULONG64 start;

    for (i = 0; i < worker->crew->ops; i++)
    {
        start = block_begins( 0 );
        WaitForSingleObject( worker->mine, 1 );
        block_over( 0, start );
    }
}

/* ---- two wake each other in turn ---- */

static LONG (NTAPI *wait_for_alert)( const void *address, const LARGE_INTEGER *timeout );
static LONG (NTAPI *alert_thread)( HANDLE thread_id );

static volatile unsigned int turn;

struct waker
{
    void (*wait)( struct crew_worker *worker );
    void (*wake)( struct crew_worker *worker );     /* the other one */
};

/* A wake-up may come that nobody here has made: an alert for the loader's lock when the thread began
   (core/wait.c), or what an earlier wait left. So the turn, not the wake-up, says who continues. A worker that yielded
   meanwhile would never let its scheduler look at the completion list: crew_proc does that only when nobody
   is ready. */
static void take_turn( struct crew_worker *worker, const struct waker *waker, unsigned int self )
{
    ULONG64 start;

    while (turn != self)
    {
        start = block_begins( self );
        waker->wait( worker );
        block_over( self, start );
    }
}

static void hand_turns( struct crew_worker *worker, const struct waker *waker )
{
    unsigned int self = worker != worker->crew->workers, i;

    for (i = 0; i < worker->crew->ops; i++)
    {
        if (self) take_turn( worker, waker, self );
        turn = !self;
        waker->wake( worker );
        if (!self) take_turn( worker, waker, self );
    }
}

static void wait_alert( struct crew_worker *worker )
{
    (void)worker;
    wait_for_alert( NULL, NULL );
}

static void wake_alert( struct crew_worker *worker )
{
    alert_thread( worker->others );
}

static void alert_body( struct crew_worker *worker )
{
    static const struct waker alerts = { wait_alert, wake_alert };
    struct crew_worker *workers = worker->crew->workers;

    worker->others = (HANDLE)(ULONG_PTR)GetThreadId( workers[worker == workers].thread );
    hand_turns( worker, &alerts );
}

static void wait_event( struct crew_worker *worker )
{
    WaitForSingleObject( worker->mine, INFINITE );
}

static void wake_event( struct crew_worker *worker )
{
    SetEvent( worker->others );
}

static void event_body( struct crew_worker *worker )
{
    static const struct waker events = { wait_event, wake_event };

    hand_turns( worker, &events );
}

static void block_stop( struct arm *arm )
{
    struct crew *crew = arm->state;
    unsigned int i;

    for (i = 0; i < crew->count; i++) CloseHandle( crew->workers[i].mine );
    crew_stop( crew );
}

static struct crew *make_block( struct arm *arm, unsigned int count,
                                void (*body)( struct crew_worker *worker ) )
{
    struct crew *crew = crew_create( count );
    unsigned int i;

    if (!crew) return NULL;
    crew->proc = stamp_proc;
    for (i = 0; i < count; i++)
    {
        crew->workers[i].body = body;
        crew->workers[i].mine = CreateEventW( NULL, FALSE, FALSE, NULL );
    }
    arm->state = crew;
    arm->fixed = TRUE;
    arm->batch = block_batch;
    arm->stop = block_stop;
    return crew;
}

static BOOL start_block( struct arm *arm, unsigned int count,
                         void (*body)( struct crew_worker *worker ) )
{
    struct crew *crew = make_block( arm, count, body );

    return crew && crew_start( crew );
}

BOOL blocks_start_sleep( struct arm *arm )
{
    return start_block( arm, 1, sleep_body );
}

BOOL blocks_start_wait( struct arm *arm )
{
    return start_block( arm, 1, wait_body );
}

BOOL blocks_start_alert( struct arm *arm )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    wait_for_alert = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    alert_thread = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    return start_block( arm, 2, alert_body );
}

static BOOL check_events( struct arm *arm, const char *name )
{
    const struct crew *crew = arm->state;
    HANDLE events[MAX_BLOCKERS] = { crew->workers[0].mine, crew->workers[1].mine };

    return objects_check( name, events, ARRAYSIZE(events), TRUE );
}

BOOL blocks_start_event( struct arm *arm )
{
    struct crew *crew = make_block( arm, MAX_BLOCKERS, event_body );

    if (!crew) return FALSE;
    crew->workers[0].others = crew->workers[1].mine;
    crew->workers[1].others = crew->workers[0].mine;
    arm->check = check_events;
    return crew_start( crew );
}
