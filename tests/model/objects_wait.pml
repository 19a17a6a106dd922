/*
 * Who waits, and who is ended or suspended there: objects.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */


inline lock_as( w )   { atomic { !locked && RUNS( w ) -> locked = true; busy[w] = true } }
inline unlock_as( w ) { atomic { locked = false; busy[w] = false } }

inline count( w, more )
{
    arriving[0] = arriving[0] + (FOR( w, 0 ) -> more : 0);
    arriving[1] = arriving[1] + (FOR( w, 1 ) -> more : 0)
}

/* begin_wait: ums_object_wait; with JOINED, signal_first before it. direct: NOT_OURS */
inline begin( w )
{
    lock_as( w );
    if
    :: (FOR( w, 0 ) && real[0]) || (FOR( w, 1 ) && real[1]) || (JOINS( w ) && real[0]) -> direct = true
    :: else ->
        if
        :: JOINS( w ) -> made = made + COUNTS( 0 ); signal_locally( 0, 1 )
        :: else
        fi;
        atomic
        {
            if
            :: READY( w, signal ) -> GIVE( w, signal ); wait[w] = OVER
            :: else -> wait[w] = PENDING
            fi
        }
    fi;
    unlock_as( w )
}

#ifdef JOINED
/* ums_object_signal_and_wait. Its thread is not ended or suspended in this model. */
inline signal_and_wait( w )
{
    make_real( 0 );
    if
    :: FOR( w, 1 ) -> make_real( 1 )
    :: else
    fi;
    made = made + COUNTS( 0 );
    signal_stragglers( 0 );
    if
    :: claimed                                  /* ums_object_wait_after_signal */
    :: else -> atomic { host_signals( 0, 1 ); host_begins( w ) }
    fi
}
#endif

proctype waiter( byte w )
{
    bool direct, its, patience_ends;
    byte i, claimed, seen, had_come;

#if WAITERS > BEGUN
    if
    :: w < BEGUN
    :: else ->
        begin( w );
        if
        :: direct ->
#ifdef JOINED
            if
            :: JOINS( w ) -> signal_and_wait( w )
            :: else
            fi;
#endif
            if                                  /* a wait that is mixed makes all real */
            :: FOR( w, 0 ) && !JOINS( w ) -> make_real( 0 )
            :: else
            fi;
#if OBJECTS == 2
            if
            :: FOR( w, 1 ) && !JOINS( w ) -> make_real( 1 )
            :: else
            fi;
#endif
            goto end_at_the_host
        :: else
        fi
    fi;
#endif
end_local:                                      /* ums_object_wait_in_thread, ums_object_wait_as_worker */
    if
    :: dead[w] -> goto the_end
    :: atomic { wait[w] != PENDING && RUNS( w ) }
#ifdef TIMES
    :: atomic { wait[w] == PENDING && RUNS( w ) }
#endif
    fi;
    if                                          /* ums_object_wait_end */
    :: wait[w] == OVER -> goto over
    :: else
    fi;
    if
    :: dead[w] -> goto the_end
    :: lock_as( w )
    fi;
    atomic
    {
        if
        :: wait[w] == PENDING ->
            timed_out[w] = true;
#ifndef MISTAKE_TIME_OUT_STAYS
            wait[w] = OVER;
#endif
            look_after_all( w );
            unlock_as( w ); goto over
        :: wait[w] == OVER -> unlock_as( w ); goto over
        :: else ->                              /* ums_object_leaves */
            wait[w] = ARRIVES;
#ifdef MISTAKE_COUNTED_AT_THE_FIRST
            arriving[0]++; came[0]++;
#elif !defined(MISTAKE_NOT_COUNTED)
            count( w, 1 ); came[0] = came[0] + FOR( w, 0 ); came[1] = came[1] + FOR( w, 1 );
#else
            look_after_all( w );
#endif
            unlock_as( w )
        fi
    };
    assert( dead[w] || (!FOR( w, 0 ) || IS_THERE( 0 )) && (!FOR( w, 1 ) || IS_THERE( 1 )) );    /* name_objects */
end_at_the_host:                                /* wait_at_host. A thread that is suspended or ended leaves the queue */
    do
    :: dead[w] -> goto the_end
    :: atomic { RUNS( w ) && given[w] -> break }
    :: atomic { RUNS( w ) && !given[w] && !in_queue[w] -> host_begins( w ) }
#ifdef TIMES
    :: atomic { RUNS( w ) && in_queue[w] -> in_queue[w] = false; timed_out[w] = true; break }
#endif
    od;
    if
    :: direct -> goto over
    :: !direct && dead[w] -> goto the_end
    :: atomic { !direct && !locked && RUNS( w ) -> locked = true; busy[w] = true }
    fi;
    atomic                                      /* ums_object_has_arrived */
    {
        wait[w] = OVER;
#ifdef MISTAKE_COUNTED_AT_THE_FIRST
        arriving[0]--;
#elif !defined(MISTAKE_NOT_COUNTED)
        count( w, -1 );
#endif
        look_after_all( w );
        unlock_as( w )
    };
over:
    atomic { assert( dead[w] || given[w] != timed_out[w] ); done[w] = true };
the_end:
    skip
}

#ifdef KILL
/* Anywhere but with the lock held. ums_objects_thread_gone, ums_objects_worker_gone */
proctype killer()
{
    if
    :: atomic { !busy[0] && !done[0] -> dead[0] = true; in_queue[0] = false }
    :: done[0] -> goto too_late
    fi;
    lock();
    atomic                                      /* gone */
    {
        if
        :: wait[0] == ARRIVES -> count( 0, -1 )
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
        look_after_all( 0 )
    };
    unlock();
too_late:
    skip
}
#endif

#ifdef SUSPENDS
/* Anywhere but with the lock held (ums_is_ending_wait), once. */
proctype suspender()
{
    if
    :: atomic { !busy[0] && !done[0] && !dead[0] -> stopped[0] = true; in_queue[0] = false; excused[0] = (wait[0] == ARRIVES) }; stopped[0] = false
    :: done[0] || dead[0]
    fi
}
#endif
