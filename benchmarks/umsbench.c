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
#include "bodies.h"

#define STEP_SECONDS 120
#define BATCH_NS     3e6        /* how long a batch is made: well below the share of the CPU that
                                   another program gets at a time, so that most are not disturbed */
#define OPS_MIN      10
#define MANY         10000
#define DESCRIPTORS_OF_THREAD 4 /* files that Wine has open for each thread */
#define DESCRIPTORS_KEPT      300

static const char *volatile step = "start";
static volatile LONG step_number;
static unsigned int batches = 15;
static const char *only;                /* arm to run; NULL: all */
static unsigned int fixed_ops;          /* of each batch of each arm; 0: as it needs */

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
    factories_exclude_thread();
    for (;;)
    {
        Sleep( 1000 );
        if (step_number != seen) seconds = 0;
        seen = step_number;
        if (++seconds <= STEP_SECONDS) continue;
        printf( "umsbench: stopped after %d s without progress in %s\n", STEP_SECONDS, step );
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

/* A batch that is not kept: it shows how many operations make one of the right length. */
static BOOL first_batch( struct arm *arm )
{
    double start = stats_now(), ops;

    if (arm->batch( arm ) < 0) return FALSE;
    ops = arm->ops * BATCH_NS / (stats_now() - start);
    if (!arm->fixed) arm->ops = ops < OPS_MIN ? OPS_MIN : (unsigned int)ops;
    return TRUE;
}

static BOOL kept_batch( const char *pass, struct arm *arm )
{
    struct switches before = host_switches();
    double value = arm->batch( arm );
    char name[48];

    if (value < 0) return FALSE;
    snprintf( name, sizeof(name), "%s.%s", pass, arm->name );
    stats_add( name, "ns", value );
    return host_check_carried( name, before ) && (!arm->check || arm->check( arm, name ));
}

/* One first batch of each, then all in turn. */
static BOOL run_arms( const char *pass, const struct plan *plan, unsigned int count, BOOL ums )
{
    struct arm arms[ARM_MAX];
    unsigned int i, batch;
    BOOL ret = FALSE;

    memset( arms, 0, sizeof(arms) );
    for (i = 0; i < count; i++)
    {
        if (plan[i].ums && !ums) continue;
        if (only && strcmp( plan[i].name, only )) continue;
        next_step( plan[i].name );
        arms[i].name = plan[i].name;
        arms[i].ops = plan[i].ops;
        if (!plan[i].start( &arms[i] )) goto done;
        if (!fixed_ops) continue;
        arms[i].ops = fixed_ops;
        arms[i].fixed = TRUE;
    }
    for (batch = 0; batch <= batches; batch++)
    {
        for (i = 0; i < count; i++)
        {
            if (!arms[i].batch) continue;
            next_step( arms[i].name );
            if (!(batch ? kept_batch( pass, &arms[i] ) : first_batch( &arms[i] ))) goto done;
        }
    }
    ret = TRUE;

done:
    if (!ret) printf( "umsbench: %s: given up\n", step );
    for (i = 0; ret && i < count; i++)
    {
        next_step( arms[i].name );
        if (arms[i].batch && arms[i].stop) arms[i].stop( &arms[i] );
    }
    return ret;
}

static BOOL run_switches( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "floor",          10000,  bare_start_floor,        FALSE },
        { "yield1",         5000,   workers_start_yield1,    TRUE  },
        { "yield1000",      50000,  gang_start_yield,        TRUE  },
        { "yield100",       5000,   workers_start_yield100,  TRUE  },
        { "ring1000",       50000,  workers_start_ring1000,  TRUE  },
        { "thread_close",   100,    threads_start_close,     FALSE },
        { "worker_close",   100,    workers_start_close,     TRUE  },
        { "thread_read",    500,    threads_start_read,      FALSE },
        { "worker_read",    100,    workers_start_read,      TRUE  },
        { "fiber",          10000,  threads_start_fiber,     FALSE },
        { "address",        1000,   threads_start_address,   FALSE },
        { "wake",           40,     bare_start_wake,         FALSE },
        { "block_sleep",    40,     blocks_start_sleep,      TRUE  },
        { "block_wait",     20,     blocks_start_wait,       TRUE  },
        { "poll",           100,    threads_start_poll,      FALSE },
        { "thread_event",   50,     threads_start_event,     FALSE },
        { "worker_event",   50,     workers_start_event,     TRUE  },
        { "worker_event2",  50,     workers_start_event2,    TRUE  },
        { "thread_life",    10,     threads_start_create,    FALSE },
        { "worker_life",    10,     workers_start_create,    TRUE  },
        { "thread_counter", 10000,  threads_start_counter,   FALSE },
        { "worker_counter", 10000,  workers_start_counter,   TRUE  },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), ums );
}

