/*
 * The queue of a completion port, as far as worker factories see it: packets in, hands out, and how
 * many run. Stands for the kernel's KQUEUE. factory.h draws the states.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Packets are served in the order in which they came, the hand that has waited shortest gets the
 * first, and a packet is handed out only while fewer hands run than the port's concurrency. One
 * exchange of one word decides all of it. No wake-up is lost, because
 *  - a hand that goes onto the stack does so in the exchange that finds no packet for it; a packet
 *    that comes finds the hand in its own exchange;
 *  - a running hand that blocks leaves in the exchange that takes the next one off the stack;
 *  - a thread that has taken a hand off the stack gives it the packet before it does anything else.
 *    If the hand has given up waiting meanwhile, it puts the packet back in the same way as a new
 *    one.
 * A thread may be suspended between taking a hand off and telling it: then that hand and one packet
 * wait for it, and nothing else does.
 */

#include "factory.h"

#define SPINS_MAX  1024                         /* looks at the word before a hand sleeps */
#define SPINS_STEP 64
#define SHORT_NAP  500                          /* 100 ns: looking on would have paid */

struct ums_pool ums_hand_pool, ums_queue_pool;

_Static_assert( sizeof(union queue_word) == 16, "one exchange" );

int ums_queue_init( void )
{
    return ums_pool_init( &ums_queue_pool, sizeof(struct ums_queue), MAX_FACTORIES ) &&
           ums_pool_init( &ums_hand_pool, sizeof(struct ums_hand), MAX_HANDS );
}

struct ums_queue *ums_queue_alloc( uint32_t concurrency )
{
    struct ums_queue *q = ums_pool_alloc( &ums_queue_pool );

    if (!q) return NULL;
    __atomic_store_n( &q->word.half[0], 0, __ATOMIC_SEQ_CST );          /* the tag goes on */
    atomic_store( &q->releases, 0 );
    atomic_store( &q->head, 0 );
    atomic_store( &q->tail, 0 );
    atomic_store( &q->full, 0 );
    atomic_store( &q->moving, 0 );
    q->concurrency = concurrency > UINT16_MAX / 2 ? UINT16_MAX / 2 : concurrency;
    q->port = NULL;
    atomic_store( &q->refs, 1 );
    return q;
}

/* The halves may be of two times: the exchange that follows fails then. */
union queue_word ums_queue_load( const struct ums_queue *q )
{
    union queue_word word;

    word.half[1] = __atomic_load_n( &q->word.half[1], __ATOMIC_SEQ_CST );
    word.half[0] = __atomic_load_n( &q->word.half[0], __ATOMIC_SEQ_CST );
    return word;
}

static int queue_exchange( struct ums_queue *q, union queue_word from, union queue_word to )
{
    to.tag = from.tag + 1;
    return __sync_bool_compare_and_swap( &q->word.whole, from.whole, to.whole );
}

static struct ums_hand *hand_at( uint32_t top )
{
    return ums_pool_any( &ums_hand_pool, top - 1 );
}

uint32_t ums_hand_index( const struct ums_hand *h )
{
    return ums_pool_index( &ums_hand_pool, h );
}

/* ---- packets ---- */

int ums_queue_room( const struct ums_queue *q )
{
    return atomic_load( &q->tail ) - atomic_load( &q->head ) < RING_FULL;
}

int ums_queue_has_fetched( const struct ums_queue *q )
{
    return atomic_load( &q->tail ) != atomic_load( &q->head );
}

int ums_queue_put( struct ums_queue *q, const struct ums_packet *packet )
{
    uint64_t tail = atomic_load( &q->tail );
    _Atomic uint64_t *slot = q->ring[tail % RING_SLOTS];

    if (tail - atomic_load( &q->head ) >= RING_SLOTS) return 0;
    atomic_store_explicit( &slot[0], packet->key, memory_order_relaxed );
    atomic_store_explicit( &slot[1], packet->apc, memory_order_relaxed );
    atomic_store_explicit( &slot[2], packet->status, memory_order_relaxed );
    atomic_store_explicit( &slot[3], packet->information, memory_order_relaxed );
    atomic_store( &q->tail, tail + 1 );
    return 1;
}

/* Read first, then taken: a slow thread may read an overwritten slot, but then the head has moved
   and the exchange fails. A thread that stops in here leaves nothing half done. */
