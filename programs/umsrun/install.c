/*
 * umsrun.exe --install, --uninstall, --status: the shim in a program's own file (pe_image.c), and
 * the DLLs beside it.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

#define NOT_INSTALLED 1

struct job
{
    const WCHAR *name;                  /* as the user wrote it */
    WCHAR        path[LONG_PATH];
    WCHAR        output[LONG_PATH];
    WCHAR        dlls[LONG_PATH];       /* empty: beside the program */
    BOOL         in_place;
};

static void folder_of( const WCHAR *path, WCHAR *dir )
{
    size_t len = wcslen( path );

    while (len && path[len - 1] != '\\' && path[len - 1] != '/') len--;
    memcpy( dir, path, len * sizeof(*path) );
    dir[len] = 0;
}

static void backup_name( const WCHAR *path, WCHAR *backup )
{
    wcscat( wcscpy( backup, path ), L".before-ums" );
}

/* PROGRAM_ums.exe */
static void default_output( const WCHAR *path, WCHAR *output )
{
    size_t len = wcslen( path );

    if (len > 4 && path[len - 4] == '.') len -= 4;
    memcpy( output, path, len * sizeof(*path) );
    wcscat( wcscpy( output + len, L"_ums" ), path + len );
}

/***********************************************************************
 * the folder
 */

/* Another program with the shim in this folder: the DLLs are its too. One that cannot be read may have
 * it. *flags: what all of them have. */
