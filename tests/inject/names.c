/*
 * A program that imports UMS's names statically, from kernel32 (or from the API set) and from
 * ntdll, which no Wine has: it starts, gets the shim, and looking the names up leads to the same
 * functions.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <ums.h>
#include <umsnt.h>

#include "test.h"

typedef BOOL (WINAPI *create_list_t)( PUMS_COMPLETION_LIST * );

static void check_list( const char *way, create_list_t create_list )
{
    PUMS_COMPLETION_LIST list = NULL;
    HANDLE event = NULL;

    ok( create_list != NULL, "%s: no CreateUmsCompletionList", way );
    if (!create_list) return;
    ok( create_list( &list ) && list, "%s: no list, error %lu", way, GetLastError() );
    ok( GetUmsCompletionListEvent( list, &event ) && event, "%s: no event, error %lu", way,
        GetLastError() );
    ok( CloseHandle( event ), "%s: the event is no handle", way );
    ok( DeleteUmsCompletionList( list ), "%s: not deleted, error %lu", way, GetLastError() );
}

static void check_kernel32( void )
{
    HMODULE kernel32 = GetModuleHandleW( L"kernel32.dll" );
    HMODULE api_set = LoadLibraryW( L"api-ms-win-core-ums-l1-1-0.dll" );
    create_list_t found = (void *)GetProcAddress( kernel32, "CreateUmsCompletionList" );

    check_list( "static import", CreateUmsCompletionList );
    check_list( "GetProcAddress", found );
    ok( api_set != NULL, "no API set, error %lu", GetLastError() );
    check_list( "API set", (void *)GetProcAddress( api_set, "CreateUmsCompletionList" ) );
    ok( GetProcAddress( kernel32, "GetUmsSystemThreadInformation" ) != NULL,
        "the fourteenth is missing" );
    ok( !GetCurrentUmsThread(), "this is a UMS thread" );
}

static void check_ntdll( void )
{
    PVOID context = (PVOID)1;
    NTSTATUS (WINAPI *found)( PVOID * );

    ok( RtlGetCurrentUmsThread( &context ) < 0 && !context, "static import of ntdll: context %p",
        context );
    found = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "RtlGetCurrentUmsThread" );
    ok( found != NULL, "ntdll: RtlGetCurrentUmsThread not found" );
    if (found) ok( found( &context ) < 0 && !context, "ntdll: context %p", context );
    ok( GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "ZwUmsThreadYield" ) != NULL,
        "ntdll: no ZwUmsThreadYield" );
}

/* what a person looks at */
static void check_announced( void )
{
    char value[256] = "";

    ok( GetEnvironmentVariableA( "UMS_ACTIVE", value, sizeof(value) ) != 0,
        "UMS_ACTIVE is not set" );
    printf( "UMS_ACTIVE=%s\n", value );
}

int main( void )
{
    check_kernel32();
    check_ntdll();
    check_announced();
    return test_end();
}
