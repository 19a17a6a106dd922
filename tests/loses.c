/*
 * loses.so, a preloaded library: ends the first starts of programs that other programs start, as Wine does with one in
 * thousands. $LOSES: a file with as many bytes as starts are to be lost.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Wine gives WINESERVERSOCKET to what a program of it starts. */
static void __attribute__((constructor)) lose( void )
{
    const char *file = getenv( "LOSES" );
    struct stat left;

    if (!file || !getenv( "WINESERVERSOCKET" ) || stat( file, &left ) || !left.st_size) return;
    if (!truncate( file, left.st_size - 1 )) _exit( 1 );
}
