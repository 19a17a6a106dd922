/*
 * Who owns a worker: the protocol of docs/ownership.md, docs/carrying.md and docs/blocking.md, for
 * spin, which tries all the ways in which a few threads can go through it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is modelled: dlls/ntdll_ums/core/{scheduler,worker,carry,completion}.c, state.h, and of
 * hook_special.c, context.c and ke_carry.c what suspends and resumes. The state word is one number
 * here too: state, flags, both counts of suspensions; a step is one access to what threads share.
 *
 *   Home       a worker's home thread, and the worker itself while it runs at home (worker.c)
 *   Scheduler  a scheduler thread, and the worker that it carries (scheduler.c, carry.c), with a
 *              client that executes whatever yielded or was dequeued, and sleeps on its completion
 *              list when there is nothing (completion.c)
 *   Suspender  a plain thread that suspends a worker, may wait until its scheduler has got control
 *              back, and resumes it (hook_special.c, ke_carry.c). The same by a worker, and a worker
 *              that suspends itself, are in Home
 *   Holder     a plain thread that holds the first worker, as SetThreadContext does, and lets it go;
 *              with KILL it ends the worker's thread meanwhile (hold.c, worker_stop.c)
 *   Ender      another process that ends the first worker's thread (ENDED; ke_warden.c)
 *   Outside    another process that suspends and resumes the first worker (OUTSIDE; ke_signal.c,
 *              ke_warden.c). What its signal does in the home thread is in Home, the warden's part too
 *   Helper     takes the first worker off its scheduler when it sleeps for a page at home (FAULTS;
 *              ke_fault.c). That the scheduler has found it there is the helper's first look here
 *
 * A worker does ACTIONS things and ends. Each is a yield, a wait, a call that may block, or a call
 * that only has to be made at home; what and where, spin tries out.
 *
 * What has to hold:
 *   - Nothing is lost. No thread waits for ever: a state in which nobody can go on, and not all
 *     have ended, is an error to spin. No run is endless either (pan -l, there is no progress
 *     label), so every worker ends, dead on a list, and is dequeued.
 *   - A user part is resumed by one thread at a time (running).
 *   - Each execute is followed by exactly one upcall (awaits, given).
 *   - A worker that was handed to the client, by a yield or a completion list, can be executed; a
 *     linked one is not linked again (linked).
 *   - A long call is noticed, a suspended worker's scheduler gets control (a long call returns, and
 *     the suspender goes on, only after that). A worker that is suspended does nothing (halted).
 *
 * What is left out: contexts, lists and references being deleted and used again; killed
 * schedulers, and carriers that stand still while their worker is killed; the chain that a client walks
 * while a worker in it is killed (tests/killed.c); fibers; local calls; weaker orders of memory than one after the other. The grace period is over
 * whenever spin likes. A look that finds nothing to do is left out; so is a time-out of a list.
 * Stopping a carrier and putting it down at its base is one step (ke_preempt), trying that again is
 * waiting until it can be done. Sleeping on a token is waiting for it: who sets it wakes always.
 * Fields that nobody reads any more are cleared, so that spin sees fewer states.
 *
 * Of a resume that finds a suspension in the making only the waiting is modelled, not that it gives
 * up after a while (PATIENCE). Suspensions do not fail.
 *
 * MISTAKE_... seeds a mistake, which spin has to find. Many of them are what the code once did.
 */

#ifndef SCHEDULERS
#define SCHEDULERS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LISTS
#define LISTS 1                 /* 1: shared by all; 2: one for each scheduler */
#endif
#ifndef ACTIONS
#define ACTIONS 1               /* of the first worker */
#endif
#ifndef OTHER_ACTIONS
#define OTHER_ACTIONS 1
#endif
#ifndef SUSPENDERS
#define SUSPENDERS 0            /* threads that suspend and resume the first worker */
#endif
#ifndef HOLDERS
#define HOLDERS 0               /* threads that hold the first worker */
#endif
#ifndef SUSPENSIONS
#define SUSPENSIONS 1           /* each does so many */
#endif
#ifndef START
#define START 0                 /* 1: from the beginning of their threads */
#endif
#ifndef LATE_TOKENS
#define LATE_TOKENS 0
#endif
#ifndef POLLS
#define POLLS 0                 /* so often the first worker is executed by who was not given it */
#endif

/* Steps that only a suspension could come between are one step where nobody suspends. */
#ifdef ENDED
#define KILL
#endif
#if SUSPENDERS || HOLDERS || defined( OUTSIDE ) || defined( ENDED )
#define STOPPERS
#define TOGETHER
#else
#define TOGETHER atomic
#endif

/* ---- the state word ---- */

#define STARTING  1
#define QUEUED    2
#define READY     3
#define CARRIED   4
#define RUNNING   5
#define INKERNEL  6
#define BLOCKED   7
#define DEAD      8

