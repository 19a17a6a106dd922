/*
 * Suspending and resuming a worker. A part of ums.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* ---- suspending ---- */

/* ums_worker_queue_stopped; seen: the word as it was seen */
inline queue_stopped( w, seen )
{
    do
        :: STATE( seen ) != BLOCKED || (seen & BARRED) || !(seen & (STOPPED | PREEMPTED)) -> break
    :: else ->
        if
        :: atomic { word[w] == seen -> SET( w, WITH( word[w], QUEUED ) ) }
            push( list_of[w], w, before );
            break
        :: atomic { word[w] != seen -> seen = word[w] }
        fi
    od
}

inline resume_thread( w )
{
    atomic
    {
        if
        :: stopped[w] -> stopped[w]--
        :: else
        fi
    }
}

/* resume: for good, not to try again. It goes on until a thread that suspends itself has stopped. */
inline resume_surely( w )
{
    atomic
    {
#ifndef MISTAKE_RESUMED_BEFORE_SUSPENDED
        stopped[w] || !SELF_SUSPENDING( w );
#endif
        if
        :: stopped[w] -> stopped[w]--
        :: else
        fi
    }
}

#ifdef STOPPERS

#define NOBODY  WORKERS         /* self: a plain thread */

/* hold_self, let_others_go_on until they have done something */
inline hold_self( self )
{
    if
    :: atomic { self != NOBODY -> busy[self]++ }
    :: else
    fi
}

inline let_self_go( self )
{
    if
    :: atomic { self != NOBODY -> busy[self]-- }
    :: else
    fi
}

/* ums_special_resume; seen: the word that the end of the suspension has left. count: as it was, and
   then whether the thread is left alone. */
inline resume( w, self, count, seen )
{
#ifndef MISTAKE_RESUME_NOT_BUSY
    hold_self( self );
#endif
#ifdef MISTAKE_RESUME_DOES_NOT_WAIT
#define NOT_SUSPENDING( word )  true
#else
#define NOT_SUSPENDING( word )  (!((word) & SUSPENDED) || !((word) & (SUSPENDING | HOLD)))
#endif
    do
    :: atomic
        {
            NOT_SUSPENDING( word[w] ) ->
            count = COUNT( word[w] );
            if
            :: count -> SET( w, word[w] - SUSPENDED_ONE )
            :: else
            fi;
            seen = word[w];
            break
        }
    :: atomic { self != NOBODY && !NOT_SUSPENDING( word[w] ) -> skip }
        let_self_go( self );
        NOT_SUSPENDING( word[w] );
        hold_self( self )
    od;
#ifdef MISTAKE_RESUME_LOOKS_LATE
    seen = word[w];
#endif
    if
    :: atomic { count == 1 -> count = (seen & STOPPED) != 0 }
        queue_stopped( w, seen )                /* ums_worker_continued */
    :: atomic { count != 1 ->
#ifdef MISTAKE_RESUMES_UNCOUNTED
        count = 0
#else
        count = !count
#endif
        }
    fi;
#ifdef MISTAKE_RESUME_HALF_BUSY
    let_self_go( self );
#endif
    if
    :: count                                    /* it goes on when it is executed */
    :: else -> resume_surely( w )
    fi;
#if !defined( MISTAKE_RESUME_NOT_BUSY ) && !defined( MISTAKE_RESUME_HALF_BUSY )
    let_self_go( self );
#endif
    atomic { count = 0; seen = 0 }
}

#if SCHEDULERS > 1
#define IS_ON_A_SCHEDULER( w )  (awaits[0] == w + 1 || awaits[1] == w + 1)
#else
#define IS_ON_A_SCHEDULER( w )  (awaits[0] == w + 1)
#endif
#if LISTS > 1
#define LISTS_ARE_EMPTY         (!head[0] && !head[1])
#else
#define LISTS_ARE_EMPTY         (!head[0])
#endif

#define GOT_CONTROL( w )        ((!IS_ON_A_SCHEDULER( w ) && LISTS_ARE_EMPTY) || ALL_ENDED)

#if defined( OUTSIDE ) && !defined( MISTAKE_STOPPED_IN_HANDLER )
#define IN_HANDLER( w )         (in_handler && (w) == 0)
#else
#define IN_HANDLER( w )         false
#endif
#ifdef KILL
#define KILLED( w )             killed[w]
#else
#define KILLED( w )             false
#endif

/* Suspend it for a moment; again: it is busy, and is not suspended any more. Its registers are asked for, so the thread
   has stopped then, and in no handler of ours. One that is no more cannot be suspended. */
inline stop( w, again )
{
    atomic
    {
        !IN_HANDLER( w ) ->
        if
        :: KILLED( w )
        :: else -> stopped[w]++
        fi
    }
    if
    :: busy[w] ->
#ifdef MISTAKE_TRIED_BEFORE_SUSPENDED
        resume_thread( w );
#else
        resume_surely( w );
#endif
        again = true
    :: else -> again = false
    fi
}

