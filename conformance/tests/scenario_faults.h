/*
 * Scenarios: a frame with a handler and an instruction that faults, for the tests of exceptions.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef SCENARIO_FAULTS_H
#define SCENARIO_FAULTS_H

#include "scenario_kit.h"

/* 0 when func returns, else the code of the exception that func did not handle: the frame is left
   for it by RtlUnwindEx. Raw .seh_handler, without the compiler's help. */
ULONG_PTR seh_call( void (*func)( void * ), void *arg );

/* Reads from address rcx; the instruction is 3 bytes long, for who wants to skip it. */
ULONG_PTR faulting_load( volatile void *address );

#define NOWHERE ((volatile void *)0x40)

/* faulting_load( NOWHERE ) */
void fault( void *unused );

/* Wine commits stacks whole. On Windows all but the top of this one would still be reserved, with a
   guard page above; make it so here too. */
void lazy_stack( void );

/* What bodies count; the main thread judges. */
extern struct tally
{
    LONG handled, wrong, wrong_thread, wrong_stack, rounds;
    ULONG_PTR codes[8];
    LONG scheduler_changed, scheduler_vectored;
} tally;

/* kit_sched.on_upcall: has the stack in the TEB changed since the first upcall? */
BOOL watch_scheduler_stack( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param );

/* One worker with this body; its scheduler keeps its stack, and hears of no exception. */
void run_faults( DWORD (*body)( struct kit_worker *worker ) );
void check_handled( LONG count );

#endif /* SCENARIO_FAULTS_H */
