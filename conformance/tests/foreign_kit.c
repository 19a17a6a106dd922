/*
 * foreign_kit.h: what it does.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "foreign_kit.h"

struct foreign_order *foreign_order;
volatile LONG foreign_turns, foreign_steps, foreign_stop, foreign_keep, foreign_kept, foreign_wakes;
CONDITION_VARIABLE foreign_nobody;
struct kit_worker *foreign_runner;
HANDLE foreign_event, foreign_pipe[2];
volatile uint64_t foreign_magic[5] = { 0x1111111111111111, 0x2222222222222222, 0x3333333333333333,
                                       0x4444444444444444, 0x5555555555555555 };
volatile uint64_t foreign_spun;

static HANDLE given, done;
static PROCESS_INFORMATION other;

#define CHILD_LIMIT (2 * KIT_LIMIT)              /* on a busy machine a process begins slowly */

/* ---- the other process ---- */

static BOOL open_order( const char *name, BOOL create )
{
    char full[64];
    HANDLE section;

    snprintf( full, sizeof(full), "ums-foreign-%s-given", name );
    given = CreateEventA( NULL, FALSE, FALSE, full );
    snprintf( full, sizeof(full), "ums-foreign-%s-done", name );
    done = CreateEventA( NULL, FALSE, FALSE, full );
    snprintf( full, sizeof(full), "ums-foreign-%s-order", name );
    section = create ? CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0,
                                           sizeof(*foreign_order), full )
                     : OpenFileMappingA( FILE_MAP_WRITE, FALSE, full );
    if (section) foreign_order = MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, 0 );
    return given && done && foreign_order;
}

static BOOL obey( HANDLE thread )
{
    switch (foreign_order->command)
    {
    case FOREIGN_SUSPEND:
        foreign_order->ret = SuspendThread( thread );
        return foreign_order->ret != ~0u;
    case FOREIGN_RESUME:
        foreign_order->ret = ResumeThread( thread );
        return foreign_order->ret != ~0u;
    case FOREIGN_GET:
        return GetThreadContext( thread, &foreign_order->context );
    case FOREIGN_SET:
        return SetThreadContext( thread, &foreign_order->context );
    default:
        return TerminateThread( thread, foreign_order->argument );
    }
}

static void serve( const char *name )
{
    if (!open_order( name, FALSE )) ExitProcess( 1 );
    SetEvent( done );
    while (!WaitForSingleObject( given, 2 * KIT_LIMIT ) && foreign_order->command != FOREIGN_END)
    {
        HANDLE thread = OpenThread( THREAD_ALL_ACCESS, FALSE, foreign_order->tid );

        foreign_order->error = thread && obey( thread ) ? 0 : GetLastError() + 1;
        if (thread) CloseHandle( thread );
        SetEvent( done );
    }
    ExitProcess( 0 );
}

/* ---- this one ---- */

DWORD foreign_tell( LONG command, DWORD tid )
{
    foreign_order->command = command;
    foreign_order->tid = tid;
    SetEvent( given );
    if (!ok( !WaitForSingleObject( done, KIT_LIMIT ), "the other process does not answer\n" ))
        return 0;
    ok( !foreign_order->error, "command %ld failed with error %lu\n", command, foreign_order->error - 1 );
    return foreign_order->ret;
}

static DWORD beside_body( struct kit_worker *worker )
{
    while (!foreign_stop)
    {
        foreign_turns++;
        if (foreign_wakes) WakeConditionVariable( &foreign_nobody );
        kit_yield( worker, NULL );
        while (foreign_keep) foreign_kept = 1;  /* its scheduler takes no other */
    }
    return 0;
}

BOOL foreign_begin( DWORD (*body)( struct kit_worker *worker ), BOOL beside )
{
    struct kit_sched *sched;
    char name[32];

    if (child_value( name, sizeof(name) )) serve( name );
    if (!kit_open()) return FALSE;
    /* the other process of one that died may still wait, and this one may have its id */
    snprintf( name, sizeof(name), "%lx-%lx", GetCurrentProcessId(), GetTickCount() );
    if (!ok( open_order( name, TRUE ), "no section, error %lu\n", GetLastError() ) ||
        !child_start( name, &other )) return FALSE;
    if (!ok( !WaitForSingleObject( done, CHILD_LIMIT ), "the other process does not begin\n" ))
        return FALSE;
    foreign_event = CreateEventW( NULL, TRUE, FALSE, NULL );
    if (!ok( CreatePipe( &foreign_pipe[0], &foreign_pipe[1], NULL, 0 ), "no pipe, error %lu\n", GetLastError() ))
        return FALSE;
    sched = kit_add_sched( NULL );
    foreign_runner = kit_add_worker( sched->list, body, NULL );
    if (beside) kit_add_worker( sched->list, beside_body, NULL );
    kit_start();
    return ok( foreign_runner && kit_leaves( &foreign_steps, 0 ), "the worker did not start\n" );
}

