/*
 * children shim|none: starts children in several ways, and checks that they have the shim, or that
 * they have not.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <windows.h>
#include <winternl.h>
#include <string.h>
#include <wchar.h>

#include "test.h"

#define HAS_SHIM 10
#define HAS_NONE 11
#define NATIVES  30                             /* one in ten went without the shim, by chance */

static DWORD probe( void )
{
    void *shim = GetModuleHandleW( L"kernel32_ums.dll" );
    void *name = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "RtlExecuteUmsThread" );

    return shim && name ? HAS_SHIM : HAS_NONE;
}

static DWORD run( const char *program, const char *command, DWORD flags )
{
    char line[MAX_PATH * 2 + 64];
    STARTUPINFOA startup = { .cb = sizeof(startup) };
    PROCESS_INFORMATION info;
    DWORD code = 0;

    snprintf( line, sizeof(line), command, program );
    if (!CreateProcessA( NULL, line, NULL, NULL, FALSE, flags, NULL, NULL, &startup, &info ))
    {
        printf( "%s: error %lu\n", line, GetLastError() );
        return 0;
    }
    if (flags & CREATE_SUSPENDED) ResumeThread( info.hThread );
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return code;
}

/* ---- NtCreateUserProcess, which need not make it suspended. Structures [seen]: phnt, Wine ---- */

struct attribute { ULONG_PTR attribute; SIZE_T size; void *value; SIZE_T *returned; };
struct attributes { SIZE_T total; struct attribute image; };
struct create_info { SIZE_T size; ULONG_PTR rest[10]; };

#define IMAGE_NAME 0x20005

typedef NTSTATUS (NTAPI *create_user_process)( HANDLE *, HANDLE *, ACCESS_MASK, ACCESS_MASK, void *, void *, ULONG, ULONG, void *,
                                               struct create_info *, struct attributes * );
typedef NTSTATUS (NTAPI *create_parameters)( void **, UNICODE_STRING *, UNICODE_STRING *, UNICODE_STRING *, UNICODE_STRING *,
                                             void *, UNICODE_STRING *, UNICODE_STRING *, UNICODE_STRING *, UNICODE_STRING *,
                                             ULONG );

static DWORD run_native( void )
{
    HMODULE ntdll = GetModuleHandleW( L"ntdll.dll" );
    create_user_process create = (void *)GetProcAddress( ntdll, "NtCreateUserProcess" );
    create_parameters prepare = (void *)GetProcAddress( ntdll, "RtlCreateProcessParametersEx" );
    WCHAR path[MAX_PATH], native[MAX_PATH + 4], line[MAX_PATH + 16];
    UNICODE_STRING image, command, name;
    struct attributes attributes = { sizeof(attributes), { IMAGE_NAME, 0, native, NULL } };
    struct create_info info = { sizeof(info), { 0 } };
    HANDLE process, thread;
    void *parameters;
    DWORD code = 0;

    GetModuleFileNameW( NULL, path, MAX_PATH );
    wcscat( wcscpy( native, L"\\??\\" ), path );
    wcscat( wcscat( wcscpy( line, L"\"" ), path ), L"\" probe" );
    RtlInitUnicodeString( &image, path );
    RtlInitUnicodeString( &command, line );
    RtlInitUnicodeString( &name, native );
    attributes.image.size = name.Length;
    if (prepare( &parameters, &image, NULL, NULL, &command, NULL, NULL, NULL, NULL, NULL, 1 )) return 0;
    if (create( &process, &thread, PROCESS_ALL_ACCESS, THREAD_ALL_ACCESS, NULL, NULL, 0, 0, parameters, &info, &attributes ))
        return 0;
    WaitForSingleObject( process, INFINITE );
    GetExitCodeProcess( process, &code );
    CloseHandle( thread );
    CloseHandle( process );
    return code;
}

/* ---- a program that has the name of one of the host's ---- */

static DWORD run_as_helper( const char *program )
{
    char temp[MAX_PATH - 60], folder[MAX_PATH - 20], copy[MAX_PATH];
    DWORD code = 0;

    /* this program may run several times at once */
    GetTempPathA( sizeof(temp), temp );
    snprintf( folder, sizeof(folder), "%schildren%lu", temp, GetCurrentProcessId() );
    snprintf( copy, sizeof(copy), "%s\\explorer.exe", folder );
    CreateDirectoryA( folder, NULL );
    if (CopyFileA( program, copy, FALSE )) code = run( copy, "\"%s\" probe", 0 );
    DeleteFileA( copy );
    RemoveDirectoryA( folder );
    return code;
}

static DWORD WINAPI run_in_thread( void *program )
{
    return run( program, "\"%s\" probe", 0 );
}

int main( int argc, char **argv )
{
    char program[MAX_PATH];
    DWORD want, code;
    HANDLE thread;
    int i;

    if (argc < 2) return 1;
    GetModuleFileNameA( NULL, program, sizeof(program) );
    if (!strcmp( argv[1], "probe" )) return probe();
    if (!strcmp( argv[1], "relay" )) return run( program, "\"%s\" probe", 0 );
    want = strcmp( argv[1], "shim" ) ? HAS_NONE : HAS_SHIM;

    ok( probe() == HAS_SHIM, "this program has no shim itself" );
    ok( (code = run( program, "\"%s\" probe", 0 )) == want, "child: %lu", code );
    ok( (code = run( program, "\"%s\" probe", CREATE_SUSPENDED )) == want, "suspended child: %lu",
        code );
    /* a program that is in no job may ask for that, and umsrun has put it into one */
    ok( (code = run( program, "\"%s\" probe", CREATE_BREAKAWAY_FROM_JOB )) == want, "outside the job: %lu", code );
    ok( (code = run( program, "\"%s\" relay", 0 )) == want, "grandchild: %lu", code );
    ok( (code = run( program, "cmd.exe /c \"\"%s\" probe\"", 0 )) == want, "through cmd.exe: %lu",
        code );
    thread = CreateThread( NULL, 0, run_in_thread, program, 0, NULL );
    WaitForSingleObject( thread, INFINITE );
    ok( GetExitCodeThread( thread, &code ) && code == want, "from another thread: %lu", code );
    CloseHandle( thread );
    for (i = 0; i < NATIVES; i++) ok( (code = run_native()) == want, "child %d of NtCreateUserProcess: %lu", i, code );
    ok( (code = run_as_helper( program )) == want, "child explorer.exe: %lu", code );
    return test_end();
}
