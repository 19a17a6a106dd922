/*
 * umsrun.exe: runs 64-bit programs with User-Mode Scheduling, or installs it. This file parses the
 * options, also for the scripts named umsrun: those look only at what they must know before Wine starts
 * (scripts/wine.sh). Both print usage.txt.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdlib.h>
#include <wchar.h>

#include "umsrun.h"
#include "usage.h"

static WCHAR path[LONG_PATH + 20];

/* The rest of the line after the first word, which is parsed as a program's name: quotes group, and no
 * character escapes them. */
static WCHAR *skip_first_word( WCHAR *line )
{
    BOOL quoted = FALSE;

    for (; *line && (quoted || (*line != ' ' && *line != '\t')); line++)
        if (*line == '"') quoted = !quoted;
    while (*line == ' ' || *line == '\t') line++;
    return line;
}

/* Wine begins the command line of a program that a Unix shell starts with its full path in quotes, whatever was typed [seen].
 * Programs look for their folder in it, and a Unix path has no backslash. Windows passes on what was typed. */
static WCHAR *wine_command_line( WCHAR *command_line )
{
    const WCHAR *arguments = skip_first_word( command_line );
    size_t size = wcslen( path ) + wcslen( arguments ) + 4;
    WCHAR *line = malloc( size * sizeof(*line) );

    if (!line) return command_line;
    wcscat( wcscat( wcscpy( line, L"\"" ), path ), L"\"" );
    if (*arguments) wcscat( wcscat( line, L" " ), arguments );
    return line;
}

/* What Wine's own loader gives to start.exe (scripts/wine.sh takes these for Windows programs, too). */
static BOOL is_for_start( void )
{
    static const WCHAR *const endings[] = { L".bat", L".cmd", L".msi", L".lnk" };
    const WCHAR *dot = wcsrchr( path, '.' );
    size_t i;

    for (i = 0; dot && i < ARRAYSIZE(endings); i++)
        if (!_wcsicmp( dot, endings[i] )) return !is_folder( path );
    return FALSE;
}

/* start.exe is the program then, and what it starts has the shim as any child. */
static int run_by_start( const WCHAR *command_line )
{
    static const WCHAR start[] = L"start.exe /exec ", file[] = L"\\start.exe";
    WCHAR *line = malloc( (wcslen( start ) + wcslen( command_line ) + 1) * sizeof(*line) );
    UINT len = GetSystemDirectoryW( path, ARRAYSIZE(path) );

    if (!line || !len || len + ARRAYSIZE(file) > ARRAYSIZE(path)) return fail( L"start.exe cannot be found" );
    wcscat( path, file );
    return run_program( L"start.exe", path, wcscat( wcscpy( line, start ), command_line ) );
}

static int run( const WCHAR *name, WCHAR *command_line )
{
    if (!name[0]) return wrong_usage( L"the program's name is empty" );
    if (!find_program( name, path )) return fail( L"%ls: there is no such file", name );
    if (on_wine() && is_for_start()) return run_by_start( wine_command_line( command_line ) );
    return run_program( name, path, on_wine() ? wine_command_line( command_line ) : command_line );
}

/* Run a program from the folder of umsrun.exe. */
static int run_ours( const WCHAR *file, WCHAR *command_line )
{
    beside_us( file, path );
    return run_program( file, path, command_line );
}

static int run_demo( void )
{
    WCHAR command_line[] = L"umsdemo";

    beside_us( L"umsdemo.exe", path );
    if (!file_exists( path )) return wrong_usage( L"which program?" );
    return run_ours( L"umsdemo.exe", command_line );
}

/* umsinfo.exe is started like any program, so it sees what such a program sees. */
static int info_command( int argc, WCHAR **argv )
{
    BOOL verbose = argc > 2 && !wcscmp( argv[2], L"--verbose" );
    WCHAR command_line[40] = L"umsinfo";
    const WCHAR *name = argc > 2 + verbose ? argv[2 + verbose] : NULL;

    if (argc > 3 + verbose) return wrong_usage( L"--info: one program at a time" );
    if (name && !wcsncmp( name, L"--", 2 )) return wrong_usage( L"%ls is no option of --info", name );
    if (verbose) wcscat( command_line, L" --verbose" );
    if (!name) return run_ours( L"umsinfo.exe", command_line );
    if (!find_program( name, path )) return fail( L"%ls: there is no such file", name );
    return is_folder( path ) ? fail( L"%ls is a folder", name ) : tell_program( name, path );
}

static int version_command( int argc, WCHAR **argv )
{
    (void)argc;
    (void)argv;
    say( L"umsrun %hs", UMSRUN_VERSION );
    return 0;
}

static int help_command( int argc, WCHAR **argv )
{
    (void)argc;
    (void)argv;
    say( L"%ls", usage );
    return 0;
}

static const struct command
{
    const WCHAR *option;
    int        (*run)( int argc, WCHAR **argv );
}
commands[] =
{
    { L"--help",             help_command },
    { L"-h",                 help_command },
    { L"/?",                 help_command },
    { L"--version",          version_command },
    { L"--info",             info_command },
    { L"--top",              top_command },
    { L"--install",          install_command },
    { L"--uninstall",        install_command },
    { L"--status",           install_command },
    { L"--install-prefix",   prefix_command },
    { L"--uninstall-prefix", prefix_command },
    { L"--prefix-status",    prefix_command },
};

static const struct command *find_command( const WCHAR *option )
{
    size_t i;

    for (i = 0; i < ARRAYSIZE(commands); i++)
        if (!wcscmp( commands[i].option, option )) return &commands[i];
    return NULL;
}

int wmain( int argc, WCHAR **argv );

int wmain( int argc, WCHAR **argv )
{
    WCHAR *command_line = skip_first_word( GetCommandLineW() );
    const struct command *command, *help;

    if (argc < 2) return run_demo();
    if (!wcscmp( argv[1], L"--" ))
        return argc > 2 ? run( argv[2], skip_first_word( command_line ) )
                        : wrong_usage( L"--: which program?" );
    if (!(command = find_command( argv[1] )))
        return argv[1][0] == '-' ? wrong_usage( L"%ls: there is no such option", argv[1] )
                                 : run( argv[1], command_line );
    if (argc > 2 && (help = find_command( argv[2] )) && help->run == help_command) command = help;
    return command->run( argc, argv );
}
