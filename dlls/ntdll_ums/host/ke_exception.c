/*
 * Faults on a carrier. Wine's signal handlers take the stack limits from the TEB of the Linux
 * thread that faulted. On a carrier that is the scheduler's TEB, while the stack is the worker's.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * So our signal handlers run before Wine's. This file owns one invariant: a scheduler's TEB names
 * the worker's stack while a handler of Wine runs for that worker, and the scheduler's stack at any
 * other time. The values are those of the worker's TEB at that moment: the worker may have become a
 * fiber, switched to a coroutine's stack or asked for a guarantee, all without a system call. Wine
 * changes only the limit, when the stack grows. That is copied to the worker's TEB before the
 * handler returns.
 *
 * GS has the scheduler's TEB meanwhile, too. Wine 11 assumes that the program has changed GS if an
 * instruction with a GS prefix faults while GS is not the TEB of the Linux thread. It would set GS
 * to that TEB for good, and the worker would continue as the scheduler (scenario_exception_gs).
 *
 * No other thread sees the changed fields: they are those of the scheduler's thread, which runs
 * this handler with Wine's signals blocked. If Wine ends the thread in its handler, nobody uses
 * them.
 *
 * A stack that is as good as used up is another matter: Wine ends a thread that has no room for an
 * exception, without a call. On a carrier that would be the scheduler's. So the worker goes home with
 * such a fault, as if somebody had stopped it there, and repeats the instruction; and the warden is
 * told that somebody may be about to end (ke_warden.c).
 *
 * The exception is then handled on the carrier, where it was raised. Nothing in that differs from
 * home. It continues with NtContinue, a system call, which goes home.
 *
 * A handler makes no NT call: the signal may have interrupted one.
 */

#include <windows.h>
#include <string.h>
#include "core/ums_core.h"
#include "access.h"
#include "asm_offsets.h"
#include "ke_win32.h"
#include "linux_signal.h"

#define LINUX_SIGILL  4
#define LINUX_SIGTRAP 5
#define LINUX_SIGBUS  7
#define LINUX_SIGFPE  8
#define LINUX_SIGSEGV 11

#define FAULT_WRITES 2                          /* in err, of a page fault */
#define RECORD_AT    0x4f0                      /* the EXCEPTION_RECORD, from rsp in KiUserExceptionDispatcher */

/* Bytes from the lower end of a stack. An exception takes less than this, and Wine keeps the last page. */
#define NEAR_END  0x4000
#define FAR_BELOW 0x100000                      /* a large frame was begun without a look */

static struct linux_action wine_actions[LINUX_SIGSEGV + 1];   /* written before ours are in place */
static uint64_t exception_dispatcher;           /* KiUserExceptionDispatcher */
static int in_front;

/* ---- what a TEB says of a stack ---- */

struct stack
{
    void *base, *limit, *bottom;
    uint32_t guaranteed;
};

static void **limit_in( void *teb )
{
    return (void **)((char *)teb + TEB_STACK_LIMIT);
}

static struct stack get_stack( const char *teb )
{
    struct stack stack;

    stack.base       = *(void *const *)(teb + TEB_STACK_BASE);
    stack.limit      = *(void *const *)(teb + TEB_STACK_LIMIT);
    stack.bottom     = *(void *const *)(teb + TEB_STACK_BOTTOM);
    stack.guaranteed = *(const uint32_t *)(teb + TEB_STACK_GUARANTEED);
    return stack;
}

static void set_stack( char *teb, const struct stack *stack )
{
    *(void **)(teb + TEB_STACK_BASE)          = stack->base;
    *(void **)(teb + TEB_STACK_LIMIT)         = stack->limit;
    *(void **)(teb + TEB_STACK_BOTTOM)        = stack->bottom;
    *(uint32_t *)(teb + TEB_STACK_GUARANTEED) = stack->guaranteed;
}

/* ---- where the thread is ---- */

/* The worker that this thread carries; NULL if GS has the thread's own TEB. In a local call GS has
   the scheduler's TEB. While a worker is CARRIED its home thread is in the parking place, and has
   the worker's TEB too. */
