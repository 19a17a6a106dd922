/*
 * What other processes do to a worker's thread. Under Wine it arrives as a signal with a handler of
 * Wine's; our handlers run before that one. docs/foreign.md
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGUSR1 makes a thread stop, report its registers, or do something for the wineserver. Wine's
 * handler waits until the thread may continue. So if the thread of a worker was suspended, our
 * handler first takes the worker off its scheduler. Wine's handler gets the worker's registers
 * instead of those of a home thread that sleeps. SIGQUIT ends a thread.
 *
 * A handler makes no NT call: the signal may have interrupted one. The warden, a thread of ours,
 * makes the calls that are needed (ke_warden.c).
 */

#include <windows.h>
#include <string.h>
#include "core/objects.h"
#include "core/ums_core.h"
#include "asm_offsets.h"
#include "syscalls/hook/native.h"
#include "ke_own.h"
#include "ke_win32.h"
#include "linux_signal.h"
#include "private/trace.h"

#define LINUX_RT_SIGPROCMASK 14
#define LINUX_TIMER_CREATE   222
#define LINUX_TIMER_SETTIME  223
#define LINUX_TIMER_DELETE   226
#define LINUX_SIG_SETMASK    2
#define LINUX_SIGEV_THREAD_ID 4
#define CLOCK_MONOTONIC      1
#define SIGNAL_SET_SIZE      8

#define XSTATE_HEADER 512                       /* the XSAVE header, if there is more state */
#define XSTATE_MAGIC  0x46505853
#define MOMENT      200000                      /* ns until a signal is sent again */
#define MOST_TRIES  500

/* the layout that Linux uses */
struct linux_sigevent
{
    uint64_t value;
    int      sig, notify;
    uint32_t thread, pad[11];
};

static struct linux_action wine_usr1, wine_quit;  /* written before ours are in place */

/* ---- registers ---- */

/* The kernel loads x87 and SSE from here only if they are marked as in use. */
static void mark_fp_in_use( XSAVE_FORMAT *fp )
{
    const uint32_t *magic = (const uint32_t *)((const char *)fp + XSTATE_HEADER - 48);
    uint64_t *header = (uint64_t *)((char *)fp + XSTATE_HEADER);

    if (*magic == XSTATE_MAGIC) *header |= 3;
}

static void store_frame( struct linux_context *frame, const CONTEXT *context )
{
    frame->rax = context->Rax;
    frame->rcx = context->Rcx;
    frame->rdx = context->Rdx;
    frame->rbx = context->Rbx;
    frame->rsp = context->Rsp;
    frame->rbp = context->Rbp;
    frame->rsi = context->Rsi;
    frame->rdi = context->Rdi;
    frame->r8  = context->R8;
    frame->r9  = context->R9;
    frame->r10 = context->R10;
    frame->r11 = context->R11;
    frame->r12 = context->R12;
    frame->r13 = context->R13;
    frame->r14 = context->R14;
    frame->r15 = context->R15;
    frame->rip = context->Rip;
    frame->eflags = context->EFlags;
    memcpy( frame->fp, &context->FltSave, LINUX_FP_SIZE );
    mark_fp_in_use( frame->fp );
}

static int same_registers( const CONTEXT *a, const CONTEXT *b )
{
    return !memcmp( &a->Rax, &b->Rax, 17 * sizeof(a->Rax) ) && a->EFlags == b->EFlags &&
           !memcmp( &a->FltSave, &b->FltSave, LINUX_FP_SIZE );
}

/* ---- where the thread is ---- */

enum role { ROLE_OTHER, ROLE_HOME, ROLE_SCHEDULER, ROLE_CARRIER };

/* GS names the context that runs here; on a carrier that is the worker. Only the Linux thread id
   names the thread. */
static enum role find_role( struct ums_context **context )
{
    struct ums_context *self = ke_current();
    struct ums_scheduler *owner;
    struct ums_context *carrier;
    uint32_t thread;

    *context = self;
    if (!self) return ROLE_OTHER;
    thread = (uint32_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 );
    if (atomic_load( &ke_own( self )->life.thread ) == thread)
        return self->kind == CONTEXT_WORKER ? ROLE_HOME : ROLE_SCHEDULER;
    if (self->kind != CONTEXT_WORKER || !ums_worker_is_carried( self ) ||
        !(owner = self->owner) || !(carrier = owner->context) ||
        atomic_load( &ke_own( carrier )->life.thread ) != thread) return ROLE_OTHER;
    return ROLE_CARRIER;
}

enum place
{
    PLACE_CALL,                                 /* in a call that its scheduler knows of, or was
                                                   stopped by this process: nothing to do */
    PLACE_MIDDLE,                               /* in the middle of something of ours, or of the
                                                   host's */
    PLACE_PARKED,
    PLACE_RUNNING                               /* at home, in the program or in a quick call */
};

