/*
 * Scenarios: workers wait for window messages, send them to each other, and have hooks and timers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B11, B12, B23, B27. Waiting for a message is waiting in the kernel like any other. A message
 * that is sent is handled by the thread that owns the window, a worker when it is executed; until
 * then its sender is blocked. The windows are message-only ones: no display is needed.
 */
#include "../umslib.h"
#include "scenario_kit.h"

#define ROUNDS 10

enum
{
    MESSAGE_PING = WM_USER + 1,                 /* answered with twice wparam */
    MESSAGE_PING_BACK,                          /* ... after a ping to the sender's window */
    MESSAGE_STOP                                /* the receiver's loop ends */
};

static volatile LONG handled, wrong_thread, wrong_value, failed, stopped;
static DWORD message_tls;

struct box                                      /* a worker with a window */
{
    struct kit_worker *worker;
    volatile HWND window;
    struct box *volatile other;
    LONG pings;
};

static struct box boxes[3];

static void look( struct box *box )
{
    if (GetCurrentThreadId() != box->worker->id || TlsGetValue( message_tls ) != box)
        wrong_thread++;
}

static LRESULT ping( struct box *from, UINT message, WPARAM wparam )
{
    LRESULT ret = SendMessageW( from->other->window, message, wparam, (LPARAM)from->other );

    if (ret != (LRESULT)(2 * wparam)) wrong_value++;
    look( from );
    return ret;
}

static LRESULT CALLBACK box_proc( HWND window, UINT message, WPARAM wparam, LPARAM lparam )
{
    struct box *box = (struct box *)lparam;

    if (message != MESSAGE_PING && message != MESSAGE_PING_BACK)
        return DefWindowProcW( window, message, wparam, lparam );
    InterlockedIncrement( &handled );
    box->pings++;
    look( box );
    kit_yield( box->worker, NULL );
    if (message == MESSAGE_PING_BACK) ping( box, MESSAGE_PING, wparam + 1 );
    if (wparam & 1) kit_migrate( box->worker, &kit.scheds[wparam / 2 % kit.sched_count] );
    if (!(wparam % 5)) Sleep( 1 );
    look( box );
    return 2 * wparam;
}

static void register_boxes( void )
{
    WNDCLASSW class;

    memset( &class, 0, sizeof(class) );
    class.lpfnWndProc = box_proc;
    class.lpszClassName = L"umstest box";
    class.hInstance = GetModuleHandleW( NULL );
    ok( RegisterClassW( &class ), "RegisterClass: error %lu\n", GetLastError() );
    message_tls = TlsAlloc();
}

static void open_box( struct box *box, struct kit_worker *worker )
{
    box->worker = worker;
    TlsSetValue( message_tls, box );
    kit_yield( worker, NULL );
    box->window = CreateWindowExW( 0, L"umstest box", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL,
                                   GetModuleHandleW( NULL ), NULL );
    if (!box->window) failed++;
}

static void close_box( struct box *box )
{
    if (!DestroyWindow( box->window )) failed++;
}

static void check_messages( void )
{
    ok( !failed, "%ld calls failed\n", failed );
    ok( !wrong_thread, "B23: %ld times a message was handled by another thread\n", wrong_thread );
    ok( !wrong_value, "%ld messages gave a wrong result\n", wrong_value );
}

/* ---- waiting: B11 ---- */

typedef BOOL (*message_wait)( UINT expected );

static volatile LONG about_to_wait;
static struct kit_worker *waiter;
static HANDLE never;

static BOOL take( UINT expected )
{
    MSG msg;

    return PeekMessageW( &msg, NULL, expected, expected, PM_REMOVE );
}

static BOOL by_get_message( UINT expected )
{
    MSG msg;

    return GetMessageW( &msg, NULL, 0, 0 ) > 0 && msg.message == expected;
}

static BOOL by_wait_message( UINT expected )
{
    return WaitMessage() && take( expected );
}

static BOOL by_msg_wait( UINT expected )
{
    return MsgWaitForMultipleObjects( 1, &never, FALSE, KIT_LIMIT, QS_ALLINPUT ) ==
           WAIT_OBJECT_0 + 1 && take( expected );
}

static BOOL by_msg_wait_ex( UINT expected )
{
    return MsgWaitForMultipleObjectsEx( 0, NULL, KIT_LIMIT, QS_POSTMESSAGE,
                                        MWMO_INPUTAVAILABLE ) == WAIT_OBJECT_0 && take( expected );
}

static const message_wait waits[] = { by_get_message, by_wait_message, by_msg_wait, by_msg_wait_ex };

