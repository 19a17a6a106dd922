/*
 * waits_here user | local | kernel: where does the thread of a worker sleep while the worker waits?
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The scheduler asks Linux, in the upcall for the wait. user: the thread sleeps where it slept while
 * its worker had yielded, and so takes no part in the wait. local (UMS_LOCAL_OBJECTS=on): also in waits
 * for objects. kernel (UMS_USER_WAITS=off): it sleeps in the host's call. Nothing else shows the
 * difference to a program, except for the time that it takes.
 */
#include <windows.h>
#include <tlhelp32.h>
#include <stdlib.h>
#include <string.h>
#include <ums.h>

#include "../../samples/spawn.h"
#include "../inject/test.h"
#include "linux.h"

#define LIMIT     20000                         /* ms */
#define LONG_TIME 3600000                       /* ms: is not over in a test */

enum kind
{
    ALERT_TIMED, ALERT, ADDRESS, ADDRESS_TIMED, LOCK, CONDITION, SECTION, ONCE, KEYED,
    EVENT, SEMAPHORE, MUTEX, ANY, ALL,          /* objects */
    SLEEP, KINDS
};

static const char *const names[KINDS] =
{
    "an alert, with a time-out", "an alert", "an address", "an address, with a time-out", "an SRW lock",
    "a condition variable", "a critical section", "InitOnce", "a keyed event", "an event", "a semaphore",
    "a mutex", "any of two events", "an event and a semaphore", "Sleep"
};

static LONG (WINAPI *wait_for_alert)( void *, const LARGE_INTEGER * );
static LONG (WINAPI *alert)( HANDLE );
static BOOL (WINAPI *wait_on_address)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *wake_by_address)( void * );
static LONG (WINAPI *wait_for_key)( HANDLE, const void *, BOOLEAN, const LARGE_INTEGER * );
static LONG (WINAPI *release_key)( HANDLE, const void *, BOOLEAN, const LARGE_INTEGER * );

static SRWLOCK lock = SRWLOCK_INIT, changed_lock = SRWLOCK_INIT;
static CONDITION_VARIABLE changed = CONDITION_VARIABLE_INIT;
static CRITICAL_SECTION section;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
static HANDLE event, other_event, semaphore, mutex;

static PUMS_COMPLETION_LIST list;
static DWORD worker_id, main_id;
static int64_t scheduler_thread, home;          /* Linux' ids */
static char parked[256];                        /* what its thread does while it has yielded */
static volatile LONG stage = -1;                /* the kind of wait that it is about to begin */
static volatile LONG over;
static int told[KINDS], here[KINDS], wanted, wanted_objects, ended;
static char seen[KINDS][256];

static int is_wanted( enum kind kind )
{
    return kind >= EVENT && kind <= ALL ? wanted_objects : wanted;
}

/* ---- what the thread does, by Linux ---- */

static void look( char *text, size_t size )
{
    char path[64];
    int64_t fd, got;

    text[0] = 0;
    snprintf( path, sizeof(path), "/proc/self/task/%d/syscall", (int)home );
    if ((fd = linux_call( LINUX_OPEN, (uint64_t)path, 0, 0, 0 )) < 0) return;
    got = linux_call( LINUX_READ, fd, (uint64_t)text, size - 1, 0 );
    linux_call( LINUX_CLOSE, fd, 0, 0, 0 );
    text[got > 0 ? got : 0] = 0;
}

/* Until it sleeps in a call. It may be on its way there, or wait for a page or a processor. */
static void look_until_it_sleeps( char *text, size_t size )
{
    ULONGLONG begin = GetTickCount64();

    do look( text, size );
    while ((text[0] < '0' || text[0] > '9') && GetTickCount64() - begin < LIMIT);
}

/* The call and its first argument: a futex and its address. */
static size_t place_length( const char *text )
{
    size_t call = strcspn( text, " " );

    return call + (text[call] ? 1 + strcspn( text + call + 1, " " ) : 0);
}

static BOOL is_same_place( const char *a, const char *b )
{
    return place_length( a ) == place_length( b ) && !memcmp( a, b, place_length( a ) );
}

static BOOL is_parked( char *text, size_t size )
{
    look_until_it_sleeps( text, size );
    return is_same_place( text, parked );
}

/* A worker that leaves its carrier for the host's wait is told as blocked before its thread has woken up where it was
   parked; and the thread may have something to do for its worker, in a short call of the host, before it parks. So it
   gets the time to be where it is to be. Whoever is on the way to the host does not stay parked. The first waits with a time-out
   may be the host's, and so may a mutex: the worker makes more of these. */
static BOOL sleeps_here( enum kind kind, char *text, size_t size )
{
    ULONGLONG begin = GetTickCount64();
    BOOL here_now;

    do
    {
        here_now = is_parked( text, size );
        if (here_now && is_wanted( kind ))
        {
            Sleep( 50 );
            here_now = is_parked( text, size );
        }
    }
    while (here_now != is_wanted( kind ) && kind != ALERT_TIMED && kind != MUTEX && GetTickCount64() - begin < LIMIT);
    return here_now;
}

