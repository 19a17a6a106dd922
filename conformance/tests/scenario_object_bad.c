/*
 * Scenarios: bad input to calls that make, set, release and wait for events, semaphores and mutexes that only this
 * process knows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is right is what a twin answers that could be inherited (object_twins.h). Each question has an object of its
 * own, since a bad call may make others know the object. No wait names a semaphore twice: Wine's server may not survive
 * that if there is only one to take [guess].
 */
#define _WIN32_WINNT 0x0602
#include "object_twins.h"

#define BAD ((void *)8)

static const LARGE_INTEGER at_once;

/* Memory that nobody can write, and memory of which nothing behind the first `size` bytes is there. */
static void *read_only( void )
{
    static void *page;

    if (!page) page = VirtualAlloc( NULL, 4096, MEM_COMMIT, PAGE_READONLY );
    return page;
}

static void *at_the_end( SIZE_T size )
{
    static char *pages;
    DWORD before;

    if (!pages && (pages = VirtualAlloc( NULL, 2 * 4096, MEM_COMMIT, PAGE_READWRITE )))
        VirtualProtect( pages + 4096, 4096, PAGE_NOACCESS, &before );
    return pages + 4096 - size;
}

static BOOL known;                              /* others know the objects by the time of the bad call */

static HANDLE maybe_known( HANDLE handle )
{
    HANDLE copy = NULL;

    if (known && DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
                                  DUPLICATE_SAME_ACCESS )) CloseHandle( copy );
    return handle;
}

static HANDLE event_of( SECURITY_ATTRIBUTES *attributes, BOOL manual, BOOL set )
{
    return maybe_known( CreateEventW( attributes, manual, set, NULL ) );
}

static HANDLE semaphore_of( SECURITY_ATTRIBUTES *attributes )
{
    return maybe_known( CreateSemaphoreW( attributes, 1, 2, NULL ) );
}

/* A mutex that the caller owns so many times. */
static HANDLE mutex_of( SECURITY_ATTRIBUTES *attributes, int owned )
{
    HANDLE mutex = CreateMutexW( attributes, FALSE, NULL );

    while (owned-- > 0) WaitForSingleObject( mutex, 0 );
    return maybe_known( mutex );
}

static void note_closed( struct answers *answers, HANDLE handle )
{
    note( answers, (DWORD)pNtClose( handle ) );
}

/* Is it signalled still, or owned by nobody? */
static void note_state( struct answers *answers, HANDLE handle )
{
    note_wait( answers, handle, 0 );
    note_wait( answers, handle, 0 );
    note_closed( answers, handle );
}

/* ---- creation ---- */

#define INHERIT 2                               /* OBJ_INHERIT [sdk] */

struct object_attributes
{
    ULONG length;
    HANDLE root;
    void *name;
    ULONG flags;
    void *security, *quality;
};

static struct object_attributes attributes_like( const SECURITY_ATTRIBUTES *twin, ULONG length )
{
    return (struct object_attributes){ length, NULL, NULL, twin ? INHERIT : 0, NULL, NULL };
}

/* What became of the handle's variable counts only if there is no object. */
static void note_made( struct answers *answers, NTSTATUS status, HANDLE handle )
{
    note( answers, (DWORD)status );
    if (!status) note_state( answers, handle );
    else note( answers, (DWORD)(ULONG_PTR)handle );
}

static void make_event( struct answers *answers, struct object_attributes *attributes, ULONG type )
{
    HANDLE handle = (HANDLE)0x77;
    NTSTATUS status = pNtCreateEvent( &handle, EVENT_ALL_ACCESS, attributes, type, TRUE );

    note_made( answers, status, handle );
}

static void make_semaphore( struct answers *answers, struct object_attributes *attributes, LONG count, LONG limit )
{
    HANDLE handle = (HANDLE)0x77;
    NTSTATUS status = pNtCreateSemaphore( &handle, SEMAPHORE_ALL_ACCESS, attributes, count, limit );

    note_made( answers, status, handle );
}

static void make_without_handle( struct answers *answers, struct object_attributes *attributes, HANDLE *to )
{
    note( answers, (DWORD)pNtCreateEvent( to, EVENT_ALL_ACCESS, attributes, 1, FALSE ) );
    note( answers, (DWORD)pNtCreateSemaphore( to, SEMAPHORE_ALL_ACCESS, attributes, 0, 1 ) );
    note( answers, (DWORD)pNtCreateMutant( to, MUTANT_ALL_ACCESS, attributes, FALSE ) );
}

