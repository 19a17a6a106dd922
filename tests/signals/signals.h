/*
 * Signals while workers run: a victim, which schedules workers, and its tormentor, another process.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Under Wine whatever one process does to another, and every asynchronous read or write that ends,
 * is a signal to a thread of the target (docs/signals.md). The victim's main thread is a scheduler,
 * and none of its threads waits in the wineserver for long: so what asks for any thread of the
 * process hits a carrier. What asks for a certain thread hits the one that the tormentor chooses.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#define WIN32_LEAN_AND_MEAN
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0602
#include <windows.h>
#include <winternl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "ums.h"
#include "../../samples/spawn.h"

#define SCHEDS  2
#define WORKERS 8
#define MAILBOX 0x1000

enum storm { STORM_SWITCH, STORM_HOOK, STORM_LOCAL, STORM_CLOCK, STORM_CALLS, STORM_HOME,
             STORM_WAIT, STORM_IO, STORM_STACK, STORM_MIX, STORM_KILL, STORMS };
enum action { ACT_SAMPLE, ACT_SUSPEND, ACT_ALLOC, ACT_PROTECT, ACT_MEMORY, ACT_APC, ACT_THREAD,
              ACTIONS };
enum target { TARGET_SCHEDULER, TARGET_HOME, TARGET_PLAIN, TARGETS };

/* Where a thread was when it was stopped: in the program's code, on a worker's stack or a
   scheduler's; in the assembly of the switch, in the hook, in a system call, asleep in ours,
   elsewhere in ours; in the system, on its Unix side. */
enum place { PLACE_WORKER, PLACE_UPCALL, PLACE_SWITCH, PLACE_HOOK, PLACE_CALL, PLACE_PARK,
             PLACE_OURS, PLACE_SYSTEM, PLACE_UNIX, PLACES };

/* A section of both. The victim writes the first part before the tormentor starts. */
struct shared
{
    DWORD pid, seconds;
    uint64_t seed;
    DWORD scheds[SCHEDS], plain;
    uint64_t stacks[SCHEDS][2];         /* of the schedulers: lowest address, base */
    enum storm storm;
    int carried;
    void *apc_proc, *thread_proc, *mailbox, *exe, *dll;
    char dll_path[MAX_PATH];

    DWORD tids[WORKERS];                /* changes if the worker has successors: then no APCs */
    LONG  stays[WORKERS];
    volatile LONG progress[WORKERS];
    volatile LONG ended[WORKERS];
    volatile LONG mistakes;             /* for a victim that is killed before it can report them */

    /* the tormentor */
    LONG apcs[WORKERS];                 /* how many it has queued */
    LONG threads;                       /* how many it has made */
    LONG done[ACTIONS], failed[ACTIONS];
    DWORD error[ACTIONS];               /* of the last that failed */
    LONG places[TARGETS][PLACES];
};

/* ---- victim.c ---- */

struct worker
{
    struct worker *next;
    PUMS_CONTEXT context;
    HANDLE thread;
    int slot;
    enum storm storm;
    uint32_t random;
    volatile LONG apcs;                 /* how many ran */
};

extern struct shared *shared;
extern volatile LONG ending;            /* the tormentor is gone */
extern volatile LONG wrong[];           /* by enum mistake */

enum mistake { WRONG_THREAD, WRONG_COUNT, WRONG_DATA, WRONG_CALL, WRONG_APC, WRONG_SCHEDULER,
               WRONG_CONTROL,
               MISTAKES };

void mistake( enum mistake which );
int  spawn_worker( int slot, enum storm storm );
uint32_t next_random( uint32_t *state );
/* Give up the processor, to go on here or on another scheduler. */
void yield( struct worker *worker, int move );

/* ---- storms.c ---- */

void storm_setup( void );
DWORD WINAPI storm_body( void *arg );

/* ---- tormentor.c ---- */

int tormentor( const char *section );

/* ---- places.c ---- */

enum place place_of( HANDLE process, const CONTEXT *context );
/* Has the storm hit what it is for? say: print what it has not */
int places_hit( int say );
void places_print( void );

#endif /* SIGNALS_H */
