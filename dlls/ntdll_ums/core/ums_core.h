/*
 * Objects of the UMS core and the state machine of a worker. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker's OS thread is its home. Its TEB, TLS, id, handle and stack are the worker's for life. A
 * scheduler that executes a worker has two ways to resume it:
 *
 *   carry    the scheduler's own thread, the carrier, loads the worker's registers and TEB and goes
 *            on as the worker. When the worker enters the kernel it goes home first: the carrier
 *            saves it, becomes the scheduler again and wakes the home thread, which goes on with it.
 *   handoff  the home thread is woken and the scheduler parks. Where the host cannot carry, and for
 *            a worker that has to stay at home (WORD_HOME).
 *
 * One atomic word per worker says who owns it:
 *
 *     NONE --bind--> STARTING --home parks--> QUEUED --dequeue--> READY
 *     READY --execute--> CARRIED
 *     CARRIED --yield--> READY                           by its carrier
 *     CARRIED --handoff, or enters the kernel--> RUNNING, INKERNEL, BLOCKED at home   by its carrier
 *     CARRIED --suspended--> BLOCKED                     by its carrier
 *     CARRIED, RUNNING --waits without its thread--> BLOCKED | WAITS       see wait.c
 *     BLOCKED | WAITS --alerted, time is over--> QUEUED  by whoever ends the wait
 *     RUNNING --yield--> READY                           by the worker at home, as all below
 *     RUNNING --wait that will block--> BLOCKED          before it waits
 *     RUNNING --call that may block--> INKERNEL(seq)
 *     INKERNEL(seq) --came back--> RUNNING                                      \ one of the two
 *     INKERNEL(seq) --grace is over--> BLOCKED           by its scheduler        / wins the CAS
 *     BLOCKED --the call is done--> QUEUED --dequeue--> READY
 *     RUNNING, INKERNEL, BLOCKED --ends--> DEAD (on the list)
 *
 *  READY    the user part is parked and belongs to nobody: any scheduler may execute it.
 *  QUEUED   parked too, but on a completion list (or about to be); it becomes READY when it is
 *           dequeued, so that nobody can run it while it is linked.
 *  CARRIED  runs on the thread of w->owner. Only that thread takes it out of this state; others
 *           change flags at most. So its transitions need no comparison.
 *  RUNNING, INKERNEL: runs at home, owned by w->owner, whose thread waits for the worker's post.
 *
 * What follows an entry into another state is done where nobody who resumes the user part is in the
 * way: the carrier is on its scheduler's stack again, the home thread on one of its own.
 *
 * Memory is type-stable: contexts, lists and schedulers live in pools that never give memory back,
 * and the sequence number in the state word goes on counting when a slot is used again. So a late
 * look at an object that is gone reads a word that matches nothing, and a late wake-up is spurious.
 */
#ifndef UMS_CORE_H
#define UMS_CORE_H

#include "ke.h"
#include "inside.h"

#define UMS_CONTEXT_VERSION 0x0100              /* UMS_VERSION */

/* RTL_UMS_CONTEXT.Flags [sdk] */
#define CONTEXT_SCHEDULED_THREAD       0x01
#define CONTEXT_TERMINATED             0x08
#define CONTEXT_RUNNING_ON_SELF_THREAD 0x20

enum worker_state
{
    WORKER_NONE,                                /* no thread */
    WORKER_STARTING,
    WORKER_QUEUED,
    WORKER_READY,
    WORKER_CARRIED,
    WORKER_RUNNING,
    WORKER_INKERNEL,
    WORKER_BLOCKED,
    WORKER_DEAD
};

/* the state word */
#define WORD_STATE      ((uint64_t)0xff)            /* the lowest byte, for worker_give_away */
#define WORD_FOREIGN    ((uint64_t)0x100)       /* another process has suspended its thread */
#define WORD_HOME       ((uint64_t)0x200)       /* parked: must be resumed at home, not carried */
#define WORD_STOPPED    ((uint64_t)0x400)       /* suspended while it ran at home: its thread stands
                                                   still in user code, and is resumed as a thread */
