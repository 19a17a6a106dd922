/*
 * umsrun.exe: changes a program's file in place, and keeps a copy of it meanwhile.
 *
 * The new contents are written into the existing file, so its owner, its access rights and its links do
 * not change. Because writing can be interrupted, a complete copy of the original is on the disk before
 * the first byte is written, and is deleted after the last one.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winternl.h>
#include <sddl.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

/***********************************************************************
 * who may read it
 */
static PSECURITY_DESCRIPTOR rights_of( const WCHAR *path )
{
    PSECURITY_DESCRIPTOR rights;
    DWORD size = 0;

    GetFileSecurityW( path, DACL_SECURITY_INFORMATION, NULL, 0, &size );
    if (!size || !(rights = LocalAlloc( 0, size ))) return NULL;
    if (GetFileSecurityW( path, DACL_SECURITY_INFORMATION, rights, size, &size )) return rights;
    LocalFree( rights );
    return NULL;
}

/* Wine maps the security descriptor of a new file to a Unix mode, and gives the group the owner's rights.
 * Only if the owner is "nobody" (S-1-5-7), the mode is 600 [measured with 8.0 and 10.0]. A descriptor
 * that was read from a file of mode 700 would give mode 750. */
PSECURITY_DESCRIPTOR private_rights( const WCHAR *like )
{
    PSECURITY_DESCRIPTOR rights = NULL;

    if (!on_wine()) return rights_of( like );
    ConvertStringSecurityDescriptorToSecurityDescriptorW( L"O:AND:P(A;;FRFW;;;AN)",
                                                          SDDL_REVISION_1, &rights, NULL );
    return rights;
}

