/*
 * Stops all other threads of the process while code is changed that they may be about to execute.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_STANDSTILL_H
#define UMS_STANDSTILL_H

#include <windows.h>

/* Stop them. If the host lacks NtGetNextThread, or memory is short, no thread is stopped. The caller holds
   the lock of the start, and takes no other lock until standstill_end. */
void standstill_begin( void );

/* Call move with the program counter of each thread; the thread continues where it returns. */
void standstill_move( ULONG_PTR (*move)( ULONG_PTR rip ) );

void standstill_end( void );

#endif /* UMS_STANDSTILL_H */
