/*
 * The benchmark's program: what to measure, in which order.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It knows nothing of the shim and imports the UMS functions from KERNEL32.dll. ./bench runs it
 * several times: with the shim and without, on one CPU and on all; each run saves its samples to a
 * file, and the last one reports them together. Exit status: 0 measured, whatever the figures; 1 no
 * UMS here or something failed; 2 bad arguments; 3 hung.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define STEP_SECONDS 120

static const char *volatile step = "start";
static volatile LONG step_number;
static unsigned int batches = 15;

/* ---- who hangs is named ---- */

static void next_step( const char *name )
{
    step = name;
    InterlockedIncrement( &step_number );
}

static DWORD WINAPI watchdog_thread( void *arg )
{
    LONG seen = -1, seconds = 0;

    (void)arg;
    for (;;)
    {
        Sleep( 1000 );
        if (step_number != seen) seconds = 0;
        seen = step_number;
        if (++seconds <= STEP_SECONDS) continue;
        printf( "umsbench: HUNG for %d s in %s\n", STEP_SECONDS, step );
        fflush( stdout );
        TerminateProcess( GetCurrentProcess(), 3 );
        return 3;
    }
}

/* ---- running arms ---- */

struct plan
{
    const char  *name;
    unsigned int ops;
    BOOL       (*start)( struct arm *arm );
    BOOL         ums;
};

/* One untimed batch of each, then all in turn. */
static BOOL run_arms( const char *pass, const struct plan *plan, unsigned int count, BOOL ums )
{
    struct arm arms[ARM_MAX];
    char name[64];
    unsigned int i, batch;
    double value;
    BOOL ret = FALSE;

    memset( arms, 0, sizeof(arms) );
    for (i = 0; i < count; i++)
    {
        if (plan[i].ums && !ums) continue;
        next_step( plan[i].name );
        arms[i].name = plan[i].name;
        arms[i].ops = plan[i].ops;
        if (!plan[i].start( &arms[i] )) goto done;
    }
    for (batch = 0; batch <= batches; batch++)
    {
        for (i = 0; i < count; i++)
        {
            if (!arms[i].batch) continue;
            next_step( arms[i].name );
            if ((value = arms[i].batch( &arms[i] )) < 0) goto done;
            snprintf( name, sizeof(name), "%s.%s", pass, arms[i].name );
            if (batch) stats_add( name, "ns", value );
        }
    }
    ret = TRUE;

done:
    if (!ret) printf( "umsbench: %s: given up\n", step );
    for (i = 0; ret && i < count; i++)
    {
        next_step( arms[i].name );
        if (arms[i].stop) arms[i].stop( &arms[i] );
    }
    return ret;
}

static BOOL run_switches( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "address",        2000,   threads_start_address,   FALSE },
        { "yield1",         2000,   workers_start_yield1,    TRUE  },
        { "yield100",       2000,   workers_start_yield100,  TRUE  },
        { "fiber",          100000, threads_start_fiber,     FALSE },
        { "thread_event",   300,    threads_start_event,     FALSE },
        { "worker_event",   300,    workers_start_event,     TRUE  },
        { "worker_event2",  300,    workers_start_event2,    TRUE  },
        { "thread_life",    20,     threads_start_create,    FALSE },
        { "worker_life",    20,     workers_start_create,    TRUE  },
        { "thread_counter", 20000,  threads_start_counter,   FALSE },
        { "worker_counter", 20000,  workers_start_counter,   TRUE  },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), ums );
}

static BOOL run_hook( const char *pass )
{
    static const struct plan plan[] =
    {
        { "counter", 100000, threads_start_counter, FALSE },
        { "yield",   20000,  threads_start_yield,   FALSE },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), FALSE );
}

static BOOL run_memory( unsigned int count, BOOL ums )
{
    double bytes;
    unsigned int i;

    /* The first round also pays for the heap and the tables that later ones find. */
    for (i = 0; i < 4; i++)
    {
        next_step( "memory.worker" );
        if (ums)
        {
            if ((bytes = workers_parked_bytes( count )) < 0) return FALSE;
            if (i) stats_add( "memory.worker", "B", bytes );
        }
        next_step( "memory.thread" );
        if ((bytes = threads_parked_bytes( count )) < 0) return FALSE;
        if (i) stats_add( "memory.thread", "B", bytes );
    }
    return TRUE;
}

/* ---- main ---- */

