/*
 * umsrun --top PID: shows the counters of a process that was started with UMS_HUD. Without PID it lists
 * the processes that have UMS.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <tlhelp32.h>
#include <stdio.h>
#include <wchar.h>

#include "private/hud.h"
#include "umsrun.h"

#define TRIES 100

static const struct ums_hud *open_hud( DWORD pid )
{
    const struct ums_hud *hud = NULL;
    HANDLE section;
    char name[64];

    snprintf( name, sizeof(name), HUD_NAME, pid );
    if (!(section = OpenFileMappingA( FILE_MAP_READ, FALSE, name ))) return NULL;
    hud = MapViewOfFile( section, FILE_MAP_READ, 0, 0, sizeof(*hud) );
    CloseHandle( section );
    return hud && hud->magic == HUD_MAGIC ? hud : NULL;
}

/* The number of tries is limited: the process may have been stopped or killed while it was writing. */
static void read_hud( const struct ums_hud *hud, struct ums_hud *copy )
{
    int i;

    for (i = 0; i < TRIES && !hud_read( hud, copy ); i++) Sleep( 1 );
}

/***********************************************************************
 * which processes
 */
static BOOL has_shim( DWORD pid )
{
    HANDLE snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPMODULE, pid );
    MODULEENTRY32W entry = { .dwSize = sizeof(entry) };
    BOOL more, found = FALSE;

    if (snapshot == INVALID_HANDLE_VALUE) return FALSE;
    for (more = Module32FirstW( snapshot, &entry ); more && !found;
         more = Module32NextW( snapshot, &entry ))
        found = !lstrcmpiW( entry.szModule, L"ntdll_ums.dll" );
    CloseHandle( snapshot );
    return found;
}

static BOOL list_one( const PROCESSENTRY32W *entry )
{
    const struct ums_hud *hud = open_hud( entry->th32ProcessID );
    struct ums_hud copy;
    char line[HUD_LINE];

    if (hud)
    {
        read_hud( hud, &copy );
        UnmapViewOfFile( hud );
        hud_line( line, snprintf, &copy );
        say( L"%6lu  %ls  %hs", entry->th32ProcessID, entry->szExeFile, line );
        return TRUE;
    }
    if (entry->th32ProcessID == GetCurrentProcessId() || !has_shim( entry->th32ProcessID ))
        return FALSE;
    say( L"%6lu  %ls  has UMS; no counters, it was started without UMS_HUD=quiet",
         entry->th32ProcessID, entry->szExeFile );
    return TRUE;
}

static int list( void )
{
    HANDLE snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPPROCESS, 0 );
    PROCESSENTRY32W entry = { .dwSize = sizeof(entry) };
    DWORD count = 0;
    BOOL more;

    for (more = Process32FirstW( snapshot, &entry ); more; more = Process32NextW( snapshot, &entry ))
        count += list_one( &entry );
    CloseHandle( snapshot );
    if (!count)
    {
        WCHAR prefix[LONG_PATH];

        prefix_folder( prefix );
        say( L"no program with UMS runs in %ls", prefix );
    }
    return count ? 0 : 1;
}

/***********************************************************************
 * one process
 */

/* On a console each line overwrites the one before. */
static int show( const struct ums_hud *hud, HANDLE process, int lines )
{
    struct ums_hud copy;
    char line[HUD_LINE];
    DWORD mode;
    BOOL console = GetConsoleMode( GetStdHandle( STD_OUTPUT_HANDLE ), &mode );

    do
    {
        read_hud( hud, &copy );
        hud_line( line, snprintf, &copy );
        if (console) printf( "\r%-*s", HUD_WIDTH, line );
        else printf( "%s\n", line );
        fflush( stdout );
    }
    while ((!lines || --lines) && WaitForSingleObject( process, 1000 ) == WAIT_TIMEOUT);
    if (console) printf( "\n" );
    return 0;
}

int top_command( int argc, WCHAR **argv )
{
    const struct ums_hud *hud;
    HANDLE process;
    WCHAR *end;
    DWORD pid;

    if (argc < 3) return list();
    pid = wcstoul( argv[2], &end, 0 );
    if (!pid || *end)
        return wrong_usage( L"--top %ls: this is not a process id; umsrun --top lists the ids", argv[2] );
    if (!(process = OpenProcess( SYNCHRONIZE, FALSE, pid )))
        return fail( L"--top %lu: there is no such process", pid );
    if (!(hud = open_hud( pid )))
        return fail( L"--top %lu: this process has no counters; start it with UMS_HUD=1, or with "
                     L"UMS_HUD=quiet to see nothing on its own console", pid );
    return show( hud, process, argc > 3 ? (int)wcstoul( argv[3], NULL, 0 ) : 0 );
}
