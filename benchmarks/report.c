/*
 * The table and the JSON file: which figures there are, what each is compared with, and the
 * aims (aims.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define LOADED        0.7       /* one-minute load average above which figures are suspect, */
#define OTHERS_LOADED 10        /* and percent of the CPUs that others used meanwhile */
#define WIDE          0.2       /* quartiles this far apart, by the median, are pointed out */

struct row
{
    const char  *figure;                /* NULL: a heading */
    const char  *label;
    const char  *base;                  /* what it is compared with, or NULL */
    enum pairing pairing;
};

/* The comparisons with WaitOnAddress were the aims of the handoff engine. */
#define PASS_ROWS( pass ) \
    { pass ".floor", "two bare switches", NULL, PAIR_NONE }, \
    { pass ".fiber", "SwitchToFiber there and back", pass ".floor", PAIR_RATIO }, \
    { pass ".address", "WaitOnAddress ping-pong, two threads", NULL, PAIR_NONE }, \
    { pass ".yield1", "execute + yield, one worker", pass ".address", PAIR_RATIO }, \
    { pass ".yield100", "... 100 workers in turn", pass ".address", PAIR_RATIO }, \
    { pass ".yield1000", "... 1,000, sample scheduler", pass ".address", PAIR_RATIO }, \
    { pass ".ring1000", "... 1,000 in turn", pass ".address", PAIR_RATIO }, \
    { pass ".thread_close", "make and close an event, thread", NULL, PAIR_NONE }, \
    { pass ".worker_close", "... and yield, worker", pass ".thread_close", PAIR_RATIO }, \
    { pass ".thread_read", "read 4 KB of a file, thread", NULL, PAIR_NONE }, \
    { pass ".worker_read", "... and yield, worker", pass ".thread_read", PAIR_RATIO }, \
    { pass ".wake", "futex wake + bare switch", NULL, PAIR_NONE }, \
    { pass ".poll", "WaitForSingleObject, time-out 0", NULL, PAIR_NONE }, \
    { pass ".block_sleep", "a Sleep -> SchedulerProc", pass ".wake", PAIR_RATIO }, \
    { pass ".block_wait", "a wait -> SchedulerProc", pass ".wake", PAIR_RATIO }, \
    { pass ".thread_event", "event ping-pong, two threads", NULL, PAIR_NONE }, \
    { pass ".worker_event", "... two workers, one scheduler", pass ".thread_event", PAIR_RATIO }, \
    { pass ".worker_event2", "... two workers, two schedulers", pass ".thread_event", \
      PAIR_RATIO }, \
    { pass ".thread_life", "CreateThread, run, join, close", NULL, PAIR_NONE }, \
    { pass ".worker_life", "worker: create, run, join, close", pass ".thread_life", PAIR_RATIO }, \
    { pass ".thread_counter", "NtQueryPerformanceCounter, thread", NULL, PAIR_NONE }, \
    { pass ".worker_counter", "... on a worker", pass ".thread_counter", PAIR_DIFFERENCE }

#define ENGINE_ROWS( engine ) \
    { engine ".yield1", "execute + yield, one worker, " engine, engine ".address", PAIR_RATIO }, \
    { engine ".yield100", "... 100 workers in turn, " engine, engine ".address", PAIR_RATIO }

