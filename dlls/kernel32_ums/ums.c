/*
 * The 14 UMS functions of kernel32: call ntdll's twin, translate the status.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define UMS_CHANNEL LOG_CHANNEL_api
#define _KERNEL32_                              /* these are the definitions, not imports */
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "umsnt.h"
#include "kernel32_ums.h"
#include "private/trace.h"
#include "private/ums_private.h"

BOOL ums_set_status( NTSTATUS status )
{
    if (!status) return TRUE;
    SetLastError( RtlNtStatusToDosError( status ) );
    return FALSE;
}

/* The same for calls that create an object. They may log: the thread holds nothing of the shim's. */
static BOOL made( const char *name, NTSTATUS status )
{
    if (status) ums_trace( "%s: status %08lx", name, (ULONG)status );
    return ums_set_status( status );
}

BOOL WINAPI CreateUmsCompletionList( PUMS_COMPLETION_LIST *list )
{
    return made( "CreateUmsCompletionList", RtlCreateUmsCompletionList( list ) );
}

BOOL WINAPI DeleteUmsCompletionList( PUMS_COMPLETION_LIST list )
{
    return ums_set_status( RtlDeleteUmsCompletionList( list ) );
}

BOOL WINAPI GetUmsCompletionListEvent( PUMS_COMPLETION_LIST list, PHANDLE event )
{
    return ums_set_status( RtlGetUmsCompletionListEvent( list, event ) );
}

/* A poll that finds nothing is a success, with NULL: real clients treat FALSE as fatal [seen]. A
   wait that finds nothing fails with ERROR_TIMEOUT [doc]. */
BOOL WINAPI DequeueUmsCompletionListItems( PUMS_COMPLETION_LIST list, DWORD timeout,
                                           PUMS_CONTEXT *first )
{
    LARGE_INTEGER relative;
    NTSTATUS status;

    relative.QuadPart = (LONGLONG)timeout * -10000;
    status = RtlDequeueUmsCompletionListItems( list, timeout == INFINITE ? NULL : &relative,
                                               first );
    if (status == STATUS_TIMEOUT && !timeout) return TRUE;
    if (status == STATUS_TIMEOUT)
    {
        SetLastError( ERROR_TIMEOUT );
        return FALSE;
    }
    return ums_set_status( status );
}

PUMS_CONTEXT WINAPI GetNextUmsListItem( PUMS_CONTEXT context )
{
    PUMS_CONTEXT next = NULL;

    ums_set_status( RtlGetNextUmsListItem( context, &next ) );
    return next;
}

BOOL WINAPI CreateUmsThreadContext( PUMS_CONTEXT *context )
{
    return made( "CreateUmsThreadContext", RtlCreateUmsThreadContext( context ) );
}

BOOL WINAPI DeleteUmsThreadContext( PUMS_CONTEXT context )
{
    return ums_set_status( RtlDeleteUmsThreadContext( context ) );
}

BOOL WINAPI EnterUmsSchedulingMode( PUMS_SCHEDULER_STARTUP_INFO info )
{
    return made( "EnterUmsSchedulingMode", RtlEnterUmsSchedulingMode( info ) );
}

static int32_t switch_failed( int32_t status )
{
    return ums_set_status( status );
}

BOOL WINAPI ExecuteUmsThread( PUMS_CONTEXT context )
{
    return ums_ntdll->execute( context, switch_failed );
}

/* A tail call: a carried worker's switch then returns to the program directly, and no return of
   ours is mispredicted. */
BOOL WINAPI UmsThreadYield( PVOID param )
{
    return ums_ntdll->yield( param, TRUE, switch_failed );
}

PUMS_CONTEXT WINAPI GetCurrentUmsThread( void )
{
    PUMS_CONTEXT context = NULL;

    ums_set_status( RtlGetCurrentUmsThread( &context ) );
    return context;
}

BOOL WINAPI QueryUmsThreadInformation( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class,
                                       PVOID buffer, ULONG length, PULONG ret_length )
{
    return ums_set_status( RtlQueryUmsThreadInformation( context, info_class, buffer, length,
                                                         ret_length ) );
}

BOOL WINAPI SetUmsThreadInformation( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class,
                                     PVOID buffer, ULONG length )
{
    return ums_set_status( RtlSetUmsThreadInformation( context, info_class, buffer, length ) );
}

BOOL WINAPI GetUmsSystemThreadInformation( HANDLE thread, PUMS_SYSTEM_THREAD_INFORMATION info )
{
    THREAD_UMS_INFORMATION query = { .Command = UmsInformationCommandQuery };
    NTSTATUS status;

    if (!info || info->UmsVersion != UMS_VERSION) return ums_set_status( STATUS_INVALID_PARAMETER );
    if ((status = NtQueryInformationThread( thread, UMS_THREAD_INFORMATION_CLASS, &query,
                                            sizeof(query), NULL )))
        return ums_set_status( status );
    info->ThreadUmsFlags = query.ThreadUmsFlags;
    return TRUE;
}
