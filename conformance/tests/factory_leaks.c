/*
 * Worker factories leak nothing: handles and memory are flat over many rounds.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"
#include "flat.h"

#define JUNK ((void *)0x12345678)

static HANDLE port, keep;
static volatile LONG wrong;

static void creations( int rounds )
{
    volatile LONG pending;
    HANDLE handle, copy;

    while (rounds--)
    {
        handle = factory_create( port, JUNK, NULL, 3 );
        DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0x8, FALSE, 0 );
        if (factory_query( copy ).ThreadMaximum != 3) wrong++;
        if (rounds % 2 && pNtShutdownWorkerFactory( handle, &pending )) wrong++;
        CloseHandle( handle );
        CloseHandle( copy );
    }
}

static void failures( int rounds )
{
    OBJECT_ATTRIBUTES attributes;
    volatile LONG pending;
    factory_packet packet;
    HANDLE handle;
    ULONG count;

    memset( &attributes, 0, sizeof(attributes) );
    while (rounds--)
    {
        wrong += !pNtCreateWorkerFactory( &handle, 1, NULL, NULL, GetCurrentProcess(), JUNK, NULL,
                                          1, 0, 0 );
        wrong += !pNtCreateWorkerFactory( &handle, 1, NULL, port, port, JUNK, NULL, 1, 0, 0 );
        wrong += !pNtCreateWorkerFactory( NULL, 1, NULL, port, GetCurrentProcess(), JUNK, NULL, 1,
                                          0, 0 );
        wrong += !pNtCreateWorkerFactory( &handle, 1, &attributes, port, GetCurrentProcess(), JUNK,
                                          NULL, 1, 0, 0 );
        wrong += !pNtReleaseWorkerFactoryWorker( port );
        wrong += !pNtWorkerFactoryWorkerReady( NULL );
        wrong += !factory_wait( port, &packet, 1, &count );
        wrong += !pNtShutdownWorkerFactory( keep, NULL );
        wrong += !pNtShutdownWorkerFactory( port, &pending );
        wrong += !factory_set( keep, WorkerFactoryThreadMinimum, 99 );
    }
}

/* Factories with two workers each; every other one is closed without a shutdown. */
static void lives( int rounds )
{
    static struct factory factory;
    int i;

    while (rounds--)
    {
        memset( &factory, 0, sizeof(factory) );
        if (!factory_open( &factory )) return;
        if (factory_set( factory.handle, WorkerFactoryThreadMinimum, 2 )) wrong++;
        if (pNtReleaseWorkerFactoryWorker( factory.handle )) wrong++;
        if (!factory_reach( &factory.ready, 2 )) wrong++;
        if (!factory_reach( &factory.released, 1 )) wrong++;
        if (rounds % 2)
        {
            factory_close( &factory );
            continue;
        }
        CloseHandle( factory.handle );
        if (!factory_gone( &factory, 2 )) wrong++;
        for (i = 0; i < factory.started; i++) CloseHandle( factory.workers[i].thread );
        CloseHandle( factory.port );
        CloseHandle( factory.gate );
    }
}

static volatile LONG deaths;
static HANDLE last_thread;

/* No next one is created before this one is ready: so last_thread is one thread's at a time, and
   Ready hands it on. It waits here for the end of the last one's thread: else, on a busy machine, more and more are on their way out, each with its memory. */
static void NTAPI short_life( void *param )
{
    HANDLE last = last_thread;

    (void)param;
    last_thread = OpenThread( SYNCHRONIZE, FALSE, GetCurrentThreadId() );
    if (last)
    {
        if (WaitForSingleObject( last, WAIT_BOUND )) InterlockedIncrement( &wrong );
        CloseHandle( last );
    }
    if (pNtWorkerFactoryWorkerReady( keep )) InterlockedIncrement( &wrong );
    InterlockedIncrement( &deaths );
}

/* One factory, workers that end at once. What they leave is there for the next one: so none is made
   while the memory is counted. */
static void workers( int rounds )
{
    if (factory_set( keep, WorkerFactoryPaused, 0 )) wrong++;
    while (rounds--)
    {
        LONG before = deaths;

        if (pNtReleaseWorkerFactoryWorker( keep )) wrong++;
        if (!factory_reach( &deaths, before + 1 )) wrong++;
    }
    if (factory_set( keep, WorkerFactoryPaused, 1 )) wrong++;
    if (!factory_settle( keep, 0, 0 )) wrong++;
}

/* 2.7 nothing leaked: calls that make no thread */
START_TEST( factory_leak_calls )
{
    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    keep = factory_create( port, JUNK, NULL, 3 );
    check_flat( "create, query, close", creations, 1000, SLACK );
    check_flat( "failing calls", failures, 300, SLACK );
    ok( !wrong, "%ld calls did not end as they should\n", wrong );
    CloseHandle( keep );
    CloseHandle( port );
}

/* 2.4, 2.6 nothing leaked: factories with workers */
START_TEST( factory_leak_lives )
{
    if (!factory_needs()) return;
    check_flat( "lives of factories", lives, 100, 2 * SLACK );
    ok( !wrong, "%ld lives did not end as they should\n", wrong );
}

/* 3 nothing leaked: workers that end, with releases nobody takes */
START_TEST( factory_leak_workers )
{
    volatile LONG pending;

    if (!factory_needs() || !(port = factory_port( 0 ))) return;
    keep = factory_create( port, short_life, NULL, 3 );
    check_flat( "lives of workers", workers, 100, 2 * SLACK );
    ok( !wrong, "%ld lives did not end as they should\n", wrong );
    STATUS_IS( "2.6", pNtShutdownWorkerFactory( keep, &pending ), STATUS_SUCCESS );
    CloseHandle( keep );
    CloseHandle( port );
}
