/*
 * NtWaitForWorkViaWorkerFactory and NtWorkerFactoryWorkerReady (worker_factory.md 1.1, 2.4, 2.7).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which of the three forms the wait has, the version says that the process sees.
 */
#include "factory_kit.h"

/* A bare worker's routine: one test's body, on a worker. */
struct body
{
    void (*run)( struct body *body );
    HANDLE port, handle;
    volatile LONG started, ended;
    NTSTATUS status[16];
    ULONG count[16];
    factory_packet packets[16];
};

static void NTAPI body_start( void *arg )
{
    struct body *body = arg;

    if (InterlockedIncrement( &body->started ) > 1) return;
    body->run( body );
    InterlockedIncrement( &body->ended );
}

/* Make the worker; it runs while this waits. */
static BOOL body_run( struct body *body, void (*run)( struct body * ),
                      void (*prepare)( struct body * ) )
{
    if (!factory_needs() || !(body->port = factory_port( 100 ))) return FALSE;
    if (!(body->handle = factory_create( body->port, body_start, body, 1 ))) return FALSE;
    body->run = run;
    memset( body->packets, 0xcc, sizeof(body->packets) );
    memset( body->count, 0xcc, sizeof(body->count) );
    if (prepare) prepare( body );
    STATUS_IS( "2.2", factory_set( body->handle, WorkerFactoryThreadMinimum, 1 ), STATUS_SUCCESS );
    return ok( factory_reach( &body->ended, 1 ), "the worker did not end in %d ms\n", WAIT_BOUND );
}

static void body_close( struct body *body )
{
    volatile LONG pending;

    pNtShutdownWorkerFactory( body->handle, &pending );
    CloseHandle( body->handle );
    CloseHandle( body->port );
}

static void post( HANDLE port, ULONG_PTR first, int count )
{
    int i;

    for (i = 0; i < count; i++)
        ok( PostQueuedCompletionStatus( port, i, first + i, (OVERLAPPED *)(first + 100 + i) ),
            "post, error %lu\n", GetLastError() );
}

static void post_three( struct body *body )
{
    post( body->port, 1, 3 );
}

/* With arguments behind the last one that no function of this form looks at. */
static void wait_in_form( struct body *body )
{
    pNtWorkerFactoryWorkerReady( body->handle );
    switch (factory_wait_form())
    {
    case 2:
        body->status[0] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[0], 0, NULL,
                                                          (void *)WILD_LOW );
        body->status[1] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[1],
                                                          0xffffffff, (ULONG *)WILD_LOW, NULL );
        break;
    case 4:
        body->status[0] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[0], 1,
                                                          &body->count[0], (void *)WILD_LOW );
        body->status[1] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[1], 1,
                                                          &body->count[1], (void *)WILD_LOW );
        break;
    case 5:
        body->status[0] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[0], 1,
                                                          &body->count[0], NULL );
        body->status[1] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[1], 1,
                                                          &body->count[1], NULL );
    }
}

/* 1.1 the number of arguments: one packet at a time, nothing behind it is written */
START_TEST( factory_wait_arguments )
{
    static struct body body;
    int i;

    if (!body_run( &body, wait_in_form, post_three )) return;
    for (i = 0; i < 2; i++)
    {
        STATUS_IS( "1.1", body.status[i], STATUS_SUCCESS );
        ok( body.packets[i].KeyContext == (void *)(ULONG_PTR)(1 + i), "1.1 key %p\n",
            body.packets[i].KeyContext );
        if (factory_wait_form() != 2)
            ok( body.count[i] == 1, "1.1 %lu packets, expected 1\n", body.count[i] );
    }
    ok( *(DWORD *)&body.packets[2] == 0xcccccccc, "1.1 a packet more than asked for\n" );
    body_close( &body );
}

static void post_twelve( struct body *body )
{
    post( body->port, 1, 12 );
}

static void wait_for_batches( struct body *body )
{
    ULONG total = 0, i;

    pNtWorkerFactoryWorkerReady( body->handle );
    for (i = 0; i < 16 && total < 12; i++)
    {
        ULONG room = 12 - total < 5 ? 12 - total : 5;

        body->status[i] = factory_wait( body->handle, &body->packets[total], room,
                                        &body->count[i] );
        if (body->status[i] || body->count[i] > room) break;
        total += body->count[i];
    }
}

