/*
 * Scenario: two workers terminate each other's schedulers at the same moment.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * TerminateThread of a scheduler takes effect, and its worker goes on when another scheduler executes it [guess]. Neither call waits for
 * the other one. UMSTEST_LIVES (default 400) sets the number of rounds.
 */
#include "umslib.h"

#define LATEST 40                               /* us */
#define STEP   7
#define KILLED 5

static struct pair
{
    struct sched  sched, other;                 /* the second one serves the same list, for when the first one has ended */
    struct worker worker;
    int           us;                           /* how late it begins */
} pairs[2];

static volatile LONG ready;

static void terminate_the_other( struct worker *worker )
{
    int i = (int)(LONG_PTR)worker->arg;

    InterlockedIncrement( &ready );
    while (ready < 3) YieldProcessor();         /* and the main thread */
    run_us( pairs[i].us );
    TerminateThread( pairs[!i].sched.thread, KILLED );
}

/* The second scheduler comes when the first one has executed the worker. */
static BOOL begin( int i )
{
    struct pair *pair = &pairs[i];
    LONG before = ready;

    if (!sched_init( &pair->sched ) || !sched_start( &pair->sched ) ||
        !worker_create( &pair->worker, pair->sched.list, terminate_the_other, (void *)(LONG_PTR)i, 0 )) return FALSE;
    while (ready == before) SwitchToThread();
    pair->other.list = pair->sched.list;
    return sched_init( &pair->other ) && sched_start( &pair->other );
}

static BOOL end( struct pair *pair )
{
    BOOL good = !WaitForSingleObject( pair->sched.thread, WAIT_BOUND ) && worker_wait( &pair->worker, WAIT_BOUND );

    if (!good) return FALSE;
    sched_stop( &pair->other );                 /* the first one may have seen the end of the worker */
    good = sched_join( &pair->other ) && !pair->other.bad && worker_delete( &pair->worker );
    sched_free( &pair->other );
    sched_free( &pair->sched );
    return good;
}

static BOOL a_round( int round )
{
    memset( pairs, 0, sizeof(pairs) );
    ready = 0;
    pairs[round % 2].us = round * STEP % LATEST;
    if (!begin( 0 ) || !begin( 1 )) return FALSE;
    InterlockedIncrement( &ready );
    return end( &pairs[0] ) && end( &pairs[1] );
}

START_TEST( scenario_mutual_schedulers )
{
    int rounds = umstest_lives() / 10 + 1, i;

    if (!need( EnterUmsSchedulingMode )) return;
    for (i = 0; i < rounds && a_round( i ); i++) ;
    unverified ok( i == rounds, "round %d of %d does not end\n", i, rounds );
}
