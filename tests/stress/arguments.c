/*
 * Every exported function of both DLLs with random arguments, in child processes: an error or success, no crash, no hang.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * usage: umsrun umsarguments.exe [--children=N] [--calls=N] [--seed=N] [--seconds=N]
 *
 * What must hold. A handle that is no live object of the right kind is ERROR_INVALID_PARAMETER (or what is said of the
 * calling thread), whatever it points at; NULL where something is to be stored is an error; a failure has a last error.
 * A pointer to memory that the documents want valid may raise an access violation in the caller's frame, as on Windows,
 * if it is not; the process goes on. Each child calls as a plain thread, as a scheduler and as a worker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arguments.h"

/* ---- a child ---- */

static unsigned int calls = 200;
static PUMS_COMPLETION_LIST own_list;
static PUMS_CONTEXT worker;
static LONG called;

static DWORD WINAPI worker_calls( void *arg )
{
    unsigned int i;

    (void)arg;
    for (i = 0; i < calls; i++) call_once();
    called++;
    return 0;
}

static BOOL make_worker( void )
{
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, own_list };
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST opaque = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);

    if (!CreateUmsThreadContext( &worker )) return FALSE;
    ums.UmsContext = worker;
    return InitializeProcThreadAttributeList( opaque, 1, 0, &size ) &&
           UpdateProcThreadAttribute( opaque, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums), NULL,
                                      NULL ) &&
           CreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, worker_calls, NULL, 0, opaque, NULL );
}

static void WINAPI schedule( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_CONTEXT found = reason == UmsSchedulerThreadYield ? (PUMS_CONTEXT)payload : NULL;
    BOOLEAN over = FALSE;
    unsigned int i;

    (void)param;
    if (reason == UmsSchedulerStartup)
    {
        for (i = 0; i < calls; i++) call_once();
        called++;
        if (!make_worker()) return;
    }
    for (;;)
    {
        if (!found) DequeueUmsCompletionListItems( own_list, INFINITE, &found );
        QueryUmsThreadInformation( found, UmsThreadIsTerminated, &over, sizeof(over), NULL );
        if (over || found != worker) return;
        ExecuteUmsThread( found );
    }
}

static int child( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, schedule, NULL };
    unsigned int i;

    if (!prepare_calls()) return WRONG;
    CreateUmsCompletionList( &own_list );
    for (i = 0; i < calls; i++) call_once();
    called++;
    info.CompletionList = own_list;
    calling = "the end";
    if (!EnterUmsSchedulingMode( &info ) || called != 3) return WRONG;
    if (!DeleteUmsThreadContext( worker ) || !DeleteUmsThreadContext( context ) ||
        !DeleteUmsCompletionList( list ) || !DeleteUmsCompletionList( own_list )) return WRONG;
    return 0;
}

/* ---- the parent ---- */

static BOOL run_child( unsigned int child_seed )
{
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    char command[MAX_PATH + 64], self[MAX_PATH];
    PROCESS_INFORMATION process;
    DWORD code = 99;

    GetModuleFileNameA( NULL, self, sizeof(self) );
    snprintf( command, sizeof(command), "\"%s\" --child --calls=%u --seed=%u", self, calls, child_seed );
    if (!CreateProcessA( self, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process )) return FALSE;
    if (WaitForSingleObject( process.hProcess, CHILD_LIMIT ))
    {
        say( "a child hangs\n" );
        TerminateProcess( process.hProcess, 98 );
        WaitForSingleObject( process.hProcess, CHILD_LIMIT );
    }
    GetExitCodeProcess( process.hProcess, &code );
    CloseHandle( process.hProcess );
    CloseHandle( process.hThread );
    if (code) say( "FAILED, seed %u, exit code %#lx\n", child_seed, code );
    return !code;
}

int main( int argc, char **argv )
{
    unsigned int children = 6, seconds = 0, done = 0;
    ULONGLONG start = GetTickCount64();
    BOOL is_child = FALSE;
    int i;

    for (i = 1; i < argc; i++)
    {
        if (!strncmp( argv[i], "--children=", 11 )) children = (unsigned int)atoi( argv[i] + 11 );
        else if (!strncmp( argv[i], "--calls=", 8 )) calls = (unsigned int)atoi( argv[i] + 8 );
        else if (!strncmp( argv[i], "--seed=", 7 )) random_seed = (unsigned int)strtoul( argv[i] + 7, NULL, 0 );
        else if (!strncmp( argv[i], "--seconds=", 10 )) seconds = (unsigned int)atoi( argv[i] + 10 );
        else if (!strcmp( argv[i], "--child" )) is_child = TRUE;
        else return 2;
    }
    if (is_child) return child();
    say( "seed %u, %u children, %u calls from each of three kinds of threads\n", random_seed, children, calls );
    for (; done < children || GetTickCount64() - start < seconds * 1000ull; done++)
        if (!run_child( random_seed + done )) return 1;
    say( "%u children passed\n", done );
    return 0;
}
