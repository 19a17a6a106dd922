/*
 * Local events and semaphores that become real, as a model for spin. Threads wait for one object, for any or all of two;
 * others set, reset, release and signal them (SignalObjectAndWait), somebody makes them real, a handle is closed, waits
 * time out, and one who waits is suspended or ended. Beside each step stands the function whose step it is.
 *
 *   objects_host.pml    what the wineserver does
 *   objects_wait.pml    who waits, who is ended or suspended there: core/objects_wait.c, hook_objects_wait.c
 *   objects_signal.pml  who signals and closes: hook_objects.c, hook_objects_real.c
 *   objects_real.pml    the step to the host: core/objects.c, hook_objects_real.c
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One atomic step is: an access to what is read without the lock (real, stragglers, the state of a wait), and a call of
 * the host, which is one step of the wineserver. What is done to the queues with the lock held is one step, too. The lock
 * itself is modelled, because the step to the host is several. Those who hold the lock are never ended or suspended there.
 *
 * Every signal is counted when it is made, and when it is given to a wait, merged, refused or reset. Each of the last
 * three is an error if a wait is on its way to the host that the signal would have ended (nobody_is_on_the_way). When
 * nothing can happen any more, all are accounted for, and nobody waits beside a signal. Those of a manual-reset event are
 * not counted, because they are not used up.
 *
 *   OBJECTS     1 or 2; KIND0, KIND1: EVENT (auto-reset), MANUAL, SEMAPHORE with the limit LIMIT
 *   BEGUN       waits that are in the queues from the beginning
 *   MOVED       and these, and the objects, have become real already
 *   WAITERS     waits, those included, at most 3; each is for all objects or any, the last one for those of LAST (bits)
 *   ALL         a wait for several is for all together
 *   TIMES       waits have a time-out
 *   JOINED      the last wait begins with the signal of SignalObjectAndWait, for the first object
 *   SETTERS     who set or release (COUNT each time), SETS times each: of two objects in turns (SECOND: always the second)
 *   OWN         each setter has an object of its own, and the second one sets once
 *   SIGNALLERS  the first so many setters do so by SignalObjectAndWait, and wait in vain
 *   RESETS      the first setter resets the first object at its end
 *   SIGNALLED   the first object is signalled, and only reset
 *   CLOSES      the handle of the last object is closed
 *   KILL        the first wait's thread is ended
 *   SUSPENDS    the first wait's thread is suspended and resumed
 *
 * MISTAKE_... seeds a mistake, which spin has to find. Many of them are what the code once did.
 *
 * Left out: mutants (mutants.pml), pulses, values of handles that are used again (handles.pml), a thread that is
 * ended with the lock, and what of a wait the order of its objects decides.
 */

#define MANUAL    0                             /* enum object_type */
#define EVENT     1
#define SEMAPHORE 2

#ifndef OBJECTS
#define OBJECTS 1
#endif
#ifndef KIND0
#define KIND0 EVENT
#endif
#if OBJECTS == 1
#define KIND1 KIND0
#elif !defined(KIND1)
#define KIND1 EVENT
#endif
#ifndef LIMIT
#define LIMIT 1
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
#ifndef COUNT
#define COUNT 1
#endif
#ifndef SIGNALLERS
#define SIGNALLERS 0
#endif
#define ROOM (WAITERS + 1)

#if OBJECTS == 1
#define KIND( o )    KIND0
#else
#define KIND( o )    (o == 0 -> KIND0 : KIND1)
#endif
#define COUNTS( o )  (KIND( o ) != MANUAL)
#ifdef LAST
#define FOR( w, o )  (w < WAITERS - 1 || (LAST >> o) & 1)
#else
#define FOR( w, o )  (o < OBJECTS)
#endif
#ifdef ALL
#define IS_ALL( w )  (FOR( w, 0 ) && FOR( w, 1 ))
#else
#define IS_ALL( w )  false
#endif

#ifdef JOINED
#define JOINS( w )   (w == WAITERS - 1)
#else
#define JOINS( w )   false
#endif
#define RUNS( w )    (!dead[w] && !stopped[w])

mtype = { NONE, PENDING, MOVES, ARRIVES, OVER };

/* ours: struct ums_object, struct object_wait. ARRIVES: WAIT_OVER, and `arrives` is set */
bool locked;
byte signal[2];
bool real[2], stragglers[2];
byte arriving[2], came[2], overdue[2];
bool keep[2], freed[2];
byte held[2];                                   /* by threads in let_arrive */
bool entry[2] = true;                           /* the table of handles has it */
bool closed[2];
mtype wait[ROOM] = NONE;
bool given[ROOM];                               /* a signal, or one of each */
bool timed_out[ROOM], done[ROOM];
bool busy[ROOM];                                /* it holds the lock: nobody ends or suspends it there */
bool dead[ROOM], gone[ROOM];                    /* its thread is; and whoever has ended it has told */
bool stopped[ROOM], excused[ROOM];

/* the host's */
byte at_host[2];                                /* its state */
bool in_queue[ROOM];
bool shut[2];                                   /* the program's handle is closed there */

