/*
 * Scenarios: another process suspends, resumes, reads, changes or ends the thread of a worker, or of
 * a scheduler.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rows: B7, B8, B10, B18, B19; section 5, "suspended", "terminated"; open point 4. A worker is a
 * thread like any other to these functions, whoever calls them. The other process is a second one of
 * this program, which opens the threads by their ids and does what it is told.
 */
#include <stdint.h>
#include "scenario_child.h"

enum command
{
    FOREIGN_SUSPEND,
    FOREIGN_RESUME,
    FOREIGN_GET,
    FOREIGN_SET,
    FOREIGN_KILL,
    FOREIGN_END
};

/* What the two share. */
struct order
{
    volatile LONG command;
    DWORD tid, argument, ret, error;
    CONTEXT context;
};

static struct order *order;
static HANDLE given, done;
static PROCESS_INFORMATION other;

#define CHILD_LIMIT (2 * KIT_LIMIT)              /* on a busy machine a process begins slowly */

static volatile LONG turns, steps, stop, keep, kept, lost;
static struct kit_worker *runner;
static HANDLE event;

/* ---- the other process ---- */

static BOOL open_order( const char *name, BOOL create )
{
    char full[64];
    HANDLE section;

    snprintf( full, sizeof(full), "ums-foreign-%s-given", name );
    given = CreateEventA( NULL, FALSE, FALSE, full );
    snprintf( full, sizeof(full), "ums-foreign-%s-done", name );
    done = CreateEventA( NULL, FALSE, FALSE, full );
    snprintf( full, sizeof(full), "ums-foreign-%s-order", name );
    section = create ? CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0,
                                           sizeof(*order), full )
                     : OpenFileMappingA( FILE_MAP_WRITE, FALSE, full );
    if (section) order = MapViewOfFile( section, FILE_MAP_WRITE, 0, 0, 0 );
    return given && done && order;
}

static BOOL obey( HANDLE thread )
{
    switch (order->command)
    {
    case FOREIGN_SUSPEND:
        order->ret = SuspendThread( thread );
        return order->ret != ~0u;
    case FOREIGN_RESUME:
        order->ret = ResumeThread( thread );
        return order->ret != ~0u;
    case FOREIGN_GET:
        return GetThreadContext( thread, &order->context );
    case FOREIGN_SET:
        return SetThreadContext( thread, &order->context );
    default:
        return TerminateThread( thread, order->argument );
    }
}

static void serve( const char *name )
{
    if (!open_order( name, FALSE )) ExitProcess( 1 );
    SetEvent( done );
    while (!WaitForSingleObject( given, 2 * KIT_LIMIT ) && order->command != FOREIGN_END)
    {
        HANDLE thread = OpenThread( THREAD_ALL_ACCESS, FALSE, order->tid );

        order->error = thread && obey( thread ) ? 0 : GetLastError() + 1;
        if (thread) CloseHandle( thread );
        SetEvent( done );
    }
    ExitProcess( 0 );
}

/* ---- this one ---- */

static DWORD tell( LONG command, DWORD tid )
{
    order->command = command;
    order->tid = tid;
    SetEvent( given );
    if (!ok( !WaitForSingleObject( done, KIT_LIMIT ), "the other process does not answer\n" ))
        return 0;
    ok( !order->error, "command %ld failed with error %lu\n", command, order->error - 1 );
    return order->ret;
}

/* SuspendThread may return before the thread has stopped; its registers are told when it has. */
static void foreign_suspend( struct kit_worker *worker )
{
    ok( tell( FOREIGN_SUSPEND, worker->id ) == 0, "SuspendThread gave %lu\n", order->ret );
    order->context.ContextFlags = CONTEXT_FULL;
    tell( FOREIGN_GET, worker->id );
}

static void foreign_resume( struct kit_worker *worker )
{
    ok( tell( FOREIGN_RESUME, worker->id ) == 1, "ResumeThread gave %lu\n", order->ret );
}

