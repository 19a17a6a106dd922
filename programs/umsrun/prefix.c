/*
 * umsrun.exe --install-prefix, --uninstall-prefix, --prefix-status: the shim for every program of the
 * Wine prefix in which umsrun.exe runs.
 *
 * Wine loads kernel32 from its own folder, unless the prefix has a DLL override "native". So system32
 * gets a copy of Wine's kernel32.dll without Wine's mark, whose UMS names are forwarded to
 * kernel32_ums.dll (pe_forward.c), and the prefix gets the override "native" for kernel32. A program
 * that uses no UMS name runs Wine's code only. With this override Wine would also load a kernel32.dll
 * that is beside a program, which it otherwise ignores. So the prefix also gets the override "builtin"
 * for "*kernel32", which means files outside system32.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

static const WCHAR overrides[] = L"Software\\Wine\\DllOverrides";

/* values of that key; the prefix has both or neither */
enum { KERNEL32, STAR };
static const struct { const WCHAR *name, *value; } settings[] =
{
    [KERNEL32] = { L"kernel32",  L"native,builtin" },
    [STAR]     = { L"*kernel32", L"builtin" },
};

/* what is there */
struct prefix
{
    WCHAR            name[LONG_PATH];           /* for messages: as a Unix host writes it */
    WCHAR            system32[LONG_PATH];       /* with a final backslash */
    WCHAR            path[LONG_PATH];           /* of its kernel32.dll */
    const char      *version;                   /* of Wine */
    struct pe_bytes  wine;                      /* Wine's own kernel32.dll */
    BYTE             digest[PE_DIGEST_SIZE];    /* of Wine's file */
    struct pe_bytes  file;                      /* the kernel32.dll of the prefix */
    struct pe_report report;                    /* on the file of the prefix */
    WCHAR            found[ARRAYSIZE(settings)][64];    /* the settings, or empty */
};

/***********************************************************************
 * looking
 */

/* "\??\Z:\usr\lib\wine" or "\??\unix\usr\lib\wine" -> "\\?\..."; below: the file from there on */
static BOOL find_in_folder( const WCHAR *variable, const WCHAR *below, WCHAR *path )
{
    WCHAR value[LONG_PATH];
    DWORD len = GetEnvironmentVariableW( variable, value, ARRAYSIZE(value) );

    if (!len || len > ARRAYSIZE(value) - 60) return FALSE;
    if (wcsncmp( value, L"\\??\\", 4 )) wcscpy( path, value );
    else wcscat( wcscpy( path, L"\\\\?\\" ), value + 4 );
    wcscat( path, below );
    return file_exists( path );
}

/* Wine tells its programs where its DLLs are. In a build tree they are elsewhere. */
static BOOL find_wine( WCHAR *path )
{
    WCHAR variable[20];
    int i;

    if (find_in_folder( L"WINEBUILDDIR", L"\\dlls\\kernel32\\x86_64-windows\\kernel32.dll", path ))
        return TRUE;
    for (i = 0; i < 10; i++)
    {
        swprintf( variable, ARRAYSIZE(variable), L"WINEDLLDIR%d", i );
        if (find_in_folder( variable, L"\\x86_64-windows\\kernel32.dll", path )) return TRUE;
    }
    return FALSE;
}

static int read_wine( struct prefix *prefix )
{
    WCHAR path[LONG_PATH + 60];

    if (!find_wine( path ))
        return fail( L"this Wine's own kernel32.dll cannot be found: no folder that WINEDLLDIR0 ... "
                     L"names has x86_64-windows\\kernel32.dll" );
    if (read_file( path, &prefix->wine )) return EXIT_FAILED;
    file_digest( prefix->wine.data, prefix->wine.size, prefix->digest );
    return 0;
}

static void read_settings( struct prefix *prefix )
{
    DWORD size;
    size_t i;

    for (i = 0; i < ARRAYSIZE(settings); i++)
    {
        size = sizeof(prefix->found[i]);
        if (RegGetValueW( HKEY_CURRENT_USER, overrides, settings[i].name, RRF_RT_REG_SZ, NULL,
                          prefix->found[i], &size ))
            prefix->found[i][0] = 0;
    }
}

static BOOL is_set( const struct prefix *prefix, size_t i )
{
    return !wcscmp( prefix->found[i], settings[i].value );
}

