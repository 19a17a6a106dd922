/*
 * Attribute lists (ums.md 3): everything but the UMS attribute passes through untouched, and so
 * does thread creation without it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where a rule for other attributes is needed, kernel32's own functions are asked and compared
 * with.
 */
#include "umslib.h"

#ifndef PROC_THREAD_ATTRIBUTE_PARENT_PROCESS
#define PROC_THREAD_ATTRIBUTE_PARENT_PROCESS 0x00020000
#endif
#ifndef PROC_THREAD_ATTRIBUTE_HANDLE_LIST
#define PROC_THREAD_ATTRIBUTE_HANDLE_LIST 0x00020002
#endif
#ifndef PROC_THREAD_ATTRIBUTE_GROUP_AFFINITY
#define PROC_THREAD_ATTRIBUTE_GROUP_AFFINITY 0x00030003
#endif
#ifndef PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR
#define PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR 0x00030005
#endif

#ifndef ERROR_OBJECT_NAME_EXISTS
#define ERROR_OBJECT_NAME_EXISTS 698L
#endif

#define UMS_SIZE sizeof(UMS_CREATE_THREAD_ATTRIBUTES)

/* kernel32's functions as GetProcAddress gives them; in a redirected process they are ours */
#define X( ret, name, args ) static ret (WINAPI *s##name) args;
UMS_KERNEL32_DOORS( X )
#undef X

static void system_init( void )
{
    HMODULE kernel32 = GetModuleHandleA( "kernel32.dll" );

#define X( ret, name, args ) \
    s##name = (ret (WINAPI *) args)(void *)GetProcAddress( kernel32, #name );
    UMS_KERNEL32_DOORS( X )
#undef X
}

/* 3 the probe: FALSE, 122, a size; D17. The size is enough, and is no secret: same as the
 * system's */
START_TEST( attr_probe )
{
    SIZE_T size, again;
    DWORD error, count;
    BOOL ret;

    if (!need( InitializeProcThreadAttributeList )) return;
    system_init();
    for (count = 1; count < 8; count++)
    {
        push( "3 probe for %lu", count );
        size = 0;
        CALL( ret, error, pInitializeProcThreadAttributeList( NULL, count, 0, &size ) );
        ok( !ret && error == ERROR_INSUFFICIENT_BUFFER, "expected failure %lu, got %d error %lu\n",
            (DWORD)ERROR_INSUFFICIENT_BUFFER, ret, error );
        ok( size != 0 && size < 1024, "size %llu\n", (ULONGLONG)size );
        again = 0;
        sInitializeProcThreadAttributeList( NULL, count, 0, &again );
        ok( again == size, "size %llu, the system's %llu\n", (ULONGLONG)size, (ULONGLONG)again );
        pop();
    }
}

/* 3, C4, D19 a large buffer without a probe, aligned to a pointer only; the list works */
START_TEST( attr_scratch_buffer )
{
    static DWORD_PTR scratch[65536 / sizeof(DWORD_PTR) + 1];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)(scratch + 1);
    PUMS_COMPLETION_LIST list = list_create();
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    SIZE_T size = 65536;
    BOOL ret;

    ok( pCreateUmsThreadContext( &ums.UmsContext ), "no context, error %lu\n", GetLastError() );
    ret = pInitializeProcThreadAttributeList( attrs, 1, 0, &size );
    ok( ret, "C4 initialize with 64 KB failed, error %lu\n", GetLastError() );
    ret = pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, UMS_SIZE,
                                      NULL, NULL );
    ok( ret, "3 update failed, error %lu\n", GetLastError() );
    pDeleteProcThreadAttributeList( attrs );
    ok( context_is_terminated( ums.UmsContext ) == 1,
        "3 a list without a thread touched the context\n" );
    ok( pDeleteUmsThreadContext( ums.UmsContext ), "context not deleted, error %lu\n",
        GetLastError() );
    pDeleteUmsCompletionList( list );
}

