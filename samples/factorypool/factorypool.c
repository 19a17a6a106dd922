/*
 * The sample pool's demo: a bit of everything, and every result is checked.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Exit status: 0 everything right, 1 no worker factories here or a wrong result, 3 hung.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <string.h>
#include "pool.h"

#define TIMEOUT 60000           /* ms without a step */
#define LATE    (24 * 3600000)  /* ms: not in this run */

static const char *volatile step = "start";
static volatile LONG steps;
static int wrong;

static void check( BOOL right, const char *what )
{
    printf( "  %-60s %s\n", what, right ? "ok" : "WRONG" );
    fflush( stdout );
    InterlockedIncrement( &steps );
    if (!right) wrong++;
}

static void begin( const char *name )
{
    step = name;
    InterlockedIncrement( &steps );
    printf( "%s\n", name );
}

/* ---- work ---- */

#define ITEMS 2000

static volatile LONG runs[ITEMS];

static void count_run( const struct pool_call *call )
{
    InterlockedIncrement( call->context );
}

static void demo_work( struct pool *pool )
{
    struct pool_source *work;
    volatile LONG count = 0;
    int i, once = 0;

    begin( "work" );
    work = pool_work( pool, NULL, count_run, (void *)&count );
    for (i = 0; i < ITEMS; i++) pool_submit( work );
    pool_drain( work, FALSE );
    check( count == ITEMS, "one source, submitted 2,000 times, ran as often" );
    pool_close( work );

    for (i = 0; i < ITEMS; i++) pool_run( pool, count_run, (void *)&runs[i] );
    pool_run( pool, count_run, (void *)&count );
    work = pool_work( pool, NULL, count_run, (void *)&count );
    pool_submit( work );
    pool_drain( work, FALSE );
    pool_close( work );
    while (count < ITEMS + 2) Sleep( 1 );
    for (i = 0; i < ITEMS; i++)
    {
        while (!runs[i]) Sleep( 1 );
        once += runs[i] == 1;
    }
    check( once == ITEMS, "2,000 callbacks to be run once ran once" );
}

/* ---- threads ---- */

#define PARTY 6

static HANDLE gate;
static volatile LONG inside;

static void wait_for_all( const struct pool_call *call )
{
    (void)call;
    if (InterlockedIncrement( &inside ) == PARTY) SetEvent( gate );
    WaitForSingleObject( gate, INFINITE );
}

static void demo_threads( void )
{
    struct pool *pool = pool_create( 3, PARTY );
    struct pool_group *group;
    int i;

    begin( "threads" );
    if (!pool)
    {
        check( FALSE, "a pool of its own" );
        return;
    }
    while (pool_threads( pool ) < 3) Sleep( 1 );
    check( pool_threads( pool ) == 3, "at least three threads are made at once" );

    /* each waits for the last one, so as many threads are needed */
    group = pool_group_create( pool );
    for (i = 0; i < PARTY; i++) pool_submit( pool_work( pool, group, wait_for_all, NULL ) );
    pool_group_close( group, FALSE );
    check( inside == PARTY, "callbacks that wait for each other all run" );
    check( pool_threads( pool ) <= PARTY, "there are not more threads than allowed" );
    check( pool_set_threads( pool, 0, 1 ) && !pool_set_threads( pool, 2, 1 ) &&
               GetLastError() == ERROR_INVALID_PARAMETER, "the limits can be changed, in order" );
    pool_destroy( pool );
    check( TRUE, "the pool ends with all its threads" );
}

/* ---- timers ---- */

#define TICKS 5

struct ticker
{
    struct pool_source *timer;
    volatile LONG       ticks;
    HANDLE              done;
};

static void tick( const struct pool_call *call )
{
    struct ticker *ticker = call->context;

    if (InterlockedIncrement( &ticker->ticks ) != TICKS) return;
    pool_set_timer( ticker->timer, INFINITE, 0 );
    SetEvent( ticker->done );
}

