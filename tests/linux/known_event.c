/*
 * An event that only this process knows, as an argument of a Unix call: the Unix side may set it or wait
 * for it, so it has to be the host's. Another process, this program with the process' id and the handle
 * as its arguments, takes a copy, and says whether the host's object is signalled.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The call is Wine's gethostname, behind whose arguments the handle lies. Nothing that every Wine has
 * takes an event itself (the audio drivers do).
 */

#include <winsock2.h>
#include <windows.h>
#include <ums.h>
#include <stdlib.h>
#include "../inject/test.h"

#define LIMIT 20000                             /* ms */
#define UNIX_FUNCTIONS 1000                     /* MemoryWineUnixFuncs */
#define GETHOSTNAME 3                           /* of ws2_32 [seen: Wine 8.0, 10.0] */

typedef LONG (WINAPI *unix_call)( ULONGLONG library, unsigned int code, void *args );

enum { SIGNALLED, NOT_SIGNALLED, FAILED };

static int look_from_outside( DWORD pid, HANDLE handle )
{
    HANDLE process = OpenProcess( PROCESS_DUP_HANDLE, FALSE, pid ), copy;

    if (!process || !DuplicateHandle( process, handle, GetCurrentProcess(), &copy, 0, FALSE,
                                      DUPLICATE_SAME_ACCESS )) return FAILED;
    return WaitForSingleObject( copy, 0 ) ? NOT_SIGNALLED : SIGNALLED;
}

static DWORD ask_another_process( HANDLE handle )
{
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    char line[MAX_PATH + 64], own[MAX_PATH];
    DWORD code = FAILED;

    GetModuleFileNameA( NULL, own, sizeof(own) );
    snprintf( line, sizeof(line), "\"%s\" %lu %lu", own, GetCurrentProcessId(), (DWORD)(ULONG_PTR)handle );
    if (!CreateProcessA( NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &info )) return FAILED;
    WaitForSingleObject( info.hProcess, LIMIT );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return code;
}

static void make_unix_call( HANDLE event )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    LONG (WINAPI *query)( HANDLE, const void *, int, void *, SIZE_T, SIZE_T * ) =
        (void *)GetProcAddress( ntdll, "NtQueryVirtualMemory" );
    unix_call *dispatcher = (void *)GetProcAddress( ntdll, "__wine_unix_call_dispatcher" );
    struct { char *name; ULONGLONG size; HANDLE event; ULONGLONG more[32]; } args = { 0 };
    ULONGLONG library = 0;
    char name[256] = "";

    ok( !query( GetCurrentProcess(), LoadLibraryA( "ws2_32.dll" ), UNIX_FUNCTIONS, &library,
                sizeof(library), NULL ), "ws2_32 has no Unix side" );
    args.name = name;
    args.size = sizeof(name);
    args.event = event;
    ok( dispatcher && !(*dispatcher)( library, GETHOSTNAME, &args ) && name[0], "no name" );
}

int main( int argc, char **argv )
{
    HMODULE shim;
    BOOL (WINAPI *create_list)( PUMS_COMPLETION_LIST * );
    PUMS_COMPLETION_LIST list;
    HANDLE event;
    DWORD answer;

    if (argc > 2) return look_from_outside( atoi( argv[1] ), (HANDLE)(LONG_PTR)atoi( argv[2] ) );
    shim = LoadLibraryA( "kernel32_ums.dll" );
    create_list = (void *)GetProcAddress( shim, "CreateUmsCompletionList" );
    ok( create_list && create_list( &list ), "no list, error %lu", GetLastError() );
    event = CreateEventA( NULL, TRUE, FALSE, NULL );
    ok( SetEvent( event ), "not set, error %lu", GetLastError() );
    answer = ask_another_process( event );
    ok( answer == NOT_SIGNALLED, "it is not local, or not known: %lu", answer );
    make_unix_call( event );
    answer = ask_another_process( event );
    ok( answer == SIGNALLED, "the Unix side would not see the signal: %lu", answer );
    ok( !WaitForSingleObject( event, 0 ), "it has lost its signal" );
    fflush( stdout );
    return test_end();
}
