/*
 * Keyed waits of workers that need no kernel call, and the releases that end them.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/keyed.c describes how the two meet. Only the keyed event without a handle is looked at: Wine's
 * InitOnce uses it, and the host matches its waits and releases inside one process only. Threads that
 * waited before the hook was in place wait at the host, where a release that finds nobody here goes.
 * Who opens that event by its name and releases by the handle does not reach a wait that is here.
 *
 * Left to the host: alertable waits, polls, and bad arguments.
 */

#include <windows.h>
#include <winternl.h>
#include "syscalls/blocking/hook_waits.h"
#include "host/ke_win32.h"

/* (handle, key, alertable, timeout), for both calls. A key is even [seen in Wine: an error]. */
static int is_ours( const struct ums_call *call )
{
    return !call->args[0] && call->args[1] && !(call->args[1] & 1);
}

/* NtWaitForKeyedEvent */
int ums_here_wait_for_key( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                           uint64_t *ret )
{
    enum how_long how_long;
    enum key_wait key;
    int64_t deadline;

    (void)row;
    if (ums_call_is_plain( self, call ) || !is_ours( call ) || (uint8_t)call->args[2] ||
        ums_call_is_nested( self, call->sp )) return 0;
    ums_call_begins( self, call );
    how_long = ums_read_timeout( call->args[3], self, &deadline );
    if (how_long == NOBODY_KNOWS || how_long == NOT_AT_ALL) return 0;
    if (how_long == UNTIL && !ums_has_timer( self, call )) return 0;
    if ((key = ums_key_wait_begins( self, call->args[1] )) == KEY_AT_HOST) return 0;
    *ret = (uint64_t)STATUS_SUCCESS;
    if (key == KEY_RELEASED)
    {
        ums_worker_give_way( self );
        return 1;
    }
    ums_wait_without_thread( self, WAIT_FOR_KEY, deadline );
    if (!ums_key_wait_ends( self )) *ret = (uint64_t)STATUS_TIMEOUT;
    return 1;
}

/* NtReleaseKeyedEvent. At the host it may wait, as any other call that waits. */
int ums_here_release_key( const struct call_row *row, struct ums_call *call, struct ums_context *self,
                          uint64_t *ret )
{
    struct ums_ending ending;
    int found;

    if (!is_ours( call )) return 0;
    ums_ending_begins( &ending, self, call );
    found = ums_key_release( call->args[1] );
    ums_ending_ends( &ending );
    *ret = (uint64_t)STATUS_SUCCESS;
    if (found) return 1;
    *ret = ums_call_by_class( row, call, self );         /* a worker that leaves it by longjmp stays counted */
    ums_key_released_at_host( call->args[1] );
    return 1;
}
