/*
 * Handles of worker factories (worker_factory.md 1.2, 2.7, 4.3).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

#define JUNK ((void *)0x12345678)
#define REUSES 2000                     /* handles to be made until a value comes back */

/* 1.2 the type */
START_TEST( factory_handle_type )
{
    static struct factory factory;
    BYTE buffer[512];
    PUBLIC_OBJECT_TYPE_INFORMATION *info = (void *)buffer;

    if (!factory_open( &factory )) return;
    memset( buffer, 0, sizeof(buffer) );
    STATUS_IS( "1.2", factory_query_object( factory.handle, ObjectTypeInformation, buffer,
                                            sizeof(buffer) ), STATUS_SUCCESS );
    ok( info->TypeName.Length == 15 * sizeof(WCHAR) && info->TypeName.Buffer &&
            !wcsncmp( info->TypeName.Buffer, L"TpWorkerFactory", 15 ), "1.2 type %.*ls\n",
        info->TypeName.Length / 2, info->TypeName.Buffer );

    /* and no other object's */
    memset( buffer, 0, sizeof(buffer) );
    STATUS_IS( "1.2", factory_query_object( factory.gate, ObjectTypeInformation, buffer,
                                            sizeof(buffer) ), STATUS_SUCCESS );
    ok( info->TypeName.Length == 5 * sizeof(WCHAR) &&
            !wcsncmp( info->TypeName.Buffer, L"Event", 5 ), "1.2 an event's type %.*ls\n",
        info->TypeName.Length / 2, info->TypeName.Buffer );
    factory_close( &factory );
}

/* 1.2, 2.7 nobody can wait for it */
START_TEST( factory_handle_wait )
{
    HANDLE port, handle = NULL, copy, both[2];
    DWORD ret, error;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    STATUS_IS( "1.2", pNtCreateWorkerFactory( &handle, 0x001f003f, NULL, port, GetCurrentProcess(),
                                              JUNK, NULL, 1, 0, 0 ), STATUS_SUCCESS );
    CALL( ret, error, WaitForSingleObject( handle, 0 ) );
    unverified ok( ret == WAIT_FAILED && error == ERROR_ACCESS_DENIED, "2.7 wait: %lu, error %lu\n",
                   ret, error );
    both[0] = port;
    both[1] = handle;
    CALL( ret, error, WaitForMultipleObjects( 2, both, FALSE, 0 ) );
    unverified ok( ret == WAIT_FAILED && error == ERROR_ACCESS_DENIED, "2.7 wait: %lu, error %lu\n",
                   ret, error );

    copy = NULL;
    if (DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy,
                         SYNCHRONIZE | 0x8, FALSE, 0 ))
    {
        CALL( ret, error, WaitForSingleObject( copy, 0 ) );
        unverified ok( ret == WAIT_FAILED && error == ERROR_ACCESS_DENIED,
                       "1.2 a wait with a duplicate: %lu, error %lu\n", ret, error );
        CloseHandle( copy );
    }
    CloseHandle( handle );
    CloseHandle( port );
}

/* It is no object of another type, whatever it is made of. */
START_TEST( factory_handle_other_calls )
{
    static struct factory factory;
    DWORD error;
    BOOL ret;

    if (!factory_open( &factory )) return;
    CALL( ret, error, SetEvent( factory.handle ) );
    unverified ok( !ret && error == ERROR_INVALID_HANDLE, "SetEvent: %d, error %lu\n", ret, error );
    CALL( ret, error, ReleaseSemaphore( factory.handle, 1, NULL ) );
    unverified ok( !ret && error == ERROR_INVALID_HANDLE, "ReleaseSemaphore: %d, error %lu\n", ret,
                   error );
    CALL( ret, error, PostQueuedCompletionStatus( factory.handle, 1, 2, NULL ) );
    unverified ok( !ret && error == ERROR_INVALID_HANDLE, "PostQueuedCompletionStatus: %d, "
                   "error %lu\n", ret, error );
    CALL( ret, error, MapViewOfFile( factory.handle, FILE_MAP_READ, 0, 0, 0 ) != NULL );
    unverified ok( !ret && error == ERROR_INVALID_HANDLE, "MapViewOfFile: %d, error %lu\n", ret,
                   error );
    ok( factory_stays( &factory.started, 0 ), "a worker came of it\n" );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, 1 ), "2.5 it does not work any more\n" );
    factory_close( &factory );
}

/* How many handles the object has. */
static ULONG handle_count( HANDLE handle )
{
    PUBLIC_OBJECT_BASIC_INFORMATION info;

    memset( &info, 0xff, sizeof(info) );
    factory_query_object( handle, ObjectBasicInformation, &info, sizeof(info) );
    return info.HandleCount;
}

