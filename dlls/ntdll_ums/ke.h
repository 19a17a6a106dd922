/*
 * ke.h: the interface to the host ("kernel executive"). The core uses nothing else of the host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * host/ implements it for Wine and Windows, and tests/ke_fake.c for the white-box tests. None of
 * these functions takes a lock that a worker can hold, or allocates from a heap.
 */
#ifndef UMS_KE_H
#define UMS_KE_H

#include "private/nttypes.h"

#define KE_PART_SIZE 88                         /* struct ke_own in host/ke_own.h */

struct ums_context;
struct ums_scheduler;

/* ---- memory: address space that is never freed, so that stale pointers stay readable ---- */

/* Reserve size bytes; NULL when there is no room. Only at start. */
void *ke_reserve( size_t size );
/* Make part of a reservation usable and zero. Memory that is already usable does not change. Returns 0
   if memory is short. Enters the kernel, takes no user-mode lock. */
int ke_commit( void *addr, size_t size );

/* ---- waiting on a word of this process ---- */

/* Sleep while *word == value, until ke_wake or the time-out (relative, 100 ns; NULL: none).
   Spurious returns are allowed; the caller checks the word again. On Wine this is a raw futex, outside
   any NT call: a parked home thread has no system-call frame. */
void ke_wait( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout );
/* Wake one sleeper, or all. If the word's memory has another use by now, the wake-up is spurious;
   it never faults. */
void ke_wake( _Atomic uint32_t *word, int all );

/* monotonic, 100 ns */
int64_t ke_clock( void );

/* The size that a file of this process may have at most; UINT64_MAX: any, or nobody can be asked. */
uint64_t ke_largest_file( void );

/* ---- completion-list events: auto-reset NT events ---- */

ums_status ke_event_create( void **event );
void ke_event_set( void *event );
void ke_event_close( void *event );
ums_status ke_event_duplicate( void *event, void **copy );

/* ---- this thread ---- */

/* The UMS context of the calling thread, NULL on a plain thread: one load from the TEB. And its
   offset in the TEB, for prefetching. Each switch uses both, so a host may define them inline, in
   the header that KE_INLINE names. */
#ifdef KE_INLINE
#include KE_INLINE
#else
struct ums_context *ke_current( void );
size_t ke_tls_offset( void );
#endif
void ke_set_current( struct ums_context *context );
void *ke_teb( void );
uint32_t ke_thread_id( void );
/* Has the thread with this id ended? 0 also if another one has the id by now. Enters the kernel past the hook; keeps the last error. */
int ke_thread_is_gone( uint32_t tid );
/* Is the calling thread the one of ours that other threads wait for in signal handlers? */
int ke_is_warden( void );

/* The base of the stack that the calling thread has told its TEB of; 0: there is none. */
uintptr_t ke_stack_base( void );

/* An id of the calling thread for ke_find_sleep and ke_in_fault; 0 if the host gives no information about
   threads. */
uint32_t ke_host_thread( void );

/* The host's part of a context; only the host reads or writes it. Zero in a slot that was never used. */
struct ke_part
{
    _Alignas(8) unsigned char opaque[KE_PART_SIZE];
};

/* enters: the calling thread becomes the context's thread. leaves: the context's thread, which may not be
   the calling one, stops being that. In between the host notices if another process suspends or ends
   the thread. Both enter the kernel. */
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
    KE_AWAKE,                                   /* it runs, or is ready to run */
    KE_AWAITS_ANSWER,                           /* it waits for a server that answers at once */
    KE_ASLEEP
};

/* What does a thread do inside a call? If it sleeps, *place says where; two different sleeps may have the same
   place. park: the word that it was woken on, if it was woken for the call. A host may show it as asleep there
   until a processor has noticed; so a thread that sleeps in ke_wait on *park is KE_AWAKE. Enters the
   kernel. */
enum ke_sleep ke_find_sleep( uint32_t host_thread, const _Atomic uint32_t *park, struct ke_place *place );

