/*
 * The arms of worker factories: released workers, packets of the port, and the rival for these; how
 * often a factory wakes up that has nothing to do.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "workerfactory.h"
#include "factorypool/pool.h"
#include "bench.h"
#include "linux/linux.h"

#define MAX_ITEMS    100000
#define BATCH        64                 /* packets asked for at a time */
#define LINUX_GETPID 39
#define MAX_EXCLUDED 8
#define MAX_KNOWN    256

struct gate
{
    volatile LONG left;
    double        end;
    HANDLE        done;                 /* auto-reset */
};

struct factory
{
    HANDLE        port, handle;
    struct gate   gate;
    struct item  *items;
    BOOL          is_items;             /* else packets are counted, and that is all */
    DECLSPEC_ALIGN(64)
    volatile LONG next;                 /* who comes takes this one */
};

static BOOL failed( const char *what, LONG status )
{
    printf( "umsbench: %s failed, status %08lx, error %lu\n", what, (ULONG)status, GetLastError() );
    return FALSE;
}

static void gate_less( struct gate *gate, LONG count )
{
    if (InterlockedExchangeAdd( &gate->left, -count ) != count) return;
    gate->end = stats_now();
    SetEvent( gate->done );
}

/* ---- a factory whose workers are there ---- */

static void NTAPI factory_worker( void *arg )
{
    WORKER_FACTORY_DEFERRED_WORK nothing = { 0 };
    FILE_IO_COMPLETION_INFORMATION packets[BATCH];
    struct factory *factory = arg;
    ULONG count, i;

    if (NtWorkerFactoryWorkerReady( factory->handle )) return;
    for (;;)
    {
        count = 1;                      /* Windows 7 leaves it alone */
        if (NtWaitForWorkViaWorkerFactory( factory->handle, packets, BATCH, &count, &nothing ))
            return;
        for (i = 0; factory->is_items && i < count; i++)
            item_run( &factory->items[InterlockedIncrement( &factory->next ) - 1] );
        gate_less( &factory->gate, count );
    }
}

static ULONG factory_total( struct factory *factory, BOOL waiting )
{
    WORKER_FACTORY_BASIC_INFORMATION info;

    if (NtQueryInformationWorkerFactory( factory->handle, WorkerFactoryBasicInformation, &info,
                                         sizeof(info), NULL )) return 0;
    return waiting ? info.WaitingWorkerCount : info.TotalWorkerCount;
}

static void factory_close( struct factory *factory )
{
    volatile LONG pending = 0;

    NtShutdownWorkerFactory( factory->handle, &pending );
    while (factory_total( factory, FALSE )) Sleep( 1 );
    CloseHandle( factory->handle );
    CloseHandle( factory->port );
    CloseHandle( factory->gate.done );
    free( factory->items );
    _aligned_free( factory );
}

static struct factory *factory_open( ULONG workers )
{
    struct factory *factory = _aligned_malloc( sizeof(*factory), 64 );
    NTSTATUS status;

    ZeroMemory( factory, sizeof(*factory) );
    factory->gate.done = CreateEventW( NULL, FALSE, FALSE, NULL );
    factory->items = calloc( MAX_ITEMS, sizeof(*factory->items) );
    factory->port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, workers );
    status = NtCreateWorkerFactory( &factory->handle, WORKER_FACTORY_ALL_ACCESS, NULL,
                                    factory->port, GetCurrentProcess(), factory_worker, factory,
                                    workers, 0, 0 );
    if (!status) status = NtSetInformationWorkerFactory( factory->handle,
                                                         WorkerFactoryThreadMinimum, &workers,
                                                         sizeof(workers) );
    if (status)
    {
        failed( "NtCreateWorkerFactory", status );
        return NULL;
    }
    while (factory_total( factory, TRUE ) < workers) Sleep( 1 );
    return factory;
}

static void factory_stop( struct arm *arm )
{
    factory_close( arm->state );
}

/* ---- released workers ---- */

static double release_batch( struct arm *arm )
{
    struct factory *factory = arm->state;
    unsigned int i;
    double start;

    if (arm->ops > MAX_ITEMS) arm->ops = MAX_ITEMS;
    factory->gate.left = arm->ops;
    factory->next = 0;
    start = stats_now();
    for (i = 0; i < arm->ops; i++)
    {
        factory->items[i].value = i;
        if (NtReleaseWorkerFactoryWorker( factory->handle )) return -1;
    }
    WaitForSingleObject( factory->gate.done, INFINITE );
    if (!items_check( factory->items, arm->ops )) return -1;
    return (factory->gate.end - start) / arm->ops;
}

