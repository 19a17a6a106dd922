/*
 * A DLL that imports UMS's names, and the ways to make a worker, by its import table.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <ums.h>
#include <umsnt.h>

#include "importer.h"

__declspec(dllexport) BOOL importer_calls( void )
{
    PUMS_COMPLETION_LIST list = NULL;
    PVOID context = (PVOID)1;

    if (RtlGetCurrentUmsThread( &context ) >= 0 || context) return FALSE;
    return CreateUmsCompletionList( &list ) && list && DeleteUmsCompletionList( list );
}

__declspec(dllexport) void *importer_door( void )
{
    return (void *)CreateRemoteThreadEx;
}
