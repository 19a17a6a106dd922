/*
 * Started with DLLs of the shim's names beside it and in the current directory: the shim has to be
 * that of umsrun.exe, here and in a child. decoys DIRECTORY [child]
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "test.h"

static void check_module( const char *name, const char *dir )
{
    char path[MAX_PATH] = "";
    size_t len = strlen( dir );

    GetModuleFileNameA( GetModuleHandleA( name ), path, sizeof(path) );
    ok( !_strnicmp( path, dir, len ) && path[len] == '\\' && !_stricmp( path + len + 1, name ),
        "%s is %s", name, path );
}

static void check_child( const char *program, const char *dir )
{
    char command[3 * MAX_PATH] = "\"";
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    DWORD code = 1;
    BOOL ret;

    strcat( strcat( strcat( strcat( command, program ), "\" " ), dir ), " child" );
    ret = CreateProcessA( NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &info );
    ok( ret, "no child, error %lu", GetLastError() );
    if (!ret) return;
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    ok( !code, "the child ended with %lu", code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
}

int main( int argc, char **argv )
{
    BOOL (WINAPI *create_list)( void ** ) =
        (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ), "CreateUmsCompletionList" );
    void *list;

    if (argc < 2) return 2;
    check_module( "kernel32_ums.dll", argv[1] );
    check_module( "ntdll_ums.dll", argv[1] );
    ok( create_list && create_list( &list ), "UMS does not work" );
    if (argc == 2) check_child( argv[0], argv[1] );
    return test_end();
}
