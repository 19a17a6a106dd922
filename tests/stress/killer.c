/*
 * Schedulers are terminated, and what they leave behind is found again.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker that ran on a terminated scheduler, or yielded to it and was not heard, comes to a completion list. But the
 * scheduler may also have been on its way into Execute, or out of it; then the worker is still the client's, who cannot
 * tell. A client on Windows could not, either. So this looks into the DLL's state words, which are only read.
 */
#include "stress.h"
#include "../../dlls/ntdll_ums/core/ums_core.h"

#define KILLS 6                                 /* in a round */

volatile LONG killing, scheds_killed;
LONG upcalls_not_noted;

/* The worker of the scheduler that was terminated last, with that one's pin. Main thread only, but for "ran". */
static struct
{
    struct task  *task;
    LONG          deliveries;
    volatile LONG ran;                          /* it was seen to run, so it must come */
    BOOL          ready;                        /* it was READY when these were read: */
    LONG          of_scheds[SCHEDS_MAX], of_tasks[TASKS_MAX];
} left;

static unsigned int state_of( const struct task *task )
{
    const struct ums_context *context = task->context;

    return (unsigned int)word_state( atomic_load( &context->word ) );
}

/* ---- any thread but its own ---- */

static BOOL somebody_creates( void )
{
    LONG i;

    for (i = 0; i < sched_count; i++) if (scheds[i].creating) return TRUE;
    return FALSE;
}

/* It is in a window, and cannot get out: all that it does is to store an upcall. It runs what it has executed, if that
   is not ready. */
static BOOL runs_its_worker( struct sched *sched )
{
    struct task *task = sched->current;
    unsigned int state;

    if (!task || sched->heard) return FALSE;
    state = state_of( task );
    return (state == WORKER_CARRIED || state == WORKER_RUNNING || state == WORKER_INKERNEL) && !sched->heard;
}

/* One at a time, and nobody leaves meanwhile: somebody has to run the workers. Not often: Wine 8.0 keeps the stack of a
   terminated thread, and a process may have only so many mappings. */
BOOL sched_kill( struct sched *sched )
{
    if (!allowed( 't' ) || scheds_killed >= KILLS || InterlockedCompareExchange( &away, 1, 0 )) return FALSE;
    if (!InterlockedCompareExchange( &killing, 1, 0 ))
    {
        if (!somebody_creates() &&
            InterlockedCompareExchange( &sched->killable, DOOMED, KILLABLE ) == KILLABLE)
        {
            left.ran = runs_its_worker( sched );
            sched->leaving = TERMINATED;
            InterlockedIncrement( &scheds_killed );
            if (!TerminateThread( sched->thread, KILLED ))
                promise_broken( "a scheduler cannot be terminated", NULL, GetLastError(), (ULONG_PTR)sched->index );
            return TRUE;
        }
        InterlockedExchange( &killing, 0 );
    }
    InterlockedExchange( &away, 0 );
    return FALSE;
}

/* ---- main thread ---- */

void sched_reap( struct sched *sched )
{
    struct task *task = sched->current;
    PUMS_CONTEXT chain = sched->chain;

    if (sched->leaving != TERMINATED || sched->killable != DOOMED) return;
    sched->killable = NOT_KILLABLE;
    sched->chain = NULL;
    task_deliver_all( chain );
    if (sched->dequeues & 1) InterlockedIncrement( &sched->dequeues );
    sched_hand_over( sched );
    if (task && sched->heard)
    {
        sched_take_upcall( sched );
        task = NULL;
    }
    if (task)
    {
        InterlockedDecrement( &sched->executes );
        InterlockedDecrement( &task->executes );
        sched->current = NULL;
    }
    if (task && sched->began)                   /* terminated between an upcall and its note of it: nobody tells what that was */
    {
        left.ran = FALSE;
        upcalls_not_noted++;
    }
    left.task = task;
    left.deliveries = sched->deliveries;
    left.ready = FALSE;
    if (!task) InterlockedExchange( &killing, 0 );
}

static void remember_dequeues( void )
{
    LONG i;

    for (i = 0; i < sched_count; i++) left.of_scheds[i] = scheds[i].dequeues;
    for (i = 0; i < TASKS_MAX; i++) left.of_tasks[i] = tasks[i].dequeues;
}

static BOOL dequeues_are_over( void )
{
    LONG i;

    for (i = 0; i < sched_count; i++)
        if ((left.of_scheds[i] & 1) && left.of_scheds[i] == scheds[i].dequeues) return FALSE;
    for (i = 0; i < TASKS_MAX; i++)
        if ((left.of_tasks[i] & 1) && left.of_tasks[i] == tasks[i].dequeues) return FALSE;
    return TRUE;
}

static void settled( void )
{
    left.task = NULL;
    InterlockedExchange( &killing, 0 );
}

/* Has its worker been delivered? Then the pin for executing it goes. One that is READY may have been taken off a list
   by somebody who is about to deliver it. When all who were about to do that at one moment are ready, it is nobody's:
   we execute it again. */
void sched_settle( unsigned int *seed )
{
    struct task *task = left.task;

    if (!task) return;
    if (task->deliveries != left.deliveries)
    {
        settled();
        task_unpin( task );
    }
    else if (state_of( task ) != WORKER_READY) left.ready = FALSE;
    else if (!left.ready)
    {
        left.ready = TRUE;
        remember_dequeues();
    }
    else if (dequeues_are_over() && task->deliveries == left.deliveries)
    {
        if (left.ran) promise_broken( "a terminated scheduler's worker is lost", task, 0, 0 );
        settled();
        task_to_hub( task, (LONG)pick( seed, (unsigned int)sched_count ) );
    }
}
