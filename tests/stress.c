/*
 * White box: many workers, several schedulers, random yields, blocks, slow and quick calls,
 * suspensions. For the sanitizers, and for the invariants: a worker runs on one scheduler at a
 * time, every execute is followed by one upcall, every worker comes to its end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * usage: stress [SEED [LIVES [TRACE.json]]]
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "ke_fake.h"
#include "../dlls/ntdll_ums/record/record.h"
#include "private/hud.h"

#define SCHEDULERS 3
#define WORKERS    24
#define STEPS      40

static unsigned int lives = 600;

struct task
{
    struct fake_worker worker;
    unsigned int seed;
    _Atomic int inside;                         /* on how many threads it is running: at most one */
    _Atomic int steps;
};

static struct ums_list *lists[2];
static FILE *trace;
static _Atomic unsigned int started, ended, executes, upcalls, broken;
static unsigned int seed = 1;

static unsigned int next_random( unsigned int *state )
{
    return (*state = *state * 1103515245 + 12345) >> 16;
}

static void enter_task( struct task *task )
{
    if (atomic_fetch_add( &task->inside, 1 )) atomic_fetch_add( &broken, 1 );
}

static void leave_task( struct task *task )
{
    atomic_fetch_sub( &task->inside, 1 );
}

static void step( struct task *task )
{
    struct ums_context *w = ke_current();
    unsigned int what = next_random( &task->seed ) % 8;
    uint64_t cookie;

    if (w != task->worker.context) atomic_fetch_add( &broken, 1 );
    leave_task( task );
    switch (what)
    {
    case 0: case 1: case 2:
        fake_yield( task );
        break;
    case 3: case 4:
        if (ums_worker_block( w, 1 ))
        {
            if (next_random( &task->seed ) & 1) sched_yield();
            ums_worker_back( w );
        }
        else atomic_fetch_add( &broken, 1 );
        break;
    case 5:
        cookie = ums_worker_enter_kernel( w );
        usleep( next_random( &task->seed ) % 500 );
        if (cookie) ums_worker_back( w );
        break;
    case 6:
        cookie = ums_worker_enter_kernel( w );
        if (next_random( &task->seed ) & 1) fake_yield( task );
        if (cookie) ums_worker_back( w );
        break;
    default:
        if (ums_worker_enter_kernel( w )) ums_worker_back( w );
        break;
    }
    enter_task( task );
    atomic_fetch_add( &task->steps, 1 );
}

static void run_task( void *param )
{
    struct task *task = param;
    int i;

    enter_task( task );
    for (i = 0; i < STEPS; i++) step( task );
    leave_task( task );
}

static void start_task( unsigned int number )
{
    struct task *task = calloc( 1, sizeof(*task) );
    struct ums_context *context;

    task->seed = seed * 7919 + number;
    if (ums_context_create( &context )) abort();
    ums_context_set( context, 1, &task, sizeof(task) );
    if (fake_worker_create( &task->worker, context, lists[number & 1], run_task, task )) abort();
}

static void end_task( struct ums_context *w )
{
    struct task *task;
    unsigned int number;

    ums_context_query( w, 1, &task, sizeof(task), NULL );
    if (atomic_load( &task->steps ) != STEPS) atomic_fetch_add( &broken, 1 );
    if (ums_context_delete( w )) atomic_fetch_add( &broken, 1 );
    pthread_join( task->worker.thread, NULL );
    free( task );
    number = atomic_fetch_add( &started, 1 );
    if (number < lives) start_task( number );
    atomic_fetch_add( &ended, 1 );
}

/* Each scheduler has a ready queue of its own; nobody else touches it. */
struct queue
{
    struct ums_context *items[WORKERS * 2];
    unsigned int count;
    struct ums_list *list;
    unsigned int seed;
};

static _Thread_local struct queue queue;

static void collect( struct ums_list *list )
{
    struct ums_context *w = ums_list_take( list ), *next;

    for (; w; w = next)
    {
        next = ums_list_next( w );
        if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) end_task( w );
        else queue.items[queue.count++] = w;
    }
}