#define HOME      16
#define STOPPED   32
#define PREEMPTED 64
#define PARKED    (HOME | STOPPED | PREEMPTED)
#define SUSPENDING      384     /* how many are suspending it now */
#define SUSPENDING_ONE  128
#define SUSPENDED       1536    /* how often it is suspended */
#define SUSPENDED_ONE   512
#define SUSPENDED_FOR_GOOD  1024         /* by whoever ends the thread: one suspender's count does not reach it */
#define HOLD            2048    /* somebody holds it */
#define FOREIGN         4096    /* another process has suspended it */
#define BARRED          (SUSPENDED | HOLD | FOREIGN)

#define STATE(word)          ((word) & 15)
#define COUNT(word)          (((word) & SUSPENDED) / SUSPENDED_ONE)
#define WITH(word, state)    (((word) & ~15) | (state))

#define HAS(set, w)          (((set) >> (w)) & 1)

short word[WORKERS] = (START -> STARTING : READY);
/* Each change of a word, but the first. With TRANSITIONS pan notes from what to what, and prints that when it has seen all
   states: a line for each, both as numbers. tests/tie/transitions.py makes the table of them by which the code is judged. */
#ifdef TRANSITIONS
c_decl {
    static unsigned char noted[8192][8192];
    static void __attribute__((destructor)) print_noted( void )
    {
        int i, j;
        for (i = 0; i < 8192; i++) for (j = 0; j < 8192; j++) if (noted[i][j]) printf( "word %d %d\n", i, j );
    }
}
hidden short was, is;
#define SET( w, value ) \
    d_step { was = word[w]; is = value; word[w] = is; c_code { noted[was][is] = 1; }; was = 0; is = 0 }
#else
#define SET( w, value )         word[w] = value
#endif

byte owner[WORKERS];            /* written by Execute */
byte list_of[WORKERS];          /* where it is queued next; written by Execute */
byte busy[WORKERS + 1];         /* the last: of who is no worker, nobody looks */
#ifdef SUSPENDS_SELF
bool self_suspending[WORKERS];
bool own_suspension;            /* the first worker's, counted and not resumed yet */
#define SELF_SUSPENDING( w ) self_suspending[w]
#else
#define SELF_SUSPENDING( w ) false
#endif
bool home_token[WORKERS] = LATE_TOKENS;     /* from an earlier life of its slot */

bool posted[SCHEDULERS];
bool watching[SCHEDULERS];
byte upcall[SCHEDULERS];        /* 0: Blocked, else Yield of worker upcall - 1 */
bool token[SCHEDULERS];

/* Numbers that are only ever compared with what they were: the sequence number in the word with
   that of the call which a scheduler has found, seq of a list with that which a waiter has read. So
   what is kept is whether they are still the same. */
bool same_call[SCHEDULERS];
bool same_seq[SCHEDULERS];
#ifdef FAULTS
bool same_fault;                /* the number in the first worker's word is that of the report */
bool in_fault;                  /* its home thread sleeps for a page */
#endif


/* ---- completion lists; 0: no worker, else worker + 1 ---- */

byte head[LISTS];
byte link[WORKERS];
byte waiters[LISTS];
bool asked[LISTS];
bool event[LISTS];
bool asleep[SCHEDULERS];

#define LIST(s)              ((s) % LISTS)

/* ---- threads ---- */

byte stopped[WORKERS];          /* how often the home thread is suspended, to the system */
bool in_user_code[WORKERS];     /* carried, and where it can be preempted */
bool put_down[WORKERS];         /* its carrier was put down at its base (ke_preempted) */
#ifdef OUTSIDE
bool signal;                    /* has come to the first worker's home thread */
bool handled;                   /* its handler waits until the suspension is over */
bool in_handler;               /* where it blocks signals: whoever stops the thread waits */
bool left_alone;                /* and the worker counts as suspended by its own process only */
#endif
#ifdef KILL
bool killed[WORKERS];           /* the home thread is no more */
bool kill_pending;              /* of the first worker */
#endif

/* ---- the worker as a program ---- */

#define PLAIN     0
#define IN_WAIT   1
#define IN_CALL   2

#if WORKERS > 1
byte left[WORKERS] = { ACTIONS, OTHER_ACTIONS };
#else
byte left[WORKERS] = ACTIONS;
#endif
byte where[WORKERS];            /* in its program: what its home thread finds when it goes on */

/* ---- the client ---- */

byte ready = (START -> 0 : (1 << WORKERS) - 1);    /* a bit for each worker that can be executed */
byte ended;                     /* so many were dequeued dead */
byte polls = POLLS;
#if defined( WORKER_RESUMES ) || defined( WORKER_SUSPENDS )
bool may_end;                   /* the second worker has resumed, or begun to suspend, the first */
#define MAY_END( w )         (w == 0 || may_end)
#else
#define MAY_END( w )         true
#endif

#define ALL_ENDED            (ended == WORKERS)

/* ---- for what has to hold ---- */

bool running[WORKERS];
byte awaits[SCHEDULERS];        /* worker + 1, from execute to upcall */
bool given[SCHEDULERS];         /* the right to that upcall is somebody's */
bool linked[WORKERS];
byte halted[WORKERS];

inline give( s, w )
{
    assert( awaits[s] == w + 1 && !given[s] );
    given[s] = true
}

#include "ums_lists.pml"
#include "ums_suspend.pml"
#include "ums_home.pml"
#include "ums_scheduler.pml"
