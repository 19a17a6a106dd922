/*
 * What is aimed at: which figure is compared with which, and by how much it may differ.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * "pinned" figures have everything on one CPU: there a hand-off needs no wake-up of another one.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include "bench.h"

#define TIMES      PAIR_RATIO
#define FASTER     PAIR_INVERSE
#define DEARER     PAIR_DIFFERENCE
#define VALUE      PAIR_NONE
#define AT_MOST    FALSE
#define AT_LEAST   TRUE
#define NO_AIM     (-1)

const struct aim aims[] =
{
    { "execute + yield, one worker", "pinned.yield1",
      "two bare switches", "pinned.floor", TIMES, 1.2, AT_MOST, "x" },
    { "... 1,000 workers, sample scheduler", "pinned.yield1000",
      "two bare switches", "pinned.floor", TIMES, 2, AT_MOST, "x" },
    { "... 1,000 workers, a lean round robin", "lean.ring1000",
      "two bare switches", "lean.floor", TIMES, 1.4, AT_MOST, "x" },
    { "... the same among other arms", "pinned.ring1000",
      "two bare switches", "pinned.floor", TIMES, NO_AIM, AT_MOST, "x" },
    { "... 4,000 workers, a lean round robin", "ring.ring4000",
      "two bare switches", "ring.floor", TIMES, 1.6, AT_MOST, "x" },
    { "make and close an event, and yield", "pinned.worker_close",
      "the calls by a thread", "pinned.thread_close", TIMES, 1.2, AT_MOST, "x" },
    { "read 4 KB of a cached file, and yield", "pinned.worker_read",
      "the call by a thread", "pinned.thread_read", TIMES, NO_AIM, AT_MOST, "x" },
    { "... one worker", "pinned.yield1",
      "two SwitchToFiber", "pinned.fiber", TIMES, NO_AIM, AT_MOST, "x" },
    { "... 1,000 workers, sample scheduler", "pinned.yield1000",
      "two SwitchToFiber", "pinned.fiber", TIMES, NO_AIM, AT_MOST, "x" },
    { "... one worker, how much faster", "carry.yield1",
      "engine handoff", "handoff.yield1", FASTER, 40, AT_LEAST, "x" },
    { "... 100 workers, how much faster", "carry.yield100",
      "engine handoff", "handoff.yield100", FASTER, NO_AIM, AT_LEAST, "x" },
    { "a Sleep -> SchedulerProc", "pinned.block_sleep",
      "futex wake + switch", "pinned.wake", TIMES, 1.2, AT_MOST, "x" },
    { "a wait for an event -> SchedulerProc", "pinned.block_wait",
      "futex wake + switch", "pinned.wake", TIMES, 1.2, AT_MOST, "x" },
    { "an alert's wait -> SchedulerProc", "turns.block_alert",
      "two bare switches", "turns.floor", TIMES, 3, AT_MOST, "x" },
    { "SRW lock + condition variable", "turns.worker_condition",
      "two threads", "turns.thread_condition", TIMES, 0.1, AT_MOST, "x" },
    { "WaitOnAddress and wake", "turns.worker_address",
      "two threads", "turns.thread_address", TIMES, 0.1, AT_MOST, "x" },
    { "8 workers, 2 CPUs, a critical section", "waits.worker_section",
      "8 threads", "waits.thread_section", TIMES, 0.3, AT_MOST, "x" },
    { "1,000 workers in Sleep(1): CPU time", "waits.worker_naps",
      "1,000 threads", "waits.thread_naps", TIMES, 0.5, AT_MOST, "x" },
    { "event ping-pong, one scheduler", "pinned.worker_event",
      "two threads", "pinned.thread_event", TIMES, 1, AT_MOST, "x" },
    { "local auto-reset events, two workers", "local.worker_events",
      "two threads, no shim", "server.thread_events", TIMES, 0.05, AT_MOST, "x" },
    { "... that became real", "local.worker_known",
      "two threads, no shim", "server.thread_events", TIMES, 1.3, AT_MOST, "x" },
    { "a local event's wait -> SchedulerProc", "local.block_event",
      "two bare switches", "local.floor", TIMES, 4, AT_MOST, "x" },
    { "local mutexes, two workers", "local.worker_mutexes",
      "two threads, no shim", "server.thread_mutexes", TIMES, 0.05, AT_MOST, "x" },
    { "local semaphores, two workers", "local.worker_semaphores",
      "two threads, no shim", "server.thread_semaphores", TIMES, 0.05, AT_MOST, "x" },
    { "local auto-reset events, two threads", "local.thread_events",
      "without the shim", "server.thread_events", TIMES, 0.3, AT_MOST, "x" },
    { "any of 8 local events, two workers", "local.worker_any",
      "two threads, no shim", "server.thread_any", TIMES, 0.1, AT_MOST, "x" },
    { "set of a local event, nobody waits", "local.thread_set",
      "without the shim", "server.thread_set", TIMES, 0.05, AT_MOST, "x" },
    { "... by a worker", "local.worker_set",
      "a thread, no shim", "server.thread_set", TIMES, 0.05, AT_MOST, "x" },
    { "the hook, objects are local", "local.counter",
      "without the shim", "server.counter", DEARER, 3, AT_MOST, "ns" },
    { "1,000,000 work items, more per second", "items.worker",
      "system thread pool", "items.pool", FASTER, 50, AT_LEAST, "x" },
    { "the hook, NtQueryPerformanceCounter", "with.counter",
      "without the shim", "without.counter", DEARER, 3, AT_MOST, "ns" },
    { "the hook, NtYieldExecution", "with.yield",
      "without the shim", "without.yield", DEARER, NO_AIM, AT_MOST, "ns" },
    { "UMS_TRACE: an execute and a yield", "traced.yield1",
      "not recorded", "carry.yield1", DEARER, 100, AT_MOST, "ns" },
    { "live workers", "many.workers",
      NULL, NULL, VALUE, 10000, AT_LEAST, "" },
    { "resident memory of one of them", "many.memory",
      NULL, NULL, VALUE, 81920, AT_MOST, "B" },
    { "release -> item, one worker", "factory.release1",
      NULL, NULL, VALUE, 330, AT_MOST, "ns" },
    { "... two workers", "factory.release2", NULL, NULL, VALUE, 330, AT_MOST, "ns" },
    { "... four workers", "factory.release4", NULL, NULL, VALUE, 330, AT_MOST, "ns" },
    { "... one worker, more per second", "factory.release1",
      "system thread pool", "factory.pool", FASTER, 30, AT_LEAST, "x" },
    { "... two workers", "factory.release2",
      "system thread pool", "factory.pool", FASTER, 30, AT_LEAST, "x" },
    { "... four workers", "factory.release4",
      "system thread pool", "factory.pool", FASTER, 30, AT_LEAST, "x" },
    { "... through the sample pool", "factory.sample",
      "system thread pool", "factory.pool", FASTER, NO_AIM, AT_LEAST, "x" },
    { "packets of a real port", "factory.packets",
      "NtRemoveIoCompletionEx", "factory.bare_packets", TIMES, 1.05, AT_MOST, "x" },
    { "wake-ups of an idle factory", "idle.switches", NULL, NULL, VALUE, 0, AT_MOST, "" },
};

const unsigned int aim_count = ARRAYSIZE(aims);

BOOL aim_value( const struct aim *aim, struct summary *value )
{
    if (!aim->base) return stats_summary( aim->figure, value );
    return stats_pairs( aim->figure, aim->base, aim->pairing, value );
}

BOOL aim_met( const struct aim *aim, const struct summary *value )
{
    return aim->at_least ? value->median >= aim->limit : value->median <= aim->limit;
}
