/*
 * White box: events and semaphores of this process alone. Threads are plain ones, and a worker.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef OBJECTS_KIT_H
#define OBJECTS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include "core/objects.h"
#include "core/wait.h"
#include "../ke_fake.h"

#define OBJECTS_TESTS( X ) \
    X( each_set_releases_one ) \
    X( a_pulse_is_for_those_who_wait ) \
    X( a_wait_whose_time_is_over_takes_nothing ) \
    X( all_are_taken_at_once ) \
    X( any_says_which ) \
    X( the_limit_of_a_semaphore ) \
    X( every_signal_is_taken_once ) \
    X( a_signal_reaches_a_wait_that_moves ) \
    X( what_is_waited_for_together_moves_together ) \
    X( it_is_the_hosts_when_the_state_is_there ) \
    X( a_wait_that_moves_outlives_the_handle ) \
    X( a_wait_arrives_at_all_its_objects ) \
    X( who_arrives_later_is_waited_for ) \
    X( waits_keep_a_closed_object ) \
    X( who_holds_an_object_keeps_it ) \
    X( a_worker_waits_and_is_told ) \
    X( a_signal_before_the_state_is_not_lost ) \
    X( a_new_wait_ends_the_one_before ) \
    X( the_timer_ends_a_workers_wait ) \
    X( a_resumed_wait_takes_its_signal_before_its_time_is_over ) \
    X( a_thread_that_is_gone_takes_no_signal ) \
    X( the_lock_of_a_thread_that_is_gone ) \
    X( a_mutant_is_taken_again_by_its_owner ) \
    X( a_mutant_goes_to_the_first_who_waits ) \
    X( what_a_thread_that_is_gone_owned_is_abandoned ) \
    X( the_context_of_an_owner_is_the_one_that_it_has_now ) \
    X( a_closed_mutant_goes_with_its_last_wait )

#define X( name ) void name( void **state );
OBJECTS_TESTS( X )
#undef X

#define SOON    200000                          /* 100 ns: 20 ms */

extern struct ums_object *object, *second;
extern _Atomic int ended, moved, timed_out;     /* waits */
extern int copies;                              /* of the host's handle, which is its address */
extern _Atomic uint32_t gone_tid;               /* the thread that has ended, as the host tells it */
extern int recovered;                           /* how often the host's state was to be finished */

void begin( enum object_type type, int32_t state, int32_t limit );
void finish( void );

struct object_thread this_thread( void );

/* operations, each a section of its own */
void set( struct ums_object *o );
int32_t state_of( struct ums_object *o );
int  has_waits( struct ums_object *o, int count );
void until_waits( struct ums_object *o, int count );
/* As a thread: its status; -1: it has to go on at the host, where it is counted as arriving. */
int  wait_for( struct ums_object *const *objects, uint32_t count, int all, int64_t time );
void note( int status );                        /* of a wait */

/* threads */
void start( pthread_t *threads, int count, void *(*body)( void * ), void *arg );
void join( pthread_t *threads, int count );
void *wait_once( void *time );
void *wait_for_both( void *all );               /* its status */

#endif /* OBJECTS_KIT_H */
