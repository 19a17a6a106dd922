/*
 * The shim in a process that was started with it (see private/inject.h).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_ATTACH_H
#define KERNEL32_UMS_ATTACH_H

#include <windows.h>

/* Whether this process was started by umsrun or by a process of its, has the shim in its file, runs
 * in a prefix that has it, or imports ordinal 1 of kernel32_ums.dll. */
BOOL ums_attach_requested( void );

/* Ordinal 1. Whoever puts kernel32_ums.dll into a program's import table needs something to import
 * from it; by importing this it asks for the redirection. Nobody calls it. */
void WINAPI ums_injected( void );

/* Redirects the host's names to the shim for the whole process, all or nothing, and gives the shim
 * to its children. SELF: kernel32_ums.dll. Called once, by DllMain, when ntdll_ums has started. If
 * the host's own UMS works, or the host does not fit (which is logged), the process runs as without
 * the shim. But if the host does not fit and umsrun started the process, the process ends with
 * status 2. FALSE: no memory. */
BOOL ums_attach( HMODULE self );

/* The host's own CreateRemoteThreadEx, UpdateProcThreadAttribute, InitializeProcThreadAttributeList
 * or DeleteProcThreadAttributeList, whether names are redirected or not. Any thread; looks it up at
 * the first time. */
void *ums_original( const char *name );

/* A process was created by this one and has not run yet: it gets the shim, unless UMS_CHILDREN=0 or
 * the shim is not for it (32-bit, helpers of the host ...). Any thread that may make system calls;
 * last error is kept. */
void ums_child_created( HANDLE process );

#endif /* KERNEL32_UMS_ATTACH_H */
