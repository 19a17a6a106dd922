/*
 * The end of a scenario: wait until all is over, and judge what was counted (scenario_kit.h).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "scenario_kit.h"

static LONG kit_upcalls( void )
{
    LONG sum = 0;
    int i;

    for (i = 0; i < kit.sched_count; i++) sum += kit.scheds[i].upcalls;
    return sum;
}

/* As long as something happens it is waited for: a loaded machine takes its time, and the test has
   a limit of its own. A scheduler that left too early would lose what others hand over to it. */
static BOOL kit_drain( void )
{
    LONG before;

    do
    {
        before = kit_upcalls();
        if (!WaitForSingleObject( kit.done, KIT_LIMIT )) return TRUE;
    }
    while (kit_upcalls() != before);
    return FALSE;
}

BOOL kit_finish( void )
{
    ULONGLONG limit;
    int i;

    if (!InterlockedDecrement( &kit.live )) SetEvent( kit.done );
    kit.drained = kit_drain();
    limit = GetTickCount64() + KIT_LIMIT;
    ok( kit.drained, "%ld workers did not end, and nothing happened for %u ms\n", kit.live,
        KIT_LIMIT );
    SetEvent( kit.done );
    for (i = 0; i < kit.sched_count; i++)
    {
        struct kit_sched *sched = &kit.scheds[i];
        ULONGLONG now = GetTickCount64();
        DWORD ret;

        if (!sched->thread) continue;
        ret = WaitForSingleObject( sched->thread, now < limit ? (DWORD)(limit - now) : 0 );
        ok( !ret, "scheduler %d did not leave in %u ms\n", i, KIT_LIMIT );
        if (ret) kit.drained = FALSE;
    }
    return kit.drained;
}

static void kit_check_sched( struct kit_sched *sched )
{
    int i = sched->index;

    ok( sched->startups == 1, "B5: scheduler %d: %ld Startup upcalls\n", i, sched->startups );
    ok( sched->log[0].reason == UmsSchedulerStartup && sched->log[0].param == sched &&
        !sched->log[0].payload,
        "B5: scheduler %d: first upcall is not (Startup, 0, SchedulerParam)\n", i );
    ok( !sched->bad_payloads, "D4: scheduler %d: %ld Blocked upcalls with odd arguments\n", i,
        sched->bad_payloads );
    ok( !sched->bad_yields, "B3: scheduler %d: %ld upcalls for the wrong worker\n", i,
        sched->bad_yields );
    ok( !sched->bad_stacks, "B6: scheduler %d: %ld upcalls off the stack base\n", i,
        sched->bad_stacks );
    ok( !sched->bad_identity, "B22, B23: scheduler %d: %ld upcalls as somebody else\n", i,
        sched->bad_identity );
    ok( !sched->bad_executes, "D2: scheduler %d: %ld executes failed, last error %lu\n", i,
        sched->bad_executes,
        sched->bad_error );
    ok( !sched->no_error, "D3: scheduler %d: %ld executes failed without an error\n", i,
        sched->no_error );
    ok( !sched->refused || umstest_stops, "D2: scheduler %d: %ld times ERROR_INVALID_PARAMETER of a worker that "
        "nobody stops\n", i, sched->refused );
    if (umstest_is_shim())
        ok( !sched->retries || umstest_stops, "D2: scheduler %d: %ld times ERROR_RETRY of a worker that nobody "
            "stops\n", i, sched->retries );
    ok( !sched->failed_dequeues, "B14: scheduler %d: %ld polls failed\n", i,
        sched->failed_dequeues );
    ok( !sched->strangers, "B2: scheduler %d: %ld unknown contexts\n", i, sched->strangers );
    ok( !sched->timeouts, "B16: scheduler %d waited %u ms for nothing\n", i, KIT_LIMIT );
    ok( !sched->bad_waits, "B16: scheduler %d: its wait gave %#lx, error %lu\n", i, sched->wait_ret,
        sched->wait_error );
    if (sched->stays) return;
    ok( sched->left &&
        sched->enter_ret, "B20, D14: scheduler %d: left %ld, returned %d, error %lu\n", i,
        sched->left, sched->enter_ret, sched->enter_error );
    ok( !sched->after, "B22: scheduler %d: still has a context after it left\n", i );
}

