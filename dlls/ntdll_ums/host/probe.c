/*
 * Can workers be carried on this host? This file tries it; it never decides by a version number.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The trial leaves nothing changed, and any doubt means no. The conditions:
 *
 *  - a thread can sleep outside any NT call: a home thread that is parked must have no system-call
 *    frame in use, because the code that is carried in its place may use it;
 *  - every system call of the process can be seen before it happens (the hook's part);
 *  - GS can be written from here, and what it shows is the TEB;
 *  - the scheduler's TEB, put into GS, is good for a system call in between;
 *  - a stack that is not the thread's grows as if it were (ke_exception.c);
 *  - there is no shadow stack;
 *  - all registers of a worker that is stopped in its code can be saved;
 *  - if nobody has asked for it: it is faster than handoff.
 *
 * Then a user part is made by hand and carried, with a TEB that is a copy.
 */

#include <windows.h>
#include <cpuid.h>
#include <string.h>
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "access.h"
#include "auxv.h"
#include "syscalls/hook/native.h"
#include "ke_win32.h"
#include "private/trace.h"

int __cdecl _snprintf( char *, size_t, const char *, ... );

#define TEB_SIZE         0x2000
#define TEB_SELF         0x30
#define TRIAL_STACK      0x20000
#define TRIAL_LIMIT      0x10000                /* offset at which the stack ends at first */
#define TRIAL_PAGE       0x1000
#define XSAVE_COMPONENTS 0xe7                   /* x87, SSE, AVX, AVX-512 */
#define XSAVE_OTHERS     0x60218                /* bounds (MPX), PKRU, AMX: no program has them unasked, or no compiler uses
                                                   them; they are not saved */

/* ---- registers ---- */

/* The extended state of a preempted worker must end before HOME_IRET. */
static const char *probe_xsave( void )
{
    unsigned int eax, ebx, ecx, edx, i, end = 0x240;
    uint32_t low, high;

    if (!__get_cpuid( 1, &eax, &ebx, &ecx, &edx ) || !(ecx & bit_OSXSAVE)) return NULL;
    __asm__ volatile( "xgetbv" : "=a" (low), "=d" (high) : "c" (0) );
    if (high || (low & ~(XSAVE_COMPONENTS | XSAVE_OTHERS))) return "the processor has registers that are not known";
    low &= XSAVE_COMPONENTS;
    for (i = 2; i < 8; i++)
    {
        if (!(low & (1u << i))) continue;
        __cpuid_count( 0xd, i, eax, ebx, ecx, edx );
        if (ebx + eax > end) end = ebx + eax;
    }
    if (end > HOME_IRET) return "the processor has more registers than expected";
    ums_xsave_mask = low;
    return NULL;
}

/* That wrgsbase does not fault is not enough. In a paravirtualised guest it may be the machine below that allows it, and this kernel
   gives the thread its old GS back when it runs next [seen: Linux 6.18 with PVM]. Linux says whether it keeps what is written. */
static int kernel_keeps_gs( void )
{
    uint64_t auxv[AUXV_MOST], caps;

    return auxv_find( auxv, ke_linux_auxv( auxv ), AUXV_HWCAP2, &caps ) && (caps & HWCAP2_FSGSBASE);
}

#define GS_TRIES 8                              /* anything may come between: the least counts */
#define GS_DEAR  20                             /* 2 us, in units of 100 ns */

/* A round of a worker that is carried writes GS twice, and so does each call that its scheduler's thread makes for it. handoff writes it
   never, and its round takes 4.4 us on the fastest host that was measured (docs/performance.md). So where GS is dear, carry is not
   the faster one [seen: 8.8 us on a guest that has to ask the machine below]. A machine that is only busy does not make all tries slow. */
static const char *probe_gs_cost( void )
{
    static char text[96];
    int64_t begin, took, least = INT64_MAX;
    void *teb = NtCurrentTeb();
    int i;

    for (i = 0; i < GS_TRIES; i++)
    {
        begin = ke_clock();
        ums_set_teb( teb );
        if ((took = ke_clock() - begin) < least) least = took;
    }
    if (least <= GS_DEAR) return NULL;
    _snprintf( text, sizeof(text) - 1, "a system call that sets GS takes %lu ns here, so carry would be slower", (unsigned long)least * 100 );
    return text;
}

/* Does rdgsbase or wrgsbase fault? The kernel has to allow both. */
static const char *probe_gs( void )
{
    void *teb = NtCurrentTeb();
    uint64_t base;

    if (*(void **)((char *)teb + TEB_SELF) != teb) return "the TEB does not point at itself";
    if (ums_setting( SETTING_GS ) || !kernel_keeps_gs()) ums_gs_by_syscall = 1;
    else if (!ums_try_gs( &base )) ums_gs_by_syscall = 1;
    else if (base != (uint64_t)teb) return "GS does not point at the TEB";
    return NULL;
}

/* ---- a trial ---- */

static struct ums_scheduler trial_scheduler;
static struct { struct ums_context context; } trial __attribute__((aligned( 64 )));
static char *trial_teb, *trial_stack;
static int trial_steps;

static void trial_left( struct ums_scheduler *s, struct ums_context *w, uintptr_t arg )
{
    if (s == &trial_scheduler && w == &trial.context && arg == 3 &&
        __readgsqword( TEB_SELF ) == (uint64_t)s->teb)
        trial_steps++;
    ke_scheduler_upcall( s, 2, 0, NULL );
}

