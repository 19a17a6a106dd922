/*
 * Scenarios: a scheduler thread is terminated at any moment, over and over; while it runs, suspended, and while it
 * resumes its worker; and in a wait that SchedulerProc has jumped into.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Open point 4 [guess]: its worker stays valid, and another scheduler can execute it. Each scheduler is terminated a
 * little later than the one before, up to 300 us after its first upcall began. Chance decides which instruction that
 * is, so there are many rounds; UMSTEST_LIVES (default 400) sets their number.
 */
#include "umslib.h"

#define LATEST 300                              /* us */
#define BUSY   3                                /* threads */
#define STEP   7                                /* us: 300 has no such factor, so all moments come */

static PUMS_COMPLETION_LIST list;
static struct worker survivor;
static HANDLE event;
static volatile LONG begun, computes, suspensions, finish, over;

/* ---- what the worker does ---- */

static void yield_on( struct worker *worker )
{
    (void)worker;
    while (!finish) pUmsThreadYield( NULL );
}

static void wait_on( struct worker *worker )
{
    (void)worker;
    while (!finish)
    {
        SetEvent( event );
        WaitForSingleObject( event, 1 );
        pUmsThreadYield( NULL );
    }
}

static void compute_on( struct worker *worker )
{
    int i;

    (void)worker;
    for (i = 0; !finish; i++) if (!(i & 0xfff)) pUmsThreadYield( NULL );
}

/* A call that might have blocked, and did not, was made at home. The worker stays there. */
static void compute_at_home( struct worker *worker )
{
    (void)worker;
    GetFileAttributesA( "C:\\" );
    computes = 1;
    while (!finish) YieldProcessor();
}

/* ---- schedulers ---- */

static void CALLBACK run_for_ever( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    PUMS_CONTEXT context;

    (void)param;
    begun = 1;
    if (reason == UmsSchedulerThreadYield) pExecuteUmsThread( (PUMS_CONTEXT)payload );
    for (;;)
        if (pDequeueUmsCompletionListItems( list, 0, &context ) && context) pExecuteUmsThread( context );
}

static DWORD WINAPI victim( void *arg )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, run_for_ever, NULL };

    (void)arg;
    return pEnterUmsSchedulingMode( &info );
}

/* The worker is on the list or will be, or the victim had dequeued it and nobody else has. The execute is for the second
   case; in the first one it fails [guess: nothing says that Execute asks whether a context is on a list]. */
static void CALLBACK run_to_the_end( UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    static ULONGLONG begin;
    PUMS_CONTEXT context;

    (void)payload; (void)param;
    if (reason == UmsSchedulerStartup) begin = clock_ms();
    while (clock_ms() - begin < WAIT_BOUND)
    {
        if (pDequeueUmsCompletionListItems( list, 0, &context ) && context && context_is_terminated( context ) == 1)
        {
            over = 1;
            return;
        }
        pExecuteUmsThread( survivor.context );
        SwitchToThread();
    }
}

/* ---- a round ---- */

/* Ways to terminate a scheduler. */
static BOOL end_it( HANDLE thread )
{
    return TerminateThread( thread, 1 ) && !WaitForSingleObject( thread, WAIT_BOUND );
}

static BOOL while_it_runs( HANDLE thread, int us )
{
    run_us( us );
    return end_it( thread );
}

static BOOL while_suspended( HANDLE thread, int us )
{
    run_us( us );
    return !SuspendThread( thread ) && end_it( thread );
}

static BOOL suspend_and_resume( HANDLE thread )
{
    return !SuspendThread( thread ) && ResumeThread( thread ) == 1;
}

/* It is executing a worker that was suspended while it ran, and is suspended meanwhile. Then the worker is suspended
   again and resumed. */
static BOOL while_it_resumes( HANDLE thread, int us )
{
    while (!computes) SwitchToThread();
    if (!suspend_and_resume( survivor.thread )) return FALSE;
    run_us( us );
    return !SuspendThread( thread ) && suspend_and_resume( survivor.thread ) && end_it( thread );
}

/* The same worker is suspended and resumed by another thread, as often as it can. */
static DWORD WINAPI suspend_the_worker( void *arg )
{
    (void)arg;
    for (; !finish; suspensions++) if (!suspend_and_resume( survivor.thread )) return FALSE;
    return TRUE;
}

/* The more threads want the same from the system, the longer the scheduler takes to resume the worker. */
static DWORD WINAPI keep_the_system_busy( void *arg )
{
    (void)arg;
    while (!finish) CloseHandle( OpenThread( SYNCHRONIZE, FALSE, GetCurrentThreadId() ) );
    return TRUE;
}

static BOOL while_others_suspend( HANDLE thread, int us )
{
    HANDLE others[1 + BUSY];
    DWORD well = FALSE;
    BOOL ended;
    int i;

    while (!computes) SwitchToThread();
    for (i = 0; i < 1 + BUSY; i++)
        others[i] = CreateThread( NULL, 0, i ? keep_the_system_busy : suspend_the_worker, NULL, 0, NULL );
    while (suspensions < 2 && WaitForSingleObject( others[0], 0 ) == WAIT_TIMEOUT) SwitchToThread();
    run_us( us );
    ended = end_it( thread );
    finish = 1;
    ended = !WaitForMultipleObjects( 1 + BUSY, others, TRUE, WAIT_BOUND ) && GetExitCodeThread( others[0], &well ) &&
            well && ended;
    for (i = 0; i < 1 + BUSY; i++) CloseHandle( others[i] );
    return ended;
}

