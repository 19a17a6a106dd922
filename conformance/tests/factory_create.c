/*
 * NtCreateWorkerFactory (worker_factory.md 1.2, 2.2, 2.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

#define JUNK ((void *)0x12345678)       /* a routine that is never called */

static NTSTATUS create( HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes,
                        HANDLE port, HANDLE process )
{
    return pNtCreateWorkerFactory( handle, access, attributes, port, process, JUNK, NULL, 1, 0, 0 );
}

/* The status of a creation that is to fail; a factory that comes out of it is closed. */
static NTSTATUS refused( OBJECT_ATTRIBUTES *attributes, HANDLE port, HANDLE process )
{
    HANDLE handle = NULL;
    NTSTATUS status = create( &handle, WORKER_FACTORY_ALL_ACCESS, attributes, port, process );

    if (!status) CloseHandle( handle );
    return status;
}

/* 2.2, 2.7 no thread at creation, so the routine is not looked at */
START_TEST( factory_create_lazy )
{
    void *routines[] = { JUNK, NULL, (void *)(LONG_PTR)-1 };
    factory_info info;
    HANDLE port, handle;
    int i;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    for (i = 0; i < 3; i++)
    {
        NTSTATUS status;

        push( "routine %d", i );
        status = pNtCreateWorkerFactory( &handle, WORKER_FACTORY_ALL_ACCESS, NULL, port,
                                         GetCurrentProcess(), routines[i], routines, 1, 0, 0 );
        if (i == 1) unverified ok( !status, "2.7 NULL routine: %08lx\n", (ULONG)status );
        else ok( !status, "2.7 junk routine: %08lx\n", (ULONG)status );
        if (!status)
        {
            info = factory_query( handle );
            ok( !info.TotalWorkerCount && !info.PendingWorkerCount && !info.WaitingWorkerCount &&
                    !info.CreateInProgress, "2.2 %lu workers, %lu pending\n",
                info.TotalWorkerCount, info.PendingWorkerCount );
            ok( info.StartRoutine == routines[i] && info.StartParameter == routines,
                "1.4 routine %p, parameter %p\n", info.StartRoutine, info.StartParameter );
            ok( CloseHandle( handle ), "close, error %lu\n", GetLastError() );
        }
        pop();
    }
    CloseHandle( port );
}

