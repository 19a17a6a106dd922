/*
 * Is a worker's home thread inside a call of its program? This tells a call that is made in a callback
 * of another call from an outermost one.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 *     OUTSIDE --enter: the hook hands a call on, at home--> CALL
 *     CALL    --leave: the call returns-------------------> OUTSIDE
 *     CALL    --abandon: its frame was left---------------> OUTSIDE    by an exception, longjmp
 *     CALL    --abandon: the kernel is done with it-------> OUTSIDE    an APC is about to run
 *     CALL    --nest: a call in a callback, or our own----> NESTED
 *     NESTED  --it returns, or its frame was left---------> CALL
 *     any     --park: the thread itself sleeps, its worker is away--> PARKED --unpark--> as before
 *     others  --sleep: in a call of ours to the host, which is not the worker's--> ASLEEP --wake--> as before
 *
 * Only the home thread writes this, never a carrier: code that runs on a carrier, exception handlers
 * of the program included, goes home for its calls. Other threads read it only while the home thread
 * is suspended (ke_context.c).
 *
 * Code that abandons a call of which the scheduler may have been told has to call ums_worker_back,
 * because that call never returns.
 *
 * The stack pointer decides: stacks grow downwards, so a frame below the caller's no longer exists. But a callback may
 * switch to a fiber, or to a stack of its own, and make calls there: a caller that lies above the base of the frame's
 * stack says nothing of the frame.
 */
#ifndef UMS_INSIDE_H
#define UMS_INSIDE_H

#include <stdint.h>

enum inside_place
{
    INSIDE_NOTHING,                             /* OUTSIDE; zero, as in a new context */
    INSIDE_CALL,
    INSIDE_NESTED,
    INSIDE_PARKED,
    INSIDE_ASLEEP
};

struct ums_inside
{
    uint32_t  place;                            /* enum inside_place */
    uintptr_t call;                             /* CALL, NESTED: the frame of the outermost call */
    uintptr_t base;                             /* and that of its stack; if it is not above the frame, the stack is not known */
    uintptr_t nested;                           /* NESTED: that of the call made in it */
    uintptr_t nested_base;
};

static inline void inside_reset( struct ums_inside *inside )
{
    inside->place = INSIDE_NOTHING;
}

static inline int inside_any( const struct ums_inside *inside )
{
    return inside->place != INSIDE_NOTHING;
}

/* Was the frame left, for one at sp? */
static inline int frame_was_left( uintptr_t frame, uintptr_t base, uintptr_t sp )
{
    return sp >= frame && (sp < base || base <= frame);
}

/* The hook hands on a call whose frame is here, on the stack with that base; the call has returned. */
static inline void inside_enter( struct ums_inside *inside, uintptr_t here, uintptr_t base )
{
    inside->call  = here;
    inside->base  = base;
    inside->place = INSIDE_CALL;
}

static inline void inside_leave( struct ums_inside *inside )
{
    inside->place = INSIDE_NOTHING;
}

/* Is it the outermost call whose frame is here? */
static inline int inside_is( const struct ums_inside *inside, uintptr_t here )
{
    return inside->place == INSIDE_CALL && inside->call == here;
}

/* Was the frame of the outermost call left, for one at sp? */
static inline int inside_was_left( const struct ums_inside *inside, uintptr_t sp )
{
    return (inside->place == INSIDE_CALL || inside->place == INSIDE_NESTED) &&
           frame_was_left( inside->call, inside->base, sp );
}

/* A call whose frame is here begins inside another one. Returns the argument for inside_unnest. */
static inline struct ums_inside inside_nest( struct ums_inside *inside, uintptr_t here, uintptr_t base )
{
    struct ums_inside before = *inside;

    if (before.place == INSIDE_NESTED && frame_was_left( before.nested, before.nested_base, here ))
        before.place = INSIDE_CALL;
    if (before.place == INSIDE_CALL || before.place == INSIDE_NESTED)
    {
        inside->place  = INSIDE_NESTED;
        inside->nested = here;
        inside->nested_base = base;
    }
    return before;
}

/* The outermost call may have been abandoned in between. */
static inline void inside_unnest( struct ums_inside *inside, struct ums_inside before )
{
    if (inside->place == INSIDE_NESTED) *inside = before;
}

static inline struct ums_inside inside_park( struct ums_inside *inside )
{
    struct ums_inside before = *inside;

    inside->place = INSIDE_PARKED;
    return before;
}

static inline void inside_unpark( struct ums_inside *inside, struct ums_inside before )
{
    *inside = before;
}

/* The thread may be parked, and stays so: only then is w->sp good. Wherever it is stopped around the sleep, its own frames tell the rest
   (ke_unwind.c), so it does not matter on which side of the mark. */
static inline struct ums_inside inside_sleep( struct ums_inside *inside )
{
    struct ums_inside before = *inside;

    if (before.place != INSIDE_PARKED) inside->place = INSIDE_ASLEEP;
    return before;
}

static inline void inside_wake( struct ums_inside *inside, struct ums_inside before )
{
    *inside = before;
}

#endif /* UMS_INSIDE_H */