static BOOL lets_all_read( ACL *list )
{
    BYTE everybody[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof(everybody), i;
    ACCESS_ALLOWED_ACE *ace;

    if (!CreateWellKnownSid( WinWorldSid, NULL, everybody, &size )) return FALSE;
    for (i = 0; GetAce( list, i, (void **)&ace ); i++)
    {
        if (ace->Header.AceType == ACCESS_ALLOWED_ACE_TYPE && (ace->Mask & FILE_READ_DATA)
            && EqualSid( &ace->SidStart, everybody ))
            return TRUE;
    }
    return FALSE;
}

BOOL is_for_all( const WCHAR *path )
{
    PSECURITY_DESCRIPTOR rights = rights_of( path );
    BOOL present, defaulted, ret = FALSE;
    ACL *list;

    if (rights && GetSecurityDescriptorDacl( rights, &present, &list, &defaulted ) && present)
        ret = !list || lets_all_read( list );
    LocalFree( rights );
    return ret;
}

/***********************************************************************
 * where it is
 */

/* PATH begins with \\?\ then. Wine's GetFinalPathNameByHandleW takes 260 characters at most, its NtQueryObject takes more [seen]. */
static BOOL final_path( HANDLE file, WCHAR *path )
{
    NTSTATUS (WINAPI *query)( HANDLE, OBJECT_INFORMATION_CLASS, void *, ULONG, ULONG * );
    static struct { UNICODE_STRING name; WCHAR text[LONG_PATH]; } found;
    DWORD len = GetFinalPathNameByHandleW( file, path, LONG_PATH, 0 );

    if (len && len < LONG_PATH) return TRUE;
    query = (void *)GetProcAddress( GetModuleHandleW( L"ntdll.dll" ), "NtQueryObject" );
    if (!on_wine() || query( file, ObjectNameInformation, &found, sizeof(found) - sizeof(WCHAR), NULL )) return FALSE;
    if (!found.name.Buffer || wcsncmp( found.name.Buffer, L"\\??\\", 4 )) return FALSE;
    wcscat( wcscpy( path, L"\\\\?\\" ), found.name.Buffer + 4 );
    return TRUE;
}

int real_path( WCHAR *path )
{
    static WCHAR real[LONG_PATH];
    HANDLE file = CreateFileW( path, GENERIC_READ,
                               FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, 0, NULL );
    BOOL drive, known;

    if (file == INVALID_HANDLE_VALUE) return fail_with_error( path, GetLastError() );
    known = final_path( file, real );
    CloseHandle( file );
    if (!known)
        return fail( L"%ls: cannot find out which file this is; move it to a folder with a shorter path", shown( path ) );
    drive = !wcsncmp( real, L"\\\\?\\", 4 ) && real[5] == ':';      /* \\?\Z:\... */
    wcscpy( path, drive ? real + 4 : real );
    return 0;
}

int check_folder( const WCHAR *dir, const WCHAR *advice )
{
    WCHAR path[LONG_PATH + 40];
    HANDLE file;
    DWORD error;

    swprintf( path, ARRAYSIZE(path), L"%lsums-new-%lu.tmp", dir, GetCurrentProcessId() );
    file = CreateFileW( path, GENERIC_WRITE | DELETE, 0, NULL, CREATE_NEW,
                        FILE_FLAG_DELETE_ON_CLOSE, NULL );
    if (file != INVALID_HANDLE_VALUE)
    {
        CloseHandle( file );
        return 0;
    }
    error = GetLastError();
    return fail( L"the folder %ls cannot be written to: %ls; %ls", shown( dir ),
                 error_text( error, dir ), advice );
}

static void flush( const WCHAR *path )
{
    HANDLE file = CreateFileW( path, GENERIC_READ | GENERIC_WRITE,
                               FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL );

    if (file == INVALID_HANDLE_VALUE) return;
    FlushFileBuffers( file );
    CloseHandle( file );
}

/***********************************************************************
 * the copy
 */
static HANDLE create_private( const WCHAR *path, const WCHAR *like )
{
    SECURITY_ATTRIBUTES security = { sizeof(security), private_rights( like ), FALSE };
    HANDLE file = INVALID_HANDLE_VALUE;

    DeleteFileW( path );                /* left by an interrupted run, maybe with another mode */
    if (security.lpSecurityDescriptor)
        file = CreateFileW( path, GENERIC_WRITE, 0, &security, CREATE_NEW, 0, NULL );
    LocalFree( security.lpSecurityDescriptor );
    return file;
}

/* On a Unix host a new file name is on the disk only after its folder was flushed. */
void flush_copy( const WCHAR *copy )
{
    WCHAR dir[LONG_PATH + 20];

    folder_of( copy, dir );
    flush( copy );
    flush( dir );
}

/* The copy gets this name only when it is complete and on the disk. */
int keep_copy( const struct program *program, const struct pe_bytes *original, const WCHAR *copy )
{
    WCHAR temporary[LONG_PATH + 40];
    HANDLE file;
    DWORD error;

    wcscat( wcscpy( temporary, copy ), L".ums-new" );
    file = create_private( temporary, program->path );
    if (file == INVALID_HANDLE_VALUE) return fail_with_error( temporary, GetLastError() );
    error = write_all( file, original );
    SetFileTime( file, &program->created, NULL, &program->written );
    CloseHandle( file );
    if (!error && !MoveFileExW( temporary, copy, 0 )) error = GetLastError();
    if (!error)
    {
        flush_copy( copy );
        return 0;
    }
    DeleteFileW( temporary );
    return fail_with_error( copy, error );
}

BOOL delete_copy( const WCHAR *copy )
{
    DWORD attributes = GetFileAttributesW( copy );

    if (attributes & FILE_ATTRIBUTE_READONLY) SetFileAttributesW( copy, FILE_ATTRIBUTE_NORMAL );
    return DeleteFileW( copy );
}

/***********************************************************************
 * the program's file
 */
static int cannot_open( const WCHAR *path, DWORD error )
{
    if (error == ERROR_SHARING_VIOLATION)
        return fail( L"%ls is in use: it runs, or another program has it open; end that first",
                     shown( path ) );
    return fail( L"%ls cannot be written to: %ls; nothing was changed", shown( path ),
                 error_text( error, path ) );
}

int open_program( struct program *program, const WCHAR *path, const struct pe_bytes *expected )
{
    BY_HANDLE_FILE_INFORMATION info;
    struct pe_bytes now;
    BOOL same;

    program->path = path;
    if (GetFileAttributesW( path ) & FILE_ATTRIBUTE_READONLY)
        return fail( L"%ls is read-only and stays as it is; make it writable first, or work with a "
                     L"copy", shown( path ) );
    program->file = CreateFileW( path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ, NULL,
                                 OPEN_EXISTING, 0, NULL );
    if (program->file == INVALID_HANDLE_VALUE) return cannot_open( path, GetLastError() );
    same = !read_all( program->file, &now ) && same_bytes( &now, expected );
    free_bytes( &now );
    if (same && GetFileInformationByHandle( program->file, &info ))
    {
        program->created = info.ftCreationTime;
        program->written = info.ftLastWriteTime;
        program->links = info.nNumberOfLinks;
        return 0;
    }
    CloseHandle( program->file );
    return fail( L"%ls is being changed by another program", shown( path ) );
}

/* BEFORE: the present contents, which are written again if the disk is full. COPY: the file that holds
 * the original. */
int rewrite_program( const struct program *program, const struct pe_bytes *with,
                     const struct pe_bytes *before, const WCHAR *copy )
{
    DWORD error = write_all( program->file, with );

    if (!error) return 0;
    if (write_all( program->file, before ))
        return fail( L"%ls is damaged now: %ls; the original is %ls", shown( program->path ),
                     error_text( error, program->path ), shown( copy ) );
    SetFileTime( program->file, &program->created, NULL, &program->written );
    return fail( L"%ls: %ls; it stays as it was", shown( program->path ),
                 error_text( error, program->path ) );
}

void close_program( const struct program *program )
{
    CloseHandle( program->file );
}
