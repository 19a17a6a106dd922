/*
 * Calls about local objects (docs/local_objects.md).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_HOOK_OBJECTS_H
#define UMS_HOOK_OBJECTS_H

#include "core/objects.h"
#include "core/wait.h"
#include "syscalls/hook/hook.h"
#include "factory/factory_host.h"

/* Which arguments of a call can name a local object. */
enum object_call
{
    CALL_UNKNOWN,                               /* the default: any argument may name one */
    CALL_WORDS,                                 /* the same, also as a value of 32 bits */
    CALL_NAMES_0,                               /* its first argument names one */
    CALL_NAMES_1,
    CALL_NAMES_0_1,
    CALL_NAMES_1_BUFFER,                        /* its second argument, and its input buffer */
    CALL_HARMLESS,                              /* gets no event or semaphore to keep, set or wait for;
                                                   or its handler does what is needed */
    CALL_OF_OBJECTS                             /* from here on: the index of its function */
};

/* enum object_call of a system's number. */
uint32_t ums_object_call_kind( uint32_t nr );

typedef int (*object_function)( struct ums_call *call, struct ums_context *self, uint64_t *ret );

static inline int ums_is_plain( const struct ums_context *self )
{
    return !self || self->kind != CONTEXT_WORKER;
}

/* ---- a section: the code around everything that takes the lock of the objects ---- */

struct object_section
{
    struct ums_context *self;                   /* a worker, or NULL */
    int carried;
    struct ums_inside before;                   /* at home */
};

void ums_object_section_begin( struct object_section *section, struct ums_context *self,
                               uintptr_t sp );
void ums_object_section_end( struct object_section *section );

/* The object of this entry of the handle table; NULL if the entry is of another kind. Takes no
   lock. */
struct ums_object *ums_object_of_entry( uint64_t entry );
/* The object of this handle, if it has work for us; NULL otherwise. Takes no lock, so the answer is
   a guess. */
struct ums_object *ums_object_find( uint64_t handle );
/* The same, and the lock is held when it returns an object. With NULL, nothing is locked. */
struct ums_object *ums_object_lock( uint64_t handle );

/* ---- hook_objects_wait.c ---- */

int ums_object_wait_for_one( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_wait_for_many( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_signal_and_wait( struct ums_call *call, struct ums_context *self, uint64_t *ret );

/* ---- hook_objects_real.c ---- */

/* Make all objects real whose handles the call names, directly or in memory that its arguments
   point at. */
void ums_objects_in_call( const struct ums_call *call, struct ums_context *self,
                          enum object_call kind );
extern const struct object_host ums_object_host;
struct call_key ums_object_wait_key( void );    /* the key of NtWaitForSingleObject */
/* Make one object real; and the same with the lock held. */
void ums_object_make_real( uint64_t handle, struct ums_context *self, uintptr_t sp );
void ums_object_make_real_locked( struct ums_object *o );
/* An operation on a real object for which waits still move or arrive. */
enum straggler_call { STRAGGLER_SET, STRAGGLER_RESET, STRAGGLER_PULSE };
/* Called with the lock held, and releases it. Returns 1 if the operation is done, with *before; 0
   if the handle was closed meanwhile: then the host's call is made. */
int ums_object_with_stragglers( struct ums_object *o, uint64_t handle, enum straggler_call what,
                                struct object_section *section, int32_t *before );

#endif /* UMS_HOOK_OBJECTS_H */
