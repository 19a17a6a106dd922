/*
 * Another thread terminates the thread of a scheduler. The scheduler may be in the middle of an
 * operation, or may carry a worker.
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
#include "syscalls/hook/hook.h"
#include "host/ke_own.h"
#include "host/ke_win32.h"
#include "syscalls/threads/threads.h"

/* Whoever suspends the worker of a carrier that stands still for a moment must not take that for a
   suspension by the program, and leave the worker on the carrier: it would run on, suspended, and if
   its thread was killed, on the stack of a thread that is gone. So this counts as a preempter.
   *others: how often the program has suspended it, at least; the rest may be momentary. */
static int stop( struct ums_scheduler *s, HANDLE thread, ULONG *others )
{
    uint32_t before = ums_preempter_begins( s ), momentary;
    ULONG count;

    if (!ums_suspend_native( thread, &count ))
    {
        momentary = ums_preempters_since( s, before );
        *others = count > momentary ? count - momentary : 0;
        return 1;
    }
    ums_preempter_ends( s );
    return 0;
}

static void go_on( struct ums_scheduler *s, HANDLE thread )
{
    ums_resume_native( thread, NULL );
    ums_preempter_ends( s );
}

enum where { OUTSIDE, CARRIES, WAITS, IN_THE_MIDDLE, CANNOT_STOP };

/* It sends its worker home, or is about to take an upcall. Where its registers are does not tell: it calls the host to
   resume the worker's thread, and another thread may stop that worker meanwhile, and post. If it ended there the worker
   would stay suspended once for ever. Asleep it has done all that; what is posted then is not lost
   (ums_worker_queue_unheard). It stands still, so `waiting` does not change, and of `posted` only AWAITED, to MADE:
   take_worker_off looks at the worker again when it holds it. */
static enum where where_in_wait( struct ums_scheduler *s, enum worker_state state )
{
    uint32_t posted = atomic_load( &s->posted );

    if (posted == POST_NONE) return OUTSIDE;
    if (!atomic_load( &s->waiting )) return IN_THE_MIDDLE;
    if (posted == POST_MADE) return OUTSIDE;
    return state == WORKER_RUNNING || state == WORKER_INKERNEL ? WAITS : IN_THE_MIDDLE;
}

/* The scheduler's thread stands still. *w: the worker that it has executed last. */
static enum where scheduler_where( struct ums_scheduler *s, HANDLE thread, uint32_t tid,
                                   struct ums_context **w )
{
    enum worker_state state = WORKER_NONE;
    enum where where;
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    if (ums_get_context_native( thread, &context )) return IN_THE_MIDDLE;
    if ((*w = s->current) && (*w)->owner == s) state = word_state( atomic_load( &(*w)->word ) );
    if (state == WORKER_CARRIED) return CARRIES;
    if ((where = where_in_wait( s, state )) != OUTSIDE) return where;
    /* asleep in a section that others wait for, or with a handle that only it closes */
    if (ums_is_ending_wait( tid, &context ) || ums_thread_pauses( tid )) return IN_THE_MIDDLE;
    if (ums_is_in_moved_wait( tid, &context )) return OUTSIDE;
    /* in a call of its own, no operation is incomplete */
    if (s->passes && ums_is_in_native_call( &context )) return OUTSIDE;
    return ums_is_in_our_code( &context ) ? IN_THE_MIDDLE : OUTSIDE;
}

/* A scheduler that is being terminated. */
struct kill
{
    struct ums_call      *call;
    struct ums_context   *self, *target;
    struct ums_scheduler *s;                    /* what it was before this try; memory of schedulers stays */
    struct ums_context   *w;                    /* the worker that it has executed last, as far as is known */
    HANDLE                thread;
    uint32_t              tid;
    ULONG                 others;               /* suspensions by the program */
    int                   holds;                /* this try holds the worker */
    int                   fails;                /* this try could not hold it */
    int                   joins;                /* that has lasted too long: it may be held for good, or its thread be gone */
};

/* NULL: the thread has left the mode. Another one may have the context. */
static struct ums_scheduler *scheduler_of( const struct ums_context *context, uint32_t tid )
{
    struct ums_scheduler *s = context->scheduler;