/* 3 the UMS attribute's size is 24; others ERROR_BAD_LENGTH [guess] */
START_TEST( attr_ums_size )
{
    static const SIZE_T sizes[] = { 0, 1, 8, 16, 23, 25, 32, 48, (SIZE_T)-1 };
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    BYTE value[64] = { 0 };
    size_t i;

    ok( pInitializeProcThreadAttributeList( attrs, 1, 0, &size ), "3 no list, error %lu\n",
        GetLastError() );
    for (i = 0; i < ARRAYSIZE(sizes); i++)
    {
        push( "3 size %lld", (LONGLONG)sizes[i] );
        UNVERIFIED_FAILS( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD,
                                                      value, sizes[i], NULL, NULL ),
                          ERROR_BAD_LENGTH );
        pop();
    }
    ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, value, UMS_SIZE,
                                    NULL, NULL ),
        "3 the right size after wrong ones: error %lu\n", GetLastError() );
    pDeleteProcThreadAttributeList( attrs );
}

/* ---- other attributes: compare with the system ---- */

struct step
{
    DWORD_PTR attribute;
    SIZE_T    size;
};

/* A list of count attributes and some updates; what ours and the system's functions say to each. */
static void compare( const char *what, DWORD count, const struct step *steps, int step_count )
{
    DWORD_PTR ours[64], theirs[64];
    LPPROC_THREAD_ATTRIBUTE_LIST mine = (LPPROC_THREAD_ATTRIBUTE_LIST)ours;
    LPPROC_THREAD_ATTRIBUTE_LIST system = (LPPROC_THREAD_ATTRIBUTE_LIST)theirs;
    DWORD_PTR value[8] = { 0 };
    DWORD error, error_system;
    SIZE_T size = sizeof(ours), size_system = sizeof(theirs);
    BOOL ret, ret_system;
    int i;

    push( "%s", what );
    ok( pInitializeProcThreadAttributeList( mine, count, 0, &size ), "no list, error %lu\n",
        GetLastError() );
    ok( sInitializeProcThreadAttributeList( system, count, 0, &size_system ),
        "no list, error %lu\n", GetLastError() );
    value[0] = (DWORD_PTR)GetCurrentProcess();
    for (i = 0; i < step_count; i++)
    {
        CALL( ret, error,
              pUpdateProcThreadAttribute( mine, 0, steps[i].attribute, value, steps[i].size, NULL,
                                          NULL ) );
        CALL( ret_system, error_system,
              sUpdateProcThreadAttribute( system, 0, steps[i].attribute, value, steps[i].size, NULL,
                                          NULL ) );
        ok( !ret == !ret_system && (ret || error == error_system),
            "step %d, attribute %#llx size %llu: %d error %lu, the system says %d error %lu\n", i,
            (ULONGLONG)steps[i].attribute, (ULONGLONG)steps[i].size, ret, error, ret_system,
            error_system );
    }
    pDeleteProcThreadAttributeList( mine );
    sDeleteProcThreadAttributeList( system );
    pop();
}

/* 3 other attributes: right and wrong size, twice, too many, unknown: as the system has it */
START_TEST( attr_pass_through )
{
    static const struct step right[] = { { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, sizeof(HANDLE) } };
    static const struct step wrong[] = { { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 4 },
                                         { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 16 },
                                         { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 0 },
                                         { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 8 } };
    static const struct step twice[] = { { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 8 },
                                         { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 8 } };
    static const struct step full[] = { { PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, 8 },
                                        { PROC_THREAD_ATTRIBUTE_HANDLE_LIST, 8 } };
    static const struct step thread[] = { { PROC_THREAD_ATTRIBUTE_GROUP_AFFINITY, 16 },
                                          { PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR, 4 },
                                          { PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR, 8 } };
    static const struct step unknown[] = { { 0x0003ffff, 8 },    { 0, 0 },
                                           { (DWORD_PTR)-1, 8 }, { 0x00020006, 24 },
                                           { 0x00010006, 24 },   { 6, 24 } };

    system_init();
    compare( "3 right size", 1, right, ARRAYSIZE(right) );
    compare( "3 wrong size", 1, wrong, ARRAYSIZE(wrong) );
    compare( "3 twice", 2, twice, ARRAYSIZE(twice) );
    compare( "3 twice in a list of one", 1, twice, ARRAYSIZE(twice) );
    compare( "3 list full", 1, full, ARRAYSIZE(full) );
    compare( "3 two", 2, full, ARRAYSIZE(full) );
    compare( "3 thread attributes", 3, thread, ARRAYSIZE(thread) );
    compare( "3 unknown", 6, unknown, ARRAYSIZE(unknown) );
}

