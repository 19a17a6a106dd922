/*
 * Random load on the DLLs, as a legacy program: many workers, several schedulers, plain threads that suspend and kill.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * usage: umsrun umsstress.exe [--seconds=N] [--seed=N] [--schedulers=N] [--workers=N] [--without=LETTERS] [--hold]
 *
 * Runs rounds of a few seconds until the time is over, each with the next seed. What must hold: a worker runs on one
 * scheduler at a time; each execute is followed by one upcall; each worker is delivered as terminated once, and its
 * context can be deleted then; after every step it finds its thread id, TLS, stack, registers and context; what workers
 * count together comes out; no handle is left. When it does not, or nothing moves for a while, the seed and everybody's
 * state are printed. --hold: and the process stays for a debugger. --without=LETTERS, to find out what it takes: k kill,
 * s suspend workers, c schedulers, m those who do that, l schedulers leave, t are terminated, n workers make workers,
 * w waits, r checked registers, a waits without kernel objects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "handles.h"
#include "stress.h"

#define ROUND_MS     5000
#define PATIENCE_MS  30000                      /* without any progress; more than anybody ever waits */
#define PATIENCE     2000                       /* looks of the watchdog, which needs the wineserver for each: a machine
                                                   that stands still is no fault of ours */
#define MEDDLERS     2

LONG task_count = 32, sched_count = 3;
volatile LONG slot_count;
DWORD tls;
volatile LONG stopping, living, progress;
const char *without = "";

static BOOL hold;
static unsigned int seed = 1;
static ULONGLONG longest_pause;                 /* ms without any progress, in this round */

BOOL allowed( char letter )
{
    return !strchr( without, letter );
}

static void fail( const char *why )
{
    printf( "FAILED, seed %u\n", seed );
    report( why );
    while (hold) Sleep( 1000 );
    TerminateProcess( GetCurrentProcess(), 1 );
}

static LONG WINAPI crashed( EXCEPTION_POINTERS *info )
{
    char why[128];

    snprintf( why, sizeof(why), "exception %#lx at %p, thread %04lx", info->ExceptionRecord->ExceptionCode,
              info->ExceptionRecord->ExceptionAddress, GetCurrentThreadId() );
    fail( why );
    return EXCEPTION_CONTINUE_SEARCH;
}

/* ---- a round ---- */

static HANDLE plain_thread( LPTHREAD_START_ROUTINE start, void *arg )
{
    HANDLE thread = CreateThread( NULL, 0, start, arg, 0, NULL );

    if (!thread) fail( "no thread" );
    return thread;
}

static void begin( HANDLE *meddlers )
{
    LONG i;

    made = ended = killed = twice = buried = delivered = retries = refused = 0;
    stopping = living = away = killing = scheds_killed = 0;
    if (!worker_init()) fail( "no pipe" );
    slot_count = task_count;
    for (i = 0; i < TASKS_MAX; i++)
    {
        tasks[i].index = i;
        tasks[i].event = CreateEventA( NULL, FALSE, FALSE, NULL );
    }
    for (i = 0; i < sched_count; i++)
    {
        memset( &scheds[i], 0, sizeof(scheds[i]) );
        scheds[i].index = i;
        scheds[i].seed = seed * 31 + (unsigned int)i;
        if (!CreateUmsCompletionList( &scheds[i].list ) ||
            !GetUmsCompletionListEvent( scheds[i].list, &scheds[i].event )) fail( "no list" );
    }
    for (i = 0; i < sched_count; i++) scheds[i].thread = plain_thread( sched_thread, &scheds[i] );
    for (i = 0; i < MEDDLERS; i++)
        meddlers[i] = plain_thread( meddler_thread, (void *)(ULONG_PTR)(seed * 17 + (unsigned int)i) );
}

/* Schedulers whose threads have ended get new ones. */
static void replace_schedulers( void )
{
    LONG i;

    for (i = 0; i < sched_count; i++)
    {
        if (WaitForSingleObject( scheds[i].thread, 0 )) continue;
        sched_reap( &scheds[i] );
        if (stopping && !living) continue;
        EnterCriticalSection( &sched_lock );
        CloseHandle( scheds[i].thread );
        scheds[i].thread = plain_thread( sched_thread, &scheds[i] );
        LeaveCriticalSection( &sched_lock );
    }
}

/* The watchdog, a plain thread. */
static void watch( void )
{
    static LONG seen;
    static int looks;
    static ULONGLONG since;
    LONG now = progress;

    if (broken) fail( "a promise was broken" );
    if (now != seen || !since)
    {
        if (since && GetTickCount64() - since > longest_pause) longest_pause = GetTickCount64() - since;
        seen = now;
        looks = 0;
        since = GetTickCount64();
    }
    else if (++looks > PATIENCE && GetTickCount64() - since > PATIENCE_MS) fail( "nothing moves" );
}

static BOOL all_ended( void )
{
    LONG i;

    if (living || killing) return FALSE;
    for (i = 0; i < sched_count; i++) if (WaitForSingleObject( scheds[i].thread, 0 )) return FALSE;
    return TRUE;
}

