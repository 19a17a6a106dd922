/*
 * umsrun.exe PROGRAM [ARGS...]: runs a 64-bit program with User-Mode Scheduling, and ends with its
 * exit code. 2: it could not be run, and one line says why. umsrun.exe --info runs umsinfo.exe:
 * does it work here, and how?
 *
 * It starts the program suspended, makes it load kernel32_ums.dll and ntdll_ums.dll, which lie
 * beside umsrun.exe, and lets it go. The program's command line is passed as it was typed.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "private/inject.h"
#include "top.h"
#include "umsrun.h"

#define MAX_LINE (2 * LONG_PATH + 256)

static void write_line( DWORD where, WCHAR *text )
{
    static char bytes[3 * MAX_LINE];
    HANDLE out = GetStdHandle( where );
    DWORD mode, len, done;

    wcscat( text, L"\n" );
    if (GetConsoleMode( out, &mode )) WriteConsoleW( out, text, wcslen( text ), &done, NULL );
    else
    {
        len = WideCharToMultiByte( CP_UTF8, 0, text, wcslen( text ), bytes, sizeof(bytes), NULL,
                                   NULL );
        WriteFile( out, bytes, len, &done, NULL );
    }
}

int fail( const WCHAR *format, ... )
{
    WCHAR text[MAX_LINE] = L"umsrun: ";
    va_list args;

    va_start( args, format );
    vswprintf( text + 8, ARRAYSIZE(text) - 10, format, args );
    va_end( args );
    write_line( STD_ERROR_HANDLE, text );
    return EXIT_FAILED;
}

void say( const WCHAR *format, ... )
{
    WCHAR text[MAX_LINE];
    va_list args;

    va_start( args, format );
    vswprintf( text, ARRAYSIZE(text) - 2, format, args );
    va_end( args );
    write_line( STD_OUTPUT_HANDLE, text );
}

const WCHAR *error_text( DWORD error, const WCHAR *what )
{
    static WCHAR text[MAX_LINE];
    DWORD_PTR names[9], i;
    DWORD len;

    for (i = 0; i < ARRAYSIZE(names); i++) names[i] = (DWORD_PTR)what;      /* "%1 is not ..." */
    len = FormatMessageW( FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_ARGUMENT_ARRAY, NULL, error,
                          0, text, ARRAYSIZE(text) - 20, (va_list *)names );
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == '.')) len--;
    swprintf( text + len, ARRAYSIZE(text) - len, L" (error %lu)", error );
    return text;
}

int fail_with_error( const WCHAR *what, DWORD error )
{
    return fail( L"%ls: %ls", what, error_text( error, what ) );
}

static const WCHAR usage[] =
    L"usage: umsrun PROGRAM [ARGUMENTS...]\n"
    L"       umsrun --install PROGRAM.exe [--output COPY.exe | --in-place] [--dlls FOLDER]\n"
    L"       umsrun --uninstall PROGRAM.exe\n"
    L"       umsrun --status PROGRAM.exe\n"
    L"       umsrun --install-prefix | --uninstall-prefix | --prefix-status\n"
    L"       umsrun --info                 what serves programs here; it takes none\n"
    L"       umsrun --top [PID [LINES]]    the counters of one that was started with UMS_HUD=1\n"
    L"       umsrun --version | --help\n"
    L"A program whose name begins with -- can be given as ./--NAME.exe";

int wrong_usage( const WCHAR *format, ... )
{
    WCHAR text[MAX_LINE] = L"umsrun: ";
    va_list args;

    va_start( args, format );
    vswprintf( text + 8, ARRAYSIZE(text) - 10, format, args );
    va_end( args );
    write_line( STD_ERROR_HANDLE, text );
    write_line( STD_ERROR_HANDLE, wcscpy( text, usage ) );
    return EXIT_FAILED;
}

/* What follows the first word, by the rule for a program's name: quotes group, and nothing escapes
 * them. */
static WCHAR *skip_first_word( WCHAR *line )
{
    BOOL quoted = FALSE;

    for (; *line && (quoted || (*line != ' ' && *line != '\t')); line++)
        if (*line == '"') quoted = !quoted;
    while (*line == ' ' || *line == '\t') line++;
    return line;
}

