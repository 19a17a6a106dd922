/*
 * The warden: a thread of ours that does what the threads of workers cannot do when Wine has ended
 * them, or another process has stopped or ended them. docs/foreign.md
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * It lives as long as there are workers or schedulers. Signal handlers ask it through slots that
 * they fill (ke_signal.c). The warden never waits for a handler, and a handler waits for an answer
 * only for a limited time: the warden itself may have been stopped.
 *
 * A thread that waits in the wineserver is ended without any signal. But Linux reports the end:
 * each thread has a list of the robust mutexes that it owns, and Linux marks them when the thread
 * ends, in whatever way. These lists have one entry of ours, and the warden checks these entries: at
 * intervals where other processes are watched (UMS_FOREIGN), otherwise when it is told that a thread
 * may be about to end. Wine ends a thread without a call when its stack is used up, in its handler of
 * SIGSEGV; ours runs before that one (ke_exception.c). While nobody tells it, the warden looks every
 * five seconds. Such a look finds a thread that another process has ended. Without it the entry of
 * that thread would count for ever, the warden would never end, and nor would the process.
 */

#include <windows.h>
#include <winternl.h>
#include "core/objects.h"
#include "core/patience.h"
#include "core/ums_core.h"
#include "syscalls/hook/native.h"
#include "ke_timer.h"
#include "ke_own.h"
#include "ke_win32.h"
#include "thread.h"

#define LINUX_CLOCK_GETTIME   228
#define LINUX_GET_ROBUST_LIST 274
#define CLOCK_MONOTONIC 1
#define OWNER_DIED      0x40000000u
#define ROBUST_OFFSET   (-(int64_t)offsetof( struct ke_life, next ))
#define ROBUST_MOST     64

#define QUESTIONS       64                      /* more at a time are not answered */
#define LOOK_AGAIN      1000000                 /* 100 ns: interval of the check for ended threads */
#define LOOK_SOON       10000                   /* the same, while a thread is about to end */
#define LOOK_RARELY     50000000                /* the same, when nobody has said anything */
#define SOON_LOOKS      20
#define LATER_LOOKS     100                     /* and then so many at the usual distance */
#define MOMENT          2000                    /* 100 ns */
#define BEGIN_PATIENCE  30000000                /* 100 ns: how long a handler waits for a warden that
                                                   does not run yet; otherwise UMS_PATIENCE */
#define CARRIER_LOOKS   500                     /* each a MOMENT: a carrier takes time to leave */
#define LAST_ROUNDS     100                     /* rounds without any ward before it ends. Wine frees less
                                                   of a thread that has ended than it has taken */
#define AM_I_LAST_THREAD ((THREADINFOCLASS)12)  /* [sdk] */

#define THREAD_SUSPEND_COUNT ((THREADINFOCLASS)35)

_Static_assert( offsetof( struct ke_life, next ) == 32 && offsetof( struct ke_life, thread ) == 0,
                "as in glibc's mutexes" );

enum
{
    SLOT_FREE,
    SLOT_BEING_ASKED,                           /* the handler fills it */
    SLOT_ASKED,
    SLOT_TAKEN,                                 /* by the warden */
    SLOT_DECIDED,                               /* it will be held */
    SLOT_ANSWERED,
    SLOT_ABANDONED                              /* the warden frees it */
};

/* Whoever changes the state to BEING_ASKED writes the rest. */
static struct slot
{
    _Atomic uint32_t state;
    enum ke_question question;
    enum ke_answer answer;
    uint32_t tid;
    struct ums_context *w;
    uint64_t rip;
} slots[QUESTIONS];

static _Atomic uint32_t asked;                  /* counts; the warden sleeps on it */
static _Atomic uint32_t hurry;                  /* looks to be made soon */
static _Atomic uint32_t wards;                  /* threads with an entry */
static _Atomic uint32_t stopped;                /* the warden is suspended */
static _Atomic uint32_t warden_thread;          /* as Linux calls it; 0 before it runs */
static _Atomic uint32_t warden_tid;             /* as Windows does; it may be ending when wardens is 0
                                                   already, and must not be taken for the last thread */
