/*
 * Scenarios: events and semaphores that only this process knows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What becomes of one that others get to know: scenario_object_known.c. What such an object answers:
 * scenario_object_answers.c.
 */
#define _WIN32_WINNT 0x0602
#include "object_kit.h"

#define ROUNDS 200
#define COUNTED 300

static HANDLE events[2], semaphore;
static volatile LONG turns, taken, stop;

/* ---- a turn that goes to and fro ---- */

static void take_turns( int self )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        if (!WaitForSingleObject( events[self], i % 2 ? INFINITE : KIT_LIMIT )) InterlockedIncrement( &turns );
        SetEvent( events[!self] );
    }
}

static DWORD turns_body( struct kit_worker *worker )
{
    take_turns( (int)(LONG_PTR)worker->arg );
    return 0;
}

static DWORD WINAPI turns_thread( void *self )
{
    take_turns( (int)(LONG_PTR)self );
    return 0;
}

static void run_turns( int scheds, int workers, int threads )
{
    struct kit_sched *sched[2];
    HANDLE thread[2];
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    for (i = 0; i < scheds; i++) sched[i] = kit_add_sched( NULL );
    for (i = 0; i < workers; i++)
        kit_add_worker( sched[i % scheds]->list, turns_body, (void *)(LONG_PTR)i );
    kit_start();
    for (i = 0; i < threads; i++)
        thread[i] = CreateThread( NULL, 0, turns_thread, (void *)(LONG_PTR)(workers + i), 0, NULL );
    SetEvent( events[0] );
    kit_finish();
    for (i = 0; i < threads; i++)
    {
        ok( !WaitForSingleObject( thread[i], KIT_LIMIT ), "a plain thread waits still\n" );
        CloseHandle( thread[i] );
    }
    ok( turns == 2 * ROUNDS, "%ld turns of %d\n", turns, 2 * ROUNDS );
    for (i = 0; i < 2; i++) CloseHandle( events[i] );
    kit_check();
}

/* The same in one call: whoever is woken by it finds its partner waiting. */
static DWORD signal_and_wait_body( struct kit_worker *worker )
{
    int self = (int)(LONG_PTR)worker->arg, i;

    if (self) WaitForSingleObject( events[1], INFINITE );
    for (i = 0; i < ROUNDS; i++)
    {
        InterlockedIncrement( &turns );
        if (i < ROUNDS - 1 || !self)
            SignalObjectAndWait( events[!self], events[self], i % 2 ? INFINITE : KIT_LIMIT, FALSE );
        else SetEvent( events[0] );
    }
    return 0;
}

START_TEST( scenario_object_turns_signalled )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < 2; i++) kit_add_worker( sched->list, signal_and_wait_body, (void *)(LONG_PTR)i );
    kit_start();
    kit_finish();
    ok( turns == 2 * ROUNDS, "%ld turns of %d\n", turns, 2 * ROUNDS );
    for (i = 0; i < 2; i++) CloseHandle( events[i] );
    kit_check();
}

START_TEST( scenario_object_turns_together )
{
    run_turns( 1, 2, 0 );
}

START_TEST( scenario_object_turns_apart )
{
    run_turns( 2, 2, 0 );
}

START_TEST( scenario_object_turns_plain )
{
    run_turns( 1, 1, 1 );
}

/* ---- a SchedulerProc takes turns, in each of its Yield upcalls ---- */

static BOOL becomes_known;

static BOOL turn_of_scheduler( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason != UmsSchedulerThreadYield || stop) return FALSE;
    SetEvent( events[1] );
    if (WaitForSingleObject( events[0], KIT_LIMIT )) InterlockedIncrement( &stop );
    InterlockedIncrement( &turns );
    return FALSE;
}

static DWORD yield_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++) kit_yield( worker, NULL );
    return 0;
}

/* The copies keep them known. In the middle the scheduler waits for the first. */
static void answer_scheduler( void )
{
    HANDLE copies[2] = { NULL, NULL };
    int i, k;

    for (i = 0; i < ROUNDS && !stop; i++)
    {
        if (WaitForSingleObject( events[1], KIT_LIMIT )) InterlockedIncrement( &stop );
        for (k = 0; k < 2 && becomes_known && i == ROUNDS / 2; k++) copies[k] = copy_of( events[k] );
        InterlockedIncrement( &turns );
        SetEvent( events[0] );
    }
    for (k = 0; k < 2; k++) if (copies[k]) CloseHandle( copies[k] );
}

