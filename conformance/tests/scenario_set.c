/*
 * Scenarios: somebody sets the registers of a worker that is in a call, to those that it has or to others.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 1.5, 3, 5 "suspended". A thread in a call has the registers of its program; new ones count when the call returns, and
 * the call is not cut short for them [seen: a plain thread, Wine 8.0, 10.0, in the same process]. That is how samplers, garbage
 * collectors and libraries for hardware breakpoints use a thread. That it is so for workers is [guess].
 */
#include <string.h>
#include "../umslib.h"
#include "scenario_kit.h"
#include "scenario_set.h"

/* In front of a check of what is [guess] for workers: in a test that has a scheduler. */
#define worker_unverified (kit.sched_count ? umstest_mark_unverified() : (void)0),

void detour_code( void );
ULONG64 detour_from;                            /* Rip before */
volatile LONG detours;

__asm__( ".text\n"
         ".globl detour_code\n"
         ".def detour_code; .scl 2; .type 32; .endef\n"
         "detour_code:\n"
         "\tpushfq\n"
         "\tlock incl detours(%rip)\n"
         "\tpopfq\n"
         "\tjmp *detour_from(%rip)\n" );

const char *const change_names[] = { "debug registers", "the same", "a detour" };

BOOL change_registers( HANDLE thread, enum change change, ULONG64 *rip )
{
    CONTEXT context;

    memset( &context, 0, sizeof(context) );
    context.ContextFlags = change == DEBUG_ONLY ? CONTEXT_DEBUG_REGISTERS : CONTEXT_FULL;
    if (!GetThreadContext( thread, &context )) return FALSE;
    if (rip) *rip = context.Rip;
    if (change == DETOUR)
    {
        detour_from = context.Rip;
        context.Rip = (ULONG_PTR)detour_code;
    }
    return SetThreadContext( thread, &context );
}

static void change_while_suspended( HANDLE thread, enum change change )
{
    DWORD count = SuspendThread( thread );

    ok( !count, "it was suspended %ld times already, error %lu\n", count, GetLastError() );
    worker_unverified ok( change_registers( thread, change, NULL ), "%s: error %lu\n", change_names[change], GetLastError() );
    count = ResumeThread( thread );
    ok( count == 1, "it was suspended %ld times, not once\n", count );
}

/* ---- a call that blocks ---- */

static HANDLE event, pipe_read, pipe_write;
static volatile LONG about, result, bytes;
static PUMS_COMPLETION_LIST second_list;
static volatile PUMS_CONTEXT taken;

static DWORD wait_body( struct kit_worker *worker )
{
    (void)worker;
    about = 1;
    result = (LONG)WaitForSingleObject( event, KIT_LIMIT );
    return 0;
}

static DWORD read_body( struct kit_worker *worker )
{
    char buffer[8];
    DWORD count = 0;

    (void)worker;
    about = 1;
    result = ReadFile( pipe_read, buffer, sizeof(buffer), &count, NULL );
    bytes = (LONG)count;
    return 0;
}

static DWORD short_body( struct kit_worker *worker )
{
    (void)worker;
    return 0;
}

static DWORD dequeue_body( struct kit_worker *worker )
{
    PUMS_CONTEXT first = NULL;

    about = 1;
    result = pDequeueUmsCompletionListItems( second_list, KIT_LIMIT, &first );
    taken = first;
    if (first)
    {
        kit_worker_of( first )->context = first;
        InterlockedIncrement( &kit_worker_of( first )->queued );
        kit_ready( kit_worker_of( first ), worker->last );
    }
    return 0;
}

static void make_objects( void )
{
    ok( CreatePipe( &pipe_read, &pipe_write, NULL, 0 ), "CreatePipe: error %lu\n", GetLastError() );
    event = CreateEventA( NULL, TRUE, FALSE, NULL );        /* behind the pipe: with local objects that would make it the host's */
    ok( event != NULL, "CreateEvent: error %lu\n", GetLastError() );
    about = result = bytes = detours = 0;
}