/* 2.7 the pointer to the handle, before all else */
START_TEST( factory_create_out )
{
    void *no_access = factory_no_access(), *read_only = factory_read_only();
    HANDLE port, process = GetCurrentProcess();

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    UNVERIFIED_STATUS_IS( "2.7", create( NULL, 1, NULL, port, process ), STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( NULL, 1, NULL, NULL, NULL ), STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( NULL, 1, (void *)0x10, port, process ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( no_access, 1, NULL, port, process ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( read_only, 1, NULL, port, process ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( read_only, 1, NULL, NULL, process ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( WILD_LOW, 1, NULL, port, process ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", create( (HANDLE *)0xffff800000000000, 1, NULL, port, process ),
                          STATUS_ACCESS_VIOLATION );
    CloseHandle( port );
}

/* 2.7 the port: bad, no port, without the right; 1.2 which right */
START_TEST( factory_create_port )
{
    HANDLE port, copy, closed, event, process = GetCurrentProcess();

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    closed = factory_duplicate( port, 2 );
    CloseHandle( closed );
    UNVERIFIED_STATUS_IS( "2.7", refused( NULL, NULL, process ), STATUS_INVALID_HANDLE );
    UNVERIFIED_STATUS_IS( "2.7", refused( NULL, closed, process ), STATUS_INVALID_HANDLE );
    UNVERIFIED_STATUS_IS( "2.7", refused( NULL, (HANDLE)0x7ffffffc, process ),
                          STATUS_INVALID_HANDLE );
    STATUS_IS( "2.7", refused( NULL, event, process ), STATUS_OBJECT_TYPE_MISMATCH );
    STATUS_IS( "2.7", refused( NULL, process, process ), STATUS_OBJECT_TYPE_MISMATCH );

    copy = factory_duplicate( port, 0x1 );
    STATUS_IS( "2.7", refused( NULL, copy, process ), STATUS_ACCESS_DENIED );
    CloseHandle( copy );
    copy = factory_duplicate( port, 0x1f0001 );
    STATUS_IS( "2.7", refused( NULL, copy, process ), STATUS_ACCESS_DENIED );
    CloseHandle( copy );
    copy = factory_duplicate( port, 0x2 );
    STATUS_IS( "1.2", refused( NULL, copy, process ), STATUS_SUCCESS );
    CloseHandle( copy );
    CloseHandle( event );
    CloseHandle( port );
}

static NTSTATUS refused_process( HANDLE port, DWORD access )
{
    HANDLE process = OpenProcess( access, FALSE, GetCurrentProcessId() );
    NTSTATUS status;

    ok( process != NULL, "no handle with %lx, error %lu\n", access, GetLastError() );
    status = refused( NULL, port, process );
    CloseHandle( process );
    return status;
}

/* 2.7 the process: bad, no process, without a right, another one */
START_TEST( factory_create_process )
{
    PROCESS_INFORMATION child;
    HANDLE port, event;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    STATUS_IS( "2.7", refused( NULL, port, event ), STATUS_OBJECT_TYPE_MISMATCH );
    STATUS_IS( "2.7", refused( NULL, port, port ), STATUS_OBJECT_TYPE_MISMATCH );
    STATUS_IS( "2.7", refused( NULL, port, GetCurrentThread() ), STATUS_OBJECT_TYPE_MISMATCH );
    UNVERIFIED_STATUS_IS( "2.7", refused( NULL, port, NULL ), STATUS_INVALID_HANDLE );
    UNVERIFIED_STATUS_IS( "2.7", refused( NULL, port, (HANDLE)0x7ffffffc ), STATUS_INVALID_HANDLE );

    UNVERIFIED_STATUS_IS( "1.2", refused_process( port, 0x2a ), STATUS_SUCCESS );
    UNVERIFIED_STATUS_IS( "1.2", refused_process( port, 0x28 ), STATUS_ACCESS_DENIED );
    UNVERIFIED_STATUS_IS( "1.2", refused_process( port, 0x22 ), STATUS_ACCESS_DENIED );
    UNVERIFIED_STATUS_IS( "1.2", refused_process( port, 0x0a ), STATUS_ACCESS_DENIED );
    STATUS_IS( "1.2", refused_process( port, PROCESS_ALL_ACCESS ), STATUS_SUCCESS );

    if (factory_new_child( &child ))
    {
        UNVERIFIED_STATUS_IS( "2.7", refused( NULL, port, child.hProcess ), STATUS_ACCESS_DENIED );
        factory_end_child( &child );
    }
    CloseHandle( event );
    CloseHandle( port );
}

static HANDLE open_objects( void )
{
    NTSTATUS (NTAPI *open)( HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES * );
    WCHAR path[] = L"\\BaseNamedObjects";
    OBJECT_ATTRIBUTES attributes;
    HANDLE handle = NULL;
    UNICODE_STRING name;

    open = (NTSTATUS (NTAPI *)( HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES * ))(void *)
        GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtOpenDirectoryObject" );
    name.Buffer = path;
    name.Length = sizeof(path) - sizeof(WCHAR);
    name.MaximumLength = sizeof(path);
    InitializeObjectAttributes( &attributes, &name, 0, NULL, NULL );
    ok( !open( &handle, 3, &attributes ), "no directory of objects\n" );
    return handle;
}

/* 2.7 OBJECT_ATTRIBUTES */
START_TEST( factory_create_attributes )
{
    static const ULONG lengths[] = { 0, sizeof(OBJECT_ATTRIBUTES) - 8,
                                     sizeof(OBJECT_ATTRIBUTES) + 8, 0xffffffff };
    HANDLE port, handle, directory, process = GetCurrentProcess();
    OBJECT_ATTRIBUTES attributes;
    DWORD flags = 0;
    size_t i;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    InitializeObjectAttributes( &attributes, NULL, 0, NULL, NULL );
    for (i = 0; i < ARRAYSIZE(lengths); i++)
    {
        attributes.Length = lengths[i];
        STATUS_IS( "2.7", refused( &attributes, port, process ), STATUS_INVALID_PARAMETER );
    }
    UNVERIFIED_STATUS_IS( "2.7", refused( (void *)WILD_LOW, port, process ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", refused( factory_no_access(), port, process ),
                          STATUS_ACCESS_VIOLATION );

    directory = open_objects();
    InitializeObjectAttributes( &attributes, NULL, 0, directory, NULL );
    UNVERIFIED_STATUS_IS( "2.7", refused( &attributes, port, process ),
                          STATUS_OBJECT_NAME_INVALID );
    CloseHandle( directory );

    InitializeObjectAttributes( &attributes, NULL, OBJ_INHERIT, NULL, NULL );
    STATUS_IS( "2.7", create( &handle, WORKER_FACTORY_ALL_ACCESS, &attributes, port, process ),
               STATUS_SUCCESS );
    ok( GetHandleInformation( handle, &flags ) && (flags & HANDLE_FLAG_INHERIT),
        "2.7 OBJ_INHERIT: flags %lx\n", flags );
    CloseHandle( handle );
    attributes.Attributes = 0;
    STATUS_IS( "2.7", create( &handle, WORKER_FACTORY_ALL_ACCESS, &attributes, port, process ),
               STATUS_SUCCESS );
    ok( GetHandleInformation( handle, &flags ) && !(flags & HANDLE_FLAG_INHERIT),
        "2.7 no OBJ_INHERIT: flags %lx\n", flags );
    CloseHandle( handle );
    CloseHandle( port );
}

/* 2.1, 2.7 names */
START_TEST( factory_create_named )
{
    HANDLE port, first = NULL, second = NULL, process = GetCurrentProcess();
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING name;
    WCHAR text[64];

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    swprintf( text, sizeof(text) / sizeof(text[0]), L"\\BaseNamedObjects\\umstest.factory.%lu",
              GetCurrentProcessId() );
    name.Buffer = text;
    name.Length = wcslen( text ) * sizeof(WCHAR);
    name.MaximumLength = sizeof(text);
    InitializeObjectAttributes( &attributes, &name, OBJ_OPENIF, NULL, NULL );
    STATUS_IS( "2.1", pNtCreateWorkerFactory( &first, WORKER_FACTORY_ALL_ACCESS, &attributes, port,
                                              process, JUNK, &first, 1, 0, 0 ), STATUS_SUCCESS );
    UNVERIFIED_STATUS_IS( "2.7", pNtCreateWorkerFactory( &second, WORKER_FACTORY_ALL_ACCESS,
                                                         &attributes, port, process, JUNK, &second,
                                                         1, 0, 0 ), STATUS_OBJECT_NAME_EXISTS );
    if (second) unverified ok( factory_query( second ).StartParameter == &first,
                               "2.7 another factory than the one of that name\n" );
    if (second) CloseHandle( second );
    attributes.Attributes = 0;
    UNVERIFIED_STATUS_IS( "2.7", refused( &attributes, port, process ),
                          STATUS_OBJECT_NAME_COLLISION );
    ok( CloseHandle( first ), "close, error %lu\n", GetLastError() );
    CloseHandle( port );
}

/* A name for this process's factories; at most one test uses it at a time. */
static void name_it( OBJECT_ATTRIBUTES *attributes, UNICODE_STRING *name, WCHAR *text, size_t size )
{
    swprintf( text, size, L"\\BaseNamedObjects\\umstest.again.%lu", GetCurrentProcessId() );
    name->Buffer = text;
    name->Length = wcslen( text ) * sizeof(WCHAR);
    name->MaximumLength = size * sizeof(WCHAR);
    InitializeObjectAttributes( attributes, name, OBJ_OPENIF, NULL, NULL );
}

static volatile LONG at_work, may_leave;

static void NTAPI work_on( void *unused )
{
    (void)unused;
    at_work = 1;
    while (!may_leave) Sleep( 1 );
    ExitThread( 0 );
}

/* 2.7 a name goes with the last handle [doc, of named objects], also while a thread of the factory is at
   work; whoever asks for it then gets a new factory */
START_TEST( factory_create_named_again )
{
    HANDLE port, first = NULL, second = NULL, process = GetCurrentProcess();
    OBJECT_ATTRIBUTES attributes;
    factory_info info;
    UNICODE_STRING name;
    WCHAR text[64];

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    name_it( &attributes, &name, text, sizeof(text) / sizeof(text[0]) );
    STATUS_IS( "2.1", pNtCreateWorkerFactory( &first, WORKER_FACTORY_ALL_ACCESS, &attributes, port, process,
                                              (void *)work_on, &first, 4, 0, 0 ), STATUS_SUCCESS );
    STATUS_IS( "2.5", factory_set( first, WorkerFactoryThreadMinimum, 1 ), STATUS_SUCCESS );
    ok( factory_reach( &at_work, 1 ), "no thread began\n" );
    ok( CloseHandle( first ), "close, error %lu\n", GetLastError() );
    STATUS_IS( "2.7", pNtCreateWorkerFactory( &second, WORKER_FACTORY_ALL_ACCESS, &attributes, port, process,
                                              JUNK, &second, 1, 0, 0 ), STATUS_SUCCESS );
    if (second)
    {
        info = factory_query( second );
        ok( info.StartParameter == &second && !info.Shutdown && !info.TotalWorkerCount,
            "2.7 the old factory: parameter %p, shut down %d, %lu threads\n", info.StartParameter,
            info.Shutdown, info.TotalWorkerCount );
        ok( CloseHandle( second ), "close, error %lu\n", GetLastError() );
    }
    may_leave = 1;
    CloseHandle( port );
}

#define OPENERS 4
#define OPENED  600

static volatile LONG bad_opens, shut_ones;
static LONG bad_open_status;
static HANDLE opener_port;

static DWORD WINAPI open_often( void *unused )
{
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING name;
    WCHAR text[64];
    int i;

    (void)unused;
    name_it( &attributes, &name, text, sizeof(text) / sizeof(text[0]) );
    for (i = 0; i < OPENED; i++)
    {
        factory_info info;
        HANDLE handle = NULL;
        NTSTATUS status = pNtCreateWorkerFactory( &handle, WORKER_FACTORY_ALL_ACCESS, &attributes, opener_port,
                                                  GetCurrentProcess(), JUNK, &opener_port, 1, 0, 0 );

        if (status && status != STATUS_OBJECT_NAME_EXISTS)
        {
            bad_open_status = status;
            InterlockedIncrement( &bad_opens );
            continue;
        }
        memset( &info, 0xff, sizeof(info) );
        if (pNtQueryInformationWorkerFactory( handle, WorkerFactoryBasicInformation, &info, sizeof(info),
                                              NULL ) || info.StartParameter != &opener_port || info.Shutdown)
            InterlockedIncrement( &shut_ones );
        if (!CloseHandle( handle )) InterlockedIncrement( &bad_opens );
    }
    return 0;
}

/* 2.7 threads that open it by name and close it again: each gets one that works */
START_TEST( factory_create_named_race )
{
    HANDLE threads[OPENERS];
    int i;

    if (!factory_needs() || !(opener_port = factory_port( 0 ))) return;
    for (i = 0; i < OPENERS; i++) threads[i] = CreateThread( NULL, 0, open_often, NULL, 0, NULL );
    ok( WaitForMultipleObjects( OPENERS, threads, TRUE, WAIT_BOUND ) < OPENERS, "they did not end\n" );
    ok( !bad_opens, "2.7 %ld failed, the last with %08lx\n", bad_opens, bad_open_status );
    ok( !shut_ones, "2.7 %ld factories were shut down while there was a handle\n", shut_ones );
    for (i = 0; i < OPENERS; i++) CloseHandle( threads[i] );
    CloseHandle( opener_port );
}

/* 1.2 what is asked for and what is granted */
START_TEST( factory_create_access )
{
    static const struct { ACCESS_MASK desired, granted; BOOL seen; } rows[] =
    {
        { 0x001f003f, 0x000f003f, TRUE },   /* more than is valid is dropped */
        { 0x000f003f, 0x000f003f, TRUE },
        { 0x00000008, 0x00000008, TRUE },
        { 0x000f00ff, 0x000f00ff, TRUE },
        { 0x000000c0, 0x000000c0, TRUE },
        { GENERIC_READ, 0x00020008, TRUE },
        { GENERIC_WRITE, 0x00020004, TRUE },
        { GENERIC_EXECUTE, 0x00020003, TRUE },
        { GENERIC_ALL, 0x000f00ff, TRUE },
        { GENERIC_READ | GENERIC_WRITE, 0x0002000c, TRUE },
        { SYNCHRONIZE | 0x8, 0x00000008, TRUE },
        { MAXIMUM_ALLOWED, 0x000f00ff, FALSE },
    };
    HANDLE port, handle;
    ACCESS_MASK granted;
    size_t i;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    for (i = 0; i < ARRAYSIZE(rows); i++)
    {
        push( "%08lx", rows[i].desired );
        STATUS_IS( "1.2", create( &handle, rows[i].desired, NULL, port, GetCurrentProcess() ),
                   STATUS_SUCCESS );
        granted = factory_access( handle );
        if (rows[i].seen) ok( granted == rows[i].granted, "1.2 granted %08lx, expected %08lx\n",
                              granted, rows[i].granted );
        else unverified ok( granted == rows[i].granted, "1.2 granted %08lx, expected %08lx\n",
                            granted, rows[i].granted );
        CloseHandle( handle );
        pop();
    }
    CloseHandle( port );
}

/* 8 (4) the order: port, process, attributes */
START_TEST( factory_create_order )
{
    HANDLE port, limited, event, process = GetCurrentProcess();
    OBJECT_ATTRIBUTES attributes;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    limited = factory_duplicate( port, 1 );
    InitializeObjectAttributes( &attributes, NULL, 0, NULL, NULL );
    attributes.Length = 0;
    UNVERIFIED_STATUS_IS( "8", refused( &attributes, event, NULL ), STATUS_OBJECT_TYPE_MISMATCH );
    UNVERIFIED_STATUS_IS( "8", refused( &attributes, limited, NULL ), STATUS_ACCESS_DENIED );
    UNVERIFIED_STATUS_IS( "8", refused( &attributes, NULL, event ), STATUS_INVALID_HANDLE );
    UNVERIFIED_STATUS_IS( "8", refused( &attributes, port, event ), STATUS_OBJECT_TYPE_MISMATCH );
    UNVERIFIED_STATUS_IS( "8", refused( &attributes, port, NULL ), STATUS_INVALID_HANDLE );
    UNVERIFIED_STATUS_IS( "8", refused( &attributes, port, process ), STATUS_INVALID_PARAMETER );
    CloseHandle( limited );
    CloseHandle( event );
    CloseHandle( port );
}

/* 2.2, 2.7 maxima */
START_TEST( factory_create_maximum )
{
    static const ULONG values[] = { 1, 20, 500, 501, 0x7fffffff, 0 };
    HANDLE port, handle;
    ULONG maximum;
    size_t i;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    for (i = 0; i < ARRAYSIZE(values); i++)
    {
        if (!(handle = factory_create( port, JUNK, NULL, values[i] ))) continue;
        maximum = factory_query( handle ).ThreadMaximum;
        if (values[i]) ok( maximum == values[i], "1.4 maximum %lu, asked for %lu\n", maximum,
                           values[i] );
        else unverified ok( maximum == 500, "2.7 maximum %lu for 0\n", maximum );
        CloseHandle( handle );
    }
    CloseHandle( port );
}
