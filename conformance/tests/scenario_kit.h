/*
 * What the scenario tests share: workers, schedulers and a plain round-robin scheduler loop.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A test is one process, so there is one kit and it is static. Workers and SchedulerProc print
 * nothing, check nothing and allocate nothing; they count, and kit_check() on the main thread
 * judges. A fully general client would do less: every count here exists because some row of the
 * specification says what it must be.
 */
#ifndef SCENARIO_KIT_H
#define SCENARIO_KIT_H

#include "../umstest.h"
#include "../probe.h"

#define KIT_LIMIT   WAIT_BOUND      /* of every wait */
#define KIT_WORKERS 512
#define KIT_SCHEDS  4
#define KIT_LOG     128             /* upcalls remembered one by one; all are counted */

struct kit_sched;

struct kit_worker
{
    PUMS_CONTEXT context;           /* NULL once it was deleted */
    HANDLE thread;                  /* NULL if closed at the end (kit.close_early) */
    DWORD id;                       /* what CreateRemoteThreadEx told */
    DWORD (*body)( struct kit_worker *worker );
    void *arg;
    int index;

    struct kit_worker *next;        /* ready queue or inbox */
    struct kit_sched *volatile goal;/* where its next yield sends it; kit_nowhere: it is parked */
    struct kit_sched *volatile last;/* the scheduler that executed it last */

    volatile LONG executes;         /* successful ones */
    volatile LONG yields;           /* Yield upcalls with it */
    volatile LONG yields_made;      /* UmsThreadYield calls that returned TRUE */
    volatile LONG yields_failed;
    volatile LONG blocks;           /* Blocked upcalls while it was the executed one */
    volatile LONG queued;           /* deliveries from a list, the first and the last included */
    volatile LONG terminated;       /* deliveries with IsTerminated TRUE */
    volatile LONG suspended;        /* executes that failed for suspension */
    volatile LONG parked;           /* yielded to kit_nowhere and its upcall has run */
    volatile LONG ended;            /* its body returned */
    LONG unexecuted;                /* it ran when its scheduler had heard that it does not */
    DWORD own_id;                   /* what it found itself at its begin */
    LONG elsewhere;                 /* it found another one later */
    volatile ULONG_PTR payload;     /* of the last Blocked upcall */
    PUMS_COMPLETION_LIST list;      /* where it was delivered last */
    volatile LONG deleted;          /* DeleteUmsThreadContext said TRUE */
};

struct kit_upcall
{
    LONG reason;
    ULONG_PTR payload;
    PVOID param;
    ULONG_PTR rsp;                  /* at the first instruction of SchedulerProc */
    DWORD thread_id;
    PUMS_CONTEXT self;              /* GetCurrentUmsThread */
    struct kit_worker *worker;      /* the one executed before */
};

struct kit_sched
{
    int index;
    PUMS_COMPLETION_LIST list;
    HANDLE thread;
    DWORD id;
    HANDLE events[3];               /* list, wake (auto), all done (manual), in this order */
    struct kit_worker *current;
    struct kit_worker *volatile inbox;
    struct kit_worker *first, *last;/* ready, FIFO */
    struct kit_worker *polled;      /* suspended when executed */

    /* Hooks, all called inside SchedulerProc, all optional. Upcall: TRUE = return from
       SchedulerProc at once. Item: TRUE = the delivered worker was taken care of. */
    BOOL (*on_upcall)( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param );
    BOOL (*on_item)( struct kit_sched *sched, struct kit_worker *worker );
    void *arg;
    volatile LONG leave;            /* return from SchedulerProc at the next chance */

    LONG upcalls, startups, blocked, yielded;
    struct kit_upcall log[KIT_LOG];
    LONG bad_payloads;              /* Blocked with something else than 0 and 1, NULL param */
    LONG bad_yields;                /* Yield whose payload is not the worker that was executed */
    LONG bad_stacks;                /* upcall off the first one's stack pointer, or misaligned */
    LONG bad_identity;              /* thread id, TEB or own context not the scheduler's */
    LONG bad_executes;              /* failed and neither RETRY nor terminated nor suspended */
    DWORD bad_error;
    DWORD execute_error;            /* of the last Execute that failed for good */
    LONG retries, refused;
    LONG no_error;                  /* failed with last error 0 (D3) */
    LONG failed_dequeues;
    LONG strangers;                 /* items without a known user context */
    LONG timeouts;                  /* nothing happened for KIT_LIMIT */
    LONG bad_waits;                 /* its wait gave what no wait may give */
    DWORD wait_ret, wait_error;
    volatile LONG entered;          /* Startup was seen */
    BOOL stays;                     /* it ends inside SchedulerProc: no judgement on leaving */
    volatile LONG left;             /* EnterUmsSchedulingMode returned */
    BOOL enter_ret;
    DWORD enter_error;
    PUMS_CONTEXT own;               /* its context inside */
    PUMS_CONTEXT after;             /* GetCurrentUmsThread after it left; must be NULL */
    void *teb;
};

