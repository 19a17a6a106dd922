/*
 * DLLs of system32 that a prefix keeps in memory.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where \KnownDlls has a section of that name (Wine 11 makes one for kernel32.dll, of the file that
 * is in system32 as the prefix starts), programs get that and not the file, until the prefix's
 * wineserver has ended. Older Wines have no such section. Who maps a section that is not Wine's own
 * gets Wine's file all the same if the prefix does not say "native": so it is mapped here, as a
 * program that starts would do it, and not asked for its file.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winternl.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

NTSYSAPI NTSTATUS NTAPI NtOpenSection( HANDLE *section, ACCESS_MASK access,
                                       OBJECT_ATTRIBUTES *attributes );

static void *map_known_dll( const WCHAR *name )
{
    WCHAR path[64] = L"\\KnownDlls\\";
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING string;
    HANDLE section;
    void *view;

    RtlInitUnicodeString( &string, wcsncat( path, name, ARRAYSIZE(path) - wcslen( path ) - 1 ) );
    InitializeObjectAttributes( &attributes, &string, OBJ_CASE_INSENSITIVE, NULL, NULL );
    if (NtOpenSection( &section, SECTION_MAP_READ, &attributes ) < 0) return NULL;
    view = MapViewOfFile( section, FILE_MAP_READ, 0, 0, 0 );
    CloseHandle( section );
    return view;
}

/* NULL if there are none in that many bytes */
static const IMAGE_NT_HEADERS64 *nt_headers( const BYTE *image, size_t size )
{
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)image;

    if (size < sizeof(*dos) || dos->e_lfanew < 0 ||
        (size_t)dos->e_lfanew + sizeof(IMAGE_NT_HEADERS64) > size) return NULL;
    return (const IMAGE_NT_HEADERS64 *)(image + dos->e_lfanew);
}

/* A section more, as ours has, changes the first two of these, another version of Wine most of them.
 * The rest of the headers the host may have changed in memory. */
static BOOL same_image( const IMAGE_NT_HEADERS64 *a, const IMAGE_NT_HEADERS64 *b )
{
    return a && b && a->FileHeader.NumberOfSections == b->FileHeader.NumberOfSections &&
           a->OptionalHeader.SizeOfImage == b->OptionalHeader.SizeOfImage &&
           a->FileHeader.TimeDateStamp == b->FileHeader.TimeDateStamp &&
           a->OptionalHeader.SizeOfCode == b->OptionalHeader.SizeOfCode &&
           a->OptionalHeader.AddressOfEntryPoint == b->OptionalHeader.AddressOfEntryPoint;
}

BOOL known_dll_differs( const WCHAR *name, const struct pe_bytes *file )
{
    BYTE *view = map_known_dll( name );
    MEMORY_BASIC_INFORMATION info;
    BOOL ret;

    if (!view) return FALSE;
    ret = VirtualQuery( view, &info, sizeof(info) ) &&
          !same_image( nt_headers( view, info.RegionSize ), nt_headers( file->data, file->size ) );
    UnmapViewOfFile( view );
    return ret;
}
