/*
 * Waits of workers that need no kernel call: alerts by thread id, and Sleep.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/wait.c describes how a worker waits. Wine's SRW locks, condition variables, WaitOnAddress
 * and contended critical sections wait for alerts (InitOnce for a key: hook_keyed.c). Alerts work inside one
 * process, and the hook sees every one, whichever thread makes it: so none is missed.
 *
 * Where the shim's own sleeps take the alerts of the host (ums_alerts_kept), workers wait for alerts in the host's call, like
 * all threads; only what the program has pending is kept here.
 *
 * Each ums_here_* function answers a call and returns 1, or returns 0: then the call is treated by
 * its class. Errors (bad time-outs, ids of no thread) are left to the host.
 *
 * A worker waits in the host's own call, with at_host set, in two cases: another call on its stack is
 * under way (in a callback, or inside a handler of ours), or the timer does not run yet.
 */

#include <windows.h>
#include <winternl.h>
#include "core/wait.h"
#include "syscalls/blocking/hook_waits.h"
#include "host/access.h"
#include "host/ke_timer.h"
#include "host/ke_win32.h"
#include "record/record.h"

#define FOREVER   INT64_MAX                     /* Wine treats it as no time-out */
#define LONG_TIME 100000000000000000            /* 100 ns: 300 years */

int ums_alerts_kept;

/* Before and after short code that makes system calls. A carried worker runs it as the scheduler.
   Otherwise the hook would see the calls as the worker's, and the worker might have to give way in the
   middle. Returns whether the worker is carried. */
static int begin_as_host( struct ums_context *self )
{
    int carried = self && ums_worker_is_carried( self );

    if (carried) ums_local_begin( self );
    return carried;
}

static void end_as_host( struct ums_context *self, int carried )
{
    if (carried) ums_local_end( self );
}

/* Read a time-out in the host's form, in units of 100 ns: negative is relative, otherwise it is a time
   since 1601. *deadline is in the time of ke_clock. */
enum how_long ums_read_timeout( uint64_t pointer, struct ums_context *self, int64_t *deadline )
{
    LARGE_INTEGER now;
    uint64_t value;
    int64_t left;
    int carried;

    *deadline = 0;
    if (!pointer) return FOR_EVER;
    if (!ums_try_load( (const void *)pointer, &value )) return NOBODY_KNOWS;
    if ((int64_t)value == FOREVER) return FOR_EVER;
    if (!value) return NOT_AT_ALL;
    carried = begin_as_host( self );
    left = -(int64_t)value;
    if (left < 0)
    {
        NtQuerySystemTime( &now );
        left = (int64_t)value - now.QuadPart;
    }
    if (left < 0 && (int64_t)value < 0) left = LONG_TIME;     /* the most negative one */
    if (left > LONG_TIME) left = LONG_TIME;
    if (left > 0) *deadline = ke_clock() + left;
    end_as_host( self, carried );
    return left > 0 ? UNTIL : NOT_AT_ALL;
}

/* If the timer does not run yet, take the worker home and start the timer; this wait is then made
   in the host's call. A worker that was terminated in between would leave a handle of the new thread, or
   no timer although it says that it makes one; so it is busy. */
int ums_has_timer( struct ums_context *self, const struct ums_call *call )
{
    if (ke_timer_runs()) return 1;
    ums_worker_go_home( self );
    inside_enter( &self->inside, call->sp, ke_stack_base() );
    ums_hold_self( self, 1 );
    ke_timer_start();
    ums_hold_self( self, -1 );
    inside_leave( &self->inside );
    return 0;
}

/* A worker that has breakpoints is parked at home and is resumed there. */
void ums_wait_without_thread( struct ums_context *self, enum wait_for what, int64_t deadline )
{
    if (atomic_load( &self->breakpoints )) ums_worker_go_home( self );
    self->success = what == WAIT_FOR_ALERT ? STATUS_ALERTED : STATUS_SUCCESS; /* for the registers that others read */
    ums_worker_wait( self, what, deadline );
}

/* What ums_hook_call does at the beginning of each call of a worker (hook.c). */
void ums_call_begins( struct ums_context *self, const struct ums_call *call )
{
    if (__builtin_expect( ums_recording, 0 )) ums_note_call( self, call_key_number( call->key ) );
    ums_worker_give_way( self );
}

