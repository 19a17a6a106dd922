/*
 * Threads that sleep with RtlWaitOnAddress, and how one is ended there.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host has a sleeping thread on a list, with an entry on the thread's own stack. A thread that is terminated there leaves
 * the entry behind, and it takes wake-ups for the word. Windows frees the stack, too [doc: TerminateThread]. So whoever terminates
 * a thread tells it to end itself, if it sleeps. Any thread of the process may sleep for the shim, a plain one as well, so the
 * sleepers are found by thread id.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "ke_win32.h"
#include "syscalls/hook/native.h"

#define SLEEPERS         0x10000
#define AWAKE            ((uintptr_t)0)         /* values of asleep that are no address */
#define HAS_TO_END       ((uintptr_t)1)
#define SLEEPER_LOOK     10                     /* ms */
#ifndef SLEEPER_PATIENCE
#define SLEEPER_PATIENCE 100000000              /* 100 ns: a thread that has not ended itself by then
                                                   is terminated where it is */
#endif

/* A slot is a thread's while it sleeps. If two ids share one (they are 4 * SLEEPERS apart), the thread that comes second sleeps without.
   A thread that another process has terminated in its sleep leaves its slot; the next one with its id takes it over. */
struct ke_sleeper
{
    _Atomic uint32_t  tid;                      /* 0: free */
    uint32_t          exit_status;              /* if it has to end: with this */
    _Atomic uintptr_t asleep;                   /* the thread sleeps on this word in the host's code; or it has to end */
};

static struct ke_sleeper sleepers[SLEEPERS];

static struct ke_sleeper *slot_of( uint32_t tid )
{
    return &sleepers[tid / 4 % SLEEPERS];
}

/* Called before the host has the thread on its list, and ke_sleep_ends when it has it there no more. Whoever terminates the thread sees the
   slot as another one's, or AWAKE, until asleep is stored, and terminates it where it is: it leaves nothing behind then. */
struct ke_sleeper *ke_sleep_begins( _Atomic uint32_t *word )
{
    const uint32_t tid = ke_thread_id();
    struct ke_sleeper *sleeper = slot_of( tid );
    uint32_t owner = 0;

    if (!atomic_compare_exchange_strong( &sleeper->tid, &owner, tid ) && owner != tid) return NULL;
    atomic_store( &sleeper->asleep, (uintptr_t)word );
    return sleeper;
}

/* The thread was told to end. The thread that told it waits for its end and handles the context, so this
   one must not use the context any more, and its call goes past the hook. */
_Noreturn static void end_here( uint32_t status )
{
    ke_set_current( NULL );
    for (;;) ums_end_native( status );
}

void ke_sleep_ends( struct ke_sleeper *sleeper )
{
    uint32_t status;
    int ends;

    if (!sleeper) return;
    ends = atomic_exchange( &sleeper->asleep, AWAKE ) == HAS_TO_END;
    status = sleeper->exit_status;
    atomic_store( &sleeper->tid, 0 );
    if (ends) end_here( status );
}

/* Either the thread's exchange of asleep comes first: then it is awake, and is terminated where it is. Or
   ours does: then it ends itself. It may not sleep yet, or may be suspended by another thread meanwhile.
   So it is woken and resumed until it has ended. If it leaves the sleep before the exchange, that fails, or finds
   its next sleep on the same word. Behind the exchange nothing of the slot is used here: it may be another thread's. */
int ke_end_sleeper( uint32_t tid, void *thread, uint32_t status )
{
    struct ke_sleeper *sleeper = slot_of( tid );
    uintptr_t word = atomic_load( &sleeper->asleep );
    int64_t begin = ke_clock();
    ULONG count;

    if (!thread || atomic_load( &sleeper->tid ) != tid || word == AWAKE || word == HAS_TO_END) return 0;
    sleeper->exit_status = status;
    if (!atomic_compare_exchange_strong( &sleeper->asleep, &word, HAS_TO_END )) return 0;
    do
    {
        while (!ums_resume_native( thread, &count ) && count > 1) ;
        ke_wake( (_Atomic uint32_t *)word, 1 );
        if (WaitForSingleObject( thread, SLEEPER_LOOK ) == WAIT_OBJECT_0) return 1;
    }
    while (ke_clock() - begin < SLEEPER_PATIENCE);
    return 0;
}
