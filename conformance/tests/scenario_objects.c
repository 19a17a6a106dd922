/*
 * Scenarios: events and semaphores that only this process knows, and those that others come to know.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a handle has a copy, is inheritable or is the event of an I/O request makes no difference to
 * what the object does [doc]. So what is done to an object of the plainest kind is done to a twin that
 * could be inherited from the start, and both have to answer the same. And no signal is lost or
 * doubled when the plain one gets a second handle while others wait for it.
 */
#define _WIN32_WINNT 0x0602
#include "scenario_kit.h"

#define ROUNDS 200
#define COUNTED 300

static HANDLE events[2], semaphore;
static volatile LONG turns, taken, stop;

static NTSTATUS (WINAPI *pNtCreateEvent)( HANDLE *, ACCESS_MASK, void *, ULONG, BOOLEAN );
static NTSTATUS (WINAPI *pNtSetEvent)( HANDLE, LONG * );
static NTSTATUS (WINAPI *pNtResetEvent)( HANDLE, LONG * );
static NTSTATUS (WINAPI *pNtClearEvent)( HANDLE );
static NTSTATUS (WINAPI *pNtPulseEvent)( HANDLE, LONG * );
static NTSTATUS (WINAPI *pNtQueryEvent)( HANDLE, ULONG, void *, ULONG, ULONG * );
static NTSTATUS (WINAPI *pNtReleaseSemaphore)( HANDLE, ULONG, ULONG * );
static NTSTATUS (WINAPI *pNtQuerySemaphore)( HANDLE, ULONG, void *, ULONG, ULONG * );
static NTSTATUS (WINAPI *pNtWaitForSingleObject)( HANDLE, BOOLEAN, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtWaitForMultipleObjects)( ULONG, const HANDLE *, ULONG, BOOLEAN,
                                                     const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtSignalAndWaitForSingleObject)( HANDLE, HANDLE, BOOLEAN, const LARGE_INTEGER * );
static NTSTATUS (WINAPI *pNtQueryObject)( HANDLE, ULONG, void *, ULONG, ULONG * );
static NTSTATUS (WINAPI *pNtClose)( HANDLE );

static void find_calls( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );

#define FIND( name ) p##name = (void *)GetProcAddress( ntdll, #name )
    FIND( NtCreateEvent );
    FIND( NtSetEvent );
    FIND( NtResetEvent );
    FIND( NtClearEvent );
    FIND( NtPulseEvent );
    FIND( NtQueryEvent );
    FIND( NtReleaseSemaphore );
    FIND( NtQuerySemaphore );
    FIND( NtWaitForSingleObject );
    FIND( NtWaitForMultipleObjects );
    FIND( NtSignalAndWaitForSingleObject );
    FIND( NtQueryObject );
    FIND( NtClose );
#undef FIND
}

/* ---- a turn that goes to and fro ---- */

static void take_turns( int self )
{
    int i;

    for (i = 0; i < ROUNDS; i++)
    {
        WaitForSingleObject( events[self], i % 2 ? INFINITE : KIT_LIMIT );
        InterlockedIncrement( &turns );
        SetEvent( events[!self] );
    }
}

static DWORD turns_body( struct kit_worker *worker )
{
    take_turns( (int)(LONG_PTR)worker->arg );
    return 0;
}

static DWORD WINAPI turns_thread( void *self )
{
    take_turns( (int)(LONG_PTR)self );
    return 0;
}

static void run_turns( int scheds, int workers, int threads )
{
    struct kit_sched *sched[2];
    HANDLE thread[2];
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    for (i = 0; i < scheds; i++) sched[i] = kit_add_sched( NULL );
    for (i = 0; i < workers; i++)
        kit_add_worker( sched[i % scheds]->list, turns_body, (void *)(LONG_PTR)i );
    kit_start();
    for (i = 0; i < threads; i++)
        thread[i] = CreateThread( NULL, 0, turns_thread, (void *)(LONG_PTR)(workers + i), 0, NULL );
    SetEvent( events[0] );
    kit_finish();
    for (i = 0; i < threads; i++)
    {
        ok( !WaitForSingleObject( thread[i], KIT_LIMIT ), "a plain thread waits still\n" );
        CloseHandle( thread[i] );
    }
    ok( turns == 2 * ROUNDS, "%ld turns of %d\n", turns, 2 * ROUNDS );
    for (i = 0; i < 2; i++) CloseHandle( events[i] );
    kit_check();
}