/* Is the thread in ke_wait, or directly before or after it? */
static int is_in_wait( const struct linux_context *frame )
{
    return ke_in_linux_call( frame->rip, frame->rsp ) && frame->rsi == LINUX_FUTEX_WAIT_PRIVATE;
}

/* Asleep until the worker is executed at home: in its parking place, or in stop_running. */
static int is_asleep( const struct ums_context *w, const struct linux_context *frame )
{
    return is_in_wait( frame ) && frame->rdi == (ULONG_PTR)&w->park.token;
}

/* This process counts each suspension and hold of its own in the word before it makes it. Those are
   not handled here. */
static enum place find_place( const struct ums_context *w, const struct linux_context *frame )
{
    uint64_t word = atomic_load( &w->word );
    enum worker_state state = word_state( word );

    if (word & (WORD_SUSPENDING | WORD_HOLD)) return PLACE_CALL;
    switch (state)
    {
    case WORKER_BLOCKED:
        if (!(word & WORD_PREEMPTED)) return PLACE_CALL;
        break;
    case WORKER_QUEUED:
    case WORKER_READY:
    case WORKER_CARRIED:
    case WORKER_RUNNING:
        break;
    default:
        return PLACE_CALL;
    }
    if (is_asleep( w, frame )) return PLACE_PARKED;
    if (state != WORKER_RUNNING || atomic_load( &w->busy ) ||
        ke_is_our_code( frame->rip, frame->rsp ) || ke_may_spin( frame->rip ))
        return PLACE_MIDDLE;
    return ums_page_faults ? PLACE_CALL : PLACE_RUNNING;
}

/* ---- SIGUSR1 ---- */

/* A suspension is over. The thread that ends the last one queues the worker if needed (worker.c). */
static void released( struct ums_context *w )
{
    uint64_t word = atomic_fetch_and( &w->word, ~WORD_FOREIGN ) & ~WORD_FOREIGN;

    if (word_state( word ) == WORKER_BLOCKED && (word & WORD_PREEMPTED) &&
        !(word & (WORD_SUSPENDED | WORD_HOLD)))
        ke_warden_ask( w, KE_RESUMED, 0 );
}

/* Wine's handler reads, and may change, what the worker continues with. */
static void show_kept( struct ums_context *w, int sig, void *info, struct linux_context *frame )
{
    XSAVE_FORMAT own_fp = *frame->fp;
    CONTEXT own, shown, now;

    linux_frame_load( frame, &own );
    shown = own;
    ke_kept_registers( w, &shown );
    store_frame( frame, &shown );
    linux_frame_load( frame, &shown );
    linux_signal_call( &wine_usr1, sig, info, frame );
    linux_frame_load( frame, &now );
    if (!same_registers( &shown, &now )) ke_keep_registers( w, &now );
    store_frame( frame, &own );
    *frame->fp = own_fp;
}

/* The worker cannot be executed until it is released, so no other thread uses its registers. The thread
   itself continues to sleep. One that sleeps in the middle of a quick call continues with the frame of
   stop_running, so Wine's handler gets that one. It has no registers of ours: Wine finds those of a call
   where the call has saved them, and it knows by the stack pointer whether the thread is in one. in_call is
   that frame, written by the handler that this one has interrupted: it cannot change meanwhile. If the
   thread ends here, the next one with the context clears it (ke_thread_enters). */
static void stop_parked( struct ums_context *w, int sig, void *info, struct linux_context *frame )
{
    struct linux_context *in_call = atomic_load( &ke_own( w )->in_call );
    enum ke_answer answer = ke_warden_ask( w, KE_PARKED, 0 );
    uint64_t word = atomic_load( &w->word );
    enum worker_state state = word_state( word );

    if (!in_call && answer != KE_LEAVE_IT &&
        (state == WORKER_QUEUED || state == WORKER_READY ||
         (state == WORKER_BLOCKED && (word & WORD_PREEMPTED))))
        show_kept( w, sig, info, frame );
    else linux_signal_call( &wine_usr1, sig, info, in_call ? in_call : frame );
    if (answer != KE_LEAVE_IT) released( w );
}

/* Other signals may arrive in here, as anywhere in the worker's code. */
static void wait_to_be_executed( struct ums_context *w, const struct linux_context *frame )
{
    uint64_t mask;

    ums_linux_syscall( LINUX_RT_SIGPROCMASK, LINUX_SIG_SETMASK, (uint64_t)&frame->mask,
                       (uint64_t)&mask, SIGNAL_SET_SIZE );
    ums_worker_held_wait( w );
    ums_linux_syscall( LINUX_RT_SIGPROCMASK, LINUX_SIG_SETMASK, (uint64_t)&mask, 0,
                       SIGNAL_SET_SIZE );
}

