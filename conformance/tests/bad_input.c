/*
 * Pointers that are no list and no context, deleted ones, the wrong kind of one.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Windows follows such pointers and may crash; the shim promises FALSE with
 * ERROR_INVALID_PARAMETER. So these tests are for the shim only, and everything in them is
 * unverified by nature.
 */
#include "umslib.h"

static BOOL only_shim( void )
{
    if (umstest_is_shim()) return TRUE;
    skip( "Windows does not validate these pointers\n" );
    return FALSE;
}

#define WILD_MAX 16

struct wild
{
    void       *pointer[WILD_MAX];
    const char *name[WILD_MAX];
    int         count;
    void       *heap, *page, *guard;
};

static void wild_add( struct wild *wild, void *pointer, const char *name )
{
    wild->pointer[wild->count] = pointer;
    wild->name[wild->count++] = name;
}

static void wild_init( struct wild *wild, void *real )
{
    static DWORD_PTR zeroes[512];
    static DWORD_PTR on_data[512];

    memset( wild, 0, sizeof(*wild) );
    memset( on_data, 0xcc, sizeof(on_data) );
    wild->heap = HeapAlloc( GetProcessHeap(), HEAP_ZERO_MEMORY, 0x600 );
    wild->page = VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_READONLY );
    wild->guard = VirtualAlloc( NULL, 0x1000, MEM_COMMIT | MEM_RESERVE, PAGE_NOACCESS );
    wild_add( wild, WILD_LOW, "0x10" );
    wild_add( wild, (void *)1, "1" );
    wild_add( wild, zeroes, "zeroes" );
    wild_add( wild, on_data, "pattern" );
    wild_add( wild, wild->heap, "heap" );
    wild_add( wild, wild->page, "read-only page" );
    wild_add( wild, (BYTE *)wild->page + 0xff8, "end of a page" );
    wild_add( wild, wild->guard, "no access" );
    wild_add( wild, (void *)(LONG_PTR)-1, "-1" );
    wild_add( wild, (void *)0xffff800000000000, "kernel address" );
    wild_add( wild, (void *)0x1234567812345678, "not canonical" );
    wild_add( wild, (void *)(ULONG_PTR)only_shim, "code" );
    if (!real) return;
    wild_add( wild, (BYTE *)real + 1, "real one + 1" );
    wild_add( wild, (BYTE *)real + 8, "real one + 8" );
    wild_add( wild, (BYTE *)real + 64, "real one + 64" );
}

static void wild_free( struct wild *wild )
{
    HeapFree( GetProcessHeap(), 0, wild->heap );
    VirtualFree( wild->page, 0, MEM_RELEASE );
    VirtualFree( wild->guard, 0, MEM_RELEASE );
}

/* bad input: wild contexts, on a plain thread */
START_TEST( bad_context )
{
    PUMS_CONTEXT context = NULL;
    void *value = NULL;
    struct wild wild;
    int i;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    wild_init( &wild, context );
    for (i = 0; i < wild.count; i++)
    {
        push( "%s", wild.name[i] );
        UNVERIFIED_FAILS( pDeleteUmsThreadContext( wild.pointer[i] ), ERROR_INVALID_PARAMETER );
        UNVERIFIED_FAILS(
            pQueryUmsThreadInformation( wild.pointer[i], UmsThreadUserContext, &value, 8, NULL ),
            ERROR_INVALID_PARAMETER );
        UNVERIFIED_FAILS(
            pSetUmsThreadInformation( wild.pointer[i], UmsThreadUserContext, &value, 8 ),
            ERROR_INVALID_PARAMETER );
        UNVERIFIED_FAILS( pGetNextUmsListItem( wild.pointer[i] ), ERROR_INVALID_PARAMETER );
        pop();
    }
    FAILS( pQueryUmsThreadInformation( NULL, UmsThreadUserContext, &value, 8, NULL ),
           ERROR_INVALID_PARAMETER );
    FAILS( pSetUmsThreadInformation( NULL, UmsThreadUserContext, &value, 8 ),
           ERROR_INVALID_PARAMETER );
    ok( pDeleteUmsThreadContext( context ), "the real one suffered: error %lu\n", GetLastError() );
    wild_free( &wild );
}

