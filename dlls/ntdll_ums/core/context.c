/*
 * UMS contexts: life cycle, flags, user data.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A context has two references: the client's handle, which DeleteUmsThreadContext drops, and the
 * home thread's, which that thread drops last. The slot is reused when both are gone. A client may
 * delete a dequeued context as soon as it is marked terminated, while the home thread is still
 * ending.
 */

#include "ums_core.h"

enum                                            /* RTL_UMS_THREAD_INFO_CLASS [sdk] */
{
    INFO_USER_CONTEXT  = 1,
    INFO_TEB           = 4,
    INFO_IS_SUSPENDED  = 5,
    INFO_IS_TERMINATED = 6
};

struct ums_pool ums_context_pool;

int ums_context_init( void )
{
    return ums_pool_init( &ums_context_pool, sizeof(struct ums_context), 65536 );
}

struct ums_context *ums_context_check( void *handle )
{
    return ums_pool_valid( &ums_context_pool, handle, sizeof(struct ums_context) ) ? handle : NULL;
}

uint32_t ums_context_index( const struct ums_context *context )
{
    return ums_pool_index( &ums_context_pool, context );
}

static void zero( void *mem, size_t size )
{
    volatile unsigned char *p = mem;

    while (size--) *p++ = 0;
}

/* A new context is marked terminated until a thread is created with it [seen]. The sequence number
   continues from the slot's previous use. */
ums_status ums_context_create( struct ums_context **context )
{
    struct ums_context *c = ums_pool_alloc( &ums_context_pool );
    uint64_t seq;

    if (!c) return STATUS_NO_MEMORY;
    seq = (atomic_load( &c->word ) & WORD_SEQ_MASK) + WORD_SEQ;
    atomic_store( &c->link, NULL );
    zero( c->context, sizeof(c->context) );
    c->teb = NULL;
    atomic_store( &c->user_context, NULL );
    atomic_store( &c->after, NULL );
    c->kind = CONTEXT_WORKER;
    c->owner = NULL;
    c->success = 0;
    c->preempted = 0;
    c->in_call = 0;
    c->set = 0;
    c->scheduler = NULL;
    c->list = NULL;
    inside_reset( &c->inside );
    atomic_store( &c->on, NULL );
    atomic_store( &c->busy, 0 );
    atomic_store( &c->self_suspending, 0 );
    atomic_store( &c->tid, 0 );
    atomic_store( &c->flags, CONTEXT_TERMINATED );
    atomic_store( &c->word, seq | WORKER_NONE );
    atomic_store( &c->refs, 1 );
    ums_pool_open( c );
    *context = c;
    return STATUS_SUCCESS;
}

void ums_context_unref( struct ums_context *context )
{
    if (atomic_fetch_sub( &context->refs, 1 ) == 1) ums_pool_free( &ums_context_pool, context );
}

ums_status ums_context_delete( void *handle )
{
    struct ums_context *context = ums_context_check( handle );

    if (!context || !(atomic_load( &context->flags ) & CONTEXT_TERMINATED))
        return STATUS_INVALID_PARAMETER;
    /* another thread may have deleted it meanwhile */
    if (!ums_pool_close( context )) return STATUS_INVALID_PARAMETER;
    ums_list_walked( context, 0 );
    ums_context_unref( context );
    return STATUS_SUCCESS;
}

/* Buffers need not be aligned. */
static void copy( void *to, const void *from, size_t size )
{
    unsigned char *d = to;
    const unsigned char *s = from;

    while (size--) *d++ = *s++;
}

/* A dead worker may keep the suspension bits. */
static int is_suspended( uint64_t word )
{
    return (word & WORD_HALTED) && word_state( word ) != WORKER_DEAD;
}

ums_status ums_context_query( void *handle, uint32_t info_class, void *buffer, uint32_t length,
                              uint32_t *ret )
{
    struct ums_context *context = ums_context_check( handle );
    uint32_t flags;
    uint8_t flag;
    void *value;

    if (ret) *ret = 0;
    if (!context || !buffer) return STATUS_INVALID_PARAMETER;
    flags = atomic_load( &context->flags );

    switch (info_class)
    {
    case INFO_USER_CONTEXT:
    case INFO_TEB:
        if (length != sizeof(value)) return STATUS_INFO_LENGTH_MISMATCH;
        value = info_class == INFO_TEB ? context->teb : atomic_load( &context->user_context );
        copy( buffer, &value, sizeof(value) );
        break;
    case INFO_IS_SUSPENDED:
    case INFO_IS_TERMINATED:
        if (length != sizeof(flag)) return STATUS_INFO_LENGTH_MISMATCH;
        flag = info_class == INFO_IS_SUSPENDED ? is_suspended( atomic_load( &context->word ) )
                                               : !!(flags & CONTEXT_TERMINATED);
        copy( buffer, &flag, sizeof(flag) );
        break;
    default:
        return STATUS_NOT_SUPPORTED;
    }
    if (ret) *ret = length;
    return STATUS_SUCCESS;
}

