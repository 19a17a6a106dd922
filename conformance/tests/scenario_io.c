/*
 * Scenarios: overlapped reads and writes, APCs and cancelling, on workers that move meanwhile.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B27, B11, 5. A read belongs to the thread that has issued it: its completion routine runs on
 * that thread, CancelIo cancels that thread's, whichever scheduler executes the worker by then. What
 * completes a read is always another worker, after the reader has moved.
 */
#include "scenario_kit.h"

#define READS 6                         /* under way at once */
#define SIZE  32
#define ROUNDS 8

struct read
{
    OVERLAPPED overlapped;              /* first */
    char data[SIZE];
    volatile LONG ended;                /* how often its routine ran */
    DWORD error, size;
};

static HANDLE server, client;           /* of a pipe of messages, both overlapped */
static HANDLE event;
static struct read reads[READS];
static volatile LONG phase;             /* the two workers take turns */
static volatile LONG wrong_thread, wrong_tls, wrong_step, early, order;
static volatile LONG apcs, apc_result;
static struct kit_worker *reader;
static DWORD (*reader_body)( struct kit_worker * );
static DWORD tls;

static void open_pipe( DWORD reader_flags )
{
    WCHAR name[64];
    DWORD mode = PIPE_READMODE_MESSAGE;

    swprintf( name, sizeof(name) / sizeof(name[0]), L"\\\\.\\pipe\\umstest.io.%lu",
              GetCurrentProcessId() );
    server = CreateNamedPipeW( name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                               PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE, 1, 4096, 4096, 0, NULL );
    client = CreateFileW( name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, reader_flags,
                          NULL );
    SetNamedPipeHandleState( client, &mode, NULL, NULL );
    event = CreateEventW( NULL, TRUE, FALSE, NULL );
    ok( server != INVALID_HANDLE_VALUE && client != INVALID_HANDLE_VALUE, "no pipe: %lu\n",
        GetLastError() );
}

static DWORD start_reader( struct kit_worker *worker )
{
    TlsSetValue( tls, worker );
    return reader_body( worker );
}

/* One scheduler or two, the reader and another worker on the first. */
static void run_pair( DWORD (*read_body)( struct kit_worker * ),
                      DWORD (*other_body)( struct kit_worker * ), int schedulers )
{
    struct kit_sched *sched;

    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    if (schedulers == 2) kit_add_sched( NULL );
    reader_body = read_body;
    tls = TlsAlloc();
    reader = kit_add_worker( sched->list, start_reader, NULL );
    kit_add_worker( sched->list, other_body, NULL );
    kit_start();
    kit_finish();
    ok( !wrong_step, "B27: %ld steps failed; the first is %ld\n", wrong_step, order );
    ok( !wrong_thread, "B27: %ld times on another thread\n", wrong_thread );
    ok( !wrong_tls, "B27: %ld times with other TLS\n", wrong_tls );
    kit_check();
}

/* On workers: remembers the number of the first that fails. */
static int step( int number, int cond )
{
    if (!cond && InterlockedIncrement( &wrong_step ) == 1) order = number;
    return cond;
}

/* The reader goes to the other scheduler and gives the other worker its turn. */
static void move_and_let( struct kit_worker *worker )
{
    kit_migrate( worker, &kit.scheds[worker->last == &kit.scheds[0]] );
    phase++;
}

static void write_message( int number, char *data, DWORD *size )
{
    OVERLAPPED overlapped = { 0 };

    memset( data, 'a' + number, SIZE );
    step( 900 + number, WriteFile( server, data, SIZE - number, NULL, &overlapped ) ||
                        GetLastError() == ERROR_IO_PENDING );
    step( 950 + number, GetOverlappedResult( server, &overlapped, size, TRUE ) &&
                        *size == (DWORD)(SIZE - number) );
}

static int is_message( const struct read *read, int number )
{
    int i;

    for (i = 0; i < SIZE - number; i++) if (read->data[i] != 'a' + number) return 0;
    return i == SIZE || !read->data[i];
}

