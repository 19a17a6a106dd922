/*
 * The record: what schedulers and workers do, kept in rings while they do it (UMS_TRACE). Host-free.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Off: each place tests one flag; Execute tests no additional one (ums_straight). On: an event is 16
 * bytes in a ring: no lock, no allocation, no call.
 *
 * Rings. Each scheduler thread has one of its own, as long as there are enough: whatever happens on
 * that thread, carried workers included, is written by it alone, and its head is a plain word. All
 * other threads share one ring, in which a place is claimed by one locked addition. Ten thousand
 * home threads would need more memory than all the rest for rings of their own; and what they write,
 * they write around a kernel call, which takes a hundred times as long.
 *
 * A full ring loses its oldest event with each new one. The head keeps counting, so the number of lost
 * events is known. A thread that drains the rings would take time from the threads under observation,
 * and events come faster than text can be written. A trace is mostly read to learn how a run ended.
 *
 * Readers come when nothing is written any more, or nearly: a thread that saw the flag set may still
 * write the event that it has begun. So some of the oldest places are not read (RECORD_SLACK), and a
 * place that was claimed but not written holds the lap before, which it says (EVENT_LAP).
 *
 * Time. The stamp of an event that gives a worker away (a yield, a push) is read before that is done;
 * the stamp of an event that takes a worker (an Execute, a dequeue) after it. So the events of one
 * worker are in order, whichever threads recorded them. A failed exchange records nothing.
 */
#ifndef UMS_RECORD_H
#define UMS_RECORD_H

#include "core/ums_core.h"

enum record_event
{
    EVENT_NONE,
    EVENT_ENTER,                                /* a scheduler; worker and arg: its thread */
    EVENT_LEAVE,
    EVENT_START,                                /* a worker; scheduler and arg: its thread */
    EVENT_EXECUTE,
    EVENT_HOME,                                 /* from its carrier, or at once */
    EVENT_YIELD,
    EVENT_KERNEL,                               /* into a call that may block; arg: which, */
    EVENT_BACK,                                 /* and back without having been reported */
    EVENT_BLOCK,                                /* arg: the call, or why */
    EVENT_QUEUE,                                /* on its completion list */
    EVENT_DEQUEUE,                              /* off it, by this scheduler, or 0 */
    EVENT_END,
    EVENT_IDLE,                                 /* a scheduler waits in this call, and not for a
                                                   worker of its own */
    EVENT_BUSY,                                 /* it goes on */
    EVENT_COUNT
};

/* arg where it is no number of a system call */
enum record_why
{
    WHY_UNIX_CALL = 0x4000,
    WHY_SUSPENDED,
    WHY_PAGE_FAULT,
    WHY_DEQUEUE,                                /* waits for a completion list, */
    WHY_FACTORY,                                /* for work of a worker factory */
    WHY_NO_CALL
};

/* The word of an event, from the lowest bit: 5 event, 3 lap, 16 scheduler, 24 worker, 16 arg. */
#define EVENT_KIND( what )      ((unsigned int)(what) & 31)
#define EVENT_LAP( what )       ((unsigned int)((what) >> 5) & 7)
#define EVENT_SCHEDULER( what ) ((uint32_t)((what) >> 8) & 0xffff)
#define EVENT_WORKER( what )    ((uint32_t)((what) >> 24) & 0xffffff)
#define EVENT_ARG( what )       ((uint32_t)((what) >> 48))
#define RECORD_WORKERS          0x1000000       /* numbers; then they begin again */

struct ums_event
{
    _Atomic uint64_t stamp;                     /* the processor's time-stamp counter */
    _Atomic uint64_t what;                      /* written last */
};

struct ums_ring
{
    _Atomic uint64_t head;                      /* events so far. The owner's alone, but for the
                                                   shared ring's */
    struct ums_event *events;
    uint32_t shift;                             /* there is room for 1 << shift */
    _Atomic uint32_t taken;                     /* by a scheduler. Acquire and release: from one
                                                   owner to the next */
    uint64_t pad[5];                            /* heads of two threads are in two cache lines */
};

#define RECORD_RINGS 33                         /* the first is shared */
#define RECORD_SLACK 64                         /* of the oldest places of a ring that is full */
#define RECORD_NAMES 0x18000
#define RECORD_MIN_SHIFT 10
#define RECORD_MAX_SHIFT 22

/* What the memory of a record begins with, which may be a file: then umstrace reads it after a
   process that was killed. Whoever changes it changes the magic, and scripts/umstrace. */
