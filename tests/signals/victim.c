/*
 * The victim: schedulers, workers, and what has to hold at the end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 *      signals STORM SECONDS [SEED]
 *
 * The storm "kill" ends with the tormentor killing the victim, which is what gives the status 0.
 */
#include <stdlib.h>
#include "signals.h"

struct sched
{
    struct worker *first, *last;        /* ready, FIFO */
    struct worker *volatile inbox;      /* from the other scheduler */
    struct worker *current;
    DWORD tid;
};

struct shared *shared;
volatile LONG ending;
volatile LONG wrong[MISTAKES];

static const char *const storm_names[STORMS] =
    { "switch", "hook", "local", "clock", "calls", "home", "wait", "io", "stack", "mix", "kill" };
static const char *const mistake_names[MISTAKES] =
    { "thread", "count", "data", "call", "apc", "scheduler", "control word" };
static const char *const action_names[ACTIONS] =
    { "sample", "suspend", "alloc", "protect", "memory", "apc", "thread" };

static struct sched scheds[SCHEDS];
static PUMS_COMPLETION_LIST list;
static DWORD tls;
static volatile LONG alive, remote_threads;
static HANDLE tormentor_process;

void mistake( enum mistake which )
{
    InterlockedIncrement( &wrong[which] );
    InterlockedIncrement( &shared->mistakes );
}

uint32_t next_random( uint32_t *state )
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* ---- what comes from the other process ---- */

static void NTAPI apc_proc( ULONG_PTR slot, ULONG_PTR context, ULONG_PTR unused )
{
    struct worker *worker = TlsGetValue( tls );

    (void)context; (void)unused;
    if (!worker || worker->slot != (int)slot || GetCurrentThreadId() != shared->tids[slot])
        mistake( WRONG_APC );
    else worker->apcs++;
}

static DWORD WINAPI thread_proc( void *arg )
{
    (void)arg;
    InterlockedIncrement( &remote_threads );
    return 0;
}

/* ---- scheduling: each has a queue, and a worker that wants to goes to the other scheduler, but for
   the last: so none is idle ---- */

static void push( struct sched *sched, struct worker *worker )
{
    worker->next = NULL;
    if (sched->first) sched->last->next = worker;
    else sched->first = worker;
    sched->last = worker;
}

static void take_inbox( struct sched *sched )
{
    struct worker *worker = InterlockedExchangePointer( (void *volatile *)&sched->inbox, NULL );
    struct worker *next;

    for ( ; worker; worker = next)
    {
        next = worker->next;
        push( sched, worker );
    }
}

/* Once it is in the inbox, worker->next is its new scheduler's. */
static void hand_over( struct sched *sched, struct worker *worker )
{
    struct worker *head;

    do worker->next = head = sched->inbox;
    while (InterlockedCompareExchangePointer( (void *volatile *)&sched->inbox, worker, head ) !=
           head);
}

static void reap( struct worker *worker )
{
    CloseHandle( worker->thread );
    if (!DeleteUmsThreadContext( worker->context )) mistake( WRONG_SCHEDULER );
    HeapFree( GetProcessHeap(), 0, worker );
    InterlockedDecrement( &alive );
}

static void take_list( struct sched *sched, DWORD timeout )
{
    PUMS_CONTEXT context, next;
    struct worker *worker;
    BOOLEAN over;

    if (!DequeueUmsCompletionListItems( list, timeout, &context )) return;
    for ( ; context; context = next)
    {
        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadUserContext, &worker, sizeof(worker), NULL );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &over, sizeof(over), NULL );
        if (over) reap( worker );
        else push( sched, worker );
    }
}