/* 1.1 batches: up to as many as asked for, in the order of the port */
START_TEST( factory_wait_batches )
{
    static struct body body;
    ULONG i, most = factory_wait_form() == 2 ? 1 : 5, total = 0;

    if (!body_run( &body, wait_for_batches, post_twelve )) return;
    for (i = 0; i < 16 && total < 12; i++)
    {
        STATUS_IS( "1.1", body.status[i], STATUS_SUCCESS );
        if (!ok( body.count[i] >= 1 && body.count[i] <= most, "1.1 %lu packets at once, at most "
                 "%lu were asked for\n", body.count[i], most )) break;
        total += body.count[i];
    }
    for (i = 0; i < 12; i++)
        ok( body.packets[i].KeyContext == (void *)(ULONG_PTR)(1 + i) &&
                body.packets[i].ApcContext == (void *)(ULONG_PTR)(101 + i) &&
                body.packets[i].IoStatusBlock.Information == i, "2.5 packet %lu: key %p\n", i,
            body.packets[i].KeyContext );
    body_close( &body );
}

static void wait_with_bad_pointers( struct body *body )
{
    factory_packet *no_access = factory_no_access(), *read_only = factory_read_only();
    ULONG count;

    pNtWorkerFactoryWorkerReady( body->handle );
    body->status[0] = factory_wait( body->handle, NULL, 1, &count );
    body->status[1] = factory_wait( body->handle, no_access, 1, &count );
    body->status[2] = factory_wait( body->handle, read_only, 1, &count );
    body->status[3] = factory_wait( body->handle, (void *)0xffff800000000000, 1, &count );
    body->status[4] = factory_wait( body->handle, WILD_LOW, 1, &count );
    if (factory_wait_form() != 2)
    {
        body->status[5] = factory_wait( body->handle, &body->packets[0], 0, &count );
        body->status[6] = factory_wait( body->handle, NULL, 0, &count );
        body->status[7] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[0], 1, NULL,
                                                          NULL );
        body->status[8] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[0], 1,
                                                          (ULONG *)read_only, NULL );
    }
    body->status[9] = factory_wait( body->handle, &body->packets[0], 1, &count );
}

/* 2.7 no packets, none asked for; bad input: pointers. The packet is still there afterwards. */
START_TEST( factory_wait_pointers )
{
    static struct body body;
    int i;

    if (!body_run( &body, wait_with_bad_pointers, post_three )) return;
    if (factory_wait_form() == 2) unverified ok( body.status[0] < 0, "2.7 NULL: %08lx\n",
                                                 (ULONG)body.status[0] );
    else UNVERIFIED_STATUS_IS( "2.7", body.status[0], STATUS_INVALID_PARAMETER );
    for (i = 1; i < 5; i++)
        UNVERIFIED_STATUS_IS( "2.7", body.status[i], STATUS_ACCESS_VIOLATION );
    if (factory_wait_form() != 2)
    {
        UNVERIFIED_STATUS_IS( "2.7", body.status[5], STATUS_INVALID_PARAMETER );
        UNVERIFIED_STATUS_IS( "2.7", body.status[6], STATUS_INVALID_PARAMETER );
        UNVERIFIED_STATUS_IS( "2.7", body.status[7], STATUS_ACCESS_VIOLATION );
        UNVERIFIED_STATUS_IS( "2.7", body.status[8], STATUS_ACCESS_VIOLATION );
    }
    STATUS_IS( "2.7", body.status[9], STATUS_SUCCESS );
    ok( body.packets[0].KeyContext == (void *)1, "2.7 a packet was lost, key %p\n",
        body.packets[0].KeyContext );
    body_close( &body );
}

static void set_short_times( struct body *body )
{
    STATUS_IS( "2.4", factory_set_time( body->handle, WorkerFactoryTimeout, -300000 ),
               STATUS_SUCCESS );
    STATUS_IS( "2.4", factory_set_time( body->handle, WorkerFactoryIdleTimeout, -300000 ),
               STATUS_SUCCESS );
}

static void wait_idle( struct body *body )
{
    ULONGLONG start;

    factory_set( body->handle, WorkerFactoryThreadMinimum, 0 );
    pNtWorkerFactoryWorkerReady( body->handle );
    start = clock_ms();
    body->status[0] = factory_wait( body->handle, &body->packets[0], 1, &body->count[0] );
    body->count[1] = clock_ms() - start;
}