struct kit
{
    DWORD tls;
    HANDLE done;                    /* manual: no worker lives and nobody holds the kit */
    volatile LONG live;             /* workers that were not delivered terminated, plus one hold */
    BOOL close_early;               /* CloseHandle and delete at once, as ConcRT does (B18) */
    SIZE_T stack;                   /* of workers to come; 0: 64 KB */
    int sched_count;
    volatile LONG worker_count;
    volatile LONG create_failed;
    volatile LONG create_error;
    BOOL drained;                   /* kit_finish saw everything end */
    struct kit_sched scheds[KIT_SCHEDS];
    struct kit_worker workers[KIT_WORKERS];
};

extern struct kit kit;
extern struct kit_sched *const kit_nowhere;

/* Main thread. FALSE if the implementation lacks something; need() has then said so. */
BOOL kit_open( void );
PUMS_COMPLETION_LIST kit_new_list( void );
/* A scheduler thread to be, with a list of its own if list is NULL. Started by kit_start. */
struct kit_sched *kit_add_sched( PUMS_COMPLETION_LIST list );
void kit_start( void );

/* For tests that end threads which may begin just now: one that is ended with the loader lock keeps it, and one that waits for
   the lock does no harm. Nothing where there are no such functions. */
void kit_lock_loader( void );
void kit_unlock_loader( void );

/* Drop the main thread's hold, wait until all workers ended and all schedulers left. */
BOOL kit_finish( void );
/* Judge every count. Call it last. */
void kit_check( void );

/* Any thread. NULL on failure. A worker that is queued to `list` when it is new. */
struct kit_worker *kit_add_worker( PUMS_COMPLETION_LIST list, DWORD (*body)( struct kit_worker * ),
                                   void *arg );
/* The bare creation: context, attribute list, CreateRemoteThreadEx. user becomes the UserContext. */
BOOL kit_create_thread( PUMS_COMPLETION_LIST list, LPTHREAD_START_ROUTINE start, void *arg,
                        void *user,
                        SIZE_T stack, DWORD flags, PUMS_CONTEXT *context, HANDLE *thread,
                        DWORD *id );
/* Any thread: hand a runnable worker that belongs to nobody to a scheduler. */
void kit_ready( struct kit_worker *worker, struct kit_sched *sched );
/* Plain thread: take everything from a list nobody else serves and hand it over; returns the
   number. */
int kit_hand_over( PUMS_COMPLETION_LIST list, struct kit_sched *sched, DWORD timeout );

/* Workers. kit_look, at any moment of the worker's code: was it executed, and is it its thread? An upcall is counted behind its
   execute, so whoever runs has one execute more than Blocked and Yield upcalls. Not in window procedures and APCs: these
   may be a part of a call that blocks (docs/blocking.md) [guess]. */
void kit_look( struct kit_worker *worker );
BOOL kit_yield( struct kit_worker *worker, PVOID param );
BOOL kit_migrate( struct kit_worker *worker, struct kit_sched *sched );
BOOL kit_park( struct kit_worker *worker );
/* yield until *value == wanted; FALSE after KIT_LIMIT, which fails the test (umstest_missed) */
BOOL kit_yield_until( struct kit_worker *worker, volatile LONG *value, LONG wanted );

/* Any plain thread: spin politely until *value == wanted; FALSE after KIT_LIMIT, which fails the test. Not a proof of order by
   time. If other threads then read plain variables that were stored before the value, store the value with InterlockedExchange:
   GCC may move a plain store behind a volatile one. */
BOOL kit_wait_value( volatile LONG *value, LONG wanted );
/* For as long as *moving changes within KIT_LIMIT. */
BOOL kit_wait_moving( volatile LONG *value, LONG wanted, volatile LONG *moving );
/* The same until *value is something else than `was`, or than it is now. */
BOOL kit_leaves( volatile LONG *value, LONG was );
BOOL kit_moves( volatile LONG *value );

/* mingw-w64's NtCurrentTeb trips -Warray-bounds, and must not be hoisted over a switch. */
void *kit_teb( void );

/* Loads umstest_probe.dll, which lies beside the exe, and has it call on_call from its DllMain. NULL
   after a skip. Main thread. */
HMODULE kit_load_probe( void (*on_call)( DWORD reason, BOOL process_ends ) );

/* Pieces of the scheduler loop for tests that write their own SchedulerProc. */
void kit_sweep( struct kit_sched *sched );
void kit_execute( struct kit_sched *sched, struct kit_worker *worker );
struct kit_worker *kit_pop( struct kit_sched *sched );
struct kit_worker *kit_worker_of( PUMS_CONTEXT context );

#endif /* SCENARIO_KIT_H */
