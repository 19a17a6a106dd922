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

/* Find them in a module. 0 if one is missing. */
BOOL api_find( HMODULE module, struct api *api );

/* Does a name of kernel32 lead to one of the shim's DLLs? */
BOOL leads_to_shim( const char *name );

/* Print what a program gets if it looks the documented functions up in the host's DLLs: how many lead to
   the shim, to the host, or nowhere. verbose: also print a line for each name. */
void print_entry_points( BOOL verbose );

/* Adds to the output, which is kept until the first line is known. Main thread only. */
void print( const char *format, ... );

/* Prints the first line of the output (does it work?), then the rest. Returns the exit status. */
int tell_verdict( BOOL works );

/* Runs a few workers that yield, wait and end. Prints one line; returns 0 if something is wrong. If
   workers hang, it does not return: it ends the process with that status. */
BOOL self_test( const struct api *api, int status_if_it_hangs );

#endif /* UMSINFO_H */
