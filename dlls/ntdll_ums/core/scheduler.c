/*
 * Scheduler threads: enter and leave the mode, execute a worker, wait for its upcall.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ums_core.h shows the state machine. While a scheduler carries a worker, its thread is that
 * worker, until the worker leaves (carry.c). A scheduler whose worker runs at home waits in
 * ums_scheduler_wait for an upcall. The worker posts it when it yields, will block or ends; or the
 * scheduler itself does when it finds the worker in one kernel call for longer than the grace
 * period. Exactly one upcall follows each execute, because the right to it goes with leaving
 * CARRIED, which only the carrier does, or RUNNING or INKERNEL, which one compare-and-swap decides.
 */

#include "objects.h"
#include "patience.h"
#include "record/record.h"
#include "state.h"

/* A waiting scheduler that has found its worker outside the kernel this often stops its periodic
   looks. */
#define IDLE_TICKS 16

/* 100 ns. The interval at which a waiting scheduler checks whether a worker that makes no calls
   sleeps in a page fault. It grows from the first value to the second. */
#define FAULT_LOOK     100000
#define FAULT_LOOK_MAX 1600000

/* 100 ns. A look whether a worker's thread sleeps takes about LOOK_TAKES; with a shorter grace period
   there are no looks. */
#define LOOK_TAKES      500
#define SECOND_LOOK     4                       /* the second look: after 1/4 of the grace period */

/* Cache lines of a saved user part, and the frame above it. */
#define USER_PART_LINES 5

int64_t ums_grace = 2000;                       /* 200 us; UMS_GRACE_US */
int64_t ums_grace_unseen;
int ums_page_faults;
int ums_carry, ums_straight;

struct ums_pool ums_scheduler_pool;

int ums_scheduler_init( void )
{
    return ums_pool_init( &ums_scheduler_pool, sizeof(struct ums_scheduler), 16384 );
}

/* ---- park ---- */

void ums_unpark( struct ums_park *park )
{
    if (!atomic_exchange( &park->token, 1 )) ke_wake( &park->token, 0 );
}

/* The exchange consumes the token. A wake-up between the exchange and the sleep has changed the
   word, so the sleep ends at once. */
void ums_park( struct ums_park *park, const int64_t *timeout )
{
    while (!atomic_exchange( &park->token, 0 ))
    {
        ke_wait( &park->token, 0, timeout );
        if (timeout)
        {
            atomic_store( &park->token, 0 );
            return;
        }
    }
}

/* ---- the scheduler thread ---- */

/* What a waiting scheduler has observed of its worker. */
struct watch
{
    uint64_t call;                              /* the state word of the call found, 0: none */
    int64_t  since;                             /* when it was found */
    int64_t  look;                              /* when to look whether its thread sleeps */
    int      asleep;                            /* it slept at the last look, at: */
    struct ke_place bed;
    int64_t  tick;                              /* until the next look */
    int      idle;                              /* looks in a row that found none */
    uint64_t faulted;                           /* the state word, if it slept for a page; or 0 */
    struct ke_place place;                      /* where it slept for the page */
    int64_t  interval, next;                    /* of the looks for page faults */
};

/* Take the worker as blocked in the call that this word belongs to. The name of the call is read
   before the exchange: it was noted before the word, and a worker that leaves the call may note
   another one at once. Its thread may have yet to post here while another scheduler has executed the
   worker already: one that carries it makes it INKERNEL before that thread runs on. The owner belongs
   to this word, because each Execute has its own number. */
static int take_blocked( struct ums_scheduler *s, uint64_t word )
{
    struct ums_context *w = s->current;
    uint32_t call = ums_noted_call( w );
    struct ums_mark mark = ums_mark( w );

    if (__atomic_load_n( &w->owner, __ATOMIC_RELAXED ) != s ||
        !atomic_compare_exchange_strong( &w->word, &word, (word & ~WORD_STATE) | WORKER_BLOCKED ))
        return 0;
    ums_note( mark, s, EVENT_BLOCK, call );
    return 1;
}

