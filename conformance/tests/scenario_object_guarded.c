/*
 * Scenarios: arguments in a guarded page (PAGE_GUARD), to calls that wait for time, events, semaphores and mutexes, or
 * use them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The first access to such a page takes the guard away and fails [doc: Creating Guard Pages]. A call that meets it tells
 * STATUS_GUARD_PAGE_VIOLATION [seen: Wine; guess: Windows]. The guard is gone then, and it is there still if the call has
 * no reason to touch the page. What became of the objects is compared with a twin's (object_twins.h).
 */
#define _WIN32_WINNT 0x0602
#include "object_twins.h"

#define GUARDED 0x80000001                      /* STATUS_GUARD_PAGE_VIOLATION [sdk] */
#define PAGE    4096

static char *page;                              /* the one that is guarded from time to time; there is memory in front of it */

static void open_pages( void )
{
    if (!page) page = (char *)VirtualAlloc( NULL, 2 * PAGE, MEM_COMMIT, PAGE_READWRITE ) + PAGE;
}

/* The place, with the guard behind its first `front` bytes. */
static void *guarded( const void *bytes, SIZE_T size, SIZE_T front )
{
    DWORD before;

    memcpy( page - front, bytes, size );
    VirtualProtect( page, PAGE, PAGE_READWRITE | PAGE_GUARD, &before );
    return page - front;
}

static BOOL guard_is_there( void )
{
    MEMORY_BASIC_INFORMATION info;

    return VirtualQuery( page, &info, sizeof(info) ) && (info.Protect & PAGE_GUARD);
}

static void note_call( struct answers *answers, NTSTATUS status )
{
    note( answers, (DWORD)status );
    note( answers, guard_is_there() );
}

/* Answers come in pairs: the status, and whether the guard is there. */
static void check_all_met( const struct answers *answers, const char *who )
{
    unsigned int i;

    for (i = 0; i + 1 < answers->count; i += 2)
    {
        unverified ok( answers->value[i] == GUARDED, "%s, call %u: %08lx\n", who, i / 2, answers->value[i] );
        ok( !answers->value[i + 1], "%s, call %u: the guard is there still\n", who, i / 2 );
    }
}

static void run_guarded( void (*ask)( struct answers *, SECURITY_ATTRIBUTES * ), unsigned int least )
{
    open_pages();
    run_twins( ask, least );
    check_all_met( &plain_answers[0], "thread" );
    check_all_met( &worker_answers[0], "worker" );
}

/* ---- times ---- */

