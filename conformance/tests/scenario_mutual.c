/*
 * Scenarios: two threads, or four in a ring, terminate, stop or look at each other at the same moment. Each call takes
 * effect as a whole: at least one of them goes on, and nobody waits for ever.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plain threads, schedulers and workers, in all pairs. Only chance takes both to a given instruction, so there are many
 * rounds; UMSTEST_LIVES (default 400) sets their number. On Windows each of these is one system call, which takes effect
 * or does not [guess]; plain threads of plain Wine come through [seen: 8.0 and 10.0, 1,500 rounds each of a ring of four
 * with TerminateThread and SuspendThread]. A thread that is suspended by another that dies then stays suspended, so the
 * main thread resumes what is left.
 *
 * No thread ends by itself. If one is terminated while it does, Wine 8.0 lets it die with the lock of its memory map, and
 * the next thread that ends hangs [seen: plain Wine 8.0, with two plain threads, in each of three tries within 35 rounds].
 */
#include <stdio.h>
#include "umslib.h"

#define LATEST 40                               /* us */
#define STEP   7
#define KILLED 5

enum kind { PLAIN, SCHEDULER, WORKER, KINDS };

struct fighter
{
    enum kind       kind;
    void          (*op)( HANDLE other );
    HANDLE volatile thread;
    volatile LONG   done;
    int             us;                         /* how late it begins */
    struct worker   worker;
    struct sched    sched;
};

#define MOST 4

static struct fighter fighters[MOST];           /* each acts on the next one, and the last on the first */
static int count;
static volatile LONG ready;
static BOOL stopped;                            /* a round did not end */

static void terminate( HANDLE other )
{
    TerminateThread( other, KILLED );
}

static void stop( HANDLE other )
{
    int i;

    for (i = 0; i < 5; i++)
    {
        SuspendThread( other );
        ResumeThread( other );
    }
}

static void look( HANDLE other )
{
    CONTEXT context;
    int i;

    for (i = 0; i < 5; i++)
    {
        context.ContextFlags = CONTEXT_FULL;
        GetThreadContext( other, &context );
    }
}

/* ---- the fighters ---- */

static void fight( struct fighter *f )
{
    InterlockedIncrement( &ready );
    while (ready <= count) YieldProcessor();    /* and the main thread */
    run_us( f->us );
    f->op( fighters[(f - fighters + 1) % count].thread );
    f->done = 1;
    for (;;) Sleep( INFINITE );
}

static void fight_as_worker( struct worker *worker )
{
    fight( worker->arg );
}

static DWORD WINAPI plain_thread( void *arg )
{
    fight( arg );
    return 0;
}

static void WINAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    (void)reason; (void)payload;
    fight( param );
}

static DWORD WINAPI scheduler_thread( void *arg )
{
    struct fighter *f = arg;
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, f->sched.list, scheduler_proc, f };

    return !pEnterUmsSchedulingMode( &info );
}

