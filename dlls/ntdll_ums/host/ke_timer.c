/*
 * The thread of the timer (core/timer.c).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It begins when the first worker wants to wait with a time-out, and lives as long as there are
 * workers. No thread waits for it to begin: a new thread may need the loader lock first, which that
 * worker may hold. Until it runs, workers wait at home.
 *
 * It keeps no process alive. A process ends with its last thread, or when a thread asks whether it is
 * the last one. So a thread that ends, or asks, while no other worker is left first dismisses the timer
 * and waits until it has ended. ExitProcess terminates it like any thread; it holds no lock.
 */

#include <windows.h>
#include <winternl.h>
#include "core/wait.h"
#include "ke_timer.h"
#include "ke_win32.h"
#include "thread.h"

#define AM_I_LAST_THREAD ((THREADINFOCLASS)12)  /* [sdk] */

static _Atomic uint32_t timers;                 /* 1 while one lives, or is being made */
static _Atomic uint32_t running;                /* it accepts deadlines */
static _Atomic uint32_t dismissed;              /* it ends if fewer workers than this are left */
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

/* If another process has terminated a worker, it may be counted as alive for ever. */
static int is_alone( void )
{
    ULONG last = 0;

    return !NtQueryInformationThread( GetCurrentThread(), AM_I_LAST_THREAD, &last, sizeof(last),
                                      NULL ) && last;
}

/* It ends without notifying DLLs, because a thread that waits for its end may be in the loader. */
_Noreturn static void timer( void *arg )
{
    int alone = 0;

    (void)arg;
    ums_thread_release_stack();
    atomic_store( &timer_tid, GetCurrentThreadId() );   /* its maker may not have stored it yet */
    atomic_store( &running, 1 );
    for (;;)
    {
        if (alone || ((atomic_load( &dismissed ) || !ums_workers_alive()) && may_go()))
            for (;;) TerminateThread( GetCurrentThread(), 0 );
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
    atomic_store( &dismissed, 0 );              /* it was for the previous one, which has ended */
    if (ums_service_create( &timer_tid, timer )) atomic_store( &timers, 0 );
}

void ke_timer_look( void )
{
    if (!atomic_load( &running ) || !ums_service_has_ended( &timer_tid ) ||
        !atomic_exchange( &running, 0 )) return;
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
