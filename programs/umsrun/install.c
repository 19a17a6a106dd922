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

struct job
{
    const WCHAR *name;                  /* as the user wrote it */
    WCHAR        path[LONG_PATH];
    WCHAR        output[LONG_PATH];
    WCHAR        dlls[LONG_PATH];       /* empty: the program's folder */
    BOOL         in_place;
};

/* PROGRAM_ums.exe */
static void default_output( const WCHAR *path, WCHAR *output )
{
    size_t len = wcslen( path );

    if (len > 4 && path[len - 4] == '.') len -= 4;
    memcpy( output, path, len * sizeof(*path) );
    wcscat( wcscpy( output + len, L"_ums" ), path + len );
}

/***********************************************************************
 * --install
 */

/* Paths in import tables consist of bytes, which loaders widen one by one, and have a maximum length. */
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
                              shown( dir ) );
    return 0;
}

static void tell_links( const struct job *job, DWORD links )
{
    WCHAR path[LONG_PATH], dir[LONG_PATH], link_dir[LONG_PATH];

    if (links > 1) say( L"  it has %lu names (hard links): all of them have UMS now", links );
    if (!full_path( job->name, path ) || !lstrcmpiW( path, job->path )) return;
    folder_of( path, link_dir );
    folder_of( job->path, dir );
    say( lstrcmpiW( dir, link_dir ) && !job->dlls[0]
         ? L"  %ls leads there: a program started by that name looks for the DLLs beside it, so "
           L"start it by the other"
         : L"  %ls leads there", shown( path ) );
}

static void tell_install( const struct job *job, const struct pe_report *report, DWORD copied,
                          DWORD links )
{
    WCHAR dir[LONG_PATH], backup[LONG_PATH + 20];

    say( L"installed UMS into %ls", shown( job->output ) );
    if (job->dlls[0]) say( L"  it loads the DLLs in %ls and does not start if they are moved",
                           shown( job->dlls ) );
    else
    {
        folder_of( job->output, dir );
        say( L"  ntdll_ums.dll and kernel32_ums.dll %ls %ls and belong beside it",
             copied ? L"were copied to" : L"are in", shown( dir ) );
    }
    if (job->in_place)
    {
        backup_name( job->path, backup );
        say( L"  the original file is kept as %ls", shown( backup ) );
        tell_links( job, links );
    }
    if (report->signature_size)
        say( L"  its signature (%lu bytes) was removed: it is not valid for a changed file",
             report->signature_size );
    if (report->overlay_size)
        say( L"  %lu bytes behind its last section were moved by %lu; should it check or look for "
             L"them and not start, use umsrun without --install", report->overlay_size,
             report->section_size );
    if (report->bound) say( L"  its bound imports were removed: the loader does not need them" );
}

static int prepare_request( const struct job *job, char *dir, size_t size,
                            struct pe_request *request, DWORD *copied )
{
    WCHAR shim[LONG_PATH], folder[LONG_PATH];
    struct others others;

    *copied = 0;
    dir[0] = 0;
    request->dir = dir;
    request->digest = file_digest;
    if (job->dlls[0]) return narrow_path( job->dlls, dir, size );
    folder_of( job->output, folder );
    if (find_shim( shim ) || copy_dlls( shim, folder, copied )) return EXIT_FAILED;
    others_in_folder( folder, job->output, &others );
    if (*copied == ALL_COPIED || (others.flags & PE_COPIED)) request->flags |= PE_COPIED;
    if (!lstrcmpiW( shim, folder )) request->flags &= ~PE_COPIED;
    return 0;
}

/* First the DLLs, then the file that needs them. */
static int put_in_place( const struct job *job, const struct program *program,
                         const struct pe_bytes *before, struct pe_report *report, DWORD *copied )
{
    struct pe_request request = { 0 };
    WCHAR backup[LONG_PATH + 20], folder[LONG_PATH];
    struct pe_bytes after = { 0 };
    char dir[INJECT_MAX_PATH];
    const char *error;
    int ret;

    if (prepare_request( job, dir, sizeof(dir), &request, copied )) return EXIT_FAILED;
    backup_name( job->path, backup );
    if ((error = pe_install( before, &request, &after, report )))
        ret = fail( L"%ls %hs", job->name, error );
    else ret = program ? rewrite_program( program, &after, before, backup )
                       : write_file( job->output, &after, job->path );
    free_bytes( &after );
    if (ret)
    {
        folder_of( job->output, folder );
        take_back_dlls( folder, *copied );
    }
    return ret;
}

