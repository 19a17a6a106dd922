/*
 * Random load on the DLLs: what the parts of the program share.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A task is a slot that lives one worker's life after the other. It is pinned by its life (dropped when its context was
 * delivered as terminated), by whoever has it to execute, from the delivery to the upcall, and by those who do
 * something to it. Who drops the last pin buries it: so nobody ever uses the handle or context of another life, and a
 * client's own mistakes are no part of what is tried here.
 *
 * One mistake nobody can avoid who kills workers: one that is taken off a list alive, and killed before the client
 * looks, is seen terminated then, and again when it comes as dead. A client that has deleted it at once has deleted what
 * is still on a list. So what was killed is deleted when the round is over, and its slot not used again before.
 *
 * A scheduler may be terminated where it loses nothing that only it knows: in Execute, Dequeue and its wait. The main
 * thread does what is left to do for it then, as a client would (killer.c).
 *
 * Nothing here waits for a lock that a worker may hold, except workers for each other.
 */
#ifndef TESTS_STRESS_H
#define TESTS_STRESS_H

#include <windows.h>
#include "ums.h"

#define TASKS_MAX  512
#define SCHEDS_MAX 8
#define KILLED     0xdead
#define ENDED_WELL 0x600d

/* --without=LETTERS */
extern const char *without;
BOOL allowed( char letter );                    /* k kill, s suspend, l leave, c suspend schedulers, m meddlers, w waits, n new
                                                   ones by workers, r registers, a waits.c, t terminate schedulers */

enum                                            /* task.killable */
{
    NOT_KILLABLE,
    KILLABLE,                                   /* it holds nothing that others wait for */
    DOOMED
};

struct task
{
    LONG          index;
    HANDLE        event;                        /* auto reset, for all lives */
    volatile LONG used;                         /* the slot has a life, or is being given one */
    volatile LONG lives;

    /* of this life */
    PUMS_CONTEXT  context;
    HANDLE volatile thread;
    DWORD         tid;
    unsigned int  seed;
    volatile LONG pins;
    volatile LONG queued;                       /* somebody has it to execute: in a hub or a scheduler's queue */
    volatile LONG inside;                       /* how many threads are running its body: at most one */
    volatile LONG over;                         /* how often delivered as terminated */
    volatile LONG deleted;                      /* its context is, as early as a client may */
    volatile LONG meddlers;                     /* who suspend or kill it; -1: nobody may any more */
    volatile LONG killable;
    volatile LONG asleep;                       /* it has suspended itself, or is about to */
    volatile LONG closed;                       /* meddlers is -1 */
    volatile LONG fragile;                      /* it may be where suspending it for long stops those who would have to
                                                   resume it: in Wine's malloc, in the loader */
    volatile LONG frozen;                       /* suspended, and nobody else may resume it */
    volatile LONG alert;                        /* waits.c */
    volatile LONG first_apcs;                   /* queued to it before it begins, and not run yet */
    volatile LONG wakes;                        /* how often somebody set out to wake it */
    volatile LONG dequeues;                     /* odd: from before a Dequeue to after the delivery */
    struct task *volatile held;                 /* pinned and suspended by this one, or about to be */
    LONG          goal;                         /* the hub of its next yield */
    LONG          steps, wanted_steps;
    volatile LONG executes, blocks, yields, deliveries;
    char volatile at;                           /* what it is doing, for the report */

    struct task *volatile next;                 /* in a hub */
};

struct sched
{
    LONG          index;
    PUMS_COMPLETION_LIST list;
    HANDLE        event;                        /* of the list */
    struct task *volatile hub;                  /* what others hand over */
    HANDLE volatile thread;
    DWORD         tid;
    PUMS_CONTEXT  own;
    unsigned int  seed;
    struct task  *current;                      /* between Execute and the upcall */
    struct task  *held;                         /* pinned, suspended by this scheduler */
    struct task  *queue[TASKS_MAX];
    LONG          count;
    LONG          stay;                         /* upcalls until it leaves */
    volatile LONG leaving;                      /* how: enum */
    volatile LONG killable;                     /* as a task is */
    volatile LONG creating;                     /* in task_new */
    volatile LONG dequeues;                     /* as a task's */
    PUMS_CONTEXT volatile chain;                /* what a Dequeue gave, until it is delivered */
    LONG          deliveries;                   /* of current, when it was executed */
    volatile LONG began;                        /* SchedulerProc has begun; its thread alone writes this, and is gone when it is read */
    volatile LONG heard;                        /* the upcall has come */
    RTL_UMS_SCHEDULER_REASON reason;            /* of it, and: */
    ULONG_PTR     payload;
    void         *param;
    volatile LONG executes, upcalls, entries;
    char volatile at;
};

