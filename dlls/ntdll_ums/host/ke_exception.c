/*
 * Faults of a carrier. Wine's signal handlers look up the stack of the faulting code in the thread
 * block of the thread that faulted; on a carrier that is the scheduler's, and the stack is the
 * worker's.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * So handlers of ours stand in front. This file owns the one invariant: a scheduler's TEB tells the
 * worker's stack while a handler of Wine's runs for that worker, and its own at any other time. What
 * is shown is what the worker's own TEB says at that moment: it may have become a fiber, changed to
 * a coroutine's stack or asked for a guarantee, all of which is done without a system call. The only
 * thing that Wine changes is the limit, when the stack grows, and that is passed on to the worker's
 * TEB before the handler returns.
 *
 * GS has the scheduler's TEB meanwhile, too. Wine 11 takes a fault at an instruction with a GS prefix
 * for a GS that the program has changed, if it is not the TEB of the Linux thread: it would put that
 * there for good, and the worker would go on as the scheduler (scenario_exception_gs).
 *
 * Nobody else sees the words meanwhile: they are the scheduler thread's, which is here, with the
 * signals of Wine blocked. If Wine ends the thread in its handler, they are the words of a thread
 * that is no more.
 *
 * An exception is then handled where it has come up, on the carrier: there is nothing left in which
 * that differs from home. Its way on is NtContinue, a system call, which goes home.
 *
 * A handler makes no NT call: the signal may have come in the middle of one.
 */

#include <windows.h>
#include <string.h>
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "ke_win32.h"
#include "linux_signal.h"

#define LINUX_SIGILL  4
#define LINUX_SIGTRAP 5
#define LINUX_SIGBUS  7
#define LINUX_SIGFPE  8
#define LINUX_SIGSEGV 11

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

/* The worker that runs on this thread, a carrier; NULL: the thread and GS agree. In a local call GS
   has the scheduler's TEB. While a worker is CARRIED its home thread is in the parking place, with
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

/* Reading or writing through a pointer that may be bad (access_x86_64.S)? A step into that is none of
   its faults. */
static int is_trying( int sig, const struct linux_context *frame )
{
    extern char ums_try_begin[], ums_try_end[];

    return sig != LINUX_SIGTRAP &&
           frame->rip - (uint64_t)ums_try_begin < (uint64_t)(ums_try_end - ums_try_begin);
}

/* ---- the handler ---- */

/* The debug registers that Wine has put there are the scheduler's. The worker's own are at home: none
   is enabled, or it would not be carried; and if one has been since, going on must not change it. */
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

/* A pointer that was to be tried is no matter of the program's. It is Wine that says whether it is bad:
   the page may be a guard, or watched for writes. */
static void __attribute__((sysv_abi)) on_fault( int sig, void *info, struct linux_context *frame )
{
    extern char ums_try_failed[];
    struct linux_context before;

    if (!is_trying( sig, frame ))
    {
        call_wine( sig, info, frame );
        return;
    }
    before = *frame;
    call_wine( sig, info, frame );
    if (frame->rip == before.rip) return;
    memcpy( &frame->r8, &before.r8, offsetof( struct linux_context, cs ) -
                                    offsetof( struct linux_context, r8 ) );
    frame->rip = (uint64_t)ums_try_failed;
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
