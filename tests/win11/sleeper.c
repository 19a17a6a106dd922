/*
 * Threads that sleep with RtlWaitOnAddress, and are told to end themselves: ke_win32.c and ke_sleeper.c, linked in here.
 * There is no other way to a thread that does not come to its end, nor to two whose ids share a slot.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define SLEEPER_PATIENCE patience

#include <stdint.h>

#define LONG_PATIENCE 3000000000ll
static int64_t patience = LONG_PATIENCE;        /* 100 ns; half a second for whoever does not come */

#include "host/ke_win32.c"
#include "host/ke_sleeper.c"
#include "../inject/test.h"

#define LIMIT  20000
#define STATUS 0x5a5a

/* ---- what ke_win32.c calls ---- */

uint32_t ums_tls_offset;
static LONG ends_itself = 1, came_to_end;

const char *ke_find_linux( void )
{
    return "this is a test";
}

uint64_t ums_linux_syscall( uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d )
{
    (void)nr; (void)a; (void)b; (void)c; (void)d;
    return 0;
}

int ke_exceptions_start( void ) { return 0; }
void ke_unwind_start( void ) {}
void ke_fault_start( void ) {}
void ke_spin_start( void ) {}
void ke_alerts_enter( void ) {}
void ke_alerts_leave( void ) {}
int ums_is_in_unix_call( uint64_t rip ) { return rip == 1; }
int ke_in_linux_call( uint64_t rip, uint64_t rsp ) { return rip == rsp; }

struct settings ums_settings;
unsigned char ums_log_levels[LOG_CHANNELS];

void ums_say( enum log_channel channel, enum log_level level, const char *fmt, ... )
{
    (void)channel; (void)level; (void)fmt;
}

ums_status ums_resume_native( void *thread, ULONG *count )
{
    DWORD before = ResumeThread( thread );

    if (count) *count = before;
    return before == ~0u ? STATUS_INVALID_HANDLE : 0;
}

ums_status ums_resume_worker( void *thread, const struct ums_context *target, ULONG *count )
{
    (void)target;
    return ums_resume_native( thread, count );
}

void ums_end_native( uint32_t status )
{
    InterlockedIncrement( &came_to_end );
    if (ends_itself) TerminateThread( GetCurrentThread(), status );
    Sleep( INFINITE );
}

/* ---- the sleeper ---- */

static struct ums_context context;
static _Atomic uint32_t word, other_word;
static struct ums_context *volatile own_context = &context;     /* the compiler would make it an immediate */
static int is_plain;
static DWORD id;
static struct ke_sleeper *sleeper;
static volatile LONG awake;

static DWORD WINAPI sleeps( void *unused )
{
    (void)unused;
    if (!is_plain) ke_set_current( own_context );
    while (!atomic_load( &word )) ke_wait( &word, 0, NULL );
    awake = 1;
    Sleep( INFINITE );
    return 0;
}

static HANDLE make_sleeper( void )
{
    HANDLE thread;

    memset( &context, 0, sizeof(context) );
    atomic_store( &word, 0 );
    awake = came_to_end = 0;
    thread = CreateThread( NULL, 0, sleeps, NULL, CREATE_SUSPENDED, &id );
    sleeper = slot_of( id );
    ResumeThread( thread );
    while (atomic_load( &sleeper->asleep ) != (uintptr_t)&word) SwitchToThread();
    return thread;
}

static DWORD status_of( HANDLE thread )
{
    DWORD status = 0;

    WaitForSingleObject( thread, LIMIT );
    GetExitCodeThread( thread, &status );
    CloseHandle( thread );
    return status;
}

static void check_ends( int suspensions )
{
    HANDLE thread = make_sleeper();
    int i;

    for (i = 0; i < suspensions; i++) SuspendThread( thread );
    ok( ke_end_sleeper( id, thread, STATUS + suspensions ) == 1 &&
        WaitForSingleObject( thread, 0 ) == WAIT_OBJECT_0, "%d suspensions: it does not end", suspensions );
    ok( came_to_end == 1, "%d suspensions: it has ended %ld times", suspensions, came_to_end );
    ok( status_of( thread ) == (DWORD)(STATUS + suspensions), "%d suspensions: another status", suspensions );
}

