/*
 * The worker factory object: counters, when another thread is wanted, waiting, shutting down.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Stands for the kernel's TpWorkerFactory. Threads are made by one thread, the manager, which is
 * woken when something has changed that may ask for one. It makes one at a time.
 *
 * Whether a thread is wanted depends on several words, which change one at a time. Nobody relies on
 * having seen all of them at one moment: whoever changes one looks at all of them afterwards
 * (factory_check), and wakes the manager if a thread is wanted. The manager clears asked before it
 * looks.
 */

#include "core/section.h"
#include "factory.h"
#include "factory_guess.h"

enum                                            /* WORKERFACTORYINFOCLASS [sym] */
{
    CLASS_TIMEOUT, CLASS_RETRY_TIMEOUT, CLASS_IDLE_TIMEOUT, CLASS_BINDING, CLASS_MIN, CLASS_MAX,
    CLASS_PAUSED, CLASS_BASIC, CLASS_GOAL, CLASS_CALLBACK_TYPE, CLASS_STACK, CLASS_PRIORITY,
    CLASS_TIMEOUT_WAITERS, CLASS_FLAGS, CLASS_SOFT_MAX, CLASS_CPU_SETS
};

struct ums_pool ums_factory_pool;

int ums_factory_init( void )
{
    return ums_queue_init() &&
           ums_pool_init( &ums_factory_pool, sizeof(struct ums_factory), MAX_FACTORIES );
}

/* The caller's reference to the queue goes to it. */
struct ums_factory *ums_factory_alloc( struct ums_queue *q, uint32_t max, const struct ums_factory_start *start )
{
    static const struct ums_factory_start none;
    struct ums_factory *f = ums_pool_alloc( &ums_factory_pool );

    if (!f) return NULL;
    f->queue = q;
    f->start = start ? *start : none;
    atomic_store( &f->object, NULL );
    atomic_store( &f->handles, 0 );
    atomic_store( &f->abroad, 0 );
    atomic_store( &f->asked, 0 );
    atomic_store( &f->creating, 0 );
    atomic_store( &f->paused, 0 );
    atomic_store( &f->min, 0 );
    atomic_store( &f->max, max ? max : ums_guess.max_if_zero );
    atomic_store( &f->soft_max, 0 );
    atomic_store( &f->total, 0 );
    atomic_store( &f->starting, 0 );
    atomic_store( &f->coming, 0 );
    atomic_store( &f->staying, 0 );
    atomic_store( &f->guests, 0 );
    atomic_store( &f->binding, 0 );
    atomic_store( &f->infinite_goal, 0 );
    atomic_store( &f->callback_type, 0 );
    atomic_store( &f->stack_information, 0 );
    atomic_store( &f->timeout_waiters, 0 );
    atomic_store( &f->flags, 0 );
    atomic_store( &f->cpu_sets, 0 );
    atomic_store( &f->priority, 0 );
    atomic_store( &f->timeout, 0 );
    atomic_store( &f->retry_timeout, 0 );
    atomic_store( &f->idle_timeout, -FACTORY_IDLE );
    atomic_store( &f->last_status, STATUS_SUCCESS );
    atomic_store( &f->retry_at, 0 );
    atomic_store( &f->refs, 1 );
    return f;
}

int ums_factory_hold( struct ums_factory *f )
{
    uint32_t refs = atomic_load( &f->refs );

    do if (!refs) return 0;
    while (!atomic_compare_exchange_weak( &f->refs, &refs, refs + 1 ));
    return 1;
}

/* The slots are free for others when the host is done with what was in them. */
void ums_factory_unref( struct ums_factory *f )
{
    struct ums_queue *q = f->queue;
    int last;

    if (atomic_fetch_sub( &f->refs, 1 ) != 1) return;
    last = atomic_fetch_sub( &q->refs, 1 ) == 1;
    ke_factory_closed( f, last );
    ums_pool_free( &ums_factory_pool, f );
    if (last) ums_pool_free( &ums_queue_pool, q );
}

