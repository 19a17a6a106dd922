/*
 * Tasks: birth, delivery, death. All of it on any thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "stress.h"

struct task tasks[TASKS_MAX];
volatile LONG made, ended, killed, twice, buried, delivered, retries, refused;

static void bury( struct task *task );

/* ---- pins ---- */

BOOL task_pin( struct task *task )
{
    LONG pins = task->pins, seen;

    while (pins)
    {
        seen = InterlockedCompareExchange( &task->pins, pins + 1, pins );
        if (seen == pins) return TRUE;
        pins = seen;
    }
    return FALSE;
}

void task_unpin( struct task *task )
{
    if (!InterlockedDecrement( &task->pins )) bury( task );
}

BOOL task_meddle( struct task *task )
{
    LONG meddlers, seen;

    if (!task_pin( task )) return FALSE;
    for (meddlers = task->meddlers; meddlers >= 0 && task->thread; meddlers = seen)
        if ((seen = InterlockedCompareExchange( &task->meddlers, meddlers + 1, meddlers )) ==
            meddlers) return TRUE;
    task_unpin( task );
    return FALSE;
}

void task_leave_alone( struct task *task )
{
    InterlockedDecrement( &task->meddlers );
    task_unpin( task );
}

/* ---- birth and death ---- */

static void bury( struct task *task )
{
    if (!task->over) promise_broken( "buried alive", task, 0, 0 );
    if (!task->deleted && task->killable != DOOMED && !DeleteUmsThreadContext( task->context ))
        promise_broken( "a dead context cannot be deleted", task, GetLastError(), 0 );
    if (!CloseHandle( task->thread )) promise_broken( "its handle is bad", task, GetLastError(), 0 );
    InterlockedIncrement( &buried );
    InterlockedDecrement( &living );
    task->thread = NULL;
    if (task->killable != DOOMED) InterlockedExchange( &task->used, 0 );
}

void task_delete_killed( void )
{
    LONG i;

    for (i = 0; i < slot_count; i++)
    {
        if (!tasks[i].used) continue;
        if (!DeleteUmsThreadContext( tasks[i].context ))
            promise_broken( "a killed one cannot be deleted", &tasks[i], GetLastError(), 0 );
        tasks[i].used = 0;
    }
}

static HANDLE create_thread( struct task *task, PUMS_COMPLETION_LIST list, DWORD flags )
{
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, task->context, list };
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    HANDLE thread;

    if (!InitializeProcThreadAttributeList( attributes, 1, 0, &size ) ||
        !UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                    sizeof(ums), NULL, NULL )) return NULL;
    thread = CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0x10000, worker_life, task,
                                   flags | STACK_SIZE_PARAM_IS_A_RESERVATION, attributes,
                                   &task->tid );
    DeleteProcThreadAttributeList( attributes );
    return thread;
}

static void reset( struct task *task, unsigned int *seed )
{
    task->seed = pick( seed, 1 << 24 );
    task->thread = NULL;
    task->queued = task->inside = task->over = task->deleted = 0;
    task->meddlers = task->killable = task->asleep = task->closed = 0;
    task->alert = 0;
    task->first_apcs = 0;
    task->held = NULL;
    task->frozen = 0;
    task->fragile = 1;
    task->goal = -1;
    task->steps = 0;
    task->wanted_steps = 1 + (LONG)pick( seed, 60 );
    task->executes = task->blocks = task->yields = task->deliveries = 0;
    task->at = '-';
    task->lives++;
}

static void WINAPI first_apc( ULONG_PTR param )
{
    struct task *task = (struct task *)param;

    if (GetCurrentUmsThread() != task->context || GetCurrentThreadId() != task->tid)
        promise_broken( "its first APC runs elsewhere", task, (ULONG_PTR)GetCurrentUmsThread(), GetCurrentThreadId() );
    if (task->tid & 4) UmsThreadYield( task );
    if (InterlockedDecrement( &task->first_apcs ) < 0) promise_broken( "more APCs than were queued", task, 0, 0 );
}

/* It does not run yet, and begins with what is queued and set here, if nobody resumes it meanwhile. */
static void change_start( struct task *task, unsigned int *seed )
{
    CONTEXT context;
    LONG apcs;

    if (pick( seed, 2 ) || InterlockedCompareExchange( &task->meddlers, -1, 0 )) return;
    context.ContextFlags = CONTEXT_FULL;
    if (pick( seed, 2 ) && (!GetThreadContext( task->thread, &context ) || context.Rcx != (ULONG_PTR)worker_life ||
                            context.Rdx != (ULONG_PTR)task || !SetThreadContext( task->thread, &context )))
        promise_broken( "a new worker's registers", task, context.Rcx, context.Rdx );
    apcs = (LONG)pick( seed, 3 );
    InterlockedExchange( &task->first_apcs, apcs );
    while (apcs--)
        if (!QueueUserAPC( first_apc, task->thread, (ULONG_PTR)task )) promise_broken( "no first APC", task, GetLastError(), 0 );
    InterlockedExchange( &task->meddlers, 0 );
}

/* The creator has a pin of its own: the worker may live, end and be delivered before its handle is stored. */
static BOOL give_life( struct task *task, unsigned int *seed )
{
    DWORD flags = pick( seed, 4 ) ? 0 : CREATE_SUSPENDED;
    PUMS_COMPLETION_LIST list = scheds[pick( seed, (unsigned int)sched_count )].list;
    HANDLE thread;

    reset( task, seed );
    if (!CreateUmsThreadContext( &task->context )) return FALSE;
    SetUmsThreadInformation( task->context, UmsThreadUserContext, &task, sizeof(task) );
    InterlockedExchange( &task->pins, 2 );
    InterlockedIncrement( &living );
    if (!(thread = create_thread( task, list, flags )))
    {
        promise_broken( "no worker", task, GetLastError(), 0 );
        task->pins = 0;
        InterlockedDecrement( &living );
        return FALSE;
    }
    task->thread = thread;
    InterlockedIncrement( &made );
    if (flags) change_start( task, seed );
    if (flags) wait_a_little( seed );
    if (flags && ResumeThread( thread ) == (DWORD)-1)
        promise_broken( "a new worker cannot be resumed", task, GetLastError(), 0 );
    task_unpin( task );
    return TRUE;
}

