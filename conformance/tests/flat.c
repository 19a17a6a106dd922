/*
 * Nothing leaks: handles and committed private memory are flat over many rounds.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each body runs for a warm-up of a tenth of its rounds first, or of 25, which is what the largest body does at once:
 * heaps grow to their working size and thread pools fill then. After that, handles must come back to the same number and memory to
 * within the slack. Handles of ended threads may be closed a moment later, so the second sample is
 * repeated for a bounded time.
 */
#include "flat.h"

struct usage
{
    DWORD     handles;
    ULONGLONG bytes;
};

#define WARM_UP 25
#define GAP 1024                /* so many handle values in a row unused: there are no more */

/* How many handles this process has, asked one by one: values are small multiples of four. (The
   system's own table would tell in one call; but a Wine asked for it while a process is starting
   may lose its server.) */
static DWORD count_by_value( void )
{
    ULONG_PTR value;
    DWORD count = 0, unused = 0, flags;

    for (value = 4; unused < GAP; value += 4)
    {
        if (GetHandleInformation( (HANDLE)value, &flags ))
        {
            count++;
            unused = 0;
        }
        else unused++;
    }
    return count;
}

static DWORD count_by_call( void )
{
    DWORD count = 0;

    GetProcessHandleCount( GetCurrentProcess(), &count );
    return count;
}

/* Some Wines answer GetProcessHandleCount with a constant. Take what sees ten new handles. */
static DWORD (*count_handles)( void );

static BOOL find_counter( void )
{
    static DWORD (*const counters[])( void ) = { count_by_call, count_by_value };
    HANDLE handles[10];
    DWORD before, after;
    size_t i;
    int k;

    for (i = 0; i < ARRAYSIZE(counters); i++)
    {
        before = counters[i]();
        for (k = 0; k < 10; k++) handles[k] = CreateEventA( NULL, FALSE, FALSE, NULL );
        after = counters[i]();
        for (k = 0; k < 10; k++) CloseHandle( handles[k] );
        if (after == before + 10) count_handles = counters[i];
        if (count_handles) return TRUE;
    }
    skip( "handles cannot be counted here\n" );
    return FALSE;
}

static void sample( struct usage *usage )
{
    MEMORY_BASIC_INFORMATION info;
    BYTE *address = NULL;

    usage->handles = count_handles ? count_handles() : 0;
    usage->bytes = 0;
    while (VirtualQuery( address, &info, sizeof(info) ) == sizeof(info))
    {
        if (info.State == MEM_COMMIT && info.Type == MEM_PRIVATE) usage->bytes += info.RegionSize;
        address = (BYTE *)info.BaseAddress + info.RegionSize;
        if ((ULONG_PTR)address >= 0x7fffffff0000) break;
    }
}

void check_flat_after( const char *what, void (*body)( int rounds ), int warm_up, int rounds, ULONGLONG slack )
{
    struct usage before, after;
    ULONGLONG start;

    rounds = max( rounds, 1 );                  /* some divide UMSTEST_LIVES */
    if (!count_handles) find_counter();
    body( warm_up );
    sample( &before );
    body( rounds );
    start = GetTickCount64();
    for (;;)
    {
        sample( &after );
        if (after.handles <= before.handles && after.bytes <= before.bytes + slack) break;
        if (GetTickCount64() - start > WAIT_BOUND / 3) break;
        Sleep( 50 );
    }
    ok( after.handles <= before.handles, "%s: %ld handles more after %d rounds\n", what,
        (LONG)(after.handles - before.handles), rounds );
    ok( after.bytes <= before.bytes + slack, "%s: %lld bytes more after %d rounds\n", what,
        (LONGLONG)(after.bytes - before.bytes), rounds );
}

void check_flat( const char *what, void (*body)( int rounds ), int rounds, ULONGLONG slack )
{
    check_flat_after( what, body, max( rounds / 10 + 1, WARM_UP ), rounds, slack );
}