static _Atomic uint32_t dismissed;              /* it ends if there are fewer wards than this */
static _Atomic uint32_t wardens;                /* 1 while one lives, or is being made */
static _Atomic uint32_t last_status;            /* of the last thread that has ended itself */
static NTSTATUS (NTAPI *get_next_thread)( HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE * );
static int watches;                             /* written at start: threads have an entry of ours */
static _Atomic uint32_t handler_gave_up;        /* logged by a warden: a handler cannot */

/* ---- in signal handlers ---- */

static void poke( void )
{
    atomic_fetch_add( &asked, 1 );
    ke_linux_wake( &asked, 0 );
}

static int change_slot( struct slot *slot, uint32_t from, uint32_t to )
{
    return atomic_compare_exchange_strong( &slot->state, &from, to );
}

/* A warden that is being created answers when it runs: a new thread may have to wait for the loader
   lock, and on a busy machine for a CPU. If it cannot be created after all, or was suspended before
   it ran, which cannot be found out, nobody answers, and the handler gives up (BEGIN_PATIENCE). The
   next warden finds the slot free, or abandoned. */
static struct slot *get_slot( void )
{
    int i;

    if (!atomic_load( &wardens ) || atomic_load( &stopped )) return NULL;
    for (i = 0; i < QUESTIONS; i++)
        if (change_slot( &slots[i], SLOT_FREE, SLOT_BEING_ASKED )) return &slots[i];
    return NULL;
}

/* 100 ns; ke_clock is an NT call. */
static int64_t linux_clock( void )
{
    struct { int64_t sec, nsec; } now = { 0, 0 };

    ums_linux_syscall( LINUX_CLOCK_GETTIME, CLOCK_MONOTONIC, (uint64_t)&now, 0, 0 );
    return now.sec * 10000000 + now.nsec / 100;
}

/* A debugger may suspend all threads of the process and read the registers of each. So a handler
   does not wait for a suspended warden. Once the warden has decided, a thread that runs the
   worker's code has to wait for the answer; the warden needs no call for that. */
static int give_up( struct slot *slot, uint32_t state, int64_t waited )
{
    int64_t patience = atomic_load( &warden_thread ) ? UMS_PATIENCE : BEGIN_PATIENCE;

    if (waited < patience && !atomic_load( &stopped )) return 0;
    if (waited >= patience) atomic_store( &handler_gave_up, 1 );
    if (state == SLOT_ASKED) return change_slot( slot, state, SLOT_FREE );
    if (state == SLOT_DECIDED && slot->question != KE_PARKED) return 0;
    return change_slot( slot, state, SLOT_ABANDONED );
}

static enum ke_answer wait_for_answer( struct slot *slot )
{
    static const int64_t look = 100000;
    int64_t begin = linux_clock();
    enum ke_answer answer;
    uint32_t state;

    while ((state = atomic_load( &slot->state )) != SLOT_ANSWERED)
    {
        if (give_up( slot, state, linux_clock() - begin ))
            return state == SLOT_DECIDED ? KE_HELD : KE_LEAVE_IT;
        ke_wait( &slot->state, state, &look );
    }
    answer = slot->answer;
    atomic_store( &slot->state, SLOT_FREE );
    return answer;
}

enum ke_answer ke_warden_ask( struct ums_context *w, enum ke_question question, uint64_t rip )
{
    struct slot *slot = get_slot();

    if (!slot) return KE_LEAVE_IT;
    slot->question = question;
    slot->w        = w;
    slot->tid      = atomic_load( &w->tid );
    slot->rip      = rip;
    atomic_store( &slot->state, SLOT_ASKED );
    poke();
    return wait_for_answer( slot );
}

/* The id is stored before the warden does anything else. It is an old one only while no warden lives; a thread that has the same id then
   waits less long for its turn. */
int ke_is_warden( void )
{
    return atomic_load( &warden_tid ) == GetCurrentThreadId();
}

/* The threads of workers and schedulers are watched where Linux tells of their ends, and somebody says
   when to look. */
void ke_warden_start( void )
{
    get_next_thread = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtGetNextThread" );
    watches = !ke_find_linux() && (ke_exceptions_seen() || ke_guards_threads());
}

void ke_warden_hurry( void )
{
    if (!watches) return;
    atomic_store( &hurry, SOON_LOOKS );
    poke();
}

