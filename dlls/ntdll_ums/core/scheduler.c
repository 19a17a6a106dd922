/*
 * Scheduler threads: enter and leave the mode, execute a worker, wait for its upcall.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state machine is drawn in ums_core.h. A scheduler that carries its worker is that worker
 * until the worker leaves (carry.c). One whose worker runs at home waits in ums_scheduler_wait until
 * somebody posts an upcall: the worker when it yields, will block or ends, or the scheduler itself
 * when it finds the worker in one kernel call for longer than the grace period. Exactly one upcall
 * follows each execute, because the right to it goes with leaving CARRIED, which only the carrier
 * does, or RUNNING or INKERNEL, which one compare-and-swap decides.
 */

#include "watch/record.h"
#include "state.h"

/* A waiting scheduler that has found its worker outside the kernel this often stops looking by
   itself. */
#define IDLE_TICKS 16

/* 100 ns. How often a waiting scheduler looks whether a worker that makes no calls sleeps for a
   page: less and less often. */
#define FAULT_LOOK     100000
#define FAULT_LOOK_MAX 1600000

/* 100 ns. A look whether a worker's thread sleeps takes about as long as this; whoever asks for a
   shorter grace period is told without one. And so long the wineserver may take to answer. */
#define LOOK_TAKES      500
#define ANSWER_PATIENCE 10000000

/* Cache lines of a saved user part, and the frame above it. */
#define USER_PART_LINES 5

int64_t ums_grace = 20000;                      /* 2 ms; UMS_GRACE_US */
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

/* The token is consumed by the exchange; a wake-up between the look and the sleep finds the word
   changed. */
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

/* What a waiting scheduler has seen of its worker. */
struct watch
{
    uint64_t call;                              /* the state word of the call found, 0: none */
    int64_t  since;                             /* when it was found */
    int64_t  look;                              /* when to look whether its thread sleeps */
    int      asleep;                            /* it did at the last look, there: */
    struct ke_place bed;
    int      idle;                              /* looks in a row that found none */
    uint64_t faulted;                           /* the state word, if it slept for a page; or 0 */
    struct ke_place place;                      /* where */
    int64_t  interval, next;                    /* when to look for that */
};

/* In the call that this word is of. Which it is was noted before the word, and who comes out of it
   may note another at once. */
static int take_blocked( struct ums_scheduler *s, uint64_t word )
{
    struct ums_context *w = s->current;
    uint32_t call = ums_noted_call( w );
    struct ums_mark mark = ums_mark( w );

    if (!atomic_compare_exchange_strong( &w->word, &word, (word & ~WORD_STATE) | WORKER_BLOCKED ))
        return 0;
    ums_note( mark, s, EVENT_BLOCK, call );
    return 1;
}

/* A call takes longer than the grace period. On Windows only a thread that sleeps is blocked: one
   that waits for its turn on a busy machine is not, and may hold a lock that its SchedulerProc wants.
   So the worker is taken if its thread slept in the same place at two looks, a grace period apart;
   at once where the host does not tell. It may wake up right behind the look: it has slept then, and
   clients expect reports of calls that are over. */
static int is_blocked( struct ums_context *w, struct watch *watch, int64_t now )
{
    struct ke_place place;
    int again;

    if (ums_grace < LOOK_TAKES) return 1;
    switch (ke_find_sleep( atomic_load( &w->host_thread ), &place ))
    {
    case KE_UNKNOWN:
        return 1;
    case KE_AWAITS_ANSWER:
        watch->asleep = 0;
        return now - watch->since >= ANSWER_PATIENCE;
    case KE_ASLEEP:
        again = watch->asleep && place.sp == watch->bed.sp && place.pc == watch->bed.pc;
        watch->asleep = 1;
        watch->bed = place;
        return again;
    default:
        watch->asleep = 0;
        return 0;
    }
}

/* One look at the worker's word every grace period: a later look that finds the same call takes
   the worker, if the grace period is over and it is blocked; wake-ups come early too. w may have left
   long ago, be executed by another scheduler, or its slot be another worker's by now, as long as
   posted is checked between the two looks: if the first look saw a call that is not made under
   this scheduler, then the post came before that call. Returns 1 if the worker was taken. */
static int scheduler_look( struct ums_scheduler *s, struct watch *watch )
{
    uint64_t word = atomic_load( &s->current->word );

    if (word_state( word ) == WORKER_INKERNEL)
    {
        int64_t now = ke_clock();

        watch->idle = 0;
        if (word == watch->call && now < watch->look) return 0;
        watch->look = now + ums_grace;
        if (word == watch->call)
            return is_blocked( s->current, watch, now ) && take_blocked( s, word );
        watch->call   = word;
        watch->since  = now;
        watch->asleep = 0;
        return 0;
    }
    watch->call = 0;
    if (++watch->idle < IDLE_TICKS) return 0;

    /* Stop looking. The worker sets its state, then reads watching; here it is the other way
       round (both sequentially consistent), so either the worker wakes us or we see it in the
       kernel. */
    watch->idle = 0;
    atomic_store( &s->watching, 0 );
    word = atomic_load( &s->current->word );
    if (word_state( word ) == WORKER_INKERNEL) atomic_store( &s->watching, 1 );
    return 0;
}

