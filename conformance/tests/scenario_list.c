/*
 * Scenarios: completion lists in use.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B2, B9, B13, B14, B15, B16; section 6.2 (which list a worker comes to).
 */
#include "scenario_kit.h"

/* --- re-homing: 6.2 --- */

enum
{
    PLACE_FIRST, PLACE_BLOCKED_FIRST, PLACE_BLOCKED_SECOND, PLACE_BACK, PLACE_VISIT, PLACE_CYCLE,
    PLACES
};

static PUMS_COMPLETION_LIST places[PLACES];

static DWORD rehome_body( struct kit_worker *worker )
{
    places[PLACE_FIRST] = worker->list;
    Sleep( 1 );
    places[PLACE_BLOCKED_FIRST] = worker->list;
    kit_migrate( worker, &kit.scheds[1] );
    Sleep( 1 );
    places[PLACE_BLOCKED_SECOND] = worker->list;
    kit_migrate( worker, &kit.scheds[0] );
    Sleep( 1 );
    places[PLACE_BACK] = worker->list;
    kit_migrate( worker, &kit.scheds[1] );          /* a visit without a block leaves no trace */
    kit_migrate( worker, &kit.scheds[0] );
    Sleep( 1 );
    places[PLACE_VISIT] = worker->list;
    kit_migrate( worker, &kit.scheds[1] );
    Sleep( 1 );
    Sleep( 1 );
    places[PLACE_CYCLE] = worker->list;
    return 0;
}

/* New: the creation list. After a block, and when it ends: the list of the scheduler that executed
   it last, whatever the page of ExecuteUmsThread says [seen]. */
START_TEST( scenario_list_rehome )
{
    PUMS_COMPLETION_LIST creation, expected[PLACES];
    struct kit_sched *first, *second;
    struct kit_worker *worker;
    PUMS_CONTEXT item = NULL;
    int i, count;
    BOOL ret;

    if (!kit_open()) return;
    creation = kit_new_list();
    first = kit_add_sched( NULL );
    second = kit_add_sched( NULL );
    worker = kit_add_worker( creation, rehome_body, NULL );
    kit_start();
    ok( worker && !worker->queued, "B2: the new worker came to another list\n" );
    count = kit_hand_over( creation, first, KIT_LIMIT );
    ok( count == 1, "B2: %d contexts on the creation list\n", count );
    kit_finish();

    expected[PLACE_FIRST] = creation;
    expected[PLACE_BLOCKED_FIRST] = expected[PLACE_BACK] = expected[PLACE_VISIT] = first->list;
    expected[PLACE_BLOCKED_SECOND] = expected[PLACE_CYCLE] = second->list;
    for (i = 0; i < PLACES; i++) ok( places[i] == expected[i], "6.2: wrong list at place %d\n", i );
    ok( worker && worker->list == second->list, "6.2: terminated on another list\n" );
    ret = pDequeueUmsCompletionListItems( creation, 0, &item );
    ok( ret && !item, "6.2: the creation list got something again\n" );
    kit_check();
    ok( pDeleteUmsCompletionList( creation ), "the creation list could not be deleted\n" );
}

/* --- each context once: B9, B13, B14, B15 --- */

#define ONCE_ROUNDS 300

static HANDLE once_events[4];
static volatile LONG once_running;
static volatile LONG once_swept, once_hammered, once_lost;
static volatile LONG once_stop[2];

static ULONGLONG once_limit;                    /* as GetTickCount64 counts */

/* Until both have taken something from the schedulers' list, for that is what is tested. */
static BOOL once_enough( int round )
{
    return (round >= ONCE_ROUNDS && once_swept && once_hammered) || GetTickCount64() >= once_limit;
}

/* Two pairs play ping-pong; every wait of one is ended by its partner, and the first one ends the game. */
static DWORD once_body( struct kit_worker *worker )
{
    int self = (int)(ULONG_PTR)worker->arg, i;

    for (i = 0; !once_stop[self / 2]; i++)
    {
        if (!(self & 1) && once_enough( i ))
        {
            once_stop[self / 2] = 1;
            break;
        }
        SetEvent( once_events[self ^ 1] );
        if (!WaitForSingleObject( once_events[self], KIT_LIMIT ))
        {
            kit_look( worker );
            continue;
        }
        InterlockedIncrement( &once_lost );
        break;
    }
    SetEvent( once_events[self ^ 1] );
    InterlockedDecrement( &once_running );
    return i;
}

/* A worker that sweeps the list too, as ConcRT's do in hyper-critical regions. */
static DWORD once_sweeper( struct kit_worker *worker )
{
    while (once_running)
    {
        if (kit_hand_over( kit.scheds[0].list, &kit.scheds[0],
                           0 )) InterlockedIncrement( &once_hammered );
        if (!kit_yield( worker, NULL )) break;
    }
    return 0;
}

