/*
 * Objects of the UMS core and the state machine of a worker. Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker's OS thread is its home. The TEB, TLS, id, handle and stack of that thread belong to the
 * worker as long as it lives. A scheduler has two ways to execute a worker:
 *
 *   carry    The scheduler's own thread, the carrier, loads the worker's registers and TEB, and
 *            continues as the worker. A worker that enters the kernel goes home first: the carrier
 *            saves it, becomes the scheduler again and wakes the home thread, which continues it.
 *   handoff  The scheduler wakes the home thread and parks. This is used where the host cannot
 *            carry, and for a worker that has to stay at home (WORD_HOME).
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
 *  READY    The user part is parked and has no owner: any scheduler may execute it.
 *  QUEUED   The user part is parked, and the worker is on a completion list or about to be. It
 *           becomes READY when it is dequeued, so nobody can execute it while it is linked.
 *  CARRIED  The worker runs on the thread of w->owner. Only that thread changes the state; others
 *           may change flags. So its transitions need no comparison.
 *  RUNNING, INKERNEL
 *           The worker runs at home for w->owner, whose thread waits for the worker's post.
 *
 * After a transition another thread may resume the user part at once. So the thread that made it
 * does the rest on another stack: the carrier on its scheduler's, the home thread in its parking
 * place.
 *
 * Memory is type-stable: contexts, lists and schedulers live in pools that never free memory, and
 * the sequence number in the state word continues when a slot is reused. So a late read of a dead
 * object finds a word that does not match, and a late wake-up is spurious.
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
                                                   still in user code; Execute resumes the thread */
#define WORD_PREEMPTED  ((uint64_t)0x800)       /* BLOCKED outside a call, with a complete user
                                                   part: it was suspended while it was carried, or
                                                   it waits (WORD_WAITS), or first one, then the
                                                   other */
#define WORD_PARKED     (WORD_HOME | WORD_STOPPED | WORD_PREEMPTED)     /* cleared by Execute */
#define WORD_SUSPENDING ((uint64_t)0xf000)      /* how many threads are suspending its thread now;
                                                   a resume waits for them */
#define WORD_SUSPENDED  ((uint64_t)0x7f0000)    /* its suspend count; not to be executed while this
                                                   is not 0 */
#define WORD_HOLD       ((uint64_t)0x1800000)   /* the number of holds (hold.c): not to be executed,
                                                   but not suspended either */
#define WORD_HALTED     (WORD_SUSPENDED | WORD_FOREIGN)         /* suspended, by any process */
#define WORD_BARRED     (WORD_HALTED | WORD_HOLD)               /* not to be executed */
#define WORD_WAITS      ((uint64_t)0x2000000)   /* BLOCKED | PREEMPTED only: it waits without its
                                                   thread (wait.c); nobody queues it before the wait
                                                   is over */
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

static inline uint32_t word_suspending( uint64_t word )
{
    return (uint32_t)((word & WORD_SUSPENDING) / SUSPENDING_ONE);
}

enum context_kind
{
    CONTEXT_WORKER,                             /* zero: a new context will be a worker */
    CONTEXT_SCHEDULER
};

/* A binary semaphore on one word: set at most once between two waits. Memory order: unpark
   releases, park acquires. */
struct ums_park
{
    _Atomic uint32_t token;
};

struct ums_ring;
struct object_wait;

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
    _Atomic uint32_t life;                      /* counts the lists that this slot has been */
    _Atomic uint32_t seq;                       /* in-process waiters sleep on it */
    _Atomic uint32_t waiting;                   /* 0, or the ticket of the last thread that was about to
                                                   sleep on seq since all were woken */
    _Atomic uint32_t tickets;                   /* how many were taken, times two: all differ */
    void *event;                                /* constant while refs > 0 */
};

struct ums_upcall
{
    uint32_t  reason;
    uintptr_t payload;
    void     *param;
};

enum                                            /* ums_scheduler.posted */
{
    POST_AWAITED,                               /* the worker runs at home: whoever takes it off will post */
    POST_NONE,                                  /* it waits for none: the upcall is taken, or is its own */
    POST_MADE                                   /* and not taken */
};

