/*
 * Create one UMS worker thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <windows.h>
#include "ums.h"

/* The new worker does not run; it is queued to the list, with *context as its name and "user" as
   its UmsThreadUserContext. The caller closes the handle and deletes the context after its end.
   NULL on failure, last error set, nothing left behind. Any thread, a SchedulerProc too. */
HANDLE spawn_ums_worker( PUMS_COMPLETION_LIST list, LPTHREAD_START_ROUTINE proc, void *arg,
                         void *user, PUMS_CONTEXT *context );

#endif /* SPAWN_H */
