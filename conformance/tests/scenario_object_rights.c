/*
 * Scenarios: events, semaphores and mutexes whose handles have not all rights.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wait needs SYNCHRONIZE, a set, a reset and a release need EVENT_MODIFY_STATE or
 * SEMAPHORE_MODIFY_STATE [doc: Synchronization Object Security and Access Rights], which have the same
 * value, and a query needs the *_QUERY_STATE [sdk]. That is so whether the object was made with the
 * rights, or the handle is a copy of one that has all.
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"

#define QUERY_STATE  0x0001
#define MODIFY_STATE 0x0002
#define SUCCESS      ((NTSTATUS)0)
#define TIMED_OUT    ((NTSTATUS)0x00000102)
#define DENIED       ((NTSTATUS)0xc0000022)

#define CALLS( X ) \
    X( NtSetEvent, ( HANDLE, LONG * ) ) \
    X( NtResetEvent, ( HANDLE, LONG * ) ) \
    X( NtPulseEvent, ( HANDLE, LONG * ) ) \
    X( NtQueryEvent, ( HANDLE, ULONG, void *, ULONG, ULONG * ) ) \
    X( NtReleaseSemaphore, ( HANDLE, ULONG, ULONG * ) ) \
    X( NtQuerySemaphore, ( HANDLE, ULONG, void *, ULONG, ULONG * ) ) \
    X( NtQueryMutant, ( HANDLE, ULONG, void *, ULONG, ULONG * ) ) \
    X( NtWaitForSingleObject, ( HANDLE, BOOLEAN, const LARGE_INTEGER * ) ) \
    X( NtWaitForMultipleObjects, ( ULONG, const HANDLE *, ULONG, BOOLEAN, const LARGE_INTEGER * ) ) \
    X( NtSignalAndWaitForSingleObject, ( HANDLE, HANDLE, BOOLEAN, const LARGE_INTEGER * ) )
#define X( name, args ) static NTSTATUS (WINAPI *p##name) args;
CALLS( X )
#undef X

static void find_calls( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

#define X( name, args ) p##name = (void *)GetProcAddress( ntdll, #name );
    CALLS( X )
#undef X
}

/* ---- what does not answer as it should ---- */

static struct wrong { const char *call; ACCESS_MASK access; NTSTATUS status; } wrong[20];
static unsigned int wrongs, asked;

static void expect( const char *call, ACCESS_MASK access, ACCESS_MASK needed, NTSTATUS status,
                    NTSTATUS success )
{
    asked++;
    if (status == ((access & needed) == needed ? success : DENIED)) return;
    if (wrongs < ARRAYSIZE(wrong)) wrong[wrongs] = (struct wrong){ call, access, status };
    wrongs++;
}

/* ---- one handle, of an object that is not signalled ---- */

static const LARGE_INTEGER none;

static void ask_waits( HANDLE handle, ACCESS_MASK access )
{
    HANDLE full = CreateEventW( NULL, FALSE, FALSE, NULL ), both[2] = { full, handle };

    expect( "wait", access, SYNCHRONIZE, pNtWaitForSingleObject( handle, FALSE, &none ), TIMED_OUT );
    expect( "wait for any", access, SYNCHRONIZE,
            pNtWaitForMultipleObjects( 2, both, 1, FALSE, &none ), TIMED_OUT );
    expect( "wait for all", access, SYNCHRONIZE,
            pNtWaitForMultipleObjects( 2, both, 0, FALSE, &none ), TIMED_OUT );
    expect( "signal another and wait", access, SYNCHRONIZE,
            pNtSignalAndWaitForSingleObject( full, handle, FALSE, &none ), TIMED_OUT );
    ResetEvent( full );
    expect( "signal and wait", access, MODIFY_STATE,
            pNtSignalAndWaitForSingleObject( handle, full, FALSE, &none ), TIMED_OUT );
    CloseHandle( full );
}

static void ask_event( HANDLE event, ACCESS_MASK access )
{
    ULONG info[2];

    ask_waits( event, access );
    expect( "set", access, MODIFY_STATE, pNtSetEvent( event, NULL ), SUCCESS );
    expect( "query", access, QUERY_STATE, pNtQueryEvent( event, 0, info, sizeof(info), NULL ), SUCCESS );
    expect( "reset", access, MODIFY_STATE, pNtResetEvent( event, NULL ), SUCCESS );
    expect( "pulse", access, MODIFY_STATE, pNtPulseEvent( event, NULL ), SUCCESS );
}