static NTSTATUS (WINAPI *pNtDelayExecution)( BOOLEAN, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtWaitForKeyedEvent)( HANDLE, const void *, BOOLEAN, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( const void *, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtRemoveIoCompletion)( HANDLE, ULONG_PTR *, ULONG_PTR *, void *, const LARGE_INTEGER * );

static const LARGE_INTEGER soon = { .QuadPart = -10000 };

static const LARGE_INTEGER *time_in_page( SIZE_T front )
{
    return guarded( &soon, sizeof(soon), front );
}

static void note_object_times( struct answers *answers, SECURITY_ATTRIBUTES *twin, BOOL set, SIZE_T front )
{
    HANDLE both[2] = { CreateEventW( twin, TRUE, set, NULL ), CreateEventW( twin, TRUE, set, NULL ) };
    HANDLE mutex = CreateMutexW( twin, TRUE, NULL );

    note_call( answers, pNtWaitForSingleObject( both[0], FALSE, time_in_page( front ) ) );
    note_call( answers, pNtWaitForSingleObject( mutex, FALSE, time_in_page( front ) ) );
    note_call( answers, pNtWaitForMultipleObjects( 2, both, 1, FALSE, time_in_page( front ) ) );
    note_call( answers, pNtWaitForMultipleObjects( 2, both, 0, FALSE, time_in_page( front ) ) );
    note_call( answers, pNtSignalAndWaitForSingleObject( both[0], both[1], FALSE, time_in_page( front ) ) );
    note_call( answers, pNtWaitForSingleObject( both[0], TRUE, time_in_page( front ) ) );
    pNtClose( both[0] );
    pNtClose( both[1] );
    pNtClose( mutex );
}

static void ask_times( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    HANDLE port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
    ULONG_PTR words[4], key;

    note_object_times( answers, twin, FALSE, 0 );
    note_object_times( answers, twin, TRUE, 0 );
    note_object_times( answers, twin, TRUE, 4 );
    note_call( answers, pNtDelayExecution( FALSE, time_in_page( 0 ) ) );
    note_call( answers, pNtDelayExecution( TRUE, time_in_page( 0 ) ) );
    note_call( answers, pNtWaitForKeyedEvent( NULL, &key, FALSE, time_in_page( 0 ) ) );
    note_call( answers, pNtRemoveIoCompletion( port, &key, &key, words, time_in_page( 0 ) ) );
    if (pNtWaitForAlertByThreadId) note_call( answers, pNtWaitForAlertByThreadId( &key, time_in_page( 0 ) ) );
    CloseHandle( port );
}

static void find_waits( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtDelayExecution = (void *)GetProcAddress( ntdll, "NtDelayExecution" );
    pNtWaitForKeyedEvent = (void *)GetProcAddress( ntdll, "NtWaitForKeyedEvent" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );     /* Windows 8 */
    pNtRemoveIoCompletion = (void *)GetProcAddress( ntdll, "NtRemoveIoCompletion" );
}

START_TEST( scenario_object_guarded_times )
{
    find_waits();
    run_guarded( ask_times, 44 );
}

/* ---- handles ---- */

/* A mistake here is a wait for ever if the objects are not signalled; that it was made is seen without that. */
static void note_array( struct answers *answers, SECURITY_ATTRIBUTES *twin, SIZE_T front )
{
    static const LARGE_INTEGER at_once;
    HANDLE both[2] = { CreateEventW( twin, TRUE, TRUE, NULL ), CreateEventW( twin, TRUE, TRUE, NULL ) };
    ULONG any;

    for (any = 0; any <= 1; any++)
        note_call( answers, pNtWaitForMultipleObjects( 2, guarded( both, sizeof(both), front ), any, FALSE, &at_once ) );
    pNtClose( both[0] );
    pNtClose( both[1] );
}

static void ask_arrays( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    note_array( answers, twin, 0 );
    note_array( answers, twin, 8 );
    note_array( answers, twin, 12 );
}

START_TEST( scenario_object_guarded_arrays ) { run_guarded( ask_arrays, 12 ); }

/* ---- new handles, and attributes ---- */

static void ask_creation( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    struct { ULONG length; void *root, *name; ULONG flags; void *security, *quality; } plain =
        { sizeof(plain), NULL, NULL, twin ? 2 : 0 /* OBJ_INHERIT [sdk] */, NULL, NULL };
    HANDLE handle = NULL;
    SIZE_T front;

    for (front = 0; front <= 4; front += 4)
    {
        note_call( answers, pNtCreateEvent( guarded( &handle, 8, front ), EVENT_ALL_ACCESS, &plain, 0, FALSE ) );
        note_call( answers, pNtCreateSemaphore( guarded( &handle, 8, front ), SEMAPHORE_ALL_ACCESS, &plain, 0, 1 ) );
        note_call( answers, pNtCreateMutant( guarded( &handle, 8, front ), MUTANT_ALL_ACCESS, &plain, FALSE ) );
    }
    for (front = 0; front <= 24; front += 24)
    {
        void *attributes = guarded( &plain, sizeof(plain), front );

        note_call( answers, pNtCreateEvent( &handle, EVENT_ALL_ACCESS, attributes, 0, FALSE ) );
        attributes = guarded( &plain, sizeof(plain), front );
        note_call( answers, pNtCreateSemaphore( &handle, SEMAPHORE_ALL_ACCESS, attributes, 0, 1 ) );
        attributes = guarded( &plain, sizeof(plain), front );
        note_call( answers, pNtCreateMutant( &handle, MUTANT_ALL_ACCESS, attributes, FALSE ) );
    }
}

START_TEST( scenario_object_guarded_creation ) { run_guarded( ask_creation, 24 ); }

/* ---- results ---- */

static BOOL known;

static HANDLE maybe_known( HANDLE handle )
{
    HANDLE copy = NULL;

    if (known && DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
                                  DUPLICATE_SAME_ACCESS )) CloseHandle( copy );
    return handle;
}

static void *result( SIZE_T front )
{
    static const LONG bytes[2] = { 77, 77 };

    return guarded( bytes, sizeof(bytes), front );
}