static void demo_timers( struct pool *pool )
{
    struct ticker ticker = { NULL, 0, CreateEventW( NULL, TRUE, FALSE, NULL ) };
    volatile LONG never = 0, early = 0;
    struct pool_source *late, *soon;
    ULONGLONG start;

    begin( "timers" );
    late = pool_timer( pool, NULL, count_run, (void *)&never );
    pool_set_timer( late, LATE, 0 );
    ticker.timer = pool_timer( pool, NULL, tick, &ticker );
    start = GetTickCount64();
    pool_set_timer( ticker.timer, 20, 10 );
    WaitForSingleObject( ticker.done, INFINITE );
    check( GetTickCount64() - start >= 20, "a timer does not fire too early" );
    pool_drain( ticker.timer, TRUE );
    check( ticker.ticks >= TICKS, "a timer with a period fires again and again" );

    soon = pool_timer( pool, NULL, count_run, (void *)&early );
    pool_set_timer( soon, 0, 0 );
    while (!early) Sleep( 1 );
    check( !never, "a timer that is set for later does not" );
    check( !pool_drain( late, TRUE ) && !never, "a timer that is stopped does not fire" );
    pool_close( soon );
    pool_close( late );
    pool_close( ticker.timer );
    CloseHandle( ticker.done );
}

/* ---- waits ---- */

#define WAITS 100                       /* more than one thread can wait for */

struct waiter
{
    volatile LONG signalled, timed_out;
};

static void waited( const struct pool_call *call )
{
    struct waiter *waiter = call->context;

    InterlockedIncrement( call->timed_out ? &waiter->timed_out : &waiter->signalled );
}

static void demo_waits( struct pool *pool )
{
    static struct waiter waiters[WAITS];
    static struct pool_source *sources[WAITS];
    static HANDLE events[WAITS];
    struct waiter late = { 0, 0 };
    struct pool_source *source;
    int i, right = 0;

    begin( "waits" );
    for (i = 0; i < WAITS; i++)
    {
        events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
        sources[i] = pool_wait( pool, NULL, waited, &waiters[i] );
        if (!pool_set_wait( sources[i], events[i], INFINITE )) wrong++;
    }
    for (i = WAITS - 1; i >= 0; i--) SetEvent( events[i] );
    for (i = 0; i < WAITS; i++) while (!waiters[i].signalled) Sleep( 1 );
    for (i = 0; i < WAITS; i++)
    {
        right += waiters[i].signalled == 1 && !waiters[i].timed_out;
        pool_close( sources[i] );
    }
    check( right == WAITS, "a hundred waits end, each when its event is set" );

    source = pool_wait( pool, NULL, waited, &late );
    pool_set_wait( source, events[0], 10 );
    while (!late.timed_out) Sleep( 1 );
    check( late.timed_out == 1 && !late.signalled, "a wait with a time limit ends by that" );
    pool_set_wait( source, events[0], INFINITE );
    SetEvent( events[0] );
    while (!late.signalled) Sleep( 1 );
    check( late.timed_out == 1 && late.signalled == 1, "it can be set again" );
    pool_close( source );
    for (i = 0; i < WAITS; i++) CloseHandle( events[i] );
}

/* ---- I/O ---- */

#define MESSAGES 50
#define SIZE     64

struct echo
{
    HANDLE              pipe;
    struct pool_source *io;
    OVERLAPPED          overlapped;
    char                buffer[SIZE];
    BOOL                reading;
    volatile LONG       echoed;
    volatile LONG       error;
};

/* The next operation; its end comes to the callback, unless it fails at once. */
static void echo_go( struct echo *echo, BOOL reading, DWORD size )
{
    BOOL ret;

    echo->reading = reading;
    if (!pool_io_start( echo->io ))
    {
        echo->error = ERROR_OPERATION_ABORTED;
        return;
    }
    if (reading) ret = ReadFile( echo->pipe, echo->buffer, size, NULL, &echo->overlapped );
    else ret = WriteFile( echo->pipe, echo->buffer, size, NULL, &echo->overlapped );
    if (ret || GetLastError() == ERROR_IO_PENDING) return;
    echo->error = GetLastError();
    pool_io_failed( echo->io );
}

/* What came is sent back; then the next message. */
static void echo_done( const struct pool_call *call )
{
    struct echo *echo = call->context;

    if (call->error || call->overlapped != &echo->overlapped) echo->error = call->error;
    else if (echo->reading) echo_go( echo, FALSE, (DWORD)call->bytes );
    else
    {
        InterlockedIncrement( &echo->echoed );
        echo_go( echo, TRUE, SIZE );
    }
}