static void check_thread( struct kit_worker *worker )
{
    if (GetCurrentThreadId() != worker->id) wrong_thread++;
    if (TlsGetValue( tls ) != worker) wrong_tls++;
}

/* ---- with an event ---- */

static DWORD event_read_body( struct kit_worker *worker )
{
    DWORD size;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        memset( &reads[0], 0, sizeof(reads[0]) );
        reads[0].overlapped.hEvent = event;
        step( 100 + i, !ReadFile( client, reads[0].data, SIZE, NULL, &reads[0].overlapped ) &&
                       GetLastError() == ERROR_IO_PENDING );
        move_and_let( worker );
        /* half of them find it done: the other worker waits until it is */
        if (i % 2) kit_yield_until( worker, &phase, 2 * i + 2 );
        step( 200 + i, GetOverlappedResult( client, &reads[0].overlapped, &size, TRUE ) &&
                       size == (DWORD)SIZE - i && is_message( &reads[0], i ) );
        kit_yield_until( worker, &phase, 2 * i + 2 );
    }
    return 0;
}

static DWORD event_write_body( struct kit_worker *worker )
{
    char data[SIZE];
    DWORD size;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield_until( worker, &phase, 2 * i + 1 );
        write_message( i, data, &size );
        phase++;
    }
    return 0;
}

START_TEST( scenario_io_event )
{
    open_pipe( FILE_FLAG_OVERLAPPED );
    run_pair( event_read_body, event_write_body, 2 );
}

/* ---- with a completion port, several at once ---- */

static void start_reads( int apc, LPOVERLAPPED_COMPLETION_ROUTINE routine )
{
    int i;

    for (i = 0; i < READS; i++)
    {
        BOOL ret = apc ? ReadFileEx( client, reads[i].data, SIZE, &reads[i].overlapped, routine )
                       : ReadFile( client, reads[i].data, SIZE, NULL, &reads[i].overlapped );

        step( 100 + i, apc ? ret : !ret && GetLastError() == ERROR_IO_PENDING );
    }
}

static DWORD write_all_body( struct kit_worker *worker )
{
    char data[SIZE];
    DWORD size;
    int i;

    kit_yield_until( worker, &phase, 1 );
    for (i = 0; i < READS; i++)
    {
        write_message( i, data, &size );
        if (i % 2) kit_yield( worker, NULL );
    }
    phase++;
    return 0;
}

static DWORD port_read_body( struct kit_worker *worker )
{
    HANDLE port = CreateIoCompletionPort( client, NULL, 0x77, 0 );
    OVERLAPPED *overlapped;
    ULONG_PTR key;
    DWORD size;
    int i;

    start_reads( 0, NULL );
    move_and_let( worker );
    for (i = 0; i < READS; i++)
    {
        struct read *read;

        if (!step( 200 + i, GetQueuedCompletionStatus( port, &size, &key, &overlapped, KIT_LIMIT ) &&
                            key == 0x77 )) break;
        read = (struct read *)overlapped;
        read->ended++;
        step( 300 + i, read == &reads[i] && size == (DWORD)(SIZE - i) && is_message( read, i ) );
        kit_yield( worker, NULL );
    }
    kit_yield_until( worker, &phase, 2 );
    step( 400, !GetQueuedCompletionStatus( port, &size, &key, &overlapped, 0 ) && !overlapped );
    CloseHandle( port );
    return 0;
}

START_TEST( scenario_io_port )
{
    open_pipe( FILE_FLAG_OVERLAPPED );
    run_pair( port_read_body, write_all_body, 2 );
}

/* ---- with completion routines ---- */

static void CALLBACK read_ended( DWORD error, DWORD size, OVERLAPPED *overlapped )
{
    struct read *read = (struct read *)overlapped;

    check_thread( reader );
    read->error = error;
    read->size = size;
    read->ended++;
    apcs++;
}

