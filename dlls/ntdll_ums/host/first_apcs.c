/*
 * APCs that are queued to a worker before it begins: it begins with them [doc: QueueUserAPC], and a worker begins when it is
 * executed [guess].
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The worker's thread begins before that, and parks. The host would run the APCs in its own start code, where the thread has no
 * scheduler, or, if it has parked, not before the first alertable wait. So they are kept here, and given to the host when the worker is
 * executed.
 *
 * w->first_apcs is a list, the newest first, that any thread pushes to; it ends with `open`. It is NULL, closed, when the worker has begun.
 * The exchange that closes it takes all: an APC is either in what the worker takes, or its push finds NULL, and the host gets it. A thread that is terminated
 * behind its push has queued its APC; before that it leaves some memory. What a terminated worker has not taken is freed when its context
 * is bound again; a push has a reference to the context, and it is not bound again before that is given back.
 */

#include <string.h>
#include <windows.h>
#include "core/ums_core.h"
#include "first_apcs.h"
#include "ke_win32.h"
#include "syscalls/hook/native.h"

#define CALL_WORDS 20                           /* what ums_native_call wants */

NTSTATUS NTAPI NtTestAlert( void );

struct apc
{
    struct apc *next;
    uint64_t    words[APC_WORDS];
};

static struct apc open;                         /* the end of a list that is not closed */
static _Atomic int32_t may_come;

enum first_apc ums_first_apc_keep( struct ums_context *w, const uint64_t words[APC_WORDS] )
{
    void *first = atomic_load( &w->first_apcs );
    struct apc *apc;

    if (!first) return FIRST_APC_TOO_LATE;
    if (!(apc = VirtualAlloc( NULL, sizeof(*apc), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE ))) return FIRST_APC_NO_MEMORY;
    memcpy( apc->words, words, sizeof(apc->words) );
    do
    {
        if (!first)
        {
            VirtualFree( apc, 0, MEM_RELEASE );
            return FIRST_APC_TOO_LATE;
        }
        apc->next = first;
    }
    while (!atomic_compare_exchange_weak( &w->first_apcs, &first, apc ));
    return FIRST_APC_KEPT;
}

int ums_first_apcs_may_come( void )
{
    return atomic_load( &may_come ) != 0;
}

int ums_worker_has_begun( struct ums_context *w )
{
    return !atomic_load( &w->first_apcs );
}

/* The oldest first. */
static struct apc *close_list( struct ums_context *w )
{
    struct apc *apc = atomic_exchange( &w->first_apcs, NULL ), *next, *list = NULL;

    if (!apc) return NULL;
    atomic_fetch_sub( &may_come, 1 );
    for (; apc != &open; apc = next)
    {
        next = apc->next;
        apc->next = list;
        list = apc;
    }
    return list;
}

static void drop( struct apc *list )
{
    struct apc *next;

    for (; list; list = next)
    {
        next = list->next;
        VirtualFree( list, 0, MEM_RELEASE );
    }
}

void ums_first_apcs_close( struct ums_context *w )
{
    drop( close_list( w ) );
}

/* Nobody finds the new thread yet. The former one of this context is gone, perhaps before it has begun. */
void ums_first_apcs_open( struct ums_context *w )
{
    ums_first_apcs_close( w );
    atomic_fetch_add( &may_come, 1 );
    atomic_store( &w->first_apcs, &open );
}

/* The host runs them in NtTestAlert, on the home thread, as the APCs of any other moment: each may yield, and the last one ends with an
   NtContinue that returns to here. */
void ums_first_apcs_run( struct ums_context *w )
{
    struct apc *list = close_list( w ), *apc;
    uint64_t args[CALL_WORDS] = { (uint64_t)(ULONG_PTR)GetCurrentThread() };

    if (!list) return;
    ums_worker_go_home( w );
    for (apc = list; apc; apc = apc->next)
    {
        memcpy( args + 1, apc->words, sizeof(apc->words) );
        ums_native_call( "NtQueueApcThread", args );
    }
    drop( list );
    NtTestAlert();
}
