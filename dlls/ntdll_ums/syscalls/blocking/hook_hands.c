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

/* The mark is there only while the host makes the program's call: in a call of ours the thread would leave half of something
   done. In a callback it is in that call still; an APC ends the call (ums_apc_begins), and nothing else leaves it without a
   return. A thread that was in the call before there was any factory is not marked, and is waited for. */
uint64_t ums_pass_on( const struct ums_call *call, const uint64_t *args )
{
    struct ums_context *self = ke_current();
    struct ums_scheduler *s = self && self->kind == CONTEXT_SCHEDULER ? self->scheduler : NULL;
    const uint64_t mark = ums_hand_word() & HAND_PASSES;
    const uint32_t passes = s ? s->passes : 0;
    uint64_t ret;

    if (s) s->passes = 1;
    ums_hand_passes( HAND_PASSES );
    ret = ums_call_native( call, args );
    ums_hand_passes( mark );
    if (s) s->passes = passes;
    return ret;
}

void ums_passed_call_is_over( struct ums_context *self )
{
    if (self && self->kind == CONTEXT_SCHEDULER) self->scheduler->passes = 0;
    ums_hand_passes( 0 );
}

static int waits_for_alert( const struct call_row *row )
{
    return ums_waits_here && row->here == ums_here_wait_for_alert;
}

/* Is the wait over at once? A wait for an alert that nobody has given is not, and a try would cost
   more than the wait. */
static int try_wait( struct ums_hand *h, const struct call_row *row, const struct ums_call *call,
                     uint64_t *args, uint64_t *ret )
{
    if (!waits_for_alert( row ) || ke_alert_take( atomic_load( &h->tid ) ))
        return ums_wait_try( row, call, args, NULL, ret );
    ums_call_args( call, args );
    if (!ums_wait_is_poll( row, args )) return 0;
    *ret = ums_pass_on( call, args );
    return 1;
}

/* Only a hand that has a packet counts, or one that comes for its first; in a callback out of a call it is in that call. A wait that
   is satisfied when it is tried has not blocked. Of one that comes only waits are seen: nobody looks whether it is in another call for
   long. */
uint64_t ums_hand_call( struct ums_hand *h, const struct call_row *row, struct ums_call *call )
{
    uint64_t args[UMS_MAX_ARGS], ret;
    int away;

    if (!ums_hand_counts( h )) return ums_pass_on( call, NULL );
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
    ret = ums_pass_on( call, args );
    if (waits_for_alert( row ) && (ums_status)ret != STATUS_TIMEOUT)
        ke_alert_take( atomic_load( &h->tid ) );     /* and was taken */
    if (away) ums_hand_is_back( h );
    return ret;
}