/* Does the worker, which runs at home, sleep for a page? Who finds it there twice has it reported.
   Whatever is read too late: the word tells. A look is dear, and many wake-ups come early. */
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
    if (atomic_load( &s->watching )) return &ums_grace;
    return ums_page_faults ? &watch->interval : NULL;
}

/* The worker runs at home: wait for its upcall, and take it. */
void ums_scheduler_wait( struct ums_scheduler *s )
{
    struct watch watch = { .interval = FAULT_LOOK };

    while (!atomic_load( &s->posted ))
    {
        if (atomic_load( &s->watching ) && scheduler_look( s, &watch ))
        {
            atomic_store( &s->posted, 1 );      /* nothing is waited for any more */
            ke_scheduler_upcall( s, REASON_BLOCKED, PAYLOAD_SYSCALL, NULL );
        }
        /* for who has stopped the thread, so the order is the program's */
        atomic_store_explicit( &s->waiting, 1, memory_order_relaxed );
        ums_park( &s->park, time_to_look( s, &watch ) );
        atomic_store_explicit( &s->waiting, 0, memory_order_relaxed );
        if (ums_page_faults && !atomic_load( &s->posted ))
            look_for_fault( s->current, &watch );
    }
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

/* It is queued where it ran last [seen]. */
static void change_list( struct ums_scheduler *s, struct ums_context *w )
{
    struct ums_list *old = w->list;

    ums_list_ref( s->list );
    w->list = s->list;
    ums_list_unref( old );
}

/* Loads take their time. Workers are often executed in the same order again: so bring near what a
   switch will need, the context of the one after the next, and stack and TEB of the next, whose
   context has come meanwhile. All of it only guesses: contexts stay readable for ever, and bringing
   near what is not there does nothing. So it does not matter that these fields may be changed by
   others as we look, of which TSan would complain. */
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

/* For others to read, now and then: a plain addition, of this thread alone. */
static inline void count( _Atomic uint64_t *counter )
{
    atomic_store_explicit( counter, atomic_load_explicit( counter, memory_order_relaxed ) + 1,
                           memory_order_relaxed );
}

/* The worker is ours, and nobody else's to change until it leaves. Who stops it meanwhile checks
   the owner against s->current. That names the worker before it is taken: who has found this thread
   stopped in between, and lets it go on, knows whom it may have taken (resume_scheduler). word: as
   it was. */
static __attribute__((noinline)) int32_t execute_taken( struct ums_scheduler *s,
                                                         struct ums_context *w, uint64_t word )
{
    w->owner = s;
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
    /* a slot that is no live worker's is never READY */
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

/* The plain way saves no register: everything that is not plain is a jump to somewhere else. */
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

/* Make the calling thread a scheduler thread, with this unused context for its own and no entry
   point yet: what the kernel does for ntdll. */
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
    atomic_store( &s->posted, 1 );
    atomic_store( &s->watching, 0 );
    atomic_store( &s->waiting, 0 );
    atomic_store( &s->killed, 0 );
    ke_thread_renew( context );
    context->kind      = CONTEXT_SCHEDULER;
    context->scheduler = s;
    context->teb       = ke_teb();
    atomic_store( &context->flags, 0 );         /* alive */
    ums_thread_id_set( context, ke_thread_id() );
    ke_thread_enters( context );
    s->idle = 0;
    ums_record_enter( s );
    ke_set_current( context );
    return STATUS_SUCCESS;
}

static void give_up( struct ums_context *context )
{
    struct ums_scheduler *s = context->scheduler;

    ums_record_leave( s );
    ums_thread_id_clear( context, atomic_load( &context->tid ) );       /* found, it would be a worker */
    context->kind      = CONTEXT_WORKER;
    context->scheduler = NULL;
    atomic_store( &context->flags, CONTEXT_TERMINATED );
    /* who looks for a worker may come here late, when the context is another thread's */
    s->current = NULL;
    s->context = NULL;
    ums_list_unref( s->list );
    ums_pool_free( &ums_scheduler_pool, s );
}

/* Make a scheduler thread plain again; its context is left like one whose thread has ended. Also
   on the way out of a thread that ends inside its SchedulerProc. It waits for no worker now. */
void ums_scheduler_detach( struct ums_context *context )
{
    ke_set_current( NULL );
    ke_thread_leaves( context );
    give_up( context );
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
    ums_scheduler_detach( context );
    ums_context_delete( context );
    return STATUS_SUCCESS;
}

/* The scheduler thread ends where it is. What EnterUmsSchedulingMode made goes with it. */
void ums_scheduler_end( struct ums_context *context )
{
    int entered = context->scheduler->proc != NULL;

    ums_scheduler_detach( context );
    if (entered) ums_context_delete( context );
}

void ums_scheduler_killed( struct ums_context *context )
{
    int entered = context->scheduler->proc != NULL;

    give_up( context );
    if (entered) ums_context_delete( context );
}
