/*
 * Creates workers: CreateRemoteThreadEx with PROC_THREAD_ATTRIBUTE_UMS_THREAD. All other calls go
 * to the host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The attribute list belongs to the system. Its layout has not changed since Vista, and is the same in
 * Wine: a header, then entries of { attribute, size, value }. The system's UpdateProcThreadAttribute
 * refuses our attribute, so this file writes the entry itself. Before the first time it checks the
 * layout with a list of its own.
 */

#define UMS_CHANNEL LOG_CHANNEL_api
#define _KERNEL32_                              /* these are the definitions, not imports */
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include "kernel32_ums.h"
#include "attach.h"
#include "private/trace.h"
#include "private/ums_private.h"

#ifndef ERROR_OBJECT_NAME_EXISTS
#define ERROR_OBJECT_NAME_EXISTS 698            /* missing in mingw-w64 10 */
#endif

#define UMS_MASK (1u << (PROC_THREAD_ATTRIBUTE_UMS_THREAD & PROC_THREAD_ATTRIBUTE_NUMBER))
#define MAX_ATTRIBUTES 32                       /* one bit each in the mask */

struct attribute
{
    DWORD_PTR attr;
    SIZE_T    size;
    void     *value;
};

struct attribute_list
{
    DWORD mask;
    DWORD size;
    DWORD count;
    DWORD pad;
    DWORD_PTR unknown;
    struct attribute attrs[MAX_ATTRIBUTES];     /* the number that the list was made for */
};

typedef BOOL (WINAPI *update_fn)( LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD_PTR, PVOID, SIZE_T,
                                  PVOID, PSIZE_T );
typedef BOOL (WINAPI *initialize_fn)( LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD, PSIZE_T );
typedef void (WINAPI *delete_fn)( LPPROC_THREAD_ATTRIBUTE_LIST );
typedef HANDLE (WINAPI *create_fn)( HANDLE, LPSECURITY_ATTRIBUTES, SIZE_T, LPTHREAD_START_ROUTINE,
                                    LPVOID, DWORD, LPPROC_THREAD_ATTRIBUTE_LIST, LPDWORD );

BOOL WINAPI InitializeProcThreadAttributeList( LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD count,
                                               DWORD flags, PSIZE_T size )
{
    initialize_fn initialize = (initialize_fn)ums_original( "InitializeProcThreadAttributeList" );

    return initialize( list, count, flags, size );
}

VOID WINAPI DeleteProcThreadAttributeList( LPPROC_THREAD_ATTRIBUTE_LIST list )
{
    ((delete_fn)ums_original( "DeleteProcThreadAttributeList" ))( list );
}

/* Does a list for two attributes, with one known attribute in it, have the expected layout? */
static BOOL layout_fits( void )
{
    update_fn update = (update_fn)ums_original( "UpdateProcThreadAttribute" );
    struct attribute_list list;
    LPPROC_THREAD_ATTRIBUTE_LIST opaque = (LPPROC_THREAD_ATTRIBUTE_LIST)&list;
    const struct attribute *first = &list.attrs[0];
    HANDLE process = NULL;
    SIZE_T size = sizeof(list);

    if (!InitializeProcThreadAttributeList( opaque, 2, 0, &size )) return FALSE;
    if (!update( opaque, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, &process, sizeof(process), NULL,
                 NULL )) return FALSE;
    return list.mask == 1 && list.size == 2 && list.count == 1 &&
           first->attr == PROC_THREAD_ATTRIBUTE_PARENT_PROCESS && first->size == sizeof(process) &&
           first->value == &process;
}