struct ums_scheduler
{
    /* what a switch needs; offsets known to switch_x86_64.S */
    void *base;                                 /* stack base of every activation */
    void (*proc)(void);                         /* SchedulerProc, called from assembly only */
    void *teb;                                  /* of the scheduler thread */
    void *stack_base;                           /* the stack fields of its TEB at the Enter: this, */
    struct ums_context *current;                /* the worker it executed last; read by itself, by
                                                   whoever has stopped its thread, and by is_on */
    struct ums_list *list;                      /* referenced while in scheduling mode */
    struct ums_context *context;                /* the scheduler thread's own */
    _Atomic uint64_t carried, sent_home;        /* how often Execute continued a worker on this
                                                   thread, or at home; always counted, not reset */
    _Atomic uint64_t executed;                  /* executes, while they are counted (census.c); not
                                                   reset when the slot is reused */
    void *stack_bottom, *exception_list;        /* and these */

    _Atomic uint32_t preempters;                /* threads that have suspended this one for a moment:
                                                   PREEMPTERS_NOW, and how many ever; not reset */
    _Atomic uint32_t pause_wanted;              /* by a thread that finds it in a switch again and again: it pauses
                                                   once before the next upcall (carry.c). A flag that comes too
                                                   late costs a pause in vain */
    struct ums_upcall upcall;                   /* written by the poster before posted, or by the
                                                   scheduler itself */
    _Atomic uint32_t posted;                    /* POST_*: MADE: upcall is complete (release / acquire).
                                                   Unless it is NONE the thread must be neither killed nor
                                                   suspended, except while it is */
    _Atomic uint32_t waiting;                   /* asleep until the post is made */
    _Atomic uint32_t watching;                  /* the waiting scheduler looks once every grace
                                                   period */
    _Atomic uint32_t killed;                    /* the thread has to end, with this status, when it
                                                   has left the worker that it carries */
    _Atomic uint32_t exit_status;
    struct ums_park park;
    struct ums_ring *ring;                      /* record.h: its own, or NULL */
    uint32_t number;
    uint32_t idle;                              /* it is recorded as waiting; used by its thread */
    uint32_t passes;                            /* in a call of the program that was passed on (ums_pass_on); written by its
                                                   thread, and read by whoever has stopped that */
    _Atomic int64_t dead_since;                 /* when somebody first saw its thread dead, and was not certain
                                                   whether it had its last worker; or 0 */
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
    _Atomic(struct ums_context *) after;        /* 0x500 Windows' PrimaryUmsContext. Here a hint:
                                                   the worker that was executed next, last time */
    uint32_t counts[4];                         /* 0x508 */

    /* Part 2: ours. */
    _Atomic uint64_t word;                      /* 0x518 the state word */

    /* 0x520, the next cache line: what a switch needs; switch_x86_64.S knows the offsets. Whoever
       runs the worker owns these fields, and hands them on with the state word. */
    void *sp;                                   /* parked: where its registers are */
    struct ums_scheduler *owner;                /* executed it last; written by Execute */
    _Atomic(struct ums_list *) list;            /* referenced; where it is queued next; written by
                                                   Execute. Whoever makes the worker DEAD takes
                                                   over the reference */
    uint64_t success;                           /* what the switch returns when it is resumed */
    void *home;                                 /* top of the home thread's parking place */
    uint32_t preempted;                         /* the user part is in context and in the parking
                                                   place, not at sp */
    uint32_t kind;                              /* enum context_kind; offset known to
                                                   hook_x86_64.S */
    _Atomic uint32_t local;                     /* carried, in a local call: GS has the scheduler's
                                                   TEB */
    _Atomic uint32_t breakpoints;               /* its thread's debug registers are in use: do not
                                                   carry it */
    uint32_t in_call;                           /* it parks in a call of its own: what is above the user part, down to
                                                   the program, is ours */
    uint32_t set;                               /* there are new registers for the end of its call
                                                   (ke_context.c); offset known to hook_x86_64.S */

