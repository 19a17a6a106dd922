/*
 * refused SHIM-FOLDER: a process in which the redirection must fail, because no memory is left
 * above kernel32. It runs as if the shim were not there; or it ends with status 2, if the shim is
 * required.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <ums.h>

#include "private/inject.h"
#include "test.h"

#define NOT_REDIRECTED 20

/* the child: statically imported names lead to the host, whatever that has */
static DWORD probe( void )
{
    HMODULE kernel32 = GetModuleHandleW( L"kernel32.dll" ), exe = GetModuleHandleW( NULL );
    PUMS_COMPLETION_LIST list;

    if (!GetModuleHandleW( L"kernel32_ums.dll" )) return 1;
    if (inject_find_block( exe )) return 2;
    if (GetProcAddress( kernel32, "GetUmsSystemThreadInformation" )) return 3;
    if (CreateUmsCompletionList( &list ) || GetLastError() != ERROR_CALL_NOT_IMPLEMENTED) return 4;
    return NOT_REDIRECTED;
}

/* Hosts keep parts of what they call free for themselves: so by halves, down to the first page of
 * each 64 KB. */
static void fill( HANDLE process, BYTE *at, SIZE_T size )
{
    SIZE_T half = (size / 2) & ~(SIZE_T)0xffff;

    if (!half) size = min( size, 0x1000 );
    if (!size || VirtualAllocEx( process, at, size, MEM_RESERVE, PAGE_NOACCESS ) || !half) return;
    fill( process, at, half );
    fill( process, at + half, size - half );
}

/* reserves what is free within an RVA's reach of kernel32, which lies where it lies here */
static void fill_above_kernel32( HANDLE process )
{
    BYTE *base = (BYTE *)GetModuleHandleW( L"kernel32.dll" ), *at, *end;
    const IMAGE_NT_HEADERS *nt = (void *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    MEMORY_BASIC_INFORMATION info;

    at = base + ((nt->OptionalHeader.SizeOfImage + 0xffff) & ~0xffff);
    while (at < base + 0xffff0000 && VirtualQueryEx( process, at, &info, sizeof(info) ))
    {
        end = (BYTE *)info.BaseAddress + info.RegionSize;
        if (end > base + 0x100000000) end = base + 0x100000000;
        if (info.State == MEM_FREE) fill( process, at, end - at );
        at = end;
    }
}

static DWORD run( const WCHAR *dir, DWORD flags )
{
    STARTUPINFOW startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    WCHAR program[MAX_PATH];
    const char *error;
    DWORD code = 0;

    GetModuleFileNameW( NULL, program, MAX_PATH );
    ok( CreateProcessW( program, NULL, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                        &info ),
        "no process: error %lu", GetLastError() );
    error = inject_process( info.hProcess, dir, flags );
    ok( !error, "not injected: %s", error );
    fill_above_kernel32( info.hProcess );
    ResumeThread( info.hThread );
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return code;
}

int main( int argc, char **argv )
{
    WCHAR path[MAX_PATH], dir[MAX_PATH];
    DWORD len, code;

    if (GetModuleHandleW( L"kernel32_ums.dll" )) return probe();
    if (argc < 2) return 1;
    MultiByteToWideChar( CP_ACP, 0, argv[1], -1, path, MAX_PATH );
    len = GetFullPathNameW( path, MAX_PATH - 1, dir, NULL );
    dir[len++] = '\\';
    dir[len] = 0;

    ok( (code = run( dir, 0 )) == NOT_REDIRECTED, "optional shim: status %lu", code );
    ok( (code = run( dir, INJECT_REQUIRED )) == 2, "required shim: status %lu", code );
    return test_end();
}