static void demo_io( struct pool *pool )
{
    static struct echo echo;
    char name[64], text[SIZE], answer[SIZE];
    HANDLE client;
    DWORD size;
    int i, right = 0;

    begin( "I/O" );
    sprintf( name, "\\\\.\\pipe\\factorypool.%lu", GetCurrentProcessId() );
    echo.pipe = CreateNamedPipeA( name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                                  PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE, 1, 4096, 4096, 0,
                                  NULL );
    client = CreateFileA( name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL );
    echo.io = pool_io( pool, NULL, echo.pipe, echo_done, &echo );
    if (client == INVALID_HANDLE_VALUE || !echo.io)
    {
        check( FALSE, "a pipe" );
        return;
    }
    echo_go( &echo, TRUE, SIZE );
    for (i = 0; i < MESSAGES; i++)
    {
        sprintf( text, "message %d", i );
        memset( answer, 0, sizeof(answer) );
        if (!WriteFile( client, text, strlen( text ), &size, NULL )) break;
        if (!ReadFile( client, answer, sizeof(answer), &size, NULL )) break;
        right += !strcmp( text, answer );
    }
    check( right == MESSAGES, "50 messages come back" );
    pool_drain( echo.io, TRUE );
    check( echo.error == ERROR_OPERATION_ABORTED, "the last read is cancelled" );
    pool_close( echo.io );
    CloseHandle( client );
    CloseHandle( echo.pipe );
}

/* ---- cancelling and groups ---- */

static volatile LONG begun;

static void hold( const struct pool_call *call )
{
    InterlockedIncrement( &begun );
    WaitForSingleObject( call->context, INFINITE );
}

static void demo_cancel( void )
{
    HANDLE let_go = CreateEventW( NULL, TRUE, FALSE, NULL );
    HANDLE never = CreateEventW( NULL, TRUE, FALSE, NULL );
    struct pool *pool = pool_create( 0, 1 );
    struct pool_source *first, *rest;
    struct pool_group *group;
    struct waiter waiter = { 0, 0 };
    volatile LONG ran = 0, ticks = 0;
    ULONG dropped;
    int i;

    begin( "cancelling" );
    if (!pool)
    {
        check( FALSE, "a pool of its own" );
        return;
    }
    group = pool_group_create( pool );
    first = pool_work( pool, group, hold, let_go );
    rest = pool_work( pool, group, count_run, (void *)&ran );
    pool_submit( first );
    while (!begun) Sleep( 1 );
    for (i = 0; i < 100; i++) pool_submit( rest );      /* the only thread is held */
    dropped = pool_drain( rest, TRUE );
    check( dropped == 100 && !ran, "what has not begun is dropped" );

    for (i = 0; i < 30; i++) pool_submit( rest );
    pool_set_timer( pool_timer( pool, group, count_run, (void *)&ticks ), LATE, 0 );
    pool_set_wait( pool_wait( pool, group, waited, &waiter ), never, INFINITE );
    SetEvent( let_go );
    pool_group_close( group, FALSE );
    check( ran == 30, "a group that is closed runs what is due first" );
    check( !ticks && !waiter.signalled && !waiter.timed_out, "its timers and waits are stopped" );
    pool_destroy( pool );
    check( begun == 1, "nothing ran twice" );
    CloseHandle( let_go );
    CloseHandle( never );
}

/* ---- main ---- */

/* How long the whole takes depends on the machine, so hung means that no step is taken; there are so many and no more. */
static DWORD WINAPI watch( void *arg )
{
    LONG seen;

    (void)arg;
    do
    {
        seen = steps;
        Sleep( TIMEOUT );
    } while (steps != seen);
    printf( "factorypool: nothing done for %d s, in: %s\n", TIMEOUT / 1000, step );
    fflush( stdout );
    TerminateProcess( GetCurrentProcess(), 3 );
    return 3;
}

int main( void )
{
    struct pool *pool;

    if (!GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtCreateWorkerFactory" ))
    {
        printf( "factorypool: there are no worker factories here; start it as: "
                "./umsrun factorypool.exe\n" );
        return 1;
    }
    CloseHandle( CreateThread( NULL, 0, watch, NULL, 0, NULL ));
    gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!(pool = pool_create( 0, 20 )))
    {
        printf( "factorypool: pool_create failed, error %lu\n", GetLastError() );
        return 1;
    }
    demo_work( pool );
    demo_threads();
    demo_timers( pool );
    demo_waits( pool );
    demo_io( pool );
    demo_cancel();
    begin( "the end" );
    pool_destroy( pool );
    check( TRUE, "all threads have ended" );
    printf( wrong ? "FAILED: %d wrong\n" : "all right\n", wrong );
    return wrong != 0;
}
