/*
 * All other threads of the process stopped, while code is changed that they may be about to run.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_STANDSTILL_H
#define UMS_STANDSTILL_H

#include <windows.h>

/* Stops them. Host without NtGetNextThread, or no memory: nobody is stopped. Under the lock of the
   start; no lock may be taken until standstill_end. */
void standstill_begin( void );

/* Where each of them goes on, by where it stands. */
void standstill_move( ULONG_PTR (*move)( ULONG_PTR rip ) );

void standstill_end( void );

#endif /* UMS_STANDSTILL_H */
