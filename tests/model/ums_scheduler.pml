/*
 * The threads of schedulers, and threads that suspend workers. A part of ums.pml.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* ---- a scheduler thread ---- */

#define CAN_PICK( w )   (HAS( ready, w ) && !(word[w] & BARRED))
#if WORKERS > 1
#define CAN_PICK_ANY    (CAN_PICK( 0 ) || CAN_PICK( 1 ))
#else
#define CAN_PICK_ANY    CAN_PICK( 0 )
#endif

active [SCHEDULERS] proctype Scheduler()
{
    short seen;
    byte s, w, before, next, got;
    bool stays_home, was_stopped, found;

    s = _pid - WORKERS;

next_turn:
    do
    :: ALL_ENDED -> goto leaves_mode
    :: atomic { CAN_PICK( 0 ) -> ready = ready & ~1; w = 0 }
        break
#if WORKERS > 1
    :: atomic { CAN_PICK( 1 ) -> ready = ready & ~2; w = 1 }
        break
#endif
#if POLLS
    :: atomic { s == 1 && polls && STATE( word[0] ) == READY && !HAS( ready, 0 ) ->
                polls--; w = 0 }
        break
#endif
    :: atomic { !ready && !ALL_ENDED -> skip }
        list_wait( LIST( s ) )
        /* all that it has are suspended */
    :: atomic { ready && !CAN_PICK_ANY && head[LIST( s )] -> skip }
        take( LIST( s ) );
        found = false
    od;

execute:                                        /* ums_execute */
    TOGETHER {
    atomic
    {
        if
#ifdef MISTAKE_EXECUTES_HELD
        :: STATE( word[w] ) == READY && !(word[w] & SUSPENDED) ->
#else
        :: STATE( word[w] ) == READY && !(word[w] & BARRED) ->
#endif
#ifdef MISTAKE_STOPPED_BY_TOKEN
            was_stopped = false;
#else
            was_stopped = (word[w] & STOPPED) != 0;
#endif
#ifdef HANDOFF
            stays_home = true;
#else
            stays_home = (word[w] & (HOME | STOPPED)) != 0;
#endif
            SET( w, (word[w] & ~(15 | PARKED)) | CARRIED );
            count_seq( w );
            assert( !awaits[s] );
            awaits[s] = w + 1
        :: STATE( word[w] ) == READY && (word[w] & BARRED) ->
            ready = ready | (1 << w);
            goto next_turn
        :: else ->
#ifdef KILL
            assert( POLLS || killed[w] );
#else
            assert( POLLS );                    /* somebody was faster */
#endif
            goto next_turn
        fi
    }
    atomic
    {
        owner[w] = s;
        list_of[w] = LIST( s )
    }
    if
    :: stays_home -> goto left_running
    :: else
    fi;

    /* ke_carry: the worker runs here */
    atomic
    {
        assert( !running[w] );
        running[w] = true;
        in_user_code[w] = true
    }
    }
    if
#ifdef STOPPERS
    :: atomic { put_down[w] -> put_down[w] = false; in_user_code[w] = false; running[w] = false }
        goto left_preempted
#endif
    :: TOGETHER {
        atomic { !put_down[w] && left[w] ->
                assert( !halted[w] ); left[w]--; in_user_code[w] = false; running[w] = false }
        /* ums_left_yield */
        atomic
        {
            SET( w, WITH( word[w], READY ) );
            owner[w] = 0;
            give( s, w );
            upcall[s] = w + 1
        }
        goto to_scheduler
        }
    :: atomic { !put_down[w] -> assert( !halted[w] ); in_user_code[w] = false; running[w] = false }
#ifdef STOPPERS
        /* a call, ums_worker_give_way */
        if
        :: word[w] & BARRED -> goto left_preempted
        :: else
        fi
#endif
    fi;
    if
    :: !left[w] -> goto left_running            /* it goes home to end there */
    :: atomic { left[w] -> left[w]-- }
        goto left_running
    :: atomic { left[w] -> left[w]--; where[w] = IN_CALL }
        goto left_inkernel
    :: atomic { left[w] -> left[w]--; where[w] = IN_WAIT }
    fi;

    /* ums_left_blocked */
    atomic
    {
        SET( w, WITH( word[w], BLOCKED ) );
        owner[w] = 0;
        give( s, w );
        upcall[s] = 0
    }
    unpark( home_token[w] );
    goto to_scheduler;

left_preempted:
    atomic
    {
        SET( w, WITH( word[w], BLOCKED ) | PREEMPTED );
        seen = word[w];
        give( s, w );
        upcall[s] = 0
    }
#ifndef MISTAKE_PREEMPTED_IS_NOT_QUEUED
    queue_stopped( w, seen );
#endif
    seen = 0;
#ifdef KILL
    if
    :: w == 0 -> finish_kill( w, seen )
    :: else
    fi;
#endif
    goto to_scheduler;

left_running:
#ifndef MISTAKE_EXPECT_AFTER_SENDING
    /* whether it has made slow calls is a hint only */
    if
    :: scheduler_expect( s, true )
    :: scheduler_expect( s, false )
    fi;
#endif
#ifdef MISTAKE_TOKEN_BEFORE_STATE
    unpark( home_token[w] );
#endif
    SET( w, WITH( word[w], RUNNING ) );
    if
#ifdef MISTAKE_EXECUTED_BEFORE_SUSPENDED
    :: was_stopped -> resume_thread( w )
#else
    :: was_stopped -> resume_surely( w )
#endif
#ifdef MISTAKE_TOKEN_BEFORE_STATE
    :: else
#else
    :: else -> unpark( home_token[w] )
#endif
    fi;
#ifdef MISTAKE_EXPECT_AFTER_SENDING
    scheduler_expect( s, 0 );
#endif
    goto scheduler_wait;

left_inkernel:
    scheduler_expect( s, true );
    atomic { SET( w, WITH( word[w], INKERNEL ) ); count_seq( w ) }
    unpark( home_token[w] );

scheduler_wait:
    do
    :: posted[s] -> goto to_scheduler
    :: atomic { !posted[s] && !watching[s] -> skip }
        atomic { token[s] -> token[s] = false }
    :: atomic { !posted[s] && watching[s] -> token[s] = false }     /* of the last time-out */
        atomic                                  /* scheduler_look */
        {
            if
            :: STATE( word[w] ) == INKERNEL && same_call[s] ->
                SET( w, WITH( word[w], BLOCKED ) );
                owner[w] = 0;
                give( s, w );
                goto to_scheduler
            :: STATE( word[w] ) == INKERNEL && !same_call[s] ->
                same_call[s] = true
            :: STATE( word[w] ) != INKERNEL ->
                same_call[s] = false;
                goto look_again
            fi
        }
    od;

look_again:                                     /* stop looking */
    watching[s] = false;
#ifndef MISTAKE_NO_SECOND_LOOK
    if
    :: atomic { STATE( word[w] ) == INKERNEL -> watching[s] = true }
    :: STATE( word[w] ) != INKERNEL
    fi;
#endif
    goto scheduler_wait;

to_scheduler:
    atomic
    {
        assert( given[s] && awaits[s] );
        given[s] = false;
        awaits[s] = 0;
        posted[s] = false;
        watching[s] = false;
        same_call[s] = false;
        stays_home = false;
        was_stopped = false;
        if
        :: upcall[s] -> ready = ready | (1 << (upcall[s] - 1)); upcall[s] = 0
        :: else
        fi;
        w = 0
    }
    goto next_turn;

leaves_mode:
    skip
}

