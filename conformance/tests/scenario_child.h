/*
 * Scenarios: tests that end their process. They start their own command line once more.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef SCENARIO_CHILD_H
#define SCENARIO_CHILD_H

#include "scenario_kit.h"

/* Is this the second process? A crash in there is reported by the harness, which it talks to like
   the test itself. */
BOOL child_is_here( void );

/* The same, with what child_start was given. */
BOOL child_value( char *value, DWORD size );

/* Only the second process sees the value. FALSE after a failed ok. */
BOOL child_start( const char *value, PROCESS_INFORMATION *process );
/* Wait (bounded) for its end; *code is what it ended with. FALSE after a failed ok: it is killed. */
BOOL child_end( const PROCESS_INFORMATION *process, DWORD *code );

/* Both, for a test that needs no value. */
BOOL child_run( DWORD *code );

/* Has this process a thread of the system's beside the caller? So it may be on Windows 10, where the loader starts a pool that ends
   when it had no work for some 30 s [seen: others]: then the last thread of the test is not the last one of the process, which ends
   later and with another code. FALSE on Wine, where there is none. Call it when the test's other threads have ended. */
BOOL child_has_strangers( void );

#endif /* SCENARIO_CHILD_H */
