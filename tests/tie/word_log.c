/*
 * Judges how the core changes the state words of workers: each change has to be one that a model makes
 * (tests/model/ums.pml, waits.pml; transitions.h), or one that is not modelled and says why (untied.h). Linked to white-box tests whose
 * sources were compiled with word_log.h; the process fails at its end.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A change is from what to what: the state, the flags, and whether each count is zero. What begins or ends at NONE is not
 * judged: that context is no worker yet, or no more, or a scheduler. With UMS_WORD_LOG=FILE what was seen is written there.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/ums_core.h"

/* as in the model, but that a count is one bit */
enum
{
    NONE, STARTING, QUEUED, READY, CARRIED, RUNNING, INKERNEL, BLOCKED, DEAD,
    STATE      = 0xf,
    HOME       = 0x10,
    STOPPED    = 0x20,
    PREEMPTED  = 0x40,
    SUSPENDING = 0x80,
    SUSPENDED  = 0x100,
    HOLD       = 0x200,
    FOREIGN    = 0x400,
    WAITS      = 0x800,
    ALL        = 0xfff
};

static const char *const names[] = { "NONE", "STARTING", "QUEUED", "READY", "CARRIED", "RUNNING", "INKERNEL", "BLOCKED",
                                     "DEAD" };
static const struct { uint32_t bit; uint64_t in_word; const char *name; } flags[] =
{
    { HOME, WORD_HOME, "HOME" }, { STOPPED, WORD_STOPPED, "STOPPED" }, { PREEMPTED, WORD_PREEMPTED, "PREEMPTED" },
    { SUSPENDING, WORD_SUSPENDING, "SUSPENDING" }, { SUSPENDED, WORD_SUSPENDED, "SUSPENDED" }, { HOLD, WORD_HOLD, "HOLD" },
    { FOREIGN, WORD_FOREIGN, "FOREIGN" }, { WAITS, WORD_WAITS, "WAITS" }
};
#define FLAGS (sizeof(flags) / sizeof(flags[0]))

struct change { uint16_t before, after; };

static const struct change modelled[] =
{
#define TRANSITION( before, after ) { before, after },
#include "transitions.h"
};

static const struct change untied[] =
{
#define UNTIED( before, after ) { before, after },
#define BY_CHANCE UNTIED
#include "untied.h"
};

static _Atomic uint8_t seen[(ALL + 1) * (ALL + 1) / 8];

static uint32_t shorten( uint64_t word )
{
    uint32_t i, s = (uint32_t)word_state( word );

    for (i = 0; i < FLAGS; i++) if (word & flags[i].in_word) s |= flags[i].bit;
    return s;
}

void word_log( const volatile void *object, uint64_t before, uint64_t after )
{
    const char *context = (const char *)object - offsetof( struct ums_context, word );
    uint32_t from, to, i;
    uint8_t bit;

    if (!ums_context_slot( context )) return;
    from = shorten( before );
    to   = shorten( after );
    if (from == to || !(from & STATE) || !(to & STATE)) return;
    i = from * (ALL + 1) + to;
    bit = 1 << (i & 7);
    if (!(atomic_load( &seen[i / 8] ) & bit)) atomic_fetch_or( &seen[i / 8], bit );
}

void word_log_byte( volatile void *object, uint8_t value, int order )
{
    uint64_t before;

    (void)order;
    if (!ums_context_slot( (const char *)object - offsetof( struct ums_context, word ) ))
    {
        __atomic_store_n( (volatile uint8_t *)object, value, __ATOMIC_SEQ_CST );
        return;
    }
    /* Others may change flags between the two: then the old ones are told with both states. That is still a change which
       worker_give_away may make, and theirs is told by themselves. */
    before = __atomic_load_n( (volatile uint64_t *)object, __ATOMIC_SEQ_CST );
    __atomic_store_n( (volatile uint8_t *)object, value, __ATOMIC_SEQ_CST );
    word_log( object, before, (before & ~WORD_STATE) | value );
}

static void print( FILE *to, uint32_t word )
{
    uint32_t i;

    fputs( names[word & STATE], to );
    for (i = 0; i < FLAGS; i++) if (word & flags[i].bit) fprintf( to, "|%s", flags[i].name );
}

static int is_in( const struct change *table, size_t count, uint32_t from, uint32_t to )
{
    while (count--) if (table[count].before == from && table[count].after == to) return 1;
    return 0;
}

static void __attribute__((destructor)) judge( void )
{
    const char *name = getenv( "UMS_WORD_LOG" );
    FILE *log = name ? fopen( name, "w" ) : NULL;
    int made = 0, unknown = 0;
    uint32_t i;

    for (i = 0; i < (ALL + 1) * (ALL + 1); i++)
    {
        uint32_t from = i / (ALL + 1), to = i % (ALL + 1);

        if (!(seen[i / 8] & (1 << (i & 7)))) continue;
        made++;
        if (log)
        {
            print( log, from );
            fputs( " -> ", log );
            print( log, to );
            fputc( '\n', log );
        }
        if (is_in( modelled, sizeof(modelled) / sizeof(modelled[0]), from, to ) ||
            is_in( untied, sizeof(untied) / sizeof(untied[0]), from, to )) continue;
        unknown++;
        fputs( "the state word of a worker went from ", stderr );
        print( stderr, from );
        fputs( " to ", stderr );
        print( stderr, to );
        fputs( ", which no model does: correct the code, or a model (model.tie then says how to take it\n"
               "over), or say in tests/tie/untied.h why it is not modelled\n", stderr );
    }
    if (log) fclose( log );
    printf( "%d kinds of changes of state words, %d of them unknown to the models\n", made, unknown );
    fflush( NULL );
    if (!made || unknown) _exit( 1 );
}
