/*
 * Worker factories: a worker that waits for an alert, as those do that wait for SRW locks and addresses.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Row 2.5: a worker that blocks lets another go, one that finds its alert does not [doc: CreateIoCompletionPort]. At
 * concurrency 1.
 */
#include "factory_kit.h"

#define ROUNDS 20

static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( const void *, const LARGE_INTEGER * );

static BOOL open_two( struct factory *factory, void (*packet)( struct factory_worker *, const factory_packet * ) )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    if (!pNtAlertThreadByThreadId || !pNtWaitForAlertByThreadId)
    {
        skip( "no alerts by thread id: Windows before 8\n" );
        return FALSE;
    }
    factory->packet = packet;
    factory->concurrency = 1;
    factory->batch = 1;
    if (!factory_open( factory )) return FALSE;
    STATUS_IS( "2.2", factory_set( factory->handle, WorkerFactoryThreadMinimum, 2 ), STATUS_SUCCESS );
    STATUS_IS( "2.3", factory_set( factory->handle, WorkerFactoryBindingCount, 1 ), STATUS_SUCCESS );
    return ok( factory_settle( factory->handle, 2, 2 ), "2.2 not enough workers\n" );
}

static volatile DWORD waiter;
static volatile LONG alerted;

/* The first waits for the second: it is alerted before, during or after what comes before its wait. */
static void wait_or_alert( struct factory_worker *worker, const factory_packet *packet )
{
    LARGE_INTEGER long_time = { .QuadPart = -10000ll * WAIT_BOUND };
    NTSTATUS status = 0;

    if (packet->KeyContext == (void *)1)
    {
        waiter = worker->id;
        while (!alerted && status != STATUS_TIMEOUT)
            status = pNtWaitForAlertByThreadId( NULL, packet->IoStatusBlock.Information & 1 ? &long_time : NULL );
        if (status == STATUS_TIMEOUT) InterlockedIncrement( &worker->factory->bad );
        return;
    }
    while (!waiter) SwitchToThread();           /* one more may run for a while */
    alerted = 1;
    if (pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)waiter )) InterlockedIncrement( &worker->factory->bad );
}

START_TEST( factory_alert_blocked )
{
    static struct factory factory;
    int i;

    if (!open_two( &factory, wait_or_alert )) return;
    for (i = 0; i < ROUNDS; i++)
    {
        waiter = alerted = 0;
        ok( PostQueuedCompletionStatus( factory.port, i, 1, NULL ), "post, error %lu\n", GetLastError() );
        ok( PostQueuedCompletionStatus( factory.port, i, 2, NULL ), "post, error %lu\n", GetLastError() );
        if (!ok( factory_reach( &factory.handled, 2 * i + 2 ), "2.5 %ld packets of %d\n", factory.handled, 2 * i + 2 )) break;
    }
    factory_close( &factory );
}

/* Another one would come while this one is counted out. */
static void take_own_alerts( struct factory_worker *worker, const factory_packet *packet )
{
    HANDLE self = (HANDLE)(ULONG_PTR)worker->id;
    int i;

    (void)packet;
    factory_enter( worker->factory );
    for (i = 0; i < ROUNDS; i++)
    {
        if (!pNtAlertThreadByThreadId( self ) && pNtWaitForAlertByThreadId( NULL, NULL ) == 0x101 /* STATUS_ALERTED */) continue;
        InterlockedIncrement( &worker->factory->bad );
    }
    factory_leave( worker->factory );
}

START_TEST( factory_alert_not_blocked )
{
    static struct factory factory;
    int i;

    if (!open_two( &factory, take_own_alerts )) return;
    for (i = 0; i < ROUNDS; i++) PostQueuedCompletionStatus( factory.port, i, 0, NULL );
    ok( factory_reach( &factory.handled, ROUNDS ), "2.5 %ld packets of %d\n", factory.handled, ROUNDS );
    factory_ran_singly( &factory );
    factory_close( &factory );
}

/* A wait with a time-out of zero blocks nobody, and takes what is there. */
static void poll_alerts( struct factory_worker *worker, const factory_packet *packet )
{
    LARGE_INTEGER none = { .QuadPart = 0 };
    HANDLE self = (HANDLE)(ULONG_PTR)worker->id;
    NTSTATUS before, after;
    int i;

    (void)packet;
    factory_enter( worker->factory );
    pNtWaitForAlertByThreadId( NULL, &none );   /* what some lock may have left */
    for (i = 0; i < ROUNDS; i++)
    {
        before = pNtWaitForAlertByThreadId( NULL, &none );
        pNtAlertThreadByThreadId( self );
        after = pNtWaitForAlertByThreadId( NULL, &none );
        if (before != STATUS_TIMEOUT || after != 0x101) InterlockedIncrement( &worker->factory->bad );
    }
    factory_leave( worker->factory );
}

START_TEST( factory_alert_polled )
{
    static struct factory factory;
    int i;

    if (!open_two( &factory, poll_alerts )) return;
    for (i = 0; i < ROUNDS; i++) PostQueuedCompletionStatus( factory.port, i, 0, NULL );
    ok( factory_reach( &factory.handled, ROUNDS ), "2.5 %ld packets of %d\n", factory.handled, ROUNDS );
    factory_ran_singly( &factory );
    factory_close( &factory );
}