static DWORD answer_body( struct kit_worker *worker )
{
    (void)worker;
    answer_scheduler();
    return 0;
}

static DWORD WINAPI answer_thread( void *arg )
{
    (void)arg;
    answer_scheduler();
    return 0;
}

static void run_scheduler_turns( BOOL plain )
{
    struct kit_sched *sched, *other;
    HANDLE thread = NULL;
    int i;

    if (!kit_open()) return;
    turns = stop = 0;
    for (i = 0; i < 2; i++) events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    sched->on_upcall = turn_of_scheduler;
    kit_add_worker( sched->list, yield_body, NULL );
    if (!plain && (other = kit_add_sched( NULL ))) kit_add_worker( other->list, answer_body, NULL );
    kit_start();
    if (plain) thread = CreateThread( NULL, 0, answer_thread, NULL, 0, NULL );
    kit_finish();
    if (thread)
    {
        ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the plain thread waits still\n" );
        CloseHandle( thread );
    }
    ok( turns == 2 * ROUNDS && !stop, "%ld turns of %d, %ld waits failed\n", turns, 2 * ROUNDS, stop );
    for (i = 0; i < 2; i++) CloseHandle( events[i] );
    kit_check();
}

START_TEST( scenario_object_turns_scheduler )
{
    run_scheduler_turns( FALSE );
}

START_TEST( scenario_object_turns_scheduler_plain )
{
    run_scheduler_turns( TRUE );
}

START_TEST( scenario_object_turns_scheduler_known )
{
    becomes_known = TRUE;
    run_scheduler_turns( FALSE );
}

/* ---- every signal is counted, while the object becomes known ---- */

static void take_counted( void )
{
    while (InterlockedIncrement( &taken ) <= COUNTED)
        if (WaitForSingleObject( semaphore, KIT_LIMIT )) InterlockedIncrement( &stop );
}

static DWORD take_body( struct kit_worker *worker )
{
    (void)worker;
    take_counted();
    return 0;
}

static DWORD WINAPI take_thread( void *arg )
{
    (void)arg;
    take_counted();
    return 0;
}

static DWORD WINAPI give_thread( void *arg )
{
    int i;

    for (i = 0; i < COUNTED / 2; i++)
    {
        ReleaseSemaphore( semaphore, 1, NULL );
        if (arg && i == COUNTED / 4) CloseHandle( copy_of( semaphore ) );
        if (i % 16 == 0) SwitchToThread();
    }
    return 0;
}

START_TEST( scenario_object_counted )
{
    HANDLE threads[3];
    struct kit_sched *sched[2];
    int i;

    if (!kit_open()) return;
    semaphore = CreateSemaphoreW( NULL, 0, COUNTED, NULL );
    for (i = 0; i < 2; i++) sched[i] = kit_add_sched( NULL );
    for (i = 0; i < 6; i++) kit_add_worker( sched[i % 2]->list, take_body, NULL );
    kit_start();
    threads[0] = CreateThread( NULL, 0, take_thread, NULL, 0, NULL );
    for (i = 1; i < 3; i++) threads[i] = CreateThread( NULL, 0, give_thread, (void *)(LONG_PTR)(i - 1), 0, NULL );
    for (i = 0; i < 3; i++)
    {
        ok( !WaitForSingleObject( threads[i], KIT_LIMIT ), "thread %d waits still\n", i );
        CloseHandle( threads[i] );
    }
    kit_finish();
    ok( !stop, "%ld waits ended without a signal\n", stop );
    ok( WaitForSingleObject( semaphore, 0 ) == WAIT_TIMEOUT, "there was one too many\n" );
    CloseHandle( semaphore );
    kit_check();
}

/* ---- one signal, several that wait ---- */

#define TOGETHER 4

static DWORD WINAPI wait_without_end( void *object )
{
    if (!WaitForSingleObject( object, INFINITE )) InterlockedIncrement( &woken );
    return 0;
}

