/*
 * APCs that are queued to a worker before it begins.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_FIRST_APCS_H
#define UMS_FIRST_APCS_H

#include <stdint.h>

struct ums_context;

/* What NtQueueApcThread is given beside the thread: the routine, and its arguments. */
#define APC_WORDS 4

enum first_apc
{
    FIRST_APC_KEPT,
    FIRST_APC_TOO_LATE,                         /* the worker has begun, or ended: the host knows */
    FIRST_APC_NO_MEMORY
};

/* Any thread may call this that has a reference to the worker's context. Enters the kernel. */
enum first_apc ums_first_apc_keep( struct ums_context *w, const uint64_t apc[APC_WORDS] );

/* May there be a worker that has not begun? One that was terminated before counts until its context is bound again. */
int ums_first_apcs_may_come( void );

/* Has it been executed for the first time, or ended? Others may execute it meanwhile unless the caller holds it. */
int ums_worker_has_begun( struct ums_context *w );

/* The context is bound to a thread that does not run yet. */
void ums_first_apcs_open( struct ums_context *w );
/* On the worker's thread, when it is executed for the first time: run them. */
void ums_first_apcs_run( struct ums_context *w );
/* The thread could not be made. */
void ums_first_apcs_close( struct ums_context *w );

#endif /* UMS_FIRST_APCS_H */
