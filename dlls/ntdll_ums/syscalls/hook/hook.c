/*
 * What happens when a worker enters the kernel. At home every call may be made unchanged; the hook
 * only decides whether the scheduler has to be told. A carried worker goes home first, except for
 * calls that do not depend on the thread that makes them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nothing here may take a lock or allocate: a worker is switched out in the middle of it.
 */

#include <windows.h>
#include "core/objects.h"
#include "core/wait.h"
#include "syscalls/hook/hook.h"
#include "host/asm_offsets.h"
#include "host/ke_win32.h"
#include "factory/factory_host.h"
#include "record/record.h"

_Static_assert( UMS_MAX_ARGS == 4 + CALL_STACK_ARGS, "hook_x86_64.S hands on as many" );

#define PAGE_SIZE 0x1000

/* Could this page be part of a stack? Guard pages are not touched. */
static int is_readable( uintptr_t page )
{
    struct ums_call query = { .key = call_key_named( "NtQueryVirtualMemory" ) };
    MEMORY_BASIC_INFORMATION info;
    uint64_t args[UMS_MAX_ARGS] = { (uint64_t)-1, page, 0 /* MemoryBasicInformation */,
                                    (uintptr_t)&info, sizeof(info), 0 };
    struct ums_context *self = ke_current();
    int carried = self && self->kind == CONTEXT_WORKER && ums_worker_is_carried( self );
    uint64_t status;

    if (carried) ums_local_begin( self );
    status = ums_call_native( &query, args );
    if (carried) ums_local_end( self );
    return !status && info.State == MEM_COMMIT && !(info.Protect & (PAGE_NOACCESS | PAGE_GUARD));
}

/* The address up to which the arguments on the stack may be read. On the stack in the TEB, that is
   its end. A program may use another stack: then it is the end of the page, because the home space
   in front of the arguments exists, or the end of the next page if that is readable. The TEB does
   not know parking places, and no memory follows the last one of a slab. */
static const uint64_t *end_of_arguments( const uint64_t *place )
{
    const NT_TIB *tib = (const NT_TIB *)NtCurrentTeb();
    const struct ums_context *self = ke_current();
    uintptr_t last = (uintptr_t)place - 1, page;

    if (last - (uintptr_t)tib->StackLimit < (uintptr_t)tib->StackBase - (uintptr_t)tib->StackLimit)
        return tib->StackBase;
    if (self && (uintptr_t)self->home - (uintptr_t)place < HOME_SIZE) return self->home;
    page = (last | (PAGE_SIZE - 1)) + 1;
    if ((uintptr_t)(place + CALL_STACK_ARGS) > page && is_readable( page )) page += PAGE_SIZE;
    return (const uint64_t *)page;
}

void ums_call_args( const struct ums_call *call, uint64_t *args )
{
    const uint64_t *end = end_of_arguments( call->stack );
    int i;

    for (i = 0; i < 4; i++) args[i] = call->args[i];
    for (; i < UMS_MAX_ARGS && call->stack + (i - 4) < end; i++) args[i] = call->stack[i - 4];
    for (; i < UMS_MAX_ARGS; i++) args[i] = 0;
}

uint64_t ums_call_native( const struct ums_call *call, const uint64_t *args )
{
    uint64_t copy[UMS_MAX_ARGS];

    if (!args)
    {
        ums_call_args( call, copy );
        args = copy;
    }
    if (call_key_is_row( call->key ))
        return ums_call_stub( ums_stub_native[call_key_index( call->key )], args );
    return ums_call_dispatcher( call->key.bits, args );
}

int ums_wait_is_poll( const struct call_row *row, const uint64_t *args )
{
    uint64_t timeout;

    if (row->timeout < 0 || !args[row->timeout]) return 0;
    /* the kernel refuses a time-out that it cannot read, and does not wait */
    return !ums_try_load( (const void *)args[row->timeout], &timeout ) || !timeout;
}