static struct wild execute_wild;
static struct outcome execute_outcome[WILD_MAX];

static void execute_all( void *arg )
{
    int i;

    (void)arg;
    for (i = 0; i < execute_wild.count; i++)
        OUTCOME( execute_outcome[i], pExecuteUmsThread( execute_wild.pointer[i] ) );
}

/* bad input: executing wild contexts */
START_TEST( bad_execute )
{
    PUMS_CONTEXT context = NULL;
    int i;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    wild_init( &execute_wild, context );
    on_scheduler( execute_all, NULL );
    for (i = 0; i < execute_wild.count; i++)
        unverified ok( !execute_outcome[i].ret &&
                           execute_outcome[i].error == ERROR_INVALID_PARAMETER,
                       "execute of %s: %llu error %lu\n", execute_wild.name[i],
                       (ULONGLONG)execute_outcome[i].ret, execute_outcome[i].error );
    ok( pDeleteUmsThreadContext( context ), "the real one suffered: error %lu\n", GetLastError() );
    wild_free( &execute_wild );
}

static void WINAPI never_called( RTL_UMS_SCHEDULER_REASON reason, ULONG_PTR payload, PVOID param )
{
    (void)reason; (void)payload;
    InterlockedIncrement( param );
}

static DWORD WINAPI return_zero( void *arg )
{
    (void)arg;
    return 0;
}

/* A creation that must fail with 87 and leave the context alone. */
static void fail_to_create( void *context, void *list )
{
    struct attr_buffer buffer;
    HANDLE thread;
    DWORD error;

    SetLastError( POISON );
    thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, return_zero, NULL, 0,
                                    attr_list_make( &buffer, context, list ), NULL );
    error = GetLastError();
    unverified ok( !thread && error == ERROR_INVALID_PARAMETER, "creation: %p error %lu\n", thread,
                   error );
    pDeleteProcThreadAttributeList( (LPPROC_THREAD_ATTRIBUTE_LIST)buffer.space );
}

/* All functions that take a list. */
static void use_list( void *list, PUMS_CONTEXT context )
{
    LONG called = 0;
    UMS_SCHEDULER_STARTUP_INFO info = { UMS_VERSION, list, never_called, &called };
    PUMS_CONTEXT first;
    HANDLE event;

    UNVERIFIED_FAILS( pDeleteUmsCompletionList( list ), ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pGetUmsCompletionListEvent( list, &event ), ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pDequeueUmsCompletionListItems( list, 0, &first ), ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pDequeueUmsCompletionListItems( list, 10, &first ), ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pEnterUmsSchedulingMode( &info ), ERROR_INVALID_PARAMETER );
    ok( !called, "entered scheduling mode\n" );
    fail_to_create( context, list );
}

/* bad input: wild lists */
START_TEST( bad_list )
{
    PUMS_COMPLETION_LIST list = list_create();
    PUMS_CONTEXT context = NULL;
    struct wild wild;
    int i;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    wild_init( &wild, list );
    for (i = 0; i < wild.count; i++)
    {
        push( "%s", wild.name[i] );
        use_list( wild.pointer[i], context );
        pop();
    }
    ok( pDeleteUmsThreadContext( context ), "context suffered: error %lu\n", GetLastError() );
    ok( pDeleteUmsCompletionList( list ), "the real one suffered: error %lu\n", GetLastError() );
    wild_free( &wild );
}