static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    struct sched *sched = reason == UmsSchedulerStartup ? param : TlsGetValue( tls );
    struct worker *worker;
    int idle = 0;

    if (reason == UmsSchedulerStartup) TlsSetValue( tls, sched );
    else if (GetCurrentThreadId() != sched->tid) mistake( WRONG_SCHEDULER );
    if (reason == UmsSchedulerThreadYield)
    {
        if (sched->current->context != (PUMS_CONTEXT)payload) mistake( WRONG_SCHEDULER );
        else if (param && sched->first) hand_over( &scheds[(sched - scheds + 1) % SCHEDS], sched->current );
        else push( sched, sched->current );
    }
    while (alive)
    {
        take_inbox( sched );
        take_list( sched, sched->first || ++idle % 1000 ? 0 : 1 );
        if (!(worker = sched->first)) continue;
        idle = 0;
        sched->first = worker->next;
        sched->current = worker;
        ExecuteUmsThread( worker->context );
        push( sched, worker );
    }
}

static DWORD WINAPI scheduler_thread( void *arg )
{
    struct sched *sched = arg;
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, scheduler_proc, sched };
    char *teb;

    sched->tid = shared->scheds[sched - scheds] = GetCurrentThreadId();
    __asm__ __volatile__( "movq %%gs:0x30,%0" : "=r" (teb) );
    shared->stacks[sched - scheds][0] = *(uint64_t *)(teb + 0x1478);    /* DeallocationStack */
    shared->stacks[sched - scheds][1] = *(uint64_t *)(teb + 0x08);
    if (!EnterUmsSchedulingMode( &info )) mistake( WRONG_SCHEDULER );
    return 0;
}

void yield( struct worker *worker, int move )
{
    if (!UmsThreadYield( (void *)(ULONG_PTR)move )) mistake( WRONG_CALL );
    if (GetCurrentThreadId() != shared->tids[worker->slot] || TlsGetValue( tls ) != worker)
        mistake( WRONG_THREAD );
    InterlockedIncrement( &shared->progress[worker->slot] );
}

/* ---- workers ---- */

/* All APCs that were queued must have run once the last is taken. */
static DWORD WINAPI worker_proc( void *arg )
{
    struct worker *worker = arg;
    int slot = worker->slot;

    shared->tids[slot] = GetCurrentThreadId();
    TlsSetValue( tls, worker );
    storm_body( worker );
    while (SleepEx( 0, TRUE ) == WAIT_IO_COMPLETION) ;
    if (shared->stays[slot] && worker->apcs != shared->apcs[slot]) mistake( WRONG_APC );
    if (ending) shared->ended[slot] = 1;
    return 0;
}

int spawn_worker( int slot, enum storm storm )
{
    struct worker *worker = HeapAlloc( GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof(*worker) );

    worker->slot = slot;
    worker->storm = storm;
    worker->random = (uint32_t)shared->seed * 2654435761u + slot + 1;
    InterlockedIncrement( &alive );
    worker->thread = spawn_ums_worker( list, worker_proc, worker, worker, &worker->context );
    if (worker->thread) return 1;
    InterlockedDecrement( &alive );
    return 0;
}

/* ---- the run ---- */

/* Looks from time to time whether the tormentor is gone. In between it sleeps outside the
   wineserver, as no thread of this process may wait there: see signals.h. */
static DWORD WINAPI plain_thread( void *arg )
{
    DWORD code = 1;

    (void)arg;
    while (GetExitCodeProcess( tormentor_process, &code ) && code == STILL_ACTIVE) Sleep( 5 );
    if (code) mistake( WRONG_CALL );
    ending = 1;
    return 0;
}

static int start_tormentor( const char *section )
{
    char exe[MAX_PATH], line[2 * MAX_PATH];
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;

    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    snprintf( line, sizeof(line), "\"%s\" --torment %s", exe, section );
    if (!CreateProcessA( exe, line, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                         &info ))
        return 0;
    tormentor_process = info.hProcess;
    CloseHandle( CreateThread( NULL, 0, plain_thread, NULL, 0, &shared->plain ) );
    ResumeThread( info.hThread );
    CloseHandle( info.hThread );
    return 1;
}

