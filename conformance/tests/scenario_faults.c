/*
 * Scenarios: a frame with a handler, an instruction that faults, a worker that handles its faults.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <string.h>
#include "scenario_faults.h"

/* ---- a frame with a handler, without the compiler's help ---- */

extern char seh_landing[];
EXCEPTION_DISPOSITION seh_handler( EXCEPTION_RECORD *rec, void *frame, CONTEXT *context,
                                   DISPATCHER_CONTEXT *dispatch );

__asm__( ".text\n"
         ".globl seh_call, seh_landing\n"
         ".def seh_call; .scl 2; .type 32; .endef\n"
         ".seh_proc seh_call\n"
         "seh_call:\n"
         "\t.seh_handler seh_handler, @except\n"
         "\t.seh_handlerdata\n"
         "\t.text\n"
         "\tsubq $0x28, %rsp\n"
         "\t.seh_stackalloc 0x28\n"
         "\t.seh_endprologue\n"
         "\tmovq %rcx, %rax\n"
         "\tmovq %rdx, %rcx\n"
         "\tcall *%rax\n"
         "\txorl %eax, %eax\n"
         "seh_landing:\n"
         "\tnop\n"
         "\taddq $0x28, %rsp\n"
         "\tret\n"
         "\t.seh_endproc\n" );

EXCEPTION_DISPOSITION seh_handler( EXCEPTION_RECORD *rec, void *frame, CONTEXT *context,
                                   DISPATCHER_CONTEXT *dispatch )
{
    if (!(rec->ExceptionFlags & (EXCEPTION_UNWINDING | EXCEPTION_EXIT_UNWIND)))
        RtlUnwindEx( frame, seh_landing, rec, (void *)(ULONG_PTR)rec->ExceptionCode, context,
                     dispatch->HistoryTable );
    return ExceptionContinueSearch;
}

__asm__( ".text\n"
         ".globl faulting_load\n"
         ".def faulting_load; .scl 2; .type 32; .endef\n"
         ".seh_proc faulting_load\n"
         "faulting_load:\n"
         "\t.seh_endprologue\n"
         "\tmovl $0x11, %eax\n"
         "\tmovq (%rcx), %rdx\n"
         "\tret\n"
         "\t.seh_endproc\n" );

void fault( void *unused )
{
    (void)unused;
    faulting_load( NOWHERE );
}

/* ---- what bodies count; the main thread judges ---- */

struct tally tally;

static void *scheduler_stack[3];

BOOL watch_scheduler_stack( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    NT_TIB *tib = kit_teb();
    void *bottom = *(void **)((char *)tib + 0x1478);           /* DeallocationStack [sdk] */

    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerStartup)
    {
        scheduler_stack[0] = tib->StackBase;
        scheduler_stack[1] = tib->StackLimit;
        scheduler_stack[2] = bottom;
    }
    if (tib->StackBase != scheduler_stack[0] || bottom != scheduler_stack[2] ||
        tib->StackLimit > scheduler_stack[1] || (void *)&tib < tib->StackLimit)
        tally.scheduler_changed++;
    return FALSE;
}

void run_faults( DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *sched;

    memset( &tally, 0, sizeof(tally) );
    if (!kit_open()) return;
    kit.stack = 0x100000;
    sched = kit_add_sched( NULL );
    sched->on_upcall = watch_scheduler_stack;
    kit_add_worker( sched->list, body, NULL );
    kit_start();
    kit_finish();
    ok( !tally.scheduler_changed, "2.2: the scheduler found another stack in its TEB %ld times\n",
        tally.scheduler_changed );
    ok( !tally.scheduler_vectored, "the scheduler thread saw %ld exceptions of its worker\n",
        tally.scheduler_vectored );
    kit_check();
}

void check_handled( LONG count )
{
    ok( tally.handled == count, "%ld exceptions handled, expected %ld\n", tally.handled, count );
    ok( !tally.wrong, "%ld times something was not as before\n", tally.wrong );
    ok( !tally.wrong_thread, "B23: %ld exceptions on another thread\n", tally.wrong_thread );
    ok( !tally.wrong_stack, "B27: %ld exceptions on another stack\n", tally.wrong_stack );
}

void lazy_stack( void )
{
    NT_TIB *tib = kit_teb();
    char *bottom = *(char **)((char *)tib + 0x1478);           /* DeallocationStack [sdk] */
    char *limit = (char *)(((ULONG_PTR)&tib - 0x4000) & ~(ULONG_PTR)0xfff);
    DWORD old;

    if ((char *)tib->StackLimit >= limit || limit - bottom < 0x8000) return;
    VirtualFree( bottom, limit - bottom, MEM_DECOMMIT );
    VirtualAlloc( limit - 0x1000, 0x1000, MEM_COMMIT, PAGE_READWRITE );
    VirtualProtect( limit - 0x1000, 0x1000, PAGE_READWRITE | PAGE_GUARD, &old );
    tib->StackLimit = limit;
}
