/*
 * NtQueryInformationWorkerFactory (worker_factory.md 1.3, 1.4, 2.3, 2.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

static NTSTATUS query( HANDLE handle, ULONG info_class, void *buffer, ULONG size, ULONG *length )
{
    return pNtQueryInformationWorkerFactory( handle, info_class, buffer, size, length );
}

/* 1.4, 2.4 a new factory */
START_TEST( factory_query_new )
{
    static struct factory factory;
    factory_info info;

    if (!factory_open( &factory )) return;
    info = factory_query( factory.handle );
    ok( info.ThreadMinimum == 0 && info.ThreadMaximum == 20, "1.4 minimum %lu, maximum %lu\n",
        info.ThreadMinimum, info.ThreadMaximum );
    ok( !info.PendingWorkerCount && !info.WaitingWorkerCount && !info.TotalWorkerCount &&
            !info.ReleaseCount, "2.3 pending %lu, waiting %lu, total %lu, releases %lu\n",
        info.PendingWorkerCount, info.WaitingWorkerCount, info.TotalWorkerCount,
        info.ReleaseCount );
    ok( !info.BindingCount && !info.Paused && !info.Shutdown && !info.CreateInProgress,
        "1.4 bindings %lu, paused %u, shutdown %u, creating %u\n", info.BindingCount, info.Paused,
        info.Shutdown, info.CreateInProgress );
    ok( (DWORD_PTR)info.ProcessId == GetCurrentProcessId(), "1.4 process\n" );
    ok( info.StartRoutine == factory_start && info.StartParameter == &factory,
        "1.4 routine %p, parameter %p\n", info.StartRoutine, info.StartParameter );
    ok( !info.LastThreadCreationStatus, "1.4 last creation %08lx\n",
        (ULONG)info.LastThreadCreationStatus );
    unverified ok( info.MayCreate == TRUE, "2.2 MayCreate %u\n", info.MayCreate );
    unverified ok( info.IdleTimeout.QuadPart == -100000000, "2.4 idle for %lld, expected 10 s\n",
                   info.IdleTimeout.QuadPart );
    observe( "factory.new.timeouts", "%lld %lld", info.Timeout.QuadPart,
             info.RetryTimeout.QuadPart );
    factory_close( &factory );
}

/* 2.7 class and length; out of range, too */
START_TEST( factory_query_class )
{
    static struct factory factory;
    BYTE buffer[256];
    factory_info info;
    ULONG i, length;

    if (!factory_open( &factory )) return;
    for (i = 0; i < 20; i++)
    {
        if (i == WorkerFactoryBasicInformation) continue;
        push( "class %lu", i );
        UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, i, buffer, sizeof(buffer), NULL ),
                              STATUS_INVALID_INFO_CLASS );
        UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, i, buffer, 4, NULL ),
                              STATUS_INVALID_INFO_CLASS );
        pop();
    }
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 0x80000007, buffer, 0x78, NULL ),
                          STATUS_INVALID_INFO_CLASS );
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 0xffffffff, buffer, 0x78, NULL ),
                          STATUS_INVALID_INFO_CLASS );
    for (i = 0; i < sizeof(info); i += i < 0x70 ? 8 : 1)
        UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, &info, i, NULL ),
                              STATUS_INFO_LENGTH_MISMATCH );
    STATUS_IS( "2.7", query( factory.handle, 7, &info, sizeof(info), NULL ), STATUS_SUCCESS );
    length = POISON;
    STATUS_IS( "2.7", query( factory.handle, 7, &info, sizeof(info), &length ), STATUS_SUCCESS );
    ok( length == 0x78, "2.7 length %lu\n", length );
    factory_close( &factory );
}

/* bad input: buffers */
START_TEST( factory_query_pointers )
{
    static struct factory factory;
    BYTE *no_access = factory_no_access(), *read_only = factory_read_only();
    BYTE *last = (BYTE *)VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE );
    factory_info info;

    if (!factory_open( &factory )) return;
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, NULL, 0x78, NULL ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, no_access, 0x78, NULL ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, read_only, 0x78, NULL ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, (void *)0xffff800000000000, 0x78, NULL ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, &info, 0x78, (ULONG *)no_access ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", query( factory.handle, 7, &info, 0x78, (ULONG *)read_only ),
                          STATUS_ACCESS_VIOLATION );
    STATUS_IS( "2.7", query( factory.handle, 7, last + 0x1000 - 0x78, 0x78, NULL ),
               STATUS_SUCCESS );
    factory_close( &factory );
}

/* 1.2 the right */
START_TEST( factory_query_rights )
{
    static struct factory factory;
    factory_info info;
    HANDLE copy;

    if (!factory_open( &factory )) return;
    copy = factory_duplicate( factory.handle, WORKER_FACTORY_ALL_ACCESS & ~0x8 );
    STATUS_IS( "1.2", query( copy, 7, &info, sizeof(info), NULL ), STATUS_ACCESS_DENIED );
    CloseHandle( copy );
    copy = factory_duplicate( factory.handle, 0x8 );
    STATUS_IS( "1.2", query( copy, 7, &info, sizeof(info), NULL ), STATUS_SUCCESS );
    ok( info.StartParameter == &factory, "1.2 another factory's\n" );
    CloseHandle( copy );
    factory_close( &factory );
}

static void wait_at_gate( struct factory_worker *worker )
{
    wait_signaled( worker->factory->gate );
}

/* 2.3 the counters over a worker's life: pending, waiting, working, gone */
START_TEST( factory_query_counters )
{
    static struct factory factory;
    factory_info info;
    HANDLE pause;

    factory.start = wait_at_gate;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 1 ),
               STATUS_SUCCESS );
    ok( factory_reach( &factory.started, 1 ), "2.2 no worker\n" );
    info = factory_query( factory.handle );
    ok( info.PendingWorkerCount == 1 && info.TotalWorkerCount == 1 && !info.WaitingWorkerCount,
        "2.3 pending %lu, total %lu, waiting %lu; expected 1, 1, 0\n", info.PendingWorkerCount,
        info.TotalWorkerCount, info.WaitingWorkerCount );
    SetEvent( factory.gate );
    ok( factory_settle( factory.handle, 1, 1 ), "2.3 no worker waits\n" );
    info = factory_query( factory.handle );
    ok( !info.PendingWorkerCount, "2.3 pending %lu, expected 0\n", info.PendingWorkerCount );

    /* working: neither waiting nor pending */
    pause = factory.gate;
    factory.gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    factory.packet = factory_block;
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.running, 1 ), "2.5 the release reached nobody\n" );
    info = factory_query( factory.handle );
    ok( info.TotalWorkerCount >= 1 && info.WaitingWorkerCount == info.TotalWorkerCount - 1,
        "2.3 total %lu, waiting %lu with one at work\n", info.TotalWorkerCount,
        info.WaitingWorkerCount );
    SetEvent( factory.gate );
    ok( factory_rest( factory.handle ),
        "2.3 not all wait again\n" );
    CloseHandle( pause );
    factory_close( &factory );
}
