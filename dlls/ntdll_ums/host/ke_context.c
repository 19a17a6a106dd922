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
 *   at home in a call          its thread's, our frames unwound: those that the call was made with
 *   at home anywhere else      its thread's
 *
 * New registers of a worker that is parked or in a call are kept in w->context, like those of a
 * preempted worker, until the worker is executed or its call is over. In all other cases they are
 * set in the thread.
 */

#include <windows.h>
#include <winternl.h>
#include <string.h>
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "syscalls/hook/native.h"
#include "ke_own.h"
#include "ke_win32.h"

#define USER_FLAGS  0x250dd5                    /* of EFLAGS: what user code may change */
#define ALWAYS_FLAGS 0x202
#define XSTATE_X87_SSE 3

#define ALL_REGISTERS (CONTEXT_CONTROL | CONTEXT_INTEGER | CONTEXT_FLOATING_POINT)

NTSTATUS NTAPI NtContinue( CONTEXT *, BOOLEAN );

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

static RUNTIME_FUNCTION *our_function( ULONG_PTR base, ULONG_PTR rip )
{
    const IMAGE_NT_HEADERS *nt = (void *)(base + ((const IMAGE_DOS_HEADER *)base)->e_lfanew);
    const IMAGE_DATA_DIRECTORY *dir =
        &nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
    RUNTIME_FUNCTION *table = (void *)(base + dir->VirtualAddress);
    DWORD first = 0, last = dir->Size / sizeof(*table);

    while (first < last)
    {
        DWORD middle = (first + last) / 2;

        if (rip - base < table[middle].BeginAddress) last = middle;
        else if (rip - base >= table[middle].EndAddress) first = middle + 1;
        else return &table[middle];
    }
    return NULL;
}

/* Unwind our frames to their caller. RtlLookupFunctionEntry takes a lock that the worker may hold,
   so this searches our own table. A copy of a stub is a leaf function, and so is libc's code. The
   thread stands still. */
static void unwind_our_frames( CONTEXT *context )
{
    extern IMAGE_DOS_HEADER __ImageBase;
    ULONG_PTR base = (ULONG_PTR)&__ImageBase, frame;
    void *data;

    while (ke_is_our_code( context->Rip, context->Rsp ))
    {
        RUNTIME_FUNCTION *function = our_function( base, context->Rip );

        if (function)
            RtlVirtualUnwind( UNW_FLAG_NHANDLER, base, context->Rip, function, context, &data,
                              &frame, NULL );
        else
        {
            context->Rip = *(const ULONG_PTR *)context->Rsp;
            context->Rsp += sizeof(ULONG_PTR);
        }
    }
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

static void carried_registers( struct ums_context *w, CONTEXT *context )
{
    uint32_t tid = ke_scheduler_tid( w->owner );
    HANDLE thread = tid ? OpenThread( THREAD_GET_CONTEXT, FALSE, tid ) : NULL;

    if (thread) ums_get_context_native( thread, context );
    if (thread) CloseHandle( thread );
    /* stopped there already, but the carrier has not seen it yet */
    if (w->preempted) preempted_registers( w, context, 0 );
}

void ke_kept_registers( const struct ums_context *w, CONTEXT *context )
{
    if (w->preempted) preempted_registers( w, context, 1 );
    else user_part_registers( w, context );
}

/* home: all registers of its thread. */
static void find_registers( struct ums_context *w, CONTEXT *home )
{
    if (ums_worker_is_carried( w )) carried_registers( w, home );
    else if (w->preempted) preempted_registers( w, home, 1 );
    else if (is_parked( w, home ))
    {
        user_part_registers( w, home );
        if (atomic_load( &w->word ) & WORD_WAITS) unwind_our_frames( home );
    }
    else unwind_our_frames( home );
}

void ke_worker_context( struct ums_context *w, void *thread, CONTEXT *context )
{
    CONTEXT all;

    all.ContextFlags = ALL_REGISTERS;
    if (ums_get_context_native( thread, &all )) return;
    find_registers( w, &all );
    copy_registers( context, &all, context->ContextFlags );
}

/* ---- new ones ---- */

/* Copy the registers of a worker to w->context. It stands still, and nobody can execute it. */
void ke_keep_registers( struct ums_context *w, CONTEXT *all )
{
    all->EFlags = (all->EFlags & USER_FLAGS) | ALWAYS_FLAGS;
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

/* A thread that another process has suspended in the middle of a quick call has Wine's registers only, and
   Wine has answered from there when all was read, so in_call is set by then (ke_signal.c). If they were
   kept here, its handler would continue with them and lose the rest of the call. */
ums_status ke_set_worker_context( struct ums_context *w, void *thread, const CONTEXT *context )
{
    int in_a_call;
    CONTEXT all;
    ums_status status;

    all.ContextFlags = ALL_REGISTERS | CONTEXT_SEGMENTS;
    if ((status = ums_get_context_native( thread, &all ))) return status;
    in_a_call = !atomic_load( &ke_own( w )->in_call ) &&
                word_state( atomic_load( &w->word ) ) != WORKER_RUNNING &&
                !(atomic_load( &w->word ) & WORD_STOPPED) && ke_is_our_code( all.Rip, all.Rsp );
    if (!w->preempted && !is_parked( w, &all ) && !in_a_call)
        return ums_set_context_native( thread, context );
    find_registers( w, &all );
    copy_registers( &all, context, context->ContextFlags );
    ke_keep_registers( w, &all );
    if ((context->ContextFlags & CONTEXT_DEBUG_REGISTERS) != CONTEXT_DEBUG_REGISTERS)
        return STATUS_SUCCESS;
    all = *context;
    all.ContextFlags = CONTEXT_DEBUG_REGISTERS;
    return ums_set_context_native( thread, &all );
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
