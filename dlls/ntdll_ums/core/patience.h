/*
 * How long the protocol waits for another thread that may never answer.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread that suspends, resumes, kills or reads another one waits until that one has left a short
 * section of our code. It may never leave: another process, or our own caller, may have stopped it
 * there. So no such wait is endless. After UMS_PATIENCE the waiting thread goes on without proof that
 * the section is over. That is a guess, and each time it happens is logged.
 *
 * The wineserver gets as long to answer a request (scheduler.c). Its one thread may get no processor meanwhile, and a
 * worker that counted as blocked then could have a lock that SchedulerProc wants. That is not logged: it is
 * taken as blocked.
 */
#ifndef UMS_PATIENCE_H
#define UMS_PATIENCE_H

#include "ke.h"

#define UMS_PATIENCE 100000000                  /* 100 ns: ten seconds. Shorter would be wrong on a
                                                   busy machine, where a thread waits for a CPU */

/* Has a wait that began at this ke_clock lasted too long? Then the caller must not wait any more.
   awaited: what did not happen, for the log. Enters the kernel; not in a signal handler. */
static inline int ums_give_up( int64_t begin, const char *awaited )
{
    if (ke_clock() - begin <= UMS_PATIENCE) return 0;
    ke_gave_up( awaited );
    return 1;
}

#endif /* UMS_PATIENCE_H */