static void ask_creation( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    struct object_attributes good = attributes_like( twin, sizeof(good) ), *plain = twin ? &good : NULL;
    struct object_attributes bad = attributes_like( twin, sizeof(bad) - 8 );
    HANDLE handle;

    make_event( answers, plain, 0 );
    make_event( answers, plain, 1 );
    make_event( answers, plain, 2 );
    make_event( answers, plain, 0xffffffff );
    make_event( answers, &bad, 1 );
    make_event( answers, BAD, 1 );
    memcpy( at_the_end( 24 ), &good, 24 );
    make_event( answers, at_the_end( 24 ), 1 );
    make_semaphore( answers, plain, 0, 0 );
    make_semaphore( answers, plain, 0, -1 );
    make_semaphore( answers, plain, 2, 1 );
    make_semaphore( answers, plain, -1, 1 );
    make_semaphore( answers, plain, (LONG)0x80000000, 0x7fffffff );
    make_semaphore( answers, plain, 0x7fffffff, 0x7fffffff );
    make_semaphore( answers, &bad, 0, 1 );
    make_semaphore( answers, BAD, 0, 1 );
    make_without_handle( answers, plain, NULL );
    make_without_handle( answers, plain, BAD );
    make_without_handle( answers, plain, read_only() );
    make_without_handle( answers, plain, at_the_end( 4 ) );
    note( answers, (DWORD)pNtCreateMutant( &handle, MUTANT_ALL_ACCESS, BAD, FALSE ) );
    note( answers, (DWORD)pNtCreateMutant( &handle, MUTANT_ALL_ACCESS, &bad, FALSE ) );
}

START_TEST( scenario_object_bad_creation ) { run_twins( ask_creation, 30 ); }

/* ---- where results go ---- */

static void note_event_call( struct answers *answers, SECURITY_ATTRIBUTES *twin,
                             NTSTATUS (WINAPI *call)( HANDLE, LONG * ), LONG *result )
{
    HANDLE event = event_of( twin, TRUE, call != pNtSetEvent );

    note( answers, (DWORD)call( event, result ) );
    note_state( answers, event );
}

static void note_release( struct answers *answers, SECURITY_ATTRIBUTES *twin, ULONG count, void *result )
{
    HANDLE semaphore = semaphore_of( twin );

    note( answers, (DWORD)pNtReleaseSemaphore( semaphore, count, result ) );
    note_state( answers, semaphore );
}

static void note_release_mutant( struct answers *answers, SECURITY_ATTRIBUTES *twin, int owned, void *result )
{
    HANDLE mutant = mutex_of( twin, owned );
    LONG info[2] = { 77, 77 };

    note( answers, (DWORD)pNtReleaseMutant( mutant, result ) );
    note_with( answers, pNtQueryMutant( mutant, 0, info, sizeof(info), NULL ), info[0] );
    note( answers, (DWORD)info[1] );
    while (!pNtReleaseMutant( mutant, NULL )) note( answers, 1 );
    note_closed( answers, mutant );
}

static void note_queries( struct answers *answers, SECURITY_ATTRIBUTES *twin, void *to, ULONG size, ULONG *length )
{
    HANDLE event = event_of( twin, FALSE, TRUE ), semaphore = semaphore_of( twin );
    HANDLE mutant = mutex_of( twin, 1 );

    note( answers, (DWORD)pNtQueryEvent( event, 0, to, size, length ) );
    note( answers, (DWORD)pNtQuerySemaphore( semaphore, 0, to, size, length ) );
    note( answers, (DWORD)pNtQueryMutant( mutant, 0, to, size, length ) );
    note_closed( answers, event );
    note_closed( answers, semaphore );
    note_closed( answers, mutant );
}

static void ask_results( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    void *const places[] = { BAD, read_only(), at_the_end( 2 ), at_the_end( 4 ) };
    unsigned int i;
    LONG before;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
    {
        note_event_call( answers, twin, pNtSetEvent, places[i] );
        note_event_call( answers, twin, pNtResetEvent, places[i] );
        note_event_call( answers, twin, pNtPulseEvent, places[i] );
        note_release( answers, twin, 1, places[i] );
        note_release_mutant( answers, twin, 2, places[i] );
        note_release_mutant( answers, twin, 0, places[i] );
    }
    for (i = 0; i < 3; i++)
    {
        before = 77;
        note_release_mutant( answers, twin, (int)i, &before );
        note( answers, (DWORD)before );
    }
}

static void ask_results_known( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    known = TRUE;
    ask_results( answers, twin );
}

START_TEST( scenario_object_bad_results ) { run_twins( ask_results, 80 ); }
START_TEST( scenario_object_bad_results_known ) { run_twins( ask_results_known, 80 ); }

