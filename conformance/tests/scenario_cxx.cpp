/*
 * Scenarios: C++ exceptions on workers. The unwinder restores a context for each frame with a
 * destructor, and the runtime keeps the exceptions that are being handled in the thread's TLS.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: 2.2, B23. Every throw comes right behind a yield or a wait, on a worker that was executed by
 * the book.
 */
#include <exception>
#include <stdexcept>
extern "C"
{
#include "scenario_faults.h"
}

#define CXX_TEST( name ) extern "C" START_TEST( name )

#define ROUNDS 3
#define DEPTH  1000

static struct
{
    volatile LONG caught, destroyed, wrong, wrong_thread;
} counted;

namespace {

struct thrown : std::runtime_error
{
    thrown( DWORD tid, int number ) : std::runtime_error( "thrown" ), tid( tid ), number( number ) {}
    DWORD tid;
    int number;
};

/* Counts in its destructor, which runs while the stack is unwound. */
struct counter
{
    ~counter()
    {
        InterlockedIncrement( &counted.destroyed );
        if (std::uncaught_exceptions() != 1) InterlockedIncrement( &counted.wrong );
    }
};

/* Yields in it: another worker throws meanwhile, on the same thread or another. */
struct yielder
{
    explicit yielder( struct kit_worker *worker ) : worker( worker ) {}
    ~yielder()
    {
        if (std::uncaught_exceptions() != 1) InterlockedIncrement( &counted.wrong );
        kit_migrate( worker, &kit.scheds[worker->last == kit.scheds] );
        if (std::uncaught_exceptions() != 1) InterlockedIncrement( &counted.wrong );
        InterlockedIncrement( &counted.destroyed );
    }
    struct kit_worker *worker;
};

void count_caught( const struct kit_worker *worker, const thrown &e, int number,
                   const struct kit_worker *from = NULL )
{
    InterlockedIncrement( &counted.caught );
    if (e.number != number || std::uncaught_exceptions()) InterlockedIncrement( &counted.wrong );
    if (e.tid != (from ? from : worker)->id || GetCurrentThreadId() != worker->id)
        InterlockedIncrement( &counted.wrong_thread );
}

__attribute__((noinline)) int throw_below( struct kit_worker *worker, int depth, int number )
{
    counter c;

    if (depth) return throw_below( worker, depth - 1, number ) + 1;
    kit_yield( worker, NULL );
    throw thrown( worker->id, number );
}

/* ---- bodies ---- */

/* The stack grows on the way down, on a carrier the first time. */
DWORD deep_body( struct kit_worker *worker )
{
    lazy_stack();
    kit_yield( worker, NULL );
    for (int i = 0; i < ROUNDS; i++)
    {
        try { throw_below( worker, DEPTH - 1, i ); }
        catch (const thrown &e) { count_caught( worker, e, i ); }
    }
    return 0;
}

void catch_and_rethrow( struct kit_worker *worker, int number )
{
    try { throw_below( worker, 3, number ); }
    catch (const thrown &e)
    {
        count_caught( worker, e, number );
        kit_yield( worker, NULL );
        throw;
    }
}

DWORD rethrow_body( struct kit_worker *worker )
{
    for (int i = 0; i < 20; i++)
    {
        try { catch_and_rethrow( worker, i ); }
        catch (const std::exception &e)
        {
            count_caught( worker, dynamic_cast<const thrown &>( e ), i );
        }
    }
    return 0;
}

/* The handler goes from scheduler to scheduler; what it handles is still what it caught, and a second
   exception comes and goes inside it. */
void move_in_handler( struct kit_worker *worker, int number )
{
    try
    {
        yielder y( worker );
        throw thrown( worker->id, number );
    }
    catch (const thrown &e)
    {
        kit_migrate( worker, &kit.scheds[worker->last == kit.scheds] );
        count_caught( worker, e, number );
        try { throw_below( worker, 2, number + 1000 ); }
        catch (const thrown &second) { count_caught( worker, second, number + 1000 ); }
        kit_migrate( worker, &kit.scheds[worker->last == kit.scheds] );
        try { std::rethrow_exception( std::current_exception() ); }
        catch (const thrown &again) { if (&again != &e) InterlockedIncrement( &counted.wrong ); }
        throw thrown( worker->id, number + 2000 );
    }
}

DWORD handler_body( struct kit_worker *worker )
{
    for (int i = 0; i < 20; i++)
    {
        try { move_in_handler( worker, i ); }
        catch (const thrown &e) { count_caught( worker, e, i + 2000 ); }
    }
    return 0;
}

/* ---- one worker's exception is thrown by another ---- */

std::exception_ptr handed;
volatile LONG turn;                             /* 0: to be made, 1: to be thrown again */

DWORD maker_body( struct kit_worker *worker )
{
    for (int i = 0; i < 20; i++)
    {
        if (!kit_yield_until( worker, &turn, 0 )) return 1;
        try { throw_below( worker, 2, i ); }
        catch (...) { handed = std::current_exception(); }
        InterlockedExchange( &turn, 1 );
    }
    return 0;
}

DWORD taker_body( struct kit_worker *worker )
{
    for (int i = 0; i < 20; i++)
    {
        if (!kit_yield_until( worker, &turn, 1 )) return 1;
        try
        {
            yielder y( worker );
            std::rethrow_exception( handed );
        }
        catch (const thrown &e) { count_caught( worker, e, i, kit.workers ); }
        handed = nullptr;
        InterlockedExchange( &turn, 0 );
    }
    return 0;
}

/* ---- out of a frame that is just back from a wait ---- */

volatile LONG waiting;

void wait_and_throw( struct kit_worker *worker, int number )
{
    counter c;

    InterlockedIncrement( &waiting );
    if (WaitForSingleObject( worker->arg, KIT_LIMIT )) InterlockedIncrement( &counted.wrong );
    throw thrown( worker->id, number );
}

DWORD wait_body( struct kit_worker *worker )
{
    for (int i = 0; i < 20; i++)
    {
        try { wait_and_throw( worker, i ); }
        catch (const thrown &e) { count_caught( worker, e, i ); }
    }
    return 0;
}

DWORD wake_body( struct kit_worker *worker )
{
    while (!kit.workers[0].ended)
    {
        if (waiting)
        {
            InterlockedDecrement( &waiting );
            SetEvent( worker->arg );
        }
        if (!kit_yield( worker, NULL )) return 1;
    }
    return 0;
}

/* ---- the runs: two schedulers, and the bodies on both of them ---- */

void run( DWORD (*first)( struct kit_worker * ), DWORD (*second)( struct kit_worker * ), void *arg )
{
    struct kit_sched *scheds[2];

    if (!kit_open()) return;
    kit.stack = 0x100000;
    scheds[0] = kit_add_sched( NULL );
    scheds[1] = kit_add_sched( NULL );
    kit_add_worker( scheds[0]->list, first, arg );
    kit_add_worker( scheds[1]->list, second, arg );
    kit_start();
    kit_finish();
    kit_check();
}

void check( LONG caught, LONG destroyed )
{
    ok( counted.caught == caught, "2.2: %ld exceptions caught, expected %ld\n", counted.caught,
        caught );
    ok( counted.destroyed == destroyed, "2.2: %ld destructors ran, expected %ld\n",
        counted.destroyed, destroyed );
    ok( !counted.wrong, "2.2: %ld times something was not as thrown\n", counted.wrong );
    ok( !counted.wrong_thread, "B23: %ld exceptions on another thread\n", counted.wrong_thread );
}

} // namespace

CXX_TEST( scenario_cxx_deep )
{
    run( deep_body, deep_body, NULL );
    check( 2 * ROUNDS, 2 * ROUNDS * DEPTH );
}

CXX_TEST( scenario_cxx_rethrow )
{
    run( rethrow_body, rethrow_body, NULL );
    check( 80, 160 );
}

CXX_TEST( scenario_cxx_move_in_handler )
{
    run( handler_body, handler_body, NULL );
    check( 120, 160 );
}

CXX_TEST( scenario_cxx_exception_ptr )
{
    run( maker_body, taker_body, NULL );
    check( 20, 80 );
}

CXX_TEST( scenario_cxx_back_from_wait )
{
    HANDLE event = CreateEventW( NULL, FALSE, FALSE, NULL );

    run( wait_body, wake_body, event );
    check( 20, 20 );
    CloseHandle( event );
}