/* The same in one call: whoever is woken by it finds its partner waiting. */
static DWORD signal_and_wait_body( struct kit_worker *worker )
{
    int self = (int)(LONG_PTR)worker->arg, i;

    if (self) WaitForSingleObject( events[1], INFINITE );
    for (i = 0; i < ROUNDS; i++)
    {
        InterlockedIncrement( &turns );
        if (i < ROUNDS - 1 || !self)
            SignalObjectAndWait( events[!self], events[self], i % 2 ? INFINITE : KIT_LIMIT, FALSE );
        else SetEvent( events[0] );
    }
    return 0;
}

START_TEST( scenario_object_turns_signalled )
{
    struct kit_sched *sched;
    int i;

    if (!kit_open()) return;
    for (i = 0; i < 2; i++) events[i] = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < 2; i++) kit_add_worker( sched->list, signal_and_wait_body, (void *)(LONG_PTR)i );
    kit_start();
    kit_finish();
    ok( turns == 2 * ROUNDS, "%ld turns of %d\n", turns, 2 * ROUNDS );
    for (i = 0; i < 2; i++) CloseHandle( events[i] );
    kit_check();
}

START_TEST( scenario_object_turns_together )
{
    run_turns( 1, 2, 0 );
}

START_TEST( scenario_object_turns_apart )
{
    run_turns( 2, 2, 0 );
}

START_TEST( scenario_object_turns_plain )
{
    run_turns( 1, 1, 1 );
}

/* ---- the same answers as of a twin ---- */

#define MAX_ANSWERS 160

struct answers
{
    unsigned int count;
    DWORD value[MAX_ANSWERS];
};

static struct answers plain_answers[2], worker_answers[2];

static void note( struct answers *answers, DWORD value )
{
    if (answers->count < MAX_ANSWERS) answers->value[answers->count] = value;
    answers->count++;
}

/* With what the call stored. */
static void note_with( struct answers *answers, NTSTATUS status, LONG value )
{
    note( answers, (DWORD)status );
    note( answers, (DWORD)value );
}

static void note_wait( struct answers *answers, HANDLE handle, LONGLONG time )
{
    LARGE_INTEGER timeout = { .QuadPart = time };

    note( answers, (DWORD)pNtWaitForSingleObject( handle, FALSE, &timeout ) );
}

static void note_query( struct answers *answers, HANDLE handle )
{
    LONG info[2] = { -1, -1 };
    ULONG length = 77;

    note_with( answers, pNtQueryEvent( handle, 0, info, sizeof(info), &length ), info[0] );
    note_with( answers, (NTSTATUS)length, info[1] );
}

static void ask_event( struct answers *answers, HANDLE event )
{
    ULONG info[2] = { 0, 0 };
    LONG before = 5;

    note_query( answers, event );
    note_with( answers, pNtSetEvent( event, &before ), before );
    note_with( answers, pNtSetEvent( event, &before ), before );
    note_query( answers, event );
    note_wait( answers, event, 0 );
    note_wait( answers, event, -10000 );
    note_with( answers, pNtResetEvent( event, &before ), before );
    note_with( answers, pNtResetEvent( event, &before ), before );
    note_with( answers, pNtPulseEvent( event, &before ), before );
    note_with( answers, pNtPulseEvent( event, NULL ), pNtSetEvent( event, NULL ) );
    note_with( answers, pNtClearEvent( event ), pNtResetEvent( event, &before ) );
    note( answers, (DWORD)before );
    note_wait( answers, event, 1 );             /* long ago */
    note( answers, (DWORD)pNtSetEvent( event, (LONG *)8 ) );
    note_query( answers, event );
    note( answers, (DWORD)pNtQueryEvent( event, 1, info, sizeof(info), NULL ) );
    note( answers, (DWORD)pNtQueryEvent( event, 0, info, 4, NULL ) );
    note( answers, (DWORD)pNtReleaseSemaphore( event, 1, NULL ) );
    note( answers, (DWORD)pNtQuerySemaphore( event, 0, info, sizeof(info), NULL ) );
    note( answers, (DWORD)pNtSetEvent( (HANDLE)((ULONG_PTR)event | 3), NULL ) );
}