ums_status ums_context_set( void *handle, uint32_t info_class, const void *buffer, uint32_t length )
{
    struct ums_context *context = ums_context_check( handle );
    void *value;

    if (!context || !buffer) return STATUS_INVALID_PARAMETER;
    if (info_class != INFO_USER_CONTEXT) return STATUS_NOT_SUPPORTED;
    if (length != sizeof(value)) return STATUS_INFO_LENGTH_MISMATCH;
    copy( &value, buffer, sizeof(value) );
    atomic_store( &context->user_context, value );
    return STATUS_SUCCESS;
}

uint32_t ums_context_suspended( struct ums_context *context )
{
    uint64_t word = atomic_load( &context->word );

    do if (word_suspended( word ) == SUSPEND_MAX) return SUSPEND_MAX;
    while (!atomic_compare_exchange_weak( &context->word, &word, word + SUSPENDED_ONE ));
    return word_suspended( word );
}

/* Not while the worker is held, nor is it held while a suspension is made: each waits for the other, and counts in the
   same word. A suspension that finds the worker busy is undone. If a hold stopped the worker in between, it would rely on
   that suspension, and resume the thread of a stopped worker. Both counts are in one word and change by exchange, so one of
   the two sees the other. Nobody is woken: whoever waits looks again, for UMS_MORE_PATIENCE at most, and takes that risk
   then, because the other thread may have been stopped for good. */
uint32_t ums_context_suspending( struct ums_context *context, int join, uint64_t *left )
{
    uint64_t word = atomic_load( &context->word );

    do
    {
        if (word_suspended( word ) == SUSPEND_MAX) return SUSPEND_MAX;
        if (((word & WORD_HOLD) && !join) || (word & WORD_SUSPENDING) == WORD_SUSPENDING) return SUSPEND_WAIT;
    }
    while (!atomic_compare_exchange_weak( &context->word, &word, word + SUSPENDED_ONE + SUSPENDING_ONE ));
    *left = word + SUSPENDED_ONE + SUSPENDING_ONE;
    return word_suspended( word );
}

/* The count includes those that are being made. If it is lower than their number, a resume has given up waiting for one of them. Which
   one is not known, and one whose thread was terminated never ends: so the next that ends is void, and so are the others that are being
   made, which are all that is left of the count. Otherwise one that never ends would keep the worker from being executed. */
int ums_context_suspend_made( struct ums_context *context, int made, uint64_t *left )
{
    uint64_t word = atomic_load( &context->word ), less;
    int counts;

    do
    {
        counts = word_suspended( word ) >= word_suspending( word );
        less = SUSPENDING_ONE + (!counts ? word & WORD_SUSPENDED : made ? 0 : SUSPENDED_ONE);
    }
    while (!atomic_compare_exchange_weak( &context->word, &word, word - less ));
    *left = word - less;
    return counts;
}

uint32_t ums_context_resumed( struct ums_context *context, int wait, uint64_t *left )
{
    uint64_t word = atomic_load( &context->word );

    do
    {
        if (!word_suspended( word )) return 0;  /* or suspended before it became a worker */
        if (wait && (word & (WORD_SUSPENDING | WORD_HOLD))) return SUSPEND_WAIT;
    }
    while (!atomic_compare_exchange_weak( &context->word, &word, word - SUSPENDED_ONE ));
    *left = word - SUSPENDED_ONE;
    return word_suspended( word );
}

/* Is the worker parked, or is its thread suspended in any other place? */
static int stands_still( uint64_t word )
{
    return word_state( word ) == WORKER_READY || word_state( word ) == WORKER_QUEUED ||
           (word_state( word ) == WORKER_BLOCKED && (word & WORD_WAITS)) ||
           ((word & WORD_SUSPENDED) && !(word & WORD_SUSPENDING));
}

enum hold_taken ums_context_hold( struct ums_context *context, enum hold_which which, int join,
                                  uint64_t *word )
{
    *word = atomic_load( &context->word );
    do
    {
        if (which == HOLD_STILL && !stands_still( *word )) return HOLD_REFUSED;
        if ((*word & WORD_HOLD) == WORD_HOLD) return join ? HOLD_REFUSED : HOLD_WAIT;
        if ((*word & (WORD_HOLD | WORD_SUSPENDING)) && !join) return HOLD_WAIT;
    }
    while (!atomic_compare_exchange_weak( &context->word, word, *word + HOLD_ONE ));
    *word += HOLD_ONE;
    return HOLD_TAKEN;
}

/* The holder releases its own hold, and has a reference. So the hold is still counted, whatever
   happened to the worker meanwhile. */
uint64_t ums_context_let_go( struct ums_context *context )
{
    return atomic_fetch_sub( &context->word, HOLD_ONE ) - HOLD_ONE;
}

int ums_context_ref( struct ums_context *context, uint32_t tid )
{
    uint32_t refs = atomic_load( &context->refs );

    do if (!refs) return 0;
    while (!atomic_compare_exchange_weak( &context->refs, &refs, refs + 1 ));
    if (atomic_load( &context->tid ) == tid) return 1;
    ums_context_unref( context );
    return 0;
}
