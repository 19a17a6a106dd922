/*
 * The DLLs themselves, stepped through: every function that a program can call, by a plain thread;
 * then a scheduler and its worker, up to the doors behind which nobody steps.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Here and in the assembly files every byte of code has to have unwind data.
 */

#include <string.h>
#include "ums.h"
#include "private/exports.h"
#include "steps.h"

#define X( ret, name, args ) static ret (WINAPI *p##name) args;
UMS_KERNEL32_EXPORTS( X )
UMS_KERNEL32_DOORS( X )
UMS_NTDLL_EXPORTS( X )
#undef X

static void look_up( HMODULE kernel32_ums, HMODULE ntdll_ums )
{
#define X( ret, name, args ) \
    p##name = (void *)GetProcAddress( kernel32_ums, #name ); \
    if (!p##name) p##name = (void *)GetProcAddress( ntdll_ums, #name ); \
    ok( p##name != NULL, "%s is missing", #name );
    UMS_KERNEL32_EXPORTS( X )
    UMS_KERNEL32_DOORS( X )
    UMS_NTDLL_EXPORTS( X )
#undef X
}

/* ---- is there unwind data for all of it? ---- */

static const IMAGE_DATA_DIRECTORY *directory( const char *module, int index )
{
    const IMAGE_NT_HEADERS *nt =
        (const void *)(module + ((const IMAGE_DOS_HEADER *)module)->e_lfanew);

    return &nt->OptionalHeader.DataDirectory[index];
}

/* Of what may lie between functions: nop in its lengths, int3, zeros at the section's end, the jumps through the
   import table that the linker makes, and the ends of its lists. 0: something else. */
static unsigned int padding_length( const uint8_t *code )
{
    static const uint8_t list_end[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    static const uint8_t displacement[4] = { 0, 1, 4, 0 };
    unsigned int prefixes = 0;

    if (!memcmp( code, list_end, sizeof(list_end) )) return sizeof(list_end);
    if (code[0] == 0xff && code[1] == 0x25) return 6;
    while (code[prefixes] == 0x66 || code[prefixes] == 0x2e) prefixes++;
    code += prefixes;
    if (*code == 0x90 || *code == 0xcc || !*code) return prefixes + 1;
    if (code[0] != 0x0f || code[1] != 0x1f) return 0;
    return prefixes + 3 + ((code[2] & 7) == 4) + displacement[code[2] >> 6];
}

static int is_padding( const uint8_t *code, unsigned int size )
{
    unsigned int at, length;

    for (at = 0; at < size; at += length)
        if (!(length = padding_length( code + at ))) return 0;
    return 1;
}

static void check_coverage( const char *module, const char *name )
{
    const IMAGE_DATA_DIRECTORY *dir = directory( module, IMAGE_DIRECTORY_ENTRY_EXCEPTION );
    const RUNTIME_FUNCTION *function = (const void *)(module + dir->VirtualAddress);
    unsigned int i, count = dir->Size / sizeof(*function), bare = 0;

    for (i = 0; i + 1 < count; i++)
    {
        const char *gap = module + function[i].EndAddress;

        if (function[i + 1].BeginAddress < function[i].EndAddress) bare++;
        if (function[i + 1].BeginAddress <= function[i].EndAddress) continue;
        if (is_padding( (const uint8_t *)gap, function[i + 1].BeginAddress - function[i].EndAddress )) continue;
        bare++;
        printf( "%s+%#x: no unwind data\n", name, (unsigned int)(gap - module) );
    }
    ok( count > 20 && !bare, "%s: %u functions, %u without unwind data", name, count, bare );
}

/* ---- a plain thread ---- */

static void call( void *function, uint64_t a, uint64_t b, uint64_t c, uint64_t d )
{
    anchor_call( &anchors[0], function, a, b, c, d );
}

#define CALL( name, a, b, c, d ) \
    call( p##name, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d) )

static void step_plain( void )
{
    static PUMS_COMPLETION_LIST list;
    static PUMS_CONTEXT context, next;
    static HANDLE event;
    static LARGE_INTEGER zero;
    static char user[8], attributes[256];
    static UMS_SCHEDULER_STARTUP_INFO startup;
    static UMS_SYSTEM_THREAD_INFORMATION info = { .UmsVersion = UMS_VERSION };
    static SIZE_T size = sizeof(attributes);

    steps_begin();
    trap_on();
    CALL( CreateUmsCompletionList, &list, 0, 0, 0 );
    CALL( CreateUmsThreadContext, &context, 0, 0, 0 );
    CALL( GetUmsCompletionListEvent, list, &event, 0, 0 );
    CALL( SetUmsThreadInformation, context, UmsThreadUserContext, user, sizeof(user) );
    CALL( QueryUmsThreadInformation, context, UmsThreadUserContext, user, sizeof(user) );
    CALL( DequeueUmsCompletionListItems, list, 0, &next, 0 );
    CALL( DequeueUmsCompletionListItems, list, 1, &next, 0 );
    CALL( GetNextUmsListItem, context, 0, 0, 0 );
    CALL( GetCurrentUmsThread, 0, 0, 0, 0 );
    CALL( GetUmsSystemThreadInformation, GetCurrentThread(), &info, 0, 0 );
    CALL( EnterUmsSchedulingMode, &startup, 0, 0, 0 );
    CALL( ExecuteUmsThread, context, 0, 0, 0 );
    CALL( UmsThreadYield, 0, 0, 0, 0 );
    CALL( InitializeProcThreadAttributeList, attributes, 1, 0, &size );
    CALL( DeleteProcThreadAttributeList, attributes, 0, 0, 0 );
    CALL( DeleteUmsThreadContext, context, 0, 0, 0 );
    CALL( DeleteUmsCompletionList, list, 0, 0, 0 );
    CALL( RtlCreateUmsCompletionList, &list, 0, 0, 0 );
    CALL( RtlCreateUmsThreadContext, &context, 0, 0, 0 );
    CALL( RtlGetUmsCompletionListEvent, list, &event, 0, 0 );
    CALL( RtlSetUmsThreadInformation, context, UmsThreadUserContext, user, sizeof(user) );
    CALL( RtlQueryUmsThreadInformation, context, 99, user, sizeof(user) );
    CALL( RtlDequeueUmsCompletionListItems, list, &zero, &next, 0 );
    CALL( RtlGetNextUmsListItem, context, &next, 0, 0 );
    CALL( RtlGetCurrentUmsThread, &next, 0, 0, 0 );
    CALL( RtlEnterUmsSchedulingMode, &startup, 0, 0, 0 );
    CALL( RtlExecuteUmsThread, context, 0, 0, 0 );
    CALL( RtlUmsThreadYield, 0, 0, 0, 0 );
    CALL( NtUmsThreadYield, 0, 0, 0, 0 );
    CALL( RtlDeleteUmsThreadContext, context, 0, 0, 0 );
    CALL( RtlDeleteUmsCompletionList, list, 0, 0, 0 );
    steps_end( "exports" );
    CloseHandle( event );
}

/* ---- a scheduler and a worker ---- */

static PUMS_COMPLETION_LIST list;
static PUMS_CONTEXT worker;
static HANDLE list_event, done_event;
static volatile LONG yields, blocks, worker_results;

static DWORD WINAPI worker_thread( void *unused )
{
    LONG results = 0;
    int i;

    (void)unused;
    trap_on();
    for (i = 0; i < 3; i++)
    {
        anchor_call( &anchors[1], pUmsThreadYield, 0, 0, 0, 0 );
        results += (int)anchor_call( &anchors[1], SetEvent, (uint64_t)done_event, 0, 0, 0 );
        results += (int)anchor_call( &anchors[1], WaitForSingleObject, (uint64_t)done_event, 0, 0,
                                     0 ) == WAIT_OBJECT_0;
        results += (int)anchor_call( &anchors[1], WaitForSingleObject, (uint64_t)done_event, 1, 0,
                                     0 ) == WAIT_TIMEOUT;
        anchor_call( &anchors[1], Sleep, 1, 0, 0, 0 );
        results += anchor_call( &anchors[1], pGetCurrentUmsThread, 0, 0, 0, 0 ) == (uint64_t)worker;
    }
    trap_off();
    worker_results = results;
    return 0;
}

static void NTAPI scheduler_proc( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_CONTEXT next = reason == UmsSchedulerThreadYield ? (PUMS_CONTEXT)payload : NULL;
    BOOLEAN ended = FALSE;

    (void)param;
    if (next) yields++;
    else if (reason == UmsSchedulerThreadBlocked) blocks++;
    if (reason == UmsSchedulerStartup) trap_on();
    for (;;)
    {
        while (!next)
        {
            WaitForSingleObject( list_event, 10 );
            pDequeueUmsCompletionListItems( list, 0, &next );
        }
        pQueryUmsThreadInformation( next, UmsThreadIsTerminated, &ended, sizeof(ended), NULL );
        if (ended) return;
        anchor_call( &anchors[0], pExecuteUmsThread, (uint64_t)next, 0, 0, 0 );
    }
}

static HANDLE make_worker( void )
{
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, worker, list };
    DECLSPEC_ALIGN(8) char buffer[256];
    LPPROC_THREAD_ATTRIBUTE_LIST attributes = (void *)buffer;
    SIZE_T size = sizeof(buffer);

    return pInitializeProcThreadAttributeList( attributes, 1, 0, &size ) &&
           pUpdateProcThreadAttribute( attributes, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                       sizeof(ums), NULL, NULL )
           ? pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, worker_thread, NULL, 0, attributes,
                                    NULL ) : NULL;
}

static void step_ums( void )
{
    UMS_SCHEDULER_STARTUP_INFO startup = { UMS_VERSION, NULL, scheduler_proc, NULL };
    HANDLE thread;

    pCreateUmsCompletionList( &list );
    pCreateUmsThreadContext( &worker );
    pGetUmsCompletionListEvent( list, &list_event );
    done_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    startup.CompletionList = list;
    steps_begin();
    trap_on();
    thread = (HANDLE)anchor_call( &anchors[2], make_worker, 0, 0, 0, 0 );
    if (thread) anchor_call( &anchors[2], pEnterUmsSchedulingMode, (uint64_t)&startup, 0, 0, 0 );
    steps_end( "scheduler and worker" );
    ok( thread != NULL, "no worker" );
    ok( worker_results == 12 && yields == 3 && blocks >= 6,
        "%ld results right, %ld yields, %ld times blocked", worker_results, yields, blocks );
    WaitForSingleObject( thread, INFINITE );
    CloseHandle( thread );
    pDeleteUmsThreadContext( worker );
    pDeleteUmsCompletionList( list );
}

void step_dlls( void )
{
    HMODULE kernel32_ums = steps_watch_module( "kernel32_ums.dll" );
    HMODULE ntdll_ums = steps_watch_module( "ntdll_ums.dll" );

    if (!kernel32_ums || !ntdll_ums) return;
    check_coverage( (const char *)kernel32_ums, "kernel32_ums.dll" );
    check_coverage( (const char *)ntdll_ums, "ntdll_ums.dll" );
    look_up( kernel32_ums, ntdll_ums );
    step_plain();
    step_ums();
}
