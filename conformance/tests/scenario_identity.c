/*
 * Scenarios: a worker is one thread for life, whichever scheduler runs it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B23, B24, B27, D9; section 2.2. Bodies count what is not as it was; the main thread checks
 * the counts.
 */
#include "scenario_kit.h"

#define MOVES  40
#define SLOTS  70                       /* more than the 64 that lie in the TEB itself */

static DWORD slots[SLOTS];

struct identity
{
    LONG id, teb, tls, self, stack, error, pseudo, user, on[2];
    DWORD exit_code;
};
static struct identity identities[4];

/* Everything that names the thread, noted once and compared later. */
struct self_portrait
{
    DWORD id;
    void *teb;
    PUMS_CONTEXT self;
    volatile char *local;
};

static void portrait_take( struct self_portrait *portrait, volatile char *local )
{
    portrait->id = GetCurrentThreadId();
    portrait->teb = kit_teb();
    portrait->self = pGetCurrentUmsThread();
    portrait->local = local;
}

static void portrait_compare( struct identity *result, const struct self_portrait *portrait,
                              volatile char *local )
{
    NT_TIB *tib = kit_teb();

    if (GetCurrentThreadId() != portrait->id) result->id++;
    if (kit_teb() != portrait->teb) result->teb++;
    if (pGetCurrentUmsThread() != portrait->self) result->self++;
    if (local != portrait->local || (void *)local < tib->StackLimit ||
        (void *)local >= tib->StackBase)
        result->stack++;
}

static void note_scheduler( struct identity *result, struct kit_worker *worker )
{
    result->on[worker->last->index]++;
}

static DWORD migrate_body( struct kit_worker *worker )
{
    struct identity *result = &identities[worker->index];
    volatile char local = 'x';
    struct self_portrait portrait;
    int i, k;

    portrait_take( &portrait, &local );
    for (k = 0; k < SLOTS; k++) TlsSetValue( slots[k], &identities[worker->index].on[k & 1] );
    for (i = 0; i < MOVES; i++)
    {
        SetLastError( 0x1000 + i );
        if (i % 4 == 3)
        {
            Sleep( 1 );
            if (GetLastError() != 0x1000u + i) result->error++;
        }
        else
        {
            kit_migrate( worker, &kit.scheds[i & 1] );
            if (GetLastError() != 0x1000u + i) result->error++;
            if (worker->last != &kit.scheds[i & 1]) result->user++;
        }
        note_scheduler( result, worker );
        portrait_compare( result, &portrait, &local );
        for (k = 0; k < SLOTS; k++)
            if (TlsGetValue( slots[k] ) != &identities[worker->index].on[k & 1]) result->tls++;
        SetLastError( 0 );
    }
    if (worker->id != portrait.id || local != 'x') result->id += 1000;
    return result->exit_code;
}

/* the schedulers have their own TLS and last error and spoil them in each upcall */
static BOOL migrate_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    int k;

    (void)reason; (void)payload; (void)param;
    for (k = 0; k < SLOTS; k++) TlsSetValue( slots[k], sched );
    SetLastError( 0xabcd );
    return FALSE;
}

/* Four workers moved to and fro between two schedulers, with waits in between. */
START_TEST( scenario_identity_migrate )
{
    struct kit_sched *first, *second;
    DWORD code;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < SLOTS; i++) slots[i] = TlsAlloc();
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = second->on_upcall = migrate_upcall;
    for (i = 0; i < 4; i++)
    {
        identities[i].exit_code = 0x500 + i;
        kit_add_worker( i & 1 ? first->list : second->list, migrate_body, NULL );
    }
    kit_start();
    kit_finish();
    for (i = 0; i < 4; i++)
    {
        struct identity *result = &identities[i];

        push( "worker %d", i );
        ok( !result->id, "B23, B27: thread id changed %ld times\n", result->id );
        ok( !result->teb, "B27: TEB changed %ld times\n", result->teb );
        ok( !result->tls, "B23: TLS changed %ld times\n", result->tls );
        ok( !result->self, "B22: context changed %ld times\n", result->self );
        ok( !result->stack, "B27: stack changed %ld times\n", result->stack );
        ok( !result->error, "2.2: last error changed %ld times\n", result->error );
        ok( !result->user, "B27: ran elsewhere than sent to %ld times\n", result->user );
        ok( result->on[0] && result->on[1], "B27: ran %ld and %ld times on the two\n",
            result->on[0],
            result->on[1] );
        ok( !WaitForSingleObject( kit.workers[i].thread, KIT_LIMIT ),
            "B18: its thread did not end\n" );
        code = 0;
        GetExitCodeThread( kit.workers[i].thread, &code );
        ok( code == result->exit_code, "B18: exit code %#lx\n", code );
        ok( GetThreadId( kit.workers[i].thread ) == kit.workers[i].id,
            "B27: the handle is of another thread\n" );
        pop();
    }
    kit_check();
}

