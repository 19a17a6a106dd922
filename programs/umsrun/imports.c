/*
 * umsrun.exe: whether a program's file uses UMS, and which of its DLLs are missing. It only reads files
 * and starts nothing.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "private/exports.h"
#include "import_table.h"
#include "pe_section.h"
#include "umsrun.h"

#define MAX_DLLS  256           /* of one image; further ones are ignored */
#define MAX_NAMES 4096          /* imported from one DLL; further ones are ignored */

#define NAME( type, name, args ) #name,
static const char *const ums_names[] = { UMS_KERNEL32_EXPORTS( NAME ) UMS_NTDLL_EXPORTS( NAME )
                                         UMS_NTDLL_FACTORY_EXPORTS( NAME ) };
#undef NAME

/* one image, and what was found in it */
struct image
{
    struct pe_bytes bytes;
    struct pe       pe;
    int             imported;           /* names of UMS in its import table */
    int             looked_up;          /* and in its data, for GetProcAddress */
    char            names[4096];        /* all of them */
};

/* NULL, or what is wrong */
static const char *open_image( const WCHAR *path, struct image *image )
{
    const char *error;

    memset( image, 0, sizeof(*image) );
    if (try_read_file( path, &image->bytes )) return "cannot be read";
    if ((error = inject_check_image( image->bytes.data, image->bytes.size ))) return error;
    return pe_parse( &image->pe, &image->bytes );
}

static BOOL fetch_string( const struct pe *pe, DWORD rva, char *to, DWORD size )
{
    DWORD i;

    for (i = 0; i < size; i++)
    {
        if (!pe_fetch( pe, rva + i, &to[i], 1 )) return FALSE;
        if (!to[i]) return TRUE;
    }
    return FALSE;
}

/* The loader adds .dll to a name without a dot. */
static BOOL fetch_dll( const struct pe *pe, DWORD rva, char *name, DWORD size )
{
    if (!fetch_string( pe, rva, name, size - 4 )) return FALSE;
    if (!strchr( name, '.' )) strcat( name, ".dll" );
    return TRUE;
}

static BOOL fetch_descriptor( const struct pe *pe, DWORD i, IMAGE_IMPORT_DESCRIPTOR *descriptor )
{
    DWORD rva = pe->nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;

    return rva && i < MAX_DLLS
           && pe_fetch( pe, rva + i * sizeof(*descriptor), descriptor, sizeof(*descriptor) )
           && descriptor->Name && descriptor->FirstThunk;
}

static BOOL has_ums_dll( const char *dll )
{
    return !_strnicmp( dll, "kernel32", 8 ) || !_strnicmp( dll, "kernelbase", 10 )
           || !_strnicmp( dll, "ntdll", 5 ) || !_strnicmp( dll, "api-ms-win-core-ums-", 20 );
}

static void add_name( struct image *image, const char *name )
{
    if (strlen( image->names ) + strlen( name ) + 3 > sizeof(image->names)) return;
    if (image->names[0]) strcat( image->names, ", " );
    strcat( image->names, name );
}

static void count_import( struct image *image, const char *name )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE(ums_names); i++)
    {
        if (strcmp( name, ums_names[i] )) continue;
        image->imported++;
        add_name( image, name );
    }
}

static void count_imports( struct image *image )
{
    IMAGE_IMPORT_DESCRIPTOR descriptor;
    ULONG64 thunk;
    char name[80];
    DWORD i, j, list;

    for (i = 0; fetch_descriptor( &image->pe, i, &descriptor ); i++)
    {
        if (!fetch_dll( &image->pe, descriptor.Name, name, sizeof(name) )) continue;
        if (!has_ums_dll( name )) continue;
        list = descriptor.OriginalFirstThunk ? descriptor.OriginalFirstThunk : descriptor.FirstThunk;
        for (j = 0; j < MAX_NAMES; j++)
        {
            if (!pe_fetch( &image->pe, list + j * sizeof(thunk), &thunk, sizeof(thunk) ) || !thunk)
                break;
            if (!IMAGE_SNAP_BY_ORDINAL64( thunk )
                && fetch_string( &image->pe, (DWORD)thunk + sizeof(WORD), name, sizeof(name) ))
                count_import( image, name );
        }
    }
}

/* Does the file contain this name with a zero on both sides? Then it is most likely used with
 * GetProcAddress. */
static BOOL has_string( const struct pe_bytes *bytes, const char *name )
{
    size_t len = strlen( name ) + 1;
    const BYTE *at = bytes->data, *end = bytes->data + bytes->size;

    while (at + len <= end && (at = memchr( at, name[0], end - at - len + 1 )))
    {
        if (!memcmp( at, name, len ) && (at == bytes->data || !at[-1])) return TRUE;
        at++;
    }
    return FALSE;
}

/* Imported names are in the file too, after a hint whose upper byte is mostly zero. So an image that
 * imports UMS names is not searched. */
static void count_lookups( struct image *image )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE(ums_names); i++)
    {
        if (!has_string( &image->bytes, ums_names[i] )) continue;
        image->looked_up++;
        add_name( image, ums_names[i] );
    }
}