    return atomic_load( &context->tid ) == tid ? s : NULL;
}

/* It stands still where it can end. */
static NTSTATUS end_here( struct kill *k )
{
    uint32_t exit = (uint32_t)k->call->args[1];
    NTSTATUS status = STATUS_SUCCESS;

    ke_killed_here( k->target, 1 );
    if (!ke_end_sleeper( k->tid, k->thread, exit )) status = ums_terminate_native( k->thread, exit );
    if (!status) return status;
    ke_killed_here( k->target, 0 );
    go_on( k->s, k->thread );
    return status;
}

/* Behind the turn, since this may wait for a thread that keeps a mutex. Nobody else cleans up (killed_here); whoever terminates it once more
   finds that it has ended. */
static void has_ended( struct kill *k )
{
    ums_objects_thread_gone( k->tid );
    ke_thread_ended( k->target );
    /* not 0: a worker that has yet to post was no reason to stop here (scheduler_where) */
    if (k->w) ums_worker_queue_unheard( k->s, k->w );
    ums_scheduler_killed( k->target );
    ums_preempter_ends( k->s );
}

/* It stands still and waits for its worker. The worker does not end with it: it is stopped for a moment too, and taken off, for
   its completion list. All of it is one turn, so nobody lets either go on in between. 0: the worker is leaving for another reason, or is
   busy or held by somebody else. It may be waiting for the caller, so it is not waited for here. If its thread stands still it stays with
   this scheduler, which cannot take it as blocked; so nobody is preempted. hold: for the caller, behind its turn. */
static int take_worker_off( struct kill *k, struct hold *hold )
{
    struct ums_context *w = k->w;
    enum hold_taken taken = ums_hold_try( w, atomic_load( &w->tid ), k->joins, hold );
    enum worker_state state;

    k->holds = taken == HOLD_TAKEN;
    k->fails = !k->holds;
    if (taken == HOLD_WAIT || (taken == HOLD_REFUSED && !k->joins)) return 0;
    state = word_state( atomic_load( &w->word ) );
    if (w->owner != k->s || (state != WORKER_RUNNING && state != WORKER_INKERNEL)) return 0;
    if (ums_worker_stopped( w )) hold->held = 0;
    ums_worker_taken( w );
    return word_state( atomic_load( &w->word ) ) == WORKER_BLOCKED;
}

/* One that carries its worker ends behind that: the carrier itself, when the worker has left it (ums_left_preempted). This is said while
   it stands still, since another thread may have this scheduler as soon as it has left it. */
static void will_end( struct kill *k )
{
    atomic_store( &k->s->exit_status, (uint32_t)k->call->args[1] );
    atomic_store( &k->s->killed, 1 );
}

/* Whatever is done while it stands still is done in one turn: otherwise a program that resumes it just then would let it go on. One that is
   in the middle of something goes on, and so does one that has left the mode since the look, or entered
   it once more: only while it runs. The program's suspensions are void then. */
static enum where try_in_turn( struct kill *k, struct hold *hold, int tries, NTSTATUS *status )
{
    enum where where;

    if (!stop( k->s, k->thread, &k->others ))
    {
        *status = ums_kill_unstopped( k->call, k->thread, tries );
        return CANNOT_STOP;
    }
    where = scheduler_of( k->target, k->tid ) == k->s ? scheduler_where( k->s, k->thread, k->tid, &k->w )
                                                      : IN_THE_MIDDLE;
    if (where == CARRIES) will_end( k );
    if (where == WAITS) where = take_worker_off( k, hold ) ? OUTSIDE : IN_THE_MIDDLE;
    if (where == OUTSIDE) *status = end_here( k );
    else
    {
        go_on( k->s, k->thread );
        ums_void_suspensions( k->thread, k->others );
    }
    return where;
}

/* Returns 0 if the thread must advance first; then this does not suspend it any more. The caller waits for its turn and for a carrier
   while it holds nothing: a worker that is waited for may be waiting for the caller. */
