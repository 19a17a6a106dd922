/*
 * White box, worker factories: all at once.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "kit.h"

#define ROUNDS 4000
#define HANDS  6

struct storm
{
    struct ums_factory *f;
    _Atomic uint64_t sum;                       /* of the keys that came */
    _Atomic uint32_t released, packets;
    _Atomic uint32_t releasing;                 /* threads: there is more to come */
    _Atomic uint32_t refused;
};

static unsigned int dice( unsigned int *seed, unsigned int sides )
{
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 16 & 0x7fff ? (*seed >> 16) % sides : 0;
}

static void storm_runs( struct ums_hand *h, unsigned int *seed )
{
    switch (dice( seed, 8 ))
    {
    case 0:
        if (ums_hand_blocks( h )) ums_hand_is_back( h );
        break;
    case 1:
        if (ums_hand_enters( h )) ums_hand_is_back( h );
        break;
    case 2:
        if (ums_hand_enters( h ))
        {
            usleep( 10 );
            ums_hand_is_back( h );
        }
        break;
    default: break;
    }
}

static void *storm_hand( void *arg )
{
    struct ums_hand *h = arg;
    struct ums_factory *f = atomic_load( &h->factory );
    struct storm *storm = f->start.param;
    unsigned int seed = (unsigned int)(uintptr_t)h >> 4;
    struct ums_packet packets[4];
    ums_status status;
    uint32_t n, i;

    ums_factory_ready( f, h );
    for (;;)
    {
        if (!ums_factory_wait_begin( f, h, packets, 1 + dice( &seed, 4 ), &n, &status ))
            status = ums_factory_wait_end( f, h, packets, 4, &n );
        if (status == STATUS_TIMEOUT)
        {
            if (dice( &seed, 2 )) continue;             /* it stays all the same */
            break;
        }
        if (status) break;
        for (i = 0; i < n; i++)
        {
            if (!packets[i].key) atomic_fetch_add( &storm->released, 1 );
            else atomic_fetch_add( &storm->packets, 1 );
            atomic_fetch_add( &storm->sum, packets[i].key );
        }
        storm_runs( h, &seed );
    }
    ums_hand_exits( h );
    return NULL;
}

static void *storm_release( void *arg )
{
    struct storm *storm = arg;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        if (ums_factory_release( storm->f )) atomic_fetch_add( &storm->refused, 1 );
        if (!(i % 64)) usleep( i % 512 ? 50 : 1000 );   /* long enough for some to give up */
    }
    atomic_fetch_sub( &storm->releasing, 1 );
    return NULL;
}

/* The manager: threads, packets of the port, who is blocked. */
static void *storm_manager( void *arg )
{
    pthread_t threads[HANDS * 200];
    struct storm *storm = arg;
    struct ums_factory *f = storm->f;
    uint32_t i, made = 0, key = 0;
    struct ums_hand *h;

    while (key < ROUNDS || atomic_load( &storm->releasing ) || pending( f ) || running( f ))
    {
        while (made < HANDS * 200 && (h = ums_factory_make( f )))
        {
            if (pthread_create( &threads[made], NULL, storm_hand, h ))
            {
                ums_factory_made( f, h, STATUS_NO_MEMORY );
                break;
            }
            made++;
            ums_factory_made( f, h, STATUS_SUCCESS );
        }
        for (i = 0; i < 8 && key < ROUNDS && ums_queue_room( f->queue ); i++) post( f, ++key );
        ums_queue_check( f->queue );
        ums_queue_watch( f->queue, 0 );
        for (i = 0; i < ums_pool_made( &ums_hand_pool ); i++)
        {
            h = ums_pool_any( &ums_hand_pool, i );
            if (state_of( h ) != HAND_ENDED) continue;
            if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( f->queue );
            if (ums_hand_free( h )) ums_factory_unref( f );
        }
        usleep( 20 );
    }
    ums_factory_shutdown( f );
    for (i = 0; i < made; i++) pthread_join( threads[i], NULL );
    return NULL;
}

void nothing_is_lost_or_done_twice( void **state )
{
    struct storm storm = { 0 };
    pthread_t releases[2], manager;
    struct ums_hand *h;
    uint32_t i;

    (void)state;
    fake_on_clock = NULL;
    storm.f = factory( 2, HANDS );
    storm.f->start.param = &storm;
    ums_factory_set( storm.f, 2, (uint64_t)-3000 );     /* 300 us */
    ums_factory_set( storm.f, 4, 1 );
    atomic_store( &storm.releasing, 2 );
    for (i = 0; i < 2; i++)
        assert_int_equal( pthread_create( &releases[i], NULL, storm_release, &storm ), 0 );
    assert_int_equal( pthread_create( &manager, NULL, storm_manager, &storm ), 0 );
    for (i = 0; i < 2; i++) pthread_join( releases[i], NULL );
    pthread_join( manager, NULL );
    for (i = 0; i < ums_pool_made( &ums_hand_pool ); i++)
    {
        h = ums_pool_any( &ums_hand_pool, i );
        if (state_of( h ) != HAND_ENDED) continue;
        if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( storm.f->queue );
        assert_true( ums_hand_free( h ) );
        ums_factory_unref( storm.f );
    }
    assert_int_equal( atomic_load( &storm.refused ), 0 );
    assert_int_equal( atomic_load( &storm.released ), 2 * ROUNDS );
    assert_int_equal( atomic_load( &storm.packets ), ROUNDS );
    assert_int_equal( atomic_load( &storm.sum ), (uint64_t)ROUNDS * (ROUNDS + 1) / 2 );
    finish( storm.f );
}
