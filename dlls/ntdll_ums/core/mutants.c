/*
 * Mutants of this process alone: who owns them. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state of a mutant is 1 minus how many times its owner has it, as the host tells it. All
 * functions are called with the lock of objects.c held. A mutant that is free is given to the first
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
 */

#include "objects.h"

static struct ums_object *owned;                /* with the lock */

/* A thread may become a scheduler, and end being one, while it owns mutants. So the id decides. */
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
    return (gone->tid && thread->tid == gone->tid) ||
           (gone->context && thread->context == gone->context);
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
