/*
 * Where the documented names lead.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <stdio.h>
#include <string.h>
#include "umsinfo.h"

static const char *const kernel32_names[] =
{
#define X( ret, name, args ) #name,
    UMS_KERNEL32_EXPORTS( X )
    UMS_KERNEL32_DOORS( X )
    NULL
};

static const char *const ntdll_names[] =
{
    UMS_NTDLL_EXPORTS( X )
    UMS_NTDLL_FACTORY_EXPORTS( X )
    NULL
#undef X
};

BOOL api_find( HMODULE module, struct api *api )
{
#define X( ret, name, args ) \
    if (!(api->name = (ret (WINAPI *) args)(void *)GetProcAddress( module, #name ))) return FALSE;
    UMS_KERNEL32_EXPORTS_7600( X )
    UMS_KERNEL32_DOORS( X )
#undef X
    return TRUE;
}

static HMODULE module_of( const void *address )
{
    HMODULE module;

    return GetModuleHandleExA( GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                   GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, address, &module )
           ? module : NULL;
}

/* A name that is redirected may lead to a jump in memory of no module (substitution.md). */
static const void *behind_jump( const void *address )
{
    static const BYTE jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

    if (!module_of( address ) && !memcmp( address, jump, sizeof(jump) ))
        memcpy( &address, (const BYTE *)address + sizeof(jump), sizeof(address) );
    return address;
}

static BOOL is_shim( HMODULE module )
{
    return module && (module == GetModuleHandleA( "kernel32_ums.dll" ) ||
                      module == GetModuleHandleA( "ntdll_ums.dll" ));
}

BOOL leads_to_shim( const char *name )
{
    const void *address = (void *)GetProcAddress( GetModuleHandleA( "kernel32.dll" ), name );

    return address && is_shim( module_of( behind_jump( address ) ) );
}

static int counts[3];
static BOOL print_all;

static void print_place( const void *address )
{
    HMODULE module = module_of( address );
    char path[MAX_PATH] = "", *slash;

    if (module && GetModuleFileNameA( module, path, sizeof(path) ))
    {
        slash = strrchr( path, '\\' );
        print( "  %s+0x%llx", slash ? slash + 1 : path,
                (unsigned long long)((const char *)address - (const char *)module) );
    }
    print( "  %p", address );
}

/* Print where the host's name leads; if it is not the shim, also the shim's function. */
static void print_one( HMODULE host, HMODULE shim, const char *name )
{
    static const char *const kinds[] = { "shim", "host", "missing" };
    const void *address = (void *)GetProcAddress( host, name ), *ours = NULL;
    int kind = 2;

    if (address)
    {
        address = behind_jump( address );
        kind = is_shim( module_of( address ) ) ? 0 : 1;
    }
    counts[kind]++;
    if (!print_all) return;
    print( "  %-34s %s", name, kinds[kind] );
    if (address) print_place( address );
    if (kind && shim) ours = (void *)GetProcAddress( shim, name );
    if (ours)
    {
        print( "; the shim's:" );
        print_place( ours );
    }
    print( "\n" );
}

static void print_names( const char *host, const char *shim, const char *const *names )
{
    if (print_all) print( "entry points of %s\n", host );
    for (; *names; names++)
        print_one( GetModuleHandleA( host ), GetModuleHandleA( shim ), *names );
}

void print_entry_points( BOOL verbose )
{
    print_all = verbose;
    print_names( "kernel32.dll", "kernel32_ums.dll", kernel32_names );
    print_names( "ntdll.dll", "ntdll_ums.dll", ntdll_names );
    print( "names        %d lead to the shim, %d to the host, %d are missing\n", counts[0], counts[1],
            counts[2] );
}
