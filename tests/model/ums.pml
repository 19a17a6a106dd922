/*
 * Who owns a worker: the protocol of docs/ownership.md, docs/carrying.md and docs/blocking.md, for
 * spin, which tries all the ways in which a few threads can go through it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is modelled: dlls/ntdll_ums/core/{scheduler,worker,carry,completion}.c, state.h, and of
 * hook_special.c, context.c and ke_carry.c what suspends and resumes. The state word is one number
 * here too: state, flags, both counts of suspensions; a step is one access to what threads share.
 *
 *   Home       a worker's home thread, and the worker itself while it runs at home (worker.c)
 *   Scheduler  a scheduler thread, and the worker that it carries (scheduler.c, carry.c), with a
 *              client that executes whatever yielded or was dequeued, and sleeps on its completion
 *              list when there is nothing (completion.c)
 *   Suspender  a plain thread that suspends a worker, may wait until its scheduler has got control
 *              back, and resumes it (hook_special.c, ke_carry.c). The same by a worker, and a worker
 *              that suspends itself, are in Home
 *   Helper     takes the first worker off its scheduler when it sleeps for a page at home (FAULTS;
 *              ke_fault.c). That the scheduler has found it there is the helper's first look here
 *
 * A worker does ACTIONS things and ends. Each is a yield, a wait, a call that may block, or a call
 * that only has to be made at home; what and where, spin tries out.
 *
 * What has to hold:
 *   - Nothing is lost. No thread waits for ever: a state in which nobody can go on, and not all
 *     have ended, is an error to spin. No run is endless either (pan -l, there is no progress
 *     label), so every worker ends, dead on a list, and is dequeued.
 *   - A user part is resumed by one thread at a time (running).
 *   - Each execute is followed by exactly one upcall (awaits, given).
 *   - A worker that was handed to the client, by a yield or a completion list, can be executed; a
 *     linked one is not linked again (linked).
 *   - A long call is noticed, a suspended worker's scheduler gets control (a long call returns, and
 *     the suspender goes on, only after that). A worker that is suspended does nothing (halted).
 *
 * What is left out: contexts, lists and references being deleted and used again; killed threads;
 * fibers; local calls; weaker orders of memory than one after the other. The grace period is over
 * whenever spin likes. A look that finds nothing to do is left out; so is a time-out of a list.
 * Stopping a carrier and putting it down at its base is one step (ke_preempt), trying that again is
 * waiting until it can be done. Sleeping on a token is waiting for it: who sets it wakes always.
 * Fields that nobody reads any more are cleared, so that spin sees fewer states.
 *
 * Of a resume that finds a suspension in the making only the waiting is modelled, not that it gives
 * up after a while (PATIENCE). Suspensions do not fail.
 *
 * MISTAKE_... seeds a mistake, which spin has to find. Many of them are what the code once did.
 */

#ifndef SCHEDULERS
#define SCHEDULERS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LISTS
#define LISTS 1                 /* 1: shared by all; 2: one for each scheduler */
#endif
#ifndef ACTIONS
#define ACTIONS 1               /* of the first worker */
#endif
#ifndef OTHER_ACTIONS
#define OTHER_ACTIONS 1
#endif
#ifndef SUSPENDERS
#define SUSPENDERS 0            /* threads that suspend and resume the first worker */
#endif
#ifndef SUSPENSIONS
#define SUSPENSIONS 1           /* each does so many */
#endif
#ifndef START
#define START 0                 /* 1: from the beginning of their threads */
#endif
#ifndef LATE_TOKENS
#define LATE_TOKENS 0
#endif
#ifndef POLLS
#define POLLS 0                 /* so often the first worker is executed by who was not given it */
#endif

/* Steps that only a suspension could come between are one step where nobody suspends. */
#if SUSPENDERS
#define TOGETHER
#else
#define TOGETHER atomic
#endif

/* ---- the state word ---- */

#define STARTING  1
#define QUEUED    2
#define READY     3
#define CARRIED   4
#define RUNNING   5
#define INKERNEL  6
#define BLOCKED   7
#define DEAD      8

#define HOME      16
#define STOPPED   32
#define PREEMPTED 64
#define PARKED    (HOME | STOPPED | PREEMPTED)
#define SUSPENDING      384     /* how many are suspending it now */
#define SUSPENDING_ONE  128
#define SUSPENDED       1536    /* how often it is suspended */
#define SUSPENDED_ONE   512

#define STATE(word)          ((word) & 15)
#define COUNT(word)          ((word) / SUSPENDED_ONE)
#define WITH(word, state)    (((word) & ~15) | (state))

#define HAS(set, w)          (((set) >> (w)) & 1)

