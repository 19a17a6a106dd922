/*
 * Its arguments arrive as arguments.sh gives them to umsrun.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <string.h>

#include "test.h"

int _dowildcard = 0;                            /* mingw's start code: "*" stays as it is */

int main( int argc, char **argv )
{
    static const char *const want[] =
        { "a b", "c\"d", "e\\\\", "f\\\\\"g", "", "%PATH%", "*", "h'i", "j k\\", ";", " ", "l;m" };
    const int count = sizeof(want) / sizeof(want[0]);
    int i;

    ok( argc == count + 1, "%d arguments, expected %d", argc - 1, count );
    for (i = 0; i < count && i + 1 < argc; i++)
        ok( !strcmp( argv[i + 1], want[i] ), "argument %d: [%s], expected [%s]", i + 1, argv[i + 1],
            want[i] );
    return test_end();
}
