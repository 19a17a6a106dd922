/*
 * The table and the JSON file: which figures there are, what each is compared with, what is aimed
 * at.
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

#define LOADED 0.7              /* one-minute load average above which figures are suspect */

struct row
{
    const char *figure;                 /* NULL: a heading */
    const char *label;
    const char *base;                   /* what it is compared with, or NULL */
    double      aim;                    /* ratio at most; 0: none */
    BOOL        difference;             /* the difference is of interest, not the ratio */
};

#define PASS_ROWS( pass, factor1, factor2 ) \
    { pass ".address", "WaitOnAddress ping-pong, two threads", NULL, 0, FALSE }, \
    { pass ".yield1", "execute + yield, one worker", pass ".address", factor1, FALSE }, \
    { pass ".yield100", "execute + yield, 100 workers in turn", pass ".address", factor1, FALSE }, \
    { pass ".fiber", "SwitchToFiber there and back", pass ".address", 0, FALSE }, \
    { pass ".thread_event", "event ping-pong, two threads", NULL, 0, FALSE }, \
    { pass ".worker_event", "... two workers, one scheduler", pass ".thread_event", \
      factor2, FALSE }, \
    { pass ".worker_event2", "... two workers, two schedulers", pass ".thread_event", 0, FALSE }, \
    { pass ".thread_life", "CreateThread, run, join, close", NULL, 0, FALSE }, \
    { pass ".worker_life", "worker: create, run, join, close", pass ".thread_life", 0, FALSE }, \
    { pass ".thread_counter", "NtQueryPerformanceCounter, thread", NULL, 0, FALSE }, \
    { pass ".worker_counter", "... on a worker", pass ".thread_counter", 0, TRUE }

/* The aims are set for one CPU: there a hand-off needs no wake-up of another CPU. */
static const struct row rows[] =
{
    { NULL, "all on one CPU, ns", NULL, 0, FALSE },
    PASS_ROWS( "pinned", 1.3, 1.2 ),
    { NULL, "free to use all CPUs, ns", NULL, 0, FALSE },
    PASS_ROWS( "free", 0, 0 ),
    { NULL, "resident memory of one parked, bytes", NULL, 0, FALSE },
    { "memory.thread", "thread", NULL, 0, FALSE },
    { "memory.worker", "worker", "memory.thread", 0, FALSE },
    { NULL, "the hook and a plain thread, ns/call", NULL, 0, FALSE },
    { "without.counter", "NtQueryPerformanceCounter, no shim", NULL, 0, FALSE },
    { "with.counter", "... with the shim", "without.counter", 0, TRUE },
    { "without.yield", "NtYieldExecution, no shim", NULL, 0, FALSE },
    { "with.yield", "... with the shim", "without.yield", 0, TRUE },
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

static BOOL is_loaded( const char *load )
{
    return atof( load ) > LOADED;
}

static BOOL is_met( const struct row *row, double ratio )
{
    return ratio <= row->aim;
}

/* "12,345" or "12.3" */
static const char *number_text( double value, char *text )
{
    long whole = (long)(value + 0.5);

    if (value < 100) sprintf( text, "%.1f", value );
    else if (whole >= 1000000)
        sprintf( text, "%ld,%03ld,%03ld", whole / 1000000, whole / 1000 % 1000, whole % 1000 );
    else if (whole >= 1000) sprintf( text, "%ld,%03ld", whole / 1000, whole % 1000 );
    else sprintf( text, "%ld", whole );
    return text;
}

static void print_row( const struct row *row )
{
    struct summary summary, base;
    char text[4][24];
    double ratio;

    if (!stats_summary( row->figure, &summary )) return;
    printf( "  %-37s %11s %11s %11s %11s", row->label, number_text( summary.median, text[0] ),
            number_text( summary.p25, text[1] ), number_text( summary.p75, text[2] ),
            number_text( summary.min, text[3] ));
    if (row->base && stats_ratio( row->figure, row->base, &ratio ))
    {
        if (row->difference && stats_summary( row->base, &base ))
            printf( "  %+6.1f", summary.median - base.median );
        else printf( "  %6.2f", ratio );
        if (row->aim) printf( "  %.2f %s", row->aim, is_met( row, ratio ) ? "met" : "MISSED" );
    }
    printf( "\n" );
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

void report_print( const char *load )
{
    unsigned int i;

    printf( "UMS benchmark, %s\n", date_text() );
    printf( "cpu:    %s, %u in use\n", host_cpu(), host_cpus() );
    printf( "host:   %s, kernel %s, load %s\n", host_wine(), host_kernel(),
            *load ? load : "unknown" );
    printf( "engine: %s\n", host_engine() );
    if (is_loaded( load )) printf( "WARNING: measured on a loaded machine\n" );

    for (i = 0; i < ARRAYSIZE(rows); i++)
    {
        if (rows[i].figure) print_row( &rows[i] );
        else if (has_rows( i ))
            printf( "\n%-39s %11s %11s %11s %11s   ratio  aim\n", rows[i].label,
                    "median", "p25", "p75", "min" );
    }
}

static void json_string( FILE *file, const char *name, const char *value )
{
    fprintf( file, "  \"%s\": \"", name );
    for ( ; *value; value++)
    {
        if (*value == '"' || *value == '\\') fputc( '\\', file );
        if ((unsigned char)*value >= ' ') fputc( *value, file );
    }
    fprintf( file, "\",\n" );
}

BOOL report_json( const char *path, const char *load )
{
    struct summary summary, base;
    const char *separator = "";
    FILE *file;
    double ratio;
    unsigned int i;

    if (!(file = fopen( path, "w" ))) return FALSE;
    fprintf( file, "{\n" );
    json_string( file, "date", date_text() );
    json_string( file, "cpu", host_cpu() );
    fprintf( file, "  \"cpus\": %u,\n", host_cpus() );
    json_string( file, "kernel", host_kernel() );
    json_string( file, "wine", host_wine() );
    json_string( file, "active", host_engine() );
    json_string( file, "load", load );
    fprintf( file, "  \"loaded\": %s,\n  \"figures\": [", is_loaded( load ) ? "true" : "false" );

    for (i = 0; i < ARRAYSIZE(rows); i++)
    {
        const struct row *row = &rows[i];

        if (!row->figure || !stats_summary( row->figure, &summary )) continue;
        fprintf( file, "%s\n    { \"name\": \"%s\", \"unit\": \"%s\", \"median\": %.1f, "
                 "\"p25\": %.1f, \"p75\": %.1f, \"min\": %.1f, \"n\": %u",
                 separator, row->figure, summary.unit,
                 summary.median, summary.p25, summary.p75, summary.min, summary.n );
        if (row->base && stats_ratio( row->figure, row->base, &ratio ) &&
            stats_summary( row->base, &base ))
        {
            fprintf( file, ", \"base\": \"%s\", \"ratio\": %.3f", row->base, ratio );
            if (row->difference)
                fprintf( file, ", \"difference\": %.1f", summary.median - base.median );
            if (row->aim)
                fprintf( file, ", \"aim\": %.2f, \"met\": %s", row->aim,
                         is_met( row, ratio ) ? "true" : "false" );
        }
        fprintf( file, " }" );
        separator = ",";
    }
    fprintf( file, "\n  ]\n}\n" );
    return !fclose( file );
}
