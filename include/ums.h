/*
 * User-Mode Scheduling, the Win32 functions: declarations that mingw-w64's winbase.h does not have.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Exported by KERNEL32.dll (and api-ms-win-core-ums-l1-1-0) of 64-bit Windows 7 .. 10 [doc]; here
 * by kernel32_ums.dll, to which the launcher redirects those names.
 *
 * Every function that returns BOOL sets the last error when it returns FALSE. "Any thread" means
 * scheduler threads, workers and plain threads. "No lock" means: takes no lock, allocates nothing,
 * enters no kernel, so that it is safe in a SchedulerProc whatever its workers hold. Sources: [doc]
 * Microsoft's pages, [sdk] Windows SDK headers, [seen] third parties' reports and the needs of real
 * clients, [guess] ours.
 */
#ifndef UMS_H
#define UMS_H

#include <windows.h>

#ifndef _WIN64
#error "User-Mode Scheduling is for 64-bit x86 programs only"
#endif

/* Members without a name: an extension of compilers, not in ISO C++. */
#ifdef __GNUC__
#define UMS_NAMELESS __extension__
#else
#define UMS_NAMELESS
#endif
#ifdef _MSC_VER
#pragma warning( push )
#pragma warning( disable: 4201 )
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Microsoft's SDK declares all of this in winbase.h, mingw-w64 does not. */
#ifndef UMS_VERSION
#define UMS_VERSION RTL_UMS_VERSION                 /* 0x0100 [sdk] */

typedef void *PUMS_CONTEXT;                     /* opaque: a worker or scheduler thread [sdk] */
typedef void *PUMS_COMPLETION_LIST;                 /* opaque [sdk] */

typedef enum _RTL_UMS_THREAD_INFO_CLASS UMS_THREAD_INFO_CLASS, *PUMS_THREAD_INFO_CLASS;
typedef enum _RTL_UMS_SCHEDULER_REASON UMS_SCHEDULER_REASON;
typedef PRTL_UMS_SCHEDULER_ENTRY_POINT PUMS_SCHEDULER_ENTRY_POINT;

/* EnterUmsSchedulingMode [sdk] */
typedef struct _UMS_SCHEDULER_STARTUP_INFO
{
    ULONG                      UmsVersion;          /* UMS_VERSION */
    PUMS_COMPLETION_LIST       CompletionList;      /* where workers arrive after they blocked */
    PUMS_SCHEDULER_ENTRY_POINT SchedulerProc;       /* the upcall */
    PVOID                      SchedulerParam;      /* third argument of the first upcall */
} UMS_SCHEDULER_STARTUP_INFO, *PUMS_SCHEDULER_STARTUP_INFO;

/* GetUmsSystemThreadInformation [sdk] */
typedef struct _UMS_SYSTEM_THREAD_INFORMATION
{
    ULONG UmsVersion;                               /* in: UMS_VERSION */
    UMS_NAMELESS union
    {
        struct
        {
            ULONG IsUmsSchedulerThread : 1;
            ULONG IsUmsWorkerThread    : 1;
        };
        ULONG ThreadUmsFlags;                       /* out: at most one bit [doc] */
    };
} UMS_SYSTEM_THREAD_INFORMATION, *PUMS_SYSTEM_THREAD_INFORMATION;

#ifndef PROC_THREAD_ATTRIBUTE_UMS_THREAD
#define PROC_THREAD_ATTRIBUTE_UMS_THREAD 0x00030006 /* UMS_CREATE_THREAD_ATTRIBUTES [sdk] */
#endif

/* A new, empty list with one auto-reset event. Any thread; allocates.
   ERROR_NOT_ENOUGH_MEMORY [doc]; ERROR_INVALID_PARAMETER if list is NULL [guess]. */
BOOL WINAPI CreateUmsCompletionList( PUMS_COMPLETION_LIST *list );

/* Free a list. The caller has to make sure that it is empty; this is not checked [seen]. Any thread.
   ERROR_INVALID_PARAMETER: NULL [seen], not a list or deleted already [guess]. */
BOOL WINAPI DeleteUmsCompletionList( PUMS_COMPLETION_LIST list );

/* A new handle (close it with CloseHandle) to the list's event, which is set when something is
   queued to the empty list [doc]. It may be signalled while the list is empty, but it stays signalled
   until a thread has seen what was queued [seen]. Any thread. ERROR_INVALID_PARAMETER [seen]. */
BOOL WINAPI GetUmsCompletionListEvent( PUMS_COMPLETION_LIST list, PHANDLE event );

/* Take everything off the list; *first is the first of a chain, walked with GetNextUmsListItem.
   timeout in milliseconds. Empty: with timeout 0, or if another thread was faster, TRUE and NULL
   [seen]; after a timeout FALSE, ERROR_TIMEOUT and NULL [doc]. Any thread; no lock with timeout
   0. ERROR_INVALID_PARAMETER: NULL arguments [seen]. */
