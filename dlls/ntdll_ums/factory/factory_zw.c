/*
 * The Zw twins of the seven calls of worker factories.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "workerfactory.h"

NTSTATUS NTAPI ZwCreateWorkerFactory( PHANDLE factory, ACCESS_MASK access,
                                      POBJECT_ATTRIBUTES attributes, HANDLE port, HANDLE process,
                                      PVOID start, PVOID parameter, ULONG max,
                                      SIZE_T stack_reserve, SIZE_T stack_commit )
{
    return NtCreateWorkerFactory( factory, access, attributes, port, process, start, parameter, max,
                                  stack_reserve, stack_commit );
}

NTSTATUS NTAPI ZwQueryInformationWorkerFactory( HANDLE factory, WORKERFACTORYINFOCLASS info_class,
                                                PVOID buffer, ULONG length, PULONG ret_length )
{
    return NtQueryInformationWorkerFactory( factory, info_class, buffer, length, ret_length );
}

NTSTATUS NTAPI ZwSetInformationWorkerFactory( HANDLE factory, WORKERFACTORYINFOCLASS info_class,
                                              PVOID buffer, ULONG length )
{
    return NtSetInformationWorkerFactory( factory, info_class, buffer, length );
}

NTSTATUS NTAPI ZwShutdownWorkerFactory( HANDLE factory, volatile LONG *pending )
{
    return NtShutdownWorkerFactory( factory, pending );
}

NTSTATUS NTAPI ZwReleaseWorkerFactoryWorker( HANDLE factory )
{
    return NtReleaseWorkerFactoryWorker( factory );
}

NTSTATUS NTAPI ZwWorkerFactoryWorkerReady( HANDLE factory )
{
    return NtWorkerFactoryWorkerReady( factory );
}

NTSTATUS NTAPI ZwWaitForWorkViaWorkerFactory( HANDLE factory,
                                              PFILE_IO_COMPLETION_INFORMATION packets, ULONG count,
                                              PULONG returned,
                                              PWORKER_FACTORY_DEFERRED_WORK deferred )
{
    return NtWaitForWorkViaWorkerFactory( factory, packets, count, returned, deferred );
}
