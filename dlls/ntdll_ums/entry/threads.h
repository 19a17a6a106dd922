/*
 * What the handlers of calls that stop threads, end them, or want their registers have in common.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_THREADS_H
#define UMS_THREADS_H

#include <windows.h>
#include "core/patience.h"
#include "core/ums_core.h"
#include "hook.h"

static inline NTSTATUS native( struct ums_call *call )
{
    return (NTSTATUS)ums_call_native( call, NULL );
}

/* ---- thread_calls.c ---- */

int ums_has_access( HANDLE handle, ACCESS_MASK access );

/* Does it stand still behind the hook, in a call of its program that was handed on? */
int ums_is_in_native_call( const CONTEXT *context );

/* In the middle of something of ours? What sleeps is not, nor what makes a call of its own through
   the copy of a patched stub. */
int ums_is_in_our_code( const CONTEXT *context );

/* A thread that is no worker stands still; registers: the general ones. Is it just ending a worker's wait
   (wait.c), so that it must neither stay there nor be ended? Only told if its code may be that. */
int ums_is_ending_wait( const CONTEXT *registers );
/* A thread that is no worker was just suspended: until it stands still somewhere else. */
void ums_let_end_wait( uint32_t tid );

/* ---- hold.c ---- */

/* While its target, or the target's carrier, stands still, or a scheduler has not been told, a
   worker that does this must not be stopped itself. (A plain thread that is leaves them so.) */
void ums_hold_self( struct ums_context *self, int more );

/* For somebody who has to wait for another: they may be waiting for each other. */
void ums_let_others_go_on( struct ums_context *self );

/* Make somebody's suspension, until the thread stands still where nobody waits for it. */
NTSTATUS ums_suspend_still( struct ums_call *call, const struct ums_context *target, uint32_t tid,
                            struct ums_context *self );

/* From here on it cannot be executed, and who resumes it waits. *stopped: it had been stopped, and
   resumed since. 0: too often already, or the thread has just ended. */
int ums_suspend_begin( struct ums_context *self, struct ums_context *target, uint32_t tid,
                       int *stopped );
void ums_suspend_end( struct ums_context *self, struct ums_context *target, int made );

/* A hold of the word alone (ums_core.h): 0 if there is nothing to hold. Not while self is held,
   which it is until ums_let_go_word. */
int ums_hold_word( struct ums_context *self, struct ums_context *target, uint32_t tid,
                   enum hold_which which );
void ums_let_go_word( struct ums_context *self, struct ums_context *target );

/* A worker whose thread stands still where nobody waits for it, off its carrier, and that cannot be
   executed. */
struct hold
{
    int    held;                                /* the thread is suspended for this hold */
    HANDLE thread;
};

/* 0: held too often already, or ended. */
int ums_hold_worker( struct ums_context *self, struct ums_context *target, struct hold *hold );

/* dead: nobody is there to go on. */
void ums_let_go( struct ums_context *self, struct ums_context *target, struct hold *hold, int dead );

/* ---- hook_kill_scheduler.c ---- */

/* Until it has ended by itself, or can be ended here. It may leave the mode meanwhile, and another
   thread have the context: but only while it runs. */
NTSTATUS ums_kill_scheduler( struct ums_call *call, struct ums_context *target,
                             struct ums_context *self );

#endif /* UMS_THREADS_H */