static DWORD beside_body( struct kit_worker *worker )
{
    while (!stop)
    {
        turns++;
        kit_yield( worker, NULL );
        while (keep) kept = 1;                  /* its scheduler takes no other */
    }
    return 0;
}

/* FALSE: this is the other process, or something failed. */
static BOOL begin( DWORD (*body)( struct kit_worker *worker ), BOOL beside )
{
    struct kit_sched *sched;
    char name[16];

    if (child_value( name, sizeof(name) )) serve( name );
    if (!kit_open()) return FALSE;
    snprintf( name, sizeof(name), "%lx", GetCurrentProcessId() );
    if (!ok( open_order( name, TRUE ), "no section, error %lu\n", GetLastError() ) ||
        !child_start( name, &other )) return FALSE;
    if (!ok( !WaitForSingleObject( done, CHILD_LIMIT ), "the other process does not begin\n" ))
        return FALSE;
    event = CreateEventW( NULL, TRUE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    runner = kit_add_worker( sched->list, body, NULL );
    if (beside) kit_add_worker( sched->list, beside_body, NULL );
    kit_start();
    return ok( runner && kit_leaves( &steps, 0 ), "the worker did not start\n" );
}

static void finish( void )
{
    DWORD code = 1;

    stop = 1;
    SetEvent( event );
    kit_finish();
    /* who would have counted that it blocked may have ended before */
    if (kit.scheds[0].stays && runner->blocks == runner->queued - 2) runner->blocks++;
    kit_check();
    order->command = FOREIGN_END;
    SetEvent( given );
    ok( child_end( &other, &code ) && !code, "the other process ended with %lu\n", code );
}

static int is_flag( struct kit_worker *worker, UMS_THREAD_INFO_CLASS info_class )
{
    BOOLEAN flag = 0xcc;

    if (!pQueryUmsThreadInformation( worker->context, info_class, &flag, sizeof(flag),
                                     NULL )) return -1;
    return flag;
}

/* ---- what the worker does ---- */

static DWORD compute_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    while (!stop) steps++;
    return 0;
}

/* After a call that is over at once it may be on a thread of its own. */
static DWORD compute_at_home_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    GetHandleInformation( event, &flags );
    while (!stop) steps++;
    return 0;
}

static DWORD call_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    while (!stop)
    {
        steps++;
        if (steps & 1) ResetEvent( event );
        else GetHandleInformation( event, &flags );
    }
    return 0;
}

static DWORD wait_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    steps = 1;
    WaitForSingleObject( event, INFINITE );
    steps = 2;
    return 0;
}

static DWORD park_body( struct kit_worker *worker )
{
    steps = 1;
    kit_park( worker );
    steps = 2;
    return 0;
}

static DWORD yield_body( struct kit_worker *worker )
{
    while (!stop)
    {
        steps++;
        kit_yield( worker, NULL );
    }
    return 0;
}

/* ---- suspended ---- */

/* It stands still, is no scheduler's any more, and nobody's before it is resumed. */
static void suspend_running( DWORD (*body)( struct kit_worker *worker ) )
{
    int i;

    if (!begin( body, TRUE )) return;
    for (i = 0; i < 5; i++)
    {
        LONG steps_before, queued;

        foreign_suspend( runner );
        steps_before = steps;
        unverified ok( is_flag( runner, UmsThreadIsSuspended ) == 1, "B8: IsSuspended is FALSE\n" );
        ok( kit_moves( &turns ) && kit_moves( &turns ), "B10: the other worker got no turn\n" );
        ok( steps == steps_before, "5: a suspended worker ran\n" );
        queued = runner->queued;
        ok( kit_moves( &turns ), "B10: the other worker got no turn\n" );
        ok( runner->queued == queued, "B8: a suspended worker was delivered\n" );
        foreign_resume( runner );
        ok( kit_leaves( &steps, steps_before ), "B8: it did not go on after it was resumed\n" );
    }
    finish();
}