static int ring_take( struct ums_queue *q, struct ums_packet *packet )
{
    uint64_t head = atomic_load( &q->head );

    do
    {
        const _Atomic uint64_t *slot = q->ring[head % RING_SLOTS];

        if (head == atomic_load( &q->tail )) return 0;
        packet->key = atomic_load_explicit( &slot[0], memory_order_relaxed );
        packet->apc = atomic_load_explicit( &slot[1], memory_order_relaxed );
        packet->status = atomic_load_explicit( &slot[2], memory_order_relaxed );
        packet->information = atomic_load_explicit( &slot[3], memory_order_relaxed );
        atomic_thread_fence( memory_order_acquire );
    }
    while (!atomic_compare_exchange_weak( &q->head, &head, head + 1 ));
    return 1;
}

static int release_take( struct ums_queue *q, struct ums_packet *packet )
{
    uint32_t releases = atomic_load( &q->releases );

    do if (!releases) return 0;
    while (!atomic_compare_exchange_weak( &q->releases, &releases, releases - 1 ));
    packet->key = packet->apc = packet->status = packet->information = 0;
    return 1;
}

/* The caller was counted one packet. There is one, among the releases or in the ring; the two are
   served in turn. */
static void packet_take( struct ums_queue *q, struct ums_packet *packet )
{
    uint32_t turn = atomic_load_explicit( &q->turn, memory_order_relaxed );

    for (;; turn = 1)
    {
        if (turn && release_take( q, packet ))
        {
            turn = 0;
            break;
        }
        if (ring_take( q, packet ))
        {
            turn = 1;
            break;
        }
    }
    if (atomic_load_explicit( &q->turn, memory_order_relaxed ) != turn)
        atomic_store_explicit( &q->turn, turn, memory_order_relaxed );
}

int ums_queue_release( struct ums_queue *q )
{
    if (atomic_fetch_add( &q->releases, 1 ) >= UINT32_MAX / 2)
    {
        atomic_fetch_sub( &q->releases, 1 );
        return 0;
    }
    ums_queue_give( q, 1, 0 );
    return 1;
}

/* One more packet, for a hand that runs already. */
static int pending_take( struct ums_queue *q )
{
    union queue_word old, new;

    do
    {
        new = old = ums_queue_load( q );
        if (!new.pending) return 0;
        new.pending--;
    }
    while (!queue_exchange( q, old, new ));
    return 1;
}

/* The packet is counted as taken first, so a hand that was promised one finds one. If hands have taken
   all packets of the ring meanwhile, this thread was counted a release in place of one of them. */
int ums_queue_drain( struct ums_queue *q, struct ums_packet *packet )
{
    while (ums_queue_has_fetched( q ) && pending_take( q ))
    {
        if (ring_take( q, packet )) return 1;
        ums_queue_give( q, 1, 0 );
    }
    return 0;
}

/* ---- hands ---- */

struct ums_hand *ums_hand_alloc( struct ums_factory *f, enum hand_state state )
{
    struct ums_hand *h = ums_pool_alloc( &ums_hand_pool );

    if (!h) return NULL;
    atomic_store( &h->factory, f );
    atomic_store( &h->queue, f->queue );
    h->guest = 0;
    h->spins = 0;
    h->seen = 0;
    h->thread = NULL;
    atomic_store( &h->tid, 0 );
    atomic_store( &h->leaving, 0 );
    atomic_store( &h->unready, 0 );
    atomic_store( &h->coming, 0 );
    atomic_store( &h->entered, 0 );
    atomic_store( &h->gone, 0 );
    atomic_store( &h->changing, 0 );
    h->held_up = 0;
    /* the call numbers continue, so a late comer from the slot's former use finds no match */
    atomic_store( &h->word, (atomic_load( &h->word ) & ~(HAND_STATE | HAND_LINKED | HAND_SUSPENDED)) | state );
    return h;
}

/* Other threads may change the other bits meanwhile. 0 if it was in another state. */
static int hand_move( struct ums_hand *h, enum hand_state from, enum hand_state to )
{
    uint32_t word = atomic_load( &h->word );

    do if (hand_state( word ) != from) return 0;
    while (!atomic_compare_exchange_weak( &h->word, &word, hand_with_state( word, to ) ));
    return 1;
}

static void hand_set( struct ums_hand *h, enum hand_state to )
{
    uint32_t word = atomic_load( &h->word );

    while (!atomic_compare_exchange_weak( &h->word, &word, hand_with_state( word, to ) )) ;
}

