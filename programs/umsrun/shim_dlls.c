/*
 * umsrun.exe: the shim's two DLLs in a folder of somebody else's: copied there, deleted, and who needs them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

/***********************************************************************
 * whose they are
 */

/* All versions of ours have this string in their resource (dlls/version.rc). It lies in the file as it stands
 * here. So a DLL of ours that was damaged counts as ours, too. */
static BOOL is_ours( const struct pe_bytes *file )
{
    static const WCHAR product[] = L"ProductName\0\0UMS shim";
    const BYTE *at = file->data, *end = at + file->size;

    while ((at = memchr( at, product[0], end - at )) && (size_t)(end - at) >= sizeof(product))
    {
        if (!memcmp( at, product, sizeof(product) )) return TRUE;
        at++;
    }
    return FALSE;
}

static void dll_path( const WCHAR *dir, size_t i, WCHAR *path )
{
    wcscat( wcscpy( path, dir ), shim_files[i] );
}

/* There is a file of that name that we have not made: a folder and what cannot be read count as such. */
static BOOL is_foreign( const WCHAR *path )
{
    struct pe_bytes bytes;
    BOOL ret;

    if (!file_exists( path )) return FALSE;
    if (is_folder( path ) || try_read_file( path, &bytes )) return TRUE;
    ret = !is_ours( &bytes );
    free_bytes( &bytes );
    return ret;
}

BOOL has_dlls( const WCHAR *dir )
{
    WCHAR path[LONG_PATH + 20];
    size_t i;

    for (i = 0; i < SHIM_FILES; i++)
    {
        dll_path( dir, i, path );
        if (file_exists( path ) && !is_foreign( path )) return TRUE;
    }
    return FALSE;
}

/***********************************************************************
 * copying and deleting
 */
static int copy_dll( const WCHAR *source, const WCHAR *target )
{
    struct pe_bytes bytes;
    int ret;

    if (read_file( source, &bytes )) return EXIT_FAILED;
    ret = write_file( target, &bytes, NULL );
    free_bytes( &bytes );
    return ret;
}

/* Look at both names first, so that half an installation is not left behind. */
static int check_names( const WCHAR *dir )
{
    WCHAR path[LONG_PATH + 20];
    size_t i;

    for (i = 0; i < SHIM_FILES; i++)
    {
        dll_path( dir, i, path );
        if (is_foreign( path ))
            return fail( L"%ls is there and is not UMS's; move it away", shown( path ) );
    }
    return 0;
}

int copy_dlls( const WCHAR *from, const WCHAR *to, DWORD *copied )
{
    WCHAR source[LONG_PATH + 20], target[LONG_PATH + 20];
    BOOL replaced;
    size_t i;

    *copied = 0;
    if (check_names( to )) return EXIT_FAILED;
    for (i = 0; i < SHIM_FILES; i++)
    {
        dll_path( from, i, source );
        dll_path( to, i, target );
        if (same_file( source, target )) continue;
        replaced = file_exists( target );
        if (copy_dll( source, target ))
        {
            take_back_dlls( to, *copied );
            return EXIT_FAILED;
        }
        if (replaced) say( L"replaced %ls, which was another version", shown( target ) );
        else *copied |= 1u << i;
    }
    return 0;
}

void take_back_dlls( const WCHAR *dir, DWORD copied )
{
    WCHAR path[LONG_PATH + 20];
    size_t i;

    for (i = 0; i < SHIM_FILES; i++)
    {
        dll_path( dir, i, path );
        if ((copied & 1u << i) && !DeleteFileW( path )) fail_with_error( path, GetLastError() );
    }
}

void delete_dlls( const WCHAR *dir )
{
    WCHAR path[LONG_PATH + 20];
    size_t i;

    for (i = 0; i < SHIM_FILES; i++)
    {
        dll_path( dir, i, path );
        delete_new( path );
        if (is_foreign( path )) say( L"  %ls is not UMS's and stays", shown( path ) );
        else if (file_exists( path ) && !DeleteFileW( path ))
            fail_with_error( path, GetLastError() );
    }
}

/***********************************************************************
 * who needs them
 */
static BOOL precedes( const BYTE *start, const char *at, const char *name )
{
    size_t len = strlen( name );

    return (size_t)(at - (const char *)start) >= len && !_strnicmp( at - len, name, len );
}

/* The name of one of them with its final zero is in the file. It is in an import table, and whoever loads the DLL
 * by hand counts as well. */
static BOOL names_dlls( const struct pe_bytes *file )
{
    static const char rest[] = "_ums.dll";
    const char *at = (const char *)file->data, *end = at + file->size;

    while ((at = memchr( at, rest[0], end - at )) && (size_t)(end - at) >= sizeof(rest))
    {
        if (!_strnicmp( at, rest, sizeof(rest) )
            && (precedes( file->data, at, "kernel32" ) || precedes( file->data, at, "ntdll" )))
            return TRUE;
        at++;
    }
    return FALSE;
}

static void look_at_other( const WCHAR *path, const WCHAR *name, struct others *others )
{
    struct pe_report report;
    struct pe_bytes bytes;
    DWORD error = try_read_file( path, &bytes );
    BOOL needs;

    if (error)
    {
        if (others->name[0]) return;
    }
    else
    {
        pe_look( &bytes, NULL, &report );
        needs = report.kind == PE_PROGRAM || names_dlls( &bytes );
        free_bytes( &bytes );
        if (!needs) return;
        others->flags |= report.flags;
    }
    wcscpy( others->name, name );
    others->error = error;
}

/* what an interrupted write_file has left */
static BOOL is_remains( const WCHAR *name )
{
    static const WCHAR end[] = L".ums-new.exe";
    size_t len = wcslen( name );

    return len >= wcslen( end ) && !lstrcmpiW( name + len - wcslen( end ), end );
}

/* Two files may have names that differ in case only, under Wine: all letters are compared as they are. */
void others_in_folder( const WCHAR *dir, const WCHAR *but, struct others *others )
{
    WCHAR pattern[LONG_PATH + 20], path[LONG_PATH + MAX_PATH];
    WIN32_FIND_DATAW data;
    HANDLE search;

    memset( others, 0, sizeof(*others) );
    wcscat( wcscpy( pattern, dir ), L"*.exe" );
    if ((search = FindFirstFileW( pattern, &data )) == INVALID_HANDLE_VALUE) return;
    do
    {
        wcscat( wcscpy( path, dir ), data.cFileName );
        if (wcscmp( path, but ) && !is_remains( data.cFileName )
            && !(data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
            look_at_other( path, data.cFileName, others );
    }
    while (FindNextFileW( search, &data ));
    FindClose( search );
}
