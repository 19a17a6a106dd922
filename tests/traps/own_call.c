/*
 * own_call: a program that makes NT calls with a `syscall` instruction of its own, past ntdll. On
 * Windows that is a call like any other [doc: the convention is ntdll's own]. Under Wine before 11.5
 * it would be a Linux call: run this with traps.c's nt, or under a Wine that takes such calls.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker that was executed on a carrier asks who it is, also with its stack pointer at the end of a page below which
 * nothing was used, and steps over a call; and its wait is told to its scheduler.
 */
#include "../linux/waker.h"
#include "private/nttypes.h"

#define YIELDS 5

uint32_t own_query_nr, own_wait_nr;
NTSTATUS NTAPI own_query( HANDLE, ULONG, void *, ULONG, ULONG * );
NTSTATUS NTAPI own_wait( HANDLE, BOOLEAN, LARGE_INTEGER * );

#define STUB( name ) \
    __asm__( ".globl " #name "\n" #name ": movq %rcx,%r10\n\tmovl " #name "_nr(%rip),%eax\n\t" \
             "syscall\n\tret" )
STUB( own_query );
STUB( own_wait );

struct basic_info
{
    NTSTATUS  status;
    void     *teb;
    HANDLE    pid, tid;
    ULONG_PTR affinity;
    LONG      priority, base_priority;
};

static volatile LONG asked, is_another, length_wrong;
static volatile NTSTATUS query_status, wait_status = -1;

static uint32_t number_of( const char *name )
{
    const unsigned char *stub = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), name );

    return stub[4] | stub[5] << 8;              /* behind mov r10,rcx; mov eax */
}

/* The fifth argument is on the stack. */
static void ask( void )
{
    struct basic_info info = { 0 };
    ULONG length = 0;

    query_status = own_query( GetCurrentThread(), 0, &info, sizeof(info), &length );
    asked++;
    if ((DWORD)(ULONG_PTR)info.tid != GetCurrentThreadId()) is_another++;
    if (length != sizeof(info)) length_wrong++;
}

/* ---- at the end of a page ---- */

static struct basic_info __attribute__((used)) info_at_end;
static volatile NTSTATUS end_status = -1;

/* own_query( GetCurrentThread(), 0, &info_at_end, sizeof(info_at_end), NULL ), with rsp == end in own_query */
NTSTATUS NTAPI query_at( char *end );

__asm__( ".globl query_at\n"
         ".def query_at; .scl 2; .type 32; .endef\n"
         ".seh_proc query_at\n"
         "query_at:\n"
         "\tpushq %rbx\n\t.seh_pushreg %rbx\n"
         "\tmovq %rsp,%rbx\n\t.seh_setframe %rbx,0\n"
         "\t.seh_endprologue\n"
         "\tleaq 8(%rcx),%rsp\n"
         "\tmovq $0,0x20(%rsp)\n"
         "\tmovq $-2,%rcx\n"
         "\txorl %edx,%edx\n"
         "\tleaq info_at_end(%rip),%r8\n"
         "\tmovl $0x30,%r9d\n"
         "\tcall own_query\n"
         "\tleaq 0(%rbx),%rsp\n"
         "\tpopq %rbx\n"
         "\tret\n"
         "\t.seh_endproc\n" );

/* A stack that grows page by page, as one has it that is reserved and not committed. */
static void ask_at_page_end( void )
{
    char *bottom, *end = (char *)(((ULONG_PTR)&bottom - 0x4000) & ~(ULONG_PTR)0xfff);
    NT_TIB *tib;
    DWORD old;

    __asm__( "movq %%gs:0x30,%0" : "=r" (tib) );
    bottom = *(char **)((char *)tib + 0x1478);                  /* DeallocationStack [sdk] */
    VirtualFree( bottom, end - bottom, MEM_DECOMMIT );
    VirtualAlloc( end - 0x1000, 0x1000, MEM_COMMIT, PAGE_READWRITE );
    VirtualProtect( end - 0x1000, 0x1000, PAGE_READWRITE | PAGE_GUARD, &old );
    tib->StackLimit = end;
    end_status = query_at( end );
    if ((DWORD)(ULONG_PTR)info_at_end.tid != GetCurrentThreadId()) is_another++;
}

/* ---- a program that steps ---- */

#define TRAP_FLAG 0x100

static volatile LONG stepping, steps, steps_behind, steps_elsewhere;

static BOOL is_ours( ULONG_PTR code )
{
    const BYTE *image = (BYTE *)GetModuleHandleA( NULL );
    const IMAGE_NT_HEADERS *nt = (void *)(image + ((const IMAGE_DOS_HEADER *)image)->e_lfanew);

    return code - (ULONG_PTR)image < nt->OptionalHeader.SizeOfImage;
}

static LONG CALLBACK on_step( EXCEPTION_POINTERS *info )
{
    if (info->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP) return EXCEPTION_CONTINUE_SEARCH;
    steps++;
    if (!is_ours( info->ContextRecord->Rip )) steps_elsewhere++;
    if (stepping) info->ContextRecord->EFlags |= TRAP_FLAG;
    return EXCEPTION_CONTINUE_EXECUTION;
}

#define WAY_BACK 5                              /* steps: ums_step_over sets the flag just before it returns */

/* What the call does is not stepped through. */
static void step_over_call( void )
{
    void *handler = AddVectoredExceptionHandler( 1, on_step );
    HANDLE self = GetCurrentThread();
    struct basic_info info = { 0 };
    ULONG length = 0;
    LONG before;

    stepping = 1;
    __asm__ volatile( "pushfq\n\torl $0x100,(%%rsp)\n\tpopfq\n\tnop" ::: "memory", "cc" );
    query_status = own_query( self, 0, &info, sizeof(info), &length );
    before = steps;
    __asm__ volatile( "nop\n\tnop" ::: "memory" );
    steps_behind = steps - before;
    stepping = 0;
    RemoveVectoredExceptionHandler( handler );
}

static DWORD WINAPI sleeper( void *arg )
{
    int i;

    (void)arg;
    for (i = 0; i < YIELDS; i++)
    {
        ask();
        pUmsThreadYield( NULL );
    }
    ask_at_page_end();
    step_over_call();
    inside = 1;
    wait_status = own_wait( event, FALSE, NULL );
    inside = 2;
    ask();
    return 0;
}

int main( void )
{
    event = CreateEventA( NULL, TRUE, FALSE, NULL );
    /* as long as the stubs are ntdll's own */
    own_query_nr = number_of( "NtQueryInformationThread" );
    own_wait_nr = number_of( "NtWaitForSingleObject" );
    load_shim();
    ask();
    run_round( sleeper, NULL, waker, give_up );
    end_round();
    ok( asked == YIELDS + 2 && !query_status, "asked %ld times, status %lx", asked, query_status );
    ok( !is_another, "%ld times it was another thread that asked", is_another );
    ok( !length_wrong, "the fifth argument was lost %ld times", length_wrong );
    ok( !end_status, "at the end of a page the status is %lx", end_status );
    ok( steps_behind >= 2, "it does not go on stepping behind the call: %ld of %ld steps", steps_behind, steps );
    ok( steps_elsewhere <= WAY_BACK, "%ld of %ld steps are not in the program", steps_elsewhere, steps );
    ok( !wait_status, "the wait's status is %lx", wait_status );
    return test_end();
}
