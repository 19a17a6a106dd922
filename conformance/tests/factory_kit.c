/*
 * What the tests of worker factories share.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

#define STAYS_MS 50

BOOL factory_needs( void )
{
#define X( ret, name, args ) if (!need( name )) return FALSE;
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
    return TRUE;
}

/* ---- the three forms of the wait ---- */

int factory_wait_form( void )
{
    static int form;
    LONG (WINAPI *get_version)( OSVERSIONINFOW * );
    OSVERSIONINFOW version;
    DWORD number;

    if (form) return form;
    memset( &version, 0, sizeof(version) );
    version.dwOSVersionInfoSize = sizeof(version);
    get_version = (LONG (WINAPI *)( OSVERSIONINFOW * ))(void *)GetProcAddress(
        GetModuleHandleA( "ntdll.dll" ), "RtlGetVersion" );
    get_version( &version );
    number = version.dwMajorVersion * 100 + version.dwMinorVersion;
    return form = number < 602 ? 2 : number == 602 ? 4 : 5;
}

/* On AMD64 arguments that the function does not have are left alone, so one call does for all. */
NTSTATUS factory_wait( HANDLE handle, factory_packet *packets, ULONG count, ULONG *returned )
{
    NTSTATUS status;

    *returned = POISON;
    status = pNtWaitForWorkViaWorkerFactory( handle, packets, count, returned, NULL );
    if (factory_wait_form() == 2 && !status && *returned == POISON) *returned = 1;
    return status;
}

/* ---- workers ---- */

static void remember( struct factory_worker *worker )
{
    MEMORY_BASIC_INFORMATION info;
    BYTE *top = ((NT_TIB *)current_teb())->StackBase;

    worker->id = GetCurrentThreadId();
    worker->priority = GetThreadPriority( GetCurrentThread() );
    VirtualQuery( &info, &info, sizeof(info) );
    worker->stack = top - (BYTE *)info.AllocationBase;
    pNtQueryInformationThread( GetCurrentThread(), THREAD_START_ADDRESS, &worker->start, sizeof(worker->start),
                               NULL );
    DuplicateHandle( GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(),
                     &worker->thread, 0, FALSE, DUPLICATE_SAME_ACCESS );
}

static void take( struct factory_worker *worker, const factory_packet *packet )
{
    struct factory *factory = worker->factory;

    InterlockedIncrement( &worker->packets );
    if (!packet->KeyContext) InterlockedIncrement( &factory->released );
    InterlockedIncrement( &factory->packets );
    if (factory->packet) factory->packet( worker, packet );
    InterlockedIncrement( &factory->handled );
}

void NTAPI factory_start( void *arg )
{
    struct factory *factory = arg;
    factory_packet packets[64];
    struct factory_worker *worker, unknown;
    ULONG i, count, batch = factory->batch ? factory->batch : 16;
    LONG index = InterlockedIncrement( &factory->started ) - 1;

    memset( &unknown, 0, sizeof(unknown) );
    worker = index < FACTORY_WORKERS ? &factory->workers[index] : &unknown;
    worker->factory = factory;
    worker->index = index;
    remember( worker );
    if (factory->start) factory->start( worker );
    worker->ready = pNtWorkerFactoryWorkerReady( factory->handle );
    if (worker->ready && !factory->shut) InterlockedIncrement( &factory->bad );
    InterlockedIncrement( &factory->ready );
    while (!(worker->last = factory_wait( factory->handle, packets, batch, &count )))
    {
        if (!count || count > batch) InterlockedIncrement( &factory->bad );
        for (i = 0; i < count && i < batch; i++) take( worker, &packets[i] );
    }
    InterlockedIncrement( &factory->ended );
}

/* ---- life ---- */

HANDLE factory_port( ULONG concurrency )
{
    HANDLE port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, concurrency );

    ok( port != NULL, "no port, error %lu\n", GetLastError() );
    return port;
}

HANDLE factory_create( HANDLE port, void *start, void *param, ULONG max )
{
    HANDLE handle = NULL;
    NTSTATUS status;

    status = pNtCreateWorkerFactory( &handle, WORKER_FACTORY_ALL_ACCESS, NULL, port,
                                     GetCurrentProcess(), start, param, max, 0, 0 );
    ok( !status && handle, "no factory: %08lx\n", (ULONG)status );
    return status ? NULL : handle;
}

