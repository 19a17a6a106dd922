/*
 * Worker factories: objects and rules. Nothing here depends on the host; factory_host.h does.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In this DLL "worker" always means a UMS worker. A thread that waits for work of a factory is called a
 * hand. docs/factories.md says which part is ours and which the wineserver's.
 *
 * A queue stands for the KQUEUE of Windows, the inside of a completion port; all factories of a port
 * share one. One 128-bit word decides which hand runs: it holds the number of packets that no hand has
 * yet, the number of running hands, and the top of the stack of waiting hands. Each change is one
 * compare-and-swap and no lock is needed, so a thread may be suspended anywhere in this code.
 *
 * The word of a hand holds its state. The right column says which thread makes the transition.
 *
 *     FREE --made--> STARTING --ready--> IDLE
 *     IDLE, RUNNING --waits, no packet--> WAITING --sleeps--> ASLEEP             the hand
 *     WAITING, ASLEEP --gets a packet--> GIVEN                  the thread that takes it off the stack
 *     WAITING, ASLEEP --time-out, shut down--> IDLE             the hand; it may still be linked
 *     GIVEN, IDLE, RUNNING --takes the packet--> RUNNING        the hand
 *     RUNNING --waits in the kernel--> BLOCKED --over--> RUNNING                 the hand
 *     RUNNING --call that may block--> INKERNEL(seq) --returns--> RUNNING        the hand    \ one of them
 *     INKERNEL(seq) --takes too long--> BLOCKED                 the manager                  / wins the CAS
 *     INKERNEL(seq) --is suspended--> BLOCKED                   the thread that suspends it
 *     any --the thread ends--> ENDED                            the hand, or the thread that ended it
 *     ENDED, not linked --> FREE                                the manager
 *
 * The queue's word counts hands in GIVEN, RUNNING and INKERNEL as running, and no others; nor those that are HAND_SUSPENDED
 * (factory_place.c).
 */
#ifndef UMS_FACTORY_H
#define UMS_FACTORY_H

#include "core/ums_core.h"

#define FACTORY_DEFAULT_MAX 500                 /* threads [doc] */
#define FACTORY_IDLE ((int64_t)100000000)       /* 100 ns; 10 s [doc] */
#define FACTORY_RETRY ((int64_t)10000000)       /* after a creation that failed [guess] */

#define MAX_FACTORIES 16384
#define MAX_HANDS     65535                     /* an index + 1 has 16 bits */

#define RING_SLOTS    256                       /* room for packets fetched from the real port */
#define RING_FULL     64                        /* with this many, no more are fetched */

struct ums_packet
{
    uint64_t key, apc, status, information;     /* FILE_IO_COMPLETION_INFORMATION */
};

enum hand_state
{
    HAND_FREE,
    HAND_STARTING,                              /* the thread exists, but is not ready */
    HAND_IDLE,
    HAND_WAITING,
    HAND_ASLEEP,
    HAND_GIVEN,                                 /* has been given a packet; counts as running */
    HAND_RUNNING,
    HAND_INKERNEL,
    HAND_BLOCKED,
    HAND_ENDED
};

#define HAND_STATE  0xffu
#define HAND_LINKED 0x100u                      /* is on the stack of waiting hands */
#define HAND_SUSPENDED 0x200u                   /* another thread has suspended its thread */
#define HAND_SEQ    0x10000u                    /* one step of the call number */

struct ums_hand
{
    _Atomic uint32_t word;                      /* the hand sleeps on it */
    _Atomic uint32_t next;                      /* index + 1 of the hand below it on the stack */
    _Atomic(struct ums_factory *) factory;      /* referenced */
    _Atomic(struct ums_queue *) queue;          /* of that factory */
    _Atomic uint32_t tid;
    _Atomic uint32_t leaving;                   /* was told to leave, because it was idle */
    _Atomic uint32_t unready;                   /* is counted in factory->starting */
    _Atomic uint32_t coming;                    /* is counted in factory->coming */
    _Atomic uint32_t entered;                   /* is counted in queue->in_kernel, for this call (hand_call); 0: is not */
    _Atomic uint32_t changing;                  /* its thread changes the word and that of the queue */
    uint32_t held_up;                           /* its thread only: it blocks, and is not counted in factory->coming meanwhile */
    uint32_t guest;                             /* its thread was not made by the factory */
    uint32_t spins;                             /* how often it reads its word before it sleeps */
    _Atomic uint32_t gone;                      /* ended, and nobody uses it any more */
    int64_t  seen_at;                           /* manager only: when it first had that word */
    uint32_t seen;                              /* manager only: the word at the last look */
    void *thread;                               /* manager only: a handle */
};

