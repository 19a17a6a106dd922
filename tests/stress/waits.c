/*
 * Waits that need no kernel object: condition variables, addresses, alerts by thread id, keys, with and without a time-out. And
 * waits for events, semaphores and mutexes, which need none until somebody else may know them (UMS_LOCAL_OBJECTS): each of
 * these becomes known at a random moment, a mutex mostly while somebody owns it. An event that stays set, and one that is
 * only pulsed, have no tokens, so whoever waits for them may be killed.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every wake-up is counted on both ends: tokens that go round; alerts, each of which is meant for one wait; and releases.
 *
 * While Wine waits for an address, or wakes somebody there, it holds a spin lock for a moment. A worker that is stopped in it
 * for long makes others spin on their schedulers, perhaps on all of them: so these steps are fragile (stress.h). Alerts take
 * no lock, so a worker that waits for one may be stopped for long, and one that waits with a time-out may be killed.
 */
#include "stress.h"

#define TOKENS    3
#define NO_TIME   ((LONGLONG)-1)

enum { NO_ALERT, WANTS_ALERT, GETS_ALERT, WANTS_KEY };   /* task.alert */

static BOOL (WINAPI *pWaitOnAddress)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *pWakeByAddressSingle)( void * );
static LONG (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static LONG (WINAPI *pNtWaitForAlertByThreadId)( void *, const LARGE_INTEGER * );
static LONG (WINAPI *pNtWaitForKeyedEvent)( HANDLE, volatile void *, BOOLEAN, const LARGE_INTEGER * );
static LONG (WINAPI *pNtReleaseKeyedEvent)( HANDLE, volatile void *, BOOLEAN, const LARGE_INTEGER * );

#define OBJECTS 9

enum kind { SEMAPHORE, EVENT, MUTEX };          /* the last two have one token */

static HANDLE objects[OBJECTS];
static HANDLE door, pulsed;                     /* door: open at the end, whoever closed it */
static volatile LONG pulses, pulses_got;
static volatile LONG object_tokens[OBJECTS];

static SRWLOCK gate = SRWLOCK_INIT;
static CONDITION_VARIABLE returned = CONDITION_VARIABLE_INIT;
static LONG gate_tokens;
static volatile LONG address_tokens, taken, given_back, alerts_sent, alerts_got, keys_sent, keys_got;

static enum kind kind_of( int i )
{
    return (enum kind)(i % 3);
}

static LONG all_tokens( int i )
{
    return kind_of( i ) == SEMAPHORE ? TOKENS : 1;
}

static HANDLE make_object( enum kind kind )
{
    if (kind == SEMAPHORE) return CreateSemaphoreA( NULL, TOKENS, TOKENS, NULL );
    return kind == EVENT ? CreateEventA( NULL, FALSE, TRUE, NULL ) : CreateMutexA( NULL, FALSE, NULL );
}

/* One token back. A mutex: by the thread that took it. */
static BOOL signal_object( int i )
{
    if (kind_of( i ) == SEMAPHORE) return ReleaseSemaphore( objects[i], 1, NULL );
    return kind_of( i ) == EVENT ? SetEvent( objects[i] ) : ReleaseMutex( objects[i] );
}

/* All threads of the round before have ended. */
static BOOL objects_init( void )
{
    int i;

    for (i = 0; i < OBJECTS; i++)
    {
        if (objects[i]) CloseHandle( objects[i] );
        objects[i] = make_object( kind_of( i ) );
        object_tokens[i] = all_tokens( i );
        if (!objects[i]) return FALSE;
    }
    if (door) CloseHandle( door );
    if (pulsed) CloseHandle( pulsed );
    door = CreateEventA( NULL, TRUE, TRUE, NULL );
    pulsed = CreateEventA( NULL, FALSE, FALSE, NULL );
    pulses = pulses_got = 0;
    return door && pulsed;
}

static BOOL objects_fit( void )
{
    int i, n;

    for (i = 0; i < OBJECTS; i++)
    {
        if (object_tokens[i] != all_tokens( i )) return FALSE;
        for (n = 0; n < all_tokens( i ); n++) if (WaitForSingleObject( objects[i], 0 )) return FALSE;
        /* this thread would own a mutex twice */
        if (kind_of( i ) != MUTEX && WaitForSingleObject( objects[i], 0 ) != WAIT_TIMEOUT) return FALSE;
        for (n = 0; n < all_tokens( i ); n++) if (!signal_object( i )) return FALSE;
        if (kind_of( i ) == MUTEX && ReleaseMutex( objects[i] )) return FALSE;
    }
    return !WaitForSingleObject( door, 0 ) && WaitForSingleObject( pulsed, 0 ) == WAIT_TIMEOUT && pulses_got <= pulses;
}

BOOL waits_init( void )
{
    HMODULE base = GetModuleHandleA( "kernelbase.dll" ), ntdll = GetModuleHandleA( "ntdll.dll" );

    pWaitOnAddress = (void *)GetProcAddress( base, "WaitOnAddress" );
    pWakeByAddressSingle = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    pNtWaitForKeyedEvent = (void *)GetProcAddress( ntdll, "NtWaitForKeyedEvent" );
    pNtReleaseKeyedEvent = (void *)GetProcAddress( ntdll, "NtReleaseKeyedEvent" );
    gate_tokens = address_tokens = TOKENS;
    taken = given_back = alerts_sent = alerts_got = keys_sent = keys_got = 0;
    return objects_init() && pWaitOnAddress && pWakeByAddressSingle && pNtAlertThreadByThreadId && pNtWaitForAlertByThreadId &&
           pNtWaitForKeyedEvent && pNtReleaseKeyedEvent;
}

BOOL waits_sums_fit( void )
{
    return objects_fit() && gate_tokens == TOKENS && address_tokens == TOKENS && taken == given_back && alerts_sent == alerts_got &&
           keys_sent == keys_got;
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

/* ---- a token that an object has ---- */

static void becomes_known( HANDLE object )
{
    HANDLE copy;

    if (DuplicateHandle( GetCurrentProcess(), object, GetCurrentProcess(), &copy, 0, FALSE,
                         DUPLICATE_SAME_ACCESS )) CloseHandle( copy );
}

static void has_token( struct task *task, int i )
{
    if (InterlockedDecrement( &object_tokens[i] ) < 0) promise_broken( "a signal was doubled", task, (ULONG_PTR)i, 0 );
    InterlockedIncrement( &taken );
}

/* A wait for several with a mutex makes all of them known, so there are few. */
static unsigned int how_to_wait( struct task *task, int first, int second )
{
    unsigned int how = pick( &task->seed, 4 );

    if (kind_of( first ) != MUTEX && kind_of( second ) != MUTEX) return how;
    return pick( &task->seed, 100 ) ? 2 : how;
}

/* One of each of two, or of one of them. Which: bits. */
unsigned int wait_take_object( struct task *task )
{
    int first = (int)pick( &task->seed, OBJECTS ), second = (first + 1 + (int)pick( &task->seed, OBJECTS - 1 )) % OBJECTS;
    HANDLE both[2] = { objects[first], objects[second] };
    unsigned int how = how_to_wait( task, first, second );
    DWORD ret;

    if (!pick( &task->seed, 150 )) becomes_known( objects[first] );
    do ret = how > 1 ? WaitForSingleObject( both[0], some_time( task ) )
                     : WaitForMultipleObjects( 2, both, how == 0, some_time( task ) );
    while (ret == WAIT_TIMEOUT);
    if (ret > 1) promise_broken( "a wait failed", task, ret, GetLastError() );
    if (how == 1 && ret == 1) first = second;
    has_token( task, first );
    if (how) return 1u << first;
    has_token( task, second );
    return 1u << first | 1u << second;
}

/* It becomes known through its owner, and its owner may take it as often as it wants. */
static void own_again( struct task *task, int i )
{
    if (!pick( &task->seed, 50 )) becomes_known( objects[i] );
    if (pick( &task->seed, 3 )) return;
    if (WaitForSingleObject( objects[i], INFINITE ) || !ReleaseMutex( objects[i] ))
        promise_broken( "the owner cannot take it again", task, GetLastError(), (ULONG_PTR)i );
}

/* Gives this token back and takes another one, in one step. It has no other, so nobody waits for it. */
static int change_token( struct task *task, int i )
{
    int next = (i + 1 + (int)pick( &task->seed, OBJECTS - 1 )) % OBJECTS;
    DWORD ret = SignalObjectAndWait( objects[i], objects[next], some_time( task ), FALSE );

    while (ret == WAIT_TIMEOUT) ret = WaitForSingleObject( objects[next], some_time( task ) );
    if (ret) promise_broken( "a token cannot be changed", task, GetLastError(), (ULONG_PTR)i );
    has_token( task, next );
    return next;
}

static void about_to_leave( struct task *task, int i )
{
    InterlockedIncrement( &given_back );
    InterlockedIncrement( &object_tokens[i] );
    if (kind_of( i ) == MUTEX) own_again( task, i );
}

void wait_leave_object( struct task *task, unsigned int which )
{
    BOOL one = !(which & (which - 1));
    int i;

    for (i = 0; i < OBJECTS; i++)
    {
        if (!(which >> i & 1)) continue;
        about_to_leave( task, i );
        if (one && !pick( &task->seed, 4 ))
        {
            i = change_token( task, i );
            about_to_leave( task, i );
        }
        if (!signal_object( i ))
            promise_broken( "a token cannot go back", task, GetLastError(), (ULONG_PTR)i );
        if (one) return;
    }
}

/* ---- events without tokens ---- */

void wait_at_door( struct task *task )
{
    DWORD ret;

    do ret = WaitForSingleObject( door, some_time( task ) );
    while (ret == WAIT_TIMEOUT);
    if (ret) promise_broken( "a wait at the door failed", task, ret, GetLastError() );
}

/* Whoever closes it opens it again. */
void close_door( struct task *task )
{
    if (!pick( &task->seed, 100 )) becomes_known( door );
    if (!ResetEvent( door )) promise_broken( "the door cannot be closed", task, GetLastError(), 0 );
}

void open_door( struct task *task )
{
    if (!SetEvent( door )) promise_broken( "the door cannot be opened", task, GetLastError(), 0 );
}

/* It may be killed between its pulse and the count. */
void wait_for_pulse( struct task *task )
{
    DWORD ret = WaitForSingleObject( pulsed, 1 + pick( &task->seed, 4 ) );

    if (ret && ret != WAIT_TIMEOUT) promise_broken( "a wait for a pulse failed", task, ret, GetLastError() );
    if (!ret && InterlockedIncrement( &pulses_got ) > pulses)
        promise_broken( "a pulse was doubled", task, (ULONG_PTR)pulses, 0 );
}

void pulse( struct task *task )
{
    if (!pick( &task->seed, 100 )) becomes_known( pulsed );
    InterlockedIncrement( &pulses );
    if (!PulseEvent( pulsed )) promise_broken( "an event cannot be pulsed", task, GetLastError(), 0 );
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

/* Its key is the address of its word. */
void wait_for_key( struct task *task )
{
    DWORD ms = some_time( task );
    LARGE_INTEGER time = { .QuadPart = ms * -10000LL };
    LONG ret;

    InterlockedExchange( &task->alert, WANTS_KEY );
    do ret = pNtWaitForKeyedEvent( NULL, &task->alert, FALSE, ms == INFINITE ? NULL : &time );
    while (ret == WAIT_TIMEOUT);
    if (ret) promise_broken( "a wait for a key failed", task, (DWORD)ret, 0 );
    InterlockedExchange( &task->alert, NO_ALERT );
    InterlockedIncrement( &keys_got );
}

/* It may be stopped on its way to the wait, by this very thread: so a release does not wait for long. */
static void release_task( struct task *task )
{
    LARGE_INTEGER time = { .QuadPart = -10000LL };

    if (!pNtReleaseKeyedEvent( NULL, &task->alert, FALSE, &time )) InterlockedIncrement( &keys_sent );
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
    if (task->alert == WANTS_KEY) release_task( task );
    if (InterlockedCompareExchange( &task->alert, GETS_ALERT, WANTS_ALERT ) != WANTS_ALERT) return;
    InterlockedIncrement( &alerts_sent );
    pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)task->tid );
}

/* Whoever has that id by now, if anybody. */
void alert_anybody( struct task *task )
{
    pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)task->tid );
}
