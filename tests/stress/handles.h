/*
 * Which handles this process has, asked one by one: GetProcessHandleCount of some Wines does not count.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_STRESS_HANDLES_H
#define TESTS_STRESS_HANDLES_H

int handles_count( void );
/* Remembers those that are there now. Any thread, one at a time. */
void handles_remember( void );
/* Prints value, kind, access and what they name of those that were not there then. The same rule. */
void handles_print_new( void );

#endif /* TESTS_STRESS_HANDLES_H */
