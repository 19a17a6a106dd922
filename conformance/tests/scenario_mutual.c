/*
 * Scenarios: two threads terminate, stop or look at each other at the same moment. Each call takes effect as a whole: at
 * least one of them goes on, and nobody waits for ever.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Plain threads, schedulers and workers, in all pairs. Only chance takes both to a given instruction, so there are many
 * rounds; UMSTEST_LIVES (default 1000) sets their number. On Windows these are single system calls [doc: TerminateThread,
 * SuspendThread, GetThreadContext]; one thread that is suspended by another that dies then stays suspended, so the main
 * thread resumes what is left.
 *
 * No thread ends by itself. If one is terminated while it does, Wine 8.0 lets it die with the lock of its memory map, and
 * the next thread that ends hangs [seen: plain Wine 8.0, with two plain threads, in each of three tries within 35 rounds].
 */
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

static struct fighter fighters[2];
static volatile LONG ready;

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
    struct fighter *other = f == fighters ? fighters + 1 : fighters;

    InterlockedIncrement( &ready );
    while (ready < 3) YieldProcessor();         /* the third is the main thread */
    run_us( f->us );
    f->op( other->thread );
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

/* A thread that was suspended when the other one died, or was ready, is resumed; and nobody else. */
static BOOL both_are_ready( void )
{
    ULONGLONG start = clock_ms();
    BOOL ready_now[2];

    for (;;)
    {
        ready_now[0] = fighters[0].done || is_over( &fighters[0] );
        ready_now[1] = fighters[1].done || is_over( &fighters[1] );
        if (ready_now[0] && ready_now[1]) return TRUE;
        if (ready_now[0]) ResumeThread( fighters[1].thread );
        if (ready_now[1]) ResumeThread( fighters[0].thread );
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

static BOOL a_round( enum kind a, enum kind b, void (*op_a)( HANDLE ), void (*op_b)( HANDLE ), int i )
{
    memset( fighters, 0, sizeof(fighters) );
    ready = 0;
    fighters[0].kind = a;
    fighters[1].kind = b;
    fighters[0].op = op_a;
    fighters[1].op = op_b;
    fighters[i & 1].us = i * STEP % LATEST;
    if (!begin( &fighters[0] ) || !begin( &fighters[1] )) return FALSE;
    while (ready < 2) SwitchToThread();
    InterlockedIncrement( &ready );
    return both_are_ready() && end( &fighters[0] ) && end( &fighters[1] );
}

static void mutual( void (*op_a)( HANDLE ), void (*op_b)( HANDLE ) )
{
    static const char *const names[] = { "plain thread", "scheduler", "worker" };
    int rounds = umstest_env( "UMSTEST_LIVES", 1000 ) / 50, i, k;

    if (!need( EnterUmsSchedulingMode )) return;
    for (k = 0; k < KINDS * KINDS; k++)
    {
        if (op_a == op_b && k / KINDS > k % KINDS) continue;
        for (i = 0; i < rounds; i++)
            if (!a_round( k / KINDS, k % KINDS, op_a, op_b, i )) break;
        ok( i == rounds, "%s and %s: round %d: %ld, %ld are ready, %d, %d have ended\n", names[k / KINDS],
            names[k % KINDS], i, fighters[0].done, fighters[1].done, is_over( &fighters[0] ), is_over( &fighters[1] ) );
        if (i < rounds) return;
    }
}

START_TEST( scenario_mutual_terminate )      { mutual( terminate, terminate ); }
START_TEST( scenario_mutual_terminate_look ) { mutual( terminate, look ); }
START_TEST( scenario_mutual_terminate_stop ) { mutual( terminate, stop ); }
START_TEST( scenario_mutual_stop_look )      { mutual( stop, look ); }
START_TEST( scenario_mutual_look )           { mutual( look, look ); }
