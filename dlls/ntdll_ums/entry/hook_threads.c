/*
 * Threads that somebody stops, starts again, ends, or whose registers somebody wants. These calls
 * come here from every thread of the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "hook.h"
#include "watch/hud.h"
#include "host/ke_win32.h"
#include "factory/factory_host.h"
#include "api/thread.h"

/* 100 ns. So long we wait for a suspension that is being made. Whoever makes it may have been
   suspended in the middle of it, by our caller even; or the machine is busy, and then it would be
   wrong to go on. */
#define PATIENCE 100000000

static NTSTATUS native( struct ums_call *call )
{
    return (NTSTATUS)ums_call_native( call, NULL );
}

/* Whoever sees the count may resume it, and waits for it to be suspended (resume). */
static uint64_t suspend_self( struct ums_call *call, struct ums_context *self )
{
    NTSTATUS status;
    uint64_t word;
    int blocked;

    atomic_store( &self->self_suspending, 1 );
    ums_context_suspended( self );
    blocked = ums_worker_block( self, 0 );
    status = native( call );
    atomic_store( &self->self_suspending, 0 );
    if (status) ums_context_resumed( self, 0, &word );
    if (blocked) ums_worker_back( self );
    return (uint64_t)status;
}

static ums_status thread_call( const char *name, void *thread, void *argument )
{
    struct ums_call call = { .nr = ums_call_number( name ) };

    call.args[0] = (uint64_t)(ULONG_PTR)thread;
    call.args[1] = (uint64_t)(ULONG_PTR)argument;
    call.stack = ((NT_TIB *)NtCurrentTeb())->StackBase;       /* it has no arguments there */
    return (ums_status)ums_call_native( &call, NULL );
}

ums_status ums_suspend_native( void *thread, ULONG *count )
{
    return thread_call( "NtSuspendThread", thread, count );
}

ums_status ums_resume_native( void *thread, ULONG *count )
{
    return thread_call( "NtResumeThread", thread, count );
}

ums_status ums_get_context_native( void *thread, void *context )
{
    return thread_call( "NtGetContextThread", thread, context );
}

ums_status ums_set_context_native( void *thread, const void *context )
{
    return thread_call( "NtSetContextThread", thread, (void *)context );
}

/* While its target, or the target's carrier, stands still, or a scheduler has not been told, a
   worker that does this must not be stopped itself. (A plain thread that is leaves them so.) */
static void hold_self( struct ums_context *self, int more )
{
    if (self && self->kind == CONTEXT_WORKER) ums_worker_busy( self, more );
}

/* For somebody who has to wait for another: they may be waiting for each other. */
static void let_others_go_on( struct ums_context *self )
{
    hold_self( self, -1 );
    SwitchToThread();
    hold_self( self, 1 );
}

/* NtSuspendThread returns before the thread has stopped; asking for its context waits for that. Is
   it in the middle of something that others wait for? */
static int is_busy( HANDLE thread, const struct ums_context *target )
{
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL;
    ums_get_context_native( thread, &context );
    return atomic_load( &target->busy ) != 0;
}

/* Undo a suspension that was counted. One that suspends itself is counted before its thread is
   suspended: a resume that comes in between is for that suspension, or for another one that was
   undone in its place, and must not be lost. */
ums_status ums_resume_worker( void *thread, const struct ums_context *target, ULONG *count )
{
    ULONG before;
    ums_status status;

    while (!(status = ums_resume_native( thread, &before )) && !before &&
           atomic_load( &target->self_suspending ))
        SwitchToThread();
    if (count) *count = before;
    return status;
}

/* Before it is suspended. Several that did so by turns, and each found it in the middle of something,
   would together keep it from ever getting out of there. Not for ever: another process may have ended
   it there, which the call that follows tells. */
static void wait_while_busy( const struct ums_context *target, struct ums_context *self )
{
    int64_t begin = ke_clock();

    while (atomic_load( &target->busy ) && ke_clock() - begin < PATIENCE) let_others_go_on( self );
}

/* Suspend until the thread stands still where nobody waits for it. */
static int hold_still( HANDLE thread, const struct ums_context *target, struct ums_context *self )
{
    while (wait_while_busy( target, self ), !ums_suspend_native( thread, NULL ))
    {
        if (!is_busy( thread, target )) return 1;
        ums_resume_worker( thread, target, NULL );
        let_others_go_on( self );
    }
    return 0;
}

