/*
 * What the workers of the demo do.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ordinary threaded code: that it runs on UMS workers shows in UmsThreadYield only. After each
 * point where a worker may have been switched out it checks that it is still itself: same thread
 * id, same TLS, same stack, same registers.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include "ums.h"
#include "sched.h"
#include "jobs.h"

#define COMPUTE_SLICES   50
#define COMPUTE_LOOPS    20000
#define SLEEPS           8
#define PING_PONG_ROUNDS 150
#define LOCK_ROUNDS      20
#define FILE_BLOCKS      16
#define BLOCK_WORDS      512

const char *const job_names[JOB_KINDS] = { "compute", "sleep", "ping-pong", "lock", "file" };

enum job_kind job_kind_of( unsigned int number )
{
    static const enum job_kind kinds[10] =
    {
        JOB_COMPUTE, JOB_SLEEP, JOB_COMPUTE, JOB_PING_PONG, JOB_PING_PONG,
        JOB_COMPUTE, JOB_LOCK, JOB_COMPUTE, JOB_SLEEP, JOB_FILE
    };

    return kinds[number % 10];
}

static void job_fault( struct job *job, const char *fault )
{
    if (!job->fault) job->fault = fault;
}

static void job_stage( struct job *job, const char *stage, unsigned int step )
{
    job->stage = stage;
    job->step = step;
    InterlockedIncrement( &job->shared->steps );
}

/* A worker may have moved to another scheduler, but never to another identity. */
static void job_check_identity( struct job *job )
{
    if (GetCurrentThreadId() != job->tid) job_fault( job, "thread id changed" );
    if (TlsGetValue( job->shared->tls ) != job) job_fault( job, "TLS slot changed" );
}

static void job_yield( struct job *job, void *where )
{
    if (!UmsThreadYield( where )) job_fault( job, "UmsThreadYield failed" );
    job_check_identity( job );
}

static ULONG64 mix( ULONG64 value )
{
    value ^= value >> 29;
    value *= 0xbf58476d1ce4e5b9;
    value ^= value >> 32;
    return value;
}

/* The same arithmetic with and without yields; the floating-point value lives across them. */
static void compute( struct job *job, BOOL yield, ULONG64 *checksum, double *sum )
{
    ULONG64 value = mix( job->number + 1 );
    double total = job->number;
    unsigned int slice, i;

    for (slice = 0; slice < COMPUTE_SLICES; slice++)
    {
        for (i = 0; i < COMPUTE_LOOPS; i++)
        {
            value = mix( value + i );
            total = total * 0.999 + (double)(value & 0xff);
        }
        if (!yield) continue;
        job_stage( job, "computing", slice );
        job_yield( job, slice % 4 == 3 ? SCHED_MOVE : SCHED_YIELD );
    }
    *checksum = value;
    *sum = total;
}

static void run_sleep( struct job *job )
{
    ULONG64 kept[64];
    unsigned int i, j;

    for (j = 0; j < ARRAYSIZE(kept); j++) kept[j] = mix( job->number + j );
    for (i = 0; i < SLEEPS; i++)
    {
        job_stage( job, "in Sleep", i );
        Sleep( 1 + (job->number + 3 * i) % 9 );
        job_check_identity( job );
        for (j = 0; j < ARRAYSIZE(kept); j++)
            if (kept[j] != mix( job->number + j )) job_fault( job, "stack changed in Sleep" );
        job->checksum++;
    }
}

static void run_ping_pong( struct job *job )
{
    struct job_pair *pair = job->pair;
    unsigned int i;

    for (i = 0; i < PING_PONG_ROUNDS; i++)
    {
        job_stage( job, job->side ? "waiting for ping" : "waiting for pong", i );
        if (WaitForSingleObject( pair->turn[job->side], INFINITE ))
            job_fault( job, "WaitForSingleObject failed" );
        job_check_identity( job );
        /* Only the side whose turn it is may be here. */
        if ((pair->hits++ & 1) != (LONG)job->side) job_fault( job, "played out of turn" );
        job->checksum++;
        if (!SetEvent( pair->turn[!job->side] )) job_fault( job, "SetEvent failed" );
    }
}