static void ask_queries( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    ULONG info[4] = { 0 };

    note_queries( answers, twin, NULL, 8, NULL );
    note_queries( answers, twin, BAD, 8, NULL );
    note_queries( answers, twin, read_only(), 8, NULL );
    note_queries( answers, twin, at_the_end( 4 ), 8, NULL );
    note_queries( answers, twin, info, 8, BAD );
    note_queries( answers, twin, info, 12, NULL );
    note_queries( answers, twin, info, 0, NULL );
    note_queries( answers, twin, (char *)info + 1, 8, NULL );
}

static void ask_queries_known( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    known = TRUE;
    ask_queries( answers, twin );
}

START_TEST( scenario_object_bad_queries_known ) { run_twins( ask_queries_known, 40 ); }
START_TEST( scenario_object_bad_queries ) { run_twins( ask_queries, 40 ); }

static void ask_counts( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    ULONG before = 77;

    note_release( answers, twin, 0, NULL );
    note_release( answers, twin, 0, &before );
    note( answers, before );
    note_release( answers, twin, 0, BAD );
    note_release( answers, twin, 2, BAD );      /* above the limit */
    note_release( answers, twin, 2, &before );
    note( answers, before );
    note_release( answers, twin, 0x80000000, NULL );
}

START_TEST( scenario_object_bad_counts ) { run_twins( ask_counts, 25 ); }

/* ---- waits ---- */

/* One question for each kind of wait; auto-reset events, which are signalled or not. */
static void note_waits( struct answers *answers, SECURITY_ATTRIBUTES *twin, BOOL set, const LARGE_INTEGER *time )
{
    HANDLE both[2] = { event_of( twin, FALSE, set ), event_of( twin, FALSE, set ) };

    note( answers, (DWORD)pNtWaitForSingleObject( both[0], FALSE, time ) );
    note( answers, (DWORD)pNtWaitForMultipleObjects( 2, both, 1, FALSE, time ) );
    note_state( answers, both[0] );
    note_state( answers, both[1] );
    both[0] = event_of( twin, FALSE, set );
    both[1] = event_of( twin, FALSE, set );
    note( answers, (DWORD)pNtWaitForMultipleObjects( 2, both, 0, FALSE, time ) );
    note_state( answers, both[0] );
    note_state( answers, both[1] );
    both[0] = event_of( twin, FALSE, FALSE );
    both[1] = event_of( twin, FALSE, set );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( both[0], both[1], FALSE, time ) );
    note_state( answers, both[0] );             /* is the signal given? */
    note_state( answers, both[1] );
}

static void ask_times( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    const LARGE_INTEGER least = { .QuadPart = (LONGLONG)1 << 63 }, most = { .QuadPart = ~((LONGLONG)1 << 63) };
    char bytes[16];

    memcpy( bytes + 1, &at_once, sizeof(at_once) );
    memcpy( at_the_end( 4 ), &at_once, 4 );
    note_waits( answers, twin, FALSE, BAD );
    note_waits( answers, twin, TRUE, BAD );
    note_waits( answers, twin, FALSE, at_the_end( 4 ) );
    note_waits( answers, twin, FALSE, (const LARGE_INTEGER *)(bytes + 1) );
    note_waits( answers, twin, FALSE, &at_once );
    note_waits( answers, twin, TRUE, &least );
    note_waits( answers, twin, TRUE, &most );
}

START_TEST( scenario_object_bad_times ) { run_twins( ask_times, 60 ); }

