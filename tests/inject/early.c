/*
 * early [slots] [between]: a program in a prefix with the shim that has run for a while before it
 * asks for the first name of UMS.
 *
 * It has looked up CreateRemoteThreadEx and its kin: those addresses must make workers afterwards.
 * slots: all TLS slots of the TEB are taken by then. between: a thread stands between the first two
 * instructions of a system-call stub, which the stub hook changes.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <string.h>
#include <ums.h>

#include "test.h"

#define KERNEL32( name ) (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ), name )

/* the doors, looked up first */
static HANDLE (WINAPI *create_thread)( HANDLE, SECURITY_ATTRIBUTES *, SIZE_T,
                                       LPTHREAD_START_ROUTINE, void *, DWORD,
                                       LPPROC_THREAD_ATTRIBUTE_LIST, DWORD * );
static BOOL (WINAPI *initialize)( LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD, SIZE_T * );
static BOOL (WINAPI *update)( LPPROC_THREAD_ATTRIBUTE_LIST, DWORD, DWORD_PTR, void *, SIZE_T,
                              void *, SIZE_T * );

/* the names of UMS */
static BOOL (WINAPI *create_list)( PUMS_COMPLETION_LIST * );
static BOOL (WINAPI *create_context)( PUMS_CONTEXT * );
static BOOL (WINAPI *dequeue)( PUMS_COMPLETION_LIST, DWORD, PUMS_CONTEXT * );
static BOOL (WINAPI *execute)( PUMS_CONTEXT );
static BOOL (WINAPI *enter)( PUMS_SCHEDULER_STARTUP_INFO );
static PUMS_CONTEXT (WINAPI *current)( void );

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT context;
static PUMS_CONTEXT seen;               /* what the worker takes itself for */
static BOOL ran;

static void find_doors( void )
{
    create_thread = KERNEL32( "CreateRemoteThreadEx" );
    initialize = KERNEL32( "InitializeProcThreadAttributeList" );
    update = KERNEL32( "UpdateProcThreadAttribute" );
    ok( !GetModuleHandleW( L"kernel32_ums.dll" ), "the shim is here before anybody asked for it" );
}

static void find_names( void )
{
    create_list = KERNEL32( "CreateUmsCompletionList" );
    create_context = KERNEL32( "CreateUmsThreadContext" );
    dequeue = KERNEL32( "DequeueUmsCompletionListItems" );
    execute = KERNEL32( "ExecuteUmsThread" );
    enter = KERNEL32( "EnterUmsSchedulingMode" );
    current = KERNEL32( "GetCurrentUmsThread" );
}

static DWORD WINAPI worker( void *arg )
{
    (void)arg;
    seen = current();
    ran = TRUE;
    return 0;
}

/* Returns, and so ends scheduling mode, when the worker has ended. */
static void NTAPI scheduler( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, void *param )
{
    PUMS_CONTEXT item;

    (void)payload;
    (void)param;
    if (reason != UmsSchedulerStartup) return;
    /* a plain thread would have been made by the host's function, and never come to the list */
    if (!dequeue( list, 20000, &item ) || !item) return;
    while (execute( item ) || GetLastError() == ERROR_RETRY) ;
}

static HANDLE make_worker( void )
{
    DECLSPEC_ALIGN(16) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (LPPROC_THREAD_ATTRIBUTE_LIST)buffer;
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = sizeof(buffer);

    ok( create_context( &context ), "no context: error %lu", GetLastError() );
    ums.UmsContext = context;
    ok( initialize( attributes, 1, 0, &size ), "no list: error %lu", GetLastError() );
    ok( update( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, sizeof(ums), NULL, NULL ),
        "the attribute is refused: error %lu", GetLastError() );
    return create_thread( GetCurrentProcess(), NULL, 0, worker, NULL, 0, attributes, NULL );
}

static void run_worker( void )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, scheduler, NULL };
    HANDLE thread;

    ok( create_list( &list ), "no completion list: error %lu", GetLastError() );
    if (!list) return;
    info.CompletionList = list;
    thread = make_worker();
    ok( thread != NULL, "no worker: error %lu", GetLastError() );
    if (!thread) return;
    ok( enter( &info ), "no scheduler: error %lu", GetLastError() );
    ok( ran && seen == context, "the worker takes itself for %p, not for %p", seen, context );
}

static void take_slots( void )
{
    DWORD slot;

    do slot = TlsAlloc();
    while (slot != TLS_OUT_OF_INDEXES && slot < TLS_MINIMUM_AVAILABLE);
}

/* A thread that loops in user code, and the place where it goes on. */
static volatile LONG looping, leave, result = 1;
static BYTE *volatile stub;

/* It keeps nothing in registers that a call changes: one is put into its loop. */
static DWORD WINAPI loop( void *arg )
{
    (void)arg;
    looping = TRUE;
    while (!leave) YieldProcessor();
    result = ((NTSTATUS (NTAPI *)( void ))stub)();
    return 0;
}

/* Stops the thread, and puts it behind the stub's first instruction, as if it had been called. */
static HANDLE thread_between( void )
{
    static const BYTE head[] = { 0x4c, 0x8b, 0xd1, 0xb8 };      /* mov r10,rcx; mov eax,... */
    CONTEXT registers = { .ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER };
    HANDLE thread;

    stub = (BYTE *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtYieldExecution" );
    ok( !memcmp( stub, head, sizeof(head) ), "NtYieldExecution is no stub" );
    thread = CreateThread( NULL, 0, loop, NULL, 0, NULL );
    while (!looping) Sleep( 1 );
    SuspendThread( thread );
    ok( GetThreadContext( thread, &registers ), "no registers: error %lu", GetLastError() );
    registers.Rsp -= 8;
    *(DWORD64 *)registers.Rsp = registers.Rip;          /* it returns to where it was */
    registers.R10 = registers.Rcx;
    registers.Rip = (DWORD64)stub + 3;
    ok( SetThreadContext( thread, &registers ), "not set: error %lu", GetLastError() );
    return thread;
}

static void let_go( HANDLE thread )
{
    DWORD code = 1;

    leave = TRUE;
    ResumeThread( thread );
    WaitForSingleObject( thread, INFINITE );
    GetExitCodeThread( thread, &code );
    ok( !code && result != 1, "the thread that stood in a stub ended with %lx", code );
}

int main( int argc, char **argv )
{
    HANDLE thread = NULL;
    int i;

    find_doors();
    for (i = 1; i < argc; i++)
    {
        if (!strcmp( argv[i], "slots" )) take_slots();
        if (!strcmp( argv[i], "between" )) thread = thread_between();
    }
    find_names();
    if (create_list) run_worker();
    else ok( FALSE, "no name of UMS" );
    if (thread) let_go( thread );
    return test_end();
}
