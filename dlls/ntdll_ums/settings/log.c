/*
 * The log: where messages go.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include "private/trace.h"

#define LINE 512                                /* less than Wine's own limit for a line, 1,020 */

int __cdecl _snprintf( char *, size_t, const char *, ... );
int __cdecl _vsnprintf( char *, size_t, const char *, va_list );

unsigned char ums_log_levels[LOG_CHANNELS];

/* Written by ums_log_start. */
static int (__cdecl *wine_output)( const char *line );
static HANDLE file;

/* len is the result of a printf function: the number of characters that it has really written. */
static int limited( int len, int size )
{
    return len < 0 || len > size ? size : len;
}

void ums_say_args( enum log_channel channel, enum log_level level, const char *fmt, va_list args )
{
    DWORD error = GetLastError(), done;
    char line[LINE];
    int len = 5;

    memcpy( line, "ums: ", 5 );
    if (level == LOG_TRACE)
        len += limited( _snprintf( line + len, 64, "%04lx:trace:%s: ", GetCurrentThreadId(),
                                   log_channel_names[channel] ), 64 );
    len += limited( _vsnprintf( line + len, sizeof(line) - 2 - len, fmt, args ),
                    (int)sizeof(line) - 2 - len );
    line[len++] = '\n';
    line[len] = 0;

    if (wine_output) wine_output( line );
    else OutputDebugStringA( line );
    if (file) WriteFile( file, line, len, &done, NULL );
    SetLastError( error );
}

void ums_say( enum log_channel channel, enum log_level level, const char *fmt, ... )
{
    va_list args;

    va_start( args, fmt );
    ums_say_args( channel, level, fmt, args );
    va_end( args );
}

/* ---- start ---- */

/* A path in ums.conf is relative to the folder of that file. */
static const char *beside_conf( const struct settings *s, enum setting id, const char *path,
                                char *whole )
{
    size_t len = strlen( s->conf );

    if (s->values[id].origin == ORIGIN_ENVIRONMENT || path[0] == '\\' ||
        path[0] == '/' || (path[0] && path[1] == ':')) return path;
    while (len && s->conf[len - 1] != '\\') len--;
    if (len + strlen( path ) >= SETTING_TEXT) return path;
    memcpy( whole, s->conf, len );
    strcpy( whole + len, path );
    return whole;
}

int ums_setting_path( struct settings *s, enum setting id, const char *program, char *path )
{
    char whole[SETTING_TEXT], expanded[SETTING_TEXT];

    if (!s->values[id].text[0]) return 0;
    if (log_spec_expand( s->values[id].text, program, GetCurrentProcessId(), expanded,
                         sizeof(expanded) ))
    {
        strcpy( path, beside_conf( s, id, expanded, whole ) );
        return 1;
    }
    settings_problem( s, settings_rows[id].name, "is too long" );
    return 0;
}

/* The file stays open, because opening it needs the heap, and a thread that logs must not wait for that. */
static void open_file( struct settings *s, const char *program )
{
    char path[SETTING_TEXT];
    WCHAR name[SETTING_TEXT];

    if (!ums_setting_path( s, SETTING_LOG_FILE, program, path )) return;
    if (!MultiByteToWideChar( CP_UTF8, 0, path, -1, name, SETTING_TEXT )) name[0] = 0;
    file = CreateFileW( name, FILE_APPEND_DATA | SYNCHRONIZE,
                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS,
                        FILE_ATTRIBUTE_NORMAL, NULL );
    if (file != INVALID_HANDLE_VALUE) return;
    file = NULL;
    settings_problem( s, path, "cannot be opened as UMS_LOG_FILE" );
}

void ums_log_start( struct settings *s, const char *program )
{
    wine_output = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "__wine_dbg_output" );
    log_spec_read( s->values[SETTING_LOG].text, ums_log_levels );
    open_file( s, program );
}