/* The same with somebody's call. A handle of our own makes up for few rights. */
static NTSTATUS suspend_still( struct ums_call *call, const struct ums_context *target,
                               uint32_t tid, struct ums_context *self )
{
    HANDLE own = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid );
    NTSTATUS status;

    wait_while_busy( target, self );
    if (!(status = native( call )) && own && is_busy( own, target ))
    {
        ums_resume_worker( own, target, NULL );
        let_others_go_on( self );
        hold_still( own, target, self );
    }
    if (own) CloseHandle( own );
    return status;
}

/* From here on it cannot be executed, and who resumes it waits. *stopped: it had been stopped, and
   resumed since. 0: too often already, or the thread has just ended. */
static int suspend_begin( struct ums_context *self, struct ums_context *target, uint32_t tid,
                          uint32_t *count, int *stopped )
{
    uint64_t word = 0;

    if (!ums_context_hold( target, tid )) return 0;
    hold_self( self, 1 );
    while ((*count = ums_context_suspending( target, &word )) == SUSPEND_WAIT)
        let_others_go_on( self );
    *stopped = !*count && (word & WORD_STOPPED);
    if (*count != SUSPEND_MAX) return 1;
    hold_self( self, -1 );
    ums_context_unref( target );
    return 0;
}

/* If it could not be made, and the worker has given way to it, it goes to its list. Returns the word
   that is left. */
static uint64_t suspend_end( struct ums_context *self, struct ums_context *target, int made )
{
    uint64_t word = ums_context_suspend_made( target, made );

    if (!made) ums_worker_queue_stopped( target, word );
    hold_self( self, -1 );
    ums_context_unref( target );
    return word;
}

/* Until nobody is in the middle of suspending it but those that we know of. Nobody of them waits for
   us: the worker stands still already, and is not busy. */
static void wait_for_others( const struct ums_context *target, uint64_t known )
{
    int64_t begin = ke_clock();

    while ((atomic_load( &target->word ) & WORD_SUSPENDING) > known && ke_clock() - begin < PATIENCE)
        SwitchToThread();
}

/* How often a thread is suspended, to the system: as often as is counted, and a worker that was
   stopped in user code once at least, until it is executed. Who has come while a suspension that
   comes to nothing was counted has suspended the thread for himself, which makes one too many for a
   worker that stands still for the first of them. But he counts before he suspends: taken off before
   he has, that would be the one that the thread stands still for, and it would run on as one that is
   stopped. Who comes behind the wait changes nothing: he finds it suspended and adds his own. */
static void drop_surplus( HANDLE thread, const struct ums_context *target, uint32_t count,
                          uint64_t left )
{
    if (count || !(left & WORD_STOPPED) || !word_suspended( left )) return;
    wait_for_others( target, 0 );
    ums_resume_worker( thread, target, NULL );
}

/* A worker that stands still where nobody waits for it, off its carrier, and cannot be executed:
   somebody suspends it, in vain at last. */
struct hold
{
    uint32_t count;                             /* how often it was suspended before */
    int      stopped;                           /* its thread stood still already */
    int      held;                              /* we have suspended that */
    HANDLE   thread;
};

/* One at a time: what is one too many afterwards (drop_surplus) can be told of a single one only. Who
   has a hold may have been suspended or killed in it, so it is not waited for ever. Not while self is
   held: whose turn it is may have to stop it. */
static void take_turn( struct ums_context *target )
{
    int64_t begin = ke_clock();

    while (atomic_exchange( &target->hold_taken, 1 ) && ke_clock() - begin < PATIENCE)
        SwitchToThread();
}

static int hold_worker( struct ums_context *self, struct ums_context *target, struct hold *hold )
{
    uint32_t tid = atomic_load( &target->tid );

    if (!tid) return 0;
    take_turn( target );
    if (!suspend_begin( self, target, tid, &hold->count, &hold->stopped ))
    {
        atomic_store( &target->hold_taken, 0 );
        return 0;
    }
    hold->thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SET_CONTEXT | THREAD_SUSPEND_RESUME,
                               FALSE, tid );
    hold->held = !hold->stopped && hold->thread && hold_still( hold->thread, target, self );
    ums_worker_stopped( target );
    return 1;
}

/* dead: nobody is there to go on. Who resumes it has waited until now: nobody has queued it. Who had
   counted before us, so that a stopped worker stands still for his suspension and not for ours, must
   have made it before we undo ours. */
