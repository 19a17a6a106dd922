/*
 * Changes of a worker's state word that the code makes and the models (transitions.h) do not, with the reason. Each is made by a
 * white-box test (model.tie.seen), but those that happen by chance.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

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