/* ---- the worker ---- */

/* A call that may block is made at home, and the worker stays there for a while. */
static void find_home( void )
{
    do
    {
        GetFileAttributesA( "C:\\" );
        home = linux_call( LINUX_GETTID, 0, 0, 0, 0 );
    }
    while (home == scheduler_thread);
}

static void wait_for( enum kind kind, DWORD ms )
{
    LARGE_INTEGER timeout = { .QuadPart = -10000ll * LONG_TIME };
    HANDLE events[2] = { event, other_event }, different[2] = { other_event, semaphore };
    BOOL pending;
    LONG none = 0;

    switch (kind)
    {
    case ALERT_TIMED:   wait_for_alert( NULL, &timeout ); break;
    case ALERT:         wait_for_alert( NULL, NULL ); break;
    case ADDRESS_TIMED: ms = LONG_TIME;         /* fall through */
    case ADDRESS:       wait_on_address( &over, &none, sizeof(none), ms ); break;
    case LOCK:          AcquireSRWLockExclusive( &lock ); break;
    case CONDITION:     SleepConditionVariableSRW( &changed, &changed_lock, INFINITE, 0 ); break;
    case SECTION:       EnterCriticalSection( &section ); break;
    case ONCE:          InitOnceBeginInitialize( &once, 0, &pending, NULL ); break;
    case KEYED:         wait_for_key( NULL, (const void *)&over, FALSE, NULL ); break;
    case EVENT:         WaitForSingleObject( event, INFINITE ); break;
    case SEMAPHORE:     WaitForSingleObject( semaphore, INFINITE ); break;
    case MUTEX:         WaitForSingleObject( mutex, INFINITE ); break;
    case ANY:           WaitForMultipleObjects( 2, events, FALSE, INFINITE ); break;
    case ALL:           WaitForMultipleObjects( 2, different, TRUE, INFINITE ); break;
    default:            Sleep( LONG_TIME );
    }
}

/* Once, and again if it returns without a reason. */
static void wait_until_over( enum kind kind )
{
    over = 0;
    UmsThreadYield( NULL );                     /* the scheduler takes what this one is to wait for */
    if (kind == CONDITION) AcquireSRWLockExclusive( &changed_lock );
    stage = kind;
    do wait_for( kind, INFINITE );
    while (!over);
    stage = -1;
    if (kind == CONDITION) ReleaseSRWLockExclusive( &changed_lock );
    if (kind == LOCK) ReleaseSRWLockExclusive( &lock );
    if (kind == SECTION) LeaveCriticalSection( &section );
    if (kind == MUTEX) ReleaseMutex( mutex );
}

/* The thread itself may make the first wait with a time-out, and others, until there is a timer. */
static void wait_until_there_is_a_timer( void )
{
    ULONGLONG begin = GetTickCount64();

    do wait_until_over( ALERT_TIMED );
    while (here[ALERT_TIMED] != wanted && GetTickCount64() - begin < LIMIT);
}

/* A mutex is the host's if the thread that would keep it has not begun 20 ms after it was asked for (mutant_keeper.c), as on a busy
   machine. Later ones are local when it has begun. */
static void wait_until_a_mutex_is_as_wanted( void )
{
    ULONGLONG begin = GetTickCount64();

    for (;;)
    {
        wait_until_over( MUTEX );
        if (here[MUTEX] == wanted_objects || GetTickCount64() - begin >= LIMIT) return;
        CloseHandle( mutex );
        mutex = CreateMutexA( NULL, FALSE, NULL );
    }
}

/* A program that ends each thread which it has not made ends the timer, too. Then there is another one. */
static void end_others( void )
{
    HANDLE all = CreateToolhelp32Snapshot( TH32CS_SNAPTHREAD, 0 ), thread;
    THREADENTRY32 entry = { .dwSize = sizeof(entry) };
    BOOL more;

    for (more = Thread32First( all, &entry ); more; more = Thread32Next( all, &entry ))
    {
        if (entry.th32OwnerProcessID != GetCurrentProcessId() || entry.th32ThreadID == worker_id ||
            entry.th32ThreadID == main_id) continue;
        if (!(thread = OpenThread( THREAD_TERMINATE, FALSE, entry.th32ThreadID ))) continue;
        ended += TerminateThread( thread, 0 );
        CloseHandle( thread );
    }
    CloseHandle( all );
}

static DWORD WINAPI worker( void *arg )
{
    int kind;

    (void)arg;
    find_home();
    wait_until_there_is_a_timer();
    if (wanted)
    {
        end_others();
        wait_until_there_is_a_timer();
    }
    for (kind = ALERT; kind < KINDS; kind++)
        if (kind == MUTEX) wait_until_a_mutex_is_as_wanted();
        else wait_until_over( kind );
    return 0;
}

/* ---- the scheduler ---- */

