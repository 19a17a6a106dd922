/*
 * Is a worker's home thread inside a call of its program? What tells a call made in a callback out
 * of another call from one of its own.
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
 *
 * Written by the home thread alone, and never on a carrier: what runs there, exception handlers of
 * the program included, has to go home like anything else. Others look only when that thread stands
 * still (ke_context.c).
 *
 * Whoever abandons a call that the scheduler may have been told of has to return the worker
 * (ums_worker_back), because that call has no end.
 *
 * The stack pointer decides: stacks grow downwards, so a frame below the caller's was left.
 */
#ifndef UMS_INSIDE_H
#define UMS_INSIDE_H

#include <stdint.h>

enum inside_place
{
    INSIDE_NOTHING,                             /* OUTSIDE; zero, as in a new context */
    INSIDE_CALL,
    INSIDE_NESTED,
    INSIDE_PARKED
};

struct ums_inside
{
    uint32_t  place;                            /* enum inside_place */
    uintptr_t call;                             /* CALL, NESTED: the frame of the outermost call */
    uintptr_t nested;                           /* NESTED: that of the call made in it */
};

static inline void inside_reset( struct ums_inside *inside )
{
    inside->place = INSIDE_NOTHING;
}

static inline int inside_any( const struct ums_inside *inside )
{
    return inside->place != INSIDE_NOTHING;
}

/* A call whose frame is here is handed on, and has returned. */
static inline void inside_enter( struct ums_inside *inside, uintptr_t here )
{
    inside->call  = here;
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
    return (inside->place == INSIDE_CALL || inside->place == INSIDE_NESTED) && sp >= inside->call;
}

/* A call in it begins, whose frame is here. Returns what the end of it wants. */
static inline struct ums_inside inside_nest( struct ums_inside *inside, uintptr_t here )
{
    struct ums_inside before = *inside;

    if (before.place == INSIDE_NESTED && here >= before.nested) before.place = INSIDE_CALL;
    if (before.place == INSIDE_CALL || before.place == INSIDE_NESTED)
    {
        inside->place  = INSIDE_NESTED;
        inside->nested = here;
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

#endif /* UMS_INSIDE_H */