static DWORD waiting_body( struct kit_worker *worker )
{
    int i;

    (void)worker;
    take( WM_USER );                            /* there is a queue from here on */
    for (i = 1; i <= ROUNDS * (int)ARRAYSIZE(waits); i++)
    {
        about_to_wait = i;
        if (!waits[i % ARRAYSIZE(waits)]( WM_USER + i )) failed++;
    }
    about_to_wait = -1;
    return 0;
}

/* On the same scheduler: it runs when the other one waits. */
static DWORD posting_body( struct kit_worker *worker )
{
    int i;

    for (i = 1; i <= ROUNDS * (int)ARRAYSIZE(waits); i++)
    {
        if (!kit_yield_until( worker, &about_to_wait, i )) return 1;
        if (!PostThreadMessageW( waiter->id, WM_USER + i, 0, 0 )) failed++;
    }
    return 0;
}

START_TEST( scenario_message_waits )
{
    struct kit_sched *sched;

    LoadLibraryW( L"user32" );          /* here, not by the worker that calls it first */
    if (!kit_open()) return;
    never = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    waiter = kit_add_worker( sched->list, waiting_body, NULL );
    kit_add_worker( sched->list, posting_body, NULL );
    kit_start();
    kit_finish();
    ok( about_to_wait == -1, "B11: the wait %ld for a message kept its scheduler\n",
        about_to_wait );
    check_messages();
    kit_check();
}

/* ---- two workers send to each other ---- */

static DWORD receive( struct kit_worker *worker, struct box *box )
{
    MSG msg;

    while (!stopped)
    {
        if (GetMessageW( &msg, NULL, 0, 0 ) <= 0 || msg.message == MESSAGE_STOP) break;
        DispatchMessageW( &msg );
        kit_yield( worker, NULL );
    }
    look( box );
    return 0;
}

static volatile LONG open_boxes;

/* First one sends and the other waits for messages, then the other way round. While it sends it
   handles what the other sends back. */
static DWORD talking_body( struct kit_worker *worker )
{
    struct box *box = worker->arg;
    int turn, i;

    open_box( box, worker );
    InterlockedIncrement( &open_boxes );
    kit_yield_until( worker, &open_boxes, 2 );
    for (turn = 0; turn < 2; turn++)
    {
        if (box != &boxes[turn])
        {
            receive( worker, box );
            continue;
        }
        for (i = 0; i < ROUNDS; i++)
        {
            ping( box, i & 1 ? MESSAGE_PING : MESSAGE_PING_BACK, i );
            kit_yield( worker, NULL );
        }
        if (!PostThreadMessageW( box->other->worker->id, MESSAGE_STOP, 0, 0 )) failed++;
    }
    InterlockedIncrement( &open_boxes );
    kit_yield_until( worker, &open_boxes, 4 );
    close_box( box );
    return 0;
}

static void run_talk( int scheds )
{
    int i;

    register_boxes();
    if (!kit_open()) return;
    for (i = 0; i < scheds; i++) kit_add_sched( NULL );
    for (i = 0; i < 2; i++)
    {
        boxes[i].other = &boxes[!i];
        kit_add_worker( kit.scheds[i % scheds].list, talking_body, &boxes[i] );
    }
    kit_start();
    kit_finish();
    ok( handled == 3 * ROUNDS, "%ld messages handled, expected %d\n", handled, 3 * ROUNDS );
    check_messages();
    kit_check();
}

START_TEST( scenario_message_talk )
{
    run_talk( 1 );
}

START_TEST( scenario_message_talk_apart )
{
    run_talk( 2 );
}

/* ---- the receiver is yielded ---- */

static volatile LONG sent;

static DWORD parked_receiver( struct kit_worker *worker )
{
    open_box( &boxes[0], worker );
    kit_park( worker );
    while (sent != 2)
    {
        MSG msg;

        if (PeekMessageW( &msg, NULL, 0, 0, PM_REMOVE )) DispatchMessageW( &msg );
        kit_yield( worker, NULL );
    }
    close_box( &boxes[0] );
    return 0;
}

static void send_to_parked( void )
{
    if (SendMessageW( boxes[0].window, MESSAGE_PING, 3, (LPARAM)&boxes[0] ) != 6) wrong_value++;
    InterlockedIncrement( &sent );
}

static DWORD sending_body( struct kit_worker *worker )
{
    (void)worker;
    send_to_parked();
    return 0;
}

static DWORD WINAPI sending_thread( void *arg )
{
    (void)arg;
    send_to_parked();
    return 0;
}