#define WORD_PREEMPTED  ((uint64_t)0x800)       /* BLOCKED without being in a call, its user part is
                                                   complete: suspended while it was carried, or
                                                   it waits, or both one after the other */
#define WORD_PARKED     (WORD_HOME | WORD_STOPPED | WORD_PREEMPTED)     /* cleared by Execute */
#define WORD_SUSPENDING ((uint64_t)0xf000)      /* how many are suspending its thread now: resuming
                                                   waits for them */
#define WORD_SUSPENDED  ((uint64_t)0x7f0000)    /* how often it is suspended; if at all, it may not
                                                   be executed. By who suspends, resumes */
#define WORD_HOLD       ((uint64_t)0x1800000)   /* how many hold it for a moment (hold.c): not to be
                                                   executed, but not suspended either */
#define WORD_HALTED     (WORD_SUSPENDED | WORD_FOREIGN)         /* suspended, by whomever */
#define WORD_BARRED     (WORD_HALTED | WORD_HOLD)               /* not to be executed */
#define WORD_WAITS      ((uint64_t)0x2000000)   /* BLOCKED | PREEMPTED only: it waits without its
                                                   thread (wait.c), nobody queues it before that is
                                                   over */
#define WORD_LINKED     ((uint64_t)0x4000000)   /* READY or DEAD: still linked in the chain that a
                                                   client has dequeued and walks, so that its link
                                                   must not change (completion.c) */
#define WORD_SEQ        ((uint64_t)0x8000000)   /* one step of the sequence number in bits 27-63:
                                                   each execute and each call is one */
#define WORD_SEQ_MASK   (~(WORD_SEQ - 1))

#define SUSPENDING_ONE  ((uint64_t)0x1000)
#define SUSPENDED_ONE   ((uint64_t)0x10000)
#define HOLD_ONE        ((uint64_t)0x800000)

static inline uint32_t word_suspended( uint64_t word )
{
    return (uint32_t)((word & WORD_SUSPENDED) / SUSPENDED_ONE);
}

enum context_kind
{
    CONTEXT_WORKER,                             /* zero, so that a new context is a worker to be */
    CONTEXT_SCHEDULER
};

/* A binary semaphore on one word: set at most once between two waits. Memory order: unpark
   releases, park acquires. */
struct ums_park
{
    _Atomic uint32_t token;
};

struct ums_ring;

struct ums_list
{
    _Atomic(struct ums_context *) head;         /* LIFO of linked contexts; push releases, take
                                                   acquires */
    _Atomic uint32_t refs;                      /* creator, schedulers, workers that will queue
                                                   here */
    _Atomic uint32_t deleted;                   /* no handle any more; what is queued becomes
                                                   executable at once */
    _Atomic uint32_t asked;                     /* somebody holds a handle of the event: it must
                                                   be set */
    _Atomic uint32_t seq;                       /* counts empty -> non-empty; in-process waiters
                                                   sleep on it */
    _Atomic uint32_t waiters;
    void *event;                                /* constant while refs > 0 */
};

struct ums_upcall
{
    uint32_t  reason;
    uintptr_t payload;
    void     *param;
};

struct ums_scheduler
{
    /* what a switch needs; offsets known to switch_x86_64.S */
    void *base;                                 /* stack base of every activation */
    void (*proc)(void);                         /* SchedulerProc, called from assembly only */
    void *teb;                                  /* of the scheduler thread */
    struct ums_context *current;                /* the worker it last executed; for itself, and
                                                   for who has stopped its thread */
    struct ums_list *list;                      /* referenced while in scheduling mode */
    struct ums_context *context;                /* the scheduler thread's own */
    _Atomic uint64_t executed;                  /* how often, while somebody counts (census.c); goes
                                                   on from one use of the slot to the next */
    _Atomic uint64_t carried, sent_home;        /* how often a worker went on on this thread, or at
                                                   home; like executed, but always */

