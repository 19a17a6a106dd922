/*
 * The floor: what the parts of a switch cost by themselves, in this process, with the same clock.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker that yields to its scheduler and is executed again is two switches, each with another
 * TEB; one that blocks is a wake-up of the thread which blocks in its place, and one switch. Here
 * the second context is a stack and nothing else, and the TEB that is loaded is the thread's own.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "linux/linux.h"

#define STACK_SIZE 0x4000
#define MAX_WAKES  256

#define LINUX_FUTEX              202
#define FUTEX_WAIT_PRIVATE       128
#define FUTEX_WAKE_PRIVATE       129
#define LINUX_EAGAIN             11
#define LINUX_SCHED_SETSCHEDULER 144
#define LINUX_SCHED_BATCH        3

/* bare_x86_64.S */
void bare_switch( void **save, void *load, void *teb );
void bare_begin( void );
int bare_probe_gs( void );
extern const char bare_probe_failed[];

/* A saved context; the picture is in bare_x86_64.S. */
struct frame
{
    BYTE    xmm6_15[0xa0];
    DWORD   mxcsr;
    DWORD   control_word;
    ULONG64 r15, r14, r13, r12, rdi, rsi, rbx, rbp;
    ULONG64 rip;
    ULONG64 home[5];                    /* of bare_begin */
    ULONG64 end;
};

C_ASSERT( FIELD_OFFSET( struct frame, rip ) == 0xe8 );

struct bare
{
    void   *main, *partner;             /* the one that does not run */
    void   *teb;
    ULONG64 stamp;                      /* when the partner came to run */
    DECLSPEC_ALIGN(16) BYTE stack[STACK_SIZE];
};

static BOOL failed( const char *what )
{
    printf( "umsbench: %s failed, error %lu\n", what, GetLastError() );
    return FALSE;
}

