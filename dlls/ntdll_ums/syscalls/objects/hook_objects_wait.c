/*
 * Calls that wait for local objects, by every thread of the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker waits without its home thread (core/wait.c) if it is in no other call, and if the timer
 * runs or the wait has no time-out. All other threads sleep on the record of the wait; a worker
 * that does so counts as blocked, as in any call that waits. If the objects become real, the wait
 * goes on at the host with the time that is left.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "syscalls/objects/hook_objects.h"
#include "host/ke_win32.h"
#include "record/record.h"
#include "syscalls/threads/threads.h"

struct wait_call
{
    struct ums_call *call;
    struct ums_context *context;                /* the caller's, a scheduler's too, or NULL */
    struct ums_context *self;                   /* a worker, or NULL */
    int nested;                                 /* the call is made inside another call of it */
    uint64_t handles[OBJECT_WAITS_MAX];
    uint64_t signal;                            /* the handle to signal in the same step; 0: none */
    uint32_t count;
    int by_array;                               /* NtWaitForMultipleObjects */
    int all;
    uint64_t timeout;                           /* its address */
    int timeout_index;
    int64_t deadline;
};

/* Waits in the thread. For a worker at home (before the timer runs, or in a callback) this is a
   call that blocks. A hand of a factory counts as blocked, too. */
static void wait_in_thread( struct wait_call *wc, struct object_wait *wait )
{
    struct ums_context *self = wc->self;
    struct ums_hand *h = self ? NULL : ums_hand_current();
    int blocked = 0;

    if (self && !wc->nested)
    {
        blocked = ums_worker_block( self, 1 );
        inside_enter( &self->inside, wc->call->sp, ke_stack_base() );
    }
    else if (h) blocked = ums_hand_blocks( h );
    ums_object_wait_in_thread( wait, wc->deadline );
    if (h && blocked) ums_hand_is_back( h );
    if (!self || wc->nested) return;
    inside_leave( &self->inside );
    if (blocked) ums_worker_back( self );
}

/* Uses the copies of the handles, because the program may close its own meanwhile. The copies stay
   until ums_object_arrived. */
static void name_objects( struct wait_call *wc, const struct object_wait *wait, uint64_t *args )
{
    uint32_t i;

    for (i = 0; i < wc->count; i++)
        wc->handles[i] = (uint64_t)(ULONG_PTR)ums_object_at_host( wait->links[i].object );
    if (wc->by_array) args[1] = (uint64_t)(ULONG_PTR)wc->handles;
    else args[0] = wc->handles[0];
}

int ums_can_read_time( uint64_t timeout )
{
    uint64_t time;

    return !timeout || ums_try_load( (const void *)timeout, &time );
}

uint64_t ums_object_wait_call( struct ums_call *call, const uint64_t *args, struct ums_context *self )
{
    const struct call_row *row = ums_call_row( call );
    struct ums_hand *h = ums_is_plain( self ) ? ums_hand_current() : NULL;

    if (h) return ums_hand_call( h, row, call );
    if (ums_is_plain( self ) || ums_call_is_nested( self, call->sp ))
        return ums_call_native( call, args );
    if (__builtin_expect( ums_recording, 0 )) ums_note_call( self, call_key_number( call->key ) );
    ums_worker_give_way( self );
    return ums_call_wait( row, call, self );
}

/* The objects are real: the rest of the wait is made at the host. */
static uint64_t wait_at_host( struct wait_call *wc, const struct object_wait *wait )
{
    uint64_t args[UMS_MAX_ARGS];
    struct ums_call again;
    LARGE_INTEGER left;
    int64_t now;

    ums_call_args( wc->call, args );
    name_objects( wc, wait, args );
    if (wc->deadline)
    {
        struct object_section section;

        ums_object_section_begin( &section, wc->self, wc->call->sp );   /* the clock is a call */
        now = ke_clock();
        ums_object_section_end( &section );
        left.QuadPart = now < wc->deadline ? now - wc->deadline : 0;
        args[wc->timeout_index] = (uint64_t)(ULONG_PTR)&left;
    }
    again = ums_call_with( wc->call, args );
    return ums_object_wait_call( &again, args, wc->self );
}

/* Called with the lock held. Returns 1 if all objects are found and none is real. A mutant is waited
   for alone: a wait for several would make it real with the others, and its owner's keeper takes
   longer than the lock may be held. */
static int find_all( const struct wait_call *wc, struct ums_object **objects )
{
    uint32_t i;

    for (i = 0; i < wc->count; i++)
    {
        objects[i] = ums_object_of_entry( ums_handle_entry( (HANDLE)wc->handles[i] ) );
        if (!objects[i] || atomic_load( &objects[i]->real ) ||
            (wc->count > 1 && objects[i]->type == OBJECT_MUTANT)) return 0;
    }
    return 1;
}