    _Atomic uint32_t preempters;                /* who have suspended its thread to look for a
                                                   worker; goes on from one use of the slot to the
                                                   next */
    struct ums_upcall upcall;                   /* written by the poster before posted, or by the
                                                   scheduler itself */
    _Atomic uint32_t posted;                    /* upcall is complete (release / acquire). While it
                                                   is 0 the thread must not be killed, */
    _Atomic uint32_t waiting;                   /* but where it waits for that */
    _Atomic uint32_t watching;                  /* the waiting scheduler wakes every grace period
                                                   by itself */
    _Atomic uint32_t killed;                    /* the thread has to end when it has left the worker
                                                   that it carries, with this: */
    _Atomic uint32_t exit_status;
    struct ums_park park;
    struct ums_ring *ring;                      /* record.h: its own, or NULL */
    uint32_t number;
    uint32_t idle;                              /* it is recorded as waiting; its thread's */
};

struct ums_context
{
    /* Part 1: RTL_UMS_CONTEXT. Windows' layout, do not change. */
    _Atomic(struct ums_context *) link;         /* 0x000 */
    uint64_t reserved0;
    uint8_t  context[0x4d0];                    /* 0x010 a CONTEXT: of a preempted worker */
    void    *teb;                               /* 0x4e0, begins a cache line */
    _Atomic(void *) user_context;               /* 0x4e8 */
    _Atomic uint32_t flags;                     /* 0x4f0 CONTEXT_* */
    uint32_t reserved1;
    uint64_t context_lock;                      /* 0x4f8 */
    _Atomic(struct ums_context *) after;        /* 0x500 Windows' PrimaryUmsContext. Here: who was
                                                   executed after it the last time; a hint */
    uint32_t counts[4];                         /* 0x508 */

    /* Part 2: ours. */
    _Atomic uint64_t word;                      /* 0x518 the state word */

    /* 0x520, the next line: what a switch needs; offsets known to switch_x86_64.S. These belong to
       whoever runs the worker, and are handed on with the state word. */
    void *sp;                                   /* parked: where its registers are */
    struct ums_scheduler *owner;                /* who executed it last; written by Execute */
    _Atomic(struct ums_list *) list;            /* referenced; where it is queued next; written by
                                                   Execute. Whoever makes the worker DEAD takes
                                                   over the reference */
    uint64_t success;                           /* what the switch returns when it is resumed */
    void *home;                                 /* top of the home thread's parking place */
    uint32_t preempted;                         /* the user part is in context and in the parking
                                                   place, not at sp */
    uint32_t kind;                              /* enum context_kind; offset known to
                                                   hook_x86_64.S */
    _Atomic uint32_t local;                     /* carried, but the scheduler's TEB is in GS: a
                                                   local call */
    _Atomic uint32_t breakpoints;               /* its thread's debug registers are in use: it is
                                                   not to be carried */
    uint64_t pad;

    /* 0x560 */
    struct ums_park park;                       /* the home thread sleeps here */
    _Atomic uint32_t refs;                      /* client's handle, home thread */
    _Atomic uint32_t self_suspending;           /* it is about to suspend its own thread */
    _Atomic uint32_t busy;                      /* not 0: the home thread must not be stopped now,
                                                   others wait for what it does */
    _Atomic uint32_t tid;
    _Atomic uint32_t kill_pending;              /* its thread was killed; whoever clears this has to
                                                   see to the rest */
    uint32_t slow_calls;                        /* worker only: hint that it makes calls that may
                                                   block */
    struct ums_scheduler *scheduler;            /* scheduler context: the scheduler */
    _Atomic uint32_t host_thread;               /* ke_host_thread of the home thread */
    void *start;                                /* what CreateRemoteThreadEx was given */
    void *start_param;
    struct ke_part host;                        /* of its thread, a scheduler's too */
    _Atomic uint32_t number;                    /* record.h: for life; 0: nothing is recorded */
    _Atomic uint32_t call;                      /* what it is in, or about to enter; the worker's,
                                                   published with the state word */
    struct ums_inside inside;                   /* home thread only: is it in a call? */
    _Atomic(struct ums_list *) on;              /* DEAD only: the list that it is linked on, or about
                                                   to be (completion.c) */
    _Atomic uint32_t alert;                     /* wait.c: 1: alerted, and has not taken notice */
    _Atomic uint32_t at_host;                   /* who alerts has to alert its thread too */
    _Atomic uint32_t wait_for;                  /* enum wait_for; the worker's, published with the
                                                   state word */
};

