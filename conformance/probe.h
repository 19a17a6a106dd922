/*
 * umstest_probe.dll: a DLL whose DllMain, and one of whose threads, the tests bring along.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSTEST_PROBE_H
#define UMSTEST_PROBE_H

struct probe
{
    void (*volatile on_call)( DWORD reason, BOOL process_ends );    /* from DllMain; may be NULL */
};

/* Runs body, then ends its thread with FreeLibraryAndExitThread, for which the caller has loaded
   the DLL once more. A thread function: arg is a struct probe_thread. */
struct probe_thread
{
    DWORD (*body)( void *arg );                 /* gives the exit code */
    void *arg;
    HMODULE module;
};

#endif /* UMSTEST_PROBE_H */
