/*
 * Samples by name, their order statistics, and a file of them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define MAX_FIGURES 1024
#define MAX_NOTES   16
#define MAX_SAMPLES 256

struct figure
{
    char         name[48];
    char         unit[16];
    unsigned int n;
    double       samples[MAX_SAMPLES];
};

static struct figure figures[MAX_FIGURES];
static unsigned int figure_count;
static char notes[MAX_NOTES][120];
static unsigned int note_count;

static struct figure *figure_find( const char *name )
{
    unsigned int i;

    for (i = 0; i < figure_count; i++)
        if (!strcmp( figures[i].name, name )) return &figures[i];
    return NULL;
}

static int compare_doubles( const void *left, const void *right )
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Quantile of sorted values, interpolated. */
static double quantile( const double *values, unsigned int n, double q )
{
    double pos = q * (n - 1);
    unsigned int low = (unsigned int)pos;

    if (low + 1 >= n) return values[n - 1];
    return values[low] + (pos - low) * (values[low + 1] - values[low]);
}

void stats_add( const char *name, const char *unit, double value )
{
    struct figure *figure = figure_find( name );

    if (!figure)
    {
        if (figure_count == MAX_FIGURES)
        {
            stats_note( "not all figures are here: there are more than %u", MAX_FIGURES );
            return;
        }
        figure = &figures[figure_count++];
        snprintf( figure->name, sizeof(figure->name), "%s", name );
        snprintf( figure->unit, sizeof(figure->unit), "%s", unit );
    }
    if (figure->n < MAX_SAMPLES) figure->samples[figure->n++] = value;
}

const char *stats_name( unsigned int index )
{
    return index < figure_count ? figures[index].name : NULL;
}

/* The same thing is noted once. */
static void note_add( const char *text )
{
    unsigned int i;

    for (i = 0; i < note_count; i++) if (!strcmp( notes[i], text )) return;
    if (note_count == MAX_NOTES) return;
    snprintf( notes[note_count++], sizeof(notes[0]), "%s", text );
}

void stats_note( const char *format, ... )
{
    char text[sizeof(notes[0])];
    va_list args;

    va_start( args, format );
    vsnprintf( text, sizeof(text), format, args );
    va_end( args );
    note_add( text );
}

const char *stats_note_text( unsigned int index )
{
    return index < note_count ? notes[index] : NULL;
}

/* A line is: name unit sample sample ...; or # and a note. */
BOOL stats_save( const char *path )
{
    unsigned int i, j;
    FILE *file;

    if (!(file = fopen( path, "a" ))) return FALSE;
    for (i = 0; i < note_count; i++) fprintf( file, "#%s\n", notes[i] );
    for (i = 0; i < figure_count; i++)
    {
        fprintf( file, "%s %s", figures[i].name, figures[i].unit );
        for (j = 0; j < figures[i].n; j++) fprintf( file, " %.3f", figures[i].samples[j] );
        fprintf( file, "\n" );
    }
    return !fclose( file );
}

BOOL stats_load( const char *path )
{
    static char line[MAX_SAMPLES * 20];
    char *name, *unit, *sample;
    FILE *file;

    if (!(file = fopen( path, "r" ))) return FALSE;
    while (fgets( line, sizeof(line), file ))
    {
        line[strcspn( line, "\r\n" )] = 0;
        if (*line == '#')
        {
            note_add( line + 1 );
            continue;
        }
        if (!(name = strtok( line, " " )) || !(unit = strtok( NULL, " " ))) continue;
        while ((sample = strtok( NULL, " " ))) stats_add( name, unit, atof( sample ));
    }
    fclose( file );
    return TRUE;
}

/* Sorts the values. */
static void summarize( double *values, unsigned int n, const char *unit, struct summary *summary )
{
    unsigned int i;

    qsort( values, n, sizeof(values[0]), compare_doubles );
    summary->n = n;
    for (summary->mean = 0, i = 0; i < n; i++) summary->mean += values[i] / n;
    summary->median = quantile( values, n, 0.5 );
    summary->p25 = quantile( values, n, 0.25 );
    summary->p75 = quantile( values, n, 0.75 );
    summary->min = values[0];
    summary->unit = unit;
}

double stats_median( double *values, unsigned int n )
{
    struct summary summary;

    summarize( values, n, "", &summary );
    return summary.median;
}

BOOL stats_summary( const char *name, struct summary *summary )
{
    const struct figure *figure = figure_find( name );
    double sorted[MAX_SAMPLES];

    if (!figure || !figure->n) return FALSE;
    memcpy( sorted, figure->samples, figure->n * sizeof(sorted[0]) );
    summarize( sorted, figure->n, figure->unit, summary );
    return TRUE;
}

BOOL stats_pairs( const char *name, const char *base, enum pairing pairing,
                  struct summary *summary )
{
    const struct figure *figure = figure_find( name ), *other = figure_find( base );
    double pairs[MAX_SAMPLES];
    unsigned int i, n;

    if (!figure || !other || !figure->n || !other->n) return FALSE;
    n = min( figure->n, other->n );
    for (i = 0; i < n; i++)
    {
        double a = figure->samples[i], b = other->samples[i];

        if (pairing == PAIR_DIFFERENCE) pairs[i] = a - b;
        else pairs[i] = pairing == PAIR_INVERSE ? b / a : a / b;
    }
    summarize( pairs, n, pairing == PAIR_DIFFERENCE ? figure->unit : "", summary );
    return TRUE;
}

double stats_now( void )
{
    static double ns_per_tick;
    LARGE_INTEGER counter;

    if (!ns_per_tick)
    {
        QueryPerformanceFrequency( &counter );
        ns_per_tick = 1e9 / counter.QuadPart;
    }
    QueryPerformanceCounter( &counter );
    return counter.QuadPart * ns_per_tick;
}

/* Measured against the clock since the first call, which is made at the start. */
double stats_cycles_ns( double cycles )
{
    static double first_ns;
    static ULONG64 first_cycles;

    if (!first_cycles)
    {
        first_ns = stats_now();
        first_cycles = __rdtsc();
        return 0;
    }
    return cycles * (stats_now() - first_ns) / (double)(__rdtsc() - first_cycles);
}
