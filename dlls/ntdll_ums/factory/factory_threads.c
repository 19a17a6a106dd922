/*
 * Threads of worker factories, and the one that makes them: the manager.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manager exists while a factory has threads or may need one. It makes threads, moves packets
 * from the ports into the queues, notices threads that were ended from outside, and notices hands
 * that block in calls. It sleeps in one wait for all of that, without a time-out unless something
 * is in progress that nobody will report to it. Whoever has something for it first increments asked
 * and then wakes it. The manager reads asked and then looks at everything.
 */

#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>
#include "factory_host.h"
#include "host/ke_win32.h"
#include "host/thread.h"
#include "core/patience.h"
#include "core/section.h"
#include "workerfactory.h"

#define ABROAD_LOOK  10000000                   /* 100 ns: are handles of other processes closed? */
#define MAX_PORTS    24                         /* of 63 things that can be waited for; the rest are
                                                   threads */

BOOLEAN NTAPI RtlDllShutdownInProgress( void );
NTSTATUS NTAPI NtSetEvent( HANDLE, LONG * );
NTSTATUS NTAPI NtResumeThread( HANDLE, ULONG * );
NTSTATUS NTAPI NtSetIoCompletion( HANDLE, ULONG_PTR, ULONG_PTR, NTSTATUS, SIZE_T );
NTSTATUS NTAPI NtRemoveIoCompletionEx( HANDLE, FILE_IO_COMPLETION_INFORMATION *, ULONG, ULONG *,
                                       LARGE_INTEGER *, BOOLEAN );
NTSTATUS NTAPI NtQueryIoCompletion( HANDLE, int, void *, ULONG, ULONG * );
NTSTATUS NTAPI NtWaitForMultipleObjects( ULONG, const HANDLE *, int, BOOLEAN, LARGE_INTEGER * );

static void *event;                             /* wakes the manager; constant after start */
static _Atomic uint32_t asked;                  /* counts */
static _Atomic uint32_t alive;                  /* there is a manager, or it is being made */
static _Atomic uint32_t manager_tid;            /* the manager's, while it is alive; or 0 */
static _Atomic uint32_t asleep;                 /* or about to be: it has to be woken */
static _Atomic uint32_t rounds;                 /* counts; a thread that waits for one sleeps on it */

int ums_manager_init( void )
{
    if (!(ums_hand_offset = ums_teb_word( TEB_HAND ))) return 0;
    if (ke_event_create( &event )) return 0;
    ums_handle_own( event );
    return 1;
}

void ums_set_hand( struct ums_hand *h )
{
    __writegsqword( ums_hand_offset, (uint64_t)h );
}

void ums_hand_passes( uint64_t mark )
{
    if (ums_hand_offset) __writegsqword( ums_hand_offset, (ums_hand_word() & ~HAND_PASSES) | mark );
}

struct ums_hand *ums_hand_of_thread( uint32_t tid )
{
    uint32_t i, made = ums_pool_made( &ums_hand_pool );

    for (i = 0; i < made; i++)
    {
        struct ums_hand *h = ums_pool_any( &ums_hand_pool, i );
        enum hand_state state = hand_state( atomic_load( &h->word ) );

        if (state != HAND_FREE && state != HAND_ENDED && atomic_load( &h->tid ) == tid) return h;
    }
    return NULL;
}

/* ---- threads ---- */

/* The start routine of a hand; returning ends the thread. */
static void hand_thread( void *arg )
{
    struct ums_hand *h = arg;
    struct ums_factory *f = atomic_load( &h->factory );

    atomic_store( &h->tid, GetCurrentThreadId() );
    ums_set_hand( h );
    ums_thread_release_stack();
    ums_thread_set_start( f->start.start );
    ((PWORKER_FACTORY_START_ROUTINE)f->start.start)( f->start.param );
}

static void make_hands( struct ums_factory *f )
{
    struct ums_hand *h;
    NTSTATUS status;
    HANDLE thread;

    while ((h = ums_factory_make( f )))
    {
        status = ums_thread_create( THREAD_HAND, hand_thread, h, f->start.stack_reserve, f->start.stack_commit,
                                    atomic_load( &f->priority ), &thread );
        if (!status)
        {
            ums_handle_own( thread );
            h->thread = thread;
        }
        ums_factory_made( f, h, status );
        if (status) break;
    }
}