/* One list, two schedulers, a worker and a plain thread that all take from it: each context is
   delivered once per block, to one of them, and every block still gives its upcall. kit_check does
   the sums. */
START_TEST( scenario_list_once )
{
    PUMS_COMPLETION_LIST list;
    struct kit_sched *first, *second;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 4; i++) once_events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    list = kit_new_list();
    first = kit_add_sched( list );
    second = kit_add_sched( list );
    once_running = 4;
    once_limit = GetTickCount64() + KIT_LIMIT / 2;
    for (i = 0; i < 4; i++) kit_add_worker( list, once_body, (void *)(ULONG_PTR)i );
    kit_add_worker( list, once_sweeper, NULL );
    kit_start();
    for (i = 0; once_running; i++)
    {
        once_swept += kit_hand_over( list, i & 1 ? second : first, 0 );
        SwitchToThread();
        if (i % 64 == 63) Sleep( 1 );
    }
    kit_finish();
    ok( !once_lost, "B14: %ld workers waited in vain\n", once_lost );
    for (i = 0; i < 4; i++)
        ok( kit.workers[i].queued > 1, "B9: worker %d never blocked\n", i );
    ok( once_swept && once_hammered, "B14: the plain thread has taken %ld, the worker %ld times some\n", once_swept,
        once_hammered );
    kit_check();
    for (i = 0; i < 4; i++) CloseHandle( once_events[i] );
}

/* --- the race between block and upcall: B13 --- */

#define RACE_ROUNDS 400

static volatile LONG race_stop, race_turn, race_rounds;
static HANDLE race_event;

static DWORD race_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < RACE_ROUNDS; i++)
    {
        race_turn =
            i + 1;                          /* the helper sets the event at any time from here on */
        if (WaitForSingleObject( race_event, KIT_LIMIT )) break;
        kit_look( worker );
        race_rounds++;
    }
    race_stop = 1;
    return i;
}

static DWORD WINAPI race_helper( void *arg )
{
    LONG seen = 0;

    (void)arg;
    while (!race_stop)
    {
        if (race_turn != seen)
        {
            seen = race_turn;
            SetEvent( race_event );
        }
        else SwitchToThread();
    }
    return 0;
}

/* A worker is often ready again, swept and executed by the other scheduler before the first one's
   upcall ran. */
START_TEST( scenario_list_race )
{
    PUMS_COMPLETION_LIST list;
    struct kit_sched *first, *second;
    struct kit_worker *worker;
    HANDLE helper;

    if (!kit_open()) return;
    race_event = CreateEventW( NULL, FALSE, FALSE, NULL );
    list = kit_new_list();
    first = kit_add_sched( list );
    second = kit_add_sched( list );
    worker = kit_add_worker( list, race_body, NULL );
    helper = CreateThread( NULL, 0, race_helper, NULL, 0, NULL );
    kit_start();
    kit_finish();
    race_stop = 1;
    ok( !WaitForSingleObject( helper, KIT_LIMIT ), "the helper hangs\n" );
    ok( worker && worker->ended, "B13: the worker did not get through\n" );
    ok( race_rounds == RACE_ROUNDS, "B13: %ld waits of %d ended\n", race_rounds, RACE_ROUNDS );
    ok( first->blocked + second->blocked == (worker ? worker->queued : 0) - 1,
        "B13: %ld and %ld Blocked upcalls\n", first->blocked, second->blocked );
    kit_check();
    CloseHandle( helper );
    CloseHandle( race_event );
}

/* --- links: B15 --- */

#define LINKS   3                       /* a batch */
#define BATCHES 8

/* The pop consumes the link: asked again, a context has no successor. */
START_TEST( scenario_list_links )
{
    PUMS_COMPLETION_LIST creation;
    PUMS_CONTEXT items[BATCHES * LINKS + 1], item, next, again;
    struct kit_sched *sched;
    ULONGLONG limit;
    int i, batch, wanted = 0, count = 0, chains = 0;

    if (!kit_open()) return;
    creation = kit_new_list();
    sched = kit_add_sched( NULL );
    limit = GetTickCount64() + KIT_LIMIT;
    /* another batch, as long as each came alone: then there was no link */
    for (batch = 0; batch < BATCHES && chains == count; batch++)
    {
        for (i = 0; i < LINKS; i++) kit_add_worker( creation, once_sweeper, NULL );
        wanted += LINKS;
        Sleep( 50 << batch );           /* to have them on the list together */
        while (count < wanted && GetTickCount64() < limit)
        {
            if (!pDequeueUmsCompletionListItems( creation, 1, &item )) continue;
            for (chains += item != NULL; item && count < wanted; item = next)
            {
                items[count++] = item;
                next = pGetNextUmsListItem( item );
                again = pGetNextUmsListItem( item );
                ok( !again, "B15: the link is still there after the pop\n" );
            }
        }
    }
    ok( count == wanted, "B2: %d contexts of %d\n", count, wanted );
    ok( chains < count, "B15: no chain was longer than one\n" );
    for (i = 0; i < count; i++)
    {
        struct kit_worker *worker = kit_worker_of( items[i] );

        ok( worker != NULL, "B2: context %d has no UserContext\n", i );
        if (!worker) continue;
        worker->context = items[i];
        worker->queued++;
        kit_ready( worker, sched );
    }
    kit_start();
    kit_finish();
    kit_check();
    ok( pDeleteUmsCompletionList( creation ), "the creation list could not be deleted\n" );
}