START_TEST( scenario_foreign_suspend_running ) { suspend_running( compute_body ); }
START_TEST( scenario_foreign_suspend_at_home ) { suspend_running( compute_at_home_body ); }
START_TEST( scenario_foreign_suspend_calling ) { suspend_running( call_body ); }
START_TEST( scenario_foreign_suspend_yielding ) { suspend_running( yield_body ); }

START_TEST( scenario_foreign_suspend_yielded )
{
    struct kit_sched *sched;

    if (!begin( park_body, TRUE )) return;
    sched = &kit.scheds[0];
    ok( kit_wait_value( &runner->parked, 1 ), "no Yield upcall\n" );
    foreign_suspend( runner );
    ok( is_flag( runner, UmsThreadIsSuspended ) == 1, "B8: IsSuspended is FALSE\n" );
    ok( is_flag( runner, UmsThreadIsTerminated ) == 0, "B19: it is terminated\n" );
    kit_ready( runner, sched );
    ok( kit_wait_value( &runner->suspended, 1 ),
        "B7: Execute of a suspended worker did not fail for that\n" );
    ok( kit_moves( &turns ), "B10: the other worker got no turn\n" );
    ok( steps == 1, "B7: a suspended worker ran\n" );
    foreign_resume( runner );
    ok( kit_leaves( &steps, 1 ), "B8: it did not go on after it was resumed\n" );
    finish();
}

START_TEST( scenario_foreign_suspend_blocked )
{
    if (!begin( wait_body, TRUE )) return;
    ok( kit_wait_value( &runner->blocks, 1 ) || runner->blocks, "B11: no Blocked upcall\n" );
    foreign_suspend( runner );
    SetEvent( event );
    ok( kit_moves( &turns ) && kit_moves( &turns ), "B10: the other worker got no turn\n" );
    ok( steps == 1, "B7: a suspended worker went on\n" );
    foreign_resume( runner );
    ok( kit_leaves( &steps, 1 ), "B8: it did not go on after it was resumed\n" );
    finish();
}

/* ---- its registers ---- */

/* Counts until r12 is another one; rbx and r12 to r15 are known, and xmm7. */
uint64_t foreign_spin( volatile LONG *count, const volatile uint64_t *registers );
__asm__( ".text\n"
         "\t.globl foreign_spin\n"
         "\t.def foreign_spin; .scl 2; .type 32; .endef\n"
         "\t.seh_proc foreign_spin\n"
         "foreign_spin:\n"
         "\tpushq %rbx\n\t.seh_pushreg %rbx\n"
         "\tpushq %r12\n\t.seh_pushreg %r12\n"
         "\tpushq %r13\n\t.seh_pushreg %r13\n"
         "\tpushq %r14\n\t.seh_pushreg %r14\n"
         "\tpushq %r15\n\t.seh_pushreg %r15\n"
         "\tsubq $0x10,%rsp\n\t.seh_stackalloc 0x10\n"
         "\tmovaps %xmm7,(%rsp)\n\t.seh_savexmm %xmm7,0\n"
         "\t.seh_endprologue\n"
         "\tmovq 0x00(%rdx),%rbx\n"
         "\tmovq 0x08(%rdx),%r12\n"
         "\tmovq 0x10(%rdx),%r13\n"
         "\tmovq 0x18(%rdx),%r14\n"
         "\tmovq 0x20(%rdx),%r15\n"
         "\tmovq %r15,%xmm7\n"
         "1:\tincl (%rcx)\n"
         "\tcmpq 0x08(%rdx),%r12\n"
         "\tje 1b\n"
         "\tmovq %r12,%rax\n"
         "\tmovq %xmm7,%rcx\n"
         "\taddq %rcx,%rax\n"
         "\tmovaps (%rsp),%xmm7\n"
         "\taddq $0x10,%rsp\n"
         "\tpopq %r15\n"
         "\tpopq %r14\n"
         "\tpopq %r13\n"
         "\tpopq %r12\n"
         "\tpopq %rbx\n"
         "\tret\n"
         "\t.seh_endproc\n" );

