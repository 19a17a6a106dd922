/*
 * What no source says of worker factories: our guesses, one line each. A finding on a real Windows
 * changes the line in factory_guess.c, and nothing else. Section numbers: worker_factory.md.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_FACTORY_GUESS_H
#define UMS_FACTORY_GUESS_H

#include "private/nttypes.h"

struct ums_factory_guess
{
    /* statuses */
    ums_status wait_shut;                       /* 2.6 a hand that waits, or comes to wait */
    ums_status release_shut;                    /* 2.6 */
    ums_status ready_shut;                      /* 2.6 */
    ums_status set_shut;                        /* 2.6 "later calls fail" */
    ums_status release_overflow;                /* 2.7 */
    ums_status ready_stranger;                  /* a thread that the factory has not made */
    ums_status ready_twice;
    ums_status wait_other;                      /* a thread that another factory has made */
    ums_status wait_no_packets;                 /* 2.7 count 0 or no buffer */
    ums_status wait_deferred_alpc;              /* 1.4 a message is to be sent */
    ums_status port_bad_handle;                 /* 2.7 */
    ums_status foreign_process;                 /* 2.7 */
    ums_status set_bounds;                      /* 2.7 min > max and the like */
    ums_status query_class;                     /* 2.7 any but 7 */
    ums_status query_length;                    /* 2.7 */

    /* rules */
    uint32_t max_if_zero;                       /* 2.7 MaxThreadCount 0 */
    uint32_t binding_is_delta;                  /* 2.3 BindingCount: added, not stored */
    uint32_t second_shutdown_counts;            /* 2.6 0: it writes 0 */
    uint32_t alive_is_activated;                /* 2.2 (3): a living hand, not only a release */
    uint32_t one_on_its_way;                    /* 2.2 none is made for work while one is not ready */
    uint32_t classes_by_version;                /* 1.3 an older Windows has fewer classes */
};

extern const struct ums_factory_guess ums_guess;

#endif /* UMS_FACTORY_GUESS_H */