int ums_call_is_plain( const struct ums_context *self, const struct ums_call *call )
{
    return !self || self->kind != CONTEXT_WORKER || ums_is_parked_thread( self, call->sp );
}

/* Wait in the host's call. The host may still hold an alert that the worker has already taken here.
   Then the wait returns without a new alert; spurious wake-ups are allowed. */
static uint64_t wait_at_host( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self, int nested )
{
    uint64_t ret = STATUS_ALERTED;

    atomic_store( &self->at_host, 1 );
    if (!ums_alert_take( self ))
    {
        ret = nested ? ums_call_native( call, NULL ) : ums_call_wait( row, call, self );
        if (ums_alert_take( self )) ret = STATUS_ALERTED;
    }
    atomic_store( &self->at_host, 0 );
    return ret;
}

/* Take the host's alert, too, if it is still there. If it comes only now, or if the thread is woken behind its sleep for the shim, a
   later wait returns without an alert, which is allowed. */
static void take_from_host( const struct call_row *row, struct ums_call *call, struct ums_context *self )
{
    LARGE_INTEGER none = { .QuadPart = 0 };
    struct ums_call at_once = *call;

    at_once.args[1] = (uint64_t)(ULONG_PTR)&none;
    ums_call_by_class( row, &at_once, self );
}

/* The host's alert may be gone: a sleep for the shim takes it. So the note is the alert. It is made before the host is called, so
   a thread that finds none, and does not sleep for the shim before it waits in the host, is woken there. One that does sleep, because
   a call that it has left is found to be over only here (ums_call_is_nested), looks again behind that (ums_alert_was_kept). An alert
   from before the hook has no note: the host's alone ends a wait as well. */
static int wait_for_kept( const struct call_row *row, struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const uint32_t tid = ke_thread_id();
    uint64_t timeout;

    if (ke_alerts_are_ours() || (call->args[1] && !ums_try_load( (const void *)call->args[1], &timeout ))) return 0;
    *ret = STATUS_ALERTED;
    if (ke_alert_take( tid )) take_from_host( row, call, self );
    else
    {
        *ret = ums_call_by_class( row, call, self );
        if (ke_alert_take( tid )) *ret = STATUS_ALERTED;
    }
    return 1;
}

int ums_alert_was_kept( const struct call_row *row )
{
    return ums_alerts_kept && row->here == ums_here_wait_for_alert && !ke_alerts_are_ours() &&
           ke_alert_is_noted( ke_thread_id() );
}

/* NtWaitForAlertByThreadId( address, timeout ). It is not alertable, so no APC can be missed. */
int ums_here_wait_for_alert( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self, uint64_t *ret )
{
    enum how_long how_long;
    int64_t deadline;

    if (ums_alerts_kept) return wait_for_kept( row, call, self, ret );
    if (ums_call_is_plain( self, call )) return 0;
    if (ums_call_is_nested( self, call->sp ))
    {
        *ret = wait_at_host( row, call, self, 1 );
        return 1;
    }
    ums_call_begins( self, call );
    if ((how_long = ums_read_timeout( call->args[1], self, &deadline )) == NOBODY_KNOWS) return 0;
    *ret = ums_alert_take( self ) ? STATUS_ALERTED : STATUS_TIMEOUT;
    if (*ret == STATUS_ALERTED || how_long == NOT_AT_ALL)
    {
        ums_worker_give_way( self );            /* behind the host's call for the time */
        return 1;
    }
    if (how_long == UNTIL && !ums_has_timer( self, call )) *ret = wait_at_host( row, call, self, 0 );
    else
    {
        ums_wait_without_thread( self, WAIT_FOR_ALERT, deadline );
        if (ums_alert_take( self )) *ret = STATUS_ALERTED;
    }
    return 1;
}

/* NtDelayExecution( alertable, timeout ). An alertable one runs APCs, and one with a zero time-out
   yields to other threads: both are left to the host. */
int ums_here_delay( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                    uint64_t *ret )
{
    enum how_long how_long;
    int64_t deadline;

    (void)row;
    if (ums_call_is_plain( self, call ) || (uint8_t)call->args[0] ||
        ums_call_is_nested( self, call->sp )) return 0;
    ums_call_begins( self, call );
    how_long = ums_read_timeout( call->args[1], self, &deadline );
    if (how_long == NOBODY_KNOWS || how_long == NOT_AT_ALL) return 0;
    if (how_long == UNTIL && !ums_has_timer( self, call )) return 0;
    ums_wait_without_thread( self, WAIT_FOR_TIME, deadline );
    *ret = STATUS_SUCCESS;
    return 1;
}

