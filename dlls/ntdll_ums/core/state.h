/*
 * Transitions of a worker's state word, for scheduler.c, worker.c, worker_stop.c and carry.c only.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_STATE_H
#define UMS_STATE_H

#include "ums_core.h"
#include "record/record.h"

enum                                            /* UMS_SCHEDULER_REASON [sdk] */
{
    REASON_STARTUP,
    REASON_BLOCKED,
    REASON_YIELD
};

#define PAYLOAD_INTERRUPT 0                     /* Blocked: suspended [seen] */
#define PAYLOAD_SYSCALL   1                     /* Blocked: in a system call [doc] */

/* Replace the state and add flags. The other bits stay; other threads may change them meanwhile. 0
   if the worker was in another state. */
static inline int worker_move( struct ums_context *w, enum worker_state from, uint64_t to )
{
    uint64_t word = atomic_load( &w->word );

    do if (word_state( word ) != from) return 0;
    while (!atomic_compare_exchange_weak( &w->word, &word, (word & ~WORD_STATE) | to ));
    return 1;
}

/* Take the worker, which runs at home, off its scheduler, in user code or in a call. 0 if it has no
   scheduler. */
static inline int worker_leave( struct ums_context *w, uint64_t to )
{
    return worker_move( w, WORKER_RUNNING, to ) || worker_move( w, WORKER_INKERNEL, to );
}

/* The carrier's transition out of CARRIED. No other thread changes the state now, so one addition
   is enough. Returns the old word. */
static inline uint64_t worker_leave_carrier( struct ums_context *w, uint64_t to )
{
    return atomic_fetch_add( &w->word, to - WORKER_CARRIED );
}

/* CARRIED to READY without a flag. This stores one byte, the state. Other threads may change the
   flags in the upper bytes meanwhile, with locked operations on the whole word; neither change is
   lost. Release: a thread that sees READY sees the user part. The store is no full barrier and
   needs none: a thread that has set a flag, and then reads the state, sees READY; or it sees
   CARRIED a little longer, and looks again when it has stopped the carrier (ums_worker_stopped). */
static inline void worker_give_away( struct ums_context *w )
{
    atomic_store_explicit( (_Atomic uint8_t *)&w->word, WORKER_READY, memory_order_release );
}

/* Post an upcall to a scheduler that waits for it. The caller has just taken the worker off that
   scheduler, so nobody else posts. The wake-up after the store may come after the scheduler has
   continued. Then it is spurious. */
static inline void scheduler_post( struct ums_scheduler *s, uint32_t reason, uintptr_t payload,
                                   void *param )
{
    s->upcall.reason  = reason;
    s->upcall.payload = payload;
    s->upcall.param   = param;
    atomic_store( &s->posted, POST_MADE );
    ums_unpark( &s->park );
}

/* The worker has been taken off this scheduler: record it, and tell the scheduler. call: what it is
   in, or why. */
static inline void worker_taken_off( struct ums_mark mark, struct ums_scheduler *owner,
                                     uintptr_t payload, uint32_t call )
{
    ums_note( mark, owner, EVENT_BLOCK, call );
    scheduler_post( owner, REASON_BLOCKED, payload, NULL );
}

/* Call this before the worker can run at home. From then on another thread may post. */
static inline void scheduler_expect( struct ums_scheduler *s, uint32_t watching )
{
    atomic_store( &s->posted, POST_AWAITED );
    atomic_store( &s->watching, watching );
}

/* carry.c */
void ums_pause_to_be_stopped( struct ums_scheduler *s, uint32_t reason, uintptr_t payload, void *param );

/* The scheduler's worker has left its thread, and nothing is posted: it carries nobody. */
_Noreturn static inline void carrier_upcall( struct ums_scheduler *s, uint32_t reason, uintptr_t payload, void *param )
{
    if (atomic_load_explicit( &s->pause_wanted, memory_order_relaxed )) ums_pause_to_be_stopped( s, reason, payload, param );
    ke_scheduler_upcall( s, reason, payload, param );
}

/* worker.c: workers whose threads have not come to their end */
extern _Atomic uint32_t ums_alive;

#endif /* UMS_STATE_H */