static int is_alertable( const struct call_row *row, const uint64_t *args )
{
    return row->alertable >= 0 && (uint8_t)args[row->alertable];
}

/* Make the call at home, and mark it: calls in its callbacks are part of it. */
static uint64_t call_inside( const struct ums_call *call, const uint64_t *args,
                             struct ums_context *self )
{
    uint64_t ret;

    inside_enter( &self->inside, call->sp, ke_stack_base() );
    ret = ums_call_native( call, args );
    inside_leave( &self->inside );
    return ret;
}

/* A pending APC would end an alertable wait at once; but a signal is looked at before an APC, by
   Wine's server and by Windows, so a satisfied wait runs none. A worker has announced nothing yet.
   Therefore what an APC does during the try is not part of this call, and the APC's own waits have
   to be reported: an alertable try is not marked as a call. Nothing of it is left in the kernel
   while the APC runs, which ends with NtContinue: the APC may even be carried. */
int ums_wait_try( const struct call_row *row, const struct ums_call *call, uint64_t *args,
                  struct ums_context *worker, uint64_t *ret )
{
    LARGE_INTEGER zero = { .QuadPart = 0 };
    uint64_t timeout;
    int poll;

    ums_call_args( call, args );
    poll = ums_wait_is_poll( row, args );
    if (!poll && !row->try_zero) return 0;
    if (worker) ums_worker_go_home( worker );
    if (poll)
    {
        *ret = ums_call_native( call, args );
        return 1;
    }
    timeout = args[row->timeout];
    args[row->timeout] = (uint64_t)(ULONG_PTR)&zero;
    *ret = !worker || is_alertable( row, args ) ? ums_call_native( call, args )
                                                : call_inside( call, args, worker );
    args[row->timeout] = timeout;
    return (ums_status)*ret != STATUS_TIMEOUT;
}

uint64_t ums_call_wait( const struct call_row *row, const struct ums_call *call,
                        struct ums_context *self )
{
    uint64_t args[UMS_MAX_ARGS], ret;
    int blocked;

    if (ums_wait_try( row, call, args, self, &ret )) return ret;
    blocked = ums_worker_block( self, 1 );      /* from here on the scheduler runs */
    ret = ums_alert_was_kept( row ) ? STATUS_ALERTED : call_inside( call, args, self );
    if (blocked) ums_worker_back( self );
    return ret;
}

static uint64_t call_may_block( const struct ums_call *call, struct ums_context *self )
{
    int entered = ums_worker_enter_kernel( self );
    uint64_t ret = call_inside( call, NULL, self );

    if (entered) ums_worker_back( self );
    return ret;
}

void ums_abandon_call( struct ums_context *self )
{
    inside_leave( &self->inside );
    ums_worker_back( self );
}

/* A call in a callback of another call, or made by the shim itself, is part of that call. */
int ums_call_is_nested( struct ums_context *self, uintptr_t here )
{
    if (!inside_any( &self->inside )) return 0;
    if (!inside_was_left( &self->inside, here )) return 1;
    ums_abandon_call( self );
    return 0;
}

/* Only a call that returns here is marked as nested. */
static uint64_t call_nested( const struct call_row *row, struct ums_call *call,
                             struct ums_context *self, int special )
{
    struct ums_inside before;
    uint64_t ret;

    if (special) return row->handler( row, call, self );
    if (row->cls <= CALL_QUICK) return ums_call_native( call, NULL );
    before = inside_nest( &self->inside, call->sp, ke_stack_base() );
    ret = ums_call_native( call, NULL );
    inside_unnest( &self->inside, before );
    return ret;
}

/* Called from assembly: an APC of this thread begins. The kernel has ended the thread's call, or
   the thread was in none that was announced. On Windows a worker first returns from its call: it is
   queued, and the APC runs when it is executed. Nothing of the call is left in the kernel. The APC
   ends with NtContinue, which goes home and returns to the frame of the call, where the worker is
   RUNNING. In a callback (NESTED) the outer call continues, and the APC runs at once. If another
   thread has set the registers for the end of the call (preempted), the worker has to reach that
   end first. */
