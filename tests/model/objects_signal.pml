/*
 * Who signals, resets and closes: objects.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* ums_object_end_wait, with a signal that nobody else gets */
inline end_with( w, o )
{
    assert( !gone[w] && !given[w] && !timed_out[w] );
    given[w] = true;
    taken = taken + COUNTS( o );
    wait[w] = OVER;
    look_after_all( w )
}

/* ums_object_claim: up to `most` of those who move */
inline claim( o, most )
{
    atomic
    {
        claimed = 0; i = 0;
        do
        :: i < WAITERS ->
            if
            :: claimed < most && IS_MOVING( i, o ) && !IS_ALL( i ) -> end_with( i, o ); claimed++
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* end_waits_for_all; the host answers each try (takes_all) */
inline end_waits_for_all( o )
{
#ifdef ALL
    n_all = 0;
    do
    :: n_all < WAITERS ->
        atomic
        {
            if
            :: IS_MOVING( n_all, o ) && IS_ALL( n_all ) ->
                assert( IS_THERE( 0 ) && IS_THERE( 1 ) );
                if
                :: READY( n_all, at_host ) -> GIVE( n_all, at_host ); wait[n_all] = OVER; look_after_all( n_all )
                :: else
                fi
            :: else
            fi
        };
        n_all++
    :: else -> n_all = 0; break
    od
#else
    skip
#endif
}

/* ums_object_hold, ums_object_let_go */
inline hold( o )
{
#ifdef MISTAKE_HOLDS_NOTHING
    skip
#else
    held[o]++
#endif
}

inline let_go( o )
{
#ifdef MISTAKE_HOLDS_NOTHING
    skip
#else
    atomic { held[o]--; look_after( o ) }
#endif
}

/* native_event, native_release: with the lock, and a handle that is there */
inline native_signal( o, count )
{
    atomic { assert( IS_THERE( o ) && !freed[o] ); host_signals( o, count ) }
}

/* let_arrive. `seen` were arriving when its time began: within PATIENCE each of them comes to the host's queue, or its
   thread is suspended. A wait for all may stay there for long. Who comes later has its own time. */
#define WAS_SEEN( w, o ) (((seen >> w) & 1) && IS_LATE( w, o ))
#define MUST_WAIT( o )   (LETS_ARRIVE( o ) && at_host[o])
inline let_arrive( o )
{
    do
    :: MUST_WAIT( o ) ->
        atomic
        {
            if
#ifdef MISTAKE_NEWCOMER_IS_OVERDUE
            :: !had_come ->
#else
            :: had_come != came[o] ->
#endif
                had_come = came[o]; patience_ends = false; i = 0; seen = 0;
                do
                :: i < WAITERS -> seen = seen + (FOR( i, o ) && wait[i] == ARRIVES -> 1 << i : 0); i++
                :: else -> break
                od;
                i = 0
            :: else
            fi
        };
        if
#ifdef MISTAKE_OVERDUE_IS_COUNTED
        :: patience_ends -> overdue[o] = arriving[o]; break
#else
        :: patience_ends -> overdue[o] = came[o]; break
#endif
        :: else ->
            unlock();
            if
            :: !MUST_WAIT( o )
#if defined(ALL) || defined(SUSPENDS)
            :: !ANY( WAS_SEEN, o ) -> patience_ends = true
#endif
            fi;
            lock()
        fi
    :: else -> break
    od;
    atomic { seen = 0; had_come = 0; patience_ends = false }
}

/* ums_object_find: two looks without the lock. its: no object of ours is found */
inline find( o )
{
    its = false;
    if
    :: !entry[o] -> its = true
    :: else ->
        if
        :: real[o] -> its = !stragglers[o]
        :: else
        fi
    fi
}

/* ums_object_lock, where find has found it: 1 in `its` if it is the host's, and then without the lock */
inline lock_object( o )
{
    lock();
    its = !entry[o] || (real[o] && !stragglers[o]);
    if
    :: its -> unlock()
    :: else -> assert( !freed[o] )
    fi
}

/* ums_object_set, ums_object_release, ums_object_hand_out */
inline signal_locally( o, count )
{
    atomic
    {
        if
        :: KIND( o ) == SEMAPHORE && signal[o] + count > LIMIT -> refused = refused + count
        :: KIND( o ) == SEMAPHORE && signal[o] + count <= LIMIT -> signal[o] = signal[o] + count
        :: KIND( o ) == EVENT && signal[o] -> merged++
        :: else -> signal[o] = 1
        fi;
        i = 0;
        do
        :: i < WAITERS ->
            if
#ifdef MISTAKE_ALL_TAKES_ONE
            :: IS_WAITING( i, o ) && signal[o] -> signal[o] = 0; taken++; given[i] = true; wait[i] = OVER
#else
            :: IS_WAITING( i, o ) && READY( i, signal ) -> GIVE( i, signal ); wait[i] = OVER; look_after_all( i )
#endif
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* ums_object_with_stragglers for NtSetEvent; with the lock, which is given back */
inline set_with_stragglers( o )
{
    claimed = 0;
    hold( o );
#ifndef MISTAKE_NO_CLAIM
#ifdef MISTAKE_SET_ENDS_ONE
    claim( o, 1 );
#else
    claim( o, (KIND( o ) == MANUAL -> WAITERS : 1) );
#endif
#endif
    if
    :: claimed && KIND( o ) == EVENT
    :: else ->
        if
#ifndef MISTAKE_SET_AT_ONCE
        :: KIND( o ) == EVENT -> let_arrive( o )
#endif
        :: else
        fi;
        native_signal( o, 1 );
#ifndef MISTAKE_SET_LEAVES_ALL
        end_waits_for_all( o )
#endif
    fi;
    let_go( o );
    atomic { claimed = 0; unlock() }
}

/* ums_object_release_with_stragglers */
inline release_with_stragglers( o )
{
    claimed = 0;
    hold( o );
    let_arrive( o );
#ifndef MISTAKE_RELEASE_CLAIMS_NOTHING
    if
    :: COUNT <= LIMIT -> claim( o, COUNT )
    :: else
    fi;
#endif
    if
    :: claimed < COUNT -> native_signal( o, (COUNT - claimed) )
    :: else
    fi;
#ifndef MISTAKE_RELEASE_LEAVES_ALL
    end_waits_for_all( o );
#endif
    let_go( o );
    atomic { claimed = 0; unlock() }
}

/* NtSetEvent, NtReleaseSemaphore: operate_event, release_semaphore */
inline set_object( o )
{
    find( o );
    if
    :: its
    :: else -> lock_object( o )
    fi;
    if
    :: its -> host_signal( o, COUNT )
#if KIND0 != SEMAPHORE || KIND1 != SEMAPHORE
    :: !its && real[o] && KIND( o ) != SEMAPHORE -> set_with_stragglers( o )
#endif
#if KIND0 == SEMAPHORE || KIND1 == SEMAPHORE
    :: !its && real[o] && KIND( o ) == SEMAPHORE -> release_with_stragglers( o )
#endif
    :: !its && !real[o] -> signal_locally( o, COUNT ); unlock()
    fi
}

/* NtResetEvent, NtClearEvent: operate_event, ums_object_with_stragglers */
inline reset_event( o )
{
    find( o );
    if
    :: its
    :: else -> lock_object( o )
    fi;
    if
    :: its -> host_reset( o )
    :: !its && real[o] ->
        hold( o );
#ifndef MISTAKE_RESET_AT_ONCE
        let_arrive( o );
#endif
        atomic { assert( IS_THERE( o ) && !freed[o] ); host_resets( o ) };
        let_go( o );
        unlock()
    :: else ->
        atomic { taken = taken + (COUNTS( o ) -> signal[o] : 0); signal[o] = 0 };
        unlock()
    fi
}

/* The signal of SignalObjectAndWait for an object that is real: signal_stragglers,
   ums_object_signal_with_stragglers. claimed: it is given; else the host's call has to be made */
inline signal_stragglers( o )
{
    claimed = 0;
    find( o );
    if
    :: its
    :: else -> lock_object( o )
    fi;
    if
    :: its
    :: else ->
        hold( o );
#ifndef MISTAKE_SIGNAL_CLAIMS_NOTHING
        claim( o, (KIND( o ) == MANUAL -> WAITERS : 1) );
#endif
        if
        :: !claimed && KIND( o ) != MANUAL -> let_arrive( o )
        :: else
        fi;
        let_go( o );
        unlock()
    fi;
    claimed = claimed && KIND( o ) != MANUAL
}

/* NtSignalAndWaitForSingleObject with a wait for an object of no other thread, and no time: ums_object_signal_and_wait.
   If that object is real, it makes the first one real. */
inline signal_and_poll( o )
{
    if
    :: lock();                                  /* begin_wait */
       if
       :: !real[o] -> signal_locally( o, 1 ); unlock(); its = false
       :: else -> unlock(); its = true
       fi
    :: skip; make_real( o ); its = true
    fi;
    if
    :: its ->
        signal_stragglers( o );
        if
        :: claimed
        :: else -> host_signal( o, 1 )
        fi;
        claimed = 0
    :: else
    fi
}

#ifdef OWN
#define SETS_OF( s ) (s == 0 -> SETS : 1)
#else
#define SETS_OF( s ) SETS
#endif

proctype setter( byte s )
{
    byte n, i, o, claimed, seen, had_come, n_all;
    bool its, patience_ends;

    do
    :: n < SETS_OF( s ) ->
#if OBJECTS == 2 && defined(SECOND)
        o = 1;
#elif OBJECTS == 2 && defined(OWN)
        o = s;
#elif OBJECTS == 2
        o = (n + s) % 2;
#endif
#ifdef SIGNALLED
        reset_event( 0 );
#else
        made = made + (COUNTS( o ) -> (s < SIGNALLERS -> 1 : COUNT) : 0);
        if
#if SIGNALLERS
        :: s < SIGNALLERS -> signal_and_poll( o )
#endif
#if SIGNALLERS < SETTERS
        :: s >= SIGNALLERS -> set_object( o )
#endif
        fi;
#endif
        n++
    :: else -> break
    od;
#ifdef RESETS
    if
    :: s == 0 -> reset_event( 0 )
    :: else
    fi
#endif
}

#ifdef CLOSES
/* ums_special_close: the entry first, then the handle at the host */
proctype closer( byte o )
{
    entry[o] = false;                           /* ums_handle_closing */
    lock();
    atomic
    {
        if                                      /* ums_object_closes */
#ifdef MISTAKE_CLOSES_KEEPS_NOTHING
#else
        :: held[o] || WAITED( o ) || MOVING( o ) -> keep[o] = IS_THERE( o )
#endif
        :: else
        fi
    };
    unlock();
    shut[o] = true;
    lock();
    atomic { closed[o] = true; look_after( o ) };               /* ums_object_close */
    unlock()
}
#endif
