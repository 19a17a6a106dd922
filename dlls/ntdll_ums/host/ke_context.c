/*
 * The registers of a worker, for GetThreadContext and SetThreadContext. They are not always those
 * of its thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 *   carried                    the carrier's
 *   preempted                  in w->context, the extended state in the parking place
 *   parked                     the user part at w->sp
 *   waits without its thread   the same, our frames unwound: as at home in a call
 *   at home in a call          its thread's, our frames unwound, and those of what ours has called: those that the call was made with
 *   at home anywhere else      its thread's, also in our code: that goes on where it was
 *
 * New registers of a worker are kept, if they are not those that it has:
 *
 *   in a call that came through the hook    on a page of their own (set, set_for in ke_own.h), until that call returns to
 *                                           the program. Our code goes on before: it may hold another worker, or have
 *                                           counted something. They belong to the call that is innermost now, known by
 *                                           the stack pointer that it returns with: others may be in progress further
 *                                           up, in a callback of which it was made
 *   parked, or in another call that its     in w->context, like those of a preempted worker, until the worker is executed,
 *   scheduler knows of                      or ums_worker_back
 *
 * In all other cases they are set in the thread.
 */

#include <windows.h>
#include <winternl.h>
#include <string.h>
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "syscalls/hook/native.h"
#include "first_apcs.h"
#include "ke_own.h"
#include "ke_win32.h"

#define USER_FLAGS  0x250dd5                    /* of EFLAGS: what user code may change */
#define ALWAYS_FLAGS 0x202
#define USER_MXCSR  0xffff
#define MOST_LOOKS  1000                        /* at a carrier that is about to leave */
#define XSTATE_X87_SSE 3

#define ALL_REGISTERS (CONTEXT_CONTROL | CONTEXT_INTEGER | CONTEXT_FLOATING_POINT)

#define START_ROOM 0x28                         /* of the stack: as behind a call, with the home space of the caller */
#define FIRST_CONTROL_WORD 0x27f                /* of a new thread [doc: x64 calling convention] */
#define FIRST_MXCSR 0x1f80

NTSTATUS NTAPI NtContinue( CONTEXT *, BOOLEAN );
__declspec(dllimport) void NTAPI RtlUserThreadStart( LPTHREAD_START_ROUTINE, void * );

/* Copy the registers that flags ask for, except CS and SS. */
static void copy_registers( CONTEXT *to, const CONTEXT *from, DWORD flags )
{
    ULONG_PTR rsp = to->Rsp;

    if ((flags & CONTEXT_INTEGER) == CONTEXT_INTEGER)
    {
        memcpy( &to->Rax, &from->Rax, 16 * sizeof(from->Rax) );
        to->Rsp = rsp;                          /* belongs to CONTEXT_CONTROL */
    }
    if ((flags & CONTEXT_CONTROL) == CONTEXT_CONTROL)
    {
        to->Rip    = from->Rip;
        to->Rsp    = from->Rsp;
        to->EFlags = from->EFlags;
    }
    if ((flags & CONTEXT_FLOATING_POINT) == CONTEXT_FLOATING_POINT)
    {
        to->FltSave = from->FltSave;
        to->MxCsr   = from->MxCsr;
    }
}

/* ---- where they are ---- */

/* Is the home thread in its parking place, and w->sp good? */
static int is_parked( const struct ums_context *w, const CONTEXT *home )
{
    if (!ums_carry) return w->inside.place == INSIDE_PARKED;
    return (ULONG_PTR)w->home - home->Rsp < HOME_SIZE;
}

static void user_part_registers( const struct ums_context *w, CONTEXT *context )
{
    const struct ke_user_part *part = w->sp;

    context->Rip    = part->rip;
    context->Rsp    = (ULONG_PTR)(part + 1);
    context->EFlags = ALWAYS_FLAGS;
    context->Rax    = w->success;
    context->Rcx    = context->Rdx = context->R8 = context->R9 = context->R10 = context->R11 = 0;
    context->Rbx    = part->rbx;
    context->Rbp    = part->rbp;
    context->Rsi    = part->rsi;
    context->Rdi    = part->rdi;
    context->R12    = part->r12;
    context->R13    = part->r13;
    context->R14    = part->r14;
    context->R15    = part->r15;
    context->MxCsr  = part->mxcsr;
    memset( &context->FltSave, 0, sizeof(context->FltSave) );
    context->FltSave.ControlWord = part->control_word;
    context->FltSave.MxCsr       = part->mxcsr;
    context->FltSave.MxCsr_Mask  = 0xffff;
    memcpy( &context->Xmm6, part->xmm6_15, sizeof(part->xmm6_15) );
}