static volatile uint64_t magic[5] = { 0x1111111111111111, 0x2222222222222222, 0x3333333333333333,
                                   0x4444444444444444, 0x5555555555555555 };
static volatile uint64_t spun;
static volatile LONG landed;

static DWORD spin_body( struct kit_worker *worker )
{
    kit_yield( worker, NULL );
    spun = foreign_spin( &steps, magic );
    return 0;
}

static DWORD spin_at_home_body( struct kit_worker *worker )
{
    DWORD flags;

    kit_yield( worker, NULL );
    GetHandleInformation( event, &flags );
    spun = foreign_spin( &steps, magic );
    return 0;
}

#define AGAIN_ROUNDS 40                         /* most of them in a call */

static BOOL same_registers( const CONTEXT *a, const CONTEXT *b )
{
    return a->Rip == b->Rip && !memcmp( &a->Rbx, &b->Rbx, 5 * sizeof(a->Rbx) ) &&
           !memcmp( &a->R12, &b->R12, 4 * sizeof(a->R12) );
}

/* Get and Set from outside, of a worker in the middle of its code. */
static void spin_registers( DWORD (*body)( struct kit_worker *worker ) )
{
    CONTEXT *context;

    if (!begin( body, TRUE )) return;
    context = &order->context;
    foreign_suspend( runner );
    ok( context->Rbx == magic[0] && context->R12 == magic[1] && context->R13 == magic[2] &&
        context->R14 == magic[3] && context->R15 == magic[4],
        "5: registers %#llx %#llx %#llx %#llx %#llx\n", (ULONGLONG)context->Rbx,
        (ULONGLONG)context->R12, (ULONGLONG)context->R13, (ULONGLONG)context->R14,
        (ULONGLONG)context->R15 );
    ok( context->Xmm7.Low == magic[4], "5: xmm7 %#llx\n", (ULONGLONG)context->Xmm7.Low );
    context->R12 = 0x1000;
    context->Xmm7.Low = 0x234;
    tell( FOREIGN_SET, runner->id );
    context->R12 = 0;
    tell( FOREIGN_GET, runner->id );
    ok( context->R12 == 0x1000, "5: r12 is %#llx after it was set\n", (ULONGLONG)context->R12 );
    ok( kit_moves( &turns ), "B10: the other worker got no turn\n" );
    ok( !spun, "5: a suspended worker ran\n" );
    foreign_resume( runner );
    finish();
    ok( spun == 0x1234, "5: what was set came out as %#llx\n", (ULONGLONG)spun );
}

START_TEST( scenario_foreign_context_running ) { spin_registers( spin_body ); }
START_TEST( scenario_foreign_context_at_home ) { spin_registers( spin_at_home_body ); }

/* Each call finds the event as the one before has left it: none is lost. */
static DWORD count_calls_body( struct kit_worker *worker )
{
    HMODULE ntdll = GetModuleHandleA( "ntdll.dll" );
    NTSTATUS (WINAPI *set)( HANDLE, LONG * ) = (void *)GetProcAddress( ntdll, "NtSetEvent" );
    NTSTATUS (WINAPI *reset)( HANDLE, LONG * ) = (void *)GetProcAddress( ntdll, "NtResetEvent" );
    HANDLE mine = CreateEventW( NULL, TRUE, FALSE, NULL );
    LONG before;
    DWORD flags;

    kit_yield( worker, NULL );
    while (!stop)
    {
        steps++;
        flags = ~0u;
        if (!GetHandleInformation( mine, &flags ) || flags) lost++;
        before = 2;
        if (set( mine, &before ) || before != 0) lost++;
        before = 2;
        if (reset( mine, &before ) || before != 1) lost++;
    }
    CloseHandle( mine );
    return 0;
}

