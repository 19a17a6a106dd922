/*
 * rights.h on Wine and Windows: asks the host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <winternl.h>
#include "ke_win32.h"
#include "rights.h"

#define LINUX_READ  0
#define LINUX_OPEN  2
#define LINUX_CLOSE 3

#define TOKEN_ELEVATION_TYPE_CLASS 18           /* TOKEN_INFORMATION_CLASS [sdk] */
#define MAX_AUXV 128

NTSTATUS NTAPI NtOpenProcessToken( HANDLE, ACCESS_MASK, HANDLE * );
NTSTATUS NTAPI NtQueryInformationToken( HANDLE, ULONG, void *, ULONG, ULONG * );

/* A process with more rights cannot open this file even: unknown. */
static enum rights ask_linux( void )
{
    static const char path[] = "/proc/self/auxv";
    uint64_t auxv[MAX_AUXV];
    int64_t file, size;

    if (ke_find_linux()) return RIGHTS_UNKNOWN;
    file = (int64_t)ums_linux_syscall( LINUX_OPEN, (uint64_t)(ULONG_PTR)path, 0, 0, 0 );
    if (file < 0) return RIGHTS_UNKNOWN;
    size = (int64_t)ums_linux_syscall( LINUX_READ, (uint64_t)file, (uint64_t)(ULONG_PTR)auxv,
                                       sizeof(auxv), 0 );
    ums_linux_syscall( LINUX_CLOSE, (uint64_t)file, 0, 0, 0 );
    return size < 0 || size > (int64_t)sizeof(auxv)
           ? RIGHTS_UNKNOWN : rights_by_auxv( auxv, (unsigned int)(size / sizeof(auxv[0])) );
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