/* Copy the general registers; saved_all: and the extended state. */
static void preempted_registers( const struct ums_context *w, CONTEXT *context, int saved_all )
{
    const CONTEXT *saved = (const CONTEXT *)w->context;

    copy_registers( context, saved, CONTEXT_CONTROL | CONTEXT_INTEGER );
    context->SegCs = saved->SegCs;
    context->SegSs = saved->SegSs;
    if (!saved_all) return;
    if (ums_carry)
        memcpy( &context->FltSave, (const char *)w->home - HOME_SIZE, sizeof(context->FltSave) );
    else context->FltSave = saved->FltSave;
    context->MxCsr = context->FltSave.MxCsr;
}

/* The carrier as it stands. Where a suspender has put it, all but the general registers is still the worker's; a moment later
   that is in the parking place, and what the carrier has is the scheduler's. In between nothing can be told, so it is looked
   at again: it goes on, unless the program has suspended it there. given: NULL, or a context that gets what lies behind it, which
   is read first: if the carrier stands there after that, it has stood there before. */
static void carried_registers( struct ums_context *w, CONTEXT *context, CONTEXT *given )
{
    uint32_t tid = ke_scheduler_tid( w->owner );
    HANDLE thread = tid ? OpenThread( THREAD_GET_CONTEXT, FALSE, tid ) : NULL;
    int tries, stands = 0;

    for (tries = 0; thread && !stands && tries < MOST_LOOKS; tries++)
    {
        if (given) ke_get_xstate( thread, given );
        if (ums_get_context_native( thread, context ) || !w->preempted) break;
        stands = context->Rip == (ULONG_PTR)ke_preempted && context->Rcx == (ULONG_PTR)w;
        if (!ums_worker_is_carried( w )) break;
        if (!stands) SwitchToThread();
    }
    if (given && !stands) ke_get_kept_xstate( w, given );
    if (thread) CloseHandle( thread );
    if (w->preempted) preempted_registers( w, context, !stands );
}

void ke_kept_registers( const struct ums_context *w, CONTEXT *context )
{
    if (w->preempted) preempted_registers( w, context, 1 );
    else user_part_registers( w, context );
}

/* Is it in a call that the scheduler knows of, which ends with ums_worker_back? */
static int is_announced( const struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );

    return word_state( word ) != WORKER_RUNNING && !(word & WORD_STOPPED);
}

/* Where the registers are those of a call that the program has made, and not those of code which runs. */
struct call_place
{
    int       in_call;                          /* our frames were unwound */
    uintptr_t returns;                          /* the stack pointer with which the call returns, if it came through the hook; or 0 */
};

/* Our code is like any other of the process, and goes on where it is, except for a call that the system would make: that
   is one which came through the hook, or which the scheduler knows of (announced). At the hook's first and last instructions the call
   is not begun, or over. Registers that are kept for its end are those that it has. */
static void call_registers( struct ums_context *w, CONTEXT *context, int announced, struct call_place *place )
{
    struct ke_unwound out;

    ke_unwind( context, &out );
    place->returns = out.returns;
    place->in_call = place->returns || (out.frames > 1 && announced);
    if (!place->in_call) return;
    *context = w->set && ke_own( w )->set_for == place->returns ? *(const CONTEXT *)ke_own( w )->set : out.context;
}

/* The worker's maker may have asked too early: the host knows it since the thread runs. It has stopped by now. */
static const NT_TIB *first_teb( struct ums_context *w )
{
    struct thread_basic_info info = { 0 };
    HANDLE thread;

    if (w->teb) return w->teb;
    if (!(thread = OpenThread( THREAD_QUERY_INFORMATION, FALSE, atomic_load( &w->tid ) ))) return NULL;
    NtQueryInformationThread( thread, ThreadBasicInformation, &info, sizeof(info), NULL );
    CloseHandle( thread );
    return info.teb;
}

/* Those of a worker that has not begun, whose thread is in the host's start code, or parked in ours: where the system has a new thread begin, in
   RtlUserThreadStart, whose arguments are the start routine and its parameter [guess]. They are the same from the thread's creation on. */
static void first_registers( struct ums_context *w, CONTEXT *context )
{
    const NT_TIB *teb;

    if (ke_own( w )->sent)
    {
        copy_registers( context, ke_own( w )->set, ALL_REGISTERS );
        return;
    }
    teb = first_teb( w );
    context->Rip    = (ULONG_PTR)RtlUserThreadStart;
    if (teb) context->Rsp = (ULONG_PTR)teb->StackBase - START_ROOM;
    context->EFlags = ALWAYS_FLAGS;
    context->Rcx    = (ULONG_PTR)w->start;
    context->Rdx    = (ULONG_PTR)w->start_param;
    context->Rax = context->Rbx = context->Rbp = context->Rsi = context->Rdi = context->R8 = context->R9 = 0;
    context->R10 = context->R11 = context->R12 = context->R13 = context->R14 = context->R15 = 0;
    memset( &context->FltSave, 0, sizeof(context->FltSave) );
    context->FltSave.ControlWord = FIRST_CONTROL_WORD;
    context->MxCsr = context->FltSave.MxCsr = FIRST_MXCSR;
    context->FltSave.MxCsr_Mask  = 0xffff;
}

