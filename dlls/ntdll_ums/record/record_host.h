/*
 * The record in a process of Wine or Windows: UMS_TRACE, the files, the end of the process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_RECORD_HOST_H
#define UMS_RECORD_HOST_H

/* Start to record if UMS_TRACE is set. Called once, before the hook is chosen, because the hook has to
   see more calls then. */
void ums_record_begin( void );
/* The start is refused: delete the files. Called before there is a scheduler or a worker, so no thread records. */
void ums_record_cancel( void );
/* Engine, hook and host, for the file. */
void ums_record_about( const char *about );
/* The process is about to end. If there is a record, terminate all other threads and write the file. */
void ums_record_finish( void );

#endif /* UMS_RECORD_HOST_H */
