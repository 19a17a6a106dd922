/*
 * For two_workers.h: the first worker waits for an event, and the second one sets it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_LINUX_WAKER_H
#define TESTS_LINUX_WAKER_H

#include "two_workers.h"

static HANDLE event;                            /* the program makes it */

static DWORD WINAPI waker( void *arg )
{
    (void)arg;
    while (!inside) pUmsThreadYield( NULL );
    seen_inside = inside;
    SetEvent( event );
    return 0;
}

static void give_up( void )
{
    SetEvent( event );
}

#endif /* TESTS_LINUX_WAKER_H */
