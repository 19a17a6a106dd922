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
    WAIT_FOR_TIME                               /* an alert does not end it */
};

extern int ums_waits_here;                      /* workers wait so; written at start */
extern _Atomic uint32_t ums_waits_ending;       /* threads that are ending a wait at the moment */

/* ---- wait.c ---- */

/* The worker itself, on its carrier or at home, in no call: it waits, and this returns when it is
   executed again. deadline: as ke_clock; 0: none. It may come back without a reason. Alerts: who
   waits for one takes it before and afterwards. */
void ums_worker_wait( struct ums_context *w, enum wait_for what, int64_t deadline );
/* The worker itself: 1 if it was alerted; it is not any more. */
int ums_alert_take( struct ums_context *w );
/* Any thread, which is not stopped before this returns. 1: the thread has to be alerted by the host
   too. */
int ums_alert( struct ums_context *w );

/* ---- timer.c ---- */

/* Once, before anybody waits. 0: memory is short. */
int ums_timer_init( void );
/* The worker itself, before and after its wait. */
void ums_timer_set( struct ums_context *w, int64_t deadline );
/* Whoever has let a worker wait until then, afterwards: the timer looks in time. */
void ums_timer_expect( int64_t deadline );
/* By the timer's thread, again and again: end what is over, and sleep until something may be, or
   somebody pokes it. 0: nothing was waited for; then it sleeps for a second. */
int ums_timer_round( void );
void ums_timer_poke( void );

/* wait.c, for timer.c: end the wait if it is over, else say when it will be; INT64_MAX: there is
   none. */
int64_t ums_wait_look( struct ums_context *w, _Atomic int64_t *deadline, int64_t now );

#endif /* UMS_WAIT_H */
