/*
 * Scenarios: a window procedure goes to a fiber, or to another stack, and makes calls there.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B11. The call that the window procedure belongs to, GetMessage, is still in progress when the procedure returns. The stack
 * of a fiber is most often above that of the thread, if it was made later. What becomes of a wait within a callback is [guess].
 */
#include "../umslib.h"
#include "scenario_kit.h"

#define MESSAGE_SWITCH (WM_USER + 1)
#define ROUNDS         5

static volatile HWND window;
static void *volatile outer, *volatile inner;
static volatile LONG switched, answered, above;
static volatile ULONG_PTR outer_stack;

static void CALLBACK inner_fiber( void *unused )
{
    volatile char here;

    (void)unused;
    for (;;)
    {
        if ((ULONG_PTR)&here > outer_stack) above++;
        Sleep( 1 );
        SwitchToFiber( outer );
    }
}

static LRESULT CALLBACK switching_proc( HWND hwnd, UINT message, WPARAM wparam, LPARAM lparam )
{
    volatile char here;

    if (message != MESSAGE_SWITCH) return DefWindowProcW( hwnd, message, wparam, lparam );
    outer_stack = (ULONG_PTR)&here;
    SwitchToFiber( inner );
    switched++;
    return (LRESULT)(2 * wparam);
}

static DWORD owner_body( struct kit_worker *worker )
{
    WNDCLASSW class;
    MSG msg;

    (void)worker;
    memset( &class, 0, sizeof(class) );
    class.lpfnWndProc = switching_proc;
    class.lpszClassName = L"umstest fiber";
    class.hInstance = GetModuleHandleW( NULL );
    RegisterClassW( &class );
    outer = ConvertThreadToFiber( NULL );
    inner = CreateFiber( 0, inner_fiber, NULL );
    window = CreateWindowExW( 0, L"umstest fiber", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, class.hInstance, NULL );
    while (GetMessageW( &msg, NULL, 0, 0 ) > 0) DispatchMessageW( &msg );
    DestroyWindow( window );
    DeleteFiber( inner );
    return 0;
}

static DWORD sender_body( struct kit_worker *worker )
{
    int i;

    while (!window) kit_yield( worker, NULL );
    for (i = 1; i <= ROUNDS; i++)
    {
        if (SendMessageW( window, MESSAGE_SWITCH, (WPARAM)i, 0 ) == 2 * i) answered++;
        Sleep( 5 );                             /* the owner is in GetMessage again, most often */
    }
    PostThreadMessageW( GetWindowThreadProcessId( window, NULL ), WM_QUIT, 0, 0 );
    return 0;
}

START_TEST( scenario_message_to_fiber )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, owner_body, NULL );
    kit_add_worker( sched->list, sender_body, NULL );
    kit_start();
    kit_finish();
    unverified ok( switched == ROUNDS && answered == ROUNDS, "%ld messages were handled, %ld answered\n", switched, answered );
    trace( "# the fiber's stack was above %ld times\n", above );
    kit_check();
}
