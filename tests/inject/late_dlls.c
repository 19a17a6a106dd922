/*
 * DLLs that are loaded after the redirection bind to the new tables and work.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <winsock2.h>
#include <windows.h>

#include "test.h"

static const char *const dlls[] =
{
    "user32.dll", "ws2_32.dll", "msvcrt.dll", "ucrtbase.dll", "advapi32.dll", "ole32.dll",
    "oleaut32.dll", "shell32.dll", "shlwapi.dll", "version.dll", "winmm.dll", "gdi32.dll",
    "rpcrt4.dll", "crypt32.dll", "wininet.dll", "comctl32.dll", "msvcp140.dll", "concrt140.dll",
    "dbghelp.dll", "iphlpapi.dll", "setupapi.dll", "psapi.dll",
};

static HMODULE modules[ARRAYSIZE(dlls)];

static DWORD WINAPI answer( void *arg )
{
    return *(DWORD *)arg + 1;
}

static void check_sockets( void )
{
    int (WINAPI *startup)( WORD, WSADATA * ) = (void *)GetProcAddress( modules[1], "WSAStartup" );
    SOCKET (WINAPI *create)( int, int, int ) = (void *)GetProcAddress( modules[1], "socket" );
    int (WINAPI *close)( SOCKET ) = (void *)GetProcAddress( modules[1], "closesocket" );
    WSADATA data;
    SOCKET s;

    ok( startup && create && close, "ws2_32 lacks names" );
    ok( !startup( MAKEWORD( 2, 2 ), &data ), "WSAStartup failed" );
    s = create( AF_INET, SOCK_STREAM, 0 );
    ok( s != INVALID_SOCKET && !close( s ), "no socket" );
}

static void check_thread( void )
{
    DWORD value = 41, code = 0;
    HANDLE thread = CreateThread( NULL, 0, answer, &value, 0, NULL );

    ok( thread != NULL, "CreateThread: error %lu", GetLastError() );
    WaitForSingleObject( thread, INFINITE );
    ok( GetExitCodeThread( thread, &code ) && code == 42, "the thread ended with %lu", code );
    CloseHandle( thread );
}

int main( void )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE(dlls); i++)
    {
        modules[i] = LoadLibraryA( dlls[i] );
        ok( modules[i] != NULL, "%s: error %lu", dlls[i], GetLastError() );
    }
    check_sockets();
    check_thread();
    for (i = ARRAYSIZE(dlls); i--;) ok( FreeLibrary( modules[i] ), "%s: not freed", dlls[i] );
    return test_end();
}
