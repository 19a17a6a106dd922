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

/* Run the second process and wait (bounded) for its end; *code is what it ended with. FALSE after
   a failed ok. */
BOOL child_run( DWORD *code );

#endif /* SCENARIO_CHILD_H */
