/*
 * The home thread of a worker. A part of ums.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* ---- a worker's home thread ---- */

inline busy_begins( w )
{
#ifdef STOPPERS
    busy[w]++
#else
    skip
#endif
}

inline busy_ends( w )
{
#ifdef STOPPERS
    busy[w]--
#else
    skip
#endif
}

/* queue_and_wait, but for the wait; ok: it was queued */
inline queue( w, from, flags )
{
    queue_first( w, from, flags );
    queue_rest( w )
}

inline queue_first( w, from, flags )
{
#ifndef MISTAKE_QUEUE_NOT_BUSY
    busy_begins( w );
#endif
    atomic
    {
        if
        :: STATE( word[w] ) == from ->
#ifdef MISTAKE_QUEUED_IS_READY
            SET( w, WITH( word[w], READY ) | flags );
#else
            SET( w, WITH( word[w], QUEUED ) | flags );
#endif
            ok = true
        :: else ->
            ok = false
        fi
    }
}

inline queue_rest( w )
{
    if
    :: ok -> push( list_of[w], w, before )
    :: else
    fi;
#ifdef MISTAKE_QUEUE_NOT_BUSY
    skip
#else
    busy_ends( w )
#endif
}

#ifdef MISTAKE_PREEMPTED_GOES_HOME
#define IS_PREEMPTED( word )        false
#else
#define IS_PREEMPTED( word )        ((word) & PREEMPTED)
#endif
#define IS_TO_RUN_AT_HOME( word )   (STATE( word ) != STARTING && STATE( word ) != QUEUED && \
                                     STATE( word ) != READY && STATE( word ) != CARRIED && \
                                     !IS_PREEMPTED( word ))

/* Between the wait of a home thread and that of a signal handler on it there is one difference: the
   handler looks at the word before it waits for a token. */
#ifdef MISTAKE_HANDLER_RUNS_CARRIED
#define MAY_LEAVE_HANDLER( word )   (IS_TO_RUN_AT_HOME( word ) || STATE( word ) == CARRIED)
#else
#define MAY_LEAVE_HANDLER( word )   IS_TO_RUN_AT_HOME( word )
#endif