BOOL WINAPI UpdateProcThreadAttribute( LPPROC_THREAD_ATTRIBUTE_LIST opaque, DWORD flags,
                                       DWORD_PTR attr, PVOID value,
                                       SIZE_T size, PVOID previous, PSIZE_T ret_size )
{
    static LONG fits;                           /* 0 not tried, 1 yes, 2 no; any thread may try */
    update_fn update = (update_fn)ums_original( "UpdateProcThreadAttribute" );
    struct attribute_list *list = (struct attribute_list *)opaque;
    struct attribute *entry;

    if (attr != PROC_THREAD_ATTRIBUTE_UMS_THREAD)
        return update( opaque, flags, attr, value, size, previous, ret_size );

    if (!fits) InterlockedExchange( &fits, layout_fits() ? 1 : 2 );
    if (fits == 2) return ums_set_status( STATUS_NOT_SUPPORTED );

    if (!list || !value) return ums_set_status( STATUS_INVALID_PARAMETER );
    if (list->count >= list->size)
    {
        SetLastError( ERROR_GEN_FAILURE );
        return FALSE;
    }
    if (size != sizeof(UMS_CREATE_THREAD_ATTRIBUTES))
    {
        SetLastError( ERROR_BAD_LENGTH );
        return FALSE;
    }
    if (list->mask & UMS_MASK)
    {
        SetLastError( ERROR_OBJECT_NAME_EXISTS );
        return FALSE;
    }
    list->mask |= UMS_MASK;
    entry = &list->attrs[list->count++];
    entry->attr  = attr;
    entry->size  = size;
    entry->value = value;
    return TRUE;
}

/* Returns the value of the UMS attribute, NULL if there is none; *rest gets all other attributes. */
static const UMS_CREATE_THREAD_ATTRIBUTES *find_ums( const struct attribute_list *list,
                                                     struct attribute_list *rest )
{
    const UMS_CREATE_THREAD_ATTRIBUTES *ums = NULL;
    DWORD i;

    if (!list || !(list->mask & UMS_MASK)) return NULL;
    rest->mask = list->mask & ~UMS_MASK;
    rest->size = MAX_ATTRIBUTES;
    rest->count = 0;
    rest->pad = list->pad;
    rest->unknown = list->unknown;
    for (i = 0; i < list->count && i < MAX_ATTRIBUTES; i++)
    {
        if (list->attrs[i].attr == PROC_THREAD_ATTRIBUTE_UMS_THREAD) ums = list->attrs[i].value;
        else rest->attrs[rest->count++] = list->attrs[i];
    }
    return ums;
}

/* The thread is always created suspended, because it must be registered as a worker before it runs and
   before another thread can use its handle. */
HANDLE WINAPI CreateRemoteThreadEx( HANDLE process, LPSECURITY_ATTRIBUTES sa, SIZE_T stack,
                                    LPTHREAD_START_ROUTINE start, LPVOID param, DWORD flags,
                                    LPPROC_THREAD_ATTRIBUTE_LIST list, LPDWORD id )
{
    create_fn create = (create_fn)ums_original( "CreateRemoteThreadEx" );
    const struct ums_private *core = ums_ntdll;
    const UMS_CREATE_THREAD_ATTRIBUTES *ums;
    struct attribute_list rest;
    struct ums_context *worker;
    LPTHREAD_START_ROUTINE entry;
    HANDLE thread;
    DWORD tid, pid;

    if (!(ums = find_ums( (struct attribute_list *)list, &rest )))
        return create( process, sa, stack, start, param, flags, list, id );

    if (!(pid = GetProcessId( process ))) return NULL;
    if (pid != GetCurrentProcessId())
    {
        SetLastError( ERROR_INVALID_PARAMETER );
        return NULL;
    }
    if (!ums_set_status( core->worker_bind( ums, start, param, &worker, &entry ) ))
    {
        ums_trace( "CreateRemoteThreadEx: no worker of context %p, version %lx: error %lu",
                   ums->UmsContext, ums->UmsVersion, GetLastError() );
        return NULL;
    }

    thread = create( process, sa, stack, entry, worker, flags | CREATE_SUSPENDED,
                     rest.count ? (LPPROC_THREAD_ATTRIBUTE_LIST)&rest : NULL, &tid );
    if (!thread)
    {
        core->worker_unbind( worker );
        return NULL;
    }
    if (id) *id = tid;
    core->worker_made( worker, thread );
    if (!(flags & CREATE_SUSPENDED)) ResumeThread( thread );
    return thread;
}
