/*
 * umsrun.exe: whole files, read, written and compared.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <bcrypt.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "umsrun.h"

#define MAX_FILE 0x7fffffff
#define MAX_OLD  100

void free_bytes( struct pe_bytes *bytes )
{
    free( bytes->data );
    bytes->data = NULL;
    bytes->size = 0;
}

static HANDLE open_file( const WCHAR *path )
{
    return CreateFileW( path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                        OPEN_EXISTING, 0, NULL );
}

DWORD read_all( HANDLE file, struct pe_bytes *bytes )
{
    LARGE_INTEGER size;
    DWORD done;

    bytes->data = NULL;
    if (!GetFileSizeEx( file, &size )) return GetLastError();
    if (size.QuadPart > MAX_FILE) return ERROR_FILE_TOO_LARGE;
    bytes->size = size.QuadPart;
    if (!(bytes->data = malloc( bytes->size + 1 ))) return ERROR_NOT_ENOUGH_MEMORY;
    if (!ReadFile( file, bytes->data, bytes->size, &done, NULL )) return GetLastError();
    return done == bytes->size ? 0 : ERROR_READ_FAULT;
}

/* Replace the contents of a file; they are on the disk when this returns 0. */
DWORD write_all( HANDLE file, const struct pe_bytes *bytes )
{
    DWORD done;

    if (SetFilePointer( file, 0, NULL, FILE_BEGIN ) == INVALID_SET_FILE_POINTER
        || !WriteFile( file, bytes->data, bytes->size, &done, NULL ))
        return GetLastError();
    if (done != bytes->size) return ERROR_DISK_FULL;
    return SetEndOfFile( file ) && FlushFileBuffers( file ) ? 0 : GetLastError();
}

DWORD try_read_file( const WCHAR *path, struct pe_bytes *bytes )
{
    HANDLE file = open_file( path );
    DWORD error;

    if (file == INVALID_HANDLE_VALUE) return GetLastError();
    if ((error = read_all( file, bytes ))) free_bytes( bytes );
    CloseHandle( file );
    return error;
}

int read_file( const WCHAR *path, struct pe_bytes *bytes )
{
    DWORD error = try_read_file( path, bytes );

    return error ? fail_with_error( path, error ) : 0;
}

static void old_name( const WCHAR *path, int i, WCHAR *old )
{
    swprintf( old, LONG_PATH + 20, L"%ls.ums-old%d", path, i );
}

void delete_old( const WCHAR *path )
{
    WCHAR old[LONG_PATH + 20];
    int i;

    for (i = 0; i < MAX_OLD; i++)
    {
        old_name( path, i, old );
        if (file_exists( old )) DeleteFileW( old );
    }
}

/* A file that a process has mapped cannot be replaced or deleted, but it can be renamed; it is deleted
 * when no process uses it any more. Files of earlier runs may still be there. */
static BOOL move_away( const WCHAR *path, WCHAR *old )
{
    int i;

    delete_old( path );
    for (i = 0; i < MAX_OLD; i++)
    {
        old_name( path, i, old );
        if (MoveFileExW( path, old, 0 )) return TRUE;
    }
    return FALSE;
}

static DWORD replace( const WCHAR *with, const WCHAR *path )
{
    WCHAR old[LONG_PATH + 20];
    DWORD error;

    if (MoveFileExW( with, path, MOVEFILE_REPLACE_EXISTING )) return 0;
    error = GetLastError();
    if (error != ERROR_ACCESS_DENIED || !move_away( path, old )) return error;
    if (!MoveFileExW( with, path, 0 ))
    {
        error = GetLastError();
        MoveFileExW( old, path, 0 );
        return error;
    }
    if (!DeleteFileW( old )) MoveFileExW( old, NULL, MOVEFILE_DELAY_UNTIL_REBOOT );
    return 0;
}

static void new_name( const WCHAR *path, WCHAR *temporary )
{
    wcscat( wcscpy( temporary, path ), L".ums-new.exe" );
}