/* 4.3 duplicates are the same factory, with other rights */
START_TEST( factory_handle_duplicate )
{
    static struct factory factory;
    static const ACCESS_MASK rights[] = { 0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x3f, 0xf003f };
    HANDLE copy, again;
    size_t i;

    if (!factory_open( &factory )) return;
    for (i = 0; i < ARRAYSIZE(rights); i++)
    {
        copy = factory_duplicate( factory.handle, rights[i] );
        ok( factory_access( copy ) == rights[i], "1.2 granted %lx, asked for %lx\n",
            factory_access( copy ), rights[i] );
        if (rights[i] & 0x8)
            ok( factory_query( copy ).StartParameter == &factory, "4.3 another factory\n" );
        CloseHandle( copy );
    }
    ok( handle_count( factory.handle ) == 1, "4.3 %lu handles, expected 1\n",
        handle_count( factory.handle ) );
    copy = factory_duplicate( factory.handle, 0x9 );
    again = factory_duplicate( copy, 0x1 );
    ok( handle_count( factory.handle ) == 3, "4.3 %lu handles, expected 3\n",
        handle_count( factory.handle ) );
    STATUS_IS( "4.3", pNtReleaseWorkerFactoryWorker( again ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, 1 ), "4.3 no packet through a duplicate's duplicate\n" );
    CloseHandle( again );
    CloseHandle( copy );
    factory_close( &factory );
}

/* 4.4 moved: the old value is dead, or is the new one with the new rights */
START_TEST( factory_handle_moved )
{
    static struct factory factory;
    HANDLE copy = NULL, moved = NULL;
    ULONG value = 9;

    if (!factory_open( &factory )) return;
    copy = factory_duplicate( factory.handle, 0xc );
    STATUS_IS( "1.2", factory_set( copy, WorkerFactoryThreadMaximum, value ), STATUS_SUCCESS );
    ok( DuplicateHandle( GetCurrentProcess(), copy, GetCurrentProcess(), &moved, 0x8, FALSE,
                         DUPLICATE_CLOSE_SOURCE ), "not moved, error %lu\n", GetLastError() );
    STATUS_IS( "4.4", factory_set( moved, WorkerFactoryThreadMaximum, value ),
               STATUS_ACCESS_DENIED );
    ok( factory_query( moved ).ThreadMaximum == 9, "4.4 another factory\n" );
    if (moved != copy) STATUS_IS( "4.4", factory_set( copy, WorkerFactoryThreadMaximum, value ),
                                  STATUS_INVALID_HANDLE );
    CloseHandle( moved );
    factory_close( &factory );
}

/* Make things until one has the value; the others are closed. NULL if none has. */
static HANDLE reuse( HANDLE value, HANDLE (*make)( HANDLE port, int number ), HANDLE port )
{
    static HANDLE others[REUSES];
    HANDLE found = NULL;
    int i, count = 0;

    while (count < REUSES && !found)
    {
        others[count] = make( port, count );
        if (others[count] == value) found = value;
        else count++;
    }
    for (i = 0; i < count; i++) CloseHandle( others[i] );
    if (!found) skip( "no handle gets the old value\n" );
    return found;
}

static HANDLE make_event( HANDLE port, int number )
{
    (void)port; (void)number;
    return CreateEventW( NULL, FALSE, FALSE, NULL );
}

/* 4.3, 4.4 DUPLICATE_CLOSE_SOURCE closes the source even if there is nowhere to copy it to, whatever error is returned
   [doc: DuplicateHandle] */
static void close_by_copy( HANDLE target )
{
    static struct factory factory;
    HANDLE next, port;

    if (!factory_open( &factory ) || !(port = factory_port( 0 ))) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, 1 ), "2.5 no worker\n" );
    DuplicateHandle( GetCurrentProcess(), factory.handle, target, NULL, 0, FALSE, DUPLICATE_CLOSE_SOURCE );
    STATUS_IS( "4.4", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_INVALID_HANDLE );
    unverified ok( factory_gone( &factory, 1 ), "2.6 the worker waits %d ms after the last close\n", WAIT_BOUND );
    if ((next = reuse( factory.handle, make_event, port )))
    {
        STATUS_IS( "4.4", pNtReleaseWorkerFactoryWorker( next ), STATUS_OBJECT_TYPE_MISMATCH );
        CloseHandle( next );
    }
    CloseHandle( port );
    CloseHandle( factory.port );
    CloseHandle( factory.gate );
}

START_TEST( factory_handle_closed_by_copy )
{
    close_by_copy( NULL );
}

START_TEST( factory_handle_closed_by_bad_copy )
{
    HANDLE event = make_event( NULL, 0 );

    close_by_copy( event );                     /* no process */
    CloseHandle( event );
}

static HANDLE make_factory( HANDLE port, int number )
{
    return factory_create( port, JUNK, NULL, 1000 + number );
}