enum                                            /* sched.leaving */
{
    STAY,
    COME_BACK,                                  /* returns from SchedulerProc and enters again */
    GO_AWAY,                                    /* returns, and its thread ends */
    EXIT_THREAD,                                /* in its SchedulerProc */
    TERMINATED                                  /* by killer.c */
};

extern struct task tasks[TASKS_MAX];
extern struct sched scheds[SCHEDS_MAX];
extern LONG task_count, sched_count;             /* workers at a time, schedulers */
extern volatile LONG slot_count;                /* slots in use up to now: each kill takes one */
extern DWORD tls;
extern volatile LONG stopping;                  /* no new lives */
extern volatile LONG living;                    /* slots in use */
extern volatile LONG progress;                  /* steps of workers. Not executes: one that never runs is executed again
                                                   after each suspension */
extern volatile LONG broken;

/* A promise was not kept: remembered, printed by the main thread. Any thread. */
void promise_broken( const char *what, const struct task *task, ULONG_PTR a, ULONG_PTR b );

static inline unsigned int pick( unsigned int *seed, unsigned int below )
{
    *seed = *seed * 1664525 + 1013904223;
    return (unsigned int)(((unsigned long long)(*seed >> 8) * below) >> 24);
}

/* ---- task.c: any thread ---- */

extern volatile LONG made, ended, killed, twice, buried, delivered, retries, refused;
BOOL task_new( unsigned int *seed );            /* in a free slot; FALSE if there is none */
BOOL task_pin( struct task *task );             /* FALSE if it is buried */
void task_unpin( struct task *task );
BOOL task_meddle( struct task *task );          /* pins; FALSE: it is too late */
void task_leave_alone( struct task *task );
void task_delete_killed( void );                /* at the end of a round */
void task_deliver_all( PUMS_CONTEXT chain );    /* from a list, into hubs */
void task_to_hub( struct task *task, LONG hub ); /* the caller's pin goes with it */
struct task *hub_take( LONG hub );              /* all of it, a chain */
BOOL task_kill( struct task *task );
/* It stands still for as long as the caller wants, or is not suspended. The caller meddles with it. */
BOOL task_hold( struct task *task );
void task_let_go( struct task *task );          /* and meddle no more */
struct task *task_of( PUMS_CONTEXT context );

/* ---- worker.c ---- */

extern volatile LONG lock_sum, apc_sum, token_sum;
extern LONG lock_wanted, apc_wanted, token_wanted;
BOOL worker_init( void );
void worker_free( void );
BOOL worker_sums_fit( void );
void worker_print_sums( void );
DWORD WINAPI worker_life( void *arg );

/* ---- waits.c ---- */

BOOL waits_init( void );
BOOL waits_sums_fit( void );
void wait_take_gate( struct task *task );
void wait_leave_gate( void );
void wait_take_address( struct task *task );
void wait_leave_address( void );
unsigned int wait_take_object( struct task *task );     /* which to give back */
void wait_leave_object( struct task *task, unsigned int which );
void wait_at_door( struct task *task );
void close_door( struct task *task );           /* and then open it */
void open_door( struct task *task );
void wait_for_pulse( struct task *task );
void pulse( struct task *task );
void wait_for_alert( struct task *task );
void wait_for_key( struct task *task );
void wait_for_nothing( struct task *task );
void alert_task( struct task *task );           /* if it waits for one, or for its key */
void alert_anybody( struct task *task );

/* ---- sched.c ---- */

DWORD WINAPI sched_thread( void *arg );
void sched_let_go( struct sched *sched );       /* it, or the main thread if it is dead; so the next two */
void sched_take_upcall( struct sched *sched );
void sched_hand_over( struct sched *sched );
extern volatile LONG away;                      /* a scheduler is on its way out or in: one at a time */

/* ---- meddler.c ---- */

extern CRITICAL_SECTION sched_lock;             /* of plain threads: sched.thread is not closed */
DWORD WINAPI meddler_thread( void *arg );
/* Main thread: suspend a meddler for a moment, and workers meanwhile. */
void meddler_stop( HANDLE meddler, unsigned int *seed );
void wait_a_little( unsigned int *seed );

/* ---- killer.c ---- */

extern volatile LONG killing, scheds_killed;    /* killing: from before it to the moment that nothing is left to do */
extern LONG upcalls_not_noted;                  /* terminations, in all rounds, in the middle of an upcall's beginning */
BOOL sched_kill( struct sched *sched );         /* any thread but itself; FALSE: not now */
void sched_reap( struct sched *sched );         /* main thread; its thread has ended */
void sched_settle( unsigned int *seed );        /* main thread */

/* ---- report.c ---- */

void report( const char *why );

#endif /* TESTS_STRESS_H */
