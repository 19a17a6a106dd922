/*
 * Scenarios: the end of a mutex, of its owner and of the process, and DllMain.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mutex belongs to the thread that has acquired it; what a thread owns when it ends is abandoned [doc: Mutex
 * Objects]. DllMain is called at the end of a process by the thread that ends it, when the others are gone
 * [doc: ExitProcess, DllMain].
 */
#define _WIN32_WINNT 0x0602
#include "scenario_child.h"
#include <tlhelp32.h>
#include "flat.h"
#include "object_kit.h"

/* ---- in DllMain ---- */

static HANDLE known_copy;

static void on_dll_call( DWORD reason, BOOL process_ends )
{
    (void)process_ends;
    if (reason == DLL_THREAD_ATTACH && !known_copy) known_copy = copy_of( subject );
}

static DWORD WINAPI nothing( void *arg )
{
    (void)arg;
    return 0;
}

/* Whoever makes it known may have the loader's lock. At the end, the main thread owns a mutex that is known,
   and the process ends. */
START_TEST( scenario_mutex_known_in_dllmain )
{
    HMODULE probe;
    HANDLE owner;

    subject = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    owner = start_thread( own_thread, NULL );
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    if (!(probe = kit_load_probe( on_dll_call ))) return;
    join( start_thread( nothing, NULL ) );
    ok( known_copy != NULL, "not copied\n" );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT, "it has lost its owner\n" );
    SetEvent( done );
    join( owner );
    ok( WaitForSingleObject( known_copy, 0 ) == WAIT_ABANDONED, "it was not abandoned\n" );
    FreeLibrary( probe );
    subject = CreateMutexW( NULL, TRUE, NULL );
    ok( copy_of( subject ) != NULL, "not copied\n" );
}

static volatile LONG runs, made, named;         /* one step each, by one thread each */

/* It runs before the loader's lock is taken. */
static DWORD WINAPI own_when_made( void *arg )
{
    (void)arg;
    runs = 1;
    check_that( kit_wait_value( &made, 1 ) );
    own_it();
    return 0;
}

static void on_first_mutex( DWORD reason, BOOL process_ends )
{
    (void)process_ends;
    if (reason != DLL_THREAD_ATTACH || made) return;
    subject = CreateMutexW( NULL, FALSE, NULL );
    InterlockedExchange( &made, 1 );
    if (kit_wait_value( &owned, 1 )) known_copy = copy_of( subject );
}

/* The first mutex of a process is made, owned and known while a thread has the loader's lock: no thread
   can begin meanwhile [doc: DllMain]. */
START_TEST( scenario_mutex_made_in_dllmain )
{
    HANDLE owner;

    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    owner = start_thread( own_when_made, NULL );
    ok( kit_wait_value( &runs, 1 ), "the owner does not run\n" );
    if (!kit_load_probe( on_first_mutex )) return;
    join( start_thread( nothing, NULL ) );
    ok( known_copy != NULL, "not copied\n" );
    ok( WaitForSingleObject( known_copy, 0 ) == WAIT_TIMEOUT, "it has lost its owner\n" );
    SetEvent( done );
    join( owner );
    ok( WaitForSingleObject( known_copy, 0 ) == WAIT_ABANDONED, "it was not abandoned\n" );
    ok( !wrong, "%ld wrong answers\n", wrong );
}

/* Gives the second mutex back while it becomes known, most likely. */
static DWORD WINAPI own_until_named( void *arg )
{
    int i;

    (void)arg;
    check_that( !WaitForSingleObject( helper, INFINITE ) );
    runs = 1;
    check_that( kit_wait_value( &named, 1 ) );
    for (i = 0; i < 100; i++) SwitchToThread();
    check_that( ReleaseMutex( helper ) );
    return 0;
}

static void on_two_mutexes( DWORD reason, BOOL process_ends )
{
    (void)process_ends;
    if (reason != DLL_THREAD_ATTACH || known_copy) return;
    known_copy = copy_of( subject );
    named = 1;
    check_that( copy_of( helper ) != NULL );
}