enum begun { NOT_OURS, ANSWERED, WAITING };

/* Called with the lock held. Returns 0 if there is no wait, with *status. */
static int signal_first( struct ums_object *o, const struct object_thread *self, ums_status *status )
{
    int32_t before;

    *status = STATUS_SUCCESS;
    if (o->type == OBJECT_MUTANT)
    {
        if (!ums_mutant_release( o, self, &before )) *status = STATUS_MUTANT_NOT_OWNED;
    }
    else if (o->type != OBJECT_SEMAPHORE) ums_object_set( o );
    else if (!ums_object_release( o, 1, &before )) *status = STATUS_SEMAPHORE_LIMIT_EXCEEDED;
    return !*status;
}

/* Called with the lock held. Returns the object to signal before the wait, or NULL. *ours: there is
   none, or it is local. */
static struct ums_object *find_signal( const struct wait_call *wc, int *ours )
{
    struct ums_object *o = wc->signal ? ums_object_of_entry( ums_handle_entry( (HANDLE)wc->signal ) )
                                      : NULL;

    *ours = !wc->signal || (o && !atomic_load( &o->real ));
    return o;
}

static enum begun begin_wait( struct wait_call *wc, struct ums_context *worker, int poll,
                              struct object_wait **wait, ums_status *status )
{
    const struct object_thread thread = ums_object_thread( wc->context );
    struct ums_object *objects[OBJECT_WAITS_MAX], *signal;
    struct object_section section;
    enum begun begun = NOT_OURS;
    int ours;

    ums_object_section_begin( &section, wc->self, wc->call->sp );
    ums_objects_lock();
    signal = find_signal( wc, &ours );
    if (ours && find_all( wc, objects ))
    {
        begun = ANSWERED;
        if ((!signal || signal_first( signal, &thread, status )) &&
            !ums_object_wait( objects, wc->count, wc->all, poll, &thread, worker, wait, status ))
            begun = WAITING;
    }
    ums_objects_unlock();
    ums_object_section_end( &section );
    return begun;
}

static int end_wait( struct wait_call *wc, struct object_wait *wait, ums_status *status )
{
    struct object_section section;
    int over;

    ums_object_section_begin( &section, wc->self, wc->call->sp );
    over = ums_object_wait_end( wait, status );
    ums_object_section_end( &section );
    return over;
}

static void has_arrived( struct wait_call *wc, struct object_wait *wait )
{
    struct object_section section;

    ums_object_section_begin( &section, wc->self, wc->call->sp );
    ums_object_arrived( wait );
    ums_object_section_end( &section );
}

static int wait_for( struct wait_call *wc, uint64_t *ret )
{
    struct ums_context *worker = NULL;
    struct object_wait *wait = NULL;
    ums_status status = 0;
    enum how_long how_long;

    if (wc->self && !wc->nested)
    {
        if (__builtin_expect( ums_recording, 0 ))
            ums_note_call( wc->self, call_key_number( wc->call->key ) );
        ums_worker_give_way( wc->self );
    }
    how_long = ums_read_timeout( wc->timeout, wc->self, &wc->deadline );
    if (how_long == NOBODY_KNOWS) return 0;
    if (wc->self && !wc->nested && how_long != NOT_AT_ALL &&
        (how_long == FOR_EVER || ums_has_timer( wc->self, wc->call ))) worker = wc->self;
    if (worker && atomic_load( &worker->breakpoints )) ums_worker_go_home( worker );
    switch (begin_wait( wc, worker, how_long == NOT_AT_ALL, &wait, &status ))
    {
    case NOT_OURS: return 0;
    case ANSWERED: *ret = (uint64_t)status; return 1;
    case WAITING:  break;
    }
    if (worker)
    {
        worker->success = STATUS_SUCCESS;       /* for who looks at it */
        ums_object_wait_as_worker( wait, wc->deadline );
    }
    else wait_in_thread( wc, wait );
    if (!end_wait( wc, wait, &status ))
    {
        *ret = wait_at_host( wc, wait );
        has_arrived( wc, wait );
    }
    else *ret = (uint64_t)status;
    return 1;
}

static void who_waits( struct wait_call *wc, struct ums_call *call, struct ums_context *self )
{
    wc->call = call;
    wc->context = self;
    wc->self = ums_is_plain( self ) ? NULL : self;
    wc->nested = wc->self && ums_call_is_nested( self, call->sp );
}

/* NtWaitForSingleObject( handle, alertable, timeout ) */
int ums_object_wait_for_one( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    struct wait_call wc = { .count = 1, .timeout = call->args[2], .timeout_index = 2 };

    if (ums_object_find( call->args[0] ))
    {
        if ((uint8_t)call->args[1]) ums_object_make_real( call->args[0], NAMED, self, call->sp );
        wc.handles[0] = call->args[0];
        who_waits( &wc, call, self );
        if (!(uint8_t)call->args[1] && wait_for( &wc, ret )) return 1;
    }
    return ums_kept_wait_for_one( call, self, ret );
}

