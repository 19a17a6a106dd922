/*
 * How long the protocol waits for another thread that may never answer.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread that suspends, resumes, kills or reads another one waits until that one has left a short
 * section of our code. It may never leave: another process, or our own caller, may have stopped it
 * there. So such a wait has a limit. After UMS_PATIENCE the waiting thread goes on without proof that
 * the section is over. That is a guess, and each time it happens is logged. Whoever waits for a thread that may itself wait
 * that long has UMS_MORE_PATIENCE: otherwise it would give up first, while the other one lives. The wait for a turn has a limit
 * for one turn only (holders.c); so it is not part of any of these waits, but for `ums_stop_try`, which has a limit of its own.
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
#define UMS_MORE_PATIENCE (3 * UMS_PATIENCE)    /* two waits of UMS_PATIENCE, one after the other, each with
                                                   an ums_stop_try at its end, and some time */

#define UMS_SPIN_PATIENCE (UMS_PATIENCE / 2)    /* before the wait that this is a part of is given up */

/* A wait that has begun; ask again and again. What passes between two looks counts as two and a half seconds at most: a debugger may have stopped
   the whole process there, or the waiting thread itself has got no processor. */
struct ums_wait
{
    int64_t last, waited;                       /* in units of 100 ns */
    uint32_t moments;                           /* of ums_wait_moment */
};

#define UMS_WAIT_STEP 25000000                  /* more than ums_stop_try takes */
#define UMS_MOMENT    500                       /* 50 us */
#define UMS_EAGER     8                         /* looks */

static inline struct ums_wait ums_wait_begins( void )
{
    return (struct ums_wait){ .last = ke_clock() };
}

static inline int64_t ums_waited( struct ums_wait *wait )
{
    int64_t now = ke_clock(), step = now - wait->last;

    wait->last = now;
    wait->waited += step < UMS_WAIT_STEP ? step : UMS_WAIT_STEP;
    return wait->waited;
}

/* Has it lasted longer than this? Then the caller must not wait any more. awaited: what did not happen, for the log. Enters the
   kernel; not in a signal handler. */
static inline int ums_give_up_after( int64_t patience, struct ums_wait *wait, const char *awaited )
{
    if (ums_waited( wait ) <= patience) return 0;
    ke_gave_up( awaited );
    return 1;
}

/* Has another thread been found so often, and for so long, where it may have a spin lock of the host's, that it must be waiting for one that
   nobody releases? tries: how often the caller has looked. Not logged: that one is the program's. */
static inline int ums_spins_too_long( struct ums_wait *wait, uint32_t tries )
{
    return tries > UMS_EAGER && ums_waited( wait ) > UMS_SPIN_PATIENCE;
}

/* Between two looks, in a loop that lets others run as well: nothing at first, then a sleep that gets longer, to 1.6 ms. Nobody
   wakes it. Without it dozens of threads that wait for one would take all processors from that one [seen: a hundredth of the speed with
   130 threads on two processors]. */
static inline void ums_wait_moment( struct ums_wait *wait )
{
    static _Atomic uint32_t never;
    int64_t moment;

    if (wait->moments++ < UMS_EAGER) return;
    moment = UMS_MOMENT << (wait->moments - UMS_EAGER < 6 ? wait->moments - UMS_EAGER - 1 : 5);
    ke_wait( &never, 0, &moment );
}

static inline int ums_give_up( struct ums_wait *wait, const char *awaited )
{
    return ums_give_up_after( UMS_PATIENCE, wait, awaited );
}

#endif /* UMS_PATIENCE_H */
