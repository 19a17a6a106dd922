/*
 * Plain threads that suspend, resume, kill, look, and make new workers, at moments that nobody has chosen.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "stress.h"

CRITICAL_SECTION sched_lock;

void wait_a_little( unsigned int *seed )
{
    unsigned int how = pick( seed, 8 ), i;

    if (how < 2) for (i = pick( seed, 1000 ); i; i--) YieldProcessor();
    else if (how < 4) SwitchToThread();
    else if (how < 5) Sleep( 1 );
    else if (how < 6) Sleep( 0 );
}

/* Twice, now and then: suspensions are counted. */
static void suspend( struct task *task, unsigned int *seed )
{
    BOOL twice = !pick( seed, 4 );
    CONTEXT context;

    if (SuspendThread( task->thread ) == (DWORD)-1) return;     /* it has just ended */
    wait_a_little( seed );
    if (twice && SuspendThread( task->thread ) == (DWORD)-1) twice = FALSE;
    context.ContextFlags = CONTEXT_FULL;
    if (pick( seed, 2 )) GetThreadContext( task->thread, &context );
    wait_a_little( seed );
    ResumeThread( task->thread );
    if (twice) ResumeThread( task->thread );
}

/* A collector that finds out that it must be ended does that at once. */
static void suspend_scheduler( struct sched *sched, unsigned int *seed )
{
    EnterCriticalSection( &sched_lock );
    if (SuspendThread( sched->thread ) != (DWORD)-1)
    {
        wait_a_little( seed );
        if (!pick( seed, 16 )) sched_kill( sched );
        ResumeThread( sched->thread );
    }
    LeaveCriticalSection( &sched_lock );
}

/* Those that have suspended themselves. It is repeated until they say that they go on. */
static void wake_sleepers( void )
{
    LONG i;

    for (i = 0; i < slot_count; i++)
    {
        if (!tasks[i].asleep || !task_meddle( &tasks[i] )) continue;
        if (tasks[i].asleep)
        {
            InterlockedIncrement( &tasks[i].wakes );    /* who holds it meanwhile looks at that */
            ResumeThread( tasks[i].thread );
        }
        task_leave_alone( &tasks[i] );
    }
}

/* Each wait for an alert gets one: by a worker, or by us. */
static void alert_all( void )
{
    LONG i;

    for (i = 0; i < slot_count; i++)
    {
        if (!tasks[i].alert || !task_meddle( &tasks[i] )) continue;
        alert_task( &tasks[i] );
        task_leave_alone( &tasks[i] );
    }
}

/* What a collector does: the meddler stands still wherever it is, in the middle of a suspension or of a kill, and
   others can be suspended meanwhile. The main thread: it takes no lock, and waits for nobody, until the meddler goes on. */
void meddler_stop( HANDLE meddler, unsigned int *seed )
{
    struct task *task = &tasks[pick( seed, (unsigned int)slot_count )];
    unsigned int i;

    if (!allowed( 'm' ) || SuspendThread( meddler ) == (DWORD)-1) return;
    for (i = pick( seed, 3 ); i; i--)
    {
        if (!task_meddle( task )) continue;
        suspend( task, seed );
        task_leave_alone( task );
    }
    ResumeThread( meddler );
}

static void look( struct task *task )
{
    BOOLEAN flag;
    void *value;

    QueryUmsThreadInformation( task->context, UmsThreadIsSuspended, &flag, sizeof(flag), NULL );
    QueryUmsThreadInformation( task->context, UmsThreadTeb, &value, sizeof(value), NULL );
}

DWORD WINAPI meddler_thread( void *arg )
{
    unsigned int seed = (unsigned int)(ULONG_PTR)arg;

    while (!stopping || living)
    {
        struct task *task = &tasks[pick( &seed, (unsigned int)slot_count )];
        unsigned int what = pick( &seed, 32 );

        wake_sleepers();
        if (!pick( &seed, 512 )) sched_kill( &scheds[pick( &seed, (unsigned int)sched_count )] );
        if (what < 7) SetEvent( task->event );
        else if (what < 8) alert_anybody( task );
        else if (what < 10) alert_all();
        else if (what < 12) task_new( &seed );
        else if (what < 13 && allowed( 'c' ))
            suspend_scheduler( &scheds[pick( &seed, (unsigned int)sched_count )], &seed );
        else if (what < 24 && task_meddle( task ))
        {
            if (what < 19 && allowed( 's' )) suspend( task, &seed );
            else if (what < 21 && allowed( 'k' )) task_kill( task );
            else look( task );
            task_leave_alone( task );
        }
        else wait_a_little( &seed );
    }
    return 0;
}
