/*
 * The little that these programs need: checks that are counted, and an exit status.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_INJECT_TEST_H
#define TESTS_INJECT_TEST_H

#include <stdio.h>

static int test_checks, test_failures;

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

static inline int test_end( void )
{
    printf( "%d checks, %d failed\n", test_checks, test_failures );
    return test_failures || !test_checks;
}

#endif /* TESTS_INJECT_TEST_H */
