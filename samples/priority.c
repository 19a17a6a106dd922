/*
 * Priorities: the highest ready worker runs, workers that block give way, and nobody starves.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One scheduler, three levels. A worker that blocks in the kernel, here in a wait and in a critical
 * section, leaves the processor to others; when the system has put it on the completion list, it is
 * ready again in its level's queue.
 *
 * What the workers do is the case that strict priorities cannot solve: a low one holds a lock that
 * a high one wants, and two of middle level compute until the high one has had it. Strictly by
 * priority the low one would never run again. So a level that was passed over AGE_LIMIT times gets
 * one turn; take age() away and this program does not end. Exit status: 0 all as it should be, 1
 * not, or there is no UMS.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "ums.h"
#include "spawn.h"

#define LEVELS    3                     /* 0 is the highest */
#define AGE_LIMIT 8
#define ROUNDS    20

struct worker
{
    struct worker         *next;        /* in its level's queue */
    PUMS_CONTEXT           context;
    HANDLE                 thread;
    const char            *name;
    LPTHREAD_START_ROUTINE proc;
    unsigned int           level;
    unsigned int           first_turn;  /* counted from 1 */
    unsigned int           executed, yielded, blocked;
    BOOL                   ended;
};

struct level
{
    struct worker *head, *tail;
    unsigned int   passed_over;         /* turns of higher levels since its last one */
    unsigned int   aged;                /* turns it got for that */
};

static DWORD WINAPI high( void *arg );
static DWORD WINAPI middle( void *arg );
static DWORD WINAPI low( void *arg );

/* The scheduler's; only SchedulerProc touches them while it runs, so they need no lock. */
static struct level levels[LEVELS];
static struct worker workers[] =
{
    { .name = "low",     .proc = low,    .level = 2 },
    { .name = "middle1", .proc = middle, .level = 1 },
    { .name = "middle2", .proc = middle, .level = 1 },
    { .name = "high",    .proc = high,   .level = 0 },
};
static struct worker *current;
static unsigned int alive = ARRAYSIZE(workers), turns;
static PUMS_COMPLETION_LIST list;

/* The workers'. */
static CRITICAL_SECTION lock;
static HANDLE locked;                   /* auto-reset: low holds the lock */
static HANDLE unlocked;                 /* auto-reset: high had it */
static atomic_int high_done;
static unsigned int held, wrong;

/* ---- what the workers do ---- */

static DWORD WINAPI high( void *arg )
{
    int i;

    (void)arg;
    for (i = 0; i < ROUNDS; i++)
    {
        WaitForSingleObject( locked, INFINITE );        /* blocks: lower ones run */
        EnterCriticalSection( &lock );                  /* and again, until low lets go */
        if (held) wrong++;
        LeaveCriticalSection( &lock );
        SetEvent( unlocked );
    }
    high_done = 1;
    return 0;
}

static DWORD WINAPI middle( void *arg )
{
    volatile double x = 1;
    int i;

    (void)arg;
    while (!high_done)
    {
        for (i = 0; i < 1000; i++) x = x * 0.999 + 1;
        UmsThreadYield( NULL );
    }
    return 0;
}

static DWORD WINAPI low( void *arg )
{
    int i;

    (void)arg;
    for (i = 0; i < ROUNDS; i++)
    {
        EnterCriticalSection( &lock );
        held = 1;
        SetEvent( locked );
        /* Off the processor with the lock: now high waits for low, and middle could run for ever. */
        UmsThreadYield( NULL );
        UmsThreadYield( NULL );
        held = 0;
        LeaveCriticalSection( &lock );
        WaitForSingleObject( unlocked, INFINITE );
    }
    return 0;
}

/* ---- the policy ---- */

static void make_ready( struct worker *worker )
{
    struct level *level = &levels[worker->level];

    worker->next = NULL;
    if (level->head) level->tail->next = worker;
    else level->head = worker;
    level->tail = worker;
}

/* The lowest level that was passed over too often, if any. */
static struct level *age( void )
{
    int i;

    for (i = LEVELS - 1; i > 0; i--)
    {
        if (!levels[i].head || levels[i].passed_over < AGE_LIMIT) continue;
        levels[i].aged++;
        return &levels[i];
    }
    return NULL;
}

static struct worker *choose( void )
{
    struct level *level = age(), *other;
    struct worker *worker;

    if (!level)
        for (level = levels; level < levels + LEVELS && !level->head; level++) ;
    if (level == levels + LEVELS) return NULL;

