/*
 * Runs the fuzz target without libFuzzer: files (a corpus, a finding), then a number of inputs out of a seed.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * usage: fuzz_core [--runs=N] [--seconds=N] [--seed=N] [--corpus=FILE] [FILES...]
 *        fuzz_core --pack FILES... > CORPUS
 *
 * A corpus is one file: of each input two bytes of length, low one first, then the input. An input that takes longer
 * than 120 s is a failure (the threads of a run wait for each other by looking again and again). One that fails is left
 * in fuzz.failed.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "fuzz.h"

#define INPUT_MAX 400
#define STUCK     120

static uint8_t input[65536];
static size_t input_size;
static unsigned long long seed = 1;
static unsigned long run;

static unsigned int next_random( void )
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned int)(seed >> 33);
}

/* Out of a signal, but the run is over. */
static void keep_input( int signal_number )
{
    FILE *file = fopen( "fuzz.failed", "wb" );

    if (file)
    {
        fwrite( input, 1, input_size, file );
        fclose( file );
    }
    fprintf( stderr, "run %lu failed (signal %d); its %zu bytes are in fuzz.failed\n", run, signal_number,
             input_size );
    _exit( 1 );
}

static void try_input( void )
{
    run++;
    alarm( STUCK );
    LLVMFuzzerTestOneInput( input, input_size );
}

static void make_input( void )
{
    size_t i;

    input_size = 1 + next_random() % INPUT_MAX;
    for (i = 0; i < input_size; i++) input[i] = (uint8_t)next_random();
    /* something to begin with: two contexts and a list, made in any order later on too */
    if (next_random() % 4) memcpy( input, "\0\1\0\2\0\0", input_size < 6 ? input_size : 6 );
}

static int read_file( const char *name )
{
    FILE *file = fopen( name, "rb" );

    if (!file) return 0;
    input_size = fread( input, 1, sizeof(input) - 1, file );
    fclose( file );
    return 1;
}

static int try_file( const char *name )
{
    if (!read_file( name )) return 0;
    try_input();
    return 1;
}

static int try_corpus( const char *name )
{
    FILE *file = fopen( name, "rb" );
    uint8_t length[2];

    if (!file) return 0;
    while (fread( length, 1, 2, file ) == 2)
    {
        input_size = length[0] | (size_t)length[1] << 8;
        if (fread( input, 1, input_size, file ) != input_size) return 0;
        try_input();
    }
    fclose( file );
    return 1;
}

static int pack( int count, char **names )
{
    for (; count--; names++)
    {
        if (!read_file( *names )) return 2;
        putchar( (int)(input_size & 0xff) );
        putchar( (int)(input_size >> 8) );
        fwrite( input, 1, input_size, stdout );
    }
    return fflush( stdout ) != 0;
}

int main( int argc, char **argv )
{
    unsigned long runs = 0, seconds = 0, done;
    time_t start = time( NULL );
    int i;

    if (argc > 1 && !strcmp( argv[1], "--pack" )) return pack( argc - 2, argv + 2 );
    signal( SIGABRT, keep_input );
    signal( SIGALRM, keep_input );
    for (i = 1; i < argc; i++)
    {
        if (!strncmp( argv[i], "--runs=", 7 )) runs = strtoul( argv[i] + 7, NULL, 0 );
        else if (!strncmp( argv[i], "--seconds=", 10 )) seconds = strtoul( argv[i] + 10, NULL, 0 );
        else if (!strncmp( argv[i], "--seed=", 7 )) seed = strtoull( argv[i] + 7, NULL, 0 );
        else if (!strncmp( argv[i], "--corpus=", 9 ) ? !try_corpus( argv[i] + 9 )
                                                     : !try_file( argv[i] )) return 2;
    }
    printf( "%lu inputs of files; seed %llu, %lu runs, %lu s\n", run, seed, runs, seconds );
    fflush( stdout );
    for (done = 0; done < runs || (unsigned long)(time( NULL ) - start) < seconds; done++)
    {
        make_input();
        try_input();
    }
    printf( "%lu inputs passed\n", run );
    return 0;
}