static void schedule( uint32_t reason, uintptr_t payload, void *param )
{
    struct queue *own = &queue;

    (void)param;
    if (reason) atomic_fetch_add( &upcalls, 1 );
    if (reason == 2) own->items[own->count++] = (struct ums_context *)payload;
    while (atomic_load( &ended ) < lives)
    {
        unsigned int i;

        collect( lists[0] );
        collect( lists[1] );
        if (!own->count)
        {
            struct ums_context *w;
            int64_t ms = 10000;

            if (ums_list_wait( own->list, &ms, &w )) continue;
            for (; w; w = (struct ums_context *)payload)
            {
                payload = (uintptr_t)ums_list_next( w );
                if (atomic_load( &w->flags ) & CONTEXT_TERMINATED) end_task( w );
                else own->items[own->count++] = w;
            }
            continue;
        }
        i = next_random( &own->seed ) % own->count;
        {
            struct ums_context *w = own->items[i];

            own->items[i] = own->items[--own->count];
            atomic_fetch_add( &executes, 1 );
            fake_execute( w );
            atomic_fetch_sub( &executes, 1 );
            own->items[own->count++] = w;       /* suspended just now */
        }
    }
}

static void *scheduler_thread( void *arg )
{
    queue.list = lists[(uintptr_t)arg & 1];
    queue.seed = seed + (unsigned int)(uintptr_t)arg;
    fake_scheduler_enter( queue.list, schedule, NULL );
    if (queue.count) atomic_fetch_add( &broken, 1 );
    return NULL;
}

/* Everything is recorded, and the rings are large enough. */
static void start_record( const char *path )
{
    if (!(trace = fopen( path, "w" ))) abort();
    ums_record_init( calloc( 1, ums_record_size( 17 ) ), 17 );
    ums_record->frequency = 1000000000;
    ums_straight = 0;
    ums_recording = 1;
}

static int write_trace( const char *text, size_t size )
{
    return fwrite( text, 1, size, trace ) == size;
}

static int end_record( void )
{
    ums_recording = 0;
    return ums_record_write( write_trace ) && !fclose( trace );
}

/* Those that umstest prints, and the HUD's, which a carried worker's quick way does not count if nobody looks. */
static int is_counted( void )
{
    struct ums_census census;
    uint64_t carried, sent_home;

    ums_take_census( &census );
    ums_count_switches( &carried, &sent_home );
    printf( "counted: %llu executes, %llu carried, %llu sent home\n", (unsigned long long)census.executed,
            (unsigned long long)carried, (unsigned long long)sent_home );
    return carried + sent_home == executes && (ums_straight || census.executed == executes);
}

int main( int argc, char **argv )
{
    pthread_t threads[SCHEDULERS];
    unsigned int i;

    if (argc > 1) seed = (unsigned int)atoi( argv[1] );
    if (argc > 2) lives = (unsigned int)atoi( argv[2] );
    printf( "seed %u, %u lives\n", seed, lives );
    fflush( stdout );
    ums_grace = 1000;
    fake_init();
    if (argc > 3) start_record( argv[3] );
    ums_list_create( &lists[0] );
    ums_list_create( &lists[1] );
    atomic_store( &started, WORKERS );
    for (i = 0; i < WORKERS; i++) start_task( i );
    for (i = 0; i < SCHEDULERS; i++) pthread_create( &threads[i], NULL, scheduler_thread,
                                                     (void *)(uintptr_t)i );
    for (i = 0; i < SCHEDULERS; i++) pthread_join( threads[i], NULL );
    ums_list_delete( lists[0] );
    ums_list_delete( lists[1] );
    printf( "%u ended, %u executes, %u upcalls, %u broken, %d events open\n", ended, executes,
            upcalls, broken,
            fake_events_open );
    if (trace && !end_record()) return 1;
    return !(is_counted() && ended == lives && executes == upcalls && !broken && !fake_errors && !fake_events_open);
}