static void end( HANDLE *meddlers )
{
    LONG i, executes = 0, upcalls = 0;

    for (i = 0; i < MEDDLERS; i++)
    {
        if (WaitForSingleObject( meddlers[i], PATIENCE_MS )) fail( "a meddler does not end" );
        CloseHandle( meddlers[i] );
    }
    for (i = 0; i < sched_count; i++)
    {
        executes += scheds[i].executes;
        upcalls += scheds[i].upcalls;
        CloseHandle( scheds[i].thread );
        CloseHandle( scheds[i].event );
        if (scheds[i].hub || scheds[i].count) fail( "a dead worker is still to be executed" );
        if (!DeleteUmsCompletionList( scheds[i].list )) fail( "a list cannot be deleted" );
    }
    for (i = 0; i < TASKS_MAX; i++) CloseHandle( tasks[i].event );
    task_delete_killed();
    printf( "seed %u: %ld workers, %ld killed (%ld seen dead twice), %ld schedulers terminated (%ld in an upcall so far), %ld executes, %ld upcalls,"
            " %ld deliveries, %ld retries, %ld refused, longest pause %llu ms\n", seed, made, killed, twice, scheds_killed, upcalls_not_noted,
            executes, upcalls, delivered, retries, refused, longest_pause );
    longest_pause = 0;
    fflush( stdout );
    if (broken) fail( "a promise was broken" );
    if (executes != upcalls) fail( "executes and upcalls differ" );
    if (made != ended || made != buried) fail( "not everybody came to an end" );
    if (!worker_sums_fit()) fail( "sums do not come out" );
    worker_free();
}

static void round_of( ULONGLONG ms )
{
    ULONGLONG start = GetTickCount64();
    HANDLE meddlers[MEDDLERS];
    unsigned int moment = seed * 23;

    begin( meddlers );
    while (!all_ended())
    {
        Sleep( 5 );
        watch();
        meddler_stop( meddlers[pick( &moment, MEDDLERS )], &moment );
        replace_schedulers();
        sched_settle( &moment );
        if (GetTickCount64() - start > ms) InterlockedExchange( &stopping, 1 );
    }
    end( meddlers );
}

static DWORD WINAPI nothing( void *arg )
{
    (void)arg;
    return 0;
}

/* Handles of threads that have just ended may be gone a moment later. A thread of ours that stands by goes
   when some thread ends and no worker is left; in a round, the last one may have been killed. */
static void check_handles( int before )
{
    HANDLE thread;
    int i, now = 0;

    for (i = 0; i < 1200; i++)
    {
        if ((now = handles_count()) <= before) return;
        thread = plain_thread( nothing, NULL );
        if (WaitForSingleObject( thread, PATIENCE_MS )) fail( "a thread does not end" );
        CloseHandle( thread );
        Sleep( 50 );
    }
    printf( "%d handles before, %d after; not there after the first round:\n", before, now );
    handles_print_new();
    fail( "handles are left" );
}

static BOOL parse( int argc, char **argv, unsigned int *seconds )
{
    int i;

    for (i = 1; i < argc; i++)
    {
        if (!strncmp( argv[i], "--seconds=", 10 )) *seconds = (unsigned int)atoi( argv[i] + 10 );
        else if (!strncmp( argv[i], "--seed=", 7 )) seed = (unsigned int)atoi( argv[i] + 7 );
        else if (!strncmp( argv[i], "--schedulers=", 13 )) sched_count = atoi( argv[i] + 13 );
        else if (!strncmp( argv[i], "--workers=", 10 )) task_count = atoi( argv[i] + 10 );
        else if (!strncmp( argv[i], "--without=", 10 )) without = argv[i] + 10;
        else if (!strcmp( argv[i], "--hold" )) hold = TRUE;
        else return FALSE;
    }
    return sched_count > 0 && sched_count <= SCHEDS_MAX && task_count > 0 && task_count <= TASKS_MAX / 2;
}

int main( int argc, char **argv )
{
    ULONGLONG start = GetTickCount64(), all, gone;
    unsigned int seconds = 15, rounds = 0;
    int handles = 0;

    if (!parse( argc, argv, &seconds )) return 2;
    all = seconds * 1000ull;
    SetUnhandledExceptionFilter( crashed );
    if ((tls = TlsAlloc()) >= TLS_MINIMUM_AVAILABLE) fail( "no slot in the TEB" );
    InitializeCriticalSection( &sched_lock );
    printf( "seed %u, %u s, %ld schedulers, %ld workers at a time, without \"%s\"\n", seed, seconds,
            sched_count, task_count, without );
    fflush( stdout );
    for (gone = 0; gone < all || rounds < 2; gone = GetTickCount64() - start, seed++)
    {
        round_of( all < 3 * ROUND_MS ? all / 3 : ROUND_MS );
        if (!rounds++)
        {
            handles = handles_count();
            handles_remember();
        }
        else check_handles( handles );
    }
    printf( "%u rounds in %llu s\n", rounds, gone / 1000 );
    return 0;
}