#if HOLDERS

active [HOLDERS] proctype Holder()
{
    short seen;
    byte own, before;
    bool held, first;

    if
    :: STATE( word[0] ) == DEAD -> goto ends
    :: STATE( word[0] ) != DEAD
    fi;
    hold_worker( 0, seen, own, held, first );
    halted[0]++;
#ifdef KILL
    /* the thread is terminated; a resume of it does nothing any more. One that has ended by itself, or
       cannot stand still any more, has told its scheduler already */
    atomic { halted[0]--; stopped[0] = 0; killed[0] = true; held = false }
    /* ums_worker_killed */
    SET( 0, word[0] | SUSPENDED_FOR_GOOD );
#ifndef MISTAKE_KILL_PENDING_LATE
    kill_pending = true;
#endif
    if
    :: STATE( word[0] ) != CARRIED ->
#ifdef MISTAKE_KILL_PENDING_LATE
        kill_pending = true;
#endif
        finish_kill( 0, seen )
    :: STATE( word[0] ) == CARRIED ->           /* its carrier stands still: it does that when it leaves */
#ifdef MISTAKE_KILL_PENDING_LATE
        kill_pending = true
#else
        skip
#endif
    fi;
    SET( 0, word[0] - HOLD );
#else
    if
    :: true
    :: true -> GOT_CONTROL( 0 )
    fi;
    halted[0]--;
    let_go( 0, seen, held );
#endif
ends:
    skip
}

#endif

#ifdef ENDED

/* Another process, or Wine, ends the thread of the first worker, and the warden finds that (ke_warden.c). A thread that
   others wait for ends a moment later (ke_signal.c). */
