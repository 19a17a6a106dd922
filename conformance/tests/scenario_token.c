/*
 * Scenarios: the registry. A worker that impersonates, and a scheduler that does, each open a key with the token of their
 * own; bad pointers give a worker the errors that they give a plain thread.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Row: B23, a worker is a thread of its own; the token is the thread's [doc: SetThreadToken, RegOpenKeyEx].
 */
#include "scenario_kit.h"
#include <sddl.h>

static HKEY parent;
static char key_name[32];                       /* other processes run this, too */
static HANDLE token;
static LSTATUS opened[5];

static void name_key( void )
{
    snprintf( key_name, sizeof(key_name), "umstest_token_%lu", GetCurrentProcessId() );
}

static LSTATUS open_key( void )
{
    LSTATUS status;
    HKEY key;

    if (!(status = RegOpenKeyExA( parent, key_name, 0, KEY_READ, &key ))) RegCloseKey( key );
    return status;
}

/* Without the group that may open the key. */
static HANDLE make_token( void )
{
    BYTE sid[SECURITY_MAX_SID_SIZE];
    SID_AND_ATTRIBUTES users = { sid, 0 };
    DWORD size = sizeof(sid);
    HANDLE own, without, made = NULL;

    if (!CreateWellKnownSid( WinBuiltinUsersSid, NULL, sid, &size ) ||
        !OpenProcessToken( GetCurrentProcess(), TOKEN_ALL_ACCESS, &own )) return NULL;
    if (CreateRestrictedToken( own, 0, 1, &users, 0, NULL, 0, NULL, &without ))
    {
        DuplicateTokenEx( without, MAXIMUM_ALLOWED, NULL, SecurityImpersonation, TokenImpersonation, &made );
        CloseHandle( without );
    }
    CloseHandle( own );
    return made;
}

static BOOL make_key( void )
{
    PSECURITY_DESCRIPTOR sd;
    LSTATUS status;
    HKEY key;

    name_key();
    if (!ok( !RegOpenKeyExA( HKEY_CURRENT_USER, "Software", 0, KEY_ALL_ACCESS, &parent ), "no parent\n" ) ||
        !ok( ConvertStringSecurityDescriptorToSecurityDescriptorA( "D:(A;;KA;;;BU)", SDDL_REVISION_1, &sd, NULL ),
             "no descriptor, error %lu\n", GetLastError() )) return FALSE;
    status = RegCreateKeyExA( parent, key_name, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, NULL );
    if (!status) status = RegSetKeySecurity( key, DACL_SECURITY_INFORMATION, sd );
    ok( !status, "no key, error %ld\n", status );
    if (!status) RegCloseKey( key );
    LocalFree( sd );
    return !status;
}

static DWORD open_body( struct kit_worker *worker )
{
    HANDLE scheduler = worker->arg;

    kit_yield( worker, NULL );
    opened[0] = open_key();
    if (!SetThreadToken( NULL, token )) return 1;
    kit_yield( worker, NULL );
    opened[1] = open_key();
    if (!RevertToSelf()) return 2;
    kit_yield( worker, NULL );
    opened[2] = open_key();
    if (!SetThreadToken( &scheduler, token )) return 3;
    kit_yield( worker, NULL );
    opened[3] = open_key();
    if (!SetThreadToken( &scheduler, NULL )) return 4;
    kit_yield( worker, NULL );
    opened[4] = open_key();
    return 0;
}

START_TEST( scenario_token )
{
    static const LSTATUS expected[] = { 0, ERROR_ACCESS_DENIED, 0, 0, 0 };
    struct kit_worker *worker;
    struct kit_sched *sched;
    unsigned int i;
    DWORD code;

    if (!ok( (token = make_token()) != NULL, "no token, error %lu\n", GetLastError() ) || !make_key()) return;
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_start();
    worker = kit_add_worker( sched->list, open_body, sched->thread );
    if (!worker) return;
    kit_finish();
    ok( !WaitForSingleObject( worker->thread, KIT_LIMIT ), "B18: its thread did not end\n" );
    ok( GetExitCodeThread( worker->thread, &code ) && !code, "call %lu failed\n", code );
    for (i = 0; i < ARRAYSIZE(expected); i++)
        ok( opened[i] == expected[i], "B23 open %u: %ld, expected %ld\n", i, opened[i], expected[i] );
    kit_check();
    RegDeleteKeyA( parent, key_name );
    RegCloseKey( parent );
    CloseHandle( token );
}

