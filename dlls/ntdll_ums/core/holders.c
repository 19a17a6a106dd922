/*
 * Sections in which a thread must be neither suspended nor terminated: others would wait for it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker is busy meanwhile. Another thread, and that of a worker which has ended, has a slot here. Only the thread
 * itself takes its slot, before it begins what others wait for, and frees it behind that. So whoever has stopped it finds the slot if it stands
 * in between: all of it is sequentially consistent, and a thread that stands still changes nothing. If it is
 * stopped right before it takes the slot, it has begun nothing; right before it frees it, it is let go on once
 * more than needed. One that another process terminated stays in it until somebody has waited in vain and
 * frees the slot. That one may be only slow: so a slot is changed only while it is still that thread's.
 * Those that find no slot free are not noted.
 */
#include "section.h"
#include "patience.h"

#define HOLDERS 64
#define PAUSES  0x80000000u                     /* it is to be terminated */
#define PAUSE   20000                           /* 100 ns: 2 ms, longer than some tries to terminate it */

static _Atomic uint64_t holders[HOLDERS];       /* thread id << 32 | PAUSES | how many sections deep */

static _Atomic uint64_t *holder( uint32_t tid )
{
    int i;

    for (i = 0; tid && i < HOLDERS; i++) if (atomic_load( &holders[i] ) >> 32 == tid) return &holders[i];
    return NULL;
}

/* A thread that makes call after call about other threads sleeps nowhere but in these sections. So if another
   one has tried to terminate it there, it sleeps behind the section for a while, where it may be terminated. */
static void pause_here( void )
{
    static _Atomic uint32_t never;
    const int64_t pause = PAUSE;

    ke_wait( &never, 0, &pause );
}

/* Only this thread changes how deep it is. PAUSES may be set while it stands still between the load and the
   exchange: then the exchange fails once, and the flag is seen. If the flag comes behind the last exchange there
   is no slot to set it in; the thread is outside then, and the next try finds it there. */
static void change_hold( _Atomic uint64_t *slot, uint32_t tid, int more )
{
    uint64_t word = atomic_load( slot ), next;

    do
    {
        if (word >> 32 != tid) return;
        next = word + (uint64_t)(int64_t)more;
        if (!((uint32_t)next & ~PAUSES)) next = 0;
    }
    while (!atomic_compare_exchange_weak( slot, &word, next ));
    if (!next && (word & PAUSES)) pause_here();
}

static void hold_thread( int more )
{
    uint32_t tid = ke_thread_id();
    _Atomic uint64_t *slot = holder( tid );
    uint64_t none;
    int i;

    if (slot) change_hold( slot, tid, more );
    else if (more > 0)
        for (i = 0; i < HOLDERS; i++)
            if (none = 0, atomic_compare_exchange_strong( &holders[i], &none, (uint64_t)tid << 32 | 1 )) break;
}

void ums_hold_self( struct ums_context *self, int more )
{
    if (!more) return;
    if (self && self->kind == CONTEXT_WORKER) ums_worker_busy( self, more );
    else hold_thread( more );
}

int ums_thread_holds( uint32_t tid )
{
    return holder( tid ) != NULL;
}

/* The thread stands still, but another one may give up waiting for it now, and a third one have the slot. */
static int change_slot( uint32_t tid, uint32_t flags, uint64_t keep )
{
    _Atomic uint64_t *slot = holder( tid );
    uint64_t word = slot ? atomic_load( slot ) : 0;

    do if (!slot || word >> 32 != tid) return 0;
    while (!atomic_compare_exchange_weak( slot, &word, (word & keep) | flags ));
    return 1;
}

int ums_thread_pauses( uint32_t tid )
{
    return change_slot( tid, PAUSES, ~0ull );
}

void ums_thread_forget_hold( uint32_t tid )
{
    change_slot( tid, 0, 0 );
}

/* ---- sections of workers ---- */

/* The frame of a call may have been left by an exception or a longjmp, and nobody has noticed since: that call is over, as for the
   hook (ums_call_is_nested). It must be now, since the worker may be parked for it. In a section of ours, where it is busy,
   nothing is left that way; two sections of one frame may lie in any order. */
void ums_section_begin( struct ums_section *section )
{
    struct ums_context *self = ke_current();

    section->worker = self && self->kind == CONTEXT_WORKER ? self : NULL;
    if (!section->worker) return;
    ums_worker_go_home( self );
    if (!atomic_load( &self->busy ) && inside_was_left( &self->inside, (uintptr_t)section ))
    {
        inside_leave( &self->inside );
        ums_worker_back( self );
        ums_worker_go_home( self );             /* it may have been executed on a carrier */
    }
    ums_worker_busy( self, 1 );
    section->before = self->inside;
    if (!inside_any( &self->inside )) inside_enter( &self->inside, (uintptr_t)section, ke_stack_base() );
}

void ums_section_end( struct ums_section *section )
{
    struct ums_context *self = section->worker;

    if (!self) return;
    self->inside = section->before;
    ums_worker_busy( self, -1 );
}

/* ---- stops ---- */

