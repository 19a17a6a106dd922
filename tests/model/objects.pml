/*
 * Local events that become real: core/objects.c, core/objects_wait.c and syscalls/objects/hook_objects_real.c as a model for spin.
 * Threads wait for auto-reset events, others set and reset them, somebody makes them real, waits time out, and one who
 * waits is killed.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One atomic step is: an access to what is read without the lock (real, stragglers, the state of a wait), and a call of
 * the host, which is one step of the wineserver. What is done to the queues with the lock held is one step, too. The lock
 * itself is modelled, because the step to the host is several. A suspended thread is one that takes no steps: those who
 * hold the lock are never left so.
 *
 * A signal is counted when it is made, and when it is given to a wait. When nothing can happen any more, all are
 * accounted for, nobody waits beside a signal, and a signal was only merged with another where nobody waited.
 *
 *   OBJECTS     1 or 2; each wait is for all of these
 *   ALL         ... together; else for any of them
 *   BEGUN       waits that are in the queues from the beginning
 *   WAITERS     waits, those included
 *   SETTERS     who set, SETS times each: of two objects in turns (SECOND: always the second)
 *   RESETS      the first setter resets what it has set, each time
 *   SIGNALLED   the first object is signalled, and only reset
 *   TIMES       waits have a time-out
 *   KILL        the first wait's thread is ended
 */

#ifndef OBJECTS
#define OBJECTS 1
#endif
#ifndef BEGUN
#define BEGUN 1
#endif
#ifndef WAITERS
#define WAITERS BEGUN
#endif
#ifndef SETTERS
#define SETTERS 1
#endif
#ifndef SETS
#define SETS 1
#endif
#define ROOM (WAITERS + 1)

mtype = { NONE, PENDING, MOVES, ARRIVES, OVER };

/* ours */
bool locked;
bool signal[2], real[2], stragglers[2];
byte arriving[2];
mtype wait[ROOM] = NONE;
bool given[ROOM];                               /* a signal, or one of each */
bool timed_out[ROOM], done[ROOM];
bool dead[ROOM], gone[ROOM];                    /* its thread is; and whoever has ended it has told */
bool busy[ROOM];                                /* it holds the lock: nobody ends it there */

/* the host's */
bool at_host[2];                                /* its state */
bool in_queue[ROOM];

byte made, taken, merged;                       /* signals */

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

#define MOVING ((wait[0] == MOVES && !gone[0]) || (WAITERS > 1 && wait[1 % ROOM] == MOVES) || (WAITERS > 2 && wait[2 % ROOM] == MOVES))
#define USED( o ) (MOVING || arriving[o])

#if OBJECTS == 1
#define READY( s ) (s[0])
#elif defined(ALL)
#define READY( s ) (s[0] && s[1])
#else
#define READY( s ) (s[0] || s[1])
#endif

/* For one wait; inside a step. */
#if OBJECTS == 2 && defined(ALL)
#define TAKE( s ) s[0] = false; s[1] = false; taken = taken + 2
#else
#define TAKE( s ) if :: s[0] -> s[0] = false :: else -> s[1] = false fi; taken++
#endif
#define GIVE( w, s ) assert( !gone[w] && !given[w] && !timed_out[w] ); TAKE( s ); given[w] = true

/* NtSetEvent, by the wineserver: one step. A signal that finds another one is merged with it: then nobody may be on
   the way. (A wait for all of several may be: it takes both at once, or none.) */
