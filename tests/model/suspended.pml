/*
 * Waits for a local event while whoever waits is suspended and resumed, as a model for spin: core/objects_wait.c, waiters
 * that are suspended. The first wait is that of a worker without its thread, or of a plain thread; the second one is never
 * suspended. Others set the event, an auto-reset one, and time passes. Beside each step stands the function whose step it is.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One atomic step is: an access to what is read without the lock (the suspend count in a worker's word, whether a thread
 * runs), and what is done with the lock held. The lock itself is a step: whoever wants it may be late.
 *
 * What has to hold: no wait's time is over beside a signal; when nothing can happen any more, nobody who runs waits beside a
 * signal, and a worker that runs does not wait when its time is over; every signal is accounted for.
 *
 *   PLAIN       the first wait is a plain thread's
 *   SUSPENDERS  how many suspend and resume it, once each (1); with PLAIN one at a time, as in their turns
 *   SETS        how often the event is set (2)
 *   RIVAL       there is the second wait
 *   TIMES       the first wait has a time-out
 *
 * MISTAKE_... seeds a mistake, which spin has to find. TIMER_DOES_NOT_LOOK is what the code did until 28 November 2026.
 */

#ifndef SUSPENDERS
#define SUSPENDERS 1
#endif
#ifndef SETS
#define SETS 2
#endif

mtype = { NONE, PENDING, OVER };

bool locked, signal, turn;
mtype wait[2] = NONE;
bool given[2], timed_out;
byte suspended;                                 /* the count in the worker's word; of a thread, its real one */
byte stands;                                    /* of a plain thread's record */
bool busy;                                      /* the thread has the lock: nobody suspends it */
byte poked, made, taken, merged;

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

#ifdef PLAIN
#define STANDS (stands != 0)
#else
#define STANDS (suspended != 0)                 /* ums_object_waiter_stands */
#endif

/* satisfy, for the first in the queue that may have it. Inside a step. */
inline hand_out()
{
    if
    :: signal && wait[0] == PENDING && !STANDS -> signal = false; taken++; given[0] = true; wait[0] = OVER
    :: else
    fi;
    if
    :: signal && wait[1] == PENDING -> signal = false; taken++; given[1] = true; wait[1] = OVER
    :: else
    fi
}

/* look_again, for the first wait. Inside a step. */
inline look_again()
{
    if
    :: wait[0] == PENDING -> hand_out()
    :: else
    fi
}

inline time_is_over()
{
    if
    :: wait[0] == PENDING -> assert( !signal || suspended ); timed_out = true; wait[0] = OVER
    :: else
    fi
}

/* ums_object_set */
proctype setter()
{
    byte n;

    do
    :: n < SETS ->
        lock();
        atomic
        {
            made++;
            if
            :: signal -> merged++
            :: else -> signal = true
            fi;
            hand_out()
        };
        unlock(); n++
    :: else -> break
    od
}

#ifdef RIVAL
/* ums_object_wait */
proctype rival()
{
    lock();
    atomic
    {
        if
        :: signal -> signal = false; taken++; given[1] = true; wait[1] = OVER
        :: else -> wait[1] = PENDING
        fi
    };
    unlock()
}
#endif

#ifdef PLAIN

/* ums_object_wait_in_thread, ums_object_wait_end */
proctype thread()
{
end_waiting:                                    /* it may wait for ever */
    if
    :: atomic { wait[0] == OVER && !suspended } -> goto over
#ifdef TIMES
    :: atomic { !suspended }
#endif
    fi;
    atomic { !locked && !suspended -> locked = true; busy = true };
    atomic
    {
#ifndef MISTAKE_THREAD_STILL_STANDS
        stands = 0;
#endif
        look_again();
        time_is_over();
        busy = false
    };
    unlock();
over:
    skip
}

/* try_to_suspend, resume_in_turn */
proctype suspender()
{
    atomic { !turn -> turn = true };
    atomic { !busy -> suspended++ };
    lock();                                     /* ums_objects_thread_suspended */
    atomic
    {
        if
        :: wait[0] != OVER -> stands++
        :: else
        fi
    };
    unlock();
    turn = false;

    atomic { !turn -> turn = true };
    suspended--;
    lock();                                     /* ums_objects_thread_resumed */
    atomic
    {
        if
        :: wait[0] != OVER ->
            if
            :: !suspended -> stands = 0
            :: suspended && stands -> stands--
            :: else
            fi;
#ifndef MISTAKE_RESUMED_DOES_NOT_LOOK
            if
            :: !stands -> look_again()
            :: else
            fi
#endif
        :: else
        fi
    };
    unlock();
    turn = false
}

#else

/* resume_worker */
proctype suspender()
{
    bool last;

    suspended++;                                /* ums_context_suspending */
#ifdef MISTAKE_LOOKS_FIRST
    lock();
    atomic { look_again() };
    unlock();
#endif
    atomic { suspended--; last = !suspended };  /* ums_context_resumed */
    if
    :: last ->                                  /* ums_objects_worker_resumed */
        lock();
        atomic
        {
#if !defined(MISTAKE_RESUMED_DOES_NOT_LOOK) && !defined(MISTAKE_LOOKS_FIRST)
            look_again();
#endif
#ifndef MISTAKE_RESUMED_DOES_NOT_POKE
            poked = (wait[0] == PENDING -> 1 : poked)
#endif
        };
        unlock()
    :: else
    fi
}

#ifdef TIMES
/* ums_timer_round, when the time is over, when it is poked, and once more because it looks when it is idle, too */
proctype timer()
{
    bool idle = true;

end:
    do
    :: atomic
        {
            if
            :: poked -> poked = 0
            :: idle -> idle = false
            fi
        };
        lock();
        atomic                                  /* ums_object_time_over */
        {
            if
            :: !STANDS ->
#ifndef MISTAKE_TIMER_DOES_NOT_LOOK
                look_again();
#endif
                time_is_over()
            :: else
            fi
        };
        unlock()
    od
}
#endif
#endif

/* Nothing can happen any more. */
proctype accounts()
{
    timeout;
    assert( !locked && !suspended );
    assert( made == taken + merged + signal );
    assert( !signal || (wait[0] != PENDING && wait[1] != PENDING) );
    assert( taken == given[0] + given[1] );
    assert( !given[0] || !timed_out );
#if defined(TIMES)
    assert( wait[0] == OVER )
#endif
}

init
{
    byte n;

    atomic
    {
        wait[0] = PENDING;
        run setter();
#ifdef RIVAL
        run rival();
#endif
#ifdef PLAIN
        run thread();
#elif defined(TIMES)
        poked = 1;
        run timer();
#endif
        do
        :: n < SUSPENDERS -> run suspender(); n++
        :: else -> break
        od;
        run accounts()
    }
}
