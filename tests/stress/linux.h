/*
 * What only the host's kernel can tell about this process and its wineserver, asked past Wine.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_STRESS_LINUX_H
#define TESTS_STRESS_LINUX_H

/* The wineserver that this process talks to, or 0. */
int linux_server_pid( void );
/* Open files of a process (0: of this one), -1 if nobody may know. */
int linux_open_files( int pid );
/* Lines of its memory map. */
int linux_mappings( int pid );
/* A number of /proc/PID/status, by the name at the beginning of its line: "Threads:". */
long long linux_status( int pid, const char *name );

#endif /* TESTS_STRESS_LINUX_H */
