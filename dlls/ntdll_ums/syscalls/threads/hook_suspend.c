/*
 * Handlers of calls that suspend and resume threads. They are called on every thread of the
 * process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "core/objects.h"
#include "factory/factory_host.h"
#include "syscalls/hook/hook.h"
#include "syscalls/threads/threads.h"

/* A thread that sees the count may resume this one, and waits for the suspension (ums_resume_worker). A thread that stops
   this one between the count and the block would leave it STOPPED, and two threads that resume it would have it executed
   while its thread runs towards the block: so it is busy until then.

   self: also a worker whose thread has not yet begun as one, and suspends itself in DLL_THREAD_ATTACH. It has no scheduler to tell. */
static uint64_t suspend_self( struct ums_call *call, struct ums_context *self )
{
    NTSTATUS status;
    uint64_t word;
    int blocked;

    ums_worker_busy( self, 1 );
    atomic_store( &self->self_suspending, 1 );
    ums_context_suspended( self );
    blocked = ums_worker_block( self, 0 );
    ums_worker_busy( self, -1 );
    status = native( call );
    atomic_store( &self->self_suspending, 0 );
    if (status) ums_context_resumed( self, 0, &word );
    ums_worker_back_from( self, blocked );
    return (uint64_t)status;
}

#define TRIES 1000
#define LONG  32                                /* tries: ums_let_advance still waits for less than the pause */

/* It stands still, and may be a thread of a factory: another one runs in its place. Nothing is known of one whose registers may not be
   read: it may be about to stop, and keeps its place. Returns the queue that has a place now, or NULL. */
static struct ums_queue *takes_place( uint32_t tid )
{
    struct ums_hand *h = ums_hand_of_thread( tid );

    return h ? ums_hand_suspended( h ) : NULL;
}

/* A plain thread or a scheduler. Whoever suspends the carrier's worker meanwhile must not take the carrier for
   one that stands still for good, and leave the worker on it: the worker would run on, suspended. So until this
   suspension is final it counts as that of a preempter (ke_preempt), which tries again. The number is raised
   before the thread is suspended, and memory of schedulers is never returned. If the suspension is final the thread does not
   have the lock of local objects, which is taken for its wait: ums_let_leave would have found it there. */
static NTSTATUS try_to_suspend( struct ums_call *call, uint32_t tid, struct ums_scheduler *s,
                                struct ums_context *self, int late, enum leaves *leaves )
{
    struct ums_queue *q = NULL;
    NTSTATUS status;
    int seen = 0;

    ums_stop_begin();
    ums_hold_self( self, 1 );                   /* if it were stopped here, the number would stay up */
    if (s) ums_preempter_begins( s );
    status = native( call );
    *leaves = status ? LEAVES_NOT : ums_let_leave( tid, s, (HANDLE)call->args[0], late, &seen );
    if (!status && *leaves == LEAVES_NOT) ums_objects_thread_suspended( tid );
    if (seen && *leaves == LEAVES_NOT) q = takes_place( tid );
    if (s) ums_preempter_ends( s );
    ums_stop_end();
    if (q) ums_queue_check( q );
    ums_hold_self( self, -1 );
    return status;
}

/* The calling thread, not a worker. A thread of a factory that suspends itself gives its place to another one. */
static NTSTATUS suspend_own( struct ums_call *call )
{
    struct ums_hand *h = ums_hand_current();
    const int away = h && ums_hand_blocks( h );
    NTSTATUS status = native( call );

    if (away) ums_hand_is_back( h );
    return status;
}

/* A thread that is ending a wait or holds a worker is let go on for a moment, and so is a scheduler in the middle
   of a switch. If another thread has suspended it there before, or stops it for a moment now, it does not run
   when we resume it: such tries have a limit. Otherwise it is given as long as it needs: nobody else would get
   the lock, this thread included. Between two tries nothing is held: it may be suspending this thread. The first try does not
   count, nor is one enough: each waits for its turn. A scheduler that was found in a switch again and again is asked to pause where it
   can be suspended, and the next try comes before that is over. */
static NTSTATUS suspend_other( struct ums_call *call, uint32_t tid, struct ums_context *target,
                               struct ums_context *self )
{
    struct ums_scheduler *s = target ? target->scheduler : NULL;
    int tries = 0, kept = 0, late;
    struct ums_wait wait;
    enum leaves leaves;
    CONTEXT context;
    NTSTATUS status;