static int look( struct prefix *prefix )
{
    const char *(CDECL *version)( void ) =
        (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "wine_get_version" );
    DWORD len = GetSystemDirectoryW( prefix->system32, LONG_PATH - 20 );

    if (!version)
        return fail( L"a prefix is Wine's; on Windows use umsrun PROGRAM or umsrun --install" );
    prefix->version = version();
    prefix_folder( prefix->name );
    wcscpy( prefix->system32 + len, L"\\" );
    wcscat( wcscpy( prefix->path, prefix->system32 ), L"kernel32.dll" );
    read_settings( prefix );
    delete_old( prefix->path );
    if (read_wine( prefix ) || read_file( prefix->path, &prefix->file )) return EXIT_FAILED;
    pe_look( &prefix->file, file_digest, &prefix->report );
    return 0;
}

static BOOL is_of_this_wine( const struct prefix *prefix )
{
    return !memcmp( prefix->report.original, prefix->digest, sizeof(prefix->digest) );
}

static BOOL is_wines_own( const struct prefix *prefix )
{
    return prefix->file.size > 0x50 && !memcmp( prefix->file.data + 0x40, "Wine builtin DLL", 16 );
}

/* Is only a part of the installation there? Wine's own kernel32.dll may have been put back, or an
 * installation has failed in the middle. */
static BOOL has_remains( const struct prefix *prefix )
{
    return is_wines_own( prefix ) && (is_set( prefix, KERNEL32 ) || has_dlls( prefix->system32 ));
}

/* Has the user set "*kernel32" as we need it? Before the first installation nobody else has; later its record says so. Of
 * "kernel32" nobody can tell: as we need it, it is the remains of an installation. */
static BOOL star_is_users( const struct prefix *prefix )
{
    if (!is_set( prefix, STAR )) return FALSE;
    if (prefix->report.kind == PE_KERNEL32) return (prefix->report.flags & PE_OWN_SETTING) != 0;
    return !has_remains( prefix );
}

/* FILE: the file that is in system32 now. */
static void tell_if_late( const struct pe_bytes *file )
{
    if (known_dll_differs( L"kernel32.dll", file ))
        say( L"  not yet: until the prefix's wineserver has ended, programs get the kernel32.dll that Wine "
             L"has kept in memory since the prefix started; end them, or run wineserver -k" );
}

/***********************************************************************
 * --install-prefix
 */
static int setting_failed( size_t i, LSTATUS error )
{
    WCHAR what[80];

    swprintf( what, ARRAYSIZE(what), L"the prefix's setting DllOverrides\\%ls", settings[i].name );
    return fail_with_error( what, error );
}

static int put_settings( void )
{
    LSTATUS error;
    size_t i;

    for (i = ARRAYSIZE(settings); i-- > 0; )
    {
        error = RegSetKeyValueW( HKEY_CURRENT_USER, overrides, settings[i].name, REG_SZ,
                                 settings[i].value,
                                 (wcslen( settings[i].value ) + 1) * sizeof(WCHAR) );
        if (error) return setting_failed( i, error );
    }
    return 0;
}

static int take_settings( const struct prefix *prefix )
{
    LSTATUS error;
    size_t i;

    for (i = 0; i < ARRAYSIZE(settings); i++)
    {
        if (!is_set( prefix, i ) || (i == STAR && star_is_users( prefix ))) continue;
        error = RegDeleteKeyValueW( HKEY_CURRENT_USER, overrides, settings[i].name );
        if (error) return setting_failed( i, error );
    }
    return 0;
}

static int check_prefix( const struct prefix *prefix )
{
    size_t i;

    if (prefix->report.kind != PE_KERNEL32 && !is_wines_own( prefix ))
        return fail( L"%ls is not Wine's own; something else has put it there", shown( prefix->path ) );
    for (i = 0; i < ARRAYSIZE(settings); i++)
        if (prefix->found[i][0] && !is_set( prefix, i ))
            return fail( L"%ls has the setting %ls=%ls already; take it out with winecfg",
                         prefix->name, settings[i].name, prefix->found[i] );
    return 0;
}

/* The DLLs come first: programs need them as soon as kernel32.dll is in place. */
static int install( struct prefix *prefix )
{
    struct pe_request request = { .dir = "", .digest = file_digest };
    struct pe_bytes made = { 0 };
    struct pe_report report;
    WCHAR shim[LONG_PATH];
    const char *error;
    DWORD copied;
    int ret;

    if (check_prefix( prefix ) || find_shim( shim )) return EXIT_FAILED;
    snprintf( request.host, sizeof(request.host), "%s", prefix->version );
    if (star_is_users( prefix )) request.flags |= PE_OWN_SETTING;
    if ((error = pe_forward( &prefix->wine, &request, &made, &report )))
        return fail( L"Wine's kernel32.dll %hs", error );
    if (!(ret = copy_dlls( shim, prefix->system32, &copied )))
    {
        if ((ret = write_file( prefix->path, &made, NULL )))
            take_back_dlls( prefix->system32, copied );
        else ret = put_settings();
    }
    if (ret)
    {
        free_bytes( &made );
        return ret;
    }
    say( L"installed UMS into %ls: every 64-bit program finds it from its next start on",
         prefix->name );
    say( L"  made for Wine %hs; when Wine was updated, run umsrun --install-prefix again",
         prefix->version );
    tell_if_late( &made );
    free_bytes( &made );
    return 0;
}