/* 3 the UMS attribute twice, or in a full list: like every other attribute [guess] */
START_TEST( attr_ums_limits )
{
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, NULL };
    HANDLE parent = GetCurrentProcess();

    ok( pInitializeProcThreadAttributeList( attrs, 2, 0, &size ), "3 no list, error %lu\n",
        GetLastError() );
    ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums, UMS_SIZE,
                                    NULL, NULL ),
        "3 first: error %lu\n", GetLastError() );
    UNVERIFIED_FAILS( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                                  UMS_SIZE, NULL, NULL ),
                      ERROR_OBJECT_NAME_EXISTS );
    ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, &parent,
                                    sizeof(parent), NULL, NULL ),
        "3 another one beside it: error %lu\n", GetLastError() );
    pDeleteProcThreadAttributeList( attrs );

    size = sizeof(space);
    ok( pInitializeProcThreadAttributeList( attrs, 1, 0, &size ), "3 no list, error %lu\n",
        GetLastError() );
    ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, &parent,
                                    sizeof(parent), NULL, NULL ),
        "3 parent: error %lu\n", GetLastError() );
    UNVERIFIED_FAILS( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                                  UMS_SIZE, NULL, NULL ),
                      ERROR_GEN_FAILURE );
    pDeleteProcThreadAttributeList( attrs );
}

/* ---- threads without the attribute ---- */

struct plain
{
    HANDLE         go;
    struct outcome current;
    volatile LONG  ran;
};

static DWORD WINAPI plain_thread( void *arg )
{
    struct plain *plain = arg;

    OUTCOME( plain->current, pGetCurrentUmsThread() );
    plain->ran = 1;
    return 5;
}

static void check_plain( HANDLE thread, struct plain *plain, const char *what )
{
    DWORD code = 0;

    if (!ok( thread != NULL, "3 %s: no thread, error %lu\n", what, GetLastError() )) return;
    ok( WaitForSingleObject( thread, WAIT_BOUND ) == WAIT_OBJECT_0,
        "3 %s: does not run within %d ms\n", what, WAIT_BOUND );
    ok( GetExitCodeThread( thread, &code ) && code == 5, "3 %s: exit code %lu\n", what, code );
    ok( plain->ran && !plain->current.ret && plain->current.error == ERROR_NOT_SUPPORTED,
        "3 %s: GetCurrentUmsThread %#llx error %lu\n", what, (ULONGLONG)plain->current.ret,
        plain->current.error );
    CloseHandle( thread );
    memset( plain, 0, sizeof(*plain) );
}

/* 3 CreateThread, CreateRemoteThread and CreateRemoteThreadEx without the attribute: plain, running
 * threads */
START_TEST( attr_plain_threads )
{
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    SIZE_T size = sizeof(space);
    struct plain plain = { 0 };
    HANDLE thread;
    DWORD tid = 0;

    check_plain( CreateThread( NULL, 0, plain_thread, &plain, 0, NULL ), &plain, "CreateThread" );
    check_plain( CreateRemoteThread( GetCurrentProcess(), NULL, 0, plain_thread, &plain, 0, &tid ),
                 &plain, "CreateRemoteThread" );
    ok( tid != 0, "3 no thread id\n" );
    check_plain(
        pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, plain_thread, &plain, 0, NULL, &tid ),
        &plain, "CreateRemoteThreadEx, no list" );
    thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, plain_thread, &plain,
                                    CREATE_SUSPENDED, NULL, NULL );
    ok( thread && WaitForSingleObject( thread, 50 ) == WAIT_TIMEOUT && !plain.ran,
        "3 suspended thread runs\n" );
    ok( ResumeThread( thread ) == 1, "3 previous suspend count is not 1\n" );
    check_plain( thread, &plain, "CreateRemoteThreadEx, suspended" );

    ok( pInitializeProcThreadAttributeList( attrs, 1, 0, &size ), "3 no list, error %lu\n",
        GetLastError() );
    check_plain(
        pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, plain_thread, &plain, 0, attrs, &tid ),
        &plain, "CreateRemoteThreadEx, empty list" );
    pDeleteProcThreadAttributeList( attrs );
    FAILS( pCreateRemoteThreadEx( (HANDLE)0xdeadbec, NULL, 0, plain_thread, &plain, 0, NULL, NULL ),
           ERROR_INVALID_HANDLE );
}