/* /home/me/program.exe, as it is typed on a Unix host; there need not be such a file */
static BOOL from_unix_path( const WCHAR *name, WCHAR *path )
{
    WCHAR *(CDECL *get_dos_name)( const char * );
    char unix_name[LONG_PATH];
    WCHAR *dos;

    if (name[0] != '/') return FALSE;
    get_dos_name = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ),
                                           "wine_get_dos_file_name" );
    if (!get_dos_name) return FALSE;
    if (!WideCharToMultiByte( CP_UTF8, 0, name, -1, unix_name, sizeof(unix_name), NULL, NULL ))
        return FALSE;
    if (!(dos = get_dos_name( unix_name ))) return FALSE;
    wcsncpy( path, dos, LONG_PATH - 1 );
    path[LONG_PATH - 1] = 0;
    HeapFree( GetProcessHeap(), 0, dos );
    return TRUE;
}

BOOL full_path( const WCHAR *name, WCHAR *path )
{
    DWORD len;

    if (from_unix_path( name, path )) return TRUE;
    len = GetFullPathNameW( name, LONG_PATH, path, NULL );
    return len && len < LONG_PATH;
}

/* The file that the program's name means: a path, or looked for where Windows would. */
static BOOL find_program( const WCHAR *name, WCHAR *path )
{
    DWORD len;

    if (from_unix_path( name, path ) && file_exists( path )) return TRUE;
    len = SearchPathW( NULL, name, L".exe", LONG_PATH, path, NULL );
    return len && len < LONG_PATH;
}

static int check_program( const WCHAR *name, const WCHAR *path )
{
    static BYTE headers[0x1000];
    DWORD attributes = GetFileAttributesW( path ), size;
    const char *error;
    HANDLE file;
    BOOL ret;

    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY))
        return fail( L"%ls is a folder", name );
    file = CreateFileW( path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                        NULL, OPEN_EXISTING, 0, NULL );
    if (file == INVALID_HANDLE_VALUE) return fail_with_error( name, GetLastError() );
    ret = ReadFile( file, headers, sizeof(headers), &size, NULL );
    CloseHandle( file );
    if (!ret) return fail_with_error( name, GetLastError() );
    if ((error = inject_check_headers( headers, size ))) return fail( L"%ls %hs", name, error );
    return 0;
}

/* Windows on Arm64 runs x64 programs, this one for example, but emulates the processor: its ntdll has
 * other system calls, and never had UMS. */
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

int find_shim( WCHAR *dir )
{
    static const WCHAR *const files[] = { L"kernel32_ums.dll", L"ntdll_ums.dll" };
    WCHAR path[LONG_PATH + 20];
    DWORD i, len = GetModuleFileNameW( NULL, dir, LONG_PATH );

    while (len && dir[len - 1] != '\\') len--;
    dir[len] = 0;
    for (i = 0; i < ARRAYSIZE(files); i++)
    {
        wcscat( wcscpy( path, dir ), files[i] );
        if (GetFileAttributesW( path ) == INVALID_FILE_ATTRIBUTES)
            return fail( L"%ls is missing; it belongs beside umsrun.exe", path );
    }
    return 0;
}

/* If umsrun is killed, what it started goes too. Limits of a job set to none at the end let daemons
 * live on. */
static HANDLE tie_to_us( HANDLE process )
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = { 0 };
    HANDLE job = CreateJobObjectW( NULL, NULL );

    info.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (job && !(SetInformationJobObject( job, JobObjectExtendedLimitInformation, &info,
                                          sizeof(info) )
                 && AssignProcessToJobObject( job, process )))
    {
        CloseHandle( job );
        job = NULL;
    }
    return job;
}

static void untie( HANDLE job )
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = { 0 };

    if (!job) return;
    SetInformationJobObject( job, JobObjectExtendedLimitInformation, &info, sizeof(info) );
    CloseHandle( job );
}

static int cannot_start( const WCHAR *name, DWORD error )
{
    if (error != ERROR_BAD_EXE_FORMAT) return fail_with_error( name, error );
    return fail( L"%ls is damaged or cut short, or no program for this system (error %lu)", name,
                 error );
}

