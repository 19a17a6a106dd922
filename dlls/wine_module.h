/*
 * For -DUMS_WINE_MODULES=ON: included in front of every source, so that the same files build with
 * Wine's headers. Those lack some types, name some fields otherwise than the SDK, and declare native
 * calls with other, equally wide types than our files do, which were written for headers that
 * declare none of them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_WINE_MODULE_H
#define UMS_WINE_MODULE_H

#ifndef __ASSEMBLER__
#include <stdarg.h>

#define _KERNEL32_
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS

/* our own declarations count */
#define _FILE_IO_COMPLETION_INFORMATION wine_FILE_IO_COMPLETION_INFORMATION_
#define FILE_IO_COMPLETION_INFORMATION  wine_FILE_IO_COMPLETION_INFORMATION
#define PFILE_IO_COMPLETION_INFORMATION wine_PFILE_IO_COMPLETION_INFORMATION
#define NtCreateEvent            wine_NtCreateEvent
#define NtCreateThreadEx         wine_NtCreateThreadEx
#define NtMapViewOfSection       wine_NtMapViewOfSection
#define NtQueryInformationToken  wine_NtQueryInformationToken
#define NtQueryIoCompletion      wine_NtQueryIoCompletion
#define NtRemoveIoCompletionEx   wine_NtRemoveIoCompletionEx
#define NtSetInformationThread   wine_NtSetInformationThread
#define NtWaitForMultipleObjects wine_NtWaitForMultipleObjects
#define NtWriteFile              wine_NtWriteFile
#define RtlUserThreadStart       wine_RtlUserThreadStart
#include <winternl.h>
#undef _FILE_IO_COMPLETION_INFORMATION
#undef FILE_IO_COMPLETION_INFORMATION
#undef PFILE_IO_COMPLETION_INFORMATION
#undef NtCreateEvent
#undef NtCreateThreadEx
#undef NtMapViewOfSection
#undef NtQueryInformationToken
#undef NtQueryIoCompletion
#undef NtRemoveIoCompletionEx
#undef NtSetInformationThread
#undef NtWaitForMultipleObjects
#undef NtWriteFile
#undef RtlUserThreadStart

#define ProcessEnvironmentBlock Peb
#define Ldr                     LdrData

#define UMS_VERSION 0x0100                      /* most of what it guards is in Wine's headers */

/* and what these lack */
#ifndef STATUS_GUARD_PAGE_VIOLATION
#define STATUS_GUARD_PAGE_VIOLATION      ((NTSTATUS) 0x80000001)
#endif
#ifndef STATUS_STACK_OVERFLOW
#define STATUS_STACK_OVERFLOW            ((NTSTATUS) 0xC00000FD)
#endif
#define InterlockedExchange64( where, value ) \
    __atomic_exchange_n( where, value, __ATOMIC_SEQ_CST )

static inline ULONG64 __readgsqword( ULONG offset )
{
    ULONG64 ret;

    __asm__ volatile( "movq %%gs:(%q1), %0" : "=r" (ret) : "r" ((ULONG64)offset) );
    return ret;
}

static inline void __writegsqword( ULONG offset, ULONG64 value )
{
    __asm__ volatile( "movq %0, %%gs:(%q1)" : : "r" (value), "r" ((ULONG64)offset) : "memory" );
}

typedef struct _UMS_SYSTEM_THREAD_INFORMATION
{
    ULONG UmsVersion;
    union
    {
        struct
        {
            ULONG IsUmsSchedulerThread : 1;
            ULONG IsUmsWorkerThread    : 1;
        };
        ULONG ThreadUmsFlags;
    };
} UMS_SYSTEM_THREAD_INFORMATION, *PUMS_SYSTEM_THREAD_INFORMATION;

typedef struct _UMS_CREATE_THREAD_ATTRIBUTES
{
    DWORD UmsVersion;
    PVOID UmsContext;
    PVOID UmsCompletionList;
} UMS_CREATE_THREAD_ATTRIBUTES, *PUMS_CREATE_THREAD_ATTRIBUTES;
#endif

#endif /* UMS_WINE_MODULE_H */
