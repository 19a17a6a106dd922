/*
 * A factory and its I/O completion port (worker_factory.md 2.5).
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "factory_kit.h"

#define PACKETS 200

static factory_packet log_packets[PACKETS];
static volatile LONG log_workers[PACKETS];
static volatile LONG log_count;

static void log_packet( struct factory_worker *worker, const factory_packet *packet )
{
    LONG i = InterlockedIncrement( &log_count ) - 1;

    if (i >= PACKETS) return;
    log_packets[i] = *packet;
    log_workers[i] = worker->index;
}

/* 2.5 posted packets come whole, in order */
START_TEST( factory_port_posted )
{
    static struct factory factory;
    int i, first = -1, wrong = 0;

    factory.packet = log_packet;
    factory.max = 1;                    /* two would log them as they like */
    if (!factory_open_with( &factory, 1 )) return;
    for (i = 0; i < PACKETS; i++) factory_post( &factory, i );
    ok( factory_reach( &factory.handled, PACKETS ), "2.5 %ld packets of %d\n", factory.handled,
        PACKETS );
    for (i = 0; i < PACKETS; i++)
    {
        if (log_packets[i].KeyContext == (void *)(ULONG_PTR)(i + 1) &&
            log_packets[i].ApcContext == (void *)(ULONG_PTR)(0x1000 + i) &&
            log_packets[i].IoStatusBlock.Information == (ULONG)i &&
            !log_packets[i].IoStatusBlock.Status) continue;
        if (!wrong++) first = i;
    }
    ok( !wrong, "2.5 %d packets are wrong or out of order; number %d has key %p, %llu bytes\n",
        wrong, first, first < 0 ? NULL : log_packets[first].KeyContext,
        first < 0 ? 0 : (ULONGLONG)log_packets[first].IoStatusBlock.Information );
    ok( factory_stays( &factory.packets, PACKETS ), "2.5 %ld packets of %d\n", factory.packets,
        PACKETS );
    factory_close( &factory );
}

/* 2.5 what was posted before the factory was there */
START_TEST( factory_port_early )
{
    static struct factory factory;

    factory.packet = log_packet;
    if (!factory_open( &factory )) return;
    factory_post( &factory, 0 );
    factory_post( &factory, 1 );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 3 ), "2.5 %ld packets of 3\n", factory.handled );
    factory_close( &factory );
}

/* 2.2 (3) a binding: a packet alone makes the worker */
START_TEST( factory_port_bound )
{
    static struct factory factory;

    factory.packet = log_packet;
    if (!factory_open( &factory )) return;
    STATUS_IS( "2.3", factory_set( factory.handle, WorkerFactoryBindingCount, 1 ), STATUS_SUCCESS );
    factory_post( &factory, 0 );
    unverified ok( factory_reach( &factory.handled, 1 ), "2.2 no worker for a packet\n" );
    factory_close( &factory );
}

static HANDLE server, client;

static BOOL open_pipe( void )
{
    char name[64];

    snprintf( name, sizeof(name), "\\\\.\\pipe\\umstest.factory.%lu", GetCurrentProcessId() );
    server = CreateNamedPipeA( name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, 0, 1, 4096, 4096, 0,
                               NULL );
    client = CreateFileA( name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL );
    return ok( server != INVALID_HANDLE_VALUE && client != INVALID_HANDLE_VALUE,
               "no pipe, error %lu\n", GetLastError() );
}

/* 2.5 overlapped I/O of a file that is bound to the port */
START_TEST( factory_port_io )
{
    static struct factory factory;
    static OVERLAPPED overlapped;
    char buffer[16] = "";
    DWORD size;

    factory.packet = log_packet;
    if (!open_pipe() || !factory_open_with( &factory, 2 )) return;
    ok( CreateIoCompletionPort( server, factory.port, 0x777, 0 ) == factory.port,
        "not bound, error %lu\n", GetLastError() );
    ok( !ReadFile( server, buffer, sizeof(buffer), NULL, &overlapped ) &&
            GetLastError() == ERROR_IO_PENDING, "read: error %lu\n", GetLastError() );
    ok( factory_stays( &factory.packets, 0 ), "2.5 a packet before there is one\n" );
    ok( WriteFile( client, "twelve bytes", 12, &size, NULL ), "write: error %lu\n",
        GetLastError() );
    ok( factory_reach( &factory.handled, 1 ), "2.5 the end of the read reached nobody\n" );
    ok( log_packets[0].KeyContext == (void *)0x777 && log_packets[0].ApcContext == &overlapped &&
            !log_packets[0].IoStatusBlock.Status && log_packets[0].IoStatusBlock.Information == 12,
        "2.5 key %p, %p, status %08lx, %llu bytes\n", log_packets[0].KeyContext,
        log_packets[0].ApcContext, (ULONG)log_packets[0].IoStatusBlock.Status,
        (ULONGLONG)log_packets[0].IoStatusBlock.Information );
    ok( !memcmp( buffer, "twelve bytes", 12 ), "2.5 the data\n" );
    CloseHandle( client );
    CloseHandle( server );
    factory_close( &factory );
}

