/*
 * Worker factories: objects and rules. Host-free, but for factory_host.h.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * "Worker" is a UMS worker everywhere in this DLL; a thread that waits for work of a factory is
 * called a hand. docs/factories.md says what is ours and what the wineserver's.
 *
 * A queue is what Windows calls a KQUEUE, the inside of a completion port: factories on one port
 * share one. All that decides who runs is one 128-bit word: how many packets wait for a hand, how
 * many hands run, and the top of the stack of waiting hands. Each change of it is one
 * compare-and-swap, so none of it needs a lock: any thread may be suspended anywhere in here.
 *
 * The word of a hand says what it does. Behind each transition: which thread makes it.
 *
 *     FREE --made--> STARTING --ready--> IDLE
 *     IDLE, RUNNING --wait, nothing there--> WAITING --sleeps--> ASLEEP          by itself
 *     WAITING, ASLEEP --a packet is there--> GIVEN              by whoever takes it off the stack
 *     WAITING, ASLEEP --time is over, shut down--> IDLE         by itself; it may still be linked
 *     GIVEN, IDLE, RUNNING --takes the packet--> RUNNING        by itself
 *     RUNNING --wait in the kernel--> BLOCKED --over--> RUNNING                  by itself
 *     RUNNING --call that may block--> INKERNEL(seq) --came back--> RUNNING      \ one of the two
 *     INKERNEL(seq) --takes too long--> BLOCKED                 by the manager   / wins the CAS
 *     any --the thread ends--> ENDED                            by itself, or whoever killed it
 *     ENDED, not linked --> FREE                                by the manager
 *
 * GIVEN, RUNNING and INKERNEL are counted as running in the queue's word, the others are not.
 */
#ifndef UMS_FACTORY_H
#define UMS_FACTORY_H

#include "core/ums_core.h"

#define FACTORY_DEFAULT_MAX 500                 /* threads [doc] */
#define FACTORY_IDLE ((int64_t)100000000)       /* 100 ns; 10 s [doc] */
#define FACTORY_RETRY ((int64_t)10000000)       /* after a creation that failed [guess] */

#define MAX_FACTORIES 16384
#define MAX_HANDS     65535                     /* an index + 1 has 16 bits */

#define RING_SLOTS    256                       /* packets of the real port in here */
#define RING_FULL     64                        /* no more are fetched while there are as many */

struct ums_packet
{
    uint64_t key, apc, status, information;     /* FILE_IO_COMPLETION_INFORMATION */
};

enum hand_state
{
    HAND_FREE,
    HAND_STARTING,                              /* the thread was made, but is not ready */
    HAND_IDLE,
    HAND_WAITING,
    HAND_ASLEEP,
    HAND_GIVEN,                                 /* a packet is its, and it counts as running */
    HAND_RUNNING,
    HAND_INKERNEL,
    HAND_BLOCKED,
    HAND_ENDED
};

#define HAND_STATE  0xffu
#define HAND_LINKED 0x100u                      /* it is on the stack of waiting ones */
#define HAND_SEQ    0x10000u                    /* one step of the number of a call */

struct ums_hand
{
    _Atomic uint32_t word;                      /* the hand sleeps on it */
    _Atomic uint32_t next;                      /* index + 1 of the one below on the stack */
    _Atomic(struct ums_factory *) factory;      /* referenced */
    _Atomic(struct ums_queue *) queue;          /* of that factory */
    _Atomic uint32_t tid;
    _Atomic uint32_t leaving;                   /* was told that it is idle */
    _Atomic uint32_t unready;                   /* counted in starting, */
    _Atomic uint32_t coming;                    /* in coming, */
    _Atomic uint32_t entered;                   /* in in_kernel */
    uint32_t guest;                             /* a thread that the factory has not made */
    uint32_t spins;                             /* how long it looks before it sleeps */
    uint32_t seen;                              /* the manager's: the word when it looked last */
    void *thread;                               /* the manager's: a handle */
};

union queue_word
{
    unsigned __int128 whole;
    uint64_t half[2];
    struct
    {
        uint16_t top;                           /* index + 1 of a hand */
        uint16_t running;
        uint32_t pending;                       /* packets that nobody has been given */
        uint64_t tag;                           /* counts changes: a top that went and came back
                                                   fails the exchange */
    };
};

struct ums_queue
{
    union queue_word word;
    uint64_t pad[6];                            /* a line of its own, nearly */

