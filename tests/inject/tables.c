/*
 * The export tables in place are whole: sorted, every name found, by name and by ordinal the same;
 * forwarders work; the program's own headers are as they were linked.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "test.h"

static const IMAGE_DATA_DIRECTORY *directories( HMODULE module )
{
    const BYTE *base = (const BYTE *)module;
    const IMAGE_DOS_HEADER *dos = (const void *)base;
    const IMAGE_NT_HEADERS64 *nt = (const void *)(base + dos->e_lfanew);

    return nt->OptionalHeader.DataDirectory;
}

static void check_table( const char *dll )
{
    HMODULE module = GetModuleHandleA( dll );
    const BYTE *base = (const BYTE *)module;
    const IMAGE_EXPORT_DIRECTORY *table;
    const DWORD *names;
    const WORD *ordinals;
    const char *name, *last = "";
    FARPROC proc;
    DWORD i;

    table = (const IMAGE_EXPORT_DIRECTORY *)(base + directories( module )->VirtualAddress);
    names = (const DWORD *)(base + table->AddressOfNames);
    ordinals = (const WORD *)(base + table->AddressOfNameOrdinals);
    ok( table->NumberOfNames > 500, "%s: %lu names only", dll, table->NumberOfNames );
    for (i = 0; i < table->NumberOfNames; i++)
    {
        name = (const char *)base + names[i];
        ok( strcmp( last, name ) < 0, "%s: %s before %s", dll, last, name );
        proc = GetProcAddress( module, name );
        ok( proc != NULL, "%s: %s not found", dll, name );
        ok( proc == GetProcAddress( module, (LPCSTR)(ULONG_PTR)(ordinals[i] + table->Base) ),
            "%s: %s differs by its ordinal", dll, name );
        last = name;
    }
    printf( "%s: %lu names\n", dll, table->NumberOfNames );
}

static void check_headers( void )
{
    HMODULE exe = GetModuleHandleW( NULL );
    const IMAGE_DATA_DIRECTORY *imports = directories( exe ) + IMAGE_DIRECTORY_ENTRY_IMPORT;
    const IMAGE_IMPORT_DESCRIPTOR *first;
    MEMORY_BASIC_INFORMATION info;

    first = (const IMAGE_IMPORT_DESCRIPTOR *)((const BYTE *)exe + imports->VirtualAddress);
    VirtualQuery( first, &info, sizeof(info) );
    ok( info.AllocationBase == exe, "the import table is not the program's own" );
    ok( !strchr( (const char *)exe + first->Name, '\\' ), "the first import is the shim" );
    VirtualQuery( exe, &info, sizeof(info) );
    ok( !(info.Protect & (PAGE_READWRITE | PAGE_EXECUTE_READWRITE)), "headers are writable: %lx",
        info.Protect );
}

int main( void )
{
    void *(WINAPI *heap_alloc)( HANDLE, DWORD, SIZE_T );

    check_table( "kernel32.dll" );
    check_table( "kernelbase.dll" );
    check_table( "ntdll.dll" );
    check_headers();
    heap_alloc = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ), "HeapAlloc" );
    ok( heap_alloc( GetProcessHeap(), 0, 16 ) != NULL, "HeapAlloc, a forwarder, does not work" );
    return test_end();
}