short word[WORKERS] = (START -> STARTING : READY);
byte owner[WORKERS];            /* written by Execute */
byte list_of[WORKERS];          /* where it is queued next; written by Execute */
byte busy[WORKERS + 1];         /* the last: of who is no worker, nobody looks */
#ifdef SUSPENDS_SELF
bool self_suspending[WORKERS];
bool own_suspension;            /* the first worker's, counted and not resumed yet */
#define SELF_SUSPENDING( w ) self_suspending[w]
#else
#define SELF_SUSPENDING( w ) false
#endif
bool home_token[WORKERS] = LATE_TOKENS;     /* from an earlier life of its slot */

bool posted[SCHEDULERS];
bool watching[SCHEDULERS];
byte upcall[SCHEDULERS];        /* 0: Blocked, else Yield of worker upcall - 1 */
bool token[SCHEDULERS];

/* Numbers that are only ever compared with what they were: the sequence number in the word with
   that of the call which a scheduler has found, seq of a list with that which a waiter has read. So
   what is kept is whether they are still the same. */
bool same_call[SCHEDULERS];
bool same_seq[SCHEDULERS];
#ifdef FAULTS
bool same_fault;                /* the number in the first worker's word is that of the report */
bool in_fault;                  /* its home thread sleeps for a page */
#endif


/* ---- completion lists; 0: no worker, else worker + 1 ---- */

byte head[LISTS];
byte link[WORKERS];
byte waiters[LISTS];
bool asked[LISTS];
bool event[LISTS];
bool asleep[SCHEDULERS];

#define LIST(s)              ((s) % LISTS)

/* ---- threads ---- */

byte stopped[WORKERS];          /* how often the home thread is suspended, to the system */
bool in_user_code[WORKERS];     /* carried, and where it can be preempted */
bool put_down[WORKERS];         /* its carrier was put down at its base (ke_preempted) */

/* ---- the worker as a program ---- */

#define PLAIN     0
#define IN_WAIT   1
#define IN_CALL   2

#if WORKERS > 1
byte left[WORKERS] = { ACTIONS, OTHER_ACTIONS };
#else
byte left[WORKERS] = ACTIONS;
#endif
byte where[WORKERS];            /* in its program: what its home thread finds when it goes on */

/* ---- the client ---- */

byte ready = (START -> 0 : (1 << WORKERS) - 1);    /* a bit for each worker that can be executed */
byte ended;                     /* so many were dequeued dead */
byte polls = POLLS;
#if defined( WORKER_RESUMES ) || defined( WORKER_SUSPENDS )
bool may_end;                   /* the second worker has resumed, or begun to suspend, the first */
#define MAY_END( w )         (w == 0 || may_end)
#else
#define MAY_END( w )         true
#endif

#define ALL_ENDED            (ended == WORKERS)

/* ---- for what has to hold ---- */

bool running[WORKERS];
byte awaits[SCHEDULERS];        /* worker + 1, from execute to upcall */
bool given[SCHEDULERS];         /* the right to that upcall is somebody's */
bool linked[WORKERS];
byte halted[WORKERS];

inline give( s, w )
{
    assert( awaits[s] == w + 1 && !given[s] );
    given[s] = true
}

/* ---- state.h, scheduler.c ---- */

/* word + WORD_SEQ */
inline count_seq( w )
{
#ifdef MISTAKE_NO_SEQUENCE
    skip
#else
    d_step
    {
#ifdef FAULTS
        if :: w == 0 -> same_fault = false :: else fi;
#endif
        if :: awaits[0] == w + 1 -> same_call[0] = false :: else fi;
#if SCHEDULERS > 1
        if :: awaits[1] == w + 1 -> same_call[1] = false :: else fi
#endif
    }
#endif
}

inline unpark( t )
{
    t = true
}

/* worker_leave; ok: it was on a scheduler */
inline leave( w, to, ok )
{
    atomic
    {
        if
        :: STATE( word[w] ) == RUNNING || STATE( word[w] ) == INKERNEL ->
            word[w] = WITH( word[w], to );
            owner[w] = 0;
            ok = true
        :: else ->
            ok = false
        fi
    }
}

inline scheduler_post( s, w, what )
{
    atomic
    {
        give( s, w );
        upcall[s] = what;
        posted[s] = true
    }
    unpark( token[s] )
}

inline scheduler_expect( s, watch )
{
    atomic
    {
        posted[s] = false;
        watching[s] = watch
    }
}

/* ---- completion.c ---- */

inline wake_waiters( l )
{
    d_step
    {
        if :: LIST( 0 ) == l -> asleep[0] = false :: else fi;
#if SCHEDULERS > 1
        if :: LIST( 1 ) == l -> asleep[1] = false :: else fi
#endif
    }
}

