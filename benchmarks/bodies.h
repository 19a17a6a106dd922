/*
 * What two hand to each other, or one does by itself: the same for the arms of umsbench and for umswaits,
 * for workers and for plain threads.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A body makes "ops" rounds, and leaves everything as it found it: so each batch begins like the first,
 * whoever makes it.
 */
#ifndef BODIES_H
#define BODIES_H

#include <windows.h>

typedef void (*body_proc)( unsigned int self, unsigned int ops );       /* self: from 0 */

/* Before all others. FALSE: this system lacks something. */
BOOL bodies_start( void );

/* Two take turns. */
void body_condition( unsigned int self, unsigned int ops );     /* SRW lock and condition variable */
void body_address( unsigned int self, unsigned int ops );       /* WaitOnAddress */
void body_address_timed( unsigned int self, unsigned int ops ); /* ... with a time-out that is never reached */

/* Any number, by themselves. */
void body_naps( unsigned int self, unsigned int ops );          /* Sleep( 1 ) */

/* With objects: two take turns. */
void body_events( unsigned int self, unsigned int ops );        /* auto-reset */
void body_semaphores( unsigned int self, unsigned int ops );
void body_mutexes( unsigned int self, unsigned int ops );
void body_any( unsigned int self, unsigned int ops );           /* any of 8 events */
/* ... one or two, by themselves */
void body_set( unsigned int self, unsigned int ops );           /* an event, and nobody waits */
void body_mutex_alone( unsigned int self, unsigned int ops );   /* a mutex that nobody has */

struct objects
{
    HANDLE events[2], many[7], semaphores[2], set_only[2], mutexes[3];
};

#define OBJECT_HANDLES (sizeof(struct objects) / sizeof(HANDLE))

/* What the bodies above use from now on. Not while one of them runs. */
void bodies_use( const struct objects *objects );
/* known: there has been another handle of each event and each mutex, so that they are not local. FALSE: failed, with
   the last error. */
BOOL objects_make( struct objects *objects, BOOL known );

#endif /* BODIES_H */