static void let_go( struct ums_context *self, struct ums_context *target, struct hold *hold,
                    int dead )
{
    int stopped = !hold->count && (atomic_load( &target->word ) & WORD_STOPPED);
    uint64_t left;

    if (!dead && hold->count) wait_for_others( target, SUSPENDING_ONE );
    if (!dead && hold->held && !stopped) ums_resume_worker( hold->thread, target, NULL );
    hold_self( self, 1 );
    left = suspend_end( self, target, dead );
    if (!dead && stopped && hold->thread) drop_surplus( hold->thread, target, hold->count, left );
    atomic_store( &target->hold_taken, 0 );
    hold_self( self, -1 );
    if (hold->thread) CloseHandle( hold->thread );
}

static int has_access( HANDLE handle, ACCESS_MASK access )
{
    OBJECT_BASIC_INFORMATION info;

    return !NtQueryObject( handle, ObjectBasicInformation, &info, sizeof(info), NULL ) &&
           (info.GrantedAccess & access) == access;
}

/* ---- killed ---- */

/* A worker is killed when it is off its carrier, which would else go on with the stack and the TEB
   of a thread that is no more. */
static NTSTATUS kill_worker( struct ums_call *call, struct ums_context *target,
                             struct ums_context *self )
{
    struct ums_hand *h = ums_hand_of_thread( atomic_load( &target->tid ) );
    struct hold hold;
    NTSTATUS status;

    if (!hold_worker( self, target, &hold )) return native( call );
    atomic_store( &target->killed_here, 1 );
    if (!(status = native( call )))
    {
        ums_worker_killed( target );
        if (h) ums_hand_exits( h );
        ums_thread_ends( THREAD_HOME );
    }
    else atomic_store( &target->killed_here, 0 );
    let_go( self, target, &hold, !status );
    return status;
}

/* Does it stand still behind the hook, in a call of its program that was handed on? */
static int is_in_native_call( const CONTEXT *context )
{
    extern char ums_dispatcher_landing[], ums_dispatcher_landed[];

    return ums_hook_owns( (const void *)context->Rip ) ||
           context->Rip - (ULONG_PTR)ums_dispatcher_landing <=
           (ULONG_PTR)ums_dispatcher_landed - (ULONG_PTR)ums_dispatcher_landing;
}

enum where { OUTSIDE, CARRIES, WAITS, IN_THE_MIDDLE, GOING_ON };

/* In the middle of something of ours? What sleeps is not, nor what makes a call of its own through
   the copy of a patched stub. */
static int is_in_our_code( const CONTEXT *context )
{
    if (ums_hook_owns( (const void *)context->Rip ))
        return ke_is_our_code( *(const ULONG_PTR *)context->Rsp );
    return ke_is_our_code( context->Rip ) && !ke_is_asleep( context );
}

/* The scheduler's thread stands still; s: NULL if it is none any more. *w: whom it has executed
   last. */
static enum where scheduler_where( struct ums_scheduler *s, HANDLE thread, struct ums_context **w )
{
    enum worker_state state = WORKER_NONE;
    CONTEXT context;

    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    if (ums_get_context_native( thread, &context )) return IN_THE_MIDDLE;
    if (s && (*w = s->current) && (*w)->owner == s) state = word_state( atomic_load( &(*w)->word ) );
    if (state == WORKER_CARRIED) return CARRIES;
    if (s && !atomic_load( &s->posted ))
        return atomic_load( &s->waiting ) && (state == WORKER_RUNNING || state == WORKER_INKERNEL)
               ? WAITS : IN_THE_MIDDLE;
    /* a wait of its own, which is recorded, leaves nothing undone */
    if (s && s->idle && is_in_native_call( &context )) return OUTSIDE;
    return is_in_our_code( &context ) ? IN_THE_MIDDLE : OUTSIDE;
}

/* A scheduler does not take its worker along: that is suspended for a moment, and goes to its list.
   Where the worker is carried the thread itself ends in its place (ums_left_preempted). 1: the
   scheduler, which still stands still, waits for no worker any more. One that its worker has left
   for something else, or is leaving, has to be told of it, and goes on. */
