/*
 * What a thread of this process does in Linux, as Linux tells it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * /proc/self/task/THREAD/syscall has one line: "running" for a thread that runs or waits for a
 * processor; "number arguments.. sp pc" where it sleeps in a Linux call; "-1 sp pc" where it sleeps
 * without one, for a page. A process may always read that of its own threads. Where there is no
 * /proc, or the kernel was built without this, nothing is known.
 *
 * One kind of sleep is recognized and does not count as blocked. A thread of Wine that has sent a request
 * to the wineserver reads the fixed part of the answer from a pipe: 64 bytes in every Wine, into a local
 * variable of the function that reads. The wineserver answers each request at once. If the thread has to
 * wait for something, the answer says so, and the thread then reads 16 bytes from another pipe. If a
 * program reads 64 bytes from a pipe of its own, its buffer is not on the stack of Wine's Unix side.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "ke_win32.h"

#define LINUX_READ      0
#define LINUX_OPEN      2
#define LINUX_CLOSE     3
#define LINUX_O_CLOEXEC 02000000

#define ANSWER_SIZE 64                          /* size of the fixed part */
#define FRAME_SIZE  0x1000                      /* from the stack pointer in read() up to its caller's
                                                   variables; 0x250 in Wine 8.0 */

int __cdecl _snprintf( char *, size_t, const char *, ... );

struct sleep
{
    enum ke_sleep how;
    int64_t  call;                              /* -1: in no call. The other fields are set only if
                                                   the thread sleeps */
    uint64_t args[6];
    struct ke_place place;
};

uint32_t ke_host_thread( void )
{
    return ke_parks_outside() ? (uint32_t)ums_linux_syscall( LINUX_GETTID, 0, 0, 0, 0 ) : 0;
}

/* Read the next number, after " 0x". At the end of the text the value is 0. */
static const char *hex( const char *p, uint64_t *value )
{
    int i;

    *value = 0;
    for (i = 0; i < 3; i++) if (*p) p++;
    for (; ; p++)
    {
        if (*p >= '0' && *p <= '9') *value = *value * 16 + (*p - '0');
        else if (*p >= 'a' && *p <= 'f') *value = *value * 16 + (*p - 'a' + 10);
        else return p;
    }
}

static void parse( const char *p, struct sleep *sleep )
{
    int i;

    if (*p == 'r')
    {
        sleep->how = KE_AWAKE;
        return;
    }
    if (*p != '-' && (*p < '0' || *p > '9')) return;
    sleep->how = KE_ASLEEP;
    sleep->call = -1;
    if (*p == '-') p += 2;
    else
    {
        for (sleep->call = 0; *p >= '0' && *p <= '9'; p++) sleep->call = sleep->call * 10 + (*p - '0');
        for (i = 0; i < 6; i++) p = hex( p, &sleep->args[i] );
    }
    hex( hex( p, &sleep->place.sp ), &sleep->place.pc );
}

static void read_sleep( uint32_t host_thread, struct sleep *sleep )
{
    char path[64], text[256];                   /* the longest line has 9 numbers: 174 bytes */
    int64_t fd, got;

    sleep->how = KE_UNKNOWN;
    if (!host_thread) return;
    _snprintf( path, sizeof(path), "/proc/self/task/%u/syscall", host_thread );
    fd = (int64_t)ums_linux_syscall( LINUX_OPEN, (uint64_t)path, LINUX_O_CLOEXEC, 0, 0 );
    if (fd < 0) return;
    got = (int64_t)ums_linux_syscall( LINUX_READ, fd, (uint64_t)text, sizeof(text) - 1, 0 );
    ums_linux_syscall( LINUX_CLOSE, fd, 0, 0, 0 );
    if (got <= 0) return;
    text[got] = 0;
    parse( text, sleep );
}

/* Linux wakes a thread in two steps, and shows it as asleep between them. The second one is taken by the thread's
   processor, which in a virtual machine may stand still meanwhile: the host runs something else. */
enum ke_sleep ke_find_sleep( uint32_t host_thread, const _Atomic uint32_t *park, struct ke_place *place )
{
    struct sleep sleep;

    read_sleep( host_thread, &sleep );
    if (sleep.how != KE_ASLEEP) return sleep.how;
    if (sleep.call == LINUX_FUTEX && sleep.args[0] == (uint64_t)park) return KE_AWAKE;
    if (sleep.call == LINUX_READ && sleep.args[2] == ANSWER_SIZE &&
        sleep.args[1] - sleep.place.sp < FRAME_SIZE) return KE_AWAITS_ANSWER;
    *place = sleep.place;
    return KE_ASLEEP;
}

int ke_in_fault( uint32_t host_thread, struct ke_place *place )
{
    struct sleep sleep;

    read_sleep( host_thread, &sleep );
    if (sleep.how != KE_ASLEEP || sleep.call != -1) return 0;
    *place = sleep.place;
    return 1;
}