static int run( const WCHAR *name, const WCHAR *path, WCHAR *command_line, const WCHAR *dir )
{
    STARTUPINFOW startup;
    PROCESS_INFORMATION info;
    const char *error;
    DWORD code = EXIT_FAILED;
    BOOL started;
    HANDLE job;
    int tries;

    GetStartupInfoW( &startup );
    startup.lpReserved = NULL;              /* but the C runtime's list of files goes through */
    /* About one start in 10,000 ends with ERROR_INTERNAL_ERROR on Wine 8.0, with no shim anywhere:
     * the process dies before its image is mapped. Nothing of it has run, so try again. */
    for (tries = 0, started = FALSE; !started && tries < 3; tries++)
    {
        started = CreateProcessW( path, command_line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL,
                                  NULL, &startup, &info );
        if (!started && GetLastError() != ERROR_INTERNAL_ERROR) break;
    }
    if (!started) return cannot_start( name, GetLastError() );

    job = tie_to_us( info.hProcess );
    if ((error = inject_process( info.hProcess, dir, INJECT_REQUIRED )))
    {
        TerminateProcess( info.hProcess, EXIT_FAILED );
        fail( L"%ls cannot be given the shim: %hs", name, error );
    }
    else
    {
        SetConsoleCtrlHandler( NULL, TRUE );        /* Ctrl-C is the program's */
        ResumeThread( info.hThread );
    }
    WaitForSingleObject( info.hProcess, INFINITE );
    GetExitCodeProcess( info.hProcess, &code );
    untie( job );
    CloseHandle( info.hThread );
    CloseHandle( info.hProcess );
    return (int)code;
}

/* umsinfo.exe, which lies beside us, sees what every program sees that is started so. */
static int show_info( void )
{
    static WCHAR path[LONG_PATH + 20], dir[LONG_PATH];
    WCHAR command_line[] = L"umsinfo";

    if (find_shim( dir )) return EXIT_FAILED;
    wcscat( wcscpy( path, dir ), L"umsinfo.exe" );
    if (check_program( path, path )) return EXIT_FAILED;
    return run( path, path, command_line, dir );
}

static BOOL is_help( const WCHAR *argument )
{
    return !wcscmp( argument, L"--help" ) || !wcscmp( argument, L"-h" )
           || !wcscmp( argument, L"/?" );
}

/* The exit status, or -1: the first argument is a program. */
static int option_command( int argc, WCHAR **argv )
{
    int ret;

    if (is_help( argv[1] ) || (argc > 2 && !wcsncmp( argv[1], L"--", 2 ) && is_help( argv[2] )))
    {
        say( L"%ls", usage );
        return 0;
    }
    if (wcsncmp( argv[1], L"--", 2 )) return -1;
    if (!wcscmp( argv[1], L"--version" ))
    {
        say( L"umsrun %hs", UMSRUN_VERSION );
        return 0;
    }
    if (!wcscmp( argv[1], L"--info" ))
        return argc == 2 ? show_info() : fail( L"--info looks at no program, so not at %ls; start it "
                                               L"with UMS_LOG=info to see what serves it", argv[2] );
    if ((ret = install_command( argc, argv )) >= 0) return ret;
    if ((ret = prefix_command( argc, argv )) >= 0) return ret;
    if ((ret = top_command( argc, argv )) >= 0) return ret;
    return wrong_usage( L"%ls: there is no such option", argv[1] );
}

int wmain( int argc, WCHAR **argv );

int wmain( int argc, WCHAR **argv )
{
    static WCHAR path[LONG_PATH], dir[LONG_PATH];
    int ret;

    if (argc < 2) return wrong_usage( L"which program?" );
    if ((ret = option_command( argc, argv )) >= 0) return ret;
    if (!argv[1][0]) return wrong_usage( L"the program's name is empty" );
    if (!find_program( argv[1], path )) return fail( L"%ls: there is no such file", argv[1] );
    if (check_machine() || check_program( argv[1], path ) || find_shim( dir )) return EXIT_FAILED;
    return run( argv[1], path, skip_first_word( GetCommandLineW() ), dir );
}
