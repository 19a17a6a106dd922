/*
 * detours FOLDER PROGRAM [WORD]: starts the program with ntdll_ums.dll and kernel32_ums.dll of that
 * folder under it, as Detours' DetourCreateProcessWithDlls does: the process is made suspended, and
 * gets an import table with the DLLs in front, each with one import, of ordinal 1. Nothing else is
 * told to it. Ends with the program's status.
 *
 * With "-" in place of the folder the table gets no DLLs in front, and is only put elsewhere: what is left of another
 * injector's table, when a launcher that uses Detours puts its own DLL behind.
 *
 * The layout is what Detours documents: "the DLL must export a function with ordinal #1".
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <winternl.h>
#include <stdio.h>
#include <string.h>

#define DLLS     2
#define MAX_OLD  64
#define ORDINAL1 (IMAGE_ORDINAL_FLAG64 | 1)

static const char *const files[DLLS] = { "ntdll_ums.dll", "kernel32_ums.dll" };

/* what is written above the image */
struct table
{
    IMAGE_IMPORT_DESCRIPTOR descriptors[DLLS + MAX_OLD + 1];
    ULONG64                 names[DLLS][2];
    ULONG64                 slots[DLLS][2];
    char                    paths[DLLS][MAX_PATH];
};

struct target
{
    HANDLE             process;
    BYTE              *base;
    IMAGE_DOS_HEADER   dos;
    IMAGE_NT_HEADERS64 nt;
};

static int failed( const char *what )
{
    printf( "%s: error %lu\n", what, GetLastError() );
    return 1;
}

static BOOL load( const struct target *target, const void *from, void *to, SIZE_T size )
{
    SIZE_T done;

    return ReadProcessMemory( target->process, from, to, size, &done ) && done == size;
}

static BOOL look( struct target *target )
{
    PROCESS_BASIC_INFORMATION info;
    PEB peb;

    if (NtQueryInformationProcess( target->process, ProcessBasicInformation, &info, sizeof(info),
                                   NULL )
        || !load( target, info.PebBaseAddress, &peb, sizeof(peb) ))
        return FALSE;
    target->base = peb.Reserved3[1];            /* ImageBaseAddress */
    return load( target, target->base, &target->dos, sizeof(target->dos) )
           && load( target, target->base + target->dos.e_lfanew, &target->nt, sizeof(target->nt) );
}

/* within 4 GB above the image: an RVA has 32 bits */
static BYTE *alloc_above( const struct target *target )
{
    BYTE *at = target->base + ((target->nt.OptionalHeader.SizeOfImage + 0xffff) & ~0xffffu), *ret;
    int i;

    for (i = 0; i < 0x4000; i++, at += 0x10000)
        if ((ret = VirtualAllocEx( target->process, at, sizeof(struct table),
                                   MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE )))
            return ret;
    return NULL;
}

static DWORD rva( const struct target *target, const BYTE *place, size_t offset )
{
    return (DWORD)(place + offset - target->base);
}

static int fill( const struct target *target, const BYTE *place, const char *folder,
                 struct table *table )
{
    const IMAGE_DATA_DIRECTORY *old =
        &target->nt.OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
    const int dlls = strcmp( folder, "-" ) ? DLLS : 0;
    int i;

    for (i = 0; i < dlls; i++)
    {
        snprintf( table->paths[i], MAX_PATH, "%s\\%s", folder, files[i] );
        table->names[i][0] = table->slots[i][0] = ORDINAL1;
        table->descriptors[i].OriginalFirstThunk = rva( target, place,
                                                        offsetof( struct table, names[i] ) );
        table->descriptors[i].FirstThunk = rva( target, place, offsetof( struct table, slots[i] ) );
        table->descriptors[i].Name = rva( target, place, offsetof( struct table, paths[i] ) );
    }
    for (i = 0; i < MAX_OLD; i++)
    {
        if (!load( target, target->base + old->VirtualAddress + i * sizeof(table->descriptors[0]),
                   &table->descriptors[dlls + i], sizeof(table->descriptors[0]) ))
            return 0;
        if (!table->descriptors[dlls + i].Name) return dlls + i + 1;
    }
    return 0;
}

static BOOL inject( struct target *target, const char *folder )
{
    static struct table table;
    IMAGE_DATA_DIRECTORY *entry = (IMAGE_DATA_DIRECTORY *)
        (target->base + target->dos.e_lfanew
         + offsetof( IMAGE_NT_HEADERS64, OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT] ));
    IMAGE_DATA_DIRECTORY imports;
    BYTE *place = alloc_above( target );
    DWORD old;
    int count;

    if (!place || !(count = fill( target, place, folder, &table ))) return FALSE;
    imports.VirtualAddress = rva( target, place, 0 );
    imports.Size = count * sizeof(table.descriptors[0]);
    return WriteProcessMemory( target->process, place, &table, sizeof(table), NULL )
           && VirtualProtectEx( target->process, entry, sizeof(*entry), PAGE_READWRITE, &old )
           && WriteProcessMemory( target->process, entry, &imports, sizeof(imports), NULL )
           && VirtualProtectEx( target->process, entry, sizeof(*entry), old, &old );
}

/* A Unix path, as CTest writes it, is Z:\\... to Windows. */
static const char *dos_path( const char *path, char *buffer )
{
    WCHAR *(CDECL *dos_name)( const char * ) = (void *)GetProcAddress(
        GetModuleHandleW( L"kernel32.dll" ), "wine_get_dos_file_name" );

    if (path[0] != '/' || !dos_name) return path;
    snprintf( buffer, MAX_PATH, "%ls", dos_name( path ) );
    return buffer;
}

int main( int argc, char **argv )
{
    char folder[MAX_PATH], program[MAX_PATH], line[2 * MAX_PATH];
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    struct target target = { 0 };
    DWORD code = 1;

    if (argc < 3) return 1;
    snprintf( line, sizeof(line), "\"%s\" %s", dos_path( argv[2], program ),
              argc > 3 ? argv[3] : "" );
    if (!CreateProcessA( NULL, line, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                         &info ))
        return failed( line );
    target.process = info.hProcess;
    if (look( &target ) && inject( &target, dos_path( argv[1], folder ) ))
        ResumeThread( info.hThread );
    else
    {
        failed( "the import table" );
        TerminateProcess( info.hProcess, 1 );
    }
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    return (int)code;
}
