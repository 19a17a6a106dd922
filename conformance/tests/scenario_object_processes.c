/*
 * Scenarios: an event, a semaphore and a mutex that another process gets from this one, and uses.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An inherited handle has the same value in the child, and names the same object [doc: Handle Inheritance], whether
 * it was inheritable from the start or made so by SetHandleInformation; so does a handle that DuplicateHandle has
 * put into another process [doc]. There the event is set, the semaphore is released, and the mutex is found owned,
 * then acquired and abandoned [doc: Mutex Objects].
 */
#define _WIN32_WINNT 0x0602
#include "object_kit.h"
#include "scenario_child.h"

enum { EVENT, SEMAPHORE, MUTEX, OBJECTS };

/* What both processes see. */
struct stage
{
    volatile LONG pid;                          /* of the other process, when it has begun */
    volatile LONG given;                        /* the handles are there */
    volatile LONG handle[OBJECTS];              /* a handle has 32 bits that matter [doc] */
    volatile LONG tried;                        /* the mutex: what a wait gave while it is owned here */
    volatile DWORD tried_ret;
};

static struct stage *stage;
static HANDLE objects[OBJECTS];
static volatile LONG set, released;

static struct stage *open_stage( const char *name )
{
    HANDLE mapping = CreateFileMappingA( INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, sizeof(struct stage), name );

    return mapping ? MapViewOfFile( mapping, FILE_MAP_WRITE, 0, 0, sizeof(struct stage) ) : NULL;
}

/* ---- the other process ---- */

static HANDLE given( int which )
{
    return (HANDLE)(LONG_PTR)stage->handle[which];
}

static void use_them( const char *name )
{
    if (!(stage = open_stage( name ))) ExitProcess( 1 );
    stage->pid = (LONG)GetCurrentProcessId();
    if (!kit_wait_value( &stage->given, 1 )) ExitProcess( 2 );
    stage->tried_ret = WaitForSingleObject( given( MUTEX ), 0 );
    stage->tried = 1;
    if (!SetEvent( given( EVENT ) )) ExitProcess( 3 );
    if (!ReleaseSemaphore( given( SEMAPHORE ), 2, NULL )) ExitProcess( 4 );
    ExitProcess( WaitForSingleObject( given( MUTEX ), KIT_LIMIT ) ? 5 : 42 );
}

/* ---- this one ---- */

static void wait_for_both( void )
{
    InterlockedIncrement( &waiting );
    if (!WaitForSingleObject( objects[EVENT], KIT_LIMIT )) InterlockedIncrement( &set );
    if (!WaitForSingleObject( objects[SEMAPHORE], KIT_LIMIT )) InterlockedIncrement( &released );
}

static DWORD wait_body( struct kit_worker *worker )
{
    (void)worker;
    wait_for_both();
    return 0;
}

static DWORD WINAPI wait_thread( void *arg )
{
    (void)arg;
    wait_for_both();
    return 0;
}

static void make_objects( SECURITY_ATTRIBUTES *attributes )
{
    objects[EVENT] = CreateEventW( attributes, TRUE, FALSE, NULL );
    objects[SEMAPHORE] = CreateSemaphoreW( attributes, 0, 2, NULL );
    objects[MUTEX] = CreateMutexW( attributes, TRUE, NULL );
}

static void give( HANDLE handle, int which )
{
    stage->handle[which] = (LONG)(LONG_PTR)handle;
}

