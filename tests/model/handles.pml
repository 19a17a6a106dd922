/*
 * A handle of a local object that is closed while others use it, and its value that another object gets at once, as a
 * model for spin: hook_objects.c, hook_objects_make.c, hook_objects_real.c, hook_handles.c and factory_handle.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Event A has the value, and one thread waits for it. A second thread sets whatever the value names, twice; a third one
 * makes it real; a fourth one closes it. As soon as the host gives the value again, a fifth one makes event B, which is
 * local, sets it and takes the signal. A program that does this is wrong, and its sets may reach either event or none; but
 * neither A's wait nor B's owner may notice more than that.
 *
 * One atomic step is: a look at the table, an access to what is read without the lock, what is done with the lock held,
 * a call of the host.
 *
 *   - What is done with the lock is done to a live object whose value it is, and a host's object that is told something
 *     belongs to an object that is real.
 *   - A call is passed on to the host only if the value named no local object when it was looked at. (The host may find
 *     another object there when the call comes to it. Nobody can prevent that: docs/local_objects.md.)
 *   - A's wait is made at the host's A. An object is freed once.
 *   - B's owner finds B's signal.
 *
 * MISTAKE_... seeds a mistake, which spin has to find.
 */

#define A 0                                     /* the host's objects; A is in the first slot of ours */
#define B 1
#define GONE 2

/* the table: the number of changes * 4 + what */
#define NOTHING 2
#define CLOSING 3                               /* else the slot */
#define WHAT( e )      ((e) % 4)
#define NEXT( e, to )  ((e) - WHAT( e ) + 4 + (to))

mtype = { PENDING, MOVES, ARRIVES, OVER };

byte entry = A;
bool locked;
bool live[2], real[2], stragglers[2], signal[2], closed[2], keep[2];
byte is[2];                                     /* the host's object of the slot */
byte held[2];
byte arriving;                                  /* at A */
mtype wait = PENDING;

byte names = A;                                 /* what the host has for the value */
bool at_host[2];
bool in_queue, given, made;                     /* A's wait; B is made */

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* look_after; the wait is A's */
inline look_after( o )
{
    stragglers[o] = real[o] && is[o] == A && (arriving || wait == MOVES);
    if
    :: held[o]
    :: !held[o] && is[o] == A && (arriving || wait == MOVES || wait == PENDING)
    :: else ->
        keep[o] = false;
        if
        :: closed[o] -> assert( live[o] ); live[o] = false; closed[o] = false
        :: else
        fi
    fi
}

/* NtSetEvent by the wineserver */
inline host_set( object )
{
    at_host[object] = true;
    if
    :: object == A && in_queue -> in_queue = false; given = true; at_host[A] = false
    :: else
    fi
}

/* ums_object_hold, ums_object_let_go; whoever looks for the object once more has not held it */
inline hold( o )
{
#ifndef MISTAKE_TAKES_WHAT_COMES
    held[o]++
#else
    skip
#endif
}

inline let_go( o )
{
#ifndef MISTAKE_TAKES_WHAT_COMES
    atomic { held[o]--; look_after( o ) }
#else
    skip
#endif
}

/* With the lock; ums_object_at_host */
inline native_event( o )
{
    atomic { assert( live[o] && real[o] && (keep[o] || names == is[o]) ); host_set( is[o] ) }
}

/* ums_object_find: found is 2 (NOTHING) if it is not ours, or the host's. `seen` is what the table had at the end. */
inline find()
{
    found = NOTHING;
    atomic { seen = entry; o = WHAT( seen ) };
    if
    :: o < NOTHING ->
        its = false;
        if                                      /* is_the_hosts */
        :: real[o] -> its = !stragglers[o]
        :: else
        fi;
        atomic
        {
#ifdef MISTAKE_NO_SECOND_LOOK
            if
            :: !its -> found = o
#else
            if
            :: !its || entry != seen -> found = o
#endif
            :: else
            fi;
            seen = entry; its = false
        }
    :: else
    fi
}

/* ums_object_lock: o is the object, and the lock is held, or NOTHING */
inline lock_object()
{
    lock();
    atomic
    {
#ifdef MISTAKE_LOCKS_WHAT_IT_SAW
        o = found;
#else
        o = WHAT( entry );
#endif
        if
        :: o == CLOSING -> o = NOTHING
        :: o < NOTHING && real[o] && !stragglers[o] -> o = NOTHING
        :: else
        fi;
        if
        :: o == NOTHING -> seen = entry; unlock()
        :: else -> assert( live[o] && WHAT( entry ) == o )
        fi
    }
}

/* Nothing of ours has the value: the host's call is made. */
inline pass_on()
{
    atomic
    {
        assert( WHAT( seen ) >= NOTHING || entry != seen || real[WHAT( seen )] );
        if
        :: names != GONE -> host_set( names )
        :: else
        fi
    }
}

