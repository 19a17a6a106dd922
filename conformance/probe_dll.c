/*
 * umstest_probe.dll, see probe.h. Links kernel32 only and has no C runtime, so that nothing but the
 * test runs in its DllMain.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include "probe.h"

__declspec(dllexport) struct probe probe;

__declspec(dllexport) DWORD WINAPI probe_thread( void *arg );
BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved );

DWORD WINAPI probe_thread( void *arg )
{
    struct probe_thread thread = *(struct probe_thread *)arg;

    FreeLibraryAndExitThread( thread.module, thread.body( thread.arg ) );
}

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved )
{
    (void)instance;
    if (probe.on_call) probe.on_call( reason, reserved != NULL );
    return TRUE;
}