static void ask_results( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    for (known = FALSE; known <= TRUE; known++)
    {
        HANDLE event = maybe_known( CreateEventW( twin, TRUE, FALSE, NULL ) );
        HANDLE semaphore = maybe_known( CreateSemaphoreW( twin, 1, 9, NULL ) );
        HANDLE mutex = maybe_known( CreateMutexW( twin, TRUE, NULL ) );
        ULONG info[2];

        note_call( answers, pNtSetEvent( event, result( 0 ) ) );
        note_call( answers, pNtResetEvent( event, result( 2 ) ) );
        note_call( answers, pNtPulseEvent( event, result( 0 ) ) );
        note_call( answers, pNtReleaseSemaphore( semaphore, 1, result( 0 ) ) );
        note_call( answers, pNtQueryEvent( event, 0, result( 0 ), 8, NULL ) );
        note_call( answers, pNtQueryEvent( event, 0, result( 4 ), 8, NULL ) );
        note_call( answers, pNtQuerySemaphore( semaphore, 0, info, 8, result( 0 ) ) );
        note_call( answers, pNtQuerySemaphore( semaphore, 0, result( 0 ), 8, NULL ) );
        note_call( answers, pNtQueryMutant( mutex, 0, result( 0 ), 8, NULL ) );
        note_call( answers, pNtReleaseMutant( mutex, result( 0 ) ) );
        pNtClose( event );
        pNtClose( semaphore );
        pNtClose( mutex );
    }
}

START_TEST( scenario_object_guarded_results ) { run_guarded( ask_results, 40 ); }

/* Wine has done what was asked for by then; the twin's tells. */
static void ask_what_was_done( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    HANDLE event = CreateEventW( twin, TRUE, FALSE, NULL ), semaphore = CreateSemaphoreW( twin, 1, 9, NULL );
    HANDLE mutex = CreateMutexW( twin, TRUE, NULL );
    LONG info[2] = { 77, 77 };

    pNtSetEvent( event, result( 0 ) );
    note_wait( answers, event, 0 );
    pNtResetEvent( event, result( 0 ) );
    note_wait( answers, event, 0 );
    pNtReleaseSemaphore( semaphore, 3, result( 0 ) );
    note_with( answers, pNtQuerySemaphore( semaphore, 0, info, 8, NULL ), info[0] );
    pNtReleaseMutant( mutex, result( 0 ) );
    note_with( answers, pNtQueryMutant( mutex, 0, info, 8, NULL ), info[0] );
    pNtClose( event );
    pNtClose( semaphore );
    pNtClose( mutex );
}

START_TEST( scenario_object_guarded_done )
{
    open_pages();
    run_twins( ask_what_was_done, 6 );
}

/* ---- a guard behind what the call has to touch ---- */

static NTSTATUS (WINAPI *pNtQueryTimerResolution)( ULONG *, ULONG *, ULONG * );

/* The event makes the process one with objects that only it knows. */
static void ask_behind( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    static const ULONG three[3];
    HANDLE event = CreateEventW( twin, TRUE, TRUE, NULL );
    ULONG *place = guarded( three, sizeof(three), sizeof(three) );

    note_call( answers, pNtQueryTimerResolution( place, place + 1, place + 2 ) );
    note_call( answers, pNtQueryEvent( event, 0, guarded( three, 8, 8 ), 8, NULL ) );
    note_call( answers, pNtWaitForMultipleObjects( 1, guarded( &event, 8, 8 ), 1, FALSE, NULL ) );
    note_call( answers, pNtWaitForSingleObject( event, FALSE, time_in_page( 8 ) ) );
    note_call( answers, pNtSetEvent( event, guarded( three, 4, 4 ) ) );
    pNtClose( event );
}

static void check_none_met( const struct answers *answers, const char *who )
{
    unsigned int i;

    for (i = 0; i + 1 < answers->count; i += 2)
        ok( !answers->value[i] && answers->value[i + 1], "%s, call %u: %08lx, and the guard is %s\n", who, i / 2,
            answers->value[i], answers->value[i + 1] ? "there" : "gone" );
}

START_TEST( scenario_object_guarded_behind )
{
    pNtQueryTimerResolution = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtQueryTimerResolution" );
    open_pages();
    run_twins( ask_behind, 10 );
    check_none_met( &plain_answers[0], "thread" );
    check_none_met( &worker_answers[0], "worker" );
}