BOOL factory_open( struct factory *factory )
{
    NTSTATUS status;

    if (!factory_needs()) return FALSE;
    factory->gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!(factory->port = factory_port( factory->concurrency ? factory->concurrency : 100 )))
        return FALSE;
    status = pNtCreateWorkerFactory( &factory->handle, WORKER_FACTORY_ALL_ACCESS, NULL,
                                     factory->port, GetCurrentProcess(), factory_start, factory,
                                     factory->max ? factory->max : 20, factory->reserve,
                                     factory->commit );
    return ok( !status, "no factory: %08lx\n", (ULONG)status );
}

BOOL factory_gone( struct factory *factory, LONG count )
{
    ULONGLONG start = clock_ms();
    LONG i;

    for (i = 0; i < count && i < FACTORY_WORKERS; i++)
    {
        /* it has started, but its handle may not be there yet */
        while (!factory->workers[i].thread && clock_ms() - start < WAIT_BOUND) Sleep( 1 );
        if (!factory->workers[i].thread) return FALSE;
        if (WaitForSingleObject( factory->workers[i].thread, WAIT_BOUND )) return FALSE;
    }
    return TRUE;
}

/* What a second shutdown gives is [guess]. */
static void shut_down( HANDLE handle )
{
    volatile LONG pending = -1;

    if (factory_query( handle ).Shutdown)
        UNVERIFIED_STATUS_IS( "2.6", pNtShutdownWorkerFactory( handle, &pending ), STATUS_SUCCESS );
    else STATUS_IS( "2.6", pNtShutdownWorkerFactory( handle, &pending ), STATUS_SUCCESS );
}

void factory_close( struct factory *factory )
{
    int i;

    SetEvent( factory->gate );
    factory->shut = 1;
    shut_down( factory->handle );
    /* one may not have come to its routine yet: only the factory knows of it */
    ok( factory_settle( factory->handle, 0, 0 ), "2.3 workers are counted %d ms after the "
        "shutdown\n", WAIT_BOUND );
    ok( factory_gone( factory, factory->started ), "2.6 workers live %d ms after the shutdown\n",
        WAIT_BOUND );
    ok( !factory->bad, "%ld broken promises seen by workers\n", factory->bad );
    ok( CloseHandle( factory->handle ), "4.3 close, error %lu\n", GetLastError() );
    for (i = 0; i < factory->started && i < FACTORY_WORKERS; i++)
        CloseHandle( factory->workers[i].thread );
    CloseHandle( factory->port );
    CloseHandle( factory->gate );
}

/* ---- information ---- */

factory_info factory_query( HANDLE handle )
{
    factory_info info;
    NTSTATUS status;

    memset( &info, 0xff, sizeof(info) );
    status = pNtQueryInformationWorkerFactory( handle, WorkerFactoryBasicInformation, &info,
                                               sizeof(info), NULL );
    ok( !status, "1.3 query: %08lx\n", (ULONG)status );
    return info;
}

NTSTATUS factory_set( HANDLE handle, WORKERFACTORYINFOCLASS info_class, ULONG value )
{
    return pNtSetInformationWorkerFactory( handle, info_class, &value, sizeof(value) );
}

NTSTATUS factory_set_time( HANDLE handle, WORKERFACTORYINFOCLASS info_class, LONGLONG value )
{
    LARGE_INTEGER time;

    time.QuadPart = value;
    return pNtSetInformationWorkerFactory( handle, info_class, &time, sizeof(time) );
}

HANDLE factory_duplicate( HANDLE handle, ACCESS_MASK access )
{
    HANDLE copy = NULL;

    ok( DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, access, FALSE,
                         0 ), "no duplicate with %lx, error %lu\n", access, GetLastError() );
    return copy;
}

NTSTATUS factory_query_object( HANDLE handle, ULONG info_class, void *buffer, ULONG length )
{
    NTSTATUS (NTAPI *query)( HANDLE, ULONG, PVOID, ULONG, PULONG );

    query = (NTSTATUS (NTAPI *)( HANDLE, ULONG, PVOID, ULONG, PULONG ))(void *)GetProcAddress(
        GetModuleHandleA( "ntdll.dll" ), "NtQueryObject" );
    return query( handle, info_class, buffer, length, NULL );
}

