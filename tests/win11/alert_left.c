/*
 * A worker leaves a callback of a call by a jump, and then waits for an alert. Only at that wait the shim sees that the first call
 * is over: the worker has to be executed first, and sleeps for the shim until then. An alert that comes meanwhile must end the wait.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * No part of the suite: Windows may not let a program leave a window procedure so [guess].
 */
#include "../linux/two_workers.h"

#define STATUS_ALERTED 0x101
#define MOMENT         100              /* ms: to have it sleep; no check depends on it */

static LONG (WINAPI *alert_thread)( HANDLE );
static LONG (WINAPI *wait_for_alert)( const void *, const LARGE_INTEGER * );

static void *jump[5];
static HANDLE event;
static volatile LONG called_back, left;
static LONG result;

static LRESULT CALLBACK leave( HWND window, UINT message, WPARAM wparam, LPARAM lparam )
{
    if (message != WM_CREATE) return DefWindowProcA( window, message, wparam, lparam );
    called_back = 1;
    WaitForSingleObject( event, LIMIT );
    __builtin_longjmp( jump, 1 );
}

static DWORD WINAPI sleeper( void *unused )
{
    inside = 1;
    if (!__builtin_setjmp( jump )) CreateWindowA( "left", "", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL );
    left = 1;
    result = wait_for_alert( NULL, NULL );
    inside = 2;
    return unused != NULL;
}

static void wake( void )
{
    SetEvent( event );
    alert_thread( (HANDLE)(ULONG_PTR)GetThreadId( threads[0] ) );
}

/* It keeps the scheduler while the other one comes to its sleep. */
static DWORD WINAPI waker( void *unused )
{
    HANDLE id = (HANDLE)(ULONG_PTR)GetThreadId( threads[0] );
    DWORD begin;

    while (!called_back || !blocked) pUmsThreadYield( NULL );
    seen_inside = inside;
    SetEvent( event );
    for (begin = GetTickCount(); !left && GetTickCount() - begin < LIMIT; ) YieldProcessor();
    for (begin = GetTickCount(); GetTickCount() - begin < MOMENT; ) YieldProcessor();
    alert_thread( id );
    return unused != NULL;
}

int main( void )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    WNDCLASSA class = { .lpfnWndProc = leave, .lpszClassName = "left" };

    alert_thread = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    wait_for_alert = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    ok( RegisterClassA( &class ) && alert_thread && wait_for_alert, "not found" );
    event = CreateEventA( NULL, FALSE, FALSE, NULL );
    load_shim();
    run_round( sleeper, NULL, waker, wake );
    ok( result == STATUS_ALERTED, "the wait ends with %08lx", result );
    end_round();
    return test_end();
}
