/*
 * Begins the threads of the shim: hands of worker factories, and threads that it needs for itself (services).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_HOST_THREAD_H
#define UMS_HOST_THREAD_H

#include <windows.h>

enum ums_thread_kind
{
    THREAD_HAND,                                /* of a worker factory */
    THREAD_SERVICE,                             /* no DllMain is notified of it, where the host has that */
    THREAD_STOPPED_SERVICE                      /* the same; it begins when the caller resumes it */
};

/* A thread of this process that runs start( param ); stack sizes 0: those of the image; priority: its
   base priority from its first instruction on, 0 is the usual one. Enters the kernel. */
NTSTATUS ums_thread_create( enum ums_thread_kind kind, void (*start)( void *param ), void *param,
                            SIZE_T reserve, SIZE_T commit, LONG priority, HANDLE *thread );

/* Make NtQueryInformationThread tell that the calling thread began at START. Wine accepts that, but not before the thread has
   begun: then it notes the real one. Windows refuses [seen: Wine's info test, since Vista]. */
void ums_thread_set_start( void *start );
/* Did the calling thread begin in our code? Not if ums_thread_set_start has told another place. Enters the kernel. */
int ums_thread_begins_here( void );

/* Make a service thread of which only one exists at a time, and which ends by itself. *tid: the thread that
   was made last, or 0. It may still be ending; the new thread is made when it has ended. Enters the
   kernel. */
NTSTATUS ums_service_create( _Atomic uint32_t *tid, void (*start)( void *param ) );
/* Wait until that thread has ended, with a limit, because it may have been suspended. Must not be called by
   that thread. */
void ums_service_wait( _Atomic uint32_t *tid );
/* Has it ended? */
int ums_service_has_ended( _Atomic uint32_t *tid );

/* Has the thread of this id, the calling one, the lock of the loader? Then no thread begins or ends meanwhile. */
int ums_thread_has_loader_lock( uint32_t tid );

/* Give back pages of a new thread's stack that it hardly needs: Wine has touched 960 KB of it. */
void ums_thread_release_stack( void );

#endif /* UMS_HOST_THREAD_H */