void ums_factory_drop( struct ums_factory *f )
{
    struct ums_section section;

    ums_section_begin( &section );
    ums_factory_unref( f );
    ums_section_end( &section );
}

/* ---- all hands of a factory ---- */

static struct ums_hand *next_hand( uint32_t *index )
{
    uint32_t made = ums_pool_made( &ums_hand_pool );

    while (*index < made)
    {
        struct ums_hand *h = ums_pool_any( &ums_hand_pool, (*index)++ );
        enum hand_state state = hand_state( atomic_load( &h->word ) );

        if (state != HAND_FREE && state != HAND_ENDED) return h;
    }
    return NULL;
}

static void poke_all( struct ums_factory *f )
{
    struct ums_hand *h;
    uint32_t i = 0;

    while ((h = next_hand( &i ))) if (atomic_load( &h->factory ) == f) ums_hand_poke( h );
}

void ums_factory_count( struct ums_factory *f, struct ums_factory_counts *counts )
{
    enum hand_state state;
    struct ums_hand *h;
    uint32_t i = 0;

    counts->starting = atomic_load( &f->starting ) & ~FACTORY_SHUT;
    counts->total    = atomic_load( &f->total );
    counts->releases = atomic_load( &f->queue->releases );
    counts->waiting  = 0;
    while ((h = next_hand( &i )))
    {
        if (atomic_load( &h->factory ) != f) continue;
        state = hand_state( atomic_load( &h->word ) );
        if (state == HAND_WAITING || state == HAND_ASLEEP) counts->waiting++;
    }
}

/* ---- is another hand wanted? ---- */

/* The four conditions [doc]: creation is enabled; fewer than the maximum; something is bound or has
   been activated; and packets wait that nobody comes for. One that could not be handed out because
   enough hands run is not waiting for a thread. For work one at a time is made: while it is not
   ready, no other [guess]. */
int ums_factory_wants( struct ums_factory *f )
{
    uint32_t total = atomic_load( &f->total );
    struct ums_queue *q = f->queue;
    union queue_word word;

    if (ums_factory_is_shut( f ) || atomic_load( &f->paused ) || total >= atomic_load( &f->max ))
        return 0;
    if (total < atomic_load( &f->min )) return 1;
    if (ums_guess.one_on_its_way && atomic_load( &f->starting )) return 0;
    word = ums_queue_load( q );
    return word.pending > atomic_load( &f->coming ) && word.running < q->concurrency &&
           (atomic_load( &f->binding ) || atomic_load( &q->releases ) ||
            (total && ums_guess.alive_is_activated));
}

int ums_factory_is_active( const struct ums_factory *f )
{
    return atomic_load( &f->total ) || atomic_load( &f->guests ) ||
           (!ums_factory_is_shut( f ) &&
            (atomic_load( &f->binding ) || atomic_load( &f->queue->releases )));
}

static int serves( const struct ums_factory *f )
{
    return ums_factory_is_active( f ) && !ums_factory_is_shut( f );
}

int ums_queue_is_served( const struct ums_queue *q )
{
    uint32_t i, made = ums_pool_made( &ums_factory_pool );
    int served = 0;

    for (i = 0; i < made && !served; i++)
    {
        struct ums_factory *f = ums_pool_any( &ums_factory_pool, i );

        /* looked at first, since there may be many; it may be another one's when it is held */
        if (__atomic_load_n( &f->queue, __ATOMIC_RELAXED ) != q || !ums_factory_hold( f )) continue;
        served = f->queue == q && serves( f );
        ums_factory_unref( f );
    }
    return served;
}

/* Whoever moves packets sets moving before it looks whether the port is served, and clears it when they are
   where they belong. The caller has changed that (FACTORY_SHUT, binding) before it looks here. So one of
   the two sees the other: the mover fetches nothing and has put all packets back, or the caller sees
   moving, or packets in the ring. */
int ums_queue_must_return( const struct ums_queue *q )
{
    return (atomic_load( &q->moving ) || ums_queue_has_fetched( q )) && !ums_queue_is_served( q );
}

