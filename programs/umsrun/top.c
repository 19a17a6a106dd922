/*
 * umsrun --top: shows what a process counts that was started with UMS_HUD.
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
#include "top.h"

#define EXIT_FAILED 2

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

/* All that publish are named; the id of the only one, or 0. */
static DWORD find_one( void )
{
    HANDLE snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPPROCESS, 0 );
    PROCESSENTRY32W entry = { .dwSize = sizeof(entry) };
    DWORD found = 0, count = 0;
    BOOL more;

    for (more = Process32FirstW( snapshot, &entry ); more; more = Process32NextW( snapshot, &entry ))
    {
        const struct ums_hud *hud = open_hud( entry.th32ProcessID );

        if (!hud) continue;
        UnmapViewOfFile( hud );
        fprintf( stderr, "umsrun: %lu is %ls\n", entry.th32ProcessID, entry.szExeFile );
        found = entry.th32ProcessID;
        count++;
    }
    CloseHandle( snapshot );
    return count == 1 ? found : 0;
}

#define TRIES 100

/* Not for ever: the process may have been stopped, or killed, in the middle of writing. */
static void read_hud( const struct ums_hud *hud, struct ums_hud *copy )
{
    int32_t round;
    int i;

    for (i = 0; i < TRIES; i++)
    {
        round = hud->round;
        MemoryBarrier();
        *copy = *hud;
        MemoryBarrier();
        if (!(round & 1) && hud->round == round) return;
        Sleep( 1 );
    }
}

/* On a console one line is written over and over. */
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
        printf( console ? "\r%s   " : "%s\n", line );
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
    DWORD pid;

    if (argc < 2 || wcscmp( argv[1], L"--top" )) return -1;
    pid = argc > 2 ? wcstoul( argv[2], NULL, 0 ) : find_one();
    if (!pid)
    {
        fprintf( stderr, "umsrun: --top PID: name one process that was started with UMS_HUD=1, or with "
                 "UMS_HUD=quiet\n" );
        return EXIT_FAILED;
    }
    process = OpenProcess( SYNCHRONIZE, FALSE, pid );
    if (!process || !(hud = open_hud( pid )))
    {
        fprintf( stderr, process ? "umsrun: --top %lu: this process counts nothing; start it with UMS_HUD=1, "
                 "or UMS_HUD=quiet to see nothing on its own console\n"
                 : "umsrun: --top %lu: there is no such process\n", pid );
        return EXIT_FAILED;
    }
    return show( hud, process, argc > 3 ? (int)wcstoul( argv[3], NULL, 0 ) : 0 );
}