/* A worker runs only when it is executed (B10). So one that was resumed and is suspended again before that
   has the same registers, in the middle of a call too [guess], and they can be set. */
START_TEST( scenario_foreign_context_again )
{
    CONTEXT first, *context;
    int i;

    if (!begin( count_calls_body, TRUE )) return;
    context = &order->context;
    for (i = 0; i < AGAIN_ROUNDS; i++)
    {
        LONG steps_before, turns_before;

        foreign_suspend( runner );
        first = *context;
        steps_before = steps;
        keep = 1;
        ok( kit_wait_value( &kept, 1 ), "B10: the other worker got no turn\n" );
        turns_before = turns;                   /* it may get one more only: the runner need not block */
        foreign_resume( runner );
        foreign_suspend( runner );
        ok( same_registers( &first, context ),
            "5: at %#llx, stack %#llx, and then at %#llx, stack %#llx\n", (ULONGLONG)first.Rip,
            (ULONGLONG)first.Rsp, (ULONGLONG)context->Rip, (ULONGLONG)context->Rsp );
        *context = first;
        tell( FOREIGN_SET, runner->id );
        tell( FOREIGN_GET, runner->id );
        ok( same_registers( &first, context ), "5: at %#llx after it was set to %#llx\n",
            (ULONGLONG)context->Rip, (ULONGLONG)first.Rip );
        if (i & 1)                              /* and by its own process */
        {
            first.ContextFlags = CONTEXT_FULL;
            ok( GetThreadContext( runner->thread, &first ) &&
                SetThreadContext( runner->thread, &first ), "5: error %lu\n", GetLastError() );
        }
        ok( steps == steps_before, "B10: it ran before it was executed\n" );
        foreign_resume( runner );
        keep = 0;
        ok( kit_leaves( &turns, turns_before ), "B10: the other worker got no turn\n" );
        kept = 0;
        ok( kit_leaves( &steps, steps_before ), "B8: it did not go on after it was resumed\n" );
    }
    finish();
    ok( !lost, "5: %ld calls were not made, or gave a wrong result\n", lost );
}

static NT_TIB *volatile tib;

static DWORD park_known_body( struct kit_worker *worker )
{
    tib = kit_teb();
    return park_body( worker );
}

static void land( LONG value )
{
    landed = value;
    ExitThread( 0 );
}

/* A yielded worker that goes on somewhere else. */
START_TEST( scenario_foreign_context_yielded )
{
    CONTEXT *context;

    if (!begin( park_known_body, TRUE )) return;
    context = &order->context;
    ok( kit_wait_value( &runner->parked, 1 ), "no Yield upcall\n" );
    foreign_suspend( runner );
    unverified ok( context->Rsp >= (ULONG_PTR)tib->StackLimit &&
                   context->Rsp < (ULONG_PTR)tib->StackBase,
                   "5: the stack pointer %#llx is not on its stack\n", (ULONGLONG)context->Rsp );
    context->Rip = (ULONG_PTR)land;
    context->Rcx = 0x77;
    context->Rsp = ((context->Rsp - 0x100) & ~(ULONG_PTR)15) - 8;
    tell( FOREIGN_SET, runner->id );
    foreign_resume( runner );
    runner->ended = 1;
    runner->yields_made = 1;
    kit_ready( runner, &kit.scheds[0] );
    finish();
    ok( landed == 0x77, "5: it did not go on where it was set: %ld\n", landed );
}

/* ---- any time ---- */

#define STORM_ROUNDS 40

/* Computes, calls and yields: so a suspension finds any of them. */
static DWORD storm_body( struct kit_worker *worker )
{
    DWORD flags;

    while (!stop)
    {
        steps++;
        if (!(steps & 7)) kit_yield( worker, NULL );
        else if (!(steps & 3)) GetHandleInformation( event, &flags );
        else if (steps & 1) ResetEvent( event );
    }
    return 0;
}