void foreign_finish( BOOL may_lose_yield )
{
    DWORD code = 1;

    foreign_stop = 1;
    SetEvent( foreign_event );
    WriteFile( foreign_pipe[1], "", 1, &code, NULL );
    kit_finish();
    /* who would have counted that it blocked may have ended before */
    if (kit.scheds[0].stays && foreign_runner->blocks == foreign_runner->queued - 2) foreign_runner->blocks++;
    if (may_lose_yield && foreign_runner->yields_made == 2 && foreign_runner->yields == 1) foreign_runner->yields_made = 1;
    kit_check();
    foreign_order->command = FOREIGN_END;
    SetEvent( given );
    ok( child_end( &other, &code ) && !code, "the other process ended with %lu\n", code );
}

/* ---- what the worker does ---- */

DWORD foreign_compute( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!foreign_stop) foreign_steps++;
    return 0;
}

DWORD foreign_compute_at_home( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    GetHandleInformation( foreign_event, &flags );
    while (!foreign_stop) foreign_steps++;
    return 0;
}

DWORD foreign_wake( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!foreign_stop)
    {
        foreign_steps++;
        WakeConditionVariable( &foreign_nobody );
    }
    return 0;
}

DWORD foreign_wait( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    foreign_steps = 1;
    WaitForSingleObject( foreign_event, INFINITE );
    foreign_steps = 2;
    return 0;
}

DWORD foreign_park( struct kit_worker *worker )
{
    foreign_steps = 1;
    kit_park( worker );
    foreign_steps = 2;
    return 0;
}

#define NUMBER( macro )  NUMBER_( macro )
#define NUMBER_( value ) #value

__asm__( ".text\n"
         "\t.globl foreign_spin\n"
         "\t.def foreign_spin; .scl 2; .type 32; .endef\n"
         "\t.seh_proc foreign_spin\n"
         "foreign_spin:\n"
         "\tpushq %rbx\n\t.seh_pushreg %rbx\n"
         "\tpushq %r12\n\t.seh_pushreg %r12\n"
         "\tpushq %r13\n\t.seh_pushreg %r13\n"
         "\tpushq %r14\n\t.seh_pushreg %r14\n"
         "\tpushq %r15\n\t.seh_pushreg %r15\n"
         "\tsubq $0x20,%rsp\n\t.seh_stackalloc 0x20\n"
         "\tmovaps %xmm7,(%rsp)\n\t.seh_savexmm %xmm7,0\n"
         "\t.seh_endprologue\n"
         "\tmovq 0x00(%rdx),%rbx\n"
         "\tmovq 0x08(%rdx),%r12\n"
         "\tmovq 0x10(%rdx),%r13\n"
         "\tmovq 0x18(%rdx),%r14\n"
         "\tmovq 0x20(%rdx),%r15\n"
         "\tmovq %r15,%xmm7\n"
         "\tstmxcsr 0x10(%rsp)\n"
         "\tmovl $0x3f80,0x14(%rsp)\n"
         "\tldmxcsr 0x14(%rsp)\n"
         "\tmovq %rcx,%r8\n"
         "\tpushq $" NUMBER( FOREIGN_FLAGS ) "\n"
         "\tpopfq\n"
         "1:\tmovl (%r8),%eax\n"                 /* nothing in this loop changes a flag, so one that is lost stays lost */
         "\tleal 1(%rax),%eax\n"
         "\tmovl %eax,(%r8)\n"
         "\tmovq 0x08(%rdx),%rcx\n"
         "\tnotq %rcx\n"
         "\tleaq 1(%rcx,%r12),%rcx\n"
         "\tjrcxz 1b\n"
         "\tpushfq\n"
         "\tpopq %r8\n"
         "\tcld\n"
         "\tmovq %r12,%rax\n"
         "\tmovq %xmm7,%rcx\n"
         "\taddq %rcx,%rax\n"
         "\taddq %rbx,%rax\n"
         "\taddq %r13,%rax\n"
         "\taddq %r14,%rax\n"
         "\taddq %r15,%rax\n"
         "\tandl $" NUMBER( FOREIGN_FLAGS ) ",%r8d\n"
         "\taddq %r8,%rax\n"
         "\tstmxcsr 0x14(%rsp)\n"
         "\tldmxcsr 0x10(%rsp)\n"
         "\tmovl 0x14(%rsp),%ecx\n"
         "\taddq %rcx,%rax\n"
         "\tmovaps (%rsp),%xmm7\n"
         "\taddq $0x20,%rsp\n"
         "\tpopq %r15\n"
         "\tpopq %r14\n"
         "\tpopq %r13\n"
         "\tpopq %r12\n"
         "\tpopq %rbx\n"
         "\tret\n"
         "\t.seh_endproc\n" );

DWORD foreign_spin_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    foreign_spun = foreign_spin( &foreign_steps, foreign_magic );
    return 0;
}
