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

/* One line on standard output. */
void say( const WCHAR *format, ... );

/* A path of the host, which may be written as a Unix host's, in full; the file need not exist. */
BOOL full_path( const WCHAR *name, WCHAR *path );

/* The folder of umsrun.exe, with a final backslash, if it holds the DLLs; else EXIT_FAILED. */
int find_shim( WCHAR *dir );

/* files.c: whole files. Each says what is wrong and returns EXIT_FAILED, or 0. */
int read_file( const WCHAR *path, struct pe_bytes *bytes );
BOOL try_read_file( const WCHAR *path, struct pe_bytes *bytes );        /* says nothing */
int write_file( const WCHAR *path, const struct pe_bytes *bytes );     /* all or nothing */
void delete_old( const WCHAR *path );       /* what write_file has moved away, if it can go */
void free_bytes( struct pe_bytes *bytes );
void file_digest( const BYTE *data, size_t size, BYTE digest[PE_DIGEST_SIZE] );     /* SHA-256 */
BOOL same_file( const WCHAR *a, const WCHAR *b );
BOOL file_exists( const WCHAR *path );

/* copies the DLLs, where they are not there already; *COPIED tells whether any were */
int copy_dlls( const WCHAR *from, const WCHAR *to, BOOL *copied );
void delete_dlls( const WCHAR *dir );

/* install.c, prefix.c: what the options ask for; the exit status, or -1: not one of theirs */
int install_command( int argc, WCHAR **argv );
int prefix_command( int argc, WCHAR **argv );

#endif /* UMSRUN_H */