START_TEST( scenario_foreign_storm )
{
    int i, starved = 0;

    if (!begin( storm_body, TRUE )) return;
    for (i = 0; i < STORM_ROUNDS; i++)
    {
        tell( FOREIGN_SUSPEND, runner->id );
        if (i & 1)
        {
            order->context.ContextFlags = CONTEXT_CONTROL;
            tell( FOREIGN_GET, runner->id );
        }
        tell( FOREIGN_RESUME, runner->id );
        if (i % 4 == 3 && (!kit_moves( &steps ) || !kit_moves( &turns ))) starved++;
    }
    finish();
    ok( !starved, "B10: a worker did not get its turn %d times\n", starved );
}

/* ---- ended ---- */

static void terminate( DWORD (*body)( struct kit_worker *worker ) )
{
    DWORD code = 0;

    if (!begin( body, TRUE )) return;
    runner->ended = 1;                          /* as far as it gets */
    if (body == park_body)
    {
        ok( kit_wait_value( &runner->parked, 1 ), "no Yield upcall\n" );
        runner->yields_made = 1;                /* it does not return */
        runner->blocks++;                       /* nobody is told */
        runner->executes++;
    }
    order->argument = 0x123;
    tell( FOREIGN_KILL, runner->id );
    ok( !WaitForSingleObject( runner->thread, KIT_LIMIT ), "B18: it did not end in %d ms\n",
        KIT_LIMIT );
    ok( kit_wait_value( &runner->terminated, 1 ), "B18: it was not delivered terminated\n" );
    ok( GetExitCodeThread( runner->thread, &code ) && code == 0x123, "B18: exit code %#lx\n",
        code );
    ok( kit_moves( &turns ) && kit_moves( &turns ),
        "B18: the other worker did not get its turn\n" );
    finish();
}

START_TEST( scenario_foreign_terminate_yielded ) { terminate( park_body ); }
START_TEST( scenario_foreign_terminate_running ) { terminate( compute_body ); }
START_TEST( scenario_foreign_terminate_at_home ) { terminate( compute_at_home_body ); }
START_TEST( scenario_foreign_terminate_blocked ) { terminate( wait_body ); }

/* Its worker goes on with another scheduler that serves the list, with all that it had. That one has
   begun, and executed it, before it may end: a worker that is stopped at its end has the loader lock,
   and no thread begins then. */
static void terminate_scheduler( DWORD (*body)( struct kit_worker *worker ) )
{
    struct kit_sched *first, *second;
    LONG executes;
    DWORD code = 0;

    if (!begin( body, FALSE )) return;
    first = &kit.scheds[0];
    first->stays = TRUE;
    order->argument = 0x234;
    tell( FOREIGN_KILL, first->id );
    ok( !WaitForSingleObject( first->thread, KIT_LIMIT ), "it did not end in %d ms\n", KIT_LIMIT );
    ok( GetExitCodeThread( first->thread, &code ) && code == 0x234, "exit code %#lx\n", code );
    executes = runner->executes;
    second = kit_add_sched( first->list );
    kit_start();
    ok( kit_wait_value( &second->entered, 1 ), "another scheduler does not begin\n" );
    unverified ok( body == wait_body || (kit_leaves( &runner->executes, executes ) &&
                                         kit_moves( &steps )),
                   "4 its worker does not go on with another scheduler\n" );
    magic[1] = 0;
    finish();
}

START_TEST( scenario_foreign_scheduler_computing ) { terminate_scheduler( compute_body ); }
START_TEST( scenario_foreign_scheduler_at_home )   { terminate_scheduler( compute_at_home_body ); }
START_TEST( scenario_foreign_scheduler_idle )      { terminate_scheduler( wait_body ); }

START_TEST( scenario_foreign_scheduler_registers )
{
    terminate_scheduler( spin_body );
    if (runner) ok( spun == 0x2222222222222222 + 0x5555555555555555,
                    "5: its registers came to %#llx\n", (ULONGLONG)spun );
}
