/*
 * scattered SHIM-FOLDER: a process whose import table lies scattered: each array of slots, each name of a DLL
 * and each name of a function on a page of its own, more pages than the injection keeps. It gets the
 * table that it gets otherwise, and runs.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <ums.h>
#include <string.h>

#include "private/inject.h"
#include "test.h"

#define PAGE      0x1000
#define MAX_PAGES 400

static BYTE *base;                      /* of this program; not relocated: the child's too */
static BYTE  copy[MAX_PAGES][PAGE];
static DWORD pages, first_rva;

/* the child */
static DWORD probe( void )
{
    PUMS_COMPLETION_LIST list;

    if (!CreateUmsCompletionList( &list )) return 2;
    return DeleteUmsCompletionList( list ) ? 20 : 3;
}

/* SIZE bytes of this program, on the next page */
static DWORD move( const void *from, SIZE_T size )
{
    if (pages == MAX_PAGES) return 0;
    memcpy( copy[pages], from, size );
    return first_rva + pages++ * PAGE;
}

/* copies the table; the slots, which the loader fills, stay where the code looks for them */
static DWORD scatter( const IMAGE_IMPORT_DESCRIPTOR *from )
{
    DWORD table = move( from, 0 ), i, functions;
    IMAGE_IMPORT_DESCRIPTOR *to = (IMAGE_IMPORT_DESCRIPTOR *)copy[0];
    ULONG64 *slots;

    for (; from->Name; from++, to++)
    {
        *to = *from;
        to->Name = move( base + from->Name, strlen( (char *)base + from->Name ) + 1 );
        slots = (ULONG64 *)(base + from->OriginalFirstThunk);
        for (functions = 0; slots[functions]; functions++);
        to->OriginalFirstThunk = move( slots, (functions + 1) * sizeof(*slots) );
        slots = (ULONG64 *)copy[pages - 1];
        for (i = 0; i < functions; i++)
            if (!IMAGE_SNAP_BY_ORDINAL64( slots[i] ))
                slots[i] = move( base + slots[i], 2 + strlen( (char *)base + slots[i] + 2 ) + 1 );
    }
    return table;
}

static void make( HANDLE process, IMAGE_DATA_DIRECTORY *imports )
{
    IMAGE_DATA_DIRECTORY entry = *imports;
    DWORD old;

    entry.VirtualAddress = scatter( (IMAGE_IMPORT_DESCRIPTOR *)(base + imports->VirtualAddress) );
    ok( pages > 20 && pages < MAX_PAGES, "%lu pages", pages );
    ok( VirtualAllocEx( process, base + first_rva, pages * PAGE, MEM_RESERVE | MEM_COMMIT,
                        PAGE_READWRITE ) &&
            WriteProcessMemory( process, base + first_rva, copy, pages * PAGE, NULL ) &&
            VirtualProtectEx( process, imports, sizeof(*imports), PAGE_READWRITE, &old ) &&
            WriteProcessMemory( process, imports, &entry, sizeof(entry), NULL ) &&
            VirtualProtectEx( process, imports, sizeof(*imports), old, &old ),
        "error %lu", GetLastError() );
}

/* Size of the import table of this program as a new process has it with the shim; ours has some more
 * descriptors, for the names that the shim has. The process runs if its table was scattered. */
static DWORD run( const WCHAR *dir, BOOL scattered )
{
    const IMAGE_NT_HEADERS64 *nt = (const void *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    IMAGE_DATA_DIRECTORY *imports = (IMAGE_DATA_DIRECTORY *)nt->OptionalHeader.DataDirectory +
                                    IMAGE_DIRECTORY_ENTRY_IMPORT;
    STARTUPINFOW startup = { .cb = sizeof(startup) };
    IMAGE_DATA_DIRECTORY entry = { 0, 0 };
    WCHAR program[MAX_PATH];
    PROCESS_INFORMATION info;
    const char *error;
    DWORD code = 0;

    first_rva = (nt->OptionalHeader.SizeOfImage + 0xffff) & ~0xffff;
    GetModuleFileNameW( NULL, program, MAX_PATH );
    if (!CreateProcessW( program, NULL, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                         &info ))
    {
        ok( FALSE, "no process: error %lu", GetLastError() );
        return 0;
    }
    if (scattered) make( info.hProcess, imports );
    error = inject_process( info.hProcess, dir, INJECT_REQUIRED );
    ok( !error, "not injected: %s", error );
    ok( ReadProcessMemory( info.hProcess, imports, &entry, sizeof(entry), NULL ), "error %lu",
        GetLastError() );
    if (!scattered) TerminateProcess( info.hProcess, 0 );
    ResumeThread( info.hThread );
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    ok( !scattered || code == 20, "status %lu", code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return entry.Size;
}

int main( int argc, char **argv )
{
    WCHAR path[MAX_PATH], dir[MAX_PATH];
    DWORD len, usual, scattered;

    base = (BYTE *)GetModuleHandleW( NULL );
    if (GetModuleHandleW( L"kernel32_ums.dll" )) return probe();
    if (argc < 2) return 1;
    MultiByteToWideChar( CP_ACP, 0, argv[1], -1, path, MAX_PATH );
    len = GetFullPathNameW( path, MAX_PATH - 1, dir, NULL );
    dir[len++] = '\\';
    dir[len] = 0;

    usual = run( dir, FALSE );
    scattered = run( dir, TRUE );
    ok( usual > 4 * sizeof(IMAGE_IMPORT_DESCRIPTOR), "the usual table has %lu bytes", usual );
    ok( scattered == usual, "table of %lu bytes, usually %lu", scattered, usual );
    return test_end();
}
