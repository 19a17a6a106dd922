/*
 * What calls cost that may block, and mostly do not: the arms, and their table.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker makes such a call at home, where it stays until it yields: it has ridden the call out. If the
 * call takes longer than the grace period (UMS_GRACE_US) and its thread sleeps, its scheduler is told. So each mix is
 * measured by plain threads, by workers, and by workers that yield after each round; in processes with
 * other grace periods, whose passes are named after them ("rides-2000"; "rides-2000-free": on all CPUs).
 * Counted is how often a SchedulerProc was told; a trace counts the calls that nobody was told of (./bench --rides).
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ums.h"
#include "bench.h"
#include "crew.h"
#include "troop.h"

#define FOLDERS 8                       /* of the tree that is walked, */
#define FILES   32                      /* and files in each */
#define MOST    4                       /* threads or workers of a mix */
#define LINE    100                     /* bytes that a log gets */

static char tree[MAX_PATH];
static unsigned int tree_users;         /* arms that have started */
static HANDLE program, logs[MOST];
static HANDLE pipe_ends[2][2];          /* of whom; read, write */

/* ---- the mixes: what one round is ---- */

static void walk( unsigned int self )
{
    static volatile LONG next;
    WIN32_FIND_DATAA found;
    char path[MAX_PATH + 8];
    HANDLE find;

    (void)self;
    snprintf( path, sizeof(path), "%s\\%lu\\*", tree,
              (unsigned long)InterlockedIncrement( &next ) % FOLDERS );
    if ((find = FindFirstFileA( path, &found )) == INVALID_HANDLE_VALUE) return;
    while (FindNextFileA( find, &found )) ;
    FindClose( find );
}

static void read_cached( unsigned int self )
{
    (void)self;
    file_read( program );
}

static void read_registry( unsigned int self )
{
    static const char key[] = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
    char name[128];
    DWORD size = sizeof(name);
    HKEY open;

    (void)self;
    if (RegOpenKeyExA( HKEY_LOCAL_MACHINE, key, 0, KEY_READ, &open )) return;
    RegQueryValueExA( open, "ProcessorNameString", NULL, NULL, (BYTE *)name, &size );
    RegCloseKey( open );
}

/* Of a file: nobody knows whether closing it takes long. */
static void close_copy( unsigned int self )
{
    HANDLE copy;

    (void)self;
    if (DuplicateHandle( GetCurrentProcess(), program, GetCurrentProcess(), &copy, 0, FALSE,
                         DUPLICATE_SAME_ACCESS )) CloseHandle( copy );
}

static void life_of_file( unsigned int self )
{
    char path[MAX_PATH + 8];
    LARGE_INTEGER size;
    HANDLE file;

    (void)self;
    snprintf( path, sizeof(path), "%s\\0\\0", tree );
    file = CreateFileA( path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL );
    if (file == INVALID_HANDLE_VALUE) return;
    GetFileSizeEx( file, &size );
    file_read( file );
    CloseHandle( file );
}

/* Always the first line, so that the file does not grow. */
static void write_log( unsigned int self )
{
    static const char line[LINE];
    OVERLAPPED start = { 0 };
    DWORD count;

    WriteFile( logs[self], line, sizeof(line), &count, &start );
}

/* A lock for each item, as a program has it that shares a file. */
static void read_locked( unsigned int self )
{
    static SRWLOCK lock = SRWLOCK_INIT;

    AcquireSRWLockExclusive( &lock );
    read_cached( self );
    ReleaseSRWLockExclusive( &lock );
}

/* These sleep: for a disk, if the folder for temporary files is on one, */
static void flush_log( unsigned int self )
{
    write_log( self );
    FlushFileBuffers( logs[self] );
}

/* and for one another. */
static void pass_byte( unsigned int self )
{
    DWORD count;
    char byte = 0;

    WriteFile( pipe_ends[!self][1], &byte, 1, &count, NULL );
    ReadFile( pipe_ends[self][0], &byte, 1, &count, NULL );
}

static const struct mix
{
    const char  *name, *label;
    void       (*op)( unsigned int self );
    unsigned int count;                 /* threads or workers */
} mixes[] =
{
    { "walk",     "walk through a folder of 32",   walk,          1 },
    { "read",     "read 4 KB of a cached file",    read_cached,   1 },
    { "registry", "open, read, close a key",       read_registry, 1 },
    { "close",    "copy and close a handle",       close_copy,    1 },
    { "life",     "open, size, read, close",       life_of_file,  1 },
    { "write",    "write 100 bytes",               write_log,     1 },
    { "locked",   "4 read 4 KB, in a lock",        read_locked,   4 },
    { "flush",    "4 write and flush",             flush_log,     4 },
    { "pipe",     "2 pass a byte by pipes",        pass_byte,     2 },
};

/* thread: plain threads; worker; yield: a worker that yields after each round */
static const char *const kinds[] = { "thread", "worker", "yield" };

/* ---- what they need ---- */

static BOOL failed( const char *what )
{
    printf( "umsbench: %s failed, error %lu\n", what, GetLastError() );
    return FALSE;
}

