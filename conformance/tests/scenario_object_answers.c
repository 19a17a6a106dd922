/*
 * Scenarios: what events and semaphores answer that only this process knows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How they are compared: object_twins.h. Bad input: scenario_object_bad.c.
 */
#define _WIN32_WINNT 0x0602
#include "object_twins.h"

#define LONG_AGO 125911584000000000             /* 1 January 2000; Wine 11.10 with ntsync takes a time before
                                                   1970 for no limit */

#define NO_HANDLE ((HANDLE)(ULONG_PTR)0xdead4)  /* small ones may be handles */

static void note_query( struct answers *answers, HANDLE handle )
{
    LONG info[2] = { -1, -1 };
    ULONG length = 77;

    note_with( answers, pNtQueryEvent( handle, 0, info, sizeof(info), &length ), info[0] );
    note_with( answers, (NTSTATUS)length, info[1] );
}

static void ask_event( struct answers *answers, HANDLE event )
{
    ULONG info[2] = { 0, 0 };
    LONG before = 5;

    note_query( answers, event );
    note_with( answers, pNtSetEvent( event, &before ), before );
    note_with( answers, pNtSetEvent( event, &before ), before );
    note_query( answers, event );
    note_wait( answers, event, 0 );
    note_wait( answers, event, -10000 );
    note_with( answers, pNtResetEvent( event, &before ), before );
    note_with( answers, pNtResetEvent( event, &before ), before );
    note_with( answers, pNtPulseEvent( event, &before ), before );
    note_with( answers, pNtPulseEvent( event, NULL ), pNtSetEvent( event, NULL ) );
    note_with( answers, pNtClearEvent( event ), pNtResetEvent( event, &before ) );
    note( answers, (DWORD)before );
    note_wait( answers, event, LONG_AGO );
    note( answers, (DWORD)pNtSetEvent( event, (LONG *)8 ) );
    note_query( answers, event );
    note( answers, (DWORD)pNtQueryEvent( event, 1, info, sizeof(info), NULL ) );
    note( answers, (DWORD)pNtQueryEvent( event, 0, info, 4, NULL ) );
    note( answers, (DWORD)pNtReleaseSemaphore( event, 1, NULL ) );
    note( answers, (DWORD)pNtQuerySemaphore( event, 0, info, sizeof(info), NULL ) );
    note( answers, (DWORD)pNtSetEvent( (HANDLE)((ULONG_PTR)event | 3), NULL ) );
}

static void ask_semaphore( struct answers *answers, HANDLE handle )
{
    ULONG info[2] = { 77, 77 }, before = 5;

    note_wait( answers, handle, 0 );
    note_wait( answers, handle, 0 );
    note_wait( answers, handle, -10000 );
    note_with( answers, pNtReleaseSemaphore( handle, 2, &before ), (LONG)before );
    note_with( answers, pNtReleaseSemaphore( handle, 2, &before ), (LONG)before );
    note_with( answers, pNtReleaseSemaphore( handle, 0x7fffffff, &before ), (LONG)before );
    note_with( answers, pNtReleaseSemaphore( handle, 0xffffffff, &before ), (LONG)before );
    note_with( answers, pNtQuerySemaphore( handle, 0, info, sizeof(info), NULL ), (LONG)info[0] );
    note( answers, info[1] );
    note( answers, (DWORD)pNtSetEvent( handle, NULL ) );
    note( answers, (DWORD)pNtQueryEvent( handle, 0, info, sizeof(info), NULL ) );
    note( answers, (DWORD)pNtReleaseSemaphore( handle, 1, (ULONG *)8 ) );
    note_wait( answers, handle, 0 );
}

/* Of several: any, all, too many, one twice, one that is nothing. */
static void ask_several( struct answers *answers, HANDLE *handles )
{
    HANDLE many[65];
    LARGE_INTEGER none = { .QuadPart = 0 };
    ULONG i;

    for (i = 0; i < 65; i++) many[i] = handles[i % 2];
    for (i = 0; i < 2; i++)
    {
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 1, FALSE, &none ) );
        SetEvent( handles[1] );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 0, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 1, FALSE, &none ) );
        SetEvent( handles[0] );
        SetEvent( handles[1] );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 0, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 0, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 65, many, 1, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 0, many, 1, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 64, many, 1, FALSE, &none ) );
    }
}

/* first and last: auto-reset events that are not signalled; full: a semaphore. */
static void ask_signal_and_wait( struct answers *answers, HANDLE first, HANDLE last, HANDLE full )
{
    LARGE_INTEGER none = { .QuadPart = 0 }, some = { .QuadPart = -10000 };

    while (ReleaseSemaphore( full, 1, NULL )) ;
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, last, FALSE, &none ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( last, last, FALSE, &none ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( last, first, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, first, FALSE, NULL ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, full, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( full, last, FALSE, &some ) );
    SetEvent( last );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( full, last, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, NO_HANDLE, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( NO_HANDLE, last, FALSE, &some ) );
    note_wait( answers, first, 0 );
    note_wait( answers, first, 0 );
    note_wait( answers, last, 0 );
    note_wait( answers, last, 0 );
}

static void ask_all( struct answers *answers, SECURITY_ATTRIBUTES *attributes )
{
    HANDLE handles[4];
    int i;

    handles[0] = CreateEventW( attributes, FALSE, FALSE, NULL );
    handles[1] = CreateEventW( attributes, TRUE, TRUE, NULL );
    handles[2] = CreateSemaphoreW( attributes, 1, 3, NULL );
    handles[3] = CreateEventW( attributes, FALSE, FALSE, NULL );
    ask_event( answers, handles[0] );
    ask_event( answers, handles[1] );
    ask_semaphore( answers, handles[2] );
    ResetEvent( handles[0] );
    ResetEvent( handles[3] );
    handles[1] = (CloseHandle( handles[1] ), handles[3]);
    ask_signal_and_wait( answers, handles[0], handles[3], handles[2] );
    ask_several( answers, handles );            /* behind this they are known to others */
    note( answers, (DWORD)pNtClose( handles[0] ) );
    note( answers, (DWORD)pNtSetEvent( handles[0], NULL ) );
    note_wait( answers, handles[0], 0 );
    note( answers, (DWORD)pNtClose( handles[0] ) );
    for (i = 1; i < 3; i++) CloseHandle( handles[i] );
}

START_TEST( scenario_object_answers ) { run_twins( ask_all, 60 ); }