/* 3 UMS and another attribute in one list, in both orders */
START_TEST( attr_mixed )
{
    PUMS_COMPLETION_LIST list = list_create();
    UMS_CREATE_THREAD_ATTRIBUTES ums = { UMS_VERSION, NULL, list };
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    PROCESSOR_NUMBER processor = { 0, 0, 0 };
    GROUP_AFFINITY affinity;
    struct plain plain;
    HANDLE thread;
    SIZE_T size;
    int order, step, added;

    for (order = 0; order < 2; order++)
    {
        push( "3 UMS attribute %s", order ? "second" : "first" );
        memset( &plain, 0, sizeof(plain) );
        memset( &affinity, 0, sizeof(affinity) );
        affinity.Mask = 1;
        size = sizeof(space);
        ok( pCreateUmsThreadContext( &ums.UmsContext ), "no context, error %lu\n", GetLastError() );
        ok( pInitializeProcThreadAttributeList( attrs, 2, 0, &size ), "no list, error %lu\n",
            GetLastError() );
        for (step = added = 0; step < 2; step++)
        {
            if (step == order)
                ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_UMS_THREAD, &ums,
                                                UMS_SIZE, NULL, NULL ),
                    "no UMS attribute, error %lu\n", GetLastError() );
            else
                /* Wine has one of them */
                added = pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_GROUP_AFFINITY,
                                                    &affinity, sizeof(affinity), NULL, NULL ) ||
                        pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_IDEAL_PROCESSOR,
                                                    &processor, sizeof(processor), NULL, NULL );
        }
        ok( added, "the other attribute is refused, error %lu\n", GetLastError() );
        thread = pCreateRemoteThreadEx( GetCurrentProcess(), NULL, 0, plain_thread, &plain, 0,
                                        attrs, NULL );
        if (ok( thread != NULL, "no worker%s, error %lu\n", added ? "" : " (no other attribute)",
                GetLastError() ))
        {
            finish_workers( list, NULL, 0, 1 );
            ok( plain.current.ret == (ULONG_PTR)ums.UmsContext, "the thread is no worker: %#llx\n",
                (ULONGLONG)plain.current.ret );
            CloseHandle( thread );
        }
        pDeleteProcThreadAttributeList( attrs );
        ok( pDeleteUmsThreadContext( ums.UmsContext ), "context not deleted, error %lu\n",
            GetLastError() );
        pop();
    }
    pDeleteUmsCompletionList( list );
}

/* 3 a list without the UMS attribute is the system's own: CreateProcess takes it */
START_TEST( attr_create_process )
{
    DWORD_PTR space[64];
    LPPROC_THREAD_ATTRIBUTE_LIST attrs = (LPPROC_THREAD_ATTRIBUTE_LIST)space;
    HANDLE parent = OpenProcess( PROCESS_ALL_ACCESS, FALSE, GetCurrentProcessId() );
    char exe[MAX_PATH], command[MAX_PATH + 16];
    SIZE_T size = sizeof(space);
    PROCESS_INFORMATION pi;
    STARTUPINFOEXA si;
    DWORD code = 0;

    GetModuleFileNameA( NULL, exe, sizeof(exe) );
    snprintf( command, sizeof(command), "\"%s\" --help", exe );
    memset( &si, 0, sizeof(si) );
    si.StartupInfo.cb = sizeof(si);
    si.lpAttributeList = attrs;
    ok( pInitializeProcThreadAttributeList( attrs, 1, 0, &size ), "no list, error %lu\n",
        GetLastError() );
    ok( pUpdateProcThreadAttribute( attrs, 0, PROC_THREAD_ATTRIBUTE_PARENT_PROCESS, &parent,
                                    sizeof(parent), NULL, NULL ),
        "no attribute, error %lu\n", GetLastError() );
    if (ok( umstest_create_process( exe, command, FALSE,
                                    EXTENDED_STARTUPINFO_PRESENT | CREATE_NO_WINDOW,
                                    &si.StartupInfo, &pi ),
            "3 no process, error %lu\n", GetLastError() ))
    {
        ok( WaitForSingleObject( pi.hProcess, WAIT_BOUND ) == WAIT_OBJECT_0,
            "no end within %d ms\n", WAIT_BOUND );
        ok( GetExitCodeProcess( pi.hProcess, &code ) && code == 1, "exit code %lu, expected 1\n",
            code );
        CloseHandle( pi.hProcess );
        CloseHandle( pi.hThread );
    }
    pDeleteProcThreadAttributeList( attrs );
    CloseHandle( parent );
}
