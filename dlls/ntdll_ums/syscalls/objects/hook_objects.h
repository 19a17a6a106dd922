/*
 * Calls about local objects (docs/local_objects.md).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_HOOK_OBJECTS_H
#define UMS_HOOK_OBJECTS_H

#include <string.h>
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
    CALL_HARMLESS,                              /* gets no local object to keep, set or wait for;
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

/* The calling thread, as an owner of mutants. Not inside a section, where a carried worker has its
   scheduler's TEB. */
static inline struct object_thread ums_object_thread( struct ums_context *self )
{
    return (struct object_thread){ ums_is_plain( self ) ? ke_thread_id() : atomic_load( &self->tid ),
                                   self };
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

/* Its handle is closed, or nobody has seen it. */
void ums_object_forget( struct ums_object *o, struct ums_context *self, uintptr_t sp );
/* Stores what a query of a synchronisation object answers: two words, and their size. */
uint64_t ums_store_two_words( uint64_t to, uint32_t first, uint32_t second, uint64_t returned );

/* ---- hook_objects_make.c ---- */

int ums_object_create_event( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_create_semaphore( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_create_mutant( struct ums_call *call, struct ums_context *self, uint64_t *ret );

/* ---- hook_mutants.c ---- */

int ums_object_release_mutant( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_query_mutant( struct ums_call *call, struct ums_context *self, uint64_t *ret );
/* Waits that name a mutant which a keeper owns for the caller. 0: there is none; the host makes the
   call. */
int ums_kept_wait_for_one( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_kept_wait_for_many( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_kept_signal_and_wait( struct ums_call *call, struct ums_context *self, uint64_t *ret );

/* ---- mutant_keeper.c ---- */

int ums_keepers_init( void );                   /* once; 0: there is no memory */
int ums_keepers_work( void );                   /* has the host what they need? */
/* Does a keeper stand by, so that a mutant may be local? Begins one if there is none, and waits for it
   some milliseconds at most. Enters the kernel. */
int ums_keeper_stands_by( void );
/* Must the mutant get a keeper before it becomes real? With the lock. */
int ums_mutant_needs_keeper( const struct ums_object *o );
/* Does the call name the object, or is there a number that looks like its handle? */
enum naming { NAMED, PERHAPS_NAMED };
/* Called with the lock held, which is released meanwhile. Returns the object, with the lock, when it
   may become real; NULL, without it, when there is nothing left to do. */
struct ums_object *ums_mutant_to_keeper( struct ums_object *o, uint64_t handle, enum naming naming,
                                         struct object_section *section, uintptr_t sp );
/* These are called in a section, without the lock, by the thread that a keeper may own this mutant
   for, and return 0 if none does, or the handle lacks `access` (to wait: SYNCHRONIZE). They ask the host for
   each. */
int ums_kept_state( const struct object_thread *self, uint64_t handle, uint32_t access, int32_t *state );
int ums_kept_acquire( const struct object_thread *self, uint64_t handle );
/* The host's mutant is free when this returns, if that was the last one. */
int ums_kept_release( const struct object_thread *self, uint64_t handle, int32_t *before );
/* The thread ends, or has ended: its keepers end, and abandon what they own. */
void ums_keepers_end( const struct object_thread *gone );
/* object_host.moves */
void ums_keepers_move( const struct object_thread *before, struct ums_context *now );

/* ---- hook_objects_wait.c ---- */

/* The same call with other arguments. They have to stay until it has been made. */
static inline struct ums_call ums_call_with( const struct ums_call *call, uint64_t *args )
{
    struct ums_call other = *call;

    memcpy( other.args, args, sizeof(other.args) );
    other.stack = args + ARRAYSIZE(other.args);
    return other;
}

/* The host reads the time-out of a wait before it does anything. If it cannot, the call is left to it. */
int ums_can_read_time( uint64_t timeout );
/* Make a wait at the host, by any thread. args: those of the call. */
uint64_t ums_object_wait_call( struct ums_call *call, const uint64_t *args, struct ums_context *self );

int ums_object_wait_for_one( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_wait_for_many( struct ums_call *call, struct ums_context *self, uint64_t *ret );
int ums_object_signal_and_wait( struct ums_call *call, struct ums_context *self, uint64_t *ret );
/* What is left of SignalObjectAndWait when the signal is given. */
uint64_t ums_object_wait_after_signal( struct ums_call *call, struct ums_context *self );

/* ---- hook_objects_real.c ---- */

/* Make all objects real whose handles the call names, directly or in memory that its arguments
   point at. */
void ums_objects_in_call( const struct ums_call *call, struct ums_context *self,
                          enum object_call kind );
extern const struct object_host ums_object_host;
struct call_key ums_object_wait_key( void );    /* the key of NtWaitForSingleObject */
/* Make one object real; and the same with the lock held. */
void ums_object_make_real( uint64_t handle, enum naming naming, struct ums_context *self, uintptr_t sp );
void ums_object_make_real_locked( struct ums_object *o );
/* An operation on a real object for which waits still move or arrive. */
enum straggler_call { STRAGGLER_SET, STRAGGLER_RESET, STRAGGLER_PULSE };
/* Called with the lock held, and releases it. */
void ums_object_with_stragglers( struct ums_object *o, enum straggler_call what,
                                 struct object_section *section, int32_t *before );
/* The same for ReleaseSemaphore. Returns the status of the call. */
int32_t ums_object_release_with_stragglers( struct ums_object *o, uint32_t count,
                                            struct object_section *section, int32_t *before );
/* The same for the signal of SignalObjectAndWait. 1: it is given, only the wait is left. 0: the host's call
   has to be made. */
int ums_object_signal_with_stragglers( struct ums_object *o, struct object_section *section );

#endif /* UMS_HOOK_OBJECTS_H */
