/*
 * Start of ntdll_ums.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_MAIN_H
#define UMS_MAIN_H

/* Start the core and the hook, if they have not been started. Returns 0 if UMS cannot run on this host;
   one line in the log says why. Any thread. */
int ums_active( void );

/* The calling thread, not a worker, is about to wait. If it has a packet of a worker factory, another thread gets its place, until
   ums_takes_place, and this returns 1. */
int ums_gives_place( void );
void ums_takes_place( void );

#endif /* UMS_MAIN_H */