/* It was taken off the stack. 1: it waited, and has the packet now. *reap: it has ended, and can be reaped now. */
static int hand_given( struct ums_hand *h, int *reap )
{
    uint32_t word = atomic_load( &h->word );
    int waits;

    do waits = !(word & HAND_SUSPENDED) && (hand_state( word ) == HAND_WAITING || hand_state( word ) == HAND_ASLEEP);
    while (!atomic_compare_exchange_weak( &h->word, &word,
                                          (waits ? hand_with_state( word, HAND_GIVEN ) : word) &
                                          ~HAND_LINKED ));
    if (hand_state( word ) == HAND_ASLEEP) ke_wake( &h->word, 0 );
    if (hand_state( word ) == HAND_ENDED) *reap = 1;
    return waits;
}

/* 1: an ended hand was found, and can be reaped. */
static int give( struct ums_queue *q, uint32_t packets, uint32_t leaving )
{
    struct ums_hand *top;
    union queue_word old, new;
    int reap = 0;

    for (;;)
    {
        new = old = ums_queue_load( q );
        new.pending += packets;
        new.running -= leaving;
        top = NULL;
        if (new.top && new.pending && new.running < q->concurrency)
        {
            top = hand_at( new.top );
            new.top = (uint16_t)atomic_load_explicit( &top->next, memory_order_relaxed );
            new.pending--;
            new.running++;
        }
        if (!top && !packets && !leaving) return reap;
        if (!queue_exchange( q, old, new )) continue;
        if (!top) return reap;
        packets = leaving = !hand_given( top, &reap );  /* take both back with the next exchange */
    }
}

/* Whoever wakes the manager may be terminated behind that (core/holders.c), so nothing is left to do then. */
void ums_queue_give( struct ums_queue *q, uint32_t packets, uint32_t leaving )
{
    if (give( q, packets, leaving )) ke_manager_wake();
}

void ums_queue_back( struct ums_queue *q )
{
    union queue_word old, new;

    do
    {
        new = old = ums_queue_load( q );
        new.running++;
    }
    while (!queue_exchange( q, old, new ));
}

/* A hand that hand_given takes off the stack while it is not waiting gets nothing. */
void ums_queue_purge( struct ums_queue *q )
{
    struct ums_hand *h, *first = NULL, *last = NULL;
    union queue_word old, new;
    uint32_t top, next;

    do
    {
        new = old = ums_queue_load( q );
        new.top = 0;
    }
    while (!queue_exchange( q, old, new ));

    for (top = old.top; top; top = next)
    {
        h = hand_at( top );
        next = atomic_load_explicit( &h->next, memory_order_relaxed );
        if (hand_state( atomic_load( &h->word ) ) == HAND_ENDED)
        {
            atomic_fetch_and( &h->word, ~HAND_LINKED );
            continue;
        }
        if (!first) first = h;
        else atomic_store_explicit( &last->next, ums_hand_index( h ) + 1, memory_order_relaxed );
        last = h;
    }
    if (!first) return;
    do
    {
        new = old = ums_queue_load( q );
        atomic_store_explicit( &last->next, old.top, memory_order_relaxed );
        new.top = (uint16_t)(ums_hand_index( first ) + 1);
    }
    while (!queue_exchange( q, old, new ));
    ums_queue_give( q, 0, 0 );
}

/* ---- a hand waits ---- */

/* Take a packet (1), or stop running. push: and go onto the stack. */
static int take_or_leave( struct ums_hand *h, uint32_t counted, int push )
{
    struct ums_queue *q = h->queue;
    union queue_word old, new;
    int take;

    do
    {
        new = old = ums_queue_load( q );
        new.running -= counted;
        take = new.pending && new.running < q->concurrency;
        if (take)
        {
            new.pending--;
            new.running++;
        }
        else if (push)
        {
            atomic_store_explicit( &h->next, old.top, memory_order_relaxed );
            new.top = (uint16_t)(ums_hand_index( h ) + 1);
        }
    }
    while (!queue_exchange( q, old, new ));
    return take;
}

/* It is still on the stack, from a wait that it gave up, and keeps its place. 0: it is not there
   any more.
   No packet is overlooked that came before it waits. While a packet is pending and a hand is on the
   stack, either as many run as may, or a thread in ums_queue_give is about to look again. That thread
   takes this hand off first (0), or finds it waiting. */
