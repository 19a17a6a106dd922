/*
 * A DLL that uses UMS (client.h).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <ums.h>

#include "../../samples/spawn.h"
#include "client.h"

__declspec(dllexport) int client_run( struct client *client );

static PUMS_COMPLETION_LIST list;
static BOOLEAN ended;
static struct client *running;

static DWORD WINAPI worker( void *arg )
{
    int i;

    (void)arg;
    running->worker_thread = (LONG)GetCurrentThreadId();
    for (i = 0; i < CLIENT_SLEEPS; i++) Sleep( 1 );
    return 0;
}

static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT context;

    (void)payload;
    (void)param;
    if (reason == UmsSchedulerThreadBlocked) running->blocked++;
    while (!ended)
    {
        if (!DequeueUmsCompletionListItems( list, 10000, &context ) || !context) return;
        QueryUmsThreadInformation( context, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (!ended) ExecuteUmsThread( context );
    }
}

int client_run( struct client *client )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, scheduler, NULL };
    PUMS_CONTEXT context;

    running = client;
    if (!CreateUmsCompletionList( &list )) return CLIENT_REFUSED;
    info.CompletionList = list;
    if (!spawn_ums_worker( list, worker, NULL, NULL, &context )) return 10;
    if (!EnterUmsSchedulingMode( &info )) return 11;
    return ended ? 0 : 12;
}
