/*
 * GetUmsSystemThreadInformation (ums.md 1.8, 10): the structure receives the information.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

struct answer
{
    struct outcome                outcome;
    UMS_SYSTEM_THREAD_INFORMATION info;
};

static void ask( struct answer *answer, HANDLE thread, ULONG flags )
{
    answer->info.UmsVersion = UMS_VERSION;
    answer->info.ThreadUmsFlags = flags;
    OUTCOME( answer->outcome, pGetUmsSystemThreadInformation( thread, &answer->info ) );
}

static void check( const struct answer *answer, ULONG flags, const char *what )
{
    ok( answer->outcome.ret, "1.8 %s: failed, error %lu\n", what, answer->outcome.error );
    ok( answer->info.ThreadUmsFlags == flags, "1.8 %s: flags %#lx, expected %#lx\n", what,
        answer->info.ThreadUmsFlags, flags );
    ok( answer->info.UmsVersion == UMS_VERSION, "1.8 %s: version %#lx\n", what,
        answer->info.UmsVersion );
}

static DWORD WINAPI wait_for_event( void *event )
{
    return WaitForSingleObject( event, WAIT_BOUND );
}

/* 1.8 an ordinary thread: TRUE and no flag; what was in the flags before does not matter [doc,
 * corrected page] */
START_TEST( sysinfo_plain )
{
    struct answer answer;
    HANDLE thread, event = CreateEventA( NULL, TRUE, FALSE, NULL );

    if (!need( GetUmsSystemThreadInformation )) return;
    ask( &answer, GetCurrentThread(), 0 );
    check( &answer, 0, "own plain thread" );
    thread = CreateThread( NULL, 0, wait_for_event, event, 0, NULL );
    ask( &answer, thread, 0 );
    check( &answer, 0, "another plain thread" );
    ask( &answer, thread, 3 );
    unverified ok( answer.outcome.ret && !answer.info.ThreadUmsFlags,
                   "1.8 flags set at entry: %llu, error %lu, flags %#lx\n",
                   (ULONGLONG)answer.outcome.ret, answer.outcome.error,
                   answer.info.ThreadUmsFlags );
    SetEvent( event );
    wait_signaled( thread );
    CloseHandle( thread );
    CloseHandle( event );
}

static struct answer inside_pseudo, inside_real, from_upcall;

static void ask_inside( void *arg )
{
    HANDLE thread = OpenThread( THREAD_QUERY_INFORMATION, FALSE, GetCurrentThreadId() );

    (void)arg;
    ask( &inside_pseudo, GetCurrentThread(), 0 );
    ask( &inside_real, thread, 0 );
    CloseHandle( thread );
}

/* 1.8 scheduler and worker: one flag each; by pseudo handle and with no more right than
 * QUERY_INFORMATION */
START_TEST( sysinfo_ums_threads )
{
    struct answer answer;

    if (!need( GetUmsSystemThreadInformation )) return;
    on_scheduler( ask_inside, NULL );
    check( &inside_pseudo, 1, "scheduler, pseudo handle" );
    check( &inside_real, 1, "scheduler, real handle" );
    on_worker( ask_inside, NULL );
    check( &inside_pseudo, 2, "worker, pseudo handle" );
    check( &inside_real, 2, "worker, real handle" );
    ask( &answer, GetCurrentThread(), 0 );
    check( &answer, 0, "a thread that left the mode" );
}

static HANDLE outside_event;
static struct worker outside_worker;

static enum sched_action ask_in_upcall( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                        ULONG_PTR payload, void *param )
{
    (void)sched; (void)payload; (void)param;
    if (reason != UmsSchedulerThreadYield) return SCHED_DEFAULT;
    ask( &from_upcall, outside_worker.thread, 0 );
    SetEvent( outside_event );
    return SCHED_HOLD;
}

static void yield_once( struct worker *worker )
{
    worker->result[0] = pUmsThreadYield( NULL );
}

/* 1.8 from outside: a queued, a yielded, an ended worker, a running scheduler */
START_TEST( sysinfo_from_outside )
{
    static struct sched sched;
    struct answer answer;

    if (!need( GetUmsSystemThreadInformation )) return;
    outside_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    if (!ok( worker_create( &outside_worker, sched.list, yield_once, NULL, 0 ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    ask( &answer, outside_worker.thread, 0 );
    check( &answer, 2, "queued worker" );
    sched.hook = ask_in_upcall;
    sched.expect = 1;
    if (!sched_start( &sched )) return;
    ok( WaitForSingleObject( outside_event, WAIT_BOUND ) == WAIT_OBJECT_0,
        "no yield within %d ms\n", WAIT_BOUND );
    check( &from_upcall, 2, "yielded worker, asked by its scheduler" );
    ask( &answer, outside_worker.thread, 0 );
    check( &answer, 2, "yielded worker" );
    ask( &answer, sched.thread, 0 );
    check( &answer, 1, "scheduler" );
    sched_give( &sched, outside_worker.context );
    ok( WaitForSingleObject( sched.thread, WAIT_BOUND ) == WAIT_OBJECT_0, "no end within %d ms\n",
        WAIT_BOUND );
    ok( worker_wait( &outside_worker, WAIT_BOUND ), "worker still there after %d ms\n",
        WAIT_BOUND );
    ask( &answer, outside_worker.thread, 0 );
    observe( "sysinfo.ended_worker", "%d error %lu flags %lu", (int)answer.outcome.ret,
             answer.outcome.ret ? 0 : answer.outcome.error, answer.info.ThreadUmsFlags );
    sched_join( &sched );
    sched_check( &sched );
    ok( worker_delete( &outside_worker ), "context not deleted, error %lu\n", GetLastError() );
    CloseHandle( outside_event );
    sched_free( &sched );
}

/* 1.8, 10 bad handles, missing right [doc]; wrong version, no structure [guess] */
START_TEST( sysinfo_bad_input )
{
    UMS_SYSTEM_THREAD_INFORMATION info = { UMS_VERSION, { { 0, 0 } } };
    static const ULONG versions[] = { 0, 1, 0x101, 0xffffffff };
    HANDLE event = CreateEventA( NULL, TRUE, FALSE, NULL ), weak;
    size_t i;

    if (!need( GetUmsSystemThreadInformation )) return;
    FAILS( pGetUmsSystemThreadInformation( NULL, &info ), ERROR_INVALID_HANDLE );
    FAILS( pGetUmsSystemThreadInformation( (HANDLE)0xdeadbec, &info ), ERROR_INVALID_HANDLE );
    FAILS( pGetUmsSystemThreadInformation( event, &info ), ERROR_INVALID_HANDLE );
    weak = OpenThread( SYNCHRONIZE, FALSE, GetCurrentThreadId() );
    FAILS( pGetUmsSystemThreadInformation( weak, &info ), ERROR_ACCESS_DENIED );
    CloseHandle( weak );
    CloseHandle( event );
    for (i = 0; i < ARRAYSIZE(versions); i++)
    {
        push( "1.8 version %#lx", versions[i] );
        info.UmsVersion = versions[i];
        UNVERIFIED_FAILS( pGetUmsSystemThreadInformation( GetCurrentThread(), &info ),
                          ERROR_INVALID_PARAMETER );
        pop();
    }
    if (umstest_is_shim())
        UNVERIFIED_FAILS( pGetUmsSystemThreadInformation( GetCurrentThread(), NULL ),
                          ERROR_INVALID_PARAMETER );
}