    /* The packets' contents. They are put in here before they are counted as pending, so a thread
       that was counted a packet finds one. */
    _Atomic uint32_t releases;                  /* without content */
    _Atomic uint32_t turn;                      /* which of the two is served first next */
    _Atomic uint64_t head, tail;                /* of the ring; count on for ever */
    _Atomic uint64_t ring[RING_SLOTS][4];

    uint32_t concurrency;                       /* constant while refs > 0 */
    _Atomic uint32_t refs;                      /* factories */
    _Atomic uint32_t full;                      /* the manager waits for room in the ring */
    _Atomic uint32_t in_kernel;                 /* hands in calls that may block */
    _Atomic uint32_t watched;                   /* by the manager: are they blocked? */
    void *port;                                 /* the manager's handle */
};

#define FACTORY_SHUT 0x80000000u                /* in starting: so shutting down and counting those
                                                   that start are one step, and so is making one */

struct ums_factory
{
    struct ums_queue *queue;                    /* constant from here .. */
    void *start, *param;
    size_t stack_reserve, stack_commit;
    void *object;                               /* our handle of what stands for it in the host */
    uint64_t number;                            /* never used again in this process */
                                                /* .. to here */
    _Atomic uint32_t refs;                      /* the handles together, hands, calls under way */
    _Atomic uint32_t open;                      /* there are handles, somewhere */
    _Atomic uint32_t handles;                   /* of this process */
    _Atomic uint32_t abroad;                    /* only others have handles: to be looked after */
    _Atomic uint32_t asked;                     /* the manager is on its way */
    _Atomic uint32_t creating;                  /* by the manager, right now */
    _Atomic uint32_t paused;
    _Atomic uint32_t min, max, soft_max;
    _Atomic uint32_t total;                     /* hands it has made that live */
    _Atomic uint32_t starting;                  /* of those, not ready; FACTORY_SHUT */
    _Atomic uint32_t coming;                    /* of those, have not waited yet */
    _Atomic uint32_t staying;                   /* of those, not told to leave */
    _Atomic uint32_t guests;                    /* threads that it has not made and that wait, or
                                                   have waited */
    _Atomic uint32_t binding;
    _Atomic uint32_t infinite_goal, callback_type, stack_information, timeout_waiters, flags;
    _Atomic uint32_t cpu_sets;
    _Atomic int32_t  priority;
    _Atomic int64_t  timeout, retry_timeout, idle_timeout;
    _Atomic int32_t  last_status;               /* of a creation */
    _Atomic int64_t  retry_at;                  /* not before, if it is not 0 */
};

/* ---- factory_queue.c ---- */

extern struct ums_pool ums_hand_pool, ums_queue_pool;

int  ums_queue_init( void );
struct ums_queue *ums_queue_alloc( uint32_t concurrency );
union queue_word ums_queue_load( const struct ums_queue *q );
/* Add packets, which are there, and take so many off the running ones; then hand out what can
   be. */
void ums_queue_give( struct ums_queue *q, uint32_t packets, uint32_t leaving );
/* A hand runs again that was not counted. */
void ums_queue_back( struct ums_queue *q );
int  ums_queue_release( struct ums_queue *q );                        /* 0: too many */
/* By one thread at a time. 0: no room */
int  ums_queue_put( struct ums_queue *q, const struct ums_packet *packet );
int  ums_queue_room( const struct ums_queue *q );
/* A packet of the ring; when nobody waits any more. */
int  ums_queue_drain( struct ums_queue *q, struct ums_packet *packet );
/* Take ended hands off the stack. By one thread at a time. */
void ums_queue_purge( struct ums_queue *q );

