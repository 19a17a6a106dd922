/*
 * Calls about mutants of this process alone: local ones, and those that a keeper owns for the caller.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mutant that became real while the caller owned it is the caller's still, but at the host its
 * keeper owns it (mutant_keeper.c). So the calls in which the host looks at the owner are answered
 * here. A wait for such a mutant is satisfied at once; in a wait for several the host is asked for
 * the others only. Any handle of the mutant may be used. That costs a request for each handle and
 * kept mutant, while the process has one.
 *
 * Not answered: a wait for messages and the mutant that the caller owns, through win32u. It waits
 * for the messages only.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include <string.h>
#include "syscalls/objects/hook_objects.h"
#include "syscalls/threads/threads.h"
#include "host/ke_win32.h"

/* ---- release, query ---- */

/* 1: it was local, and *status is the answer. Wine stores 1 where it refuses. */
static int release_local( struct ums_call *call, const struct object_thread *self,
                          int32_t *before, NTSTATUS *status )
{
    struct ums_object *o = ums_object_lock( call->args[0] );
    int done;

    if (!o) return 0;
    if ((done = o->type == OBJECT_MUTANT && !atomic_load( &o->real )) &&
        !ums_mutant_release( o, self, before ))
    {
        *before = 1;
        *status = STATUS_MUTANT_NOT_OWNED;
    }
    ums_objects_unlock();
    return done;
}

/* NtReleaseMutant( handle, previous ) */
int ums_object_release_mutant( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const struct object_thread thread = ums_object_thread( self );
    struct object_section section;
    NTSTATUS status = STATUS_SUCCESS;
    int32_t before = 0;
    uint64_t stored;
    int done;

    if (!ums_object_find( call->args[0] ) && !ums_any_kept()) return 0;
    ums_object_section_begin( &section, self, call->sp );
    done = release_local( call, &thread, &before, &status ) ||
           (ums_any_kept() && ums_kept_release( &thread, call->args[0], &before ));
    ums_object_section_end( &section );
    if (!done) return 0;
    stored = ums_store_ulong( call->args[1], (uint32_t)before );
    *ret = stored ? stored : (uint64_t)status;
    return 1;
}

/* The second word: is the caller its owner, is it abandoned. */
static int look_at_mutant( struct ums_call *call, const struct object_thread *self, uint32_t *words )
{
    struct ums_object *o = ums_object_lock( call->args[0] );
    int32_t state = 0;
    int done = 0;

    if (o)
    {
        done = o->type == OBJECT_MUTANT && !atomic_load( &o->real );
        words[0] = (uint32_t)o->state;
        words[1] = (uint32_t)(o->owner.tid == self->tid) | (o->abandoned != 0) << 8;
        ums_objects_unlock();
    }
    if (!done && ums_any_kept() && (done = ums_kept_state( self, call->args[0], MUTANT_QUERY_STATE, &state )))
    {
        words[0] = (uint32_t)state;
        words[1] = 1;
    }
    return done;
}

/* NtQueryMutant( handle, class, MUTANT_BASIC_INFORMATION *, size, returned ) [sdk] */
int ums_object_query_mutant( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const struct object_thread thread = ums_object_thread( self );
    uint64_t args[UMS_MAX_ARGS];
    struct object_section section;
    uint32_t words[2] = { 0, 0 };
    int done;

    if (!ums_object_find( call->args[0] ) && !ums_any_kept()) return 0;
    if ((uint32_t)call->args[1] || (uint32_t)call->args[3] != sizeof(words)) return 0;
    ums_object_section_begin( &section, self, call->sp );
    done = look_at_mutant( call, &thread, words );
    ums_object_section_end( &section );
    if (!done) return 0;
    ums_call_args( call, args );
    *ret = ums_store_two_words( args[2], words[0], words[1], args[4] );
    return 1;
}

/* ---- waits for mutants that a keeper owns for the caller ---- */

static int acquire( struct ums_context *self, const struct object_thread *thread, uint64_t handle,
                    uintptr_t sp )
{
    struct object_section section;
    int acquired;

    ums_object_section_begin( &section, self, sp );
    acquired = ums_kept_acquire( thread, handle );
    ums_object_section_end( &section );
    return acquired;
}

static int is_mine( struct ums_context *self, const struct object_thread *thread, uint64_t handle,
                    uintptr_t sp )
{
    struct object_section section;
    int32_t state;
    int mine;

    ums_object_section_begin( &section, self, sp );
    mine = ums_kept_state( thread, handle, SYNCHRONIZE, &state );
    ums_object_section_end( &section );
    return mine;
}

int ums_kept_wait_for_one( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const struct object_thread thread = ums_object_thread( self );

    if (!ums_any_kept() || !ums_can_read_time( call->args[2] ) ||
        !acquire( self, &thread, call->args[0], call->sp )) return 0;
    *ret = STATUS_WAIT_0;
    return 1;
}

