/*
 * known_dll NAME: does what the start of a prefix does since Wine 11: the file NAME of system32
 * becomes a section in \KnownDlls, which stays until the wineserver ends. Older Wines do not look
 * there; who asks for the section gets it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <winternl.h>
#include <stdio.h>

NTSYSAPI NTSTATUS NTAPI NtCreateDirectoryObject( HANDLE *directory, ACCESS_MASK access,
                                                 OBJECT_ATTRIBUTES *attributes );
NTSYSAPI NTSTATUS NTAPI NtCreateSection( HANDLE *section, ACCESS_MASK access,
                                         OBJECT_ATTRIBUTES *attributes, LARGE_INTEGER *size,
                                         ULONG protect, ULONG kind, HANDLE file );

int main( int argc, char **argv )
{
    WCHAR name[64], path[MAX_PATH];
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING string;
    HANDLE file, root, section;
    NTSTATUS status;

    if (argc != 2 || swprintf( name, ARRAYSIZE(name), L"%hs", argv[1] ) < 0) return 2;
    GetSystemDirectoryW( path, ARRAYSIZE(path) - 70 );
    wcscat( wcscat( path, L"\\" ), name );
    file = CreateFileW( path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0,
                        NULL );
    if (file == INVALID_HANDLE_VALUE)
    {
        printf( "%ls: error %lu\n", path, GetLastError() );
        return 1;
    }
    RtlInitUnicodeString( &string, L"\\KnownDlls" );
    InitializeObjectAttributes( &attributes, &string, OBJ_PERMANENT | OBJ_OPENIF, NULL, NULL );
    if ((status = NtCreateDirectoryObject( &root, GENERIC_ALL, &attributes )) < 0)
    {
        printf( "no directory: %lx\n", status );
        return 1;
    }
    RtlInitUnicodeString( &string, name );
    InitializeObjectAttributes( &attributes, &string, OBJ_PERMANENT | OBJ_OPENIF | OBJ_CASE_INSENSITIVE,
                                root, NULL );
    status = NtCreateSection( &section, STANDARD_RIGHTS_REQUIRED | SECTION_QUERY | SECTION_MAP_READ |
                              SECTION_MAP_EXECUTE, &attributes, NULL, PAGE_EXECUTE_READ, SEC_IMAGE, file );
    printf( status < 0 ? "no section: %lx\n" : "kept in memory\n", status );
    return status < 0;
}