    if (!tid) return native( call );
    if (tid == GetCurrentThreadId()) return suspend_own( call );
    while (kept < TRIES)
    {
        late = tries + kept && ums_spins_too_long( &wait, tries + kept );
        status = try_to_suspend( call, tid, s, self, late, &leaves );
        if (leaves == LEAVES_NOT) return status;
        if (!tries && !kept) wait = ums_wait_begins();
        if (leaves == LEAVES)
        {
            if (s && tries >= ENOUGH_TRIES) atomic_store( &s->pause_wanted, 1 );
            ums_let_advance( tid, s && tries > LONG ? LONG : tries );
            tries++;
        }
        else
        {
            kept++;
            SwitchToThread();
        }
        if (tries + kept < ENOUGH_TRIES ||
            !ums_give_up_after( UMS_MORE_PATIENCE, &wait, "a suspended thread to end a wait, a switch or a hold" )) continue;
        ums_thread_forget_hold( tid );
        break;
    }
    context.ContextFlags = CONTEXT_CONTROL;
    ums_stop_begin();                           /* so nobody is stopped with what it counts in its turn */
    status = native( call );
    /* that waits until it has stopped, unless the program's handle may not: before that it might take the next turn */
    if (!status) ums_get_context_native( (HANDLE)call->args[0], &context );
    ums_stop_end();
    return status;
}

/* The worker was stopped while it ran, and resumed since. Its thread stays suspended once until the worker
   is executed, so a further suspension is only counted. The program is told how often it has suspended the worker
   before. The host's count may be higher, because of a hold or of that one; it is the right one if another process has
   suspended the thread, too (known with UMS_FOREIGN only). A suspension that is only counted needs the right of the other
   one. A worker that has ended meanwhile is a plain thread. */
static NTSTATUS suspend_worker( struct ums_call *call, uint32_t tid, struct ums_context *target,
                                struct ums_context *self )
{
    struct suspension suspension;
    enum suspend_begun begun;
    int busy, made, counts;
    struct ums_wait wait;
    NTSTATUS status;
    uint32_t count;

    if (!ums_has_access( (HANDLE)call->args[0], THREAD_SUSPEND_RESUME )) return native( call );
    ums_wait_for_start( target, tid );
    wait = ums_wait_begins();
    do
    {
        ums_wait_while_busy( target );
        if ((begun = ums_suspend_begin( self, target, tid, &suspension )) == SUSPEND_NOT)
            return suspend_other( call, tid, NULL, self );
        if (begun == SUSPEND_REFUSED) return STATUS_SUSPEND_COUNT_EXCEEDED;
        count = word_suspended( suspension.word ) - 1;
        if (!count && (suspension.word & WORD_STOPPED))
        {
            ums_stop_end();
            ums_suspend_end( self, target, &suspension, 1 );
            return (NTSTATUS)ums_store_ulong( call->args[1], 0 );
        }
        status = ums_suspend_try( call, target, tid, &suspension, ums_spins_too_long( &wait, wait.moments ), &busy );
        made = !status && !busy;
        counts = ums_suspend_end( self, target, &suspension, made );
        if (!busy) break;
        SwitchToThread();                       /* nothing is held */
        ums_wait_moment( &wait );
    }
    while (counts);
    if (status || (suspension.word & WORD_FOREIGN)) return status;
    return (NTSTATUS)ums_store_ulong( call->args[1], count );
}

static uint32_t thread_id( const struct ums_call *call, struct ums_context *self )
{
    HANDLE thread = (HANDLE)call->args[0];

    return thread == GetCurrentThread() ? GetCurrentThreadId() : ums_thread_id( thread, self );
}

uint64_t ums_special_suspend( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self )
{
    uint32_t tid = thread_id( call, self );
    struct ums_context *target = tid ? ums_context_of_thread( tid ) : NULL;

    (void)row;
    if (!target || target->kind != CONTEXT_WORKER) return (uint64_t)suspend_other( call, tid, target, self );
    if (tid == GetCurrentThreadId()) return suspend_self( call, target );
    return (uint64_t)suspend_worker( call, tid, target, self );
}

/* Nobody in this process has suspended it since: it is the caller's turn. */
static void has_place_again( uint32_t tid )
{
    struct ums_hand *h = ums_hand_of_thread( tid );

    if (h) ums_hand_resumed( h );
}

/* Not while another thread is being suspended for a moment, which this one may be: this would undo that suspension and not the
   program's, which is counted later, and which nobody would undo. */