active proctype Ender()
{
    short now;
    byte before;

    if
    :: STATE( word[0] ) == DEAD -> goto ends
    :: atomic { STATE( word[0] ) != DEAD && !busy[0] -> stopped[0] = 0; killed[0] = true }
    fi;
    /* ums_worker_killed */
    SET( 0, word[0] | SUSPENDED_FOR_GOOD );
    kill_pending = true;
    do
    :: STATE( word[0] ) != CARRIED -> break
    :: STATE( word[0] ) == CARRIED ->           /* ke_preempt */
        atomic
        {
            (in_user_code[0] && !put_down[0]) || STATE( word[0] ) != CARRIED;
            if
            :: in_user_code[0] -> put_down[0] = true
            :: else
            fi
        }
    od;
    finish_kill( 0, now );
ends:
    skip
}

#endif

#if SUSPENDERS

#ifdef WORKER_SUSPENDS
#define TARGET  1
#else
#define TARGET  0
#endif

active [SUSPENDERS] proctype Suspender()
{
    short seen;
    byte times = SUSPENSIONS, count, own, before;

#ifdef WORKER_RESUMES
    /* the first worker is suspended, the second resumes it and is itself suspended in that */
    suspend( 0, NOBODY, count, seen, own );
    halted[0] = 1;
    GOT_CONTROL( 0 );
    suspend( 1, NOBODY, count, seen, own );
    GOT_CONTROL( 1 );
    resume( 1, NOBODY, count, seen )
#else
#ifdef SUSPENDS_SELF
    /* the first one resumes whoever has suspended himself, as soon as he has said so */
    do
    :: _pid != WORKERS + SCHEDULERS -> break
    :: atomic { _pid == WORKERS + SCHEDULERS && own_suspension -> own_suspension = false }
        resume( 0, NOBODY, count, seen )
    :: _pid == WORKERS + SCHEDULERS && ALL_ENDED -> goto ends
    od;
#endif
    do
    :: atomic { times && STATE( word[TARGET] ) != DEAD -> times-- }
#ifdef RESUMES_TWICE
        resume( TARGET, NOBODY, count, seen );
#endif
        suspend( TARGET, NOBODY, count, seen, own );
        halted[TARGET]++;
        if
        :: true
        :: true -> GOT_CONTROL( TARGET )
        fi;
        halted[TARGET]--;
        resume( TARGET, NOBODY, count, seen );
#ifdef RESUMES_TWICE
        resume( TARGET, NOBODY, count, seen )
#endif
    :: else -> break
    od;
ends:
    skip
#endif
}

#endif

#ifdef OUTSIDE

active proctype Outside()
{
    byte times = SUSPENSIONS;

    do
    :: atomic { times && STATE( word[0] ) != DEAD -> times--; signal = true }
        /* the thread may end before the signal comes */
        if
        :: STATE( word[0] ) == DEAD -> break
        :: atomic { handled && !left_alone -> halted[0]++ }
            if
            :: true
            :: true -> GOT_CONTROL( 0 )
            fi;
            atomic { halted[0]--; handled = false }
        :: atomic { handled && left_alone -> handled = false }
        fi
    :: else -> break
    od
}

#endif

#ifdef FAULTS

#ifdef MISTAKE_FAULT_TAKES_SUSPENDED
#define MAY_BE_TAKEN( word )    true
#else
#define MAY_BE_TAKEN( word )    (!((word) & (SUSPENDED | SUSPENDING)))
#endif

/* The loop of ke_fault.c's helper, for one fault after the other. */
active proctype Helper()
{
    short seen;
    byte own, before;

    do
    :: ALL_ENDED -> break
    :: atomic                                   /* look_for_fault, ke_report_fault */
        {
            in_fault && STATE( word[0] ) == RUNNING && !stopped[0] ->
            seen = word[0];
            same_fault = true
        }
        /* fault_begin */
        if
        :: word[0] == seen && same_fault -> stopped[0]++;
            own = owner[0];
            if
            :: in_fault && !busy[0] ->
                if
                :: atomic                       /* ums_worker_faulted */
                    {
                        word[0] == seen && same_fault && MAY_BE_TAKEN( seen ) ->
                        SET( 0, WITH( word[0], BLOCKED ) | STOPPED )
                    }
                    scheduler_post( own, 0, 0 );
                    /* fault_look: it is over at any time */
                    seen = word[0];
#ifndef MISTAKE_FAULT_IS_NOT_QUEUED
                    if
                    :: same_fault -> queue_stopped( 0, seen )
                    :: else
                    fi
#endif
                :: else -> resume_thread( 0 )
                fi
            :: else -> resume_thread( 0 )
            fi
        :: else
        fi;
        atomic { seen = 0; own = 0 }
    od
}

#endif