union queue_word
{
    unsigned __int128 whole;
    uint64_t half[2];
    struct
    {
        uint16_t top;                           /* index + 1 of a hand */
        uint16_t running;
        uint32_t pending;                       /* packets that no hand has been given */
        uint64_t tag;                           /* counts changes, against ABA: the exchange fails if
                                                   top was removed and pushed again */
    };
};

struct ums_queue
{
    union queue_word word;
    uint64_t pad[6];                            /* keeps other fields out of the word's cache line */

    /* The packets themselves. A packet is stored here before it is counted as pending, so a thread
       that has taken one from the count finds one here. */
    _Atomic uint32_t releases;                  /* packets without contents */
    _Atomic uint32_t turn;                      /* serve releases or the ring first next time */
    _Atomic uint64_t head, tail;                /* of the ring; they only grow */
    _Atomic uint64_t ring[RING_SLOTS][4];

    uint32_t concurrency;                       /* constant while refs > 0 */
    _Atomic uint32_t refs;                      /* number of its factories */
    _Atomic uint32_t full;                      /* the manager waits for room in the ring */
    _Atomic uint32_t moving;                    /* a thread moves packets between the port and the
                                                   ring: one at a time */
    _Atomic uint32_t in_kernel;                 /* hands in calls that may block */
    _Atomic uint32_t watched;                   /* the manager checks whether those are blocked */
    void *port;                                 /* a handle of the manager's own */
};

#define FACTORY_SHUT 0x80000000u                /* a bit of starting: so one step shuts the factory
                                                   down and counts the starting hands, and one step
                                                   checks it and adds a hand */

#define FACTORY_CLOSED 0x80000000u              /* a bit of handles: no process has one, for good */

struct ums_factory_start                        /* how its threads begin */
{
    void *start, *param;
    size_t stack_reserve, stack_commit;
};

struct ums_factory
{
    struct ums_queue *queue;                    /* constant from here ... */
    struct ums_factory_start start;
    uint64_t number;                            /* never used again in this process */
                                                /* ... to here */
    _Atomic uint32_t refs;                      /* one for all handles together, one for each hand and
                                                   for each call under way */
    _Atomic(void *) object;                     /* our handle of the section that stands for it; stored
                                                   when it has its first handle; NULL behind the last */
    _Atomic uint32_t handles;                   /* handles of this process; FACTORY_CLOSED */
    _Atomic uint32_t abroad;                    /* only other processes have handles; the manager
                                                   checks whether that is still so */
    _Atomic uint32_t asked;                     /* the manager has been woken for it */
    _Atomic uint32_t creating;                  /* the manager is making a thread for it */
    _Atomic uint32_t paused;
    _Atomic uint32_t min, max, soft_max;
    _Atomic uint32_t total;                     /* live hands that the factory has made */
    _Atomic uint32_t starting;                  /* those of them that are not ready; FACTORY_SHUT */
    _Atomic uint32_t coming;                    /* those that have not waited yet, and do not block before that */
    _Atomic uint32_t staying;                   /* those that have not been told to leave */
    _Atomic uint32_t guests;                    /* threads that it has not made, and that wait or
                                                   have waited */
    _Atomic uint32_t binding;
    _Atomic uint32_t infinite_goal, callback_type, stack_information, timeout_waiters, flags;
    _Atomic uint32_t cpu_sets;
    _Atomic int32_t  priority;
    _Atomic int64_t  timeout, retry_timeout, idle_timeout;
    _Atomic int32_t  last_status;               /* of the last creation of a thread */
    _Atomic int64_t  retry_at;                  /* make no thread before this time; 0: no limit */
};

/* ---- factory_queue.c ---- */

extern struct ums_pool ums_hand_pool, ums_queue_pool;

int  ums_queue_init( void );
struct ums_queue *ums_queue_alloc( uint32_t concurrency );
union queue_word ums_queue_load( const struct ums_queue *q );
/* Count packets that have been stored, and count that many hands (leaving) as no longer running; then
   give packets to waiting hands while the concurrency permits. */
