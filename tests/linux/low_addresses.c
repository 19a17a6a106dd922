/*
 * low_addresses: the low addresses of a process stay the program's. A DLL without relocations cannot be anywhere but at
 * its base, which may be 0x10000000, and programs that keep pointers in 32 bits allocate from below.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Windows promises no address, so this is no test of the suite. Seen in Wine's own tests: `loader` and `virtual` failed
 * while the shim's tables were there. Wine 10.0 puts no memory there by itself, so it can fail only under 8.0.
 */
#include "waker.h"

#define LOW  ((void *)0x10000000)
#define SIZE 0x30000000

static DWORD WINAPI sleeper( void *arg )
{
    (void)arg;
    inside = 1;
    WaitForSingleObject( event, LIMIT );        /* events and time-outs have tables, too */
    inside = 2;
    return 0;
}

static void check_low( const char *when )
{
    void *mem = VirtualAlloc( LOW, SIZE, MEM_RESERVE, PAGE_NOACCESS );

    ok( mem == LOW, "%s: no %#x bytes at %p, error %lu", when, SIZE, LOW, GetLastError() );
    if (mem) VirtualFree( mem, 0, MEM_RELEASE );
}

int main( void )
{
    check_low( "before the shim is loaded" );
    load_shim();
    event = CreateEventA( NULL, FALSE, FALSE, NULL );
    run_round( sleeper, NULL, waker, give_up );
    check_low( "after a round" );
    end_round();
    return test_end();
}
