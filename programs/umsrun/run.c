/*
 * umsrun.exe PROGRAM [ARGS...]: starts the program suspended, makes it load kernel32_ums.dll and
 * ntdll_ums.dll from the folder of umsrun.exe, resumes it, and exits with its exit code.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdlib.h>
#include <wchar.h>

#include "private/inject.h"
#include "umsrun.h"

#define DLL_NOT_FOUND 0xc0000135                /* STATUS_DLL_NOT_FOUND */
#define HEADERS       0x10000                   /* headers that begin later are taken for damaged */

static int check_program( const WCHAR *name, const WCHAR *path )
{
    static BYTE headers[HEADERS];
    const char *error;
    HANDLE file;
    DWORD size;
    BOOL ret;

    if (is_folder( path )) return fail( L"%ls is a folder", name );
    file = CreateFileW( path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                        NULL, OPEN_EXISTING, 0, NULL );
    if (file == INVALID_HANDLE_VALUE) return fail_with_error( name, GetLastError() );
    ret = ReadFile( file, headers, sizeof(headers), &size, NULL );
    CloseHandle( file );
    if (!ret) return fail_with_error( name, GetLastError() );
    if ((error = inject_check_headers( headers, size ))) return fail( L"%ls %hs", name, error );
    return 0;
}

/* Windows on Arm64 runs x64 programs by emulation, also this one. Its ntdll makes system calls in
 * another way, and it never had UMS. */
static int check_machine( void )
{
    BOOL (WINAPI *is_wow64)( HANDLE, USHORT *, USHORT * );
    USHORT process, machine = IMAGE_FILE_MACHINE_AMD64;

    is_wow64 = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ), "IsWow64Process2" );
    if (!is_wow64 || !is_wow64( GetCurrentProcess(), &process, &machine )
        || machine == IMAGE_FILE_MACHINE_AMD64)
        return 0;
    return fail( L"User-Mode Scheduling needs an x64 processor, this machine has another (%ls%x)",
                 machine == IMAGE_FILE_MACHINE_ARM64 ? L"Arm64, " : L"", machine );
}

/* Without umsrun the program would be in no job, and could create processes with CREATE_BREAKAWAY_FROM_JOB. */
static BOOL limit( HANDLE job, DWORD flags )
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = { 0 };

    info.BasicLimitInformation.LimitFlags = flags | JOB_OBJECT_LIMIT_BREAKAWAY_OK;
    return SetInformationJobObject( job, JobObjectExtendedLimitInformation, &info, sizeof(info) );
}

/* If umsrun is killed, the program ends too. At a normal end that limit of the job is removed, so
 * processes that stay in the background live on. NULL: no job can be had. */
static HANDLE create_tie( void )
{
    HANDLE job = CreateJobObjectW( NULL, NULL );

    if (job && !limit( job, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE ))
    {
        CloseHandle( job );
        job = NULL;
    }
    return job;
}

static void untie( HANDLE job )
{
    if (!job) return;
    limit( job, 0 );
    CloseHandle( job );
}

static int cannot_start( const WCHAR *name, DWORD error )
{
    if (error != ERROR_BAD_EXE_FORMAT) return fail_with_error( name, error );
    return fail( L"%ls is damaged or cut short, or no program for this system (error %lu)", name,
                 error );
}

/* Where nobody gives a program a title it is the program's path: ours is not the program's. */
static BOOL is_own_title( const WCHAR *title )
{
    WCHAR self[LONG_PATH];
    DWORD len = GetModuleFileNameW( NULL, self, ARRAYSIZE(self) );

    return title && len && len < ARRAYSIZE(self) && !_wcsicmp( title, self );
}

/* The process is in JOB from its first moment on: whenever umsrun is killed, it leaves no suspended process behind. */
static LPPROC_THREAD_ATTRIBUTE_LIST tie_list( HANDLE *job )
{
    LPPROC_THREAD_ATTRIBUTE_LIST list;
    SIZE_T size = 0;

    InitializeProcThreadAttributeList( NULL, 1, 0, &size );
    if (!*job || !(list = malloc( size ))) return NULL;
    if (InitializeProcThreadAttributeList( list, 1, 0, &size )
        && UpdateProcThreadAttribute( list, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, job, sizeof(*job), NULL, NULL ))
        return list;
    free( list );
    return NULL;
}