static void run_lock( struct job *job )
{
    struct job_shared *shared = job->shared;
    unsigned int i;
    LONG hits;

    for (i = 0; i < LOCK_ROUNDS; i++)
    {
        job_stage( job, "entering the critical section", i );
        EnterCriticalSection( &shared->lock );
        job_stage( job, "holding the critical section", i );
        hits = shared->locked_hits;
        /* Off the processor with the lock held: the others have to block, not to spin for ever. */
        job_yield( job, SCHED_YIELD );
        shared->locked_hits = hits + 1;
        LeaveCriticalSection( &shared->lock );
        job->checksum++;
    }
}

static void fill_block( ULONG64 *block, ULONG64 seed )
{
    unsigned int i;

    for (i = 0; i < BLOCK_WORDS; i++) block[i] = seed = mix( seed + i );
}

static ULONG64 sum_block( const ULONG64 *block, ULONG64 sum )
{
    unsigned int i;

    for (i = 0; i < BLOCK_WORDS; i++) sum = mix( sum ^ block[i] );
    return sum;
}

static void run_file( struct job *job )
{
    ULONG64 block[BLOCK_WORDS];
    unsigned int i;
    HANDLE file;
    DWORD done;

    job_stage( job, "creating its file", 0 );
    file = CreateFileA( job->path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                        FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL );
    if (file == INVALID_HANDLE_VALUE)
    {
        job_fault( job, "CreateFile failed" );
        return;
    }
    for (i = 0; i < FILE_BLOCKS; i++)
    {
        job_stage( job, "writing its file", i );
        fill_block( block, job->number * FILE_BLOCKS + i );
        if (!WriteFile( file, block, sizeof(block), &done, NULL ) || done != sizeof(block))
            job_fault( job, "WriteFile failed" );
    }
    job_yield( job, SCHED_MOVE );
    if (SetFilePointer( file, 0, NULL, FILE_BEGIN )) job_fault( job, "SetFilePointer failed" );
    for (i = 0; i < FILE_BLOCKS; i++)
    {
        job_stage( job, "reading its file", i );
        if (!ReadFile( file, block, sizeof(block), &done, NULL ) || done != sizeof(block))
            job_fault( job, "ReadFile failed" );
        job->checksum = sum_block( block, job->checksum );
        job_check_identity( job );
    }
    job_stage( job, "closing its file", 0 );
    CloseHandle( file );
}

DWORD WINAPI job_run( void *arg )
{
    struct job *job = arg;

    job->tid = GetCurrentThreadId();
    if (!TlsSetValue( job->shared->tls, job )) job_fault( job, "TlsSetValue failed" );

    switch (job->kind)
    {
    case JOB_COMPUTE:   compute( job, TRUE, &job->checksum, &job->sum ); break;
    case JOB_SLEEP:     run_sleep( job ); break;
    case JOB_PING_PONG: run_ping_pong( job ); break;
    case JOB_LOCK:      run_lock( job ); break;
    case JOB_FILE:      run_file( job ); break;
    default:            job_fault( job, "no such job" ); break;
    }
    job_stage( job, "ended", 0 );
    return 1000 + job->number;
}

BOOL job_verify( struct job *job )
{
    ULONG64 block[BLOCK_WORDS], expected = 0;
    double expected_sum = 0;
    unsigned int i;

    switch (job->kind)
    {
    case JOB_COMPUTE:   compute( job, FALSE, &expected, &expected_sum ); break;
    case JOB_SLEEP:     expected = SLEEPS; break;
    case JOB_PING_PONG: expected = PING_PONG_ROUNDS; break;
    case JOB_LOCK:      expected = LOCK_ROUNDS; break;
    case JOB_FILE:
        for (i = 0; i < FILE_BLOCKS; i++)
        {
            fill_block( block, job->number * FILE_BLOCKS + i );
            expected = sum_block( block, expected );
        }
        break;
    default: break;
    }
    job_stage( job, "verified", 0 );
    if (job->checksum != expected) job_fault( job, "wrong checksum" );
    if (job->sum != expected_sum) job_fault( job, "wrong floating-point result" );
    return !job->fault;
}

LONG job_locked_hits( unsigned int lock_jobs )
{
    return lock_jobs * LOCK_ROUNDS;
}