static struct ums_context *find_carried( const struct linux_context *frame )
{
    struct ums_context *w = ke_current();
    struct ums_scheduler *s;

    if (!w) return NULL;
    if (w->kind == CONTEXT_SCHEDULER)
    {
        if (!(s = w->scheduler) || !(w = s->current) || w->owner != s ||
            !atomic_load_explicit( &w->local, memory_order_relaxed )) return NULL;
    }
    if (!ums_worker_is_carried( w ) || !w->owner ||
        (uintptr_t)w->home - frame->rsp < HOME_SIZE) return NULL;
    return w;
}

/* Is this an access through a pointer that may be bad (access_x86_64.S)? A single step into that
   code is not such a fault. */
static int is_trying( int sig, const struct linux_context *frame )
{
    extern char ums_try_begin[], ums_try_end[];

    return sig != LINUX_SIGTRAP &&
           frame->rip - (uint64_t)ums_try_begin < (uint64_t)(ums_try_end - ums_try_begin);
}

/* ---- the handler ---- */

/* Wine has stored the scheduler's debug registers. The worker's are those of its home thread. None
   of them is enabled, because a worker with breakpoints is not carried. If one has been enabled
   since, the end of this exception must not change it. */
static void own_debug_registers( const struct ums_context *w, const struct linux_context *frame )
{
    CONTEXT *context = (CONTEXT *)frame->rsp;

    if ((context->ContextFlags & CONTEXT_DEBUG_REGISTERS) != CONTEXT_DEBUG_REGISTERS) return;
    context->Dr0 = context->Dr1 = context->Dr2 = context->Dr3 = context->Dr7 = 0;
    context->Dr6 &= 0x4000;                     /* a single step is what has just happened */
    if (atomic_load( &w->breakpoints ))
        context->ContextFlags &= ~(CONTEXT_DEBUG_REGISTERS & ~CONTEXT_AMD64);
}

static void call_wine( int sig, void *info, struct linux_context *frame )
{
    struct ums_context *w = find_carried( frame );
    uint64_t rip = frame->rip;
    struct stack own, shown;
    int gs_is_workers;
    char *teb;

    if (!w)
    {
        linux_signal_call( &wine_actions[sig], sig, info, frame );
        return;
    }
    teb = w->owner->teb;
    own = get_stack( teb );
    shown = get_stack( w->teb );
    set_stack( teb, &shown );
    gs_is_workers = ke_current() == w;
    if (gs_is_workers) ums_set_teb( teb );
    linux_signal_call( &wine_actions[sig], sig, info, frame );
    if (gs_is_workers) ums_set_teb( w->teb );
    if (*limit_in( teb ) != shown.limit) *limit_in( w->teb ) = *limit_in( teb );
    set_stack( teb, &own );
    if (frame->rip == exception_dispatcher && rip != exception_dispatcher)
        own_debug_registers( w, frame );
}

/* ---- at the end of a stack ---- */

static int is_near_end( const struct linux_context *frame, void *teb )
{
    return frame->rsp - (uint64_t)get_stack( teb ).bottom + FAR_BELOW < NEAR_END + FAR_BELOW;
}

/* The carrier goes on where a suspender would put it (ke_preempt), with all but its general registers
   still the worker's. HOME: the worker repeats the instruction at home, where it does not come here. */
static void go_home( struct ums_context *w, struct linux_context *frame )
{
    CONTEXT context;

    linux_frame_load( frame, &context );
    memcpy( w->context, &context, sizeof(context) );
    w->preempted = 1;
    atomic_fetch_or( &w->word, WORD_HOME );
    frame->rip    = (uint64_t)ke_preempted;
    frame->rsp    = (uint64_t)w->owner->base;
    frame->rcx    = (uint64_t)w;
    frame->rdx    = (uint64_t)w->owner;
    frame->eflags = 0x202;
}