void ums_apc_begins( void )
{
    struct ums_context *self = ke_current();
    struct ums_hand *h = ums_hand_current();    /* a scheduler may be one, too (call_plain) */

    /* It runs. Only this thread says that it blocks or is back; behind the call it is back already, which
       changes nothing. */
    if (h) ums_hand_is_back( h );
    ums_passed_call_is_over( self );
    if (!self || self->kind != CONTEXT_WORKER || self->inside.place != INSIDE_CALL ||
        self->preempted) return;
    ums_abandon_call( self );
}

/* Wine knows the calling thread by GS and by the Linux thread. With the scheduler's TEB both
   agree. */
void ums_local_begin( struct ums_context *self )
{
    atomic_store_explicit( &self->local, 1, memory_order_relaxed ); /* for threads that stop this one */
    ums_set_teb( self->owner->teb );
}

void ums_local_end( struct ums_context *self )
{
    ums_set_teb( self->teb );
    atomic_store_explicit( &self->local, 0, memory_order_relaxed );
}

static uint64_t call_local( const struct ums_call *call, struct ums_context *self )
{
    uint64_t args[UMS_MAX_ARGS], ret;

    ums_call_args( call, args );
    ums_local_begin( self );
    ret = ums_call_native( call, args );
    ums_local_end( self );
    ums_worker_give_way( self );
    return ret;
}

/* Is this the home thread itself, while its worker is away? It signals an event, or drops a list.
   It has the worker's TEB, but it is not the worker. */
int ums_is_parked_thread( const struct ums_context *self, uintptr_t sp )
{
    return (uintptr_t)self->home - sp < HOME_SIZE;
}

/* May a carried worker make this call on its carrier? */
static int is_local( const struct call_row *row, const struct ums_call *call,
                     const struct ums_context *self )
{
    if (atomic_load_explicit( &self->breakpoints, memory_order_relaxed )) return 0;
    return row->local_if ? row->local_if( call ) : row->cls == CALL_LOCAL;
}

/* The calls that a handler makes to look up threads are part of its own call. Otherwise the worker
   would be taken as blocked, queued and carried in the middle of the handler. */
static uint64_t call_special( const struct call_row *row, struct ums_call *call,
                              struct ums_context *self )
{
    uint64_t ret;

    inside_enter( &self->inside, call->sp, ke_stack_base() );
    ret = row->handler( row, call, self );
    inside_leave( &self->inside );
    return ret;
}

/* A wait of a scheduler while recording is on; not its wait for a worker that was handed off. */
static uint64_t idle_wait( const struct call_row *row, struct ums_call *call,
                           struct ums_scheduler *s )
{
    uint64_t args[UMS_MAX_ARGS], ret;

    ums_call_args( call, args );
    if (s->idle || atomic_load( &s->posted ) != POST_NONE || ums_wait_is_poll( row, args ))
        return ums_pass_on( call, args );
    ums_note_idle( s, call_key_number( call->key ) );
    ret = ums_pass_on( call, args );
    ums_note_busy( s );
    return ret;
}

/* A call of a thread that is not a worker. It may be a hand. */
static uint64_t call_plain( const struct call_row *row, struct ums_call *call,
                            struct ums_context *self )
{
    struct ums_hand *h = ums_hand_current();

    if (row->cls <= CALL_QUICK) return ums_call_native( call, NULL );
    if (h) return ums_hand_call( h, row, call );
    if (self && ums_recording && row->cls == CALL_WAIT)
        return idle_wait( row, call, self->scheduler );
    return ums_pass_on( call, NULL );
}

/* kind: the kind of the handle that the call closes. */
static uint64_t by_class( const struct call_row *row, struct ums_call *call,
                          struct ums_context *self, enum object_kind kind )
{
    int special = row->handler && (!row->handler_if || row->handler_if( call ));
    uint64_t ret;

