/*
 * kernel32_ums.dll: start. The exports are in ums.c and create_thread.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "attach.h"
#include "kernel32_ums.h"
#include "private/trace.h"
#include "private/ums_private.h"

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved );

const struct ums_private *ums_ntdll;

int ums_trusts_environment( void )
{
    return ums_ntdll->trusts_environment();
}

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved )
{
    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    ums_ntdll = ums_private();
    DisableThreadLibraryCalls( instance );
    if (ums_attach_requested()) return ums_attach( instance );
    ums_ntdll->activate();                      /* if it fails, every call says so */
    return TRUE;
}
