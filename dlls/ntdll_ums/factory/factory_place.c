/*
 * Hands that do not run although they have work: each gives its place, and has it again when it runs on. It blocks in a call, or another
 * thread has suspended it. One that is not yet at work has none, but others may be counting on it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HAND_SUSPENDED in the word of a hand says: its thread stands still. While it is set, a hand in GIVEN or RUNNING is not counted as
 * running, and one that waits is passed over by whoever takes it off the stack. One in a call that may block becomes BLOCKED, as
 * if the manager had found the call too long. In the other states it is not counted, and nobody gives it anything.
 *
 * The mark is set by the thread that has suspended this one, when that has stopped, in one turn with the suspension
 * (ums_stop_begin), so no resumption of this process comes in between. It is cleared by whoever resumes the thread, or by the
 * thread itself where it next changes something: another process may have resumed it, and the resumer may be slow.
 *
 * The hand's word and the queue's word cannot change in one step. In between the two say different things of this hand, and taking
 * away its place would be wrong. So its thread says when it changes them (`changing`), and whoever has stopped it there lets it go
 * on first. Nothing else is needed for that: what a thread has stored before it stopped is seen by whoever has seen it stop.
 * The other threads that change both, in ums_queue_give and ums_hand_watch, make one exchange of the hand's word, and see the mark in it.
 */

#include "factory.h"

static int is_counted( uint32_t word )
{
    return hand_state( word ) == HAND_GIVEN || hand_state( word ) == HAND_RUNNING;
}

/* Counted first: its thread may run already, and would otherwise stop being counted before it is. Then the count would be
   below zero for a moment, and who looks in that moment sees no room. Whoever loses the exchange takes that back, and looks for what came
   meanwhile. It is woken behind the exchange: nobody gives it a packet before that, and if it was taken off the stack, it has to see that. */
void ums_hand_resumed( struct ums_hand *h )
{
    uint32_t word;
    int done;

    do
    {
        word = atomic_load( &h->word );
        if (!(word & HAND_SUSPENDED)) return;
        if (is_counted( word )) ums_queue_back( h->queue );
        done = atomic_compare_exchange_strong( &h->word, &word, word & ~HAND_SUSPENDED );
        if (!done && is_counted( word )) ums_queue_give( h->queue, 0, 1 );
    }
    while (!done);
    if (hand_state( word ) == HAND_ASLEEP) ke_wake( &h->word, 0 );
}

/* The fences are for the compiler. */
uint32_t ums_hand_changes( struct ums_hand *h )
{
    const uint32_t before = atomic_load_explicit( &h->changing, memory_order_relaxed );

    atomic_store_explicit( &h->changing, 1, memory_order_relaxed );
    atomic_signal_fence( memory_order_seq_cst );
    if (atomic_load_explicit( &h->word, memory_order_relaxed ) & HAND_SUSPENDED) ums_hand_resumed( h );
    return before;
}

void ums_hand_changed( struct ums_hand *h, uint32_t before )
{
    atomic_signal_fence( memory_order_seq_cst );
    atomic_store_explicit( &h->changing, before, memory_order_relaxed );
}

int ums_hand_is_changing( const struct ums_hand *h )
{
    return atomic_load( &h->changing ) != 0;
}

static uint32_t suspended( uint32_t word )
{
    switch (hand_state( word ))
    {
    case HAND_WAITING:
    case HAND_ASLEEP:
    case HAND_GIVEN:
    case HAND_RUNNING:  return word | HAND_SUSPENDED;
    case HAND_INKERNEL: return hand_with_state( word, HAND_BLOCKED );
    default:            return word;
    }
}

/* The manager, or a thread that hands out packets, may be changing the word: who wins the exchange decides. The place is given behind
   the exchange, as in ums_hand_watch: another process may have resumed the thread by then, and so it may be counted twice for a
   moment. It is the caller's turn until then, so nobody in this process ends the thread, whose hand keeps the queue. */
struct ums_queue *ums_hand_suspended( struct ums_hand *h )
{
    uint32_t word = atomic_load( &h->word ), next;

    do if ((next = suspended( word )) == word) return NULL;
    while (!atomic_compare_exchange_weak( &h->word, &word, next ));
    if (hand_state( word ) == HAND_INKERNEL) ums_hand_unwatch_call( h, hand_call( word ) );
    else if (!is_counted( word )) return NULL;
    ums_queue_give( h->queue, 0, 1 );
    return h->queue;
}

/* ---- it enters the kernel ---- */

/* It has said that it is ready, and has not waited yet: while it is blocked nobody counts on it. Uncounted before the look, so it
   or whoever brings a packet meanwhile sees that nobody comes for that. Only its thread sets h->coming again; if that is terminated
   in the call, nothing of it is counted (uncount). */
static int is_held_up( struct ums_hand *h )
{
    if (hand_state( atomic_load( &h->word ) ) != HAND_IDLE || !atomic_exchange( &h->coming, 0 )) return 0;
    atomic_fetch_sub( &h->factory->coming, 1 );
    h->held_up = 1;
    return 1;
}

static void comes_again( struct ums_hand *h )
{
    h->held_up = 0;
    atomic_fetch_add( &h->factory->coming, 1 );
    atomic_store( &h->coming, 1 );
}

int ums_hand_blocks( struct ums_hand *h )
{
    const uint32_t before = ums_hand_changes( h );
    const int away = ums_hand_block( h ) || is_held_up( h );

    ums_hand_changed( h, before );
    if (away) ums_queue_check( h->queue );
    return away;
}

static int enters( struct ums_hand *h )
{
    const uint32_t word = atomic_load( &h->word );

    if (hand_state( word ) != HAND_RUNNING) return 0;
    /* Counted first: the manager takes it back where it finds the call too long. Nobody else changes the number while it runs. */
    if (!atomic_exchange( &h->entered, hand_call( word + HAND_SEQ ) )) atomic_fetch_add( &h->queue->in_kernel, 1 );
    if (ums_hand_enter_kernel( h )) return 1;
    ums_hand_unwatched( h );
    return 0;
}

int ums_hand_enters( struct ums_hand *h )
{
    const uint32_t before = ums_hand_changes( h );
    const int entered = enters( h );

    ums_hand_changed( h, before );
    if (entered) ums_queue_check( h->queue );
    return entered;
}

void ums_hand_is_back( struct ums_hand *h )
{
    const uint32_t before = ums_hand_changes( h );

    if (h->held_up) comes_again( h );
    ums_hand_unwatched( h );
    ums_hand_back( h );
    ums_hand_changed( h, before );
}
