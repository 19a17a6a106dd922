/*
 * A worker uses up its stack, and nobody handles that. Wine ends such a thread without a call of
 * Windows (the real one ends the process). Its scheduler has to get control back.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "two_workers.h"

static int __attribute__((noinline)) deeper( volatile char *above )
{
    volatile char here[1024];

    here[0] = above[0];
    return above[0] ? 0 : deeper( here ) + here[0];
}

static DWORD WINAPI overflows( void *arg )
{
    volatile char start[16] = { 0 };

    (void)arg;
    inside = 1;
    Sleep( 1 );
    return deeper( start );
}

/* Until the other one is seen terminated. */
static DWORD WINAPI waits_for_it( void *arg )
{
    BOOLEAN is_ended = 0;

    (void)arg;
    while (!is_ended)
    {
        pQueryUmsThreadInformation( contexts[0], UmsThreadIsTerminated, &is_ended, 1, NULL );
        pUmsThreadYield( NULL );
    }
    seen_inside = inside;
    inside = 2;                                 /* the other one will not say so */
    return 0;
}

static void nothing( void )
{
}

int main( void )
{
    load_shim();
    SetErrorMode( SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX );
    run_round( overflows, NULL, waits_for_it, nothing );
    ok( ended == 2, "%ld workers have ended", ended );
    if (ended == 2) end_round();
    fflush( stdout );
    return test_end();
}
