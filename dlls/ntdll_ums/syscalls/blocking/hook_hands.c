/*
 * What happens when a thread that works for a factory (a hand) enters the kernel: while it is
 * blocked there, another one may run in its place. The rules are those for workers (hook.c), except
 * that there is no scheduler to tell: the hand is counted as blocked, and the one that takes its
 * place is woken.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "factory/factory_host.h"
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"

/* Only a hand that has a packet counts; in a callback out of a call it is in that call. A wait that
   is satisfied when it is tried has not blocked. */
uint64_t ums_hand_call( struct ums_hand *h, const struct call_row *row, struct ums_call *call )
{
    uint64_t args[UMS_MAX_ARGS], ret;
    int away;

    if (hand_state( atomic_load( &h->word ) ) != HAND_RUNNING) return ums_call_native( call, NULL );
    if (row->cls == CALL_WAIT)
    {
        if (ums_wait_try( row, call, args, NULL, &ret )) return ret;
        away = ums_hand_blocks( h );
    }
    else
    {
        ums_call_args( call, args );
        away = ums_hand_enters( h );
    }
    ret = ums_call_native( call, args );
    if (away) ums_hand_is_back( h );
    return ret;
}
