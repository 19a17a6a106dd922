/*
 * The record's place in a process of Wine or Windows: UMS_TRACE, its file, the end of the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_RECORD_HOST_H
#define UMS_RECORD_HOST_H

/* Start to record if UMS_TRACE says so. Once, before the hook is looked for: it has more to see
   then. */
void ums_record_begin( void );
/* What is active: for the file. */
void ums_record_about( const char *about );
/* The process is about to end: write the file. If there is one, all other threads end before. */
void ums_record_finish( void );

#endif /* UMS_RECORD_HOST_H */