    /* 0x560 */
    struct ums_park park;                       /* the home thread sleeps here */
    _Atomic uint32_t refs;                      /* client's handle, home thread */
    _Atomic uint32_t self_suspending;           /* it is about to suspend its own thread */
    _Atomic uint32_t busy;                      /* not 0: the home thread is in a section that
                                                   others wait for, and must not be stopped */
    _Atomic uint32_t tid;
    _Atomic uint32_t kill_pending;              /* its thread was killed; whoever clears this has to
                                                   finish the kill */
    uint32_t slow_calls;                        /* a hint: the worker makes calls that may block */
    struct ums_scheduler *scheduler;            /* scheduler context: the scheduler */
    _Atomic uint32_t host_thread;               /* ke_host_thread of the home thread */
    void *start;                                /* what CreateRemoteThreadEx was given */
    void *start_param;
    uintptr_t stack_base;                       /* of the stack that the system gave its thread, a scheduler's too; offset known to
                                                   stack_x86_64.S */
    struct ke_part host;                        /* of its thread, a scheduler's too */
    _Atomic uint32_t number;                    /* record.h: for life; 0: nothing is recorded */
    _Atomic uint32_t call;                      /* the call that it is in, or about to enter;
                                                   written by the worker, published with the state
                                                   word */
    struct ums_inside inside;                   /* home thread only: is it in a call? */
    _Atomic(struct ums_list *) on;              /* DEAD only: the list that it is linked on, or
                                                   about to be (completion.c) */
    _Atomic uint32_t alert;                     /* wait.c: 1: an alert is pending */
    _Atomic uint32_t at_host;                   /* an alert has to be made to its thread, too */
    _Atomic uint32_t wait_for;                  /* enum wait_for; written by the worker, published
                                                   with the state word */
    _Atomic uint32_t over;                      /* wait.c: its wait for an object is */
    _Atomic uint64_t key;                       /* keyed.c: of its keyed wait, until it is released */
    struct object_wait *object_wait;            /* its record, for the slot's life (objects_wait.c);
                                                   with the lock of objects.c */
    _Atomic uint32_t mutants;                   /* so many local ones its thread owns, or a keeper
                                                   for it */
    _Atomic(void *) first_apcs;                 /* kept for its first execution (host/first_apcs.c) */
};

/* ---- pool.c ---- */

/* In front of each object. Objects begin in the middle of a cache line, so that field 0x4e0 of a
   context begins one. */
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

/* odd * odd_inverse( odd ) == 1 modulo 2^64. Newton's method: each step doubles the number of
   correct bits, and odd itself has three. The compiler folds it for a constant. */
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

/* Does the pointer point at an object that was ever allocated? Inline, and with a constant size,
   because each Execute asks: a division would cost as much as the switch. A multiple of the slot's
   size, multiplied by the inverse and rotated, is the quotient. Any other value becomes larger than
   every quotient. */
static inline int ums_pool_slot( const struct ums_pool *pool, const void *object, size_t size )
{
    uint64_t offset = (uintptr_t)object - (uintptr_t)pool->base - sizeof(struct ums_pool_header);
    int shift = __builtin_ctzll( POOL_SLOT( size ) );
    uint64_t product = offset * odd_inverse( POOL_SLOT( size ) >> shift );

    /* not started: base is NULL, nothing is made */
    return (product >> shift | product << (64 - shift)) <
           atomic_load_explicit( &pool->made, memory_order_acquire );
}

/* Is this object open? It must be an object of a pool. */
static inline int ums_pool_is_live( const void *object )
{
    return (int)atomic_load( &((const struct ums_pool_header *)object - 1)->live );
}

/* Is this any pointer's object live? */
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
/* The list that a worker is queued on next, referenced, if its word is still the one that was read
   before; NULL: the word has changed. The caller finds out by an exchange of that word. */
