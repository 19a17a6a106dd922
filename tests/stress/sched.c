/*
 * Schedulers: execute what they have in random order, suspend, kill, make and steal; leave, and enter again.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each activation of SchedulerProc begins at the same stack base, so all that lasts is in struct sched.
 */
#include "stress.h"

struct sched scheds[SCHEDS_MAX];
volatile LONG away;

#define IDLE_MS 2

void sched_let_go( struct sched *sched )
{
    struct task *held = sched->held;

    if (!held) return;
    sched->held = NULL;
    task_let_go( held );
}

/* From here on it may be terminated, to the end of the window: what it has and knows is all in its struct sched. */
static void window( struct sched *sched )
{
    if (allowed( 't' )) InterlockedExchange( &sched->killable, KILLABLE );
}

static void no_window( struct sched *sched )
{
    if (InterlockedCompareExchange( &sched->killable, NOT_KILLABLE, KILLABLE ) != DOOMED) return;
    for (;;) Sleep( INFINITE );
}

/* ---- what came back ---- */

static void check_self( struct sched *sched )
{
    if (GetCurrentThreadId() != sched->tid)
        promise_broken( "scheduler: wrong thread id", NULL, GetCurrentThreadId(), sched->tid );
    if (GetCurrentUmsThread() != sched->own)
        promise_broken( "scheduler: wrong context", NULL, (ULONG_PTR)GetCurrentUmsThread(),
                        (ULONG_PTR)sched->own );
}

/* Each Execute is followed by one upcall. What blocked is nobody's now, and may run elsewhere already; what yielded is
   ours. */
void sched_take_upcall( struct sched *sched )
{
    RTL_UMS_SCHEDULER_REASON reason = sched->reason;
    struct task *task = sched->current;
    ULONG_PTR payload = sched->payload;
    void *param = sched->param;

    sched->current = NULL;
    InterlockedIncrement( &sched->upcalls );
    if (!task)
    {
        promise_broken( "an upcall without an execute", NULL, reason, payload );
        return;
    }
    if (reason == UmsSchedulerThreadYield)
    {
        InterlockedIncrement( &task->yields );
        if (payload != (ULONG_PTR)task->context || param != task)
            promise_broken( "another one's yield", task, payload, (ULONG_PTR)param );
        else task_to_hub( task, task->goal >= 0 ? task->goal : sched->index );
        return;                                 /* with our pin */
    }
    if (reason != UmsSchedulerThreadBlocked || payload > 1 || param)
        promise_broken( "a bad upcall", task, reason, payload );
    InterlockedIncrement( &task->blocks );
    task_unpin( task );
}

/* ---- what to do next ---- */

static void fetch( struct sched *sched, LONG hub )
{
    struct task *task = hub_take( hub );

    for (; task; task = task->next) sched->queue[sched->count++] = task;
}

static void poll_list( struct sched *sched, PUMS_COMPLETION_LIST list, DWORD ms )
{
    PUMS_CONTEXT chain;
    BOOL good;

    sched->chain = NULL;
    InterlockedIncrement( &sched->dequeues );
    window( sched );
    good = DequeueUmsCompletionListItems( list, ms, (PUMS_CONTEXT *)&sched->chain );
    no_window( sched );
    chain = sched->chain;
    sched->chain = NULL;
    if (!good && !(ms && GetLastError() == ERROR_TIMEOUT && !chain))
        promise_broken( "Dequeue failed", NULL, GetLastError(), (ULONG_PTR)sched->index );
    task_deliver_all( chain );
    InterlockedIncrement( &sched->dequeues );
}

static void find_work( struct sched *sched )
{
    LONG other = (LONG)pick( &sched->seed, (unsigned int)sched_count );

    poll_list( sched, sched->list, 0 );
    fetch( sched, sched->index );
    if (sched->count && pick( &sched->seed, 8 )) return;
    poll_list( sched, scheds[other].list, 0 );
    fetch( sched, other );
    if (sched->count) return;

    sched_let_go( sched );
    sched->at = 'i';
    if (pick( &sched->seed, 2 ))
    {
        window( sched );
        WaitForSingleObject( sched->event, IDLE_MS );
        no_window( sched );
        poll_list( sched, sched->list, 0 );
    }
    else poll_list( sched, sched->list, IDLE_MS );
    sched->at = 's';
}

/* Not while another scheduler is being terminated: its worker may be in Wine's malloc, and then only schedulers that
   do not wait for that can get it out. */
static void make_one( struct sched *sched )
{
    InterlockedExchange( &sched->creating, 1 );
    if (!killing) task_new( &sched->seed );
    InterlockedExchange( &sched->creating, 0 );
}

/* Somebody may be suspended from one activation to another. */
static void meddle( struct sched *sched )
{
    struct task *task = &tasks[pick( &sched->seed, (unsigned int)slot_count )];

    switch (pick( &sched->seed, 64 ))
    {
    case 0:
        if (sched->held || !allowed( 's' ) || !task_meddle( task )) break;
        sched->at = 'S';
        if (task_hold( task )) sched->held = task;
        else task_leave_alone( task );
        break;
    case 1:
        if (!allowed( 'k' ) || pick( &sched->seed, 4 ) || !task_meddle( task )) break;
        sched->at = 'K';
        task_kill( task );
        task_leave_alone( task );
        break;
    case 2: case 3: case 4:
        sched->at = 'N';
        make_one( sched );
        break;
    case 5: case 6: case 7:
        sched_let_go( sched );
        break;
    case 8:
        sched->at = 'T';
        if (!pick( &sched->seed, 32 )) sched_kill( &scheds[pick( &sched->seed, (unsigned int)sched_count )] );
        break;
    }
    sched->at = 's';
}

