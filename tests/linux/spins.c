/*
 * A thread spins for a lock of the host's that nobody releases, and is suspended.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread that stands still where Wine has a spin lock is let go on (host/ke_spin.c). Whoever has that lock may be gone; then SuspendThread
 * stops the thread all the same, after some time. Here the code of RtlWakeAddressSingle is an endless loop for as long as that takes.
 *
 * No other thread may wake one meanwhile. Threads that begin do if they meet in the loader's lock, which is a critical section
 * [seen: a thread began in the loop, in a busy machine]. So the code is changed when all threads have begun.
 */
#include "two_workers.h"

static void (WINAPI *wake)( const void *address );
static unsigned char saved[2];
static volatile LONG go, waked, other_ran;

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
    while (!go) YieldProcessor();
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

static ULONG_PTR suspend_somewhere( HANDLE thread )
{
    DWORD count = SuspendThread( thread );
    CONTEXT context;

    ok( !count, "SuspendThread: %ld", (LONG)count );
    context.ContextFlags = CONTEXT_CONTROL;
    ok( GetThreadContext( thread, &context ), "no registers, error %lu", GetLastError() );
    return context.Rip;
}

static void resume( HANDLE thread )
{
    DWORD count = ResumeThread( thread );

    ok( count == 1, "ResumeThread: %ld", (LONG)count );
}

/* It stands where it spins. */
static void suspend( HANDLE thread )
{
    ULONGLONG begin = GetTickCount64();
    ULONG_PTR at;

    spin();
    go = 1;
    while ((at = suspend_somewhere( thread )) != (ULONG_PTR)wake)        /* it is on its way */
    {
        if (test_failures || GetTickCount64() - begin >= LIMIT) break;
        resume( thread );
        SwitchToThread();
    }
    ok( at == (ULONG_PTR)wake, "it stands at %llx, not in the loop at %p", (ULONGLONG)at, (void *)wake );
}

static void resume_outside( HANDLE thread )
{
    set_code( saved );
    resume( thread );
}

static void suspend_plain( void )
{
    HANDLE thread;

    thread = CreateThread( NULL, 0, spinner, NULL, 0, NULL );
    wait_value( &inside, "it does not begin" );
    suspend( thread );
    resume_outside( thread );
    ok( !WaitForSingleObject( thread, LIMIT ) && waked, "it does not end" );
    CloseHandle( thread );
}

/* The scheduler gets its processor back, and executes the other one. Both have begun when it executes the first one. */
static void suspend_worker( void )
{
    HANDLE thread;

    inside = go = waked = 0;
    current = 1;                                /* so the first one is executed first */
    create_worker( 0, spinner, NULL );
    create_worker( 1, other, NULL );
    thread = CreateThread( NULL, 0, scheduler_thread, NULL, 0, NULL );
    wait_value( &inside, "it does not begin" );
    ok( !other_ran, "the other one was executed first" );
    suspend( threads[0] );
    wait_value( &other_ran, "the scheduler did not get its processor back" );
    ok( !waked, "the worker ran" );
    resume_outside( threads[0] );
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
