/*
 * What happens when a thread that works for a factory enters the kernel: while it is blocked there
 * another one may run in its place. The same rules as for workers (hook.c), but that nobody
 * is waiting to be told: it is counted, and who takes its place is woken.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "factory/factory_host.h"
#include "hook.h"
#include "host/ke_win32.h"

/* A wait that is satisfied when it is tried has not blocked. */
static uint64_t hand_wait( struct ums_hand *h, const struct call_row *row,
                           const struct ums_call *call )
{
    uint64_t args[UMS_MAX_ARGS], ret;
    LARGE_INTEGER zero = { .QuadPart = 0 };
    uint64_t timeout;
    int blocked;

    ums_call_args( call, args );
    if (ums_wait_is_poll( row, args )) return ums_call_native( call, args );
    if (row->try_zero)
    {
        timeout = args[row->timeout];
        args[row->timeout] = (uint64_t)(ULONG_PTR)&zero;
        ret = ums_call_native( call, args );
        if ((ums_status)ret != STATUS_TIMEOUT) return ret;
        args[row->timeout] = timeout;
    }
    blocked = ums_hand_blocks( h );
    ret = ums_call_native( call, args );
    if (blocked) ums_hand_is_back( h );
    return ret;
}

/* Only one that has a packet counts; in a callback out of a call it is in that call. */
uint64_t ums_hand_call( struct ums_hand *h, const struct call_row *row, struct ums_call *call )
{
    uint64_t ret;
    int entered;

    if (hand_state( atomic_load( &h->word ) ) != HAND_RUNNING) return ums_call_native( call, NULL );
    if (row->cls == CALL_WAIT) return hand_wait( h, row, call );
    entered = ums_hand_enters( h );
    ret = ums_call_native( call, NULL );
    if (entered) ums_hand_is_back( h );
    return ret;
}