/* bad input: deleted lists, double delete */
START_TEST( bad_deleted_list )
{
    PUMS_COMPLETION_LIST list = list_create(), others[16];
    PUMS_CONTEXT context = NULL;
    int i;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    ok( pDeleteUmsCompletionList( list ), "not deleted, error %lu\n", GetLastError() );
    use_list( list, context );
    for (i = 0; i < 16; i++) others[i] = list_create();
    for (i = 0; i < 16; i++)
        ok( pDeleteUmsCompletionList( others[i] ), "not deleted, error %lu\n", GetLastError() );
    ok( pDeleteUmsThreadContext( context ), "context suffered: error %lu\n", GetLastError() );
}

/* bad input: deleted contexts in creation and execution */
START_TEST( bad_deleted_context )
{
    PUMS_COMPLETION_LIST list = list_create();
    struct worker worker = { 0 };
    PUMS_CONTEXT context = NULL;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    ok( pDeleteUmsThreadContext( context ), "not deleted, error %lu\n", GetLastError() );
    fail_to_create( context, list );

    /* one that had a worker */
    if (!ok( worker_create( &worker, list, NULL, NULL, 0 ), "no worker, error %lu\n",
             GetLastError() ))
        return;
    finish_workers( list, NULL, 0, 1 );
    context = worker.context;
    ok( worker_delete( &worker ), "not deleted, error %lu\n", GetLastError() );
    UNVERIFIED_FAILS( pDeleteUmsThreadContext( context ), ERROR_INVALID_PARAMETER );
    memset( &execute_wild, 0, sizeof(execute_wild) );
    wild_add( &execute_wild, context, "deleted" );
    on_scheduler( execute_all, NULL );
    unverified ok( !execute_outcome[0].ret && execute_outcome[0].error == ERROR_INVALID_PARAMETER,
                   "execute of a deleted context: %llu error %lu\n",
                   (ULONGLONG)execute_outcome[0].ret, execute_outcome[0].error );
    pDeleteUmsCompletionList( list );
}

/* bad input: a list where a context is wanted, and the other way round */
START_TEST( bad_kind )
{
    PUMS_COMPLETION_LIST list = list_create();
    PUMS_CONTEXT context = NULL;
    void *value = NULL;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    UNVERIFIED_FAILS( pDeleteUmsThreadContext( list ), ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pQueryUmsThreadInformation( list, UmsThreadUserContext, &value, 8, NULL ),
                      ERROR_INVALID_PARAMETER );
    UNVERIFIED_FAILS( pGetNextUmsListItem( list ), ERROR_INVALID_PARAMETER );
    memset( &execute_wild, 0, sizeof(execute_wild) );
    wild_add( &execute_wild, list, "list" );
    on_scheduler( execute_all, NULL );
    unverified ok( !execute_outcome[0].ret && execute_outcome[0].error == ERROR_INVALID_PARAMETER,
                   "execute of a list: error %lu\n", execute_outcome[0].error );
    use_list( context, context );
    fail_to_create( list, context );
    ok( pDeleteUmsThreadContext( context ), "context suffered: error %lu\n", GetLastError() );
    ok( pDeleteUmsCompletionList( list ), "list suffered: error %lu\n", GetLastError() );
}

/* bad input: no buffer; the error is not laid down, but there is one (D3) */
START_TEST( bad_buffer )
{
    PUMS_CONTEXT context = NULL;
    DWORD error;
    BOOL ret;

    if (!only_shim()) return;
    ok( pCreateUmsThreadContext( &context ), "no context, error %lu\n", GetLastError() );
    CALL( ret, error, pQueryUmsThreadInformation( context, UmsThreadUserContext, NULL, 8, NULL ) );
    unverified ok( !ret && error && error != POISON, "Query without a buffer: %d error %lu\n", ret,
                   error );
    CALL( ret, error, pSetUmsThreadInformation( context, UmsThreadUserContext, NULL, 8 ) );
    unverified ok( !ret && error && error != POISON, "Set without a buffer: %d error %lu\n", ret,
                   error );
    ok( pDeleteUmsThreadContext( context ), "context suffered: error %lu\n", GetLastError() );
}