/* home: all registers of its thread, which become those of the program. given: as above. */
static struct call_place find_registers( struct ums_context *w, CONTEXT *home, CONTEXT *given )
{
    struct call_place place = { 0 };

    if (!ums_worker_has_begun( w )) first_registers( w, home );
    else if (ums_worker_is_carried( w )) carried_registers( w, home, given );
    else if (w->preempted)
    {
        preempted_registers( w, home, 1 );
        if (given) ke_get_kept_xstate( w, given );
    }
    else if (is_parked( w, home ))
    {
        user_part_registers( w, home );
        call_registers( w, home, w->in_call != 0, &place );
    }
    else call_registers( w, home, is_announced( w ), &place );
    return place;
}

void ke_worker_context( struct ums_context *w, void *thread, CONTEXT *context )
{
    CONTEXT all;

    all.ContextFlags = ALL_REGISTERS;
    if (ums_get_context_native( thread, &all )) return;
    find_registers( w, &all, ke_has_xstate( context ) ? context : NULL );
    copy_registers( context, &all, context->ContextFlags );
}

/* ---- new ones ---- */

/* Copy the registers of a worker to w->context. It stands still, and nobody can execute it. What user code may not set in
   EFlags and MXCSR is left out, as by Windows [guess]: it would fault in the switch, on the scheduler's thread. */
void ke_keep_registers( struct ums_context *w, CONTEXT *all )
{
    all->EFlags = (all->EFlags & USER_FLAGS) | ALWAYS_FLAGS;
    all->FltSave.MxCsr &= USER_MXCSR;
    memcpy( w->context, all, sizeof(*all) );
    if (ums_carry)
    {
        char *area = (char *)w->home - HOME_SIZE;
        uint64_t *header = (uint64_t *)(area + sizeof(all->FltSave));   /* what xrstor reads */

        memcpy( area, &all->FltSave, sizeof(all->FltSave) );
        if (!w->preempted) memset( header, 0, 64 );
        *header |= XSTATE_X87_SSE;
    }
    w->preempted = 1;
}

static int keep_set( struct ke_own *own, const CONTEXT *all )
{
    if (!own->set && !(own->set = VirtualAlloc( NULL, sizeof(*all), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE ))) return 0;
    memcpy( own->set, all, sizeof(*all) );
    return 1;
}

/* For the end of a call, which returns with that stack pointer. They have a place of their own: in a callback or an APC of the call
   the worker may be preempted, and given registers for that. The worker is held and stands still, so only this thread writes
   here, and the worker reads it when it has been let go on (IF_SET): if it stands before its look, it sees all; behind it,
   its program counter is in the hook's frame, and place->returns is 0. result: Rax is that of the call's beginning. */
static int keep_for_call( struct ums_context *w, const CONTEXT *all, uintptr_t returns, int result )
{
    struct ke_own *own = ke_own( w );
    const int again = w->set && own->set_for == returns;

    if (!keep_set( own, all )) return 0;
    own->set_for = returns;
    if (!result || !again) own->set_all = !result;
    w->set = 1;
    return 1;
}

static int are_same( const CONTEXT *a, const CONTEXT *b )
{
    return !memcmp( &a->Rax, &b->Rax, 17 * sizeof(a->Rax) ) &&           /* Rax .. R15, Rip */
           !((a->EFlags ^ b->EFlags) & USER_FLAGS) && !memcmp( &a->FltSave, &b->FltSave, sizeof(a->FltSave) );
}

static ums_status set_debug_registers( void *thread, const CONTEXT *context )
{
    CONTEXT debug = *context;

    if ((context->ContextFlags & CONTEXT_DEBUG_REGISTERS) != CONTEXT_DEBUG_REGISTERS) return STATUS_SUCCESS;
    debug.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    return ums_set_context_native( thread, &debug );
}

/* The worker is held, and has not begun. Its thread takes from here what it begins with, when it is executed for the first time: a start routine
   and a parameter, or registers, if it is sent elsewhere. Of these the upper halves of YMM registers are left out. It stands still until it is let
   go on, and nobody executes it meanwhile, so only this thread writes here. The worker reads them behind the exchange that says that it has
   begun: one that was stopped before that sees all; behind it its registers are set like others. */
