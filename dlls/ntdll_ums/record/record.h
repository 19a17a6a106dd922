/*
 * The record: events of schedulers and workers, kept in rings (UMS_TRACE). Nothing here depends on the
 * host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * If it is off, each place that could record an event tests one flag; Execute tests no additional one
 * (ums_straight). If it is on, an event is 16 bytes in a ring: no lock, no allocation, no call.
 *
 * Rings. Each scheduler thread has a ring of its own, as long as there are enough. Events on that
 * thread, also those of carried workers, are written only by it, and its head is a plain word. All
 * other threads share one ring, in which one locked addition claims a place. Rings of their own for ten
 * thousand home threads would need more memory than everything else, and the addition costs little: home
 * threads record events around kernel calls, which take a hundred times as long.
 *
 * A full ring loses its oldest event with each new one. The head keeps counting, so the number of lost
 * events is known. A thread that drains the rings would take time from the threads under observation,
 * and events come faster than text can be written. A trace is mostly read to learn how a run ended.
 *
 * The rings are read after the flag was cleared. A thread that saw the flag set may still write one
 * event. So some of the oldest places are not read (RECORD_SLACK); and a place that was claimed but not
 * written shows an earlier lap (EVENT_LAP). So does one of the shared ring that a thread writes late, after
 * the others have gone round and written it: that event and theirs are lost.
 *
 * Time. If an event gives a worker away (a yield, a push), its stamp is read before the exchange; if it
 * takes a worker (an Execute, a dequeue), after it. So the events of one worker are in order, whichever
 * threads recorded them. A failed exchange records nothing.
 */
#ifndef UMS_RECORD_H
#define UMS_RECORD_H

#include "core/ums_core.h"

enum record_event
{
    EVENT_NONE,
    EVENT_ENTER,                                /* a scheduler begins; worker and arg: its thread id */
    EVENT_LEAVE,
    EVENT_START,                                /* a worker begins; scheduler and arg: its thread id */
    EVENT_EXECUTE,
    EVENT_HOME,                                 /* goes home from its carrier, or is handed off */
    EVENT_YIELD,
    EVENT_KERNEL,                               /* enters a call that may block; arg: the call */
    EVENT_BACK,                                 /* returns from it, and was not reported as blocked */
    EVENT_BLOCK,                                /* blocked; arg: the call, or enum record_why */
    EVENT_QUEUE,                                /* put onto its completion list */
    EVENT_DEQUEUE,                              /* taken off it; scheduler: who, or 0 */
    EVENT_END,
    EVENT_IDLE,                                 /* a scheduler waits in this call, and not for a
                                                   worker of its own */
    EVENT_BUSY,                                 /* the scheduler's wait is over */
    EVENT_COUNT
};

/* arg of EVENT_BLOCK, if it is not the number of a system call */
enum record_why
{
    WHY_UNIX_CALL = 0x4000,
    WHY_SUSPENDED,
    WHY_PAGE_FAULT,
    WHY_DEQUEUE,                                /* waits for a completion list */
    WHY_FACTORY,                                /* waits for work of a worker factory */
    WHY_NO_CALL
};

/* The word of an event, from the lowest bit: 5 event, 3 lap, 16 scheduler, 24 worker, 16 arg. */
#define EVENT_KIND( what )      ((unsigned int)(what) & 31)
#define EVENT_LAP( what )       ((unsigned int)((what) >> 5) & 7)
#define EVENT_SCHEDULER( what ) ((uint32_t)((what) >> 8) & 0xffff)
#define EVENT_WORKER( what )    ((uint32_t)((what) >> 24) & 0xffffff)
#define EVENT_ARG( what )       ((uint32_t)((what) >> 48))
#define RECORD_SCHEDULERS       0x10000         /* numbers are below these; then they start again at 1 */
#define RECORD_WORKERS          0x1000000