/* There is no manager, nor could one be made: whoever has work next asks again. */
void ums_factories_forget_asked( void )
{
    uint32_t i, made = ums_pool_made( &ums_factory_pool );

    for (i = 0; i < made; i++) atomic_store( &((struct ums_factory *)ums_pool_any( &ums_factory_pool, i ))->asked, 0 );
    made = ums_pool_made( &ums_queue_pool );
    for (i = 0; i < made; i++) atomic_store( &((struct ums_queue *)ums_pool_any( &ums_queue_pool, i ))->watched, 0 );
}

/* Whoever sets the mark wakes the manager, so no thread must be stopped in between. A worker is in a section
   already. */
static void ask_manager( _Atomic uint32_t *mark )
{
    struct ums_context *self = ke_current();

    ums_hold_self( self, 1 );
    if (!atomic_exchange( mark, 1 )) ke_manager_wake();
    ums_hold_self( self, -1 );
}

static void factory_check( struct ums_factory *f )
{
    if (ums_factory_wants( f )) ask_manager( &f->asked );
}

/* Something of the queue has changed. While packets wait, hands in the kernel must be watched: they
   may have blocked. */
void ums_queue_check( struct ums_queue *q )
{
    union queue_word word = ums_queue_load( q );
    uint32_t i, made;

    if (!word.pending) return;
    if (word.running >= q->concurrency)
    {
        if (atomic_load( &q->in_kernel )) ask_manager( &q->watched );
        return;
    }
    made = ums_pool_made( &ums_factory_pool );
    for (i = 0; i < made; i++)
    {
        struct ums_factory *f = ums_pool_any( &ums_factory_pool, i );

        if (!ums_factory_hold( f )) continue;
        if (f->queue == q) factory_check( f );
        ums_factory_unref( f );
    }
}

/* The same for frequent callers: mostly the first test ends it. */
static void check_often( struct ums_factory *f )
{
    union queue_word word = ums_queue_load( f->queue );

    if (!word.pending) return;
    /* another factory of the port may want a thread for what this one has no thread for */
    if (word.running >= f->queue->concurrency ||
        (atomic_load( &f->queue->refs ) > 1 && !ums_factory_wants( f ))) ums_queue_check( f->queue );
    else factory_check( f );
}

/* By the manager alone, so that a thread that was wanted still is. The count of starting hands and
   the mark of the shutdown are one word: either a thread is made, or the factory is shut down
   without it. Whoever shuts it down may take a total of zero as the end, so total is counted
   first. */
struct ums_hand *ums_factory_make( struct ums_factory *f )
{
    uint32_t starting = atomic_load( &f->starting );
    struct ums_hand *h;

    atomic_store( &f->asked, 0 );
    if (!ums_factory_wants( f ) || atomic_load( &f->retry_at ) > ke_clock()) return NULL;
    if (!(h = ums_hand_alloc( f, HAND_STARTING ))) return NULL;
    atomic_fetch_add( &f->refs, 1 );
    atomic_fetch_add( &f->staying, 1 );
    atomic_fetch_add( &f->total, 1 );
    do if (starting & FACTORY_SHUT)
    {
        ums_hand_exits( h );
        if (ums_hand_free( h )) ums_factory_unref( f );
        return NULL;
    }
    while (!atomic_compare_exchange_weak( &f->starting, &starting, starting + 1 ));
    atomic_store( &h->unready, 1 );
    atomic_store( &h->coming, 1 );
    atomic_fetch_add( &f->coming, 1 );
    atomic_store( &f->creating, 1 );
    return h;
}

/* A time may be relative, and then it is negative. The smallest one is for ever. */
static int64_t distance( int64_t time )
{
    if (time == INT64_MIN) return INT64_MAX;
    return time < 0 ? -time : time;
}

static int64_t later_than( int64_t begin, int64_t time )
{
    return time > INT64_MAX - begin ? INT64_MAX : begin + time;
}

void ums_factory_made( struct ums_factory *f, struct ums_hand *h, ums_status status )
{
    int64_t retry = distance( atomic_load( &f->retry_timeout ) );

    atomic_store( &f->creating, 0 );
    atomic_store( &f->last_status, status );
    atomic_store( &f->retry_at, status ? later_than( ke_clock(), retry ? retry : FACTORY_RETRY ) : 0 );
    if (status) ums_hand_exits( h );
}