/* --- handles that mean the caller --- */

static struct
{
    LONG bad_duplicate, bad_open, bad_priority, bad_teb, null_teb, bad_times;
    int priority;
} own;

static void own_look( struct kit_worker *worker )
{
    HANDLE handle = NULL;
    FILETIME times[4];
    void *teb = NULL;

    if (!DuplicateHandle( GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &handle, 0,
                          FALSE,
                          DUPLICATE_SAME_ACCESS )) own.bad_duplicate++;
    else if (GetThreadId( handle ) != GetCurrentThreadId()) own.bad_duplicate++;
    CloseHandle( handle );
    if (!(handle = OpenThread( THREAD_QUERY_INFORMATION, FALSE,
                               GetCurrentThreadId() ))) own.bad_open++;
    else if (GetThreadId( handle ) != worker->id) own.bad_open++;
    CloseHandle( handle );
    if (!SetThreadPriority( GetCurrentThread(), ++own.priority )) own.bad_priority++;
    if (GetThreadPriority( worker->thread ) != own.priority) own.bad_priority++;
    if (!GetThreadTimes( GetCurrentThread(), &times[0], &times[1], &times[2],
                         &times[3] )) own.bad_times++;
    if (!pQueryUmsThreadInformation( worker->context, UmsThreadTeb, &teb, sizeof(teb), NULL ))
        own.bad_teb += 100;
    else if (!teb) own.null_teb++;
    else if (teb != kit_teb()) own.bad_teb++;
}

static DWORD own_body( struct kit_worker *worker )
{
    own.priority = -2;
    own_look( worker );
    kit_yield( worker, NULL );
    own_look( worker );
    kit_migrate( worker, &kit.scheds[1] );
    own_look( worker );
    Sleep( 1 );
    own_look( worker );
    return 0;
}

/* GetCurrentThread() and the thread's own id mean the worker and not the thread that lends it its
   processor. */
START_TEST( scenario_identity_handles )
{
    struct kit_sched *first, *second;

    if (!kit_open()) return;
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    kit_add_worker( first->list, own_body, NULL );
    kit_start();
    kit_finish();
    ok( !own.bad_duplicate, "B27: GetCurrentThread() was somebody else %ld times\n",
        own.bad_duplicate );
    ok( !own.bad_open, "B27: OpenThread found somebody else %ld times\n", own.bad_open );
    ok( !own.bad_priority, "B24: priorities went to somebody else %ld times\n", own.bad_priority );
    ok( !own.bad_teb, "B27: UmsThreadTeb is not the own TEB %ld times\n", own.bad_teb );
    ok( !own.null_teb, "B27: UmsThreadTeb was NULL %ld times\n", own.null_teb );
    ok( !own.bad_times, "GetThreadTimes failed %ld times\n", own.bad_times );
    ok( GetThreadPriority( first->thread ) == THREAD_PRIORITY_NORMAL &&
        GetThreadPriority( second->thread ) == THREAD_PRIORITY_NORMAL,
        "B24: the scheduler threads' own priorities changed\n" );
    kit_check();
}

/* --- mutexes belong to the worker --- */

static HANDLE mutexes[3];               /* acquired, created owned, abandoned */
static struct
{
    LONG tried, sched_released, sched_error, sched_acquired, other_released, other_acquired;
    BOOL released[2];
    DWORD release_error[2], abandoned;
} theft;

static void theft_try( LONG *released, LONG *acquired )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        SetLastError( 0xdeadbeef );
        if (ReleaseMutex( mutexes[i] )) (*released)++;
        else if (GetLastError() != ERROR_NOT_OWNER) theft.sched_error = GetLastError();
        if (WaitForSingleObject( mutexes[i], 0 ) == WAIT_OBJECT_0) (*acquired)++;
    }
    theft.tried++;
}