/* ---- bad pointers ---- */

typedef NTSTATUS (NTAPI *call_of_four)( void *, void *, void *, void * );
typedef NTSTATUS (NTAPI *call_of_six)( void *, void *, void *, void *, void *, void * );

#define BAD    ((void *)8)
#define CALLS  9

static UNICODE_STRING bad_name = { 8, 8, BAD };
static OBJECT_ATTRIBUTES bad_attributes = { .Length = sizeof(bad_attributes), .ObjectName = &bad_name };
static NTSTATUS of_thread[CALLS], of_worker[2][CALLS];

static void *ntdll( const char *name )
{
    return (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), name );
}

static void call_badly( NTSTATUS *results )
{
    call_of_four open = ntdll( "NtOpenKeyEx" ), remove = ntdll( "NtDeleteValueKey" );
    call_of_six query = ntdll( "NtQueryValueKey" ), set = ntdll( "NtSetValueKey" ), timer = ntdll( "NtQueryTimer" ),
                enumerate = ntdll( "NtEnumerateKey" );
    HANDLE handle = CreateWaitableTimerA( NULL, TRUE, NULL ), key = NULL;
    BYTE info[64];

    results[0] = open( &key, (void *)KEY_READ, BAD, NULL );
    results[1] = open( BAD, (void *)KEY_READ, &bad_attributes, NULL );
    results[2] = open( &key, (void *)KEY_READ, &bad_attributes, NULL );
    results[3] = query( parent, BAD, (void *)2, info, (void *)sizeof(info), &key );
    results[4] = query( parent, &bad_name, (void *)2, info, (void *)sizeof(info), &key );
    results[5] = enumerate( parent, NULL, NULL, info, (void *)sizeof(info), BAD );
    results[6] = set( parent, BAD, NULL, (void *)REG_BINARY, info, (void *)4 );
    results[7] = remove( parent, &bad_name, NULL, NULL );
    results[8] = timer( handle, NULL, BAD, (void *)16, NULL, NULL );
    CloseHandle( handle );
}

static DWORD bad_body( struct kit_worker *worker )
{
    int i;

    for (i = 0; i < 2; i++)
    {
        kit_yield( worker, NULL );
        call_badly( of_worker[i] );
    }
    return open_key() == ERROR_FILE_NOT_FOUND;
}

START_TEST( scenario_token_bad_pointers )
{
    struct kit_worker *worker;
    struct kit_sched *sched;
    DWORD code;
    int i, k;

    name_key();
    RegOpenKeyExA( HKEY_CURRENT_USER, "Software", 0, KEY_ALL_ACCESS, &parent );
    call_badly( of_thread );
    if (!kit_open()) return;
    sched = kit_add_sched( NULL );
    kit_start();
    worker = kit_add_worker( sched->list, bad_body, NULL );
    if (!worker) return;
    kit_finish();
    ok( !WaitForSingleObject( worker->thread, KIT_LIMIT ), "B18: its thread did not end\n" );
    ok( GetExitCodeThread( worker->thread, &code ) && code == 1, "the worker's last open gave something else\n" );
    for (i = 0; i < CALLS; i++)
        for (k = 0; k < 2; k++)
            ok( of_worker[k][i] == of_thread[i], "call %d: %08lx by a worker, %08lx by a thread\n", i, (ULONG)of_worker[k][i],
                (ULONG)of_thread[i] );
    kit_check();
    RegCloseKey( parent );
}
