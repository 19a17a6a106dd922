/*
 * status N: ends with N. Without an argument, and with the standard handles it got: copies a line
 * of input to output.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <stdlib.h>

int main( int argc, char **argv )
{
    char line[64];

    if (argc > 1) return atoi( argv[1] );
    if (!fgets( line, sizeof(line), stdin )) return 1;
    printf( "got %s", line );
    return 0;
}
