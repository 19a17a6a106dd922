/*
 * System calls to the Linux kernel, by the DLLs' own way.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include "host/ke_win32.h"
#include "linux.h"

int64_t linux_call( uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d )
{
    ke_find_linux();            /* where it finds none, the gate answers with ENOSYS */
    return (int64_t)ums_linux_syscall( nr, a, b, c, d );
}
