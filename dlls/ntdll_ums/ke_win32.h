/*
 * What the Windows side of ntdll_ums knows beyond ke.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_KE_WIN32_H
#define UMS_KE_WIN32_H

#include <windows.h>
#include <stdint.h>
#include "umsnt.h"

/* ThreadBasicInformation of NtQueryInformationThread, which mingw-w64 leaves out [sdk] */
struct thread_basic_info
{
    NTSTATUS  status;
    void     *teb;                              /* NULL until the thread has run, on Wine */
    HANDLE    pid, tid;
    ULONG_PTR affinity;
    LONG      priority, base_priority;
};

int ke_init( const char **why );                /* 0: the host does not fit, *why says why */
const char *ke_park_name( void );

void ke_clear_x87( void );                      /* upcall_x86_64.S */

/* hook_x86_64.S: a Linux system call, past Wine */
uint64_t ums_linux_syscall( uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d );

#endif /* UMS_KE_WIN32_H */
