/*
 * Samples by name, their order statistics, and a file of them.
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

#define MAX_FIGURES 64
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
        if (figure_count == MAX_FIGURES) return;
        figure = &figures[figure_count++];
        snprintf( figure->name, sizeof(figure->name), "%s", name );
        snprintf( figure->unit, sizeof(figure->unit), "%s", unit );
    }
    if (figure->n < MAX_SAMPLES) figure->samples[figure->n++] = value;
}

/* A line is: name unit sample sample ... */
BOOL stats_save( const char *path )
{
    unsigned int i, j;
    FILE *file;

    if (!(file = fopen( path, "a" ))) return FALSE;
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
        if (!(name = strtok( line, " \r\n" )) || !(unit = strtok( NULL, " \r\n" ))) continue;
        while ((sample = strtok( NULL, " \r\n" ))) stats_add( name, unit, atof( sample ));
    }
    fclose( file );
    return TRUE;
}

BOOL stats_summary( const char *name, struct summary *summary )
{
    const struct figure *figure = figure_find( name );
    double sorted[MAX_SAMPLES];

    if (!figure || !figure->n) return FALSE;
    memcpy( sorted, figure->samples, figure->n * sizeof(sorted[0]) );
    qsort( sorted, figure->n, sizeof(sorted[0]), compare_doubles );
    summary->n = figure->n;
    summary->median = quantile( sorted, figure->n, 0.5 );
    summary->p25 = quantile( sorted, figure->n, 0.25 );
    summary->p75 = quantile( sorted, figure->n, 0.75 );
    summary->min = sorted[0];
    summary->unit = figure->unit;
    return TRUE;
}

BOOL stats_ratio( const char *name, const char *base, double *ratio )
{
    const struct figure *figure = figure_find( name ), *other = figure_find( base );
    double ratios[MAX_SAMPLES];
    unsigned int i, n;

    if (!figure || !other || !figure->n || !other->n) return FALSE;
    n = min( figure->n, other->n );
    for (i = 0; i < n; i++) ratios[i] = figure->samples[i] / other->samples[i];
    qsort( ratios, n, sizeof(ratios[0]), compare_doubles );
    *ratio = quantile( ratios, n, 0.5 );
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
