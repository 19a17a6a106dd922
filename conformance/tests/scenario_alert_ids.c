/*
 * Scenarios: alerts by thread id, to ids that have come again, and to several threads at once.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An id that is free may be given to any new thread [doc: GetThreadId]: a plain thread gets that of a worker, and a worker
 * that of another one. NtAlertMultipleThreadByThreadId is not documented; Wine has it since 11. What it answers to bad input
 * is compared with what the system itself answers, before this process has made its first call of UMS.
 */
#include "scenario_kit.h"

#define PER_GENERATION 40
#define TRIES          20000        /* plain threads until an id comes again; Wine gives the oldest free one */
#define PLAIN_THREADS  3

static NTSTATUS (WINAPI *pNtAlertThreadByThreadId)( HANDLE );
static NTSTATUS (WINAPI *pNtWaitForAlertByThreadId)( const void *, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtAlertMultipleThreadByThreadId)( HANDLE *, ULONG, void *, void * );

static BOOL find_calls( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

    pNtAlertThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertThreadByThreadId" );
    pNtWaitForAlertByThreadId = (void *)GetProcAddress( ntdll, "NtWaitForAlertByThreadId" );
    pNtAlertMultipleThreadByThreadId = (void *)GetProcAddress( ntdll, "NtAlertMultipleThreadByThreadId" );
    if (pNtAlertThreadByThreadId && pNtWaitForAlertByThreadId) return TRUE;
    skip( "no alerts by thread id: Windows before 8\n" );
    return FALSE;
}

/* ---- workers and threads that wait until they are told to go on ---- */

static volatile LONG go_on, waiting;
static volatile LONG waits[KIT_WORKERS];        /* 1: is about to wait; 2: has gone on */

static DWORD end_body( struct kit_worker *worker )
{
    (void)worker;
    return 0;
}

/* An alert without a reason is allowed. */
static DWORD wait_body( struct kit_worker *worker )
{
    waits[worker->index] = 1;
    InterlockedIncrement( &waiting );
    while (!go_on) pNtWaitForAlertByThreadId( NULL, NULL );
    waits[worker->index] = 2;
    return 0;
}

static BOOL until_it_waits( struct kit_worker *worker )
{
    return worker && kit_wait_value( &waits[worker->index], 1 ) && kit_leaves( &worker->blocks, 0 );
}

static struct
{
    volatile LONG wanted, waits, go_on;
} plain;

/* ---- ids that come again ---- */

static DWORD old_ids[PER_GENERATION];

static BOOL is_old( DWORD id )
{
    int i;

    for (i = 0; i < PER_GENERATION; i++) if (old_ids[i] == id) return TRUE;
    return FALSE;
}

static DWORD WINAPI plain_thread( void *unused )
{
    if (!is_old( GetCurrentThreadId() )) return unused != NULL;
    plain.waits = 1;
    while (!plain.go_on) pNtWaitForAlertByThreadId( NULL, NULL );
    return 0;
}

/* A plain thread with the id of one of the old workers, which is about to wait. Others end at once. */
static HANDLE again( DWORD *id )
{
    HANDLE thread;
    int i;

    for (i = 0; i < TRIES; i++)
    {
        if (!(thread = CreateThread( NULL, 0x10000, plain_thread, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, id ))) return NULL;
        if (is_old( *id )) return thread;
        wait_signaled( thread );
        CloseHandle( thread );
    }
    return NULL;
}

/* Each second one is killed in its wait. */
static BOOL first_generation( struct kit_sched *sched )
{
    struct kit_worker *worker;
    int i;

    for (i = 0; i < PER_GENERATION; i++)
    {
        if (!(worker = kit_add_worker( sched->list, i & 1 ? wait_body : end_body, NULL ))) return FALSE;
        old_ids[i] = worker->id;
        if (i & 1)
        {
            if (!until_it_waits( worker ) || !TerminateThread( worker->thread, 0 )) return FALSE;
            worker->ended = 1;                  /* as far as the kit is concerned */
        }
        if (!kit_wait_value( &worker->terminated, 1 )) return FALSE;
    }
    return TRUE;
}

/* The alert that is given to the id reaches the plain thread that has it now. */
static BOOL alert_plain_threads( void )
{
    HANDLE thread;
    NTSTATUS status;
    DWORD id, ret;
    int i;

    for (i = 0; i < PLAIN_THREADS; i++)
    {
        plain.waits = plain.go_on = 0;
        if (!(thread = again( &id )))
        {
            skip( "no id of %d has come again in %d threads\n", PER_GENERATION, TRIES );
            return FALSE;
        }
        ok( kit_wait_value( &plain.waits, 1 ), "it does not wait\n" );
        plain.go_on = 1;
        status = pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)id );
        ok( !status, "the alert gave %08lx\n", status );
        ret = WaitForSingleObject( thread, KIT_LIMIT );
        ok( !ret, "the alert did not reach the plain thread that has the id of a former worker\n" );
        CloseHandle( thread );
        if (ret) return FALSE;
    }
    return TRUE;
}