struct ums_list *ums_list_of( struct ums_context *context );
void ums_list_unref( struct ums_list *list );
void ums_list_push( struct ums_list *list, struct ums_context *context );
/* Called before a worker that ends can be seen dead; ums_list_push follows. */
void ums_list_will_push( struct ums_list *list, struct ums_context *context );
/* Take a dead worker off its list. 0: another thread is using its link, try again. */
int  ums_list_forget( struct ums_context *context );
struct ums_context *ums_list_take( struct ums_list *list );
/* timeout: relative, 100 ns; NULL: for ever. STATUS_TIMEOUT when nothing came */
ums_status ums_list_wait( struct ums_list *list, const int64_t *timeout,
                          struct ums_context **first );
struct ums_context *ums_list_next( struct ums_context *context );
/* Nobody needs the link of this worker any more. If it was killed meanwhile, it goes to its list now
   (deliver), or is forgotten. */
void ums_list_walked( struct ums_context *context, int deliver );

/* ---- context.c ---- */

extern struct ums_pool ums_context_pool;

int  ums_context_init( void );
struct ums_context *ums_context_check( void *handle );
static inline int ums_context_slot( const void *handle );     /* at a slot, live or not */
uint32_t ums_context_index( const struct ums_context *context );
ums_status ums_context_create( struct ums_context **context );
ums_status ums_context_delete( void *handle );
void ums_context_unref( struct ums_context *context );
ums_status ums_context_query( void *handle, uint32_t info_class, void *buffer, uint32_t length,
                              uint32_t *ret );
ums_status ums_context_set( void *handle, uint32_t info_class, const void *buffer,
                            uint32_t length );

/* The suspend count of a worker. While it is not 0 nobody can execute the worker. An Execute
   between the end of the count and the resume of the thread waits for that resume; an Execute after
   it never fails. Count, flag and state change in one exchange. So a resume beside a suspension
   either comes before it and finds nothing, or waits until the suspension is complete. */
#define SUSPEND_WAIT UINT32_MAX                 /* it is being suspended, or held: try again */
#define SUSPEND_MAX  0x7f                       /* as on Windows; the count stays */
/* These return the previous count. *word: the state word after the exchange; a later read may see
   what other threads have done since. _suspended counts a suspension that exists already, or the
   thread's own. */
uint32_t ums_context_suspended( struct ums_context *context );
/* 0 or SUSPEND_WAIT: nothing was changed. wait: 0: never return SUSPEND_WAIT. */
uint32_t ums_context_resumed( struct ums_context *context, int wait, uint64_t *word );
/* A suspension begins. With join also while the worker is held: the holder may have been stopped for good. */
uint32_t ums_context_suspending( struct ums_context *context, int join, uint64_t *word );
/* How it ended. 0: a resume has not waited for it any more, and has taken it from the count: the thread must not stay suspended
   for it. */
int ums_context_suspend_made( struct ums_context *context, int made, uint64_t *word );
/* A hold: another thread reads or changes the worker's registers, or ends it. Meanwhile Execute
   returns "retry", and suspensions and resumes wait; nothing else shows it. There is one hold at a time, and none
   while a suspension is made. With join there may be others, whose threads may have been stopped for good: 0 if there
   are too many.
   which: the states in which it may be taken. *word: the word after the exchange. */
enum hold_which { HOLD_ANY, HOLD_STILL };       /* STILL: parked, or its thread is suspended */
enum hold_taken { HOLD_REFUSED, HOLD_WAIT, HOLD_TAKEN };
enum hold_taken ums_context_hold( struct ums_context *context, enum hold_which which, int join,
                                  uint64_t *word );
uint64_t ums_context_let_go( struct ums_context *context );
/* Take a reference, if this still is the context of that thread. */
int ums_context_ref( struct ums_context *context, uint32_t tid );
static inline enum worker_state word_state( uint64_t word )
{
    return (enum worker_state)(word & WORD_STATE);
}

/* ---- thread_ids.c: any thread; no lock, readers write nothing ---- */

/* This thread id belongs to the context: the calling thread's, or that of a thread that is
   suspended before its first instruction. May enter the kernel, for memory. */
void ums_thread_id_set( struct ums_context *context, uint32_t tid );
/* The thread ends. Does nothing if the id or the context belongs to another one by now. */
void ums_thread_id_clear( struct ums_context *context, uint32_t tid );
struct ums_context *ums_context_of_thread( uint32_t tid ); /* live scheduler or worker, or NULL */

