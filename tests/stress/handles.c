/*
 * Which handles this process has.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <winternl.h>
#include <stdio.h>
#include "handles.h"

#define GAP 1024                                /* values without a handle: there are no more */
#define MAX 65536

static unsigned char known[MAX];                /* by value / 4 */

/* *AT is the value before the first one that is looked at. FALSE: there are no more. */
static BOOL next( ULONG_PTR *at )
{
    ULONG_PTR value;
    DWORD flags;

    for (value = *at + 4; value <= *at + 4 * GAP; value += 4)
        if (GetHandleInformation( (HANDLE)value, &flags ))
        {
            *at = value;
            return TRUE;
        }
    return FALSE;
}

int handles_count( void )
{
    ULONG_PTR at = 0;
    int count = 0;

    while (next( &at )) count++;
    return count;
}

void handles_remember( void )
{
    ULONG_PTR at = 0;

    memset( known, 0, sizeof(known) );
    while (next( &at )) if (at / 4 < MAX) known[at / 4] = 1;
}

static void print( HANDLE handle )
{
    union { PUBLIC_OBJECT_TYPE_INFORMATION type; char space[1024]; } kind = { 0 };
    PUBLIC_OBJECT_BASIC_INFORMATION basic = { 0 };
    DWORD id;

    NtQueryObject( handle, ObjectTypeInformation, &kind, sizeof(kind), NULL );
    NtQueryObject( handle, ObjectBasicInformation, &basic, sizeof(basic), NULL );
    printf( "  handle %#lx: %.*ls, access %#lx", (unsigned long)(ULONG_PTR)handle,
            (int)(kind.type.TypeName.Length / sizeof(WCHAR)),
            kind.type.TypeName.Buffer ? kind.type.TypeName.Buffer : L"", basic.GrantedAccess );
    if ((id = GetThreadId( handle )))
        printf( ", thread %04lx, %s", id, WaitForSingleObject( handle, 0 ) ? "lives" : "has ended" );
    if ((id = GetProcessId( handle ))) printf( ", process %04lx", id );
    printf( "\n" );
}

void handles_print_new( void )
{
    ULONG_PTR at = 0;

    while (next( &at )) if (at / 4 >= MAX || !known[at / 4]) print( (HANDLE)at );
}