/* The home thread is _pid 0 or 1: suspended, it does nothing. */
active [WORKERS] proctype Home() provided (!stopped[_pid])
{
    short seen;
    byte own, before;
    bool ok, entered, in_callback;
#ifdef OUTSIDE
    bool ran;                                   /* the signal came while the worker ran here */
    bool waits_here;                            /* in the handler of that, to be executed */
#endif

#ifdef KILL
    { skip;                                     /* until somebody ends it */
#endif
#if START
    queue( _pid, STARTING, 0 );
#endif

home_wait:
#ifdef OUTSIDE
    if
    :: atomic { _pid == 0 && signal -> signal = false; in_handler = true }
        goto signalled
    :: home_token[_pid]
    fi;
#endif
    TOGETHER
    {
        atomic { home_token[_pid] -> home_token[_pid] = false; ok = false }
        atomic
        {
            if
            :: !IS_TO_RUN_AT_HOME( word[_pid] ) -> goto home_wait
            :: else
            fi;
            assert( !running[_pid] );
            running[_pid] = true;
            if
            :: in_callback -> goto yielded
            :: !in_callback && where[_pid] == IN_WAIT -> where[_pid] = PLAIN; goto back
            :: !in_callback && where[_pid] == IN_CALL ->
                where[_pid] = PLAIN;
                entered = true;
                goto in_call
            :: else
            fi
        }
    }

plain:
    if
#ifdef OUTSIDE
    :: atomic { _pid == 0 && signal -> signal = false; in_handler = true; ran = true; running[_pid] = false }
        goto signalled
#endif
#ifdef WORKER_RESUMES
    :: atomic { _pid == 1 && halted[0] -> halted[0] = 0; may_end = true }
        goto resumes
#endif
#ifdef SUSPENDS_SELF
    :: atomic { left[_pid] -> left[_pid]-- }
        goto suspends_self
#endif
#ifdef WORKER_SUSPENDS
    :: atomic { _pid == 1 && !may_end -> may_end = true }
        if
        :: STATE( word[0] ) != DEAD -> goto suspends
        :: else -> goto plain
        fi
#endif
#ifdef FAULTS
    :: atomic { _pid == 0 && left[_pid] -> left[_pid]--; in_fault = true }
        /* nothing that was taken off its scheduler goes on beside it */
        atomic { in_fault = false; assert( STATE( word[_pid] ) == RUNNING ) }
        goto plain
#endif
    :: !left[_pid] && MAY_END( _pid ) -> goto ends
    :: left[_pid]
    fi;
    TOGETHER
    {
        left[_pid]--;
        if
        :: goto yield
        :: goto block
        :: goto enter_kernel
        fi
    }
#ifdef OUTSIDE
signalled:                                      /* stop_parked, stop_running, and hold in the warden */
    atomic
    {
        if
        :: word[_pid] & (SUSPENDED | SUSPENDING | HOLD) ->    /* KE_LEAVE_IT: its own process was first */
            left_alone = true;
            in_handler = false;
            handled = true;
            running[_pid] = ran && !waits_here
#ifdef MISTAKE_HELD_LATE
        :: true
#else
        :: SET( _pid, word[_pid] | FOREIGN )
#endif
        fi
    }
    if
    :: left_alone ->
        atomic { !handled; left_alone = false }
        if
        :: !ran -> goto home_wait
        :: ran && !waits_here -> ran = false; goto plain
        :: waits_here -> goto held_wait
        fi
    :: else
    fi;
    take_off( _pid, PREEMPTED | HOME, seen, own, ok );
#ifdef MISTAKE_HELD_LATE
    SET( _pid, word[_pid] | FOREIGN );
#endif
    atomic { ok = false; in_handler = false; handled = true }
    atomic { !handled -> in_handler = true }
    atomic { SET( _pid, word[_pid] & ~FOREIGN ); seen = word[_pid] }    /* released */
#ifndef MISTAKE_RELEASED_IS_NOT_QUEUED
    queue_stopped( _pid, seen );
#endif
    atomic { seen = 0; in_handler = false }
    if
    :: !ran -> goto home_wait
    :: else
    fi;
    waits_here = true;
held_wait:
    do                                          /* ums_worker_held_wait */
    :: MAY_LEAVE_HANDLER( word[_pid] ) -> break
    :: atomic { !MAY_LEAVE_HANDLER( word[_pid] ) -> skip }
        if
        :: atomic { home_token[_pid] -> home_token[_pid] = false }
        :: atomic { signal -> signal = false; in_handler = true }
            goto signalled                      /* a handler in the handler */
        fi
    od;
    atomic { ran = false; waits_here = false; assert( !running[_pid] ); running[_pid] = true }
    goto plain;
#endif
#ifdef WORKER_RESUMES
resumes:
    resume( 0, _pid, own, seen );
    goto plain;
#endif
#ifdef WORKER_SUSPENDS
suspends:
    suspend( 0, _pid, before, seen, own );
    halted[0]++;
    if
    :: true
    :: true -> GOT_CONTROL( 0 )
    fi;
    halted[0]--;
    resume( 0, _pid, own, seen );
    goto plain;
#endif
#ifdef SUSPENDS_SELF
suspends_self:                                  /* suspend_self */
    atomic
    {
        self_suspending[_pid] = true;
        SET( _pid, word[_pid] + SUSPENDED_ONE );
        own_suspension = true
    }
    atomic { busy_begins( _pid ); own = owner[_pid] }
    leave( _pid, BLOCKED, ok );
    if
    :: ok -> scheduler_post( own, _pid, 0 )
    :: else
    fi;
    atomic { own = 0; busy_ends( _pid ) }
    stopped[_pid]++;
    self_suspending[_pid] = false;
    if
    :: ok -> goto back
    :: else -> goto plain
    fi;
#endif

yield:
    running[_pid] = false;

    /* parked_yield. The owner does not change while the worker is on it. */
parked_yield:
#ifdef MISTAKE_POST_BEFORE_LEAVE
    own = owner[_pid];
    scheduler_post( own, _pid, _pid + 1 );
#endif
    TOGETHER
    {
#ifdef MISTAKE_OWNER_BEFORE_BUSY
        own = owner[_pid];
        busy_begins( _pid );
#else
#ifdef MISTAKE_YIELD_NOT_BUSY
        own = owner[_pid];
#else
        atomic { busy_begins( _pid ); own = owner[_pid] }
#endif
#endif
        leave( _pid, READY | (in_callback -> HOME : 0), ok )
    }
    if
    :: ok ->
#ifndef MISTAKE_POST_BEFORE_LEAVE
        scheduler_post( own, _pid, _pid + 1 );
#endif
#ifndef MISTAKE_YIELD_NOT_BUSY
        busy_ends( _pid );
#endif
        own = 0;
        goto home_wait
    :: else ->
#ifndef MISTAKE_YIELD_NOT_BUSY
        busy_ends( _pid );
#endif
        /* taken as blocked in the call that it is a callback of: it has to be scheduled first */
        queue( _pid, BLOCKED, HOME );
        do
        :: !ok -> break
        :: atomic { ok && home_token[_pid] -> home_token[_pid] = false }
            ok = !IS_TO_RUN_AT_HOME( word[_pid] )
        od;
        goto parked_yield
    fi;

yielded:                                        /* in a callback: the call goes on */
    in_callback = false;
    goto enter_kernel;

    /* ums_worker_block, then the wait */
block:
    TOGETHER
    {
        atomic { busy_begins( _pid ); own = owner[_pid] }
        leave( _pid, BLOCKED, ok )
    }
    if
    :: ok -> scheduler_post( own, _pid, 0 )
    :: else
    fi;
    own = 0;
    busy_ends( _pid );
    goto back;

    /* ums_worker_enter_kernel, then the call */
enter_kernel:
#ifndef MISTAKE_WATCH_NOT_BUSY
    busy_begins( _pid );
#endif
#ifdef MISTAKE_WATCHING_BEFORE_STATE
    ok = watching[owner[_pid]];
#endif
    atomic
    {
        own = owner[_pid];
        if
        :: STATE( word[_pid] ) == RUNNING ->
            SET( _pid, WITH( word[_pid], INKERNEL ) );
            count_seq( _pid );
            entered = true
        :: else ->
            entered = false
        fi
    }
    if
    :: entered ->                               /* watch */
        if
#ifdef MISTAKE_WATCHING_BEFORE_STATE
        :: !ok ->
#else
        :: !watching[own] ->
#endif
            watching[own] = true;
            unpark( token[own] )
        :: else
        fi
    :: else
    fi;
    atomic { ok = false; own = 0 }
#ifndef MISTAKE_WATCH_NOT_BUSY
    busy_ends( _pid );
#endif

in_call:
    if
    :: true                                     /* a quick one */
    :: true ->                                  /* a long one: it ends after it was noticed */
        STATE( word[_pid] ) != INKERNEL
#ifdef CALLBACKS
    :: left[_pid] && entered ->
        atomic { left[_pid]--; in_callback = true; running[_pid] = false; entered = false }
        goto parked_yield
#endif
    fi;
    if
    :: atomic { !entered -> skip }
        goto plain
    :: atomic { entered -> entered = false }
    fi;

back:                                           /* ums_worker_back */
    if
    :: atomic { STATE( word[_pid] ) == INKERNEL -> SET( _pid, WITH( word[_pid], RUNNING ) ) }
        goto plain
    :: STATE( word[_pid] ) != INKERNEL && STATE( word[_pid] ) != BLOCKED -> goto plain
    :: TOGETHER
        {
            atomic { STATE( word[_pid] ) == BLOCKED -> running[_pid] = false }
            queue_first( _pid, BLOCKED, 0 )
        }
        queue_rest( _pid );
        assert( ok );
        goto home_wait
    fi;

ends:                                           /* ums_worker_end */
    TOGETHER
    {
        atomic { busy_begins( _pid ); own = owner[_pid]; running[_pid] = false }
        leave( _pid, DEAD, ok )
    }
    if
    :: ok
    :: else ->
        atomic
        {
            assert( STATE( word[_pid] ) == BLOCKED );
            SET( _pid, WITH( word[_pid], DEAD ) )
        }
    fi;
    push( list_of[_pid], _pid, before );
    if
    :: ok -> scheduler_post( own, _pid, 0 )
    :: else
    fi;
    busy_ends( _pid )
#ifdef KILL
    } unless { killed[_pid] }
#endif
}