/* The worker has to stay at home, because only this frame has all of its registers. It waits here until it
   is executed, and continues with the registers, which others may have changed. */
static void stop_running( struct ums_context *w, int sig, void *info, struct linux_context *frame )
{
    CONTEXT shown, now;
    enum ke_answer answer;

    linux_frame_load( frame, &shown );
    now = shown;
    ke_keep_registers( w, &now );
    answer = ke_warden_ask( w, KE_RUNNING, frame->rip );
    if (answer != KE_HELD) w->preempted = 0;
    if (answer == KE_HELD_IN_CALL) atomic_store( &ke_own( w )->in_call, frame );
    linux_signal_call( &wine_usr1, sig, info, frame );
    if (answer == KE_LEAVE_IT) return;
    if (answer == KE_HELD)
    {
        linux_frame_load( frame, &now );
        if (!same_registers( &shown, &now )) ke_keep_registers( w, &now );
    }
    released( w );
    wait_to_be_executed( w, frame );
    atomic_store( &ke_own( w )->in_call, NULL );
    if (!w->preempted) return;
    linux_frame_load( frame, &now );
    ke_kept_registers( w, &now );
    store_frame( frame, &now );
    w->preempted = 0;
}

/* ---- later ---- */

/* Uses a Linux timer of its own, so no other thread is needed. */
static void end_timer( struct ums_context *context )
{
    if (ke_own( context )->timer) ums_linux_syscall( LINUX_TIMER_DELETE, ke_own( context )->timer - 1, 0, 0, 0 );
    ke_own( context )->timer = 0;
}

/* A thread in the middle of our code continues for a moment, and then gets a signal again. The signal is
   SIGUSR1 also if the thread has to end. Until then it may make a request to the wineserver, which makes
   it end at once. Wine blocks SIGUSR1 while a thread ends, but not SIGQUIT: a SIGQUIT would start a
   second end inside the first, maybe in the Linux loader. */
static int comes_later( struct ums_context *context )
{
    static const int64_t moment[4] = { 0, 0, 0, MOMENT };
    struct linux_sigevent event = { .sig = LINUX_SIGUSR1, .notify = LINUX_SIGEV_THREAD_ID };
    uint32_t timer = 0;

    end_timer( context );
    if (ke_own( context )->tries++ < MOST_TRIES)
    {
        event.thread = atomic_load( &ke_own( context )->life.thread );
        if (!ums_linux_syscall( LINUX_TIMER_CREATE, CLOCK_MONOTONIC, (uint64_t)&event,
                                (uint64_t)&timer, 0 ))
        {
            ke_own( context )->timer = timer + 1;
            ums_linux_syscall( LINUX_TIMER_SETTIME, timer, 0, (uint64_t)moment, 0 );
            return 1;
        }
    }
    ke_own( context )->tries = 0;
    return 0;
}

static void came( struct ums_context *context )
{
    end_timer( context );
    ke_own( context )->tries = 0;
}

/* ---- SIGQUIT ---- */

/* Save as much of the extended state as has room; the switch saves the same. */
static void keep_extended_state( struct ums_context *w, const struct linux_context *frame )
{
    const char *fp = (const char *)frame->fp;
    const uint32_t *software = (const uint32_t *)(fp + XSTATE_HEADER - 48);
    char *area = (char *)w->home - HOME_SIZE;
    uint64_t *header = (uint64_t *)(area + XSTATE_HEADER);
    uint32_t size = XSTATE_HEADER;

    if (*software == XSTATE_MAGIC) size = software[4] < HOME_IRET ? software[4] : HOME_IRET;
    memcpy( area, fp, size );
    if (size == XSTATE_HEADER)
    {
        memset( header, 0, 64 );
        *header = 3;
    }
    *header &= ums_xsave_mask;
    header[1] = 0;
}

/* The carrier ends in the middle of the worker's code. Another thread will resume the worker: the warden
   puts it onto its completion list. */
static void leave_worker( struct ums_context *w, const struct linux_context *frame )
{
    struct ums_scheduler *s = w->owner;
    CONTEXT context;

    linux_frame_load( frame, &context );
    ke_keep_registers( w, &context );
    keep_extended_state( w, frame );
    ums_set_teb( s->teb );
    ums_worker_left_behind( w );
}

/* Is the thread on a signal handler's stack? Then it handles a fault. */
static int is_on_signal_stack( const struct linux_context *frame )
{
    return frame->rsp - frame->stack[0] < frame->stack[2];
}