byte made, taken, merged, refused;              /* signals; taken: by waits and resets */
bool a_signal_is_lost;

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* For one wait; inside a step. */
/* Is there a wait that arrives, and was not waited for in vain? ums_object_lets_arrive */
#ifdef MISTAKE_OVERDUE_IS_COUNTED
#define LETS_ARRIVE( o ) (arriving[o] > overdue[o])
#else
#define LETS_ARRIVE( o ) (arriving[o] && overdue[o] != came[o])
#endif

#ifdef ALL
#define READY( w, s ) ((!FOR( w, 0 ) || s[0]) && (!FOR( w, 1 ) || s[1]))
#else
#define READY( w, s ) ((FOR( w, 0 ) && s[0]) || (FOR( w, 1 ) && s[1]))
#endif

#define TAKE( o, s ) if :: COUNTS( o ) -> s[o]--; taken++ :: else fi
/* satisfy; the same by the wineserver */
#define GIVE( w, s ) \
    assert( !gone[w] && !given[w] && !timed_out[w] ); given[w] = true; \
    if \
    :: IS_ALL( w ) -> TAKE( 0, s ); TAKE( 1, s ) \
    :: !IS_ALL( w ) && FOR( w, 0 ) && s[0] -> TAKE( 0, s ) \
    :: else -> TAKE( 1, s ) \
    fi

/* Is there a wait for it that ...? */
#if WAITERS > 2
#define ANY( IS, o )  (IS( 0, o ) || IS( 1, o ) || IS( 2, o ))
#elif WAITERS > 1
#define ANY( IS, o )  (IS( 0, o ) || IS( 1, o ))
#else
#define ANY( IS, o )  IS( 0, o )
#endif
#define IS_WAITING( w, o )  (wait[w] == PENDING && FOR( w, o ))
#define IS_MOVING( w, o )   (wait[w] == MOVES && FOR( w, o ))
#define WAITED( o )  ANY( IS_WAITING, o )       /* waits.first */
#define MOVING( o )  ANY( IS_MOVING, o )        /* moving.first */

/* Does it arrive, and is not in the host's queue yet? A thread that is suspended there is in no queue; what it misses
   until it has come back, it would miss at any host. */
#define IS_LATE( w, o ) (FOR( w, o ) && wait[w] == ARRIVES && !in_queue[w] && !given[w] && !timed_out[w] && !dead[w] && !excused[w])

/* look_after; an object is freed here, once */
inline look_after( o )
{
#ifdef MISTAKE_OVERDUE_IS_COUNTED
    if
    :: overdue[o] > arriving[o] -> overdue[o] = arriving[o]
    :: else
    fi;
#endif
    stragglers[o] = real[o] && (arriving[o] || MOVING( o ));
    if
    :: !arriving[o] && !held[o] && !MOVING( o ) && !WAITED( o ) ->
        keep[o] = false;
        if
        :: closed[o] -> assert( !freed[o] ); freed[o] = true
        :: else
        fi
    :: else
    fi
}

/* look_after_all; an object that the wait is not for is left alone */
inline look_after_all( w )
{
    if
    :: FOR( w, 0 ) -> look_after( 0 )
    :: else
    fi
#if OBJECTS == 2
    ;
    if
    :: FOR( w, 1 ) -> look_after( 1 )
    :: else
    fi
#endif
}

#include "objects_host.pml"
#include "objects_real.pml"
#include "objects_signal.pml"
#include "objects_wait.pml"

/* Nothing can happen any more. */
proctype accounts()
{
    byte w, o, arrive, ends;

    timeout;
    assert( !locked );
    assert( made == taken + merged + refused + (COUNTS( 0 ) -> signal[0] + at_host[0] : 0) +
                    (COUNTS( 1 ) -> signal[1] + at_host[1] : 0) );
    do
    :: w < WAITERS ->
        assert( dead[w] || done[w] || !(READY( w, signal ) || READY( w, at_host )) );
#ifdef EACH_ENDS
        assert( dead[w] || done[w] );
#endif
        ends = ends + (given[w] -> (IS_ALL( w ) -> 2 : 1) : 0);
        w++
    :: else -> break
    od;
#if !defined(RESETS) && !defined(SIGNALLED) && KIND0 && KIND1
    assert( taken == ends );
#endif
    do
    :: o < OBJECTS ->
        arrive = 0;
        w = 0;
        do
        :: w < WAITERS -> arrive = arrive + (wait[w] == ARRIVES && FOR( w, o )); w++
        :: else -> break
        od;
        assert( arriving[o] == arrive );
        assert( freed[o] == (closed[o] && !arriving[o] && !WAITED( o )) );
        o++
    :: else -> break
    od;
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
        signal[0] = 1; made = COUNTS( 0 );
#endif
        do
#ifdef MOVED
        :: n < BEGUN -> wait[n] = MOVES; n++
#else
        :: n < BEGUN -> wait[n] = PENDING; n++
#endif
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
#ifdef MOVED
        real[0] = true; real[1] = true;
        look_after( 0 );
        look_after( 1 );
#else
        run maker();
#endif
#ifdef CLOSES
        run closer( OBJECTS - 1 );
#endif
#ifdef KILL
        run killer();
#endif
#ifdef SUSPENDS
        run suspender();
#endif
        run accounts()
    }
}
