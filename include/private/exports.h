/*
 * The names of the UMS surface, once. Each list is used for prototypes, pointers, look-ups and the
 * redirection table.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * X( return type, name, arguments )
 */
#ifndef UMS_PRIVATE_EXPORTS_H
#define UMS_PRIVATE_EXPORTS_H

/* the 13 names of Windows 7 [seen 7600] */
#define UMS_KERNEL32_EXPORTS_7600( X ) \
    X( BOOL,         CreateUmsCompletionList,       (PUMS_COMPLETION_LIST *) ) \
    X( BOOL,         CreateUmsThreadContext,        (PUMS_CONTEXT *) ) \
    X( BOOL,         DeleteUmsCompletionList,       (PUMS_COMPLETION_LIST) ) \
    X( BOOL,         DeleteUmsThreadContext,        (PUMS_CONTEXT) ) \
    X( BOOL,         DequeueUmsCompletionListItems, (PUMS_COMPLETION_LIST, DWORD, \
                                                     PUMS_CONTEXT *) ) \
    X( BOOL,         EnterUmsSchedulingMode,        (PUMS_SCHEDULER_STARTUP_INFO) ) \
    X( BOOL,         ExecuteUmsThread,              (PUMS_CONTEXT) ) \
    X( PUMS_CONTEXT, GetCurrentUmsThread,           (void) ) \
    X( PUMS_CONTEXT, GetNextUmsListItem,            (PUMS_CONTEXT) ) \
    X( BOOL,         GetUmsCompletionListEvent,     (PUMS_COMPLETION_LIST, PHANDLE) ) \
    X( BOOL,         QueryUmsThreadInformation,     (PUMS_CONTEXT, UMS_THREAD_INFO_CLASS, PVOID, \
                                                     ULONG, PULONG) ) \
    X( BOOL,         SetUmsThreadInformation,       (PUMS_CONTEXT, UMS_THREAD_INFO_CLASS, PVOID, \
                                                     ULONG) ) \
    X( BOOL,         UmsThreadYield,                (PVOID) )

/* the fourteenth came with an update [seen 9200] */
#define UMS_KERNEL32_EXPORTS( X ) \
    UMS_KERNEL32_EXPORTS_7600( X ) \
    X( BOOL,         GetUmsSystemThreadInformation, (HANDLE, PUMS_SYSTEM_THREAD_INFORMATION) )

/* thread creation: the functions that handle PROC_THREAD_ATTRIBUTE_UMS_THREAD */
#define UMS_KERNEL32_DOORS( X ) \
    X( HANDLE, CreateRemoteThreadEx,              (HANDLE, LPSECURITY_ATTRIBUTES, SIZE_T, \
                                                   LPTHREAD_START_ROUTINE, \
                                                   LPVOID, DWORD, LPPROC_THREAD_ATTRIBUTE_LIST, \
                                                   LPDWORD) ) \
    X( BOOL,   InitializeProcThreadAttributeList, (LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD, \
                                                   PSIZE_T) ) \
    X( BOOL,   UpdateProcThreadAttribute,         (LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD_PTR, \
                                                   PVOID, SIZE_T, \
                                                   PVOID, PSIZE_T) ) \
    X( VOID,   DeleteProcThreadAttributeList,     (LPPROC_THREAD_ATTRIBUTE_LIST) )

/* ntdll's twins; all statuses [seen] */
#define UMS_NTDLL_EXPORTS( X ) \
    X( NTSTATUS, NtUmsThreadYield,                 (PVOID) ) \
    X( NTSTATUS, RtlCreateUmsCompletionList,       (PVOID *) ) \
    X( NTSTATUS, RtlCreateUmsThreadContext,        (PVOID *) ) \
    X( NTSTATUS, RtlDeleteUmsCompletionList,       (PVOID) ) \
    X( NTSTATUS, RtlDeleteUmsThreadContext,        (PVOID) ) \
    X( NTSTATUS, RtlDequeueUmsCompletionListItems, (PVOID, PLARGE_INTEGER, PVOID *) ) \
    X( NTSTATUS, RtlEnterUmsSchedulingMode,        (PVOID) ) \
    X( NTSTATUS, RtlExecuteUmsThread,              (PVOID) ) \
    X( NTSTATUS, RtlGetCurrentUmsThread,           (PVOID *) ) \
    X( NTSTATUS, RtlGetNextUmsListItem,            (PVOID, PVOID *) ) \
    X( NTSTATUS, RtlGetUmsCompletionListEvent,     (PVOID, PHANDLE) ) \
    X( NTSTATUS, RtlQueryUmsThreadInformation,     (PVOID, ULONG, PVOID, ULONG, PULONG) ) \
    X( NTSTATUS, RtlSetUmsThreadInformation,       (PVOID, ULONG, PVOID, ULONG) ) \
    X( NTSTATUS, RtlUmsThreadYield,                (PVOID) ) \
    X( NTSTATUS, ZwUmsThreadYield,                 (PVOID) )

/* worker factories, Vista and later [seen 6000]; with the types of workerfactory.h */
#define UMS_NTDLL_FACTORY_EXPORTS( X ) \
    X( NTSTATUS, NtCreateWorkerFactory,           (PHANDLE, ACCESS_MASK, POBJECT_ATTRIBUTES, \
                                                   HANDLE, HANDLE, PVOID, PVOID, ULONG, \
                                                   SIZE_T, SIZE_T) ) \
    X( NTSTATUS, NtQueryInformationWorkerFactory, (HANDLE, WORKERFACTORYINFOCLASS, PVOID, \
                                                   ULONG, PULONG) ) \
    X( NTSTATUS, NtReleaseWorkerFactoryWorker,    (HANDLE) ) \
    X( NTSTATUS, NtSetInformationWorkerFactory,   (HANDLE, WORKERFACTORYINFOCLASS, PVOID, \
                                                   ULONG) ) \
    X( NTSTATUS, NtShutdownWorkerFactory,         (HANDLE, volatile LONG *) ) \
    X( NTSTATUS, NtWaitForWorkViaWorkerFactory,   (HANDLE, PFILE_IO_COMPLETION_INFORMATION, \
                                                   ULONG, PULONG, \
                                                   PWORKER_FACTORY_DEFERRED_WORK) ) \
    X( NTSTATUS, NtWorkerFactoryWorkerReady,      (HANDLE) ) \
    X( NTSTATUS, ZwCreateWorkerFactory,           (PHANDLE, ACCESS_MASK, POBJECT_ATTRIBUTES, \
                                                   HANDLE, HANDLE, PVOID, PVOID, ULONG, \
                                                   SIZE_T, SIZE_T) ) \
    X( NTSTATUS, ZwQueryInformationWorkerFactory, (HANDLE, WORKERFACTORYINFOCLASS, PVOID, \
                                                   ULONG, PULONG) ) \
    X( NTSTATUS, ZwReleaseWorkerFactoryWorker,    (HANDLE) ) \
    X( NTSTATUS, ZwSetInformationWorkerFactory,   (HANDLE, WORKERFACTORYINFOCLASS, PVOID, \
                                                   ULONG) ) \
    X( NTSTATUS, ZwShutdownWorkerFactory,         (HANDLE, volatile LONG *) ) \
    X( NTSTATUS, ZwWaitForWorkViaWorkerFactory,   (HANDLE, PFILE_IO_COMPLETION_INFORMATION, \
                                                   ULONG, PULONG, \
                                                   PWORKER_FACTORY_DEFERRED_WORK) ) \
    X( NTSTATUS, ZwWorkerFactoryWorkerReady,      (HANDLE) )

#endif /* UMS_PRIVATE_EXPORTS_H */