/* The caller then ends it where it is. */
static void check_stays( void )
{
    HANDLE thread = make_sleeper();

    ends_itself = 0;
    SuspendThread( thread );
    patience = 5000000;
    ok( !ke_end_sleeper( id, thread, STATUS ), "it has ended" );
    patience = LONG_PATIENCE;
    while (!came_to_end) SwitchToThread();
    ok( came_to_end == 1, "it was told to end %ld times", came_to_end );
    ok( !ke_end_sleeper( id, thread, STATUS ), "it can be told twice" );
    TerminateThread( thread, 1 );
    ok( status_of( thread ) == 1, "another status" );
    ends_itself = 1;
}

static void check_awake( void )
{
    HANDLE thread = make_sleeper();

    atomic_store( &word, 1 );
    ke_wake( &word, 1 );
    while (!awake) SwitchToThread();
    ok( !ke_end_sleeper( id, thread, STATUS ) && !came_to_end, "it was awake, and has ended" );
    ok( atomic_load( &sleeper->asleep ) == AWAKE && !sleeper->tid, "it was awake, and has to end" );
    TerminateThread( thread, 1 );
    ok( status_of( thread ) == 1, "another status" );
}

/* Another process has ended the last thread with this id in its sleep. */
static void check_left( void )
{
    HANDLE thread = make_sleeper();

    TerminateThread( thread, 1 );
    ok( status_of( thread ) == 1 && sleeper->tid == id, "it has not left its sleep behind" );
    sleeper->tid = GetCurrentThreadId();
    *slot_of( GetCurrentThreadId() ) = *sleeper;
    ok( ke_sleep_begins( &other_word ) == slot_of( GetCurrentThreadId() ), "the next one sleeps without a slot" );
    ok( atomic_load( &slot_of( GetCurrentThreadId() )->asleep ) == (uintptr_t)&other_word, "on another word" );
    ke_sleep_ends( slot_of( GetCurrentThreadId() ) );
    memset( sleeper, 0, sizeof(*sleeper) );
}

/* It has the slot, and does not sleep yet, or no more. */
static void check_awake_with_slot( void )
{
    struct ke_sleeper *slot = slot_of( GetCurrentThreadId() );

    slot->tid = GetCurrentThreadId();
    patience = 0;
    ok( !ke_end_sleeper( GetCurrentThreadId(), GetCurrentThread(), STATUS ), "it was awake, and has ended" );
    ok( atomic_load( &slot->asleep ) == AWAKE, "it was awake, and has to end" );
    patience = LONG_PATIENCE;
    memset( slot, 0, sizeof(*slot) );
}

/* Whoever comes second must neither take the slot nor be told to end by somebody who means the first. */
static void check_shared( void )
{
    struct ke_sleeper *slot = slot_of( GetCurrentThreadId() );
    const DWORD other = GetCurrentThreadId() + 4 * SLEEPERS;

    slot->tid = other;
    slot->asleep = (uintptr_t)&other_word;
    ok( !ke_sleep_begins( &word ) && slot->tid == other && slot->asleep == (uintptr_t)&other_word, "two have one slot" );
    ok( !ke_end_sleeper( GetCurrentThreadId(), GetCurrentThread(), STATUS ), "another one sleeps" );
    ok( slot->asleep == (uintptr_t)&other_word, "another one was told to end" );
    ke_sleep_ends( NULL );
    memset( slot, 0, sizeof(*slot) );
}

int main( void )
{
    ums_tls_offset = 0x1480 + TlsAlloc() * 8;
    ok( address_works(), "no RtlWaitOnAddress" );
    for (is_plain = 0; is_plain < 2; is_plain++)
    {
        check_ends( 0 );
        check_ends( 1 );
        check_ends( 3 );
        check_stays();
        check_awake();
    }
    check_awake_with_slot();
    check_left();
    check_shared();
    return test_end();
}