/* Its messages wait, and with them a worker, whose scheduler goes on, and a plain thread. */
START_TEST( scenario_message_to_yielded )
{
    struct kit_worker *receiver, *sender;
    struct kit_sched *sched, *other;
    HANDLE thread;

    register_boxes();
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    other = kit_add_sched( NULL );
    if (!(receiver = kit_add_worker( sched->list, parked_receiver, NULL ))) return;
    kit_start();
    ok( kit_wait_value( &receiver->parked, 1 ), "the receiver does not park\n" );
    sender = kit_add_worker( other->list, sending_body, NULL );
    thread = CreateThread( NULL, 0, sending_thread, NULL, 0, NULL );
    /* it may have blocked before, in the loader */
    ok( sender && kit_leaves( &sender->blocks, 0 ), "B11: the sender keeps its scheduler\n" );
    ok( !sent && !handled, "a message was handled for a yielded worker\n" );
    kit_ready( receiver, sched );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the plain sender hangs\n" );
    kit_finish();
    ok( handled == 2, "%ld messages handled, expected 2\n", handled );
    check_messages();
    kit_check();
    CloseHandle( thread );
}

/* ---- hooks and timers of a worker ---- */

static volatile LONG hooked[2], timed;

static LRESULT hook_called( int which, int code, WPARAM wparam, LPARAM lparam )
{
    struct box *box = TlsGetValue( message_tls );

    if (code < 0) return CallNextHookEx( NULL, code, wparam, lparam );
    InterlockedIncrement( &hooked[which] );
    look( box );
    kit_yield( box->worker, NULL );
    look( box );
    return CallNextHookEx( NULL, code, wparam, lparam );
}

static LRESULT CALLBACK call_hook( int code, WPARAM wparam, LPARAM lparam )
{
    return hook_called( 0, code, wparam, lparam );
}

static LRESULT CALLBACK get_hook( int code, WPARAM wparam, LPARAM lparam )
{
    return hook_called( 1, code, wparam, lparam );
}

static void CALLBACK timer_proc( HWND window, UINT message, UINT_PTR id, DWORD time )
{
    struct box *box = TlsGetValue( message_tls );

    (void)window; (void)id; (void)time;
    if (message != WM_TIMER) wrong_value++;
    look( box );
    kit_yield( box->worker, NULL );
    look( box );
    InterlockedIncrement( &timed );
}

static DWORD hooked_body( struct kit_worker *worker )
{
    struct box *box = worker->arg;
    HHOOK hooks[2];
    UINT_PTR timers[2];
    MSG msg;
    int i;

    open_box( box, worker );
    box->other = box;
    hooks[0] = SetWindowsHookExW( WH_CALLWNDPROC, call_hook, NULL, worker->id );
    hooks[1] = SetWindowsHookExW( WH_GETMESSAGE, get_hook, NULL, worker->id );
    for (i = 0; i < ROUNDS; i++)
    {
        ping( box, MESSAGE_PING, i );
        if (!PostMessageW( box->window, MESSAGE_PING, 2 * i, (LPARAM)box )) failed++;
        if (GetMessageW( &msg, NULL, MESSAGE_PING, MESSAGE_PING ) <= 0) failed++;
        DispatchMessageW( &msg );
    }
    for (i = 0; i < 2; i++) if (!hooks[i] || !UnhookWindowsHookEx( hooks[i] )) failed++;
    timers[0] = SetTimer( NULL, 0, 1, timer_proc );
    timers[1] = SetTimer( box->window, 5, 1, timer_proc );
    while (timed < ROUNDS && GetMessageW( &msg, NULL, 0, 0 ) > 0) DispatchMessageW( &msg );
    if (!KillTimer( NULL, timers[0] ) || !KillTimer( box->window, timers[1] )) failed++;
    close_box( box );
    return 0;
}

START_TEST( scenario_message_hooks )
{
    int i;

    register_boxes();
    if (!kit_open()) return;
    for (i = 0; i < 2; i++) kit_add_sched( NULL );
    for (i = 0; i < 3; i++)
        kit_add_worker( kit.scheds[i & 1].list, hooked_body, &boxes[i] );
    kit_start();
    kit_finish();
    for (i = 0; i < 2; i++)
        ok( hooked[i] >= 3 * ROUNDS, "hook %d was called %ld times\n", i, hooked[i] );
    for (i = 0; i < 3; i++)
        ok( boxes[i].pings == 2 * ROUNDS, "%ld messages, expected %d\n", boxes[i].pings,
            2 * ROUNDS );
    check_messages();
    kit_check();
}