/* Nobody counts it any more. */
static void uncount( struct ums_factory *f, struct ums_hand *h )
{
    if (atomic_exchange( &h->unready, 0 )) atomic_fetch_sub( &f->starting, 1 );
    if (atomic_exchange( &h->coming, 0 )) atomic_fetch_sub( &f->coming, 1 );
}

/* The manager frees the hand, and perhaps its factory, when `gone` is set: nothing of them is touched
   after that. It is woken after that, so none is overlooked. A thread that is suspended in here keeps both
   until it goes on, one that another process ends in here for ever; it runs some instructions. */
static int count_out( struct ums_hand *h )
{
    struct ums_factory *f = atomic_load( &h->factory );

    if (!ums_hand_ended( h )) return 0;
    ums_hand_unwatched( h );
    uncount( f, h );
    if (h->guest) atomic_fetch_sub( &f->guests, 1 );
    else
    {
        atomic_fetch_sub( &f->total, 1 );
        if (!atomic_load( &h->leaving )) atomic_fetch_sub( &f->staying, 1 );
    }
    ums_queue_check( h->queue );
    atomic_store( &h->gone, 1 );
    ke_manager_wake();
    return 1;
}

/* It holds itself: it wakes the manager in between, and would otherwise be terminated there. */
int ums_hand_exits( struct ums_hand *h )
{
    struct ums_context *self = ke_current();
    struct ums_section section;
    int first;

    ums_section_begin( &section );
    ums_hold_self( self, 1 );
    first = count_out( h );
    ums_hold_self( self, -1 );
    ums_section_end( &section );
    return first;
}

struct ums_hand *ums_hand_guest( struct ums_factory *f )
{
    struct ums_hand *h = ums_hand_alloc( f, HAND_IDLE );

    if (!h) return NULL;
    h->guest = 1;
    atomic_fetch_add( &f->refs, 1 );
    atomic_fetch_add( &f->guests, 1 );
    return h;
}

int ums_hand_free( struct ums_hand *h )
{
    if (!atomic_load( &h->gone ) || !ums_hand_reap( h )) return 0;
    ums_pool_free( &ums_hand_pool, h );
    return 1;
}

/* ---- calls ---- */

ums_status ums_factory_release( struct ums_factory *f )
{
    if (ums_factory_is_shut( f )) return ums_guess.release_shut;
    if (!ums_queue_release( f->queue )) return ums_guess.release_overflow;
    check_often( f );
    return STATUS_SUCCESS;
}

ums_status ums_factory_ready( struct ums_factory *f, struct ums_hand *h )
{
    if (!h || h->guest || atomic_load( &h->factory ) != f) return ums_guess.ready_stranger;
    if (ums_factory_is_shut( f )) return ums_guess.ready_shut;
    if (!ums_hand_is_ready( h )) return ums_guess.ready_twice;
    if (atomic_exchange( &h->unready, 0 )) atomic_fetch_sub( &f->starting, 1 );
    factory_check( f );
    return STATUS_SUCCESS;
}

/* One step counts the starting hands and shuts the factory down: none can start after it. */
uint32_t ums_factory_shutdown( struct ums_factory *f )
{
    uint32_t before = atomic_fetch_or( &f->starting, FACTORY_SHUT );

    if (before & FACTORY_SHUT)
        return ums_guess.second_shutdown_counts ? before & ~FACTORY_SHUT : 0;
    poke_all( f );
    /* it looks after the port no more, for this factory */
    if (atomic_load( &f->binding ) || atomic_load( &f->queue->releases ) ||
        ums_queue_has_fetched( f->queue )) ke_manager_wake();
    return before;
}

