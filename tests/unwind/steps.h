/*
 * Walks from every instruction.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_UNWIND_STEPS_H
#define TESTS_UNWIND_STEPS_H

#include <windows.h>
#include <stdint.h>
#include <stdio.h>

/* Plain threads, not while stepping. */
extern int test_checks, test_failures;

#define ok( cond, ... ) \
    do { \
        test_checks++; \
        if (!(cond)) \
        { \
            test_failures++; \
            printf( "%s:%d: ", __FILE__, __LINE__ ); \
            printf( __VA_ARGS__ ); \
            printf( "\n" ); \
        } \
    } while (0)

/* ---- anchors: anchor_x86_64.S ---- */

struct anchor
{
    uint64_t rsp;                               /* to be found behind the call */
    uint64_t room[3];                           /* the numbers in the registers are its own */
};

#define ANCHORS 4
extern struct anchor anchors[ANCHORS];

uint64_t anchor_call( struct anchor *anchor, void *function, uint64_t a, uint64_t b, uint64_t c,
                      uint64_t d );
extern char anchor_return[];

void trap_on( void );
void trap_off( void );
extern char trap_is_off[];

/* ---- stepping ---- */

struct place
{
    const char *name;
    const void *code;                           /* a function of ours */
    int entered;
};

/* Memory that may be a stack; the thread's own is one anyway. */
void steps_add_stack( const void *bottom, const void *top );
/* Code from whose every instruction is walked. */
void steps_watch( const void *begin, const void *end );
/* The same for a module; who: its name in messages. */
HMODULE steps_watch_module( const char *name );
/* Functions that are entered only in order to be named, and have to be. */
void steps_name( struct place *places, int count );

/* Step until steps_end, on every thread that has set its trap flag. */
void steps_begin( void );
void steps_end( const char *what );

/* Here a walk may end at the end of the stack instead of at an anchor. */
extern const char *volatile steps_root_bottom, *volatile steps_root_top;

void play_assembly( void );                     /* play.c */
void step_dlls( void );                         /* live.c */

#endif /* TESTS_UNWIND_STEPS_H */