inline count_list_seq( l )
{
    d_step
    {
        if :: LIST( 0 ) == l -> same_seq[0] = false :: else fi;
#if SCHEDULERS > 1
        if :: LIST( 1 ) == l -> same_seq[1] = false :: else fi
#endif
    }
}

/* The loop of ums_list_push ends when nobody comes between, so it is one step. */
inline push( l, w, before )
{
#ifdef MISTAKE_SEQ_BEFORE_HEAD
    count_list_seq( l );
#endif
    atomic
    {
        assert( !linked[w] );
        linked[w] = true;
        before = head[l];
        link[w] = before;
        head[l] = w + 1
    }
    if
    :: atomic { !before ->
#ifndef MISTAKE_SEQ_BEFORE_HEAD
        count_list_seq( l )
#endif
        }
        if
        :: atomic { waiters[l] -> wake_waiters( l ) }
        :: else
        fi;
#ifdef EVENT
        if
        :: asked[l] -> event[l] = true
        :: else
        fi
#endif
    :: atomic { before -> before = 0 }
    fi
}

/* One worker of a chain becomes executable. */
inline make_ready( w )
{
    linked[w] = false;
    if
    :: STATE( word[w] ) == QUEUED -> word[w] = WITH( word[w], READY )
    :: else
    fi;
    if
    :: STATE( word[w] ) == DEAD -> ended++
    :: else -> got = got | (1 << (w))
    fi;
    found = true
}

/* ums_list_take, and the client keeps what it got. The chain belongs to the taker alone: one step.
   Not if a poller executes a worker that the taker has just made executable. */
inline take( l )
{
#if POLLS
    atomic { next = head[l]; head[l] = 0 }
    do
    :: atomic { next -> make_ready( next - 1 )
#ifndef MISTAKE_LINK_AFTER_READY
        ; next = link[next - 1]
#endif
        }
#ifdef MISTAKE_LINK_AFTER_READY
        next = link[next - 1]
#endif
    :: !next -> break
    od;
#endif
    atomic
    {
#if !POLLS
        next = head[l];
        head[l] = 0;
        do
        :: next ->
            make_ready( next - 1 );
            next = link[next - 1]
        :: else -> break
        od;
#endif
        ready = ready | got;
        got = 0;
        next = 0
    }
}

/* ums_list_wait, or the same with the list's event */
inline list_wait( l )
{
    if
    :: head[l] -> take( l )
    :: atomic { !head[l] -> skip }
#ifdef EVENT
        if
        :: s == 0 ->
            /* ums_list_event */
            if
#ifdef MISTAKE_ASKED_AFTER_HEAD
            :: !asked[l] ->
                if
                :: head[l] -> event[l] = true
                :: else
                fi;
                asked[l] = true
#else
            :: atomic { !asked[l] -> asked[l] = true }
                if
                :: head[l] -> event[l] = true
                :: else
                fi
#endif
            :: else
            fi;
            atomic
            {
                event[l] || ALL_ENDED;
                event[l] = false;
                goto next_turn
            }
        :: else
        fi;
#endif
        waiters[l]++;
        do
        :: same_seq[s] = true;
#ifndef MISTAKE_WAITER_DOES_NOT_LOOK
            take( l );
#endif
            if
            :: found -> break
            :: else
            fi;
            atomic
            {
                if
                :: same_seq[s] -> asleep[s] = true
                :: else
                fi
            }
            atomic { !asleep[s] || ALL_ENDED -> asleep[s] = false }
#ifdef MISTAKE_WAITER_DOES_NOT_LOOK
            break
#else
            if
            :: ALL_ENDED -> break
            :: else
            fi
#endif
        od;
        atomic { waiters[l]--; same_seq[s] = false }
    fi;
    found = false
}

/* ---- suspending ---- */

