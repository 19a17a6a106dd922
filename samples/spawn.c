/*
 * Create one UMS worker thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include "spawn.h"

#define WORKER_STACK 0x10000

HANDLE spawn_ums_worker( PUMS_COMPLETION_LIST list, LPTHREAD_START_ROUTINE proc, void *arg,
                         void *user, PUMS_CONTEXT *context )
{
    /* On the stack: a worker may have been switched out inside the heap's lock. */
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums;
    SIZE_T size = sizeof(buffer);
    PUMS_CONTEXT new_context;
    HANDLE thread = NULL;
    DWORD error;

    if (!CreateUmsThreadContext( &new_context )) return NULL;
    /* Before the thread exists, so that nobody can see the worker without it. */
    if (!SetUmsThreadInformation( new_context, UmsThreadUserContext, &user, sizeof(user) ))
        goto delete_context;
    if (!InitializeProcThreadAttributeList( attributes, 1, 0, &size )) goto delete_context;

    ums.UmsVersion = UMS_VERSION;
    ums.UmsContext = new_context;
    ums.UmsCompletionList = list;
    if (UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD,
                                   &ums, sizeof(ums), NULL, NULL ))
    {
        /* Once the thread is made, the worker may run and end before the call returns. */
        *context = new_context;
        thread = CreateRemoteThreadEx( GetCurrentProcess(), NULL, WORKER_STACK, proc, arg,
                                       STACK_SIZE_PARAM_IS_A_RESERVATION, attributes, NULL );
    }
    error = GetLastError();
    DeleteProcThreadAttributeList( attributes );
    SetLastError( error );
    if (thread) return thread;

delete_context:
    error = GetLastError();
    DeleteUmsThreadContext( new_context );
    SetLastError( error );
    return NULL;
}