#define TURNS 30
/* A worker may be counted as waiting just before it can be taken, and then another one is. So some turns may
   differ from the one before. If the first is taken, all 29 do; if any is, two of three. */
#define MOST_OTHERS (TURNS / 3)

/* 2.5 the worker that waits for the shortest time is taken */
START_TEST( factory_port_last_in )
{
    static struct factory factory;
    int i, others = 0;

    factory.packet = log_packet;
    if (!factory_open_with( &factory, 3 )) return;
    for (i = 0; i < TURNS; i++)
    {
        factory_post( &factory, i );
        if (!factory_reach( &factory.handled, i + 1 ) ||
            !factory_settle( factory.handle, 3, 3 )) break;
    }
    ok( i == TURNS, "2.5 turn %d did not end\n", i );
    for (i = 1; i < TURNS; i++) others += log_workers[i] != log_workers[i - 1];
    ok( others < MOST_OTHERS, "2.5 %d of %d packets went to another worker than the last that waited\n", others,
        TURNS );
    factory_close( &factory );
}

/* The same for released workers. */
START_TEST( factory_port_last_in_released )
{
    static struct factory factory;
    int i, others = 0;

    factory.packet = log_packet;
    if (!factory_open_with( &factory, 3 )) return;
    for (i = 0; i < TURNS; i++)
    {
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
        if (!factory_reach( &factory.handled, i + 1 ) ||
            !factory_settle( factory.handle, 3, 3 )) break;
    }
    ok( i == TURNS, "2.5 turn %d did not end\n", i );
    for (i = 1; i < TURNS; i++) others += log_workers[i] != log_workers[i - 1];
    ok( others < MOST_OTHERS, "2.5 %d of %d releases went to another worker than the last that waited\n", others,
        TURNS );
    factory_close( &factory );
}

/* Work that enters no kernel. */
static void compute( struct factory_worker *worker, const factory_packet *packet )
{
    volatile ULONG i;

    (void)packet;
    factory_enter( worker->factory );
    for (i = 0; i < 100000; i++) YieldProcessor();
    factory_leave( worker->factory );
}

/* 2.5 as many run at a time as the port's concurrency says, however many wait */
START_TEST( factory_port_concurrency )
{
    static struct factory factory;
    int i;

    factory.packet = compute;
    factory.concurrency = 1;
    factory.batch = 1;
    if (!factory_open_with( &factory, 4 )) return;
    for (i = 0; i < 20; i++) factory_post( &factory, i );
    for (i = 0; i < 20; i++)
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    /* some come to wait when one is at work and packets are there */
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, 6 ),
               STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 40 ), "2.5 %ld packets of 40\n", factory.handled );
    factory_ran_singly( &factory );
    ok( factory_settle( factory.handle, 6, 6 ), "2.2 not 6 workers\n" );
    factory_close( &factory );
}

static volatile LONG meet_wanted;

/* Work that ends when so many are at it. */
static void meet( struct factory_worker *worker, const factory_packet *packet )
{
    ULONGLONG start = clock_ms();

    (void)packet;
    factory_enter( worker->factory );
    while (worker->factory->most < meet_wanted && clock_ms() - start < WAIT_BOUND) YieldProcessor();
    factory_leave( worker->factory );
}

static void run_together( DWORD concurrency, LONG wanted, BOOL exact )
{
    static struct factory factory;
    int i;

    factory.packet = meet;
    factory.batch = 1;
    meet_wanted = wanted;
    if (!factory_needs()) return;
    factory.gate = CreateEventW( NULL, TRUE, FALSE, NULL );
    factory.port = factory_port( concurrency );
    if (!(factory.handle = factory_create( factory.port, factory_start, &factory, 20 ))) return;
    STATUS_IS( "2.2", factory_set( factory.handle, WorkerFactoryThreadMinimum, wanted + 2 ),
               STATUS_SUCCESS );
    ok( factory_settle( factory.handle, wanted + 2, wanted + 2 ), "2.2 not enough workers\n" );
    for (i = 0; i < wanted + 2; i++) factory_post( &factory, i );
    ok( factory_reach( &factory.handled, wanted + 2 ), "2.5 %ld packets of %ld\n", factory.handled,
        wanted + 2 );
    ok( factory.most == wanted || (factory.most > wanted && !exact),
        "2.5 %ld ran at a time, expected %ld\n", factory.most, wanted );
    factory_close( &factory );
}

/* 2.5 so many do run at a time */
START_TEST( factory_port_concurrency_3 )
{
    run_together( 3, 3, TRUE );
}

