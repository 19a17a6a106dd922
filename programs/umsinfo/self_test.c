/*
 * One second of User-Mode Scheduling: four workers yield for half a second. Then each waits for an event,
 * which is set only after the scheduler was told of all four waits. Then they end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Workers and the scheduler print nothing, because printing may block. If the scheduler is not told of a
 * wait, the event is never set, and the test times out.
 */

#include <stdio.h>
#include "umsinfo.h"

#define WORKERS    4
#define YIELD_MS   500
#define PATIENCE   15000                        /* ms for the whole test, enough for a busy machine */

static const struct api *api;
static PUMS_COMPLETION_LIST list;
static volatile LONG enough;                    /* of yielding */
static volatile LONG wrong_thread;
static LONGLONG deadline, yields;

static struct worker
{
    PUMS_CONTEXT  context;
    HANDLE        event;
    volatile LONG waits, reported, ended;
} workers[WORKERS];

static PUMS_CONTEXT ready[WORKERS];
static int ready_count, alive = WORKERS;
static struct worker *running;

static LONGLONG now( void )
{
    LARGE_INTEGER counter;

    QueryPerformanceCounter( &counter );
    return counter.QuadPart;
}

static void check_self( const struct worker *w, DWORD id )
{
    if (GetCurrentThreadId() != id || api->GetCurrentUmsThread() != w->context) wrong_thread = 1;
}

static DWORD WINAPI worker( void *arg )
{
    struct worker *w = arg;
    DWORD id = GetCurrentThreadId();

    while (!enough)
    {
        api->UmsThreadYield( NULL );
        check_self( w, id );
    }
    w->waits = 1;
    WaitForSingleObject( w->event, INFINITE );
    check_self( w, id );
    return 0;
}

static struct worker *worker_of( PUMS_CONTEXT context )
{
    struct worker *w = workers;

    while (w->context != context) w++;
    return w;
}

static void collect( DWORD timeout )
{
    PUMS_CONTEXT context, next;
    BOOLEAN ended = FALSE;

    if (!api->DequeueUmsCompletionListItems( list, timeout, &context )) return;
    for (; context; context = next)
    {
        next = api->GetNextUmsListItem( context );
        api->QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended),
                                        NULL );
        if (!ended) ready[ready_count++] = context;
        else
        {
            worker_of( context )->ended = 1;
            api->DeleteUmsThreadContext( context );
            alive--;
        }
    }
}

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context;
    int i;

    (void)param;
    if (reason == UmsSchedulerThreadYield)
    {
        ready[ready_count++] = (PUMS_CONTEXT)payload;
        if (!(++yields & 63) && now() > deadline) enough = 1;
    }
    if (reason == UmsSchedulerThreadBlocked && running && running->waits) running->reported = 1;
    while (alive)
    {
        collect( ready_count ? 0 : INFINITE );
        if (!ready_count) continue;
        context = ready[0];
        for (i = 1, ready_count--; i <= ready_count; i++) ready[i - 1] = ready[i];
        running = worker_of( context );
        api->ExecuteUmsThread( context );
        ready[ready_count++] = context;         /* try again later */
    }
}

static BOOL make_worker( struct worker *w )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = sizeof(buffer);
    HANDLE thread;

    if (!(w->event = CreateEventA( NULL, TRUE, FALSE, NULL ))) return FALSE;
    if (!api->CreateUmsThreadContext( &w->context )) return FALSE;
    ums.UmsContext = w->context;
    if (!api->InitializeProcThreadAttributeList( attributes, 1, 0, &size )) return FALSE;
    if (!api->UpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                         sizeof(ums), NULL, NULL )) return FALSE;
    thread = api->CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, worker, w, 0, attributes,
                                        NULL );
    api->DeleteProcThreadAttributeList( attributes );
    if (!thread) return FALSE;
    CloseHandle( thread );
    return TRUE;
}

static DWORD WINAPI scheduler_thread( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, scheduler, NULL };

    (void)arg;
    return api->EnterUmsSchedulingMode( &info ) ? 0 : GetLastError();
}

static int count_reported( void )
{
    int i, count = 0;

    for (i = 0; i < WORKERS; i++) count += workers[i].reported;
    return count;
}

/* Sets the events when all waits were reported. 0: timed out. */
static BOOL finish( HANDLE thread )
{
    ULONGLONG begin = GetTickCount64();
    BOOL set = FALSE;
    int i;

    while (WaitForSingleObject( thread, 5 ) == WAIT_TIMEOUT)
    {
        if (GetTickCount64() - begin > PATIENCE) return FALSE;
        if (set || count_reported() < WORKERS) continue;
        for (i = 0; i < WORKERS; i++) SetEvent( workers[i].event );
        set = TRUE;
    }
    return TRUE;
}

static BOOL failed( const char *what, DWORD error )
{
    print( "self-test    FAILED: %s", what );
    if (error) print( ", error %lu", error );
    print( "\n" );
    return FALSE;
}

static void hangs( int status )
{
    char text[160];

    snprintf( text, sizeof(text), "nothing more happens after %lld yields; %d of %d waits were "
              "reported, %d of %d workers have ended", yields, count_reported(), WORKERS,
              WORKERS - alive, WORKERS );
    failed( text, 0 );
    tell_verdict( FALSE );
    TerminateProcess( GetCurrentProcess(), (UINT)status );
}

BOOL self_test( const struct api *functions, int status_if_it_hangs )
{
    LARGE_INTEGER frequency;
    LONGLONG begin;
    HANDLE thread;
    DWORD code;
    int i;

    api = functions;
    QueryPerformanceFrequency( &frequency );
    if (!api->CreateUmsCompletionList( &list ))
        return failed( "no completion list", GetLastError() );
    for (i = 0; i < WORKERS; i++)
        if (!make_worker( &workers[i] )) return failed( "no worker", GetLastError() );
    begin = now();
    deadline = begin + frequency.QuadPart * YIELD_MS / 1000;
    if (!(thread = CreateThread( NULL, 0, scheduler_thread, NULL, 0, NULL )))
        return failed( "no thread", GetLastError() );
    if (!finish( thread )) hangs( status_if_it_hangs );
    GetExitCodeThread( thread, &code );
    CloseHandle( thread );
    if (code) return failed( "scheduling mode cannot be entered", code );
    if (wrong_thread) return failed( "a worker was not itself", 0 );
    for (i = 0; i < WORKERS; i++)
    {
        if (!workers[i].ended) return failed( "a worker did not end", 0 );
        CloseHandle( workers[i].event );
    }
    api->DeleteUmsCompletionList( list );
    print( "self-test    passed: %d workers, %lld yields (one in %.0f ns), %d waits reported, "
            "%d ends\n", WORKERS, yields, YIELD_MS * 1e6 / (double)yields, WORKERS, WORKERS );
    return TRUE;
}
