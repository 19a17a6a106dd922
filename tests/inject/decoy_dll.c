/*
 * A DLL that must not be loaded.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved );

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved )
{
    (void)instance; (void)reason; (void)reserved;
    TerminateProcess( GetCurrentProcess(), 99 );
    return FALSE;
}
