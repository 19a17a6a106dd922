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

#define ARM_MAX 16

struct arm
{
    const char  *name;                  /* figure, without the pass: "yield1" */
    unsigned int ops;                   /* operations a batch */
    double     (*batch)( struct arm *arm );     /* ns per operation; < 0: failed, reason printed */
    void       (*stop)( struct arm *arm );      /* undoes the set-up; may be NULL */
    void        *state;
};

/* stats.c: figures are made on first use; a name is "<pass>.<arm>" */
void stats_add( const char *name, const char *unit, double value );
BOOL stats_load( const char *path );
BOOL stats_save( const char *path );

struct summary
{
    unsigned int n;
    double median, p25, p75, min;
    const char *unit;
};
BOOL stats_summary( const char *name, struct summary *summary );    /* FALSE: no such figure */
BOOL stats_ratio( const char *name, const char *base, double *ratio );
double stats_now( void );                                           /* ns */

/* report.c */
void report_print( const char *load );
BOOL report_json( const char *path, const char *load );

/* host.c */
const char *host_cpu( void );
const char *host_kernel( void );
const char *host_wine( void );
const char *host_engine( void );        /* UMS_ACTIVE, or "none" */
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
double threads_parked_bytes( unsigned int count );

/* workers.c: the same with UMS. FALSE: failed, reason printed */
BOOL workers_available( void );
BOOL workers_start_yield1( struct arm *arm );       /* execute + yield, one worker */
BOOL workers_start_yield100( struct arm *arm );     /* the same, 100 in turn */
BOOL workers_start_event( struct arm *arm );        /* event ping-pong, one scheduler */
BOOL workers_start_event2( struct arm *arm );       /* event ping-pong across two schedulers */
BOOL workers_start_create( struct arm *arm );       /* create, run, end, join, close */
BOOL workers_start_counter( struct arm *arm );      /* NtQueryPerformanceCounter on a worker */
double workers_parked_bytes( unsigned int count );

typedef LONG (NTAPI *counter_proc)( LARGE_INTEGER *, LARGE_INTEGER * );
counter_proc threads_counter_proc( void );

#endif /* BENCH_H */
