/*
 * White box: the rings of a record and the text that is made of them; reading the counters of a HUD.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ke_fake.h"
#include "private/hud.h"
#include "../dlls/ntdll_ums/record/record.h"

#define SHIFT  RECORD_MIN_SHIFT
#define ROOM   (1u << SHIFT)
#define THREADS 4
#define EVENTS 200000                   /* so many that the threads run at the same time */

static char text[1 << 20];
static size_t used;
static int write_fails;

static int write_text( const char *more, size_t size )
{
    if (write_fails) return 0;
    assert_true( used + size < sizeof(text) );
    memcpy( text + used, more, size );
    used += size;
    text[used] = 0;
    return 1;
}

static void start( void )
{
    free( ums_record );
    ums_record_init( calloc( 1, ums_record_size( SHIFT ) ), SHIFT );
    ums_record->frequency = 1000000000;
    ums_record->start = 1000;
    atomic_store( &ums_record->workers, 100 );
    used = 0;
    ums_recording = 1;
}

static int write_all( void )
{
    ums_recording = 0;
    used = 0;
    return ums_record_write( write_text );
}

static unsigned int count( const char *what )
{
    unsigned int n = 0;
    const char *p;

    for (p = text; (p = strstr( p, what )); p++) n++;
    return n;
}

static void nothing_is_written_while_it_is_off( void **state )
{
    struct ums_scheduler s = { .number = 1 };
    struct ums_context *w = calloc( 1, sizeof(*w) );

    (void)state;
    start();
    ums_recording = 0;
    s.ring = &ums_record->ring[1];
    ums_note_by( &s, w, EVENT_EXECUTE, 0 );
    ums_note( ums_mark( w ), &s, EVENT_BLOCK, 0 );
    ums_note_call( w, 5 );
    assert_int_equal( ums_record->ring[0].head + ums_record->ring[1].head, 0 );
    assert_int_equal( w->call, 0 );
    free( w );
}

/* Its own ring, while there are any; then the shared one. */
static void schedulers_take_rings_and_give_them_back( void **state )
{
    struct ums_scheduler s[RECORD_RINGS];
    unsigned int i;

    (void)state;
    start();
    for (i = 0; i < RECORD_RINGS; i++) ums_record_enter( &s[i] );
    for (i = 0; i < RECORD_RINGS - 1; i++)
    {
        assert_ptr_equal( s[i].ring, &ums_record->ring[i + 1] );
        assert_int_equal( s[i].number, i + 1 );
        assert_int_equal( s[i].ring->head, 1 );
    }
    assert_null( s[i].ring );
    assert_int_equal( ums_record->ring[0].head, 1 );
    ums_record_leave( &s[7] );
    ums_record_enter( &s[i] );
    assert_ptr_equal( s[i].ring, &ums_record->ring[8] );
    assert_int_equal( s[i].ring->head, 3 );     /* what was there stays */
    assert_true( write_all() );
    assert_int_equal( count( "thread_name" ), RECORD_RINGS + 1 );
}

/* When all numbers have been given, they start again: nobody gets 0, which means nobody. */
static void numbers_start_again_at_one( void **state )
{
    struct ums_context *w = calloc( 1, sizeof(*w) );
    struct ums_scheduler s;

    (void)state;
    start();
    atomic_store( &ums_record->schedulers, 0xfffe );
    ums_record_enter( &s );
    assert_int_equal( s.number, 0xffff );
    ums_record_enter( &s );
    assert_int_equal( s.number, 1 );
    atomic_store( &ums_record->workers, 0xfffffe );
    ums_record_worker( w );
    assert_int_equal( w->number, 0xffffff );
    ums_record_worker( w );
    assert_int_equal( w->number, 1 );
    free( w );
}

/* The oldest go, and it is known how many. */
static void a_full_ring_loses_its_oldest( void **state )
{
    struct ums_ring *ring;
    uint32_t i, lost = 3 * ROOM - (ROOM - RECORD_SLACK);
    char want[64];

    (void)state;
    start();
    ring = &ums_record->ring[1];
    for (i = 0; i < 3 * ROOM; i++)
        ums_record_event( ring, 2000 + i * 1000, i % 2 ? EVENT_YIELD : EVENT_EXECUTE, 1, 1 + i / 2 % 50,
                          0 );
    assert_true( write_all() );
    snprintf( want, sizeof(want), "\"lost\":%u,\"begins\":", lost );
    assert_non_null( strstr( text, want ) );
    assert_int_equal( count( "\"cat\":\"run\"" ), 2 * ((ROOM - RECORD_SLACK) / 2) );
    assert_int_equal( count( "\"ph\":\"B\"" ), count( "\"ph\":\"E\"" ) );
}

/* Rings run over by themselves. What is older than the latest first event of those that did has holes,
   so it is left out, but for the names of rows; a ring that kept all its events sets no limit. */
