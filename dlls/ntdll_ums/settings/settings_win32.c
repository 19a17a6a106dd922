/*
 * Settings on Wine and Windows: the environment, and ums.conf beside the program.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * This runs once, in DllMain of ntdll_ums, before anything else of the shim. So no code can read a
 * setting too early, and none has to check whether the settings were read. The loader lock is held.
 * Only functions of kernel32 are called; it is initialized by then, and they need no other thread.
 *
 * A process with more rights than its user (rights.h) reads no ums.conf and follows no path. One could
 * argue that the file adds no risk, because a user who can write beside a program can make it load any
 * DLL. But messages quote invalid lines: a link in place of ums.conf would reveal, line by line, a file
 * that the user must not read. And a program that is protected against foreign DLLs would still read
 * it. Environment variables that are not paths are used, because each chooses between safe
 * alternatives.
 */
#define UMS_CHANNEL LOG_CHANNEL_settings

#include <windows.h>
#include "private/trace.h"

struct settings ums_settings;
char ums_trace_path[SETTING_TEXT];

int ums_env( const char *name, char *value, unsigned int size )
{
    WCHAR wide_name[64], wide[SETTING_TEXT];
    DWORD error = GetLastError(), i, len;

    for (i = 0; name[i]; i++) wide_name[i] = (unsigned char)name[i];
    wide_name[i] = 0;
    wide[0] = value[0] = 0;
    len = GetEnvironmentVariableW( wide_name, wide, SETTING_TEXT );
    if (len && (len >= SETTING_TEXT ||
                !WideCharToMultiByte( CP_UTF8, 0, wide, -1, value, size, NULL, NULL )))
        len = ENV_TOO_LONG;
    SetLastError( error );
    return (int)min( len, ENV_TOO_LONG );
}

static void read_environment( struct settings *s )
{
    char value[SETTING_TEXT];
    int i, len;

    for (i = 0; i < SETTINGS; i++)
    {
        len = ums_env( settings_rows[i].name, value, sizeof(value) );
        if (len == ENV_TOO_LONG) settings_long_variable( s, (enum setting)i );
        else if (len) settings_read_variable( s, (enum setting)i, value );
    }
}

/* The program's file: its folder with the last backslash, and its name. */
struct program
{
    WCHAR folder[MAX_PATH + 16];
    char  name[3 * MAX_PATH];
};

static int find_program( struct program *program )
{
    DWORD len = GetModuleFileNameW( NULL, program->folder, MAX_PATH );

    if (!len || len >= MAX_PATH) return 0;
    while (len && program->folder[len - 1] != '\\') len--;
    if (!WideCharToMultiByte( CP_UTF8, 0, program->folder + len, -1, program->name,
                              sizeof(program->name), NULL, NULL )) return 0;
    program->folder[len] = 0;
    return 1;
}

static const char *read_file( struct settings *s, HANDLE file, const char *name,
                              const char *program )
{
    const char *error = "cannot be read and is left out";
    LARGE_INTEGER size;
    DWORD got;
    char *text;

    if (!GetFileSizeEx( file, &size )) return error;
    if (size.QuadPart > SETTING_CONF_MAX) return "has more than 64 KB and is left out";
    text = VirtualAlloc( NULL, SETTING_CONF_MAX, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE );
    if (!text) return error;
    if (ReadFile( file, text, SETTING_CONF_MAX, &got, NULL ))
    {
        settings_read_conf( s, name, text, got, program );
        error = NULL;
    }
    VirtualFree( text, 0, MEM_RELEASE );
    return error;
}

static void read_conf( struct settings *s, struct program *program )
{
    char name[SETTING_TEXT];
    const char *error;
    HANDLE file;

    lstrcatW( program->folder, L"ums.conf" );
    file = CreateFileW( program->folder, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE |
                        FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL );
    if (file == INVALID_HANDLE_VALUE &&
        (GetLastError() == ERROR_FILE_NOT_FOUND || GetLastError() == ERROR_PATH_NOT_FOUND)) return;
    if (!WideCharToMultiByte( CP_UTF8, 0, program->folder, -1, name, sizeof(name), NULL, NULL ))
        lstrcpyA( name, "ums.conf" );
    error = file == INVALID_HANDLE_VALUE ? "cannot be opened and is left out"
                                         : read_file( s, file, name, program->name );
    if (error) settings_problem( s, name, error );
    if (file != INVALID_HANDLE_VALUE) CloseHandle( file );
}

static void drop_extension( char *name )
{
    size_t len = strlen( name );

    if (len > 4 && !lstrcmpiA( name + len - 4, ".exe" )) name[len - 4] = 0;
}

static void report( const struct settings *s )
{
    char origin[SETTING_PROBLEM];
    uint32_t i;

    for (i = 0; i < s->problem_count && i < SETTING_PROBLEMS; i++) ums_warn( "%s", s->problems[i] );
    if (s->problem_count > i) ums_warn( "%lu more wrong settings", (ULONG)(s->problem_count - i) );
    for (i = 0; i < SETTINGS; i++)
    {
        if (s->values[i].origin == ORIGIN_DEFAULT) continue;
        settings_origin( s, (enum setting)i, origin, sizeof(origin) );
        ums_trace( "%s=%s (%s)", settings_rows[i].name, s->values[i].text, origin );
    }
}

void ums_settings_start( int trusted )
{
    struct settings *s = &ums_settings;
    DWORD error = GetLastError();
    struct program program;

    settings_init( s, trusted );
    if (!find_program( &program )) program.name[0] = 0;
    else if (s->trusted) read_conf( s, &program );
    read_environment( s );
    drop_extension( program.name );
    ums_log_start( s, program.name );
    if (!ums_setting_path( s, SETTING_TRACE, program.name, ums_trace_path )) ums_trace_path[0] = 0;
    report( s );
    SetLastError( error );
}