static BOOL theft_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload;
    if (reason == UmsSchedulerThreadYield && param == theft.released)
        theft_try( &theft.sched_released, &theft.sched_acquired );
    return FALSE;
}

static volatile LONG theft_phase;

static DWORD owner_body( struct kit_worker *worker )
{
    int i;

    wait_signaled( mutexes[0] );
    kit_yield( worker, NULL );
    mutexes[1] = CreateMutexW( NULL, TRUE, NULL );
    wait_signaled( mutexes[2] );
    kit_yield( worker, theft.released );
    theft_phase = 1;
    kit_yield_until( worker, &theft_phase, 2 );
    kit_migrate( worker, &kit.scheds[1] );
    kit_yield( worker, theft.released );
    Sleep( 1 );
    for (i = 0; i < 2; i++)
    {
        SetLastError( 0 );
        theft.released[i] = ReleaseMutex( mutexes[i] );
        theft.release_error[i] = GetLastError();
    }
    return 0;                                       /* mutexes[2] is abandoned */
}

static DWORD thief_body( struct kit_worker *worker )
{
    kit_yield_until( worker, &theft_phase, 1 );
    theft_try( &theft.other_released, &theft.other_acquired );
    theft_phase = 2;
    theft.abandoned = WaitForSingleObject( mutexes[2], KIT_LIMIT );
    ReleaseMutex( mutexes[2] );
    return 0;
}

START_TEST( scenario_identity_mutex )
{
    struct kit_sched *first, *second;
    int i;

    if (!kit_open()) return;
    mutexes[0] = CreateMutexW( NULL, FALSE, NULL );
    mutexes[2] = CreateMutexW( NULL, FALSE, NULL );
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    first->on_upcall = second->on_upcall = theft_upcall;
    kit_add_worker( first->list, owner_body, NULL );
    kit_add_worker( first->list, thief_body, NULL );
    kit_start();
    kit_finish();
    ok( theft.tried == 3, "B27: %ld tries of 3\n", theft.tried );
    ok( !theft.sched_released &&
        !theft.sched_acquired, "2.2: a scheduler released %ld and took %ld mutexes\n",
        theft.sched_released, theft.sched_acquired );
    ok( !theft.other_released &&
        !theft.other_acquired, "2.2: a worker released %ld and took %ld mutexes\n",
        theft.other_released, theft.other_acquired );
    ok( !theft.sched_error, "2.2: ReleaseMutex failed with %ld\n", theft.sched_error );
    for (i = 0; i < 2; i++)
        ok( theft.released[i],
            "B27: the owner cannot release mutex %d after it moved, error %lu\n", i,
            theft.release_error[i] );
    ok( theft.abandoned == WAIT_ABANDONED, "B18: the mutex of an ended worker gave %lu\n",
        theft.abandoned );
    kit_check();
    for (i = 0; i < 3; i++) CloseHandle( mutexes[i] );
}

/* --- calls whose answer depends on the thread --- */

struct mutant_information               /* MUTANT_BASIC_INFORMATION */
{
    LONG    count;
    BOOLEAN owned, abandoned;
};

static LONG (WINAPI *query_mutant)( HANDLE, int, void *, ULONG, ULONG * );
static LONG (WINAPI *test_alert)( void );
static struct { LONG owned, not_owned, alerts, late, timers, wrong_thread; } asked;

static void CALLBACK alert_routine( ULONG_PTR id )
{
    if (GetCurrentThreadId() != id) asked.wrong_thread++;
    asked.alerts++;
}

static void CALLBACK timer_routine( void *id, DWORD low, DWORD high )
{
    (void)low; (void)high;
    if (GetCurrentThreadId() != (ULONG_PTR)id) asked.wrong_thread++;
    asked.timers++;
}

#define ASK_ROUNDS 10

/* Each question comes behind a yield, so it is not that of a thread which has just been in the kernel. */
static DWORD asking_body( struct kit_worker *worker )
{
    HANDLE mutex = CreateMutexW( NULL, TRUE, NULL ), timer = CreateWaitableTimerW( NULL, FALSE, NULL );
    void *id = (void *)(ULONG_PTR)GetCurrentThreadId();
    LARGE_INTEGER due = { .QuadPart = -1 };
    struct mutant_information info;
    int i;

    for (i = 0; i < ASK_ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        if (!query_mutant( mutex, 0, &info, sizeof(info), NULL ) && info.owned) asked.owned++;
        QueueUserAPC( alert_routine, worker->thread, (ULONG_PTR)id );
        kit_yield( worker, NULL );
        test_alert();
        if (asked.alerts != i + 1) asked.late++;
        kit_yield( worker, NULL );
        SetWaitableTimer( timer, &due, 0, timer_routine, id, FALSE );
        SleepEx( KIT_LIMIT, TRUE );
    }
    ReleaseMutex( mutex );
    kit_yield( worker, NULL );
    if (!query_mutant( mutex, 0, &info, sizeof(info), NULL ) && !info.owned) asked.not_owned++;
    CloseHandle( mutex );
    CloseHandle( timer );
    return 0;
}

