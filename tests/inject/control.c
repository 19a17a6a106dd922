/*
 * control UMSRUN: Ctrl-C is for the program that umsrun has started. umsrun waits until that has handled it, and ends
 * with the program's status. All this in a console of its own.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Left: Ctrl-Break, at which Wine ends programs without a word [seen: 8.0, 10.0]; and the end of a console, a session or the
 * system, which a program cannot send [doc: GenerateConsoleCtrlEvent].
 */
#include <windows.h>
#include <string.h>

#include "test.h"

#define PATIENCE 120000                 /* for what must come; nothing is concluded from less */
#define A_WHILE  2000                   /* in which umsrun would end, if it did */
#define STATUS   5                      /* of the program */

static HANDLE came, go_on;

static HANDLE event( const char *what, const char *id )
{
    char name[64];

    snprintf( name, sizeof(name), "control-%s-%s", what, id );
    return CreateEventA( NULL, TRUE, FALSE, name );
}

/* of the program: takes its time */
static BOOL WINAPI handle_control( DWORD what )
{
    if (what != CTRL_C_EVENT) return FALSE;
    SetEvent( came );
    WaitForSingleObject( go_on, 2 * PATIENCE );
    ExitProcess( STATUS );
}

/* of the test, which has the same console */
static BOOL WINAPI handle_nothing( DWORD what )
{
    (void)what;
    return TRUE;
}

/* control run ID */
static int be_there( const char *id )
{
    came = event( "came", id );
    go_on = event( "go_on", id );
    if (!SetConsoleCtrlHandler( handle_control, TRUE )) return 1;
    SetEvent( event( "ready", id ) );
    Sleep( 2 * PATIENCE );
    return 1;
}

static HANDLE start( const char *line, DWORD flags )
{
    STARTUPINFOA startup = { .cb = sizeof(startup), .dwFlags = STARTF_USESTDHANDLES };
    PROCESS_INFORMATION info;
    char copy[3 * MAX_PATH];

    strcpy( copy, line );
    startup.hStdInput  = GetStdHandle( STD_INPUT_HANDLE );
    startup.hStdOutput = GetStdHandle( STD_OUTPUT_HANDLE );
    startup.hStdError  = GetStdHandle( STD_ERROR_HANDLE );
    if (!CreateProcessA( NULL, copy, NULL, NULL, TRUE, flags, NULL, NULL, &startup, &info ))
    {
        printf( "%s: error %lu\n", line, GetLastError() );
        return NULL;
    }
    CloseHandle( info.hThread );
    return info.hProcess;
}

static void check_control( const char *umsrun, const char *self, const char *id )
{
    HANDLE ready = event( "ready", id ), launcher;
    char line[3 * MAX_PATH];
    DWORD code = 0;

    came = event( "came", id );
    go_on = event( "go_on", id );
    snprintf( line, sizeof(line), "\"%s\" \"%s\" run %s", umsrun, self, id );
    launcher = start( line, 0 );
    ok( !WaitForSingleObject( ready, PATIENCE ), "the program does not start" );
    ok( GenerateConsoleCtrlEvent( CTRL_C_EVENT, 0 ), "GenerateConsoleCtrlEvent: error %lu", GetLastError() );
    ok( !WaitForSingleObject( came, PATIENCE ), "the program is told nothing" );
    ok( WaitForSingleObject( launcher, A_WHILE ) == WAIT_TIMEOUT, "umsrun ends before the program" );
    SetEvent( go_on );
    ok( !WaitForSingleObject( launcher, PATIENCE ), "umsrun does not end" );
    ok( GetExitCodeProcess( launcher, &code ) && code == STATUS, "umsrun ends with %lx", code );
}

/* control in UMSRUN */
static int test( const char *umsrun, const char *self )
{
    char id[32];

    ok( SetConsoleCtrlHandler( handle_nothing, TRUE ), "SetConsoleCtrlHandler: error %lu", GetLastError() );
    snprintf( id, sizeof(id), "%lu", GetCurrentProcessId() );
    check_control( umsrun, self, id );
    return test_end();
}

int main( int argc, char **argv )
{
    char self[MAX_PATH], line[3 * MAX_PATH];
    HANDLE process;
    DWORD code = 1;

    GetModuleFileNameA( NULL, self, sizeof(self) );
    if (argc > 2 && !strcmp( argv[1], "run" )) return be_there( argv[2] );
    if (argc > 2 && !strcmp( argv[1], "in" )) return test( argv[2], self );
    if (argc < 2) return 1;
    snprintf( line, sizeof(line), "\"%s\" in \"%s\"", self, argv[1] );
    process = start( line, CREATE_NEW_CONSOLE );
    if (!process || WaitForSingleObject( process, 5 * PATIENCE )) return 1;
    GetExitCodeProcess( process, &code );
    return (int)code;
}
