/*
 * What the workers of the demo do.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef JOBS_H
#define JOBS_H

#include <windows.h>

enum job_kind
{
    JOB_COMPUTE,                        /* arithmetic in slices, a yield after each */
    JOB_SLEEP,                          /* Sleep */
    JOB_PING_PONG,                      /* two workers, two events, one ball */
    JOB_LOCK,                           /* one critical section, held across a yield */
    JOB_FILE,                           /* write a file, read it back, compare */
    JOB_KINDS
};

/* The ball is at side 0 or 1; each side counts its turns. */
struct job_pair
{
    HANDLE turn[2];
    LONG   hits;
};

/* What all workers share. */
struct job_shared
{
    DWORD            tls;               /* each worker keeps its struct job there */
    CRITICAL_SECTION lock;
    LONG             locked_hits;       /* under lock, and not atomic */
    volatile LONG    steps;             /* what all jobs have done so far, atomic; stands still if they hang */
};

struct job
{
    enum job_kind      kind;
    unsigned int       number;
    struct job_shared *shared;
    struct job_pair   *pair;
    unsigned int       side;
    char               path[MAX_PATH + 32];    /* JOB_FILE */
    DWORD              tid;
    ULONG64            checksum;        /* result */
    double             sum;             /* result */
    const char *volatile fault;         /* first thing that went wrong */
    const char *volatile stage;         /* for whoever looks from outside */
    volatile LONG      step;
};

extern const char *const job_names[JOB_KINDS];

/* Which kind of job number n is: of ten jobs 4 compute, 2 sleep, 2 play, 1 locks, 1 writes. */
enum job_kind job_kind_of( unsigned int number );

/* The thread function of a worker; exit code 1000 + number. */
DWORD WINAPI job_run( void *arg );

/* After the end, on any thread: did the job do what it should? Sets fault if not. */
BOOL job_verify( struct job *job );

/* How often JOB_LOCK jobs went through the critical section, together. */
LONG job_locked_hits( unsigned int lock_jobs );

#endif /* JOBS_H */
