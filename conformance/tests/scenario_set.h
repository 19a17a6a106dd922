/*
 * What the files scenario_set*.c share.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef SCENARIO_SET_H
#define SCENARIO_SET_H

enum change { DEBUG_ONLY, THE_SAME, DETOUR };

extern const char *const change_names[];

/* By a detour a thread counts, and goes on where it was, with all registers. */
extern volatile LONG detours;

/* Of a suspended thread. rip: where it was, or NULL. */
BOOL change_registers( HANDLE thread, enum change change, ULONG64 *rip );
/* The suspended thread goes on in that function, which does not return, further down on its stack. */
void send_elsewhere( HANDLE thread, void (*where)( void ) );

#endif /* SCENARIO_SET_H */
