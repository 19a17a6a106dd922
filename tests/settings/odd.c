/*
 * odd: calls that fail, on a plain thread; a line in the log must not change the error that the
 * caller sees. Then says its process id. Run by log.sh.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <ums.h>

#include "../inject/test.h"

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    (void)reason;
    (void)payload;
    (void)param;
}

static HANDLE create( PUMS_CONTEXT context, PUMS_COMPLETION_LIST list, ULONG version )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { version, context, list };
    SIZE_T size = sizeof(buffer);

    InitializeProcThreadAttributeList( attributes, 1, 0, &size );
    UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums),
                               NULL, NULL );
    SetLastError( 0xdeadbeef );
    return CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, NULL, NULL, 0, attributes, NULL );
}

int main( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION + 1, NULL, scheduler, NULL };
    PUMS_COMPLETION_LIST list;
    PUMS_CONTEXT context;

    SetLastError( 0xdeadbeef );
    ok( !CreateUmsThreadContext( NULL ), "a context is in nothing" );
    ok( GetLastError() == ERROR_INVALID_PARAMETER, "error %lu", GetLastError() );
    ok( CreateUmsCompletionList( &list ) && CreateUmsThreadContext( &context ), "nothing works" );
    ok( !create( context, list, UMS_VERSION + 1 ), "a worker of another version" );
    ok( GetLastError() == ERROR_INVALID_PARAMETER, "error %lu", GetLastError() );
    info.CompletionList = list;
    SetLastError( 0xdeadbeef );
    ok( !EnterUmsSchedulingMode( &info ), "a scheduler of another version" );
    ok( GetLastError() == ERROR_INVALID_PARAMETER, "error %lu", GetLastError() );
    DeleteUmsThreadContext( context );
    DeleteUmsCompletionList( list );
    printf( "process %lu\n", GetCurrentProcessId() );
    return test_failures != 0;
}