/* operate_event, ums_object_with_stragglers: a set */
inline set_event()
{
    find();
    if
    :: found < NOTHING -> lock_object()
    :: else -> o = NOTHING
    fi;
    if
    :: o == NOTHING -> pass_on()
    :: o < NOTHING && real[o] && is[o] == A && wait == MOVES ->
        atomic { wait = OVER; given = true; look_after( o ) };  /* ums_object_claim */
        unlock()
    :: o < NOTHING && real[o] && !(is[o] == A && wait == MOVES) ->
        hold( o );
        if
        :: is[o] == A && arriving && at_host[A] ->              /* let_arrive */
            unlock();
            !(arriving && at_host[A]);
#ifdef MISTAKE_TAKES_WHAT_COMES
            lock_object();
#else
            lock();
#endif
        :: else
        fi;
        if
        :: o == NOTHING -> pass_on()
        :: else -> native_event( o ); let_go( o ); unlock()
        fi
    :: o < NOTHING && !real[o] ->
        atomic
        {
            signal[o] = true;
            if
            :: is[o] == A && wait == PENDING -> wait = OVER; given = true; signal[o] = false; look_after( o )
            :: else
            fi
        };
        unlock()
    fi
}

proctype setter()
{
    byte o, found, seen, n;
    bool its;

    do
    :: n < 2 -> set_event(); n++
    :: else -> break
    od
}

/* ums_object_make_real, tell_host */
proctype maker()
{
    byte o, found, seen;
    bool its;

    find();
    if
    :: found < NOTHING -> lock_object()
    :: else -> goto no_more
    fi;
    if
    :: o == NOTHING -> goto no_more
    :: o < NOTHING && !real[o] ->
        stragglers[o] = true;
        real[o] = true;
        atomic
        {
            if
            :: is[o] == A && wait == PENDING -> keep[o] = true; wait = MOVES
            :: else
            fi
        };
        if
        :: signal[o] -> signal[o] = false; native_event( o )
        :: else
        fi;
        atomic { look_after( o ) }
    :: else
    fi;
    unlock();
no_more:
    skip
}

/* A's wait. After it, it may have another object's slot, so nothing of it is touched. */
proctype waiter()
{
end_local:
    wait != PENDING;
    lock();
    atomic
    {
        if
        :: wait == OVER -> unlock(); goto over
        :: else -> wait = ARRIVES; arriving++; look_after( A ); unlock()
        fi
    };
    atomic                                      /* wait_at_host, with ums_object_at_host */
    {
        assert( live[A] && is[A] == A && (keep[A] || names == A) );
        if
        :: at_host[A] -> at_host[A] = false; given = true
        :: else -> in_queue = true
        fi
    };
end_host:
    given;
    lock();
    atomic { wait = OVER; arriving--; look_after( A ); unlock() };
over:
    skip
}

/* ums_special_close */
proctype closer()
{
    byte now;

#ifndef MISTAKE_TABLE_LAST
    atomic { entry = NEXT( entry, CLOSING ); now = entry };     /* ums_handle_closing */
#endif
#ifndef MISTAKE_CLOSES_WITHOUT_LOCK
    lock();                                     /* ums_object_closing */
#endif
    atomic
    {
        if
        :: held[A] || wait == PENDING || wait == MOVES -> keep[A] = true
        :: else
        fi
    };
#ifndef MISTAKE_CLOSES_WITHOUT_LOCK
    unlock();
#endif
    names = GONE;
#ifdef MISTAKE_TABLE_LAST
    atomic { entry = NEXT( entry, CLOSING ); now = entry };
#endif
    lock();                                     /* ums_object_closed */
    atomic { closed[A] = true; look_after( A ) };
    unlock();
    atomic                                      /* ums_handle_closed */
    {
        if
#ifdef MISTAKE_CLOSED_CLEARS
        :: true -> entry = NEXT( entry, NOTHING )
#else
        :: entry == now -> entry = NEXT( entry, NOTHING )
        :: else
#endif
        fi
    }
}

/* The fields of a free slot are those of any objects that are made there meanwhile. */
proctype others()
{
end:
    do
    :: atomic { !live[A] && names != A -> real[A] = true; stragglers[A] = false }
    od
}

/* create; then a set, and a wait with no time-out */
proctype owner()
{
    byte o, found, seen, slot;
    bool its;

    atomic                                      /* ums_object_create */
    {
        names == GONE;
        slot = 1;
#ifdef SAME_SLOT
        if
        :: !live[A] -> slot = A
        :: else
        fi;
#endif
        live[slot] = true; is[slot] = B;
        real[slot] = false; stragglers[slot] = false; signal[slot] = false; keep[slot] = false
    };
    names = B;                                  /* make_at_host */
    atomic { entry = NEXT( entry, slot ); made = true };        /* ums_handle_is_object */
    set_event();
    lock();
    atomic
    {
        assert( WHAT( entry ) == slot );
        if
        :: real[slot] -> assert( at_host[B] ); at_host[B] = false
        :: else -> assert( signal[slot] ); signal[slot] = false
        fi
    };
    unlock()
}

/* Nothing can happen any more. */
proctype accounts()
{
    timeout;
    assert( !locked && made && !(in_queue && at_host[A]) );
    assert( wait != OVER || is[A] == B || (!live[A] && !keep[A]) )
}

init
{
    atomic
    {
        live[A] = true;
        run waiter();
        run setter();
        run maker();
        run closer();
        run owner();
#ifndef SAME_SLOT
        run others();
#endif
        run accounts()
    }
}