static ums_status set_bounds( struct ums_factory *f, uint32_t info_class, uint32_t value )
{
    uint32_t before;

    switch (info_class)
    {
    case CLASS_MIN:
        if (value > atomic_load( &f->max )) return ums_guess.set_bounds;
        before = atomic_exchange( &f->min, value );
        if (value < before) poke_all( f );      /* some may leave now */
        break;
    case CLASS_MAX:
        if (value < atomic_load( &f->min )) return ums_guess.set_bounds;
        atomic_store( &f->max, value );
        break;
    default:
        if (value > atomic_load( &f->max )) return ums_guess.set_bounds;
        atomic_store( &f->soft_max, value );
        break;
    }
    return STATUS_SUCCESS;
}

static void set_number( struct ums_factory *f, uint32_t info_class, uint32_t value )
{
    switch (info_class)
    {
    case CLASS_BINDING:
        if (ums_guess.binding_is_delta) atomic_fetch_add( &f->binding, value );
        else atomic_store( &f->binding, value );
        break;
    case CLASS_PAUSED:          atomic_store( &f->paused, value != 0 ); break;
    case CLASS_GOAL:            atomic_store( &f->infinite_goal, value ); break;
    case CLASS_CALLBACK_TYPE:   atomic_store( &f->callback_type, value ); break;
    case CLASS_STACK:           atomic_store( &f->stack_information, value ); break;
    case CLASS_PRIORITY:        atomic_store( &f->priority, (int32_t)value ); break;
    case CLASS_TIMEOUT_WAITERS: atomic_store( &f->timeout_waiters, value ); break;
    case CLASS_FLAGS:           atomic_store( &f->flags, value ); break;
    case CLASS_CPU_SETS:        atomic_store( &f->cpu_sets, value ); break;
    }
}

ums_status ums_factory_set( struct ums_factory *f, uint32_t info_class, uint64_t value )
{
    ums_status status = STATUS_SUCCESS;

    if (ums_factory_is_shut( f )) return ums_guess.set_shut;
    switch (info_class)
    {
    case CLASS_TIMEOUT:       atomic_store( &f->timeout, (int64_t)value ); break;
    case CLASS_RETRY_TIMEOUT: atomic_store( &f->retry_timeout, (int64_t)value ); break;
    case CLASS_IDLE_TIMEOUT:  atomic_store( &f->idle_timeout, (int64_t)value ); break;
    case CLASS_MIN:
    case CLASS_MAX:
    case CLASS_SOFT_MAX:      status = set_bounds( f, info_class, (uint32_t)value ); break;
    default:                  set_number( f, info_class, (uint32_t)value ); break;
    }
    if (info_class == CLASS_TIMEOUT || info_class == CLASS_IDLE_TIMEOUT) poke_all( f );
    if (info_class == CLASS_BINDING) ke_manager_wake();         /* it looks after the port, or not */
    factory_check( f );
    return status;
}

/* ---- a hand waits ---- */

/* When has it been idle for too long? After the shorter of the two times that are set; 0 is no
   limit [guess]. A hand that must stay for the minimum has no limit either. */
static int64_t idle_until( const struct ums_factory *f, const struct ums_hand *h, int64_t begin )
{
    int64_t idle = distance( atomic_load( &f->idle_timeout ) );
    int64_t other = distance( atomic_load( &f->timeout ) );

    if (!idle || (other && other < idle)) idle = other;
    if (!idle || h->guest || atomic_load( &f->staying ) <= atomic_load( &f->min )) return 0;
    return idle > INT64_MAX - begin ? 0 : begin + idle;
}

/* If several want to leave at once, only as many as the minimum permits. */
static int may_leave( struct ums_factory *f, struct ums_hand *h )
{
    uint32_t staying = atomic_load( &f->staying );

    do if (staying <= atomic_load( &f->min )) return 0;
    while (!atomic_compare_exchange_weak( &f->staying, &staying, staying - 1 ));
    atomic_store( &h->leaving, 1 );
    return 1;
}

/* Its factory was shut down. Its place, and a packet that it was given, go to another factory of
   the port, or the packet goes back into the port. */
static ums_status goes_without( struct ums_hand *h )
{
    ums_hand_rest( h );
    ums_queue_check( h->queue );
    if (ums_queue_must_return( h->queue )) ke_manager_wake();
    return ums_guess.wait_shut;
}

