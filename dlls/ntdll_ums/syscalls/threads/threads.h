/*
 * Shared by the handlers of calls that stop threads, end them, or read and set their registers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_THREADS_H
#define UMS_THREADS_H

#include <windows.h>
#include "core/patience.h"
#include "core/ums_core.h"
#include "syscalls/hook/hook.h"

static inline NTSTATUS native( struct ums_call *call )
{
    return (NTSTATUS)ums_call_native( call, NULL );
}

/* ---- thread_calls.c ---- */

int ums_has_access( HANDLE handle, ACCESS_MASK access );

/* The program has suspended the thread in the middle of something, COUNT times, and terminates it now. It would never
   come out of that. So these suspensions are void; what it still runs of the program, if anything, it would have run
   in another moment. Those that other threads have made for a moment must not be among them. */
void ums_void_suspensions( void *thread, ULONG count );

/* Does the thread stand still behind the hook, in a call that the hook has passed on? */
int ums_is_in_native_call( const CONTEXT *context );

/* Does the thread stand still in our code? Not if it sleeps, or makes the program's call through
   the copy of a patched stub. */
int ums_is_in_our_code( const CONTEXT *context );

/* A thread that is not a worker stands still with these general registers. Is it ending a worker's wait
   (wait.c), or does it hold the lock of the local objects (objects.c)? Then it must neither stay there
   nor be terminated. */
int ums_is_ending_wait( uint32_t tid, const CONTEXT *registers );
/* A plain thread or a scheduler: does it stand still in a wait for a local object that became
   real? */
int ums_is_in_moved_wait( uint32_t tid, const CONTEXT *registers );
/* A thread that is not a worker was just suspended, and is resumed if it stands where others wait for it. s: its
   scheduler, or NULL. handle: the program's, with which it was suspended. late: it may stay with a lock of the host's (ums_spins_too_long).
   *seen: it has stopped, for certain. */
enum leaves
{
    LEAVES_NOT,                                 /* it may stay where it is */
    LEAVES,                                     /* it runs again */
    LEAVES_LATER                                /* it would, but another suspension keeps it */
};
enum leaves ums_let_leave( uint32_t tid, const struct ums_scheduler *s, void *handle, int late, int *seen );
/* The caller has tried in vain to stop a thread, for that long. A try may itself have taken long, because the thread waited for its turn: so only
   after some of them is enough tried. */
#define ENOUGH_TRIES 8
/* The caller has tried to terminate the thread. It may be in no section at all: another process has
   ended the former thread of this id there. tries: before this one. */
void ums_forget_late_hold( uint32_t tid, int tries, struct ums_wait *wait );
/* Let a thread run that was resumed, the longer the more tries there have been. Its registers are not known
   meanwhile. */
void ums_let_advance( uint32_t tid, int tries );

/* ---- hold.c ---- */

/* Call this in a loop that waits for another thread: that one may be waiting for this one. */
void ums_let_others_go_on( struct ums_context *self, struct ums_wait *wait );

/* The thread of a new worker runs code of the host until it parks. On Windows it has not begun, and has no locks [guess]; here one that
   stands still there may have the loader's lock. So wait until it has parked, unless the program has suspended it before. 0: it
   may still run such code. Call it while nothing is held. */
int ums_wait_for_start( const struct ums_context *target, uint32_t tid );

/* Call this before a suspension, while nothing is held. If several threads suspended the worker in turn, and
   each found it in a section that others wait for, they would together keep it from leaving the section. The
   wait has a limit: another process may have ended the thread there, which the call that follows reports. */
void ums_wait_while_busy( const struct ums_context *target );

/* A suspension by the program. */
struct suspension
{
    HANDLE   thread;                            /* the program's handle may have too few rights */
    HANDLE   used;                              /* this one, or the program's if there is none */
    uint64_t word;                              /* with this suspension */
    int      stops;                             /* its thread is suspended for it, and not for the worker's state */
};

enum suspend_begun
{
    SUSPEND_BEGUN,                              /* until ums_suspend_end */
    SUSPEND_NOT,                                /* the thread has ended: the host knows */
    SUSPEND_REFUSED                             /* the count is at its maximum, or too many threads suspend it for too long */
};

/* From here on nobody can execute the worker, and a resume waits. If it has begun it is the caller's turn (ums_stop_begin), which
   ums_suspend_try ends, or the caller. */
enum suspend_begun ums_suspend_begin( struct ums_context *self, struct ums_context *target, uint32_t tid,
                                      struct suspension *suspension );

/* Make the program's suspension, and take the worker off its scheduler. *busy: the thread stood in such a section, and is no longer
   suspended: let go of everything, and try again. late: a lock of the host's is no such section any more (ums_spins_too_long). */
NTSTATUS ums_suspend_try( struct ums_call *call, struct ums_context *target, uint32_t tid,
                          struct suspension *suspension, int late, int *busy );

/* 0: a resume has undone it meanwhile. */
int ums_suspend_end( struct ums_context *self, struct ums_context *target, struct suspension *suspension, int made );

/* A hold of the word alone (ums_core.h). 0 if there is nothing to hold. Do not call it while self
   is busy; self is busy from here until ums_let_go_word. */
int ums_hold_word( struct ums_context *self, struct ums_context *target, uint32_t tid,
                   enum hold_which which );
void ums_let_go_word( struct ums_context *self, struct ums_context *target );

/* A hold of a worker: its thread stands still where nobody waits for it, it is off its carrier, and
   nobody can execute it. */
struct hold
{
    int    held;                                /* the thread is suspended for this hold */
    HANDLE thread;
};

/* tid: the worker's, when the caller found it. HOLD_WAIT: it is held or suspended by somebody else, or busy. HOLD_REFUSED: there are too
   many holds, or the worker has ended, or its thread cannot be opened. Waits for nothing but its turn, so self may be busy. join: as for
   ums_context_hold. If it is held self is busy until ums_let_go. */
enum hold_taken ums_hold_once( struct ums_context *self, struct ums_context *target, uint32_t tid, int join,
                               struct hold *hold );
/* ums_hold_once in the caller's turn, where self is busy already. It is not taken off its carrier or scheduler. If it is not held, the caller
   closes hold->thread, if that is not NULL, behind its turn. */
enum hold_taken ums_hold_try( struct ums_context *target, uint32_t tid, int join, struct hold *hold );
/* ums_hold_once until it is not HOLD_WAIT. 0: it is refused. Do not call it while self is busy. */
int ums_hold_worker( struct ums_context *self, struct ums_context *target, uint32_t tid, struct hold *hold );

/* dead: the thread was ended. */
void ums_let_go( struct ums_context *self, struct ums_context *target, struct hold *hold, int dead );

/* ---- hook_kill.c ---- */

/* The thread was ended: if it worked or waited for a factory, others do so in its place. The caller holds itself. */
void ums_hand_killed( uint32_t tid );

/* The thread cannot be stopped: it has ended, or the program has suspended it as often as a thread can be. tries:
   0 if it may have ended before the call, so that the host decides what the call gives. Otherwise the program may
   have closed its handle since. thread: the caller's own handle, or NULL if there is no such thread any more. */
NTSTATUS ums_kill_unstopped( struct ums_call *call, HANDLE thread, int tries );

/* ---- hook_kill_scheduler.c ---- */

/* Try until the scheduler has ended by itself, or can be ended here: 1, and *status is the result. 0: it has left
   scheduling mode, and is a plain thread. Another thread may have the context then. */
int ums_kill_scheduler( struct ums_call *call, struct ums_context *target, uint32_t tid, struct ums_context *self,
                        NTSTATUS *status );

#endif /* UMS_THREADS_H */