void ums_queue_give( struct ums_queue *q, uint32_t packets, uint32_t leaving );
/* Count one more running hand: it was blocked and is back. */
void ums_queue_back( struct ums_queue *q );
int  ums_queue_release( struct ums_queue *q );  /* add a packet without contents; 0: too many */
/* Store a packet in the ring. One thread at a time. 0: no room */
int  ums_queue_put( struct ums_queue *q, const struct ums_packet *packet );
int  ums_queue_room( const struct ums_queue *q );
int  ums_queue_has_fetched( const struct ums_queue *q );    /* the ring has packets */
/* Take a packet out of the ring that was promised to no hand. 0: there is none */
int  ums_queue_drain( struct ums_queue *q, struct ums_packet *packet );
/* Some factory of the queue takes packets of the port */
int  ums_queue_is_served( const struct ums_queue *q );
/* Packets that were fetched, or are being moved, belong into the port: nobody serves it */
int  ums_queue_must_return( const struct ums_queue *q );
/* Take ended hands off the stack. One thread at a time. */
void ums_queue_purge( struct ums_queue *q );

struct ums_hand *ums_hand_alloc( struct ums_factory *f, enum hand_state state );
uint32_t ums_hand_index( const struct ums_hand *h );
int  ums_hand_is_ready( struct ums_hand *h );   /* 0: it was not starting */
/* 1: there is a packet for the hand. 0: the hand is on the stack now. */
int  ums_hand_begin_wait( struct ums_hand *h );
enum hand_woken
{
    WOKEN_GIVEN,                                /* the hand has been given a packet */
    WOKEN_OVER,                                 /* time-out or shut down: the wait is over */
    WOKEN_POKED                                 /* poked since it had this number; it still waits */
};
/* until: a time of ke_clock; 0: for ever */
enum hand_woken ums_hand_sleep( struct ums_hand *h, uint32_t number, int64_t until );
void ums_hand_poke( struct ums_hand *h );       /* let a waiting hand look again at its factory */
uint32_t ums_hand_take( struct ums_hand *h, struct ums_packet *packets, uint32_t count );
void ums_hand_rest( struct ums_hand *h );       /* stop running; a packet that it was given goes back */
int  ums_hand_block( struct ums_hand *h );      /* stop counting as running; 0: did not count */
int  ums_hand_enter_kernel( struct ums_hand *h );
void ums_hand_back( struct ums_hand *h );
/* Manager only. If the hand has been in the same call since a look that is `grace` ago, it is blocked from
   now on. The manager looks more often, for each factory of a port and for each packet. 0: it is not in a
   call. */
int  ums_hand_watch( struct ums_hand *h, int64_t grace );
void ums_hand_unwatched( struct ums_hand *h );  /* it is in no call that somebody has to watch */
void ums_hand_unwatch_call( struct ums_hand *h, uint32_t call );        /* or not in this one, if it is still in that */
/* The thread of the hand has ended, or will end without calling us again. 0: this was known. */
int  ums_hand_ended( struct ums_hand *h );
/* Manager only: free the slot of an ended hand if it is on no stack any more. */
int  ums_hand_reap( struct ums_hand *h );

static inline enum hand_state hand_state( uint32_t word )
{
    return (enum hand_state)(word & HAND_STATE);
}

static inline uint32_t hand_with_state( uint32_t word, enum hand_state state )
{
    return (word & ~HAND_STATE) | state;
}

/* The number of the call that a hand with this word is in; not 0 */
static inline uint32_t hand_call( uint32_t word )
{
    return word / HAND_SEQ | 0x10000;
}

/* ---- factory_place.c ---- */

/* The thread of the hand begins to change its word together with the queue's; has done so. before: what the first has returned, since
   a call of ours that wakes the manager may come through the hook; 0 where a wait of the program begins or ends: what a wait that did not
   return has left is over. */
uint32_t ums_hand_changes( struct ums_hand *h );
void ums_hand_changed( struct ums_hand *h, uint32_t before );
int  ums_hand_is_changing( const struct ums_hand *h );
/* Its thread was suspended, has stopped, and is not changing it. Returns the queue in which it has given its place, or NULL. The caller
   calls ums_queue_check for that queue behind its turn. */
struct ums_queue *ums_hand_suspended( struct ums_hand *h );
void ums_hand_resumed( struct ums_hand *h );    /* its thread runs, or is about to */

/* ---- factory.c ---- */

extern struct ums_pool ums_factory_pool;