/* The signal is given: only the wait is left, in whichever way waits for that handle are made. */
uint64_t ums_object_wait_after_signal( struct ums_call *call, struct ums_context *self )
{
    uint64_t args[UMS_MAX_ARGS] = { call->args[1], call->args[2], call->args[3] }, ret;
    struct ums_call wait = ums_call_with( call, args );

    wait.key = ums_object_wait_key();
    if (ums_object_wait_for_one( &wait, self, &ret )) return ret;
    return ums_object_wait_call( &wait, args, self );
}

/* The signal of a real object is for a wait that still moves, if there is one. Nothing is signalled if the
   host would refuse the wait. Not closed: two threads that do this at the same time, or one of them sets
   the event, while waits arrive; their signals may merge, because the host's call is made without the
   lock. */
static int signal_stragglers( struct ums_call *call, struct ums_context *self )
{
    struct object_section section;
    struct ums_object *o;
    int done = 0;

    if (!ums_object_find( call->args[0] ) || !ums_can_read_time( call->args[3] ) ||
        !ums_has_access( (HANDLE)call->args[1], SYNCHRONIZE )) return 0;
    ums_object_section_begin( &section, self, call->sp );
    if ((o = ums_object_lock( call->args[0] )))
    {
        if (atomic_load( &o->real ) && o->type != OBJECT_MUTANT)
            done = ums_object_signal_with_stragglers( o, &section );
        else ums_objects_unlock();
    }
    ums_object_section_end( &section );
    return done;
}

/* NtSignalAndWaitForSingleObject( signal, handle, alertable, timeout ). The signal and the begin of
   the wait are one step under the lock. After that it is a wait for one object, and that is the
   call which is made at the host if the object becomes real. */
int ums_object_signal_and_wait( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    struct wait_call wc = { .count = 1, .timeout = call->args[3], .timeout_index = 2,
                            .signal = call->args[0] };
    struct ums_call wait = *call;

    if (!(uint8_t)call->args[2] && ums_object_find( call->args[0] ) && ums_object_find( call->args[1] ))
    {
        wait.key = ums_object_wait_key();
        wait.args[0] = wc.handles[0] = call->args[1];
        wait.args[1] = 0;
        wait.args[2] = call->args[3];
        who_waits( &wc, &wait, self );
        if (wait_for( &wc, ret )) return 1;
    }
    ums_object_make_real( call->args[0], NAMED, self, call->sp );
    ums_object_make_real( call->args[1], NAMED, self, call->sp );
    if (!signal_stragglers( call, self )) return ums_kept_signal_and_wait( call, self, ret );
    *ret = ums_object_wait_after_signal( call, self );
    return 1;
}

/* Returns how many of the objects are local; -1 if the handles cannot be read. *twice: one object
   is there twice. */
static int look_at_handles( struct wait_call *wc, uint64_t from, int *twice )
{
    const struct ums_object *seen[OBJECT_WAITS_MAX];
    int local = 0, k;
    uint32_t i;

    *twice = 0;
    for (i = 0; i < wc->count; i++)
    {
        const struct ums_object *o;

        if (!ums_try_load( (const uint64_t *)from + i, &wc->handles[i] )) return -1;
        if (!(o = ums_object_find( wc->handles[i] ))) continue;
        for (k = 0; k < local; k++) if (seen[k] == o) *twice = 1;
        seen[local++] = o;
    }
    return local;
}

/* NtWaitForMultipleObjects( count, handles, any, alertable, timeout ) */
int ums_object_wait_for_many( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    struct wait_call wc = { .count = (uint32_t)call->args[0], .by_array = 1, .timeout_index = 4 };
    uint64_t args[UMS_MAX_ARGS];
    int local, twice;
    uint32_t i;

    if (!wc.count || wc.count > OBJECT_WAITS_MAX) return 0;
    if ((local = look_at_handles( &wc, call->args[1], &twice )) < 0) return 0;
    if (!local) return ums_kept_wait_for_many( call, self, ret );
    if ((uint32_t)local == wc.count && !twice && !(uint8_t)call->args[3] && (uint32_t)call->args[2] <= 1)
    {
        ums_call_args( call, args );
        wc.all = !(uint32_t)call->args[2];
        wc.timeout = args[4];
        who_waits( &wc, call, self );
        if (wait_for( &wc, ret )) return 1;
    }
    for (i = 0; i < wc.count; i++) ums_object_make_real( wc.handles[i], NAMED, self, call->sp );
    return ums_kept_wait_for_many( call, self, ret );
}
