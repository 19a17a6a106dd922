/*
 * Scenarios: events of this process as the event of an I/O request, which is signalled when the request is
 * completed.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ReadFile, ReadFileScatter, WriteFile, WriteFileGather, LockFileEx and ReadDirectoryChangesW set the event of
 * their OVERLAPPED to the signalled state on completion [doc: each of them, OVERLAPPED], at once or later, and
 * RegNotifyChangeKeyValue sets its event when the key has changed [doc]. A worker and a plain thread wait
 * for it before the request is made. Nobody else sets it.
 */
#define _WIN32_WINNT 0x0602
#include "object_kit.h"

#define PAGE 4096                               /* at least a sector, and the size of a page [doc] */

static WCHAR path[MAX_PATH];                    /* of a file or a folder of the test's own */
static HANDLE file;
static OVERLAPPED request;

/* ---- the requests. FALSE: it was refused ---- */

/* TRUE also if it is still under way. */
static BOOL was_taken( BOOL done )
{
    return ok( done || GetLastError() == ERROR_IO_PENDING, "refused, error %lu\n", GetLastError() );
}

static BOOL open_file( DWORD flags )
{
    WCHAR folder[MAX_PATH];

    GetTempPathW( ARRAYSIZE(folder), folder );
    GetTempFileNameW( folder, L"ums", 0, path );
    file = CreateFileW( path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                        FILE_FLAG_OVERLAPPED | FILE_FLAG_DELETE_ON_CLOSE | flags, NULL );
    return ok( file != INVALID_HANDLE_VALUE, "no file, error %lu\n", GetLastError() );
}

/* Two pages and the end. */
static FILE_SEGMENT_ELEMENT *make_segments( void )
{
    static FILE_SEGMENT_ELEMENT segments[3];
    char *memory = VirtualAlloc( NULL, 2 * PAGE, MEM_COMMIT, PAGE_READWRITE );
    int i;

    for (i = 0; i < 2; i++) segments[i].Buffer = memory + i * PAGE;
    return segments;
}

/* What is in the file before the request, which has an event of its own. */
static void fill_file( void )
{
    OVERLAPPED overlapped = { .hEvent = CreateEventW( NULL, TRUE, FALSE, NULL ) };
    char *page = VirtualAlloc( NULL, 2 * PAGE, MEM_COMMIT, PAGE_READWRITE );
    DWORD size = 0;

    was_taken( WriteFile( file, page, 2 * PAGE, NULL, &overlapped ) );
    ok( GetOverlappedResult( file, &overlapped, &size, TRUE ) && size == 2 * PAGE, "%lu bytes\n", size );
    CloseHandle( overlapped.hEvent );
}

static BOOL by_read( void )
{
    static char data[64];

    if (!open_file( 0 )) return FALSE;
    fill_file();
    return was_taken( ReadFile( file, data, sizeof(data), NULL, &request ) );
}

static BOOL by_scatter( void )
{
    if (!open_file( FILE_FLAG_NO_BUFFERING )) return FALSE;
    fill_file();
    return was_taken( ReadFileScatter( file, make_segments(), 2 * PAGE, NULL, &request ) );
}

static BOOL by_write( void )
{
    return open_file( 0 ) && was_taken( WriteFile( file, "data", 4, NULL, &request ) );
}

static BOOL by_gather( void )
{
    return open_file( FILE_FLAG_NO_BUFFERING ) &&
           was_taken( WriteFileGather( file, make_segments(), 2 * PAGE, NULL, &request ) );
}

static BOOL by_lock( void )
{
    return open_file( 0 ) && was_taken( LockFileEx( file, LOCKFILE_EXCLUSIVE_LOCK, 0, 16, 0, &request ) );
}

static void change_folder( void )
{
    WCHAR name[MAX_PATH + 8];
    HANDLE made;

    swprintf( name, ARRAYSIZE(name), L"%ls\\made", path );
    made = CreateFileW( name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, NULL );
    ok( made != INVALID_HANDLE_VALUE, "nothing made, error %lu\n", GetLastError() );
    CloseHandle( made );
}