static HANDLE make_file( const char *folder, unsigned int number )
{
    char path[MAX_PATH + 32];

    snprintf( path, sizeof(path), "%s\\%s%u", tree, folder, number );
    return CreateFileA( path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                        CREATE_ALWAYS, 0, NULL );
}

static BOOL make_folder( unsigned int number )
{
    static const char content[4096];
    char path[MAX_PATH + 8], folder[16];
    unsigned int i;
    HANDLE file;
    DWORD count;

    snprintf( path, sizeof(path), "%s\\%u", tree, number );
    if (!CreateDirectoryA( path, NULL )) return FALSE;
    snprintf( folder, sizeof(folder), "%u\\", number );
    for (i = 0; i < FILES; i++)
    {
        if ((file = make_file( folder, i )) == INVALID_HANDLE_VALUE) return FALSE;
        if (!i) WriteFile( file, content, sizeof(content), &count, NULL );
        CloseHandle( file );
    }
    return TRUE;
}

static BOOL make_tree( void )
{
    char temp[MAX_PATH];
    unsigned int i;

    if (tree_users++) return TRUE;
    GetTempPathA( sizeof(temp), temp );
    snprintf( tree, sizeof(tree), "%sumsbench-%lu", temp, GetCurrentProcessId() );
    if (!CreateDirectoryA( tree, NULL )) return failed( "making a folder" );
    for (i = 0; i < FOLDERS; i++) if (!make_folder( i )) return failed( "making a file" );
    for (i = 0; i < MOST; i++)
        if ((logs[i] = make_file( "log", i )) == INVALID_HANDLE_VALUE) return failed( "making a file" );
    for (i = 0; i < 2; i++)
        if (!CreatePipe( &pipe_ends[i][0], &pipe_ends[i][1], NULL, 0 )) return failed( "CreatePipe" );
    return (program = file_open()) != NULL;
}

static void drop_file( const char *format, unsigned int folder, unsigned int number )
{
    char path[MAX_PATH + 32], name[32];

    snprintf( name, sizeof(name), format, folder, number );
    snprintf( path, sizeof(path), "%s\\%s", tree, name );
    if (!DeleteFileA( path )) RemoveDirectoryA( path );
}

static void drop_tree( void )
{
    unsigned int i, j;

    if (--tree_users) return;
    CloseHandle( program );
    for (i = 0; i < 4; i++) CloseHandle( pipe_ends[i / 2][i % 2] );
    for (i = 0; i < MOST; i++)
    {
        CloseHandle( logs[i] );
        drop_file( "log%.0u%u", 0, i );
    }
    for (i = 0; i < FOLDERS; i++)
    {
        for (j = 0; j < FILES; j++) drop_file( "%u\\%u", i, j );
        drop_file( "%u", i, 0 );
    }
    RemoveDirectoryA( tree );
}

/* ---- the arms: "<kind>_<mix>" ---- */

static const struct mix *running;       /* by the batch that runs */
static volatile unsigned int told;      /* its SchedulerProc, that a worker is blocked */

static const struct mix *mix_of( const struct arm *arm )
{
    unsigned int i = 0;

    while (strcmp( strchr( arm->name, '_' ) + 1, mixes[i].name )) i++;
    return &mixes[i];
}

static void ride( unsigned int self, unsigned int ops )
{
    void (*op)( unsigned int ) = running->op;

    for (; ops; ops--) op( self );
}

static void ride_and_yield( unsigned int self, unsigned int ops )
{
    void (*op)( unsigned int ) = running->op;

    for (; ops; ops--)
    {
        op( self );
        UmsThreadYield( NULL );
    }
}

static void NTAPI count_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    if (reason == UmsSchedulerThreadBlocked) told++;
    crew_proc( reason, payload, param );
}

static double batch_of_threads( struct arm *arm )
{
    running = mix_of( arm );
    return troop_batch( arm );
}

static double batch_of_workers( struct arm *arm )
{
    running = mix_of( arm );
    told = 0;
    return crew_batch( arm );
}

/* "<name>.told": how often in a round of one worker */
static BOOL count_told( struct arm *arm, const char *name )
{
    char figure[64];

    snprintf( figure, sizeof(figure), "%s.told", name );
    stats_add( figure, "", (double)told / arm->ops / mix_of( arm )->count );
    return TRUE;
}

static void (*stop_threads)( struct arm *arm );

static void stop_ride( struct arm *arm )
{
    if (arm->name[0] == kinds[0][0]) stop_threads( arm );
    else crew_arm_stop( arm );
    drop_tree();
}

static BOOL start_workers( struct arm *arm, body_proc body )
{
    struct crew *crew = crew_create_shared( mix_of( arm )->count, body );

    if (!crew) return FALSE;
    crew->proc = count_proc;
    crew->polls = TRUE;
    arm->state = crew;
    arm->batch = batch_of_workers;
    arm->check = count_told;
    return crew_start( crew );
}