static int take_worker_off( struct ums_scheduler *s, struct ums_context *w, enum where where,
                            HANDLE thread, struct ums_context *self )
{
    struct hold hold;
    int off = 0;

    if (where == CARRIES) ums_resume_native( thread, NULL );
    if (hold_worker( self, w, &hold ))
    {
        if (where == WAITS && w->owner == s)
        {
            ums_worker_taken( w );
            off = word_state( atomic_load( &w->word ) ) == WORKER_BLOCKED;
        }
        let_go( self, w, &hold, 0 );
    }
    if (where == WAITS && !off) ums_resume_native( thread, NULL );
    return off;
}

/* Until it has ended by itself, or can be ended here. It may leave the mode meanwhile, and another
   thread have the context: but only while it runs. */
static NTSTATUS kill_scheduler( struct ums_call *call, struct ums_context *target,
                                struct ums_context *self )
{
    uint32_t tid = atomic_load( &target->tid );
    struct ums_scheduler *s = target->scheduler, *now;
    HANDLE thread = tid && s ? OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid )
                             : NULL;
    NTSTATUS status = STATUS_SUCCESS;
    struct ums_context *w;

    if (!thread) return native( call );
    atomic_store( &s->exit_status, (uint32_t)call->args[1] );
    atomic_store( &s->killed, 1 );
    while (!ums_suspend_native( thread, NULL ))
    {
        enum where where;

        now = atomic_load( &target->tid ) == tid ? target->scheduler : NULL;
        where = scheduler_where( now, thread, &w );
        if (where == CARRIES || where == WAITS)
            where = take_worker_off( s, w, where, thread, self ) ? OUTSIDE : GOING_ON;
        if (where == OUTSIDE)
        {
            if (now) atomic_store( &target->killed_here, 1 );
            if (!(status = native( call )) && now) ums_scheduler_killed( target );
            else if (now) atomic_store( &target->killed_here, 0 );
            break;
        }
        if (where == IN_THE_MIDDLE) ums_resume_native( thread, NULL );
        SwitchToThread();
    }
    CloseHandle( thread );
    return status;
}

/* It ended in the middle of a call that its worker made as it: nobody has the worker's registers. */
static void end_too( const struct ums_context *w )
{
    HANDLE thread = OpenThread( THREAD_TERMINATE, FALSE, atomic_load( &w->tid ) );

    if (!thread) return;
    TerminateThread( thread, STATUS_THREAD_IS_TERMINATING );
    CloseHandle( thread );
}

/* Another process has ended the scheduler's thread. Its worker is saved by that thread itself, if it
   was carried, or is at home, where it may be about to post. */
void ums_scheduler_gone( struct ums_context *target )
{
    struct ums_scheduler *s = target->scheduler;
    struct ums_context *w = s->current;
    struct hold hold;

    if (w && w->owner == s)
    {
        uint64_t word = atomic_load( &w->word );

        if (word_state( word ) == WORKER_CARRIED) end_too( w );
        else if (word & WORD_PREEMPTED) ums_worker_queue_stopped( w, word );
        else if (word_state( word ) == WORKER_RUNNING || word_state( word ) == WORKER_INKERNEL)
        {
            if (hold_worker( NULL, w, &hold ))
            {
                if (w->owner == s) ums_worker_taken( w );
                let_go( NULL, w, &hold, 0 );
            }
        }
    }
    ums_scheduler_killed( target );
}

static NTSTATUS kill_other( struct ums_call *call, struct ums_context *target,
                            struct ums_context *self )
{
    int on_it = self && self->kind == CONTEXT_WORKER && self->owner == target->scheduler, left;
    NTSTATUS status;

    if (!has_access( (HANDLE)call->args[0], THREAD_TERMINATE )) return native( call );
    if (target->kind == CONTEXT_WORKER) return kill_worker( call, target, self );
    /* a worker that kills its own scheduler goes on with another */
    left = on_it && ums_worker_block( self, 0 );
    hold_self( self, 1 );
    status = kill_scheduler( call, target, self );
    hold_self( self, -1 );
    if (left) ums_worker_back( self );
    return status;
}

/* In a call of its program that the hook has seen, and counted, and has handed on? */
static int is_hand_in_call( const struct ums_hand *h, const CONTEXT *context )
{
    enum hand_state state = h ? hand_state( atomic_load( &h->word ) ) : HAND_FREE;

    if (state != HAND_BLOCKED && state != HAND_INKERNEL) return 0;
    return is_in_native_call( context );
}

/* A thread that works for a factory, or may just be handing something out, is not killed in the
   middle of that: the packet, or the thread it was for, would be lost. */