static int install_in_place( const struct job *job, const struct pe_bytes *before )
{
    WCHAR backup[LONG_PATH + 20];
    struct pe_report report;
    struct program program;
    DWORD copied;
    BOOL made;
    int ret;

    if (open_program( &program, job->path, before )) return EXIT_FAILED;
    if (!(ret = make_backup( &program, before, &made )))
    {
        ret = put_in_place( job, &program, before, &report, &copied );
        backup_name( job->path, backup );
    }
    close_program( &program );
    if (!ret) tell_install( job, &report, copied, program.links );
    else if (made && file_is( job->path, before )) delete_copy( backup );
    return ret;
}

static int install_copy( const struct job *job, const struct pe_bytes *before )
{
    struct pe_report report;
    DWORD copied;

    if (put_in_place( job, NULL, before, &report, &copied )) return EXIT_FAILED;
    tell_install( job, &report, copied, 0 );
    return 0;
}

static int check_output( const struct job *job )
{
    WCHAR dir[LONG_PATH];
    size_t len = wcslen( job->output );

    if (len < 5 || lstrcmpiW( job->output + len - 4, L".exe" ))
        return fail( L"%ls: its name has to end with .exe, by which --uninstall of another program "
                     L"finds out that the DLLs are still wanted", shown( job->output ) );
    if (!job->in_place && file_exists( job->output ))
        return fail( L"%ls is there already; give another --output, or delete it", shown( job->output ) );
    folder_of( job->output, dir );
    return check_folder( dir, L"put a copy elsewhere with --output FOLDER\\COPY.exe, or start the "
                              L"program with umsrun and without --install" );
}

/* Check before anything is written: nothing is copied for a program that is refused. */
static int check_install( const struct job *job, const struct pe_bytes *before )
{
    struct pe_request request = { .dir = "", .digest = file_digest };
    struct pe_bytes after = { 0 };
    struct pe_report report;
    const char *error = pe_install( before, &request, &after, &report );

    free_bytes( &after );
    return error ? refuse( job->name, job->path, before, error ) : check_output( job );
}

/* Does what is installed load the DLLs from where --dlls says? */
static int check_same_dlls( const struct job *job, const struct pe_report *report, const WCHAR *path )
{
    char dir[INJECT_MAX_PATH];

    if (narrow_path( job->dlls, dir, sizeof(dir) )) return EXIT_FAILED;
    if (!_stricmp( dir, report->dir )) return 0;
    return fail( L"UMS is installed in %ls with other DLLs; umsrun --uninstall it first",
                 shown( path ) );
}

/* Is the shim installed already, in the file itself or in a copy made from this file? Then *RET is the
 * result: the DLLs beside it may be missing or old, and are copied again. */
static BOOL is_done( const struct job *job, const struct pe_bytes *file, int *ret )
{
    struct pe_report report, copy = { 0 };
    WCHAR shim[LONG_PATH], dir[LONG_PATH];
    const WCHAR *path;
    BYTE digest[PE_DIGEST_SIZE];
    struct pe_bytes bytes;
    DWORD copied;

    pe_look( file, file_digest, &report );
    if (report.changed) return FALSE;
    if (report.kind != PE_PROGRAM)
    {
        if (job->in_place || try_read_file( job->output, &bytes )) return FALSE;
        pe_look( &bytes, file_digest, &copy );
        free_bytes( &bytes );
        file_digest( file->data, file->size, digest );
        if (copy.kind != PE_PROGRAM || copy.changed
            || memcmp( copy.original, digest, sizeof(digest) ))
            return FALSE;
        report = copy;
    }
    path = copy.kind == PE_PROGRAM ? job->output : job->path;
    if ((*ret = check_same_dlls( job, &report, path ))) return TRUE;
    folder_of( path, dir );
    if (!report.dir[0] && (find_shim( shim ) || copy_dlls( shim, dir, &copied ))) *ret = EXIT_FAILED;
    else say( L"UMS is installed in %ls already", shown( path ) );
    return TRUE;
}

static int install( struct job *job )
{
    struct pe_bytes before;
    int ret;

    if (read_file( job->path, &before )) return EXIT_FAILED;
    if (is_done( job, &before, &ret ))
    {
        free_bytes( &before );
        return ret;
    }
    ret = check_install( job, &before );
    if (!ret) ret = job->in_place ? install_in_place( job, &before ) : install_copy( job, &before );
    free_bytes( &before );
    return ret;
}