/* The thread that stops another one for a moment, or 0. If two threads stopped each other, neither would see
   that the other one has to go on. So one does it at a time. Nobody in this process suspends or terminates it
   meanwhile, because that would be another stop; but for those that have tried in vain and let the host do it.
   Whoever waits for its turn may be stopped in that, and goes on: it may be in a section (holders), and this
   one then sees that. It waits without being woken, a moment at a time: so no wake-up can be lost. It is not counted anywhere yet,
   so nobody waits for it (hold.c); ke_preempt, which is called when something is counted, waits for a short time only.

   A turn ends when the other thread has stopped, which may take long: on a busy machine, or in a page fault; or when a debugger
   has stopped its thread. The lock of local objects is waited for in turns: whoever has it waits for no turn. Two threads never
   end theirs: one that another process has terminated, and one that waits for a thread which waits for the warden in a signal
   handler, while the warden waits for its turn. So after a second, and again each second, a waiter looks whether the thread is gone, and
   the warden goes on beside the turn, and does not wait for that turn again: nobody in this process stops the warden, so it takes
   part in no circle of stops. The turn stays with its thread, so no resumption comes into its stop. Others give up after UMS_PATIENCE
   for one turn, and then take the risk that two threads stop each other. Many turns have no limit in all. */
#define TURN_LOOK 10000000                      /* 100 ns: one second */
#define TRY       20000000                      /* two seconds: longer than it takes to look whether a thread is gone */
#define LONG      16000                         /* 1.6 ms */

/* The number of the turn, and the thread that has it; 0: none. With the number a waiter sees whether it is still the turn that it has
   waited for: where many want it, one may wait long although each turn is short. Both are in one word, so the exchange that takes
   a turn over fails if that has ended, or is another one, since the look. Only its thread ends a turn, unless it was taken over. */
static union
{
    _Atomic uint64_t word;
    _Atomic uint32_t tid;                       /* its lower half */
} turn;

static _Atomic uint64_t passed;                 /* the turn that the warden has gone on beside; only a warden uses it, and one at a time */

#define TURN_ONE ((uint64_t)1 << 32)

static uint64_t turn_of( uint64_t before, uint32_t tid )
{
    return ((before & ~(TURN_ONE - 1)) + TURN_ONE) | tid;
}

/* One with the id of this thread is that of a thread which is gone, and whose id this one has got. */
static int is_free( uint64_t word, uint32_t tid )
{
    return !(uint32_t)word || (uint32_t)word == tid;
}

/* The look opens a handle: if this thread were terminated there, nobody would close it. */
static int is_gone( uint32_t tid )
{
    struct ums_context *self = ke_current();
    int gone;

    ums_hold_self( self, 1 );
    gone = ke_thread_is_gone( tid );
    ums_hold_self( self, -1 );
    return gone;
}

enum wait_for_turn { WAITS, TAKES_OVER, PASSES };

/* This turn has not ended since the wait began. look: how long it waits before it asks next. */
static enum wait_for_turn waits( uint64_t word, struct ums_wait *wait, int64_t *look )
{
    if (ums_waited( wait ) < *look) return WAITS;
    *look = wait->waited + TURN_LOOK;
    if (is_gone( (uint32_t)word )) return TAKES_OVER;
    if (ke_is_warden()) return PASSES;
    if (wait->waited <= UMS_PATIENCE) return WAITS;
    ke_gave_up( "the turn of a thread that stops another one" );
    return TAKES_OVER;
}

/* patience: in units of 100 ns; 0: no limit. 0: it was not its turn in that time. */
static int turn_begin( int64_t patience )
{
    uint64_t word = atomic_load( &turn.word ), seen = word;
    uint32_t tid = ke_thread_id();
    struct ums_wait all = ums_wait_begins(), wait = all;
    int64_t look = TURN_LOOK, moment = UMS_MOMENT;
    enum wait_for_turn answer;

    for (;;)
    {
        answer = WAITS;
        if (!is_free( word, tid ) && word == seen)
            answer = ke_is_warden() && word == atomic_load( &passed ) ? PASSES : waits( word, &wait, &look );
        if (answer == PASSES)
        {
            atomic_store( &passed, word );
            return 1;
        }
        if (answer == TAKES_OVER || is_free( word, tid ))
        {
            if (atomic_compare_exchange_strong( &turn.word, &word, turn_of( word, tid ) )) return 1;
        }
        else
        {
            if (patience && ums_waited( &all ) > patience) return 0;
            ke_wait( &turn.tid, (uint32_t)word, &moment );
            if (moment < LONG) moment *= 2;     /* as in ums_wait_moment */
            word = atomic_load( &turn.word );
        }
        if (word == seen) continue;
        seen = word;
        wait = ums_wait_begins();
        look = TURN_LOOK;
    }
}

void ums_stop_begin( void )
{
    turn_begin( 0 );
}

int ums_stop_try( void )
{
    return turn_begin( TRY );
}

/* Somebody may have taken over; and the warden may have gone on beside the turn, which then is not its own. */
void ums_stop_end( void )
{
    uint64_t word = atomic_load( &turn.word );

    if ((uint32_t)word == ke_thread_id()) atomic_compare_exchange_strong( &turn.word, &word, word & ~(TURN_ONE - 1) );
}