    for (other = level + 1; other < levels + LEVELS; other++) if (other->head) other->passed_over++;
    level->passed_over = 0;
    worker = level->head;
    level->head = worker->next;
    return worker;
}

/* ---- the mechanism ---- */

static struct worker *worker_of( PUMS_CONTEXT context )
{
    struct worker *worker = NULL;

    QueryUmsThreadInformation( context, UmsThreadUserContext, &worker, sizeof(worker), NULL );
    return worker;
}

/* New workers, those whose call is over, those that have ended. */
static void collect( DWORD timeout )
{
    PUMS_CONTEXT context, next;

    if (!DequeueUmsCompletionListItems( list, timeout, &context )) return;
    for ( ; context; context = next)
    {
        struct worker *worker = worker_of( context );
        BOOLEAN ended;

        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (!ended) make_ready( worker );
        else
        {
            worker->ended = TRUE;
            alive--;
        }
    }
}

/* All have arrived: so the first turns show the priorities. */
static BOOL all_ready( void )
{
    unsigned int i, count = 0;
    struct worker *worker;

    for (i = 0; i < LEVELS; i++)
        for (worker = levels[i].head; worker; worker = worker->next) count++;
    return count == ARRAYSIZE(workers);
}

static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    (void)param;
    if (reason == UmsSchedulerStartup) while (!all_ready()) collect( INFINITE );
    else if (reason == UmsSchedulerThreadYield)
    {
        current->yielded++;
        make_ready( worker_of( (PUMS_CONTEXT)payload ) );
    }
    else current->blocked++;            /* or it has ended; the list will tell */

    for (;;)
    {
        /* Look before each choice: somebody of a higher level may have come back. */
        collect( 0 );
        if (!alive) return;
        if (!(current = choose()))
        {
            collect( INFINITE );        /* all are blocked */
            continue;
        }
        turns++;
        if (!current->first_turn) current->first_turn = turns;
        current->executed++;
        ExecuteUmsThread( current->context );
        /* Still here: ERROR_RETRY. (Nobody suspends workers here; see sched.c for those.) */
        current->executed--;
        make_ready( current );
    }
}

/* ---- main ---- */

static int fail( const char *what )
{
    printf( "priority: %s failed, error %lu; where there is no User-Mode Scheduling, start it as: "
            "umsrun priority.exe\n", what, GetLastError() );
    return 1;
}

/* First turns by level; everybody has ended; the lock was never seen held by two. */
static BOOL report( void )
{
    unsigned int i, j;
    BOOL right = !wrong;

    printf( "worker   level  first turn  executed  yielded  blocked\n" );
    for (i = 0; i < ARRAYSIZE(workers); i++)
    {
        struct worker *worker = &workers[i];

        printf( "%-8s %5u %11u %9u %8u %8u\n", worker->name, worker->level, worker->first_turn,
                worker->executed, worker->yielded, worker->blocked );
        if (!worker->ended) right = FALSE;
        for (j = 0; j < ARRAYSIZE(workers); j++)
            if (worker->level < workers[j].level && worker->first_turn > workers[j].first_turn)
                right = FALSE;
    }
    for (i = 1; i < LEVELS; i++) printf( "level %u: %u turns by age\n", i, levels[i].aged );
    if (!levels[LEVELS - 1].aged) right = FALSE;
    printf( right ? "as it should be\n" : "WRONG\n" );
    return right;
}

int main( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, scheduler_proc, NULL };
    unsigned int i;

    if (!CreateUmsCompletionList( &list )) return fail( "CreateUmsCompletionList" );
    InitializeCriticalSection( &lock );
    locked = CreateEventW( NULL, FALSE, FALSE, NULL );
    unlocked = CreateEventW( NULL, FALSE, FALSE, NULL );
    for (i = 0; i < ARRAYSIZE(workers); i++)
    {
        workers[i].thread = spawn_ums_worker( list, workers[i].proc, NULL, &workers[i],
                                              &workers[i].context );
        if (!workers[i].thread) return fail( "CreateRemoteThreadEx" );
    }

    info.CompletionList = list;
    if (!EnterUmsSchedulingMode( &info )) return fail( "EnterUmsSchedulingMode" );

    for (i = 0; i < ARRAYSIZE(workers); i++)
    {
        WaitForSingleObject( workers[i].thread, INFINITE );
        CloseHandle( workers[i].thread );
        if (!DeleteUmsThreadContext( workers[i].context )) wrong++;
    }
    DeleteUmsCompletionList( list );
    return !report();
}
