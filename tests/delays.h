/*
 * Delays at atomic operations, for cmake -DUMS_DELAYS=N: each C file of ntdll_ums is compiled with this in front.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Before and after each atomic operation that changes a word, and after each load, a thread stands still, once in UMS_DELAYS
 * times at random, for 2^12 to 2^25 cycles of the time stamp counter. That is what a thread does that Linux takes off its
 * processor there, so whatever fails with this is wrong without it too, unless it has run out of time. Moments of some
 * instructions, which the suite meets once in thousands of runs, become common. Operations with a memory order of their own
 * are left alone: most are on fast paths. The delay calls nothing, and of its thread it needs some bytes of the stack only: it may
 * be in a handler, on any stack and with any GS.
 */
#ifndef DELAYS_H
#define DELAYS_H

#include <stdatomic.h>

static __attribute__((noinline, unused)) void delay_here( void )
{
    static unsigned long long count;            /* of this file; the builtin, since the macros below are not for it */
    unsigned long long x = __sync_add_and_fetch( &count, 0x9e3779b97f4a7c15ull ) ^ __builtin_ia32_rdtsc(), end;

    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;  /* mixed as in splitmix64 */
    x ^= x >> 32;
    if (x % UMS_DELAYS) return;
    end = __builtin_ia32_rdtsc() + (1ull << (12 + (x >> 24) % 14));
    while (__builtin_ia32_rdtsc() < end) __builtin_ia32_pause();
}

#define DELAY_AROUND( operation ) \
    ({ delay_here(); __typeof__( operation ) delay_result = operation; delay_here(); delay_result; })

#undef atomic_load
#define atomic_load( p ) \
    ({ __typeof__( atomic_load_explicit( p, memory_order_seq_cst ) ) delay_result = \
           atomic_load_explicit( p, memory_order_seq_cst ); delay_here(); delay_result; })
#undef atomic_store
#define atomic_store( p, value ) \
    ({ delay_here(); atomic_store_explicit( p, value, memory_order_seq_cst ); delay_here(); })
#undef atomic_exchange
#define atomic_exchange( p, value ) DELAY_AROUND( atomic_exchange_explicit( p, value, memory_order_seq_cst ) )
#undef atomic_compare_exchange_strong
#define atomic_compare_exchange_strong( p, expected, value ) \
    DELAY_AROUND( atomic_compare_exchange_strong_explicit( p, expected, value, memory_order_seq_cst, memory_order_seq_cst ) )
#undef atomic_compare_exchange_weak
#define atomic_compare_exchange_weak( p, expected, value ) \
    DELAY_AROUND( atomic_compare_exchange_weak_explicit( p, expected, value, memory_order_seq_cst, memory_order_seq_cst ) )
#undef atomic_fetch_add
#define atomic_fetch_add( p, value ) DELAY_AROUND( atomic_fetch_add_explicit( p, value, memory_order_seq_cst ) )
#undef atomic_fetch_sub
#define atomic_fetch_sub( p, value ) DELAY_AROUND( atomic_fetch_sub_explicit( p, value, memory_order_seq_cst ) )
#undef atomic_fetch_or
#define atomic_fetch_or( p, value ) DELAY_AROUND( atomic_fetch_or_explicit( p, value, memory_order_seq_cst ) )
#undef atomic_fetch_and
#define atomic_fetch_and( p, value ) DELAY_AROUND( atomic_fetch_and_explicit( p, value, memory_order_seq_cst ) )

#endif /* DELAYS_H */
