/*
 * Shared between the files of umsinfo.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSINFO_H
#define UMSINFO_H

#include <windows.h>
#include <winternl.h>
#include "umsnt.h"
#include "workerfactory.h"
#include "private/exports.h"

/* The functions that the self-test calls, from one and the same module. */
struct api
{
#define X( ret, name, args ) ret (WINAPI *name) args;
    UMS_KERNEL32_EXPORTS_7600( X )
    UMS_KERNEL32_DOORS( X )
#undef X
};

/* Of a module. 0 if it lacks one. */
BOOL api_find( HMODULE module, struct api *api );

/* Does a name of kernel32 lead to one of the shim's DLLs? */
BOOL leads_to_shim( const char *name );

/* What a program that asks the host's DLLs for the documented functions gets: how many lead to the
   shim, to the host, nowhere. verbose: a line for each name, too. */
void print_entry_points( BOOL verbose );

/* Kept until the first line is known. This thread only. */
void print( const char *format, ... );

/* The first line of the output: does it work? Prints the rest behind it. The exit status. */
int tell_verdict( BOOL works );

/* Yields, waits and ends of a few workers. Prints one line; 0 if something is wrong. Does not come
   back if workers hang: the process ends with that status. */
BOOL self_test( const struct api *api, int status_if_it_hangs );

#endif /* UMSINFO_H */