BOOL task_new( unsigned int *seed )
{
    LONG count = slot_count, first = (LONG)pick( seed, (unsigned int)count ), i;

    for (i = 0; i < count && living < task_count; i++)
    {
        struct task *task = &tasks[(first + i) % count];

        if (task->used || InterlockedCompareExchange( &task->used, 1, 0 )) continue;
        if (!stopping && give_life( task, seed )) return TRUE;
        InterlockedExchange( &task->used, 0 );
        return FALSE;
    }
    return FALSE;
}

/* Only one that may be killed where it is: it holds nothing then that others wait for. It cannot leave that place
   without giving the permission back. */
BOOL task_kill( struct task *task )
{
    if (slot_count > TASKS_MAX - 16) return FALSE;
    if (InterlockedCompareExchange( &task->killable, DOOMED, KILLABLE ) != KILLABLE) return FALSE;
    InterlockedIncrement( &slot_count );
    if (!TerminateThread( task->thread, KILLED ))
        promise_broken( "cannot be killed", task, GetLastError(), 0 );
    InterlockedIncrement( &killed );
    return TRUE;
}

/* SuspendThread returns before the thread has stopped, asking for its context waits for that. Who wakes sleepers may
   resume too much, this suspension too: so it is only counted upon if nobody else meddled from before it on, and the
   worker is awake, whom nobody sets out to wake. */
BOOL task_hold( struct task *task )
{
    LONG wakes = task->wakes;
    BOOL alone = task->meddlers == 1;
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL;
    if (SuspendThread( task->thread ) == (DWORD)-1) return FALSE;       /* it has just ended */
    if (GetThreadContext( task->thread, &context ) && !task->fragile)
    {
        if (alone && task->meddlers == 1 && task->wakes == wakes && !task->asleep)
            InterlockedExchange( &task->frozen, 1 );
        return TRUE;
    }
    ResumeThread( task->thread );
    return FALSE;
}

void task_let_go( struct task *task )
{
    InterlockedExchange( &task->frozen, 0 );
    ResumeThread( task->thread );
    task_leave_alone( task );
}

/* ---- delivery ---- */

struct task *task_of( PUMS_CONTEXT context )
{
    struct task *task = NULL;

    if (!QueryUmsThreadInformation( context, UmsThreadUserContext, &task, sizeof(task), NULL ))
        promise_broken( "a delivered context is none", NULL, (ULONG_PTR)context, GetLastError() );
    else if (!task || task->context != context)
        promise_broken( "a context of another life", task, (ULONG_PTR)context, 0 );
    else return task;
    return NULL;
}

void task_to_hub( struct task *task, LONG hub )
{
    struct task *head, *seen;

    if (InterlockedExchange( &task->queued, 1 ))
        promise_broken( "given to two who may execute it", task, 0, 0 );
    for (head = scheds[hub].hub;; head = seen)
    {
        task->next = head;
        seen = InterlockedCompareExchangePointer( (void *volatile *)&scheds[hub].hub, task, head );
        if (seen == head) return;
    }
}

struct task *hub_take( LONG hub )
{
    if (!scheds[hub].hub) return NULL;
    return InterlockedExchangePointer( (void *volatile *)&scheds[hub].hub, NULL );
}

/* What a killed one has suspended goes on: at once, because that one may have the pin that its burial waits for. */
static void let_held_go( struct task *task )
{
    struct task *held = task->held;

    task->held = NULL;
    if (held) task_let_go( held );
}

/* A worker that says that nobody meddles with it any more, and runs: so nobody has it to execute, and the context may
   be deleted the moment that it is seen. */
static void deliver_dead( struct task *task )
{
    LONG times = InterlockedIncrement( &task->over );

    if (times == 2 && task->killable == DOOMED)
    {
        InterlockedIncrement( &twice );
        return;
    }
    if (times != 1)
    {
        promise_broken( "came to its end again", task, (ULONG_PTR)times, 0 );
        return;
    }
    InterlockedIncrement( &ended );
    let_held_go( task );
    if (task->closed)
    {
        task->deleted = 1;
        if (!DeleteUmsThreadContext( task->context ))
            promise_broken( "cannot be deleted at once", task, GetLastError(), 0 );
    }
    task_unpin( task );
}

static void deliver( PUMS_CONTEXT context )
{
    struct task *task = task_of( context );
    BOOLEAN dead = 0;

    if (!task) return;
    InterlockedIncrement( &delivered );
    InterlockedIncrement( &task->deliveries );
    if (!QueryUmsThreadInformation( context, UmsThreadIsTerminated, &dead, sizeof(dead), NULL ))
        promise_broken( "no IsTerminated", task, GetLastError(), 0 );
    if (dead) deliver_dead( task );
    else if (task->over) promise_broken( "delivered after its end", task, 0, 0 );
    else
    {
        InterlockedIncrement( &task->pins );
        task_to_hub( task, task->goal >= 0 ? task->goal : task->index % sched_count );
    }
}

void task_deliver_all( PUMS_CONTEXT chain )
{
    PUMS_CONTEXT next;

    for (; chain; chain = next)
    {
        next = GetNextUmsListItem( chain );
        deliver( chain );
    }
}