void delete_new( const WCHAR *path )
{
    WCHAR temporary[LONG_PATH + 40];

    new_name( path, temporary );
    if (file_exists( temporary )) DeleteFileW( temporary );
}

static HANDLE create_temporary( const WCHAR *path, const WCHAR *like )
{
    SECURITY_ATTRIBUTES security = { sizeof(security), NULL, FALSE };
    BOOL private = like && !is_for_all( like );
    HANDLE file = INVALID_HANDLE_VALUE;

    DeleteFileW( path );
    if (private) security.lpSecurityDescriptor = private_rights( like );
    if (!private || security.lpSecurityDescriptor)
        file = CreateFileW( path, GENERIC_WRITE, 0, private ? &security : NULL, CREATE_NEW, 0,
                            NULL );
    LocalFree( security.lpSecurityDescriptor );
    return file;
}

/* Write under another name first: if the machine stops, either the old or the new file is there. That
 * name ends with .exe too, because Wine makes such files executable. */
int write_file( const WCHAR *path, const struct pe_bytes *bytes, const WCHAR *like )
{
    WCHAR temporary[LONG_PATH + 40];
    HANDLE file;
    DWORD error;

    new_name( path, temporary );
    file = create_temporary( temporary, like );
    if (file == INVALID_HANDLE_VALUE) return fail_with_error( path, GetLastError() );
    error = write_all( file, bytes );
    CloseHandle( file );
    if (!error && !(error = replace( temporary, path ))) return 0;
    DeleteFileW( temporary );
    return fail_with_error( path, error );
}

/* Uses the system's function, looked up here because starting programs does not need it. */
void file_digest( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] )
{
    HMODULE bcrypt = LoadLibraryExW( L"bcrypt.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32 );
    NTSTATUS (WINAPI *open)( BCRYPT_ALG_HANDLE *, LPCWSTR, LPCWSTR, ULONG ) =
        (void *)GetProcAddress( bcrypt, "BCryptOpenAlgorithmProvider" );
    NTSTATUS (WINAPI *create)( BCRYPT_ALG_HANDLE, BCRYPT_HASH_HANDLE *, UCHAR *, ULONG, UCHAR *,
                               ULONG, ULONG ) =
        (void *)GetProcAddress( bcrypt, "BCryptCreateHash" );
    NTSTATUS (WINAPI *add)( BCRYPT_HASH_HANDLE, UCHAR *, ULONG, ULONG ) =
        (void *)GetProcAddress( bcrypt, "BCryptHashData" );
    NTSTATUS (WINAPI *finish)( BCRYPT_HASH_HANDLE, UCHAR *, ULONG, ULONG ) =
        (void *)GetProcAddress( bcrypt, "BCryptFinishHash" );
    BCRYPT_ALG_HANDLE algorithm;
    BCRYPT_HASH_HANDLE hash;

    if (open && create && add && finish && !open( &algorithm, L"SHA256", NULL, 0 )
        && !create( algorithm, &hash, NULL, 0, NULL, 0, 0 ) && !add( hash, (UCHAR *)data, size, 0 )
        && !finish( hash, digest, PE_DIGEST_SIZE, 0 ))
        return;
    ExitProcess( fail( L"this system's bcrypt.dll cannot compute SHA-256" ) );
}

BOOL same_bytes( const struct pe_bytes *a, const struct pe_bytes *b )
{
    return a->size == b->size && !memcmp( a->data, b->data, a->size );
}

BOOL file_is( const WCHAR *path, const struct pe_bytes *bytes )
{
    struct pe_bytes found = { 0 };
    BOOL ret = !try_read_file( path, &found ) && same_bytes( &found, bytes );

    free_bytes( &found );
    return ret;
}

BOOL same_file( const WCHAR *a, const WCHAR *b )
{
    struct pe_bytes first = { 0 };
    BOOL ret = file_exists( a ) && file_exists( b ) && !read_file( a, &first )
               && file_is( b, &first );

    free_bytes( &first );
    return ret;
}