/* ---- scheduler.c ---- */

extern int64_t ums_grace;                       /* 100 ns; written at start */
extern int64_t ums_grace_unseen;                /* the same where nobody looks whether the thread sleeps; not
                                                   shorter */
extern int ums_page_faults;                     /* workers that sleep for a page are looked for;
                                                   written at start */
extern int ums_carry;                           /* the engine is carry; written at start, and set to
                                                   0 if a hook fails later */
extern int ums_straight;                        /* ums_carry is 1, and nobody counts or records each
                                                   Execute; written with ums_carry */

extern struct ums_pool ums_scheduler_pool;

int  ums_scheduler_init( void );
ums_status ums_scheduler_enter( uint32_t version, void *list, void (*proc)(void), void *param );
ums_status ums_scheduler_attach( void *list, void *context );
void ums_scheduler_detach( struct ums_context *context );
void ums_scheduler_end( struct ums_context *context );
/* The thread of s is dead, and no other one has s. Was the worker on it? If not, ask again later: another scheduler may
   have begun to execute the worker. */
int  ums_carrier_is_gone( struct ums_scheduler *s, const struct ums_context *w );
/* Called by whoever has killed the thread, when no worker ran on it or was about to post. */
void ums_scheduler_killed( struct ums_context *context );
/* Does not return on success. On failure it returns failed( status ). */
int32_t ums_execute( void *handle, int32_t (*failed)( ums_status status ) );
_Noreturn void ums_scheduler_wait( struct ums_scheduler *s );

/* ---- worker.c: called on the worker's home thread, except for bind, made and unbind ---- */

ums_status ums_worker_bind( void *context, void *list, void *start, void *param,
                            struct ums_context **worker );
void ums_worker_made( struct ums_context *w, void *teb, uint32_t tid );
void ums_worker_unbind( struct ums_context *w );
void ums_worker_start( struct ums_context *w );
void ums_worker_end( struct ums_context *w );

/* The worker itself, at home or on a carrier. Those that enter the kernel return at home. */
static inline int ums_worker_is_carried( struct ums_context *w );

/* A thread that suspends a scheduler's thread for a moment calls the first of these before that, and
   the second when the scheduler's thread continues, or the suspension has become final. A thread that stops here
   for ever leaves the number too high: ke_preempt then gives up after UMS_PATIENCE where the program
   has suspended the carrier. */
#define PREEMPTERS_NOW  0xffffu
#define PREEMPTERS_EVER 0x10000u

static inline uint32_t ums_preempter_begins( struct ums_scheduler *s )
{
    return atomic_fetch_add( &s->preempters, PREEMPTERS_EVER + 1 );
}

static inline void ums_preempter_ends( struct ums_scheduler *s )
{
    atomic_fetch_sub( &s->preempters, 1 );
}

/* How many other momentary suspensions there may be. before: what ums_preempter_begins returned. Call
   this when the thread has been suspended: all suspensions that were made before had begun by then. One that has
   begun and ended meanwhile is counted too, because its suspension may have been seen. */
static inline uint32_t ums_preempters_since( struct ums_scheduler *s, uint32_t before )
{
    uint32_t now = atomic_load( &s->preempters );

    return (before & PREEMPTERS_NOW) +
           ((now / PREEMPTERS_EVER - before / PREEMPTERS_EVER) & PREEMPTERS_NOW) - 1;
}
void ums_worker_go_home( struct ums_context *w );
void ums_worker_give_way( struct ums_context *w );
/* The worker must not be stopped in between. more: 1 or -1. */
void ums_worker_busy( struct ums_context *w, int more );
int  ums_worker_block( struct ums_context *w, uintptr_t payload );
int  ums_worker_queue( struct ums_context *w, uint64_t *word, uint64_t next );
/* For wait.c, on the home thread in its parking place: queue the worker and wait until it is
   executed at home; wait for that alone; the flag with which it must park, WORD_HOME or 0. */
