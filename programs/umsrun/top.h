/*
 * umsrun --top [PID [LINES]]: what a process with UMS_HUD publishes, once a second.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSRUN_TOP_H
#define UMSRUN_TOP_H

#include <windows.h>

/* The exit code, or -1 if the command line is none of --top. */
int top_command( int argc, WCHAR **argv );

#endif /* UMSRUN_TOP_H */
