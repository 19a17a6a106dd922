/*
 * The arms of events, semaphores and mutexes of this process alone: of workers, and of plain threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * With UMS_LOCAL_OBJECTS=on they are kept without the wineserver. A figure says nothing if they silently
 * are not, so the shim is asked after each batch. All arms use one set of objects, and the one of those that
 * became real another; a batch leaves them as it found them.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include "ums.h"
#include "bench.h"
#include "crew.h"
#include "troop.h"

#define MUTEX_TRIES 100                 /* the shim makes none local while no keeper stands by */

static struct objects own, known;

/* The figure "<name>.local" is 1 or 0; none without the shim. */
BOOL objects_check( const char *name, const HANDLE *handles, unsigned int count, BOOL local )
{
    char figure[64];
    unsigned int i;
    int is;

    for (i = 0; i < count; i++)
    {
        if ((is = host_is_local( handles[i] )) < 0) return TRUE;
        if (is == local) continue;
        printf( "umsbench: %s: an object is %s\n", name, local ? "not local" : "local, and should be real" );
        return FALSE;
    }
    snprintf( figure, sizeof(figure), "%s.local", name );
    stats_add( figure, "", local );
    return TRUE;
}

static BOOL check_own( struct arm *arm, const char *name )
{
    (void)arm;
    return objects_check( name, (const HANDLE *)&own, OBJECT_HANDLES, TRUE );
}

static BOOL check_known( struct arm *arm, const char *name )
{
    (void)arm;
    return objects_check( name, known.events, ARRAYSIZE(known.events), FALSE );
}

/* The shim's keeper begins in its own time; on a busy machine the first mutexes may be the host's. */
static BOOL make_mutex_local( HANDLE *mutex )
{
    unsigned int tries;

    for (tries = 1; *mutex && !host_is_local( *mutex ) && tries < MUTEX_TRIES; tries++)
    {
        Sleep( 10 );
        CloseHandle( *mutex );
        *mutex = CreateMutexW( NULL, FALSE, NULL );
        stats_note( "a mutex was made again, because the first was not local" );
    }
    return *mutex != NULL;
}

static BOOL make_objects( void )
{
    unsigned int i;

    if (own.events[0]) return TRUE;
    if (!objects_make( &own, FALSE ) || !objects_make( &known, TRUE ))
        return crew_failed( "making an object" );
    for (i = 0; i < ARRAYSIZE(own.mutexes); i++)
        if (!make_mutex_local( &own.mutexes[i] )) return crew_failed( "CreateMutex" );
    return TRUE;
}

static double batch_of_threads( struct arm *arm )
{
    bodies_use( &own );
    return troop_batch( arm );
}

static double batch_of_workers( struct arm *arm )
{
    bodies_use( &own );
    return crew_batch( arm );
}

static double batch_with_known( struct arm *arm )
{
    bodies_use( &known );
    return crew_batch( arm );
}

static BOOL start_threads( struct arm *arm, unsigned int count, body_proc body )
{
    if (!make_objects() || !troop_start( arm, count, body )) return FALSE;
    arm->batch = batch_of_threads;
    arm->check = check_own;
    return TRUE;
}

static BOOL start_workers( struct arm *arm, unsigned int count, body_proc body )
{
    if (!make_objects() || !crew_start_shared( arm, count, body )) return FALSE;
    arm->batch = batch_of_workers;
    arm->check = check_own;
    return TRUE;
}

BOOL threads_start_events( struct arm *arm )
{
    return start_threads( arm, 2, body_events );
}

BOOL threads_start_semaphores( struct arm *arm )
{
    return start_threads( arm, 2, body_semaphores );
}

BOOL threads_start_mutexes( struct arm *arm )
{
    return start_threads( arm, 2, body_mutexes );
}

BOOL threads_start_any( struct arm *arm )
{
    return start_threads( arm, 2, body_any );
}

BOOL threads_start_set( struct arm *arm )
{
    return start_threads( arm, 1, body_set );
}

BOOL workers_start_events( struct arm *arm )
{
    return start_workers( arm, 2, body_events );
}

BOOL workers_start_known( struct arm *arm )
{
    if (!start_workers( arm, 2, body_events )) return FALSE;
    arm->batch = batch_with_known;
    arm->check = check_known;
    return TRUE;
}

BOOL workers_start_semaphores( struct arm *arm )
{
    return start_workers( arm, 2, body_semaphores );
}

BOOL workers_start_mutexes( struct arm *arm )
{
    return start_workers( arm, 2, body_mutexes );
}

BOOL workers_start_any( struct arm *arm )
{
    return start_workers( arm, 2, body_any );
}

BOOL workers_start_set( struct arm *arm )
{
    return start_workers( arm, 1, body_set );
}