static int try_to_kill( struct kill *k, int tries, NTSTATUS *status )
{
    struct hold hold = { 0 };
    enum where where;
    int ended;

    k->holds = k->fails = 0;
    ums_stop_begin();
    ums_hold_self( k->self, 1 );
    where = try_in_turn( k, &hold, tries, status );
    ums_stop_end();
    ended = where == OUTSIDE || where == CANNOT_STOP;
    if (ended && !*status) ums_hand_killed( k->tid );   /* also if it has ended by itself */
    if (k->holds)
    {
        ums_hold_self( k->self, 1 );            /* ums_let_go ends that of its own */
        ums_let_go( k->self, k->w, &hold, 0 );
    }
    else if (hold.thread) CloseHandle( hold.thread );
    if (where == OUTSIDE && !*status) has_ended( k );
    if (ended) CloseHandle( k->thread );
    ums_hold_self( k->self, -1 );
    if (where != CARRIES) return ended;
    if (ums_hold_once( k->self, k->w, atomic_load( &k->w->tid ), k->joins, &hold ) == HOLD_TAKEN)
        ums_let_go( k->self, k->w, &hold, 0 );
    else k->fails = 1;
    return 0;
}

/* Until it has ended by itself (ums_left_preempted), or can be ended here. Between two tries nothing is held: this
   thread may be terminated there, by that scheduler among others, and leaves one handle then. The handle stays
   open so that the id is not another thread's. */
int ums_kill_scheduler( struct ums_call *call, struct ums_context *target, uint32_t tid, struct ums_context *self,
                        NTSTATUS *status )
{
    const DWORD access = THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME | THREAD_TERMINATE | SYNCHRONIZE;
    struct kill k = { .call = call, .self = self, .target = target, .tid = tid };
    struct ums_wait wait, fails;
    int tries;

    if (!(k.thread = OpenThread( access, FALSE, tid )))
    {
        *status = native( call );
        return 1;
    }
    for (tries = 0; (k.s = scheduler_of( target, tid )); tries++)
    {
        if (try_to_kill( &k, tries, status )) return 1;
        ums_forget_late_hold( tid, tries, &wait );
        if (!tries || !k.fails) fails = ums_wait_begins();
        k.joins = ums_give_up_after( UMS_MORE_PATIENCE, &fails, "the worker of a scheduler to be held, to terminate it" );
        ke_let_advance();
    }
    CloseHandle( k.thread );
    return 0;
}

/* The thread has ended in a call that its worker made as the scheduler. The worker's registers are lost,
   so the worker ends too. */
static void end_too( const struct ums_context *w )
{
    HANDLE thread = OpenThread( THREAD_TERMINATE, FALSE, atomic_load( &w->tid ) );

    if (!thread) return;
    TerminateThread( thread, STATUS_THREAD_IS_TERMINATING );
    CloseHandle( thread );
}

/* Another process has terminated the scheduler's thread. If its worker was carried, that thread itself has
   saved it, and another scheduler may have executed it since. Otherwise it is at home, and may be about to post an
   upcall. 0: try again later. */
int ums_scheduler_gone( struct ums_context *target )
{
    struct ums_scheduler *s = target->scheduler;
    struct ums_context *w = s->current;
    struct hold hold;

    if (w && w->owner == s)
    {
        uint64_t word = atomic_load( &w->word );

        if (word_state( word ) == WORKER_CARRIED)
        {
            if (!ums_carrier_is_gone( s, w )) return 0;
            end_too( w );
        }
        else if (word & WORD_PREEMPTED) ums_worker_queue_stopped( w, word );
        else if (word_state( word ) == WORKER_RUNNING || word_state( word ) == WORKER_INKERNEL)
        {
            /* the warden has others to look after; while the worker has this scheduler nobody may get its slot */
            if (ums_hold_once( NULL, w, atomic_load( &w->tid ), 0, &hold ) != HOLD_TAKEN) return 0;
            if (w->owner == s) ums_worker_taken( w );
            ums_let_go( NULL, w, &hold, 0 );
        }
        if (!ums_worker_queue_unheard( s, w )) return 0;
    }
    ums_scheduler_killed( target );
    return 1;
}
