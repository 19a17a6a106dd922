/*
 * NtSetInformationWorkerFactory (worker_factory.md 1.3, 2.4, 2.6, 2.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

static NTSTATUS set( HANDLE handle, ULONG info_class, void *buffer, ULONG size )
{
    return pNtSetInformationWorkerFactory( handle, info_class, buffer, size );
}

/* Bytes that a class takes; 0: it takes none, or none that we know of. */
static ULONG class_size( ULONG info_class )
{
    static const BYTE sizes[FACTORY_CLASSES] = { 8, 8, 8, 4, 4, 4, 4, 0, 4, 0, 0, 4, 4, 4, 4, 0 };

    return sizes[info_class];
}

/* Does the version that this process sees have the class? */
static BOOL class_exists( ULONG info_class )
{
    return info_class < (ULONG)(factory_wait_form() == 2 ? 11 : factory_wait_form() == 4 ? 12 : 15);
}

/* 2.7 the class is looked at first */
START_TEST( factory_set_class )
{
    static struct factory factory;
    ULONG value[32] = { 0 }, i;
    HANDLE handles[2] = { NULL, NULL };
    int k;

    if (!factory_open( &factory )) return;
    handles[1] = factory.handle;
    for (k = 0; k < 2; k++)
    {
        push( k ? "factory" : "no handle" );
        for (i = FACTORY_CLASSES; i < 20; i++)
        {
            STATUS_IS( "2.7", set( handles[k], i, value, 4 ), STATUS_INVALID_INFO_CLASS );
            STATUS_IS( "2.7", set( handles[k], i, value, 0 ), STATUS_INVALID_INFO_CLASS );
        }
        STATUS_IS( "2.7", set( handles[k], 0x80000004, value, 4 ), STATUS_INVALID_INFO_CLASS );
        STATUS_IS( "2.7", set( handles[k], 0xffffffff, value, 4 ), STATUS_INVALID_INFO_CLASS );
        UNVERIFIED_STATUS_IS( "1.3", set( handles[k], WorkerFactoryBasicInformation, value, 0x78 ),
                              STATUS_INVALID_INFO_CLASS );
        pop();
    }
    factory_close( &factory );
}

/* 2.7 then the length */
START_TEST( factory_set_length )
{
    static struct factory factory;
    ULONG value[32] = { 0 }, i, size;

    if (!factory_open( &factory )) return;
    for (i = 0; i < FACTORY_CLASSES; i++)
    {
        if (!class_size( i ) || !class_exists( i )) continue;
        push( "class %lu", i );
        STATUS_IS( "2.7", set( NULL, i, value, 0 ), STATUS_INFO_LENGTH_MISMATCH );
        for (size = 2; size <= 16; size++)
        {
            if (size == class_size( i )) continue;
            UNVERIFIED_STATUS_IS( "2.7", set( NULL, i, value, size ), STATUS_INFO_LENGTH_MISMATCH );
            UNVERIFIED_STATUS_IS( "2.7", set( factory.handle, i, value, size ),
                                  STATUS_INFO_LENGTH_MISMATCH );
        }
        UNVERIFIED_STATUS_IS( "2.7", set( factory.handle, i, value, 0xffffffff ),
                              STATUS_INFO_LENGTH_MISMATCH );
        STATUS_IS( "2.7", set( NULL, i, value, class_size( i ) ), STATUS_INVALID_HANDLE );
        pop();
    }
    factory_close( &factory );
}

/* 2.7 then the buffer, then the handle and its rights */
START_TEST( factory_set_handle )
{
    static struct factory factory;
    HANDLE event, limited;
    ULONG value = 5;

    if (!factory_open( &factory )) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    limited = factory_duplicate( factory.handle, WORKER_FACTORY_ALL_ACCESS & ~0x4 );
    STATUS_IS( "2.7", set( NULL, WorkerFactoryThreadMaximum, &value, 4 ), STATUS_INVALID_HANDLE );
    STATUS_IS( "2.7", set( event, WorkerFactoryThreadMaximum, &value, 4 ),
               STATUS_OBJECT_TYPE_MISMATCH );
    STATUS_IS( "2.7", set( factory.port, WorkerFactoryThreadMaximum, &value, 4 ),
               STATUS_OBJECT_TYPE_MISMATCH );
    UNVERIFIED_STATUS_IS( "2.7", set( limited, WorkerFactoryThreadMaximum, &value, 4 ),
                          STATUS_ACCESS_DENIED );
    ok( factory_query( factory.handle ).ThreadMaximum == 20, "2.7 it was set without the right\n" );
    UNVERIFIED_STATUS_IS( "2.7", set( factory.handle, WorkerFactoryThreadMaximum, WILD_LOW, 4 ),
                          STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", set( factory.handle, WorkerFactoryThreadMaximum,
                                      factory_no_access(), 4 ), STATUS_ACCESS_VIOLATION );
    UNVERIFIED_STATUS_IS( "2.7", set( factory.handle, WorkerFactoryIdleTimeout,
                                      (void *)0xffff800000000000, 8 ), STATUS_ACCESS_VIOLATION );
    CloseHandle( limited );
    limited = factory_duplicate( factory.handle, 0x4 );
    STATUS_IS( "1.2", set( limited, WorkerFactoryThreadMaximum, &value, 4 ), STATUS_SUCCESS );
    ok( factory_query( factory.handle ).ThreadMaximum == 5, "1.2 it was not set\n" );
    CloseHandle( limited );
    CloseHandle( event );
    factory_close( &factory );
}