/* A pass that bears the name of a grace period must be of one. */
BOOL rides_have_grace( const char *pass )
{
    const unsigned int grace = atoi( pass + strlen( RIDES ) );
    char value[16] = "2000";            /* the default */

    GetEnvironmentVariableA( "UMS_GRACE_US", value, sizeof(value) );
    if (!grace || grace == (unsigned int)atoi( value )) return TRUE;
    printf( "umsbench: %s, but UMS_GRACE_US is %s\n", pass, value );
    return FALSE;
}

BOOL rides_start( struct arm *arm )
{
    BOOL ret;

    if (!make_tree()) return FALSE;
    if (arm->name[0] == kinds[0][0])
    {
        ret = troop_start( arm, mix_of( arm )->count, ride );
        stop_threads = arm->stop;
        arm->batch = batch_of_threads;
    }
    else ret = start_workers( arm, arm->name[0] == kinds[1][0] ? ride : ride_and_yield );
    arm->stop = stop_ride;
    return ret;
}

const char *rides_arm( unsigned int index, BOOL *ums )
{
    static char names[ARRAYSIZE(mixes) * ARRAYSIZE(kinds)][24];
    unsigned int kind = index % ARRAYSIZE(kinds);

    if (index >= ARRAYSIZE(names)) return NULL;
    snprintf( names[index], sizeof(names[index]), "%s_%s", kinds[kind], mixes[index / ARRAYSIZE(kinds)].name );
    *ums = kind != 0;
    return names[index];
}

/* ---- the table ---- */

/* The passes of the samples, in the order in which they came. NULL: no more */
static const char *pass_at( unsigned int index )
{
    static char pass[48];
    const char *name;
    char last[48] = "";
    unsigned int i;

    for (i = 0; (name = stats_name( i )); i++)
    {
        if (strncmp( name, RIDES, strlen( RIDES ) )) continue;
        snprintf( pass, sizeof(pass), "%.*s", (int)strcspn( name, "." ), name );
        if (!strcmp( pass, last )) continue;
        strcpy( last, pass );
        if (!index--) return pass;
    }
    return NULL;
}

struct ride_figures
{
    char name[48], base[48];
    struct summary plain, own, pairs;
    double told;
};

static BOOL find_ride( const char *pass, const struct mix *mix, unsigned int kind, struct ride_figures *ride )
{
    struct summary summary;
    char told_name[64];

    snprintf( ride->base, sizeof(ride->base), "%s.%s_%s", pass, kinds[0], mix->name );
    snprintf( ride->name, sizeof(ride->name), "%s.%s_%s", pass, kinds[kind], mix->name );
    snprintf( told_name, sizeof(told_name), "%s.told", ride->name );
    ride->told = stats_summary( told_name, &summary ) ? summary.mean : 0;
    return stats_summary( ride->base, &ride->plain ) && stats_summary( ride->name, &ride->own ) &&
           stats_pairs( ride->name, ride->base, PAIR_RATIO, &ride->pairs );
}

void rides_print( void )
{
    struct ride_figures ride;
    unsigned int i, j, kind;
    const char *pass;

    if (!pass_at( 0 )) return;
    printf( "\n%-32s %-10s %9s | %9s %6s %14s %6s | %9s %6s %14s %6s\n", "calls that may block, ns a round",
            "grace, us", "threads", "workers", "pairs", "p25 to p75", "told", "and yield", "pairs", "p25 to p75",
            "told" );
    for (i = 0; i < ARRAYSIZE(mixes); i++)
    {
        for (j = 0; (pass = pass_at( j )); j++)
        {
            for (kind = 1; kind < ARRAYSIZE(kinds); kind++)
            {
                if (!find_ride( pass, &mixes[i], kind, &ride )) continue;
                if (kind == 1) printf( "  %-30s %-10s %9.0f", mixes[i].label, pass + strlen( RIDES ), ride.plain.median );
                printf( " | %9.0f %6.2f %5.2f to %5.2f %6.3f", ride.own.median, ride.pairs.median, ride.pairs.p25,
                        ride.pairs.p75, ride.told );
            }
            printf( "\n" );
        }
    }
    printf( "\ntold: how often in a round a SchedulerProc was told that a worker is blocked (mean); the others rode out\n" );
}

void rides_json( FILE *file )
{
    const char *separator = "", *pass;
    struct ride_figures ride;
    unsigned int i, j, kind;

    fprintf( file, "  \"rides\": [" );
    for (i = 0; i < ARRAYSIZE(mixes); i++)
        for (j = 0; (pass = pass_at( j )); j++)
            for (kind = 1; kind < ARRAYSIZE(kinds); kind++)
            {
                if (!find_ride( pass, &mixes[i], kind, &ride )) continue;
                fprintf( file, "%s\n    { \"name\": \"%s\", \"median\": %.1f, \"base\": \"%s\", \"base_median\": %.1f, "
                         "\"ratio\": %.3f, \"p25\": %.3f, \"p75\": %.3f, \"told\": %.4f }", separator, ride.name,
                         ride.own.median, ride.base, ride.plain.median, ride.pairs.median, ride.pairs.p25,
                         ride.pairs.p75, ride.told );
                separator = ",";
            }
    fprintf( file, "\n  ],\n" );
}