void ums_worker_queue_at_home( struct ums_context *w );
void ums_worker_home_wait( struct ums_context *w );
/* For a signal handler on the home thread, after ums_worker_held: wait until the worker is executed at
   home. Returns at once if that has happened, or if the worker was not taken off its scheduler. */
void ums_worker_held_wait( struct ums_context *w );
uint64_t ums_worker_must_stay( const struct ums_context *w );
/* The number of workers whose threads have not ended. */
uint32_t ums_workers_alive( void );
int  ums_worker_enter_kernel( struct ums_context *w );
void ums_worker_back( struct ums_context *w );
/* The same for a call that may have been made in a callback of another one, which goes on and is announced again.
   blocked: what ums_worker_block returned. */
void ums_worker_back_from( struct ums_context *w, int blocked );
/* Returns success, or failed( status ). */
int32_t ums_yield( void *param, int32_t success, int32_t (*failed)( ums_status status ) );

/* ---- worker_stop.c: others stop a worker, or end it; any thread ---- */

void ums_worker_killed( struct ums_context *w ); /* called by whoever killed the thread */
/* Called by a thread that has found kill_pending set: the carrier, or whoever has resumed it. */
void ums_worker_killed_finish( struct ums_context *w );
/* On a carrier that is about to end: the worker's state is saved, as for ums_left_preempted, but
   another thread has to queue it. */
void ums_worker_left_behind( struct ums_context *w );
void ums_worker_pin( struct ums_context *w ); /* called by whoever holds it */
void ums_worker_taken( struct ums_context *w ); /* from a scheduler that is being killed */

/* The thread of s has died: queue its worker w if that has yielded to it unheard. 0: call again later. */
int ums_worker_queue_unheard( struct ums_scheduler *s, struct ums_context *w );
/* Called by whoever suspended the thread. 1: that suspension keeps the worker stopped from now on,
   until it is executed; it was suspended for a hold only. */
int  ums_worker_stopped( struct ums_context *w );
/* The same for a suspension. 1: this call has made it STOPPED, and the suspension keeps it so. */
int  ums_worker_suspended( struct ums_context *w );
/* The worker's thread sleeps in its parking place or stands still in a signal handler, and
   continues by itself when the worker is executed; WORD_FOREIGN is set. Take it off its scheduler,
   if it has one. */
void ums_worker_held( struct ums_context *w );
void ums_worker_kept( struct ums_context *w ); /* called by whoever resumes its scheduler */
int  ums_worker_faulted( struct ums_context *w, uint64_t word );
/* Called by whoever is about to resume it; word: without the suspension. */
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
/* Count schedulers, and workers by state; the figures are not a snapshot. Any thread. */
void ums_take_census( struct ums_census *census );
/* How often Execute has carried a worker since the start, and how often it has sent one home. Any
   thread. */
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

/* ---- holders.c ---- */

/* The calling thread (self: its context, or NULL) keeps another one suspended, has a handle of its own open, or
   has said that it does something for others, and has not done it yet: it must not be stopped before. A
   worker is busy; another thread is noted, and whoever in this process suspends or terminates it waits. So
   it must not wait for another thread in between: that one may want to stop it. more: 1 or -1; 0 does
   nothing. */
void ums_hold_self( struct ums_context *self, int more );
/* The thread is not a worker, and stands still. Is it in between? */
int  ums_thread_holds( uint32_t tid );
/* The same, asked by whoever has stopped it to terminate it: the thread pauses behind the section, so that it is found
   there. */
int  ums_thread_pauses( uint32_t tid );
/* It has been waited for in vain. */
void ums_thread_forget_hold( uint32_t tid );

/* Around the suspension of another thread which may have to be resumed because of where it stands, and around a resumption, which
   would undo that one. In between, wait for nothing but that it stands still, and for the lock of local objects; do not begin again.
   Call it while nothing is counted that others wait for. */
void ums_stop_begin( void );
/* The same where something is counted. 0: it was not its turn for two seconds, and it must not stop anybody. */
int  ums_stop_try( void );
void ums_stop_end( void );

#endif /* UMS_CORE_H */
