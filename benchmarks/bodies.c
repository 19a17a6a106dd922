/*
 * What the arms and umswaits let workers and plain threads do. bodies.h says more.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include "bodies.h"

#define NEVER 10000                     /* ms: a time-out that is not reached */

static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE turn_changed = CONDITION_VARIABLE_INIT;
static volatile LONG turn;
static BOOL (WINAPI *wait_on_address)( volatile void *, void *, SIZE_T, DWORD );
static void (WINAPI *wake_by_address)( void * );

/* Not imported: a Wine that is installed in part may have no apisetschema.dll (docs/wine.md). */
BOOL bodies_start( void )
{
    HMODULE base = GetModuleHandleW( L"kernelbase.dll" );

    wait_on_address = (void *)GetProcAddress( base, "WaitOnAddress" );
    wake_by_address = (void *)GetProcAddress( base, "WakeByAddressSingle" );
    return wait_on_address && wake_by_address;
}

void body_condition( unsigned int self, unsigned int ops )
{
    for (; ops; ops--)
    {
        AcquireSRWLockExclusive( &lock );
        while (turn != (LONG)self) SleepConditionVariableSRW( &turn_changed, &lock, INFINITE, 0 );
        turn = !self;
        ReleaseSRWLockExclusive( &lock );
        WakeAllConditionVariable( &turn_changed );
    }
}

static void take_turns( unsigned int self, unsigned int ops, DWORD timeout )
{
    LONG others = !self;

    for (; ops; ops--)
    {
        while (turn != (LONG)self) wait_on_address( &turn, &others, sizeof(others), timeout );
        turn = others;
        wake_by_address( (void *)&turn );
    }
}

void body_address( unsigned int self, unsigned int ops )
{
    take_turns( self, ops, INFINITE );
}

void body_address_timed( unsigned int self, unsigned int ops )
{
    take_turns( self, ops, NEVER );
}

void body_naps( unsigned int self, unsigned int ops )
{
    (void)self;
    for (; ops; ops--) Sleep( 1 );
}

/* ---- objects ---- */

static const struct objects *use;

void bodies_use( const struct objects *objects )
{
    use = objects;
}

void body_events( unsigned int self, unsigned int ops )
{
    const struct objects *o = use;

    if (!self) SetEvent( o->events[0] );
    for (; ops; ops--)
    {
        WaitForSingleObject( o->events[self], INFINITE );
        SetEvent( o->events[!self] );
    }
    if (self) WaitForSingleObject( o->events[0], INFINITE );    /* nothing is left for the next time */
}

void body_semaphores( unsigned int self, unsigned int ops )
{
    const struct objects *o = use;

    if (!self) ReleaseSemaphore( o->semaphores[0], 1, NULL );
    for (; ops; ops--)
    {
        WaitForSingleObject( o->semaphores[self], INFINITE );
        ReleaseSemaphore( o->semaphores[!self], 1, NULL );
    }
    if (self) WaitForSingleObject( o->semaphores[0], INFINITE );
}

/* Each of the two owns one of three mutexes, waits for the next one and releases its own. So the other one
   gets that, and each waits in each round. Neither goes on before both own one: alone, it would find all of them
   free. */
void body_mutexes( unsigned int self, unsigned int ops )
{
    const struct objects *o = use;
    unsigned int own = self, next;

    WaitForSingleObject( o->mutexes[own], INFINITE );
    ReleaseSemaphore( o->semaphores[!self], 1, NULL );
    WaitForSingleObject( o->semaphores[self], INFINITE );
    for (; ops; ops--)
    {
        next = (own + 1) % 3;
        WaitForSingleObject( o->mutexes[next], INFINITE );
        ReleaseMutex( o->mutexes[own] );
        own = next;
    }
    ReleaseMutex( o->mutexes[own] );
}

void body_mutex_alone( unsigned int self, unsigned int ops )
{
    const struct objects *o = use;

    for (; ops; ops--)
    {
        WaitForSingleObject( o->mutexes[self], INFINITE );
        ReleaseMutex( o->mutexes[self] );
    }
}

/* The first seven are never set. */
void body_any( unsigned int self, unsigned int ops )
{
    const struct objects *o = use;
    HANDLE own[ARRAYSIZE(o->many) + 1];
    unsigned int i;

    for (i = 0; i < ARRAYSIZE(o->many); i++) own[i] = o->many[i];
    own[i] = o->events[self];
    if (!self) SetEvent( o->events[0] );
    for (; ops; ops--)
    {
        WaitForMultipleObjects( ARRAYSIZE(own), own, FALSE, INFINITE );
        SetEvent( o->events[!self] );
    }
    if (self) WaitForSingleObject( o->events[0], INFINITE );
}

void body_set( unsigned int self, unsigned int ops )
{
    const struct objects *o = use;

    for (; ops; ops--) SetEvent( o->set_only[self] );
}

static BOOL make_known( HANDLE handle )
{
    HANDLE copy;

    return DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
                            DUPLICATE_SAME_ACCESS ) && CloseHandle( copy );
}

BOOL objects_make( struct objects *objects, BOOL known )
{
    unsigned int i;
    BOOL ret = TRUE;

    for (i = 0; i < 2; i++)
    {
        ret &= !!(objects->events[i] = CreateEventW( NULL, FALSE, FALSE, NULL ));
        ret &= !!(objects->semaphores[i] = CreateSemaphoreW( NULL, 0, 1, NULL ));
        ret &= !!(objects->set_only[i] = CreateEventW( NULL, TRUE, FALSE, NULL ));
        if (known) ret &= make_known( objects->events[i] );
    }
    for (i = 0; i < ARRAYSIZE(objects->mutexes); i++)
    {
        ret &= !!(objects->mutexes[i] = CreateMutexW( NULL, FALSE, NULL ));
        if (known) ret &= make_known( objects->mutexes[i] );
    }
    for (i = 0; i < ARRAYSIZE(objects->many); i++)
        ret &= !!(objects->many[i] = CreateEventW( NULL, FALSE, FALSE, NULL ));
    return ret;
}
