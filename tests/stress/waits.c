/*
 * Waits that need no kernel object: condition variables, addresses, alerts by thread id, with and without a time-out.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every wake-up is counted on both ends: tokens that go round, and alerts, each of which is meant for one wait.
 *
 * While Wine waits for an address, or wakes somebody there, it holds a spin lock for a moment. A worker that is stopped in it
 * for long makes others spin on their schedulers, perhaps on all of them: so these steps are fragile (stress.h). Alerts take
 * no lock, so a worker that waits for one may be stopped for long, and one that waits with a time-out may be killed.
 */
#include "stress.h"

#define TOKENS    3
#define NO_TIME   ((LONGLONG)-1)

enum { NO_ALERT, WANTS_ALERT, GETS_ALERT };     /* task.alert */

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );
static LONG (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static LONG (WINAPI *pNtWaitForAlertByThreadId)( void *, const LARGE_INTEGER * );

static SRWLOCK gate = SRWLOCK_INIT;
static CONDITION_VARIABLE returned = CONDITION_VARIABLE_INIT;
static LONG gate_tokens;
static volatile LONG address_tokens, taken, given_back, alerts_sent, alerts_got;

BOOL waits_init( void )
{
    HMODULE base = GetModuleHandleA( "kernelbase.dll" ), ntdll = GetModuleHandleA( "ntdll.dll" );

    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    gate_tokens = address_tokens = TOKENS;
    taken = given_back = alerts_sent = alerts_got = 0;
    return pWaitOnAddress && pWakeByAddressSingle && pNtAlertThreadByThreadId && pNtWaitForAlertByThreadId;
}

BOOL waits_sums_fit( void )
{
    return gate_tokens == TOKENS && address_tokens == TOKENS && taken == given_back && alerts_sent == alerts_got;
}

/* ---- a token that goes round ---- */

static DWORD some_time( struct task *task )
{
    unsigned int ms = pick( &task->seed, 6 );

    return ms > 3 ? INFINITE : ms;
}

/* It may be taken by somebody else before a woken one has the lock again: who has waited looks again. */
void wait_take_gate( struct task *task )
{
    AcquireSRWLockExclusive( &gate );
    while (!gate_tokens) SleepConditionVariableSRW( &returned, &gate, some_time( task ), 0 );
    gate_tokens--;
    ReleaseSRWLockExclusive( &gate );
    InterlockedIncrement( &taken );
}

void wait_leave_gate( void )
{
    InterlockedIncrement( &given_back );
    AcquireSRWLockExclusive( &gate );
    gate_tokens++;
    ReleaseSRWLockExclusive( &gate );
    WakeConditionVariable( &returned );
}

void wait_take_address( struct task *task )
{
    LONG seen, none = 0;

    for (;;)
    {
        seen = address_tokens;
        if (seen && InterlockedCompareExchange( &address_tokens, seen - 1, seen ) == seen) break;
        if (!seen) pWaitOnAddress( &address_tokens, &none, sizeof(none), some_time( task ) );
    }
    InterlockedIncrement( &taken );
}

void wait_leave_address( void )
{
    InterlockedIncrement( &given_back );
    InterlockedIncrement( &address_tokens );
    pWakeByAddressSingle( (void *)&address_tokens );
}

/* ---- alerts ---- */

/* Nobody sends another one for this wait, so one that is lost leaves it waiting, time-out or not. What comes without a
   reason does no harm. */
void wait_for_alert( struct task *task )
{
    DWORD ms = some_time( task );
    LARGE_INTEGER time = { .QuadPart = ms * -10000LL };

    InterlockedExchange( &task->alert, WANTS_ALERT );
    while (task->alert != GETS_ALERT) pNtWaitForAlertByThreadId( NULL, ms == INFINITE ? NULL : &time );
    /* it need not have come yet: the next wait may end by it */
    InterlockedExchange( &task->alert, NO_ALERT );
    InterlockedIncrement( &alerts_got );
}

/* Of one that nobody means to alert. It may be killed in it. */
void wait_for_nothing( struct task *task )
{
    LARGE_INTEGER time = { .QuadPart = pick( &task->seed, 4 ) * -10000LL };

    pNtWaitForAlertByThreadId( NULL, &time );
}

/* Any thread that may meddle. */
void alert_task( struct task *task )
{
    if (InterlockedCompareExchange( &task->alert, GETS_ALERT, WANTS_ALERT ) != WANTS_ALERT) return;
    InterlockedIncrement( &alerts_sent );
    pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)task->tid );
}

/* Whoever has that id by now, if anybody. */
void alert_anybody( struct task *task )
{
    pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)task->tid );
}
