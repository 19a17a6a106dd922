/*
 * stays: a carried worker that closes a handle of a kind that is known stays on its carrier, and so does one that opens,
 * writes and reads a key. One that closes a file goes home, and so does one that closes a handle of which nobody has seen the
 * kind.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Only the time that it takes shows that to a program. Linux tells it: the worker runs on the thread of
 * its scheduler, or on its own.
 */
#include <windows.h>
#include <winternl.h>
#include <ums.h>

#include "../../samples/spawn.h"
#include "../inject/test.h"
#include "linux.h"

#define LIMIT 20000                             /* ms */

static char key_name[40], below_name[48];       /* of this process, not kept */
static PUMS_COMPLETION_LIST list;
static int64_t scheduler_thread;
static volatile LONG ended;

/* ---- what is made and closed ---- */

static HANDLE make_event( void )     { return CreateEventA( NULL, TRUE, FALSE, NULL ); }
static HANDLE make_semaphore( void ) { return CreateSemaphoreA( NULL, 0, 1, NULL ); }
static HANDLE make_mutex( void )     { return CreateMutexA( NULL, FALSE, NULL ); }
static HANDLE make_timer( void )     { return CreateWaitableTimerA( NULL, TRUE, NULL ); }
static HANDLE make_port( void )      { return CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 0 ); }

static HANDLE make_section( void )
{
    return CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 0x1000, NULL );
}

static HANDLE make_keyed_event( void )
{
    LONG (WINAPI *create)( HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, ULONG ) =
        (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtCreateKeyedEvent" );
    HANDLE handle = NULL;

    return create( &handle, GENERIC_READ | GENERIC_WRITE, NULL, 0 ) ? NULL : handle;
}

static HANDLE make_file( void )
{
    return CreateFileA( "Z:\\dev\\null", GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL );
}

/* Makes it, writes and reads. main has made one already: the first time, advapi32 looks for the root of all. */
static HANDLE make_key( void )
{
    DWORD size = sizeof(DWORD), value = 1, count = 0, length = 64;
    char name[64];
    HKEY key, again;

    if (RegCreateKeyExA( HKEY_CURRENT_USER, below_name, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, NULL ))
        return NULL;
    RegCloseKey( key );
    if (RegOpenKeyExA( HKEY_CURRENT_USER, key_name, 0, KEY_ALL_ACCESS, &key )) return NULL;
    if (RegSetValueExA( key, "value", 0, REG_DWORD, (BYTE *)&value, size ) ||
        RegQueryValueExA( key, "value", NULL, NULL, (BYTE *)&value, &size ) ||
        RegEnumKeyExA( key, 0, name, &length, NULL, NULL, NULL, NULL ) || (length = 64, 0) ||
        RegEnumValueA( key, 0, name, &length, NULL, NULL, NULL, NULL ) ||
        RegQueryInfoKeyA( key, NULL, NULL, NULL, &count, NULL, NULL, NULL, NULL, NULL, NULL, NULL ) || count != 1 ||
        RegDeleteValueA( key, "value" ) || RegOpenKeyExA( key, "below", 0, KEY_READ, &again )) return NULL;
    RegCloseKey( key );
    return again;
}

/* A copy may be of anything. */
static HANDLE make_copy( void )
{
    HANDLE event = make_event(), copy = NULL, self = GetCurrentProcess();

    DuplicateHandle( self, event, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS );
    CloseHandle( event );
    return copy;
}

static struct row
{
    const char *name;
    HANDLE (*make)( void );
    BOOL stays;
    BOOL read;                                  /* stays when it is made and read, too */
    BOOL made, closed, carried_made, carried_before, carried_after;
} rows[] =
{
    { .name = "an event",       .make = make_event,       .stays = TRUE },
    { .name = "a semaphore",    .make = make_semaphore,   .stays = TRUE },
    { .name = "a mutex",        .make = make_mutex,       .stays = TRUE },
    { .name = "a timer",        .make = make_timer,       .stays = TRUE },
    { .name = "a keyed event",  .make = make_keyed_event, .stays = TRUE },
    { .name = "a port",         .make = make_port,        .stays = TRUE },
    { .name = "a section",      .make = make_section,     .stays = TRUE },
    { .name = "a key",          .make = make_key,         .stays = TRUE, .read = TRUE },
    { .name = "a file",         .make = make_file },
    { .name = "a copy",         .make = make_copy },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* ---- the worker ---- */

static BOOL is_carried( void )
{
    return linux_call( LINUX_GETTID, 0, 0, 0, 0 ) == scheduler_thread;
}

static DWORD WINAPI worker( void *unused )
{
    struct row *row;
    HANDLE handle;

    for (row = rows; row < rows + ROWS; row++)
    {
        UmsThreadYield( NULL );
        handle = row->make();
        row->carried_made = is_carried();
        row->made = handle && handle != INVALID_HANDLE_VALUE;
        UmsThreadYield( NULL );                 /* back from wherever that was made */
        row->carried_before = is_carried();
        row->closed = CloseHandle( handle );
        row->carried_after = is_carried();
    }
    ended = 1;
    return unused != NULL;
}

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context = NULL;
    BOOLEAN is_ended = FALSE;

    (void)param;
    if (reason == UmsSchedulerThreadYield)
    {
        ExecuteUmsThread( (PUMS_CONTEXT)payload );
        return;
    }
    if (!DequeueUmsCompletionListItems( list, LIMIT, &context ) || !context) return;
    QueryUmsThreadInformation( context, UmsThreadIsTerminated, &is_ended, sizeof(is_ended), NULL );
    if (!is_ended) ExecuteUmsThread( context );
}

int main( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, scheduler, NULL };
    PUMS_CONTEXT context;
    struct row *row;
    HKEY root;

    scheduler_thread = linux_call( LINUX_GETTID, 0, 0, 0, 0 );
    snprintf( key_name, sizeof(key_name), "Software\\ums_stays_%lu", GetCurrentProcessId() );
    snprintf( below_name, sizeof(below_name), "%s\\below", key_name );
    ok( !RegCreateKeyExA( HKEY_CURRENT_USER, key_name, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &root, NULL ), "no key" );
    RegCloseKey( root );
    RegCloseKey( make_key() );
    ok( CreateUmsCompletionList( &list ), "no list, error %lu", GetLastError() );
    info.CompletionList = list;
    ok( spawn_ums_worker( list, worker, NULL, NULL, &context ) != NULL, "no worker, error %lu", GetLastError() );
    ok( EnterUmsSchedulingMode( &info ), "not entered, error %lu", GetLastError() );
    ok( ended, "the worker did not end" );
    for (row = rows; row < rows + ROWS; row++)
    {
        ok( row->made && row->closed, "%s: made %d, closed %d", row->name, row->made, row->closed );
        ok( row->carried_made || !row->read, "%s: the worker went home to make and read it", row->name );
        ok( row->carried_before, "%s: the worker was not carried before", row->name );
        ok( row->carried_after == row->stays, "%s: after its close the worker is %s", row->name,
            row->carried_after ? "carried" : "at home" );
    }
    RegDeleteKeyA( HKEY_CURRENT_USER, below_name );
    RegDeleteKeyA( HKEY_CURRENT_USER, key_name );
    return test_end();
}
