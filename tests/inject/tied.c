/*
 * tied UMSRUN [early]: a program that umsrun started ends when umsrun is killed; when umsrun ends by itself, what the program
 * has started and left running goes on. early, by hand only: also when umsrun is killed in the middle of starting it. Under
 * Wine 10.0 a Unix process may stay, asleep in Wine's own start and no process of Windows any more [seen], and keep stderr open.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <tlhelp32.h>
#include <string.h>

#include "test.h"

#define PATIENCE 120000                 /* for what must come; nothing is concluded from less */
#define STARTS   40                     /* that are killed; without the care 5 to 9 leave a program behind [seen] */

static char self[MAX_PATH];

static HANDLE event( const char *what, const char *id )
{
    char name[64];

    snprintf( name, sizeof(name), "tied-%s-%s", what, id );
    return CreateEventA( NULL, TRUE, FALSE, name );
}

/* QUIET: with no handles of ours, which what stays would keep. */
static HANDLE start( const char *line, BOOL quiet )
{
    SECURITY_ATTRIBUTES inherit = { sizeof(inherit), NULL, TRUE };
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info = { 0 };
    HANDLE nowhere = CreateFileA( "NUL", GENERIC_READ | GENERIC_WRITE, 0, &inherit, OPEN_EXISTING, 0, NULL );
    char copy[3 * MAX_PATH];

    if (quiet) startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = startup.hStdOutput = startup.hStdError = nowhere;
    strcpy( copy, line );
    if (!CreateProcessA( NULL, copy, NULL, NULL, quiet, 0, NULL, NULL, &startup, &info ))
        printf( "%s: error %lu\n", line, GetLastError() );
    else CloseHandle( info.hThread );
    CloseHandle( nowhere );
    return info.hProcess;
}

static DWORD *shared_pid( const char *id )
{
    char name[64];
    HANDLE section;

    snprintf( name, sizeof(name), "tied-pid-%s", id );
    section = CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4, name );
    return MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, 4 );
}

/* tied run ID: is there, then waits for a sign of life that is asked for, or for its end */
static int be_there( const char *id )
{
    HANDLE ready = event( "ready", id ), ping = event( "ping", id ), pong = event( "pong", id );

    *shared_pid( id ) = GetCurrentProcessId();
    SetEvent( ready );
    if (WaitForSingleObject( ping, 2 * PATIENCE )) return 1;
    SetEvent( pong );
    return 0;
}

/* tied leave ID: starts one that stays */
static int leave( const char *id )
{
    char line[2 * MAX_PATH];

    snprintf( line, sizeof(line), "\"%s\" run %s", self, id );
    return start( line, FALSE ) && !WaitForSingleObject( event( "ready", id ), PATIENCE ) ? 0 : 1;
}

static HANDLE start_under( const char *umsrun, const char *what, const char *id, BOOL quiet )
{
    char line[3 * MAX_PATH];

    snprintf( line, sizeof(line), "\"%s\" \"%s\" %s %s", umsrun, self, what, id );
    return start( line, quiet );
}

static void check_killed( const char *umsrun, const char *id )
{
    HANDLE ready = event( "ready", id ), launcher, program;
    DWORD *pid = shared_pid( id );

    launcher = start_under( umsrun, "run", id, FALSE );
    ok( !WaitForSingleObject( ready, PATIENCE ), "the program does not start" );
    program = OpenProcess( SYNCHRONIZE | PROCESS_TERMINATE, FALSE, *pid );
    ok( program != NULL, "no process %lu", *pid );
    TerminateProcess( launcher, 1 );
    ok( !WaitForSingleObject( program, PATIENCE ), "umsrun was killed, and the program lives on" );
    TerminateProcess( program, 1 );
}

/* How many processes of this program there are but for this one. END: they are ended. */
static int others_of_us( BOOL end )
{
    HANDLE snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPPROCESS, 0 );
    PROCESSENTRY32 entry = { .dwSize = sizeof(entry) };
    const char *name = strrchr( self, '\\' ) + 1;
    HANDLE process;
    int count = 0;
    BOOL more;

    for (more = Process32First( snapshot, &entry ); more; more = Process32Next( snapshot, &entry ))
    {
        if (_stricmp( entry.szExeFile, name ) || entry.th32ProcessID == GetCurrentProcessId()) continue;
        count++;
        if (!end || !(process = OpenProcess( PROCESS_TERMINATE, FALSE, entry.th32ProcessID ))) continue;
        TerminateProcess( process, 1 );
        CloseHandle( process );
    }
    CloseHandle( snapshot );
    return count;
}

/* At each moment from before the program's process is made to some time after the program runs. No moment is proved to be
 * met: it is a matter of how long a start takes here. */
static void check_killed_early( const char *umsrun, const char *id )
{
    DWORD begin = GetTickCount(), whole, i;
    HANDLE launcher = start_under( umsrun, "run", id, TRUE );
    int left;

    ok( !WaitForSingleObject( event( "ready", id ), PATIENCE ), "the program does not start" );
    whole = GetTickCount() - begin;
    TerminateProcess( launcher, 1 );
    for (i = 0; i < STARTS; i++)
    {
        launcher = start_under( umsrun, "run", id, TRUE );
        Sleep( whole * i / STARTS );
        TerminateProcess( launcher, 1 );
        CloseHandle( launcher );
    }
    for (begin = GetTickCount(); others_of_us( FALSE ) && GetTickCount() - begin < PATIENCE; ) Sleep( 20 );
    left = others_of_us( TRUE );
    ok( !left, "umsrun was killed while it started a program: %d of %d live on", left, STARTS );
}

static void check_left( const char *umsrun, const char *id )
{
    HANDLE pong = event( "pong", id ), launcher = start_under( umsrun, "leave", id, FALSE );
    DWORD code = 1;

    ok( !WaitForSingleObject( launcher, 2 * PATIENCE ), "umsrun does not end" );
    ok( GetExitCodeProcess( launcher, &code ) && !code, "umsrun ended with %lu", code );
    SetEvent( event( "ping", id ) );
    ok( !WaitForSingleObject( pong, PATIENCE ), "umsrun ended, and so did what the program left" );
}

int main( int argc, char **argv )
{
    char id[32];

    GetModuleFileNameA( NULL, self, sizeof(self) );
    if (argc > 2 && !strcmp( argv[1], "run" )) return be_there( argv[2] );
    if (argc > 2 && !strcmp( argv[1], "leave" )) return leave( argv[2] );
    if (argc < 2) return 1;
    snprintf( id, sizeof(id), "%lu-a", GetCurrentProcessId() );
    check_killed( argv[1], id );
    snprintf( id, sizeof(id), "%lu-b", GetCurrentProcessId() );
    if (argc > 2 && !strcmp( argv[2], "early" )) check_killed_early( argv[1], id );
    snprintf( id, sizeof(id), "%lu-c", GetCurrentProcessId() );
    check_left( argv[1], id );
    return test_end();
}