BOOL WINAPI DequeueUmsCompletionListItems( PUMS_COMPLETION_LIST list, DWORD timeout,
                                           PUMS_CONTEXT *first );

/* The context behind this one in a dequeued chain, NULL at its end; the link is consumed [seen].
   Any thread, no lock. */
PUMS_CONTEXT WINAPI GetNextUmsListItem( PUMS_CONTEXT context );

/* A context for a new worker, marked terminated until a thread is created with it [seen]. Any thread;
   allocates. ERROR_NOT_ENOUGH_MEMORY [doc]; ERROR_INVALID_PARAMETER if context is NULL [guess]. */
BOOL WINAPI CreateUmsThreadContext( PUMS_CONTEXT *context );

/* Free the context of a worker that is terminated or was never created. Any thread, no lock.
   ERROR_INVALID_PARAMETER: NULL, or the worker lives [seen]. */
BOOL WINAPI DeleteUmsThreadContext( PUMS_CONTEXT context );

/* Make the calling thread a scheduler thread. SchedulerProc is entered again and again on the
   same stack base; when it returns, the thread is ordinary again and the call returns TRUE
   [seen]. ERROR_INVALID_PARAMETER: version, list; ERROR_NOT_SUPPORTED: is a UMS thread already
   [seen]. */
BOOL WINAPI EnterUmsSchedulingMode( PUMS_SCHEDULER_STARTUP_INFO info );

/* Run a worker on the calling scheduler thread. Returns only on failure: ERROR_RETRY (try again)
   [doc]; ERROR_NOT_SUPPORTED: the caller is not a scheduler thread; ERROR_INVALID_PARAMETER: not a
   worker, or suspended, or terminated; ERROR_INTERNAL_ERROR: it runs on another scheduler [seen]. No
   lock. */
BOOL WINAPI ExecuteUmsThread( PUMS_CONTEXT context );

/* Give the processor back to the scheduler: SchedulerProc( UmsSchedulerThreadYield, context,
   param ). TRUE when the worker is executed again, maybe elsewhere [doc].
   ERROR_INVALID_PARAMETER: the caller is not a worker. No lock. */
BOOL WINAPI UmsThreadYield( PVOID param );

/* The caller's own context; NULL, ERROR_NOT_SUPPORTED on a plain thread [seen]. No lock. */
PUMS_CONTEXT WINAPI GetCurrentUmsThread( void );

/* Read one property: UmsThreadUserContext and UmsThreadTeb 8 bytes, UmsThreadIsSuspended and
   UmsThreadIsTerminated 1 [doc]. Any thread, no lock. ERROR_BAD_LENGTH: not exactly that length;
   ERROR_NOT_SUPPORTED: other class [seen]. */
BOOL WINAPI QueryUmsThreadInformation( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class,
                                       PVOID buffer, ULONG length, PULONG ret_length );

/* Write UmsThreadUserContext; every other class is ERROR_NOT_SUPPORTED. Any thread, no lock. */
BOOL WINAPI SetUmsThreadInformation( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class,
                                     PVOID buffer, ULONG length );

/* What kind of UMS thread a handle (THREAD_QUERY_INFORMATION) stands for [doc]. Not in Windows 7
   RTM [seen]. ERROR_INVALID_PARAMETER: wrong UmsVersion [guess]; the error of the handle. */
BOOL WINAPI GetUmsSystemThreadInformation( HANDLE thread, PUMS_SYSTEM_THREAD_INFORMATION info );
#endif /* UMS_VERSION */

#ifdef __cplusplus
}
#endif
#ifdef _MSC_VER
#pragma warning( pop )
#endif

C_ASSERT( sizeof(UMS_SCHEDULER_STARTUP_INFO) == 0x20 );
C_ASSERT( FIELD_OFFSET( UMS_SCHEDULER_STARTUP_INFO, CompletionList ) == 0x08 );
C_ASSERT( FIELD_OFFSET( UMS_SCHEDULER_STARTUP_INFO, SchedulerProc ) == 0x10 );
C_ASSERT( FIELD_OFFSET( UMS_SCHEDULER_STARTUP_INFO, SchedulerParam ) == 0x18 );
C_ASSERT( sizeof(UMS_SYSTEM_THREAD_INFORMATION) == 8 );
C_ASSERT( FIELD_OFFSET( UMS_SYSTEM_THREAD_INFORMATION, ThreadUmsFlags ) == 4 );
C_ASSERT( sizeof(UMS_CREATE_THREAD_ATTRIBUTES) == 0x18 );
C_ASSERT( FIELD_OFFSET( UMS_CREATE_THREAD_ATTRIBUTES, UmsContext ) == 0x08 );
C_ASSERT( FIELD_OFFSET( UMS_CREATE_THREAD_ATTRIBUTES, UmsCompletionList ) == 0x10 );

#endif /* UMS_H */
