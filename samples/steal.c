/*
 * Work stealing: several schedulers, each with a ready queue of its own; one that has nothing to do takes
 * from the others.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * steal.exe [SCHEDULERS [WORKERS]]. The workers add up the divisors of the numbers of a range, a
 * slice at a time, and sleep in between. One of them is a hog: it computes and never yields until
 * all others have ended. What was queued at its scheduler would wait for it for ever if nobody stole
 * it, so that this program ends at all shows that stealing works. Exit status: 0 the sum is right, 1
 * it is not or there is no UMS.
 *
 *     completion list (one for all) --whoever asks first takes all of it--> its own queue
 *     own queue --first in, first out, taken by the owner and by thieves--> ExecuteUmsThread
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "spawn.h"

#define MAX_SCHEDULERS 16
#define MAX_WORKERS    1024             /* a power of two: also the size of a queue */
#define SLICES         8
#define SLICE          200              /* numbers */

struct worker
{
    PUMS_CONTEXT context;
    HANDLE       thread;
    unsigned int number;
    atomic_int   ended;                 /* how often its end was seen: once */
    ULONG64      sum;
};

/* Only the owner puts in, anybody takes out. Positions only grow, so a take that was overtaken by
   another fails in its compare-and-swap; and no queue can be full, for it has a slot for each
   worker, and a worker is in one place at a time. */
struct queue
{
    _Alignas(64) atomic_llong head;     /* next to take */
    _Alignas(64) atomic_llong tail;     /* next to put */
    _Atomic(struct worker *)  slots[MAX_WORKERS];
};

struct scheduler
{
    struct queue ready;
    atomic_int   idle;                  /* is waiting for "wake", or about to */
    HANDLE       wake;                  /* auto-reset */
    HANDLE       thread;
    LONG         executed, stolen;
};

static struct scheduler schedulers[MAX_SCHEDULERS];
static struct worker workers[MAX_WORKERS];
static unsigned int scheduler_count = 4, worker_count = 64;
static PUMS_COMPLETION_LIST list;
static HANDLE list_event;
static atomic_int alive;                /* workers whose end no scheduler has seen */
static atomic_int working;              /* workers, but for the hog, that have not done all */

/* ---- what the workers do ---- */

static ULONG64 add_divisors( unsigned int from, unsigned int to )
{
    unsigned int n, d;
    ULONG64 sum = 0;

    for (n = from; n < to; n++)
        for (d = 1; d <= n; d++)
            if (n % d == 0) sum += d;
    return sum;
}

static DWORD WINAPI work( void *arg )
{
    struct worker *self = arg;
    unsigned int i, slice = SLICE / 8 + self->number % SLICE;           /* they differ in length */

    for (i = 0; i < SLICES; i++)
    {
        self->sum += add_divisors( 1 + i * slice, 1 + (i + 1) * slice );
        if (i % 4 == 3) Sleep( 1 );             /* blocks: the scheduler goes on with another */
        else UmsThreadYield( NULL );
    }
    atomic_fetch_sub( &working, 1 );
    return 0;
}

static DWORD WINAPI hog( void *arg )
{
    struct worker *self = arg;

    do self->sum = add_divisors( 1, SLICE ); while (working);
    return 0;
}

/* ---- queues ---- */

static void queue_put( struct queue *queue, struct worker *worker )
{
    long long tail = queue->tail;

    queue->slots[tail % MAX_WORKERS] = worker;
    queue->tail = tail + 1;
}

static struct worker *queue_take( struct queue *queue )
{
    long long head = queue->head;
    struct worker *worker;

    while (head < queue->tail)
    {
        worker = queue->slots[head % MAX_WORKERS];
        /* on failure head becomes what it is now */
        if (atomic_compare_exchange_weak( &queue->head, &head, head + 1 )) return worker;
    }
    return NULL;
}

/* ---- schedulers ---- */

static void *user_of( PUMS_CONTEXT context )
{
    void *user = NULL;

    QueryUmsThreadInformation( context, UmsThreadUserContext, &user, sizeof(user), NULL );
    return user;
}

/* There is more to do than we can: one colleague that waits, if there is any. He first says that he
   is idle and then looks at our queue, we put and then look whether he is idle: one of us sees the
   other. */
static void wake_one( void )
{
    unsigned int i;

    for (i = 0; i < scheduler_count; i++)
    {
        if (!schedulers[i].idle || !atomic_exchange( &schedulers[i].idle, 0 )) continue;
        SetEvent( schedulers[i].wake );
        return;
    }
}

static void see_end( struct worker *worker )
{
    unsigned int i;

    atomic_fetch_add( &worker->ended, 1 );
    if (atomic_fetch_sub( &alive, 1 ) > 1) return;
    for (i = 0; i < scheduler_count; i++) SetEvent( schedulers[i].wake );       /* all leave */
}

/* All that the system has, in one chain. The chain is emptied before any of it runs: what runs can
   block, and is linked again. */
static void collect( struct scheduler *self )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended;

    if (!DequeueUmsCompletionListItems( list, 0, &context )) return;
    for ( ; context; context = next)
    {
        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (ended) see_end( user_of( context ) );
        else queue_put( &self->ready, user_of( context ) );
    }
}