static void ask_semaphore( HANDLE semaphore, ACCESS_MASK access )
{
    ULONG info[2];

    ask_waits( semaphore, access );
    expect( "release", access, MODIFY_STATE, pNtReleaseSemaphore( semaphore, 1, NULL ), SUCCESS );
    expect( "query", access, QUERY_STATE,
            pNtQuerySemaphore( semaphore, 0, info, sizeof(info), NULL ), SUCCESS );
}

/* ---- each set of rights ---- */

static HANDLE copy_with( HANDLE handle, ACCESS_MASK access, DWORD options )
{
    HANDLE copy = NULL;

    DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, access, FALSE, options );
    return copy;
}

static void ask_made_with( ACCESS_MASK access )
{
    HANDLE event = CreateEventExW( NULL, NULL, 0, access );
    HANDLE semaphore = CreateSemaphoreExW( NULL, 0, 100, NULL, 0, access );

    ask_event( event, access );
    ask_semaphore( semaphore, access );
    CloseHandle( event );
    CloseHandle( semaphore );
}

/* A mutex that is free, or the caller's, before its handle is copied. The copy has these rights. */
static void ask_mutex( ACCESS_MASK access, BOOL owned )
{
    HANDLE mutex = CreateMutexW( NULL, owned, NULL ), copy = copy_with( mutex, access, 0 );
    ULONG info[2];

    expect( "NtQueryMutant", access, QUERY_STATE, pNtQueryMutant( copy, 0, info, sizeof(info), NULL ), SUCCESS );
    expect( "wait for a mutex", access, SYNCHRONIZE, pNtWaitForSingleObject( copy, FALSE, &none ), SUCCESS );
    expect( "wait for several, a mutex", access, SYNCHRONIZE,
            pNtWaitForMultipleObjects( 1, &copy, 1, FALSE, &none ), SUCCESS );
    while (ReleaseMutex( mutex )) ;
    CloseHandle( copy );
    CloseHandle( mutex );
}

/* The copy has these rights; the first handle keeps all, or is no more. */
static void ask_copy_with( ACCESS_MASK access, DWORD options )
{
    HANDLE event = CreateEventW( NULL, FALSE, FALSE, NULL );
    HANDLE semaphore = CreateSemaphoreW( NULL, 0, 100, NULL );
    HANDLE event_copy = copy_with( event, access, options );
    HANDLE semaphore_copy = copy_with( semaphore, access, options );

    ask_event( event_copy, access );
    ask_semaphore( semaphore_copy, access );
    CloseHandle( event_copy );
    CloseHandle( semaphore_copy );
    if (options & DUPLICATE_CLOSE_SOURCE) return;
    ask_event( event, EVENT_ALL_ACCESS );
    while (!WaitForSingleObject( semaphore, 0 )) ;
    ask_semaphore( semaphore, SEMAPHORE_ALL_ACCESS );
    CloseHandle( event );
    CloseHandle( semaphore );
}

static void ask_all( void )
{
    static const ACCESS_MASK rights[] =
    {
        SYNCHRONIZE, MODIFY_STATE, QUERY_STATE, READ_CONTROL, MODIFY_STATE | SYNCHRONIZE,
        QUERY_STATE | SYNCHRONIZE, EVENT_ALL_ACCESS
    };
    unsigned int i;

    for (i = 0; i < ARRAYSIZE(rights); i++)
    {
        ask_made_with( rights[i] );
        ask_copy_with( rights[i], 0 );
        ask_copy_with( rights[i], DUPLICATE_CLOSE_SOURCE );
        ask_mutex( rights[i] & ~MODIFY_STATE, FALSE );
        ask_mutex( rights[i] & ~MODIFY_STATE, TRUE );
    }
}

static DWORD rights_body( struct kit_worker *worker )
{
    (void)worker;
    ask_all();
    return 0;
}

static void judge( const char *who )
{
    unsigned int i;

    ok( asked > 300, "%s: %u questions\n", who, asked );
    ok( !wrongs, "%s: %u wrong answers\n", who, wrongs );
    for (i = 0; i < wrongs && i < ARRAYSIZE(wrong); i++)
        ok( 0, "%s: %s with rights %08lx: %08lx\n", who, wrong[i].call, wrong[i].access, wrong[i].status );
    wrongs = asked = 0;
}

START_TEST( scenario_object_rights )
{
    struct kit_sched *sched;

    find_calls();
    if (!kit_open()) return;
    ask_all();
    judge( "thread" );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, rights_body, NULL );
    kit_start();
    kit_finish();
    judge( "worker" );
    kit_check();
}
