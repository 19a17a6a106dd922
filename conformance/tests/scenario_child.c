/*
 * The same test in a process of its own; see scenario_child.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scenario_child.h"

#define VARIABLE "UMS_SCENARIO_CHILD"

BOOL child_is_here( void )
{
    char value[8];

    return GetEnvironmentVariableA( VARIABLE, value, sizeof(value) ) != 0;
}

/* Under the launcher the new process needs it as well. */
static void make_command( char *command, size_t size )
{
    char exe[MAX_PATH], launcher[MAX_PATH] = "";
    char *slash;

    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    if ((slash = strrchr( exe, '\\' )) && strstr( slash, "_bound" ))
    {
        snprintf( launcher, sizeof(launcher), "%.*s\\umsrun.exe", (int)(slash - exe), exe );
        if (GetFileAttributesA( launcher ) == INVALID_FILE_ATTRIBUTES) launcher[0] = 0;
    }
    if (launcher[0]) snprintf( command, size, "\"%s\" %s", launcher, GetCommandLineA() );
    else snprintf( command, size, "%s", GetCommandLineA() );
}

/* Only the second process sees the variable. */
static BOOL start( char *command, PROCESS_INFORMATION *process )
{
    STARTUPINFOA startup;
    BOOL started = FALSE;
    int tries;

    memset( &startup, 0, sizeof(startup) );
    startup.cb = sizeof(startup);
    SetEnvironmentVariableA( VARIABLE, "1" );
    /* one start in 10,000 fails so on Wine 8.0, with no UMS anywhere: an address is taken */
    for (tries = 0; tries < 3 && !started; tries++)
    {
        started = CreateProcessA( NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup,
                                  process );
        if (!started && GetLastError() != ERROR_INTERNAL_ERROR) break;
    }
    SetEnvironmentVariableA( VARIABLE, NULL );
    return started;
}

BOOL child_run( DWORD *code )
{
    static char command[4096];
    PROCESS_INFORMATION process;
    DWORD ret;

    make_command( command, sizeof(command) );
    if (!ok( start( command, &process ), "no process, error %lu\n", GetLastError() )) return FALSE;
    ret = WaitForSingleObject( process.hProcess, 2 * KIT_LIMIT );
    ok( !ret, "the process did not end in %u ms\n", 2 * KIT_LIMIT );
    if (ret) TerminateProcess( process.hProcess, 1 );
    else GetExitCodeProcess( process.hProcess, code );
    CloseHandle( process.hThread );
    CloseHandle( process.hProcess );
    return !ret;
}
