/*
 * ke.h: the only seam to the host ("kernel executive").
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Implemented by ke_win32.c (Wine, Windows) and, for the white-box tests, by tests/ke_fake.c. None
 * of these takes a lock that a worker can hold or allocates from a heap, but for the two that say
 * so.
 */
#ifndef UMS_KE_H
#define UMS_KE_H

#include "private/nttypes.h"

#define KE_PART_SIZE 56                         /* struct ke_own in host/ke_own.h */

struct ums_context;
struct ums_scheduler;

/* ---- memory: address space that is never given back, so that stale pointers stay readable ---- */

/* Reserve size bytes; NULL when there is no room. Only at start. */
void *ke_reserve( size_t size );
/* Make part of a reservation usable and zero; may be called again for memory that is usable
   already, which is left as it is. 0 when memory is short. Enters the kernel, takes no user-mode
   lock. */
int ke_commit( void *addr, size_t size );

/* ---- waiting on a word of this process ---- */

/* Sleep while *word == value, until ke_wake or the time-out (relative, 100 ns; NULL: none).
   Returns at any time without a reason; the caller looks again. On Wine this is a raw futex,
   outside any NT call: a parked home thread holds no system-call frame. */
void ke_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout );
/* Wake one sleeper, or all. A word whose memory went to something else gives a spurious wake-up,
   never a fault. */
void ke_wake( _Atomic uint32_t *word, int all );
/* monotonic, 100 ns */
int64_t ke_clock( void );

/* ---- completion-list events: auto-reset NT events ---- */

ums_status ke_event_create( void **event );
void ke_event_set( void *event );
void ke_event_close( void *event );
ums_status ke_event_duplicate( void *event, void **copy );

/* ---- this thread ---- */

/* The UMS context of the calling thread, NULL on a plain thread. One load from the TEB. And where
   in the TEB it is, for prefetching. Each switch asks: a host may have both inline, in the header
   that KE_INLINE names. */
#ifdef KE_INLINE
#include KE_INLINE
#else
struct ums_context *ke_current( void );
size_t ke_tls_offset( void );
#endif
void ke_set_current( struct ums_context *context );
void *ke_teb( void );
uint32_t ke_thread_id( void );

/* The calling thread's name for ke_find_sleep and ke_in_fault; 0 where the host tells nothing of
   threads. */
uint32_t ke_host_thread( void );

/* What the host keeps in each context; only the host looks inside. Zero in a slot that was never
   used. */
struct ke_part
{
    _Alignas(8) unsigned char opaque[KE_PART_SIZE];
};

/* The calling thread becomes this context's, or whichever that was is that no more. In between it is
   noticed when another process suspends or ends it. Enter the kernel. */
void ke_thread_enters( struct ums_context *context );
void ke_thread_leaves( struct ums_context *context );
/* The context is given to a new thread; the thread that had it before may still be ending. */
void ke_thread_renew( struct ums_context *context );

struct ke_place
{
    uint64_t sp, pc;
};

enum ke_sleep
{
    KE_UNKNOWN,                                 /* the host does not tell */
    KE_AWAKE,                                   /* it runs, or waits for nothing but a processor */
    KE_AWAITS_ANSWER,                           /* of somebody who answers at once */
    KE_ASLEEP
};

/* What does a thread do that is in a call? Where it sleeps, place says where; two sleeps may be in the
   same place. Enters the kernel. */
enum ke_sleep ke_find_sleep( uint32_t host_thread, struct ke_place *place );

/* Does a thread sleep, outside the kernel's calls, for a page? And where. 0 if it has ended. */
int ke_in_fault( uint32_t host_thread, struct ke_place *place );
/* The worker, whose word is given, runs at home and was found sleeping there for some time: it will
   be taken off its scheduler, if it still does (ums_worker_faulted), and queued when the fault is
   over. Enters the kernel. */
void ke_report_fault( struct ums_context *w, uint64_t word, const struct ke_place *place );

/* Resume the worker's thread, which was suspended from outside. Enters the kernel. */
void ke_resume_thread( const struct ums_context *w, uint32_t tid );

/* Something did not happen in UMS_PATIENCE (core/patience.h): log it. Enters the kernel. */
void ke_gave_up( const char *awaited );

/* The calling thread ends, without a word to anybody. */
_Noreturn void ke_end_thread( uint32_t status );

/* ---- scheduler stacks ---- */

/* Enter the scheduler's entry point with these arguments on a stack base kept in s->base; returns
   when an activation returns. Sets s->teb and s->stack. */
void ke_scheduler_run( struct ums_scheduler *s, uint32_t reason, uintptr_t payload, void *param );
/* Leave all frames above that base and enter the entry point again. Never returns. */
_Noreturn void ke_scheduler_upcall( struct ums_scheduler *s, uint32_t reason, uintptr_t payload,
                                    void *param );

/* ---- user parts of workers ---- */

/* Memory for the home thread to park in, kept for the context's slot for ever. 0: memory is
   short. Enters the kernel. */
int ke_home_prepare( struct ums_context *w );

/* On the worker's home thread: save the user part in w, leave its stack and call parked( w, arg );
   when that returns, go on with the user part. If the user part has been handed to others
   meanwhile, they have gone on with it and this has returned there: w->success. arg may point into
   the worker's stack, and is good until the user part is handed over. Where the host does not
   carry, parked is called in place. */
int32_t ke_leave_home( struct ums_context *w,
                        void (*parked)( struct ums_context *w, void *arg ), void *arg );

/* On the worker's home thread, when a call of its is over: somebody has given it other registers
   meanwhile (w->preempted is set). Go on with those. */
_Noreturn void ke_continue( struct ums_context *w );

/* On a carrier, whose scheduler is s: save the user part in w, become the scheduler thread again
   and call left( s, w, arg ) on s->base. Returns w->success when the user part is resumed. */
int32_t ke_leave_carrier( struct ums_context *w, struct ums_scheduler *s,
                           void (*left)( struct ums_scheduler *s, struct ums_context *w,
                                         uintptr_t arg ), uintptr_t arg );

/* On the scheduler thread s, whose frames are of no more use: go on as the worker. Does not return;
   it has a type only so that a call at the end of a function is a jump. */
int32_t ke_carry( struct ums_scheduler *s, struct ums_context *w );

enum ke_preempted
{
    KE_PREEMPTED,
    KE_TRY_AGAIN,                               /* it is in the middle of something */
    KE_CARRIER_STOPPED,                         /* the same, and it stands still there: whoever has
                                                   suspended the scheduler may be our caller */
    KE_CARRIER_GONE                             /* the thread has ended, and the worker with it */
};

/* Take w, which runs on s's thread as we look (s may be wrong or NULL), off it: that thread will
   call ums_left_preempted on its base, with the whole state of the worker saved. Not on the
   scheduler's own thread. Enters the kernel. WORD_SUSPENDED or WORD_HOLD is set: so a worker that makes one call
   after the other, or stands still, leaves by itself with its next call (ums_worker_give_way). */
enum ke_preempted ke_preempt( struct ums_scheduler *s, struct ums_context *w );

#endif /* UMS_KE_H */