static DWORD wait_for_arg_body( struct kit_worker *worker )
{
    return wait_without_end( worker->arg );
}

static void signal_all( void )
{
    ReleaseSemaphore( subject, TOGETHER + 1, NULL );        /* of a semaphore and an event one fails */
    SetEvent( subject );
}

/* With a plain thread, which may come to its wait behind the signal. */
static void release_together( HANDLE object )
{
    struct kit_worker *workers[TOGETHER];
    struct kit_sched *sched;
    HANDLE thread;
    int i;

    if (!kit_open()) return;
    subject = object;
    sched = kit_add_sched( NULL );
    thread = CreateThread( NULL, 0, wait_without_end, subject, 0, NULL );
    for (i = 0; i < TOGETHER; i++) workers[i] = kit_add_worker( sched->list, wait_for_arg_body, subject );
    kit_start();
    for (i = 0; i < TOGETHER; i++)
        ok( workers[i] && kit_leaves( &workers[i]->blocks, 0 ), "worker %d: nobody was told\n", i );
    signal_all();
    if (!ok( kit_wait_value( &woken, TOGETHER + 1 ), "%ld of %d were released\n", woken, TOGETHER + 1 ))
        for (i = 0; i <= TOGETHER; i++) signal_all();
    kit_finish();
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the thread did not end\n" );
    CloseHandle( thread );
    CloseHandle( subject );
    kit_check();
}

START_TEST( scenario_object_together_event )     { release_together( CreateEventW( NULL, TRUE, FALSE, NULL ) ); }
START_TEST( scenario_object_together_semaphore ) { release_together( CreateSemaphoreW( NULL, 0, 64, NULL ) ); }

/* ---- suspended, killed, closed ---- */


/* A semaphore, so that both signals count also while nobody waits. */
START_TEST( scenario_object_suspended )
{
    struct kit_worker *first, *second;
    struct kit_sched *sched;

    if (!kit_open()) return;
    subject = CreateSemaphoreW( NULL, 0, 2, NULL );
    sched = kit_add_sched( NULL );
    first = kit_add_worker( sched->list, wait_once_body, NULL );
    kit_start();
    ok( kit_leaves( &first->blocks, 0 ), "nobody was told\n" );
    second = kit_add_worker( sched->list, wait_once_body, NULL );
    ok( kit_leaves( &second->blocks, 0 ), "nobody was told\n" );
    ok( !SuspendThread( first->thread ), "not suspended\n" );
    ReleaseSemaphore( subject, 2, NULL );
    ok( kit_wait_value( &second->terminated, 1 ), "the other one did not end\n" );
    ok( !first->terminated && woken == 1, "a suspended worker ran\n" );
    ok( ResumeThread( first->thread ) == 1, "not resumed\n" );
    kit_finish();
    ok( woken == 2, "%ld of 2 were released\n", woken );
    CloseHandle( subject );
    kit_check();
}

/* Who is dead takes no signal. */
START_TEST( scenario_object_killed )
{
    struct kit_worker *victim, *other;
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    victim = kit_add_worker( sched->list, wait_once_body, NULL );
    kit_start();
    ok( kit_leaves( &victim->blocks, 0 ), "nobody was told\n" );
    thread = CreateThread( NULL, 0, wait_once_thread, NULL, 0, NULL );
    ok( kit_wait_value( &waiting, 2 ), "the thread does not wait\n" );
    Sleep( 30 );                                /* in the queue, most likely; right in any case */
    other = kit_add_worker( sched->list, wait_once_body, NULL );
    ok( kit_leaves( &other->blocks, 0 ), "nobody was told\n" );
    ok( TerminateThread( victim->thread, 3 ), "error %lu\n", GetLastError() );
    ok( TerminateThread( thread, 3 ), "error %lu\n", GetLastError() );
    ok( kit_wait_value( &victim->terminated, 1 ), "it did not come to the list\n" );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the thread did not end\n" );
    SetEvent( subject );
    kit_finish();
    ok( woken == 1, "%ld of 1 was released\n", woken );
    victim->ended = 1;                          /* as far as the kit is concerned */
    CloseHandle( thread );
    CloseHandle( subject );
    kit_check();
}

