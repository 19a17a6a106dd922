/*
 * The bundled demo: a program of the Windows 7 days. It knows nothing of the shim; it imports the
 * UMS functions from KERNEL32.dll like any other.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A few schedulers run a few hundred workers that compute, yield, sleep, wait for each other, fight
 * for a lock and do file I/O. Exit status: 0 everything right, 1 no UMS here or a wrong result, 2
 * bad arguments, 3 hung.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ums.h"
#include "sched.h"
#include "jobs.h"

#define MAX_WORKERS 5000

enum demo_phase { PHASE_CREATE, PHASE_SPAWN, PHASE_RUN, PHASE_VERIFY, PHASE_END };

struct demo
{
    unsigned int       schedulers;
    unsigned int       workers;
    unsigned int       timeout;         /* seconds without a step of any job */
    struct sched_pool *pool;
    struct job        *jobs;
    struct job_pair   *pairs;
    struct job_shared  shared;
    volatile LONG      phase;           /* enum demo_phase */
    const char        *failed;          /* call that failed */
    DWORD              error;
    BOOL               schedulers_ok;
    LARGE_INTEGER      start;
    LARGE_INTEGER      end;
};

/* ---- set up and run, on a thread of its own ---- */

static BOOL demo_prepare_jobs( struct demo *demo )
{
    unsigned int i, side = 0, pairs = 0;
    char folder[MAX_PATH];
    struct job *job;

    demo->jobs = calloc( demo->workers, sizeof(*demo->jobs) );
    demo->pairs = calloc( demo->workers, sizeof(*demo->pairs) );
    if (!demo->jobs || !demo->pairs) return FALSE;

    InitializeCriticalSection( &demo->shared.lock );
    demo->shared.tls = TlsAlloc();
    if (!GetTempPathA( sizeof(folder), folder )) return FALSE;

    for (i = 0; i < demo->workers; i++)
    {
        job = &demo->jobs[i];
        job->number = i;
        job->kind = job_kind_of( i );
        job->shared = &demo->shared;
        job->stage = "not started";
        snprintf( job->path, sizeof(job->path), "%sumsdemo-%lu-%u.tmp", folder,
                  GetCurrentProcessId(), i );
        if (job->kind != JOB_PING_PONG) continue;
        job->pair = &demo->pairs[pairs];
        job->side = side;
        if (!(job->pair->turn[side] = CreateEventW( NULL, FALSE, !side, NULL ))) return FALSE;
        pairs += side;
        side = !side;
    }
    /* Without a partner nobody can play. */
    if (side) demo->jobs[demo->workers - 1].kind = JOB_SLEEP;
    return TRUE;
}

static DWORD WINAPI demo_thread( void *arg )
{
    struct demo *demo = arg;
    unsigned int i;

    demo->failed = "sched_create";
    if (!(demo->pool = sched_create( demo->schedulers, demo->workers ))) goto failed;
    demo->failed = "preparing the jobs";
    if (!demo_prepare_jobs( demo )) goto failed;

    demo->phase = PHASE_SPAWN;
    QueryPerformanceCounter( &demo->start );
    demo->failed = "sched_start";
    if (!sched_start( demo->pool )) goto failed;
    demo->failed = "sched_spawn";
    for (i = 0; i < demo->workers; i++)
        if (!sched_spawn( demo->pool, job_run, &demo->jobs[i] )) goto failed;

    demo->phase = PHASE_RUN;
    demo->failed = NULL;
    demo->schedulers_ok = sched_finish( demo->pool );
    QueryPerformanceCounter( &demo->end );

    demo->phase = PHASE_VERIFY;
    for (i = 0; i < demo->workers; i++) job_verify( &demo->jobs[i] );
    demo->phase = PHASE_END;
    return 0;

failed:
    demo->error = GetLastError();
    return 1;
}

/* ---- the reports ---- */

static void print_active( void )
{
    char active[256], *word, *value;
    const char *gap = "";

    if (!GetEnvironmentVariableA( "UMS_ACTIVE", active, sizeof(active) ))
    {
        printf( "engine: the system's own\n\n" );
        return;
    }
    /* "engine=handoff hook=dispatcher ..." */
    for (word = strtok( active, " " ); word; word = strtok( NULL, " " ))
    {
        if ((value = strchr( word, '=' ))) *value++ = 0;
        printf( value ? "%s%s: %s" : "%s%s", gap, word, value );
        gap = "   ";
    }
    printf( "\n\n" );
}

