/*
 * QueryUmsThreadInformation, SetUmsThreadInformation (ums.md 1.8, 1.9).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

static const struct
{
    UMS_THREAD_INFO_CLASS info_class;
    const char           *name;
    ULONG                 size;
} classes[] =
{
    { UmsThreadUserContext,  "UserContext",  8 },
    { UmsThreadTeb,          "Teb",          8 },
    { UmsThreadIsSuspended,  "IsSuspended",  1 },
    { UmsThreadIsTerminated, "IsTerminated", 1 },
};

/* 1.8, 10 length must be exact: FALSE, 24, return length 0; else the exact return length, which may
 * be NULL */
START_TEST( info_query_length )
{
    static const ULONG lengths[] = { 0, 1, 2, 4, 7, 8, 9, 16, 4096, 0x80000000, 0xffffffff };
    static BYTE buffer[4096];
    PUMS_CONTEXT context = NULL;
    ULONG ret_length;
    size_t i, k;
    DWORD error;
    BOOL ret;

    if (!need( QueryUmsThreadInformation )) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    for (i = 0; i < ARRAYSIZE(classes); i++)
    {
        for (k = 0; k < ARRAYSIZE(lengths); k++)
        {
            push( "1.8 %s, length %lu", classes[i].name, lengths[k] );
            memset( buffer, 0xcc, sizeof(buffer) );
            ret_length = 0xcccccccc;
            CALL( ret, error,
                  pQueryUmsThreadInformation( context, classes[i].info_class, buffer, lengths[k],
                                              &ret_length ) );
            if (lengths[k] == classes[i].size)
            {
                ok( ret, "failed, error %lu\n", error );
                ok( ret_length == classes[i].size, "return length %lu, expected %lu\n", ret_length,
                    classes[i].size );
                ok( buffer[classes[i].size] == 0xcc, "wrote too much\n" );
            }
            else
            {
                ok( !ret && error == ERROR_BAD_LENGTH, "expected failure %lu, got %d error %lu\n",
                    (DWORD)ERROR_BAD_LENGTH, ret, error );
                ok( ret_length == 0, "return length %lu, expected 0\n", ret_length );
                ok( buffer[0] == 0xcc, "a failed query wrote\n" );
            }
            pop();
        }
        ok( pQueryUmsThreadInformation( context, classes[i].info_class, buffer, classes[i].size,
                                        NULL ),
            "1.8 %s without return length: error %lu\n", classes[i].name, GetLastError() );
    }
    pDeleteUmsThreadContext( context );
}

/* 1.8, 1.9, 10 unsupported classes: ERROR_NOT_SUPPORTED, return length 0 */
START_TEST( info_query_class )
{
    static const int bad[] = { 0, 2, 3, 7, 8, 100, 0x7fffffff, -1 };
    static const ULONG lengths[] = { 0, 1, 4, 8 };
    PUMS_CONTEXT context = NULL;
    BYTE buffer[8];
    ULONG ret_length;
    size_t i, k;
    DWORD error;
    BOOL ret;

    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    for (i = 0; i < ARRAYSIZE(bad); i++)
    {
        for (k = 0; k < ARRAYSIZE(lengths); k++)
        {
            push( "1.8 class %d, length %lu", bad[i], lengths[k] );
            ret_length = 0xcccccccc;
            CALL( ret, error,
                  pQueryUmsThreadInformation( context, (UMS_THREAD_INFO_CLASS)bad[i], buffer,
                                              lengths[k], &ret_length ) );
            ok( !ret && error == ERROR_NOT_SUPPORTED, "expected failure %lu, got %d error %lu\n",
                (DWORD)ERROR_NOT_SUPPORTED, ret, error );
            ok( ret_length == 0, "return length %lu, expected 0\n", ret_length );
            pop();
        }
    }
    pDeleteUmsThreadContext( context );
}

