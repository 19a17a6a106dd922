/*
 * ntdll's Rtl*Ums* and NtUmsThreadYield: the core under its documented names.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include "core/ums_core.h"
#include "host/access.h"
#include "host/ke_win32.h"
#include "record/record.h"
#include "main.h"
#include "umsnt.h"

NTSTATUS NTAPI RtlCreateUmsCompletionList( PVOID *list )
{
    struct ums_list *l;
    NTSTATUS status;

    if (!list) return STATUS_INVALID_PARAMETER;
    if (!ums_active()) return STATUS_NOT_SUPPORTED;
    if (!(status = ums_list_create( &l ))) *list = l;
    return status;
}

NTSTATUS NTAPI RtlDeleteUmsCompletionList( PVOID list )
{
    return ums_list_delete( list );
}

NTSTATUS NTAPI RtlGetUmsCompletionListEvent( PVOID list, PHANDLE event )
{
    return ums_list_event( list, event );
}

/* A worker that waits here is blocked, as in any kernel call; a thread of a factory gives its place to another one. */
NTSTATUS NTAPI RtlDequeueUmsCompletionListItems( PVOID handle, PLARGE_INTEGER timeout,
                                                 PVOID *first )
{
    struct ums_list *list = ums_list_check( handle );
    struct ums_context *self = ke_current(), *taken;
    int64_t relative = 0;
    int blocked = 0, placed = 0;
    NTSTATUS status;

    if (!list || !first) return STATUS_INVALID_PARAMETER;
    status = ums_list_wait( list, &relative, &taken );
    if (status == STATUS_TIMEOUT && (!timeout || timeout->QuadPart))
    {
        if (timeout)
        {
            /* the least number has no opposite; as for waits of the host it is no limit [guess] */
            relative = timeout->QuadPart == MINLONGLONG ? MAXLONGLONG : -timeout->QuadPart;
            if (timeout->QuadPart > 0)          /* absolute */
            {
                FILETIME now;
                GetSystemTimeAsFileTime( &now );
                relative =
                    timeout->QuadPart - (((int64_t)now.dwHighDateTime << 32) | now.dwLowDateTime);
                if (relative < 0) relative = 0;
            }
        }
        if (self && self->kind == CONTEXT_WORKER)
        {
            ums_note_call( self, WHY_DEQUEUE );
            blocked = ums_worker_block( self, 1 );
        }
        else placed = ums_gives_place();
        status = ums_list_wait( list, timeout ? &relative : NULL, &taken );
        /* If another thread has set the registers of this worker, it does not come back here; the workers must not be
           lost. A pointer that is bad faults below. */
        if (blocked) ums_try_store( first, (uint64_t)(uintptr_t)taken );
        ums_worker_back_from( self, blocked );
        if (placed) ums_takes_place();
    }
    *first = taken;
    return status;
}

NTSTATUS NTAPI RtlGetNextUmsListItem( PVOID handle, PVOID *next )
{
    struct ums_context *context = ums_context_check( handle );

    if (!next) return STATUS_INVALID_PARAMETER;
    *next = context ? ums_list_next( context ) : NULL;
    return context ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS NTAPI RtlCreateUmsThreadContext( PVOID *context )
{
    struct ums_context *c;
    NTSTATUS status;

    if (!context) return STATUS_INVALID_PARAMETER;
    if (!ums_active()) return STATUS_NOT_SUPPORTED;
    if (!(status = ums_context_create( &c ))) *context = c;
    return status;
}

NTSTATUS NTAPI RtlDeleteUmsThreadContext( PVOID context )
{
    return ums_context_delete( context );
}

NTSTATUS NTAPI RtlQueryUmsThreadInformation( PVOID context, ULONG info_class, PVOID buffer,
                                             ULONG length, PULONG ret_length )
{
    return ums_context_query( context, info_class, buffer, length, (uint32_t *)ret_length );
}

NTSTATUS NTAPI RtlSetUmsThreadInformation( PVOID context, ULONG info_class, PVOID buffer,
                                           ULONG length )
{
    return ums_context_set( context, info_class, buffer, length );
}

NTSTATUS NTAPI RtlGetCurrentUmsThread( PVOID *context )
{
    if (!context) return STATUS_INVALID_PARAMETER;
    *context = ke_current();
    return *context ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

NTSTATUS NTAPI RtlEnterUmsSchedulingMode( PVOID startup )
{
    const UMS_SCHEDULER_STARTUP_INFO *info = startup;

    if (!info) return STATUS_INVALID_PARAMETER;
    return ums_scheduler_enter( info->UmsVersion, info->CompletionList,
                                (void (*)(void))info->SchedulerProc, info->SchedulerParam );
}

static int32_t status_itself( ums_status status )
{
    return status;
}

NTSTATUS NTAPI RtlExecuteUmsThread( PVOID context )
{
    return ums_execute( context, status_itself );
}

/* Ends in a tail call, so a carried worker's switch returns directly to our caller. */
NTSTATUS NTAPI RtlUmsThreadYield( PVOID param )
{
    return ums_yield( param, STATUS_SUCCESS, status_itself );
}

NTSTATUS NTAPI NtUmsThreadYield( PVOID param )
{
    return RtlUmsThreadYield( param );
}

NTSTATUS NTAPI ZwUmsThreadYield( PVOID param )
{
    return RtlUmsThreadYield( param );
}