/* ---- pool.c ---- */

/* In front of each object. Objects begin in the middle of a cache line: so the field of a context
   at 0x4e0 begins one. */
struct ums_pool_header
{
    _Atomic uint32_t live;                      /* 1 between open and close */
    _Atomic uint32_t next;                      /* index + 1 of the next free slot; valid while
                                                   on the free stack */
    uint64_t pad[3];
};

#define POOL_SLOT( object ) ((sizeof(struct ums_pool_header) + (object) + 63) & ~(size_t)63)

struct ums_pool
{
    char *base;
    size_t slot;                                /* header and object, bytes */
    uint32_t max;                               /* slots */
    _Atomic uint32_t made;                      /* slots ever used */
    _Atomic uint64_t free;                      /* tag << 32 | index + 1 of a stack of free slots */
};

int   ums_pool_init( struct ums_pool *pool, size_t object, uint32_t max );
void *ums_pool_alloc( struct ums_pool *pool ); /* not zeroed: the caller resets what it uses */
void  ums_pool_free( struct ums_pool *pool, void *object );
void  ums_pool_open( void *object );                                   /* handle becomes valid */
int   ums_pool_close( void *object ); /* handle becomes invalid; 0 if it was not valid */
void *ums_pool_any( const struct ums_pool *pool, uint32_t index );    /* live or not */
void *ums_pool_at( const struct ums_pool *pool, uint32_t index );     /* live object or NULL */
uint32_t ums_pool_made( const struct ums_pool *pool );
uint32_t ums_pool_index( const struct ums_pool *pool, const void *object );

/* odd * odd_inverse( odd ) == 1 modulo 2^64: Newton's way, each step doubles the bits that are
   right, of which odd itself has three. Of a constant the compiler makes a constant. */
static inline uint64_t odd_inverse( uint64_t odd )
{
    uint64_t x = odd;

    x *= 2 - odd * x;
    x *= 2 - odd * x;
    x *= 2 - odd * x;
    x *= 2 - odd * x;
    x *= 2 - odd * x;
    return x;
}

/* Does the pointer point at an object that was ever made? Inline, and with the size as a constant,
   because each Execute asks: a division would cost as much as the switch. Multiplied by the
   inverse and rotated, a multiple of the slot's size is the quotient, and anything else is larger
   than every quotient. */
static inline int ums_pool_slot( const struct ums_pool *pool, const void *object, size_t size )
{
    uint64_t offset = (uintptr_t)object - (uintptr_t)pool->base - sizeof(struct ums_pool_header);
    int shift = __builtin_ctzll( POOL_SLOT( size ) );
    uint64_t product = offset * odd_inverse( POOL_SLOT( size ) >> shift );

    /* not started: base is NULL, nothing is made */
    return (product >> shift | product << (64 - shift)) <
           atomic_load_explicit( &pool->made, memory_order_acquire );
}

/* Is an object, not a pointer from anywhere, open? */
static inline int ums_pool_is_live( const void *object )
{
    return (int)atomic_load( &((const struct ums_pool_header *)object - 1)->live );
}

/* A live object? */
static inline int ums_pool_valid( const struct ums_pool *pool, const void *object, size_t size )
{
    return ums_pool_slot( pool, object, size ) &&
           atomic_load( &((const struct ums_pool_header *)object - 1)->live );
}