static DWORD turn_body( struct kit_worker *worker )
{
    while (!stop) kit_yield( worker, NULL );
    return 0;
}

/* Nor does another worker take it for the dead, which may have got the context and does not wait for an object. By the pool of
   contexts it has got it here; elsewhere this need not find anything. */
START_TEST( scenario_object_killed_context_again )
{
    struct kit_worker *victim, *next;
    struct kit_sched *sched;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    victim = kit_add_worker( sched->list, wait_for_arg_body, subject );
    kit_add_worker( sched->list, turn_body, NULL );
    kit_start();
    ok( kit_leaves( &victim->blocks, 0 ), "nobody was told\n" );
    ok( TerminateThread( victim->thread, 3 ), "error %lu\n", GetLastError() );
    victim->ended = 1;                          /* as far as the kit is concerned */
    ok( kit_leaves( &victim->deleted, 0 ), "it did not come to the list\n" );
    next = kit_add_worker( sched->list, turn_body, NULL );
    ok( next && kit_leaves( &next->yields_made, 0 ), "it does not run\n" );
    SetEvent( subject );
    ok( !WaitForSingleObject( subject, 0 ), "somebody has taken the signal of the dead\n" );
    stop = 1;
    kit_finish();
    ok( !woken, "%ld of 0 were released\n", woken );
    CloseHandle( subject );
    kit_check();
}

/* The value of a closed handle is used again, for another kind: nothing is left of the old one. */
START_TEST( scenario_object_value_again )
{
    int i, same = 0;

    for (i = 0; i < 50; i++)
    {
        HANDLE first = CreateEventW( NULL, TRUE, TRUE, NULL ), second;

        CloseHandle( first );
        if (i % 3 == 0) second = CreateEventW( NULL, FALSE, FALSE, NULL );
        else if (i % 3 == 1) second = CreateMutexW( NULL, TRUE, NULL );
        else second = CreateSemaphoreW( NULL, 0, 1, NULL );
        same += first == second;
        if (i % 3 == 1) ok( ReleaseMutex( second ), "error %lu\n", GetLastError() );
        else ok( WaitForSingleObject( second, 0 ) == WAIT_TIMEOUT, "signalled from the start\n" );
        ok( !SetEvent( second ) == (i % 3 != 0), "set: another kind of object\n" );
        CloseHandle( second );
        ok( !SetEvent( second ) && GetLastError() == ERROR_INVALID_HANDLE, "error %lu\n", GetLastError() );
    }
    if (!same) skip( "no value was used again\n" );
}

/* ---- names ---- */

/* An object that NtCreateEvent gives a name by its full path is the same to whoever opens it. */
START_TEST( scenario_object_full_name )
{
    struct { USHORT length, maximum; WCHAR *buffer; } name;
    struct { ULONG length; HANDLE root; void *name; ULONG attributes; void *security, *quality; } attributes =
        { sizeof(attributes), NULL, &name, 0x40 /* OBJ_CASE_INSENSITIVE [sdk] */, NULL, NULL };
    LONG (WINAPI *pNtCreateEvent)( HANDLE *, ACCESS_MASK, void *, ULONG, BOOLEAN ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtCreateEvent" );
    WCHAR path[64];
    HANDLE event = NULL, opened;

    swprintf( path, ARRAYSIZE(path), L"\\BaseNamedObjects\\umstest-%lu", GetCurrentProcessId() );
    name.buffer = path;
    name.length = (USHORT)(lstrlenW( path ) * sizeof(WCHAR));
    name.maximum = sizeof(path);
    ok( !pNtCreateEvent( &event, EVENT_ALL_ACCESS, &attributes, 1, FALSE ), "not made\n" );
    swprintf( path, ARRAYSIZE(path), L"Global\\umstest-%lu", GetCurrentProcessId() );
    opened = OpenEventW( EVENT_ALL_ACCESS, FALSE, path );
    ok( opened != NULL, "not opened, error %lu\n", GetLastError() );
    ok( SetEvent( event ) && !WaitForSingleObject( opened, 0 ), "two objects\n" );
    ok( SetEvent( opened ) && !WaitForSingleObject( event, 0 ), "two objects\n" );
    CloseHandle( opened );
    CloseHandle( event );
}
