/*
 * On a host whose Unix calls cannot be hooked, an event is the host's from the start, and umsinfo's line says so: such
 * a call might set it, or wait for it. The pointer through which Wine's DLLs make these calls has no name here while
 * the shim starts. Another process, this program with the process' id and the handle as its arguments, takes a
 * copy of an event, and says whether the host's object is signalled.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <ums.h>
#include <stdlib.h>
#include <string.h>
#include "private/ums_private.h"
#include "../inject/test.h"

#define LIMIT   20000                           /* ms */
#define POINTER "__wine_unix_call_dispatcher"

enum { SIGNALLED, NOT_SIGNALLED, DID_NOT_LOOK };

static int look_from_outside( DWORD pid, HANDLE handle )
{
    HANDLE process = OpenProcess( PROCESS_DUP_HANDLE, FALSE, pid ), copy;

    if (!process || !DuplicateHandle( process, handle, GetCurrentProcess(), &copy, 0, FALSE,
                                      DUPLICATE_SAME_ACCESS )) return DID_NOT_LOOK;
    return WaitForSingleObject( copy, 0 ) ? NOT_SIGNALLED : SIGNALLED;
}

static DWORD ask_another_process( HANDLE handle )
{
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    char line[MAX_PATH + 64], own[MAX_PATH];
    DWORD code = DID_NOT_LOOK;

    GetModuleFileNameA( NULL, own, sizeof(own) );
    snprintf( line, sizeof(line), "\"%s\" %lu %lu", own, GetCurrentProcessId(), (DWORD)(ULONG_PTR)handle );
    if (!CreateProcessA( NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &info )) return DID_NOT_LOOK;
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return code;
}

/* The name of the pointer in ntdll's export table, or NULL. */
static char *find_name( void )
{
    char *base = (char *)GetModuleHandleA( "ntdll.dll" );
    const IMAGE_NT_HEADERS *nt = (void *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    const IMAGE_EXPORT_DIRECTORY *exports =
        (void *)(base + nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT].VirtualAddress);
    const DWORD *names = (const DWORD *)(base + exports->AddressOfNames);
    DWORD i;

    for (i = 0; i < exports->NumberOfNames; i++)
        if (!strcmp( base + names[i], POINTER )) return base + names[i];
    return NULL;
}

/* Another last character leaves the names in their order, by which they are looked up. */
static void set_end( char *name, char end )
{
    DWORD before;
    char *at = name + strlen( POINTER ) - 1;

    ok( VirtualProtect( at, 1, PAGE_READWRITE, &before ), "not writable, error %lu", GetLastError() );
    *at = end;
    VirtualProtect( at, 1, before, &before );
}

static void check_choices( void )
{
    const struct ums_private *(WINAPI *get)( void ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll_ums.dll" ), MAKEINTRESOURCEA( 1 ) );
    const struct ums_choice *choices;
    uint32_t count, i, said = 0;

    choices = get()->choices( &count );
    for (i = 0; i < count; i++)
    {
        if (!strcmp( choices[i].subject, "engine" ) && choices[i].taken)
            ok( !strcmp( choices[i].name, "handoff" ), "engine %s", choices[i].name );
        if (strcmp( choices[i].subject, "objects" )) continue;
        ok( choices[i].taken == !strcmp( choices[i].name, "kernel" ), "objects %s: taken %d", choices[i].name,
            choices[i].taken );
        if (!choices[i].taken && strstr( choices[i].why, "Unix calls" )) said++;
    }
    ok( said == 1, "%u lines give the reason", said );
}

int main( int argc, char **argv )
{
    BOOL (WINAPI *create_list)( PUMS_COMPLETION_LIST * );
    PUMS_COMPLETION_LIST list;
    HANDLE event;
    HMODULE shim;
    DWORD answer;
    char *name;

    if (argc > 2) return look_from_outside( atoi( argv[1] ), (HANDLE)(LONG_PTR)atoi( argv[2] ) );
    name = find_name();
    ok( name != NULL, "no %s in this Wine", POINTER );
    if (!name) return test_end();
    set_end( name, 'q' );
    shim = LoadLibraryA( "kernel32_ums.dll" );
    create_list = (void *)GetProcAddress( shim, "CreateUmsCompletionList" );
    ok( create_list && create_list( &list ), "no list, error %lu", GetLastError() );
    set_end( name, POINTER[sizeof(POINTER) - 2] );
    check_choices();
    event = CreateEventA( NULL, TRUE, FALSE, NULL );
    ok( SetEvent( event ), "not set, error %lu", GetLastError() );
    answer = ask_another_process( event );
    ok( answer == SIGNALLED, "the event is local, or not known: %lu", answer );
    fflush( stdout );
    return test_end();
}