static BOOL begin( struct fighter *f )
{
    BOOL good = sched_init( &f->sched );

    f->sched.expect = 1;
    if (!good) return FALSE;
    if (f->kind == WORKER)
    {
        good = sched_start( &f->sched ) && worker_create( &f->worker, f->sched.list, fight_as_worker, f, 0 );
        f->thread = f->worker.thread;
    }
    else f->thread = CreateThread( NULL, 0x10000, f->kind == PLAIN ? plain_thread : scheduler_thread, f,
                                   STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
    return good && f->thread;
}

static BOOL is_over( struct fighter *f )
{
    return WaitForSingleObject( f->thread, 0 ) == WAIT_OBJECT_0;
}

static BOOL is_ready( int i )
{
    return fighters[i].done || is_over( &fighters[i] );
}

/* A thread is resumed when the one that acts on it is ready, or has died after it suspended it; and no other. */
static BOOL all_are_ready( void )
{
    ULONGLONG start = clock_ms();
    int i, left;

    for (;;)
    {
        for (i = left = 0; i < count; i++)
        {
            if (is_ready( i )) continue;
            left++;
            if (is_ready( (i + count - 1) % count )) ResumeThread( fighters[i].thread );
        }
        if (!left) return TRUE;
        if (clock_ms() - start > WAIT_BOUND) return FALSE;
        SwitchToThread();
    }
}

static BOOL end( struct fighter *f )
{
    BOOL good = is_over( f ) || TerminateThread( f->thread, KILLED );

    if (!good || WaitForSingleObject( f->thread, WAIT_BOUND )) return FALSE;
    if (f->kind == WORKER) good = sched_join( &f->sched ) && !f->sched.bad && worker_delete( &f->worker );
    else CloseHandle( f->thread );
    sched_free( &f->sched );
    return good;
}

static BOOL a_round( const enum kind *kinds, void (*const *ops)( HANDLE ), int round )
{
    BOOL good = TRUE;
    int i;

    memset( fighters, 0, sizeof(fighters) );
    ready = 0;
    for (i = 0; i < count; i++)
    {
        fighters[i].kind = kinds[i];
        fighters[i].op = ops[i];
    }
    fighters[round % count].us = round * STEP % LATEST;
    for (i = 0; i < count; i++) good = good && begin( &fighters[i] );
    if (!good) return FALSE;
    while (ready < count) SwitchToThread();
    InterlockedIncrement( &ready );
    good = all_are_ready();
    for (i = 0; i < count; i++) good = good && end( &fighters[i] );
    return good;
}

static void rounds_of( const enum kind *kinds, void (*const *ops)( HANDLE ), const char *what )
{
    int rounds = umstest_lives() / 200 + 1, i;

    for (i = 0; i < rounds; i++) if (!a_round( kinds, ops, i )) break;
    unverified ok( i == rounds, "%s: round %d: %ld, %ld are ready\n", what, i, fighters[0].done, fighters[1].done );
    stopped = i < rounds;
}

static void mutual( void (*op_a)( HANDLE ), void (*op_b)( HANDLE ) )
{
    static const char *const names[] = { "plain thread", "scheduler", "worker" };
    void (*const ops[])( HANDLE ) = { op_a, op_b };
    char what[64];
    int k;

    if (!need( EnterUmsSchedulingMode )) return;
    count = 2;
    for (k = 0; k < KINDS * KINDS && !stopped; k++)
    {
        const enum kind kinds[] = { k / KINDS, k % KINDS };

        if (op_a == op_b && kinds[0] > kinds[1]) continue;
        sprintf( what, "%s and %s", names[kinds[0]], names[kinds[1]] );
        rounds_of( kinds, ops, what );
    }
}

/* Four of all kinds, from each beginning. */
static void ring( void (*op_a)( HANDLE ), void (*op_b)( HANDLE ) )
{
    static const enum kind all[] = { PLAIN, SCHEDULER, WORKER, SCHEDULER, PLAIN, WORKER };
    void (*const ops[])( HANDLE ) = { op_a, op_b, op_a, op_b };
    enum kind kinds[MOST];
    int k, i;

    if (!need( EnterUmsSchedulingMode )) return;
    count = MOST;
    for (k = 0; k < (int)ARRAYSIZE(all) && !stopped; k++)
    {
        for (i = 0; i < MOST; i++) kinds[i] = all[(k + i) % ARRAYSIZE(all)];
        rounds_of( kinds, ops, "a ring" );
    }
}

START_TEST( scenario_mutual_terminate )      { mutual( terminate, terminate ); }
START_TEST( scenario_mutual_terminate_look ) { mutual( terminate, look ); }
START_TEST( scenario_mutual_terminate_stop ) { mutual( terminate, stop ); }
START_TEST( scenario_mutual_stop_look )      { mutual( stop, look ); }
START_TEST( scenario_mutual_look )           { mutual( look, look ); }
START_TEST( scenario_mutual_ring )           { ring( terminate, terminate ); }
START_TEST( scenario_mutual_ring_stop )      { ring( terminate, stop ); }
START_TEST( scenario_mutual_ring_look )      { ring( look, terminate ); }
