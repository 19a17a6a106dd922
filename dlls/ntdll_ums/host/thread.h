/*
 * Where threads of the shim begin and are counted: threads that worker factories make, threads that
 * serve the shim, and homes of workers, which the program's CreateRemoteThreadEx makes with an entry
 * of ours (api/thread.h).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_HOST_THREAD_H
#define UMS_HOST_THREAD_H

#include <windows.h>

enum ums_thread_kind
{
    THREAD_HOME,
    THREAD_HAND,                                /* of a worker factory */
    THREAD_SERVICE,                             /* DLLs of the program are not told of it */
    THREAD_KINDS
};

/* A thread of this process that runs start( param ); stack sizes 0: those of the image; priority: its
   base priority from its first instruction on, 0 is the usual one. Enters the kernel. For all but homes. */
NTSTATUS ums_thread_create( enum ums_thread_kind kind, void (*start)( void *param ), void *param,
                            SIZE_T reserve, SIZE_T commit, LONG priority, HANDLE *thread );
/* One of that kind begins that somebody else makes. */
void ums_thread_begins( enum ums_thread_kind kind );
/* One of that kind ends, or has been ended. Once for each. */
void ums_thread_ends( enum ums_thread_kind kind );
/* How many there are. */
uint32_t ums_thread_count( enum ums_thread_kind kind );

/* A service of which one thread lives at a time, and which ends by itself. *tid: the thread that was made
   last, which may be ending still although it has said good-bye; or 0. The next one begins when that is no
   more. Enters the kernel. */
NTSTATUS ums_service_create( _Atomic uint32_t *tid, void (*start)( void *param ) );
/* Until that thread is no more, but not for ever: somebody may have suspended it. Not by itself. */
void ums_service_wait( _Atomic uint32_t *tid );
/* Is it no more? */
int ums_service_has_ended( _Atomic uint32_t *tid );

/* The pages of a new thread's stack that it will hardly need: Wine has cleared 960 KB of it. */
void ums_thread_release_stack( void );

#endif /* UMS_HOST_THREAD_H */
