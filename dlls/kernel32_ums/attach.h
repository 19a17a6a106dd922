/*
 * The shim in a process that was started with it (see private/inject.h).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef KERNEL32_UMS_ATTACH_H
#define KERNEL32_UMS_ATTACH_H

#include <windows.h>

/* Is the shim wanted in this process? TRUE if umsrun or one of its children has started it, if its file
 * or its prefix has the shim, or if it imports ordinal 1 of kernel32_ums.dll. */
BOOL ums_attach_requested( void );

/* Ordinal 1. A tool that adds kernel32_ums.dll to a program's import table needs something to import from
 * it; importing this asks for the redirection. It is never called. */
void WINAPI ums_injected( void );

/* Redirects the host's names to the shim for the whole process, all or nothing, and gives the shim
 * to its children. SELF: kernel32_ums.dll. Called once, by DllMain, when ntdll_ums has started. If
 * the host's own UMS works, or the host does not fit (which is logged), the process runs as without
 * the shim. But if the host does not fit and umsrun started the process, the process ends with
 * status 2. FALSE: no memory. */
BOOL ums_attach( HMODULE self );

/* The host's own CreateRemoteThreadEx, UpdateProcThreadAttribute, InitializeProcThreadAttributeList
 * or DeleteProcThreadAttributeList, whether names are redirected or not. Any thread; the first call
 * looks the function up. */
void *ums_original( const char *name );

/* Gives the shim to a process that this one has created and that has not run yet, unless UMS_CHILDREN=0
 * or the shim cannot serve it (32-bit programs, helpers of the host ...). Any thread that may make system
 * calls; keeps the last error. */
void ums_child_created( HANDLE process );

#endif /* KERNEL32_UMS_ATTACH_H */