/* A call takes longer than the grace period. On Windows only a thread that sleeps is blocked. A
   thread that waits for a CPU on a busy machine is not, and may hold a lock that its SchedulerProc
   needs. So the worker is taken if its thread slept in the same place at two looks. The second one
   comes soon after the first; if the thread is elsewhere by then it makes progress, and the next look
   can wait. Its parking place is no such place: this thread makes the state INKERNEL, then wakes the other one
   there, then looks; and a thread that parks again changes the word first, so that the exchange in take_blocked
   fails. So a thread that sleeps there was woken and will run. If it is suspended instead it sleeps elsewhere, and
   of one that was terminated the host tells nothing: both are taken as before. Where the host
   cannot tell, the call's time alone tells, and has to be longer. The thread may wake up right after
   the second look. Then it has slept, and clients expect reports of calls that are already over. */
static int is_blocked( struct ums_context *w, struct watch *watch, int64_t now )
{
    struct ke_place place;
    int again;

    if (ums_grace < LOOK_TAKES) return 1;
    switch (ke_find_sleep( atomic_load( &w->host_thread ), &w->park.token, &place ))
    {
    case KE_UNKNOWN:
        return now - watch->since >= ums_grace_unseen;
    case KE_AWAITS_ANSWER:
        watch->asleep = 0;
        return now - watch->since >= UMS_PATIENCE;
    case KE_ASLEEP:
        again = watch->asleep && place.sp == watch->bed.sp && place.pc == watch->bed.pc;
        if (!watch->asleep)
        {
            watch->tick = ums_grace / SECOND_LOOK;
            watch->look = now + watch->tick;
        }
        watch->asleep = 1;
        watch->bed = place;
        return again;
    default:
        watch->asleep = 0;
        return 0;
    }
}

/* Read the worker's word at each tick, once every grace period or sooner. A later look that finds the same call takes the
   worker, if the grace period is over and the worker is blocked; a wake-up can come early.
   Meanwhile the worker may have left, may run on another scheduler, or its slot may be another
   worker: take_blocked sees that by the owner. Returns 1 if the worker was taken. */
static int scheduler_look( struct ums_scheduler *s, struct watch *watch )
{
    uint64_t word = atomic_load( &s->current->word );

    if (word_state( word ) == WORKER_INKERNEL)
    {
        int64_t now = ke_clock();

        watch->idle = 0;
        if (word == watch->call && now < watch->look) return 0;
        watch->tick = ums_grace;
        watch->look = now + ums_grace;
        if (word == watch->call)
            return is_blocked( s->current, watch, now ) && take_blocked( s, word );
        watch->call   = word;
        watch->since  = now;
        watch->asleep = 0;
        return 0;
    }
    watch->call = 0;
    watch->tick = ums_grace;
    if (++watch->idle < IDLE_TICKS) return 0;

    /* Stop looking. The worker sets its state, then reads watching. This thread clears watching,
       then reads the state. Both are sequentially consistent, so either the worker wakes this
       thread, or this thread sees it in the kernel. */
    watch->idle = 0;
    atomic_store( &s->watching, 0 );
    word = atomic_load( &s->current->word );
    if (word_state( word ) == WORKER_INKERNEL) atomic_store( &s->watching, 1 );
    return 0;
}

/* Does the worker, which runs at home, sleep in a page fault? Two looks that find it in the same
   place report it. If what they read is stale, the word has changed. A look is expensive and many
   wake-ups come early, so most of them do not look. */
static void look_for_fault( struct ums_context *w, struct watch *watch )
{
    uint64_t word = atomic_load( &w->word ), before = watch->faulted;
    int64_t now = ke_clock();
    struct ke_place place;
    int first = !watch->next;

    if (now < watch->next) return;
    watch->next = now + watch->interval;
    watch->faulted = 0;
    if (first) return;
    if (watch->interval < FAULT_LOOK_MAX) watch->interval *= 2;
    if (word_state( word ) != WORKER_RUNNING ||
        !ke_in_fault( atomic_load( &w->host_thread ), &place )) return;
    if (word == before && place.pc == watch->place.pc && place.sp == watch->place.sp)
        ke_report_fault( w, word, &place );
    watch->faulted  = word;
    watch->place    = place;
    watch->interval = FAULT_LOOK;
    watch->next     = now + FAULT_LOOK;
}

/* How long the scheduler may sleep; NULL: until it is woken. */
static const int64_t *time_to_look( struct ums_scheduler *s, const struct watch *watch )
{
    if (atomic_load( &s->watching )) return &watch->tick;
    return ums_page_faults ? &watch->interval : NULL;
}