static const struct row rows[] =
{
    { NULL, "all on one CPU, ns", NULL, PAIR_NONE },
    PASS_ROWS( "pinned" ),
    { NULL, "free to use all CPUs, ns", NULL, PAIR_NONE },
    PASS_ROWS( "free" ),
    { "items.pool", "a work item, system thread pool", NULL, PAIR_NONE },
    { "items.worker", "... workers of the sample scheduler", "items.pool", PAIR_RATIO },
    { NULL, "waits without the kernel, ns", NULL, PAIR_NONE },
    { "turns.floor", "two bare switches", NULL, PAIR_NONE },
    { "turns.block_alert", "an alert's wait -> SchedulerProc", "turns.floor", PAIR_RATIO },
    { "turns.thread_condition", "SRW lock + condition, two threads", NULL, PAIR_NONE },
    { "turns.worker_condition", "... two workers", "turns.thread_condition", PAIR_RATIO },
    { "turns.thread_address", "WaitOnAddress, two threads", NULL, PAIR_NONE },
    { "turns.worker_address", "... two workers", "turns.thread_address", PAIR_RATIO },
    { "waits.thread_section", "critical section, 8 threads, 2 CPUs", NULL, PAIR_NONE },
    { "waits.worker_section", "... 8 workers, 2 schedulers", "waits.thread_section", PAIR_RATIO },
    { "waits.thread_naps", "Sleep(1), many threads, CPU time", NULL, PAIR_NONE },
    { "waits.worker_naps", "... many workers", "waits.thread_naps", PAIR_RATIO },
    { NULL, "local objects, one CPU, ns", NULL, PAIR_NONE },
    { "local.floor", "two bare switches", NULL, PAIR_NONE },
    { "local.block_event", "a wait -> SchedulerProc", "local.floor", PAIR_RATIO },
    { "server.thread_events", "events, two threads, no shim", NULL, PAIR_NONE },
    { "local.thread_events", "... with the shim", "server.thread_events", PAIR_RATIO },
    { "local.worker_events", "... two workers", "server.thread_events", PAIR_RATIO },
    { "local.worker_known", "... that became real, two workers", "server.thread_events", PAIR_RATIO },
    { "server.thread_semaphores", "semaphores, two threads, no shim", NULL, PAIR_NONE },
    { "local.thread_semaphores", "... with the shim", "server.thread_semaphores", PAIR_RATIO },
    { "local.worker_semaphores", "... two workers", "server.thread_semaphores", PAIR_RATIO },
    { "server.thread_mutexes", "mutexes, two threads, no shim", NULL, PAIR_NONE },
    { "local.thread_mutexes", "... with the shim", "server.thread_mutexes", PAIR_RATIO },
    { "local.worker_mutexes", "... two workers", "server.thread_mutexes", PAIR_RATIO },
    { "server.thread_any", "any of 8 events, two threads, no shim", NULL, PAIR_NONE },
    { "local.thread_any", "... with the shim", "server.thread_any", PAIR_RATIO },
    { "local.worker_any", "... two workers", "server.thread_any", PAIR_RATIO },
    { "server.thread_set", "a set, and nobody waits, no shim", NULL, PAIR_NONE },
    { "local.thread_set", "... with the shim", "server.thread_set", PAIR_RATIO },
    { "local.worker_set", "... by a worker", "server.thread_set", PAIR_RATIO },
    { NULL, "the hook while objects are local, ns/call", NULL, PAIR_NONE },
    { "server.counter", "NtQueryPerformanceCounter, no shim", NULL, PAIR_NONE },
    { "local.counter", "... with the shim", "server.counter", PAIR_DIFFERENCE },
    { "server.yield", "NtYieldExecution, no shim", NULL, PAIR_NONE },
    { "local.yield", "... with the shim", "server.yield", PAIR_DIFFERENCE },
    { NULL, "worker factories, ns", NULL, PAIR_NONE },
    { "factory.pool", "a work item, system thread pool", NULL, PAIR_NONE },
    { "factory.release1", "... released, one worker", "factory.pool", PAIR_RATIO },
    { "factory.release2", "... two workers", "factory.pool", PAIR_RATIO },
    { "factory.release4", "... four workers", "factory.pool", PAIR_RATIO },
    { "factory.sample", "... through the sample pool", "factory.pool", PAIR_RATIO },
    { "factory.bare_packets", "a packet, NtRemoveIoCompletionEx", NULL, PAIR_NONE },
    { "factory.packets", "... to a worker", "factory.bare_packets", PAIR_RATIO },
    { "idle.switches", "wake-ups while a factory is idle", NULL, PAIR_NONE },
    { NULL, "the engines, all on one CPU, ns", NULL, PAIR_NONE },
    ENGINE_ROWS( "carry" ),
    ENGINE_ROWS( "handoff" ),
    { NULL, "resident memory of one parked, bytes", NULL, PAIR_NONE },
    { "memory.thread", "thread", NULL, PAIR_NONE },
    { "memory.worker", "worker", "memory.thread", PAIR_RATIO },
    { NULL, "as many workers as can be", NULL, PAIR_NONE },
    { "many.workers", "live workers", NULL, PAIR_NONE },
    { "many.memory", "resident memory of one, bytes", NULL, PAIR_NONE },
    { "many.yield", "execute + yield, all in turn, ns", NULL, PAIR_NONE },
    { NULL, "the hook and a plain thread, ns/call", NULL, PAIR_NONE },
    { "without.counter", "NtQueryPerformanceCounter, no shim", NULL, PAIR_NONE },
    { "with.counter", "... with the shim", "without.counter", PAIR_DIFFERENCE },
    { "without.yield", "NtYieldExecution, no shim", NULL, PAIR_NONE },
    { "with.yield", "... with the shim", "without.yield", PAIR_DIFFERENCE },
};

static const char *date_text( void )
{
    static char text[32];
    SYSTEMTIME now;

    GetSystemTime( &now );
    snprintf( text, sizeof(text), "%04u-%02u-%02uT%02u:%02u:%02uZ", now.wYear, now.wMonth, now.wDay,
              now.wHour, now.wMinute, now.wSecond );
    return text;
}

static BOOL is_loaded( const struct load *load )
{
    return atof( load->average ) > LOADED || atof( load->others ) > OTHERS_LOADED;
}