/* 1.8 Set: UserContext with the exact length; every other class ERROR_NOT_SUPPORTED */
START_TEST( info_set )
{
    static const int bad[] = { 0, 2, 3, 4, 5, 6, 7, 8, 100, -1 };
    static const ULONG lengths[] = { 0, 1, 4, 7, 9, 16, 0xffffffff };
    PUMS_CONTEXT context = NULL;
    void *value = &value, *marker = (void *)0x1122334455667788;
    size_t i;

    if (!need( SetUmsThreadInformation )) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    ok( pSetUmsThreadInformation( context, UmsThreadUserContext, &marker, sizeof(marker) ),
        "1.8 Set: error %lu\n", GetLastError() );
    ok( context_user( context ) == marker, "1.8 UserContext is %p, expected %p\n",
        context_user( context ), marker );
    for (i = 0; i < ARRAYSIZE(lengths); i++)
    {
        push( "1.8 Set length %lu", lengths[i] );
        FAILS( pSetUmsThreadInformation( context, UmsThreadUserContext, &value, lengths[i] ),
               ERROR_BAD_LENGTH );
        pop();
    }
    for (i = 0; i < ARRAYSIZE(bad); i++)
    {
        push( "1.8 Set class %d", bad[i] );
        FAILS( pSetUmsThreadInformation( context, (UMS_THREAD_INFO_CLASS)bad[i], &value, 8 ),
               ERROR_NOT_SUPPORTED );
        FAILS( pSetUmsThreadInformation( context, (UMS_THREAD_INFO_CLASS)bad[i], &value, 1 ),
               ERROR_NOT_SUPPORTED );
        pop();
    }
    ok( context_user( context ) == marker, "1.8 a failed Set changed UserContext\n" );
    ok( context_is_terminated( context ) == 1, "1.8 a failed Set changed IsTerminated\n" );
    value = NULL;
    ok( pSetUmsThreadInformation( context, UmsThreadUserContext, &value, sizeof(value) ) &&
            !context_user( context ),
        "1.8 UserContext cannot be set to NULL\n" );
    pDeleteUmsThreadContext( context );
}

/* ---- the life of one worker ---- */

static void *info_from_scheduler, *info_teb_in_upcall;
static int info_terminated, info_suspended;

static enum sched_action look_at_worker( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                         ULONG_PTR payload, void *param )
{
    (void)sched; (void)param;
    if (reason != UmsSchedulerThreadYield) return SCHED_DEFAULT;
    info_from_scheduler = context_user( (PUMS_CONTEXT)payload );
    info_teb_in_upcall = context_teb( (PUMS_CONTEXT)payload );
    info_terminated = context_is_terminated( (PUMS_CONTEXT)payload );
    info_suspended = context_is_suspended( (PUMS_CONTEXT)payload );
    return SCHED_DEFAULT;
}

static void look_at_self( struct worker *worker )
{
    PUMS_CONTEXT self = pGetCurrentUmsThread();
    void *value = &info_terminated;

    worker->result[0] = (ULONG_PTR)context_user( self );
    worker->result[1] = (ULONG_PTR)context_teb( self );
    worker->result[2] = (ULONG_PTR)current_teb();
    worker->result[3] = context_is_terminated( self );
    worker->result[4] =
        pSetUmsThreadInformation( self, UmsThreadUserContext, &value, sizeof(value) );
    pUmsThreadYield( NULL );
    worker->result[5] = (ULONG_PTR)context_user( self );
}

/* 1.8 Set before the thread exists; the value survives creation (3); D9 set by the worker, seen by
   the scheduler; Teb; IsTerminated TRUE, FALSE, TRUE (1.3, B19); queries of a terminated worker */
