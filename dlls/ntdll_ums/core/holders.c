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
   one then sees that. It waits without being woken, a moment at a time: so no wake-up can be lost.

   A turn ends when the other thread has stopped, which may take long: on a busy machine, or in a page fault. Two threads never
   end theirs: one that another process has terminated, and one that waits for a thread which waits for the warden in a signal
   handler, while the warden waits for its turn. So after a second, and again each second, a waiter looks whether the thread is gone, and
   the warden takes the turn over: nobody in this process stops the warden, so it takes part in no circle of stops. But it ends the turn for
   all, so a resumption may come into the stop that it was taken from. Others give up after UMS_PATIENCE for one turn, and then take
   the risk that two threads stop each other. Many turns have no limit in all. */
#define TURN_LOOK 10000000                      /* 100 ns: one second */
#define MOMENT    500                           /* 50 us */

/* The number of the turn, and the thread that has it; 0: none. With the number a waiter sees whether it is still the turn that it has
   waited for: where many want it, one may wait long although each turn is short. Both are in one word, so the exchange that takes
   a turn over fails if that has ended, or is another one, since the look. Only its thread ends a turn, unless it was taken over. */
static union
{
    _Atomic uint64_t word;
    _Atomic uint32_t tid;                       /* its lower half */
} turn;

#define TURN_ONE ((uint64_t)1 << 32)

static uint64_t turn_of( uint64_t before, uint32_t tid )
{
    return ((before & ~(TURN_ONE - 1)) + TURN_ONE) | tid;
}

/* The turn of this thread has not ended since then. Does the caller go on without its end? look: when it asks next. */
static int takes_over( uint32_t tid, int64_t since, int64_t *look )
{
    int64_t now = ke_clock();

    if (now < *look) return 0;
    *look = now + TURN_LOOK;
    return ke_thread_is_gone( tid ) || ke_is_warden() || ums_give_up( since, "the turn of a thread that stops another one" );
}

void ums_stop_begin( void )
{
    uint64_t word = atomic_load( &turn.word ), seen = word;
    uint32_t tid = ke_thread_id();
    const int64_t moment = MOMENT;
    int64_t since = ke_clock(), look = since + TURN_LOOK;

    for (;;)
    {
        if (!(uint32_t)word || (word == seen && takes_over( (uint32_t)word, since, &look )))
        {
            if (atomic_compare_exchange_strong( &turn.word, &word, turn_of( word, tid ) )) return;
        }
        else
        {
            ke_wait( &turn.tid, (uint32_t)word, &moment );
            word = atomic_load( &turn.word );
        }
        if (word == seen) continue;
        seen = word;
        since = ke_clock();
        look = since + TURN_LOOK;
    }
}

/* Somebody may have taken over. */
void ums_stop_end( void )
{
    uint64_t word = atomic_load( &turn.word );

    if ((uint32_t)word == ke_thread_id()) atomic_compare_exchange_strong( &turn.word, &word, word & ~(TURN_ONE - 1) );
}
