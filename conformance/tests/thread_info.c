/*
 * ThreadUmsInformation of NtQueryInformationThread and NtSetInformationThread, taken from ntdll
 * (ums.md 4.2).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Only headers and one report speak of this class, so nearly everything is unverified.
 */
#include "umslib.h"

#define UMS_CLASS UMS_THREAD_INFORMATION_CLASS

struct native_answer
{
    NTSTATUS               status;
    ULONG                  length;
    THREAD_UMS_INFORMATION info;
};

static struct native_answer inside, detached;
static NTSTATUS attach_status, detach_status;

static void query( struct native_answer *answer, HANDLE thread, ULONG command, ULONG length )
{
    memset( &answer->info, 0, sizeof(answer->info) );
    answer->info.Command = command;
    answer->length = POISON;
    answer->status =
        pNtQueryInformationThread( thread, UMS_CLASS, &answer->info, length, &answer->length );
}

static void query_inside( void *arg )
{
    (void)arg;
    query( &inside, GetCurrentThread(), UmsInformationCommandQuery, sizeof(inside.info) );
}

/* 4.2 Query fills in the flags: 0 plain, 1 scheduler, 2 worker [guess] */
START_TEST( threadinfo_query )
{
    struct native_answer answer;

    query( &answer, GetCurrentThread(), UmsInformationCommandQuery, sizeof(answer.info) );
    observe( "threadinfo.plain", "%08lx flags %lu", (ULONG)answer.status,
             answer.info.ThreadUmsFlags );
    unverified ok( answer.status == STATUS_SUCCESS && !answer.info.ThreadUmsFlags,
                   "4.2 plain thread: %08lx flags %#lx\n", (ULONG)answer.status,
                   answer.info.ThreadUmsFlags );
    on_scheduler( query_inside, NULL );
    unverified ok( inside.status == STATUS_SUCCESS && inside.info.ThreadUmsFlags == 1,
                   "4.2 scheduler: %08lx flags %#lx\n", (ULONG)inside.status,
                   inside.info.ThreadUmsFlags );
    on_worker( query_inside, NULL );
    unverified ok( inside.status == STATUS_SUCCESS && inside.info.ThreadUmsFlags == 2,
                   "4.2 worker: %08lx flags %#lx\n", (ULONG)inside.status,
                   inside.info.ThreadUmsFlags );
}

/* 4.2 Query: wrong length, wrong command, bad handle [guess] */
START_TEST( threadinfo_query_bad )
{
    static const ULONG lengths[] = { 0, 8, 16, 31, 33, 64 };
    struct native_answer answer;
    BYTE buffer[64] = { UmsInformationCommandQuery };
    NTSTATUS status;
    size_t i;

    for (i = 0; i < ARRAYSIZE(lengths); i++)
    {
        push( "4.2 length %lu", lengths[i] );
        status =
            pNtQueryInformationThread( GetCurrentThread(), UMS_CLASS, buffer, lengths[i], NULL );
        unverified ok( status == STATUS_INFO_LENGTH_MISMATCH, "expected %08lx, got %08lx\n",
                       (ULONG)STATUS_INFO_LENGTH_MISMATCH, (ULONG)status );
        pop();
    }
    query( &answer, GetCurrentThread(), UmsInformationCommandInvalid, sizeof(answer.info) );
    unverified ok( answer.status == STATUS_INVALID_PARAMETER, "4.2 command 0: %08lx\n",
                   (ULONG)answer.status );
    query( &answer, GetCurrentThread(), UmsInformationCommandAttach, sizeof(answer.info) );
    unverified ok( answer.status == STATUS_INVALID_PARAMETER, "4.2 command Attach: %08lx\n",
                   (ULONG)answer.status );
    query( &answer, (HANDLE)0xdeadbec, UmsInformationCommandQuery, sizeof(answer.info) );
    unverified ok( answer.status == STATUS_INVALID_HANDLE, "4.2 bad handle: %08lx\n",
                   (ULONG)answer.status );
    /* other classes still work */
    status = pNtQueryInformationThread( GetCurrentThread(), 0, buffer, 48, NULL );
    ok( status == STATUS_SUCCESS, "4.2 ThreadBasicInformation: %08lx\n", (ULONG)status );
}

