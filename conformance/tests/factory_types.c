/*
 * Worker factories: names, rights, classes, layouts (worker_factory.md 1).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

/* 1.1 seven names and their twins */
START_TEST( factory_type_names )
{
#define X( ret, name, args ) need( name );
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
    ok( factory_wait_form() == 2 || factory_wait_form() == 4 || factory_wait_form() == 5,
        "1.1 a wait of %d arguments\n", factory_wait_form() );
    observe( "factory.wait.form", "%d", factory_wait_form() );
}

/* Behind a jump, which may stand for a function that is too far away. */
static const void *target( const void *address )
{
    static const BYTE jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

    if (!address || memcmp( address, jump, sizeof(jump) )) return address;
    memcpy( &address, (const BYTE *)address + sizeof(jump), sizeof(address) );
    return address;
}

/* 1.1 GetProcAddress on ntdll leads to the functions that an import leads to. The shim without its
   launcher takes nobody's place. */
START_TEST( factory_type_lookup )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );

    if (!factory_needs() || !need( NtUmsThreadYield )) return;
    if (target( GetProcAddress( ntdll, "NtUmsThreadYield" ) ) != target( pNtUmsThreadYield ))
    {
        skip( "the names are not ntdll's here\n" );
        return;
    }
#define X( ret, name, args ) \
    ok( target( GetProcAddress( ntdll, #name ) ) == target( p##name ), \
        "1.1 %s: %p, imported %p\n", #name, (void *)GetProcAddress( ntdll, #name ), \
        (void *)p##name );
    UMS_NTDLL_FACTORY_EXPORTS( X )
#undef X
}

/* 1.1 Zw names do what Nt names do */
START_TEST( factory_type_twins )
{
    factory_packet packet;
    HANDLE port, handle = NULL;
    volatile LONG pending = -1;
    ULONG value = 7, count;
    factory_info info;

    if (!factory_needs()) return;
    if (!(port = factory_port( 0 ))) return;
    STATUS_IS( "1.1", pZwCreateWorkerFactory( &handle, WORKER_FACTORY_ALL_ACCESS, NULL, port,
                                              GetCurrentProcess(), (void *)0x12345678, &value, 9,
                                              0, 0 ), STATUS_SUCCESS );
    STATUS_IS( "1.1", pZwSetInformationWorkerFactory( handle, WorkerFactoryThreadMaximum, &value,
                                                      sizeof(value) ), STATUS_SUCCESS );
    STATUS_IS( "1.1", pZwQueryInformationWorkerFactory( handle, WorkerFactoryBasicInformation,
                                                        &info, sizeof(info), &count ),
               STATUS_SUCCESS );
    ok( info.ThreadMaximum == 7 && info.StartParameter == &value, "1.1 maximum %lu, parameter %p\n",
        info.ThreadMaximum, info.StartParameter );
    STATUS_IS( "1.1", pZwShutdownWorkerFactory( handle, &pending ), STATUS_SUCCESS );
    ok( pNtReleaseWorkerFactoryWorker( handle ) == pZwReleaseWorkerFactoryWorker( handle ),
        "1.1 releases differ\n" );
    ok( pNtWorkerFactoryWorkerReady( handle ) == pZwWorkerFactoryWorkerReady( handle ),
        "1.1 Ready differs\n" );
    ok( pNtWaitForWorkViaWorkerFactory( handle, &packet, 1, &count, NULL ) ==
            pZwWaitForWorkViaWorkerFactory( handle, &packet, 1, &count, NULL ),
        "1.1 waits differ\n" );
    CloseHandle( handle );
    CloseHandle( port );
}

/* 1.2, 1.3 */
START_TEST( factory_type_values )
{
    ok( WORKER_FACTORY_RELEASE_WORKER == 0x01, "1.2 RELEASE_WORKER\n" );
    ok( WORKER_FACTORY_WAIT == 0x02, "1.2 WAIT\n" );
    ok( WORKER_FACTORY_SET_INFORMATION == 0x04, "1.2 SET_INFORMATION\n" );
    ok( WORKER_FACTORY_QUERY_INFORMATION == 0x08, "1.2 QUERY_INFORMATION\n" );
    ok( WORKER_FACTORY_READY_WORKER == 0x10, "1.2 READY_WORKER\n" );
    ok( WORKER_FACTORY_SHUTDOWN == 0x20, "1.2 SHUTDOWN\n" );
    ok( WORKER_FACTORY_ALL_ACCESS == 0x000f003f, "1.2 ALL_ACCESS\n" );
    ok( WorkerFactoryTimeout == 0 && WorkerFactoryRetryTimeout == 1 &&
            WorkerFactoryIdleTimeout == 2 && WorkerFactoryBindingCount == 3 &&
            WorkerFactoryThreadMinimum == 4 && WorkerFactoryThreadMaximum == 5 &&
            WorkerFactoryPaused == 6 && WorkerFactoryBasicInformation == 7,
        "1.3 classes 0 to 7\n" );
    ok( WorkerFactoryAdjustThreadGoal == 8 && WorkerFactoryCallbackType == 9 &&
            WorkerFactoryStackInformation == 10 && WorkerFactoryThreadBasePriority == 11 &&
            WorkerFactoryTimeoutWaiters == 12 && WorkerFactoryFlags == 13 &&
            WorkerFactoryThreadSoftMaximum == 14 && WorkerFactoryThreadCpuSets == 15 &&
            MaxWorkerFactoryInfoClass == FACTORY_CLASSES, "1.3 classes 8 to 15\n" );
}

/* 1.4 the system fills in what the header declares: no byte before, none behind */
START_TEST( factory_type_layouts )
{
    static struct factory factory;
    BYTE buffer[sizeof(factory_info) + 16];
    ULONG length = POISON, i, beyond = 0;
    factory_info *info = (factory_info *)buffer;

    ok( sizeof(factory_info) == 0x78 && sizeof(factory_packet) == 0x20 &&
            sizeof(WORKER_FACTORY_DEFERRED_WORK) == 0x18, "1.4 sizes\n" );
    factory.reserve = 0x340000;
    factory.commit = 0x12000;
    if (!factory_open( &factory )) return;
    memset( buffer, 0xcc, sizeof(buffer) );
    STATUS_IS( "1.4", pNtQueryInformationWorkerFactory( factory.handle,
                                                        WorkerFactoryBasicInformation, info,
                                                        sizeof(*info), &length ), STATUS_SUCCESS );
    for (i = sizeof(*info); i < sizeof(buffer); i++) beyond += buffer[i] != 0xcc;
    ok( length == 0x78 && !beyond, "1.4 %lu bytes, %lu behind\n", length, beyond );
    ok( *(DWORD *)(buffer + 0x28) == 20, "1.4 maximum %lu\n", *(DWORD *)(buffer + 0x28) );
    ok( *(void **)(buffer + 0x48) == (void *)factory_start, "1.4 routine\n" );
    ok( *(void **)(buffer + 0x50) == &factory, "1.4 parameter\n" );
    ok( *(DWORD_PTR *)(buffer + 0x58) == GetCurrentProcessId(), "1.4 process\n" );
    ok( *(SIZE_T *)(buffer + 0x60) == 0x340000 && *(SIZE_T *)(buffer + 0x68) == 0x12000,
        "1.4 stack %#llx, %#llx\n", (ULONGLONG)*(SIZE_T *)(buffer + 0x60),
        (ULONGLONG)*(SIZE_T *)(buffer + 0x68) );
    ok( *(NTSTATUS *)(buffer + 0x70) == 0, "1.4 last creation %08lx\n",
        *(ULONG *)(buffer + 0x70) );
    factory_close( &factory );
}