static void the_text_begins_where_every_ring_does( void **state )
{
    struct ums_ring *over, *kept;
    char lost[32];
    uint32_t i;

    (void)state;
    start();
    over = &ums_record->ring[1];
    kept = &ums_record->ring[2];
    ums_record_event( NULL, 2000, EVENT_START, 0, 7, 0 );
    ums_record_event( NULL, 2001, EVENT_QUEUE, 0, 7, 0 );
    ums_record_event( NULL, 2002, EVENT_DEQUEUE, 0, 7, 0 );
    for (i = 0; i < 2 * ROOM; i++)
        ums_record_event( over, 3000 + i, i % 2 ? EVENT_YIELD : EVENT_EXECUTE, 1, 1, 0 );
    ums_record_event( kept, 3000 + 2 * ROOM, EVENT_EXECUTE, 2, 7, 0 );
    ums_record_event( kept, 3001 + 2 * ROOM, EVENT_YIELD, 2, 7, 0 );
    assert_true( write_all() );
    assert_int_equal( count( "\"name\":\"worker 7\"}}" ), 1 );
    assert_int_equal( count( "\"cat\":\"queued\"" ), 0 );
    assert_int_equal( count( "\"name\":\"scheduler 2\",\"args\":{\"scheduler\":2}" ), 1 );
    assert_int_equal( count( "\"cat\":\"ready\"" ), 1 + (ROOM - RECORD_SLACK) / 2 );
    snprintf( lost, sizeof(lost), "\"lost\":%u,", ROOM + RECORD_SLACK + 2 );        /* queued, dequeued */
    assert_non_null( strstr( text, lost ) );
}

/* Events that do not fit the state of their row begin no slice, and every slice that begins ends. */
static void slices_fit_each_other( void **state )
{
    struct ums_ring *ring;

    (void)state;
    start();
    ring = &ums_record->ring[1];
    ums_record_event( ring, 2123, EVENT_EXECUTE, 1, 7, 0 );
    ums_record_event( ring, 2200, EVENT_IDLE, 1, 0, 5 );              /* it has a worker */
    ums_record_event( ring, 2250, EVENT_BUSY, 1, 0, 0 );
    ums_record_event( ring, 2300, EVENT_KERNEL, 1, 7, 5 );
    ums_record_event( ring, 2400, EVENT_KERNEL, 1, 7, 6 );            /* it is in one already */
    ums_record_event( ring, 2500, EVENT_BLOCK, 1, 7, 5 );
    ums_record_event( ring, 2600, EVENT_QUEUE, 1, 7, 0 );
    ums_record_event( ring, 2700, EVENT_QUEUE, 1, 7, 0 );
    ums_record_event( ring, 2800, EVENT_IDLE, 1, 0, 5 );
    assert_true( write_all() );
    assert_int_equal( count( "\"ts\":1.123," ), 2 );                  /* on both rows */
    assert_int_equal( count( "\"cat\":\"kernel\"" ), 1 );
    assert_int_equal( count( "\"cat\":\"idle\"" ), 1 );
    assert_int_equal( count( "\"ph\":\"s\"" ), 1 );
    assert_int_equal( count( "\"ph\":\"f\"" ), 1 );
    assert_int_equal( count( "\"ph\":\"B\"" ), count( "\"ph\":\"E\"" ) );
}

/* A place that was claimed in this lap and holds an event of the one before. */
static void what_was_claimed_and_not_written_is_left_out( void **state )
{
    uint32_t i;

    (void)state;
    start();
    for (i = 0; i < ROOM; i++) ums_record_event( NULL, 2000 + i, EVENT_BLOCK, 0, 1, 0 );
    atomic_fetch_add( &ums_record->ring[0].head, ROOM );
    assert_true( write_all() );
    assert_int_equal( count( "\"cat\":\"block\"" ), 0 );
    start();
    ums_record_event( NULL, 2000, EVENT_QUEUE, 0, 1, 0 );
    atomic_fetch_add( &ums_record->ring[0].head, 2 );
    ums_record_event( NULL, 3000, EVENT_DEQUEUE, 1, 1, 0 );
    assert_true( write_all() );
    assert_non_null( strstr( text, "\"lost\":2}" ) );
    assert_int_equal( count( "\"cat\":\"queued\"" ), 1 );
    assert_int_equal( count( "\"cat\":\"ready\"" ), 1 );
}

/* Stamps of the shared ring may be out of order, and rings are merged. */
static void the_text_is_in_order_of_time( void **state )
{
    double last = -1, now;
    const char *p;

    (void)state;
    start();
    ums_record_event( NULL, 5000, EVENT_BLOCK, 1, 1, WHY_SUSPENDED );
    ums_record_event( NULL, 3000, EVENT_DEQUEUE, 1, 1, 0 );
    ums_record_event( NULL, 2000, EVENT_QUEUE, 0, 1, 0 );
    ums_record_event( &ums_record->ring[1], 4000, EVENT_EXECUTE, 1, 1, 0 );
    ums_record_event( &ums_record->ring[2], 6000, EVENT_QUEUE, 0, 1, 0 );
    assert_true( write_all() );
    for (p = text; (p = strstr( p, "\"ts\":" )); p++)
    {
        now = atof( p + 5 );
        assert_true( now >= last );
        last = now;
    }
    assert_int_equal( last, 5 );                /* us after the start */
    assert_non_null( strstr( text, "\"name\":\"suspended\"" ) );
    assert_int_equal( count( "\"ph\":\"s\"" ), 1 );
    assert_int_equal( count( "\"ph\":\"f\"" ), 1 );
}

