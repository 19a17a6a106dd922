/*
 * The thread of the timer, ke_timer.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_KE_TIMER_H
#define UMS_KE_TIMER_H

struct ums_context;

/* Can a worker wait until a time? Without it, it waits at home. */
int ke_timer_runs( void );
/* It will run, if a thread can be made. Enters the kernel, waits for nothing. */
void ke_timer_start( void );
/* If somebody has ended the timer's thread there is another one: now and then, by the warden; and by
   whoever has ended a thread of this process. */
void ke_timer_look( void );
void ke_timer_killed( uint32_t tid );
/* The calling thread, a context's or a plain one, is about to end, or asks whether it is the last: the
   timer ends first if no other worker needs it. */
void ke_timer_dismiss( const struct ums_context *self );

#endif /* UMS_KE_TIMER_H */
