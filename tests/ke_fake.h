/*
 * A make-believe ke: the core's host in the white-box tests. Threads are pthreads, a user part is a
 * ucontext, events are counted, and a test can do something at the very moment when the core wakes a
 * sleeper or sets an event.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KE_FAKE_H
#define KE_FAKE_H

#include <pthread.h>
#include "../dlls/ntdll_ums/core/ums_core.h"

struct fake_event
{
    _Atomic int sets;                           /* how often it was set */
    _Atomic int open;                           /* handles; setting a closed event is counted as
                                                   an error */
};

extern _Atomic int fake_errors;                 /* a promise of ke.h was broken */
extern _Atomic int fake_events_open;
extern _Atomic int fake_wakes;                  /* calls of ke_wake */
extern _Atomic uint32_t fake_resumed;           /* the last thread that was resumed */
extern _Atomic uint32_t fake_gone_thread;      /* the thread that has ended, or 0 */
extern _Thread_local void (*fake_on_asked_gone)( void );      /* called by ke_thread_is_gone */
extern _Atomic int fake_is_warden;
extern _Atomic int fake_gave_up;                /* calls of ke_gave_up */
extern _Atomic(const char *) fake_gave_up_for;  /* the last one's reason */
extern int fake_commit_fails;                   /* ke_commit refuses */
extern int fake_event_fails;                    /* ke_event_create refuses */
extern _Thread_local void (*fake_on_event_set)( void *event );      /* called before it is set */
extern _Thread_local int64_t (*fake_on_clock)( int64_t now );       /* may change the time */
int64_t fake_no_time_passes( int64_t now );     /* for it: no call takes long, however slow the machine is */
extern _Thread_local void (*fake_on_wake)( _Atomic uint32_t *word, int all );
/* what the host says of the home thread; without it: nothing */
typedef enum ke_sleep fake_look( const _Atomic uint32_t *park, struct ke_place *place );
extern _Thread_local fake_look *fake_on_look;
/* called before the thread sleeps on the word; 0: it does not */
extern _Thread_local int (*fake_on_wait)( _Atomic uint32_t *word, uint32_t value, const int64_t *timeout );

/* Start the core once per process; UMS_ENGINE=carry: workers are carried. */
void fake_init( void );

/* From here on the calling thread stops after each instruction, and look does what another thread could do there, without
   a lock. When it returns 1 the thread runs on freely. Not under TSan: 0. */
int fake_step_through( int (*look)( void ) );

/* Whoever wants to preempt a worker finds that its carrier has ended. */
extern _Atomic int fake_carrier_is_gone, fake_carrier_is_stopped;

/* Where a carried worker can be preempted. */
void fake_preemption_point( void );

/* Where a worker's next step of user code would be: it can be preempted here, and its thread, at home,
   suspended. */
void fake_step( void );

/* The thread of a worker that runs at home stands still, at its next fake_step, until
   ke_resume_thread. Returns when it does. */
void fake_suspend_thread( struct ums_context *w );

/* A worker's home thread: binds context and list, starts a pthread which runs start( param ) as
   the worker and ends it. */
struct fake_worker
{
    struct ums_context *context;
    pthread_t thread;
    void (*start)( void *param );
    void *param;
    _Atomic int stop;                           /* its thread is to stand still; does */
    _Atomic int killed;                         /* its thread is to end where it sleeps */
};
ums_status fake_worker_create( struct fake_worker *worker, void *context, void *list,
                               void (*start)( void * ), void *param );

/* The home thread of a worker that is carried will never run again: as a host does it, not in the middle of what others
   wait for. And it ends: the worker, whose stack is the thread's, has been taken off its carrier. Before that the context
   must not be used again. */
void fake_kill_thread( struct fake_worker *worker );
void fake_killed_thread_ends( struct fake_worker *worker );

/* The scheduler's entry point has the real one's arguments; this sets it and enters scheduling
   mode. */
typedef void (*fake_proc)( uint32_t reason, uintptr_t payload, void *param );
ums_status fake_scheduler_enter( void *list, fake_proc proc, void *param );

/* ums_yield, ums_execute that return the status. */
ums_status fake_yield( void *param );
ums_status fake_execute( void *handle );

#endif /* KE_FAKE_H */