struct ums_record
{
    char     magic[8];                          /* "UMSRING1" */
    uint32_t shift, rings;
    uint32_t names;                             /* bytes of names in use */
    uint32_t pid;
    uint64_t start;                             /* stamp of the beginning */
    uint64_t frequency;                         /* stamps a second */
    char     program[128];                      /* UTF-8 */
    char     about[128];                        /* engine, hook and host */
    _Atomic uint32_t schedulers, workers;       /* numbers given */
    uint64_t pad[12];
    struct ums_ring ring[RECORD_RINGS];
    char     name[RECORD_NAMES];                /* of calls: "25 NtWaitForSingleObject\n" ... */
};

extern struct ums_record *ums_record;           /* NULL: there is none */
extern int ums_recording;                       /* written at start, and 0 at the end */

/* Memory for rings of 1 << shift events, zero: give it to ums_record_init, fill in what the host
   knows, then set ums_recording. */
size_t ums_record_size( uint32_t shift );
void ums_record_init( void *memory, uint32_t shift );

/* A scheduler thread, by itself: its number, and a ring if there is one left. */
void ums_record_enter( struct ums_scheduler *s );
/* Once it is none any more; by any thread. */
void ums_record_leave( struct ums_scheduler *s );
/* A new worker is given its number. */
void ums_record_worker( struct ums_context *w );

/* ring: of the calling thread, NULL: the shared one. */
void ums_record_event( struct ums_ring *ring, uint64_t stamp, enum record_event event,
                       uint32_t scheduler, uint32_t worker, uint32_t arg );

/* Begin to read; only when ums_recording is 0. How many events are lost; *first: the stamp of the
   latest first event of the rings that ran over, or 0 if none did. record_merge.c */
uint64_t ums_record_merge( uint64_t *first );
/* The next event of all rings, in order of time; NULL: that was all. */
struct ums_event *ums_record_next( void );

/* The whole of it as Trace Event JSON; write returns 0 if it fails. Only when ums_recording is 0.
   0: failed. record_json.c */
int ums_record_write( int (*write)( const char *text, size_t size ) );

static inline uint64_t ums_stamp( void )
{
    return __builtin_ia32_rdtsc();
}

/* By scheduler thread s, of itself or of w, which nobody else can change now. */
static inline void ums_note_by( struct ums_scheduler *s, const struct ums_context *w,
                                enum record_event event, uint32_t arg )
{
    if (__builtin_expect( !ums_recording, 1 )) return;
    ums_record_event( s->ring, ums_stamp(), event, s->number,
                      w ? atomic_load_explicit( &w->number, memory_order_relaxed ) : 0, arg );
}

/* By any thread: taken before something is tried, noted when it was done. */
struct ums_mark
{
    uint64_t stamp;                             /* 0: nothing is recorded */
    uint32_t worker;
};

static inline struct ums_mark ums_mark( const struct ums_context *w )
{
    struct ums_mark mark = { 0, 0 };

    if (__builtin_expect( !ums_recording, 1 )) return mark;
    mark.stamp = ums_stamp();
    mark.worker = atomic_load_explicit( &w->number, memory_order_relaxed );
    return mark;
}

/* s: may be NULL; it is still there, because it waits for us */
static inline void ums_note( struct ums_mark mark, const struct ums_scheduler *s,
                             enum record_event event, uint32_t arg )
{
    if (__builtin_expect( !mark.stamp, 1 )) return;
    ums_record_event( NULL, mark.stamp, event, s ? s->number : 0, mark.worker, arg );
}

/* A scheduler waits, and has no worker at home that it waits for. It may be found waiting again in
   there, by the hook. */
static inline void ums_note_idle( struct ums_scheduler *s, uint32_t call )
{
    if (s->idle) return;
    s->idle = 1;
    ums_note_by( s, NULL, EVENT_IDLE, call );
}

static inline void ums_note_busy( struct ums_scheduler *s )
{
    s->idle = 0;
    ums_note_by( s, NULL, EVENT_BUSY, 0 );
}

/* The worker itself says which call it is about to make. */
static inline void ums_note_call( struct ums_context *w, uint32_t call )
{
    if (__builtin_expect( ums_recording, 0 ))
        atomic_store_explicit( &w->call, call, memory_order_relaxed );
}

static inline uint32_t ums_noted_call( const struct ums_context *w )
{
    return atomic_load_explicit( &w->call, memory_order_relaxed );
}

#endif /* UMS_RECORD_H */
