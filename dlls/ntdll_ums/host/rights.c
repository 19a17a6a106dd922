/*
 * rights.h on Wine and Windows: asks the host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <winternl.h>
#include "rights.h"

#define TOKEN_ELEVATION_TYPE_CLASS 18           /* TOKEN_INFORMATION_CLASS [sdk] */

NTSTATUS NTAPI NtOpenProcessToken( HANDLE, ACCESS_MASK, HANDLE * );
NTSTATUS NTAPI NtQueryInformationToken( HANDLE, ULONG, void *, ULONG, ULONG * );

static enum rights ask_linux( void )
{
    uint64_t auxv[AUXV_MOST];

    return rights_by_auxv( auxv, ke_linux_auxv( auxv ) );
}

static enum rights ask_token( void )
{
    ULONG type = 0, size;
    HANDLE token;

    if (NtOpenProcessToken( GetCurrentProcess(), TOKEN_QUERY, &token )) return RIGHTS_UNKNOWN;
    if (NtQueryInformationToken( token, TOKEN_ELEVATION_TYPE_CLASS, &type, sizeof(type), &size ))
        type = 0;
    NtClose( token );
    return rights_by_elevation( type );
}

int ums_trusts_environment( void )
{
    int wine = GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "wine_get_version" ) != NULL;

    return (wine ? ask_linux() : ask_token()) == RIGHTS_OWN;
}
