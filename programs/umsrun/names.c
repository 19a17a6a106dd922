/*
 * umsrun.exe: which file a name means.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

BOOL file_exists( const WCHAR *path )
{
    return GetFileAttributesW( path ) != INVALID_FILE_ATTRIBUTES;
}

BOOL is_folder( const WCHAR *path )
{
    DWORD attributes = GetFileAttributesW( path );

    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

void folder_of( const WCHAR *path, WCHAR *dir )
{
    size_t len = wcslen( path );

    while (len && path[len - 1] != '\\' && path[len - 1] != '/') len--;
    memcpy( dir, path, len * sizeof(*path) );
    dir[len] = 0;
}

BOOL on_wine( void )
{
    return GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "wine_get_version" ) != NULL;
}

/* Wine's own functions take Unix paths, /home/me/program.exe, if the folder exists. */
BOOL full_path( const WCHAR *name, WCHAR *path )
{
    DWORD len = GetFullPathNameW( name, LONG_PATH, path, NULL );

    return len && len < LONG_PATH;
}

static BOOL is_file( const WCHAR *name, const WCHAR *ending, WCHAR *path )
{
    WCHAR whole[LONG_PATH];

    if (wcslen( name ) + wcslen( ending ) >= LONG_PATH) return FALSE;
    wcscat( wcscpy( whole, name ), ending );
    return full_path( whole, path ) && file_exists( path ) && !is_folder( path );
}

/* Windows begins its search in the folder of the program that asks, which is umsrun.exe, and a file there is never meant where
 * the current folder has one of that name. A name alone is mostly without its .exe, as in a shell of Windows. */
BOOL find_program( const WCHAR *name, WCHAR *path )
{
    BOOL short_name = !wcspbrk( name, L"\\/." );
    DWORD len;

    if (is_file( name, short_name ? L".exe" : L"", path )
        || is_file( name, short_name ? L"" : L".exe", path ))
        return TRUE;
    len = SearchPathW( NULL, name, L".exe", LONG_PATH, path, NULL );
    return len && len < LONG_PATH;
}

void beside_us( const WCHAR *file, WCHAR *path )
{
    WCHAR self[LONG_PATH];

    if (!GetModuleFileNameW( NULL, self, ARRAYSIZE(self) )) self[0] = 0;
    folder_of( self, path );
    wcscat( path, file );
}

int find_shim( WCHAR *dir )
{
    WCHAR path[LONG_PATH + 20];
    DWORD i;

    beside_us( L"", dir );
    for (i = 0; i < ARRAYSIZE(shim_files); i++)
    {
        wcscat( wcscpy( path, dir ), shim_files[i] );
        if (!file_exists( path ))
            return fail( L"%ls is missing; it belongs beside umsrun.exe", shown( path ) );
    }
    return 0;
}

const WCHAR *const shim_files[SHIM_FILES] = { L"ntdll_ums.dll", L"kernel32_ums.dll" };

/* Wine tells its programs: "\\??\\Z:\\home\\me\\.wine" or "\\??\\unix\\home\\me\\.wine". */
void prefix_folder( WCHAR *name )
{
    DWORD len = GetEnvironmentVariableW( L"WINECONFIGDIR", name, LONG_PATH );
    WCHAR *at;

    if (!len || len >= LONG_PATH) wcscpy( name, L"this prefix" );
    if (!wcsncmp( name, L"\\??\\unix\\", 9 ))
    {
        memmove( name, name + 8, (wcslen( name + 8 ) + 1) * sizeof(*name) );
        for (at = name; *at; at++) if (*at == '\\') *at = '/';
    }
    else if (!wcsncmp( name, L"\\??\\", 4 ))
        memmove( name, shown( name + 4 ), (wcslen( shown( name + 4 ) ) + 1) * sizeof(*name) );
}