/* 4.2 the returned length is a ULONG: at the end of a page nothing behind it is touched [guess] */
START_TEST( threadinfo_query_length )
{
    THREAD_UMS_INFORMATION info;
    BYTE *pages = VirtualAlloc( NULL, 0x2000, MEM_RESERVE, PAGE_NOACCESS );
    ULONG *length;
    NTSTATUS status;

    if (!ok( VirtualAlloc( pages, 0x1000, MEM_COMMIT, PAGE_READWRITE ) != NULL, "no memory\n" ))
        return;
    length = (ULONG *)(pages + 0x1000 - sizeof(*length));
    *length = POISON;
    memset( &info, 0, sizeof(info) );
    info.Command = UmsInformationCommandQuery;
    status = pNtQueryInformationThread( GetCurrentThread(), UMS_CLASS, &info, sizeof(info),
                                        length );
    unverified ok( status == STATUS_SUCCESS && *length == sizeof(info), "4.2 %08lx, length %lu\n",
                   (ULONG)status, *length );
    VirtualFree( pages, 0, MEM_RELEASE );
}

static DWORD WINAPI attach_thread( void *arg )
{
    struct native_answer *query_answer = arg;
    THREAD_UMS_INFORMATION info;
    void *list = NULL;

    memset( &info, 0, sizeof(info) );
    pCreateUmsCompletionList( &list );
    info.Command = UmsInformationCommandAttach;
    info.CompletionList = list;
    pCreateUmsThreadContext( &info.UmsContext );
    attach_status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, &info, 24 );
    if (!attach_status)
    {
        query( query_answer, GetCurrentThread(), UmsInformationCommandQuery, sizeof(info) );
        info.Command = UmsInformationCommandDetach;
        detach_status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, &info, 24 );
        query( &detached, GetCurrentThread(), UmsInformationCommandQuery, sizeof(info) );
    }
    return 0;
}

/* 4.2 Set(Attach, length 24) makes the caller a scheduler, Detach ends that [seen], the rest
 * [guess] */
START_TEST( threadinfo_attach )
{
    struct native_answer attached;
    HANDLE thread;

    memset( &attached, 0, sizeof(attached) );
    thread = CreateThread( NULL, 0, attach_thread, &attached, 0, NULL );
    ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0, "4.2 no end within %d ms\n",
        WAIT_BOUND );
    CloseHandle( thread );
    observe( "threadinfo.attach", "%08lx", (ULONG)attach_status );
    unverified ok( attach_status == STATUS_SUCCESS, "4.2 Attach: %08lx\n", (ULONG)attach_status );
    if (attach_status) return;
    unverified ok( attached.info.ThreadUmsFlags == 1, "4.2 flags after Attach: %#lx\n",
                   attached.info.ThreadUmsFlags );
    unverified ok( detach_status == STATUS_SUCCESS && detached.info.ThreadUmsFlags == 0,
                   "4.2 Detach: %08lx, flags %#lx\n", (ULONG)detach_status,
                   detached.info.ThreadUmsFlags );
}

/* 4.2 Set: wrong commands, lengths, NULL members [guess]; the thread stays plain */
START_TEST( threadinfo_set_bad )
{
    static const ULONG lengths[] = { 0, 8, 16, 25, 31, 33, 64 };
    BYTE buffer[64] = { 0 };
    THREAD_UMS_INFORMATION *info = (THREAD_UMS_INFORMATION *)buffer;
    NTSTATUS status;
    size_t i;

    info->Command = UmsInformationCommandAttach;
    for (i = 0; i < ARRAYSIZE(lengths); i++)
    {
        push( "4.2 length %lu", lengths[i] );
        status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, buffer, lengths[i] );
        unverified ok( status == STATUS_INFO_LENGTH_MISMATCH, "expected %08lx, got %08lx\n",
                       (ULONG)STATUS_INFO_LENGTH_MISMATCH, (ULONG)status );
        pop();
    }
    status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, buffer, 24 );
    unverified ok( status == STATUS_INVALID_PARAMETER,
                   "4.2 Attach without list and context: %08lx\n", (ULONG)status );
    info->Command = UmsInformationCommandInvalid;
    status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, buffer, 24 );
    unverified ok( status == STATUS_INVALID_PARAMETER, "4.2 command 0: %08lx\n", (ULONG)status );
    info->Command = UmsInformationCommandQuery;
    status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, buffer, 24 );
    unverified ok( status == STATUS_INVALID_PARAMETER, "4.2 command Query: %08lx\n",
                   (ULONG)status );
    info->Command = UmsInformationCommandDetach;
    status = pNtSetInformationThread( GetCurrentThread(), UMS_CLASS, buffer, 24 );
    unverified ok( status < 0, "4.2 Detach of a plain thread: %08lx\n", (ULONG)status );
    observe( "threadinfo.detach.plain", "%08lx", (ULONG)status );
    ok( pGetCurrentUmsThread() == NULL, "4.2 a plain thread became a UMS thread\n" );
}