ACCESS_MASK factory_access( HANDLE handle )
{
    PUBLIC_OBJECT_BASIC_INFORMATION info;
    NTSTATUS status;

    memset( &info, 0xff, sizeof(info) );
    status = factory_query_object( handle, ObjectBasicInformation, &info, sizeof(info) );
    ok( !status, "NtQueryObject: %08lx\n", (ULONG)status );
    return info.GrantedAccess;
}

/* ---- waiting ---- */

BOOL factory_reach( volatile LONG *value, LONG wanted )
{
    ULONGLONG start = clock_ms();

    while (*value < wanted)
    {
        if (clock_ms() - start >= WAIT_BOUND) return FALSE;
        Sleep( 1 );
    }
    return TRUE;
}

BOOL factory_settle( HANDLE handle, LONG waiting, LONG total )
{
    ULONGLONG start = clock_ms();
    factory_info info;

    do
    {
        info = factory_query( handle );
        if ((LONG)info.WaitingWorkerCount == waiting &&
            (total < 0 || (LONG)info.TotalWorkerCount == total)) return TRUE;
        Sleep( 1 );
    }
    while (clock_ms() - start < WAIT_BOUND);
    trace( "waiting %lu, total %lu, pending %lu, releases %lu\n", info.WaitingWorkerCount,
           info.TotalWorkerCount, info.PendingWorkerCount, info.ReleaseCount );
    return FALSE;
}

BOOL factory_rest( HANDLE handle )
{
    ULONGLONG start = clock_ms();
    factory_info info;

    do
    {
        info = factory_query( handle );
        if (info.WaitingWorkerCount == info.TotalWorkerCount) return TRUE;
        Sleep( 1 );
    }
    while (clock_ms() - start < WAIT_BOUND);
    return FALSE;
}

BOOL factory_stays( volatile LONG *value, LONG wanted )
{
    ULONGLONG start = clock_ms();

    while (*value == wanted && clock_ms() - start < STAYS_MS) Sleep( 1 );
    return *value == wanted;
}

/* ---- callbacks ---- */

void factory_enter( struct factory *factory )
{
    LONG now = InterlockedIncrement( &factory->running ), number = InterlockedIncrement( &factory->entered ), most;

    if (now > 1 && InterlockedIncrement( &factory->beside ) == 1) factory->first_beside = number;
    while ((most = factory->most) < now)
        InterlockedCompareExchange( &factory->most, now, most );
}

void factory_ran_singly( struct factory *factory )
{
    ok( factory->most == 1, "2.5 %ld ran at a time, expected 1: %ld of %ld began beside another one, first number %ld\n",
        factory->most, factory->beside, factory->entered, factory->first_beside );
}

void factory_leave( struct factory *factory )
{
    InterlockedDecrement( &factory->running );
}

void factory_block( struct factory_worker *worker, const factory_packet *packet )
{
    (void)packet;
    factory_enter( worker->factory );
    if (WaitForSingleObject( worker->factory->gate, WAIT_BOUND ))
        InterlockedIncrement( &worker->factory->bad );
    factory_leave( worker->factory );
}

/* ---- pages, processes ---- */

void *factory_no_access( void )
{
    return VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_NOACCESS );
}

void *factory_read_only( void )
{
    return VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_READONLY );
}

BOOL factory_new_child( PROCESS_INFORMATION *child )
{
    STARTUPINFOA startup;
    char exe[MAX_PATH];

    memset( &startup, 0, sizeof(startup) );
    startup.cb = sizeof(startup);
    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    return ok( umstest_create_process( exe, NULL, FALSE, CREATE_SUSPENDED, &startup, child ),
               "no process, error %lu\n", GetLastError() );
}

void factory_end_child( PROCESS_INFORMATION *child )
{
    TerminateProcess( child->hProcess, 0 );
    wait_signaled( child->hProcess );
    CloseHandle( child->hProcess );
    CloseHandle( child->hThread );
}

void factory_post( struct factory *factory, int number )
{
    if (!PostQueuedCompletionStatus( factory->port, number, number + 1,
                                     (OVERLAPPED *)(ULONG_PTR)(0x1000 + number) ))
        ok( 0, "post, error %lu\n", GetLastError() );
}

BOOL factory_open_with( struct factory *factory, int count )
{
    if (!factory_open( factory )) return FALSE;
    STATUS_IS( "2.2", factory_set( factory->handle, WorkerFactoryThreadMinimum, count ),
               STATUS_SUCCESS );
    return ok( factory_settle( factory->handle, count, count ), "2.2 not %d waiting workers\n",
               count );
}
