/*
 * Scenarios: an instruction with a GS prefix that faults.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2. A handler runs as the thread that faults, and what comes behind does too [doc]. (Since
 * 11.0 Wine takes such a fault for a GS that was changed, and sets it anew.)
 */
#include "scenario_kit.h"

#define ROUNDS 4
#define ROOM   0x4000000            /* TEBs lie nearer to each other than half of that */

static char *nowhere;               /* reserved memory */
static LONG faults, others_in_handler, others_behind;

ULONG_PTR load_by_gs( ULONG_PTR offset );
__asm__( ".text\n"
         ".globl load_by_gs\n"
         ".def load_by_gs; .scl 2; .type 32; .endef\n"
         ".seh_proc load_by_gs\n"
         "load_by_gs:\n"
         "\t.seh_endprologue\n"
         "\tmovq %gs:(%rcx),%rax\n"
         "load_by_gs_next:\n"
         "\tret\n"
         "\t.seh_endproc\n" );
extern char load_by_gs_next[];

static BOOL is_worker( void )
{
    return GetCurrentThreadId() == kit.workers[0].id &&
           pGetCurrentUmsThread() == kit.workers[0].context;
}

static LONG CALLBACK skip_load( EXCEPTION_POINTERS *pointers )
{
    CONTEXT *context = pointers->ContextRecord;

    if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION ||
        context->Rip != (ULONG_PTR)load_by_gs)
        return EXCEPTION_CONTINUE_SEARCH;
    faults++;
    if (!is_worker()) others_in_handler++;
    context->Rip = (ULONG_PTR)load_by_gs_next;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD gs_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield( worker, NULL );
        load_by_gs( (ULONG_PTR)nowhere + ROOM / 2 - (ULONG_PTR)kit_teb() );
        if (!is_worker()) others_behind++;
    }
    return 0;
}

START_TEST( scenario_exception_gs )
{
    void *handler = AddVectoredExceptionHandler( 0, skip_load );
    struct kit_sched *sched;

    if (!need( GetCurrentUmsThread ) || !kit_open()) return;
    nowhere = VirtualAlloc( NULL, ROOM, MEM_RESERVE, PAGE_NOACCESS );
    ok( nowhere != NULL, "no address space, error %lu\n", GetLastError() );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, gs_body, NULL );
    kit_start();
    kit_finish();
    RemoveVectoredExceptionHandler( handler );
    ok( faults == ROUNDS, "2.2: %ld faults, expected %d\n", faults, ROUNDS );
    ok( !others_in_handler, "2.2: %ld times another thread was in the handler\n",
        others_in_handler );
    ok( !others_behind, "2.2: %ld times another thread went on behind it\n", others_behind );
    kit_check();
}