static void end_call( DWORD (*body)( struct kit_worker * ) )
{
    DWORD count;

    if (body == wait_body) SetEvent( event );
    else if (body == read_body) WriteFile( pipe_write, "12345", 5, &count, NULL );
    else kit_add_worker( second_list, short_body, NULL );
}

static void check_result( DWORD (*body)( struct kit_worker * ), enum change change )
{
    const char *name = change_names[change];

    if (body == wait_body) worker_unverified ok( result == WAIT_OBJECT_0, "%s: the wait returned %ld\n", name, result );
    else if (body == read_body)
        worker_unverified ok( result == 1 && bytes == 5, "%s: the read returned %ld, %ld bytes\n", name, result, bytes );
    else worker_unverified ok( result == 1 && taken, "%s: the dequeue returned %ld, item %p\n", name, result, taken );
    worker_unverified ok( detours == (change == DETOUR), "%s: %ld detours\n", name, detours );
}

/* Its scheduler has been told that it blocks. */
static void change_in_call( DWORD (*body)( struct kit_worker * ), enum change change )
{
    struct kit_worker *worker;

    if (!kit_open()) return;
    make_objects();
    if (body == dequeue_body && !(second_list = kit_new_list())) return;
    worker = kit_add_worker( kit_add_sched( NULL )->list, body, NULL );
    kit_start();
    if (worker && ok( kit_leaves( &worker->blocks, 0 ), "it does not block\n" ))
        change_while_suspended( worker->thread, change );
    end_call( body );
    kit_finish();
    check_result( body, change );
    kit_check();
}

START_TEST( scenario_set_debug_in_wait )    { change_in_call( wait_body, DEBUG_ONLY ); }
START_TEST( scenario_set_same_in_wait )     { change_in_call( wait_body, THE_SAME ); }
START_TEST( scenario_set_detour_in_wait )   { change_in_call( wait_body, DETOUR ); }
START_TEST( scenario_set_debug_in_read )    { change_in_call( read_body, DEBUG_ONLY ); }
START_TEST( scenario_set_same_in_read )     { change_in_call( read_body, THE_SAME ); }
START_TEST( scenario_set_detour_in_read )   { change_in_call( read_body, DETOUR ); }
/* By a detour the call is cut short here, as a function of ours which no kernel knows: what it took is there. */
START_TEST( scenario_set_debug_in_dequeue ) { change_in_call( dequeue_body, DEBUG_ONLY ); }
START_TEST( scenario_set_same_in_dequeue )  { change_in_call( dequeue_body, THE_SAME ); }

static DWORD WINAPI plain_body( void *arg )
{
    return (*(DWORD (**)( struct kit_worker * ))arg)( NULL );
}

/* What the above rests on. The thread may not be in its call yet when its registers are set, which is no other. */
static void change_plain( DWORD (*body)( struct kit_worker * ), enum change change )
{
    HANDLE thread;

    make_objects();
    thread = CreateThread( NULL, 0, plain_body, &body, 0, NULL );
    ok( kit_wait_value( &about, 1 ), "it does not run\n" );
    change_while_suspended( thread, change );
    end_call( body );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "it does not end\n" );
    CloseHandle( thread );
    check_result( body, change );
}

START_TEST( scenario_set_plain )
{
    enum change change;

    for (change = DEBUG_ONLY; change <= DETOUR; change++)
    {
        change_plain( wait_body, change );
        change_plain( read_body, change );
    }
}

/* ---- a wait that is over ---- */

#define SHORT_WAIT  200                         /* ms */
#define FIRST_WAITS 20                          /* they may be made in another way than those behind them */

static volatile LONG may_end;                   /* the main thread may come late: not before it has been there */

static DWORD short_wait_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < FIRST_WAITS; i++) WaitForSingleObject( event, 1 );
    about = worker->blocks + 1;
    result = (LONG)WaitForSingleObject( event, SHORT_WAIT );
    while (!may_end) kit_yield( worker, NULL );
    return 0;
}