static BOOL is_wide( const struct summary *summary )
{
    return summary->p75 - summary->p25 > WIDE * summary->median;
}

/* "12,345", "12.3" or "0.012" */
static const char *number_text( double value, char *text )
{
    long whole = (long)(value + 0.5);

    if (value > 0 && value < 0.1) sprintf( text, "%.3f", value );
    else if (value < 10) sprintf( text, "%.2f", value );
    else if (value < 100) sprintf( text, "%.1f", value );
    else if (whole >= 1000000)
        sprintf( text, "%ld,%03ld,%03ld", whole / 1000000, whole / 1000 % 1000, whole % 1000 );
    else if (whole >= 1000) sprintf( text, "%ld,%03ld", whole / 1000, whole % 1000 );
    else sprintf( text, "%ld", whole );
    return text;
}

static void print_row( const struct row *row )
{
    struct summary summary, pairs;
    char text[4][24];

    if (!stats_summary( row->figure, &summary )) return;
    printf( "  %-37s %11s %11s %11s %11s", row->label, number_text( summary.median, text[0] ),
            number_text( summary.p25, text[1] ), number_text( summary.p75, text[2] ),
            number_text( summary.min, text[3] ));
    if (row->base && stats_pairs( row->figure, row->base, row->pairing, &pairs ))
        printf( row->pairing == PAIR_DIFFERENCE ? "  %+7.1f" : "  %7.3f", pairs.median );
    printf( "\n" );
}

/* The median of "<figure>.<what>"; FALSE: there is none. */
static BOOL part_of( const char *figure, const char *what, double *value )
{
    struct summary summary;
    char name[64];

    snprintf( name, sizeof(name), "%s.%s", figure, what );
    if (!stats_summary( name, &summary )) return FALSE;
    *value = summary.median;
    return TRUE;
}

/* figure, what it is compared with, the median of the pairs and their quartiles, aim */
static void print_aim( const struct aim *aim )
{
    struct summary figure, base, value;
    char text[4][24] = { "", "" };
    char limit[24];
    double part;

    if (!aim_value( aim, &value ) || !stats_summary( aim->figure, &figure )) return;
    if (aim->base)
    {
        number_text( figure.median, text[0] );
        if (stats_summary( aim->base, &base )) number_text( base.median, text[1] );
    }
    printf( "  %-37s %11s  %-19s %10s %10s%-2s %s", aim->label, text[0],
            aim->against ? aim->against : "", text[1], number_text( value.median, text[2] ),
            aim->unit, is_wide( &value ) ? "~" : " " );
    if (value.n > 1) printf( " %9s", number_text( value.p25, text[2] ));
    else printf( " %9s", "" );
    printf( " %9s", value.n > 1 ? number_text( value.p75, text[3] ) : "" );
    if (aim->limit >= 0)
        printf( "  %s %s %s", aim->at_least ? ">=" : "<=", number_text( aim->limit, limit ),
                aim_met( aim, &value ) ? "met" : "MISSED" );
    if (part_of( aim->figure, "local", &part )) printf( part ? "; local" : "; real" );
    if (part_of( aim->figure, "carried", &part )) printf( "; carried %.3g %%", part );
    printf( "\n" );
}

static void print_aims( void )
{
    struct summary value;
    unsigned int i;

    for (i = 0; i < aim_count; i++) if (aim_value( &aims[i], &value )) break;
    if (i == aim_count) return;
    printf( "\n%-39s %11s  %-19s %10s %12s   %9s %9s  aim\n", "what is aimed at", "median",
            "against", "median", "pairs", "p25", "p75" );
    for (i = 0; i < aim_count; i++) print_aim( &aims[i] );
}

/* Is there a figure below this heading? */
static BOOL has_rows( unsigned int heading )
{
    struct summary summary;
    unsigned int i;

    for (i = heading + 1; i < ARRAYSIZE(rows) && rows[i].figure; i++)
        if (stats_summary( rows[i].figure, &summary )) return TRUE;
    return FALSE;
}

static void print_head( const struct load *load )
{
    unsigned int i;

    printf( "UMS benchmark, %s\n", date_text() );
    printf( "cpu:    %s, %u in use\n", host_cpu(), host_cpus() );
    printf( "host:   %s, kernel %s\n", host_wine(), host_kernel() );
    printf( "engine: %s\n", host_engine() );
    printf( "load:   %s before", *load->average ? load->average : "unknown" );
    if (*load->others) printf( ", others used %s %% of the CPUs meanwhile", load->others );
    printf( "\n" );
    for (i = 0; stats_note_text( i ); i++) printf( "note:   %s\n", stats_note_text( i ) );
    if (is_loaded( load )) printf( "WARNING: measured on a loaded machine\n" );
}

