/*
 * Small helpers for the conformance tests: a worker, a simple FIFO scheduler, an event log.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nothing here prints or checks on a worker or in a SchedulerProc; results lie in the structs and
 * are read by the main thread when the scheduler is done. All structs belong to the test
 * (zero-initialised, static or on the stack of a thread that outlives the scheduler).
 */
#ifndef UMSLIB_H
#define UMSLIB_H

#include "umstest.h"

/* ---- event log: any thread may add, without a lock or a system call ---- */

#define EVLOG_SIZE 512

struct evlog_entry
{
    ULONG     tag;
    DWORD     tid;                  /* GetCurrentThreadId() of who added it */
    ULONG_PTR a, b;
};

struct evlog
{
    volatile LONG      count;       /* may exceed EVLOG_SIZE: the rest was dropped */
    struct evlog_entry entries[EVLOG_SIZE];
};

void evlog_add( struct evlog *log, ULONG tag, ULONG_PTR a, ULONG_PTR b );
/* index of the first entry with that tag at or after from, -1 if there is none */
int  evlog_find( const struct evlog *log, ULONG tag, int from );
int  evlog_count( const struct evlog *log, ULONG tag );

/* ---- worker ---- */

struct worker
{
    PUMS_CONTEXT  context;
    HANDLE        thread;
    DWORD         tid;
    void        (*proc)( struct worker *worker );   /* runs on the worker; may be NULL */
    void         *arg;
    DWORD         exit_code;        /* what the thread function returns, default 0 */
    volatile LONG started;          /* 1 once proc was entered */
    volatile LONG finished;         /* 1 once proc has returned */
    ULONG_PTR     result[8];        /* for proc to fill in */
};

/* Attribute list with the UMS attribute, in a caller's buffer. TRUE on success, last error else. */
struct attr_buffer
{
    DWORD_PTR                    space[64];
    UMS_CREATE_THREAD_ATTRIBUTES ums;
};
LPPROC_THREAD_ATTRIBUTE_LIST attr_list_make( struct attr_buffer *buffer, PUMS_CONTEXT context,
                                             PUMS_COMPLETION_LIST list );

/* Create context and thread (flags as for CreateRemoteThreadEx). FALSE with last error on failure,
   nothing left behind. May be called on any thread, UMS threads included. */
BOOL worker_create( struct worker *worker, PUMS_COMPLETION_LIST list,
                    void (*proc)( struct worker * ), void *arg, DWORD flags );
/* Delete the context and close the handle; for terminated workers. FALSE with last error if the
 * context stays. */
BOOL worker_delete( struct worker *worker );
/* Wait (bounded) until the OS thread has ended; TRUE if it has. */
BOOL worker_wait( struct worker *worker, DWORD ms );

/* Milliseconds by the performance counter: GetTickCount lags behind on a busy Wine. */
ULONGLONG clock_ms( void );
/* Run for so many microseconds: to come to another moment in each round, never as proof of order. */
void run_us( int us );

/* One-byte and pointer queries; -1 or NULL on failure. Any thread. */
int   context_is_terminated( PUMS_CONTEXT context );
int   context_is_suspended( PUMS_CONTEXT context );
/* Wait (bounded) until it is (1) or is not (0): SuspendThread and ResumeThread may return before the thread has noticed. */
static inline BOOL context_gets_suspended( PUMS_CONTEXT context, int wanted )
{
    ULONGLONG start = clock_ms();

    while (context_is_suspended( context ) != wanted)
    {
        if (clock_ms() - start > WAIT_BOUND) return FALSE;
        Sleep( 1 );
    }
    return TRUE;
}
void *context_user( PUMS_CONTEXT context );
void *context_teb( PUMS_CONTEXT context );

/* ---- scheduler ---- */

#define SCHED_MAX 1024              /* workers known at a time */

enum sched_action
{
    SCHED_DEFAULT, /* yielded workers to the end of the ready queue, then go on */
    SCHED_HOLD,    /* do not queue the yielded worker; go on */
    SCHED_LEAVE    /* return from SchedulerProc at once (the yielded worker is not queued) */
};

struct sched
{
    /* set before sched_init, or leave zero */
    PUMS_COMPLETION_LIST list;      /* given: used and not deleted; NULL: sched_init makes one */
    void                *param;     /* SchedulerParam of the startup info */

    /* set before sched_run or sched_start */
    LONG expect; /* leave when that many workers have ended; 0: only on sched_stop */
    DWORD                idle_ms;   /* give up after waiting that long for work; 0: WAIT_BOUND */
    enum sched_action (*hook)( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                 ULONG_PTR payload, void *param );
    /* called first in every upcall; prints nothing */
    void               (*on_item)( struct sched *sched, PUMS_CONTEXT context );
    /* called for each context taken off the list, terminated or not */
    void                *user;      /* for the hooks */
    struct evlog *log; /* upcalls are logged with tag SCHED_LOG + reason, a = payload, b = param */

