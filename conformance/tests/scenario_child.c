/*
 * The same test in a process of its own; see scenario_child.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scenario_child.h"
#include <tlhelp32.h>

#define VARIABLE "UMS_SCENARIO_CHILD"

BOOL child_value( char *value, DWORD size )
{
    return GetEnvironmentVariableA( VARIABLE, value, size ) != 0;
}

BOOL child_is_here( void )
{
    char value[8];

    return child_value( value, sizeof(value) );
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

BOOL child_start( const char *value, PROCESS_INFORMATION *process )
{
    static char command[4096];
    STARTUPINFOA startup;
    BOOL started;

    make_command( command, sizeof(command) );
    memset( &startup, 0, sizeof(startup) );
    startup.cb = sizeof(startup);
    umstest_stops++;                    /* it may stop workers of ours */
    SetEnvironmentVariableA( VARIABLE, value );
    started = umstest_create_process( NULL, command, TRUE, 0, &startup, process );
    SetEnvironmentVariableA( VARIABLE, NULL );
    return ok( started, "no process, error %lu\n", GetLastError() );
}

BOOL child_end( const PROCESS_INFORMATION *process, DWORD *code )
{
    DWORD ret = WaitForSingleObject( process->hProcess, 2 * KIT_LIMIT );

    ok( !ret, "the process did not end in %u ms\n", 2 * KIT_LIMIT );
    if (ret) TerminateProcess( process->hProcess, 1 );
    else GetExitCodeProcess( process->hProcess, code );
    CloseHandle( process->hThread );
    CloseHandle( process->hProcess );
    return !ret;
}

BOOL child_run( DWORD *code )
{
    PROCESS_INFORMATION process;

    return child_start( "1", &process ) && child_end( &process, code );
}

/* What has ended may be told of as long as there is a handle. */
static BOOL lives( DWORD id )
{
    HANDLE thread = OpenThread( SYNCHRONIZE, FALSE, id );
    BOOL alive;

    if (!thread) return FALSE;
    alive = WaitForSingleObject( thread, 0 ) == WAIT_TIMEOUT;
    CloseHandle( thread );
    return alive;
}

BOOL child_has_strangers( void )
{
    THREADENTRY32 entry = { .dwSize = sizeof(entry) };
    BOOL found = FALSE, more;
    HANDLE snapshot;

    if (GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "wine_get_version" )) return FALSE;
    snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPTHREAD, 0 );
    for (more = Thread32First( snapshot, &entry ); more && !found; more = Thread32Next( snapshot, &entry ))
        found = entry.th32OwnerProcessID == GetCurrentProcessId() && entry.th32ThreadID != GetCurrentThreadId() &&
                lives( entry.th32ThreadID );
    CloseHandle( snapshot );
    return found;
}
