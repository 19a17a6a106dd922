/*
 * The shim's functions, taken from its DLL by a program that runs without the launcher.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_LINUX_SHIM_H
#define TESTS_LINUX_SHIM_H

#include <windows.h>
#include <ums.h>
#include "private/exports.h"

#define X( ret, name, args ) static ret (WINAPI *p##name) args;
UMS_KERNEL32_EXPORTS( X )
UMS_KERNEL32_DOORS( X )
#undef X

static void load_shim( void )
{
    HMODULE module = LoadLibraryA( "kernel32_ums.dll" );

#define X( ret, name, args ) p##name = (void *)GetProcAddress( module, #name );
    UMS_KERNEL32_EXPORTS( X )
    UMS_KERNEL32_DOORS( X )
#undef X
}

#endif /* TESTS_LINUX_SHIM_H */
