/*
 * Handles that are no factory's, in every call; calls that race with a close (worker_factory.md
 * 2.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

#define JUNK ((void *)0x12345678)
#define CALLS 6

static const char *const call_names[CALLS] =
    { "Query", "Set", "Release", "Ready", "Wait", "Shutdown" };

static NTSTATUS make_call( int call, HANDLE handle )
{
    volatile LONG pending = 0;
    factory_packet packet;
    factory_info info;
    ULONG count;

    switch (call)
    {
    case 0:
        return pNtQueryInformationWorkerFactory( handle, WorkerFactoryBasicInformation, &info,
                                                 sizeof(info), NULL );
    case 1: return factory_set( handle, WorkerFactoryThreadMaximum, 7 );
    case 2: return pNtReleaseWorkerFactoryWorker( handle );
    case 3: return pNtWorkerFactoryWorkerReady( handle );
    case 4: return factory_wait( handle, &packet, 1, &count );
    default: return pNtShutdownWorkerFactory( handle, &pending );
    }
}

static void check_all( const char *what, HANDLE handle, NTSTATUS expected )
{
    NTSTATUS status;
    int i;

    for (i = 0; i < CALLS; i++)
    {
        status = make_call( i, handle );
        ok( status == expected, "2.7 %s of %s: expected %08lx, got %08lx\n", call_names[i], what,
            (ULONG)expected, (ULONG)status );
    }
}

/* 2.7 values that are no handle */
START_TEST( factory_bad_values )
{
    HANDLE closed = CreateEventW( NULL, FALSE, FALSE, NULL ), port, factory;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    if (!(factory = factory_create( port, JUNK, NULL, 1 ))) return;
    CloseHandle( closed );
    CloseHandle( factory );
    CloseHandle( port );
    check_all( "NULL", NULL, STATUS_INVALID_HANDLE );
    check_all( "3", (HANDLE)3, STATUS_INVALID_HANDLE );
    check_all( "a large value", (HANDLE)0x7ffffffc, STATUS_INVALID_HANDLE );
    check_all( "a pointer", &closed, STATUS_INVALID_HANDLE );
    check_all( "a closed event", closed, STATUS_INVALID_HANDLE );
    check_all( "a closed port", port, STATUS_INVALID_HANDLE );
    check_all( "a closed factory", factory, STATUS_INVALID_HANDLE );
}

/* 2.7 handles of other types */
START_TEST( factory_bad_types )
{
    HANDLE handle;

    if (!factory_needs()) return;
    check_all( "this process", GetCurrentProcess(), STATUS_OBJECT_TYPE_MISMATCH );
    check_all( "this thread", GetCurrentThread(), STATUS_OBJECT_TYPE_MISMATCH );
#define CHECK_TYPE( name, make ) \
    handle = (make); \
    ok( handle && handle != INVALID_HANDLE_VALUE, "no " name ", error %lu\n", GetLastError() ); \
    check_all( name, handle, STATUS_OBJECT_TYPE_MISMATCH ); \
    CloseHandle( handle );
    CHECK_TYPE( "event", CreateEventW( NULL, FALSE, FALSE, NULL ) );
    CHECK_TYPE( "semaphore", CreateSemaphoreW( NULL, 1, 1, NULL ) );
    CHECK_TYPE( "mutex", CreateMutexW( NULL, FALSE, NULL ) );
    CHECK_TYPE( "timer", CreateWaitableTimerW( NULL, FALSE, NULL ) );
    CHECK_TYPE( "port", CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 0 ) );
    CHECK_TYPE( "section", CreateFileMappingW( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096,
                                               NULL ) );
    CHECK_TYPE( "job", CreateJobObjectW( NULL, NULL ) );
    CHECK_TYPE( "process", OpenProcess( PROCESS_ALL_ACCESS, FALSE, GetCurrentProcessId() ) );
    CHECK_TYPE( "file", CreateFileA( "NUL", GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL ) );
#undef CHECK_TYPE
}

/* 2.7 a handle that another process has, and we do not */
START_TEST( factory_bad_foreign )
{
    static struct factory factory;
    PROCESS_INFORMATION child;
    HANDLE foreign = NULL;

    if (!factory_open( &factory ) || !factory_new_child( &child )) return;
    /* so that the value is none of ours */
    do ok( DuplicateHandle( GetCurrentProcess(), factory.handle, child.hProcess, &foreign, 0, FALSE,
                            DUPLICATE_SAME_ACCESS ), "no duplicate there, error %lu\n",
           GetLastError() );
    while (foreign && (ULONG_PTR)foreign < 0x1000);
    check_all( "a handle of another process", foreign, STATUS_INVALID_HANDLE );
    ok( !factory_query( factory.handle ).Shutdown, "2.7 it was shut down\n" );
    factory_end_child( &child );
    factory_close( &factory );
}