/* 2.4, 2.7 nothing comes for the time set */
START_TEST( factory_wait_timeout )
{
    static struct body body;

    if (!body_run( &body, wait_idle, set_short_times )) return;
    UNVERIFIED_STATUS_IS( "2.7", body.status[0], STATUS_TIMEOUT );
    ok( body.count[1] + 1 >= 30, "2.4 back after %lu ms, before 30\n", body.count[1] );
    ok( *(DWORD *)&body.packets[0] == 0xcccccccc, "2.7 a packet on time-out\n" );
    body_close( &body );
}

static WORKER_FACTORY_DEFERRED_WORK deferred;

static void wait_deferred( struct body *body )
{
    pNtWorkerFactoryWorkerReady( body->handle );
    body->status[0] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[0], 1,
                                                      &body->count[0], &deferred );
    deferred.AlpcSendMessage = (void *)&deferred;
    body->status[1] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[1], 1,
                                                      &body->count[1], &deferred );
    body->status[2] = pNtWaitForWorkViaWorkerFactory( body->handle, &body->packets[1], 1,
                                                      &body->count[1], (void *)WILD_LOW );
    body->status[3] = factory_wait( body->handle, &body->packets[1], 1, &body->count[1] );
}

/* 1.4 deferred work: nothing to send is like none at all */
START_TEST( factory_wait_deferred )
{
    static struct body body;

    if (factory_wait_form() != 5)
    {
        skip( "the wait has %d arguments here\n", factory_wait_form() );
        return;
    }
    if (!body_run( &body, wait_deferred, post_three )) return;
    STATUS_IS( "1.4", body.status[0], STATUS_SUCCESS );
    UNVERIFIED_STATUS_IS( "1.4", body.status[1], STATUS_NOT_SUPPORTED );
    UNVERIFIED_STATUS_IS( "1.4", body.status[2], STATUS_ACCESS_VIOLATION );
    STATUS_IS( "1.4", body.status[3], STATUS_SUCCESS );
    ok( body.packets[1].KeyContext == (void *)2, "1.4 a packet was lost, key %p\n",
        body.packets[1].KeyContext );
    body_close( &body );
}

static void wait_without_rights( struct body *body )
{
    HANDLE no_wait, no_ready, only_wait, only_ready;
    ULONG count;

    DuplicateHandle( GetCurrentProcess(), body->handle, GetCurrentProcess(), &no_wait,
                     WORKER_FACTORY_ALL_ACCESS & ~0x02, FALSE, 0 );
    DuplicateHandle( GetCurrentProcess(), body->handle, GetCurrentProcess(), &no_ready,
                     WORKER_FACTORY_ALL_ACCESS & ~0x10, FALSE, 0 );
    DuplicateHandle( GetCurrentProcess(), body->handle, GetCurrentProcess(), &only_wait, 0x02,
                     FALSE, 0 );
    DuplicateHandle( GetCurrentProcess(), body->handle, GetCurrentProcess(), &only_ready, 0x10,
                     FALSE, 0 );
    body->status[0] = pNtWorkerFactoryWorkerReady( no_ready );
    body->count[0] = factory_query( body->handle ).PendingWorkerCount;
    body->status[1] = pNtWorkerFactoryWorkerReady( only_ready );
    body->count[1] = factory_query( body->handle ).PendingWorkerCount;
    body->status[2] = factory_wait( no_wait, &body->packets[0], 1, &count );
    body->status[3] = factory_wait( only_wait, &body->packets[0], 1, &count );
    CloseHandle( no_wait );
    CloseHandle( no_ready );
    CloseHandle( only_wait );
    CloseHandle( only_ready );
}

/* 1.2 the rights of Ready and of the wait */
START_TEST( factory_wait_rights )
{
    static struct body body;

    if (!body_run( &body, wait_without_rights, post_three )) return;
    STATUS_IS( "1.2", body.status[0], STATUS_ACCESS_DENIED );
    ok( body.count[0] == 1, "2.3 pending %lu, expected 1\n", body.count[0] );
    STATUS_IS( "1.2", body.status[1], STATUS_SUCCESS );
    ok( body.count[1] == 0, "2.3 pending %lu, expected 0\n", body.count[1] );
    STATUS_IS( "1.2", body.status[2], STATUS_ACCESS_DENIED );
    STATUS_IS( "1.2", body.status[3], STATUS_SUCCESS );
    ok( body.packets[0].KeyContext == (void *)1, "1.2 a packet was lost, key %p\n",
        body.packets[0].KeyContext );
    body_close( &body );
}