void ke_warden_stops( uint32_t thread, int stops )
{
    if (thread == atomic_load( &warden_thread )) atomic_store( &stopped, stops );
}

/* ---- suspended and resumed ---- */

static ULONG suspensions( uint32_t tid )
{
    HANDLE thread = OpenThread( THREAD_QUERY_INFORMATION, FALSE, tid );
    ULONG count = 0;

    if (!thread) return 0;
    if (NtQueryInformationThread( thread, THREAD_SUSPEND_COUNT, &count, sizeof(count), NULL ))
        count = 0;
    CloseHandle( thread );
    return count;
}

/* The worker was preempted on its carrier, and leaves it there. */
static void wait_for_carrier( struct ums_context *w )
{
    static const int64_t moment = MOMENT;
    _Atomic uint32_t word = 0;
    int i;

    for (i = 0; i < CARRIER_LOOKS && ums_worker_is_carried( w ); i++) ke_wait( &word, 0, &moment );
}

/* This process counts a suspension before it makes it. It drops the count before it resumes the
   thread; but the thread has stopped by then, and gets no signal. So any further suspension is
   another process's. */
static enum ke_answer hold( struct slot *slot )
{
    struct ums_context *w = slot->w;
    uint64_t word;
    int in_call;

    word = atomic_load( &w->word );
    if (suspensions( slot->tid ) <= word_suspended( word ) + (word & WORD_HOLD) / HOLD_ONE)
        return KE_LEAVE_IT;
    in_call = slot->question == KE_RUNNING && !ke_is_user_code( slot->rip );
    if (!change_slot( slot, SLOT_TAKEN, SLOT_DECIDED )) return KE_LEAVE_IT;
    if (in_call) w->preempted = 0;
    atomic_fetch_or( &w->word, WORD_FOREIGN );
    ums_worker_held( w );
    wait_for_carrier( w );
    return in_call ? KE_HELD_IN_CALL : KE_HELD;
}

static enum ke_answer find_answer( struct slot *slot )
{
    enum ke_answer answer = KE_LEAVE_IT;

    if (!ums_context_ref( slot->w, slot->tid )) return KE_LEAVE_IT;
    if (slot->question == KE_RESUMED)
        ums_worker_queue_stopped( slot->w, atomic_load( &slot->w->word ) );
    else answer = hold( slot );
    ums_context_unref( slot->w );
    return answer;
}

static void answer_all( void )
{
    int i;

    for (i = 0; i < QUESTIONS; i++)
    {
        struct slot *slot = &slots[i];

        if (!change_slot( slot, SLOT_ASKED, SLOT_TAKEN )) continue;
        slot->answer = find_answer( slot );
        if (change_slot( slot, SLOT_TAKEN, SLOT_ANSWERED ) ||
            change_slot( slot, SLOT_DECIDED, SLOT_ANSWERED )) ke_wake( &slot->state, 0 );
        else atomic_store( &slot->state, SLOT_FREE );
    }
}

/* ---- ended ---- */

/* Free the slot of a handler whose thread has ended. */
static void free_slots( const struct ums_context *w )
{
    int i;

    for (i = 0; i < QUESTIONS; i++)
        if (slots[i].w == w) change_slot( &slots[i], SLOT_ANSWERED, SLOT_FREE );
}

/* 0: the carrier stands still; try again later. */
static int worker_is_gone( struct ums_context *w )
{
    uint32_t tid = atomic_load( &w->tid );
    int done;

    if (!tid || !ums_context_ref( w, tid )) return 1;
    ums_worker_killed( w );
    done = word_state( atomic_load( &w->word ) ) == WORKER_DEAD;
    ums_context_unref( w );
    return done;
}

/* thread: the value that Linux has marked. If this process ends a thread it says so before, and the next
   thread with the context removes the mark first. So a mark that is still there means that another
   process has ended the thread. */
static int is_gone( struct ums_context *context, uint32_t thread )
{
    if (atomic_load( &ke_own( context )->killed_here ) ||
        atomic_load( &ke_own( context )->life.thread ) != thread)
        return 1;
    ums_objects_context_gone( context );        /* first: behind the rest it may be another thread's */
    if (context->kind == CONTEXT_WORKER) return worker_is_gone( context );
    return !context->scheduler || ums_scheduler_gone( context );
}

