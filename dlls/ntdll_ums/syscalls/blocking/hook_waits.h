/*
 * What the waits that need no thread share: hook_alerts.c, hook_keyed.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_HOOK_WAITS_H
#define UMS_HOOK_WAITS_H

#include "core/wait.h"
#include "syscalls/hook/hook.h"

/* Is the call not that of a worker? */
int ums_call_is_plain( const struct ums_context *self, const struct ums_call *call );

/* What ums_hook_call does at the beginning of each call of a worker. */
void ums_call_begins( struct ums_context *self, const struct ums_call *call );

/* ums_worker_wait, in a call of this worker. */
void ums_wait_without_thread( struct ums_context *self, enum wait_for what, int64_t deadline );

/* Around code that ends waits of workers, by any thread: nobody stops the thread for long in it. */
struct ums_ending
{
    struct ums_context *self;                   /* a worker, or NULL */
    int carried;
    struct ums_inside before;                   /* at home */
};

void ums_ending_begins( struct ums_ending *ending, struct ums_context *self,
                        const struct ums_call *call );
void ums_ending_ends( struct ums_ending *ending );

#endif /* UMS_HOOK_WAITS_H */