static void ask_semaphore( struct answers *answers, HANDLE handle )
{
    ULONG info[2] = { 77, 77 }, before = 5;

    note_wait( answers, handle, 0 );
    note_wait( answers, handle, 0 );
    note_wait( answers, handle, -10000 );
    note_with( answers, pNtReleaseSemaphore( handle, 2, &before ), (LONG)before );
    note_with( answers, pNtReleaseSemaphore( handle, 2, &before ), (LONG)before );
    note_with( answers, pNtReleaseSemaphore( handle, 0x7fffffff, &before ), (LONG)before );
    note_with( answers, pNtReleaseSemaphore( handle, 0xffffffff, &before ), (LONG)before );
    note_with( answers, pNtQuerySemaphore( handle, 0, info, sizeof(info), NULL ), (LONG)info[0] );
    note( answers, info[1] );
    note( answers, (DWORD)pNtSetEvent( handle, NULL ) );
    note( answers, (DWORD)pNtQueryEvent( handle, 0, info, sizeof(info), NULL ) );
    note( answers, (DWORD)pNtReleaseSemaphore( handle, 1, (ULONG *)8 ) );
    note_wait( answers, handle, 0 );
}

/* Of several: any, all, too many, one twice, one that is nothing. */
static void ask_several( struct answers *answers, HANDLE *handles )
{
    HANDLE many[65];
    LARGE_INTEGER none = { .QuadPart = 0 };
    ULONG i;

    for (i = 0; i < 65; i++) many[i] = handles[i % 2];
    for (i = 0; i < 2; i++)
    {
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 1, FALSE, &none ) );
        SetEvent( handles[1] );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 0, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 1, FALSE, &none ) );
        SetEvent( handles[0] );
        SetEvent( handles[1] );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 0, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 2, handles, 0, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 65, many, 1, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 0, many, 1, FALSE, &none ) );
        note( answers, (DWORD)pNtWaitForMultipleObjects( 64, many, 1, FALSE, &none ) );
    }
}

