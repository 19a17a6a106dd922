/*
 * Shared by the files of umsrun.exe.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMSRUN_H
#define UMSRUN_H

#include <windows.h>
#include "private/inject_block.h"
#include "pe_image.h"

#define LONG_PATH   4096
#define EXIT_FAILED 2

/* One line on standard error, "umsrun: ...". Returns EXIT_FAILED. */
int fail( const WCHAR *format, ... );
int fail_with_error( const WCHAR *what, DWORD error );

/* What the system says of ERROR, with its number; WHAT stands where it wants a name. Lives until the
 * next call. */
const WCHAR *error_text( DWORD error, const WCHAR *what );

/* The same as fail, with all that umsrun can be asked for behind it. */
int wrong_usage( const WCHAR *format, ... );

/* One line on standard output. */
void say( const WCHAR *format, ... );

/* A path of the host, which may be written as a Unix host's, in full; the file need not exist. */
BOOL full_path( const WCHAR *name, WCHAR *path );

/* The folder of umsrun.exe, with a final backslash, if it holds the DLLs; else EXIT_FAILED. */
int find_shim( WCHAR *dir );

/* files.c: whole files. Each says what is wrong and returns EXIT_FAILED, or 0. */
int read_file( const WCHAR *path, struct pe_bytes *bytes );
DWORD try_read_file( const WCHAR *path, struct pe_bytes *bytes );       /* says nothing */
DWORD read_all( HANDLE file, struct pe_bytes *bytes );                  /* nor do these */
DWORD write_all( HANDLE file, const struct pe_bytes *bytes );

/* All or nothing. LIKE: a file that not more people may read than this one; NULL: anybody may. */
int write_file( const WCHAR *path, const struct pe_bytes *bytes, const WCHAR *like );
void delete_old( const WCHAR *path );       /* what write_file has moved away, if it can go */
void free_bytes( struct pe_bytes *bytes );
void file_digest( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] );     /* SHA-256 */
BOOL same_bytes( const struct pe_bytes *a, const struct pe_bytes *b );
BOOL same_file( const WCHAR *a, const WCHAR *b );
BOOL file_is( const WCHAR *path, const struct pe_bytes *bytes );
BOOL file_exists( const WCHAR *path );

/* copies the DLLs, where they are not there already; *COPIED tells whether any were */
int copy_dlls( const WCHAR *from, const WCHAR *to, BOOL *copied );
void delete_dlls( const WCHAR *dir );

/* the part of PATH before the file's name, with the final backslash */
void folder_of( const WCHAR *path, WCHAR *dir );

/* rewrite.c: a program's own file, open and in nobody else's hands */
struct program
{
    const WCHAR *path;
    HANDLE       file;
    FILETIME     created, written;
    DWORD        links;         /* names that it has */
};

/* Each says what is wrong and returns EXIT_FAILED, or 0. */
int real_path( WCHAR *path );                                       /* follows links */
int check_folder( const WCHAR *dir, const WCHAR *advice );          /* can it be written to? */
int open_program( struct program *program, const WCHAR *path, const struct pe_bytes *expected );
int keep_copy( const struct program *program, const struct pe_bytes *original, const WCHAR *copy );
void flush_copy( const WCHAR *copy );               /* one that is there already: to the disk */
int rewrite_program( const struct program *program, const struct pe_bytes *with,
                     const struct pe_bytes *before, const WCHAR *copy );
void close_program( const struct program *program );
BOOL delete_copy( const WCHAR *copy );

/* For a new file that holds what LIKE holds: its owner's alone. LocalFree; NULL: it failed. */
PSECURITY_DESCRIPTOR private_rights( const WCHAR *like );
BOOL is_for_all( const WCHAR *path );           /* everybody may read it */

/* install.c, prefix.c: what the options ask for; the exit status, or -1: not one of theirs */
int install_command( int argc, WCHAR **argv );
int prefix_command( int argc, WCHAR **argv );

#endif /* UMSRUN_H */
