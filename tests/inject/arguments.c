/*
 * Its arguments arrive as arguments.sh gives them to umsrun, which names it by a Unix path; the command line begins as
 * Wine's own does, and the title is the program's path, as without umsrun.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "test.h"

int _dowildcard = 0;                            /* mingw's start code: "*" stays as it is */

int main( int argc, char **argv )
{
    static const char *const want[] =
        { "a b", "c\"d", "e\\\\", "f\\\\\"g", "", "%PATH%", "*", "h'i", "j k\\", ";", " ", "l;m" };
    const int count = sizeof(want) / sizeof(want[0]);
    char path[MAX_PATH], begin[MAX_PATH + 4];
    STARTUPINFOA startup;
    int i;

    GetModuleFileNameA( NULL, path, sizeof(path) );
    snprintf( begin, sizeof(begin), "\"%s\" ", path );
    ok( !strncmp( GetCommandLineA(), begin, strlen( begin ) ), "the command line is %s", GetCommandLineA() );
    GetStartupInfoA( &startup );
    ok( !lstrcmpiA( startup.lpTitle, path ), "the title is %s, expected %s", startup.lpTitle, path );
    ok( argc == count + 1, "%d arguments, expected %d", argc - 1, count );
    for (i = 0; i < count && i + 1 < argc; i++)
        ok( !strcmp( argv[i + 1], want[i] ), "argument %d: [%s], expected [%s]", i + 1, argv[i + 1],
            want[i] );
    return test_end();
}
