/*
 * DLLs of system32 that Wine keeps in memory (known DLLs).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * If \KnownDlls has a section with the name of a DLL, programs get that section instead of the file,
 * until the wineserver of the prefix ends. Wine 11 makes one for kernel32.dll when the prefix starts, from
 * the file in system32; older versions of Wine make none. If the prefix has no override "native", mapping
 * such a section gives Wine's own file in its place. So the section is mapped here, as a starting program
 * does it; its file is not asked for.
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

/* NULL if the headers are not within this size */
static const IMAGE_NT_HEADERS64 *nt_headers( const BYTE *image, size_t size )
{
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)image;

    if (size < sizeof(*dos) || dos->e_lfanew < 0 ||
        (size_t)dos->e_lfanew + sizeof(IMAGE_NT_HEADERS64) > size) return NULL;
    return (const IMAGE_NT_HEADERS64 *)(image + dos->e_lfanew);
}

/* Our file has one section more, which changes the first two fields; another version of Wine changes most
 * of them. Other fields of the headers may have been changed by the host in memory. */
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
