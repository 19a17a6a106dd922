/*
 * The one face behind which threads of the shim begin and are counted: home threads of workers,
 * which the program's CreateRemoteThreadEx makes with an entry of ours, threads that worker
 * factories make, and threads that serve the shim.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_THREAD_H
#define UMS_THREAD_H

#include <windows.h>
#include "umsnt.h"

struct ums_context;

enum ums_thread_kind
{
    THREAD_HOME,
    THREAD_HAND,                                /* of a worker factory */
    THREAD_SERVICE,                             /* DLLs of the program are not told of it */
    THREAD_KINDS
};

/* A thread of this process that runs start( param ); stack sizes 0: those of the image. Enters the
   kernel. For all but homes. */
NTSTATUS ums_thread_create( enum ums_thread_kind kind, void (*start)( void *param ), void *param,
                            SIZE_T reserve, SIZE_T commit, HANDLE *thread );
/* One of that kind ends, or has been ended. Once for each. */
void ums_thread_ends( enum ums_thread_kind kind );
/* How many there are. */
uint32_t ums_thread_count( enum ums_thread_kind kind );

/* Homes, for the private interface (ums_private.h says what each does). */
NTSTATUS ums_thread_bind( const UMS_CREATE_THREAD_ATTRIBUTES *attr, LPTHREAD_START_ROUTINE start,
                          void *param, struct ums_context **worker, LPTHREAD_START_ROUTINE *entry );
void ums_thread_made( struct ums_context *worker, HANDLE thread );
void ums_thread_unbind( struct ums_context *worker );

/* The pages of a new thread's stack that it will hardly need: Wine has cleared 960 KB of it. */
void ums_thread_release_stack( void );

#endif /* UMS_THREAD_H */
