/*
 * What umsrun.exe says, and how it ends. The lowest of its files: it calls none of the others.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSRUN_SAY_H
#define UMSRUN_SAY_H

#include <windows.h>

#define LONG_PATH     4096
#define NOT_INSTALLED 1         /* exit status of --status, --uninstall ... */
#define EXIT_FAILED   2

/* One line on standard error, "umsrun: ...". */
void tell( const WCHAR *text );

/* The same of what has failed. Returns EXIT_FAILED. */
int fail( const WCHAR *format, ... );
int fail_with_error( const WCHAR *what, DWORD error );

/* The same for a command line that cannot be understood: where help is to be had stands behind it. */
int wrong_usage( const WCHAR *format, ... );

/* One line on standard output. */
void say( const WCHAR *format, ... );

/* What the system says of ERROR, with its number; WHAT stands where it wants a name. Lives until the
 * next call. */
const WCHAR *error_text( DWORD error, const WCHAR *what );

/* PATH as the user knows it: a Unix host's name under Wine. Lives until the fourth call from here. */
const WCHAR *shown( const WCHAR *path );

#endif /* UMSRUN_SAY_H */