static void names_and_odd_characters( void **state )
{
    (void)state;
    start();
    strcpy( ums_record->program, "a\"b\\c\nd.exe" );
    strcpy( ums_record->name, "7 NtOne\n77 NtOther\n" );
    ums_record->names = (uint32_t)strlen( ums_record->name );
    ums_record_event( NULL, 2000, EVENT_BLOCK, 0, 1, 7 );
    ums_record_event( NULL, 2100, EVENT_BLOCK, 0, 2, 77 );
    ums_record_event( NULL, 2200, EVENT_BLOCK, 0, 3, 777 );
    ums_record_event( NULL, 2300, EVENT_BLOCK, 0, 99999, 7 );         /* torn: no such worker */
    assert_true( write_all() );
    assert_non_null( strstr( text, "\"a\\\"b\\\\c?d.exe\"" ) );
    /* on its begin and on its end */
    assert_int_equal( count( "\"name\":\"NtOne\"" ), 2 );
    assert_int_equal( count( "\"name\":\"NtOther\"" ), 2 );
    assert_int_equal( count( "\"name\":\"call 777\"" ), 2 );
    assert_int_equal( count( "\"ph\":\"B\"" ), 3 );
    write_fails = 1;
    assert_false( write_all() );
    write_fails = 0;
}

static void *writer( void *arg )
{
    uint32_t number = (uint32_t)(uintptr_t)arg, i;

    for (i = 0; i < EVENTS; i++)
        ums_record_event( NULL, ums_stamp(), EVENT_BACK, number, number, (uint16_t)i );
    return NULL;
}

/* Each event of several threads has a place of its own, and is whole. A thread that stands still between claim and
   write while the others go round writes into a later lap's place. Its lap shows that, and the place is not read
   (record_merge.c). Each thread can have done so once at the end: to be passed again the others have to go round
   again, and write that place, too. One of them has claimed the last lap's places. */
static void threads_share_a_ring( void **state )
{
    pthread_t threads[THREADS];
    struct ums_ring *ring;
    uint32_t i, passed = 0;
    uint64_t at;

    (void)state;
    start();
    ring = &ums_record->ring[0];
    for (i = 0; i < THREADS; i++) pthread_create( &threads[i], NULL, writer, (void *)(uintptr_t)(i + 1) );
    for (i = 0; i < THREADS; i++) pthread_join( threads[i], NULL );
    assert_int_equal( ring->head, THREADS * EVENTS );
    for (at = ring->head - ROOM + RECORD_SLACK; at < ring->head; at++)
    {
        uint64_t what = ring->events[at & (ROOM - 1)].what;

        assert_int_equal( EVENT_KIND( what ), EVENT_BACK );
        if (EVENT_LAP( what ) != (at >> SHIFT & 7)) passed++;
        assert_int_equal( EVENT_SCHEDULER( what ), EVENT_WORKER( what ) );
        assert_true( EVENT_WORKER( what ) >= 1 && EVENT_WORKER( what ) <= THREADS );
    }
    assert_in_range( passed, 0, THREADS - 1 );
}

static void counters_are_not_read_while_they_are_written( void **state )
{
    struct ums_hud hud = { .magic = HUD_MAGIC, .round = 2, .per_second = 5 }, copy;

    (void)state;
    assert_int_equal( hud_read( &hud, &copy ), 1 );
    assert_int_equal( copy.per_second, 5 );
    hud.round++;
    assert_int_equal( hud_read( &hud, &copy ), 0 );
    hud.round++;
    assert_int_equal( hud_read( &hud, &copy ), 1 );
}

int main( void )
{
    const struct CMUnitTest tests[] =
    {
        cmocka_unit_test( nothing_is_written_while_it_is_off ),
        cmocka_unit_test( schedulers_take_rings_and_give_them_back ),
        cmocka_unit_test( the_text_begins_where_every_ring_does ),
        cmocka_unit_test( numbers_start_again_at_one ),
        cmocka_unit_test( a_full_ring_loses_its_oldest ),
        cmocka_unit_test( what_was_claimed_and_not_written_is_left_out ),
        cmocka_unit_test( the_text_is_in_order_of_time ),
        cmocka_unit_test( slices_fit_each_other ),
        cmocka_unit_test( names_and_odd_characters ),
        cmocka_unit_test( threads_share_a_ring ),
        cmocka_unit_test( counters_are_not_read_while_they_are_written ),
    };

    fake_init();
    return cmocka_run_group_tests( tests, NULL, NULL );
}