static BOOL by_folder( void )
{
    static DWORD changes[256];
    WCHAR folder[MAX_PATH];

    GetTempPathW( ARRAYSIZE(folder), folder );
    swprintf( path, ARRAYSIZE(path), L"%lsumstest-%lu", folder, GetCurrentProcessId() );
    ok( CreateDirectoryW( path, NULL ), "no folder, error %lu\n", GetLastError() );
    file = CreateFileW( path, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, NULL );
    if (!was_taken( ReadDirectoryChangesW( file, changes, sizeof(changes), FALSE, FILE_NOTIFY_CHANGE_FILE_NAME,
                                           NULL, &request, NULL ) )) return FALSE;
    change_folder();
    return TRUE;
}

static void remove_folder( void )
{
    RemoveDirectoryW( path );
}

static HKEY key;
static LONG (WINAPI *pRegDeleteKeyW)( HKEY, const WCHAR * );
static LONG (WINAPI *pRegCloseKey)( HKEY );

static BOOL by_key( void )
{
    HMODULE advapi = LoadLibraryW( L"advapi32.dll" );
    __typeof__( RegCreateKeyExW ) *create = (void *)GetProcAddress( advapi, "RegCreateKeyExW" );
    __typeof__( RegSetValueExW ) *set = (void *)GetProcAddress( advapi, "RegSetValueExW" );
    __typeof__( RegNotifyChangeKeyValue ) *notify = (void *)GetProcAddress( advapi, "RegNotifyChangeKeyValue" );
    LONG error;

    pRegDeleteKeyW = (void *)GetProcAddress( advapi, "RegDeleteKeyW" );
    pRegCloseKey = (void *)GetProcAddress( advapi, "RegCloseKey" );
    swprintf( path, ARRAYSIZE(path), L"Software\\umstest-%lu", GetCurrentProcessId() );
    error = create( HKEY_CURRENT_USER, path, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, NULL );
    ok( !error, "no key, error %ld\n", error );
    error = notify( key, FALSE, REG_NOTIFY_CHANGE_LAST_SET, subject, TRUE );
    if (!ok( !error, "refused, error %ld\n", error )) return FALSE;
    return ok( !set( key, L"value", 0, REG_SZ, (const BYTE *)L"x", 4 ), "nothing changed\n" );
}

static void remove_key( void )
{
    pRegCloseKey( key );
    pRegDeleteKeyW( HKEY_CURRENT_USER, path );
}

static void run( BOOL (*make_request)( void ), void (*clean_up)( void ) )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    subject = request.hEvent = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, wait_once_body, NULL );
    kit_start();
    thread = start_thread( wait_once_thread, NULL );
    ok( kit_wait_value( &waiting, 2 ), "they do not wait\n" );
    ok( kit_leaves( &worker->blocks, 0 ), "nobody was told\n" );
    if (make_request()) ok( kit_wait_value( &woken, 2 ), "%ld of 2 were released\n", woken );
    ok( !WaitForSingleObject( subject, 0 ), "it is not signalled\n" );
    SetEvent( subject );
    join( thread );
    kit_finish();
    if (file) CloseHandle( file );
    if (clean_up) clean_up();
    CloseHandle( subject );
    kit_check();
}

START_TEST( scenario_object_of_read ) { run( by_read, NULL ); }
START_TEST( scenario_object_of_scatter ) { run( by_scatter, NULL ); }
START_TEST( scenario_object_of_write ) { run( by_write, NULL ); }
START_TEST( scenario_object_of_gather ) { run( by_gather, NULL ); }
START_TEST( scenario_object_of_lock ) { run( by_lock, NULL ); }
START_TEST( scenario_object_of_folder ) { run( by_folder, remove_folder ); }
START_TEST( scenario_object_of_key ) { run( by_key, remove_key ); }
