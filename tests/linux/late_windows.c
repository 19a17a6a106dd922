/*
 * late_windows: user32 is loaded after the shim, and a worker waits for a message then. Another one of the same scheduler
 * must run meanwhile; it posts the message.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The stubs of win32u are hooked when that DLL comes. Without that the scheduler is not told, and a carrier would make the
 * call as if it were the worker's thread.
 */
#include "two_workers.h"

static BOOL (WINAPI *get_message)( MSG *, HWND, UINT, UINT );
static BOOL (WINAPI *peek_message)( MSG *, HWND, UINT, UINT, UINT );
static BOOL (WINAPI *post_message)( DWORD, UINT, WPARAM, LPARAM );
static volatile LONG has_queue, got;
static volatile DWORD sleeper_id;

static DWORD WINAPI sleeper( void *arg )
{
    HMODULE user32 = LoadLibraryA( "user32.dll" );
    MSG message;

    (void)arg;
    get_message  = (void *)GetProcAddress( user32, "GetMessageA" );
    peek_message = (void *)GetProcAddress( user32, "PeekMessageA" );
    post_message = (void *)GetProcAddress( user32, "PostThreadMessageA" );
    sleeper_id = GetCurrentThreadId();
    peek_message( &message, NULL, 0, 0, PM_NOREMOVE );
    has_queue = inside = 1;
    got = get_message( &message, NULL, 0, 0 ) && message.message == WM_APP && message.wParam == 7;
    inside = 2;
    return 0;
}

static DWORD WINAPI waker( void *arg )
{
    (void)arg;
    while (!has_queue) pUmsThreadYield( NULL );
    seen_inside = inside;
    post_message( sleeper_id, WM_APP, 7, 0 );
    return 0;
}

static void give_up( void )
{
    if (post_message) post_message( sleeper_id, WM_APP, 7, 0 );
}

int main( void )
{
    ok( !GetModuleHandleA( "win32u.dll" ), "win32u.dll is there already" );
    load_shim();
    run_round( sleeper, NULL, waker, give_up );
    end_round();
    ok( got, "it got another message" );
    return test_end();
}