/* In a local call of the worker that it carries, the thread counts as the scheduler: GS has that TEB. If
   it ended there, the worker would end too, since its registers are lost. Such a call is answered at once.
   Nor may a thread end with the lock of the objects. (If it makes a request to the wineserver there, it
   ends all the same: ums_scheduler_gone, take_over in objects.c.) */
static int is_in_short_section( const struct ums_context *own )
{
    struct ums_context *w = own->scheduler ? own->scheduler->current : NULL;
    uint32_t tid = atomic_load( &own->tid );    /* 0 at its end; and nobody has the lock, mostly */

    if (tid && ums_objects_holder() == tid) return 1;
    return w && ums_worker_is_carried( w ) && w->owner == own->scheduler && atomic_load( &w->local );
}

/* May the thread end here? A worker that it carries is saved first. */
static int may_end( enum role role, struct ums_context *context, const struct linux_context *frame )
{
    int ours = ke_is_our_code( frame->rip, frame->rsp );

    /* this process has looked for the right moment itself, and the scheduler may be gone */
    if (role != ROLE_CARRIER && atomic_load( &ke_own( context )->killed_here )) return 1;
    if (role != ROLE_CARRIER && is_in_short_section( context )) return 0;
    switch (role)
    {
    case ROLE_HOME:
        return !ours || !atomic_load( &context->busy );
    case ROLE_SCHEDULER:
        return !ours || is_in_wait( frame );
    case ROLE_CARRIER:
        if (ours || ke_may_spin( frame->rip ) || is_on_signal_stack( frame ) || context->owner->current != context) return 0;
        leave_worker( context, frame );
        return 1;
    default:
        return 1;
    }
}

/* The context to which this thread belongs. */
static struct ums_context *thread_of( enum role role, struct ums_context *context )
{
    return role == ROLE_CARRIER ? context->owner->context : context;
}

/* Only this thread's handlers use ending; the next thread with this context clears it before its handlers
   can find the context. If the thread makes a request to the wineserver in the meantime it ends there,
   and not a second time, because SIGUSR1 is blocked then. */
static void end_now_or_later( enum role role, struct ums_context *context, void *info,
                              struct linux_context *frame )
{
    struct ums_context *own = thread_of( role, context );

    ke_own( own )->ending = 1;
    if (!may_end( role, context, frame ) && comes_later( own )) return;
    came( own );
    ke_warden_hurry();
    linux_signal_call( &wine_quit, LINUX_SIGQUIT, info, frame );
}

/* ---- the handlers ---- */

static void stop_other( int sig, void *info, struct linux_context *frame )
{
    uint32_t thread = (uint32_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 );

    ke_warden_stops( thread, 1 );
    linux_signal_call( &wine_usr1, sig, info, frame );
    ke_warden_stops( thread, 0 );
}

static void on_usr1( int sig, void *info, struct linux_context *frame )
{
    struct ums_context *w;
    enum role role = find_role( &w );
    enum place place = PLACE_CALL;

    if (role != ROLE_OTHER && ke_own( thread_of( role, w ) )->ending)
    {
        end_now_or_later( role, w, info, frame );
        return;
    }
    if (role == ROLE_HOME) place = find_place( w, frame );
    if (place == PLACE_MIDDLE && comes_later( w )) return;
    if (role == ROLE_HOME) came( w );
    if (role == ROLE_OTHER) stop_other( sig, info, frame );
    else if (place == PLACE_PARKED) stop_parked( w, sig, info, frame );
    else if (place == PLACE_RUNNING) stop_running( w, sig, info, frame );
    else linux_signal_call( &wine_usr1, sig, info, frame );
}

static void on_quit( int sig, void *info, struct linux_context *frame )
{
    struct ums_context *context;
    enum role role = find_role( &context );

    if (role != ROLE_OTHER)
    {
        end_now_or_later( role, context, info, frame );
        return;
    }
    ke_warden_stops( (uint32_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 ), 1 );
    linux_signal_call( &wine_quit, sig, info, frame );
}

/* ---- installation ---- */

static int enabled;                             /* UMS_FOREIGN; written at start */

int ke_guards_threads( void )
{
    return enabled;
}

void ke_signal_start( void )
{
    if (!ke_parks_outside()) return;            /* maybe not Linux */
    if (!ums_setting( SETTING_FOREIGN )) return;
    if (!linux_signal_get( LINUX_SIGUSR1, &wine_usr1 ) ||
        !linux_signal_get( LINUX_SIGQUIT, &wine_quit ))
    {
        ums_info( "UMS_FOREIGN has no effect, because the host's signals are of an unknown kind: other "
                  "processes see threads, not workers" );
        return;
    }
    enabled = 1;
    linux_signal_put( LINUX_SIGUSR1, on_usr1, &wine_usr1 );
    linux_signal_put( LINUX_SIGQUIT, on_quit, &wine_quit );
}