static int wait_again( struct ums_hand *h )
{
    uint32_t word = atomic_load( &h->word );

    do if (!(word & HAND_LINKED)) return 0;
    while (!atomic_compare_exchange_weak( &h->word, &word, hand_with_state( word, HAND_WAITING ) ));
    return 1;
}

/* Its last wait did not return, because another thread has set its registers. What it was given is for others. */
static void leave_wait( struct ums_hand *h )
{
    if (!hand_move( h, HAND_WAITING, HAND_IDLE ) && !hand_move( h, HAND_ASLEEP, HAND_IDLE )) ums_hand_rest( h );
}

int ums_hand_begin_wait( struct ums_hand *h )
{
    enum hand_state before = hand_state( atomic_load( &h->word ) );
    uint32_t counted;

    if (before == HAND_WAITING || before == HAND_ASLEEP || before == HAND_GIVEN) leave_wait( h );
    hand_move( h, HAND_INKERNEL, HAND_RUNNING );        /* a call that was left by an exception */
    counted = hand_state( atomic_load( &h->word ) ) == HAND_RUNNING;
    if (atomic_load( &h->word ) & HAND_LINKED)
    {
        if (take_or_leave( h, counted, 0 )) goto taken;
        counted = 0;
        if (wait_again( h )) return 0;
    }
    /* nobody else knows it now: this is complete before it is on the stack */
    atomic_store( &h->word, hand_with_state( atomic_load( &h->word ), HAND_WAITING ) | HAND_LINKED );
    if (!take_or_leave( h, counted, 1 )) return 0;
    atomic_fetch_and( &h->word, ~HAND_LINKED );
taken:
    hand_set( h, HAND_RUNNING );
    return 1;
}

static uint32_t spin( struct ums_hand *h )
{
    uint32_t i, word;

    for (i = 0; i < h->spins; i++)
    {
        word = atomic_load_explicit( &h->word, memory_order_acquire );
        if (hand_state( word ) != HAND_WAITING) break;
        __builtin_ia32_pause();
    }
    if (i < h->spins) h->spins = h->spins < SPINS_MAX ? h->spins + SPINS_STEP : SPINS_MAX;
    else h->spins /= 2;
    return atomic_load( &h->word );
}

/* Spinning for a while pays when packets come quickly and from another processor: a sleep would
   soon be over. */
static void nap( struct ums_hand *h, uint32_t word, int64_t now, int64_t until )
{
    int64_t left = until - now;

    ke_wait( &h->word, word, until ? &left : NULL );
    if (ke_clock() - now < SHORT_NAP && h->spins < SPINS_MAX) h->spins += SPINS_STEP;
}

enum hand_woken ums_hand_sleep( struct ums_hand *h, uint32_t number, int64_t until )
{
    struct ums_factory *f = atomic_load_explicit( &h->factory, memory_order_relaxed );
    uint32_t word = spin( h );
    int64_t now;

    for (;; word = atomic_load( &h->word ))
    {
        if (hand_state( word ) == HAND_GIVEN) return WOKEN_GIVEN;
        if (!(word & HAND_LINKED) || (word & HAND_SUSPENDED) || (word ^ number) & ~(HAND_STATE | HAND_LINKED)) return WOKEN_POKED;
        now = ke_clock();
        if (ums_factory_is_shut( f ) || (until && until <= now))
        {
            if (atomic_compare_exchange_strong( &h->word, &word, hand_with_state( word, HAND_IDLE ) ))
                return WOKEN_OVER;
        }
        else if (hand_state( word ) == HAND_ASLEEP) nap( h, word, now, until );
        else atomic_compare_exchange_strong( &h->word, &word, hand_with_state( word, HAND_ASLEEP ) );
    }
}

/* The number changes, so one that is about to sleep does not. */
void ums_hand_poke( struct ums_hand *h )
{
    uint32_t word = atomic_load( &h->word );

    do if (hand_state( word ) != HAND_WAITING && hand_state( word ) != HAND_ASLEEP) return;
    while (!atomic_compare_exchange_weak( &h->word, &word, word + HAND_SEQ ));
    ke_wake( &h->word, 0 );
}

/* More than one only of the port's own packets: at most the first one is a release. Released items are meant to run side by side, and a
   hand that blocks while it has several would keep the others from them. */
uint32_t ums_hand_take( struct ums_hand *h, struct ums_packet *packets, uint32_t count )
{
    struct ums_queue *q = h->queue;
    uint32_t n = 0;

    hand_move( h, HAND_GIVEN, HAND_RUNNING );
    packet_take( q, &packets[n++] );
    while (n < count && ums_queue_drain( q, &packets[n] )) n++;
    if (n > 1) atomic_store_explicit( &q->turn, 1, memory_order_relaxed );     /* releases are next */
    if (atomic_load( &q->full ) && ums_queue_room( q )) ke_manager_wake();
    return n;
}