/* first and last: auto-reset events that are not signalled; full: a semaphore. */
static void ask_signal_and_wait( struct answers *answers, HANDLE first, HANDLE last, HANDLE full )
{
    LARGE_INTEGER none = { .QuadPart = 0 }, some = { .QuadPart = -10000 };

    while (ReleaseSemaphore( full, 1, NULL )) ;
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, last, FALSE, &none ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( last, last, FALSE, &none ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( last, first, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, first, FALSE, NULL ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, full, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( full, last, FALSE, &some ) );
    SetEvent( last );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( full, last, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( first, (HANDLE)8, FALSE, &some ) );
    note( answers, (DWORD)pNtSignalAndWaitForSingleObject( (HANDLE)8, last, FALSE, &some ) );
    note_wait( answers, first, 0 );
    note_wait( answers, first, 0 );
    note_wait( answers, last, 0 );
    note_wait( answers, last, 0 );
}

static void ask_all( struct answers *answers, SECURITY_ATTRIBUTES *attributes )
{
    HANDLE handles[4];
    int i;

    handles[0] = CreateEventW( attributes, FALSE, FALSE, NULL );
    handles[1] = CreateEventW( attributes, TRUE, TRUE, NULL );
    handles[2] = CreateSemaphoreW( attributes, 1, 3, NULL );
    handles[3] = CreateEventW( attributes, FALSE, FALSE, NULL );
    ask_event( answers, handles[0] );
    ask_event( answers, handles[1] );
    ask_semaphore( answers, handles[2] );
    ResetEvent( handles[0] );
    ResetEvent( handles[3] );
    handles[1] = (CloseHandle( handles[1] ), handles[3]);
    ask_signal_and_wait( answers, handles[0], handles[3], handles[2] );
    ask_several( answers, handles );            /* behind this they are known to others */
    note( answers, (DWORD)pNtClose( handles[0] ) );
    note( answers, (DWORD)pNtSetEvent( handles[0], NULL ) );
    note_wait( answers, handles[0], 0 );
    note( answers, (DWORD)pNtClose( handles[0] ) );
    for (i = 1; i < 3; i++) CloseHandle( handles[i] );
}

static void ask_twins( struct answers *answers )
{
    SECURITY_ATTRIBUTES inherit = { sizeof(inherit), NULL, TRUE };

    ask_all( &answers[0], NULL );
    ask_all( &answers[1], &inherit );
}

static DWORD answers_body( struct kit_worker *worker )
{
    (void)worker;
    ask_twins( worker_answers );
    return 0;
}

static void compare( const struct answers *a, const struct answers *b, const char *who )
{
    unsigned int i;

    ok( a->count == b->count && a->count > 60 && a->count <= MAX_ANSWERS, "%s: %u and %u answers\n",
        who, a->count, b->count );
    for (i = 0; i < a->count && i < MAX_ANSWERS; i++)
        ok( a->value[i] == b->value[i], "%s, answer %u: %08lx, its twin %08lx\n", who, i,
            a->value[i], b->value[i] );
}

START_TEST( scenario_object_answers )
{
    struct kit_sched *sched;

    find_calls();
    if (!kit_open()) return;
    ask_twins( plain_answers );
    sched = kit_add_sched( NULL );
    kit_add_worker( sched->list, answers_body, NULL );
    kit_start();
    kit_finish();
    compare( &plain_answers[0], &plain_answers[1], "thread" );
    compare( &worker_answers[0], &worker_answers[1], "worker" );
    compare( &plain_answers[0], &worker_answers[0], "thread and worker" );
    kit_check();
}

/* ---- somebody else gets to know it ---- */

static HANDLE subject, helper;

static HANDLE copy_of( HANDLE handle )
{
    HANDLE copy = NULL;

    DuplicateHandle( GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
                     DUPLICATE_SAME_ACCESS );
    return copy;
}

static void by_copy( void )
{
    CloseHandle( copy_of( subject ) );
}

static void by_inheritance( void )
{
    SetHandleInformation( subject, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT );
}

static void by_question( void )
{
    ULONG info[32];

    pNtQueryObject( subject, 0, info, 56, NULL );
}

static void by_mixed_wait( void )
{
    HANDLE both[2] = { helper, subject };

    WaitForMultipleObjects( 2, both, FALSE, 0 );
}

static void by_alertable_wait( void )
{
    WaitForSingleObjectEx( subject, 0, TRUE );
}

static void by_signal_and_wait( void )
{
    HANDLE other = CreateMutexW( NULL, TRUE, NULL );

    SignalObjectAndWait( other, subject, 0, FALSE );
    CloseHandle( other );
}

static void by_pipe( void )
{
    char name[64];
    HANDLE pipe;
    OVERLAPPED overlapped = { .hEvent = subject };
    BOOL done;

    wsprintfA( name, "\\\\.\\pipe\\umstest-%lu", GetCurrentProcessId() );
    pipe = CreateNamedPipeA( name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, 0, 1, 0, 0, 0, NULL );
    done = ConnectNamedPipe( pipe, &overlapped );
    if (!done && GetLastError() == ERROR_IO_PENDING) CancelIo( pipe );          /* signals */
    CloseHandle( pipe );
}

/* signals: those that it makes itself */
static const struct { const char *name; void (*expose)( void ); LONG signals; } ways[] =
{
    { "a copy", by_copy, 0 },
    { "the inherit flag", by_inheritance, 0 },
    { "NtQueryObject", by_question, 0 },
    { "a wait with another kind", by_mixed_wait, 0 },
    { "an alertable wait", by_alertable_wait, 0 },
    { "SignalObjectAndWait of a mutex", by_signal_and_wait, 0 },
    { "an I/O request", by_pipe, 1 },
};

static volatile LONG waiting, woken;

static void wait_twice( void )
{
    InterlockedIncrement( &waiting );
    if (!WaitForSingleObject( subject, KIT_LIMIT )) InterlockedIncrement( &woken );
}

static DWORD wait_body( struct kit_worker *worker )
{
    (void)worker;
    wait_twice();
    return 0;
}

static DWORD WINAPI wait_thread( void *arg )
{
    (void)arg;
    wait_twice();
    return 0;
}

/* Two workers and a plain thread wait; then the object becomes known; three signals release three. */
static void expose( int way )
{
    struct kit_worker *workers[2];
    struct kit_sched *sched;
    HANDLE thread;
    DWORD ret;
    int i;

    find_calls();
    if (!kit_open()) return;
    helper = CreateMutexW( NULL, FALSE, NULL );
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    for (i = 0; i < 2; i++) workers[i] = kit_add_worker( sched->list, wait_body, NULL );
    kit_start();
    thread = CreateThread( NULL, 0, wait_thread, NULL, 0, NULL );
    ok( kit_wait_value( &waiting, 3 ), "they do not wait\n" );
    for (i = 0; i < 2; i++) ok( kit_wait_value( &workers[i]->blocks, 1 ), "nobody was told\n" );
    Sleep( 30 );                                /* the thread, most likely; right in any case */
    ways[way].expose();
    if (ways[way].signals) ok( kit_wait_value( &woken, 1 ), "its own signal was lost\n" );
    for (i = (int)ways[way].signals; i < 3; i++) SetEvent( subject );
    ret = WaitForSingleObject( thread, KIT_LIMIT );
    kit_finish();
    ok( !ret && woken == 3, "%s: %ld of 3 were released\n", ways[way].name, woken );
    ok( WaitForSingleObject( subject, 0 ) == WAIT_TIMEOUT, "%s: one signal too many\n", ways[way].name );
    CloseHandle( thread );
    CloseHandle( subject );
    kit_check();
}

START_TEST( scenario_object_copied ) { expose( 0 ); }
START_TEST( scenario_object_inherited ) { expose( 1 ); }
START_TEST( scenario_object_queried ) { expose( 2 ); }
START_TEST( scenario_object_mixed ) { expose( 3 ); }
START_TEST( scenario_object_alertable ) { expose( 4 ); }
START_TEST( scenario_object_signal_and_wait ) { expose( 5 ); }
START_TEST( scenario_object_of_io ) { expose( 6 ); }

/* ---- every signal is counted, while the object becomes known ---- */

static void take_counted( void )
{
    while (InterlockedIncrement( &taken ) <= COUNTED)
        if (WaitForSingleObject( semaphore, KIT_LIMIT )) InterlockedIncrement( &stop );
}

static DWORD take_body( struct kit_worker *worker )
{
    (void)worker;
    take_counted();
    return 0;
}

static DWORD WINAPI take_thread( void *arg )
{
    (void)arg;
    take_counted();
    return 0;
}

static DWORD WINAPI give_thread( void *arg )
{
    int i;

    for (i = 0; i < COUNTED / 2; i++)
    {
        ReleaseSemaphore( semaphore, 1, NULL );
        if (arg && i == COUNTED / 4) CloseHandle( copy_of( semaphore ) );
        if (i % 16 == 0) SwitchToThread();
    }
    return 0;
}

START_TEST( scenario_object_counted )
{
    HANDLE threads[3];
    struct kit_sched *sched[2];
    int i;

    if (!kit_open()) return;
    semaphore = CreateSemaphoreW( NULL, 0, COUNTED, NULL );
    for (i = 0; i < 2; i++) sched[i] = kit_add_sched( NULL );
    for (i = 0; i < 6; i++) kit_add_worker( sched[i % 2]->list, take_body, NULL );
    kit_start();
    threads[0] = CreateThread( NULL, 0, take_thread, NULL, 0, NULL );
    for (i = 1; i < 3; i++) threads[i] = CreateThread( NULL, 0, give_thread, (void *)(LONG_PTR)(i - 1), 0, NULL );
    for (i = 0; i < 3; i++)
    {
        ok( !WaitForSingleObject( threads[i], KIT_LIMIT ), "thread %d waits still\n", i );
        CloseHandle( threads[i] );
    }
    kit_finish();
    ok( !stop, "%ld waits ended without a signal\n", stop );
    ok( WaitForSingleObject( semaphore, 0 ) == WAIT_TIMEOUT, "there was one too many\n" );
    CloseHandle( semaphore );
    kit_check();
}

/* ---- suspended, killed, closed ---- */

START_TEST( scenario_object_suspended )
{
    struct kit_worker *first, *second;
    struct kit_sched *sched;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    first = kit_add_worker( sched->list, wait_body, NULL );
    kit_start();
    ok( kit_wait_value( &first->blocks, 1 ), "nobody was told\n" );
    second = kit_add_worker( sched->list, wait_body, NULL );
    ok( kit_wait_value( &second->blocks, 1 ), "nobody was told\n" );
    ok( !SuspendThread( first->thread ), "not suspended\n" );
    SetEvent( subject );
    SetEvent( subject );
    ok( kit_wait_value( &second->terminated, 1 ), "the other one did not end\n" );
    ok( !first->terminated && woken == 1, "a suspended worker ran\n" );
    ok( ResumeThread( first->thread ) == 1, "not resumed\n" );
    kit_finish();
    ok( woken == 2, "%ld of 2 were released\n", woken );
    CloseHandle( subject );
    kit_check();
}

/* Who is dead takes no signal. */
START_TEST( scenario_object_killed )
{
    struct kit_worker *victim, *other;
    struct kit_sched *sched;
    HANDLE thread;

    if (!kit_open()) return;
    subject = CreateEventW( NULL, FALSE, FALSE, NULL );
    sched = kit_add_sched( NULL );
    victim = kit_add_worker( sched->list, wait_body, NULL );
    kit_start();
    ok( kit_wait_value( &victim->blocks, 1 ), "nobody was told\n" );
    thread = CreateThread( NULL, 0, wait_thread, NULL, 0, NULL );
    ok( kit_wait_value( &waiting, 2 ), "the thread does not wait\n" );
    Sleep( 30 );                                /* in the queue, most likely; right in any case */
    other = kit_add_worker( sched->list, wait_body, NULL );
    ok( kit_wait_value( &other->blocks, 1 ), "nobody was told\n" );
    ok( TerminateThread( victim->thread, 3 ), "error %lu\n", GetLastError() );
    ok( TerminateThread( thread, 3 ), "error %lu\n", GetLastError() );
    ok( kit_wait_value( &victim->terminated, 1 ), "it did not come to the list\n" );
    ok( !WaitForSingleObject( thread, KIT_LIMIT ), "the thread did not end\n" );
    SetEvent( subject );
    kit_finish();
    ok( woken == 1, "%ld of 1 was released\n", woken );
    victim->ended = 1;                          /* as far as the kit is concerned */
    CloseHandle( thread );
    CloseHandle( subject );
    kit_check();
}

/* The value of a closed handle is used again, for another kind: nothing is left of the old one. */
START_TEST( scenario_object_value_again )
{
    int i, same = 0;

    for (i = 0; i < 50; i++)
    {
        HANDLE first = CreateEventW( NULL, TRUE, TRUE, NULL ), second;

        CloseHandle( first );
        if (i % 3 == 0) second = CreateEventW( NULL, FALSE, FALSE, NULL );
        else if (i % 3 == 1) second = CreateMutexW( NULL, TRUE, NULL );
        else second = CreateSemaphoreW( NULL, 0, 1, NULL );
        same += first == second;
        if (i % 3 == 1) ok( ReleaseMutex( second ), "error %lu\n", GetLastError() );
        else ok( WaitForSingleObject( second, 0 ) == WAIT_TIMEOUT, "signalled from the start\n" );
        ok( !SetEvent( second ) == (i % 3 != 0), "set: another kind of object\n" );
        CloseHandle( second );
        ok( !SetEvent( second ) && GetLastError() == ERROR_INVALID_HANDLE, "error %lu\n", GetLastError() );
    }
    if (!same) skip( "no value was used again\n" );
}