/* The same, with a mutex that the caller owns once. */
static void note_mutex_waits( struct answers *answers, SECURITY_ATTRIBUTES *twin, const LARGE_INTEGER *time )
{
    HANDLE mutex = mutex_of( twin, 1 ), event = event_of( twin, TRUE, TRUE );
    HANDLE both[2] = { mutex, event };
    LONG info[2] = { 77, 77 };

    note( answers, (DWORD)pNtWaitForSingleObject( mutex, FALSE, time ) );
    note( answers, (DWORD)pNtWaitForMultipleObjects( 1, &mutex, 1, FALSE, time ) );
    note( answers, (DWORD)pNtWaitForMultipleObjects( 2, both, 1, FALSE, time ) );
    note( answers, (DWORD)pNtWaitForMultipleObjects( 2, both, 0, FALSE, time ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( event, mutex, FALSE, time ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( mutex, event, FALSE, time ) );
    note_with( answers, pNtQueryMutant( mutex, 0, info, sizeof(info), NULL ), info[0] );
    note( answers, (DWORD)info[1] );
    while (!pNtReleaseMutant( mutex, NULL )) note( answers, 1 );
    note_closed( answers, mutex );
    note_state( answers, event );
}

static void ask_mutex_times( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    memcpy( at_the_end( 4 ), &at_once, 4 );
    for (known = FALSE; known <= TRUE; known++)
    {
        note_mutex_waits( answers, twin, BAD );
        note_mutex_waits( answers, twin, at_the_end( 4 ) );
        note_mutex_waits( answers, twin, &at_once );
    }
}

START_TEST( scenario_object_bad_times_of_mutexes ) { run_twins( ask_mutex_times, 80 ); }

static void note_array( struct answers *answers, SECURITY_ATTRIBUTES *twin, ULONG count, HANDLE *array, SIZE_T readable )
{
    HANDLE both[2] = { event_of( twin, FALSE, TRUE ), event_of( twin, FALSE, TRUE ) };

    if (readable) memcpy( array, both, readable );
    note( answers, (DWORD)pNtWaitForMultipleObjects( count, array, 1, FALSE, &at_once ) );
    note( answers, (DWORD)pNtWaitForMultipleObjects( count, array, 0, FALSE, &at_once ) );
    note_state( answers, both[0] );
    note_state( answers, both[1] );
}

static void ask_arrays( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    char bytes[2 * sizeof(HANDLE) + 4];

    note_array( answers, twin, 2, BAD, 0 );
    note_array( answers, twin, 2, NULL, 0 );
    note_array( answers, twin, 0, NULL, 0 );
    note_array( answers, twin, 65, NULL, 0 );
    note_array( answers, twin, 0xffffffff, BAD, 0 );
    note_array( answers, twin, 2, at_the_end( 8 ), 8 );
    note_array( answers, twin, 2, at_the_end( 12 ), 12 );
    note_array( answers, twin, 2, (HANDLE *)(bytes + 4), 16 );
}

START_TEST( scenario_object_bad_arrays ) { run_twins( ask_arrays, 40 ); }

/* ---- as many as there may be, and one more; one twice ---- */

static void note_many( struct answers *answers, SECURITY_ATTRIBUTES *twin, ULONG count, BOOL all )
{
    HANDLE many[65];
    ULONG i;

    for (i = 0; i < 65; i++) many[i] = event_of( twin, FALSE, all );
    note( answers, (DWORD)pNtWaitForMultipleObjects( count, many, !all, FALSE, &at_once ) );
    if (all) note( answers, (DWORD)pNtResetEvent( many[count - 1], NULL ) );
    else note( answers, (DWORD)pNtSetEvent( many[count - 1], NULL ) );
    note( answers, (DWORD)pNtWaitForMultipleObjects( count, many, !all, FALSE, &at_once ) );
    for (i = 0; i < 65; i++) note_wait( answers, many[i], 0 );
    for (i = 0; i < 65; i++) pNtClose( many[i] );
}

static void ask_64( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    note_many( answers, twin, 64, FALSE );
    note_many( answers, twin, 64, TRUE );
}

static void ask_65( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    note_many( answers, twin, 65, FALSE );
    note_many( answers, twin, 65, TRUE );
}

START_TEST( scenario_object_64 ) { run_twins( ask_64, 130 ); }
START_TEST( scenario_object_65 ) { run_twins( ask_65, 130 ); }

/* Two places of an array name one event, or a mutex. set: it is signalled. */
static void note_twice( struct answers *answers, HANDLE object, HANDLE other, BOOL all, LONGLONG time )
{
    LARGE_INTEGER timeout = { .QuadPart = time };
    HANDLE three[3] = { object, other, object };

    note( answers, (DWORD)pNtWaitForMultipleObjects( 3, three, !all, FALSE, &timeout ) );
    note_state( answers, object );
    note_state( answers, other );
}

static void ask_twice( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    int i;

    for (i = 0; i < 8; i++)
    {
        note_twice( answers, event_of( twin, i & 4, i & 2 ), event_of( twin, TRUE, i & 1 ), TRUE, 0 );
        note_twice( answers, event_of( twin, i & 4, i & 2 ), event_of( twin, TRUE, i & 1 ), FALSE, -10000 );
    }
    note_twice( answers, event_of( twin, FALSE, FALSE ), event_of( twin, FALSE, TRUE ), TRUE, -10000 );
    note_twice( answers, mutex_of( twin, 0 ), event_of( twin, TRUE, TRUE ), TRUE, 0 );
    note_twice( answers, mutex_of( twin, 1 ), event_of( twin, TRUE, FALSE ), TRUE, 0 );
}

static void ask_twice_known( struct answers *answers, SECURITY_ATTRIBUTES *twin )
{
    known = TRUE;
    ask_twice( answers, twin );
}

START_TEST( scenario_object_twice_known ) { run_twins( ask_twice_known, 100 ); }
START_TEST( scenario_object_twice ) { run_twins( ask_twice, 100 ); }