static BOOL terminate_one( void (*body)( struct worker *worker ), int us, BOOL (*how)( HANDLE thread, int us ) )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, NULL, run_to_the_end, NULL };
    HANDLE thread;
    BOOL well;

    memset( &survivor, 0, sizeof(survivor) );
    begun = computes = suspensions = finish = over = 0;
    info.CompletionList = list = list_create();
    if (!worker_create( &survivor, list, body, NULL, 0 )) return FALSE;
    thread = CreateThread( NULL, 0x10000, victim, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL );
    while (thread && !begun) SwitchToThread();
    well = how( thread, us );
    CloseHandle( thread );
    finish = 1;
    return well && pEnterUmsSchedulingMode( &info ) && over && worker_wait( &survivor, WAIT_BOUND ) &&
           survivor.finished && worker_delete( &survivor ) && pDeleteUmsCompletionList( list );
}

static void terminate( const char *does, void (*body)( struct worker *worker ),
                       BOOL (*how)( HANDLE thread, int us ), int rounds )
{
    int i;

    for (i = 0; i < rounds; i++)
        if (!terminate_one( body, i * STEP % LATEST, how )) break;
    unverified ok( i == rounds, "4 a worker that %s, round %d: lost with its scheduler, or suspended without a suspension "
                   "(%ld, %ld), error %lu\n", does, i, begun, over, GetLastError() );
}

static void terminate_anywhere( BOOL (*how)( HANDLE thread, int us ) )
{
    int rounds = umstest_lives() / 20;

    if (!need( EnterUmsSchedulingMode )) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    terminate( "yields", yield_on, how, rounds );
    terminate( "waits", wait_on, how, rounds );
    terminate( "computes", compute_on, how, rounds );
    CloseHandle( event );
}

START_TEST( scenario_scheduler_terminate_anywhere )  { terminate_anywhere( while_it_runs ); }
START_TEST( scenario_scheduler_terminate_suspended ) { terminate_anywhere( while_suspended ); }

START_TEST( scenario_scheduler_terminate_resuming )
{
    int rounds = umstest_lives() / 20;

    if (!need( EnterUmsSchedulingMode )) return;
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    terminate( "is suspended and resumed", compute_at_home, while_it_resumes, rounds );
    terminate( "others suspend and resume", compute_at_home, while_others_suspend, rounds * 5 );    /* meets it less often */
    CloseHandle( event );
}

/* ---- a call that returns not to SchedulerProc but to its caller, as a compiler makes the last call of a function ---- */

void WINAPI jump_into_wait( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID event );
LONG (WINAPI *jump_target)( HANDLE, BOOLEAN, LARGE_INTEGER * );
volatile LONG jumped;

__asm__( ".text\n"
         ".globl jump_into_wait\n"
         ".def jump_into_wait; .scl 2; .type 32; .endef\n"
         "jump_into_wait:\n"                     /* ecx: reason, r8: the event */
         "\ttestl %ecx,%ecx\n"                  /* UmsSchedulerStartup */
         "\tjnz 1f\n"
         "\tmovl $1,jumped(%rip)\n"
         "\tmovq %r8,%rcx\n"
         "\txorl %edx,%edx\n"
         "\txorl %r8d,%r8d\n"
         "\tjmp *jump_target(%rip)\n"
         "1:\tret\n" );

static DWORD WINAPI jump_as_scheduler( void *completion_list )
{
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, completion_list, jump_into_wait, event };

    return pEnterUmsSchedulingMode( &info );
}

/* It is suspended and terminated where it waits [doc: SuspendThread, TerminateThread]. */
START_TEST( scenario_scheduler_terminate_jumped )
{
    PUMS_COMPLETION_LIST jump_list;
    HANDLE thread;
    DWORD code = 0;

    if (!need( EnterUmsSchedulingMode )) return;
    jump_target = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "NtWaitForSingleObject" );
    event = CreateEventW( NULL, FALSE, FALSE, NULL );
    ok( pCreateUmsCompletionList( &jump_list ), "no list, error %lu\n", GetLastError() );
    thread = CreateThread( NULL, 0, jump_as_scheduler, jump_list, 0, NULL );
    while (!jumped) Sleep( 1 );
    Sleep( 50 );                                /* it may wait by then; what is expected does not depend on it */
    ok( !SuspendThread( thread ), "SuspendThread: error %lu\n", GetLastError() );
    ok( ResumeThread( thread ) == 1, "ResumeThread: error %lu\n", GetLastError() );
    ok( TerminateThread( thread, 5 ), "TerminateThread: error %lu\n", GetLastError() );
    ok( !WaitForSingleObject( thread, INFINITE ), "it did not end, error %lu\n", GetLastError() );
    ok( GetExitCodeThread( thread, &code ) && code == 5, "it ended with %lu\n", code );
    CloseHandle( thread );
    pDeleteUmsCompletionList( jump_list );
    CloseHandle( event );
}