/* No UMS is the one failure that many will see: say what to do. */
static void print_failure( const struct demo *demo )
{
    DWORD error = demo->error;

    if (error == ERROR_CALL_NOT_IMPLEMENTED || error == ERROR_NOT_SUPPORTED)
        printf( "umsdemo: this %s has no User-Mode Scheduling (error %lu); start it as: "
                "./umsrun umsdemo.exe\n",
                error == ERROR_NOT_SUPPORTED ? "Windows" : "Wine", error );
    else printf( "umsdemo: %s failed, error %lu\n", demo->failed, error );
}

static void print_stats( const char *name, const struct sched_stats *stats )
{
    printf( "%-10s %9ld %9ld %9ld %10ld %8ld\n", name, stats->executed, stats->yielded,
            stats->blocked, stats->completed, stats->moved );
}

static BOOL print_summary( const struct demo *demo )
{
    struct sched_stats total = { 0 };
    unsigned int i, kinds[JOB_KINDS] = { 0 }, wrong = 0;
    LARGE_INTEGER frequency;
    const struct sched_stats *stats;
    char name[16];
    double seconds;
    BOOL lock_ok;

    printf( "scheduler   executed   yielded   blocked  completed    moved\n" );
    for (i = 0; i < demo->pool->count; i++)
    {
        stats = &demo->pool->schedulers[i].stats;
        total.executed += stats->executed;
        total.yielded += stats->yielded;
        total.blocked += stats->blocked;
        total.completed += stats->completed;
        total.moved += stats->moved;
        sprintf( name, "%9u", i + 1 );
        print_stats( name, stats );
    }
    print_stats( "      all", &total );

    for (i = 0; i < demo->workers; i++)
    {
        struct job *job = &demo->jobs[i];

        kinds[job->kind]++;
        if (demo->pool->workers[i].exit_code != 1000 + i && !job->fault)
            job->fault = "wrong exit code";
        if (!job->fault) continue;
        if (wrong++ < 10)
            printf( "worker %u (%s): %s\n", i, job_names[job->kind], job->fault );
    }
    printf( "\njobs:" );
    for (i = 0; i < JOB_KINDS; i++) printf( "%s %u %s", i ? "," : "", kinds[i], job_names[i] );
    QueryPerformanceFrequency( &frequency );
    seconds = (double)(demo->end.QuadPart - demo->start.QuadPart) / frequency.QuadPart;
    printf( " in %.2f s\n", seconds );

    lock_ok = demo->shared.locked_hits == job_locked_hits( kinds[JOB_LOCK] );
    if (!lock_ok)
        printf( "critical section: %ld entries, %ld expected\n", demo->shared.locked_hits,
                job_locked_hits( kinds[JOB_LOCK] ));
    if (!demo->schedulers_ok) printf( "a scheduler could not enter UMS mode\n" );
    if (wrong || !lock_ok || !demo->schedulers_ok || total.completed != (LONG)demo->workers)
    {
        printf( "FAILED: %u of %u workers wrong\n", wrong, demo->workers );
        return FALSE;
    }
    printf( "all %u workers finished, checksums ok\n", demo->workers );
    return TRUE;
}