/* Does a thread sleep in a page fault, outside any call? *place says where. 0 also if it has ended. */
int ke_in_fault( uint32_t host_thread, struct ke_place *place );
/* The worker with this word runs at home and was found sleeping at this place for some time. If it still
   does, ums_worker_faulted takes it off its scheduler; it is queued when the fault is over. Enters the
   kernel. */
void ke_report_fault( struct ums_context *w, uint64_t word, const struct ke_place *place );

/* Resume the worker's thread, which another thread has suspended. Enters the kernel. */
void ke_resume_thread( const struct ums_context *w, uint32_t tid );

/* The awaited thing did not happen in time (core/patience.h): log it. Enters the kernel. */
void ke_gave_up( const char *awaited );

/* End the calling thread without notifying anybody. */
_Noreturn void ke_end_thread( uint32_t status );

/* ---- scheduler stacks ---- */

/* Enter the scheduler's entry point with these arguments on a stack base kept in s->base; returns
   when an activation returns. Sets s->teb and s->stack. */
void ke_scheduler_run( struct ums_scheduler *s, uint32_t reason, uintptr_t payload, void *param );
/* Drop all frames above that base and enter the entry point again. Never returns. */
_Noreturn void ke_scheduler_upcall( struct ums_scheduler *s, uint32_t reason, uintptr_t payload,
                                    void *param );

/* ---- user parts of workers ---- */

/* Allocate the parking place of the home thread. The context's slot keeps it for ever. 0: memory is
   short. Enters the kernel. */
int ke_home_prepare( struct ums_context *w );

/* On the worker's home thread: save the user part in w, leave the worker's stack and call parked(
   w, arg ). When that returns, continue the user part here. If another thread has continued the
   user part meanwhile, this function has returned there, with w->success. arg may point into the
   worker's stack; it is valid until the user part is handed over. Where the host does not carry,
   parked is called in place. */
int32_t ke_leave_home( struct ums_context *w,
                        void (*parked)( struct ums_context *w, void *arg ), void *arg );

/* On the worker's home thread, at the end of a call: another thread has set its registers meanwhile
   (w->preempted is set). Continue with those. */
_Noreturn void ke_continue( struct ums_context *w );

/* On a carrier, whose scheduler is s: save the user part in w, become the scheduler thread again
   and call left( s, w, arg ) on s->base. Returns w->success when the user part is resumed. */
int32_t ke_leave_carrier( struct ums_context *w, struct ums_scheduler *s,
                           void (*left)( struct ums_scheduler *s, struct ums_context *w,
                                         uintptr_t arg ), uintptr_t arg );

/* On the scheduler thread s, whose frames are not needed any more: continue as the worker. Does not
   return; it has a return type so that the compiler makes a tail call of it. */
int32_t ke_carry( struct ums_scheduler *s, struct ums_context *w );

enum ke_preempted
{
    KE_PREEMPTED,
    KE_TRY_AGAIN,                               /* the carrier is in our code, or may have a spin lock of the host's */
    KE_CARRIER_STOPPED,                         /* it is suspended, in our code or preempted: the
                                                   worker leaves when it is resumed, by whom our
                                                   caller must not wait for */
    KE_CARRIER_GONE                             /* the carrier has ended, and the worker with it */
};

/* Take w off the thread of s, on which it seems to run (s may be wrong or NULL). That thread will save
   the whole state of the worker and call ums_left_preempted on its base. Must not be called on the
   scheduler's own thread. Enters the kernel. WORD_SUSPENDED or WORD_HOLD is set before: so if this does
   not succeed, the worker leaves by itself at its next call (ums_worker_give_way).
   late: it was tried for long enough; do it even where the worker may have such a lock (ums_spins_too_long). */
enum ke_preempted ke_preempt( struct ums_scheduler *s, struct ums_context *w, int late );

#endif /* UMS_KE_H */