/* Its thread has ended, or will end soon. A queue that has it on its stack can still find it, and a thread that
   counts it out (ums_hand_exits) still uses it: then it is freed in a later round, for which that thread
   wakes the manager after it has set `gone`. */
static void bury( struct ums_hand *h )
{
    struct ums_factory *f = atomic_load( &h->factory );

    if (atomic_load( &h->word ) & HAND_LINKED) ums_queue_purge( atomic_load( &h->queue ) );
    if (h->thread)
    {
        ums_handle_close_own( h->thread );
        h->thread = NULL;
    }
    if (ums_hand_free( h )) ums_factory_unref( f );
}

/* ---- ports ---- */

static ULONG fetch( struct ums_queue *q, FILE_IO_COMPLETION_INFORMATION *packets, ULONG count )
{
    LARGE_INTEGER zero = { .QuadPart = 0 };
    ULONG n = 0;

    return NtRemoveIoCompletionEx( q->port, packets, count, &n, &zero, FALSE ) ? 0 : n;
}

/* full is set before the last look: whoever makes room after that sees it. */
static int has_room( struct ums_queue *q )
{
    if (ums_queue_room( q )) return 1;
    atomic_store( &q->full, 1 );
    if (!ums_queue_room( q )) return 0;
    atomic_store( &q->full, 0 );
    return 1;
}

/* Fewer than RING_FULL are there, and at most RING_FULL come, so there is room for all. If fewer
   come, the port is empty; the next packet wakes the manager. */
static void drain( struct ums_queue *q )
{
    FILE_IO_COMPLETION_INFORMATION packets[RING_FULL];
    ULONG i, n = RING_FULL;

    atomic_store( &q->full, 0 );
    while (n == RING_FULL && ums_queue_is_served( q ) && has_room( q ) &&
           (n = fetch( q, packets, RING_FULL )))
    {
        for (i = 0; i < n; i++)
        {
            struct ums_packet packet =
            {
                (uint64_t)packets[i].KeyContext, (uint64_t)packets[i].ApcContext,
                (uint64_t)packets[i].IoStatusBlock.Pointer, packets[i].IoStatusBlock.Information
            };
            ums_queue_put( q, &packet );
        }
        ums_queue_give( q, n, 0 );
        ums_queue_check( q );
    }
}

/* Nobody serves the port: packets that were fetched and not taken go back into it, and must not end up
   behind those that came after them. As many as were in the port are taken out of its front and put at
   its end. Not closed: a packet that is posted meanwhile may come before those, since the host cannot post
   in front. If another thread takes packets meanwhile, fewer are there than were counted. A port that may
   not be queried (no right to) is left as it is.

   One thread at a time: whoever has set moving, or has dropped the last reference to the queue, and then
   nobody else has one. */
static void return_packets( struct ums_queue *q )
{
    FILE_IO_COMPLETION_INFORMATION packets[RING_FULL];
    struct ums_packet packet;
    LONG later = 0;                             /* came after those */
    ULONG i, n;

    if (!ums_queue_drain( q, &packet )) return;
    if (NtQueryIoCompletion( q->port, 0 /* basic */, &later, sizeof(later), NULL )) later = 0;
    do NtSetIoCompletion( q->port, packet.key, packet.apc, (NTSTATUS)packet.status,
                          packet.information );
    while (ums_queue_drain( q, &packet ));
    for (; later > 0; later -= n)
    {
        if (!(n = fetch( q, packets, later < RING_FULL ? later : RING_FULL ))) return;
        for (i = 0; i < n; i++)
            NtSetIoCompletion( q->port, (ULONG_PTR)packets[i].KeyContext,
                               (ULONG_PTR)packets[i].ApcContext, packets[i].IoStatusBlock.Status,
                               packets[i].IoStatusBlock.Information );
    }
}

/* 0: another thread moves packets of this port. Then whoever moves wakes the manager behind that, or is it.
   What a thread that is stopped in here has fetched is missing until it goes on, so it is first let go on
   (core/holders.c). One that another process ends in here keeps moving for ever: no packet of the port comes
   into the ring any more. */
static int move_packets( struct ums_queue *q )
{
    struct ums_context *self = ke_current();
    struct ums_section section;
    uint32_t free = 0;
    int mine;

    ums_section_begin( &section );
    ums_hold_self( self, 1 );
    if ((mine = atomic_compare_exchange_strong( &q->moving, &free, 1 )))
    {
        if (ums_queue_is_served( q )) drain( q );
        else return_packets( q );
        atomic_store( &q->moving, 0 );
    }
    ums_hold_self( self, -1 );
    ums_section_end( &section );
    return mine;
}

