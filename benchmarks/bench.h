/*
 * The benchmark: samples, arms, and what the parts offer each other.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An arm is one thing to be timed, set up once and run in batches. Arms that are compared run
 * batch by batch in turn, so that a change of the machine's load meets all of them; sample i of one
 * belongs to sample i of the other, and a ratio is the median of those pairs.
 */
#ifndef BENCH_H
#define BENCH_H

#include <windows.h>
#include <stdio.h>

#define ARM_MAX 32

struct arm
{
    const char  *name;                  /* figure, without the pass: "yield1" */
    unsigned int ops;                   /* operations in the next batch */
    BOOL         fixed;                 /* ops stays; else it is set for batches of equal length */
    double     (*batch)( struct arm *arm );     /* ns per operation; < 0: failed, reason printed;
                                                   NULL after start: not here, reason noted */
    void       (*stop)( struct arm *arm );      /* undoes the set-up; may be NULL */
    BOOL       (*check)( struct arm *arm, const char *name );   /* after each batch that is kept: adds other
                                                   figures "<name>.<what>"; FALSE: it was not what it says,
                                                   reason printed; may be NULL */
    void        *state;
};

/* stats.c: figures are made on first use; a name is "<pass>.<arm>" */
void stats_add( const char *name, const char *unit, double value );
void stats_note( const char *format, ... ) __attribute__((format( gnu_printf, 1, 2 )));
const char *stats_note_text( unsigned int index );                  /* NULL: no more */
const char *stats_name( unsigned int index );                       /* of a figure; NULL: no more */
BOOL stats_load( const char *path );
BOOL stats_save( const char *path );

struct summary
{
    unsigned int n;
    double median, p25, p75, min, mean;
    const char *unit;
};
enum pairing { PAIR_NONE, PAIR_RATIO, PAIR_INVERSE, PAIR_DIFFERENCE };
/* Of a figure, or of its pairs with another: name / base, base / name, name - base.
   FALSE: no such figure */
BOOL stats_summary( const char *name, struct summary *summary );
BOOL stats_pairs( const char *name, const char *base, enum pairing pairing,
                  struct summary *summary );
double stats_median( double *values, unsigned int n );              /* sorts them; n > 0 */
double stats_now( void );                                           /* ns */
double stats_cycles_ns( double cycles );                            /* of the time stamp counter */

/* report.c */
struct load
{
    const char *average;                /* of the machine before the benchmark, or "" */
    const char *others;                 /* percent of the CPUs that others used during it, or "" */
};
void report_print( const struct load *load );
BOOL report_json( const char *path, const struct load *load );

/* aims.c: which figure is compared with which, and what is aimed at */
struct aim
{
    const char  *label;
    const char  *figure;
    const char  *against;               /* what base is, in words */
    const char  *base;                  /* NULL: the value itself counts */
    enum pairing pairing;
    double       limit;                 /* < 0: reported only */
    BOOL         at_least;              /* else at most */
    const char  *unit;                  /* after the value */
};
extern const struct aim aims[];
extern const unsigned int aim_count;
BOOL aim_value( const struct aim *aim, struct summary *value );     /* FALSE: not measured */
BOOL aim_met( const struct aim *aim, const struct summary *value );

/* host.c */
const char *host_cpu( void );
const char *host_kernel( void );
const char *host_wine( void );
const char *host_engine( void );        /* UMS_ACTIVE, or "none" */
struct switches
{
    double carried, sent_home;          /* executes of workers since the start of the process; 0 without the shim */
};
struct switches host_switches( void );
/* Of the executes since then: the figure "<name>.carried" is the percentage that were carried. FALSE, reason printed: the
   engine is said to carry workers, and has silently carried nobody. */
BOOL host_check_carried( const char *name, struct switches before );
int host_is_local( HANDLE object );     /* 1 kept by the shim, 0 by the host, -1 there is no shim */
const char *host_no_local_objects( void );          /* NULL: there are; or why not */
const char *host_load( void );          /* "0.01 0.02 0.03", or "" if unknown */
unsigned int host_cpus( void );
double host_resident( void );           /* resident bytes of this process */

/* threads.c: what a program would do without UMS */
BOOL threads_start_address( struct arm *arm );      /* WaitOnAddress ping-pong */
BOOL threads_start_event( struct arm *arm );        /* SetEvent + WaitForSingleObject ping-pong */
BOOL threads_start_fiber( struct arm *arm );        /* SwitchToFiber there and back */
BOOL threads_start_create( struct arm *arm );       /* CreateThread, join, close */
BOOL threads_start_counter( struct arm *arm );      /* NtQueryPerformanceCounter */
BOOL threads_start_yield( struct arm *arm );        /* NtYieldExecution */
BOOL threads_start_close( struct arm *arm );        /* make and close an event */
BOOL threads_start_read( struct arm *arm );         /* read 4 KB of a cached file */
HANDLE file_open( void );                           /* NULL: failed, reason printed */
void file_read( HANDLE file );
double threads_parked_bytes( unsigned int count );

/* bare.c: what the parts of a switch cost by themselves */
BOOL bare_start_floor( struct arm *arm );           /* two bare switches */
BOOL bare_start_wake( struct arm *arm );            /* futex wake and a bare switch */

