/*
 * What the shim leaves of the address space: no page that can be written and executed, and in the
 * host's modules every page as it was. This program runs with the shim and starts itself without
 * (UMS_CHILDREN=0); both look when they start and when the modules of windows have come.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <string.h>

#include "test.h"

#define PAGE      0x1000
#define MAX_PAGES 2048
#define LOOKS     2

static const char *const modules[] = { "ntdll.dll", "kernel32.dll", "kernelbase.dll",
                                       "win32u.dll" };

struct look
{
    DWORD loose;                            /* pages that can be written and executed */
    DWORD pages[ARRAYSIZE(modules)];
    BYTE  protect[ARRAYSIZE(modules)][MAX_PAGES];
};

struct shared
{
    struct look looks[LOOKS];
};

/* Whether a page that may be written has been is no difference. */
static BYTE plain( DWORD protect )
{
    protect &= 0xff;
    if (protect == PAGE_WRITECOPY) return PAGE_READWRITE;
    return protect == PAGE_EXECUTE_WRITECOPY ? PAGE_EXECUTE_READWRITE : (BYTE)protect;
}

static void look_at_all( struct look *look )
{
    MEMORY_BASIC_INFORMATION info;
    BYTE *at = NULL;

    for (; VirtualQuery( at, &info, sizeof(info) ); at += info.RegionSize)
        if (info.State == MEM_COMMIT && plain( info.Protect ) == PAGE_EXECUTE_READWRITE)
            look->loose += info.RegionSize / PAGE;
}

static void look_at_module( struct look *look, int i )
{
    BYTE *base = (BYTE *)GetModuleHandleA( modules[i] ), *at;
    const IMAGE_NT_HEADERS *nt;
    MEMORY_BASIC_INFORMATION info;
    DWORD page;

    if (!base) return;
    nt = (const IMAGE_NT_HEADERS *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    look->pages[i] = min( nt->OptionalHeader.SizeOfImage / PAGE, MAX_PAGES );
    for (page = 0; page < look->pages[i]; page++)
    {
        at = base + page * PAGE;
        if (VirtualQuery( at, &info, sizeof(info) ))
            look->protect[i][page] = plain( info.Protect );
    }
}

static void look( struct look *look )
{
    int i;

    look_at_all( look );
    for (i = 0; i < (int)ARRAYSIZE(modules); i++) look_at_module( look, i );
}

static void look_twice( struct shared *shared )
{
    look( &shared->looks[0] );
    ok( LoadLibraryA( "user32.dll" ) != NULL, "no user32" );
    look( &shared->looks[1] );
}

static void compare( const struct look *with, const struct look *without, int when )
{
    DWORD page;
    int i;

    ok( with->loose == without->loose, "look %d: %lu pages can be written and executed, %lu without",
        when, with->loose, without->loose );
    for (i = 0; i < (int)ARRAYSIZE(modules); i++)
    {
        ok( with->pages[i] == without->pages[i], "look %d: %s has %lu pages, %lu without", when,
            modules[i], with->pages[i], without->pages[i] );
        for (page = 0; page < with->pages[i]; page++)
            ok( with->protect[i][page] == without->protect[i][page],
                "look %d: %s, page %lx: protection %x, %x without", when, modules[i], page,
                with->protect[i][page], without->protect[i][page] );
    }
}

static BOOL run_without( const char *section )
{
    char command[MAX_PATH + 64] = "\"", exe[MAX_PATH];
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    DWORD code = 1;

    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    strcat( strcat( strcat( command, exe ), "\" " ), section );
    SetEnvironmentVariableA( "UMS_ACTIVE", NULL );
    if (!CreateProcessA( NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &info ))
        return FALSE;
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return !code;
}

int main( int argc, char **argv )
{
    static struct shared own;
    struct shared *others;
    char section[64];
    HANDLE mapping;
    int i;

    sprintf( section, "ums-pages-%lu", GetCurrentProcessId() );
    mapping = CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(*others),
                                  argc > 1 ? argv[1] : section );
    others = MapViewOfFile( mapping, FILE_MAP_WRITE, 0, 0, sizeof(*others) );
    if (argc > 1)                           /* the one without */
    {
        if (GetModuleHandleA( "kernel32_ums.dll" )) return 2;
        look_twice( others );
        return 0;
    }
    ok( GetModuleHandleA( "kernel32_ums.dll" ) != NULL, "no shim here" );
    look_twice( &own );
    ok( run_without( section ), "no process without the shim" );
    for (i = 0; i < LOOKS; i++) compare( &own.looks[i], &others->looks[i], i );
    ok( own.looks[0].pages[0] && own.looks[1].pages[3], "no modules" );
    return test_end();
}
