/*
 * Mutants of this process alone: who owns them. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state of a mutant is 1 minus how many times its owner has it, as the host tells it. All
 * functions but the last two are called with the lock of objects.c held. A mutant that is free is given to the first
 * thread that waits, in the same step, so a mutant that somebody waits for is never free.
 *
 * A local mutant is owned only here; the host's has no owner. When it has to become real while
 * somebody owns it, a keeper owns the host's (syscalls/objects/mutant_keeper.c), and from then on
 * nobody owns it here.
 *
 * The owner's thread may end. Whoever sees that calls ums_mutants_abandon: the thread itself before
 * it ends, the thread that has ended it, or the warden. The list of all owned mutants is looked
 * through then. A context counts what its thread owns, so that the warden, which has to look without
 * the lock, takes the lock only if there is something to do.
 *
 * The warden knows only the context. So the context of an owner is always the one that its thread has
 * now: a thread that enters or leaves the mode takes its mutants along. If one that leaves did not, the
 * next thread with its context would abandon them when that ends; if one that enters did not, nobody
 * would when another process ends it.
 */

#include "objects.h"

static struct ums_object *owned;                /* with the lock */

static int is_owner( const struct ums_object *o, const struct object_thread *self )
{
    return o->owner.tid && o->owner.tid == self->tid;
}

int ums_mutant_is_free( const struct ums_object *o, const struct object_thread *self )
{
    return !o->owner.tid || is_owner( o, self );
}

int ums_mutant_take( struct ums_object *o, const struct object_thread *self )
{
    int abandoned = (int)o->abandoned;

    o->state--;
    o->abandoned = 0;
    if (o->owner.tid) return 0;
    o->owner = *self;
    o->owned_previous = NULL;
    if ((o->owned_next = owned)) owned->owned_previous = o;
    owned = o;
    if (self->context) atomic_fetch_add( &self->context->mutants, 1 );
    return abandoned;
}

void ums_mutant_disown( struct ums_object *o )
{
    if (o->owner.context) atomic_fetch_sub( &o->owner.context->mutants, 1 );
    o->owner = (struct object_thread){ 0, NULL };
    if (o->owned_previous) o->owned_previous->owned_next = o->owned_next;
    else owned = o->owned_next;
    if (o->owned_next) o->owned_next->owned_previous = o->owned_previous;
}

int ums_mutant_release( struct ums_object *o, const struct object_thread *self, int32_t *before )
{
    if (!is_owner( o, self )) return 0;
    *before = o->state++;
    if (o->state < 1) return 1;
    ums_mutant_disown( o );
    ums_object_hand_out( o );
    return 1;
}

/* The others were ended with the process. Their waits are not ended: nobody runs who would see it. */
void ums_mutants_abandon_others( uint32_t own )
{
    struct ums_object *o, *next;

    for (o = owned; o; o = next)
    {
        next = o->owned_next;
        if (o->owner.tid == own) continue;
        ums_mutant_disown( o );
        o->state = 1;
        o->abandoned = 1;
    }
}

int ums_thread_is_gone( const struct object_thread *thread, const struct object_thread *gone )
{
    return gone->context ? thread->context == gone->context : thread->tid == gone->tid;
}

/* Handing one out changes the list, and may free the mutant (one whose handle is closed goes with its
   last wait). So the list is begun anew after each. */
static struct ums_object *owned_by( const struct object_thread *gone )
{
    struct ums_object *o;

    for (o = owned; o; o = o->owned_next) if (ums_thread_is_gone( &o->owner, gone )) return o;
    return NULL;
}

void ums_mutants_abandon( const struct object_thread *gone )
{
    struct ums_object *o;

    while ((o = owned_by( gone )))
    {
        ums_mutant_disown( o );
        o->state = 1;
        o->abandoned = 1;
        ums_object_hand_out( o );
    }
}

/* ---- the owner's context ---- */

/* If another process has ended the thread that had this id before, its mutants have another context until the
   warden comes; they stay with that. */
void ums_owner_moves( struct object_thread *owner, const struct object_thread *before,
                      struct ums_context *now )
{
    if (owner->tid != before->tid || owner->context != before->context) return;
    if (owner->context) atomic_fetch_sub( &owner->context->mutants, 1 );
    if (now) atomic_fetch_add( &now->mutants, 1 );
    owner->context = now;
}

static void move_all( struct ums_context *from, struct ums_context *to )
{
    const struct object_thread before = { ke_thread_id(), from };
    struct ums_object *o;

    ums_objects_lock();
    for (o = owned; o; o = o->owned_next) ums_owner_moves( &o->owner, &before, to );
    ums_objects_host->moves( &before, to );
    ums_objects_unlock();
}

void ums_objects_thread_enters( struct ums_context *context )
{
    if (atomic_load( &ums_objects_made )) move_all( NULL, context );
}

/* Only a call of this thread makes the count larger. So no mutant comes after the look. */
void ums_objects_thread_leaves( struct ums_context *context )
{
    if (atomic_load( &context->mutants )) move_all( context, NULL );
}
