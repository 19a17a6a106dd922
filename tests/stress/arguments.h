/*
 * Random arguments: what the calls and the processes that make them share.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_STRESS_ARGUMENTS_H
#define TESTS_STRESS_ARGUMENTS_H

#include <windows.h>
#include "ums.h"
#include "umsnt.h"

#define CHILD_LIMIT  60000                      /* ms */
#define OTHER_CRASH  77                         /* exit codes of a child */
#define WRONG        78

extern unsigned int random_seed;
extern const char *calling;                     /* for messages */
extern PUMS_COMPLETION_LIST list;               /* objects that the calls use */
extern PUMS_CONTEXT context;

void say( const char *fmt, ... ) __attribute__((format( gnu_printf, 1, 2 )));
/* Once in a child: memory, objects, the functions. FALSE: a function is missing. */
BOOL prepare_calls( void );
/* Any function with any arguments; ends the process if it does what it must not. */
void call_once( void );

#endif /* TESTS_STRESS_ARGUMENTS_H */
