/*
 * What the scenarios of events, semaphores and mutexes have in common: the object that is looked at, and
 * ways to let others know it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef OBJECT_KIT_H
#define OBJECT_KIT_H

#include "scenario_kit.h"

#define MAYBE static inline __attribute__((unused))

static HANDLE subject __attribute__((unused)), helper __attribute__((unused));

/* Another handle of the same object: from then on not only this process knows it. */
MAYBE HANDLE copy_of( HANDLE handle )
{
    HANDLE copy = NULL;

    DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
                     DUPLICATE_SAME_ACCESS );
    return copy;
}

/* NtQueryObject makes it known as well. */
MAYBE void ask_about( HANDLE handle )
{
    NTSTATUS (WINAPI *pNtQueryObject)( HANDLE, ULONG, void *, ULONG, ULONG * ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtQueryObject" );
    ULONG info[32];

    pNtQueryObject( handle, 0, info, 56, NULL );
}

/* Wrong answers, counted by any thread. */
static volatile LONG wrong __attribute__((unused));

MAYBE void check_that( BOOL condition )
{
    if (!condition) InterlockedIncrement( &wrong );
}

/* ---- a worker and a plain thread wait for the object once ---- */

static volatile LONG waiting __attribute__((unused)), woken __attribute__((unused));

MAYBE void wait_once( void )
{
    InterlockedIncrement( &waiting );
    if (!WaitForSingleObject( subject, KIT_LIMIT )) InterlockedIncrement( &woken );
}

MAYBE DWORD wait_once_body( struct kit_worker *worker )
{
    (void)worker;
    wait_once();
    return 0;
}

static DWORD WINAPI wait_once_thread( void *arg ) __attribute__((unused));

static DWORD WINAPI wait_once_thread( void *arg )
{
    (void)arg;
    wait_once();
    return 0;
}

/* ---- waits that have begun ---- */

static HANDLE begun __attribute__((unused));    /* a semaphore: so many have */

/* Signals `begun` and begins the wait. For Wine that is one request, and for objects of the process alone one step, too: whoever
   has seen the signal knows that the wait has begun. That needs two objects of which others know both or neither: if they know
   one, the signal may come first. On Windows others may always see the signal before the wait begins [doc: SignalObjectAndWait],
   and a pulse may come too early [doc: the same, about Windows 7]: see pulse_again. */
MAYBE DWORD wait_and_tell( HANDLE object, DWORD ms )
{
    return SignalObjectAndWait( begun, object, ms, FALSE );
}

/* So many waits have begun. Any thread. */
MAYBE void know_they_wait( int count )
{
    while (count--) check_that( !WaitForSingleObject( begun, KIT_LIMIT ) );
}

/* The event was pulsed once, which is enough for the shim. On Windows the pulse may have come before the wait: so another one
   follows in short intervals, until *released is something else than `was`. Any thread: a worker lets others run meanwhile. */
MAYBE void pulse_again( HANDLE event, volatile LONG *released, LONG was )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;

    while (!umstest_is_shim() && *released == was && GetTickCount64() < limit)
    {
        Sleep( 1 );
        PulseEvent( event );
    }
}

MAYBE HANDLE start_thread( LPTHREAD_START_ROUTINE start, void *arg )
{
    return CreateThread( NULL, 0, start, arg, 0, NULL );
}

MAYBE void join( HANDLE thread )
{
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "a thread did not end\n" );
    CloseHandle( thread );
}

/* ---- a mutex with an owner ---- */

static HANDLE done __attribute__((unused));
static volatile LONG owned __attribute__((unused));

/* Own the mutex twice until `done` is set. */
MAYBE void own_it( void )
{
    check_that( !WaitForSingleObject( subject, INFINITE ) );
    check_that( !WaitForSingleObject( subject, INFINITE ) );
    InterlockedIncrement( &owned );
    wait_signaled( done );
}

MAYBE DWORD WINAPI own_thread( void *arg )
{
    (void)arg;
    own_it();
    return 0;
}

#endif /* OBJECT_KIT_H */