static NTSTATUS kill_plain( struct ums_call *call )
{
    HANDLE thread = (HANDLE)call->args[0], own;
    uint32_t tid = ums_pool_made( &ums_factory_pool ) ? ums_thread_id( thread ) : 0;
    struct ums_hand *h = NULL;
    CONTEXT context;
    NTSTATUS status;

    own = tid && has_access( thread, THREAD_TERMINATE )
          ? OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid ) : NULL;
    if (!own) return native( call );
    while (!ums_suspend_native( own, NULL ))
    {
        context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
        if (ums_get_context_native( own, &context ) || !is_in_our_code( &context ) ||
            is_hand_in_call( ums_hand_of_thread( tid ), &context )) break;
        ums_resume_native( own, NULL );
        SwitchToThread();
    }
    h = ums_hand_of_thread( tid );
    if (!(status = native( call )))
    {
        if (h) ums_hand_exits( h );
    }
    else ums_resume_native( own, NULL );
    CloseHandle( own );
    return status;
}

/* The calling thread ends. */
static void end_self( struct ums_context *self )
{
    struct ums_hand *h = ums_hand_current();

    if (h)
    {
        ums_set_hand( NULL );
        ums_hand_exits( h );
    }
    if (!self) return;
    if (self->kind == CONTEXT_SCHEDULER) ums_scheduler_end( self );
    else
    {
        ums_worker_end( self );
        ums_thread_ends( THREAD_HOME );
    }
}

uint64_t ums_special_terminate_thread( const struct call_row *row, struct ums_call *call,
                                       struct ums_context *self )
{
    HANDLE thread = (HANDLE)call->args[0];
    struct ums_context *target = thread ? ums_context_of_handle( thread, self ) : self;

    (void)row;
    if (target && target != self) return (uint64_t)kill_other( call, target, self );
    if (!target && thread && thread != GetCurrentThread() &&
        ums_thread_id( thread ) != GetCurrentThreadId()) return (uint64_t)kill_plain( call );
    ums_hud_thread_ends( (uint32_t)call->args[1] );
    ke_warden_dismiss( self );
    end_self( target );
    return (uint64_t)native( call );            /* does not come back */
}

/* ---- suspended and resumed ---- */

uint64_t ums_special_suspend( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self )
{
    HANDLE thread = (HANDLE)call->args[0];
    uint32_t tid = thread == GetCurrentThread() ? GetCurrentThreadId() : ums_thread_id( thread );
    struct ums_context *target = tid ? ums_context_of_thread( tid ) : NULL, *ending;
    NTSTATUS status;
    uint32_t count;
    int stopped;

    (void)row;
    if (!target && tid && (ending = ums_context_of_ending( tid )))
        return (uint64_t)suspend_still( call, ending, tid, NULL );
    if (!target || target->kind != CONTEXT_WORKER) return (uint64_t)native( call );
    if (target == self) return suspend_self( call, self );

    /* Stopped while it ran and resumed since: its thread stands still, suspended once, until it is
       executed; a further suspension is only counted. */
    if (!suspend_begin( self, target, tid, &count, &stopped )) return (uint64_t)native( call );
    if (stopped)
    {
        suspend_end( self, target, 1 );
        return ums_store_ulong( call->args[1], 0 );
    }
    if (!(status = suspend_still( call, target, tid, self ))) ums_worker_stopped( target );
    suspend_end( self, target, !status );
    return (uint64_t)status;
}

/* A scheduler that stood still in the middle of our code has kept a worker that was suspended, or
   killed, meanwhile. s->current is read while it still stands. */
static NTSTATUS resume_scheduler( struct ums_call *call, struct ums_context *target,
                                  struct ums_context *self )
{
    struct ums_scheduler *s = target->scheduler;
    struct ums_context *w = s ? s->current : NULL;
    int64_t begin = ke_clock();
    NTSTATUS status = native( call );

    if (status || !w) return status;
    hold_self( self, 1 );
    if (atomic_load( &w->kill_pending )) ums_worker_killed_finish( w );
    else
    {
        /* who is suspending it may have given up for this scheduler, and be about to say so */
        while ((atomic_load( &w->word ) & WORD_SUSPENDING) && ke_clock() - begin < PATIENCE)
            let_others_go_on( self );
        ums_worker_kept( w );
    }
    hold_self( self, -1 );
    return status;
}

