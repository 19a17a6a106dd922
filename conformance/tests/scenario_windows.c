/*
 * Scenarios: workers with windows on the screen: they paint, enumerate and talk to each other.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B11, B23, B27. Here the driver of the screen is on the way, which on Wine is code of its own
 * behind the kernel calls. A display is needed; scenario_messages.c does without.
 */
#include "../umslib.h"
#include "scenario_kit.h"

#define WORKERS 3
#define ROUNDS  2

enum { MESSAGE_COUNT = WM_USER + 1 };

static struct frame
{
    struct kit_worker *worker;
    volatile HWND window;
    LONG paints, counts, sizes, found, answers;
} frames[WORKERS];

static DWORD frame_tls;
static volatile LONG open_frames, told_frames, failed, wrong_thread;

static struct frame *look( void )
{
    struct frame *frame = TlsGetValue( frame_tls );

    if (GetCurrentThreadId() != frame->worker->id) wrong_thread++;
    return frame;
}

static void paint( struct frame *frame, HWND window )
{
    PAINTSTRUCT paint;
    HDC dc = BeginPaint( window, &paint );

    kit_yield( frame->worker, NULL );
    if (!dc || !Rectangle( dc, 5, 5, 50, 50 )) failed++;
    Sleep( 1 );
    if (!EndPaint( window, &paint )) failed++;
    frame->paints++;
}

static LRESULT CALLBACK frame_proc( HWND window, UINT message, WPARAM wparam, LPARAM lparam )
{
    struct frame *frame = look();

    switch (message)
    {
    case WM_PAINT:
        paint( frame, window );
        look();
        return 0;
    case WM_SIZE:
        kit_yield( frame->worker, NULL );
        frame->sizes++;
        break;
    case MESSAGE_COUNT:
        kit_migrate( frame->worker, &kit.scheds[wparam & 1] );
        frame->counts++;
        look();
        return (LRESULT)wparam + 1;
    }
    return DefWindowProcW( window, message, wparam, lparam );
}

static void pump( void )
{
    MSG msg;

    while (PeekMessageW( &msg, NULL, 0, 0, PM_REMOVE ))
    {
        TranslateMessage( &msg );
        DispatchMessageW( &msg );
    }
}

/* Lets others handle their messages, and handles its own. */
static void pump_until( struct kit_worker *worker, volatile LONG *value, LONG wanted )
{
    ULONGLONG limit = clock_ms() + KIT_LIMIT;

    while (*value != wanted && clock_ms() < limit)
    {
        pump();
        kit_yield( worker, NULL );
    }
}

static BOOL CALLBACK found_window( HWND window, LPARAM lparam )
{
    struct frame *frame = (struct frame *)lparam;
    int i;

    kit_yield( frame->worker, NULL );
    look();
    for (i = 0; i < WORKERS; i++) if (frames[i].window == window) frame->found++;
    return TRUE;
}

static void open_frame( struct frame *frame, struct kit_worker *worker )
{
    frame->worker = worker;
    TlsSetValue( frame_tls, frame );
    kit_yield( worker, NULL );
    frame->window = CreateWindowExW( 0, L"umstest frame", L"worker", WS_OVERLAPPEDWINDOW,
                                     20 * worker->index, 20 * worker->index, 100, 80, NULL, NULL,
                                     GetModuleHandleW( NULL ), NULL );
    if (!frame->window) failed++;
    ShowWindow( frame->window, SW_SHOWNOACTIVATE );
    InterlockedIncrement( &open_frames );
    pump_until( worker, &open_frames, WORKERS );
}

static DWORD frame_body( struct kit_worker *worker )
{
    struct frame *frame = worker->arg, *other = &frames[(worker->index + 1) % WORKERS];
    int i;

    open_frame( frame, worker );
    if (!EnumWindows( found_window, (LPARAM)frame )) failed++;
    for (i = 0; i < ROUNDS; i++)
    {
        if (!MoveWindow( frame->window, 10 * i, 10 * i, 100 + i, 80 + i, TRUE )) failed++;
        if (!RedrawWindow( frame->window, NULL, NULL, RDW_INVALIDATE | RDW_UPDATENOW )) failed++;
        if (SendMessageW( other->window, MESSAGE_COUNT, i, 0 ) == i + 1) frame->answers++;
        pump();
        look();
    }
    InterlockedIncrement( &told_frames );
    pump_until( worker, &told_frames, WORKERS );
    if (!DestroyWindow( frame->window )) failed++;
    pump();
    return 0;
}

static BOOL register_frames( void )
{
    WNDCLASSW class;

    memset( &class, 0, sizeof(class) );
    class.lpfnWndProc = frame_proc;
    class.lpszClassName = L"umstest frame";
    class.hInstance = GetModuleHandleW( NULL );
    class.hbrBackground = (HBRUSH)(COLOR_WINDOW + 1);
    frame_tls = TlsAlloc();
    return ok( RegisterClassW( &class ), "RegisterClass: error %lu\n", GetLastError() );
}

static void run_frames( int scheds )
{
    int i;

    if (!register_frames() || !kit_open()) return;
    for (i = 0; i < 2; i++) kit_add_sched( NULL );
    for (i = 0; i < WORKERS; i++)
        kit_add_worker( kit.scheds[i % scheds].list, frame_body, &frames[i] );
    kit_start();
    kit_finish();
    ok( !failed, "%ld calls failed\n", failed );
    ok( !wrong_thread, "B23: %ld messages handled by another thread\n", wrong_thread );
    for (i = 0; i < WORKERS; i++)
    {
        ok( frames[i].found == WORKERS, "EnumWindows found %ld of %d windows\n", frames[i].found,
            WORKERS );
        ok( frames[i].paints >= ROUNDS, "%ld times painted, expected %d\n", frames[i].paints,
            ROUNDS );
        ok( frames[i].sizes >= ROUNDS, "%ld sizes, expected %d\n", frames[i].sizes, ROUNDS );
        ok( frames[i].counts == ROUNDS && frames[i].answers == ROUNDS,
            "B11: %ld messages from another worker, %ld answers, expected %d\n", frames[i].counts,
            frames[i].answers, ROUNDS );
    }
    kit_check();
}

START_TEST( scenario_window_together )
{
    run_frames( 1 );
}

START_TEST( scenario_window_apart )
{
    run_frames( 2 );
}