/* The caller moves them itself, since the manager may not run: a program may have stopped all other threads.
   It waits only for somebody who moves right now: that one may have looked before the caller changed
   something. It reads rounds before it tries, so a round that ends behind that wakes it; and it asks for
   that round. When the process ends, the others have ended already, wherever they were. */
void ums_queue_return( struct ums_queue *q )
{
    static const int64_t nap = 10000000;
    struct ums_wait wait = ums_wait_begins();
    uint32_t now;

    if (RtlDllShutdownInProgress()) atomic_store( &q->moving, 0 );
    while (now = atomic_load( &rounds ), ums_queue_must_return( q ))
    {
        const int moved = move_packets( q );

        ke_manager_wake();
        if (moved || ums_give_up( &wait, "a thread that moves packets" )) break;
        ke_wait( &rounds, now, &nap );
    }
}

void ke_factory_closed( struct ums_factory *f, int last )
{
    struct ums_queue *q = f->queue;

    if (!last || !q->port) return;
    return_packets( q );
    ums_handle_close_own( q->port );
}

/* ---- the manager ---- */

#define POLL 20000                              /* 100 ns: ports that it cannot wait for */

struct round                                    /* what it will wait for */
{
    HANDLE   objects[MAXIMUM_WAIT_OBJECTS];
    struct ums_hand *hands[MAXIMUM_WAIT_OBJECTS];       /* whose thread that is */
    DWORD    count;
    int64_t  timeout;                           /* 100 ns; 0: none */
    int      active;                            /* there is something to wait for */
    uint32_t seen;                              /* `asked` before the look */
};

static void not_later( struct round *round, int64_t timeout )
{
    if (timeout <= 0) timeout = 1;
    if (!round->timeout || timeout < round->timeout) round->timeout = timeout;
}

static void add_port( struct round *round, struct ums_queue *q )
{
    DWORD i;

    if (!has_room( q )) return;
    for (i = 1; i < round->count; i++) if (round->objects[i] == q->port) return;
    if (round->count == MAX_PORTS)              /* drained in this round, and is in the next */
    {
        not_later( round, POLL );
        return;
    }
    round->hands[round->count] = NULL;
    round->objects[round->count++] = q->port;
}

static void look_at_factory( struct round *round, struct ums_factory *f )
{
    int64_t retry;

    make_hands( f );
    move_packets( f->queue );
    if (ums_factory_is_active( f ))
    {
        round->active = 1;
        make_hands( f );
        if (ums_queue_is_served( f->queue )) add_port( round, f->queue );
    }
    if (ums_queue_watch( f->queue, ums_grace_unseen )) not_later( round, ums_grace_unseen );
    if ((retry = atomic_load( &f->retry_at )) && ums_factory_wants( f ))
    {
        not_later( round, retry - ke_clock() );
        round->active = 1;                      /* for the minimum: no work keeps the manager */
    }
    if (atomic_load( &f->abroad ) && !atomic_load( &f->handles ))
    {
        ums_factory_look_abroad( f );
        if (atomic_load( &f->handles ) & FACTORY_CLOSED) return;
        not_later( round, ABROAD_LOOK );
        round->active = 1;
    }
}

static void look_at_hands( struct round *round )
{
    uint32_t i, made = ums_pool_made( &ums_hand_pool );

    for (i = 0; i < made; i++)
    {
        struct ums_hand *h = ums_pool_any( &ums_hand_pool, i );
        enum hand_state state = hand_state( atomic_load( &h->word ) );

        if (state == HAND_ENDED) bury( h );
        else if (state != HAND_FREE && h->thread)
        {
            round->active = 1;
            if (round->count == MAXIMUM_WAIT_OBJECTS) continue;
            round->hands[round->count] = h;
            round->objects[round->count++] = h->thread;
        }
    }
}

static void look( struct round *round )
{
    uint32_t i, made = ums_pool_made( &ums_factory_pool );

    round->objects[0] = event;
    round->count      = 1;
    round->timeout    = 0;
    round->active     = 0;
    for (i = 0; i < made; i++)
    {
        struct ums_factory *f = ums_pool_any( &ums_factory_pool, i );

        if (!ums_factory_hold( f )) continue;
        look_at_factory( round, f );
        ums_factory_unref( f );
    }
    look_at_hands( round );
    atomic_fetch_add( &rounds, 1 );
    ke_wake( &rounds, 1 );
}