/* A time that is over while the worker is suspended ends this wait at once; that for an object may stay until it is resumed. */
static DWORD short_condition_body( struct kit_worker *worker )
{
    CONDITION_VARIABLE condition = CONDITION_VARIABLE_INIT;
    SRWLOCK lock = SRWLOCK_INIT;
    int i;

    AcquireSRWLockExclusive( &lock );
    for (i = 0; i < FIRST_WAITS; i++) SleepConditionVariableSRW( &condition, &lock, 1, 0 );
    about = worker->blocks + 1;
    result = SleepConditionVariableSRW( &condition, &lock, SHORT_WAIT, 0 ) ? 0 : (LONG)GetLastError();
    ReleaseSRWLockExclusive( &lock );
    while (!may_end) kit_yield( worker, NULL );
    return 0;
}

/* Mostly the wait is over when the registers are set, but not the call: the worker has not been executed since. In any
   order the wait returns what it returns. */
static void change_after_wait( DWORD (*body)( struct kit_worker * ), LONG time_out )
{
    struct kit_worker *worker;
    CONTEXT context;

    if (!kit_open()) return;
    make_objects();
    worker = kit_add_worker( kit_add_sched( NULL )->list, body, NULL );
    kit_start();
    if (worker && ok( kit_leaves( &about, 0 ) && kit_wait_value( &worker->blocks, about ), "it does not block\n" ))
    {
        ok( !SuspendThread( worker->thread ), "SuspendThread: error %lu\n", GetLastError() );
        context.ContextFlags = CONTEXT_FULL;
        ok( GetThreadContext( worker->thread, &context ), "GetThreadContext: error %lu\n", GetLastError() );
        detour_from = context.Rip;
        context.Rip = (ULONG_PTR)detour_code;
        Sleep( 2 * SHORT_WAIT );
        unverified ok( SetThreadContext( worker->thread, &context ), "SetThreadContext: error %lu\n", GetLastError() );
        ok( ResumeThread( worker->thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    }
    may_end = 1;
    kit_finish();
    unverified ok( result == time_out && detours == 1, "the wait returned %ld, not %ld, %ld detours\n", result, time_out, detours );
    kit_check();
}

START_TEST( scenario_set_detour_after_wait )      { change_after_wait( short_wait_body, WAIT_TIMEOUT ); }
START_TEST( scenario_set_detour_after_condition ) { change_after_wait( short_condition_body, ERROR_TIMEOUT ); }

/* ---- an APC runs before the call ends ---- */

static volatile LONG apc_begun, apc_go_on, apc_done;

/* It makes calls of its own, which return first, and computes. */
static void CALLBACK apc_routine( ULONG_PTR unused )
{
    (void)unused;
    SetEvent( event );
    WaitForSingleObject( event, 0 );
    apc_begun = 1;
    while (!apc_go_on) YieldProcessor();
    apc_done = 1;
}

static DWORD alertable_body( struct kit_worker *worker )
{
    (void)worker;
    about = 1;
    result = (LONG)SleepEx( KIT_LIMIT, TRUE );
    return 0;
}

static void send_apc( HANDLE thread )
{
    change_while_suspended( thread, DETOUR );
    ok( QueueUserAPC( apc_routine, thread, 0 ), "QueueUserAPC: error %lu\n", GetLastError() );
    ok( kit_wait_value( &apc_begun, 1 ), "no APC\n" );
    ok( !SuspendThread( thread ) && ResumeThread( thread ) == 1, "error %lu\n", GetLastError() );
    apc_go_on = 1;
}

static void check_apc( void )
{
    worker_unverified ok( apc_done == 1 && detours == 1, "%ld APCs, %ld detours\n", apc_done, detours );
    worker_unverified ok( result == WAIT_IO_COMPLETION, "the wait returned %ld\n", result );
}

START_TEST( scenario_set_detour_with_apc )
{
    struct kit_worker *worker;

    if (!kit_open()) return;
    make_objects();
    worker = kit_add_worker( kit_add_sched( NULL )->list, alertable_body, NULL );
    kit_start();
    if (worker && ok( kit_leaves( &worker->blocks, 0 ), "it does not block\n" )) send_apc( worker->thread );
    kit_finish();
    check_apc();
    kit_check();
}

START_TEST( scenario_set_detour_with_apc_plain )
{
    DWORD (*body)( struct kit_worker * ) = alertable_body;
    HANDLE thread;

    make_objects();
    thread = CreateThread( NULL, 0, plain_body, &body, 0, NULL );
    ok( kit_wait_value( &about, 1 ), "it does not run\n" );
    send_apc( thread );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "it does not end\n" );
    CloseHandle( thread );
    check_apc();
}

/* ---- a wait in a callback: it ends, not the call that has called back ---- */

static volatile LONG call_returned;

static LRESULT CALLBACK window_proc( HWND window, UINT message, WPARAM wparam, LPARAM lparam )
{
    if (message != WM_CREATE) return DefWindowProcW( window, message, wparam, lparam );
    wait_body( NULL );
    return 0;
}

static DWORD callback_body( struct kit_worker *worker )
{
    HWND window = CreateWindowExW( 0, L"umstest", L"", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, GetModuleHandleW( NULL ), NULL );

    (void)worker;
    call_returned = window != NULL;
    DestroyWindow( window );
    return 0;
}

/* That its scheduler is told of a wait in a callback is [guess]. */
static void change_in_callback( enum change change )
{
    WNDCLASSW class = { .lpfnWndProc = window_proc, .lpszClassName = L"umstest", .hInstance = GetModuleHandleW( NULL ) };
    struct kit_worker *worker;

    ok( RegisterClassW( &class ), "RegisterClass: error %lu\n", GetLastError() );
    if (!kit_open()) return;
    make_objects();
    worker = kit_add_worker( kit_add_sched( NULL )->list, callback_body, NULL );
    kit_start();
    if (worker && ok( kit_wait_value( &about, 1 ), "no callback\n" ) &&
        (unverified ok( kit_leaves( &worker->blocks, 0 ), "it does not block\n" ))) change_while_suspended( worker->thread, change );
    SetEvent( event );
    kit_finish();
    check_result( wait_body, change );
    unverified ok( call_returned == 1, "%s: the window was not made\n", change_names[change] );
    kit_check();
}

START_TEST( scenario_set_same_in_callback )   { change_in_callback( THE_SAME ); }
START_TEST( scenario_set_detour_in_callback ) { change_in_callback( DETOUR ); }

/* ---- a start routine that jumps into a wait, as a compiler makes the last call of a function ---- */

DWORD WINAPI jump_to_wait( void *event );
LONG (WINAPI *wait_target)( HANDLE, BOOLEAN, LARGE_INTEGER * );

__asm__( ".text\n"
         ".globl jump_to_wait\n"
         ".def jump_to_wait; .scl 2; .type 32; .endef\n"
         "jump_to_wait:\n"                       /* rcx: the event */
         "\txorl %edx,%edx\n"
         "\txorl %r8d,%r8d\n"
         "\tjmp *wait_target(%rip)\n" );

/* kit_add_worker, but for what the thread begins with. */
static struct kit_worker *add_jumper( PUMS_COMPLETION_LIST list )
{
    struct kit_worker *worker = &kit.workers[InterlockedIncrement( &kit.worker_count ) - 1];
    PUMS_CONTEXT context;
    HANDLE thread;

    InterlockedIncrement( &kit.live );
    if (!ok( kit_create_thread( list, jump_to_wait, event, worker, 0, 0, &context, &thread, &worker->id ), "no worker\n" )) return NULL;
    InterlockedExchangePointer( (void *volatile *)&worker->thread, thread );
    return worker;
}

static void change_jumper( enum change change )
{
    struct kit_worker *worker;

    if (!kit_open()) return;
    make_objects();
    wait_target = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtWaitForSingleObject" );
    worker = add_jumper( kit_add_sched( NULL )->list );
    kit_start();
    if (worker && (unverified ok( kit_leaves( &worker->blocks, 0 ), "it does not block\n" )))
        change_while_suspended( worker->thread, change );
    if (worker) worker->ended = 1;              /* its routine does not say so */
    SetEvent( event );
    kit_finish();
    unverified ok( detours == (change == DETOUR), "%s: %ld detours\n", change_names[change], detours );
    kit_check();
}

START_TEST( scenario_set_same_jumped )   { change_jumper( THE_SAME ); }
START_TEST( scenario_set_detour_jumped ) { change_jumper( DETOUR ); }

/* ---- a worker that suspends itself, and is sent elsewhere: its waits are told as before ---- */

static volatile LONG landed, waited;
static struct kit_worker *sent;

/* On the same stack, below the call that does not return. */
static void landing( void )
{
    landed = 1;
    waited = WaitForSingleObject( event, KIT_LIMIT ) == WAIT_OBJECT_0 ? 1 : -1;
    InterlockedExchange( &sent->ended, 1 );
    ExitThread( 0 );
}

static DWORD self_suspended_body( struct kit_worker *worker )
{
    (void)worker;
    about = 1;
    SuspendThread( GetCurrentThread() );
    return 0;
}

static DWORD setter_body( struct kit_worker *worker )
{
    (void)worker;
    SetEvent( event );
    return 0;
}

void send_elsewhere( HANDLE thread, void (*where)( void ) )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_FULL;
    ok( GetThreadContext( thread, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    context.Rip = (ULONG_PTR)where;
    context.Rsp = ((context.Rsp - 0x2000) & ~(ULONG_PTR)15) - 8;
    unverified ok( SetThreadContext( thread, &context ), "SetThreadContext: error %lu\n", GetLastError() );
    ok( ResumeThread( thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
}

/* A Blocked upcall alone may be for something before that. */
static BOOL wait_for_its_suspension( void )
{
    return ok( kit_wait_value( &about, 1 ) && context_gets_suspended( sent->context, 1 ) && kit_leaves( &sent->blocks, 0 ),
               "it does not suspend itself\n" );
}

START_TEST( scenario_set_sent_elsewhere )
{
    struct kit_sched *sched;
    LONG blocks;

    if (!kit_open()) return;
    make_objects();
    sched = kit_add_sched( NULL );
    sent = kit_add_worker( sched->list, self_suspended_body, NULL );
    kit_start();
    if (sent && wait_for_its_suspension())
    {
        blocks = sent->blocks;
        send_elsewhere( sent->thread, landing );
        unverified ok( kit_wait_value( &landed, 1 ), "it did not get there\n" );
        unverified ok( kit_leaves( &sent->blocks, blocks ), "its wait is not told to its scheduler\n" );
    }
    kit_add_worker( sched->list, setter_body, NULL );
    kit_finish();
    unverified ok( waited == 1, "the other worker was not executed while this one waited\n" );
    kit_check();
}

/* ---- what no thread may have ---- */

static DWORD parks_body( struct kit_worker *worker )
{
    about = 1;
    kit_park( worker );
    return 0;
}

/* The scheduler's thread is the one that would fault, if the value came to the processor. */
START_TEST( scenario_set_bad_mxcsr )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    CONTEXT context;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, parks_body, NULL );
    kit_start();
    ok( worker && kit_leaves( &worker->parked, 0 ), "it does not yield\n" );
    ok( !SuspendThread( worker->thread ), "SuspendThread: error %lu\n", GetLastError() );
    context.ContextFlags = CONTEXT_FULL;
    ok( GetThreadContext( worker->thread, &context ), "GetThreadContext: error %lu\n", GetLastError() );
    context.FltSave.MxCsr = context.MxCsr = 0xffff1f80;
    SetThreadContext( worker->thread, &context );               /* refused, or without those bits [guess] */
    ok( ResumeThread( worker->thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    kit_ready( worker, sched );
    kit_finish();
    kit_check();
}