/* 2.5 concurrency 0 is the number of processors */
START_TEST( factory_port_concurrency_0 )
{
    SYSTEM_INFO info;

    GetSystemInfo( &info );
    run_together( 0, min( info.dwNumberOfProcessors, 8 ), info.dwNumberOfProcessors <= 8 );
}

static HANDLE relay;

/* The first waits for what the second does. */
static void take_turns( struct factory_worker *worker, const factory_packet *packet )
{
    struct factory *factory = worker->factory;

    if (packet->KeyContext == (void *)1)
    {
        InterlockedIncrement( &factory->running );
        if (WaitForSingleObject( relay, WAIT_BOUND )) InterlockedIncrement( &factory->bad );
        InterlockedDecrement( &factory->running );
    }
    else SetEvent( relay );
}

/* 2.5 a running worker that blocks lets another go, at concurrency 1 */
START_TEST( factory_port_blocked )
{
    static struct factory factory;
    int i;

    factory.packet = take_turns;
    factory.concurrency = 1;
    factory.batch = 1;
    relay = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!factory_open_with( &factory, 2 )) return;
    for (i = 0; i < 5; i++)
    {
        factory_post( &factory, 0 );
        factory_post( &factory, 1 );
        ok( factory_reach( &factory.handled, 2 * i + 2 ), "2.5 %ld packets of %d\n",
            factory.handled, 2 * i + 2 );
    }
    CloseHandle( relay );
    factory_close( &factory );
}

/* The same, but nobody waits: another is made. */
START_TEST( factory_port_blocked_new )
{
    static struct factory factory;

    factory.packet = take_turns;
    factory.concurrency = 1;
    factory.batch = 1;
    relay = CreateEventW( NULL, FALSE, FALSE, NULL );
    if (!factory_open_with( &factory, 1 )) return;
    STATUS_IS( "2.3", factory_set( factory.handle, WorkerFactoryBindingCount, 1 ), STATUS_SUCCESS );
    factory_post( &factory, 0 );
    ok( factory_reach( &factory.running, 1 ), "2.5 the first was not taken\n" );
    factory_post( &factory, 1 );
    ok( factory_reach( &factory.handled, 2 ), "2.2 nobody takes what the first waits for\n" );
    ok( factory.started == 2, "2.2 %ld workers, expected 2\n", factory.started );
    CloseHandle( relay );
    factory_close( &factory );
}

/* 2.1 the factory keeps the port: its handle may be closed */
START_TEST( factory_port_closed )
{
    static struct factory factory;

    if (!factory_open_with( &factory, 1 )) return;
    CloseHandle( factory.port );
    STATUS_IS( "2.1", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    unverified ok( factory_reach( &factory.released, 1 ), "2.1 no packet without the port's "
                   "handle\n" );
    STATUS_IS( "2.1", factory_set( factory.handle, WorkerFactoryThreadMinimum, 2 ),
               STATUS_SUCCESS );
    unverified ok( factory_settle( factory.handle, 2, 2 ), "2.1 no worker without the port's "
                   "handle\n" );
    factory.port = NULL;
    factory_close( &factory );
}

/* 2.1 two factories on two ports: each gets its own */
START_TEST( factory_port_two )
{
    static struct factory a, b;

    if (!factory_open_with( &a, 1 ) || !factory_open_with( &b, 1 )) return;
    factory_post( &a, 0 );
    factory_post( &b, 0 );
    factory_post( &b, 1 );
    STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( a.handle ), STATUS_SUCCESS );
    ok( factory_reach( &a.handled, 2 ) && factory_reach( &b.handled, 2 ),
        "2.5 %ld and %ld packets, expected 2 and 2\n", a.handled, b.handled );
    ok( a.released == 1 && !b.released, "2.5 %ld and %ld releases\n", a.released, b.released );
    factory_close( &a );
    ok( PostQueuedCompletionStatus( b.port, 0, 9, NULL ), "post, error %lu\n", GetLastError() );
    ok( factory_reach( &b.handled, 3 ), "2.5 the second one ended with the first\n" );
    factory_close( &b );
}

static HANDLE pipe_in, pipe_out;

/* The first one reads what the second one writes. */
static void read_or_write( struct factory_worker *worker, const factory_packet *packet )
{
    DWORD count;
    char c = 'x';
    BOOL good;

    good = packet->IoStatusBlock.Information ? WriteFile( pipe_out, &c, 1, &count, NULL )
                                             : ReadFile( pipe_in, &c, 1, &count, NULL );
    if (!good || count != 1) InterlockedIncrement( &worker->factory->bad );
}