/* Returns a hand whose thread has ended, or NULL. */
static struct ums_hand *sleep_on( struct round *round, uint32_t seen )
{
    LARGE_INTEGER timeout = { .QuadPart = -round->timeout };
    NTSTATUS status = 0;

    atomic_store( &asleep, 1 );
    if (atomic_load( &asked ) == seen)
        status = NtWaitForMultipleObjects( round->count, round->objects, 1 /* any */, FALSE,
                                           round->timeout ? &timeout : NULL );
    atomic_store( &asleep, 0 );
    return status > 0 && status < (NTSTATUS)round->count ? round->hands[status] : NULL;
}

/* It holds itself except in its sleep: terminated elsewhere it would leave a hand that is counted and has no
   thread, or packets that it has fetched. */
static struct ums_hand *make_round( struct round *round, struct ums_hand *ended )
{
    uint32_t seen;

    ums_hold_self( NULL, 1 );
    if (ended) ums_hand_exits( ended );
    seen = atomic_load( &asked );
    look( round );
    round->seen = seen;
    ums_hold_self( NULL, -1 );
    return round->active ? sleep_on( round, seen ) : NULL;
}

static void manager( void *arg )
{
    const uint32_t tid = ke_thread_id();
    struct ums_hand *ended = NULL;
    struct round round;

    (void)arg;
    do
    {
        atomic_store( &manager_tid, tid );
        do ended = make_round( &round, ended );
        while (round.active);
        /* Nobody is terminated in our code while there are factories (hook_kill.c). The id first: while `alive` is 0 another manager may
           store its own. */
        atomic_store( &manager_tid, 0 );
        atomic_store( &alive, 0 );
    }
    while (atomic_load( &asked ) != round.seen && !atomic_exchange( &alive, 1 ));
}

/* Its id is known before it runs, so if it is terminated before it begins, that is noticed: by whoever terminates it, who reads the
   id behind that, or here, where the id is stored before the look whether it has ended. */
static void make_manager( void )
{
    HANDLE thread;
    uint32_t tid;

    if (ums_thread_create( THREAD_STOPPED_SERVICE, manager, NULL, 0, 0, 0, &thread ))
    {
        /* in this order: whoever asks in between tries to make one, too */
        atomic_store( &alive, 0 );
        ums_factories_forget_asked();
        return;
    }
    tid = GetThreadId( thread );
    atomic_store( &manager_tid, tid );
    if (!WaitForSingleObject( thread, 0 )) ums_manager_killed( tid );
    else NtResumeThread( thread, NULL );
    NtClose( thread );
}

/* A thread that was stopped in here would leave no manager although it says that it makes one, or one that is
   not woken: then no factory would get a thread any more. */
void ke_manager_wake( void )
{
    struct ums_context *self = ke_current();
    struct ums_section section;

    ums_section_begin( &section );
    ums_hold_self( self, 1 );
    atomic_fetch_add( &asked, 1 );
    if (!atomic_exchange( &alive, 1 )) make_manager();
    else if (atomic_exchange( &asleep, 0 )) NtSetEvent( event, NULL );
    ums_hold_self( self, -1 );
    ums_section_end( &section );
}

int ums_manager_sleeps( uint32_t tid )
{
    return tid && atomic_load( &manager_tid ) == tid && atomic_load( &asleep );
}

/* The id is not 0 only while its thread is the manager, so nothing of another one is reset: alive stays set until here. Whoever
   asks meanwhile counts, and the next manager looks at everything. It ends at once if there is nothing to do. */
void ums_manager_killed( uint32_t tid )
{
    if (!tid || !atomic_compare_exchange_strong( &manager_tid, &tid, 0 )) return;
    atomic_store( &asleep, 0 );
    atomic_store( &alive, 0 );
    ke_manager_wake();
}

/* Two rounds, because one may be in progress. With a limit: the thread may be impossible to make, or
   the process may be ending. A manager that has nothing to do ends; then this makes another one, since
   nobody can tell whether that one had seen what the caller did. */
void ums_manager_wait( void )
{
    static const int64_t patience = 10000000;
    uint32_t begin = atomic_load( &rounds ), now;
    int64_t until = ke_clock() + patience;

    while ((now = atomic_load( &rounds )) - begin < 2 && ke_clock() < until)
    {
        ke_manager_wake();
        ke_wait( &rounds, now, &patience );
    }
}
