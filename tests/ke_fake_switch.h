/*
 * Between ke_fake.c and ke_fake_switch.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KE_FAKE_SWITCH_H
#define KE_FAKE_SWITCH_H

void fake_set_gs( void *teb );

/* On a home thread: run body( arg ). fake_home_ends, on whichever stack of this thread, comes back here. */
void fake_home_run( void (*body)( void *arg ), void *arg );
_Noreturn void fake_home_ends( void );

/* Of a worker's parking place; given up when its thread has left that for good. */
void *fake_home_fiber( struct ums_context *w );
void fake_fiber_ends( void *fiber );

#endif /* KE_FAKE_SWITCH_H */
