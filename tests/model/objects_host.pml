/*
 * What the wineserver does: objects.pml. Each is one step of it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* A signal is merged or refused, or one is reset: no wait may be on its way that it would have ended. After that wait,
   there would have been room for it. */
#define IS_ON_THE_WAY( w, o ) ((IS_MOVING( w, o ) && !dead[w] || IS_LATE( w, o )) && READY( w, at_host ))
inline nobody_is_on_the_way( o )
{
    if
    :: ANY( IS_ON_THE_WAY, o ) -> a_signal_is_lost = true; assert( !a_signal_is_lost )
    :: else
    fi
}

inline host_hands_out()
{
    i = 0;
    do
    :: i < WAITERS ->
        if
        :: in_queue[i] && READY( i, at_host ) -> GIVE( i, at_host ); in_queue[i] = false
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

/* NtSetEvent, NtReleaseSemaphore, and the first half of NtSignalAndWaitForSingleObject; inside a step */
inline host_signals( o, count )
{
    if
    :: KIND( o ) == SEMAPHORE && at_host[o] + count > LIMIT -> refused = refused + count; nobody_is_on_the_way( o )
    :: KIND( o ) == SEMAPHORE && at_host[o] + count <= LIMIT -> at_host[o] = at_host[o] + count
    :: KIND( o ) == EVENT && at_host[o] -> merged++; nobody_is_on_the_way( o )
    :: else -> at_host[o] = 1
    fi;
    host_hands_out()
}

/* By a thread that uses the program's handle. Whoever uses one that somebody closes at the same time has signalled nothing
   (handles.pml says which objects it may reach). */
inline host_signal( o, count )
{
    atomic
    {
        if
        :: !entry[o] -> refused = refused + (COUNTS( o ) -> count : 0)
        :: else -> host_signals( o, count )
        fi
    }
}

/* NtResetEvent; inside a step */
inline host_resets( o )
{
    if
    :: at_host[o] -> nobody_is_on_the_way( o ); taken = taken + COUNTS( o ); at_host[o] = 0
    :: else
    fi
}

inline host_reset( o )
{
    atomic
    {
        if
        :: entry[o] -> host_resets( o )
        :: else
        fi
    }
}

/* A wait begins, or goes on because the thread was resumed; inside a step */
inline host_begins( w )
{
    excused[w] = false;
    if
    :: READY( w, at_host ) -> GIVE( w, at_host )
    :: else -> in_queue[w] = true
    fi
}