static void kit_check_worker( struct kit_worker *worker )
{
    LONG expected = worker->queued - worker->terminated + worker->yields;
    int i = worker->index;
    DWORD ret;

    ok( worker->ended, "worker %d did not end its body\n", i );
    ok( !worker->unexecuted, "B9: worker %d ran on without being executed\n", i );
    ok( !worker->elsewhere, "B27: worker %d ran as another thread\n", i );
    ok( worker->terminated == 1, "B18: worker %d was delivered terminated %ld times\n", i,
        worker->terminated );
    ok( worker->deleted, "B18, D8: worker %d: the context could not be deleted\n", i );
    ok( worker->yields == worker->yields_made && !worker->yields_failed,
        "B28: worker %d: %ld yields made, %ld failed, %ld upcalls\n", i, worker->yields_made,
        worker->yields_failed, worker->yields );
    ok( worker->executes == expected,
        "B9: worker %d: executed %ld times, delivered %ld, yielded %ld\n", i,
        worker->executes, worker->queued, worker->yields );
    ok( worker->blocks == worker->queued - 1,
        "B9, B11, B13: worker %d: %ld Blocked upcalls, %ld deliveries\n", i,
        worker->blocks, worker->queued );
    if (!worker->thread) return;
    ret = WaitForSingleObject( worker->thread, KIT_LIMIT );
    ok( !ret, "B18: thread %d was not signalled in %u ms\n", i, KIT_LIMIT );
    CloseHandle( worker->thread );
}

void kit_check( void )
{
    LONG i;
    BOOL ret;

    ok( !kit.create_failed, "%ld workers were not created, error %lu\n", kit.create_failed,
        (DWORD)kit.create_error );
    for (i = 0; i < kit.sched_count; i++) kit_check_sched( &kit.scheds[i] );
    for (i = 0; i < kit.worker_count && i < KIT_WORKERS; i++) kit_check_worker( &kit.workers[i] );
    if (!kit.drained) return;                       /* somebody is still in there */
    for (i = 0; i < kit.sched_count; i++)
    {
        struct kit_sched *sched = &kit.scheds[i];
        LONG j;

        CloseHandle( sched->thread );
        CloseHandle( sched->events[0] );
        CloseHandle( sched->events[1] );
        for (j = 0; j < i; j++) if (kit.scheds[j].list == sched->list) break;
        if (j < i) continue;
        ret = pDeleteUmsCompletionList( sched->list );
        ok( ret, "DeleteUmsCompletionList failed, error %lu\n", GetLastError() );
    }
    CloseHandle( kit.done );
    TlsFree( kit.tls );
}

/* ---- the loader lock ---- */

static NTSTATUS (WINAPI *pLdrLockLoaderLock)( ULONG, ULONG *, ULONG_PTR * );
static NTSTATUS (WINAPI *pLdrUnlockLoaderLock)( ULONG, ULONG_PTR );
static ULONG_PTR loader_cookie;

void kit_lock_loader( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pLdrLockLoaderLock = (void *)GetProcAddress( ntdll, "LdrLockLoaderLock" );
    pLdrUnlockLoaderLock = (void *)GetProcAddress( ntdll, "LdrUnlockLoaderLock" );
    if (pLdrLockLoaderLock && pLdrUnlockLoaderLock) pLdrLockLoaderLock( 0, NULL, &loader_cookie );
}

void kit_unlock_loader( void )
{
    if (pLdrLockLoaderLock && pLdrUnlockLoaderLock) pLdrUnlockLoaderLock( 0, loader_cookie );
}