/* Every suspension by this process is counted before it is made. So where none is counted the
   thread is left alone: a suspension may be counted and made as we look, and a worker that was
   stopped in user code stands still until it is executed. (What another process has suspended, it
   resumes.) */
uint64_t ums_special_resume( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self )
{
    struct ums_context *target = ums_context_of_handle( (HANDLE)call->args[0], self );
    int64_t begin = ke_clock();
    int continued = 0, wait = 1;
    uint32_t count;
    ULONG before;
    uint64_t word;
    NTSTATUS status = 0;

    (void)row;
    if (target && target->kind == CONTEXT_SCHEDULER)
        return (uint64_t)resume_scheduler( call, target, self );
    if (!target || !has_access( (HANDLE)call->args[0], THREAD_SUSPEND_RESUME ))
        return (uint64_t)native( call );
    hold_self( self, 1 );
    while ((count = ums_context_resumed( target, wait, &word )) == SUSPEND_WAIT)
    {
        let_others_go_on( self );
        wait = ke_clock() - begin < PATIENCE;
    }
    if (count == 1) continued = ums_worker_continued( target, word );
    if (!count || continued) before = count;
    else status = ums_resume_worker( (HANDLE)call->args[0], target, &before );
    hold_self( self, -1 );                      /* it may be executed by now, and wait for this */
    return status ? (uint64_t)status : ums_store_ulong( call->args[1], before );
}

/* ---- registers ---- */

/* A worker that is parked, or suspended, is kept so while its registers are read. Of one that runs
   nobody can say more than where its thread was. */
uint64_t ums_special_get_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    struct ums_context *target = ums_context_of_handle( (HANDLE)call->args[0], self );
    NTSTATUS status = native( call );           /* checks handle, rights and memory */
    uint32_t tid, count;
    HANDLE thread;
    uint64_t left;
    int stopped;

    (void)row;
    if (status || !target || target == self || target->kind != CONTEXT_WORKER) return status;
    tid = atomic_load( &target->tid );
    take_turn( target );
    if (!suspend_begin( self, target, tid, &count, &stopped ))
    {
        atomic_store( &target->hold_taken, 0 );
        return status;
    }
    if ((thread = OpenThread( THREAD_GET_CONTEXT | THREAD_SUSPEND_RESUME, FALSE, tid )))
        ke_worker_context( target, thread, count != 0, (CONTEXT *)call->args[1] );
    hold_self( self, 1 );
    left = suspend_end( self, target, 0 );
    if (stopped && thread) drop_surplus( thread, target, count, left );
    atomic_store( &target->hold_taken, 0 );
    hold_self( self, -1 );
    if (thread) CloseHandle( thread );
    return status;
}

static int load_context( CONTEXT *context, uint64_t from )
{
    size_t i;

    for (i = 0; i < sizeof(*context) / sizeof(uint64_t); i++)
        if (!ums_try_load( (const uint64_t *)from + i, (uint64_t *)context + i )) return 0;
    return 1;
}

/* Off its carrier: it may have been set down there, but has not run since. */
static int wait_for_carrier( struct ums_context *target )
{
    int64_t begin = ke_clock();

    while (ums_worker_is_carried( target ))
    {
        if (ke_clock() - begin > PATIENCE) return 0;
        SwitchToThread();
    }
    return 1;
}

/* Of the own thread it does not return. */
uint64_t ums_special_set_context( const struct call_row *row, struct ums_call *call,
                                  struct ums_context *self )
{
    struct ums_context *target = ums_context_of_handle( (HANDLE)call->args[0], self );
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    struct hold hold;
    CONTEXT context;

    (void)row;
    if (target && target == self)
    {
        ums_note_breakpoints( self, (const CONTEXT *)call->args[1] );
        if (self->inside == call->sp) self->inside = 0;
    }
    if (!target || target == self || target->kind != CONTEXT_WORKER ||
        !has_access( (HANDLE)call->args[0], THREAD_SET_CONTEXT ))
        return (uint64_t)native( call );
    if (!load_context( &context, call->args[1] )) return (uint64_t)(NTSTATUS)STATUS_ACCESS_VIOLATION;
    if (!hold_worker( self, target, &hold )) return (uint64_t)native( call );
    if (wait_for_carrier( target ))
    {
        status = ke_set_worker_context( target, hold.thread, &context );
        if (!status) ums_note_breakpoints( target, &context );
        ums_worker_pin( target );
    }
    let_go( self, target, &hold, 0 );
    return (uint64_t)status;
}
