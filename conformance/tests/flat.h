/*
 * Does something leak? For the tests of that.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef FLAT_H
#define FLAT_H

#include "../umslib.h"

#define SLACK (192 * 1024)      /* bytes; 10,000 lost lists of 32 bytes would be 320,000 */

/* Run the body, for a warm-up and then for so many rounds; ok() that no handle and no more than
   slack bytes of memory are lost. Main thread. */
void check_flat( const char *what, void (*body)( int rounds ), int rounds, ULONGLONG slack );
/* The same after a warm-up of so many rounds, for rounds that take a second each. */
void check_flat_after( const char *what, void (*body)( int rounds ), int warm_up, int rounds, ULONGLONG slack );

#endif /* FLAT_H */
