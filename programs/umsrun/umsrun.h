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

/* Each file calls only files that come before it in this order: say.c, names.c, files.c, shim_dlls.c,
 * imports.c, known_dll.c, rewrite.c and backup.c; then run.c and the commands; then umsrun.c, which parses the options. */

/* names.c: which file a name means */
#define SHIM_FILES 2
extern const WCHAR *const shim_files[SHIM_FILES];       /* ntdll_ums.dll, kernel32_ums.dll */

BOOL on_wine( void );                   /* else on Windows */
BOOL file_exists( const WCHAR *path );
BOOL is_folder( const WCHAR *path );

/* the part of PATH before the file's name, with the final backslash */
void folder_of( const WCHAR *path, WCHAR *dir );

/* The full path for a name, which may be a Unix path; the file need not exist. */
BOOL full_path( const WCHAR *name, WCHAR *path );

/* The file that a program's name means: a path, or a name to be searched in the current folder and then where Windows
 * searches. */
BOOL find_program( const WCHAR *name, WCHAR *path );

/* FILE in the folder of umsrun.exe */
void beside_us( const WCHAR *file, WCHAR *path );

/* The prefix's folder, as a Unix path; "this prefix" if the host does not say. */
void prefix_folder( WCHAR *name );

/* The folder of umsrun.exe, with a final backslash, if it holds the DLLs; else EXIT_FAILED. */
int find_shim( WCHAR *dir );

/* files.c: whole files. Each returns 0, or prints what is wrong and returns EXIT_FAILED. */
int read_file( const WCHAR *path, struct pe_bytes *bytes );
DWORD try_read_file( const WCHAR *path, struct pe_bytes *bytes );       /* prints nothing */
DWORD read_all( HANDLE file, struct pe_bytes *bytes );                  /* print nothing */
DWORD write_all( HANDLE file, const struct pe_bytes *bytes );

/* All or nothing. LIKE: no user may read the new file who may not read this one; NULL: all users may. */
int write_file( const WCHAR *path, const struct pe_bytes *bytes, const WCHAR *like );
void delete_old( const WCHAR *path );       /* files that write_file has moved away, if not in use */
void delete_new( const WCHAR *path );       /* what an interrupted write_file has left */
void free_bytes( struct pe_bytes *bytes );
void file_digest( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] );     /* SHA-256 */
BOOL same_bytes( const struct pe_bytes *a, const struct pe_bytes *b );
BOOL same_file( const WCHAR *a, const WCHAR *b );
BOOL file_is( const WCHAR *path, const struct pe_bytes *bytes );

/* shim_dlls.c: our DLLs in a folder. A file of such a name that is not ours stays as it is. Copies those that
 * are missing or of another version. *COPIED: a bit for each that was missing, in the order of shim_files. */
#define ALL_COPIED ((1u << SHIM_FILES) - 1)
int copy_dlls( const WCHAR *from, const WCHAR *to, DWORD *copied );
void take_back_dlls( const WCHAR *dir, DWORD copied );      /* deletes those again */
void delete_dlls( const WCHAR *dir );
BOOL has_dlls( const WCHAR *dir );          /* one or both */

/* Another program that needs the DLLs of a folder: one that has the shim, or names them itself; or, if there
 * is none, one that cannot be read and may do so. */
struct others
{
    WCHAR name[MAX_PATH];       /* empty: there is none */
    DWORD error;                /* why it cannot be read, or 0 */
    DWORD flags;                /* flags that all programs with the shim have in common */
};

void others_in_folder( const WCHAR *dir, const WCHAR *but, struct others *others );

/* imports.c: what a program's file imports. tell_program: whether it uses UMS; 0 if it does, 1 if
 * not. missing_dlls: names of those that the host's loader will not find, at most SIZE characters;
 * FALSE: none is known. */
int tell_program( const WCHAR *name, const WCHAR *path );
BOOL missing_dlls( const WCHAR *path, WCHAR *names, size_t size );

/* known_dll.c: do new programs get this DLL of system32 from memory, and does that differ from FILE? */
BOOL known_dll_differs( const WCHAR *name, const struct pe_bytes *file );

/* rewrite.c: a program's own file, opened for exclusive use */
struct program
{
    const WCHAR *path;
    HANDLE       file;
    FILETIME     created, written;
    DWORD        links;         /* number of its names */
};

/* Each returns 0, or prints what is wrong and returns EXIT_FAILED. */
int real_path( WCHAR *path );                                       /* follows links */
int check_folder( const WCHAR *dir, const WCHAR *advice );          /* can it be written to? */
int open_program( struct program *program, const WCHAR *path, const struct pe_bytes *expected );
int keep_copy( const struct program *program, const struct pe_bytes *original, const WCHAR *copy );
void flush_copy( const WCHAR *copy );               /* make sure that it is on the disk */
int rewrite_program( const struct program *program, const struct pe_bytes *with,
                     const struct pe_bytes *before, const WCHAR *copy );
void close_program( const struct program *program );
BOOL delete_copy( const WCHAR *copy );

/* backup.c: the original of a program's file at PATH that has the shim in place. These take what the file is
 * now, and it has no shim, or one that cannot be removed. */
enum backup_state
{
    BACKUP_NONE,
    BACKUP_SAME,            /* the file is the original */
    BACKUP_NEEDED,          /* the file is unfinished: half written, or changed; or the backup cannot be read */
    BACKUP_OLD,             /* the file is another version of the program, or another program */
};

void backup_name( const WCHAR *path, WCHAR *backup );       /* 20 more characters at most */
enum backup_state backup_state( const WCHAR *path, const struct pe_bytes *file );
BOOL is_others( const WCHAR *backup );      /* does it belong to a program whose name differs in case only? */
int make_backup( const struct program *program, const struct pe_bytes *original, BOOL *made );  /* *MADE: there was none */
void take_date( const struct program *program, const WCHAR *backup );
int delete_same_backup( const WCHAR *path );        /* BACKUP_SAME: nothing else is left to do */
/* Prints NAME, as the user wrote it, and ERROR, the rest of a sentence; and what the backup is, if there is one. */
int refuse( const WCHAR *name, const WCHAR *path, const struct pe_bytes *file, const char *error );
int not_installed( const WCHAR *path, const struct pe_bytes *file );        /* the status for --status */

/* Rights for a copy of LIKE: only its owner may read it. Free with LocalFree; NULL: failed. */
PSECURITY_DESCRIPTOR private_rights( const WCHAR *like );
BOOL is_for_all( const WCHAR *path );           /* may all users read it? */

/* run.c: the program's exit status. NAME: as the user wrote it. COMMAND_LINE: writable. */
int run_program( const WCHAR *name, const WCHAR *path, WCHAR *command_line );

/* install.c, prefix.c, top.c: the exit status. argv[1] is the option. */
int install_command( int argc, WCHAR **argv );
int prefix_command( int argc, WCHAR **argv );
int top_command( int argc, WCHAR **argv );

#endif /* UMSRUN_H */
