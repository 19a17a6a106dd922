/*
 * Which threads has the program alerted by their ids (NtAlertThreadByThreadId)?
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host keeps one alert for each thread. It is the same one with which RtlWaitOnAddress wakes [seen: Wine's source; of Windows
 * guess], so where ke_wait is that function, a thread that sleeps for the shim takes what the program has pending for it. But each alert of the process comes
 * through the hook first, and is noted here. There the note is the alert, and the host's only ends the wait (hook_alerts.c).
 *
 * A mark has the id of its thread, and two ids share one if they are 4 * MARKS apart. Windows gives small ids first [guess],
 * as Wine does.
 */

#include <windows.h>
#include "core/ums_core.h"
#include "ke_win32.h"

#define MARKS 0x10000

#define ALERT_GIVEN 1                           /* and not taken; set by any thread */
#define ALERT_OURS  2                           /* what the thread itself calls is the shim's; only that thread changes it */

static _Atomic uint8_t marks[MARKS];

static _Atomic uint8_t *mark_of( uint32_t tid )
{
    return &marks[tid / 4 % MARKS];
}

/* Also a barrier. What the caller has stored is seen by whoever takes the alert: whether it is this one, or one from before that
   was not taken yet, when this one is no other. */
void ke_alert_note( uint32_t tid )
{
    atomic_fetch_or( mark_of( tid ), ALERT_GIVEN );
}

int ke_alert_take( uint32_t tid )
{
    return (atomic_fetch_and( mark_of( tid ), (uint8_t)~ALERT_GIVEN ) & ALERT_GIVEN) != 0;
}

int ke_alert_is_noted( uint32_t tid )
{
    return (atomic_load( mark_of( tid ) ) & ALERT_GIVEN) != 0;
}

/* Nobody is carried where this is used, so nobody else runs with the thread's id. If its registers are set while it sleeps, it never
   leaves: until it sleeps again, the alerts that it waits for are the host's, and those that it gives are not noted. A new thread with
   the id of one that was ended in its sleep has the same, if another process has ended that one. Other threads change the other bit
   of the mark at any time, so this one is set and cleared by one operation. */
void ke_alerts_enter( void )
{
    atomic_fetch_or( mark_of( ke_thread_id() ), ALERT_OURS );
}

void ke_alerts_leave( void )
{
    atomic_fetch_and( mark_of( ke_thread_id() ), (uint8_t)~ALERT_OURS );
}

int ke_alerts_are_ours( void )
{
    return (atomic_load( mark_of( ke_thread_id() ) ) & ALERT_OURS) != 0;
}
