/*
 * The arms without UMS: what a program would use instead.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench.h"

static BOOL failed( const char *what )
{
    printf( "umsbench: %s failed, error %lu\n", what, GetLastError() );
    return FALSE;
}

/* ---- two threads hand a word to and fro; the caller is one of them ---- */

enum turn { TURN_MINE, TURN_PARTNER, TURN_QUIT };

struct address_state
{
    volatile LONG turn;
    HANDLE        thread;
};

static void address_wait_while( struct address_state *state, LONG value )
{
    while (state->turn == value) WaitOnAddress( &state->turn, &value, sizeof(value), INFINITE );
}

static void address_give( struct address_state *state, LONG value )
{
    state->turn = value;
    WakeByAddressSingle( (void *)&state->turn );
}

static DWORD WINAPI address_partner( void *arg )
{
    struct address_state *state = arg;

    for (;;)
    {
        address_wait_while( state, TURN_MINE );
        if (state->turn == TURN_QUIT) return 0;
        address_give( state, TURN_MINE );
    }
}

static double address_batch( struct arm *arm )
{
    struct address_state *state = arm->state;
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++)
    {
        address_give( state, TURN_PARTNER );
        address_wait_while( state, TURN_PARTNER );
    }
    return (stats_now() - start) / arm->ops;
}

static void address_stop( struct arm *arm )
{
    struct address_state *state = arm->state;

    address_give( state, TURN_QUIT );
    WaitForSingleObject( state->thread, INFINITE );
    CloseHandle( state->thread );
    free( state );
}

BOOL threads_start_address( struct arm *arm )
{
    struct address_state *state = calloc( 1, sizeof(*state) );

    if (!(state->thread = CreateThread( NULL, 0, address_partner, state, 0, NULL )))
        return failed( "CreateThread" );
    arm->state = state;
    arm->batch = address_batch;
    arm->stop = address_stop;
    return TRUE;
}

/* ---- the same with two auto-reset events ---- */

struct event_state
{
    HANDLE        ping, pong;
    HANDLE        thread;
    volatile LONG quit;
};

static DWORD WINAPI event_partner( void *arg )
{
    struct event_state *state = arg;

    for (;;)
    {
        WaitForSingleObject( state->ping, INFINITE );
        if (state->quit) return 0;
        SetEvent( state->pong );
    }
}

static double event_batch( struct arm *arm )
{
    struct event_state *state = arm->state;
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++)
    {
        SetEvent( state->ping );
        WaitForSingleObject( state->pong, INFINITE );
    }
    return (stats_now() - start) / arm->ops;
}

static void event_stop( struct arm *arm )
{
    struct event_state *state = arm->state;

    state->quit = TRUE;
    SetEvent( state->ping );
    WaitForSingleObject( state->thread, INFINITE );
    CloseHandle( state->thread );
    CloseHandle( state->ping );
    CloseHandle( state->pong );
    free( state );
}

BOOL threads_start_event( struct arm *arm )
{
    struct event_state *state = calloc( 1, sizeof(*state) );

    state->ping = CreateEventW( NULL, FALSE, FALSE, NULL );
    state->pong = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!(state->thread = CreateThread( NULL, 0, event_partner, state, 0, NULL )))
        return failed( "CreateThread" );
    arm->state = state;
    arm->batch = event_batch;
    arm->stop = event_stop;
    return TRUE;
}

/* ---- fibers ---- */

struct fiber_state
{
    void *caller;
    void *fiber;
};

static void WINAPI fiber_partner( void *arg )
{
    struct fiber_state *state = arg;

    for (;;) SwitchToFiber( state->caller );
}

static double fiber_batch( struct arm *arm )
{
    struct fiber_state *state = arm->state;
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++) SwitchToFiber( state->fiber );
    return (stats_now() - start) / arm->ops;
}

static void fiber_stop( struct arm *arm )
{
    struct fiber_state *state = arm->state;

    DeleteFiber( state->fiber );
    ConvertFiberToThread();
    free( state );
}

BOOL threads_start_fiber( struct arm *arm )
{
    struct fiber_state *state = calloc( 1, sizeof(*state) );

    if (!(state->caller = ConvertThreadToFiber( NULL ))) return failed( "ConvertThreadToFiber" );
    if (!(state->fiber = CreateFiber( 0, fiber_partner, state ))) return failed( "CreateFiber" );
    arm->state = state;
    arm->batch = fiber_batch;
    arm->stop = fiber_stop;
    return TRUE;
}

/* ---- a thread's whole life ---- */

static DWORD WINAPI empty_thread( void *arg )
{
    (void)arg;
    return 0;
}

static double create_batch( struct arm *arm )
{
    double start = stats_now();
    unsigned int i;
    HANDLE thread;

    for (i = 0; i < arm->ops; i++)
    {
        if (!(thread = CreateThread( NULL, 0, empty_thread, NULL, 0, NULL )))
        {
            failed( "CreateThread" );
            return -1;
        }
        WaitForSingleObject( thread, INFINITE );
        CloseHandle( thread );
    }
    return (stats_now() - start) / arm->ops;
}

