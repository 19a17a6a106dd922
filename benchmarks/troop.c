/*
 * A troop of plain threads. troop.h says how it works.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The gate is a semaphore. There are two, for batches in turn: a thread that is back early waits at
 * the other one, which opens when all are back. At one gate it could take the turn of a thread that
 * has not come through yet.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdlib.h>
#include "crew.h"
#include "troop.h"

struct troop
{
    body_proc     body;
    unsigned int  ops, count;
    unsigned int  batch;
    volatile LONG quit, born, running;
    HANDLE        gates[2];
    HANDLE        done;                 /* auto-reset */
    HANDLE       *threads;
    double        end;
};

static DWORD WINAPI troop_thread( void *arg )
{
    struct troop *troop = arg;
    unsigned int self = (unsigned int)InterlockedIncrement( &troop->born ) - 1, batch;

    for (batch = 0; ; batch++)
    {
        WaitForSingleObject( troop->gates[batch & 1], INFINITE );
        if (troop->quit) return 0;
        troop->body( self, troop->ops );
        if (InterlockedDecrement( &troop->running )) continue;
        troop->end = stats_now();
        SetEvent( troop->done );
    }
}

static void open_gate( struct troop *troop )
{
    ReleaseSemaphore( troop->gates[troop->batch++ & 1], (LONG)troop->count, NULL );
}

double troop_batch( struct arm *arm )
{
    struct troop *troop = arm->state;
    double start = stats_now();

    troop->ops = arm->ops;
    troop->running = (LONG)troop->count;
    open_gate( troop );
    WaitForSingleObject( troop->done, INFINITE );
    return (troop->end - start) / arm->ops;
}

static void troop_stop( struct arm *arm )
{
    struct troop *troop = arm->state;
    unsigned int i;

    troop->quit = TRUE;
    open_gate( troop );
    for (i = 0; i < troop->count; i++)
    {
        WaitForSingleObject( troop->threads[i], INFINITE );
        CloseHandle( troop->threads[i] );
    }
    CloseHandle( troop->gates[0] );
    CloseHandle( troop->gates[1] );
    CloseHandle( troop->done );
    free( troop->threads );
    free( troop );
}

unsigned int troop_count( const struct arm *arm )
{
    const struct troop *troop = arm->state;

    return troop->count;
}

BOOL troop_start( struct arm *arm, unsigned int count, body_proc body )
{
    struct troop *troop = calloc( 1, sizeof(*troop) );
    unsigned int i;

    troop->body = body;
    troop->count = count;
    troop->done = CreateEventW( NULL, FALSE, FALSE, NULL );
    troop->gates[0] = CreateSemaphoreW( NULL, 0, (LONG)count, NULL );
    troop->gates[1] = CreateSemaphoreW( NULL, 0, (LONG)count, NULL );
    troop->threads = calloc( count, sizeof(*troop->threads) );
    arm->state = troop;
    arm->batch = troop_batch;
    arm->stop = troop_stop;
    for (i = 0; i < count; i++)
    {
        troop->threads[i] = CreateThread( NULL, 0x10000, troop_thread, troop,
                                          STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
        if (!troop->threads[i]) return crew_failed( "CreateThread" );
    }
    return TRUE;
}