/* 1.3 what is set is what a query tells */
START_TEST( factory_set_values )
{
    static struct factory factory;
    factory_info info;

    if (!factory_open( &factory )) return;
    STATUS_IS( "1.3", factory_set_time( factory.handle, WorkerFactoryTimeout, -11111111 ),
               STATUS_SUCCESS );
    STATUS_IS( "1.3", factory_set_time( factory.handle, WorkerFactoryRetryTimeout, -22222222 ),
               STATUS_SUCCESS );
    STATUS_IS( "1.3", factory_set_time( factory.handle, WorkerFactoryIdleTimeout, -33333333 ),
               STATUS_SUCCESS );
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryThreadMaximum, 77 ),
               STATUS_SUCCESS );
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryPaused, 1 ), STATUS_SUCCESS );
    info = factory_query( factory.handle );
    ok( info.Timeout.QuadPart == -11111111 && info.RetryTimeout.QuadPart == -22222222 &&
            info.IdleTimeout.QuadPart == -33333333, "1.3 time-outs %lld %lld %lld\n",
        info.Timeout.QuadPart, info.RetryTimeout.QuadPart, info.IdleTimeout.QuadPart );
    ok( info.ThreadMaximum == 77, "1.3 maximum %lu\n", info.ThreadMaximum );
    ok( info.Paused, "1.3 not paused\n" );
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryPaused, 0 ), STATUS_SUCCESS );
    ok( !factory_query( factory.handle ).Paused, "1.3 still paused\n" );

    /* a delta, says the one that runs more of the real ntdll */
    STATUS_IS( "2.3", factory_set( factory.handle, WorkerFactoryBindingCount, 2 ), STATUS_SUCCESS );
    STATUS_IS( "2.3", factory_set( factory.handle, WorkerFactoryBindingCount, 1 ), STATUS_SUCCESS );
    STATUS_IS( "2.3", factory_set( factory.handle, WorkerFactoryBindingCount, (ULONG)-2 ),
               STATUS_SUCCESS );
    info = factory_query( factory.handle );
    unverified ok( info.BindingCount == 1, "2.3 bindings %lu after +2 +1 -2\n", info.BindingCount );
    STATUS_IS( "2.3", factory_set( factory.handle, WorkerFactoryAdjustThreadGoal, 1 ),
               STATUS_SUCCESS );
    factory_close( &factory );
}

/* 1.3 classes of later Windows: taken where the version has them */
START_TEST( factory_set_late_classes )
{
    static struct factory factory;
    ULONG i;

    if (!factory_open( &factory )) return;
    for (i = WorkerFactoryThreadBasePriority; i <= WorkerFactoryThreadSoftMaximum; i++)
    {
        if (!class_exists( i )) continue;
        push( "class %lu", i );
        STATUS_IS( "1.3", factory_set( factory.handle, i, 1 ), STATUS_SUCCESS );
        pop();
    }
    ok( factory_query( factory.handle ).ThreadMaximum == 20, "1.3 the maximum has changed\n" );
    factory_close( &factory );
}

/* 2.7 bounds */
START_TEST( factory_set_bounds )
{
    static struct factory factory;
    factory_info info;

    if (!factory_open( &factory )) return;
    UNVERIFIED_STATUS_IS( "2.7", factory_set( factory.handle, WorkerFactoryThreadMinimum, 21 ),
                          STATUS_INVALID_PARAMETER );
    info = factory_query( factory.handle );
    ok( info.ThreadMinimum == 0 && !info.TotalWorkerCount, "2.7 minimum %lu, %lu workers\n",
        info.ThreadMinimum, info.TotalWorkerCount );
    STATUS_IS( "2.7", factory_set( factory.handle, WorkerFactoryThreadMinimum, 2 ),
               STATUS_SUCCESS );
    UNVERIFIED_STATUS_IS( "2.7", factory_set( factory.handle, WorkerFactoryThreadMaximum, 1 ),
                          STATUS_INVALID_PARAMETER );
    if (factory_wait_form() == 5)
        UNVERIFIED_STATUS_IS( "2.7", factory_set( factory.handle, WorkerFactoryThreadSoftMaximum,
                                                  21 ), STATUS_INVALID_PARAMETER );
    info = factory_query( factory.handle );
    ok( info.ThreadMinimum == 2 && info.ThreadMaximum == 20, "2.7 minimum %lu, maximum %lu\n",
        info.ThreadMinimum, info.ThreadMaximum );
    STATUS_IS( "2.7", factory_set( factory.handle, WorkerFactoryThreadMaximum, 2 ),
               STATUS_SUCCESS );
    STATUS_IS( "2.7", factory_set( factory.handle, WorkerFactoryThreadMinimum, 0 ),
               STATUS_SUCCESS );
    factory_close( &factory );
}
