/*
 * ke.h's user parts of workers: the parking places, preemption. The switch itself is in
 * switch_x86_64.S, the decision whether the host can carry in probe.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <winternl.h>
#include <string.h>
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "syscalls/hook/native.h"
#include "ke_win32.h"

#define HOMES_PER_SLAB  64
#define MAX_SLABS       1024                    /* 65536 contexts, context.c */

/* ---- parking places ---- */

/* Slabs of parking places, by the index of the context's slot; never freed. One allocation holds
   many places, because a process with ten thousand threads may run out of mappings. For the same
   reason there are no guard pages: only our own code runs there, it needs little stack, and at the
   lower end of a place is the room for a preempted worker's registers, not the next place. */
static char *_Atomic slabs[MAX_SLABS];

int ke_home_prepare( struct ums_context *w )
{
    uint32_t index = ums_context_index( w ), slab = index / HOMES_PER_SLAB;
    char *mem, *expected = NULL;
    SIZE_T size = HOMES_PER_SLAB * HOME_SIZE;

    if (!ums_carry || w->home) return 1;
    if (!(mem = atomic_load( &slabs[slab] )))
    {
        if (!(mem = ke_reserve( size )) || !ke_commit( mem, size )) return 0;
        if (!atomic_compare_exchange_strong( &slabs[slab], &expected, mem ))
        {
            VirtualFree( mem, 0, MEM_RELEASE );
            mem = expected;
        }
    }
    w->home = mem + (index % HOMES_PER_SLAB + 1) * HOME_SIZE;
    return 1;
}

/* ---- at home ---- */

/* If the host cannot carry, the thread sleeps on its own stack, below its user part. */
struct parking
{
    void (*parked)( struct ums_context *w, void *arg );
    void *arg;
};

/* The calls that the thread makes in here are not the worker's: the worker may be RUNNING on another
   thread before this one sleeps. The mark also means that w->sp is valid (ke_context.c). */
static void park_in_place( struct ums_context *w, void *arg )
{
    struct parking *parking = arg;
    struct ums_inside inside = inside_park( &w->inside );

    parking->parked( w, parking->arg );
    inside_unpark( &w->inside, inside );
}

int32_t ke_leave_home( struct ums_context *w,
                        void (*parked)( struct ums_context *w, void *arg ), void *arg )
{
    struct parking parking = { parked, arg };

    if (!ums_carry) return ke_switch_in_place( w, park_in_place, &parking );
    return ke_switch_home( w, parked, arg );
}

/* ---- a scheduler that has executed on another stack ---- */

/* Called from assembly, in an upcall. SchedulerProc may become a fiber, or switch stacks like a
   coroutine, and execute a worker there. Those frames are gone then: each activation begins on the
   stack of the Enter, and its exceptions are handled only if the TEB tells of that stack. Nobody has
   kept how far it has grown: in use is what was committed with the pages that the base is in. Whoever wants to terminate
   this thread sees from the address that the call returns to that it has an upcall to make. */
void ke_scheduler_stack_back( struct ums_scheduler *s )
{
    NT_TIB *tib = (NT_TIB *)NtCurrentTeb();
    char *limit = s->stack_bottom;
    MEMORY_BASIC_INFORMATION info;
    uint64_t args[4 + CALL_STACK_ARGS] = { (uint64_t)GetCurrentProcess(), 0, 0 /* MemoryBasicInformation */, (uint64_t)&info,
                                           sizeof(info) };

    while (args[1] = (uint64_t)limit, !(NTSTATUS)ums_native_call( "NtQueryVirtualMemory", args ) &&
           limit + info.RegionSize <= (char *)s->base)
        limit += info.RegionSize;
    tib->ExceptionList = s->exception_list;
    tib->StackBase     = s->stack_base;
    tib->StackLimit    = limit;
    *(void **)((char *)tib + TEB_STACK_BOTTOM) = s->stack_bottom;
}

/* ---- preemption ---- */

uint32_t ke_scheduler_tid( struct ums_scheduler *s )
{
    return s && s->context ? atomic_load( &s->context->tid ) : 0;
}

int ke_is_our_memory( ULONG_PTR address )
{
    extern IMAGE_DOS_HEADER __ImageBase;
    const IMAGE_NT_HEADERS *nt = (void *)((char *)&__ImageBase + __ImageBase.e_lfanew);

    return address - (ULONG_PTR)&__ImageBase < nt->OptionalHeader.SizeOfImage ||
           ums_hook_owns( (const void *)address );
}

int ke_is_our_code( ULONG_PTR rip, ULONG_PTR rsp )
{
    return ke_is_our_memory( rip ) || ke_is_our_memory( ke_linux_caller( rip, rsp ) );
}

