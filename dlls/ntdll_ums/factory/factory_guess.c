/*
 * The guesses about worker factories, as they stand. None of them was tried on Windows.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "factory_guess.h"

#define STATUS_FACTORY_SHUT ((ums_status)0xC00002FE)    /* STATUS_SHUTDOWN_IN_PROGRESS */

const struct ums_factory_guess ums_guess =
{
    .wait_shut              = STATUS_FACTORY_SHUT,
    .release_shut           = STATUS_FACTORY_SHUT,
    .ready_shut             = STATUS_FACTORY_SHUT,
    .set_shut               = STATUS_FACTORY_SHUT,
    .release_overflow       = (ums_status)0xC0000001,   /* STATUS_UNSUCCESSFUL */
    .ready_stranger         = STATUS_INVALID_PARAMETER,
    .ready_twice            = STATUS_SUCCESS,
    .wait_other             = STATUS_INVALID_PARAMETER,
    .wait_no_packets        = STATUS_INVALID_PARAMETER,
    .wait_deferred_alpc     = STATUS_NOT_SUPPORTED,
    .port_bad_handle        = (ums_status)0xC0000008,   /* STATUS_INVALID_HANDLE */
    .foreign_process        = (ums_status)0xC0000022,   /* STATUS_ACCESS_DENIED */
    .set_bounds             = STATUS_INVALID_PARAMETER,
    .query_class            = (ums_status)0xC0000003,   /* STATUS_INVALID_INFO_CLASS */
    .query_length           = STATUS_INFO_LENGTH_MISMATCH,

    .max_if_zero            = 500,
    .binding_is_delta       = 1,
    .second_shutdown_counts = 0,
    .alive_is_activated     = 1,
    .one_on_its_way         = 1,
    .classes_by_version     = 0,
};
