/*
 * Scenarios: a worker is switched out with a lock of the system in its hands.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Row: B29. Execute, yield, Dequeue with time-out 0, query, set, current-thread look-up and the
 * delivery of upcalls must not need the heap lock or the loader lock: one worker holds it, yielded,
 * blocked or suspended, while another and the scheduler go through all of them many times.
 */
#include "scenario_kit.h"

#define ROUNDS 300

static NTSTATUS (WINAPI *pLdrLockLoaderLock)( ULONG, ULONG *, ULONG_PTR * );
static NTSTATUS (WINAPI *pLdrUnlockLoaderLock)( ULONG, ULONG_PTR );

enum away { YIELDED, BLOCKED, SUSPENDED };       /* how the holder was switched out */

struct lock
{
    void (*acquire)( void );
    void (*release)( void );
    enum away away;
};

static const struct lock *lock;
static HANDLE lock_event, pair[2];
static volatile LONG holding, rounds, released, bad_calls, resumed;
static struct kit_worker *holder;
static ULONG_PTR loader_cookie;

static void heap_acquire( void )
{
    HeapLock( GetProcessHeap() );
}

static void heap_release( void )
{
    HeapUnlock( GetProcessHeap() );
}

static void loader_acquire( void )
{
    pLdrLockLoaderLock( 0, NULL, &loader_cookie );
}

static void loader_release( void )
{
    pLdrUnlockLoaderLock( 0, loader_cookie );
}

static DWORD holder_body( struct kit_worker *worker )
{
    lock->acquire();
    holder = worker;                            /* the probers may be through before its creator goes on */
    InterlockedExchange( &holding, 1 );
    if (lock->away == BLOCKED) wait_signaled( lock_event );
    else if (lock->away == YIELDED) kit_park( worker );
    else while (!resumed) YieldProcessor();
    lock->release();
    released = 1;
    return 0;
}

static void all_calls( void )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread(), item = NULL;
    BOOLEAN flag;
    void *user, *teb;

    if (!pQueryUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user),
                                     NULL )) bad_calls++;
    if (!pQueryUmsThreadInformation( self, UmsThreadTeb, &teb, sizeof(teb), NULL )) bad_calls++;
    if (!pQueryUmsThreadInformation( self, UmsThreadIsTerminated, &flag, 1, NULL )) bad_calls++;
    if (!pQueryUmsThreadInformation( self, UmsThreadIsSuspended, &flag, 1, NULL )) bad_calls++;
    if (!pSetUmsThreadInformation( self, UmsThreadUserContext, &user, sizeof(user) )) bad_calls++;
    if (pGetNextUmsListItem( self )) bad_calls++;
    if (!pDequeueUmsCompletionListItems( kit.scheds[1].list, 0, &item ) || item) bad_calls++;
}

static DWORD prober_body( struct kit_worker *worker )
{
    int i, self = (int)(ULONG_PTR)worker->arg;

    if (!kit_yield_until( worker, &holding, 1 )) return 1;
    for (i = 0; i < ROUNDS; i++)
    {
        all_calls();
        kit_yield( worker, NULL );
        if (i % 4) continue;
        SetEvent( pair[self ^ 1] );
        if (WaitForSingleObject( pair[self], KIT_LIMIT )) bad_calls++;
    }
    SetEvent( pair[self ^ 1] );
    if (InterlockedAdd( &rounds, ROUNDS ) == 2 * ROUNDS)
    {
        SetEvent( lock_event );
        if (lock->away == YIELDED) kit_ready( holder, &kit.scheds[0] );
    }
    return 0;
}

static BOOL prober_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)reason; (void)payload; (void)param;
    if (holding && !released) all_calls();
    return FALSE;
}

/* Nothing is printed here, which takes the heap lock. */
static BOOL suspend_holder( void )
{
    BOOL ret = kit_wait_value( &holding, 1 );

    if (SuspendThread( holder->thread ) == ~0u) ret = FALSE;
    wait_signaled( lock_event );
    resumed = 1;
    return ResumeThread( holder->thread ) == 1 && ret;
}

/* The probers are through their thread start before the lock is taken; they end, which takes the
   loader lock, after it was released: rounds says that they did all they had to before. */
static void run_lock( const struct lock *which )
{
    struct kit_sched *sched, *other;
    BOOL suspended = TRUE;
    int i;

    lock = which;
    if (!kit_open()) return;
    lock_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    for (i = 0; i < 2; i++) pair[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    other = kit_add_sched( NULL );      /* its list is polled by everybody and stays empty */
    sched->on_upcall = prober_upcall;
    for (i = 0; i < 2; i++) kit_add_worker( sched->list, prober_body, (void *)(ULONG_PTR)i );
    kit_start();
    for (i = 0; i < 2; i++)
        while (!kit.workers[i].yields && !sched->timeouts) Sleep( 1 );
    holder = kit_add_worker( sched->list, holder_body, NULL );
    if (holder && lock->away == SUSPENDED) suspended = suspend_holder();
    kit_finish();
    ok( suspended, "B29: the holder was not suspended or not resumed\n" );
    ok( released, "B29: the lock was not released\n" );
    ok( rounds == 2 * ROUNDS, "B29: %ld rounds of %d under the lock\n", rounds, 2 * ROUNDS );
    ok( !bad_calls, "B29: %ld calls failed\n", bad_calls );
    ok( other->startups == 1, "no second scheduler\n" );
    kit_check();
}

static BOOL find_loader_lock( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pLdrLockLoaderLock = (void *)GetProcAddress( ntdll, "LdrLockLoaderLock" );
    pLdrUnlockLoaderLock = (void *)GetProcAddress( ntdll, "LdrUnlockLoaderLock" );
    if (pLdrLockLoaderLock && pLdrUnlockLoaderLock) return TRUE;
    skip( "no LdrLockLoaderLock\n" );
    return FALSE;
}

START_TEST( scenario_lock_heap_yielded )
{
    static const struct lock this_lock = { heap_acquire, heap_release, YIELDED };

    run_lock( &this_lock );
}

START_TEST( scenario_lock_heap_blocked )
{
    static const struct lock this_lock = { heap_acquire, heap_release, BLOCKED };

    run_lock( &this_lock );
}

START_TEST( scenario_lock_heap_suspended )
{
    static const struct lock this_lock = { heap_acquire, heap_release, SUSPENDED };

    run_lock( &this_lock );
}

START_TEST( scenario_lock_loader_yielded )
{
    static const struct lock this_lock = { loader_acquire, loader_release, YIELDED };

    if (find_loader_lock()) run_lock( &this_lock );
}

START_TEST( scenario_lock_loader_blocked )
{
    static const struct lock this_lock = { loader_acquire, loader_release, BLOCKED };

    if (find_loader_lock()) run_lock( &this_lock );
}

START_TEST( scenario_lock_loader_suspended )
{
    static const struct lock this_lock = { loader_acquire, loader_release, SUSPENDED };

    if (find_loader_lock()) run_lock( &this_lock );
}

static DWORD sleeper_body( struct kit_worker *worker )
{
    int i;

    (void)worker;
    loader_acquire();
    for (i = 0; i < 5; i++) Sleep( 1 );
    loader_release();
    released = 1;
    return 0;
}

/* The first that sleeps in this process: whatever wakes it up must not need the loader lock, as a new thread does. */
START_TEST( scenario_lock_loader_sleeps )
{
    struct kit_sched *sched;

    if (!find_loader_lock() || !kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, sleeper_body, NULL );
    kit_start();
    kit_finish();
    ok( released, "B29: it did not wake up\n" );
    kit_check();
}
