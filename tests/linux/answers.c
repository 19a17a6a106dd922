/*
 * answers: a thread that waits for the wineserver's answer to an ordinary request, or was woken in its parking
 * place and has not run yet, is told from one that waits for something that may take long. ke_sleep.c
 * alone, in a program without UMS.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ke_sleep.c knows an answer by its size and by where it is read to, which are Wine's own business: a
 * Wine that changes them would have workers reported as blocked in quick calls.
 *
 * No program can make Linux take long to let a woken thread run. The looks are at a thread that sleeps on
 * a word: whether that word is its parking place is all that ke_sleep.c knows.
 */
#include <windows.h>
#include "core/ums_core.h"
#include "host/ke_win32.h"
#include "../inject/test.h"
#include "linux.h"

#define LIMIT  20000                            /* ms */
#define ENOUGH 20                               /* sleeps that are seen of one kind */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

static volatile LONG host_thread, stop;
static volatile LONG64 rounds;
static HANDLE event, stopped;
static int ends[2];                             /* of a pipe of Linux */
static char bytes[64];                          /* as many as in an answer */
static _Atomic uint32_t bed, other_bed;

/* what ke_sleep.c asks ke_win32.c for */
int ke_parks_outside( void ) { return 1; }

/* ---- what the other thread does, again and again ---- */

static void request( void )
{
    HANDLE copy, self = GetCurrentProcess();

    DuplicateHandle( self, event, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS );
    CloseHandle( copy );
}

/* Nobody sets it: the wineserver says so later. */
static void wait_long( void )
{
    WaitForSingleObject( stopped, INFINITE );
}

/* Like an answer, but to memory of the program. */
static void read_pipe( void )
{
    linux_call( LINUX_READ, ends[0], (uint64_t)bytes, sizeof(bytes), 0 );
}

static void sleep_on_word( void )
{
    while (!bed) linux_call( LINUX_FUTEX, (uint64_t)&bed, FUTEX_WAIT_PRIVATE, 0, 0 );
}

static DWORD WINAPI other_thread( void *arg )
{
    void (*what)( void ) = (void (*)( void ))arg;

    host_thread = (LONG)ke_host_thread();
    while (!stop)
    {
        what();
        InterlockedIncrement64( &rounds );
    }
    return 0;
}

/* ---- what is seen of it ---- */

struct seen
{
    int answers, asleep;
};

/* Until it was seen asleep often enough, of either kind. One that waits long (in_a_row) is asleep at each look, but for the
   requests before that. */
static struct seen watch( void (*what)( void ), void (*end)( void ), BOOL in_a_row )
{
    HANDLE thread = CreateThread( NULL, 0, other_thread, (void *)what, 0, NULL );
    ULONGLONG begin = GetTickCount64();
    struct seen seen = { 0, 0 };
    struct ke_place place;

    while ((in_a_row || seen.answers < ENOUGH) && seen.asleep < ENOUGH && GetTickCount64() - begin < LIMIT)
    {
        if (!host_thread) continue;
        switch (ke_find_sleep( (uint32_t)host_thread, &other_bed, &place ))
        {
        case KE_AWAITS_ANSWER: seen.answers++; if (in_a_row) seen.asleep = 0; break;
        case KE_ASLEEP:        seen.asleep++; break;
        default:               break;
        }
    }
    stop = 1;
    end();
    ok( !WaitForSingleObject( thread, LIMIT ), "the other thread does not end" );
    CloseHandle( thread );
    host_thread = stop = 0;
    return seen;
}

static void nothing( void ) { }
static void set_stopped( void ) { SetEvent( stopped ); }

static void write_pipe( void )
{
    linux_call( LINUX_WRITE, ends[1], (uint64_t)bytes, sizeof(bytes), 0 );
}

/* The thread has been seen asleep, and nobody has woken it yet. */
static int seen_parked;

static void look_at_bed_and_wake( void )
{
    struct ke_place place;
    int i;

    for (i = 0; i < ENOUGH; i++) seen_parked += ke_find_sleep( (uint32_t)host_thread, &bed, &place ) == KE_AWAKE;
    bed = 1;
    linux_call( LINUX_FUTEX, (uint64_t)&bed, FUTEX_WAKE_PRIVATE, 1, 0 );
}

int main( void )
{
    struct seen seen;

    event = CreateEventA( NULL, TRUE, FALSE, NULL );
    stopped = CreateEventA( NULL, TRUE, FALSE, NULL );
    ok( !linux_call( LINUX_PIPE, (uint64_t)ends, 0, 0, 0 ), "no pipe" );

    seen = watch( request, nothing, FALSE );
    ok( seen.answers == ENOUGH, "a thread that makes requests: seen %d times to wait for the answer, %d times asleep in "
        "another way, in %lld requests", seen.answers, seen.asleep, rounds );
    seen = watch( wait_long, set_stopped, TRUE );
    ok( seen.asleep == ENOUGH, "a thread that waits for an event: %d times to wait for the answer, %d times asleep at last",
        seen.answers, seen.asleep );
    seen = watch( read_pipe, write_pipe, TRUE );
    ok( seen.asleep == ENOUGH, "a thread that reads a pipe: %d times to wait for the answer, %d times asleep at last",
        seen.answers, seen.asleep );
    seen = watch( sleep_on_word, look_at_bed_and_wake, TRUE );
    ok( seen.asleep == ENOUGH, "a thread that sleeps on a word: %d times asleep on another one", seen.asleep );
    ok( seen_parked == ENOUGH, "a thread in its parking place: %d times of %d", seen_parked, ENOUGH );
    return test_end();
}
