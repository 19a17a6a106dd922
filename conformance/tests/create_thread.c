/*
 * Creating a worker: CreateRemoteThreadEx with PROC_THREAD_ATTRIBUTE_UMS_THREAD (ums.md 3).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "umslib.h"

/* 3 a new worker does not run; it is queued to the given list some time after the call and runs
 * when executed */
START_TEST( create_worker )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    DWORD code = 0;

    if (!need( CreateRemoteThreadEx ) || !need( UpdateProcThreadAttribute )) return;
    worker.exit_code = 4711;
    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( worker.thread && worker.tid, "3 no handle or no thread id\n" );
    ok( worker.tid == GetThreadId( worker.thread ), "3 thread id %lx, the handle's is %lx\n",
        worker.tid, GetThreadId( worker.thread ) );
    ok( list_wait( list ) == worker.context, "3 not on its list within %d ms\n", WAIT_BOUND );
    ok( !worker_wait( &worker, 50 ) && !worker.started,
        "3 it runs without having been executed\n" );
    ok( GetExitCodeThread( worker.thread, &code ) && code == STILL_ACTIVE,
        "3 exit code %lu before the end\n", code );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.started && worker.finished, "3 it did not run\n" );
    ok( worker_wait( &worker, WAIT_BOUND ), "3 handle not signalled within %d ms\n", WAIT_BOUND );
    ok( GetExitCodeThread( worker.thread, &code ) && code == 4711,
        "3 exit code %lu, expected 4711\n", code );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

static void exit_thread( struct worker *worker )
{
    worker->finished = 1;
    ExitThread( 99 );
}