/***********************************************************************
 * --uninstall-prefix, --prefix-status
 */

/* The settings come first: without them programs load Wine's own kernel32, whatever is in system32. The
 * file is restored from the Wine that runs now; ours was made from it, unless Wine was updated. */
static int uninstall( struct prefix *prefix )
{
    if (prefix->report.kind != PE_KERNEL32 && !has_remains( prefix ))
    {
        say( L"%ls: UMS is not installed in it", prefix->name );
        return NOT_INSTALLED;
    }
    if (take_settings( prefix )) return EXIT_FAILED;
    if (prefix->report.kind != PE_KERNEL32)
    {
        delete_dlls( prefix->system32 );
        say( L"removed what was left of UMS in %ls; its kernel32.dll was Wine's own already",
             prefix->name );
        return 0;
    }
    if (write_file( prefix->path, &prefix->wine, NULL )) return EXIT_FAILED;
    delete_dlls( prefix->system32 );
    say( L"restored %ls", prefix->name );
    tell_if_late( &prefix->wine );
    if (!is_of_this_wine( prefix ))
        say( L"  Wine was updated from %hs to %hs; kernel32.dll is the new one's",
             prefix->report.host, prefix->version );
    return 0;
}

static int wrong( const WCHAR *what )
{
    say( L"  %ls: run umsrun --install-prefix again", what );
    return EXIT_FAILED;
}

static int status( const struct prefix *prefix )
{
    WCHAR shim[LONG_PATH], path[LONG_PATH + 20], ours[LONG_PATH + 20];
    int ret = 0;
    size_t i;

    if (prefix->report.kind != PE_KERNEL32)
    {
        say( L"%ls: UMS is not installed in it", prefix->name );
        tell_if_late( &prefix->file );
        if (!has_remains( prefix )) return NOT_INSTALLED;
        say( L"  a part of it is still there: run umsrun --uninstall-prefix again, or --install-prefix" );
        return EXIT_FAILED;
    }
    say( L"%ls: UMS is installed in it, made for Wine %hs", prefix->name, prefix->report.host );
    tell_if_late( &prefix->file );
    if (!is_of_this_wine( prefix ))
        ret = wrong( L"Wine was updated since, and programs run with the kernel32.dll of before" );
    if (prefix->report.changed) ret = wrong( L"its kernel32.dll was changed since" );
    if (!is_set( prefix, KERNEL32 ))
        ret = wrong( L"its setting kernel32=native,builtin is gone, so nothing of it is used" );
    else if (!is_set( prefix, STAR ))
        ret = wrong( L"its setting *kernel32=builtin is gone, so a kernel32.dll beside a program is taken" );
    if (find_shim( shim )) return EXIT_FAILED;
    for (i = 0; i < SHIM_FILES; i++)
    {
        wcscat( wcscpy( path, prefix->system32 ), shim_files[i] );
        wcscat( wcscpy( ours, shim ), shim_files[i] );
        if (same_file( path, ours )) continue;
        say( L"  %ls", shown( path ) );
        ret = wrong( file_exists( path ) ? L"is another version than the one of this umsrun"
                                         : L"is missing" );
    }
    return ret;
}

int prefix_command( int argc, WCHAR **argv )
{
    static struct prefix prefix;
    BOOL put = !wcscmp( argv[1], L"--install-prefix" );
    BOOL take = !wcscmp( argv[1], L"--uninstall-prefix" );
    int ret;

    if (argc > 2)
        return fail( L"%ls %ls: umsrun.exe works on the Wine prefix that it runs in and takes no "
                     L"argument here; %ls", argv[1], argv[2], file_exists( argv[2] )
                     && !(GetFileAttributesW( argv[2] ) & FILE_ATTRIBUTE_DIRECTORY)
                     ? L"that is a file, for a program there is --install"
                     : L"name another prefix with WINEPREFIX" );
    if (!(ret = look( &prefix )))
        ret = put ? install( &prefix ) : take ? uninstall( &prefix ) : status( &prefix );
    free_bytes( &prefix.wine );
    free_bytes( &prefix.file );
    return ret;
}