static const char usage[] =
    "usage: umsbench [OPTIONS] [PASS...]\n"
    "PASS:   pinned (all threads on CPU 0), free, memory; all three if none is given;\n"
    "        with, without (two system calls of a plain thread, named after the shim's presence);\n"
    "        none (only report what --load brought)\n"
    "        --plain          leave out what needs UMS\n"
    "        --batches=N      samples a figure, 15\n"
    "        --workers=N      workers of the memory pass, 1000\n"
    "        --load=FILE      add the samples of a file\n"
    "        --save=FILE      append the samples to a file and report nothing\n"
    "        --json=FILE      write the report there as well\n"
    "        --loadavg=TEXT   load average of the machine before the benchmark\n";

struct options
{
    const char  *save;
    const char  *json;
    const char  *load;
    const char  *passes[8];
    unsigned int pass_count;
    unsigned int workers;
    BOOL         plain;
};

static const char *option_value( const char *arg, const char *name )
{
    size_t len = strlen( name );

    return strncmp( arg, name, len ) ? NULL : arg + len;
}

static BOOL parse_options( int argc, char **argv, struct options *options )
{
    const char *value;
    int i;

    options->workers = 1000;
    options->load = host_load();
    for (i = 1; i < argc; i++)
    {
        if ((value = option_value( argv[i], "--load=" )))
        {
            if (!stats_load( value )) printf( "umsbench: no samples in %s\n", value );
        }
        else if ((value = option_value( argv[i], "--save=" ))) options->save = value;
        else if ((value = option_value( argv[i], "--json=" ))) options->json = value;
        else if ((value = option_value( argv[i], "--loadavg=" ))) options->load = value;
        else if ((value = option_value( argv[i], "--batches=" ))) batches = atoi( value );
        else if ((value = option_value( argv[i], "--workers=" ))) options->workers = atoi( value );
        else if (!strcmp( argv[i], "--plain" )) options->plain = TRUE;
        else if (argv[i][0] != '-' && options->pass_count < ARRAYSIZE(options->passes))
            options->passes[options->pass_count++] = argv[i];
        else return FALSE;
    }
    if (!options->pass_count)
    {
        options->passes[options->pass_count++] = "pinned";
        options->passes[options->pass_count++] = "free";
        options->passes[options->pass_count++] = "memory";
    }
    return batches && options->workers;
}

static BOOL run_pass( const char *pass, const struct options *options )
{
    DWORD_PTR mask, system;
    BOOL ret;

    if (!strcmp( pass, "none" )) return TRUE;
    if (!strcmp( pass, "with" ) || !strcmp( pass, "without" )) return run_hook( pass );
    if (!strcmp( pass, "memory" )) return run_memory( options->workers, !options->plain );
    if (!strcmp( pass, "free" )) return run_switches( pass, !options->plain );
    if (!strcmp( pass, "pinned" ))
    {
        GetProcessAffinityMask( GetCurrentProcess(), &mask, &system );
        SetProcessAffinityMask( GetCurrentProcess(), 1 );
        ret = run_switches( pass, !options->plain );
        SetProcessAffinityMask( GetCurrentProcess(), mask );
        return ret;
    }
    printf( "umsbench: there is no pass %s\n", pass );
    return FALSE;
}

static BOOL needs_ums( const struct options *options )
{
    unsigned int i;

    if (options->plain) return FALSE;
    for (i = 0; i < options->pass_count; i++)
        if (!strcmp( options->passes[i], "pinned" ) || !strcmp( options->passes[i], "free" ) ||
            !strcmp( options->passes[i], "memory" ))
            return TRUE;
    return FALSE;
}

int main( int argc, char **argv )
{
    static struct options options;
    unsigned int i;

    if (!parse_options( argc, argv, &options ))
    {
        printf( "%s", usage );
        return 2;
    }
    if (needs_ums( &options ) && !workers_available())
    {
        printf( "umsbench: no User-Mode Scheduling here (error %lu); start it as: ./bench, or with "
                "--plain\n", GetLastError() );
        return 1;
    }
    CloseHandle( CreateThread( NULL, 0, watchdog_thread, NULL, 0, NULL ));

    for (i = 0; i < options.pass_count; i++)
    {
        if (run_pass( options.passes[i], &options )) continue;
        fflush( stdout );
        TerminateProcess( GetCurrentProcess(), 1 );
    }

    if (options.save)
    {
        if (stats_save( options.save )) return 0;
        printf( "umsbench: cannot write %s\n", options.save );
        return 1;
    }
    report_print( options.load );
    if (!options.json || report_json( options.json, options.load )) return 0;
    printf( "umsbench: cannot write %s\n", options.json );
    return 1;
}
