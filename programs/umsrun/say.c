/*
 * umsrun.exe: its messages.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "say.h"

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

void tell( const WCHAR *what )
{
    DWORD error = GetLastError();
    WCHAR text[MAX_LINE];

    swprintf( text, ARRAYSIZE(text) - 2, L"umsrun: %ls", what );
    write_line( STD_ERROR_HANDLE, text );
    SetLastError( error );
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

int wrong_usage( const WCHAR *format, ... )
{
    WCHAR text[MAX_LINE];
    va_list args;

    va_start( args, format );
    vswprintf( text, ARRAYSIZE(text) - 2, format, args );
    va_end( args );
    return fail( L"%ls; see umsrun --help", text );
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

    what = shown( what );
    for (i = 0; i < ARRAYSIZE(names); i++) names[i] = (DWORD_PTR)what;      /* "%1 is not ..." */
    len = FormatMessageW( FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_ARGUMENT_ARRAY, NULL, error,
                          0, text, ARRAYSIZE(text) - 20, (va_list *)names );
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == '.')) len--;
    swprintf( text + len, ARRAYSIZE(text) - len, L" (error %lu)", error );
    return text;
}

int fail_with_error( const WCHAR *what, DWORD error )
{
    return fail( L"%ls: %ls", shown( what ), error_text( error, what ) );
}

/* Wine gives a name to what exists, and to what may be made in a folder that exists. */
static BOOL find_unix_name( char *(CDECL *get_unix_name)( const WCHAR * ), const WCHAR *path, WCHAR *name )
{
    char *unix_name = get_unix_name( path );

    if (!unix_name) return FALSE;
    if (!MultiByteToWideChar( CP_UTF8, 0, unix_name, -1, name, LONG_PATH )) name[0] = 0;
    HeapFree( GetProcessHeap(), 0, unix_name );
    return name[0] != 0;
}

const WCHAR *shown( const WCHAR *path )
{
    static WCHAR names[4][LONG_PATH];
    static unsigned int next;
    WCHAR *name = names[next++ % ARRAYSIZE(names)], folder[LONG_PATH];
    char *(CDECL *get_unix_name)( const WCHAR * );
    size_t len = wcslen( path ), used;

    get_unix_name = (void *)GetProcAddress( GetModuleHandleW( L"kernel32.dll" ),
                                            "wine_get_unix_file_name" );
    if (!get_unix_name || len >= LONG_PATH || (wcsncmp( path, L"\\\\?\\", 4 ) && (!path[0] || path[1] != ':')))
        return path;
    wcscpy( folder, path );
    while (!find_unix_name( get_unix_name, folder, name ))
    {
        while (len && folder[len - 1] != '\\') len--;
        if (len <= 3) return path;      /* "Z:" means the drive's current folder */
        folder[--len] = 0;
    }
    for (used = wcslen( name ); path[len] && used < LONG_PATH - 1; len++)
        name[used++] = path[len] == '\\' ? '/' : path[len];
    name[used] = 0;
    return name;
}
