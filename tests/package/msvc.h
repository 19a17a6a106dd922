/*
 * Comes before everything: mingw-w64's headers in their own dialect, then nothing of GNU's any more, so that what follows is
 * read as Microsoft's compiler reads it. (mingw-w64's headers do not compile in its dialect.) With WITH_SDK also what
 * Microsoft's winbase.h declares.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma push_macro( "_MSC_VER" )
#undef _MSC_VER
#define __GNUC__ 12
#define __GNUC_MINOR__ 0
#define __GNUC_PATCHLEVEL__ 0
#define __MINGW32__ 1
#define __MINGW64__ 1
#include <windows.h>
#include <winternl.h>
#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__
#undef __MINGW32__
#undef __MINGW64__
#pragma pop_macro( "_MSC_VER" )
#pragma GCC poison __attribute__ __extension__ __asm__ __typeof__

#ifdef WITH_SDK
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
#pragma warning( push )
#pragma warning( disable: 4201 )
typedef struct _UMS_SYSTEM_THREAD_INFORMATION
{
    ULONG UmsVersion;
    union
    {
        struct
        {
            ULONG IsUmsSchedulerThread : 1;
            ULONG IsUmsWorkerThread : 1;
        } DUMMYSTRUCTNAME;
        ULONG ThreadUmsFlags;
    } DUMMYUNIONNAME;
} UMS_SYSTEM_THREAD_INFORMATION, *PUMS_SYSTEM_THREAD_INFORMATION;
#pragma warning( pop )
#ifdef __cplusplus
extern "C"
#endif
__declspec(dllimport) BOOL WINAPI CreateUmsCompletionList( PUMS_COMPLETION_LIST *list );
#endif