struct ums_event
{
    _Atomic uint64_t stamp;                     /* the processor's time-stamp counter */
    _Atomic uint64_t what;                      /* written last */
};

struct ums_ring
{
    _Atomic uint64_t head;                      /* events so far; only the owner writes it, except in
                                                   the shared ring */
    struct ums_event *events;
    uint32_t shift;                             /* room for 1 << shift events */
    _Atomic uint32_t taken;                     /* has an owner; acquire and release pass the ring
                                                   from one owner to the next */
    uint64_t pad[5];                            /* heads of two threads: different cache lines */
};

#define RECORD_RINGS 33                         /* the first is shared */
#define RECORD_SLACK 64                         /* oldest places of a full ring that are not read */
#define RECORD_NAMES 0x18000
#define RECORD_MIN_SHIFT 10
#define RECORD_MAX_SHIFT 22

/* The beginning of a record's memory. If the memory is a mapped file, umstrace reads it after the process
   was killed. If you change this struct, change the magic and scripts/umstrace_ring.py too. */
struct ums_record
{
    char     magic[8];                          /* "UMSRING1" */
    uint32_t shift, rings;
    uint32_t names;                             /* bytes of names in use */
    uint32_t pid;
    uint64_t start;                             /* stamp of the record's beginning */
    uint64_t frequency;                         /* stamps a second */
    char     program[128];                      /* UTF-8 */
    char     about[128];                        /* engine, hook and host */
    _Atomic uint32_t schedulers, workers;       /* how many numbers were given out */
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

/* The calling thread becomes scheduler s: give it a number, and a ring if one is left. */
void ums_record_enter( struct ums_scheduler *s );
/* s is not a scheduler any more: give its ring back. Any thread. */
void ums_record_leave( struct ums_scheduler *s );
/* Give a new worker its number. */
void ums_record_worker( struct ums_context *w );

/* ring: the calling thread's own; NULL: the shared ring. */
void ums_record_event( struct ums_ring *ring, uint64_t stamp, enum record_event event,
                       uint32_t scheduler, uint32_t worker, uint32_t arg );

/* Begin to read; only when ums_recording is 0. Returns the number of lost events. *first: of the rings
   that have overflowed, the latest stamp of a first event; 0 if none has. record_merge.c */
uint64_t ums_record_merge( uint64_t *first );
/* The next event of all rings, in order of time; NULL at the end. */
struct ums_event *ums_record_next( void );

/* Write the whole record as Trace Event JSON. write returns 0 if it fails; then this does, too. Only
   when ums_recording is 0. record_json.c */
int ums_record_write( int (*write)( const char *text, size_t size ) );

static inline uint64_t ums_stamp( void )
{
    return __builtin_ia32_rdtsc();
}

/* Called by scheduler thread s: an event of s, or of w, which no other thread can change now. */
static inline void ums_note_by( struct ums_scheduler *s, const struct ums_context *w,
                                enum record_event event, uint32_t arg )
{
    if (__builtin_expect( !ums_recording, 1 )) return;
    ums_record_event( s->ring, ums_stamp(), event, s->number,
                      w ? atomic_load_explicit( &w->number, memory_order_relaxed ) : 0, arg );
}

/* Any thread: take a mark before an exchange, note the event if the exchange succeeds. */
struct ums_mark
{
    uint64_t stamp;                             /* 0: record nothing */
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

/* s: may be NULL; otherwise it still exists, because it waits for the caller */
static inline void ums_note( struct ums_mark mark, const struct ums_scheduler *s,
                             enum record_event event, uint32_t arg )
{
    if (__builtin_expect( !mark.stamp, 1 )) return;
    ums_record_event( NULL, mark.stamp, event, s ? s->number : 0, mark.worker, arg );
}

/* A scheduler waits, but not for a worker that was handed off. If it is noted as waiting already, for
   example by the hook inside a wait, nothing happens. */
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

/* Called by the worker: the call that it is about to make. */
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
