/*
 * UMS_HUD: a thread that counts twice a second, prints a line and publishes it for umsrun --top.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It only reads: the state words of all contexts, whose memory is never freed, and the counters of
 * Execute that each scheduler keeps for itself while somebody counts. A value that is out of date by
 * a moment does no harm. It is no thread of the program: when all threads of the program have ended,
 * it ends the process, with the exit status of the last one.
 */

#include <windows.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "host/ke_win32.h"
#include "host/thread.h"
#include "hud.h"
#include "private/hud.h"
#include "private/trace.h"

#define INTERVAL 5000000                        /* 500 ms */
#define THREAD_AM_I_LAST_THREAD 12              /* THREADINFOCLASS [sdk] */

int __cdecl _snprintf( char *, size_t, const char *, ... );

static struct ums_hud *hud;
static int print;
static _Atomic uint32_t last_status;            /* exit status of the thread that ended last */

/* UMS_HUD=1 prints and publishes; UMS_HUD=quiet only publishes. */
int ums_hud_wanted( void )
{
    uint32_t wanted = ums_setting( SETTING_HUD );

    print = wanted == 1;
    return wanted != 0;
}

/* On a console each line overwrites the one before; elsewhere lines follow each other. */
static void print_line( const char *end )
{
    HANDLE out = GetStdHandle( STD_ERROR_HANDLE );
    char line[HUD_LINE + 16];
    DWORD done, mode;
    int len, console;

    if (!print) return;
    console = GetConsoleMode( out, &mode );
    len = hud_line( line + 1, _snprintf, hud ) + 1;
    line[0] = '\r';
    while (console && len <= HUD_WIDTH) line[len++] = ' ';
    lstrcpyA( line + len, console ? end : "\n" );
    WriteFile( out, line + !console, lstrlenA( line + !console ), &done, NULL );
}

/* A reader that reads during this finds that round is odd or has changed, and reads again. */
static void publish( const struct ums_census *now, int64_t passed )
{
    uint64_t more = now->executed - hud->now.executed;

    InterlockedIncrement( (volatile LONG *)&hud->round );
    hud->per_second = passed > 0 ? (uint32_t)(more * 10000000 / (uint64_t)passed) : 0;
    hud->now = *now;
    InterlockedIncrement( (volatile LONG *)&hud->round );
}

/* If only this thread and the warden are left, this also ends the warden. */
static int is_last_thread( void )
{
    ULONG last = 0;

    return !NtQueryInformationThread( GetCurrentThread(), THREAD_AM_I_LAST_THREAD, &last,
                                      sizeof(last), NULL ) && last;
}

static void hud_thread( void *arg )
{
    int64_t before = ke_clock(), now, sleep = INTERVAL;
    struct ums_census census;
    _Atomic uint32_t word = 0;

    (void)arg;
    while (!is_last_thread())
    {
        ke_wait( &word, 0, &sleep );
        ums_take_census( &census );
        now = ke_clock();
        publish( &census, now - before );
        before = now;
        print_line( "" );
    }
    hud->ended = 1;
    print_line( "\n" );
    ExitProcess( atomic_load( &last_status ) );
}

void ums_hud_begin( void )
{
    HANDLE section, thread;
    char name[64];

    _snprintf( name, sizeof(name), HUD_NAME, GetCurrentProcessId() );
    section = CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(*hud), name );
    hud = section ? MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, sizeof(*hud) ) : NULL;
    if (!hud)
    {
        ums_warn( "UMS_HUD: the section %s cannot be created (error %lu); nothing is counted", name,
                  GetLastError() );
        return;
    }
    hud->magic = HUD_MAGIC;
    if (ums_thread_create( THREAD_SERVICE, hud_thread, NULL, 0, 0, 0, &thread ))
        ums_warn( "UMS_HUD: its thread cannot be created; nothing is counted" );
    else CloseHandle( thread );
}

/* Threads of ours end, too, and maybe behind the program's last one: the timer, the manager of factories. */
void ums_hud_thread_ends( uint32_t status, int is_known )
{
    if (hud && (is_known || !ums_thread_begins_here())) atomic_store( &last_status, status );
}
