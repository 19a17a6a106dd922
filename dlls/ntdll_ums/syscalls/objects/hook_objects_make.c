/*
 * Calls that make local objects, by every thread of the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
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

#define ALLOWED_ATTRIBUTES (OBJ_CASE_INSENSITIVE | OBJ_OPENIF)

/* No other process can know the object: it has no name and is not inherited. The handle has all
   rights, so we never have to check them. */
static int is_private( const struct ums_call *call, ACCESS_MASK all )
{
    ACCESS_MASK access = (ACCESS_MASK)call->args[1];
    uint64_t words[6];                          /* OBJECT_ATTRIBUTES */
    unsigned int i;

    if ((access & all) != all && !(access & (GENERIC_ALL | MAXIMUM_ALLOWED))) return 0;
    if (!call->args[2]) return 1;
    if (call->args[2] == (uint64_t)(ULONG_PTR)&ke_plain_object) return 0;
    for (i = 0; i < ARRAYSIZE(words); i++)
        if (!ums_try_load( (const uint64_t *)call->args[2] + i, &words[i] )) return 0;
    return (uint32_t)words[0] == sizeof(OBJECT_ATTRIBUTES) && !words[1] && !words[2] &&
           !((uint32_t)words[3] & ~ALLOWED_ATTRIBUTES) && !words[4] && !words[5];
}

/* Makes the host's object, not signalled. Any thread of the process may make the call. */
static NTSTATUS make_at_host( struct ums_call *call, const uint64_t *args, struct ums_context *self )
{
    int carried;
    NTSTATUS status;

    if (ums_is_plain( self )) return (NTSTATUS)ums_call_native( call, args );
    if (!ums_call_is_nested( self, call->sp ))
    {
        if (__builtin_expect( ums_recording, 0 )) ums_note_call( self, call_key_number( call->key ) );
        ums_worker_give_way( self );
    }
    if ((carried = ums_worker_is_carried( self ))) ums_local_begin( self );
    status = (NTSTATUS)ums_call_native( call, args );
    if (carried)
    {
        ums_local_end( self );
        ums_worker_give_way( self );
    }
    return status;
}

/* Nobody has seen the host's object: the host makes another one. */
static int refuse( struct ums_object *o, struct ums_context *self, uintptr_t sp )
{
    struct object_section section;

    ums_object_section_begin( &section, self, sp );
    ums_object_host.drop( o->handle );
    ums_object_section_end( &section );
    ums_object_forget( o, self, sp );
    return 0;
}

/* No thread may get the handle of a local object before all calls are looked at: another one that makes
   its first object at the same time, or is stopped in here, is not relied on; the work is done once more.
   Both set the same bit of the same bytes, and nobody writes others of these bytes. Calls that the hook
   learns of later look at ums_objects_made, so that is set first. */
static void look_from_now_on( void )
{
    static _Atomic uint32_t looked;

    if (atomic_load( &looked )) return;
    atomic_store( &ums_objects_made, 1 );
    ums_hook_look_at_all();
    atomic_store( &looked, 1 );
}

/* The handle is put into the table before the program gets it. owner: of a mutant, or NULL. */
static int create( struct ums_call *call, struct ums_context *self, struct ums_object *o,
                   const struct object_thread *owner, unsigned int state_index, uint64_t *ret )
{
    uint64_t args[UMS_MAX_ARGS];
    struct object_section section;
    HANDLE handle = NULL;

    if (!o) return 0;
    ums_call_args( call, args );
    args[0] = (uint64_t)(ULONG_PTR)&handle;
    args[state_index] = 0;
    if ((*ret = (uint64_t)make_at_host( call, args, self )))
    {
        ums_object_forget( o, self, call->sp );
        return 1;
    }
    o->handle = handle;
    if (owner)
    {
        ums_object_section_begin( &section, self, call->sp );
        ums_objects_lock();
        ums_mutant_take( o, owner );
        ums_objects_unlock();
        ums_object_section_end( &section );
    }
    look_from_now_on();
    if (!ums_handle_is_object( handle, ums_object_index( o ) )) return refuse( o, self, call->sp );
    ums_try_store( (void *)call->args[0], (uint64_t)(ULONG_PTR)handle );
    return 1;
}

static int can_store( const struct ums_call *call )
{
    return ums_try_store( (void *)call->args[0], 0 );
}

int ums_object_create_event( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const enum object_type type = (enum object_type)call->args[3];
    uint64_t args[UMS_MAX_ARGS];

    if (!is_private( call, EVENT_ALL_ACCESS ) || (uint32_t)call->args[3] > OBJECT_SYNCHRONIZATION ||
        !can_store( call )) return 0;
    ums_call_args( call, args );
    return create( call, self, ums_object_create( type, (uint8_t)args[4] != 0, 1 ), NULL, 4, ret );
}

int ums_object_create_semaphore( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    uint64_t args[UMS_MAX_ARGS];
    int32_t initial, limit;

    if (!is_private( call, SEMAPHORE_ALL_ACCESS )) return 0;
    ums_call_args( call, args );
    initial = (int32_t)args[3];
    limit = (int32_t)args[4];
    if (limit <= 0 || initial < 0 || initial > limit || !can_store( call )) return 0;
    return create( call, self, ums_object_create( OBJECT_SEMAPHORE, initial, limit ), NULL, 3, ret );
}

/* Mutants are looked up with NtCompareObjects once they are real; Windows 7 has none. */
int ums_object_create_mutant( struct ums_call *call, struct ums_context *self, uint64_t *ret )
{
    const struct object_thread owner = ums_object_thread( self );
    struct object_section section;
    int stands_by;

    if (!is_private( call, MUTANT_ALL_ACCESS ) || !ums_keepers_work() || !can_store( call )) return 0;
    ums_object_section_begin( &section, self, call->sp );
    stands_by = ums_keeper_stands_by();
    ums_object_section_end( &section );
    if (!stands_by) return 0;                   /* the host's from the start */
    return create( call, self, ums_object_create( OBJECT_MUTANT, 1, 1 ),
                   (uint8_t)call->args[3] ? &owner : NULL, 3, ret );
}
