/*
 * Handlers of ours in front of Wine's, by the raw system call.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "linux_signal.h"
#include "ke_win32.h"

#define LINUX_RT_SIGACTION 13
#define SIGNAL_SET_SIZE    8

#define SA_SIGINFO  0x00000004
#define SA_RESTORER 0x04000000
#define SA_ONSTACK  0x08000000
#define SA_EXPECTED (SA_SIGINFO | SA_RESTORER | SA_ONSTACK)
#define SIGNALS     65                          /* their numbers begin with 1 */

/* signal_x86_64.S. An entry is written once, before Linux is told of it. */
extern char ums_signal_entry[];
extern linux_handler ums_signal_handlers[SIGNALS];
linux_handler ums_signal_handlers[SIGNALS];

int linux_signal_get( int sig, struct linux_action *wine )
{
    return !ums_linux_syscall( LINUX_RT_SIGACTION, sig, 0, (uint64_t)wine, SIGNAL_SET_SIZE ) &&
           (ULONG_PTR)wine->handler > 1 && (wine->flags & SA_EXPECTED) == SA_EXPECTED;
}

void linux_signal_put( int sig, linux_handler ours, const struct linux_action *wine )
{
    struct linux_action action = *wine;

    ums_signal_handlers[sig] = ours;
    action.handler = ums_signal_entry;
    ums_linux_syscall( LINUX_RT_SIGACTION, sig, (uint64_t)&action, 0, SIGNAL_SET_SIZE );
}

void linux_frame_load( const struct linux_context *frame, CONTEXT *context )
{
    memset( context, 0, sizeof(*context) );
    context->ContextFlags = CONTEXT_FULL | CONTEXT_SEGMENTS;
    context->Rax = frame->rax;
    context->Rcx = frame->rcx;
    context->Rdx = frame->rdx;
    context->Rbx = frame->rbx;
    context->Rsp = frame->rsp;
    context->Rbp = frame->rbp;
    context->Rsi = frame->rsi;
    context->Rdi = frame->rdi;
    context->R8  = frame->r8;
    context->R9  = frame->r9;
    context->R10 = frame->r10;
    context->R11 = frame->r11;
    context->R12 = frame->r12;
    context->R13 = frame->r13;
    context->R14 = frame->r14;
    context->R15 = frame->r15;
    context->Rip = frame->rip;
    context->EFlags = (DWORD)frame->eflags;
    context->SegCs = frame->cs;
    context->SegSs = frame->ss;
    memcpy( &context->FltSave, frame->fp, LINUX_FP_SIZE );
    context->MxCsr = context->FltSave.MxCsr;
}