static BOOL run_engine( const char *pass )
{
    static const struct plan plan[] =
    {
        { "yield1",   2000, workers_start_yield1,   TRUE  },
        { "yield100", 2000, workers_start_yield100, TRUE  },
        { "address",  1000, threads_start_address,  FALSE },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), TRUE );
}

/* What scripts/matrix needs, and no more. */
static BOOL run_trip( const char *pass )
{
    static const struct plan plan[] =
    {
        { "floor",  10000, bare_start_floor,     FALSE },
        { "yield1", 2000,  workers_start_yield1, TRUE  },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), TRUE );
}

/* A lean round robin with nothing beside it but the switches that it is compared with: what other arms leave in
   the caches is no part of it, and 4,000 workers need all open files that a process may have. */
static BOOL run_ring( const char *pass )
{
    static const struct plan lean[] =
    {
        { "floor",    10000,  bare_start_floor,       FALSE },
        { "ring1000", 50000,  workers_start_ring1000, TRUE  },
    };
    static const struct plan ring[] =
    {
        { "floor",    10000,  bare_start_floor,       FALSE },
        { "ring4000", 100000, workers_start_ring4000, TRUE  },
    };

    return run_arms( pass, strcmp( pass, "lean" ) ? ring : lean, ARRAYSIZE(ring), TRUE );
}

/* Two take turns, on one CPU. */
static BOOL run_turns( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "floor",            10000, bare_start_floor,        FALSE },
        { "block_alert",      200,   blocks_start_alert,      TRUE  },
        { "thread_condition", 200,   threads_start_condition, FALSE },
        { "worker_condition", 2000,  workers_start_condition, TRUE  },
        { "thread_address",   200,   threads_start_turns,     FALSE },
        { "worker_address",   2000,  workers_start_turns,     TRUE  },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), ums );
}

/* Two take turns with objects, or one uses them alone, on one CPU: of the shim and a plain process in turn. */
static BOOL run_objects( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "floor",             10000, bare_start_floor,         TRUE  },
        { "block_event",       200,   blocks_start_event,       TRUE  },
        { "thread_events",     50,    threads_start_events,     FALSE },
        { "worker_events",     1000,  workers_start_events,     TRUE  },
        { "worker_known",      20,    workers_start_known,      TRUE  },
        { "thread_semaphores", 50,    threads_start_semaphores, FALSE },
        { "worker_semaphores", 1000,  workers_start_semaphores, TRUE  },
        { "thread_mutexes",    50,    threads_start_mutexes,    FALSE },
        { "worker_mutexes",    1000,  workers_start_mutexes,    TRUE  },
        { "thread_any",        50,    threads_start_any,        FALSE },
        { "worker_any",        1000,  workers_start_any,        TRUE  },
        { "thread_set",        200,   threads_start_set,        FALSE },
        { "worker_set",        200,   workers_start_set,        TRUE  },
        { "counter",           10000, threads_start_counter,    FALSE },
        { "yield",             5000,  threads_start_yield,      FALSE },
    };
    const char *why = ums ? host_no_local_objects() : NULL;

    if (!why) return run_arms( pass, plan, ARRAYSIZE(plan), ums );
    printf( "umsbench: no local objects: %s\n", why );
    return FALSE;
}

static BOOL run_rides( const char *pass, BOOL ums )
{
    struct plan plan[ARM_MAX];
    unsigned int count = 0;

    while (count < ARM_MAX && (plan[count].name = rides_arm( count, &plan[count].ums )))
    {
        plan[count].ops = 10;
        plan[count++].start = rides_start;
    }
    return (!ums || rides_have_grace( pass )) && run_arms( pass, plan, count, ums );
}

/* Many, on all CPUs. */
static BOOL run_waits( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "thread_section", 1000, threads_start_section, FALSE },
        { "worker_section", 1000, workers_start_section, TRUE  },
        { "thread_naps",    10,   threads_start_naps,    FALSE },
        { "worker_naps",    10,   workers_start_naps,    TRUE  },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), ums );
}

/* The thread pool takes too long for as many. */
static BOOL run_items( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "worker", 1000000, gang_start_items,    TRUE  },
        { "pool",   5000,    threads_start_items, FALSE },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), ums );
}

/* The rival first: its pool has threads that stay. */
static BOOL run_factory( const char *pass, BOOL ums )
{
    static const struct plan plan[] =
    {
        { "pool",         5000, threads_start_items,      FALSE },
        { "release1",     2000, factories_start_release1, TRUE  },
        { "release2",     2000, factories_start_release2, TRUE  },
        { "release4",     2000, factories_start_release4, TRUE  },
        { "sample",       2000, factories_start_sample,   TRUE  },
        { "bare_packets", 500,  threads_start_packets,    FALSE },
        { "packets",      500,  factories_start_packets,  TRUE  },
    };

    return run_arms( pass, plan, ARRAYSIZE(plan), ums );
}

