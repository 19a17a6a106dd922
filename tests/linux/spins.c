/*
 * A thread spins for a lock of the host's that nobody releases, and is suspended.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread that stands still where Wine has a spin lock is let go on (host/ke_spin.c). Whoever has that lock may be gone; then SuspendThread
 * stops the thread all the same, after some time. Here the code of RtlWakeAddressSingle is an endless loop for as long as that takes, so no other
 * thread may wake one meanwhile.
 */
#include "two_workers.h"

static void (WINAPI *wake)( const void *address );
static unsigned char saved[2];
static volatile LONG waked, other_ran;

static void set_code( const unsigned char *bytes )
{
    DWORD was;

    ok( VirtualProtect( (void *)wake, sizeof(saved), PAGE_EXECUTE_READWRITE, &was ), "not writable, error %lu", GetLastError() );
    memcpy( (void *)wake, bytes, sizeof(saved) );
    VirtualProtect( (void *)wake, sizeof(saved), was, &was );
}

static void spin( void )
{
    static const unsigned char endless[] = { 0xeb, 0xfe };      /* jmp $ */

    memcpy( saved, (void *)wake, sizeof(saved) );
    set_code( endless );
}

static DWORD WINAPI spinner( void *arg )
{
    (void)arg;
    inside = 1;
    wake( (const void *)&waked );
    waked = 1;
    return 0;
}

static DWORD WINAPI other( void *arg )
{
    (void)arg;
    other_ran = 1;
    return 0;
}

static void wait_value( const volatile LONG *value, const char *what )
{
    ULONGLONG begin = GetTickCount64();

    while (!*value && GetTickCount64() - begin < LIMIT) SwitchToThread();
    ok( *value, "%s", what );
}

/* It stands where it spins. */
static void suspend( HANDLE thread )
{
    CONTEXT context;
    DWORD count;

    wait_value( &inside, "it does not begin" );
    count = SuspendThread( thread );
    ok( !count, "SuspendThread: %ld", (LONG)count );
    context.ContextFlags = CONTEXT_CONTROL;
    ok( GetThreadContext( thread, &context ), "no registers, error %lu", GetLastError() );
    ok( context.Rip == (ULONG_PTR)wake, "it stands at %llx, not in the loop at %p", context.Rip, (void *)wake );
}

static void resume( HANDLE thread )
{
    DWORD count;

    set_code( saved );
    count = ResumeThread( thread );
    ok( count == 1, "ResumeThread: %ld", (LONG)count );
}

static void suspend_plain( void )
{
    HANDLE thread;

    spin();
    thread = CreateThread( NULL, 0, spinner, NULL, 0, NULL );
    suspend( thread );
    resume( thread );
    ok( !WaitForSingleObject( thread, LIMIT ) && waked, "it does not end" );
    CloseHandle( thread );
}

/* The scheduler gets its processor back, and executes the other one. */
static void suspend_worker( void )
{
    HANDLE thread;

    inside = waked = 0;
    create_worker( 0, spinner, NULL );
    create_worker( 1, other, NULL );
    spin();
    thread = CreateThread( NULL, 0, scheduler_thread, NULL, 0, NULL );
    suspend( threads[0] );
    wait_value( &other_ran, "the scheduler did not get its processor back" );
    ok( !waked, "the worker ran" );
    resume( threads[0] );
    ok( !WaitForSingleObject( thread, LIMIT ) && waked, "the scheduler does not end" );
    CloseHandle( thread );
    if (!test_failures) end_round();
}

int main( void )
{
    load_shim();
    wake = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "RtlWakeAddressSingle" );
    ok( wake != NULL, "no RtlWakeAddressSingle" );
    if (!test_failures) suspend_plain();
    if (!test_failures) suspend_worker();
    return test_end();
}