static void take( void )
{
    static BOOL begun;

    AcquireSRWLockExclusive( &lock );
    EnterCriticalSection( &section );
    WaitForSingleObject( mutex, INFINITE );
    if (!begun) InitOnceBeginInitialize( &once, 0, &begun, NULL );
}

static void give_back( void )
{
    ReleaseSRWLockExclusive( &lock );
    LeaveCriticalSection( &section );
    ReleaseMutex( mutex );
}

/* "over" first: with the lock in its hands a worker at home looks at that. */
static void end_wait( enum kind kind )
{
    over = 1;
    give_back();
    switch (kind)
    {
    case ALERT_TIMED:
    case ALERT:         alert( (HANDLE)(ULONG_PTR)worker_id ); break;
    case ADDRESS_TIMED:
    case ADDRESS:       wake_by_address( (void *)&over ); break;
    case CONDITION:     WakeAllConditionVariable( &changed ); break;
    case ONCE:          InitOnceComplete( &once, 0, NULL ); break;
    case KEYED:         release_key( NULL, (const void *)&over, FALSE, NULL ); break;
    case SEMAPHORE:     ReleaseSemaphore( semaphore, 1, NULL ); break;
    case EVENT:         SetEvent( event ); break;
    case ANY:           SetEvent( other_event ); break;
    case ALL:           SetEvent( other_event );
                        ReleaseSemaphore( semaphore, 1, NULL ); break;
    default:            break;
    }
}

/* The lock is taken while the worker has yielded, and given back when it was seen to wait. */
static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context = NULL;
    BOOLEAN ended = FALSE;
    LONG kind = stage;

    (void)param;
    if (reason == UmsSchedulerStartup) scheduler_thread = linux_call( LINUX_GETTID, 0, 0, 0, 0 );
    if (reason == UmsSchedulerThreadYield)
    {
        if (!parked[0]) look_until_it_sleeps( parked, sizeof(parked) );
        take();
        ExecuteUmsThread( (PUMS_CONTEXT)payload );
        return;
    }
    if (reason == UmsSchedulerThreadBlocked && kind >= 0 && !over)
    {
        here[kind] = sleeps_here( kind, seen[kind], sizeof(seen[kind]) );
        told[kind]++;
        if (kind == SLEEP) return;              /* nobody ends that one, but the process */
        end_wait( kind );
    }
    if (!DequeueUmsCompletionListItems( list, LIMIT, &context ) || !context) return;
    QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
    if (!ended) ExecuteUmsThread( context );
}

static void *find( const char *module, const char *name )
{
    return (void *)GetProcAddress( GetModuleHandleA( module ), name );
}

int main( int argc, char **argv )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, scheduler, NULL };
    PUMS_CONTEXT context;
    HANDLE thread;
    int kind;

    main_id = GetCurrentThreadId();
    wanted_objects = argc > 1 && !strcmp( argv[1], "local" );
    wanted = wanted_objects || (argc > 1 && !strcmp( argv[1], "user" ));
    wait_for_alert  = find( "ntdll.dll", "NtWaitForAlertByThreadId" );
    alert           = find( "ntdll.dll", "NtAlertThreadByThreadId" );
    wait_on_address = find( "kernelbase.dll", "WaitOnAddress" );
    wake_by_address = find( "kernelbase.dll", "WakeByAddressSingle" );
    wait_for_key    = find( "ntdll.dll", "NtWaitForKeyedEvent" );
    release_key     = find( "ntdll.dll", "NtReleaseKeyedEvent" );
    InitializeCriticalSection( &section );
    event       = CreateEventA( NULL, FALSE, FALSE, NULL );
    other_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    semaphore   = CreateSemaphoreA( NULL, 0, 1, NULL );
    mutex       = CreateMutexA( NULL, FALSE, NULL );
    ok( event && other_event && semaphore && mutex, "no objects, error %lu", GetLastError() );
    ok( CreateUmsCompletionList( &list ), "no list, error %lu", GetLastError() );
    info.CompletionList = list;
    thread = spawn_ums_worker( list, worker, NULL, NULL, &context );
    ok( thread != NULL, "no worker, error %lu", GetLastError() );
    worker_id = GetThreadId( thread );
    ok( EnterUmsSchedulingMode( &info ), "not entered, error %lu", GetLastError() );
    ok( !strncmp( parked, "202 ", 4 ), "a yielded worker's thread sleeps in no futex: %s", parked );
    ok( !wanted || ended, "no thread was there to be ended" );
    for (kind = 0; kind < KINDS; kind++)
    {
        ok( told[kind], "%s: nobody was told of the wait", names[kind] );
        ok( here[kind] == is_wanted( kind ), "%s: the thread sleeps %s: %sparked: %s", names[kind],
            is_wanted( kind ) ? "in the host's wait" : "as if its worker had yielded", seen[kind], parked );
    }
    test_end();
    fflush( stdout );
    ExitProcess( test_failures != 0 );
}