/* What everybody was at. Reads what others write, takes no lock of theirs. */
static void print_hang( const struct demo *demo )
{
    static const char *const phases[] =
        { "creating the pool", "creating workers", "running", "verifying", "ending" };
    static const char *const states[] = { "not started", "choosing", "running", "idle", "left" };
    const struct sched_pool *pool = demo->pool;
    unsigned int i, j, lines = 0;

    printf( "umsdemo: nothing done for %u s, while %s\n", demo->timeout, phases[demo->phase] );
    if (!pool) return;
    printf( "%ld workers created, %ld alive\n", pool->spawned, pool->alive );
    for (i = 0; i < pool->count; i++)
    {
        const struct sched *sched = &pool->schedulers[i];
        const struct sched_worker *current = sched->current;

        printf( "scheduler %u: %s", i + 1, states[sched->state] );
        if (current) printf( " worker %u", (unsigned int)(current - pool->workers) );
        printf( ", ready %u, suspended %u, inbox %u, executed %ld, yielded %ld, blocked %ld, "
                "completed %ld, retried %ld, idled %ld\n",
                sched->ready.count, sched->suspended.count,
                QueryDepthSList( (SLIST_HEADER *)&sched->inbox ),
                sched->stats.executed, sched->stats.yielded, sched->stats.blocked,
                sched->stats.completed, sched->stats.retried, sched->stats.idled );
    }
    for (i = 0; i < (ULONG)pool->spawned; i++)
    {
        const struct sched_worker *worker = &pool->workers[i];
        const struct job *job = &demo->jobs[i];
        const char *where = worker->last ? "off the processor" : "never run";

        if (worker->reaped) continue;
        if (lines++ == 100)
        {
            printf( "... and more\n" );
            break;
        }
        for (j = 0; j < pool->count; j++)
            if (pool->schedulers[j].current == worker) where = "on the processor";
        printf( "worker %u (%s), thread %lx: %s %ld; last on scheduler %d, %s%s\n", i,
                job_names[job->kind], job->tid, job->stage, job->step,
                worker->last ? (int)worker->last->index + 1 : 0, where,
                worker->returned ? ", returned" : "" );
    }
}

/* ---- main ---- */

/* FALSE: hung. How long the whole takes depends on the machine, so hung means that no job takes a step. Each job
 * takes each of its steps once: a program that only turns in circles is found, too. */
static BOOL demo_wait( const struct demo *demo, HANDLE thread )
{
    LONG steps;

    do
    {
        steps = demo->shared.steps;
        if (!WaitForSingleObject( thread, demo->timeout * 1000 )) return TRUE;
    } while (demo->shared.steps != steps);
    return FALSE;
}

static BOOL parse_number( const char *arg, const char *name, unsigned int max, unsigned int *value )
{
    size_t len = strlen( name );
    unsigned long number;
    char *end;

    if (strncmp( arg, name, len )) return FALSE;
    number = strtoul( arg + len, &end, 10 );
    if (*end || !number || number > max) return FALSE;
    *value = number;
    return TRUE;
}

int main( int argc, char **argv )
{
    static struct demo demo;
    PUMS_COMPLETION_LIST list;
    HANDLE thread;
    DWORD code;
    int i;

    demo.schedulers = 3;
    demo.workers = 300;
    demo.timeout = 60;
    for (i = 1; i < argc; i++)
    {
        if (parse_number( argv[i], "--schedulers=", SCHED_MAX_SCHEDULERS, &demo.schedulers ) ||
            parse_number( argv[i], "--workers=", MAX_WORKERS, &demo.workers ) ||
            parse_number( argv[i], "--timeout=", 86400, &demo.timeout ))
            continue;
        printf( "usage: umsdemo [--schedulers=1..%d] [--workers=1..%d] [--timeout=SECONDS]\n",
                SCHED_MAX_SCHEDULERS, MAX_WORKERS );
        return strcmp( argv[i], "--help" ) ? 2 : 0;
    }

    /* Without UMS the first call says so. */
    if (!CreateUmsCompletionList( &list ))
    {
        demo.failed = "CreateUmsCompletionList";
        demo.error = GetLastError();
        print_failure( &demo );
        return 1;
    }
    DeleteUmsCompletionList( list );

    print_active();
    printf( "UMS demo: %u workers on %u schedulers\n\n", demo.workers, demo.schedulers );
    fflush( stdout );

    /* This thread only watches: whatever hangs, somebody is left to say so. */
    thread = CreateThread( NULL, 0, demo_thread, &demo, 0, NULL );
    if (!thread) return 1;
    if (!demo_wait( &demo, thread ))
    {
        print_hang( &demo );
        fflush( stdout );
        TerminateProcess( GetCurrentProcess(), 3 );
    }
    GetExitCodeThread( thread, &code );
    CloseHandle( thread );
    if (code)
    {
        print_failure( &demo );
        fflush( stdout );
        /* Not through ExitProcess: schedulers may wait for workers that never came. */
        TerminateProcess( GetCurrentProcess(), 1 );
    }
    return !print_summary( &demo );
}
