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

/* What a call means to local objects. */
enum object_call
{
    CALL_UNKNOWN,                               /* the default: any of its arguments may name one */
    CALL_WORDS,                                 /* the same, and in 32 bits */
    CALL_NAMES_0,                               /* its first argument does */
    CALL_NAMES_1,
    CALL_NAMES_0_1,
    CALL_NAMES_1_BUFFER,                        /* its second, and its input buffer */
    CALL_HARMLESS,                              /* is given no event or semaphore to keep, set or wait
                                                   for; or has a handler that knows */
    CALL_OF_OBJECTS                             /* and on: the index of its function */
};

/* enum object_call of a system's number. */
uint32_t ums_object_call_kind( uint32_t nr );

typedef int (*object_function)( struct ums_call *call, struct ums_context *self, uint64_t *ret );

static inline int ums_is_plain( const struct ums_context *self )
{
    return !self || self->kind != CONTEXT_WORKER;
}

/* ---- around everything that takes the lock of the objects ---- */

struct object_section
{
    struct ums_context *self;                   /* a worker, or NULL */
    int carried;
    struct ums_inside before;                   /* at home */
};

void ums_object_section_begin( struct object_section *section, struct ums_context *self,
                               uintptr_t sp );
void ums_object_section_end( struct object_section *section );

/* The object that this entry of the handles' table is of, locked, if the entry is still the same and
   the object is not the host's alone; else NULL, and nothing is locked. */
struct ums_object *ums_object_of_entry( uint64_t entry );       /* or NULL, of other entries */
struct ums_object *ums_object_find( uint64_t handle );
struct ums_object *ums_object_lock( uint64_t handle );

/* ---- hook_objects_wait.c ---- */

int ums_object_wait_for_one( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_wait_for_many( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_signal_and_wait( struct ums_call *call, struct ums_context *self, uint64_t *ret );

/* ---- hook_objects_real.c ---- */

/* Make real all whose handles the call names, directly or in memory behind its arguments. */
void ums_objects_in_call( const struct ums_call *call, struct ums_context *self,
                          enum object_call kind );
extern const struct object_host ums_object_host;
struct call_key ums_object_wait_key( void );    /* of NtWaitForSingleObject */
/* One of them; and with the lock. */
void ums_object_make_real( uint64_t handle, struct ums_context *self, uintptr_t sp );
void ums_object_make_real_locked( struct ums_object *o );
/* The host's own operation on an object that is real and for which some still move. */
enum straggler_call { STRAGGLER_SET, STRAGGLER_RESET, STRAGGLER_PULSE };
/* 1: done, *ret; 0: the host's call does it. With the lock, which it gives up. */
int ums_object_with_stragglers( struct ums_object *o, uint64_t handle, enum straggler_call what,
                                struct object_section *section, int32_t *before );

#endif /* UMS_HOOK_OBJECTS_H */