/* The colleagues in turn, beginning behind us: so not all thieves go to the same one. */
static struct worker *steal( struct scheduler *self )
{
    unsigned int i, first = self - schedulers;
    struct worker *worker;

    for (i = 1; i < scheduler_count; i++)
    {
        worker = queue_take( &schedulers[(first + i) % scheduler_count].ready );
        if (!worker) continue;
        self->stolen++;
        return worker;
    }
    return NULL;
}

static struct worker *find_work( struct scheduler *self )
{
    struct worker *worker;

    collect( self );
    worker = queue_take( &self->ready );
    return worker ? worker : steal( self );
}

/* Whoever waits says so, looks once more, and only then waits. */
static struct worker *wait_for_work( struct scheduler *self )
{
    HANDLE handles[2] = { self->wake, list_event };
    struct worker *worker;

    self->idle = 1;
    if (!(worker = find_work( self )) && alive)
        WaitForMultipleObjects( 2, handles, FALSE, INFINITE );
    self->idle = 0;
    return worker;
}

/* Entered from the top each time, on the same stack: what must last lies in *self. No lock, no heap,
   no printing: a worker may be off the processor with any of the locks behind them. */
static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct scheduler *self = param;
    struct worker *worker;

    if (reason == UmsSchedulerStartup)
        SetUmsThreadInformation( GetCurrentUmsThread(), UmsThreadUserContext, &self, sizeof(self) );
    else self = user_of( GetCurrentUmsThread() );
    /* A worker that yielded is ours to queue; one that blocked comes through the list. */
    if (reason == UmsSchedulerThreadYield)
        queue_put( &self->ready, user_of( (PUMS_CONTEXT)payload ) );

    while (alive)
    {
        if (!(worker = find_work( self )) && !(worker = wait_for_work( self ))) continue;
        if (self->ready.head < self->ready.tail) wake_one();
        self->executed++;
        ExecuteUmsThread( worker->context );
        /* Still here: the system has it locked for a moment (ERROR_RETRY). Nobody suspends workers
           in this program; sched.c shows what to do about those. */
        self->executed--;
        queue_put( &self->ready, worker );
    }
}

static DWORD WINAPI scheduler_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, scheduler_proc, arg };

    return EnterUmsSchedulingMode( &info ) ? 0 : GetLastError();
}

/* ---- main ---- */

static void fail( const char *what )
{
    printf( "steal: %s failed, error %lu; where there is no User-Mode Scheduling, start it as: "
            "umsrun steal.exe\n", what, GetLastError() );
    exit( 1 );
}

static void start( void )
{
    unsigned int i;

    if (!CreateUmsCompletionList( &list )) fail( "CreateUmsCompletionList" );
    if (!GetUmsCompletionListEvent( list, &list_event )) fail( "GetUmsCompletionListEvent" );
    alive = worker_count;
    working = worker_count - 1;
    for (i = 0; i < worker_count; i++)
    {
        workers[i].number = i;
        workers[i].thread = spawn_ums_worker( list, i == worker_count / 2 ? hog : work, &workers[i],
                                              &workers[i], &workers[i].context );
        if (!workers[i].thread) fail( "CreateRemoteThreadEx" );
    }
    /* All events before the first scheduler runs: it may wake any other. */
    for (i = 0; i < scheduler_count; i++)
        schedulers[i].wake = CreateEventW( NULL, FALSE, FALSE, NULL );
    for (i = 0; i < scheduler_count; i++)
        schedulers[i].thread = CreateThread( NULL, 0, scheduler_thread, &schedulers[i], 0, NULL );
}

static unsigned int finish( void )
{
    unsigned int i, wrong = 0;
    DWORD error;

    for (i = 0; i < scheduler_count; i++)
    {
        WaitForSingleObject( schedulers[i].thread, INFINITE );
        GetExitCodeThread( schedulers[i].thread, &error );
        if (error) wrong++;
        printf( "scheduler %u: executed %ld, of these %ld stolen\n", i, schedulers[i].executed,
                schedulers[i].stolen );
    }
    for (i = 0; i < worker_count; i++)
    {
        struct worker *worker = &workers[i];
        unsigned int slice = SLICE / 8 + i % SLICE;
        ULONG64 right = add_divisors( 1, i == worker_count / 2 ? SLICE : 1 + SLICES * slice );

        WaitForSingleObject( worker->thread, INFINITE );
        CloseHandle( worker->thread );
        if (!DeleteUmsThreadContext( worker->context ) || worker->ended != 1 || worker->sum != right)
            wrong++;
    }
    CloseHandle( list_event );
    DeleteUmsCompletionList( list );
    return wrong;
}

int main( int argc, char **argv )
{
    unsigned int wrong;

    if (argc > 1) scheduler_count = atoi( argv[1] );
    if (argc > 2) worker_count = atoi( argv[2] );
    if (scheduler_count < 2 || scheduler_count > MAX_SCHEDULERS || worker_count < 2 ||
        worker_count > MAX_WORKERS)
    {
        printf( "usage: steal [SCHEDULERS (2 to %d) [WORKERS (2 to %d)]]\n", MAX_SCHEDULERS,
                MAX_WORKERS );
        return 1;
    }
    start();
    wrong = finish();
    printf( "%u workers on %u schedulers: %s\n", worker_count, scheduler_count,
            wrong ? "WRONG" : "all sums are right" );
    return wrong != 0;
}
