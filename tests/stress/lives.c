/*
 * Leaks: what a process, its wineserver and the kernel hold for it stays the same over many worker lives.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * usage: umsrun umslives.exe [--lives=N] [--kinds=LETTERS] [--alone]
 *
 * Lives come in batches; each batch has a list, an event handle and a scheduler context of its own. The kinds take
 * turns: y yields and returns, b blocks, e ends with ExitThread, s is suspended by its scheduler, k is killed in a wait,
 * p is killed where it has yielded. Everything is counted after a quarter, a half, three quarters and all of them. The
 * rule is the same on every machine: a leak is something per life, so from the first count to the last no number may
 * grow by more than one in a thousand lives, and memory by no more than 16 bytes a life. A thread that is killed leaves
 * its stack behind in Wine 8.0, 2 MB of it, with UMS and without; so with k or p memory is not judged.
 * --alone: nobody else uses this wineserver, so that its open files are judged too: each of its threads has some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include "ums.h"
#include "handles.h"
#include "linux.h"

#define BATCH   24
#define LIMIT   20000                           /* ms, the bound of each wait */
#define PATIENT 60000                           /* ms until handles of ended threads are gone */

struct life
{
    PUMS_CONTEXT context;
    HANDLE thread;
    char kind;
    int  yields;
    BOOL killed;
};

static struct life lives[BATCH];
static struct life *current, *ready[4 * BATCH];
static unsigned int head, tail;
static int ended, expected, wrong;
static const char *wrong_text = "";
static PUMS_COMPLETION_LIST list;
static HANDLE never;

static void bad( const char *what )
{
    wrong++;
    wrong_text = what;
}

/* ---- a batch ---- */

static DWORD WINAPI live( void *arg )
{
    struct life *life = arg;

    if (!UmsThreadYield( life )) bad( "a yield failed" );
    switch (life->kind)
    {
    case 'b': Sleep( 0 ); SleepEx( 1, FALSE ); break;
    case 'e': ExitThread( 7 );
    case 'k': WaitForSingleObject( never, INFINITE ); break;
    default:  UmsThreadYield( life ); break;
    }
    return 7;
}

static BOOL make( struct life *life )
{
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);

    life->yields = 0;
    life->killed = FALSE;
    if (!CreateUmsThreadContext( &life->context )) return FALSE;
    SetUmsThreadInformation( life->context, UmsThreadUserContext, &life, sizeof(life) );
    ums.UmsContext = life->context;
    if (!InitializeProcThreadAttributeList( attributes, 1, 0, &size )) return FALSE;
    if (!UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                    sizeof(ums), NULL, NULL )) return FALSE;
    life->thread = CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0x10000, live, life,
                                         STACK_SIZE_PARAM_IS_A_RESERVATION, attributes, NULL );
    DeleteProcThreadAttributeList( attributes );
    return life->thread != NULL;
}

static void put( struct life *life )
{
    ready[tail++ % ARRAYSIZE(ready)] = life;
}

static void take( DWORD ms )
{
    PUMS_CONTEXT context, next;
    struct life *life;
    BOOLEAN over;

    if (!DequeueUmsCompletionListItems( list, ms, &context ))
    {
        bad( "nothing came to the list" );
        return;
    }
    for (; context; context = next)
    {
        next = GetNextUmsListItem( context );
        QueryUmsThreadInformation( context, UmsThreadUserContext, &life, sizeof(life), NULL );
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &over, sizeof(over), NULL );
        if (over) ended++;
        else put( life );
    }
}

static void kill( struct life *life )
{
    life->killed = TRUE;
    if (!TerminateThread( life->thread, 9 )) bad( "TerminateThread failed" );
}

/* Suspended it must not be executed; resumed it must. */
static void suspend( struct life *life )
{
    if (SuspendThread( life->thread ) != 0) bad( "SuspendThread failed" );
    if (ExecuteUmsThread( life->context ) || GetLastError() != ERROR_INVALID_PARAMETER)
        bad( "a suspended worker was executed" );
    if (ResumeThread( life->thread ) != 1) bad( "ResumeThread failed" );
}

static void WINAPI schedule( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)payload;
    if (reason == UmsSchedulerThreadYield)
    {
        struct life *life = param;

        if (life != current) bad( "somebody else yielded" );
        if (life->kind == 's') suspend( life );
        if (life->kind == 'p' && life->yields) kill( life );
        else put( life );
        life->yields++;
    }
    else if (reason == UmsSchedulerThreadBlocked && current->kind == 'k' && current->yields &&
             !current->killed) kill( current );

    while (ended < expected && !wrong)
    {
        take( head == tail ? LIMIT : 0 );
        if (head == tail) continue;
        current = ready[head++ % ARRAYSIZE(ready)];
        ExecuteUmsThread( current->context );
        if (GetLastError() != ERROR_RETRY) bad( "a worker could not be executed" );
        put( current );
    }
}

static void batch( int count, const char *kinds )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, schedule, NULL };
    HANDLE event;
    DWORD code;
    int i;

    head = tail = 0;
    ended = 0;
    expected = count;
    if (!CreateUmsCompletionList( &list ) || !GetUmsCompletionListEvent( list, &event ))
    {
        bad( "no list" );
        return;
    }
    info.CompletionList = list;
    for (i = 0; i < count; i++)
    {
        lives[i].kind = kinds[i % strlen( kinds )];
        if (make( &lives[i] )) continue;
        bad( "no worker" );
        return;
    }
    if (!EnterUmsSchedulingMode( &info )) bad( "EnterUmsSchedulingMode failed" );
    for (i = 0; i < count && !wrong; i++)
    {
        if (WaitForSingleObject( lives[i].thread, LIMIT )) bad( "a thread did not end" );
        GetExitCodeThread( lives[i].thread, &code );
        if (code != (lives[i].killed ? 9 : 7)) bad( "a wrong exit code" );
        if (!DeleteUmsThreadContext( lives[i].context )) bad( "a context could not be deleted" );
        CloseHandle( lives[i].thread );
    }
    if (!CloseHandle( event ) || !DeleteUmsCompletionList( list )) bad( "the list stays" );
}