static BOOL run_idle( unsigned int seconds )
{
    double switches;

    next_step( "idle" );
    factories_exclude_thread();
    switches = factories_idle_switches( seconds );
    if (switches >= 0) stats_add( "idle.switches", "", switches );
    return TRUE;
}

static BOOL run_hook( const char *pass )
{
    static const struct plan plan[] =
    {
        { "counter", 10000, threads_start_counter, FALSE },
        { "yield",   5000,  threads_start_yield,   FALSE },
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

/* More threads than Wine can open files for would take the wineserver with them. */
static BOOL run_many( unsigned int count, unsigned int descriptors )
{
    unsigned int most = descriptors > DESCRIPTORS_KEPT ?
                        (descriptors - DESCRIPTORS_KEPT) / DESCRIPTORS_OF_THREAD : 0;

    next_step( "many" );
    if (most && most < count)
    {
        stats_note( "%u live workers, not %u: the limit of %u open files allows no more, Wine has "
                    "%u for each thread", most, count, descriptors, DESCRIPTORS_OF_THREAD );
        count = most;
    }
    else if (count < MANY) stats_note( "%u live workers, because no more were asked for", count );
    return workers_many( count, 5 );
}

/* ---- main ---- */

static const char usage[] =
    "usage: umsbench [OPTIONS] [PASS...]\n"
    "PASS:   pinned (all threads on CPU 0), free, memory; all three if none is given;\n"
    "        items (work items, sample scheduler and thread pool), many (live workers);\n"
    "        factory (worker factories, their port and the thread pool), idle (an idle factory);\n"
    "        carry, handoff, traced (a few arms of pinned, named after the engine, or UMS_TRACE);\n"
    "        lean, ring (a lean round robin of 1,000 and 4,000 workers, on CPU 0);\n"
    "        turns (waits without kernel objects: two take turns, on CPU 0), waits (many, on all CPUs);\n"
    "        local (objects that the shim keeps, on CPU 0: UMS_LOCAL_OBJECTS=on), server (the same\n"
    "        without the shim);\n"
    "        rides-GRACE (calls that may block, on CPU 0; named after UMS_GRACE_US), rides-GRACE-free (the\n"
    "        same on all CPUs);\n"
    "        trip (the two arms of pinned that a round trip is judged by);\n"
    "        with, without (system calls of a plain thread, named after the shim's presence);\n"
    "        none (only report what --load brought)\n"
    "        --arm=NAME       run this arm only, a figure's name without the pass\n"
    "        --plain          leave out what needs UMS\n"
    "        --ops=N          operations in each batch; if it is not given, what takes 3 ms\n"
    "        --batches=N      samples a figure, 15\n"
    "        --workers=N      workers of the passes memory and waits, 1000\n"
    "        --many=N         workers of the pass many, 10000\n"
    "        --idle=N         seconds of the pass idle, 10\n"
    "        --descriptors=N  files that a process may have open, 0 (unknown)\n"
    "        --load=FILE      add the samples of a file\n"
    "        --save=FILE      append the samples to a file and report nothing\n"
    "        --json=FILE      write the report there as well\n"
    "        --loadavg=TEXT   load average of the machine before the benchmark\n"
    "        --others=TEXT    percent of the CPUs that other programs used during it\n";

struct options
{
    const char  *save;
    const char  *json;
    struct load  load;
    const char  *passes[16];
    unsigned int pass_count;
    unsigned int workers;
    unsigned int many;
    unsigned int idle;
    unsigned int descriptors;
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
    options->many = MANY;
    options->idle = 10;
    options->load.average = host_load();
    options->load.others = "";
    for (i = 1; i < argc; i++)
    {
        if ((value = option_value( argv[i], "--load=" )))
        {
            if (!stats_load( value )) printf( "umsbench: no samples in %s\n", value );
        }
        else if ((value = option_value( argv[i], "--arm=" ))) only = value;
        else if ((value = option_value( argv[i], "--save=" ))) options->save = value;
        else if ((value = option_value( argv[i], "--json=" ))) options->json = value;
        else if ((value = option_value( argv[i], "--loadavg=" ))) options->load.average = value;
        else if ((value = option_value( argv[i], "--others=" ))) options->load.others = value;
        else if ((value = option_value( argv[i], "--batches=" ))) batches = atoi( value );
        else if ((value = option_value( argv[i], "--ops=" ))) fixed_ops = atoi( value );
        else if ((value = option_value( argv[i], "--workers=" ))) options->workers = atoi( value );
        else if ((value = option_value( argv[i], "--many=" ))) options->many = atoi( value );
        else if ((value = option_value( argv[i], "--idle=" ))) options->idle = atoi( value );
        else if ((value = option_value( argv[i], "--descriptors=" )))
            options->descriptors = atoi( value );
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
    return batches && options->workers && options->many;
}

static BOOL is_engine( const char *pass )
{
    return !strcmp( pass, "carry" ) || !strcmp( pass, "handoff" ) || !strcmp( pass, "traced" );
}

static BOOL is_ride( const char *pass )
{
    return !strncmp( pass, RIDES, strlen( RIDES ) );
}

static BOOL is_pinned( const char *pass )
{
    static const char *const passes[] = { "pinned", "ring", "lean", "turns", "trip", "local", "server" };
    unsigned int i;

    for (i = 0; i < ARRAYSIZE(passes); i++) if (!strcmp( pass, passes[i] )) return TRUE;
    return is_engine( pass ) || (is_ride( pass ) && !strstr( pass, "-free" ));
}

static BOOL run_pinned( const char *pass, BOOL ums )
{
    DWORD_PTR mask, system;
    BOOL ret;

    GetProcessAffinityMask( GetCurrentProcess(), &mask, &system );
    SetProcessAffinityMask( GetCurrentProcess(), 1 );
    if (!strcmp( pass, "trip" )) ret = run_trip( pass );
    else if (!strcmp( pass, "ring" ) || !strcmp( pass, "lean" )) ret = run_ring( pass );
    else if (!strcmp( pass, "turns" )) ret = run_turns( pass, ums );
    else if (is_ride( pass )) ret = run_rides( pass, ums );
    else if (!strcmp( pass, "local" )) ret = run_objects( pass, TRUE );
    else if (!strcmp( pass, "server" )) ret = run_objects( pass, FALSE );
    else ret = is_engine( pass ) ? run_engine( pass ) : run_switches( pass, ums );
    SetProcessAffinityMask( GetCurrentProcess(), mask );
    return ret;
}

static BOOL run_pass( const char *pass, const struct options *options )
{
    if (!strcmp( pass, "none" )) return TRUE;
    if (!strcmp( pass, "with" ) || !strcmp( pass, "without" )) return run_hook( pass );
    if (!strcmp( pass, "memory" )) return run_memory( options->workers, !options->plain );
    if (!strcmp( pass, "many" )) return run_many( options->many, options->descriptors );
    if (!strcmp( pass, "items" )) return run_items( pass, !options->plain );
    if (!strcmp( pass, "factory" )) return run_factory( pass, !options->plain );
    if (!strcmp( pass, "waits" ))
    {
        waits_nappers = options->workers;
        return run_waits( pass, !options->plain );
    }
    if (!strcmp( pass, "idle" )) return run_idle( options->idle );
    if (!strcmp( pass, "free" )) return run_switches( pass, !options->plain );
    if (!strcmp( pass, "ring" ) && options->descriptors &&
        options->descriptors < RING_WORKERS * DESCRIPTORS_OF_THREAD + DESCRIPTORS_KEPT)
    {
        stats_note( "no round robin of %u workers: the limit of %u open files allows no more",
                    RING_WORKERS, options->descriptors );
        return TRUE;
    }
    if (is_pinned( pass )) return run_pinned( pass, !options->plain );
    if (is_ride( pass )) return run_rides( pass, !options->plain );
    printf( "umsbench: there is no pass %s\n", pass );
    return FALSE;
}

static BOOL needs_ums( const struct options *options )
{
    static const char *const plain[] = { "none", "with", "without", "server" };
    unsigned int i, j;

    if (options->plain) return FALSE;
    for (i = 0; i < options->pass_count; i++)
    {
        for (j = 0; j < ARRAYSIZE(plain); j++)
            if (!strcmp( options->passes[i], plain[j] )) break;
        if (j == ARRAYSIZE(plain)) return TRUE;
    }
    return FALSE;
}

/* CPU time of this process: what is not ours, others have used. */
static double own_seconds( void )
{
    FILETIME created, exited, kernel, user;

    if (!GetProcessTimes( GetCurrentProcess(), &created, &exited, &kernel, &user )) return 0;
    return ((double)kernel.dwLowDateTime + user.dwLowDateTime) / 1e7;
}

int main( int argc, char **argv )
{
    static struct options options;
    unsigned int i;

    stats_cycles_ns( 0 );
    if (!bodies_start())
    {
        printf( "umsbench: no WaitOnAddress here\n" );
        return 1;
    }
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

    if (!host_check_carried( "all", (struct switches){ 0, 0 } )) return 1;      /* passes without arms, too */
    stats_add( "switches.carried", "", host_switches().carried );

    if (options.save)
    {
        stats_add( "cpu.self", "s", own_seconds() );
        if (stats_save( options.save )) return 0;
        printf( "umsbench: cannot write %s\n", options.save );
        return 1;
    }
    report_print( &options.load );
    if (!options.json || report_json( options.json, &options.load )) return 0;
    printf( "umsbench: cannot write %s\n", options.json );
    return 1;
}
