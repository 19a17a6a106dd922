/*
 * Who stands where: printed when a promise was broken or nothing moves any more.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Looks into the DLL's contexts, which are only read; their memory is never given back.
 */
#include <stdio.h>
#include "stress.h"
#include "../../dlls/ntdll_ums/core/ums_core.h"

#define BROKEN_MAX 16

struct broken
{
    const char *what;
    LONG task, life;
    char at;
    ULONG_PTR a, b;
    DWORD tid;
};

static struct broken list[BROKEN_MAX];
volatile LONG broken;

void promise_broken( const char *what, const struct task *task, ULONG_PTR a, ULONG_PTR b )
{
    LONG i = InterlockedIncrement( &broken ) - 1;

    if (i >= BROKEN_MAX) return;
    list[i].task = task ? task->index : -1;
    list[i].life = task ? task->lives : 0;
    list[i].at = task ? task->at : '-';
    list[i].a = a;
    list[i].b = b;
    list[i].tid = GetCurrentThreadId();
    list[i].what = what;
}

static void print_word( uint64_t word )
{
    static const char *const states[] = { "NONE", "STARTING", "QUEUED", "READY", "CARRIED", "RUNNING",
                                          "INKERNEL", "BLOCKED", "DEAD" };
    unsigned int state = (unsigned int)word_state( word );

    printf( " %s", state < ARRAYSIZE(states) ? states[state] : "?" );
    if (word & WORD_HOME) printf( "+HOME" );
    if (word & WORD_STOPPED) printf( "+STOPPED" );
    if (word & WORD_PREEMPTED) printf( "+PREEMPTED" );
    if (word & WORD_WAITS) printf( "+WAITS" );
    if (word_suspended( word )) printf( "+SUSPENDED*%u", word_suspended( word ) );
    if (word & WORD_SUSPENDING) printf( "+SUSPENDING*%u", (unsigned int)((word & WORD_SUSPENDING) /
                                                                         SUSPENDING_ONE) );
    if (word & WORD_HOLD) printf( "+HOLD*%u", (unsigned int)((word & WORD_HOLD) / HOLD_ONE) );
}

static LONG owner_of( const struct ums_context *context )
{
    LONG i;

    for (i = 0; i < sched_count; i++)
    {
        const struct ums_context *own = scheds[i].own;

        if (own && own->scheduler && own->scheduler == context->owner) return i;
    }
    return -1;
}

static void print_task( const struct task *task )
{
    const struct ums_context *context = task->context;

    printf( "  task %ld life %ld at '%c' step %ld of %ld tid %04lx pins %ld queued %ld inside %ld over %ld meddlers %ld"
            " killable %ld asleep %ld held %ld executes %ld blocks %ld yields %ld deliveries %ld:", task->index,
            task->lives, task->at, task->steps, task->wanted_steps, task->tid, task->pins,
            task->queued, task->inside, task->over, task->meddlers, task->killable, task->asleep,
            task->held ? task->held->index : -1L, task->executes, task->blocks, task->yields,
            task->deliveries );
    if (context && !task->deleted)
    {
        print_word( atomic_load( &context->word ) );
        printf( " alert %u wanted %ld at host %u busy %u refs %u local %u inside %d token %u owner %ld", context->alert,
                task->alert, context->at_host, context->busy, context->refs,
                context->local, inside_any( &context->inside ), context->park.token, owner_of( context ) );
    }
    printf( "\n" );
}

static void print_sched( const struct sched *sched )
{
    const struct ums_context *own = sched->own;
    const struct ums_scheduler *s = own ? own->scheduler : NULL;

    printf( "  scheduler %ld at '%c' tid %04lx current %ld held %ld count %ld leaving %ld stay %ld entries %ld"
            " executes %ld upcalls %ld hub %s", sched->index, sched->at, sched->tid,
            sched->current ? sched->current->index : -1L, sched->held ? sched->held->index : -1L,
            sched->count, sched->leaving, sched->stay, sched->entries, sched->executes,
            sched->upcalls, sched->hub ? "full" : "empty" );
    if (s) printf( " posted %u watching %u token %u preempters %u", s->posted, s->watching,
                   s->park.token, s->preempters & PREEMPTERS_NOW );
    printf( "\n" );
}

void report( const char *why )
{
    LONG i;

    printf( "%s\n", why );
    for (i = 0; i < broken && i < BROKEN_MAX; i++)
        printf( "  broken: %s: task %ld life %ld at '%c': %#llx %#llx, thread %04lx\n",
                list[i].what ? list[i].what : "?", list[i].task, list[i].life, list[i].at,
                (unsigned long long)list[i].a, (unsigned long long)list[i].b, list[i].tid );
    printf( "  made %ld ended %ld killed %ld buried %ld living %ld stopping %ld away %ld lock %ld/%ld apc %ld/%ld\n",
            made, ended, killed, buried, living, stopping, away, lock_sum, lock_wanted, apc_sum,
            apc_wanted );
    for (i = 0; i < sched_count; i++) print_sched( &scheds[i] );
    for (i = 0; i < slot_count; i++) if (tasks[i].used && tasks[i].pins) print_task( &tasks[i] );
    fflush( stdout );
}
