/*
 * User-Mode Scheduling, the native face: ntdll's Rtl layer and NtUmsThreadYield.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Exported by ntdll.dll of 64-bit Windows 7 .. 10 [seen 7600]; here by ntdll_ums.dll. Each function
 * does the same as the Win32 function without "Rtl". ums.h describes it, with its parameters and the rules
 * for threads and locks; only statuses and types differ. Prototypes and statuses [seen], layouts [sdk]
 * (public symbols) unless marked.
 */
#ifndef UMSNT_H
#define UMSNT_H

#include <windows.h>
#include "ums.h"

#ifndef _NTDEF_
typedef LONG NTSTATUS;
#endif

#ifdef _MSC_VER
#pragma warning( push )
#pragma warning( disable: 4201 )
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The context of a worker or scheduler thread. This is Windows' layout; a program must not depend on it,
   but debuggers do. The shim fills in Link, Teb, UserContext and Flags. */
typedef struct DECLSPEC_ALIGN(16) _RTL_UMS_CONTEXT
{
    PVOID    Link;                              /* 0x000 completion-list chain */
    ULONG64  Reserved0;
    CONTEXT  Context;                           /* 0x010 */
    PVOID    Teb;                               /* 0x4e0 */
    PVOID    UserContext;                       /* 0x4e8 */
    UMS_NAMELESS union
    {
        struct
        {
            ULONG ScheduledThread          : 1;
            ULONG Suspended                : 1;
            ULONG VolatileContext          : 1;
            ULONG Terminated               : 1;
            ULONG DebugActive              : 1;
            ULONG RunningOnSelfThread      : 1;
            ULONG DenyRunningOnSelfThread  : 1;
        };
        LONG Flags;                             /* 0x4f0 */
    };
    ULONG64  ContextLock;                       /* 0x4f8 bits 0-1 update lock, 2-63 thread id of
                                                   the scheduler */
    struct _RTL_UMS_CONTEXT *PrimaryUmsContext; /* 0x500 */
    ULONG    SwitchCount;                       /* 0x508 */
    ULONG    KernelYieldCount;
    ULONG    MixedYieldCount;
    ULONG    YieldCount;
} RTL_UMS_CONTEXT, *PRTL_UMS_CONTEXT;

/* ThreadUmsInformation (31) of NtQuery/SetInformationThread */
typedef enum _THREAD_UMS_INFORMATION_COMMAND
{
    UmsInformationCommandInvalid,
    UmsInformationCommandAttach,                /* Set: make the caller a scheduler thread;
                                                   length 24 or 32 */
    UmsInformationCommandDetach,                /* Set: make it plain again */
    UmsInformationCommandQuery                  /* Query: fill in the flags [guess] */
} THREAD_UMS_INFORMATION_COMMAND;

typedef struct _THREAD_UMS_INFORMATION
{
    THREAD_UMS_INFORMATION_COMMAND Command;     /* 0x00 */
    PVOID CompletionList;                       /* 0x08 */
    PVOID UmsContext;                           /* 0x10 */
    UMS_NAMELESS union
    {
        struct
        {
            ULONG IsUmsSchedulerThread : 1;
            ULONG IsUmsWorkerThread    : 1;
        };
        ULONG ThreadUmsFlags;                   /* 0x18 */
    };
} THREAD_UMS_INFORMATION, *PTHREAD_UMS_INFORMATION;

#define UMS_THREAD_INFORMATION_CLASS 31         /* THREADINFOCLASS ThreadUmsInformation */
#define PS_ATTRIBUTE_UMS_THREAD 0x0003000f      /* PsAttributeValue( 15, TRUE, TRUE, FALSE ) */

/* STATUS_NO_MEMORY; STATUS_INVALID_PARAMETER for NULL [guess] */
NTSTATUS NTAPI RtlCreateUmsCompletionList( PVOID *list );
/* STATUS_INVALID_PARAMETER */
NTSTATUS NTAPI RtlDeleteUmsCompletionList( PVOID list );
/* STATUS_INVALID_PARAMETER; errors of NtDuplicateObject */
NTSTATUS NTAPI RtlGetUmsCompletionListEvent( PVOID list, PHANDLE event );
/* timeout in units of 100 ns, negative: relative; NULL: wait for ever. STATUS_TIMEOUT if the list stays
   empty, also for timeout 0 */
NTSTATUS NTAPI RtlDequeueUmsCompletionListItems( PVOID list, PLARGE_INTEGER timeout, PVOID *first );
/* STATUS_INVALID_PARAMETER for NULL; *next NULL at the end */
NTSTATUS NTAPI RtlGetNextUmsListItem( PVOID context, PVOID *next );
/* STATUS_NO_MEMORY */
NTSTATUS NTAPI RtlCreateUmsThreadContext( PVOID *context );
/* STATUS_INVALID_PARAMETER: NULL, or the worker is alive */
NTSTATUS NTAPI RtlDeleteUmsThreadContext( PVOID context );
/* STATUS_INFO_LENGTH_MISMATCH, STATUS_NOT_SUPPORTED (class), STATUS_INVALID_PARAMETER (context) */
NTSTATUS NTAPI RtlQueryUmsThreadInformation( PVOID context, ULONG info_class, PVOID buffer,
                                             ULONG length, PULONG ret_length );
NTSTATUS NTAPI RtlSetUmsThreadInformation( PVOID context, ULONG info_class, PVOID buffer,
                                           ULONG length );
/* STATUS_NOT_SUPPORTED and NULL on a plain thread; STATUS_INVALID_PARAMETER for NULL */
NTSTATUS NTAPI RtlGetCurrentUmsThread( PVOID *context );
/* info: UMS_SCHEDULER_STARTUP_INFO. STATUS_INVALID_PARAMETER, STATUS_NOT_SUPPORTED */
NTSTATUS NTAPI RtlEnterUmsSchedulingMode( PVOID info );
/* never STATUS_SUCCESS: STATUS_INVALID_PARAMETER, _NOT_SUPPORTED, _INTERNAL_ERROR,
   _INVALID_THREAD, _RETRY */
NTSTATUS NTAPI RtlExecuteUmsThread( PVOID context );
/* STATUS_INVALID_PARAMETER: the caller is not a worker */
NTSTATUS NTAPI RtlUmsThreadYield( PVOID param );
NTSTATUS NTAPI NtUmsThreadYield( PVOID param );
NTSTATUS NTAPI ZwUmsThreadYield( PVOID param );

#ifdef __cplusplus
}
#endif
#ifdef _MSC_VER
#pragma warning( pop )
#endif

C_ASSERT( sizeof(RTL_UMS_CONTEXT) == 0x520 );
C_ASSERT( FIELD_OFFSET( RTL_UMS_CONTEXT, Context ) == 0x010 );
C_ASSERT( FIELD_OFFSET( RTL_UMS_CONTEXT, Teb ) == 0x4e0 );
C_ASSERT( FIELD_OFFSET( RTL_UMS_CONTEXT, UserContext ) == 0x4e8 );
C_ASSERT( FIELD_OFFSET( RTL_UMS_CONTEXT, Flags ) == 0x4f0 );
C_ASSERT( FIELD_OFFSET( RTL_UMS_CONTEXT, ContextLock ) == 0x4f8 );
C_ASSERT( FIELD_OFFSET( RTL_UMS_CONTEXT, YieldCount ) == 0x514 );
C_ASSERT( sizeof(THREAD_UMS_INFORMATION) == 0x20 );
C_ASSERT( FIELD_OFFSET( THREAD_UMS_INFORMATION, ThreadUmsFlags ) == 0x18 );

#endif /* UMSNT_H */