/* A mutex is the worker's, and APCs that it queues to itself are, its timers' too [doc]. */
START_TEST( scenario_identity_asks )
{
    struct kit_sched *sched;

    query_mutant = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtQueryMutant" );
    test_alert = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtTestAlert" );
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, asking_body, NULL );
    kit_start();
    kit_finish();
    ok( asked.owned == ASK_ROUNDS, "B27: %ld times the owner of its mutex, expected %d\n", asked.owned, ASK_ROUNDS );
    ok( asked.not_owned == 1, "B27: still the owner of a mutex that it has released\n" );
    ok( asked.alerts == ASK_ROUNDS, "B27: %ld routines ran, expected %d\n", asked.alerts, ASK_ROUNDS );
    ok( !asked.late, "B27: %ld routines had not run behind NtTestAlert\n", asked.late );
    ok( asked.timers == ASK_ROUNDS, "B27: %ld timers' routines ran, expected %d\n", asked.timers, ASK_ROUNDS );
    ok( !asked.wrong_thread, "B27: %ld routines ran in another thread\n", asked.wrong_thread );
    kit_check();
}

/* --- calls that are answered at once, while threads of workers signal and wait --- */

#define CLOCK_WORKERS 6
#define CLOCK_ROUNDS  300

static HANDLE clock_turns[CLOCK_WORKERS];       /* semaphores: a turn given early is not lost */
static volatile LONG clock_back, clock_rounds;
static VOID (WINAPI *precise_time)( FILETIME * );

static ULONGLONG read_time( void )
{
    FILETIME time = { 0, 0 };           /* an answer that went elsewhere is a time that went back */

    precise_time( &time );
    return (ULONGLONG)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static DWORD clock_body( struct kit_worker *worker )
{
    ULONGLONG last = read_time(), now;
    int i, k;

    for (i = 0; i < CLOCK_ROUNDS; i++)
    {
        ReleaseSemaphore( clock_turns[(worker->index + 1) % CLOCK_WORKERS], 1, NULL );
        for (k = 0; k < 20; k++)
        {
            now = read_time();
            if (now + 10000000 < last) InterlockedIncrement( &clock_back );
            last = now;
        }
        if (WaitForSingleObject( clock_turns[worker->index], KIT_LIMIT )) break;
        InterlockedIncrement( &clock_rounds );
        if (i % 3 == 0) kit_yield( worker, NULL );
    }
    ReleaseSemaphore( clock_turns[(worker->index + 1) % CLOCK_WORKERS], 1, NULL );
    return 0;
}

/* The precise time is read a hundred thousand times by workers whose threads are just coming back
   from waits: nobody's call gets into another's. */
START_TEST( scenario_identity_calls )
{
    int i;

    precise_time = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ),
                                           "GetSystemTimePreciseAsFileTime" );
    if (!precise_time) precise_time = GetSystemTimeAsFileTime;          /* before Windows 8 */
    if (!kit_open()) return;
    for (i = 0; i < CLOCK_WORKERS; i++)
        clock_turns[i] = CreateSemaphoreW( NULL, 0, 2 * CLOCK_ROUNDS, NULL );
    kit_add_sched( NULL );
    kit_add_sched( NULL );
    for (i = 0; i < CLOCK_WORKERS; i++) kit_add_worker( kit.scheds[i & 1].list, clock_body, NULL );
    kit_start();
    kit_finish();
    ok( !clock_back, "the time went back %ld times\n", clock_back );
    ok( clock_rounds == CLOCK_WORKERS * CLOCK_ROUNDS, "%ld waits, expected %d\n", clock_rounds,
        CLOCK_WORKERS * CLOCK_ROUNDS );
    kit_check();
    for (i = 0; i < CLOCK_WORKERS; i++) CloseHandle( clock_turns[i] );
}