/* 2.5 ... by reading from a pipe, which is no wait */
START_TEST( factory_port_blocked_read )
{
    static struct factory factory;

    factory.packet = read_or_write;
    factory.concurrency = 1;
    factory.batch = 1;
    CreatePipe( &pipe_in, &pipe_out, NULL, 0 );
    if (!factory_open_with( &factory, 2 )) return;
    factory_post( &factory, 0 );
    factory_post( &factory, 1 );
    if (!ok( factory_reach( &factory.handled, 2 ), "2.5 %ld packets of 2\n", factory.handled ))
        CloseHandle( pipe_out );
    factory_close( &factory );
}

/* Another one would come while this one is counted out. */
static void wait_for_what_is_there( struct factory_worker *worker, const factory_packet *packet )
{
    int i;

    (void)packet;
    factory_enter( worker->factory );
    for (i = 0; i < 20; i++) WaitForSingleObject( worker->factory->gate, WAIT_BOUND );
    factory_leave( worker->factory );
}

/* 2.5 a wait that is over before it begins blocks nobody */
START_TEST( factory_port_not_blocked )
{
    static struct factory factory;
    int i;

    factory.packet = wait_for_what_is_there;
    factory.concurrency = 1;
    factory.batch = 1;
    if (!factory_open_with( &factory, 3 )) return;
    SetEvent( factory.gate );
    for (i = 0; i < 20; i++)
        STATUS_IS( "2.5", pNtReleaseWorkerFactoryWorker( factory.handle ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, 20 ), "2.5 %ld packets of 20\n", factory.handled );
    factory_ran_singly( &factory );
    factory_close( &factory );
}

static volatile LONG in_apc, leave_apc, sleeper;

/* It makes no call: it runs all the time. */
static void CALLBACK run_on( ULONG_PTR unused )
{
    (void)unused;
    in_apc = 1;
    while (!leave_apc) YieldProcessor();
}

static void sleep_for_an_apc( struct factory_worker *worker, const factory_packet *packet )
{
    if ((ULONG_PTR)packet->KeyContext != 1) return;    /* the second, of post */
    sleeper = worker->index + 1;
    SleepEx( WAIT_BOUND, TRUE );
}

/* 2.5 a worker that waits and is given an APC runs in it: nobody else is let go meanwhile [guess: what counts is whether a
   thread runs] */
START_TEST( factory_port_blocked_apc )
{
    static struct factory factory;

    factory.packet = sleep_for_an_apc;
    factory.concurrency = 1;
    factory.batch = 1;
    if (!factory_open_with( &factory, 2 )) return;
    factory_post( &factory, 0 );
    if (!ok( factory_reach( &sleeper, 1 ), "2.5 the first was not taken\n" )) return;
    ok( QueueUserAPC( run_on, factory.workers[sleeper - 1].thread, 0 ),
        "error %lu\n", GetLastError() );
    ok( factory_reach( &in_apc, 1 ), "the APC did not run\n" );
    factory_post( &factory, 1 );
    unverified ok( factory_stays( &factory.packets, 1 ), "2.5 a second worker runs beside the APC\n" );
    leave_apc = 1;
    ok( factory_reach( &factory.handled, 2 ), "2.5 %ld packets of 2\n", factory.handled );
    factory_close( &factory );
}

#define MANY 600

/* 2.5 however many wait, none is lost */
START_TEST( factory_port_many )
{
    static struct factory factory;
    int i;

    if (!factory_open( &factory )) return;
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryPaused, 1 ), STATUS_SUCCESS );
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryBindingCount, 1 ),
               STATUS_SUCCESS );
    for (i = 0; i < MANY; i++) factory_post( &factory, i );
    STATUS_IS( "1.3", factory_set( factory.handle, WorkerFactoryPaused, 0 ), STATUS_SUCCESS );
    ok( factory_reach( &factory.handled, MANY ), "2.5 %ld packets of %d\n", factory.handled, MANY );
    factory_close( &factory );
}

#define PORTS 40

/* 2.5 however many ports are served, none is forgotten */
START_TEST( factory_port_crowd )
{
    static struct factory factories[PORTS];
    int i;

    for (i = 0; i < PORTS; i++)
    {
        if (!factory_open( &factories[i] )) return;
        STATUS_IS( "1.3", factory_set( factories[i].handle, WorkerFactoryBindingCount, 1 ),
                   STATUS_SUCCESS );
    }
    /* whoever looks at all of them now and then has done so */
    ok( factory_stays( &factories[PORTS - 1].handled, 0 ), "2.5 a packet that nobody has posted\n" );
    for (i = PORTS - 1; i >= 0; i -= PORTS - 1)
    {
        factory_post( &factories[i], i );
        ok( factory_reach( &factories[i].handled, 1 ), "2.5 no packet from port %d of %d\n", i + 1,
            PORTS );
    }
    for (i = 0; i < PORTS; i++) factory_close( &factories[i] );
}
