/*
 * Keyed waits of workers without their threads: Wine's InitOnce waits so. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A keyed wait and a release with the same key meet, whichever comes first, and both continue. Only a
 * worker's wait may be here. All others are at the host: waits of plain threads, and each release that
 * found no wait here. So wait and release must not miss each other, one here and one at the host:
 *
 *   - A release first counts itself for its key (releases), then looks for a wait here. If it finds none
 *     it goes to the host, and stays counted until it returns from there.
 *   - A worker first stores its key, then looks whether a release is counted. If so, it takes its key
 *     back and waits at the host, where that release is or will be.
 *
 * All of this is sequentially consistent, so one of the two sees the other. If both do, one exchange of
 * the key decides: the release takes it, and has found its wait, or the worker does, and the release goes
 * to the host. So a wait is never here while a release with its key is at the host. Whoever comes
 * later at either side finds the other one there.
 *
 * Counts are by a hash of the key. A release with another key, or one that is counted for ever because its
 * thread was ended in it or left it by longjmp, only makes a wait go to the host that could have been here.
 * A thread that stands still in the host's release does the same for as long.
 *
 * The wait itself is as for an alert (wait.c): a release takes the key, then reads the state; a worker
 * changes its state, then reads the key. Between the two the wait is nobody's: no later release finds the
 * key. So the thread counts as one that ends a wait from before it takes the key (ums_waits_ending), and
 * nobody of this process stops it there.
 *
 * A worker whose thread was ended, or that was given other registers, leaves its key. The first is
 * passed over, because of its state. The second may still get a release, until its next keyed wait.
 */

#include "state.h"
#include "wait.h"

#define BUCKETS 64

static _Atomic uint32_t releases[BUCKETS];
static _Atomic uint32_t waits;                  /* too high if a worker was ended in its wait */

/* Keys are addresses. */
static _Atomic uint32_t *releases_of( uint64_t key )
{
    return &releases[key * 0x9e3779b97f4a7c15 >> 58];
}

/* ---- the worker ---- */

enum key_wait ums_key_wait_begins( struct ums_context *w, uint64_t key )
{
    atomic_fetch_add( &waits, 1 );              /* before the key: ums_key_release */
    atomic_store( &w->key, key );
    if (!atomic_load( releases_of( key ) )) return KEY_WAITS;
    return ums_key_wait_ends( w ) ? KEY_RELEASED : KEY_AT_HOST;
}

int ums_key_wait_ends( struct ums_context *w )
{
    int released = !atomic_exchange( &w->key, 0 );

    atomic_fetch_sub( &waits, 1 );
    return released;
}

/* ---- releases, by any thread ---- */

static int has_worker( struct ums_context *w )
{
    enum worker_state state = word_state( atomic_load( &w->word ) );

    return state != WORKER_NONE && state != WORKER_STARTING && state != WORKER_DEAD;
}

/* A thread that begins with this context has cleared the key before it is a worker. */
static int take( struct ums_context *w, uint64_t key )
{
    return atomic_load( &w->key ) == key && has_worker( w ) &&
           atomic_compare_exchange_strong( &w->key, &key, 0 );
}

/* waits is read after the release is counted, and a worker counts in waits before it looks for releases. So if
   there is nothing to scan, a worker that comes now sees this release, and goes to the host. */
int ums_key_release( uint64_t key )
{
    uint32_t i, made;
    int found = 0;

    atomic_fetch_add( &ums_waits_ending, 1 );
    atomic_fetch_add( releases_of( key ), 1 );
    made = atomic_load( &waits ) ? ums_pool_made( &ums_context_pool ) : 0;
    for (i = 0; i < made && !found; i++)
    {
        struct ums_context *w = ums_pool_any( &ums_context_pool, i );

        if (!(found = take( w, key ))) continue;
        atomic_fetch_sub( releases_of( key ), 1 );
        ums_wait_released( w );
    }
    atomic_fetch_sub( &ums_waits_ending, 1 );
    return found;
}

void ums_key_released_at_host( uint64_t key )
{
    atomic_fetch_sub( releases_of( key ), 1 );
}