BOOL threads_start_create( struct arm *arm )
{
    arm->batch = create_batch;
    return TRUE;
}

/* ---- system calls of a thread that is no worker ---- */

counter_proc threads_counter_proc( void )
{
    return (counter_proc)(void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ),
                                                 "NtQueryPerformanceCounter" );
}

static double counter_batch( struct arm *arm )
{
    counter_proc proc = arm->state;
    LARGE_INTEGER counter;
    unsigned int i;
    double start;

    start = stats_now();
    for (i = 0; i < arm->ops; i++) proc( &counter, NULL );
    return (stats_now() - start) / arm->ops;
}

BOOL threads_start_counter( struct arm *arm )
{
    arm->state = threads_counter_proc();
    arm->batch = counter_batch;
    return arm->state != NULL;
}

static double poll_batch( struct arm *arm )
{
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++) WaitForSingleObject( arm->state, 0 );
    return (stats_now() - start) / arm->ops;
}

static void poll_stop( struct arm *arm )
{
    CloseHandle( arm->state );
}

BOOL threads_start_poll( struct arm *arm )
{
    arm->state = CreateEventW( NULL, FALSE, FALSE, NULL );
    arm->batch = poll_batch;
    arm->stop = poll_stop;
    return arm->state != NULL;
}

static double yield_batch( struct arm *arm )
{
    LONG (NTAPI *proc)( void ) = arm->state;
    unsigned int i;
    double start;

    start = stats_now();
    for (i = 0; i < arm->ops; i++) proc();
    return (stats_now() - start) / arm->ops;
}

BOOL threads_start_yield( struct arm *arm )
{
    arm->state = GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtYieldExecution" );
    arm->batch = yield_batch;
    return arm->state != NULL;
}

/* ---- memory ---- */

struct park_state
{
    volatile LONG parked;
    HANDLE        all_parked;
    HANDLE        quit;                 /* manual-reset */
};

static DWORD WINAPI park_thread( void *arg )
{
    struct park_state *state = arg;

    if (!InterlockedDecrement( &state->parked )) SetEvent( state->all_parked );
    WaitForSingleObject( state->quit, INFINITE );
    return 0;
}

/* Resident bytes of one thread that waits, over "count" of them. */
double threads_parked_bytes( unsigned int count )
{
    HANDLE *threads = calloc( count, sizeof(*threads) );
    struct park_state state;
    double before, after;
    unsigned int i, made;

    state.parked = count;
    state.all_parked = CreateEventW( NULL, TRUE, FALSE, NULL );
    state.quit = CreateEventW( NULL, TRUE, FALSE, NULL );
    before = host_resident();
    for (made = 0; made < count; made++)
        if (!(threads[made] = CreateThread( NULL, 0, park_thread, &state, 0, NULL ))) break;
    if (made == count) WaitForSingleObject( state.all_parked, INFINITE );
    else failed( "CreateThread" );
    Sleep( 50 );
    after = host_resident();

    SetEvent( state.quit );
    for (i = 0; i < made; i++)
    {
        WaitForSingleObject( threads[i], INFINITE );
        CloseHandle( threads[i] );
    }
    CloseHandle( state.all_parked );
    CloseHandle( state.quit );
    free( threads );
    return made == count ? (after - before) / count : -1;
}

/* ---- calls that are answered at once: an event's life, 4 KB of a file in the cache ---- */

static double close_batch( struct arm *arm )
{
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++) CloseHandle( CreateEventW( NULL, FALSE, FALSE, NULL ) );
    return (stats_now() - start) / arm->ops;
}

BOOL threads_start_close( struct arm *arm )
{
    arm->batch = close_batch;
    return TRUE;
}

/* The program itself, which was just read. NULL: failed, reason printed */
HANDLE file_open( void )
{
    char path[MAX_PATH];
    HANDLE file;

    GetModuleFileNameA( NULL, path, sizeof(path) );
    file = CreateFileA( path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL );
    if (file != INVALID_HANDLE_VALUE) return file;
    failed( "opening the program's file" );
    return NULL;
}

/* Its first 4 KB. */
void file_read( HANDLE file )
{
    OVERLAPPED start = { 0 };
    char buffer[4096];
    DWORD count;

    ReadFile( file, buffer, sizeof(buffer), &count, &start );
}

static double read_batch( struct arm *arm )
{
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++) file_read( arm->state );
    return (stats_now() - start) / arm->ops;
}

static void read_stop( struct arm *arm )
{
    CloseHandle( arm->state );
}

BOOL threads_start_read( struct arm *arm )
{
    arm->state = file_open();
    arm->batch = read_batch;
    arm->stop = read_stop;
    return arm->state != NULL;
}
