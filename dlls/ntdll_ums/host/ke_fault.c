/*
 * Workers that sleep in a page fault at home. docs/page_faults.md
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A scheduler that waits for its worker checks at intervals whether the worker's thread sleeps in a
 * fault, and reports that here, to a thread that lives while there are such faults: the helper. The
 * helper does what a suspension and an immediate resume of the worker would do, in another order,
 * because a fault may last long after the suspension:
 *
 *  - it suspends the thread, so that Wine's signal is on its way;
 *  - it looks again. If the thread still sleeps in that fault, it will handle the signal next,
 *    before any instruction, so the worker stands still. (Or the signal has interrupted the fault,
 *    and the thread has stopped there.) So the helper takes the worker off its scheduler, which
 *    gets its upcall;
 *  - when the thread has left the fault and stopped, the helper queues the worker. Execute resumes
 *    the thread, as for any worker that was stopped at home. A fault that was interrupted begins
 *    again.
 *
 * A new thread waits for the loader lock, which the worker in the fault may hold. So nothing is
 * done before the helper runs. Until then, the scheduler waits as without a helper.
 */

#include <windows.h>
#include <winternl.h>
#include "core/ums_core.h"
#include "syscalls/hook/native.h"
#include "ke_win32.h"
#include "thread.h"
#include "private/trace.h"

#define MAX_FAULTS  32                          /* more at a time are not reported */
#define LOOK_AGAIN  10000                       /* 100 ns: is a fault over? */
#define LOOKS       4

enum
{
    FAULT_NONE,
    FAULT_BEING_ASKED,                          /* the asking scheduler fills it */
    FAULT_ASKED,
    FAULT_TAKEN                                 /* by the helper */
};

/* Whoever changes the state to BEING_ASKED writes the rest; the helper reads it from ASKED on. */
static struct fault
{
    _Atomic uint32_t state;
    uint32_t tid, host_thread;
    struct ums_context *w;
    uint64_t word;                              /* the worker's, in the fault */
    struct ke_place place;
    HANDLE thread;
} faults[MAX_FAULTS];

static _Atomic uint32_t asked;                  /* counts; the helper sleeps on it */
static _Atomic uint32_t helpers;                /* 1 while one lives, or is being made */

void ke_fault_start( void )
{
    ums_page_faults = ke_parks_outside() && ums_setting( SETTING_PAGE_FAULTS );
}

static int still_there( const struct fault *fault )
{
    struct ke_place now;

    return ke_in_fault( fault->host_thread, &now ) && now.pc == fault->place.pc &&
           now.sp == fault->place.sp;
}

/* ---- the helper ---- */

/* Does the thread still sleep in the same fault? A signal may wake it for a moment. */
static int sleeps_on( const struct fault *fault )
{
    static const int64_t moment = LOOK_AGAIN;
    _Atomic uint32_t word = 0;
    int i;

    for (i = 0; i < LOOKS; i++)
    {
        if (still_there( fault )) return 1;
        ke_wait( &word, 0, &moment );
    }
    return 0;
}

/* The thread is suspended. Does it stand still in the fault, or will it before its next instruction? */
static int is_caught( const struct fault *fault )
{
    CONTEXT context;

    if (!sleeps_on( fault ))
    {
        context.ContextFlags = CONTEXT_CONTROL;
        if (ums_get_context_native( fault->thread, &context ) ||
            context.Rip != fault->place.pc || context.Rsp != fault->place.sp) return 0;
    }
    return !atomic_load( &fault->w->busy ) && ke_is_user_code( fault->place.pc ) && !ke_may_spin( fault->place.pc );
}

static void fault_done( struct fault *fault )
{
    if (fault->thread) CloseHandle( fault->thread );
    ums_context_unref( fault->w );
    atomic_store( &fault->state, FAULT_NONE );
}

static void fault_begin( struct fault *fault )
{
    int caught = 0;

    if (!ums_context_ref( fault->w, fault->tid ))
    {
        atomic_store( &fault->state, FAULT_NONE );
        return;
    }
    atomic_store( &fault->state, FAULT_TAKEN );
    fault->thread = OpenThread( THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT, FALSE, fault->tid );
    if (ums_stop_try())
    {
        if (fault->thread && atomic_load( &fault->w->word ) == fault->word &&
            !ums_suspend_native( fault->thread, NULL ) &&
            !(caught = is_caught( fault ) && ums_worker_faulted( fault->w, fault->word )))
            ums_resume_native( fault->thread, NULL );
        ums_stop_end();
    }
    if (!caught) fault_done( fault );
}

/* The worker may have been suspended and resumed meanwhile, and executed before the fault was over: then
   its number has changed. */
static void fault_look( struct fault *fault )
{
    CONTEXT context;
    uint64_t word;

    if (still_there( fault )) return;
    context.ContextFlags = CONTEXT_CONTROL;
    if (!ums_get_context_native( fault->thread, &context ))
    {
        word = atomic_load( &fault->w->word );
        if (!((word ^ fault->word) & WORD_SEQ_MASK)) ums_worker_queue_stopped( fault->w, word );
    }
    fault_done( fault );
}

/* Returns the number of faults that are not over. */
static int look_at_all( void )
{
    int i, count = 0;

    for (i = 0; i < MAX_FAULTS; i++)
    {
        struct fault *fault = &faults[i];

        if (atomic_load( &fault->state ) == FAULT_ASKED) fault_begin( fault );
        else if (atomic_load( &fault->state ) == FAULT_TAKEN) fault_look( fault );
        if (atomic_load( &fault->state ) == FAULT_TAKEN) count++;
    }
    return count;
}

/* A thread that reports a fault first counts it and then makes sure that there is a helper. The helper
   first says that it ends and then reads the count. So no report is lost. */
static void helper( void *arg )
{
    static const int64_t again = LOOK_AGAIN;
    uint32_t seen;

    (void)arg;
    do
    {
        for (;;)
        {
            seen = atomic_load( &asked );
            if (!look_at_all()) break;
            ke_wait( &asked, seen, &again );
        }
        atomic_store( &helpers, 0 );
    }
    while (atomic_load( &asked ) != seen && !atomic_exchange( &helpers, 1 ));
}

static int make_helper( void )
{
    HANDLE thread;

    if (ums_thread_create( THREAD_SERVICE, helper, NULL, 0, 0, 0, &thread )) return 0;
    CloseHandle( thread );
    return 1;
}

/* ---- the scheduler ---- */

static int is_reported( const struct ums_context *w, uint64_t word )
{
    int i;

    for (i = 0; i < MAX_FAULTS; i++)
        if (atomic_load( &faults[i].state ) != FAULT_NONE && faults[i].w == w &&
            faults[i].word == word) return 1;
    return 0;
}

void ke_report_fault( struct ums_context *w, uint64_t word, const struct ke_place *place )
{
    uint32_t none;
    int i;

    if (is_reported( w, word )) return;
    for (i = 0; i < MAX_FAULTS; i++)
        if (none = FAULT_NONE, atomic_compare_exchange_strong( &faults[i].state, &none,
                                                               FAULT_BEING_ASKED )) break;
    if (i == MAX_FAULTS) return;
    faults[i].w           = w;
    faults[i].word        = word;
    faults[i].tid         = atomic_load( &w->tid );
    faults[i].host_thread = atomic_load( &w->host_thread );
    faults[i].place       = *place;
    atomic_store( &faults[i].state, FAULT_ASKED );
    atomic_fetch_add( &asked, 1 );
    ke_wake( &asked, 0 );
    if (!atomic_exchange( &helpers, 1 ) && !make_helper()) atomic_store( &helpers, 0 );
}