static int report( void )
{
    int i, bad = 0;

    for (i = 0; i < ACTIONS; i++)
    {
        printf( "%s %ld%s", action_names[i], shared->done[i], i < ACTIONS - 1 ? ", " : "\n" );
        if (!shared->failed[i]) continue;
        printf( "\nFAIL %s: %ld failed, error %lu\n", action_names[i], shared->failed[i],
                shared->error[i] );
        bad = 1;
    }
    for (i = 0; i < WORKERS; i++) printf( "%s%ld", i ? " " : "progress ", shared->progress[i] );
    printf( "\n" );
    for (i = 0; i < MISTAKES; i++)
    {
        if (!wrong[i]) continue;
        printf( "FAIL wrong %s: %ld\n", mistake_names[i], wrong[i] );
        bad = 1;
    }
    for (i = 0; i < 6000 && remote_threads != shared->threads; i++) Sleep( 10 );
    if (remote_threads != shared->threads)
    {
        printf( "FAIL %ld of %ld remote threads ran\n", remote_threads, shared->threads );
        bad = 1;
    }
    places_print();
    return !places_hit( 1 ) || bad;
}

static int run( enum storm storm, DWORD seconds, uint64_t seed )
{
    char section[64];
    HANDLE mapping, thread;
    int i;

    snprintf( section, sizeof(section), "ums.signals.%lu", GetCurrentProcessId() );
    mapping = CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(*shared),
                                  section );
    shared = MapViewOfFile( mapping, FILE_MAP_ALL_ACCESS, 0, 0, 0 );
    shared->pid         = GetCurrentProcessId();
    shared->seconds     = seconds;
    shared->seed        = seed;
    shared->storm       = storm;
    shared->carried     = strstr( getenv( "UMS_ACTIVE" ), "engine=carry" ) != NULL;
    shared->apc_proc    = apc_proc;
    shared->thread_proc = thread_proc;
    shared->mailbox     = VirtualAlloc( NULL, MAILBOX, MEM_COMMIT, PAGE_READWRITE );
    shared->exe         = GetModuleHandleA( NULL );
    shared->dll         = GetModuleHandleA( "ntdll_ums.dll" );
    GetModuleFileNameA( shared->dll, shared->dll_path, sizeof(shared->dll_path) );

    tls = TlsAlloc();
    if (!CreateUmsCompletionList( &list )) return 77;
    storm_setup();
    for (i = 0; i < WORKERS; i++)
    {
        static const enum storm mixed[WORKERS] =
            { STORM_WAIT, STORM_WAIT, STORM_IO, STORM_IO, STORM_SWITCH, STORM_LOCAL, STORM_CALLS,
              STORM_STACK };
        enum storm which = storm >= STORM_MIX ? mixed[i] : storm;

        shared->stays[i] = which != STORM_STACK;
        if (!spawn_worker( i, which )) return 2;
    }
    for (i = 1; i < SCHEDS; i++)
    {
        thread = CreateThread( NULL, 0, scheduler_thread, &scheds[i], 0, &shared->scheds[i] );
        CloseHandle( thread );
    }
    shared->scheds[0] = GetCurrentThreadId();
    if (!start_tormentor( section )) return 2;
    scheduler_thread( &scheds[0] );
    if (storm == STORM_KILL)
    {
        printf( "FAIL: the tormentor has not killed it\n" );
        report();
        return 1;
    }
    return report();
}

int main( int argc, char **argv )
{
    uint64_t seed;
    int i, bad;

    if (argc == 3 && !strcmp( argv[1], "--torment" )) return tormentor( argv[2] );
    if (argc < 3 || !getenv( "UMS_ACTIVE" ))
    {
        printf( "umsrun signals STORM SECONDS [SEED]\n" );
        return 2;
    }
    for (i = 0; i < STORMS && strcmp( argv[1], storm_names[i] ); i++) ;
    if (i == STORMS) return 2;
    seed = argc > 3 ? strtoul( argv[3], NULL, 10 ) : 1;
    printf( "storm %s, %s s, seed %llu\n", argv[1], argv[2], (unsigned long long)seed );
    fflush( stdout );
    bad = run( (enum storm)i, strtoul( argv[2], NULL, 10 ), seed );
    printf( bad ? "FAILED\n" : "ok\n" );
    return bad;
}