int  ums_factory_init( void );
/* Others find it from then on, by its queue. start: NULL in tests that make no threads */
struct ums_factory *ums_factory_alloc( struct ums_queue *q, uint32_t max, const struct ums_factory_start *start );
int  ums_factory_hold( struct ums_factory *f ); /* take a reference; 0: the factory is gone */
void ums_factory_unref( struct ums_factory *f );
void ums_factory_drop( struct ums_factory *f ); /* the same for a worker that is in no section */

static inline int ums_factory_is_shut( const struct ums_factory *f )
{
    return (atomic_load( &f->starting ) & FACTORY_SHUT) != 0;
}

/* The calls, once the handle and its access are checked. A worker is in a section (core/section.h) in all that is declared
   here, but for ums_factory_wait_end, ums_hand_exits and ums_factory_drop, which begin it themselves: one that is terminated
   between two steps would leave a hand that is never woken, or counted for ever. value: read with the length of its class */
ums_status ums_factory_set( struct ums_factory *f, uint32_t info_class, uint64_t value );
ums_status ums_factory_release( struct ums_factory *f );
/* h: the hand of the calling thread, NULL if the factory has not made the thread */
ums_status ums_factory_ready( struct ums_factory *f, struct ums_hand *h );
uint32_t ums_factory_shutdown( struct ums_factory *f );     /* returns how many hands were starting */
struct ums_factory_counts
{
    uint32_t starting, waiting, total, releases;
};
void ums_factory_count( struct ums_factory *f, struct ums_factory_counts *counts );

/* A wait has two parts. This is the first. 1: there are *n packets, or *status is an error. 0: the
   hand has to wait; ums_factory_wait_end does that. */
int  ums_factory_wait_begin( struct ums_factory *f, struct ums_hand *h, struct ums_packet *packets,
                             uint32_t count, uint32_t *n, ums_status *status );
/* STATUS_SUCCESS and *n packets; STATUS_TIMEOUT: the hand has to leave */
ums_status ums_factory_wait_end( struct ums_factory *f, struct ums_hand *h,
                                 struct ums_packet *packets, uint32_t count, uint32_t *n );

/* Does it matter whether the hand waits? The caller is its thread. */
static inline int ums_hand_counts( struct ums_hand *h )
{
    const enum hand_state state = hand_state( atomic_load( &h->word ) );

    return state == HAND_RUNNING || (state == HAND_IDLE && atomic_load( &h->coming ));
}

/* Called before a hand waits in the kernel; before it makes a call that may block; and after either.
   The first two return whether the last one must be called. */
int  ums_hand_blocks( struct ums_hand *h );
int  ums_hand_enters( struct ums_hand *h );
void ums_hand_is_back( struct ums_hand *h );
/* The thread of the hand has ended, or will end without calling us again: uncount it everywhere. 0: this
   was known. */
int  ums_hand_exits( struct ums_hand *h );
/* A hand for the calling thread, which the factory has not made. The caller then wakes the manager, which looks after the port
   from now on. NULL: out of memory */
struct ums_hand *ums_hand_guest( struct ums_factory *f );

void ums_factories_forget_asked( void );        /* the manager could not be made */

/* ---- what the manager does, one thread at a time ---- */

/* Does the factory need another hand, by the four conditions or for its minimum? */
int  ums_factory_wants( struct ums_factory *f );
/* Can the factory's hands get packets of its port? */
int  ums_factory_is_active( const struct ums_factory *f );
/* A hand for a thread that the manager is about to make. NULL: none is wanted */
struct ums_hand *ums_factory_make( struct ums_factory *f );
void ums_factory_made( struct ums_factory *f, struct ums_hand *h, ums_status status );
/* The queue has changed, for example it has new packets: does one of its factories need a hand? */
void ums_queue_check( struct ums_queue *q );
/* Check whether hands in calls are blocked. 1: check again after the grace period */
int  ums_queue_watch( struct ums_queue *q, int64_t grace );
/* Free the slot of an ended hand that is on no stack any more. 0: not yet */
int  ums_hand_free( struct ums_hand *h );

/* ---- the host: factory_threads.c ---- */

/* Make the manager look at everything again. Enters the kernel if the manager sleeps. */
void ke_manager_wake( void );
/* The last reference of the factory is gone: the host closes its handles. last: also the last of the
   queue */
void ke_factory_closed( struct ums_factory *f, int last );

#endif /* UMS_FACTORY_H */