/***********************************************************************
 * --uninstall, --status
 */
static void clean_folder( const struct job *job, DWORD flags )
{
    WCHAR dir[LONG_PATH], shim[LONG_PATH];
    struct others others;

    if (!(flags & PE_COPIED)) return;
    folder_of( job->path, dir );
    if (!find_shim( shim ) && !lstrcmpiW( shim, dir )) return;
    others_in_folder( dir, job->path, &others );
    if (!others.name[0]) delete_dlls( dir );
    else if (others.error)
        say( L"  ntdll_ums.dll and kernel32_ums.dll stay: %ls%ls cannot be read and may need "
             L"them (%ls)", shown( dir ), others.name, error_text( others.error, others.name ) );
    else say( L"  ntdll_ums.dll and kernel32_ums.dll stay: %ls%ls needs them too", shown( dir ),
              others.name );
}

static BOOL has_shim( const WCHAR *path )
{
    struct pe_report report = { 0 };
    struct pe_bytes bytes;

    if (try_read_file( path, &bytes )) return FALSE;
    pe_look( &bytes, NULL, &report );
    free_bytes( &bytes );
    return report.kind == PE_PROGRAM;
}

/* FILE has no shim, or cannot be restored from what is in it. */
static int cannot_restore( const struct job *job, const struct pe_bytes *file, const char *error )
{
    WCHAR other[LONG_PATH + 20];

    if (backup_state( job->path, file ) == BACKUP_SAME) return delete_same_backup( job->path );
    default_output( job->path, other );
    if (!has_shim( job->path ) && has_shim( other ))
        return fail( L"%ls %hs; its copy %ls has: umsrun --uninstall that one", job->name, error,
                     shown( other ) );
    return refuse( job->name, job->path, file, error );
}

/* While the file is written, the backup of --install is the copy to fall back on; it also has the date of
 * the original. If there is none, or another file has that name, a new one is made. */
static int restore( const struct job *job, const struct program *program,
                    const struct pe_bytes *bytes, const struct pe_bytes *original )
{
    WCHAR backup[LONG_PATH + 20], copy[LONG_PATH + 20];
    BOOL kept;
    int ret;

    backup_name( job->path, backup );
    wcscpy( copy, backup );
    if ((kept = file_is( backup, original ))) flush_copy( backup );
    else
    {
        if (file_exists( backup )) wcscat( copy, L"-2" );
        if (keep_copy( program, original, copy )) return EXIT_FAILED;
    }
    ret = rewrite_program( program, original, bytes, copy );
    if (ret) return ret;
    if (kept) take_date( program, backup );
    say( L"restored the original %ls", shown( job->path ) );
    if (is_others( copy )) say( L"  %ls belongs to another program and stays", shown( copy ) );
    else if (!delete_copy( copy ))
        say( L"  %ls cannot be deleted: %ls", shown( copy ), error_text( GetLastError(), copy ) );
    if (!kept && file_exists( backup )) say( L"  %ls is another file and stays", shown( backup ) );
    return 0;
}

static int take_out( const struct job *job, const struct pe_bytes *bytes, const struct pe_bytes *original,
                     DWORD flags )
{
    struct program program;
    WCHAR dir[LONG_PATH];
    int ret;

    folder_of( job->path, dir );
    if (check_folder( dir, L"nothing was changed; make it writable first" )
        || open_program( &program, job->path, bytes ))
        return EXIT_FAILED;
    ret = restore( job, &program, bytes, original );
    close_program( &program );
    if (!ret) clean_folder( job, flags );
    return ret;
}

static int uninstall( const struct job *job )
{
    struct pe_bytes bytes, original = { 0 };
    struct pe_report report;
    const char *error;
    int ret;

    if (read_file( job->path, &bytes )) return EXIT_FAILED;
    pe_look( &bytes, NULL, &report );
    if ((error = pe_restore( &bytes, file_digest, &original ))) ret = cannot_restore( job, &bytes, error );
    else ret = take_out( job, &bytes, &original, report.flags );
    free_bytes( &bytes );
    free_bytes( &original );
    return ret;
}