/* ---- park, in scheduler.c ---- */

void ums_unpark( struct ums_park *park );
/* with a time-out: may return without token */
void ums_park( struct ums_park *park, const int64_t *timeout );

/* ---- completion.c ---- */

int  ums_completion_init( void );
struct ums_list *ums_list_check( void *handle ); /* NULL if it is no live list */
ums_status ums_list_create( struct ums_list **list );
ums_status ums_list_delete( void *handle );
ums_status ums_list_event( void *handle, void **event );
void ums_list_ref( struct ums_list *list );
/* The list that a worker is queued on next, referenced, if its word is still the one that was read before;
   NULL: the word has changed. The caller finds out by an exchange of that word. */
struct ums_list *ums_list_of( struct ums_context *context );
void ums_list_unref( struct ums_list *list );
void ums_list_push( struct ums_list *list, struct ums_context *context );
/* A worker that ends, before it can be seen dead; ums_list_push follows. */
void ums_list_will_push( struct ums_list *list, struct ums_context *context );
/* Of a dead one: it is on no list any more. 0: not yet, try again. */
int  ums_list_forget( struct ums_context *context );
struct ums_context *ums_list_take( struct ums_list *list );
/* timeout: relative, 100 ns; NULL: for ever. STATUS_TIMEOUT when nothing came */
ums_status ums_list_wait( struct ums_list *list, const int64_t *timeout,
                          struct ums_context **first );
struct ums_context *ums_list_next( struct ums_context *context );
/* Nobody needs the link of this one any more. One that has been killed meanwhile goes to its list now
   (deliver), or is forgotten. */
void ums_list_walked( struct ums_context *context, int deliver );

/* ---- context.c ---- */

extern struct ums_pool ums_context_pool;

int  ums_context_init( void );
struct ums_context *ums_context_check( void *handle );
static inline int ums_context_slot( const void *handle );     /* it points at one, live or not */
uint32_t ums_context_index( const struct ums_context *context );
ums_status ums_context_create( struct ums_context **context );
ums_status ums_context_delete( void *handle );
void ums_context_unref( struct ums_context *context );
ums_status ums_context_query( void *handle, uint32_t info_class, void *buffer, uint32_t length,
                              uint32_t *ret );
ums_status ums_context_set( void *handle, uint32_t info_class, const void *buffer,
                            uint32_t length );

/* How often its thread is suspended. While that is not 0 nobody can execute the worker. An Execute
   between the end of the count and the resume of the thread waits for that resume; one that comes
   after it never fails. Count, mark and state change together: a resume next to a suspension comes
   before it and finds nothing, or waits until the suspension is complete. */
#define SUSPEND_WAIT UINT32_MAX                 /* somebody is suspending it, or holds it: try
                                                   again */
#define SUSPEND_MAX  0x7f                       /* as on Windows; nothing is counted any more */
/* These return the count before. *word: the state word as the exchange has left it; a look at it
   later may see what others have done since. A suspension that is there already, or the thread's
   own: */
uint32_t ums_context_suspended( struct ums_context *context );
/* 0, SUSPEND_WAIT: nothing is changed. wait: 0, do not say SUSPEND_WAIT */
uint32_t ums_context_resumed( struct ums_context *context, int wait, uint64_t *word );
/* A suspension that is being made, until _made says how it ended and returns the word. */
uint32_t ums_context_suspending( struct ums_context *context, uint64_t *word );
uint64_t ums_context_suspend_made( struct ums_context *context, int made );
/* A hold: somebody reads or changes what the worker is. Meanwhile Execute answers with "retry", and
   who resumes it waits; nobody else sees anything of it. One at a time; with join, beside others
   too, which may have been stopped for good in theirs: 0 if there are too many. which: in what word
   it may be taken. *word: as the exchange has left it. */
