/*
 * Scenarios: a worker on a stack of its program's making. Coroutine libraries switch stacks without
 * a call, and need not tell the TEB.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B27. That arguments from the fifth on are taken from the stack of the call, wherever
 * that lies, is the x64 calling convention [doc]; that frames are looked for between the limits which
 * the TEB tells, is [doc] (RtlUnwindEx, NT_TIB); that a worker is a thread like any other is [doc].
 */
#include <string.h>
#include "scenario_kit.h"

/* call_on( top, func, a, b, c ): func( a, b, c ) with its home space at the very end of another
   stack. */
ULONG_PTR call_on( void *top, void *func, ULONG_PTR a, ULONG_PTR b, ULONG_PTR c );

__asm__( ".text\n"
         ".globl call_on\n"
         ".def call_on; .scl 2; .type 32; .endef\n"
         ".seh_proc call_on\n"
         "call_on:\n"
         "\tpushq %rbp\n"
         "\t.seh_pushreg %rbp\n"
         "\tmovq %rsp, %rbp\n"
         "\t.seh_setframe %rbp, 0\n"
         "\t.seh_endprologue\n"
         "\tmovq %rdx, %rax\n"
         "\tmovq 0x30(%rbp), %r10\n"
         "\tleaq -0x20(%rcx), %rsp\n"
         "\tmovq %r8, %rcx\n"
         "\tmovq %r9, %rdx\n"
         "\tmovq %r10, %r8\n"
         "\tcall *%rax\n"
         "\tleaq 0(%rbp), %rsp\n"
         "\tpopq %rbp\n"
         "\tret\n"
         "\t.seh_endproc\n" );

/* ---- stacks ---- */

#define MADE_SIZE 0x20000

static char *made[2];                   /* one below all stacks of workers, one above */

/* The half above is reserved: a read past the top faults. */
static char *top_of( const char *stack )
{
    return (char *)stack + MADE_SIZE;
}

static BOOL make_stacks( void )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        made[i] = VirtualAlloc( NULL, 2 * MADE_SIZE, MEM_RESERVE | (i ? MEM_TOP_DOWN : 0),
                                PAGE_READWRITE );
        if (!ok( made[i] && VirtualAlloc( made[i], MADE_SIZE, MEM_COMMIT, PAGE_READWRITE ),
                 "no memory for a stack, error %lu\n", GetLastError() )) return FALSE;
    }
    ok( (char *)((NT_TIB *)kit_teb())->StackBase < made[1], "no stack lies above the thread's\n" );
    return TRUE;
}

static struct
{
    LONG calls, wrong[9];
} seen;

/* ---- system calls on a stack that the TEB does not know ---- */

static NTSTATUS (WINAPI *set_event)( HANDLE, LONG * );
static NTSTATUS (WINAPI *query_counter)( LARGE_INTEGER *, LARGE_INTEGER * );
static NTSTATUS (WINAPI *wait_object)( HANDLE, BOOLEAN, LARGE_INTEGER * );
static NTSTATUS (WINAPI *resume_thread)( HANDLE, ULONG * );
static WCHAR own_file[MAX_PATH];
static HANDLE event;

/* Up to eleven arguments of a system call each. */
static void call_many( void )
{
    HANDLE section, file;
    char *view, *memory, magic[2] = "";
    DWORD got = 0;

    seen.calls++;
    if (!(memory = VirtualAlloc( NULL, 0x1000, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE )))
        seen.wrong[0]++;
    else memory[0] = 1;
    if (!(section = CreateFileMappingW( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 0x1000,
                                        NULL ))) seen.wrong[1]++;
    if (!(view = MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, 0x1000 ))) seen.wrong[2]++;
    else view[0] = 1;
    file = CreateFileW( own_file, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                        OPEN_EXISTING, 0, NULL );
    if (file == INVALID_HANDLE_VALUE) seen.wrong[3]++;
    else if (!ReadFile( file, magic, 2, &got, NULL ) || got != 2 || magic[0] != 'M')
        seen.wrong[4]++;
    CloseHandle( file );
    if (view) UnmapViewOfFile( view );
    CloseHandle( section );
    if (memory) VirtualFree( memory, 0, MEM_RELEASE );
}

/* Few arguments, made where nothing follows in memory. */
static void call_at_top( void *top )
{
    LARGE_INTEGER counter = { .QuadPart = 0 }, zero = { .QuadPart = 0 };

    if (call_on( top, set_event, (ULONG_PTR)event, 0, 0 )) seen.wrong[5]++;
    if (call_on( top, wait_object, (ULONG_PTR)event, 0, (ULONG_PTR)&zero )) seen.wrong[6]++;
    if (call_on( top, query_counter, (ULONG_PTR)&counter, 0, 0 ) || !counter.QuadPart)
        seen.wrong[7]++;
    if (call_on( top, resume_thread, (ULONG_PTR)GetCurrentThread(), 0, 0 )) seen.wrong[8]++;
}

/* Where pages of the stack meet in the middle of the arguments, too. */
static void call_everywhere( struct kit_worker *worker )
{
    int i, k;

    for (i = 0; i < 2; i++)
    {
        for (k = 0; k < 16; k++)
        {
            if (worker) kit_yield( worker, NULL );
            call_on( top_of( made[i] ) - 0x1000 - 0x80 * k, call_many, 0, 0, 0 );
        }
        if (worker) kit_yield( worker, NULL );
        call_at_top( top_of( made[i] ) );
        if (worker) kit_yield( worker, NULL );
        call_at_top( top_of( made[i] ) - 0x1000 );
    }
}

static DWORD calls_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    call_everywhere( worker );
    return 0;
}

static void judge_calls( void )
{
    static const char *const names[] = { "VirtualAlloc", "CreateFileMapping", "MapViewOfFile",
                                         "CreateFile", "ReadFile", "NtSetEvent",
                                         "NtWaitForSingleObject", "NtQueryPerformanceCounter",
                                         "NtResumeThread" };
    unsigned int i;

    ok( seen.calls == 32, "%ld rounds, expected 32\n", seen.calls );
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ok( !seen.wrong[i], "2.2: %s failed %ld times\n", names[i], seen.wrong[i] );
}

START_TEST( scenario_stack_calls )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    struct kit_sched *sched;

    set_event     = (void *)GetProcAddress( ntdll, "NtSetEvent" );
    query_counter = (void *)GetProcAddress( ntdll, "NtQueryPerformanceCounter" );
    wait_object   = (void *)GetProcAddress( ntdll, "NtWaitForSingleObject" );
    resume_thread = (void *)GetProcAddress( ntdll, "NtResumeThread" );
    GetModuleFileNameW( NULL, own_file, MAX_PATH );
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!make_stacks() || !kit_open()) return;
    sched = kit_add_sched( NULL );
    push( "plain thread" );
    call_everywhere( NULL );
    judge_calls();
    pop();
    memset( &seen, 0, sizeof(seen) );
    kit_add_worker( sched->list, calls_body, NULL );
    kit_start();
    kit_finish();
    push( "worker" );
    judge_calls();
    pop();
    kit_check();
    CloseHandle( event );
}