static int is_making_room( const struct linux_context *frame )
{
    extern char ums_stack_room[], ums_stack_room_end[];

    return frame->rip - (uint64_t)ums_stack_room < (uint64_t)(ums_stack_room_end - ums_stack_room);
}

/* 1: the handler has nothing more to do. Our own code is not left in the middle. A carrier makes no
   Unix calls but in a local call, where GS is the scheduler's: what else it is in is the worker's. */
static int comes_to_end( struct linux_context *frame )
{
    struct ums_context *self = ke_current(), *w;

    if (!self) return 0;
    w = find_carried( frame );
    if (!is_near_end( frame, w ? w->teb : NtCurrentTeb() )) return 0;
    if (w && w == self && (is_making_room( frame ) || !ke_is_our_code( frame->rip, frame->rsp )))
    {
        go_home( w, frame );
        return 1;
    }
    ke_warden_hurry();
    return 0;
}

/* ---- pointers that our code tries ---- */

static int is_touching( const struct linux_context *frame )
{
    extern char ums_touched[];
    const uint64_t begin = (uint64_t)(ULONG_PTR)ums_touch;

    return frame->rip - begin < (uint64_t)ums_touched - begin;
}

/* May Wine make something readable here that is not? Only where a stack grows (is_near_end says whose). Elsewhere it would take
   a guard away, which is meant for the program, or for the host when that makes the call. */
static int is_bad_load( int sig, const struct linux_context *frame )
{
    const struct ums_context *w = find_carried( frame );
    const struct stack stack = get_stack( w ? w->teb : NtCurrentTeb() );

    return sig == LINUX_SIGSEGV && !(frame->err & FAULT_WRITES) &&
           !is_touching( frame ) &&
           frame->cr2 - (uint64_t)stack.bottom >= (uint64_t)stack.base - (uint64_t)stack.bottom;
}

/* The program must not see a fault of a pointer that our code tries. Wine decides whether the pointer
   is bad, but for a load: a page that can be read may be watched for writes. */
static void on_fault_of_ours( int sig, void *info, struct linux_context *frame )
{
    extern char ums_try_failed[], ums_touched[];
    const struct linux_context before = *frame;
    uint32_t code = 0;

    if (!is_bad_load( sig, frame ))
    {
        call_wine( sig, info, frame );
        if (frame->rip == before.rip) return;
        if (frame->rip == exception_dispatcher) code = *(uint32_t *)(frame->rsp + RECORD_AT);
        memcpy( &frame->r8, &before.r8, offsetof( struct linux_context, cs ) -
                                        offsetof( struct linux_context, r8 ) );
    }
    if (!is_touching( &before ))
    {
        frame->rip = (uint64_t)ums_try_failed;
        return;
    }
    frame->rax = code;
    frame->rip = (uint64_t)ums_touched;
}

static void on_fault( int sig, void *info, struct linux_context *frame )
{
    if (is_trying( sig, frame )) on_fault_of_ours( sig, info, frame );
    else if (sig != LINUX_SIGSEGV || !comes_to_end( frame )) call_wine( sig, info, frame );
}

/* ---- putting it in place ---- */

int ke_exceptions_start( void )
{
    static const int others[] = { LINUX_SIGILL, LINUX_SIGTRAP, LINUX_SIGBUS, LINUX_SIGFPE };
    unsigned int i;

    exception_dispatcher = (uint64_t)GetProcAddress( GetModuleHandleA( "ntdll.dll" ),
                                                     "KiUserExceptionDispatcher" );
    if (!exception_dispatcher ||
        !linux_signal_get( LINUX_SIGSEGV, &wine_actions[LINUX_SIGSEGV] )) return 0;
    linux_signal_put( LINUX_SIGSEGV, on_fault, &wine_actions[LINUX_SIGSEGV] );
    for (i = 0; i < ARRAYSIZE(others); i++)
        if (linux_signal_get( others[i], &wine_actions[others[i]] ))
            linux_signal_put( others[i], on_fault, &wine_actions[others[i]] );
    return in_front = 1;
}

int ke_exceptions_seen( void )
{
    return in_front;
}
