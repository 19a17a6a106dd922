/*
 * Threads that sleep with RtlWaitOnAddress, and are told to end themselves: ke_win32.c, linked in here with
 * plain threads in the place of workers, and of threads of a factory. There is no other way to a thread that does not come to its end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define SLEEPER_PATIENCE patience

#include <stdint.h>

#define LONG_PATIENCE 3000000000ll
static int64_t patience = LONG_PATIENCE;        /* 100 ns; half a second for whoever does not come */

#include "host/ke_win32.c"
#include "../inject/test.h"

#define LIMIT  20000
#define STATUS 0x5a5a

/* ---- what ke_win32.c calls ---- */

uint32_t ums_tls_offset, ums_hand_offset;
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
static _Atomic uint32_t word;
static struct ums_context *volatile own_context = &context;     /* the compiler would make it an immediate */
static struct ums_hand hand;
static struct ums_hand *volatile own_hand = &hand;
static int is_hand;
static struct ke_sleeper *sleeper;
static volatile LONG awake;

static DWORD WINAPI sleeps( void *unused )
{
    (void)unused;
    if (is_hand) __writegsqword( ums_hand_offset, (uint64_t)own_hand );
    else ke_set_current( own_context );
    while (!atomic_load( &word )) ke_wait( &word, 0, NULL );
    awake = 1;
    Sleep( INFINITE );
    return 0;
}

static HANDLE make_sleeper( void )
{
    HANDLE thread;

    memset( &context, 0, sizeof(context) );
    memset( &hand, 0, sizeof(hand) );
    sleeper = is_hand ? &hand.sleeper : &ke_own( &context )->sleeper;
    atomic_store( &word, 0 );
    awake = came_to_end = 0;
    thread = CreateThread( NULL, 0, sleeps, NULL, 0, NULL );
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
    ok( ke_end_sleeper( sleeper, thread, STATUS + suspensions ) == 1 &&
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
    ok( !ke_end_sleeper( sleeper, thread, STATUS ), "it has ended" );
    patience = LONG_PATIENCE;
    while (!came_to_end) SwitchToThread();
    ok( came_to_end == 1, "it was told to end %ld times", came_to_end );
    ok( !ke_end_sleeper( sleeper, thread, STATUS ), "it can be told twice" );
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
    ok( !ke_end_sleeper( sleeper, thread, STATUS ) && !came_to_end, "it was awake, and has ended" );
    ok( atomic_load( &sleeper->asleep ) == KE_SLEEPER_AWAKE, "it was awake, and has to end" );
    TerminateThread( thread, 1 );
    ok( status_of( thread ) == 1, "another status" );
}

int main( void )
{
    ums_tls_offset = 0x1480 + TlsAlloc() * 8;
    ums_hand_offset = 0x1480 + TlsAlloc() * 8;
    ok( address_works(), "no RtlWaitOnAddress" );
    for (is_hand = 0; is_hand < 2; is_hand++)
    {
        check_ends( 0 );
        check_ends( 1 );
        check_ends( 3 );
        check_stays();
        check_awake();
    }
    return test_end();
}