static BOOL uses_ums( const WCHAR *path, const WCHAR *name )
{
    struct image image;
    BOOL ret = FALSE;

    if (!open_image( path, &image ))
    {
        count_imports( &image );
        if (!image.imported) count_lookups( &image );
        ret = image.imported || image.looked_up;
        if (ret) say( L"  %ls %ls %d name%ls of UMS: %hs", name,
                      image.imported ? L"imports" : L"looks up",
                      image.imported + image.looked_up,
                      image.imported + image.looked_up == 1 ? L"" : L"s", image.names );
    }
    free_bytes( &image.bytes );
    return ret;
}

/* Check the DLLs that the program imports and that are in its folder; the host's own do not count. */
static BOOL dlls_use_ums( const WCHAR *path )
{
    WCHAR dll[LONG_PATH + 80];
    IMAGE_IMPORT_DESCRIPTOR descriptor;
    struct image image;
    BOOL ret = FALSE;
    char name[80];
    DWORD i;

    if (!open_image( path, &image ))
        for (i = 0; fetch_descriptor( &image.pe, i, &descriptor ); i++)
        {
            if (!fetch_dll( &image.pe, descriptor.Name, name, sizeof(name) )) continue;
            if (has_ums_dll( name )) continue;          /* kernel32 and the like: in the folder of a
                                                           program of the host */
            folder_of( path, dll );
            swprintf( dll + wcslen( dll ), 80, L"%hs", name );
            if (file_exists( dll ) && uses_ums( dll, wcsrchr( dll, '\\' ) + 1 )) ret = TRUE;
        }
    free_bytes( &image.bytes );
    return ret;
}

int tell_program( const WCHAR *name, const WCHAR *path )
{
    struct image image;
    struct pe_report report;
    const char *error = open_image( path, &image );
    BOOL own, dlls;

    if (!error) error = inject_check_headers( image.bytes.data, image.bytes.size );
    if (!error) pe_look( &image.bytes, NULL, &report );
    free_bytes( &image.bytes );
    if (error) return fail( L"%ls %hs", name, error );
    say( L"%ls: a 64-bit program", shown( path ) );
    own = uses_ums( path, name );
    dlls = dlls_use_ums( path );
    if (report.kind == PE_PROGRAM)
        say( L"It has UMS in its file (umsrun --install): start it without umsrun." );
    else if (own || dlls) say( L"It uses User-Mode Scheduling. Run it with: umsrun \"%ls\"", name );
    else say( L"Neither it nor the DLLs beside it name User-Mode Scheduling: it needs no umsrun, "
              L"unless it loads other DLLs or programs that do." );
    return own || dlls || report.kind == PE_PROGRAM ? 0 : 1;
}

/***********************************************************************
 * missing DLLs
 */
/* Search where the program's loader does; not in the folder of umsrun.exe. */
static BOOL is_there( const WCHAR *beside, const WCHAR *dll )
{
    static WCHAR folders[LONG_PATH + 0x8000] = L".;";
    WCHAR path[LONG_PATH + 80];
    UINT len;

    folder_of( beside, path );
    wcscat( path, dll );
    if (file_exists( path )) return TRUE;
    if (!_wcsnicmp( dll, L"api-", 4 ) || !_wcsnicmp( dll, L"ext-", 4 )) return TRUE;    /* API sets */
    len = GetSystemDirectoryW( path, LONG_PATH );
    wcscat( wcscpy( path + len, L"\\" ), dll );
    if (file_exists( path )) return TRUE;
    GetEnvironmentVariableW( L"PATH", folders + 2, ARRAYSIZE(folders) - 2 );
    return SearchPathW( folders, dll, NULL, LONG_PATH, path, NULL ) != 0;
}

static void add_missing( const WCHAR *program, const WCHAR *path, int depth, WCHAR *names,
                         size_t size )
{
    WCHAR dll[80], next[LONG_PATH + 80];
    IMAGE_IMPORT_DESCRIPTOR descriptor;
    struct image image;
    char name[80];
    DWORD i;

    if (!open_image( path, &image ))
        for (i = 0; fetch_descriptor( &image.pe, i, &descriptor ); i++)
        {
            if (!fetch_dll( &image.pe, descriptor.Name, name, sizeof(name) )) continue;
            swprintf( dll, ARRAYSIZE(dll), L"%hs", name );
            if (!is_there( program, dll ))
            {
                if (wcsstr( names, dll ) || wcslen( names ) + wcslen( dll ) + 3 > size) continue;
                if (names[0]) wcscat( names, L", " );
                wcscat( names, dll );
                continue;
            }
            folder_of( program, next );
            wcscat( next, dll );
            if (depth && file_exists( next ))
                add_missing( program, next, depth - 1, names, size );
        }
    free_bytes( &image.bytes );
}

BOOL missing_dlls( const WCHAR *path, WCHAR *names, size_t size )
{
    names[0] = 0;
    add_missing( path, path, 3, names, size );
    return names[0] != 0;
}