static int wait_begin( struct ums_factory *f, struct ums_hand *h, struct ums_packet *packets, uint32_t count,
                       uint32_t *n, ums_status *status )
{
    const int first = atomic_load_explicit( &h->coming, memory_order_relaxed ) != 0;

    if (first) uncount( f, h );
    h->held_up = 0;                             /* a call before its first wait was left by an exception */
    if (atomic_load_explicit( &h->leaving, memory_order_relaxed ) &&
        atomic_exchange( &h->leaving, 0 ))
        atomic_fetch_add( &f->staying, 1 );
    if (ums_factory_is_shut( f ))
    {
        *status = goes_without( h );
        return 1;
    }
    if (!ums_hand_begin_wait( h )) return 0;
    *n = ums_hand_take( h, packets, count );
    *status = STATUS_SUCCESS;
    if (first) factory_check( f );              /* others may have counted on it for their packets, too */
    return 1;
}

int ums_factory_wait_begin( struct ums_factory *f, struct ums_hand *h, struct ums_packet *packets,
                            uint32_t count, uint32_t *n, ums_status *status )
{
    int over;

    ums_hand_changes( h );
    over = wait_begin( f, h, packets, count, n, status );
    ums_hand_changed( h, 0 );
    return over;
}

/* It was woken to look, or resumed. If it was passed over while it was suspended, it is on the stack no more, and nobody finds it:
   then it waits anew. 0: it sleeps on, or has been given a packet, which the sleep tells. */
static int is_passed_over( struct ums_hand *h )
{
    const uint32_t word = atomic_load( &h->word );

    return !(word & HAND_LINKED) && hand_state( word ) != HAND_GIVEN;
}

/* What follows the sleep. 0: the hand waits again. */
static int is_over( struct ums_factory *f, struct ums_hand *h, enum hand_woken woken,
                    struct ums_packet *packets, uint32_t count, uint32_t *n, ums_status *status )
{
    *status = STATUS_SUCCESS;
    if (woken == WOKEN_POKED)
    {
        if (!is_passed_over( h ) || !ums_hand_begin_wait( h )) return 0;
        *n = ums_hand_take( h, packets, count );
    }
    else if (ums_factory_is_shut( f )) *status = goes_without( h );
    else if (woken == WOKEN_OVER && may_leave( f, h )) *status = STATUS_TIMEOUT;
    else if (woken == WOKEN_OVER && !ums_hand_begin_wait( h )) return 0;
    else *n = ums_hand_take( h, packets, count );
    return 1;
}

/* A hand that is ended in its sleep has changed nothing but its own word, which says what becomes of a packet
   that it was given (ums_hand_ended). Behind the sleep it changes more, so a worker must not be ended there. */
ums_status ums_factory_wait_end( struct ums_factory *f, struct ums_hand *h,
                                 struct ums_packet *packets, uint32_t count, uint32_t *n )
{
    int64_t begin = ke_clock();
    struct ums_section section;
    enum hand_woken woken;
    ums_status status;
    int over;

    do
    {
        woken = ums_hand_sleep( h, atomic_load( &h->word ), idle_until( f, h, begin ) );
        ums_section_begin( &section );
        ums_hand_changes( h );
        over = is_over( f, h, woken, packets, count, n, &status );
        ums_hand_changed( h, 0 );
        ums_section_end( &section );
    }
    while (!over);
    return status;
}

/* ---- a hand in the kernel ---- */

/* watched is cleared before a last look: a hand that enters a call after that sets it again. */
int ums_queue_watch( struct ums_queue *q, int64_t grace )
{
    struct ums_hand *h;
    uint32_t i = 0;
    int again = 0;

    if (!atomic_load( &q->watched )) return 0;
    if (ums_queue_load( q ).pending)
        while ((h = next_hand( &i ))) if (h->queue == q) again |= ums_hand_watch( h, grace );
    if (!again) atomic_store( &q->watched, 0 );
    ums_queue_check( q );
    return atomic_load( &q->watched ) != 0;
}