/* 2.7 NT does not look at the two lowest bits of a handle */
START_TEST( factory_bad_low_bits )
{
    static struct factory factory;
    factory_info info;
    ULONG_PTR bits;

    if (!factory_open( &factory )) return;
    for (bits = 1; bits < 4; bits++)
    {
        HANDLE handle = (HANDLE)((ULONG_PTR)factory.handle | bits);

        UNVERIFIED_STATUS_IS( "2.7", pNtQueryInformationWorkerFactory( handle, 7, &info,
                                                                       sizeof(info), NULL ),
                              STATUS_SUCCESS );
        UNVERIFIED_STATUS_IS( "2.7", pNtReleaseWorkerFactoryWorker( handle ), STATUS_SUCCESS );
    }
    unverified ok( factory_reach( &factory.released, 3 ), "2.7 %ld packets of 3\n",
                   factory.released );
    factory_close( &factory );
}

/* ---- a handle that comes and goes ---- */

static HANDLE volatile shared_handle;
static volatile LONG stop, wrong, calls;
static volatile NTSTATUS shut_status, wrong_status;

/* Whoever has the value now is not the caller's business; what the call says is. A factory may be
   closed, and so shut down, when a call has just found it. */
static DWORD WINAPI call_on( void *arg )
{
    ULONG_PTR call = (ULONG_PTR)arg;

    while (!stop)
    {
        NTSTATUS status = make_call( (int)call, shared_handle );

        InterlockedIncrement( &calls );
        if (!status || status == STATUS_INVALID_HANDLE || status == STATUS_OBJECT_TYPE_MISMATCH ||
            status == shut_status) continue;
        wrong_status = status;
        InterlockedIncrement( &wrong );
    }
    return 0;
}

/* 2.7 closed, and its value given to something else, while calls are made with it */
START_TEST( factory_bad_race )
{
    HANDLE port, event, handle, threads[2];
    volatile LONG pending;
    ULONG_PTR i;
    int round;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    if (!(handle = factory_create( port, JUNK, NULL, 5 ))) return;
    pNtShutdownWorkerFactory( handle, &pending );
    shut_status = make_call( 1, handle );
    CloseHandle( handle );
    for (i = 0; i < 2; i++)             /* Query and Set */
        threads[i] = CreateThread( NULL, 0, call_on, (void *)i, 0, NULL );
    for (round = 0; round < 100; round++)
    {
        shared_handle = factory_create( port, JUNK, NULL, 5 );
        CloseHandle( shared_handle );
        event = CreateEventW( NULL, FALSE, FALSE, NULL );
        CloseHandle( event );
    }
    ok( factory_reach( &calls, 2 ), "no call was made\n" );
    stop = 1;
    ok( WaitForMultipleObjects( 2, threads, TRUE, WAIT_BOUND ) == WAIT_OBJECT_0,
        "2.7 calls that do not end within %d ms\n", WAIT_BOUND );
    ok( !wrong, "2.7 %ld calls of %ld gave something else, such as %08lx\n", wrong, calls,
        (ULONG)wrong_status );
    for (i = 0; i < 2; i++) CloseHandle( threads[i] );
    CloseHandle( port );
}

/* ---- guarded pages ---- */

static BYTE *guarded_page;

static void *guarded( void )
{
    DWORD before;

    if (!guarded_page) guarded_page = VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE );
    VirtualProtect( guarded_page, 0x1000, PAGE_READWRITE | PAGE_GUARD, &before );
    return guarded_page;
}

/* The call has met the guard, which is gone then [doc: Creating Guard Pages]. */
static void check_met( const char *what, NTSTATUS status )
{
    MEMORY_BASIC_INFORMATION info;

    unverified ok( status == (NTSTATUS)0x80000001, "2.7 %s: expected STATUS_GUARD_PAGE_VIOLATION, got %08lx\n", what,
                   (ULONG)status );
    ok( VirtualQuery( guarded_page, &info, sizeof(info) ) && !(info.Protect & PAGE_GUARD), "2.7 %s: the guard is there still\n",
        what );
}

/* 2.7 pointers into a guarded page */
START_TEST( factory_bad_guarded )
{
    factory_packet packet;
    factory_info info;
    HANDLE port, factory;
    ULONG count;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    check_met( "Create", pNtCreateWorkerFactory( guarded(), GENERIC_ALL, NULL, port, GetCurrentProcess(), JUNK, NULL, 1, 0, 0 ) );
    if (!(factory = factory_create( port, JUNK, NULL, 1 ))) return;
    check_met( "Query", pNtQueryInformationWorkerFactory( factory, WorkerFactoryBasicInformation, guarded(), sizeof(info),
                                                          NULL ) );
    check_met( "Query, length", pNtQueryInformationWorkerFactory( factory, WorkerFactoryBasicInformation, &info,
                                                                  sizeof(info), guarded() ) );
    check_met( "Set", pNtSetInformationWorkerFactory( factory, WorkerFactoryThreadMaximum, guarded(), 4 ) );
    check_met( "Shutdown", pNtShutdownWorkerFactory( factory, guarded() ) );
    check_met( "Wait", factory_wait( factory, guarded(), 1, &count ) );
    if (factory_wait_form() > 2)
        check_met( "Wait, count", pNtWaitForWorkViaWorkerFactory( factory, &packet, 1, guarded(), NULL ) );
    ok( !factory_query( factory ).Shutdown, "2.7 it was shut down\n" );
    CloseHandle( factory );
    CloseHandle( port );
}
