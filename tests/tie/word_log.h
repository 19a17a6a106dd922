/*
 * Included before each source of the core (-include) where its changes of state words are to be judged: each atomic
 * operation that the core uses to change one tells word_log.c what it has done.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Only what changed is told, after it, and without a lock. No order is wanted: each change is judged by itself.
 */
#ifndef WORD_LOG_H
#define WORD_LOG_H

#include <stdatomic.h>
#include <stdint.h>

/* Any thread. object: what was changed, a state word or anything else of 8 bytes. */
void word_log( const volatile void *object, uint64_t before, uint64_t after );

#define WORD_LOG( object, before, after ) \
    do if (sizeof(*(object)) == 8) word_log( (object), (uint64_t)(before), (uint64_t)(after) ); \
    while (0)

/* gcc's own macros, by functions that they expand to */
#define WORD_LOG_EXCHANGE( p, e, d, weak ) ({ \
    __auto_type p_ = (p); \
    __auto_type e_ = (e); \
    __typeof__(*e_) d_ = (d), was_ = *e_; \
    int done_ = __atomic_compare_exchange( p_, e_, &d_, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST ); \
    if (done_) WORD_LOG( p_, was_, d_ ); \
    done_; })

#define WORD_LOG_FETCH( p, by, fetch, after ) ({ \
    __auto_type p_ = (p); \
    __auto_type was_ = fetch( p_, (by), __ATOMIC_SEQ_CST ); \
    WORD_LOG( p_, was_, was_ after (by) ); \
    was_; })

#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak
#undef atomic_fetch_or
#undef atomic_fetch_and
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_store
#undef atomic_store_explicit

#define atomic_compare_exchange_strong( p, e, d )  WORD_LOG_EXCHANGE( p, e, d, 0 )
#define atomic_compare_exchange_weak( p, e, d )    WORD_LOG_EXCHANGE( p, e, d, 1 )
#define atomic_fetch_or( p, by )   WORD_LOG_FETCH( p, by, __atomic_fetch_or, | )
#define atomic_fetch_and( p, by )  WORD_LOG_FETCH( p, by, __atomic_fetch_and, & )
#define atomic_fetch_add( p, by )  WORD_LOG_FETCH( p, by, __atomic_fetch_add, + )
#define atomic_fetch_sub( p, by )  WORD_LOG_FETCH( p, by, __atomic_fetch_sub, - )

/* A store of one byte is worker_give_away's, which changes no more than the state. */
#define atomic_store_explicit( p, value, order ) ({ \
    __auto_type s_ = (p); \
    __typeof__((void)0, *s_) v_ = (value); \
    if (sizeof(*s_) == 8) \
    { \
        uint64_t old_ = (uint64_t)__atomic_exchange_n( s_, v_, __ATOMIC_SEQ_CST ); \
        word_log( s_, old_, (uint64_t)v_ ); \
    } \
    else if (sizeof(*s_) == 1) word_log_byte( s_, (uint8_t)(uintptr_t)v_, order ); \
    else __atomic_store_n( s_, v_, order ); })
#define atomic_store( p, value ) atomic_store_explicit( p, value, __ATOMIC_SEQ_CST )

/* Stores the byte. */
void word_log_byte( volatile void *object, uint8_t value, int order );

#endif