void report_print( const struct load *load )
{
    unsigned int i;

    print_head( load );
    print_aims();
    for (i = 0; i < ARRAYSIZE(rows); i++)
    {
        if (rows[i].figure) print_row( &rows[i] );
        else if (has_rows( i ))
            printf( "\n%-39s %11s %11s %11s %11s    pairs\n", rows[i].label,
                    "median", "p25", "p75", "min" );
    }
    rides_print();
    printf( "\npairs: median of the ratios, or differences, of batches that ran side by side; "
            "~ quartiles more than %.0f %% apart;\nlocal, real: whether the shim or the host keeps the objects; carried: "
            "how many of the executes\n", WIDE * 100 );
}

static void json_text( FILE *file, const char *value )
{
    fputc( '"', file );
    for ( ; *value; value++)
    {
        if (*value == '"' || *value == '\\') fputc( '\\', file );
        if ((unsigned char)*value >= ' ') fputc( *value, file );
    }
    fputc( '"', file );
}

static void json_string( FILE *file, const char *name, const char *value )
{
    fprintf( file, "  \"%s\": ", name );
    json_text( file, value );
    fprintf( file, ",\n" );
}

/* The values of a summary, inside an object. */
static void json_summary( FILE *file, const struct summary *summary )
{
    fprintf( file, "\"median\": %.3f, \"p25\": %.3f, \"p75\": %.3f, \"min\": %.3f, \"n\": %u",
             summary->median, summary->p25, summary->p75, summary->min, summary->n );
}

static void json_head( FILE *file, const struct load *load )
{
    const char *separator = "";
    unsigned int i;

    json_string( file, "date", date_text() );
    json_string( file, "cpu", host_cpu() );
    fprintf( file, "  \"cpus\": %u,\n", host_cpus() );
    json_string( file, "kernel", host_kernel() );
    json_string( file, "wine", host_wine() );
    json_string( file, "active", host_engine() );
    json_string( file, "load", load->average );
    json_string( file, "others_percent", load->others );
    fprintf( file, "  \"loaded\": %s,\n  \"notes\": [", is_loaded( load ) ? "true" : "false" );
    for (i = 0; stats_note_text( i ); i++, separator = ", ")
    {
        fprintf( file, "%s", separator );
        json_text( file, stats_note_text( i ) );
    }
    fprintf( file, "],\n" );
}

static void json_aims( FILE *file )
{
    static const char *const pairings[] = { "value", "ratio", "base/figure", "difference" };
    const char *separator = "";
    struct summary value;
    unsigned int i;
    double part;

    fprintf( file, "  \"aims\": [" );
    for (i = 0; i < aim_count; i++)
    {
        const struct aim *aim = &aims[i];

        if (!aim_value( aim, &value )) continue;
        fprintf( file, "%s\n    { \"figure\": \"%s\", \"kind\": \"%s\", ", separator,
                 aim->figure, pairings[aim->pairing] );
        if (aim->base) fprintf( file, "\"base\": \"%s\", ", aim->base );
        json_summary( file, &value );
        if (aim->limit >= 0)
            fprintf( file, ", \"%s\": %g, \"met\": %s", aim->at_least ? "at_least" : "at_most",
                     aim->limit, aim_met( aim, &value ) ? "true" : "false" );
        if (part_of( aim->figure, "local", &part ))
            fprintf( file, ", \"local\": %s", part ? "true" : "false" );
        if (part_of( aim->figure, "carried", &part ))
            fprintf( file, ", \"carried_percent\": %.1f", part );
        fprintf( file, " }" );
        separator = ",";
    }
    fprintf( file, "\n  ],\n" );
}

BOOL report_json( const char *path, const struct load *load )
{
    struct summary summary, pairs;
    const char *separator = "";
    FILE *file;
    unsigned int i;

    if (!(file = fopen( path, "w" ))) return FALSE;
    fprintf( file, "{\n" );
    json_head( file, load );
    json_aims( file );
    rides_json( file );
    fprintf( file, "  \"figures\": [" );
    for (i = 0; i < ARRAYSIZE(rows); i++)
    {
        const struct row *row = &rows[i];

        if (!row->figure || !stats_summary( row->figure, &summary )) continue;
        fprintf( file, "%s\n    { \"name\": \"%s\", \"unit\": \"%s\", ", separator, row->figure,
                 summary.unit );
        json_summary( file, &summary );
        if (row->base && stats_pairs( row->figure, row->base, row->pairing, &pairs ))
            fprintf( file, ", \"base\": \"%s\", \"%s\": %.3f", row->base,
                     row->pairing == PAIR_DIFFERENCE ? "difference" : "ratio", pairs.median );
        fprintf( file, " }" );
        separator = ",";
    }
    fprintf( file, "\n  ]\n}\n" );
    return !fclose( file );
}
