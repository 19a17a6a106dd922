/*
 * The tormentor: a process that does to the victim what one process can do to another.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "signals.h"

#define STALL 60000                     /* ms without progress of a worker */
#define LONGER 60000                    /* ms more until all is hit that has to be */

static uint32_t random_state;
static HANDLE victim;
static LONG (NTAPI *queue_apc)( HANDLE, void *, ULONG_PTR, ULONG_PTR, ULONG_PTR );

static void count( enum action action, int success )
{
    if (success) shared->done[action]++;
    else
    {
        shared->failed[action]++;
        shared->error[action] = GetLastError();
    }
}

/* A thread that has ended meanwhile is nobody's fault. */
static void count_thread( enum action action, HANDLE thread, int success )
{
    DWORD error = GetLastError();

    if (!success && WaitForSingleObject( thread, 0 ) == WAIT_OBJECT_0) return;
    SetLastError( error );
    count( action, success );
}

static HANDLE choose_thread( enum target *target )
{
    uint32_t which = next_random( &random_state );
    DWORD tid;

    *target = which % 8 < 4 ? TARGET_SCHEDULER : which % 8 < 7 ? TARGET_HOME : TARGET_PLAIN;
    which /= 8;
    tid = *target == TARGET_SCHEDULER ? shared->scheds[which % SCHEDS] :
          *target == TARGET_HOME ? shared->tids[which % WORKERS] : shared->plain;
    return tid ? OpenThread( THREAD_ALL_ACCESS, FALSE, tid ) : NULL;
}

/* Asking for the context of a thread that is not suspended stops it for a moment, too. */
static void act_thread( int suspend )
{
    enum action action = suspend ? ACT_SUSPEND : ACT_SAMPLE;
    CONTEXT context = { .ContextFlags = CONTEXT_FULL };
    enum target target;
    HANDLE thread = choose_thread( &target );

    if (!thread) return;
    if (suspend && SuspendThread( thread ) == (DWORD)-1)
        count_thread( action, thread, 0 );
    else
    {
        int success = GetThreadContext( thread, &context );

        count_thread( action, thread, success );
        if (success) shared->places[target][place_of( victim, &context )]++;
        if (suspend) count_thread( action, thread, ResumeThread( thread ) != (DWORD)-1 );
    }
    CloseHandle( thread );
}

static void act_alloc( void )
{
    char *mem = VirtualAllocEx( victim, NULL, 0x10000, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE );

    count( ACT_ALLOC, mem != NULL );
    if (mem) count( ACT_ALLOC, VirtualFreeEx( victim, mem, 0, MEM_RELEASE ) );
}

static void act_protect( void )
{
    DWORD old;

    count( ACT_PROTECT, VirtualProtectEx( victim, shared->mailbox, MAILBOX, PAGE_READONLY, &old ) );
    count( ACT_PROTECT, VirtualProtectEx( victim, shared->mailbox, MAILBOX, PAGE_READWRITE, &old ) );
}

static void act_memory( void )
{
    uint32_t value = next_random( &random_state ), got = ~value;
    char *where = (char *)shared->mailbox + value % (MAILBOX / 4) * 4;
    SIZE_T size;

    count( ACT_MEMORY,
           WriteProcessMemory( victim, where, &value, sizeof(value), &size ) &&
           ReadProcessMemory( victim, where, &got, sizeof(got), &size ) && got == value );
}

static void act_apc( void )
{
    int slot = next_random( &random_state ) % WORKERS;
    HANDLE thread;

    if (!shared->stays[slot] || !shared->tids[slot]) return;
    if (!(thread = OpenThread( THREAD_SET_CONTEXT, FALSE, shared->tids[slot] ))) return;
    if (!queue_apc( thread, shared->apc_proc, slot, 0, 0 ))
    {
        shared->apcs[slot]++;
        count( ACT_APC, 1 );
    }
    else count( ACT_APC, 0 );
    CloseHandle( thread );
}

static void act_remote_thread( void )
{
    HANDLE thread = CreateRemoteThread( victim, NULL, 0, shared->thread_proc, NULL, 0, NULL );

    count( ACT_THREAD, thread != NULL );
    if (!thread) return;
    shared->threads++;
    CloseHandle( thread );
}

static void act( void )
{
    switch (next_random( &random_state ) % 16)
    {
    case 0: case 1: case 2: act_thread( 0 ); break;
    case 3: case 4: case 5: act_thread( 1 ); break;
    case 6: case 7: case 8: act_alloc(); break;
    case 9: case 10: act_protect(); break;
    case 11: case 12: act_memory(); break;
    case 13: case 14: act_apc(); break;
    default:
        if (next_random( &random_state ) % 4) Sleep( 0 );
        else act_remote_thread();
    }
}

/* Each worker has to go on. */
static int find_stall( void )
{
    static LONG last[WORKERS];
    static ULONGLONG since[WORKERS];
    ULONGLONG now = GetTickCount64();
    int i;

    for (i = 0; i < WORKERS; i++)
    {
        if (!since[i] || last[i] != shared->progress[i] || shared->ended[i])
        {
            last[i] = shared->progress[i];
            since[i] = now;
        }
        else if (now - since[i] > STALL) return i;
    }
    return -1;
}

int tormentor( const char *section )
{
    HANDLE mapping = OpenFileMappingA( FILE_MAP_ALL_ACCESS, FALSE, section );
    ULONGLONG end;
    int stalled, i;

    shared = MapViewOfFile( mapping, FILE_MAP_ALL_ACCESS, 0, 0, 0 );
    queue_apc = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtQueueApcThread" );
    if (!shared || !(victim = OpenProcess( PROCESS_ALL_ACCESS, FALSE, shared->pid ))) return 2;
    random_state = (uint32_t)shared->seed * 69069 + 1;
    end = GetTickCount64() + shared->seconds * 1000;
    while (GetTickCount64() < end || (GetTickCount64() < end + LONGER && !places_hit( 0 )))
    {
        act();
        if ((stalled = find_stall()) < 0) continue;
        printf( "FAIL stall: worker %d, thread %04lx, makes no progress after %ld\n", stalled,
                shared->tids[stalled], shared->progress[stalled] );
        fflush( stdout );
        if (GetEnvironmentVariableA( "SIGNALS_STAY", NULL, 0 )) Sleep( INFINITE );
        TerminateProcess( victim, 3 );
        return 3;
    }
    if (shared->storm != STORM_KILL) return 0;
    /* it reports nothing any more: 4 says that something was wrong */
    for (i = 0; i < ACTIONS; i++) if (shared->failed[i]) InterlockedIncrement( &shared->mistakes );
    return !TerminateProcess( victim, shared->mistakes ? 4 : 0 );
}