static BOOL release_start( struct arm *arm, ULONG workers )
{
    struct factory *factory = factory_open( workers );

    if (!factory) return FALSE;
    factory->is_items = TRUE;
    arm->state = factory;
    arm->batch = release_batch;
    arm->stop = factory_stop;
    return TRUE;
}

BOOL factories_start_release1( struct arm *arm )
{
    return release_start( arm, 1 );
}

BOOL factories_start_release2( struct arm *arm )
{
    return release_start( arm, 2 );
}

BOOL factories_start_release4( struct arm *arm )
{
    return release_start( arm, 4 );
}

/* ---- the sample pool ---- */

struct sample
{
    struct pool *pool;
    struct gate  gate;
    struct item  items[MAX_ITEMS];
};

static struct sample *sample;           /* an item has no room for it */

static void sample_callback( const struct pool_call *call )
{
    item_run( call->context );
    gate_less( &sample->gate, 1 );
}

static double sample_batch( struct arm *arm )
{
    unsigned int i;
    double start;

    if (arm->ops > MAX_ITEMS) arm->ops = MAX_ITEMS;
    sample->gate.left = arm->ops;
    start = stats_now();
    for (i = 0; i < arm->ops; i++)
    {
        sample->items[i].value = i;
        if (!pool_run( sample->pool, sample_callback, &sample->items[i] )) return -1;
    }
    WaitForSingleObject( sample->gate.done, INFINITE );
    if (!items_check( sample->items, arm->ops )) return -1;
    return (sample->gate.end - start) / arm->ops;
}

static void sample_stop( struct arm *arm )
{
    (void)arm;
    pool_destroy( sample->pool );
    CloseHandle( sample->gate.done );
    free( sample );
}

BOOL factories_start_sample( struct arm *arm )
{
    sample = calloc( 1, sizeof(*sample) );
    sample->gate.done = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!(sample->pool = pool_create( 0, 500 ))) return failed( "pool_create", 0 );
    arm->batch = sample_batch;
    arm->stop = sample_stop;
    return TRUE;
}

/* ---- packets of a real port ---- */

static double post_batch( HANDLE port, struct gate *gate, unsigned int count )
{
    double start;
    unsigned int i;

    gate->left = count;
    start = stats_now();
    for (i = 0; i < count; i++)
        if (!PostQueuedCompletionStatus( port, 1, 1, NULL )) return -1;
    WaitForSingleObject( gate->done, INFINITE );
    return (gate->end - start) / count;
}

static double packets_batch( struct arm *arm )
{
    struct factory *factory = arm->state;

    return post_batch( factory->port, &factory->gate, arm->ops );
}

BOOL factories_start_packets( struct arm *arm )
{
    if (!(arm->state = factory_open( 1 ))) return FALSE;
    arm->fixed = TRUE;
    arm->batch = packets_batch;
    arm->stop = factory_stop;
    return TRUE;
}

typedef LONG (NTAPI *remove_ex_proc)( HANDLE, FILE_IO_COMPLETION_INFORMATION *, ULONG, ULONG *,
                                      LARGE_INTEGER *, BOOLEAN );

struct drain
{
    HANDLE         port, thread;
    struct gate    gate;
    remove_ex_proc remove;
};

static DWORD WINAPI drain_thread( void *arg )
{
    FILE_IO_COMPLETION_INFORMATION packets[BATCH];
    struct drain *drain = arg;
    ULONG count;

    for (;;)
    {
        if (drain->remove( drain->port, packets, BATCH, &count, NULL, FALSE )) return 1;
        if (!packets[0].KeyContext) return 0;
        gate_less( &drain->gate, count );
    }
}

static double drain_batch( struct arm *arm )
{
    struct drain *drain = arm->state;

    return post_batch( drain->port, &drain->gate, arm->ops );
}

static void drain_stop( struct arm *arm )
{
    struct drain *drain = arm->state;

    PostQueuedCompletionStatus( drain->port, 0, 0, NULL );
    WaitForSingleObject( drain->thread, INFINITE );
    CloseHandle( drain->thread );
    CloseHandle( drain->port );
    CloseHandle( drain->gate.done );
    free( drain );
}