/* The worker runs at home: wait for its upcall, and take it. */
void ums_scheduler_wait( struct ums_scheduler *s )
{
    struct watch watch = { .tick = ums_grace, .interval = FAULT_LOOK };

    while (atomic_load( &s->posted ) == POST_AWAITED)
    {
        if (atomic_load( &s->watching ) && scheduler_look( s, &watch ))
        {
            atomic_store( &s->posted, POST_NONE );
            ke_scheduler_upcall( s, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
        }
        /* only a thread that has stopped this one, or has seen it dead, reads it: program order is enough */
        atomic_store_explicit( &s->waiting, 1, memory_order_relaxed );
        ums_park( &s->park, time_to_look( s, &watch ) );
        atomic_store_explicit( &s->waiting, 0, memory_order_relaxed );
        if (ums_page_faults && atomic_load( &s->posted ) == POST_AWAITED)
            look_for_fault( s->current, &watch );
    }
    atomic_store( &s->posted, POST_NONE );
    ke_scheduler_upcall( s, s->upcall.reason, s->upcall.payload, s->upcall.param );
}

/* Why the worker could not be taken [seen]. */
static ums_status execute_error( struct ums_context *w, uint64_t word )
{
    if (!ums_context_check( w ) || w->kind != CONTEXT_WORKER) return STATUS_INVALID_PARAMETER;
    switch (word_state( word ))
    {
    case WORKER_NONE:     return STATUS_INVALID_PARAMETER;
    case WORKER_CARRIED:
    case WORKER_RUNNING:
    case WORKER_INKERNEL: return STATUS_INTERNAL_ERROR;
    case WORKER_DEAD:     return STATUS_INVALID_THREAD;
    default:              return (word & WORD_HALTED) ? STATUS_INVALID_THREAD : STATUS_RETRY;
    }
}

/* A worker is queued on the list of the scheduler that executed it last [seen]. */
static void change_list( struct ums_scheduler *s, struct ums_context *w )
{
    struct ums_list *old = w->list;

    ums_list_ref( s->list );
    w->list = s->list;
    ums_list_unref( old );
}

/* Workers are often executed in the same order again. So prefetch what the next switches will need:
   the context of the worker after the next, and the stack and TEB of the next, whose context was
   prefetched one switch earlier. These are guesses. Contexts stay readable for ever, and a prefetch
   of an address that is not mapped does nothing. So other threads may change these fields during
   the reads; TSan would report that. */
__attribute__((no_sanitize( "thread" )))
static inline void prefetch( struct ums_context *before, struct ums_context *w )
{
    struct ums_context *next, *next_but_one;
    int i;

    if (before == w) return;
    if (before) atomic_store_explicit( &before->after, w, memory_order_relaxed );
    if (!(next = atomic_load_explicit( &w->after, memory_order_relaxed ))) return;
    for (i = 0; i < USER_PART_LINES; i++) __builtin_prefetch( (char *)next->sp + i * 64, 1 );
    __builtin_prefetch( (char *)next->teb + ke_tls_offset(), 0 );
    if (!(next_but_one = atomic_load_explicit( &next->after, memory_order_relaxed ))) return;
    __builtin_prefetch( &next_but_one->teb, 1 );
    __builtin_prefetch( &next_but_one->sp, 1 );
}

/* Only this thread writes the counter, so a plain addition is enough. Others read it at times. */
static inline void count( _Atomic uint64_t *counter )
{
    atomic_store_explicit( counter, atomic_load_explicit( counter, memory_order_relaxed ) + 1,
                           memory_order_relaxed );
}

/* This scheduler has taken the worker; no other thread changes its state until it leaves. A thread
   that stops it meanwhile compares the owner with s->current. s->current names the worker before it
   is taken: a thread that finds this one stopped in between, and resumes it, knows which worker it
   may have taken (resume_scheduler). word: the word before the exchange. */
static __attribute__((noinline)) int32_t execute_taken( struct ums_scheduler *s,
                                                         struct ums_context *w, uint64_t word )
{
    __atomic_store_n( &w->owner, s, __ATOMIC_RELAXED );         /* its last scheduler may be in take_blocked */
    count( &s->executed );
    ums_note_by( s, w, EVENT_EXECUTE, 0 );
    if (w->list != s->list) change_list( s, w );
    if ((!ums_carry && !(word & WORD_PREEMPTED)) || (word & (WORD_HOME | WORD_STOPPED)))
    {
        count( &s->sent_home );
        ums_left_running( s, w, (word & WORD_STOPPED) != 0 );
    }
    atomic_fetch_and( &w->flags, ~(uint32_t)CONTEXT_RUNNING_ON_SELF_THREAD );
    count( &s->carried );
    return ke_carry( s, w );
}

static __attribute__((noinline)) int32_t execute_slowly( void *handle,
                                                          int32_t (*failed)( ums_status status ) )
{
    struct ums_context *self = ke_current(), *w = handle, *before;
    struct ums_scheduler *s;
    uint64_t word;

    if (!handle) return failed( STATUS_INVALID_PARAMETER );
    if (!self || self->kind != CONTEXT_SCHEDULER || !self->scheduler->proc)
        return failed( STATUS_NOT_SUPPORTED );
    if (!ums_context_slot( handle )) return failed( STATUS_INVALID_PARAMETER );

    s = self->scheduler;
    before = s->current;
    s->current = w;
    /* a slot without a live worker is never READY */
    word = atomic_load( &w->word );
    do
    {
        if (word_state( word ) != WORKER_READY || (word & WORD_BARRED))
        {
            s->current = before;
            if (word_state( word ) == WORKER_DEAD) ums_list_walked( w, 1 );
            return failed( execute_error( w, word ) );
        }
    }
    while (!atomic_compare_exchange_weak( &w->word, &word,
                                          ((word + WORD_SEQ) & ~(WORD_STATE | WORD_PARKED | WORD_LINKED)) |
                                          WORKER_CARRIED ));
    return execute_taken( s, w, word );
}

/* The fast path saves no register: every other case is a tail call. */
int32_t ums_execute( void *handle, int32_t (*failed)( ums_status status ) )
{
    struct ums_context *self = ke_current(), *w = handle, *before;
    struct ums_scheduler *s;
    uint64_t word;

    if (!self || self->kind != CONTEXT_SCHEDULER || !ums_context_slot( handle ))
        return execute_slowly( handle, failed );
    s = self->scheduler;
    word = atomic_load_explicit( &w->word, memory_order_relaxed );
    if ((word & ~WORD_SEQ_MASK) != WORKER_READY || !s->proc) return execute_slowly( handle, failed );
    before = s->current;
    s->current = w;
    if (!atomic_compare_exchange_strong( &w->word, &word,
                                         word + WORD_SEQ + WORKER_CARRIED - WORKER_READY ))
    {
        s->current = before;
        return execute_slowly( handle, failed );
    }
    if (w->list != s->list || !ums_straight ||
        (atomic_load_explicit( &w->flags, memory_order_relaxed ) & CONTEXT_RUNNING_ON_SELF_THREAD))
        return execute_taken( s, w, word );
    prefetch( before, w );
    w->owner = s;
    count( &s->carried );
    return ke_carry( s, w );
}

/* Make the calling thread a scheduler thread, with this unused context and no entry point yet. On
   Windows the kernel does this for ntdll. */
ums_status ums_scheduler_attach( void *list_handle, void *handle )
{
    struct ums_list *list = ums_list_check( list_handle );
    struct ums_context *context = ums_context_check( handle );
    struct ums_scheduler *s;

    if (!list || !context) return STATUS_INVALID_PARAMETER;
    if (ke_current()) return STATUS_NOT_SUPPORTED;
    if (context->kind != CONTEXT_WORKER ||
        word_state( atomic_load( &context->word ) ) != WORKER_NONE)
        return STATUS_INVALID_PARAMETER;
    if (!(s = ums_pool_alloc( &ums_scheduler_pool ))) return STATUS_NO_MEMORY;

    ums_list_ref( list );
    s->base    = NULL;
    s->proc    = NULL;
    s->teb     = ke_teb();
    s->list    = list;
    s->context = context;
    s->current = NULL;
    atomic_store( &s->posted, POST_NONE );
    atomic_store( &s->watching, 0 );
    atomic_store( &s->waiting, 0 );
    atomic_store( &s->killed, 0 );
    ke_thread_renew( context );
    context->kind      = CONTEXT_SCHEDULER;
    context->scheduler = s;
    context->teb       = ke_teb();
    context->stack_base = ke_stack_base();
    atomic_store( &context->flags, 0 );         /* alive */
    /* From here on it is found. It may have to make the warden, and wait for the former one to end, which stops nobody
       any more, for two seconds at most. */
    ums_hold_self( NULL, 1 );
    ums_thread_id_set( context, ke_thread_id() );
    ke_thread_enters( context );
    s->idle = s->passes = 0;
    atomic_store( &s->dead_since, 0 );
    ums_record_enter( s );
    ke_set_current( context );
    ums_hold_self( NULL, -1 );
    ums_objects_thread_enters( context );
    return STATUS_SUCCESS;
}

static void give_up( struct ums_context *context )
{
    struct ums_scheduler *s = context->scheduler;

    ums_record_leave( s );
    ums_thread_id_clear( context, atomic_load( &context->tid ) ); /* or pass for a worker */
    context->kind      = CONTEXT_WORKER;
    context->scheduler = NULL;
    atomic_store( &context->flags, CONTEXT_TERMINATED );
    /* a thread that looks for a worker may read these late, when the context is another thread's */
    s->current = NULL;
    s->context = NULL;
    ums_list_unref( s->list );
    ums_pool_free( &ums_scheduler_pool, s );
}

/* Turn a scheduler thread into a plain thread. Once its id is cleared the thread is found as a plain one; if it was
   terminated then, its list, its slot and the context that EnterUmsSchedulingMode created would be lost. */
static void leave_mode( struct ums_context *context, int entered )
{
    ums_objects_thread_leaves( context );       /* before another thread can get the context */
    ums_hold_self( NULL, 1 );
    ke_set_current( NULL );
    ke_thread_leaves( context );
    give_up( context );
    if (entered) ums_context_delete( context );
    ums_hold_self( NULL, -1 );
}

/* The context stays like one whose thread has ended. The scheduler waits for no worker. */
void ums_scheduler_detach( struct ums_context *context )
{
    leave_mode( context, 0 );
}

ums_status ums_scheduler_enter( uint32_t version, void *list, void (*proc)(void), void *param )
{
    struct ums_context *context;
    ums_status status;

    if (version != UMS_CONTEXT_VERSION || !ums_list_check( list ) || !proc)
        return STATUS_INVALID_PARAMETER;
    if (ke_current()) return STATUS_NOT_SUPPORTED;
    if ((status = ums_context_create( &context ))) return status;
    if ((status = ums_scheduler_attach( list, context )))
    {
        ums_context_delete( context );
        return status;
    }
    context->scheduler->proc = proc;
    ke_scheduler_run( context->scheduler, REASON_STARTUP, 0, param );
    ums_scheduler_end( context );
    return STATUS_SUCCESS;
}

/* The thread leaves the mode, or ends, in its SchedulerProc too. It waits for no worker then. */
void ums_scheduler_end( struct ums_context *context )
{
    leave_mode( context, context->scheduler->proc != NULL );
}

/* In Execute a worker is CARRIED before the new scheduler is its owner, and s may be the old one. The new one has
   written current before its exchange, and executes no other worker before this one has left it. The exchange and the
   caller's read of the word are sequentially consistent, so whoever sees CARRIED sees that current, too. So a scheduler
   whose current is another worker after the word was read did not carry this one then. If the word is still the same
   in the end, nobody has executed the worker meanwhile: each Execute has its own number. A scheduler that stops in between
   names the worker until it goes on; one that is given up names none. 0: it is not certain. */
static int is_on( const struct ums_scheduler *s, const struct ums_context *w, uint64_t word )
{
    uint32_t i, made = ums_pool_made( &ums_scheduler_pool );

    for (i = 0; i < made; i++)
    {
        const struct ums_scheduler *other = ums_pool_any( &ums_scheduler_pool, i );

        if (other != s && other->current == w) return 0;
    }
    return atomic_load( &w->word ) == word;
}

/* If another scheduler has executed the worker before, and nothing since, this is not certain for as long as that one
   goes on so. Then time decides. That is not logged, since most likely nothing is wrong; but it is wrong if that one was
   stopped for so long between its exchange and the owner (docs/foreign.md). */
int ums_carrier_is_gone( struct ums_scheduler *s, const struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );
    int64_t now, none = 0;

    if (word_state( word ) != WORKER_CARRIED || w->owner != s || s->current != w) return 0;
    if (is_on( s, w, word )) return 1;
    now = ke_clock();
    atomic_compare_exchange_strong( &s->dead_since, &none, now );
    return now - atomic_load( &s->dead_since ) > UMS_PATIENCE;
}

void ums_scheduler_killed( struct ums_context *context )
{
    int entered = context->scheduler->proc != NULL;

    give_up( context );
    if (entered) ums_context_delete( context );
}