static BOOL create( const WCHAR *path, WCHAR *command_line, STARTUPINFOEXW *startup, PROCESS_INFORMATION *info )
{
    DWORD flags = CREATE_SUSPENDED | (startup->lpAttributeList ? EXTENDED_STARTUPINFO_PRESENT : 0);
    BOOL created = FALSE;
    int tries;

    startup->StartupInfo.cb = startup->lpAttributeList ? sizeof(*startup) : sizeof(startup->StartupInfo);
    /* On Wine 8.0 one start in thousands fails with ERROR_INTERNAL_ERROR, also without the shim: its heap covers
     * an address that Wine needs (docs/wine.md). No code of the program has run, so try again, and say so. */
    for (tries = 0; !created && tries < 3; tries++)
    {
        created = CreateProcessW( path, command_line, NULL, NULL, TRUE, flags, NULL, NULL, &startup->StartupInfo, info );
        if (!created && GetLastError() != ERROR_INTERNAL_ERROR) break;
        if (!created && tries < 2) tell( L"a start was lost (error 1359), it is made again" );
    }
    return created;
}

/* Windows before 10 cannot create a process in a job [doc]: the process is assigned afterwards. Before Windows 8, which has
 * nested jobs, that fails too if umsrun is in a job itself [doc]. */
static BOOL start( const WCHAR *path, WCHAR *command_line, HANDLE *job, PROCESS_INFORMATION *info )
{
    STARTUPINFOEXW startup = { 0 };
    BOOL started;
    DWORD error;

    GetStartupInfoW( &startup.StartupInfo );
    if (is_own_title( startup.StartupInfo.lpTitle )) startup.StartupInfo.lpTitle = NULL;
    startup.StartupInfo.lpReserved = NULL;      /* lpReserved2, open files of the C runtime, is passed on */
    if ((startup.lpAttributeList = tie_list( job )))
    {
        started = create( path, command_line, &startup, info );
        error = GetLastError();
        DeleteProcThreadAttributeList( startup.lpAttributeList );
        free( startup.lpAttributeList );
        SetLastError( error );
        if (started || error == ERROR_INTERNAL_ERROR) return started;       /* that was tried often enough */
        startup.lpAttributeList = NULL;
    }
    started = create( path, command_line, &startup, info );
    if (started && *job && !AssignProcessToJobObject( *job, info->hProcess ))
    {
        CloseHandle( *job );
        *job = NULL;
    }
    return started;
}

/* If a DLL is missing, the loader ends the process before its first instruction, without a message. */
static void tell_missing_dlls( const WCHAR *name, const WCHAR *path )
{
    WCHAR dlls[512];

    if (missing_dlls( path, dlls, ARRAYSIZE(dlls) ))
        fail( L"%ls needs %ls, which cannot be found; put it beside the program", name, dlls );
    else
        fail( L"%ls ended because a DLL could not be found (status %lx), which none of its own "
              L"imports is; WINEDEBUG=err+module names it", name, (DWORD)DLL_NOT_FOUND );
}

static HANDLE program;

/* Ctrl-C and Ctrl-Break are for the program. At the end of a console, a session or the system the system ends this process
 * when this returns, and with it goes the program (create_tie), which is told of it now [doc; not run: Wine tells of Ctrl-C only]. */
static BOOL WINAPI leave_it_to_program( DWORD event )
{
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) WaitForSingleObject( program, INFINITE );
    return TRUE;
}

int run_program( const WCHAR *name, const WCHAR *path, WCHAR *command_line )
{
    static WCHAR dir[LONG_PATH];
    PROCESS_INFORMATION info;
    const char *error;
    DWORD code = EXIT_FAILED;
    HANDLE job;

    if (check_machine() || check_program( name, path ) || find_shim( dir )) return EXIT_FAILED;
    job = create_tie();
    if (!start( path, command_line, &job, &info )) return cannot_start( name, GetLastError() );
    if ((error = inject_process( info.hProcess, dir, INJECT_REQUIRED )))
    {
        TerminateProcess( info.hProcess, EXIT_FAILED );
        fail( L"%ls cannot be given the shim: %hs", name, error );
    }
    else
    {
        program = info.hProcess;
        SetConsoleCtrlHandler( leave_it_to_program, TRUE );
        ResumeThread( info.hThread );
    }
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    untie( job );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    if (code == DLL_NOT_FOUND) tell_missing_dlls( name, path );
    return (int)code;
}