/* --- the event: B16 --- */

static HANDLE event_gate;

static DWORD event_body( struct kit_worker *worker )
{
    (void)worker;
    wait_signaled( event_gate );
    return 0;
}

/* The hook keeps the scheduler off its list, so that main alone watches list and event. */
static BOOL event_upcall( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    struct kit_worker *worker;
    HANDLE events[2] = { sched->events[1], sched->events[2] };

    (void)reason; (void)payload; (void)param;
    for (;;)
    {
        if ((worker = kit_pop( sched ))) kit_execute( sched, worker );
        if (WaitForMultipleObjects( 2, events, FALSE, KIT_LIMIT ) != WAIT_OBJECT_0) return TRUE;
    }
}

START_TEST( scenario_list_event )
{
    struct kit_sched *sched;
    HANDLE event = NULL, own, both[2];
    DWORD ret;
    int count, stale;

    if (!kit_open()) return;
    event_gate = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    sched->on_upcall = event_upcall;
    ok( pGetUmsCompletionListEvent( sched->list, &event ), "no event\n" );
    ret = WaitForSingleObject( event, 0 );
    ok( ret == WAIT_TIMEOUT, "B16: the event of a new list gave %lu\n", ret );

    kit_add_worker( sched->list, event_body, NULL );
    ret = WaitForSingleObject( event, KIT_LIMIT );
    ok( !ret, "B16: no signal for a new worker, %lu\n", ret );
    ret = WaitForSingleObject( event, 0 );
    ok( ret == WAIT_TIMEOUT, "B16: the event is not auto-reset, %lu\n", ret );
    ret = WaitForSingleObject( sched->events[0], 0 );
    ok( ret == WAIT_TIMEOUT, "B16: the second handle is another event, %lu\n", ret );
    count = kit_hand_over( sched->list, sched, 0 );
    ok( count == 1, "B16: signalled, but %d contexts\n", count );
    kit_start();

    /* blocked and ready again */
    ok( kit_leaves( &kit.workers[0].blocks, 0 ), "B11: no Blocked upcall\n" );
    SetEvent( event_gate );
    ret = WaitForSingleObject( event, KIT_LIMIT );
    ok( !ret, "B16: no signal for an unblocked worker, %lu\n", ret );

    /* two auto-reset events in one wait, as every scheduler has them: the lower index is told
       first */
    own = CreateEventW( NULL, FALSE, FALSE, NULL );
    both[0] = event;
    both[1] = own;
    SetEvent( own );
    ok( SetEvent( event ), "B16: the handle does not allow SetEvent, error %lu\n", GetLastError() );
    ret = WaitForMultipleObjects( 2, both, FALSE, KIT_LIMIT );
    ok( ret == WAIT_OBJECT_0, "B16: first %lu\n", ret );
    ret = WaitForMultipleObjects( 2, both, FALSE, KIT_LIMIT );
    ok( ret == WAIT_OBJECT_0 + 1, "B16: then %lu\n", ret );
    count = kit_hand_over( sched->list, sched, 0 );
    ok( count == 1, "B16: signalled, but %d contexts\n", count );

    /* taken without a look at the event, the signal may be left over; the next one is not lost by
       that */
    count = kit_hand_over( sched->list, sched, KIT_LIMIT );
    ok( count == 1, "B16: %d contexts at its end\n", count );
    SetEvent( event_gate );
    kit_add_worker( sched->list, event_body, NULL );
    for (stale = 0; stale < 20 && !kit.workers[1].terminated; )
    {
        ret = WaitForSingleObject( event, KIT_LIMIT );
        ok( !ret, "B16: a signal is lost, %lu\n", ret );
        if (ret) break;
        if (!kit_hand_over( sched->list, sched, 0 )) stale++;
    }
    ok( stale <= 1, "B16: %d stale signals\n", stale );
    kit_finish();
    kit_check();
    CloseHandle( event );
    CloseHandle( own );
    CloseHandle( event_gate );
}