/* Queue a worker whose resumption no other thread has noticed. */
static void queue_forgotten( struct ums_context *w )
{
    uint64_t word = atomic_load( &w->word );
    uint32_t tid = atomic_load( &w->tid );

    if (word_state( word ) != WORKER_BLOCKED || (word & WORD_BARRED) || !(word & WORD_PREEMPTED) ||
        !ums_context_ref( w, tid )) return;
    ums_worker_queue_stopped( w, word );
    ums_context_unref( w );
}

static void look_for_ends( void )
{
    uint32_t i, made = ums_pool_made( &ums_context_pool );

    for (i = 0; i < made; i++)
    {
        struct ums_context *context = ums_pool_any( &ums_context_pool, i );
        uint32_t thread = atomic_load( &ke_own( context )->life.thread );

        if (!(thread & OWNER_DIED))
        {
            if (thread && ke_guards_threads()) queue_forgotten( context );
            continue;
        }
        free_slots( context );
        if (!is_gone( context, thread )) continue;
        if (atomic_compare_exchange_strong( &ke_own( context )->life.thread, &thread, 0 ))
            atomic_fetch_sub( &wards, 1 );
    }
}

/* ---- the warden ---- */

/* A thread that needs a warden first counts itself, then makes sure that there is a warden. Here it
   is the other way round, so one of the two sees the other. */
static int may_go( void )
{
    uint32_t but = atomic_exchange( &dismissed, 0 ), thread = atomic_load( &warden_thread );

    atomic_store( &warden_thread, 0 );
    atomic_store( &wardens, 0 );
    if (atomic_load( &wards ) < (but ? but : 1) || atomic_exchange( &wardens, 1 )) return 1;
    atomic_store( &warden_thread, thread );
    return 0;
}

/* May the warden sleep for long, unless somebody pokes it? A thread that may be about to end, the last ward when it
   leaves, and whoever dismisses the warden each change what is read here before they read `asked`. */
static int has_time( int later )
{
    return !later && !ke_guards_threads() && !atomic_load( &hurry ) && atomic_load( &wards ) &&
           !atomic_load( &dismissed );
}

/* Two last threads may have ended at the same moment, each in the belief that the other one was left. */
static int is_alone( void )
{
    ULONG last = 0;

    return !atomic_load( &wards ) &&
           !NtQueryInformationThread( GetCurrentThread(), AM_I_LAST_THREAD, &last, sizeof(last), NULL ) &&
           last;
}

/* The thread ends without notifying DLLs, because a thread that waits for its end may be in the
   loader. */
_Noreturn static void warden( void *arg )
{
    int64_t next = 0;
    int idle = 0, later = 0;

    (void)arg;
    ums_thread_release_stack();
    atomic_store( &stopped, 0 );
    atomic_store( &warden_tid, GetCurrentThreadId() );
    atomic_store( &warden_thread, (uint32_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 ) );
    for (;;)
    {
        uint32_t seen = atomic_load( &asked ), soon = atomic_load( &hurry );
        int64_t now = ke_clock(), sleep;

        answer_all();
        if (atomic_exchange( &handler_gave_up, 0 )) ke_gave_up( "the warden, in a signal handler" );
        if (soon || now >= next)
        {
            look_for_ends();
            ke_timer_look();
            next = now + LOOK_AGAIN;
            idle = atomic_load( &wards ) ? 0 : idle + 1;
            if (soon) later = LATER_LOOKS;
            else if (later) later--;
        }
        if (soon) atomic_compare_exchange_strong( &hurry, &soon, soon - 1 );
        if ((idle > LAST_ROUNDS || atomic_load( &dismissed ) || is_alone()) && may_go())
            for (;;) TerminateThread( GetCurrentThread(), atomic_load( &last_status ) );
        sleep = soon ? LOOK_SOON : has_time( later ) ? LOOK_RARELY : LOOK_AGAIN;
        ke_linux_wait( &asked, seen, &sleep );
    }
}