static LONG CALLBACK probe_exception( EXCEPTION_POINTERS *pointers )
{
    ULONG_PTR failed_at = (ULONG_PTR)bare_probe_failed, probe = (ULONG_PTR)bare_probe_gs;

    if (pointers->ContextRecord->Rip - probe >= failed_at - probe) return EXCEPTION_CONTINUE_SEARCH;
    pointers->ContextRecord->Rip = failed_at;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static BOOL gs_is_writable( void )
{
    void *handler = AddVectoredExceptionHandler( 1, probe_exception );
    BOOL ret = bare_probe_gs();

    RemoveVectoredExceptionHandler( handler );
    if (!ret) stats_note( "wrgsbase is not allowed here: no floor" );
    return ret;
}

static struct bare *bare_create( void (*body)( struct bare *bare ) )
{
    struct bare *bare = _aligned_malloc( sizeof(*bare), 64 );
    struct frame *frame;

    memset( bare, 0, sizeof(*bare) );
    frame = (struct frame *)(bare->stack + STACK_SIZE - 0x200);
    frame->mxcsr        = 0x1f80;
    frame->control_word = 0x27f;
    frame->rbx          = (ULONG64)body;
    frame->rdi          = (ULONG64)bare;
    frame->rip          = (ULONG64)bare_begin;
    bare->partner       = frame;
    bare->teb           = NtCurrentTeb();
    return bare;
}

/* ---- two switches ---- */

static void floor_partner( struct bare *bare )
{
    void *teb = bare->teb;

    for (;;) bare_switch( &bare->partner, bare->main, teb );
}

static double floor_batch( struct arm *arm )
{
    struct bare *bare = arm->state;
    void *teb = bare->teb;
    double start = stats_now();
    unsigned int i;

    for (i = 0; i < arm->ops; i++) bare_switch( &bare->main, bare->partner, teb );
    return (stats_now() - start) / arm->ops;
}

static void floor_stop( struct arm *arm )
{
    _aligned_free( arm->state );
}

BOOL bare_start_floor( struct arm *arm )
{
    if (!gs_is_writable()) return TRUE;
    arm->state = bare_create( floor_partner );
    arm->batch = floor_batch;
    arm->stop = floor_stop;
    return TRUE;
}

/* ---- wake a thread, and one switch ---- */

struct wake_state
{
    struct bare  *bare;
    HANDLE        thread;
    volatile LONG word;                 /* 1: woken */
    volatile LONG quit;
    volatile ULONG64 woken;             /* when the thread came to run */
    LONG (NTAPI  *delay)( BOOLEAN alertable, const LARGE_INTEGER *interval );
};

static void wake_partner( struct bare *bare )
{
    for (;;)
    {
        bare->stamp = __rdtsc();
        bare_switch( &bare->partner, bare->main, bare->teb );
    }
}

/* How many threads it woke. */
static LONG64 wake( struct wake_state *state )
{
    InterlockedExchange( &state->word, 1 );
    return linux_call( LINUX_FUTEX, (ULONG64)&state->word, FUTEX_WAKE_PRIVATE, 1, 0 );
}

/* Of the kind that does not take the CPU from who wakes it: it is the call that is to be timed, not
   a change of threads. */
static DWORD WINAPI sleeper_thread( void *arg )
{
    struct wake_state *state = arg;
    int priority = 0;

    linux_call( LINUX_SCHED_SETSCHEDULER, 0, LINUX_SCHED_BATCH, (ULONG64)&priority, 0 );
    for (;;)
    {
        while (!InterlockedExchange( &state->word, 0 ))
            linux_call( LINUX_FUTEX, (ULONG64)&state->word, FUTEX_WAIT_PRIVATE, 0, 0 );
        if (state->quit) return 0;
        state->woken = __rdtsc();
    }
}

/* The median of single times. Before each this thread sleeps, as the worker does that it is
   compared with. Left out: the other was not in its futex, or was given the CPU first. */
static double wake_batch( struct arm *arm )
{
    struct wake_state *state = arm->state;
    struct bare *bare = state->bare;
    double times[MAX_WAKES];
    unsigned int i, n = 0;
    LARGE_INTEGER interval;
    ULONG64 start;
    LONG64 count;

    interval.QuadPart = -10;
    for (i = 0; i < arm->ops && n < MAX_WAKES; i++)
    {
        state->delay( FALSE, &interval );
        start = __rdtsc();
        count = wake( state );
        bare_switch( &bare->main, bare->partner, bare->teb );
        if (count == 1 && state->woken < start) times[n++] = (double)(bare->stamp - start);
    }
    if (n) return stats_cycles_ns( stats_median( times, n ));
    printf( "umsbench: no wake-up was without a change of threads\n" );
    return -1;
}

static void wake_stop( struct arm *arm )
{
    struct wake_state *state = arm->state;

    state->quit = TRUE;
    wake( state );
    WaitForSingleObject( state->thread, INFINITE );
    CloseHandle( state->thread );
    _aligned_free( state->bare );
    free( state );
}

static BOOL has_futex( struct wake_state *state )
{
    if (linux_call( LINUX_FUTEX, (ULONG64)&state->word, FUTEX_WAIT_PRIVATE, 1, 0 ) ==
        -LINUX_EAGAIN)
        return TRUE;
    stats_note( "no futex here: what a wake-up costs by itself is not known" );
    return FALSE;
}

BOOL bare_start_wake( struct arm *arm )
{
    struct wake_state *state = calloc( 1, sizeof(*state) );

    if (!gs_is_writable() || !has_futex( state ))
    {
        free( state );
        return TRUE;
    }
    state->delay = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtDelayExecution" );
    state->bare = bare_create( wake_partner );
    if (!(state->thread = CreateThread( NULL, 0, sleeper_thread, state, 0, NULL )))
        return failed( "CreateThread" );
    arm->state = state;
    arm->fixed = TRUE;
    arm->batch = wake_batch;
    arm->stop = wake_stop;
    return TRUE;
}