/* Compare the two DLLs that the program will load with those beside umsrun.exe. */
static int dll_status( const struct job *job, const struct pe_report *report )
{
    WCHAR dir[LONG_PATH], shim[LONG_PATH], path[LONG_PATH + 20], ours[LONG_PATH + 20];
    int ret = 0;
    size_t i;

    if (report->dir[0]) MultiByteToWideChar( CP_ACP, 0, report->dir, -1, dir, ARRAYSIZE(dir) );
    else folder_of( job->path, dir );
    if (find_shim( shim )) return EXIT_FAILED;
    for (i = 0; i < SHIM_FILES; i++)
    {
        wcscat( wcscpy( path, dir ), shim_files[i] );
        wcscat( wcscpy( ours, shim ), shim_files[i] );
        if (same_file( path, ours )) continue;
        say( file_exists( path ) ? L"  %ls is another version than the one of this umsrun"
             : report->dir[0] ? L"  %ls is missing: the program does not start"
             : L"  %ls is missing: the program starts only if there is one where Windows looks "
               L"next (system32, the current folder, the PATH)", shown( path ) );
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
    ret = report.kind == PE_PROGRAM ? 0 : not_installed( job->path, &bytes );
    free_bytes( &bytes );
    if (ret) return ret;
    say( L"%ls: UMS is installed in it", shown( job->path ) );
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
static int read_value( const WCHAR *option, const WCHAR *value, WCHAR *path )
{
    if (path[0]) return wrong_usage( L"%ls is given twice", option );
    if (!value || !value[0]) return wrong_usage( L"%ls needs a file name", option );
    return full_path( value, path ) ? 0 : wrong_usage( L"%ls is too long a name", value );
}

/* Options may come before and after the program's name. */
static int read_options( int argc, WCHAR **argv, BOOL put, struct job *job )
{
    int i;

    for (i = 2; i < argc; i++)
    {
        if (wcsncmp( argv[i], L"--", 2 ))
        {
            if (job->name) return wrong_usage( L"%ls: one program at a time", argv[i] );
            job->name = argv[i];
        }
        else if (put && !wcscmp( argv[i], L"--in-place" )) job->in_place = TRUE;
        else if (put && !wcscmp( argv[i], L"--output" ))
        {
            if (read_value( argv[i], argv[i + 1], job->output )) return EXIT_FAILED;
            i++;
        }
        else if (put && !wcscmp( argv[i], L"--dlls" ))
        {
            if (read_value( argv[i], argv[i + 1], job->dlls )) return EXIT_FAILED;
            i++;
        }
        else return wrong_usage( L"%ls is no option of %ls", argv[i], argv[1] );
    }
    if (job->in_place && job->output[0])
        return wrong_usage( L"--in-place and --output exclude each other" );
    if (!job->name || !job->name[0]) return wrong_usage( L"%ls: which program?", argv[1] );
    return 0;
}

static int find_files( struct job *job, BOOL put, BOOL take )
{
    size_t len = wcslen( job->dlls );

    if (len && job->dlls[len - 1] != '\\') wcscat( job->dlls, L"\\" );
    /* only this file, not one of the same name beside umsrun.exe or on the PATH */
    if (!full_path( job->name, job->path ) || !file_exists( job->path ))
        return fail( L"%ls: there is no such file", job->name );
    if (GetFileAttributesW( job->path ) & FILE_ATTRIBUTE_DIRECTORY)
        return fail( L"%ls is a folder", job->name );
    if (put && is_folder( job->output ))
        return fail( L"%ls is a folder; --output needs the name of the copy", shown( job->output ) );
    if ((job->in_place || take) && real_path( job->path )) return EXIT_FAILED;
    if (job->in_place) wcscpy( job->output, job->path );
    else if (put && !job->output[0]) default_output( job->path, job->output );
    return 0;
}

static int check_dlls( const struct job *job )
{
    WCHAR path[LONG_PATH + 20];
    size_t i;

    for (i = 0; job->dlls[0] && i < SHIM_FILES; i++)
    {
        wcscat( wcscpy( path, job->dlls ), shim_files[i] );
        if (!file_exists( path ))
            return fail( L"%ls is missing; name a folder that has both DLLs", shown( path ) );
    }
    return 0;
}

int install_command( int argc, WCHAR **argv )
{
    static struct job job;
    BOOL put = !wcscmp( argv[1], L"--install" ), take = !wcscmp( argv[1], L"--uninstall" );

    if (read_options( argc, argv, put, &job ) || find_files( &job, put, take )) return EXIT_FAILED;
    if (take) return uninstall( &job );
    if (!put) return status( &job );
    return check_dlls( &job ) ? EXIT_FAILED : install( &job );
}
