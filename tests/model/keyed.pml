/*
 * Keyed waits of workers and the releases that end them: core/keyed.c and hook_keyed.c as a model for spin. One key.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host is a channel without a buffer: a wait and a release meet there. There are as many releases as waits. Found
 * are: a wait here while a release is at the host, or a wait that nobody ends (spin sees that no process can go on), a
 * release that ends two waits, and one that ends none (waits are left).
 *
 *   WORKERS     who wait here, ROUNDS times each
 *   PLAIN       threads that wait at the host, once each
 *   TIMES       the time of a wait may be over; it is made again
 *   STALE       a thread was ended in a release that is counted
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PLAIN
#define PLAIN 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define RELEASES (WORKERS * ROUNDS + PLAIN)

chan host = [0] of { bit };
byte releases;                                  /* counted; in the code for each hash of a key */
bool key[WORKERS];                              /* stored, and not taken */
bool waits[WORKERS];                            /* the state: it waits without its thread */
byte ended;                                     /* waits */

/* ums_wait_released */
inline end_wait( i )
{
    atomic
    {
        if
        :: waits[i] && !key[i] -> waits[i] = false
        :: else
        fi
    }
}

/* ums_key_wait_ends */
inline take_back( i )
{
    atomic { released = !key[i]; key[i] = false }
}

proctype worker( byte i )
{
    byte round;
    bool released, at_host;

    do
    :: round == ROUNDS -> break
    :: round < ROUNDS ->
        /* ums_key_wait_begins */
#ifdef MISTAKE_KEY_AFTER_LOOK
        at_host = releases > 0;
        key[i] = true;
#else
        key[i] = true;
        at_host = releases > 0;
#endif
#ifdef MISTAKE_NO_SECOND_LOOK
        at_host = false;
#endif
        released = false;
        if
        :: at_host ->
            take_back( i );
#ifdef MISTAKE_TAKEN_AND_AT_HOST
            released = false;
#endif
            if
            :: released
            :: !released -> host?1; released = true
            fi
        :: !at_host ->
            waits[i] = true;
#ifndef MISTAKE_RELEASED_BEFORE
            if
            :: !key[i] -> end_wait( i )          /* was_alerted */
            :: else
            fi;
#endif
            if
            :: !waits[i]
#ifdef TIMES
            :: atomic { waits[i] -> waits[i] = false }
#endif
            fi;
            take_back( i )
        fi;
        if
        :: released -> round++; ended++
        :: else
        fi
    od
}

proctype plain()
{
    host?1;
    ended++
}

/* ums_here_release_key */
proctype release()
{
    byte i;
    bool found;

#ifndef MISTAKE_COUNTED_AFTER_SCAN
    releases++;
#endif
    do
    :: i == WORKERS || found -> break
    :: i < WORKERS && !found ->
        atomic
        {
            if
            :: key[i] -> key[i] = false; found = true
            :: else -> i++
            fi
        }
    od;
#ifdef MISTAKE_COUNTED_AFTER_SCAN
    releases++;
#endif
    if
    :: found -> releases--; end_wait( i )
    :: else ->
#ifdef MISTAKE_UNCOUNTED_AT_HOST
        releases--;
#endif
        host!1;
#ifndef MISTAKE_UNCOUNTED_AT_HOST
        releases--
#endif
    fi
}

init
{
    byte n;

    atomic
    {
#ifdef STALE
        releases = 1;
#endif
        for (n : 0 .. WORKERS - 1) { run worker( n ) }
        for (n : 0 .. PLAIN) { if :: n -> run plain() :: else fi }
        for (n : 1 .. RELEASES) { run release() }
    }
    (_nr_pr == 1);
    assert( ended == RELEASES )
}