/* ums_worker_queue_stopped; seen: the word as it was seen */
inline queue_stopped( w, seen )
{
    do
    :: STATE( seen ) != BLOCKED || (seen & SUSPENDED) || !(seen & (STOPPED | PREEMPTED)) -> break
    :: else ->
        if
        :: atomic { word[w] == seen -> word[w] = WITH( word[w], QUEUED ) }
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

#if SUSPENDERS

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
#define NOT_SUSPENDING( word )  (!((word) & SUSPENDED) || !((word) & SUSPENDING))
#endif
    do
    :: atomic
        {
            NOT_SUSPENDING( word[w] ) ->
            count = COUNT( word[w] );
            if
            :: count -> word[w] = word[w] - SUSPENDED_ONE
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

/* suspend_still: suspend until it is not busy */
inline hold_still( w, self )
{
    do
    :: stopped[w]++;
        if
        :: busy[w] ->
#ifdef MISTAKE_TRIED_BEFORE_SUSPENDED
            resume_thread( w );
#else
            resume_surely( w );
#endif
            let_self_go( self );
            !busy[w];
            hold_self( self )
        :: else -> break
        fi
    od
}

/* ums_worker_stopped */
inline stop( w, seen, own )
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
            :: atomic { word[w] == seen -> word[w] = WITH( word[w], BLOCKED ) | STOPPED }
                scheduler_post( own, w, 0 );
                break
            :: word[w] != seen
            fi
        :: else -> break
        fi
    od;
    atomic { seen = 0; own = 0 }
}

/* ums_special_suspend */
inline suspend( w, self, count, seen, own )
{
    hold_self( self );
    atomic                                      /* ums_context_suspending */
    {
        count = COUNT( word[w] );
        word[w] = word[w] + SUSPENDED_ONE + SUSPENDING_ONE;
        seen = word[w]
    }
#ifdef MISTAKE_SUSPENDER_LOOKS_LATE
    seen = word[w];
#endif
    if
    :: atomic { !count && (seen & STOPPED) -> seen = 0 }
    :: atomic { count || !(seen & STOPPED) -> seen = 0; count = 0 }
        hold_still( w, self );
        stop( w, seen, own )
    fi;
    word[w] = word[w] - SUSPENDING_ONE;         /* ums_context_suspend_made */
    let_self_go( self )
}

#endif

/* ---- a worker's home thread ---- */

inline busy_begins( w )
{
#if SUSPENDERS
    busy[w]++
#else
    skip
#endif
}

inline busy_ends( w )
{
#if SUSPENDERS
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
            word[w] = WITH( word[w], READY ) | flags;
#else
            word[w] = WITH( word[w], QUEUED ) | flags;
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

/* The home thread is _pid 0 or 1: suspended, it does nothing. */
active [WORKERS] proctype Home() provided (!stopped[_pid])
{
    short seen;
    byte own, before;
    bool ok, entered, in_callback;

#if START
    queue( _pid, STARTING, 0 );
#endif

home_wait:
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
        word[_pid] = word[_pid] + SUSPENDED_ONE;
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
            word[_pid] = WITH( word[_pid], INKERNEL );
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
    :: atomic { STATE( word[_pid] ) == INKERNEL -> word[_pid] = WITH( word[_pid], RUNNING ) }
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
            word[_pid] = WITH( word[_pid], DEAD )
        }
    fi;
    push( list_of[_pid], _pid, before );
    if
    :: ok -> scheduler_post( own, _pid, 0 )
    :: else
    fi;
    busy_ends( _pid )
}

/* ---- a scheduler thread ---- */

#define CAN_PICK( w )   (HAS( ready, w ) && !(word[w] & SUSPENDED))
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
        :: STATE( word[w] ) == READY && !(word[w] & SUSPENDED) ->
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
            word[w] = (word[w] & ~(15 | PARKED)) | CARRIED;
            count_seq( w );
            assert( !awaits[s] );
            awaits[s] = w + 1
        :: STATE( word[w] ) == READY && (word[w] & SUSPENDED) ->
            ready = ready | (1 << w);
            goto next_turn
        :: else ->
            assert( POLLS );                    /* somebody was faster */
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
#if SUSPENDERS
    :: atomic { put_down[w] -> put_down[w] = false; in_user_code[w] = false; running[w] = false }
        goto left_preempted
#endif
    :: TOGETHER {
        atomic { !put_down[w] && left[w] ->
                assert( !halted[w] ); left[w]--; in_user_code[w] = false; running[w] = false }
        /* ums_left_yield */
        atomic
        {
            word[w] = WITH( word[w], READY );
            owner[w] = 0;
            give( s, w );
            upcall[s] = w + 1
        }
        goto to_scheduler
        }
    :: atomic { !put_down[w] -> assert( !halted[w] ); in_user_code[w] = false; running[w] = false }
#if SUSPENDERS
        /* a call, ums_worker_give_way */
        if
        :: word[w] & SUSPENDED -> goto left_preempted
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
        word[w] = WITH( word[w], BLOCKED );
        owner[w] = 0;
        give( s, w );
        upcall[s] = 0
    }
    unpark( home_token[w] );
    goto to_scheduler;

left_preempted:
    atomic
    {
        word[w] = WITH( word[w], BLOCKED ) | PREEMPTED;
        seen = word[w];
        give( s, w );
        upcall[s] = 0
    }
#ifndef MISTAKE_PREEMPTED_IS_NOT_QUEUED
    queue_stopped( w, seen );
#endif
    seen = 0;
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
    word[w] = WITH( word[w], RUNNING );
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
    atomic { word[w] = WITH( word[w], INKERNEL ); count_seq( w ) }
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
                word[w] = WITH( word[w], BLOCKED );
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
                        word[0] = WITH( word[0], BLOCKED ) | STOPPED
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