static ums_status set_first_registers( struct ums_context *w, void *thread, CONTEXT *now, const CONTEXT *context )
{
    struct ke_own *own = ke_own( w );
    CONTEXT wanted;

    first_registers( w, now );
    wanted = *now;
    copy_registers( &wanted, context, context->ContextFlags );
    own->sent = wanted.Rip != (ULONG_PTR)RtlUserThreadStart;
    if (!own->sent)
    {
        w->start       = (void *)wanted.Rcx;
        w->start_param = (void *)wanted.Rdx;
    }
    else if (!keep_set( own, &wanted ))
    {
        own->sent = 0;
        return STATUS_NO_MEMORY;
    }
    return set_debug_registers( thread, context );
}

void ke_go_where_sent( struct ums_context *w )
{
    struct ke_own *own = ke_own( w );

    if (!own->sent) return;
    own->sent = 0;
    ums_worker_go_home( w );
    ke_keep_registers( w, own->set );
    ke_continue( w );
}

/* A thread that another process has suspended in the middle of a quick call has Wine's registers only, and Wine has answered
   from there when all was read, so its in_call is set by then (ke_signal.c). Its handler goes on with the call. */
ums_status ke_set_worker_context( struct ums_context *w, void *thread, const CONTEXT *context, const CONTEXT *given )
{
    const int has_xstate = ke_has_xstate( context );
    int parked, same, keep;
    struct call_place place;
    CONTEXT now, wanted;
    ums_status status;

    now.ContextFlags = ALL_REGISTERS | CONTEXT_SEGMENTS;
    if ((status = ums_get_context_native( thread, &now ))) return status;
    if (!ums_worker_has_begun( w )) return set_first_registers( w, thread, &now, context );
    parked = is_parked( w, &now );
    place = find_registers( w, &now, NULL );
    wanted = now;
    copy_registers( &wanted, context, context->ContextFlags );
    same = !w->preempted && (parked || place.in_call) && are_same( &now, &wanted );
    keep = w->preempted || parked || (place.in_call && !atomic_load( &ke_own( w )->in_call ));
    if (!keep && !same) return ums_set_context_native( thread, has_xstate ? given : context );
    if (!same && place.returns)
    {
        if (!keep_for_call( w, &wanted, place.returns, wanted.Rax == now.Rax )) return STATUS_NO_MEMORY;
    }
    else if (!same) ke_keep_registers( w, &wanted );
    if (has_xstate) ke_set_kept_xstate( w, given );
    return set_debug_registers( thread, context );
}

/* From assembly, at the beginning of a call that returns with that stack pointer, before it counts as one (call_registers): one that
   is made in the call of the registers returns with a lower one. So the other call was left, by an exception or a longjmp in a
   callback. Not for the home thread in its parking place, which has another stack, nor on the stack of a fiber above the one of
   that call (inside.h), to which a callback has switched. */
void ke_call_begins( struct ums_context *w, uintptr_t returns )
{
    const uintptr_t lowest = *(const uintptr_t *)((const char *)NtCurrentTeb() + TEB_STACK_BOTTOM), set_for = ke_own( w )->set_for;
    const int stack_is_known = returns - lowest < ke_stack_base() - lowest;

    if ((uintptr_t)w->home - returns >= HOME_SIZE && returns >= set_for && !(stack_is_known && set_for < lowest)) w->set = 0;
}

/* From assembly, when a call that came through the hook returns to the program, but for this: somebody has set registers of the
   worker. In an APC or a callback that ran in the call they stay kept. */
uint64_t ke_call_over( uint64_t result, uintptr_t returns )
{
    struct ums_context *w = ke_current();
    struct ke_own *own = ke_own( w );

    if (!w->set || own->set_for != returns) return result;
    if (!own->set_all) ((CONTEXT *)own->set)->Rax = result;
    w->set = 0;
    ke_keep_registers( w, own->set );
    ke_continue( w );
}

/* On the home thread: go on with the registers in w->context. */
void ke_continue( struct ums_context *w )
{
    CONTEXT context;

    if (ums_carry) ke_load_preempted( w, w->teb );
    memcpy( &context, w->context, sizeof(context) );
    context.ContextFlags = ALL_REGISTERS;
    w->preempted = 0;
    for (;;) NtContinue( &context, FALSE );
}

/* ---- the end of a stack ---- */

NTSYSAPI void NTAPI RtlRaiseException( EXCEPTION_RECORD * );

/* From stack_x86_64.S, before a call has begun: the stack has just been used up. The program's handler may leave the call by
   longjmp, so nothing may be counted yet; and it may take all that is left, so a worker is at home. */
void ums_stack_overflow( void )
{
    EXCEPTION_RECORD record = { .ExceptionCode = (DWORD)EXCEPTION_STACK_OVERFLOW };
    struct ums_context *self = ke_current();

    if (self && self->kind == CONTEXT_WORKER) ums_worker_go_home( self );
    RtlRaiseException( &record );
}
