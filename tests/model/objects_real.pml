/*
 * The step to the host: objects.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* A handle of the host's object: ums_object_at_host */
#define IS_THERE( o ) (keep[o] || !shut[o])

/* tell_host, without what follows; with the lock */
inline tell_host( o )
{
#ifdef MISTAKE_REAL_BEFORE_STRAGGLERS
    real[o] = true;
#else
    stragglers[o] = true;                       /* ums_object_becomes_real */
    real[o] = true;
#endif
    atomic
    {
        if                                      /* keep_for_waits */
#ifdef MISTAKE_FOLLOWER_KEEPS_NOTHING
        :: WAITED( o ) -> keep[o] = IS_THERE( o )
#else
        :: WAITED( o ) || MOVING( o ) -> keep[o] = IS_THERE( o )
#endif
        :: else
        fi;
        i = 0;
        do                                      /* move_wait */
        :: i < WAITERS ->
            if
            :: IS_WAITING( i, o ) -> wait[i] = MOVES
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    };
#ifdef MISTAKE_REAL_BEFORE_STRAGGLERS
    stragglers[o] = arriving[o] || MOVING( o );
#endif
    atomic                                      /* native_event, native_release */
    {
        assert( IS_THERE( o ) && !at_host[o] );
        if
        :: signal[o] ->
#ifdef MISTAKE_COUNT_OF_ONE
            host_signals( o, 1 );
#else
            host_signals( o, signal[o] );
#endif
            signal[o] = 0
        :: else
        fi
    };
    atomic { look_after( o ) }                  /* ums_object_is_real */
}

/* ums_object_make_real_locked, with ums_object_follows: the wait that moves is for the other one, too */
#define TAKES_ALONG( w, o ) (IS_MOVING( w, o ) && FOR( w, 1 - o ))
inline make_real_locked( o )
{
    if
    :: !real[o] ->
        tell_host( o );
#if OBJECTS == 2 && !defined(MISTAKE_DOES_NOT_FOLLOW)
        if
        :: ANY( TAKES_ALONG, o ) && !real[1 - o] -> tell_host( (1 - o) )
        :: else
        fi
#endif
    :: else
    fi
}

/* ums_object_make_real */
inline make_real( o )
{
    if
    :: real[o] && !stragglers[o]                /* ums_object_find */
    :: else ->
        lock();
        if
        :: entry[o] -> make_real_locked( o )
        :: else
        fi;
        unlock()
    fi
}

proctype maker()
{
    byte i;

#if OBJECTS == 2
    if
    :: skip; make_real( 0 )
    :: skip; make_real( 1 )
    fi
#else
    make_real( 0 )
#endif
}