START_TEST( info_life )
{
    static struct sched sched;
    struct worker worker = { 0 };
    void *marker = &worker;

    if (!sched_init( &sched )) return;
    sched.hook = look_at_worker;
    if (!ok( worker_create( &worker, sched.list, look_at_self, NULL, CREATE_SUSPENDED ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    ok( context_is_terminated( worker.context ) == 0, "1.3 creation does not clear Terminated\n" );
    ok( pSetUmsThreadInformation( worker.context, UmsThreadUserContext, &marker, sizeof(marker) ),
        "1.8 Set by a plain thread: error %lu\n", GetLastError() );
    ResumeThread( worker.thread );
    sched.expect = 1;
    sched_run( &sched );
    sched_check( &sched );
    ok( (void *)worker.result[0] == marker, "1.8 UserContext seen by the worker: %p, expected %p\n",
        (void *)worker.result[0], marker );
    ok( worker.result[1] == worker.result[2], "1.8 Teb %p, the worker's is %p\n",
        (void *)worker.result[1], (void *)worker.result[2] );
    ok( worker.result[3] == 0, "1.8 IsTerminated of a running worker: %lld\n",
        (LONGLONG)worker.result[3] );
    ok( worker.result[4], "D9 a worker cannot set its UserContext\n" );
    ok( info_from_scheduler == &info_terminated, "D9 UserContext seen by the scheduler: %p\n",
        info_from_scheduler );
    ok( (ULONG_PTR)info_teb_in_upcall == worker.result[2], "1.8 Teb seen by the scheduler: %p\n",
        info_teb_in_upcall );
    ok( info_terminated == 0 && info_suspended == 0,
        "1.8 yielded worker: terminated %d, suspended %d\n", info_terminated, info_suspended );
    ok( worker.result[5] == (ULONG_PTR)&info_terminated, "1.8 UserContext after the yield: %p\n",
        (void *)worker.result[5] );
    ok( context_is_terminated( worker.context ) == 1, "1.8 IsTerminated at the end\n" );
    ok( context_is_suspended( worker.context ) == 0, "1.8 IsSuspended at the end\n" );
    ok( context_user( worker.context ) == &info_terminated, "1.8 UserContext at the end: %p\n",
        context_user( worker.context ) );
    ok( worker_wait( &worker, WAIT_BOUND ), "thread not signalled within %d ms\n", WAIT_BOUND );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
}

static DWORD WINAPI never_run( void *arg )
{
    (void)arg;
    return 0;
}

/* 3 UserContext is kept when the thread is made; IsTerminated is cleared then [seen] */
START_TEST( info_survives_creation )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    struct attr_buffer buffer;
    void *marker = &buffer;

    ok( pCreateUmsThreadContext( &worker.context ), "no context, error %lu\n", GetLastError() );
    ok( pSetUmsThreadInformation( worker.context, UmsThreadUserContext, &marker, sizeof(marker) ),
        "1.8 Set before creation: error %lu\n", GetLastError() );
    worker.thread =
        pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, never_run, NULL, 0,
                               attr_list_make( &buffer, worker.context, list ), &worker.tid );
    if (!ok( worker.thread != NULL, "no worker, error %lu\n", GetLastError() )) return;
    pDeleteProcThreadAttributeList( (LPPROC_THREAD_ATTRIBUTE_LIST)buffer.space );
    ok( context_user( worker.context ) == marker, "3 UserContext after creation: %p\n",
        context_user( worker.context ) );
    ok( context_is_terminated( worker.context ) == 0, "1.3 IsTerminated after creation: %d\n",
        context_is_terminated( worker.context ) );
    ok( list_wait( list ) == worker.context, "not queued\n" );
    ok( context_user( worker.context ) == marker, "3 UserContext of the queued worker: %p\n",
        context_user( worker.context ) );
    ok( context_teb( worker.context ) != NULL, "1.8 no Teb\n" );
    finish_workers( list, &worker, 1, 1 );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 1.9 the Win32 codes of the documented names */
START_TEST( info_error_codes )
{
    ULONG (WINAPI *to_dos)( NTSTATUS );

    to_dos = (ULONG (WINAPI *)( NTSTATUS ))(void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ),
                                                                  "RtlNtStatusToDosError" );
    ok( to_dos( STATUS_RETRY ) == ERROR_RETRY, "1.9 STATUS_RETRY\n" );
    ok( to_dos( STATUS_TIMEOUT ) == ERROR_TIMEOUT, "1.9 STATUS_TIMEOUT\n" );
    ok( to_dos( (NTSTATUS)0xc0000017 ) == ERROR_NOT_ENOUGH_MEMORY, "1.9 STATUS_NO_MEMORY\n" );
    ok( to_dos( STATUS_INFO_LENGTH_MISMATCH ) == ERROR_BAD_LENGTH,
        "1.9 STATUS_INFO_LENGTH_MISMATCH\n" );
    ok( to_dos( STATUS_NOT_SUPPORTED ) == ERROR_NOT_SUPPORTED, "1.9 STATUS_NOT_SUPPORTED\n" );
    ok( to_dos( STATUS_INVALID_THREAD ) == ERROR_INVALID_PARAMETER, "1.9 STATUS_INVALID_THREAD\n" );
    ok( to_dos( STATUS_INTERNAL_ERROR ) == ERROR_INTERNAL_ERROR, "1.9 STATUS_INTERNAL_ERROR\n" );
}
