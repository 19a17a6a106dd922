/*
 * Worker factories, the native half of the Windows thread pool: what mingw-w64's headers leave out.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Exported by ntdll.dll of Windows Vista and later, each also as Zw* [seen]; here by ntdll_ums.dll,
 * to which the launcher redirects those names. Any thread may call any of them, a UMS worker too:
 * one that waits for work is blocked as in any kernel call. Layouts and names [sym], the rest as
 * marked.
 */
#ifndef WORKERFACTORY_H
#define WORKERFACTORY_H

#include <windows.h>
#include <winternl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Access rights. SYNCHRONIZE is none: nobody can wait for a factory [seen]. */
#define WORKER_FACTORY_RELEASE_WORKER    0x01
#define WORKER_FACTORY_WAIT              0x02
#define WORKER_FACTORY_SET_INFORMATION   0x04
#define WORKER_FACTORY_QUERY_INFORMATION 0x08
#define WORKER_FACTORY_READY_WORKER      0x10
#define WORKER_FACTORY_SHUTDOWN          0x20
#define WORKER_FACTORY_ALL_ACCESS        (STANDARD_RIGHTS_REQUIRED | 0x3f)

typedef enum _WORKERFACTORYINFOCLASS
{
    WorkerFactoryTimeout            = 0,        /* LARGE_INTEGER, as the next two: 100 ns */
    WorkerFactoryRetryTimeout       = 1,
    WorkerFactoryIdleTimeout        = 2,
    WorkerFactoryBindingCount       = 3,        /* ULONG, as all below but for the exceptions */
    WorkerFactoryThreadMinimum      = 4,
    WorkerFactoryThreadMaximum      = 5,
    WorkerFactoryPaused             = 6,
    WorkerFactoryBasicInformation   = 7,        /* WORKER_FACTORY_BASIC_INFORMATION, query only */
    WorkerFactoryAdjustThreadGoal   = 8,
    WorkerFactoryCallbackType       = 9,
    WorkerFactoryStackInformation   = 10,       /* Windows 7's last */
    WorkerFactoryThreadBasePriority = 11,       /* from Windows 8 on */
    WorkerFactoryTimeoutWaiters     = 12,       /* from Windows 10 on */
    WorkerFactoryFlags              = 13,
    WorkerFactoryThreadSoftMaximum  = 14,
    WorkerFactoryThreadCpuSets      = 15,       /* from Windows 10 1809 on; ULONG[] */
    MaxWorkerFactoryInfoClass       = 16
} WORKERFACTORYINFOCLASS, *PWORKERFACTORYINFOCLASS;

typedef struct _WORKER_FACTORY_BASIC_INFORMATION
{
    LARGE_INTEGER Timeout;                      /* 0x00 */
    LARGE_INTEGER RetryTimeout;                 /* 0x08 */
    LARGE_INTEGER IdleTimeout;                  /* 0x10 */
    BOOLEAN       Paused;                       /* 0x18 */
    BOOLEAN       TimerSet;
    BOOLEAN       QueuedToExWorker;
    BOOLEAN       MayCreate;
    BOOLEAN       CreateInProgress;
    BOOLEAN       InsertedIntoQueue;
    BOOLEAN       Shutdown;                     /* 0x1e */
    ULONG         BindingCount;                 /* 0x20 */
    ULONG         ThreadMinimum;
    ULONG         ThreadMaximum;
    ULONG         PendingWorkerCount;           /* 0x2c created, but not ready yet [seen] */
    ULONG         WaitingWorkerCount;
    ULONG         TotalWorkerCount;
    ULONG         ReleaseCount;                 /* 0x38 */
    LONGLONG      InfiniteWaitGoal;             /* 0x40 */
    PVOID         StartRoutine;
    PVOID         StartParameter;
    HANDLE        ProcessId;                    /* 0x58 */
    SIZE_T        StackReserve;
    SIZE_T        StackCommit;
    NTSTATUS      LastThreadCreationStatus;     /* 0x70 */
} WORKER_FACTORY_BASIC_INFORMATION, *PWORKER_FACTORY_BASIC_INFORMATION;

/* A packet of the port. KeyContext 0: a worker was released. */
#ifndef _FILE_IO_COMPLETION_INFORMATION_DEFINED
#define _FILE_IO_COMPLETION_INFORMATION_DEFINED
typedef struct _FILE_IO_COMPLETION_INFORMATION
{
    PVOID           KeyContext;
    PVOID           ApcContext;
    IO_STATUS_BLOCK IoStatusBlock;
} FILE_IO_COMPLETION_INFORMATION, *PFILE_IO_COMPLETION_INFORMATION;
#endif

/* An ALPC message to be sent when the wait begins. */
typedef struct _WORKER_FACTORY_DEFERRED_WORK
{
    struct _PORT_MESSAGE *AlpcSendMessage;
    PVOID                 AlpcSendMessagePort;
    ULONG                 AlpcSendMessageFlags;
    ULONG                 Flags;
} WORKER_FACTORY_DEFERRED_WORK, *PWORKER_FACTORY_DEFERRED_WORK;