static BOOL others_in_folder( const WCHAR *dir, const WCHAR *but, DWORD *flags )
{
    WCHAR pattern[LONG_PATH + 20], path[LONG_PATH + MAX_PATH];
    struct pe_report report;
    struct pe_bytes bytes;
    WIN32_FIND_DATAW data;
    BOOL found = FALSE;
    HANDLE search;

    wcscat( wcscpy( pattern, dir ), L"*.exe" );
    *flags = 0;
    if ((search = FindFirstFileW( pattern, &data )) == INVALID_HANDLE_VALUE) return FALSE;
    do
    {
        wcscat( wcscpy( path, dir ), data.cFileName );
        if (!lstrcmpiW( path, but ) || (data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) continue;
        if (!try_read_file( path, &bytes ))
        {
            found = TRUE;
            continue;
        }
        pe_look( &bytes, NULL, &report );
        free_bytes( &bytes );
        if (report.kind != PE_PROGRAM) continue;
        found = TRUE;
        *flags |= report.flags;
    }
    while (FindNextFileW( search, &data ));
    FindClose( search );
    return found;
}

/* The host's limits for import tables: bytes, which loaders widen one by one. */
static int narrow_path( const WCHAR *dir, char *narrow, size_t size )
{
    WCHAR name[LONG_PATH];
    size_t i;

    wcscpy( name, dir );
    for (i = 0; dir[i] && dir[i] < 0x80; i++) ;
    if (dir[i]) GetShortPathNameW( dir, name, ARRAYSIZE(name) );
    for (i = 0; name[i] && name[i] < 0x80 && i < size - 1; i++) narrow[i] = (char)name[i];
    narrow[i] = 0;
    if (name[i]) return fail( L"%ls is too long, or has letters that an import table cannot hold",
                              dir );
    return 0;
}

/***********************************************************************
 * --install
 */
static int make_backup( const struct job *job )
{
    WCHAR backup[LONG_PATH + 20];

    backup_name( job->path, backup );
    if (same_file( job->path, backup )) return 0;
    if (CopyFileW( job->path, backup, TRUE )) return 0;
    if (GetLastError() == ERROR_FILE_EXISTS)
        return fail( L"%ls is there already, and is another program; move it away", backup );
    return fail_with_error( backup, GetLastError() );
}

static void tell_install( const struct job *job, const struct pe_report *report, BOOL copied )
{
    WCHAR dir[LONG_PATH], backup[LONG_PATH + 20];

    say( L"%ls: has the shim now", job->output );
    if (job->dlls[0]) say( L"  it loads the DLLs in %ls and does not start if they are moved",
                           job->dlls );
    else
    {
        folder_of( job->output, dir );
        say( L"  ntdll_ums.dll and kernel32_ums.dll %ls %ls and belong beside it",
             copied ? L"were copied to" : L"are in", dir );
    }
    if (job->in_place)
    {
        backup_name( job->path, backup );
        say( L"  the file as it was is kept as %ls", backup );
    }
    if (report->signature_size)
        say( L"  its signature (%lu bytes) was taken out: it does not fit a changed file",
             report->signature_size );
    if (report->overlay_size)
        say( L"  %lu bytes behind its last section were moved by %lu; should it check or look for "
             L"them and not start, use umsrun without --install", report->overlay_size,
             report->section_size );
    if (report->bound) say( L"  its bound imports were taken out: the loader does without" );
}

static int prepare_request( const struct job *job, char *dir, size_t size,
                            struct pe_request *request, BOOL *copied )
{
    WCHAR shim[LONG_PATH], folder[LONG_PATH];
    DWORD flags;

    *copied = FALSE;
    dir[0] = 0;
    request->dir = dir;
    request->digest = file_digest;
    if (job->dlls[0]) return narrow_path( job->dlls, dir, size );
    folder_of( job->output, folder );
    if (find_shim( shim ) || copy_dlls( shim, folder, copied )) return EXIT_FAILED;
    others_in_folder( folder, job->output, &flags );
    if (*copied || (flags & PE_COPIED)) request->flags |= PE_COPIED;
    if (!lstrcmpiW( shim, folder )) request->flags &= ~PE_COPIED;
    return 0;
}

static int install( struct job *job )
{
    struct pe_request request = { 0 };
    struct pe_bytes before, after = { 0 };
    struct pe_report report;
    const char *error;
    char dir[INJECT_MAX_PATH];
    BOOL copied = FALSE;
    int ret;

    if (read_file( job->path, &before )) return EXIT_FAILED;
    request.digest = file_digest;
    request.dir = "";
    /* once without a trace: nothing is copied for a program that is refused */
    if ((error = pe_install( &before, &request, &after, &report )))
    {
        free_bytes( &before );
        return fail( L"%ls %hs", job->name, error );
    }
    free_bytes( &after );
    ret = prepare_request( job, dir, sizeof(dir), &request, &copied );
    if (!ret && job->in_place) ret = make_backup( job );
    if (!ret && (error = pe_install( &before, &request, &after, &report )))
        ret = fail( L"%ls %hs", job->name, error );
    if (!ret) ret = write_file( job->output, &after );
    if (!ret) tell_install( job, &report, copied );
    free_bytes( &before );
    free_bytes( &after );
    return ret;
}

/***********************************************************************
 * --uninstall, --status
 */
static void clean_folder( const struct job *job, DWORD flags )
{
    WCHAR dir[LONG_PATH], shim[LONG_PATH], backup[LONG_PATH + 20];
    DWORD others;

    backup_name( job->path, backup );
    if (same_file( job->path, backup )) DeleteFileW( backup );
    else if (file_exists( backup )) say( L"  %ls is another file and stays", backup );

    if (!(flags & PE_COPIED)) return;
    folder_of( job->path, dir );
    if (!find_shim( shim ) && !lstrcmpiW( shim, dir )) return;
    if (others_in_folder( dir, job->path, &others ))
        say( L"  ntdll_ums.dll and kernel32_ums.dll stay: another program beside it has the shim" );
    else delete_dlls( dir );
}

static int uninstall( const struct job *job )
{
    struct pe_bytes bytes, original = { 0 };
    struct pe_report report;
    WCHAR backup[LONG_PATH + 20];
    const char *error;
    int ret;

    if (read_file( job->path, &bytes )) return EXIT_FAILED;
    pe_look( &bytes, NULL, &report );
    if ((error = pe_restore( &bytes, file_digest, &original )))
    {
        backup_name( job->path, backup );
        ret = fail( L"%ls %hs%ls%ls", job->name, error,
                    file_exists( backup ) ? L"; as it was it is in " : L"",
                    file_exists( backup ) ? backup : L"" );
    }
    else ret = write_file( job->path, &original );
    if (!ret)
    {
        say( L"%ls: is as it was, byte for byte", job->path );
        clean_folder( job, report.flags );
    }
    free_bytes( &bytes );
    free_bytes( &original );
    return ret;
}

/* The two DLLs as the program will find them, against those beside umsrun. */
static int dll_status( const struct job *job, const struct pe_report *report )
{
    static const WCHAR *const files[] = { L"ntdll_ums.dll", L"kernel32_ums.dll" };
    WCHAR dir[LONG_PATH], shim[LONG_PATH], path[LONG_PATH + 20], ours[LONG_PATH + 20];
    int ret = 0;
    size_t i;

    if (report->dir[0]) MultiByteToWideChar( CP_ACP, 0, report->dir, -1, dir, ARRAYSIZE(dir) );
    else folder_of( job->path, dir );
    if (find_shim( shim )) return EXIT_FAILED;
    for (i = 0; i < ARRAYSIZE(files); i++)
    {
        wcscat( wcscpy( path, dir ), files[i] );
        wcscat( wcscpy( ours, shim ), files[i] );
        if (same_file( path, ours )) continue;
        say( file_exists( path ) ? L"  %ls is another version than the one of this umsrun"
                                 : L"  %ls is missing: the program does not start", path );
        ret = EXIT_FAILED;
    }
    return ret;
}

static int status( const struct job *job )
{
    struct pe_report report;
    struct pe_bytes bytes;
    int ret;

    if (read_file( job->path, &bytes )) return EXIT_FAILED;
    pe_look( &bytes, file_digest, &report );
    free_bytes( &bytes );
    if (report.kind != PE_PROGRAM)
    {
        say( L"%ls: does not have the shim in it", job->path );
        return NOT_INSTALLED;
    }
    say( L"%ls: has the shim in it", job->path );
    ret = dll_status( job, &report );
    if (report.changed)
    {
        say( L"  it was changed since then: --uninstall cannot give the original back" );
        ret = EXIT_FAILED;
    }
    if (report.signature_size) say( L"  its signature comes back with --uninstall" );
    return ret;
}

/***********************************************************************
 * options
 */
static int usage( void )
{
    return fail( L"usage: umsrun --install PROGRAM.exe [--output COPY.exe | --in-place] "
                 L"[--dlls DIR], umsrun --uninstall PROGRAM.exe, umsrun --status PROGRAM.exe" );
}

static int read_options( int argc, WCHAR **argv, struct job *job )
{
    size_t len;
    int i;

    for (i = 0; i < argc; i++)
    {
        if (!wcscmp( argv[i], L"--in-place" )) job->in_place = TRUE;
        else if (!wcscmp( argv[i], L"--output" ) && i + 1 < argc && !job->output[0])
        {
            if (!full_path( argv[++i], job->output )) return usage();
        }
        else if (!wcscmp( argv[i], L"--dlls" ) && i + 1 < argc && !job->dlls[0])
        {
            if (!full_path( argv[++i], job->dlls )) return usage();
            len = wcslen( job->dlls );
            if (len && job->dlls[len - 1] != '\\') wcscat( job->dlls, L"\\" );
        }
        else return usage();
    }
    if (job->in_place && job->output[0]) return usage();
    if (job->in_place) wcscpy( job->output, job->path );
    else if (!job->output[0]) default_output( job->path, job->output );
    len = wcslen( job->output );
    if (len < 5 || lstrcmpiW( job->output + len - 4, L".exe" ))
        return fail( L"%ls: its name has to end with .exe, by which --uninstall of another program "
                     L"finds out that the DLLs are still wanted", job->output );
    if (!job->in_place && file_exists( job->output ))
        return fail( L"%ls is there already; give another --output, or delete it", job->output );
    return 0;
}

static int check_dlls( const struct job *job )
{
    WCHAR path[LONG_PATH + 20];

    if (!job->dlls[0]) return 0;
    wcscat( wcscpy( path, job->dlls ), L"kernel32_ums.dll" );
    return file_exists( path ) ? 0 : fail( L"%ls is missing", path );
}

int install_command( int argc, WCHAR **argv )
{
    static struct job job;
    BOOL put = !wcscmp( argv[1], L"--install" ), take = !wcscmp( argv[1], L"--uninstall" );

    if (!put && !take && wcscmp( argv[1], L"--status" )) return -1;
    if (argc < 3 || (!put && argc > 3)) return usage();
    job.name = argv[2];
    /* this very file: not one of that name beside umsrun.exe or on the PATH */
    if (!full_path( argv[2], job.path ) || !file_exists( job.path ))
        return fail( L"%ls: there is no such file", argv[2] );
    if (GetFileAttributesW( job.path ) & FILE_ATTRIBUTE_DIRECTORY)
        return fail( L"%ls is a folder", argv[2] );
    if (take) return uninstall( &job );
    if (!put) return status( &job );
    if (read_options( argc - 3, argv + 3, &job ) || check_dlls( &job )) return EXIT_FAILED;
    return install( &job );
}