/* It does not take the packet that was given to it, or stops running. */
void ums_hand_rest( struct ums_hand *h )
{
    hand_move( h, HAND_INKERNEL, HAND_RUNNING );
    if (hand_move( h, HAND_GIVEN, HAND_IDLE )) ums_queue_give( h->queue, 1, 1 );
    else if (hand_move( h, HAND_RUNNING, HAND_IDLE )) ums_queue_give( h->queue, 0, 1 );
    else hand_move( h, HAND_BLOCKED, HAND_IDLE );
}

int ums_hand_is_ready( struct ums_hand *h )
{
    return hand_move( h, HAND_STARTING, HAND_IDLE );
}

/* ---- a hand in the kernel ---- */

int ums_hand_block( struct ums_hand *h )
{
    if (!hand_move( h, HAND_RUNNING, HAND_BLOCKED )) return 0;
    ums_queue_give( h->queue, 0, 1 );
    return 1;
}

int ums_hand_enter_kernel( struct ums_hand *h )
{
    uint32_t word = atomic_load( &h->word );

    do if (hand_state( word ) != HAND_RUNNING) return 0;
    while (!atomic_compare_exchange_weak( &h->word, &word,
                                          hand_with_state( word, HAND_INKERNEL ) + HAND_SEQ ));
    return 1;
}

/* Then too many may run for a while, which is documented. */
void ums_hand_back( struct ums_hand *h )
{
    if (hand_move( h, HAND_INKERNEL, HAND_RUNNING )) return;
    if (hand_move( h, HAND_BLOCKED, HAND_RUNNING )) ums_queue_back( h->queue );
}

void ums_hand_unwatched( struct ums_hand *h )
{
    if (atomic_exchange( &h->entered, 0 )) atomic_fetch_sub( &h->queue->in_kernel, 1 );
}

void ums_hand_unwatch_call( struct ums_hand *h, uint32_t call )
{
    if (atomic_compare_exchange_strong( &h->entered, &call, 0 )) atomic_fetch_sub( &h->queue->in_kernel, 1 );
}

/* One that has become BLOCKED is watched no more: else the manager, which looks again while hands are in calls, would look
   without end. Behind the exchange the hand may be back, and in its next call, which somebody has to watch: so only this call is
   uncounted, which it knows by its number. */
int ums_hand_watch( struct ums_hand *h, int64_t grace )
{
    uint32_t word = atomic_load( &h->word ), call = hand_call( word );

    /* it is counted, and about to enter: it may stand still there */
    if (hand_state( word ) == HAND_RUNNING && atomic_load( &h->entered )) return 1;
    if (hand_state( word ) != HAND_INKERNEL) return 0;
    if (word != h->seen)
    {
        h->seen = word;
        h->seen_at = ke_clock();
        return 1;
    }
    if (ke_clock() - h->seen_at < grace) return 1;
    if (!atomic_compare_exchange_strong( &h->word, &word, hand_with_state( word, HAND_BLOCKED ) )) return 0;
    ums_hand_unwatch_call( h, call );
    ums_queue_give( h->queue, 0, 1 );
    return 0;
}

/* ---- its end ---- */

int ums_hand_ended( struct ums_hand *h )
{
    uint32_t word = atomic_load( &h->word ), counted;

    do if (hand_state( word ) == HAND_ENDED || hand_state( word ) == HAND_FREE) return 0;
    while (!atomic_compare_exchange_weak( &h->word, &word, hand_with_state( word, HAND_ENDED ) ));
    counted = !(word & HAND_SUSPENDED);
    switch (hand_state( word ))
    {
    case HAND_RUNNING:
    case HAND_INKERNEL: ums_queue_give( h->queue, 0, counted ); break;
    case HAND_GIVEN:    ums_queue_give( h->queue, 1, counted ); break;
    default:            break;
    }
    return 1;
}

int ums_hand_reap( struct ums_hand *h )
{
    uint32_t word = atomic_load( &h->word );

    if (hand_state( word ) != HAND_ENDED || (word & HAND_LINKED)) return 0;
    atomic_store( &h->word, hand_with_state( word, HAND_FREE ) );
    return 1;
}
