/*
 * kernel32_ums.dll: start. The exports are in ums.c and create_thread.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <string.h>
#include "attach.h"
#include "kernel32_ums.h"
#include "private/trace.h"
#include "private/ums_private.h"

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved );

const struct ums_private *ums_ntdll;

unsigned char ums_log_levels[LOG_CHANNELS];

void ums_say( enum log_channel channel, enum log_level level, const char *fmt, ... )
{
    va_list args;

    va_start( args, fmt );
    ums_ntdll->say( channel, level, fmt, args );
    va_end( args );
}

BOOL WINAPI DllMainCRTStartup( HINSTANCE instance, DWORD reason, void *reserved )
{
    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    ums_ntdll = ums_private();
    memcpy( ums_log_levels, ums_ntdll->log_levels, sizeof(ums_log_levels) );
    DisableThreadLibraryCalls( instance );
    if (ums_attach_requested()) return ums_attach( instance );
    ums_ntdll->activate();                      /* if it fails, every UMS call fails with an error */
    return TRUE;
}
