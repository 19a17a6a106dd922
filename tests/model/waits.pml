/*
 * A worker that waits without its thread: core/wait.c and core/timer.c as a model for spin. One worker, which one
 * scheduler executes; others alert it, suspend and resume it, kill it; the timer ends its waits.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is one exchange of the state word in the code is one atomic step here, and so is one load of it. All else is a
 * step by itself. Found are: a wait that nobody ends (spin sees that no process can go on), and what is asserted.
 *
 *   ROUNDS      how often the worker waits until somebody has counted go up
 *   ALERTERS    who do that
 *   TIMES       the waits have a time-out, too, and in between the worker sleeps
 *   HOLDERS     who suspend and resume it, or hold it, once each
 *   KILL        somebody ends its thread
 */

#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef ALERTERS
#define ALERTERS 1
#endif
#ifndef HOLDERS
#define HOLDERS 0
#endif

#define NEVER   255
#define LAST    3                               /* the clock stops there */

mtype = { CARRIED, BLOCKED, QUEUED, READY, DEAD };
mtype = { FOR_ALERT, FOR_TIME };

/* the state word */
mtype state = CARRIED;
bool waits;
byte seq;
byte barred;                                    /* suspensions and holds */

/* Each change of it but that of SEQ alone. With TRANSITIONS pan says from what to what, in the numbers of ums.pml, for
   tests/tie/transitions.py. A worker that is BLOCKED here is PREEMPTED, too. */
#ifdef TRANSITIONS
c_decl {
    static unsigned char noted[64][64];
    static int as_in_ums( int i )
    {
        return (i & 15) | ((i & 15) == 7 || (i & 16) ? 64 : 0) | (i & 16 ? 8192 : 0) | (i & 32 ? 512 : 0);
    }
    static void __attribute__((destructor)) print_noted( void )
    {
        int i, j;
        for (i = 0; i < 64; i++)
            for (j = 0; j < 64; j++)
                if (noted[i][j]) printf( "word %d %d\n", as_in_ums( i ), as_in_ums( j ) );
    }
}
hidden byte was, is;
#define NUMBER  (state == QUEUED -> 2 : (state == READY -> 3 : (state == CARRIED -> 4 : (state == BLOCKED -> 7 : 8))))
#define WORD    (NUMBER + (waits -> 16 : 0) + (barred -> 32 : 0))
#define CHANGE( steps )  d_step { was = WORD; steps; is = WORD; c_code { noted[was][is] = 1; }; was = 0; is = 0 }
#else
#define CHANGE( steps )  steps
#endif

bool alert;
mtype wait_for = FOR_ALERT;
byte deadline;                                  /* 0: none */
bool linked;                                    /* on the completion list */
byte go;                                        /* what the worker waits for */
bool over;                                      /* the scheduler has seen its end */

byte now = 1, pokes, next_look = NEVER;

inline push()
{
    atomic { assert( !linked ); linked = true }
}

/* mine: it is ours until it is linked */
inline end_wait( seen )
{
    atomic
    {
        mine = false;
        if
#ifdef MISTAKE_ENDS_ANY_WAIT
        :: state == BLOCKED && waits ->
#else
        :: state == BLOCKED && waits && seq == seen ->
#endif
            if
#ifdef MISTAKE_QUEUES_SUSPENDED
            :: true ->
#else
            :: barred -> CHANGE( waits = false )
            :: !barred ->
#endif
                assert( !barred ); CHANGE( state = QUEUED; waits = false ); mine = true
            fi
        :: else
        fi
    }
#ifdef MISTAKE_ENDER_IS_KILLED
    if
    :: mine -> mine = false
    :: true
    fi;
#endif
    if
    :: mine -> push()
    :: else
    fi
}

/* By whoever has ended a suspension, or finds that it is over: what the exchange has left may be old. */
inline queue_stopped()
{
    atomic
    {
        mine = false;
        if
#ifdef MISTAKE_RESUME_ENDS_WAIT
        :: state == BLOCKED && !barred ->
#else
        :: state == BLOCKED && !barred && !waits ->
#endif
            CHANGE( state = QUEUED; waits = false ); mine = true
        :: else
        fi
    }
    if
    :: mine -> push()
    :: else
    fi
}

/* ---- the worker and its scheduler ---- */

/* Until it is executed again, or dead. */
inline wait_for_turn()
{
    do
    :: atomic { linked -> linked = false;
        if
        :: state == QUEUED -> CHANGE( state = READY )
        :: else -> assert( state == DEAD ); over = true; goto the_end
        fi };
        if
        :: atomic { state == READY && !barred -> seq++; CHANGE( state = CARRIED ) }; break
        :: state == DEAD
        fi
    od
}

/* Barred, and carried: it gives way. */
inline give_way()
{
    do
    :: atomic { barred && state == CARRIED -> CHANGE( state = BLOCKED ) };
        queue_stopped();
        wait_for_turn()
    :: else -> break
    od
}

