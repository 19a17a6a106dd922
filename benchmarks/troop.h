/*
 * A troop: plain threads that do what the workers of a crew do, for the arms that compare both.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between batches every thread waits at a gate. A batch is from the opening of the gate until the
 * last thread has finished its part.
 */
#ifndef TROOP_H
#define TROOP_H

#include <windows.h>
#include "bench.h"
#include "bodies.h"

/* Fills the arm: ns per operation of each thread. FALSE: failed, reason printed. */
BOOL troop_start( struct arm *arm, unsigned int count, body_proc body );
unsigned int troop_count( const struct arm *arm );
double troop_batch( struct arm *arm );

#endif /* TROOP_H */