    /* results */
    BOOL                 entered_ok; /* return value of EnterUmsSchedulingMode */
    DWORD                enter_error; /* last error if it failed */
    volatile LONG        upcalls[3]; /* number of upcalls by reason */
    volatile LONG        ended;     /* workers that came terminated */
    volatile LONG        executes;  /* successful ExecuteUmsThread, counted beforehand */
    volatile LONG        retries;   /* ExecuteUmsThread failed with ERROR_RETRY */
    volatile LONG        refused;   /* ... with ERROR_INVALID_PARAMETER, and succeeded later */
    volatile LONG failed; /* ... with another error and neither suspended nor terminated */
    volatile DWORD       failed_error; /* the last of those errors */
    volatile LONG        suspended_seen; /* ... because the worker was suspended */
    volatile LONG        timed_out; /* nothing came for idle_ms */
    volatile LONG bad; /* broken promises: unknown reason, wrong thread id, Dequeue(0) failed ... */
    PUMS_CONTEXT         own;       /* GetCurrentUmsThread() at startup */
    DWORD                tid;       /* of the scheduler thread */
    HANDLE               thread;    /* sched_start */
    HANDLE               list_event;
    HANDLE               started;   /* manual reset: set by the Startup upcall */
    HANDLE               wake;      /* auto reset */

    /* private */
    volatile LONG        stop;
    BOOL                 own_list;
    PUMS_CONTEXT         current;
    PUMS_CONTEXT         ready[SCHED_MAX];
    ULONG                head, tail;
    PUMS_CONTEXT         suspended[64];
    ULONG                suspended_count;
    PUMS_CONTEXT volatile inbox[64];
};

#define SCHED_LOG 0x10000

/* Events and, if none is given, a completion list. FALSE (after a failed ok) if that is not
 * possible. */
BOOL sched_init( struct sched *sched );
/* Run on the calling plain thread until done; the return value and error of EnterUmsSchedulingMode
 * are kept. */
void sched_run( struct sched *sched );
/* Run on a new thread; returns after its Startup upcall. FALSE after a failed ok. */
BOOL sched_start( struct sched *sched );
/* Leave when idle. Any thread. */
void sched_stop( struct sched *sched );
/* Hand a context to the scheduler from any thread, e.g. one that was held. */
void sched_give( struct sched *sched, PUMS_CONTEXT context );
/* Wait for the end (bounded) of sched_start's thread. FALSE after a failed ok. */
BOOL sched_join( struct sched *sched );
void sched_free( struct sched *sched );
/* ok() that the run ended in order: mode left with TRUE, nothing bad, no failed execute, no idle
 * time-out. */
void sched_check( struct sched *sched );
/* The scheduler whose SchedulerProc is running on this thread (from TLS). */
struct sched *sched_current( void );

/* ---- whole runs ---- */

/* What a call gave on a thread that may not check; judge it later on the main thread. */
struct outcome
{
    ULONG_PTR ret;
    DWORD     error;
};
#define OUTCOME( o, expr ) \
    do \
    { \
        SetLastError( POISON ); \
        (o).ret = (ULONG_PTR)( expr ); \
        (o).error = GetLastError(); \
    } while (0)
#define OK_FAILED( o, code, what ) \
    ok( !(o).ret && (o).error == (code), "%s: expected failure %lu, got %#llx error %lu\n", \
        what, (DWORD)( code ), (ULONGLONG)( o ).ret, (o).error )

/* Call func in the Startup upcall of a scheduler on the calling plain thread, then leave the
 * mode. */
void on_scheduler( void (*func)( void *arg ), void *arg );
/* Call func on a new worker; the calling plain thread is its scheduler until it ended. */
void on_worker( void (*func)( void *arg ), void *arg );
/* Run those workers, made on sched->list, to their end on the calling thread; check all; delete
 * them. */
void run_workers( struct sched *sched, struct worker *workers, int count );
/* Wait (bounded) until something is on the list; returns the chain. Plain threads. */
PUMS_CONTEXT list_wait( PUMS_COMPLETION_LIST list );
/* The same, and leave it there for the scheduler that is started later. The list's event tells of the first item only. */
BOOL list_wait_for_item( PUMS_COMPLETION_LIST list );
/* TRUE if nothing comes to the list for that long. The event would not tell: stale signals are
 * allowed. */
BOOL list_stays_empty( PUMS_COMPLETION_LIST list, DWORD ms );
/* Run workers to their end on the calling thread until expect have ended, and delete nothing. held
   are contexts that are on no list (yielded, or taken off one); others arrive on list by
   themselves. */
void finish_workers( PUMS_COMPLETION_LIST list, struct worker *held, int held_count, int expect );
/* A completion list, or NULL after a failed ok. */
PUMS_COMPLETION_LIST list_create( void );

#endif /* UMSLIB_H */
