/*
 * Signals as Linux lays them out, and handlers of ours in front of Wine's.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_LINUX_SIGNAL_H
#define UMS_LINUX_SIGNAL_H

#include <windows.h>
#include <stdint.h>

struct linux_action
{
    void    *handler;
    uint64_t flags;
    void    *restorer;
    uint64_t mask;
};

struct linux_context
{
    uint64_t flags;
    void    *link;
    uint64_t stack[3];
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
    uint64_t eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t err, trapno, oldmask, cr2;
    XSAVE_FORMAT *fp;
    uint64_t reserved[8];
    uint64_t mask;                              /* the signals that were blocked */
};

typedef void (*linux_handler)( int sig, void *info, struct linux_context *frame );

/* The handler that is there; 0: there is none, or it does not look as Wine's do. */
int linux_signal_get( int sig, struct linux_action *wine );
/* Ours in its place, with its flags and its mask. It is to call the other one. One for each signal. */
void linux_signal_put( int sig, linux_handler ours, const struct linux_action *wine );

/* The registers of a frame, without the extended state beyond XMM. */
#define LINUX_FP_SIZE 0x1a0                     /* of an FXSAVE image: what is registers */
void linux_frame_load( const struct linux_context *frame, CONTEXT *context );

static inline void linux_signal_call( const struct linux_action *wine, int sig, void *info,
                                      struct linux_context *frame )
{
    ((void (__attribute__((sysv_abi)) *)( int, void *, struct linux_context * ))wine->handler)( sig, info, frame );
}

#endif /* UMS_LINUX_SIGNAL_H */
