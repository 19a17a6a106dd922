/*
 * Messages to people.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Only at start and in calls that go wrong; never on a path where a worker is switched out. A line
 * goes to Wine's own console under Wine, else to the debugger, and to the file named by
 * UMS_LOG_FILE if that is set and the process has no more rights than its user.
 */
#ifndef UMS_PRIVATE_TRACE_H
#define UMS_PRIVATE_TRACE_H

/* Always shown: what keeps the shim from working, and what to do. At most 500 characters, no
   newline. */
void ums_log( const char *fmt, ... ) __attribute__((format( printf, 1, 2 )));
/* Shown when UMS_LOG is set to anything but 0. */
void ums_info( const char *fmt, ... ) __attribute__((format( printf, 1, 2 )));
/* An environment variable of this process; 0 if it is not set or too long. */
int ums_env( const char *name, char *value, unsigned int size );
/* May a path from there be followed? Each DLL has its own way to ask (rights.h). */
int ums_trusts_environment( void );

#endif /* UMS_PRIVATE_TRACE_H */
