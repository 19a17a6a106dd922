/*
 * What Microsoft's winbase.h declares of UMS, and mingw-w64's since version 12: as imports of a DLL, and before ums.h.
 * headers.sh puts it into a copy of a winbase.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define UMS_VERSION RTL_UMS_VERSION
typedef void *PUMS_CONTEXT, *PUMS_COMPLETION_LIST;
typedef enum _RTL_UMS_THREAD_INFO_CLASS UMS_THREAD_INFO_CLASS, *PUMS_THREAD_INFO_CLASS;
typedef enum _RTL_UMS_SCHEDULER_REASON UMS_SCHEDULER_REASON;
typedef PRTL_UMS_SCHEDULER_ENTRY_POINT PUMS_SCHEDULER_ENTRY_POINT;
typedef struct _UMS_SCHEDULER_STARTUP_INFO
{
    ULONG UmsVersion;
    PUMS_COMPLETION_LIST CompletionList;
    PUMS_SCHEDULER_ENTRY_POINT SchedulerProc;
    PVOID SchedulerParam;
} UMS_SCHEDULER_STARTUP_INFO, *PUMS_SCHEDULER_STARTUP_INFO;
#ifdef _MSC_VER
#pragma warning( push )
#pragma warning( disable: 4201 )
#endif
typedef struct _UMS_SYSTEM_THREAD_INFORMATION
{
    ULONG UmsVersion;
    __MINGW_EXTENSION union
    {
        __MINGW_EXTENSION struct
        {
            ULONG IsUmsSchedulerThread : 1;
            ULONG IsUmsWorkerThread : 1;
        } DUMMYSTRUCTNAME;
        ULONG ThreadUmsFlags;
    } DUMMYUNIONNAME;
} UMS_SYSTEM_THREAD_INFORMATION, *PUMS_SYSTEM_THREAD_INFORMATION;
#ifdef _MSC_VER
#pragma warning( pop )
#endif

WINBASEAPI BOOL WINAPI CreateUmsCompletionList( PUMS_COMPLETION_LIST *list );
WINBASEAPI BOOL WINAPI DeleteUmsCompletionList( PUMS_COMPLETION_LIST list );
WINBASEAPI BOOL WINAPI GetUmsCompletionListEvent( PUMS_COMPLETION_LIST list, PHANDLE event );
WINBASEAPI BOOL WINAPI DequeueUmsCompletionListItems( PUMS_COMPLETION_LIST list, DWORD timeout, PUMS_CONTEXT *first );
WINBASEAPI PUMS_CONTEXT WINAPI GetNextUmsListItem( PUMS_CONTEXT context );
WINBASEAPI BOOL WINAPI CreateUmsThreadContext( PUMS_CONTEXT *context );
WINBASEAPI BOOL WINAPI DeleteUmsThreadContext( PUMS_CONTEXT context );
WINBASEAPI BOOL WINAPI EnterUmsSchedulingMode( PUMS_SCHEDULER_STARTUP_INFO info );
WINBASEAPI BOOL WINAPI ExecuteUmsThread( PUMS_CONTEXT context );
WINBASEAPI BOOL WINAPI UmsThreadYield( PVOID param );
WINBASEAPI PUMS_CONTEXT WINAPI GetCurrentUmsThread( VOID );
WINBASEAPI BOOL WINAPI QueryUmsThreadInformation( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class, PVOID buffer,
                                                  ULONG length, PULONG ret_length );
WINBASEAPI BOOL WINAPI SetUmsThreadInformation( PUMS_CONTEXT context, UMS_THREAD_INFO_CLASS info_class, PVOID buffer,
                                                ULONG length );
WINBASEAPI BOOL WINAPI GetUmsSystemThreadInformation( HANDLE thread, PUMS_SYSTEM_THREAD_INFORMATION info );
