/*
 * What the files of the harness share; tests do not include this.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSTEST_PRIVATE_H
#define UMSTEST_PRIVATE_H

#include "umstest.h"

enum impl
{
    IMPL_AUTO,
    IMPL_SYSTEM,                    /* kernel32 and ntdll */
    IMPL_SHIM,                      /* kernel32_ums.dll and ntdll_ums.dll beside the exe */
    IMPL_BOUND                      /* whatever the exe's own imports lead to */
};

#define CRASH_WORDS 16

/* The section between parent and child. The child only counts up; done is set last. */
struct shared
{
    volatile LONG  done;
    volatile LONG  passed, failed;
    volatile LONG  confirmed, refuted; /* the "unverified" ones */
    volatile LONG  todo, todo_fixed;
    volatile LONG  skipped;
    volatile LONG  misused;         /* vocabulary used on a UMS thread */
    volatile LONG  no_impl;         /* there is nothing to test here */
    volatile LONG  shim;            /* what was tested is ours */
    volatile DWORD pid;
    volatile DWORD crash;           /* exception code */
    volatile DWORD crash_thread;
    volatile ULONG64 crash_at, crash_base;  /* where; the beginning of that allocation, of a module most often */
    volatile ULONG64 crash_stack[CRASH_WORDS];  /* what was there */
    volatile LONG64 carried, sent_home; /* the shim's engine: how often Execute did which */
    volatile LONG  carries;         /* its name is carry */
};

/* After the test, ok() for what any thread may have counted: no wait ended without what it was for, and each Execute that was
   tried again may have been refused. */
void judge_counts( void );

extern struct shared *shared;       /* never NULL; private memory outside a child */

struct test
{
    const char *group;
    const char *name;
    void      (*func)( void );
    DWORD       seconds;
};

/* pointers.c: look every name up. FALSE if the chosen implementation is not there or (auto, system)
 * does not work. */
BOOL pointers_init( enum impl impl );
void pointers_print_host( void );
/* What the shim says of its switches, if that is there; nothing of it is started. */
void pointers_count_switches( struct shared *result );

#ifdef UMSTEST_BOUND
#define BUILD_IMPL IMPL_BOUND
#else
#define BUILD_IMPL IMPL_AUTO
#endif

#endif /* UMSTEST_PRIVATE_H */