/* ---- alerts, from any thread ---- */

/* A thread must not be stopped for long between the exchange that ends a wait and the push onto the
   completion list. A carried worker is not preempted in a local call. A worker at home that is busy is
   not stopped; calls that it makes here are part of this call. Code that suspends another thread
   checks ums_is_ending_wait first. */
void ums_ending_begins( struct ums_ending *ending, struct ums_context *self,
                        const struct ums_call *call )
{
    ending->self = NULL;
    if (ums_call_is_plain( self, call )) return;
    ending->self = self;
    if ((ending->carried = begin_as_host( self ))) return;
    ums_worker_busy( self, 1 );
    ending->before = self->inside;
    if (!inside_any( &self->inside )) inside_enter( &self->inside, call->sp, ke_stack_base() );
}

void ums_ending_ends( struct ums_ending *ending )
{
    struct ums_context *self = ending->self;

    if (!self) return;
    if (ending->carried)
    {
        ums_local_end( self );
        ums_worker_give_way( self );
        return;
    }
    self->inside = ending->before;
    ums_worker_busy( self, -1 );
}

static struct ums_context *find_worker( uint64_t id )
{
    struct ums_context *w = ums_context_of_thread( (uint32_t)id & ~3u );      /* as the host does */

    return w && w->kind == CONTEXT_WORKER ? w : NULL;
}

/* Does the TEB say that its thread is this worker? It does not say so before the worker begins and
   after it ends. Nor does it if another process has terminated the thread. In this case we are not
   told; the id, and even the TEB, may belong to a plain thread by now, but its word is empty. */
static int is_there( struct ums_context *w )
{
    uint64_t context;

    return ums_try_load( (const char *)w->teb + ums_tls_offset, &context ) &&
           context == (uint64_t)(ULONG_PTR)w;
}

/* Alert the worker. 1: the caller has to make the host's call too. */
static int alert( struct ums_context *w )
{
    int at_host = ums_alert( w );

    return at_host || !is_there( w );
}

/* Has a thread that is no worker been alerted? Only the host knows. To ask it takes a wait with a
   time-out of zero, for which Linux sleeps: two hands that took turns needed 10 us a turn with it, and
   2.6 us without. But each alert of the process comes through here before it reaches the host. So a
   hand whose mark is not set has no alert pending.

   A mark that ought to be set may be missing: two ids may share it; a hand that has returned from a
   wait clears it, when the next alert may be there already; and a thread of the program that has become
   a hand may have been alerted before the hook was there. So a mark only decides whether a wait is tried
   before it is made. Without a try the hand counts as blocked for a moment, in a wait that is over at
   once, and one hand more may run; nothing is lost. */
static void note_alert( uint64_t id )
{
    if (!ums_alerts_kept || !ke_alerts_are_ours()) ke_alert_note( (uint32_t)id );
}

/* NtAlertThreadByThreadId( id ) */
int ums_here_alert( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                    uint64_t *ret )
{
    struct ums_context *w = ums_alerts_kept ? NULL : find_worker( call->args[0] );
    struct ums_ending ending;

    (void)row;
    if (!w)
    {
        note_alert( call->args[0] );
        return 0;
    }
    ums_ending_begins( &ending, self, call );
    *ret = STATUS_SUCCESS;
    if (alert( w )) *ret = ums_call_native( call, NULL );
    ums_ending_ends( &ending );
    return 1;
}

/* NtAlertMultipleThreadByThreadId( ids, count, ... ). Alerts our workers and returns 0, so the host's
   call is made for all ids; the host then finds errors in them. */
int ums_here_alert_many( const struct call_row *row, struct ums_call *call,
                         struct ums_context *self, uint64_t *ret )
{
    const uint64_t *ids = (const uint64_t *)call->args[0];
    uint32_t i, count = (uint32_t)call->args[1];
    struct ums_ending ending;
    struct ums_context *w;
    uint64_t id;

    (void)row; (void)ret;
    for (i = 0; i < count && ums_try_load( ids + i, &id ); i++)
    {
        if (ums_alerts_kept || !(w = find_worker( id )))
        {
            note_alert( id );
            continue;
        }
        ums_ending_begins( &ending, self, call );
        ums_alert( w );
        ums_ending_ends( &ending );
    }
    return 0;
}
