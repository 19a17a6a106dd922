/*
 * Worker factories, the native half of the Windows thread pool: declarations that mingw-w64's headers
 * do not have.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Exported by ntdll.dll of Windows Vista and later, each also as Zw* [seen]; here by ntdll_ums.dll,
 * to which the launcher redirects those names. Any thread may call any of them, also a UMS worker: it is
 * blocked while it waits for work, as in any kernel call. They take no heap or loader lock; Set may wait
 * until threads are created. A buffer that cannot be accessed gives STATUS_ACCESS_VIOLATION. A handle
 * gives STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, or STATUS_ACCESS_DENIED if it lacks the access
 * right that is named. After the shutdown of a factory Set, Release, Ready and Wait give
 * STATUS_SHUTDOWN_IN_PROGRESS [guess]. Layouts and names [sym], the rest as marked.
 */
#ifndef WORKERFACTORY_H
#define WORKERFACTORY_H

#include <windows.h>
#include <winternl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Access rights. SYNCHRONIZE is not one of them: a factory cannot be waited for [seen]. */
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
    WorkerFactoryBindingCount       = 3,        /* ULONG, as all below except where noted */
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

/* A packet of the port. KeyContext 0: NtReleaseWorkerFactoryWorker. */
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

/* Create a factory for a completion port. The handle of the port needs IO_COMPLETION_MODIFY_STATE. process
   must be the calling process; otherwise STATUS_ACCESS_DENIED [guess]. No thread is created yet, and start
   is not checked [seen]. max: the most threads, 0 means 500 [guess]; stack sizes in bytes, 0: those of the
   image. STATUS_NO_MEMORY; STATUS_NOT_SUPPORTED: UMS cannot run on this host. */
NTSTATUS NTAPI NtCreateWorkerFactory( PHANDLE factory, ACCESS_MASK access,
                                      POBJECT_ATTRIBUTES attributes, HANDLE port, HANDLE process,
                                      PVOID start, PVOID parameter, ULONG max,
                                      SIZE_T stack_reserve, SIZE_T stack_commit );
/* WorkerFactoryBasicInformation only; otherwise STATUS_INVALID_INFO_CLASS [guess]. length in bytes; too
   short: STATUS_INFO_LENGTH_MISMATCH [guess]. Access: WORKER_FACTORY_QUERY_INFORMATION. */
NTSTATUS NTAPI NtQueryInformationWorkerFactory( HANDLE factory, WORKERFACTORYINFOCLASS info_class,
                                                PVOID buffer, ULONG length, PULONG ret_length );
/* Set one value. Class, length, buffer and handle are checked in this order [seen]:
   STATUS_INVALID_INFO_CLASS, STATUS_INFO_LENGTH_MISMATCH. STATUS_INVALID_PARAMETER: a minimum above the
   maximum [guess]. Access: WORKER_FACTORY_SET_INFORMATION. */
NTSTATUS NTAPI NtSetInformationWorkerFactory( HANDLE factory, WORKERFACTORYINFOCLASS info_class,
                                              PVOID buffer, ULONG length );
/* End all waits, and create no further thread. *pending: the number of threads that were created and are
   not ready yet [guess]; must not be NULL. Access: WORKER_FACTORY_SHUTDOWN. */
NTSTATUS NTAPI NtShutdownWorkerFactory( HANDLE factory, volatile LONG *pending );
/* Let one thread's wait end with a packet whose KeyContext is 0; if none waits, a thread is created.
   STATUS_UNSUCCESSFUL: too many are pending [guess]. Access: WORKER_FACTORY_RELEASE_WORKER. */
NTSTATUS NTAPI NtReleaseWorkerFactoryWorker( HANDLE factory );
/* A thread of the factory calls this once, before it waits. STATUS_INVALID_PARAMETER: the factory has not
   created the calling thread [guess]. Access: WORKER_FACTORY_READY_WORKER. */
NTSTATUS NTAPI NtWorkerFactoryWorkerReady( HANDLE factory );
/* Wait for at least one packet, and at most count; *returned is their number. STATUS_TIMEOUT: the thread
   was idle for too long and has to end. STATUS_INVALID_PARAMETER: no buffer, count 0, or a thread of
   another factory; STATUS_NOT_SUPPORTED: an ALPC message to send [guess]. This is the form of Windows 8.1
   and later. Windows 7 has the first two parameters, Windows 8 the first four [seen]; the version in the
   PEB decides which form is used. Access: WORKER_FACTORY_WAIT. */
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