/* Is the calling thread the last one but the warden? Threads that have ended are found as long as
   somebody has a handle of them. If the host cannot tell, the thread may be the last. The warden is
   dismissed only then: a process whose threads come and go would else make one for each. */
static int is_last( uint32_t warden )
{
    uint32_t own = GetCurrentThreadId(), tid;
    HANDLE thread = NULL, next;
    int others = 0;

    while (!others && get_next_thread &&
           !get_next_thread( GetCurrentProcess(), thread,
                             SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, 0, 0, &next ))
    {
        if (thread) CloseHandle( thread );
        thread = next;
        tid = GetThreadId( thread );
        others = tid != own && tid != warden && WaitForSingleObject( thread, 0 );
    }
    if (thread) CloseHandle( thread );
    return !others;
}

void ke_warden_dismiss( struct ums_context *self, uint32_t status )
{
    uint32_t own = self && atomic_load( &ke_own( self )->life.thread );
    uint32_t tid = atomic_load( &warden_tid );
    int last;

    if (!tid || tid == GetCurrentThreadId()) return;
    atomic_store( &last_status, status );
    if (atomic_load( &wards ) > own) return;
    ums_hold_self( self, 1 );                   /* is_last has handles */
    last = is_last( tid );
    ums_hold_self( self, -1 );
    if (!last) return;
    if (atomic_load( &wardens ))
    {
        atomic_store( &dismissed, own + 1 );
        poke();
    }
    ums_service_wait( &warden_tid );
}

static void see_to_a_warden( void )
{
    if (atomic_load( &wardens ) || atomic_exchange( &wardens, 1 )) return;
    atomic_store( &dismissed, 0 );              /* it was for the previous one, which has ended */
    if (ums_service_create( &warden_tid, warden )) atomic_store( &wardens, 0 );
}

/* ---- threads come and go ---- */

static void forget( struct ke_life *life )
{
    if (!atomic_exchange( &life->thread, 0 )) return;
    if (atomic_fetch_sub( &wards, 1 ) == 1) poke();
}

struct robust_head
{
    void   *first;                              /* the head itself, if it is empty */
    int64_t offset;
};

static struct robust_head *robust_list( void )
{
    struct robust_head *head = NULL;
    uint64_t size = 0;

    if (ums_linux_syscall( LINUX_GET_ROBUST_LIST, 0, (uint64_t)&head, (uint64_t)&size, 0 ) ||
        !head || head->offset != ROBUST_OFFSET) return NULL;
    return head;
}

/* The previous thread of the context may have been killed a moment ago, and Linux may still walk
   its list. Then that walk enters this thread's list, finds no mutex of that thread, and Linux ends
   it. */
void ke_thread_enters( struct ums_context *context )
{
    struct ke_life *life = &ke_own( context )->life;
    struct robust_head *head;

    if (!watches || !(head = robust_list())) return;
    ke_own( context )->ending = 0;
    atomic_store( &ke_own( context )->in_call, NULL );  /* it may have ended in such a handler */
    life->previous  = head;
    life->next      = head->first;
    if (!atomic_exchange( &life->thread, (uint32_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 ) ))
        atomic_fetch_add( &wards, 1 );
    if (head->first != head) ((void **)head->first)[-1] = &life->next;
    head->first = &life->next;
    see_to_a_warden();
}

void ke_thread_leaves( struct ums_context *context )
{
    struct ke_life *life = &ke_own( context )->life;
    struct robust_head *head;
    void **link;
    int i;

    if (!watches || !(head = robust_list())) return;
    link = &head->first;
    for (i = 0; *link != &life->next && *link != head && i < ROBUST_MOST; i++) link = *link;
    if (*link == &life->next)
    {
        *link = life->next;
        if (life->next != head) ((void **)life->next)[-1] = link;
    }
    forget( life );
}

/* Nobody has to look for it, and it must not keep the warden. Where other processes are watched the
   thread may have signals to come, whose handler wants to know it; and there the warden looks anyway. */
void ke_thread_ended( struct ums_context *context )
{
    if (!ke_guards_threads()) forget( &ke_own( context )->life );
}

void ke_thread_renew( struct ums_context *context )
{
    ke_thread_leaves( context );
    ke_killed_here( context, 0 );
    ke_own( context )->sent = 0;
}