/* The same wait for other handles. at_once: it only looks, and runs no APC. */
static NTSTATUS wait_for_others( struct ums_call *call, struct ums_context *self, uint64_t *handles,
                                 uint32_t count, int at_once )
{
    static const LARGE_INTEGER no_time;
    uint64_t args[UMS_MAX_ARGS];
    struct ums_call again;

    ums_call_args( call, args );
    args[0] = count;
    args[1] = (uint64_t)(ULONG_PTR)handles;
    if (at_once)
    {
        args[3] = FALSE;
        args[4] = (uint64_t)(ULONG_PTR)&no_time;
    }
    again = ums_call_with( call, args );
    return (NTSTATUS)ums_object_wait_call( &again, args, self );
}

/* The caller's mutant, at `mine`, is signalled, so the wait is over at once; unless one of the handles behind it is bad,
   which the host says. */
static NTSTATUS wait_for_any( struct ums_call *call, struct ums_context *self,
                              const struct object_thread *thread, uint64_t *handles, uint32_t count, uint32_t mine )
{
    NTSTATUS status = STATUS_TIMEOUT;
    uint32_t i;

    for (i = mine + 1; i < count; i++)
        if (!ums_has_access( (HANDLE)handles[i], SYNCHRONIZE )) return wait_for_others( call, self, handles, count, 1 );
    if (mine) status = wait_for_others( call, self, handles, mine, 1 );
    if (status != STATUS_TIMEOUT) return status;
    acquire( self, thread, handles[mine], call->sp );
    return (NTSTATUS)mine;
}

/* Nobody takes the caller's mutants away while it waits for the others. */
static NTSTATUS wait_for_all( struct ums_call *call, struct ums_context *self,
                              const struct object_thread *thread, const uint64_t *handles,
                              uint32_t count )
{
    uint64_t others[OBJECT_WAITS_MAX], mine[OBJECT_WAITS_MAX];
    NTSTATUS status = STATUS_WAIT_0;
    uint32_t i, other_count = 0, mine_count = 0;

    for (i = 0; i < count; i++)
    {
        if (is_mine( self, thread, handles[i], call->sp )) mine[mine_count++] = handles[i];
        else others[other_count++] = handles[i];
    }
    if (other_count) status = wait_for_others( call, self, others, other_count, 0 );
    if (status != STATUS_WAIT_0 && status != STATUS_ABANDONED_WAIT_0) return status;
    for (i = 0; i < mine_count; i++) acquire( self, thread, mine[i], call->sp );
    return status;
}

/* NtWaitForMultipleObjects( count, handles, any, alertable, timeout ) */
int ums_kept_wait_for_many( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const struct object_thread thread = ums_object_thread( self );
    uint64_t handles[OBJECT_WAITS_MAX], args[UMS_MAX_ARGS];
    const uint32_t count = (uint32_t)call->args[0];
    uint32_t i;

    if (!ums_any_kept() || !count || count > OBJECT_WAITS_MAX) return 0;
    ums_call_args( call, args );
    if (!ums_can_read_time( args[4] )) return 0;
    for (i = 0; i < count; i++)
        if (!ums_try_load( (const uint64_t *)call->args[1] + i, &handles[i] )) return 0;
    for (i = 0; i < count && !is_mine( self, &thread, handles[i], call->sp ); i++) ;
    if (i == count) return 0;
    if ((uint32_t)call->args[2]) *ret = (uint64_t)wait_for_any( call, self, &thread, handles, count, i );
    else *ret = (uint64_t)wait_for_all( call, self, &thread, handles, count );
    return 1;
}

/* The host signals, and finds that a keeper owns the mutant that the caller waits for. It is the
   caller's, so that wait is satisfied. */
static uint64_t signal_and_acquire( struct ums_call *call, struct ums_context *self,
                                    const struct object_thread *thread )
{
    const LARGE_INTEGER at_once = { .QuadPart = 0 };
    uint64_t args[UMS_MAX_ARGS] = { call->args[0], call->args[1], 0, (uint64_t)(ULONG_PTR)&at_once };
    struct ums_call signal = ums_call_with( call, args );
    uint64_t ret = ums_object_wait_call( &signal, args, self );

    if ((NTSTATUS)ret != STATUS_TIMEOUT) return ret;
    acquire( self, thread, call->args[1], call->sp );
    return STATUS_WAIT_0;
}

/* NtSignalAndWaitForSingleObject( signal, handle, alertable, timeout ). Not one step, if one of them
   is a mutant that a keeper owns for the caller. */
int ums_kept_signal_and_wait( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const struct object_thread thread = ums_object_thread( self );
    struct object_section section;
    int32_t before;
    int released;

    if (!ums_any_kept() || !ums_can_read_time( call->args[3] )) return 0;
    if (!ums_has_access( (HANDLE)call->args[1], SYNCHRONIZE )) return 0;        /* it fails, and releases nothing */
    ums_object_section_begin( &section, self, call->sp );
    released = ums_kept_release( &thread, call->args[0], &before );
    ums_object_section_end( &section );
    if (!released && !is_mine( self, &thread, call->args[1], call->sp )) return 0;
    *ret = released ? ums_object_wait_after_signal( call, self ) : signal_and_acquire( call, self, &thread );
    return 1;
}