static void check_ended_once( int number, DWORD error )
{
    int i;

    for (i = 0; i < READS; i++)
        step( number + i, reads[i].ended == 1 && reads[i].error == error &&
                          (error || (reads[i].size == (DWORD)(SIZE - i) &&
                                     is_message( &reads[i], i ))) );
}

/* All are over before it waits alertably, and none of the routines has run. */
static DWORD routine_read_body( struct kit_worker *worker )
{
    start_reads( 1, read_ended );
    move_and_let( worker );
    kit_yield_until( worker, &phase, 2 );
    Sleep( 1 );                         /* a wait, but not alertable */
    early = apcs;
    while (apcs < READS && SleepEx( KIT_LIMIT, TRUE ) == WAIT_IO_COMPLETION)
        kit_migrate( worker, &kit.scheds[apcs % 2] );
    check_ended_once( 200, 0 );
    step( 300, SleepEx( 0, TRUE ) == 0 );
    return 0;
}

START_TEST( scenario_io_routine )
{
    open_pipe( FILE_FLAG_OVERLAPPED );
    run_pair( routine_read_body, write_all_body, 2 );
    ok( !early, "B27: %ld routines ran before the worker waited alertably\n", early );
    ok( apcs == READS, "B27: %ld routines ran, expected %d\n", apcs, READS );
}

/* It waits alertably first: the writes end the waits. */
static DWORD routine_wait_body( struct kit_worker *worker )
{
    start_reads( 1, read_ended );
    move_and_let( worker );
    while (apcs < READS && SleepEx( KIT_LIMIT, TRUE ) == WAIT_IO_COMPLETION) ;
    check_ended_once( 200, 0 );
    return 0;
}

START_TEST( scenario_io_routine_waits )
{
    open_pipe( FILE_FLAG_OVERLAPPED );
    run_pair( routine_wait_body, write_all_body, 2 );
    ok( apcs == READS, "B27: %ld routines ran, expected %d\n", apcs, READS );
}

/* ---- APCs ---- */

static void CALLBACK count_apc( ULONG_PTR number )
{
    check_thread( reader );
    if (number != (ULONG_PTR)apcs) wrong_step++;
    apcs++;
}

static DWORD apc_take_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        move_and_let( worker );
        kit_yield_until( worker, &phase, 2 * i + 2 );
        early += apcs - 3 * i;
        step( 100 + i, SleepEx( i % 2 ? KIT_LIMIT : 0, TRUE ) == WAIT_IO_COMPLETION );
        step( 200 + i, apcs == 3 * i + 3 );
    }
    step( 300, SleepEx( 0, TRUE ) == 0 );
    return 0;
}

/* Queues to the other worker while that is yielded. */
static DWORD apc_queue_body( struct kit_worker *worker )
{
    int i, j;

    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield_until( worker, &phase, 2 * i + 1 );
        for (j = 0; j < 3; j++) step( 400 + i, QueueUserAPC( count_apc, reader->thread, 3 * i + j ) );
        phase++;
    }
    return 0;
}

START_TEST( scenario_io_apc )
{
    run_pair( apc_take_body, apc_queue_body, 2 );
    ok( !early, "B27: %ld APCs ran before the worker waited alertably\n", early );
    ok( apcs == 3 * ROUNDS, "B27: %ld APCs ran, expected %d\n", apcs, 3 * ROUNDS );
}

/* An APC that waits for the other worker of the only scheduler, out of waits that return at once,
   or would, because the APC is there already.
   The scheduler has to be told, or nobody sets the event. */
static void CALLBACK waiting_apc( ULONG_PTR number )
{
    phase++;
    if (WaitForSingleObject( event, KIT_LIMIT ) != WAIT_OBJECT_0) apc_result = (LONG)number + 1;
    check_thread( reader );
    apcs++;
}