enum hold_which { HOLD_ANY, HOLD_STILL };       /* STILL: parked, or its thread is suspended */
enum hold_taken { HOLD_REFUSED, HOLD_WAIT, HOLD_TAKEN };
enum hold_taken ums_context_hold( struct ums_context *context, enum hold_which which, int join,
                                  uint64_t *word );
uint64_t ums_context_let_go( struct ums_context *context );
/* A reference, if this still is the context of that thread. */
int ums_context_ref( struct ums_context *context, uint32_t tid );
static inline enum worker_state word_state( uint64_t word )
{
    return (enum worker_state)(word & WORD_STATE);
}

/* ---- thread_ids.c: any thread; no lock, readers write nothing ---- */

/* The calling thread, or one that stands still before its first instruction, is this context's. May
   enter the kernel, for memory. */
void ums_thread_id_set( struct ums_context *context, uint32_t tid );
/* It is no more. Nothing happens if either has become another's since. */
void ums_thread_id_clear( struct ums_context *context, uint32_t tid );
struct ums_context *ums_context_of_thread( uint32_t tid ); /* live scheduler or worker, or NULL */
/* A worker whose thread is in ums_worker_end; its context may be deleted already. Or NULL. */
struct ums_context *ums_context_of_ending( uint32_t tid );

/* ---- scheduler.c ---- */

extern int64_t ums_grace;                                             /* 100 ns */
extern int ums_page_faults;                     /* workers that sleep for a page are looked for;
                                                   written at start */
extern int ums_carry;                           /* workers are carried where they can be; written at
                                                   start, and set to 0 if a hook fails later */
extern int ums_straight;                        /* and nobody wants to know of each Execute; written
                                                   with it */

extern struct ums_pool ums_scheduler_pool;

int  ums_scheduler_init( void );
ums_status ums_scheduler_enter( uint32_t version, void *list, void (*proc)(void), void *param );
ums_status ums_scheduler_attach( void *list, void *context );
void ums_scheduler_detach( struct ums_context *context );
void ums_scheduler_end( struct ums_context *context );
/* By whoever has killed its thread, when no worker ran on it or was about to post. */
void ums_scheduler_killed( struct ums_context *context );
/* Does not return if it succeeds; else what failed makes of the status. */
int32_t ums_execute( void *handle, int32_t (*failed)( ums_status status ) );
_Noreturn void ums_scheduler_wait( struct ums_scheduler *s );

/* ---- worker.c: a worker's life, called on its home thread but for bind, made and unbind ---- */

ums_status ums_worker_bind( void *context, void *list, void *start, void *param,
                            struct ums_context **worker );
void ums_worker_made( struct ums_context *w, void *teb, uint32_t tid );
void ums_worker_unbind( struct ums_context *w );
void ums_worker_start( struct ums_context *w );
void ums_worker_end( struct ums_context *w );

/* The worker itself, at home or on a carrier. Those that enter the kernel return at home. */
static inline int ums_worker_is_carried( struct ums_context *w );
void ums_worker_go_home( struct ums_context *w );
void ums_worker_give_way( struct ums_context *w );
/* A worker that suspends or resumes another: it must not be stopped in the middle of that. */
void ums_worker_busy( struct ums_context *w, int more );
int  ums_worker_block( struct ums_context *w, uintptr_t payload );
int  ums_worker_queue( struct ums_context *w, uint64_t *word, uint64_t next );
/* For wait.c, on its home thread in the parking place: to its list, and until it is executed here; until
   it is executed here; WORD_HOME or 0. */
void ums_worker_queue_at_home( struct ums_context *w );
void ums_worker_home_wait( struct ums_context *w );
uint64_t ums_worker_must_stay( const struct ums_context *w );
/* How many there are whose threads have not come to their end. */
uint32_t ums_workers_alive( void );
int  ums_worker_enter_kernel( struct ums_context *w );
void ums_worker_back( struct ums_context *w );
/* Returns success, or what failed makes of the status. */
int32_t ums_yield( void *param, int32_t success, int32_t (*failed)( ums_status status ) );