/* workers.c: the same with UMS. FALSE: failed, reason printed */
BOOL workers_available( void );
BOOL workers_start_yield1( struct arm *arm );       /* execute + yield, one worker */
BOOL workers_start_yield100( struct arm *arm );     /* the same, 100 in turn */
BOOL workers_start_ring1000( struct arm *arm );     /* a lean round robin of as many */
#define RING_WORKERS 4000
BOOL workers_start_ring4000( struct arm *arm );     /* RING_WORKERS */
BOOL workers_start_close( struct arm *arm );        /* make and close an event, yield */
BOOL workers_start_read( struct arm *arm );         /* read 4 KB of a cached file, yield */
BOOL workers_start_event( struct arm *arm );        /* event ping-pong, one scheduler */
BOOL workers_start_event2( struct arm *arm );       /* event ping-pong across two schedulers */
BOOL workers_start_create( struct arm *arm );       /* create, run, end, join, close */
BOOL workers_start_counter( struct arm *arm );      /* NtQueryPerformanceCounter on a worker */
double workers_parked_bytes( unsigned int count );
BOOL workers_many( unsigned int count, unsigned int batches );      /* adds its figures itself */

/* blocks.c: from a worker's call that blocks to the SchedulerProc */
BOOL blocks_start_sleep( struct arm *arm );         /* NtDelayExecution */
BOOL blocks_start_wait( struct arm *arm );          /* an event that is not set */
BOOL blocks_start_alert( struct arm *arm );         /* an alert by thread id */
BOOL blocks_start_event( struct arm *arm );         /* a local event */

/* waits.c: waits without a kernel object, of workers and of plain threads. FALSE: failed, reason printed */
BOOL threads_start_condition( struct arm *arm );    /* SRW lock + condition variable, two take turns */
BOOL workers_start_condition( struct arm *arm );    /* ... workers of one scheduler */
BOOL threads_start_turns( struct arm *arm );        /* the same by WaitOnAddress */
BOOL workers_start_turns( struct arm *arm );
BOOL threads_start_section( struct arm *arm );      /* 8, one critical section */
BOOL workers_start_section( struct arm *arm );      /* ... workers of two schedulers */
extern unsigned int waits_nappers;
BOOL threads_start_naps( struct arm *arm );         /* so many in Sleep( 1 ): CPU time of each */
BOOL workers_start_naps( struct arm *arm );

/* objects.c: events, semaphores and mutexes that only this process knows, of workers and of plain threads; with the
   shim each must be local, without it the arms of threads are what they are compared with. FALSE: failed,
   reason printed */
BOOL threads_start_events( struct arm *arm );       /* auto-reset, two take turns */
BOOL threads_start_semaphores( struct arm *arm );
BOOL threads_start_mutexes( struct arm *arm );
BOOL threads_start_any( struct arm *arm );          /* ... each waits for any of 8 events */
BOOL threads_start_set( struct arm *arm );          /* an event that nobody waits for */
BOOL workers_start_events( struct arm *arm );
BOOL workers_start_known( struct arm *arm );        /* events that became real */
BOOL workers_start_semaphores( struct arm *arm );
BOOL workers_start_mutexes( struct arm *arm );
BOOL workers_start_any( struct arm *arm );
BOOL workers_start_set( struct arm *arm );
BOOL objects_check( const char *name, const HANDLE *handles, unsigned int count, BOOL local );  /* for arm.check */

/* rides.c: calls that may block, at different grace periods */
#define RIDES "rides-"                              /* a pass: this, the grace period, and perhaps "-free" */
const char *rides_arm( unsigned int index, BOOL *ums );             /* its name; NULL: no more */
BOOL rides_have_grace( const char *pass );          /* FALSE: another one than it says, reason printed */
BOOL rides_start( struct arm *arm );                /* by its name. FALSE: failed, reason printed */
void rides_print( void );                           /* nothing, if there are no figures */
void rides_json( FILE *file );

/* gang.c: through samples/sched.c */
BOOL gang_start_yield( struct arm *arm );           /* execute + yield, 1000 workers in turn */
BOOL gang_start_items( struct arm *arm );           /* work items, 100 workers, 2 schedulers */
BOOL threads_start_items( struct arm *arm );        /* the same items, system thread pool */
BOOL threads_start_poll( struct arm *arm );         /* WaitForSingleObject, time-out 0 */

/* A short piece of work: a value is mixed a few times. */
struct item
{
    ULONG64 value;
    ULONG   runs;
};
void item_run( struct item *item );
BOOL items_check( struct item *items, unsigned int count );         /* each was run once since the
                                                                       last look */

/* factories.c: worker factories and their port. FALSE: failed, reason printed */
BOOL factories_start_release1( struct arm *arm );   /* release -> a worker runs the item */
BOOL factories_start_release2( struct arm *arm );
BOOL factories_start_release4( struct arm *arm );
BOOL factories_start_sample( struct arm *arm );     /* samples/factorypool: pool_run */
BOOL factories_start_packets( struct arm *arm );    /* packets of the port reach a worker */
BOOL threads_start_packets( struct arm *arm );      /* ... a thread in NtRemoveIoCompletionEx */
double factories_idle_switches( unsigned int seconds );     /* of all threads that a factory with
                                                               idle workers has; < 0: not known */
void factories_exclude_thread( void );              /* of the caller's switches nobody asks */

typedef LONG (NTAPI *counter_proc)( LARGE_INTEGER *, LARGE_INTEGER * );
counter_proc threads_counter_proc( void );

#endif /* BENCH_H */