static DWORD apc_wait_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < ROUNDS && !apc_result; i++)
    {
        kit_yield( worker, NULL );
        QueueUserAPC( waiting_apc, GetCurrentThread(), i );
        if (i % 2) step( 100 + i, SleepEx( 0, TRUE ) == WAIT_IO_COMPLETION );
        else step( 200 + i, WaitForSingleObjectEx( server, i % 4 ? KIT_LIMIT : 0, TRUE ) ==
                            WAIT_IO_COMPLETION );
        check_thread( worker );
        kit_yield( worker, NULL );
    }
    phase = -1;
    return 0;
}

static DWORD apc_release_body( struct kit_worker *worker )
{
    LONG seen = 0;

    while (phase >= 0)
    {
        if (phase == seen) kit_yield( worker, NULL );
        else
        {
            seen = phase;
            SetEvent( event );
        }
    }
    return 0;
}

START_TEST( scenario_io_apc_waits )
{
    server = CreateEventW( NULL, TRUE, FALSE, NULL );   /* not set: the APC ends the wait */
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    run_pair( apc_wait_body, apc_release_body, 1 );
    ok( !apc_result, "B11: APC %ld waits, and the scheduler was not told\n", apc_result - 1 );
    ok( apcs == ROUNDS, "B27: %ld APCs ran, expected %d\n", apcs, ROUNDS );
}

/* ---- cancelling ---- */

/* CancelIo is for what the calling thread has issued, wherever it is executed by now. */
static DWORD cancel_body( struct kit_worker *worker )
{
    start_reads( 1, read_ended );
    move_and_let( worker );
    kit_yield_until( worker, &phase, 2 );
    step( 190, CancelIo( client ) );
    while (apcs < READS && SleepEx( KIT_LIMIT, TRUE ) == WAIT_IO_COMPLETION) ;
    check_ended_once( 200, ERROR_OPERATION_ABORTED );
    phase++;
    return 0;
}

static DWORD cancel_other_body( struct kit_worker *worker )
{
    OVERLAPPED mine = { .hEvent = event };
    char data[SIZE];
    DWORD size = 0;

    kit_yield_until( worker, &phase, 1 );
    step( 400, CancelIo( client ) );    /* none is its own */
    step( 410, !ReadFile( client, data, SIZE, NULL, &mine ) && GetLastError() == ERROR_IO_PENDING );
    phase++;
    kit_yield_until( worker, &phase, 3 );
    step( 420, !HasOverlappedIoCompleted( &mine ) );
    step( 430, CancelIoEx( client, &mine ) );
    step( 440, !GetOverlappedResult( client, &mine, &size, TRUE ) &&
               GetLastError() == ERROR_OPERATION_ABORTED );
    return 0;
}

START_TEST( scenario_io_cancel )
{
    open_pipe( FILE_FLAG_OVERLAPPED );
    run_pair( cancel_body, cancel_other_body, 2 );
    ok( apcs == READS, "B27: %ld routines ran, expected %d\n", apcs, READS );
}

/* CancelIoEx of one, by a worker that has issued none. */
static DWORD cancel_one_body( struct kit_worker *worker )
{
    start_reads( 1, read_ended );
    move_and_let( worker );
    while (!apcs && SleepEx( KIT_LIMIT, TRUE ) == WAIT_IO_COMPLETION) ;
    step( 200, apcs == 1 && reads[2].ended == 1 && reads[2].error == ERROR_OPERATION_ABORTED );
    step( 210, CancelIoEx( client, NULL ) );
    while (apcs < READS && SleepEx( KIT_LIMIT, TRUE ) == WAIT_IO_COMPLETION) ;
    check_ended_once( 220, ERROR_OPERATION_ABORTED );
    return 0;
}

static DWORD cancel_one_other_body( struct kit_worker *worker )
{
    kit_yield_until( worker, &phase, 1 );
    step( 400, CancelIoEx( client, &reads[2].overlapped ) );
    return 0;
}

START_TEST( scenario_io_cancel_one )
{
    open_pipe( FILE_FLAG_OVERLAPPED );
    run_pair( cancel_one_body, cancel_one_other_body, 2 );
}

