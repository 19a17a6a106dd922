/*
 * What goes wrong on any thread of a white-box test is not lost. Every one of them is linked with this, whether it asks for it
 * or not.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* cmocka catches signals and jumps into the main thread's stack, from whichever thread: so these are not its to catch. */
#define OPTIONS "handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
const char *__asan_default_options( void );
/* The frames of a switch lie on the thread's own stack, since the thread is another one behind it: gcc 14 would put them into
   the thread's heap. */
const char *__asan_default_options( void )
{
    return OPTIONS ":detect_stack_use_after_return=0";
}

/* A longjmp on a stack that is left behind makes gcc 14's ASan ask for the signal stack, with an answer on that stack, before it
   has forgotten what lay there. */
const char *__asan_default_suppressions( void );
const char *__asan_default_suppressions( void )
{
    return "interceptor_name:sigaltstack\n";
}
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
const char *__tsan_default_options( void );
const char *__tsan_default_options( void )
{
    return OPTIONS;
}
#endif

static pthread_t main_thread;

/* An assertion that fails on a thread where no test runs makes cmocka end the process with 255, and what it had to say is
   lost. */
static void on_end( int status, void *unused )
{
    (void)unused;
    if (!status || pthread_equal( pthread_self(), main_thread )) return;
    fprintf( stderr, "a thread of a test has ended the process with status %d:\n", status );
    __sanitizer_print_stack_trace();
    fflush( stderr );
}

static void __attribute__((constructor)) begin( void )
{
    main_thread = pthread_self();
    on_exit( on_end, NULL );
}