struct ums_hand *ums_hand_alloc( struct ums_factory *f, enum hand_state state );
uint32_t ums_hand_index( const struct ums_hand *h );
int  ums_hand_is_ready( struct ums_hand *h );   /* 0: it was not starting */
/* 1: there is a packet for it. 0: it is on the stack. */
int  ums_hand_begin_wait( struct ums_hand *h );
enum hand_woken
{
    WOKEN_GIVEN,                                /* there is a packet for it */
    WOKEN_OVER,                                 /* the time is over, or the factory shut down: it
                                                   waits no more */
    WOKEN_POKED                                 /* since it had this number: it still waits */
};
/* until: ke_clock's time; 0: for ever */
enum hand_woken ums_hand_sleep( struct ums_hand *h, uint32_t number, int64_t until );
void ums_hand_poke( struct ums_hand *h );       /* if it waits, it looks again */
uint32_t ums_hand_take( struct ums_hand *h, struct ums_packet *packets, uint32_t count );
void ums_hand_rest( struct ums_hand *h );       /* it takes nothing, and does not run for it */
int  ums_hand_block( struct ums_hand *h );      /* 0: it was not counted */
int  ums_hand_enter_kernel( struct ums_hand *h );
void ums_hand_back( struct ums_hand *h );
/* The manager: the same call as the last time it looked? Then it is blocked. 0: not in a call. */
int  ums_hand_watch( struct ums_hand *h );
/* Its thread has ended, or will, without coming here again. 0: known already. */
int  ums_hand_ended( struct ums_hand *h );
/* By the manager: its slot is free again, if nobody can find it any more. */
int  ums_hand_reap( struct ums_hand *h );

static inline enum hand_state hand_state( uint32_t word )
{
    return (enum hand_state)(word & HAND_STATE);
}

/* ---- factory.c ---- */

extern struct ums_pool ums_factory_pool;

int  ums_factory_init( void );
struct ums_factory *ums_factory_alloc( struct ums_queue *q, uint32_t max );
int  ums_factory_hold( struct ums_factory *f ); /* a reference, if it lives */
void ums_factory_unref( struct ums_factory *f );

static inline int ums_factory_is_shut( const struct ums_factory *f )
{
    return (atomic_load( &f->starting ) & FACTORY_SHUT) != 0;
}

/* What is asked of the object behind a handle; access is checked. value: as long as the class
   says */
ums_status ums_factory_set( struct ums_factory *f, uint32_t info_class, uint64_t value );
ums_status ums_factory_release( struct ums_factory *f );
ums_status ums_factory_ready( struct ums_factory *f, struct ums_hand *h );  /* h: NULL, of others */
uint32_t ums_factory_shutdown( struct ums_factory *f );     /* how many were starting */
struct ums_factory_counts
{
    uint32_t starting, waiting, total, releases;
};
void ums_factory_count( struct ums_factory *f, struct ums_factory_counts *counts );

/* In two parts. 1: *n packets, or *status is an error. 0: it has to wait, which the other does. */
int  ums_factory_wait_begin( struct ums_factory *f, struct ums_hand *h, struct ums_packet *packets,
                             uint32_t count, uint32_t *n, ums_status *status );
/* STATUS_SUCCESS and *n packets; STATUS_TIMEOUT: the hand is to leave */
ums_status ums_factory_wait_end( struct ums_factory *f, struct ums_hand *h,
                                 struct ums_packet *packets, uint32_t count, uint32_t *n );

/* A hand is about to wait in the kernel, or to make a call that may block; and is back. */
int  ums_hand_blocks( struct ums_hand *h );
int  ums_hand_enters( struct ums_hand *h );
void ums_hand_is_back( struct ums_hand *h );
/* Its thread has ended, or will without doing anything here. 0: that is known. */
int  ums_hand_exits( struct ums_hand *h );
/* For a thread that the factory has not made. NULL: memory is short */
struct ums_hand *ums_hand_guest( struct ums_factory *f );

/* ---- what the manager does, one thread at a time ---- */

/* Should there be another hand? The four conditions, or the minimum. */
int  ums_factory_wants( struct ums_factory *f );
/* Can packets of its port become anybody's? */
int  ums_factory_is_active( const struct ums_factory *f );
/* A hand for a thread that is about to be made. NULL: none is wanted */
struct ums_hand *ums_factory_make( struct ums_factory *f );
void ums_factory_made( struct ums_factory *f, struct ums_hand *h, ums_status status );
/* Packets were put into the queue. */
void ums_queue_check( struct ums_queue *q );
/* Are those in calls blocked? 1: look again, when the time of grace is over */
int  ums_queue_watch( struct ums_queue *q );
/* An ended hand that nobody can find any more: its slot is free. 0: not yet */
int  ums_hand_free( struct ums_hand *h );

/* ---- the host: factory_threads.c ---- */

/* There is something to do for the manager: it looks at everything after this. Enters the kernel if
   it sleeps. */
void ke_manager_wake( void );
/* The last reference is gone. The host closes what is its own. last: of the queue, too */
void ke_factory_closed( struct ums_factory *f, int last );

#endif /* UMS_FACTORY_H */
