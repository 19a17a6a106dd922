/*
 * UMS workers and worker factories (worker_factory.md 7): to wait for work is to block.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One scheduler, two workers. The waiter waits through a factory; only the releaser, which runs on
 * the same scheduler, can let it go on.
 */
#include "factory_kit.h"
#include "scenario_kit.h"

#define TURNS 5

static HANDLE port, handle;
static volatile LONG turn;              /* odd: the waiter is about to wait */
static volatile LONG wait_blocks, release_blocks;
static volatile NTSTATUS wait_status, release_status;
static factory_packet packets[TURNS];
static BOOL by_port;

static DWORD waiter_body( struct kit_worker *worker )
{
    LONG before;
    ULONG count;
    int i;

    for (i = 0; i < TURNS && !wait_status; i++)
    {
        before = worker->blocks;
        turn = 2 * i + 1;
        wait_status = factory_wait( handle, &packets[i], 1, &count );
        if (worker->blocks > before) wait_blocks++;
        turn = 2 * i + 2;
    }
    return 0;
}

static DWORD releaser_body( struct kit_worker *worker )
{
    LONG before;
    int i;

    for (i = 0; i < TURNS; i++)
    {
        if (!kit_yield_until( worker, &turn, 2 * i + 1 )) return 1;
        /* it runs again only if the waiter has blocked */
        kit_yield( worker, NULL );
        before = worker->blocks;
        if (by_port) PostQueuedCompletionStatus( port, i, i + 1, NULL );
        else release_status = pNtReleaseWorkerFactoryWorker( handle );
        if (worker->blocks > before) release_blocks++;
    }
    return 0;
}

static void NTAPI no_worker( void *param )
{
    InterlockedIncrement( param );
}

static void run( BOOL post )
{
    static volatile LONG made;
    struct kit_sched *sched;
    volatile LONG pending;
    int i;

    by_port = post;
    if (!factory_needs() || !kit_open() || !(port = factory_port( 100 ))) return;
    if (!(handle = factory_create( port, no_worker, (void *)&made, 1 ))) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, waiter_body, NULL );
    kit_add_worker( sched->list, releaser_body, NULL );
    kit_start();
    kit_finish();
    STATUS_IS( "7", wait_status, STATUS_SUCCESS );
    ok( turn == 2 * TURNS, "7 it stopped at turn %ld\n", turn );
    ok( wait_blocks == TURNS, "7 %ld Blocked upcalls for %d waits\n", wait_blocks, TURNS );
    for (i = 0; i < TURNS; i++)
        ok( packets[i].KeyContext == (void *)(ULONG_PTR)(post ? i + 1 : 0), "7 packet %d: key %p\n",
            i, packets[i].KeyContext );
    if (!post)
    {
        STATUS_IS( "7", release_status, STATUS_SUCCESS );
        unverified ok( !release_blocks, "7 %ld of %d releases blocked\n", release_blocks, TURNS );
    }
    kit_check();
    pNtShutdownWorkerFactory( handle, &pending );
    CloseHandle( handle );
    CloseHandle( port );
}

/* 7 released by another UMS worker */
START_TEST( factory_ums_released )
{
    run( FALSE );
}

/* 7 a packet of the port */
START_TEST( factory_ums_packet )
{
    run( TRUE );
}

static volatile LONG shut_turn;

static DWORD shut_waiter( struct kit_worker *worker )
{
    ULONG count;

    (void)worker;
    shut_turn = 1;
    wait_status = factory_wait( handle, &packets[0], 1, &count );
    shut_turn = 2;
    return 0;
}

static DWORD shut_other( struct kit_worker *worker )
{
    volatile LONG pending;

    if (!kit_yield_until( worker, &shut_turn, 1 )) return 1;
    kit_yield( worker, NULL );
    release_status = pNtShutdownWorkerFactory( handle, &pending );
    return 0;
}

/* 7, 2.6 shutdown by a UMS worker while another waits */
START_TEST( factory_ums_shutdown )
{
    static volatile LONG made;
    struct kit_sched *sched;

    if (!factory_needs() || !kit_open() || !(port = factory_port( 100 ))) return;
    if (!(handle = factory_create( port, no_worker, (void *)&made, 1 ))) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, shut_waiter, NULL );
    kit_add_worker( sched->list, shut_other, NULL );
    kit_start();
    kit_finish();
    STATUS_IS( "2.6", release_status, STATUS_SUCCESS );
    ok( shut_turn == 2 && wait_status != STATUS_SUCCESS, "2.6 turn %ld, the wait gave %08lx\n",
        shut_turn, (ULONG)wait_status );
    kit_check();
    CloseHandle( handle );
    CloseHandle( port );
}