static struct task *choose( struct sched *sched )
{
    LONG i = (LONG)pick( &sched->seed, (unsigned int)sched->count );
    struct task *task = sched->queue[i];

    sched->queue[i] = sched->queue[--sched->count];
    if (!InterlockedExchange( &task->queued, 0 )) promise_broken( "lost from a queue", task, 0, 0 );
    return task;
}

/* Returns if it fails. We alone have it, so it can run nowhere else; a suspended one does not come by itself [seen],
   so it is tried again. */
static void execute( struct sched *sched, struct task *task )
{
    BOOLEAN dead = 0;
    DWORD error;

    sched->current = task;
    InterlockedIncrement( &sched->executes );
    InterlockedIncrement( &task->executes );
    sched->at = 'x';
    sched->began = sched->heard = 0;
    sched->deliveries = task->deliveries;
    window( sched );
    ExecuteUmsThread( task->context );
    error = GetLastError();
    no_window( sched );
    sched->at = 's';
    sched->current = NULL;
    InterlockedDecrement( &sched->executes );
    InterlockedDecrement( &task->executes );
    if (error == ERROR_RETRY) InterlockedIncrement( &retries );
    else if (error == ERROR_INVALID_PARAMETER) InterlockedIncrement( &refused );
    else promise_broken( "Execute failed", task, error, 0 );
    if (!QueryUmsThreadInformation( task->context, UmsThreadIsTerminated, &dead, 1, NULL ))
        promise_broken( "no IsTerminated after Execute", task, GetLastError(), 0 );
    if (dead) task_unpin( task );               /* it was killed; comes from a list */
    else task_to_hub( task, (LONG)pick( &sched->seed, (unsigned int)sched_count ) );
}

/* ---- leaving ---- */

void sched_hand_over( struct sched *sched )
{
    struct task *task;

    sched_let_go( sched );
    while (sched->count)
    {
        task = sched->queue[--sched->count];
        InterlockedExchange( &task->queued, 0 );
        task_to_hub( task, (LONG)pick( &sched->seed, (unsigned int)sched_count ) );
    }
}

/* One at a time: somebody has to run the workers that the one who leaves waits for. */
static BOOL wants_to_leave( struct sched *sched )
{
    if (stopping && !living) sched->leaving = GO_AWAY;
    else if (--sched->stay > 0 || !allowed( 'l' )) return FALSE;
    else if (InterlockedCompareExchange( &away, 1, 0 )) return FALSE;
    else sched->leaving = COME_BACK + (LONG)pick( &sched->seed, 3 );
    sched_hand_over( sched );
    return TRUE;
}

/* As TlsGetValue, without a call. */
static inline struct sched *own_sched( void )
{
    struct sched *sched;

    __asm__( "movq %%gs:0x1480(,%1,8),%0" : "=r" (sched) : "r" ((ULONG_PTR)tls) );      /* TEB.TlsSlots */
    return sched;
}

static void WINAPI schedule( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    struct sched *sched = own_sched();

    sched->began = 1;                           /* as early as can be: see sched_reap */
    sched->reason = reason;
    sched->payload = payload;
    sched->param = param;
    InterlockedExchange( &sched->heard, 1 );
    no_window( sched );
    sched->at = 's';
    if (reason == UmsSchedulerStartup)
    {
        sched->own = GetCurrentUmsThread();
        sched->stay = 50 + (LONG)pick( &sched->seed, 2000 );
        if (InterlockedExchange( &sched->leaving, STAY )) InterlockedExchange( &away, 0 );
        InterlockedIncrement( &sched->entries );
        if (param != sched || payload) promise_broken( "a bad startup", NULL, payload, 0 );
    }
    else sched_take_upcall( sched );
    check_self( sched );
    for (;;)
    {
        if (wants_to_leave( sched )) break;
        find_work( sched );
        meddle( sched );
        if (sched->count) execute( sched, choose( sched ) );
    }
    sched->at = 'l';
    if (sched->leaving == EXIT_THREAD) ExitThread( 0 );
}

DWORD WINAPI sched_thread( void *arg )
{
    struct sched *sched = arg;
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, sched->list, schedule, sched };

    sched->tid = GetCurrentThreadId();
    TlsSetValue( tls, sched );
    do
    {
        sched->at = 'e';
        if (!EnterUmsSchedulingMode( &info ))
            promise_broken( "cannot enter", NULL, GetLastError(), 0 );
        if (GetCurrentUmsThread()) promise_broken( "still a scheduler", NULL, 0, 0 );
        if (GetCurrentThreadId() != sched->tid || TlsGetValue( tls ) != sched)
            promise_broken( "left as another thread", NULL, GetCurrentThreadId(), sched->tid );
    }
    while (sched->leaving == COME_BACK);
    sched->at = '.';
    return 0;
}
