/*
 * umsrun.exe: the original of a program's file that has the shim in place, kept beside it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

void backup_name( const WCHAR *path, WCHAR *backup )
{
    wcscat( wcscpy( backup, path ), L".before-ums" );
}

/* Under Wine a name finds either file. BACKUP: it can be read. */
BOOL is_others( const WCHAR *backup )
{
    WCHAR real[LONG_PATH + 20];

    wcscpy( real, backup );
    return !real_path( real ) && wcscmp( real, backup );
}

enum backup_state backup_state( const WCHAR *path, const struct pe_bytes *file )
{
    WCHAR backup[LONG_PATH + 20];
    struct pe_bytes original;
    enum backup_state ret;

    backup_name( path, backup );
    if (!file_exists( backup )) return BACKUP_NONE;
    if (try_read_file( backup, &original )) return BACKUP_NEEDED;       /* another user's: not known, so not to be deleted */
    if (is_others( backup )) ret = BACKUP_NONE;
    else if (same_bytes( file, &original )) ret = BACKUP_SAME;
    else ret = pe_is_unfinished( file, &original ) ? BACKUP_NEEDED : BACKUP_OLD;
    free_bytes( &original );
    return ret;
}

int make_backup( const struct program *program, const struct pe_bytes *original, BOOL *made )
{
    WCHAR backup[LONG_PATH + 20];

    backup_name( program->path, backup );
    *made = !file_exists( backup );
    if (*made) return keep_copy( program, original, backup );
    if (file_is( backup, original ))
    {
        flush_copy( backup );
        return 0;
    }
    if (backup_state( program->path, original ) == BACKUP_OLD)
        return fail( L"%ls is there already, the original of an --install before %ls was replaced; delete "
                     L"it, or move it away", shown( backup ), shown( program->path ) );
    return fail( L"%ls is there already and is not what %ls is now: if an --install or "
                 L"--uninstall was interrupted, put it back in its place; else move it away",
                 shown( backup ), shown( program->path ) );
}

void take_date( const struct program *program, const WCHAR *backup )
{
    HANDLE file = CreateFileW( backup, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0,
                               NULL );
    FILETIME created, written;

    if (file == INVALID_HANDLE_VALUE) return;
    if (GetFileTime( file, &created, NULL, &written ))
        SetFileTime( program->file, &created, NULL, &written );
    CloseHandle( file );
}

/***********************************************************************
 * a file without the shim, or with one that cannot be removed
 */
int delete_same_backup( const WCHAR *path )
{
    WCHAR backup[LONG_PATH + 20], dir[LONG_PATH];

    backup_name( path, backup );
    if (!delete_copy( backup )) return fail_with_error( backup, GetLastError() );
    say( L"%ls is the original already; deleted its copy %ls", shown( path ), shown( backup ) );
    folder_of( path, dir );
    if (has_dlls( dir ))
        say( L"  ntdll_ums.dll and kernel32_ums.dll stay: nothing says any more that umsrun has copied them" );
    return 0;
}

int refuse( const WCHAR *name, const WCHAR *path, const struct pe_bytes *file, const char *error )
{
    WCHAR backup[LONG_PATH + 20];

    backup_name( path, backup );
    switch (backup_state( path, file ))
    {
    case BACKUP_NONE:
        return fail( L"%ls %hs", name, error );
    case BACKUP_OLD:
        return fail( L"%ls %hs; it was replaced since --install (an update does that), so %ls, the original "
                     L"of then, can be deleted", name, error, shown( backup ) );
    default:
        return fail( L"%ls %hs; the original is %ls", name, error, shown( backup ) );
    }
}

int not_installed( const WCHAR *path, const struct pe_bytes *file )
{
    enum backup_state state = backup_state( path, file );
    WCHAR backup[LONG_PATH + 20];

    backup_name( path, backup );
    if (state == BACKUP_NEEDED)
    {
        say( L"%ls: an --install or --uninstall was interrupted, or the file was changed since then; the "
             L"original of then is %ls", shown( path ), shown( backup ) );
        return EXIT_FAILED;
    }
    say( L"%ls: UMS is not installed in it", shown( path ) );
    if (state == BACKUP_OLD)
        say( L"  it was replaced since --install (an update does that); %ls is the original of then",
             shown( backup ) );
    if (state == BACKUP_SAME) say( L"  %ls is a copy of it, which --uninstall deletes", shown( backup ) );
    return NOT_INSTALLED;
}