inline worker_waits( what, until )
{
    give_way();
    wait_for = what;
    deadline = until;
#ifdef MISTAKE_EXPECTS_BEFORE_STATE
    look = next_look;
#endif
    atomic { seq++; CHANGE( state = BLOCKED; waits = true ); own = seq };
#ifndef MISTAKE_NO_SECOND_LOOK
    if
    :: wait_for == FOR_ALERT ->
        if
        :: alert -> end_wait( own )
        :: else
        fi
    :: else
    fi;
#endif
    if
    :: until ->
#ifndef MISTAKE_EXPECTS_BEFORE_STATE
        look = next_look;
#endif
        if
        :: until < look -> pokes++
        :: else
        fi
    :: else
    fi;
    wait_for_turn();
    deadline = 0
}

proctype scheduler()
{
    byte own, round, until, look;
    bool mine, had;

    do
    :: round == ROUNDS -> break
    :: round < ROUNDS ->
        do
        :: go > round -> break
        :: go <= round ->
            atomic { had = alert; alert = false };
            if
            :: had
            :: !had ->
                until = 0;
#ifdef TIMES
                if
                :: atomic { now < LAST -> until = now + 1 }
                :: true
                fi;
#endif
                worker_waits( FOR_ALERT, until );
                atomic { had = alert; alert = false };
                /* nothing else ends it */
                assert( had || (until && now >= until) )
            fi
        od;
#ifdef TIMES
        if
        :: atomic { now < LAST -> until = now + 1 };
            worker_waits( FOR_TIME, until );
            assert( now >= until )
        :: true
        fi;
#endif
        round++
    od;
    over = true;
the_end:
    skip
}

/* ---- others ---- */

proctype alerter()
{
    bool mine, seen_waiting;
    byte round, seen;

    do
    :: round < ROUNDS ->
        round++;
        if
        :: go < round -> go = round
        :: else
        fi;
#ifdef MISTAKE_LOOKS_FIRST
        atomic { seen = seq; seen_waiting = (state == BLOCKED && waits) };
        alert = true;
#else
        alert = true;
        atomic { seen = seq; seen_waiting = (state == BLOCKED && waits) };
#endif
        if
        :: seen_waiting ->
#ifndef MISTAKE_ALERT_ENDS_SLEEP
            if
            :: wait_for == FOR_ALERT ->
#endif
                if
#ifdef MISTAKE_DOES_NOT_LOOK_AGAIN
                :: true -> end_wait( seen )
#else
                :: alert -> end_wait( seen )
                :: else
#endif
                fi
#ifndef MISTAKE_ALERT_ENDS_SLEEP
            :: else
            fi
#endif
        :: else
        fi
    :: round == ROUNDS -> break
    od
}

proctype suspender()
{
    bool mine;

    CHANGE( barred++ );
    atomic { CHANGE( barred-- ); mine = false };
#ifndef MISTAKE_RESUME_QUEUES_NOT
    queue_stopped()
#endif
}

/* The worker's thread is no more. It is off its carrier first. */
proctype killer()
{
    bool mine, push_it;

    CHANGE( barred++ );
    atomic
    {
        state != CARRIED || over ->
        if
        :: over -> CHANGE( barred-- ); goto the_end
#ifdef MISTAKE_KILL_PUSHES_QUEUED
        :: !over -> CHANGE( state = DEAD ); push_it = true
#else
        :: !over && state == QUEUED -> CHANGE( state = DEAD )
        :: !over && state != QUEUED -> CHANGE( state = DEAD ); push_it = true
#endif
        fi
    };
    if
    :: push_it -> push()
    :: else
    fi;
    CHANGE( barred-- );
the_end:
    skip
}

/* ---- time ---- */

proctype clock()
{
    do
    :: now < LAST -> now++
    :: now == LAST -> break
    od
}

proctype timer()
{
    byte seen_pokes, seen, first, until;
    bool mine, seen_waiting;

    do
    :: over -> break
    :: !over ->
#ifndef MISTAKE_READS_POKES_LATE
        seen_pokes = pokes;
#endif
#ifndef MISTAKE_NEXT_LOOK_STAYS
        next_look = NEVER;
#endif
        first = NEVER;
        atomic { seen = seq; seen_waiting = (state == BLOCKED && waits) };
        until = deadline;
        if
        :: seen_waiting && until && until <= now -> end_wait( seen )
        :: seen_waiting && until && until > now -> first = until
        :: else
        fi;
        next_look = first;
#ifdef MISTAKE_READS_POKES_LATE
        seen_pokes = pokes;
#endif
        (pokes != seen_pokes || now >= first || over)
    od
}

init
{
    atomic
    {
        byte i;

        run scheduler();
        for (i : 1 .. ALERTERS) { run alerter() }
        i = 0;
        do
        :: i < HOLDERS -> run suspender(); i++
        :: else -> break
        od;
#ifdef TIMES
        run clock();
        run timer();
#endif
#ifdef KILL
        run killer();
#endif
    }
}
