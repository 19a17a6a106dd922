/*
 * Schedulers' words and completion lists (core/state.h, scheduler.c, completion.c). A part of ums.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* ---- state.h, scheduler.c ---- */

/* word + WORD_SEQ */
inline count_seq( w )
{
#ifdef MISTAKE_NO_SEQUENCE
    skip
#else
    d_step
    {
#ifdef FAULTS
        if :: w == 0 -> same_fault = false :: else fi;
#endif
        if :: awaits[0] == w + 1 -> same_call[0] = false :: else fi;
#if SCHEDULERS > 1
        if :: awaits[1] == w + 1 -> same_call[1] = false :: else fi
#endif
    }
#endif
}

inline unpark( t )
{
    t = true
}

/* worker_leave; ok: it was on a scheduler */
inline leave( w, to, ok )
{
    atomic
    {
        if
        :: STATE( word[w] ) == RUNNING || STATE( word[w] ) == INKERNEL ->
            SET( w, WITH( word[w], to ) );
            owner[w] = 0;
            ok = true
        :: else ->
            ok = false
        fi
    }
}

inline scheduler_post( s, w, what )
{
    atomic
    {
        give( s, w );
        upcall[s] = what;
        posted[s] = true
    }
    unpark( token[s] )
}

inline scheduler_expect( s, watch )
{
    atomic
    {
        posted[s] = false;
        watching[s] = watch
    }
}

/* ---- completion.c ---- */

inline wake_waiters( l )
{
    d_step
    {
        if :: LIST( 0 ) == l -> asleep[0] = false :: else fi;
#if SCHEDULERS > 1
        if :: LIST( 1 ) == l -> asleep[1] = false :: else fi
#endif
    }
}

inline count_list_seq( l )
{
    d_step
    {
        if :: LIST( 0 ) == l -> same_seq[0] = false :: else fi;
#if SCHEDULERS > 1
        if :: LIST( 1 ) == l -> same_seq[1] = false :: else fi
#endif
    }
}

/* The loop of ums_list_push ends when nobody comes between, so it is one step. */
inline push( l, w, before )
{
#ifdef MISTAKE_SEQ_BEFORE_HEAD
    count_list_seq( l );
#endif
    atomic
    {
        assert( !linked[w] );
        linked[w] = true;
        before = head[l];
        link[w] = before;
        head[l] = w + 1
    }
    if
    :: atomic { !before ->
#ifndef MISTAKE_SEQ_BEFORE_HEAD
        count_list_seq( l )
#endif
        }
        if
        :: atomic { waiters[l] -> wake_waiters( l ) }
        :: else
        fi;
#ifdef EVENT
        if
        :: asked[l] -> event[l] = true
        :: else
        fi
#endif
    :: atomic { before -> before = 0 }
    fi
}

/* One worker of a chain becomes executable. */
inline make_ready( w )
{
    linked[w] = false;
    if
    :: STATE( word[w] ) == QUEUED -> SET( w, WITH( word[w], READY ) )
    :: else
    fi;
    if
    :: STATE( word[w] ) == DEAD -> ended++
    :: else -> got = got | (1 << (w))
    fi;
    found = true
}

/* ums_list_take, and the client keeps what it got. The chain belongs to the taker alone: one step.
   Not if a poller executes a worker that the taker has just made executable. */
inline take( l )
{
#if POLLS
    atomic { next = head[l]; head[l] = 0 }
    do
    :: atomic { next -> make_ready( next - 1 )
#ifndef MISTAKE_LINK_AFTER_READY
        ; next = link[next - 1]
#endif
        }
#ifdef MISTAKE_LINK_AFTER_READY
        next = link[next - 1]
#endif
    :: !next -> break
    od;
#endif
    atomic
    {
#if !POLLS
        next = head[l];
        head[l] = 0;
        do
        :: next ->
            make_ready( next - 1 );
            next = link[next - 1]
        :: else -> break
        od;
#endif
        ready = ready | got;
        got = 0;
        next = 0
    }
}

/* ums_list_wait, or the same with the list's event */
inline list_wait( l )
{
    if
    :: head[l] -> take( l )
    :: atomic { !head[l] -> skip }
#ifdef EVENT
        if
        :: s == 0 ->
            /* ums_list_event */
            if
#ifdef MISTAKE_ASKED_AFTER_HEAD
            :: !asked[l] ->
                if
                :: head[l] -> event[l] = true
                :: else
                fi;
                asked[l] = true
#else
            :: atomic { !asked[l] -> asked[l] = true }
                if
                :: head[l] -> event[l] = true
                :: else
                fi
#endif
            :: else
            fi;
            atomic
            {
                event[l] || ALL_ENDED;
                event[l] = false;
                goto next_turn
            }
        :: else
        fi;
#endif
        waiters[l]++;
        do
        :: same_seq[s] = true;
#ifndef MISTAKE_WAITER_DOES_NOT_LOOK
            take( l );
#endif
            if
            :: found -> break
            :: else
            fi;
            atomic
            {
                if
                :: same_seq[s] -> asleep[s] = true
                :: else
                fi
            }
            atomic { !asleep[s] || ALL_ENDED -> asleep[s] = false }
#ifdef MISTAKE_WAITER_DOES_NOT_LOOK
            break
#else
            if
            :: ALL_ENDED -> break
            :: else
            fi
#endif
        od;
        atomic { waiters[l]--; same_seq[s] = false }
    fi;
    found = false
}