/* ---- counting ---- */

enum { HANDLES, THREADS, FILES, SERVER_FILES, MAPPINGS, COMMITTED, COUNTERS };
static const char *const names[COUNTERS] =
{ "handles", "threads", "files", "server's files", "mappings", "KB committed" };

struct count
{
    long long of[COUNTERS];
};

static long long committed( void )
{
    MEMORY_BASIC_INFORMATION info;
    long long bytes = 0;
    BYTE *address = NULL;

    while (VirtualQuery( address, &info, sizeof(info) ) == sizeof(info))
    {
        if (info.State == MEM_COMMIT && info.Type == MEM_PRIVATE) bytes += info.RegionSize;
        address = (BYTE *)info.BaseAddress + info.RegionSize;
        if ((ULONG_PTR)address >= 0x7fffffff0000) break;
    }
    return bytes;
}

static void sample( struct count *count, int server )
{
    count->of[HANDLES] = handles_count();
    count->of[THREADS] = linux_status( 0, "Threads:" );
    count->of[FILES] = linux_open_files( 0 );
    count->of[SERVER_FILES] = server ? linux_open_files( server ) : -1;
    count->of[MAPPINGS] = linux_mappings( 0 );
    count->of[COMMITTED] = committed() / 1024;
}

/* By how much each may be more than it was that many lives ago. Two mappings with the same rights that touch
   are one. Whether they do depends on where the last threads' stacks have been, beside the stacks of threads
   that stay: 181 to 185 were seen over 4,000 lives, up and down. */
static long long allowed( int counter, int since )
{
    if (counter == COMMITTED) return since * 16LL / 1024 + 64;
    return since / 1000 + (counter == MAPPINGS ? 4 : 1);
}

static int kills, alone;

/* What cannot be counted does not grow: -1, where the call or the server is not found. */
static int first_unknown( const struct count *now )
{
    int i;

    for (i = 0; i < COUNTERS; i++) if ((i != SERVER_FILES || alone) && now->of[i] <= 0) return i;
    return -1;
}

static int first_grown( const struct count *before, const struct count *now, int since )
{
    int i;

    for (i = 0; i < (kills ? MAPPINGS : COUNTERS); i++)
        if ((i != SERVER_FILES || alone) && now->of[i] > before->of[i] + allowed( i, since )) return i;
    return -1;
}

static void print( const char *when, const struct count *count, int server )
{
    int i;

    printf( "%s:", when );
    for (i = 0; i < COUNTERS; i++) printf( "%s %lld %s", i ? "," : "", count->of[i], names[i] );
    printf( ", %lld KB resident, server %lld KB\n", linux_status( 0, "VmRSS:" ),
            server ? linux_status( server, "VmRSS:" ) : -1 );
    fflush( stdout );
}

/* Who has not come to an end. */
static void print_batch( void )
{
    BOOLEAN suspended, over;
    int i;

    for (i = 0; i < expected; i++)
    {
        struct life *life = &lives[i];

        suspended = over = 9;
        QueryUmsThreadInformation( life->context, UmsThreadIsSuspended, &suspended, 1, NULL );
        QueryUmsThreadInformation( life->context, UmsThreadIsTerminated, &over, 1, NULL );
        printf( "  life %d, kind %c: %d yields%s, suspended %d, terminated %d, thread %s\n", i,
                life->kind, life->yields, life->killed ? ", killed" : "", suspended, over,
                WaitForSingleObject( life->thread, 0 ) ? "lives" : "has ended" );
    }
}

int main( int argc, char **argv )
{
    static const char *const when[] = { "25 %", "50 %", "75 %", "100 %" };
    int total = 2400, server, quarter, i, grown = -1, waited;
    const char *kinds = "ybes";
    struct count first, now;

    for (i = 1; i < argc; i++)
    {
        if (!strncmp( argv[i], "--lives=", 8 )) total = atoi( argv[i] + 8 );
        else if (!strncmp( argv[i], "--kinds=", 8 ) && argv[i][8]) kinds = argv[i] + 8;
        else if (!strcmp( argv[i], "--alone" )) alone = 1;
        else return 2;
    }
    kills = strpbrk( kinds, "kp" ) != NULL;
    never = CreateEventA( NULL, TRUE, FALSE, NULL );
    server = linux_server_pid();
    printf( "%d lives of the kinds %s, wineserver %s\n", total, kinds,
            server ? "found" : "not found" );
    for (quarter = 0; quarter < 4 && !wrong; quarter++)
    {
        for (i = total / 4; i > 0 && !wrong; i -= BATCH) batch( i < BATCH ? i : BATCH, kinds );
        sample( &now, server );
        if ((i = first_unknown( &now )) >= 0)
        {
            printf( "cannot be counted: %s\n", names[i] );
            return 1;
        }
        if (!quarter)
        {
            first = now;
            handles_remember();
        }
        for (waited = 0; waited < PATIENT; waited += 500)
        {
            if ((grown = first_grown( &first, &now, quarter * (total / 4) )) < 0) break;
            Sleep( 500 );
            sample( &now, server );
        }
        print( when[quarter], &now, server );
    }
    if (wrong)
    {
        printf( "%s\n", wrong_text );
        print_batch();
    }
    else if (grown >= 0) printf( "grows: %s\n", names[grown] );
    if (grown == HANDLES) handles_print_new();
    return wrong || grown >= 0;
}