/* The oldest free id comes next: soon one of these has an old one, whoever else makes threads. */
static void alert_last_generation( struct kit_sched *sched )
{
    struct kit_worker *worker = NULL;
    int i, found = 0;

    for (i = 0; i < PER_GENERATION && !found; i++)
    {
        if (!until_it_waits( worker = kit_add_worker( sched->list, wait_body, NULL ) )) break;
        found = is_old( worker->id );
    }
    if (!found) skip( "no worker has got the id of a former one\n" );
    go_on = 1;
    for (i = PER_GENERATION; i < kit.worker_count; i++)
    {
        worker = &kit.workers[i];
        ok( !pNtAlertThreadByThreadId( (HANDLE)(ULONG_PTR)worker->id ), "worker %d cannot be alerted\n", i );
        ok( kit_wait_value( &worker->terminated, 1 ), "the alert did not reach worker %d%s\n", i,
            is_old( worker->id ) ? ", which has the id of a former one" : "" );
    }
}

/* The first ones have ended; others have taken the memory of their contexts, and wait. */
START_TEST( scenario_alert_ids_again )
{
    struct kit_sched *sched;
    int i;

    if (!find_calls() || !kit_open()) return;
    kit.close_early = TRUE;
    sched = kit_add_sched( NULL );
    kit_start();
    if (!ok( first_generation( sched ), "a worker was not made, or does not end\n" )) return;
    for (i = 0; i < PER_GENERATION; i++)
        if (!ok( until_it_waits( kit_add_worker( sched->list, wait_body, NULL ) ), "a worker does not wait\n" )) return;
    if (!alert_plain_threads()) return;
    alert_last_generation( sched );
    kit_finish();
    kit_check();
}

/* ---- several at once ---- */

#define ANSWERS 9

static DWORD own_id( void )
{
    return GetCurrentThreadId();
}

/* The last one finds what the calls before have left: an alert, or none. */
static void ask( NTSTATUS *answers )
{
    HANDLE self = (HANDLE)(ULONG_PTR)own_id(), ids[3] = { self, self, self };
    LARGE_INTEGER soon = { .QuadPart = -1 };
    int i = 0;

    answers[i++] = pNtAlertMultipleThreadByThreadId( ids, 0, NULL, NULL );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &soon );
    answers[i++] = pNtAlertMultipleThreadByThreadId( ids, 3, NULL, NULL );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &soon );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, &soon );
    ids[1] = (HANDLE)(ULONG_PTR)0xfffffff0;
    answers[i++] = pNtAlertMultipleThreadByThreadId( ids, 3, NULL, NULL );
    ids[0] = NULL;
    answers[i++] = pNtAlertMultipleThreadByThreadId( ids, 1, NULL, NULL );
    ids[0] = (HANDLE)-1;
    answers[i++] = pNtAlertMultipleThreadByThreadId( ids, 2, NULL, NULL );
    /* whether one that stands before or behind a bad one was alerted is not compared: it only wakes somebody for nothing */
    pNtAlertThreadByThreadId( self );
    answers[i++] = pNtWaitForAlertByThreadId( NULL, NULL );
}

static DWORD ask_body( struct kit_worker *worker )
{
    ask( worker->arg );
    return 0;
}

static BOOL has_several( void )
{
    if (!find_calls()) return FALSE;
    if (pNtAlertMultipleThreadByThreadId) return TRUE;
    skip( "no NtAlertMultipleThreadByThreadId\n" );
    return FALSE;
}

START_TEST( scenario_alert_several_answers )
{
    static NTSTATUS by_system[ANSWERS], by_plain[ANSWERS], by_worker[ANSWERS];
    struct kit_sched *sched;
    int i;

    if (!has_several()) return;
    ask( by_system );
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, ask_body, by_worker );
    kit_start();
    ask( by_plain );
    kit_finish();
    for (i = 0; i < ANSWERS; i++)
        ok( by_worker[i] == by_system[i] && by_plain[i] == by_system[i],
            "call %d: %08lx to a worker, %08lx to a thread, %08lx before there was UMS\n", i, by_worker[i], by_plain[i],
            by_system[i] );
    kit_check();
}

#define TOGETHER 6

static DWORD WINAPI wait_thread( void *unused )
{
    plain.waits = 1;
    while (!go_on) pNtWaitForAlertByThreadId( NULL, NULL );
    return unused != NULL;
}

/* Workers of two schedulers, and a plain thread. */
START_TEST( scenario_alert_several )
{
    HANDLE ids[TOGETHER + 1], thread;
    struct kit_worker *worker;
    struct kit_sched *sched;
    NTSTATUS status;
    DWORD id = 0;
    int i;

    if (!has_several() || !kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_add_sched( NULL );
    for (i = 0; i < TOGETHER; i++) kit_add_worker( kit.scheds[i & 1].list, wait_body, NULL );
    kit_start();
    for (i = 0; i < TOGETHER; i++)
    {
        worker = &kit.workers[i];
        ok( until_it_waits( worker ), "worker %d does not wait\n", i );
        ids[i + (i >= TOGETHER / 2)] = (HANDLE)(ULONG_PTR)worker->id;
    }
    thread = CreateThread( NULL, 0, wait_thread, NULL, 0, &id );
    ids[TOGETHER / 2] = (HANDLE)(ULONG_PTR)id;
    ok( kit_wait_value( &plain.waits, 1 ), "the plain thread does not wait\n" );
    go_on = 1;
    status = pNtAlertMultipleThreadByThreadId( ids, TOGETHER + 1, NULL, NULL );
    ok( !status, "the alert gave %08lx\n", status );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the alert did not reach the plain thread\n" );
    CloseHandle( thread );
    for (i = 0; i < TOGETHER; i++)
        ok( kit_wait_value( &kit.workers[i].terminated, 1 ), "the alert did not reach worker %d\n", i );
    ok( sched->startups == 1, "no scheduler\n" );
    kit_finish();
    kit_check();
}