/* A read that blocks the worker, cancelled by thread. */
static DWORD synchronous_body( struct kit_worker *worker )
{
    char data[SIZE];
    DWORD size;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        move_and_let( worker );
        step( 100 + i, !ReadFile( client, data, SIZE, &size, NULL ) &&
                       GetLastError() == ERROR_OPERATION_ABORTED );
        check_thread( worker );
        phase++;
    }
    return 0;
}

static DWORD cancel_synchronous_body( struct kit_worker *worker )
{
    ULONGLONG limit = GetTickCount64() + KIT_LIMIT;
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        kit_yield_until( worker, &phase, 2 * i + 1 );
        /* it may not have begun to wait */
        while (!CancelSynchronousIo( reader->thread ))
        {
            if (!step( 400 + i, GetLastError() == ERROR_NOT_FOUND && GetTickCount64() < limit ))
                return 0;
            kit_yield( worker, NULL );
        }
    }
    return 0;
}

START_TEST( scenario_io_cancel_synchronous )
{
    open_pipe( 0 );
    run_pair( synchronous_body, cancel_synchronous_body, 2 );
}

/* ---- files ---- */

static HANDLE temp_file( void )
{
    WCHAR folder[MAX_PATH], name[MAX_PATH];

    GetTempPathW( MAX_PATH, folder );
    GetTempFileNameW( folder, L"ums", 0, name );
    return CreateFileW( name, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                        FILE_FLAG_OVERLAPPED | FILE_FLAG_DELETE_ON_CLOSE, NULL );
}

/* Several writes at once, then several reads, each to its place; half of them with routines. */
static DWORD file_body( struct kit_worker *worker )
{
    HANDLE file = temp_file();
    int round, i;

    for (round = 0; round < 2; round++)
    {
        LONG before = apcs;

        memset( reads, 0, sizeof(reads) );
        for (i = 0; i < READS; i++)
        {
            struct read *read = &reads[i];
            int number = 100 * round + i;
            BOOL ret;

            read->overlapped.Offset = (READS - i) * SIZE;
            if (!round) memset( read->data, 'a' + i, SIZE - i );
            if (i % 2) ret = round ? ReadFileEx( file, read->data, SIZE - i, &read->overlapped,
                                                 read_ended )
                                   : WriteFileEx( file, read->data, SIZE - i, &read->overlapped,
                                                  read_ended );
            else ret = round ? ReadFile( file, read->data, SIZE - i, NULL, &read->overlapped )
                             : WriteFile( file, read->data, SIZE - i, NULL, &read->overlapped );
            step( number, ret || (i % 2 == 0 && GetLastError() == ERROR_IO_PENDING) );
            kit_yield( worker, NULL );
        }
        for (i = 0; i < READS; i += 2)
            step( 300 + i, GetOverlappedResult( file, &reads[i].overlapped, &reads[i].size, TRUE ) &&
                           reads[i].size == (DWORD)(SIZE - i) && is_message( &reads[i], i ) );
        kit_migrate( worker, &kit.scheds[worker->last == &kit.scheds[0]] );
        while (apcs - before < READS / 2 && SleepEx( KIT_LIMIT, TRUE ) == WAIT_IO_COMPLETION) ;
        for (i = 1; i < READS; i += 2)
            step( 400 + i, reads[i].ended == 1 && !reads[i].error &&
                           reads[i].size == (DWORD)(SIZE - i) && is_message( &reads[i], i ) );
    }
    CloseHandle( file );
    phase = 1;
    return 0;
}

static DWORD idle_body( struct kit_worker *worker )
{
    kit_yield_until( worker, &phase, 1 );
    return 0;
}

START_TEST( scenario_io_file )
{
    run_pair( file_body, idle_body, 2 );
    ok( apcs == READS, "B27: %ld routines ran, expected %d\n", apcs, READS );
}