inline host_set( o )
{
    atomic
    {
        if
        :: at_host[o] ->
            merged++;
#ifndef ALL
            i = 0;
            do
            :: i < WAITERS -> assert( dead[i] || done[i] || given[i] || (wait[i] != MOVES && wait[i] != ARRIVES) ); i++
            :: else -> break
            od
#endif
        :: else
        fi;
        at_host[o] = true;
        i = 0;
        do
        :: i < WAITERS ->
            if
            :: in_queue[i] && READY( at_host ) -> GIVE( i, at_host ); in_queue[i] = false
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* ---- who waits ---- */

inline host_wait( w )
{
    atomic
    {
        if
        :: dead[w]
        :: !dead[w] && READY( at_host ) -> GIVE( w, at_host )
        :: else -> in_queue[w] = true
        fi
    };
end_host:
    if
    :: dead[w] -> goto the_end
    :: atomic { given[w] && !dead[w] }
#ifdef TIMES
    :: atomic { in_queue[w] -> in_queue[w] = false; timed_out[w] = true }
#endif
    fi
}

proctype waiter( byte w )
{
    bool direct;

    if
    :: w < BEGUN
    :: else ->
        atomic { !locked && !dead[w] -> locked = true; busy[w] = true };
        atomic
        {
            if
            :: real[0] || (OBJECTS > 1 && real[1]) -> direct = true     /* one that is mixed makes all real */
            :: else ->
                if
                :: READY( signal ) -> GIVE( w, signal ); wait[w] = OVER
                :: else -> wait[w] = PENDING
                fi
            fi
        };
        atomic { unlock(); busy[w] = false };
        if
        :: direct -> (real[0] && (OBJECTS < 2 || real[1])); host_wait( w ); goto over
        :: else
        fi
    fi;
end_local:
    if
    :: dead[w] -> goto the_end
    :: atomic { wait[w] != PENDING && !dead[w] }
#ifdef TIMES
    :: atomic { wait[w] == PENDING && !dead[w] }
#endif
    fi;
    if
    :: wait[w] == OVER -> goto over
    :: else
    fi;
    if
    :: dead[w] -> goto the_end
    :: atomic { !locked && !dead[w] -> locked = true; busy[w] = true }
    fi;
    atomic
    {
        if
        :: wait[w] == PENDING ->
            timed_out[w] = true;
#ifndef MISTAKE_TIME_OUT_STAYS
            wait[w] = OVER;
#endif
            unlock(); busy[w] = false; goto over
        :: wait[w] == OVER -> unlock(); busy[w] = false; goto over
        :: else ->
            wait[w] = ARRIVES;
#ifndef MISTAKE_NOT_COUNTED
            arriving[0]++;
#ifndef MISTAKE_COUNTED_AT_THE_FIRST
            arriving[1]++;
#endif
#endif
            stragglers[0] = USED( 0 ); stragglers[1] = USED( 1 );
            unlock(); busy[w] = false
        fi
    };
    host_wait( w );
    if
    :: dead[w] -> goto the_end
    :: atomic { !locked && !dead[w] -> locked = true; busy[w] = true }
    fi;
    atomic
    {
        wait[w] = OVER;
#ifndef MISTAKE_NOT_COUNTED
        arriving[0]--;
#ifndef MISTAKE_COUNTED_AT_THE_FIRST
        arriving[1]--;
#endif
#endif
        stragglers[0] = USED( 0 ) && real[0]; stragglers[1] = USED( 1 ) && real[1];
        unlock(); busy[w] = false
    };
over:
    atomic { assert( dead[w] || given[w] != timed_out[w] ); done[w] = true };
the_end:
    skip
}

#ifdef KILL
/* Anywhere but with the lock held. The wineserver takes the thread out of its queues. */
proctype killer()
{
    if
    :: atomic { !busy[0] && !done[0] -> dead[0] = true; in_queue[0] = false }
    :: done[0] -> goto too_late
    fi;
    lock();
    atomic
    {
        if
        :: wait[0] == ARRIVES -> arriving[0]--; arriving[1]--
        :: else
        fi;
#ifdef MISTAKE_KILLED_STAYS
        if
        :: wait[0] == MOVES
        :: else -> wait[0] = OVER
        fi;
#else
        wait[0] = OVER;
#endif
        gone[0] = true;
        stragglers[0] = USED( 0 ) && real[0]; stragglers[1] = USED( 1 ) && real[1]
    };
    unlock();
too_late:
    skip
}
#endif

/* ---- who sets ---- */

inline let_arrive( o )
{
    do
    :: arriving[o] && at_host[o] ->
        unlock();
#ifdef ALL
        if                                      /* patience ends: such a wait may need long */
        :: lock(); break
        :: (!(arriving[o] && at_host[o])) -> lock()
        fi
#else
        (!(arriving[o] && at_host[o]));
        lock()
#endif
    :: else -> break
    od
}

/* Is it the host's? Two looks without the lock. */
inline find( o )
{
    its = false;
    if
    :: real[o] ->
        if
        :: !stragglers[o] -> its = true
        :: else
        fi
    :: else
    fi
}

inline set_event( o )
{
    atomic { made++; find( o ) };
    if
    :: its -> host_set( o )
    :: else ->
        lock();
        if
        :: real[o] && !stragglers[o] -> unlock(); host_set( o )
        :: real[o] && stragglers[o] ->
            atomic
            {
                claimed = false; i = 0;
#if !defined(MISTAKE_NO_CLAIM) && (OBJECTS == 1 || !defined(ALL))
                do
                :: i < WAITERS && !claimed ->
                    if
                    :: wait[i] == MOVES ->
                        assert( !gone[i] && !given[i] && !timed_out[i] );
                        wait[i] = OVER; given[i] = true; taken++; claimed = true;
                        stragglers[0] = USED( 0 ) && real[0]; stragglers[1] = USED( 1 ) && real[1]
                    :: else
                    fi;
                    i++
                :: else -> break
                od;
                i = 0
#endif
            };
            if
            :: claimed -> unlock()
            :: else -> let_arrive( o ); host_set( o ); unlock()
            fi
        :: else ->
            atomic
            {
                if
                :: signal[o] -> merged++
                :: else
                fi;
                signal[o] = true;
                i = 0;
                do
                :: i < WAITERS ->
                    if
#ifdef MISTAKE_ALL_TAKES_ONE
                    :: wait[i] == PENDING && signal[o] -> signal[o] = false; taken++; given[i] = true; wait[i] = OVER
#else
                    :: wait[i] == PENDING && READY( signal ) -> GIVE( i, signal ); wait[i] = OVER
#endif
                    :: else
                    fi;
                    i++
                :: else -> break
                od;
                i = 0;
                unlock()
            }
        fi
    fi
}

inline reset_event( o )
{
    find( o );
    if
    :: its -> atomic { taken = taken + at_host[o]; at_host[o] = false }
    :: else ->
        lock();
        if
        :: real[o] ->
            if
            :: stragglers[o] -> let_arrive( o )
            :: else
            fi;
            atomic { taken = taken + at_host[o]; at_host[o] = false }
        :: else -> atomic { taken = taken + signal[o]; signal[o] = false }
        fi;
        unlock()
    fi
}

proctype setter( byte s )
{
    byte n, i, o;
    bool its, claimed;

    do
    :: n < SETS ->
#if OBJECTS == 2 && defined(SECOND)
        o = 1;
#elif OBJECTS == 2
        o = (n + s) % 2;
#endif
#ifdef SIGNALLED
        reset_event( 0 );
#else
        set_event( o );
#ifdef RESETS
        if
        :: s == 0 -> reset_event( o )
        :: else
        fi;
#endif
#endif
        n++
    :: else -> break
    od
}

/* ---- who makes it real ---- */

inline becomes_real( o )
{
#ifdef MISTAKE_REAL_BEFORE_STRAGGLERS
    real[o] = true;
#else
    stragglers[o] = true;
    real[o] = true;
#endif
    atomic
    {
        i = 0;
        do
        :: i < WAITERS ->
            if
            :: wait[i] == PENDING -> wait[i] = MOVES
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    };
#ifdef MISTAKE_REAL_BEFORE_STRAGGLERS
    stragglers[o] = USED( o );
#endif
    if
    :: signal[o] -> signal[o] = false; host_set( o )
    :: else
    fi;
    stragglers[o] = USED( o )
}

proctype maker()
{
    byte i;

    lock();
    becomes_real( 0 );
#if OBJECTS == 2 && !defined(MISTAKE_DOES_NOT_FOLLOW)
    becomes_real( 1 );                          /* a wait is for both, or will be */
#endif
    unlock()
}

/* Nothing can happen any more. */
proctype accounts()
{
    byte w, arrive, ends;

    timeout;
    assert( !locked );
    assert( made == taken + merged + signal[0] + signal[1] + at_host[0] + at_host[1] );
    do
    :: w < WAITERS ->
        assert( dead[w] || done[w] || !(READY( signal ) || READY( at_host )) );
#ifdef EACH_ENDS
        assert( dead[w] || done[w] );
#endif
        arrive = arrive + (wait[w] == ARRIVES);
        ends = ends + given[w];
        w++
    :: else -> break
    od;
#if defined(ALL) && !defined(RESETS)
    assert( taken == 2 * ends );
#endif
    assert( arriving[0] == arrive && arriving[1] == arrive );
#ifdef SIGNALLED
    assert( !signal[0] && !at_host[0] )
#endif
}

init
{
    byte n;

    atomic
    {
#ifdef SIGNALLED
        signal[0] = true; made = 1;
#endif
        do
        :: n < BEGUN -> wait[n] = PENDING; n++
        :: else -> break
        od;
        n = 0;
        do
        :: n < WAITERS -> run waiter( n ); n++
        :: else -> break
        od;
        n = 0;
        do
        :: n < SETTERS -> run setter( n ); n++
        :: else -> break
        od;
        run maker();
#ifdef KILL
        run killer();
#endif
        run accounts()
    }
}