/* Is this Windows memory? Code on Wine's Unix side is not: the carrier entered it, and has to leave
   it. Some of it runs on the user stack (win32u of Wine 8.0, and the part of libc that our own
   Linux calls use). */
static int is_windows_code( ULONG_PTR rip )
{
    MEMORY_BASIC_INFORMATION info;

    return VirtualQuery( (const void *)rip, &info, sizeof(info) ) && info.State == MEM_COMMIT;
}

int ke_is_user_code( uint64_t rip )
{
    return !ke_is_our_memory( rip ) && is_windows_code( rip );
}

/* The thread of s stands still: is it in user code of w? Our own code must not be interrupted: half
   of the worker's state may be loaded, or GS may have the scheduler's TEB. The worker may use any
   stack, except for the scheduler's. */
static int is_in_user_code( struct ums_scheduler *s, struct ums_context *w, const CONTEXT *context, int late )
{
    const char *teb = s->teb;
    ULONG_PTR bottom = *(const ULONG_PTR *)(teb + TEB_STACK_BOTTOM);

    if (!ums_worker_is_carried( w ) || w->owner != s || s->current != w) return 0;
    if (atomic_load( &w->local ) || !ke_is_user_code( context->Rip )) return 0;
    if (!late && ke_may_spin( context->Rip )) return 0;
    return context->Rsp - bottom >= *(const ULONG_PTR *)(teb + TEB_STACK_BASE) - bottom;
}

/* tid: that of the thread, which stands still. While it waited for its turn the caller may have been overtaken: then s is that of
   another thread by now. */
static int preempt_stopped( HANDLE thread, uint32_t tid, struct ums_scheduler *s, struct ums_context *w, int late )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    if (ums_get_context_native( thread, &context ) || ke_scheduler_tid( s ) != tid) return 0;
    /* an earlier preempter has set this, and the thread has not run since */
    if (context.Rip == (ULONG_PTR)ke_preempted && context.Rcx == (ULONG_PTR)w) return 1;
    if (!is_in_user_code( s, w, &context, late )) return 0;
    memcpy( w->context, &context, sizeof(context) );
    w->preempted   = 1;
    context.Rip    = (ULONG_PTR)ke_preempted;
    context.Rsp    = (ULONG_PTR)s->base;
    context.Rcx    = (ULONG_PTR)w;
    context.Rdx    = (ULONG_PTR)s;
    context.EFlags = 0x202;
    if (!ums_set_context_native( thread, &context )) return 1;
    w->preempted   = 0;
    return 0;
}

/* s may have executed another worker since, or may belong to another thread by now. So only a
   carrier of this worker that has ended counts: it can never give the worker away again. A thread that has ended
   does not get s a second time: if s is still its own in the end, it was so all the time. */
static int carrier_is_gone( HANDLE thread, uint32_t tid, struct ums_scheduler *s, struct ums_context *w )
{
    if (thread ? WaitForSingleObject( thread, 0 ) != WAIT_OBJECT_0
               : GetLastError() != ERROR_INVALID_PARAMETER) return 0;
    return ums_carrier_is_gone( s, w ) && ke_scheduler_tid( s ) == tid;
}

enum ke_preempted ke_preempt( struct ums_scheduler *s, struct ums_context *w, int late )
{
    enum ke_preempted done = KE_TRY_AGAIN;
    uint32_t tid = ke_scheduler_tid( s );       /* 0: it has just been executed */
    HANDLE thread = tid ? OpenThread( THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT |
                                      THREAD_SET_CONTEXT | SYNCHRONIZE, FALSE, tid ) : NULL;
    uint32_t before;
    ULONG count;

    if (ums_stop_try())                         /* the suspension or the hold that this is for is counted */
    {
        before = s ? ums_preempter_begins( s ) : 0;
        if (thread && !ums_suspend_native( thread, &count ))
        {
            if (preempt_stopped( thread, tid, s, w, late )) done = KE_PREEMPTED;
            /* the program has suspended it: it does not leave before it is resumed, wherever it stands */
            if (count > ums_preempters_since( s, before ) && ums_worker_is_carried( w ) &&
                w->owner == s && s->current == w && ke_scheduler_tid( s ) == tid)
                done = KE_CARRIER_STOPPED;
            ums_resume_native( thread, NULL );
        }
        else if (tid && carrier_is_gone( thread, tid, s, w )) done = KE_CARRIER_GONE;
        if (s) ums_preempter_ends( s );
        ums_stop_end();
    }
    if (thread) CloseHandle( thread );
    if (done == KE_TRY_AGAIN) SwitchToThread();
    return done;
}