typedef void (NTAPI *PWORKER_FACTORY_START_ROUTINE)( PVOID parameter );

/* The port needs IO_COMPLETION_MODIFY_STATE; the process is the calling one. No thread is made yet,
   and start is not looked at [seen]. max 0: 500 [guess]; a stack size of 0: that of the image. */
NTSTATUS NTAPI NtCreateWorkerFactory( PHANDLE factory, ACCESS_MASK access,
                                      POBJECT_ATTRIBUTES attributes, HANDLE port, HANDLE process,
                                      PVOID start, PVOID parameter, ULONG max,
                                      SIZE_T stack_reserve, SIZE_T stack_commit );
/* WorkerFactoryBasicInformation only [guess] */
NTSTATUS NTAPI NtQueryInformationWorkerFactory( HANDLE factory, WORKERFACTORYINFOCLASS info_class,
                                                PVOID buffer, ULONG length, PULONG ret_length );
/* Class, length, buffer and handle are looked at in this order [seen]. */
NTSTATUS NTAPI NtSetInformationWorkerFactory( HANDLE factory, WORKERFACTORYINFOCLASS info_class,
                                              PVOID buffer, ULONG length );
/* *pending: how many workers have been created that are not ready [guess] */
NTSTATUS NTAPI NtShutdownWorkerFactory( HANDLE factory, volatile LONG *pending );
/* One worker's wait ends with a packet whose KeyContext is 0; if none waits, one is created. */
NTSTATUS NTAPI NtReleaseWorkerFactoryWorker( HANDLE factory );
/* A worker, once, before it waits. */
NTSTATUS NTAPI NtWorkerFactoryWorkerReady( HANDLE factory );
/* A worker waits for up to count packets. STATUS_TIMEOUT: it was idle for too long and is to end;
   any other error: the factory is shut down. Windows 8.1 and later. Windows 7 has the first two
   parameters, Windows 8 the first four [seen]; which form is meant, the version in the PEB says. */
NTSTATUS NTAPI NtWaitForWorkViaWorkerFactory( HANDLE factory,
                                              PFILE_IO_COMPLETION_INFORMATION packets, ULONG count,
                                              PULONG returned,
                                              PWORKER_FACTORY_DEFERRED_WORK deferred );

NTSTATUS NTAPI ZwCreateWorkerFactory( PHANDLE, ACCESS_MASK, POBJECT_ATTRIBUTES, HANDLE, HANDLE,
                                      PVOID, PVOID, ULONG, SIZE_T, SIZE_T );
NTSTATUS NTAPI ZwQueryInformationWorkerFactory( HANDLE, WORKERFACTORYINFOCLASS, PVOID, ULONG,
                                                PULONG );
NTSTATUS NTAPI ZwSetInformationWorkerFactory( HANDLE, WORKERFACTORYINFOCLASS, PVOID, ULONG );
NTSTATUS NTAPI ZwShutdownWorkerFactory( HANDLE, volatile LONG * );
NTSTATUS NTAPI ZwReleaseWorkerFactoryWorker( HANDLE );
NTSTATUS NTAPI ZwWorkerFactoryWorkerReady( HANDLE );
NTSTATUS NTAPI ZwWaitForWorkViaWorkerFactory( HANDLE, PFILE_IO_COMPLETION_INFORMATION, ULONG,
                                              PULONG, PWORKER_FACTORY_DEFERRED_WORK );

#ifdef __cplusplus
}
#endif

C_ASSERT( sizeof(FILE_IO_COMPLETION_INFORMATION) == 4 * sizeof(void *) );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, Timeout ) == 0x00 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, RetryTimeout ) == 0x08 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, IdleTimeout ) == 0x10 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, Paused ) == 0x18 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, MayCreate ) == 0x1b );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, Shutdown ) == 0x1e );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, BindingCount ) == 0x20 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, ThreadMinimum ) == 0x24 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, ThreadMaximum ) == 0x28 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, PendingWorkerCount ) == 0x2c );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, WaitingWorkerCount ) == 0x30 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, TotalWorkerCount ) == 0x34 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, ReleaseCount ) == 0x38 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, InfiniteWaitGoal ) == 0x40 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, StartRoutine ) == 0x48 );
#ifdef _WIN64
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, StartParameter ) == 0x50 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, ProcessId ) == 0x58 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, StackReserve ) == 0x60 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, StackCommit ) == 0x68 );
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, LastThreadCreationStatus ) == 0x70 );
C_ASSERT( sizeof(WORKER_FACTORY_BASIC_INFORMATION) == 0x78 );
C_ASSERT( sizeof(WORKER_FACTORY_DEFERRED_WORK) == 0x18 );
#else
C_ASSERT( FIELD_OFFSET( WORKER_FACTORY_BASIC_INFORMATION, LastThreadCreationStatus ) == 0x5c );
C_ASSERT( sizeof(WORKER_FACTORY_BASIC_INFORMATION) == 0x60 );
C_ASSERT( sizeof(WORKER_FACTORY_DEFERRED_WORK) == 0x10 );
#endif

#endif /* WORKERFACTORY_H */
