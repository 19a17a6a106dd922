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
#include "say.h"

/* Lower files are called by those below them only: say.c, names.c, files.c, imports.c, known_dll.c and
 * rewrite.c, then run.c and the commands, then umsrun.c, which reads the options. */

/* names.c: which file a name means */
#define SHIM_FILES 2
extern const WCHAR *const shim_files[SHIM_FILES];       /* ntdll_ums.dll, kernel32_ums.dll */

BOOL file_exists( const WCHAR *path );
BOOL is_folder( const WCHAR *path );

/* the part of PATH before the file's name, with the final backslash */
void folder_of( const WCHAR *path, WCHAR *dir );

/* A path of the host, which may be written as a Unix host's, in full; the file need not exist. */
BOOL full_path( const WCHAR *name, WCHAR *path );

/* The file that a program's name means: a path, or looked for where Windows would. */
BOOL find_program( const WCHAR *name, WCHAR *path );

/* FILE in the folder of umsrun.exe */
void beside_us( const WCHAR *file, WCHAR *path );

/* The prefix's folder, as a Unix host writes it; "this prefix" where the host does not tell. */
void prefix_folder( WCHAR *name );

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

/* copies the DLLs, where they are not there already; *COPIED tells whether any were */
int copy_dlls( const WCHAR *from, const WCHAR *to, BOOL *copied );
void delete_dlls( const WCHAR *dir );

/* imports.c: what a program's file imports. tell_program: whether it uses UMS; 0 if it does, 1 if
 * not. missing_dlls: names of those that the host's loader will not find, at most SIZE characters;
 * FALSE: none is known. */
int tell_program( const WCHAR *name, const WCHAR *path );
BOOL missing_dlls( const WCHAR *path, WCHAR *names, size_t size );

/* known_dll.c: programs that start get a DLL of system32 from memory, and that is not this file. */
BOOL known_dll_differs( const WCHAR *name, const struct pe_bytes *file );

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

/* run.c: the program's exit status. NAME: as the user wrote it. COMMAND_LINE: writable. */
int run_program( const WCHAR *name, const WCHAR *path, WCHAR *command_line );

/* install.c, prefix.c, top.c: the exit status. argv[1] is the option. */
int install_command( int argc, WCHAR **argv );
int prefix_command( int argc, WCHAR **argv );
int top_command( int argc, WCHAR **argv );

#endif /* UMSRUN_H */
