/*
 * The thread of the timer (core/timer.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It begins when the first worker wants to wait until a time, and lives as long as there are
 * workers. Nobody waits for it to begin: a new thread may need the loader lock first, which that
 * worker may hold. Until it runs, workers wait at home.
 *
 * It keeps no process alive. A process ends with its last thread, or when that asks whether it is
 * the last: so whoever ends, or asks, while no other worker is left dismisses the timer first, and
 * waits until it has ended. ExitProcess ends it like any thread; it holds nothing.
 */

#include <windows.h>
#include <winternl.h>
#include "core/wait.h"
#include "ke_timer.h"
#include "ke_win32.h"
#include "thread.h"

#define AM_I_LAST_THREAD ((THREADINFOCLASS)12)  /* [sdk] */

static _Atomic uint32_t timers;                 /* 1 while one lives, or is being made */
static _Atomic uint32_t running;                /* it serves */
static _Atomic uint32_t dismissed;              /* it ends where fewer workers are left than that */
static _Atomic uint32_t timer_tid;              /* it may be ending when timers is 0 already; then
                                                   a thread that asks whether it is the last must
                                                   not find it */

/* A worker that wants to wait is alive, and counted, before it reads running. This thread clears
   running before it reads that count. So a worker that has read running as set is counted here; or
   the timer that continues, or the next one, which another worker has made meanwhile, looks at all
   deadlines when it begins. */
static int may_go( void )
{
    uint32_t but = atomic_exchange( &dismissed, 0 );

    atomic_store( &running, 0 );
    atomic_store( &timers, 0 );
    if (ums_workers_alive() < (but ? but : 1) || atomic_exchange( &timers, 1 )) return 1;
    atomic_store( &running, 1 );
    return 0;
}

/* A worker that another process has ended may be counted as alive for ever. */
static int is_alone( void )
{
    ULONG last = 0;

    return !NtQueryInformationThread( GetCurrentThread(), AM_I_LAST_THREAD, &last, sizeof(last),
                                      NULL ) && last;
}

/* DLLs are not told that it ends, because somebody who waits for it may be in the loader. */
_Noreturn static void timer( void *arg )
{
    int alone = 0;

    (void)arg;
    atomic_store( &timer_tid, GetCurrentThreadId() );   /* its maker may not have stored it yet */
    atomic_store( &running, 1 );
    for (;;)
    {
        if (alone || ((atomic_load( &dismissed ) || !ums_workers_alive()) && may_go()))
        {
            ums_thread_ends( THREAD_SERVICE );
            for (;;) TerminateThread( GetCurrentThread(), 0 );
        }
        alone = !ums_timer_round() && is_alone();
    }
}

int ke_timer_runs( void )
{
    return atomic_load( &running ) != 0;
}

void ke_timer_start( void )
{
    if (atomic_load( &timers ) || atomic_exchange( &timers, 1 )) return;
    atomic_store( &dismissed, 0 );              /* that was for another, which had gone by itself */
    if (ums_service_create( &timer_tid, timer )) atomic_store( &timers, 0 );
}

void ke_timer_look( void )
{
    if (!atomic_load( &running ) || !ums_service_has_ended( &timer_tid ) ||
        !atomic_exchange( &running, 0 )) return;
    ums_thread_ends( THREAD_SERVICE );
    atomic_store( &timers, 0 );
    ke_timer_start();
}

void ke_timer_killed( uint32_t tid )
{
    if (!tid || tid != atomic_load( &timer_tid )) return;
    ums_service_wait( &timer_tid );
    ke_timer_look();
}

void ke_timer_dismiss( const struct ums_context *self )
{
    uint32_t own = self && self->kind == CONTEXT_WORKER, tid = atomic_load( &timer_tid );

    if (!tid || ums_workers_alive() > own || tid == GetCurrentThreadId()) return;
    if (atomic_load( &timers ))
    {
        atomic_store( &dismissed, own + 1 );
        ums_timer_poke();
    }
    ums_service_wait( &timer_tid );
}