static void make_inheritable( void )
{
    int i;

    for (i = 0; i < OBJECTS; i++)
        ok( SetHandleInformation( objects[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT ), "error %lu\n",
            GetLastError() );
}

/* SetHandleInformation may ask for the other flag first [seen: Wine]. */
static void make_inheritable_native( void )
{
    NTSTATUS (WINAPI *pNtSetInformationObject)( HANDLE, ULONG, void *, ULONG ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtSetInformationObject" );
    BOOLEAN flags[2] = { TRUE, FALSE };         /* inherit, protect from close */
    NTSTATUS status;
    int i;

    for (i = 0; i < OBJECTS; i++)
    {
        status = pNtSetInformationObject( objects[i], 4 /* ObjectHandleFlagInformation */, flags, sizeof(flags) );
        ok( !status, "status %08lx\n", status );
    }
}

/* With a launcher in between the other process is not our child. */
static void copy_into( DWORD pid )
{
    HANDLE process = OpenProcess( PROCESS_DUP_HANDLE, FALSE, pid ), copy = NULL;
    int i;

    for (i = 0; i < OBJECTS; i++)
    {
        ok( DuplicateHandle( GetCurrentProcess(), objects[i], process, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS ),
            "error %lu\n", GetLastError() );
        give( copy, i );
    }
    CloseHandle( process );
}

enum way { FROM_THE_START, MADE_INHERITABLE, MADE_INHERITABLE_NATIVE, COPIED };

/* Two wait while the others get to know the objects. */
static void run( enum way way )
{
    SECURITY_ATTRIBUTES inherit = { sizeof(inherit), NULL, TRUE };
    PROCESS_INFORMATION process;
    struct kit_worker *worker;
    struct kit_sched *sched;
    DWORD code = 0;
    char name[64];
    HANDLE thread;
    int i;

    if (child_value( name, sizeof(name) )) use_them( name );
    if (!kit_open()) return;
    snprintf( name, sizeof(name), "umstest-objects-%lu", GetCurrentProcessId() );
    if (!ok( (stage = open_stage( name )) != NULL, "no section\n" )) return;
    make_objects( way == FROM_THE_START ? &inherit : NULL );
    sched = kit_add_sched( NULL );
    worker = kit_add_worker( sched->list, wait_body, NULL );
    kit_start();
    thread = start_thread( wait_thread, NULL );
    ok( kit_wait_value( &waiting, 2 ), "they do not wait\n" );
    ok( kit_leaves( &worker->blocks, 0 ), "nobody was told\n" );
    if (way == MADE_INHERITABLE) make_inheritable();
    if (way == MADE_INHERITABLE_NATIVE) make_inheritable_native();
    for (i = 0; i < OBJECTS; i++) give( objects[i], i );
    if (child_start( name, &process ))
    {
        ok( kit_leaves( &stage->pid, 0 ), "it does not begin\n" );
        if (way == COPIED) copy_into( (DWORD)stage->pid );
        stage->given = 1;
        ok( kit_wait_value( &stage->tried, 1 ) && stage->tried_ret == WAIT_TIMEOUT,
            "a wait for a mutex that is owned here gave %lu there\n", stage->tried_ret );
        ok( ReleaseMutex( objects[MUTEX] ), "error %lu\n", GetLastError() );
        child_end( &process, &code );
    }
    ok( code == 42, "the other process ended with %lu\n", code );
    ok( kit_wait_value( &set, 2 ), "the event was set there: %ld of 2 were released\n", set );
    ok( kit_wait_value( &released, 2 ), "the semaphore was released there: %ld of 2 were\n", released );
    ok( WaitForSingleObject( objects[MUTEX], 0 ) == WAIT_ABANDONED_0, "the mutex was not abandoned there\n" );
    SetEvent( objects[EVENT] );
    ReleaseSemaphore( objects[SEMAPHORE], 2, NULL );
    join( thread );
    kit_finish();
    for (i = 0; i < OBJECTS; i++) CloseHandle( objects[i] );
    kit_check();
}

START_TEST( scenario_object_inheritable ) { run( FROM_THE_START ); }
START_TEST( scenario_object_made_inheritable ) { run( MADE_INHERITABLE ); }
START_TEST( scenario_object_made_inheritable_native ) { run( MADE_INHERITABLE_NATIVE ); }
START_TEST( scenario_object_copied_away ) { run( COPIED ); }