/* 3 a worker that leaves by ExitThread */
START_TEST( create_exit_thread )
{
    static struct sched sched;
    struct worker worker = { 0 };
    HANDLE thread = NULL;
    DWORD code = 0;

    if (!sched_init( &sched )) return;
    if (!ok( worker_create( &worker, sched.list, exit_thread, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    DuplicateHandle( GetCurrentProcess(), worker.thread, GetCurrentProcess(), &thread, 0, FALSE,
                     DUPLICATE_SAME_ACCESS );
    run_workers( &sched, &worker, 1 );
    ok( GetExitCodeThread( thread, &code ) && code == 99, "3 exit code %lu, expected 99\n", code );
    CloseHandle( thread );
    sched_free( &sched );
}

/* ---- who creates ---- */

struct creation
{
    PUMS_COMPLETION_LIST list;
    struct worker        worker;
    struct outcome       outcome;
};

static void create_inside( void *arg )
{
    struct creation *creation = arg;

    OUTCOME( creation->outcome, worker_create( &creation->worker, creation->list, NULL, NULL, 0 ) );
}

/* 3 schedulers create in the Startup upcall before any Execute (D18); workers create too */
START_TEST( create_anywhere )
{
    static const char *const names[] = { "Startup upcall", "worker" };
    struct creation creation;
    int i;

    for (i = 0; i < 2; i++)
    {
        push( "3 created in a %s", names[i] );
        memset( &creation, 0, sizeof(creation) );
        creation.list = list_create();
        if (i) on_worker( create_inside, &creation );
        else on_scheduler( create_inside, &creation );
        if (ok( creation.outcome.ret, "no worker, error %lu\n", creation.outcome.error ))
        {
            finish_workers( creation.list, NULL, 0, 1 );
            ok( creation.worker.finished, "did not run\n" );
            ok( worker_delete( &creation.worker ), "context not deleted, error %lu\n",
                GetLastError() );
        }
        pDeleteUmsCompletionList( creation.list );
        pop();
    }
}

/* ---- flags and arguments ---- */

/* 3 CREATE_SUSPENDED: queued only after ResumeThread [guess] */
START_TEST( create_suspended )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    PUMS_CONTEXT first = NULL;
    HANDLE event = NULL;

    pGetUmsCompletionListEvent( list, &event );
    if (!ok( worker_create( &worker, list, NULL, NULL, CREATE_SUSPENDED ),
             "no worker, error %lu\n", GetLastError() ))
        return;
    unverified ok( WaitForSingleObject( event, 150 ) == WAIT_TIMEOUT,
                   "3 queued while suspended\n" );
    ok( pDequeueUmsCompletionListItems( list, 0, &first ), "Dequeue failed, error %lu\n",
        GetLastError() );
    unverified ok( first == NULL, "3 on the list while suspended: %p\n", first );
    ok( !worker.started, "3 it runs\n" );
    ok( ResumeThread( worker.thread ) == 1, "3 previous suspend count is not 1\n" );
    if (!first)
        ok( list_wait( list ) == worker.context, "3 not queued within %d ms after ResumeThread\n",
            WAIT_BOUND );
    ok( context_is_suspended( worker.context ) == 0, "3 IsSuspended after ResumeThread: %d\n",
        context_is_suspended( worker.context ) );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.finished, "3 it did not run\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    CloseHandle( event );
    pDeleteUmsCompletionList( list );
}

struct stack_case
{
    SIZE_T     size;
    DWORD      flags;
    ULONG_PTR  reserved;        /* found out by the thread */
    PUMS_CONTEXT current;
};

static DWORD WINAPI measure_stack( void *arg )
{
    struct stack_case *stack = arg;
    const NT_TIB *tib = current_teb();
    MEMORY_BASIC_INFORMATION info;

    VirtualQuery( &info, &info, sizeof(info) );
    stack->reserved = (ULONG_PTR)tib->StackBase - (ULONG_PTR)info.AllocationBase;
    stack->current = pGetCurrentUmsThread();
    return 0;
}

/* 3, D15 stack size and STACK_SIZE_PARAM_IS_A_RESERVATION as for a plain thread; thread id NULL */
START_TEST( create_stack )
{
    static const struct { SIZE_T size; DWORD flags; } cases[] =
    {
        { 0, 0 },
        { 0x1000, 0 },
        { 0x40000, STACK_SIZE_PARAM_IS_A_RESERVATION },
        { 0x400000, STACK_SIZE_PARAM_IS_A_RESERVATION },
    };
    PUMS_COMPLETION_LIST list = list_create();
    struct stack_case plain, ums;
    struct attr_buffer buffer;
    struct worker worker;
    HANDLE thread;
    size_t i;

    for (i = 0; i < ARRAYSIZE(cases); i++)
    {
        push( "3 stack %#llx flags %#lx", (ULONGLONG)cases[i].size, cases[i].flags );
        memset( &plain, 0, sizeof(plain) );
        memset( &ums, 0, sizeof(ums) );
        thread = CreateThread( NULL, cases[i].size, measure_stack, &plain, cases[i].flags, NULL );
        wait_signaled( thread );
        CloseHandle( thread );

        memset( &worker, 0, sizeof(worker) );
        ok( pCreateUmsThreadContext( &worker.context ), "no context, error %lu\n", GetLastError() );
        worker.thread = pCreateRemoteThreadEx(
            GetCurrentProcess(), NULL, cases[i].size, measure_stack, &ums, cases[i].flags,
            attr_list_make( &buffer, worker.context, list ), NULL );
        if (!ok( worker.thread != NULL, "no worker, error %lu\n", GetLastError() )) return;
        pDeleteProcThreadAttributeList( (LPPROC_THREAD_ATTRIBUTE_LIST)buffer.space );
        finish_workers( list, NULL, 0, 1 );
        ok( ums.current == worker.context, "GetCurrentUmsThread %p, expected %p\n", ums.current,
            worker.context );
        ok( ums.reserved == plain.reserved, "reserved %#llx, a plain thread %#llx\n",
            (ULONGLONG)ums.reserved, (ULONGLONG)plain.reserved );
        ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
        pop();
    }
    pDeleteUmsCompletionList( list );
}

/* The start address of a thread is that of its creator's function [doc: NtQueryInformationThread]; so profilers and debuggers
   name threads. Of a worker: [guess]. */
START_TEST( create_start_address )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    struct stack_case ums = { 0 };
    struct attr_buffer buffer;
    void *address = NULL;
    NTSTATUS status;

    ok( pCreateUmsThreadContext( &worker.context ), "no context, error %lu\n", GetLastError() );
    worker.thread =
        pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, measure_stack, &ums, 0,
                               attr_list_make( &buffer, worker.context, list ), NULL );
    if (!ok( worker.thread != NULL, "no worker, error %lu\n", GetLastError() )) return;
    pDeleteProcThreadAttributeList( (LPPROC_THREAD_ATTRIBUTE_LIST)buffer.space );
    finish_workers( list, NULL, 0, 1 );
    status = pNtQueryInformationThread( worker.thread, THREAD_START_ADDRESS, &address, sizeof(address), NULL );
    ok( !status, "status %#lx\n", status );
    unverified ok( address == (void *)measure_stack, "3 start address %p, expected %p\n", address, measure_stack );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 thread attributes are honoured: an inheritable handle */
START_TEST( create_security )
{
    SECURITY_ATTRIBUTES sa = { sizeof(sa), NULL, TRUE };
    PUMS_COMPLETION_LIST list = list_create();
    struct stack_case ums = { 0 };
    struct worker worker = { 0 };
    struct attr_buffer buffer;
    DWORD flags = 0;

    ok( pCreateUmsThreadContext( &worker.context ), "no context, error %lu\n", GetLastError() );
    worker.thread =
        pCreateRemoteThreadEx( GetCurrentProcess(), &sa, 0, measure_stack, &ums, 0,
                               attr_list_make( &buffer, worker.context, list ), &worker.tid );
    if (!ok( worker.thread != NULL, "no worker, error %lu\n", GetLastError() )) return;
    pDeleteProcThreadAttributeList( (LPPROC_THREAD_ATTRIBUTE_LIST)buffer.space );
    ok( GetHandleInformation( worker.thread, &flags ) && (flags & HANDLE_FLAG_INHERIT),
        "3 handle not inheritable\n" );
    finish_workers( list, NULL, 0, 1 );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 the handle has full access: priority, affinity, exit code, context; at any time, not blocking
 * the caller (B24) */
START_TEST( create_handle_access )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    GROUP_AFFINITY affinity, before;
    DWORD_PTR process_mask = 0, system_mask = 0;

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( list ) == worker.context, "not queued\n" );
    ok( SetThreadPriority( worker.thread, THREAD_PRIORITY_ABOVE_NORMAL ),
        "3 SetThreadPriority: error %lu\n", GetLastError() );
    ok( GetThreadPriority( worker.thread ) == THREAD_PRIORITY_ABOVE_NORMAL, "3 priority is %d\n",
        GetThreadPriority( worker.thread ) );
    GetProcessAffinityMask( GetCurrentProcess(), &process_mask, &system_mask );
    memset( &affinity, 0, sizeof(affinity) );
    affinity.Mask = process_mask & (0 - process_mask);
    ok( SetThreadGroupAffinity( worker.thread, &affinity, &before ),
        "3 SetThreadGroupAffinity: error %lu\n", GetLastError() );
    finish_workers( list, &worker, 1, 1 );
    ok( worker.finished, "3 it did not run\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- the attribute's structure ---- */

static DWORD WINAPI return_zero( void *arg )
{
    (void)arg;
    return 0;
}

static HANDLE create_with( const UMS_CREATE_THREAD_ATTRIBUTES *ums, HANDLE process, DWORD *error )
{
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    HANDLE thread = NULL;

    *error = POISON;
    SetLastError( POISON );
    if (pInitializeProcThreadAttributeList( attrs, 1, 0, &size ))
    {
        if (pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, (void *)ums,
                                        sizeof(*ums), NULL, NULL ))
            thread = pCreateRemoteThreadEx( process, NULL, 0, return_zero, NULL, 0, attrs, NULL );
        *error = GetLastError();
        pDeleteProcThreadAttributeList( attrs );
    }
    return thread;
}

/* 3 failure is NULL and an error, and the context can be deleted then; the exact errors are
 * [guess] */
START_TEST( create_bad_structure )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_CREATE_THREAD_ATTRIBUTES good = { UMS_VERSION, NULL, list }, ums;
    static const DWORD versions[] = { 0, 1, 0x101, 0xffffffff };
    PUMS_CONTEXT first = NULL;
    HANDLE thread;
    DWORD error;
    size_t i;

    ok( pCreateUmsThreadContext( &good.UmsContext ), "no context, error %lu\n", GetLastError() );
    for (i = 0; i < ARRAYSIZE(versions) + 2; i++)
    {
        ums = good;
        if (i < ARRAYSIZE(versions)) ums.UmsVersion = versions[i];
        else if (i == ARRAYSIZE(versions)) ums.UmsContext = NULL;
        else ums.UmsCompletionList = NULL;
        push( "3 version %#lx%s%s", ums.UmsVersion, ums.UmsContext ? "" : ", no context",
              ums.UmsCompletionList ? "" : ", no list" );
        thread = create_with( &ums, GetCurrentProcess(), &error );
        unverified ok( !thread && error == ERROR_INVALID_PARAMETER,
                       "expected failure %lu, got %p error %lu\n", (DWORD)ERROR_INVALID_PARAMETER,
                       thread, error );
        pop();
    }
    ok( context_is_terminated( good.UmsContext ) == 1,
        "3 a failed creation touched the context\n" );
    ok( pDequeueUmsCompletionListItems( list, 0, &first ) && !first,
        "3 a failed creation queued something\n" );
    ok( pDeleteUmsThreadContext( good.UmsContext ),
        "3 context not deleted after failure, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 a context that has a living worker already [guess] */
START_TEST( create_context_in_use )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    struct worker worker = { 0 };
    HANDLE thread;
    DWORD error;

    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ums.UmsContext = worker.context;
    if (umstest_is_shim())
    {
        thread = create_with( &ums, GetCurrentProcess(), &error );
        unverified ok( !thread && error == ERROR_INVALID_PARAMETER,
                       "3 a context in use: %p, error %lu\n", thread, error );
    }
    finish_workers( list, NULL, 0, 1 );
    ok( worker.finished, "3 the first worker was lost\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 hProcess: a real handle to ourselves; another process is meaningless [guess] */
START_TEST( create_process_handle )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    PROCESS_INFORMATION pi;
    STARTUPINFOA si;
    char command[MAX_PATH + 16], exe[MAX_PATH];
    HANDLE process, thread;
    DWORD error;

    ok( pCreateUmsThreadContext( &ums.UmsContext ), "no context, error %lu\n", GetLastError() );
    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    snprintf( command, sizeof(command), "\"%s\" --list", exe );
    memset( &si, 0, sizeof(si) );
    si.cb = sizeof(si);
    if (umstest_create_process( exe, command, FALSE, CREATE_SUSPENDED, &si, &pi ))
    {
        thread = create_with( &ums, pi.hProcess, &error );
        unverified ok( !thread && error && error != POISON,
                       "3 a worker in another process: %p, error %lu\n", thread, error );
        observe( "create.other_process.error", "%lu", error );
        TerminateProcess( pi.hProcess, 0 );
        wait_signaled( pi.hProcess );
        CloseHandle( pi.hThread );
        CloseHandle( pi.hProcess );
    }
    ok( context_is_terminated( ums.UmsContext ) == 1, "3 a failed creation touched the context\n" );
    process = OpenProcess( PROCESS_ALL_ACCESS, FALSE, GetCurrentProcessId() );
    thread = create_with( &ums, process, &error );
    unverified ok( thread != NULL, "3 real handle of this process: error %lu\n", error );
    if (thread)
    {
        finish_workers( list, NULL, 0, 1 );
        ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0, "still there after %d ms\n",
            WAIT_BOUND );
        CloseHandle( thread );
    }
    CloseHandle( process );
    ok( pDeleteUmsThreadContext( ums.UmsContext ), "context not deleted, error %lu\n",
        GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 the structure is read when the thread is created, and not looked at afterwards */
START_TEST( create_reads_late )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_CREATE_THREAD_ATTRIBUTES ums;
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    struct worker worker = { 0 };

    memset( &ums, 0, sizeof(ums) );
    ok( pInitializeProcThreadAttributeList( attrs, 1, 0, &size ), "3 no list, error %lu\n",
        GetLastError() );
    ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums),
                                    NULL, NULL ),
        "3 update with an unfilled structure: error %lu\n", GetLastError() );
    ok( pCreateUmsThreadContext( &worker.context ), "no context, error %lu\n", GetLastError() );
    ums.UmsVersion = UMS_VERSION;
    ums.UmsContext = worker.context;
    ums.UmsCompletionList = list;
    worker.thread =
        pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, return_zero, NULL, 0, attrs, NULL );
    ok( worker.thread != NULL, "3 no worker, error %lu\n", GetLastError() );
    memset( &ums, 0xcc, sizeof(ums) );
    pDeleteProcThreadAttributeList( attrs );
    memset( space, 0xcc, sizeof(space) );
    if (!worker.thread) return;
    finish_workers( list, NULL, 0, 1 );
    ok( worker_wait( &worker, WAIT_BOUND ), "still there after %d ms\n", WAIT_BOUND );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* ---- which list ---- */