/* 4.4 an old value is never taken for the factory that had it */
START_TEST( factory_handle_reused )
{
    HANDLE port, handle, next;
    volatile LONG pending;
    ULONG value = 7;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    if (!(handle = factory_create( port, JUNK, &value, 77 ))) return;
    ok( factory_query( handle ).ThreadMaximum == 77, "1.3 maximum\n" );
    CloseHandle( handle );
    STATUS_IS( "4.4", factory_set( handle, WorkerFactoryThreadMaximum, value ),
               STATUS_INVALID_HANDLE );
    STATUS_IS( "4.4", pNtReleaseWorkerFactoryWorker( handle ), STATUS_INVALID_HANDLE );

    if ((next = reuse( handle, make_event, port )))
    {
        STATUS_IS( "4.4", factory_set( next, WorkerFactoryThreadMaximum, value ),
                   STATUS_OBJECT_TYPE_MISMATCH );
        STATUS_IS( "4.4", pNtReleaseWorkerFactoryWorker( next ), STATUS_OBJECT_TYPE_MISMATCH );
        STATUS_IS( "4.4", pNtShutdownWorkerFactory( next, &pending ), STATUS_OBJECT_TYPE_MISMATCH );
        CloseHandle( next );
    }
    if ((next = reuse( handle, make_factory, port )))
    {
        ok( factory_query( next ).ThreadMaximum >= 1000 && !factory_query( next ).StartParameter,
            "4.4 the old factory under its old value\n" );
        CloseHandle( next );
    }
    CloseHandle( port );
}

/* 4.4 ... nor by its workers */
START_TEST( factory_handle_reused_by_worker )
{
    static struct factory factory;
    HANDLE next, port;

    factory.packet = factory_block;
    if (!factory_open( &factory ) || !(port = factory_port( 0 ))) return;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 1 ), "2.5 no worker\n" );
    CloseHandle( factory.handle );
    next = reuse( factory.handle, make_event, port );
    SetEvent( factory.gate );
    ok( factory_gone( &factory, 1 ), "2.6 the worker does not end\n" );
    if (next) unverified ok( factory.workers[0].last == STATUS_OBJECT_TYPE_MISMATCH,
                             "4.4 its wait on an event gave %08lx\n",
                             (ULONG)factory.workers[0].last );
    CloseHandle( next );
    CloseHandle( port );
    CloseHandle( factory.port );
    CloseHandle( factory.gate );
}

/* CloseHandle says so the second time; a protected one stays. */
START_TEST( factory_handle_close )
{
    HANDLE port, handle;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    if (!(handle = factory_create( port, JUNK, NULL, 5 ))) return;
    ok( SetHandleInformation( handle, HANDLE_FLAG_PROTECT_FROM_CLOSE,
                              HANDLE_FLAG_PROTECT_FROM_CLOSE ), "protect, error %lu\n",
        GetLastError() );
    ok( !CloseHandle( handle ), "4.3 closed although protected\n" );
    ok( factory_query( handle ).ThreadMaximum == 5, "4.3 it is another\n" );
    SetHandleInformation( handle, HANDLE_FLAG_PROTECT_FROM_CLOSE, 0 );
    ok( CloseHandle( handle ), "4.3 not closed, error %lu\n", GetLastError() );
    FAILS( CloseHandle( handle ), ERROR_INVALID_HANDLE );
    CloseHandle( port );
}

/* 4.3 moved to another process: no handle is left here, but the factory lives; and moved back */
START_TEST( factory_handle_moved_away )
{
    static struct factory factory;
    HANDLE there = NULL, back = NULL, weak = NULL;
    PROCESS_INFORMATION child;
    factory_info info;

    if (!factory_open( &factory ) || !factory_new_child( &child )) return;
    ok( DuplicateHandle( GetCurrentProcess(), factory.handle, child.hProcess, &there, 0, FALSE,
                         DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE ),
        "4.3 it cannot be moved, error %lu\n", GetLastError() );
    STATUS_IS( "4.3", pNtQueryInformationWorkerFactory( factory.handle, 7, &info, sizeof(info),
                                                        NULL ), STATUS_INVALID_HANDLE );
    ok( DuplicateHandle( child.hProcess, there, GetCurrentProcess(), &weak,
                         WORKER_FACTORY_QUERY_INFORMATION, FALSE, 0 ),
        "4.3 no duplicate, error %lu\n", GetLastError() );
    ok( factory_query( weak ).StartParameter == &factory, "4.3 another factory\n" );
    STATUS_IS( "1.2", pNtReleaseWorkerFactoryWorker( weak ), STATUS_ACCESS_DENIED );
    CloseHandle( weak );
    ok( DuplicateHandle( child.hProcess, there, GetCurrentProcess(), &back, 0, FALSE,
                         DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE ),
        "4.3 it cannot be moved back, error %lu\n", GetLastError() );
    factory_end_child( &child );
    factory.handle = back;
    STATUS_IS( "4.3", pNtReleaseWorkerFactoryWorker( back ), STATUS_SUCCESS );
    ok( factory_reach( &factory.released, 1 ), "4.3 it does not work any more\n" );
    factory_close( &factory );
}
