/*
 * White box: worker factories, their queue and their counters.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Most tests are one thread that plays several hands: ums_factory_wait_begin does not sleep, and the
 * word of a hand tells what was done to it. Only that thread may assert: a failed one jumps back
 * into the program's stack. Others count.
 */
#ifndef FACTORY_KIT_H
#define FACTORY_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "../ke_fake.h"
#include "../../dlls/ntdll_ums/factory/factory.h"
#include "../../dlls/ntdll_ums/factory/factory_guess.h"

#if defined(__SANITIZE_THREAD__)                /* cannot take one instruction after the other */
#define STEPPED_TESTS( X )
#else
#define STEPPED_TESTS( X ) X( an_item_comes_while_it_waits_again )
#endif

#define FACTORY_TESTS( X ) \
    STEPPED_TESTS( X ) \
    X( who_waited_shortest_comes_first ) \
    X( no_more_run_than_the_port_allows ) \
    X( a_call_that_may_block_counts_after_the_second_look ) \
    X( nobody_looks_where_no_packet_waits ) \
    X( nobody_looks_at_a_call_that_took_too_long ) \
    X( who_is_about_to_enter_is_looked_at_later ) \
    X( packets_come_in_order_and_in_batches ) \
    X( one_release_a_wait ) \
    X( one_release_a_batch ) \
    X( neither_source_starves_the_other ) \
    X( a_full_ring_takes_no_more ) \
    X( a_drain_leaves_what_was_promised ) \
    X( a_port_is_served_until_the_last_factory ) \
    X( who_gave_up_is_passed_over ) \
    X( who_gave_up_waits_again_where_it_is ) \
    X( who_runs_is_passed_over ) \
    X( work_in_between_is_not_idle ) \
    X( as_many_leave_as_may ) \
    X( nobody_leaves_below_the_minimum ) \
    X( who_is_about_to_sleep_is_told ) \
    X( a_hand_that_ends_takes_nothing_along ) \
    X( nobody_frees_a_hand_before_it_is_gone ) \
    X( an_ended_hand_on_the_stack_is_passed_over ) \
    X( who_tells_of_an_ended_hand_has_done_all_else ) \
    X( who_left_its_wait_leaves_its_packet ) \
    X( who_is_suspended_gives_its_place ) \
    X( who_is_suspended_is_replaced ) \
    X( who_is_suspended_in_a_call_is_blocked ) \
    X( who_is_suspended_where_it_waits_is_passed_over ) \
    X( who_was_passed_over_waits_again ) \
    X( who_is_suspended_with_a_packet_keeps_it ) \
    X( who_ends_suspended_has_given_its_place ) \
    X( who_was_resumed_by_others_finds_its_mark ) \
    X( who_changes_its_word_says_so ) \
    X( the_four_conditions ) \
    X( who_is_on_its_way_is_counted_on ) \
    X( who_blocks_on_its_way_is_not_counted_on ) \
    X( the_manager_is_told_once ) \
    X( a_manager_that_was_not_made_is_asked_again ) \
    X( who_was_never_ready_is_counted_on_no_more ) \
    X( a_release_asks_the_other_factory ) \
    X( a_creation_that_failed_is_tried_later ) \
    X( the_minimum_needs_no_packet ) \
    X( shutting_down_counts_who_is_not_ready ) \
    X( shutting_down_wakes_who_sleeps ) \
    X( shutting_down_is_before_or_after_making ) \
    X( shutting_down_tells_who_looks_after_the_port ) \
    X( factories_of_one_port_share_it ) \
    X( what_a_shut_one_leaves_is_for_the_other ) \
    X( nothing_is_lost_or_done_twice )

#define X( name ) void name( void **state );
FACTORY_TESTS( X )
#undef X

extern _Atomic int manager_wakes, closed, queues_closed;        /* calls of the make-believe host */
extern void (*on_manager_wake)( void );         /* NULL: nothing */
extern int64_t now;                             /* what the clock of the main thread shows */

struct ums_factory *factory( uint32_t concurrency, uint32_t max );
struct ums_hand *hand( struct ums_factory *f );         /* as the manager makes it, ready */
enum hand_state state_of( struct ums_hand *h );
uint32_t running( struct ums_factory *f );
uint32_t pending( struct ums_factory *f );
int  begins( struct ums_factory *f, struct ums_hand *h );       /* 1: it has a packet; 0: it waits */
void is_given( struct ums_hand *h );
void ends( struct ums_hand *h );
/* Nothing is counted any more, and nothing of it is left. */
void finish( struct ums_factory *f );
void post( struct ums_factory *f, uint64_t key );

#endif /* FACTORY_KIT_H */