/* Two mutexes that others own become known while a thread has the loader's lock. */
START_TEST( scenario_mutex_two_known_in_dllmain )
{
    HANDLE owners[2];

    subject = CreateMutexW( NULL, FALSE, NULL );
    helper = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    owners[0] = start_thread( own_thread, NULL );
    owners[1] = start_thread( own_until_named, NULL );
    ok( kit_wait_value( &owned, 1 ) && kit_wait_value( &runs, 1 ), "nobody owns them\n" );
    if (!kit_load_probe( on_two_mutexes )) return;
    join( start_thread( nothing, NULL ) );
    ok( known_copy != NULL, "not copied\n" );
    join( owners[1] );
    ok( !WaitForSingleObject( helper, 0 ), "the second is not free\n" );
    SetEvent( done );
    join( owners[0] );
    ok( WaitForSingleObject( known_copy, 0 ) == WAIT_ABANDONED, "the first was not abandoned\n" );
    ok( !wrong, "%ld wrong answers\n", wrong );
}

#define STATUS_OBJECT_TYPE_MISMATCH ((NTSTATUS)0xC0000024)       /* [sdk] */

static volatile LONG mismatches;

/* Of no use to a mutex, but its handle is in the call. */
static void ask_as_timer( HANDLE handle )
{
    NTSTATUS (WINAPI *pNtQueryTimer)( HANDLE, ULONG, void *, ULONG, ULONG * ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtQueryTimer" );
    ULONG info[8];

    if (pNtQueryTimer( handle, 0, info, 16, NULL ) == STATUS_OBJECT_TYPE_MISMATCH) mismatches++;
}

static void on_two_questions( DWORD reason, BOOL process_ends )
{
    (void)process_ends;
    if (reason != DLL_THREAD_ATTACH || mismatches) return;
    ask_as_timer( subject );
    ask_as_timer( helper );
}

/* A thread that the owner of two mutexes waits for names both in DllMain [doc: NtQueryTimer, DllMain]. */
START_TEST( scenario_mutex_named_in_dllmain )
{
    subject = CreateMutexW( NULL, TRUE, NULL );
    helper = CreateMutexW( NULL, TRUE, NULL );
    if (!kit_load_probe( on_two_questions )) return;
    join( start_thread( nothing, NULL ) );
    ok( mismatches == 2, "%ld of 2 calls found no timer\n", mismatches );
    ok( ReleaseMutex( subject ) && ReleaseMutex( helper ), "lost its owner, error %lu\n", GetLastError() );
    ok( !ReleaseMutex( subject ) && !ReleaseMutex( helper ), "owned twice\n" );
    ok( copy_of( subject ) && copy_of( helper ), "not copied\n" );
    ok( !WaitForSingleObject( subject, 0 ) && !WaitForSingleObject( helper, 0 ), "not free\n" );
}

/* ---- other threads end ---- */

static BOOL end_other_threads( void )
{
    HANDLE snapshot = CreateToolhelp32Snapshot( TH32CS_SNAPTHREAD, 0 ), thread;
    THREADENTRY32 entry = { .dwSize = sizeof(entry) };
    BOOL more;

    for (more = Thread32First( snapshot, &entry ); more; more = Thread32Next( snapshot, &entry ))
    {
        if (entry.th32OwnerProcessID != GetCurrentProcessId() ||
            entry.th32ThreadID == GetCurrentThreadId()) continue;
        if (!(thread = OpenThread( THREAD_TERMINATE | SYNCHRONIZE, FALSE, entry.th32ThreadID ))) continue;
        kit_lock_loader();
        TerminateThread( thread, 1 );
        kit_unlock_loader();
        wait_signaled( thread );
        CloseHandle( thread );
    }
    return CloseHandle( snapshot );
}

static DWORD WINAPI find_it_owned( void *arg )
{
    check_that( WaitForSingleObject( arg, 0 ) == WAIT_TIMEOUT );
    return 0;
}

/* A program ends all threads of its process but one, which owns a mutex. That changes nothing for the
   mutex [doc: TerminateThread, Mutex Objects]. Windows has threads of its own, which must not be ended. */
START_TEST( scenario_mutex_other_threads_ended )
{
    HANDLE copy;
    int i;

    if (!umstest_is_shim())
    {
        skip( "the system's own threads are not to be ended\n" );
        return;
    }
    for (i = 0; i < 2; i++)
    {
        subject = CreateMutexW( NULL, TRUE, NULL );
        ok( end_other_threads(), "no list of the threads, error %lu\n", GetLastError() );
        copy = copy_of( subject );
        ok( copy != NULL, "not copied, error %lu\n", GetLastError() );
        join( start_thread( find_it_owned, copy ) );
        ok( ReleaseMutex( copy ) && !ReleaseMutex( subject ), "owned another time\n" );
        ok( !WaitForSingleObject( copy, 0 ), "it is not free\n" );
    }
    ok( !wrong, "%ld wrong answers\n", wrong );
}

/* ---- the last thread ---- */

#define EXIT_CODE 71
#define NOT_LAST  70

/* A process ends with its last thread [doc: ExitThread]. */
static void run_last_thread( BOOL owns )
{
    DWORD code = 0;

    if (child_is_here())
    {
        subject = CreateMutexW( NULL, owns, NULL );
        if (owns) copy_of( subject );
        if (child_has_strangers()) ExitProcess( NOT_LAST );
        ExitThread( EXIT_CODE );
    }
    if (!child_run( &code )) return;
    if (code == NOT_LAST) skip( "the system has threads of its own: that of the test is not the last one\n" );
    else ok( code == EXIT_CODE, "it ended with %lu\n", code );
}

START_TEST( scenario_mutex_last_thread ) { run_last_thread( FALSE ); }
START_TEST( scenario_mutex_last_thread_owns ) { run_last_thread( TRUE ); }

/* The owner was ended with the process, before DLLs are told [doc: Mutex Objects, DllMain]. */
static void on_process_end( DWORD reason, BOOL process_ends )
{
    DWORD ret;

    if (reason != DLL_PROCESS_DETACH || !process_ends) return;
    ret = WaitForSingleObject( subject, KIT_LIMIT );
    TerminateProcess( GetCurrentProcess(), ret == WAIT_ABANDONED ? EXIT_CODE : EXIT_CODE + 1 + ret );
}

/* The thread that ends the process owns it still [doc: ExitProcess], and lets others know it in DllMain. */
static void on_owners_process_end( DWORD reason, BOOL process_ends )
{
    HANDLE copy;
    BOOL right;

    if (reason != DLL_PROCESS_DETACH || !process_ends) return;
    right = (copy = copy_of( subject )) && WaitForSingleObject( copy, 0 ) == WAIT_OBJECT_0 &&
            ReleaseMutex( subject );
    TerminateProcess( GetCurrentProcess(), right ? EXIT_CODE : EXIT_CODE + 1 );
}

START_TEST( scenario_mutex_known_at_process_end )
{
    DWORD code = 0;

    if (child_is_here())
    {
        subject = CreateMutexW( NULL, TRUE, NULL );
        if (kit_load_probe( on_owners_process_end )) ExitProcess( 1 );
        return;
    }
    ok( child_run( &code ) && code == EXIT_CODE, "it ended with %lu\n", code );
}

static void run_process_ends( BOOL becomes_known )
{
    DWORD code = 0;

    if (child_is_here())
    {
        subject = CreateMutexW( NULL, FALSE, NULL );
        done = CreateEventW( NULL, TRUE, FALSE, NULL );
        start_thread( own_thread, NULL );
        if (!kit_wait_value( &owned, 1 ) || !kit_load_probe( on_process_end )) return;
        if (becomes_known) copy_of( subject );
        ExitProcess( 1 );
    }
    ok( child_run( &code ) && code == EXIT_CODE, "it ended with %lu\n", code );
}

START_TEST( scenario_mutex_process_ends ) { run_process_ends( FALSE ); }
START_TEST( scenario_mutex_process_ends_known ) { run_process_ends( TRUE ); }

/* ---- closed while it becomes known ---- */

#define CLOSED_ROUNDS 50
#define EXPOSERS      6                         /* more than CPUs: some of them stop in the middle */

static volatile LONG step, steps_done;          /* two steps for each round */
static HANDLE fresh;

static void wait_for_step( LONG next )
{
    while (step < next) SwitchToThread();
}

/* Lets others know the main thread's mutex while the main thread closes it; then looks at one that
   nobody owns. */
static DWORD WINAPI expose_thread( void *arg )
{
    LONG next;
    HANDLE copy;

    for (next = 1; next <= 2 * CLOSED_ROUNDS; next += 2)
    {
        wait_for_step( next );
        copy = copy_of( subject );              /* fails if it was closed before */
        if (copy) CloseHandle( copy );
        InterlockedIncrement( &steps_done );
        wait_for_step( next + 1 );
        if (!arg)
        {
            check_that( WaitForSingleObject( fresh, 0 ) == WAIT_OBJECT_0 );
            check_that( ReleaseMutex( fresh ) );
        }
        InterlockedIncrement( &steps_done );
    }
    return 0;
}

static void let_them_step( void )
{
    InterlockedIncrement( &step );
}

static void wait_for_them( void )
{
    while (steps_done < step * EXPOSERS) SwitchToThread();
}

/* Some threads let others know a mutex, and its owner closes it in the middle of that. It is freed
   once: no two mutexes that are made afterwards are the same, and one that nobody owns is free [doc:
   CreateMutex]. */
START_TEST( scenario_mutex_closed_while_known )
{
    HANDLE threads[EXPOSERS], other;
    LONG round, i;

    for (i = 0; i < EXPOSERS; i++) threads[i] = start_thread( expose_thread, i ? &threads : NULL );
    for (round = 0; round < CLOSED_ROUNDS; round++)
    {
        subject = CreateMutexW( NULL, TRUE, NULL );
        let_them_step();
        for (i = 0; i < round % 4; i++) SwitchToThread();
        CloseHandle( subject );
        wait_for_them();
        other = CreateMutexW( NULL, TRUE, NULL );
        fresh = CreateMutexW( NULL, FALSE, NULL );
        let_them_step();
        wait_for_them();
        CloseHandle( other );
        CloseHandle( fresh );
    }
    for (i = 0; i < EXPOSERS; i++) join( threads[i] );
    ok( !wrong, "%ld times a mutex that nobody owned was not free\n", wrong );
}

/* ---- again and again ---- */

#define AGAIN  20
#define MEMORY (512 * 1024)                     /* a stack of each thread would be more */

static void become_known_while_owned( BOOL ends_first )
{
    HANDLE owner;

    subject = CreateMutexW( NULL, FALSE, NULL );
    done = CreateEventW( NULL, TRUE, FALSE, NULL );
    owned = 0;
    owner = start_thread( own_thread, NULL );
    ok( kit_wait_value( &owned, 1 ), "nobody owns it\n" );
    helper = copy_of( subject );
    if (ends_first) CloseHandle( subject );
    SetEvent( done );
    join( owner );
    ok( WaitForSingleObject( helper, 0 ) == WAIT_ABANDONED, "it is not abandoned\n" );
    if (!ends_first) CloseHandle( subject );
    CloseHandle( helper );
    CloseHandle( done );
}

static void become_known( int rounds )
{
    while (rounds--) become_known_while_owned( rounds % 2 );
}

START_TEST( scenario_mutex_no_handle_is_left )
{
    check_flat( "mutexes that became known while somebody owned them", become_known, AGAIN, MEMORY );
}

/* Without the loader's lock. */
static DWORD WINAPI end_when_made( void *arg )
{
    NTSTATUS (WINAPI *end)( HANDLE, NTSTATUS ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtTerminateThread" );

    (void)arg;
    runs = 1;
    check_that( kit_wait_value( &made, 1 ) );
    end( GetCurrentThread(), 0 );
    return 1;
}

static void on_thread_ends_meanwhile( DWORD reason, BOOL process_ends )
{
    (void)process_ends;
    if (reason != DLL_THREAD_ATTACH || made) return;
    CloseHandle( CreateMutexW( NULL, FALSE, NULL ) );
    made = 1;
    check_that( !WaitForSingleObject( helper, KIT_LIMIT ) );
}

static void end_in_dllmain( int rounds )
{
    HMODULE probe;

    while (rounds--)
    {
        runs = made = 0;
        helper = start_thread( end_when_made, NULL );
        ok( kit_wait_value( &runs, 1 ), "the thread does not run\n" );
        probe = kit_load_probe( on_thread_ends_meanwhile );
        if (probe) join( start_thread( nothing, NULL ) );
        else made = 1;
        join( helper );
        if (!probe) return;
        FreeLibrary( probe );
    }
}

/* A thread ends while another one, with the loader's lock, has made a mutex [doc: DllMain]. */
START_TEST( scenario_mutex_no_handle_is_left_in_dllmain )
{
    check_flat_after( "a thread that ended beside DllMain", end_in_dllmain, 2, 1, 64 * MEMORY );
    ok( !wrong, "%ld wrong answers\n", wrong );
}
