/*
 * Shared between the files of kernel32_ums.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_H
#define KERNEL32_UMS_H

#include <windows.h>
#include "umsnt.h"

struct ums_private;

/* The private interface of ntdll_ums. Written before anything else runs. */
extern const struct ums_private *ums_ntdll;

/* TRUE for STATUS_SUCCESS; else FALSE with the last error set. */
BOOL ums_set_status( NTSTATUS status );

#endif /* KERNEL32_UMS_H */
