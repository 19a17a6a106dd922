/*
 * UMS_HUD: a line on the console that shows the current states of schedulers and workers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_HUD_H
#define UMS_HUD_H

#include <stdint.h>

/* Is it wanted? Then each Execute is counted. Called while the core starts. */
int ums_hud_wanted( void );
/* Start its thread. Called once, after the core has started. */
void ums_hud_begin( void );
/* A thread of the process ends with this exit status. is_known: it is a worker, a scheduler or a thread of a factory, so none of ours. */
void ums_hud_thread_ends( uint32_t status, int is_known );

#endif /* UMS_HUD_H */
