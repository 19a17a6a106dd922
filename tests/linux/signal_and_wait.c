/*
 * signal_and_wait: the signal and the begin of the wait of SignalObjectAndWait are one step, with local
 * objects (UMS_LOCAL_OBJECTS=on).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread looks for the signal without ever sleeping, and then pulses what the other one waits for. A pulse
 * reaches only those who wait already, so one between the two would be lost. Windows promises no such
 * step [doc], so this is no test of the suite.
 */
#include <windows.h>
#include <string.h>
#include "private/ums_private.h"

#include "../inject/test.h"

#define ROUNDS 1500
#define LIMIT  60000                            /* ms */

static HANDLE signals[3], pulsed;               /* an event, a semaphore, a mutex */
static const char *const names[3] = { "an event", "a semaphore", "a mutex" };
static volatile LONG round_begun, round_over;   /* with the mutex in the waiter's hands */
static volatile LONG stop;

static DWORD WINAPI pulse_when_signalled( void *arg )
{
    HANDLE signal = arg;
    LONG round;

    for (round = 1; round <= ROUNDS; round++)
    {
        while (round_begun != round && !stop) YieldProcessor();
        while (WaitForSingleObject( signal, 0 ) == WAIT_TIMEOUT && !stop) YieldProcessor();
        PulseEvent( pulsed );
        if (signal == signals[2]) ReleaseMutex( signal );
        round_over = round;
    }
    return 0;
}

static void try_signal( int i )
{
    HANDLE thread;
    LONG round;
    DWORD ret = WAIT_OBJECT_0;

    round_begun = round_over = stop = 0;
    thread = CreateThread( NULL, 0, pulse_when_signalled, signals[i], 0, NULL );
    ok( thread != NULL, "no thread, error %lu", GetLastError() );
    for (round = 1; round <= ROUNDS && ret == WAIT_OBJECT_0; round++)
    {
        if (i == 2) WaitForSingleObject( signals[i], INFINITE );
        round_begun = round;
        ret = SignalObjectAndWait( signals[i], pulsed, LIMIT, FALSE );
        while (round_over != round && !ret) YieldProcessor();
    }
    ok( ret == WAIT_OBJECT_0, "%s: a pulse came before the wait, in round %ld: %lu", names[i], round - 1, ret );
    stop = 1;
    WaitForSingleObject( thread, INFINITE );
    CloseHandle( thread );
}

/* The host's objects would pass, too: its server makes the signal and the wait in one step. */
static void check_local( void )
{
    const struct ums_private *(WINAPI *get)( void );
    const struct ums_choice *choices;
    uint32_t count, i, local = 0;

    ok( LoadLibraryA( "kernel32_ums.dll" ) != NULL, "no shim, error %lu", GetLastError() );
    get = (void *)GetProcAddress( GetModuleHandleA( "ntdll_ums.dll" ), MAKEINTRESOURCEA( 1 ) );
    choices = get()->choices( &count );
    for (i = 0; i < count; i++)
        local |= choices[i].taken && !strcmp( choices[i].subject, "objects" ) && !strcmp( choices[i].name, "user" );
    ok( local, "objects are the host's" );
}

int main( void )
{
    int i;

    check_local();                              /* before there are objects */
    signals[0] = CreateEventA( NULL, FALSE, FALSE, NULL );
    signals[1] = CreateSemaphoreA( NULL, 0, 1, NULL );
    signals[2] = CreateMutexA( NULL, FALSE, NULL );
    pulsed = CreateEventA( NULL, FALSE, FALSE, NULL );
    for (i = 0; i < 3; i++) try_signal( i );
    return test_end();
}
