/*
 * White box: what goes wrong on another thread than the main one is not lost (failures.c), in a test that does nothing for it.
 * Each run goes wrong in the way that it is told to, and CTest looks for the words.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>

static char data[64];
static int crashes;

static void *goes_wrong( void *unused )
{
    void (*volatile call)( void );

    memcpy( (void *)&call, &(void *){ data }, sizeof(call) );
    if (crashes) call();
    assert_int_equal( data[0], 1 );
    return unused;
}

static void another_thread_goes_wrong( void **state )
{
    pthread_t thread;

    (void)state;
    pthread_create( &thread, NULL, goes_wrong, NULL );
    pthread_join( thread, NULL );
}

int main( int argc, char **argv )
{
    const struct CMUnitTest tests[] = { cmocka_unit_test( another_thread_goes_wrong ) };

    crashes = argc > 1 && !strcmp( argv[1], "crash" );
    return cmocka_run_group_tests( tests, NULL, NULL );
}