static NTSTATUS resume_in_turn( struct ums_call *call, uint32_t tid, struct ums_context *self )
{
    uint64_t args[UMS_MAX_ARGS];
    ULONG before = 0;
    NTSTATUS status;

    ums_call_args( call, args );
    args[1] = (uint64_t)(ULONG_PTR)&before;
    ums_stop_begin();
    ums_hold_self( self, 1 );
    status = (NTSTATUS)ums_call_native( call, args );
    if (!status) ums_objects_thread_resumed( tid, before );
    if (!status && before <= 1) has_place_again( tid );
    ums_stop_end();
    ums_hold_self( self, -1 );
    return status ? status : (NTSTATUS)ums_store_ulong( call->args[1], before );
}

/* A scheduler that stood still in a call of its worker has kept a worker that was suspended or killed
   meanwhile. The worker gives way behind that call. But another process may have suspended the scheduler
   in the middle of a switch; then the worker is in its own code at once, and may make no call for a long
   time. s->current is read while the scheduler still stands still. */
static NTSTATUS resume_scheduler( struct ums_call *call, uint32_t tid, struct ums_context *target,
                                  struct ums_context *self )
{
    struct ums_scheduler *s = target->scheduler;
    struct ums_context *w = s ? s->current : NULL;
    NTSTATUS status = resume_in_turn( call, tid, self );
    struct ums_wait wait = ums_wait_begins();

    if (status || !w) return status;
    ums_hold_self( self, 1 );
    if (atomic_load( &w->kill_pending )) ums_worker_killed_finish( w );
    else
    {
        /* a thread that suspends the worker may have given up because of this scheduler */
        while ((atomic_load( &w->word ) & WORD_SUSPENDING) &&
               !ums_give_up_after( UMS_MORE_PATIENCE, &wait, "the suspension of a scheduler's worker" ))
            ums_let_others_go_on( self, &wait );
        ums_worker_kept( w );
    }
    ums_hold_self( self, -1 );
    return status;
}

/* This process counts every suspension before it makes it. If none is counted, leave the thread
   alone: a suspension may be counted and made at this moment, and a worker that was stopped in user
   code stays suspended until it is executed. (Another process resumes what it has suspended.) The program is told what
   it is told by a suspension. */
static NTSTATUS resume_counted( struct ums_call *call, struct ums_context *target, uint32_t count, uint64_t word )
{
    NTSTATUS status;
    ULONG before;

    if (!count || (count == 1 && ums_worker_continued( target, word )))
        return (NTSTATUS)ums_store_ulong( call->args[1], count );
    if ((status = ums_resume_worker( (HANDLE)call->args[0], target, &before ))) return status;
    return (NTSTATUS)ums_store_ulong( call->args[1], (word & WORD_FOREIGN) ? before : count );
}

/* The thread may end, and its context be deleted and given to a new thread. This must not undo the suspension of that
   one, which would never begin: so the context is kept meanwhile. */
static NTSTATUS resume_worker( struct ums_call *call, uint32_t tid, struct ums_context *target,
                               struct ums_context *self )
{
    struct ums_wait wait = ums_wait_begins();
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    int alive, waits = 1;
    uint32_t count = 0;
    uint64_t word;

    ums_hold_self( self, 1 );
    while ((alive = ums_context_ref( target, tid )))
    {
        count = ums_context_resumed( target, waits, &word );
        if (count != SUSPEND_WAIT) status = resume_counted( call, target, count, word );
        if (count == 1) ums_objects_worker_resumed( target );
        ums_context_unref( target );            /* as in ums_suspend_begin */
        if (count != SUSPEND_WAIT) break;
        ums_let_others_go_on( self, &wait );
        waits = !ums_give_up_after( UMS_MORE_PATIENCE, &wait, "the suspension of a worker, to resume it" );
    }
    ums_hold_self( self, -1 );                  /* it may be executed by now, and wait for this */
    return alive ? status : resume_in_turn( call, tid, self );  /* it is a plain thread by now, or has ended */
}

uint64_t ums_special_resume( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self )
{
    uint32_t tid = thread_id( call, self );
    struct ums_context *target = tid ? ums_context_of_thread( tid ) : NULL;

    (void)row;
    if (target && target->kind == CONTEXT_SCHEDULER)
        return (uint64_t)resume_scheduler( call, tid, target, self );
    if (!target || !ums_has_access( (HANDLE)call->args[0], THREAD_SUSPEND_RESUME ))
        return (uint64_t)(tid ? resume_in_turn( call, tid, self ) : native( call ));
    return (uint64_t)resume_worker( call, tid, target, self );
}