/* ---- worker_stop.c: others stop a worker, or end it; any thread ---- */

void ums_worker_killed( struct ums_context *w ); /* by whoever killed the thread */
/* By whoever has found kill_pending set: its carrier, or who has let that go on. */
void ums_worker_killed_finish( struct ums_context *w );
/* On a carrier that is about to end, past all that makes it a carrier: its state is saved, as for
   ums_left_preempted, but somebody else has to queue it. */
void ums_worker_left_behind( struct ums_context *w );
void ums_worker_pin( struct ums_context *w ); /* by whoever keeps it from being executed */
void ums_worker_taken( struct ums_context *w ); /* from a scheduler that is being killed */
/* By whoever suspended the thread. 1: its suspension keeps the worker stopped from now on, until it
   is executed; nobody had suspended it but for a hold. */
int  ums_worker_stopped( struct ums_context *w );
/* Its thread sleeps in its parking place or stands still in user code, and goes on by itself where
   the worker is executed; WORD_FOREIGN is set. Off its scheduler with it, if it is on one. */
void ums_worker_held( struct ums_context *w );
void ums_worker_kept( struct ums_context *w ); /* by whoever lets its scheduler go on */
int  ums_worker_faulted( struct ums_context *w, uint64_t word );
/* By whoever is about to resume it; word: without the suspension. */
int  ums_worker_continued( struct ums_context *w, uint64_t word );
void ums_worker_queue_stopped( struct ums_context *w, uint64_t word );

/* ---- carry.c: a worker leaves its carrier; on the stack of its scheduler ---- */

_Noreturn void ums_left_yield( struct ums_scheduler *s, struct ums_context *w, uintptr_t param );
_Noreturn void ums_left_running( struct ums_scheduler *s, struct ums_context *w, uintptr_t stopped );
_Noreturn void ums_left_inkernel( struct ums_scheduler *s, struct ums_context *w, uintptr_t unused );
_Noreturn void ums_left_blocked( struct ums_scheduler *s, struct ums_context *w,
                                 uintptr_t payload );
_Noreturn void ums_left_preempted( struct ums_scheduler *s, struct ums_context *w,
                                   uintptr_t unused );

static inline int ums_context_slot( const void *handle )
{
    return ums_pool_slot( &ums_context_pool, handle, sizeof(struct ums_context) );
}

static inline int ums_worker_is_carried( struct ums_context *w )
{
    return word_state( atomic_load_explicit( &w->word, memory_order_relaxed ) ) == WORKER_CARRIED;
}

/* ---- census.c ---- */

struct ums_census;
/* How many there are of what, about now. Any thread; changes nothing. */
void ums_take_census( struct ums_census *census );
/* How often Execute has carried a worker since the start, and how often it has sent one home. The same
   rules. */
void ums_count_switches( uint64_t *carried, uint64_t *sent_home );

/* ---- sizes that Windows or the assembly rely on ---- */

_Static_assert( offsetof( struct ums_context, teb ) == 0x4e0, "RTL_UMS_CONTEXT.Teb" );
_Static_assert( offsetof( struct ums_context, user_context ) == 0x4e8,
                "RTL_UMS_CONTEXT.UserContext" );
_Static_assert( offsetof( struct ums_context, flags ) == 0x4f0, "RTL_UMS_CONTEXT.Flags" );
_Static_assert( offsetof( struct ums_context, context_lock ) == 0x4f8,
                "RTL_UMS_CONTEXT.ContextLock" );
_Static_assert( offsetof( struct ums_context, word ) == 0x518, "end of RTL_UMS_CONTEXT" );
_Static_assert( offsetof( struct ums_context, sp ) == 0x520, "the switch's line" );
_Static_assert( offsetof( struct ums_context, park ) == 0x560, "behind it" );

#endif /* UMS_CORE_H */
