/*
 * Files of unknown origin: nothing outside them is read, and a file that is taken can be had back
 * byte for byte. For libFuzzer, and with -DFUZZ_DRIVER a program that changes fields of small images
 * out of a seed: fuzz RUNS SEED.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make_pe.h"

int LLVMFuzzerTestOneInput( const uint8_t *data, size_t size );

static const struct pe_request request = { .dir = "C:\\dir\\", .host = "8.0",
                                           .digest = make_digest };

typedef const char *(*put_fn)( const struct pe_bytes *, const struct pe_request *,
                               struct pe_bytes *, struct pe_report * );

static long had_back;                           /* files that were taken, and came out as they went in */

/* in, and out again */
static void try_put( const struct pe_bytes *file, put_fn put )
{
    struct pe_bytes out = { 0 }, original = { 0 };
    struct pe_report report;

    if (put( file, &request, &out, &report )) return;
    if (pe_restore( &out, make_digest, &original ) || original.size != file->size
        || memcmp( original.data, file->data, file->size ))
        abort();
    had_back++;
    free( original.data );
    free( out.data );
}

int LLVMFuzzerTestOneInput( const uint8_t *data, size_t size )
{
    struct pe_bytes file = { malloc( size + !size ), size }, original = { 0 };
    struct pe_report report;

    if (size) memcpy( file.data, data, size );
    pe_look( &file, make_digest, &report );
    if (!pe_restore( &file, make_digest, &original )) free( original.data );
    try_put( &file, pe_install );
    try_put( &file, pe_forward );
    free( file.data );
    return 0;
}

#ifdef FUZZ_DRIVER
static ULONG64 state;

static DWORD next_random( void )
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (DWORD)(state >> 33);
}

/* numbers at which checks of offsets and sizes go wrong, if they do */
static DWORD bad_number( void )
{
    static const DWORD numbers[] = { 0, 1, 2, 7, 0x3f, 0x40, 0x80, 0x1ff, 0x200, 0x400, 0x600,
                                     0x9ff, 0xa00, 0xfff, 0x1000, 0x2000, 0x2fff, 0x3000, 0x7fff,
                                     0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffff000,
                                     0xfffffffe, 0xffffffff };

    return next_random() % 4 ? numbers[next_random() % ARRAYSIZE(numbers)] : next_random();
}

static void change( struct pe_bytes *file )
{
    DWORD count = 1 + next_random() % 4, at, number, size;

    while (count--)
    {
        size = 1u << next_random() % 3;
        at = next_random() % (file->size - sizeof(number));
        if (next_random() % 2) at %= 0x220;             /* headers */
        if (next_random() % 4) at &= ~(size - 1);
        number = bad_number();
        memcpy( file->data + at, &number, size );
    }
    if (!(next_random() % 8)) file->size = next_random() % file->size;
}

static void run( void )
{
    struct pe_bytes file = make_pe( next_random() % 0x200 ), out = { 0 };
    struct pe_report report;

    if (next_random() % 3 == 0 && !pe_install( &file, &request, &out, &report ))
    {
        free( file.data );
        file = out;
    }
    change( &file );
    LLVMFuzzerTestOneInput( file.data, file.size );
    free( file.data );
}

int main( int argc, char **argv )
{
    long runs = argc > 1 ? atol( argv[1] ) : 1000, i;

    state = argc > 2 ? atol( argv[2] ) : 1;
    for (i = 0; i < runs; i++) run();
    printf( "%ld of %ld installations were taken, and undone to the byte\n", had_back, 2 * runs );
    return had_back < runs / 20;                /* what refuses all shows nothing */
}
#endif