/* take_off; first: it was stopped in user code, and not suspended before */
inline take_off( w, flags, seen, own, first )
{
    do
    :: atomic { seen = word[w]; own = owner[w] }
        if
        :: STATE( seen ) == CARRIED ->          /* ke_preempt */
            atomic
            {
                in_user_code[w] || STATE( word[w] ) != CARRIED;
                if
                :: in_user_code[w] -> put_down[w] = true; break
                :: else
                fi
            }
        :: STATE( seen ) == RUNNING ->
            if
            :: atomic
                {
                    word[w] == seen ->
                    SET( w, WITH( word[w], BLOCKED ) | flags );
                    first = !(seen & SUSPENDED)
                }
                scheduler_post( own, w, 0 );
                break
            :: word[w] != seen
            fi
        :: else -> break
        fi
    od;
    atomic { seen = 0; own = 0 }
}

/* May it be suspended, or held, now? Each of the two waits until there is none of the other. */
#ifdef MISTAKE_HELD_WHILE_SUSPENDING
#define MAY_SUSPEND( word )     true
#define MAY_HOLD( word )        (!((word) & HOLD))
#else
#define MAY_SUSPEND( word )     (!((word) & HOLD))
#define MAY_HOLD( word )        (!((word) & (HOLD | SUSPENDING)))
#endif

/* ums_special_suspend. If the worker is busy, the suspension is undone, and tried again when it is not. */
inline suspend( w, self, count, seen, own )
{
    do
    :: !busy[w] ->
        atomic                                  /* ums_context_suspending */
        {
            MAY_SUSPEND( word[w] ) ->
            if
            :: self != NOBODY -> busy[self]++
            :: else
            fi;
            count = COUNT( word[w] );
            SET( w, word[w] + SUSPENDED_ONE + SUSPENDING_ONE );
            seen = word[w]
        }
#ifdef MISTAKE_SUSPENDER_LOOKS_LATE
        seen = word[w];
#endif
        if
        :: atomic { !count && (seen & STOPPED) -> seen = 0; break }
        :: atomic { count || !(seen & STOPPED) -> seen = 0; count = 0 }
            stop( w, count );
            if
            :: atomic { count -> count = 0; SET( w, word[w] - SUSPENDED_ONE - SUSPENDING_ONE ); seen = word[w] }
                queue_stopped( w, seen );
                seen = 0;
                let_self_go( self )
            :: else ->
                take_off( w, STOPPED, seen, own, count );
                count = 0;
                break
            fi
        fi
    od;
    skip;                                       /* spin does not jump into SET */
    SET( w, word[w] - SUSPENDING_ONE );         /* ums_context_suspend_made */
    let_self_go( self )
}

/* ---- holding ---- */

/* ums_hold_worker; held: its thread is suspended for that */
inline hold_worker( w, seen, own, held, first )
{
    do
    :: !busy[w] ->
        atomic
        {
            MAY_HOLD( word[w] ) ->
            SET( w, word[w] + HOLD );
            held = !((word[w] & STOPPED) && !(word[w] & SUSPENDED))
        }
        if
        :: held -> stop( w, first )
        :: else
        fi;
        if
        :: atomic { first -> first = false; SET( w, word[w] - HOLD ); seen = word[w] }
            queue_stopped( w, seen );
            seen = 0
        :: else -> break
        fi
    od;
    take_off( w, STOPPED, seen, own, first );
#ifdef MISTAKE_HOLD_RESUMES_STOPPED
    first = false
#else
    atomic { held = held && !first; first = false }
#endif
}

/* ums_let_go */
inline let_go( w, seen, held )
{
    if
    :: held ->
#ifdef MISTAKE_HELD_WHILE_SUSPENDING
        if
        :: word[w] & STOPPED -> !(word[w] & SUSPENDING)
        :: else
        fi;
#endif
        resume_surely( w )
    :: else
    fi;
    atomic { SET( w, word[w] - HOLD ); seen = word[w]; held = false }
    queue_stopped( w, seen );
    seen = 0
}

#endif

#ifdef KILL

/* ums_worker_killed_finish. Not a wait of its own: whoever comes here has seen that nobody carries the
   worker. now: its word */
inline finish_kill( w, now )
{
    if
    :: atomic { kill_pending -> kill_pending = false }
        atomic
        {
            now = word[w];
            if
            :: STATE( now ) != DEAD -> SET( w, WITH( word[w], DEAD ) )
            :: else
            fi
        }
        if
#ifdef MISTAKE_KILL_PUSHES_QUEUED
        :: STATE( now ) != DEAD -> push( list_of[w], w, before )
#else
        :: STATE( now ) != DEAD && STATE( now ) != QUEUED -> push( list_of[w], w, before )
#endif
        :: else
        fi;
        if
        :: STATE( now ) == RUNNING || STATE( now ) == INKERNEL ->
#ifndef MISTAKE_KILL_DOES_NOT_POST
            scheduler_post( owner[w], w, 0 )
#endif
        :: else
        fi;
        now = 0
    :: !kill_pending
    fi
}

#endif
