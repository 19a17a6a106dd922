/*
 * children shim|none: starts children in several ways, and checks that they have the shim, or that
 * they have not.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "test.h"

#define HAS_SHIM 10
#define HAS_NONE 11

static DWORD probe( void )
{
    void *shim = GetModuleHandleW( L"kernel32_ums.dll" );
    void *name = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "RtlExecuteUmsThread" );

    return shim && name ? HAS_SHIM : HAS_NONE;
}

static DWORD run( const char *program, const char *command, DWORD flags )
{
    char line[MAX_PATH * 2 + 64];
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    DWORD code = 0;

    snprintf( line, sizeof(line), command, program );
    if (!CreateProcessA( NULL, line, NULL, NULL, FALSE, flags, NULL, NULL, &startup, &info ))
    {
        printf( "%s: error %lu\n", line, GetLastError() );
        return 0;
    }
    if (flags & CREATE_SUSPENDED) ResumeThread( info.hThread );
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return code;
}

static DWORD WINAPI run_in_thread( void *program )
{
    return run( program, "\"%s\" probe", 0 );
}

int main( int argc, char **argv )
{
    char program[MAX_PATH];
    DWORD want, code;
    HANDLE thread;

    if (argc < 2) return 1;
    GetModuleFileNameA( NULL, program, sizeof(program) );
    if (!strcmp( argv[1], "probe" )) return probe();
    if (!strcmp( argv[1], "relay" )) return run( program, "\"%s\" probe", 0 );
    want = strcmp( argv[1], "shim" ) ? HAS_NONE : HAS_SHIM;

    ok( probe() == HAS_SHIM, "this program has no shim itself" );
    ok( (code = run( program, "\"%s\" probe", 0 )) == want, "child: %lu", code );
    ok( (code = run( program, "\"%s\" probe", CREATE_SUSPENDED )) == want, "suspended child: %lu",
        code );
    /* a program that is in no job may ask for that, and umsrun has put it into one */
    ok( (code = run( program, "\"%s\" probe", CREATE_BREAKAWAY_FROM_JOB )) == want, "outside the job: %lu", code );
    ok( (code = run( program, "\"%s\" relay", 0 )) == want, "grandchild: %lu", code );
    ok( (code = run( program, "cmd.exe /c \"\"%s\" probe\"", 0 )) == want, "through cmd.exe: %lu",
        code );
    thread = CreateThread( NULL, 0, run_in_thread, program, 0, NULL );
    WaitForSingleObject( thread, INFINITE );
    ok( GetExitCodeThread( thread, &code ) && code == want, "from another thread: %lu", code );
    CloseHandle( thread );
    return test_end();
}
