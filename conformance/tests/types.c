/*
 * Sizes, offsets and values (ums.md 2), as the compiler sees them: the contract with a foreign
 * binary.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umstest.h"

#define IS( expr, value ) \
    ok( (ULONGLONG)( expr ) == (value), "%s is %#llx, expected %#llx\n", #expr, \
        (ULONGLONG)( expr ), (ULONGLONG)( value ) )

/* 2: constants [sdk] */
START_TEST( types_values )
{
    IS( UMS_VERSION, 0x0100 );
    IS( RTL_UMS_VERSION, 0x0100 );
    IS( PROC_THREAD_ATTRIBUTE_UMS_THREAD, 0x30006 );
    IS( PS_ATTRIBUTE_UMS_THREAD, 0x3000f );
    IS( UMS_THREAD_INFORMATION_CLASS, 31 );
    IS( UmsSchedulerStartup, 0 );
    IS( UmsSchedulerThreadBlocked, 1 );
    IS( UmsSchedulerThreadYield, 2 );
    IS( UmsThreadInvalidInfoClass, 0 );
    IS( UmsThreadUserContext, 1 );
    IS( UmsThreadPriority, 2 );
    IS( UmsThreadAffinity, 3 );
    IS( UmsThreadTeb, 4 );
    IS( UmsThreadIsSuspended, 5 );
    IS( UmsThreadIsTerminated, 6 );
    IS( UmsThreadMaxInfoClass, 7 );
    IS( UmsInformationCommandAttach, 1 );
    IS( UmsInformationCommandDetach, 2 );
    IS( UmsInformationCommandQuery, 3 );
}

/* 2, 2.3: layouts [sdk] */
START_TEST( types_layouts )
{
    IS( sizeof(UMS_SCHEDULER_STARTUP_INFO), 32 );
    IS( offsetof( UMS_SCHEDULER_STARTUP_INFO, UmsVersion ), 0 );
    IS( offsetof( UMS_SCHEDULER_STARTUP_INFO, CompletionList ), 8 );
    IS( offsetof( UMS_SCHEDULER_STARTUP_INFO, SchedulerProc ), 16 );
    IS( offsetof( UMS_SCHEDULER_STARTUP_INFO, SchedulerParam ), 24 );
    IS( sizeof(UMS_CREATE_THREAD_ATTRIBUTES), 24 );
    IS( offsetof( UMS_CREATE_THREAD_ATTRIBUTES, UmsVersion ), 0 );
    IS( offsetof( UMS_CREATE_THREAD_ATTRIBUTES, UmsContext ), 8 );
    IS( offsetof( UMS_CREATE_THREAD_ATTRIBUTES, UmsCompletionList ), 16 );
    IS( sizeof(UMS_SYSTEM_THREAD_INFORMATION), 8 );
    IS( offsetof( UMS_SYSTEM_THREAD_INFORMATION, ThreadUmsFlags ), 4 );
    IS( sizeof(THREAD_UMS_INFORMATION), 32 );
    IS( offsetof( THREAD_UMS_INFORMATION, CompletionList ), 8 );
    IS( offsetof( THREAD_UMS_INFORMATION, UmsContext ), 16 );
    IS( offsetof( THREAD_UMS_INFORMATION, ThreadUmsFlags ), 24 );
    IS( sizeof(RTL_UMS_CONTEXT), 0x520 );
    IS( sizeof(CONTEXT), 0x4d0 );
    IS( offsetof( RTL_UMS_CONTEXT, Teb ), 0x4e0 );
    IS( offsetof( RTL_UMS_CONTEXT, UserContext ), 0x4e8 );
    IS( offsetof( RTL_UMS_CONTEXT, Flags ), 0x4f0 );
}

/* 2: the flags of UMS_SYSTEM_THREAD_INFORMATION are bits 0 and 1 [sdk] */
START_TEST( types_flags )
{
    UMS_SYSTEM_THREAD_INFORMATION info;
    THREAD_UMS_INFORMATION native;

    memset( &info, 0, sizeof(info) );
    info.IsUmsSchedulerThread = 1;
    IS( info.ThreadUmsFlags, 1 );
    info.ThreadUmsFlags = 0;
    info.IsUmsWorkerThread = 1;
    IS( info.ThreadUmsFlags, 2 );
    memset( &native, 0, sizeof(native) );
    native.IsUmsSchedulerThread = 1;
    IS( native.ThreadUmsFlags, 1 );
    native.ThreadUmsFlags = 0;
    native.IsUmsWorkerThread = 1;
    IS( native.ThreadUmsFlags, 2 );
}

/* 4.1: every name is there; 13 of kernel32 since 6.1.7600, the fourteenth later [seen] */
START_TEST( types_names )
{
#define X( ret, name, args ) need( name );
    UMS_KERNEL32_EXPORTS( X )
    UMS_KERNEL32_DOORS( X )
    UMS_NTDLL_EXPORTS( X )
#undef X
    ok( pNtQueryInformationThread && pNtSetInformationThread,
        "ntdll lacks thread information calls\n" );
}
