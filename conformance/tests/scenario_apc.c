/*
 * Scenarios: APCs of workers: when they run, and what they leave behind.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B2, B11, B27. That the routine runs where the worker is executed follows from what UMS is: the
 * routine is user code of the worker, and that runs only while a scheduler executes it [doc]. That a
 * satisfied wait gives no upcall is [guess], alertable or not.
 */
#include <string.h>
#include "scenario_kit.h"

#define ROUNDS 10

static struct kit_worker *volatile waiter;
static volatile LONG waiting, apcs, early, wrong_thread, wrong_value, blocks[2];
static HANDLE event;

static void CALLBACK routine( ULONG_PTR arg )
{
    (void)arg;
    if (GetCurrentThreadId() != waiter->id) wrong_thread++;
    apcs++;
}

/* ---- not before it is executed ---- */

static DWORD alertable_body( struct kit_worker *self )
{
    int i;

    (void)self;
    for (i = 0; i < ROUNDS; i++)
    {
        waiting = 1;
        if (SleepEx( KIT_LIMIT, TRUE ) != WAIT_IO_COMPLETION) wrong_value++;
        waiting = 0;
    }
    return 0;
}

/* It is delivered when its wait is over, and no scheduler has executed it since: its routine cannot
   have run. (A worker that comes for the first time, or is dead, is not waiting.) */
static BOOL look_at_delivery( struct kit_sched *sched, struct kit_worker *worker )
{
    (void)sched;
    if (worker == waiter && waiting && apcs == worker->executes) early++;
    return FALSE;
}

static BOOL wake_blocked( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && waiting == 1)
    {
        waiting = 2;
        QueueUserAPC( routine, waiter->thread, 0 );
    }
    return FALSE;
}

START_TEST( scenario_apc_executed )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    sched->on_upcall = wake_blocked;
    sched->on_item = look_at_delivery;
    waiter = kit_add_worker( sched->list, alertable_body, NULL );
    kit_start();
    kit_finish();
    ok( apcs == ROUNDS && !wrong_value, "B27: %ld routines ran, %ld waits gave something else\n", apcs,
        wrong_value );
    unverified ok( !early, "B27: %ld of %d routines ran before their worker was executed\n", early,
                   ROUNDS );
    ok( !wrong_thread, "B23: %ld routines on another thread\n", wrong_thread );
    kit_check();
}

/* ---- a satisfied wait ---- */

static DWORD satisfied_body( struct kit_worker *self )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
        if (WaitForSingleObjectEx( event, KIT_LIMIT, TRUE ) != WAIT_OBJECT_0) wrong_value++;
    blocks[0] = self->blocks;
    /* one that is pending runs in a wait that is not satisfied, not in one that is */
    QueueUserAPC( routine, GetCurrentThread(), 0 );
    if (WaitForSingleObjectEx( event, KIT_LIMIT, TRUE ) != WAIT_OBJECT_0 || apcs) wrong_value++;
    ResetEvent( event );
    if (WaitForSingleObjectEx( event, KIT_LIMIT, TRUE ) != WAIT_IO_COMPLETION || apcs != 1)
        wrong_value++;
    return 0;
}

START_TEST( scenario_apc_satisfied )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    event = CreateEventW( NULL, TRUE, TRUE, NULL );
    sched = kit_add_sched( NULL );
    waiter = kit_add_worker( sched->list, satisfied_body, NULL );
    kit_start();
    kit_finish();
    unverified ok( !blocks[0], "B2: %ld of %d satisfied waits gave an upcall\n", blocks[0], ROUNDS );
    ok( !wrong_value, "B27: %ld waits gave something else\n", wrong_value );
    kit_check();
    CloseHandle( event );
}

/* ---- out of a routine by a jump ---- */

static void *jump_buffer[5];

static void CALLBACK jumping( ULONG_PTR arg )
{
    (void)arg;
    apcs++;
    __builtin_longjmp( jump_buffer, 1 );
}

/* From frames below that of the wait that was left. */
static __attribute__((noinline)) void sleep_deeper( volatile char *space )
{
    volatile char more[0x4000];

    more[0] = space[0];
    Sleep( 1 );
    space[0] = more[0];
}

static BOOL jump_out_blocked;

static BOOL jump_when_blocked( struct kit_sched *sched, LONG reason, ULONG_PTR payload, PVOID param )
{
    (void)sched; (void)payload; (void)param;
    if (reason == UmsSchedulerThreadBlocked && waiting == 1)
    {
        waiting = 2;
        QueueUserAPC( jumping, waiter->thread, 0 );
    }
    return FALSE;
}

static __attribute__((noinline)) void be_left( void )
{
    if (__builtin_setjmp( jump_buffer )) return;
    if (!jump_out_blocked) QueueUserAPC( jumping, GetCurrentThread(), 0 );
    waiting = 1;
    SleepEx( KIT_LIMIT, TRUE );
    wrong_value++;
}

static DWORD jump_body( struct kit_worker *self )
{
    volatile char space[0x40] = { 0 };
    int i;

    be_left();
    waiting = 3;
    blocks[0] = self->blocks;
    for (i = 0; i < ROUNDS; i++) sleep_deeper( space );
    blocks[1] = self->blocks;
    return 0;
}

/* Each of the waits that follow is one of its own: the scheduler is told. */
static void jump( void )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    if (jump_out_blocked) sched->on_upcall = jump_when_blocked;
    waiter = kit_add_worker( sched->list, jump_body, NULL );
    kit_start();
    kit_finish();
    ok( apcs == 1 && !wrong_value, "B27: %ld routines ran, expected 1\n", apcs );
    ok( blocks[1] - blocks[0] == ROUNDS, "B11: %ld Blocked upcalls for %d waits after the jump\n",
        blocks[1] - blocks[0], ROUNDS );
    kit_check();
}

START_TEST( scenario_apc_jump )
{
    jump();
}

/* The routine is queued while the worker is blocked in the wait. */
START_TEST( scenario_apc_jump_blocked )
{
    jump_out_blocked = TRUE;
    jump();
}

/* ---- a routine that waits ---- */

static void CALLBACK sleeping( ULONG_PTR arg )
{
    LONG before = waiter->blocks;

    (void)arg;
    Sleep( 1 );
    if (waiter->blocks - before == 1) blocks[0]++;
    apcs++;
}

static DWORD sleeping_body( struct kit_worker *self )
{
    int i;

    (void)self;
    for (i = 0; i < ROUNDS; i++)
    {
        QueueUserAPC( sleeping, GetCurrentThread(), 0 );
        if (SleepEx( KIT_LIMIT, TRUE ) != WAIT_IO_COMPLETION) wrong_value++;
    }
    return 0;
}

/* The scheduler is told of the routine's wait, as of any other of the worker. */
START_TEST( scenario_apc_waits )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    waiter = kit_add_worker( sched->list, sleeping_body, NULL );
    kit_start();
    kit_finish();
    ok( apcs == ROUNDS && !wrong_value, "B27: %ld routines ran, expected %d\n", apcs, ROUNDS );
    ok( blocks[0] == ROUNDS, "B11: %ld Blocked upcalls for %d waits in a routine\n", blocks[0], ROUNDS );
    kit_check();
}
