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
#include "core/wait.h"
#include "factory/factory_host.h"
#include "syscalls/hook/hook.h"
#include "host/ke_win32.h"

static int waits_for_alert( const struct call_row *row )
{
    return ums_waits_here && row->here == ums_here_wait_for_alert;
}

/* Is the wait over at once? A wait for an alert that nobody has given is not, and a try would cost
   more than the wait. */
static int try_wait( struct ums_hand *h, const struct call_row *row, const struct ums_call *call,
                     uint64_t *args, uint64_t *ret )
{
    if (!waits_for_alert( row ) || ums_alert_was_given( atomic_load( &h->tid ) ))
        return ums_wait_try( row, call, args, NULL, ret );
    ums_call_args( call, args );
    if (!ums_wait_is_poll( row, args )) return 0;
    *ret = ums_call_native( call, args );
    return 1;
}

/* It may be terminated there, as in a call that counts. In a callback out of a call it is in that call still. */
static uint64_t call_uncounted( struct ums_hand *h, const struct ums_call *call )
{
    uint32_t before = atomic_exchange( &h->passes, 1 );
    uint64_t ret = ums_call_native( call, NULL );

    atomic_store( &h->passes, before );
    return ret;
}

/* Only a hand that has a packet counts; in a callback out of a call it is in that call. A wait that
   is satisfied when it is tried has not blocked. */
uint64_t ums_hand_call( struct ums_hand *h, const struct call_row *row, struct ums_call *call )
{
    uint64_t args[UMS_MAX_ARGS], ret;
    int away;

    if (hand_state( atomic_load( &h->word ) ) != HAND_RUNNING) return call_uncounted( h, call );
    if (row->cls == CALL_WAIT)
    {
        if (try_wait( h, row, call, args, &ret )) return ret;
        away = ums_hand_blocks( h );
    }
    else
    {
        ums_call_args( call, args );
        away = ums_hand_enters( h );
    }
    ret = ums_call_native( call, args );
    if (waits_for_alert( row ) && (ums_status)ret != STATUS_TIMEOUT)
        ums_alert_was_given( atomic_load( &h->tid ) );     /* and was taken */
    if (away) ums_hand_is_back( h );
    return ret;
}