BOOL threads_start_packets( struct arm *arm )
{
    struct drain *drain = calloc( 1, sizeof(*drain) );

    drain->remove = (remove_ex_proc)(void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ),
                                                            "NtRemoveIoCompletionEx" );
    drain->gate.done = CreateEventW( NULL, FALSE, FALSE, NULL );
    drain->port = CreateIoCompletionPort( INVALID_HANDLE_VALUE, NULL, 0, 1 );
    drain->thread = CreateThread( NULL, 0, drain_thread, drain, 0, NULL );
    if (!drain->remove || !drain->thread) return failed( "CreateThread", 0 );
    arm->state = drain;
    arm->fixed = TRUE;
    arm->batch = drain_batch;
    arm->stop = drain_stop;
    return TRUE;
}

/* ---- an idle factory ---- */

static LONG64 excluded[MAX_EXCLUDED];
static volatile LONG excluded_count;

void factories_exclude_thread( void )
{
    LONG64 thread = linux_call( LINUX_GETTID, 0, 0, 0, 0 );
    LONG i;

    if (thread < 0) return;                     /* not Linux */
    i = InterlockedIncrement( &excluded_count ) - 1;
    if (i < MAX_EXCLUDED) excluded[i] = thread;
}

static BOOL is_excluded( LONG64 thread )
{
    LONG i;

    for (i = 0; i < excluded_count && i < MAX_EXCLUDED; i++)
        if (excluded[i] == thread) return TRUE;
    return FALSE;
}

/* Both kinds; -1: its file cannot be read. */
static LONG64 thread_switches( const char *path )
{
    LONG64 sum = -1, value;
    char line[128], *found;
    FILE *file;

    if (!(file = fopen( path, "r" ))) return -1;
    while (fgets( line, sizeof(line), file ))
    {
        if (!(found = strstr( line, "voluntary_ctxt_switches:" ))) continue;
        value = strtoll( strchr( found, ':' ) + 1, NULL, 10 );
        sum = sum < 0 ? value : sum + value;
    }
    fclose( file );
    return sum;
}

/* What the threads of this process have done since the last call; those that ended meanwhile are
   left out. */
static LONG64 new_switches( LONG64 process, unsigned int *threads )
{
    static struct { LONG64 id, switches; } known[MAX_KNOWN];
    static unsigned int known_count;
    LONG64 sum = 0, value, id;
    WIN32_FIND_DATAA data;
    char path[MAX_PATH];
    unsigned int i;
    HANDLE find;

    *threads = 0;
    sprintf( path, "Z:\\proc\\%lld\\task\\*", process );
    if ((find = FindFirstFileA( path, &data )) == INVALID_HANDLE_VALUE) return 0;
    do
    {
        id = strtoll( data.cFileName, NULL, 10 );
        if (!id || is_excluded( id )) continue;
        sprintf( path, "Z:\\proc\\%lld\\task\\%lld\\status", process, id );
        if ((value = thread_switches( path )) < 0) continue;
        for (i = 0; i < known_count && known[i].id != id; i++) ;
        if (i == MAX_KNOWN) continue;
        if (i == known_count)
        {
            known_count++;
            known[i].id = id;
            known[i].switches = 0;
        }
        sum += value - known[i].switches;
        known[i].switches = value;
        ++*threads;
    }
    while (FindNextFileA( find, &data ));
    FindClose( find );
    return sum;
}

/* A factory that has worked and then has nothing to do. The first second is for coming to rest. */
double factories_idle_switches( unsigned int seconds )
{
    struct factory *factory;
    struct arm arm = { 0 };
    unsigned int threads;
    LONG64 process = linux_call( LINUX_GETPID, 0, 0, 0, 0 ), switches;

    if (process < 0)
    {
        stats_note( "context switches are counted on Linux only" );
        return -1;
    }
    if (!(factory = factory_open( 4 ))) return -1;
    factory->is_items = TRUE;
    arm.state = factory;
    arm.ops = 1000;
    if (release_batch( &arm ) < 0) return -1;
    Sleep( 1000 );
    new_switches( process, &threads );
    if (threads < 4)
    {
        stats_note( "the context switches of %u threads can be read, not of 4", threads );
        factory_close( factory );
        return -1;
    }
    Sleep( seconds * 1000 );
    switches = new_switches( process, &threads );
    factory_close( factory );
    return switches;
}
