/*
 * Waits that need no thread: wait.c, and the timer that ends them, timer.c. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_WAIT_H
#define UMS_WAIT_H

#include "ums_core.h"

enum wait_for
{
    WAIT_FOR_ALERT,
    WAIT_FOR_TIME,                              /* an alert does not end it */
    WAIT_FOR_OBJECT,                            /* ums_wait_over ends it; objects_wait.c */
    WAIT_FOR_KEY                                /* a release does; keyed.c */
};

extern int ums_waits_here;                      /* workers wait without threads; written at start */
extern _Atomic uint32_t ums_waits_ending;       /* threads that are ending a wait at the moment */

/* ---- wait.c ---- */

/* Called by the worker itself, on its carrier or at home, outside any call. It returns when the
   worker is executed again. deadline: as ke_clock; 0: none. It may return without a reason. A
   worker that waits for an alert takes it before and after this. */
void ums_worker_wait( struct ums_context *w, enum wait_for what, int64_t deadline );
/* Called by the worker itself: take the alert. 1: there was one. */
int ums_alert_take( struct ums_context *w );
/* Any thread, which nobody may stop before this returns. 1: the host has to alert the
   thread, too. */
int ums_alert( struct ums_context *w );

/* Called, with the lock of objects.c held, after the worker's record was ended: end the worker's wait,
   if it waits already. */
void ums_wait_over( struct ums_context *w );
/* Does the worker still wait, in the wait that this word belongs to? */
int ums_wait_is( const struct ums_context *w, uint64_t word );

/* Called after a release has taken the key of the worker's wait: end the wait, if it waits already. */
void ums_wait_released( struct ums_context *w );

/* ---- keyed.c ---- */

enum key_wait
{
    KEY_WAITS,                                  /* the caller makes the wait, then calls _ends */
    KEY_RELEASED,                               /* there was a release already */
    KEY_AT_HOST                                 /* the caller makes the wait in the host's call */
};

/* Called by the worker itself, outside any call. key: not 0. */
enum key_wait ums_key_wait_begins( struct ums_context *w, uint64_t key );
/* 1: released. 0: its time is over. */
int ums_key_wait_ends( struct ums_context *w );
/* Any thread, which nobody may stop before this returns. 1: a wait with this key has ended. 0: there is
   none here: the caller makes the host's call, then calls _released_at_host. */
int ums_key_release( uint64_t key );
void ums_key_released_at_host( uint64_t key );

/* ---- timer.c ---- */

/* Once, before anybody waits. 0: memory is short. */
int ums_timer_init( void );
/* The time at which the timer ends a wait until deadline: up to 50 us later, never earlier. 0 stays 0. */
int64_t ums_timer_round_up( int64_t deadline );
/* The worker itself, before and after its wait. */
void ums_timer_set( struct ums_context *w, int64_t deadline );
/* Called after a worker was put to wait until then: makes the timer look in time. */
void ums_timer_expect( int64_t deadline );
/* Called by the timer's thread in a loop: end the waits that are over, and sleep until the next one
   may be, or until a poke. 0: there was no wait; then it slept for a second. */
int ums_timer_round( void );
void ums_timer_poke( void );

/* wait.c, for timer.c: end the wait if it is over, else return its deadline; INT64_MAX: there is
   none. */
int64_t ums_wait_look( struct ums_context *w, _Atomic int64_t *deadline, int64_t now );

#endif /* UMS_WAIT_H */
