/*
 * Changes of a worker's state word that the code makes and tests/model/ums.pml does not, with the reason. Each is made by a
 * white-box test (model.tie.seen), but those that happen by chance.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* waits without a thread: tests/model/waits.pml has them, in variables of its own */
UNTIED( CARRIED, BLOCKED|PREEMPTED|WAITS )
UNTIED( RUNNING, BLOCKED|PREEMPTED|WAITS )
UNTIED( RUNNING, BLOCKED|HOME|PREEMPTED|WAITS )
UNTIED( BLOCKED|PREEMPTED|WAITS, QUEUED )
UNTIED( BLOCKED|HOME|PREEMPTED|WAITS, QUEUED|HOME )
UNTIED( BLOCKED|PREEMPTED|WAITS, BLOCKED|PREEMPTED|SUSPENDED|WAITS )
UNTIED( BLOCKED|HOME|PREEMPTED|WAITS, BLOCKED|HOME|PREEMPTED|SUSPENDED|WAITS )
UNTIED( BLOCKED|PREEMPTED|SUSPENDED|WAITS, BLOCKED|PREEMPTED|WAITS )
UNTIED( BLOCKED|HOME|PREEMPTED|SUSPENDED|WAITS, BLOCKED|HOME|PREEMPTED|WAITS )
UNTIED( BLOCKED|PREEMPTED|SUSPENDED|WAITS, BLOCKED|PREEMPTED|SUSPENDED )
UNTIED( BLOCKED|HOME|PREEMPTED|SUSPENDED|WAITS, BLOCKED|HOME|PREEMPTED|SUSPENDED )
UNTIED( BLOCKED|PREEMPTED|SUSPENDED|WAITS, DEAD|PREEMPTED|SUSPENDED|WAITS )
UNTIED( BLOCKED|HOME|PREEMPTED|SUSPENDED|WAITS, DEAD|HOME|PREEMPTED|SUSPENDED|WAITS )
/* the same of a worker that is suspended meanwhile: the wait begins all the same */
UNTIED( CARRIED|SUSPENDED, BLOCKED|PREEMPTED|SUSPENDED|WAITS )

/* a context gets another thread: the model's workers live once */
UNTIED( DEAD, STARTING )
UNTIED( DEAD|SUSPENDED, STARTING|SUSPENDED )

/* a thread that ends in a call that was reported: by chance, so not in each run */
BY_CHANCE( BLOCKED, DEAD )

/* a yield in a call without a frame of the hook, which only these tests make: in a callback the worker stays at home */
UNTIED( INKERNEL, READY )

/* a carrier that stood still while its worker was suspended (ums_worker_kept), or that has ended */
UNTIED( RUNNING|SUSPENDED, BLOCKED|STOPPED|SUSPENDED )
UNTIED( CARRIED|SUSPENDED, DEAD|SUSPENDED )

/* a yield to a scheduler that ends before it hears of it: the model's schedulers live for ever */
UNTIED( READY, QUEUED )