/* Touch the guard page: it is part of the stack then, and only the worker's TEB says so. */
static int stack_grows( void )
{
    NT_TIB *tib = (NT_TIB *)trial_teb, *carrier = (NT_TIB *)trial_scheduler.teb;
    char *limit = tib->StackLimit;
    void *carrier_limit = carrier->StackLimit;

    return ums_try_store( limit - 8, 1 ) && (char *)tib->StackLimit == limit - TRIAL_PAGE &&
           carrier->StackLimit == carrier_limit;
}

/* The worker: is this its TEB? A local call, then back. */
static void trial_worker( void )
{
    uint64_t args[4 + CALL_STACK_ARGS] = { 0 };
    LARGE_INTEGER counter = { .QuadPart = 0 };

    if (__readgsqword( TEB_SELF ) == (uint64_t)trial_teb) trial_steps++;
    if (stack_grows()) trial_steps++;
    ums_set_teb( trial_scheduler.teb );
    if (__readgsqword( TEB_SELF ) == (uint64_t)trial_scheduler.teb) trial_steps++;
    args[0] = (uint64_t)(ULONG_PTR)&counter;
    if (!ums_native_call( "NtQueryPerformanceCounter", args ) && counter.QuadPart) trial_steps++;
    ums_set_teb( trial_teb );
    if (__readgsqword( TEB_SELF ) == (uint64_t)trial_teb) trial_steps++;
    ke_leave_carrier( &trial.context, &trial_scheduler,
                      (void (*)( struct ums_scheduler *, struct ums_context *,
                                 uintptr_t ))trial_left, 3 );
}

static void trial_proc( uint32_t reason )
{
    trial_steps++;
    if (!reason) ke_carry( &trial_scheduler, &trial.context );
}

/* A user part as ke_leave_carrier would have left it, which "returns" to a call of trial_worker. */
static void make_user_part( struct ums_context *w )
{
    struct ke_user_part *part = (void *)(trial_stack + TRIAL_STACK - 0x100);

    memset( part, 0, sizeof(*part) );
    part->mxcsr = 0x1f80;
    part->control_word = 0x27f;
    part->rbx = (uint64_t)trial_worker;
    part->rip = (uint64_t)ke_call_rbx;
    w->sp = part;
    w->teb = trial_teb;
    w->owner = &trial_scheduler;
    atomic_store( &w->word, WORKER_CARRIED );
}

/* A copy of this thread's TEB, and a stack that has yet to grow. */
static int make_teb( void )
{
    void **bottom;
    NT_TIB *tib;
    DWORD old;

    trial_teb = VirtualAlloc( NULL, TEB_SIZE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    trial_stack = VirtualAlloc( NULL, TRIAL_STACK, MEM_RESERVE, PAGE_READWRITE );
    if (!trial_teb || !trial_stack ||
        !VirtualAlloc( trial_stack + TRIAL_LIMIT - TRIAL_PAGE, TRIAL_STACK - TRIAL_LIMIT + TRIAL_PAGE,
                       MEM_COMMIT, PAGE_READWRITE ) ||
        !VirtualProtect( trial_stack + TRIAL_LIMIT - TRIAL_PAGE, TRIAL_PAGE,
                         PAGE_READWRITE | PAGE_GUARD, &old )) return 0;
    memcpy( trial_teb, NtCurrentTeb(), TEB_SIZE );
    *(void **)(trial_teb + TEB_SELF) = trial_teb;
    *(void **)(trial_teb + ke_tls_offset()) = &trial.context;
    tib = (NT_TIB *)trial_teb;
    tib->StackBase = trial_stack + TRIAL_STACK;
    tib->StackLimit = trial_stack + TRIAL_LIMIT;
    bottom = (void **)(trial_teb + TEB_STACK_BOTTOM);
    *bottom = trial_stack;
    return 1;
}

static const char *try_to_carry( void )
{
    const char *teb = (const char *)NtCurrentTeb();
    uint64_t before[3], after[3];
    int i;

    if (!make_teb()) return "memory is short";
    for (i = 0; i < 3; i++) before[i] = ((const uint64_t *)teb)[i];

    make_user_part( &trial.context );
    trial_scheduler.teb = NtCurrentTeb();
    trial_scheduler.proc = (void (*)(void))trial_proc;
    ke_scheduler_run( &trial_scheduler, 0, 0, NULL );

    for (i = 0; i < 3; i++) after[i] = ((const uint64_t *)teb)[i];
    VirtualFree( trial_teb, 0, MEM_RELEASE );
    VirtualFree( trial_stack, 0, MEM_RELEASE );
    if (trial_steps != 8) return "a trial went wrong";
    return memcmp( before, after, sizeof(before) ) ? "a trial left the TEB changed" : NULL;
}

static const char *probe_sleep( void )
{
    static char text[128];

    if (ke_parks_outside()) return NULL;
    _snprintf( text, sizeof(text) - 1, "a thread cannot sleep outside NT calls: no futex, because %s",
               ke_no_futex() );
    return text;
}

const char *ke_probe_carry( int if_faster )
{
    const char *why;
    uint64_t ssp = 0;

    if ((why = probe_sleep())) return why;
    __asm__ volatile( "rdsspq %0" : "+r" (ssp) );             /* a no-op without shadow stacks */
    if (ssp || ums_shadow_stacks()) return "shadow stacks are on";
    if (!ke_exceptions_seen()) return "the host's signal handlers are not known";
    if ((why = probe_xsave()) || (why = probe_gs())) return why;
    if (if_faster && ums_gs_by_syscall && (why = probe_gs_cost())) return why;
    return try_to_carry();
}