static HANDLE home_event;
static volatile LONG home_items;

static void count_home( struct sched *sched, PUMS_CONTEXT context )
{
    (void)sched; (void)context;
    InterlockedIncrement( &home_items );
}

static enum sched_action release_blocked( struct sched *sched, UMS_SCHEDULER_REASON reason,
                                          ULONG_PTR payload, void *param )
{
    struct worker *worker = sched->user;

    (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && worker->result[0] && !worker->finished)
        SetEvent( home_event );
    return SCHED_DEFAULT;
}

static void block_on_home( struct worker *worker )
{
    worker->result[0] = 1;
    wait_signaled( home_event );
}

/* 3, 6.2, 10 a worker that has run comes back to the list of the scheduler that ran it last, not to
 * its creation list */
START_TEST( create_last_list )
{
    PUMS_COMPLETION_LIST birth = list_create();
    static struct sched sched;
    struct worker worker = { 0 };
    PUMS_CONTEXT first = NULL;

    home_event = CreateEventA( NULL, FALSE, FALSE, NULL );
    if (!sched_init( &sched )) return;
    sched.hook = release_blocked;
    sched.on_item = count_home;
    sched.user = &worker;
    sched.expect = 1;
    if (!ok( worker_create( &worker, birth, block_on_home, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    ok( list_wait( birth ) == worker.context,
        "3 a worker that never ran is not on its creation list\n" );
    sched_give( &sched, worker.context );
    sched_run( &sched );
    sched_check( &sched );
    ok( worker.finished, "the worker did not finish\n" );
    ok( home_items >= 2, "6.2 it came to the scheduler's list %ld times, expected 2 or more\n",
        home_items );
    ok( pDequeueUmsCompletionListItems( birth, 0, &first ) && !first,
        "6.2 it came back to its creation list\n" );
    ok( worker_delete( &worker ), "context not deleted, error %lu\n", GetLastError() );
    sched_free( &sched );
    pDeleteUmsCompletionList( birth );
    CloseHandle( home_event );
}