    if (!self || self->kind != CONTEXT_WORKER)
        return special ? row->handler( row, call, self ) : call_plain( row, call, self );

    if (ums_is_parked_thread( self, call->sp ))
        return special ? row->handler( row, call, self ) : ums_call_native( call, NULL );
    if (ums_objects_on && ums_object_call( call, self, &ret )) return ret;
    if (ums_call_is_nested( self, call->sp )) return call_nested( row, call, self, special );

    if (__builtin_expect( ums_recording, 0 )) ums_note_call( self, call_key_number( call->key ) );
    ums_worker_give_way( self );
    if (kind && ums_close_known( kind, call, self, &ret )) return ret;
    if (ums_worker_is_carried( self ))
    {
        if (is_local( row, call, self )) return call_local( call, self );
        if (special || row->cls <= CALL_QUICK) ums_worker_go_home( self );
    }
    if (special) return call_special( row, call, self );
    if (row->cls <= CALL_QUICK) return ums_call_native( call, NULL );
    return row->cls == CALL_WAIT ? ums_call_wait( row, call, self ) : call_may_block( call, self );
}

uint64_t ums_call_by_class( const struct call_row *row, struct ums_call *call,
                            struct ums_context *self )
{
    return by_class( row, call, self, KIND_UNKNOWN );
}

static uint64_t make_call( const struct call_row *row, struct ums_call *call, enum object_kind kind )
{
    struct ums_context *self = ke_current();
    uint64_t ret;

    if (call_is_here( row ) && row->here( row, call, self, &ret )) return ret;
    return by_class( row, call, self, kind );
}

/* ---- handles come and go ---- */

static uint64_t call_that_makes( const struct call_row *row, struct ums_call *call )
{
    uint64_t before = ums_handle_will_be_made(), ret = make_call( row, call, KIND_UNKNOWN ), handle;
    enum object_kind kind = row->makes;

    if ((ums_status)ret < 0 || !ums_try_load( (const void *)call->args[0], &handle )) return ret;
    if (kind == KIND_SECTION && call->stack[2]) kind = KIND_OTHER;      /* of a file */
    ums_handle_made( handle, kind, before );
    return ret;
}

static uint64_t call_that_closes( const struct call_row *row, struct ums_call *call )
{
    uint64_t ret, handle = call->args[0];
    enum object_kind kind = ums_handle_will_close( handle );

    ret = make_call( row, call, kind );
    ums_handle_was_closed( handle );
    return ret;
}

/* NtDuplicateObject( process, handle, to process, copy, access, attributes, options ). Whose handles
   these are does not matter: those of this process with the same values lose their kinds. */
static uint64_t call_that_copies( const struct call_row *row, struct ums_call *call )
{
    int closes = (call->stack[2] & DUPLICATE_CLOSE_SOURCE) != 0;
    uint64_t before, ret, copy, handle = call->args[1];

    if (closes) ums_handle_will_close( handle );
    before = ums_handle_will_be_made();
    ret = make_call( row, call, KIND_UNKNOWN );
    if ((ums_status)ret >= 0 && call->args[3] && ums_try_load( (const void *)call->args[3], &copy ))
        ums_handle_made( copy, KIND_OTHER, before );
    if (closes) ums_handle_was_closed( handle );
    return ret;
}

int ums_hook_is_frame( const void *function )
{
    return function == (const void *)ums_dispatcher_frame || function == (const void *)ums_stub_frame;
}

uint64_t ums_hook_call( struct ums_call *call )
{
    const struct call_row *row = ums_call_row( call );

    if (row->makes) return call_that_makes( row, call );
    if (row->closes == CLOSES_FIRST) return call_that_closes( row, call );
    if (row->closes == CLOSES_SECOND) return call_that_copies( row, call );
    return make_call( row, call, KIND_UNKNOWN );
}
