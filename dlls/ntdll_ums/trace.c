/*
 * Messages to people. Compiled into both DLLs.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <windows.h>
#include <stdarg.h>
#include "private/trace.h"

int __cdecl _vsnprintf( char *, size_t, const char *, va_list );

int ums_env( const char *name, char *value, unsigned int size )
{
    DWORD error = GetLastError(), len = GetEnvironmentVariableA( name, value, size );

    SetLastError( error );
    if (len >= size) lstrcpynA( value, "(too long)", size );    /* means nothing to anybody */
    if (len) return 1;
    value[0] = 0;
    return 0;
}

static void log_to_file( const char *line, DWORD len )
{
    char path[MAX_PATH];
    HANDLE file;
    DWORD done;

    if (!ums_env( "UMS_LOG_FILE", path, sizeof(path) ) || !ums_trusts_environment()) return;
    file = CreateFileA( path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                        OPEN_ALWAYS, 0, NULL );
    if (file == INVALID_HANDLE_VALUE) return;
    WriteFile( file, line, len, &done, NULL );
    CloseHandle( file );
}

static void log_line( const char *fmt, va_list args )
{
    int (__cdecl *wine_output)( const char * );
    DWORD error = GetLastError();
    char line[512];
    int len;

    line[0] = 'u'; line[1] = 'm'; line[2] = 's'; line[3] = ':'; line[4] = ' ';
    len = _vsnprintf( line + 5, sizeof(line) - 7, fmt, args );
    if (len < 0) len = sizeof(line) - 7;
    len += 5;
    line[len++] = '\n';
    line[len] = 0;

    wine_output = (void *)GetProcAddress( GetModuleHandleA( "ntdll.dll" ), "__wine_dbg_output" );
    if (wine_output) wine_output( line );
    else OutputDebugStringA( line );
    log_to_file( line, len );
    SetLastError( error );
}

void ums_log( const char *fmt, ... )
{
    va_list args;

    va_start( args, fmt );
    log_line( fmt, args );
    va_end( args );
}

void ums_info( const char *fmt, ... )
{
    char value[16];
    va_list args;

    if (!ums_env( "UMS_LOG", value, sizeof(value) ) || (value[0] == '0' && !value[1])) return;
    va_start( args, fmt );
    log_line( fmt, args );
    va_end( args );
}
